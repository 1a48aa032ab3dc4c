//! The stream that keeps a page current: parts of it as they are now, each time that something was recorded.
//!
//! The id of a message is the number of the last event that it takes into account. A browser that comes back says which one it
//! has had, and gets what happened since, once.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use grove_engine::EngineError;
use grove_engine::view::LiveChild;
use hyper::body::Bytes;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::access::KnownBrowser;
use super::answer::{self, Answer};
use super::asked::Asked;
use super::child_page::{self, ChildView};
use super::html::HtmlPage;
use super::ledger;
use super::list_page::{self, ListView};
use super::plots::{self, PlotChoice};
use super::rows;
use super::run_page::{self, MOST_EVENTS};
use super::scene::{Scene, Written};
use super::serving::BEAT;
use super::site::Site;
use super::viewer::{Browser, Viewer};

/// The least time between two messages.
const LEAST: Duration = Duration::from_millis(60);
/// The longest time between two looks, since logs of children at work change without an event.
const LOOK: Duration = Duration::from_millis(500);
/// The time between two pictures of what was spent.
const PLOT: Duration = Duration::from_secs(2);
/// The messages that wait for a browser that reads slowly.
const WAITING: usize = 4;

/// What a stream keeps current.
pub(super) enum StreamView {
    Run { plots: PlotChoice },
    Child(ChildView),
    List(ListView),
}

/// A stream that a browser asked for.
pub(super) struct StreamOrder {
    run: Option<String>,
    view: StreamView,
    after: Option<u64>,
    browser: KnownBrowser,
}

impl StreamOrder {
    /// Reads what a browser asks for; none if there is no such stream.
    pub(super) fn read(asked: &Asked, browser: KnownBrowser) -> Option<Self> {
        let query = &asked.query;
        let run = query.said("run").map(str::to_owned);
        let view = match (&run, ChildView::read(query)) {
            (Some(_), Some(child)) => StreamView::Child(child),
            (Some(_), None) => StreamView::Run {
                plots: PlotChoice::read(query.get("by"), query.get("of")),
            },
            (None, _) => StreamView::List(ListView::read(query)),
        };
        let after = asked.last_event.or_else(|| query.number("after"));
        Some(Self {
            run,
            view,
            after,
            browser,
        })
    }
}

/// Answers with a stream, which ends with its connection.
pub(super) fn follow(site: Arc<Site>, order: StreamOrder) -> Answer {
    let (sender, messages) = tokio::sync::mpsc::channel(WAITING);
    tokio::spawn(send(site, order, sender));
    answer::stream(messages)
}

async fn send(site: Arc<Site>, order: StreamOrder, sender: Sender<Bytes>) {
    let mut news = site.runs.news();
    let mut state = StreamState::new(&order);
    let mut last_message = Instant::now();
    // A browser that lost the server asks again after a second.
    if sender
        .send(Bytes::from_static(b"retry: 1000\n\n"))
        .await
        .is_err()
    {
        return;
    }
    let mut order = order;
    loop {
        let begun = Instant::now();
        let looking = Arc::clone(&site);
        let looked = tokio::task::spawn_blocking(move || {
            let message = message(&looking, &order, &mut state);
            (order, state, message)
        });
        let Ok((asked, now, message)) = looked.await else {
            return;
        };
        (order, state) = (asked, now);
        let bytes = match message {
            Ok(Some(message)) => Some(Bytes::from(message)),
            Ok(None) if last_message.elapsed() >= BEAT => Some(Bytes::from_static(b": \n\n")),
            Ok(None) => None,
            // The run was pruned, or the journal removed: there is nothing more to say.
            Err(_) => return,
        };
        if let Some(bytes) = bytes {
            last_message = Instant::now();
            if sender.send(bytes).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = sender.closed() => return,
            () = news.wait(LOOK) => {}
        }
        tokio::time::sleep(LEAST.saturating_sub(begun.elapsed())).await;
    }
}

/// What a browser was sent: a number for each part of its page.
struct StreamState {
    seq: Option<u64>,
    parts: BTreeMap<String, u64>,
    last_plot: Option<Instant>,
}

impl StreamState {
    fn new(order: &StreamOrder) -> Self {
        Self {
            seq: order.after,
            parts: BTreeMap::new(),
            last_plot: None,
        }
    }

    /// Returns true if a part is another one than before.
    fn is_new(&mut self, part: &str, number: u64) -> bool {
        self.parts.insert(part.to_owned(), number) != Some(number)
    }

    /// Adds a part to a message if it is another one than before.
    fn add(&mut self, name: &'static str, part: &HtmlPage, message: &mut HtmlPage) {
        let mut hasher = DefaultHasher::new();
        part.hash(&mut hasher);
        if self.is_new(name, hasher.finish()) {
            message.part(part);
        }
    }
}

/// Writes the parts that are others than before; none if nothing is.
fn message(
    site: &Site,
    order: &StreamOrder,
    state: &mut StreamState,
) -> Result<Option<String>, EngineError> {
    let folder = format!("/{}", site.folder());
    let viewer = Viewer::Browser(Browser {
        access: &site.access,
        known: &order.browser,
        folder: &folder,
        now: grove_engine::now(),
        is_stream: true,
    });
    let mut html = HtmlPage::default();
    let seq = match (&order.view, &order.run) {
        (StreamView::List(view), _) => {
            let mut part = HtmlPage::default();
            let seq = list_page::rows(site, view, &viewer, &mut part)?;
            state.add("runs", &part, &mut html);
            seq
        }
        (view, Some(run)) => {
            let id = site.runs.journal()?.find(run)?;
            site.runs.with(&id, |journal, run| {
                let scene = Scene::of(journal, run, viewer);
                match view {
                    StreamView::Child(child) => {
                        for (name, part) in child_page::live_parts(&scene, child, state.seq)? {
                            state.add(name, &part, &mut html);
                        }
                    }
                    StreamView::Run { plots } => {
                        run_parts(&scene.with_plots(*plots), state, &mut html)?;
                    }
                    StreamView::List(_) => {}
                }
                Ok(run.state.seq)
            })?
        }
        _ => return Ok(None),
    };
    let is_later = state.seq.is_none_or(|known| seq > known);
    state.seq = Some(seq);
    if html.is_empty() && !is_later {
        return Ok(None);
    }
    Ok(Some(as_message(is_later.then_some(seq), &html.finish())))
}

/// A function that writes a part of a run's page.
type WritePart = fn(&Scene<'_>, &mut HtmlPage);

fn run_parts(scene: &Scene<'_>, state: &mut StreamState, html: &mut HtmlPage) -> Written<()> {
    let parts: [(&'static str, WritePart); 5] = [
        ("top", run_page::top),
        ("actions", run_page::actions),
        ("asks", run_page::asks),
        ("flow", run_page::flow),
        ("outcome", run_page::outcome),
    ];
    for (name, write) in parts {
        let mut part = HtmlPage::default();
        write(scene, &mut part);
        state.add(name, &part, html);
    }
    for step in &scene.live.steps {
        let shown = rows::shown(step);
        let mut hasher = DefaultHasher::new();
        for child in &shown {
            child.id.hash(&mut hasher);
        }
        rows::counts(step).hash(&mut hasher);
        // Where other children are shown than before, the whole step is sent.
        if state.is_new(&format!("s {}", step.id), hasher.finish()) {
            rows::section(scene, step, html);
            for child in &shown {
                let number = rows::signature(child, scene.history(&child.id));
                state.is_new(&format!("c {}", child.id), number);
            }
            continue;
        }
        let changed = shown.into_iter().filter(|child| {
            let number = rows::signature(child, scene.history(&child.id));
            state.is_new(&format!("c {}", child.id), number)
        });
        let changed: Vec<&LiveChild<'_>> = changed.collect();
        if !changed.is_empty() {
            rows::changed(scene, step, &changed, html);
        }
    }
    if state.last_plot.is_none_or(|last| last.elapsed() >= PLOT) {
        state.last_plot = Some(Instant::now());
        let mut part = HtmlPage::default();
        plots::spending(scene, &mut part);
        state.add("plots", &part, html);
        let mut part = HtmlPage::default();
        ledger::of_run(scene, &mut part);
        state.add("ledger", &part, html);
    }
    let seq = scene.run.state.seq;
    let known = state.seq.unwrap_or(seq);
    if seq > known {
        // Of many at once only the last are on the page, as when it is loaded.
        let after = known.max(seq.saturating_sub(MOST_EVENTS));
        let most = usize::try_from(MOST_EVENTS).unwrap_or(usize::MAX);
        html.markup("<div data-before=\"events\">");
        run_page::event_rows(scene, after, most, true, html)?;
        html.markup("</div>");
    }
    Ok(())
}

/// Parts of a page in their order, each with its name.
pub(super) type PageParts = Vec<(&'static str, HtmlPage)>;

/// A message of a stream: each line after its name.
fn as_message(id: Option<u64>, markup: &str) -> String {
    let mut message = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    message.reserve(markup.len() + 64);
    for line in markup.split('\n') {
        message.push_str("data: ");
        message.push_str(line);
        message.push('\n');
    }
    message.push('\n');
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_message_is_data() {
        assert_eq!(
            as_message(Some(7), "<p>a\n\nid: 9</p>\n"),
            "id: 7\ndata: <p>a\ndata: \ndata: id: 9</p>\ndata: \n\n"
        );
        assert_eq!(as_message(None, "x"), "data: x\n\n");
    }
}
