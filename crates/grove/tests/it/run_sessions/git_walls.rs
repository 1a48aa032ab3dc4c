//! Git runs nothing that a repository, a child or a check names, and a check sees the files that it relies on as they were.

use std::path::Path;

use grove_testkit::hostile_repositories::{hostile_repositories, marks_in};
use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::graphs::scene;
use super::worktrees::{git, repository};
use super::{bash, run_of};

/// A child that does what its task says in the shell; one that looks at work says yes.
fn workers() -> (ModelServer, Session) {
    scene(|task, turns| {
        if task.starts_with("Look at what another agent did") {
            return Reply::call("structured_output", json!({ "blockers": [], "notes": [] }));
        }
        match turns {
            0 => bash(task.lines().next().unwrap_or_default()),
            _ => Reply::text("Done."),
        }
    })
}

/// Asks for a child in a folder, whatever comes of it.
fn ask(session: &Session, folder: &Path, words: &[&str]) {
    session.grove_in(folder, words);
}

#[test]
fn nothing_of_a_hostile_repository_runs_in_any_command() {
    let every = hostile_repositories();
    let shapes = every.iter().filter(|it| it.name.ends_with("every key"));
    for hostile in shapes {
        let (_server, session) = workers();
        let marks = session.path("marks");
        let used = hostile.lay_out(&session.path("project/clone"), &marks);
        let reviewed = json!({
            "agent": "worker",
            "task": "echo x >> a.txt",
            "acceptance": { "level": "reviewed", "verify": ["true"], "review": { "agent": "judge", "required": true } },
        });
        session.file("reviewed.json", reviewed.to_string());
        let checked = json!({
            "agent": "worker",
            "task": "echo c >> a.txt",
            "acceptance": { "level": "checked" },
        });
        session.file("checked.json", checked.to_string());
        let checked = session.path("checked.json").display().to_string();
        let request = session.path("reviewed.json").display().to_string();
        for words in [
            &["plan", "worker", "true"][..],
            &["plan", "worker", "true", "--worktree"],
            &["run", "--request", &checked],
            &["run", "worker", "echo y >> a.txt", "--verify", "true"],
            &["run", "--request", &request],
            &[
                "run",
                "worker",
                "echo z > z",
                "--worktree",
                "--include-changes",
                "--verify",
                "true",
            ],
            &["runs", "diff", "LAST"],
            &["runs", "apply", "LAST"],
            &["runs", "ledger", "LAST", "--verify"],
            &["trust", "--yes"],
            &["doctor"],
        ] {
            let last = session.json("runs list")["runs"][0]["id"].clone();
            let last = last.as_str().unwrap_or("none").to_owned();
            let words: Vec<&str> = words
                .iter()
                .map(|word| if *word == "LAST" { &last } else { *word })
                .collect();
            ask(&session, &used, &words);
            let ran = marks_in(&marks);
            assert!(ran.is_empty(), "{}: {words:?}: {ran:?}", hostile.name);
        }
    }
}

#[test]
fn what_a_child_or_a_check_leaves_for_git_is_put_back() {
    for (what, task, check) in [
        (
            "a child",
            "git config core.fsmonitor 'touch ran; false'; echo 'touch ran' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
            "true",
        ),
        (
            "a check",
            "true",
            "git config core.fsmonitor 'touch ran; false'; echo 'touch ran' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        ),
    ] {
        let (_server, session) = workers();
        session.file("project/a.txt", "one\n");
        git(&session, "init -q -b main");
        git(&session, "add -A");
        git(&session, "commit -q -m first");
        let config = session.read("project/.git/config");
        session.grove(["run", "worker", task, "--verify", check]);
        assert_eq!(session.read("project/.git/config"), config, "{what}");
        assert!(!session.has("project/.git/hooks/pre-commit"), "{what}");
        git(&session, "status");
        git(&session, "commit -q --allow-empty -m second");
        assert!(!session.has("project/ran"), "{what}");
    }
}

/// What a child or a check does so that the person's next git runs `touch ran`, in other places than the configuration.
const ELSEWHERE: [&str; 4] = [
    "mkdir .git/evil; cp -r .git/objects .git/refs .git/HEAD .git/evil; MONITOR > .git/evil/config; echo evil > .git/commondir",
    "git config extensions.worktreeConfig true; MONITOR > .git/worktrees/other/config.worktree",
    "rm -rf .git/hooks; ln -s ../later .git/hooks",
    "git init -q nested; git -C nested -c user.name=x -c user.email=x commit -q --allow-empty -m x; \
     MONITOR >> nested/.git/config; git add nested",
];

#[test]
fn what_a_child_or_a_check_leaves_for_git_elsewhere_is_put_back_too() {
    for way in ELSEWHERE {
        for is_check in [false, true] {
            let (_server, session) = workers();
            session.file("project/a.txt", "one\n");
            git(&session, "init -q -b main");
            git(&session, "add -A");
            git(&session, "commit -q -m first");
            git(&session, "worktree add -q ../other");
            let ran = session.path("ran").display().to_string();
            let monitor = format!("printf '[core]\\n\\tfsmonitor = touch {ran}; false\\n'");
            let way = way.replace("MONITOR", &monitor);
            let (task, check) = if is_check {
                ("true", &*way)
            } else {
                (&*way, "true")
            };
            session.grove(["run", "worker", task, "--verify", check]);
            // What is put there later by a commit of somebody else.
            session.file(
                "project/later/pre-commit",
                format!("#!/bin/sh\ntouch {ran}\n"),
            );
            let hook = session.path("project/later/pre-commit");
            let program = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(hook, program).unwrap();
            for folder in ["project", "other"] {
                super::worktrees::git_in(&session, folder, "status");
                super::worktrees::git_in(&session, folder, "commit -q --allow-empty -m second");
            }
            assert!(!session.has("ran"), "{is_check}: {way}");
        }
    }
}

#[test]
fn a_working_tree_whose_link_was_exchanged_is_captured_from_its_own_repository() {
    let (_server, session) = repository();
    let task = "echo exchanged > a.txt; mkdir evil; echo gitdir: ./evil > .git";
    session.grove(["run", "worker", task, "--worktree"]).ok();
    let id = super::worktrees::last_id(&session);
    let patch = session.json(["runs", "diff", &id])["patches"][0]["patch"].to_string();
    assert!(patch.contains("+exchanged"), "{patch}");
    assert_eq!(super::worktrees::worktrees(&session), 0);
}

/// A repository in which two scripts tell right from wrong.
fn with_checks() -> (ModelServer, Session) {
    let (server, session) = workers();
    for folder in ["", "sub/"] {
        session.file(
            format!("project/{folder}check.sh"),
            "grep -q right /dev/null\n",
        );
    }
    session.file("project/Makefile", "test:\n\tfalse\n");
    session.file("project/tests/run.sh", "false\n");
    session.file("project/run-all", "sh tests/run.sh\n");
    git(&session, "init -q -b main");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    (server, session)
}

fn acceptance_of(session: &Session, task: &str, acceptance: &Value) -> Value {
    let request = json!({ "agent": "worker", "task": task, "acceptance": acceptance });
    session.file("request.json", request.to_string());
    let request = session.path("request.json").display().to_string();
    let outcome = session.grove(["run", "--request", &request, "--json"]);
    run_of(&outcome.stdout)
}

#[test]
fn no_child_decides_about_what_a_check_relies_on_however_it_is_named() {
    let pass = "for f in check.sh sub/check.sh tests/run.sh; do echo true > $f; done; printf 'test:\\n\\ttrue\\n' > Makefile";
    let empty = format!("{pass}; mkdir ../empty; git config core.worktree \"$(cd ../empty; pwd)\"");
    let sparse =
        format!("{pass}; git sparse-checkout set --no-cone /nothing; mkdir -p sub tests; {pass}");
    let gone = format!("{pass}; mv .git gone");
    for (task, check) in [
        (pass, "cd sub && sh check.sh"),
        (pass, "sh \"$PWD/check.sh\""),
        (pass, "sh \"$(pwd)/check.sh\""),
        (pass, "sh WHOLE/check.sh"),
        (pass, "sh chec?.sh"),
        (pass, "make test"),
        (pass, "sh run-all"),
        (&empty, "sh ./check.sh"),
        (&sparse, "sh ./check.sh"),
        (&gone, "sh ./check.sh"),
    ] {
        let (_server, session) = with_checks();
        let check = check.replace("WHOLE", &session.path("project").display().to_string());
        let run = acceptance_of(&session, task, &json!({ "verify": [check] }));
        assert_eq!(run["acceptance"], "rejected", "{task}: {check}: {run}");
    }
    // What the person says is protected, and nothing else.
    for (protect, acceptance) in [(&[][..], "verified"), (&["**/*.sh"], "rejected")] {
        let (_server, session) = with_checks();
        let asked = json!({ "verify": ["sh run-all"], "protect": protect });
        let run = acceptance_of(&session, pass, &asked);
        assert_eq!(run["acceptance"], acceptance, "{protect:?}: {run}");
    }
}

/// A script that tells right from wrong, with the ends of lines of another system: a shell passes over some of its commands.
const WITH_OTHER_ENDS: &str = "#x\nset -e\ngrep -q right /dev/null\necho fine\n";
/// What makes a script pass when it runs: it is read as it goes.
const REWRITES: &str = "t = open('check.sh').read(); f = open('check.sh', 'r+'); f.write(t.replace('exit 1', 'exit 0')); f.close()";
/// The same, and puts everything back but the time of the change.
const RESTORES: &str = "import os, subprocess, time\ns = os.stat('check.sh'); t = open('check.sh').read()\n\
def write(text):\n    f = open('check.sh', 'r+'); f.write(text); f.close()\n\
write(t.replace('grep -q right answer || exit 1', 'python3 tool.py back;:;exit 0  ') if len(os.sys.argv) < 2 else t.replace('python3 tool.py back;:;exit 0  ', 'grep -q right answer || exit 1'))\n\
os.utime('check.sh', ns=(s.st_atime_ns, s.st_mtime_ns))";

#[test]
fn no_child_decides_by_the_form_the_name_or_the_moment_of_a_file() {
    needs![Python];
    let other_ends =
        "printf '#x\\r\\nset -e\\r\\ngrep -q right /dev/null\\r\\necho fine\\r\\n' > check.sh";
    let in_other_letters = "printf 'check.sh text working-tree-encoding=UTF-7\\n' > .gitattributes; \
        printf '+%s-\\nexit 0\\n' $(printf 'false || exit 1' | iconv -t UTF-16BE | base64 -w0 | tr -d =) > check.sh";
    let exchanged = "b=$(git rev-parse HEAD:check.sh); n=$(echo exit 0 | git hash-object -w --stdin); \
        at() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; cp -f $(at $n) $(at $b); echo exit 0 > check.sh";
    let exchanged_folder = "b=$(git rev-parse HEAD^{tree}); echo exit 0 > check.sh; git add -A; n=$(git write-tree); \
        at() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; cp -f $(at $n) $(at $b)";
    let failing = "false || exit 1\nexit 0\n";
    let with_tool = "python3 tool.py\ngrep -q right answer || exit 1\n";
    let sources = "test -f tests/more.sh && . tests/more.sh\nfalse\n";
    let pinned = json!(["tests/**"]);
    let in_ci = json!(["ci/**"]);
    let swaps = "printf '%s\\n' 'mv ci real; mkdir ci; echo \"mv ci fake; mv real ci; rm -r fake\" > ci/b.sh' > work.sh;";
    let mut faults = Vec::new();
    for (what, files, task, check, protect) in [
        (
            "ends of lines by attributes",
            [("check.sh", WITH_OTHER_ENDS), ("x", "")],
            &format!("echo 'check.sh text eol=crlf' > .gitattributes; {other_ends}"),
            "bash check.sh",
            None,
        ),
        (
            "the same where the check has a tree of its own",
            [("check.sh", WITH_OTHER_ENDS), ("tests/run.sh", "true\n")],
            &"echo 'check.sh text eol=crlf' > .gitattributes; echo >> tests/run.sh".to_owned(),
            "bash check.sh",
            None,
        ),
        (
            "ends of lines by a setting",
            [("check.sh", WITH_OTHER_ENDS), ("x", "")],
            &format!("git config core.autocrlf true; {other_ends}"),
            "bash check.sh",
            None,
        ),
        (
            "other letters",
            [("check.sh", failing), ("x", "")],
            &in_other_letters.to_owned(),
            "sh check.sh",
            None,
        ),
        (
            "a new file that is ignored",
            [("tests/run.sh", sources), ("x", "")],
            &"echo 'exit 0' > tests/more.sh; echo tests/more.sh > .gitignore".to_owned(),
            "sh tests/run.sh",
            Some(&pinned),
        ),
        (
            "a new file that is ignored in secret",
            [("tests/run.sh", sources), ("x", "")],
            &"echo 'exit 0' > tests/more.sh; echo tests/more.sh > .git/info/exclude".to_owned(),
            "sh tests/run.sh",
            Some(&pinned),
        ),
        (
            "a new file that is ignored, where the check has a tree of its own",
            [("tests/run.sh", sources), ("tests/x", "")],
            &"echo 'exit 0' > tests/more.sh; echo tests/more.sh > .gitignore; echo x > tests/x"
                .to_owned(),
            "sh tests/run.sh",
            Some(&pinned),
        ),
        (
            "a script behind a link",
            [
                ("scripts/real.sh", failing),
                ("check.sh", "-> scripts/real.sh"),
            ],
            &"echo true > scripts/real.sh".to_owned(),
            "sh check.sh",
            None,
        ),
        (
            "a script behind a linked folder",
            [("scripts/real.sh", failing), ("bin", "-> scripts")],
            &"echo true > scripts/real.sh".to_owned(),
            "sh bin/real.sh",
            None,
        ),
        (
            "a script that is changed while it runs",
            [("check.sh", with_tool), ("tool.py", "")],
            &format!("echo \"{REWRITES}\" > tool.py"),
            "bash check.sh",
            None,
        ),
        (
            "a script that is changed while it runs, and back",
            [("check.sh", with_tool), ("tool.py", "")],
            &format!("cat > tool.py <<'END'\n{RESTORES}\nEND"),
            "bash check.sh",
            None,
        ),
        (
            "another folder in the place of the script's, and back",
            [("ci/a.sh", "sh work.sh\n"), ("ci/b.sh", "exit 1\n")],
            &swaps.to_owned(),
            "sh ci/a.sh && sh ci/b.sh",
            Some(&in_ci),
        ),
        (
            "the same where the check has a tree of its own, and two levels above",
            [("top/ci/a.sh", "sh work.sh\n"), ("top/ci/b.sh", "exit 1\n")],
            &format!(
                "{} echo >> top/ci/a.sh",
                swaps
                    .replace("ci", "top")
                    .replace("top/b", "top/ci/b")
                    .replace("mkdir top", "mkdir -p top/ci")
            ),
            "sh top/ci/a.sh && sh top/ci/b.sh",
            None,
        ),
        (
            "another content under the name of an object",
            [("check.sh", failing), ("x", "")],
            &exchanged.to_owned(),
            "sh check.sh",
            None,
        ),
        (
            "another content under the name of a folder",
            [("check.sh", failing), ("x", "")],
            &exchanged_folder.to_owned(),
            "sh check.sh",
            None,
        ),
    ] {
        let (_server, session) = super::graphs::scene(move |task, turns| match turns {
            0 => bash(task),
            _ => Reply::text("Done."),
        });
        for (name, text) in files {
            match text.strip_prefix("-> ") {
                Some(target) => session.link(format!("project/{name}"), target),
                None => session.file(format!("project/{name}"), text),
            };
        }
        git(&session, "init -q -b main");
        git(&session, "add -A");
        git(&session, "commit -q -m first");
        let mut asked = json!({ "verify": [check] });
        if let Some(protect) = protect {
            asked["protect"] = protect.clone();
        }
        let run = acceptance_of(&session, task, &asked);
        if run["acceptance"] != "rejected" || run["state"] != "complete" {
            faults.push(format!("{what}: {} {}", run["state"], run["acceptance"]));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_child_decides_about_what_a_check_relies_on_in_a_submodule() {
    for (task, check, acceptance) in [
        ("true", "sh tests/run.sh", "verified"),
        ("echo wrong > answer", "sh tests/run.sh", "rejected"),
        (
            "echo wrong > answer; echo true > tests/run.sh",
            "sh tests/run.sh",
            "rejected",
        ),
        (
            "echo wrong > answer; echo true > tests/run.sh; git -C tests commit -qam cheat",
            "sh tests/run.sh",
            "rejected",
        ),
        (
            "echo wrong > answer; echo true > tests/run.sh; rm tests/.git",
            "sh tests/run.sh",
            "rejected",
        ),
        (
            "echo wrong > answer; cd tests; echo true > run.sh; rm .git; git init -q; git add -A; git commit -qm cheat",
            "sh tests/run.sh",
            "rejected",
        ),
        // The check has a tree of its own, with the submodule in it.
        (
            "echo false > check.sh",
            "sh check.sh && sh tests/run.sh",
            "verified",
        ),
    ] {
        let (_server, session) = workers();
        session.file("far/run.sh", "grep -q right answer\n");
        super::worktrees::git_in(&session, "far", "init -q -b main");
        super::worktrees::git_in(&session, "far", "add -A");
        super::worktrees::git_in(&session, "far", "commit -q -m first");
        session.file("project/answer", "right\n");
        session.file("project/check.sh", "true\n");
        git(&session, "init -q -b main");
        git(
            &session,
            "-c protocol.file.allow=always submodule --quiet add ../far tests",
        );
        git(&session, "add -A");
        git(&session, "commit -q -m first");
        let identity = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x";
        let task = format!("{identity}; {task}");
        let run = acceptance_of(&session, &task, &json!({ "verify": [check] }));
        assert_eq!(run["acceptance"], acceptance, "{task}: {check}: {run}");
    }
}

#[test]
fn no_program_is_taken_from_a_folder_of_the_work() {
    let (_server, session) = workers();
    let usual = grove_testkit::session::PATH;
    let session = session.with_env("PATH", format!("./bin:.:{usual}"));
    session.file("project/a.txt", "one\n");
    session.file("project/tests/run.sh", "true\n");
    git(&session, "init -q -b main");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    let task = "mkdir bin; for name in git cp tar ln sh; do \
        printf '#!/bin/sh\\ntouch '$PWD'/ran-'$name'; PATH=/usr/bin:/bin; exec '$name' \"$@\"\\n' > bin/$name; chmod +x bin/$name; cp bin/$name .; done; \
        echo >> tests/run.sh; echo ignored > .gitignore; touch ignored";
    for more in [
        &["--verify", "sh tests/run.sh"][..],
        &["--worktree", "--include-changes"],
    ] {
        session.grove([&["run", "worker", task], more].concat());
    }
    let ran: Vec<String> = session.entries("project");
    let ran: Vec<&String> = ran.iter().filter(|name| name.starts_with("ran-")).collect();
    assert!(ran.is_empty(), "{ran:?}");
}

#[test]
fn a_check_in_a_tree_of_its_own_has_what_version_control_ignores() {
    let (_server, session) = with_checks();
    session.file("project/.gitignore", "built/\n");
    session.file("project/built/deep/tool", "right\n");
    session.file(
        "project/check.sh",
        "grep -q right built/deep/tool && touch left\n",
    );
    git(&session, "add -A");
    git(&session, "commit -q -m second");
    let asked = json!({ "verify": ["sh check.sh"] });
    let run = acceptance_of(&session, "echo false > check.sh", &asked);
    assert_eq!(run["acceptance"], "verified", "{run}");
    assert!(!session.has("project/left"), "the tree is thrown away");
}

#[test]
fn what_a_check_does_to_the_work_is_recorded() {
    let (_server, session) = with_checks();
    let asked = json!({ "verify": ["echo wrong > answer", "true"] });
    let run = acceptance_of(&session, "echo right > answer", &asked);
    assert_eq!(run["acceptance"], "verified", "{run}");
    let id = run["id"].as_str().unwrap();
    let ledger = session.json(["runs", "ledger", id]);
    assert_eq!(
        ledger["nodes"][0]["checks"][0]["changed"],
        json!(["answer"])
    );
    assert_eq!(ledger["nodes"][0]["checks"][1]["changed"], Value::Null);
    session
        .grove(["runs", "ledger", id])
        .ok()
        .prints(["changed the work: answer"]);
}
