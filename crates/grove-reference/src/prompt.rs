//! What `to-prompt` prints.

use std::borrow::Cow;

use super::python_text::shown;
use super::{Data, Properties};

/// One skill of the block.
#[derive(Clone, Copy, Debug)]
pub struct PromptEntry<'a> {
    /// The skill's properties.
    pub properties: &'a Properties,
    /// The path of its file, symlinks resolved. It is printed as it is, unescaped.
    pub location: &'a str,
}

/// The `<available_skills>` block, without a line end after it.
///
/// Check [`Properties::prompt_crash`] first: such text is printed here with its surrogates
/// spelled out.
pub fn to_prompt(entries: &[PromptEntry<'_>]) -> String {
    let mut out = String::from("<available_skills>\n");
    for entry in entries {
        out.push_str("<skill>\n<name>\n");
        escape(&text(&entry.properties.name), &mut out);
        out.push_str("\n</name>\n<description>\n");
        escape(&text(&entry.properties.description), &mut out);
        out.push_str("\n</description>\n<location>\n");
        out.push_str(entry.location);
        out.push_str("\n</location>\n</skill>\n");
    }
    out.push_str("</available_skills>");
    out
}

fn text(value: &Data) -> Cow<'_, str> {
    match value {
        Data::Text(text) => Cow::Borrowed(text),
        other => Cow::Owned(shown(&other.code_points().unwrap_or_default())),
    }
}

fn escape(text: &str, out: &mut String) {
    for found in text.chars() {
        match found {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            other => out.push(other),
        }
    }
}
