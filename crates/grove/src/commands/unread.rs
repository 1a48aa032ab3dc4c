//! Places that were asked for and not read: folders that are missing, and skills beyond the limit of their root. Said
//! wherever skills are counted or looked for.

use grove_catalog::snapshot::Snapshot;
use grove_skills::Environment;
use grove_spec::{Code, Diagnostic};

use super::counted;
use crate::output::CommandOutput;

/// Returns the number of skills beyond the limit of their root.
pub(super) fn count(snapshot: &Snapshot) -> usize {
    let findings = snapshot.diagnostics.iter();
    let limits = findings.filter(|finding| finding.code == Code::CandidateLimit);
    limits.map(|finding| finding.names.len()).sum()
}

pub(super) fn roots(snapshot: &Snapshot) -> impl Iterator<Item = &Diagnostic> {
    let findings = snapshot.diagnostics.iter();
    findings.filter(|finding| {
        let is_about_root = matches!(finding.code, Code::RootUnreadable | Code::RootInvalid);
        is_about_root && finding.file.is_some()
    })
}

/// Says which folders could not be read. Grove's own are left out: where nothing can be written, there are none.
pub(super) fn say_roots(snapshot: &Snapshot, environment: &Environment, out: &mut CommandOutput) {
    let is_own = |finding: &&Diagnostic| {
        let file = finding.file.as_ref();
        file.is_some_and(|file| file.starts_with(&environment.data))
    };
    out.diagnostics(roots(snapshot).filter(|finding| !is_own(finding)));
}

/// The folders that could not be read, and one line if there are skills that were not.
pub(super) fn say(snapshot: &Snapshot, environment: &Environment, out: &mut CommandOutput) {
    say_roots(snapshot, environment, out);
    if let n @ 1.. = count(snapshot) {
        let verb = if n == 1 { "was" } else { "were" };
        out.note(&format!(
            "{} {verb} not read: raise `limits.candidates_per_root`, or use --all",
            counted(n, "skill")
        ));
    }
}
