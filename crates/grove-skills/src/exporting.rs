//! Exporting agents and their skills for another host: reading, comparing, writing.
//!
//! The content is decided by [`grove_catalog::export`]. A file is replaced or removed only if it is what a [`record`]
//! says that Grove wrote; anything else in the way is left alone and named.

mod left_out;
mod missing;
mod record;
mod skill_set;
mod target;

use std::collections::BTreeSet;
use std::path::PathBuf;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::export::{self, ExportJob, ExportSource};
use grove_catalog::hosts::{self, AgentRules};
use grove_catalog::prompt;
use grove_catalog::snapshot::Snapshot;
use grove_fs::FsError;
use grove_fs::undo::UndoRecording;
use grove_spec::agent::SkillInjection;
use grove_spec::words;
use grove_spec::yaml::Key;
use grove_spec::{Code, Diagnostic, Position, Severity};

use crate::library::Discovery;
use crate::prompt::{self as prompts, PromptError};
use skill_set::SkillSet;
use target::{ExportTarget, UnusableAddresses};

pub use left_out::is_wanted;
pub(crate) use skill_set::{beside_skill, text_for_host};

/// A request to export agents.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// The host, by name.
    pub host: String,
    /// The folder in which the host's folders are.
    pub out: PathBuf,
    /// Set if the text of skills is written into agents also where the host reads `skills` itself.
    pub inline: bool,
    /// Characters that the skills of an agent may take; none means what the settings say.
    pub budget: Option<usize>,
    /// Set if files of agents and skills that are not exported any more are looked for.
    pub is_whole: bool,
    /// Set if nothing is written.
    pub is_dry: bool,
}

words! {
    /// The state of an exported file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ExportedFileState {
        /// It was not there.
        New = "new",
        /// It was there with another content.
        Changed = "changed",
        /// It was there as it is.
        Same = "same",
        /// It was made by an earlier export and is no part of this one.
        Stale = "stale",
        /// It was stale, and is gone.
        Removed = "removed",
        /// A file that Grove did not write is in its place.
        NotOurs = "not-ours",
    }
}

/// The result of an export, or of one that was only tried.
#[derive(Debug, Default)]
pub struct ExportResult {
    /// Files by their paths below the folder, sorted.
    pub files: Vec<(String, ExportedFileState)>,
    /// Findings about what was left out, and other warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of agents in it.
    pub n_agents: usize,
}

impl ExportResult {
    /// Returns true if everything is there as it should be, without a warning.
    pub fn is_clean(&self) -> bool {
        let is_same = |(_, state): &(String, ExportedFileState)| *state == ExportedFileState::Same;
        self.files.iter().all(is_same) && !self.has_warnings()
    }

    /// Returns true if nothing is to be written or removed.
    pub fn is_settled(&self) -> bool {
        let stays = |state: ExportedFileState| {
            matches!(state, ExportedFileState::Same | ExportedFileState::NotOurs)
        };
        self.files.iter().all(|(_, state)| stays(*state))
    }

    /// Returns true if a file that is there would be replaced or removed; records are Grove's own and do not count.
    pub fn takes_away(&self) -> bool {
        let goes = |state: ExportedFileState| {
            matches!(state, ExportedFileState::Changed | ExportedFileState::Stale)
        };
        let mut files = self.files.iter();
        files.any(|(path, state)| goes(*state) && !path.ends_with(record::NAME))
    }

    /// Returns true if there is a finding that the person should look at.
    pub fn has_warnings(&self) -> bool {
        let mut findings = self.diagnostics.iter();
        findings.any(|finding| finding.severity != Severity::Info)
    }
}

/// The reasons for exporting nothing.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nothing is known of the agents of such a host.
    #[error("unknown host `{0}`")]
    UnknownHost(String),
    /// Files did not stay as they were while they were read.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A file could not be written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// Exports the chosen agents; the caller leaves out those that are the host's own already. A file that is there is kept
/// in the recording before it is changed.
pub fn export(
    discovery: &Discovery,
    chosen: &[&Agent],
    theirs: &Agents,
    request: &ExportRequest,
    recording: &UndoRecording,
) -> Result<ExportResult, ExportError> {
    let unknown = || ExportError::UnknownHost(request.host.clone());
    let host = hosts::by_name(&request.host).ok_or_else(unknown)?;
    let rules = AgentRules::by_name(&request.host).ok_or_else(unknown)?;
    let limits = &discovery.world.settings.settings.limits;
    let job = ExportJob {
        title: &host.title,
        rules: &rules,
        inline: request.inline,
        budget: request.budget.unwrap_or(limits.preload_chars.count()),
    };
    let mut exported = ExportResult::default();
    let mut target = ExportTarget::new(&request.out, &rules.export);
    let (all_skills, files) = discovery.sources.all_skills(&discovery.snapshot);
    let mut skills = SkillSet::new(files, all_skills, &rules.export);
    for agent in chosen {
        one(
            discovery,
            agent,
            &job,
            &mut skills,
            &mut target,
            &mut exported,
        )?;
    }
    skills.put(&mut target, &mut exported.diagnostics)?;
    let held = UnusableAddresses {
        agents: if request.is_whole {
            left_out::say(
                &discovery.snapshot.agents,
                theirs,
                &mut exported.diagnostics,
            )
        } else {
            BTreeSet::new()
        },
        skills: skills.held(),
    };
    target.settle(request, &held, recording, &mut exported)?;
    exported.files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(exported)
}

fn one(
    discovery: &Discovery,
    agent: &Agent,
    job: &ExportJob<'_>,
    skills: &mut SkillSet<'_>,
    target: &mut ExportTarget,
    exported: &mut ExportResult,
) -> Result<(), ExportError> {
    let (agents, sources) = (&discovery.snapshot.agents, &discovery.sources);
    let location = agents.location(agent);
    let unsteady = || PromptError::FileChanged(location.clone());
    let text = sources.agents.read(agent).ok_or_else(unsteady)?;
    let format = sources.agents.format_of(agent);
    let own = prompts::prompt_agent(agent, format, &location, &text).ok_or_else(unsteady)?;
    let file = own.agent;
    // Each agent chooses as it does for its prompt; a skill is exported once for all agents.
    let (offered, files) = sources.skills_with(&discovery.snapshot, sources.skill_path(&location));
    let mut chosen = prompts::choose(offered, files, sources, (agent, None), &location);
    skills.name_among_all(offered, &mut chosen);
    for at in &mut chosen.skills {
        *at = skills.original(*at);
    }
    let read = prompts::read(skills.files, skills.snapshot, &chosen.skills)?;
    // The same rule as for the prompt itself decides which of them fit.
    let made = prompt::assemble(skills.snapshot, &own, &chosen, &read, job.budget);
    let mut warnings = made.warnings;
    let fits = |at: usize| {
        let address = address_of(skills.snapshot, at);
        file.skill_injection == SkillInjection::Light || made.active.contains(&address)
    };
    let mut kept: Vec<(usize, String)> = Vec::new();
    for one in read.iter().filter(|one| fits(one.skill)) {
        if skills.add(one.skill, &mut warnings) {
            kept.push((one.skill, one.body.clone()));
        }
    }
    let named = skills.named(&kept);
    let address = agents.address(agent);
    let places = places_of(agent);
    let source = ExportSource {
        name: &agent.name,
        address: Some(&address),
        agent: file,
        format,
        is_packaged: sources.agents.package_of(agent).is_some(),
        places: &places,
        body: own.body,
        skills: &named,
    };
    let (made, findings) = export::agent(job, &source);
    warnings.extend(findings);
    if target.has(&made.path) {
        let message = format!(
            "another agent already has the name that `{}` would have there",
            agent.name
        );
        warnings.push(Diagnostic::new(Code::ExportName, message));
    } else {
        target.put_agent(made.path, made.text);
        exported.n_agents += 1;
    }
    for warning in &mut warnings {
        warning.file.get_or_insert_with(|| location.clone());
    }
    exported.diagnostics.extend(warnings);
    Ok(())
}

/// The positions of the keys in an agent's file, without keys that settings override.
fn places_of(agent: &Agent) -> Vec<(Key, Position)> {
    let content = agent.content.iter();
    let places = content.flat_map(|content| &content.parsed.places);
    let is_set = |key: &str| {
        let mut set = agent.overridden.iter();
        set.any(|set| set.field.as_str() == key)
    };
    places.filter(|(key, _)| !is_set(key)).cloned().collect()
}

fn address_of(snapshot: &Snapshot, at: usize) -> String {
    let skill = snapshot.skills.get(at);
    skill.map_or_else(String::new, |skill| snapshot.address(skill))
}
