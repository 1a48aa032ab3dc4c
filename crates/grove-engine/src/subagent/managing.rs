//! Agents and chains by the tool: the same changes that commands make, and what came of them in words.

use std::fmt::Write as _;
use std::path::Path;

use grove_catalog::agent_catalog::{AgentListOptions, agent_catalog};
use grove_catalog::agents::Agent;
use grove_catalog::definitions::{Defined, Definition};
use grove_catalog::entry::{Entries, Entry as _};
use grove_catalog::report::count_sources;
use grove_catalog::root::RootSource;
use grove_skills::managing::{
    ChainChanges, ChangeReport, Manager, NewAgent, NewChain, RenameRequest,
};
use grove_skills::{DiscoveryParts, Environment};
use grove_spec::agent::AgentFile;
use grove_spec::agent::compose::FileEdit;
use grove_spec::chain::print::step_json;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::text::{counted, one_line};
use grove_spec::{Diagnostic, render};
use serde_json::{Map, Value};

use super::SubagentAnswer;
use super::arguments::CallArguments;
use crate::change_words::ChangeWords;
use crate::engine::Engine;
use crate::entries;
use crate::error::EngineError;
use crate::health::RunsHealth;

/// Lists chains with their states.
pub(crate) fn chains(
    engine: &Engine,
    arguments: &CallArguments<'_>,
) -> Result<SubagentAnswer, EngineError> {
    let look = engine.discover(engine.environment_in(arguments)?, DiscoveryParts::CHAINS);
    let chains = &look.snapshot.chains;
    let mut text = String::new();
    for chain in &chains.all {
        let about = chain.description().unwrap_or_default();
        let (name, state) = (one_line(chain.name()), chain.state().in_words());
        let _ = writeln!(text, "- {name} ({state}): {}", one_line(about));
    }
    if text.is_empty() {
        text.push_str("no chains found\n");
    }
    push_findings(&mut text, &chains.diagnostics);
    Ok(SubagentAnswer::Definitions(text))
}

/// Lists agents within the budget of a list: those of a group, those that fit a task, or all.
pub(crate) fn agents(
    engine: &Engine,
    group: Option<&str>,
    arguments: &CallArguments<'_>,
) -> Result<SubagentAnswer, EngineError> {
    let look = engine.discover(engine.environment_in(arguments)?, DiscoveryParts::AGENTS);
    let agents = &look.snapshot.agents;
    let scope = match arguments.text("scope")? {
        Some("user") => Some(RootSource::User),
        Some("project") => Some(RootSource::Project),
        _ => None,
    };
    let source = |agent: &Agent| agents.roots.get(agent.root).map(|root| root.source);
    let is_meant = |agent: &Agent| scope.is_none_or(|scope| source(agent) == Some(scope));
    let settings = &look.world.settings.settings;
    let asked = AgentListOptions {
        bytes: settings.limits.agent_list_bytes.count(),
        group,
        task: arguments.text("task")?,
    };
    let Some(mut text) = agent_catalog(agents, &asked, is_meant) else {
        let group = grove_spec::text::one_line(group.unwrap_or_default());
        let message = format!("there is no group of agents `{group}`");
        return Err(EngineError::usage(message).hint("`action: list` names the groups"));
    };
    let unusable = |agent: &&Agent| !agent.state.is_usable() && is_meant(agent);
    let unusable = agents.all.iter().filter(unusable).count();
    if unusable > 0 && group.is_none() && asked.task.is_none() {
        let agents = counted(unusable, "more agent");
        let _ = writeln!(text, "{agents} cannot be used; `action: doctor` says why");
    }
    Ok(SubagentAnswer::Definitions(text))
}

/// Does the actions that are about files.
pub(crate) fn act(
    engine: &Engine,
    action: &str,
    arguments: &CallArguments<'_>,
) -> Result<SubagentAnswer, EngineError> {
    let there = engine.environment_in(arguments)?;
    let text = match action {
        "doctor" => doctor(engine, there),
        "get" => get(engine, there, arguments)?,
        _ => {
            if engine.journal()?.is_child() {
                let message = "a child may not change agents or chains";
                return Err(EngineError::usage(message));
            }
            match action {
                "create" => create(&there, arguments)?,
                "update" => update(&there, arguments)?,
                _ => delete(&there, arguments)?,
            }
        }
    };
    Ok(SubagentAnswer::Definitions(text))
}

/// The skills, agents, chains and providers of an environment, and what needs attention.
fn doctor(engine: &Engine, there: Environment) -> String {
    let look = engine.discover(there, DiscoveryParts::ALL);
    let (snapshot, world) = (&look.snapshot, &look.world);
    let mut text = String::new();
    let mut counts = |noun: &str, counts: Vec<(RootSource, grove_catalog::report::StateCounts)>| {
        for (source, states) in counts {
            let total: usize = states.values().sum();
            let states = states.iter().map(|(state, n)| format!("{n} {state}"));
            let states = states.collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                text,
                "{}: {} ({states})",
                source.as_str(),
                counted(total, noun)
            );
        }
    };
    counts("skill", count_sources(snapshot.entries()));
    counts("agent", count_sources(snapshot.agents.entries()));
    counts("chain", count_sources(snapshot.chains.entries()));
    let health = RunsHealth::of(&world.environment, &world.settings.settings);
    for provider in &health.providers {
        let (name, api, state) = (&provider.name, provider.api, provider.state);
        let _ = writeln!(text, "provider {name} ({api}): key {state}");
    }
    if let Some(journal) = &health.journal {
        let runs = usize::try_from(journal.runs).unwrap_or(usize::MAX);
        let _ = writeln!(
            text,
            "journal: {}, {} open",
            counted(runs, "run"),
            journal.open
        );
        for fault in &journal.faults {
            let _ = writeln!(text, "journal: {}", one_line(fault));
        }
    }
    for orphan in &health.orphans {
        let (pid, mark) = (orphan.pid, &orphan.mark);
        let _ = writeln!(
            text,
            "process {pid} is left over from {mark}, which has ended"
        );
    }
    let all = snapshot.diagnostics.iter();
    let all = all
        .chain(&snapshot.agents.diagnostics)
        .chain(&snapshot.chains.diagnostics);
    let attention: Vec<&Diagnostic> = all.filter(|it| it.needs_attention()).collect();
    if attention.is_empty() {
        text.push_str("nothing needs attention\n");
    }
    push_findings(&mut text, attention);
    text
}

fn push_findings<'a>(text: &mut String, findings: impl IntoIterator<Item = &'a Diagnostic>) {
    for finding in findings {
        let _ = write!(text, "\n{}", render::render(finding, None));
    }
}

/// An agent or a chain with its fields and findings.
fn get(
    engine: &Engine,
    there: Environment,
    arguments: &CallArguments<'_>,
) -> Result<String, EngineError> {
    match meant(arguments)? {
        Meant::Agent(name) => {
            let look = engine.discover(there, DiscoveryParts::AGENTS);
            let agents = &look.snapshot.agents;
            let agent = entries::find(agents.entries(), name)?;
            let mut text = definition_text(agents.entries(), agent);
            let mut fields = agent.file().map(AgentFile::shown).unwrap_or_default();
            fields.retain(|key, _| !matches!(key.as_str(), "name" | "description"));
            push_fields(&mut text, &fields);
            push_findings(&mut text, &agent.diagnostics);
            push_findings(&mut text, agents.override_findings(agent));
            Ok(text)
        }
        Meant::Chain(name) => {
            let look = engine.discover(there, DiscoveryParts::ALL);
            let chains = &look.snapshot.chains;
            let chain = entries::find(chains.entries(), name)?;
            let mut text = definition_text(chains.entries(), chain);
            let steps = chain.file().map_or(&[][..], |file| file.steps.as_slice());
            for (at, step) in steps.iter().enumerate() {
                let _ = writeln!(text, "step {}: {}", at + 1, step_json(step));
            }
            push_findings(&mut text, &chain.diagnostics);
            Ok(text)
        }
    }
}

/// The rows that agents and chains have alike.
fn definition_text<P: Definition>(entries: Entries<'_, Defined<P>>, one: &Defined<P>) -> String {
    let mut text = format!(
        "name: {}\nstate: {}\n",
        one_line(one.name()),
        one.state().in_words()
    );
    for reason in one.reasons() {
        let why = format!("{}; {}", reason.message, reason.fix);
        let _ = writeln!(text, "reason: {}", one_line(&why));
    }
    if let Some(other) = one.stand_in().and_then(|at| entries.all.get(at)) {
        let _ = writeln!(text, "instead: {}", one_line(&entries.address(other)));
    }
    let description = one.description().unwrap_or("(none)");
    let location = entries.location(one);
    let _ = writeln!(text, "description: {}", one_line(description));
    let _ = writeln!(text, "location: {}", one_line(&location.to_string_lossy()));
    text
}

fn push_fields(text: &mut String, fields: &Map<String, Value>) {
    for (key, value) in fields {
        let value = match value {
            Value::String(value) => value.clone(),
            value => value.to_string(),
        };
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
}

fn create(there: &Environment, arguments: &CallArguments<'_>) -> Result<String, EngineError> {
    let mut config = config(arguments)?;
    let name = taken(&mut config, "name")?;
    let name = name.ok_or_else(|| EngineError::usage("`config` needs `name`"))?;
    let package = taken_package(&mut config)?;
    let own = scope(arguments, taken(&mut config, "scope")?.as_deref())?;
    let own = own.unwrap_or(LayerScope::User);
    if let Some(steps) = config.remove("steps") {
        let description = taken(&mut config, "description")?;
        let description =
            description.ok_or_else(|| EngineError::usage("`config` needs `description`"))?;
        refuse_rest(&config)?;
        let mut manager = Manager::new(there, &format!("chains create {name}"))?;
        let changed = manager.create_chain(&NewChain {
            name: &name,
            package: package.as_deref(),
            scope: own,
            description: &description,
            steps: &steps,
        })?;
        return Ok(in_words("create", &changed));
    }
    let asked = asked_fields(config)?;
    if let Some(FileEdit::Unset(field)) = asked.iter().find(|ask| matches!(ask, FileEdit::Unset(_)))
    {
        let message = format!("`{field}` of `config` is empty");
        return Err(EngineError::usage(message).hint("leave it out"));
    }
    let mut manager = Manager::new(there, &format!("agents create {name}"))?;
    let changed = manager.create(&NewAgent {
        host: None,
        name: &name,
        package: package.as_deref(),
        scope: own,
        edits: &asked,
    })?;
    Ok(in_words("create", &changed))
}

fn update(there: &Environment, arguments: &CallArguments<'_>) -> Result<String, EngineError> {
    let mut config = config(arguments)?;
    let (to, package) = (taken(&mut config, "name")?, taken_package(&mut config)?);
    let (scope, meant) = (scope(arguments, None)?, meant(arguments)?);
    let mut texts = Vec::new();
    if !config.is_empty() {
        let changed = match meant {
            Meant::Chain(name) => {
                let description = taken(&mut config, "description")?;
                let steps = config.remove("steps");
                refuse_rest(&config)?;
                let asks = ChainChanges {
                    description: description.as_deref(),
                    steps: steps.as_ref(),
                };
                let mut manager = Manager::new(there, &format!("chains edit {name}"))?;
                manager.edit_chain(name, scope, &asks)?
            }
            Meant::Agent(name) => {
                let asks = asked_fields(config)?;
                let mut manager = Manager::new(there, &format!("agents edit {name}"))?;
                manager.edit(name, scope, &asks)?
            }
        };
        texts.push(in_words("edit", &changed));
    }
    if to.is_some() || package.is_some() {
        let (name, kind, noun) = match meant {
            Meant::Agent(name) => (name, EntryKind::Agents, "agents"),
            Meant::Chain(name) => (name, EntryKind::Chains, "chains"),
        };
        let to = to.unwrap_or_else(|| name.rsplit('.').next().unwrap_or(name).to_owned());
        let mut manager = Manager::new(there, &format!("{noun} rename {name}"))?;
        let renaming = RenameRequest {
            name,
            to: &to,
            package: package.as_deref(),
            scope,
        };
        texts.push(in_words("rename", &manager.rename(kind, &renaming)?));
    }
    if texts.is_empty() {
        return Err(EngineError::usage("`config` names nothing to change"));
    }
    Ok(texts.concat())
}

fn delete(there: &Environment, arguments: &CallArguments<'_>) -> Result<String, EngineError> {
    let (name, kind, noun) = match meant(arguments)? {
        Meant::Agent(name) => (name, EntryKind::Agents, "agents"),
        Meant::Chain(name) => (name, EntryKind::Chains, "chains"),
    };
    let mut manager = Manager::new(there, &format!("{noun} delete {name}"))?;
    let changed = manager.delete(kind, name, scope(arguments, None)?)?;
    Ok(in_words("delete", &changed))
}

/// A change in lines, with its notes and findings.
fn in_words(action: &'static str, changed: &ChangeReport) -> String {
    let shown = |path: &Path| one_line(&path.to_string_lossy());
    let words = ChangeWords::of(action, changed, &shown);
    let mut text = format!("{}\n", words.done);
    for note in &words.notes {
        let _ = writeln!(text, "{note}");
    }
    push_findings(&mut text, &changed.warnings);
    text
}

/// The agent or the chain that a call is about.
#[derive(Clone, Copy)]
enum Meant<'a> {
    Agent(&'a str),
    Chain(&'a str),
}

fn meant<'a>(arguments: &CallArguments<'a>) -> Result<Meant<'a>, EngineError> {
    match (arguments.text("agent")?, arguments.text("chainName")?) {
        (Some(agent), None) => Ok(Meant::Agent(agent)),
        (None, Some(chain)) => Ok(Meant::Chain(chain)),
        _ => Err(EngineError::usage("give either `agent` or `chainName`")),
    }
}

fn scope(
    arguments: &CallArguments<'_>,
    in_config: Option<&str>,
) -> Result<Option<LayerScope>, EngineError> {
    match arguments.text("scope")?.or(in_config) {
        None => Ok(None),
        Some("user") => Ok(Some(LayerScope::User)),
        Some("project") => Ok(Some(LayerScope::Project)),
        Some(_) => Err(EngineError::usage("`scope` must be `user` or `project`")),
    }
}

/// Returns the fields to write, from an object or from the JSON of one.
fn config(arguments: &CallArguments<'_>) -> Result<Map<String, Value>, EngineError> {
    let wrong = |message: String| EngineError::usage(message);
    match arguments.0.get("config") {
        Some(Value::Object(config)) => Ok(config.clone()),
        Some(Value::String(text)) => serde_json::from_str(text)
            .map_err(|error| wrong(format!("`config` is not a JSON object: {error}"))),
        Some(_) => Err(wrong("`config` has to be an object".to_owned())),
        None => Err(wrong(
            "`config` is missing: it holds the fields of the agent or chain".to_owned(),
        )),
    }
}

/// Takes a text out of what is to be written.
fn taken(config: &mut Map<String, Value>, name: &str) -> Result<Option<String>, EngineError> {
    match config.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(EngineError::usage(format!(
            "`{name}` of `config` has to be text"
        ))),
    }
}

/// Takes the package out of what is to be written; `false` and nothing mean none, which is an empty one.
fn taken_package(config: &mut Map<String, Value>) -> Result<Option<String>, EngineError> {
    if let Some(Value::Null | Value::Bool(false)) = config.get("package") {
        config.remove("package");
        Ok(Some(String::new()))
    } else {
        let package = taken(config, "package")?;
        Ok(package.map(|text| if text == "false" { String::new() } else { text }))
    }
}

fn refuse_rest(config: &Map<String, Value>) -> Result<(), EngineError> {
    match config.keys().next() {
        None => Ok(()),
        Some(key) => {
            let key = grove_spec::text::one_line(key);
            let message = format!("a chain has no field `{key}`");
            Err(EngineError::usage(message).hint("it has `name`, `description` and `steps`"))
        }
    }
}

/// The changes to an agent's fields that `config` asks for.
fn asked_fields(config: Map<String, Value>) -> Result<Vec<FileEdit>, EngineError> {
    let (mut fields, mut unset, mut body) = (Vec::new(), Vec::new(), None);
    for (key, value) in config {
        let words = match value {
            Value::String(text) if key == "systemPrompt" => {
                body = Some(FileEdit::Body(text));
                continue;
            }
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null => String::new(),
            Value::Array(items) => {
                let items = items.iter().map(|item| {
                    let message = || format!("`{key}` of `config` has to be a list of texts");
                    item.as_str().ok_or_else(|| EngineError::usage(message()))
                });
                items.collect::<Result<Vec<_>, _>>()?.join(", ")
            }
            object @ Value::Object(_) => object.to_string(),
        };
        // `false` takes out what is no switch, as in the files of other hosts.
        if words.is_empty() || (words == "false" && !is_switch(&key)) {
            unset.push(FileEdit::Unset(key));
        } else {
            let name = match key.as_str() {
                "reads" => "defaultReads",
                "progress" => "defaultProgress",
                name => name,
            };
            fields.push(FileEdit::Set(name.to_owned(), words));
        }
    }
    fields.extend(unset);
    fields.extend(body);
    Ok(fields)
}

/// Returns true if a field of agents is a switch.
fn is_switch(key: &str) -> bool {
    let mut rows = grove_spec::agent::fields::FieldRow::in_files();
    rows.any(|row| row.key == key && row.takes.contains("false"))
}
