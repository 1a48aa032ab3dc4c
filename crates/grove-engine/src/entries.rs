//! Agents and chains by their names.

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::entry::{Entries, Entry};
use grove_catalog::state::StateReason;

use crate::error::EngineError;

/// Finds an entry by its name, usable or not.
pub fn find<'a, E: Entry>(entries: Entries<'a, E>, name: &str) -> Result<&'a E, EngineError> {
    let near = match entries.find_first(name) {
        Ok(at) => match entries.all.get(at) {
            Some(entry) => return Ok(entry),
            None => Vec::new(),
        },
        Err(near) => near,
    };
    let noun = E::KIND.noun();
    let error = EngineError::finding(format!("no {noun} is called `{name}`"));
    Err(error.hint(hint_for(&near, noun)))
}

/// The next step after a name that means nothing: similar names, or the command that lists all.
pub fn hint_for(near: &[String], noun: &str) -> String {
    if near.is_empty() {
        format!("`grove {noun}s list` lists them all")
    } else {
        format!("did you mean `{}`?", near.join("`, `"))
    }
}

/// Refuses an agent that cannot be used: its text was not looked at, or cannot be read.
pub fn require_usable(agents: &Agents, agent: &Agent) -> Result<(), EngineError> {
    if agent.state.is_usable() {
        return Ok(());
    }
    let (address, state) = (agents.address(agent), agent.state.as_str());
    let why = StateReason::joined(&agent.reasons);
    let error = EngineError::finding(format!("agent `{address}` is {state}: {why}"));
    let fixes = agent.reasons.iter().map(|reason| reason.fix.clone());
    Err(error.hints(fixes))
}
