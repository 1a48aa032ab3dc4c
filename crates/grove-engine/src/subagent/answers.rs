//! The answers of the tool `subagent`: what was found or done, and the one place where that becomes words for a model.
//!
//! A child's words stand between marks that it cannot write, so that no line of them is taken for one of Grove's, and
//! nothing in them is hidden.

use std::fmt::Write as _;

use grove_catalog::disclosure::marked;
use grove_plan::{Execution, NodeView, REJECTED, RunView, subagent_tool};
use grove_spec::text::{counted, one_line, visible};
use grove_store::{LoadedRun, RunRow};
use serde_json::{Value, json};

use super::delivery_of;
use crate::controlling::{StopOutcome, WishedChild};
use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::patches::AppliedRun;
use crate::submission::SubmittedRun;
use crate::tools::ToolResult;
use crate::words::{after_applying, applied_lines, list_lines, row_json, show_lines};

/// The most characters of a result in the text.
const MAX_RESULT: usize = 50_000;
/// The code of a refusal because of a missing or wrong token.
const NOT_OWNER: &str = "not-owner";
/// Options of `grove run` that no field of a request stands for.
const OPTIONS_ONLY: [&str; 2] = ["--replay", "--include-changes"];

/// An answer of the tool.
#[derive(Debug)]
pub enum SubagentAnswer {
    /// The explanation of the tool.
    Help,
    /// A run of a host that has begun, and that it does not wait for.
    Begun {
        /// The run that has begun.
        submitted: SubmittedRun,
        /// The word for its state.
        state: String,
        /// Sentences about how it is run.
        notes: Vec<String>,
    },
    /// The id of a run of a child that has begun, and that it does not wait for.
    BegunBelow(String),
    /// A run as it is, with its result as far as there is one.
    Run(Box<RunReport>),
    /// All that is known of a run.
    Shown(Box<RunView>),
    /// A result that its owner has.
    Acknowledged {
        /// The id of the run.
        run: String,
        /// The id of the result.
        delivery: String,
    },
    /// A child that gets a message.
    Steered(WishedChild),
    /// A child that pauses.
    Interrupted(WishedChild),
    /// A child that goes on, and that the caller does not wait for.
    Continued(WishedChild),
    /// A run that ends.
    Stopped(StopOutcome),
    /// Changes that were applied.
    Applied(AppliedRun),
    /// Runs, the newest first.
    Runs {
        /// The rows of the list.
        rows: Vec<RunRow>,
        /// True if only those are listed that are not over.
        only_open: bool,
        /// The number of runs that have ended, where none is open.
        ended: u64,
    },
    /// Several lists, each with its heading.
    Listed(Vec<(&'static str, SubagentAnswer)>),
    /// Agents, chains, what is wrong with them, or a change to one, in lines.
    Definitions(String),
    /// The refusal of a caller that does not own a run.
    NotOwner {
        /// The id of the run.
        run: String,
        /// True if it gave a token, which is another one's.
        has_token: bool,
    },
    /// A call that could not be answered.
    Failed(EngineError),
}

impl SubagentAnswer {
    /// True if it is a failure.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Run(report) => report.is_error(),
            Self::Applied(applied) => applied.has_conflicts(),
            Self::NotOwner { .. } | Self::Failed(_) => true,
            _ => false,
        }
    }

    /// The answer in words for a model.
    pub fn text(&self) -> String {
        match self {
            Self::Help => subagent_tool::help(),
            Self::Begun {
                submitted, notes, ..
            } => {
                let (run, token) = (&submitted.id, submitted.owner_token.as_deref());
                let handle = handle(run, token, notes);
                format!("{handle}The run has begun; `action: wait` waits for its result.\n")
            }
            Self::BegunBelow(run) => format!("run {run} has begun; `action: wait` waits for it"),
            Self::Run(report) => report.text(),
            Self::Shown(view) => shown(view),
            Self::Acknowledged { run, delivery } => {
                format!("result {delivery} of run {run} is acknowledged\n")
            }
            Self::Steered(child) => format!("{child} gets the message before its next step"),
            Self::Interrupted(child) => {
                format!("{child} has been told to pause; `action: resume` continues it")
            }
            Self::Continued(child) => {
                format!("{child} continues; `action: wait` waits for its result")
            }
            Self::Stopped(outcome) => format!("{outcome}"),
            Self::Applied(applied) => {
                let mut lines = applied_lines(applied);
                lines.extend(after_applying(applied));
                lines.push(String::new());
                lines.join("\n")
            }
            Self::Runs {
                rows,
                only_open,
                ended,
            } => match (rows.as_slice(), only_open, ended) {
                ([], true, 0) => "no run is open\n".to_owned(),
                ([], true, ended) => {
                    let ended = counted(usize::try_from(*ended).unwrap_or(usize::MAX), "ended run");
                    format!("no run is open; `action: list` with `what: runs` lists {ended}\n")
                }
                ([], false, _) => "there are no runs\n".to_owned(),
                (rows, ..) => list_lines(rows),
            },
            Self::Listed(parts) => parts
                .iter()
                .fold(String::new(), |mut text, (heading, part)| {
                    let _ = writeln!(text, "{heading}\n{}", part.text());
                    text
                }),
            Self::Definitions(lines) => lines.clone(),
            Self::NotOwner { run, has_token } => {
                let why = if *has_token {
                    format!("this is not the token of run {run}")
                } else {
                    format!("only the owner of run {run} does that, and `token` is missing")
                };
                format!(
                    "{why} ({NOT_OWNER})\n\
                    hint: give the `token` that the answer to `action: run` named; the same request with the same `submitKey` names it again\n\
                    hint: a person can do it without a token, in a terminal: `grove runs --help`\n"
                )
            }
            Self::Failed(error) => {
                // Hints that only a command line can follow are left out.
                let is_followed = |hint: &&String| !OPTIONS_ONLY.iter().any(|it| hint.contains(it));
                let hints = error.hints.iter().filter(is_followed);
                let hints = hints.map(|hint| format!("\nhint: {hint}"));
                format!("{}{}", error.message(), hints.collect::<String>())
            }
        }
    }

    /// The data for programs.
    pub fn data(&self) -> Option<Value> {
        match self {
            Self::Begun {
                submitted, state, ..
            } => Some(json!({
                "id": submitted.id,
                "state": state,
                "ownerToken": submitted.owner_token,
            })),
            Self::Run(report) => Some(report.data()),
            Self::Acknowledged { run, delivery } => {
                Some(json!({ "id": run, "delivery": delivery, "acknowledged": true }))
            }
            Self::Runs { rows, .. } => {
                let rows = rows.iter().map(row_json).collect::<Vec<_>>();
                Some(json!({ "runs": rows }))
            }
            Self::NotOwner { run, .. } => Some(json!({ "id": run, "code": NOT_OWNER })),
            _ => None,
        }
    }

    /// The answer as the result of a child's call.
    pub(crate) fn into_result(self) -> ToolResult {
        ToolResult {
            text: self.text(),
            is_error: self.is_error(),
        }
    }
}

/// The lines that name a run to its caller.
fn handle(run: &str, token: Option<&str>, notes: &[String]) -> String {
    let mut text = format!("run: {run}\n");
    match token {
        Some(token) => {
            let _ = writeln!(text, "token: {token}");
        }
        None => text.push_str("This run was there already, and somebody else owns its result.\n"),
    }
    for note in notes {
        let _ = writeln!(text, "note: {}", one_line(note));
    }
    text
}

fn shown(view: &RunView) -> String {
    let mut text = show_lines(view).join("\n");
    text.push('\n');
    if let Some(answer) = &view.answer {
        let answer = marked("answer", "run", &view.id, &visible(answer));
        let _ = writeln!(text, "\n{answer}");
    }
    text
}

/// A run as its caller is told of it.
#[derive(Debug)]
pub struct RunReport {
    /// The run as all views show it.
    pub view: RunView,
    /// The last event of the run.
    pub seq: u64,
    /// The token of its owner, if the caller is the owner and a host.
    pub token: Option<String>,
    /// The id of its result, once it is over.
    pub delivery: Option<String>,
    /// True if its owner has the result.
    pub acknowledged: bool,
    /// The notes about it, if it has begun with this call of a host.
    pub begun: Option<Vec<String>>,
    /// True if a host asks.
    pub(super) is_of_host: bool,
    /// The question that it waits with.
    question: Option<String>,
    is_waiting: bool,
}

impl RunReport {
    /// The report on a run as it is now.
    pub(crate) fn of(runs: &RunJournal, run: &LoadedRun, token: Option<String>) -> Self {
        let execution = run.state.run();
        Self {
            view: runs.view(run),
            seq: run.state.seq,
            token,
            delivery: delivery_of(run),
            acknowledged: run.state.acknowledged,
            begun: None,
            is_of_host: !runs.is_of_supervisor(),
            is_waiting: execution.is_waiting(),
            question: match execution {
                Execution::Asking(question) => Some(question.text),
                _ => None,
            },
        }
    }

    /// True if the run ended, and not well.
    fn is_error(&self) -> bool {
        let is_well = self.view.state == "complete" && self.view.acceptance != REJECTED;
        self.view.ended_at.is_some() && !is_well
    }

    fn data(&self) -> Value {
        json!({
            "id": self.view.id,
            "state": self.view.state,
            "seq": self.seq,
            "ownerToken": self.token,
            "delivery": self.delivery,
            "acknowledged": self.acknowledged,
        })
    }

    fn text(&self) -> String {
        let begun = self.begun.as_ref();
        let mut text = begun.map_or_else(String::new, |notes| {
            handle(&self.view.id, self.token.as_deref(), notes)
        });
        self.push_state(&mut text);
        if !self.is_of_host {
            return text;
        }
        match (&self.delivery, &self.token) {
            (Some(delivery), Some(_)) if self.acknowledged => {
                let _ = write!(
                    text,
                    "\n\ndelivery {delivery}: you have acknowledged this result before"
                );
            }
            (Some(delivery), Some(_)) => {
                let _ = write!(
                    text,
                    "\n\ndelivery {delivery}: confirm that you have this result with `action: ack`, the run, the token and this delivery"
                );
            }
            (None, _) if !self.is_waiting => {
                text.push_str("\n\nIt is not over yet; `action: wait` waits for its result.");
            }
            _ => {}
        }
        text.push('\n');
        text
    }

    /// Adds the state of the run, and its question or its result.
    fn push_state(&self, text: &mut String) {
        let view = &self.view;
        let id = &view.id;
        let _ = write!(text, "run {id} {}", view.shown());
        if let Some(question) = &self.question {
            let _ = write!(
                text,
                "\n{}\nAnswer with `action: answer`, or ask whoever gave you the task.",
                marked("question", "run", id, &visible(question))
            );
            return;
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
        for node in view.nodes.iter().filter(has_changes) {
            let node = one_line(node.id.as_str());
            let _ = write!(
                text,
                "\n{node} changed files: `grove runs diff {id}.{node}`"
            );
        }
        let result = view.answer.as_deref().unwrap_or_default();
        let shown: String = result.chars().take(MAX_RESULT).collect();
        if !shown.is_empty() {
            let answer = marked("answer", "run", id, &visible(&shown));
            let _ = write!(text, "\n\n{answer}");
        }
        if shown.len() < result.len() {
            let _ = write!(text, "\n[cut: `grove runs show {id}` has all of it]");
        }
    }
}
