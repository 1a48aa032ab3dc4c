//! Chain files: steps for agents, one after another, side by side, or once for each item of a list.
//!
//! `.chain.md` has a heading for each step; `.chain.json` can express every chain. Both are read into one [`ChainFile`] and
//! held to the same rules. Chains are not run here. A known key with a value of the wrong kind makes a chain invalid,
//! since it would not run as it is written. Unknown keys are kept and reported.

pub mod compose;
pub mod edit;
mod field_values;
mod json_file;
mod markdown;
pub mod naming;
pub mod print;
mod references;
mod step_edit;
mod step_fields;
#[cfg(test)]
mod tests;

pub use naming::ChainFormat;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::acceptance::Acceptance;
use crate::agent::fields as agent_fields;
use crate::agent::{OutputFile, OutputMode, WordChoice};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::frontmatter;
use crate::yaml::YamlEntry;

/// The most steps of one chain that are read.
pub const MAX_STEPS: usize = 200;
/// The most tasks of one step, each counted as often as it is to run.
pub const MAX_TASKS: usize = 100;
/// The most items of a list that a step may run for.
pub const MAX_ITEMS: u64 = 1_000;

/// The contents of a chain file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainFile {
    /// The name without the package.
    pub name: Option<String>,
    /// The package, normalised; the chain is called `package.name`.
    pub package: Option<String>,
    /// The purpose of the chain.
    pub description: Option<String>,
    /// The steps in order.
    pub steps: Vec<ChainStep>,
    /// Further keys of the file, as written.
    pub extra: Vec<(String, Value)>,
    /// Text before the first heading of a `.chain.md`, which is for people.
    pub intro: String,
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum ChainStep {
    /// A step with one task.
    One(Box<ChainTask>),
    /// Several tasks side by side.
    Parallel(Box<ParallelTasks>),
    /// The same task for each item of a list that an earlier step returned.
    FanOut(Box<RepeatedTask>),
}

/// A task for an agent. A setting that is not given is the agent's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainTask {
    /// The name of the agent.
    pub agent: String,
    /// The instructions; `{previous}` and similar references are filled in when the step runs.
    pub task: Option<String>,
    /// The part of the work that it belongs to.
    pub phase: Option<String>,
    /// The name of the task while it runs.
    pub label: Option<String>,
    /// `as`: the name of its output in later steps.
    pub output_name: Option<String>,
    /// The schema that its output must match.
    pub output_schema: Option<OutputSchema>,
    /// The folder in which it works.
    pub cwd: Option<String>,
    /// The file for its answer.
    pub output: Option<OutputFile>,
    /// The result that the next step gets of an answer that is written to a file.
    pub output_mode: Option<OutputMode>,
    /// Files to read first, in place of the agent's; an empty list means none.
    pub reads: Option<Vec<String>>,
    /// Set if it reports its progress.
    pub progress: Option<bool>,
    /// Skills in place of the agent's; an empty list means none.
    pub skills: Option<Vec<String>>,
    /// The model in place of the agent's.
    pub model: Option<String>,
    /// The engine that drives it, in place of the agent's.
    pub engine: Option<String>,
    /// The proof that its work must have before it counts as done.
    pub acceptance: Option<Acceptance>,
    /// True for a working tree of its own and false for none, in place of the setting of its step or request.
    pub worktree: Option<bool>,
    /// The commit that this tree begins from, in place of the result of the steps before it.
    pub base_ref: Option<String>,
    /// The number of times it runs, side by side.
    pub count: Option<u64>,
    /// Keys that Grove does not know, as written.
    pub unknown: Vec<(String, Value)>,
    /// The positions of the task and its keys.
    pub places: TaskPlaces,
}

/// The positions of a task and its keys; a key that is not written has the position of the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskPlaces {
    /// The position of the whole task.
    pub whole: ChainPosition,
    /// The position of `agent`.
    pub agent: ChainPosition,
    /// The position of the task's text.
    pub text: ChainPosition,
    /// The position of `label`.
    pub label: ChainPosition,
    /// The position of `as`.
    pub output_name: ChainPosition,
    /// The position of the skills.
    pub skills: ChainPosition,
    /// The position of `model`.
    pub model: ChainPosition,
}

impl TaskPlaces {
    fn at(position: Position) -> Self {
        let place = ChainPosition(position);
        Self {
            whole: place,
            agent: place,
            text: place,
            label: place,
            output_name: place,
            skills: place,
            model: place,
        }
    }
}

/// The schema that an output must match.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OutputSchema {
    /// The path of a file with the JSON schema, relative to the chain's.
    File(String),
    /// The JSON schema itself, as written.
    Inline(Value),
}

/// Several tasks that run side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParallelTasks {
    /// The tasks of the group.
    pub tasks: Vec<ChainTask>,
    /// The settings for all of them.
    pub settings: GroupSettings,
}

/// The settings of tasks that run side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSettings {
    /// The part of the work that they belong to.
    pub phase: Option<String>,
    /// The name of the tasks while they run.
    pub label: Option<String>,
    /// The number of tasks that run at a time.
    pub concurrency: Option<u64>,
    /// Set if the first failure ends them all.
    pub fail_fast: Option<bool>,
    /// Set if each has a working tree of its own.
    pub worktree: Option<bool>,
    /// The commit that these trees begin from, in place of the result of the steps before them.
    pub base_ref: Option<String>,
    /// The folder in which they work.
    pub cwd: Option<String>,
    /// The proof that their work must have before it counts as done.
    pub acceptance: Option<Acceptance>,
    /// Keys that Grove does not know, as written.
    pub unknown: Vec<(String, Value)>,
    /// The position of the step.
    pub place: ChainPosition,
}

/// The same task for each item of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RepeatedTask {
    /// The list that the task is repeated for.
    pub expand: Expand,
    /// The task that is repeated.
    pub template: ChainTask,
    /// The treatment of the outputs.
    pub collect: Collect,
    /// The settings for all of the tasks.
    pub settings: GroupSettings,
}

/// The list of a [`RepeatedTask`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expand {
    /// The name of an earlier step's output; empty if the items are written here.
    pub output: String,
    /// The JSON pointer to the list in that output.
    pub path: String,
    /// The items themselves, in place of an output.
    pub items: Option<Vec<Value>>,
    /// The name of an item in the task; `item` by default.
    pub item: Option<String>,
    /// The JSON pointer to the part of an item that identifies it.
    pub key: Option<String>,
    /// The most items that there may be.
    pub max_items: Option<u64>,
    /// The effect of an empty list.
    pub on_empty: Option<OnEmpty>,
    /// Keys that Grove does not know, as written.
    pub unknown: Vec<(String, Value)>,
}

/// The effect of an empty list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnEmpty {
    /// No task is run and an empty list is collected.
    Skip,
    /// The step counts as failed.
    Fail,
}

impl WordChoice for OnEmpty {
    const WORDS: &'static [(&'static str, Self)] = &[("skip", Self::Skip), ("fail", Self::Fail)];
    const TAKES: &'static str = "`skip`, `fail`";
    const OVERRIDE_TAKES: &'static str = Self::TAKES;
}

/// The treatment of the outputs of a [`RepeatedTask`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collect {
    /// `as`: the name of the list of outputs in later steps.
    pub output_name: String,
    /// The position of `as`.
    pub output_name_place: ChainPosition,
    /// The schema that the list must match.
    pub output_schema: Option<OutputSchema>,
    /// Keys that Grove does not know, as written.
    pub unknown: Vec<(String, Value)>,
}

/// A position in the file. All are equal, so that two chains with the same meaning are equal.
#[derive(Debug, Clone, Copy)]
pub struct ChainPosition(pub Position);

impl Default for ChainPosition {
    fn default() -> Self {
        Self(Position::new(1, 1))
    }
}

impl PartialEq for ChainPosition {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ChainPosition {}

impl ChainStep {
    /// The tasks of the step; for a fan-out the one that is repeated.
    pub fn tasks(&self) -> &[ChainTask] {
        match self {
            Self::One(task) => std::slice::from_ref(task),
            Self::Parallel(group) => &group.tasks,
            Self::FanOut(fan_out) => std::slice::from_ref(&fan_out.template),
        }
    }

    /// Returns what each task, and the step as a whole, must prove about its work.
    pub fn acceptances(&self) -> impl Iterator<Item = &Acceptance> {
        let of_all = match self {
            Self::One(_) => None,
            Self::Parallel(group) => group.settings.acceptance.as_ref(),
            Self::FanOut(fan_out) => fan_out.settings.acceptance.as_ref(),
        };
        let of_tasks = self.tasks().iter();
        of_tasks
            .filter_map(|task| task.acceptance.as_ref())
            .chain(of_all)
    }

    /// Returns the names of its outputs for later steps, with their positions.
    pub fn output_names(&self) -> Vec<(&str, ChainPosition)> {
        if let Self::FanOut(fan_out) = self {
            let collect = &fan_out.collect;
            return vec![(&collect.output_name, collect.output_name_place)];
        }
        let named = self.tasks().iter();
        named
            .filter_map(|task| Some((task.output_name.as_deref()?, task.places.output_name)))
            .collect()
    }
}

impl Serialize for ChainFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        print::value(self).serialize(serializer)
    }
}

/// A chain file as read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedChain {
    /// The chain; to be used only if no finding is an error.
    pub chain: ChainFile,
    /// Findings about the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedChain {
    /// Returns true if the chain can be run as it is written.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    fn refused(diagnostic: Diagnostic) -> Self {
        Self {
            chain: ChainFile::default(),
            diagnostics: vec![diagnostic],
        }
    }
}

/// Returns the faults in the references between steps that are in no file.
pub fn wrong_references(steps: &[ChainStep]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    references::check(steps, ChainFormat::Json, &mut diagnostics);
    diagnostics
}

/// Reads the bytes of a chain file.
pub fn parse_bytes(bytes: &[u8], format: ChainFormat) -> ParsedChain {
    frontmatter::text_of(bytes).map_or_else(ParsedChain::refused, |text| parse(text, format))
}

/// Reads the text of a chain file.
pub fn parse(text: &str, format: ChainFormat) -> ParsedChain {
    let mut parsed = match format {
        ChainFormat::Markdown => markdown::read(text),
        ChainFormat::Json => json_file::read(text),
    };
    references::check(&parsed.chain.steps, format, &mut parsed.diagnostics);
    // The findings are sorted by line, since people read a file from its top.
    parsed
        .diagnostics
        .sort_by_key(|finding| finding.position.map(|at| at.line));
    parsed
}

/// Reads name, package and description as an agent's are read.
fn read_head(entries: Vec<YamlEntry>, chain: &mut ChainFile, diagnostics: &mut Vec<Diagnostic>) {
    let mut found = Vec::new();
    let head = agent_fields::read(entries, Position::new(1, 1), &mut found);
    // A description is optional for an agent but required for a chain.
    found.retain(|finding| finding.code != Code::DescriptionMissing);
    let judged = found.iter().any(Diagnostic::is_error);
    diagnostics.extend(found);
    (chain.name, chain.package, chain.description) = (head.name, head.package, head.description);
    let missing: Vec<&str> = [
        ("name", chain.name.is_none()),
        ("description", chain.description.is_none()),
    ]
    .into_iter()
    .filter_map(|(key, is_missing)| is_missing.then_some(key))
    .collect();
    if !missing.is_empty() && !judged {
        let message = format!("the chain has no {}", missing.join(" and no "));
        let finding = Diagnostic::new(Code::ChainIncomplete, message);
        diagnostics.push(finding.at(Position::new(1, 1)));
    }
}

fn is_head_key(key: &str) -> bool {
    matches!(key, "name" | "package" | "description")
}
