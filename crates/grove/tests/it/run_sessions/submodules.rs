//! What children do in submodules, in repositories with pointers to large files, and while branches are renamed.

use grove_testkit::model_server::ModelServer;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::Value;

use super::run_of;
use super::worktrees::{applies, git, git_in, last_id, repository, worktrees};

const CHECK_OUT: &str = "git -c protocol.file.allow=always submodule update --init -q";

/// Lets children use git in the repository, which the sandbox leaves to the person.
pub(super) fn in_the_open(session: &Session) {
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
}

/// A repository with a submodule `lib/inner`, which is checked out.
fn with_submodule() -> (ModelServer, Session) {
    let (server, session) = repository();
    in_the_open(&session);
    session.file("origin/l.txt", "one\n");
    git_in(&session, "origin", "init -q -b main");
    git_in(&session, "origin", "add -A");
    git_in(&session, "origin", "commit -q -m l");
    git(&session, "submodule --quiet add ../origin lib/inner");
    git(&session, "commit -q -m submodule");
    session.file("origin/l.txt", "one\ntwo\n");
    git_in(&session, "origin", "commit -q -a -m newer");
    (server, session)
}

/// What a child did that did this.
fn work(session: &Session, task: &str) -> Value {
    let task = format!("{CHECK_OUT} && {task}");
    let outcome = session.grove(["run", "worker", &task, "--worktree", "--json"]);
    let run = run_of(&outcome.ok().stdout);
    let id = run["id"].as_str().unwrap();
    session.json(["runs", "diff", id])["patches"][0].clone()
}

fn text<'a>(patch: &'a Value, path: &str) -> &'a str {
    patch
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[test]
fn what_is_done_in_a_submodule_is_a_patch_of_its_own() {
    let commit = "git -c user.name=x -c user.email=x@y -C lib/inner commit -qam c";
    for (what, task) in [
        ("edits", "true".to_owned()),
        ("commits", commit.to_owned()),
        ("stages", "git -C lib/inner add -A".to_owned()),
    ] {
        let (_server, session) = with_submodule();
        let task = format!(
            "echo x >> lib/inner/l.txt && {task} && echo new > lib/inner/new.txt && echo top > top.txt"
        );
        let patch = work(&session, &task);
        let outer = text(&patch, "/patch");
        assert!(outer.contains("b/top.txt"), "{what}: {outer}");
        assert!(!outer.contains("lib/inner"), "{what}: {outer}");
        let inner = text(&patch, "/submodules/0/patch");
        for name in ["b/lib/inner/l.txt", "b/lib/inner/new.txt"] {
            assert!(inner.contains(name), "{what}: {inner}");
        }
        assert_eq!(worktrees(&session), 0, "{what}");
        applies(&session, outer);
        git_in(&session, "fresh", "submodule --quiet update --init");
        session.file("inner.patch", inner);
        git_in(
            &session,
            "fresh/lib/inner",
            "apply -p3 --index ../../../inner.patch",
        );
        assert_eq!(session.read("fresh/lib/inner/l.txt"), "one\nx\n", "{what}");
        // The same by one command.
        session.grove(["runs", "apply", &last_id(&session)]).ok();
        assert_eq!(
            session.read("project/lib/inner/l.txt"),
            "one\nx\n",
            "{what}"
        );
        assert_eq!(session.read("project/lib/inner/new.txt"), "new\n", "{what}");
        assert_eq!(session.read("project/top.txt"), "top\n", "{what}");
    }
}

#[test]
fn a_submodule_that_was_moved_to_a_known_commit_is_moved_by_the_patch() {
    let (_server, session) = with_submodule();
    let newer = "git -C lib/inner fetch -q && git -C lib/inner checkout -q origin/main";
    let patch = work(&session, &format!("{newer} && echo y >> lib/inner/l.txt"));
    let head = git_in(&session, "origin", "rev-parse HEAD");
    let outer = text(&patch, "/patch");
    assert!(
        outer.contains(&format!("+Subproject commit {}", head.trim())),
        "{outer}"
    );
    assert_eq!(text(&patch, "/submodules/0/base"), head.trim());
    let inner = text(&patch, "/submodules/0/patch");
    assert!(inner.contains("+y") && !inner.contains("+two"), "{inner}");
    assert_eq!(worktrees(&session), 0);
}

#[test]
fn a_submodule_that_is_not_checked_out_where_its_patch_belongs_is_said() {
    let (_server, session) = with_submodule();
    work(&session, "echo x >> lib/inner/l.txt; echo top > top.txt");
    git(&session, "submodule --quiet deinit -f lib/inner");
    session
        .grove(["runs", "apply", &last_id(&session)])
        .fails(1)
        .says([
            "changed the submodule lib/inner",
            "git submodule update --init",
        ]);
    assert!(
        !session.has("project/top.txt"),
        "nothing was applied by half"
    );
}

#[test]
fn a_submodule_leads_nobody_to_other_repositories_and_runs_nothing() {
    let (_server, session) = with_submodule();
    session.file("home/private/secret.txt", "secret\n");
    git_in(&session, "home/private", "init -q -b main");
    git_in(&session, "home/private", "add -A");
    git_in(&session, "home/private", "commit -q -m s");
    let objects = || git_in(&session, "home/private", "count-objects");
    let before = objects();
    let private = session.path("home/private/.git");
    let task = format!(
        "echo gitdir: {} > lib/inner/.git; echo x > made",
        private.display()
    );
    let patch = work(&session, &task);
    assert!(!patch.to_string().contains("secret"), "{patch}");
    assert_eq!(objects(), before);
    session
        .grove(["runs", "show", &last_id(&session)])
        .ok()
        .prints(["working tree", "is a different repository"]);
    assert_eq!(worktrees(&session), 1, "what was not captured stays");
    // What its configuration names is not run.
    let settings = [
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.fsmonitor",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
    ];
    let set = settings.map(|name| {
        let marker = session.path(format!("ran-{name}"));
        format!("git config {name} 'touch {}; cat'", marker.display())
    });
    let task = format!(
        "cd lib/inner && {} && echo '* filter=x diff=x' > .gitattributes && echo more >> l.txt",
        set.join(" && ")
    );
    let patch = work(&session, &task);
    assert!(
        text(&patch, "/submodules/0/patch").contains("+more"),
        "{patch}"
    );
    let ran = session.entries("").into_iter();
    let ran: Vec<String> = ran.filter(|name| name.starts_with("ran-")).collect();
    assert_eq!(ran, Vec::<String>::new());
}

#[test]
fn pointers_to_large_files_and_renamed_branches_are_no_obstacle() {
    let (_server, session) = repository();
    in_the_open(&session);
    session.file(
        "project/.gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    session.file("project/a.bin", pointer);
    git(&session, "add -A");
    git(&session, "commit -q -m pointers");
    for key in ["smudge", "clean", "process"] {
        git(&session, &format!("config filter.lfs.{key} /bin/false"));
    }
    git(&session, "config filter.lfs.required true");
    let task = "cat a.bin > seen; printf 'large\\000file' > b.bin; git branch -m main trunk";
    session.grove(["run", "worker", task, "--worktree"]).ok();
    let id = last_id(&session);
    let shown = session.json(["runs", "diff", &id]);
    let patch = text(&shown, "/patches/0/patch").to_owned();
    assert!(
        patch.contains("+oid sha256:00") && patch.contains("b/b.bin"),
        "{patch}"
    );
    assert_eq!(worktrees(&session), 0);
    assert_eq!(git(&session, "branch --show-current"), "trunk\n");
    for key in ["smudge", "clean", "process", "required"] {
        git(&session, &format!("config --unset filter.lfs.{key}"));
    }
    applies(&session, &patch);
    session.grove(["runs", "apply", &id]).ok();
    assert_eq!(
        std::fs::read(session.path("project/b.bin")).unwrap(),
        b"large\0file"
    );
}
