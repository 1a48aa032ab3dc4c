//! `grove watch`: one line of JSON for what there is, and one for each change.

use std::path::Path;
use std::time::Duration;

use grove_catalog::snapshot::Snapshot;
use grove_skills::Environment;
use grove_skills::live::{LiveLibrary, ReloadCause};
use grove_spec::Diagnostic;
use serde_json::{Value, json};

use super::Outcome;
use crate::args::DiscoveryArgs;
use crate::json::{DiagnosticJson, count_states};
use crate::output::{self, CommandOutput};

const READER_CHECK: Duration = Duration::from_millis(500);

pub(super) fn run(
    environment: Environment,
    discovery: &DiscoveryArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let request = super::request(&environment, discovery, None)?;
    let live = LiveLibrary::start(environment, request);
    let mut subscription = live.subscribe();
    let base = subscription.base();
    let start = json!([{ "what": "start", "path": null }]);
    out.json_line(&to_json(base, [&[], &[], &[]], &start, &base.diagnostics));
    let mut is_read = out.flush();
    while is_read {
        if let Some(update) = subscription.next(READER_CHECK) {
            let lists = [&update.added, &update.removed, &update.changed].map(Vec::as_slice);
            let why = update.why.iter().map(cause_json).collect();
            out.json_line(&to_json(&update.snapshot, lists, &why, &update.findings));
            is_read = out.flush();
        } else {
            is_read = !output::reader_is_gone();
        }
    }
    Ok(0)
}

fn cause_json(cause: &ReloadCause) -> Value {
    let path = cause.path.as_deref();
    json!({ "what": cause.what.as_str(), "path": path.map(Path::to_string_lossy) })
}

fn to_json(
    snapshot: &Snapshot,
    [added, removed, changed]: [&[String]; 3],
    why: &Value,
    diagnostics: &[Diagnostic],
) -> Value {
    json!({
        "schema": "grove.watch/1",
        "version": snapshot.version,
        "digest": snapshot.skills_digest.to_string(),
        "skills": snapshot.skills.len(),
        "states": count_states(snapshot.skills.iter()),
        "added": added,
        "removed": removed,
        "changed": changed,
        "why": why,
        "diagnostics": DiagnosticJson::list(diagnostics),
    })
}
