//! One named step of a longer command, with its deadline.

use std::process::Command;
use std::time::Duration;

use crate::process::{self, Finished};

/// Runs `command` with its output shown as it comes.
pub fn show(what: &str, command: &mut Command, limit: Duration) -> Result<(), String> {
    process::stream(command, limit)
        .map_err(|error| format!("cannot start {what}: {error}"))?
        .require_success(what)
        .map(drop)
}

/// Runs `command` silently; its error output becomes part of the error.
pub fn quiet(what: &str, command: &mut Command, limit: Duration) -> Result<Finished, String> {
    process::capture(command, limit)
        .map_err(|error| format!("cannot start {what}: {error}"))?
        .require_success(what)
}
