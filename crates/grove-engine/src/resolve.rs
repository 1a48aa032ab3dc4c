//! From an order to a run with everything found about its children: agents, prompts, engines, models, limits.

mod acceptance;
pub(crate) mod approving;
mod catalog_tasks;
mod children;
pub(crate) mod forks;
mod run_rules;
mod schema_files;
mod worktree_plans;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use grove_fs::approvals::Approval;
use grove_plan::{AgentScope, LayoutRules, OnComplete, Request as RunRequest, TreeLimits, lay_out};
use grove_runs::{
    Above, ChildRequest, KeyOwner, RunRequest as SubmittedRequest, SubmitError, SubmitKey,
};
use grove_skills::run_rules::RunRules;
use grove_skills::{
    Environment, Library, Look, LookAgain as _, Parts, Request, Scope, Unsteady as _,
};
use grove_spec::chain::Step;
use grove_spec::config::Settings;
use grove_spec::{Diagnostic, Digest};
use serde_json::{Value, json};

use crate::entries;
use crate::error::EngineError;
use crate::model_settings::ModelSettings;
use crate::order::{RunOrder, all_wrong};
use approving::Approving;
use catalog_tasks::catalog_tasks;
use children::{ChildResolver, FoundChild, NO_TREE, least};
use forks::{Forked, Launch};
use schema_files::SavedChain;
use worktree_plans::Worktrees;

/// A run with everything found about its children, ready to be submitted.
#[derive(Debug)]
pub struct ResolvedRun {
    /// The run as it is recorded.
    pub request: SubmittedRequest,
    /// Findings about the files that it uses.
    pub warnings: Vec<Diagnostic>,
    /// Sentences for people about how it is run.
    pub notes: Vec<String>,
    /// Commands and programs that a person approved with it.
    pub(crate) approved: Vec<Approval>,
}

impl From<SubmitError> for EngineError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused { message, help } => Self::usage(message).hint(help),
            SubmitError::Store(error) => error.into(),
        }
    }
}

/// Finds everything about a run: agents, their prompts, engines and models. Nothing is recorded.
pub(crate) fn resolve(
    environment: &Environment,
    order: &RunOrder,
    above: Option<&Above>,
) -> Result<ResolvedRun, EngineError> {
    if above.is_some() && !order.approve.is_empty() {
        let message = "a child approves nothing";
        return Err(
            EngineError::usage(message).hint("ask the one who gave you the task to approve it")
        );
    }
    let asked = &order.request;
    let folder = match &asked.cwd {
        Some(folder) => environment.working.join(folder),
        None => environment.working.clone(),
    };
    if !grove_fs::files::is_folder(&folder) {
        let message = format!("there is no folder {}", folder.display());
        return Err(EngineError::usage(message));
    }
    if let Some(above) = above {
        above.require_folder(&folder)?;
        let is_kept_there = asked.session_dir.is_some() || asked.chain_dir.is_some();
        if is_kept_there && !above.powers().can_write() {
            return Err(without_write("`sessionDir` or `chainDir`"));
        }
    }
    if let Some(recording) = &order.recording {
        recording.check().map_err(EngineError::finding)?;
    }
    let chosen = |given: &Option<PathBuf>| match given {
        Some(given) => chosen_folder(&environment.working, given, order.is_by_model).map(Some),
        None => Ok(None),
    };
    let session_dir = chosen(&asked.session_dir)?;
    let chain_dir = chosen(&asked.chain_dir)?;
    let (look, found) = look_for_children(environment, order, above, &folder)?;
    let settings = &look.world.settings.settings;
    let models = ModelSettings::of(environment, settings);
    let FoundChildren {
        children,
        groups,
        title,
        approved,
    } = found;
    let run = gather(children)?;
    if !settings.run_in_home.value {
        let places = run.children.iter().map(|child| child.folder.as_path());
        for place in places.chain([folder.as_path()]) {
            require_narrow(place, environment)?;
        }
    }
    let mut notes = run.notes;
    notes.extend(without_effect(asked, &run.children));
    // The time limit of an agent holds for the whole run only when it is the only agent.
    let own_timeout = run.timeouts.first().copied();
    let own_timeout = own_timeout.filter(|_| run.children.len() == 1);
    let first_line = asked.task.lines().next().unwrap_or_default();
    let mut request = SubmittedRequest {
        title: format!("{title}: {first_line}"),
        task: asked.task.clone(),
        children: run.children,
        groups,
        asked: Some(digest_of_order(order, &folder)),
        folder,
        tree: tree_limits(asked, settings, own_timeout),
        parent: None,
        model_scopes: look.world.run_rules().model_scopes,
        submit_key: submit_key(order, above),
        // A child waits for the run that it asks for, unless it says otherwise.
        background: asked.background
            || (above.is_none() && settings.run_force_background.value)
            || run
                .background
                .unwrap_or(above.is_none() && settings.run_in_background.value),
        on_complete: on_complete(settings),
        recording: order.recording.clone(),
        surroundings: models.surroundings(),
        session_dir,
        chain_dir,
        max_output: asked.max_output,
        mcp_servers: models.mcp.iter().map(|it| it.name.clone()).collect(),
    };
    if let Some(above) = above {
        notes.extend(above.bind(&mut request)?);
    }
    notes.sort();
    notes.dedup();
    Ok(ResolvedRun {
        warnings: run.warnings,
        notes,
        approved,
        request,
    })
}

/// The rules for children of a child: the scopes of its own models hold for theirs.
fn rules_below(mut rules: RunRules, above: Option<&Above>) -> RunRules {
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

/// Resolves what a child asks for; it works in the folder of that child unless it names one below it.
pub(crate) fn resolve_below(
    environment: &Environment,
    value: &Value,
    above: &Above,
) -> Result<ResolvedRun, EngineError> {
    let order = RunOrder {
        is_by_model: true,
        ..RunOrder::of_json(value)?
    };
    let there = Environment {
        working: above.folder.clone(),
        ..environment.clone()
    };
    resolve(&there, &order, Some(above))
}

/// Looks for the children of a run until two looks in a row find the same files.
fn look_for_children(
    environment: &Environment,
    order: &RunOrder,
    above: Option<&Above>,
    folder: &Path,
) -> Result<(Look, FoundChildren), EngineError> {
    let asked = &order.request;
    let there = Environment {
        working: folder.to_path_buf(),
        ..environment.clone()
    };
    let request = Request {
        parts: Parts {
            chains: asked.chain_name.is_some(),
            ..Parts::PROMPTS
        },
        scope: match asked.agent_scope {
            Some(AgentScope::User) => Scope::User,
            Some(AgentScope::Project) => Scope::Project,
            Some(AgentScope::Both) | None => Scope::Both,
        },
        ..Request::default()
    };
    let launch = match (above, order.session.as_deref()) {
        (Some(above), _) => Launch::Child(&above.parent),
        (None, Some(session)) => Launch::Host(session),
        (None, None) => Launch::Terminal,
    };
    let forked = Forked::as_asked(environment, asked.context.as_deref(), launch)?;
    let forked = forked.map_or_else(OnceCell::new, OnceCell::from);
    let worktrees = Worktrees::new(order.include_changes);
    let approving = Approving::new(environment, &order.approve);
    let mut library = Library::new(there, request);
    library.look_until_steady(|look| {
        let models = ModelSettings::of(environment, &look.world.settings.settings);
        let resolver = ChildResolver {
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
            saved_chain: SavedChain::of(look, asked),
            approving: &approving,
            above,
        };
        let mut found = children(&resolver)?;
        found.approved = approving.granted();
        Ok::<_, EngineError>((look.clone(), found))
    })
}

/// The key of a request among those of its caller.
fn submit_key(order: &RunOrder, above: Option<&Above>) -> Option<SubmitKey> {
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

/// The answers of a run's children for the run as a whole.
#[derive(Default)]
struct GatheredChildren {
    children: Vec<ChildRequest>,
    warnings: Vec<Diagnostic>,
    notes: Vec<String>,
    timeouts: Vec<u64>,
    background: Option<bool>,
}

/// Gathers the children and what they say of the run.
fn gather(found: Vec<FoundChild>) -> Result<GatheredChildren, EngineError> {
    let mut run = GatheredChildren::default();
    for child in found {
        child.prompt.write_index()?;
        for warning in child.warnings {
            if !run.warnings.contains(&warning) {
                run.warnings.push(warning);
            }
        }
        run.notes.extend(child.notes);
        run.timeouts.extend(child.timeout_ms);
        run.background = run.background.or(child.background);
        run.children.push(child.request);
    }
    Ok(run)
}

/// Keys of a request that have no effect, a sentence each.
fn without_effect(asked: &RunRequest, children: &[ChildRequest]) -> Vec<String> {
    let has_no_tree = children.iter().all(|child| child.worktree.is_none());
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

/// The children of a run.
struct FoundChildren {
    children: Vec<FoundChild>,
    groups: std::collections::BTreeMap<grove_plan::NodeId, grove_plan::GroupRules>,
    /// The agents in the order of the steps.
    title: String,
    /// Commands and programs that a person approved with the run.
    approved: Vec<Approval>,
}

/// Finds all children. Everything that is wrong is said at once, each with its step.
fn children(resolver: &ChildResolver<'_>) -> Result<FoundChildren, EngineError> {
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
    let (mut children, mut reviewers, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for planned in &layout.tasks {
        let whole = Some(order.request.task.as_str());
        let tasks = catalog_tasks(planned, &layout.tasks, whole);
        let found = resolver.child(planned, tasks);
        let found = found.and_then(|child| Ok((resolver.reviewer(&child)?, child)));
        match found {
            Ok((reviewer, child)) => {
                children.push(child);
                reviewers.extend(reviewer);
            }
            Err(error) => wrong.push((planned.id.as_str(), error)),
        }
    }
    if let Some(error) = all_wrong_steps(wrong, layout.tasks.len() == 1) {
        return Err(error);
    }
    children.extend(reviewers);
    let names: Vec<String> = steps.iter().map(names_of).collect();
    Ok(FoundChildren {
        children,
        groups: layout.groups,
        title: names.join(" → "),
        approved: Vec::new(),
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
    if is_one || first.is_unsteady() {
        return Some(first);
    }
    let said = said.iter().map(|(message, steps)| match steps.as_slice() {
        [one] => format!("step {one}: {message}"),
        several => format!("steps {}: {message}", several.join(", ")),
    });
    let message = said.collect::<Vec<_>>().join("; ");
    Some(first.saying(message, hints))
}

fn names_of(step: &Step) -> String {
    let names: Vec<&str> = step
        .tasks()
        .iter()
        .map(|task| task.agent.as_str())
        .collect();
    names.join(" + ")
}

/// The steps of a saved chain.
fn saved_steps(look: &Look, asked: &RunRequest) -> Result<Vec<Step>, EngineError> {
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
    Ok(path)
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
