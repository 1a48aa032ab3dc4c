//! The one thread that writes. Jobs that arrive during a commit are written together in the next.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use grove_plan::{
    Attempt, EffectId, EffectKind, Event, Fact, Parent, Plan, Refused, State, Step, Times, Usage,
    Wish, advance,
};
use grove_spec::Digest;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::journal::{body_of, chain_hash, chain_start};
use crate::reading;
use crate::signing::{self, SigningKey};
use crate::{NewEvent, Store, StoreError, Submission};

/// The most jobs that are written in one commit, so that no caller waits for ever.
const GROUP: usize = 256;
const KEPT: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The id of the run; for a key that was used before, the id of the earlier run.
    pub run: String,
    pub is_new: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    pub event: Event,
    pub step: Step,
    /// The attempts with messages that they have not heard yet, one entry for each message.
    pub unheard: Vec<Attempt>,
    pub is_over: bool,
    /// Set if the child that reports the event was told to stop, now or before: it makes no further request.
    pub is_stopping: bool,
    /// The runs in which more follows from it: those above, and this one if they stop it.
    pub others: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrunedCounts {
    pub runs: usize,
    /// The number of removed artifacts, to which no other run refers.
    pub artifacts: usize,
}

/// Receives the result of a job, on the writer's thread.
type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

pub(crate) enum WriterJob {
    Submit(Box<Submission>, Reply<Submitted>),
    Append(String, Box<NewEvent>, Reply<Appended>),
    Prune(Vec<String>, Times, Reply<PrunedCounts>),
}

impl Store {
    /// Starts a run; a key that was used before leads to the earlier run.
    pub fn submit(&self, submission: Submission) -> Result<Submitted, StoreError> {
        self.wait(|reply| WriterJob::Submit(Box::new(submission), reply))
    }

    /// Starts a run without waiting: `done` is called on the writer's thread and must not block.
    pub fn submit_then(
        &self,
        submission: Submission,
        done: impl FnOnce(Result<Submitted, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(WriterJob::Submit(Box::new(submission), Box::new(done)))
    }

    /// Records a fact, and returns its consequences once it is durable.
    pub fn append(&self, run: &str, draft: NewEvent) -> Result<Appended, StoreError> {
        self.wait(|reply| WriterJob::Append(run.to_owned(), Box::new(draft), reply))
    }

    /// Records a fact without waiting: `done` is called on the writer's thread and must not block.
    pub fn append_then(
        &self,
        run: &str,
        draft: NewEvent,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(WriterJob::Append(
            run.to_owned(),
            Box::new(draft),
            Box::new(done),
        ))
    }

    /// Removes runs with everything that only they have, and leaves a tombstone for each. Runs that are not over are left
    /// alone.
    pub fn prune(&self, runs: Vec<String>, at: Times) -> Result<PrunedCounts, StoreError> {
        self.wait(|reply| WriterJob::Prune(runs, at, reply))
    }

    fn wait<T: Send + 'static>(
        &self,
        job: impl FnOnce(Reply<T>) -> WriterJob,
    ) -> Result<T, StoreError> {
        let (done, waiting) = sync_channel(1);
        let reply: Reply<T> = Box::new(move |result| {
            let _ = done.send(result);
        });
        self.send(job(reply))?;
        waiting.recv().map_err(|_| StoreError::Closed)?
    }
}

/// Writes jobs until no sender is left.
pub(crate) fn run(connection: Connection, key: Option<SigningKey>, jobs: &Receiver<WriterJob>) {
    let mut writer = JournalWriter {
        connection,
        known: KnownRuns {
            runs: HashMap::new(),
            key,
        },
    };
    while let Ok(first) = jobs.recv() {
        let more = std::iter::from_fn(|| jobs.try_recv().ok());
        let group: Vec<WriterJob> = std::iter::once(first).chain(more).take(GROUP).collect();
        writer.write(group);
    }
}

struct KnownRun {
    plan: Arc<Plan>,
    state: State,
    head: Digest,
    parent: Option<Parent>,
}

/// The data that the writer keeps beside the file.
struct KnownRuns {
    runs: HashMap<String, KnownRun>,
    key: Option<SigningKey>,
}

struct JournalWriter {
    connection: Connection,
    known: KnownRuns,
}

/// A reply that is sent once the group is durable, or with the reason why it could not be written.
type Pending = Box<dyn FnOnce(Option<&StoreError>) + Send>;

impl JournalWriter {
    /// Writes a group in one commit. A refused event does not affect the others of its group; a failed commit fails all.
    fn write(&mut self, group: Vec<WriterJob>) {
        let mut pending: Vec<Pending> = Vec::with_capacity(group.len());
        if self.known.runs.len() > KEPT {
            self.known.runs.clear();
        }
        let known = &mut self.known;
        let behavior = TransactionBehavior::Immediate;
        let result = match self.connection.transaction_with_behavior(behavior) {
            Ok(transaction) => {
                let mut fault = None;
                for job in group {
                    pending.push(do_job(&transaction, known, &mut fault, job));
                }
                // The half-done work of a failed job is undone with the whole group.
                match fault {
                    Some(fault) => Err(StoreError::Group(fault)),
                    None => transaction.commit().map_err(StoreError::from),
                }
            }
            Err(error) => {
                let error = StoreError::from(error);
                pending.extend(group.into_iter().map(refuse));
                Err(error)
            }
        };
        if result.is_err() {
            // The states in memory are ahead of the file.
            self.known.runs.clear();
        }
        let error = result.err();
        for reply in pending {
            reply(error.as_ref());
        }
    }
}

/// Makes a reply for a job that was never started.
fn refuse(job: WriterJob) -> Pending {
    match job {
        WriterJob::Submit(_, reply) => pending(Err(StoreError::Closed), reply),
        WriterJob::Append(_, _, reply) => pending(Err(StoreError::Closed), reply),
        WriterJob::Prune(_, _, reply) => pending(Err(StoreError::Closed), reply),
    }
}

fn pending<T: Send + 'static>(result: Result<T, StoreError>, reply: Reply<T>) -> Pending {
    Box::new(move |failure| {
        reply(match failure {
            Some(failure) => Err(StoreError::Group(with_sources(failure))),
            None => result,
        });
    })
}

fn with_sources(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Does one job; its reply is sent when the group is durable.
fn do_job(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    fault: &mut Option<String>,
    job: WriterJob,
) -> Pending {
    let mut note = |error: Option<&StoreError>| {
        if let Some(error) = error.filter(|error| !error.is_about_the_run()) {
            fault.get_or_insert_with(|| with_sources(error));
        }
    };
    match job {
        WriterJob::Submit(submission, reply) => {
            let result = submit(transaction, known, *submission);
            note(result.as_ref().err());
            pending(result, reply)
        }
        WriterJob::Append(run, draft, reply) => {
            let result = append(transaction, known, &run, *draft);
            note(result.as_ref().err());
            pending(result, reply)
        }
        WriterJob::Prune(runs, at, reply) => {
            let result = prune(transaction, &runs, at);
            note(result.as_ref().err());
            for run in &runs {
                known.runs.remove(run);
            }
            pending(result, reply)
        }
    }
}

fn submit(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    submission: Submission,
) -> Result<Submitted, StoreError> {
    let Submission {
        id,
        plan,
        envelope,
        surroundings,
        title,
        folder,
        owner,
        key,
        parent,
        again,
        artifacts,
        at,
    } = submission;
    let before = key.as_deref().map(|key| {
        let mut found = transaction.prepare_cached("SELECT id FROM runs WHERE submit_key = ?1")?;
        found.query_row([key], |row| row.get(0)).optional()
    });
    if let Some(run) = before.transpose()?.flatten() {
        return Ok(Submitted { run, is_new: false });
    }
    let mut same = transaction.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?;
    if same.exists([&id])? {
        return Err(StoreError::Taken(id));
    }
    drop(same);
    if let Some(parent) = &parent {
        record_above(transaction, known, parent, at, |of| Fact::Delegated {
            of: of.clone(),
            run: id.clone(),
            children: plan.children().count() as u64,
        })?;
    }
    let head = chain_start(&id, &plan);
    transaction
        .prepare_cached(
            "INSERT INTO runs (id, submit_key, title, folder, state, submitted_at, changed_at, seq, head,
                parent, parent_node, parent_try, surroundings, agents)
             VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            id,
            key,
            title,
            folder,
            number(at.wall),
            head.to_string(),
            parent.as_ref().map(|it| &it.run),
            parent.as_ref().map(|it| it.of.node.as_str()),
            parent.as_ref().map(|it| it.of.n),
            surroundings,
            agents_of(&plan),
        ])?;
    transaction
        .prepare_cached("INSERT INTO plans (run, digest, plan, envelope) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            id,
            plan.digest().to_string(),
            to_json(&id, &plan)?,
            envelope,
        ])?;
    let fresh = KnownRun {
        plan: Arc::new(plan),
        state: State::default(),
        head,
        parent: parent.clone(),
    };
    known.runs.insert(id.clone(), fresh);
    let (like, reused) = again.unzip();
    if let Some(like) = like {
        transaction.execute(
            "INSERT OR IGNORE INTO artifact_uses (run, digest) SELECT ?1, digest FROM artifact_uses WHERE run = ?2",
            params![id, like],
        )?;
    }
    let draft = NewEvent {
        fact: Fact::Submitted {
            owner,
            key,
            parent,
            reused: reused.unwrap_or_default(),
        },
        artifacts,
        at,
    };
    append(transaction, known, &id, draft)?;
    Ok(Submitted {
        run: id,
        is_new: true,
    })
}

/// The agents of a plan, each once, a line each.
fn agents_of(plan: &Plan) -> String {
    let mut agents: Vec<&str> = Vec::new();
    for child in plan.children() {
        if !agents.contains(&child.agent.as_str()) {
            agents.push(&child.agent);
        }
    }
    agents.join("\n")
}

/// Records an event, and in the same transaction the usage that it adds to all runs above.
fn append(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    run: &str,
    draft: NewEvent,
) -> Result<Appended, StoreError> {
    if let Fact::Wanted {
        wish: Wish::Resume { .. } | Wish::Answer { .. },
        ..
    } = &draft.fact
    {
        check_left_above(transaction, known, run)?;
    }
    let (mut appended, spent) = append_to(transaction, known, run, draft)?;
    if let Some(spent) = spent.filter(|spent| !spent.usage.is_nothing()) {
        let at = appended.event.at;
        appended.others = add_usage_above(transaction, known, run, &spent, at)?;
    }
    // This comes last, because a run above may have had the child stopped.
    if let Some(of) = appended.event.fact.told_by() {
        let state = known.runs.get(run).map(|current| &current.state);
        let attempt = state.and_then(|state| state.attempt(of));
        appended.is_stopping = attempt.is_some_and(|attempt| attempt.stopping.is_some());
    }
    Ok(appended)
}

/// Refuses to let a run go on if a run above it has nothing left, which the run itself may not know.
fn check_left_above(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    run: &str,
) -> Result<(), StoreError> {
    let mut above = up_to_date(transaction, known, run)?.parent.clone();
    while let Some(Parent { run, of }) = above.take() {
        // A run that was pruned has no limits any more.
        let current = match up_to_date(transaction, known, &run) {
            Err(StoreError::NoRun(_)) => return Ok(()),
            current => current?,
        };
        if let Some(cause) = current.state.nothing_left(&current.plan, &of.node) {
            return Err(Refused::Spent(cause).into());
        }
        above.clone_from(&current.parent);
    }
    Ok(())
}

/// The usage of a run that a child requested.
struct SpentBelow {
    parent: Parent,
    usage: Usage,
    cost: Option<u64>,
}

fn append_to(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    run: &str,
    draft: NewEvent,
) -> Result<(Appended, Option<SpentBelow>), StoreError> {
    let key = known.key.clone();
    let current = up_to_date(transaction, known, run)?;
    let event = Event {
        seq: current.state.seq.saturating_add(1),
        at: draft.at,
        fact: draft.fact,
    };
    let before = current.parent.as_ref();
    let before = before.map(|_| (current.state.spent, current.state.cost(&current.plan)));
    let step = advance(&current.plan, &mut current.state, &event)?;
    let written = write_event(transaction, run, current, &event, &step, &draft.artifacts);
    let is_over = current.state.ended.is_some();
    let head = current.head.to_string();
    let signed = match &key {
        Some(key) if is_over => {
            written.and_then(|()| signing::sign(transaction, key, run, number(event.seq), &head))
        }
        _ => written,
    };
    if let Err(error) = signed {
        // The state is ahead of the file; the next use reads it again.
        known.runs.remove(run);
        return Err(StoreError::Group(with_sources(&error)));
    }
    let open = current.state.open.keys();
    let sends = open.filter(|effect| effect.kind == EffectKind::Send);
    let spent = current
        .parent
        .clone()
        .zip(before)
        .map(|(parent, (usage, cost))| {
            let now = current.state.cost(&current.plan).zip(cost);
            SpentBelow {
                parent,
                usage: current.state.spent.since(&usage),
                cost: now.map(|(now, then)| now.saturating_sub(then)),
            }
        });
    let appended = Appended {
        unheard: sends.map(|effect| effect.of.clone()).collect(),
        event,
        step,
        is_over,
        is_stopping: false,
        others: Vec::new(),
    };
    Ok((appended, spent))
}

/// Records the usage of a run in every run above it, in the same transaction. If one of them comes to its end by that,
/// this run ends too.
fn add_usage_above(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    run: &str,
    spent: &SpentBelow,
    at: Times,
) -> Result<Vec<String>, StoreError> {
    let mut above = Some(spent.parent.clone());
    let (mut others, mut is_ending) = (Vec::new(), false);
    while let Some(Parent { run: id, of }) = above.take() {
        let fact = Fact::Used {
            of: of.clone(),
            usage: spent.usage,
            cost: spent.cost,
        };
        append_one(transaction, known, &id, fact, at)?;
        let current = up_to_date(transaction, known, &id)?;
        let attempt = current.state.attempt(&of);
        is_ending |= attempt.is_some_and(|attempt| attempt.stopping.is_some())
            || current
                .state
                .nothing_left(&current.plan, &of.node)
                .is_some();
        above.clone_from(&current.parent);
        others.push(id);
    }
    let own = &up_to_date(transaction, known, run)?.state;
    if is_ending && own.ended.is_none() && own.stop.is_none() {
        let wish = Fact::Wanted {
            by: format!("the run above it, {}", spent.parent.run),
            // The number lets a run that went on after it was stopped be stopped again.
            id: format!("above-{}-{}", spent.parent.run, own.seq),
            wish: Wish::Stop { now: false },
        };
        match append_one(transaction, known, run, wish, at) {
            Ok(()) | Err(StoreError::Refused(_)) => others.push(run.to_owned()),
            Err(error) => return Err(error),
        }
    }
    Ok(others)
}

/// Records a fact in every run above; if one refuses it, none has it.
fn record_above(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    parent: &Parent,
    at: Times,
    fact: impl Fn(&Attempt) -> Fact,
) -> Result<(), StoreError> {
    transaction.execute_batch("SAVEPOINT above")?;
    let mut above = Some(parent.clone());
    let mut told = Vec::new();
    while let Some(Parent { run, of }) = above.take() {
        told.push(run.clone());
        if let Err(error) = append_one(transaction, known, &run, fact(&of), at) {
            transaction.execute_batch("ROLLBACK TO above; RELEASE above")?;
            for run in &told {
                known.runs.remove(run);
            }
            return Err(error);
        }
        above.clone_from(&up_to_date(transaction, known, &run)?.parent);
    }
    Ok(transaction.execute_batch("RELEASE above")?)
}

fn append_one(
    transaction: &Transaction<'_>,
    known: &mut KnownRuns,
    run: &str,
    fact: Fact,
    at: Times,
) -> Result<(), StoreError> {
    let draft = NewEvent {
        fact,
        artifacts: Vec::new(),
        at,
    };
    append_to(transaction, known, run, draft).map(|_| ())
}

/// The state of a run, with the events that other processes have recorded since.
fn up_to_date<'a>(
    transaction: &Transaction<'_>,
    known: &'a mut KnownRuns,
    run: &str,
) -> Result<&'a mut KnownRun, StoreError> {
    let mut last = transaction.prepare_cached("SELECT seq FROM runs WHERE id = ?1")?;
    let last: Option<i64> = last.query_row([run], |row| row.get(0)).optional()?;
    let last = last.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let is_current = |it: &KnownRun| i64::try_from(it.state.seq).is_ok_and(|seq| seq == last);
    if !known.runs.get(run).is_some_and(is_current) {
        let loaded = reading::load(transaction, run)?;
        let head = loaded.head.parse().map_err(|_| StoreError::Row {
            run: run.to_owned(),
            message: "its last hash is none".to_owned(),
        })?;
        let fresh = KnownRun {
            plan: loaded.plan,
            state: loaded.state,
            head,
            parent: loaded.parent,
        };
        known.runs.insert(run.to_owned(), fresh);
    }
    known
        .runs
        .get_mut(run)
        .ok_or_else(|| StoreError::NoRun(run.to_owned()))
}

fn write_event(
    transaction: &Transaction<'_>,
    run: &str,
    current: &mut KnownRun,
    event: &Event,
    step: &Step,
    artifacts: &[Vec<u8>],
) -> Result<(), StoreError> {
    let body = body_of(event).map_err(|error| row_error(run, &error))?;
    current.head = chain_hash(&current.head, &body);
    transaction
        .prepare_cached("INSERT INTO events (run, seq, hash, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            run,
            number(event.seq),
            current.head.to_string(),
            body
        ])?;
    for bytes in artifacts {
        let digest = Digest::of(bytes).to_string();
        transaction
            .prepare_cached("INSERT OR IGNORE INTO artifacts (digest, bytes) VALUES (?1, ?2)")?
            .execute(params![digest, bytes])?;
        transaction
            .prepare_cached("INSERT OR IGNORE INTO artifact_uses (run, digest) VALUES (?1, ?2)")?
            .execute(params![run, digest])?;
    }
    write_outbox(transaction, run, current, event, step)?;
    let state = &current.state;
    let whole = state.run();
    transaction
        .prepare_cached(
            "UPDATE runs SET state = ?2, reason = ?3, changed_at = ?4, ended_at = ?5, tokens = ?6,
                acknowledged = ?7, seq = ?8, head = ?9, cost = ?10 WHERE id = ?1",
        )?
        .execute(params![
            run,
            whole.word(),
            state.reason(&whole),
            number(event.at.wall),
            state.ended.map(|at| number(at.wall)),
            number(state.spent.counted()),
            state.acknowledged,
            number(event.seq),
            current.head.to_string(),
            // The sum goes over every child, so it is made once.
            state
                .ended
                .and_then(|_| state.cost(&current.plan))
                .map(number),
        ])?;
    Ok(())
}

fn write_outbox(
    transaction: &Transaction<'_>,
    run: &str,
    current: &KnownRun,
    event: &Event,
    step: &Step,
) -> Result<(), StoreError> {
    for effect in &step.closed {
        transaction
            .prepare_cached("DELETE FROM outbox WHERE run = ?1 AND effect = ?2")?
            .execute(params![run, effect.to_string()])?;
    }
    let touched: Option<&EffectId> = match &event.fact {
        Fact::Leased { effect, .. } | Fact::Gone { effect, .. } => Some(effect),
        _ => None,
    };
    for effect in step.opened.iter().chain(touched) {
        // An effect may be opened and closed by the same event.
        let Some(open) = current.state.open.get(effect) else {
            continue;
        };
        let holder = open.holder.as_ref().map(|holder| to_json(run, holder));
        transaction
            .prepare_cached(
                "INSERT INTO outbox (run, effect, command, epoch, holder, opened_at, opened_boot)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (run, effect) DO UPDATE SET epoch = ?4, holder = ?5",
            )?
            .execute(params![
                run,
                effect.to_string(),
                to_json(run, &open.command)?,
                open.epoch,
                holder.transpose()?,
                number(event.at.wall),
                number(event.at.boot),
            ])?;
    }
    Ok(())
}

fn prune(
    transaction: &Transaction<'_>,
    runs: &[String],
    at: Times,
) -> Result<PrunedCounts, StoreError> {
    let mut pruned = PrunedCounts::default();
    for run in runs {
        let buried = transaction.execute(
            "INSERT OR REPLACE INTO tombstones (id, state, head, pruned_at)
             SELECT id, state, head, ?2 FROM runs WHERE id = ?1 AND ended_at IS NOT NULL",
            params![run, number(at.wall)],
        )?;
        if buried == 0 {
            continue;
        }
        transaction.execute("DELETE FROM runs WHERE id = ?1", [run])?;
        pruned.runs += 1;
    }
    pruned.artifacts = transaction.execute(
        "DELETE FROM artifacts WHERE NOT EXISTS
            (SELECT 1 FROM artifact_uses WHERE artifact_uses.digest = artifacts.digest)",
        [],
    )?;
    Ok(pruned)
}

fn to_json(run: &str, value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| row_error(run, &error))
}

fn row_error(run: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Row {
        run: run.to_owned(),
        message: error.to_string(),
    }
}

/// Converts to SQLite's signed integers.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
