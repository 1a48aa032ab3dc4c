//! The program `grove`: reads its arguments and runs a command.

mod agent_fields;
mod args;
mod colour;
mod command_error;
mod commands;
mod json;
mod output;
mod process_environment;
mod table;
mod tokens;

use std::process::ExitCode;

use command_error::{CommandError, ErrorKind, ExitCode as _};

/// Discovery allocates from two threads at once; the system's allocator costs a quarter more there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Keepers and supervisors are this program started anew.
    if let Some(code) = grove_engine::Engine::serve_if_asked(process_environment::read) {
        return code;
    }
    let arguments = args::with_arrows(arguments);
    let mut out = output::CommandOutput::default();
    let mut discovered = None;
    let result = commands::run(arguments, &mut discovered, &mut out);
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            error.kind.exit_code()
        }
    };
    let written = out.finish();
    // No process waits for the cache, so it is written when everything else has been.
    let mut notes = output::CommandOutput::default();
    if let Some(discovered) = &mut discovered {
        discovered.remember(&mut notes);
    }
    if let Err(output::UnwrittenOutput::Data(error)) = &written {
        notes.error(&CommandError::internal(format!(
            "could not write the output: {error}"
        )));
    }
    // A note about the cache that could not be written changes nothing.
    let _ = notes.finish();
    let code = match written {
        Err(output::UnwrittenOutput::Data(_)) => ErrorKind::Internal.exit_code(),
        Err(output::UnwrittenOutput::Everything) if code == 0 => ErrorKind::Internal.exit_code(),
        _ => code,
    };
    // Everything is written. What was looked at goes with the process, which is faster than to take it apart.
    std::process::exit(code.into())
}
