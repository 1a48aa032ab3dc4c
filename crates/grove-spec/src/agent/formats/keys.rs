//! Keys of other hosts, translated into Grove's own.

use super::AgentFormat;
use super::restriction::{self, DeniedTools, tool_items};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::skill::fields::parse_boolean;
use crate::yaml::{self, YamlEntry, YamlNode, YamlValue, key};

#[derive(Default)]
pub(super) struct TranslatedKeys {
    pub(super) native: Vec<YamlEntry>,
    /// Keys with the name of one of Grove's and another meaning; they are kept as written.
    pub(super) kept: Vec<YamlEntry>,
    /// Set if the file switches its agent off.
    pub(super) is_disabled: bool,
}

const SAME: [(AgentFormat, &str, &str); 10] = [
    (AgentFormat::Claude, "effort", "thinking"),
    (AgentFormat::Claude, "background", "async"),
    (AgentFormat::Claude, "maxTurns", TURNS),
    (AgentFormat::Copilot, "reasoning-effort", "thinking"),
    (AgentFormat::Codex, "model_reasoning_effort", "thinking"),
    (AgentFormat::Opencode, "reasoningEffort", "thinking"),
    (AgentFormat::Opencode, "steps", TURNS),
    (AgentFormat::Opencode, "maxSteps", TURNS),
    (AgentFormat::Gemini, "timeout_mins", MINUTES),
    (AgentFormat::Gemini, "max_turns", TURNS),
];
/// The keys that limit an agent do so in files of every format, if the file does not have Grove's own key.
const LIMITS: [&str; 4] = ["maxTurns", "maxSteps", "max_turns", "timeout_mins"];
/// The key for turns: a number in the host's file, a mapping in Grove's.
const TURNS: &str = "turnBudget";
/// The key for time, which the host's file gives in minutes.
const MINUTES: &str = "maxExecutionTimeMs";

/// Translates the keys of a host's file into Grove's.
pub(super) fn translate(
    entries: Vec<YamlEntry>,
    format: AgentFormat,
    diagnostics: &mut Vec<Diagnostic>,
) -> TranslatedKeys {
    // The old name of a key counts only if the new one is missing.
    let is_opencode = format.of_files() == AgentFormat::Opencode;
    let has_steps = is_opencode && entries.iter().any(|entry| entry.key == "steps");
    let own: Vec<&str> = [TURNS, MINUTES]
        .into_iter()
        .filter(|ours| entries.iter().any(|entry| entry.key == *ours))
        .collect();
    let mut translated = TranslatedKeys::default();
    for mut entry in entries {
        let mut rows = SAME.iter().filter(|(_, theirs, _)| entry.key == *theirs);
        let same = rows.find(|(of, theirs, ours)| {
            if LIMITS.contains(theirs) {
                !(own.contains(ours) || has_steps && *theirs == "maxSteps")
            } else {
                *of == format.of_files()
            }
        });
        if let Some((_, theirs, ours)) = same {
            entry.key = key(ours);
            entry.value = match *ours {
                MINUTES => in_milliseconds(entry.value, theirs, diagnostics),
                TURNS => as_turns(entry.value, theirs, diagnostics),
                _ => entry.value,
            };
            translated.native.push(entry);
            continue;
        }
        translated.special(entry, format, diagnostics);
    }
    translated
}

impl TranslatedKeys {
    fn special(
        &mut self,
        entry: YamlEntry,
        format: AgentFormat,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        match (format, &*entry.key) {
            // `inherit` means the caller's model, as does a missing key; in Grove's own format it may be the name of a model.
            (AgentFormat::Native, "model") => self.native.push(entry),
            (_, "model") if entry.value.as_text() == Some("inherit") => {}
            (AgentFormat::Copilot, "model") => self.models(entry),
            (AgentFormat::Copilot | AgentFormat::Claude | AgentFormat::Gemini, "tools")
                if tool_items(&entry.value, format).is_some_and(|items| items == ["*"]) => {}
            (AgentFormat::Claude, "tools") if !entry.value.is_null() => {
                match tool_items(&entry.value, format) {
                    Some(items) => {
                        let items = items.into_iter();
                        let items = items.map(|item| YamlNode::text(item, entry.value.position));
                        self.list(&entry, items);
                    }
                    // The reader of the fields reports the fault.
                    None => self.native.push(entry),
                }
            }
            (AgentFormat::Gemini, "kind") => match entry.value.as_text() {
                Some("local") | None => {}
                Some(_) => {
                    let message = "the agent is not this file but a program elsewhere, which Grove does not call";
                    let finding = Diagnostic::new(Code::AgentElsewhere, message);
                    diagnostics.push(finding.at(entry.position));
                }
            },
            (AgentFormat::Opencode | AgentFormat::OpencodeJson, "tools") => {
                self.tool_switches(entry, format);
            }
            // These are tables of Codex's own settings.
            (AgentFormat::Codex | AgentFormat::CodexConfig, "skills" | "tools")
                if entry.value.as_map().is_some() =>
            {
                self.kept.push(entry);
            }
            (
                AgentFormat::Native | AgentFormat::Opencode | AgentFormat::OpencodeJson,
                "disable" | "disabled",
            ) => {
                let switch = entry.value.as_text().map(parse_boolean);
                self.is_disabled = !entry.value.is_null() && switch != Some(Some(false));
            }
            _ => self.native.push(entry),
        }
    }

    /// Translates a list of models, of which the first one that is available is used.
    fn models(&mut self, entry: YamlEntry) {
        let YamlValue::List(models) = entry.value.value else {
            self.native.push(entry);
            return;
        };
        let mut models = models.into_iter();
        if let Some(first) = models.next() {
            self.native.push(YamlEntry {
                key: key("model"),
                position: entry.position,
                value: first,
            });
        }
        let rest: Vec<YamlNode> = models.collect();
        if !rest.is_empty() {
            self.native.push(YamlEntry {
                key: key("fallbackModels"),
                position: entry.position,
                value: YamlNode::new(YamlValue::List(rest), entry.value.position),
            });
        }
    }

    /// Translates `tools` as switches by name: a list of allowed tools only if all other tools are switched off.
    fn tool_switches(&mut self, entry: YamlEntry, format: AgentFormat) {
        let Some(switches) = entry.value.as_map() else {
            self.native.push(entry);
            return;
        };
        let found = restriction::of(&entry, format).filter(|it| it.is_readable);
        match found.map(|it| it.denied) {
            Some(DeniedTools::Others(allowed)) => {
                let on = switches
                    .iter()
                    .filter(|switch| allowed.iter().any(|name| switch.key == *name));
                let names = on.map(|switch| YamlNode::text(&*switch.key, switch.position));
                self.list(&entry, names);
            }
            _ => self.kept.push(entry),
        }
    }

    fn list(&mut self, entry: &YamlEntry, items: impl Iterator<Item = YamlNode>) {
        self.native.push(YamlEntry {
            key: entry.key.clone(),
            position: entry.position,
            value: YamlNode::new(YamlValue::List(items.collect()), entry.value.position),
        });
    }
}

/// A number of turns as the mapping that Grove uses.
fn as_turns(mut value: YamlNode, key: &str, diagnostics: &mut Vec<Diagnostic>) -> YamlNode {
    if value.is_null() {
        return value;
    }
    let position = value.position;
    if whole_number(&value).is_none() {
        let message = format!("`{key}` is not a whole number from 1");
        diagnostics.push(Diagnostic::new(Code::AgentContract, message).at(position));
        value = YamlNode::plain("1", position);
    }
    let turns = YamlEntry {
        key: yaml::key("maxTurns"),
        position,
        value,
    };
    YamlNode::new(YamlValue::Map(vec![turns]), position)
}

/// A whole number above zero.
fn whole_number(value: &YamlNode) -> Option<u64> {
    let number = value.as_text()?.trim().parse::<u64>().ok();
    number.filter(|number| *number > 0)
}

/// A number of minutes as milliseconds; a value that is no such number becomes one millisecond, the least.
fn in_milliseconds(value: YamlNode, key: &str, diagnostics: &mut Vec<Diagnostic>) -> YamlNode {
    if value.is_null() {
        return value;
    }
    let minutes = whole_number(&value);
    if let Some(milliseconds) = minutes.and_then(|minutes| minutes.checked_mul(60_000)) {
        return YamlNode::plain(milliseconds.to_string(), value.position);
    }
    let message = format!("`{key}` is not a whole number of minutes from 1");
    diagnostics.push(Diagnostic::new(Code::AgentContract, message).at(value.position));
    YamlNode::plain("1", value.position)
}
