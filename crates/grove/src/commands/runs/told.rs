//! `grove prompt --run`: the text that a child was told.

use grove_engine::RunJournal;
use grove_skills::Environment;
use serde_json::json;

use crate::commands::Outcome;
use crate::output::CommandOutput;

/// Prints the text that a child was told; `given` is `RUN` or `RUN.NODE`.
pub(crate) fn print_told(
    environment: &Environment,
    given: &str,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let child = RunJournal::open(environment)?.told(given)?;
    let told = &child.told;
    if json {
        out.json(&json!({
            "schema": "grove.told/1",
            "run": child.run,
            "node": child.node,
            "agent": child.agent,
            "digest": child.digest,
            "system": told.system,
            "message": told.message,
            "parts": told.parts,
        }));
    } else {
        out.child_text(&format!("{}\n\n{}", told.system, told.message));
    }
    Ok(0)
}
