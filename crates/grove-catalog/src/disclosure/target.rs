//! Finds the node that a typed query means, and decides if the caller may have it.

use super::node::{DisclosureNode, SkillGroup};
use crate::address::{self, AddressMatch};
use crate::catalog::shown_name;
use crate::snapshot::{Skill, Snapshot};

/// The caller that asks for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillCaller {
    /// A model, by name, id or address.
    Model,
    /// A person, as `/name`.
    Person,
}

/// A node that was asked for, with the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisclosureTarget {
    /// The skill or group.
    pub node: DisclosureNode,
    /// The caller that asks for it.
    pub caller: SkillCaller,
}

/// The reason why nothing is given. Indexes are into the snapshot's skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisclosureRefusal {
    /// No skill or group has this name; the names are spelled nearly so.
    Unknown(Vec<String>),
    /// Several skills have this name.
    Several(Vec<usize>),
    /// Groups of several roots have this name.
    SeveralGroups(Vec<SkillGroup>),
    /// It is not usable; its reasons say why.
    NotUsable(usize),
    /// Another skill of its name is used, so it is given only by its address.
    Shadowed(usize),
    /// Its author keeps it for people.
    ForPeople(usize),
    /// Its author keeps it for models.
    ForModels(usize),
}

/// Finds a node by its query: a name, an id, an address, a group, or `/name` from a person.
///
/// A skill goes before a group of the same path, unless the path ends in a slash.
pub fn resolve(snapshot: &Snapshot, typed: &str) -> Result<DisclosureTarget, DisclosureRefusal> {
    let (caller, query) = match typed.strip_prefix('/') {
        Some(name) => (SkillCaller::Person, name),
        None => (SkillCaller::Model, typed),
    };
    let at = match address::find(snapshot, query) {
        AddressMatch::One(at) => at,
        AddressMatch::Several(all) => return Err(DisclosureRefusal::Several(all)),
        AddressMatch::None(..) => return group(snapshot, caller, query),
    };
    let Some(skill) = snapshot.skills.get(at) else {
        return Err(DisclosureRefusal::Unknown(Vec::new()));
    };
    if !skill.state.is_usable() {
        return Err(DisclosureRefusal::NotUsable(at));
    }
    if !snapshot.entries().is_given(skill, query) {
        return Err(DisclosureRefusal::Shadowed(at));
    }
    match caller {
        SkillCaller::Model if !skill.content.flags().model_invocable => {
            Err(DisclosureRefusal::ForPeople(at))
        }
        SkillCaller::Person if !skill.content.flags().user_invocable => {
            Err(DisclosureRefusal::ForModels(at))
        }
        _ => Ok(DisclosureTarget {
            node: DisclosureNode::Skill(at),
            caller,
        }),
    }
}

/// Finds a group by its key, its name or its whole path; people call skills, not groups.
fn group(
    snapshot: &Snapshot,
    caller: SkillCaller,
    query: &str,
) -> Result<DisclosureTarget, DisclosureRefusal> {
    let all = match caller {
        SkillCaller::Model => SkillGroup::all(snapshot),
        SkillCaller::Person => Vec::new(),
    };
    let name = format!("{}/", query.strip_suffix('/').unwrap_or(query));
    let is_cut = name.ends_with("…/");
    let shown = |group: &SkillGroup| format!("{}/", shown_name(group.name.trim_end_matches('/')));
    let by_key = all.iter().find(|group| group.key == query);
    let found: Vec<&SkillGroup> = match by_key {
        Some(group) => vec![group],
        None => all
            .iter()
            .filter(|group| {
                let is_path = group.key.strip_prefix(&name);
                let is_path = is_path.is_some_and(|label| label.starts_with('@'));
                group.name == name || is_path || (is_cut && shown(group) == name)
            })
            .collect(),
    };
    match found.as_slice() {
        [] => Err(DisclosureRefusal::Unknown(near(
            snapshot, caller, &all, query,
        ))),
        [one] => Ok(DisclosureTarget {
            node: DisclosureNode::Group((*one).clone()),
            caller,
        }),
        several => Err(DisclosureRefusal::SeveralGroups(
            several.iter().map(|group| (*group).clone()).collect(),
        )),
    }
}

/// Returns near names among those that this caller may have: a model does not see skills kept for people.
fn near(
    snapshot: &Snapshot,
    caller: SkillCaller,
    groups: &[SkillGroup],
    query: &str,
) -> Vec<String> {
    let open_to = |skill: &&Skill| match caller {
        SkillCaller::Model => skill.content.flags().model_invocable,
        SkillCaller::Person => skill.content.flags().user_invocable,
    };
    let skills = snapshot.skills.iter().filter(open_to);
    let names = skills
        .flat_map(|skill| [skill.name(), skill.id()])
        .chain(groups.iter().map(|group| group.name.trim_end_matches('/')));
    address::near_names(names, query)
}
