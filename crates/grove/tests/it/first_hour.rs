//! The first hour of a person who has read the README: ten scripts in a terminal of eighty columns, with what is read at
//! each step.

use std::fmt::Write as _;

use grove_testkit::model_server::{ModelServer, Script, ScriptFile};
use grove_testkit::needs;
use grove_testkit::session::Session;
use insta::assert_snapshot;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::run_sessions::live::Pane;

const COLUMNS: usize = 80;
/// More rows than a script fills, so that a question is on the screen.
const ROWS: usize = 200;
/// The units of times, which differ from run to run.
const UNITS: [&str; 2] = ["s", "ms"];

/// A line that is typed, or keys that are struck once the screen shows a text.
enum Step {
    Typed(&'static str),
    Struck(&'static str, &'static [&'static str]),
}

use Step::{Struck, Typed};

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "calls": [{ "name": tool, "arguments": arguments }] })
}

/// The answers of the model, by the task.
fn model() -> ModelServer {
    let says = |task: &str, text: &str| json!({ "marker": task, "turns": [{ "text": text }] });
    let runs = |task: &str, command: &str, text: &str| {
        let turns = [
            call("bash", &json!({ "command": command })),
            json!({ "text": text }),
        ];
        json!({ "marker": task, "turns": turns })
    };
    let mend = "sed -i s/helo/hello/ hello.sh";
    let wait = "touch begun; until [ -e go ]; do sleep 0.02; done";
    let script: ScriptFile = serde_json::from_value(json!({ "marked": [
        says("Where is the greeting", "It is in `hello.sh`, line 2: `echo helo`.\n\nNothing else prints it."),
        says("Name a risk", "No test runs it."),
        says("Name a strength", "It has two lines.\nIt needs no other program."),
        says("Name a cost", "None."),
        says("Describe a.md", "Apples."),
        says("Describe b.md", "Bears."),
        says("Describe c.md", "Cats."),
        says("Pretend", "I corrected hello.sh and ran the tests; they pass."),
        says("Review the change", "One word, and it is right."),
        says("And the rest", "The rest is fine."),
        runs("Correct the spelling", mend, "Corrected `helo` in hello.sh."),
        runs("Wait for it", wait, "It has come."),
        { "marker": "Ask me", "turns": [
            call("contact_supervisor", &json!({ "message": "Which name stays, hello or greet?" })),
            { "text": "I kept hello." },
        ] },
    ] }))
    .unwrap();
    ModelServer::start(Script::from(script)).unwrap()
}

/// An empty home with a folder of notes in it, which is a repository with a script that has a mistake.
fn home() -> Session {
    let session = crate::session()
        .without_env("COLUMNS")
        .with_env("NO_COLOR", "1")
        .working_in("home/notes");
    let places = ["CONFIG", "STATE", "DATA", "CACHE"];
    let session = places.iter().fold(session, |session, place| {
        session.without_env(format!("XDG_{place}_HOME"))
    });
    session
        .file("home/notes/hello.sh", "#!/bin/sh\necho helo\n")
        .file("home/notes/test.sh", "test \"$(sh hello.sh)\" = hello\n")
        .file(
            "home/.gitconfig",
            "[user]\nname = me\nemail = me@example.org\n",
        )
        .file("home/.config/git/ignore", "begun\n");
    for name in ["a", "b", "c"] {
        session.file(format!("home/notes/{name}.md"), name);
    }
    for words in ["init -q -b main", "add -A", "commit -q -m first"] {
        let mut git = std::process::Command::new("git");
        git.args(words.split(' '))
            .current_dir(session.path("home/notes"));
        git.env_clear().env("PATH", grove_testkit::session::PATH);
        git.env("HOME", session.path("home"));
        assert!(git.status().unwrap().success(), "git {words}");
    }
    session
}

/// The same with a provider that has no key, and the model that agents start with.
fn home_with_model(model: &ModelServer) -> Session {
    let session = home();
    let config = format!(
        "[providers.local]\napi = \"anthropic\"\nbase_url = \"{}\"\nmodels = [{{ id = \"small\", context = 32000, input = 0.5, output = 1.5 }}]\n[runs]\nmodel = \"local/small\"\n",
        model.url()
    );
    session.file("home/.config/grove/config.toml", config);
    session
}

/// What the terminal shows of a script. A line that is too long for it was broken between words.
fn shown(session: &Session, name: &str, steps: &[Step]) -> String {
    let mut script = String::from("cd ~/notes");
    for step in steps {
        if let Typed(line) = step {
            let quoted = line.replace('\'', r"'\''");
            let _ = write!(
                script,
                "; printf '%s\\n' '$ {quoted}'; {line}\ncode=$?; [ $code = 0 ] || echo \"[exit code $code]\"; echo"
            );
        }
    }
    let pane = Pane::script(session, name, (COLUMNS, ROWS), &format!("{script}; true"));
    for step in steps {
        match step {
            // What is longer goes on in the next row.
            Typed(line) => {
                let start: String = line.chars().take(COLUMNS - 2).collect();
                pane.with(&[&format!("$ {start}")]);
            }
            Struck(asked, keys) => {
                pane.with(&[asked]);
                pane.strike(keys);
            }
        }
    }
    pane.with(&["[exit code 0]"]);
    let rows = pane.text(&["-S", "-"]);
    let root = session.path("").display().to_string();
    let program = session.program().display().to_string();
    for line in pane.text(&["-S", "-", "-J"]).lines() {
        let may_be_long = line.starts_with("$ ") || line.contains(&root) || line.contains(&program);
        assert!(
            line.width() <= COLUMNS || may_be_long,
            "the terminal broke `{line}` in\n{rows}"
        );
    }
    steady(session, &pane.text(&["-S", "-", "-J"]))
}

/// The text without what differs from run to run: ids, times, digests and folders.
fn steady(session: &Session, text: &str) -> String {
    let program = session.program().display().to_string();
    let root = session.path("").display().to_string();
    let mut text = text.replace(&program, "[GROVE]");
    text = text.replace(root.trim_end_matches('/'), "[T]");
    let listed = session.json("runs list");
    for run in listed["runs"].as_array().unwrap() {
        text = text.replace(run["id"].as_str().unwrap(), "[RUN.....]");
    }
    let lines: Vec<String> = text.lines().map(without_times_and_digests).collect();
    let text = lines.join("\n");
    text.trim_end_matches("[exit code 0]").trim_end().to_owned()
}

/// A line with `[N]` in place of the number before a unit of time and of the blanks that make room for it, and `[DIGEST]`
/// for the digests of files.
fn without_times_and_digests(line: &str) -> String {
    let is_unit = |word: &&str| UNITS.contains(&word.trim_end_matches([',', ';']));
    let words: Vec<&str> = line.split(' ').collect();
    let mut kept: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word.parse::<f64>().is_ok() && words.get(at + 1).is_some_and(is_unit) {
            while kept.len() > 1 && kept.last().is_some_and(String::is_empty) {
                kept.pop();
            }
            kept.push("[N]".to_owned());
            continue;
        }
        let parts = word.split('/').map(|part| {
            let digits = part.trim_end_matches(',');
            let is_digest =
                [12, 16].contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            if is_digest {
                part.replace(digits, "[DIGEST]")
            } else {
                part.to_owned()
            }
        });
        kept.push(parts.collect::<Vec<_>>().join("/"));
    }
    kept.join(" ")
}

/// What the terminal would break stands in the middle of a word, so help wraps itself.
#[test]
fn no_page_of_help_is_broken_by_the_terminal() {
    needs![Tmux];
    let session = home();
    for columns in [40, COLUMNS] {
        for words in [
            "--help",
            "run --help",
            "runs --help",
            "help skills",
            "rnu",
            "run x --bogus",
        ] {
            let name = format!("help{}", words.replace(' ', ""));
            let line = format!("grove {words}; true");
            let pane = Pane::script(&session, &name, (columns, ROWS), &line);
            pane.with(&["[exit code 0]"]);
            let joined = pane.text(&["-S", "-", "-J"]);
            let wide = joined.lines().find(|line| line.width() > columns);
            assert_eq!(wide, None, "grove {words} on {columns} columns");
        }
    }
}

#[test]
fn one_sees_what_there_is() {
    needs![Tmux];
    let session = home();
    session
        .skill(
            "home/.claude/skills/pdf-forms",
            "pdf-forms",
            "Fills in the forms of PDF documents. Use when a form is to be filled in",
        )
        .skill(
            "home/.claude/skills/finishing-a-development-branch",
            "finishing-a-development-branch",
            "Guides the end of work on a branch. Use when all tests pass",
        )
        .skill(
            "home/notes/.agents/skills/deploy",
            "deploy",
            "Ships a release to the servers of this project",
        );
    let steps = [
        Typed("grove init"),
        Struck("change ~/.claude.json? [y/N]", &["Enter"]),
        Struck("config.toml? [y/N]", &["Enter"]),
        Typed("grove"),
        Typed("grove skills list"),
        Typed("grove ls --tree"),
    ];
    assert_snapshot!(shown(&session, "see", &steps));
}

#[test]
fn one_finds_out_why_a_skill_is_missing() {
    needs![Tmux];
    let session = home();
    let lines = "metadata:\n  grove:\n    requires:\n      bins: [no-such-program]\n";
    session
        .dir("home/.claude")
        .skill(
            "home/notes/.agents/skills/deploy",
            "deploy",
            "Ships a release",
        )
        .definition("home/.agents/skills/tmux", lines, "Text.")
        .file(
            "home/.claude/skills/mail/skill.md",
            "---\nname: mail\ndescription: Answers letters.\n---\n",
        );
    let steps = [
        Typed("grove why deploy"),
        Typed("grove why tmux"),
        Typed("grove why mail"),
        Typed("mv ~/.claude/skills/mail/skill.md ~/.claude/skills/mail/SKILL.md"),
        Typed("grove why mail"),
        Typed("grove skills check --code file-name-case"),
    ];
    assert_snapshot!(shown(&session, "why", &steps));
}

#[test]
fn one_trusts_a_project() {
    needs![Tmux];
    let session = home();
    session.skill(
        "home/notes/.agents/skills/deploy",
        "deploy",
        "Ships a release",
    );
    let steps = [
        Typed("grove skills list --state untrusted"),
        Typed("grove trust"),
        Struck("trust ~/notes? [y/N]", &["y", "Enter"]),
        Typed("echo 'Then look at the log.' >> .agents/skills/deploy/SKILL.md"),
        Typed("grove why deploy"),
        Typed("grove trust --dry-run"),
        Typed("grove undo"),
        Typed("grove untrust"),
    ];
    assert_snapshot!(shown(&session, "trust", &steps));
}

#[test]
fn one_connects_claude_code() {
    needs![Tmux];
    let session = home();
    session.skill("home/.claude/skills/mail", "mail", "Answers letters");
    let steps = [
        Typed("grove mcp install --host claude"),
        Struck("change ~/.claude.json? [y/N]", &["y", "Enter"]),
        Typed("grove init"),
        Struck("config.toml? [y/N]", &["Enter"]),
        Typed("grove mcp install --host claude"),
        Typed("grove undo"),
        Typed("grove mcp install --host cluade"),
    ];
    assert_snapshot!(shown(&session, "connect", &steps));
}

#[test]
fn one_names_a_provider_and_runs_an_agent() {
    needs![Tmux];
    let model = model();
    let session = home();
    session.file("home/address", model.url());
    let steps = [
        Typed("grove run scout 'Where is the greeting?'"),
        Typed("grove init"),
        Struck("config.toml? [y/N]", &["y", "Enter"]),
        Typed("cat ~/.config/grove/config.toml"),
        Typed(
            "sed -i \"s|http.*v1|$(cat ~/address)|; s|openai-chat|anthropic|\" ~/.config/grove/config.toml",
        ),
        Typed("grove agents list"),
        Typed("grove run scout 'Where is the greeting?'"),
        Typed("grove runs show last"),
    ];
    assert_snapshot!(shown(&session, "first", &steps));
}

#[test]
fn one_asks_three_at_once_and_reads_their_answers() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed("grove plan scout 'Name a risk' , scout 'Name a strength' , scout 'Name a cost'"),
        Typed("grove run scout 'Name a risk' , scout 'Name a strength' , scout 'Name a cost'"),
        Typed("grove runs list"),
        Typed("grove runs show last"),
    ];
    assert_snapshot!(shown(&session, "three", &steps));
}

#[test]
fn one_takes_over_the_work_of_a_chain_and_takes_it_back() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed(
            "grove run worker 'Correct the spelling' '->' reviewer 'Review the change' --worktree",
        ),
        Typed("git status --short"),
        Typed("grove runs show last"),
        Typed("grove runs diff last 2> notes.txt | grep '^[-+]'; cat notes.txt; rm notes.txt"),
        Typed("grove runs apply last"),
        Typed("git status --short"),
        Typed("grove undo"),
        Typed("git status --short"),
    ];
    assert_snapshot!(shown(&session, "chain", &steps));
}

#[test]
fn one_does_not_believe_a_child_that_lies() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed("grove run worker 'Pretend' --verify 'sh test.sh'"),
        Typed("grove runs show last"),
        Typed("grove run worker 'Correct the spelling' --verify 'sh test.sh'"),
        Typed("grove runs list"),
        Typed("grove runs ledger last --verify"),
        Typed("git checkout -q hello.sh"),
        Typed("grove run worker 'Correct the spelling' --verify 'sh hello.sh | grep -x hello'"),
        Typed("grove runs ledger last"),
    ];
    assert_snapshot!(shown(&session, "verify", &steps));
}

#[test]
fn one_asks_the_same_of_several_files() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed("grove run scout 'Describe {file}' --each a.md b.md c.md"),
        Typed("grove run scout 'Describe {item}' --each a.md b.md c.md"),
        Typed("ls *.md | grove run scout 'Describe {item}' --each-line - --max-tasks 2"),
    ];
    assert_snapshot!(shown(&session, "each", &steps));
}

#[test]
fn one_leaves_a_run_alone_stops_it_and_goes_on() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed("grove run worker 'Wait for it' --bg"),
        Typed("until [ -e begun ]; do sleep 0.02; done"),
        Typed("grove ps"),
        Typed("grove cancel last; grove runs wait last"),
        Typed("grove runs resume last 'And the rest?'"),
        Typed("grove run worker 'Ask me' --bg"),
        Typed("grove runs wait last"),
        Struck("answer 1:", &["hello", "Enter"]),
        Typed("grove status"),
    ];
    assert_snapshot!(shown(&session, "leave", &steps));
}

#[test]
fn one_mistypes_and_is_told_what_to_type() {
    needs![Tmux];
    let model = model();
    let session = home_with_model(&model);
    let steps = [
        Typed("grove rnu scout hello"),
        Typed("grove run scot hello"),
        Typed("grove run scout"),
        Typed("grove run scout hello --model nosuch/x"),
        Typed("grove run scout hello --engine codex"),
        Typed("grove run scout hello --accept verifed"),
        Typed("grove runs show zzz"),
        Typed("grove runs show last"),
        Typed("grove skills show pfd"),
        Typed("grove trust --help"),
    ];
    assert_snapshot!(shown(&session, "mistakes", &steps));
}
