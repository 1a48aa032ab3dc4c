//! References that `OpenCode` expands in the values of its settings: `{file:PATH}` and `{env:NAME}`.
//!
//! The reader of the settings also reads the files that prompts name, within the same bounds and trust. Variables are
//! not expanded: an agent's text must not depend on the caller's environment, and an environment holds secrets.

use super::NamedFiles;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::frontmatter;
use crate::text::one_line;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

const FILE: &str = "{file:";
const VARIABLE: &str = "{env:";
/// The most files that the prompts of one file may name.
const MAX_FILES: usize = 100;
/// The most bytes of a prompt with the files that it names.
const MAX_PROMPT: usize = 1_000_000;

/// A text in parts: written text, and the paths of files.
enum TextPart<'a> {
    Text(&'a str),
    File(&'a str),
}

fn parts(text: &str) -> Vec<TextPart<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once(FILE) {
        parts.push(TextPart::Text(before));
        let named = after.split_once('}').filter(|(path, _)| !path.is_empty());
        if let Some((path, after)) = named {
            parts.push(TextPart::File(path));
            rest = after;
        } else {
            parts.push(TextPart::Text(FILE));
            rest = after;
        }
    }
    parts.push(TextPart::Text(rest));
    parts
}

/// The paths of the files that prompts name, as they are written, each once.
pub(super) fn named_in<'a>(prompts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut paths: Vec<String> = prompts
        .flat_map(parts)
        .filter_map(|part| match part {
            TextPart::File(path) => Some(path.to_owned()),
            TextPart::Text(_) => None,
        })
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_FILES);
    paths
}

/// The prompt with the text of the files that it names; nothing if it names none. The error tells which file failed.
pub(super) fn filled(prompt: &YamlEntry, named: &NamedFiles) -> Result<Option<String>, Diagnostic> {
    let text = prompt.value.as_text().unwrap_or_default();
    if !text.contains(FILE) {
        return Ok(None);
    }
    let mut whole = String::with_capacity(text.len());
    for part in parts(text) {
        let added = match part {
            TextPart::Text(text) => text,
            TextPart::File(path) => text_of_file(path, named)
                .map_err(|why| unread(prompt, path, &why))?
                .trim(),
        };
        if whole.len() + added.len() > MAX_PROMPT {
            let message =
                format!("`prompt` has more than {MAX_PROMPT} bytes with the files it names");
            return Err(Diagnostic::new(Code::AgentElsewhere, message).at(prompt.position));
        }
        whole.push_str(added);
    }
    Ok(Some(whole))
}

fn text_of_file<'a>(path: &str, named: &'a NamedFiles) -> Result<&'a str, String> {
    if path.contains(VARIABLE) {
        return Err("its path contains an environment variable".to_owned());
    }
    let file = named
        .get(path)
        .ok_or_else(|| format!("more than {MAX_FILES} files are named"))?;
    let bytes = file.content.as_ref().map_err(Clone::clone)?;
    frontmatter::text_of(bytes).map_err(|refusal| refusal.message)
}

fn unread(prompt: &YamlEntry, path: &str, why: &str) -> Diagnostic {
    let message = format!(
        "`prompt` names `{}`, which was not read: {why}",
        one_line(path)
    );
    Diagnostic::new(Code::AgentElsewhere, message)
        .with_help("name a text file by its path from this file, or write the agent as a Markdown file in .opencode/agents")
        .at(prompt.position)
}

/// The finding about a value that is kept as written although `OpenCode` would expand it.
pub(super) fn literal(entry: &YamlEntry, is_prompt: bool) -> Option<Diagnostic> {
    let what = if holds(&entry.value, VARIABLE) {
        "an environment variable, which Grove does not expand"
    } else if !is_prompt && holds(&entry.value, FILE) {
        "a file, which Grove reads only for `prompt`"
    } else {
        return None;
    };
    let message = format!(
        "`{}` names {what}; it stays as it is written",
        one_line(&entry.key)
    );
    Some(Diagnostic::new(Code::AgentVariable, message).at(entry.position))
}

fn holds(node: &YamlNode, word: &str) -> bool {
    match &node.value {
        YamlValue::Text(scalar) => scalar.text.contains(word),
        YamlValue::List(items) => items.iter().any(|item| holds(item, word)),
        YamlValue::Map(entries) => entries.iter().any(|entry| holds(&entry.value, word)),
    }
}
