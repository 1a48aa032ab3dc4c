//! The work that working trees begin with: that of the steps before them, as it was captured, each step's on top of that of
//! the steps before it.
//!
//! A plan says with which nodes' work a tree begins; the state knows their patches. Patches are not put together in this
//! module: that is done where a repository is.

use std::collections::BTreeSet;
use std::fmt;

use grove_spec::Digest;
use grove_spec::text::first_names;
use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::plan::{Node, Plan, Work, WorktreePlan};
use crate::state::State;

/// Captured work that a working tree begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierWork {
    /// The node that did it.
    pub node: NodeId,
    /// The artifact with the patch.
    pub patch: Digest,
}

/// Work of several nodes that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkConflict {
    /// The nodes, in the order in which their work was put in.
    pub nodes: Vec<NodeId>,
    /// The files that they changed differently.
    pub files: Vec<String>,
}

impl fmt::Display for WorkConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.nodes.iter().map(NodeId::as_str).collect();
        let files = first_names(&self.files);
        write!(
            f,
            "the work of {} conflicts in {files}",
            names.join(" and ")
        )
    }
}

/// Lets every working tree begin with the work of the nearest steps before it that have one in the same repository, and with
/// what those began with. A tree whose beginning was named begins there.
pub fn begin_with_earlier_work(nodes: &mut [Node], is_named: impl Fn(&NodeId) -> bool) {
    for at in 0..nodes.len() {
        let (before, rest) = nodes.split_at_mut(at);
        let Some(node) = rest.first_mut().filter(|node| !is_named(&node.id)) else {
            continue;
        };
        let after = node.after.clone();
        let Some(tree) = tree_mut(node) else { continue };
        let nearest = nearest(before, &after, tree);
        let trees = before.iter().filter(|it| nearest.contains(&it.id));
        let trees: Vec<&WorktreePlan> = trees.filter_map(Node::worktree).collect();
        let Some(first) = trees.first() else { continue };
        tree.base.clone_from(&first.base);
        let with: BTreeSet<&NodeId> = trees
            .iter()
            .flat_map(|it| &it.begins)
            .chain(&nearest)
            .collect();
        let in_order = before.iter().filter(|it| with.contains(&it.id));
        tree.begins = in_order.map(|it| it.id.clone()).collect();
    }
}

/// The nearest of these nodes, and of those before them, that have a working tree in the same repository.
fn nearest(before: &[Node], after: &[NodeId], tree: &WorktreePlan) -> BTreeSet<NodeId> {
    let mut wanted: BTreeSet<&NodeId> = after.iter().collect();
    let mut seen = BTreeSet::new();
    while !wanted.is_empty() {
        let these: Vec<&Node> = before.iter().filter(|it| wanted.contains(&it.id)).collect();
        let is_there = |node: &&&Node| {
            let other = node.worktree();
            other.is_some_and(|other| other.repository == tree.repository)
        };
        let found: BTreeSet<NodeId> = these
            .iter()
            .filter(is_there)
            .map(|it| it.id.clone())
            .collect();
        if !found.is_empty() {
            return found;
        }
        seen.extend(wanted);
        let further = these.iter().flat_map(|node| &node.after);
        wanted = further.filter(|id| !seen.contains(id)).collect();
    }
    BTreeSet::new()
}

fn tree_mut(node: &mut Node) -> Option<&mut WorktreePlan> {
    match &mut node.work {
        Work::Child(child) => child.place.worktree.as_mut(),
        Work::FanOut(list) => list.child.place.worktree.as_mut(),
    }
}

impl Node {
    /// The working tree of its child; for a node that runs for each item of a list, that of each item.
    pub fn worktree(&self) -> Option<&WorktreePlan> {
        self.child().place.worktree.as_ref()
    }
}

impl Plan {
    /// Groups nodes whose working trees begin with one another's work, in their order. Items of a list that no later tree
    /// begins with stand alone, as any other node.
    pub fn joined(&self, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut chains: Vec<BTreeSet<&NodeId>> = Vec::new();
        for node in &self.nodes {
            let begins = node.worktree().map_or(&[][..], |tree| &tree.begins);
            if begins.is_empty() {
                continue;
            }
            let mut chain: BTreeSet<&NodeId> = begins.iter().chain([&node.id]).collect();
            chains.retain(|other| {
                let is_apart = other.is_disjoint(&chain);
                if !is_apart {
                    chain.extend(other.iter().copied());
                }
                is_apart
            });
            chains.push(chain);
        }
        let mut joined: Vec<(Option<usize>, Vec<NodeId>)> = Vec::new();
        for id in nodes {
            let step = id.of_item().map_or_else(|| id.clone(), |(step, _)| step);
            let chain = chains.iter().position(|chain| chain.contains(&step));
            let known = joined
                .iter_mut()
                .find(|it| chain.is_some() && it.0 == chain);
            match known {
                Some((_, together)) => together.push(id.clone()),
                None => joined.push((chain, vec![id.clone()])),
            }
        }
        joined.into_iter().map(|(_, together)| together).collect()
    }
}

impl State {
    /// Returns the work of these nodes in their working trees; for a node that ran for each item of a list, the work of each.
    pub fn earlier_work(&self, nodes: &[NodeId]) -> Vec<EarlierWork> {
        let mut works = Vec::new();
        for id in nodes {
            let items = self.nodes.get(id).and_then(|node| node.items.as_ref());
            let ids = match items {
                Some(found) => found.items.iter().map(|item| id.item(&item.key)).collect(),
                None => vec![id.clone()],
            };
            works.extend(ids.into_iter().filter_map(|node| {
                let tree = self.nodes.get(&node)?.worktree.as_ref()?;
                let captured = tree.captured.as_ref().filter(|it| it.files > 0)?;
                let patch = captured.patch;
                Some(EarlierWork { node, patch })
            }));
        }
        works
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Child, FanOut, WorktreeSetup};

    /// A node after others, with a working tree in a repository.
    fn node(id: &str, after: &[&str], repository: Option<&str>) -> Node {
        let mut child = Child::new("a", Digest::of(b"told"), "p/m");
        child.place.worktree = repository.map(|repository| WorktreePlan {
            repository: repository.into(),
            base: format!("head of {repository}"),
            begins: Vec::new(),
            subfolder: "".into(),
            setup: WorktreeSetup::default(),
        });
        Node {
            id: id.into(),
            after: after.iter().map(|id| NodeId::from(*id)).collect(),
            ..Node::first(Work::Child(Box::new(child)))
        }
    }

    fn list(id: &str, after: &[&str]) -> Node {
        let Node { work, .. } = node(id, after, Some("/r"));
        let Work::Child(child) = work else {
            unreachable!("a node of one child");
        };
        let list = FanOut {
            from: Some(NodeId::step(1)),
            items: None,
            path: String::new(),
            item: "item".to_owned(),
            key: None,
            max_items: 4,
            fail_if_empty: false,
            schema: None,
            child: *child,
            reviewer: None,
        };
        Node {
            work: Work::FanOut(Box::new(list)),
            ..node(id, after, None)
        }
    }

    /// The beginning of each tree, as `2: base + 1`.
    fn begun(nodes: &[Node]) -> Vec<String> {
        let trees = nodes
            .iter()
            .filter_map(|node| Some((&node.id, node.worktree()?)));
        trees
            .map(|(id, tree)| {
                let with: Vec<&str> = tree.begins.iter().map(NodeId::as_str).collect();
                format!("{id}: {} + {}", tree.base, with.join(" "))
            })
            .collect()
    }

    #[test]
    fn a_tree_begins_with_the_work_of_the_nearest_trees_before_it() {
        let r = Some("/r");
        for (what, mut nodes, expected) in [
            (
                "steps in sequence",
                vec![
                    node("1", &[], r),
                    node("2", &["1"], r),
                    node("3", &["2"], r),
                ],
                &[
                    "1: head of /r + ",
                    "2: head of /r + 1",
                    "3: head of /r + 1 2",
                ][..],
            ),
            (
                "siblings begin alike, and the next with the work of all",
                vec![
                    node("1", &[], r),
                    node("2.0", &["1"], r),
                    node("2.1", &["1"], r),
                    node("3", &["2.0", "2.1"], r),
                ],
                &[
                    "1: head of /r + ",
                    "2.0: head of /r + 1",
                    "2.1: head of /r + 1",
                    "3: head of /r + 1 2.0 2.1",
                ],
            ),
            (
                "a step without a tree is passed by",
                vec![
                    node("1", &[], r),
                    node("2", &["1"], None),
                    node("3", &["2"], r),
                ],
                &["1: head of /r + ", "3: head of /r + 1"],
            ),
            (
                "a sibling without one says nothing",
                vec![
                    node("1", &[], r),
                    node("2.0", &["1"], None),
                    node("2.1", &["1"], r),
                    node("3", &["2.0", "2.1"], r),
                ],
                &[
                    "1: head of /r + ",
                    "2.1: head of /r + 1",
                    "3: head of /r + 1 2.1",
                ],
            ),
            (
                "another repository is passed by",
                vec![
                    node("1", &[], r),
                    node("2", &["1"], Some("/other")),
                    node("3", &["2"], r),
                ],
                &[
                    "1: head of /r + ",
                    "2: head of /other + ",
                    "3: head of /r + 1",
                ],
            ),
            (
                "a list is one of those before",
                vec![
                    node("1", &[], None),
                    list("2", &["1"]),
                    node("3", &["2"], r),
                ],
                &["2: head of /r + ", "3: head of /r + 2"],
            ),
            (
                "side by side",
                vec![node("1.0", &[], r), node("1.1", &[], r)],
                &["1.0: head of /r + ", "1.1: head of /r + "],
            ),
        ] {
            begin_with_earlier_work(&mut nodes, |_| false);
            assert_eq!(begun(&nodes), expected, "{what}");
        }
    }

    #[test]
    fn a_named_beginning_is_one_and_what_follows_goes_on_from_there() {
        let r = Some("/r");
        let mut nodes = vec![
            node("1", &[], r),
            node("2", &["1"], r),
            node("3", &["2"], r),
        ];
        if let Some(tree) = tree_mut(&mut nodes[1]) {
            "release".clone_into(&mut tree.base);
        }
        begin_with_earlier_work(&mut nodes, |id| id.as_str() == "2");
        assert_eq!(
            begun(&nodes),
            ["1: head of /r + ", "2: release + ", "3: release + 2"]
        );
    }

    #[test]
    fn what_begins_with_one_another_is_put_together() {
        let r = Some("/r");
        let mut nodes = vec![
            node("1", &[], r),
            list("2", &["1"]),
            node("3", &["2"], r),
            node("9", &[], r),
        ];
        begin_with_earlier_work(&mut nodes, |_| false);
        let ids = |names: &[&str]| names.iter().map(|it| NodeId::from(*it)).collect::<Vec<_>>();
        let plan = Plan::of(nodes);
        assert_eq!(
            plan.joined(&ids(&["1", "2[a]", "2[b]", "3", "9"])),
            [ids(&["1", "2[a]", "2[b]", "3"]), ids(&["9"])]
        );
        let mut alone = vec![node("1", &[], None), list("2", &["1"])];
        begin_with_earlier_work(&mut alone, |_| false);
        let plan = Plan::of(alone);
        let found = plan.joined(&ids(&["2[a]", "2[b]"]));
        assert_eq!(found, [ids(&["2[a]"]), ids(&["2[b]"])]);
    }

    #[test]
    fn a_conflict_names_whose_work_and_where() {
        let conflict = WorkConflict {
            nodes: vec!["2.0".into(), "2.1".into()],
            files: vec!["a.txt".to_owned()],
        };
        assert_eq!(
            conflict.to_string(),
            "the work of 2.0 and 2.1 conflicts in a.txt"
        );
    }
}
