//! `grove reference`: the reference library's own command line, byte for byte.

use super::Outcome;
use crate::output::Output;

pub(super) fn run(
    _environment: &grove_skills::Environment,
    _arguments: Vec<std::ffi::OsString>,
    out: &mut Output,
) -> Outcome {
    out.note("not yet");
    Ok(2)
}
