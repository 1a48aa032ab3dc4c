//! What comes first: when room is short, and on the page.

use std::cmp::Ordering;

use crate::root::Source;
use crate::snapshot::Snapshot;

use super::forest::{Forest, Kind, NodeId};

/// Who is shortened last: pinned, used of late, the user's own, then the others; then by name.
pub(crate) fn when_room_is_short(
    snapshot: &Snapshot,
    forest: &Forest<'_>,
    a: NodeId,
    b: NodeId,
) -> Ordering {
    let rank = |id: NodeId| {
        forest
            .node(id)
            .map(|node| (!node.pinned, std::cmp::Reverse(node.usage)))
    };
    rank(a)
        .cmp(&rank(b))
        .then_with(|| on_the_page(snapshot, forest, a, b))
}

/// The order of entries. Usage is not in it: a text that moved with every use would never be found in a
/// provider's cache again.
pub(crate) fn on_the_page(
    snapshot: &Snapshot,
    forest: &Forest<'_>,
    a: NodeId,
    b: NodeId,
) -> Ordering {
    let Some((a, b)) = forest.node(a).zip(forest.node(b)) else {
        return Ordering::Equal;
    };
    let source = |root: usize| {
        snapshot
            .roots
            .get(root)
            .map_or(4, |root| class(root.source))
    };
    let key = |kind: Kind<'_>| match kind {
        Kind::Group(_) => None,
        Kind::Leaf(skill) | Kind::Branch(skill) => {
            snapshot.skills.get(skill).map(|skill| &skill.place.id)
        }
    };
    (!a.pinned, source(a.root))
        .cmp(&(!b.pinned, source(b.root)))
        .then_with(|| name(snapshot, a.kind).cmp(name(snapshot, b.kind)))
        .then_with(|| a.root.cmp(&b.root))
        .then_with(|| key(a.kind).cmp(&key(b.kind)))
}

/// The user's own before the project's, before packages, before what came with the binary.
const fn class(source: Source) -> u8 {
    match source {
        Source::User | Source::Managed | Source::Extra => 0,
        Source::Project => 1,
        Source::Package => 2,
        Source::Bundled => 3,
    }
}

fn name<'a>(snapshot: &'a Snapshot, kind: Kind<'a>) -> &'a str {
    match kind {
        Kind::Group(path) => path,
        Kind::Leaf(skill) | Kind::Branch(skill) => {
            snapshot.skills.get(skill).map_or("", |skill| skill.name())
        }
    }
}
