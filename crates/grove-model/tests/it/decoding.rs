//! Streams as bytes.

use grove_model::{
    AnswerDecoder, AnswerLimits, MessageBlock, ModelAnswer, ModelApi, ModelError, ModelEvent,
    StopKind,
};
use grove_plan::ModelFailure;
use grove_testkit::model_server::{Format, ScriptedReply, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

type Decoded = (Result<ModelAnswer, ModelError>, Vec<ModelEvent>);

fn decode(portions: &[&[u8]]) -> Decoded {
    decode_as(ModelApi::Anthropic, portions)
}

fn decode_as(api: ModelApi, portions: &[&[u8]]) -> Decoded {
    let mut decoder = AnswerDecoder::new(api, AnswerLimits::default());
    let mut events = Vec::new();
    let mut on_event = |event| events.push(event);
    let pushed = portions
        .iter()
        .try_for_each(|bytes| decoder.push(bytes, &mut on_event));
    let answer = pushed.and_then(|()| decoder.finish(0));
    (answer, events)
}

fn stream(events: &[Value]) -> Vec<u8> {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect::<String>().into_bytes()
}

fn replies() -> impl Strategy<Value = ScriptedReply> {
    let call = ("[a-z]{1,8}", "\\PC{0,20}").prop_map(|(name, text)| ToolCall {
        name,
        namespace: None,
        arguments: json!({ "text": text, "n": [1, null, true] }),
    });
    let parts = (
        proptest::option::of("(?s).{0,60}"),
        proptest::option::of("\\PC{1,30}"),
        proptest::collection::vec(call, 0..3),
        1..9_usize,
    );
    parts.prop_map(|(text, thinking, calls, pieces)| ScriptedReply {
        text,
        thinking,
        calls,
        pieces,
        ..ScriptedReply::default()
    })
}

const FORMATS: [(Format, ModelApi); 3] = [
    (Format::Anthropic, ModelApi::Anthropic),
    (Format::Responses, ModelApi::OpenaiResponses),
    (Format::Chat, ModelApi::OpenaiChat),
];

proptest! {
    #[test]
    fn any_portions_give_the_same_events_and_the_same_answer(
        reply in replies(),
        format in 0..FORMATS.len(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        length in any::<prop::sample::Index>(),
    ) {
        let (format, api) = FORMATS[format];
        let decode = |portions: &[&[u8]]| decode_as(api, portions);
        let whole = format.stream(&reply);
        // A stream that is cut has to be cut in the same way too.
        for bytes in [&whole[..], &whole[..length.index(whole.len())]] {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let portions: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let expected = decode(&[bytes]);
            prop_assert_eq!(&decode(&portions), &expected);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&decode(&single), &expected);
        }
        let (answer, _) = decode(&[&whole]);
        let answer = answer.unwrap();
        prop_assert_eq!(answer.text(), reply.text.unwrap_or_default());
        let thoughts = answer.blocks.iter().find_map(|block| match block {
            MessageBlock::Thinking { text, .. } => Some(text.clone()),
            _ => None,
        });
        prop_assert_eq!(thoughts, reply.thinking);
        let calls = answer.blocks.iter().filter_map(|block| match block {
            MessageBlock::ToolUse { name, input, .. } => Some((name.clone(), input.clone())),
            _ => None,
        });
        let expected = reply.calls.into_iter().map(|call| (call.name, call.arguments));
        prop_assert!(calls.eq(expected));
    }
}

#[test]
fn what_is_not_known_is_kept_or_passed_over() {
    let bytes = stream(&[
        json!({ "type": "message_start", "message": { "model": "m", "usage": { "input_tokens": 3, "new_tokens": 9 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "redacted_thinking", "data": "abc" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "server_tool_use", "id": "s", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"q\":1}" } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "text", "text": "at once", "citations": [] } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "citations_delta", "citation": {} } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "thinking_delta", "thinking": "lost" } }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "tool_use", "id": "t", "name": "ls" } }),
        json!({ "type": "unheard_of", "index": 9 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "from_the_future" }, "usage": { "output_tokens": 4 } }),
        json!({ "type": "message_stop" }),
        json!({ "type": "error", "error": { "type": "api_error" } }),
    ]);
    let (answer, _) = decode(&[
        b": hello\n\n",
        &bytes,
        b"garbage after the end\n\ndata: no json\n\n",
    ]);
    let answer = answer.unwrap();
    assert_eq!(
        answer.blocks,
        [
            MessageBlock::Other {
                value: json!({ "type": "redacted_thinking", "data": "abc" })
            },
            MessageBlock::Other {
                value: json!({ "type": "server_tool_use", "id": "s", "input": { "q": 1 } })
            },
            MessageBlock::text("at once"),
            MessageBlock::ToolUse {
                id: "t".to_owned(),
                name: "ls".to_owned(),
                input: json!({})
            },
        ]
    );
    assert_eq!(answer.stop, StopKind::Other("from_the_future".to_owned()));
    assert_eq!((answer.usage.input, answer.usage.output), (3, 4));
}

#[test]
fn a_call_whose_arguments_are_not_json_keeps_them_as_text() {
    let bytes = stream(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "t", "name": "ls", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"path\": \"/a" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" } }),
        json!({ "type": "message_stop" }),
    ]);
    let answer = decode(&[&bytes]).0.unwrap();
    assert_eq!(answer.stop, StopKind::MaxTokens);
    assert!(
        matches!(&answer.blocks[0], MessageBlock::ToolUse { input, .. } if input == "{\"path\": \"/a")
    );
}

#[test]
fn arguments_that_nest_too_deep_for_a_journal_are_text() {
    for (depth, is_text) in [(60, false), (70, true)] {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let bytes = stream(&[
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "t", "name": "ls", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": deep } }),
            json!({ "type": "message_stop" }),
        ]);
        let answer = decode(&[&bytes]).0.unwrap();
        assert!(
            matches!(&answer.blocks[0], MessageBlock::ToolUse { input, .. } if input.is_string() == is_text)
        );
    }
}

#[test]
fn a_stream_that_breaks_the_rules_counts_as_cut() {
    let begin = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let grow = json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "x" } });
    for (bytes, part) in [
        (stream(&[begin.clone(), begin]), "part 0 began twice"),
        (stream(&[grow]), "part 1 goes on and never began"),
        (b"data: {\"type\": \n\n".to_vec(), "not JSON"),
        (b"".to_vec(), "ended before its end"),
    ] {
        let Err(ModelError::Provider(error)) = decode(&[&bytes]).0 else {
            panic!("{part}");
        };
        assert_eq!(error.failure, ModelFailure::CutStream);
        assert!(error.message.contains(part), "{error}");
    }
}
