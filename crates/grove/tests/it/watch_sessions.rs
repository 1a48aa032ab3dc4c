//! `grove watch` as a program: what it prints while files change, and what ends it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use grove_testkit::home::TestHome;
use serde_json::Value;

/// Far more than anything here takes.
const PLENTY: Duration = Duration::from_secs(20);

/// A running `grove watch`, ended with the test.
struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

impl Watch {
    fn start(home: &TestHome, arguments: &[&str]) -> Self {
        let program = home.command("project");
        // Whoever is started in the background by a shell ignores interrupts, and so do all that it starts.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT,TERM", "--"])
            .arg(program.get_program())
            .arg("watch")
            .args(arguments)
            .env_clear()
            .envs(
                program
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(home.path("project"))
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let value =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PLENTY).unwrap()
    }

    /// The next line that tells of a change of skills.
    fn change(&self) -> Value {
        let lists = ["added", "removed", "changed"];
        loop {
            let line = self.next();
            if lists.iter().any(|list| line[list] != Value::Array(vec![])) {
                return line;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PLENTY, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.skill("home/.agents/skills/a", "a", "One.");
    home
}

#[test]
fn every_change_is_a_line_and_a_signal_ends_it() {
    for signal in ["-INT", "-TERM"] {
        let home = home();
        let mut watch = Watch::start(&home, &[]);
        let first = watch.next();
        assert_eq!(first["schema"], "grove.watch/1");
        assert_eq!(first["version"], 1);
        assert_eq!(first["skills"], 2, "its own and the bundled one");
        assert_eq!(first["states"]["ok"], 2);
        assert_eq!(first["why"][0]["what"], "start");

        // Moved in whole, so that it is never seen half written.
        home.skill("project/draft/b", "b", "Two.");
        let (draft, place) = ("project/draft/b", "home/.agents/skills/b");
        std::fs::rename(home.path(draft), home.path(place)).unwrap();
        let added = watch.change();
        assert_eq!(added["added"], serde_json::json!(["b@user:.agents/skills"]));
        assert_eq!(added["skills"], 3);
        assert_ne!(added["digest"], first["digest"]);
        let version = added["version"].as_u64().unwrap();
        assert_eq!(version, 2);

        home.skill("home/.agents/skills/a", "a", "Edited.");
        let edited = watch.change();
        assert_eq!(
            edited["changed"],
            serde_json::json!(["a@user:.agents/skills"])
        );
        let listed = home.run("project", ["skills", "list", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(
            edited["digest"], listed["snapshot"]["digest"],
            "as others see it"
        );

        // Moved away whole: what is removed piece by piece may be seen when half of it is gone.
        std::fs::rename(home.path("home/.agents"), home.path("project/away")).unwrap();
        let removed = watch.change();
        assert_eq!(
            removed["removed"],
            serde_json::json!(["a@user:.agents/skills", "b@user:.agents/skills"])
        );
        watch.signal(signal);
        let status = watch.end();
        let number = if signal == "-INT" { 2 } else { 15 };
        assert!(
            status.signal() == Some(number) || status.success(),
            "{status:?}"
        );
    }
}

#[test]
fn a_broken_file_is_told_and_nothing_changes() {
    let home = home();
    let watch = Watch::start(&home, &[]);
    let first = watch.next();
    home.file("home/.agents/skills/a/SKILL.md", "---\nname: a\n");
    let line = loop {
        let line = watch.next();
        let findings = line["diagnostics"].as_array().unwrap().clone();
        if findings
            .iter()
            .any(|found| found["code"] == "kept-last-good")
        {
            break line;
        }
    };
    assert_eq!(line["version"], first["version"]);
    assert_eq!(line["digest"], first["digest"]);
    assert_eq!(line["states"], first["states"]);
}

#[test]
fn a_root_that_does_not_exist_is_waited_for() {
    let home = home();
    let watch = Watch::start(&home, &["--root", "later/skills"]);
    assert_eq!(watch.next()["skills"], 0);
    home.skill("project/draft/skills/x", "x", "Late.");
    std::fs::rename(home.path("project/draft"), home.path("project/later")).unwrap();
    assert_eq!(
        watch.change()["added"],
        serde_json::json!(["x@user:skills"])
    );
}

/// Nothing changes, so nothing is written, and yet it has to notice that nobody reads any more.
#[test]
fn it_ends_when_nobody_reads_although_nothing_changes() {
    let home = home();
    let mut command = home.command("project");
    command.arg("watch").stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    let (_, lines) = channel();
    let mut watch = Watch { child, lines };
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn an_unknown_host_is_an_error() {
    let finished = home().run("project", ["watch", "--host", "nobody"]);
    assert_eq!(finished.ending, grove_testkit::process::Ending::Exited(2));
}

/// After it has begun to watch folders it looks again by itself, and may find a package before it is told of it. So
/// that is left to be over, longer and longer, until a package is found for the right reason.
#[test]
fn a_package_that_is_installed_is_a_change() {
    let home = home();
    home.dir("npm/lib/node_modules");
    let watch = Watch::start(&home, &[]);
    watch.next();
    let mut reasons = Vec::new();
    for n in 0..10_u32 {
        std::thread::sleep(n * Duration::from_millis(300));
        let staged = format!("npm/staged-{n}");
        home.file(
            format!("{staged}/package.json"),
            format!(r#"{{ "name": "p{n}", "grove": {{ "skills": ["skills"] }} }}"#),
        );
        home.skill(
            format!("{staged}/skills/packed-{n}"),
            &format!("packed-{n}"),
            "d",
        );
        // As npm does it: made elsewhere and moved to its place.
        let place = home.path(format!("npm/lib/node_modules/p{n}"));
        std::fs::rename(home.path(staged), place).unwrap();
        let change = watch.change();
        assert_eq!(change["added"].as_array().unwrap().len(), 1, "{change}");
        let why = change["why"].as_array().unwrap().clone();
        if why.iter().any(|why| why["what"] == "configuration") {
            return;
        }
        reasons.push(why);
    }
    panic!("{reasons:?}");
}
