//! Every limit stops a child in time and what it had is kept; another model goes on where a provider failed, and nowhere
//! else. One table each.

use std::sync::atomic::{AtomicUsize, Ordering};

use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptedError, ScriptedReply};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::{AGENT, bash, run_of, scene, server};

/// A child that comes to a limit.
struct Limited {
    name: &'static str,
    fields: &'static str,
    words: &'static [&'static str],
    /// What its tool does.
    command: &'static str,
    cause: Value,
    /// How often the model is asked at most: its tool is wanted for ever.
    requests: usize,
    result: &'static str,
    /// Milliseconds in which it has to be over.
    within: u64,
}

const SLEEPS: &str = "sleep 3041.5";

fn limited() -> Vec<Limited> {
    let quick = Limited {
        name: "",
        fields: "",
        words: &[],
        command: "echo x >> made",
        cause: Value::Null,
        requests: 1,
        result: "So far.",
        within: 5_000,
    };
    let timed_out = json!({ "kind": "timedOut", "limit_ms": 1000 });
    let limit = |what: &str, limit: u64, observed: u64| json!({ "kind": "limit", "what": what, "limit": limit, "observed": observed });
    vec![
        Limited {
            name: "timeoutMs",
            words: &["--timeout", "1"],
            command: SLEEPS,
            cause: timed_out.clone(),
            within: 3_000,
            ..quick
        },
        Limited {
            name: "maxExecutionTimeMs",
            fields: "maxExecutionTimeMs: 1000\n",
            command: SLEEPS,
            cause: timed_out,
            within: 3_000,
            ..quick
        },
        // One answer takes 24 tokens.
        Limited {
            name: "maxTokens of the run",
            words: &["--max-tokens", "20"],
            cause: limit("tokens", 20, 24),
            ..quick
        },
        Limited {
            name: "maxTokens of the agent",
            fields: "maxTokens: 30\n",
            cause: limit("tokens", 30, 48),
            requests: 2,
            ..quick
        },
        // 16 at 1 and 8 at 2 for a million.
        Limited {
            name: "maxCost",
            words: &["--max-cost", "0.00003"],
            cause: limit("cost", 30, 32),
            ..quick
        },
        Limited {
            name: "turnBudget",
            fields: "turnBudget: 2\n",
            cause: limit("turns", 2, 2),
            requests: 3,
            result: "In sum.",
            ..quick
        },
        Limited {
            name: "toolBudget",
            fields: "toolBudget: { soft: 1, hard: 2 }\n",
            cause: limit("toolCalls", 2, 2),
            requests: 4,
            result: "In sum.",
            ..quick
        },
    ]
}

/// A provider with a model whose prices are known, and one that speaks to nobody.
fn providers(url: &str) -> String {
    let broken = url.replace("http://", "https://");
    format!(
        "[providers.local]\napi = 'anthropic'\nbase_url = '{url}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\n\
         models = [{{ id = 'one', input = 1, output = 2.0 }}, 'two']\n\
         [providers.broken]\napi = 'anthropic'\nbase_url = '{broken}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\n"
    )
}

#[test]
fn every_limit_stops_in_time_and_what_there_was_is_kept() {
    for case in limited() {
        let name = case.name;
        let command = case.command;
        let server = ModelServer::start(Script::chosen_by(move |_, request| {
            match request.json()["tool_choice"]["type"].as_str() {
                Some("none") => Reply::text("In sum.").into(),
                _ => ScriptedReply {
                    text: Some("So far.".to_owned()),
                    ..bash(command).into()
                },
            }
        }))
        .unwrap();
        let session = scene(&server);
        session.file(USER_CONFIG, providers(&server.url()));
        session.dir("project");
        let fields = format!("tools: bash, write\nmodel: local/one\n{}", case.fields);
        session.definition(AGENT, &fields, "You work.");
        let words = [&["run", "worker", "Work", "--json"], case.words].concat();
        let outcome = session.grove(words).fails(6);
        let run = run_of(&outcome.stdout);
        assert_eq!(run["state"], "failed", "{name}");
        assert_eq!(run["cause"], case.cause, "{name}");
        assert_eq!(run["result"], case.result, "{name}");
        assert_eq!(server.requests().len(), case.requests, "{name}");
        let time = |key: &str| run[key].as_u64().unwrap();
        let took = time("endedAt") - time("submittedAt");
        assert!(took < case.within, "{name}: {took} ms");
        assert_eq!(sleepers("3041.5"), 0, "{name}");
        let last = String::from_utf8(server.requests().last().unwrap().body.clone()).unwrap();
        let is_told = case.result == "In sum.";
        assert_eq!(last.contains("Call no more tools"), is_told, "{name}");
        let is_warned = last.contains("1 more tool calls may be made");
        assert_eq!(is_warned, name == "toolBudget", "{name}");
    }
}

#[test]
fn a_call_that_takes_too_long_fails_and_the_child_goes_on() {
    let server = server(vec![bash(SLEEPS), Reply::text("I went on.")]);
    let session = scene(&server);
    session.file(USER_CONFIG, providers(&server.url()));
    session.dir("project");
    let fields = "tools: bash, write\nmodel: local/one\ntoolTimeoutMs: 1000\n";
    session.definition(AGENT, fields, "You work.");
    let outcome = session.grove("run worker Work --json").ok();
    let run = run_of(&outcome.stdout);
    assert_eq!(run["result"], "I went on.");
    assert!(
        (run["cost"].as_f64().unwrap() - 0.000_064).abs() < 1e-9,
        "{run}"
    );
    let last = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(last.contains("[timed out after 1 s]"), "{last}");
}

#[test]
fn whoever_stays_within_its_limits_is_complete() {
    let server = server(vec![bash("true"), Reply::text("Done.")]);
    let session = scene(&server);
    session.file(USER_CONFIG, providers(&server.url()));
    session.dir("project");
    let fields =
        "tools: bash, write\nmodel: local/one\nturnBudget: 2\ntoolBudget: 1\nmaxTokens: 49\n";
    session.definition(AGENT, fields, "You work.");
    let limits = "--max-cost 0.000065 --max-tokens 49 --timeout 60";
    session.grove(&format!("run worker Work {limits}")).ok();
}

#[test]
fn a_limit_on_money_is_refused_where_a_price_is_not_known() {
    let server = server(vec![]);
    let session = scene(&server);
    let config = |more: &str| format!("{}{more}", providers(&server.url()));
    for (model, fallback, words, more, is_refused) in [
        ("local/one", "", "--max-cost 1", "", false),
        ("local/two", "", "--max-cost 1", "", true),
        (
            "local/one",
            "fallbackModels: local/two\n",
            "--max-cost 1",
            "",
            true,
        ),
        ("local/two", "", "", "[runs]\nmaxCost = 0.5\n", true),
        // The counter-case: without the limit nobody asks for prices.
        ("local/two", "", "", "", false),
    ] {
        session.file(USER_CONFIG, config(more));
        let fields = format!("tools: bash\nmodel: {model}\n{fallback}");
        session.definition(AGENT, &fields, "You work.");
        let asked = server.requests().len();
        let outcome = session.grove(&format!("run worker Work {words}"));
        if is_refused {
            let outcome = outcome.fails(2);
            outcome.says(["`maxCost` cannot be enforced", "`local/two`", "models = "]);
            assert_eq!(server.requests().len(), asked);
        } else {
            outcome.ok();
        }
    }
}

fn refused(status: u16, kind: Option<&str>, message: &str) -> ScriptedReply {
    ScriptedReply {
        error: Some(ScriptedError {
            status,
            kind: kind.map(str::to_owned),
            message: message.to_owned(),
            headers: vec![("retry-after".to_owned(), "0".to_owned())],
            ..ScriptedError::default()
        }),
        ..ScriptedReply::default()
    }
}

#[test]
fn another_model_goes_on_where_a_provider_failed_and_nowhere_else() {
    let write: ScriptedReply =
        Reply::call("write", json!({ "path": "made", "content": "x" })).into();
    let read: ScriptedReply = Reply::call("read", json!({ "path": "there" })).into();
    let text = |text: &str| ScriptedReply::from(Reply::text(text));
    let no = || refused(401, None, "no");
    let too_long = "prompt is too long: 210000 tokens > 200000 maximum";
    // The first model answers so, again and again with the last; how many models were tried, and how it ended.
    for (name, answers, lines, models, code) in [
        ("401", vec![no()], "", 2, 0),
        ("429", vec![refused(429, None, "slow down")], "", 2, 0),
        (
            "529",
            vec![refused(529, Some("overloaded_error"), "busy")],
            "",
            2,
            0,
        ),
        (
            "quota",
            vec![refused(402, Some("billing_error"), "pay")],
            "",
            2,
            0,
        ),
        ("network", vec![], "", 2, 0),
        ("400", vec![refused(400, None, "no")], "", 1, 1),
        ("too long", vec![refused(400, None, too_long)], "", 1, 1),
        (
            "a failed test",
            vec![
                bash("echo 'error 429: rate limit'; exit 1").into(),
                text("The tests failed."),
            ],
            "",
            1,
            0,
        ),
        (
            "words",
            vec![text("error 429, overloaded, quota")],
            "",
            1,
            0,
        ),
        ("after a read", vec![read, no()], "", 2, 0),
        ("after a write", vec![write.clone(), no()], "", 1, 1),
        (
            "after a write, allowed",
            vec![write, no()],
            "fallbackAfterWrites: true\n",
            2,
            0,
        ),
    ] {
        let asked = AtomicUsize::new(0);
        let count = answers.len();
        let server = ModelServer::start(Script::chosen_by(move |_, request| {
            if request.json()["model"] == "two" {
                return Reply::text("The second.").into();
            }
            let at = asked.fetch_add(1, Ordering::Relaxed);
            answers[at.min(count - 1)].clone()
        }))
        .unwrap();
        let session = scene(&server);
        session.file(USER_CONFIG, providers(&server.url()));
        session.file("project/there", "x");
        let first = if count == 0 {
            "broken/one"
        } else {
            "local/one"
        };
        let fields = format!(
            "tools: bash, write, read\nmodel: {first}\nfallbackModels: local/two\nthinking: low\n{lines}"
        );
        session.definition(AGENT, &fields, "You work.");
        let outcome = session.grove("run worker Look --json").fails(code);
        let run = run_of(&outcome.stdout);
        let attempts = run["nodes"][0]["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), models, "{name}: {run}");
        assert_eq!(attempts[0]["model"], format!("{first}:low"), "{name}");
        assert_eq!(run["result"] == "The second.", models == 2, "{name}");
        let sent: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
        assert!(sent["thinking"].is_object(), "{sent}");
    }
}
