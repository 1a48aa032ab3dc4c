//! How many skills were there and not read: said wherever skills are counted.

use grove_catalog::snapshot::Snapshot;
use grove_spec::Code;

use super::counted;
use crate::output::Output;

/// How many skills lie beyond the limit of their root.
pub(super) fn count(snapshot: &Snapshot) -> usize {
    let findings = snapshot.diagnostics.iter();
    let limits = findings.filter(|finding| finding.code == Code::CandidateLimit);
    limits.map(|finding| finding.names.len()).sum()
}

/// One line beside the data if there are any.
pub(super) fn say(snapshot: &Snapshot, out: &mut Output) {
    if let n @ 1.. = count(snapshot) {
        let verb = if n == 1 { "was" } else { "were" };
        out.note(&format!(
            "{} {verb} not read: raise `limits.candidates_per_root`, or use --all",
            counted(n, "skill")
        ));
    }
}
