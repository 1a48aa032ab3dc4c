//! What is said when a name leads to no skill or to several.

use grove_catalog::address;
use grove_catalog::snapshot::Snapshot;

use crate::args::Look;
use crate::command_error::{CommandError, ErrorKind};

/// Several skills bear a name: the commands that tell them apart.
pub(super) fn ambiguous(
    snapshot: &Snapshot,
    command: &str,
    flags: &Look,
    name: &str,
    all: &[usize],
) -> CommandError {
    let mut error = CommandError::new(
        ErrorKind::Finding,
        format!("{} skills are called `{name}`", all.len()),
    );
    for skill in all.iter().filter_map(|at| snapshot.skills.get(*at)) {
        error = error.hint(command_for(command, &snapshot.address(skill), flags));
    }
    error
}

/// A command with an address, looking where this one looked.
pub(super) fn command_for(command: &str, address: &str, flags: &Look) -> String {
    let mut words = vec![command.to_owned()];
    for root in &flags.roots {
        words.push(format!("--root {}", quoted(&root.to_string_lossy())));
    }
    words.extend(flags.host.as_ref().map(|host| format!("--host {host}")));
    words.extend(flags.all.then(|| "--all".to_owned()));
    words.extend(address.starts_with('-').then(|| "--".to_owned()));
    words.push(quoted(address));
    words.join(" ")
}

/// A word as a shell takes it unchanged.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Nothing bears a name: what is near, or that it was not read.
pub(super) fn unknown(snapshot: &Snapshot, name: &str, near: &[String]) -> CommandError {
    if let Some(reason) = address::unread(snapshot, name) {
        return CommandError::new(ErrorKind::Finding, reason.message).hint(reason.fix);
    }
    let error = CommandError::new(ErrorKind::Finding, format!("no skill is called `{name}`"));
    if near.is_empty() {
        error.hint("`grove skills list` lists them all")
    } else {
        error.hint(format!("did you mean `{}`?", near.join("`, `")))
    }
}
