//! `grove undo` and `grove redo`: the last change to a person's files taken back, and made again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_engine::{Git, passed_on};
use grove_fs::files;
use grove_fs::undo::{StagedEntries, UndoError, UndoableChange, remembered};
use grove_skills::Environment;
use grove_skills::trusting::{self, WrittenFile};
use serde_json::json;

use super::{Outcome, agreed, counted, path_text, tilde};
use crate::args::UndoArgs;
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::{CommandOutput, page};
use crate::table::Table;

/// The most bytes of a file that trust can pin.
const MAX_TRUSTED: u64 = 1 << 20;

/// The commands whose effect is not in a file that is put back.
const NOT_UNDONE_HERE: &str =
    "`grove untrust` takes back `grove trust`, and `grove runs stop` ends a run";

/// The direction of a change: taken back, or made again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UndoDirection {
    Undo,
    Redo,
}

impl UndoDirection {
    const fn verb(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }

    fn find(self, state: &Path) -> Result<Option<UndoableChange>, UndoError> {
        match self {
            Self::Undo => UndoableChange::last(state),
            Self::Redo => UndoableChange::last_undone(state),
        }
    }
}

pub(super) fn run(
    environment: &Environment,
    arguments: &UndoArgs,
    direction: UndoDirection,
    out: &mut CommandOutput,
) -> Outcome {
    if arguments.list {
        return list(environment, arguments.json, out);
    }
    let Some(change) = direction.find(&environment.state)? else {
        let message = format!("there is nothing to {}", direction.verb());
        let refused = CommandError::finding(message);
        return Err(match direction {
            UndoDirection::Undo => refused.hint(NOT_UNDONE_HERE),
            UndoDirection::Redo => refused,
        });
    };
    let command = change.command().to_owned();
    let age = change.age();
    let git = Git::new(passed_on(environment));
    let files = change.check().map_err(|error| refused(error, &command))?;
    require_staged_as_left(&git, change.staged(), &command)?;
    if !arguments.dry_run {
        let question = question(&change).filter(|_| direction == UndoDirection::Undo);
        if let Some(question) = question
            && !agreed(&question, arguments.yes, out)?
        {
            return Ok(ErrorKind::Finding.exit_code());
        }
        let before = contents(&files);
        take_back(change, &git)?;
        keep_trust(environment, &files, &before);
    }
    if arguments.json {
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        out.json(&json!({
            "schema": "grove.undo/1",
            "command": command,
            "ageSeconds": age.as_secs(),
            "files": files,
            "done": !arguments.dry_run,
        }));
        return Ok(0);
    }
    for file in &files {
        out.line(&tilde(file, environment));
    }
    let (verb, command, age) = (direction.verb(), path_text(&command), ago(age));
    out.note(&match (files.len(), direction) {
        _ if arguments.dry_run => {
            format!("would {verb} `grove {command}` ({age}); nothing was changed")
        }
        (0, UndoDirection::Undo) => format!("`grove {command}` has already been undone"),
        (0, UndoDirection::Redo) => format!("`grove {command}` has already been redone"),
        (_, UndoDirection::Undo) => {
            format!("undid `grove {command}` ({age}); `grove redo` makes the change again")
        }
        (_, UndoDirection::Redo) => format!("redid `grove {command}`"),
    });
    Ok(0)
}

/// The question where the last command changed nothing, so that the last change is an older one.
fn question(change: &UndoableChange) -> Option<String> {
    let since = path_text(&change.unchanged_since()?);
    let (command, age) = (path_text(change.command()), ago(change.age()));
    Some(format!(
        "`grove {since}` changed nothing that could be undone; the last change is `grove {command}` ({age}): undo that?"
    ))
}

/// Puts back the files, then what was staged; only then the change counts as taken back.
fn take_back(change: UndoableChange, git: &Git) -> Result<(), CommandError> {
    let put_back = change.put_back();
    put_back.map_err(|error| refused(error, change.command()))?;
    for staged in change.staged() {
        git.stage_entries(&staged.repository, &staged.paths, &staged.before)
            .map_err(CommandError::internal)?;
    }
    Ok(change.forget()?)
}

/// Reads the files of a change; none where there is no file.
fn contents(files: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    let read = |file: &PathBuf| files::read_bounded(file, MAX_TRUSTED).ok();
    files.iter().map(read).collect()
}

/// Lets a trusted project stay trusted with what is as it was again.
fn keep_trust(environment: &Environment, files: &[PathBuf], before: &[Option<Vec<u8>>]) {
    for ((path, before), after) in files.iter().zip(before).zip(contents(files)) {
        let written = WrittenFile {
            path,
            before: before.as_deref(),
            after: after.as_deref(),
        };
        // Where it cannot, the file counts as changed, and that is said of it.
        let _ = trusting::keep_written(environment, &written);
    }
}

/// Refuses a change after which something else was staged for its files.
fn require_staged_as_left(
    git: &Git,
    all: &[StagedEntries],
    command: &str,
) -> Result<(), CommandError> {
    for staged in all {
        let now = git.staged_entries(&staged.repository, &staged.paths);
        let now = now.map_err(CommandError::internal)?;
        if now != staged.after && now != staged.before {
            let message = format!(
                "what is staged in {} was changed since",
                staged.repository.display()
            );
            return Err(CommandError::finding(message).hint(not_undone(command)));
        }
    }
    Ok(())
}

fn list(environment: &Environment, json: bool, out: &mut CommandOutput) -> Outcome {
    let all = remembered(&environment.state)?;
    if json {
        let changes = all.iter().map(|change| {
            json!({
                "command": change.command,
                "ageSeconds": change.age.as_secs(),
                "files": change.files,
            })
        });
        let changes: Vec<_> = changes.collect();
        out.json(&json!({ "schema": "grove.undo.list/1", "changes": changes }));
        return Ok(0);
    }
    if all.is_empty() {
        out.note("there is nothing to undo");
        return Ok(0);
    }
    let mut table = Table::new(&["WHEN", "FILES", "COMMAND"]).with_numbers(1..2);
    for change in &all {
        let command = format!("grove {}", path_text(&change.command));
        table.row(&[&ago(change.age), &change.files.to_string(), &command]);
    }
    out.painted(&table.render(page(&environment.variables)));
    Ok(0)
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..1_440 => (minutes / 60, "hour"),
        _ => (minutes / 1_440, "day"),
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    format!("{} ago", counted(count, unit))
}

fn refused(error: UndoError, command: &str) -> CommandError {
    match error {
        UndoError::ChangedSince(_) => CommandError::from(error).hint(not_undone(command)),
        _ => error.into(),
    }
}

fn not_undone(command: &str) -> String {
    let command = path_text(command);
    format!(
        "`grove {command}` was left as it is and nothing was changed: check the file, or restore it yourself"
    )
}
