//! An example of a provider, with prices and the model that agents start with, for a machine on which no provider has
//! a key.

use grove_fs::atomic;
use grove_fs::files;
use grove_fs::undo::{PathAfter, UndoRecording};
use grove_skills::Environment;

use super::{agreed, tilde};
use crate::command_error::CommandError;
use crate::output::CommandOutput;

/// The example; README and guide show the same lines.
const EXAMPLE: &str = r#"[providers.local]
api = "openai-chat"
base_url = "http://127.0.0.1:8080/v1"
models = [{ id = "small", context = 32000, input = 0.5, output = 1.5 }]
[runs]
model = "local/small"
"#;

pub(super) fn print(environment: &Environment, out: &mut CommandOutput) {
    let file = environment.config.join("config.toml");
    out.line("");
    out.line(&format!(
        "A provider of your own, with the prices of a million tokens, in {}:",
        tilde(&file, environment)
    ));
    for line in EXAMPLE.lines() {
        out.line(&format!("  {line}"));
    }
}

/// Offers to write the example where there is no configuration yet and a person can answer. Returns whether it was
/// written.
pub(super) fn offer(
    environment: &Environment,
    out: &mut CommandOutput,
) -> Result<bool, CommandError> {
    let file = environment.config.join("config.toml");
    if files::is_there(&file) || !out.can_ask() {
        return Ok(false);
    }
    print(environment, out);
    let shown = tilde(&file, environment);
    if !agreed(&format!("write this example to {shown}?"), false, out)? {
        out.flush();
        return Ok(false);
    }
    let recording = UndoRecording::new(Some(&environment.state), "init");
    recording.keep(&[(&file, PathAfter::File(EXAMPLE.as_bytes()))])?;
    // Keys may be added to it, so it is its owner's alone.
    atomic::write_mode(&file, EXAMPLE.as_bytes(), 0o600)?;
    out.note(&format!(
        "wrote {shown}; put in your address, model and prices; `grove undo` takes it back"
    ));
    out.flush();
    Ok(true)
}
