//! What effects do: one function for each command.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grove_exec::{Git, Program, StopTokens, end_marked, now};
use grove_model::Places;
use grove_plan::{
    Attempt, Attention, Cause, Child, Command, Contract, Fact, NodeId, Outcome, Parent, Proof,
    Seen, TreeBefore, Variables, compose,
};
use grove_spec::Digest;
use grove_store::{LoadedRun, OpenRow};
use serde_json::Value;

use super::{Shared, answered, draft, mark, start_of};
use crate::attempt_log::{AttemptLog, LogLine};
use crate::attention::watched;
use crate::delegation::{Above, Delegate, stop_run};
use crate::evidence::{Work, look, review_verdict};
use crate::item_list::ItemList;
use crate::mcp::{MCP, McpPlace, McpTools};
use crate::native::{AnswerFile, ChildEnd, Inbox, NativeChild, SentMessage, append};
use crate::program::{ProgramChild, Talk};
use crate::session_file::write_session;
use crate::submission::RunRequest;
use crate::told::{self, Told};
use crate::tools::{ToolRow, Toolbox, WorkFolder};
use crate::verify::Verifying;
use crate::worktrees::ChildWorktree;

/// Processes of an attempt that do not end within this are said to be left.
const MOST_ENDING: Duration = Duration::from_secs(4);
/// The same for the runs that a child asked for, which end their own processes first.
const MOST_ENDING_BELOW: Duration = Duration::from_secs(15);
/// One call of a tool, when nothing else is said.
const TOOL_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// The engine that is a task of the supervisor's own.
const NATIVE: &str = "native";

impl Shared {
    pub(super) async fn execute(
        self: Arc<Self>,
        row: OpenRow,
        epoch: u32,
        (stop, inbox): (StopTokens, Inbox),
    ) {
        let OpenRow { run, effect, .. } = &row;
        let fact = match &row.command {
            Command::Start { of, model, .. } => {
                self.write_session(run, of).await;
                let driven = self.drive(run, of, epoch, model, (stop, inbox)).await;
                if let Some(end) = driven {
                    let (ending, artifacts) = end.recorded();
                    let fact = answered(effect, epoch, Outcome::Ended(ending));
                    self.record(run, fact, artifacts).await;
                }
                return;
            }
            Command::Stop { of, now, .. } => {
                if let Some(running) = self.running().get(&(run.clone(), start_of(of))) {
                    running.stop.tell(*now);
                }
                self.stop_below(run, of);
                answered(effect, epoch, Outcome::Told)
            }
            Command::Send { of, message } => {
                let (done, heard) = tokio::sync::oneshot::channel();
                let message = SentMessage {
                    effect: effect.clone(),
                    epoch,
                    message: *message,
                    _done: done,
                };
                match self.inbox_of(run, of) {
                    Some(inbox) => inbox.put(message),
                    None => drop(message),
                }
                // The child records that it heard it; one that ends before is not told.
                let _ = heard.await;
                return;
            }
            Command::Prove { of } => {
                // Whoever killed the one that drove it: its session is whole before it is over.
                self.write_session(run, of).await;
                let proof = self.prove(run, of).await;
                answered(effect, epoch, Outcome::Proved(proof))
            }
            Command::MakeWorktree { node, .. }
            | Command::Capture { node }
            | Command::RemoveWorktree { node, .. } => {
                let (outcome, artifacts) = self.on_worktree(run, node, &row.command).await;
                self.record(run, answered(effect, epoch, outcome), artifacts)
                    .await;
                return;
            }
            Command::Expand { node } | Command::Collect { node } => {
                let is_expansion = matches!(row.command, Command::Expand { .. });
                let (outcome, artifacts) = self.on_list(run, node, is_expansion).await;
                self.record(run, answered(effect, epoch, outcome), artifacts)
                    .await;
                return;
            }
            Command::Look { node } => {
                let before = self.look_before(run, node).await;
                answered(effect, epoch, Outcome::Looked(before))
            }
            Command::Verify { node } => {
                if let Some((outcome, artifacts)) = self.verify(run, node, &stop).await {
                    self.record(run, answered(effect, epoch, outcome), artifacts)
                        .await;
                }
                return;
            }
            Command::Arm { milliseconds } => {
                let passed = passed_since(&row);
                let left = Duration::from_millis(milliseconds.saturating_sub(passed));
                tokio::select! {
                    () = stop.soft.cancelled() => return,
                    () = tokio::time::sleep(left) => {}
                }
                let timer = effect.clone();
                Fact::Fired { timer }
            }
        };
        self.record(run, fact, Vec::new()).await;
    }

    /// Brings the file of a child's session to what the journal says. It is a view: what keeps it from being written is
    /// noted and keeps nobody from working.
    async fn write_session(self: &Arc<Self>, run: &str, of: &Attempt) {
        let (shared, run, of) = (Arc::clone(self), run.to_owned(), of.clone());
        let written = tokio::task::spawn_blocking(move || {
            let places = &shared.options.places;
            let loaded = shared.store.load(&run).map_err(|error| error.to_string());
            let written =
                loaded.and_then(|loaded| write_session(&shared.store, places, &loaded, &of.node));
            if let Err(why) = written {
                let text = format!("the file of the session is not current: {why}");
                AttemptLog::open(&places.log(&run, &of)).write(&LogLine::Note { text });
            }
        });
        let _ = written.await;
    }

    /// Drives a native child to its end. None when it is not ours any more.
    async fn drive(
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
            // One that was given already is none.
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
            let end = native.drive(loaded, told).await.ok();
            // Pipes to its servers, which end with it.
            let pipes = self.options.places.program_folder(&loaded.id, of);
            let _ = grove_fs::files::remove_folder(&pipes);
            Ok(end.map(|end| self.with_output(end, (child, of), loaded, &native.toolbox)))
        };
        watched(
            Box::pin(driven),
            &log,
            child.limits.attention.as_ref(),
            notice,
        )
        .await
    }

    /// The end of a child whose answer is in the file that it was to be written to.
    fn with_output(
        &self,
        mut end: ChildEnd,
        (child, of): (&Child, &Attempt),
        loaded: &LoadedRun,
        toolbox: &Toolbox,
    ) -> ChildEnd {
        let Some(output) = &child.output else {
            return end;
        };
        let chain_dir = self.options.places.chain_folder(&loaded.id);
        let variables = Variables {
            chain_dir: chain_dir.to_string_lossy().into_owned(),
            item: told::item_of(&self.store, loaded, &of.node),
            ..Variables::default()
        };
        let path = compose(output, &variables);
        let tries = loaded.state.nodes.get(&of.node).map(|node| &node.attempts);
        let tries = tries.map(Vec::as_slice).unwrap_or_default();
        let began = tries.first().and_then(|first| first.started);
        let earlier = tries.iter().filter_map(|attempt| attempt.output()?.text);
        // What is in a working tree of its own is soon in a patch alone.
        let shown = match child.place.worktree {
            Some(_) => path.clone(),
            None => toolbox.work.path().join(&path).display().to_string(),
        };
        let file = AnswerFile {
            path: &path,
            shown,
            began: began.map_or(0, |began| began.wall),
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
        let model = self.options.models.for_program(program, model).await;
        let model = model.map_err(input)?;
        let mut environment = self.options.environment.clone();
        // Whoever is sent to a provider of ours needs no key of the person's.
        if model.relay.is_none() {
            environment.extend(self.options.models.variables_of(program));
        }
        let log = Arc::clone(log);
        // What the bridge cannot give is not started.
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
            work_folder: self.work_folder(loaded, of, child),
            child,
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
        let end = driven.drive().await.ok();
        Ok(end.map(|end| self.with_output(end, (child, of), loaded, &toolbox)))
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
        let request: RunRequest = serde_json::from_str(&loaded.request)
            .map_err(|error| input(format!("the request cannot be read: {error}")))?;
        let servers = (child.tools.allowed.as_slice(), &**log);
        let mut toolbox = self.toolbox(loaded, child, of, servers).await?;
        let places = Places {
            run_ids: vec![run.to_owned()],
            work: Some(toolbox.work.path().to_string_lossy().into_owned()),
            home: self.options.home.clone(),
            state: Some(self.options.places.folder().to_string_lossy().into_owned()),
            temp: Some(std::env::temp_dir().to_string_lossy().into_owned()),
        };
        let recording = request.recording.as_ref();
        let at = child.models.iter().position(|known| known == model);
        let context = at.and_then(|at| child.facts(at).context);
        let idle = child.limits.model_idle_ms.map(Duration::from_millis);
        let models = &self.options.models;
        let model = models.source(model, idle, recording, &places).await;
        let model = model.map_err(input)?;
        toolbox.secrets.clone_from(&model.secrets);
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

    /// Everything that the tools of a child need.
    async fn toolbox(
        &self,
        loaded: &LoadedRun,
        child: &Child,
        of: &Attempt,
        (servers, log): (&[String], &AttemptLog),
    ) -> Result<Toolbox, Cause> {
        let run = loaded.id.as_str();
        let folder = self.work_folder(loaded, of, child);
        let mut work = WorkFolder::new(&folder, &child.place.readable).map_err(input)?;
        if child.inputs.is_some() {
            let shared = self.options.places.chain_folder(run);
            work.share(&shared).map_err(input)?;
        }
        let outputs = self.options.places.outputs(run, of);
        // Outputs from before a crash, and from earlier tries of its session.
        for n in 1..=of.n {
            let node = of.node.clone();
            work.grant(&self.options.places.outputs(run, &Attempt { node, n }));
        }
        let schema = match &child.schema {
            Some(digest) => {
                let bytes = self.store.artifact(digest).ok().flatten();
                let schema = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                let schema = schema.ok_or_else(|| input("the schema is not there"))?;
                let validator = jsonschema::validator_for(&schema);
                let validator = validator.map_err(|error| input(error.to_string()))?;
                Some((schema, validator))
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
            // The skills of a repository are those of its working trees.
            skills: (self.options.skills)(&child.place.folder),
            schema,
            reports: child.contract.as_ref().is_some_and(Contract::wants_report),
            secrets: Vec::new(),
            has_own_tools: false,
            of_skills: Mutex::default(),
            mcp,
            outputs,
        })
    }

    /// Does something with a child's working tree, without holding up the others.
    async fn on_worktree(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        command: &Command,
    ) -> (Outcome, Vec<Vec<u8>>) {
        let shared = Arc::clone(self);
        let (run, node, command) = (run.to_owned(), node.clone(), command.clone());
        let done = tokio::task::spawn_blocking(move || {
            let loaded = shared.store.load(&run).map_err(|error| error.to_string())?;
            let tree = shared.worktree(&loaded, &node);
            let tree = tree.ok_or("the plan has no such working tree")?;
            Ok::<_, String>(match &command {
                Command::MakeWorktree { patch, .. } => {
                    (tree.make(&shared.store, patch.as_ref()), Vec::new())
                }
                Command::RemoveWorktree { patch, .. } => {
                    (tree.remove(&shared.store, patch), Vec::new())
                }
                _ => tree.capture(),
            })
        });
        let done = done.await.map_err(|error| error.to_string());
        done.and_then(|done| done)
            .unwrap_or_else(|why| (Outcome::Impossible { why }, Vec::new()))
    }

    /// Finds the items of a list, or puts together what was said about them.
    async fn on_list(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        is_expansion: bool,
    ) -> (Outcome, Vec<Vec<u8>>) {
        let (shared, run, node) = (Arc::clone(self), run.to_owned(), node.clone());
        let done = tokio::task::spawn_blocking(move || {
            let loaded = shared.store.load(&run).map_err(|error| error.to_string())?;
            let list = ItemList::of(&shared.store, &loaded, &node)?;
            if is_expansion {
                list.expand()
            } else {
                list.collect()
            }
        });
        let done = done.await.map_err(|error| error.to_string());
        done.and_then(|done| done)
            .unwrap_or_else(|why| (Outcome::Impossible { why }, Vec::new()))
    }

    /// Runs the commands that show whether a child's work counts.
    async fn verify(
        &self,
        run: &str,
        node: &NodeId,
        stop: &StopTokens,
    ) -> Option<(Outcome, Vec<Vec<u8>>)> {
        let impossible = |why: &str| {
            let why = why.to_owned();
            Some((Outcome::Impossible { why }, Vec::new()))
        };
        let Ok(loaded) = self.store.load(run) else {
            return impossible("the run cannot be read");
        };
        let Some(child) = loaded.plan.child(node) else {
            return impossible("the plan has no such child");
        };
        let Some(contract) = &child.contract else {
            return impossible("nothing is asked of its work");
        };
        let of = Attempt {
            node: node.clone(),
            n: 0,
        };
        let places = self.options.places.of_run(run);
        let folder = self.work_folder(&loaded, &of, child);
        let git = Git::new(self.options.environment.clone());
        let work = Work {
            store: &self.store,
            run: &loaded,
            node,
            git: &git,
            folder: folder.clone(),
            scratch: places.join("look").join(crate::worktrees::file_name(node)),
        };
        let (found, trees, facts) = blocking(|| {
            let (found, trees) = (work.report(), work.trees());
            let facts = work.facts(found.report.as_ref(), trees.as_ref());
            (found, trees, facts)
        });
        let verifying = Verifying {
            keeper: &self.options.keeper,
            environment: &self.options.environment,
            mark: mark(&self.store, run, &of),
            folder,
            temporary: places
                .join("verify")
                .join(crate::worktrees::file_name(node)),
            git: &git,
            trees: trees.as_ref(),
            state: self.options.places.folder(),
            stop,
        };
        let (results, texts) = verifying.run(contract, facts.changed.as_deref()).await?;
        let (report, notes) = if contract.wants_report() {
            (found.report, found.notes)
        } else {
            (None, Vec::new())
        };
        let seen = Seen {
            results,
            report,
            notes,
            facts,
        };
        Some((Outcome::Checked(Box::new(seen)), texts))
    }

    /// Looks at the files of a child before it begins.
    async fn look_before(&self, run: &str, node: &NodeId) -> TreeBefore {
        let Ok(loaded) = self.store.load(run) else {
            return TreeBefore::default();
        };
        let Some(child) = loaded.plan.child(node) else {
            return TreeBefore::default();
        };
        let scratch = self.options.places.of_run(run).join("look");
        let scratch = scratch.join(crate::worktrees::file_name(node));
        let (git, folder) = (
            Git::new(self.options.environment.clone()),
            child.place.folder.clone(),
        );
        let looked = tokio::task::spawn_blocking(move || look(&git, &folder, &scratch));
        looked.await.unwrap_or_default()
    }

    fn worktree(&self, run: &LoadedRun, node: &NodeId) -> Option<ChildWorktree> {
        let git = Git::new(self.options.environment.clone());
        ChildWorktree::of(git, &self.options.places, run, node)
    }

    /// Where a child works.
    fn work_folder(&self, run: &LoadedRun, of: &Attempt, child: &Child) -> PathBuf {
        // Whoever looks at another's work does so where that is.
        let reviews = run.plan.reviews(&of.node);
        match self.worktree(run, reviews.as_ref().unwrap_or(&of.node)) {
            Some(tree) => tree.work_folder(),
            None => child.place.folder.clone(),
        }
    }

    /// Tells the runs that a child asked for to stop, and says which they are.
    fn stop_below(&self, run: &str, of: &Attempt) -> Vec<String> {
        let below = self.store.open_below(run, of).unwrap_or_default();
        for nested in &below {
            stop_run(&self.store, nested, &format!("the run above it, {run}"));
            let _ = self.news.send(nested.clone());
        }
        below
    }

    /// Ends the runs that a child asked for: what it did not wait for ends with it. A child that goes on after a crash has
    /// them still.
    async fn end_below(&self, run: &str, of: &Attempt) -> bool {
        let goes_on = self.store.load(run).is_ok_and(|loaded| {
            let node = loaded.state.nodes.get(&of.node);
            let last = node.and_then(|node| node.last());
            last.is_some_and(|last| last.recovering && last.stopping.is_none())
        });
        if goes_on {
            return true;
        }
        let below = self.stop_below(run, of);
        let until = tokio::time::Instant::now() + MOST_ENDING_BELOW;
        for nested in &below {
            while self
                .store
                .state_of(nested)
                .is_ok_and(|(_, is_over)| !is_over)
            {
                if tokio::time::Instant::now() > until {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        true
    }

    /// Proves that nothing of an attempt is left. One that never ran a command has no processes.
    async fn prove(&self, run: &str, of: &Attempt) -> Proof {
        if !self.end_below(run, of).await {
            let why = "a run that it asked for did not end".to_owned();
            return Proof::NotProven { why };
        }
        let ran_commands = self.store.load(run).map_or(true, |loaded| {
            let engine = loaded.plan.child(&of.node).map(|child| child.engine.as_str());
            let child = loaded.plan.child(&of.node);
            let mut tools = child.into_iter().flat_map(|child| &child.tools.allowed);
            if engine != Some(NATIVE) || tools.any(|tool| tool.starts_with(MCP)) {
                return true;
            }
            let mut facts = loaded.events.iter().map(|event| &event.fact);
            facts.any(|fact| matches!(fact, Fact::Called { of: whose, call, .. }
                if whose == of && ToolRow::by_name(&call.tool).is_some_and(|row| row.name == "bash")))
        });
        if !ran_commands {
            return Proof::Ended { scans: 0 };
        }
        let mark = mark(&self.store, run, of);
        let ended = tokio::task::spawn_blocking(move || end_marked(&mark, MOST_ENDING)).await;
        match ended {
            Ok(tree) if tree.left.is_empty() => Proof::Ended { scans: tree.scans },
            Ok(tree) => Proof::NotProven {
                why: format!("{} processes did not end", tree.left.len()),
            },
            Err(_) => Proof::NotProven {
                why: "the look for processes failed".to_owned(),
            },
        }
    }
}

/// Does something that waits for other programs, without holding up the others where the runtime has several threads.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::current().runtime_flavor() {
        tokio::runtime::RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

fn input(message: impl Into<String>) -> Cause {
    let message = message.into();
    Cause::Input { message }
}

/// How long ago an effect was opened: on the boot clock, or on the wall's after the machine was started anew.
fn passed_since(row: &OpenRow) -> u64 {
    let now = now();
    match now.boot.checked_sub(row.opened_boot) {
        Some(passed) => passed,
        None => now.wall.saturating_sub(row.opened_at),
    }
}
