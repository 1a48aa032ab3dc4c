//! Chains on disk: where they are looked for, what is in their files, which of them are used, and whether the agents
//! and skills that they name are there and their models known.

use grove_catalog::address;
use grove_catalog::agents::Agents;
use grove_catalog::chains::{self, Chains, StepReference, unknown_agent, unknown_skill};
use grove_catalog::hosts::FoldersEntered;
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::{models, prompt};
use grove_spec::chain::{self, ChainFormat, ParsedChain, naming};
use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use crate::definition_files::{DefinitionFileKind, DefinitionMemory, FoundDefinitions, ReadBounds};
use crate::planning;
use crate::request::DiscoveryView;
use crate::world::World;

pub(crate) const CHAIN_FILES: DefinitionFileKind<ParsedChain> = DefinitionFileKind {
    noun: "chain",
    wanted: |_| naming::is_chain_file,
    parse: |_, path, bytes, _| {
        let format = ChainFormat::of(path).unwrap_or(ChainFormat::Markdown);
        vec![(None, chain::parse_bytes(bytes, format))]
    },
    // The ending says what the file means to be.
    counts: |_, _, _| true,
    left_out: |_, _| None,
    note: |_, _| None,
};

pub(crate) fn discover(
    world: &World,
    view: &DiscoveryView,
    memory: Option<&mut DefinitionMemory<ParsedChain>>,
) -> FoundDefinitions<ParsedChain> {
    let limits = &world.definition_settings(view).settings.limits;
    let bounds = ReadBounds {
        max_bytes: limits.file_bytes.value,
        max_depth: limits.group_depth.count(),
        folders: FoldersEntered::Grove,
    };
    let plan = planning::plan(EntryKind::Chains, world, view);
    CHAIN_FILES.discover(plan, bounds, |_| false, memory)
}

pub(crate) fn resolve(
    world: &World,
    view: &DiscoveryView,
    found: FoundDefinitions<ParsedChain>,
) -> Chains {
    let (planned, candidates, _, of_roots) = found.into_parts();
    let mut diagnostics = world.definition_settings(view).diagnostics.clone();
    diagnostics.extend(of_roots);
    let roots = planned.into_iter().map(|planned| planned.root).collect();
    let mut chains = chains::resolve(roots, candidates, diagnostics);
    let untrusted = CHAIN_FILES.untrusted(&chains.all);
    chains.diagnostics.extend(untrusted);
    chains
}

/// The source that a finding about no chain belongs to: the source of the root that its file lies in; otherwise the
/// project if the file is in it, and the user if it is anywhere else.
pub fn source_of(world: &World, chains: &Chains, finding: &Diagnostic) -> RootSource {
    let Some(file) = &finding.file else {
        let is_of_project = finding.code == Code::ProjectUntrusted;
        return if is_of_project {
            RootSource::Project
        } else {
            RootSource::User
        };
    };
    let around = chains.roots.iter();
    let around = around.filter(|root| file.starts_with(&root.path));
    let nearest = around.max_by_key(|root| root.path.components().count());
    let project = &world.project;
    let mut folders = project.root.iter().chain(&project.folders);
    match nearest {
        Some(root) => root.source,
        None if folders.any(|folder| file.starts_with(folder)) => RootSource::Project,
        None => RootSource::User,
    }
}

/// Notes the agents, skills and models that steps name and that cannot be used or are not known.
pub(crate) fn check_calls(chains: &mut Chains, agents: &Agents, skills: &Snapshot) {
    let models = agents.all.iter();
    let models = models.filter_map(|agent| agent.file()?.model.as_deref());
    chains.check_calls(|call| match call {
        StepReference::Agent(name) => match agents.find(name) {
            Ok(at) => {
                let agent = agents.all.get(at);
                let usable = agent.is_some_and(|agent| agent.state.is_offered());
                (!usable).then(|| unknown_agent(name, &[]))
            }
            Err(near) => Some(unknown_agent(name, &near)),
        },
        StepReference::Skill(name) => {
            let chosen = prompt::choose(skills, &[name.to_owned()]);
            let names = skills.skills.iter().map(Skill::name);
            let is_missing = chosen.skills.is_empty();
            is_missing.then(|| match address::unread(skills, name) {
                Some(reason) => {
                    Diagnostic::new(Code::ChainSkillUnknown, reason.message).with_help(reason.fix)
                }
                None => unknown_skill(name, &address::near_names(names, name)),
            })
        }
        StepReference::Model(name) => models::unknown(name, models.clone()),
    });
}
