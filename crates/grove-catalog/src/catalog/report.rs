//! The treatment of every skill in a catalog, with its reason and its cost, and advice on what to change.

use grove_spec::Code;
use grove_spec::text::{NAMES_SHOWN, first_names};

use crate::snapshot::{Skill, Snapshot};
use crate::state::EntryState;

use super::forest::{NodeId, is_named, is_opened};
use super::ladder::{EntryForm, PageState};
use super::locations::is_readable_back;
use super::texts::CatalogMaterial;
use super::writing::frame;
use super::{CatalogBudget, CatalogEntry, CatalogRequest};

/// The treatment of a skill in a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// It has an entry with its whole description.
    Listed,
    /// It has an entry with a shorter description.
    Shortened,
    /// It is named in the entry of its group.
    Named,
    /// It is behind the entry of a group that only counts it.
    Counted,
    /// It is a branch that was opened: its children stand in its place.
    Opened,
    /// It is behind the entry of its branch, as its author wants it.
    Inside,
}

impl Treatment {
    /// All treatments, the mildest first.
    pub const ALL: [Self; 6] = [
        Self::Listed,
        Self::Opened,
        Self::Inside,
        Self::Shortened,
        Self::Named,
        Self::Counted,
    ];

    /// Returns the word shown to people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Shortened => "shortened",
            Self::Named => "named",
            Self::Counted => "counted",
            Self::Opened => "opened",
            Self::Inside => "inside",
        }
    }

    /// Returns the reason for a treatment.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Listed => "it fits",
            Self::Shortened => "its description is longer than the space for each entry",
            Self::Named => "there was no room for an entry: its group's entry names it",
            Self::Counted => "there was no room for its name: its group's entry leads to it",
            Self::Opened => "it was opened: its children are shown in its place",
            Self::Inside => "it is a child: opening its branch shows it",
        }
    }
}

/// The treatment of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillReport {
    /// Index of the skill in the snapshot.
    pub skill: usize,
    /// The treatment that it got.
    pub treatment: Treatment,
    /// Index of the entry that is it or leads to it.
    pub entry: Option<usize>,
}

/// The report on one catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogReport {
    /// The budget that was set.
    pub budget: CatalogBudget,
    /// The part of the budget that the text takes.
    pub used: usize,
    /// The size that would show every skill in full.
    pub needed: usize,
    /// The number of entries that would show every skill.
    pub needed_entries: usize,
    /// The size of instructions, marks and aliases.
    pub frame: usize,
    /// Every skill that may be shown, in the order of the snapshot.
    pub lines: Vec<SkillReport>,
    /// The number of skills that the catalog does not lead to, by reason.
    pub not_offered: Vec<(&'static str, usize)>,
    /// Advice on what to change, the most useful first.
    pub advice: Vec<String>,
}

impl CatalogReport {
    /// Returns the number of skills with a treatment.
    pub fn count(&self, treatment: Treatment) -> usize {
        self.lines
            .iter()
            .filter(|line| line.treatment == treatment)
            .count()
    }

    /// Returns true if every skill is shown in full.
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
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    page: &[(NodeId, EntryForm)],
    entries: &[CatalogEntry],
    request: &CatalogRequest<'_>,
    used: usize,
) -> CatalogReport {
    let (snapshot, forest) = (material.snapshot, &material.forest);
    let mut entry_of: Vec<Option<usize>> = vec![None; forest.nodes.len()];
    for (at, (id, _)) in page.iter().enumerate() {
        entry_of[*id] = Some(at);
    }
    let mut lines = Vec::with_capacity(forest.nodes.len());
    for skill in 0..snapshot.skills.len() {
        let Some(id) = forest.node_of(skill) else {
            let is_opened = is_opened(snapshot, skill, request.expanded);
            lines.extend(is_opened.then_some(SkillReport {
                skill,
                treatment: Treatment::Opened,
                entry: None,
            }));
            continue;
        };
        let mut around = std::iter::once(id).chain(forest.ancestors(id));
        let shown = around.find_map(|at| Some((at, entry_of[at]?)));
        lines.push(SkillReport {
            skill,
            treatment: shown.map_or(Treatment::Counted, |(at, _)| {
                treatment(material, sight, id, at)
            }),
            entry: shown.map(|(_, entry)| entry),
        });
    }
    let spent: usize = entries.iter().map(|entry| entry.cost).sum();
    let (needed_entries, needed) = material.needed();
    let mut report = CatalogReport {
        budget: request.budget,
        used,
        needed: needed + frame(material),
        needed_entries,
        frame: used.saturating_sub(spent),
        lines,
        not_offered: not_offered(snapshot),
        advice: Vec::new(),
    };
    report.advice = advice(snapshot, &report, request);
    report
}

pub(super) fn of_nothing(
    material: &CatalogMaterial<'_>,
    request: &CatalogRequest<'_>,
) -> CatalogReport {
    let mut report = CatalogReport {
        budget: request.budget,
        used: 0,
        needed: 0,
        needed_entries: 0,
        frame: 0,
        lines: Vec::new(),
        not_offered: not_offered(material.snapshot),
        advice: Vec::new(),
    };
    report.advice = advice(material.snapshot, &report, request);
    report
}

fn treatment(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    id: NodeId,
    entry: NodeId,
) -> Treatment {
    let text = material.text(id);
    match sight.forms[entry] {
        Some(EntryForm::Skill(_)) if id != entry => Treatment::Inside,
        Some(EntryForm::Skill(cut)) if cut.end == text.description.len() && !text.is_cut => {
            Treatment::Listed
        }
        Some(EntryForm::Skill(_)) => Treatment::Shortened,
        Some(EntryForm::Closed { named: true })
            if material.forest.nodes[id].parent == Some(entry) =>
        {
            Treatment::Named
        }
        Some(EntryForm::Closed { .. }) | None => Treatment::Counted,
    }
}

/// Counts the skills that are in no catalog, and those that were not even read.
fn not_offered(snapshot: &Snapshot) -> Vec<(&'static str, usize)> {
    let states = EntryState::ALL.into_iter().filter(|state| {
        // A capped skill is in the catalog, a shadowed one has a stand-in, and switching one off is intended.
        !matches!(
            state,
            EntryState::Ok
                | EntryState::Capped
                | EntryState::Shadowed
                | EntryState::Disabled
                | EntryState::Filtered
        )
    });
    let of_state = |state: EntryState| {
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

fn advice(
    snapshot: &Snapshot,
    report: &CatalogReport,
    request: &CatalogRequest<'_>,
) -> Vec<String> {
    let mut advice = Vec::new();
    let count = |why: &str| report.not_offered.iter().find(|(of, _)| *of == why);
    let is_capped = |skill: &&Skill| skill.state == EntryState::Capped;
    let n_capped = snapshot.skills.iter().filter(is_capped).count();
    if n_capped > 0 {
        let message = "named in their groups and have no entries of their own, since their root or source has too many: raise `limits.loaded_per_root` and `limits.loaded_per_source`, or use --all";
        advice.push(format!("{} {message}", are(n_capped)));
    }
    if let Some((_, count)) = count("not-read") {
        let message = "not read: raise `limits.candidates_per_root`, or use --all";
        advice.push(format!("{} {message}", are(*count)));
    }
    if let Some((_, count)) = count("untrusted") {
        advice.push(format!(
            "{} of a project that is not trusted: review them, then run `grove trust`",
            are(*count)
        ));
    }
    let pinned = request.pinned.iter().filter(|name| {
        let bears = |skill: &Skill| is_named(snapshot, skill, std::slice::from_ref(*name));
        !snapshot.skills.iter().any(bears)
    });
    let missing: Vec<String> = pinned.cloned().collect();
    if !missing.is_empty() {
        advice.push(format!(
            "no skills have these names from `catalog.pinned`: {}",
            first_names(&missing)
        ));
    }
    let untold = snapshot
        .roots
        .iter()
        .filter(|root| !is_readable_back(&root.path));
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
            // Bytes are compared first, as their number is known without counting.
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
    if request.pinned.is_empty() {
        advice.push("list the skills that must stay visible in `catalog.pinned`".to_owned());
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
