//! The YAML of frontmatter: a tree of text, lists and maps with positions.
//!
//! Three tiers read it. A guarded [`scan`] takes plain top-level keys at the speed of a memory scan and declines
//! everything it is not sure of; [`events`] is the full parser with its guards; [`repair`] reads what people write that
//! is not YAML. Scalars keep the text as written: the reader of a field decides its meaning, and types are never
//! guessed.

mod cut;
pub mod events;
mod lenient;
mod repair;
pub mod scan;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Position};

pub(crate) use cut::is_colon;

/// The deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 16;

/// The most bytes of frontmatter that are given to a YAML parser.
pub const MAX_BYTES: usize = 16 * 1024;

/// A value and the position of its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct YamlNode {
    /// The value at this place.
    pub value: YamlValue,
    /// The position of its start in the file.
    pub position: Position,
}

/// Text, a list or a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum YamlValue {
    /// A scalar, as written.
    Text(Scalar),
    /// A sequence in the order of the file.
    List(Vec<YamlNode>),
    /// A mapping in the order of the file.
    Map(Vec<YamlEntry>),
}

/// A scalar: its text, and if it was quoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scalar {
    /// The text after YAML's own escapes and folding.
    pub text: String,
    /// True without quotes and outside a block: only then do `null`, `~` and empty text mean no value.
    pub plain: bool,
}

/// A key; the common ones need no allocation.
pub type Key = Cow<'static, str>;

/// A key from its text.
pub fn key(text: &str) -> Key {
    const COMMON: [&str; 12] = [
        "name",
        "description",
        "license",
        "metadata",
        "version",
        "author",
        "tags",
        "allowed-tools",
        "compatibility",
        "category",
        "homepage",
        "openclaw",
    ];
    match COMMON.iter().find(|common| **common == text) {
        Some(common) => Cow::Borrowed(common),
        None => Cow::Owned(text.to_owned()),
    }
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct YamlEntry {
    /// The key, as written.
    pub key: Key,
    /// The position of the key's start.
    pub position: Position,
    /// The value of the key.
    pub value: YamlNode,
}

impl YamlNode {
    /// A node from its parts.
    pub fn new(value: YamlValue, position: Position) -> Self {
        Self { value, position }
    }

    /// Makes a quoted scalar from text.
    pub fn text(text: impl Into<String>, position: Position) -> Self {
        Self::new(
            YamlValue::Text(Scalar {
                text: text.into(),
                plain: false,
            }),
            position,
        )
    }

    /// Makes a plain scalar from text.
    pub fn plain(text: impl Into<String>, position: Position) -> Self {
        Self::new(
            YamlValue::Text(Scalar {
                text: text.into(),
                plain: true,
            }),
            position,
        )
    }

    /// Returns true if there is no value: empty text, `~` or `null`, unquoted.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Text(scalar) if scalar.is_null())
    }

    /// Returns the text of a scalar that is not null.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// Returns the entries of a map; nothing for other values.
    pub fn as_map(&self) -> Option<&[YamlEntry]> {
        match &self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// Returns the kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            YamlValue::Text(scalar) if scalar.is_null() => "empty",
            YamlValue::Text(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }
}

impl Scalar {
    /// Returns true if the scalar means no value.
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

/// A frontmatter block as read, with findings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct YamlBlock {
    /// Top-level keys; empty when nothing could be read.
    pub entries: Vec<YamlEntry>,
    /// Findings; an error among them means that the entries are not to be used.
    pub diagnostics: Vec<Diagnostic>,
}

/// The keys that a file may have at its top level; they are needed only where a block is not valid YAML.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys {
    /// Returns true if a word is one of them.
    pub is_known: IsKnown,
    /// Returns true if a word is a restricting key, which is never taken for text.
    pub restricts: IsKnown,
}

impl KnownKeys {
    /// A set without any words.
    pub const NONE: Self = Self {
        is_known: |_| false,
        restricts: |_| false,
    };
}

/// A test of single words.
pub type IsKnown = fn(&str) -> bool;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySpelling {
    /// In the first column, with a colon and a blank after it.
    Proper,
    /// With one blank or more before it.
    Indented,
    /// With nothing between the colon and the value.
    NoBlank,
    /// With another blank than YAML's after the colon.
    Blank(char),
    /// With another colon than YAML's.
    Colon(char),
}

/// Reads a frontmatter block whose first line is `first_line` of its file.
pub fn read_block(text: &str, first_line: u32, known: KnownKeys) -> YamlBlock {
    if let Some(entries) = scan::scan(text, first_line) {
        let mut diagnostics = Vec::new();
        if text.len() > MAX_BYTES {
            diagnostics.push(too_large(
                crate::Code::FrontmatterTooLarge,
                text,
                first_line,
            ));
        }
        return YamlBlock {
            entries,
            diagnostics,
        };
    }
    if text.len() > MAX_BYTES {
        let diagnostics = vec![too_large(
            crate::Code::FrontmatterUnreadable,
            text,
            first_line,
        )];
        return YamlBlock {
            entries: Vec::new(),
            diagnostics,
        };
    }
    match events::parse(text, first_line) {
        Ok(entries) => YamlBlock {
            entries,
            diagnostics: Vec::new(),
        },
        Err(refusal) => repair::repair(text, first_line, refusal, known),
    }
}

fn too_large(code: crate::Code, text: &str, first_line: u32) -> Diagnostic {
    Diagnostic::new(
        code,
        format!("frontmatter is {} bytes, more than {MAX_BYTES}", text.len()),
    )
    .at(Position::new(first_line, 1))
}
