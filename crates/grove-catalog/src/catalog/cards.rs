//! The text of every possible entry, and what it costs.

use std::borrow::Cow;

use grove_spec::text::counted;

use crate::snapshot::{Skill, Snapshot};

use super::budget::Unit;
use super::fit::Form;
use super::forest::{Forest, Kind, Node, NodeId};
use super::locations::{Place, Prefixes, of_skill};
use super::shorten::{Sentences, shorten};
use super::style::{Line, Style, one_line};
use super::two_threads::on_two_threads;

/// The standard's limit for a description; what is longer is shortened to it in any catalog, so that no
/// skill can take the room of others.
pub(crate) const LONGEST_DESCRIPTION: usize = 1_024;

/// The standard's limit for a name.
const LONGEST_NAME: usize = 64;

/// How long the list of names in a group's entry may be.
const LONGEST_SUMMARY: usize = 160;

/// From so many nodes on the second core pays.
const NODES_FOR_TWO: usize = 2_000;

/// One possible entry.
#[derive(Debug)]
pub(crate) struct Card<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Empty when there is none.
    pub(crate) description: Cow<'a, str>,
    pub(crate) place: Place,
    /// Name and the rest of the location.
    parts: usize,
    described: usize,
    /// Some of the description was left out before anything was counted.
    pub(crate) cut: bool,
    /// Nothing in its place has to be escaped in an index.
    pub(crate) plain: bool,
}

/// A card for every node: what it would be as one entry.
#[derive(Debug)]
pub(crate) struct Cards<'a> {
    of_node: Vec<Card<'a>>,
    pub(crate) style: Style,
    pub(crate) unit: Unit,
    prefix_costs: Vec<usize>,
}

impl<'a> Cards<'a> {
    pub(crate) fn of(
        snapshot: &'a Snapshot,
        forest: &Forest<'a>,
        prefixes: &Prefixes,
        style: Style,
        unit: Unit,
    ) -> Self {
        let card = |(id, node): (NodeId, &Node<'a>)| {
            let (name, description, place, cut) = match node.kind {
                Kind::Leaf(skill) => of_leaf(snapshot.skills.get(skill)),
                Kind::Branch(skill) => {
                    let (name, description, _, cut) = of_leaf(snapshot.skills.get(skill));
                    let described = format!(
                        "({} inside) {}",
                        counted(node.n_skills - 1, "skill"),
                        description.text
                    );
                    (name, Line::ready(described), index_place(prefixes), cut)
                }
                Kind::Group(path) => {
                    let summary = if node.n_skills == 0 {
                        String::new()
                    } else {
                        summary(snapshot, forest, id)
                    };
                    (
                        Line::ready(name_of_group(path)),
                        Line::ready(summary),
                        index_place(prefixes),
                        false,
                    )
                }
            };
            let rest = Line::ready(&place.rest);
            let plain = rest.is_plain();
            let parts = name.cost(style, unit) + rest.cost(style, unit);
            Card {
                parts,
                described: description.cost(style, unit),
                cut,
                plain,
                name: name.text,
                description: description.text,
                place,
            }
        };
        let of_node = on_two_threads(forest.nodes.len(), NODES_FOR_TWO, |range| {
            let nodes = forest.nodes.get(range.clone()).unwrap_or_default();
            range.zip(nodes).map(card).collect()
        });
        let mut all = Self {
            of_node,
            style,
            unit,
            prefix_costs: Vec::new(),
        };
        all.price(prefixes);
        all
    }

    /// Counts again after aliases changed.
    pub(crate) fn price(&mut self, prefixes: &Prefixes) {
        self.prefix_costs = (0..=prefixes.of_index())
            .map(|prefix| prefixes.cost(prefix, self.style, self.unit))
            .collect();
    }

    pub(crate) fn card(&self, id: NodeId) -> Option<&Card<'a>> {
        self.of_node.get(id)
    }

    /// The entry without a description.
    pub(crate) fn bare(&self, id: NodeId) -> usize {
        self.of_node
            .get(id)
            .map_or(0, |card| self.place(card) + self.style.overhead(false))
    }

    /// The entry with its whole description.
    pub(crate) fn full(&self, id: NodeId) -> usize {
        self.of_node.get(id).map_or(0, |card| {
            if card.description.is_empty() {
                self.bare(id)
            } else {
                self.place(card) + self.style.overhead(true) + card.described
            }
        })
    }

    /// The form of an entry whose description, taken apart before, may take at most `room` characters.
    pub(crate) fn within(&self, id: NodeId, sentences: &Sentences<'_>, room: usize) -> Form {
        let Some(card) = self.of_node.get(id) else {
            return Form::NameOnly;
        };
        // A byte is at least a character, and an escaped text at least as long as it was.
        if card.described <= room && !card.description.is_empty() {
            return Form::Full;
        }
        match sentences.within(room).filter(|text| !text.is_empty()) {
            Some(text) => Form::Excerpt {
                cost: self.style.cost(&text, self.unit),
                text,
            },
            None => Form::NameOnly,
        }
    }

    /// What an entry costs in a form.
    pub(crate) fn cost(&self, id: NodeId, form: &Form) -> usize {
        match form {
            Form::Full => self.full(id),
            Form::Excerpt { cost, .. } => self.of_node.get(id).map_or(0, |card| {
                self.place(card) + self.style.overhead(true) + cost
            }),
            Form::NameOnly => self.bare(id),
        }
    }

    fn place(&self, card: &Card<'_>) -> usize {
        card.parts
            + self
                .prefix_costs
                .get(card.place.prefix)
                .copied()
                .unwrap_or(0)
    }
}

/// The name of an index file: sixteen digits, so that its cost is known before its content.
pub(crate) const INDEX_NAME_DIGITS: usize = 16;

fn index_place(prefixes: &Prefixes) -> Place {
    prefixes.in_index(&format!("{:0>INDEX_NAME_DIGITS$}.md", ""))
}

/// Name, description, place, and whether some of the description is missing already.
fn of_leaf(skill: Option<&Skill>) -> (Line<'_>, Line<'_>, Place, bool) {
    let Some(skill) = skill else {
        let nowhere = Place {
            prefix: 0,
            rest: String::new(),
        };
        return (Line::default(), Line::default(), nowhere, false);
    };
    let whole = skill.description().unwrap_or_default();
    // What nobody shows is not taken apart either: a description may be as long as a file.
    let looked_at = whole.floor_char_boundary(LONGEST_DESCRIPTION * 8);
    let description = Line::of(whole.get(..looked_at).unwrap_or(whole));
    let too_long = description.text.len() > LONGEST_DESCRIPTION
        && description.text.chars().count() > LONGEST_DESCRIPTION;
    let description = if too_long {
        let kept = shorten(&description.text, LONGEST_DESCRIPTION);
        Line::ready(kept.unwrap_or_default())
    } else {
        description
    };
    let cut = too_long || looked_at < whole.len();
    (
        Line::ready(shown_name(skill.name())),
        description,
        of_skill(&skill.place),
        cut,
    )
}

/// A name on one line and no longer than the standard allows.
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    let name = one_line(name);
    if name.len() <= LONGEST_NAME || name.chars().nth(LONGEST_NAME).is_none() {
        return name;
    }
    let kept: String = name.chars().take(LONGEST_NAME - 1).collect();
    format!("{kept}…").into()
}

/// A group's name ends in a slash: no skill's does.
fn name_of_group(path: &str) -> Cow<'_, str> {
    let folder = shown_name(path);
    format!("{folder}/").into()
}

/// `12 skills: alpha, kappa, omega, …`: names from all over the group, because neighbours are alike.
fn summary(snapshot: &Snapshot, forest: &Forest<'_>, id: NodeId) -> String {
    let Some(node) = forest.node(id) else {
        return String::new();
    };
    let names: Vec<Cow<'_, str>> = node
        .children
        .iter()
        .filter_map(|child| forest.node(*child))
        .map(|child| match child.kind {
            Kind::Group(path) => {
                let folder = path.rsplit('/').next().unwrap_or(path);
                Cow::Owned(format!("{}/", shown_name(folder)))
            }
            Kind::Leaf(skill) | Kind::Branch(skill) => {
                shown_name(snapshot.skills.get(skill).map_or("", Skill::name))
            }
        })
        .collect();
    let whole: usize = names.iter().map(|name| name.len() + 2).sum();
    let n_shown = if whole <= LONGEST_SUMMARY {
        names.len()
    } else {
        (names.len() * LONGEST_SUMMARY / whole).max(1)
    };
    let at = |index: usize| names.get(index * names.len() / n_shown.max(1));
    let shown: Vec<&str> = (0..n_shown).filter_map(at).map(AsRef::as_ref).collect();
    let more = if shown.len() < names.len() {
        ", …"
    } else {
        ""
    };
    format!(
        "{}: {}{more}",
        counted(node.n_skills, "skill"),
        shown.join(", ")
    )
}
