//! `grove watch` as a program: what it prints while files change, and what ends it.

use std::fs;
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::process::{Ending, Running};
use grove_testkit::session::{Session, column};
use serde_json::{Value, json};

/// Far more than anything here takes.
const PLENTY: Duration = Duration::from_secs(20);

/// A running `grove watch`, ended with the test.
struct Watch(Running);

impl Watch {
    fn start(session: &Session, arguments: &[&str]) -> Self {
        let program = session.command("project");
        let variables = program.get_envs();
        // Whoever is started in the background by a shell ignores interrupts, and so do all that it starts.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT,TERM", "--"])
            .arg(program.get_program())
            .arg("watch")
            .args(arguments)
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value?))))
            .current_dir(session.path("project"))
            .stdout(Stdio::piped());
        Self(Running::start(&mut command, 100).unwrap())
    }

    fn next(&self) -> Value {
        let line = self.0.line(PLENTY).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next line for which this holds.
    fn next_that(&self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next();
            if holds(&line) {
                return line;
            }
        }
    }

    /// The next line that tells of a change of skills.
    fn change(&self) -> Value {
        let lists = ["added", "removed", "changed"];
        self.next_that(|line| lists.iter().any(|list| line[list] != json!([])))
    }

    fn signal(&self, signal: &str) {
        let id = self.0.child.id().to_string();
        let sent = grove_testkit::process::kill().args([signal, &id]).status();
        assert!(sent.unwrap().success());
    }
}

fn session() -> Session {
    let session = crate::session();
    session.skill("home/.agents/skills/a", "a", "One.");
    session
}

/// Moves something in or away as a whole, so that it is never seen when half of it is there.
fn rename(session: &Session, from: &str, to: &str) {
    fs::rename(session.path(from), session.path(to)).unwrap();
}

#[test]
fn every_change_is_a_line_and_a_signal_ends_it() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let session = session();
        let mut watch = Watch::start(&session, &[]);
        let first = watch.next();
        assert_eq!(first["schema"], "grove.watch/1");
        assert_eq!(first["version"], 1);
        assert_eq!(first["skills"], 2, "its own and the bundled one");
        assert_eq!(first["states"]["ok"], 2);
        assert_eq!(first["why"][0]["what"], "start");

        session.skill("project/draft/b", "b", "Two.");
        rename(&session, "project/draft/b", "home/.agents/skills/b");
        let added = watch.change();
        assert_eq!(added["added"], json!(["b@user:.agents/skills"]));
        assert_eq!(added["skills"], 3);
        assert_ne!(added["digest"], first["digest"]);
        assert_eq!(added["version"], 2);

        session.skill("home/.agents/skills/a", "a", "Edited.");
        let edited = watch.change();
        assert_eq!(edited["changed"], json!(["a@user:.agents/skills"]));
        let digest = &session.json("skills list")["snapshot"]["digest"];
        assert_eq!(&edited["digest"], digest, "as others see it");

        rename(&session, "home/.agents", "project/away");
        let both = json!(["a@user:.agents/skills", "b@user:.agents/skills"]);
        assert_eq!(watch.change()["removed"], both);
        watch.signal(signal);
        let ending = watch.0.end(PLENTY).unwrap();
        let expected = [Ending::Signalled(number), Ending::Exited(0)];
        assert!(expected.contains(&ending), "{ending:?}");
    }
}

#[test]
fn a_broken_file_is_told_and_nothing_changes() {
    let session = session();
    let watch = Watch::start(&session, &[]);
    let first = watch.next();
    session.file("home/.agents/skills/a/SKILL.md", "---\nname: a\n");
    let kept = "kept-last-good".to_owned();
    let line = watch.next_that(|line| column(&line["diagnostics"], "code").contains(&kept));
    for member in ["version", "digest", "states"] {
        assert_eq!(line[member], first[member], "{member}");
    }
}

#[test]
fn a_root_that_does_not_exist_is_waited_for() {
    let session = session();
    let watch = Watch::start(&session, &["--root", "later/skills"]);
    assert_eq!(watch.next()["skills"], 0);
    session.skill("project/draft/skills/x", "x", "Late.");
    rename(&session, "project/draft", "project/later");
    assert_eq!(watch.change()["added"], json!(["x@user:skills"]));
}

/// Nothing changes, so nothing is written, and yet it has to notice that nobody reads any more.
#[test]
fn it_ends_when_nobody_reads_although_nothing_changes() {
    let session = session();
    let mut command = session.command("project");
    let (mut read, write) = io::pipe().unwrap();
    // What it says on its standard error is read, so that its standard output can be left.
    command.arg("watch").stdout(write).stderr(Stdio::piped());
    let mut watch = Running::start(&mut command, 0).unwrap();
    drop(command);
    read.read_exact(&mut [0]).unwrap();
    drop(read);
    assert_eq!(watch.end(PLENTY).unwrap(), Ending::Exited(0));
}

#[test]
fn an_unknown_host_is_an_error() {
    session().grove("watch --host nobody").fails(2);
}

/// When it has begun to watch folders it looks once more by itself, and would find a package before it is told of one.
/// So a skill is edited first, which brings no new folders: once that is told, this look is over.
#[test]
fn a_package_that_is_installed_is_a_change() {
    let session = session();
    let manifest = r#"{"name": "p", "grove": {"skills": ["skills"]}}"#;
    session
        .dir("npm/lib/node_modules")
        .file("npm/staged/package.json", manifest)
        .skill("npm/staged/skills/packed", "packed", "d")
        .skill("home/.agents/skills/b", "b", "Two.");
    let watch = Watch::start(&session, &[]);
    watch.next();
    session.skill("home/.agents/skills/b", "b", "Three.");
    assert_eq!(watch.change()["changed"].as_array().map(Vec::len), Some(1));
    // As npm does it: made elsewhere and moved to its place.
    rename(&session, "npm/staged", "npm/lib/node_modules/p");
    let change = watch.change();
    assert_eq!(change["added"].as_array().map(Vec::len), Some(1));
    let why = column(&change["why"], "what");
    assert!(why.contains(&"configuration".to_owned()), "{change}");
}
