//! Elements within a limit: in full, or without descriptions, or as many as fit. All descriptions are then cut to one
//! length that fits in the room left.
//!
//! The host's instructions count against its limit, and their length depends on the form of the entries.

use super::elements::{element, escape};
use super::measure::{first_units, units};
use super::{
    ListedForm, ListedSkill, ListingDraft, ListingEntry, ListingOptions, collation, path_text,
};
use crate::hosts::Host;

/// The shortest and the longest description for which the host makes room.
const SHORTEST: usize = 4;
const LONGEST: usize = 220;
const CUT: &str = "...";

pub(super) fn draft(
    host: &Host,
    mut entries: Vec<ListingEntry>,
    options: &ListingOptions,
) -> ListingDraft {
    entries.sort_by(|a, b| collation::compare(&a.name, &b.name));
    let limit = options.limit(host);
    let most = host.budget.skills.unwrap_or(usize::MAX);
    let cards: Vec<EscapedEntry> = entries
        .iter()
        .take(most)
        .map(|entry| EscapedEntry::new(entry, options))
        .collect();
    let plan = plan(&cards, entries.len(), limit);
    let text = plan.text(&cards, entries.len());
    let used = plan.cost(&cards, entries.len());
    let shown = entries.into_iter().enumerate().map(|(index, entry)| {
        let card = cards.get(index).filter(|_| index < plan.count);
        let form = plan.form;
        match card {
            None => entry.shown(ListedForm::LeftOut),
            Some(card) => card.shown(entry, form),
        }
    });
    ListingDraft {
        shown: shown.collect(),
        text,
        used,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompactForm {
    Full,
    /// Descriptions of at most this many units.
    Cut(usize),
    Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CompactPlan {
    count: usize,
    form: CompactForm,
    is_noted: bool,
}

fn plan(cards: &[EscapedEntry], total: usize, limit: usize) -> CompactPlan {
    let fits = |plan: CompactPlan| plan.cost(cards, total) <= limit;
    let of = |count: usize, form: CompactForm, is_noted: bool| CompactPlan {
        count,
        form,
        is_noted,
    };
    let all = cards.len();
    if fits(of(all, CompactForm::Full, true)) {
        return of(all, CompactForm::Full, true);
    }
    let mut count = most(0, all, |count| fits(of(count, CompactForm::Names, true)));
    if count == 0 && all > 0 {
        if fits(of(all, CompactForm::Full, false)) {
            return of(all, CompactForm::Full, false);
        }
        count = most(0, all, |count| fits(of(count, CompactForm::Names, false)));
    }
    let is_noted = fits(of(count, CompactForm::Names, true));
    let cut = |length: usize| of(count, CompactForm::Cut(length), is_noted);
    if count > 0 && fits(cut(SHORTEST)) {
        return cut(most(SHORTEST, LONGEST, |length| fits(cut(length))));
    }
    of(count, CompactForm::Names, is_noted)
}

/// Returns the largest number for which `holds` is true, by a binary search; `least` is not checked.
fn most(least: usize, largest: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (least, largest);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

impl CompactPlan {
    fn cost(self, cards: &[EscapedEntry], total: usize) -> usize {
        if self.count == 0 {
            return 0;
        }
        let entries = cards.iter().take(self.count);
        let entries: usize = entries.map(|card| card.cost(self.form)).sum();
        let note = self.note(total);
        let note = if note.is_empty() { 0 } else { units(&note) + 1 };
        note + self.form.instructions() + entries
    }

    fn text(self, cards: &[EscapedEntry], total: usize) -> String {
        if self.count == 0 {
            return String::new();
        }
        let mut text = self.note(total);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("<available_skills>\n");
        for card in cards.iter().take(self.count) {
            let description = card.described(self.form);
            let _ = element(
                &mut text,
                &card.name,
                description.as_deref(),
                &card.location,
            );
        }
        text.push_str("</available_skills>\n");
        text
    }

    fn note(self, total: usize) -> String {
        let detail = match self.form {
            CompactForm::Full => "",
            CompactForm::Cut(_) => "descriptions shortened",
            CompactForm::Names => "descriptions omitted",
        };
        let advice = "Run `openclaw skills check` to audit.";
        let count = self.count;
        if !self.is_noted {
            String::new()
        } else if count < total && detail.is_empty() {
            format!("⚠️ Skills truncated: included {count} of {total}. {advice}")
        } else if count < total {
            format!(
                "⚠️ Skills truncated: included {count} of {total} (compact format, {detail}). {advice}"
            )
        } else if detail.is_empty() {
            String::new()
        } else {
            format!("⚠️ Skills catalog using compact format ({detail}). {advice}")
        }
    }
}

impl CompactForm {
    /// Returns the length of the host's instructions and of the tags around the entries.
    const fn instructions(self) -> usize {
        match self {
            Self::Full => 370,
            Self::Cut(_) => 378,
            Self::Names => 363,
        }
    }
}

struct EscapedEntry {
    name: String,
    location: String,
    full: String,
    /// The description on one line, not escaped.
    line: String,
}

impl EscapedEntry {
    fn new(entry: &ListingEntry, options: &ListingOptions) -> Self {
        let home = options.home.as_deref();
        let location = match home.and_then(|home| entry.location.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", path_text(below)),
            None => path_text(&entry.location),
        };
        let words: Vec<&str> = entry.description.split_whitespace().collect();
        Self {
            name: escape(&entry.name),
            location: escape(&location),
            full: escape(&entry.description),
            line: words.join(" "),
        }
    }

    /// Returns the description in at most `length` units, and how many of its characters are the author's.
    fn cut(&self, length: usize) -> (String, usize) {
        if units(&self.line) <= length {
            return (self.line.clone(), self.line.chars().count());
        }
        let kept = first_units(&self.line, length.saturating_sub(CUT.len())).trim_end();
        (format!("{kept}{CUT}"), kept.chars().count())
    }

    fn described(&self, form: CompactForm) -> Option<String> {
        match form {
            CompactForm::Full => Some(self.full.clone()),
            CompactForm::Cut(length) => {
                let (text, _) = self.cut(length);
                (!text.is_empty()).then(|| escape(&text))
            }
            CompactForm::Names => None,
        }
    }

    fn cost(&self, form: CompactForm) -> usize {
        let description = self.described(form);
        // The length of an entry's tags with their line ends and indents.
        let tags = if description.is_some() { 97 } else { 65 };
        let description = description.map_or(0, |text| units(&text));
        tags + units(&self.name) + units(&self.location) + description
    }

    fn shown(&self, entry: ListingEntry, form: CompactForm) -> ListedSkill {
        let how = match form {
            CompactForm::Full => ListedForm::Full,
            CompactForm::Names if self.line.is_empty() => ListedForm::Full,
            CompactForm::Names => ListedForm::NameOnly,
            CompactForm::Cut(length) => {
                if units(&self.line) <= length {
                    ListedForm::Full
                } else {
                    let (_, kept) = self.cut(length);
                    ListedForm::Shortened(kept)
                }
            }
        };
        entry.shown(how)
    }
}
