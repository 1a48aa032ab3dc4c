//! What a browser can do: each action calls the function of the engine that a terminal calls, and shows the same refusals.

use grove_engine::view::{ChildWish, NodeId};
use grove_engine::words::{after_applying, applied_lines};
use grove_engine::{EngineError, RunJournal, parts_of};
use grove_skills::Environment;
use http::StatusCode;

use super::access::PageRight;
use super::answer::{self, Answer};
use super::asked::Fields;
use super::html::HtmlPage;
use super::library_page;
use super::site::Site;
use super::start_page;
use super::viewer::Viewer;

/// An action with its name in addresses and the right that it needs.
pub(super) struct Action {
    pub(super) name: &'static str,
    pub(super) right: PageRight,
    pub(super) act: fn(&Site, &str, &Fields, &Viewer<'_>) -> Result<Done, EngineError>,
}

/// Something that was done.
pub(super) struct Done {
    /// What was done, a line each.
    pub(super) lines: Vec<String>,
    /// The address of the page that shows it.
    pub(super) to: String,
}

/// All actions of the page.
const ACTIONS: &[Action] = &[
    Action {
        name: "answer",
        right: PageRight::Answer,
        act: answer_question,
    },
    Action {
        name: "steer",
        right: PageRight::All,
        act: steer,
    },
    Action {
        name: "comment",
        right: PageRight::All,
        act: comment,
    },
    Action {
        name: "stop",
        right: PageRight::All,
        act: stop,
    },
    Action {
        name: "pause",
        right: PageRight::All,
        act: pause,
    },
    Action {
        name: "resume",
        right: PageRight::All,
        act: resume,
    },
    Action {
        name: "apply",
        right: PageRight::All,
        act: apply,
    },
    Action {
        name: "discard",
        right: PageRight::All,
        act: discard,
    },
    Action {
        name: "start",
        right: PageRight::All,
        act: start_page::start,
    },
    Action {
        name: "again",
        right: PageRight::All,
        act: start_page::again,
    },
    Action {
        name: "trust",
        right: PageRight::All,
        act: library_page::accept,
    },
];

/// Finds an action by its name.
pub(super) fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}

/// The answer to a browser for which something was done: the page that shows it, or the words alone for the page's script.
pub(super) fn told(done: &Done, is_part: bool, viewer: &Viewer<'_>) -> Answer {
    if !is_part || !viewer.is_live() {
        return answer::go_to(&done.to);
    }
    let mut html = HtmlPage::default();
    html.markup("<div id=\"notice\" role=\"status\">");
    for line in &done.lines {
        html.element("<p>", line, "</p>");
    }
    html.markup("</div>");
    answer::page(StatusCode::OK, html.finish())
}

/// The address of the page of `RUN` or `RUN.NODE`.
fn page_of(about: &str, viewer: &Viewer<'_>) -> String {
    match parts_of(about) {
        (run, Some(node)) => viewer.child(run, &node),
        (run, None) => viewer.run(run).unwrap_or_default(),
    }
}

fn done(about: &str, viewer: &Viewer<'_>, line: String) -> Done {
    Done {
        lines: vec![line],
        to: page_of(about, viewer),
    }
}

/// The words of a form, which have to be there.
fn words(form: &Fields) -> Result<String, EngineError> {
    let text = form.said("text");
    let text = text.ok_or_else(|| EngineError::usage("there are no words to send"))?;
    Ok(text.replace("\r\n", "\n"))
}

fn want(
    site: &Site,
    about: &str,
    wish: ChildWish,
    viewer: &Viewer<'_>,
    said: impl FnOnce(&NodeId) -> String,
) -> Result<Done, EngineError> {
    let child = site.runs.journal()?.want(about, wish)?;
    Ok(done(about, viewer, said(&child.node)))
}

fn answer_question(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let wish = ChildWish::Answer(words(form)?);
    want(site, about, wish, viewer, |node| {
        format!("{node} has your answer")
    })
}

fn steer(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let wish = ChildWish::Steer(words(form)?);
    want(site, about, wish, viewer, |node| {
        format!("{node} gets the message before its next step")
    })
}

fn resume(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let message = form.said("text").map(|text| text.replace("\r\n", "\n"));
    let wish = ChildWish::Resume(message);
    want(site, about, wish, viewer, |node| {
        format!("{node} continues")
    })
}

fn pause(site: &Site, about: &str, _: &Fields, viewer: &Viewer<'_>) -> Result<Done, EngineError> {
    if parts_of(about).1.is_none() {
        let run = site.runs.journal()?.pause_all(about)?;
        let line = format!("every child of run {run} has been told to pause");
        return Ok(done(about, viewer, line));
    }
    want(site, about, ChildWish::Pause, viewer, |node| {
        format!("{node} has been told to pause")
    })
}

fn stop(site: &Site, about: &str, form: &Fields, viewer: &Viewer<'_>) -> Result<Done, EngineError> {
    let stopped = site
        .runs
        .journal()?
        .stop(about, form.get("now").is_some())?;
    Ok(done(about, viewer, stopped.to_string()))
}

/// A comment on a line of a diff is a message to the child whose work it is: its session goes on with it.
fn comment(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let needed = |name: &str| {
        let value = form.get(name);
        value.ok_or_else(|| EngineError::usage(format!("the comment has no {name}")))
    };
    let comment = grove_engine::LineComment {
        file: needed("file")?.to_owned(),
        line: form.number("line"),
        quoted: needed("quoted")?.to_owned(),
        words: words(form)?,
    };
    let child = site.runs.journal()?.comment(about, &comment)?;
    let mut done = done(about, viewer, format!("{} has your comment", child.node));
    done.to.push_str("/diff");
    Ok(done)
}

fn apply(site: &Site, about: &str, _: &Fields, viewer: &Viewer<'_>) -> Result<Done, EngineError> {
    let journal = site.runs.journal()?;
    let there = folder_of(site, &journal, about)?;
    let applied = journal.apply(&there, about)?;
    let mut lines = applied_lines(&applied);
    lines.extend(after_applying(&applied));
    match applied.failure {
        Some(failure) => Err(failure),
        None => Ok(Done {
            lines,
            to: page_of(about, viewer),
        }),
    }
}

/// The environment in the folder in which a run was asked for.
fn folder_of(site: &Site, journal: &RunJournal, about: &str) -> Result<Environment, EngineError> {
    let mut there = site.runs.engine().environment().clone();
    there.working = journal.folder_of(parts_of(about).0)?;
    Ok(there)
}

fn discard(site: &Site, about: &str, _: &Fields, viewer: &Viewer<'_>) -> Result<Done, EngineError> {
    want(site, about, ChildWish::Discard, viewer, |node| {
        format!("the patch of {node} is not applied with the others")
    })
}
