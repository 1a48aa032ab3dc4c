//! Chain files: steps for agents, one after another, side by side, or once for each item of a list.
//!
//! `.chain.md` has a heading for each step; `.chain.json` can say everything. Both are read into one [`Chain`]
//! and held to the same rules. Running chains is not done here. A known key with a value of the wrong kind makes
//! a chain invalid: what would run otherwise than it is written should not run. Unknown keys are kept and said.

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

pub use naming::Format;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::acceptance::Acceptance;
use crate::agent::fields as agent_fields;
use crate::agent::{Choice, OutputFile, OutputMode};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::frontmatter;
use crate::yaml::Entry;

/// Steps of one chain that are read.
pub const MAX_STEPS: usize = 200;
/// Tasks of one step, each counted as often as it is to run.
pub const MAX_TASKS: usize = 100;
/// Items of a list for each of which a step may run.
pub const MAX_ITEMS: u64 = 1_000;

/// What a chain file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// Its name without the package.
    pub name: Option<String>,
    /// Normalised; the chain is called `package.name`.
    pub package: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Further keys of the file, as written.
    pub extra: Vec<(String, Value)>,
    /// Text before the first heading of a `.chain.md`, which is for people.
    pub intro: String,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// One task.
    One(Box<Task>),
    /// Several tasks side by side.
    Parallel(Box<Group>),
    /// The same task for each item of a list that an earlier step gave.
    FanOut(Box<FanOut>),
}

/// A task for an agent. What is not given is as the agent has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Task {
    /// Whose task it is.
    pub agent: String,
    /// What to do; `{previous}` and the like stand for what is known only then.
    pub task: Option<String>,
    /// The part of the work that it belongs to.
    pub phase: Option<String>,
    /// What it is called while it runs.
    pub label: Option<String>,
    /// `as`: what its output is called in later steps.
    pub output_name: Option<String>,
    /// What its output must look like.
    pub output_schema: Option<OutputSchema>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Where its answer is written.
    pub output: Option<OutputFile>,
    /// What the next step gets of an answer that is written.
    pub output_mode: Option<OutputMode>,
    /// Files to read first; an empty list means none, whatever the agent has.
    pub reads: Option<Vec<String>>,
    /// Whether it reports its progress.
    pub progress: Option<bool>,
    /// Skills in place of the agent's; an empty list means none.
    pub skills: Option<Vec<String>>,
    /// The model in place of the agent's.
    pub model: Option<String>,
    /// What drives it, in place of the agent's choice.
    pub engine: Option<String>,
    /// When it counts as done.
    pub acceptance: Option<Acceptance>,
    /// Whether it has a working tree of its own, whatever its step or the request says.
    pub worktree: Option<bool>,
    /// The commit that this tree begins from, in place of where the steps before it lead.
    pub base_ref: Option<String>,
    /// How often it runs, side by side.
    pub count: Option<u64>,
    /// Keys that nobody here knows, as written.
    pub unknown: Vec<(String, Value)>,
    /// Where it and its keys stand.
    pub places: TaskPlaces,
}

/// Where a task and its keys stand; a key that is not written stands where the task does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskPlaces {
    /// The whole task.
    pub whole: Place,
    /// Whose it is.
    pub agent: Place,
    /// The text of what is to be done.
    pub text: Place,
    /// What it is called while it runs.
    pub label: Place,
    /// `as`.
    pub output_name: Place,
    /// The skills.
    pub skills: Place,
    /// The model.
    pub model: Place,
}

impl TaskPlaces {
    fn at(position: Position) -> Self {
        let place = Place(position);
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

/// What an output must look like.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OutputSchema {
    /// As a JSON schema in this file says, relative to the chain's.
    File(String),
    /// As this JSON schema says.
    Inline(Value),
}

/// Several tasks side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// How they run.
    pub settings: GroupSettings,
}

/// How tasks run side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSettings {
    /// The part of the work that they belong to.
    pub phase: Option<String>,
    /// What they are called while they run.
    pub label: Option<String>,
    /// How many run at a time.
    pub concurrency: Option<u64>,
    /// Whether the first failure ends them.
    pub fail_fast: Option<bool>,
    /// Whether each has a working tree of its own.
    pub worktree: Option<bool>,
    /// The commit that these trees begin from, in place of where the steps before them lead.
    pub base_ref: Option<String>,
    /// Where they work.
    pub cwd: Option<String>,
    /// When they count as done.
    pub acceptance: Option<Acceptance>,
    /// Keys that nobody here knows, as written.
    pub unknown: Vec<(String, Value)>,
    /// Where the step stands.
    pub place: Place,
}

/// The same task for each item of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FanOut {
    /// The list.
    pub expand: Expand,
    /// The task.
    pub template: Task,
    /// What becomes of the outputs.
    pub collect: Collect,
    /// How they run.
    pub settings: GroupSettings,
}

/// The list of a [`FanOut`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expand {
    /// The output of an earlier step; nothing where the items are written here.
    pub output: String,
    /// Where in it the list is, as a JSON pointer.
    pub path: String,
    /// The items themselves, in place of an output.
    pub items: Option<Vec<Value>>,
    /// What an item is called in the task; `item` by default.
    pub item: Option<String>,
    /// What tells items apart, as a JSON pointer into an item.
    pub key: Option<String>,
    /// How many items there may be.
    pub max_items: Option<u64>,
    /// What an empty list means.
    pub on_empty: Option<OnEmpty>,
    /// Keys that nobody here knows, as written.
    pub unknown: Vec<(String, Value)>,
}

/// What an empty list means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnEmpty {
    /// Nothing is run and an empty list is collected.
    Skip,
    /// The step fails.
    Fail,
}

impl Choice for OnEmpty {
    const WORDS: &'static [(&'static str, Self)] = &[("skip", Self::Skip), ("fail", Self::Fail)];
    const TAKES: &'static str = "`skip`, `fail`";
    const OVERRIDE_TAKES: &'static str = Self::TAKES;
}

/// What becomes of the outputs of a [`FanOut`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collect {
    /// `as`: what the list of outputs is called in later steps.
    pub output_name: String,
    /// Where `as` stands.
    pub output_name_place: Place,
    /// What the list must look like.
    pub output_schema: Option<OutputSchema>,
    /// Keys that nobody here knows, as written.
    pub unknown: Vec<(String, Value)>,
}

/// A place in the file. All are equal: where something is written is no part of what it says.
#[derive(Debug, Clone, Copy)]
pub struct Place(pub Position);

impl Default for Place {
    fn default() -> Self {
        Self(Position::new(1, 1))
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

impl Step {
    /// The tasks of the step; for a fan-out the one that is repeated.
    pub fn tasks(&self) -> &[Task] {
        match self {
            Self::One(task) => std::slice::from_ref(task),
            Self::Parallel(group) => &group.tasks,
            Self::FanOut(fan_out) => std::slice::from_ref(&fan_out.template),
        }
    }

    /// What it asks of work before that counts: each of its tasks, and all of them.
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

    /// The names that later steps can call its outputs by, and where they are given.
    pub fn output_names(&self) -> Vec<(&str, Place)> {
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

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        print::value(self).serialize(serializer)
    }
}

/// A chain file as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What was understood; to be used only when no finding is an error.
    pub chain: Chain,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the chain can be run as it is written.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    fn refused(diagnostic: Diagnostic) -> Self {
        Self {
            chain: Chain::default(),
            diagnostics: vec![diagnostic],
        }
    }
}

/// What is wrong with how steps that are in no file speak of each other.
pub fn wrong_references(steps: &[Step]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    references::check(steps, Format::Json, &mut diagnostics);
    diagnostics
}

/// Reads the bytes of a chain file.
pub fn parse_bytes(bytes: &[u8], format: Format) -> Parsed {
    frontmatter::text_of(bytes).map_or_else(Parsed::refused, |text| parse(text, format))
}

/// Reads the text of a chain file.
pub fn parse(text: &str, format: Format) -> Parsed {
    let mut parsed = match format {
        Format::Markdown => markdown::read(text),
        Format::Json => json_file::read(text),
    };
    references::check(&parsed.chain.steps, format, &mut parsed.diagnostics);
    // People read a file from its top.
    parsed
        .diagnostics
        .sort_by_key(|finding| finding.position.map(|at| at.line));
    parsed
}

/// Name, package and description, read as an agent's are.
fn read_head(entries: Vec<Entry>, chain: &mut Chain, diagnostics: &mut Vec<Diagnostic>) {
    let mut found = Vec::new();
    let head = agent_fields::read(entries, Position::new(1, 1), &mut found);
    // A description is the agent's choice and a chain's duty.
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
