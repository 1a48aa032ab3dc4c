//! Makes a pool of skills fit its share: collapse, then shorten, then names only, then leave out.

use std::collections::BinaryHeap;

use crate::snapshot::Snapshot;
use crate::tree::FEWEST_TO_COLLAPSE;

use super::budget::Pool;
use super::cards::{Cards, LONGEST_DESCRIPTION};
use super::forest::{Forest, Kind, NodeId};
use super::priority;
use super::shorten::Sentences;

/// Below this many characters a description is hardly a sentence; the last ones go without instead.
const READABLE: usize = 100;

/// The part of the room for descriptions that may stay empty.
const HARDLY_ANY: usize = 100;

/// What was done to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// With its whole description.
    Full,
    /// With this much of it.
    Excerpt {
        /// As shown.
        text: String,
        /// What it costs once escaped.
        cost: usize,
    },
    /// Without one.
    NameOnly,
}

/// How much a pool may take, and how much it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) size: usize,
    pub(crate) entries: usize,
}

impl Room {
    /// What is left beside another.
    pub(crate) fn without(self, other: Self) -> Self {
        Self {
            size: self.size.saturating_sub(other.size),
            entries: self.entries.saturating_sub(other.entries),
        }
    }

    pub(crate) fn holds(self, other: Self) -> bool {
        other.size <= self.size && other.entries <= self.entries
    }
}

/// Which groups and branches are open, and which must stay so while there is another way.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    open: Vec<bool>,
    /// Nodes that were opened on request, oldest first.
    asked: Vec<NodeId>,
}

impl Opened {
    /// Groups are open, branches are closed, but for those that were asked for.
    pub(crate) fn new(forest: &Forest<'_>, asked: Vec<NodeId>) -> Self {
        let mut open: Vec<bool> = forest
            .nodes
            .iter()
            .map(|node| matches!(node.kind, Kind::Group(_)))
            .collect();
        for id in &asked {
            if let Some(slot) = open.get_mut(*id) {
                *slot = true;
            }
        }
        Self { open, asked }
    }

    pub(crate) fn is_open(&self, id: NodeId) -> bool {
        self.open.get(id) == Some(&true)
    }

    fn is_in_sight(&self, forest: &Forest<'_>, id: NodeId) -> bool {
        let parent = forest.node(id).and_then(|node| node.parent);
        parent.is_none_or(|above| self.is_open(above))
    }

    /// The nodes that are entries: closed or leaves, at the top or in something open.
    ///
    /// What is open inside something closed is in sight all the same: it was asked for by name.
    pub(crate) fn entries<'f>(
        &'f self,
        forest: &'f Forest<'_>,
        pool: Pool,
    ) -> impl Iterator<Item = NodeId> + 'f {
        let shown = move |id: &NodeId| {
            let in_pool = forest.node(*id).is_some_and(|node| node.pool == pool);
            in_pool && !self.is_open(*id) && self.is_in_sight(forest, *id)
        };
        forest.bottom_up.iter().copied().filter(shown)
    }
}

/// What a pool needs when nothing is done to it.
pub(crate) fn need(forest: &Forest<'_>, cards: &Cards<'_>, opened: &Opened, pool: Pool) -> Room {
    opened
        .entries(forest, pool)
        .fold(Room::default(), |sum, id| Room {
            size: sum.size + cards.full(id),
            entries: sum.entries + 1,
        })
}

/// Collapses groups and branches of a pool until it fits or nothing is left to collapse.
pub(crate) fn collapse(
    forest: &Forest<'_>,
    cards: &Cards<'_>,
    opened: &mut Opened,
    pool: Pool,
    room: Room,
) {
    let mut asked = opened.asked.clone();
    loop {
        let kept: Vec<NodeId> = asked
            .iter()
            .flat_map(|id| std::iter::once(*id).chain(forest.ancestors(*id)))
            .collect();
        if Collapsing::new(forest, cards, opened, pool, &kept).run(room) || asked.len() < 2 {
            return;
        }
        // What was opened last is what the reader looks at now; what was opened first goes first.
        asked.remove(0);
    }
}

/// The size of what is visible below each node, while nodes are being closed.
struct Collapsing<'f, 'a> {
    forest: &'f Forest<'a>,
    cards: &'f Cards<'a>,
    opened: &'f mut Opened,
    kept: &'f [NodeId],
    below: Vec<Below>,
    total: Room,
    /// What an entry less is worth beside a character less.
    entry_worth: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Below {
    size: usize,
    entries: usize,
    loss: usize,
    /// Children that are open.
    open: usize,
}

impl<'f, 'a> Collapsing<'f, 'a> {
    fn new(
        forest: &'f Forest<'a>,
        cards: &'f Cards<'a>,
        opened: &'f mut Opened,
        pool: Pool,
        kept: &'f [NodeId],
    ) -> Self {
        let mut below = vec![Below::default(); forest.nodes.len()];
        let mut total = Room::default();
        for id in forest.bottom_up.iter().copied() {
            let Some(node) = forest.node(id).filter(|node| node.pool == pool) else {
                continue;
            };
            let is_open = opened.is_open(id);
            if !is_open && let Some(slot) = below.get_mut(id) {
                *slot = closed(forest, cards, id);
            }
            let own = below.get(id).copied().unwrap_or_default();
            let above = node.parent.filter(|above| opened.is_open(*above));
            if let Some(above) = above.and_then(|above| below.get_mut(above)) {
                above.size += own.size;
                above.entries += own.entries;
                above.loss += own.loss;
                above.open += usize::from(is_open);
            } else if node.parent.is_none() || is_open {
                total.size += own.size;
                total.entries += own.entries;
            }
        }
        Self {
            forest,
            cards,
            opened,
            kept,
            below,
            total,
            entry_worth: 0,
        }
    }

    /// Whether it fits in the end.
    fn run(mut self, room: Room) -> bool {
        self.entry_worth = room.size / room.entries.max(1);
        let mut heap: BinaryHeap<(usize, std::cmp::Reverse<NodeId>)> = self
            .forest
            .bottom_up
            .iter()
            .filter_map(|id| self.offer(*id))
            .collect();
        while !room.holds(self.total) {
            let Some((_, std::cmp::Reverse(best))) = heap.pop() else {
                return false;
            };
            if self.offer(best).is_none() {
                continue;
            }
            let chosen = self.least_loss_that_suffices(best, &heap, room);
            if chosen != best {
                heap.extend(self.offer(best));
            }
            self.close(chosen);
            heap.extend(
                self.forest
                    .node(chosen)
                    .and_then(|node| node.parent)
                    .and_then(|above| self.offer(above)),
            );
        }
        true
    }

    /// What closing a node saves for what it loses, if it may be closed now.
    ///
    /// Inner nodes first: their parent is offered once nothing below it is open, so that as much as
    /// possible stays in sight.
    fn offer(&self, id: NodeId) -> Option<(usize, std::cmp::Reverse<NodeId>)> {
        let node = self.forest.node(id)?;
        let below = self.below.get(id)?;
        let may = self.opened.is_open(id)
            && !node.pinned
            && below.open == 0
            && node.children.len() >= FEWEST_TO_COLLAPSE
            && !self.kept.contains(&id);
        let saved = self.saved(id)?;
        let worth = saved.size + saved.entries * self.entry_worth;
        (may && below.entries > 0 && worth > 0)
            .then(|| (worth * 1_000 / below.loss.max(1), std::cmp::Reverse(id)))
    }

    fn saved(&self, id: NodeId) -> Option<Room> {
        let (below, after) = (self.below.get(id)?, self.when_closed(id));
        Some(Room {
            size: below.size.saturating_sub(after.size),
            entries: below.entries.saturating_sub(after.entries),
        })
    }

    /// What is left of a node once it is closed: one entry, or nothing inside something closed.
    fn when_closed(&self, id: NodeId) -> Below {
        if self.opened.is_in_sight(self.forest, id) {
            closed(self.forest, self.cards, id)
        } else {
            Below::default()
        }
    }

    fn least_loss_that_suffices(
        &self,
        best: NodeId,
        heap: &BinaryHeap<(usize, std::cmp::Reverse<NodeId>)>,
        room: Room,
    ) -> NodeId {
        let suffices = |id: NodeId| {
            self.saved(id).is_some_and(|saved| {
                room.holds(Room {
                    size: self.total.size.saturating_sub(saved.size),
                    entries: self.total.entries.saturating_sub(saved.entries),
                })
            })
        };
        if !suffices(best) {
            return best;
        }
        let loss = |id: NodeId| (self.below.get(id).map(|below| below.loss), id);
        heap.iter()
            .map(|(_, id)| id.0)
            .filter(|id| self.offer(*id).is_some() && suffices(*id))
            .fold(
                best,
                |least, id| if loss(id) < loss(least) { id } else { least },
            )
    }

    fn close(&mut self, id: NodeId) {
        if let Some(slot) = self.opened.open.get_mut(id) {
            *slot = false;
        }
        let before = self.below.get(id).copied().unwrap_or_default();
        let after = self.when_closed(id);
        if let Some(slot) = self.below.get_mut(id) {
            *slot = after;
        }
        // What is above something closed never counted what is below.
        let opened = &self.opened;
        let above = self.forest.ancestors(id);
        let above: Vec<NodeId> = above.take_while(|above| opened.is_open(*above)).collect();
        for (steps, above) in above.into_iter().enumerate() {
            if let Some(slot) = self.below.get_mut(above) {
                slot.size = slot.size - before.size + after.size;
                slot.entries = slot.entries - before.entries + after.entries;
                slot.loss = slot.loss - before.loss + after.loss;
                slot.open -= usize::from(steps == 0);
            }
        }
        self.total.size = self.total.size - before.size + after.size;
        self.total.entries = self.total.entries - before.entries + after.entries;
    }
}

/// A node as one entry. Hiding it one step deeper loses more the more skills it stands for and the more
/// they were used.
fn closed(forest: &Forest<'_>, cards: &Cards<'_>, id: NodeId) -> Below {
    let (n_skills, usage) = forest
        .node(id)
        .map_or((0, 0), |node| (node.n_skills, node.usage as usize));
    Below {
        size: cards.full(id),
        entries: 1,
        loss: 4 + n_skills.saturating_sub(1) + 4 * usage.min(1_000),
        open: 0,
    }
}

/// What became of the entries of a pool.
#[derive(Debug, Default)]
pub(crate) struct Fitted {
    pub(crate) shown: Vec<(NodeId, Form)>,
    pub(crate) left_out: Vec<NodeId>,
    pub(crate) used: Room,
}

/// Whether at least the names of all entries fit.
pub(crate) fn holds_names(
    forest: &Forest<'_>,
    cards: &Cards<'_>,
    opened: &Opened,
    pool: Pool,
    room: Room,
) -> bool {
    let names = opened
        .entries(forest, pool)
        .fold(Room::default(), |sum, id| Room {
            size: sum.size + cards.bare(id),
            entries: sum.entries + 1,
        });
    room.holds(names)
}

/// Shortens, strips and leaves out until the entries fit.
pub(crate) fn fill<'a>(
    snapshot: &'a Snapshot,
    forest: &Forest<'a>,
    cards: &Cards<'_>,
    opened: &Opened,
    pool: Pool,
    room: Room,
) -> Fitted {
    let mut entries: Vec<NodeId> = opened.entries(forest, pool).collect();
    let needed = entries.iter().map(|id| cards.full(*id)).sum();
    let all = Room {
        size: needed,
        entries: entries.len(),
    };
    if room.holds(all) {
        return Fitted {
            shown: entries.into_iter().map(|id| (id, Form::Full)).collect(),
            left_out: Vec::new(),
            used: all,
        };
    }
    entries.sort_by_cached_key(|id| priority::when_room_is_short(snapshot, forest, *id));
    let (kept, left_out, bare) = keep_by_name(cards, &entries, room);
    let forms = describe(cards, &kept, room.size - bare);
    let used = forms.iter().map(|(id, form)| cards.cost(*id, form)).sum();
    Fitted {
        used: Room {
            size: used,
            entries: forms.len(),
        },
        shown: forms,
        left_out,
    }
}

/// The first entries whose names alone fit, the others, and what those names cost.
fn keep_by_name(
    cards: &Cards<'_>,
    entries: &[NodeId],
    room: Room,
) -> (Vec<NodeId>, Vec<NodeId>, usize) {
    let (mut kept, mut left_out, mut used) = (Vec::new(), Vec::new(), 0);
    for id in entries.iter().copied() {
        let bare = cards.bare(id);
        if kept.len() < room.entries && used + bare <= room.size {
            used += bare;
            kept.push(id);
        } else {
            left_out.push(id);
        }
    }
    (kept, left_out, used)
}

/// Shares the room beside the names between the descriptions: one length for all, found by halving until
/// hardly any room is left over; when that length is not readable, the last ones go without.
fn describe(cards: &Cards<'_>, kept: &[NodeId], spare: usize) -> Vec<(NodeId, Form)> {
    let taken_apart = kept.iter().map(|id| {
        let description = cards.card(*id).map_or("", |card| &card.description);
        (*id, Sentences::of(description))
    });
    let kept: Vec<(NodeId, Sentences<'_>)> = taken_apart.collect();
    let form = |(id, sentences): &(NodeId, Sentences<'_>), length: usize| {
        let form = cards.within(*id, sentences, length);
        let extra = cards.cost(*id, &form).saturating_sub(cards.bare(*id));
        (form, extra)
    };
    let total = |length: usize| kept.iter().map(|one| form(one, length).1).sum::<usize>();
    let least = total(READABLE);
    if least > spare {
        let mut spare = spare;
        let mut going = true;
        let in_order = kept.iter().map(|one| {
            let (form, extra) = form(one, READABLE);
            going &= extra <= spare;
            if going {
                spare -= extra;
                (one.0, form)
            } else {
                (one.0, Form::NameOnly)
            }
        });
        return in_order.collect();
    }
    let descriptions = kept.iter().filter_map(|(id, _)| cards.card(*id));
    let longest = descriptions.map(|card| card.description.len()).max();
    let longest = longest.unwrap_or(0).clamp(READABLE, LONGEST_DESCRIPTION);
    // Between two lengths the total grows about evenly, so a guess is near; a halving in between bounds the
    // number of guesses.
    let everything = kept
        .iter()
        .map(|(id, _)| cards.full(*id).saturating_sub(cards.bare(*id)));
    let (mut fits, mut too_much) = ((READABLE, least), (longest + 1, everything.sum::<usize>()));
    let mut guess = true;
    while too_much.0 - fits.0 > 1 && spare - fits.1 > spare / HARDLY_ANY {
        let (width, rise) = (too_much.0 - fits.0, too_much.1.saturating_sub(fits.1));
        let step = if guess && rise > 0 {
            (width * (spare - fits.1) / rise).clamp(1, width - 1)
        } else {
            width / 2
        };
        guess = !guess;
        let length = fits.0 + step;
        let used = total(length);
        if used <= spare {
            fits = (length, used);
        } else {
            too_much = (length, used);
        }
    }
    kept.iter()
        .map(|one| (one.0, form(one, fits.0).0))
        .collect()
}
