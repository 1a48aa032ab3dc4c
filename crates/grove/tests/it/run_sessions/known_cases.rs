//! Cases that users of another program for child agents know, on single runs, models and output, with the better rule where
//! theirs is wrong. Limits, fallbacks, forks, groups and background runs have tables of their own.

use grove_testkit::model_server::{Reply, ScriptedReply};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::PATH;

use super::{AGENT, bash, run, run_of, scene, server};

/// The cases that our notes on the other program name.
const CASES: [u32; 42] = [
    1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 23, 25, 26, 27, 29, 30, 31, 32,
    33, 35, 37, 38, 39, 41, 43, 44, 46, 48, 49, 50, 53, 54, 56, 57, 60,
];

#[test]
fn a_task_of_any_length_is_told_whole() {
    for length in [8_000, 8_001, 200_000] {
        let server = server(vec![Reply::text("Read.")]);
        let session = scene(&server);
        let task = "x".repeat(length - 4) + " end";
        let request = json!({ "agent": "worker", "task": task, "model": "anthropic/m" });
        session.file("project/request.json", request.to_string());
        session.grove("run --request request.json").ok();
        let body: Value = server.requests()[0].json();
        assert_eq!(body["messages"][0]["content"][0]["text"], task, "{length}");
    }
}

#[test]
fn a_level_of_thinking_is_the_models_own_before_the_agents() {
    // What the agent says, the model that is recorded, the id that is sent, and whether it thinks.
    for (model, thinking, recorded, id, thinks) in [
        ("local/b", "high", "local/b:high", "b", true),
        ("local/b:low", "high", "local/b:low", "b", true),
        ("local/b:free", "high", "local/b:free:high", "b:free", true),
        (
            "local/llama:7b",
            "high",
            "local/llama:7b:high",
            "llama:7b",
            true,
        ),
        ("local/b", "off", "local/b:off", "b", false),
        ("local/b:off", "high", "local/b:off", "b", false),
    ] {
        let server = server(vec![Reply::text("Yes.")]);
        let session = scene(&server);
        let url = server.url();
        let config = format!(
            "[providers.local]\napi = 'anthropic'\nbase_url = '{url}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\n"
        );
        session.file(USER_CONFIG, config);
        let fields = format!("tools: read\nmodel: {model}\nthinking: {thinking}\n");
        session.definition(AGENT, &fields, "You work.");
        let outcome = session.grove("run worker Look --json").ok();
        let run = run_of(&outcome.stdout);
        assert_eq!(run["nodes"][0]["attempts"][0]["model"], recorded);
        let body: Value = server.requests()[0].json();
        assert_eq!(
            (&body["model"], body["thinking"].is_object()),
            (&json!(id), thinks)
        );
    }
}

#[test]
fn what_tools_print_and_what_a_model_says_of_errors_decides_nothing() {
    let silent = ScriptedReply {
        text: None,
        ..ScriptedReply::default()
    };
    let text = |text: &str| ScriptedReply::from(Reply::text(text));
    let failing = || ScriptedReply::from(bash("echo 'connection refused'; exit 127"));
    for (name, replies, state, code) in [
        (
            "a command failed, and then an answer",
            vec![failing(), text("It is missing.")],
            "complete",
            0,
        ),
        (
            "a command failed, and no word after it",
            vec![failing(), silent],
            "failed",
            1,
        ),
        (
            "a command printed a word of failure",
            vec![bash("echo 'grep timeout config'").into(), text("Found.")],
            "complete",
            0,
        ),
        (
            "an answer about errors",
            vec![text("Error: permission denied, out of memory")],
            "complete",
            0,
        ),
        (
            "a passing error, then an answer",
            vec![Reply::error(503, "busy").into(), text("Fine.")],
            "complete",
            0,
        ),
    ] {
        let server = grove_testkit::model_server::ModelServer::start(
            grove_testkit::model_server::Script::replies(replies),
        )
        .unwrap();
        let session = scene(&server);
        session.dir("project");
        let outcome = session.grove(run("Look", &["--json"])).fails(code);
        assert_eq!(run_of(&outcome.stdout)["state"], state, "{name}");
    }
}

#[test]
fn a_value_that_does_not_meet_the_schema_is_said_with_its_place() {
    let server = server(vec![
        Reply::call("structured_output", json!({ "a": 1 })),
        Reply::call("structured_output", json!({ "a": "one" })),
    ]);
    let session = scene(&server);
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    session.file("project/schema.json", schema.to_string());
    let outcome = session
        .grove(run("Give", &["--schema", "schema.json", "--json"]))
        .ok();
    let run = run_of(&outcome.stdout);
    assert_eq!(
        run["nodes"][0]["output"]["structured"],
        json!({ "a": "one" })
    );
    let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(told.contains("/a: 1 is not of type"), "{told}");
}

#[test]
fn a_program_that_has_answered_and_stays_is_ended_and_has_answered() {
    // It has answered and takes no notice of being asked to end; or it stays without an answer, until its time is over.
    let answer =
        r#"echo '{"type":"result","subtype":"success","result":"Done.","session_id":"s"}'"#;
    for (said, code, result) in [(answer, 0, json!("Done.")), ("true", 6, Value::Null)] {
        let session = crate::session();
        let path = format!("{}:{PATH}", session.path("bin").display());
        let session = session.with_env("PATH", path);
        let script = format!("#!/bin/sh\ntrap '' TERM INT\n{said}\nsleep 3061.5\nsleep 3061.5\n");
        session.file("bin/claude", script).dir("project");
        let file = session.path("bin/claude");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        session.definition(AGENT, "tools: bash\n", "You work.");
        let began = Instant::now();
        let words = "run worker Look --engine claude --timeout 12 --json";
        let run = run_of(&session.grove(words).fails(code).stdout);
        assert_eq!(run["result"], result);
        let took = began.elapsed();
        assert_eq!(took < Duration::from_secs(11), code == 0, "{took:?}");
        assert_eq!(sleepers("3061.5"), 0);
    }
}

/// The level that is asked of a child, as the plan has it.
fn level(session: &Session, request: &Value) -> Value {
    session.file("project/request.json", request.to_string());
    let plan = session.json("plan --request request.json");
    plan["nodes"][0]["work"]["child"]["contract"]["level"].clone()
}

fn with_a_provider() -> Session {
    let session = crate::session();
    session
        .with_env("ANTHROPIC_API_KEY", "a-key-of-nobody")
        .with_env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
}

#[test]
fn what_is_asked_of_work_is_not_read_from_its_words() {
    let session = with_a_provider();
    for (agent, task, background, auto) in [
        ("worker", "Fix the bug", false, "checked"),
        ("worker", "Summarize the code", false, "checked"),
        ("scout", "Find where we update the cache", false, "attested"),
        ("worker", "Fix the bug", true, "checked"),
        ("delegate", "Check security of login", false, "checked"),
        ("reviewer", "Look at it", false, "attested"),
        ("delegate", "Say hello", false, "checked"),
    ] {
        let mut request = json!({ "agent": agent, "task": task, "background": background, "model": "anthropic/m" });
        assert_eq!(level(&session, &request), Value::Null, "{agent}: {task}");
        request["acceptance"] = json!("auto");
        assert_eq!(level(&session, &request), auto, "{agent}: {task}");
    }
}

#[test]
fn what_is_asked_is_what_counts() {
    let session = with_a_provider();
    for (asked, level_wanted) in [
        (json!("attested"), json!("attested")),
        (json!(false), Value::Null),
        (json!("none"), Value::Null),
        (json!({ "level": "none", "reason": "a draft" }), Value::Null),
        (
            json!({ "level": "checked", "evidence": ["diff-summary"] }),
            json!("checked"),
        ),
    ] {
        let request = json!({ "agent": "worker", "task": "Fix the bug", "model": "anthropic/m", "acceptance": asked });
        assert_eq!(level(&session, &request), level_wanted, "{asked}");
    }
}

#[test]
fn what_became_of_every_case_is_said_with_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/differences.md")).unwrap();
    let table = page.split("## Cases").nth(1).expect("the table of cases");
    let mut said = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(2) {
        let cells = row.trim_matches('|').split('|').map(str::trim);
        let cells: Vec<&str> = cells.collect();
        let [case, word, _, tests] = cells[..] else {
            panic!("a row has four cells: {row}");
        };
        assert!(["same", "better", "left out"].contains(&word), "{row}");
        said.insert(case.parse::<u32>().unwrap());
        for test in tests.split(", ") {
            let (file, name) = test.trim_matches('`').rsplit_once("::").unwrap();
            let file = format!("{}.rs", file.replace("::", "/"));
            // Those about runs are named without their folder.
            let mut places = ["tests/it/run_sessions", "tests/it"]
                .iter()
                .map(|place| root.join(place).join(&file));
            let text = places.find_map(|it| std::fs::read_to_string(it).ok());
            let text = text.expect(&file);
            assert!(
                text.contains(&format!("#[test]\nfn {name}()")),
                "{test} is not there"
            );
        }
    }
    assert_eq!(said, BTreeSet::from(CASES));
}
