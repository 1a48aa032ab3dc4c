//! The part of `grove doctor` that is about runs.

use grove_engine::health::RunsHealth;
use grove_engine::view::RunPlaces;
use grove_skills::Environment;
use grove_spec::text::one_line;

use crate::commands::{counted, tilde};
use crate::output::CommandOutput;

/// Prints the health of runs, and returns a line if something needs attention.
pub(crate) fn print_health(
    health: &RunsHealth,
    environment: &Environment,
    out: &mut CommandOutput,
) -> Option<String> {
    out.line("");
    for provider in &health.providers {
        let key = match &provider.key {
            Some(place) => format!("key in {place} is {}", provider.state),
            None => "needs no key".to_owned(),
        };
        let (name, api, address) = (&provider.name, provider.api, &provider.address);
        out.line(&format!("provider {name} ({api}) at {address}: {key}"));
    }
    if let Some(journal) = &health.journal {
        let supervisor = if health.supervisor {
            "a supervisor is running"
        } else {
            "no supervisor is running"
        };
        let path = RunPlaces::in_state(&environment.state).journal();
        let runs = usize::try_from(journal.runs).unwrap_or(usize::MAX);
        out.line(&format!(
            "journal  {}: {}, {} open; {supervisor}",
            tilde(&path, environment),
            counted(runs, "run"),
            journal.open
        ));
        for fault in &journal.faults {
            out.line(&format!("  {}", one_line(fault)));
        }
        if journal.left > 0 {
            let left = counted(journal.left, "effect");
            out.line(&format!(
                "  {left} from dead supervisors: `grove runs list` takes care of them"
            ));
        }
    }
    for orphan in &health.orphans {
        let (pid, mark) = (orphan.pid, &orphan.mark);
        out.line(&format!(
            "process {pid} is left over from {mark}, which has ended"
        ));
    }
    let n = health.faults();
    (n > 0).then(|| {
        format!(
            "runs: {}, as shown above",
            crate::commands::need_attention(n)
        )
    })
}
