//! `grove agents list` and `grove agents show NAME`.

use std::path::PathBuf;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::hosts::AgentRules;
use grove_catalog::state::EntryState;
use grove_skills::{
    Discovery, DiscoveryParts, DiscoveryRequest, DiscoveryView, Environment, OwnerScope,
};
use grove_spec::agent::overrides::AgentField;
use grove_spec::text::{first_names, one_line};
use grove_spec::{Code, Diagnostic};
use serde_json::{Value, json};

use super::entry_listing::{self, definition_rows, findings, row};
use super::{DiscoveredLibrary, Outcome, absolute, agents_manage, counted, naming, tilde};
use crate::args::{AgentDiscoveryArgs, AgentScopeArg, AgentsCommand};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, EntryJson, without_empty};
use crate::output::CommandOutput;

pub(super) fn run(
    environment: Environment,
    command: &AgentsCommand,
    out: &mut CommandOutput,
) -> Outcome {
    match command {
        AgentsCommand::List {
            discovery,
            scope,
            host,
            json,
        } => {
            let scope = match scope {
                AgentScopeArg::User => OwnerScope::User,
                AgentScopeArg::Project => OwnerScope::Project,
                AgentScopeArg::Both => OwnerScope::Both,
            };
            let view = match host {
                Some(host) => DiscoveryView::Host(known_host(host)?.to_owned()),
                None => DiscoveryView::Own,
            };
            let request = DiscoveryRequest {
                view,
                scope,
                ..request(&environment, discovery)
            };
            let discovery = DiscoveredLibrary::new(environment, request).discovery;
            let agents = &discovery.snapshot.agents;
            list(&discovery.world.environment, agents, *json, out);
        }
        AgentsCommand::Show {
            name,
            discovery,
            json,
        } => {
            let request = request(&environment, discovery);
            let discovery = DiscoveredLibrary::new(environment, request).discovery;
            let agents = &discovery.snapshot.agents;
            let agent = find(agents, name)?;
            if *json {
                out.json(&to_json(agents, agent));
            } else {
                show(&discovery, agent, out);
            }
        }
        _ => return agents_manage::run(&environment, command, out),
    }
    Ok(0)
}

fn request(environment: &Environment, discovery: &AgentDiscoveryArgs) -> DiscoveryRequest {
    DiscoveryRequest {
        parts: DiscoveryParts::AGENTS,
        agent_folders: folders(environment, discovery),
        ..DiscoveryRequest::default()
    }
}

pub(super) fn folders(environment: &Environment, discovery: &AgentDiscoveryArgs) -> Vec<PathBuf> {
    let given = discovery.agents_dirs.iter();
    given.map(|folder| absolute(folder, environment)).collect()
}

pub(super) fn known_host(name: &str) -> Result<&'static str, CommandError> {
    naming::known_host(name, "hosts whose agents are known", AgentRules::names())
}

pub(super) fn find<'a>(agents: &'a Agents, name: &str) -> Result<&'a Agent, CommandError> {
    entry_listing::find(agents.entries(), name)
}

fn list(environment: &Environment, agents: &Agents, json: bool, out: &mut CommandOutput) {
    if json {
        out.json(&json!({
            "schema": "grove.agents.list/1",
            "agents": EntryJson::list(agents.entries()),
            "diagnostics": DiagnosticJson::list(&agents.diagnostics),
        }));
        return;
    }
    let is_note = |finding: &&Diagnostic| finding.code == Code::AgentNote;
    let (notes, findings): (Vec<_>, Vec<_>) = agents.diagnostics.iter().partition(is_note);
    out.diagnostics(findings);
    if agents.all.is_empty() {
        out.note("no agents found");
    } else {
        let all = agents.all.iter().collect();
        entry_listing::table(agents.entries(), all, &[], environment, out);
    }
    let files = notes.iter().filter_map(|note| note.file.as_deref());
    let files: Vec<String> = files.map(|file| tilde(file, environment)).collect();
    if !files.is_empty() {
        out.note(&format!(
            "{} without frontmatter taken for notes: {}",
            counted(files.len(), "file"),
            first_names(&files)
        ));
    }
}

fn show(discovery: &Discovery, agent: &Agent, out: &mut CommandOutput) {
    let (environment, agents) = (&discovery.world.environment, &discovery.snapshot.agents);
    definition_rows(agents.entries(), agent, environment, out);
    if let Some(fields) = fields(agent).as_object() {
        for (name, value) in fields {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) if items.is_empty() => "none".to_owned(),
                Value::Array(items) => {
                    let words = items.iter().filter_map(Value::as_str);
                    words.collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            let who = agent
                .overridden
                .iter()
                .find(|set| set.field.as_str() == name)
                .map_or_else(String::new, |set| {
                    let file = tilde(&set.origin.file, environment);
                    format!(" (set in {file}:{})", set.origin.line)
                });
            row(name, &format!("{}{who}", one_line(&value)), out);
        }
    }
    // What was cleared or is no field of the file has no row above.
    let shown = fields(agent);
    for set in &agent.overridden {
        if shown.get(set.field.as_str()).is_none() {
            let file = tilde(&set.origin.file, environment);
            let value = match set.field.as_str() {
                AgentField::SYSTEM_PROMPT => "another text",
                AgentField::DISABLED if agent.state == EntryState::Disabled => "true",
                AgentField::DISABLED => "false",
                "tools" => "as usual",
                _ => "nothing",
            };
            row(
                set.field.as_str(),
                &format!("{value} (set in {file}:{})", set.origin.line),
                out,
            );
        }
    }
    // Settings may have a secret in any line.
    let files = &discovery.sources.agents;
    let is_quoted = !files.format_of(agent).is_settings();
    let source = files.read(agent).filter(|_| is_quoted);
    findings(&agent.diagnostics, source.as_deref(), out);
    findings(agents.override_findings(agent), None, out);
}

fn to_json(agents: &Agents, agent: &Agent) -> Value {
    let content = agent.content.as_ref();
    let mut shown = EntryJson::new(agents.entries(), agent);
    let of_settings = DiagnosticJson::list(agents.override_findings(agent));
    shown.diagnostics.extend(of_settings);
    let rest = content.and_then(|content| content.rest.as_ref());
    let overridden = agent.overridden.iter().map(|set| {
        let (file, line) = (set.origin.file.to_string_lossy(), set.origin.line);
        json!({ "field": set.field.as_str(), "file": file, "line": line })
    });
    let overridden: Vec<Value> = overridden.collect();
    let all = json!({
        "schema": "grove.agents.show/1",
        "agent": shown,
        "fields": fields(agent),
        "digest": content.map(|content| content.digest),
        // The other file that has its text, where the one at its location names it.
        "textFile": rest.map(|rest| rest.path.to_string_lossy()),
        // The fields that are not as the file has them.
        "overrides": overridden,
    });
    without_empty(all, &["textFile", "overrides"])
}

fn fields(agent: &Agent) -> Value {
    let Some(file) = agent.file() else {
        return json!({});
    };
    let mut shown = file.shown();
    shown.retain(|key, _| !matches!(key.as_str(), "name" | "description"));
    shown.into()
}
