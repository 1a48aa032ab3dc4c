//! A chain as a file. Law: a printed chain is read back as the same chain.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{ChainFile, ChainFormat, ChainStep, Expand, ParallelTasks, RepeatedTask, parse};
use crate::skill::print::{double_quoted, scalar_text};
use crate::yaml::Scalar;

/// An error for a chain that a `.chain.md` cannot express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotInMarkdown;

/// Returns the chain as a `.chain.json`.
pub fn json(chain: &ChainFile) -> String {
    let text = serde_json::to_string_pretty(chain).unwrap_or_default();
    format!("{text}\n")
}

pub(super) fn value(chain: &ChainFile) -> Value {
    let mut file = Map::new();
    put(&mut file, "name", chain.name.as_ref());
    put(&mut file, "package", chain.package.as_ref());
    put(&mut file, "description", chain.description.as_ref());
    for (key, value) in &chain.extra {
        file.insert(key.clone(), value.clone());
    }
    let steps: Vec<Value> = chain.steps.iter().map(step_json).collect();
    file.insert("chain".to_owned(), steps.into());
    file.into()
}

/// Returns the chain as a `.chain.md`, if that can express it: it has no groups and fan-outs.
pub fn markdown(chain: &ChainFile) -> Result<String, NotInMarkdown> {
    let mut text = String::from("---\n");
    let head = [
        ("name", &chain.name),
        ("package", &chain.package),
        ("description", &chain.description),
    ];
    for (key, value) in head {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}: {}", scalar(value));
        }
    }
    for (key, value) in &chain.extra {
        let written = match value {
            Value::String(text) => scalar(text),
            // JSON is YAML, as long as it is on one line.
            other => other.to_string(),
        };
        let _ = writeln!(text, "{}: {written}", scalar(key));
    }
    text.push_str("---\n");
    if !chain.intro.is_empty() {
        let _ = write!(text, "\n{}\n", chain.intro);
    }
    for step in &chain.steps {
        text.push('\n');
        text.push_str(&step_markdown(step)?);
    }
    // Text in a chain can look like part of the file's form, which only reading the file again can tell.
    let read = parse(&text, ChainFormat::Markdown);
    if read.chain == *chain {
        Ok(text)
    } else {
        Err(NotInMarkdown)
    }
}

fn scalar(text: &str) -> String {
    let is_one_line = !text.contains(|c: char| c.is_control());
    if is_one_line {
        scalar_text(&Scalar {
            text: text.to_owned(),
            plain: false,
        })
    } else {
        double_quoted(text)
    }
}

pub(super) fn step_markdown(step: &ChainStep) -> Result<String, NotInMarkdown> {
    let ChainStep::One(task) = step else {
        return Err(NotInMarkdown);
    };
    let mut text = format!("## {}\n", task.agent);
    let mut keys = task.keys();
    for (key, _) in &task.unknown {
        keys.remove(key);
    }
    for (key, value) in keys {
        let key = match key.as_str() {
            "agent" | "task" => continue,
            "skill" => "skills",
            other => other,
        };
        let _ = writeln!(text, "{key}: {}", line(&value)?);
    }
    for (key, value) in &task.unknown {
        let _ = writeln!(text, "{key}: {}", value.as_str().unwrap_or_default());
    }
    // The empty line ends the settings, so it is written even without a task.
    text.push('\n');
    if let Some(task) = &task.task {
        let _ = writeln!(text, "{task}");
    }
    Ok(text)
}

fn line(value: &Value) -> Result<String, NotInMarkdown> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(items) => {
            let items = items.iter().map(line).collect::<Result<Vec<_>, _>>()?;
            Ok(items.join(", "))
        }
        Value::Object(_) => Err(NotInMarkdown),
        word => Ok(word.to_string()),
    }
}

/// Returns a step as an object of a `.chain.json`.
pub fn step_json(step: &ChainStep) -> Value {
    match step {
        ChainStep::One(task) => task.keys().into(),
        ChainStep::Parallel(group) => {
            let ParallelTasks { tasks, settings } = &**group;
            let mut object = settings.keys();
            let tasks: Vec<Value> = tasks.iter().map(|task| task.keys().into()).collect();
            object.insert("parallel".to_owned(), tasks.into());
            object.into()
        }
        ChainStep::FanOut(fan_out) => {
            let RepeatedTask {
                expand,
                template,
                collect,
                settings,
            } = &**fan_out;
            let mut object = settings.keys();
            object.insert("expand".to_owned(), expand_json(expand));
            object.insert("parallel".to_owned(), template.keys().into());
            object.insert("collect".to_owned(), collect.keys().into());
            object.into()
        }
    }
}

fn expand_json(expand: &Expand) -> Value {
    let mut object = Map::new();
    let keys = expand.keys();
    if let Some(items) = &expand.items {
        // A list without items must stay a list.
        object.insert("items".to_owned(), items.clone().into());
    } else {
        let from = json!({"output": expand.output, "path": expand.path});
        object.insert("from".to_owned(), from);
    }
    object.extend(keys.into_iter().filter(|(key, _)| key != "items"));
    object.into()
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<&String>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.clone().into());
    }
}
