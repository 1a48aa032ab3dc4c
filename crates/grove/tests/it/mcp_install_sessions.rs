//! `grove mcp install | uninstall`: the difference first, nothing else touched, and everything undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};

const CLAUDE: &str = "home/.claude.json";
const CODEX: &str = "home/.codex/config.toml";

const CLAUDE_TEXT: &str = "{\n  \"numStartups\" : 3,\n  \"odd\": [1.50, \"}\"],\n  \"mcpServers\": {\n    \
                           \"other\": { \"command\": \"x\" }\n  }\n}";
const CODEX_TEXT: &str = "# mine\nmodel = \"o\"   # why\n\n[mcp_servers.other]\ncommand = 'x'\n";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/work/.git");
    home
}

fn mcp(home: &TestHome, arguments: &[&str]) -> Finished {
    home.run("home/work", ["mcp"].iter().chain(arguments))
}

fn text(home: &TestHome, file: &str) -> Option<String> {
    fs::read_to_string(home.path(file)).ok()
}

#[test]
fn it_is_shown_first_done_when_asked_and_undone_to_the_byte() {
    for (host, file, before) in [
        ("claude", CLAUDE, Some(CLAUDE_TEXT)),
        ("claude", CLAUDE, None),
        ("codex", CODEX, Some(CODEX_TEXT)),
        ("codex", CODEX, None),
    ] {
        let home = home();
        if let Some(before) = before {
            home.file(file, before);
            fs::set_permissions(home.path(file), fs::Permissions::from_mode(0o640)).unwrap();
        }
        let install = ["install", "--host", host];
        for (more, code) in [(&["--dry-run"][..], 0), (&[], 1)] {
            let shown = mcp(&home, &[&install[..], more].concat());
            assert_eq!(
                shown.ending,
                Ending::Exited(code),
                "{}",
                shown.stderr_text()
            );
            assert!(
                shown.stdout_text().contains("\n+ "),
                "{}",
                shown.stdout_text()
            );
            assert_eq!(
                text(&home, file).as_deref(),
                before,
                "nothing is written unasked"
            );
            assert_eq!(shown.stderr_text().contains("--yes"), code == 1);
        }
        let done = mcp(&home, &[&install[..], &["--yes"]].concat());
        assert_eq!(done.ending, Ending::Exited(0), "{}", done.stderr_text());
        let after = text(&home, file).unwrap();
        assert!(after.contains(env!("CARGO_BIN_EXE_grove")), "{after}");
        for line in before
            .unwrap_or_default()
            .lines()
            .filter(|line| line.len() > 6)
        {
            assert!(
                after.contains(line.trim_end_matches('}')),
                "{line:?} is gone from {after}"
            );
        }
        let mode = fs::metadata(home.path(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if before.is_some() { 0o640 } else { 0o600 });

        let again = mcp(&home, &[&install[..], &["--yes"]].concat());
        assert_eq!(again.ending, Ending::Exited(0));
        assert_eq!(
            text(&home, file).unwrap(),
            after,
            "a second time changes nothing"
        );

        let undone = mcp(&home, &["uninstall", "--host", host, "--yes"]);
        assert_eq!(undone.ending, Ending::Exited(0), "{}", undone.stderr_text());
        assert_eq!(text(&home, file).as_deref(), before, "{host}");
        let nothing = mcp(&home, &["uninstall", "--host", host, "--yes"]);
        assert_eq!(nothing.ending, Ending::Exited(0));
        assert_eq!(text(&home, file).as_deref(), before, "{host}");
    }
}

#[test]
fn what_changed_in_between_stays_changed() {
    let home = home();
    home.file(CLAUDE, CLAUDE_TEXT).file(CODEX, CODEX_TEXT);
    for (host, file, from, to) in [
        (
            "claude",
            CLAUDE,
            "\"numStartups\" : 3",
            "\"numStartups\": 4",
        ),
        ("codex", CODEX, "model = \"o\"", "model = \"p\""),
    ] {
        assert!(mcp(&home, &["install", "--host", host, "--yes"]).success());
        let changed = text(&home, file).unwrap().replace(from, to);
        home.file(file, &changed);
        assert!(mcp(&home, &["uninstall", "--host", host, "--yes"]).success());
        let original = if host == "claude" {
            CLAUDE_TEXT
        } else {
            CODEX_TEXT
        };
        assert_eq!(text(&home, file).unwrap(), original.replace(from, to));
    }
}

#[test]
fn a_project_is_entered_by_name_and_links_stay_links() {
    let home = home();
    for (host, file) in [
        ("claude", "home/work/.mcp.json"),
        ("codex", "home/work/.codex/config.toml"),
    ] {
        assert!(
            mcp(
                &home,
                &["install", "--host", host, "--scope", "project", "--yes"]
            )
            .success()
        );
        let made = text(&home, file).unwrap();
        assert!(
            made.contains("\"grove\"") && !made.contains(env!("CARGO_BIN_EXE_grove")),
            "{made}"
        );
    }
    home.file("home/dotfiles/claude.json", CLAUDE_TEXT)
        .link(CLAUDE, home.path("home/dotfiles/claude.json"));
    assert!(mcp(&home, &["install", "--host", "claude", "--yes"]).success());
    assert!(
        fs::symlink_metadata(home.path(CLAUDE))
            .unwrap()
            .is_symlink()
    );
    assert!(
        text(&home, "home/dotfiles/claude.json")
            .unwrap()
            .contains("\"grove\"")
    );
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let home = home();
    for (host, file, broken) in [
        ("claude", CLAUDE, "{ // comment\n}"),
        (
            "codex",
            CODEX,
            "mcp_servers = { other = { command = \"x\" } }\n",
        ),
    ] {
        home.file(file, broken);
        let refused = mcp(&home, &["install", "--host", host, "--yes"]);
        assert_eq!(refused.ending, Ending::Exited(1), "{host}");
        assert!(
            refused.stderr_text().contains("cannot be edited"),
            "{}",
            refused.stderr_text()
        );
        assert_eq!(text(&home, file).as_deref(), Some(broken));
    }
    assert_eq!(
        mcp(&home, &["install", "--host", "emacs"]).ending,
        Ending::Exited(2)
    );
}
