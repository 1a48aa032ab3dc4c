//! From what was typed to a run with everything found about its children.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use grove_fs::approvals::Approval;
use grove_plan::{
    AgentScope, LayoutRules, OnComplete, Request as RunRequest, TreeLimits, lay_out, parse_request,
};
use grove_runs::{Above, Recording, RunRequest as SubmittedRequest, SubmitError};
use grove_skills::run_rules::RunRules;
use grove_skills::{
    Environment, Library, Look, LookAgain as _, Parts, Request, Scope, Unsteady as _,
};
use grove_spec::Diagnostic;
use grove_spec::chain::{self, Step};
use grove_spec::config::Settings;
use grove_spec::money::millionths;
use serde_json::Value;

use super::approving::Approving;
use super::children::{Finding, FoundChild, NO_TREE, least};
use super::forks::{Forked, Launch};
use super::model_settings::ModelSettings;
use super::schema_files::SavedChain;
use super::typed_texts::TypedTexts;
use super::words;
use super::worktree_plans::Worktrees;
use crate::args::RunArgs;
use crate::command_error::CommandError;
use crate::commands::{entry_listing, input_text};

/// Bytes of a request or a schema that are read.
const MAX_REQUEST: u64 = 4 << 20;

/// A run that can be submitted.
pub(super) struct ResolvedRun {
    pub(super) request: SubmittedRequest,
    pub(super) warnings: Vec<Diagnostic>,
    /// What people should know about how it is run.
    pub(super) notes: Vec<String>,
    /// What a person approved with it.
    pub(super) approved: Vec<Approval>,
}

/// What was asked for, and its steps where they are known without a look.
struct Asked {
    request: RunRequest,
    steps: Option<Vec<Step>>,
    is_chain: bool,
    /// How many tasks a step may have, where a person said so.
    max_tasks: Option<u64>,
    /// Whether a model asks, and not a person.
    is_by_model: bool,
    /// The model of whoever asks, where nothing else names one.
    parent_model: Option<String>,
    /// The conversation of the host that asks.
    session: Option<String>,
}

/// What a host asks for, and what it tells of itself.
pub(super) struct AskedByHost<'a> {
    pub(super) fields: &'a Value,
    pub(super) parent_model: Option<&'a str>,
    /// Its conversation.
    pub(super) session: Option<&'a str>,
}

impl From<SubmitError> for CommandError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused { message, help } => Self::usage(message).hint(help),
            SubmitError::Store(error) => error.into(),
        }
    }
}

/// Finds agents, their prompts, engines and models.
pub(super) fn resolve(
    environment: &Environment,
    arguments: &RunArgs,
    above: Option<&Above>,
) -> Result<ResolvedRun, CommandError> {
    if above.is_some() && !arguments.approve.is_empty() {
        let message = "a child approves nothing";
        return Err(
            CommandError::usage(message).hint("ask whoever gave you the task to approve it")
        );
    }
    let asked = asked_for(environment, arguments)?;
    resolve_asked(environment, arguments, asked, above)
}

/// The same for what a child asks for.
pub(super) fn resolve_below(
    environment: &Environment,
    value: &Value,
    above: &Above,
) -> Result<ResolvedRun, CommandError> {
    let asked = Asked {
        is_by_model: true,
        ..read_request(value)?
    };
    let there = Environment {
        working: above.folder.clone(),
        ..environment.clone()
    };
    resolve_asked(&there, &RunArgs::default(), asked, Some(above))
}

/// The same for what a host asks for.
pub(super) fn resolve_for_host(
    environment: &Environment,
    asked: &AskedByHost<'_>,
    above: Option<&Above>,
) -> Result<ResolvedRun, CommandError> {
    let asked = Asked {
        is_by_model: true,
        parent_model: asked.parent_model.map(str::to_owned),
        session: asked.session.map(str::to_owned),
        ..read_request(asked.fields)?
    };
    resolve_asked(environment, &RunArgs::default(), asked, above)
}

fn resolve_asked(
    environment: &Environment,
    arguments: &RunArgs,
    asked: Asked,
    above: Option<&Above>,
) -> Result<ResolvedRun, CommandError> {
    let folder = match &asked.request.cwd {
        Some(folder) => environment.working.join(folder),
        None => environment.working.clone(),
    };
    if !grove_fs::files::is_folder(&folder) {
        let message = format!("there is no folder {}", folder.display());
        return Err(CommandError::usage(message));
    }
    if let Some(above) = above {
        above.require_folder(&folder)?;
        let is_kept_there =
            asked.request.session_dir.is_some() || asked.request.chain_dir.is_some();
        if is_kept_there && !above.powers().can_write() {
            return Err(without_write("`sessionDir` or `chainDir`"));
        }
    }
    let there = Environment {
        working: folder.clone(),
        ..environment.clone()
    };
    let parts = Parts {
        chains: asked.request.chain_name.is_some(),
        ..Parts::PROMPTS
    };
    let request = Request {
        parts,
        scope: match asked.request.agent_scope {
            Some(AgentScope::User) => Scope::User,
            Some(AgentScope::Project) => Scope::Project,
            Some(AgentScope::Both) | None => Scope::Both,
        },
        ..Request::default()
    };
    let mut library = Library::new(there, request);
    let recording = recording(environment, arguments);
    if let Some(recording) = &recording {
        recording.check().map_err(CommandError::finding)?;
    }
    let chosen = |given: &Option<PathBuf>| match given {
        Some(given) => chosen_folder(&environment.working, given, asked.is_by_model).map(Some),
        None => Ok(None),
    };
    let session_dir = chosen(&asked.request.session_dir)?;
    let chain_dir = chosen(&asked.request.chain_dir)?;
    let launch = match (above, asked.session.as_deref()) {
        (Some(above), _) => Launch::Child(&above.parent),
        (None, Some(session)) => Launch::Host(session),
        (None, None) => Launch::Terminal,
    };
    let context = asked.request.context.as_deref();
    let forked = Forked::as_asked(environment, context, launch)?;
    let forked = forked.map_or_else(OnceCell::new, OnceCell::from);
    let worktrees = Worktrees::new(arguments.include_changes);
    let approving = Approving::new(environment, &arguments.approve);
    let (look, found) = library.look_until_steady(|look| {
        let models = ModelSettings::of(environment, &look.world.settings.settings);
        let finding = Finding {
            environment,
            look,
            models: &models,
            asked: &asked.request,
            recording: recording.as_ref(),
            folder: &folder,
            worktrees: &worktrees,
            launch,
            forked: &forked,
            rules: rules_below(look.world.run_rules(), above),
            outputs: RefCell::default(),
            looks: RefCell::default(),
            versions: RefCell::default(),
            saved_chain: SavedChain::of(look, &asked.request),
            verify: &arguments.verify,
            accept: arguments.accept.as_deref(),
            approving: &approving,
            above,
            is_asked_by_model: asked.is_by_model,
            parent_model: asked.parent_model.as_deref(),
        };
        let found = children(&finding, &asked)?;
        Ok::<_, CommandError>((look.clone(), found))
    })?;
    let settings = &look.world.settings.settings;
    let models = ModelSettings::of(environment, settings);
    let (mut warnings, mut notes, mut timeouts) = (Vec::new(), Vec::new(), Vec::new());
    let mut background = None;
    let mut all = Vec::new();
    for child in found.children {
        child.prompt.write_index()?;
        for warning in child.warnings {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        notes.extend(child.notes);
        timeouts.extend(child.timeout_ms);
        background = background.or(child.background);
        all.push(child.request);
    }
    if !settings.run_in_home.value {
        let places = all.iter().map(|child| child.folder.as_path());
        for place in places.chain([folder.as_path()]) {
            require_narrow(place, environment)?;
        }
    }
    if asked.request.artifacts == Some(false) {
        let note =
            "`artifacts: false` has no effect: texts are kept with the run until it is pruned";
        notes.push(note.to_owned());
    }
    if asked.request.base_ref.is_some() && all.iter().all(|child| child.worktree.is_none()) {
        notes.push(NO_TREE.to_owned());
    }
    if asked.request.share == Some(true) {
        let note = "`share` has no effect: nothing is uploaded; `grove runs export` writes a page that you can share";
        notes.push(note.to_owned());
    }
    if asked.request.clarify == Some(true) {
        let note = "`clarify` has no effect: nobody is asked before a start; `grove plan` shows what would run";
        notes.push(note.to_owned());
    }
    // What one agent says about its time is about the run only when it is the only one.
    let own_timeout = timeouts.first().copied().filter(|_| all.len() == 1);
    let asked = asked.request;
    let first_line = asked.task.lines().next().unwrap_or_default();
    let mut request = SubmittedRequest {
        title: format!("{}: {first_line}", found.title),
        task: asked.task.clone(),
        children: all,
        groups: found.groups,
        folder,
        tree: TreeLimits {
            timeout_ms: least([asked.timeout_ms, own_timeout, settings.run_timeout_ms.value]),
            max_tokens: least([asked.max_tokens, settings.run_max_tokens.value]),
            max_cost: least([asked.max_cost, settings.run_max_cost.value]),
            depth: 0,
            max_depth: Some(settings.run_max_depth.value),
            max_children: Some(settings.run_max_children.value),
        },
        parent: None,
        model_scopes: look.world.run_rules().model_scopes,
        submit_key: asked.submit_key,
        // What a child asks for is waited for, unless it says otherwise.
        background: asked.background
            || (above.is_none() && settings.run_force_background.value)
            || background.unwrap_or(above.is_none() && settings.run_in_background.value),
        on_complete: on_complete(settings),
        recording,
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
        warnings,
        notes,
        approved: approving.granted(),
        request,
    })
}

/// The rules for those whom a child asks: the scopes of its own models hold for theirs.
fn rules_below(mut rules: RunRules, above: Option<&Above>) -> RunRules {
    if let Some(above) = above {
        rules.model_scopes = above.scopes_below(std::mem::take(&mut rules.model_scopes));
    }
    rules
}

/// The refusal of files that a child would have written without being able to write.
pub(super) fn without_write(what: &str) -> CommandError {
    let message = format!("a child that cannot write files cannot have them written by {what}");
    CommandError::usage(message).hint("leave it out, or ask the one who gave you the task")
}

/// The children of a run.
struct FoundChildren {
    children: Vec<FoundChild>,
    groups: std::collections::BTreeMap<grove_plan::NodeId, grove_plan::GroupRules>,
    /// Whoever works, in the order of the steps.
    title: String,
}

/// Finds all children. Everything that is wrong is said at once, each with its step.
fn children(finding: &Finding<'_>, asked: &Asked) -> Result<FoundChildren, CommandError> {
    let settings = &finding.look.world.settings.settings;
    let saved;
    let steps = if let Some(steps) = &asked.steps {
        steps
    } else {
        saved = saved_steps(finding.look, &asked.request)?;
        &saved
    };
    let rules = LayoutRules {
        concurrency: asked
            .request
            .concurrency
            .unwrap_or(settings.run_concurrency.value),
        max_tasks: asked.max_tasks.unwrap_or(settings.run_max_tasks.value),
        max_items: settings.run_max_items.value,
        has_variables: asked.is_chain,
    };
    let layout = lay_out(steps, rules).map_err(|findings| all_wrong(&findings))?;
    finding.prefer_conversation(&layout.tasks);
    let (mut children, mut reviewers, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for planned in &layout.tasks {
        let found = finding.child(planned);
        let found = found.and_then(|child| Ok((finding.reviewer(&child)?, child)));
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
    })
}

/// What is wrong with which steps, each thing once and with everything that helps.
fn all_wrong_steps(wrong: Vec<(&str, CommandError)>, is_one: bool) -> Option<CommandError> {
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
    // Whoever can look again is to see the error itself.
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
fn saved_steps(look: &Look, asked: &RunRequest) -> Result<Vec<Step>, CommandError> {
    let name = asked.chain_name.as_deref().unwrap_or_default();
    let chain = entry_listing::find(look.snapshot.chains.entries(), name)?;
    let steps = chain.file().map(|chain| chain.steps.clone());
    steps.ok_or_else(|| {
        CommandError::finding(format!("chain `{name}` cannot be run as it is written"))
            .hint(format!("`grove chains show {name}` says what is wrong"))
    })
}

/// A folder that somebody chose for files of a run, which is made. A model chooses only below where the run was asked for.
fn chosen_folder(folder: &Path, given: &Path, is_by_model: bool) -> Result<PathBuf, CommandError> {
    let path = grove_fs::files::plain(&folder.join(given));
    let outside = || {
        let message = format!("{} is outside {}", path.display(), folder.display());
        Err(CommandError::usage(message))
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
fn require_narrow(folder: &Path, environment: &Environment) -> Result<(), CommandError> {
    let home = environment.home.as_deref();
    let holds = |place: &Path| grove_fs::files::is_below(place, folder);
    if holds(Path::new("/")) || home.is_some_and(holds) {
        let message = format!("{} is too broad a work folder", folder.display());
        return Err(CommandError::usage(message)
            .hint("work in a folder below it, or set `allowHome = true` under `[runs]`"));
    }
    Ok(())
}

fn all_wrong(findings: &[Diagnostic]) -> CommandError {
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    let hints = findings.iter().map(|it| it.help_text().to_owned());
    CommandError::usage(messages.join("; ")).hints(hints.collect::<Vec<_>>())
}

/// What was asked for, typed or in a file.
fn asked_for(environment: &Environment, arguments: &RunArgs) -> Result<Asked, CommandError> {
    let read_json = |path: &std::path::Path, what: &str| -> Result<Value, CommandError> {
        let read = input_text::read(environment, path, MAX_REQUEST, what)?;
        serde_json::from_str(&read.text)
            .map_err(|error| CommandError::usage(format!("{what} is not JSON: {error}")))
    };
    let mut asked = match &arguments.request {
        Some(file) => {
            let value = read_json(file, "the request")?;
            read_request(&value)?
        }
        None => typed(arguments, TypedTexts::read(environment, arguments)?)?,
    };
    asked.max_tasks = arguments.max_tasks;
    let request = &mut asked.request;
    request.model = arguments.model.clone().or(request.model.take());
    request.engine = arguments.engine.clone().or(request.engine.take());
    request.cwd = arguments.cwd.clone().or(request.cwd.take());
    request.timeout_ms = arguments
        .timeout
        .map(|it| it.saturating_mul(1_000))
        .or(request.timeout_ms);
    request.max_tokens = arguments.max_tokens.or(request.max_tokens);
    if let Some(amount) = arguments.max_cost {
        let cost = millionths(amount);
        request.max_cost = Some(
            cost.ok_or_else(|| CommandError::usage("`--max-cost` must be an amount above zero"))?,
        );
    }
    if let Some(session) = &arguments.fork {
        request.context = Some(format!("fork:{session}"));
    }
    request.session_dir = arguments.session_dir.clone().or(request.session_dir.take());
    request.concurrency = arguments.concurrency.or(request.concurrency);
    request.worktree = arguments.worktree.then_some(true).or(request.worktree);
    request.base_ref = arguments.base_ref.clone().or(request.base_ref.take());
    request.background |= arguments.background;
    if let Some(file) = &arguments.schema {
        request.output_schema = Some(read_json(file, "the schema")?);
    }
    Ok(asked)
}

/// What was asked for as JSON.
fn read_request(value: &Value) -> Result<Asked, CommandError> {
    let request = parse_request(value).map_err(|findings| all_wrong(&findings))?;
    let steps = request.steps().map_err(|findings| all_wrong(&findings))?;
    let is_chain = request.chain.is_some() || request.chain_name.is_some();
    Ok(Asked {
        request,
        steps,
        is_chain,
        max_tasks: None,
        is_by_model: false,
        parent_model: None,
        session: None,
    })
}

/// What was typed as words.
fn typed(arguments: &RunArgs, texts: TypedTexts) -> Result<Asked, CommandError> {
    let grammar = "`grove run AGENT \"task\"`, `… '->' AGENT`, `… , AGENT \"task\"`";
    let TypedTexts { words, items } = texts;
    if let Some(name) = &arguments.chain {
        let [task] = words.as_slice() else {
            let message = "a saved chain takes one task";
            return Err(
                CommandError::usage(message).hint("`grove run --chain NAME \"task\"`, in quotes")
            );
        };
        let request = RunRequest {
            chain_name: Some(name.clone()),
            task: task.clone(),
            ..RunRequest::default()
        };
        return Ok(Asked {
            request,
            steps: None,
            is_chain: true,
            max_tasks: None,
            is_by_model: false,
            parent_model: None,
            session: None,
        });
    }
    let mut typed = words::parse(&words)
        .map_err(|message| CommandError::usage(message).hint(format!("as {grammar}")))?;
    if let Some(items) = items {
        let typed = typed.for_each(items);
        typed.map_err(|message| {
            let hint = "`grove run AGENT \"Look at {item}\" --each FILES`";
            CommandError::usage(message).hint(hint)
        })?;
    }
    if typed.is_chain {
        let wrong = chain::wrong_references(&typed.steps);
        if !wrong.is_empty() {
            return Err(all_wrong(&wrong));
        }
    }
    Ok(Asked {
        request: RunRequest {
            task: typed.task,
            ..RunRequest::default()
        },
        steps: Some(typed.steps),
        is_chain: typed.is_chain,
        max_tasks: None,
        is_by_model: false,
        parent_model: None,
        session: None,
    })
}

/// Who is told when a run is over.
fn on_complete(settings: &Settings) -> Option<OnComplete> {
    let command = settings.run_on_complete.value.clone();
    (!command.is_empty()).then_some(OnComplete {
        command,
        timeout_ms: settings.run_on_complete_timeout_ms.value,
    })
}

fn recording(environment: &Environment, arguments: &RunArgs) -> Option<Recording> {
    let replay = arguments.replay.as_ref().map(|file| Recording::Replay {
        file: environment.working.join(file),
        strict: arguments.strict,
    });
    let record = arguments.record.as_ref();
    replay.or_else(|| record.map(|file| Recording::Record(environment.working.join(file))))
}
