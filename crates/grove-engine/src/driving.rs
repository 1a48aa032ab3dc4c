//! One shape for everything that drives a child: the built-in loop, agent programs, and whatever comes.

use std::pin::Pin;
use std::sync::Arc;

use grove_exec::{StopTokens, now};
use grove_plan::{
    Attempt, Call, CallId, CallOutcome, Child, Fact, FoundFile, Turn, Usage, Variables, compose,
};
use grove_store::{Appended, LoadedRun, NewEvent, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::AttemptLog;
use crate::child_end::{AnswerFile, ChildEnd};
use crate::inbox::Inbox;
use crate::supervisor::blocking;
use crate::told::{self, Told};
use crate::tools::Toolbox;

/// Drives a child from its start to its end.
///
/// A driver is made for one attempt, with what only its kind of engine needs: a model, a program's file, the address of a
/// worker. Everything that all of them need is in [`DrivenChild`]. A driver of another kind, such as one for children on
/// another machine, has to see to this:
///
/// - **Facts come first.** Every answer of a model (`turned`), every call before it runs (`called`) and after
///   (`returned`), and tokens that brought no answer (`wasted`) are recorded before anything follows from them, with the
///   epoch of the attempt. Facts that happened elsewhere are recorded in their order as they arrive. A fact that the
///   journal refuses means that another process has the attempt: the driver ends what it began and returns [`NotOurs`].
/// - **What is recorded decides.** [`DrivenChild::record`] tells the child to stop when a limit was reached, here or in a
///   run above. The driver makes no request after that, and passes `stop` on: `soft` asks the child to end, `now` ends it.
/// - **The child is told `told`, byte for byte,** and may do what `toolbox` allows and nothing else. Tools of Grove's own
///   are called through the toolbox, wherever the child runs, so that powers, masks and recordings are the same.
/// - **Messages** that come while it works are in `inbox`. A driver that cannot pass them on leaves them there.
/// - **An attempt may have begun before.** With an epoch above one a driver before this one was lost. The driver goes on
///   from the facts in `run` without repeating what may have had an effect, or ends with `Finish::Interrupted`.
/// - **The end says what is known**: the last words, the data, the question, the cause. What it means is decided by
///   `grove_plan`, and that nothing is left running is proved by another effect.
pub(crate) trait Driver: Send + Sync {
    /// Drives the child to its end.
    fn drive<'a>(&'a self, driven: &'a Arc<DrivenChild>) -> Driving<'a>;
}

/// The work of a driver.
pub(crate) type Driving<'a> = Pin<Box<dyn Future<Output = Result<ChildEnd, NotOurs>> + Send + 'a>>;

/// The reason to stop driving a child: another process has it, or the journal is gone, so that no more facts about it count.
#[derive(Debug)]
pub(crate) struct NotOurs;

impl From<StoreError> for NotOurs {
    fn from(_: StoreError) -> Self {
        Self
    }
}

pub(crate) struct DrivenChild {
    pub(crate) store: Arc<Store>,
    /// The run as it was when the driver began.
    pub(crate) run: LoadedRun,
    pub(crate) of: Attempt,
    pub(crate) epoch: u32,
    pub(crate) child: Child,
    pub(crate) told: Told,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) log: Arc<AttemptLog>,
    pub(crate) stop: StopTokens,
    pub(crate) inbox: Inbox,
    /// Receives the id of a run for which something else is to be done.
    pub(crate) news: UnboundedSender<String>,
}

impl DrivenChild {
    /// Records a fact without holding up the runtime, and heeds what follows from it.
    pub(crate) async fn record(
        &self,
        fact: Fact,
        artifacts: Vec<Vec<u8>>,
    ) -> Result<Appended, NotOurs> {
        let appended = append(&self.store, &self.run.id, draft(fact, artifacts)).await?;
        self.heed(&appended);
        Ok(appended)
    }

    /// The same without waiting. Facts come into the journal in the order in which they are given to it; of one that is
    /// refused, the end of the child tells.
    pub(crate) fn record_in_order(self: &Arc<Self>, fact: Fact, artifacts: Vec<Vec<u8>>) {
        let driven = Arc::clone(self);
        let done = move |appended: Result<Appended, StoreError>| {
            if let Ok(appended) = appended {
                driven.heed(&appended);
            }
        };
        let draft = draft(fact, artifacts);
        let _ = self.store.append_then(&self.run.id, draft, done);
    }

    /// The same for a caller that has to have it done and cannot wait.
    pub(crate) fn record_now(&self, fact: Fact) {
        match blocking(|| self.store.append(&self.run.id, draft(fact, Vec::new()))) {
            Ok(appended) => self.heed(&appended),
            // Another process drives this child, or none does.
            Err(_) => self.stop.stop(true),
        }
    }

    /// Stops the child before its next request when a limit was reached, by this child or by another.
    fn heed(&self, appended: &Appended) {
        if appended.is_stopping {
            self.stop.stop(false);
        }
        for other in &appended.others {
            let _ = self.news.send(other.clone());
        }
        if !appended.step.opened.is_empty() {
            let _ = self.news.send(self.run.id.clone());
        }
        let unheard = appended.unheard.iter().filter(|of| **of == self.of);
        self.inbox.expect(unheard.count());
    }

    pub(crate) fn turned(&self, turn: Turn) -> Fact {
        let (of, epoch) = (self.of.clone(), self.epoch);
        Fact::Turned { of, epoch, turn }
    }

    pub(crate) fn wasted(&self, usage: Usage) -> Fact {
        let (of, epoch) = (self.of.clone(), self.epoch);
        Fact::Wasted { of, epoch, usage }
    }

    pub(crate) fn called(&self, call: Call) -> Fact {
        let (of, epoch) = (self.of.clone(), self.epoch);
        Fact::Called { of, epoch, call }
    }

    pub(crate) fn returned(&self, call: CallId, outcome: CallOutcome) -> Fact {
        Fact::Returned {
            of: self.of.clone(),
            epoch: self.epoch,
            call,
            outcome,
        }
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.log.note(text);
    }

    /// Drives the child, and completes its end: takes its data, and sees to it that its answer is in its file.
    pub(crate) async fn drive_with(
        self: &Arc<Self>,
        driver: &dyn Driver,
        chain_dir: &str,
    ) -> Result<ChildEnd, NotOurs> {
        let place = self.answer_place(chain_dir).await?;
        let mut end = driver.drive(self).await?;
        end.take_data(&self.toolbox, &self.stop).await;
        if let Some(place) = place {
            self.save_answer(&mut end, place);
        }
        Ok(end)
    }

    /// Returns the file that the child's answer is written to, with its state before the child began, which is recorded
    /// first.
    async fn answer_place(&self, chain_dir: &str) -> Result<Option<AnswerPlace>, NotOurs> {
        let Some(output) = &self.child.output else {
            return Ok(None);
        };
        let variables = Variables {
            chain_dir: chain_dir.to_owned(),
            item: told::item_of(&self.store, &self.run, &self.of.node),
            ..Variables::default()
        };
        let path = compose(output, &variables);
        let tries = self.run.state.nodes.get(&self.of.node);
        let first = tries.and_then(|node| node.attempts.first());
        let before = first.and_then(|first| first.found.clone());
        // A child that goes on after a crash may have written the file already.
        if before.is_some() || self.of.n > 1 || self.epoch > 1 {
            let before = before.unwrap_or(FoundFile::Absent);
            return Ok(Some(AnswerPlace { path, before }));
        }
        // The same error comes again, and is reported, when the answer is to be written.
        let before = blocking(|| self.toolbox.work.found(&path)).unwrap_or(FoundFile::Absent);
        let fact = Fact::Found {
            of: self.of.clone(),
            epoch: self.epoch,
            file: before.clone(),
        };
        self.record(fact, Vec::new()).await?;
        Ok(Some(AnswerPlace { path, before }))
    }

    fn save_answer(&self, end: &mut ChildEnd, place: AnswerPlace) {
        let AnswerPlace { path, before } = place;
        let node = self.run.state.nodes.get(&self.of.node);
        let tries = node.map_or(&[][..], |node| &node.attempts);
        let earlier = tries.iter().filter_map(|attempt| attempt.output()?.text);
        // A file in a working tree of its own will soon be in a patch alone.
        let shown = match self.child.place.worktree {
            Some(_) => path.clone(),
            None => self.toolbox.work.path().join(&path).display().to_string(),
        };
        let file = AnswerFile {
            path: &path,
            shown,
            before,
            earlier: earlier.collect(),
        };
        end.save(&file, &self.toolbox);
    }
}

/// The file that a child's answer is written to.
struct AnswerPlace {
    path: String,
    before: FoundFile,
}

/// Returns a fact as it is recorded now.
pub(crate) fn draft(fact: Fact, artifacts: Vec<Vec<u8>>) -> NewEvent {
    NewEvent {
        fact,
        artifacts,
        at: now(),
    }
}

/// Records a fact without holding up the runtime.
pub(crate) async fn append(
    store: &Store,
    run: &str,
    draft: NewEvent,
) -> Result<Appended, StoreError> {
    let (done, waiting) = tokio::sync::oneshot::channel();
    store.append_then(run, draft, move |result| {
        let _ = done.send(result);
    })?;
    waiting.await.map_err(|_| StoreError::Closed)?
}

/// A value in an event, or the artifact beside it if the value is long.
pub(crate) struct StoredBody {
    pub(crate) body: grove_plan::Body,
    pub(crate) artifacts: Vec<Vec<u8>>,
}

impl StoredBody {
    /// A longer value becomes an artifact of its own.
    const MOST_INLINE: usize = 32 << 10;

    pub(crate) fn of(value: Value) -> Self {
        let bytes = serde_json::to_vec(&value).unwrap_or_default();
        if bytes.len() <= Self::MOST_INLINE {
            let body = grove_plan::Body::Inline(value);
            let artifacts = Vec::new();
            return Self { body, artifacts };
        }
        Self {
            body: grove_plan::Body::Artifact(grove_spec::Digest::of(&bytes)),
            artifacts: vec![bytes],
        }
    }
}

/// A call's outcome as it is recorded, with the artifact of a long result.
pub(crate) struct StoredOutcome {
    pub(crate) outcome: CallOutcome,
    pub(crate) artifacts: Vec<Vec<u8>>,
}

impl StoredOutcome {
    pub(crate) fn of(text: String, is_error: bool, goes_on: bool) -> Self {
        let StoredBody { body, artifacts } = StoredBody::of(Value::String(text));
        Self {
            outcome: CallOutcome {
                content: body,
                is_error,
                goes_on,
            },
            artifacts,
        }
    }
}
