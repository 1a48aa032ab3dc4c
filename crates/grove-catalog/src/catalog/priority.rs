//! What comes first: when room is short, and on the page.

use std::cmp::Reverse;

use crate::root::Source;
use crate::snapshot::{Skill, Snapshot};

use super::forest::{Forest, Kind, NodeId};

/// A place in the order of entries: pinned first, then whose it is, then the name; the rest only tells equals
/// apart.
///
/// Usage is not in it: a text that moved with every use would never be found in a provider's cache again.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OnThePage<'a> {
    not_pinned: bool,
    class: u8,
    name: &'a str,
    root: usize,
    id: Option<&'a str>,
}

/// Who is shortened last: pinned, used of late, then as on the page.
pub(crate) fn when_room_is_short<'a>(
    snapshot: &'a Snapshot,
    forest: &Forest<'a>,
    id: NodeId,
) -> (bool, Reverse<u32>, OnThePage<'a>) {
    let (pinned, usage) = forest
        .node(id)
        .map_or((false, 0), |node| (node.pinned, node.usage));
    (!pinned, Reverse(usage), on_the_page(snapshot, forest, id))
}

/// The place of a node in the order of entries.
pub(crate) fn on_the_page<'a>(
    snapshot: &'a Snapshot,
    forest: &Forest<'a>,
    id: NodeId,
) -> OnThePage<'a> {
    let node = forest.node(id);
    let root = node.map_or(usize::MAX, |node| node.root);
    let (name, id) = match node.map(|node| node.kind) {
        Some(Kind::Group(path)) => (path, None),
        Some(Kind::Leaf(skill) | Kind::Branch(skill)) => {
            let skill = snapshot.skills.get(skill);
            (skill.map_or("", Skill::name), skill.map(Skill::id))
        }
        None => ("", None),
    };
    let source = snapshot.roots.get(root).map(|root| root.source);
    OnThePage {
        not_pinned: node.is_none_or(|node| !node.pinned),
        class: source.map_or(4, class),
        name,
        root,
        id,
    }
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
