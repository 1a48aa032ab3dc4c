//! Executes the commands of runs: one process for several runs, started when needed, gone when nothing is left to do. This
//! file decides who takes which effect; `executors` does each of them.

mod driving;
mod executors;

pub(crate) use executors::{DoneEffect, blocking};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use grove_exec::{Git, KEEPER, Keeper, Liveness, ProcessIdentity, StopTokens, now};
use grove_fs::lock::Lock;
use grove_model::AskSettings;
use grove_plan::{Attempt, EffectId, EffectKind, Fact, Holder, Outcome};
use grove_skills::Environment;
use grove_store::{OutboxRow, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::driving::{append, draft};
use crate::engine::Engine;
use crate::inbox::Inbox;
use crate::journal::RunJournal;
use crate::ledger_key::JournalError;
use crate::mcp::McpServer;
use crate::model_settings::ModelSettings;
use crate::models::Models;
use crate::places::RunPlaces;
use crate::recovery;
use crate::repository_guards::RepositoryGuards;
use crate::supervising::passed_on;
use crate::waking::WakeSocket;

/// The time between two looks at all runs that no message asked for.
const TICK: Duration = Duration::from_millis(500);
/// The time after which a run whose own supervisor has not come may be taken by another one that is asked for it.
const ADOPTED_AFTER_MS: u64 = 10_000;

/// The reasons why there is no supervisor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SupervisorError {
    #[error("a supervisor with this environment is already running")]
    Another,
    #[error("the state folder of runs cannot be used")]
    Folder(#[from] grove_fs::FsError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the supervisor cannot listen")]
    Socket(#[source] std::io::Error),
    #[error("the supervisor cannot start commands")]
    Keeper(#[from] grove_exec::ExecError),
}

/// A supervisor that is ready to run.
pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    socket: WakeSocket,
    news: UnboundedReceiver<String>,
    /// The time that it stays when there is nothing to do.
    idle: Duration,
    /// Held as long as it lives, so that there is one supervisor for each surroundings.
    _lock: Lock,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct EffectOfRun {
    run: String,
    effect: EffectId,
}

impl EffectOfRun {
    fn of(row: &OutboxRow) -> Self {
        Self::new(&row.run, row.effect.clone())
    }

    fn new(run: &str, effect: EffectId) -> Self {
        let run = run.to_owned();
        Self { run, effect }
    }
}

/// The handles by which an effect that is under way is reached.
#[derive(Clone, Default)]
struct EffectHandles {
    stop: StopTokens,
    inbox: Inbox,
}

/// An effect that is under way.
struct RunningEffect {
    handles: EffectHandles,
    /// True once its lease is recorded, so that it is this process's to do.
    is_leased: bool,
    /// The task, which is aborted when the supervisor leaves.
    task: Option<AbortHandle>,
}

/// The state that all tasks of a supervisor share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<Store>,
    places: RunPlaces,
    pub(crate) owner: Holder,
    surroundings: String,
    models: Models,
    /// The servers of `mcp:` tools.
    mcp: Vec<McpServer>,
    keeper: Keeper,
    commands_environment: Vec<(String, String)>,
    /// True if children's commands run in a sandbox.
    is_sandboxed: bool,
    /// The effects that are under way here.
    running: Mutex<HashMap<EffectOfRun, RunningEffect>>,
    /// The repositories in which children run commands.
    guards: RepositoryGuards,
    news: UnboundedSender<String>,
}

impl Supervisor {
    /// Makes this process the supervisor of an environment. Must be called within a runtime.
    pub(crate) fn open(environment: &Environment, idle: Duration) -> Result<Self, SupervisorError> {
        let settings = ModelSettings::find(environment);
        let surroundings = settings.surroundings();
        let places = RunPlaces::in_state(&environment.state);
        grove_fs::files::make_closed_folder(places.folder())?;
        // Paths of its own have no links, so that one in the place of a child's folder is noticed.
        let places = RunPlaces::in_state(&grove_fs::files::canonical(places.folder())?);
        let lock = Lock::take(&places.supervisor(&surroundings), Duration::ZERO);
        let lock = lock.map_err(|_| SupervisorError::Another)?;
        let store = Arc::new(places.open_journal()?);
        let socket = WakeSocket::bind(&places, &surroundings);
        let socket = socket.map_err(SupervisorError::Socket)?;
        let keeper = Keeper::this_program(KEEPER)?;
        let (sender, news) = unbounded_channel();
        let journal = RunJournal::of_supervisor(environment, Arc::clone(&store), sender.clone());
        let shared = Shared {
            engine: Arc::new(Engine::over(journal)),
            store,
            places,
            owner: ProcessIdentity::this_process().0,
            surroundings,
            is_sandboxed: settings.is_sandboxed,
            mcp: settings.mcp,
            models: Models::new(
                settings.configured,
                settings.variables,
                AskSettings::default(),
                keeper.clone(),
            ),
            keeper,
            commands_environment: passed_on(environment),
            running: Mutex::default(),
            guards: RepositoryGuards::default(),
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

    /// Makes its socket anew if it was removed: without it the supervisor cannot be woken, and no other can take its place.
    fn listen_again(&mut self) {
        if self.socket.is_there() {
            return;
        }
        // Until that succeeds, effects are found by looking round.
        if let Ok(socket) = WakeSocket::bind(&self.shared.places, &self.shared.surroundings) {
            self.socket = socket;
        }
    }

    /// Executes the commands of runs until there is nothing to do for a while, or until `until` is cancelled.
    pub(crate) async fn run(mut self, until: CancellationToken) {
        let mut last_work = Instant::now();
        let mut tick = tokio::time::interval(TICK);
        let journal = self.shared.places.journal();
        loop {
            tokio::select! {
                () = until.cancelled() => break,
                _ = tick.tick() => {
                    // A person who removed the journal wants none of its runs any more, and nothing could be recorded.
                    if !grove_fs::files::is_there(&journal) {
                        break;
                    }
                    self.listen_again();
                    self.shared.look_round().await;
                }
                run = self.socket.next() => self.shared.look_at(&run, true),
                Some(run) = self.news.recv() => self.shared.look_at(&run, false),
            }
            if !self.shared.running().is_empty() {
                last_work = Instant::now();
            }
            if last_work.elapsed() >= self.idle {
                break;
            }
        }
        self.socket.remove();
        // The next supervisor drives these children on, from their journals.
        for effect in self.shared.running().values() {
            if let Some(task) = &effect.task {
                task.abort();
            }
        }
    }
}

impl Shared {
    fn places(&self) -> &RunPlaces {
        &self.places
    }

    /// The git program with the environment of children's commands.
    fn git(&self) -> Git {
        Git::new(self.commands_environment.clone())
    }

    fn running(&self) -> MutexGuard<'_, HashMap<EffectOfRun, RunningEffect>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_running(&self, run: &str, effect: &EffectId) -> bool {
        let key = EffectOfRun::new(run, effect.clone());
        self.running().contains_key(&key)
    }

    /// Looks for effects whose owners are dead, and for effects that no message announced.
    async fn look_round(self: &Arc<Self>) {
        let Ok(rows) = self.store.outbox() else {
            return;
        };
        for row in &rows {
            if let Some(gone) = recovery::gone(self, row) {
                self.record(&row.run, gone, Vec::new()).await;
            }
        }
        // Rows of one run stand together. An effect that was just recorded as gone is looked at when its news comes.
        for of_run in rows.chunk_by(|a, b| a.run == b.run) {
            self.take_free(of_run, false);
        }
    }

    /// Takes all free effects of a run.
    fn look_at(self: &Arc<Self>, run: &str, asked: bool) {
        // A message that names no run only asks for a look round, which is done anyway.
        let Ok(rows) = self.store.outbox_of(run) else {
            return;
        };
        self.forget_what_is_closed(run, &rows);
        self.stop_setting_up(run);
        self.take_free(&rows, asked);
    }

    /// Stops the set-up of working trees that no child is to work in any more.
    fn stop_setting_up(&self, run: &str) {
        let is_made = |of: &&EffectOfRun| of.run == run && of.effect.kind == EffectKind::Make;
        let made: Vec<EffectOfRun> = self.running().keys().filter(is_made).cloned().collect();
        if made.is_empty() {
            return;
        }
        let Ok(loaded) = self.store.load(run) else {
            return;
        };
        for key in made {
            let node = loaded.state.nodes.get(&key.effect.of.node);
            let is_wanted = node.is_none_or(|node| node.next.is_some());
            if let Some(running) = self.running().get(&key).filter(|_| !is_wanted) {
                running.handles.stop.stop(false);
            }
        }
    }

    /// Takes the free effects of one run. `asked` is true if this very run was asked for.
    fn take_free(self: &Arc<Self>, rows: &[OutboxRow], asked: bool) {
        // A child is taken before the messages that are sent to it.
        let (sends, others): (Vec<_>, Vec<_>) = rows
            .iter()
            .partition(|row| row.effect.kind == EffectKind::Send);
        for row in others.into_iter().chain(sends) {
            let is_free = row.holder.is_none() && !self.is_running(&row.run, &row.effect);
            let may_take = match row.effect.kind {
                EffectKind::Start => self.may_drive(row, asked),
                EffectKind::Stop => self.may_stop(row, rows),
                // Only the process that drives a child can give it a message.
                EffectKind::Send => self.inbox_of(&row.run, &row.effect.of).is_some(),
                EffectKind::Prove
                | EffectKind::Timer
                | EffectKind::Make
                | EffectKind::Capture
                | EffectKind::Remove
                | EffectKind::Look
                | EffectKind::Verify
                | EffectKind::Expand
                | EffectKind::Collect
                | EffectKind::Deliver => true,
            };
            if is_free && may_take {
                self.take(row.clone());
            }
        }
    }

    /// Returns true if this process may stop a child: it drives the child, or no living process does.
    fn may_stop(&self, stop: &OutboxRow, rows: &[OutboxRow]) -> bool {
        let start = start_of(&stop.effect.of);
        let start = rows.iter().find(|row| row.effect == start);
        let holder = start.and_then(|start| start.holder.clone());
        holder.is_none_or(|holder| {
            holder == self.owner || ProcessIdentity(holder).liveness() == Liveness::Gone
        })
    }

    fn forget_what_is_closed(&self, run: &str, rows: &[OutboxRow]) {
        let is_open = |effect: &EffectId| rows.iter().any(|row| row.effect == *effect);
        self.running().retain(|of, running| {
            let may_be_left = matches!(of.effect.kind, EffectKind::Timer | EffectKind::Verify);
            let is_over = of.run == run && may_be_left && !is_open(&of.effect);
            if is_over {
                running.handles.stop.stop(true);
            }
            !is_over
        });
    }

    /// Returns true if this supervisor may drive a run. One with other surroundings is left to a supervisor that has them; but
    /// if it is asked for here and no other one came in time, it is driven with what there is. A run whose surroundings are
    /// not known is taken, so that it ends with the reason.
    fn may_drive(&self, row: &OutboxRow, asked: bool) -> bool {
        let is_late = row.epoch > 0 || now().wall.saturating_sub(row.opened_at) > ADOPTED_AFTER_MS;
        let wanted = row.surroundings.as_ref();
        (asked && is_late) || wanted.is_none_or(|wanted| *wanted == self.surroundings)
    }

    /// Takes an effect in a task of its own. Its lease is not waited for, so that leases of many runs are written together.
    fn take(self: &Arc<Self>, row: OutboxRow) {
        let handles = EffectHandles::default();
        let key = EffectOfRun::of(&row);
        let running = RunningEffect {
            handles: handles.clone(),
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
                let EffectOfRun { run, effect } = key.clone();
                // A task that panics fails one attempt and not the others: its effect has lost its holder.
                let done = tokio::spawn(async move { inner.execute(row, epoch, handles).await });
                let done = AbortOnDropHandle::new(done).await;
                if done.is_err() && effect.kind != EffectKind::Timer {
                    let why = "its task failed".to_owned();
                    let gone = Fact::Gone { effect, epoch, why };
                    shared.record(&run, gone, Vec::new()).await;
                }
            }
            shared.running().remove(&key);
            let _ = shared.news.send(key.run);
        });
        if let Some(running) = self.running().get_mut(&of_task) {
            running.task = Some(task.abort_handle());
        }
    }

    /// Takes note that the lease of an effect is recorded.
    fn leased(&self, of: &EffectOfRun, epoch: u32) {
        if let Some(running) = self.running().get_mut(of) {
            running.is_leased = true;
        }
        // Messages that were sent to a child before it was driven here were left alone until now.
        let is_later = epoch > 1 || of.effect.of.n > 1;
        if of.effect.kind == EffectKind::Start && is_later {
            let _ = self.news.send(of.run.clone());
        }
    }

    /// Returns the inbox of a child that is driven here.
    fn inbox_of(&self, run: &str, of: &Attempt) -> Option<Inbox> {
        let running = self.running();
        let start = running.get(&EffectOfRun::new(run, start_of(of)));
        let start = start.filter(|start| start.is_leased);
        start.map(|start| start.handles.inbox.clone())
    }

    /// Makes this process the holder of an effect, and returns the epoch; none if another process was first, or the effect is
    /// not open any more. A timer has no holder.
    async fn lease(&self, row: &OutboxRow) -> Option<u32> {
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

    /// Records a fact. If the journal refuses it, the effect belongs to another process or is closed.
    async fn record(&self, run: &str, fact: Fact, artifacts: Vec<Vec<u8>>) {
        let appended = append(&self.store, run, draft(fact, artifacts)).await;
        let Ok(appended) = appended else {
            return;
        };
        if !appended.step.opened.is_empty() {
            let _ = self.news.send(run.to_owned());
        }
        for other in appended.others {
            let _ = self.news.send(other);
        }
    }
}

fn start_of(of: &Attempt) -> EffectId {
    EffectId::new(of, EffectKind::Start, 0)
}

/// Returns the path to an attempt from the root of its tree.
pub(crate) fn mark(store: &Store, run: &str, of: &Attempt) -> String {
    let mut path = format!("{run}/{of}");
    let mut above = store.parent(run).ok().flatten();
    while let Some(parent) = above {
        path = format!("{}/{}/{path}", parent.run, parent.of);
        above = store.parent(&parent.run).ok().flatten();
    }
    path
}

fn answered(effect: &EffectId, epoch: u32, outcome: Outcome) -> Fact {
    Fact::Answered {
        effect: effect.clone(),
        epoch,
        outcome,
    }
}
