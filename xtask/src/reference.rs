//! The generated references: command line, settings, diagnostics. Each is written from the code
//! that defines it, and a stale one fails the tests.

use crate::arguments::Arguments;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let only_check = arguments.flag("--check");
    arguments.finish()?;
    if only_check { check() } else { write() }
}

/// Says which stored references differ from what the code would write now.
#[expect(clippy::unnecessary_wraps, reason = "no reference is generated yet")]
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "no reference is generated yet")]
fn write() -> Result<(), String> {
    Ok(())
}
