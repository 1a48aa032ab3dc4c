//! The answers of children in real terminals: every command that prints one, narrow and wide. The answer is there, once,
//! and whole.

use grove_testkit::needs;
use grove_testkit::session::Session;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::KEY;
use super::live::{Pane, steady};

/// Rows of a terminal; the long answer has more lines.
const ROWS: usize = 24;
const LONG: usize = 40;

/// The answers, by the marker in the task.
fn answers() -> [(&'static str, String); 5] {
    let long: Vec<String> = (1..=LONG)
        .map(|line| format!("Line {line} of {LONG}."))
        .collect();
    let wide = "漢字の答え 🌲 ".repeat(12);
    [
        ("SHORT", "It is fine.".to_owned()),
        ("LONG", long.join("\n")),
        ("WIDE", format!("x{wide}\nfin é.")),
        ("OPEN", "first\nno end of a line".to_owned()),
        ("ENDED", "first\n\nan end of a line\n".to_owned()),
    ]
}

fn scene() -> (grove_testkit::model_server::ModelServer, Session) {
    let marked: Vec<Value> = answers()
        .into_iter()
        .map(|(marker, text)| json!({ "marker": marker, "turns": [{ "text": text }] }))
        .collect();
    let server = super::engines::server(json!({ "marked": marked }));
    let config = "[runs]\nmodel = \"anthropic/m\"\n";
    let session = crate::session()
        .without_env("COLUMNS")
        .with_env("NO_COLOR", "1")
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", KEY);
    for name in ["scout", "worker"] {
        let path = format!("home/.grove/agents/{name}.md");
        session.definition(&path, "tools: bash\n", "You work.");
    }
    session.file("config/grove/config.toml", config);
    (server, session)
}

/// What is typed, and the markers of the answers that it prints. `RUN` is the first run.
const LINES: [(&str, &[&str]); 15] = [
    ("grove run worker SHORT", &["SHORT"]),
    ("grove run worker LONG", &["LONG"]),
    ("grove run worker WIDE", &["WIDE"]),
    ("grove run worker OPEN", &["OPEN"]),
    ("grove run worker ENDED", &["ENDED"]),
    ("grove run worker SHORT , scout OPEN", &["SHORT", "OPEN"]),
    ("grove run scout OPEN '->' worker LONG", &["LONG"]),
    (
        "grove run worker SHORT > answer.txt; cat answer.txt",
        &["SHORT"],
    ),
    ("grove runs wait $(grove run worker LONG --bg)", &["LONG"]),
    ("grove runs wait $(grove run worker SHORT --bg)", &["SHORT"]),
    ("grove runs resume RUN OPEN", &["OPEN"]),
    ("grove runs again RUN --from 1", &["SHORT"]),
    ("grove runs show RUN", &["OPEN"]),
    ("grove runs logs RUN", &[]),
    ("grove runs watch RUN", &[]),
];

/// A capture with a word for what is another one every time.
fn with_words(session: &Session, text: &str) -> String {
    let listed = session.json("runs list");
    let runs = listed["runs"].as_array().unwrap();
    let mut text = steady(text, "nothing");
    for run in runs {
        text = text.replace(run["id"].as_str().unwrap(), "[RUN]");
    }
    let lines = text
        .lines()
        .map(|line| match line.split_once("by process ") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}by process [PID]{after}")
            }
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn solid(text: &str) -> String {
    text.split_whitespace().collect()
}

fn sessions_at(columns: usize) -> String {
    let (_server, session) = scene();
    let mut all = String::new();
    let mut first: Option<String> = None;
    for (at, (line, markers)) in LINES.into_iter().enumerate() {
        let first_run = first.clone().unwrap_or_default();
        let name = format!("answer{at}");
        let typed = line.replace("RUN", &first_run);
        // As below a shell's prompt: what is erased from the first row on, some terminals keep above it.
        let typed = format!("echo '$ grove'; {typed}");
        let pane = Pane::script(&session, &name, (columns, ROWS), &typed);
        pane.with(&["[exit code 0]"]);
        let whole = pane.text(&["-S", "-", "-J"]);
        for (marker, answer) in answers() {
            let wanted = usize::from(markers.contains(&marker));
            // A wide character that has no room at the end of a row leaves a blank there.
            let found = solid(&whole).matches(&solid(&answer)).count();
            assert_eq!(found, wanted, "{marker} of `{line}` in\n{whole}");
        }
        if first.is_none() {
            let listed = session.json("runs list");
            first = Some(listed["runs"][0]["id"].as_str().unwrap().to_owned());
        }
        let shown = with_words(&session, &pane.text(&["-S", "-"]));
        let shown = shown.strip_prefix("$ grove\n").unwrap_or(&shown);
        all += &["$ ", line, "\n", shown, "\n\n"].concat();
    }
    all
}

#[test]
fn every_answer_is_there_once_and_whole_on_eighty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(80));
}

#[test]
fn every_answer_is_there_once_and_whole_on_a_hundred_and_twenty_columns() {
    needs![Tmux];
    assert_snapshot!(sessions_at(120));
}

/// The example's last step is a reviewer, whose words end the run.
#[test]
fn what_is_tried_shows_its_answer_once_and_whole() {
    needs![Tmux];
    for columns in [80, 120] {
        let session = crate::session()
            .without_env("COLUMNS")
            .with_env("NO_COLOR", "1")
            .working_in("");
        let line = "grove try --folder tried";
        let pane = Pane::script(&session, "try", (columns, ROWS), line);
        pane.with(&["[exit code 0]"]);
        let whole = pane.text(&["-S", "-", "-J"]);
        for part in [
            "No findings. Each worker changed the one operand that the scout named, and `test.sh` checks each script at the \
             freezing and at the boiling point, which no other pair of constants gets right.",
            "✓ 3   reviewer complete",
        ] {
            assert_eq!(whole.matches(part).count(), 1, "{part}\n{whole}");
        }
        let is_open = |line: &str| line.starts_with("run ") && line.contains(" running ");
        assert!(!whole.lines().any(is_open), "{whole}");
        // Two of the children were held to something.
        assert!(!whole.contains("complete, nothing was required"), "{whole}");
    }
}
