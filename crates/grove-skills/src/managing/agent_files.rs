//! The files of agents: made, changed, renamed, deleted.

use std::path::{Path, PathBuf};

use grove_catalog::Source;
use grove_catalog::agent_target::Target;
use grove_catalog::agents::Agent;
use grove_fs::atomic::{self, Replaced};
use grove_fs::files;
use grove_spec::agent::compose::{self, Ask, Refusal};
use grove_spec::agent::{self, naming};
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use super::{AGENTS, Changed, ManageError, Manager};

/// An agent that is to be made.
#[derive(Debug, Clone)]
pub struct Created<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// Its package, as typed.
    pub package: Option<&'a str>,
    /// Whose it is.
    pub scope: LayerScope,
    /// Its fields and its text.
    pub asks: &'a [Ask],
}

/// Another name for an agent.
#[derive(Debug, Clone)]
pub struct Renaming<'a> {
    /// Who.
    pub name: &'a str,
    /// What it is to be called, as typed.
    pub to: &'a str,
    /// Another package; a blank one means none, nothing means the one it has.
    pub package: Option<&'a str>,
    /// Whose, if that must be said.
    pub scope: Option<LayerScope>,
}

impl Manager<'_> {
    /// Makes an agent's file.
    pub fn create(&mut self, asked: &Created<'_>) -> Result<Changed, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let file_name = naming::file_name(&name, package.as_deref());
        let file = self
            .scope_folder(asked.scope)?
            .join(AGENTS)
            .join(&file_name);
        let runtime = full_name(&name, package.as_deref());
        if let Some(known) = self.in_scope(&runtime, asked.scope) {
            let file = self.library.agents.location(known);
            return Err(ManageError::Exists {
                name: runtime,
                file,
            });
        }
        if files::is_there(&file) {
            return Err(ManageError::FileExists(file));
        }
        let text = compose::create(&name, package.as_deref(), asked.asks).map_err(field)?;
        let parsed = agent::parse(&text);
        if parsed.agent.description.is_none() {
            return Err(ManageError::Field {
                field: "description".to_owned(),
                message: "a new agent needs one".to_owned(),
            });
        }
        let mut warnings = self.doubts(&parsed.agent, &file);
        warnings.extend(unknown_keys(&text, asked.asks, &file));
        create_file(&file, text.as_bytes(), None)?;
        let mut report = self.report(&runtime, asked.scope, file, true, warnings);
        report.notes.extend(self.stands_in_for(&report.file));
        Ok(report)
    }

    /// Changes fields and text of an agent's file.
    pub fn edit(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &[Ask],
    ) -> Result<Changed, ManageError> {
        let (agent, scope) = self.own(name, scope)?;
        let own_name = agent.name.clone();
        let location = self.library.agents.location(agent);
        let (file, before) = self.readable(agent)?;
        let after = compose::change(&before, asks).map_err(field)?;
        let changed = after != before;
        let fields = agent::parse(&after).agent;
        let asked_for = |key: &str| {
            asks.iter()
                .any(|ask| matches!(ask, Ask::Set(asked, _) if asked == key))
        };
        let mut warnings = self.doubts(&fields, &location);
        warnings.retain(|doubt| match doubt.code {
            Code::ModelUnknown => asked_for("model") || asked_for("fallbackModels"),
            _ => asked_for("skills") || asked_for("skill"),
        });
        warnings.extend(unknown_keys(&after, asks, &location));
        if changed {
            replace_file(&file, before.as_bytes(), after.as_bytes())?;
        }
        Ok(self.report(&own_name, scope, location, changed, warnings))
    }

    /// Gives an agent and its file another name.
    pub fn rename(&mut self, asked: &Renaming<'_>) -> Result<Changed, ManageError> {
        let (agent, scope) = self.own(asked.name, asked.scope)?;
        let old_name = agent.name.clone();
        let location = self.library.agents.location(agent);
        let kept = agent.file().and_then(|file| file.package.clone());
        let package = match asked.package {
            Some(text) => package(text)?,
            None => kept,
        };
        let name = sanitised(asked.to)?;
        let runtime = full_name(&name, package.as_deref());
        let (_, before) = self.readable(agent)?;
        let after = compose::rename(&before, &name, package.as_deref()).map_err(field)?;
        let mut file_name = naming::file_name(&name, package.as_deref());
        let old_file = location.to_string_lossy();
        if old_file.ends_with(".agent.md") {
            file_name = format!("{}.agent.md", naming::stem(&file_name));
        }
        let file = location.with_file_name(file_name);
        let taken = self.in_scope(&runtime, scope);
        if let Some(other) = taken.filter(|other| self.library.agents.location(other) != location) {
            let file = self.library.agents.location(other);
            return Err(ManageError::Exists {
                name: runtime,
                file,
            });
        }
        let changed = after != before || file != location;
        if file == location {
            if changed {
                replace_file(&file, before.as_bytes(), after.as_bytes())?;
            }
        } else {
            self.require_plain(agent, &location)?;
            // The new file has a name of its own before the old one loses its: nothing is lost in between.
            create_file(&file, after.as_bytes(), Some(files::mode(&location)?))?;
            if !files::remove_same(&location, before.as_bytes())? {
                files::remove_same(&file, after.as_bytes())?;
                return Err(ManageError::Changed(location));
            }
        }
        let warnings = if runtime == old_name {
            Vec::new()
        } else {
            self.left_behind(&old_name)
        };
        let mut report = self.report(&runtime, scope, file, changed, warnings);
        report.notes.extend(self.stands_in_for(&report.file));
        report.previous = Some(location).filter(|previous| *previous != report.file);
        Ok(report)
    }

    /// Deletes an agent's file.
    pub fn delete(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<Changed, ManageError> {
        let (agent, scope) = self.own(name, scope)?;
        let name = agent.name.clone();
        let location = self.library.agents.location(agent);
        let (_, before) = self.readable(agent)?;
        self.require_plain(agent, &location)?;
        if !files::remove_same(&location, before.as_bytes())? {
            return Err(ManageError::Changed(location));
        }
        let mut report = self.report(&name, scope, location, true, Vec::new());
        let agents = &self.library.agents;
        let next = agents.named(&name).into_iter().find_map(|at| {
            let agent = agents.agents.get(at)?;
            agent.state.is_usable().then(|| agents.address(agent))
        });
        match next {
            Some(next) => {
                let note = format!("{next} is used in its place now");
                report.notes.push(one_line(&note));
            }
            None => report.warnings.extend(self.left_behind(&name)),
        }
        Ok(report)
    }

    /// The agent of a name in a scope, usable or not.
    fn in_scope(&self, name: &str, scope: LayerScope) -> Option<&Agent> {
        let agents = &self.library.agents;
        let source = match scope {
            LayerScope::User => Source::User,
            LayerScope::Project => Source::Project,
        };
        let mut named = agents
            .agents
            .iter()
            .enumerate()
            .filter(|(at, agent)| agents.source(*at) == Some(source) && agent.name == name);
        named.next().map(|(_, agent)| agent)
    }

    /// The agent whose file is to be changed.
    pub(super) fn own(
        &self,
        query: &str,
        scope: Option<LayerScope>,
    ) -> Result<(&Agent, LayerScope), ManageError> {
        let agents = &self.library.agents;
        let name = query.to_owned();
        let at = match agents.target(query, scope) {
            Target::One(at) => at,
            Target::Nobody { near } => return Err(ManageError::Nobody { name, near }),
            Target::ReadOnly(at) => {
                let agent = agents.agents.get(at);
                return Err(ManageError::ReadOnly {
                    name: agent.map_or(name, |agent| agent.name.clone()),
                    source_of: agents.source(at).unwrap_or(Source::Bundled),
                });
            }
            Target::BothScopes(files) => return Err(ManageError::BothScopes { name, files }),
            Target::Several(addresses) => return Err(ManageError::Several { name, addresses }),
            Target::OtherScope(file) => return Err(ManageError::OtherScope { name, file }),
        };
        let scope = match agents.source(at) {
            Some(Source::Project) => LayerScope::Project,
            _ => LayerScope::User,
        };
        let agent = agents.agents.get(at);
        let nobody = || ManageError::Nobody {
            name,
            near: Vec::new(),
        };
        Ok((agent.ok_or_else(nobody)?, scope))
    }

    /// The text of an agent's file, and the file that a link in its place leads to.
    fn readable(&self, agent: &Agent) -> Result<(PathBuf, String), ManageError> {
        let location = self.library.agents.location(agent);
        let unreadable = |why: &str| ManageError::Unreadable {
            file: location.clone(),
            why: why.to_owned(),
        };
        if agent.content.is_none() {
            return Err(unreadable("it cannot be read"));
        }
        if !location.to_string_lossy().ends_with(".md") {
            return Err(unreadable("it is not a Markdown file"));
        }
        let Some(text) = self.library.source(agent) else {
            return Err(ManageError::Changed(location));
        };
        let file = files::canonical(&location)?;
        // What came with a project must not lead out of it.
        let root = self.library.agents.roots.get(agent.root);
        if let Some(root) = root.filter(|root| root.source == Source::Project)
            && !file.starts_with(files::canonical(&root.path)?)
        {
            return Err(ManageError::NotPlain(location));
        }
        Ok((file, text))
    }

    /// Whether an agent's file is a plain file in its root's folder: others are not moved or deleted.
    fn require_plain(&self, agent: &Agent, location: &Path) -> Result<(), ManageError> {
        let root = self.library.agents.roots.get(agent.root);
        let folder = root.map(|root| files::canonical(&root.path)).transpose()?;
        let inside = folder.is_some_and(|folder| {
            files::canonical(location).is_ok_and(|file| file.starts_with(folder))
        });
        if inside && !files::is_link(location) {
            Ok(())
        } else {
            Err(ManageError::NotPlain(location.to_path_buf()))
        }
    }

    /// Notes about agents that a file takes the place of.
    fn stands_in_for(&self, file: &Path) -> Vec<String> {
        let agents = &self.library.agents;
        let at = agents
            .agents
            .iter()
            .position(|agent| agents.location(agent) == file);
        let others = agents
            .agents
            .iter()
            .filter(|other| at.is_some() && other.stand_in == at);
        others
            .map(|other| one_line(&format!("it takes the place of {}", agents.address(other))))
            .collect()
    }

    /// What still speaks of an agent that has another name now, or is gone.
    fn left_behind(&self, name: &str) -> Vec<Diagnostic> {
        let layers = self.library.layers.iter();
        let overrides = layers.flat_map(|layer| &layer.overrides.agents);
        overrides
            .filter(|said| said.agent == name)
            .map(|said| {
                let message = format!("`{}` is still overridden here", one_line(name));
                Diagnostic::new(Code::OverrideUnknown, message)
                    .in_file(&said.origin.file)
                    .at(grove_spec::Position::new(said.origin.line, 1))
            })
            .collect()
    }
}

fn sanitised(name: &str) -> Result<String, ManageError> {
    naming::sanitised(name).ok_or_else(|| ManageError::Name(one_line(name)))
}

/// A package as it is used in names; a blank one is none.
fn package(text: &str) -> Result<Option<String>, ManageError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let package = naming::package(text);
    package
        .map(Some)
        .ok_or_else(|| ManageError::Package(one_line(text)))
}

fn full_name(name: &str, package: Option<&str>) -> String {
    match package {
        Some(package) => format!("{package}.{name}"),
        None => name.to_owned(),
    }
}

fn field(refusal: Refusal) -> ManageError {
    ManageError::Field {
        field: refusal.field,
        message: refusal.message,
    }
}

fn unknown_keys(text: &str, asks: &[Ask], file: &Path) -> Vec<Diagnostic> {
    let keys = compose::unknown_keys(text, asks).into_iter();
    keys.map(|key| {
        let message = format!("`{key}` is not a field that is known here; it is kept as written");
        Diagnostic::new(Code::AgentUnknownField, message).in_file(file)
    })
    .collect()
}

pub(super) fn create_file(
    file: &Path,
    content: &[u8],
    mode: Option<u32>,
) -> Result<(), ManageError> {
    atomic::create(file, content, mode).map_err(|error| {
        if error.source.kind() == std::io::ErrorKind::AlreadyExists {
            ManageError::FileExists(file.to_path_buf())
        } else {
            error.into()
        }
    })
}

pub(super) fn replace_file(file: &Path, before: &[u8], after: &[u8]) -> Result<(), ManageError> {
    match atomic::replace(file, before, after)? {
        Replaced::Done => Ok(()),
        Replaced::Changed => Err(ManageError::Changed(file.to_path_buf())),
    }
}
