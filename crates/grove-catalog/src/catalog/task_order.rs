//! The order of skills in a catalog for a task: what the task's search ranks highest goes before the usual order.

use crate::entry_caps::{EntryCaps, TakenEntries};
use crate::snapshot::Snapshot;
use crate::state::EntryState;

use super::CatalogRequest;
use super::forest::{EVERYTHING, Forest, NodeId, is_named};
use super::texts::CatalogMaterial;

/// The skills that the search for a task found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOrder {
    /// Indexes of skills in the snapshot, the best first.
    pub ranked: Vec<usize>,
    /// The limits on entries of their own, which the ranked skills take first.
    pub caps: EntryCaps,
    /// True if any of the skills is worth reading for the task.
    pub fits: bool,
}

/// The cause of an entry's place on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacedBy {
    /// The list of pinned skills.
    Pin,
    /// The search for the task, with its rank from 1 on.
    Task(usize),
    /// The recent use of the skill.
    Use,
    /// Skills inside that the search for the task found.
    Near,
    /// The order without a task.
    Usual,
}

impl PlacedBy {
    /// Returns the word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pinned",
            Self::Task(_) => "task",
            Self::Use => "used",
            Self::Near => "near",
            Self::Usual => "usual",
        }
    }

    /// Returns the cause in words for people; nothing for the usual order.
    pub fn in_words(self) -> Option<String> {
        match self {
            Self::Pin => Some("pinned".to_owned()),
            Self::Task(rank) => Some(format!("no. {rank} for the task")),
            Self::Use => Some("used recently".to_owned()),
            Self::Near => Some("near the task".to_owned()),
            Self::Usual => None,
        }
    }
}

/// Returns the cause of the place of a node's entry.
pub(super) fn placed_by(
    material: &CatalogMaterial<'_>,
    id: NodeId,
    key: &str,
    request: &CatalogRequest<'_>,
) -> PlacedBy {
    let (forest, snapshot) = (&material.forest, material.snapshot);
    let ranked = request.task.map_or(&[][..], |task| &task.ranked);
    let Some(skill) = forest.skill(id) else {
        let of_ranked = ranked.iter().filter_map(|skill| forest.node_of(*skill));
        let is_near = |node: NodeId| forest.ancestors(node).any(|above| above == id);
        return if id != EVERYTHING && of_ranked.into_iter().any(is_near) {
            PlacedBy::Near
        } else {
            PlacedBy::Usual
        };
    };
    if is_named(snapshot, &snapshot.skills[skill], request.pinned) {
        return PlacedBy::Pin;
    }
    if let Some(at) = ranked.iter().position(|ranked| *ranked == skill) {
        return PlacedBy::Task(at + 1);
    }
    if request.usage.contains_key(key) {
        return PlacedBy::Use;
    }
    PlacedBy::Usual
}

/// Returns by skill if it may be an entry of its own. For a task the limits on entries are taken in its order: pinned
/// skills, ranked ones, then those that have entries without a task.
pub(super) fn may_be_entries(snapshot: &Snapshot, request: &CatalogRequest<'_>) -> Vec<bool> {
    let skills = &snapshot.skills;
    let usual: Vec<bool> = skills
        .iter()
        .map(|skill| skill.state != EntryState::Capped)
        .collect();
    let Some(task) = request.task.filter(|_| usual.contains(&false)) else {
        return usual;
    };
    let mut may = vec![false; skills.len()];
    let mut taken = TakenEntries::new(task.caps, snapshot.roots.len());
    let is_pinned = |at: &usize| is_named(snapshot, &skills[*at], request.pinned);
    let has_entry = |at: &usize| usual[*at];
    let pinned = (0..skills.len()).filter(|at| has_entry(at) && is_pinned(at));
    let ranked = task.ranked.iter().copied();
    let others = (0..skills.len()).filter(has_entry);
    for at in pinned.chain(ranked).chain(others) {
        let Some(skill) = skills.get(at).filter(|_| !may[at]) else {
            continue;
        };
        let root = skill.place.root;
        let source = snapshot.roots.get(root).map(|root| root.source);
        may[at] = source.is_some_and(|source| taken.take(source, root).is_ok());
    }
    may
}

/// Returns by node if a ranked skill is below it.
pub(super) fn near(forest: &Forest<'_>, ranked: &[NodeId]) -> Vec<bool> {
    let mut near = vec![false; forest.nodes.len()];
    for id in ranked {
        for above in forest.ancestors(*id) {
            near[above] = true;
        }
    }
    near
}
