//! Values of a skill's entry: in the environment of commands of the child that has the skill, and nowhere else.

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::needs;
use grove_testkit::session::{Outcome, Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{bash, run_of, scene, server};

const VALUE: &str = "marker-value-0123456789";
const API_KEY: &str = "marker-key-9876543210";
const SKILL: &str = "home/.grove/skills/payments/SKILL.md";
const TEXT: &str = "---\nname: payments\ndescription: Pays.\nmetadata:\n  grove:\n    requires:\n      env: [PAY_TOKEN]\n    primaryEnv: PAY_KEY\n---\nPay with $PAY_TOKEN.\n";
const CONFIG: &str = "[skills.entries.payments]\napi_key = 'marker-key-9876543210'\nenv = { PAY_TOKEN = 'marker-value-0123456789', LD_PRELOAD = '/nowhere/marker-lib.so' }\n";

/// Prints the environment.
const ENV: &str = "env | sort";
/// Prints the value so often that the output is too long for a model.
const MUCH: &str = "i=0; while [ $i -lt 4000 ]; do echo \"$PAY_TOKEN $PAY_KEY\"; i=$((i+1)); done";

fn home(server: &ModelServer) -> Session {
    let session = scene(server).with_env("SHELL_SECRET", "marker-of-the-shell");
    session.file(SKILL, TEXT);
    session.file(USER_CONFIG, CONFIG);
    session.dir("project");
    let tools = "tools: bash, write, read\nmodel: anthropic/m\n";
    for (name, more) in [
        ("payer", "skills: payments\n"),
        ("other", ""),
        ("late", "inheritSkills: true\n"),
    ] {
        let path = format!("home/.grove/agents/{name}.md");
        session.definition(&path, &format!("{tools}{more}"), "You work.");
    }
    session
}

/// What the model was told of the last call before a request.
fn told(server: &ModelServer, n: usize) -> String {
    let body: Value = server.requests()[n].json();
    let last = body["messages"].as_array().unwrap().last().unwrap().clone();
    last["content"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn has_variables(text: &str) -> bool {
    let (token, key) = (text.contains("PAY_TOKEN=***"), text.contains("PAY_KEY=***"));
    assert_eq!(token, key, "{text}");
    assert!(!text.contains("marker"), "{text}");
    assert!(
        !text.contains("LD_PRELOAD") && !text.contains("SHELL_SECRET"),
        "{text}"
    );
    token
}

#[test]
fn values_are_in_the_environment_of_the_child_that_has_the_skill_and_masked_everywhere_else() {
    let server = server(vec![
        bash(ENV),
        bash("printf %s \"$PAY_TOKEN\" > kept.txt; cat kept.txt"),
        bash(MUCH),
        Reply::call("read", json!({ "path": "kept.txt" })),
        Reply::text("Paid."),
        bash(ENV),
        Reply::text("I have nothing to pay with."),
    ]);
    let session = home(&server);
    let mut said = String::new();
    let mut tell = |outcome: Outcome| {
        said.push_str(&outcome.stdout);
        said.push_str(&outcome.stderr);
        outcome
    };
    let words = "run payer Pay --json --record r.jsonl";
    let payer = tell(session.grove(words).ok());
    let id = run_of(&payer.stdout)["id"].as_str().unwrap().to_owned();
    tell(session.grove("run other Look --json").ok());
    assert!(has_variables(&told(&server, 1)));
    assert_eq!(told(&server, 2), "***\n");
    assert!(told(&server, 3).contains("*** ***"));
    assert_eq!(told(&server, 4).trim_end(), "***");
    // The counter-cases: the command had the value, and the other child has not.
    assert_eq!(session.read("project/kept.txt"), VALUE);
    assert!(!has_variables(&told(&server, 6)));
    for words in [
        format!("runs show {id} --json"),
        format!("runs logs {id} --json"),
        format!("prompt --run {id}"),
        "config --json".to_owned(),
        "doctor --json".to_owned(),
        "skills show payments --json".to_owned(),
        "prompt payer --json".to_owned(),
    ] {
        tell(session.grove(&words));
    }
    for value in [VALUE, API_KEY] {
        assert!(!said.contains(value), "printed: {said}");
        for request in server.requests() {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            assert!(!body.contains(value), "sent: {body}");
        }
        for file in grove_testkit::shared::files_below(&session.path("")).unwrap() {
            let is_own = file.ends_with("kept.txt") || file.ends_with("config.toml");
            let bytes = std::fs::read(&file).unwrap_or_default();
            let found = bytes.windows(value.len()).any(|it| it == value.as_bytes());
            assert!(!found || is_own, "a value is in {}", file.display());
        }
    }
}

#[test]
fn a_skill_that_is_activated_later_brings_its_values_and_they_stay_with_the_session() {
    let server = server(vec![
        bash(ENV),
        Reply::call("skill", json!({ "name": "payments" })),
        bash(ENV),
        Reply::text("Paid."),
        bash(ENV),
        Reply::text("Paid again."),
    ]);
    let session = home(&server);
    let first = session.grove("run late Pay --json").ok();
    assert!(!has_variables(&told(&server, 1)));
    assert!(told(&server, 2).contains("Pay with $PAY_TOKEN."));
    assert!(has_variables(&told(&server, 3)));
    let id = run_of(&first.stdout)["id"].as_str().unwrap().to_owned();
    session.grove(["runs", "resume", &id, "Once more"]).ok();
    assert!(has_variables(&told(&server, 5)), "after going on");
}

#[test]
fn a_variable_that_loads_code_is_refused_by_its_name_and_said() {
    let server = server(vec![]);
    let session = home(&server);
    let shown = session.grove("config");
    let all = format!("{}{}", shown.stdout, shown.stderr);
    assert!(
        all.contains("skills.entries.payments.env.LD_PRELOAD"),
        "{all}"
    );
    assert!(!all.contains("marker"), "{all}");
}

#[test]
fn a_program_that_cannot_keep_values_is_not_started_with_them() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let mark = "TASK-MARK";
    let skill = json!({ "name": "mcp__grove__skill", "arguments": { "name": "payments" } });
    let server = super::engines::server(json!({ "marked": [{ "marker": mark, "turns": [
        { "calls": [skill] },
        { "text": "Done." },
    ] }], "otherwise": { "text": "a title" } }));
    let session = super::engines::scene(&server);
    session.file(SKILL, TEXT);
    let config = session.read(USER_CONFIG);
    session.file(USER_CONFIG, format!("{config}{CONFIG}"));
    for (name, more) in [
        ("payer", "skills: payments\n"),
        ("late", "inheritSkills: true\n"),
    ] {
        let path = format!("home/.grove/agents/{name}.md");
        session.definition(&path, &format!("tools: bash, skill\n{more}"), "You work.");
    }
    let words = |agent| {
        [
            "run",
            agent,
            mark,
            "--engine",
            "claude",
            "--model",
            "for-claude/claude-sonnet-4-5",
        ]
    };
    let says = "skill `payments` has values that engine `claude` cannot keep from being printed";
    session
        .grove(words("payer"))
        .fails(2)
        .says([says, "--engine native"]);
    assert_eq!(server.requests().len(), 0);
    // One that asks for the skill later is told that they are not there.
    session.grove(words("late")).ok();
    let sent: String = server
        .requests()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(
        sent.contains("PAY_TOKEN, PAY_KEY of this skill is not set here"),
        "{sent}"
    );
    assert!(!sent.contains(VALUE) && !sent.contains(API_KEY), "{sent}");
}
