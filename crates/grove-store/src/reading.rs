//! Reading the file. Reads are short, so that SQLite can fold the write-ahead log back into it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use grove_plan::{
    Attempt, Command, Damaged, EffectId, Event, Execution, Holder, NodeId, Parent, Plan, REJECTED,
    State, advance,
};
use grove_spec::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::journal::{ChainFault, verify};
use crate::{Store, StoreError, signing};

/// The most runs of a list without a limit of its own.
const LISTED: usize = 50;
/// The number of events from which on a journal is kept folded. Each child of a run looks at it several times: a thousand
/// children of one list took 350 ms each when every look read and folded all of it.
const LONG: usize = 256;
/// The most long journals that are kept.
const MAX_KEPT: usize = 8;

/// Long journals as they were last seen, by the id of the run.
pub(crate) type LongRuns = BTreeMap<String, LoadedRun>;

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The id of the run.
    pub id: String,
    /// A title of one line for people.
    pub title: String,
    /// The folder from which it was requested.
    pub folder: String,
    /// The word for its state.
    pub state: String,
    /// The reason for that state.
    pub reason: Option<String>,
    /// The time of its submission, in milliseconds since 1970.
    pub submitted_at: u64,
    /// The time of its last event, in the same unit.
    pub changed_at: u64,
    /// The time of its end, in the same unit.
    pub ended_at: Option<u64>,
    /// The tokens that count against limits.
    pub tokens: u64,
    /// The money that it cost, in millionths, once it is over; none where a price is not known.
    pub cost: Option<u64>,
    /// The agents of its children, each once.
    pub agents: Vec<String>,
    /// Set if its owner has the result.
    pub acknowledged: bool,
    /// The run of the child that requested it.
    pub parent: Option<String>,
}

impl RunRow {
    /// The word for its state that people read: a complete run with a reason is shown as rejected, because its work does not
    /// count.
    pub fn shown(&self) -> &str {
        match &self.reason {
            Some(_) if self.state == Execution::Complete.word() => REJECTED,
            _ => &self.state,
        }
    }
}

/// The choice of the runs to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Lists only the runs that are not over.
    pub only_open: bool,
    /// Lists only the runs that ended before this time, in milliseconds since 1970.
    pub ended_before: Option<u64>,
    /// The most runs to list, the newest first; fifty if there is no number.
    pub most: Option<usize>,
}

/// An effect that is to be done or under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRow {
    /// The id of its run.
    pub run: String,
    /// The id of the effect.
    pub effect: EffectId,
    /// The command to be done.
    pub command: Command,
    /// The number of holders that it has had.
    pub epoch: u32,
    /// The process that does it.
    pub holder: Option<Holder>,
    /// The time at which it was opened, on the wall clock.
    pub opened_at: u64,
    /// The time at which it was opened, on the boot clock.
    pub opened_boot: u64,
}

/// A run with its journal folded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRun {
    /// The id of the run.
    pub id: String,
    /// The plan that it executes.
    pub plan: Arc<Plan>,
    /// The request that it came from, as JSON.
    pub request: String,
    /// The state after its last event.
    pub state: State,
    /// The events of its journal.
    pub events: Vec<Arc<Event>>,
    /// The hash of its last event.
    pub head: String,
    /// The child that requested it.
    pub parent: Option<Parent>,
}

impl Store {
    /// Returns the runs that a filter chooses, the newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            "SELECT id, title, folder, state, reason, submitted_at, changed_at, ended_at, tokens, acknowledged, parent,
                cost, agents
             FROM runs
             WHERE (?1 = 0 OR ended_at IS NULL) AND (?2 IS NULL OR ended_at < ?2)
             ORDER BY id DESC LIMIT ?3",
        )?;
        let most = i64::try_from(filter.most.unwrap_or(LISTED)).unwrap_or(i64::MAX);
        let before = filter
            .ended_before
            .map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        let rows = statement.query_map(params![filter.only_open, before, most], run_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the number of runs.
    pub fn count(&self) -> Result<u64, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached("SELECT count(*) FROM runs")?;
        Ok(statement.query_row([], |row| Ok(unsigned(row.get(0)?)))?)
    }

    /// Returns the number of runs that are not over.
    pub fn count_open(&self) -> Result<usize, StoreError> {
        let connection = self.reader();
        let mut statement =
            connection.prepare_cached("SELECT count(*) FROM runs WHERE ended_at IS NULL")?;
        let count: i64 = statement.query_row([], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Returns the one run with the given id, or with an id that begins with it.
    pub fn find(&self, given: &str) -> Result<String, StoreError> {
        let no_run = || StoreError::NoRun(given.to_owned());
        // Ids are letters and digits; a text with other characters is a path or a pattern and never an id.
        if given.is_empty() || !given.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(no_run());
        }
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            // `{` is above every character of an id.
            "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || '{' ORDER BY id LIMIT 6",
        )?;
        let rows = statement.query_map([given], |row| row.get::<_, String>(0))?;
        let ids: Vec<String> = rows.collect::<Result<_, _>>()?;
        match ids.as_slice() {
            [] => Err(no_run()),
            [only] => Ok(only.clone()),
            several if several.iter().any(|id| id == given) => Ok(given.to_owned()),
            _ => Err(StoreError::Ambiguous {
                given: given.to_owned(),
                ids,
            }),
        }
    }

    /// Returns the newest run that was asked for in a folder, those of children left out.
    pub fn newest_in(&self, folder: &str) -> Result<Option<String>, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            "SELECT id FROM runs WHERE folder = ?1 AND parent IS NULL ORDER BY id DESC LIMIT 1",
        )?;
        let mut rows = statement.query_map([folder], |row| row.get(0))?;
        Ok(rows.next().transpose()?)
    }

    /// Returns a run with its journal.
    pub fn load(&self, run: &str) -> Result<LoadedRun, StoreError> {
        let connection = self.reader();
        let kept = || {
            self.long_runs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = kept().remove(run);
        let loaded = match known {
            Some(mut known) => {
                known.head = head_of(&connection, run)?;
                read_on(&connection, &mut known)?;
                known
            }
            None => load(&connection, run)?,
        };
        if loaded.events.len() >= LONG {
            let mut kept = kept();
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(run.to_owned(), loaded.clone());
        }
        Ok(loaded)
    }

    /// Returns the child that requested a run.
    pub fn parent(&self, run: &str) -> Result<Option<Parent>, StoreError> {
        Ok(load_rows(&self.reader(), run)?.parent)
    }

    /// Returns the state of a run, and true if it is over.
    pub fn state_of(&self, run: &str) -> Result<(String, bool), StoreError> {
        let connection = self.reader();
        let mut statement = connection
            .prepare_cached("SELECT state, ended_at IS NOT NULL FROM runs WHERE id = ?1")?;
        let found = statement.query_row([run], |row| Ok((row.get(0)?, row.get(1)?)));
        let found = found.optional()?;
        found.ok_or_else(|| StoreError::NoRun(run.to_owned()))
    }

    /// Returns the runs that a child requested and that are not over.
    pub fn open_below(&self, run: &str, of: &Attempt) -> Result<Vec<String>, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            "SELECT id FROM runs WHERE parent = ?1 AND parent_node = ?2 AND parent_try = ?3
             AND ended_at IS NULL ORDER BY id",
        )?;
        let key = params![run, of.node.as_str(), of.n];
        let rows = statement.query_map(key, |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the plan of a run and its request as JSON, without reading its journal.
    pub fn plan(&self, run: &str) -> Result<(Arc<Plan>, String), StoreError> {
        let loaded = load_rows(&self.reader(), run)?;
        Ok((loaded.plan, loaded.request))
    }

    /// Returns the request of a run, as JSON.
    pub fn request(&self, run: &str) -> Result<String, StoreError> {
        let connection = self.reader();
        let mut statement =
            connection.prepare_cached("SELECT request FROM plans WHERE run = ?1")?;
        let found = statement.query_row([run], |row| row.get(0)).optional()?;
        found.ok_or_else(|| StoreError::NoRun(run.to_owned()))
    }

    /// Returns the events of a run after the one with a number.
    pub fn events_after(&self, run: &str, seq: u64) -> Result<Vec<Event>, StoreError> {
        events_after(&self.reader(), run, seq)
    }

    /// Returns the next events of a run after the one with a number, at most so many.
    pub fn next_events(&self, run: &str, seq: u64, most: usize) -> Result<Vec<Event>, StoreError> {
        let bodies = bodies_after(&self.reader(), run, seq, most)?;
        bodies.iter().map(|body| parsed(run, body)).collect()
    }

    /// Returns some events of a run by their numbers, in the order in which they are named; those that do not exist are left
    /// out.
    pub fn events_at(
        &self,
        run: &str,
        numbers: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<Event>, StoreError> {
        let connection = self.reader();
        let mut statement = connection
            .prepare_cached("SELECT seq, hash, body FROM events WHERE run = ?1 AND seq = ?2")?;
        let mut events = Vec::new();
        for seq in numbers {
            let seq = i64::try_from(seq).unwrap_or(i64::MAX);
            let found = statement
                .query_row(params![run, seq], body_row)
                .optional()?;
            events.extend(found.map(|body| parsed(run, &body)).transpose()?);
        }
        Ok(events)
    }

    /// Returns all effects that are to be done or under way.
    pub fn outbox(&self) -> Result<Vec<OpenRow>, StoreError> {
        self.open_rows(None)
    }

    /// Returns the effects of one run that are to be done or under way.
    pub fn outbox_of(&self, run: &str) -> Result<Vec<OpenRow>, StoreError> {
        self.open_rows(Some(run))
    }

    fn open_rows(&self, run: Option<&str>) -> Result<Vec<OpenRow>, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            "SELECT run, effect, command, epoch, holder, opened_at, opened_boot FROM outbox
             WHERE ?1 IS NULL OR run = ?1 ORDER BY run, effect",
        )?;
        let rows = statement.query_map([run], |row| {
            let run: String = row.get(0)?;
            let texts: (String, String) = (row.get(1)?, row.get(2)?);
            let holder: Option<String> = row.get(4)?;
            let numbers: (u32, i64, i64) = (row.get(3)?, row.get(5)?, row.get(6)?);
            Ok((run, texts, holder, numbers))
        })?;
        let mut all = Vec::new();
        for row in rows {
            let (run, (effect, command), holder, (epoch, opened_at, opened_boot)) = row?;
            let wrong = |message: String| StoreError::Row {
                run: run.clone(),
                message,
            };
            let effect = effect.parse();
            let holder = holder.map(|holder| serde_json::from_str(&holder));
            all.push(OpenRow {
                effect: effect.map_err(|error| wrong(format!("{error}")))?,
                command: serde_json::from_str(&command)
                    .map_err(|error| wrong(error.to_string()))?,
                holder: holder
                    .transpose()
                    .map_err(|error: serde_json::Error| wrong(error.to_string()))?,
                epoch,
                opened_at: unsigned(opened_at),
                opened_boot: unsigned(opened_boot),
                run,
            });
        }
        Ok(all)
    }

    /// Returns the text of a digest, if it is there and unchanged.
    pub fn artifact(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let connection = self.reader();
        let mut statement =
            connection.prepare_cached("SELECT bytes FROM artifacts WHERE digest = ?1")?;
        let found = statement.query_row([digest.to_string()], |row| row.get::<_, Vec<u8>>(0));
        Ok(found
            .optional()?
            .filter(|bytes| Digest::of(bytes) == *digest))
    }

    /// Returns the length of the text of a digest in bytes, without reading it.
    pub fn artifact_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        let connection = self.reader();
        let mut statement =
            connection.prepare_cached("SELECT length(bytes) FROM artifacts WHERE digest = ?1")?;
        let found = statement.query_row([digest.to_string()], |row| row.get(0));
        Ok(found.optional()?.map(unsigned))
    }

    /// Returns a number that changes whenever another connection has written, for callers that wait for news.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let connection = self.reader();
        let version: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        Ok(unsigned(version))
    }

    /// Returns true if a run was pruned.
    pub fn is_pruned(&self, run: &str) -> Result<bool, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached("SELECT 1 FROM tombstones WHERE id = ?1")?;
        Ok(statement.exists([run])?)
    }

    /// Checks the chain of hashes of a run, the texts that it refers to and, with a key, its signatures.
    pub fn verify(&self, run: &str) -> Result<Option<ChainFault>, StoreError> {
        let connection = self.reader();
        let loaded = load_rows(&connection, run)?;
        let bodies = bodies_after(&connection, run, 0, usize::MAX)?;
        if let Some(fault) = verify(&loaded, &bodies) {
            return Ok(Some(fault));
        }
        let mut statement = connection.prepare_cached(
            "SELECT artifact_uses.digest, bytes FROM artifact_uses
             LEFT JOIN artifacts ON artifacts.digest = artifact_uses.digest WHERE run = ?1",
        )?;
        let mut rows = statement.query([run])?;
        while let Some(row) = rows.next()? {
            let (digest, bytes): (String, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
            let digest: Digest = digest.parse().map_err(|_| StoreError::Row {
                run: run.to_owned(),
                message: "an artifact has no digest".to_owned(),
            })?;
            if bytes.is_none_or(|bytes| Digest::of(&bytes) != digest) {
                return Ok(Some(ChainFault::Artifact(digest)));
            }
        }
        let Some(key) = &self.key else {
            return Ok(None);
        };
        signing::verify(&connection, key, &load(&connection, run)?, &bodies)
    }
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get(0)?,
        title: row.get(1)?,
        folder: row.get(2)?,
        state: row.get(3)?,
        reason: row.get(4)?,
        submitted_at: unsigned(row.get(5)?),
        changed_at: unsigned(row.get(6)?),
        ended_at: row.get::<_, Option<i64>>(7)?.map(unsigned),
        tokens: unsigned(row.get(8)?),
        acknowledged: row.get(9)?,
        parent: row.get(10)?,
        cost: row.get::<_, Option<i64>>(11)?.map(unsigned),
        agents: row
            .get::<_, String>(12)?
            .lines()
            .map(str::to_owned)
            .collect(),
    })
}

/// Loads a run with its journal folded.
pub(crate) fn load(connection: &Connection, run: &str) -> Result<LoadedRun, StoreError> {
    let mut loaded = load_rows(connection, run)?;
    read_on(connection, &mut loaded)?;
    Ok(loaded)
}

/// Adds the events that were recorded since the last one.
fn read_on(connection: &Connection, loaded: &mut LoadedRun) -> Result<(), StoreError> {
    for event in events_after(connection, &loaded.id, loaded.state.seq)? {
        let seq = event.seq;
        advance(&loaded.plan, &mut loaded.state, &event).map_err(|why| StoreError::Damaged {
            run: loaded.id.clone(),
            source: Damaged { seq, why },
        })?;
        loaded.events.push(Arc::new(event));
    }
    Ok(())
}

fn head_of(connection: &Connection, run: &str) -> Result<String, StoreError> {
    let mut statement = connection.prepare_cached("SELECT head FROM runs WHERE id = ?1")?;
    let found = statement.query_row([run], |row| row.get(0)).optional()?;
    found.ok_or_else(|| StoreError::NoRun(run.to_owned()))
}

/// Loads the row of a run without its journal.
fn load_rows(connection: &Connection, run: &str) -> Result<LoadedRun, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT plan, request, head, parent, parent_node, parent_try FROM runs JOIN plans ON run = id WHERE id = ?1",
    )?;
    let found = statement.query_row([run], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            parent_of(row)?,
        ))
    });
    let (plan, request, head, parent) = found
        .optional()?
        .ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let plan = serde_json::from_str(&plan).map_err(|error| StoreError::Row {
        run: run.to_owned(),
        message: error.to_string(),
    })?;
    Ok(LoadedRun {
        id: run.to_owned(),
        plan: Arc::new(plan),
        request,
        state: State::default(),
        events: Vec::new(),
        head,
        parent,
    })
}

fn parent_of(row: &Row<'_>) -> rusqlite::Result<Option<Parent>> {
    let run: Option<String> = row.get(3)?;
    let node: Option<String> = row.get(4)?;
    let n: Option<u32> = row.get(5)?;
    Ok(run.zip(node.zip(n)).map(|(run, (node, n))| Parent {
        run,
        of: Attempt {
            node: NodeId::from(node.as_str()),
            n,
        },
    }))
}

fn events_after(connection: &Connection, run: &str, seq: u64) -> Result<Vec<Event>, StoreError> {
    let bodies = bodies_after(connection, run, seq, usize::MAX)?;
    bodies.iter().map(|body| parsed(run, body)).collect()
}

/// The number, the hash and the body of an event.
type EventRow = (u64, String, String);

fn parsed(run: &str, (seq, _, body): &EventRow) -> Result<Event, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Row {
        run: run.to_owned(),
        message: format!("event {seq}: {error}"),
    })
}

fn bodies_after(
    connection: &Connection,
    run: &str,
    seq: u64,
    most: usize,
) -> Result<Vec<EventRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, hash, body FROM events WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![run, seq, most], body_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn body_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok((unsigned(row.get(0)?), row.get(1)?, row.get(2)?))
}

/// Converts SQLite's signed integers; ours are never below zero.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
