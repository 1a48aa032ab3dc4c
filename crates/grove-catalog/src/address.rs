//! From what a person or a model typed to a skill, an agent or a chain.

use std::borrow::Cow;

use grove_spec::text::{edits, one_line};
use grove_spec::{Code, Diagnostic};

use crate::catalog::shown_name;
use crate::entry::{Entries, Entry};
use crate::identity::name_key;
use crate::snapshot::Snapshot;
use crate::state::StateReason;

/// The result of looking for a name or id. Indexes are into the list that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressMatch {
    /// Exactly one; it may be unusable.
    One(usize),
    /// Several; they have to be told apart by id.
    Several(Vec<usize>),
    /// No match, with up to three names that are spelled nearly so.
    None(Vec<String>),
}

/// Finds a skill by `id@label`, by id, or by name.
pub fn find(snapshot: &Snapshot, query: &str) -> AddressMatch {
    snapshot.entries().find(query)
}

type Way<'a, E> = &'a dyn Fn(&E) -> bool;

impl<E: Entry> Entries<'_, E> {
    /// Finds one by `id@label`, by name, by one of its aliases, or by id.
    ///
    /// A bare name means the offered one of that name after ranking. An id counts if no entry has it as its name, and
    /// an unusable entry is found by its bare name only if no offered one has it.
    pub fn find(self, query: &str) -> AddressMatch {
        let key = name_key(query);
        let by_name = |entry: &E| name_key(entry.name()) == key;
        let by_alias = |entry: &E| entry.aliases().iter().any(|alias| name_key(alias) == key);
        let by_id = |entry: &E| {
            entry.short_id() == Some(query)
                || entry
                    .ids(self.all)
                    .next()
                    .is_some_and(|(_, id)| id == query)
        };
        // A name that was shortened for a catalog is a name as well.
        let by_shown = |entry: &E| query.ends_with('…') && shown_name(entry.name()) == query;
        let offered = |entry: &E| entry.state().is_offered();
        let ways: [Way<'_, E>; 7] = [
            &|entry| query.contains('@') && self.is_address(entry, query),
            &|entry| offered(entry) && by_name(entry),
            &|entry| offered(entry) && by_alias(entry),
            &|entry| offered(entry) && by_id(entry),
            &|entry| offered(entry) && by_shown(entry),
            &by_name,
            &by_id,
        ];
        for way in ways {
            let all = self.all.iter().enumerate();
            let found = all.filter(|(_, entry)| way(entry)).map(|(at, _)| at);
            match found.collect::<Vec<usize>>().as_slice() {
                [] => {}
                [one] => return AddressMatch::One(*one),
                several => return AddressMatch::Several(several.to_vec()),
            }
        }
        let near = |entry| {
            let (_, id) = E::ids(entry, self.all).next()?;
            Some([
                Cow::Borrowed(entry.name()),
                entry.short_id().map_or(id, Cow::Borrowed),
            ])
        };
        let names: Vec<Cow<'_, str>> = self.all.iter().filter_map(near).flatten().collect();
        AddressMatch::None(near_names(names.iter().map(|name| &**name), query))
    }

    /// Finds one for programs that expect exactly one: the first of several, or else names that are near.
    pub fn find_first(self, query: &str) -> Result<usize, Vec<String>> {
        match self.find(query) {
            AddressMatch::One(at) => Ok(at),
            AddressMatch::Several(all) => all.first().copied().ok_or_else(Vec::new),
            AddressMatch::None(near) => Err(near),
        }
    }
}

/// Returns the reason why a skill that no query finds is missing: it lies beyond the candidate limit of its root.
pub fn unread(snapshot: &Snapshot, name: &str) -> Option<StateReason> {
    let is_unread = |finding: &Diagnostic| {
        finding.code == Code::CandidateLimit && finding.names.iter().any(|known| known == name)
    };
    let message = format!(
        "`{}` is there and was not read: its root has more skills than are read",
        one_line(name)
    );
    let fix = "look with --all, or raise `limits.candidates_per_root`";
    let mut findings = snapshot.diagnostics.iter();
    findings
        .any(is_unread)
        .then(|| StateReason::new(Code::CandidateLimit.as_str(), message, fix))
}

/// Up to three names spelled nearly like the query: few edits, or one inside the other.
pub fn near_names<'a>(names: impl Iterator<Item = &'a str>, query: &str) -> Vec<String> {
    let wanted = query.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            if wanted.len() >= 3
                && (lower.contains(&wanted) || (lower.len() >= 3 && wanted.contains(&lower)))
            {
                return Some((0, name));
            }
            edits(&wanted, &lower, allowed).map(|edits| (edits, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup_by(|a, b| a.1 == b.1);
    near.iter()
        .take(3)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}
