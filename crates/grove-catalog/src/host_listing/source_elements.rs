//! Elements with name, description and source of the skill; then bare names.
//!
//! Sources come one after another, with the names in each by code point. The first entry that does not fit ends the
//! entries, and all later ones are named in one line while they fit.

use std::fmt::Write as _;

use super::elements::escape;
use super::measure::units;
use super::{ListedForm, ListingDraft, ListingEntry, ListingOptions, built_in_beside};
use crate::hosts::Host;
use crate::root::RootSource;
use crate::snapshot::Snapshot;

const NAMES: &str = "Additional skills available (invoke by name): ";

pub(super) fn draft(
    snapshot: &Snapshot,
    host: &Host,
    mut entries: Vec<ListingEntry>,
    options: &ListingOptions,
) -> ListingDraft {
    let kind = |entry: &ListingEntry| kind(snapshot, entry.root, options);
    for run in entries.chunk_by_mut(|a, b| kind(a) == kind(b)) {
        run.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let limit = options.limit(host);
    let mut used = 0;
    let mut listed = String::new();
    let mut n_full = 0;
    for entry in &entries {
        let source = snapshot.roots.get(entry.root).map(|root| root.source);
        let text = element(&entry.name, &entry.description, word(source));
        let cost = units(&text);
        if used + cost > limit {
            break;
        }
        used += cost;
        n_full += 1;
        listed.push_str(&text);
    }
    let built_in = built_in_beside(host, &entries);
    // The program's own skills come last. Their size includes the escapes that other skills' text gets.
    let mut n_own = 0;
    if n_full == entries.len() {
        for skill in &built_in {
            let cost = units(&element(&skill.name, "", "builtin")) + skill.description;
            if used + cost > limit {
                break;
            }
            used += cost;
            n_own += 1;
        }
    }
    let rest = entries.iter().skip(n_full).map(|entry| entry.name.as_str());
    let own_rest = built_in.iter().skip(n_own).map(|skill| skill.name.as_str());
    let names: Vec<&str> = rest.chain(own_rest).collect();
    let (line, n_named) = name_line(&names, host.budget.name_chars.unwrap_or(0));
    listed.push_str(&line);
    let shown = entries.into_iter().enumerate().map(|(index, entry)| {
        let how = if index < n_full {
            ListedForm::Full
        } else if index - n_full < n_named {
            ListedForm::NameOnly
        } else {
            ListedForm::LeftOut
        };
        entry.shown(how)
    });
    let shown: Vec<_> = shown.collect();
    let text = if shown.is_empty() {
        String::new()
    } else {
        format!("<available_skills>\n{listed}</available_skills>\n")
    };
    ListingDraft { text, shown, used }
}

/// The source of a skill as the host sees it. Skills of one source that follow one another are sorted together.
#[derive(PartialEq)]
enum HostSource {
    Working,
    Above,
    Root(usize),
}

fn kind(snapshot: &Snapshot, root: usize, options: &ListingOptions) -> HostSource {
    match snapshot.roots.get(root) {
        Some(found) if found.source == RootSource::Project => {
            if found.path.starts_with(&options.working) {
                HostSource::Working
            } else {
                HostSource::Above
            }
        }
        _ => HostSource::Root(root),
    }
}

fn element(name: &str, description: &str, source: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<skill>\n  <name>{}</name>\n  <description>{}</description>\n  <location>{source}</location>\n</skill>",
        escape(name),
        escape(description)
    );
    text
}

const fn word(source: Option<RootSource>) -> &'static str {
    match source {
        Some(RootSource::Project) => "project",
        Some(RootSource::Extra) => "custom",
        _ => "user",
    }
}

/// Returns the line of bare names, and the number of names in it.
fn name_line(names: &[&str], room: usize) -> (String, usize) {
    let mut line = NAMES.to_owned();
    let mut length = units(NAMES);
    let mut n_named = 0;
    for name in names {
        let separator = if n_named == 0 { "" } else { ", " };
        let cost = units(separator) + units(name);
        if length + cost > room {
            break;
        }
        length += cost;
        n_named += 1;
        line.push_str(separator);
        line.push_str(name);
    }
    if names.is_empty() {
        return (String::new(), 0);
    }
    let left = names.len() - n_named;
    if left > 0 {
        let _ = write!(line, "... and {left} more");
    }
    line.push('\n');
    (line, n_named)
}
