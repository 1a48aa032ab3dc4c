//! One budget for a whole tree, with children that ask others, that are programs, that go on and whose requests are made again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptFile};
use grove_testkit::needs;
use serde_json::{Value, json};

use super::delegation::{BOSS, ask};
use super::{AGENT, KEY, bash, engines, run, run_of, scene};

/// What an answer takes, and one that is cut before it says anything.
const EACH: u64 = 24;

fn spent(run: &Value) -> u64 {
    let of = |name: &str| run["usage"][name].as_u64().unwrap();
    of("input") + of("output")
}

/// Several that ask others, a program beside them, requests that fail and are made again, and children that are to go on:
/// all of it has one budget, and beyond it nobody makes more than the request that was under way.
#[test]
fn a_budget_bears_everybody_in_a_tree_and_one_request_of_each_more() {
    const BUDGET: u64 = 600;
    // Three that lead, one below each of them, and the program.
    const LIVE: u64 = 7;
    needs![Claude, Codex, Copilot, Pi, Node];
    let (asked, answered) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let answers = Arc::clone(&answered);
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_first = !body.contains("tool_use_id");
        if asked.fetch_add(1, Ordering::Relaxed) % 5 == 3 {
            return Reply::error(529, "overloaded");
        }
        answers.fetch_add(1, Ordering::Relaxed);
        if body.contains("lead the ") && is_first {
            return ask("worker", "dig");
        }
        if body.contains("dig by program") {
            return Reply::call("Bash", json!({ "command": "true", "description": "d" }));
        }
        // The program takes its time to begin.
        bash("sleep 0.3")
    }));
    let server = server.unwrap();
    let session = engines::scene(&server)
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", KEY);
    session.definition(BOSS, "tools: read, bash, write, subagent\n", "You lead.");
    let task = |name: &str| json!({ "agent": "boss", "task": format!("lead the {name}") });
    let program = json!({ "agent": "worker", "task": "dig by program", "engine": "claude" });
    let request = json!({
        "tasks": [task("one"), task("two"), task("three"), program],
        "model": "anthropic/m",
        "concurrency": 4,
        "maxTokens": BUDGET,
    });
    session.file("project/request.json", request.to_string());
    let outcome = session.grove("run --request request.json --json").fails(6);
    let run = run_of(&outcome.stdout);
    let all_sent = || answered.load(Ordering::Relaxed) * EACH;
    let sent = all_sent();
    assert!(
        (BUDGET..=BUDGET + LIVE * EACH).contains(&sent),
        "{sent} of {BUDGET} were sent: {run}"
    );
    let counted = ["input", "output"].map(|it| run["usage"][it].as_u64().unwrap());
    assert_eq!(counted.iter().sum::<u64>(), sent, "{run}");
    let by_program = &run["nodes"][3]["attempts"][0]["usage"];
    assert!(by_program["input"].as_u64().unwrap() > 0, "{run}");
    // Who is to go on has nothing to go on with.
    for node in ["1.0", "1.3"] {
        let child = format!("{}.{node}", run["id"].as_str().unwrap());
        let resumed = session.grove(["runs", "resume", child.as_str(), "More."]);
        assert_ne!(resumed.code, 0, "{resumed}");
    }
    assert_eq!(all_sent(), sent, "nobody asked again");
}

/// Of the built-in engine and of a program.
#[test]
fn whoever_goes_on_has_what_is_left_and_no_more() {
    const BUDGET: u64 = 100;
    needs![Claude, Codex, Copilot, Pi, Node];
    for words in [
        ["--model", "anthropic/m"].as_slice(),
        &[
            "--engine",
            "claude",
            "--model",
            "for-claude/claude-sonnet-4-5",
        ],
    ] {
        let server = ModelServer::start(Script::chosen_by(|_, _| Reply::text("Well."))).unwrap();
        let session = engines::scene(&server)
            .with_env("ANTHROPIC_BASE_URL", server.url())
            .with_env("ANTHROPIC_API_KEY", KEY);
        let budget = BUDGET.to_string();
        let mut all = vec!["run", "worker", "Begin", "--max-tokens", &budget, "--json"];
        all.extend(words);
        let outcome = session.grove(all);
        let mut shown = run_of(&outcome.stdout);
        let id = shown["id"].as_str().unwrap().to_owned();
        let mut tries = 0;
        while spent(&shown) < BUDGET {
            let before = spent(&shown);
            session.grove(["runs", "resume", id.as_str(), "More."]);
            shown = session.json(["runs", "show", id.as_str()]);
            assert!(spent(&shown) > before, "{shown}");
            tries += 1;
        }
        assert!(tries > 0 && spent(&shown) < BUDGET + EACH, "{shown}");
        let asked = server.requests().len();
        let refused = session.grove(["runs", "resume", id.as_str(), "More."]);
        assert_ne!(refused.code, 0, "{refused}");
        assert!(refused.stderr.contains("100"), "{refused}");
        assert_eq!(
            server.requests().len(),
            asked,
            "nobody is asked for nothing"
        );
    }
}

#[test]
fn a_request_that_comes_to_nothing_is_counted_before_it_is_made_again() {
    const BUDGET: u64 = 60;
    let script = json!({ "otherwise": { "text": "Well.", "delivery": { "cutAfterBytes": 350 } } });
    let script: ScriptFile = serde_json::from_value(script).unwrap();
    let server = ModelServer::start(Script::from(script)).unwrap();
    let session = scene(&server);
    session.definition(
        AGENT,
        "tools: bash\nfallbackModels: anthropic/other, anthropic/third\n",
        "You work.",
    );
    let outcome = session.grove(run("Go", &["--max-tokens", "60", "--json"]));
    let shown = run_of(&outcome.stdout);
    // Six tries of three models would be eighteen.
    let asked = server.requests().len() as u64;
    assert_eq!(asked, BUDGET.div_ceil(EACH), "{shown}");
    assert_eq!(spent(&shown), asked * EACH, "{shown}");
    assert_eq!(outcome.code, 6, "{outcome}");
}
