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
    let outcome = session.grove(run("Go", &[])).fails(1);
    outcome.says(["there is no program `goose` in PATH"]);
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
