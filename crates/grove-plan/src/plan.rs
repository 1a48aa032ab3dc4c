//! The validated and fully resolved graph of what is to be done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_spec::Digest;
use serde::{Deserialize, Serialize};

use crate::attention::AttentionLimits;
use crate::contract::Contract;
use crate::ids::NodeId;
use crate::money::ModelFacts;
use crate::plan_nodes::PlanNodes;
use crate::state::{Cause, LimitKind};

/// What a run is to do, with everything resolved before any child starts. It is named by its digest, and has no ids,
/// paths or times of a run in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// `grove.plan/1`.
    pub schema: String,
    /// The nodes, each after those that it waits for.
    pub nodes: PlanNodes,
    /// How the nodes of a step run that has several, by the step.
    #[serde(default)]
    pub groups: BTreeMap<NodeId, GroupRules>,
    /// What the whole tree may spend.
    pub tree: TreeLimits,
    /// How much of an answer is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<MaxOutput>,
    /// The command that is told when the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_complete: Option<OnComplete>,
}

/// A command that is told what a run came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnComplete {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// How much of an answer is shown; all of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxOutput {
    /// Bytes.
    pub bytes: usize,
    /// Lines.
    pub lines: usize,
}

impl Default for MaxOutput {
    fn default() -> Self {
        Self {
            bytes: 200 << 10,
            lines: 5_000,
        }
    }
}

impl MaxOutput {
    /// The beginning of a text that is longer, below a line that says so and where the whole is.
    pub fn cut(&self, text: &str, whole: &str) -> Option<String> {
        let lines = text.split_inclusive('\n');
        let kept: usize = lines.clone().take(self.lines).map(str::len).sum();
        let kept = text.floor_char_boundary(kept.min(self.bytes));
        let kept = text.get(..kept).filter(|kept| kept.len() < text.len())?;
        Some(format!(
            "[cut: the first {} of {} lines, {} of {} bytes; the whole is in {whole}]\n{kept}",
            kept.lines().count(),
            lines.count(),
            kept.len(),
            text.len(),
        ))
    }
}

/// How nodes run side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRules {
    /// How many at a time; all when nothing is said.
    pub concurrency: Option<u64>,
    /// Whether the others are not begun any more once one was not done.
    pub fail_fast: bool,
}

impl Plan {
    /// The version of this form.
    pub const SCHEMA: &str = "grove.plan/1";

    /// A plan of nodes without limits on the whole.
    pub fn of(nodes: Vec<Node>) -> Self {
        Self {
            schema: Self::SCHEMA.to_owned(),
            nodes: nodes.into(),
            groups: BTreeMap::new(),
            tree: TreeLimits::default(),
            max_output: None,
            on_complete: None,
        }
    }

    /// A node by its id.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.by_id(id)
    }

    /// The child that a node runs; for an item of a list the one of its step.
    pub fn child(&self, id: &NodeId) -> Option<&Child> {
        if let Some(node) = self.node(id) {
            return match &node.work {
                Work::Child(child) => Some(child),
                Work::FanOut(_) => None,
            };
        }
        let (step, is_review) = id.of_item()?;
        let fan_out = self.fan_out(&step)?;
        if is_review {
            fan_out.reviewer.as_ref()
        } else {
            Some(&fan_out.child)
        }
    }

    /// What a node does that runs a child for each item of a list.
    pub fn fan_out(&self, id: &NodeId) -> Option<&FanOut> {
        match &self.node(id)?.work {
            Work::FanOut(fan_out) => Some(fan_out),
            Work::Child(_) => None,
        }
    }

    /// Every child that there can be; one that runs for each item of a list once.
    pub fn children(&self) -> impl Iterator<Item = &Child> {
        self.nodes.iter().flat_map(|node| match &node.work {
            Work::Child(child) => vec![&**child],
            Work::FanOut(it) => [Some(&it.child), it.reviewer.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// Whose work a node looks at.
    pub fn reviews(&self, id: &NodeId) -> Option<NodeId> {
        match self.node(id) {
            Some(node) => node.reviews.clone(),
            None => id.of_item().and_then(|_| id.author()),
        }
    }

    /// The step of several that a node belongs to.
    pub fn group_of(&self, id: &NodeId) -> Option<NodeId> {
        match self.node(id) {
            Some(node) => node.group.clone(),
            None => id.of_item().map(|(step, _)| step),
        }
    }

    /// Its name: the digest of its JSON.
    pub fn digest(&self) -> Digest {
        // Structs are written field by field in their order, so equal plans are equal bytes.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// What it is called.
    pub id: NodeId,
    /// The nodes that have to be complete before it begins.
    pub after: Vec<NodeId>,
    /// The step of several that it belongs to.
    #[serde(default)]
    pub group: Option<NodeId>,
    /// The node whose work it looks at, which decides when it begins.
    #[serde(default)]
    pub reviews: Option<NodeId>,
    /// What it does.
    pub work: Work,
}

impl Node {
    /// The first step, which waits for nothing.
    pub fn first(work: Work) -> Self {
        Self {
            id: NodeId::step(1),
            after: Vec::new(),
            group: None,
            reviews: None,
            work,
        }
    }
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Work {
    /// Runs one child agent.
    Child(Box<Child>),
    /// Runs the same child for each item of a list.
    FanOut(Box<FanOut>),
}

/// The same child for each item of a list: one that an earlier node gives, or one that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOut {
    /// The node whose output has the list; none where the list was there when the run was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    /// The artifact with that list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Digest>,
    /// Where in it the list is, as a JSON pointer.
    pub path: String,
    /// What an item is called in the task.
    pub item: String,
    /// What tells items apart, as a JSON pointer into an item; their position where there is none.
    #[serde(default)]
    pub key: Option<String>,
    /// How many items there may be.
    pub max_items: u64,
    /// Whether a list without items is a failure.
    #[serde(default)]
    pub fail_if_empty: bool,
    /// The artifact with the JSON Schema that all outputs together have to meet.
    #[serde(default)]
    pub schema: Option<Digest>,
    /// The child.
    pub child: Child,
    /// Whoever looks at the work of each.
    #[serde(default)]
    pub reviewer: Option<Child>,
}

/// A child agent, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// What the agent is called.
    pub agent: String,
    /// `id@root` of the agent.
    pub address: String,
    /// What it is called while it runs.
    #[serde(default)]
    pub label: Option<String>,
    /// The artifact with what the child is told: system text and message.
    pub told: Digest,
    /// What the variables of its message stand for; none when it has none.
    #[serde(default)]
    pub inputs: Option<Inputs>,
    /// What drives it.
    pub engine: String,
    /// The file of the program that drives it.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// Its version, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_version: Option<String>,
    /// The models to try, in order, as `provider/id[:thinking]`.
    pub models: Vec<String>,
    /// What is known of each of them.
    #[serde(default)]
    pub model_facts: Vec<ModelFacts>,
    /// Whether another model may go on after a tool has changed something.
    pub fallback_after_writes: bool,
    /// What it may call.
    pub tools: Tools,
    /// Addresses of the skills whose text is in its prompt.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Where it works.
    pub place: Place,
    /// What it may spend.
    pub limits: Limits,
    /// The artifact with the JSON Schema that its output has to meet.
    pub schema: Option<Digest>,
    /// The file that its answer is written to, below where it works or below `{chain_dir}`.
    #[serde(default)]
    pub output: Option<String>,
    /// Whether those who come after it are told of the file alone.
    #[serde(default)]
    pub file_only: bool,
    /// What is asked of its work before it counts.
    #[serde(default)]
    pub contract: Option<Contract>,
}

impl Child {
    /// A child of the built-in engine that may do nothing but answer.
    pub fn new(agent: &str, told: Digest, model: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            address: agent.to_owned(),
            label: None,
            told,
            inputs: None,
            engine: "native".to_owned(),
            program: None,
            program_version: None,
            models: vec![model.to_owned()],
            model_facts: Vec::new(),
            fallback_after_writes: false,
            tools: Tools::default(),
            skills: Vec::new(),
            place: Place::default(),
            limits: Limits::default(),
            schema: None,
            output: None,
            file_only: false,
            contract: None,
        }
    }
}

/// Where the variables of a message come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Inputs {
    /// The artifact with what the whole run was asked for.
    pub task: Option<Digest>,
    /// The nodes of the step before.
    pub previous: Vec<NodeId>,
    /// The nodes of earlier steps by the names of their outputs.
    pub outputs: BTreeMap<String, Vec<NodeId>>,
    /// The node whose work is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<NodeId>,
    /// What the item of a list is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// The tools of a child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    /// The names that the child may call, in the order in which they are told.
    pub allowed: Vec<String>,
    /// Whether one of them can change files.
    pub can_write: bool,
}

/// Where a child works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The work folder.
    pub folder: PathBuf,
    /// Folders and files outside it that the child may read: its skills and their index files.
    pub readable: Vec<PathBuf>,
    /// What locations in its catalog begin with instead of a folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub location_aliases: BTreeMap<String, PathBuf>,
    /// The working tree of its own that it works in, instead of the folder itself.
    #[serde(default)]
    pub worktree: Option<WorktreePlan>,
}

/// A working tree that is made for a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreePlan {
    /// The top folder of the repository.
    pub repository: PathBuf,
    /// The commit that it begins with, before the work of others is put in.
    pub base: String,
    /// The nodes whose work it begins with, in the order in which it is put in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins: Vec<NodeId>,
    /// Where in it the child works.
    pub subfolder: PathBuf,
    /// What is done in it before the child begins.
    #[serde(default, skip_serializing_if = "WorktreeSetup::is_nothing")]
    pub setup: WorktreeSetup,
}

/// What is done in a new working tree before a child begins. Nothing of it is the child's work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeSetup {
    /// Files and folders of the repository that version control does not have: the tree gets a link to each.
    pub link: Vec<String>,
    /// The same, but the tree gets a copy of each.
    pub copy: Vec<String>,
    /// The program that does the rest.
    pub hook: Option<SetupHook>,
}

impl WorktreeSetup {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A program that sets a working tree up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupHook {
    /// Its file.
    pub file: PathBuf,
    /// The artifact with the text that a person approved, which is what runs. None for the person's own, which runs as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// What one child may spend. Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Wall time of one attempt.
    pub max_execution_time_ms: Option<u64>,
    /// Tokens that count.
    pub max_tokens: Option<u64>,
    /// Wall time of one call of a tool.
    pub tool_timeout_ms: Option<u64>,
    /// Silence of a model that is waited for.
    pub model_idle_ms: Option<u64>,
    /// Answers of the model; then one more without tools, to sum up.
    pub max_turns: Option<u64>,
    /// Calls of tools; then one more answer without tools, to sum up.
    pub max_tool_calls: Option<u64>,
    /// Calls of tools after which the child is told how many are left.
    pub warn_tool_calls: Option<u64>,
    /// Levels of runs that it may ask for, below its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_subagent_depth: Option<u64>,
    /// When somebody may have to look after it; never when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionLimits>,
}

impl Limits {
    /// The limit of a child that has answered so often and wants, with those it made, so many calls: it may not call any
    /// more, and has one more answer to sum up.
    pub fn reached(&self, turns: u64, calls_wanted: u64) -> Option<Cause> {
        let beyond = calls_wanted.saturating_sub(1);
        let calls = limit_reached(LimitKind::ToolCalls, self.max_tool_calls, beyond);
        self.turns_reached(turns).or(calls)
    }

    /// The same for its answers alone.
    pub(crate) fn turns_reached(&self, turns: u64) -> Option<Cause> {
        limit_reached(LimitKind::Turns, self.max_turns, turns)
    }
}

/// The cause that a limit is once as much as it allows was spent.
pub(crate) fn limit_reached(what: LimitKind, limit: Option<u64>, observed: u64) -> Option<Cause> {
    let limit = limit.filter(|limit| observed >= *limit)?;
    Some(Cause::Limit {
        what,
        limit,
        observed,
    })
}

/// What the whole tree may spend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TreeLimits {
    /// Wall time of the whole request in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Tokens that count.
    pub max_tokens: Option<u64>,
    /// Money, in millionths.
    pub max_cost: Option<u64>,
    /// How many runs are above this one.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u64,
    /// How deep runs may be below the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u64>,
    /// How many children there may be, those of runs below included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_children: Option<u64>,
}

impl TreeLimits {
    /// The depth that no run may pass that a child with these limits asks for, directly or through others: what is left of
    /// its run's, and of the levels that its agent may call.
    pub fn deepest(&self, of_child: &Limits) -> Option<u64> {
        let of_agent = of_child.max_subagent_depth;
        let of_agent = of_agent.map(|levels| self.depth.saturating_add(levels));
        [self.max_depth, of_agent].into_iter().flatten().min()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}
