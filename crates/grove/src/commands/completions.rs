//! The command `grove completions SHELL`.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _};
use grove_catalog::hosts;

use super::Outcome;
use crate::args::Cli;
use crate::output::CommandOutput;

pub(super) fn run(shell: clap_complete::Shell, out: &mut CommandOutput) -> Outcome {
    let mut script = Vec::new();
    let mut command = with_hosts(Cli::command());
    clap_complete::generate(shell, &mut command, "grove", &mut script);
    if shell == clap_complete::Shell::Bash {
        script.extend_from_slice(include_bytes!("completions.bash"));
    }
    out.exact(&script);
    Ok(0)
}

/// A command that offers the known hosts wherever it takes one. What is typed is judged elsewhere, with a better message.
fn with_hosts(command: Command) -> Command {
    let takes_host = command
        .get_arguments()
        .any(|it| it.get_id() == "host" && it.get_possible_values().is_empty());
    let below = command.get_subcommands();
    let below: Vec<String> = below.map(|it| it.get_name().to_owned()).collect();
    let command = if takes_host {
        command.mut_arg("host", |it| {
            it.value_parser(PossibleValuesParser::new(hosts::names()))
        })
    } else {
        command
    };
    below.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, with_hosts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_offered_and_nothing_else_is_different() {
        let mut script = Vec::new();
        let mut command = with_hosts(Cli::command());
        clap_complete::generate(
            clap_complete::Shell::Bash,
            &mut command,
            "grove",
            &mut script,
        );
        let script = String::from_utf8(script).unwrap();
        for host in hosts::names() {
            assert!(script.contains(host), "{host}");
        }
        let find = |command: &Command| {
            let found = command.find_subcommand("catalog");
            found.map(|it| it.get_arguments().count())
        };
        assert_eq!(find(&with_hosts(Cli::command())), find(&Cli::command()));
    }
}
