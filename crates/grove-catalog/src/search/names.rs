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

    /// What is added to a skill's score because of its name.
    pub(super) fn bonus(&self, snapshot: &Snapshot, skill: &Skill) -> f32 {
        let (name, id) = (skill.name(), skill.id());
        let is_address = || self.typed.contains('@') && snapshot.address(skill) == self.typed;
        if name == self.typed || id == self.typed || is_address() {
            return EXACT;
        }
        // Most names begin with another letter, and need no second look.
        let folder = folder_of(id);
        let may_begin = |text: &str| match (text.chars().next(), self.key.chars().next()) {
            (Some(a), Some(b)) => !a.is_ascii() || a.to_ascii_lowercase() == b,
            _ => false,
        };
        if !may_begin(name) && !may_begin(id) && !may_begin(folder) {
            return 0.0;
        }
        let of = |text: &str| self.likeness(&collision_key(text));
        of(name).max(of(id)).max(of(folder))
    }

    fn likeness(&self, known: &str) -> f32 {
        let length = self.joined.chars().count();
        if known == self.key || known == self.joined {
            return SAME_IN_ONE_CASE;
        }
        if length >= 3 && (known.starts_with(&self.joined) || known.starts_with(&self.key)) {
            return BEGINS;
        }
        let allowed = length / 5;
        let near = known.len().abs_diff(self.joined.len()) <= allowed
            && edits(&self.joined, known, allowed).is_some();
        if near { NEARLY } else { 0.0 }
    }
}
