//! Whatever happens in the folder of a trusted skill is seen, wherever one looks.
//!
//! Everything runs as an ordinary user: to the superuser no file is unreadable.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use grove_testkit::process::{self, Finished};
use grove_testkit::session::Session;
use serde_json::{Value, json};

/// Nobody's user and group number on every usual system.
const NOBODY: u32 = 65534;

const SKILL: &str = "project/.agents/skills/deploy";
const BODY: &str = "Run scripts/setup.sh before you deploy.";

/// Whether the test may become somebody else.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

fn give_away(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    let metadata = fs::symlink_metadata(path).unwrap();
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

fn as_user(session: &Session) -> Command {
    let mut command = session.command("project");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn grove(session: &Session, words: &str) -> Finished {
    let mut command = as_user(session);
    command.args(words.split(' '));
    process::capture(&mut command, process::HANGING).unwrap()
}

fn trusted_skill() -> Session {
    let session = Session::new(env!("CARGO_BIN_EXE_grove")).without_bundled();
    session.definition(SKILL, "", BODY);
    session.file(format!("{SKILL}/scripts/setup.sh"), "echo setup\n");
    session.file(format!("{SKILL}/references/notes.md"), "echo setup\n");
    let script = session.path(format!("{SKILL}/scripts/setup.sh"));
    fs::set_permissions(script, Permissions::from_mode(0o755)).unwrap();
    session.definition(
        "home/.claude/agents/helper.md",
        "skills: deploy\n",
        "You help.",
    );
    if is_root() {
        give_away(&session.path(""));
    }
    let trusted = grove(&session, "trust --yes");
    assert!(trusted.success(), "{}", trusted.stderr_text());
    session
}

/// A running server and a question to it.
struct Server {
    child: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Server {
    fn start(session: &Session) -> Self {
        let mut command = as_user(session);
        command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self { child, lines };
        server.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.send(
            &json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": parameters }),
        );
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == method {
                return answer;
            }
        }
    }

    fn read(&mut self, file: &str) -> Value {
        let uri = format!("skill://deploy/{file}");
        self.ask("resources/read", &json!({ "uri": uri }))
    }

    fn activate(&mut self) -> String {
        let arguments = json!({ "name": "skill", "arguments": { "name": "deploy" } });
        self.ask("tools/call", &arguments).to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the skill's body is in what each surface gives, by name, and what the list says of it.
fn surfaces(session: &Session, server: &mut Server) -> (Vec<(&'static str, bool)>, String) {
    let list = grove(session, "skills list --json");
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    let skill = &list["skills"][0];
    let reason = skill["reasons"][0]["message"].as_str().unwrap_or_default();
    let gives = |words: &str| grove(session, words).stdout_text().contains(BODY);
    let exported = session.path("project/out");
    let _ = fs::remove_dir_all(&exported);
    fs::create_dir(&exported).unwrap();
    if is_root() {
        give_away(&exported);
    }
    grove(session, "agents export --host claude --out out helper");
    let copy = exported.join(".claude/skills/deploy/SKILL.md");
    let shown = [
        ("list", skill["state"] == "ok"),
        ("activate", gives("skills activate deploy")),
        ("prompt", gives("prompt helper")),
        (
            "export",
            fs::read_to_string(copy).is_ok_and(|text| text.contains(BODY)),
        ),
        ("mcp skill", server.activate().contains(BODY)),
        (
            "mcp file",
            !server.read("scripts/setup.sh")["result"].is_null(),
        ),
        (
            "mcp other file",
            !server.read("references/notes.md")["result"].is_null(),
        ),
    ];
    (shown.to_vec(), reason.to_owned())
}

type Change = fn(&Path);

const CHANGES: [(&str, Change, &str); 9] = [
    (
        "changed",
        |skill| fs::write(skill.join("scripts/setup.sh"), "echo other\n").unwrap(),
        "`scripts/setup.sh` changed",
    ),
    (
        "added",
        |skill| fs::write(skill.join("scripts/more.sh"), "").unwrap(),
        "`scripts/more.sh` was added",
    ),
    (
        "added and hidden",
        |skill| fs::write(skill.join(".env"), "").unwrap(),
        "`.env` was added",
    ),
    (
        "removed",
        |skill| fs::remove_file(skill.join("references/notes.md")).unwrap(),
        "`references/notes.md` was removed",
    ),
    (
        "renamed",
        |skill| fs::rename(skill.join("scripts"), skill.join("bin")).unwrap(),
        "`bin` was added, `bin/setup.sh` was added, `scripts` was removed, and 1 more",
    ),
    (
        "linked",
        |skill| {
            fs::remove_file(skill.join("scripts/setup.sh")).unwrap();
            symlink("../references/notes.md", skill.join("scripts/setup.sh")).unwrap();
        },
        "`scripts/setup.sh` became a link",
    ),
    (
        "made executable",
        |skill| {
            let executable = Permissions::from_mode(0o755);
            fs::set_permissions(skill.join("references/notes.md"), executable).unwrap();
        },
        "`references/notes.md` became executable",
    ),
    (
        "no longer executable",
        |skill| {
            let plain = Permissions::from_mode(0o644);
            fs::set_permissions(skill.join("scripts/setup.sh"), plain).unwrap();
        },
        "`scripts/setup.sh` is no longer executable",
    ),
    (
        "closed",
        |skill| {
            let closed = Permissions::from_mode(0o000);
            fs::set_permissions(skill.join("references/notes.md"), closed).unwrap();
        },
        "`references/notes.md` cannot be read",
    ),
];

#[test]
fn every_change_in_a_trusted_skills_folder_is_seen_everywhere() {
    for (name, change, told) in CHANGES {
        let session = trusted_skill();
        let mut server = Server::start(&session);
        let (before, _) = surfaces(&session, &mut server);
        assert!(before.iter().all(|(_, given)| *given), "{name}: {before:?}");
        change(&session.path(SKILL));
        let (after, reason) = surfaces(&session, &mut server);
        assert!(after.iter().all(|(_, given)| !*given), "{name}: {after:?}");
        assert_eq!(
            reason,
            format!("{told} since the project was trusted"),
            "{name}"
        );
    }
}

#[test]
fn what_is_put_back_is_trusted_again_and_a_touch_is_no_change() {
    let session = trusted_skill();
    let mut server = Server::start(&session);
    let script = session.path(format!("{SKILL}/scripts/setup.sh"));
    fs::write(&script, "echo other\n").unwrap();
    assert!(!surfaces(&session, &mut server).0[0].1);
    fs::write(&script, "echo setup\n").unwrap();
    let (shown, _) = surfaces(&session, &mut server);
    assert!(shown.iter().all(|(_, given)| *given), "{shown:?}");
}

#[test]
fn a_grant_from_before_folders_were_pinned_has_to_be_reviewed_again() {
    let session = trusted_skill();
    let name = session.entries("state/grove/trust").remove(0);
    let file = format!("state/grove/trust/{name}");
    let mut grant: Value = serde_json::from_str(&session.read(&file)).unwrap();
    grant["version"] = json!(1);
    grant.as_object_mut().unwrap().remove("born");
    let pins = grant["pins"].as_object_mut().unwrap();
    pins.retain(|path, _| path.ends_with("SKILL.md"));
    for pin in pins.values_mut() {
        let text = pin.as_str().unwrap().trim_end_matches(" file").to_owned();
        *pin = json!(text);
    }
    session.file(&file, grant.to_string());
    let list = session.json("skills list");
    assert_eq!(list["skills"][0]["state"], "changed");
    let reason = &list["skills"][0]["reasons"][0];
    assert_eq!(reason["code"], "folder-not-seen");
    session.trust();
    assert_eq!(session.json("skills list")["skills"][0]["state"], "ok");
}
