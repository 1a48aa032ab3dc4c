//! The commands that change what belongs to the person: a process of a child is refused them.
//!
//! This is an honest refusal and no wall: a child whose commands are not in a sandbox can write the same files itself.

use grove_skills::Environment;

use crate::args::{AgentsCommand, ChainsCommand, CliCommand, RunsCommand, SkillsCommand};
use crate::command_error::CommandError;
use grove_engine::mark_of;

/// Refuses a child's process a command that is for the person.
pub(super) fn require_person(
    environment: &Environment,
    command: &CliCommand,
) -> Result<(), CommandError> {
    let Some(changed) = changed_by(command) else {
        return Ok(());
    };
    if mark_of(environment).is_none() {
        return Ok(());
    }
    let message = format!("a child of a run does not change {changed}");
    Err(CommandError::usage(message).hint("ask the one who gave you the task to do it"))
}

fn changed_by(command: &CliCommand) -> Option<&'static str> {
    match command {
        CliCommand::Trust(arguments) if arguments.dry_run || arguments.list => None,
        CliCommand::Trust(_) | CliCommand::Untrust { .. } => Some("which projects are trusted"),
        CliCommand::Agents(
            AgentsCommand::List { .. } | AgentsCommand::Show { .. } | AgentsCommand::Export(_),
        )
        | CliCommand::Chains(
            ChainsCommand::List { .. } | ChainsCommand::Show { .. } | ChainsCommand::Check { .. },
        ) => None,
        CliCommand::Agents(_) => Some("agents"),
        CliCommand::Chains(_) => Some("chains"),
        CliCommand::Skills(SkillsCommand::Manage(_)) => Some("skills"),
        CliCommand::Mcp(arguments) if arguments.command.is_some() => Some("the entries of hosts"),
        CliCommand::Web(_) | CliCommand::Runs(RunsCommand::Open { .. }) => {
            Some("who sees the page")
        }
        CliCommand::Run(arguments) if arguments.open => Some("who sees the page"),
        CliCommand::Init { .. } => Some("the configuration"),
        CliCommand::Undo(_) | CliCommand::Redo(_) => Some("what commands before it did"),
        _ => None,
    }
}
