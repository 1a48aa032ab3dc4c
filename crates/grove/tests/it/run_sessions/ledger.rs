//! The ledger of a run: signed when it is over, so that a change is noticed, and attested for other programs.

use std::path::PathBuf;
use std::process::Command;

use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::session::Session;
use rusqlite::Connection;
use serde_json::Value;

use super::acceptance::{last_run, worker};
use super::{end_all, until};

/// A run that is over, with nobody who has its journal open.
fn finished() -> (Session, String) {
    let (_server, session) = worker();
    let words = ["run", "worker", "echo hello", "--verify", "echo seen"];
    session.grove(words).ok();
    let id = last_run(&session)["id"].as_str().unwrap().to_owned();
    end_all(&session);
    let store = open(&session);
    // SQLite does not wait for others here, and one that was killed may still be closing the file.
    let alone = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = delete;";
    until(|| store.execute_batch(alone).is_ok());
    (session, id)
}

fn database(session: &Session) -> PathBuf {
    session.path("state/grove/runs.db")
}

fn open(session: &Session) -> Connection {
    Connection::open(database(session)).unwrap()
}

/// What `ledger --verify` says of the file after something was done to it; the file is put back.
fn after(session: &Session, id: &str, change: impl FnOnce(&Session)) -> Vec<String> {
    let file = database(session);
    let before = std::fs::read(&file).unwrap();
    change(session);
    assert_ne!(std::fs::read(&file).unwrap(), before, "nothing was changed");
    let outcome = session.grove(["runs", "ledger", id, "--verify", "--json"]);
    let ledger: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let faults = ledger["faults"].as_array().unwrap();
    assert_eq!(outcome.code, i32::from(!faults.is_empty()));
    assert_eq!(ledger["verified"], faults.is_empty());
    let faults = faults.iter().map(|it| it.as_str().unwrap().to_owned());
    std::fs::write(&file, before).unwrap();
    faults.collect()
}

fn sql(text: String) -> impl FnOnce(&Session) {
    move |session| open(session).execute_batch(&text).unwrap()
}

fn bodies(session: &Session, id: &str) -> Vec<String> {
    let store = open(session);
    let mut rows = store
        .prepare("SELECT body FROM events WHERE run = ?1 ORDER BY seq")
        .unwrap();
    let rows = rows.query_map([id], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn one_flipped_bit_of_any_event_is_noticed() {
    let (session, id) = finished();
    let before = bodies(&session, &id);
    assert!(before.len() > 5);
    for body in &before {
        let faults = after(&session, &id, |session| {
            let file = database(session);
            let whole = std::fs::read(&file).unwrap();
            // A long body goes on in another page; its beginning is where it is. Pages have old copies between their rows.
            let begin = &body.as_bytes()[..body.len().min(30)];
            let mut places = whole.windows(begin.len()).enumerate();
            let is_row = places.any(|(at, it)| {
                if it != begin {
                    return false;
                }
                let mut bytes = whole.clone();
                bytes[at + begin.len() - 1] ^= 1;
                std::fs::write(&file, bytes).unwrap();
                bodies(session, &id) != before
            });
            assert!(is_row, "{body} is nowhere");
        });
        assert!(!faults.is_empty(), "{body}");
    }
    let outcome = session.grove(["runs", "ledger", &id, "--verify"]);
    outcome.ok().prints(["recorded and signed"]);
}

#[test]
fn one_removed_event_is_noticed_also_by_whoever_mends_the_chain() {
    let (session, id) = finished();
    let store = open(&session);
    let last: i64 = store
        .query_row("SELECT max(seq) FROM events WHERE run = ?1", [&id], |row| {
            row.get(0)
        })
        .unwrap();
    drop(store);
    for seq in 1..=last {
        let remove = format!("DELETE FROM events WHERE run = '{id}' AND seq = {seq}");
        let faults = after(&session, &id, sql(remove));
        let said = if seq == last {
            "the journal ends before its last event".to_owned()
        } else {
            format!("event {seq} is missing")
        };
        assert_eq!(faults, [said]);
    }
    // The chain of what is left holds: only the signature knows of the last event.
    let mended = format!(
        "DELETE FROM events WHERE run = '{id}' AND seq = {last};
         UPDATE runs SET seq = seq - 1, head = (SELECT hash FROM events WHERE run = '{id}' AND seq = {last} - 1) WHERE id = '{id}';"
    );
    let faults = after(&session, &id, sql(mended));
    assert_eq!(
        faults,
        [format!(
            "what was signed at event {last} differs from what is there"
        )]
    );
    let unsigned = format!("DELETE FROM signatures WHERE run = '{id}'");
    let faults = after(&session, &id, sql(unsigned));
    assert!(faults[0].contains("was not signed"), "{faults:?}");
}

#[test]
fn a_last_event_that_was_written_anew_with_its_hash_is_noticed() {
    let (session, id) = finished();
    let faults = after(&session, &id, |session| {
        let store = open(session);
        let row = |back: u32| -> (i64, String, String) {
            let query = "SELECT seq, hash, body FROM events WHERE run = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2";
            let get = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            store.query_row(query, (&id, back), get).unwrap()
        };
        let ((seq, _, body), (_, before, _)) = (row(0), row(1));
        let wall = body.find("\"wall\":").unwrap() + "\"wall\":".len();
        let other = format!("{}9{}", &body[..wall], &body[wall + 1..]);
        let hash = grove_engine::below::grove_store::chain_hash(&before.parse().unwrap(), &other)
            .to_string();
        let change = "UPDATE events SET body = ?1, hash = ?2 WHERE run = ?3 AND seq = ?4";
        store.execute(change, (&other, &hash, &id, seq)).unwrap();
        let change = "UPDATE runs SET head = ?1 WHERE id = ?2";
        store.execute(change, (&hash, &id)).unwrap();
    });
    assert!(faults[0].contains("what was signed"), "{faults:?}");
}

#[test]
fn one_exchanged_artifact_is_noticed() {
    let (session, id) = finished();
    let digests: Vec<String> = open(&session)
        .prepare("SELECT digest FROM artifact_uses WHERE run = ?1")
        .unwrap()
        .query_map([&id], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(digests.len() > 1);
    for digest in &digests {
        let exchange = format!("UPDATE artifacts SET bytes = x'00' WHERE digest = '{digest}'");
        assert!(!after(&session, &id, sql(exchange)).is_empty(), "{digest}");
        let remove = format!(
            "DELETE FROM artifacts WHERE digest = '{digest}'; DELETE FROM artifact_uses WHERE digest = '{digest}'"
        );
        assert!(!after(&session, &id, sql(remove)).is_empty(), "{digest}");
    }
    let asked = format!("UPDATE plans SET envelope = '{{}}' WHERE run = '{id}'");
    assert!(!after(&session, &id, sql(asked)).is_empty());
}

#[test]
fn the_key_is_the_persons_alone_and_another_one_does_not_count() {
    use std::os::unix::fs::PermissionsExt as _;
    let (session, id) = finished();
    let key = session.path("state/grove/ledger.key");
    let mode = |mode: u32| {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let found = std::fs::metadata(&key).unwrap();
    assert_eq!(
        (found.permissions().mode() & 0o777, found.len()),
        (0o600, 32)
    );
    let own = session.grove("runs ledger --public-key").ok().stdout;
    assert!(own.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{own}");
    mode(0o640);
    let refused = session.grove("runs list").fails(1);
    refused.says(["can be read by others"]);
    mode(0o600);
    std::fs::write(&key, [7; 32]).unwrap();
    assert_ne!(session.grove("runs ledger --public-key").ok().stdout, own);
    let outcome = session.grove(["runs", "ledger", &id, "--verify"]).fails(1);
    outcome.prints(["with a key that is not this installation's"]);
}

/// Checks an envelope with a library of somebody else.
const CHECK: &str = r"
import base64, json, sys
from securesystemslib.dsse import Envelope
from securesystemslib.signer import Key
envelope, key = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
key = Key.from_dict(key['keyid'], {name: key[name] for name in ['keytype', 'scheme', 'keyval']})
Envelope.from_dict(json.loads(json.dumps(envelope))).verify([key], 1)
changed = bytearray(base64.b64decode(envelope['payload']))
changed[40] ^= 1
envelope['payload'] = base64.b64encode(bytes(changed)).decode()
try:
    Envelope.from_dict(envelope).verify([key], 1)
    print('a changed payload passes')
except Exception as error:
    print('verified', type(error).__name__)
";

#[test]
fn an_attestation_is_verified_by_another_library() {
    needs![OraclePython];
    let (session, id) = finished();
    let envelope = session
        .grove(["runs", "ledger", &id, "--attest"])
        .ok()
        .stdout;
    let key = session.grove("runs ledger --public-key --json").ok().stdout;
    session.file("envelope.json", &envelope);
    session.file("key.json", &key);
    let python = Need::OraclePython.path();
    let statement = "import base64, json, sys; print(base64.b64decode(json.load(open(sys.argv[1]))['payload']).decode())";
    let run = |script: &str| {
        let mut command = Command::new(&python);
        command.args(["-Ic", script]);
        command.args([session.path("envelope.json"), session.path("key.json")]);
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(CHECK).trim(), "verified VerificationError");
    let statement: Value = serde_json::from_str(&run(statement)).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    let node = &statement["predicate"]["nodes"][0];
    assert_eq!(
        (&node["acceptance"], &node["checks"][0]["end"]["code"]),
        (&"verified".into(), &0.into())
    );
    assert_eq!(node["seen"]["results"][0]["id"], "verify-1", "{node}");
    assert_eq!(node["contractDigest"].as_str().unwrap().len(), 64);
    // The digest of what `echo seen` prints, by any tool.
    let seen = "47a8dea66db04a6f2a18b6e27ef53a56f2122c0733e67f3908f1485fe1d4547f";
    let subjects = statement["subject"].as_array().unwrap();
    assert!(
        subjects.iter().any(|it| it["digest"]["sha256"] == seen),
        "{subjects:?}"
    );
}

#[test]
fn what_is_not_over_or_was_changed_is_not_attested() {
    let (session, id) = finished();
    let change =
        format!("UPDATE events SET body = replace(body, 'hello', 'hallo') WHERE run = '{id}'");
    open(&session).execute_batch(&change).unwrap();
    let refused = session.grove(["runs", "ledger", &id, "--attest"]).fails(1);
    refused.says(["differs from what was recorded"]);
    let (_server, session) = worker();
    let words = [
        "run",
        "worker",
        "true",
        "--verify",
        "while [ ! -e go ]; do sleep 0.01; done",
        "--bg",
    ];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    let refused = session.grove(["runs", "ledger", &id, "--attest"]).fails(1);
    refused.says(["is not over"]);
    session.file("project/go", "");
    session.grove(["runs", "wait", &id]).ok();
    session.grove(["runs", "ledger", &id, "--attest"]).ok();
}
