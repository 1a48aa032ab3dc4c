//! `grove undo`: the last change to a person's files taken back.

use grove_fs::undo::{LastChange, UndoError};
use grove_skills::Environment;
use serde_json::json;

use super::{Outcome, path_text, tilde};
use crate::command_error::CommandError;
use crate::output::Output;

pub(super) fn run(environment: &Environment, json: bool, out: &mut Output) -> Outcome {
    let Some(last) = LastChange::find(&environment.state)? else {
        return Err(CommandError::finding("there is nothing to undo"));
    };
    let command = last.command().to_owned();
    let files = last.undo().map_err(|error| refused(error, &command))?;
    if json {
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        out.json(&json!({ "schema": "grove.undo/1", "command": command, "files": files }));
        return Ok(0);
    }
    for file in &files {
        out.line(&tilde(file, environment));
    }
    let command = path_text(&command);
    out.note(&match files.len() {
        0 => format!("`grove {command}` has already been undone"),
        _ => format!("undid `grove {command}`"),
    });
    Ok(0)
}

fn refused(error: UndoError, command: &str) -> CommandError {
    let hint = match &error {
        UndoError::ChangedSince(_) => format!(
            "`grove {}` was not undone and nothing was changed: check the file, or restore it yourself",
            path_text(command)
        ),
        _ => return error.into(),
    };
    CommandError::from(error).hint(hint)
}
