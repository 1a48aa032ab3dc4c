//! A query that is a name: the skill of that name comes first, those with nearly that name come early.

use crate::identity::{collision_key, folder_of};
use crate::snapshot::{Skill, Snapshot};
use grove_spec::text::edits;

/// The bonus for each way in which a name fits; a bonus above any score by words makes the skill first.
const EXACT: f32 = 1_000.0;
const SAME_IN_ONE_CASE: f32 = 500.0;
const BEGINS: f32 = 8.0;
const NEARLY: f32 = 6.0;
/// The length beyond which a query is no name.
const MAX_NAME: usize = 200;

pub(super) struct NameQuery {
    typed: String,
    /// Set if it can be an address.
    has_label: bool,
    /// The collision key: in one case and composed.
    key: String,
    joined: String,
    errors: usize,
}

impl NameQuery {
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
        let joined = joined.join("-");
        Some(Self {
            errors: joined.chars().count() / 5,
            joined,
            has_label: typed.contains('@'),
            typed: typed.to_owned(),
            key,
        })
    }

    pub(super) fn add(&self, snapshot: &Snapshot, skills: &[(usize, &Skill)], scores: &mut [f32]) {
        let mut any = false;
        let mut maybe = Vec::new();
        for (at, (score, (_, skill))) in scores.iter_mut().zip(skills).enumerate() {
            let (name, id) = (skill.name(), skill.id());
            let bonus = self.bonus(snapshot, skill, name, id);
            any |= bonus > 0.0;
            *score += bonus;
            if self.may_be_nearly(name) || self.may_be_nearly(folder_of(id)) {
                maybe.push(at);
            }
        }
        // Near spellings are compared only if no name fits.
        if any {
            return;
        }
        for at in maybe {
            if let (Some(score), Some((_, skill))) = (scores.get_mut(at), skills.get(at))
                && (self.is_nearly(skill.name()) || self.is_nearly(folder_of(skill.id())))
            {
                *score += NEARLY;
            }
        }
    }

    fn bonus(&self, snapshot: &Snapshot, skill: &Skill, name: &str, id: &str) -> f32 {
        let is_address = || self.has_label && snapshot.address(skill) == self.typed;
        if name == self.typed || id == self.typed || is_address() {
            return EXACT;
        }
        // Most names begin with another letter, and few folders have another name than their skill.
        let first = self.key.as_bytes().first().copied();
        let of = |text: &str| match text.as_bytes().first() {
            Some(byte) if byte.is_ascii() && Some(byte.to_ascii_lowercase()) != first => 0.0,
            _ => self.likeness(text),
        };
        let folder = folder_of(id);
        let by_folder = if folder == name { 0.0 } else { of(folder) };
        of(name).max(of(id)).max(by_folder)
    }

    fn likeness(&self, known: &str) -> f32 {
        // Most names are ASCII and need no normal form.
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

    /// Returns true if length and first letter allow a name to be nearly this one: one error for each five letters, and
    /// a wrong first letter means another name.
    fn may_be_nearly(&self, known: &str) -> bool {
        let first = |text: &str| text.as_bytes().first().map(u8::to_ascii_lowercase);
        self.errors > 0
            && known.len().abs_diff(self.joined.len()) <= self.errors
            && first(known) == first(&self.joined)
    }

    fn is_nearly(&self, known: &str) -> bool {
        self.may_be_nearly(known)
            && edits(&self.joined, &collision_key(known), self.errors).is_some()
    }
}
