//! `grove init`: what is here, and what a new user may do next. Nothing is written without the person's consent.

use clap::ValueEnum as _;
use grove_catalog::state::EntryState;
use grove_skills::{Environment, Project, machine_hosts};
use serde::Serialize;
use serde_json::json;

use super::first_provider;
use super::{DiscoveredLibrary, Outcome, counted, mcp_install, tilde};
use crate::args::{DiscoveryArgs, McpCommand, McpEntryArgs, McpHost, McpScope};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;
use grove_engine::ModelSettings;
use grove_engine::engines::{self, InstalledEngine};
use grove_engine::health::ProviderHealth;

#[derive(Serialize)]
struct FoundHost {
    name: String,
    title: String,
    /// True if it has Grove's MCP server; none where Grove cannot enter it, or cannot read the file.
    mcp: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip)]
    entry: Option<McpHost>,
}

#[derive(Serialize)]
struct NextStep {
    command: String,
    why: String,
}

pub(super) fn run(
    environment: Environment,
    yes: bool,
    json: bool,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    let discovered = discovered.insert(super::discover(environment, &DiscoveryArgs::default())?);
    let environment = discovered.library.environment().clone();
    let hosts = found_hosts(&environment);
    let mut models = ModelSettings::of(&environment, &discovered.world.settings.settings);
    let providers = ProviderHealth::all(&models);
    let engines = engines::installed(&environment);
    let count = |state: EntryState| {
        let skills = discovered.snapshot.skills.iter();
        skills.filter(|skill| skill.state == state).count()
    };
    let project = FoundProject {
        folder: Project::find(&environment).root,
        untrusted: count(EntryState::Untrusted),
        changed: count(EntryState::Changed),
    };
    if json && yes {
        let message = "--json asks and writes nothing, so there is nothing for --yes to agree to";
        return Err(CommandError::usage(message).hint("use only one of them"));
    }
    let next = next_steps(&hosts, &models, &engines, &project);
    if json {
        out.json(&json!({
            "schema": "grove.init/1",
            "skills": discovered.snapshot.skills.len(),
            "hosts": hosts,
            "providers": providers,
            "engines": engines,
            "project": project,
            "nextSteps": next,
        }));
        return Ok(0);
    }
    let skills = counted(discovered.snapshot.skills.len(), "skill");
    out.labelled("skills", &format!("{skills} found"));
    print_found(&hosts, &providers, &engines, out);
    print_project(&project, &environment, out);
    let code = offer(&environment, &hosts, yes, out)?;
    if !yes && !has_key(&models) && first_provider::offer(&environment, out)? {
        models = ModelSettings::find(&environment);
    }
    out.line("");
    out.line("What to do next:");
    // What was entered just now need not be done again.
    let hosts = found_hosts(&environment);
    for step in next_steps(&hosts, &models, &engines, &project) {
        out.line(&format!("  {}", step.command));
        out.line(&format!("      {}", step.why));
    }
    // At a terminal it was offered, and so shown already.
    if !has_key(&models) && !out.can_ask() {
        first_provider::print(&environment, out);
    }
    Ok(code)
}

#[derive(Serialize)]
struct FoundProject {
    folder: Option<std::path::PathBuf>,
    /// Its skills that are not used as long as it is not trusted.
    untrusted: usize,
    /// Those that changed since it was trusted.
    changed: usize,
}

fn found_hosts(environment: &Environment) -> Vec<FoundHost> {
    let hosts = machine_hosts::found(environment).into_iter();
    let found = hosts.map(|host| {
        let entry = McpHost::from_str(&host.name, true).ok();
        let has = entry.map(|host| mcp_install::is_installed(environment, &entry_of(host, false)));
        let (mcp, problem) = match has {
            None => (None, None),
            Some(Ok(has)) => (Some(has), None),
            Some(Err(error)) => (None, Some(error.message())),
        };
        FoundHost {
            name: host.name,
            title: host.title,
            mcp,
            problem,
            entry,
        }
    });
    found.collect()
}

fn entry_of(host: McpHost, yes: bool) -> McpEntryArgs {
    McpEntryArgs {
        host,
        scope: McpScope::User,
        dry_run: false,
        yes,
    }
}

fn print_found(
    hosts: &[FoundHost],
    providers: &[ProviderHealth],
    engines: &[InstalledEngine],
    out: &mut CommandOutput,
) {
    let all = hosts.iter().map(|host| match (host.mcp, &host.problem) {
        (_, Some(problem)) => format!("{} ({problem})", host.title),
        (Some(true), None) => format!("{} (has Grove's MCP server)", host.title),
        (Some(false), None) => format!("{} (without Grove's MCP server)", host.title),
        (None, None) => host.title.clone(),
    });
    out.labelled("hosts", &list(all));
    let all = providers.iter().map(|provider| match &provider.key {
        Some(place) => format!("{} (key in {place} is {})", provider.name, provider.state),
        None => format!("{} (needs no key)", provider.name),
    });
    out.labelled("providers", &list(all));
    let all = engines.iter().map(|engine| {
        let login = if engine.login { " (logged in)" } else { "" };
        format!("{}{login}", engine.title)
    });
    let built_in = std::iter::once("native (built in)".to_owned());
    out.labelled("engines", &list(built_in.chain(all)));
}

fn list(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return "none".to_owned();
    }
    all.join(", ")
}

fn print_project(project: &FoundProject, environment: &Environment, out: &mut CommandOutput) {
    let Some(folder) = &project.folder else {
        out.labelled("project", "none: this folder is not in a project");
        return;
    };
    let trust = match (project.untrusted, project.changed) {
        (0, 0) => "nothing in it is waiting to be trusted".to_owned(),
        (n, 0) => format!("{} not used until you trust it", counted(n, "skill")),
        (_, n) => format!("{} changed since you trusted it", counted(n, "skill")),
    };
    out.labelled(
        "project",
        &format!("{}: {trust}", tilde(folder, environment)),
    );
}

/// Offers to enter the MCP server where it is not. Without `--yes` nothing is written where no person can be asked.
fn offer(
    environment: &Environment,
    hosts: &[FoundHost],
    yes: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let mut code = 0;
    for host in hosts.iter().filter(|host| host.mcp == Some(false)) {
        let Some(entry) = host.entry.filter(|_| yes || out.can_ask()) else {
            continue;
        };
        out.line("");
        out.line(&format!("Grove's MCP server for {}:", host.title));
        let entry = entry_of(entry, yes);
        let ended = mcp_install::run(environment, &McpCommand::Install { entry }, out)?;
        // Its output stands before what is said next.
        out.flush();
        // A person who declines has what they wanted.
        if yes && ended != 0 {
            code = ErrorKind::Finding.exit_code();
        }
    }
    Ok(code)
}

/// Returns true if a model can be asked, as far as that is known without trying.
fn has_key(models: &ModelSettings) -> bool {
    let providers = ProviderHealth::all(models);
    let mut states = providers.iter().map(|provider| provider.state);
    states.any(|state| matches!(state, "present" | "needs none" | "not tried"))
}

fn next_steps(
    hosts: &[FoundHost],
    models: &ModelSettings,
    engines: &[InstalledEngine],
    project: &FoundProject,
) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |command: &str, why: &str| {
        steps.push(NextStep {
            command: command.to_owned(),
            why: why.to_owned(),
        });
    };
    if project.untrusted > 0 || project.changed > 0 {
        add(
            "grove trust",
            "review this project's skills and agents so that they can be used",
        );
    }
    for host in hosts.iter().filter(|host| host.mcp == Some(false)) {
        let command = format!("grove mcp install --host {}", host.name);
        add(&command, &format!("give {} Grove's tools", host.title));
    }
    match (has_key(models), engines.first()) {
        (true, _) if models.usual_model.is_some() => add(
            "grove run AGENT \"task\"",
            "run an agent; `grove agents list` lists them",
        ),
        (true, _) => add(
            "grove run AGENT \"task\" --model PROVIDER/ID",
            "run an agent; `grove agents list` lists them, and `model` in [runs] of the configuration saves naming a model each time",
        ),
        (false, Some(engine)) => {
            let command = format!("grove run AGENT \"task\" --engine {}", engine.name);
            add(&command, &format!("run an agent with {}", engine.title));
        }
        (false, None) => {
            add(
                "export ANTHROPIC_API_KEY=…",
                "gives Grove a model to ask; so does OPENAI_API_KEY, or a provider in the configuration",
            );
            add("grove try", "see Grove at work without a model");
        }
    }
    add(
        "grove",
        "what each host shows of your skills, and what needs attention",
    );
    steps
}
