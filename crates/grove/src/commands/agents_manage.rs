//! `grove agents create | edit | rename | delete | enable | disable | reset`.

use grove_skills::Environment;
use grove_skills::managing::{Created, Manager, OverrideAsk, Renaming};
use grove_spec::agent::compose::Ask;
use grove_spec::config::LayerScope;

use super::Outcome;
use super::changed::{self, layer, read_text};
use crate::args::{AgentsCommand, AskedFields, OwnScope};
use crate::command_error::{CommandError, ErrorKind};
use crate::output::Output;

pub(super) fn run(environment: &Environment, command: &AgentsCommand, out: &mut Output) -> Outcome {
    let (action, json) = told(command);
    let asks = asks(environment, command)?;
    let mut manager = Manager::new(environment)?;
    let changed = match command {
        AgentsCommand::Create {
            name,
            package,
            scope,
            ..
        } => manager.create(&Created {
            name,
            package: package.as_deref(),
            scope: layer(*scope),
            asks: &asks,
        })?,
        AgentsCommand::Edit {
            name,
            overriding: true,
            whose,
            ..
        } => manager.override_fields(name, config_scope(whose.scope), &overrides(asks))?,
        AgentsCommand::Edit { name, whose, .. } => {
            manager.edit(name, whose.scope.map(layer), &asks)?
        }
        AgentsCommand::Rename {
            name,
            to,
            package,
            whose,
        } => manager.rename(&Renaming {
            name,
            to,
            package: package.as_deref(),
            scope: whose.scope.map(layer),
        })?,
        AgentsCommand::Delete { name, whose } => manager.delete(name, whose.scope.map(layer))?,
        AgentsCommand::Enable { name, whose } => manager.enable(name, config_scope(whose.scope))?,
        AgentsCommand::Disable { name, whose } => {
            manager.disable(name, config_scope(whose.scope))?
        }
        AgentsCommand::Reset { name, whose } => manager.reset(name, config_scope(whose.scope))?,
        // Whoever calls this has answered these.
        AgentsCommand::List { .. } | AgentsCommand::Show { .. } | AgentsCommand::Export(_) => {
            return Ok(0);
        }
    };
    changed::print(environment, "agents", action, &changed, json, out);
    Ok(0)
}

/// What a command does, in one word, and whether JSON is wanted.
fn told(command: &AgentsCommand) -> (&'static str, bool) {
    match command {
        AgentsCommand::Create { json, .. } => ("create", *json),
        AgentsCommand::Edit {
            overriding: true,
            whose,
            ..
        } => ("override", whose.json),
        AgentsCommand::Edit { whose, .. } => ("edit", whose.json),
        AgentsCommand::Rename { whose, .. } => ("rename", whose.json),
        AgentsCommand::Delete { whose, .. } => ("delete", whose.json),
        AgentsCommand::Enable { whose, .. } => ("enable", whose.json),
        AgentsCommand::Disable { whose, .. } => ("disable", whose.json),
        AgentsCommand::Reset { whose, .. } => ("reset", whose.json),
        AgentsCommand::List { json, .. } | AgentsCommand::Show { json, .. } => ("", *json),
        AgentsCommand::Export(_) => ("", false),
    }
}

fn asks(environment: &Environment, command: &AgentsCommand) -> Result<Vec<Ask>, CommandError> {
    let (asked, unset): (&AskedFields, &[String]) = match command {
        AgentsCommand::Create { asked, .. } => (asked, &[]),
        AgentsCommand::Edit { asked, unset, .. } => (asked, unset),
        _ => return Ok(Vec::new()),
    };
    let fields = asked.fields.iter();
    let mut asks: Vec<Ask> = fields
        .map(|(key, value)| Ask::Set(key.clone(), value.clone()))
        .collect();
    asks.extend(unset.iter().map(|key| Ask::Unset(key.clone())));
    if let Some(body) = body(environment, asked)? {
        asks.push(Ask::Body(body));
    }
    if asks.is_empty() && matches!(command, AgentsCommand::Edit { .. }) {
        let error = CommandError::new(ErrorKind::Usage, "nothing is to be changed");
        return Err(error.hint("give a field, for example `--model NAME`, or `--body TEXT`"));
    }
    Ok(asks)
}

fn body(environment: &Environment, asked: &AskedFields) -> Result<Option<String>, CommandError> {
    let Some(file) = &asked.body_file else {
        return Ok(asked.body.clone());
    };
    read_text(environment, file).map(Some)
}

/// The same as fields of an override; an agent's text is one of them.
fn overrides(asks: Vec<Ask>) -> Vec<OverrideAsk> {
    let asks = asks.into_iter();
    asks.map(|ask| match ask {
        Ask::Set(key, value) => OverrideAsk::Set(key, value),
        Ask::Unset(key) => OverrideAsk::Unset(key),
        Ask::Body(text) => OverrideAsk::Set("systemPrompt".to_owned(), text),
    })
    .collect()
}

/// The configuration that is written unless told otherwise is the user's.
fn config_scope(scope: Option<OwnScope>) -> LayerScope {
    scope.map_or(LayerScope::User, layer)
}
