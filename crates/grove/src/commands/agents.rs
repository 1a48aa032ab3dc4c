//! `grove agents list` and `grove agents show NAME`.

use std::path::PathBuf;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::hosts::AgentRules;
use grove_catalog::state::State;
use grove_skills::{Environment, Look, Parts, Request, Scope, View};
use grove_spec::agent::Parsed;
use grove_spec::agent::overrides::Field;
use grove_spec::text::{first_names, one_line};
use grove_spec::{Code, Diagnostic};
use serde::Serialize;
use serde_json::json;

use super::definition_listing::{Everything, row};
use super::{Looked, Outcome, absolute, agents_manage, counted, naming, tilde};
use crate::args::{AgentLook, AgentScope, AgentsCommand};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, EntryJson};
use crate::output::Output;

pub(super) fn run(environment: Environment, command: &AgentsCommand, out: &mut Output) -> Outcome {
    match command {
        AgentsCommand::List {
            look,
            scope,
            host,
            json,
        } => {
            let scope = match scope {
                AgentScope::User => Scope::User,
                AgentScope::Project => Scope::Project,
                AgentScope::Both => Scope::Both,
            };
            let view = match host {
                Some(host) => View::Host(known_host(host)?.to_owned()),
                None => View::Own,
            };
            let request = Request {
                view,
                scope,
                ..request(&environment, look)
            };
            let look = Looked::new(environment, request).look;
            let agents = &look.snapshot.agents;
            list(&look.world.environment, agents, *json, out);
        }
        AgentsCommand::Show { name, look, json } => {
            let request = request(&environment, look);
            let look = Looked::new(environment, request).look;
            let agents = &look.snapshot.agents;
            let agent = find(agents, name)?;
            if *json {
                out.json(&ShowJson::new(agents, agent));
            } else {
                show(&look, agent, out);
            }
        }
        _ => return agents_manage::run(&environment, command, out),
    }
    Ok(0)
}

/// A look for agents as asked.
fn request(environment: &Environment, look: &AgentLook) -> Request {
    Request {
        parts: Parts::AGENTS,
        agent_folders: folders(environment, look),
        ..Request::default()
    }
}

/// The folders in which agents are looked for, if exactly these.
pub(super) fn folders(environment: &Environment, look: &AgentLook) -> Vec<PathBuf> {
    let given = look.agents_dirs.iter();
    given.map(|folder| absolute(folder, environment)).collect()
}

/// A host whose agents are known, as it is written.
pub(super) fn known_host(name: &str) -> Result<&'static str, CommandError> {
    naming::known_host(name, "hosts whose agents are known", AgentRules::names())
}

/// The agent of a name, usable or not.
pub(super) fn find<'a>(agents: &'a Agents, name: &str) -> Result<&'a Agent, CommandError> {
    everything(agents).find(name)
}

/// All agents with what is shown of each.
pub(super) fn everything(agents: &Agents) -> Everything<'_, Parsed> {
    Everything {
        noun: "agent",
        roots: &agents.roots,
        all: &agents.agents,
        describe: |agent| agent.description(),
    }
}

fn list(environment: &Environment, agents: &Agents, json: bool, out: &mut Output) {
    if json {
        let all = agents.agents.iter();
        out.json(&ListJson {
            schema: "grove.agents.list/1",
            agents: all.map(|agent| everything(agents).json(agent)).collect(),
            diagnostics: DiagnosticJson::list(&agents.diagnostics),
        });
        return;
    }
    let is_note = |finding: &&Diagnostic| finding.code == Code::AgentNote;
    let (notes, findings): (Vec<_>, Vec<_>) = agents.diagnostics.iter().partition(is_note);
    for finding in findings {
        out.diagnostic(finding);
    }
    everything(agents).table(environment, out);
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

fn show(look: &Look, agent: &Agent, out: &mut Output) {
    let (environment, agents) = (&look.world.environment, &look.snapshot.agents);
    everything(agents).rows(environment, agent, out);
    if let Some(fields) = fields(agent).as_object() {
        for (name, value) in fields {
            let value = match value {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Array(items) if items.is_empty() => "none".to_owned(),
                serde_json::Value::Array(items) => {
                    let words = items.iter().filter_map(serde_json::Value::as_str);
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
                Field::SYSTEM_PROMPT => "another text",
                Field::DISABLED if agent.state == State::Disabled => "true",
                Field::DISABLED => "false",
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
    let files = &look.sources.agents;
    let is_quoted = !files.format_of(agent).is_settings();
    let source = files.read(agent).filter(|_| is_quoted);
    for finding in &agent.diagnostics {
        out.line("");
        out.text(&grove_spec::render::render(finding, source.as_deref()));
    }
    for finding in agents.concerning(agent) {
        out.line("");
        out.text(&grove_spec::render::render(finding, None));
    }
}

#[derive(Serialize)]
struct ListJson<'a> {
    schema: &'static str,
    agents: Vec<EntryJson<'a>>,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

#[derive(Serialize)]
struct ShowJson<'a> {
    schema: &'static str,
    agent: EntryJson<'a>,
    fields: serde_json::Value,
    digest: Option<String>,
    /// The other file that has its text, where the one at its location names it.
    #[serde(rename = "textFile", skip_serializing_if = "Option::is_none")]
    text_file: Option<String>,
    /// The fields that are not as the file has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<OverrideJson>,
}

#[derive(Serialize)]
struct OverrideJson {
    field: &'static str,
    file: String,
    line: u32,
}

impl<'a> ShowJson<'a> {
    fn new(agents: &'a Agents, agent: &'a Agent) -> Self {
        let content = agent.content.as_ref();
        let mut shown = everything(agents).json(agent);
        let of_settings = agents.concerning(agent);
        let of_settings = of_settings.map(|finding| DiagnosticJson::new(finding, None));
        shown.diagnostics.extend(of_settings);
        Self {
            schema: "grove.agents.show/1",
            agent: shown,
            fields: fields(agent),
            digest: content.map(|content| content.digest.to_string()),
            text_file: content
                .and_then(|content| content.rest.as_ref())
                .map(|rest| rest.path.to_string_lossy().into_owned()),
            overrides: agent
                .overridden
                .iter()
                .map(|set| OverrideJson {
                    field: set.field.as_str(),
                    file: set.origin.file.to_string_lossy().into_owned(),
                    line: set.origin.line,
                })
                .collect(),
        }
    }
}

/// Every field of the frontmatter that has a value.
fn fields(agent: &Agent) -> serde_json::Value {
    let Some(file) = agent.file() else {
        return json!({});
    };
    let mut shown = file.shown();
    shown.retain(|key, _| !matches!(key.as_str(), "name" | "description"));
    shown.into()
}
