//! The list of runs: what waits for the person first, then what goes on, then the rest.

use grove_engine::view::{RunFilter, RunRow};
use grove_engine::{EngineError, RunSummary};
use grove_spec::text::{grouped, one_line};
use http::StatusCode;

use super::answer;
use super::asked::{Asked, Fields};
use super::frame::{Frame, Section};
use super::html::{HtmlPage, address_part};
use super::rows::first_words;
use super::site::{Looked, Site};
use super::viewer::{Viewer, anchor};
use super::wording;

/// The runs that are read, the newest ones.
const MOST_READ: usize = 2_000;
/// The runs that are shown.
const MOST_SHOWN: usize = 200;
/// The most open runs whose journals are read for the list.
const MOST_OPEN: usize = 24;
/// The most children of a run that wait, in its row.
const MOST_WAITING: usize = 3;

/// The choice of runs, as the address has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ListView {
    words: String,
    state: String,
    agent: String,
    folder: String,
    days: Option<u64>,
}

impl ListView {
    /// Reads the choice from the values of an address.
    pub(super) fn read(query: &Fields) -> Self {
        let said = |name: &str| query.said(name).unwrap_or_default().to_owned();
        Self {
            words: said("q"),
            state: said("state"),
            agent: said("agent"),
            folder: said("folder"),
            days: query.number("days"),
        }
    }

    /// The values as an address has them.
    fn address(&self) -> String {
        let days = self.days.map(|days| days.to_string()).unwrap_or_default();
        let values = [
            ("q", &self.words),
            ("state", &self.state),
            ("agent", &self.agent),
            ("folder", &self.folder),
            ("days", &days),
        ];
        let values = values.iter().filter(|(_, value)| !value.is_empty());
        let values = values.map(|(name, value)| format!("{name}={}", address_part(value)));
        values.collect::<Vec<_>>().join("&")
    }

    fn has(&self, row: &RunRow, summary: Option<&RunSummary>, now: u64) -> bool {
        let lower = |text: &str| text.to_lowercase();
        let day = 24 * 60 * 60 * 1_000;
        let is_waiting = summary.is_some_and(|summary| !summary.waiting.is_empty());
        let is_state = match self.state.as_str() {
            "" => true,
            "open" => row.ended_at.is_none(),
            "waiting" => is_waiting,
            state => row.shown() == state,
        };
        let is_agent = self.agent.is_empty() || row.agents.contains(&self.agent);
        is_state
            && is_agent
            && (self.folder.is_empty() || row.folder == self.folder)
            && self
                .days
                .is_none_or(|days| row.submitted_at + days * day > now)
            && (self.words.is_empty()
                || lower(&row.title).contains(&lower(&self.words))
                || row.id.starts_with(&self.words))
    }
}

/// A run of the list.
struct ListedRun {
    row: RunRow,
    summary: Option<RunSummary>,
}

impl ListedRun {
    /// The place of its group: what waits for a person, what goes on, and the rest.
    fn group(&self) -> usize {
        let waits = self
            .summary
            .as_ref()
            .is_some_and(|summary| !summary.waiting.is_empty());
        match self.row.ended_at {
            None if waits => 0,
            None => 1,
            Some(_) => 2,
        }
    }
}

/// Answers with the list.
pub(super) fn page(site: &Site, asked: &Asked, viewer: &Viewer<'_>) -> Looked {
    let view = ListView::read(&asked.query);
    let mut body = HtmlPage::default();
    body.markup("<h1>Runs</h1>\n");
    filters(site, &view, &mut body)?;
    let seq = rows(site, &view, viewer, &mut body)?;
    let stream = viewer.address(&["events"]);
    let stream = stream.map(|address| format!("{address}?{}", view.address()));
    let frame = Frame {
        title: "Runs",
        here: Section::Runs,
        stream,
        seq,
    };
    Ok(answer::page(StatusCode::OK, frame.around(viewer, &body)))
}

/// The choices, as a form that leads to an address.
fn filters(site: &Site, view: &ListView, html: &mut HtmlPage) -> Result<(), EngineError> {
    let rows = listed(site)?;
    let mut agents: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.agents)
        .map(String::as_str)
        .collect();
    let mut folders: Vec<&str> = rows.iter().map(|row| row.folder.as_str()).collect();
    for names in [&mut agents, &mut folders] {
        names.sort_unstable();
        names.dedup();
    }
    let states = [
        "open", "waiting", "running", "complete", "rejected", "failed", "stopped", "lost",
    ];
    html.markup("<form class=\"filters\" role=\"search\" action=\"\">\n<label>Words");
    html.tag(
        "input",
        &[("type", "search"), ("name", "q"), ("value", &view.words)],
    );
    html.markup("</label>\n");
    select("State", "state", &view.state, &states, html);
    select("Agent", "agent", &view.agent, &agents, html);
    select("Folder", "folder", &view.folder, &folders, html);
    let days = view.days.map(|days| days.to_string()).unwrap_or_default();
    select("Days", "days", &days, &["1", "7", "30"], html);
    html.markup("<button>Show</button>\n</form>\n");
    Ok(())
}

/// Writes a choice of one of several words, or none.
pub(super) fn select(
    label: &'static str,
    name: &'static str,
    chosen: &str,
    words: &[&str],
    html: &mut HtmlPage,
) {
    html.markup("<label>").markup(label);
    html.tag("select", &[("name", name)])
        .markup("<option value=\"\">any</option>");
    for word in words {
        let mut option = vec![("value", *word)];
        if *word == chosen {
            option.push(("selected", ""));
        }
        html.leaf("option", &option, word);
    }
    html.markup("</select></label>\n");
}

fn listed(site: &Site) -> Result<Vec<RunRow>, EngineError> {
    site.runs.journal()?.runs(&RunFilter {
        most: Some(MOST_READ),
        ..RunFilter::default()
    })
}

/// Writes the runs that were chosen. Returns a number that grows when a run changes.
pub(super) fn rows(
    site: &Site,
    view: &ListView,
    viewer: &Viewer<'_>,
    html: &mut HtmlPage,
) -> Result<u64, EngineError> {
    let now = grove_engine::now();
    let mut all = Vec::new();
    let mut open = 0;
    for row in listed(site)? {
        let mut summary = None;
        if row.ended_at.is_none() && open < MOST_OPEN {
            open += 1;
            summary = site.runs.summary(&row.id);
        }
        all.push(ListedRun { row, summary });
    }
    let changed = all.iter().map(|run| run.row.changed_at).max().unwrap_or(0);
    all.retain(|run| view.has(&run.row, run.summary.as_ref(), now.wall));
    let count = all.len();
    all.truncate(MOST_SHOWN);
    html.markup("<div id=\"runs\">\n");
    let groups = ["Waits for you", "Goes on", "Over"];
    for (group, name) in groups.into_iter().enumerate() {
        let runs = all.iter().filter(|run| run.group() == group);
        let runs: Vec<&ListedRun> = runs.collect();
        if runs.is_empty() {
            continue;
        }
        html.element("<h2>", name, "</h2>\n<ol class=\"runs\">\n");
        for run in runs {
            list_row(run, viewer, html);
        }
        html.markup("</ol>\n");
    }
    if all.is_empty() {
        html.markup("<p class=\"quiet\">No run is like that.</p>\n");
    }
    if count > MOST_SHOWN {
        let words = format!("The newest {MOST_SHOWN} of {} are shown.", grouped(count));
        html.element("<p class=\"quiet\">", &words, "</p>\n");
    }
    html.markup("</div>\n");
    Ok(changed)
}

fn list_row(run: &ListedRun, viewer: &Viewer<'_>, html: &mut HtmlPage) {
    let row = &run.row;
    html.markup("<li class=\"run\">");
    let address = viewer.run(&row.id).unwrap_or_default();
    html.markup("<div class=\"who\">");
    let title = first_words(&one_line(&row.title), 120);
    html.leaf("a", &[("href", &address)], &title)
        .markup("</div><div class=\"state\">");
    wording::state(row.shown(), html);
    html.markup("</div><div class=\"facts quiet\">");
    html.element("<code>", &row.id, "</code> ");
    wording::age(
        row.submitted_at,
        viewer,
        grove_engine::view::Times::default(),
        html,
    );
    html.markup(" ago");
    if let Some(ended) = row.ended_at {
        let took = ended.saturating_sub(row.submitted_at);
        html.text(&format!(" · took {}", wording::duration(took)));
    }
    html.text(&format!(" · {} tokens", wording::tokens(row.tokens)));
    let cost = row
        .cost
        .or_else(|| run.summary.as_ref().and_then(|summary| summary.cost));
    if let Some(cost) = cost.filter(|cost| *cost > 0) {
        html.text(&format!(" · {}", wording::money(cost)));
    }
    html.text(&format!(" · {}", one_line(&row.folder)))
        .markup("</div>");
    if let Some(summary) = &run.summary {
        progress(row, summary, viewer, html);
    } else if let Some(reason) = &row.reason {
        html.element(
            "<div class=\"now\">",
            &first_words(&one_line(reason), 200),
            "</div>",
        );
    }
    html.markup("</li>\n");
}

/// What the children of an open run wait for, or do.
fn progress(row: &RunRow, summary: &RunSummary, viewer: &Viewer<'_>, html: &mut HtmlPage) {
    html.markup("<div class=\"now\">");
    for child in summary.waiting.iter().take(MOST_WAITING) {
        let page = viewer.run(&row.id).unwrap_or_default();
        let address = format!("{page}#{}", anchor("c", &child.node));
        html.markup("<p>").leaf(
            "a",
            &[("href", &address)],
            &format!("{} {}", child.node, one_line(&child.name)),
        );
        match &child.question {
            Some(question) => html
                .markup(" <span class=\"doubt\">asks:</span> ")
                .text(&first_words(&one_line(question), 200)),
            None => html.markup(" <span class=\"doubt\">is paused</span>"),
        };
        html.markup("</p>");
    }
    if let Some(more @ 1..) = summary.waiting.len().checked_sub(MOST_WAITING) {
        html.element("<p>", &format!("and {more} more"), "</p>");
    }
    html.markup("<p class=\"quiet\">");
    let over = format!("{} of {} over", grouped(summary.over), grouped(summary.all));
    html.text(&over);
    if summary.at_work > 0 {
        html.text(&format!(", {} at work", grouped(summary.at_work)));
    }
    if summary.in_need > 0 {
        html.markup(", <b class=\"doubt\">▲ ")
            .text(&grouped(summary.in_need))
            .markup(" may need you</b>");
    }
    if let Some(doing) = summary
        .doing
        .as_ref()
        .filter(|_| summary.waiting.is_empty())
    {
        html.text(&format!(": {}", first_words(&one_line(doing), 100)));
    }
    html.markup("</p></div>");
}
