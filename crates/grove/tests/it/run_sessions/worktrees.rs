//! Children in working trees of their own: what they did is in a patch before anything is removed.

use std::process::Command;

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::session::Session;
use serde_json::Value;

use super::graphs::scene;
use super::{bash, end_all, run_of, within};

/// Far more than two checkouts take, however busy the machine is.
const LIMIT: std::time::Duration = std::time::Duration::from_mins(1);

/// git in the project, which has to succeed.
pub(crate) fn git(session: &Session, words: &str) -> String {
    git_in(session, "project", words)
}

pub(super) fn git_in(session: &Session, folder: &str, words: &str) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@localhost"])
        .args(["-c", "protocol.file.allow=always"])
        .args(words.split(' '))
        .current_dir(session.path(folder))
        .env("HOME", session.path("home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// A repository with a file, and children that do what their task says in the shell.
pub(super) fn repository() -> (ModelServer, Session) {
    let (server, session) = scene(|task, turns| match turns {
        0 => bash(task),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    session.file("project/a.txt", "one\ntwo\nthree\n");
    session.file("project/sub/b.txt", "b\n");
    session.file("project/.gitignore", "ignored/\n");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    (server, session)
}

pub(super) fn patch(session: &Session, id: &str, node: &str) -> String {
    let shown = session.json(["runs", "diff", &format!("{id}.{node}")]);
    shown["patches"][0]["patch"].as_str().unwrap().to_owned()
}

pub(super) fn last_id(session: &Session) -> String {
    let id = &session.json("runs list")["runs"][0]["id"];
    id.as_str().unwrap().to_owned()
}

pub(super) fn worktrees(session: &Session) -> usize {
    git(session, "worktree list --porcelain")
        .lines()
        .filter(|line| line.starts_with("worktree "))
        .count()
        - 1
}

/// A fresh checkout in which a patch applies.
pub(super) fn applies(session: &Session, patch: &str) {
    session.file("patch", patch);
    let _ = std::fs::remove_dir_all(session.path("fresh"));
    git_in(session, ".", "clone -q project fresh");
    git_in(session, "fresh", "apply --index ../patch");
}

#[test]
fn two_in_the_background_survive_the_end_of_everything_and_both_patches_are_there() {
    let (_server, session) = repository();
    let wait = "while [ ! -e ../../../../go ]; do sleep 0.01; done";
    let first = format!("echo 1 >> a.txt; touch begun; {wait}");
    let second = format!("echo 2 > new.txt; touch begun; {wait}");
    let words = [
        "run",
        "worker",
        &first,
        ",",
        "worker",
        &second,
        "--worktree",
        "--bg",
    ];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    let begun = |node: &str| session.has(format!("state/grove/worktrees/{id}/{node}-0/begun"));
    within(LIMIT, "they do not begin", || begun("1.0") && begun("1.1"));
    assert_eq!(worktrees(&session), 2);
    end_all(&session);
    session.grove(["runs", "wait", &id]).ok();
    let run = session.json(["runs", "show", &id]);
    for (node, name) in [(0, "a.txt"), (1, "new.txt")] {
        let node = &run["nodes"][node];
        assert_eq!(
            (&node["state"], &node["worktree"]),
            (&"complete".into(), &Value::Null)
        );
        let patch = patch(&session, &id, node["id"].as_str().unwrap());
        assert!(patch.contains(&format!("b/{name}")), "{patch}");
        applies(&session, &patch);
    }
    assert_eq!(worktrees(&session), 0);
    assert_eq!(git(&session, "status --porcelain"), "");
    session.grove(["runs", "apply", &id]).ok();
    assert!(session.read("project/a.txt").ends_with("three\n1\n"));
    assert_eq!(session.read("project/new.txt"), "2\n");
}

#[test]
fn whatever_becomes_of_a_child_its_work_is_in_a_patch() {
    for (what, task, words, state) in [
        ("succeeds", "echo x > made", &[][..], "complete"),
        (
            "is stopped",
            "echo x > made; sleep 3051.5",
            &["--timeout", "1"][..],
            "failed",
        ),
        (
            "commits",
            "echo x > made; git add -A; git -c user.name=x -c user.email=x@y commit -qm c",
            &[][..],
            "complete",
        ),
        ("stages", "echo x > made; git add made", &[][..], "complete"),
        (
            "makes it executable",
            "echo x > made; chmod +x a.txt",
            &[][..],
            "complete",
        ),
        (
            "writes bytes",
            "head -c 5000 /dev/urandom > blob; echo x > made",
            &[][..],
            "complete",
        ),
        (
            "works below",
            "echo x > ../made",
            &["--cwd", "sub"][..],
            "complete",
        ),
    ] {
        let (_server, session) = repository();
        // Things of the repository and of the person that would get in the way.
        session.file("project/.git/hooks/post-checkout", "#!/bin/sh\nexit 1\n");
        let hook = session.path("project/.git/hooks/post-checkout");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(hook, mode).unwrap();
        git(&session, "config diff.external /bin/false");
        git(&session, "config core.fsmonitor /bin/false");
        let all = [&["run", "worker", task, "--worktree", "--json"][..], words].concat();
        let outcome = session.grove(all);
        let run = run_of(&outcome.stdout);
        assert_eq!(run["state"], state, "{what}: {run}");
        let patch = patch(&session, run["id"].as_str().unwrap(), "1");
        assert!(patch.contains("b/made"), "{what}: {patch}");
        applies(&session, &patch);
        assert_eq!(worktrees(&session), 0, "{what}");
        assert!(!session.has("project/made"), "{what}");
    }
}

#[test]
fn what_a_patch_cannot_have_is_kept() {
    let (_server, session) = repository();
    session
        .grove([
            "run",
            "worker",
            "mkdir ignored; echo x > ignored/small",
            "--worktree",
        ])
        .ok();
    let id = last_id(&session);
    let run = session.json(["runs", "show", &id]);
    assert!(run["nodes"][0]["patch"]["ignored"].is_string(), "{run}");
    assert_eq!(worktrees(&session), 0);
    let large = "mkdir ignored; head -c 40000000 /dev/zero > ignored/large; echo x > made";
    session.grove(["run", "worker", large, "--worktree"]).ok();
    let id = last_id(&session);
    session
        .grove(["runs", "show", &id])
        .ok()
        .prints(["working tree", "more than 32 MiB"]);
    assert_eq!(worktrees(&session), 1);
    assert!(patch(&session, &id, "1").contains("b/made"));
    let pruned = session.json("runs prune --days 0");
    assert_eq!(
        (&pruned["runs"], &pruned["kept"][0]),
        (&1.into(), &id.as_str().into())
    );
    assert_eq!(worktrees(&session), 1, "what is nowhere else is not pruned");
    let inner = "git init -q inner && cd inner && echo x > y && git add y && git -c user.name=x -c user.email=x@y commit -qm c";
    session.grove(["run", "worker", inner, "--worktree"]).ok();
    let id = last_id(&session);
    session
        .grove(["runs", "show", &id])
        .ok()
        .prints(["working tree", "inner"]);
}

#[test]
fn a_dirty_repository_is_refused_with_the_way_out_and_no_repository_too() {
    let (server, session) = repository();
    session.file("project/a.txt", "one\ntwo\nTHREE\n");
    session.file("project/untracked", "u\n");
    session
        .grove(["run", "worker", "true", "--worktree"])
        .fails(1)
        .says(["not committed: a.txt, untracked", "--include-changes"]);
    assert_eq!(server.requests().len(), 0);
    let task = "cat a.txt untracked > made; echo more >> a.txt";
    let outcome = session
        .grove([
            "run",
            "worker",
            task,
            "--worktree",
            "--include-changes",
            "--json",
        ])
        .ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    let patch = patch(&session, &id, "1");
    assert!(patch.contains("+THREE") && patch.contains("+u"), "{patch}");
    assert!(
        !patch.contains("b/untracked"),
        "what was there is not the child's: {patch}"
    );
    session.grove(["runs", "apply", &id]).ok();
    assert_eq!(session.read("project/a.txt"), "one\ntwo\nTHREE\nmore\n");
    let outside = session.path("elsewhere");
    std::fs::create_dir_all(&outside).unwrap();
    session
        .grove([
            "run",
            "worker",
            "true",
            "--worktree",
            "--cwd",
            outside.to_str().unwrap(),
        ])
        .fails(2)
        .says(["not in a git repository"]);
}

#[test]
fn a_conflict_is_said_and_what_was_resumed_goes_on_in_its_files() {
    let (_server, session) = scene(|_, turns| match turns {
        0 => bash("sed -i s/two/2/ a.txt"),
        1 => Reply::text("Once."),
        2 => bash("cat a.txt > seen; echo four >> a.txt"),
        _ => Reply::text("Twice."),
    });
    git(&session, "init -q -b main");
    session.file("project/a.txt", "one\ntwo\nthree\n");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    let outcome = session
        .grove(["run", "worker", "x", "--worktree", "--json"])
        .ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    session.grove(["runs", "resume", &id, "More"]).ok();
    let patch = patch(&session, &id, "1");
    assert!(
        patch.contains("+2") && patch.contains("+four") && patch.contains("b/seen"),
        "{patch}"
    );
    assert_eq!(worktrees(&session), 0);
    session.file("project/a.txt", "one\nzwei\nthree\n");
    git(&session, "commit -q -a -m other");
    session
        .grove(["runs", "apply", &id])
        .fails(1)
        .prints(["conflict in a.txt"]);
    assert!(session.read("project/a.txt").contains("<<<<<<<"));
    // Undone, the file and the index are as before, without a conflict; redone, with one.
    session.grove("undo").ok().says(["undid `grove runs apply"]);
    assert_eq!(session.read("project/a.txt"), "one\nzwei\nthree\n");
    assert_eq!(git(&session, "status --porcelain"), "");
    session.grove("redo").ok();
    assert!(git(&session, "status --porcelain").contains("UU a.txt"));
}

#[test]
fn undo_after_apply_takes_back_the_patch_and_nothing_else() {
    let (_server, session) = repository();
    session.grove("agents create x --description d").ok();
    let words = "sed -i s/two/2/ a.txt; mkdir -p in; echo n > in/new; chmod +x in/new";
    session.grove(["run", "worker", words, "--worktree"]).ok();
    let id = last_id(&session);
    session.file("project/mine.txt", "mine\n");
    git(&session, "add mine.txt");
    let before = git(&session, "status --porcelain");
    let applied = session.grove(["runs", "apply", &id]).ok();
    applied.prints(["2 files changed and staged"]);
    let after = git(&session, "status --porcelain");
    assert!(
        after.contains("M  a.txt") && after.contains("A  in/new"),
        "{after}"
    );
    session
        .grove("undo")
        .ok()
        .says([&*format!("undid `grove runs apply {id}`")]);
    assert_eq!(git(&session, "status --porcelain"), before);
    assert_eq!(session.read("project/a.txt"), "one\ntwo\nthree\n");
    assert!(!session.has("project/in"));
    assert!(session.has("home/.grove/agents/x.md"));
    session.grove("redo").ok();
    assert_eq!(git(&session, "status --porcelain"), after);
    // A second time there is nothing to apply, and what came before is not undone instead.
    session.grove("undo").ok();
    session.grove(["runs", "apply", &id]).ok();
    assert_eq!(git(&session, "status --porcelain"), after);
    session
        .grove(["runs", "apply", &id])
        .ok()
        .prints(["already applied"]);
    session
        .grove("undo")
        .fails(1)
        .says(["changed nothing that could be undone", "--yes"]);
    // What was staged since is left alone.
    session.file("project/a.txt", "one\n2\nthree\nfour\n");
    git(&session, "add a.txt");
    session.file("project/a.txt", "one\n2\nthree\n");
    session
        .grove("undo --yes")
        .fails(1)
        .says(["was changed since"]);
    assert_eq!(session.read("project/a.txt"), "one\n2\nthree\n");
    // A file with changes is patched as it is, and that is said.
    git(&session, "reset -q --hard HEAD");
    session.file("project/a.txt", "other\n");
    git(&session, "add a.txt");
    session.file("project/a.txt", "one\ntwo\nthree\n");
    let before = git(&session, "status --porcelain");
    let applied = session.grove(["runs", "apply", &id]).ok();
    applied.prints(["not staged"]);
    assert_eq!(session.read("project/a.txt"), "one\n2\nthree\n");
    session.grove("undo").ok();
    assert_eq!(session.read("project/a.txt"), "one\ntwo\nthree\n");
    assert_eq!(git(&session, "status --porcelain"), before);
}
