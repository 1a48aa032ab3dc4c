//! `grove completions SHELL`.

use clap::CommandFactory as _;

use super::Outcome;
use crate::args::Cli;
use crate::output::Output;

pub(super) fn run(shell: clap_complete::Shell, out: &mut Output) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "grove", &mut script);
    out.exact(&script);
    Ok(0)
}
