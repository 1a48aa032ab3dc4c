//! The executors of effects: one function for each command.

use std::sync::Arc;
use std::time::Duration;

use grove_exec::{StopTokens, end_marked, now};
use grove_plan::{Attempt, Command, EvidenceRules, Fact, NodeId, Outcome, Proof, Seen};
use grove_store::{LoadedRun, OutboxRow, StoreError};

use super::driving::StartedAttempt;
use super::{EffectHandles, Shared, answered, mark, start_of};
use crate::attempt_log::AttemptLog;
use crate::controlling::stop_run;
use crate::data_check::DataCheck;
use crate::delivery::Delivering;
use crate::error::with_causes;
use crate::evidence::look;
use crate::inbox::SentMessage;
use crate::item_list::{CollectedItems, ItemList};
use crate::mcp::MCP;
use crate::node_effect::NodeEffect;
use crate::session_file::write_session;
use crate::tools::{ToolRow, require_unlinked};
use crate::verify::Verifying;
use crate::worktree_setup::SettingUp;

/// The time within which the processes of an attempt have to end; later they are reported as left.
const MOST_ENDING: Duration = Duration::from_secs(4);
/// The same time for the runs that a child asked for, which end their own processes first.
const MOST_ENDING_BELOW: Duration = Duration::from_secs(15);

/// The name of the engine that is a task of the supervisor's own.
const NATIVE: &str = "native";

/// The outcome of an effect, with the texts that it names.
pub(crate) struct DoneEffect {
    pub(crate) outcome: Outcome,
    pub(crate) artifacts: Vec<Vec<u8>>,
}

impl From<Outcome> for DoneEffect {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            artifacts: Vec::new(),
        }
    }
}

impl DoneEffect {
    pub(crate) fn with(outcome: Outcome, artifacts: Vec<Vec<u8>>) -> Self {
        Self { outcome, artifacts }
    }

    pub(crate) fn impossible(why: impl Into<String>) -> Self {
        let why = why.into();
        Outcome::Impossible { why }.into()
    }
}

impl Shared {
    pub(super) async fn execute(
        self: Arc<Self>,
        row: OutboxRow,
        epoch: u32,
        handles: EffectHandles,
    ) {
        let OutboxRow { run, effect, .. } = &row;
        let done = match &row.command {
            Command::Start { of, model, .. } => {
                self.write_session(run, of).await;
                let started = StartedAttempt {
                    of,
                    epoch,
                    model,
                    handles,
                };
                let end = self.drive(run, started).await;
                end.map(|end| {
                    let recorded = end.recorded();
                    DoneEffect::with(Outcome::Ended(recorded.ending), recorded.texts)
                })
            }
            Command::Stop { of, now, .. } => {
                self.stop_here(run, of, *now);
                self.stop_below(run, of);
                Some(Outcome::Told.into())
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
                // The child itself records that it read the message; one that ends before does not get it.
                let _ = heard.await;
                None
            }
            Command::Prove { of } => {
                // The driver of the child may have been killed, so the session file is completed before the attempt is over.
                self.write_session(run, of).await;
                Some(Outcome::Proved(self.prove(run, of).await).into())
            }
            Command::MakeWorktree { node, .. } => {
                let made = self.make_worktree(run, node, &row.command, &handles.stop);
                Some(made.await)
            }
            Command::Capture { node } | Command::RemoveWorktree { node, .. } => {
                Some(self.on_worktree(run, node, &row.command).await)
            }
            Command::Expand { node } => Some(self.expand(run, node).await),
            Command::Collect { node } => Some(self.collect(run, node).await),
            Command::Look { node } => Some(self.look_before(run, node).await),
            Command::Verify { node } => self.verify(run, node, &handles.stop).await,
            Command::Deliver => Some(self.deliver(&row, epoch, &handles.stop).await),
            Command::Arm { milliseconds } => {
                let passed = passed_since(&row);
                let left = Duration::from_millis(milliseconds.saturating_sub(passed));
                tokio::select! {
                    () = handles.stop.soft.cancelled() => return,
                    () = tokio::time::sleep(left) => {}
                }
                let timer = effect.clone();
                return self.record(run, Fact::Fired { timer }, Vec::new()).await;
            }
        };
        if let Some(done) = done {
            let fact = answered(effect, epoch, done.outcome);
            self.record(run, fact, done.artifacts).await;
        }
    }

    /// Tells the driver of a child to stop, if it is driven here.
    fn stop_here(&self, run: &str, of: &Attempt, now: bool) {
        let start = super::EffectOfRun::new(run, start_of(of));
        if let Some(running) = self.running().get(&start) {
            running.handles.stop.stop(now);
        }
    }

    /// The effect on a node, with what its executor needs.
    pub(super) fn on_node<'a>(
        &'a self,
        run: &'a LoadedRun,
        node: &'a NodeId,
        stop: &StopTokens,
    ) -> NodeEffect<'a> {
        NodeEffect {
            store: &self.store,
            places: self.places(),
            keeper: &self.keeper,
            environment: &self.commands_environment,
            git: self.git(),
            run,
            node,
            stop: stop.clone(),
        }
    }

    async fn deliver(&self, row: &OutboxRow, epoch: u32, stop: &StopTokens) -> DoneEffect {
        let loaded = match self.store.load(&row.run) {
            Ok(loaded) => loaded,
            Err(error) => return unreadable(&error),
        };
        let delivering = Delivering {
            at: &self.on_node(&loaded, &row.effect.of.node, stop),
            effect: &row.effect,
            epoch,
        };
        delivering.run().await
    }

    /// Brings the file of a child's session up to date with the journal. It is a view: if it cannot be written, that is noted,
    /// and the child works all the same.
    async fn write_session(self: &Arc<Self>, run: &str, of: &Attempt) {
        let (shared, run, of) = (Arc::clone(self), run.to_owned(), of.clone());
        let written = tokio::task::spawn_blocking(move || {
            let places = shared.places();
            let written = match shared.store.load(&run) {
                Ok(loaded) => write_session(&shared.store, places, &loaded, &of.node).map(drop),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = written {
                let why = with_causes(&error);
                let text = format!("the session file is out of date: {why}");
                AttemptLog::open(&places.log(&run, &of)).note(text);
            }
        });
        let _ = written.await;
    }

    /// Does something that waits for other programs with a run, without holding up other tasks.
    async fn on_run(
        self: &Arc<Self>,
        run: &str,
        work: impl FnOnce(&Self, &LoadedRun) -> DoneEffect + Send + 'static,
    ) -> DoneEffect {
        let (shared, run) = (Arc::clone(self), run.to_owned());
        let done = tokio::task::spawn_blocking(move || match shared.store.load(&run) {
            Ok(loaded) => work(&shared, &loaded),
            Err(error) => unreadable(&error),
        });
        let done = done.await;
        done.unwrap_or_else(|error| DoneEffect::impossible(error.to_string()))
    }

    /// Does something with a child's working tree.
    async fn on_worktree(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        command: &Command,
    ) -> DoneEffect {
        let (node, command) = (node.clone(), command.clone());
        let work = move |shared: &Self, loaded: &LoadedRun| {
            let at = shared.on_node(loaded, &node, &StopTokens::default());
            let Some(tree) = at.worktree() else {
                return DoneEffect::impossible(NO_TREE);
            };
            match &command {
                Command::MakeWorktree { patch, begins, .. } => tree.make(patch.as_ref(), begins),
                Command::RemoveWorktree { patch, .. } => tree.remove(patch).into(),
                _ => tree.capture(),
            }
        };
        self.on_run(run, work).await
    }

    /// Makes a working tree and sets it up.
    async fn make_worktree(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        command: &Command,
        stop: &StopTokens,
    ) -> DoneEffect {
        let made = self.on_worktree(run, node, command).await;
        let Outcome::Made { folder, base, .. } = made.outcome else {
            return made;
        };
        let loaded = match self.store.load(run) {
            Ok(loaded) => loaded,
            Err(error) => return unreadable(&error),
        };
        let at = self.on_node(&loaded, node, stop);
        let Some(tree) = at.worktree() else {
            return DoneEffect::impossible(NO_TREE);
        };
        let tree = tree.begun_with(base.as_ref());
        let setting_up = SettingUp {
            at: &at,
            tree: &tree,
        };
        match setting_up.run().await {
            Ok(synthetic) => Outcome::Made {
                folder,
                synthetic,
                base,
            },
            Err(error) => {
                let why = format!(
                    "the working tree could not be set up: {}",
                    with_causes(&error)
                );
                blocking(|| tree.give_up(&why))
            }
        }
        .into()
    }

    /// Finds the items of a list.
    async fn expand(self: &Arc<Self>, run: &str, node: &NodeId) -> DoneEffect {
        let node = node.clone();
        let work = move |shared: &Self, loaded: &LoadedRun| {
            let expanded =
                ItemList::of(&shared.store, loaded, &node).and_then(|list| list.expand());
            expanded.unwrap_or_else(|error| DoneEffect::impossible(error.to_string()))
        };
        self.on_run(run, work).await
    }

    /// Puts the outputs of all items of a list together, and checks them against the schema of the list.
    async fn collect(self: &Arc<Self>, run: &str, node: &NodeId) -> DoneEffect {
        let (shared, id, list) = (Arc::clone(self), run.to_owned(), node.clone());
        let collected = tokio::task::spawn_blocking(move || {
            let loaded = shared.store.load(&id)?;
            ItemList::of(&shared.store, &loaded, &list)?.collect()
        });
        let CollectedItems { done, to_check } = match collected.await {
            Ok(Ok(collected)) => collected,
            Ok(Err(error)) => return DoneEffect::impossible(error.to_string()),
            Err(error) => return DoneEffect::impossible(error.to_string()),
        };
        let Some(to_check) = to_check else {
            return done;
        };
        let of = Attempt::none_at(node);
        let check = DataCheck {
            keeper: &self.keeper,
            mark: &mark(&self.store, run, &of),
            folder: &self.places().outputs(run, &of),
            stop: &StopTokens::default(),
        };
        match check
            .faults(&to_check.schema, &to_check.value)
            .await
            .as_deref()
        {
            Ok([]) => done,
            Ok([fault, ..]) => DoneEffect::impossible(fault.clone()),
            Err(error) => DoneEffect::impossible(error.to_string()),
        }
    }

    /// Runs the commands that show whether a child's work counts.
    async fn verify(&self, run: &str, node: &NodeId, stop: &StopTokens) -> Option<DoneEffect> {
        let loaded = match self.store.load(run) {
            Ok(loaded) => loaded,
            Err(error) => return Some(unreadable(&error)),
        };
        let contract = loaded.plan.child(node).and_then(|it| it.contract.as_ref());
        let Some(contract) = contract else {
            return Some(DoneEffect::impossible("nothing is asked of its work"));
        };
        let at = self.on_node(&loaded, node, stop);
        if let Err(error) = require_unlinked(&at.work_folder()) {
            return Some(DoneEffect::impossible(error.to_string()));
        }
        let (found, trees, facts) = blocking(|| {
            let (found, trees) = (at.report(), at.trees());
            let facts = at.facts(found.report.as_ref(), trees.as_ref());
            (found, trees, facts)
        });
        let verifying = Verifying::of(&at, trees.as_ref());
        let checked = verifying.run(contract, facts.changed.as_deref()).await?;
        let (report, notes) = if contract.wants_report() {
            (found.report, found.notes)
        } else {
            (None, Vec::new())
        };
        let seen = Seen {
            results: checked.results,
            report,
            notes,
            facts,
            rules: EvidenceRules::default(),
        };
        let outcome = Outcome::Checked(Box::new(seen));
        Some(DoneEffect::with(outcome, checked.printed))
    }

    async fn look_before(self: &Arc<Self>, run: &str, node: &NodeId) -> DoneEffect {
        let node = node.clone();
        let work = move |shared: &Self, loaded: &LoadedRun| {
            let at = shared.on_node(loaded, &node, &StopTokens::default());
            let folder = at.child().map(|child| &child.place.folder);
            let folder = folder.filter(|folder| require_unlinked(folder).is_ok());
            let before = folder.map(|folder| look(&at.git, folder, &at.temporary("look")));
            Outcome::Looked(before.unwrap_or_default()).into()
        };
        self.on_run(run, work).await
    }

    /// Tells the runs that a child asked for to stop, and returns their ids.
    fn stop_below(&self, run: &str, of: &Attempt) -> Vec<String> {
        let below = self.store.open_below(run, of).unwrap_or_default();
        for nested in &below {
            stop_run(&self.store, nested, &format!("the run above it, {run}"));
            let _ = self.news.send(nested.clone());
        }
        below
    }

    /// Ends the runs that a child asked for: those that it did not wait for end with it. A child that goes on after a crash
    /// keeps them. Returns false if one did not end in time.
    pub(super) async fn end_below(&self, run: &str, of: &Attempt) -> bool {
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

    /// Proves that no process of an attempt is left. An attempt that never ran a command has no processes.
    async fn prove(&self, run: &str, of: &Attempt) -> Proof {
        if !self.end_below(run, of).await {
            let why = "a run that it asked for did not end".to_owned();
            return Proof::NotProven { why };
        }
        let ran_commands = self.store.load(run).map_or(true, |loaded| {
            let child = loaded.plan.child(&of.node);
            let engine = child.map(|child| child.engine.as_str());
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
                why: "the search for processes failed".to_owned(),
            },
        }
    }
}

/// The reason why nothing can be done with a working tree.
const NO_TREE: &str = "the plan has no such working tree";

fn unreadable(error: &StoreError) -> DoneEffect {
    DoneEffect::impossible(format!("the run cannot be read: {}", with_causes(error)))
}

/// Runs work that waits for other programs, without holding up other tasks if the runtime has several threads.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::current().runtime_flavor() {
        tokio::runtime::RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Returns the milliseconds since an effect was opened: by the boot clock, or by the wall clock after a restart.
fn passed_since(row: &OutboxRow) -> u64 {
    let now = now();
    match now.boot.checked_sub(row.opened_boot) {
        Some(passed) => passed,
        None => now.wall.saturating_sub(row.opened_at),
    }
}
