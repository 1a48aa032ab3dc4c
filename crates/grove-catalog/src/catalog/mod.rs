//! The catalog: the text about a snapshot that a model reads, inside a hard budget, with nothing hidden.
//!
//! Skills, branches and groups are one forest, made without a budget. A ladder of steps shows more and more of it, and a
//! catalog is the result of the longest run of first steps that fits: more room never takes anything away. Pure: index
//! files are returned, not written.

pub mod budget;
mod counting;
mod cut;
pub(crate) mod forest;
pub mod index;
mod ladder;
mod locations;
mod report;
mod style;
mod task_order;
pub(crate) mod texts;
mod two_threads;
mod update;
mod writing;

use std::collections::BTreeMap;
use std::path::Path;

use crate::root::RootSource;
use crate::snapshot::Snapshot;
use grove_spec::Digest;

pub(crate) use style::shown_name;

pub use budget::{BudgetUnit, CatalogBudget};
pub use counting::within_tokens;
pub use cut::shorten;
pub use index::IndexFile;
pub use locations::{LocationAlias, is_readable_back, shown as shown_path};
pub use report::{CatalogReport, SkillReport, Treatment};
pub use style::{CatalogStyle, entry_line};
pub use task_order::{PlacedBy, TaskOrder};
pub use update::{CatalogNow, KnownSkills, update};

/// The instructions before entries with locations.
pub const INSTRUCTIONS: &str = "Skills are instructions for particular tasks. Read the descriptions first. If exactly one clearly applies, read its location and follow it. If several could, take the most specific. If none does, use none. Never read more than one up front, and only after choosing. An entry for several skills: its location lists them; opening it is choosing, not a second skill.";

/// The instructions before entries without locations.
pub const INSTRUCTIONS_BY_NAME: &str = "Skills are instructions for particular tasks. Read the descriptions first. If exactly one clearly applies, open it by its name and follow it. If several could, take the most specific. If none does, use none. Never open more than one up front, and only after choosing. A name that ends in / stands for several skills: opening it lists them and is choosing, not a second skill.";

/// The options of one catalog.
#[derive(Debug, Clone)]
pub struct CatalogRequest<'a> {
    /// The style in which it is written.
    pub style: CatalogStyle,
    /// The limits on its size.
    pub budget: CatalogBudget,
    /// The folder that is shown as `~`.
    pub home: Option<&'a Path>,
    /// The folder for index files.
    pub index_dir: &'a Path,
    /// Names, ids or addresses that must stay in sight.
    pub pinned: &'a [String],
    /// The recent use of skills, by address.
    pub usage: &'a BTreeMap<String, u32>,
    /// Keys of branches and groups that were opened, the last one last.
    pub expanded: &'a [String],
    /// Addresses of skills that the reader already has.
    pub exclude: &'a [String],
    /// The order of skills for the reader's task; none for the usual order.
    pub task: Option<&'a TaskOrder>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogEntryKind {
    /// A skill without children.
    Skill,
    /// A skill with children, which it stands for.
    Branch,
    /// A folder of skills, which it stands for.
    Group,
    /// Everything that has no other entry.
    Rest,
}

impl CatalogEntryKind {
    /// Returns the word shown to people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Branch => "branch",
            Self::Group => "group",
            Self::Rest => "rest",
        }
    }
}

/// One entry of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The kind of this entry.
    pub kind: CatalogEntryKind,
    /// `id@label` of a skill, `path/@label` of a group; empty for the rest.
    pub key: String,
    /// The name as it is shown.
    pub name: String,
    /// The description as it is shown.
    pub description: Option<String>,
    /// The location in full.
    pub location: String,
    /// Its location as it stands in the text, where a beginning may be an alias.
    pub shown_location: String,
    /// The source it comes from; none for the rest.
    pub source: Option<RootSource>,
    /// The number of skills it stands for.
    pub skills: usize,
    /// The cause of its place on the page.
    pub placed_by: PlacedBy,
    /// The cost in the budget's unit.
    pub cost: usize,
}

/// The text for a model, with a report of how it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// The exact text for the model; empty when there are no skills to show.
    pub text: String,
    /// The entries in the order of the text.
    pub entries: Vec<CatalogEntry>,
    /// Files that must exist before the text is read.
    pub index: Vec<IndexFile>,
    /// The folders behind the short beginnings of locations in the text.
    pub location_aliases: Vec<LocationAlias>,
    /// The treatment of every skill, with its reason.
    pub report: CatalogReport,
    /// The digest of the text.
    pub digest: Digest,
}

impl Catalog {
    /// Returns the number of characters of the text.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Returns the tokens of the text, estimated as a quarter of its bytes.
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(budget::BYTES_PER_TOKEN)
    }

    /// Returns the empty catalog, for a snapshot without skills to show.
    fn nothing(material: &texts::CatalogMaterial<'_>, request: &CatalogRequest<'_>) -> Self {
        Self {
            text: String::new(),
            entries: Vec::new(),
            index: Vec::new(),
            location_aliases: Vec::new(),
            report: report::of_nothing(material, request),
            digest: Digest::of(b""),
        }
    }
}

/// Returns the key under which a branch or group is opened.
pub fn group_key(path: &str, label: &str) -> String {
    format!("{path}/@{label}")
}

/// Returns the indexes of the skills of a snapshot that are in the groups with this name or key.
pub(crate) fn group_members(
    snapshot: &Snapshot,
    request: &CatalogRequest<'_>,
    named: &str,
) -> Vec<usize> {
    let wishes = forest::ForestOptions {
        exclude: request.exclude,
        pinned: request.pinned,
        opened: request.expanded,
    };
    let forest = forest::Forest::of(snapshot, &wishes);
    let wanted = named.trim_end_matches('/');
    let is_meant = |id: &forest::NodeId| {
        let name = forest.name(snapshot, *id);
        name.trim_end_matches('/') == wanted || forest.key(snapshot, *id) == named
    };
    let meant: Vec<forest::NodeId> = forest.groups().filter(is_meant).collect();
    let is_member = |skill: &usize| {
        let node = forest.node_of(*skill);
        node.is_some_and(|id| forest.ancestors(id).any(|above| meant.contains(&above)))
    };
    (0..snapshot.skills.len()).filter(is_member).collect()
}

/// Returns the catalog of a snapshot: the longest run of first steps of the ladder that fits the budget.
pub fn catalog(snapshot: &Snapshot, request: &CatalogRequest<'_>) -> Catalog {
    let material = texts::CatalogMaterial::of(snapshot, request);
    if material.forest.nodes.len() == 1 {
        return Catalog::nothing(&material, request);
    }
    let ladder = ladder::Ladder::of(&material, request, request.budget.size);
    let rung = ladder.rung_within(request.budget.size);
    writing::write(&material, &ladder.page(&material, rung), request)
}
