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
use grove_catalog::definitions::Definition;
use grove_catalog::state::{Reason, State};
use grove_catalog::{models, prompt};
use grove_fs::files;
use grove_fs::lock::Lock;
use grove_spec::config::LayerScope;
use grove_spec::package::Kind;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic, Position, agent, chain};

pub use agent_files::Created;
pub use chain_files::{ChainAsks, NewChain};
pub use error::ManageError;

use own_files::{OwnFiles, full_name, sanitised};
use within::WritePlace;

use crate::agent_overrides;
use crate::environment::Environment;
use crate::library::{Library, Look};
use crate::request::{Parts, Request, View};

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

/// Another name for an agent or a chain.
#[derive(Debug, Clone)]
pub struct Renaming<'a> {
    /// Who.
    pub name: &'a str,
    /// What it is to be called, as typed.
    pub to: &'a str,
    /// Another package; an empty one means none, nothing means the one it has.
    pub package: Option<&'a str>,
    /// Whose, if that must be said.
    pub scope: Option<LayerScope>,
}

/// What agents and chains add to how files are renamed and deleted.
trait Managed: Definition {
    /// The files of its kind.
    fn files(manager: &Manager) -> OwnFiles<'_, Self>
    where
        Self: Sized;

    /// The package that it belongs to.
    fn package(&self) -> Option<&str>;

    /// The name and the text of the file at a path under another name.
    fn renamed(
        path: &str,
        before: &str,
        name: &str,
        package: Option<&str>,
    ) -> Result<(String, String), ManageError>;
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
            return Err(ManageError::no_home());
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
            Some(file) => {
                let file = file.display();
                Err(
                    ManageError::refused(format!("`{name}` already exists: {file}"))
                        .hint("change that one, or choose another name"),
                )
            }
            None => Ok(()),
        }
    }

    /// The place of a new file in a scope.
    fn new_file(&self, scope: LayerScope, below: &Path) -> Result<WritePlace, ManageError> {
        match scope {
            LayerScope::User => {
                let home = self.look.world.environment.home.as_ref();
                let home = home.ok_or_else(ManageError::no_home)?;
                Ok(WritePlace::of_user(home.join(below)))
            }
            LayerScope::Project => {
                let project = &self.look.world.project;
                let root = project.root.as_ref();
                let root = root.filter(|root| project.folders.contains(root));
                let root = root.map(PathBuf::as_path).or_else(|| project.outermost());
                WritePlace::within(root.ok_or_else(ManageError::no_project)?, below)
            }
        }
    }

    /// Gives an agent or a chain, and its file, another name.
    pub fn rename(&mut self, kind: Kind, asked: &Renaming<'_>) -> Result<Changed, ManageError> {
        match kind {
            Kind::Chains => self.rename_file::<chain::Parsed>(asked),
            _ => self.rename_file::<agent::Parsed>(asked),
        }
    }

    /// Deletes the file of an agent or a chain.
    pub fn delete(
        &mut self,
        kind: Kind,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<Changed, ManageError> {
        match kind {
            Kind::Chains => self.delete_file::<chain::Parsed>(name, scope),
            _ => self.delete_file::<agent::Parsed>(name, scope),
        }
    }

    fn rename_file<P: Managed>(&mut self, asked: &Renaming<'_>) -> Result<Changed, ManageError> {
        let files = P::files(self);
        let (one, scope) = files.own(asked.name, asked.scope)?;
        let (old_name, location) = (one.name.clone(), files.location(one));
        let content = one.content.as_ref();
        let kept = content.and_then(|content| content.parsed.package());
        let package = match asked.package {
            Some(text) => own_files::package(text)?,
            None => kept.map(str::to_owned),
        };
        let name = sanitised(asked.to)?;
        let runtime = full_name(&name, package.as_deref());
        self.require_new(&runtime, scope, Some(&location))?;
        let (_, before) = files.readable(one)?;
        let (file_name, after) = P::renamed(&one.path, &before, &name, package.as_deref())?;
        let file = location.with_file_name(file_name);
        let changed = after != before || file != location;
        if changed {
            files.moved(one, &file, &before, &after)?;
        }
        let warnings = match P::KIND {
            Kind::Agents if runtime != old_name => self.left_behind(&old_name),
            _ => Vec::new(),
        };
        let mut report = self.report::<P>(&runtime, scope, file, changed, warnings);
        report
            .notes
            .extend(P::files(self).stands_in_for(&report.file));
        report.previous = Some(location).filter(|previous| *previous != report.file);
        Ok(report)
    }

    fn delete_file<P: Managed>(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<Changed, ManageError> {
        let files = P::files(self);
        let (one, scope) = files.own(name, scope)?;
        let (name, location) = (one.name.clone(), files.location(one));
        let (_, before) = files.readable(one)?;
        files.delete(one, &before)?;
        let mut report = self.report::<P>(&name, scope, location, true, Vec::new());
        let found = P::files(self).found;
        let mut left = found.named(&name).into_iter();
        let next = left.find_map(|at| found.all.get(at).filter(|one| one.state.is_usable()));
        if let Some(next) = next {
            let note = format!("{} is used in its place now", found.address(next));
            report.notes.push(one_line(&note));
        } else if P::KIND == Kind::Agents {
            report.warnings.extend(self.left_behind(&name));
        }
        Ok(report)
    }

    /// What is to be known about an agent or a chain after its file was written.
    fn report<P: Managed>(
        &mut self,
        name: &str,
        scope: LayerScope,
        file: PathBuf,
        changed: bool,
        mut warnings: Vec<Diagnostic>,
    ) -> Changed {
        self.look = self.library.look();
        let files = P::files(self);
        let mut all = files.found.all.iter();
        let one = all.find(|one| files.location(one) == file);
        let fields = one.into_iter().flat_map(|one| &one.overridden);
        let notes = fields.map(|set| {
            let (file, line) = (set.origin.file.display(), set.origin.line);
            let field = set.field.as_str();
            one_line(&format!("`{field}` is overridden in {file}:{line}"))
        });
        if let (Kind::Chains, Some(chain)) = (P::KIND, one) {
            warnings.extend(chain.diagnostics.iter().cloned());
        }
        Changed {
            name: name.to_owned(),
            scope,
            previous: None,
            changed,
            state: one.map(|one| one.state),
            reasons: one.map_or_else(Vec::new, |one| one.reasons.clone()),
            notes: notes.collect(),
            warnings,
            file,
        }
    }

    /// What still speaks of an agent that has another name now, or is gone.
    fn left_behind(&self, name: &str) -> Vec<Diagnostic> {
        let laid = agent_overrides::find(&self.look.world, &View::Own);
        let overrides = laid.layers.iter().flat_map(|layer| &layer.overrides.agents);
        let mut left: Vec<Diagnostic> = overrides
            .filter(|said| said.agent == name)
            .map(|said| {
                let message = format!("`{}` is still overridden here", one_line(name));
                Diagnostic::new(Code::OverrideUnknown, message)
                    .in_file(&said.origin.file)
                    .at(Position::new(said.origin.line, 1))
            })
            .collect();
        left.extend(self.chains().calling(name));
        left
    }

    /// Warnings about names that an agent's fields lead to.
    fn doubts(&self, file: &grove_spec::agent::Agent, location: &Path) -> Vec<Diagnostic> {
        let mut doubts = Vec::new();
        let agents = self.agents();
        let own = |agent: &&Agent| agents.location(agent) != location;
        let others = agents.all.iter().filter(own);
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
