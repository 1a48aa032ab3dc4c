//! `grove agents create | edit | rename | delete | enable | disable | reset`.

use grove_catalog::hosts::{self, AgentRules};
use grove_skills::Environment;
use grove_skills::managing::{AgentReaders, Manager, NewAgent};
use grove_spec::agent::compose::FileEdit;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;

use super::change_report::{self, layer, read_text};
use super::{Outcome, agents};
use crate::args::{AgentsCommand, NamedArgs, OwnerArgs, TypedFields};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;

pub(super) fn run(
    environment: &Environment,
    command: &AgentsCommand,
    out: &mut CommandOutput,
) -> Outcome {
    let asks = asks(environment, command)?;
    if let AgentsCommand::Delete(asked) = command
        && !change_report::may_delete(environment, EntryKind::Agents, asked, out)?
    {
        return Ok(ErrorKind::Finding.exit_code());
    }
    let mut manager = Manager::new(environment, &in_words(command))?;
    let (action, json, changed) = match command {
        AgentsCommand::Create {
            name,
            host,
            package,
            scope,
            json,
            ..
        } => {
            let host = host.as_deref().map(agents::known_host).transpose()?;
            let host = host.and_then(hosts::by_name);
            let asked = NewAgent {
                host: host.as_ref(),
                name,
                package: package.as_deref(),
                scope: layer(*scope),
                edits: &asks,
            };
            let mut changed = manager.create(&asked)?;
            let readers = manager.readers_of_agent(&changed.file);
            changed.notes.extend(readers_note(&changed.name, readers));
            ("create", *json, changed)
        }
        AgentsCommand::Edit {
            name,
            overriding: true,
            whose,
            ..
        } => {
            let changed = manager.override_fields(name, config_scope(whose), &asks)?;
            ("override", whose.json, changed)
        }
        AgentsCommand::Edit { name, whose, .. } => {
            let scope = whose.scope.map(layer);
            ("edit", whose.json, manager.edit(name, scope, &asks)?)
        }
        AgentsCommand::Rename(asked) => {
            change_report::rename(&mut manager, EntryKind::Agents, asked)?
        }
        AgentsCommand::Delete(asked) => {
            change_report::delete(&mut manager, EntryKind::Agents, &asked.named)?
        }
        AgentsCommand::Enable(NamedArgs { name, whose }) => {
            let changed = manager.enable(name, config_scope(whose))?;
            ("enable", whose.json, changed)
        }
        AgentsCommand::Disable(NamedArgs { name, whose }) => {
            let changed = manager.disable(name, config_scope(whose))?;
            ("disable", whose.json, changed)
        }
        AgentsCommand::Reset(NamedArgs { name, whose }) => {
            let changed = manager.reset(name, config_scope(whose))?;
            ("reset", whose.json, changed)
        }
        // The caller has answered these.
        AgentsCommand::List { .. } | AgentsCommand::Show { .. } | AgentsCommand::Export(_) => {
            return Ok(0);
        }
    };
    change_report::print(environment, "agents", action, &changed, json, out);
    Ok(0)
}

/// Says which programs besides Grove read a new agent's file, and how others get it.
fn readers_note(name: &str, readers: AgentReaders) -> Vec<String> {
    let hosts: Vec<&str> = AgentRules::names().collect();
    if readers == AgentReaders::default() {
        return vec![format!(
            "Grove alone reads this file; `grove agents export {name} --host HOST` writes it for {}",
            hosts.join(", ")
        )];
    }
    let titles = readers.have_it.join(", ");
    let read = (!titles.is_empty()).then(|| format!("read by {titles}"));
    let refused = readers.refuse_it.into_iter();
    let refused = refused.map(|(title, why)| format!("not used by {title}: {why}"));
    read.into_iter().chain(refused).collect()
}

fn in_words(command: &AgentsCommand) -> String {
    let (verb, name) = match command {
        AgentsCommand::Create { name, .. } => ("create", name),
        AgentsCommand::Edit { name, .. } => ("edit", name),
        AgentsCommand::Rename(asked) => ("rename", &asked.name),
        AgentsCommand::Delete(asked) => ("delete", &asked.named.name),
        AgentsCommand::Enable(asked) => ("enable", &asked.name),
        AgentsCommand::Disable(asked) => ("disable", &asked.name),
        AgentsCommand::Reset(asked) => ("reset", &asked.name),
        AgentsCommand::List { .. } | AgentsCommand::Show { .. } | AgentsCommand::Export(_) => {
            return "agents".to_owned();
        }
    };
    format!("agents {verb} {name}")
}

fn asks(environment: &Environment, command: &AgentsCommand) -> Result<Vec<FileEdit>, CommandError> {
    let (asked, unset): (&TypedFields, &[String]) = match command {
        AgentsCommand::Create { asked, .. } => (asked, &[]),
        AgentsCommand::Edit { asked, unset, .. } => (asked, unset),
        _ => return Ok(Vec::new()),
    };
    let fields = asked.fields.iter();
    let mut asks: Vec<FileEdit> = fields
        .map(|(key, value)| FileEdit::Set(key.clone(), value.clone()))
        .collect();
    asks.extend(unset.iter().map(|key| FileEdit::Unset(key.clone())));
    let body = match &asked.body_file {
        Some(file) => Some(read_text(environment, file)?),
        None => asked.body.clone(),
    };
    asks.extend(body.map(FileEdit::Body));
    if asks.is_empty() && matches!(command, AgentsCommand::Edit { .. }) {
        let error = CommandError::usage("there is nothing to change");
        return Err(error.hint("give a field, for example `--model NAME`, or `--body TEXT`"));
    }
    Ok(asks)
}

/// The configuration that is written unless told otherwise is the user's.
fn config_scope(whose: &OwnerArgs) -> LayerScope {
    whose.scope.map_or(LayerScope::User, layer)
}
