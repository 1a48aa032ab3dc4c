//! The YAML of frontmatter: a tree of text, lists and maps with positions.
//!
//! Three tiers read it. A guarded [`scan`] takes plain top-level keys at the speed of a memory scan
//! and declines whatever it is not sure of; [`events`] is the full parser with its guards; [`repair`]
//! reads what people write that is not YAML. Scalars keep the text as written: what a field means is
//! decided by who asks for it, never by a type guess.

mod cut;
pub mod events;
mod lenient;
mod repair;
pub mod scan;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Position};

pub(crate) use cut::is_colon;

/// How deep lists and maps may nest.
pub const MAX_DEPTH: usize = 16;

/// How many bytes of frontmatter are given to a YAML parser.
pub const MAX_BYTES: usize = 16 * 1024;

/// A value and where it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it starts in the file.
    pub position: Position,
}

/// Text, a list or a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A scalar, as written.
    Text(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the order of the file.
    Map(Vec<Entry>),
}

/// A scalar: its text and whether it was quoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scalar {
    /// The text after YAML's own escapes and folding.
    pub text: String,
    /// Without quotes and not a block: `null`, `~` and nothing mean no value only when plain.
    pub plain: bool,
}

/// A key; the common ones cost no allocation.
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
pub struct Entry {
    /// The key, as written.
    pub key: Key,
    /// Where the key starts.
    pub position: Position,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// A node from its parts.
    pub fn new(value: Value, position: Position) -> Self {
        Self { value, position }
    }

    /// A quoted scalar.
    pub fn text(text: impl Into<String>, position: Position) -> Self {
        Self::new(
            Value::Text(Scalar {
                text: text.into(),
                plain: false,
            }),
            position,
        )
    }

    /// A plain scalar.
    pub fn plain(text: impl Into<String>, position: Position) -> Self {
        Self::new(
            Value::Text(Scalar {
                text: text.into(),
                plain: true,
            }),
            position,
        )
    }

    /// Whether there is no value here: nothing, `~` or `null`, unquoted.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Text(scalar) if scalar.is_null())
    }

    /// The text of a scalar that is not null.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(scalar) if scalar.is_null() => "empty",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

impl Scalar {
    /// Whether this means no value.
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

/// A frontmatter block as read, with what was said while reading it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// Top-level keys; empty when nothing could be read.
    pub entries: Vec<Entry>,
    /// Findings; an error among them means that the entries are not to be used.
    pub diagnostics: Vec<Diagnostic>,
}

/// The keys that a file may have at its top level; only what is no YAML is asked about.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys {
    /// Whether a word is one of them.
    pub is_known: IsKnown,
    /// Whether a word is one that keeps what the file is about from something: it is never taken for text.
    pub restricts: IsKnown,
}

impl KnownKeys {
    /// No words are known.
    pub const NONE: Self = Self {
        is_known: |_| false,
        restricts: |_| false,
    };
}

/// Tells words apart.
pub type IsKnown = fn(&str) -> bool;

/// How a top-level key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// In the first column, with a colon and a blank after it.
    Proper,
    /// With blanks before it.
    Indented,
    /// With nothing between colon and value.
    NoBlank,
    /// With another blank than YAML's after the colon.
    Blank(char),
    /// With another colon than YAML's.
    Colon(char),
}

/// Reads a frontmatter block whose first line is `first_line` of its file.
pub fn read_block(text: &str, first_line: u32, known: KnownKeys) -> Block {
    if let Some(entries) = scan::scan(text, first_line) {
        let mut diagnostics = Vec::new();
        if text.len() > MAX_BYTES {
            diagnostics.push(too_large(
                crate::Code::FrontmatterTooLarge,
                text,
                first_line,
            ));
        }
        return Block {
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
        return Block {
            entries: Vec::new(),
            diagnostics,
        };
    }
    match events::parse(text, first_line) {
        Ok(entries) => Block {
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
