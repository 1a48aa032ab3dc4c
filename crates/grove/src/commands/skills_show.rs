//! `grove skills show NAME`.

use grove_catalog::Digest;
use grove_catalog::address::{self, Answer};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_spec::text::one_line;
use grove_spec::yaml::{Entry, Node, Value};
use serde::Serialize;
use serde_json::json;

use super::{Looked, Outcome, naming, path_text, tilde};
use crate::args::Look;
use crate::json::EntryJson;
use crate::output::Output;

#[derive(Serialize)]
struct ShowJson<'a> {
    schema: &'static str,
    skill: EntryJson<'a>,
    /// Addresses of the skills it hangs together with.
    #[serde(flatten)]
    family: Family,
    fields: serde_json::Value,
    /// Of the file as it was read; none when it is not what it was a moment ago.
    digest: Option<String>,
}

/// A skill's parent and children in the tree, by address.
#[derive(Serialize)]
struct Family {
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<String>,
}

impl Family {
    fn of(snapshot: &Snapshot, at: usize) -> Self {
        let address = |at: usize| Some(snapshot.address(snapshot.skills.get(at)?));
        let children = snapshot.tree.children(at).iter();
        Self {
            parent: snapshot.tree.parent(at).and_then(address),
            children: children.filter_map(|child| address(*child)).collect(),
        }
    }
}

pub(super) fn run(looked: &Looked, flags: &Look, name: &str, out: &mut Output) -> Outcome {
    let snapshot = &looked.snapshot;
    let found = match address::find(snapshot, name) {
        Answer::One(at) => snapshot.skills.get(at).map(|skill| (at, skill)),
        Answer::Several(all) => {
            let command = "grove skills show";
            return Err(naming::ambiguous(snapshot, command, flags, name, &all));
        }
        Answer::None { near } => return Err(naming::unknown(snapshot, name, &near)),
    };
    let Some((at, skill)) = found else {
        return Err(naming::unknown(snapshot, name, &[]));
    };
    let family = Family::of(snapshot, at);
    if flags.json {
        out.json(&ShowJson {
            schema: "grove.skills.show/1",
            skill: EntryJson::new(snapshot.entries(), skill),
            family,
            fields: fields(skill),
            digest: looked
                .sources
                .skills
                .read(skill)
                .map(|bytes| Digest::of(&bytes).to_string()),
        });
    } else {
        print(looked, skill, &family, out);
    }
    Ok(0)
}

fn print(looked: &Looked, skill: &Skill, family: &Family, out: &mut Output) {
    let (snapshot, environment) = (&looked.snapshot, looked.library.environment());
    let location = snapshot.location(&skill.place);
    let mut row = |label: &str, value: &str| {
        let value = match label {
            "id" | "location" | "also at" | "parent" | "children" => path_text(value),
            _ => one_line(value),
        };
        out.line(&format!("{label:<12} {value}"));
    };
    row("name", skill.name());
    row("id", skill.id());
    row("state", skill.state.as_str());
    for reason in &skill.reasons {
        row("", &format!("{}; {}", reason.message, reason.fix));
    }
    if let Some(other) = stand_in(snapshot, skill) {
        row("instead", &snapshot.address(other));
    }
    row("description", skill.description().unwrap_or("(none)"));
    row("location", &tilde(&location, environment));
    for place in &skill.also_at {
        row("also at", &tilde(&snapshot.location(place), environment));
    }
    row(
        "root",
        snapshot
            .root_of(skill)
            .map_or("", |root| root.label.as_str()),
    );
    if let Some(parent) = &family.parent {
        row("parent", parent);
    }
    for child in &family.children {
        row("children", child);
    }
    row("for", &invocation(snapshot, skill));
    let details = skill.file().details();
    for (label, value) in [
        ("license", details.license.as_deref()),
        ("needs", details.compatibility.as_deref()),
        ("when", details.when_to_use.as_deref()),
        ("model", details.model.as_deref()),
        ("homepage", details.homepage.as_deref()),
        ("arguments", details.argument_hint.as_deref()),
    ] {
        if let Some(value) = value {
            row(label, value);
        }
    }
    if !details.allowed_tools.is_empty() {
        row("tools", &details.allowed_tools.join(", "));
    }
    if let Some(needed) = skill.file().requirements.as_deref() {
        for (label, names) in [
            ("os", &needed.os),
            ("programs", &needed.bins),
            ("one of", &needed.any_bins),
            ("variables", &needed.env),
            ("config", &needed.config),
        ] {
            if !names.is_empty() {
                row(label, &names.join(", "));
            }
        }
    }
    let content = &skill.content;
    if !content.is_refused() {
        row("size", &format!("{} bytes", content.size));
    }
    let bytes = looked.sources.skills.read(skill);
    if let Some(bytes) = &bytes {
        row("digest", &Digest::of(bytes).to_string());
    }
    let source = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    for finding in skill.all_diagnostics() {
        out.line("");
        out.text(&grove_spec::render::render(
            &finding.clone().in_file(&location),
            source.as_deref(),
        ));
    }
}

fn stand_in<'a>(snapshot: &'a Snapshot, skill: &Skill) -> Option<&'a Skill> {
    skill.stand_in.and_then(|at| snapshot.skills.get(at))
}

fn invocation(snapshot: &Snapshot, skill: &Skill) -> String {
    let own = match (skill.model_invocable(), skill.user_invocable()) {
        (true, true) => "models and people",
        (true, false) => "models only",
        (false, true) => "people only",
        (false, false) => "nobody",
    };
    let Some(other) = stand_in(snapshot, skill).filter(|_| own == "nobody") else {
        return own.to_owned();
    };
    let who = match (other.model_invocable(), other.user_invocable()) {
        (true, true) => "models and people use",
        (true, false) => "models use",
        (false, true) => "people use",
        (false, false) => return own.to_owned(),
    };
    format!("{own}; {who} `{}` instead", snapshot.address(other))
}

/// Every field of the frontmatter that has a value.
fn fields(skill: &Skill) -> serde_json::Value {
    let parsed = skill.file();
    let details = parsed.details();
    without_nothing(json!({
        "license": details.license,
        "compatibility": details.compatibility,
        "allowedTools": details.allowed_tools,
        "argumentHint": details.argument_hint,
        "arguments": details.arguments,
        "whenToUse": details.when_to_use,
        "paths": details.paths,
        "model": details.model,
        "context": details.context,
        "agent": details.agent,
        "homepage": details.homepage,
        "emoji": details.emoji,
        "commandDispatch": details.command_dispatch,
        "commandTool": details.command_tool,
        "commandArgMode": details.command_arg_mode,
        "metadata": entries(&parsed.metadata),
        "unknown": entries(&parsed.unknown),
        "requirements": parsed.requirements.as_deref().map(|needed| json!({
            "os": needed.os,
            "bins": needed.bins,
            "anyBins": needed.any_bins,
            "env": needed.env,
            "config": needed.config,
            "always": needed.always,
            "primaryEnv": needed.primary_env,
            "skillKey": needed.skill_key,
            "install": needed.install.iter().map(node).collect::<Vec<_>>(),
        })),
    }))
}

/// An object without the keys that say nothing.
pub(super) fn without_nothing(mut all: serde_json::Value) -> serde_json::Value {
    if let Some(map) = all.as_object_mut() {
        map.retain(|_, value| {
            !(value.is_null()
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty))
        });
    }
    all
}

pub(super) fn entries(entries: &[Entry]) -> serde_json::Value {
    serde_json::Value::Object(
        entries
            .iter()
            .map(|entry| (entry.key.to_string(), node(&entry.value)))
            .collect(),
    )
}

pub(super) fn node(value: &Node) -> serde_json::Value {
    match &value.value {
        Value::Text(scalar) if scalar.is_null() => serde_json::Value::Null,
        Value::Text(scalar) => serde_json::Value::String(scalar.text.clone()),
        Value::List(items) => items.iter().map(node).collect(),
        Value::Map(map) => entries(map),
    }
}
