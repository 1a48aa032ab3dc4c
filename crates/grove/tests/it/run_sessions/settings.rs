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

#[test]
fn a_limit_that_nobody_can_read_starts_no_run() {
    let pi = "home/.pi/agent/settings.json";
    for (file, text, expected) in [
        (
            USER_CONFIG,
            "[runs]\nmaxTokns = 10\n",
            [":2:", "`runs.maxTokns`", "did you mean `runs.maxTokens`?"],
        ),
        (
            USER_CONFIG,
            "[runs]\nmaxTokens = \"10\"\n",
            [":2:", "`runs.maxTokens` must be", "whole number"],
        ),
        (
            USER_CONFIG,
            "maxTokens = 10\n",
            [":1:", "`maxTokens`", "did you mean `runs.maxTokens`?"],
        ),
        (
            USER_CONFIG,
            "[runs]\nmaxTokens = = 10\n",
            [":2:", "config.toml", "a limit may be missing"],
        ),
        (
            USER_CONFIG,
            "[agents.overrides.worker]\nmax_tokns = 10\n",
            [":2:", "max_tokns", "restrict the agent"],
        ),
        (
            pi,
            "{\"subagents\": {\"modelScope\": {\"enforce\": \"yes\"}}}",
            [":1:", "`subagents.modelScope.enforce`", "true or false"],
        ),
        (
            pi,
            "{\"subagents\": {",
            ["settings.json", "a limit may be missing", "not JSON"],
        ),
    ] {
        let server = server(vec![Reply::text("Yes.")]);
        let session = scene(&server);
        session.dir("project").file(file, text);
        for command in ["run", "plan"] {
            let words = [command, "worker", "Look", "--model", "anthropic/m"];
            session.grove(words).fails(3).says(expected);
        }
        assert!(server.requests().is_empty(), "{text}");
    }
    // What is said of another agent holds that one alone, and what limits nothing stops nothing.
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    let text = "colour = 1\n[agents.overrides.other]\nmax_tokns = 10\n";
    session.file(USER_CONFIG, text);
    session.grove(run("Look", &[])).ok();
}

#[test]
fn what_pi_says_about_models_of_subagents_counts() {
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    session.dir("project");
    let settings = |subagents: Value| {
        let text = json!({ "subagents": subagents }).to_string();
        session.file("home/.pi/agent/settings.json", text);
    };
    let asked = |at: usize| server.requests()[at].json()["model"].clone();
    settings(json!({ "defaultModel": "anthropic/usual" }));
    session.grove(["run", "worker", "Look"]).ok();
    assert_eq!(asked(0), "usual");
    let scope = |strict: bool| {
        json!({ "defaultModel": "anthropic/usual",
            "modelScope": { "enforce": true, "strict": strict, "allow": ["anthropic/small-*"] } })
    };
    settings(scope(false));
    let outside = ["model `anthropic/m` of `worker` is not in `subagents.modelScope`"];
    session.grove(run("Look", &[])).fails(2).says(outside);
    let words = ["run", "worker", "Look", "--model", "anthropic/small-1"];
    session.grove(words).ok();
    let used = session.grove(["run", "worker", "Look"]).ok();
    used.says(["model `anthropic/usual` of `worker` is not in `subagents.modelScope`"]);
    settings(scope(true));
    session.grove(["run", "worker", "Look"]).fails(2);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn an_agent_of_another_runner_is_not_run_as_if_it_were_ours() {
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    session.dir("project");
    let fields = "tools: read\nrunner:\n  type: external-cli\n  command: other\n";
    session.definition(AGENT, fields, "You work.");
    let refused = session.grove(run("Look", &[])).fails(2);
    refused.says(["`runner: external-cli`", "--engine"]);
    session.grove(run("Look", &["--engine", "native"])).ok();
    session.definition(AGENT, "tools: read\nrunner:\n  type: native\n", "You work.");
    session.grove(run("Look", &[])).ok();
}

#[test]
fn a_model_that_its_provider_does_not_have_gives_way_to_the_next() {
    let server = ModelServer::start(Script::chosen_by(|_, request| {
        let model = request.json()["model"].as_str().unwrap().to_owned();
        match model.as_str() {
            "gone" => Reply::error(404, "model: gone"),
            model => Reply::text(format!("I am {model}.")),
        }
    }))
    .unwrap();
    let session = scene(&server);
    session.dir("project");
    let of = |models: &str| {
        session.definition(AGENT, &format!("tools: read\n{models}\n"), "You work.");
        session.grove(["run", "worker", "Look", "--json"])
    };
    let ran = of("model: anthropic/gone\nfallbackModels: anthropic/gone, anthropic/here").ok();
    let ran = run_of(&ran.stdout);
    assert_eq!(ran["result"], "I am here.");
    let attempts = ran["nodes"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "each is tried once: {attempts:?}");
    assert_eq!(attempts[0]["cause"]["failure"], "noSuchModel");
    // One that is not known here is left out as long as there is another.
    let other = format!(
        "[providers.other]\napi = 'anthropic'\nbase_url = '{}'\n",
        server.url()
    );
    session.file(USER_CONFIG, other);
    let fields = "tools: read\nmodel: nowhere/gone\nfallbackModels: anthropic/here\n";
    session.definition(AGENT, fields, "You work.");
    let ran = session.grove(["run", "worker", "Look"]).ok();
    ran.says(["model `nowhere/gone` is left out"]);
    let gone = of("model: anthropic/gone").fails(1);
    let cause = &run_of(&gone.stdout)["nodes"][0]["cause"];
    assert_eq!(cause["failure"], "noSuchModel", "{cause}");
}
