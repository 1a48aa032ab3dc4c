//! The text of every possible entry, and its cost.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use grove_spec::text::counted;

use crate::snapshot::{Skill, Snapshot};

use super::CatalogRequest;
use super::budget::BudgetUnit;
use super::cut::shorten;
use super::forest::{Forest, ForestOptions, NodeId};
use super::locations::{LocationPrefixes, LocationRest};
use super::style::{CatalogStyle, is_plain_line, one_line, shown_name};
use super::task_order::may_be_entries;
use super::two_threads::both;

/// The standard's limit for a description. A longer one is shortened to it in any catalog, so that no skill can take
/// the room of others.
const LONGEST_DESCRIPTION: usize = 1_024;

/// The placeholder for the name of an index file until its content is known: it has as many digits.
pub(crate) const ANY_INDEX_FILE: &str = "0000000000000000.md";

/// That placeholder as the rest of a location.
pub(crate) const INDEX_REST: LocationRest<'static> = LocationRest {
    id: Cow::Borrowed(""),
    file: ANY_INDEX_FILE,
};

/// The number of digits in an index file's name: it is fixed, so that the cost is known before the content.
pub(crate) const INDEX_NAME_DIGITS: usize = ANY_INDEX_FILE.len() - ".md".len();

/// The number of skills from which on a second thread pays.
const SKILLS_FOR_TWO: usize = 2_000;

#[derive(Debug, Default)]
pub(crate) struct SkillText<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    /// Set if nothing in the description has to be escaped in XML.
    pub(crate) is_plain: bool,
    /// Set if some of the description was left out before costs were counted.
    pub(crate) is_cut: bool,
    pub(crate) prefix: usize,
    pub(crate) rest: LocationRest<'a>,
    /// The cost of name, description and the rest of the location.
    pub(crate) cost: usize,
}

pub(crate) struct CatalogMaterial<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) forest: Forest<'a>,
    /// By skill of the snapshot; empty for a skill that may not be shown.
    texts: Vec<SkillText<'a>>,
    of_groups: SkillText<'a>,
    pub(crate) prefixes: LocationPrefixes,
    pub(crate) style: CatalogStyle,
    pub(crate) unit: BudgetUnit,
    /// By skill of the snapshot: false beyond the limits on entries.
    may_be_entry: Vec<bool>,
}

impl<'a> CatalogMaterial<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, request: &CatalogRequest<'_>) -> Self {
        let wishes = ForestOptions {
            exclude: request.exclude,
            pinned: request.pinned,
            opened: request.expanded,
        };
        let (style, unit) = (request.style, request.budget.unit);
        let prefixes = LocationPrefixes::of(snapshot, request.home, request.index_dir, style, unit);
        let cost = |text: &SkillText<'_>| {
            let described = style.cost_of(&text.description, text.is_plain, unit);
            style.cost(&text.name, unit) + described + rest_cost(&text.rest, style, unit)
        };
        let shared = if style.has_locations() {
            BTreeSet::new()
        } else {
            shared_names(snapshot)
        };
        let of_skill = |skill: &'a Skill| {
            if !skill.model_invocable() {
                return SkillText::default();
            }
            let mut text = of_skill(skill);
            if shared.contains(skill.name()) {
                text.name = one_line(&snapshot.address(skill)).into_owned().into();
            }
            text.cost = cost(&text);
            text
        };
        let (forest, mut texts) = both(
            snapshot.skills.len() >= SKILLS_FOR_TWO,
            || Forest::of(snapshot, &wishes),
            || snapshot.skills.iter().map(of_skill).collect::<Vec<_>>(),
        );
        for branch in snapshot.tree.branches() {
            let Some(id) = forest.node_of(branch) else {
                continue;
            };
            let (node, text) = (&forest.nodes[id], &mut texts[branch]);
            if !node.children.is_empty() {
                let inside = counted(node.n_skills - 1, "skill");
                text.description = format!("({inside} inside) {}", text.description).into();
                text.prefix = prefixes.of_index();
                text.rest = INDEX_REST;
                text.cost = cost(text);
            }
        }
        Self {
            texts,
            of_groups: SkillText::default(),
            may_be_entry: may_be_entries(snapshot, request),
            snapshot,
            forest,
            prefixes,
            style,
            unit,
        }
    }

    /// Returns false for a skill beyond the limits on entries, which stays behind its group.
    pub(crate) fn may_be_entry(&self, id: NodeId) -> bool {
        let skill = self.forest.skill(id);
        skill.is_none_or(|skill| self.may_be_entry[skill])
    }

    /// Returns the text of a skill's entry; an empty one for a group.
    pub(crate) fn text(&self, id: NodeId) -> &SkillText<'a> {
        let skill = self.forest.skill(id);
        skill.map_or(&self.of_groups, |skill| &self.texts[skill])
    }

    pub(crate) fn name(&self, id: NodeId) -> Cow<'_, str> {
        match self.forest.skill(id) {
            Some(skill) => (*self.texts[skill].name).into(),
            None => self.forest.name(self.snapshot, id).into(),
        }
    }

    pub(crate) fn cost(&self, text: &str) -> usize {
        self.style.cost(text, self.unit)
    }

    /// Returns the cost of an entry without its description and the beginning of its location.
    pub(crate) fn bare(&self, name: &str, rest: &LocationRest<'_>, is_described: bool) -> usize {
        let located = rest_cost(rest, self.style, self.unit);
        self.cost(name) + located + self.style.overhead(is_described)
    }

    /// Returns the number of entries if there were room for all, and their cost with their locations in full.
    pub(crate) fn needed(&self) -> (usize, usize) {
        let no_aliases = self.prefixes.in_full();
        let is_top = |id: &NodeId| {
            let above = self.forest.nodes[*id].parent;
            above.is_some_and(|above| self.forest.skill(above).is_none())
        };
        let skills = self.forest.bottom_up.iter().copied();
        let skills = skills.filter(|id| self.forest.skill(*id).is_some() && is_top(id));
        skills.fold((0, 0), |(entries, size), id| {
            let text = self.text(id);
            let marks = self.style.overhead(!text.description.is_empty());
            let begin = self.prefixes.cost_in_entry(text.prefix, &no_aliases);
            (entries + 1, size + marks + begin + text.cost)
        })
    }
}

fn rest_cost(rest: &LocationRest<'_>, style: CatalogStyle, unit: BudgetUnit) -> usize {
    if style.has_locations() {
        style.cost(&rest.id, unit) + rest.file.len()
    } else {
        0
    }
}

fn shared_names(snapshot: &Snapshot) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    let skills = snapshot.skills.iter();
    let names = skills
        .filter(|skill| skill.model_invocable())
        .map(Skill::name);
    names.filter(|name| !seen.insert(*name)).collect()
}

fn of_skill(skill: &Skill) -> SkillText<'_> {
    let whole = skill.description().unwrap_or_default();
    // No catalog shows text beyond the limit, and a description may be as long as a file: it is not even escaped.
    let looked_at = whole.floor_char_boundary(LONGEST_DESCRIPTION * 8);
    let looked_at_text = whole.get(..looked_at).unwrap_or(whole);
    let is_plain = is_plain_line(looked_at_text);
    let description = if is_plain {
        looked_at_text.into()
    } else {
        one_line(looked_at_text)
    };
    let is_too_long = description.len() > LONGEST_DESCRIPTION
        && description.chars().count() > LONGEST_DESCRIPTION;
    SkillText {
        name: shown_name(skill.name()),
        // The mark of a cut is not ASCII.
        is_plain: is_plain && !is_too_long,
        is_cut: is_too_long || looked_at < whole.len(),
        description: if is_too_long {
            shorten(&description, LONGEST_DESCRIPTION).into()
        } else {
            description
        },
        prefix: skill.place.root,
        rest: LocationRest::of(&skill.place),
        cost: 0,
    }
}

/// Returns `12 skills: alpha, beta, gamma (5)`: everything that a closed entry still holds, groups with their counts.
pub(crate) fn closed_text(
    snapshot: &Snapshot,
    forest: &Forest<'_>,
    id: NodeId,
    held: &dyn Fn(NodeId) -> usize,
    is_named: bool,
) -> String {
    let node = &forest.nodes[id];
    let n_skills = held(id);
    let noun = if n_skills < node.n_skills {
        "more skill"
    } else {
        "skill"
    };
    let mut text = counted(n_skills, noun);
    if !is_named {
        return text;
    }
    let kept = node.children.iter().filter(|child| held(**child) > 0);
    for (at, child) in kept.enumerate() {
        text.push_str(if at == 0 { ": " } else { ", " });
        text.push_str(&forest.label(snapshot, *child));
        if forest.skill(*child).is_none() {
            let _ = write!(text, " ({})", held(*child));
        }
    }
    text
}
