//! What was done to a skill, an agent or a chain, and the texts that commands take.

use std::path::Path;

use grove_catalog::state::State;
use grove_skills::Environment;
use grove_skills::managing::{Changed, Manager, Renaming};
use grove_spec::config::LayerScope;
use grove_spec::package::Kind;
use grove_spec::text::one_line;
use serde_json::{Value, json};

use super::{agreed, input_text, tilde};
use crate::args::{DeleteArgs, NamedArgs, OwnScope, RenameArgs};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, without_empty};
use crate::output::Output;

/// The largest text that is taken.
const MAX_TEXT: u64 = 1_000_000;

/// Reads a file that somebody named, or standard input for `-`.
pub(super) fn read_text(environment: &Environment, file: &Path) -> Result<String, CommandError> {
    input_text::read(environment, file, MAX_TEXT, "the text").map(|read| read.text)
}

pub(super) fn layer(scope: OwnScope) -> LayerScope {
    match scope {
        OwnScope::User => LayerScope::User,
        OwnScope::Project => LayerScope::Project,
    }
}

/// What a command did: its word, whether JSON is wanted, and what changed.
pub(super) type Done = (&'static str, bool, Changed);

/// Gives a skill, an agent or a chain another name.
pub(super) fn rename(
    manager: &mut Manager,
    kind: Kind,
    asked: &RenameArgs,
) -> Result<Done, CommandError> {
    let changed = manager.rename(
        kind,
        &Renaming {
            name: &asked.name,
            to: &asked.to,
            package: asked.package.as_deref(),
            scope: asked.whose.scope.map(layer),
        },
    )?;
    Ok(("rename", asked.whose.json, changed))
}

/// Asks before something is deleted that is there and may be; nothing is locked while somebody thinks.
pub(super) fn may_delete(
    environment: &Environment,
    kind: Kind,
    asked: &DeleteArgs,
    out: &mut Output,
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
    kind: Kind,
    asked: &NamedArgs,
) -> Result<Done, CommandError> {
    let scope = asked.whose.scope.map(layer);
    let changed = manager.delete(kind, &asked.name, scope)?;
    Ok(("delete", asked.whose.json, changed))
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
        out.json(&to_json(kind, action, changed));
        return;
    }
    let file = tilde(&changed.file, environment);
    let name = one_line(&changed.name);
    let expected = match action {
        "disable" => State::Disabled,
        _ => State::Ok,
    };
    // Of two of one name Grove uses one, and the copy is for somebody else.
    let is_expected =
        |state: State| state == expected || (action == "copy" && state == State::Shadowed);
    let is_as_asked = changed.state.is_none_or(is_expected);
    let done = match (action, changed.changed) {
        (_, false) => format!("unchanged {file}"),
        ("create", _) => format!("created {file}"),
        ("copy", _) => format!("copied to {file}"),
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
        ("reset", _) => format!("removed what {file} says about {name}"),
        (_, true) => format!("overrode {name} in {file}"),
    };
    out.line(&done);
    if action == "delete" {
        out.note("`grove undo` takes it back");
    }
    if let Some(state) = changed.state.filter(|state| !is_expected(*state)) {
        out.note(&format!("{name} is {}", state.in_words()));
        for reason in &changed.reasons {
            out.note(&one_line(&format!("  {}; {}", reason.message, reason.fix)));
        }
    }
    for note in &changed.notes {
        out.note(&format!("note: {note}"));
    }
    out.diagnostics(&changed.warnings);
}

fn to_json(kind: &str, action: &str, changed: &Changed) -> Value {
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
        "state": changed.state.map(State::as_str),
        "reasons": changed.reasons,
        "notes": changed.notes,
        "warnings": DiagnosticJson::list(&changed.warnings),
    });
    without_empty(all, &["previousFile"])
}
