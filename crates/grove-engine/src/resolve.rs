//! From an order to a run with everything found about its children: agents, prompts, engines, models, limits.

mod acceptance;
pub(crate) mod approving;
mod catalog_tasks;
mod child_limits;
mod child_tools;
mod children;
mod files_told;
pub(crate) mod forks;
mod run_rules;
mod schema_files;
mod worktree_plans;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_fs::approvals::Approval;
use grove_plan::{
    AgentScope, GroupRules, LayoutRules, Node, NodeId, OnComplete, Parent, Plan,
    Request as RunRequest, TreeLimits, Work, begin_with_earlier_work, lay_out,
};
use grove_skills::run_rules::RunRules;
use grove_skills::{
    Discovery, DiscoveryParts, DiscoveryRequest, Environment, OwnerScope, StaleRead as _,
};
use grove_spec::chain::ChainStep;
use grove_spec::config::Settings;
use grove_spec::{Diagnostic, Digest};
use serde_json::json;

use crate::calling_child::CallingChild;
use crate::engine::Engine;
use crate::entries;
use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::model_settings::ModelSettings;
use crate::order::{RunOrder, all_wrong};
use crate::submit_key::{KeyOwner, SubmitKey};
use approving::Approving;
use catalog_tasks::catalog_tasks;
use child_limits::{least, usual_time_ms};
#[cfg(test)]
pub(crate) use child_tools::{ListedTools, of_reviewer};
use children::{ChildResolver, NO_TREE, ResolvedNode};
use forks::{Forked, Launch};
use schema_files::SavedChain;
use worktree_plans::Worktrees;

/// A run with everything found about its children, ready to be submitted.
#[derive(Debug)]
pub struct ResolvedRun {
    /// The plan that it executes.
    pub plan: Plan,
    /// Everything else that is recorded of it.
    pub envelope: RunEnvelope,
    /// True if no caller waits for the result.
    pub background: bool,
    /// Findings about the files that it uses.
    pub warnings: Vec<Diagnostic>,
    /// Sentences for people about how it is run.
    pub notes: Vec<String>,
    /// The texts that the plan names.
    pub(crate) texts: BTreeMap<Digest, Vec<u8>>,
    /// A key within those of its owner: submitting it twice gives one run.
    pub(crate) submit_key: Option<SubmitKey>,
    pub(crate) parent: Option<Parent>,
    /// Commands and programs that a person approved with it.
    pub(crate) approved: Vec<Approval>,
}

impl ResolvedRun {
    /// Returns a text that the plan names.
    pub fn text(&self, digest: &Digest) -> Option<&[u8]> {
        self.texts.get(digest).map(Vec::as_slice)
    }
}

/// Finds everything about a run: agents, their prompts, engines and models. Nothing is recorded. `above` is the child that
/// asks, if one does.
pub(crate) fn resolve(
    engine: &Engine,
    environment: &Environment,
    order: &RunOrder,
    above: Option<&CallingChild>,
) -> Result<ResolvedRun, EngineError> {
    let asked = &order.request;
    let folder = work_folder(environment, order, above)?;
    if let Some(recording) = &order.recording {
        recording.check().map_err(EngineError::finding)?;
    }
    let chosen = |given: &Option<PathBuf>| match given {
        Some(given) => chosen_folder(&environment.working, given, order.is_by_model).map(Some),
        None => Ok(None),
    };
    let (session_dir, chain_dir) = (chosen(&asked.session_dir)?, chosen(&asked.chain_dir)?);
    let found = look_for_children(engine, environment, order, above, &folder)?;
    let settings = &found.look.world.settings.settings;
    let models = ModelSettings::of(environment, settings);
    let is_one = found.nodes.len() == 1;
    let run = gather(found.nodes)?;
    if !settings.run_in_home.value {
        let places = run.nodes.iter();
        let places = places.map(|node| node.child().place.folder.as_path());
        for place in places.chain([folder.as_path()]) {
            require_narrow(place, environment)?;
        }
    }
    let mut notes = run.notes;
    notes.extend(without_effect(asked, &run.nodes));
    notes.sort();
    notes.dedup();
    // The time limit of an agent holds for the whole run only when it is the only agent.
    let own_timeout = run.timeouts.first().copied();
    let own_timeout = own_timeout.filter(|_| is_one);
    // A child waits for the run that it asks for, unless it says otherwise.
    let background = asked.background
        || (above.is_none() && settings.run_force_background.value)
        || run
            .background
            .unwrap_or(above.is_none() && settings.run_in_background.value);
    let tree = tree_limits(asked, settings, own_timeout);
    let of_folder = found.look.world.run_rules().model_scopes;
    // Where the whole has no task, its first child's stands for it.
    let tasks = [asked.task.as_str(), &found.first_task];
    let about = tasks.into_iter().find(|task| !task.trim().is_empty());
    let first_line = about.and_then(|task| task.trim().lines().next());
    let title = first_line.map_or_else(
        || found.title.clone(),
        |line| format!("{}: {line}", found.title),
    );
    let mut plan = plan_of(run.nodes, &run.bases, background);
    plan.groups = found.groups;
    plan.tree = above.map_or_else(|| tree.clone(), |above| above.tree_below(&tree));
    plan.max_output = asked.max_output;
    // The command of the person is only told of the person's own runs.
    plan.on_complete = on_complete(settings).filter(|_| above.is_none());
    if plan.tree.max_cost.is_some() {
        require_prices(&plan)?;
    }
    Ok(ResolvedRun {
        plan,
        background,
        warnings: run.warnings,
        notes,
        texts: found.texts,
        submit_key: submit_key(order, above),
        parent: above.map(|above| above.parent.clone()),
        approved: found.approved,
        envelope: RunEnvelope {
            title,
            task: asked.task.clone(),
            asked: Some(digest_of_order(order, &folder)),
            surroundings: match above {
                Some(above) => above.surroundings.clone(),
                None => models.surroundings(),
            },
            model_scopes: match above {
                Some(above) => above.scopes_below(of_folder),
                None => of_folder,
            },
            folder,
            recording: order.recording.clone(),
            session_dir,
            chain_dir,
        },
    })
}

/// The folder in which a run is asked for. A child asks for work in its own folder alone, and has no files written
/// elsewhere.
fn work_folder(
    environment: &Environment,
    order: &RunOrder,
    above: Option<&CallingChild>,
) -> Result<PathBuf, EngineError> {
    let asked = &order.request;
    let folder = match &asked.cwd {
        Some(folder) => environment.working.join(folder),
        None => environment.working.clone(),
    };
    if !grove_fs::files::is_folder(&folder) {
        let message = format!("there is no folder {}", folder.display());
        return Err(EngineError::usage(message));
    }
    let Some(above) = above else {
        return Ok(folder);
    };
    if !order.approve.is_empty() {
        let message = "a child approves nothing";
        return Err(
            EngineError::usage(message).hint("ask the one who gave you the task to approve it")
        );
    }
    above.require_folder(&folder)?;
    let is_kept_there = asked.session_dir.is_some() || asked.chain_dir.is_some();
    if is_kept_there && !above.powers().can_write() {
        return Err(without_write("`sessionDir` or `chainDir`"));
    }
    Ok(folder)
}

/// The plan of nodes, each working tree with the work that it begins with and each child with a time limit.
fn plan_of(mut nodes: Vec<Node>, bases: &BTreeSet<NodeId>, background: bool) -> Plan {
    for node in &mut nodes {
        let children = match &mut node.work {
            Work::Child(child) => vec![&mut **child],
            Work::FanOut(list) => std::iter::once(&mut list.child)
                .chain(&mut list.reviewer)
                .collect(),
        };
        for child in children {
            let limit = &mut child.limits.max_execution_time_ms;
            limit.get_or_insert(usual_time_ms(background));
        }
    }
    begin_with_earlier_work(&mut nodes, |id| bases.contains(id));
    Plan::of(nodes)
}

/// Refuses a plan with unknown prices: a limit on money can be held only if every price is known.
fn require_prices(plan: &Plan) -> Result<(), EngineError> {
    for child in plan.children() {
        let models = child.models.iter().enumerate();
        let mut unknown = models.filter(|(at, _)| child.facts(*at).prices.is_none());
        if let Some((_, model)) = unknown.next() {
            let message =
                format!("`maxCost` cannot be enforced: the prices of `{model}` are unknown");
            return Err(EngineError::usage(message).hint(
                "give them as `models = [{ id = \"…\", input = …, output = … }]` of its provider, or limit `maxTokens`",
            ));
        }
    }
    Ok(())
}

/// The rules for children of a child: the scopes of its own models hold for theirs.
fn rules_below(mut rules: RunRules, above: Option<&CallingChild>) -> RunRules {
    if let Some(above) = above {
        rules.model_scopes = above.scopes_below(std::mem::take(&mut rules.model_scopes));
    }
    rules
}

/// The refusal of files that a child would have written without being able to write.
pub(crate) fn without_write(what: &str) -> EngineError {
    let message = format!("a child that cannot write files cannot have them written by {what}");
    EngineError::usage(message).hint("leave it out, or ask the one who gave you the task")
}

/// Looks for the children of a run until two looks in a row find the same files.
fn look_for_children(
    engine: &Engine,
    environment: &Environment,
    order: &RunOrder,
    above: Option<&CallingChild>,
    folder: &Path,
) -> Result<FoundNodes, EngineError> {
    let asked = &order.request;
    let there = Environment {
        working: folder.to_path_buf(),
        ..environment.clone()
    };
    let request = DiscoveryRequest {
        parts: DiscoveryParts {
            chains: asked.chain_name.is_some(),
            ..DiscoveryParts::PROMPTS
        },
        scope: match asked.agent_scope {
            Some(AgentScope::User) => OwnerScope::User,
            Some(AgentScope::Project) => OwnerScope::Project,
            Some(AgentScope::Both) | None => OwnerScope::Both,
        },
        ..DiscoveryRequest::default()
    };
    let launch = match (above, order.session.as_deref()) {
        (Some(above), _) => Launch::Child(&above.parent),
        (None, Some(session)) => Launch::Host(session),
        (None, None) => Launch::Terminal,
    };
    let forked = Forked::as_asked(engine, asked.context.as_deref(), launch)?;
    let forked = forked.map_or_else(OnceCell::new, OnceCell::from);
    let worktrees = Worktrees::new(order.include_changes);
    let approving = Approving::new(environment, &order.approve);
    engine.discover_until_fresh(there, request, |look| {
        let models = ModelSettings::of(environment, &look.world.settings.settings);
        let resolver = ChildResolver {
            engine,
            environment,
            look,
            models: &models,
            order,
            folder,
            worktrees: &worktrees,
            launch,
            forked: &forked,
            rules: rules_below(look.world.run_rules(), above),
            outputs: RefCell::default(),
            looks: RefCell::default(),
            versions: RefCell::default(),
            texts: RefCell::default(),
            saved_chain: SavedChain::of(look, asked),
            approving: &approving,
            above,
        };
        found_nodes(&resolver)
    })
}

/// The key of a request among those of its caller.
fn submit_key(order: &RunOrder, above: Option<&CallingChild>) -> Option<SubmitKey> {
    if let Some((above, call)) = above.and_then(|above| Some((above, above.call.as_ref()?))) {
        let of = &above.parent;
        return Some(SubmitKey::of_call(&of.run, &of.of, &call.0));
    }
    let owner = match (&order.client, above) {
        (_, Some(above)) => KeyOwner::Child(&above.parent),
        (Some(client), None) => KeyOwner::Client(client),
        (None, None) => KeyOwner::Person,
    };
    let key = order.request.submit_key.as_deref();
    key.map(|key| SubmitKey::of(owner, key))
}

/// The digest of an order without its key. Nothing that was found for it is in it: agents may have changed since, and the
/// order is the same.
fn digest_of_order(order: &RunOrder, folder: &Path) -> Digest {
    let request = RunRequest {
        submit_key: None,
        ..order.request.clone()
    };
    let typed = json!({
        "verify": order.verify,
        "accept": order.accept,
        "maxTasks": order.max_tasks,
        "includeChanges": order.include_changes,
    });
    let request = serde_json::to_vec(&request).unwrap_or_default();
    let typed = typed.to_string();
    let folder = folder.as_os_str().as_encoded_bytes();
    Digest::of_fields([request.as_slice(), typed.as_bytes(), folder])
}

/// The nodes of a run, and what they say of it as a whole.
#[derive(Default)]
struct GatheredNodes {
    nodes: Vec<Node>,
    /// The nodes whose working trees begin from a commit that their step names.
    bases: BTreeSet<NodeId>,
    warnings: Vec<Diagnostic>,
    notes: Vec<String>,
    timeouts: Vec<u64>,
    background: Option<bool>,
}

/// Gathers the nodes and what they say of the run. A reviewer of a list's items goes to the list.
fn gather(found: Vec<ResolvedNode>) -> Result<GatheredNodes, EngineError> {
    let mut run = GatheredNodes::default();
    for found in found {
        found.prompt.write_index()?;
        for warning in found.warnings {
            if !run.warnings.contains(&warning) {
                run.warnings.push(warning);
            }
        }
        run.notes.extend(found.notes);
        run.timeouts.extend(found.timeout_ms);
        run.background = run.background.or(found.background);
        let node = found.node;
        if found.is_base_named {
            run.bases.insert(node.id.clone());
        }
        let mut authors = run.nodes.iter_mut();
        let author = authors.find(|it| Some(&it.id) == node.reviews.as_ref());
        match (author.map(|author| &mut author.work), node.work) {
            (Some(Work::FanOut(list)), Work::Child(reviewer)) => list.reviewer = Some(*reviewer),
            (_, work) => run.nodes.push(Node { work, ..node }),
        }
    }
    Ok(run)
}

/// Keys of a request that have no effect, a sentence each.
fn without_effect(asked: &RunRequest, nodes: &[Node]) -> Vec<String> {
    let has_no_tree = nodes.iter().all(|node| node.worktree().is_none());
    let rows = [
        (
            asked.artifacts == Some(false),
            "`artifacts: false` has no effect: texts are kept with the run until it is pruned",
        ),
        (asked.base_ref.is_some() && has_no_tree, NO_TREE),
        (
            asked.share == Some(true),
            "`share` has no effect: nothing is uploaded; `grove runs export` writes a page that you can share",
        ),
        (
            asked.clarify == Some(true),
            "`clarify` has no effect: no question is asked before a start; `grove plan` shows what would run",
        ),
    ];
    let said = rows.into_iter().filter(|row| row.0);
    said.map(|row| row.1.to_owned()).collect()
}

/// The limits of a run as a whole, before those of the run above.
fn tree_limits(asked: &RunRequest, settings: &Settings, own_timeout: Option<u64>) -> TreeLimits {
    TreeLimits {
        timeout_ms: least([asked.timeout_ms, own_timeout, settings.run_timeout_ms.value]),
        max_tokens: least([asked.max_tokens, settings.run_max_tokens.value]),
        max_cost: least([asked.max_cost, settings.run_max_cost.value]),
        depth: 0,
        max_depth: Some(settings.run_max_depth.value),
        max_children: Some(settings.run_max_children.value),
    }
}

struct FoundNodes {
    look: Discovery,
    nodes: Vec<ResolvedNode>,
    groups: BTreeMap<NodeId, GroupRules>,
    /// The agents in the order of the steps.
    title: String,
    /// The task of the first child, as it was written.
    first_task: String,
    texts: BTreeMap<Digest, Vec<u8>>,
    approved: Vec<Approval>,
}

/// Finds all nodes. Everything that is wrong is said at once, each with its step.
fn found_nodes(resolver: &ChildResolver<'_>) -> Result<FoundNodes, EngineError> {
    let (order, settings) = (resolver.order, &resolver.look.world.settings.settings);
    let saved;
    let steps = if let Some(steps) = &order.steps {
        steps
    } else {
        saved = saved_steps(resolver.look, &order.request)?;
        &saved
    };
    let rules = LayoutRules {
        concurrency: order
            .request
            .concurrency
            .unwrap_or(settings.run_concurrency.value),
        max_tasks: order.max_tasks.unwrap_or(settings.run_max_tasks.value),
        max_items: settings.run_max_items.value,
        has_variables: order.is_chain,
    };
    let layout = lay_out(steps, rules).map_err(|findings| all_wrong(&findings))?;
    resolver.prefer_conversation(&layout.tasks);
    let (mut nodes, mut reviewers, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for planned in &layout.tasks {
        let whole = Some(order.request.task.as_str());
        let tasks = catalog_tasks(planned, &layout.tasks, whole);
        let found = resolver.node(planned, tasks);
        let found = found.and_then(|node| Ok((resolver.reviewer(&node)?, node)));
        match found {
            Ok((reviewer, node)) => {
                nodes.push(node);
                reviewers.extend(reviewer);
            }
            Err(error) => wrong.push((planned.id.as_str(), error)),
        }
    }
    if let Some(error) = all_wrong_steps(wrong, layout.tasks.len() == 1) {
        return Err(error);
    }
    nodes.extend(reviewers);
    let names: Vec<String> = steps.iter().map(names_of).collect();
    let first = steps.first().and_then(|step| step.tasks().first());
    Ok(FoundNodes {
        look: resolver.look.clone(),
        nodes,
        groups: layout.groups,
        title: names.join(" → "),
        first_task: first.and_then(|task| task.task.clone()).unwrap_or_default(),
        texts: resolver.texts.take(),
        approved: resolver.approving.granted(),
    })
}

/// Returns one error for all wrong steps: each fault once, with its steps and every hint.
fn all_wrong_steps(wrong: Vec<(&str, EngineError)>, is_one: bool) -> Option<EngineError> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    let mut hints: Vec<String> = Vec::new();
    for (step, error) in &wrong {
        let message = error.message();
        match said.iter_mut().find(|(same, _)| *same == message) {
            Some((_, steps)) => steps.push(step),
            None => said.push((message, vec![step])),
        }
        let new = error.hints.iter().filter(|hint| !hints.contains(hint));
        let new: Vec<String> = new.cloned().collect();
        hints.extend(new);
    }
    // An unsteady error is returned as it is, because its caller can look again.
    let (_, first) = wrong.into_iter().next()?;
    if is_one || first.is_stale() {
        return Some(first);
    }
    let said = said.iter().map(|(message, steps)| match steps.as_slice() {
        [one] => format!("step {one}: {message}"),
        several => format!("steps {}: {message}", several.join(", ")),
    });
    let message = said.collect::<Vec<_>>().join("; ");
    Some(first.saying(message, hints))
}

fn names_of(step: &ChainStep) -> String {
    let names: Vec<&str> = step
        .tasks()
        .iter()
        .map(|task| task.agent.as_str())
        .collect();
    names.join(" + ")
}

fn saved_steps(look: &Discovery, asked: &RunRequest) -> Result<Vec<ChainStep>, EngineError> {
    let name = asked.chain_name.as_deref().unwrap_or_default();
    let chain = entries::find(look.snapshot.chains.entries(), name)?;
    let steps = chain.file().map(|chain| chain.steps.clone());
    steps.ok_or_else(|| {
        EngineError::finding(format!("chain `{name}` cannot be run as it is written"))
            .hint(format!("`grove chains show {name}` says what is wrong"))
    })
}

/// Makes the chosen folder for files of a run. A model chooses only below the folder where the run was asked for.
fn chosen_folder(folder: &Path, given: &Path, is_by_model: bool) -> Result<PathBuf, EngineError> {
    let path = grove_fs::files::plain(&folder.join(given));
    let outside = || {
        let message = format!("{} is outside {}", path.display(), folder.display());
        Err(EngineError::usage(message))
    };
    if is_by_model && !path.starts_with(grove_fs::files::plain(folder)) {
        return outside();
    }
    let there = path.ancestors().find(|it| grove_fs::files::is_there(it));
    if is_by_model && !there.is_some_and(|there| grove_fs::files::is_below(there, folder)) {
        return outside();
    }
    grove_fs::files::make_folder(&path)?;
    if is_by_model && !grove_fs::files::is_below(&path, folder) {
        return outside();
    }
    Ok(grove_fs::files::canonical(&path)?)
}

/// Refuses the home folder and what is above it as the place of children: everything that a person has is there, and what
/// their other programs run.
fn require_narrow(folder: &Path, environment: &Environment) -> Result<(), EngineError> {
    let home = environment.home.as_deref();
    let holds = |place: &Path| grove_fs::files::is_below(place, folder);
    if holds(Path::new("/")) || home.is_some_and(holds) {
        let message = format!("{} is too broad a work folder", folder.display());
        return Err(EngineError::usage(message)
            .hint("work in a folder below it, or set `allowHome = true` under `[runs]`"));
    }
    Ok(())
}

/// The command that is told when a run is over.
fn on_complete(settings: &Settings) -> Option<OnComplete> {
    let command = settings.run_on_complete.value.clone();
    (!command.is_empty()).then_some(OnComplete {
        command,
        timeout_ms: settings.run_on_complete_timeout_ms.value,
    })
}
