//! `grove mcp install | uninstall`: what would change in a host's configuration, and the change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use grove_catalog::hosts;
use grove_server::host_config::{
    ConfigChange, ConfigFolders, ConfigHost, ConfigScope, ServerCommand,
};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library, Project};

use super::{Outcome, agreed, counted, tilde};
use crate::args::{McpCommand, McpEntryArgs, McpHost, McpScope};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;

pub(super) fn run(
    environment: &Environment,
    command: &McpCommand,
    out: &mut CommandOutput,
) -> Outcome {
    let (McpCommand::Install { entry } | McpCommand::Uninstall { entry }) = command;
    let is_install = matches!(command, McpCommand::Install { .. });
    let change = change(environment, entry, is_install)?;
    if is_install {
        report_known_skills(environment, host_of(entry.host).name(), out);
    }
    decide(environment, &change, entry, out)
}

fn host_of(host: McpHost) -> ConfigHost {
    match host {
        McpHost::Claude => ConfigHost::Claude,
        McpHost::Codex => ConfigHost::Codex,
        McpHost::Copilot => ConfigHost::Copilot,
        McpHost::Gemini => ConfigHost::Gemini,
        McpHost::OpenCode => ConfigHost::OpenCode,
    }
}

fn change(
    environment: &Environment,
    entry: &McpEntryArgs,
    is_install: bool,
) -> Result<ConfigChange, CommandError> {
    let host = host_of(entry.host);
    let scope = match entry.scope {
        McpScope::User => ConfigScope::User,
        McpScope::Project => ConfigScope::Project,
    };
    let project = Project::find(environment);
    let project = project.root.unwrap_or_else(|| environment.working.clone());
    let host_home = home_of_host(environment, host.name());
    let places = ConfigFolders {
        home: environment.home.as_deref(),
        host_home: host_home.as_deref(),
        project: &project,
        state: &environment.state,
    };
    Ok(if is_install {
        ConfigChange::install(host, scope, &places, &launch(scope)?)?
    } else {
        ConfigChange::uninstall(host, scope, &places)?
    })
}

/// Returns true if a host's configuration has the server as it would be entered.
pub(super) fn is_installed(
    environment: &Environment,
    entry: &McpEntryArgs,
) -> Result<bool, CommandError> {
    Ok(change(environment, entry, true)?.is_nothing())
}

/// Says which of the skills the host finds by itself, so that the person is not surprised to see them twice.
fn report_known_skills(environment: &Environment, name: &str, out: &mut CommandOutput) {
    let Some(host) = hosts::by_name(name) else {
        return;
    };
    let told = |view: DiscoveryView| -> BTreeSet<PathBuf> {
        let request = DiscoveryRequest {
            view,
            ..DiscoveryRequest::default()
        };
        let discovery = Library::new(environment.clone(), request).discover();
        let skills = discovery.snapshot.skills.iter();
        let skills = skills.filter(|skill| skill.model_invocable());
        skills
            .map(|skill| discovery.snapshot.location(&skill.place))
            .collect()
    };
    let (own, theirs) = (
        told(DiscoveryView::Own),
        told(DiscoveryView::Host(name.to_owned())),
    );
    let n_known = own.intersection(&theirs).count();
    if n_known > 0 {
        let (n_more, title) = (own.len() - n_known, &host.title);
        let skills = counted(own.len(), "skill");
        out.note(&format!(
            "{title} already lists {n_known} of these {skills} by itself; the server adds {n_more}"
        ));
    }
}

/// Returns the folder in which a host keeps its files, if the variable that its description names says so.
fn home_of_host(environment: &Environment, name: &str) -> Option<PathBuf> {
    let mut roots = hosts::by_name(name)?.roots.into_iter();
    let variable = roots.find_map(|root| root.env)?;
    let folder = environment.variables.get(&variable)?;
    (!folder.is_empty()).then(|| folder.into())
}

/// Returns the command that starts the server: this very program, or by name where others have it elsewhere.
fn launch(scope: ConfigScope) -> Result<ServerCommand, CommandError> {
    let command = match scope {
        ConfigScope::Project => "grove".to_owned(),
        ConfigScope::User => {
            let program = std::env::current_exe().map_err(|error| {
                let message = format!("this program cannot be found: {error}");
                CommandError::internal(message)
            })?;
            text_of(program)?
        }
    };
    Ok(ServerCommand {
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
        CommandError::finding(message)
    })
}

fn decide(
    environment: &Environment,
    change: &ConfigChange,
    entry: &McpEntryArgs,
    out: &mut CommandOutput,
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
        out.note(&format!(
            "{file} will be removed: it was created for this entry"
        ));
    }
    if entry.dry_run {
        return Ok(0);
    }
    if !agreed(&format!("change {file}?"), entry.yes, out)? {
        return Ok(ErrorKind::Finding.exit_code());
    }
    change.apply(&environment.state)?;
    out.note(&format!("changed {file}; `grove undo` takes it back"));
    Ok(0)
}

/// The lines that go and the lines that come, with a few around them.
pub(super) fn difference(before: &str, after: &str) -> String {
    let difference = similar::TextDiff::from_lines(before, after);
    let groups = difference.grouped_ops(3).into_iter().flatten();
    let mut text = String::new();
    for change in groups.flat_map(|op| difference.iter_changes(&op).collect::<Vec<_>>()) {
        let line = change.value().trim_end_matches(['\r', '\n']);
        let _ = writeln!(text, "{} {line}", change.tag());
    }
    text
}
