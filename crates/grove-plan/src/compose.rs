//! The text for a child whose task names the outputs of others: variables are put in by one literal pass.

use std::collections::BTreeMap;

/// The title above the output of the step before when the task does not say where the output goes.
const PREVIOUS_TITLE: &str = "Previous step output:";

/// The values of the variables of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `{task}`: the task of the whole run.
    pub task: String,
    /// `{previous}`: the output of the step before.
    pub previous: String,
    /// `{chain_dir}`: a folder of this run.
    pub chain_dir: String,
    /// `{outputs.NAME}`: the outputs of earlier steps.
    pub outputs: BTreeMap<String, String>,
    /// The item of a step that runs for each item of a list.
    pub item: Option<ItemValue>,
}

/// An item of a list, as a task can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemValue {
    /// The name of the item in the task.
    pub name: String,
    /// The value of the item.
    pub value: serde_json::Value,
    /// Its key as it stands in the id of its node: `{item#key}`.
    pub key: String,
}

/// Puts the variables into a task, in one pass: what is put in is not looked at again. If the task does not name the output
/// of the step before, that output stands below; a task for one item of a list is about the item, and has that alone.
pub fn compose(template: &str, variables: &Variables) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    let mut has_previous = false;
    while let Some(at) = rest.find('{') {
        let (before, braces) = rest.split_at(at);
        text.push_str(before);
        let value = braces.find('}').and_then(|end| {
            let name = braces.get(1..end)?;
            has_previous |= name == "previous";
            let value = value_of(name, variables)?;
            Some((value, braces.get(end + 1..).unwrap_or_default()))
        });
        if let Some((value, after)) = value {
            text.push_str(&value);
            rest = after;
        } else {
            text.push('{');
            rest = braces.get(1..).unwrap_or_default();
        }
    }
    text.push_str(rest);
    let is_of_item = variables.item.is_some();
    if !has_previous && !is_of_item && !variables.previous.trim().is_empty() {
        text = format!("{text}\n\n---\n{PREVIOUS_TITLE}\n{}", variables.previous);
    }
    text
}

fn value_of(name: &str, variables: &Variables) -> Option<String> {
    match name {
        "task" => return Some(variables.task.clone()),
        "previous" => return Some(variables.previous.clone()),
        "chain_dir" => return Some(variables.chain_dir.clone()),
        _ => {}
    }
    if let Some(output) = name.strip_prefix("outputs.") {
        return variables.outputs.get(output).cloned();
    }
    let item = variables.item.as_ref()?;
    if name.strip_prefix(item.name.as_str()) == Some("#key") {
        return Some(item.key.clone());
    }
    value_of_item(name, &item.name, &item.value)
}

/// Returns the first variable in a text that is a part of an item and that the item does not have.
pub(crate) fn missing_of_item<'a>(
    text: &'a str,
    item: &str,
    value: &serde_json::Value,
) -> Option<&'a str> {
    let mut marks = text.split('{').skip(1).filter_map(|rest| {
        let (mark, _) = rest.split_once('}')?;
        Some(mark)
    });
    marks.find(|mark| {
        let path = mark.strip_prefix(item);
        let is_of_item = path.is_some_and(|path| path.starts_with('.'));
        is_of_item && value_of_item(mark, item, value).is_none()
    })
}

fn value_of_item(name: &str, item: &str, value: &serde_json::Value) -> Option<String> {
    let path = name.strip_prefix(item)?;
    let mut value = value;
    for part in path.split('.').skip(1) {
        value = match part.parse::<usize>() {
            Ok(at) if value.is_array() => value.get(at)?,
            _ => value.get(part)?,
        };
    }
    // `{items}` is not `{item}`.
    let is_it = path.is_empty() || path.starts_with('.');
    is_it.then(|| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_are_put_in_once_and_literally() {
        let variables = Variables {
            task: "say $& and {previous}".to_owned(),
            previous: "before {task}".to_owned(),
            chain_dir: "/c".to_owned(),
            outputs: BTreeMap::from([("plan".to_owned(), "P{chain_dir}".to_owned())]),
            item: Some(ItemValue {
                name: "file".to_owned(),
                value: json!({"path": "a.rs", "n": [7, 8]}),
                key: "a-rs".to_owned(),
            }),
        };
        for (template, expected) in [
            ("{task}|{previous}", "say $& and {previous}|before {task}"),
            ("{previous}{outputs.plan}", "before {task}P{chain_dir}"),
            (
                "{previous}{outputs.none} {x} {",
                "before {task}{outputs.none} {x} {",
            ),
            ("{previous}{file.path}:{file.n.1}", "before {task}a.rs:8"),
            ("{previous}{file#key}", "before {task}a-rs"),
            (
                "{previous}{files} {file.none}",
                "before {task}{files} {file.none}",
            ),
            (
                "{previous}{file}",
                "before {task}{\"path\":\"a.rs\",\"n\":[7,8]}",
            ),
            ("{{task}}{previous}", "{say $& and {previous}}before {task}"),
            ("look at {file.path}", "look at a.rs"),
        ] {
            assert_eq!(compose(template, &variables), expected, "{template}");
        }
        let of_step = Variables {
            item: None,
            ..variables
        };
        let expected = "do it\n\n---\nPrevious step output:\nbefore {task}";
        assert_eq!(compose("do it", &of_step), expected);
        assert_eq!(compose("do it", &Variables::default()), "do it");
    }
}
