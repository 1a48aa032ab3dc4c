//! Makes a run in the journal from a request whose agents were found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use grove_exec::{Program, now};
use grove_model::Provider;
use grove_plan::{
    Child, Contract, FanOut, GroupRules, Inputs, Limits, MaxOutput, ModelFacts, Node, NodeId,
    OnComplete, Parent, Place, Plan, Tools, TreeLimits, Work, WorktreePlan,
    begin_with_earlier_work,
};
use grove_spec::Digest;
use grove_spec::agent::formats::restriction::denies_server_tool;
use grove_spec::agent::model_scope::ModelScope;
use grove_store::{LoadedRun, Store, StoreError, Submission, Submitted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data_check;
use crate::evidence::review_schema;
use crate::identity::{new_owner_token, new_run_id};
use crate::mcp::{MCP, McpServer, selected};
use crate::models::Recording;
use crate::powers::USUAL_TOOLS;
use crate::program::RUNTIME_TOOLS;
use crate::submit_key::SubmitKey;
use crate::told::{Boundary, Told, ToldPart};
use crate::tools::{CONTACT_SUPERVISOR, SUBAGENT, ToolRow};

/// Half an hour for a child whose caller waits, two hours for one in the background.
const USUAL_TIME_MS: u64 = 30 * 60 * 1_000;
const BACKGROUND_TIME_MS: u64 = 2 * 60 * 60 * 1_000;
/// The number of ids that are tried before the run is refused.
const ID_TRIES: u32 = 32;

/// A request for a run, with everything that was found about its children.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    /// The name of the run in lists.
    pub title: String,
    /// The task of the whole run: `{task}` in its children's messages.
    pub task: String,
    /// Its children, each after those that it waits for.
    pub children: Vec<ChildRequest>,
    /// The rules for children that run side by side, by their step.
    pub groups: BTreeMap<NodeId, GroupRules>,
    /// The folder in which it was asked for.
    pub folder: PathBuf,
    /// The limits of the whole run.
    pub tree: TreeLimits,
    /// A key within those of its owner: submitting it twice gives one run.
    pub submit_key: Option<SubmitKey>,
    /// The digest of what was asked for, by which a request with a key is told from another one with the same key. None in
    /// journals of earlier versions.
    #[serde(default)]
    pub asked: Option<Digest>,
    /// Set if no caller waits for the result.
    pub background: bool,
    /// The names of the servers that have `mcp:` tools.
    #[serde(default)]
    pub mcp_servers: Vec<String>,
    /// The length of an answer that is shown.
    #[serde(default)]
    pub max_output: Option<MaxOutput>,
    /// The folder for files of sessions, if one was chosen.
    #[serde(default)]
    pub session_dir: Option<PathBuf>,
    /// The folder in which the one that its steps share is made, if one was chosen.
    #[serde(default)]
    pub chain_dir: Option<PathBuf>,
    /// The command that is told when it is over.
    #[serde(default)]
    pub on_complete: Option<OnComplete>,
    /// A recording of the model's side.
    pub recording: Option<Recording>,
    /// The child that asks for it.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// The scopes in which the models of its children are, and of those that they ask.
    #[serde(default)]
    pub model_scopes: Vec<ModelScope>,
    /// The name of the surroundings that its supervisor has to have.
    pub surroundings: String,
}

/// A request for a child, with everything that was found about it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildRequest {
    /// Its place in the plan.
    pub id: NodeId,
    /// The children that have to be complete before it.
    pub after: Vec<NodeId>,
    /// The step of several that it belongs to.
    pub group: Option<NodeId>,
    /// The name of the child while it runs.
    pub label: Option<String>,
    /// The sources of the variables in its task; none if the task is told as it is.
    pub inputs: Option<Inputs>,
    /// The name of the agent.
    pub agent: String,
    /// `id@root` of the agent.
    pub address: String,
    /// The task in the agent's message.
    pub task: String,
    /// The agent's prompt, skills included.
    #[serde(skip)]
    pub prompt: String,
    /// The sources of the prompt's parts.
    #[serde(skip)]
    pub prompt_parts: Vec<ToldPart>,
    /// The conversation that it is forked from.
    #[serde(skip)]
    pub history: Vec<Value>,
    /// The tools that the agent lists; none means those that read.
    pub tools: Option<Vec<String>>,
    /// Addresses of the skills whose text is in its prompt.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Tools that it does not get, even if it lists them or they are usual.
    pub denied_tools: BTreeSet<String>,
    /// The engine that drives it: `native`, or the name of an agent program.
    pub engine: String,
    /// The file of the agent program.
    pub program: Option<PathBuf>,
    /// The version of the program, if that is known.
    #[serde(default)]
    pub program_version: Option<String>,
    /// The models to try, in order.
    pub models: Vec<String>,
    /// The known facts of each model.
    #[serde(default)]
    pub model_facts: Vec<ModelFacts>,
    /// Set if another model may go on after a tool has changed something.
    pub fallback_after_writes: bool,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// The working tree of its own that it works in.
    #[serde(default)]
    pub worktree: Option<WorktreePlan>,
    /// Set if the request names the commit that this tree begins from, whatever steps are before it.
    #[serde(default)]
    pub is_base_named: bool,
    /// The text of the program that sets the tree up, if a person had to approve it.
    #[serde(skip)]
    pub setup_hook_text: Option<Vec<u8>>,
    /// Folders outside it that it may read.
    pub readable: Vec<PathBuf>,
    /// The names with which locations in its catalog begin, and the folders that they stand for.
    #[serde(default)]
    pub location_aliases: BTreeMap<String, PathBuf>,
    /// The limits of this child.
    pub limits: Limits,
    /// The JSON Schema that its output has to meet.
    pub output_schema: Option<Value>,
    /// The file that its answer is written to.
    #[serde(default)]
    pub output: Option<String>,
    /// Set if later steps are told of the file alone.
    #[serde(default)]
    pub file_only: bool,
    /// The contract that its work has to meet.
    #[serde(default)]
    pub contract: Option<Contract>,
    /// The child whose work it reviews.
    #[serde(default)]
    pub reviews: Option<NodeId>,
    /// The list whose items it runs for.
    #[serde(default)]
    pub list: Option<ListRequest>,
}

/// The list whose items a child runs for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// The node whose output has it.
    pub from: Option<NodeId>,
    /// The list itself, where no node gives it.
    #[serde(default)]
    pub items: Option<Vec<Value>>,
    /// The place of the list in the data, as a JSON pointer.
    pub path: String,
    /// The name of an item in the task.
    pub item: String,
    /// The value that tells items apart, as a JSON pointer into an item.
    pub key: Option<String>,
    /// The most items that there may be.
    pub max_items: u64,
    /// Set if a list without items is a failure.
    pub fail_if_empty: bool,
    /// The JSON Schema that all outputs together have to meet.
    pub schema: Option<Value>,
}

/// A run that was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedRun {
    /// The id of the run.
    pub id: String,
    /// The token by which its holder owns the result; none if the run was there already and has another owner.
    pub owner_token: Option<String>,
    /// Notes about the request for people.
    pub notes: Vec<String>,
}

/// The reasons why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The request is refused.
    #[error("{message}")]
    Refused {
        /// The reason for the refusal.
        message: String,
        /// The next thing to try.
        help: String,
    },
    /// The journal could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns a name for the surroundings that a supervisor needs: the providers, keys and addresses that there are. Only a
/// digest of them leaves the process.
pub fn surroundings_of(
    variables: &BTreeMap<String, String>,
    configured: &[Provider],
    mcp: &[McpServer],
) -> String {
    let mut text = serde_json::to_string(configured).unwrap_or_default();
    for server in mcp {
        let command = serde_json::to_string(&server.command).unwrap_or_default();
        let _ = write!(text, "{}={command}\0", server.name);
        for (name, value) in &server.environment {
            let _ = write!(text, "{name}={}\0", Digest::of(value.reveal().as_bytes()));
        }
    }
    for (name, value) in variables {
        let _ = write!(text, "{name}={}\0", Digest::of(value.as_bytes()));
    }
    Digest::of(text.as_bytes()).first_digits(12)
}

/// A plan with everything resolved, and the texts that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// The plan of the run.
    pub plan: Plan,
    /// The texts that it names.
    pub artifacts: Vec<Vec<u8>>,
    /// Notes about the request for people.
    pub notes: Vec<String>,
}

/// Makes a plan. Nothing is recorded.
pub fn plan_of(request: &RunRequest) -> Result<PlannedRun, SubmitError> {
    let mut artifacts = vec![request.task.clone().into_bytes()];
    let (mut nodes, mut notes) = (Vec::new(), Vec::new());
    for child in &request.children {
        let node = node(request, child, &mut artifacts, &mut notes)?;
        if let Some(reviewer) = of_items(&mut nodes, node) {
            nodes.push(reviewer);
        }
    }
    notes.dedup();
    let named = request.children.iter().filter(|child| child.is_base_named);
    let named: BTreeSet<&NodeId> = named.map(|child| &child.id).collect();
    begin_with_earlier_work(&mut nodes, |id| named.contains(id));
    let mut plan = Plan::of(nodes);
    if request.tree.max_cost.is_some() {
        prices_are_known(&plan)?;
    }
    plan.groups.clone_from(&request.groups);
    plan.tree = request.tree.clone();
    plan.max_output = request.max_output;
    plan.on_complete.clone_from(&request.on_complete);
    Ok(PlannedRun {
        plan,
        artifacts,
        notes,
    })
}

/// Makes a plan and records it. Nothing has started when this returns.
pub fn submit(store: &Store, request: &RunRequest) -> Result<SubmittedRun, SubmitError> {
    let PlannedRun {
        plan,
        artifacts,
        notes,
    } = plan_of(request)?;
    let key = request.submit_key.as_ref();
    let token = key.and_then(|key| token_of_key(store, key));
    let token = token.unwrap_or_else(new_owner_token);
    let submission = Submission {
        id: String::new(),
        plan,
        request: serde_json::to_string(request).unwrap_or_default(),
        title: request.title.clone(),
        folder: request.folder.to_string_lossy().into_owned(),
        owner: Digest::of(token.as_bytes()),
        key: key.map(|key| key.as_str().to_owned()),
        parent: request.parent.clone(),
        again: None,
        artifacts,
        at: now(),
    };
    let submitted = submit_as_new(store, &submission)?;
    if !submitted.is_new {
        require_same_request(store, &submitted.run, request)?;
    }
    let is_owner = submitted.is_new
        || store.load(&submitted.run)?.state.owner == Some(Digest::of(token.as_bytes()));
    Ok(SubmittedRun {
        id: submitted.run,
        owner_token: is_owner.then_some(token),
        notes,
    })
}

/// Refuses a key that was given to another request: its run does something else, and may belong to another owner.
fn require_same_request(store: &Store, run: &str, request: &RunRequest) -> Result<(), SubmitError> {
    let before: Option<RunRequest> = serde_json::from_str(&store.request(run)?).ok();
    // Earlier versions wrote no digest; of their keys only those of children's calls are found again.
    let is_same =
        before.is_some_and(|before| before.asked.is_none() || before.asked == request.asked);
    if is_same {
        return Ok(());
    }
    Err(SubmitError::Refused {
        message: format!(
            "this `submitKey` belongs to run {run}, which was asked for something else"
        ),
        help: "use another `submitKey` for another request; the same request gets the same run"
            .to_owned(),
    })
}

/// Returns the owner's token of a run that was submitted with a key. A caller that submits it again may have lost the first
/// answer, so it is the same token, which cannot be found without the key of this installation.
fn token_of_key(store: &Store, key: &SubmitKey) -> Option<String> {
    let signed = format!("owner of {}", key.as_str());
    let signature = store.key()?.sign(signed.as_bytes());
    Some(Digest::of(&signature).first_digits(32))
}

/// Runs the plan of an earlier run again from a step, with another task for it if there is one. The results of the steps before
/// it are taken over as they are.
pub fn submit_again(
    store: &Store,
    earlier: &LoadedRun,
    from: &NodeId,
    task: Option<&str>,
    surroundings: &str,
) -> Result<SubmittedRun, SubmitError> {
    let refused = |message: String| SubmitError::Refused {
        message,
        help: "`grove runs show RUN` names the steps".to_owned(),
    };
    let reused = earlier.state.reusable(&earlier.plan, from);
    let reused = reused.map_err(refused)?;
    let mut request: RunRequest = serde_json::from_str(&earlier.request)
        .map_err(|error| refused(format!("what was asked for cannot be read: {error}")))?;
    surroundings.clone_into(&mut request.surroundings);
    (request.submit_key, request.parent) = (None, None);
    let token = new_owner_token();
    let mut plan = (*earlier.plan).clone();
    let mut artifacts = Vec::new();
    if let Some(task) = task {
        artifacts.push(with_task(store, &mut plan, from, task).map_err(refused)?);
    }
    let submission = Submission {
        id: String::new(),
        plan,
        request: serde_json::to_string(&request).unwrap_or_default(),
        title: request.title.clone(),
        folder: request.folder.to_string_lossy().into_owned(),
        owner: Digest::of(token.as_bytes()),
        key: None,
        parent: None,
        again: Some((earlier.id.clone(), reused)),
        artifacts,
        at: now(),
    };
    let submitted = submit_as_new(store, &submission)?;
    Ok(SubmittedRun {
        id: submitted.run,
        owner_token: Some(token),
        notes: Vec::new(),
    })
}

/// Gives a child of a plan another message, and returns the artifact with what it is told. Variables in the message stand for the
/// same as before.
fn with_task(store: &Store, plan: &mut Plan, node: &NodeId, task: &str) -> Result<Vec<u8>, String> {
    let mut nodes = plan.nodes.to_vec();
    let known = nodes.iter_mut().find(|known| known.id == *node);
    let child = known.map(|known| match &mut known.work {
        Work::Child(child) => &mut **child,
        Work::FanOut(list) => &mut list.child,
    });
    let child = child.ok_or_else(|| format!("`{node}` is not one child with a task of its own"))?;
    let bytes = store
        .artifact(&child.told)
        .map_err(|error| error.to_string())?;
    let told: Option<Told> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let told = told.ok_or("what the child was told is not on record")?;
    let told = Told {
        message: task.to_owned(),
        ..told
    };
    let bytes = told.to_bytes();
    child.told = Digest::of(&bytes);
    plan.nodes = nodes.into();
    Ok(bytes)
}

/// Submits with an id that no other run has: two processes may choose the same one in the same millisecond.
fn submit_as_new(store: &Store, submission: &Submission) -> Result<Submitted, StoreError> {
    let mut tries = 0;
    loop {
        let submission = Submission {
            id: new_run_id(),
            ..submission.clone()
        };
        match store.submit(submission) {
            Err(StoreError::Taken(_)) if tries < ID_TRIES => tries += 1,
            submitted => return submitted,
        }
    }
}

/// Gives a reviewer of a list's items to the list, and returns none. Any other node is returned.
fn of_items(nodes: &mut [Node], node: Node) -> Option<Node> {
    let author = nodes
        .iter_mut()
        .find(|it| Some(&it.id) == node.reviews.as_ref());
    match (author.map(|author| &mut author.work), node.work) {
        (Some(Work::FanOut(list)), Work::Child(reviewer)) => {
            list.reviewer = Some(*reviewer);
            None
        }
        (_, work) => Some(Node { work, ..node }),
    }
}

/// Refuses a plan with unknown prices: a limit on money can be held only if every price is known.
fn prices_are_known(plan: &Plan) -> Result<(), SubmitError> {
    for child in plan.children() {
        let models = child.models.iter().enumerate();
        let mut unknown = models.filter(|(at, _)| child.facts(*at).prices.is_none());
        if let Some((_, model)) = unknown.next() {
            return Err(SubmitError::Refused {
                message: format!("`maxCost` cannot be enforced: the prices of `{model}` are unknown"),
                help: "give them as `models = [{ id = \"…\", input = …, output = … }]` of its provider, or limit `maxTokens`"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns the node of a child, and adds the texts that it names.
fn node(
    run: &RunRequest,
    request: &ChildRequest,
    artifacts: &mut Vec<Vec<u8>>,
    notes: &mut Vec<String>,
) -> Result<Node, SubmitError> {
    let (mut tools, unknown) = tools_of(request, &run.mcp_servers)?;
    notes.extend(unknown);
    if let Some(program) = Program::named(&request.engine) {
        let (_, missing) = program.tools(&tools.allowed);
        // Skills that the agent names are in its prompt, so a missing `skill` tool is not reported.
        let is_given = |tool: &&str| {
            let is_ours = RUNTIME_TOOLS.contains(tool) || tool.starts_with(MCP);
            program.can.runtime_tools && is_ours
        };
        let missing = missing.into_iter().filter(|tool| !is_given(tool));
        let missing: Vec<String> = missing.map(str::to_owned).collect();
        tools.allowed.retain(|tool| !missing.contains(tool));
        let said = missing.iter().filter(|tool| *tool != "skill");
        notes.extend(said.map(|tool| format!("{} has no tool `{tool}`", program.title)));
    }
    let of_list = request.list.as_ref().and_then(|list| list.schema.as_ref());
    for schema in request.output_schema.iter().chain(of_list) {
        data_check::look_at(schema).map_err(|fault| SubmitError::Refused {
            message: format!("`outputSchema` is not a JSON Schema that is taken: {fault}"),
            help: "correct the schema".to_owned(),
        })?;
    }
    let can_ask = tools.allowed.iter().any(|name| name == CONTACT_SUPERVISOR);
    let boundary = Boundary {
        has_schema: request.output_schema.is_some(),
        can_ask,
        can_delegate: tools.allowed.iter().any(|name| name == SUBAGENT),
        contract: request.contract.as_ref(),
    };
    let mut told = Told::new(
        (&request.prompt, &request.prompt_parts),
        &request.task,
        &boundary,
    );
    if !request.history.is_empty() {
        told = told.after(request.history.clone());
    }
    let mut stored = |bytes: Vec<u8>| {
        let digest = Digest::of(&bytes);
        artifacts.push(bytes);
        digest
    };
    request.setup_hook_text.clone().map(&mut stored);
    let written = |schema: &Value| serde_json::to_vec(schema).unwrap_or_default();
    let schema = request.output_schema.as_ref().map(written);
    let usual = if run.background {
        BACKGROUND_TIME_MS
    } else {
        USUAL_TIME_MS
    };
    let limits = Limits {
        max_execution_time_ms: request.limits.max_execution_time_ms.or(Some(usual)),
        ..request.limits.clone()
    };
    let inputs = request.inputs.clone().map(|inputs| Inputs {
        task: Some(Digest::of(run.task.as_bytes())),
        ..inputs
    });
    let child = Child {
        agent: request.agent.clone(),
        address: request.address.clone(),
        label: request.label.clone(),
        told: stored(told.to_bytes()),
        inputs,
        engine: request.engine.clone(),
        program: request.program.clone(),
        program_version: request.program_version.clone(),
        models: request.models.clone(),
        model_facts: request.model_facts.clone(),
        fallback_after_writes: request.fallback_after_writes,
        tools,
        skills: request.skills.clone(),
        place: Place {
            folder: request.folder.clone(),
            readable: request.readable.clone(),
            location_aliases: request.location_aliases.clone(),
            worktree: request.worktree.clone(),
        },
        limits,
        schema: schema.map(&mut stored),
        output: request.output.clone(),
        file_only: request.file_only,
        contract: request.contract.clone(),
    };
    Ok(Node {
        id: request.id.clone(),
        after: request.after.clone(),
        group: request.group.clone(),
        reviews: request.reviews.clone(),
        work: match &request.list {
            None => Work::Child(Box::new(child)),
            Some(list) => Work::FanOut(Box::new(FanOut {
                from: list.from.clone(),
                items: list
                    .items
                    .as_ref()
                    .map(|items| stored(serde_json::to_vec(items).unwrap_or_default())),
                path: list.path.clone(),
                item: list.item.clone(),
                key: list.key.clone(),
                max_items: list.max_items,
                fail_if_empty: list.fail_if_empty,
                schema: of_list.map(|schema| stored(written(schema))),
                child,
                reviewer: None,
            })),
        },
    })
}

/// Returns true if an agent with these tools can change files.
pub fn can_write(tools: Option<&[String]>, denied: &BTreeSet<String>) -> bool {
    let rows = tools
        .unwrap_or_default()
        .iter()
        .filter_map(|name| ToolRow::by_name(name));
    let mut rows = rows.filter(|row| !denied.iter().any(|name| row.is_called(name)));
    rows.any(super::tools::ToolRow::writes)
}

/// Returns the tools of a child that lists none.
pub(crate) fn usual_tools() -> Vec<String> {
    USUAL_TOOLS.map(str::to_owned).to_vec()
}

/// Makes a child the reviewer of another one's work: it works in the same folder, with tools that change nothing, and
/// gives a verdict in a form of its own.
pub fn make_reviewer(request: &mut ChildRequest, author: &ChildRequest) {
    let reads = |name: &String| ToolRow::by_name(name).is_some_and(|row| !row.writes());
    if let Some(tools) = &mut request.tools {
        tools.retain(reads);
        if tools.is_empty() {
            request.tools = None;
        }
    }
    request.reviews = Some(author.id.clone());
    request.folder.clone_from(&author.folder);
    request.worktree = None;
    request.output = None;
    request.file_only = false;
    request.contract = None;
    "Review.".clone_into(&mut request.task);
    request.output_schema = request.program.is_none().then(review_schema);
}

/// Returns the tools of a child, in our words. A note names unknown ones; if no tool is left, the child is refused.
fn tools_of(
    request: &ChildRequest,
    servers: &[String],
) -> Result<(Tools, Vec<String>), SubmitError> {
    let (mut allowed, mut notes) = (Vec::new(), Vec::new());
    let is_denied = |row: &ToolRow| {
        let mut denied = request.denied_tools.iter();
        denied.any(|name| row.is_called(name))
    };
    let mut listed = request.tools.clone().unwrap_or_else(usual_tools);
    let is_kept_away = |name: &str| {
        let mut denied = request.denied_tools.iter();
        ToolRow::by_name(name).map_or_else(
            || denied.any(|denied| denies_server_tool(denied, name)),
            is_denied,
        )
    };
    listed.retain(|name| {
        let is_kept_away = is_kept_away(name);
        if is_kept_away {
            let agent = &request.agent;
            notes.push(format!("the file of agent `{agent}` forbids `{name}`"));
        }
        !is_kept_away
    });
    for name in &listed {
        match ToolRow::by_name(name) {
            Some(row) if !allowed.iter().any(|known| known == row.name) => {
                allowed.push(row.name.to_owned());
            }
            Some(_) => {}
            None if selected(name)
                .is_some_and(|(server, _)| servers.iter().any(|it| it == server)) =>
            {
                allowed.push(name.clone());
            }
            None if name.starts_with(MCP) => notes.push(format!(
                "tool `{name}` belongs to a server that is not in `[mcp]` of the configuration"
            )),
            None => notes.push(format!(
                "tool `{name}` is not provided by the built-in engine"
            )),
        }
    }
    if allowed.is_empty() && !listed.is_empty() {
        return Err(SubmitError::Refused {
            message: format!(
                "agent `{}` lists only tools that do not exist here: {}",
                request.agent,
                listed.join(", ")
            ),
            help: "list tools such as read, grep, edit or bash in the agent's file".to_owned(),
        });
    }
    // Any agent may ask for the instructions of skills, whatever it lists: they are knowledge, not a power.
    let may_ask = !ToolRow::by_name("skill").is_some_and(is_denied);
    if may_ask && !allowed.iter().any(|name| name == "skill") && !allowed.is_empty() {
        allowed.push("skill".to_owned());
    }
    let can_write = allowed
        .iter()
        .any(|name| ToolRow::by_name(name).is_some_and(super::tools::ToolRow::writes));
    Ok((Tools { allowed, can_write }, notes))
}
