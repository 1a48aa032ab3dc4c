//! Agents that an export of all leaves out although they are neither bundled nor generated, each with what to do.

use std::collections::BTreeSet;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::entry::Entry;
use grove_catalog::root::{Root, RootSource};
use grove_catalog::state::{EntryState, StateReason};
use grove_spec::agent::naming;
use grove_spec::{Code, Diagnostic, Severity};

/// Returns true if an agent is exported without being named, provided that it can be used: it is neither bundled nor
/// generated, and not the host's already.
pub fn is_wanted(all: &Agents, agent: &Agent, theirs: &Agents) -> bool {
    let source = all.roots.get(agent.root).map(|root| root.source);
    let location = all.location(agent);
    let mut others = theirs.all.iter();
    let is_theirs = others.any(|other| theirs.location(other) == location);
    source != Some(RootSource::Bundled) && agent.generated_from().is_none() && !is_theirs
}

/// Says which agents are left out because of their state, and gives their addresses.
pub(super) fn say(
    all: &Agents,
    theirs: &Agents,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeSet<String> {
    let mut addresses = BTreeSet::new();
    for agent in &all.all {
        // The one that goes before it is exported in its place.
        let is_left_out = !agent.state.is_usable();
        if !is_left_out || !is_wanted(all, agent, theirs) {
            continue;
        }
        let address = all.address(agent);
        let (state, why) = (agent.state.as_str(), StateReason::joined(&agent.reasons));
        let colon = if why.is_empty() { "" } else { ": " };
        let message = format!("agent `{address}` is {state} and was left out{colon}{why}");
        let severity = match agent.state {
            // The person has chosen these states.
            EntryState::Disabled | EntryState::Filtered => Severity::Info,
            _ => Severity::Warning,
        };
        let finding = Diagnostic::new(Code::ExportLeftOut, message)
            .in_file(&all.location(agent))
            .with_severity(severity);
        let fixes = agent.reasons.iter().map(|reason| reason.fix.as_str());
        let fixes: Vec<&str> = fixes.filter(|fix| !fix.is_empty()).collect();
        diagnostics.push(if fixes.is_empty() {
            finding
        } else {
            finding.with_help(fixes.join("; "))
        });
        addresses.insert(address);
    }
    for finding in &all.diagnostics {
        let Some(address) = address_of_file(all, theirs, finding) else {
            continue;
        };
        if finding.severity != Severity::Info {
            diagnostics.push(finding.clone());
        }
        addresses.insert(address);
    }
    addresses
}

/// The address that an agent would have whose file is so broken that it is none, of which only a finding is left.
fn address_of_file(all: &Agents, theirs: &Agents, finding: &Diagnostic) -> Option<String> {
    let file = finding.file.as_deref()?;
    let is_theirs = |root: &Root| {
        let mut roots = theirs.roots.iter();
        roots.any(|other| other.path == root.path)
    };
    let mut roots = all.roots.iter();
    let root = roots.find(|root| file.starts_with(&root.path) && file != root.path)?;
    if root.source == RootSource::Bundled || is_theirs(root) {
        return None;
    }
    let path = file.strip_prefix(&root.path).ok()?.to_str()?;
    Some(format!("{}@{}", naming::stem(path), root.label))
}
