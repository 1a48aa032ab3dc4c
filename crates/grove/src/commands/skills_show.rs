//! `grove skills show NAME`.

use grove_catalog::Digest;
use grove_catalog::address::{self, AddressMatch};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_spec::json::{words_of, words_of_entries};
use grove_spec::text::one_line;
use serde_json::json;

use super::skills_list::{body_tokens, listed_tokens};
use super::{DiscoveredLibrary, Outcome, entry_listing, naming, path_text};
use crate::args::DiscoveryArgs;
use crate::json::{EntryJson, is_nothing, without_empty};
use crate::output::CommandOutput;

/// A skill's parent and children in the tree, by address.
struct TreeRelatives {
    parent: Option<String>,
    children: Vec<String>,
}

impl TreeRelatives {
    fn of(snapshot: &Snapshot, at: usize) -> Self {
        let address = |at: usize| Some(snapshot.address(snapshot.skills.get(at)?));
        let children = snapshot.tree.children(at).iter();
        Self {
            parent: snapshot.tree.parent(at).and_then(address),
            children: children.filter_map(|child| address(*child)).collect(),
        }
    }
}

pub(super) fn run(
    discovered: &DiscoveredLibrary,
    flags: &DiscoveryArgs,
    name: &str,
    out: &mut CommandOutput,
) -> Outcome {
    let snapshot = &discovered.snapshot;
    let found = match address::find(snapshot, name) {
        AddressMatch::One(at) => snapshot.skills.get(at).map(|skill| (at, skill)),
        AddressMatch::Several(all) => {
            let command = "grove skills show";
            return Err(naming::ambiguous(snapshot, command, flags, name, &all));
        }
        AddressMatch::None(near) => return Err(naming::unknown(snapshot, name, &near)),
    };
    let Some((at, skill)) = found else {
        return Err(naming::unknown(snapshot, name, &[]));
    };
    let family = TreeRelatives::of(snapshot, at);
    if flags.json {
        let bytes = discovered.sources.skills.read(skill);
        let all = json!({
            "schema": "grove.skills.show/1",
            "skill": EntryJson::new(snapshot.entries(), skill),
            "parent": family.parent,
            "children": family.children,
            "fields": fields(skill),
            // Of the file as it was read; none when it is not what it was a moment ago.
            "digest": bytes.map(|bytes| Digest::of(&bytes)),
        });
        out.json(&without_empty(all, &["parent", "children"]));
    } else {
        print(discovered, skill, &family, out);
    }
    Ok(0)
}

fn print(
    discovered: &DiscoveredLibrary,
    skill: &Skill,
    family: &TreeRelatives,
    out: &mut CommandOutput,
) {
    let (snapshot, environment) = (&discovered.snapshot, discovered.library.environment());
    let location = snapshot.location(&skill.place);
    entry_listing::rows(snapshot.entries(), skill, environment, out);
    let mut row = |label: &str, value: &str| {
        let value = match label {
            "parent" | "children" => path_text(value),
            _ => one_line(value),
        };
        entry_listing::row(label, &value, out);
    };
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
        let (told, body) = (listed_tokens(skill), body_tokens(skill));
        let cost = format!("about {told} in a list, {body} for its instructions");
        row("tokens", &cost);
    }
    let bytes = discovered.sources.skills.read(skill);
    if let Some(bytes) = &bytes {
        row("digest", &Digest::of(bytes).to_string());
    }
    let source = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let all = skill.all_diagnostics();
    let all: Vec<_> = all.map(|it| it.clone().in_file(&location)).collect();
    entry_listing::findings(&all, source.as_deref(), out);
}

fn stand_in<'a>(snapshot: &'a Snapshot, skill: &Skill) -> Option<&'a Skill> {
    skill.stand_in.and_then(|at| snapshot.skills.get(at))
}

fn invocation(snapshot: &Snapshot, skill: &Skill) -> String {
    let own = match (skill.model_invocable(), skill.user_invocable()) {
        (true, true) => "models and people",
        (true, false) => "models only",
        (false, true) => "people only",
        (false, false) => "neither models nor people",
    };
    let Some(other) = stand_in(snapshot, skill).filter(|_| own == "neither models nor people")
    else {
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

fn fields(skill: &Skill) -> serde_json::Value {
    let parsed = skill.file();
    let details = parsed.details();
    let all = json!({
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
        "metadata": words_of_entries(&parsed.metadata),
        "unknown": words_of_entries(&parsed.unknown),
        "requirements": parsed.requirements.as_deref().map(|needed| json!({
            "os": needed.os,
            "bins": needed.bins,
            "anyBins": needed.any_bins,
            "env": needed.env,
            "config": needed.config,
            "always": needed.always,
            "primaryEnv": needed.primary_env,
            "skillKey": needed.skill_key,
            "install": needed.install.iter().map(words_of).collect::<Vec<_>>(),
        })),
    });
    match all {
        serde_json::Value::Object(all) => {
            all.into_iter().filter(|(_, it)| !is_nothing(it)).collect()
        }
        other => other,
    }
}
