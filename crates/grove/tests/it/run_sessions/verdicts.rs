//! What a model may do, and what the run is then: events and verdict, from one table over every wire format.

use grove_testkit::model_server::{
    Delivery, ModelServer, Reply, Script, ScriptedError, ScriptedReply, ToolCall,
};
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::{bash, run_of, scene};

/// A wire format: its word, what follows the address, and how it says that nothing is left to spend and that a request
/// is too long.
struct Wire {
    api: &'static str,
    base: &'static str,
    quota: (u16, &'static str, &'static str),
    too_long: (u16, &'static str, &'static str),
}

const ANTHROPIC: Wire = Wire {
    api: "anthropic",
    base: "",
    quota: (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the API.",
    ),
    too_long: (
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
};

const RESPONSES: Wire = Wire {
    api: "openai-responses",
    base: "/v1",
    quota: (429, "insufficient_quota", "You exceeded your quota."),
    too_long: (400, "context_length_exceeded", "Your input is too long."),
};

const CHAT: Wire = Wire {
    api: "openai-chat",
    ..RESPONSES
};

/// One thing that a model does.
struct Case {
    name: &'static str,
    replies: Vec<ScriptedReply>,
    words: &'static [&'static str],
    /// The facts between the first lease and the end of the child.
    facts: &'static str,
    state: &'static str,
    /// The kind of the cause, and how the model failed.
    cause: Option<(&'static str, Option<&'static str>)>,
    code: i32,
    /// How often the model was asked.
    requests: usize,
    result: Option<String>,
}

impl Case {
    fn new(name: &'static str, replies: Vec<ScriptedReply>, facts: &'static str) -> Self {
        Self {
            name,
            requests: replies.len(),
            replies,
            words: &[],
            facts,
            state: "complete",
            cause: None,
            code: 0,
            result: Some("Fine.".to_owned()),
        }
    }

    fn failed(self, kind: &'static str, failure: Option<&'static str>, code: i32) -> Self {
        Self {
            state: "failed",
            cause: Some((kind, failure)),
            code,
            result: None,
            ..self
        }
    }
}

fn text(text: &str) -> ScriptedReply {
    Reply::text(text).into()
}

fn error(status: u16) -> ScriptedReply {
    failure(status, None, "no")
}

fn failure(status: u16, kind: Option<&str>, message: &str) -> ScriptedReply {
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

fn delivered(text: &str, delivery: Delivery) -> ScriptedReply {
    ScriptedReply {
        text: Some(text.to_owned()),
        pieces: 50,
        delivery,
        ..ScriptedReply::default()
    }
}

fn value(value: Value) -> ScriptedReply {
    Reply::call("structured_output", value).into()
}

const SCHEMA: &[&str] = &["--schema", "schema.json"];

fn cases(wire: &Wire) -> Vec<Case> {
    let refused = |(status, kind, message)| failure(status, Some(kind), message);
    let thought = ScriptedReply {
        thinking: Some("Two and two is four.".to_owned()),
        text: Some("Fine.".to_owned()),
        ..ScriptedReply::default()
    };
    let call = |command: &str| bash(command).into();
    let both = ScriptedReply {
        calls: ["one", "two"]
            .map(|word| ToolCall {
                name: "bash".to_owned(),
                namespace: None,
                arguments: json!({ "command": format!("echo {word}") }),
            })
            .to_vec(),
        ..ScriptedReply::default()
    };
    let cut = Delivery {
        cut_after_bytes: Some(3_000),
        ..Delivery::default()
    };
    let hang = Delivery {
        hang_after_bytes: Some(0),
        ..Delivery::default()
    };
    let silence = Delivery {
        hang_after_bytes: Some(3_000),
        ..Delivery::default()
    };
    let long = "0123456789abcdef".repeat(128 << 10);
    let liar = "error 429, success, tests passed";
    let words = "word ".repeat(400);
    vec![
        Case::new("text", vec![text("Fine.")], "turned"),
        Case::new(
            "tool call",
            vec![call("echo one"), text("Fine.")],
            "turned called returned turned",
        ),
        Case::new(
            "parallel calls",
            vec![both, text("Fine.")],
            "turned called returned called returned turned",
        ),
        Case::new("thinking", vec![thought], "turned"),
        Case {
            words: SCHEMA,
            result: Some(r#"{"n":3}"#.to_owned()),
            ..Case::new(
                "structured output",
                vec![value(json!({ "n": "x" })), value(json!({ "n": 3 }))],
                "turned called returned turned called returned",
            )
        },
        Case {
            words: SCHEMA,
            ..Case::new(
                "wrong structured output",
                vec![
                    value(json!({})),
                    value(json!({ "n": "x" })),
                    value(json!({ "m": 1 })),
                ],
                "turned called returned turned called returned turned called returned",
            )
            .failed("schema", None, 1)
        },
        Case {
            words: SCHEMA,
            // It is asked for data once more.
            ..Case::new(
                "words instead of data",
                vec![text("It is 3."), text("Three.")],
                "turned answered leased answered leased turned",
            )
            .failed("schema", None, 1)
        },
        Case::new("401", vec![error(401)], "").failed("model", Some("auth"), 1),
        Case::new("quota", vec![refused(wire.quota)], "").failed("model", Some("quota"), 1),
        Case::new("context too long", vec![refused(wire.too_long)], "").failed(
            "model",
            Some("contextTooLong"),
            1,
        ),
        Case::new("429 then fine", vec![error(429), text("Fine.")], "turned"),
        // It is tried six times, and not once more.
        Case::new("500 for ever", vec![error(500); 6], "").failed("model", Some("overload"), 1),
        Case {
            result: Some("word ".to_owned()),
            ..Case::new("cut stream", vec![delivered(&words, cut)], "").failed(
                "model",
                Some("cutStream"),
                1,
            )
        },
        Case {
            result: Some("word ".to_owned()),
            ..Case::new(
                "silence in the middle",
                vec![delivered(&words, silence)],
                "",
            )
            .failed("model", Some("idle"), 1)
        },
        Case {
            words: &["--timeout", "1"],
            ..Case::new("hang", vec![delivered("Fine.", hang)], "").failed("timedOut", None, 6)
        },
        Case {
            result: Some(long.clone()),
            ..Case::new("2 MB", vec![text(&long)], "turned")
        },
        Case {
            result: Some(liar.to_owned()),
            ..Case::new("lying prose", vec![text(liar)], "turned")
        },
    ]
}

#[test]
fn every_behaviour_has_its_events_and_its_verdict_in_anthropics_format() {
    every_behaviour_has_its_events_and_its_verdict(&ANTHROPIC);
}

#[test]
fn every_behaviour_has_its_events_and_its_verdict_in_the_format_of_responses() {
    every_behaviour_has_its_events_and_its_verdict(&RESPONSES);
}

#[test]
fn every_behaviour_has_its_events_and_its_verdict_in_the_format_of_chats() {
    every_behaviour_has_its_events_and_its_verdict(&CHAT);
}

fn every_behaviour_has_its_events_and_its_verdict(wire: &Wire) {
    let api = wire.api;
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
    });
    for case in cases(wire) {
        let name = case.name;
        let server = ModelServer::start(Script::replies(case.replies)).unwrap();
        let session = scene(&server);
        session.file("project/schema.json", schema.to_string());
        let (url, base) = (server.url(), wire.base);
        let config = format!(
            "[runs]\nmodelIdleMs = 2500\n[providers.local]\napi = '{api}'\nbase_url = '{url}{base}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\n"
        );
        session.file(USER_CONFIG, config);
        let words = ["run", "worker", "Try", "--model", "local/m", "--json"];
        let words = [&words, case.words].concat();
        let outcome = session.grove(words).fails(case.code);
        let lines: Vec<Value> = outcome
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let facts: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["fact"].as_str())
            .collect();
        let facts: Vec<&str> = facts.into_iter().filter(|fact| *fact != "fired").collect();
        let between = &facts[2..facts.len() - 3];
        let stopped: &[&str] = if name == "hang" {
            &["leased", "answered"]
        } else {
            &[]
        };
        let expected: Vec<&str> = case.facts.split_whitespace().collect();
        assert_eq!(
            between,
            [&expected, stopped].concat(),
            "{api}: {name}: {facts:?}"
        );
        assert_eq!(facts[..2], ["submitted", "leased"], "{name}");
        assert_eq!(
            facts[facts.len() - 3..],
            ["answered", "leased", "answered"],
            "{name}"
        );
        let run = run_of(&outcome.stdout);
        assert_eq!(run["state"], case.state, "{api}: {name}: {run}");
        let cause = case
            .cause
            .map(|(kind, failure)| (json!(kind), json!(failure)));
        let cause = cause.unwrap_or_default();
        assert_eq!(
            (
                run["cause"]["kind"].clone(),
                run["cause"]["failure"].clone()
            ),
            cause,
            "{name}"
        );
        let given = run["result"].as_str().unwrap_or_default();
        match &case.result {
            // Of an answer that was cut off what came is kept.
            Some(start) if ["cut stream", "silence in the middle"].contains(&name) => {
                assert!(given.starts_with(start), "{given}");
            }
            Some(result) => assert!(given == result, "{name}: {} bytes", given.len()),
            None if name.contains("structured") || name.contains("data") => {}
            None => assert_eq!(given, "", "{name}"),
        }
        assert_eq!(server.requests().len(), case.requests, "{api}: {name}");
        if name == "thinking" {
            let id = run["id"].as_str().unwrap();
            let logs = session.grove(["runs", "logs", id, "--json"]).ok();
            assert!(
                logs.stdout.contains("Two and two is four."),
                "{api}: {logs}"
            );
        }
    }
}
