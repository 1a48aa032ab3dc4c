//! The catalog: what a model is told of a snapshot, inside a hard budget, with nothing hidden.
//!
//! When everything fits, everything is shown as it is. When it does not: shorter locations, then collapsed
//! groups and branches, then shorter descriptions, then names alone, and what is left out is counted and
//! reached through an index file. Pure: index files are returned, not written.

pub mod budget;
mod cards;
mod fit;
mod forest;
pub mod index;
mod locations;
mod priority;
mod report;
mod shorten;
mod style;
mod update;

use std::collections::BTreeMap;
use std::path::Path;

use grove_spec::text::counted;

use crate::digest::Digest;
use crate::snapshot::Snapshot;

pub use budget::{Budget, Unit};
pub use index::IndexFile;
pub use locations::shown as shown_path;
pub use report::{Line, Report, Treatment};
pub use shorten::shorten;
pub use style::Style;
pub use update::update;

use budget::{Pool, own_share};
use cards::Cards;
use fit::{Fitted, Form, Opened, Room};
use forest::{Forest, Kind, NodeId};
use index::Binding;
use locations::{Place, Prefixes};

/// What a reader is told before the entries, in every style.
pub const INSTRUCTIONS: &str = "Skills are instructions for particular tasks. Read the descriptions first. If exactly one clearly applies, read its location and follow it. If several could, take the most specific. If none does, use none. Never read more than one up front, and only after choosing. An entry for several skills: its location lists them; opening it is choosing, not a second skill.";

/// What is asked of a catalog.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// How it is written.
    pub style: Style,
    /// What it may take.
    pub budget: Budget,
    /// The folder that is shown as `~`.
    pub home: Option<&'a Path>,
    /// Where index files will be.
    pub index_dir: &'a Path,
    /// Names, ids or addresses that must stay in sight.
    pub pinned: &'a [String],
    /// How much skills were used of late, by address.
    pub usage: &'a BTreeMap<String, u32>,
    /// Keys of branches and groups that were opened, the last one last.
    pub expanded: &'a [String],
    /// Addresses of skills that the reader already has.
    pub exclude: &'a [String],
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A skill.
    Skill,
    /// A skill with children, which it stands for.
    Branch,
    /// A folder of skills, which it stands for.
    Group,
    /// Everything that did not fit.
    Rest,
}

impl EntryKind {
    /// The word shown to people and in JSON.
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
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// `id@label` of a skill, `path/@label` of a group; empty for the rest.
    pub key: String,
    /// Its name as shown.
    pub name: String,
    /// Its description as shown.
    pub description: Option<String>,
    /// Its location as shown.
    pub location: String,
    /// How many skills it stands for.
    pub skills: usize,
    /// What it costs in the budget's unit.
    pub cost: usize,
}

/// The text for a model, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// Exactly what the model is told; empty when there is nothing to tell.
    pub text: String,
    /// The entries in the order of the text.
    pub entries: Vec<Entry>,
    /// Files that must exist before the text is read.
    pub index: Vec<IndexFile>,
    /// What was done to which skill, and why.
    pub report: Report,
    /// The digest of the text.
    pub digest: Digest,
}

impl Catalog {
    /// Characters of the text.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Tokens of the text, estimated as a quarter of its bytes.
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(budget::BYTES_PER_TOKEN)
    }
}

/// The key under which a branch or group is opened.
pub fn group_key(path: &str, label: &str) -> String {
    format!("{path}/@{label}")
}

/// Plans and writes the catalog of a snapshot.
pub fn catalog(snapshot: &Snapshot, request: &Request<'_>) -> Catalog {
    let forest = Forest::of(snapshot, request);
    let mut prefixes = Prefixes::of(snapshot, request.home, request.index_dir);
    let mut cards = Cards::of(
        snapshot,
        &forest,
        &prefixes,
        request.style,
        request.budget.unit,
    );
    let opened = Opened::new(&forest, asked_for(snapshot, &forest, request.expanded));
    let plan = Plan::make(
        snapshot,
        &forest,
        &mut cards,
        &mut prefixes,
        opened,
        request.budget,
    );
    prefixes.drop_aliases_that_cost(
        &plan.uses(&cards, &prefixes),
        request.style,
        request.budget.unit,
    );
    cards.price(&prefixes);
    plan.write(snapshot, &forest, &cards, &prefixes, request)
}

/// The nodes that were opened on request, oldest first.
fn asked_for(snapshot: &Snapshot, forest: &Forest<'_>, expanded: &[String]) -> Vec<NodeId> {
    if expanded.is_empty() {
        return Vec::new();
    }
    let with_children = |id: &NodeId| {
        forest
            .node(*id)
            .is_some_and(|node| !node.children.is_empty())
    };
    let keys: BTreeMap<String, NodeId> = forest
        .bottom_up
        .iter()
        .copied()
        .filter(with_children)
        .map(|id| (key(snapshot, forest, id), id))
        .collect();
    expanded
        .iter()
        .filter_map(|wanted| keys.get(wanted).copied())
        .collect()
}

fn key(snapshot: &Snapshot, forest: &Forest<'_>, id: NodeId) -> String {
    let Some(node) = forest.node(id) else {
        return String::new();
    };
    match node.kind {
        Kind::Leaf(skill) | Kind::Branch(skill) => snapshot
            .skills
            .get(skill)
            .map(|skill| snapshot.address(skill))
            .unwrap_or_default(),
        Kind::Group(path) => group_key(
            path,
            snapshot.roots.get(node.root).map_or("", |root| &root.label),
        ),
    }
}

/// Which entries there will be, and in which form.
struct Plan {
    opened: Opened,
    shown: Vec<(NodeId, Form)>,
    left_out: Vec<NodeId>,
    budget: Budget,
    /// What everything would take if nothing were done.
    needed: Room,
}

impl Plan {
    fn make(
        snapshot: &Snapshot,
        forest: &Forest<'_>,
        cards: &mut Cards<'_>,
        prefixes: &mut Prefixes,
        opened: Opened,
        budget: Budget,
    ) -> Self {
        let whole = |prefixes: &Prefixes| Room {
            size: budget
                .size
                .saturating_sub(frame(cards.style, prefixes, budget.unit)),
            entries: budget.entries,
        };
        let room = whole(prefixes);
        let needed = sum(forest, cards, &opened);
        let fits =
            |needed: Room, room: Room| needed.size <= room.size && needed.entries <= room.entries;
        let everything = |opened: Opened| {
            let shown = [Pool::Own, Pool::Others]
                .into_iter()
                .flat_map(|pool| opened.entries(forest, pool).collect::<Vec<_>>());
            Self {
                shown: shown.map(|id| (id, Form::Full)).collect(),
                opened,
                left_out: Vec::new(),
                budget,
                needed,
            }
        };
        if fits(needed, room) {
            return everything(opened);
        }
        let all = [Pool::Own, Pool::Others]
            .into_iter()
            .flat_map(|pool| opened.entries(forest, pool).collect::<Vec<_>>());
        let mut uses = count_prefixes(cards, prefixes.len(), all);
        if let Some(of_index) = uses.last_mut() {
            // Whatever can be collapsed may come to lead to an index file.
            *of_index = forest
                .nodes
                .iter()
                .filter(|node| !node.children.is_empty())
                .count();
        }
        for uses in &mut uses {
            *uses = (*uses).min(budget.entries);
        }
        prefixes.alias_where_it_saves(&uses, cards.style, budget.unit);
        cards.price(prefixes);
        let room = Room {
            size: budget
                .size
                .saturating_sub(frame(cards.style, prefixes, budget.unit)),
            entries: budget.entries,
        };
        if fits(sum(forest, cards, &opened), room) {
            return everything(opened);
        }
        let mut plan = Self {
            opened: opened.clone(),
            shown: Vec::new(),
            left_out: Vec::new(),
            budget,
            needed,
        };
        plan.share(snapshot, forest, cards, room);
        if !plan.left_out.is_empty() {
            // The entry for the rest needs room of its own.
            let rest = Rest {
                n_skills: forest.nodes.len(),
            }
            .cost(cards.style, prefixes, budget.unit);
            let room = Room {
                size: room.size.saturating_sub(rest),
                entries: room.entries.saturating_sub(1),
            };
            plan.opened = opened;
            plan.share(snapshot, forest, cards, room);
        }
        plan
    }

    /// How many of the entries begin with each prefix.
    fn uses(&self, cards: &Cards<'_>, prefixes: &Prefixes) -> Vec<usize> {
        let mut uses = count_prefixes(cards, prefixes.len(), self.shown.iter().map(|(id, _)| *id));
        if let Some(of_index) = uses.last_mut().filter(|_| !self.left_out.is_empty()) {
            *of_index += 1;
        }
        uses
    }

    /// Fits both pools into the room, the user's own first.
    fn share(&mut self, snapshot: &Snapshot, forest: &Forest<'_>, cards: &Cards<'_>, room: Room) {
        (self.shown, self.left_out) = (Vec::new(), Vec::new());
        let own = fit::need(forest, cards, &self.opened, Pool::Own);
        let others = fit::need(forest, cards, &self.opened, Pool::Others);
        let mut left = room;
        for pool in [Pool::Own, Pool::Others] {
            let share = match pool {
                Pool::Own => Room {
                    size: own_share(room.size, own.size, others.size),
                    entries: own_share(room.entries, own.entries, others.entries),
                },
                Pool::Others => left,
            };
            fit::collapse(forest, cards, &mut self.opened, pool, share);
            let Fitted {
                shown,
                left_out,
                used,
            } = fit::fill(snapshot, forest, cards, &self.opened, pool, share);
            left = Room {
                size: left.size - used.size,
                entries: left.entries - used.entries,
            };
            self.shown.extend(shown);
            self.left_out.extend(left_out);
        }
    }

    fn write(
        mut self,
        snapshot: &Snapshot,
        forest: &Forest<'_>,
        cards: &Cards<'_>,
        prefixes: &Prefixes,
        request: &Request<'_>,
    ) -> Catalog {
        self.shown
            .sort_by(|a, b| priority::on_the_page(snapshot, forest, a.0, b.0));
        self.left_out
            .sort_by(|a, b| priority::on_the_page(snapshot, forest, *a, *b));
        let mut binding = Binding {
            snapshot,
            forest,
            cards,
            prefixes,
            files: Vec::new(),
            of_node: vec![None; forest.nodes.len()],
        };
        binding.bind_nodes(|id| {
            !self.opened.is_open(id)
                || forest
                    .ancestors(id)
                    .any(|above| !self.opened.is_open(above))
        });
        let rest_file = if self.left_out.is_empty() {
            None
        } else {
            Some(binding.bind_tail(&self.left_out))
        };
        let Binding {
            files: index,
            of_node,
            ..
        } = binding;
        let mut entries: Vec<Entry> = self
            .shown
            .iter()
            .filter_map(|(id, form)| entry(snapshot, forest, cards, prefixes, &of_node, *id, *form))
            .collect();
        if let Some(file) = rest_file {
            let n_skills = self
                .left_out
                .iter()
                .filter_map(|id| forest.node(*id))
                .map(|node| node.n_skills)
                .sum();
            entries.push(Rest { n_skills }.entry(cards.style, prefixes, self.budget.unit, &file));
        }
        let text = written(cards.style, prefixes, &entries);
        let digest = Digest::of(text.as_bytes());
        let used = self.budget.unit.of(&text);
        let report = report::of(snapshot, forest, cards, &self, &entries, request, used);
        Catalog {
            text,
            entries,
            index,
            report,
            digest,
        }
    }
}

/// The entry that leads to everything that was left out.
struct Rest {
    n_skills: usize,
}

impl Rest {
    const NAME: &'static str = "more/";

    fn description(&self) -> String {
        format!(
            "{} that did not fit here, by name.",
            counted(self.n_skills, "more skill")
        )
    }

    fn entry(&self, style: Style, prefixes: &Prefixes, unit: Unit, file: &str) -> Entry {
        let place = Place {
            prefix: prefixes.of_index(),
            rest: file.to_owned(),
        };
        let (location, description) = (prefixes.location(&place), self.description());
        let mut text = String::new();
        style.entry(&mut text, Self::NAME, Some(&description), &location);
        Entry {
            kind: EntryKind::Rest,
            key: String::new(),
            name: Self::NAME.to_owned(),
            description: Some(description),
            location,
            skills: self.n_skills,
            cost: unit.of(&text),
        }
    }

    fn cost(&self, style: Style, prefixes: &Prefixes, unit: Unit) -> usize {
        let file = format!("{:0>width$}.md", "", width = cards::INDEX_NAME_DIGITS);
        self.entry(style, prefixes, unit, &file).cost
    }
}

fn entry(
    snapshot: &Snapshot,
    forest: &Forest<'_>,
    cards: &Cards<'_>,
    prefixes: &Prefixes,
    of_node: &[Option<String>],
    id: NodeId,
    form: Form,
) -> Option<Entry> {
    let (node, card) = (forest.node(id)?, cards.card(id)?);
    let place = match of_node.get(id).and_then(Option::as_ref) {
        Some(file) => Place {
            prefix: prefixes.of_index(),
            rest: file.clone(),
        },
        None => card.place.clone(),
    };
    let description = match form {
        Form::Full => Some(card.description.clone()).filter(|text| !text.is_empty()),
        Form::Within(room) => cards.shortened(id, room).1,
        Form::NameOnly => None,
    };
    let kind = match node.kind {
        Kind::Leaf(_) => EntryKind::Skill,
        Kind::Branch(_) => EntryKind::Branch,
        Kind::Group(_) => EntryKind::Group,
    };
    Some(Entry {
        kind,
        key: key(snapshot, forest, id),
        name: card.name.to_string(),
        description: description.map(std::borrow::Cow::into_owned),
        location: prefixes.location(&place),
        skills: node.n_skills,
        cost: fit::cost(cards, id, form),
    })
}

fn written(style: Style, prefixes: &Prefixes, entries: &[Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut body = String::with_capacity(entries.len() * 200);
    for entry in entries {
        style.entry(
            &mut body,
            &entry.name,
            entry.description.as_deref(),
            &entry.location,
        );
    }
    format!(
        "{}{}{}",
        opening(style, prefixes),
        style.joined(body),
        style.closing()
    )
}

/// What comes before the entries: how to choose, and what the aliases stand for.
fn opening(style: Style, prefixes: &Prefixes) -> String {
    let legend = prefixes.legend();
    let legend = if style == Style::Json {
        legend.into()
    } else {
        style.escape(&legend)
    };
    style.opening(&format!("{INSTRUCTIONS}{legend}"))
}

/// What a catalog costs beside its entries.
fn frame(style: Style, prefixes: &Prefixes, unit: Unit) -> usize {
    unit.of(&opening(style, prefixes)) + style.closing().len()
}

fn sum(forest: &Forest<'_>, cards: &Cards<'_>, opened: &Opened) -> Room {
    let own = fit::need(forest, cards, opened, Pool::Own);
    let others = fit::need(forest, cards, opened, Pool::Others);
    Room {
        size: own.size + others.size,
        entries: own.entries + others.entries,
    }
}

/// How many entries begin with each prefix.
fn count_prefixes(
    cards: &Cards<'_>,
    prefixes: usize,
    entries: impl Iterator<Item = NodeId>,
) -> Vec<usize> {
    let mut uses = vec![0; prefixes];
    for id in entries {
        if let Some(count) = cards
            .card(id)
            .and_then(|card| uses.get_mut(card.place.prefix))
        {
            *count += 1;
        }
    }
    uses
}
