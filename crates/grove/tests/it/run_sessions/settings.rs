//! What the configuration and an agent's file say about a run.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::{AGENT, KEY, bash, run, run_of, scene, server};

#[test]
fn a_provider_of_the_configuration_is_asked_with_the_key_from_where_it_says() {
    for (key, is_there) in [
        ("{ env = 'MY_KEY' }", true),
        ("{ env = 'NO_KEY' }", false),
        ("{ file = '~/secret/key' }", true),
        ("{ command = ['cat', '/proc/self/environ'] }", false),
        ("{ command = ['/bin/echo', 'from-a-command-1234'] }", true),
    ] {
        let server = server(vec![Reply::text("Yes.")]);
        let session = scene(&server)
            .without_env("ANTHROPIC_API_KEY")
            .without_env("ANTHROPIC_BASE_URL")
            .with_env("MY_KEY", "from-a-variable-1234");
        session.file("home/secret/key", "from-a-file-1234\n");
        let url = server.url();
        let text = format!(
            "[providers.local]\napi = 'anthropic'\nbase_url = '{url}'\nkey = {key}\nmodels = ['small']\n[runs]\nmodel = 'small'\n"
        );
        session.file(USER_CONFIG, text);
        let outcome = session.grove(["run", "worker", "Look"]);
        if is_there {
            let outcome = outcome.ok();
            assert_eq!(outcome.stdout, "Yes.\n");
            let sent = server.requests()[0].header("x-api-key").map(str::to_owned);
            assert!(sent.unwrap().starts_with("from-a-"), "{key}");
        } else {
            let outcome = outcome.fails(1);
            assert!(server.requests().is_empty(), "{outcome}");
        }
        let shown = session.grove("config --json");
        assert!(!shown.stdout.contains("from-a-command-1234"), "{shown}");
    }
}

#[test]
fn another_model_goes_on_where_a_provider_fails_and_nothing_was_changed() {
    for (first, lines, models, code) in [
        (Reply::error(401, "no"), "", 2, 0),
        (Reply::error(400, "no"), "", 1, 1),
        (bash("echo x > made"), "", 1, 1),
        (bash("echo x > made"), "fallbackAfterWrites: true\n", 2, 0),
    ] {
        let is_call = matches!(first, Reply::Message { .. });
        let server = ModelServer::start(Script::chosen_by(move |number, request| {
            let body = request.json();
            match (body["model"].as_str(), number) {
                (Some("one"), 0) => first.clone(),
                (Some("one"), _) => Reply::error(401, "no"),
                _ => Reply::text("The second."),
            }
        }))
        .unwrap();
        let session = scene(&server);
        let fields = format!(
            "tools: bash, write\nmodel: anthropic/one\nfallbackModels: anthropic/two\nthinking: low\n{lines}"
        );
        session.definition(AGENT, &fields, "You work.");
        let outcome = session.grove("run worker Look --json").fails(code);
        let run = run_of(&outcome.stdout);
        let attempts = run["nodes"][0]["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), models, "{is_call} {lines}");
        assert_eq!(attempts[0]["model"], "anthropic/one:low");
        let sent: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
        assert!(sent["thinking"].is_object(), "{sent}");
    }
}

#[test]
fn budgets_of_an_agent_end_in_a_summing_up() {
    for (fields, what, limit, calls) in [
        ("turnBudget: 2\n", "turns", 2, 2),
        ("toolBudget: { soft: 1, hard: 2 }\n", "toolCalls", 2, 2),
    ] {
        let server = ModelServer::start(Script::chosen_by(|_, request| {
            let body = request.json();
            match body["tool_choice"]["type"].as_str() {
                Some("none") => Reply::text("So far so good."),
                _ => bash("echo x >> made"),
            }
        }))
        .unwrap();
        let session = scene(&server);
        let fields = format!("tools: bash, write\n{fields}");
        session.definition(AGENT, &fields, "You work.");
        let outcome = session.grove(run("Work", &["--json"])).fails(6);
        let run = run_of(&outcome.stdout);
        let cause = json!({ "kind": "limit", "what": what, "limit": limit, "observed": limit });
        assert_eq!(run["cause"], cause);
        assert_eq!(run["result"], "So far so good.", "what it had is kept");
        assert_eq!(
            session.read("project/made").lines().count(),
            calls,
            "{what}"
        );
        let last = server.requests().last().unwrap().json();
        let told = last.to_string();
        assert!(told.contains("Call no more tools"), "{told}");
        assert_eq!(
            told.contains("1 more tool calls may be made"),
            what == "toolCalls"
        );
    }
    // The counter-case: whoever stays within its budget is complete.
    let server = server(vec![bash("true"), Reply::text("Done.")]);
    let session = scene(&server);
    let fields = "tools: bash, write\nturnBudget: 2\ntoolBudget: 1\n";
    session.definition(AGENT, fields, "You work.");
    session.grove(run("Work", &[])).ok();
}

#[test]
fn limits_of_the_configuration_count_and_other_engines_are_refused() {
    let server = server(vec![bash("sleep 3051.5")]);
    let session = scene(&server);
    session.file(USER_CONFIG, "[runs]\nmaxExecutionTimeMs = 700\n");
    let outcome = session.grove(run("Sleep", &["--json"])).fails(6);
    let cause = &run_of(&outcome.stdout)["cause"];
    assert_eq!(
        (&cause["kind"], &cause["limit_ms"]),
        (&json!("timedOut"), &json!(700))
    );
    session.file(USER_CONFIG, "[runs]\nengine = 'acp:goose acp'\n");
    let outcome = session.grove(run("Go", &[])).fails(2);
    outcome.says(["engine `acp:goose acp` is not run by this version"]);
    session.file(USER_CONFIG, "[runs]\nasyncByDefault = true\n");
    let begun = session.grove(run("Go", &[])).ok();
    assert_eq!(begun.stdout.trim().len(), 10, "an id: {begun}");
    session.grove(["runs", "wait", begun.stdout.trim()]).ok();
}

#[test]
fn a_search_leaves_out_what_git_ignores_unless_it_was_meant() {
    let server = server(vec![
        Reply::call("grep", json!({ "pattern": "needle" })),
        Reply::call("find", json!({ "pattern": "*.txt" })),
        Reply::call("find", json!({ "pattern": "*.txt", "path": "out" })),
        Reply::text("Done."),
    ]);
    let session = scene(&server);
    session.definition(AGENT, "tools: grep, find\n", "You look.");
    session
        .file("project/.gitignore", "out/\n*.log\n!kept.log\n")
        .file("project/a.txt", "needle\n")
        .file("project/a.log", "needle\n")
        .file("project/kept.log", "needle\n")
        .file("project/out/b.txt", "needle\n")
        .file("project/sub/.gitignore", "/c.txt\n")
        .file("project/sub/c.txt", "needle\n")
        .file("project/sub/d/c.txt", "needle\n");
    session.grove(run("Look", &[])).ok();
    let last = server.requests().last().unwrap().json();
    let results: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"][0]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(
        results[0],
        "a.txt:1: needle\nkept.log:1: needle\nsub/d/c.txt:1: needle\n"
    );
    assert_eq!(results[1], "a.txt\nsub/d/c.txt\n");
    assert_eq!(results[2], "b.txt\n", "a folder that is named is meant");
}

#[test]
fn the_doctor_looks_at_providers_journal_and_orphans() {
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    let before = session.json("doctor")["runs"].clone();
    assert_eq!(before["journal"], Value::Null, "nothing was run");
    assert_eq!(before["providers"][0]["state"], "present");
    assert_eq!(before["providers"][1]["state"], "missing");
    let ran = run_of(&session.grove(run("Go", &["--json"])).ok().stdout);
    let mark = format!("{}/1/1", ran["id"].as_str().unwrap());
    let process = |mark: &str| {
        let mut sleep = std::process::Command::new("sleep");
        sleep.arg("3081.5").env("GROVE_RUN", mark).spawn().unwrap()
    };
    // One is left of a run that is over; the other is of a run that another journal may have.
    let (mut orphan, mut stranger) = (process(&mark), process("0000000000/1/1"));
    let after = session.json("doctor")["runs"].clone();
    let shown = session.grove("doctor");
    for process in [&mut orphan, &mut stranger] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(after["journal"]["runs"], 1);
    assert_eq!(after["supervisor"], true);
    let orphans = after["orphans"].as_array().unwrap();
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    assert_eq!(orphans[0]["pid"], orphan.id());
    assert_eq!(orphans[0]["mark"], mark);
    assert!(!shown.stdout.contains(KEY), "{shown}");
    assert!(
        shown.stdout.contains("provider anthropic (anthropic)"),
        "{shown}"
    );
}

#[test]
fn a_child_neither_prunes_nor_recovers() {
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    session.grove(run("Go", &[])).ok();
    let inside = session.with_env("GROVE_RUN", "x/1/1");
    inside.grove("runs prune --days 0").fails(2);
    assert_eq!(
        inside.json("runs list")["runs"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_long_output_is_cut_for_the_model_and_whole_in_a_file_that_it_may_read() {
    let server = ModelServer::start(Script::chosen_by(|number, request| {
        let told = String::from_utf8_lossy(&request.body).into_owned();
        let path = told.split("all of it is in ").nth(1);
        let path = path.and_then(|rest| rest.split(';').next());
        match (number, path) {
            (0, _) => bash("seq -f 'line %g of the output' 20000"),
            (1, Some(path)) => {
                Reply::call("read", json!({ "path": path, "offset": 9999, "limit": 1 }))
            }
            _ => Reply::text("Done."),
        }
    }))
    .unwrap();
    let session = scene(&server);
    session.grove(run("Count", &[])).ok();
    let requests = server.requests();
    let told = |number: usize| String::from_utf8_lossy(&requests[number].body).into_owned();
    assert!(!told(1).contains("line 9999 of"), "it was cut");
    assert!(told(1).contains("bytes left out"));
    assert!(told(2).contains("line 9999 of the output"), "{}", told(2));
    let kept =
        |session: &grove_testkit::session::Session| session.entries("state/grove/logs").len();
    assert_eq!(kept(&session), 1);
    session.grove("runs prune --days 0").ok();
    assert_eq!(kept(&session), 0, "nothing of a pruned run is left");
}
