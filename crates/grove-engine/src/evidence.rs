//! Gathers what shows whether a child's work counts: its own report, and the facts that are seen without asking it.

use std::collections::BTreeMap;
use std::path::Path;

use grove_exec::{CallEffect, Git, Program};
use grove_plan::{
    Fact, Facts, FoundReport, Output, Report, ReviewVerdict, SeenCommand, TreeBefore, report_in,
    report_of, tests_not_found,
};
use grove_spec::Digest;
use serde_json::{Value, json};

use crate::node_effect::NodeEffect;
use crate::told::Told;
use crate::tools::ACCEPTANCE_REPORT;

/// The most bytes of a change that a reviewer is shown.
const MOST_DIFF: usize = 48 << 10;

/// The files before a child and now.
pub(crate) struct Trees {
    pub(crate) before: String,
    pub(crate) now: String,
    /// Paths from the top that do not belong to the work.
    pub(crate) apart: Vec<String>,
}

pub(crate) fn look(git: &Git, folder: &Path, scratch: &Path) -> TreeBefore {
    let _ = grove_fs::files::make_closed_folder(scratch);
    let tree = git.tree(folder, scratch, &[]).ok().flatten();
    let staged = match &tree {
        Some(_) => git.staged(folder).unwrap_or_default(),
        None => Vec::new(),
    };
    let _ = grove_fs::files::remove_folder(scratch);
    TreeBefore { tree, staged }
}

impl NodeEffect<'_> {
    /// Returns the files before it and now; none if version control does not know them.
    pub(crate) fn trees(&self) -> Option<Trees> {
        let (child, node) = (self.child()?, self.state());
        let (folder, scratch) = (self.work_folder(), self.temporary("look"));
        let tree = node.and_then(|node| node.worktree.as_ref());
        let before = match &child.place.worktree {
            Some(plan) => {
                let begun = tree.and_then(|tree| tree.base.clone());
                begun.unwrap_or_else(|| plan.base.clone())
            }
            None => node?.before.clone()?.tree?,
        };
        let _ = grove_fs::files::make_closed_folder(&scratch);
        let apart = tree.map_or(&[][..], |tree| &tree.synthetic);
        let now = self.git.tree(&folder, &scratch, apart);
        let now = now.ok().flatten();
        let _ = grove_fs::files::remove_folder(&scratch);
        Some(Trees {
            before,
            now: now?,
            apart: apart.to_vec(),
        })
    }

    /// Returns true if version control knew the files before the child began.
    pub(crate) fn was_seen(&self) -> bool {
        let has_tree = self
            .child()
            .is_some_and(|child| child.place.worktree.is_some());
        let before = self.state().and_then(|node| node.before.as_ref());
        has_tree || before.is_some_and(|before| before.tree.is_some())
    }

    /// Returns the facts that are seen without asking the child.
    pub(crate) fn facts(&self, report: Option<&Report>, trees: Option<&Trees>) -> Facts {
        let (commands, written) = self.calls();
        let mut facts = Facts {
            commands,
            written,
            ..Facts::default()
        };
        let Some(trees) = trees else {
            return facts;
        };
        let folder = self.work_folder();
        facts.changed = self.git.changed(&folder, &trees.before, &trees.now).ok();
        let before = self.state().and_then(|node| node.before.as_ref());
        let before = before.map_or(&[][..], |before| &before.staged);
        facts.staged = self.git.staged(&folder).ok().map(|staged| {
            let new = staged.into_iter().filter(|file| !before.contains(file));
            new.collect()
        });
        if let (Some(report), Some(changed)) = (report, &facts.changed) {
            let patch = self.patch(trees);
            facts.tests_not_found = tests_not_found(report, changed, &patch);
        }
        facts
    }

    pub(crate) fn patch(&self, trees: &Trees) -> String {
        let patch = self
            .git
            .patch(&self.work_folder(), &trees.before, &trees.now);
        String::from_utf8_lossy(&patch.unwrap_or_default()).into_owned()
    }

    /// Returns the commands that it ran and the files that its tools wrote, by the journal.
    fn calls(&self) -> (Option<Vec<SeenCommand>>, Vec<String>) {
        let (mut commands, mut written) = (Vec::<SeenCommand>::new(), Vec::new());
        let (mut running, mut writing) = (BTreeMap::new(), BTreeMap::new());
        let engine = self.child().map_or("", |child| child.engine.as_str());
        for event in &self.run.events {
            match &event.fact {
                Fact::Called { of, call, .. } if of.node == *self.node => {
                    let id = (of.clone(), call.id.clone());
                    let arguments = self.store.value(&call.arguments).unwrap_or_default();
                    match effect_of(engine, &call.tool, &arguments) {
                        CallEffect::Command(line) => {
                            running.insert(id, commands.len());
                            commands.push(SeenCommand {
                                line,
                                failed: false,
                                end_unknown: true,
                            });
                        }
                        CallEffect::Writes(files) => {
                            writing.insert(id, files);
                        }
                        CallEffect::Other => {}
                    }
                }
                Fact::Returned {
                    of, call, outcome, ..
                } => {
                    let id = (of.clone(), call.clone());
                    let at = running.remove(&id);
                    if let Some(command) = at.and_then(|at| commands.get_mut(at)) {
                        command.failed = outcome.is_error;
                        command.end_unknown = outcome.goes_on;
                    }
                    let files = writing.remove(&id).filter(|_| !outcome.is_error);
                    written.extend(files.into_iter().flatten());
                }
                _ => {}
            }
        }
        let is_seen = Program::named(engine).is_none_or(|program| program.can.calls);
        (is_seen.then_some(commands), written)
    }

    /// Returns the child's report: from the tool, else from its words; a later try adds to an earlier one.
    pub(crate) fn report(&self) -> FoundReport {
        let attempts = self.state().map(|node| &node.attempts);
        let attempts = attempts.into_iter().flatten().enumerate();
        let mut whole: Option<Report> = None;
        let mut notes = Vec::new();
        for (at, attempt) in attempts {
            let of = |n: u32| usize::try_from(n).is_ok_and(|n| n == at + 1);
            let mut called = self
                .run
                .events
                .iter()
                .filter_map(|event| match &event.fact {
                    Fact::Called {
                        of: whose, call, ..
                    } if whose.node == *self.node
                        && of(whose.n)
                        && call.tool == ACCEPTANCE_REPORT =>
                    {
                        let arguments = self.store.value(&call.arguments);
                        Some(report_of(&arguments.unwrap_or_default()))
                    }
                    _ => None,
                });
            let found = called.rfind(|found| found.report.is_some());
            let output = attempt.output().cloned().unwrap_or_default();
            let found = found.unwrap_or_else(|| self.report_said(&output));
            notes = found.notes;
            whole = match (whole, found.report) {
                (Some(earlier), Some(later)) => Some(earlier.with(later)),
                (earlier, later) => earlier.or(later),
            };
        }
        FoundReport {
            report: whole,
            notes,
        }
    }

    /// Returns the report in a child's last words, else the one in the file that it wrote its answer to.
    fn report_said(&self, output: &Output) -> FoundReport {
        let found = |digest: &Option<Digest>| {
            let text = self.store.text(digest.as_ref()?).ok()?;
            Some(report_in(&text))
        };
        let said = found(&output.text).unwrap_or_else(|| report_in(""));
        match found(&output.written) {
            Some(written) if said.report.is_none() && !written.is_absent() => written,
            _ => said,
        }
    }

    /// Returns the message for a reviewer of the work.
    pub(crate) fn for_review(&self, focus: Option<&str>) -> String {
        let mut parts = vec![
            "Look at what another agent did. Decide whether something stands in the way of taking its work: wrong, missing, \
unsafe, or not what was asked. Look at the files yourself; take its word for nothing. Change nothing. Your result is an \
object: {\"blockers\": [what stands in the way, each in a sentence with its file], \"notes\": [what else should be known]}; \
both are empty lists when there is nothing."
                .to_owned(),
        ];
        if let Some(focus) = focus {
            parts.push(format!("Above all: {focus}"));
        }
        let child = self.child();
        let told = child.and_then(|child| {
            let digest = self
                .state()?
                .attempts
                .first()
                .and_then(|it| it.told)
                .unwrap_or(child.told);
            let told: Told = self.store.json(&digest).ok()?;
            Some(told.message)
        });
        parts.push(format!("What it was asked:\n{}", told.unwrap_or_default()));
        if let Some(contract) = child.and_then(|child| child.contract.as_ref()) {
            let criteria = contract.criteria.iter();
            let lines = criteria.map(|it| format!("- {}: {}", it.id, it.must));
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                parts.push(format!("What must be so:\n{}", lines.join("\n")));
            }
        }
        let seen = self.state().and_then(|node| node.seen.as_ref());
        if let Some(seen) = seen {
            let checks = seen.results.iter();
            let lines: Vec<String> = checks.map(|it| format!("- {} {}", it.id, it.end)).collect();
            if !lines.is_empty() {
                parts.push(format!(
                    "Commands that were run on it:\n{}",
                    lines.join("\n")
                ));
            }
            if let Some(report) = &seen.report {
                let report = serde_json::to_string_pretty(report).unwrap_or_default();
                parts.push(format!("What it says of its work:\n{report}"));
            }
        }
        parts.push(match self.trees() {
            Some(trees) => {
                let patch = self.patch(&trees);
                let end = patch.floor_char_boundary(MOST_DIFF);
                let cut = if end < patch.len() {
                    "\n[cut: read the files]"
                } else {
                    ""
                };
                format!(
                    "What it changed:\n{}{cut}",
                    patch.get(..end).unwrap_or_default()
                )
            }
            None => "What it changed cannot be listed: there is no version control.".to_owned(),
        });
        parts.join("\n\n")
    }
}

/// Returns the effect of a tool call, in the words of the engine that drives the child.
fn effect_of(engine: &str, tool: &str, arguments: &Value) -> CallEffect {
    if let Some(program) = Program::named(engine) {
        return program.effect(tool, arguments);
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match tool {
        "bash" => CallEffect::Command(text("command").unwrap_or_default().to_owned()),
        "write" | "edit" => {
            CallEffect::Writes(text("path").map(str::to_owned).into_iter().collect())
        }
        _ => CallEffect::Other,
    }
}

/// Returns the schema of a reviewer's result.
pub(crate) fn review_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "blockers": {
                "type": "array",
                "items": { "type": "string" },
                "description": "what stands in the way, each in a sentence with its file; empty when nothing does",
            },
            "notes": {
                "type": "array",
                "items": { "type": "string" },
                "description": "what else should be known",
            },
        },
        "required": ["blockers", "notes"],
        "additionalProperties": false,
    })
}

/// Returns a reviewer's verdict; none if it gave none.
pub(crate) fn review_verdict(structured: Option<&Value>, text: &str) -> Option<ReviewVerdict> {
    let read = |value: &Value| {
        let list = |name: &str| -> Option<Vec<String>> {
            let items = value.get(name)?.as_array()?.iter();
            Some(
                items
                    .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
                    .collect(),
            )
        };
        Some(ReviewVerdict {
            blockers: list("blockers")?,
            notes: list("notes").unwrap_or_default(),
        })
    };
    structured.and_then(read).or_else(|| {
        // An engine without schemas gives the same object in its words.
        let starts = text.rmatch_indices('{').take(50);
        starts.into_iter().find_map(|(at, _)| {
            let end = text.rfind('}')?;
            let value = serde_json::from_str(text.get(at..=end)?).ok()?;
            read(&value)
        })
    })
}
