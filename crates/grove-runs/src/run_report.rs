//! The text about a run for a model: that of the child that asked for the run, or that of a host.
//!
//! A child's words stand between marks that it cannot write, so that no line of them is taken for one of Grove's, and
//! nothing in them is hidden.

use std::fmt::Write as _;

use grove_catalog::disclosure::marked;
use grove_plan::{Execution, NodeView, REJECTED, RunView};
use grove_spec::Digest;
use grove_spec::text::{one_line, visible};
use grove_store::{LoadedRun, Store};

/// The most characters of a result in the text.
const MAX_RESULT: usize = 50_000;

/// A report on a run in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The text for the model.
    pub text: String,
    /// Set if the run ended, and not well.
    pub is_error: bool,
}

impl RunReport {
    /// Returns the report on a run as it is now.
    pub fn of(store: &Store, run: &LoadedRun) -> Self {
        let texts = |digest: &Digest| {
            let bytes = store.artifact(digest).ok().flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let id = &run.id;
        let view = RunView::of(id, &run.plan, &run.state, &texts).bounded(&run.plan);
        let mut text = format!("run {id} {}", view.shown());
        if let Execution::Asking(question) = run.state.run() {
            let _ = write!(
                text,
                "\n{}\nAnswer with `action: answer`, or ask whoever gave you the task.",
                marked("question", "run", id, &visible(&question.text))
            );
            return Self {
                text,
                is_error: false,
            };
        }
        if let Some(reason) = &view.reason {
            let _ = write!(text, ": {}", one_line(reason));
        }
        if !matches!(view.acceptance, "none" | REJECTED) {
            let _ = write!(text, " ({})", view.acceptance);
        }
        for node in &view.nodes {
            // The reason quotes what the child stated.
            let why = node.rejected.iter().map(|why| (REJECTED, why));
            let missing = node.missing.iter().map(|what| ("missing", what));
            for (what, text_of_it) in why.chain(missing) {
                let line = visible(&one_line(text_of_it)).into_owned();
                let _ = write!(text, "\n{} {what}: {line}", one_line(node.id.as_str()));
            }
        }
        let has_changes = |node: &&NodeView| node.patch.as_ref().is_some_and(|it| it.files > 0);
        let patches = view.nodes.iter().filter(has_changes);
        for node in patches {
            let _ = write!(
                text,
                "\n{} changed files: `grove runs diff {id}.{}`",
                one_line(node.id.as_str()),
                one_line(node.id.as_str())
            );
        }
        let result = view.answer.unwrap_or_default();
        let shown: String = result.chars().take(MAX_RESULT).collect();
        if !shown.is_empty() {
            let _ = write!(
                text,
                "\n\n{}",
                marked("answer", "run", id, &visible(&shown))
            );
        }
        if shown.len() < result.len() {
            let _ = write!(text, "\n[cut: `grove runs show {id}` has all of it]");
        }
        let is_well = view.state == "complete" && view.acceptance != REJECTED;
        let is_open = run.state.ended.is_none();
        Self {
            text,
            is_error: !is_well && !is_open,
        }
    }
}
