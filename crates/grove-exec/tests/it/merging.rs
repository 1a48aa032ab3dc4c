//! Patches of several put on top of one commit.

use std::path::Path;
use std::process::Command;

use grove_exec::{Git, MergedPatches};

/// Runs a line of shell in a folder, which has to succeed.
fn sh(folder: &Path, line: &str) -> Vec<u8> {
    let done = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(done.status.success(), "{line}: {done:?}");
    done.stdout
}

struct Scene {
    folder: tempfile::TempDir,
    git: Git,
    base: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::new(vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        sh(
            folder.path(),
            "mkdir repository && cd repository && git init -q && git config user.name x && git config user.email x@y && \
             printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n' > a && echo x > 'd [*]' && printf '\\0bin' > b && git add -A && git commit -qm first",
        );
        let base = git
            .commit_named(&folder.path().join("repository"), "HEAD")
            .unwrap();
        Self { folder, git, base }
    }

    fn repository(&self) -> std::path::PathBuf {
        self.folder.path().join("repository")
    }

    /// What a line of shell changes.
    fn patch(&self, line: &str) -> Vec<u8> {
        let repository = self.repository();
        sh(&repository, &format!("{line}; git add -A"));
        let patch = sh(
            &repository,
            "git diff --cached --binary --full-index --no-renames",
        );
        sh(&repository, "git reset -q --hard");
        patch
    }

    fn merged(&self, lines: &[&str]) -> MergedPatches {
        let patches: Vec<Vec<u8>> = lines.iter().map(|line| self.patch(line)).collect();
        let scratch = tempfile::tempdir().unwrap();
        let merged = self
            .git
            .merged(&self.repository(), &self.base, &patches, scratch.path());
        assert_eq!(sh(&self.repository(), "git status --porcelain"), b"");
        merged.unwrap()
    }
}

#[test]
fn what_touches_different_places_is_merged_and_what_is_done_twice_is_done_once() {
    let scene = Scene::new();
    for (what, lines, shown) in [
        (
            "two ends of a file",
            &["sed -i s/1/one/ a", "sed -i s/9/nine/ a"][..],
            "cat a",
        ),
        (
            "the same new file",
            &[
                "echo n > n; sed -i s/1/one/ a",
                "echo n > n; sed -i s/9/nine/ a",
            ],
            "cat a",
        ),
        (
            "the same file removed",
            &["rm d*; sed -i s/1/one/ a", "rm d*; sed -i s/9/nine/ a"],
            "ls d* 2>&1; cat a",
        ),
        (
            "only that",
            &["rm d*; sed -i -e s/1/one/ -e s/9/nine/ a", "rm d*"],
            "ls d* 2>&1; cat a",
        ),
        (
            "nothing",
            &["sed -i -e s/1/one/ -e s/9/nine/ a", "true"],
            "cat a",
        ),
        (
            "the same bytes",
            &[
                "printf '\\0two' > b",
                "printf '\\0two' > b; sed -i -e s/1/one/ -e s/9/nine/ a",
            ],
            "cat a",
        ),
    ] {
        let MergedPatches::Tree(tree) = scene.merged(lines) else {
            panic!("{what}: a conflict");
        };
        let commit = |message| {
            scene
                .git
                .commit_on(&scene.repository(), &scene.base, &tree, message)
                .unwrap()
        };
        assert_eq!(commit("m"), commit("m"), "{what}");
        sh(
            &scene.repository(),
            &format!("git read-tree {tree} && git checkout-index -qaf && git clean -fdq"),
        );
        let text = String::from_utf8(sh(&scene.repository(), &format!("{shown}; true"))).unwrap();
        assert!(
            text.contains("one\n2\n") && text.contains("8\nnine\n"),
            "{what}: {text}"
        );
        sh(&scene.repository(), "git reset -q --hard");
    }
}

#[test]
fn what_cannot_be_merged_is_said_with_whose_patch_and_where() {
    let scene = Scene::new();
    for (what, lines, at, with, file) in [
        (
            "one line",
            &["echo n > n", "sed -i s/1/one/ a", "sed -i s/1/uno/ a"][..],
            2,
            &[1][..],
            "a",
        ),
        (
            "removed and changed",
            &["rm d*", "echo y >> 'd [*]'"],
            1,
            &[0],
            "d [*]",
        ),
        (
            "changed and removed",
            &["echo y >> 'd [*]'", "rm d*"],
            1,
            &[0],
            "d [*]",
        ),
        ("new twice", &["echo n > n", "echo m > n"], 1, &[0], "n"),
        (
            "bytes",
            &["printf '\\0two' > b", "printf '\\0three' > b"],
            1,
            &[0],
            "b",
        ),
    ] {
        let expected = MergedPatches::Conflict {
            at,
            with: with.to_vec(),
            files: vec![file.to_owned()],
        };
        assert_eq!(scene.merged(lines), expected, "{what}");
    }
}

#[test]
fn no_merge_driver_of_the_repository_runs() {
    let scene = Scene::new();
    let line = "echo 'a merge=own' > .git/info/attributes; git config merge.own.driver 'touch ../ran; true'";
    sh(&scene.repository(), line);
    let merged = scene.merged(&["sed -i s/1/one/ a", "sed -i s/9/nine/ a"]);
    let MergedPatches::Tree(tree) = merged else {
        panic!("a conflict");
    };
    let text = sh(&scene.repository(), &format!("git show {tree}:a"));
    assert_eq!(text, b"one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert!(!scene.folder.path().join("ran").exists());
    let conflict = scene.merged(&["sed -i s/1/one/ a", "sed -i s/1/uno/ a"]);
    assert!(matches!(conflict, MergedPatches::Conflict { .. }));
    assert!(!scene.folder.path().join("ran").exists());
}
