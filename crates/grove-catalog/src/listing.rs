//! What a model is told of a skill, and what that costs.

use std::path::Path;

use grove_spec::text::{escape_xml, without_controls};

use crate::snapshot::{Skill, Snapshot};

/// The size of a listing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Skills in it.
    pub entries: usize,
    /// Characters, Unicode scalar values.
    pub chars: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
}

impl Cost {
    /// Tokens, estimated as a quarter of the bytes.
    pub const fn tokens(&self) -> usize {
        self.bytes.div_ceil(4)
    }
}

const OPEN: &str = "<available_skills>\n";
const CLOSE: &str = "</available_skills>\n";

/// The listing of all skills that a model may be told of; nothing at all when there are none.
pub fn render(snapshot: &Snapshot, home: Option<&Path>) -> String {
    let entries: String = snapshot
        .skills
        .iter()
        .filter(|skill| skill.model_invocable())
        .map(|skill| entry(snapshot, skill, home))
        .collect();
    if entries.is_empty() {
        entries
    } else {
        format!("{OPEN}{entries}{CLOSE}")
    }
}

/// What the listing costs.
pub fn cost(snapshot: &Snapshot, home: Option<&Path>) -> Cost {
    let text = render(snapshot, home);
    Cost {
        entries: snapshot
            .skills
            .iter()
            .filter(|skill| skill.model_invocable())
            .count(),
        chars: text.chars().count(),
        bytes: text.len(),
    }
}

/// The entry of a skill.
pub(crate) fn entry(snapshot: &Snapshot, skill: &Skill, home: Option<&Path>) -> String {
    entry_of(
        skill.name(),
        skill.description().unwrap_or_default(),
        &snapshot.location(&skill.place),
        home,
    )
}

/// One entry: every text from a file is escaped here and nowhere else.
pub(crate) fn entry_of(
    name: &str,
    description: &str,
    location: &Path,
    home: Option<&Path>,
) -> String {
    let shown = match home.and_then(|home| location.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.to_string_lossy()),
        None => location.to_string_lossy().into_owned(),
    };
    let element = |name: &str, text: &str| {
        format!("<{name}>{}</{name}>", escape_xml(&without_controls(text)))
    };
    format!(
        "<skill>{}{}{}</skill>\n",
        element("name", name),
        element("description", description),
        element("location", &shown)
    )
}
