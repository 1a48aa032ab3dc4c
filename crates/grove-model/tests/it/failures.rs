//! What comes of a request that is not answered: the type says it, never prose.

use std::time::Duration;

use grove_model::{
    AnswerBound, AnswerLimits, AskSettings, MESSAGE_LIMIT, ModelError, ModelEvent,
    RequestDeadlines, RetryPolicy,
};
use grove_plan::{ModelFailure, Usage};
use grove_testkit::model_server::{Delivery, Reply, Script, ScriptedError, ScriptedReply};
use serde_json::json;

use crate::World;
use crate::world::{KEY, failure, request, retries, said, settings};

fn error(status: u16, kind: Option<&str>, message: &str) -> ScriptedReply {
    ScriptedReply {
        error: Some(ScriptedError {
            status,
            kind: kind.map(str::to_owned),
            message: message.to_owned(),
            ..ScriptedError::default()
        }),
        ..ScriptedReply::default()
    }
}

fn with_header(mut reply: ScriptedReply, name: &str, value: &str) -> ScriptedReply {
    if let Some(error) = &mut reply.error {
        error.headers.push((name.to_owned(), value.to_owned()));
    }
    reply
}

fn delivered(text: &str, delivery: Delivery) -> ScriptedReply {
    ScriptedReply {
        text: Some(text.to_owned()),
        delivery,
        ..ScriptedReply::default()
    }
}

fn always(reply: ScriptedReply) -> Script {
    Script::chosen_by(move |_, _| reply.clone())
}

#[test]
fn a_status_and_a_type_say_what_failed_and_whether_it_is_tried_again() {
    let all = RetryPolicy::default().tries;
    for (reply, expected, tries) in [
        (error(401, None, "invalid x-api-key"), ModelFailure::Auth, 1),
        (error(403, None, "no"), ModelFailure::Auth, 1),
        (error(402, None, "pay"), ModelFailure::Quota, 1),
        (
            error(429, Some("insufficient_quota"), "pay"),
            ModelFailure::Quota,
            1,
        ),
        (
            error(400, None, "Your credit balance is too low to access"),
            ModelFailure::Quota,
            1,
        ),
        (
            error(400, None, "prompt is too long: 9 tokens > 8 maximum"),
            ModelFailure::ContextTooLong,
            1,
        ),
        (error(413, None, "large"), ModelFailure::ContextTooLong, 1),
        (
            error(400, None, "the prompt is too long"),
            ModelFailure::BadRequest,
            1,
        ),
        (
            error(404, None, "model: nope"),
            ModelFailure::NoSuchModel,
            1,
        ),
        (
            error(429, None, "prompt is too long"),
            ModelFailure::Rate,
            all,
        ),
        (error(500, None, "internal"), ModelFailure::Overload, all),
        (
            error(500, Some("overloaded_error"), "busy"),
            ModelFailure::Overload,
            all,
        ),
        (
            error(503, Some("unheard_of"), "busy"),
            ModelFailure::Overload,
            all,
        ),
        (error(529, None, "busy"), ModelFailure::Overload, all),
        (
            error(408, Some("timeout"), "late"),
            ModelFailure::Network,
            all,
        ),
    ] {
        let said = reply.error.clone().unwrap();
        let world = World::new(always(reply));
        let asked = world.ask(&request("Look."));
        let failed = failure(&asked);
        assert_eq!(
            (failed.failure, failed.tries),
            (expected, tries),
            "{said:?}"
        );
        assert_eq!(failed.status, Some(said.status));
        assert_eq!(failed.message, said.message);
        assert_eq!(world.server.requests().len(), tries as usize, "{said:?}");
        assert_eq!(retries(&asked.1), tries as usize - 1);
        assert_eq!(asked.0.unwrap_err().failure(), Some(expected));
    }
}

#[test]
fn a_limit_of_requests_is_waited_for_as_long_as_the_provider_says() {
    let fine = ScriptedReply::from(Reply::text("Fine."));
    let limited = with_header(error(429, None, "slow"), "retry-after-ms", "80");
    let world = World::new(Script::replies([limited.clone(), limited, fine]));
    let begun = std::time::Instant::now();
    let (answer, events) = world.ask(&request("Look."));
    assert_eq!(answer.unwrap().text(), "Fine.");
    assert!(begun.elapsed() >= Duration::from_millis(160));
    assert_eq!(retries(&events), 2);
    let waits = events.iter().filter_map(|event| match event {
        ModelEvent::Retrying {
            failure, wait_ms, ..
        } => Some((*failure, *wait_ms)),
        _ => None,
    });
    for (failure, wait) in waits {
        assert_eq!(failure, ModelFailure::Rate);
        assert!((80..=100).contains(&wait), "{wait}");
    }
}

#[test]
fn a_wait_beyond_the_whole_time_ends_the_tries() {
    for value in ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"] {
        let world = World::new(always(with_header(
            error(429, None, "slow"),
            "retry-after",
            value,
        )));
        let asked = world.ask(&request("Look."));
        assert_eq!(failure(&asked).tries, 1);
        assert!(failure(&asked).retry_after >= Some(Duration::from_hours(1)));
    }
}

#[test]
fn a_stream_that_is_cut_is_asked_for_again_only_when_nothing_was_told() {
    let cut = |after: usize| {
        let delivery = Delivery {
            cut_after_bytes: Some(after),
            ..Delivery::default()
        };
        delivered("A text that is cut somewhere in its middle.", delivery)
    };
    let whole = grove_testkit::model_server::Format::Anthropic.stream(&cut(1));
    let text = String::from_utf8(whole.clone()).unwrap();
    let first_delta = text.find("content_block_delta").unwrap();
    let end = text.find("event: message_stop").unwrap();
    // Before the head, after the head, after the start of the message.
    for after in [0, 1, first_delta - 10] {
        let world = World::new(Script::replies([cut(after), Reply::text("Whole.").into()]));
        let (answer, events) = world.ask(&request("Look."));
        let answer = answer.unwrap();
        assert_eq!(
            (answer.text().as_str(), said(&events).as_str()),
            ("Whole.", "Whole."),
            "{after}"
        );
        assert_eq!(retries(&events), 1);
        assert_eq!(answer.lost.input, if after > 1 { 16 } else { 0 });
    }
    for after in [first_delta + 150, end, end + 20] {
        let world = World::new(Script::replies([cut(after), Reply::text("Whole.").into()]));
        let asked = world.ask(&request("Look."));
        assert_eq!(failure(&asked).failure, ModelFailure::CutStream, "{after}");
        assert_eq!(failure(&asked).usage.input, 16);
        assert_eq!(world.server.requests().len(), 1);
        assert!(said(&asked.1).starts_with("A text"));
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_has_its_type() {
    let failing = |kind: &str, text: Option<&str>| ScriptedReply {
        text: text.map(str::to_owned),
        stream_error: Some(ScriptedError {
            kind: Some(kind.to_owned()),
            message: format!("the key {KEY} is too busy"),
            ..ScriptedError::default()
        }),
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([failing("overloaded_error", Some("Half"))]));
    let asked = world.ask(&request("Look."));
    let failed = failure(&asked);
    assert_eq!(
        (failed.failure, failed.tries, failed.status),
        (ModelFailure::Overload, 1, None)
    );
    assert_eq!(failed.message, "the key *** is too busy");
    // With nothing said yet it is tried again.
    let world = World::new(Script::replies([
        failing("overloaded_error", None),
        Reply::text("Well.").into(),
    ]));
    assert_eq!(world.ask(&request("Look.")).0.unwrap().text(), "Well.");
}

#[test]
fn every_deadline_has_its_own_word() {
    let hang = |after: usize| Delivery {
        hang_after_bytes: Some(after),
        ..Delivery::default()
    };
    let slow = Delivery {
        chunk_bytes: Some(10),
        chunk_delay_ms: 10,
        ..Delivery::default()
    };
    let short = Duration::from_millis(150);
    let usual = RequestDeadlines::default();
    for (delivery, deadlines, word) in [
        (
            hang(0),
            RequestDeadlines {
                first_byte: short,
                ..usual
            },
            "the first byte",
        ),
        (
            hang(30),
            RequestDeadlines {
                idle: short,
                ..usual
            },
            "more of the answer",
        ),
        (
            slow,
            RequestDeadlines {
                whole: short,
                ..usual
            },
            "the whole answer",
        ),
    ] {
        let settings = AskSettings {
            deadlines,
            ..settings()
        };
        let world = World::with(always(delivered("Never.", delivery)), settings);
        let asked = world.ask(&request("Look."));
        assert_eq!(failure(&asked).failure, ModelFailure::Idle);
        assert!(
            failure(&asked).message.starts_with(word),
            "{:?}",
            failure(&asked)
        );
        let closed = world.runtime.block_on(async {
            tokio::task::yield_now().await;
            world
                .server
                .wait_for_stats(crate::world::PLENTY, |stats| stats.open == 0)
        });
        assert!(closed.is_some());
    }
}

#[test]
fn nobody_at_the_address_is_a_failure_of_the_network() {
    let world = World::new(Script::plain());
    let url = world.server.url();
    drop(world);
    let client = crate::world::client(&url, grove_model::Network::new(), settings());
    let asked = crate::world::runtime().block_on(crate::world::ask(&client, &request("Look.")));
    assert_eq!(failure(&asked).failure, ModelFailure::Network);
    assert_eq!(failure(&asked).tries, RetryPolicy::default().tries);
    assert_eq!(failure(&asked).usage, Usage::default());
}

#[test]
fn an_answer_beyond_a_bound_is_refused_with_the_number() {
    let call = ScriptedReply::from(Reply::call("write", json!({ "text": "x".repeat(500) })));
    let text = ScriptedReply::from(Reply::text("x".repeat(500)));
    let many = ScriptedReply::from(Reply::Message {
        text: Some("x".to_owned()),
        calls: vec![
            grove_testkit::model_server::ToolCall {
                name: "ls".to_owned(),
                namespace: None,
                arguments: json!({}),
            };
            3
        ],
    });
    let head = with_header(error(500, None, "x"), "x-long", &"x".repeat(300 << 10));
    let usual = AnswerLimits::default();
    for (reply, limits, what, limit) in [
        (
            text.clone(),
            AnswerLimits {
                answer_bytes: 400,
                ..usual
            },
            AnswerBound::Answer,
            400,
        ),
        (
            text.clone(),
            AnswerLimits {
                event_bytes: 300,
                ..usual
            },
            AnswerBound::Event,
            300,
        ),
        (
            text,
            AnswerLimits {
                stream_bytes: 900,
                ..usual
            },
            AnswerBound::Stream,
            900,
        ),
        (
            call,
            AnswerLimits {
                tool_input_bytes: 400,
                ..usual
            },
            AnswerBound::ToolInput,
            400,
        ),
        (
            many,
            AnswerLimits { blocks: 3, ..usual },
            AnswerBound::Blocks,
            3,
        ),
        (head, usual, AnswerBound::Head, 64 << 10),
    ] {
        let world = World::with(
            always(reply),
            AskSettings {
                limits,
                ..settings()
            },
        );
        let (answer, _) = world.ask(&request("Look."));
        assert_eq!(answer, Err(ModelError::TooLarge { what, limit }));
        assert_eq!(world.server.requests().len(), 1);
    }
}

#[test]
fn words_about_failure_and_success_are_words() {
    let prose =
        "error 429: rate_limit_error. HTTP 500. success, all tests passed. prompt is too long";
    let event =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    for text in [prose, event, "event: message_stop\n\ndata: [DONE]\n\n"] {
        let world = World::new(Script::replies([Reply::text(text)]));
        let (answer, events) = world.ask(&request(prose));
        let answer = answer.unwrap();
        assert_eq!(answer.text(), text);
        assert_eq!(answer.stop, grove_model::StopKind::EndTurn);
        assert_eq!(retries(&events), 0);
    }
    // And words of success do not help a failure.
    let world = World::new(always(error(
        401,
        None,
        "success: the request was answered, tests passed",
    )));
    assert_eq!(
        failure(&world.ask(&request("Look."))).failure,
        ModelFailure::Auth
    );
}

#[test]
fn what_a_provider_says_is_bounded_and_has_no_key_and_no_controls() {
    let long = format!("\u{1b}[2J{KEY}\r\n{}", "ü".repeat(5000));
    let key_at_the_edge = format!("{}{KEY}", "x".repeat(MESSAGE_LIMIT - 5));
    for message in [long, key_at_the_edge] {
        let world = World::new(always(error(400, Some(&format!("kind {KEY}")), &message)));
        let asked = world.ask(&request("Look."));
        let failed = failure(&asked);
        assert!(failed.message.len() <= MESSAGE_LIMIT);
        assert!(!failed.message.chars().any(char::is_control));
        let shown = format!(
            "{failed} {failed:?} {}",
            serde_json::to_string(failed).unwrap()
        );
        assert!(!shown.contains("sk-ma"), "{shown}");
    }
}

#[test]
fn what_is_no_provider_is_said_so() {
    let body = |status: u16, body: &str| ScriptedReply {
        error: Some(ScriptedError {
            status,
            body: Some(body.to_owned()),
            ..ScriptedError::default()
        }),
        ..ScriptedReply::default()
    };
    let elsewhere = with_header(body(308, ""), "location", "https://example.com/");
    for (reply, expected, tries, part) in [
        (
            body(200, "<html>Log in</html>"),
            ModelFailure::BadRequest,
            1,
            "not with a stream of events",
        ),
        (
            elsewhere,
            ModelFailure::BadRequest,
            1,
            "points elsewhere to https://example.com/",
        ),
        (
            body(502, "<html>error 401</html>"),
            ModelFailure::Overload,
            6,
            "gave no reason",
        ),
        (body(401, "[1, 2]"), ModelFailure::Auth, 1, "gave no reason"),
    ] {
        let world = World::new(always(reply));
        let asked = world.ask(&request("Look."));
        let failed = failure(&asked);
        assert_eq!((failed.failure, failed.tries), (expected, tries));
        assert!(failed.message.contains(part), "{failed}");
    }
}
