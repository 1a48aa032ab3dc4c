//! Chains whose steps work in working trees of their own: each begins with the work of those before it.

use std::sync::atomic::{AtomicBool, Ordering};

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::graphs::{scene, states};
use super::submodules::in_the_open;
use super::worktrees::{applies, git, git_in, last_id, patch, worktrees};
use super::{bash, end_all, run_of, within};

/// Far more than a checkout takes, however busy the machine is.
const LIMIT: std::time::Duration = std::time::Duration::from_mins(1);

/// A repository, and children that do what the first line of their task says in the shell and then say what it printed.
fn repository() -> (ModelServer, Session) {
    let (server, session) = scene(|task, turns| match (task.lines().next(), turns) {
        (Some("which?"), _) => Reply::call("structured_output", json!({ "items": ["a", "b"] })),
        (line, 0) => bash(line.unwrap_or_default()),
        (_, 2) => bash("sed -i s/zwei/two/ a.txt"),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    session.file("project/a.txt", "one\ntwo\nthree\n");
    session.file("project/.gitignore", "ignored/\n");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    (server, session)
}

fn chain(session: &Session, steps: &Value) {
    let request = json!({ "task": "x", "worktree": true, "chain": steps });
    session.file("project/request.json", request.to_string());
    git(session, "add request.json");
    git(session, "commit -q -m request");
}

fn step(task: &str) -> Value {
    json!({ "agent": "worker", "task": task })
}

fn run_chain(session: &Session, code: i32) -> (String, Value) {
    let words = ["run", "--request", "request.json", "--json"];
    let outcome = session.grove(words);
    let run = run_of(&outcome.stdout);
    let outcome = if code == 0 {
        outcome.ok()
    } else {
        outcome.fails(code)
    };
    assert!(!outcome.stdout.is_empty());
    (run["id"].as_str().unwrap().to_owned(), run)
}

/// The commit that a step's tree began with.
fn base(session: &Session, id: &str, node: &str) -> String {
    let shown = session.json(["runs", "diff", &format!("{id}.{node}")]);
    shown["patches"][0]["base"].as_str().unwrap().to_owned()
}

#[test]
fn a_step_sees_what_the_steps_before_it_did() {
    let (_server, session) = repository();
    chain(
        &session,
        &json!([
            step("echo four >> a.txt; mkdir ignored; echo x > ignored/x"),
            step("cat a.txt > seen; ls ignored >> seen; true"),
            step("cat seen >> verified; echo five >> a.txt"),
        ]),
    );
    let head = git(&session, "rev-parse HEAD");
    session.grove("plan --request request.json").ok().prints([
        &format!("worktree   of its own, from {}\n", head.trim()),
        &format!("from {} with the work of 1\n", head.trim()),
        &format!("from {} with the work of 1, 2\n", head.trim()),
    ]);
    let (id, run) = run_chain(&session, 0);
    assert_eq!(states(&run), ["1 complete", "2 complete", "3 complete"]);
    // What version control ignores is kept with its own step and goes nowhere else.
    assert!(run["nodes"][0]["patch"]["ignored"].is_string(), "{run}");
    let second = patch(&session, &id, "2");
    assert!(
        second.contains("+four") && !second.contains("a.txt b/a.txt"),
        "{second}"
    );
    assert!(!second.contains("+x"), "{second}");
    let third = patch(&session, &id, "3");
    assert!(
        third.contains("b/verified") && third.contains("+five"),
        "{third}"
    );
    assert_eq!(base(&session, &id, "1"), head.trim());
    let begun = base(&session, &id, "3");
    let before = git(&session, &format!("show {begun}:seen"));
    assert_eq!(before, "one\ntwo\nthree\nfour\n");
    assert_eq!(worktrees(&session), 0);
    assert_eq!(git(&session, "status --porcelain"), "");
    // All of it comes in at once, and once.
    session
        .grove(["runs", "apply", &id])
        .ok()
        .prints(["children 1, 2, 3: 3 files changed"]);
    let whole = "one\ntwo\nthree\nfour\nfive\n";
    assert_eq!(session.read("project/a.txt"), whole);
    assert!(session.has("project/verified"));
    session
        .grove(["runs", "apply", &id])
        .ok()
        .prints(["children 1, 2, 3: already applied"]);
    assert_eq!(session.read("project/a.txt"), whole);
    applies(&session, &patch(&session, &id, "1"));
}

#[test]
fn what_several_did_side_by_side_is_merged_for_the_next() {
    let (_server, session) = repository();
    session.file("project/old.txt", "old\n");
    git(&session, "add -A");
    chain(
        &session,
        &json!([
            { "parallel": [
                step("sed -i s/one/1/ a.txt; echo new > new.txt; rm old.txt"),
                step("sed -i s/three/3/ a.txt; echo new > new.txt; rm old.txt; chmod +x a.txt"),
            ] },
            step("cat a.txt new.txt > seen; ls -l a.txt | cut -c1-4 >> seen; ls old.txt; true"),
        ]),
    );
    let (id, run) = run_chain(&session, 0);
    assert_eq!(states(&run), ["1.0 complete", "1.1 complete", "2 complete"]);
    let seen = patch(&session, &id, "2");
    for line in ["+1", "+two", "+3", "+new", "+-rwx"] {
        assert!(seen.lines().any(|it| it == line), "{line}: {seen}");
    }
    session.grove(["runs", "apply", &id]).ok();
    assert_eq!(session.read("project/a.txt"), "1\ntwo\n3\n");
    assert!(!session.has("project/old.txt"));
}

#[test]
fn a_conflict_stops_before_the_step_with_both_patches_and_goes_on_once_it_is_settled() {
    let (_server, session) = repository();
    chain(
        &session,
        &json!([
            step("echo four >> a.txt"),
            { "parallel": [
                step("sed -i s/two/2/ a.txt; echo free > free.txt"),
                step("sed -i s/two/zwei/ a.txt"),
                step("echo other > other.txt"),
            ] },
            step("cat a.txt > seen"),
            step("echo last"),
        ]),
    );
    let (id, run) = run_chain(&session, 1);
    assert_eq!(
        states(&run),
        [
            "1 complete",
            "2.0 complete",
            "2.1 complete",
            "2.2 complete",
            "3 failed",
            "4 skipped"
        ]
    );
    let conflict = &run["nodes"][4]["cause"];
    assert_eq!(conflict["kind"], "conflict");
    assert_eq!(conflict["nodes"], json!(["2.0", "2.1"]));
    assert_eq!(conflict["files"], json!(["a.txt"]));
    let answer = run["result"].as_str().unwrap();
    for text in [
        "Step 3 was not started: the work of 2.0 and 2.1 conflicts in a.txt.",
        "=== 2.0 worker ===",
        "+2\n",
        "=== 2.1 worker ===",
        "+zwei\n",
    ] {
        assert!(answer.contains(text), "{text}: {answer}");
    }
    assert!(!answer.contains("+four"), "{answer}");
    assert_eq!(worktrees(&session), 0);
    // One of them gives way, and the chain goes on.
    let child = format!("{id}.2.1");
    session.grove(["runs", "resume", &child, "Give way."]).ok();
    let run = session.json(["runs", "show", &id]);
    assert_eq!(
        states(&run)[4..],
        ["3 complete".to_owned(), "4 complete".to_owned()]
    );
    let seen = patch(&session, &id, "3");
    assert!(seen.contains("+2\n") && seen.contains("+four"), "{seen}");
}

#[test]
fn a_step_that_was_not_done_hands_nothing_on_until_it_is() {
    let refused = AtomicBool::new(false);
    let (_server, session) = scene(move |task, turns| match (task.lines().next(), turns) {
        (Some("fail"), 0) => bash("echo begun > begun"),
        (Some("fail"), 1) if !refused.swap(true, Ordering::Relaxed) => Reply::error(400, "no"),
        (Some("fail"), 1) => bash("echo more >> begun"),
        (Some("look"), 0) => bash("cat begun > seen"),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    session.file("project/a.txt", "a\n");
    git(&session, "add -A");
    chain(&session, &json!([step("fail"), step("look")]));
    let (id, run) = run_chain(&session, 1);
    assert_eq!(states(&run), ["1 failed", "2 skipped"]);
    assert!(patch(&session, &id, "1").contains("b/begun"));
    session
        .grove(["runs", "resume", &format!("{id}.1"), "Go on"])
        .ok();
    let run = session.json(["runs", "show", &id]);
    assert_eq!(states(&run), ["1 complete", "2 complete"]);
    let seen = patch(&session, &id, "2");
    assert!(
        seen.contains("b/seen") && seen.contains("+begun") && seen.contains("+more"),
        "{seen}"
    );
}

#[test]
fn a_tree_that_is_made_again_begins_where_it_began() {
    let (_server, session) = repository();
    let hook = "#!/bin/sh\ngrep -o '\"baseCommit\":\"[0-9a-f]*\"' >> ../../../../bases\n\
                if [ -e first ] && [ ! -e ../../../../go ]; then sleep 3063.5; fi\necho '{\"syntheticPaths\": []}'\n";
    session.file("home/hook", hook);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(session.path("home/hook"), mode).unwrap();
    let settings = "[runs]\nmodel = 'anthropic/m'\nworktreeSetupHook = '~/hook'\n";
    session.file(USER_CONFIG, settings);
    chain(
        &session,
        &json!([step("echo 1 > first"), step("cat first > second")]),
    );
    let words = "run --request request.json --bg";
    let id = session.grove(words).ok().stdout.trim().to_owned();
    let bases = || {
        let text = session
            .has("state/bases")
            .then(|| session.read("state/bases"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    within(LIMIT, "the second tree is not made", || bases().len() == 2);
    // Killed while the tree is being set up: it is made anew.
    end_all(&session);
    session.file("state/go", "");
    session.grove(["runs", "wait", &id]).ok();
    let bases = bases();
    assert_eq!(bases.len(), 3, "{bases:?}");
    assert_ne!(bases[0], bases[1]);
    assert_eq!(bases[1], bases[2]);
    assert!(bases[2].contains(&base(&session, &id, "2")), "{bases:?}");
    // The commit may be gone by the time somebody goes on.
    git(&session, "reflog expire --expire=now --all");
    git(&session, "gc -q --prune=now");
    session
        .grove(["runs", "resume", &format!("{id}.2"), "More"])
        .ok();
    assert!(bases[2].contains(&base(&session, &id, "2")), "{bases:?}");
    assert!(patch(&session, &id, "2").contains("b/second"));
    assert_eq!(worktrees(&session), 0);
}

#[test]
fn the_work_of_a_list_is_before_the_next_step_and_is_there_when_that_is_run_again() {
    let (_server, session) = repository();
    chain(
        &session,
        &json!([
            { "agent": "judge", "task": "which?", "as": "found", "outputSchema": { "type": "object" }, "worktree": false },
            {
                "expand": { "from": { "output": "found", "path": "/items" }, "maxItems": 4 },
                "parallel": { "agent": "worker", "task": "echo {item} > {item}.txt" },
                "collect": { "as": "done" },
            },
            step("cat a.txt b.txt > seen"),
        ]),
    );
    let (id, run) = run_chain(&session, 0);
    assert_eq!(
        states(&run),
        [
            "1 complete",
            "2 complete",
            "2[0] complete",
            "2[1] complete",
            "3 complete"
        ]
    );
    assert!(patch(&session, &id, "3").contains("+b"));
    let begun = base(&session, &id, "3");
    session.grove(["runs", "again", &id, "--from", "3"]).ok();
    let again = last_id(&session);
    assert_ne!(again, id);
    assert_eq!(base(&session, &again, "3"), begun);
    session.grove(["runs", "apply", &again]).ok();
    assert_eq!(session.read("project/b.txt"), "b\n");
    assert!(session.has("project/seen"));
}

#[test]
fn a_named_beginning_counts_for_first_steps_and_for_the_step_that_names_it() {
    let (_server, session) = repository();
    git(&session, "tag old");
    session.file("project/a.txt", "newer\n");
    git(&session, "commit -q -a -m newer");
    chain(
        &session,
        &json!([
            step("cat a.txt > first"),
            { "agent": "worker", "task": "ls > second", "baseRef": "main" },
            step("cat a.txt > third; ls >> third"),
        ]),
    );
    // What is not committed is in no tree that somebody named.
    session.file("project/untracked", "u\n");
    let words = "run --request request.json --base-ref old --json";
    let run = run_of(&session.grove(words).ok().stdout);
    let id = run["id"].as_str().unwrap();
    assert!(patch(&session, id, "1").contains("+two"));
    let second = patch(&session, id, "2");
    assert!(
        second.contains("+a.txt") && !second.contains("+first"),
        "{second}"
    );
    let third = patch(&session, id, "3");
    assert!(
        third.contains("+newer") && third.contains("+second"),
        "{third}"
    );
    session
        .grove("run worker true --worktree --base-ref nowhere")
        .fails(2)
        .says(["has no commit `nowhere`", "a branch, a tag or a commit"]);
    session
        .grove("run worker true --base-ref old")
        .ok()
        .says(["`baseRef` has no effect without a working tree"]);
}

#[test]
fn what_is_done_in_a_submodule_stays_a_patch_of_its_own_step() {
    let (_server, session) = repository();
    in_the_open(&session);
    session.file("origin/l.txt", "one\n");
    git_in(&session, "origin", "init -q -b main");
    git_in(&session, "origin", "add -A");
    git_in(&session, "origin", "commit -q -m l");
    git(&session, "submodule --quiet add ../origin lib");
    let check_out = "git -c protocol.file.allow=always submodule update --init -q";
    chain(
        &session,
        &json!([
            step(&format!(
                "{check_out}; echo two >> lib/l.txt; echo top > top.txt"
            )),
            step("cat top.txt > seen"),
        ]),
    );
    let (id, _) = run_chain(&session, 0);
    let first = session.json(["runs", "diff", &format!("{id}.1")]);
    let inner = first["patches"][0]["submodules"][0]["patch"]
        .as_str()
        .unwrap();
    assert!(inner.contains("+two"), "{inner}");
    assert!(patch(&session, &id, "2").contains("+top"));
    session.grove(["runs", "apply", &id]).ok();
    assert_eq!(session.read("project/lib/l.txt"), "one\ntwo\n");
    assert_eq!(session.read("project/seen"), "top\n");
}
