//! Overrides in the configuration: switched off, switched on, set field by field, and taken back.

use std::path::Path;

use grove_catalog::agents::Agent;
use grove_catalog::overrides::is_own;
use grove_catalog::state::EntryState;

use grove_spec::agent::compose::{FileEdit, list_items};
use grove_spec::agent::overrides::{AgentField, FieldChange};
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};
use serde_json::Value;

use super::{ChangeReport, ManageError, Manager};

struct OverrideTarget {
    name: String,
    key: String,
    /// The address, which means this agent alone.
    address: String,
    state: Option<EntryState>,
}

impl Manager {
    /// Switches an agent off.
    pub fn disable(&mut self, name: &str, scope: LayerScope) -> Result<ChangeReport, ManageError> {
        let meant = self.override_target(name)?;
        let mut config = self.config(scope)?;
        let before = config.saved();
        config.set(
            &meant.key,
            field_of(AgentField::DISABLED)?,
            &Value::from(true),
        )?;
        let changed = config.write()?;
        let report = self.overridden(&meant, scope, config.path.clone(), changed, Vec::new());
        if report.state != Some(EntryState::Ok) || self.waits_for_trust(&config.path) {
            return Ok(report);
        }
        let agents = self.agents();
        let found = agents.entries().named(&meant.address).into_iter();
        let fields = found.filter_map(|at| agents.all.get(at));
        let mut fields = fields.flat_map(|agent| &agent.overridden);
        let on = fields.find(|set| set.field.as_str() == AgentField::DISABLED);
        let why = on.map_or_else(
            || "another file says so".to_owned(),
            |set| {
                let (file, line) = (set.origin.file.display(), set.origin.line);
                format!("switched on in {file}:{line}")
            },
        );
        let message = format!("`{}` stays switched on: it is {why}", meant.name);
        let error = ManageError::refused(message).hint(format!(
            "run `grove agents disable {} --scope project`, or change that file",
            one_line(name)
        ));
        config.restore(before)?;
        Err(error)
    }

    /// Switches an agent on: what switches it off is taken back, and overruled if it is written elsewhere.
    ///
    /// Where a stronger file switches it off, nothing is changed and that is the error.
    pub fn enable(&mut self, name: &str, scope: LayerScope) -> Result<ChangeReport, ManageError> {
        let meant = self.switched_off(name)?;
        let mut config = self.config(scope)?;
        // A configuration that waits for trust is not in force, and will be.
        if meant.state != Some(EntryState::Disabled) && !self.waits_for_trust(&config.path) {
            return Ok(self.overridden(&meant, scope, config.path, false, Vec::new()));
        }
        let before = config.saved();
        // An agent that is called by its address is meant alone.
        let of_name = Some(&meant.name).filter(|_| name != meant.address);
        for key in of_name.into_iter().chain([&meant.address]) {
            config.remove(key, field_of(AgentField::DISABLED)?)?;
        }
        let mut changed = config.write()?;
        let mut report = self.overridden(&meant, scope, config.path.clone(), changed, Vec::new());
        if report.state == Some(EntryState::Disabled) {
            config.set(
                &meant.key,
                field_of(AgentField::DISABLED)?,
                &Value::from(false),
            )?;
            changed |= config.write()?;
            report = self.overridden(&meant, scope, config.path.clone(), changed, Vec::new());
        }
        if report.state != Some(EntryState::Disabled) {
            return Ok(report);
        }
        if self.waits_for_trust(&config.path) {
            for reason in &mut report.reasons {
                "run `grove trust`, and the project's configuration overrules it"
                    .clone_into(&mut reason.fix);
            }
            return Ok(report);
        }
        config.restore(before)?;
        let why = report.reasons.iter().map(|it| it.message.as_str());
        let why = one_line(&why.collect::<Vec<_>>().join(", "));
        let message = format!("`{}` stays switched off: it is {why}", meant.name);
        let ways = report.reasons.into_iter().map(|it| it.fix);
        Err(ways.fold(ManageError::refused(message), ManageError::hint))
    }

    /// Returns true if a project's configuration is not the one that was trusted.
    pub(super) fn waits_for_trust(&self, file: &Path) -> bool {
        let mut findings = self.agents().diagnostics.iter();
        findings.any(|it| it.code == Code::ConfigUntrusted && it.file.as_deref() == Some(file))
    }

    /// Takes back everything that the configuration of a scope says about an agent.
    pub fn reset(&mut self, name: &str, scope: LayerScope) -> Result<ChangeReport, ManageError> {
        let agents = self.agents();
        let found = agents.entries().named(name);
        let mut keys = vec![name.to_owned()];
        for agent in found.iter().filter_map(|at| agents.all.get(*at)) {
            keys.push(agent.name.clone());
            keys.push(agents.address(agent));
        }
        let mut config = self.config(scope)?;
        for key in &keys {
            config.remove_all(key)?;
        }
        let changed = config.write()?;
        if found.is_empty() && !changed {
            // A name that no agent has and no configuration mentions is most likely a slip.
            self.override_target(name)?;
        }
        let meant = OverrideTarget {
            name: name.to_owned(),
            key: name.to_owned(),
            address: name.to_owned(),
            state: None,
        };
        let mut report = self.overridden(&meant, scope, config.path, changed, Vec::new());
        report.notes.extend(self.still_set(&meant.key));
        Ok(report)
    }

    /// Notes about what other files still set of an agent.
    fn still_set(&self, name: &str) -> Vec<String> {
        let agents = self.agents();
        let found = agents.entries().named(name).into_iter();
        let found = found.filter_map(|at| agents.all.get(at));
        let mut notes: Vec<String> = found
            .flat_map(|agent| &agent.overridden)
            .map(|set| {
                let (file, line) = (set.origin.file.display(), set.origin.line);
                let field = set.field.as_str();
                one_line(&format!("`{field}` is still set in {file}:{line}"))
            })
            .collect();
        notes.dedup();
        notes
    }

    /// Overrides single fields of an agent.
    pub fn override_fields(
        &mut self,
        name: &str,
        scope: LayerScope,
        asks: &[FileEdit],
    ) -> Result<ChangeReport, ManageError> {
        let meant = self.override_target(name)?;
        let mut config = self.config(scope)?;
        let mut fields = grove_spec::agent::AgentFile::default();
        for ask in asks {
            // An agent's text is one of the fields.
            let (key, words) = match ask {
                FileEdit::Set(key, words) => (key.as_str(), Some(words)),
                FileEdit::Unset(key) => (key.as_str(), None),
                FileEdit::Body(text) => (AgentField::SYSTEM_PROMPT, Some(text)),
            };
            let field = field_of(key)?;
            // Only a text may be empty.
            let may_be_empty = field.as_str() == AgentField::SYSTEM_PROMPT;
            let words = words.filter(|words| may_be_empty || !words.trim().is_empty());
            let Some(words) = words else {
                config.remove(&meant.key, field)?;
                continue;
            };
            let change = read(field, words).ok_or_else(|| {
                ManageError::field(key, &format!("it must be {}", field.override_takes()))
            })?;
            change.apply(&mut fields);
            config.set(&meant.key, field, change.value())?;
        }
        let warnings = self.name_warnings(&fields, &config.path);
        let changed = config.write()?;
        Ok(self.overridden(&meant, scope, config.path, changed, warnings))
    }

    fn override_target(&self, query: &str) -> Result<OverrideTarget, ManageError> {
        match self.agents().find(query) {
            Ok(at) => self.override_target_at(query, at),
            Err(near) => Err(ManageError::not_found("agent", query, &near)),
        }
    }

    /// The agent to switch on: the first of the name that is off, although another may be used in its place.
    fn switched_off(&self, query: &str) -> Result<OverrideTarget, ManageError> {
        let agents = self.agents();
        let off = agents.entries().named(query).into_iter().find(|at| {
            let agent = agents.all.get(*at);
            agent.is_some_and(|agent| agent.state == EntryState::Disabled)
        });
        match off {
            Some(at) => self.override_target_at(query, at),
            None => self.override_target(query),
        }
    }

    fn override_target_at(&self, query: &str, at: usize) -> Result<OverrideTarget, ManageError> {
        let agents = self.agents();
        let agent = agents
            .all
            .get(at)
            .ok_or_else(|| ManageError::not_found("agent", query, &[]))?;
        // The bare name would mean an agent from elsewhere.
        let mut others = agents.entries().named(&agent.name).into_iter();
        let is_of_own = |at: usize| agents.entries().source(at).is_some_and(is_own);
        let in_place = is_of_own(at) && others.any(|other| !is_of_own(other));
        let address = agents.address(agent);
        let key = if in_place || query == address {
            address.clone()
        } else {
            agent.name.clone()
        };
        Ok(OverrideTarget {
            name: agent.name.clone(),
            key,
            address,
            state: Some(agent.state),
        })
    }

    fn overridden(
        &mut self,
        meant: &OverrideTarget,
        scope: LayerScope,
        file: std::path::PathBuf,
        changed: bool,
        warnings: Vec<Diagnostic>,
    ) -> ChangeReport {
        let mut report = self.report::<Agent>(&meant.name, scope, file, changed, warnings);
        let agents = self.agents();
        let at = agents.entries().named(&meant.address).into_iter().next();
        let found = agents.find(&meant.address).ok().or(at);
        if let Some(agent) = found.and_then(|at| agents.all.get(at)) {
            report.state = Some(agent.state);
            report.reasons.clone_from(&agent.reasons);
            if let Some(other) = agent.stand_in.and_then(|at| agents.all.get(at)) {
                let note = format!("{} is used in its place", agents.address(other));
                report.notes.push(one_line(&note));
            }
        }
        if self.waits_for_trust(&report.file) {
            let note = "the project's configuration takes effect once you run `grove trust`";
            report.notes.push(note.to_owned());
        }
        report
    }
}

fn field_of(key: &str) -> Result<AgentField, ManageError> {
    let known = AgentField::all().find(|field| field.as_str() == key || field.config_key() == key);
    known.ok_or_else(|| {
        let fields: Vec<&str> = AgentField::all().map(AgentField::as_str).collect();
        ManageError::refused(format!("`{key}` cannot be overridden"))
            .hint(format!("these can: {}", fields.join(", ")))
    })
}

fn read(field: AgentField, words: &str) -> Option<FieldChange> {
    let text = words.trim();
    let wanted = field.override_takes();
    let value = if text == "false" || wanted.starts_with("true") || wanted.contains("number") {
        serde_json::from_str(text).ok()?
    } else if wanted.starts_with("a list") {
        list_items(text).into_iter().map(Value::from).collect()
    } else {
        Value::from(words)
    };
    FieldChange::read(field, &value)
}
