//! A file that is not as it was written is noticed, and one that a newer program wrote is left alone.

use grove_store::{JournalFault, Store, StoreError, check_file};
use rusqlite::Connection;

use crate::scene::{Scene, TOLD};

fn tampered(sql: &str) -> Option<JournalFault> {
    let scene = Scene::new();
    scene.submit("r1");
    scene.finish("r1");
    let raw = Connection::open(scene.path()).unwrap();
    assert!(raw.execute(sql, []).unwrap() > 0, "{sql}");
    scene.store.verify("r1").unwrap()
}

#[test]
fn a_change_to_the_journal_is_noticed() {
    let changed = "UPDATE events SET body = replace(body, '\"hm\"', '\"ha\"') WHERE seq = 3";
    assert_eq!(tampered(changed), Some(JournalFault::Changed(3)));
    let removed = "DELETE FROM events WHERE seq = 2";
    assert_eq!(tampered(removed), Some(JournalFault::Missing(2)));
    let cut = "DELETE FROM events WHERE seq = 6";
    assert_eq!(tampered(cut), Some(JournalFault::CutOff));
    let told = grove_spec::Digest::of(TOLD);
    let exchanged = "UPDATE artifacts SET bytes = x'00'";
    assert_eq!(tampered(exchanged), Some(JournalFault::Artifact(told)));
    let gone = "DELETE FROM artifacts";
    assert_eq!(tampered(gone), Some(JournalFault::Artifact(told)));
    assert_eq!(
        tampered("UPDATE runs SET title = 'other'"),
        None,
        "only the journal counts"
    );
}

#[test]
fn what_a_newer_program_wrote_is_left_alone() {
    let scene = Scene::new();
    let raw = Connection::open(scene.path()).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    let opened = Store::open(&scene.path());
    assert!(matches!(opened, Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn a_file_that_is_no_journal_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let noise: Vec<u8> = (0..9_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    std::io::copy(
        &mut noise.as_slice(),
        &mut tempfile::NamedTempFile::new_in(folder.path())
            .unwrap()
            .persist(&path)
            .unwrap(),
    )
    .unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Sqlite(_))));
    let scene = Scene::new();
    assert_eq!(check_file(&scene.path()).unwrap(), Vec::<String>::new());
}
