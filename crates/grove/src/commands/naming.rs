//! Errors for a name that leads to no skill or to several.

use std::path::{Path, PathBuf};

use grove_catalog::address;
use grove_catalog::snapshot::Snapshot;
use grove_skills::{DiscoveryRequest, DiscoveryView};

use super::{entry_listing, path_text, unread};
use crate::args::DiscoveryArgs;
use crate::command_error::CommandError;

/// The error if several skills bear a name, with the commands that tell them apart.
pub(super) fn ambiguous(
    snapshot: &Snapshot,
    command: &str,
    flags: &DiscoveryArgs,
    name: &str,
    all: &[usize],
) -> CommandError {
    let mut error = CommandError::finding(format!("{} skills are called `{name}`", all.len()));
    for skill in all.iter().filter_map(|at| snapshot.skills.get(*at)) {
        error = error.hint(command_for(command, &snapshot.address(skill), flags));
    }
    error
}

/// A command with an address, looking where this one looked.
pub(super) fn command_for(command: &str, address: &str, flags: &DiscoveryArgs) -> String {
    let host = flags.host.as_deref();
    let mut words = vec![with_flags(command, &flags.roots, host, flags.all)];
    words.extend(address.starts_with('-').then(|| "--".to_owned()));
    words.push(quoted(address));
    words.join(" ")
}

pub(super) fn command_with_flags(command: &str, request: &DiscoveryRequest) -> String {
    match &request.view {
        DiscoveryView::Own => with_flags(command, &[], None, request.all),
        DiscoveryView::Folders(folders) => with_flags(command, folders, None, request.all),
        DiscoveryView::Host(host) => with_flags(command, &[], Some(host), request.all),
    }
}

fn with_flags(command: &str, roots: &[PathBuf], host: Option<&str>, all: bool) -> String {
    let mut words = vec![command.to_owned()];
    for root in roots {
        words.push(format!("--root {}", quoted(&root.to_string_lossy())));
    }
    words.extend(host.map(|host| format!("--host {host}")));
    words.extend(all.then(|| "--all".to_owned()));
    words.join(" ")
}

/// A known host as it is written, however it was typed.
pub(super) fn known_host(
    name: &str,
    which: &str,
    known: impl Iterator<Item = &'static str>,
) -> Result<&'static str, CommandError> {
    let known: Vec<&str> = known.collect();
    let host = known.iter().find(|host| host.eq_ignore_ascii_case(name));
    host.copied().ok_or_else(|| {
        unknown_word("host", name, &known).hint(format!("{which}: {}", known.join(", ")))
    })
}

pub(super) fn unknown_word(what: &str, word: &str, known: &[&str]) -> CommandError {
    let error = CommandError::usage(format!("unknown {what} `{word}`"));
    let near = address::near_names(known.iter().copied(), word);
    if near.is_empty() {
        error
    } else {
        error.hint(format!("did you mean `{}`?", near.join("`, `")))
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub(super) fn unknown(snapshot: &Snapshot, name: &str, near: &[String]) -> CommandError {
    if let Some(reason) = address::unread(snapshot, name) {
        return CommandError::finding(reason.message).hint(reason.fix);
    }
    let error = CommandError::finding(format!("no skill is called `{name}`"));
    let error = error.hint(entry_listing::hint_for(near, "skill"));
    error.hints(unread::roots(snapshot).map(|finding| {
        let folder = finding.file.as_deref().unwrap_or_else(|| Path::new(""));
        let folder = path_text(&folder.to_string_lossy());
        format!("{folder} was not read: {}", finding.message)
    }))
}
