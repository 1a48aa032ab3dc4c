//! Entries that have one name, or names that only look different: the choice of one, and the findings.

use grove_spec::Diagnostic;
use grove_spec::text::first_names;

use super::resolving::NameRules;
use super::{Entries, Entry};
use crate::hosts::SameNameRule;
use crate::identity::{collision_key, name_key};
use crate::root::Root;
use crate::state::{EntryState, StateReason};

/// Ranks entries of one name, and adds findings about collisions.
pub(crate) fn apply_rank<E: Entry>(all: &mut [E], roots: &[Root], rules: NameRules) {
    // Sorting hashes finds the few equal names without comparing the many different ones.
    let mut hashes: Vec<(u64, usize)> = all
        .iter()
        .enumerate()
        .map(|(at, entry)| (collision_hash(entry.name()), at))
        .collect();
    hashes.sort_unstable();
    for group in hashes
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
    {
        let mut members: Vec<usize> = group.iter().map(|(_, at)| *at).collect();
        members.sort_by_key(|at| strength(all, roots, *at));
        rank_names(all, roots, &members, rules);
        name_collisions(all, &members);
    }
}

/// Returns the order among entries of one name; less is stronger.
fn strength<E: Entry>(all: &[E], roots: &[Root], at: usize) -> impl Ord + use<E> {
    let entry = all.get(at);
    let root = entry.and_then(|entry| roots.get(entry.root()));
    let scope = root.map(|root| (root.rank.step, root.rank.distance));
    (scope, entry.map(Entry::strength), at)
}

/// Chooses the strongest usable entry of a name; the others say which it is. `members` have the strongest first.
fn rank_names<E: Entry>(all: &mut [E], roots: &[Root], members: &[usize], rules: NameRules) {
    let entries = Entries { roots, all: &*all };
    let is_usable = |at: &usize| all.get(*at).is_some_and(|entry| entry.state().is_usable());
    let usable: Vec<usize> = members.iter().copied().filter(is_usable).collect();
    let gives_way = |entry: &E| rules.sources_first && has_source(entries, &usable, entry);
    let candidates: Vec<usize> = usable
        .iter()
        .copied()
        .filter(|at| all.get(*at).is_some_and(|entry| !gives_way(entry)))
        .collect();
    let mut losers: Vec<(usize, usize, Option<StateReason>)> = Vec::new();
    for &at in members {
        let Some(entry) = all.get(at) else {
            continue;
        };
        let key = name_key(entry.name());
        let winner = candidates
            .iter()
            .filter_map(|at| Some((*at, all.get(*at)?)))
            .find(|(_, other)| name_key(other.name()) == key);
        let Some((winner, winning)) = winner.filter(|(winner, _)| *winner != at) else {
            continue;
        };
        let is_usable = entry.state().is_usable();
        let stays = match rules.same_name {
            SameNameRule::All => true,
            SameNameRule::Strongest => winning.root() == entry.root(),
            SameNameRule::One => false,
        };
        if is_usable && stays {
            continue;
        }
        let reason = is_usable.then(|| {
            let (address, own) = (entries.address(winning), entries.address(entry));
            let fix = format!("use it as `{own}`, or rename one of the two");
            StateReason::new("shadowed", format!("shadowed by `{address}`"), fix)
        });
        losers.push((at, winner, reason));
    }
    for (at, winner, reason) in losers {
        let Some(entry) = all.get_mut(at) else {
            continue;
        };
        let verdict = entry.verdict_mut();
        *verdict.stand_in = Some(winner);
        if let Some(reason) = reason {
            *verdict.state = EntryState::Shadowed;
            *verdict.reasons = vec![reason];
        }
    }
}

/// Returns true if the source from which Grove wrote a file is there, under the same name, and can be used.
fn has_source<E: Entry>(entries: Entries<'_, E>, usable: &[usize], made: &E) -> bool {
    let Some(from) = made.generated_from() else {
        return false;
    };
    let mut usable = usable.iter().filter_map(|at| entries.all.get(*at));
    usable.any(|other| {
        entries.is_address(other, from) && name_key(other.name()) == name_key(made.name())
    })
}

/// The most ids that a collision names: with thousands of equal names the lists would be larger than all else.
const COLLISION_NAMES: usize = 20;

fn name_collisions<E: Entry>(all: &mut [E], members: &[usize]) {
    let mut keyed: Vec<(usize, String, usize)> = members
        .iter()
        .filter_map(|at| {
            let entry = all.get(*at)?;
            Some((entry.root(), collision_key(entry.name()), *at))
        })
        .collect();
    keyed.sort();
    for group in keyed
        .chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1))
        .filter(|group| group.len() > 1)
    {
        let first: Vec<(usize, String)> = group
            .iter()
            .take(COLLISION_NAMES + 1)
            .filter_map(|(.., at)| {
                let (_, id) = all.get(*at)?.ids(all).next()?;
                Some((*at, id.into_owned()))
            })
            .collect();
        for (.., at) in group {
            let others: Vec<String> = first
                .iter()
                .filter(|(other, _)| other != at)
                .take(COLLISION_NAMES)
                .map(|(_, id)| id.clone())
                .collect();
            let more = group.len() - 1 - others.len();
            let shown = if more > 0 {
                format!("{} and {more} more", others.join(", "))
            } else {
                first_names(&others)
            };
            if let Some(entry) = all.get_mut(*at) {
                let name = entry.name();
                let message = format!("name `{name}` is also used by {shown} in this root");
                let finding = Diagnostic::new(E::NAME_COLLISION, message).with_names(others);
                entry.verdict_mut().diagnostics.push(finding);
            }
        }
    }
}

/// A hash that is equal for all names with one collision key; eight bytes at a time, since every name is hashed.
fn collision_hash(name: &str) -> u64 {
    /// Both cases of a letter are equal with this bit, and so are a few other characters, told apart later.
    const CASE: u64 = 0x2020_2020_2020_2020;
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let of = |bytes: &[u8]| {
        bytes.chunks(8).fold(0_u64, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word) | CASE;
            (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR)
        })
    };
    if name.is_ascii() {
        of(name.as_bytes())
    } else {
        of(collision_key(name).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_one_key_have_one_hash() {
        for (a, b) in [
            ("PDF-Tools", "pdf-tools"),
            ("\u{212a}ubectl-and-more", "kubectl-and-more"),
            ("É", "é"),
        ] {
            assert_eq!(collision_key(a), collision_key(b));
            assert_eq!(collision_hash(a), collision_hash(b), "{a} {b}");
        }
        for (a, b) in [
            ("pdf-tools", "pdf-tool"),
            ("abcdefgh-1", "abcdefgh-2"),
            ("a", "b"),
        ] {
            assert_ne!(collision_hash(a), collision_hash(b), "{a} {b}");
        }
    }
}
