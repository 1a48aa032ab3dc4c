//! The files of agents: made, changed, renamed, deleted.

use std::path::Path;

use grove_fs::files;
use grove_spec::agent::compose::{self, Ask, Refusal};
use grove_spec::agent::{self, naming};
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use super::own_files::{full_name, package, sanitised};
use super::{AGENTS, Changed, ManageError, Manager};
use crate::agent_overrides;
use crate::request::View;

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
    /// Another package; an empty one means none, nothing means the one it has.
    pub package: Option<&'a str>,
    /// Whose, if that must be said.
    pub scope: Option<LayerScope>,
}

impl Manager {
    /// Makes an agent's file.
    pub fn create(&mut self, asked: &Created<'_>) -> Result<Changed, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let file_name = naming::file_name(&name, package.as_deref());
        let place = self.new_file(asked.scope, &Path::new(AGENTS).join(&file_name))?;
        let file = place.path().to_path_buf();
        let runtime = full_name(&name, package.as_deref());
        self.require_new(&runtime, asked.scope, None)?;
        if files::is_there(&file) {
            return Err(ManageError::FileExists(file));
        }
        let text = compose::create(&name, package.as_deref(), asked.asks).map_err(field)?;
        let parsed = agent::parse(&text);
        require_read_as(&parsed.agent, &file_name, &runtime)?;
        if parsed.agent.description.is_none() {
            return Err(ManageError::Field {
                field: "description".to_owned(),
                message: "a new agent needs one".to_owned(),
            });
        }
        let mut warnings = self.doubts(&parsed.agent, &file);
        warnings.extend(unknown_keys(&text, asked.asks, &file));
        place.create(text.as_bytes(), None)?;
        let mut report = self.report(&runtime, asked.scope, file, true, warnings);
        let notes = self.agent_files().stands_in_for(&report.file);
        report.notes.extend(notes);
        Ok(report)
    }

    /// Changes fields and text of an agent's file.
    pub fn edit(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &[Ask],
    ) -> Result<Changed, ManageError> {
        let (agent, scope) = self.agent_files().own(name, scope)?;
        let own_name = agent.name.clone();
        let location = self.agents().location(agent);
        let (place, before) = self.agent_files().readable(agent)?;
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
            place.replace(before.as_bytes(), after.as_bytes())?;
        }
        Ok(self.report(&own_name, scope, location, changed, warnings))
    }

    /// Gives an agent and its file another name.
    pub fn rename(&mut self, asked: &Renaming<'_>) -> Result<Changed, ManageError> {
        let files_of = self.agent_files();
        let (agent, scope) = files_of.own(asked.name, asked.scope)?;
        let old_name = agent.name.clone();
        let location = self.agents().location(agent);
        let kept = agent.file().and_then(|file| file.package.clone());
        let package = match asked.package {
            Some(text) => package(text)?,
            None => kept,
        };
        let name = sanitised(asked.to)?;
        let runtime = full_name(&name, package.as_deref());
        let (_, before) = files_of.readable(agent)?;
        let after = compose::rename(&before, &name, package.as_deref()).map_err(field)?;
        let mut file_name = naming::file_name(&name, package.as_deref());
        let old_file = location.to_string_lossy();
        if old_file.ends_with(".agent.md") {
            file_name = format!("{}.agent.md", naming::stem(&file_name));
        }
        require_read_as(&agent::parse(&after).agent, &file_name, &runtime)?;
        let file = location.with_file_name(file_name);
        self.require_new(&runtime, scope, Some(&location))?;
        let changed = after != before || file != location;
        if changed {
            files_of.moved(agent, &file, &before, &after)?;
        }
        let warnings = if runtime == old_name {
            Vec::new()
        } else {
            self.left_behind(&old_name)
        };
        let mut report = self.report(&runtime, scope, file, changed, warnings);
        let notes = self.agent_files().stands_in_for(&report.file);
        report.notes.extend(notes);
        report.previous = Some(location).filter(|previous| *previous != report.file);
        Ok(report)
    }

    /// Deletes an agent's file.
    pub fn delete(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<Changed, ManageError> {
        let files_of = self.agent_files();
        let (agent, scope) = files_of.own(name, scope)?;
        let name = agent.name.clone();
        let location = self.agents().location(agent);
        let (_, before) = files_of.readable(agent)?;
        files_of.delete(agent, &before)?;
        let mut report = self.report(&name, scope, location, true, Vec::new());
        let agents = self.agents();
        let next = agents.entries().named(&name).into_iter().find_map(|at| {
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
                    .at(grove_spec::Position::new(said.origin.line, 1))
            })
            .collect();
        left.extend(self.chains().calling(name));
        left
    }
}

/// Refuses a name whose file would not be read as an agent's, or as another agent's.
fn require_read_as(
    agent: &agent::Agent,
    file_name: &str,
    runtime: &str,
) -> Result<(), ManageError> {
    if !naming::is_agent_file(file_name) || naming::runtime_name(agent, file_name) != runtime {
        return Err(ManageError::Reserved {
            name: runtime.to_owned(),
            file_name: file_name.to_owned(),
        });
    }
    Ok(())
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
