//! From what a person or a model typed to a skill.

use grove_spec::text::{edits, one_line};
use grove_spec::{Code, Diagnostic};

use crate::identity::name_key;
use crate::snapshot::{Skill, Snapshot};
use crate::state::{Reason, State};

/// What a name or id leads to. Indexes are into [`Snapshot::skills`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Exactly one skill.
    One(usize),
    /// Several; they have to be told apart by id.
    Several(Vec<usize>),
    /// None; these names are near.
    None {
        /// Up to three names that are spelled nearly so.
        near: Vec<String>,
    },
}

/// Finds a skill by `id@label`, by id, or by name.
///
/// A bare name means the usable skill of that name after ranking; an id counts when nothing bears it as
/// its name, and an unusable skill is found by its bare name only when nothing usable bears it.
pub fn find(snapshot: &Snapshot, query: &str) -> Answer {
    let exact = |at: &usize| {
        let skill = snapshot.skills.get(*at);
        skill.is_some_and(|skill| snapshot.addresses(skill).any(|address| address == query))
    };
    if query.contains('@')
        && let Some(at) = (0..snapshot.skills.len()).find(exact)
    {
        return Answer::One(at);
    }
    let key = name_key(query);
    let by_name = |skill: &Skill| name_key(skill.name()) == key;
    let by_id = |skill: &Skill| snapshot.unique_id(skill) == query;
    let offered = |skill: &Skill| matches!(skill.state, State::Ok | State::Capped);
    let matching = |wanted: &dyn Fn(&Skill) -> bool| -> Vec<usize> {
        let all = snapshot.skills.iter().enumerate();
        all.filter(|(_, skill)| wanted(skill))
            .map(|(at, _)| at)
            .collect()
    };
    for wanted in [
        &(|skill: &Skill| offered(skill) && by_name(skill)) as &dyn Fn(&Skill) -> bool,
        &|skill: &Skill| offered(skill) && by_id(skill),
        &by_name,
        &by_id,
    ] {
        match matching(wanted).as_slice() {
            [] => {}
            [one] => return Answer::One(*one),
            several => return Answer::Several(several.to_vec()),
        }
    }
    let names = snapshot
        .skills
        .iter()
        .flat_map(|skill| [skill.name(), skill.id()]);
    Answer::None {
        near: near_names(names, query),
    }
}

/// Why a skill that nothing leads to is there all the same: it lies beyond the limit of its root.
pub fn unread(snapshot: &Snapshot, name: &str) -> Option<Reason> {
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
        .then(|| Reason::new(Code::CandidateLimit.as_str(), message, fix))
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
