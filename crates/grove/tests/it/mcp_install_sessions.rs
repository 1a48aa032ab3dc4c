//! `grove mcp install | uninstall`: the difference first, nothing else touched, and everything undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process;
use grove_testkit::session::Session;
use serde_json::{Value, json};

const CLAUDE: &str = "home/.claude.json";
const CODEX: &str = "home/.codex/config.toml";

const CLAUDE_TEXT: &str = "{\n  \"numStartups\" : 3,\n  \"odd\": [1.50, \"}\"],\n  \"mcpServers\": {\n    \
                           \"other\": { \"command\": \"x\" }\n  }\n}";
const COPILOT: &str = "home/.copilot/mcp-config.json";
const GEMINI: &str = "home/.gemini/settings.json";
const OPENCODE: &str = "home/.config/opencode/opencode.json";
const GEMINI_TEXT: &str = "{\n\t\"theme\": \"Default\",\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\"}\n\t}\n}\n";
const OPENCODE_TEXT: &str =
    "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"model\": \"a/b\"\n}\n";
const CODEX_TEXT: &str = "# mine\nmodel = \"o\"   # why\n\n[mcp_servers.other]\ncommand = 'x'\n";

fn session() -> Session {
    let session = crate::session().working_in("home/work");
    session.dir("home/work/.git");
    session
}

fn text(session: &Session, file: &str) -> Option<String> {
    fs::read_to_string(session.path(file)).ok()
}

#[test]
fn it_is_shown_first_done_when_asked_and_undone_to_the_byte() {
    for (host, file, before) in [
        ("claude", CLAUDE, Some(CLAUDE_TEXT)),
        ("claude", CLAUDE, None),
        ("codex", CODEX, Some(CODEX_TEXT)),
        ("codex", CODEX, None),
        ("copilot", COPILOT, Some(CLAUDE_TEXT)),
        ("copilot", COPILOT, None),
        ("gemini", GEMINI, Some(GEMINI_TEXT)),
        ("gemini", GEMINI, None),
        ("opencode", OPENCODE, Some(OPENCODE_TEXT)),
        ("opencode", OPENCODE, None),
    ] {
        let session = session();
        let path = session.path(file);
        if let Some(before) = before {
            session.file(file, before);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        let install = format!("mcp install --host {host}");
        for (more, code) in [("--dry-run", 0), ("", 1)] {
            let shown = session.grove(&format!("{install} {more}")).fails(code);
            assert_eq!(shown.stderr.contains("--yes"), code == 1, "{shown}");
            shown.prints(["\n+ "]);
            let after = text(&session, file);
            assert_eq!(after.as_deref(), before, "nothing is written unasked");
        }
        session.done(&format!("{install} --yes"));
        let after = text(&session, file).unwrap();
        assert!(after.contains(env!("CARGO_BIN_EXE_grove")), "{after}");
        let lines = before.unwrap_or_default().lines();
        for line in lines.filter(|line| line.len() > 6) {
            let is_left = after.contains(line.trim_end_matches('}'));
            assert!(is_left, "{line:?} is gone from {after}");
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if before.is_some() { 0o640 } else { 0o600 });

        session.done(&format!("{install} --yes"));
        let again = text(&session, file);
        assert_eq!(again, Some(after), "a second time changes nothing");

        for _ in 0..2 {
            session.done(["mcp", "uninstall", "--host", host, "--yes"]);
            assert_eq!(text(&session, file).as_deref(), before, "{host}");
        }
    }
}

#[test]
fn what_changed_in_between_stays_changed() {
    let session = session();
    let (startups, more) = ("\"numStartups\" : 3", "\"numStartups\": 4");
    for (host, file, original, from, to) in [
        ("claude", CLAUDE, CLAUDE_TEXT, startups, more),
        ("codex", CODEX, CODEX_TEXT, "model = \"o\"", "model = \"p\""),
    ] {
        session.file(file, original);
        session.done(["mcp", "install", "--host", host, "--yes"]);
        session.file(file, session.read(file).replace(from, to));
        session.done(["mcp", "uninstall", "--host", host, "--yes"]);
        assert_eq!(session.read(file), original.replace(from, to));
    }
}

#[test]
fn a_project_is_entered_by_name_and_links_stay_links() {
    let session = session();
    for (host, file) in [
        ("claude", "home/work/.mcp.json"),
        ("codex", "home/work/.codex/config.toml"),
        ("copilot", "home/work/.github/mcp.json"),
        ("gemini", "home/work/.gemini/settings.json"),
        ("opencode", "home/work/opencode.json"),
    ] {
        session.done(&format!("mcp install --host {host} --scope project --yes"));
        let made = session.read(file);
        let program = env!("CARGO_BIN_EXE_grove");
        assert!(
            made.contains("\"grove\"") && !made.contains(program),
            "{made}"
        );
    }
    let real = "home/dotfiles/claude.json";
    session
        .file(real, CLAUDE_TEXT)
        .link(CLAUDE, session.path(real));
    session.done("mcp install --host claude --yes");
    assert!(session.path(CLAUDE).is_symlink());
    assert!(session.read(real).contains("\"grove\""));
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let session = session();
    let inline = "mcp_servers = { other = { command = \"x\" } }\n";
    for (host, file, broken) in [
        ("claude", CLAUDE, "{ // comment\n}"),
        ("codex", CODEX, inline),
    ] {
        session.file(file, broken);
        let refused = session.grove(["mcp", "install", "--host", host, "--yes"]);
        refused.fails(1).says(["cannot be edited"]);
        assert_eq!(session.read(file), broken);
    }
    session.grove("mcp install --host emacs").fails(2);
}

/// Each host has a form of its own, and its variable moves the file.
#[test]
fn every_host_has_the_entry_in_its_own_form() {
    let program = env!("CARGO_BIN_EXE_grove");
    for (host, file, servers, expected) in [
        (
            "copilot",
            COPILOT,
            "mcpServers",
            json!({ "type": "local", "command": program, "args": ["mcp"], "tools": ["*"] }),
        ),
        (
            "gemini",
            GEMINI,
            "mcpServers",
            json!({ "command": program, "args": ["mcp"] }),
        ),
        (
            "opencode",
            OPENCODE,
            "mcp",
            json!({ "type": "local", "command": [program, "mcp"], "enabled": true }),
        ),
    ] {
        let session = session();
        session.done(["mcp", "install", "--host", host, "--yes"]);
        let made: Value = serde_json::from_str(&session.read(file)).unwrap();
        assert_eq!(made[servers]["grove"], expected, "{host}");
    }
    let session = session().with_env("COPILOT_HOME", "/nonexistent/copilot");
    let shown = session.done("mcp install --host copilot --dry-run");
    shown.prints(["/nonexistent/copilot/mcp-config.json"]);
}

#[test]
fn what_the_host_lists_by_itself_is_said() {
    let session = session().without_bundled();
    session.skill("home/.claude/skills/a", "a", "Does a.");
    session.skill("home/.grove/skills/b", "b", "Does b.");
    let said = session.done("mcp install --host claude --dry-run");
    said.says(["Claude Code already lists 1 of these 2 skills by itself; the server adds 1"]);
    let said = session.done("mcp install --host gemini --dry-run");
    assert!(!said.stderr.contains("already lists"), "{said}");
}

/// Copilot reads the entry as its own `mcp add` would have written it.
#[test]
fn copilot_lists_the_server_that_was_entered() {
    needs![Copilot];
    let session = session();
    session.done("mcp install --host copilot --yes");
    let mut command = Command::new(Need::Copilot.path());
    command
        .args(["mcp", "get", "grove"])
        .current_dir(session.path("home/work"))
        .env_clear()
        .env("HOME", session.path("home"));
    let listed = process::capture(&mut command, Duration::from_mins(2)).unwrap();
    let listed = listed.stdout_text();
    let started = format!("Command: {} mcp", env!("CARGO_BIN_EXE_grove"));
    for part in ["Type: local", "Tools: * (all)", &started] {
        assert!(listed.contains(part), "{part} in {listed}");
    }
}
