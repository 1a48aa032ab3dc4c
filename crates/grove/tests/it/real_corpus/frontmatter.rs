//! A real skill file taken apart by hand, so that what the program reads can be compared with it.

use std::fs;
use std::path::Path;

/// A skill file in pieces: everything but the description stays as its author wrote it.
pub(crate) struct RealSkill {
    /// The whole file, with line feeds.
    pub(crate) text: String,
    /// The description as a person reads it: no quotes, no block marks, single spaces.
    pub(crate) description: String,
    /// The `name:` line.
    pub(crate) name_line: String,
    /// All lines of the other keys but `metadata`.
    pub(crate) other_lines: String,
    /// The lines of `metadata`, if it has any.
    pub(crate) metadata_lines: String,
    /// From the closing fence on.
    pub(crate) rest: String,
}

impl RealSkill {
    pub(crate) fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.replace("\r\n", "\n");
        let after = lines.strip_prefix("---\n").expect("a fence in line 1");
        let end = after.find("\n---").expect("a closing fence") + 1;
        let (block, rest) = after.split_at(end);
        let mut skill = Self {
            description: String::new(),
            name_line: String::new(),
            other_lines: String::new(),
            metadata_lines: String::new(),
            rest: rest.to_owned(),
            text: lines.clone(),
        };
        for entry in entries(block) {
            match entry.split(':').next().unwrap_or_default() {
                "name" => skill.name_line = entry,
                "description" => skill.description = as_read(&entry),
                "metadata" => skill.metadata_lines = entry,
                _ => skill.other_lines.push_str(&entry),
            }
        }
        skill
    }

    /// The file with other lines for its description, and with its own metadata.
    pub(crate) fn with_description(&self, lines: &str) -> String {
        self.with(&format!("{lines}\n"), &self.metadata_lines)
    }

    /// The file with other lines for its metadata and a quoted description.
    pub(crate) fn with_metadata(&self, lines: &str) -> String {
        self.with(
            &format!("description: {}\n", quoted(&self.description)),
            lines,
        )
    }

    fn with(&self, description: &str, metadata: &str) -> String {
        let (name, other, rest) = (&self.name_line, &self.other_lines, &self.rest);
        format!("---\n{name}{description}{other}{metadata}{rest}")
    }
}

/// A text in double quotes, escaped as YAML and JSON agree to.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A text with every run of white space as one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The top-level entries: each starts at a line that starts with a letter.
fn entries(block: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in block.split_inclusive('\n') {
        if line.starts_with(|c: char| c.is_ascii_alphabetic()) || entries.is_empty() {
            entries.push(String::new());
        }
        entries.last_mut().unwrap().push_str(line);
    }
    entries
}

/// What a person reads in a `description:` entry, whichever of YAML's styles it is in.
fn as_read(entry: &str) -> String {
    let value = one_line(entry.strip_prefix("description:").unwrap());
    for block in ["> ", ">- ", "| ", "|- "] {
        if let Some(text) = value.strip_prefix(block) {
            return text.to_owned();
        }
    }
    if value.starts_with('"') {
        return serde_json::from_str(&value).expect("a double-quoted value with JSON's escapes");
    }
    match value
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
    {
        Some(text) => text.replace("''", "'"),
        None => value,
    }
}
