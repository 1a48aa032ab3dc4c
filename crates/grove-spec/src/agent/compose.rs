//! New files of agents and skills, and several changes to one file at once, as a person or a command asks for them.
//!
//! Every change goes through [`super::edit`], so that only the lines of the changed fields change. The result is read
//! before it is returned: a value that its field does not take is refused, and then nothing is changed.

use std::collections::BTreeMap;

use super::edit::{self, EditRefusal, FieldValue};
use super::fields::FieldRow;
use super::{SkillInjection, parse, prompt_text, split_items};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::{fence, skill};

/// One change that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEdit {
    /// Set a field to this value, in words: lists have commas.
    Set(String, String),
    /// Remove the field with this key.
    Unset(String),
    /// Replace the text below the frontmatter.
    Body(String),
}

/// The reason why nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposeRefusal {
    /// The field that could not be changed; `body` for the text.
    pub field: String,
    /// The fault, without a full stop.
    pub message: String,
    /// Advice on a value to write instead, where there is any.
    pub help: Option<String>,
}

/// The file of a new agent.
pub fn create(
    name: &str,
    package: Option<&str>,
    asks: &[FileEdit],
) -> Result<String, ComposeRefusal> {
    let mut text = NEW.to_owned();
    for (key, value) in [("name", Some(name)), ("package", package)] {
        if let Some(value) = value {
            text = set(&text, key, &FieldValue::text(value))?;
        }
    }
    AGENT.require_name(NEW, &text)?;
    change(&text, asks)
}

/// An agent's file with the changes asked for; the same text if it is so already.
pub fn change(text: &str, asks: &[FileEdit]) -> Result<String, ComposeRefusal> {
    changed(text, asks, &AGENT)
}

/// The file of a new skill.
pub fn create_skill(name: &str, asks: &[FileEdit]) -> Result<String, ComposeRefusal> {
    let text = set(NEW, "name", &FieldValue::text(name))?;
    SKILL.require_name(NEW, &text)?;
    change_skill(&text, asks)
}

/// A skill's file with the changes asked for; the same text if it is so already.
pub fn change_skill(text: &str, asks: &[FileEdit]) -> Result<String, ComposeRefusal> {
    changed(text, asks, &SKILL)
}

/// A skill's file under another name. A skill that takes its name from its folder gets no name of its own.
pub fn rename_skill(text: &str, name: &str) -> Result<String, ComposeRefusal> {
    if !has_key(text, "name") {
        return Ok(text.to_owned());
    }
    let changed = set(text, "name", &FieldValue::text(name))?;
    SKILL.require_name(text, &changed)?;
    Ok(changed)
}

/// The beginning of every new file: frontmatter without keys.
const NEW: &str = "---\n---\n";

/// The functions that differ between the files of agents and of skills.
struct FieldFunctions {
    findings: fn(&str) -> Vec<Diagnostic>,
    with_field: fn(&str, &str, &str) -> Result<String, ComposeRefusal>,
    without_field: fn(&str, &str) -> Result<String, ComposeRefusal>,
}

const AGENT: FieldFunctions = FieldFunctions {
    findings: |text| parse(text).diagnostics,
    with_field,
    without_field,
};

const SKILL: FieldFunctions = FieldFunctions {
    findings: |text| skill::parse(text).diagnostics,
    with_field: |text, key, value| match (key, value.trim()) {
        ("name", _) => Err(refusal(key, "a skill's name is changed by renaming it")),
        (_, "") => (SKILL.without_field)(text, key),
        (_, value) => set(text, key, &FieldValue::text(value)),
    },
    without_field: |text, key| match key {
        "name" | "description" => Err(refusal(key, "a skill cannot be without it")),
        _ => remove(text, key),
    },
};

impl FieldFunctions {
    fn require_name(&self, before: &str, after: &str) -> Result<(), ComposeRefusal> {
        self.require_no_worse(&self.count(before), after, "name")
    }

    fn require_no_worse(
        &self,
        before: &Counts,
        after: &str,
        field: &str,
    ) -> Result<(), ComposeRefusal> {
        let n_before = |message: &str| before.get(message).map_or(0, |(count, _)| *count);
        let mut after = self.count(after).into_iter();
        // A new file has no description until one is set.
        let worse = after.find(|(message, (count, _))| {
            message != "no description" && *count > n_before(message)
        });
        worse.map_or(Ok(()), |(message, (_, help))| {
            let refusal = refusal(field, message);
            Err(ComposeRefusal { help, ..refusal })
        })
    }

    fn count(&self, text: &str) -> Counts {
        counted((self.findings)(text))
    }
}

fn changed(text: &str, asks: &[FileEdit], kind: &FieldFunctions) -> Result<String, ComposeRefusal> {
    let before = kind.count(text);
    let mut changed = text.to_owned();
    for ask in asks {
        changed = match ask {
            FileEdit::Set(key, value) => (kind.with_field)(&changed, key, value)?,
            FileEdit::Unset(key) => (kind.without_field)(&changed, key)?,
            FileEdit::Body(body) => with_body(&changed, body)?,
        };
        let field = match ask {
            FileEdit::Set(key, _) | FileEdit::Unset(key) => key.as_str(),
            FileEdit::Body(_) => "body",
        };
        kind.require_no_worse(&before, &changed, field)?;
    }
    Ok(changed)
}

/// A file under another name and package. An agent that takes its name from the file gets no name of its own, unless it
/// has a package, which is part of the file's name too.
pub fn rename(text: &str, name: &str, package: Option<&str>) -> Result<String, ComposeRefusal> {
    let mut changed = text.to_owned();
    // The key decides, not the agent's name: a name that cannot be used is in the file too, and has to be replaced.
    if package.is_some() || has_key(text, "name") {
        changed = set(&changed, "name", &FieldValue::text(name))?;
    }
    let changed = match package {
        Some(package) if parse(text).agent.package.as_deref() == Some(package) => changed,
        Some(package) => set(&changed, "package", &FieldValue::text(package))?,
        None => remove(&changed, "package")?,
    };
    AGENT.require_name(text, &changed)?;
    Ok(changed)
}

/// The unknown keys among the changes, each with the known key that it is nearly written as. They are kept as written.
pub fn unknown_keys<'a>(text: &str, asks: &'a [FileEdit]) -> Vec<(&'a str, Option<&'static str>)> {
    let parsed = parse(text);
    let unknown = |key: &str| parsed.agent.unknown.iter().any(|entry| entry.key == key);
    asks.iter()
        .filter_map(|ask| match ask {
            FileEdit::Set(key, _) if unknown(key) => {
                Some((key.as_str(), super::known_keys::misspelt(key)))
            }
            _ => None,
        })
        .collect()
}

fn with_field(text: &str, key: &str, value: &str) -> Result<String, ComposeRefusal> {
    if matches!(key, "name" | "package") {
        return Err(refusal(key, "an agent's name is changed by renaming it"));
    }
    let value = value.trim();
    let row = FieldRow::of_file(key);
    let is_list = row.is_some_and(|row| row.is_list);
    let cleared = value == "false" && row.is_some_and(|row| row.is_cleared_by_false);
    if cleared || value.is_empty() {
        return without_field(text, key);
    }
    // An agent without the field has `full`, so it is never added; where it is written it stays.
    if key == "skillInjection" && value == "full" {
        let written = parse(text).agent.skill_injection;
        return if written == SkillInjection::Light {
            remove(text, key)
        } else {
            Ok(text.to_owned())
        };
    }
    if !is_list {
        return set(text, key, &FieldValue::text(value));
    }
    let items = FieldValue::List(list_items(value));
    // `skill` takes precedence over `skills`, so a file that has `skill` keeps its skills there.
    if key == "skills" && has_key(text, "skill") {
        let changed = set(text, "skill", &items)?;
        return remove(&changed, "skills");
    }
    set(text, key, &items)
}

/// The items of a list as a person types it: with commas, in brackets or not. `[]` is the list without items, which
/// differs from no list.
pub fn list_items(words: &str) -> Vec<String> {
    let words = words.trim();
    let inner = words.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    match serde_json::from_str(words) {
        Ok(items) if inner.is_some() => items,
        _ => split_items(inner.unwrap_or(words)),
    }
}

fn without_field(text: &str, key: &str) -> Result<String, ComposeRefusal> {
    if matches!(key, "name" | "package" | "description") {
        return Err(refusal(key, "an agent cannot be without it"));
    }
    let changed = remove(text, key)?;
    match key {
        "skills" => remove(&changed, "skill"),
        _ => Ok(changed),
    }
}

fn with_body(text: &str, body: &str) -> Result<String, ComposeRefusal> {
    let fenced = fence::split(text);
    let fenced = fenced.map_err(|_| refusal("body", message_of(EditRefusal::NoFrontmatter)))?;
    let offset = fenced.body_offset;
    let (head, old) = text.split_at_checked(offset).unwrap_or((text, ""));
    let new = prompt_text(body);
    if prompt_text(old) == new {
        return Ok(text.to_owned());
    }
    let line_end = if head.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if new.is_empty() { "" } else { line_end };
    let head_end = if head.ends_with('\n') { "" } else { line_end };
    let new = new.replace('\n', line_end);
    Ok(format!("{head}{head_end}{gap}{new}"))
}

fn has_key(text: &str, key: &str) -> bool {
    let block = fence::split(text).map(|fenced| fenced.frontmatter);
    let read = |block| crate::yaml::read_block(block, 2, super::known_keys::KNOWN);
    let entries = block.map(|block| read(block).entries);
    entries.is_ok_and(|entries| entries.iter().any(|entry| entry.key == key))
}

fn set(text: &str, key: &str, value: &FieldValue) -> Result<String, ComposeRefusal> {
    edit::set(text, key, value).map_err(|why| refusal(key, message_of(why)))
}

fn remove(text: &str, key: &str) -> Result<String, ComposeRefusal> {
    edit::remove(text, key).map_err(|why| refusal(key, message_of(why)))
}

fn message_of(why: EditRefusal) -> &'static str {
    match why {
        EditRefusal::NoFrontmatter => "the file has no frontmatter",
        EditRefusal::Unreadable => "the frontmatter cannot be read",
        EditRefusal::Key => "a field's name has letters, digits, `-` and `_`",
        EditRefusal::Entangled => "it is written in a way that does not allow changing it alone",
    }
}

fn refusal(field: &str, message: impl Into<String>) -> ComposeRefusal {
    ComposeRefusal {
        field: field.to_owned(),
        message: message.into(),
        help: None,
    }
}

/// The messages of the findings on a file, each with its count and its help.
type Counts = BTreeMap<String, (usize, Option<String>)>;

/// Counts each finding on a file by its message, in any place. Keys and values that Grove does not know are kept as
/// written, since other programs may know them, so they are no reason to refuse a change.
fn counted(findings: Vec<Diagnostic>) -> Counts {
    use Code::{AgentThinking, AgentUnknownField, AgentUnmapped, UnknownField};
    let mut all = Counts::new();
    let is_kept = |code| {
        matches!(
            code,
            AgentThinking | AgentUnknownField | AgentUnmapped | UnknownField
        )
    };
    for finding in findings.into_iter().filter(|it| !is_kept(it.code)) {
        let (count, help) = all.entry(finding.message).or_default();
        *count += 1;
        *help = finding.help;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(key: &str, value: &str) -> FileEdit {
        FileEdit::Set(key.to_owned(), value.to_owned())
    }

    #[test]
    fn a_key_that_means_nothing_here_is_written_all_the_same() {
        let text = "---\nname: a\ndescription: Use it:\n<b>\nc: d\nmodel: m\n---\n";
        for key in ["deny-tools", "desciptions", "owner"] {
            let changed = change(text, &[ask(key, "x")]).unwrap();
            let expected = text.replace("model: m\n", &format!("model: m\n{key}: x\n"));
            assert_eq!(changed, expected);
            let asked = [ask(key, "x")];
            let unknown = unknown_keys(&changed, &asked);
            let meant = (key == "desciptions").then_some("description");
            assert_eq!(unknown, [(key, meant)]);
        }
        // A finding whose line moves because of a change before it is no new finding.
        let text = "---\nname: a\nskills:\n  - s\n  - t\ndescription: Use it:\n<b>\n---\n";
        let changed = change(text, &[ask("skills", "s")]);
        assert_eq!(changed, Ok(text.replace("  - t\n", "")));
    }

    #[test]
    fn a_new_file_has_what_was_asked_for_in_that_order() {
        let asks = [
            ask("description", "Does: things # well"),
            ask("tools", "read, Bash(git log, git diff)"),
            ask("skillInjection", "full"),
            ask("extensions", "[]"),
            ask("model", "false"),
            FileEdit::Body("\nYou are it.\n\n".to_owned()),
        ];
        let text = create("x", Some("p"), &asks).unwrap();
        assert_eq!(
            text,
            "---\nname: x\npackage: p\ndescription: \"Does: things # well\"\ntools: read, Bash(git log, git diff)\nextensions: []\n---\n\nYou are it.\n"
        );
        let agent = parse(&text).agent;
        assert_eq!(agent.description.as_deref(), Some("Does: things # well"));
        assert_eq!(agent.extensions, Some(Vec::new()));
    }

    #[test]
    fn a_skill_is_made_changed_and_renamed_by_the_same_rules() {
        let asks = [
            ask("description", "Does: x"),
            FileEdit::Body("Do x.".to_owned()),
        ];
        let text = create_skill("s", &asks).unwrap();
        assert_eq!(
            text,
            "---\nname: s\ndescription: \"Does: x\"\n---\n\nDo x.\n"
        );
        let hidden = change_skill(&text, &[ask("disable-model-invocation", "true")]).unwrap();
        assert!(!skill::parse(&hidden).skill.model_invocable);
        let shown = change_skill(&hidden, &[ask("disable-model-invocation", "")]);
        assert_eq!(shown.as_deref(), Ok(&*text));
        let other = rename_skill(&text, "t").unwrap();
        assert_eq!(other, text.replace("name: s", "name: t"));
        let unnamed = "---\ndescription: d\n---\n";
        assert_eq!(rename_skill(unnamed, "t").as_deref(), Ok(unnamed));
        for (key, value) in [
            ("name", "t"),
            ("description", ""),
            ("user-invocable", "perhaps"),
        ] {
            let refused = change_skill(&text, &[ask(key, value)]).unwrap_err();
            assert_eq!(refused.field, key, "{refused:?}");
        }
    }

    #[test]
    fn an_empty_value_is_no_value_and_an_empty_list_is_said_with_brackets() {
        for row in FieldRow::in_files().filter(|row| row.is_list) {
            let key = row.key;
            let text = create("x", None, &[ask("description", "d")]).unwrap();
            let none = change(&text, &[ask(key, " [] ")]).unwrap();
            assert!(none.contains(&format!("{key}: []\n")), "{none}");
            let some = change(&text, &[ask(key, "[a, b]")]).unwrap();
            assert_eq!(some, change(&text, &[ask(key, "a, b")]).unwrap());
            assert_eq!(some, change(&text, &[ask(key, r#"["a", "b"]"#)]).unwrap());
            assert_eq!(change(&some, &[ask(key, "[]")]), Ok(none.clone()));
            for empty in ["", " ", "false"] {
                assert_eq!(
                    change(&none, &[ask(key, empty)]).as_ref(),
                    Ok(&text),
                    "{key}"
                );
            }
        }
        let tools = |value: &str| {
            let text = create("x", None, &[ask("description", "d"), ask("tools", value)]);
            parse(&text.unwrap()).agent.tools
        };
        assert_eq!((tools(""), tools("[]")), (None, Some(Vec::new())));
    }

    #[test]
    fn a_value_that_a_field_does_not_take_is_refused_and_names_the_field() {
        let text = create("x", None, &[ask("description", "d")]).unwrap();
        for (key, value) in [
            ("maxTokens", "many"),
            ("maxSubagentDepth", "-1"),
            ("inheritSkills", "perhaps"),
            ("systemPromptMode", "weird"),
            ("skillInjection", "some"),
            ("defaultContext", "old"),
            ("name", "y"),
            ("package", "p"),
            ("description", ""),
            ("a b", "1"),
        ] {
            let refused = change(&text, &[ask(key, value)]).unwrap_err();
            assert_eq!(refused.field, key, "{value}: {refused:?}");
        }
        assert_eq!(
            change(&text, &[ask("maxTokens", "5"), ask("maxTokens", "")]).as_deref(),
            Ok(&*text)
        );
    }

    #[test]
    fn injection_is_written_only_when_it_is_light() {
        let file = |line: &str| format!("---\nname: x\ndescription: d\n{line}---\nB\n");
        for (before, value, after) in [
            ("", "full", ""),
            ("", "light", "skillInjection: light\n"),
            (
                "skillInjection: full # so\n",
                "full",
                "skillInjection: full # so\n",
            ),
            ("skillInjection: light\n", "full", ""),
        ] {
            let changed = change(&file(before), &[ask("skillInjection", value)]);
            assert_eq!(changed, Ok(file(after)), "{before}{value}");
        }
        let other = change(&file("skillInjection: full\n"), &[ask("model", "m")]).unwrap();
        assert!(other.contains("skillInjection: full\n"));
    }

    #[test]
    fn skills_are_changed_where_the_file_says_them() {
        let file = |lines: &str| format!("---\nname: x\ndescription: d\n{lines}---\nB\n");
        for (before, asked, after) in [
            ("skill: a\n", ask("skills", "b, c"), "skill: b, c\n"),
            ("skill: a\nskills: z\n", ask("skills", "b"), "skill: b\n"),
            ("skills: [a]\n", ask("skills", "b"), "skills: [b]\n"),
            (
                "skill: a\nskills: z\n",
                FileEdit::Unset("skills".to_owned()),
                "",
            ),
        ] {
            let changed = change(&file(before), std::slice::from_ref(&asked));
            assert_eq!(changed, Ok(file(after)), "{before}");
        }
    }

    #[test]
    fn another_body_leaves_the_frontmatter_and_its_line_ends() {
        let text = "---\r\nname: x\r\ndescription: d\r\n---\r\n\r\nOld.\r\n";
        let changed = change(text, &[FileEdit::Body("One.\n\nTwo.\n".to_owned())]).unwrap();
        assert_eq!(
            changed,
            "---\r\nname: x\r\ndescription: d\r\n---\r\n\r\nOne.\r\n\r\nTwo.\r\n"
        );
        assert_eq!(
            change(text, &[FileEdit::Body("Old.\n".to_owned())]).as_deref(),
            Ok(text)
        );
        assert!(change("no frontmatter\n", &[FileEdit::Body("B".to_owned())]).is_err());
        let bare = "---\nname: x\ndescription: d\n---";
        let filled = change(bare, &[FileEdit::Body("B".to_owned())]).unwrap();
        assert_eq!(filled, "---\nname: x\ndescription: d\n---\n\nB\n");
    }

    #[test]
    fn renaming_changes_name_and_package_alone() {
        let text = "---\n# mine\nname: \"x\" # so\ndescription: d\n---\nB\n";
        assert_eq!(
            rename(text, "y", Some("p")).as_deref(),
            Ok("---\n# mine\nname: \"y\" # so\ndescription: d\npackage: p\n---\nB\n")
        );
        let unnamed = "---\ndescription: d\npackage: p\n---\nB\n";
        assert_eq!(
            rename(unnamed, "y", None).as_deref(),
            Ok("---\ndescription: d\n---\nB\n")
        );
    }
}
