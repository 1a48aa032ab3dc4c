//! Chains on disk: where they are looked for, what is in their files, which of them are used, and whether the agents
//! and skills that they name are there.

use std::path::PathBuf;

use grove_catalog::address;
use grove_catalog::agents::{Agents, Answer as AgentAnswer};
use grove_catalog::chains::{Call, Chain, Chains, resolve};
use grove_catalog::prompt;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::State;
use grove_fs::document_walk::Document;
use grove_spec::chain::{self, Format, Parsed, naming};
use grove_spec::package::Kind;

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
        Self { chains, planned }
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

    /// Notes the agents and skills that steps name and that cannot be used.
    pub fn check_calls(&mut self, agents: &Agents, skills: &Snapshot) {
        self.chains.check_calls(|call| match call {
            Call::Agent(name) => match agents.find(name) {
                AgentAnswer::One(at) => {
                    let agent = agents.agents.get(at);
                    let usable = agent.is_some_and(|agent| agent.state == State::Ok);
                    (!usable).then(Vec::new)
                }
                AgentAnswer::None { near } => Some(near),
            },
            Call::Skill(name) => {
                let chosen = prompt::choose(skills, &[name.to_owned()]);
                let names = skills.skills.iter().map(Skill::name);
                chosen
                    .skills
                    .is_empty()
                    .then(|| address::near_names(names, name))
            }
        });
    }
}
