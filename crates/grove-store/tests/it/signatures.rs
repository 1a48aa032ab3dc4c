//! The ends of runs are signed with the key that the journal was opened with.

use grove_store::{JournalFault, SigningKey, Store};
use rusqlite::Connection;

use crate::scene::{Scene, submission};

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(&[byte; 32]).unwrap()
}

/// A journal whose one run is over and signed.
fn signed() -> (Scene, Store) {
    let scene = Scene::new();
    let store = Store::open_signing(&scene.path(), key(1)).unwrap();
    let scene = Scene { store, ..scene };
    scene.submit("r1");
    scene.finish("r1");
    let again = Store::open_signing(&scene.path(), key(1)).unwrap();
    (scene, again)
}

#[test]
fn only_the_end_is_signed_and_only_by_the_key() {
    let (scene, store) = signed();
    store.submit(submission("r2")).unwrap();
    assert_eq!(store.verify("r1").unwrap(), None);
    assert_eq!(store.verify("r2").unwrap(), None, "it is not over");
    let raw = Connection::open(scene.path()).unwrap();
    let rows = raw
        .prepare("SELECT run, seq FROM signatures")
        .unwrap()
        .query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    let last = store.load("r1").unwrap().state.seq;
    assert_eq!(rows, [("r1".to_owned(), i64::try_from(last).unwrap())]);
    let other = Store::open_signing(&scene.path(), key(2)).unwrap();
    assert_eq!(
        other.verify("r1").unwrap(),
        Some(JournalFault::OtherKey(last))
    );
    raw.execute("UPDATE signatures SET signature = zeroblob(64)", [])
        .unwrap();
    assert_eq!(
        store.verify("r1").unwrap(),
        Some(JournalFault::Signature(last))
    );
    raw.execute("DELETE FROM signatures", []).unwrap();
    assert_eq!(store.verify("r1").unwrap(), Some(JournalFault::NotSigned));
}

#[test]
fn a_journal_of_the_first_version_is_brought_to_the_newest() {
    let scene = Scene::new();
    for run in ["r1", "open1", "open2", "open3"] {
        scene.submit(run);
    }
    scene.finish("r1");
    let raw = Connection::open(scene.path()).unwrap();
    raw.execute_batch(
        "DROP TABLE signatures; DROP INDEX runs_by_parent; ALTER TABLE runs DROP COLUMN parent;
         ALTER TABLE runs DROP COLUMN parent_node; ALTER TABLE runs DROP COLUMN parent_try;
         ALTER TABLE runs DROP COLUMN cost; ALTER TABLE runs DROP COLUMN agents;
         ALTER TABLE runs DROP COLUMN surroundings; ALTER TABLE plans RENAME COLUMN envelope TO request;
         UPDATE plans SET request = '{\"surroundings\": \"a1\"}' WHERE run = 'open1';
         UPDATE plans SET request = 'no JSON' WHERE run = 'open2';
         UPDATE plans SET request = '{}' WHERE run = 'open3';
         PRAGMA user_version = 1;",
    )
    .unwrap();
    let store = Store::open_signing(&scene.path(), key(1)).unwrap();
    let version: i64 = raw
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 5);
    assert_eq!(
        store.verify("r1").unwrap(),
        Some(JournalFault::NotSigned),
        "nobody signed it"
    );
    let rows = store.outbox().unwrap();
    let surroundings = rows
        .iter()
        .map(|row| (row.run.as_str(), row.surroundings.as_deref()));
    let expected = [("open1", Some("a1")), ("open2", None), ("open3", None)];
    assert_eq!(surroundings.collect::<Vec<_>>(), expected);
    let scene = Scene { store, ..scene };
    scene.submit("r2");
    scene.finish("r2");
    assert_eq!(scene.store.verify("r2").unwrap(), None);
}

#[test]
fn a_key_has_32_bytes_and_says_nothing_of_itself() {
    assert!(SigningKey::from_seed(&[1; 31]).is_none());
    let text = format!("{:?}", key(1));
    assert_eq!(text, "SigningKey { .. }");
    // The first key of the published test vectors of Ed25519 (RFC 8032, 7.1).
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let bytes: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&seed[at * 2..at * 2 + 2], 16).unwrap())
        .collect();
    let key = SigningKey::from_seed(&bytes).unwrap();
    let public = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07,
        0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07,
        0x51, 0x1a,
    ];
    assert_eq!(key.public(), public);
    assert!(key.sign(b"").starts_with(&[0xe5, 0x56, 0x43, 0x00]));
}
