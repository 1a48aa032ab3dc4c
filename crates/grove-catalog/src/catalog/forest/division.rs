//! Divides more than twelve children: by words that five names share, and the rest into twelves in the order of names.
//!
//! Only the words of names are used: groups made from descriptions were ones in which no reader would look.

use std::borrow::Cow;

use xxhash_rust::xxh3::Xxh3;

use crate::tree::is_stop_word;

use super::name_words::NameWords;
use super::{FEWEST, Forest, ForestNodeKind, MOST, NodeId, group};
use crate::catalog::cut::shorten;
use crate::catalog::style::shown_name;

const LONGEST_IN_RANGE: usize = 24;

impl<'a> Forest<'a> {
    /// Divides children, which are in order, into twelve nodes or fewer that hold all of them.
    pub(super) fn divide(
        &mut self,
        folder: (Option<usize>, &'a str),
        part: &str,
        children: Vec<NodeId>,
    ) -> Vec<NodeId> {
        if children.len() <= MOST {
            return children;
        }
        let is_skill = |id: &NodeId| self.skill(*id).is_some();
        let (loose, mut divided): (Vec<_>, Vec<_>) = children.into_iter().partition(is_skill);
        let (by_word, rest) = self.by_words(loose, divided.is_empty());
        for (word, members) in by_word {
            let part = format!("{part}*{word}*/");
            let members = self.divide(folder, &part, members);
            divided.push(self.add_group(folder, part, members));
        }
        if rest.len() < FEWEST || divided.len() + rest.len() <= MOST {
            divided.extend(rest);
        } else {
            divided.extend(self.by_twelves(folder, part, &rest));
        }
        divided.sort_unstable_by_key(|child| self.nodes[*child].first);
        while divided.len() > MOST {
            divided = self.by_twelves(folder, part, &divided);
        }
        divided
    }

    /// Groups skills by a word that their names share, the most frequent word first, and returns the others as well.
    ///
    /// A word that all names share divides nothing, unless there are other nodes beside them.
    fn by_words(
        &mut self,
        loose: Vec<NodeId>,
        is_everything: bool,
    ) -> (Vec<(String, Vec<NodeId>)>, Vec<NodeId>) {
        let most = loose.len() - usize::from(is_everything);
        let words = self.words.get_or_insert_with(|| NameWords::of(&self.names));
        let shared = words.shared(&loose, FEWEST..=most);
        let named = shared.into_iter().filter(|(word, _)| !is_stop_word(word));
        let mut by_word: Vec<(&str, Vec<usize>)> = named.collect();
        by_word.sort_unstable_by(|(a, of_a), (b, of_b)| (of_b.len(), a).cmp(&(of_a.len(), b)));
        let mut is_taken = vec![false; loose.len()];
        let mut divided = Vec::new();
        for (word, mut places) in by_word {
            places.retain(|place| !is_taken[*place]);
            if places.len() >= FEWEST {
                let members = places.iter().map(|place| {
                    is_taken[*place] = true;
                    loose[*place]
                });
                divided.push((word.to_owned(), members.collect()));
            }
        }
        let rest = loose.into_iter().zip(is_taken);
        let rest = rest.filter_map(|(id, is_taken)| (!is_taken).then_some(id));
        (divided, rest.collect())
    }

    /// Makes as few groups of twelve or fewer as possible, all of about one size.
    fn by_twelves(
        &mut self,
        folder: (Option<usize>, &'a str),
        part: &str,
        nodes: &[NodeId],
    ) -> Vec<NodeId> {
        let n_groups = nodes.len().div_ceil(MOST);
        let start = |group: usize| group * nodes.len() / n_groups;
        let mut groups = Vec::with_capacity(n_groups);
        for at in 0..n_groups {
            let (before, after) = (nodes[..start(at)].last(), nodes.get(start(at + 1)));
            let members = &nodes[start(at)..start(at + 1)];
            let [first, .., last] = members else {
                groups.extend(members);
                continue;
            };
            let before = before.map(|id| self.edge(*id, <[_]>::last));
            let after = after.map(|id| self.edge(*id, <[_]>::first));
            let first = guide_word(&self.edge(*first, <[_]>::first), before.as_deref());
            let last = guide_word(&self.edge(*last, <[_]>::last), after.as_deref());
            let part = if first == last {
                format!("{part}{first}/")
            } else {
                format!("{part}{first} … {last}/")
            };
            groups.push(self.add_group(folder, part, members.to_vec()));
        }
        groups
    }

    fn edge(&self, mut id: NodeId, end: fn(&[NodeId]) -> Option<&NodeId>) -> Cow<'_, str> {
        loop {
            let name = match &self.nodes[id].kind {
                ForestNodeKind::Skill(_) => self.names[id],
                ForestNodeKind::Group { path, part, .. } if part.is_empty() => path,
                ForestNodeKind::Group { .. } => match end(&self.nodes[id].children) {
                    Some(child) => {
                        id = *child;
                        continue;
                    }
                    None => "",
                },
            };
            return shown_name(name.rsplit('/').next().unwrap_or(name));
        }
    }

    /// Adds a group under a name that no other group has, as names made from those of skills can be equal.
    fn add_group(
        &mut self,
        folder: (Option<usize>, &'a str),
        mut part: String,
        children: Vec<NodeId>,
    ) -> NodeId {
        let (root, path) = folder;
        // If two names have one hash, one of them only gets a number that it does not need.
        let mut name = Xxh3::new();
        name.update(&root.unwrap_or(usize::MAX).to_le_bytes());
        name.update(path.as_bytes());
        name.update(b"/");
        name.update(part.as_bytes());
        let same = self.taken.entry(name.digest()).or_default();
        *same += 1;
        if *same > 1 {
            part = format!("{} #{same}/", part.trim_end_matches('/'));
        }
        let id = self.nodes.len();
        let first = children.iter().map(|child| self.nodes[*child].first).min();
        let n_items = children
            .iter()
            .map(|child| self.nodes[*child].n_items)
            .sum();
        let mut node = group(root, path, part);
        node.first = first.unwrap_or_default();
        node.n_items = n_items;
        node.children = children;
        self.nodes.push(node);
        id
    }
}

/// Returns the beginning of a name as in a guide word of an encyclopedia: the words up to the one in which it differs
/// from its neighbour. The whole names are in the entry.
fn guide_word(name: &str, neighbour: Option<&str>) -> String {
    let pairs = name.chars().zip(neighbour.unwrap_or_default().chars());
    let n_shared = pairs.take_while(|(own, other)| own == other).count();
    let ends = name.char_indices().skip(n_shared + 1);
    let mut ends = ends.filter(|(_, c)| !c.is_alphanumeric());
    let end = ends.next().map_or(name.len(), |(at, _)| at);
    shorten(name.get(..end).unwrap_or(name), LONGEST_IN_RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_called_by_the_words_that_tell_it_from_its_neighbours() {
        for (name, neighbour, expected) in [
            (
                "clinical-decision-support",
                Some("citation-management"),
                "clinical",
            ),
            (
                "clinical-reports",
                Some("clinical-decision-support"),
                "clinical-reports",
            ),
            ("polars", Some("polars-bio"), "polars"),
            ("polars-bio", Some("polars"), "polars-bio"),
            ("scikit-learn", None, "scikit"),
            ("été_chaud", Some("éta"), "été"),
            (
                "task-000123-with-a-very-long-name",
                Some("task-000123-with-a-very-long-tail"),
                "task-000123-with-a-very…",
            ),
            ("same", Some("same"), "same"),
        ] {
            assert_eq!(
                guide_word(name, neighbour),
                expected,
                "{name} {neighbour:?}"
            );
        }
    }
}
