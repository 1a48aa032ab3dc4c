//! The tables, and the migration of an older file to the newest version.
//!
//! Everything is readable with plain SQL; docs/reference/journal.md says what the columns mean.

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

/// The additions of each version, oldest first. The number of a version is its place in this list.
const MIGRATIONS: &[&str] = &["
    -- One row a run: what people list. It is rewritten with every event and can be made anew from the journal.
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        submit_key TEXT UNIQUE,
        title TEXT NOT NULL,
        folder TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        submitted_at INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        ended_at INTEGER,
        tokens INTEGER NOT NULL DEFAULT 0,
        acknowledged INTEGER NOT NULL DEFAULT 0,
        seq INTEGER NOT NULL,
        head TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- What each run was asked for and is to do: written once, apart from the row that every event rewrites.
    CREATE TABLE plans (
        run TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
        digest TEXT NOT NULL,
        plan TEXT NOT NULL,
        request TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- The journal: each event with the hash of the one before it.
    CREATE TABLE events (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;

    -- Effects that are to be done or under way, with who does them.
    CREATE TABLE outbox (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        effect TEXT NOT NULL,
        command TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        holder TEXT,
        opened_at INTEGER NOT NULL,
        opened_boot INTEGER NOT NULL,
        PRIMARY KEY (run, effect)
    ) STRICT, WITHOUT ROWID;

    -- Long texts by their digest, each once.
    CREATE TABLE artifacts (
        digest TEXT PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;

    -- Which run speaks of which artifact, so that pruning one run leaves those of another.
    CREATE TABLE artifact_uses (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        digest TEXT NOT NULL,
        PRIMARY KEY (run, digest)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX artifact_uses_by_digest ON artifact_uses (digest);

    -- What is left of runs that were pruned.
    CREATE TABLE tombstones (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        head TEXT NOT NULL,
        pruned_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
", "
    -- What was signed each time that a run was over, and the signature.
    CREATE TABLE signatures (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        signed TEXT NOT NULL,
        key BLOB NOT NULL,
        signature BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
", "
    -- The child that asked for a run: its own run, its node and its try.
    ALTER TABLE runs ADD COLUMN parent TEXT;
    ALTER TABLE runs ADD COLUMN parent_node TEXT;
    ALTER TABLE runs ADD COLUMN parent_try INTEGER;
    CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
", "
    -- What a supervisor has to have for a run, apart from the text in which older versions kept it: null where that text
    -- cannot be read, so that any supervisor takes the run and says so.
    ALTER TABLE runs ADD COLUMN surroundings TEXT;
    UPDATE runs SET surroundings = (
        SELECT CASE WHEN json_valid(request) THEN request ->> '$.surroundings' END FROM plans WHERE run = id
    );
    ALTER TABLE plans RENAME COLUMN request TO envelope;
", "
    -- What a run cost, in millionths, once it is over; none while it is open and where a price is not known.
    ALTER TABLE runs ADD COLUMN cost INTEGER;
    -- The agents of its children, a line each.
    ALTER TABLE runs ADD COLUMN agents TEXT NOT NULL DEFAULT '';
"];

/// The number of the version that this program writes.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Migrates a file to the newest version. A file of a newer program is left alone.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == newest() {
        return Ok(());
    }
    // Two programs may start at once: the one that gets the write lock reads the version again.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if found > newest() {
        return Err(StoreError::Newer {
            found,
            known: newest(),
        });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", newest())?;
    transaction.commit()?;
    Ok(())
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
