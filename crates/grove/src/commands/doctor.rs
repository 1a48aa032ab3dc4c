//! `grove doctor`: what is here, counted by source, and what needs attention.

use std::path::Path;

use grove_skills::trusting;
use grove_spec::Severity;
use serde_json::json;

use super::{Looked, counted, need_attention, tilde};
use crate::json::{DiagnosticJson, SnapshotJson, count_sources};
use crate::output::Output;

pub(super) fn run(looked: &Looked, json: bool, out: &mut Output) -> u8 {
    let (snapshot, environment) = (&looked.snapshot, looked.library.environment());
    let findings = super::skills_check::count_findings(snapshot);
    let grants = trusting::grants(environment).len();
    let sources = count_sources(snapshot);
    if json {
        out.json(&json!({
            "schema": "grove.doctor/1",
            "version": env!("CARGO_PKG_VERSION"),
            "snapshot": SnapshotJson::new(snapshot),
            "skills": sources,
            "roots": snapshot.roots.len(),
            "trustedFolders": grants,
            "findings": findings,
            "folders": {
                "config": environment.config.to_string_lossy(),
                "state": environment.state.to_string_lossy(),
                "data": environment.data.to_string_lossy(),
                "cache": environment.cache.as_deref().map(Path::to_string_lossy),
            },
            "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
        }));
        return 0;
    }
    out.line(&format!("grove {}", env!("CARGO_PKG_VERSION")));
    for (label, folder) in [
        ("config", Some(&environment.config)),
        ("state", Some(&environment.state)),
        ("data", Some(&environment.data)),
        ("cache", environment.cache.as_ref()),
    ] {
        out.line(&format!(
            "{label:<8} {}",
            folder.map_or_else(|| "none".to_owned(), |folder| tilde(folder, environment))
        ));
    }
    out.line(&format!("trust    {}", counted(grants, "folder")));
    out.line("");
    super::overview::print_sources(snapshot, out);
    for finding in snapshot
        .diagnostics
        .iter()
        .filter(|finding| finding.severity != Severity::Info)
    {
        out.line("");
        out.text(&grove_spec::render::render(finding, None));
    }
    out.line("");
    out.line(&if findings == 0 {
        "nothing needs attention".to_owned()
    } else {
        format!("{}: run `grove skills check`", need_attention(findings))
    });
    0
}
