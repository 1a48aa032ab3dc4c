//! Chains on disk: where they are looked for, what is in their files, which of them are used, and whether the agents
//! and skills that they name are there and their models known.

use std::path::PathBuf;

use grove_catalog::address;
use grove_catalog::agents::Agents;
use grove_catalog::chains::{Call, Chain, Chains, resolve, unknown_agent, unknown_skill};
use grove_catalog::root::Source;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::{models, prompt};
use grove_fs::document_walk::Document;
use grove_spec::chain::{self, Format, Parsed, naming};
use grove_spec::package::Kind;
use grove_spec::{Code, Diagnostic};

use crate::definition_files::{Bounds, FileContent, FileKind, InRoots, Located};
use crate::environment::Environment;
use crate::planning::PlannedRoot;
use crate::scope::Scope;

/// How chain files are told and read.
pub(crate) const CHAIN_FILES: FileKind<Parsed> = FileKind {
    noun: "chain",
    wanted: |_| naming::is_chain_file,
    parse: |_, path, bytes, _| {
        let format = Format::of(path).unwrap_or(Format::Markdown);
        vec![(None, chain::parse_bytes(bytes, format))]
    },
    // The ending says what the file means to be.
    counts: |_: &Document<FileContent<Parsed>>, _, _| true,
    left_out: |_, _| None,
    note: |_, _| None,
};

/// Every chain, and how its file is read again.
#[derive(Debug)]
pub struct ChainLibrary {
    /// What was found.
    pub chains: Chains,
    planned: Vec<PlannedRoot>,
    /// The folders of the project, unless folders were given.
    project: Vec<PathBuf>,
}

impl ChainLibrary {
    /// Looks everywhere, or in exactly these folders as trusted user roots.
    pub fn load(environment: &Environment, folders: &[PathBuf]) -> Self {
        let searched = Bounds::search(
            Kind::Chains,
            &CHAIN_FILES,
            environment,
            folders,
            Scope::Both,
        );
        let InRoots {
            planned,
            candidates,
            diagnostics,
            named: _,
        } = searched.found;
        let roots = planned.iter().map(|planned| planned.root.clone()).collect();
        let mut chains = resolve(roots, candidates, diagnostics);
        let untrusted = CHAIN_FILES.untrusted(&chains.chains);
        chains.diagnostics.extend(untrusted);
        let project = searched.project.into_iter();
        let project = project.flat_map(|project| project.root.into_iter().chain(project.folders));
        Self {
            chains,
            planned,
            project: project.collect(),
        }
    }

    /// The text of a chain's file if it is still the one that was judged.
    pub fn source(&self, chain: &Chain) -> Option<String> {
        self.located().source(chain)
    }

    pub(crate) fn located(&self) -> Located<'_> {
        Located {
            roots: &self.chains.roots,
            planned: &self.planned,
        }
    }

    /// Whose a finding is that is about no chain: the root's that its file lies in; otherwise the project's if it is
    /// there, and the user's if it is anywhere else.
    pub fn source_of(&self, finding: &Diagnostic) -> Source {
        let Some(file) = &finding.file else {
            let is_of_project = finding.code == Code::ProjectUntrusted;
            return if is_of_project {
                Source::Project
            } else {
                Source::User
            };
        };
        let around = self
            .chains
            .roots
            .iter()
            .filter(|root| file.starts_with(&root.path));
        let nearest = around.max_by_key(|root| root.path.components().count());
        let in_project = self.project.iter().any(|folder| file.starts_with(folder));
        match nearest {
            Some(root) => root.source,
            None if in_project => Source::Project,
            None => Source::User,
        }
    }

    /// Notes the agents, skills and models that steps name and that cannot be used or are not known.
    pub fn check_calls(&mut self, agents: &Agents, skills: &Snapshot) {
        let models = agents.agents.iter();
        let models = models.filter_map(|agent| agent.file()?.model.as_deref());
        self.chains.check_calls(|call| match call {
            Call::Agent(name) => match agents.find(name) {
                Ok(at) => {
                    let agent = agents.agents.get(at);
                    let usable = agent.is_some_and(|agent| agent.state.is_offered());
                    (!usable).then(|| unknown_agent(name, &[]))
                }
                Err(near) => Some(unknown_agent(name, &near)),
            },
            Call::Skill(name) => {
                let chosen = prompt::choose(skills, &[name.to_owned()]);
                let names = skills.skills.iter().map(Skill::name);
                let is_missing = chosen.skills.is_empty();
                is_missing.then(|| match address::unread(skills, name) {
                    Some(reason) => Diagnostic::new(Code::ChainSkillUnknown, reason.message)
                        .with_help(reason.fix),
                    None => unknown_skill(name, &address::near_names(names, name)),
                })
            }
            Call::Model(name) => models::unknown(name, models.clone()),
        });
    }
}
