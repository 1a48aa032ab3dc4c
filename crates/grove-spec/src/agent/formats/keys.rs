//! Keys of other hosts in the words of Grove's own.

use super::{Format, restriction};
use crate::agent::fields::split_items;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::yaml::{Entry, Node, Value, key};

/// Keys in Grove's words, and what does not fit into keys.
#[derive(Default)]
pub(super) struct Translated {
    pub(super) native: Vec<Entry>,
    /// Keys that were said and are kept as written.
    pub(super) kept: Vec<Entry>,
    /// Tools that the agent must not have.
    pub(super) denied: Option<Vec<String>>,
    /// Whether the file switches its agent off.
    pub(super) is_disabled: bool,
}

/// Keys that mean what a key of Grove's own means.
const SAME: [(Format, &str, &str); 7] = [
    (Format::Claude, "effort", "thinking"),
    (Format::Claude, "background", "async"),
    (Format::Copilot, "reasoning-effort", "thinking"),
    (Format::Codex, "model_reasoning_effort", "thinking"),
    (Format::Opencode, "reasoningEffort", "thinking"),
    (Format::OpencodeJson, "reasoningEffort", "thinking"),
    (Format::Gemini, "timeout_mins", "maxExecutionTimeMs"),
];

/// Puts the keys of a host's file into Grove's words.
pub(super) fn translate(
    entries: Vec<Entry>,
    format: Format,
    diagnostics: &mut Vec<Diagnostic>,
) -> Translated {
    let has_tools = entries
        .iter()
        .any(|entry| entry.key == "tools" && !entry.value.is_null());
    let mut translated = Translated::default();
    for mut entry in entries {
        let same = SAME
            .iter()
            .find(|(of, theirs, _)| *of == format && entry.key == *theirs);
        if let Some((_, theirs, ours)) = same {
            entry.key = key(ours);
            if *ours == "maxExecutionTimeMs" {
                entry.value = in_milliseconds(entry.value, theirs, diagnostics);
            }
            translated.native.push(entry);
            continue;
        }
        translated.special(entry, format, has_tools, diagnostics);
    }
    translated
}

impl Translated {
    fn special(
        &mut self,
        entry: Entry,
        format: Format,
        has_tools: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        match (format, &*entry.key) {
            // The model of whoever calls it is what an agent without the key has.
            (_, "model") if entry.value.as_text() == Some("inherit") => {}
            (Format::Copilot, "model") => self.models(entry),
            (Format::Copilot | Format::Claude | Format::Gemini, "tools")
                if means_all(&entry.value) => {}
            (Format::Claude, "disallowedTools") => {
                if has_tools {
                    self.denied = Some(items(&entry.value));
                } else {
                    diagnostics.push(restriction(&entry, format));
                    self.kept.push(entry);
                }
            }
            (Format::Gemini, "kind") => match entry.value.as_text() {
                Some("local") | None => {}
                Some(_) => {
                    let message = "the agent is not this file but a program elsewhere, which Grove does not call";
                    let finding = Diagnostic::new(Code::AgentElsewhere, message);
                    diagnostics.push(finding.at(entry.position));
                }
            },
            (Format::Opencode | Format::OpencodeJson, "tools") => {
                self.tool_switches(entry, format, diagnostics);
            }
            (Format::Opencode | Format::OpencodeJson, "permission")
            | (Format::Codex, "sandbox_mode") => {
                diagnostics.push(restriction(&entry, format));
                self.kept.push(entry);
            }
            (Format::Opencode | Format::OpencodeJson, "disable" | "disabled") => {
                self.is_disabled = entry.value.as_text() == Some("true");
            }
            _ => self.native.push(entry),
        }
    }

    /// Several models: the first that is there is used.
    fn models(&mut self, entry: Entry) {
        let Value::List(models) = entry.value.value else {
            self.native.push(entry);
            return;
        };
        let mut models = models.into_iter();
        if let Some(first) = models.next() {
            self.native.push(Entry {
                key: key("model"),
                position: entry.position,
                value: first,
            });
        }
        let rest: Vec<Node> = models.collect();
        if !rest.is_empty() {
            self.native.push(Entry {
                key: key("fallbackModels"),
                position: entry.position,
                value: Node::new(Value::List(rest), entry.value.position),
            });
        }
    }

    /// `tools` as switches by name: a list of what is allowed only where everything else is switched off.
    fn tool_switches(&mut self, entry: Entry, format: Format, diagnostics: &mut Vec<Diagnostic>) {
        let Some(switches) = entry.value.as_map() else {
            self.native.push(entry);
            return;
        };
        let is = |switch: &Entry, word: &str| switch.value.as_text() == Some(word);
        let rest_is_off = switches
            .iter()
            .any(|switch| switch.key == "*" && is(switch, "false"));
        if rest_is_off {
            let on = switches.iter().filter(|switch| is(switch, "true"));
            let names = on.map(|switch| Node::text(&*switch.key, switch.position));
            let list = Value::List(names.collect());
            self.native.push(Entry {
                key: key("tools"),
                position: entry.position,
                value: Node::new(list, entry.value.position),
            });
            return;
        }
        if switches.iter().any(|switch| is(switch, "false")) {
            diagnostics.push(restriction(&entry, format));
            self.kept.push(entry);
        }
    }
}

/// Whether a list of tools says that the agent has all of them.
fn means_all(value: &Node) -> bool {
    items(value) == ["*"]
}

fn items(value: &Node) -> Vec<String> {
    match &value.value {
        Value::List(items) => items
            .iter()
            .filter_map(Node::as_text)
            .map(str::to_owned)
            .collect(),
        _ => split_items(value.as_text().unwrap_or_default()),
    }
}

/// A number of minutes as milliseconds; what is no such number is left to be reported by who reads it.
fn in_milliseconds(value: Node, key: &str, diagnostics: &mut Vec<Diagnostic>) -> Node {
    if value.is_null() {
        return value;
    }
    let minutes = value
        .as_text()
        .and_then(|text| text.trim().parse::<u64>().ok());
    let whole = minutes.filter(|minutes| *minutes > 0);
    if let Some(milliseconds) = whole.and_then(|minutes| minutes.checked_mul(60_000)) {
        return Node::plain(milliseconds.to_string(), value.position);
    }
    let message = format!("`{key}` is not a whole number of minutes from 1");
    diagnostics.push(Diagnostic::new(Code::FieldType, message).at(value.position));
    Node::plain("", value.position)
}
