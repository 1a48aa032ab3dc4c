//! Agent files written anew: the keys in a fixed order, values without quotes where that is safe.
//!
//! Only files that Grove makes are printed; a file that a person wrote is changed by [`super::edit`], which leaves the
//! rest as it is. Law: a printed agent is read back as the same agent.

use super::fields::FieldRow;
use super::{AgentFile, split_items};
use crate::diagnostic::Position;
use crate::skill::print::map;
use crate::yaml::{YamlEntry, YamlNode, YamlValue, key};

/// The position of made entries, which are in no file.
const NOWHERE: Position = Position::new(1, 1);

/// A file of these keys and this body; `mark` is a comment above the keys.
pub fn markdown(entries: &[YamlEntry], mark: Option<&str>, body: &str) -> String {
    let mut out = String::from("---\n");
    if let Some(mark) = mark {
        out.push_str(mark);
        out.push('\n');
    }
    map(&mut out, entries, 0);
    out.push_str("---\n");
    if !body.is_empty() {
        out.push('\n');
        out.push_str(body);
    }
    out
}

/// A key with a text value.
pub fn text(name: &str, value: &str) -> YamlEntry {
    entry(name, YamlNode::text(value, NOWHERE))
}

/// A key with a word that is not text: a number, `true` or `false`.
pub fn word(name: &str, value: &impl ToString) -> YamlEntry {
    entry(name, YamlNode::plain(value.to_string(), NOWHERE))
}

/// A key with a list as its value.
pub fn list(name: &str, items: &[String]) -> YamlEntry {
    let items = items
        .iter()
        .map(|item| YamlNode::text(item, NOWHERE))
        .collect();
    entry(name, YamlNode::new(YamlValue::List(items), NOWHERE))
}

/// A key with a list as one text with commas, for hosts that read no other form; a list where the text would be read
/// back as other items.
pub fn commas(name: &str, items: &[String]) -> YamlEntry {
    let joined = items.join(", ");
    if items.is_empty() || split_items(&joined) != items {
        return list(name, items);
    }
    text(name, &joined)
}

/// A key with switches by name.
pub fn switches(name: &str, items: &[(String, bool)]) -> YamlEntry {
    let entries = items.iter().map(|(name, is_on)| word(name, is_on));
    entry(
        name,
        YamlNode::new(YamlValue::Map(entries.collect()), NOWHERE),
    )
}

fn entry(name: &str, value: YamlNode) -> YamlEntry {
    YamlEntry {
        key: key(name),
        position: NOWHERE,
        value,
    }
}

/// The keys of an agent that have a value, in the order in which they are written.
pub fn entries(agent: &AgentFile) -> Vec<YamlEntry> {
    let written = FieldRow::in_files().filter_map(|row| {
        let value = row.written(agent)?;
        Some(match strings(&value) {
            Some(items) => commas(row.key, &items),
            None => entry(row.key, node(&value)),
        })
    });
    written.chain(agent.unknown.iter().cloned()).collect()
}

fn strings(value: &serde_json::Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.as_str().map(str::to_owned)).collect()
}

fn node(value: &serde_json::Value) -> YamlNode {
    use serde_json::Value as Json;
    match value {
        Json::String(text) => YamlNode::text(text, NOWHERE),
        Json::Array(items) => {
            YamlNode::new(YamlValue::List(items.iter().map(node).collect()), NOWHERE)
        }
        Json::Object(members) => {
            let entries = members.iter();
            let entries = entries.map(|(key, value)| entry(key, node(value)));
            YamlNode::new(YamlValue::Map(entries.collect()), NOWHERE)
        }
        word => YamlNode::plain(word.to_string(), NOWHERE),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::{OutputFile, PromptMode, SkillInjection, parse, prompt_text};

    fn piece() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "a", "Review", ": ", "#", " # ", "\"", "'", "ü", "-", "yes", "null", "~", "{", "]",
            "mcp:x", "/", "(", ")", "\\", ", ",
        ]);
        prop::collection::vec(pieces, 1..6).prop_map(|pieces| pieces.concat().trim().to_owned())
    }

    fn text_of() -> impl Strategy<Value = Option<String>> {
        prop::option::of(piece().prop_filter("text", |text| !text.is_empty()))
    }

    fn list_of() -> impl Strategy<Value = Vec<String>> {
        let item = piece().prop_filter("an item", |text| !text.is_empty());
        prop::collection::btree_set(item, 0..4).prop_map(|items| items.into_iter().collect())
    }

    prop_compose! {
        fn agents()(
            description in text_of(),
            tools in prop::option::of(list_of()),
            extensions in prop::option::of(list_of()),
            model in text_of(),
            skills in list_of(),
            reads in list_of(),
            is_light in any::<bool>(),
            is_append in any::<bool>(),
            inherits in any::<bool>(),
            depth in prop::option::of(0_u64..9),
            guard in prop::option::of(any::<bool>()),
            output in prop::option::of(prop_oneof![
                Just(OutputFile::None),
                Just(OutputFile::File("report: x.md".to_owned())),
            ]),
        ) -> AgentFile {
            AgentFile {
                name: Some("reviewer".to_owned()),
                package: Some("code-analysis".to_owned()),
                description,
                tools,
                extensions,
                model,
                // `false` stands for an empty list.
                skills: if skills == ["false"] { Vec::new() } else { skills },
                skill_injection: if is_light { SkillInjection::Light } else { SkillInjection::Full },
                system_prompt_mode: if is_append { PromptMode::Append } else { PromptMode::Replace },
                inherit_skills: inherits,
                default_reads: reads,
                max_subagent_depth: depth,
                completion_guard: guard,
                output,
                ..AgentFile::default()
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_as_what_was_printed(agent in agents(), body in "[a-z#\\-\n ]{0,40}") {
            let body = prompt_text(&body);
            let file = markdown(&entries(&agent), Some("# a mark"), &body);
            let parsed = parse(&file);
            prop_assert_eq!(&parsed.agent, &agent, "{}", file);
            prop_assert_eq!(&prompt_text(parsed.body(&file).unwrap()), &body, "{}", file);
            // Printing a parsed agent changes nothing.
            let again = markdown(&entries(&parsed.agent), Some("# a mark"), &body);
            prop_assert_eq!(again, file);
        }
    }

    #[test]
    fn every_key_is_printed() {
        let text = "---\nname: a\npackage: p\ndescription: d\ntools: read, bash\nmodel: m\nfallbackModels: x, y\n\
            thinking: high\nsystemPromptMode: append\ninheritProjectContext: true\ninheritSkills: true\n\
            skills: s\nskillInjection: light\nskillPath: q\nextensions: []\ndefaultContext: fork\n\
            output: o.md\noutputMode: file-only\ndefaultReads: r.md\ndefaultProgress: true\n\
            interactive: true\nmaxSubagentDepth: 1\ncompletionGuard: false\nmaxExecutionTimeMs: 2\n\
            timeoutMs: 3\nmaxTokens: 4\nturnBudget:\n  maxTurns: 5\ntoolBudget:\n  hard: 6\nacceptance: checked\n\
            acceptanceRole: writer\nasync: true\naliases: b\nown-key: kept\n---\n\nBody.\n";
        let parsed = parse(text);
        assert_eq!(parsed.diagnostics, []);
        assert_eq!(markdown(&entries(&parsed.agent), None, "Body.\n"), text);
    }
}
