//! The commands that change what belongs to the person: a process of a child is refused them.
//!
//! This is an honest refusal and no wall: a child whose commands are not in a sandbox can write the same files itself.

use grove_skills::Environment;

use crate::args::{AgentsCommand, ChainsCommand, Command, RunsCommand, SkillsCommand};
use crate::command_error::CommandError;
use grove_engine::mark_of;

/// Refuses a child's process a command that is for the person.
pub(super) fn require_person(
    environment: &Environment,
    command: &Command,
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

/// Returns the thing of the person's that a command changes; none where it changes nothing of that kind.
fn changed_by(command: &Command) -> Option<&'static str> {
    match command {
        Command::Trust(arguments) if arguments.dry_run || arguments.list => None,
        Command::Trust(_) | Command::Untrust { .. } => Some("which projects are trusted"),
        Command::Agents(
            AgentsCommand::List { .. } | AgentsCommand::Show { .. } | AgentsCommand::Export(_),
        )
        | Command::Chains(
            ChainsCommand::List { .. } | ChainsCommand::Show { .. } | ChainsCommand::Check { .. },
        ) => None,
        Command::Agents(_) => Some("agents"),
        Command::Chains(_) => Some("chains"),
        Command::Skills(SkillsCommand::Manage(_)) => Some("skills"),
        Command::Mcp(arguments) if arguments.command.is_some() => Some("the entries of hosts"),
        Command::Web(_) | Command::Runs(RunsCommand::Open { .. }) => Some("who sees the page"),
        Command::Run(arguments) if arguments.open => Some("who sees the page"),
        Command::Init { .. } => Some("the configuration"),
        Command::Undo(_) | Command::Redo(_) => Some("what commands before it did"),
        _ => None,
    }
}
