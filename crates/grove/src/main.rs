//! The `grove` command.

mod args;
mod command_error;
mod commands;
mod json;
mod output;
mod table;
mod variables;

use std::process::ExitCode;

/// Discovery allocates from two threads at once; the system's allocator costs a quarter more there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let mut out = output::Output::new();
    let result = commands::run(arguments, &mut out);
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            error.kind.exit_code()
        }
    };
    // A reader that closed the pipe has seen what it wanted.
    if out.finish() {
        ExitCode::from(code)
    } else {
        ExitCode::SUCCESS
    }
}
