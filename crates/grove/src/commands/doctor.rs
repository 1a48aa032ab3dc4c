//! `grove doctor`: what is here, counted by source, and what needs attention.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::agents::Agent;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::state::EntryState;
use grove_skills::Environment;
use grove_skills::packages::{Package, Packages};
use grove_spec::package::EntryKind;
use grove_spec::text::{first_names, one_line};
use grove_spec::{Code, Diagnostic, Position};
use serde_json::{Value, json};

use super::entry_listing::{CountJson, counts, findings as print_findings};
use super::runs::print_health;
use super::{DiscoveredLibrary, counted, naming, need_attention, tilde};
use crate::json::{DiagnosticJson, SnapshotJson, count_sources};
use crate::output::CommandOutput;
use grove_engine::health::RunsHealth;

pub(super) fn run(discovered: &DiscoveredLibrary, json: bool, out: &mut CommandOutput) -> u8 {
    let (snapshot, environment) = (&discovered.snapshot, discovered.library.environment());
    let others = discovered.library.is_own().then(|| CheckedBesides {
        snapshot,
        packages: &discovered.world.packages,
    });
    let (agents, chains) = others
        .as_ref()
        .map_or_else(Default::default, CheckedBesides::counts);
    let attention = others
        .as_ref()
        .map_or_else(OtherFindings::default, CheckedBesides::attention);
    let packages = others.map_or(&[][..], |others| &others.packages.packages);
    let runs = discovered.library.is_own().then(|| {
        let settings = &discovered.world.settings.settings;
        RunsHealth::of(environment, settings)
    });
    let findings = grove_skills::host_views::count_findings(snapshot);
    let grants = discovered.world.grants().len();
    let sources = count_sources(snapshot);
    if json {
        out.json(&json!({
            "schema": "grove.doctor/1",
            "version": env!("CARGO_PKG_VERSION"),
            "snapshot": SnapshotJson::new(snapshot),
            "skills": sources,
            "agents": agents,
            "chains": chains,
            "packages": packages.iter().map(package_json).collect::<Vec<_>>(),
            "roots": snapshot.roots.len(),
            "trustedFolders": grants,
            "findings": findings,
            "otherFindings": attention.counts(),
            "runs": runs,
            "folders": {
                "config": environment.config.to_string_lossy(),
                "state": environment.state.to_string_lossy(),
                "data": environment.data.to_string_lossy(),
                "cache": environment.cache.as_deref().map(Path::to_string_lossy),
            },
            "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
        }));
        return 0;
    }
    out.line(&format!("grove {}", env!("CARGO_PKG_VERSION")));
    for (label, folder) in [
        ("config", Some(&environment.config)),
        ("state", Some(&environment.state)),
        ("data", Some(&environment.data)),
        ("cache", environment.cache.as_ref()),
    ] {
        out.line(&format!(
            "{label:<8} {}",
            folder.map_or_else(|| "none".to_owned(), |folder| tilde(folder, environment))
        ));
    }
    out.line(&format!("trust    {}", counted(grants, "folder")));
    out.line("");
    super::overview::print_sources(snapshot, out);
    print_counts("agent", &agents, out);
    print_counts("chain", &chains, out);
    print_packages(packages, environment, out);
    let of_runs = runs.and_then(|runs| print_health(&runs, environment, out));
    let of_snapshot = snapshot.diagnostics.iter();
    let of_snapshot = of_snapshot.filter(|finding| finding.needs_attention());
    print_findings(of_snapshot.chain(&attention.packages), None, out);
    out.line("");
    let mut said = attention.finding_counts();
    said.extend(of_runs);
    if findings > 0 {
        let command = naming::command_with_flags("grove skills check", &discovered.request);
        let of_skills = format!("{}: run `{command}`", need_attention(findings));
        said.insert(0, of_skills);
    }
    if said.is_empty() {
        said.push("nothing needs attention".to_owned());
    }
    for line in said {
        out.line(&line);
    }
    0
}

struct CheckedBesides<'a> {
    snapshot: &'a Snapshot,
    packages: &'a Packages,
}

impl CheckedBesides<'_> {
    fn counts(&self) -> (Vec<CountJson>, Vec<CountJson>) {
        let agents = counts(self.snapshot.agents.entries());
        (agents, counts(self.snapshot.chains.entries()))
    }

    /// Returns what needs attention, each finding once: packages and settings are looked at for several reasons.
    fn attention(&self) -> OtherFindings {
        let snapshot = self.snapshot;
        let mut seen: BTreeSet<_> = snapshot.diagnostics.iter().map(key).collect();
        let mut new = |findings: &mut dyn Iterator<Item = &Diagnostic>| -> Vec<Diagnostic> {
            let findings = findings.filter(|finding| finding.needs_attention());
            let new = findings.filter(|finding| seen.insert(key(finding)));
            new.cloned().collect()
        };
        let packages = new(&mut self.packages.diagnostics.iter());
        let agents = &snapshot.agents;
        let of_agents = agents.all.iter().flat_map(|agent| &agent.diagnostics);
        let chains = &snapshot.chains;
        let of_chains = chains.all.iter().flat_map(|chain| &chain.diagnostics);
        let has_finding =
            |agent: &&Agent| agent.diagnostics.iter().any(Diagnostic::needs_attention);
        let named = agents.all.iter().filter(has_finding);
        OtherFindings {
            packages,
            agents: new(&mut agents.diagnostics.iter().chain(of_agents)).len(),
            named: named.map(|agent| agents.address(agent)).collect(),
            chains: new(&mut chains.diagnostics.iter().chain(of_chains)).len(),
        }
    }
}

fn key(finding: &Diagnostic) -> (Code, Option<PathBuf>, Option<Position>, String) {
    let Diagnostic {
        code,
        file,
        position,
        message,
        ..
    } = finding.clone();
    (code, file, position, message)
}

#[derive(Default)]
struct OtherFindings {
    packages: Vec<Diagnostic>,
    agents: usize,
    /// The agents whose own files have some.
    named: Vec<String>,
    chains: usize,
}

impl OtherFindings {
    fn counts(&self) -> Value {
        json!({
            "agents": self.agents,
            "chains": self.chains,
            "packages": self.packages.len(),
        })
    }

    fn finding_counts(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut tell = |noun: &str, n: usize, hint: &str| {
            if n > 0 {
                said.push(format!("{noun}: {}{hint}", need_attention(n)));
            }
        };
        let of_files = if self.named.is_empty() {
            String::new()
        } else {
            let names = first_names(&self.named);
            format!(", and `grove agents show` for {}", one_line(&names))
        };
        let hint = format!(": run `grove agents list`{of_files}");
        tell("agents", self.agents, &hint);
        tell("chains", self.chains, ": run `grove chains check`");
        tell("packages", self.packages.len(), ", as shown above");
        said
    }
}

fn package_json(package: &Package) -> Value {
    let count = |kind: EntryKind| {
        let given = package.given.iter();
        given.filter(|given| given.kind == kind).count()
    };
    json!({
        "name": one_line(&package.name),
        "folder": package.folder.to_string_lossy(),
        "scope": scope(package),
        "skills": count(EntryKind::Skills),
        "agents": count(EntryKind::Agents),
        "chains": count(EntryKind::Chains),
    })
}

const fn scope(package: &Package) -> &'static str {
    if package.is_projects {
        "project"
    } else {
        "user"
    }
}

fn state_of(word: &str) -> Option<EntryState> {
    let mut all = EntryState::ALL.into_iter();
    all.find(|state| state.as_str() == word)
}

fn print_counts(noun: &str, counts: &[CountJson], out: &mut CommandOutput) {
    let total: usize = counts.iter().map(|count| count.count).sum();
    if total == 0 {
        return;
    }
    let usable: usize = counts
        .iter()
        .flat_map(|count| &count.states)
        .filter(|(word, _)| state_of(word).is_some_and(EntryState::is_offered))
        .map(|(_, count)| count)
        .sum();
    out.line(&format!("{} found, {usable} usable", counted(total, noun)));
    for count in counts {
        let states = count.states.iter();
        let in_words = |word| state_of(word).map_or(word, EntryState::in_words);
        let states: Vec<String> = states
            .map(|(word, n)| format!("{n} {}", in_words(word)))
            .collect();
        let (source, total) = (count.source, count.count);
        out.line(&format!("  {source:<8} {total:>6}  {}", states.join(", ")));
    }
}

fn print_packages(packages: &[Package], environment: &Environment, out: &mut CommandOutput) {
    if packages.is_empty() {
        return;
    }
    out.line(&format!("{} found", counted(packages.len(), "package")));
    for package in packages {
        let gives = EntryKind::ALL.iter().filter(|kind| {
            let mut given = package.given.iter();
            given.any(|given| given.kind == **kind)
        });
        let gives: Vec<&str> = gives.map(|kind| kind.word()).collect();
        let gives = if gives.is_empty() {
            "nothing".to_owned()
        } else {
            gives.join(", ")
        };
        out.line(&format!(
            "  {:<8} {}: {gives} ({})",
            scope(package),
            one_line(&package.name),
            tilde(&package.folder, environment)
        ));
    }
}
