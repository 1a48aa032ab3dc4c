//! `grove watch`: one line of JSON for what there is, and one for each change.

use std::time::Duration;

use grove_catalog::snapshot::Snapshot;
use grove_skills::Environment;
use grove_skills::live::{Cause, LiveLibrary, Update};
use grove_spec::Diagnostic;
use serde::Serialize;

use super::Outcome;
use crate::args::Look;
use crate::command_error::{CommandError, ErrorKind};
use crate::json::{DiagnosticJson, StateCounts, count_states};
use crate::output::{self, Output};

/// How often it looks whether anybody still reads.
const READER_CHECK: Duration = Duration::from_millis(500);

#[derive(Serialize)]
struct WatchJson<'a> {
    schema: &'static str,
    version: u64,
    digest: String,
    skills: usize,
    states: StateCounts,
    added: &'a [String],
    removed: &'a [String],
    changed: &'a [String],
    why: Vec<CauseJson>,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

#[derive(Serialize)]
struct CauseJson {
    what: &'static str,
    path: Option<String>,
}

impl From<&Cause> for CauseJson {
    fn from(cause: &Cause) -> Self {
        let path = cause.path.as_deref();
        Self {
            what: cause.what.as_str(),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

pub(super) fn run(environment: Environment, look: &Look, out: &mut Output) -> Outcome {
    let request = super::request(&environment, look, None)?;
    let live = LiveLibrary::start(environment, request);
    let mut subscription = live.subscribe();
    let first = WatchJson {
        why: vec![CauseJson {
            what: "start",
            path: None,
        }],
        ..line(subscription.base(), &subscription.base().diagnostics)
    };
    let mut is_read = write(out, &first)?;
    while is_read {
        if let Some(update) = subscription.next(READER_CHECK) {
            is_read = write(out, &line_of(&update))?;
        } else {
            is_read = !output::reader_is_gone();
        }
    }
    Ok(0)
}

fn line<'a>(snapshot: &Snapshot, diagnostics: &'a [Diagnostic]) -> WatchJson<'a> {
    WatchJson {
        schema: "grove.watch/1",
        version: snapshot.version,
        digest: snapshot.digest.to_string(),
        skills: snapshot.skills.len(),
        states: count_states(snapshot.skills.iter()),
        added: &[],
        removed: &[],
        changed: &[],
        why: Vec::new(),
        diagnostics: DiagnosticJson::list(diagnostics),
    }
}

fn line_of(update: &Update) -> WatchJson<'_> {
    WatchJson {
        added: &update.added,
        removed: &update.removed,
        changed: &update.changed,
        why: update.why.iter().map(CauseJson::from).collect(),
        ..line(&update.snapshot, &update.findings)
    }
}

/// Writes a line at once; says whether anybody reads.
fn write(out: &mut Output, line: &WatchJson<'_>) -> Result<bool, CommandError> {
    match out.json_line(line) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::new(
            ErrorKind::Internal,
            format!("could not write the output: {error}"),
        )),
    }
}
