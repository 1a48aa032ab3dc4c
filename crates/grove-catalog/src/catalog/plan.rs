//! Decides which entries there will be, and in which form.

use std::collections::BTreeMap;

use crate::snapshot::Snapshot;

use super::budget::{Budget, Pool, own_share};
use super::cards::Cards;
use super::fit::{self, Form, Opened, Room};
use super::forest::{Forest, Kind, NodeId};
use super::locations::Prefixes;
use super::{Request, group_key, writing};

/// What a catalog is made of.
pub(crate) struct Material<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) forest: Forest<'a>,
    pub(crate) cards: Cards<'a>,
    pub(crate) prefixes: Prefixes,
    pub(crate) budget: Budget,
    /// Nodes that were opened on request, oldest first.
    asked: Vec<NodeId>,
}

impl<'a> Material<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, request: &Request<'_>) -> Self {
        let forest = Forest::of(snapshot, request);
        let prefixes = Prefixes::of(snapshot, request.home, request.index_dir);
        let (style, budget) = (request.style, request.budget);
        let cards = Cards::of(snapshot, &forest, &prefixes, style, budget.unit);
        let asked = asked_for(snapshot, &forest, request.expanded);
        Self {
            snapshot,
            forest,
            cards,
            prefixes,
            budget,
            asked,
        }
    }

    /// The key of a node: `id@label` of a skill, `path/@label` of a group.
    pub(crate) fn key(&self, id: NodeId) -> String {
        key(self.snapshot, &self.forest, id)
    }

    /// What is left beside the frame.
    fn room(&self) -> Room {
        Room {
            size: self.budget.size.saturating_sub(writing::frame(self)),
            entries: self.budget.entries,
        }
    }

    /// What everything takes as it is.
    fn need(&self, opened: &Opened) -> Room {
        let own = fit::need(&self.forest, &self.cards, opened, Pool::Own);
        let others = fit::need(&self.forest, &self.cards, opened, Pool::Others);
        Room {
            size: own.size + others.size,
            entries: own.entries + others.entries,
        }
    }

    fn entries(&self, opened: &Opened) -> Vec<NodeId> {
        let of = |pool| opened.entries(&self.forest, pool).collect::<Vec<_>>();
        [of(Pool::Own), of(Pool::Others)].concat()
    }

    /// How many entries begin with each prefix.
    fn uses(&self, entries: impl Iterator<Item = NodeId>) -> Vec<usize> {
        let mut uses = vec![0; self.prefixes.len()];
        for id in entries {
            let card = self.cards.card(id);
            if let Some(count) = card.and_then(|card| uses.get_mut(card.place.prefix)) {
                *count += 1;
            }
        }
        uses
    }

    fn shorten_locations(&mut self, opened: &Opened) {
        let mut uses = self.uses(self.entries(opened).into_iter());
        if let Some(of_index) = uses.last_mut() {
            // Whatever can be collapsed may come to lead to an index file.
            let nodes = self.forest.nodes.iter();
            *of_index = nodes.filter(|node| !node.children.is_empty()).count();
        }
        for uses in &mut uses {
            *uses = (*uses).min(self.budget.entries);
        }
        let (style, unit) = (self.cards.style, self.budget.unit);
        self.prefixes.alias_where_it_saves(&uses, style, unit);
        self.cards.price(&self.prefixes);
    }

    /// Aliases that most entries would have used may have lost their entries since.
    fn drop_useless_aliases(&mut self, plan: &Plan) {
        let mut uses = self.uses(plan.shown.iter().map(|(id, _)| *id));
        if let Some(of_index) = uses.last_mut().filter(|_| !plan.left_out.is_empty()) {
            *of_index += 1;
        }
        let (style, unit) = (self.cards.style, self.budget.unit);
        self.prefixes.drop_aliases_that_cost(&uses, style, unit);
        self.cards.price(&self.prefixes);
    }
}

/// The nodes that were opened on request, oldest first.
fn asked_for(snapshot: &Snapshot, forest: &Forest<'_>, expanded: &[String]) -> Vec<NodeId> {
    if expanded.is_empty() {
        return Vec::new();
    }
    let has_children = |id: &NodeId| {
        let node = forest.node(*id);
        node.is_some_and(|node| !node.children.is_empty())
    };
    let nodes = forest.bottom_up.iter().copied().filter(has_children);
    let keys: BTreeMap<String, NodeId> = nodes.map(|id| (key(snapshot, forest, id), id)).collect();
    let mut asked: Vec<NodeId> = Vec::new();
    for id in expanded.iter().filter_map(|wanted| keys.get(wanted)) {
        asked.retain(|known| known != id);
        asked.push(*id);
    }
    asked
}

fn key(snapshot: &Snapshot, forest: &Forest<'_>, id: NodeId) -> String {
    let Some(node) = forest.node(id) else {
        return String::new();
    };
    match node.kind {
        Kind::Leaf(skill) | Kind::Branch(skill) => {
            let skill = snapshot.skills.get(skill);
            skill.map_or_else(String::new, |skill| snapshot.address(skill))
        }
        Kind::Group(path) => {
            let root = snapshot.roots.get(node.root);
            group_key(path, root.map_or("", |root| &root.label))
        }
    }
}

/// How short room is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scarcity {
    /// Every entry keeps at least its name.
    EveryName,
    /// Some are left out.
    SomeLeftOut,
}

/// Which entries there will be, and in which form.
pub(crate) struct Plan {
    pub(crate) opened: Opened,
    pub(crate) shown: Vec<(NodeId, Form)>,
    pub(crate) left_out: Vec<NodeId>,
    /// What the whole text would take if nothing were done.
    pub(crate) needed: Room,
}

impl Plan {
    /// The plan that changes least: each step is taken only when the ones before it did not suffice.
    pub(crate) fn make(material: &mut Material<'_>) -> Self {
        let opened = Opened::new(&material.forest, material.asked.clone());
        let need = material.need(&opened);
        let mut plan = Self {
            shown: Vec::new(),
            left_out: Vec::new(),
            needed: Room {
                size: need.size + writing::frame(material),
                entries: need.entries,
            },
            opened,
        };
        if material.room().holds(need) {
            plan.show_everything(material);
            return plan;
        }
        material.shorten_locations(&plan.opened);
        if material.room().holds(material.need(&plan.opened)) {
            plan.show_everything(material);
        } else {
            plan.fit(material);
        }
        material.drop_useless_aliases(&plan);
        plan
    }

    fn show_everything(&mut self, material: &Material<'_>) {
        let entries = material.entries(&self.opened);
        self.shown = entries.into_iter().map(|id| (id, Form::Full)).collect();
    }

    fn fit(&mut self, material: &Material<'_>) {
        let (opened, room) = (self.opened.clone(), material.room());
        if self.share(material, room, Scarcity::EveryName) {
            return;
        }
        // The entry for the rest needs room of its own.
        let room = Room {
            size: room.size.saturating_sub(writing::cost_of_rest(material)),
            entries: room.entries.saturating_sub(1),
        };
        self.opened = opened;
        self.share(material, room, Scarcity::SomeLeftOut);
    }

    /// Fits both pools into the room. The pool that gets what it needs is fitted first, so that the other
    /// has all that is left. Whether it could be done.
    fn share(&mut self, material: &Material<'_>, room: Room, scarcity: Scarcity) -> bool {
        (self.shown, self.left_out) = (Vec::new(), Vec::new());
        let need = |pool| fit::need(&material.forest, &material.cards, &self.opened, pool);
        let (own, others) = (need(Pool::Own), need(Pool::Others));
        let share = Room {
            size: own_share(room.size, own.size, others.size),
            entries: own_share(room.entries, own.entries, others.entries),
        };
        let (first, then, share) = if share.holds(own) {
            (Pool::Own, Pool::Others, share)
        } else {
            (Pool::Others, Pool::Own, room.without(share))
        };
        self.fit_pool(material, first, share, scarcity)
            .and_then(|used| self.fit_pool(material, then, room.without(used), scarcity))
            .is_some()
    }

    /// What a pool takes in the end; nothing if names would have to be left out and may not be.
    fn fit_pool(
        &mut self,
        material: &Material<'_>,
        pool: Pool,
        room: Room,
        scarcity: Scarcity,
    ) -> Option<Room> {
        let (forest, cards) = (&material.forest, &material.cards);
        fit::collapse(forest, cards, &mut self.opened, pool, room);
        if scarcity == Scarcity::EveryName
            && !fit::holds_names(forest, cards, &self.opened, pool, room)
        {
            return None;
        }
        let fitted = fit::fill(material.snapshot, forest, cards, &self.opened, pool, room);
        self.shown.extend(fitted.shown);
        self.left_out.extend(fitted.left_out);
        Some(fitted.used)
    }
}
