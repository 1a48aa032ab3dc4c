//! Roles of Codex: a TOML file with a name, a description, instructions and settings.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{AgentFormat, from_values};
use crate::agent::ParsedAgent;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::generated;
use crate::skill::body::position_of;
use crate::yaml::{YamlEntry, YamlNode, YamlValue, key};

const BODY: &str = "developer_instructions";
/// The deepest nesting of lists and tables.
const MAX_DEPTH: usize = 16;
/// The most values of a role: the place of each is counted from the top of the file.
const MAX_VALUES: usize = 2_000;

pub(super) fn role(text: &str) -> ParsedAgent {
    let entries = parse(text).and_then(|table| {
        let mut tree = TomlTree::new(text);
        tree.entries(table.get_ref(), 0).ok_or_else(too_much)
    });
    let entries = match entries {
        Ok(entries) => entries,
        Err(finding) => return ParsedAgent::refused(finding),
    };
    let mut diagnostics = Vec::new();
    let told = entries.iter().find(|entry| entry.key == BODY);
    let is_blank = |told: &YamlEntry| {
        let text = told.value.as_text();
        text.is_some_and(|text| text.trim().is_empty())
    };
    if told.is_none_or(is_blank) {
        let what = if told.is_some() { "nothing in" } else { "no" };
        let message = format!("{what} `{BODY}`, so there is nothing to tell the agent");
        let finding = Diagnostic::new(Code::AgentSyntax, message);
        diagnostics.push(finding.at(Position::new(1, 1)));
    }
    let (meaning, inner_body) = from_values(
        entries,
        BODY,
        (AgentFormat::Codex, Position::new(1, 1)),
        &mut diagnostics,
    );
    ParsedAgent {
        agent: meaning.agent,
        places: meaning.places,
        body_offset: 0,
        inner_body: Some(inner_body),
        named_file: None,
        generated_from: generated::source_of(text).map(str::to_owned),
        diagnostics,
    }
}

/// The entries of one table of a file; the other tables are not read. Empty if there is no such table.
pub(super) fn tables_of(text: &str, name: &str) -> Result<Vec<YamlEntry>, Diagnostic> {
    let table = parse(text)?;
    match table.get_ref().get(name).map(Spanned::get_ref) {
        Some(DeValue::Table(inner)) => {
            let mut tree = TomlTree::new(text);
            tree.entries(inner, 0).ok_or_else(too_much)
        }
        _ => Ok(Vec::new()),
    }
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Diagnostic> {
    DeTable::parse(text).map_err(|error| {
        let message = format!("not TOML: {}", error.message());
        let place = error
            .span()
            .map_or(Position::new(1, 1), |span| position_of(text, span.start));
        Diagnostic::new(Code::AgentSyntax, message).at(place)
    })
}

fn too_much() -> Diagnostic {
    let message = format!("more than {MAX_VALUES} values, or more than {MAX_DEPTH} levels");
    Diagnostic::new(Code::AgentSyntax, message).at(Position::new(1, 1))
}

/// A TOML table as the tree that YAML is read into.
struct TomlTree<'a> {
    text: &'a str,
    left: usize,
}

impl<'a> TomlTree<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            text,
            left: MAX_VALUES,
        }
    }

    /// The entries of a table in the order of the file; nothing if they are too many or too deep.
    fn entries(&mut self, table: &DeTable<'_>, depth: usize) -> Option<Vec<YamlEntry>> {
        let mut placed: Vec<(usize, YamlEntry)> = Vec::new();
        for (name, value) in table {
            let start = name.span().start;
            let entry = YamlEntry {
                key: key(name.get_ref()),
                position: position_of(self.text, start),
                value: self.node(value, depth + 1)?,
            };
            placed.push((start, entry));
        }
        placed.sort_by_key(|(start, _)| *start);
        Some(placed.into_iter().map(|(_, entry)| entry).collect())
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Option<YamlNode> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let position = position_of(self.text, value.span().start);
        Some(match value.get_ref() {
            DeValue::String(string) => YamlNode::text(&**string, position),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.node(item, depth + 1));
                YamlNode::new(YamlValue::List(items.collect::<Option<_>>()?), position)
            }
            DeValue::Table(table) => {
                YamlNode::new(YamlValue::Map(self.entries(table, depth)?), position)
            }
            // Numbers, booleans and dates are plain words in this tree.
            _ => {
                let written = self.text.get(value.span()).unwrap_or_default();
                YamlNode::plain(written, position)
            }
        })
    }
}
