//! What `read-properties` prints.

use std::fmt::Write as _;

use super::python_text::strip;
use super::validate::field;
use super::{Data, messages};

/// The properties of a skill, unchecked but for a name and a description that say something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The name, stripped, otherwise as written.
    pub name: Data,
    /// The description, stripped.
    pub description: Data,
    /// The licence; any value.
    pub license: Option<Data>,
    /// The compatibility; any value.
    pub compatibility: Option<Data>,
    /// The allowed tools; any value.
    pub allowed_tools: Option<Data>,
    /// The metadata; any value.
    pub metadata: Option<Data>,
}

/// Picks the properties out of the metadata, or says what is missing.
pub fn read_properties(metadata: &[(String, Data)]) -> Result<Properties, String> {
    let required = |name| field(metadata, name).ok_or_else(|| messages::missing_field(name));
    let name = required("name")?;
    let description = required("description")?;
    let optional = |name| field(metadata, name).cloned();
    Ok(Properties {
        name: stripped(name).ok_or_else(|| messages::empty_field("name"))?,
        description: stripped(description).ok_or_else(|| messages::empty_field("description"))?,
        license: optional("license"),
        compatibility: optional("compatibility"),
        allowed_tools: optional("allowed-tools"),
        metadata: optional("metadata"),
    })
}

/// The text without white space around it, when there is any text.
fn stripped(value: &Data) -> Option<Data> {
    let points = value.code_points()?;
    let inner = strip(&points);
    if inner.is_empty() {
        return None;
    }
    let text: Option<String> = inner.iter().copied().map(char::from_u32).collect();
    Some(text.map_or_else(|| Data::Surrogates(inner.to_vec()), Data::Text))
}

impl Properties {
    /// The JSON text, indented by two, ASCII only, without a line end.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        let mut empty = true;
        for (key, value) in self.fields() {
            if !empty {
                out.push(',');
            }
            empty = false;
            out.push_str("\n  ");
            json_text(key.chars().map(u32::from), &mut out);
            out.push_str(": ");
            json(value, 1, &mut out);
        }
        out.push_str("\n}");
        out
    }

    /// Why printing the JSON ends the library in a traceback, if it does: a value is an object
    /// that JSON does not know.
    pub fn json_crash(&self) -> Option<&'static str> {
        self.fields()
            .any(|(_, value)| has_object(value))
            .then_some("A plain '=' or '<<' is no text; it needs quotes")
    }

    /// Why printing the prompt ends the library in a traceback, if it does: the text cannot be
    /// written as UTF-8.
    pub fn prompt_crash(&self) -> Option<&'static str> {
        [&self.name, &self.description]
            .into_iter()
            .any(|text| matches!(text, Data::Surrogates(_)))
            .then_some("The text has a surrogate escape, which cannot be written as UTF-8")
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &Data)> {
        let metadata = self.metadata.as_ref().filter(|value| match value {
            Data::Text(text) => !text.is_empty(),
            Data::List(items) => !items.is_empty(),
            Data::Map(pairs) => !pairs.is_empty(),
            Data::Surrogates(_) | Data::Tagged(_) => true,
        });
        [
            ("name", Some(&self.name)),
            ("description", Some(&self.description)),
            ("license", self.license.as_ref()),
            ("compatibility", self.compatibility.as_ref()),
            ("allowed-tools", self.allowed_tools.as_ref()),
            ("metadata", metadata),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    }
}

/// The depth of a value is bounded where it is constructed.
fn has_object(value: &Data) -> bool {
    match value {
        Data::Text(_) | Data::Surrogates(_) => false,
        Data::Tagged(_) => true,
        Data::List(items) => items.iter().any(has_object),
        Data::Map(pairs) => pairs.iter().any(|(_, value)| has_object(value)),
    }
}

fn json(value: &Data, depth: usize, out: &mut String) {
    match value {
        Data::Text(text) | Data::Tagged(text) => json_text(text.chars().map(u32::from), out),
        Data::Surrogates(points) => json_text(points.iter().copied(), out),
        Data::List(items) => {
            let items = items.iter().map(|item| (None, item));
            json_items(('[', ']'), items, depth, out);
        }
        Data::Map(pairs) => {
            let items = pairs.iter().map(|(key, value)| (Some(key.as_str()), value));
            json_items(('{', '}'), items, depth, out);
        }
    }
}

fn json_items<'a>(
    (open, close): (char, char),
    items: impl Iterator<Item = (Option<&'a str>, &'a Data)>,
    depth: usize,
    out: &mut String,
) {
    out.push(open);
    let mut empty = true;
    for (key, value) in items {
        if !empty {
            out.push(',');
        }
        empty = false;
        new_line(depth + 1, out);
        if let Some(key) = key {
            json_text(key.chars().map(u32::from), out);
            out.push_str(": ");
        }
        json(value, depth + 1, out);
    }
    if !empty {
        new_line(depth, out);
    }
    out.push(close);
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn json_text(points: impl Iterator<Item = u32>, out: &mut String) {
    out.push('"');
    for point in points {
        match char::from_u32(point) {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(found @ ' '..='~') => out.push(found),
            Some(found) => {
                for unit in found.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    write!(out, "\\u{unit:04x}").unwrap_or_default();
                }
            }
            None => write!(out, "\\u{point:04x}").unwrap_or_default(),
        }
    }
    out.push('"');
}
