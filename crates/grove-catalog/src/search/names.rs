//! A query that is a name: the skill of that name comes first, those of nearly that name come early.

use crate::address::edits;
use crate::identity::{collision_key, folder_of};
use crate::snapshot::{Skill, Snapshot};

/// What is added for how well a name fits; more than any words can give comes first.
const EXACT: f32 = 1_000.0;
const SAME_IN_ONE_CASE: f32 = 500.0;
const BEGINS: f32 = 8.0;
const NEARLY: f32 = 6.0;
/// Longer queries are no names.
const MAX_NAME: usize = 200;

/// A query as a name.
pub(super) struct AsName {
    typed: String,
    /// In one case and composed.
    key: String,
    /// Its words joined as names are.
    joined: String,
}

impl AsName {
    pub(super) fn of(query: &str) -> Option<Self> {
        let typed = query.trim().trim_start_matches('/');
        if typed.is_empty() || typed.len() > MAX_NAME {
            return None;
        }
        let key = collision_key(typed);
        let joined: Vec<&str> = key
            .split(|c: char| c.is_whitespace() || c == '_' || c == '-')
            .filter(|part| !part.is_empty())
            .collect();
        Some(Self {
            joined: joined.join("-"),
            typed: typed.to_owned(),
            key,
        })
    }

    /// What is added to the skills' scores because of their names.
    pub(super) fn add(&self, snapshot: &Snapshot, skills: &[(usize, &Skill)], scores: &mut [f32]) {
        let mut any = false;
        for (score, (_, skill)) in scores.iter_mut().zip(skills) {
            let bonus = self.bonus(snapshot, skill);
            any |= bonus > 0.0;
            *score += bonus;
        }
        // Spelling is compared only when nothing is spelled so: it costs more than all the rest.
        if any || self.joined.len() < 5 {
            return;
        }
        for (score, (_, skill)) in scores.iter_mut().zip(skills) {
            if self.is_nearly(skill.name()) || self.is_nearly(folder_of(skill.id())) {
                *score += NEARLY;
            }
        }
    }

    fn bonus(&self, snapshot: &Snapshot, skill: &Skill) -> f32 {
        let (name, id) = (skill.name(), skill.id());
        let is_address = || self.typed.contains('@') && snapshot.address(skill) == self.typed;
        if name == self.typed || id == self.typed || is_address() {
            return EXACT;
        }
        // Most names begin with another letter, and few folders are not called as their skill is.
        let first = self.key.as_bytes().first().map(u8::to_ascii_lowercase);
        let of = |text: &str| match text.as_bytes().first() {
            Some(byte) if byte.is_ascii() && Some(byte.to_ascii_lowercase()) != first => 0.0,
            _ => self.likeness(text),
        };
        let folder = folder_of(id);
        let by_folder = if folder == name { 0.0 } else { of(folder) };
        of(name).max(of(id)).max(by_folder)
    }

    fn likeness(&self, known: &str) -> f32 {
        // Most names are plain and need no normal form of their own.
        if !known.is_ascii() {
            return self.likeness_of_key(&collision_key(known));
        }
        let is = |text: &str| known.eq_ignore_ascii_case(text);
        let begins = |text: &str| {
            let start = known.as_bytes().get(..text.len());
            text.len() >= 3 && start.is_some_and(|s| s.eq_ignore_ascii_case(text.as_bytes()))
        };
        if is(&self.key) || is(&self.joined) {
            SAME_IN_ONE_CASE
        } else if begins(&self.joined) || begins(&self.key) {
            BEGINS
        } else {
            0.0
        }
    }

    fn likeness_of_key(&self, known: &str) -> f32 {
        let begins = |text: &str| text.chars().count() >= 2 && known.starts_with(text);
        if known == self.key || known == self.joined {
            SAME_IN_ONE_CASE
        } else if begins(&self.joined) || begins(&self.key) {
            BEGINS
        } else {
            0.0
        }
    }

    fn is_nearly(&self, known: &str) -> bool {
        // One error for each five letters; a wrong first letter is somebody else's name.
        let allowed = self.joined.chars().count() / 5;
        let first = |text: &str| text.chars().next().map(|c| c.to_ascii_lowercase());
        known.len().abs_diff(self.joined.len()) <= allowed
            && first(known) == first(&self.joined)
            && edits(&self.joined, &collision_key(known), allowed).is_some()
    }
}
