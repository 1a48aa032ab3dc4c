//! Skills that bear one name, or names that only look different: who is used, and what is said.

use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};

use crate::hosts::SameNameRule;
use crate::identity;
use crate::root::Root;
use crate::snapshot::{Skill, address_of, unique_id};
use crate::state::{Reason, State};

/// Ranks skills of one name, and names collisions.
pub(crate) fn apply_rank(skills: &mut [Skill], roots: &[Root], same_name: SameNameRule) {
    // Sorting hashes finds the few names that meet without comparing the many that do not.
    let mut hashes: Vec<(u64, usize)> = skills
        .iter()
        .enumerate()
        .map(|(at, skill)| (collision_hash(skill.name()), at))
        .collect();
    hashes.sort_unstable();
    for group in hashes
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
    {
        let members: Vec<usize> = group.iter().map(|(_, at)| *at).collect();
        rank_names(skills, roots, &members, same_name);
        name_collisions(skills, &members);
    }
}

fn rank_names(skills: &mut [Skill], roots: &[Root], members: &[usize], same_name: SameNameRule) {
    for &at in members {
        let Some(skill) = skills.get(at) else {
            continue;
        };
        let key = identity::name_key(skill.name());
        // Members are in the order of strength, so the first usable one is the winner.
        let winner = members.iter().copied().find(|other| {
            skills.get(*other).is_some_and(|other| {
                other.state.is_usable() && identity::name_key(other.name()) == key
            })
        });
        let Some(winner) = winner.filter(|winner| *winner != at) else {
            continue;
        };
        let Some(winning) = skills.get(winner) else {
            continue;
        };
        let usable = skill.state.is_usable();
        let same_root = winning.place.root == skill.place.root;
        let stays = match same_name {
            SameNameRule::All => true,
            SameNameRule::Strongest => same_root,
            SameNameRule::One => false,
        };
        if usable && stays {
            continue;
        }
        let address = address_of(skills, roots, &winning.place);
        let own_address = address_of(skills, roots, &skill.place);
        if let Some(skill) = skills.get_mut(at) {
            skill.stand_in = Some(winner);
            if usable {
                skill.state = State::Shadowed;
                let fix = format!("use it as `{own_address}`, or rename one of the two");
                skill.reasons = vec![Reason::new(
                    "shadowed",
                    format!("shadowed by `{address}`"),
                    fix,
                )];
            }
        }
    }
}

/// How many ids a collision names: with thousands of equal names the lists would outgrow everything.
const COLLISION_NAMES: usize = 20;

fn name_collisions(skills: &mut [Skill], members: &[usize]) {
    let mut keyed: Vec<(usize, String, usize)> = members
        .iter()
        .filter_map(|at| {
            skills
                .get(*at)
                .map(|skill| (skill.place.root, identity::collision_key(skill.name()), *at))
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
                skills
                    .get(*at)
                    .map(|skill| (*at, unique_id(skills, &skill.place)))
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
            if let Some(skill) = skills.get_mut(*at) {
                let shown = if more > 0 {
                    format!("{} and {more} more", others.join(", "))
                } else {
                    first_names(&others)
                };
                let message = format!(
                    "name `{}` is also borne by {shown} in this root",
                    skill.name()
                );
                skill
                    .diagnostics
                    .push(Diagnostic::new(Code::NameCollision, message).with_names(others));
            }
        }
    }
}

/// A hash under which all names with one collision key are equal.
fn collision_hash(name: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    if name.is_ascii() {
        return name
            .bytes()
            .fold(OFFSET, |hash, byte| step(hash, byte.to_ascii_lowercase()));
    }
    identity::collision_key(name).bytes().fold(OFFSET, step)
}
