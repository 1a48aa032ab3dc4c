//! Sessions in a real terminal, narrow and wide, with and without colours, as a person sees them.

use std::process::Command;

use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::{self, Finished};
use grove_testkit::session::Session;
use insta::assert_snapshot;

const COMMANDS: [&str; 8] = [
    "",
    "skills list",
    "skills list --tree",
    "skills show pdf-join",
    "skills check",
    "why pdf-join",
    "trust --dry-run",
    "validate ../home/.agents/skills/broken",
];

fn session() -> Session {
    let session = crate::session().without_bundled().without_env("COLUMNS");
    session.dir("home/.claude").dir("project/.git");
    session
        .skill(
            "home/.agents/skills/office/pdf-join",
            "pdf-join",
            "Joins PDF files into one document, page after page. Use when several documents have to become one",
        )
        .skill("home/.claude/skills/mail", "mail", "Answers letters")
        .skill("project/.agents/skills/deploy", "deploy", "Ships a release to the servers of this project")
        .file(
            "home/.agents/skills/broken/SKILL.md",
            "---\nname: Broken Name\ndescription: {a: b}\n---\nText.\n",
        );
    session
}

/// tmux with a server of its own and the session's surroundings. A server that was ended takes a moment to be gone, so
/// every terminal has another one.
pub(crate) fn tmux(session: &Session, server: &str, words: &[&str]) -> Finished {
    let mut command = Command::new(Need::Tmux.path());
    command.env_clear().current_dir(session.path("project"));
    for (name, value) in session.command("project").get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
        .env("TMUX_TMPDIR", session.path("tmp"))
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .args(["-f", "/dev/null", "-L", server])
        .args(words);
    process::capture(&mut command, process::HANGING).unwrap()
}

/// The program that a session starts, which may be an earlier one.
pub(crate) fn program(session: &Session) -> String {
    let command = session.command("project");
    command.get_program().to_string_lossy().into_owned()
}

/// What a terminal of this width shows of a command, colours included.
fn shown(session: &Session, width: usize, colours: bool, words: &str) -> String {
    captured(session, (width, colours), words, &[])
}

/// The same; with `-J`, lines that the terminal broke by itself are whole, so that a path is recognised.
fn captured(
    session: &Session,
    (width, colours): (usize, bool),
    words: &str,
    flags: &[&str],
) -> String {
    let program = program(session);
    let server = format!(
        "{width}-{colours}{}-{}",
        flags.len(),
        words.replace(['/', ' ', '.'], "-")
    );
    let no_color = if colours { "" } else { "NO_COLOR=1 " };
    let script = format!(
        "{no_color}'{program}' {words}; echo \"[exit code $?]\"; tmux -L {server} wait-for -S done; cat"
    );
    let width = width.to_string();
    let start = [
        "new-session",
        "-d",
        "-x",
        &width,
        "-y",
        "200",
        "sh",
        "-c",
        &script,
    ];
    let started = tmux(session, &server, &start);
    assert!(started.success(), "{started:?}: {}", started.stderr_text());
    assert!(tmux(session, &server, &["wait-for", "done"]).success());
    let captured = tmux(
        session,
        &server,
        &[&["capture-pane", "-p", "-e"], flags].concat(),
    );
    tmux(session, &server, &["kill-server"]);
    let text = captured.stdout_text();
    let lines = text.trim_end().lines().map(str::trim_end);
    let text = lines.collect::<Vec<_>>().join("\n");
    text.replace(&session.path("").display().to_string(), "[T]/")
}

/// A text without colours.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out + rest
}

fn sessions_at(width: usize) -> String {
    let session = session();
    let mut all = Vec::new();
    for words in COMMANDS {
        let coloured = shown(&session, width, true, words);
        let without = shown(&session, width, false, words);
        assert!(!without.contains('\u{1b}'), "{words}: {without}");
        let same = |text: &str| -> Vec<String> {
            plain(text)
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        assert_eq!(same(&coloured), same(&without), "{words}");
        assert_no_broken_word(&session, words, &without, width);
        let coloured = captured(&session, (width, true), words, &["-J"]);
        let coloured = coloured.replace('\u{1b}', "␛");
        all.push(format!("$ grove {words}\n{coloured}\n\n"));
    }
    all.concat()
}

/// Every word on a narrow page is a word of the widest one, or a part of one that no line has room for.
fn assert_no_broken_word(session: &Session, words: &str, narrow: &str, width: usize) {
    let wide = shown(session, 400, false, words);
    let known: Vec<&str> = wide.split_whitespace().collect();
    let headings: Vec<String> = known
        .iter()
        .map(|word| format!("{}:", word.to_lowercase()))
        .collect();
    for word in narrow.split_whitespace() {
        let word = word.trim_end_matches('…');
        let is_known = word.is_empty()
            || known.contains(&word)
            || headings.iter().any(|it| it == word)
            || known
                .iter()
                .any(|it| it.chars().count() > width && it.contains(word))
            || ["only:", "by:", "shown:", "name", "not"].contains(&word);
        assert!(is_known, "{words}: `{word}` in\n{narrow}\n{wide}");
    }
}

#[test]
fn on_forty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(40));
}

#[test]
fn on_eighty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(80));
}

#[test]
fn on_a_hundred_and_twenty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(120));
}
