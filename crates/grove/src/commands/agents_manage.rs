//! `grove agents create | edit | rename | delete | enable | disable | reset`.

use std::io::Read as _;

use grove_catalog::state::{Reason, State};
use grove_skills::Environment;
use grove_skills::managing::{Changed, Created, ManageError, Manager, OverrideAsk, Renaming};
use grove_spec::agent::compose::Ask;
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;
use serde::Serialize;

use super::{Outcome, tilde};
use crate::args::{AgentsCommand, AskedFields, OwnScope};
use crate::command_error::{CommandError, ErrorKind};
use crate::json::DiagnosticJson;
use crate::output::Output;

/// The largest text of an agent that is taken.
const MAX_BODY: u64 = 1_000_000;

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
        AgentsCommand::List { .. } | AgentsCommand::Show { .. } => return Ok(0),
    };
    print(environment, action, &changed, json, out);
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
    let refuse = |message: String| CommandError::new(ErrorKind::Usage, message);
    let bytes = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(MAX_BODY + 1).read_to_end(&mut bytes);
        read.map_err(|error| refuse(format!("could not read standard input: {error}")))?;
        bytes
    } else {
        let file = super::absolute(file, environment);
        let read = grove_fs::files::read_bounded(&file, MAX_BODY);
        read.map_err(|error| refuse(format!("{error}: {}", error.source)))?
    };
    if bytes.len() as u64 > MAX_BODY {
        return Err(refuse(format!("the text is larger than {MAX_BODY} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("the text is not UTF-8".to_owned()))?;
    Ok(Some(text))
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

fn layer(scope: OwnScope) -> LayerScope {
    match scope {
        OwnScope::User => LayerScope::User,
        OwnScope::Project => LayerScope::Project,
    }
}

/// The configuration that is written unless told otherwise is the user's.
fn config_scope(scope: Option<OwnScope>) -> LayerScope {
    scope.map_or(LayerScope::User, layer)
}

fn print(
    environment: &Environment,
    action: &'static str,
    changed: &Changed,
    json: bool,
    out: &mut Output,
) {
    if json {
        out.json(&ChangeJson::new(action, changed));
        return;
    }
    let file = tilde(&changed.file, environment);
    let name = one_line(&changed.name);
    let done = match (action, changed.changed) {
        (_, false) => format!("unchanged {file}"),
        ("create", _) => format!("created {file}"),
        ("delete", _) => format!("deleted {file}"),
        ("rename", _) => {
            let previous = changed.previous.as_ref();
            let previous = previous.map_or_else(|| file.clone(), |path| tilde(path, environment));
            format!("renamed {previous} to {file}")
        }
        ("edit", _) => format!("changed {file}"),
        ("enable", _) => format!("switched on {name} in {file}"),
        ("disable", _) => format!("switched off {name} in {file}"),
        ("reset", _) => format!("took back what {file} says about {name}"),
        (_, true) => format!("overrode {name} in {file}"),
    };
    out.line(&done);
    let expected = match action {
        "disable" => State::Disabled,
        _ => State::Ok,
    };
    if let Some(state) = changed.state.filter(|state| *state != expected) {
        out.note(&format!("{name} is {}", state.as_str()));
        for reason in &changed.reasons {
            out.note(&one_line(&format!("  {}; {}", reason.message, reason.fix)));
        }
    }
    for note in &changed.notes {
        out.note(&format!("note: {note}"));
    }
    for warning in &changed.warnings {
        out.diagnostic(warning);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeJson<'a> {
    schema: &'static str,
    action: &'static str,
    name: &'a str,
    scope: &'static str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_file: Option<String>,
    changed: bool,
    state: Option<&'static str>,
    reasons: &'a [Reason],
    notes: &'a [String],
    warnings: Vec<DiagnosticJson<'a>>,
}

impl<'a> ChangeJson<'a> {
    fn new(action: &'static str, changed: &'a Changed) -> Self {
        let shown = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        Self {
            schema: "grove.agents.change/1",
            action,
            name: &changed.name,
            scope: match changed.scope {
                LayerScope::User => "user",
                LayerScope::Project => "project",
            },
            file: shown(&changed.file),
            previous_file: changed.previous.as_ref().map(shown),
            changed: changed.changed,
            state: changed.state.map(State::as_str),
            reasons: &changed.reasons,
            notes: &changed.notes,
            warnings: DiagnosticJson::list(&changed.warnings),
        }
    }
}

impl From<ManageError> for CommandError {
    fn from(error: ManageError) -> Self {
        let kind = match &error {
            ManageError::Name(_) | ManageError::Package(_) | ManageError::Field { .. } => {
                ErrorKind::Usage
            }
            ManageError::Fs(_) => ErrorKind::Internal,
            _ => ErrorKind::Finding,
        };
        let hints = error.hints();
        match error {
            ManageError::Fs(error) => error.into(),
            other => hints
                .into_iter()
                .fold(Self::new(kind, other.to_string()), Self::hint),
        }
    }
}
