//! The executors of effects: one function for each command.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use grove_exec::{Git, StopTokens, end_marked, now};
use grove_plan::{
    Attempt, Child, Command, EvidenceRules, Fact, NodeId, Outcome, Proof, Seen, TreeBefore,
};
use grove_store::{LoadedRun, OutboxRow};

use super::{Shared, answered, mark, start_of};
use crate::attempt_log::{AttemptLog, LogLine};
use crate::data_check::DataCheck;
use crate::delegation::stop_run;
use crate::delivery::Delivering;
use crate::evidence::{Work, look};
use crate::item_list::{CollectedItems, ItemList};
use crate::mcp::MCP;
use crate::native::{Inbox, SentMessage};
use crate::session_file::write_session;
use crate::tools::ToolRow;
use crate::verify::Verifying;
use crate::worktree_setup::SettingUp;
use crate::worktrees::ChildWorktree;

/// The time within which the processes of an attempt have to end; later they are reported as left.
const MOST_ENDING: Duration = Duration::from_secs(4);
/// The same time for the runs that a child asked for, which end their own processes first.
const MOST_ENDING_BELOW: Duration = Duration::from_secs(15);

/// The name of the engine that is a task of the supervisor's own.
const NATIVE: &str = "native";

impl Shared {
    pub(super) async fn execute(
        self: Arc<Self>,
        row: OutboxRow,
        epoch: u32,
        (stop, inbox): (StopTokens, Inbox),
    ) {
        let OutboxRow { run, effect, .. } = &row;
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
                    running.stop.stop(*now);
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
                // The child itself records that it read the message; one that ends before does not get it.
                let _ = heard.await;
                return;
            }
            Command::Prove { of } => {
                // The driver of the child may have been killed, so the session file is completed before the attempt is over.
                self.write_session(run, of).await;
                let proof = self.prove(run, of).await;
                answered(effect, epoch, Outcome::Proved(proof))
            }
            Command::MakeWorktree { node, .. } => {
                let made = self.make_worktree(run, node, &row.command, &stop).await;
                let (outcome, artifacts) = made;
                self.record(run, answered(effect, epoch, outcome), artifacts)
                    .await;
                return;
            }
            Command::Capture { node } | Command::RemoveWorktree { node, .. } => {
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
            Command::Deliver => {
                let delivering = Delivering {
                    store: &self.store,
                    run,
                    effect,
                    epoch,
                    keeper: &self.options.keeper,
                    environment: &self.options.environment,
                    mark: mark(&self.store, run, &effect.of),
                    temporary: self.options.places.of_run(run).join("on-complete"),
                    stop: &stop,
                };
                let (delivered, printed) = delivering.run().await;
                let outcome = Outcome::Delivered(delivered);
                self.record(run, answered(effect, epoch, outcome), vec![printed])
                    .await;
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

    /// Brings the file of a child's session up to date with the journal. It is a view: if it cannot be written, that is noted,
    /// and the child works all the same.
    async fn write_session(self: &Arc<Self>, run: &str, of: &Attempt) {
        let (shared, run, of) = (Arc::clone(self), run.to_owned(), of.clone());
        let written = tokio::task::spawn_blocking(move || {
            let places = &shared.options.places;
            let loaded = shared.store.load(&run).map_err(|error| error.to_string());
            let written =
                loaded.and_then(|loaded| write_session(&shared.store, places, &loaded, &of.node));
            if let Err(why) = written {
                let text = format!("the session file is out of date: {why}");
                AttemptLog::open(&places.log(&run, &of)).write(&LogLine::Note { text });
            }
        });
        let _ = written.await;
    }

    /// Does something with a child's working tree, without holding up other tasks.
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
                Command::MakeWorktree { patch, begins, .. } => {
                    tree.make(&shared.store, &loaded, patch.as_ref(), begins)
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

    /// Makes a working tree and sets it up.
    async fn make_worktree(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        command: &Command,
        stop: &StopTokens,
    ) -> (Outcome, Vec<Vec<u8>>) {
        let (made, artifacts) = self.on_worktree(run, node, command).await;
        let Outcome::Made { folder, base, .. } = made else {
            return (made, artifacts);
        };
        let impossible = |why: &str| {
            let why = why.to_owned();
            (Outcome::Impossible { why }, Vec::new())
        };
        let Ok(loaded) = self.store.load(run) else {
            return impossible("the run cannot be read");
        };
        let Some(tree) = self.worktree(&loaded, node) else {
            return impossible("the plan has no such working tree");
        };
        let tree = tree.begun_with(base.as_ref());
        let of = Attempt {
            node: node.clone(),
            n: 0,
        };
        let setting_up = SettingUp {
            tree: &tree,
            run: &loaded,
            node,
            store: &self.store,
            keeper: &self.options.keeper,
            environment: &self.options.environment,
            mark: mark(&self.store, run, &of),
            temporary: self
                .options
                .places
                .of_run(run)
                .join("setup")
                .join(crate::worktrees::file_name(node)),
            stop,
        };
        let outcome = match setting_up.run().await {
            Ok(synthetic) => Outcome::Made {
                folder,
                synthetic,
                base,
            },
            Err(why) => {
                let why = format!("the working tree could not be set up: {why}");
                blocking(|| tree.give_up(&why))
            }
        };
        (outcome, Vec::new())
    }

    /// Finds the items of a list, or puts the outputs of all items together.
    async fn on_list(
        self: &Arc<Self>,
        run: &str,
        node: &NodeId,
        is_expansion: bool,
    ) -> (Outcome, Vec<Vec<u8>>) {
        let (shared, id, list) = (Arc::clone(self), run.to_owned(), node.clone());
        let done = tokio::task::spawn_blocking(move || {
            let loaded = shared.store.load(&id).map_err(|error| error.to_string())?;
            let list = ItemList::of(&shared.store, &loaded, &list)?;
            if is_expansion {
                let (outcome, artifacts) = list.expand()?;
                Ok(CollectedItems {
                    outcome,
                    artifacts,
                    to_check: None,
                })
            } else {
                list.collect()
            }
        });
        let impossible = |why: String| (Outcome::Impossible { why }, Vec::new());
        let done = done.await.map_err(|error| error.to_string());
        let done = match done.and_then(|done| done) {
            Ok(done) => done,
            Err(why) => return impossible(why),
        };
        let Some((schema, value)) = done.to_check else {
            return (done.outcome, done.artifacts);
        };
        let of = Attempt {
            node: node.clone(),
            n: 0,
        };
        let check = DataCheck {
            keeper: &self.options.keeper,
            mark: &mark(&self.store, run, &of),
            folder: &self.options.places.outputs(run, &of),
            stop: &StopTokens::default(),
        };
        match check.faults(&schema, &value).await.as_deref() {
            Ok([]) => (done.outcome, done.artifacts),
            Ok([fault, ..]) => impossible(fault.clone()),
            Err(error) => impossible(error.to_string()),
        }
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
            was_seen: work.was_seen(),
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
            rules: EvidenceRules::default(),
        };
        Some((Outcome::Checked(Box::new(seen)), texts))
    }

    /// Returns the files of a child before it begins.
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

    pub(super) fn worktree(&self, run: &LoadedRun, node: &NodeId) -> Option<ChildWorktree> {
        let git = Git::new(self.options.environment.clone());
        ChildWorktree::of(git, &self.options.places, run, node)
    }

    /// Returns the folder that a child works in.
    pub(super) fn work_folder(&self, run: &LoadedRun, of: &Attempt, child: &Child) -> PathBuf {
        // A reviewer works in the folder of the work that it reviews.
        let reviews = run.plan.reviews(&of.node);
        match self.worktree(run, reviews.as_ref().unwrap_or(&of.node)) {
            Some(tree) => tree.work_folder(),
            None => child.place.folder.clone(),
        }
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
                why: "the search for processes failed".to_owned(),
            },
        }
    }
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
