//! `grove mcp install | uninstall`: the difference first, nothing else touched, and everything undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::session::Session;

const CLAUDE: &str = "home/.claude.json";
const CODEX: &str = "home/.codex/config.toml";

const CLAUDE_TEXT: &str = "{\n  \"numStartups\" : 3,\n  \"odd\": [1.50, \"}\"],\n  \"mcpServers\": {\n    \
                           \"other\": { \"command\": \"x\" }\n  }\n}";
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
