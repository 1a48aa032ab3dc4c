//! Repositories whose configuration names programs: every key that git's documentation gives one, and the shapes in which
//! such a configuration comes. A program leaves a file behind when it runs.
#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that cannot make its repository should fail with the reason"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Keys with a value in which `CMD` stands for the command that leaves a mark, `PROGRAM` for a file that is one, and
/// `HOOKS` for a folder with one for every hook.
const KEYS: &[(&str, &str)] = &[
    ("alias.status", "!CMD"),
    ("alias.read-tree", "!CMD"),
    ("browser.x.cmd", "CMD"),
    ("browser.x.path", "PROGRAM"),
    ("core.alternateRefsCommand", "CMD"),
    ("core.askPass", "CMD"),
    ("core.editor", "CMD"),
    ("core.fsmonitor", "CMD"),
    ("core.gitProxy", "CMD"),
    ("core.hooksPath", "HOOKS"),
    ("core.pager", "CMD"),
    ("core.sshCommand", "CMD"),
    ("credential.helper", "!CMD"),
    ("credential.https://x.invalid.helper", "!CMD"),
    ("diff.external", "CMD"),
    ("diff.guitool", "x"),
    ("diff.tool", "x"),
    ("diff.x.command", "CMD"),
    ("diff.x.textconv", "CMD"),
    ("difftool.x.cmd", "CMD"),
    ("difftool.x.path", "PROGRAM"),
    ("filter.x.clean", "CMD"),
    ("filter.x.process", "CMD"),
    ("filter.x.smudge", "CMD"),
    ("filter.a=b.clean", "CMD"),
    ("filter.a=b.process", "CMD"),
    ("filter.a=b.smudge", "CMD"),
    ("filter.c.d=e.clean", "CMD"),
    ("gc.recentObjectsHook", "CMD"),
    ("gpg.openpgp.program", "CMD"),
    ("gpg.program", "CMD"),
    ("gpg.ssh.defaultKeyCommand", "CMD"),
    ("gpg.ssh.program", "CMD"),
    ("gpg.x509.program", "CMD"),
    ("guitool.x.cmd", "CMD"),
    ("help.browser", "x"),
    ("hook.x.command", "CMD"),
    ("imap.tunnel", "CMD"),
    ("init.templateDir", "HOOKS"),
    ("instaweb.browser", "x"),
    ("instaweb.httpd", "CMD"),
    ("interactive.diffFilter", "CMD"),
    ("man.x.cmd", "CMD"),
    ("man.x.path", "PROGRAM"),
    ("merge.guitool", "x"),
    ("merge.tool", "x"),
    ("merge.x.driver", "CMD"),
    ("mergetool.x.cmd", "CMD"),
    ("mergetool.x.path", "PROGRAM"),
    ("pager.diff-tree", "CMD"),
    ("pager.status", "CMD"),
    ("remote.origin.pushurl", "ext::CMD"),
    ("remote.origin.receivepack", "CMD"),
    ("remote.origin.uploadpack", "CMD"),
    ("remote.origin.url", "ext::CMD"),
    ("remote.origin.vcs", "x"),
    ("sendemail.ccCmd", "CMD"),
    ("sendemail.headerCmd", "CMD"),
    ("sendemail.sendmailCmd", "CMD"),
    ("sendemail.smtpServer", "PROGRAM"),
    ("sendemail.toCmd", "CMD"),
    ("sequence.editor", "CMD"),
    ("submodule.inner.update", "!CMD"),
    ("submodule.inner.url", "ext::CMD"),
    ("tar.x.command", "CMD"),
    ("trailer.x.cmd", "CMD"),
    ("trailer.x.command", "CMD"),
    ("uploadpack.packObjectsHook", "CMD"),
    ("web.browser", "CMD"),
];

/// The hooks that git knows.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "proc-receive",
    "reference-transaction",
    "sendemail-validate",
];

/// Attributes that name everything which a configuration can define.
const ATTRIBUTES: &str = "* filter=x diff=x merge=x\n*.txt filter=a=b\n*.md filter=c.d=e\n";

/// Where in a repository a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// In the repository itself.
    Own,
    /// In a file that its configuration includes.
    Included,
    /// In `config.worktree`.
    OfWorktree,
    /// In a folder that looks like a bare repository; git is used inside it.
    Bare,
    /// In a submodule that is checked out.
    Submodule,
    /// In a repository whose missing objects its configuration promises.
    Partial,
    /// In a repository that the tree's file `.git` was made to name.
    Exchanged,
    /// In a repository from which the objects are borrowed, too.
    Alternates,
    /// In the repository of a linked working tree.
    Linked,
}

/// A configuration of a hostile repository.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// The shape with the key.
    pub name: String,
    shape: Shape,
    settings: Vec<(&'static str, &'static str)>,
}

/// What the keys are called without the names in their middle, in small letters: `filter.clean`.
pub fn keys_in_table() -> Vec<String> {
    KEYS.iter().map(|(key, _)| without_middle(key)).collect()
}

/// A key without the name in its middle, in small letters.
pub fn without_middle(key: &str) -> String {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit_once('.').map_or(rest, |(_, name)| name);
    format!("{section}.{name}").to_lowercase()
}

/// All of them: each key in the repository itself, and all keys together in every other shape.
pub fn hostile_repositories() -> Vec<Hostile> {
    let alone = KEYS.iter().map(|setting| Hostile {
        name: format!("{} = {}", setting.0, setting.1),
        shape: Shape::Own,
        settings: vec![*setting],
    });
    let shapes = [
        Shape::Own,
        Shape::Included,
        Shape::OfWorktree,
        Shape::Bare,
        Shape::Submodule,
        Shape::Partial,
        Shape::Exchanged,
        Shape::Alternates,
        Shape::Linked,
    ];
    let together = shapes.into_iter().map(|shape| Hostile {
        name: format!("{shape:?} with every key"),
        shape,
        settings: KEYS.to_vec(),
    });
    alone.chain(together).collect()
}

impl Hostile {
    /// Makes it in a folder, where there is nothing. Gives the folder in which git is used. Every program that runs leaves
    /// a file in `marks`.
    pub fn lay_out(&self, folder: &Path, marks: &Path) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::create_dir_all(marks).unwrap();
        commit(
            folder,
            &[("a.txt", "one\n"), ("b.md", "b\n"), ("sub/c.txt", "c\n")],
        );
        let git = folder.join(".git");
        let used = match self.shape {
            Shape::Own => self.write(&git.join("config"), marks, folder),
            Shape::Included => {
                run(folder, &["config", "include.path", "../included"]);
                self.write(&folder.join("included"), marks, folder)
            }
            Shape::OfWorktree => {
                run(folder, &["config", "extensions.worktreeConfig", "true"]);
                self.write(&git.join("config.worktree"), marks, folder)
            }
            Shape::Bare => {
                let bare = folder.join("vendor");
                run(folder, &["clone", "-q", "--bare", ".", "vendor"]);
                run(&bare, &["config", "core.bare", "false"]);
                run(&bare, &["config", "core.worktree", ".."]);
                self.write(&bare.join("config"), marks, &bare)
            }
            Shape::Submodule => {
                let inner = folder.with_extension("inner");
                std::fs::create_dir_all(&inner).unwrap();
                commit(&inner, &[("l.txt", "l\n")]);
                let from = inner.to_str().unwrap();
                let local = ["-c", "protocol.file.allow=always"];
                run(
                    folder,
                    &[&local[..], &["submodule", "--quiet", "add", from, "inner"]].concat(),
                );
                run(folder, &["commit", "-q", "-m", "submodule"]);
                std::fs::write(folder.join("inner/l.txt"), "changed\n").unwrap();
                self.write(&git.join("modules/inner/config"), marks, folder)
            }
            Shape::Partial => {
                let promised = run(folder, &["rev-parse", "HEAD:sub/c.txt"]);
                let (start, rest) = promised.trim().split_at(2);
                let object = git.join("objects").join(start).join(rest);
                std::fs::remove_file(object).unwrap();
                for (key, value) in [
                    ("core.repositoryFormatVersion", "1"),
                    ("extensions.partialClone", "far"),
                    ("remote.far.promisor", "true"),
                    ("remote.far.url", "ssh://x.invalid/x"),
                ] {
                    run(folder, &["config", key, value]);
                }
                self.write(&git.join("config"), marks, folder)
            }
            Shape::Exchanged => {
                std::fs::rename(&git, folder.join("evil")).unwrap();
                std::fs::write(&git, "gitdir: ./evil\n").unwrap();
                self.write(&folder.join("evil/config"), marks, folder)
            }
            Shape::Alternates => {
                let lender = folder.with_extension("lender");
                let place = lender.to_str().unwrap();
                run(folder, &["clone", "-q", "--bare", ".", place]);
                let objects = git.join("objects");
                std::fs::remove_dir_all(&objects).unwrap();
                std::fs::create_dir_all(objects.join("info")).unwrap();
                let names = format!("{place}/objects\n");
                std::fs::write(objects.join("info/alternates"), names).unwrap();
                self.write(&lender.join("config"), marks, &lender);
                self.write(&git.join("config"), marks, folder)
            }
            Shape::Linked => {
                let main = folder.with_extension("main");
                std::fs::rename(folder, &main).unwrap();
                let tree = folder.to_str().unwrap();
                run(&main, &["worktree", "add", "-q", tree]);
                self.write(&main.join(".git/config"), marks, folder)
            }
        };
        std::fs::write(folder.join(".gitattributes"), ATTRIBUTES).unwrap();
        std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(folder.join("new.txt"), "new\n").unwrap();
        used
    }

    /// Adds the settings to a configuration, and hooks and attributes beside it.
    fn write(&self, config: &Path, marks: &Path, used: &Path) -> PathBuf {
        let mut text = std::fs::read_to_string(config).unwrap_or_default();
        for (at, (key, value)) in self.settings.iter().enumerate() {
            let mark = marks.join(format!("{at}-{}", key.replace(['/', ':'], "-")));
            let value = if value.contains("PROGRAM") || value.contains("HOOKS") {
                let folder = marks.with_extension("programs");
                std::fs::create_dir_all(&folder).unwrap();
                let text = format!("#!/bin/sh\n{}\n", command(&mark));
                for hook in HOOKS.iter().chain(&["program"]) {
                    program(&folder.join(hook), &text);
                }
                let folder = folder.display().to_string();
                let file = format!("{folder}/program");
                value.replace("PROGRAM", &file).replace("HOOKS", &folder)
            } else {
                value.replace("CMD", &command(&mark))
            };
            let value = value.replace('"', "\\\"");
            let (section, rest) = key.split_once('.').unwrap();
            let (part, name) = rest.rsplit_once('.').unwrap_or(("", rest));
            let section = match part {
                "" => format!("[{section}]"),
                part => format!("[{section} \"{part}\"]"),
            };
            text.push_str(&section);
            text.push_str("\n\t");
            text.push_str(name);
            text.push_str(" = \"");
            text.push_str(&value);
            text.push_str("\"\n");
        }
        std::fs::write(config, text).unwrap();
        let own = config.parent().unwrap();
        let own = if own.join("HEAD").exists() {
            own.to_path_buf()
        } else {
            used.join(".git")
        };
        std::fs::create_dir_all(own.join("hooks")).unwrap();
        std::fs::create_dir_all(own.join("info")).unwrap();
        for hook in HOOKS {
            let text = format!(
                "#!/bin/sh\n{}\n",
                command(&marks.join(format!("hook-{hook}")))
            );
            program(&own.join("hooks").join(hook), &text);
        }
        std::fs::write(own.join("info/attributes"), ATTRIBUTES).unwrap();
        used.to_path_buf()
    }
}

/// What has run, by the files that it left.
pub fn marks_in(marks: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(marks).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A command that leaves a file and passes its input on, as a filter does.
fn command(mark: &Path) -> String {
    format!("touch '{}'; cat", mark.display())
}

fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a repository with one commit of these files.
fn commit(folder: &Path, texts: &[(&str, &str)]) {
    for (path, text) in texts {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    run(folder, &["init", "-q", "-b", "main"]);
    run(folder, &["add", "-A"]);
    run(folder, &["commit", "-q", "-m", "first"]);
}

/// git without anybody's configuration, which has to succeed.
fn run(folder: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@localhost"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}
