//! What was done to an agent or a chain, and the texts that commands take.

use std::io::Read as _;
use std::path::Path;

use grove_catalog::state::{Reason, State};
use grove_skills::Environment;
use grove_skills::managing::{Changed, ManageError};
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;
use serde::Serialize;

use super::tilde;
use crate::args::OwnScope;
use crate::command_error::{CommandError, ErrorKind};
use crate::json::DiagnosticJson;
use crate::output::Output;

/// The largest text that is taken.
const MAX_TEXT: u64 = 1_000_000;

/// Reads a file that somebody named, or standard input for `-`.
pub(super) fn read_text(environment: &Environment, file: &Path) -> Result<String, CommandError> {
    let refuse = |message: String| CommandError::new(ErrorKind::Usage, message);
    let bytes = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(MAX_TEXT + 1).read_to_end(&mut bytes);
        read.map_err(|error| refuse(format!("could not read standard input: {error}")))?;
        bytes
    } else {
        let file = super::absolute(file, environment);
        let read = grove_fs::files::read_bounded(&file, MAX_TEXT);
        read.map_err(|error| refuse(format!("{error}: {}", error.source)))?
    };
    if bytes.len() as u64 > MAX_TEXT {
        return Err(refuse(format!("the text is larger than {MAX_TEXT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| refuse("the text is not UTF-8".to_owned()))
}

pub(super) fn layer(scope: OwnScope) -> LayerScope {
    match scope {
        OwnScope::User => LayerScope::User,
        OwnScope::Project => LayerScope::Project,
    }
}

/// Prints what was done to one of `kind`.
pub(super) fn print(
    environment: &Environment,
    kind: &str,
    action: &'static str,
    changed: &Changed,
    json: bool,
    out: &mut Output,
) {
    if json {
        out.json(&ChangeJson::new(kind, action, changed));
        return;
    }
    let file = tilde(&changed.file, environment);
    let name = one_line(&changed.name);
    let expected = match action {
        "disable" => State::Disabled,
        _ => State::Ok,
    };
    let is_as_asked = changed.state.is_none_or(|state| state == expected);
    let done = match (action, changed.changed) {
        (_, false) => format!("unchanged {file}"),
        ("create", _) => format!("created {file}"),
        ("delete", _) => format!("deleted {file}"),
        ("rename", _) => {
            let previous = changed.previous.as_ref();
            let previous = previous.map_or_else(|| file.clone(), |path| tilde(path, environment));
            format!("renamed {previous} to {file}")
        }
        ("enable" | "disable", _) if !is_as_asked => format!("changed {file}"),
        ("edit", _) => format!("changed {file}"),
        ("enable", _) => format!("switched on {name} in {file}"),
        ("disable", _) => format!("switched off {name} in {file}"),
        ("reset", _) => format!("took back what {file} says about {name}"),
        (_, true) => format!("overrode {name} in {file}"),
    };
    out.line(&done);
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
    schema: String,
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
    fn new(kind: &str, action: &'static str, changed: &'a Changed) -> Self {
        let shown = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        Self {
            schema: format!("grove.{kind}.change/1"),
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
            ManageError::Name(_)
            | ManageError::Package(_)
            | ManageError::Reserved { .. }
            | ManageError::Field { .. } => ErrorKind::Usage,
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
