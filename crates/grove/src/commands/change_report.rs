//! Reports of changes to a skill, an agent or a chain, and the texts that commands take.

use std::path::Path;

use grove_catalog::state::EntryState;
use grove_engine::ChangeWords;
use grove_skills::Environment;
use grove_skills::managing::{ChangeReport, Manager, RenameRequest};
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use serde_json::{Value, json};

use super::{agreed, input_text, tilde};
use crate::args::{DeleteArgs, NamedArgs, OwnScope, RenameArgs};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, without_empty};
use crate::output::CommandOutput;

const MAX_TEXT: u64 = 1_000_000;

/// Reads a file that was named, or standard input for `-`.
pub(super) fn read_text(environment: &Environment, file: &Path) -> Result<String, CommandError> {
    input_text::read(environment, file, MAX_TEXT, "the text").map(|read| read.text)
}

pub(super) fn layer(scope: OwnScope) -> LayerScope {
    match scope {
        OwnScope::User => LayerScope::User,
        OwnScope::Project => LayerScope::Project,
    }
}

/// The outcome of a command: its word, whether JSON is wanted, and what changed.
pub(super) type Done = (&'static str, bool, ChangeReport);

/// Gives a skill, an agent or a chain another name.
pub(super) fn rename(
    manager: &mut Manager,
    kind: EntryKind,
    asked: &RenameArgs,
) -> Result<Done, CommandError> {
    let changed = manager.rename(
        kind,
        &RenameRequest {
            name: &asked.name,
            to: &asked.to,
            package: asked.package.as_deref(),
            scope: asked.whose.scope.map(layer),
        },
    )?;
    Ok(("rename", asked.whose.json, changed))
}

/// Asks before something is deleted that is there and may be; nothing is locked while the person thinks.
pub(super) fn may_delete(
    environment: &Environment,
    kind: EntryKind,
    asked: &DeleteArgs,
    out: &mut CommandOutput,
) -> Result<bool, CommandError> {
    if asked.yes {
        return Ok(true);
    }
    let NamedArgs { name, whose } = &asked.named;
    let manager = Manager::new(environment, "")?;
    let file = manager.deletes(kind, name, whose.scope.map(layer))?;
    drop(manager);
    agreed(
        &format!("delete {}?", tilde(&file, environment)),
        false,
        out,
    )
}

/// Deletes the file of an agent or a chain, or the folder of a skill.
pub(super) fn delete(
    manager: &mut Manager,
    kind: EntryKind,
    asked: &NamedArgs,
) -> Result<Done, CommandError> {
    let scope = asked.whose.scope.map(layer);
    let changed = manager.delete(kind, &asked.name, scope)?;
    Ok(("delete", asked.whose.json, changed))
}

pub(super) fn print(
    environment: &Environment,
    kind: &str,
    action: &'static str,
    changed: &ChangeReport,
    json: bool,
    out: &mut CommandOutput,
) {
    if json {
        out.json(&to_json(kind, action, changed));
        return;
    }
    let shown = |path: &Path| tilde(path, environment);
    let words = ChangeWords::of(action, changed, &shown);
    out.line(&words.done);
    for note in &words.notes {
        out.note(note);
    }
    out.diagnostics(&changed.warnings);
}

fn to_json(kind: &str, action: &str, changed: &ChangeReport) -> Value {
    let all = json!({
        "schema": format!("grove.{kind}.change/1"),
        "action": action,
        "name": changed.name,
        "scope": match changed.scope {
            LayerScope::User => "user",
            LayerScope::Project => "project",
        },
        "file": changed.file.to_string_lossy(),
        "previousFile": changed.previous.as_deref().map(Path::to_string_lossy),
        "changed": changed.changed,
        "state": changed.state.map(EntryState::as_str),
        "reasons": changed.reasons,
        "notes": changed.notes,
        "warnings": DiagnosticJson::list(&changed.warnings),
    });
    without_empty(all, &["previousFile"])
}
