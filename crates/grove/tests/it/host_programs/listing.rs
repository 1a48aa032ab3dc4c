//! The lists of programs, taken out of a request and taken apart.

use std::collections::BTreeMap;

use grove_testkit::agent_program::AgentProgram;
use serde_json::Value;

/// One skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) location: Option<String>,
}

/// The list in a request, from its first line to its last.
pub(crate) fn real_text(program: AgentProgram, request: &Value) -> Option<String> {
    let (start, end) = match program {
        AgentProgram::Claude => ("The following skills are available", "</system-reminder>"),
        AgentProgram::Codex => ("### Skill roots\n", "</skills_instructions>"),
        AgentProgram::Copilot | AgentProgram::Pi => ("<available_skills>\n", "</available_skills>"),
    };
    let mut found = None;
    strings(request, &mut |text| {
        if let Some(from) = text.find(start)
            && found.is_none()
        {
            let text = &text[from..];
            let to = text.find(end).unwrap_or(text.len());
            found = Some(text[..to].to_owned());
        }
    });
    found
}

fn strings(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, visit)),
        Value::Object(values) => values.values().for_each(|value| strings(value, visit)),
        _ => {}
    }
}

/// The skills of a list, in its order.
pub(crate) fn parse(program: AgentProgram, text: &str) -> Vec<Listed> {
    match program {
        AgentProgram::Claude => bullets(text),
        AgentProgram::Codex => files(text),
        AgentProgram::Copilot | AgentProgram::Pi => elements(text),
    }
}

/// `- name: description`, where a description may go on for several lines.
fn bullets(text: &str) -> Vec<Listed> {
    let list = text.split_once("\n\n").map_or("", |(_, list)| list);
    let mut items: Vec<String> = Vec::new();
    for line in list.trim_end().lines() {
        match line.strip_prefix("- ") {
            Some(item) => items.push(item.to_owned()),
            None => {
                if let Some(last) = items.last_mut() {
                    last.push('\n');
                    last.push_str(line);
                }
            }
        }
    }
    let listed = |item: String| match item.split_once(": ") {
        Some((name, description)) => Listed {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            location: None,
        },
        None => Listed {
            name: item,
            description: None,
            location: None,
        },
    };
    items.into_iter().map(listed).collect()
}

/// `- name: description (file: r0/…)`, with the short names of roots replaced by what they stand for.
fn files(text: &str) -> Vec<Listed> {
    let (roots, list) = text
        .split_once("### Available skills\n")
        .unwrap_or_default();
    let roots: BTreeMap<&str, &str> = roots
        .lines()
        .filter_map(|line| {
            line.strip_prefix("- `")?
                .strip_suffix('`')?
                .split_once("` = `")
        })
        .collect();
    let listed = |line: &str| {
        let (start, file) = line.strip_suffix(')')?.rsplit_once("(file: ")?;
        let (name, description) = start.strip_prefix("- ")?.split_once(": ")?;
        let description = description.strip_suffix(' ').unwrap_or(description);
        let (root, below) = file.split_once('/')?;
        Some(Listed {
            name: name.to_owned(),
            description: (!description.is_empty()).then(|| description.to_owned()),
            location: Some(format!("{}/{below}", roots.get(root)?)),
        })
    };
    list.lines().filter_map(listed).collect()
}

/// Elements, then bare names.
fn elements(text: &str) -> Vec<Listed> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<skill>") {
        let (element, next) = after.split_once("</skill>").unwrap_or((after, ""));
        let part = |tag: &str| {
            let (_, after) = element.split_once(&format!("<{tag}>"))?;
            let (text, _) = after.split_once(&format!("</{tag}>"))?;
            Some(text.to_owned())
        };
        all.push(Listed {
            name: part("name").unwrap_or_default(),
            description: part("description"),
            location: part("location"),
        });
        rest = next;
    }
    let bare = rest
        .split_once("(invoke by name): ")
        .map(|(_, names)| names);
    let bare = bare.and_then(|names| names.lines().next()).unwrap_or("");
    let bare = bare.split_once("... and ").map_or(bare, |(names, _)| names);
    all.extend(
        bare.split(", ")
            .filter(|name| !name.is_empty())
            .map(|name| Listed {
                name: name.to_owned(),
                description: None,
                location: None,
            }),
    );
    all
}
