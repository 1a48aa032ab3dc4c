//! Looking at repositories that others wrote, and fetching from them.

use std::path::{Path, PathBuf};
use std::process::Command;

use grove_exec::{Git, GitError};
use grove_testkit::hostile_repositories::{
    Hostile, hostile_repositories, keys_in_table, marks_in, without_middle,
};

/// A folder for one repository, with a home that has nothing.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "scratch"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn git(&self) -> Git {
        let home = self.path("home").display().to_string();
        let path = std::env::var("PATH").unwrap();
        let folder = self.folder.path().display().to_string();
        Git::new(vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), home),
            ("TMPDIR".to_owned(), folder),
        ])
    }

    /// git as the person uses it.
    fn person(&self, folder: &str, words: &[&str]) -> String {
        let done = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@localhost"])
            .args(words)
            .current_dir(self.path(folder))
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "git {words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// A repository with one commit of these files.
    fn repository(&self, folder: &str, texts: &[(&str, &str)]) {
        self.write(folder, texts);
        self.person(folder, &["init", "-q", "-b", "main"]);
        self.person(folder, &["add", "-A"]);
        self.person(folder, &["commit", "-q", "-m", "first"]);
    }

    fn write(&self, folder: &str, texts: &[(&str, &str)]) {
        for (name, text) in texts {
            let path = self.path(folder).join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
}

/// Everything that is done with a repository, each with whether it could be done.
fn everything(scene: &Scene, used: &Path) -> Vec<(&'static str, bool)> {
    let (git, scratch) = (scene.git(), scene.path("scratch"));
    let mut done = vec![("folders", !git.folders(used).is_empty())];
    let Ok(Some(place)) = git.place(used) else {
        done.push(("place", false));
        return done;
    };
    let (top, head) = (&place.top, &place.head);
    done.push(("changes", git.changes(top).is_ok()));
    done.push(("staged", git.staged(top).is_ok()));
    done.push(("unmerged", git.unmerged(top).is_ok()));
    done.push(("tracked", git.tracked(top, &["a.txt".to_owned()]).is_ok()));
    let files = git.files_of(top, head);
    done.push((
        "files_of",
        files.is_ok_and(|files| files.names.contains("a.txt")),
    ));
    let now = git.tree(used, &scratch, &[]).ok().flatten();
    done.push(("tree", now.is_some()));
    let now = now.unwrap_or_else(|| head.clone());
    done.push(("changed", git.changed(top, head, &now).is_ok()));
    let patch = git.patch(top, head, &now);
    done.push(("patch", patch.is_ok()));
    let base = git.snapshot(top, &scratch);
    done.push(("snapshot", base.is_ok()));
    let base = base.unwrap_or_else(|_| head.clone());
    let files = ["a.txt".to_owned()];
    let mixed = git.with_files_of(top, &now, head, &files, &scratch);
    done.push(("with_files_of", mixed.is_ok()));
    let tree = scene.path("tree");
    done.push(("make", git.make(top, &base, &tree, None).is_ok()));
    let _ = std::fs::write(tree.join("a.txt"), "another\n");
    let captured = git.capture(&tree, &base, &scratch, &[]);
    done.push(("capture", captured.is_ok()));
    let captured = captured.unwrap_or_default().patch;
    let below = Path::new("");
    done.push(("has_patch", !git.has_patch(top, &captured, below)));
    done.push(("remove", git.remove(top, &tree).is_ok()));
    done.push(("apply", git.apply(top, &captured, below).is_ok()));
    done
}

#[test]
fn nothing_that_a_repository_names_runs_when_grove_looks_at_it() {
    let all = hostile_repositories();
    assert!(all.len() >= 50, "{}", all.len());
    for hostile in &all {
        let scene = Scene::new();
        let marks = scene.path("marks");
        let used = hostile.lay_out(&scene.path("project"), &marks);
        let done = everything(&scene, &used);
        assert_eq!(marks_in(&marks), Vec::<String>::new(), "{}", hostile.name);
        let failed: Vec<_> = done.iter().filter(|(_, is_done)| !is_done).collect();
        // What is not there cannot be written into another tree.
        if !hostile.name.starts_with("Partial") {
            assert!(failed.is_empty(), "{}: {failed:?}", hostile.name);
        }
    }
}

/// How the keys of git's documentation end that name a program, a folder of programs, or a name that has one.
const PROGRAM_ENDS: [&str; 21] = [
    "cmd",
    "command",
    "program",
    "helper",
    "editor",
    "pager",
    "hook",
    "driver",
    "textconv",
    "external",
    "gitproxy",
    "askpass",
    "tunnel",
    "browser",
    "httpd",
    "vcs",
    "hookspath",
    "fsmonitor",
    "smtpserver",
    "tool",
    "url",
];

/// Those that end so and name none: a colour, advice, a database, a service, what a rewrite copies.
const NO_PROGRAMS: [&str; 9] = [
    "advice.ignoredhook",
    "advice.waitingforeditor",
    "color.pager",
    "diff.cachetextconv",
    "fsck.gitmodulesurl",
    "gitcvs.dbdriver",
    "gitweb.url",
    "receive.gitmodulesurl",
    "transfer.credentialsinurl",
];

#[test]
fn every_key_of_gits_documentation_that_can_name_a_program_is_in_the_table() {
    let listed = Command::new("git").args(["help", "-c"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let keys = listed.lines().filter(|line| line.contains('.'));
    let keys: Vec<String> = keys.map(|key| without_middle(key.trim())).collect();
    assert!(keys.len() > 500, "{}", keys.len());
    let table = keys_in_table();
    let is_program = |key: &&String| {
        let ends_so = PROGRAM_ENDS.iter().any(|end| key.ends_with(end));
        let of_tool = key.rsplit('.').next() == Some("path") && !key.starts_with("include");
        (ends_so || of_tool) && !NO_PROGRAMS.contains(&key.as_str())
    };
    let missing: Vec<&String> = keys
        .iter()
        .filter(is_program)
        .filter(|key| !table.contains(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_programs_of_the_table_would_run_without_the_door() {
    let scene = Scene::new();
    let marks = scene.path("marks");
    let every = hostile_repositories();
    let own: Vec<&Hostile> = every
        .iter()
        .filter(|it| it.name.starts_with("Own"))
        .collect();
    own[0].lay_out(&scene.path("project"), &marks);
    let _ = Command::new("git")
        .args(["add", "-A"])
        .current_dir(scene.path("project"))
        .output();
    let _ = Command::new("git")
        .args(["diff", "HEAD"])
        .current_dir(scene.path("project"))
        .output();
    assert!(marks_in(&marks).len() >= 3, "{:?}", marks_in(&marks));
}

#[test]
fn a_bare_repository_in_a_folder_is_not_taken_for_the_one_around_it() {
    let scene = Scene::new();
    scene.repository("project", &[("a.txt", "one\n")]);
    scene.person("project", &["clone", "-q", "--bare", ".", "vendor"]);
    let place = scene
        .git()
        .place(&scene.path("project/vendor"))
        .unwrap()
        .unwrap();
    assert_eq!(place.top, scene.path("project"));
    assert_eq!(place.below, Path::new("vendor"));
    std::fs::create_dir(scene.path("alone")).unwrap();
    scene.person("alone", &["init", "-q", "--bare"]);
    assert_eq!(scene.git().place(&scene.path("alone")).unwrap(), None);
}

#[test]
fn what_honest_settings_say_about_files_still_counts() {
    let scene = Scene::new();
    scene.repository(
        "project",
        &[("a.txt", "one\n"), (".gitattributes", "*.txt eol=crlf\n")],
    );
    scene.write(
        "home",
        &[(".config/git/ignore", "*.mine\n"), ("ignored", "*.other\n")],
    );
    scene.write(
        "project",
        &[
            (".git/info/exclude", "*.own\n"),
            ("x.mine", ""),
            ("x.own", ""),
        ],
    );
    std::fs::remove_file(scene.path("project/a.txt")).unwrap();
    scene.person("project", &["checkout", "-q", "--", "a.txt"]);
    let written = std::fs::read_to_string(scene.path("project/a.txt"));
    assert_eq!(written.unwrap(), "one\r\n");
    let top = scene.path("project");
    assert_eq!(scene.git().changes(&top).unwrap(), Vec::<String>::new());
    scene.write("project", &[("x.other", "")]);
    assert_eq!(scene.git().changes(&top).unwrap(), ["x.other"]);
    scene.person(
        "project",
        &["config", "--global", "core.excludesFile", "~/ignored"],
    );
    assert_eq!(scene.git().changes(&top).unwrap(), ["x.mine"]);
    // A repository's own word does not hide files.
    scene.person("project", &["config", "core.excludesFile", "/dev/null"]);
    scene.person("project", &["config", "core.worktree", "/"]);
    scene.person("project", &["config", "core.sparseCheckout", "true"]);
    scene.write(
        "project",
        &[
            (".git/info/sparse-checkout", "/nothing\n"),
            ("a.txt", "two\n"),
        ],
    );
    let changed = scene.git().changes(&top).unwrap();
    assert_eq!(changed, ["a.txt", "x.mine"]);
}

#[test]
fn every_form_of_repository_is_looked_at_and_gets_working_trees() {
    for (form, words) in [
        ("usual", &[][..]),
        ("long names", &["--object-format=sha256"][..]),
        ("apart", &["--separate-git-dir=../apart"][..]),
    ] {
        let scene = Scene::new();
        std::fs::create_dir(scene.path("project")).unwrap();
        scene.person("project", &[&["init", "-q"], words].concat());
        scene.repository("project", &[("a.txt", "one\n"), ("sub/b.txt", "b\n")]);
        let git = scene.git();
        let place = git.place(&scene.path("project/sub")).unwrap().unwrap();
        assert_eq!(place.below, Path::new("sub"), "{form}");
        for tree in ["tree", "below/tree"] {
            let tree = scene.path(tree);
            std::fs::create_dir_all(tree.parent().unwrap()).unwrap();
            git.make(&place.top, &place.head, &tree, None).unwrap();
            // The person's own git knows it, and sees nothing changed.
            let mut status = Command::new("git");
            status.arg("-C").arg(&tree).args(["status", "--porcelain"]);
            let seen = status.output().unwrap();
            assert!(
                seen.status.success() && seen.stdout.is_empty(),
                "{form}: {seen:?}"
            );
            // A linked tree is a repository to start from too.
            assert_eq!(git.place(&tree).unwrap().unwrap().top, tree, "{form}");
            std::fs::write(tree.join("a.txt"), "two\n").unwrap();
            let captured = git.capture(&tree, &place.head, &scene.path("scratch"), &[]);
            assert_eq!(captured.unwrap().files, 1, "{form}");
        }
        let listed = || {
            scene
                .person("project", &["worktree", "list"])
                .lines()
                .count()
        };
        assert_eq!(listed(), 3, "{form}");
        for tree in ["tree", "below/tree"] {
            git.remove(&place.top, &scene.path(tree)).unwrap();
        }
        assert_eq!(listed(), 1, "{form}");
    }
}

#[test]
fn a_tree_that_names_a_repository_does_not_make_that_one_its_own() {
    let scene = Scene::new();
    scene.repository("secret", &[("a.txt", "one\n")]);
    scene.repository("own", &[("a.txt", "one\n")]);
    scene.person("own", &["worktree", "add", "-q", "../tree"]);
    let local = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", "../secret", "inner"];
    scene.person("own", &[&local[..], &add].concat());
    let secret = scene.path("secret/.git");
    let folders = |place: &str| scene.git().folders(&scene.path(place));
    for (place, commits) in [
        ("own", "own/.git"),
        ("tree", "own/.git"),
        ("own/inner", "own/.git/modules/inner"),
    ] {
        assert_eq!(folders(place), [place, commits].map(|it| scene.path(it)));
    }
    let text = |target: &Path| format!("gitdir: {}\n", target.display());
    scene.write("file", &[(".git", &text(&secret))]);
    scene.write(
        "again",
        &[(".git", &text(&scene.path("own/.git/worktrees/tree")))],
    );
    std::fs::create_dir(scene.path("link")).unwrap();
    std::os::unix::fs::symlink(&secret, scene.path("link/.git")).unwrap();
    // A folder of its own that borrows the rest.
    scene.write(
        "borrowed",
        &[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/gitdir", "..\n"),
            (".git/commondir", &secret.display().to_string()),
        ],
    );
    scene.write(
        "turned",
        &[
            (".git", "gitdir: made\n"),
            ("made/HEAD", "ref: refs/heads/main\n"),
            (
                "made/gitdir",
                &scene.path("turned/.git").display().to_string(),
            ),
            ("made/commondir", &secret.display().to_string()),
            ("made/config", "[core]\n\tworktree = ..\n"),
        ],
    );
    // All that a person has may be in a repository; it is not the work that lies there.
    scene.repository("home", &[(".profile", "x\n"), ("work/a.txt", "x\n")]);
    assert_eq!(folders("home/work"), [scene.path("home/.git")]);
    for place in ["file", "again", "link", "borrowed", "turned"] {
        assert!(
            scene.git().place(&scene.path(place)).unwrap().is_some(),
            "{place}"
        );
        assert_eq!(folders(place), [scene.path(place)], "{place}");
    }
}

#[test]
fn a_repository_is_fetched_by_the_protocol_that_its_address_names() {
    let scene = Scene::new();
    scene.repository("far", &[("a.txt", "one\n"), ("sub/b.txt", "b\n")]);
    let head = scene.person("far", &["rev-parse", "HEAD"]);
    let far = scene.path("far").display().to_string();
    let git = scene.git();
    for (at, (address, revision)) in [
        (far.clone(), "main".to_owned()),
        (format!("file://{far}"), "main".to_owned()),
        (far.clone(), head.trim().to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let staging = scene.path(&format!("staging-{at}"));
        let commit = git.fetch(&address, &revision, &staging).unwrap();
        assert_eq!(commit, head.trim());
        let folder = scene.path(&format!("files-{at}"));
        git.unpack_commit(&staging, &commit, &folder).unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.join("sub/b.txt")).unwrap(),
            "b\n"
        );
        assert!(!folder.join(".git").exists());
    }
    let staging = scene.path("refused");
    let refused = |address: &str, revision: &str| {
        let error = git.fetch(address, revision, &staging).unwrap_err();
        assert!(matches!(error, GitError::Address(..)), "{address}: {error}");
    };
    refused("ext::sh -c 'touch /tmp/x'", "main");
    refused(&far, "--upload-pack=x");
    refused(&far, "a:b");
    // An address that the person's settings turn into another protocol is not followed there.
    scene.person(
        "far",
        &["config", "--global", "url.ext::sh.insteadOf", "https:"],
    );
    let git = scene.git();
    let error = git
        .fetch("https://x.invalid/x", "main", &staging)
        .unwrap_err();
    assert!(error.to_string().contains("not allowed"), "{error}");
}

#[test]
fn what_could_run_at_the_persons_next_git_is_put_back_and_the_rest_is_left() {
    for (what, words, is_put_back) in [
        (
            "a monitor",
            &["config", "core.fsmonitor", "touch x"][..],
            true,
        ),
        (
            "a place of hooks",
            &["config", "core.hooksPath", "hooks"],
            true,
        ),
        ("a filter", &["config", "filter.a=b.clean", "touch x"], true),
        ("an alias", &["config", "alias.st", "!touch x"], true),
        ("an inclusion", &["config", "include.path", "../x"], true),
        (
            "a key of a later git",
            &["config", "new.program", "touch x"],
            true,
        ),
        (
            "other ends of lines",
            &["config", "core.autocrlf", "true"],
            true,
        ),
        (
            "a remote",
            &["remote", "add", "far", "https://x.invalid/x"],
            false,
        ),
        ("a name", &["config", "user.name", "y"], false),
        ("a branch", &["branch", "--track", "other", "main"], false),
    ] {
        let scene = Scene::new();
        scene.repository("project", &[("a.txt", "one\n")]);
        let config = || std::fs::read_to_string(scene.path("project/.git/config")).unwrap();
        let before = config();
        let guarded = scene.git().guard(&scene.path("project")).unwrap();
        scene.person("project", words);
        let done = scene.git().put_back(&guarded).unwrap();
        assert_eq!(!done.is_empty(), is_put_back, "{what}: {done:?}");
        assert_eq!(config() == before, is_put_back, "{what}");
        assert!(scene.git().put_back(&guarded).unwrap().is_empty(), "{what}");
    }
    let scene = Scene::new();
    scene.repository("project", &[("a.txt", "one\n")]);
    scene.write("project", &[(".git/hooks/pre-push", "mine\n")]);
    let git = scene.git();
    let place = git.place(&scene.path("project")).unwrap().unwrap();
    git.make(&place.top, &place.head, &scene.path("tree"), None)
        .unwrap();
    let link = std::fs::read_to_string(scene.path("tree/.git")).unwrap();
    let guarded = git.guard(&scene.path("tree")).unwrap();
    scene.write(
        "project/.git",
        &[
            ("hooks/pre-commit", "touch x\n"),
            ("hooks/pre-push", "theirs\n"),
            ("info/attributes", "* filter=x\n"),
            ("objects/info/alternates", "/x\n"),
            ("modules/m/HEAD", "x\n"),
            ("modules/m/config", "[core]\n\tfsmonitor = touch x\n"),
            ("modules/m/hooks/pre-commit", "touch x\n"),
        ],
    );
    scene.write("tree", &[(".git", "gitdir: ./evil\n")]);
    assert_eq!(git.put_back(&guarded).unwrap().len(), 7);
    assert_eq!(
        std::fs::read_to_string(scene.path("tree/.git")).unwrap(),
        link
    );
    let hook = std::fs::read_to_string(scene.path("project/.git/hooks/pre-push"));
    assert_eq!(hook.unwrap(), "mine\n");
    for gone in ["hooks/pre-commit", "info/attributes", "modules/m/config"] {
        assert!(!scene.path("project/.git").join(gone).exists(), "{gone}");
    }
}

/// What a child with a shell does in a repository with a submodule `inner` and another working tree, each so that a program
/// runs at the person's next git. `PROGRAM` stands for a setting that names one, `MARK` for the file that it makes.
const LEFT_FOR_GIT: &[(&str, &str)] = &[
    (
        "another place of everything shared",
        "mkdir .git/evil; cp -r .git/objects .git/refs .git/HEAD .git/evil; PROGRAM > .git/evil/config; echo evil > .git/commondir",
    ),
    (
        "the same for another working tree",
        "mkdir .git/evil; cp -r .git/objects .git/refs .git/HEAD .git/evil; PROGRAM > .git/evil/config; echo ../../evil > .git/worktrees/other/commondir",
    ),
    (
        "settings of another working tree",
        "git config extensions.worktreeConfig true; PROGRAM > .git/worktrees/other/config.worktree",
    ),
    (
        "settings that are too large to be kept",
        "git config extensions.worktreeConfig true; { PROGRAM; head -c 2000000 /dev/zero | tr '\\0' '#'; } > .git/config.worktree",
    ),
    (
        "settings that are a link",
        "cp .git/config later; ln -sf ../later .git/config; : LATER; PROGRAM >> later",
    ),
    (
        "a folder of hooks that is a link",
        "rm -rf .git/hooks; mkdir later; ln -s ../later .git/hooks; : LATER; HOOK later/pre-commit",
    ),
    (
        "a hook that is too large to be kept",
        "HOOK .git/hooks/pre-commit; head -c 2000000 /dev/zero | tr '\\0' '#' >> .git/hooks/pre-commit",
    ),
    (
        "a hook among very many",
        "cd .git/hooks; seq 21000 | xargs touch; cd ../..; HOOK .git/hooks/pre-commit",
    ),
    (
        "a submodule that is new",
        "git init -q nested; git -C nested commit -q --allow-empty -m x; PROGRAM >> nested/.git/config; git add nested",
    ),
    (
        "a submodule that borrows a repository",
        "git init -q nested; git -C nested commit -q --allow-empty -m x; mkdir evil; cp -r nested/.git/* evil; PROGRAM >> evil/config; \
         echo $PWD/evil > nested/.git/commondir; git add nested",
    ),
    (
        "a submodule elsewhere",
        "git init -q elsewhere; git -C elsewhere commit -q --allow-empty -m x; PROGRAM >> elsewhere/.git/config; mkdir nested; \
         echo gitdir: ../elsewhere/.git > nested/.git; git add -f nested",
    ),
    (
        "a submodule deep among those that are kept",
        "d=.git/modules/logs/refs/a/b/c/d/e/f/g/h/i; mkdir -p $d nested; cp -r .git/HEAD .git/objects .git/refs $d; PROGRAM > $d/config; \
         echo gitdir: ../$d > nested/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),nested",
    ),
    (
        "a submodule whose repository was exchanged",
        "rm inner/.git; cp -r .git/modules/inner inner/.git; git config -f inner/.git/config --unset core.worktree; PROGRAM >> inner/.git/config",
    ),
    (
        "a log that is a link to what a shell reads",
        "ln -sf $PWD/../home/.profile .git/logs/HEAD",
    ),
    (
        "a message that is a link to what a shell reads",
        "ln -sf $PWD/../home/.profile .git/COMMIT_EDITMSG",
    ),
];

#[test]
fn nothing_that_a_child_leaves_in_a_repository_runs_or_writes_elsewhere_at_the_persons_next_git() {
    for (what, script) in LEFT_FOR_GIT {
        for is_guarded in [false, true] {
            let scene = Scene::new();
            scene.repository("far", &[("l.txt", "one\n")]);
            scene.repository("project", &[("a.txt", "one\n")]);
            let local = ["-c", "protocol.file.allow=always"];
            let add = ["submodule", "--quiet", "add", "../far", "inner"];
            scene.person("project", &[&local[..], &add].concat());
            scene.person("project", &["commit", "-q", "-m", "submodule"]);
            scene.person("project", &["worktree", "add", "-q", "../other"]);
            scene.write("home", &[(".profile", "mine\n")]);
            let mark = scene.path("mark").display().to_string();
            let shell = |script: &str, folder: &str| {
                let program = format!("printf '[core]\\n\\tfsmonitor = touch {mark}; false\\n'");
                let script = script.replace("PROGRAM", &program);
                let hook = format!("printf '#!/bin/sh\\ntouch {mark}\\n' > $1; chmod +x $1");
                let script = format!("HOOK() {{ {hook}; }}; {script}");
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", &script]).current_dir(scene.path(folder));
                shell.env("HOME", scene.path("home"));
                for role in ["AUTHOR", "COMMITTER"] {
                    shell.env(format!("GIT_{role}_NAME"), "x");
                    shell.env(format!("GIT_{role}_EMAIL"), "x@localhost");
                }
                shell.output().unwrap()
            };
            let guarded = scene.git().guard(&scene.path("project")).unwrap();
            let (before, later) = script.split_once(": LATER;").unwrap_or((script, ""));
            let left = shell(before, "project");
            assert!(left.status.success(), "{what}: {left:?}");
            std::fs::remove_file(scene.path("mark")).ok();
            if is_guarded {
                let done = scene.git().put_back(&guarded).unwrap();
                assert!(!done.is_empty(), "{what}");
                let again = scene.git().put_back(&guarded).unwrap();
                assert!(again.is_empty(), "{what}: {again:?}");
            }
            shell(later, "project");
            for folder in ["project", "other"] {
                shell("git status; git commit -q --allow-empty -m second", folder);
            }
            let ran = scene.path("mark").exists();
            let wrote = std::fs::read_to_string(scene.path("home/.profile")).unwrap() != "mine\n";
            assert_eq!(ran || wrote, !is_guarded, "{what}");
        }
    }
}

#[test]
fn what_honest_work_does_in_a_repository_is_left() {
    for (what, script) in [
        ("a commit", "echo two > a.txt; git commit -qam second"),
        (
            "branches with odd names",
            "git branch config; git branch hooks/x; git branch a/commondir",
        ),
        ("a working tree", "git worktree add -q ../new"),
        (
            "a tag and a note",
            "git tag -m x one; git notes add -m x; git stash -q",
        ),
        ("a repository inside", "git init -q built/thing"),
        (
            "a submodule",
            "git -c protocol.file.allow=always submodule --quiet add ../far inner; git commit -qm inner",
        ),
        (
            "a submodule of another tree",
            "git -c protocol.file.allow=always submodule --quiet add ../far inner; git commit -qm inner; git worktree add -q ../new; \
             cd ../new; git -c protocol.file.allow=always submodule --quiet update --init",
        ),
        ("nothing", "git gc -q; git status"),
    ] {
        let scene = Scene::new();
        scene.repository("far", &[("l.txt", "one\n")]);
        scene.repository("project", &[("a.txt", "one\n")]);
        let guarded = scene.git().guard(&scene.path("project")).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", script])
            .current_dir(scene.path("project"));
        shell.env("HOME", scene.path("home"));
        scene.write(
            "home",
            &[(".gitconfig", "[user]\n\tname = x\n\temail = x@localhost\n")],
        );
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{what}: {done:?}");
        let restored = scene.git().put_back(&guarded).unwrap();
        assert!(restored.is_empty(), "{what}: {restored:?}");
    }
}

#[test]
fn a_repository_of_another_user_is_used_only_if_the_person_says_that_it_is_safe() {
    let scene = Scene::new();
    scene.repository("project", &[("a.txt", "one\n")]);
    let project = scene.path("project");
    for path in [project.clone(), project.join(".git")] {
        // Only root gives files away; for another user there is nothing to see here.
        if std::os::unix::fs::chown(path, Some(1_234), None).is_err() {
            return;
        }
    }
    assert_eq!(scene.git().place(&project).unwrap(), None);
    let named = project.display().to_string();
    let above = format!("{}/*", scene.folder.path().display());
    for (says, is_used) in [
        ("/elsewhere", false),
        (&*named, true),
        (&*above, true),
        ("*", true),
    ] {
        let config = format!("[safe]\n\tdirectory = {says}\n");
        scene.write("home", &[(".gitconfig", &config)]);
        let place = scene.git().place(&project).unwrap();
        assert_eq!(place.is_some(), is_used, "{says}");
    }
    // What the repository says of itself does not count.
    scene.write("home", &[(".gitconfig", "")]);
    scene.write("project", &[(".git/config", "[safe]\n\tdirectory = *\n")]);
    assert_eq!(scene.git().place(&project).unwrap(), None);
}
