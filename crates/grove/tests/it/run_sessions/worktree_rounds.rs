//! Whatever becomes of a child, in whatever repository: its work is in a patch that applies to a fresh checkout. A few rounds
//! here; `GROVE_WORKTREE_ROUNDS=50` goes through all ways in which they meet, twice.

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::json;

use super::graphs::scene;
use super::worktrees::{applies, git, git_in, worktrees};
use super::{bash, end_all, until};

/// How a child ends, and the state that it has then.
const ENDS: [(&str, &str); 4] = [
    ("succeeds", "complete"),
    ("fails", "failed"),
    ("is killed with everybody", "complete"),
    ("is stopped", "stopped"),
];
const REPOSITORIES: [&str; 6] = [
    "plain",
    "with an external diff",
    "with a submodule",
    "with hooks that fail",
    "with a monitor and conversions that fail",
    "with pointers to large files",
];
/// Passes over neither.
const STRIDE: usize = 5;

fn rounds() -> usize {
    let asked = std::env::var("GROVE_WORKTREE_ROUNDS").ok();
    asked.map_or(4, |asked| asked.parse().expect("a number"))
}

fn repository(kind: &str) -> (ModelServer, Session) {
    let (server, session) = scene(|task, turns| match turns {
        0 => bash(task),
        _ if task.contains("# fails") => Reply::error(400, "no"),
        _ => Reply::text("Done."),
    });
    // Children commit, stage and check submodules out, which the sandbox leaves to the person.
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
    git(&session, "init -q -b main");
    session.file("project/a.txt", "one\ntwo\n");
    session.file(
        "project/a.bin",
        "version https://git-lfs.github.com/spec/v1\n",
    );
    if kind == REPOSITORIES[2] {
        session.file("origin/l.txt", "one\n");
        git_in(&session, "origin", "init -q -b main");
        git_in(&session, "origin", "add -A");
        git_in(&session, "origin", "commit -q -m l");
        git(&session, "submodule --quiet add ../origin lib");
    }
    let attributes = match kind {
        it if it == REPOSITORIES[4] => "*.txt diff=x filter=x\n",
        it if it == REPOSITORIES[5] => "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        _ => "",
    };
    session.file("project/.gitattributes", attributes);
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    let settings: &[&str] = match kind {
        it if it == REPOSITORIES[1] => &["diff.external"],
        it if it == REPOSITORIES[4] => &[
            "core.fsmonitor",
            "diff.x.textconv",
            "filter.x.clean",
            "filter.x.smudge",
        ],
        it if it == REPOSITORIES[5] => &["filter.lfs.process", "filter.lfs.clean"],
        _ => &[],
    };
    for setting in settings {
        git(&session, &format!("config {setting} /bin/false"));
    }
    if kind == REPOSITORIES[3] {
        for name in [
            "post-checkout",
            "pre-commit",
            "reference-transaction",
            "post-index-change",
        ] {
            let hook = format!("project/.git/hooks/{name}");
            session.file(&hook, "#!/bin/sh\nexit 1\n");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(session.path(&hook), mode).unwrap();
        }
    }
    (server, session)
}

/// One child in one repository; its run.
fn round(session: &Session, end: &str, in_submodule: bool) -> String {
    let mut task = "echo x > made; echo three >> a.txt; cp a.bin b.bin".to_owned();
    if in_submodule {
        task = format!(
            "git -c protocol.file.allow=always submodule update --init -q; echo x >> lib/l.txt; {task}"
        );
    }
    let waits = end == ENDS[2].0 || end == ENDS[3].0;
    if waits {
        task.push_str("; touch begun; sleep 3096.5");
    }
    if end == ENDS[1].0 {
        task.push_str(" # fails");
    }
    let id = session
        .grove(["run", "worker", &task, "--worktree", "--bg"])
        .ok()
        .stdout;
    let id = id.trim().to_owned();
    if waits {
        until(|| session.has(format!("state/grove/worktrees/{id}/1-0/begun")));
        if end == ENDS[2].0 {
            end_all(session);
        } else {
            session.grove(["runs", "stop", &id]).ok();
        }
    }
    session.grove(["runs", "wait", &id]);
    id
}

#[test]
fn whatever_becomes_of_a_child_in_whatever_repository_its_work_applies_to_a_fresh_checkout() {
    let rounds = rounds();
    for at in 0..rounds {
        let at = at * STRIDE;
        let (end, state) = ENDS[at % ENDS.len()];
        let kind = REPOSITORIES[at / ENDS.len() % REPOSITORIES.len()];
        let what = format!("a child that {end}, in a repository {kind}");
        let (_server, session) = repository(kind);
        let in_submodule = kind == REPOSITORIES[2];
        let id = round(&session, end, in_submodule);
        let run = session.json(["runs", "show", &id]);
        assert_eq!(run["nodes"][0]["state"], state, "{what}: {run}");
        assert_eq!(worktrees(&session), 0, "{what}: {run}");
        let shown = session.json(["runs", "diff", &id]);
        let patch = shown["patches"][0]["patch"].as_str().unwrap();
        for setting in ["diff.external", "core.fsmonitor"] {
            let _ = std::process::Command::new("git")
                .args(["config", "--unset", setting])
                .current_dir(session.path("project"))
                .status();
        }
        applies(&session, patch);
        assert_eq!(session.read("fresh/made"), "x\n", "{what}");
        assert_eq!(session.read("fresh/a.txt"), "one\ntwo\nthree\n", "{what}");
        assert!(session.has("fresh/b.bin"), "{what}");
        if in_submodule {
            let inner = &shown["patches"][0]["submodules"][0];
            session.file("inner.patch", inner["patch"].as_str().unwrap());
            git_in(&session, "fresh", "submodule --quiet update --init");
            git_in(&session, "fresh/lib", "apply -p2 --index ../../inner.patch");
            assert_eq!(session.read("fresh/lib/l.txt"), "one\nx\n", "{what}");
        }
    }
    assert_eq!(sleepers("3096.5"), 0);
    println!("{rounds} of {rounds}");
}

#[test]
fn skills_of_a_trusted_repository_are_trusted_in_its_trees() {
    let (server, session) = scene(|_, turns| match turns {
        0 => Reply::call("skill", json!({ "name": "house" })),
        1 => Reply::call("read", json!({ "path": "a.txt" })),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    session.file("project/a.txt", "a\n");
    session.skill(
        "project/.grove/skills/house",
        "house",
        "The rules of this house.",
    );
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    let activated = || {
        session.grove(["run", "worker", "x", "--worktree"]).ok();
        let last = server.requests();
        let last = &last[last.len() - 2].body;
        String::from_utf8_lossy(last).into_owned()
    };
    let failed = "\"is_error\":true";
    let refused = activated();
    assert!(refused.contains(failed), "{refused}");
    session.trust().ok();
    let told = activated();
    assert!(!told.contains(failed) && told.contains("# house"), "{told}");
}

#[test]
fn agents_and_skills_of_a_trusted_repository_are_trusted_in_runs_below_its_trees() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => bash("echo Changed. >> .grove/skills/other/SKILL.md"),
        ("lead", 1) => Reply::call("subagent", json!({ "agent": "helper", "task": "help" })),
        ("help", 0) => Reply::call("skill", json!({ "name": "house" })),
        ("help", 1) => Reply::call("skill", json!({ "name": "other" })),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    session.definition(
        "home/.grove/agents/boss.md",
        "tools: read, write, bash, subagent\n",
        "Lead.",
    );
    session.definition(
        "project/.grove/agents/helper.md",
        "tools: read\n",
        "You help.",
    );
    session.skill(
        "project/.grove/skills/house",
        "house",
        "The rules of this house.",
    );
    session.skill("project/.grove/skills/other", "other", "Other rules.");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    session.trust().ok();
    session.grove(["run", "boss", "lead", "--worktree"]).ok();
    let bodies = server.requests();
    let bodies: Vec<String> = bodies
        .iter()
        .map(|it| String::from_utf8_lossy(&it.body).into_owned())
        .collect();
    let helped = bodies.iter().rfind(|body| body.contains("You help."));
    let helped = helped.unwrap_or_else(|| panic!("{bodies:?}"));
    assert!(helped.contains("# house"), "{helped}");
    assert!(
        !helped.contains("Changed."),
        "what a child wrote was seen by nobody: {helped}"
    );
}

/// As on a full disk: nothing can be written where version control keeps what it has.
#[test]
fn what_cannot_be_stored_stays_is_listed_and_is_stored_when_there_is_room_again() {
    let (_server, session) = repository(REPOSITORIES[0]);
    git(&session, "gc -q");
    let places: Vec<String> = (0..256_u32)
        .map(|at| format!("project/.git/objects/{at:02x}"))
        .collect();
    for place in &places {
        session.file(place, "");
    }
    let outcome = session.grove(["run", "worker", "echo x > made", "--worktree", "--json"]);
    let run = super::run_of(&outcome.stdout);
    let id = run["id"].as_str().unwrap();
    let tree = &run["nodes"][0]["worktree"];
    assert!(
        tree["kept"]
            .as_str()
            .unwrap()
            .contains("could not be stored"),
        "{run}"
    );
    let path = std::path::Path::new(tree["path"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(path.join("made")).unwrap(), "x\n");
    session
        .grove(["runs", "show", id])
        .ok()
        .prints(["working tree", "could not be stored"]);
    for place in &places {
        session.remove(place);
    }
    session.grove(["runs", "resume", id, "More"]).ok();
    let shown = session.json(["runs", "diff", id]);
    applies(&session, shown["patches"][0]["patch"].as_str().unwrap());
    assert_eq!(session.read("fresh/made"), "x\n");
    assert_eq!(worktrees(&session), 0);
}
