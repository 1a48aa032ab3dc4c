//! The comparison of two requests, and the words for their difference.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::prefix;
use crate::request::{MessageBlock, ModelRequest, Role};
use crate::wire::ModelApi;

const SHOWN: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ComparedConversation {
    /// The interface by which an agent program asked; none for a request of Grove's own.
    api: Option<ModelApi>,
    /// The system text and the first message.
    told: [String; 2],
    /// The words and calls of the model in earlier turns.
    turns: Vec<ComparedTurn>,
    /// The answers to the model: the results of its calls, and words after the first message.
    results: Vec<LaterInput>,
}

/// The words and calls of a model in one answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ComparedTurn {
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<(String, Value)>,
}

impl ComparedTurn {
    pub(super) fn extend(&mut self, more: Self) {
        self.text.push_str(&more.text);
        self.calls.extend(more.calls);
    }
}

#[derive(Debug, Clone, PartialEq)]
struct LaterInput {
    /// The words for it in a difference: `the result of read`, `a later message`.
    what: String,
    content: String,
    is_error: bool,
}

impl ComparedConversation {
    /// Returns the conversation of a request with sorted keys and placeholders.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let mut conversation = Self {
            api: None,
            told: [request.system.clone(), String::new()],
            turns: Vec::new(),
            results: Vec::new(),
        };
        let mut names: Vec<(&str, &str)> = Vec::new();
        for (position, message) in request.messages.iter().enumerate() {
            if message.role == Role::Assistant {
                let mut turn = ComparedTurn::default();
                for block in &message.content {
                    match block {
                        MessageBlock::Text { text } => turn.text.push_str(text),
                        MessageBlock::ToolUse { id, name, input } => {
                            names.push((id, name));
                            turn.calls.push((name.clone(), input.clone()));
                        }
                        _ => {}
                    }
                }
                conversation.turns.push(turn);
                continue;
            }
            for block in &message.content {
                match block {
                    MessageBlock::Text { text } if position == 0 => {
                        conversation.told[1].push_str(text);
                    }
                    MessageBlock::Text { text } => conversation.results.push(LaterInput {
                        what: "a later message".to_owned(),
                        content: text.clone(),
                        is_error: false,
                    }),
                    MessageBlock::ToolResult {
                        id,
                        content,
                        is_error,
                    } => {
                        let name = names.iter().rfind(|(known, _)| known == id);
                        let name = name.map_or("an unknown call", |(_, name)| name);
                        conversation.results.push(LaterInput {
                            what: format!("the result of `{name}`"),
                            content: content.clone(),
                            is_error: *is_error,
                        });
                    }
                    _ => {}
                }
            }
        }
        conversation
    }

    /// Returns the conversation of a request that an agent program made.
    pub(super) fn passed_on(api: ModelApi, told: [String; 2], turns: Vec<ComparedTurn>) -> Self {
        Self {
            api: Some(api),
            told,
            turns,
            results: Vec::new(),
        }
    }

    /// Returns true if an answer to one is an answer to the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_alike = self.api == other.api;
        is_alike && self.told == other.told && self.turns == other.turns
    }

    /// Returns the amount that two conversations have in common: the more, the better a difference says what is wrong.
    pub(super) fn likeness(&self, other: &Self) -> (bool, usize, usize) {
        let told = self
            .told
            .iter()
            .zip(&other.told)
            .filter(|(a, b)| a == b)
            .count();
        let turns = self.turns.iter().zip(&other.turns);
        let is_alike = self.api == other.api;
        (is_alike, told, turns.take_while(|(a, b)| a == b).count())
    }

    pub(super) fn difference(&self, recorded: &Self) -> String {
        if self.api != recorded.api {
            return "no request of this interface was recorded".to_owned();
        }
        let names = ["the system text", "the first message"];
        for ((name, now), then) in names.iter().zip(&self.told).zip(&recorded.told) {
            if now != then {
                return beside(name, then, now);
            }
        }
        for (number, (now, then)) in self.turns.iter().zip(&recorded.turns).enumerate() {
            let turn = number + 1;
            if now.text != then.text {
                return beside(
                    &format!("what the model said in turn {turn}"),
                    &then.text,
                    &now.text,
                );
            }
            if now.calls != then.calls {
                let what = format!("what the model called in turn {turn}");
                return beside(&what, &calls(&then.calls), &calls(&now.calls));
            }
        }
        let (now, then) = (self.turns.len(), recorded.turns.len());
        format!("it comes after {now} turns of the model, and the recorded one after {then}")
    }

    pub(super) fn differing_results(&self, recorded: &Self) -> Vec<String> {
        let mut differences: Vec<String> = self
            .results
            .iter()
            .zip(&recorded.results)
            .filter(|(now, then)| now != then)
            .map(|(now, then)| {
                if now.is_error == then.is_error {
                    beside(&now.what, &then.content, &now.content)
                } else {
                    beside(&now.what, &outcome(then), &outcome(now))
                }
            })
            .collect();
        let (now, then) = (self.results.len(), recorded.results.len());
        if now != then {
            differences.push(format!(
                "the model was answered {now} times, and in the recording {then} times"
            ));
        }
        differences
    }
}

fn outcome(result: &LaterInput) -> String {
    let word = if result.is_error { "failed" } else { "done" };
    format!("{word}: {}", result.content)
}

fn calls(calls: &[(String, Value)]) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|(name, input)| format!("{name} {input}"))
        .collect();
    calls.join("; ")
}

/// Returns both texts around the place where they begin to differ.
fn beside(what: &str, recorded: &str, now: &str) -> String {
    let same = recorded
        .bytes()
        .zip(now.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let same = recorded
        .floor_char_boundary(same)
        .min(now.floor_char_boundary(same));
    // A few characters before the difference show where it is.
    let from = recorded.floor_char_boundary(same.saturating_sub(SHOWN / 3));
    let part = |text: &str| {
        let start = if from > 0 { "…" } else { "" };
        let shown = prefix(&text[from..], SHOWN);
        let end = if from + shown.len() < text.len() {
            "…"
        } else {
            ""
        };
        format!("{start}{shown}{end}")
    };
    format!(
        "{what} differs: recorded {:?}, now {:?}",
        part(recorded),
        part(now)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;
    use serde_json::json;

    fn call(name: &str, input: Value) -> MessageBlock {
        MessageBlock::ToolUse {
            id: "t1".to_owned(),
            name: name.to_owned(),
            input,
        }
    }

    fn result(content: &str, is_error: bool) -> Message {
        let block = MessageBlock::ToolResult {
            id: "t1".to_owned(),
            content: content.to_owned(),
            is_error,
        };
        Message {
            role: Role::User,
            content: vec![block],
        }
    }

    fn base() -> ModelRequest {
        ModelRequest {
            model: "m".to_owned(),
            system: "You are a child.".to_owned(),
            messages: vec![
                Message::user("Count the files."),
                Message::assistant(vec![
                    MessageBlock::Thinking {
                        text: "hm".to_owned(),
                        signature: None,
                    },
                    MessageBlock::text("I look."),
                    call("ls", json!({"path": "."})),
                ]),
                result("a\nb", false),
            ],
            max_output_tokens: 100,
            ..ModelRequest::default()
        }
    }

    /// The request with a change, whether it is the same, and what is said about it.
    type Case = (&'static str, fn(&mut ModelRequest), bool, &'static str);

    #[test]
    fn what_is_compared_and_what_is_not() {
        let table: [Case; 12] = [
            ("nothing", |_| {}, true, ""),
            ("another model", |it| it.model = "n".to_owned(), true, ""),
            ("another limit", |it| it.max_output_tokens = 1, true, ""),
            (
                "no thoughts",
                |it| drop(it.messages[1].content.remove(0)),
                true,
                "",
            ),
            (
                "another result",
                |it| it.messages[2] = result("a\nc", false),
                true,
                "the result of `ls` differs: recorded \"a\\nb\", now \"a\\nc\"",
            ),
            (
                "a failure",
                |it| it.messages[2] = result("a\nb", true),
                true,
                "the result of `ls` differs: recorded \"done: a\\nb\", now \"failed: a\\nb\"",
            ),
            (
                "a message more",
                |it| it.messages[2].content.push(MessageBlock::text("Hurry.")),
                true,
                "the model was answered 2 times, and in the recording 1 times",
            ),
            (
                "another system text",
                |it| it.system = "You are a parent.".to_owned(),
                false,
                "the system text differs: recorded \"You are a child.\", now \"You are a parent.\"",
            ),
            (
                "another task",
                |it| it.messages[0] = Message::user("Count."),
                false,
                "the first message differs: recorded \"Count the files.\", now \"Count.\"",
            ),
            (
                "other words",
                |it| it.messages[1].content[1] = MessageBlock::text("I see."),
                false,
                "what the model said in turn 1 differs",
            ),
            (
                "other arguments",
                |it| it.messages[1].content[2] = call("ls", json!({"path": "/"})),
                false,
                "what the model called in turn 1 differs",
            ),
            (
                "an earlier moment",
                |it| it.messages.truncate(1),
                false,
                "it comes after 0 turns of the model, and the recorded one after 1",
            ),
        ];
        let recorded = ComparedConversation::of(&base());
        for (what, change, is_same, said) in table {
            let mut request = base();
            change(&mut request);
            let now = ComparedConversation::of(&request);
            assert_eq!(now.is_same(&recorded), is_same, "{what}");
            let differences = if is_same {
                now.differing_results(&recorded).join("; ")
            } else {
                now.difference(&recorded)
            };
            assert!(differences.starts_with(said), "{what}: {differences}");
            assert_eq!(
                differences.is_empty(),
                said.is_empty(),
                "{what}: {differences}"
            );
        }
    }

    #[test]
    fn a_long_difference_is_shown_where_it_begins() {
        let (then, now) = (
            "ü".repeat(500) + "a",
            "ü".repeat(500) + "b" + &"x".repeat(500),
        );
        let said = beside("it", &then, &now);
        assert!(
            said.len() < 300 && said.contains("üa\"") && said.contains("üb"),
            "{said}"
        );
    }
}
