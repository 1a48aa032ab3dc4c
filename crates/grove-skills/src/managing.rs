//! Making, changing, renaming and deleting agents and chains, and overriding agents that are not one's own to change.
//!
//! Everything happens under one lock, is computed before anything is written, and is written only over the
//! content that was read. What another program saved in the meantime is never overwritten: that is an error.

mod agent_files;
mod chain_files;
mod config_file;
mod error;
mod overriding;
mod own_files;
mod within;

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::chains::Chains;
use grove_catalog::state::{Reason, State};
use grove_catalog::{models, prompt};
use grove_fs::files;
use grove_fs::lock::Lock;
use grove_spec::Diagnostic;
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;

pub use agent_files::{Created, Renaming};
pub use chain_files::{ChainAsks, NewChain};
pub use error::ManageError;
pub use overriding::OverrideAsk;

use own_files::OwnFiles;
use within::Place;

use crate::environment::Environment;
use crate::library::{Library, Look};
use crate::request::{Parts, Request};

/// How long another command may take that changes something.
const WAIT: Duration = Duration::from_secs(10);
/// Grove's own folders, in a project or at home.
const AGENTS: &str = ".grove/agents";
const CHAINS: &str = ".grove/chains";

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The agent.
    pub name: String,
    /// Whose file was written.
    pub scope: LayerScope,
    /// The file: the agent's, or the configuration.
    pub file: PathBuf,
    /// Where it was before.
    pub previous: Option<PathBuf>,
    /// Whether anything is different now.
    pub changed: bool,
    /// The agent's state now, if there is such an agent.
    pub state: Option<State>,
    /// Why it is in that state.
    pub reasons: Vec<Reason>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What somebody should look at.
    pub warnings: Vec<Diagnostic>,
}

/// Everything that changes agents, one command at a time.
#[derive(Debug)]
pub struct Manager {
    library: Library,
    /// What there is now; it is looked at again after every change.
    look: Look,
    _lock: Lock,
}

impl Manager {
    /// Waits for other commands that change something, and looks at everything.
    pub fn new(environment: &Environment) -> Result<Self, ManageError> {
        if environment.state.starts_with(Environment::NOWHERE) {
            return Err(ManageError::NoHome);
        }
        files::make_folder(&environment.state)?;
        let lock = Lock::take(&environment.state.join("managing"), WAIT)?;
        let request = Request {
            parts: Parts::ALL,
            ..Request::default()
        };
        let mut library = Library::new(environment.clone(), request);
        Ok(Self {
            look: library.look(),
            library,
            _lock: lock,
        })
    }

    fn agents(&self) -> &Agents {
        &self.look.snapshot.agents
    }

    fn chains(&self) -> &Chains {
        &self.look.snapshot.chains
    }

    fn agent_files(&self) -> OwnFiles<'_, grove_spec::agent::Parsed> {
        OwnFiles {
            noun: "agent",
            found: self.agents().entries(),
            files: &self.look.sources.agents,
        }
    }

    fn chain_files(&self) -> OwnFiles<'_, grove_spec::chain::Parsed> {
        OwnFiles {
            noun: "chain",
            found: self.chains().entries(),
            files: &self.look.sources.chains,
        }
    }

    /// Refuses a name that an agent or a chain of the scope has, but for the one in a file.
    fn require_new(
        &self,
        name: &str,
        scope: LayerScope,
        except: Option<&Path>,
    ) -> Result<(), ManageError> {
        let (agents, chains) = (self.agents(), self.chains());
        let agent = agents.entries().in_scope(name, scope);
        let chain = chains.entries().in_scope(name, scope);
        let files = [
            agent.map(|agent| agents.location(agent)),
            chain.map(|chain| chains.location(chain)),
        ];
        let mut others = files.into_iter().flatten();
        match others.find(|file| Some(file.as_path()) != except) {
            Some(file) => Err(ManageError::Exists {
                name: name.to_owned(),
                file,
            }),
            None => Ok(()),
        }
    }

    /// The place of a new file in a scope.
    fn new_file(&self, scope: LayerScope, below: &Path) -> Result<Place, ManageError> {
        match scope {
            LayerScope::User => {
                let home = self.look.world.environment.home.as_ref();
                let home = home.ok_or(ManageError::NoHome)?;
                Ok(Place::of_user(home.join(below)))
            }
            LayerScope::Project => {
                let project = &self.look.world.project;
                let root = project.root.as_ref();
                let root = root.filter(|root| project.folders.contains(root));
                let root = root.map(PathBuf::as_path).or_else(|| project.outermost());
                Place::within(root.ok_or(ManageError::NoProject)?, below)
            }
        }
    }

    /// What is to be known about an agent after its file was written.
    fn report(
        &mut self,
        name: &str,
        scope: LayerScope,
        file: PathBuf,
        changed: bool,
        warnings: Vec<Diagnostic>,
    ) -> Changed {
        self.look = self.library.look();
        let agents = self.agents();
        let at = agents
            .agents
            .iter()
            .position(|agent| agents.location(agent) == file);
        let mut report = Changed {
            name: name.to_owned(),
            scope,
            file,
            previous: None,
            changed,
            state: None,
            reasons: Vec::new(),
            notes: Vec::new(),
            warnings,
        };
        if let Some(agent) = at.and_then(|at| agents.agents.get(at)) {
            report.state = Some(agent.state);
            report.reasons.clone_from(&agent.reasons);
            let fields = agent.overridden.iter();
            for set in fields {
                let (file, line) = (set.origin.file.display(), set.origin.line);
                report.notes.push(one_line(&format!(
                    "`{}` is overridden in {file}:{line}",
                    set.field.as_str()
                )));
            }
        }
        report
    }

    /// Warnings about names that an agent's fields lead to.
    fn doubts(&self, file: &grove_spec::agent::Agent, location: &Path) -> Vec<Diagnostic> {
        let mut doubts = Vec::new();
        let agents = self.agents();
        let own = |agent: &&Agent| agents.location(agent) != location;
        let others = agents.agents.iter().filter(own);
        let others = others.filter_map(|agent| agent.file()?.model.as_deref());
        let named = file.model.iter().chain(&file.fallback_models);
        doubts.extend(named.filter_map(|model| models::unknown(model, others.clone())));
        doubts.extend(prompt::choose(&self.look.snapshot, &file.skills).warnings);
        for doubt in &mut doubts {
            doubt.file.get_or_insert_with(|| location.to_path_buf());
        }
        doubts
    }
}
