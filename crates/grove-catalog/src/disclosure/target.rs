//! Finds the node that a typed query means, and decides if the caller may have it.

use super::node::{Group, Node};
use crate::address::{self, Answer};
use crate::catalog::shown_name;
use crate::snapshot::{Skill, Snapshot};

/// The caller that asks for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A model, by name, id or address.
    Model,
    /// A person, as `/name`.
    Person,
}

/// A node that was asked for, with the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The skill or group.
    pub node: Node,
    /// The caller that asks for it.
    pub caller: Caller,
}

/// The reason why nothing is given. Indexes are into the snapshot's skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No skill or group has this name; the names are spelled nearly so.
    Unknown(Vec<String>),
    /// Several skills have this name.
    Several(Vec<usize>),
    /// Groups of several roots have this name.
    SeveralGroups(Vec<Group>),
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
pub fn resolve(snapshot: &Snapshot, typed: &str) -> Result<Target, Refusal> {
    let (caller, query) = match typed.strip_prefix('/') {
        Some(name) => (Caller::Person, name),
        None => (Caller::Model, typed),
    };
    let at = match address::find(snapshot, query) {
        Answer::One(at) => at,
        Answer::Several(all) => return Err(Refusal::Several(all)),
        Answer::None(..) => return group(snapshot, caller, query),
    };
    let Some(skill) = snapshot.skills.get(at) else {
        return Err(Refusal::Unknown(Vec::new()));
    };
    if !skill.state.is_usable() {
        return Err(Refusal::NotUsable(at));
    }
    if !snapshot.entries().is_given(skill, query) {
        return Err(Refusal::Shadowed(at));
    }
    match caller {
        Caller::Model if !skill.content.flags().model_invocable => Err(Refusal::ForPeople(at)),
        Caller::Person if !skill.content.flags().user_invocable => Err(Refusal::ForModels(at)),
        _ => Ok(Target {
            node: Node::Skill(at),
            caller,
        }),
    }
}

/// Finds a group by its key, its name or its whole path; people call skills, not groups.
fn group(snapshot: &Snapshot, caller: Caller, query: &str) -> Result<Target, Refusal> {
    let all = match caller {
        Caller::Model => Group::all(snapshot),
        Caller::Person => Vec::new(),
    };
    let name = format!("{}/", query.strip_suffix('/').unwrap_or(query));
    let is_cut = name.ends_with("…/");
    let shown = |group: &Group| format!("{}/", shown_name(group.name.trim_end_matches('/')));
    let by_key = all.iter().find(|group| group.key == query);
    let found: Vec<&Group> = match by_key {
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
        [] => Err(Refusal::Unknown(near(snapshot, caller, &all, query))),
        [one] => Ok(Target {
            node: Node::Group((*one).clone()),
            caller,
        }),
        several => Err(Refusal::SeveralGroups(
            several.iter().map(|group| (*group).clone()).collect(),
        )),
    }
}

/// Returns near names among those that this caller may have: a model does not see skills kept for people.
fn near(snapshot: &Snapshot, caller: Caller, groups: &[Group], query: &str) -> Vec<String> {
    let open_to = |skill: &&Skill| match caller {
        Caller::Model => skill.content.flags().model_invocable,
        Caller::Person => skill.content.flags().user_invocable,
    };
    let skills = snapshot.skills.iter().filter(open_to);
    let names = skills
        .flat_map(|skill| [skill.name(), skill.id()])
        .chain(groups.iter().map(|group| group.name.trim_end_matches('/')));
    address::near_names(names, query)
}
