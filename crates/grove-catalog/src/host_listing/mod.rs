//! The list that another host shows its model for the same skills: its form, its order, its budget and its cuts.
//!
//! Everything here was compared with the programs themselves (docs/hosts.md says how and with which
//! version). The sentences that a host writes around its list are its own and are not repeated; where
//! they count against its budget, their length does. Skills that come with a program take part in the
//! budget by their size and are not in the text.

mod aliased_files;
mod bullets;
mod collation;
mod compact;
mod elements;
mod fallback;
mod measure;
mod source_elements;

pub use measure::cost;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_spec::text::counted;

use crate::hosts::{BuiltInSkill, Host, ListMeasure, ListOverflow, ListStyle};
use crate::snapshot::{Skill, Snapshot};

/// The inputs of a listing besides the snapshot and the host.
#[derive(Debug, Clone, Default)]
pub struct ListingOptions {
    /// The user's home folder, for hosts that write it as `~` or keep their own skills there.
    pub home: Option<PathBuf>,
    /// The working folder, for hosts that put its skills apart from those of the folders above it.
    pub working: PathBuf,
    /// The context window in tokens, for hosts whose budget is a share of it; none means their default.
    pub window_tokens: Option<u64>,
    /// Bodies of skills without a description that the host can read, by their index in the snapshot: some hosts show a
    /// part.
    pub bodies: BTreeMap<usize, String>,
}

impl ListingOptions {
    fn limit(&self, host: &Host) -> usize {
        let limit = host.budget.limit(self.window_tokens);
        limit.unwrap_or(usize::MAX)
    }
}

/// The listing of a host, with a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostListing {
    /// The list as the host writes it, without its instructions; empty when it has nothing to list.
    pub text: String,
    /// The form of every skill that the host may show its model, in the host's order.
    pub shown: Vec<ListedSkill>,
    /// The cost of the list, and its limit.
    pub budget: ListingCost,
    /// Notes that a reader of this list needs.
    pub notes: Vec<String>,
}

/// The cost of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingCost {
    /// The unit that is counted.
    pub measure: ListMeasure,
    /// The limit, if there is one.
    pub limit: Option<usize>,
    /// The part of it that is used, with the host's own skills and all else that the host counts besides the entries.
    pub used: usize,
}

/// The form of one skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Its index in the snapshot.
    pub skill: usize,
    /// Its name as the host writes it.
    pub name: String,
    /// The form in which it is shown.
    pub how: ListedForm,
    /// The number of characters of its description in the list.
    pub description: usize,
}

/// The form in which a skill is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedForm {
    /// With its whole description.
    Full,
    /// With this many characters of its description, not counting the mark of the cut.
    Shortened(usize),
    /// By its name alone.
    NameOnly,
    /// The skill is not shown.
    LeftOut,
}

impl ListedForm {
    /// Returns the word for people and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Shortened(..) => "shortened",
            Self::NameOnly => "nameOnly",
            Self::LeftOut => "leftOut",
        }
    }
}

/// Renders the list of a host from a snapshot made with that host's view.
pub fn render(snapshot: &Snapshot, host: &Host, options: &ListingOptions) -> HostListing {
    let entries = entries(snapshot, host, options);
    let draft = match host.listing.style {
        ListStyle::Bullets => bullets::draft(host, entries, options),
        ListStyle::AliasedFiles => aliased_files::draft(snapshot, host, entries, options),
        ListStyle::SourceElements => source_elements::draft(snapshot, host, entries, options),
        ListStyle::PathElements | ListStyle::ReversedElements | ListStyle::SortedElements => {
            elements::draft(host, entries)
        }
        ListStyle::HomeElements => compact::draft(host, entries, options),
    };
    HostListing {
        notes: notes(host, &draft.shown),
        text: draft.text,
        shown: draft.shown,
        budget: ListingCost {
            measure: host.budget.measure,
            limit: host.budget.limit(options.window_tokens),
            used: draft.used,
        },
    }
}

struct ListingDraft {
    text: String,
    shown: Vec<ListedSkill>,
    used: usize,
}

struct ListingEntry {
    skill: usize,
    root: usize,
    name: String,
    description: String,
    location: PathBuf,
}

impl ListingEntry {
    fn shown(self, how: ListedForm) -> ListedSkill {
        let description = match how {
            ListedForm::Full => self.description.chars().count(),
            ListedForm::Shortened(kept) => kept,
            ListedForm::NameOnly | ListedForm::LeftOut => 0,
        };
        ListedSkill {
            skill: self.skill,
            name: self.name,
            how,
            description,
        }
    }
}

/// Returns the skills that the host may show its model, by root and id.
fn entries(snapshot: &Snapshot, host: &Host, options: &ListingOptions) -> Vec<ListingEntry> {
    let listed = |(index, skill): (usize, &Skill)| {
        if !(skill.state.is_listed() && skill.model_invocable()) {
            return None;
        }
        let style = host.listing.style;
        let body = options.bodies.get(&index);
        let description = match skill.description().filter(|_| body.is_none()) {
            Some(text) if style == ListStyle::Bullets => {
                bullets::with_use(text, skill.file().details().when_to_use.as_deref())
            }
            Some(text) => text.to_owned(),
            None => fallback::description(style, body.map_or("", String::as_str)),
        };
        Some(ListingEntry {
            skill: index,
            root: skill.place.root,
            name: host.identity.name_form.written(skill.name()).into_owned(),
            description,
            location: snapshot.location(&skill.place),
        })
    };
    snapshot
        .skills
        .iter()
        .enumerate()
        .filter_map(listed)
        .collect()
}

/// Returns the program's own skills that are listed beside these; an entry replaces one of the same name.
fn built_in_beside<'a>(host: &'a Host, entries: &[ListingEntry]) -> Vec<&'a BuiltInSkill> {
    let is_taken = |skill: &BuiltInSkill| entries.iter().any(|entry| entry.name == skill.name);
    host.listing
        .built_in
        .iter()
        .filter(|skill| !is_taken(skill))
        .collect()
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn notes(host: &Host, shown: &[ListedSkill]) -> Vec<String> {
    let mut notes = Vec::new();
    let title = &host.title;
    let built_in = &host.listing.built_in;
    if !built_in.is_empty() {
        let names: Vec<&str> = built_in.iter().map(|skill| skill.name.as_str()).collect();
        notes.push(format!(
            "{title} lists {} of its own besides: {}",
            counted(built_in.len(), "skill"),
            names.join(", ")
        ));
    }
    if host.budget.overflow == ListOverflow::NamesStay {
        notes.push(format!(
            "{title} keeps descriptions of skills that were used first; this is the list before any was"
        ));
    }
    let cut = shown.iter().any(|one| one.how != ListedForm::Full);
    if cut {
        notes.push(format!("{title}: {}", host.budget.about));
    }
    notes
}
