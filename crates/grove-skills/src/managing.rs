//! Making, changing, renaming and deleting skills, agents and chains, and switching off or overriding those that belong
//! to another owner.
//!
//! Everything happens under one lock, is computed before anything is written, and is written only over the content that
//! was read, after that was kept for `grove undo`. A file that another program saved since is never overwritten: that
//! is an error.

mod agent_files;
mod chain_files;
mod config_file;
mod error;
mod overriding;
mod own_files;
mod skill_copies;
mod skill_files;
mod within;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::chains::{Chain, Chains};
use grove_catalog::entry::{Entries, Entry};
use grove_catalog::overrides::OverriddenField;
use grove_catalog::snapshot::Skill;
use grove_catalog::state::{EntryState, StateReason};
use grove_catalog::{models, prompt};
use grove_fs::files;
use grove_fs::lock::Lock;
use grove_fs::undo::UndoRecording;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic, Position};

pub use agent_files::{AgentReaders, NewAgent};
pub use chain_files::{ChainChanges, NewChain};
pub use error::ManageError;
pub use skill_copies::SkillCopy;
pub use skill_files::NewSkill;

use own_files::{OwnFiles, full_name, sanitised};
use within::WritePlace;

use crate::agent_overrides;
use crate::environment::Environment;
use crate::library::{Discovery, Library};
use crate::planning::PlannedRoot;
use crate::request::{DiscoveryParts, DiscoveryRequest, DiscoveryView};
use crate::sources::Sources;
use crate::trusting::{self, WrittenFile};

/// The longest wait for another command that changes something.
const WAIT: Duration = Duration::from_secs(10);
/// Grove's own folders, in a project or at home.
const AGENTS: &str = ".grove/agents";
const CHAINS: &str = ".grove/chains";
const SKILLS: &str = ".grove/skills";

/// The report of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReport {
    /// Its name after the change.
    pub name: String,
    /// The scope of the file that was written.
    pub scope: LayerScope,
    /// The file: its own, or the configuration.
    pub file: PathBuf,
    /// The path of its file before, if it moved.
    pub previous: Option<PathBuf>,
    /// Set if anything is different now.
    pub changed: bool,
    /// Its state now, if it is there.
    pub state: Option<EntryState>,
    /// The reasons for that state.
    pub reasons: Vec<StateReason>,
    /// Further notes for the person.
    pub notes: Vec<String>,
    /// Warnings that the person should look at.
    pub warnings: Vec<Diagnostic>,
}

/// Another name for a skill, an agent or a chain.
#[derive(Debug, Clone)]
pub struct RenameRequest<'a> {
    /// The name that it has now.
    pub name: &'a str,
    /// The new name, as typed.
    pub to: &'a str,
    /// Another package; an empty one means none, nothing means the one it has.
    pub package: Option<&'a str>,
    /// Its scope, if the name alone is ambiguous.
    pub scope: Option<LayerScope>,
}

/// The parts of renaming and deleting files that differ between skills, agents and chains.
trait ManagedEntry: Entry {
    fn all(discovery: &Discovery) -> Entries<'_, Self>;

    /// The bytes of its file if it is still the one that was judged.
    fn bytes(&self, sources: &Sources) -> Option<Vec<u8>>;

    fn planned<'a>(&self, sources: &'a Sources) -> Option<&'a PlannedRoot>;

    fn is_read(&self) -> bool;

    /// Returns true if its file holds other things too, or is no Markdown: such files are their host's to write.
    fn is_its_hosts(&self) -> bool {
        false
    }

    /// Returns true if the folder of its file is all its own.
    fn has_folder(&self) -> bool {
        false
    }

    fn overridden(&self) -> &[OverriddenField] {
        &[]
    }

    fn package(&self) -> Option<&str> {
        None
    }

    fn renamed(
        &self,
        file: &Path,
        before: &str,
        name: &str,
        package: Option<&str>,
    ) -> Result<(PathBuf, String), ManageError>;

    fn own_files(manager: &Manager) -> OwnFiles<'_, Self> {
        OwnFiles {
            found: Self::all(&manager.discovery),
            sources: &manager.discovery.sources,
            recording: &manager.recording,
        }
    }
}

/// Everything that changes skills, agents and chains, one command at a time.
#[derive(Debug)]
pub struct Manager {
    library: Library,
    /// Set once the configuration was opened to be changed: it is read again then.
    opens_settings: bool,
    /// The present state; it is looked at again after every change.
    discovery: Discovery,
    recording: Arc<UndoRecording>,
    _lock: Lock,
}

impl Manager {
    /// Waits for other commands that change something, and looks at everything. The change is named by `command`.
    pub fn new(environment: &Environment, command: &str) -> Result<Self, ManageError> {
        if let Some(why) = environment.why_nowhere() {
            return Err(ManageError::no_home(&why));
        }
        files::make_folder(&environment.state)?;
        let lock = Lock::take(&environment.state.join("managing"), WAIT)?;
        let request = DiscoveryRequest {
            parts: DiscoveryParts::ALL,
            ..DiscoveryRequest::default()
        };
        let mut library = Library::new(environment.clone(), request);
        Ok(Self {
            discovery: library.discover(),
            library,
            opens_settings: false,
            recording: Arc::new(UndoRecording::new(Some(&environment.state), command)),
            _lock: lock,
        })
    }

    fn agents(&self) -> &Agents {
        &self.discovery.snapshot.agents
    }

    fn chains(&self) -> &Chains {
        &self.discovery.snapshot.chains
    }

    /// Refuses a name that a skill of the scope has, or an agent or a chain, but for the one in a file.
    fn require_new(
        &self,
        kind: EntryKind,
        name: &str,
        scope: LayerScope,
        except: Option<&Path>,
    ) -> Result<(), ManageError> {
        let (agents, chains) = (self.agents(), self.chains());
        let agent = agents.entries().in_scope(name, scope);
        let chain = chains.entries().in_scope(name, scope);
        let skills = self.discovery.snapshot.entries();
        let files = match kind {
            EntryKind::Skills => [
                skills
                    .in_scope(name, scope)
                    .map(|skill| skills.location(skill)),
                None,
            ],
            // Both are called by the same name in a request.
            EntryKind::Agents | EntryKind::Chains => [
                agent.map(|agent| agents.location(agent)),
                chain.map(|chain| chains.location(chain)),
            ],
        };
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

    fn new_file(&self, scope: LayerScope, below: &Path) -> Result<WritePlace, ManageError> {
        match scope {
            LayerScope::User => {
                let environment = &self.discovery.world.environment;
                let home = environment.home.as_ref();
                let home = home.ok_or_else(|| ManageError::no_home(&environment.why_no_home()))?;
                Ok(WritePlace::of_user(&self.recording, home.join(below)))
            }
            LayerScope::Project => {
                let project = &self.discovery.world.project;
                let root = project.root.as_ref();
                let root = root.filter(|root| project.folders.contains(root));
                let root = root.map(PathBuf::as_path).or_else(|| project.outermost());
                let root = root.ok_or_else(ManageError::no_project)?;
                WritePlace::within(&self.recording, root, below)
            }
        }
    }

    /// Gives a skill, an agent or a chain, and its file, another name.
    pub fn rename(
        &mut self,
        kind: EntryKind,
        asked: &RenameRequest<'_>,
    ) -> Result<ChangeReport, ManageError> {
        match kind {
            EntryKind::Chains => self.rename_file::<Chain>(asked),
            EntryKind::Agents => self.rename_file::<Agent>(asked),
            EntryKind::Skills => self.rename_file::<Skill>(asked),
        }
    }

    /// The path that a deletion would remove: the file of an agent or a chain, or the folder of a skill.
    pub fn deletes(
        &self,
        kind: EntryKind,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<PathBuf, ManageError> {
        match kind {
            EntryKind::Chains => Chain::own_files(self).deletes(name, scope),
            EntryKind::Agents => Agent::own_files(self).deletes(name, scope),
            EntryKind::Skills => Skill::own_files(self).deletes(name, scope),
        }
    }

    /// Deletes the file of an agent or a chain, or the folder of a skill.
    pub fn delete(
        &mut self,
        kind: EntryKind,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<ChangeReport, ManageError> {
        match kind {
            EntryKind::Chains => self.delete_file::<Chain>(name, scope),
            EntryKind::Agents => self.delete_file::<Agent>(name, scope),
            EntryKind::Skills => self.delete_file::<Skill>(name, scope),
        }
    }

    fn rename_file<E: ManagedEntry>(
        &mut self,
        asked: &RenameRequest<'_>,
    ) -> Result<ChangeReport, ManageError> {
        let files = E::own_files(self);
        let (one, scope) = files.own(asked.name, asked.scope)?;
        let (old_name, location) = (one.name().to_owned(), files.location(one));
        let package = match asked.package {
            Some(text) => own_files::package(text)?,
            None => one.package().map(str::to_owned),
        };
        let name = sanitised(asked.to)?;
        let runtime = full_name(&name, package.as_deref());
        self.require_new(E::KIND, &runtime, scope, Some(&location))?;
        let (_, before) = files.readable(one)?;
        let (file, after) = one.renamed(&location, &before, &name, package.as_deref())?;
        let changed = after != before || file != location;
        if changed {
            files.moved(one, &file, &before, &after)?;
        }
        let warnings = match E::KIND {
            _ if runtime == old_name => Vec::new(),
            EntryKind::Agents => self.still_naming_agent(&old_name),
            EntryKind::Skills => self.still_naming_skill(&old_name),
            EntryKind::Chains => Vec::new(),
        };
        let mut report = self.report::<E>(&runtime, scope, file, changed, warnings);
        report
            .notes
            .extend(E::own_files(self).stands_in_for(&report.file));
        report.previous = Some(location).filter(|previous| *previous != report.file);
        Ok(report)
    }

    fn delete_file<E: ManagedEntry>(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<ChangeReport, ManageError> {
        let files = E::own_files(self);
        let (one, scope) = files.own(name, scope)?;
        let (name, location) = (one.name().to_owned(), files.location(one));
        let (_, before) = files.readable(one)?;
        files.delete(one, &before)?;
        let mut report = self.report::<E>(&name, scope, location, true, Vec::new());
        let found = E::own_files(self).found;
        let mut left = found.named(&name).into_iter();
        let next = left.find_map(|at| found.all.get(at).filter(|one| one.state().is_usable()));
        if let Some(next) = next {
            let note = format!("{} is now used in its place", found.address(next));
            report.notes.push(one_line(&note));
        } else {
            report.warnings.extend(match E::KIND {
                EntryKind::Agents => self.still_naming_agent(&name),
                EntryKind::Skills => self.still_naming_skill(&name),
                EntryKind::Chains => Vec::new(),
            });
        }
        Ok(report)
    }

    /// Lets a trusted project stay trusted with what was written in it. An obstacle leaves the file changed since the
    /// grant, and the next discovery reports that.
    fn keep_trust(&self, path: &Path, before: Option<&str>, after: &str) {
        let written = WrittenFile {
            path,
            before: before.map(str::as_bytes),
            after: Some(after.as_bytes()),
        };
        let _ = trusting::keep_written(&self.discovery.world.environment, &written);
    }

    fn report<E: ManagedEntry>(
        &mut self,
        name: &str,
        scope: LayerScope,
        file: PathBuf,
        changed: bool,
        mut warnings: Vec<Diagnostic>,
    ) -> ChangeReport {
        self.discovery = if self.opens_settings {
            self.library.discover()
        } else {
            self.library.discover_with_settings()
        };
        let files = E::own_files(self);
        let mut all = files.found.all.iter();
        let one = all.find(|one| files.location(one) == file);
        let fields = one.into_iter().flat_map(ManagedEntry::overridden);
        let notes = fields.map(|set| {
            let (file, line) = (set.origin.file.display(), set.origin.line);
            let field = set.field.as_str();
            one_line(&format!("`{field}` is overridden in {file}:{line}"))
        });
        if let (EntryKind::Chains, Some(chain)) = (E::KIND, one) {
            warnings.extend(chain.findings().cloned());
        }
        ChangeReport {
            name: name.to_owned(),
            scope,
            previous: None,
            changed,
            state: one.map(Entry::state),
            reasons: one.map_or_else(Vec::new, |one| one.reasons().to_vec()),
            notes: notes.collect(),
            warnings,
            file,
        }
    }

    fn still_naming_agent(&self, name: &str) -> Vec<Diagnostic> {
        let laid = agent_overrides::find(&self.discovery.world, &DiscoveryView::Own);
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

    fn still_naming_skill(&self, name: &str) -> Vec<Diagnostic> {
        let agents = self.agents();
        let naming = agents.all.iter().filter(|agent| {
            let file = agent.file();
            file.is_some_and(|file| file.skills.iter().any(|skill| skill == name))
        });
        naming
            .map(|agent| {
                let message = format!("`{}` is still named here", one_line(name));
                Diagnostic::new(Code::PreloadUnknown, message).in_file(&agents.location(agent))
            })
            .collect()
    }

    /// Warnings about names that an agent's fields lead to.
    fn name_warnings(
        &self,
        file: &grove_spec::agent::AgentFile,
        location: &Path,
    ) -> Vec<Diagnostic> {
        let mut doubts = Vec::new();
        let agents = self.agents();
        let own = |agent: &&Agent| agents.location(agent) != location;
        let others = agents.all.iter().filter(own);
        let others = others.filter_map(|agent| agent.file()?.model.as_deref());
        let named = file.model.iter().chain(&file.fallback_models);
        doubts.extend(named.filter_map(|model| models::unknown(model, others.clone())));
        doubts.extend(prompt::choose(&self.discovery.snapshot, &file.skills).warnings);
        for doubt in &mut doubts {
            doubt.file.get_or_insert_with(|| location.to_path_buf());
        }
        doubts
    }
}
