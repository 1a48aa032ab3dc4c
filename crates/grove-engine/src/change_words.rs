//! A change to a skill, an agent or a chain in words.

use std::path::Path;

use grove_catalog::state::EntryState;
use grove_skills::managing::ChangeReport;
use grove_spec::text::one_line;

/// A change in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeWords {
    /// The change itself, in one line.
    pub done: String,
    /// The consequences of the change, a line each.
    pub notes: Vec<String>,
}

impl ChangeWords {
    /// Words for a change by `action`; `shown` writes paths for the reader.
    pub fn of(
        action: &'static str,
        changed: &ChangeReport,
        shown: &dyn Fn(&Path) -> String,
    ) -> Self {
        let file = shown(&changed.file);
        let name = one_line(&changed.name);
        let expected = match action {
            "disable" => EntryState::Disabled,
            _ => EntryState::Ok,
        };
        // Grove uses one of two that share a name, so a copy may be shadowed: it is for another host.
        let is_expected = |state: EntryState| {
            state == expected || (action == "copy" && state == EntryState::Shadowed)
        };
        let is_as_asked = changed.state.is_none_or(is_expected);
        let done = match (action, changed.changed) {
            (_, false) => format!("unchanged {file}"),
            ("create", _) => format!("created {file}"),
            ("copy", _) => format!("copied to {file}"),
            ("delete", _) => format!("deleted {file}"),
            ("rename", _) => {
                let previous = changed.previous.as_ref();
                let previous = previous.map_or_else(|| file.clone(), |path| shown(path));
                format!("renamed {previous} to {file}")
            }
            ("enable" | "disable", _) if !is_as_asked => format!("changed {file}"),
            ("edit", _) => format!("changed {file}"),
            ("enable", _) => format!("switched on {name} in {file}"),
            ("disable", _) => format!("switched off {name} in {file}"),
            ("reset", _) => format!("removed what {file} says about {name}"),
            (_, true) => format!("overrode {name} in {file}"),
        };

        let mut notes = Vec::new();
        if action == "delete" {
            notes.push("`grove undo` takes it back".to_owned());
        }
        if let Some(state) = changed.state.filter(|state| !is_expected(*state)) {
            notes.push(format!("{name} is {}", state.in_words()));
            let reasons = changed.reasons.iter();
            notes.extend(reasons.map(|it| one_line(&format!("  {}; {}", it.message, it.fix))));
        }
        notes.extend(changed.notes.iter().map(|note| format!("note: {note}")));
        Self { done, notes }
    }
}
