//! Drives a child to its end, with its prompt, its model and its tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grove_exec::{Git, GuardedRepository, Program, StopTokens};
use grove_model::RecordingPlaceholders;
use grove_plan::{
    Attempt, Attention, Cause, Child, Contract, Fact, FoundFile, NodeId, Parent, Plan, Variables,
    compose,
};
use grove_spec::Digest;
use grove_store::LoadedRun;
use serde_json::Value;

use super::executors::blocking;
use super::{Shared, draft, mark};
use crate::attempt_log::{AttemptLog, LogLine};
use crate::attention::watched;
use crate::delegation::{Above, Delegate};
use crate::evidence::{Work, review_verdict};
use crate::mcp::{McpPlace, McpTools};
use crate::native::{AnswerFile, ChildEnd, Inbox, NativeChild, NotOurs, append};
use crate::program::{ProgramChild, Talk};
use crate::submission::RunRequest;
use crate::told::{self, Told};
use crate::tools::{ToolRow, Toolbox, WorkFolder};

/// The time for one call of a tool, if no limit is given.
const TOOL_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// The file that a child's answer is written to.
struct AnswerPlace {
    /// Its path for the child.
    path: String,
    /// The state of the file before the child began.
    before: FoundFile,
}

impl Shared {
    /// Drives a child to its end; none if it is not ours any more.
    pub(super) async fn drive(
        &self,
        run: &str,
        of: &Attempt,
        epoch: u32,
        model: &str,
        (stop, inbox): (StopTokens, Inbox),
    ) -> Option<ChildEnd> {
        let loaded = match self.store.load(run) {
            Ok(loaded) => loaded,
            Err(error) => {
                return Some(ChildEnd::failed(input(error.to_string())));
            }
        };
        let driven = self.drive_child(&loaded, (of, epoch), model, (stop, inbox));
        let end = driven.await;
        let mut end = end.unwrap_or_else(|cause| Some(ChildEnd::failed(cause)));
        let is_review = loaded.plan.reviews(&of.node).is_some();
        if let Some(end) = end.as_mut().filter(|_| is_review) {
            end.review = review_verdict(end.structured.as_ref(), &end.text);
        }
        end
    }

    async fn drive_child(
        &self,
        loaded: &LoadedRun,
        (of, epoch): (&Attempt, u32),
        model: &str,
        (stop, inbox): (StopTokens, Inbox),
    ) -> Result<Option<ChildEnd>, Cause> {
        let child = loaded.plan.child(&of.node);
        let child = child.ok_or_else(|| input("the plan has no such child"))?;
        let git = Git::new(self.options.environment.clone());
        let review = |author: &NodeId| {
            let child = loaded.plan.child(author);
            let review = child.and_then(|child| child.contract.as_ref()?.review.as_ref());
            let (of, places) = (
                Attempt {
                    node: author.clone(),
                    n: 0,
                },
                self.options.places.of_run(&loaded.id),
            );
            let work = Work {
                store: &self.store,
                run: loaded,
                node: author,
                git: &git,
                folder: child
                    .map_or_else(PathBuf::new, |child| self.work_folder(loaded, &of, child)),
                scratch: places
                    .join("look")
                    .join(crate::worktrees::file_name(author)),
            };
            blocking(|| work.for_review(review.and_then(|review| review.focus.as_deref())))
        };
        let told = match told::of_attempt(&self.store, &self.options.places, loaded, of, &review) {
            Ok(told) => told,
            Err(message) => return Err(input(message)),
        };
        if let Some(bytes) = told.to_store {
            let fact = Fact::Told {
                of: of.clone(),
                epoch,
                told: Digest::of(&bytes),
            };
            let appended = append(&self.store, &loaded.id, draft(fact, vec![bytes])).await;
            if appended.is_err() {
                return Ok(None);
            }
        }
        let told = told.told;
        let log = Arc::new(AttemptLog::open(&self.options.places.log(&loaded.id, of)));
        let notice = |why: Attention| {
            let of = of.clone();
            let fact = Fact::Noticed { of, epoch, why };
            let noticed = append(&self.store, &loaded.id, draft(fact, Vec::new()));
            // The journal refuses a notice that was given already.
            async { drop(noticed.await) }
        };
        let driven = async {
            if let Some(program) = Program::named(&child.engine) {
                let program = (program, child);
                return self
                    .drive_program(program, loaded, (of, epoch), (told, model), (stop, &log))
                    .await;
            }
            let native = self
                .child(loaded, child, (of, epoch), model, (stop, inbox, &log))
                .await?;
            let toolbox = &native.toolbox;
            let place = self.answer_place(loaded, (child, of, epoch), toolbox).await;
            let Ok(place) = place else {
                return Ok(None);
            };
            let end = native.drive(loaded, told).await.ok();
            let kept = (&**toolbox, &native.stop);
            // The folder has the pipes to its servers, which end with it.
            let pipes = self.options.places.program_folder(&loaded.id, of);
            let _ = grove_fs::files::remove_folder(&pipes);
            let Some(end) = end else {
                return Ok(None);
            };
            Ok(Some(
                Self::with_output(end, (child, of), loaded, place, kept).await,
            ))
        };
        let guarded = self.guarded(child, &git, &self.work_folder(loaded, of, child));
        let limits = child.limits.attention.as_ref();
        let end = watched(Box::pin(driven), &log, limits, notice).await;
        let said = guarded.and_then(|guarded| blocking(|| self.guards.release(&git, &guarded)));
        if let Some(text) = said {
            log.write(&LogLine::Note { text });
        }
        end
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

    /// Returns the file that a child's answer is written to, with its state before the child began, which is recorded first.
    /// An error means that the child is not ours.
    async fn answer_place(
        &self,
        loaded: &LoadedRun,
        (child, of, epoch): (&Child, &Attempt, u32),
        toolbox: &Toolbox,
    ) -> Result<Option<AnswerPlace>, NotOurs> {
        let Some(output) = &child.output else {
            return Ok(None);
        };
        let chain_dir = self.options.places.chain_folder(loaded);
        let variables = Variables {
            chain_dir: chain_dir.to_string_lossy().into_owned(),
            item: told::item_of(&self.store, loaded, &of.node),
            ..Variables::default()
        };
        let path = compose(output, &variables);
        let tries = loaded.state.nodes.get(&of.node).map(|node| &node.attempts);
        let first = tries.and_then(|tries| tries.first());
        let before = first.and_then(|first| first.found.clone());
        // A child that goes on after a crash may have written the file already.
        if before.is_some() || of.n > 1 || epoch > 1 {
            let before = before.unwrap_or(FoundFile::Absent);
            return Ok(Some(AnswerPlace { path, before }));
        }
        // The same error comes again, and is reported, when the answer is to be written.
        let before = blocking(|| toolbox.work.found(&path)).unwrap_or(FoundFile::Absent);
        let fact = Fact::Found {
            of: of.clone(),
            epoch,
            file: before.clone(),
        };
        append(&self.store, &loaded.id, draft(fact, Vec::new())).await?;
        Ok(Some(AnswerPlace { path, before }))
    }

    /// Completes the end of a child: takes its data, and sees to it that its answer is in its file.
    async fn with_output(
        mut end: ChildEnd,
        (child, of): (&Child, &Attempt),
        loaded: &LoadedRun,
        place: Option<AnswerPlace>,
        (toolbox, stop): (&Toolbox, &StopTokens),
    ) -> ChildEnd {
        end.take_data(toolbox, stop).await;
        let Some(AnswerPlace { path, before }) = place else {
            return end;
        };
        let tries = loaded.state.nodes.get(&of.node).map(|node| &node.attempts);
        let tries = tries.map(Vec::as_slice).unwrap_or_default();
        let earlier = tries.iter().filter_map(|attempt| attempt.output()?.text);
        // A file in a working tree of its own will soon be in a patch alone.
        let shown = match child.place.worktree {
            Some(_) => path.clone(),
            None => toolbox.work.path().join(&path).display().to_string(),
        };
        let file = AnswerFile {
            path: &path,
            shown,
            before,
            earlier: earlier.collect(),
        };
        end.save(&file, toolbox);
        end
    }

    /// Runs an agent program to its end.
    async fn drive_program(
        &self,
        (program, child): (&'static Program, &Child),
        loaded: &LoadedRun,
        (of, epoch): (&Attempt, u32),
        (told, model): (Told, &str),
        (stop, log): (StopTokens, &Arc<AttemptLog>),
    ) -> Result<Option<ChildEnd>, Cause> {
        let run = loaded.id.as_str();
        let file = child.program.as_ref();
        let file = file.ok_or_else(|| input(format!("nobody said where {} is", program.title)))?;
        let request = request_of(loaded)?;
        let work_folder = self.work_folder(loaded, of, child);
        let places = self.recorded_places(run, &request.folder, &work_folder);
        let recording = request.recording.as_ref();
        let models = &self.options.models;
        let model = models
            .for_program(program, model, recording, &places)
            .await?;
        let mut environment = self.options.environment.clone();
        // A program that is sent to a provider of ours needs no key of the person's.
        if model.relay.is_none() {
            environment.extend(self.options.models.variables_of(program));
        }
        let log = Arc::clone(log);
        // Servers are not started if there is no bridge to give their tools.
        let servers: &[String] = if program.can.runtime_tools {
            &child.tools.allowed
        } else {
            &[]
        };
        let toolbox = self.toolbox(loaded, child, of, (servers, &log)).await?;
        let toolbox = Arc::new(toolbox.of_program());
        let home = self.options.places.program_home(run, &of.node);
        let driven = ProgramChild {
            store: &self.store,
            run,
            of,
            epoch,
            program,
            file,
            work_folder,
            child,
            has_budget: self.has_budget(loaded, child),
            talk: Talk::of(&self.store, loaded, of, &told, &home),
            system: told.system,
            model: model.id,
            thinking: model.thinking,
            relay: model.relay,
            toolbox: Arc::clone(&toolbox),
            home,
            keeper: &self.options.keeper,
            mark: mark(&self.store, run, of),
            environment,
            folder: self.options.places.program_folder(run, of),
            log,
            stop,
            news: self.news.clone(),
        };
        let place = self
            .answer_place(loaded, (child, of, epoch), &toolbox)
            .await;
        let Ok(place) = place else {
            return Ok(None);
        };
        let Ok(end) = driven.drive().await else {
            return Ok(None);
        };
        let kept = (&*toolbox, &driven.stop);
        let end = Self::with_output(end, (child, of), loaded, place, kept).await;
        Ok(Some(end))
    }

    /// Returns true if the usage of a child counts against a budget: its own, its run's or that of a run above.
    fn has_budget(&self, loaded: &LoadedRun, child: &Child) -> bool {
        let is_limited =
            |plan: &Plan| plan.tree.max_tokens.is_some() || plan.tree.max_cost.is_some();
        let mut found = child.limits.max_tokens.is_some() || is_limited(&loaded.plan);
        let mut above = loaded.parent.clone();
        while let Some(parent) = above.take().filter(|_| !found) {
            match self.store.load(&parent.run) {
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

    async fn child(
        &self,
        loaded: &LoadedRun,
        child: &Child,
        (of, epoch): (&Attempt, u32),
        model: &str,
        (stop, inbox, log): (StopTokens, Inbox, &Arc<AttemptLog>),
    ) -> Result<NativeChild, Cause> {
        let run = loaded.id.as_str();
        let request = request_of(loaded)?;
        let servers = (child.tools.allowed.as_slice(), &**log);
        let mut toolbox = self.toolbox(loaded, child, of, servers).await?;
        let places = self.recorded_places(run, &request.folder, toolbox.work.path());
        let recording = request.recording.as_ref();
        let at = child.models.iter().position(|known| known == model);
        let context = at.and_then(|at| child.facts(at).context);
        let idle = child.limits.model_idle_ms.map(Duration::from_millis);
        let models = &self.options.models;
        let model = models.source(model, idle, recording, &places).await?;
        toolbox.secrets.extend(model.secrets.iter().cloned());
        for address in &child.skills {
            toolbox.give_variables(toolbox.skills.environment(address));
        }
        Ok(NativeChild {
            store: Arc::clone(&self.store),
            run: run.to_owned(),
            of: of.clone(),
            epoch,
            model,
            toolbox: Arc::new(toolbox),
            limits: child.limits.clone(),
            context,
            log: Arc::clone(log),
            stop,
            inbox,
            news: self.news.clone(),
        })
    }

    /// Returns the values that stand as placeholders in a recording.
    fn recorded_places(
        &self,
        run: &str,
        project: &Path,
        work_folder: &Path,
    ) -> RecordingPlaceholders {
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        RecordingPlaceholders {
            run_ids: vec![run.to_owned()],
            work: text(work_folder),
            project: text(project),
            home: self.options.home.clone(),
            state: text(self.options.places.folder()),
            temp: text(&self.options.temporary),
        }
    }

    /// Returns the parts that the tools of a child need.
    async fn toolbox(
        &self,
        loaded: &LoadedRun,
        child: &Child,
        of: &Attempt,
        (servers, log): (&[String], &AttemptLog),
    ) -> Result<Toolbox, Cause> {
        let run = loaded.id.as_str();
        let folder = self.work_folder(loaded, of, child);
        let mut work = WorkFolder::new(&folder, &child.place).map_err(input)?;
        if child.inputs.is_some() {
            let shared = self.options.places.chain_folder(loaded);
            work.share(&shared).map_err(input)?;
        }
        let outputs = self.options.places.outputs(run, of);
        // The child may read outputs from before a crash, and those from earlier tries of its session.
        for n in 1..=of.n {
            let node = of.node.clone();
            work.grant(&self.options.places.outputs(run, &Attempt { node, n }));
        }
        let schema = match &child.schema {
            Some(digest) => {
                let bytes = self.store.artifact(digest).ok().flatten();
                let schema = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                Some(schema.ok_or_else(|| input("the schema is not there"))?)
            }
            None => None,
        };
        let timeout = child.limits.tool_timeout_ms.unwrap_or(TOOL_TIMEOUT_MS);
        let place = McpPlace {
            keeper: self.options.keeper.clone(),
            mark: mark(&self.store, run, of),
            environment: self.options.environment.clone(),
            work: work.path().to_path_buf(),
            pipes: self.options.places.program_folder(run, of),
            limit: Duration::from_millis(timeout),
        };
        let (mcp, notes) = McpTools::start(place, &self.options.mcp, servers).await;
        for text in notes {
            log.write(&LogLine::Note { text });
        }
        let parent = Parent {
            run: run.to_owned(),
            of: of.clone(),
        };
        let above = Above::of(loaded, parent, work.path().to_path_buf());
        let delegate = above.map(|above| Delegate {
            store: Arc::clone(&self.store),
            delegation: Arc::clone(&self.options.delegation),
            above,
            news: self.news.clone(),
        });
        Ok(Toolbox {
            delegate,
            allowed: child.tools.allowed.clone(),
            work,
            keeper: self.options.keeper.clone(),
            mark: mark(&self.store, run, of),
            environment: self.options.environment.clone(),
            tool_timeout: Duration::from_millis(timeout),
            // A working tree has the skills of its repository.
            skills: (self.options.skills)(&child.place.folder),
            schema,
            reports: child.contract.as_ref().is_some_and(Contract::wants_report),
            secrets: self.options.models.known_secrets().await,
            is_sandboxed: self.options.is_sandboxed,
            own_tree: self.worktree(loaded, &of.node).map(|tree| {
                let linked = tree.plan.setup.link.iter();
                let linked = linked.map(|path| tree.plan.repository.join(path));
                (tree.folder.clone(), linked.collect())
            }),
            git_folders: tokio::sync::OnceCell::new(),
            state: self.options.places.folder().to_path_buf(),
            has_own_tools: false,
            of_skills: Mutex::default(),
            mcp,
            outputs,
        })
    }
}

fn request_of(loaded: &LoadedRun) -> Result<RunRequest, Cause> {
    serde_json::from_str(&loaded.request)
        .map_err(|error| input(format!("the request cannot be read: {error}")))
}

fn input(message: impl Into<String>) -> Cause {
    let message = message.into();
    Cause::Input { message }
}
