//! Gathers what a driver needs for an attempt, and has it drive the child to its end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grove_exec::{Git, GuardedRepository, Program, StopTokens};
use grove_model::RecordingPlaceholders;
use grove_plan::{Attempt, Attention, Cause, Child, Contract, Fact, NodeId, Parent, Plan};
use grove_spec::Digest;
use grove_store::LoadedRun;

use super::executors::blocking;
use super::{EffectHandles, Shared, mark};
use crate::attempt_log::AttemptLog;
use crate::attention::watched;
use crate::calling_child::CallingChild;
use crate::child_end::ChildEnd;
use crate::driving::{DrivenChild, Driver, append, draft};
use crate::envelope::RunEnvelope;
use crate::error::with_causes;
use crate::evidence::review_verdict;
use crate::folder_skills::FolderSkills;
use crate::mcp::{McpPlace, McpTools};
use crate::native::NativeLoop;
use crate::program::AgentProgram;
use crate::told::{self, Told};
use crate::tools::{OwnTree, ToolRow, Toolbox, WorkFolder, require_unlinked};

/// The time for one call of a tool, if no limit is given.
const TOOL_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

pub(super) struct StartedAttempt<'a> {
    pub(super) of: &'a Attempt,
    pub(super) epoch: u32,
    pub(super) model: &'a str,
    pub(super) handles: EffectHandles,
}

impl Shared {
    /// Drives a child to its end; none if it is not ours any more.
    pub(super) async fn drive(&self, run: &str, started: StartedAttempt<'_>) -> Option<ChildEnd> {
        let driven = match self.store.load(run) {
            Ok(loaded) => self.drive_loaded(loaded, started).await,
            Err(error) => Err(Cause::input(with_causes(&error))),
        };
        driven.unwrap_or_else(|cause| Some(ChildEnd::failed(cause)))
    }

    async fn drive_loaded(
        &self,
        run: LoadedRun,
        started: StartedAttempt<'_>,
    ) -> Result<Option<ChildEnd>, Cause> {
        let (of, epoch) = (started.of, started.epoch);
        let envelope = RunEnvelope::read(&run.envelope).map_err(Cause::input)?;
        let child = run.plan.child(&of.node).cloned();
        let child = child.ok_or_else(|| Cause::input("the plan has no such child"))?;
        let folder = self
            .on_node(&run, &of.node, &started.handles.stop)
            .work_folder();
        require_unlinked(&folder).map_err(Cause::input)?;
        let is_review = run.plan.reviews(&of.node).is_some();
        let Some(told) = self.told(&run, started.of, epoch).await? else {
            return Ok(None);
        };
        let log = Arc::new(AttemptLog::open(&self.places().log(&run.id, of)));
        let id = run.id.clone();
        let notice = |why: Attention| {
            let of = of.clone();
            let fact = Fact::Noticed { of, epoch, why };
            let noticed = append(&self.store, &id, draft(fact, Vec::new()));
            // The journal refuses a notice that was given already.
            async { drop(noticed.await) }
        };
        let git = self.git();
        let guarded = self.guarded(&child, &git, &folder);
        let limits = child.limits.attention.clone();
        let gathered = Gathered {
            run,
            envelope,
            child,
            folder,
            told,
            log: Arc::clone(&log),
        };
        let driven = Box::pin(self.drive_child(gathered, started));
        let end = watched(driven, &log, limits.as_ref(), notice).await;
        let said = guarded.and_then(|guarded| blocking(|| self.guards.release(&git, &guarded)));
        if let Some(text) = said {
            log.note(text);
        }
        let mut end = end?;
        if let Some(end) = end.as_mut().filter(|_| is_review) {
            end.review = review_verdict(end.structured.as_ref(), &end.text);
        }
        Ok(end)
    }

    /// Returns what the child is told, which is recorded first where it was put together just now; none if the child is not
    /// ours any more.
    async fn told(&self, run: &LoadedRun, of: &Attempt, epoch: u32) -> Result<Option<Told>, Cause> {
        let review = |author: &NodeId| {
            let child = run.plan.child(author);
            let review = child.and_then(|child| child.contract.as_ref()?.review.as_ref());
            let work = self.on_node(run, author, &StopTokens::default());
            blocking(|| work.for_review(review.and_then(|review| review.focus.as_deref())))
        };
        let told = told::of_attempt(&self.store, self.places(), run, of, &review);
        let told = told.map_err(Cause::input)?;
        if let Some(bytes) = told.to_store {
            let fact = Fact::Told {
                of: of.clone(),
                epoch,
                told: Digest::of(&bytes),
            };
            let appended = append(&self.store, &run.id, draft(fact, vec![bytes])).await;
            if appended.is_err() {
                return Ok(None);
            }
        }
        Ok(Some(told.told))
    }

    /// Makes the driver of the child's engine, and waits for its end.
    async fn drive_child(
        &self,
        gathered: Gathered,
        started: StartedAttempt<'_>,
    ) -> Result<Option<ChildEnd>, Cause> {
        let driver = self.driver(&gathered, started.of, started.model).await?;
        let chain_dir = self
            .places()
            .chain_folder(&gathered.run)
            .map_err(Cause::input)?;
        let toolbox = self.toolbox(&gathered, started.of, &chain_dir).await?;
        let driven = Arc::new(DrivenChild {
            store: Arc::clone(&self.store),
            run: gathered.run,
            of: started.of.clone(),
            epoch: started.epoch,
            child: gathered.child,
            told: gathered.told,
            toolbox: Arc::new(toolbox),
            log: gathered.log,
            stop: started.handles.stop,
            inbox: started.handles.inbox,
            news: self.news.clone(),
        });
        let end = driven
            .drive_with(&*driver, &chain_dir.to_string_lossy())
            .await;
        // The folder has the program's files, which are not needed any more, and the pipes to servers, which end with it.
        let folder = self.places().program_folder(&driven.run.id, started.of);
        let _ = grove_fs::files::remove_folder(&folder);
        Ok(end.ok())
    }

    /// Makes the driver for the engine of a child.
    async fn driver(
        &self,
        gathered: &Gathered,
        of: &Attempt,
        model: &str,
    ) -> Result<Box<dyn Driver>, Cause> {
        let Gathered {
            run,
            envelope,
            child,
            folder,
            ..
        } = gathered;
        let places = self.recorded_places(&run.id, &envelope.folder, folder);
        let recording = envelope.recording.as_ref();
        let Some(program) = Program::named(&child.engine) else {
            let at = child.models.iter().position(|known| known == model);
            let idle = child.limits.model_idle_ms.map(Duration::from_millis);
            return Ok(Box::new(NativeLoop {
                model: self.models.source(model, idle, recording, &places).await?,
                context: at.and_then(|at| child.facts(at).context),
            }));
        };
        let file = child.program.clone();
        let file =
            file.ok_or_else(|| Cause::input(format!("nobody said where {} is", program.title)))?;
        let models = &self.models;
        let model = models.for_program(program, model, recording, &places);
        let model = model.await?;
        let mut environment = self.commands_environment.clone();
        // A program that is sent to a provider of ours needs no key of the person's.
        if model.relay.is_none() {
            environment.extend(self.models.variables_of(program));
        }
        Ok(Box::new(AgentProgram {
            program,
            file,
            model,
            has_budget: self.has_budget(run, child),
            environment,
            folder: self.places().program_folder(&run.id, of),
            home: self.places().program_home(&run.id, &of.node),
        }))
    }

    /// Guards the repository of a child that runs commands. Grove's own tools write nothing that belongs to git.
    fn guarded(&self, child: &Child, git: &Git, folder: &Path) -> Option<GuardedRepository> {
        let runs = |tool: &String| ToolRow::by_name(tool).is_none_or(|row| row.name == "bash");
        let runs_commands =
            Program::named(&child.engine).is_some() || child.tools.allowed.iter().any(runs);
        runs_commands
            .then(|| blocking(|| self.guards.hold(git, folder)))
            .flatten()
    }

    /// Returns true if the usage of a child counts against a budget: its own, its run's or that of a run above.
    fn has_budget(&self, loaded: &LoadedRun, child: &Child) -> bool {
        let is_limited =
            |plan: &Plan| plan.tree.max_tokens.is_some() || plan.tree.max_cost.is_some();
        let mut found = child.limits.max_tokens.is_some() || is_limited(&loaded.plan);
        let mut above = loaded.parent.clone();
        while let Some(parent) = above.take().filter(|_| !found) {
            match self.store.load_plan(&parent.run) {
                Ok(loaded) => {
                    found = is_limited(&loaded.plan) || {
                        let asks = loaded.plan.child(&parent.of.node);
                        asks.is_some_and(|child| child.limits.max_tokens.is_some())
                    };
                    above = loaded.parent;
                }
                // A run above that cannot be read may have a budget.
                Err(_) => found = true,
            }
        }
        found
    }

    /// Returns the values that stand as placeholders in a recording.
    fn recorded_places(
        &self,
        run: &str,
        project: &Path,
        work_folder: &Path,
    ) -> RecordingPlaceholders {
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        let environment = self.engine.environment();
        let work = grove_fs::files::canonical(work_folder);
        RecordingPlaceholders {
            run_ids: vec![run.to_owned()],
            work: text(work.as_deref().unwrap_or(work_folder)),
            project: text(project),
            home: environment.home.as_deref().and_then(text),
            state: text(self.places().folder()),
            temp: text(&environment.temporary),
        }
    }

    /// Returns the parts that the tools of a child need.
    async fn toolbox(
        &self,
        gathered: &Gathered,
        of: &Attempt,
        chain_dir: &Path,
    ) -> Result<Toolbox, Cause> {
        let Gathered { run, child, .. } = gathered;
        let places = self.places();
        let program = Program::named(&child.engine);
        let at = self.on_node(run, &of.node, &StopTokens::default());
        let work = self.work_of(gathered, of, chain_dir)?;
        let schema = match &child.schema {
            Some(digest) => {
                let schema = self.store.json(digest);
                Some(schema.map_err(|_| Cause::input("the schema is not there"))?)
            }
            None => None,
        };
        let mark = mark(&self.store, &run.id, of);
        let timeout = child.limits.tool_timeout_ms.unwrap_or(TOOL_TIMEOUT_MS);
        let tool_timeout = Duration::from_millis(timeout);
        let place = McpPlace {
            keeper: self.keeper.clone(),
            mark: mark.clone(),
            environment: self.commands_environment.clone(),
            work: work.path().to_path_buf(),
            pipes: places.program_folder(&run.id, of),
            limit: tool_timeout,
        };
        // Servers are not started if there is no bridge to give their tools.
        let has_bridge = program.is_none_or(|program| program.can.runtime_tools);
        let servers: &[String] = if has_bridge {
            &child.tools.allowed
        } else {
            &[]
        };
        let (mcp, notes) = McpTools::start(place, &self.mcp, servers).await;
        for text in notes {
            gathered.log.note(text);
        }
        let parent = Parent {
            run: run.id.clone(),
            of: of.clone(),
        };
        let caller = CallingChild::of(run, &gathered.envelope, parent, work.path().to_path_buf());
        let toolbox = Toolbox {
            engine: Arc::clone(&self.engine),
            caller,
            allowed: child.tools.allowed.clone(),
            work,
            keeper: self.keeper.clone(),
            mark,
            environment: self.commands_environment.clone(),
            tool_timeout,
            // A working tree has the skills of its repository.
            skills: FolderSkills::new(self.engine.environment(), &child.place.folder),
            schema,
            reports: child.contract.as_ref().is_some_and(Contract::wants_report),
            secrets: self.models.known_secrets().await,
            is_sandboxed: self.is_sandboxed,
            own_tree: at.worktree().map(|tree| {
                let linked = tree.plan.setup.link.iter();
                let linked = linked.map(|path| tree.plan.repository.join(path));
                OwnTree {
                    linked: linked.collect(),
                    folder: tree.folder,
                }
            }),
            git_folders: tokio::sync::OnceCell::new(),
            state: places.folder().to_path_buf(),
            has_own_tools: program.is_some(),
            of_skills: Mutex::default(),
            mcp,
            outputs: places.outputs(&run.id, of),
        };
        for address in child.skills.iter().filter(|_| program.is_none()) {
            toolbox.give_variables(toolbox.skills.environment(address));
        }
        Ok(toolbox)
    }

    /// Returns the folders that a child reads and writes.
    fn work_of(
        &self,
        gathered: &Gathered,
        of: &Attempt,
        chain_dir: &Path,
    ) -> Result<WorkFolder, Cause> {
        let Gathered { run, child, .. } = gathered;
        let mut work = WorkFolder::new(gathered.folder.clone(), &child.place);
        if child.inputs.is_some() {
            let shared = work.share(chain_dir);
            shared.map_err(|error| Cause::input(with_causes(&error)))?;
        }
        // The child may read outputs from before a crash, and those from earlier tries of its session.
        for n in 1..=of.n {
            let node = of.node.clone();
            work.grant(&self.places().outputs(&run.id, &Attempt { node, n }));
        }
        Ok(work)
    }
}

/// Everything about a child that does not depend on its engine.
struct Gathered {
    run: LoadedRun,
    envelope: RunEnvelope,
    child: Child,
    folder: PathBuf,
    told: Told,
    log: Arc<AttemptLog>,
}
