//! Executes what runs command: one process for several runs, started when needed, gone when nothing is left to do.

use std::collections::HashMap;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use grove_exec::{Git, Keeper, Liveness, Owner, Program, StopTokens, end_marked, now};
use grove_fs::lock::Lock;
use grove_model::Places;
use grove_plan::{
    Attempt, Cause, Child, Command, EffectId, EffectKind, Fact, Holder, NodeId, Outcome, Proof,
};
use grove_spec::Digest;
use grove_store::{Draft, LoadedRun, OpenRow, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::attempt_log::AttemptLog;
use crate::models::Models;
use crate::native::{ChildEnd, Inbox, NativeChild, SentMessage, append};
use crate::places::RunPlaces;
use crate::program::ProgramChild;
use crate::recovery;
use crate::submission::RunRequest;
use crate::told::{self, Told};
use crate::tools::{Toolbox, WorkFolder};
use crate::verify::Verifying;
use crate::worktrees::ChildWorktree;
use crate::{Skills, tools};

/// How often a supervisor looks round without being woken.
const TICK: Duration = Duration::from_millis(500);
/// Processes of an attempt that do not end within this are said to be left.
const MOST_ENDING: Duration = Duration::from_secs(4);
/// A run for another supervisor that has not come by then may be taken by whoever is asked for it.
const ADOPTED_AFTER_MS: u64 = 10_000;
/// One call of a tool, when nothing else is said.
const TOOL_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// The engine that is a task of the supervisor's own.
const NATIVE: &str = "native";

/// Gives the skills of a child by its work folder.
pub type SkillsOf = dyn Fn(&Path) -> Arc<dyn Skills> + Send + Sync;

/// What a supervisor is given.
pub struct SupervisorOptions {
    /// Where runs are kept.
    pub places: RunPlaces,
    /// The name of its surroundings.
    pub surroundings: String,
    /// Whom children ask.
    pub models: Models,
    /// What children know.
    pub skills: Box<SkillsOf>,
    /// What keeps trees of processes.
    pub keeper: Keeper,
    /// The environment of children's commands.
    pub environment: Vec<(String, String)>,
    /// The home folder, for recordings.
    pub home: Option<String>,
    /// How long it stays when there is nothing to do.
    pub idle: Duration,
}

/// Why there is no supervisor.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// There is one already.
    #[error("a supervisor with these surroundings is there already")]
    Another,
    /// The state folder cannot be used.
    #[error("the state folder of runs cannot be used")]
    Folder(#[from] grove_fs::FsError),
    /// The journal cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be woken.
    #[error("the supervisor cannot listen")]
    Socket(#[source] std::io::Error),
}

/// A supervisor that is ready to run.
pub struct Supervisor {
    shared: Arc<Shared>,
    socket: tokio::net::UnixDatagram,
    news: UnboundedReceiver<String>,
    idle: Duration,
    /// Held as long as it lives: there is one for each surroundings.
    _lock: Lock,
}

/// An effect of a run.
type EffectKey = (String, EffectId);

/// An effect that is under way.
struct RunningEffect {
    stop: StopTokens,
    inbox: Inbox,
    /// Whether it is this process's to do: its lease is recorded.
    is_leased: bool,
    /// Ended when the supervisor leaves.
    task: Option<AbortHandle>,
}

/// What all its tasks share.
pub(crate) struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) owner: Holder,
    options: SupervisorOptions,
    /// Effects that are under way here, and how each is ended.
    running: Mutex<HashMap<EffectKey, RunningEffect>>,
    news: UnboundedSender<String>,
}

/// Wakes the supervisor for a run; says whether one listens.
pub fn wake(places: &RunPlaces, surroundings: &str, run: &str) -> bool {
    let name = places.wake_name(surroundings);
    let send = || {
        let address = SocketAddr::from_abstract_name(name)?;
        UnixDatagram::unbound()?.send_to_addr(run.as_bytes(), &address)
    };
    send().is_ok()
}

impl Supervisor {
    /// Takes its place. Must be called within a runtime.
    pub fn open(options: SupervisorOptions) -> Result<Self, SupervisorError> {
        let places = &options.places;
        grove_fs::files::make_folder(places.folder())?;
        let lock = Lock::take(&places.supervisor(&options.surroundings), Duration::ZERO);
        let lock = lock.map_err(|_| SupervisorError::Another)?;
        let store = Arc::new(Store::open(&places.journal())?);
        let name = places.wake_name(&options.surroundings);
        let bind = || {
            let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
            socket.set_nonblocking(true)?;
            tokio::net::UnixDatagram::from_std(socket)
        };
        let socket = bind().map_err(SupervisorError::Socket)?;
        let (sender, news) = unbounded_channel();
        let idle = options.idle;
        let shared = Shared {
            store,
            owner: Owner::this_process().0,
            options,
            running: Mutex::default(),
            news: sender,
        };
        Ok(Self {
            shared: Arc::new(shared),
            socket,
            news,
            idle,
            _lock: lock,
        })
    }

    /// The journal, for whoever embeds a supervisor and submits to it.
    pub fn store(&self) -> Arc<Store> {
        Arc::clone(&self.shared.store)
    }

    /// Executes what runs command until there is nothing to do for a while, or until `until` is cancelled.
    pub async fn run(mut self, until: CancellationToken) {
        let mut last_work = Instant::now();
        let mut tick = tokio::time::interval(TICK);
        let mut name = [0; 64];
        loop {
            tokio::select! {
                () = until.cancelled() => break,
                _ = tick.tick() => self.shared.look_round().await,
                received = self.socket.recv(&mut name) => {
                    let run = received.ok().and_then(|n| name.get(..n));
                    let run = run.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                    self.shared.look_at(&run.unwrap_or_default(), true);
                }
                Some(run) = self.news.recv() => self.shared.look_at(&run, false),
            }
            if !self.shared.running().is_empty() {
                last_work = Instant::now();
            }
            if last_work.elapsed() >= self.idle {
                break;
            }
        }
        // Whoever is still driven here is driven on by the next one, from its journal.
        for effect in self.shared.running().values() {
            if let Some(task) = &effect.task {
                task.abort();
            }
        }
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, HashMap<EffectKey, RunningEffect>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_running(&self, run: &str, effect: &EffectId) -> bool {
        self.running()
            .contains_key(&(run.to_owned(), effect.clone()))
    }

    /// Looks for what dead owners left, and for what nobody was woken for.
    async fn look_round(self: &Arc<Self>) {
        let Ok(rows) = self.store.outbox() else {
            return;
        };
        for row in &rows {
            if let Some(gone) = recovery::gone(self, row) {
                self.record(&row.run, gone, Vec::new()).await;
            }
        }
        // Rows of one run stand together. What was just recorded as gone is looked at when its news come.
        for of_run in rows.chunk_by(|a, b| a.run == b.run) {
            self.take_free(of_run, false);
        }
    }

    /// Takes whatever is open in a run.
    fn look_at(self: &Arc<Self>, run: &str, asked: bool) {
        // Somebody who means no run in particular means that it should be looked round, which is done anyway.
        let Ok(rows) = self.store.outbox_of(run) else {
            return;
        };
        self.forget_what_is_closed(run, &rows);
        self.take_free(&rows, asked);
    }

    /// Takes the free effects of one run. `asked` is whether somebody asked for this very run.
    fn take_free(self: &Arc<Self>, rows: &[OpenRow], asked: bool) {
        // Whoever is sent something is taken before it.
        let (sends, others): (Vec<_>, Vec<_>) = rows
            .iter()
            .partition(|row| row.effect.kind == EffectKind::Send);
        for row in others.into_iter().chain(sends) {
            let is_free = row.holder.is_none() && !self.is_running(&row.run, &row.effect);
            let may_take = match row.effect.kind {
                EffectKind::Start => self.has_surroundings_of(row, asked),
                EffectKind::Stop => self.may_stop(row, rows),
                // A child is told something by whoever drives it.
                EffectKind::Send => self.inbox_of(&row.run, &row.effect.of).is_some(),
                EffectKind::Prove
                | EffectKind::Timer
                | EffectKind::Make
                | EffectKind::Capture
                | EffectKind::Remove
                | EffectKind::Verify => true,
            };
            if is_free && may_take {
                self.take(row.clone());
            }
        }
    }

    /// A child is told to stop by whoever drives it.
    fn may_stop(&self, stop: &OpenRow, rows: &[OpenRow]) -> bool {
        let start = start_of(&stop.effect.of);
        let start = rows.iter().find(|row| row.effect == start);
        let holder = start.and_then(|start| start.holder.clone());
        holder
            .is_none_or(|holder| holder == self.owner || Owner(holder).liveness() == Liveness::Gone)
    }

    fn forget_what_is_closed(&self, run: &str, rows: &[OpenRow]) {
        let is_open = |effect: &EffectId| rows.iter().any(|row| row.effect == *effect);
        self.running().retain(|(of, effect), running| {
            let may_be_left = matches!(effect.kind, EffectKind::Timer | EffectKind::Verify);
            let is_over = of == run && may_be_left && !is_open(effect);
            if is_over {
                running.stop.tell(true);
            }
            !is_over
        });
    }

    /// A run that was submitted with other surroundings is left to a supervisor that has them; but when somebody who has
    /// these waits for it and nobody else came, it is driven with what there is.
    fn has_surroundings_of(&self, row: &OpenRow, asked: bool) -> bool {
        let is_late = row.epoch > 0 || now().wall.saturating_sub(row.opened_at) > ADOPTED_AFTER_MS;
        if asked && is_late {
            return true;
        }
        let Ok(request) = self.store.request(&row.run) else {
            return false;
        };
        let request: Result<RunRequest, _> = serde_json::from_str(&request);
        request.is_ok_and(|it| it.surroundings == self.options.surroundings)
    }

    /// Takes an effect: nobody waits for its lease, so that leases of many runs are written together.
    fn take(self: &Arc<Self>, row: OpenRow) {
        let stop = StopTokens::default();
        let key = (row.run.clone(), row.effect.clone());
        let inbox = Inbox::default();
        let running = RunningEffect {
            stop: stop.clone(),
            inbox: inbox.clone(),
            is_leased: false,
            task: None,
        };
        self.running().insert(key.clone(), running);
        let shared = Arc::clone(self);
        let of_task = key.clone();
        let task = tokio::spawn(async move {
            if let Some(epoch) = shared.lease(&row).await {
                shared.leased(&key, epoch);
                let inner = Arc::clone(&shared);
                let (run, effect) = key.clone();
                // A task that panics fails one attempt and not the others: its effect has lost its holder.
                let done =
                    tokio::spawn(async move { inner.execute(row, epoch, (stop, inbox)).await });
                let done = AbortOnDropHandle::new(done).await;
                if done.is_err() && effect.kind != EffectKind::Timer {
                    let why = "its task failed".to_owned();
                    let gone = Fact::Gone { effect, epoch, why };
                    shared.record(&run, gone, Vec::new()).await;
                }
            }
            shared.running().remove(&key);
            let _ = shared.news.send(key.0);
        });
        if let Some(running) = self.running().get_mut(&of_task) {
            running.task = Some(task.abort_handle());
        }
    }

    /// Takes note that an effect is this process's to do.
    fn leased(&self, (run, effect): &EffectKey, epoch: u32) {
        if let Some(running) = self.running().get_mut(&(run.clone(), effect.clone())) {
            running.is_leased = true;
        }
        // What was sent to a child before it was driven here was left alone until now.
        let is_later = epoch > 1 || effect.of.n > 1;
        if effect.kind == EffectKind::Start && is_later {
            let _ = self.news.send(run.clone());
        }
    }

    /// Where a child that is driven here hears something.
    fn inbox_of(&self, run: &str, of: &Attempt) -> Option<Inbox> {
        let running = self.running();
        let start = running.get(&(run.to_owned(), start_of(of)));
        let start = start.filter(|start| start.is_leased);
        start.map(|start| start.inbox.clone())
    }

    /// Makes this process the holder of an effect, and gives the epoch. None when somebody else was first, or nobody
    /// waits for it any more. A timer has no holder.
    async fn lease(&self, row: &OpenRow) -> Option<u32> {
        let epoch = row.epoch.saturating_add(1);
        if row.effect.kind == EffectKind::Timer {
            return Some(epoch);
        }
        let fact = Fact::Leased {
            effect: row.effect.clone(),
            epoch,
            holder: self.owner.clone(),
        };
        let leased = append(&self.store, &row.run, draft(fact, Vec::new())).await;
        if !leased.ok()?.step.opened.is_empty() {
            let _ = self.news.send(row.run.clone());
        }
        Some(epoch)
    }

    async fn execute(
        self: Arc<Self>,
        row: OpenRow,
        epoch: u32,
        (stop, inbox): (StopTokens, Inbox),
    ) {
        let OpenRow { run, effect, .. } = &row;
        let fact = match &row.command {
            Command::Start { of, model, .. } => {
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
        driven
            .await
            .unwrap_or_else(|cause| Some(ChildEnd::failed(cause)))
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
        let told = match told::of_attempt(&self.store, &self.options.places, loaded, of) {
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
        if let Some(program) = Program::named(&child.engine) {
            let program = (program, child);
            return self
                .drive_program(program, loaded, (of, epoch), (told, model), stop)
                .await;
        }
        let native = self
            .child(loaded, child, (of, epoch), model, (stop, inbox))
            .await?;
        let Ok(mut end) = native.drive(loaded, told).await else {
            return Ok(None);
        };
        if let Some(output) = &child.output {
            let chain_dir = self.options.places.chain_folder(&loaded.id);
            let path = output.replace("{chain_dir}", &chain_dir.to_string_lossy());
            end.write_output(&path, &native.toolbox.work);
        }
        Ok(Some(end))
    }

    /// Runs an agent program to its end.
    async fn drive_program(
        &self,
        (program, child): (&'static Program, &Child),
        loaded: &LoadedRun,
        (of, epoch): (&Attempt, u32),
        (told, model): (Told, &str),
        stop: StopTokens,
    ) -> Result<Option<ChildEnd>, Cause> {
        let run = loaded.id.as_str();
        let file = child.program.as_ref();
        let file = file.ok_or_else(|| input(format!("nobody said where {} is", program.title)))?;
        let model = self.options.models.for_program(program, model).await;
        let model = model.map_err(input)?;
        let mut environment = self.options.environment.clone();
        environment.extend(self.options.models.variables_of(program));
        let driven = ProgramChild {
            store: &self.store,
            run,
            of,
            epoch,
            program,
            file,
            work_folder: self.work_folder(loaded, of, child),
            child,
            told,
            model: model.id,
            thinking: model.thinking,
            provider: model.provider,
            keeper: &self.options.keeper,
            mark: mark(run, of),
            environment,
            folder: self.options.places.program_folder(run, of),
            log: AttemptLog::open(&self.options.places.log(run, of)),
            stop,
        };
        Ok(driven.drive().await.ok())
    }

    async fn child(
        &self,
        loaded: &LoadedRun,
        child: &Child,
        (of, epoch): (&Attempt, u32),
        model: &str,
        (stop, inbox): (StopTokens, Inbox),
    ) -> Result<NativeChild, Cause> {
        let run = loaded.id.as_str();
        let request: RunRequest = serde_json::from_str(&loaded.request)
            .map_err(|error| input(format!("the request cannot be read: {error}")))?;
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
        let places = Places {
            run_ids: vec![run.to_owned()],
            work: Some(work.path().to_string_lossy().into_owned()),
            home: self.options.home.clone(),
            state: Some(self.options.places.folder().to_string_lossy().into_owned()),
            temp: Some(std::env::temp_dir().to_string_lossy().into_owned()),
        };
        let recording = request.recording.as_ref();
        let idle = child.limits.model_idle_ms.map(Duration::from_millis);
        let models = &self.options.models;
        let model = models.source(model, idle, recording, &places).await;
        let model = model.map_err(input)?;
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
        let toolbox = Toolbox {
            allowed: child.tools.allowed.clone(),
            work,
            keeper: self.options.keeper.clone(),
            mark: mark(run, of),
            environment: self.options.environment.clone(),
            tool_timeout: Duration::from_millis(timeout),
            // The skills of a repository are those of its working trees.
            skills: (self.options.skills)(&child.place.folder),
            schema,
            secrets: model.secrets.clone(),
            outputs,
        };
        Ok(NativeChild {
            store: Arc::clone(&self.store),
            run: run.to_owned(),
            of: of.clone(),
            epoch,
            model,
            toolbox,
            limits: child.limits.clone(),
            log: AttemptLog::open(&self.options.places.log(run, of)),
            stop,
            inbox,
            news: self.news.clone(),
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
        let (node, n) = (node.clone(), 0);
        let of = Attempt { node, n };
        let verifying = Verifying {
            keeper: &self.options.keeper,
            environment: &self.options.environment,
            mark: mark(run, &of),
            folder: self.work_folder(&loaded, &of, child),
            temporary: self.options.places.of_run(run).join("verify"),
            stop,
        };
        verifying.run(contract).await
    }

    fn worktree(&self, run: &LoadedRun, node: &NodeId) -> Option<ChildWorktree> {
        let git = Git::new(self.options.environment.clone());
        ChildWorktree::of(git, &self.options.places, run, node)
    }

    /// Where a child works.
    fn work_folder(&self, run: &LoadedRun, of: &Attempt, child: &Child) -> PathBuf {
        match self.worktree(run, &of.node) {
            Some(tree) => tree.work_folder(),
            None => child.place.folder.clone(),
        }
    }

    /// Proves that nothing of an attempt is left. One that never ran a command has no processes.
    async fn prove(&self, run: &str, of: &Attempt) -> Proof {
        let ran_commands = self.store.load(run).map_or(true, |loaded| {
            let engine = loaded.plan.child(&of.node).map(|child| child.engine.as_str());
            if engine != Some(NATIVE) {
                return true;
            }
            let mut facts = loaded.events.iter().map(|event| &event.fact);
            facts.any(|fact| matches!(fact, Fact::Called { of: whose, call, .. }
                if whose == of && tools::ToolRow::by_name(&call.tool).is_some_and(|row| row.name == "bash")))
        });
        if !ran_commands {
            return Proof::Ended { scans: 0 };
        }
        let mark = mark(run, of);
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

    /// Records a fact. One that is refused is another's to tell.
    async fn record(&self, run: &str, fact: Fact, artifacts: Vec<Vec<u8>>) {
        let appended = append(&self.store, run, draft(fact, artifacts)).await;
        if appended.is_ok_and(|appended| !appended.step.opened.is_empty()) {
            let _ = self.news.send(run.to_owned());
        }
    }
}

fn draft(fact: Fact, artifacts: Vec<Vec<u8>>) -> Draft {
    Draft {
        fact,
        artifacts,
        at: now(),
    }
}

fn input(message: impl Into<String>) -> Cause {
    let message = message.into();
    Cause::Input { message }
}

/// The effect that drives an attempt.
fn start_of(of: &Attempt) -> EffectId {
    EffectId::new(of, EffectKind::Start, 0)
}

/// The path to an attempt from the root of its tree.
pub(crate) fn mark(run: &str, of: &Attempt) -> String {
    format!("{run}/{of}")
}

fn answered(effect: &EffectId, epoch: u32, outcome: Outcome) -> Fact {
    Fact::Answered {
        effect: effect.clone(),
        epoch,
        outcome,
    }
}

/// How long ago an effect was opened: on the boot clock, or on the wall's after the machine was started anew.
fn passed_since(row: &OpenRow) -> u64 {
    let now = now();
    match now.boot.checked_sub(row.opened_boot) {
        Some(passed) => passed,
        None => now.wall.saturating_sub(row.opened_at),
    }
}
