//! The pages by their addresses, and who may see them.

use std::sync::Arc;

use grove_engine::view::NodeId;
use grove_engine::{EngineError, ErrorKind, WatchedRun};
use http::StatusCode;

use super::access::{BROWSER_SECONDS, KnownBrowser, PageRight, WebAccess};
use super::actions;
use super::answer::{self, Answer};
use super::asked::{Asked, COOKIE_NAME};
use super::child_page;
use super::frame::{Frame, ICON, SCRIPT, STYLE, Section};
use super::html::{HtmlPage, address_part};
use super::library_page;
use super::list_page;
use super::plots::PlotChoice;
use super::rows;
use super::run_page;
use super::scene::Scene;
use super::start_page;
use super::stream::StreamOrder;
use super::viewer::{Browser, TOKEN_FIELD, Viewer};
use super::watching::WatchedRuns;

/// The events of a page that has events alone.
const EVENT_PAGE: u64 = 500;

/// Everything that is served.
pub(super) struct Site {
    pub(super) runs: Arc<WatchedRuns>,
    pub(super) access: WebAccess,
}

/// The answer to a request, or the stream that it begins.
pub(super) enum Routed {
    Answer(Answer),
    Stream(Box<StreamOrder>),
}

/// The reason why a page is not shown.
pub(super) enum Missing {
    /// There is no such page.
    Page,
    /// The engine refused it.
    Refused(EngineError),
    /// The browser has too narrow a right.
    Right(PageRight),
    /// The form is of another browser or for something else.
    Token,
}

impl From<EngineError> for Missing {
    fn from(error: EngineError) -> Self {
        Self::Refused(error)
    }
}

/// The result of looking a page up.
pub(super) type Looked = Result<Answer, Missing>;

impl Site {
    pub(super) fn new(runs: Arc<WatchedRuns>, access: WebAccess) -> Self {
        Self { runs, access }
    }

    /// The name of the folder below which all pages lie.
    pub(super) fn folder(&self) -> String {
        self.access.folder()
    }

    /// Answers a request; `knows` is called as soon as the browser has shown its cookie or a link.
    pub(super) fn route(&self, asked: &Asked, knows: &dyn Fn()) -> Routed {
        let browser = asked.cookie.as_deref();
        let browser = browser.and_then(|cookie| self.access.browser(cookie));
        if let ["in", secret, rest @ ..] = asked.parts().as_slice() {
            return Routed::Answer(self.let_in(asked, secret, rest, browser.is_some(), knows));
        }
        let Some(browser) = browser else {
            return Routed::Answer(stranger_page());
        };
        knows();
        self.runs.seen();
        if let (["events"], false) = (asked.parts().as_slice(), asked.is_post) {
            return match StreamOrder::read(asked, browser) {
                Some(order) => Routed::Stream(Box::new(order)),
                None => Routed::Answer(answer::plain(StatusCode::NOT_FOUND, "no such stream\n")),
            };
        }
        let folder = format!("/{}", self.folder());
        let viewer = Viewer::Browser(Browser {
            access: &self.access,
            known: &browser,
            folder: &folder,
            now: grove_engine::now(),
            is_stream: false,
        });
        let looked = if asked.is_post {
            self.act(asked, &browser, &viewer)
        } else {
            self.page(asked, &viewer)
        };
        Routed::Answer(looked.unwrap_or_else(|missing| missing_page(&missing, asked, &viewer)))
    }

    /// Gives a browser its cookie for a link, once. Later the link leads to the page for a browser that is known.
    fn let_in(
        &self,
        asked: &Asked,
        secret: &str,
        rest: &[&str],
        is_known: bool,
        knows: &dyn Fn(),
    ) -> Answer {
        let mut to = format!("/{}", self.folder());
        for part in rest {
            to.push('/');
            to.push_str(&address_part(part));
        }
        if rest.is_empty() {
            to.push('/');
        }
        match self.access.follow_link(secret) {
            Ok(Some(cookie)) => {
                knows();
                let folder = self.folder();
                let cookie = format!(
                    "{COOKIE_NAME}={cookie}; Path=/{folder}; HttpOnly; SameSite=Strict; Max-Age={BROWSER_SECONDS}"
                );
                answer::with_cookie(answer::go_to(&to), &cookie)
            }
            Ok(None) if is_known => {
                knows();
                answer::go_to(&to)
            }
            // The cookie is not sent with a link on a page of another site; it is when this page leads to itself.
            Ok(None) if asked.is_from_elsewhere => again_page(),
            Ok(None) => {
                let words = "this link was used or is too old; `grove web link` prints another\n";
                answer::plain(StatusCode::FORBIDDEN, words)
            }
            Err(error) => {
                let words = format!("the link cannot be looked up: {error}\n");
                answer::plain(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
        }
    }

    fn act(&self, asked: &Asked, browser: &KnownBrowser, viewer: &Viewer<'_>) -> Looked {
        let ["do", action] = asked.parts()[..] else {
            return Err(Missing::Page);
        };
        let about = asked.form.get("about").unwrap_or_default();
        let token = self.access.form_token(browser, action, about);
        if asked.form.get(TOKEN_FIELD) != Some(token.as_str()) {
            return Err(Missing::Token);
        }
        let known = actions::find(action);
        let right = known.map_or(PageRight::All, |action| action.right);
        if !viewer.may(right) {
            return Err(Missing::Right(right));
        }
        let action = match (known, action) {
            (Some(action), _) => action,
            // A plan is shown, and nothing is done.
            (None, "plan") => return start_page::show_plan(self, &asked.form, viewer),
            (None, _) => return Err(Missing::Page),
        };
        let done = (action.act)(self, about, &asked.form, viewer)?;
        Ok(actions::told(&done, asked.is_part, viewer))
    }

    fn page(&self, asked: &Asked, viewer: &Viewer<'_>) -> Looked {
        match asked.parts().as_slice() {
            [] => list_page::page(self, asked, viewer),
            ["page.css"] => Ok(answer::file("text/css; charset=utf-8", STYLE)),
            ["page.js"] => Ok(answer::file("text/javascript; charset=utf-8", SCRIPT)),
            ["icon.svg"] => Ok(answer::file("image/svg+xml", ICON)),
            ["start"] if viewer.may(PageRight::All) => start_page::page(self, asked, viewer),
            ["library"] => library_page::page(self, asked, viewer),
            ["start"] => Err(Missing::Right(PageRight::All)),
            ["runs", run, rest @ ..] => {
                let id = self.runs.journal()?.find(run)?;
                self.of_run(asked, &id, rest, viewer)
            }
            _ => Err(Missing::Page),
        }
    }

    /// A page of a run.
    fn of_run(&self, asked: &Asked, id: &str, rest: &[&str], viewer: &Viewer<'_>) -> Looked {
        let choice = PlotChoice::read(asked.query.get("by"), asked.query.get("of"));
        self.runs.with(id, |journal, run| {
            let scene = Scene::of(journal, run, *viewer).with_plots(choice);
            Ok(match rest {
                [] => run_answer(&scene, asked),
                ["again"] => start_page::again_page(&scene, asked),
                ["events"] => events_answer(&scene, asked),
                ["e", seq] => event_answer(&scene, seq),
                ["steps", step] => step_answer(&scene, step, asked),
                ["children", node, rest @ ..] => {
                    child_page::answer(&scene, &NodeId::from(*node), rest, asked)
                }
                _ => Err(Missing::Page),
            })
        })?
    }
}

fn run_answer(scene: &Scene<'_>, asked: &Asked) -> Looked {
    let mut body = HtmlPage::default();
    run_page::run_page(scene, &mut body)?;
    let stream = scene.viewer.address(&["events"]).map(|address| {
        let values = asked
            .query
            .iter()
            .filter(|(name, _)| matches!(*name, "by" | "of"));
        let values = values.map(|(name, value)| format!("&{name}={}", address_part(value)));
        format!(
            "{address}?run={}{}",
            scene.run.id,
            values.collect::<String>()
        )
    });
    let frame = Frame {
        title: &format!("{} {}", scene.live.shown(), scene.run.title),
        here: Section::Runs,
        stream,
        seq: scene.run.state.seq,
    };
    Ok(answer::page(
        StatusCode::OK,
        frame.around(&scene.viewer, &body),
    ))
}

/// A page that stays as it is.
pub(super) fn still(scene: &Scene<'_>, title: &str, body: &HtmlPage) -> Answer {
    let frame = Frame::still(title, Section::Runs);
    answer::page(StatusCode::OK, frame.around(&scene.viewer, body))
}

/// Writes the way back to the run.
pub(super) fn way_back(scene: &Scene<'_>, html: &mut HtmlPage) {
    if let Some(address) = scene.viewer.run(&scene.run.id) {
        html.markup("<p>");
        let words = format!("← run {}", scene.run.id);
        html.leaf("a", &[("href", &address)], &words)
            .markup("</p>\n");
    }
}

fn events_answer(scene: &Scene<'_>, asked: &Asked) -> Looked {
    let all = scene.run.state.seq;
    let last = all.saturating_sub(EVENT_PAGE);
    let after = asked.query.number::<u64>("after").unwrap_or(last).min(all);
    let mut body = HtmlPage::default();
    way_back(scene, &mut body);
    body.markup("<h1>Events</h1>\n<p class=\"pages\">");
    let address = scene.viewer.address(&["runs", &scene.run.id, "events"]);
    let address = address.unwrap_or_default();
    let ways = [
        ("first", Some(0).filter(|_| after > 0)),
        (
            "earlier",
            after
                .checked_sub(1)
                .map(|_| after.saturating_sub(EVENT_PAGE)),
        ),
        ("later", Some(after + EVENT_PAGE).filter(|next| *next < all)),
        ("last", Some(last).filter(|_| after < last)),
    ];
    for (words, to) in ways {
        if let Some(to) = to {
            let address = format!("{address}?after={to}");
            body.leaf("a", &[("href", &address)], words).markup(" ");
        }
    }
    body.markup("</p>\n<ol id=\"events\">\n");
    let most = usize::try_from(EVENT_PAGE).unwrap_or(usize::MAX);
    run_page::event_rows(scene, after, most, false, &mut body)?;
    body.markup("</ol>\n");
    Ok(still(scene, "Events", &body))
}

/// Leads to the place of an event: in the transcript of its child, or among all events.
fn event_answer(scene: &Scene<'_>, seq: &str) -> Looked {
    let seq: u64 = seq.parse().map_err(|_| Missing::Page)?;
    let to = if let Some((node, at)) = place_of(scene.run, seq) {
        let from = at - at % child_page::WINDOW;
        let page = scene.viewer.child(&scene.run.id, &node);
        format!("{page}?from={from}#e{seq}")
    } else {
        let after = seq.saturating_sub(seq % EVENT_PAGE).saturating_sub(1);
        let events = scene.viewer.address(&["runs", &scene.run.id, "events"]);
        format!("{}?after={after}#e{seq}", events.unwrap_or_default())
    };
    Ok(answer::go_to(&to))
}

fn place_of(run: &WatchedRun, seq: u64) -> Option<(NodeId, usize)> {
    let mut children = run.history.children();
    children.find_map(|(id, child)| Some((id.clone(), child.place_of(seq)?)))
}

fn step_answer(scene: &Scene<'_>, step: &str, asked: &Asked) -> Looked {
    let steps = &scene.live.steps;
    let step = steps.iter().find(|known| known.id.as_str() == step);
    let step = step.ok_or(Missing::Page)?;
    let mut body = HtmlPage::default();
    way_back(scene, &mut body);
    rows::step_page(scene, step, &asked.query, &mut body);
    Ok(still(scene, &format!("Step {}", step.id), &body))
}

/// The answer to a browser that has no cookie.
fn stranger_page() -> Answer {
    let words = "this browser is not known here; open a link that `grove web link` prints on the machine that serves this page\n";
    answer::plain(StatusCode::UNAUTHORIZED, words)
}

/// A page that leads to itself once, so that the browser sends its cookie.
fn again_page() -> Answer {
    let page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0\"><title>Grove</title><p>One moment.";
    answer::page(StatusCode::OK, page.to_owned())
}

/// The answer where a page is not shown, or something is not done: why, and what to do.
fn missing_page(missing: &Missing, asked: &Asked, viewer: &Viewer<'_>) -> Answer {
    let (status, words, hints) = match missing {
        Missing::Page => (
            StatusCode::NOT_FOUND,
            "There is no such page.".to_owned(),
            vec![],
        ),
        Missing::Right(right) => (
            StatusCode::FORBIDDEN,
            format!(
                "This link may not do that: it needs the right to {}.",
                right.words()
            ),
            vec!["`grove web link` prints one that may do everything".to_owned()],
        ),
        Missing::Token => (
            StatusCode::FORBIDDEN,
            "This form is not from this page, or from another time.".to_owned(),
            vec!["load the page again and repeat it".to_owned()],
        ),
        Missing::Refused(error) => {
            let status = match error.kind {
                ErrorKind::Finding => StatusCode::CONFLICT,
                ErrorKind::Usage | ErrorKind::Configuration => StatusCode::BAD_REQUEST,
                ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, error.message(), error.hints.clone())
        }
    };
    let mut refused = HtmlPage::default();
    refused.markup("<div class=\"refused\">");
    refused.element("<p><b>", &words, "</b></p>\n");
    for hint in &hints {
        refused.element("<p>", hint, "</p>\n");
    }
    refused.markup("</div>\n");
    let mut whole = HtmlPage::default();
    if asked.is_part {
        whole.markup("<div id=\"notice\" role=\"status\">");
        whole.part(&refused).markup("</div>");
        return answer::page(status, whole.finish());
    }
    whole.markup("<h1>That did not work</h1>\n").part(&refused);
    answer::page(
        status,
        Frame::still("Grove", Section::None).around(viewer, &whole),
    )
}
