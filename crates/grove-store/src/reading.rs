//! Reading the file. Reads are short, so that SQLite can fold the write-ahead log back into it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use grove_plan::{
    Attempt, Body, Command, Damaged, EffectId, Event, Execution, Holder, NodeId, Parent, Plan,
    REJECTED, State, advance,
};
use grove_spec::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::journal::{JournalFault, verify};
use crate::{Store, StoreError, signing};

const LISTED: usize = 50;
/// The number of events from which on a journal is kept folded. Each child of a run looks at it several times: a thousand
/// children of one list took 350 ms each when every look read and folded all of it.
const LONG: usize = 256;
const MAX_KEPT: usize = 8;

/// Long journals as they were last seen, by the id of the run.
pub(crate) type LongRuns = BTreeMap<String, LoadedRun>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: String,
    pub title: String,
    pub folder: String,
    /// The word for its state.
    pub state: String,
    pub reason: Option<String>,
    /// The time of its submission, in milliseconds since 1970.
    pub submitted_at: u64,
    pub changed_at: u64,
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub only_open: bool,
    /// Lists only the runs that ended before this time, in milliseconds since 1970.
    pub ended_before: Option<u64>,
    /// The most runs to list, the newest first; fifty if there is no number.
    pub most: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub run: String,
    /// The surroundings of its run; none where an older version stored what cannot be read.
    pub surroundings: Option<String>,
    /// The id of the effect.
    pub effect: EffectId,
    pub command: Command,
    /// The number of holders that it has had.
    pub epoch: u32,
    pub holder: Option<Holder>,
    /// The time at which it was opened, on the wall clock.
    pub opened_at: u64,
    /// The time at which it was opened, on the boot clock.
    pub opened_boot: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRun {
    pub id: String,
    pub plan: Arc<Plan>,
    /// Everything about the run that its plan does not have, as JSON.
    pub envelope: String,
    /// The state after its last event.
    pub state: State,
    pub events: Vec<Arc<Event>>,
    /// The hash of its last event.
    pub head: String,
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

    pub fn parent(&self, run: &str) -> Result<Option<Parent>, StoreError> {
        Ok(load_rows(&self.reader(), run)?.parent)
    }

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

    /// Returns a run without its journal: its state is that before its first event.
    pub fn load_plan(&self, run: &str) -> Result<LoadedRun, StoreError> {
        load_rows(&self.reader(), run)
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
    pub fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError> {
        self.open_rows(None)
    }

    pub fn outbox_of(&self, run: &str) -> Result<Vec<OutboxRow>, StoreError> {
        self.open_rows(Some(run))
    }

    fn open_rows(&self, run: Option<&str>) -> Result<Vec<OutboxRow>, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached(
            "SELECT run, effect, command, epoch, holder, opened_at, opened_boot, surroundings
             FROM outbox JOIN runs ON run = id WHERE ?1 IS NULL OR run = ?1 ORDER BY run, effect",
        )?;
        let rows = statement.query_map([run], |row| {
            let run: String = row.get(0)?;
            let texts: (String, String) = (row.get(1)?, row.get(2)?);
            let holder: Option<String> = row.get(4)?;
            let numbers: (u32, i64, i64) = (row.get(3)?, row.get(5)?, row.get(6)?);
            Ok((run, texts, holder, numbers, row.get(7)?))
        })?;
        let mut all = Vec::new();
        for row in rows {
            let (run, (effect, command), holder, numbers, surroundings) = row?;
            let (epoch, opened_at, opened_boot) = numbers;
            let wrong = |message: String| StoreError::Row {
                run: run.clone(),
                message,
            };
            let effect = effect.parse();
            let holder = holder.map(|holder| serde_json::from_str(&holder));
            all.push(OutboxRow {
                effect: effect.map_err(|error| wrong(format!("{error}")))?,
                command: serde_json::from_str(&command)
                    .map_err(|error| wrong(error.to_string()))?,
                holder: holder
                    .transpose()
                    .map_err(|error: serde_json::Error| wrong(error.to_string()))?,
                epoch,
                opened_at: unsigned(opened_at),
                opened_boot: unsigned(opened_boot),
                surroundings,
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

    /// Returns the bytes of a digest, which have to be there.
    pub fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let found = self.artifact(digest)?;
        found.ok_or(StoreError::NoArtifact(*digest))
    }

    /// Returns the words of a digest, which have to be there.
    pub fn text(&self, digest: &Digest) -> Result<String, StoreError> {
        let bytes = self.bytes(digest)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns what the JSON of a digest says, which has to be there.
    pub fn json<T: DeserializeOwned>(&self, digest: &Digest) -> Result<T, StoreError> {
        let read = serde_json::from_slice(&self.bytes(digest)?);
        read.map_err(|error| StoreError::NotJson {
            digest: *digest,
            message: error.to_string(),
        })
    }

    /// Returns a value that is in an event or beside it.
    pub fn value(&self, body: &Body) -> Result<Value, StoreError> {
        match body {
            Body::Inline(value) => Ok(value.clone()),
            Body::Artifact(digest) => self.json(digest),
        }
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

    pub fn is_pruned(&self, run: &str) -> Result<bool, StoreError> {
        let connection = self.reader();
        let mut statement = connection.prepare_cached("SELECT 1 FROM tombstones WHERE id = ?1")?;
        Ok(statement.exists([run])?)
    }

    /// Checks the chain of hashes of a run, the texts that it refers to and, with a key, its signatures.
    pub fn verify(&self, run: &str) -> Result<Option<JournalFault>, StoreError> {
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
                return Ok(Some(JournalFault::Artifact(digest)));
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
        "SELECT plan, envelope, head, parent, parent_node, parent_try FROM runs JOIN plans ON run = id WHERE id = ?1",
    )?;
    let found = statement.query_row([run], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            parent_of(row)?,
        ))
    });
    let (plan, envelope, head, parent) = found
        .optional()?
        .ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let plan = serde_json::from_str(&plan).map_err(|error| StoreError::Row {
        run: run.to_owned(),
        message: error.to_string(),
    })?;
    Ok(LoadedRun {
        id: run.to_owned(),
        plan: Arc::new(plan),
        envelope,
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
