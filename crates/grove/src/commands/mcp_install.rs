//! `grove mcp install | uninstall`: what would change in a host's configuration, and the change.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use grove_server::host_config::{Change, ConfigError, Host, Launch, Places, Scope, difference};
use grove_skills::{Environment, Project};

use super::{Outcome, tilde};
use crate::args::{McpCommand, McpEntry, McpHost, McpScope};
use crate::command_error::{CommandError, ErrorKind};
use crate::output::Output;

pub(super) fn run(environment: &Environment, command: &McpCommand, out: &mut Output) -> Outcome {
    let (McpCommand::Install { entry } | McpCommand::Uninstall { entry }) = command;
    let (host, variable) = match entry.host {
        McpHost::Claude => (Host::Claude, "CLAUDE_CONFIG_DIR"),
        McpHost::Codex => (Host::Codex, "CODEX_HOME"),
    };
    let scope = match entry.scope {
        McpScope::User => Scope::User,
        McpScope::Project => Scope::Project,
    };
    let project = Project::find(environment);
    let project = project.root.unwrap_or_else(|| environment.working.clone());
    let host_home = environment.variables.get(variable);
    let host_home = host_home.filter(|folder| !folder.is_empty()).map(Path::new);
    let places = Places {
        home: environment.home.as_deref(),
        host_home,
        project: &project,
        state: &environment.state,
    };
    let change = match command {
        McpCommand::Install { .. } => Change::install(host, scope, &places, &launch(scope)?),
        McpCommand::Uninstall { .. } => Change::uninstall(host, scope, &places),
    };
    let change = change.map_err(explain)?;
    decide(environment, &change, entry, out)
}

/// How the host starts the server: this very program, or by name where others have it elsewhere.
fn launch(scope: Scope) -> Result<Launch, CommandError> {
    let command = match scope {
        Scope::Project => "grove".to_owned(),
        Scope::User => {
            let program = std::env::current_exe().map_err(|error| {
                let message = format!("this program cannot be found: {error}");
                CommandError::new(ErrorKind::Internal, message)
            })?;
            text_of(program)?
        }
    };
    Ok(Launch {
        command,
        arguments: vec!["mcp".to_owned()],
    })
}

fn text_of(path: PathBuf) -> Result<String, CommandError> {
    path.into_os_string().into_string().map_err(|path| {
        let message = format!(
            "{} is not UTF-8, and hosts read nothing else",
            path.display()
        );
        CommandError::new(ErrorKind::Finding, message)
    })
}

fn decide(
    environment: &Environment,
    change: &Change,
    entry: &McpEntry,
    out: &mut Output,
) -> Outcome {
    let file = tilde(&change.path, environment);
    if change.is_nothing() {
        out.note(&format!("{file} stays as it is"));
        return Ok(0);
    }
    let side = |text: &Option<String>| text.clone().unwrap_or_default();
    out.line(&file);
    out.text(&difference(&side(&change.before), &side(&change.after)));
    if change.after.is_none() {
        out.note(&format!("{file} will be removed: it was made for this"));
    }
    if entry.dry_run {
        return Ok(0);
    }
    if !entry.yes {
        // The question comes after what it is about.
        let _ = std::mem::replace(out, Output::new()).finish();
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(CommandError::new(ErrorKind::Finding, "nothing was changed")
                .hint("add --yes to make this change"));
        }
        if !asked(&file) {
            out.note("nothing was changed");
            return Ok(1);
        }
    }
    let backup = change.apply(&environment.state).map_err(explain)?;
    out.note(&format!("changed {file}"));
    if let Some(backup) = backup {
        let backup = tilde(&backup, environment);
        out.note(&format!("what was there before is in {backup}"));
    }
    Ok(0)
}

fn asked(file: &str) -> bool {
    let mut terminal = std::io::stderr().lock();
    let _ = write!(terminal, "change {file}? [y/N] ").and_then(|()| terminal.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn explain(error: ConfigError) -> CommandError {
    match error {
        ConfigError::Fs(error) => error.into(),
        ConfigError::NoHome => CommandError::new(ErrorKind::Finding, "there is no home folder")
            .hint("set HOME, or use --scope project"),
        ConfigError::Changed(_) => {
            CommandError::new(ErrorKind::Finding, error.to_string()).hint("run the command again")
        }
        ConfigError::Unreadable { .. } => CommandError::new(ErrorKind::Finding, error.to_string())
            .hint("correct the file, or add the server by hand as the guide shows"),
    }
}
