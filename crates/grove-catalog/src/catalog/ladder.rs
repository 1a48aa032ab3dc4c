//! One ladder for all budgets: each step shows a little more than the one before, and a catalog is the result of the
//! longest run of first steps that fits.
//!
//! It begins with one closed entry for everything. A step lifts one child out of a closed entry, which keeps the rest, or
//! makes a closed entry name its children, or lets a description grow by a word. The cost of every rung is computed from
//! what the step before it changed; no text is written for it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::snapshot::Skill;

use super::CatalogRequest;
use super::cut::{CutCosts, TextCut, cuts};
use super::forest::{EVERYTHING, NodeId, is_named};
use super::task_order::near;
use super::texts::{CatalogMaterial, INDEX_REST, closed_text};
use super::writing::frame;

/// The most characters of a skill's description when the skill gets its entry.
pub(crate) const FIRST_LENGTH: usize = 80;

/// The number of skills nearest to a task that are shown first, and the characters of description that they get then.
/// About so many fit into 6,000 characters, the least that a catalog is worth reading with.
const NEAREST: (usize, usize) = (16, 240);

/// The number of skills that are shown before groups, and their characters of description: enough to choose by. After
/// these the names in groups are worth more.
const NEXT_NEAREST: (usize, usize) = (32, 160);

/// The end of growing: the cost of a rung, or the length of a description.
#[derive(Debug, Clone, Copy)]
struct Growth {
    cost: usize,
    length: usize,
}

impl Growth {
    const WHOLE: Self = Self {
        cost: usize::MAX,
        length: usize::MAX,
    };
}

const MARK_BYTES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryForm {
    Skill(TextCut),
    /// A group that stands for what it holds.
    Closed {
        /// Set if its text names the members.
        named: bool,
    },
}

#[derive(Debug, Clone, Copy)]
enum LadderStep {
    Lift(NodeId),
    Name(NodeId),
    Grow(NodeId, TextCut),
    /// Locations are written without aliases.
    SpellOut,
}

/// The state of the page on one rung.
#[derive(Debug, Clone)]
pub(crate) struct PageState {
    /// By node: the form of its entry, if it has one.
    pub(crate) forms: Vec<Option<EntryForm>>,
    /// By node: set if it was lifted out of the node above it.
    is_out: Vec<bool>,
    /// By node: the number of skills that are reached through it.
    held: Vec<usize>,
    pub(crate) n_entries: usize,
    pub(crate) in_full: bool,
}

impl PageState {
    fn new(material: &CatalogMaterial<'_>) -> Self {
        let nodes = &material.forest.nodes;
        let mut sight = Self {
            forms: vec![None; nodes.len()],
            is_out: vec![false; nodes.len()],
            held: nodes.iter().map(|node| node.n_skills).collect(),
            n_entries: 0,
            in_full: false,
        };
        sight.show(material, EVERYTHING);
        sight
    }

    /// Returns the number of skills that a closed entry, or a child in one, still holds.
    pub(crate) fn held(&self, id: NodeId, within: NodeId) -> usize {
        if id != within && self.is_out[id] {
            0
        } else {
            self.held[id]
        }
    }

    fn kept<'s>(
        &'s self,
        material: &'s CatalogMaterial<'_>,
        id: NodeId,
    ) -> impl Iterator<Item = NodeId> + 's {
        let children = material.forest.nodes[id].children.iter().copied();
        children.filter(|child| !self.is_out[*child] && self.held[*child] > 0)
    }

    /// Returns the only node that a closed group holds, if that may be an entry.
    fn only_one(&self, material: &CatalogMaterial<'_>, id: NodeId) -> Option<NodeId> {
        let mut kept = self.kept(material, id);
        let only = kept.next().filter(|_| kept.next().is_none())?;
        material.may_be_entry(only).then_some(only)
    }

    /// Makes a node an entry, or in its place the only node that it holds.
    fn show(&mut self, material: &CatalogMaterial<'_>, id: NodeId) -> NodeId {
        let mut shown = id;
        self.is_out[shown] = true;
        while material.forest.skill(shown).is_none()
            && let Some(only) = self.only_one(material, shown)
        {
            self.held[shown] = 0;
            self.is_out[only] = true;
            shown = only;
        }
        self.n_entries += 1;
        self.forms[shown] = Some(match material.forest.skill(shown) {
            Some(_) => EntryForm::Skill(first_cut(&material.text(shown).description)),
            None => EntryForm::Closed { named: false },
        });
        shown
    }

    /// Lifts a node out of the closed entry that holds it; returns the nodes whose entries are new or changed.
    fn lift(&mut self, material: &CatalogMaterial<'_>, id: NodeId) -> Vec<NodeId> {
        let amount = self.held[id];
        let mut above = material.forest.ancestors(id);
        let holder = above.find(|above| {
            self.held[*above] -= amount;
            self.forms[*above].is_some()
        });
        let mut changed = vec![self.show(material, id)];
        let Some(holder) = holder else {
            return changed;
        };
        changed.push(holder);
        let only = self.only_one(material, holder);
        if let Some(only) = only {
            self.held[holder] = 0;
            changed.push(self.show(material, only));
        }
        if self.held[holder] == 0 {
            self.forms[holder] = None;
            self.n_entries -= 1;
        }
        changed
    }

    fn take(&mut self, material: &CatalogMaterial<'_>, step: LadderStep) -> Vec<NodeId> {
        match step {
            LadderStep::Lift(id) => return self.lift(material, id),
            LadderStep::Name(id) => {
                self.forms[id] = Some(EntryForm::Closed { named: true });
                return vec![id];
            }
            LadderStep::Grow(id, cut) => self.forms[id] = Some(EntryForm::Skill(cut)),
            LadderStep::SpellOut => self.in_full = true,
        }
        Vec::new()
    }

    /// Counts the entries by the beginning of their location.
    pub(crate) fn uses(&self, material: &CatalogMaterial<'_>) -> Vec<usize> {
        let mut uses = vec![0; material.prefixes.of_index() + 1];
        for (id, form) in self.forms.iter().enumerate() {
            if let Some(form) = form {
                uses[prefix(material, id, *form)] += 1;
            }
        }
        uses
    }
}

pub(crate) struct Ladder {
    steps: Vec<LadderStep>,
    costs: Vec<usize>,
}

impl Ladder {
    /// Builds the ladder up to the rung that costs more than `most`; all later rungs cost more as well.
    pub(crate) fn of(
        material: &CatalogMaterial<'_>,
        request: &CatalogRequest<'_>,
        most: usize,
    ) -> Self {
        let mut builder = LadderBuilder::new(material, request.budget.entries, most);
        builder.build(request);
        builder.ladder
    }

    pub(crate) fn len(&self) -> usize {
        self.costs.len()
    }

    /// Returns the highest rung that costs no more than `size`; the lowest one if even that costs more.
    pub(crate) fn rung_within(&self, size: usize) -> usize {
        self.costs
            .iter()
            .rposition(|cost| *cost <= size)
            .unwrap_or(0)
    }

    pub(crate) fn page(&self, material: &CatalogMaterial<'_>, rung: usize) -> PageState {
        let mut sight = PageState::new(material);
        for step in self.steps.iter().take(rung) {
            sight.take(material, *step);
        }
        sight
    }
}

struct LadderBuilder<'m, 'a> {
    material: &'m CatalogMaterial<'a>,
    sight: PageState,
    most_entries: usize,
    most: usize,
    frame: usize,
    /// By node: the cost of its entry without the beginning of its location.
    costs: Vec<usize>,
    spent: usize,
    uses: Vec<usize>,
    /// The cost of the beginnings of all locations.
    begins: usize,
    ladder: Ladder,
}

impl<'m, 'a> LadderBuilder<'m, 'a> {
    fn new(material: &'m CatalogMaterial<'a>, most_entries: usize, most: usize) -> Self {
        let mut builder = Self {
            material,
            sight: PageState::new(material),
            most_entries,
            most,
            frame: frame(material),
            costs: vec![0; material.forest.nodes.len()],
            spent: 0,
            uses: vec![0; material.prefixes.of_index() + 1],
            begins: 0,
            ladder: Ladder {
                steps: Vec::new(),
                costs: Vec::new(),
            },
        };
        let shown = builder.sight.forms.iter().position(Option::is_some);
        builder.reprice(&Vec::from_iter(shown));
        builder.ladder.costs.push(builder.total());
        builder
    }

    fn build(&mut self, request: &CatalogRequest<'_>) {
        let pinned = self.pinned(request);
        for id in &pinned {
            self.lift(*id);
        }
        for id in &pinned {
            self.grow(&[*id], Growth::WHOLE);
        }
        let ranked = self.ranked(request);
        let mut opened = self.opened(request);
        if !ranked.is_empty() {
            // A group that was opened in this conversation is wanted more than what a search finds.
            for id in std::mem::take(&mut opened) {
                self.lift(id);
            }
            self.show_ranked(&ranked);
        }
        let used = self.used(request);
        for id in used.iter().chain(&opened) {
            self.lift(*id);
        }
        self.lift_groups(&near(&self.material.forest, &ranked));
        for id in &ranked {
            self.lift(*id);
        }
        self.lift_skills();
        let first: Vec<NodeId> = ranked.into_iter().chain(used).collect();
        let is_first: BTreeSet<NodeId> = first.iter().copied().collect();
        let others = (1..self.sight.forms.len()).filter(|id| !is_first.contains(id));
        let in_order: Vec<NodeId> = first.into_iter().chain(others).collect();
        // A description that is whole loses its mark, so its last step may lower the cost a little.
        let marks = MARK_BYTES * self.sight.n_entries;
        let until = Growth {
            cost: self.most.saturating_add(marks),
            ..Growth::WHOLE
        };
        self.grow(&in_order, until);
        if self.material.prefixes.aliases(&self.uses) != self.material.prefixes.in_full() {
            self.sight.in_full = true;
            self.begins = self.begins_now();
            self.push(LadderStep::SpellOut);
        }
    }

    fn pinned(&self, request: &CatalogRequest<'_>) -> Vec<NodeId> {
        if request.pinned.is_empty() {
            return Vec::new();
        }
        let snapshot = self.material.snapshot;
        let is_pinned = |skill: &Skill| is_named(snapshot, skill, request.pinned);
        self.skills()
            .filter(|(_, skill)| is_pinned(skill))
            .map(|(id, _)| id)
            .collect()
    }

    /// Returns the skills that the search for the task found, the best first.
    fn ranked(&self, request: &CatalogRequest<'_>) -> Vec<NodeId> {
        let ranked = request.task.map_or(&[][..], |task| &task.ranked);
        let nodes = ranked.iter();
        nodes
            .filter_map(|skill| self.material.forest.node_of(*skill))
            .collect()
    }

    /// Shows the skills near the task before anything else: the nearest with most of what they say, the next with enough
    /// to choose by.
    fn show_ranked(&mut self, ranked: &[NodeId]) {
        for (count, length) in [NEAREST, NEXT_NEAREST] {
            let shown = ranked.get(..count).unwrap_or(ranked);
            for id in shown {
                self.lift(*id);
            }
            let until = Growth {
                length,
                ..Growth::WHOLE
            };
            self.grow(shown, until);
        }
    }

    /// Returns the skills used of late, the most used first.
    fn used(&self, request: &CatalogRequest<'_>) -> Vec<NodeId> {
        if request.usage.is_empty() {
            return Vec::new();
        }
        let used = self.skills().filter_map(|(id, skill)| {
            let score = request.usage.get(&self.material.snapshot.address(skill))?;
            Some((std::cmp::Reverse(*score), id))
        });
        let mut used: Vec<_> = used.collect();
        used.sort_unstable();
        used.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the members of the groups and branches that were opened, those of the last one first.
    fn opened(&self, request: &CatalogRequest<'_>) -> Vec<NodeId> {
        let (forest, snapshot) = (&self.material.forest, self.material.snapshot);
        let mut opened = Vec::new();
        for key in request.expanded.iter().rev() {
            let is_branch = |at: &usize| snapshot.address(&snapshot.skills[*at]) == *key;
            if let Some(branch) = snapshot.tree.branches().find(is_branch) {
                let below = |at: usize| snapshot.tree.ancestors(at).any(|above| above == branch);
                let inside = (0..snapshot.skills.len()).filter(|at| below(*at));
                let inside = inside.filter_map(|at| forest.node_of(at));
                let is_top = |id: &NodeId| self.is_below_groups(*id);
                opened.extend(inside.filter(is_top));
            } else if let Some(group) = forest.groups().find(|id| forest.key(snapshot, *id) == *key)
            {
                opened.extend(&forest.nodes[group].children);
            }
        }
        opened
    }

    fn skills(&self) -> impl Iterator<Item = (NodeId, &'m Skill)> + '_ {
        let (forest, snapshot) = (&self.material.forest, self.material.snapshot);
        let nodes = 1..forest.nodes.len();
        nodes.filter_map(|id| Some((id, &snapshot.skills[forest.skill(id)?])))
    }

    /// Returns true if a node is not a child of a branch.
    fn is_below_groups(&self, id: NodeId) -> bool {
        let forest = &self.material.forest;
        forest
            .ancestors(id)
            .all(|above| forest.skill(above).is_none())
    }

    /// Lifts the groups near the task, then all others, level by level.
    fn lift_groups(&mut self, near: &[bool]) {
        self.name(EVERYTHING);
        self.lift_levels(&|id| near[id]);
        self.lift_levels(&|_| true);
    }

    fn lift_levels(&mut self, is_wanted: &dyn Fn(NodeId) -> bool) {
        let forest = &self.material.forest;
        let mut level = vec![EVERYTHING];
        while !level.is_empty() {
            let below = level.iter().flat_map(|id| &forest.nodes[*id].children);
            level = below
                .copied()
                .filter(|id| forest.skill(*id).is_none() && is_wanted(*id))
                .collect();
            for id in &level {
                self.lift(*id);
            }
        }
    }

    fn lift_skills(&mut self) {
        let forest = &self.material.forest;
        for id in &forest.bottom_up {
            if self.sight.n_entries >= self.most_entries {
                break;
            }
            if forest.skill(*id).is_some() && self.is_below_groups(*id) {
                self.lift(*id);
            }
        }
    }

    /// Lifts a node if it is still inside another and there is an entry left for it.
    fn lift(&mut self, id: NodeId) {
        let is_there = self.sight.is_out[id] || self.sight.held[id] == 0;
        if is_there
            || self.sight.n_entries >= self.most_entries
            || !self.material.may_be_entry(id)
            || !self.is_below_groups(id)
        {
            return;
        }
        let changed = self.sight.lift(self.material, id);
        self.reprice(&changed);
        self.push(LadderStep::Lift(id));
        for id in changed {
            self.name(id);
        }
    }

    fn name(&mut self, id: NodeId) {
        if self.sight.forms[id] == Some(EntryForm::Closed { named: false }) {
            self.sight.take(self.material, LadderStep::Name(id));
            self.reprice(&[id]);
            self.push(LadderStep::Name(id));
        }
    }

    /// Lets the descriptions of these skills grow by one length after another.
    fn grow(&mut self, skills: &[NodeId], until: Growth) {
        let material = self.material;
        let mut growing = Vec::new();
        let mut next = BinaryHeap::new();
        for id in skills.iter().copied() {
            let Some(EntryForm::Skill(now)) = self.sight.forms[id] else {
                continue;
            };
            let text = material.text(id);
            let bare = material.bare(&text.name, &text.rest, true);
            let costs = CutCosts::new(&text.description, material.style, material.unit);
            let mut longer = cuts(&text.description).filter(move |cut| cut.end > now.end);
            if let Some(cut) = longer.next() {
                next.push(Reverse((cut.length, growing.len(), cut.end)));
                growing.push((id, bare, costs, longer));
            }
        }
        while let Some(Reverse((length, at, end))) = next.pop() {
            if self.total() > until.cost || length > until.length {
                return;
            }
            let (id, bare, costs, longer) = &mut growing[at];
            let (id, cut) = (*id, TextCut { end, length });
            let cost = *bare + costs.of(cut);
            let further = longer.next();
            next.extend(further.map(|cut| Reverse((cut.length, at, cut.end))));
            self.sight.forms[id] = Some(EntryForm::Skill(cut));
            self.set_cost(id, cost);
            self.push(LadderStep::Grow(id, cut));
        }
    }

    fn push(&mut self, step: LadderStep) {
        self.ladder.steps.push(step);
        self.ladder.costs.push(self.total());
    }

    fn total(&self) -> usize {
        self.frame + self.spent + self.begins
    }

    fn set_cost(&mut self, id: NodeId, cost: usize) {
        let before = std::mem::replace(&mut self.costs[id], cost);
        self.spent = self.spent + cost - before;
    }

    /// Recounts the cost of entries that are new, changed or gone.
    fn reprice(&mut self, ids: &[NodeId]) {
        for id in ids.iter().copied() {
            let form = self.sight.forms[id];
            let was_there = self.costs[id] > 0;
            let cost = form.map_or(0, |form| entry_cost(self.material, &self.sight, id, form));
            self.set_cost(id, cost);
            let any = form.unwrap_or(EntryForm::Closed { named: false });
            let uses = &mut self.uses[prefix(self.material, id, any)];
            *uses = *uses + usize::from(form.is_some()) - usize::from(was_there);
        }
        self.begins = self.begins_now();
    }

    fn begins_now(&self) -> usize {
        let prefixes = &self.material.prefixes;
        let aliases = if self.sight.in_full {
            prefixes.in_full()
        } else {
            prefixes.aliases(&self.uses)
        };
        prefixes.cost(&self.uses, &aliases)
    }
}

pub(crate) fn entry_cost(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    id: NodeId,
    form: EntryForm,
) -> usize {
    let description = entry_text(material, sight, id, form);
    let described = description.as_deref().map_or(0, |text| material.cost(text));
    described
        + match form {
            EntryForm::Skill(_) => {
                let text = material.text(id);
                material.bare(&text.name, &text.rest, description.is_some())
            }
            EntryForm::Closed { .. } => material.bare(&material.name(id), &INDEX_REST, true),
        }
}

pub(crate) fn entry_text(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    id: NodeId,
    form: EntryForm,
) -> Option<String> {
    match form {
        EntryForm::Skill(cut) => (cut.end > 0).then(|| cut.of(&material.text(id).description)),
        EntryForm::Closed { named } => {
            let held = |child: NodeId| sight.held(child, id);
            let (snapshot, forest) = (material.snapshot, &material.forest);
            let mut text = closed_text(snapshot, forest, id, &held, named);
            if id == EVERYTHING && !named {
                text.push_str(": search for one by what it should do");
                if material.style.has_locations() {
                    text.push_str(", or read this list");
                }
            }
            Some(text)
        }
    }
}

pub(crate) fn prefix(material: &CatalogMaterial<'_>, id: NodeId, form: EntryForm) -> usize {
    match form {
        EntryForm::Skill(_) => material.text(id).prefix,
        EntryForm::Closed { .. } => material.prefixes.of_index(),
    }
}

fn first_cut(description: &str) -> TextCut {
    let first = cuts(description).take_while(|cut| cut.length <= FIRST_LENGTH);
    first.last().unwrap_or(TextCut { end: 0, length: 0 })
}
