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

/// The work of a run, with everything resolved before any child starts. A plan is named by its digest, and has no ids,
/// paths or times of a run in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The version of this form: `grove.plan/1`.
    pub schema: String,
    /// The nodes, each after those that it waits for.
    pub nodes: PlanNodes,
    /// The rules of each step that has several nodes, by the id of the step.
    #[serde(default)]
    pub groups: BTreeMap<NodeId, GroupRules>,
    /// The limits of the whole tree: of the run and the runs below it.
    pub tree: TreeLimits,
    /// The amount of an answer that is shown.
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
    /// The time that it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// The amount of an answer that is shown; all of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxOutput {
    /// The number of bytes shown.
    pub bytes: usize,
    /// The number of lines shown.
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

/// Rules for nodes that run side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRules {
    /// The number of nodes that run at a time; none for all at once.
    pub concurrency: Option<u64>,
    /// Set if no more of the nodes begin once one of them was not done.
    pub fail_fast: bool,
}

impl Plan {
    /// The version of this form.
    pub const SCHEMA: &str = "grove.plan/1";

    /// Returns a plan of nodes without limits on the whole.
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

    /// The child that a node runs; for an item of a list, the child of its step.
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

    /// The work of a node that runs a child for each item of a list; none for other nodes.
    pub fn fan_out(&self, id: &NodeId) -> Option<&FanOut> {
        match &self.node(id)?.work {
            Work::FanOut(fan_out) => Some(fan_out),
            Work::Child(_) => None,
        }
    }

    /// All children that there can be. A child that runs for each item of a list appears once.
    pub fn children(&self) -> impl Iterator<Item = &Child> {
        self.nodes.iter().flat_map(|node| match &node.work {
            Work::Child(child) => vec![&**child],
            Work::FanOut(it) => [Some(&it.child), it.reviewer.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// The node whose work a reviewing node looks at.
    pub fn reviews(&self, id: &NodeId) -> Option<NodeId> {
        match self.node(id) {
            Some(node) => node.reviews.clone(),
            None => id.of_item().and_then(|_| id.author()),
        }
    }

    /// The step with several nodes to which a node belongs.
    pub fn group_of(&self, id: &NodeId) -> Option<NodeId> {
        match self.node(id) {
            Some(node) => node.group.clone(),
            None => id.of_item().map(|(step, _)| step),
        }
    }

    /// The name of the plan: the digest of its JSON.
    pub fn digest(&self) -> Digest {
        // Structs are written field by field in their order, so equal plans are equal bytes.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A node of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The id by which other nodes name it.
    pub id: NodeId,
    /// The nodes that have to be complete before it begins.
    pub after: Vec<NodeId>,
    /// The step with several nodes to which it belongs.
    #[serde(default)]
    pub group: Option<NodeId>,
    /// The node whose work it looks at, which decides when it begins.
    #[serde(default)]
    pub reviews: Option<NodeId>,
    /// The work that it does.
    pub work: Work,
}

impl Node {
    /// The child that it runs; for a list, the child that runs for each item.
    pub fn child(&self) -> &Child {
        match &self.work {
            Work::Child(child) => child,
            Work::FanOut(list) => &list.child,
        }
    }

    /// Returns the first step, which waits for nothing.
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

/// The work of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Work {
    /// Runs one child agent.
    Child(Box<Child>),
    /// Runs the same child for each item of a list.
    FanOut(Box<FanOut>),
}

/// The same child for each item of a list: of one that an earlier node gives, or of one that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOut {
    /// The node whose output has the list; none where the list was there when the run was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    /// The artifact with that list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Digest>,
    /// The place of the list in that output or artifact, as a JSON pointer.
    pub path: String,
    /// The name of an item in the task.
    pub item: String,
    /// The value that tells items apart, as a JSON pointer into an item; none to tell them apart by position.
    #[serde(default)]
    pub key: Option<String>,
    /// The greatest number of items that there may be.
    pub max_items: u64,
    /// Set if a list without items is a failure.
    #[serde(default)]
    pub fail_if_empty: bool,
    /// The artifact with the JSON Schema that all outputs together have to meet.
    #[serde(default)]
    pub schema: Option<Digest>,
    /// The child that runs for each item.
    pub child: Child,
    /// The child that reviews the work on each item.
    #[serde(default)]
    pub reviewer: Option<Child>,
}

/// A child agent, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// The name of the agent.
    pub agent: String,
    /// `id@root` of the agent.
    pub address: String,
    /// The name that is shown for it while it runs.
    #[serde(default)]
    pub label: Option<String>,
    /// The artifact with what the child is told: its system text and its message.
    pub told: Digest,
    /// The sources of the variables in its message; none if it has no variables.
    #[serde(default)]
    pub inputs: Option<Inputs>,
    /// The engine that drives it.
    pub engine: String,
    /// The file of the program that drives it.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// The version of that program, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_version: Option<String>,
    /// The models to try, in order, as `provider/id[:thinking]`.
    pub models: Vec<String>,
    /// The known facts about each of these models.
    #[serde(default)]
    pub model_facts: Vec<ModelFacts>,
    /// Set if another model may go on after a tool has changed something.
    pub fallback_after_writes: bool,
    /// The tools that it may call.
    pub tools: Tools,
    /// Addresses of the skills whose text is in its prompt.
    #[serde(default)]
    pub skills: Vec<String>,
    /// The place where it works.
    pub place: Place,
    /// The limits of what it may spend.
    pub limits: Limits,
    /// The artifact with the JSON Schema that its output has to meet.
    pub schema: Option<Digest>,
    /// The file that its answer is written to, below where it works or below `{chain_dir}`.
    #[serde(default)]
    pub output: Option<String>,
    /// Set if the children after it are told of the file alone.
    #[serde(default)]
    pub file_only: bool,
    /// The conditions that its work must meet before it counts.
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

/// The sources of the variables in a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Inputs {
    /// The artifact with the task of the whole run.
    pub task: Option<Digest>,
    /// The nodes of the step before.
    pub previous: Vec<NodeId>,
    /// The nodes of earlier steps by the names of their outputs.
    pub outputs: BTreeMap<String, Vec<NodeId>>,
    /// The node whose work is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<NodeId>,
    /// The name of an item of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// The tools of a child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    /// The names that the child may call, in the order in which they are told.
    pub allowed: Vec<String>,
    /// Set if one of them can change files.
    pub can_write: bool,
}

/// The place where a child works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The folder in which it works.
    pub folder: PathBuf,
    /// Folders and files outside it that the child may read: its skills and their index files.
    pub readable: Vec<PathBuf>,
    /// Names with which locations in its catalog begin instead of a folder.
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
    /// The folder inside the tree in which the child works.
    pub subfolder: PathBuf,
    /// The preparation of the tree before the child begins.
    #[serde(default, skip_serializing_if = "WorktreeSetup::is_nothing")]
    pub setup: WorktreeSetup,
}

/// The preparation of a new working tree before a child begins. Nothing of it is the child's work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeSetup {
    /// Files and folders of the repository that version control does not have: the tree gets a link to each.
    pub link: Vec<String>,
    /// The same, but the tree gets a copy of each.
    pub copy: Vec<String>,
    /// The program that does the rest of the preparation.
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
    /// The file of the program.
    pub file: PathBuf,
    /// The artifact with the text that a person approved, which is what runs. None for the person's own, which runs as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// The time that it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// The limits of one child. Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Wall time of one attempt.
    pub max_execution_time_ms: Option<u64>,
    /// Tokens that it may use, counted as in `Usage::counted`.
    pub max_tokens: Option<u64>,
    /// Wall time of one call of a tool.
    pub tool_timeout_ms: Option<u64>,
    /// Time for which a model may be silent while the child waits for it.
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
    /// The amounts after which a person may have to look after it; none for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionLimits>,
}

impl Limits {
    /// Returns the limit that a child has reached after so many answers if it wants, with the calls it made, so many calls:
    /// it may then make no more calls, and has one more answer to sum up.
    pub fn reached(&self, turns: u64, calls_wanted: u64) -> Option<Cause> {
        let beyond = calls_wanted.saturating_sub(1);
        let calls = limit_reached(LimitKind::ToolCalls, self.max_tool_calls, beyond);
        self.turns_reached(turns).or(calls)
    }

    /// Returns the limit that its answers alone have reached.
    pub(crate) fn turns_reached(&self, turns: u64) -> Option<Cause> {
        limit_reached(LimitKind::Turns, self.max_turns, turns)
    }
}

/// Returns the cause that a limit gives once as much as it allows was spent.
pub(crate) fn limit_reached(what: LimitKind, limit: Option<u64>, observed: u64) -> Option<Cause> {
    let limit = limit.filter(|limit| observed >= *limit)?;
    Some(Cause::Limit {
        what,
        limit,
        observed,
    })
}

/// The limits of the whole tree: of a run and the runs below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TreeLimits {
    /// Wall time of the whole request in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Tokens that all children together may use.
    pub max_tokens: Option<u64>,
    /// Money that it may cost, in millionths.
    pub max_cost: Option<u64>,
    /// The number of runs above this one.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u64,
    /// The depth that runs below the first one may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u64>,
    /// The number of children that there may be, those of runs below included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_children: Option<u64>,
}

impl TreeLimits {
    /// The depth that no run may pass that a child with these limits asks for, directly or through others: the lower of
    /// the limit of its own run and of the levels that its agent may call.
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
