//! Attacks on the state of runs: the journal, the files beside it and the places of working trees are replaced by links,
//! folders, other people's files, damaged and newer ones. Each is refused or survived with a sentence, and nothing is
//! written elsewhere.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::session::{Outcome, Session};
use serde_json::json;

use super::graphs::scene;
use super::worktrees::{git, worktrees};
use super::{bash, end_all, run_of};

const DATABASE: &str = "state/grove/runs.db";

/// A home in which one run is over, and nobody is at work.
fn after_a_run() -> (ModelServer, Session, String) {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("go", _) => Reply::text("Done."),
        (task, 0) => bash(task),
        _ => Reply::text("Done."),
    });
    let outcome = session.grove(["run", "worker", "go", "--json"]).ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    end_all(&session);
    (server, session, id)
}

/// Puts the file elsewhere and a link in its place.
fn link_instead(session: &Session, file: &str, target: &str) {
    session.remove(file);
    session.link(file, session.path(target));
}

fn sql(session: &Session, statement: &str) {
    let connection = rusqlite::Connection::open(session.path(DATABASE)).unwrap();
    connection.execute_batch(statement).unwrap();
}

/// What an attack does, and what is said then; nothing where the run can be shown all the same.
struct Attack {
    name: &'static str,
    does: fn(&Session, &str),
    says: Option<&'static str>,
}

#[test]
fn a_journal_that_is_not_what_it_was_is_refused_or_read_and_nothing_else_is_written() {
    let attacks = [
        Attack {
            name: "a link to another file",
            does: |session, _| link_instead(session, DATABASE, "victim"),
            says: Some("runs.db"),
        },
        Attack {
            name: "a link that leads nowhere",
            does: |session, _| link_instead(session, DATABASE, "not-there"),
            says: Some("runs.db"),
        },
        Attack {
            name: "a folder",
            does: |session, _| {
                session.remove(DATABASE);
                session.dir(DATABASE);
            },
            says: Some("runs.db"),
        },
        Attack {
            name: "something else",
            does: |session, _| {
                session.remove("state/grove/runs.db-wal");
                session.file(
                    DATABASE,
                    "no journal at all, but long enough to be looked at".repeat(100),
                );
            },
            says: Some("not a database"),
        },
        Attack {
            name: "cut in the middle",
            does: |session, _| {
                sql(session, "PRAGMA wal_checkpoint(TRUNCATE);");
                let bytes = std::fs::read(session.path(DATABASE)).unwrap();
                session.file(DATABASE, &bytes[..bytes.len() / 2]);
            },
            says: Some("malformed"),
        },
        Attack {
            name: "of a later version",
            does: |session, _| sql(session, "PRAGMA user_version = 999;"),
            says: Some("use the newer version of Grove"),
        },
        Attack {
            name: "an event that was changed",
            does: |session, id| {
                let change = format!(
                    "UPDATE events SET body = replace(body, 'submitted', 'sub') WHERE run = '{id}' AND seq = 1;"
                );
                sql(session, &change);
            },
            says: Some("journal"),
        },
        Attack {
            name: "an event that is gone",
            does: |session, id| {
                sql(
                    session,
                    &format!("DELETE FROM events WHERE run = '{id}' AND seq = 2;"),
                );
            },
            says: Some("journal"),
        },
        Attack {
            name: "the key is a link",
            does: |session, _| link_instead(session, "state/grove/ledger.key", "victim"),
            says: Some("ledger.key"),
        },
        Attack {
            name: "the key can be read by everybody",
            does: |session, _| {
                let key = session.path("state/grove/ledger.key");
                std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap();
            },
            says: Some("mode 600"),
        },
        Attack {
            name: "a session's file is a link",
            does: |session, id| {
                let file = format!("state/grove/logs/{id}/1.session.jsonl");
                link_instead(session, &file, "victim");
            },
            says: None,
        },
        Attack {
            name: "a session's file is cut in the middle",
            does: |session, id| {
                let file = format!("state/grove/logs/{id}/1.session.jsonl");
                let text = session.read(&file);
                session.file(&file, &text[..text.len() / 2]);
            },
            says: None,
        },
        Attack {
            name: "a session's file is another",
            does: |session, id| {
                session.file(
                    format!("state/grove/logs/{id}/1.session.jsonl"),
                    "\0garbage\n{}\n",
                );
            },
            says: None,
        },
        Attack {
            name: "a log with one very long line",
            does: |session, id| {
                session.file(
                    format!("state/grove/logs/{id}/1-1.jsonl"),
                    "x".repeat(20 << 20),
                );
            },
            says: None,
        },
        Attack {
            name: "the folder of the logs is a link",
            does: |session, _| {
                session.remove("state/grove/logs");
                session.dir("outside");
                session.link("state/grove/logs", session.path("outside"));
            },
            says: None,
        },
    ];
    for attack in attacks {
        let (_server, session, id) = after_a_run();
        session.file("victim", "The user's own.\n");
        (attack.does)(&session, &id);
        let shown = session.grove(["runs", "show", &id]);
        let name = attack.name;
        if let Some(says) = attack.says {
            assert_ne!(shown.code, 0, "{name}: {shown}");
            assert!(is_clear(&shown, says), "{name}: {shown}");
        } else {
            let shown = shown.ok();
            assert!(shown.stdout.contains("Done."), "{name}: {shown}");
            // The file of a session is brought to what the journal says, or that is refused.
            let brought = session.grove(["runs", "session", &id]);
            let text = std::fs::read_to_string(brought.stdout.trim()).unwrap_or_default();
            assert!(
                brought.code != 0 || text.contains("Done."),
                "{name}: {brought}\n{text}"
            );
        }
        assert_eq!(session.read("victim"), "The user's own.\n", "{name}");
        assert!(!session.has("not-there"), "{name}");
    }
}

/// Whether it is said in a sentence what is wrong.
fn is_clear(outcome: &Outcome, says: &str) -> bool {
    let said = &outcome.stderr;
    said.starts_with("error: ") && said.contains(says) && !said.contains("panicked")
}

#[test]
fn a_working_tree_is_made_at_no_place_that_somebody_prepared() {
    for (name, does) in [
        (
            "the folder of all trees is a link",
            "rm -rf worktrees; ln -s $HOME/outside worktrees",
        ),
        (
            "the folder of the trees is a file",
            "rm -rf worktrees; echo x > worktrees",
        ),
    ] {
        let (_server, session, _) = after_a_run();
        git(&session, "init -q -b main");
        session.file("project/a.txt", "a\n");
        git(&session, "add -A");
        git(&session, "commit -q -m first");
        session.file("home/outside/kept", "kept\n");
        let prepared = Command::new("sh")
            .args(["-c", does])
            .current_dir(session.path("state/grove"))
            .env("HOME", session.path("home"))
            .status();
        assert!(prepared.unwrap().success());
        let outcome = session.grove(["run", "worker", "echo x > made", "--worktree", "--json"]);
        assert_eq!(session.entries("home/outside"), ["kept"], "{name}");
        assert_eq!(worktrees(&session), 0, "{name}");
        let run = run_of(&outcome.stdout);
        let is_said = run["nodes"][0]["reason"]
            .as_str()
            .is_some_and(|it| it.contains("working tree"));
        assert!(outcome.code == 0 || is_said, "{name}: {outcome}");
    }
}

/// A process id that somebody else has by now is nobody's: neither signalled nor waited for.
#[test]
fn whoever_has_the_number_of_a_dead_owner_is_left_alone() {
    let (_server, session, _) = after_a_run();
    let wait = "touch begun; while [ ! -e go ]; do sleep 0.01; done";
    let id = session.grove(["run", "worker", wait, "--bg"]).ok().stdout;
    let id = id.trim();
    super::until(|| session.has("project/begun"));
    end_all(&session);
    let mut other = Command::new("sleep").arg("3095.5").spawn().unwrap();
    let pid = other.id();
    // The same number, another process: by when it was started and on which boot.
    sql(
        &session,
        &format!(
            "UPDATE outbox SET holder = json_set(holder, '$.pid', {pid}) WHERE holder IS NOT NULL;"
        ),
    );
    session.file("project/go", "");
    let outcome = session.grove(["runs", "wait", id]);
    assert!(other.try_wait().unwrap().is_none(), "{outcome}");
    other.kill().unwrap();
    other.wait().unwrap();
    let shown = session.json(["runs", "show", id]);
    assert_eq!(
        shown["nodes"][0]["attempts"][0]["recoveries"],
        json!(1),
        "{shown}"
    );
}

/// Cases of the corpus about verify commands and lists, against the program.
#[test]
fn a_list_that_explodes_begins_no_child_and_a_project_runs_nothing_unseen() {
    let (server, session) = scene(|task, _| match task {
        "find" => Reply::call("structured_output", json!({ "items": vec![1; 3_000] })),
        _ => Reply::text("Done."),
    });
    let request = json!({ "task": "x", "chain": [
        { "agent": "worker", "task": "find", "as": "found", "outputSchema": { "type": "object" } },
        { "expand": { "from": { "output": "found", "path": "/items" }, "maxItems": 100 },
          "parallel": { "agent": "judge", "task": "look {item}" }, "collect": { "as": "all" } },
    ]});
    session.file("project/request.json", request.to_string());
    let outcome = session.grove("run --request request.json --json").fails(1);
    let run = run_of(&outcome.stdout);
    let reason = run["nodes"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("100"), "{reason}");
    assert_eq!(server.requests().len(), 1, "{run}");
    let chain = json!({ "name": "x", "description": "d", "chain": [
        { "agent": "worker", "task": "t", "acceptance": { "level": "verified",
          "verify": ["touch pwned; $(touch pwned2)"] } },
    ]});
    session.file("project/.grove/chains/x.chain.json", chain.to_string());
    session.trust().ok();
    session
        .grove(["run", "--chain", "x", "task"])
        .fails(1)
        .says([
            "not been approved",
            "touch pwned; $(touch pwned2)",
            "--approve",
        ]);
    assert!(!session.has("project/pwned") && !session.has("project/pwned2"));
    assert_eq!(server.requests().len(), 1);
}
