//! Elements with name, description and location, without a limit.

use std::fmt::Write as _;

use grove_spec::text::escape_xml_attribute;

use super::{ListedForm, ListingDraft, ListingEntry, collation, path_text};
use crate::hosts::{Host, ListStyle};

pub(super) fn draft(host: &Host, mut entries: Vec<ListingEntry>) -> ListingDraft {
    let style = host.listing.style;
    match style {
        ListStyle::ReversedElements => entries.reverse(),
        ListStyle::SortedElements => entries.sort_by(|a, b| collation::compare(&a.name, &b.name)),
        _ => {}
    }
    let mut text = String::new();
    for entry in &entries {
        push(&mut text, style, entry);
    }
    if !text.is_empty() {
        text = format!("<available_skills>\n{text}</available_skills>\n");
    }
    ListingDraft {
        used: super::measure::units(&text),
        text,
        shown: entries
            .into_iter()
            .map(|entry| entry.shown(ListedForm::Full))
            .collect(),
    }
}

fn push(text: &mut String, style: ListStyle, entry: &ListingEntry) {
    let location = path_text(&entry.location);
    let _ = match style {
        ListStyle::ReversedElements | ListStyle::SortedElements => {
            element(text, &entry.name, Some(&entry.description), &location)
        }
        _ => element(
            text,
            &escape(&entry.name),
            Some(&escape(&entry.description)),
            &escape(&location),
        ),
    };
}

/// Writes one skill. The parts are escaped already if the host escapes them.
pub(super) fn element(
    text: &mut String,
    name: &str,
    description: Option<&str>,
    location: &str,
) -> std::fmt::Result {
    write!(text, "  <skill>\n    <name>{name}</name>\n")?;
    if let Some(description) = description {
        writeln!(text, "    <description>{description}</description>")?;
    }
    write!(text, "    <location>{location}</location>\n  </skill>\n")
}

pub(super) fn escape(text: &str) -> String {
    escape_xml_attribute(text).replace("&#x27;", "&apos;")
}
