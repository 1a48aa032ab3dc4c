//! Agents and chains by the tool: the commands that people have for them, and what those say.

use std::fmt::Write as _;

use grove_catalog::agent_catalog::{AskedAgents, agent_catalog};
use grove_catalog::agents::Agent;
use grove_catalog::root::Source;
use grove_server::SubagentAnswer;
use grove_skills::{Parts, Request};
use serde_json::{Map, Value};

use super::{Said, SubagentTool, said_by};
use crate::args::{
    AgentLook, AgentsCommand, AskedFields, ChainLook, ChainsCommand, DeleteArgs, NamedArgs,
    OwnScope, RenameArgs, Whose,
};
use crate::command_error::CommandError;
use crate::commands::{Looked, agents, chains, counted, doctor};

/// What a list shows of chains.
pub(super) fn chains(tool: &SubagentTool, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
    let command = ChainsCommand::List {
        look: ChainLook::default(),
        json: false,
    };
    said_by(|out| chains::run(tool.environment_in(said)?, &command, out))
}

/// What a list shows of agents, within its budget: those of a group, those that fit a task, or all.
pub(super) fn agents(
    tool: &SubagentTool,
    group: Option<&str>,
    said: &Said<'_>,
) -> Result<SubagentAnswer, CommandError> {
    let request = Request {
        parts: Parts::AGENTS,
        ..Request::default()
    };
    let looked = Looked::new(tool.environment_in(said)?, request);
    let agents = &looked.look.snapshot.agents;
    let scope = match said.text("scope")? {
        Some("user") => Some(Source::User),
        Some("project") => Some(Source::Project),
        _ => None,
    };
    let source = |agent: &Agent| agents.roots.get(agent.root).map(|root| root.source);
    let is_meant = |agent: &Agent| scope.is_none_or(|scope| source(agent) == Some(scope));
    let settings = &looked.look.world.settings.settings;
    let asked = AskedAgents {
        bytes: settings.limits.agent_list_bytes.count(),
        group,
        task: said.text("task")?,
    };
    let Some(mut text) = agent_catalog(agents, &asked, is_meant) else {
        let group = grove_spec::text::one_line(group.unwrap_or_default());
        let message = format!("there is no group of agents `{group}`");
        return Err(CommandError::usage(message).hint("`action: list` names the groups"));
    };
    let unusable = |agent: &&Agent| !agent.state.is_usable() && is_meant(agent);
    let unusable = agents.all.iter().filter(unusable).count();
    if unusable > 0 && group.is_none() && asked.task.is_none() {
        let agents = counted(unusable, "more agent");
        let _ = writeln!(text, "{agents} cannot be used; `action: doctor` says why");
    }
    Ok(SubagentAnswer::text(text))
}

/// What is to be done with which file.
enum Meant<'a> {
    Agent(&'a str),
    Chain(&'a str),
}

/// Does the actions that are about files.
pub(super) fn act(
    tool: &SubagentTool,
    action: &str,
    said: &Said<'_>,
) -> Result<SubagentAnswer, CommandError> {
    let there = tool.environment_in(said)?;
    match action {
        "doctor" => {
            let request = Request {
                parts: Parts::ALL,
                ..Request::default()
            };
            let looked = Looked::new(there, request);
            said_by(|out| Ok(doctor::run(&looked, false, out)))
        }
        "get" => match meant(said)? {
            Meant::Agent(name) => {
                let command = AgentsCommand::Show {
                    name: name.to_owned(),
                    look: AgentLook::default(),
                    json: false,
                };
                said_by(|out| agents::run(there, &command, out))
            }
            Meant::Chain(name) => {
                let command = ChainsCommand::Show {
                    name: name.to_owned(),
                    look: ChainLook::default(),
                    json: false,
                };
                said_by(|out| chains::run(there, &command, out))
            }
        },
        "create" | "update" | "delete" if tool.runs()?.is_child => Err(CommandError::usage(
            "a child may not change agents or chains",
        )),
        "create" => create(tool, said),
        "update" => update(tool, said),
        "delete" => {
            let named = |name: &str| -> Result<DeleteArgs, CommandError> {
                Ok(DeleteArgs {
                    named: NamedArgs {
                        name: name.to_owned(),
                        whose: whose(said)?,
                    },
                    yes: true,
                })
            };
            match meant(said)? {
                Meant::Agent(name) => {
                    let command = AgentsCommand::Delete(named(name)?);
                    said_by(|out| agents::run(there, &command, out))
                }
                Meant::Chain(name) => {
                    let command = ChainsCommand::Delete(named(name)?);
                    said_by(|out| chains::run(there, &command, out))
                }
            }
        }
        unknown => {
            let names = grove_plan::subagent_tool::ACTIONS.iter().map(|it| it.name);
            let names = names.collect::<Vec<_>>().join(", ");
            let unknown = grove_spec::text::one_line(unknown);
            Err(
                CommandError::usage(format!("there is no action `{unknown}`"))
                    .hint(format!("the actions are {names}")),
            )
        }
    }
}

fn create(tool: &SubagentTool, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
    let there = tool.environment_in(said)?;
    let mut config = config(said)?;
    let name = taken(&mut config, "name")?;
    let name = name.ok_or_else(|| CommandError::usage("`config` needs `name`"))?;
    let package = taken_package(&mut config)?;
    let own = scope(said, taken(&mut config, "scope")?.as_deref())?.unwrap_or(OwnScope::User);
    if let Some(steps) = config.remove("steps") {
        let description = taken(&mut config, "description")?;
        let command = ChainsCommand::Create {
            name,
            package,
            description: description
                .ok_or_else(|| CommandError::usage("`config` needs `description`"))?,
            steps: steps.to_string(),
            scope: own,
            json: false,
        };
        refuse_rest(&config)?;
        return said_by(|out| chains::run(there, &command, out));
    }
    let (asked, unset) = asked_fields(config)?;
    if let Some(field) = unset.first() {
        let message = format!("`{field}` of `config` is empty");
        return Err(CommandError::usage(message).hint("leave it out"));
    }
    let command = AgentsCommand::Create {
        host: None,
        name,
        package,
        asked,
        scope: own,
        json: false,
    };
    said_by(|out| agents::run(there, &command, out))
}

fn update(tool: &SubagentTool, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
    let there = tool.environment_in(said)?;
    let mut config = config(said)?;
    let (to, package) = (taken(&mut config, "name")?, taken_package(&mut config)?);
    let whose = whose(said)?;
    let meant = meant(said)?;
    let (Meant::Agent(name) | Meant::Chain(name)) = meant;
    let is_chain = matches!(meant, Meant::Chain(_));
    let mut texts = Vec::new();
    if !config.is_empty() {
        let whose = whose.clone();
        let changed = if is_chain {
            let command = ChainsCommand::Edit {
                name: name.to_owned(),
                description: taken(&mut config, "description")?,
                steps: config.remove("steps").map(|steps| steps.to_string()),
                whose,
            };
            refuse_rest(&config)?;
            said_by(|out| chains::run(there.clone(), &command, out))?
        } else {
            let (asked, unset) = asked_fields(config)?;
            let command = AgentsCommand::Edit {
                name: name.to_owned(),
                asked,
                unset,
                overriding: false,
                whose,
            };
            said_by(|out| agents::run(there.clone(), &command, out))?
        };
        texts.push(changed.text);
    }
    if to.is_some() || package.is_some() {
        let renaming = RenameArgs {
            name: name.to_owned(),
            to: to.unwrap_or_else(|| name.rsplit('.').next().unwrap_or(name).to_owned()),
            package,
            whose,
        };
        let renamed = if is_chain {
            said_by(|out| chains::run(there, &ChainsCommand::Rename(renaming), out))?
        } else {
            said_by(|out| agents::run(there, &AgentsCommand::Rename(renaming), out))?
        };
        texts.push(renamed.text);
    }
    if texts.is_empty() {
        return Err(CommandError::usage("`config` names nothing to change"));
    }
    Ok(SubagentAnswer::text(texts.concat()))
}

fn meant<'a>(said: &Said<'a>) -> Result<Meant<'a>, CommandError> {
    match (said.text("agent")?, said.text("chainName")?) {
        (Some(agent), None) => Ok(Meant::Agent(agent)),
        (None, Some(chain)) => Ok(Meant::Chain(chain)),
        _ => Err(CommandError::usage("give either `agent` or `chainName`")),
    }
}

fn scope(said: &Said<'_>, in_config: Option<&str>) -> Result<Option<OwnScope>, CommandError> {
    match said.text("scope")?.or(in_config) {
        None => Ok(None),
        Some("user") => Ok(Some(OwnScope::User)),
        Some("project") => Ok(Some(OwnScope::Project)),
        Some(_) => Err(CommandError::usage("`scope` must be `user` or `project`")),
    }
}

fn whose(said: &Said<'_>) -> Result<Whose, CommandError> {
    Ok(Whose {
        scope: scope(said, None)?,
        json: false,
    })
}

/// What is to be written, as an object or as the JSON of one.
fn config(said: &Said<'_>) -> Result<Map<String, Value>, CommandError> {
    let wrong = |message: String| CommandError::usage(message);
    match said.0.get("config") {
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
fn taken(config: &mut Map<String, Value>, name: &str) -> Result<Option<String>, CommandError> {
    match config.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(CommandError::usage(format!(
            "`{name}` of `config` has to be text"
        ))),
    }
}

/// Takes the package out of what is to be written; `false` and nothing mean none, which is an empty one.
fn taken_package(config: &mut Map<String, Value>) -> Result<Option<String>, CommandError> {
    if let Some(Value::Null | Value::Bool(false)) = config.get("package") {
        config.remove("package");
        Ok(Some(String::new()))
    } else {
        let package = taken(config, "package")?;
        Ok(package.map(|text| if text == "false" { String::new() } else { text }))
    }
}

fn refuse_rest(config: &Map<String, Value>) -> Result<(), CommandError> {
    match config.keys().next() {
        None => Ok(()),
        Some(key) => {
            let key = grove_spec::text::one_line(key);
            let message = format!("a chain has no field `{key}`");
            Err(CommandError::usage(message).hint("it has `name`, `description` and `steps`"))
        }
    }
}

/// The fields of an agent as its commands take them, and those that are to be taken out.
fn asked_fields(config: Map<String, Value>) -> Result<(AskedFields, Vec<String>), CommandError> {
    let (mut asked, mut unset) = (AskedFields::default(), Vec::new());
    for (key, value) in config {
        let words = match value {
            Value::String(text) if key == "systemPrompt" => {
                asked.body = Some(text);
                continue;
            }
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null => String::new(),
            Value::Array(items) => {
                let items = items.iter().map(|item| {
                    let message = || format!("`{key}` of `config` has to be a list of texts");
                    item.as_str().ok_or_else(|| CommandError::usage(message()))
                });
                items.collect::<Result<Vec<_>, _>>()?.join(", ")
            }
            object @ Value::Object(_) => object.to_string(),
        };
        // `false` takes out what is no switch, as in the files of other hosts.
        if words.is_empty() || (words == "false" && !is_switch(&key)) {
            unset.push(key);
        } else {
            let name = match key.as_str() {
                "reads" => "defaultReads",
                "progress" => "defaultProgress",
                name => name,
            };
            asked.fields.push((name.to_owned(), words));
        }
    }
    Ok((asked, unset))
}

/// Whether a field of agents is true or false.
fn is_switch(key: &str) -> bool {
    let mut rows = grove_spec::agent::fields::FieldRow::in_files();
    rows.any(|row| row.key == key && row.takes.contains("false"))
}
