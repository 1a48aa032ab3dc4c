//! The entries below a node, as many as one answer may have, and a line that leads to the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grove_spec::text::{escape_xml, one_line};

use super::node::DisclosureNode;
use crate::catalog;
use crate::identity::name_key;
use crate::snapshot::Snapshot;

/// The most entries that are listed.
pub const MAX_CHILDREN: usize = 150;
/// The most characters of a description in a list; activating the skill gives the whole.
const MAX_DESCRIPTION: usize = 300;
const MAX_ENTRY_CHARS: usize = 28_000;
const MAX_REST_CHARS: usize = 2_000;

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChild {
    /// The key of its node.
    pub key: String,
    /// The name of its node.
    pub name: String,
    /// Its description, as short as it is listed.
    pub description: Option<String>,
    /// A skill's file, or a group's folder.
    pub location: PathBuf,
}

/// A list of nodes as text and as data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildList {
    /// One line for each node, and one for those that are not listed.
    pub text: String,
    /// The nodes that are listed.
    pub children: Vec<ListedChild>,
    /// The number of nodes that are not.
    pub more: usize,
}

/// Lists nodes as a catalog does, in at most 30,000 characters.
pub fn list_children(
    snapshot: &Snapshot,
    nodes: &[DisclosureNode],
    home: Option<&Path>,
) -> ChildList {
    let mut listed = ChildList::default();
    let mut chars = 0;
    for node in nodes.iter().take(MAX_CHILDREN) {
        let child = child(snapshot, node);
        let entry = catalog::entry_line(
            &child.name,
            child.description.as_deref(),
            &catalog::shown_path(&child.location, home),
        );
        chars += entry.chars().count();
        if chars > MAX_ENTRY_CHARS {
            break;
        }
        listed.text.push_str(&entry);
        listed.children.push(child);
    }
    let rest = nodes.get(listed.children.len()..).unwrap_or_default();
    listed.more = rest.len();
    push_rest(&mut listed.text, snapshot, rest);
    listed
}

/// Returns the text for a model that expands a node.
pub fn expansion_text(
    snapshot: &Snapshot,
    node: &DisclosureNode,
    listed: &ChildList,
    home: Option<&Path>,
) -> String {
    let mut text = listed.text.clone();
    // Its entry gives way to its children, and its own file must stay within reach.
    if let DisclosureNode::Skill(_) = node {
        let location = catalog::shown_path(&node.location(snapshot), home);
        let location = escape_xml(&location);
        let _ = writeln!(
            text,
            "What holds for all of them is in <location>{location}</location>."
        );
    }
    text
}

/// Returns the one line for a group that is open already.
pub fn already_open(snapshot: &Snapshot, node: &DisclosureNode) -> String {
    format!(
        "`{}` is already active: its skills stand in its place in the catalog.\n",
        one_line(&node.name(snapshot))
    )
}

fn child(snapshot: &Snapshot, node: &DisclosureNode) -> ListedChild {
    let description = node.description(snapshot);
    ListedChild {
        key: node.key(snapshot),
        name: node.name(snapshot),
        description: description.map(|whole| catalog::shorten(&one_line(&whole), MAX_DESCRIPTION)),
        location: node.location(snapshot),
    }
}

/// Writes how many more nodes there are, and the names by which to get them, as far as there is room.
fn push_rest(text: &mut String, snapshot: &Snapshot, rest: &[DisclosureNode]) {
    if rest.is_empty() {
        return;
    }
    let (noun, verb, each) = match rest.len() {
        1 => ("entry", "is", "It"),
        _ => ("entries", "are", "Each"),
    };
    let mut line = format!("{} more {noun} {verb} not shown here.", rest.len());
    // The words around the names take at most 100 characters, with numbers of any length.
    let mut room = MAX_REST_CHARS.saturating_sub(line.len() + 100);
    let mut names = Vec::new();
    let bearers = count_names(snapshot);
    for node in rest {
        let name = unique_name(snapshot, node, &bearers);
        // A backtick in a name would end the name early.
        let usable = !name.contains('`') && name == one_line(&name);
        let name = format!("`{}`", escape_xml(&name));
        match room.checked_sub(name.chars().count() + ", ".len()) {
            Some(left) if usable => {
                room = left;
                names.push(name);
            }
            _ => {}
        }
    }
    if !names.is_empty() {
        let _ = write!(
            line,
            " {each} can be activated by its name: {}.",
            names.join(", ")
        );
    }
    match rest.len() - names.len() {
        0 => line.push('\n'),
        unnamed => {
            let _ = writeln!(line, " The catalog leads to the other {unnamed}.");
        }
    }
    text.push_str(&line);
}

/// Counts the offered skills of each name.
fn count_names(snapshot: &Snapshot) -> BTreeMap<String, usize> {
    let mut bearers = BTreeMap::new();
    for skill in &snapshot.skills {
        if skill.state.is_offered() {
            let name = name_key(skill.name()).into_owned();
            *bearers.entry(name).or_default() += 1;
        }
    }
    bearers
}

/// Returns a skill's name if no other skill has it, and otherwise the key.
fn unique_name(
    snapshot: &Snapshot,
    node: &DisclosureNode,
    bearers: &BTreeMap<String, usize>,
) -> String {
    let name = match node {
        DisclosureNode::Skill(_) => node.name(snapshot),
        DisclosureNode::Group(_) => return node.key(snapshot),
    };
    match bearers.get(&*name_key(&name)) {
        Some(1) => name,
        _ => node.key(snapshot),
    }
}
