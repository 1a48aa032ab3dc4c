//! Any bytes are a stream of a model's answer: reading them ends, quickly and without a panic, no bound is passed, and
//! however they are cut into portions, the events and the answer are the same.
//!
//! The first byte says in which format it is read and how large the portions are.

use grove_model::{AnswerDecoder, AnswerLimits, ModelAnswer, ModelApi, ModelError, ModelEvent};

/// Small, so that the bounds are reached.
const LIMITS: AnswerLimits = AnswerLimits {
    answer_bytes: 2000,
    stream_bytes: 15_000,
    event_bytes: 4000,
    tool_input_bytes: 500,
    blocks: 8,
};

fn decode(
    api: ModelApi,
    bytes: &[u8],
    portion: usize,
) -> (Result<ModelAnswer, ModelError>, Vec<ModelEvent>) {
    let mut decoder = AnswerDecoder::new(api, LIMITS);
    let mut events = Vec::new();
    let mut on_event = |event| events.push(event);
    let mut portions = bytes.chunks(portion);
    let pushed = portions.try_for_each(|bytes| decoder.push(bytes, &mut on_event));
    let answer = pushed.and_then(|()| decoder.finish(0));
    (answer, events)
}

pub(crate) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    let api = [
        ModelApi::Anthropic,
        ModelApi::OpenaiResponses,
        ModelApi::OpenaiChat,
    ][usize::from(size) % 3];
    let (answer, events) = decode(api, bytes, bytes.len().max(1));
    let (again, told) = decode(api, bytes, usize::from(size) + 1);
    assert_eq!(again, answer);
    assert_eq!(told, events);
    if let Ok(answer) = answer {
        assert!(answer.blocks.len() <= LIMITS.blocks);
        assert!(answer.text().len() <= LIMITS.answer_bytes);
        // It can be read from a journal, wherever in it it stands.
        let written = format!(
            "{}{}{}",
            "[".repeat(40),
            serde_json::to_string(&answer).unwrap(),
            "]".repeat(40)
        );
        assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok());
    }
}
