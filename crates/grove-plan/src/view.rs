//! The form in which people and programs see a run: `grove.run/1`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use grove_spec::Digest;
use grove_spec::money::amount;
use grove_spec::text::one_line;
use serde::Serialize;
use serde_json::Value;

use crate::attention::Attention;
use crate::contract::{Accepted, CheckResult, Contract};
use crate::event::{AddedText, Delivered, Proof, ReviewVerdict, SubmoduleWork, Times};
use crate::evidence::Seen;
use crate::ids::NodeId;
use crate::money::cost_of;
use crate::plan::{Child, Plan, Work};
use crate::report::without_report;
use crate::state::{AttemptState, Execution, NodeState, REJECTED, State};
use crate::usage::Usage;

/// Returns the text of an artifact, where there is one.
pub type Texts<'a> = &'a dyn Fn(&Digest) -> Option<String>;

/// A run as people and programs see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The version of this form: `grove.run/1`.
    pub schema: &'static str,
    /// The id of the run.
    pub id: String,
    /// The word for its state.
    pub state: &'static str,
    /// The reason for that state, as data.
    pub cause: Option<Value>,
    /// The same reason in a sentence.
    pub reason: Option<String>,
    /// The verdict on its work; `none` while nothing was demanded.
    pub acceptance: &'static str,
    /// Its nodes, in the order of the plan.
    pub nodes: Vec<NodeView>,
    /// The tokens that it has spent.
    pub usage: Usage,
    /// The cost in money, where prices are known.
    pub cost: Option<f64>,
    /// Set if it is over and some of its children were done and some were not.
    pub partial: bool,
    /// The time at which it was submitted, in milliseconds since 1970.
    pub submitted_at: Option<u64>,
    /// The time at which it ended, in milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// Its result: the text of its last node.
    pub result: Option<String>,
    /// The answer that people and models are shown: the result, and of a chain that was cut short every step that was begun.
    /// In data the steps are in `nodes`.
    #[serde(skip)]
    pub answer: Option<String>,
    /// The outcome of telling the command that waits for its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_complete: Option<Delivered>,
}

/// A node as people and programs see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// The id of the node.
    pub id: NodeId,
    /// The agent that its child runs.
    pub agent: String,
    /// The name that is shown for it while it runs.
    pub label: Option<String>,
    /// The number of items that it runs for; the nodes after it are its items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// The engine that drives it.
    pub engine: String,
    /// The version of the program that drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_version: Option<String>,
    /// The word for its state.
    pub state: &'static str,
    /// The reason for that state, as data.
    pub cause: Option<Value>,
    /// The same reason in a sentence.
    pub reason: Option<String>,
    /// The verdict on its work.
    pub acceptance: &'static str,
    /// The reason why its work does not count.
    pub rejected: Option<String>,
    /// Parts of its contract that are missing, where the contract was inferred and not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The results of its commands.
    pub checks: Vec<CheckResult>,
    /// The other observations of its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// The reason why a person may have to look after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// The findings of its reviewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewVerdict>,
    /// The node whose work it looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<NodeId>,
    /// The digest of what it was told.
    pub told: Digest,
    /// The attempts at it.
    pub attempts: Vec<AttemptView>,
    /// The output of its child.
    pub output: OutputView,
    /// The working tree that was left, and why.
    pub worktree: Option<WorktreeView>,
    /// The changes that it made in its working tree.
    pub patch: Option<PatchView>,
    /// The processes of it that may still run, if it is not proven that there are none.
    pub not_proven_ended: Option<String>,
}

impl NodeView {
    /// The word that people read for its state.
    pub fn shown(&self) -> &'static str {
        shown(self.state, self.rejected.is_some())
    }

    /// The tokens that count, of all attempts at it and the runs below them.
    pub fn tokens(&self) -> u64 {
        let all = self.attempts.iter().map(|attempt| attempt.tokens);
        all.fold(0, u64::saturating_add)
    }

    /// Returns remarks for a person who takes its work over, each after the kind of the remark.
    pub fn remarks(&self) -> Vec<(&'static str, &str)> {
        let report = self.seen.as_ref().and_then(|seen| seen.report.as_ref());
        let risks = report.and_then(|report| report.residual_risks.as_deref());
        let review = self.review.as_ref();
        let blockers = review.map(|review| review.blockers.as_slice());
        let notes = review.map(|review| review.notes.as_slice());
        let unsaved = self.output.unsaved.as_slice();
        let kinds = [
            ("its answer is in no file", unsaved),
            ("missing", self.missing.as_slice()),
            ("residual risk", risks.unwrap_or_default()),
            ("review, in the way", blockers.unwrap_or_default()),
            ("review", notes.unwrap_or_default()),
        ];
        let lines = kinds.into_iter().flat_map(|(what, lines)| {
            let lines = lines.iter();
            lines.map(move |line| (what, line.as_str()))
        });
        lines.collect()
    }
}

/// A working tree that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorktreeView {
    /// The path of the working tree.
    pub path: PathBuf,
    /// The reason why it was left; none while the child works in it.
    pub kept: Option<String>,
}

/// The work that was done in a working tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchView {
    /// The artifact with the patch.
    pub digest: Digest,
    /// The number of files that it changes.
    pub files: u64,
    /// The commit that it applies to.
    pub base: Option<String>,
    /// The artifact with new files that version control ignores.
    pub ignored: Option<Digest>,
    /// The work that was done in submodules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleWork>,
    /// Set if it is not to be applied with the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_discarded: bool,
}

/// An attempt as people and programs see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// The number of the attempt, counted from one.
    pub n: usize,
    /// The model that it runs with.
    pub model: String,
    /// The word for its state.
    pub state: &'static str,
    /// The reason for that state, as data.
    pub cause: Option<Value>,
    /// The same reason in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tokens that it spent.
    pub usage: Usage,
    /// The tokens that count, those of runs below it included.
    #[serde(skip)]
    pub tokens: u64,
    /// Runs that it asked for, and those below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<String>,
    /// The number of answers of the model.
    pub turns: u32,
    /// Text that a program added of its own to what the child is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<AddedText>,
    /// The number of calls of tools.
    pub tool_calls: usize,
    /// The number of times that it went on after its supervisor was gone.
    pub recoveries: u32,
    /// The time at which an executor took it.
    pub started_at: Option<u64>,
    /// The time at which it ended.
    pub ended_at: Option<u64>,
}

/// The output of a child.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OutputView {
    /// The last text of the child.
    pub text: Option<String>,
    /// The value that met the schema.
    pub structured: Option<Value>,
    /// The file it was written to.
    pub path: Option<String>,
    /// Set if the text is not all of it.
    pub truncated: bool,
    /// The reason why it is not in the file that it was to be written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
}

/// The text that later children are told in place of an answer that is in a file.
fn reference(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let size = size_of(text.len());
    format!("The answer is in {path} ({size}, {lines} lines). Read this file if needed.")
}

/// Writes a number of bytes for people.
fn size_of(bytes: usize) -> String {
    let mut tenths = bytes.saturating_mul(10);
    let mut units = ["B", "KB", "MB", "GB", "TB"].into_iter().peekable();
    while let Some(unit) = units.next() {
        if tenths < 10_240 || units.peek().is_none() {
            let rest = match unit {
                "B" => String::new(),
                _ => format!(".{}", tenths % 10),
            };
            return format!("{}{rest} {unit}", tenths / 10);
        }
        tenths /= 1_024;
    }
    format!("{bytes} B")
}

impl RunView {
    /// The version of this form.
    pub const SCHEMA: &str = "grove.run/1";

    /// Returns the view of a run.
    pub fn of(id: &str, plan: &Plan, state: &State, texts: Texts<'_>) -> Self {
        let run = state.run();
        let nodes = node_views(plan, state, texts, |_| true);
        let is_over = state.ended.is_some();
        let result = result_of(plan, &nodes);
        Self {
            partial: is_over && is_partial(&nodes),
            answer: steps_of(plan, run.word(), is_over, &nodes).or_else(|| result.clone()),
            schema: Self::SCHEMA,
            id: id.to_owned(),
            state: run.word(),
            cause: cause_of(&run),
            reason: state.reason(&run),
            acceptance: acceptance_of(&nodes),
            nodes,
            usage: state.spent,
            cost: cost_of(plan, state).map(amount),
            submitted_at: state.submitted.map(wall),
            ended_at: state.ended.map(wall),
            result,
            on_complete: state.delivered.clone(),
        }
    }

    /// Returns the same view with no more of each answer than was asked for.
    #[must_use]
    pub fn bounded(mut self, plan: &Plan) -> Self {
        let Some(most) = plan.max_output else {
            return self;
        };
        for node in &mut self.nodes {
            let output = &mut node.output;
            let session = || format!("`grove runs session {}.{}`", self.id, node.id);
            let whole = output.path.clone().unwrap_or_else(session);
            let text = output.text.as_deref();
            if let Some(cut) = text.and_then(|text| most.cut(text, &whole)) {
                output.text = Some(cut);
                output.truncated = true;
            }
        }
        self.result = result_of(plan, &self.nodes);
        let is_over = self.ended_at.is_some();
        let answer = steps_of(plan, self.state, is_over, &self.nodes);
        self.answer = answer.or_else(|| self.result.clone());
        self
    }

    /// The word that people read for its state.
    pub fn shown(&self) -> &'static str {
        shown(self.state, self.acceptance == REJECTED)
    }

    /// The tokens that count, those of runs below it included.
    pub fn tokens(&self) -> u64 {
        self.usage.counted()
    }
}

fn wall(times: Times) -> u64 {
    times.wall
}

/// Returns true if some children were done and some were not.
fn is_partial(nodes: &[NodeView]) -> bool {
    let authors = nodes
        .iter()
        .filter(|node| node.reviews.is_none() && node.items.is_none());
    let mut done = authors.map(is_done);
    let first = done.next();
    first.is_some_and(|first| done.any(|other| other != first))
}

fn is_done(node: &NodeView) -> bool {
    node.state == "complete" && node.rejected.is_none()
}

/// Of several verdicts the one that matters: `rejected` where one is, or the one that all have.
fn acceptance_of(nodes: &[NodeView]) -> &'static str {
    let authors = nodes
        .iter()
        .filter(|node| node.reviews.is_none() && node.items.is_none());
    let mut words = authors.map(|node| node.acceptance);
    let first = words.clone().next().unwrap_or("none");
    if words.clone().any(|word| word == "rejected") {
        "rejected"
    } else if words.all(|word| word == first) {
        first
    } else {
        "none"
    }
}

/// The result of a run: the text of the last step that was begun; of several nodes, each text with how the node ended.
fn result_of(plan: &Plan, nodes: &[NodeView]) -> Option<String> {
    let mut authors = nodes.iter().filter(|node| node.reviews.is_none());
    let has_answer = |node: &&NodeView| {
        let cause = node.cause.as_ref();
        let is_conflict = cause.is_some_and(|cause| cause["kind"] == "conflict");
        !node.attempts.is_empty() || node.output.structured.is_some() || is_conflict
    };
    let begun = authors.rfind(has_answer)?;
    let step = |id: &NodeId| plan.group_of(id);
    let Some(group) = step(&begun.id) else {
        return begun.output.text.clone();
    };
    let members: Vec<&NodeView> = nodes
        .iter()
        .filter(|node| step(&node.id).as_ref() == Some(&group) && node.reviews.is_none())
        .collect();
    let done = members.iter().filter(|node| is_done(node)).count();
    let blocks: Vec<String> = members.iter().map(|node| block(node)).collect();
    Some(format!(
        "{done}/{} succeeded\n\n{}",
        members.len(),
        blocks.join("\n\n")
    ))
}

/// Every step that was begun, where a chain ended before all of its steps were done: a block for each child.
fn steps_of(plan: &Plan, run: &str, is_over: bool, nodes: &[NodeView]) -> Option<String> {
    let is_cut_short = is_over && run != Execution::Complete.word();
    let step = |id: &NodeId| plan.group_of(id).unwrap_or_else(|| id.clone());
    let authors = || {
        nodes
            .iter()
            .filter(|node| node.reviews.is_none() && node.items.is_none())
    };
    let begun = authors().filter(|node| !node.attempts.is_empty());
    let begun: BTreeSet<NodeId> = begun.map(|node| step(&node.id)).collect();
    if !is_cut_short || begun.len() < 2 {
        return None;
    }
    let done = authors().filter(|node| is_done(node)).count();
    let shown = authors().filter(|node| begun.contains(&step(&node.id)));
    let blocks: Vec<String> = shown.map(block).collect();
    let all = authors().count();
    Some(format!("{done}/{all} succeeded\n\n{}", blocks.join("\n\n")))
}

/// The word that people read for a state: work that does not count is not called complete.
fn shown(state: &'static str, is_rejected: bool) -> &'static str {
    if is_rejected && state == Execution::Complete.word() {
        REJECTED
    } else {
        state
    }
}

/// The texts of nodes: of a single node as it is, of several a block each.
pub fn said_by(nodes: &[NodeView], ids: &[NodeId]) -> String {
    let nodes: Vec<&NodeView> = nodes.iter().filter(|node| ids.contains(&node.id)).collect();
    match nodes.as_slice() {
        [one] => one.output.text.clone().unwrap_or_default(),
        several => {
            let blocks: Vec<String> = several.iter().map(|node| block(node)).collect();
            blocks.join("\n\n")
        }
    }
}

/// What the headings of blocks begin with.
const HEADING: &str = "=== ";

/// Text in which no line begins like the heading of a block: such a line is put behind a blank.
fn without_headings(text: &str) -> String {
    let is_break = |c: char| {
        matches!(
            c,
            '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let lines = text.split_inclusive(is_break);
    let quoted = lines.map(|line| {
        if line.starts_with(HEADING) {
            [" ", line]
        } else {
            ["", line]
        }
    });
    quoted.flatten().collect()
}

/// A node's text below a line with its name and, unless it is done, how it ended.
fn block(node: &NodeView) -> String {
    let text = without_headings(node.output.text.as_deref().unwrap_or_default());
    let reason = one_line(node.reason.as_deref().unwrap_or_default());
    let timed_out = node
        .cause
        .as_ref()
        .is_some_and(|cause| cause["kind"] == "timedOut");
    let status = match node.state {
        "complete" if node.rejected.is_some() => {
            format!(
                ": REJECTED: {}",
                one_line(node.rejected.as_deref().unwrap_or_default())
            )
        }
        "complete" if text.trim().is_empty() => ": EMPTY OUTPUT".to_owned(),
        "complete" => String::new(),
        _ if timed_out => format!(": TIMED OUT: {reason}"),
        state if reason.is_empty() => format!(": {}", state.to_uppercase()),
        state => format!(": {}: {reason}", state.to_uppercase()),
    };
    let name = one_line(node.label.as_deref().unwrap_or(&node.agent));
    format!("{HEADING}{} {name}{status} ===\n{text}", node.id)
}

/// Returns the reason for a state, as data.
fn cause_of(execution: &Execution) -> Option<Value> {
    match execution {
        Execution::Failed(cause) => serde_json::to_value(cause).ok(),
        Execution::Asking(question) => serde_json::to_value(question).ok(),
        Execution::Stopped(why) | Execution::Paused(why) => serde_json::to_value(why).ok(),
        Execution::Lost(why) => Some(Value::String(why.clone())),
        _ => None,
    }
}

/// Returns the views of some nodes, in the order of the plan. Nothing is read for the others.
pub fn node_views(
    plan: &Plan,
    state: &State,
    texts: Texts<'_>,
    is_wanted: impl Fn(&NodeId) -> bool,
) -> Vec<NodeView> {
    let unknown = NodeState::default();
    let view = |id: &NodeId, child: &Child| {
        is_wanted(id).then(|| {
            let known = state.nodes.get(id).unwrap_or(&unknown);
            node_view(plan, id, child, known, texts)
        })
    };
    let mut nodes: Vec<NodeView> = Vec::with_capacity(plan.nodes.len());
    for node in &plan.nodes {
        let fan_out = match &node.work {
            Work::Child(child) => {
                nodes.extend(view(&node.id, child));
                continue;
            }
            Work::FanOut(fan_out) => fan_out,
        };
        let found = state
            .nodes
            .get(&node.id)
            .and_then(|list| list.items.as_ref());
        let found = found.map_or(&[][..], |found| &found.items);
        nodes.extend(view(&node.id, &fan_out.child).map(|whole| NodeView {
            items: Some(found.len()),
            ..whole
        }));
        nodes.extend(found.iter().filter_map(|item| {
            let seen = view(&node.id.item(&item.key), &fan_out.child)?;
            let label = item.label.clone();
            Some(NodeView { label, ..seen })
        }));
        if let Some(reviewer) = &fan_out.reviewer {
            let reviews = found.iter().map(|item| node.id.item(&item.key).reviewer());
            nodes.extend(reviews.filter_map(|id| view(&id, reviewer)));
        }
    }
    nodes
}

fn node_view(
    plan: &Plan,
    id: &NodeId,
    child: &Child,
    node: &NodeState,
    texts: Texts<'_>,
) -> NodeView {
    let attempts = node.attempts.iter().enumerate();
    let attempts = attempts.map(|(at, attempt)| attempt_view(at, child, attempt));
    let last = node.last();
    let output = node.output();
    let text_of = |digest: Option<&Digest>| digest.and_then(texts);
    let structured = text_of(output.and_then(|output| output.structured.as_ref()));
    let tree = node.worktree.as_ref();
    let seen = node.seen.as_ref();
    let reports = child.contract.as_ref().is_some_and(Contract::wants_report);
    let said = text_of(output.and_then(|output| output.written.as_ref().or(output.text.as_ref())));
    let said = said.map(|text| if reports { without_report(&text) } else { text });
    let path = output.and_then(|output| output.path.clone());
    let proof = last.and_then(|attempt| attempt.proof.as_ref());
    NodeView {
        id: id.clone(),
        agent: child.agent.clone(),
        label: child.label.clone(),
        items: None,
        engine: child.engine.clone(),
        program_version: child.program_version.clone(),
        state: node.execution.word(),
        cause: cause_of(&node.execution),
        reason: node.execution.reason(),
        acceptance: node.accepted.word(),
        rejected: match &node.accepted {
            Accepted::Rejected { why } => Some(why.clone()),
            _ => None,
        },
        missing: match &node.accepted {
            Accepted::Claimed { missing } => missing.clone(),
            _ => Vec::new(),
        },
        checks: seen.map_or_else(Vec::new, |seen| seen.results.clone()),
        seen: seen.cloned(),
        attention: last.and_then(|last| last.attention),
        review: node.review.clone(),
        reviews: plan.reviews(id),
        told: last.and_then(|last| last.told).unwrap_or(child.told),
        attempts: attempts.collect(),
        output: OutputView {
            text: match (said, &path) {
                (Some(text), Some(path)) if child.file_only => Some(reference(path, &text)),
                (said, _) => said,
            },
            structured: structured.and_then(|text| serde_json::from_str(&text).ok()),
            path,
            truncated: false,
            unsaved: output.and_then(|output| output.unsaved.clone()),
        },
        worktree: tree.and_then(|tree| {
            let (path, kept) = (tree.folder.clone()?, tree.kept.clone());
            Some(WorktreeView { path, kept })
        }),
        patch: tree.and_then(|tree| {
            let captured = tree.captured.as_ref()?;
            let plan = child.place.worktree.as_ref();
            Some(PatchView {
                digest: captured.patch,
                files: captured.files,
                base: captured
                    .base
                    .clone()
                    .or_else(|| plan.map(|plan| plan.base.clone())),
                ignored: captured.ignored,
                submodules: captured.submodules.clone(),
                is_discarded: tree.is_discarded,
            })
        }),
        not_proven_ended: match proof {
            Some(Proof::NotProven { why }) => Some(why.clone()),
            Some(Proof::Ended { .. }) | None => None,
        },
    }
}

fn attempt_view(at: usize, child: &Child, attempt: &AttemptState) -> AttemptView {
    AttemptView {
        n: at.saturating_add(1),
        model: child.models.get(attempt.model).cloned().unwrap_or_default(),
        state: attempt.execution.word(),
        cause: cause_of(&attempt.execution),
        reason: attempt.execution.reason(),
        usage: attempt.usage,
        tokens: attempt.tokens(),
        delegated: attempt.delegated.clone(),
        turns: attempt.turns,
        added: attempt.added.clone(),
        tool_calls: attempt.calls.len(),
        recoveries: attempt.recoveries,
        started_at: attempt.started.map(wall),
        ended_at: attempt.ended.map(wall),
    }
}
