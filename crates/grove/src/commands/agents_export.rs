//! `grove agents export`: agents and their skills as files for another host.

use std::path::{Path, PathBuf};

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::entry::Entry;
use grove_fs::undo::UndoRecording;
use grove_skills::exporting::{self, ExportRequest, ExportResult, ExportedFileState};
use grove_skills::{DiscoveryParts, DiscoveryRequest, Environment, Project, agents as agents_of};
use serde_json::{Value, json};

use super::{DiscoveredLibrary, Outcome, absolute, agents, agreed, counted, request, tilde};
use crate::args::{DiscoveryArgs, ExportArgs};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::json::DiagnosticJson;
use crate::output::CommandOutput;

pub(super) fn run(
    environment: Environment,
    arguments: &ExportArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    let host = agents::known_host(&arguments.host)?;
    let flags = DiscoveryArgs {
        roots: arguments.roots.clone(),
        ..DiscoveryArgs::default()
    };
    let request = DiscoveryRequest {
        parts: DiscoveryParts::PROMPTS,
        agent_folders: agents::folders(&environment, &arguments.discovery),
        ..request(&environment, &flags, None)?
    };
    let discovered = discovered.insert(DiscoveredLibrary::new(environment, request));
    let discovery = &discovered.discovery;
    let is_whole = arguments.agents.is_empty();
    let theirs = if is_whole {
        agents_of::of_host(&discovery.world, host)
    } else {
        Agents::default()
    };
    let chosen = choose(&discovery.snapshot.agents, &theirs, &arguments.agents)?;
    let folder = match &arguments.out {
        Some(folder) => absolute(folder, &discovery.world.environment),
        None => project_folder(&discovery.world.project)?,
    };
    let request = ExportRequest {
        host: host.to_owned(),
        out: folder,
        inline: arguments.inline_skills,
        budget: arguments.budget,
        is_whole,
        is_dry: arguments.check,
    };
    let state = undo_folder(&discovery.world.environment);
    let recorded = state.filter(|_| !request.is_dry);
    let recording = UndoRecording::new(recorded, format!("agents export --host {host}"));
    let export = |request: &_| exporting::export(discovery, &chosen, &theirs, request, &recording);
    if !request.is_dry && !arguments.yes {
        let planned = export(&ExportRequest {
            is_dry: true,
            ..request.clone()
        })?;
        if !planned.is_settled() && (planned.n_agents > 1 || planned.takes_away()) {
            if !arguments.json {
                print(&discovery.world.environment, &request, &planned, out);
            }
            if !agreed("write these files?", false, out)? {
                return Ok(ErrorKind::Finding.exit_code());
            }
        }
    }
    let exported = export(&request)?;
    if !request.is_dry && state.is_none() {
        out.note("this cannot be undone: there is no state folder to keep the old files in");
    }
    if arguments.json {
        out.json(&to_json(host, &request, &exported));
    } else {
        print(&discovery.world.environment, &request, &exported, out);
    }
    let is_held_up = exported
        .files
        .iter()
        .any(|(_, state)| *state == ExportedFileState::NotOurs);
    let is_wrong = if request.is_dry {
        !exported.is_clean()
    } else {
        is_held_up
    };
    Ok(ErrorKind::Finding.exit_code_if(is_wrong))
}

/// Returns the folder in which earlier files are kept; none where it cannot be written, which does not stop an export.
fn undo_folder(environment: &Environment) -> Option<&Path> {
    let state = Some(environment.state.as_path());
    let state = state.filter(|state| !state.starts_with(Environment::NOWHERE));
    state.filter(|state| UndoRecording::can_be_kept(state))
}

fn project_folder(project: &Project) -> Result<PathBuf, CommandError> {
    let folder = project.outermost().map(Path::to_path_buf);
    folder.ok_or_else(|| {
        let message = "there is no project here to export to";
        CommandError::usage(message).hint("change to a project folder, or give --out DIR")
    })
}

fn choose<'a>(
    all: &'a Agents,
    theirs: &Agents,
    names: &[String],
) -> Result<Vec<&'a Agent>, CommandError> {
    if names.is_empty() {
        let chosen = all.all.iter();
        return Ok(chosen
            .filter(|agent| agent.state.is_offered())
            .filter(|agent| exporting::is_wanted(all, agent, theirs))
            .collect());
    }
    let mut chosen: Vec<&Agent> = Vec::new();
    for name in names {
        let agent = agents::find(all, name)?;
        grove_engine::entries::require_usable(all, agent)?;
        if let Some(source) = agent.generated_from() {
            let message = format!("agent `{name}` was created by an export from `{source}`");
            let hint = "name another agent: the one it was made from no longer exists";
            return Err(CommandError::finding(message).hint(hint));
        }
        if !chosen.iter().any(|known| std::ptr::eq(*known, agent)) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

fn print(
    environment: &Environment,
    request: &ExportRequest,
    exported: &ExportResult,
    out: &mut CommandOutput,
) {
    out.diagnostics(&exported.diagnostics);
    let changed = exported
        .files
        .iter()
        .filter(|(_, state)| *state != ExportedFileState::Same);
    for (path, state) in changed {
        out.line(&format!("{:<8} {}", state.as_str(), super::path_text(path)));
    }
    let same = exported
        .files
        .iter()
        .filter(|(_, state)| *state == ExportedFileState::Same);
    out.note(&format!(
        "{} in {}; {} unchanged",
        counted(exported.n_agents, "agent"),
        tilde(&request.out, environment),
        counted(same.count(), "file")
    ));
}

fn to_json(host: &str, request: &ExportRequest, exported: &ExportResult) -> Value {
    let files = exported.files.iter();
    let files = files.map(|(path, state)| json!({ "path": path, "state": state.as_str() }));
    json!({
        "schema": "grove.agents.export/1",
        "host": host,
        "out": request.out.to_string_lossy(),
        "written": !request.is_dry,
        "clean": exported.is_clean(),
        "files": files.collect::<Vec<_>>(),
        "warnings": DiagnosticJson::list(&exported.diagnostics),
    })
}
