//! What was done to which skill, why, at what cost, and what one could do about it.

use grove_spec::Code;
use grove_spec::text::{NAMES_SHOWN, first_names};

use crate::snapshot::{Skill, Snapshot};
use crate::state::State;

use super::cards::Cards;
use super::fit::Form;

use super::forest::{Forest, Kind, NodeId};
use super::locations::can_be_told;
use super::plan::{Material, Plan};
use super::{Budget, Entry, EntryKind, Request};

/// What became of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// It has an entry with its whole description.
    Listed,
    /// It has an entry with a shorter description.
    Shortened,
    /// It has an entry without a description.
    NameOnly,
    /// It is a branch that was opened: its children stand in its place.
    Opened,
    /// It is behind the entry of its branch, as its author wants it.
    Inside,
    /// It is behind the entry of its group, because there was no room.
    Collapsed,
    /// It is behind the entry for the rest.
    LeftOut,
}

impl Treatment {
    /// All treatments, from the mildest on.
    pub const ALL: [Self; 7] = [
        Self::Listed,
        Self::Shortened,
        Self::NameOnly,
        Self::Opened,
        Self::Inside,
        Self::Collapsed,
        Self::LeftOut,
    ];

    /// The word shown to people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Shortened => "shortened",
            Self::NameOnly => "name-only",
            Self::Opened => "opened",
            Self::Inside => "inside",
            Self::Collapsed => "collapsed",
            Self::LeftOut => "left-out",
        }
    }

    /// Why a skill was treated so.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Listed => "it fits",
            Self::Shortened => "its description is longer than the room for each",
            Self::NameOnly => "there was no room for its description",
            Self::Opened => "it was opened: its children stand in its place",
            Self::Inside => "it is a child: opening its branch shows it",
            Self::Collapsed => "there was no room for its group: the group's entry leads to it",
            Self::LeftOut => "there was no room for its name: the last entry leads to it",
        }
    }
}

/// What became of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Index of the skill in the snapshot.
    pub skill: usize,
    /// What was done.
    pub treatment: Treatment,
    /// Index of the entry that is it or leads to it.
    pub entry: Option<usize>,
}

/// How a catalog came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The budget.
    pub budget: Budget,
    /// What the text takes of it.
    pub used: usize,
    /// What the text would take if nothing were done to it.
    pub needed: usize,
    /// How many entries there would be.
    pub needed_entries: usize,
    /// What instructions, marks and aliases take.
    pub frame: usize,
    /// Every skill that may be shown, in the order of the snapshot.
    pub lines: Vec<Line>,
    /// Skills that are not in the catalog's reach, by why, with how many.
    pub not_offered: Vec<(&'static str, usize)>,
    /// What one could do, most useful first.
    pub advice: Vec<String>,
}

impl Report {
    /// How many skills were treated so.
    pub fn count(&self, treatment: Treatment) -> usize {
        self.lines
            .iter()
            .filter(|line| line.treatment == treatment)
            .count()
    }

    /// Whether every skill is shown as it is.
    pub fn is_whole(&self) -> bool {
        self.lines.iter().all(|line| {
            matches!(
                line.treatment,
                Treatment::Listed | Treatment::Opened | Treatment::Inside
            )
        })
    }
}

pub(super) fn of(
    material: &Material<'_>,
    plan: &Plan,
    entries: &[Entry],
    request: &Request<'_>,
    used: usize,
) -> Report {
    let (forest, cards) = (&material.forest, &material.cards);
    let mut entry_of: Vec<Option<(usize, Treatment)>> = vec![None; forest.nodes.len()];
    for (at, (id, form)) in plan.shown.iter().enumerate() {
        set(&mut entry_of, *id, (at, treatment(cards, *id, form)));
    }
    let rest = entries
        .iter()
        .position(|entry| entry.kind == EntryKind::Rest);
    for id in &plan.left_out {
        set(&mut entry_of, *id, (rest.unwrap_or(0), Treatment::LeftOut));
    }
    let mut lines: Vec<Line> = Vec::with_capacity(forest.nodes.len());
    for (id, node) in forest.nodes.iter().enumerate() {
        let (Kind::Leaf(skill) | Kind::Branch(skill)) = node.kind else {
            continue;
        };
        let found = std::iter::once(id)
            .chain(forest.ancestors(id))
            .find_map(|at| entry_of.get(at).copied().flatten().map(|found| (at, found)));
        let is_opened = plan.opened.is_open(id);
        lines.push(match found {
            _ if is_opened => Line {
                skill,
                treatment: Treatment::Opened,
                entry: None,
            },
            None => Line {
                skill,
                treatment: Treatment::Inside,
                entry: None,
            },
            Some((at, (entry, treatment))) => Line {
                skill,
                treatment: below(forest, id, at, treatment),
                entry: Some(entry),
            },
        });
    }
    lines.sort_by_key(|line| line.skill);
    let spent: usize = entries.iter().map(|entry| entry.cost).sum();
    let mut report = Report {
        budget: material.budget,
        used,
        needed: plan.needed.size,
        needed_entries: plan.needed.entries,
        frame: used.saturating_sub(spent),
        lines,
        not_offered: not_offered(material.snapshot),
        advice: Vec::new(),
    };
    report.advice = advice(material.snapshot, &report, request);
    report
}

/// What was done to an entry.
fn treatment(cards: &Cards<'_>, id: NodeId, form: &Form) -> Treatment {
    let Some(card) = cards.card(id) else {
        return Treatment::Listed;
    };
    let shown = match form {
        Form::Full => &*card.description,
        Form::Excerpt { text, .. } => text,
        Form::NameOnly => return Treatment::NameOnly,
    };
    if shown == card.description && !card.cut {
        Treatment::Listed
    } else if shown.is_empty() {
        Treatment::NameOnly
    } else {
        Treatment::Shortened
    }
}

/// Skills that nobody is told of, and those that were not even read.
fn not_offered(snapshot: &Snapshot) -> Vec<(&'static str, usize)> {
    let states = State::ALL.into_iter().filter(|state| {
        // What is shadowed has a stand-in, and what was switched off was meant to be.
        !matches!(
            state,
            State::Ok | State::Shadowed | State::Disabled | State::Filtered
        )
    });
    let of_state = |state: State| {
        let skills = snapshot.skills.iter();
        skills.filter(|skill| skill.state == state).count()
    };
    let not_read = snapshot
        .diagnostics
        .iter()
        .filter(|finding| finding.code == Code::CandidateLimit)
        .map(|finding| finding.names.len())
        .sum();
    let counted = states.map(|state| (state.as_str(), of_state(state)));
    counted
        .chain([("not-read", not_read)])
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn set(slots: &mut [Option<(usize, Treatment)>], id: NodeId, value: (usize, Treatment)) {
    if let Some(slot) = slots.get_mut(id) {
        *slot = Some(value);
    }
}

/// What became of a node whose entry is that of a node above it.
fn below(forest: &Forest<'_>, id: NodeId, entry: NodeId, treatment: Treatment) -> Treatment {
    if id == entry || treatment == Treatment::LeftOut {
        return treatment;
    }
    match forest.node(entry).map(|node| node.kind) {
        Some(Kind::Branch(_)) => Treatment::Inside,
        _ => Treatment::Collapsed,
    }
}

fn advice(snapshot: &Snapshot, report: &Report, request: &Request<'_>) -> Vec<String> {
    let mut advice = Vec::new();
    let count = |why: &str| report.not_offered.iter().find(|(of, _)| *of == why);
    if let Some((_, count)) = count("capped") {
        let message =
            "beyond the limit of a source: raise `limits.loaded_per_source`, or use --all";
        advice.push(format!("{} {message}", are(*count)));
    }
    if let Some((_, count)) = count("not-read") {
        let message = "not read: raise `limits.candidates_per_root`, or use --all";
        advice.push(format!("{} {message}", are(*count)));
    }
    if let Some((_, count)) = count("untrusted") {
        advice.push(format!(
            "{} of a project that is not trusted: look at them, then `grove trust`",
            are(*count)
        ));
    }
    let pinned = request.pinned.iter().filter(|name| {
        let bears = |skill: &Skill| {
            skill.name() == **name || skill.id() == **name || snapshot.address(skill) == **name
        };
        !snapshot.skills.iter().any(bears)
    });
    let nobody: Vec<String> = pinned.cloned().collect();
    if !nobody.is_empty() {
        advice.push(format!(
            "no skill has these names of `catalog.pinned`: {}",
            first_names(&nobody)
        ));
    }
    let untold = snapshot
        .roots
        .iter()
        .filter(|root| !can_be_told(&root.path));
    for root in untold {
        advice.push(format!(
            "the path of {} cannot be told to a model: rename the folder",
            root.label
        ));
    }
    if report.is_whole() {
        return advice;
    }
    let mut longest: Vec<(usize, &Skill)> = report
        .lines
        .iter()
        .filter_map(|line| snapshot.skills.get(line.skill))
        .filter_map(|skill| {
            // Bytes first: they are known without counting.
            let text = skill.description().filter(|text| text.len() > 300)?;
            Some((text.chars().count(), skill))
        })
        .filter(|(length, _)| *length > 300)
        .collect();
    let order = |a: &(usize, &Skill), b: &(usize, &Skill)| {
        b.0.cmp(&a.0).then_with(|| a.1.name().cmp(b.1.name()))
    };
    if longest.len() > NAMES_SHOWN {
        longest.select_nth_unstable_by(NAMES_SHOWN, order);
    }
    let n_shown = NAMES_SHOWN.min(longest.len());
    if let Some(shown) = longest.get_mut(..n_shown) {
        shown.sort_by(order);
    }
    if !longest.is_empty() {
        let names: Vec<&str> = longest.iter().map(|(_, skill)| skill.name()).collect();
        advice.push(format!(
            "shorten the descriptions that are over 300 characters: {}",
            first_names(&names)
        ));
    }
    if report.count(Treatment::LeftOut) > 0 {
        advice.push("put skills that belong together into folders: a group collapses into one entry before anything is left out".to_owned());
    }
    if request.pinned.is_empty() {
        advice.push("name the skills that must stay in sight in `catalog.pinned`".to_owned());
    }
    let (needed, unit) = report.budget.shown(report.needed);
    let entries = report.needed_entries;
    advice.push(format!(
        "a budget of {needed} {unit} and {entries} entries would show everything that was read as it is"
    ));
    advice
}

fn are(count: usize) -> String {
    if count == 1 {
        "1 skill is".to_owned()
    } else {
        format!("{count} skills are")
    }
}
