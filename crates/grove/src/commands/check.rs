//! `grove check` and `grove skills check`: what needs attention, of everything or of skills alone.

use std::collections::BTreeSet;
use std::path::PathBuf;

use grove_catalog::address;
use grove_catalog::agents::Agent;
use grove_catalog::chains::Chain;
use grove_catalog::entry::{Entries, Entry};
use grove_catalog::root::Root;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::EntryState;
use grove_spec::{Code, Diagnostic, Severity};
use serde_json::json;

use super::{DiscoveredLibrary, Outcome, counted, naming, need_attention};
use crate::args::FindingFilter;
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson, count_states};
use crate::output::CommandOutput;

const ALL_SHOWN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckedKinds {
    Skills,
    /// Skills, agents, chains and settings.
    Everything,
}

#[derive(Debug, Clone, Copy)]
enum FindingOwner<'a> {
    Skill(&'a Skill),
    Agent(&'a Agent),
    Chain(&'a Chain),
}

/// A finding, and whose it is if it is about one file.
type OwnedFinding<'a> = (&'a Diagnostic, Option<FindingOwner<'a>>);

pub(super) fn run(
    discovered: &DiscoveredLibrary,
    checked: CheckedKinds,
    only: &FindingFilter,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let wanted = FindingSelection::new(only)?;
    let snapshot = &discovered.snapshot;
    require_known(discovered, checked, only)?;
    let of_world = of_world(discovered, checked);
    let mut found: Vec<OwnedFinding<'_>> = of_world.iter().map(|finding| (finding, None)).collect();
    found.extend(of_all(&snapshot.skills, FindingOwner::Skill));
    if checked == CheckedKinds::Everything {
        found.extend(of_all(&snapshot.agents.all, FindingOwner::Agent));
        found.extend(of_all(&snapshot.chains.all, FindingOwner::Chain));
    }
    found.retain(|(finding, owner)| wanted.takes(snapshot, finding, *owner));
    let findings = found.len();
    let code = ErrorKind::Finding.exit_code_if(findings > 0);
    if json {
        print_json(snapshot, checked, &of_world, findings, out);
        return Ok(code);
    }
    if only.github {
        for (finding, owner) in found {
            let finding = finding.clone();
            let finding = match owner {
                Some(owner) => finding.in_file(&owner.location(snapshot)),
                None => finding,
            };
            out.annotation(&finding, &discovered.library.environment().working);
        }
        return Ok(code);
    }
    let repairable = found.iter().find_map(|(finding, owner)| match owner {
        Some(FindingOwner::Skill(skill)) if finding.code == Code::YamlRepaired => {
            Some(snapshot.location(&skill.place))
        }
        _ => None,
    });
    print_by_kind(discovered, found, wanted.is_everything(), out);
    if let Some(file) = repairable.filter(|_| checked == CheckedKinds::Everything) {
        let file = super::tilde(&file, discovered.library.environment());
        out.note(&format!(
            "hint: `grove check --fix {file}` rewrites the file so that every reader understands it"
        ));
    }
    if wanted.is_everything() {
        print_summary(snapshot, checked, findings, out);
    } else {
        out.line(&counted(findings, "finding"));
    }
    Ok(code)
}

/// Refuses a name or a label that nothing has: with a wrong one nothing would ever be found.
fn require_known(
    discovered: &DiscoveredLibrary,
    checked: CheckedKinds,
    only: &FindingFilter,
) -> Result<(), CommandError> {
    let snapshot = &discovered.snapshot;
    let owners = owners(snapshot, checked);
    if let Some(name) = &only.name
        && !owners.iter().any(|owner| owner.is_called(snapshot, name))
    {
        if let Some(reason) = address::unread(snapshot, name) {
            return Err(CommandError::usage(reason.message).hint(reason.fix));
        }
        let names: Vec<&str> = owners.iter().map(|owner| owner.name()).collect();
        return Err(naming::unknown_word("name", name, &names).hint(match checked {
            CheckedKinds::Skills => "`grove skills list` lists all skills",
            CheckedKinds::Everything => {
                "`grove skills list`, `grove agents list` and `grove chains list` list all names"
            }
        }));
    }
    if let Some(label) = &only.label {
        let labels = labels(snapshot, checked);
        // A folder may come later; its label is known.
        let planned = discovered.library.roots();
        let mut planned = planned.iter().map(|planned| &planned.root.label);
        if !labels.contains(label.as_str()) && !planned.any(|known| known == label) {
            let all: Vec<&str> = labels.into_iter().collect();
            let error = naming::unknown_word("label", label, &all);
            return Err(error.hint(format!("labels: {}", all.join(", "))));
        }
    }
    Ok(())
}

fn owners(snapshot: &Snapshot, checked: CheckedKinds) -> Vec<FindingOwner<'_>> {
    let mut all: Vec<FindingOwner<'_>> = snapshot.skills.iter().map(FindingOwner::Skill).collect();
    if checked == CheckedKinds::Everything {
        all.extend(snapshot.agents.all.iter().map(FindingOwner::Agent));
        all.extend(snapshot.chains.all.iter().map(FindingOwner::Chain));
    }
    all
}

/// The labels of all roots that are there, whether or not anything is in them.
fn labels(snapshot: &Snapshot, checked: CheckedKinds) -> BTreeSet<&str> {
    let mut roots: Vec<&Root> = snapshot.roots.iter().collect();
    if checked == CheckedKinds::Everything {
        roots.extend(&snapshot.agents.roots);
        roots.extend(&snapshot.chains.roots);
    }
    roots.into_iter().map(|root| root.label.as_str()).collect()
}

fn of_world(discovered: &DiscoveredLibrary, checked: CheckedKinds) -> Vec<Diagnostic> {
    let snapshot = &discovered.snapshot;
    let twins = discovered.sources.skills.all_twins(snapshot);
    let mut all: Vec<Diagnostic> = snapshot.diagnostics.iter().cloned().chain(twins).collect();
    if checked == CheckedKinds::Everything {
        let agents = snapshot.agents.diagnostics.iter();
        // What is said of the settings is said with each kind.
        for finding in agents.chain(&snapshot.chains.diagnostics) {
            if !all.contains(finding) {
                all.push(finding.clone());
            }
        }
    }
    all
}

fn of_all<'a, E: Entry>(
    all: &'a [E],
    owner: fn(&'a E) -> FindingOwner<'a>,
) -> impl Iterator<Item = OwnedFinding<'a>> {
    all.iter()
        .flat_map(move |one| one.findings().map(move |it| (it, Some(owner(one)))))
}

impl<'a> FindingOwner<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Skill(skill) => skill.name(),
            Self::Agent(agent) => agent.name(),
            Self::Chain(chain) => chain.name(),
        }
    }

    fn location(self, snapshot: &Snapshot) -> PathBuf {
        match self {
            Self::Skill(skill) => snapshot.location(&skill.place),
            Self::Agent(agent) => snapshot.agents.location(agent),
            Self::Chain(chain) => snapshot.chains.location(chain),
        }
    }

    /// Its text, if it is still what was judged.
    fn text(self, discovered: &DiscoveredLibrary) -> Option<String> {
        match self {
            Self::Skill(skill) => discovered.sources.skills.read_text(skill),
            Self::Agent(agent) => discovered.sources.agents.read(agent),
            Self::Chain(chain) => discovered.sources.chains.read(chain),
        }
    }

    fn is_called(self, snapshot: &Snapshot, name: &str) -> bool {
        fn is_called<E: Entry>(entries: Entries<'_, E>, one: &E, name: &str) -> bool {
            let mut ids = one.ids(entries.all);
            one.name() == name || ids.any(|(_, id)| id == name) || entries.is_address(one, name)
        }
        match self {
            Self::Skill(skill) => is_called(snapshot.entries(), skill, name),
            Self::Agent(agent) => is_called(snapshot.agents.entries(), agent, name),
            Self::Chain(chain) => is_called(snapshot.chains.entries(), chain, name),
        }
    }

    fn label(self, snapshot: &Snapshot) -> Option<&str> {
        let root = match self {
            Self::Skill(skill) => snapshot.root_of(skill),
            Self::Agent(agent) => snapshot.agents.roots.get(agent.root),
            Self::Chain(chain) => snapshot.chains.roots.get(chain.root),
        };
        root.map(|root| root.label.as_str())
    }
}

fn print_json(
    snapshot: &Snapshot,
    checked: CheckedKinds,
    of_world: &[Diagnostic],
    findings: usize,
    out: &mut CommandOutput,
) {
    let skills = EntryJson::list(snapshot.entries());
    let states = count_states(snapshot.skills.iter());
    let diagnostics = DiagnosticJson::list(of_world);
    let about = SnapshotJson::new(snapshot);
    out.json(&match checked {
        CheckedKinds::Skills => json!({
            "schema": "grove.skills.check/1",
            "snapshot": about,
            "states": states,
            "findings": findings,
            "skills": skills,
            "diagnostics": diagnostics,
        }),
        CheckedKinds::Everything => json!({
            "schema": "grove.check/1",
            "snapshot": about,
            "states": {
                "skills": states,
                "agents": count_states(snapshot.agents.all.iter()),
                "chains": count_states(snapshot.chains.all.iter()),
            },
            "findings": findings,
            "skills": skills,
            "agents": EntryJson::list(snapshot.agents.entries()),
            "chains": EntryJson::list(snapshot.chains.entries()),
            "diagnostics": diagnostics,
        }),
    });
}

/// Prints the number of entries in each state, and the number of findings.
fn print_summary(
    snapshot: &Snapshot,
    checked: CheckedKinds,
    findings: usize,
    out: &mut CommandOutput,
) {
    let mut unused = print_unusable(snapshot.entries(), out);
    if checked == CheckedKinds::Everything {
        unused += print_unusable(snapshot.agents.entries(), out);
        unused += print_unusable(snapshot.chains.entries(), out);
    }
    if unused > 0 {
        out.line("");
    }
    print_states(snapshot.entries(), "skill", out);
    if checked == CheckedKinds::Everything {
        print_states(snapshot.agents.entries(), "agent", out);
        print_states(snapshot.chains.entries(), "chain", out);
    }
    let noun = match checked {
        CheckedKinds::Skills => "skill",
        CheckedKinds::Everything => "file",
    };
    out.line(&match (findings, unused) {
        (0, 0) => "nothing needs attention".to_owned(),
        (0, 1) => format!("no findings; 1 {noun} is not used for the reason above"),
        (0, _) => format!("no findings; {unused} {noun}s are not used for the reasons above"),
        _ => need_attention(findings),
    });
}

/// The word for people of a state that was counted.
fn in_words(word: &'static str) -> &'static str {
    let mut all = EntryState::ALL.into_iter();
    let state = all.find(|state| state.as_str() == word);
    state.map_or(word, EntryState::in_words)
}

fn print_states<E: Entry>(entries: Entries<'_, E>, noun: &str, out: &mut CommandOutput) {
    let states = count_states(entries.all.iter());
    let states = states
        .iter()
        .map(|(state, count)| format!("{count} {}", in_words(state)));
    let states: Vec<String> = states.collect();
    out.line(&format!(
        "{}: {}",
        counted(entries.all.len(), noun),
        if states.is_empty() {
            "nothing found".to_owned()
        } else {
            states.join(", ")
        }
    ));
}

struct FindingSelection<'a> {
    only: &'a FindingFilter,
    severity: Option<Severity>,
}

impl<'a> FindingSelection<'a> {
    fn new(only: &'a FindingFilter) -> Result<Self, CommandError> {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let is_known = |code: &&String| codes.contains(&code.as_str());
        if let Some(unknown) = only.codes.iter().find(|code| !is_known(code)) {
            return Err(naming::unknown_word("code", unknown, &codes)
                .hint("see docs/reference/diagnostics.md"));
        }
        let severities = [Severity::Error, Severity::Warning, Severity::Info];
        let severity = match &only.severity {
            None => None,
            Some(word) => {
                let mut all = severities.into_iter();
                let words = severities.map(Severity::as_str);
                let found = all.find(|severity| severity.as_str() == word);
                Some(found.ok_or_else(|| {
                    naming::unknown_word("severity", word, &words)
                        .hint(format!("severities: {}", words.join(", ")))
                })?)
            }
        };
        Ok(Self { only, severity })
    }

    fn is_everything(&self) -> bool {
        let FindingFilter {
            codes, name, label, ..
        } = self.only;
        codes.is_empty() && name.is_none() && label.is_none() && self.severity.is_none()
    }

    fn takes(
        &self,
        snapshot: &Snapshot,
        finding: &Diagnostic,
        owner: Option<FindingOwner<'_>>,
    ) -> bool {
        let FindingFilter {
            codes, name, label, ..
        } = self.only;
        let weighs = match self.severity {
            Some(severity) => finding.severity == severity,
            // A code that was asked for is wanted at any severity.
            None => finding.needs_attention() || !codes.is_empty(),
        };
        let is_name = |name: &String| owner.is_some_and(|owner| owner.is_called(snapshot, name));
        let is_label = |label: &String| {
            owner.is_some_and(|owner| owner.label(snapshot) == Some(label.as_str()))
        };
        weighs
            && (codes.is_empty() || codes.iter().any(|code| code == finding.code.as_str()))
            && name.as_ref().is_none_or(is_name)
            && label.as_ref().is_none_or(is_label)
    }
}

/// Findings with those of one kind together, the most serious kinds first. Of many of a kind there is one example, the
/// number, and the way to see all.
fn print_by_kind(
    discovered: &DiscoveredLibrary,
    mut found: Vec<OwnedFinding<'_>>,
    is_short: bool,
    out: &mut CommandOutput,
) {
    // Stable: within a kind they stay in the order of files.
    found.sort_by_key(|(finding, _)| (finding.severity, finding.code.as_str()));
    let same = |a: &OwnedFinding<'_>, b: &OwnedFinding<'_>| {
        (a.0.severity, a.0.code) == (b.0.severity, b.0.code)
    };
    for kind in found.chunk_by(same) {
        let n_shown = if is_short && kind.len() > ALL_SHOWN {
            1
        } else {
            kind.len()
        };
        for (finding, owner) in kind.iter().take(n_shown) {
            let Some(owner) = owner else {
                out.finding(finding, None);
                continue;
            };
            let location = owner.location(&discovered.snapshot);
            let source = owner.text(discovered);
            out.finding(&(*finding).clone().in_file(&location), source.as_deref());
        }
        if let Some((finding, _)) = kind.get(n_shown) {
            let (more, code) = (kind.len() - n_shown, finding.code.as_str());
            out.line(&format!(
                "{more} more of `{code}`; add `--code {code}` to see all {}",
                kind.len()
            ));
            out.line("");
        }
    }
}

/// Prints the entries that cannot be used, with what would make each usable, and returns their number.
fn print_unusable<E: Entry>(entries: Entries<'_, E>, out: &mut CommandOutput) -> usize {
    let mut count = 0;
    for one in entries.all {
        let state = one.state();
        if !matches!(
            state,
            EntryState::Ineligible | EntryState::Untrusted | EntryState::Changed
        ) {
            continue;
        }
        for reason in one.reasons() {
            out.line(&format!(
                "{} {}: {}; {}",
                state.as_str(),
                entries.address(one),
                reason.message,
                reason.fix
            ));
        }
        count += usize::from(!one.reasons().is_empty());
    }
    count
}
