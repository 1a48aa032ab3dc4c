//! What is said when whoever asks for a name gets another one than the first that bears it.
//!
//! What cannot be used shadows nothing, so something weaker answers in its place. Whoever asked is told: the two are
//! different texts by different people. What somebody switched off or filtered is missed by nobody,
//! and of a project that nobody trusts nothing is expected: listings say so of all of it.

use std::path::PathBuf;

use grove_spec::{Code, Diagnostic};

use crate::agents::Agents;
use crate::snapshot::Snapshot;
use crate::state::{Reason, State};

/// One that goes before what is used and cannot be used itself.
struct Passed<'a> {
    address: String,
    file: PathBuf,
    state: State,
    reasons: &'a [Reason],
}

impl Passed<'_> {
    fn said(self, used: &str) -> Diagnostic {
        let (address, state) = (self.address, self.state.as_str());
        let why = self.reasons.first();
        let because = why.map_or_else(String::new, |why| format!(" ({})", why.message));
        let message = format!("`{address}` is {state}{because}; `{used}` stands in");
        let finding = Diagnostic::new(Code::StandIn, message).in_file(&self.file);
        match why {
            Some(why) => finding.with_help(why.fix.clone()),
            None => finding,
        }
    }
}

/// Whether one at a place, which another one stands in for, is missed there.
fn is_passed(at: usize, state: State, stand_in: Option<usize>, used: usize) -> bool {
    let is_missed = matches!(state, State::Changed | State::Ineligible | State::Invalid);
    // Both lists have the strongest first.
    is_missed && stand_in == Some(used) && at < used
}

/// What is said when a skill, by index, is used because somebody asked for its name.
pub fn of_skill(snapshot: &Snapshot, used: usize, asked: &str) -> Vec<Diagnostic> {
    let Some(skill) = snapshot.skills.get(used) else {
        return Vec::new();
    };
    if snapshot.addresses(skill).any(|address| address == asked) {
        return Vec::new();
    }
    let address = snapshot.address(skill);
    let all = snapshot.skills.iter().enumerate();
    all.filter(|(at, other)| is_passed(*at, other.state, other.stand_in, used))
        .map(|(_, other)| Passed {
            address: snapshot.address(other),
            file: snapshot.location(&other.place),
            state: other.state,
            reasons: &other.reasons,
        })
        .map(|passed| passed.said(&address))
        .collect()
}

/// What is said when an agent, by index, is used because somebody asked for its name.
pub fn of_agent(agents: &Agents, used: usize, asked: &str) -> Vec<Diagnostic> {
    let Some(agent) = agents.agents.get(used) else {
        return Vec::new();
    };
    let address = agents.address(agent);
    if address == asked {
        return Vec::new();
    }
    let all = agents.agents.iter().enumerate();
    all.filter(|(at, other)| is_passed(*at, other.state, other.stand_in, used))
        .map(|(_, other)| Passed {
            address: agents.address(other),
            file: agents.location(other),
            state: other.state,
            reasons: &other.reasons,
        })
        .map(|passed| passed.said(&address))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_stronger_and_missed_is_said() {
        for (at, state, stand_in, expected) in [
            (0, State::Changed, Some(1), true),
            (0, State::Untrusted, Some(1), false),
            (0, State::Ineligible, Some(1), true),
            (0, State::Invalid, Some(1), true),
            (0, State::Disabled, Some(1), false),
            (0, State::Filtered, Some(1), false),
            (0, State::Shadowed, Some(1), false),
            (2, State::Changed, Some(1), false),
            (0, State::Changed, Some(3), false),
            (0, State::Changed, None, false),
        ] {
            let found = is_passed(at, state, stand_in, 1);
            assert_eq!(found, expected, "{at} {state:?} {stand_in:?}");
        }
    }
}
