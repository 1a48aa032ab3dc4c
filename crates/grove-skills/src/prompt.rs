//! An agent's prompt from real files.

use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::agents::Agent;
use grove_catalog::catalog::{self, Budget, Style};
use grove_catalog::prompt::{self, Own, Prompt, Read};
use grove_catalog::snapshot::Snapshot;
use grove_spec::{Code, Diagnostic};

use crate::agents::AgentLibrary;
use crate::catalog_files;
use crate::library::Library;

/// How often files are looked at again when one changes between looking and reading.
const ATTEMPTS: usize = 3;

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file is not the one that was looked at.
    #[error("{} changed while it was read", .0.display())]
    Unsteady(PathBuf),
    /// The catalog that the agent inherits leads to files that could not be written.
    #[error(transparent)]
    Files(#[from] grove_fs::FsError),
}

/// A prompt with the skills it was made of.
#[derive(Debug)]
pub struct Told {
    /// The prompt.
    pub prompt: Prompt,
    /// The skills.
    pub snapshot: Arc<Snapshot>,
}

/// Puts an agent's prompt together from the skills of a library; `budget` is in characters.
pub fn prompt(
    library: &mut Library,
    agents: &AgentLibrary,
    agent: &Agent,
    budget: usize,
) -> Result<Told, PromptError> {
    let location = agents.agents.location(agent);
    let unsteady = || PromptError::Unsteady(location.clone());
    let source = agents.source(agent).ok_or_else(unsteady)?;
    let content = agent.content.as_ref().ok_or_else(unsteady)?;
    let body = content.parsed.body(&source).ok_or_else(unsteady)?;
    let file = &content.parsed.agent;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let snapshot = library.load();
        let chosen = prompt::choose(&snapshot, &file.skills);
        let read = match read(library, &snapshot, &chosen.skills) {
            Ok(read) => read,
            Err(error) => {
                last = Some(error);
                continue;
            }
        };
        let own = Own {
            name: &agent.name,
            agent: file,
            file: &location,
            digest: content.digest,
            body,
        };
        let mut made = prompt::assemble(&snapshot, &own, &chosen, &read, budget);
        if file.inherit_skills {
            inherit(library, &snapshot, &mut made)?;
        }
        if file.inherit_project_context {
            let message = "`inheritProjectContext`: whoever runs the agent adds the project's instructions; they are not in this text";
            let finding = Diagnostic::new(Code::PromptPartial, message);
            made.warnings.push(finding.in_file(&location));
        }
        return Ok(Told {
            prompt: made,
            snapshot,
        });
    }
    Err(last.unwrap_or_else(unsteady))
}

/// Reads the files of skills as the snapshot judged them.
pub(crate) fn read(
    library: &Library,
    snapshot: &Snapshot,
    skills: &[usize],
) -> Result<Vec<Read>, PromptError> {
    let one = |at: usize| {
        let skill = snapshot.skills.get(at)?;
        let bytes = library.source(snapshot, skill)?;
        let digest = Digest::of(&bytes);
        let text = String::from_utf8(bytes).ok()?;
        let body = text.get(skill.content.parsed().body_offset..)?.to_owned();
        Some(Read {
            skill: at,
            body,
            digest,
        })
    };
    let unsteady = |at: usize| {
        let skill = snapshot.skills.get(at);
        PromptError::Unsteady(
            skill.map_or_else(PathBuf::new, |skill| snapshot.location(&skill.place)),
        )
    };
    let skills = skills.iter().copied();
    skills
        .map(|at| one(at).ok_or_else(|| unsteady(at)))
        .collect()
}

/// Adds the catalog without the skills that are in the prompt already.
fn inherit(library: &Library, snapshot: &Snapshot, made: &mut Prompt) -> Result<(), PromptError> {
    let environment = library.environment();
    let Some(index_dir) = catalog_files::index_dir(environment) else {
        let message = "the catalog was left out: there is no cache folder for its index files";
        made.warnings
            .push(Diagnostic::new(Code::PromptPartial, message));
        return Ok(());
    };
    let settings = library.settings().settings;
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let budget = Budget::chars(
        number(settings.limits.prompt_chars.value),
        number(settings.limits.prompt_skills.value),
    );
    let usage = std::collections::BTreeMap::new();
    let exclude = made.active.clone();
    let told = catalog::catalog(
        snapshot,
        &catalog::Request {
            style: Style::Xml,
            budget,
            home: environment.home.as_deref(),
            index_dir: &index_dir,
            pinned: &settings.pinned.value,
            usage: &usage,
            expanded: &[],
            exclude: &exclude,
        },
    );
    catalog_files::write_index(&index_dir, &told.index)?;
    made.add_catalog(&told.text);
    Ok(())
}
