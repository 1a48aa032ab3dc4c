//! What terminals show of a run while it goes on: the one that began it, and others that watch it.

use std::time::Duration;

use grove_testkit::needs;
use grove_testkit::session::Session;
use insta::assert_snapshot;
use serde_json::json;

use super::{KEY, within};
use crate::terminal_sessions::{program, tmux};

const LIMIT: Duration = Duration::from_secs(30);

/// A scout, then two side by side, of whom one waits for a file and one asks, then a judge.
fn scene() -> (grove_testkit::model_server::ModelServer, Session) {
    let call = |tool: &str, arguments: serde_json::Value| json!({ "calls": [{ "name": tool, "arguments": arguments }] });
    let server = super::engines::server(json!({ "marked": [
        { "marker": "LOOK", "turns": [{ "text": "Two files." }] },
        { "marker": "PARTA", "turns": [call("bash", json!({ "command": "sh wait.sh" })), { "text": "A is done." }] },
        { "marker": "PARTB", "turns": [
            call("contact_supervisor", json!({ "message": "Keep a or b?" })),
            { "text": "B is done." },
        ] },
        { "marker": "JUDGE", "turns": [{ "text": "All is fine." }] },
    ] }));
    let session = crate::session()
        .without_env("COLUMNS")
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", KEY);
    for name in ["scout", "worker", "judge"] {
        let path = format!("home/.grove/agents/{name}.md");
        session.definition(&path, "tools: bash, contact_supervisor\n", "You work.");
    }
    session
        .file("project/wait.sh", "until [ -e go ]; do sleep 0.02; done\n")
        .file(
            "project/request.json",
            json!({
                "model": "anthropic/m",
                "task": "mend both files",
                "chain": [
                    { "agent": "scout", "task": "LOOK" },
                    { "parallel": [
                        { "agent": "worker", "task": "PARTA" },
                        { "agent": "worker", "task": "PARTB" },
                    ] },
                    { "agent": "judge", "task": "JUDGE" },
                ],
            })
            .to_string(),
        );
    (server, session)
}

/// A terminal with a program in it.
pub(crate) struct Pane<'a> {
    session: &'a Session,
    server: String,
}

impl<'a> Pane<'a> {
    fn open(session: &'a Session, name: &str, size: (usize, usize), words: &str) -> Self {
        Self::script(session, name, size, &format!("grove {words}"))
    }

    /// With a shell's line in it, in which `grove` is the program.
    pub(crate) fn script(
        session: &'a Session,
        name: &str,
        size: (usize, usize),
        line: &str,
    ) -> Self {
        let program = program(session);
        let server = format!("{name}-{}-{}", size.0, size.1);
        let script = format!(
            "grove() {{ '{program}' \"$@\"; }}; trap : INT; {line}; echo \"[exit code $?]\"; cat"
        );
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let start = [
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "sh",
            "-c",
            &script,
        ];
        let started = tmux(session, &server, &start);
        assert!(started.success(), "{started:?}: {}", started.stderr_text());
        Self { session, server }
    }

    pub(crate) fn strike(&self, keys: &[&str]) {
        let words = [&["send-keys"], keys].concat();
        assert!(tmux(self.session, &self.server, &words).success());
    }

    pub(crate) fn text(&self, flags: &[&str]) -> String {
        let words = [&["capture-pane", "-p"], flags].concat();
        let text = tmux(self.session, &self.server, &words).stdout_text();
        let lines = text.trim_end().lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What it shows once it has all of these.
    pub(crate) fn with(&self, wanted: &[&str]) -> String {
        let mut text = String::new();
        let mut holds = || {
            text = self.text(&[]);
            wanted.iter().all(|wanted| text.contains(wanted))
        };
        let end = std::time::Instant::now() + LIMIT;
        while !holds() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(
            wanted.iter().all(|it| text.contains(it)),
            "{wanted:?} in\n{text}"
        );
        text
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        tmux(self.session, &self.server, &["kill-server"]);
    }
}

/// A frame without what is another one every time: ids, times, and the blanks that make room for them.
pub(super) fn steady(frame: &str, run: &str) -> String {
    let mut lines = Vec::new();
    for line in frame.replace(run, "[RUN]").lines() {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split(' ') {
            let is_digits =
                |word: &&str| word.bytes().all(|b| b.is_ascii_digit()) && !word.is_empty();
            let is_clock = word.contains(':') && word.split(':').all(|part| is_digits(&part));
            match (word, words.last()) {
                ("s", Some(last)) if is_digits(last) => {
                    words.pop();
                    words.push("[T]");
                }
                ("ago", Some(&"[T]")) | ("", Some(&"")) => {}
                ("now", _) => words.push("[T]"),
                _ if is_clock => words.push("[T]"),
                _ => words.push(word),
            }
        }
        lines.push(words.join(" "));
    }
    lines.join("\n")
}

fn sessions_at(columns: usize) -> String {
    let (_server, session) = scene();
    let run = Pane::open(&session, "run", (columns, 24), "run --request request.json");
    let asked = ["Keep a or b?", "sh wait.sh", "answer 2.1:"];
    run.with(&asked);
    let listed = session.json("runs list");
    let id = listed["runs"][0]["id"].as_str().unwrap().to_owned();
    let watch = Pane::open(
        &session,
        "watch",
        (columns, 24),
        &format!("runs watch {id}"),
    );
    let all = Pane::open(&session, "all", (columns, 24), "runs watch");
    let mut shown = vec![("grove run", run.with(&asked))];
    shown.push(("grove runs watch RUN", watch.with(&asked)));
    shown.push(("grove runs watch", all.with(&["Keep a or b?"])));
    // A view that is closed stops nothing.
    all.strike(&["C-c"]);
    all.with(&["[exit code 0]"]);
    // What is answered in one terminal is answered in the others.
    watch.strike(&["keep a", "Enter"]);
    let answered = ["✓ 2.1 worker complete", "d leaves it in the background"];
    shown.push(("grove run, answered elsewhere", run.with(&answered)));
    session.file("project/go", "");
    shown.push(("grove run, over", run.with(&["[exit code 0]"])));
    shown.push(("grove runs watch RUN, over", watch.with(&["[exit code 0]"])));
    let texts = shown.iter().map(|(what, text)| {
        assert!(
            text.lines().all(|line| line.chars().count() <= columns),
            "{text}"
        );
        format!("$ {what}\n{}\n\n", steady(text, &id))
    });
    texts.collect()
}

#[test]
fn a_chain_on_eighty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(80));
}

#[test]
fn a_chain_on_a_hundred_and_twenty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(120));
}

#[test]
fn without_colours_and_without_a_terminal_it_is_as_readable() {
    needs![Tmux];
    let (_server, session) = scene();
    let session = session.with_env("NO_COLOR", "1");
    let started = session
        .grove(["run", "--request", "request.json", "--bg"])
        .ok();
    let id = started.stdout.trim().to_owned();
    let watch = Pane::open(&session, "plain", (80, 24), &format!("runs watch {id}"));
    watch.with(&["Keep a or b?", "sh wait.sh"]);
    let text = watch.text(&["-e"]);
    assert!(!text.contains('\u{1b}'), "{text}");
    session.file("project/go", "");
    session.grove(["runs", "answer", &id, "a", "--bg"]).ok();
    watch.with(&["[exit code 0]"]);
    // To another program it is lines, and of a run that is over all of them.
    let piped = session.grove(["runs", "watch", &id]).ok();
    for line in [
        format!("{id}.1 scout complete"),
        format!("{id}.2.1 worker asking: Keep a or b?"),
        format!("{id}.3 judge complete"),
        format!("{id} complete"),
    ] {
        let has_line = piped.stdout.lines().any(|it| it == line);
        assert!(has_line, "{line} in\n{}", piped.stdout);
    }
    within(LIMIT, "it is not over", || {
        session.json(["runs", "show", &id])["state"] == "complete"
    });
}
