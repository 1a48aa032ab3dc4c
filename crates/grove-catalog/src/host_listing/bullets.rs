//! `- name: description`: every name stays, and descriptions stay while they fit.
//!
//! Skills of the program itself always keep their descriptions. The others are tried in the order of their use, and
//! each keeps its whole description or loses it; before anything was used, the order is that of the list.

use super::measure::{columns, first_units, units};
use super::{ListedForm, ListingDraft, ListingEntry, ListingOptions, built_in_beside, collation};
use crate::hosts::{BuiltInSkill, Host};

const HEADING: &str = "The following skills are available for use with the Skill tool:\n\n";

/// The length of `- ` before a name, and of `: ` after it.
const BULLET: usize = 2;
const COLON: usize = 2;

pub(super) fn draft(
    host: &Host,
    mut entries: Vec<ListingEntry>,
    options: &ListingOptions,
) -> ListingDraft {
    entries.sort_by(|a, b| {
        a.root
            .cmp(&b.root)
            .then_with(|| collation::compare(&a.name, &b.name))
    });
    let longest = host.budget.entry_chars.unwrap_or(usize::MAX);
    let built_in = built_in_beside(host, &entries);
    let lines: Vec<BulletEntry> = entries
        .into_iter()
        .map(|entry| BulletEntry::new(entry, longest))
        .collect();
    let limit = options.limit(host);
    let (kept, used) = keep(&lines, &built_in, limit);
    let mut text = String::new();
    let mut shown = Vec::with_capacity(lines.len());
    for (line, kept) in lines.into_iter().zip(kept) {
        text.push_str(if text.is_empty() { HEADING } else { "\n" });
        text.push_str("- ");
        text.push_str(&line.entry.name);
        let how = if kept {
            text.push_str(": ");
            text.push_str(&line.description);
            line.how
        } else {
            ListedForm::NameOnly
        };
        shown.push(line.entry.shown(how));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    ListingDraft { text, shown, used }
}

/// A skill with its description as it would be shown.
struct BulletEntry {
    entry: ListingEntry,
    description: String,
    how: ListedForm,
    name_cost: usize,
    description_cost: usize,
}

impl BulletEntry {
    fn new(entry: ListingEntry, longest: usize) -> Self {
        let (description, how) = if units(&entry.description) > longest {
            let kept = first_units(&entry.description, longest.saturating_sub(1));
            let how = ListedForm::Shortened(kept.chars().count());
            (format!("{kept}…"), how)
        } else {
            (entry.description.clone(), ListedForm::Full)
        };
        Self {
            name_cost: BULLET + columns(&entry.name),
            description_cost: COLON + columns(&description),
            entry,
            description,
            how,
        }
    }
}

/// Decides which descriptions stay, and returns the cost of the list.
fn keep(lines: &[BulletEntry], built_in: &[&BuiltInSkill], limit: usize) -> (Vec<bool>, usize) {
    let all = lines.len() + built_in.len();
    let breaks = all.saturating_sub(1);
    let names: usize = lines.iter().map(|line| line.name_cost).sum();
    let own = |skill: &&BuiltInSkill| BULLET + columns(&skill.name);
    let own_names: usize = built_in.iter().map(own).sum();
    let described = |stays: bool| {
        let skills = built_in.iter().filter(move |skill| skill.stays == stays);
        skills.map(|skill| COLON + skill.description)
    };
    let descriptions: usize = lines.iter().map(|line| line.description_cost).sum();
    let fixed = names + own_names + breaks + described(true).sum::<usize>();
    let full = fixed + descriptions + described(false).sum::<usize>();
    if full <= limit {
        return (vec![true; lines.len()], full);
    }
    let mut left = limit.saturating_sub(fixed);
    let mut take = |cost: usize| {
        let fits = cost <= left;
        if fits {
            left -= cost;
        }
        fits
    };
    let kept = lines
        .iter()
        .map(|line| take(line.description_cost))
        .collect();
    described(false).for_each(|cost| {
        take(cost);
    });
    (kept, fixed.max(limit) - left)
}

/// Returns a description with its `when_to_use`, joined as the host joins them.
pub(super) fn with_use(description: &str, when_to_use: Option<&str>) -> String {
    match when_to_use {
        Some(when) if !when.is_empty() => format!("{description} - {when}"),
        _ => description.to_owned(),
    }
}
