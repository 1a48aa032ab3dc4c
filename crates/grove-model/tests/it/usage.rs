//! Tokens that count, of those that a provider says.

use grove_model::{AnswerCounter, AnswerDecoder, AnswerLimits, ModelApi};
use grove_plan::Usage;
use grove_testkit::model_server::{Format, ScriptedReply};
use proptest::prelude::*;
use serde_json::{Value, json};

const FORMATS: [(Format, ModelApi); 3] = [
    (Format::Anthropic, ModelApi::Anthropic),
    (Format::Responses, ModelApi::OpenaiResponses),
    (Format::Chat, ModelApi::OpenaiChat),
];
/// The bytes of the request, and of the words of the answer.
const ASKED: usize = 4_000;
const WORDS: usize = 400;

fn names(api: ModelApi) -> [&'static str; 2] {
    match api {
        ModelApi::OpenaiChat => ["prompt_tokens", "completion_tokens"],
        ModelApi::Anthropic | ModelApi::OpenaiResponses => ["input_tokens", "output_tokens"],
    }
}

/// The usage of an answer of which this is said, as the built-in engine reads it and as the meter does.
fn counted((format, api): (Format, ModelApi), said: &Value) -> Usage {
    let reply = ScriptedReply {
        text: Some("x".repeat(WORDS)),
        said_usage: Some(said.clone()),
        ..ScriptedReply::default()
    };
    let mut bytes = format.stream(&reply);
    if api == ModelApi::OpenaiChat {
        let last = json!({ "choices": [], "usage": said });
        let text = String::from_utf8(bytes).unwrap();
        let last = format!("data: {last}\n\ndata: [DONE]");
        bytes = text.replace("data: [DONE]", &last).into_bytes();
    }
    let mut decoder = AnswerDecoder::new(api, AnswerLimits::default());
    decoder.push(&bytes, &mut |_| {}).unwrap();
    let usage = decoder.finish(ASKED).unwrap().usage;
    let mut counter = AnswerCounter::new(api, true, ASKED);
    counter.push(&bytes);
    assert_eq!(counter.finish(true).usage, usage, "{said}");
    usage
}

#[test]
fn what_cannot_be_read_counts_as_where_nothing_is_said() {
    let beyond: Value = serde_json::from_str("18446744073709551616").unwrap();
    let unreadable = [
        json!(-1),
        json!(i64::MIN),
        beyond,
        json!(1e30),
        json!(0.5),
        json!(12.0),
        json!("12"),
        json!(true),
        json!([12]),
        json!({ "tokens": 12 }),
        Value::Null,
    ];
    for format in FORMATS {
        let [input, output] = names(format.1);
        let count = |of_input: &Value, of_output: &Value| {
            let usage = counted(format, &json!({ input: of_input, output: of_output }));
            (usage.input, usage.output, usage.estimated)
        };
        assert_eq!(count(&json!(70), &json!(30)), (70, 30, false), "{format:?}");
        for bad in &unreadable {
            assert_eq!(
                count(bad, &json!(30)),
                (1_000, 30, true),
                "{format:?} {bad}"
            );
            assert_eq!(count(&json!(70), bad), (70, 100, true), "{format:?} {bad}");
            assert_eq!(count(bad, bad), (1_000, 100, true), "{format:?} {bad}");
            assert_eq!(count(bad, &json!(0)), (1_000, 13, true), "{format:?} {bad}");
        }
        // What cannot be is no better.
        assert_eq!(count(&json!(0), &json!(0)), (1_000, 13, true), "{format:?}");
        assert_eq!(
            count(&json!(0), &json!(500)),
            (1_000, 500, true),
            "{format:?}"
        );
        for said in [json!(-5), json!("none"), json!([]), json!({})] {
            let usage = counted(format, &said);
            assert_eq!(
                (usage.input, usage.output, usage.estimated),
                (1_000, 100, true),
                "{said}"
            );
        }
    }
}

#[test]
fn details_that_cannot_be_read_hide_no_input() {
    for bad in [json!(-1), json!("all"), json!(0.5)] {
        let said =
            json!({ "input_tokens": 0, "output_tokens": 30, "cache_creation_input_tokens": bad });
        assert_eq!(counted(FORMATS[0], &said).counted(), 1_030, "{bad}");
        let said = json!({ "input_tokens": 9, "output_tokens": 30, "input_tokens_details": { "cached_tokens": bad } });
        assert_eq!(counted(FORMATS[1], &said).counted(), 39, "{bad}");
    }
    // More from a cache than there was is all of it.
    let said = json!({ "prompt_tokens": 70, "completion_tokens": 30, "prompt_tokens_details": { "cached_tokens": 99 } });
    let usage = counted(FORMATS[2], &said);
    assert_eq!((usage.input, usage.cached, usage.output), (0, 70, 30));
}

proptest! {
    #[test]
    fn no_word_makes_an_answer_free(
        format in 0..FORMATS.len(),
        input in "-?[0-9]{1,25}(\\.[0-9]{1,3})?",
        output in "-?[0-9]{1,25}(\\.[0-9]{1,3})?",
    ) {
        let format = FORMATS[format];
        let [of_input, of_output] = names(format.1);
        let number = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::from(text));
        let (input, output) = (number(&input), number(&output));
        let usage = counted(format, &json!({ of_input: input, of_output: output }));
        prop_assert!(usage.input > 0 && usage.output >= 13, "{usage:?}");
        prop_assert_eq!(Some(usage.input), input.as_u64().filter(|it| *it > 0).or(Some(1_000)));
        prop_assert_eq!(usage.output, output.as_u64().map_or(100, |it| it.max(13)));
    }
}
