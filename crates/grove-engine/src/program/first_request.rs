//! Checks how a program passes on what it is told: every part has to be whole, once and in order in its first request. The
//! text that the program adds of its own is known by its digest.

use grove_plan::AddedText;
use grove_spec::Digest;
use serde_json::Value;

/// Returns the text that a request in any of the formats has beside what was told.
pub(super) fn added(request: &Value, told: &[&str]) -> AddedText {
    let mut texts = Vec::new();
    // The system text stands before the conversation, whatever the order of keys.
    for key in ["system", "instructions", "messages", "input"] {
        gather(&request[key], &mut texts);
    }
    let text = texts.join("\n");
    let mut not_whole = Vec::new();
    let (mut rest, mut at) = (text.clone(), 0);
    for part in told
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
    {
        let place = text.find(part);
        let is_once = text.matches(part).count() == 1;
        match place.filter(|place| is_once && *place >= at) {
            Some(place) => at = place + part.len(),
            None => not_whole.push(first_line(part)),
        }
        rest = rest.replacen(part, "", 1);
    }
    AddedText {
        digest: Digest::of(rest.as_bytes()),
        bytes: rest.len(),
        not_whole,
    }
}

fn first_line(part: &str) -> String {
    let line = part.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

/// Collects all texts of a value, in order; names of roles and kinds are none.
fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(fields) => {
            for key in ["content", "text"] {
                if let Some(value) = fields.get(key) {
                    gather(value, texts);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_have_to_be_whole_once_and_in_order() {
        let anthropic = json!({
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "reminder" }, { "type": "text", "text": "task" }] }],
            "system": [{ "type": "text", "text": "maker" }, { "type": "text", "text": "You work.\n\nBoundary." }],
        });
        let responses = json!({ "instructions": "You work.\n\nBoundary.",
            "input": [{ "role": "developer", "content": "maker" }, { "role": "user", "content": [{ "text": "task" }] }] });
        let chat = json!({ "messages": [{ "role": "system", "content": "maker You work.\n\nBoundary." }, { "role": "user", "content": "task" }] });
        for request in [&anthropic, &responses, &chat] {
            let good = added(request, &["You work.\n\nBoundary.", "task"]);
            assert_eq!(good.not_whole, Vec::<String>::new(), "{request}");
            let same = added(request, &["You work.\n\nBoundary.", "task\n"]);
            assert_eq!(good, same);
            for (told, missing) in [
                (["Boundary.", "other"], "other"),
                (["task", "You work."], "You work."),
            ] {
                assert_eq!(added(request, &told).not_whole, [missing], "{request}");
            }
        }
        let twice = json!({ "messages": [{ "content": "task" }, { "content": "task" }] });
        assert_eq!(added(&twice, &["task"]).not_whole, ["task"]);
        // Two programs that add different texts have different digests.
        let other = json!({ "messages": [{ "content": "more" }, { "content": "task" }] });
        let none = json!({ "messages": [{ "content": "task" }] });
        assert_ne!(
            added(&other, &["task"]).digest,
            added(&none, &["task"]).digest
        );
    }
}
