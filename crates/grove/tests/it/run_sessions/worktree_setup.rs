//! What is done in a working tree before its child begins: a program of the person's or of the project's, and what version
//! control does not have.

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::model_server::Reply;
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::graphs::scene;
use super::worktrees::{git, last_id, patch, repository, worktrees};
use super::{bash, run_of, until};

/// Bytes of a digest that are typed.
const TYPED: usize = 64;

/// A program that can be run.
fn program(session: &Session, path: &str, script: &str) {
    session.file(path, format!("#!/bin/sh\n{script}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(session.path(path), mode).unwrap();
}

fn configure(session: &Session, lines: &str) {
    let all = format!("[runs]\nmodel = 'anthropic/m'\n{lines}\n");
    session.file(USER_CONFIG, all);
}

/// The lines that a patch adds to a file.
fn added(patch: &str, file: &str) -> String {
    let (_, of_file) = patch
        .split_once(&format!("+++ b/{file}\n"))
        .unwrap_or_else(|| panic!("{file} in {patch}"));
    let lines = of_file
        .lines()
        .take_while(|line| !line.starts_with("diff "));
    lines
        .filter_map(|line| line.strip_prefix('+'))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_hook_is_told_about_its_tree_and_what_it_made_is_in_no_patch() {
    let (_server, session) = repository();
    program(
        &session,
        "home/bin/setup",
        "cat > hook.json; mkdir -p made/dep; echo d > made/dep/d; pwd > where
         echo '{\"syntheticPaths\": [\"hook.json\", \"./made/dep/\", \"where\"]}'",
    );
    configure(&session, "worktreeSetupHook = '~/bin/setup'");
    let task = "cp ../hook.json ../told.json; cp ../where ../was; cat ../made/dep/d > ../listed";
    let words = ["run", "worker", task, ",", "worker", task];
    let outcome = session
        .grove([&words[..], &["--worktree", "--cwd", "sub", "--json"]].concat())
        .ok();
    let run = run_of(&outcome.stdout);
    let id = run["id"].as_str().unwrap();
    let head = git(&session, "rev-parse HEAD");
    for (at, node) in ["1.0", "1.1"].into_iter().enumerate() {
        let patch = patch(&session, id, node);
        let told: Value = serde_json::from_str(&added(&patch, "told.json")).unwrap();
        let tree = session.path(format!("state/grove/worktrees/{id}/{node}-0"));
        assert_eq!(
            told,
            json!({
                "version": 1,
                "repoRoot": session.path("project"),
                "worktreePath": tree,
                "agentCwd": tree.join("sub"),
                "branch": "HEAD",
                "index": at,
                "runId": id,
                "baseCommit": head.trim(),
                "agent": "worker",
            })
        );
        assert_eq!(added(&patch, "was"), tree.to_str().unwrap());
        assert_eq!(added(&patch, "listed"), "d");
        assert!(
            !patch.contains("b/hook.json") && !patch.contains("b/made"),
            "{patch}"
        );
        let of_node = &run["nodes"][at]["patch"];
        assert_eq!(
            (&of_node["files"], &of_node["ignored"]),
            (&json!(3), &Value::Null)
        );
    }
    assert_eq!(worktrees(&session), 0);
}

#[test]
fn a_hook_that_fails_leaves_no_tree_and_no_child_begins() {
    for (what, script, lines, says) in [
        (
            "fails",
            "echo no disk >&2; exit 3",
            "",
            "failed with code 3: no disk",
        ),
        ("says nothing", "true", "", "did not print one JSON object"),
        (
            "says words",
            "echo done",
            "",
            "did not print one JSON object",
        ),
        (
            "says two things",
            "echo '{}{}'",
            "",
            "did not print one JSON object",
        ),
        (
            "owns what is tracked",
            "echo '{\"syntheticPaths\":[\"sub\"]}'",
            "",
            "version control has `sub`",
        ),
        (
            "owns everything",
            "echo '{\"syntheticPaths\":[\".\"]}'",
            "",
            "`.` is not a path inside",
        ),
        (
            "owns what is outside",
            "echo '{\"syntheticPaths\":[\"a/../../x\"]}'",
            "",
            "is not a path inside",
        ),
        (
            "owns the repository",
            "echo '{\"syntheticPaths\":[\".git\"]}'",
            "",
            "`.git` is not a path inside",
        ),
        (
            "hangs",
            "sleep 3091.5",
            "worktreeSetupHookTimeoutMs = 300",
            "took longer than 300 ms",
        ),
    ] {
        let (server, session) = repository();
        program(&session, "home/bin/setup", script);
        configure(
            &session,
            &format!("worktreeSetupHook = '~/bin/setup'\n{lines}"),
        );
        let outcome = session.grove(["run", "worker", "true", "--worktree", "--json"]);
        let run = run_of(&outcome.fails(1).stdout);
        let reason = run["nodes"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(says), "{what}: {reason}");
        assert_eq!(run["nodes"][0]["cause"]["kind"], "isolation", "{what}");
        assert_eq!(
            (worktrees(&session), server.requests().len()),
            (0, 0),
            "{what}"
        );
        assert_eq!(sleepers("3091.5"), 0, "{what}");
    }
    let (server, session) = repository();
    for (hook, code, says) in [
        ("setup", 0, "must be a path with a slash"),
        ("~/nowhere", 2, "is not a program"),
        ("sub/", 2, "is not a program"),
    ] {
        configure(&session, &format!("worktreeSetupHook = '{hook}'"));
        let outcome = match code {
            0 => session.grove("config"),
            _ => session
                .grove(["run", "worker", "true", "--worktree"])
                .fails(code),
        };
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(says), "{hook}: {said}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_projects_hook_runs_only_as_it_was_approved() {
    let (_server, session) = scene(|task, turns| match turns {
        0 => bash(task),
        _ => Reply::text("Done."),
    });
    git(&session, "init -q -b main");
    let first = "echo first > version; echo '{\"syntheticPaths\":[]}'";
    program(&session, "project/scripts/setup", first);
    session.file(
        "project/.grove/config.toml",
        "[runs]\nworktreeSetupHook = 'scripts/setup'\n",
    );
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    session.trust().ok();
    let run = ["run", "worker", "true", "--worktree"];
    let refused = session.grove(run).fails(1);
    let said = refused.stderr.clone();
    let digest = said.split("--approve ").nth(1).unwrap()[..TYPED].to_owned();
    let text = "| echo first > version; echo '{\"syntheticPaths\":[]}'";
    refused.says(["scripts/setup has not been approved", "read it: ", text]);
    let approved = |digest: &str| {
        let words = [&run[..], &["--approve", digest]].concat();
        session.grove(words)
    };
    approved("0123456789abcdef").fails(1);
    approved(&digest[..8]).fails(1);
    approved(&digest[..16]).fails(1);
    approved(&digest).ok();
    assert_eq!(
        added(&patch(&session, &last_id(&session), "1"), "version"),
        "first"
    );
    // It is remembered, and can be taken back.
    session.grove(run).ok();
    session
        .grove("trust --list")
        .ok()
        .prints([&digest[..16], "scripts/setup"]);
    session
        .grove(["untrust", "--approval", &digest])
        .ok()
        .prints(["no longer approved"]);
    session.grove(run).fails(1);
    approved(&digest).ok();
    // What runs is the text that was approved, whatever somebody makes of the file meanwhile.
    let file = session.path("project/scripts/setup");
    let other = format!(
        "printf '#!/bin/sh\\necho other > version; echo {{}}\\n' > {}",
        file.display()
    );
    let request = json!({ "task": "x", "chain": [
        { "agent": "worker", "task": other },
        { "parallel": [{ "agent": "worker", "task": "true" }], "worktree": true },
    ]});
    session.file("request.json", request.to_string());
    let outcome = session
        .grove(["run", "--request", "../request.json", "--json"])
        .ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    assert!(session.read("project/scripts/setup").contains("other"));
    assert_eq!(added(&patch(&session, &id, "2.0"), "version"), "first");
    // Changed, it is another.
    git(&session, "commit -q -a -m other");
    session.grove(run).fails(1).says(["has not been approved"]);
    // Of the person's own there is nothing to approve, and it goes before the project's.
    program(&session, "home/bin/own", "echo own > version; echo '{}'");
    configure(&session, "worktreeSetupHook = '~/bin/own'");
    session.grove(run).ok();
    assert_eq!(
        added(&patch(&session, &last_id(&session), "1"), "version"),
        "own"
    );
    // One that is in the repository is whoever's writes to it, whoever names it.
    configure(&session, "worktreeSetupHook = 'scripts/setup'");
    session.grove(run).fails(1).says(["has not been approved"]);
}

#[test]
fn a_child_approves_nothing() {
    let grove = env!("CARGO_BIN_EXE_grove");
    let ask = format!("{grove} run judge look --approve 0123456789abcdef");
    let (server, session) = scene(move |task, turns| match (task, turns) {
        ("lead", 0) => bash(&ask),
        _ => Reply::text("Done."),
    });
    configure(&session, "sandbox = 'off'");
    session.grove(["run", "worker", "lead"]).ok();
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(last.contains("a child approves nothing"), "{last}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_version_control_does_not_have_is_linked_or_copied_as_told() {
    let (_server, session) = repository();
    session.file("project/.gitignore", "ignored/\nnode_modules/\n.env\n");
    session.link("project/out", "../elsewhere");
    git(&session, "add -A");
    git(&session, "commit -q -m more");
    session.file("project/node_modules/m/index.js", "m\n");
    session.file("project/.env", "KEY=1\n");
    configure(
        &session,
        "worktreeLink = ['node_modules', 'not-there']\nworktreeCopy = ['.env', 'vendor/cache']",
    );
    let task =
        "cat node_modules/m/index.js .env > seen; echo KEY=2 > .env; git add -A; ls -A > names";
    session.grove(["run", "worker", task, "--worktree"]).ok();
    let patch = patch(&session, &last_id(&session), "1");
    assert_eq!(added(&patch, "seen"), "m\nKEY=1");
    assert!(
        !patch.contains("b/node_modules") && !patch.contains("b/.env"),
        "{patch}"
    );
    assert!(!added(&patch, "names").contains("not-there"));
    assert_eq!(worktrees(&session), 0);
    assert_eq!(session.read("project/node_modules/m/index.js"), "m\n");
    assert_eq!(session.read("project/.env"), "KEY=1\n");
    session.file("project/ignored/x", "x");
    session.dir("elsewhere");
    for (lines, says) in [
        ("worktreeLink = ['sub']", "version control has `sub`"),
        ("worktreeCopy = ['../home']", "is not a path inside"),
        ("worktreeCopy = ['/etc/hostname']", "is not a path inside"),
    ] {
        configure(&session, lines);
        let outcome = session.grove(["run", "worker", "true", "--worktree"]);
        outcome.fails(1).says([says]);
        assert_eq!(worktrees(&session), 0, "{lines}");
    }
    // A link of the repository's leads nowhere else.
    session.file("elsewhere/kept", "kept");
    configure(&session, "worktreeCopy = ['out/kept']");
    session.grove(["run", "worker", "true", "--worktree"]);
    assert_eq!(session.entries("elsewhere"), ["kept"]);
}

#[test]
fn whoever_is_stopped_while_its_tree_is_set_up_is_stopped() {
    let (server, session) = repository();
    program(&session, "home/bin/setup", "sleep 3092.5");
    configure(&session, "worktreeSetupHook = '~/bin/setup'");
    let words = ["run", "worker", "true", "--worktree", "--bg"];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    until(|| sleepers("3092.5") > 0);
    session.grove(["runs", "stop", &id]).ok();
    session.grove(["runs", "wait", &id]).fails(130);
    let run = session.json(["runs", "show", &id]);
    assert_eq!(run["nodes"][0]["state"], "stopped");
    assert_eq!((sleepers("3092.5"), worktrees(&session)), (0, 0));
    assert_eq!(server.requests().len(), 0);
}
