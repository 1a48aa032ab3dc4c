//! A chain as a file. What is printed is read as the same chain.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    Chain, Collect, Expand, FanOut, Format, Group, GroupSettings, OnEmpty, OutputSchema, Step,
    Task, parse,
};
use crate::agent::{OutputFile, OutputMode};
use crate::skill::print::{double_quoted, scalar_text};
use crate::yaml::Scalar;

/// A `.chain.md` cannot say everything that a chain can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotInMarkdown;

/// The chain as a `.chain.json`.
pub fn json(chain: &Chain) -> String {
    let mut file = Map::new();
    put(&mut file, "name", chain.name.as_ref());
    put(&mut file, "package", chain.package.as_ref());
    put(&mut file, "description", chain.description.as_ref());
    for (key, value) in &chain.extra {
        file.insert(key.clone(), value.clone());
    }
    let steps: Vec<Value> = chain.steps.iter().map(step_json).collect();
    file.insert("chain".to_owned(), steps.into());
    let text = serde_json::to_string_pretty(&file).unwrap_or_default();
    format!("{text}\n")
}

/// The chain as a `.chain.md`, if that can say it: groups and fan-outs it cannot.
pub fn markdown(chain: &Chain) -> Result<String, NotInMarkdown> {
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
    // Texts can hold what means something else in a file of lines: only reading it again tells.
    let read = parse(&text, Format::Markdown);
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

/// A step as it stands in a `.chain.md`.
pub(super) fn step_markdown(step: &Step) -> Result<String, NotInMarkdown> {
    let Step::One(task) = step else {
        return Err(NotInMarkdown);
    };
    let mut text = format!("## {}\n", task.agent);
    let list = |items: &Option<Vec<String>>| {
        items.as_ref().map(|items| {
            if items.is_empty() {
                "false".to_owned()
            } else {
                items.join(", ")
            }
        })
    };
    let schema = match &task.output_schema {
        None => None,
        Some(OutputSchema::File(path)) => Some(path.clone()),
        Some(OutputSchema::Inline(_)) => return Err(NotInMarkdown),
    };
    let acceptance = match &task.acceptance {
        None => None,
        Some(Value::String(level)) => Some(level.clone()),
        Some(Value::Bool(false)) => Some("false".to_owned()),
        Some(_) => return Err(NotInMarkdown),
    };
    let lines = [
        ("phase", task.phase.clone()),
        ("label", task.label.clone()),
        ("as", task.output_name.clone()),
        ("outputSchema", schema),
        ("cwd", task.cwd.clone()),
        ("output", task.output.as_ref().map(output_text)),
        ("outputMode", task.output_mode.map(mode_text)),
        ("reads", list(&task.reads)),
        ("progress", task.progress.map(|on| on.to_string())),
        ("skills", list(&task.skills)),
        ("model", task.model.clone()),
        ("acceptance", acceptance),
    ];
    for (key, value) in lines {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}: {value}");
        }
    }
    for (key, value) in &task.unknown {
        let _ = writeln!(text, "{key}: {}", value.as_str().unwrap_or_default());
    }
    // The empty line is what ends the settings, also where there is no task.
    text.push('\n');
    if let Some(task) = &task.task {
        let _ = writeln!(text, "{task}");
    }
    Ok(text)
}

fn output_text(output: &OutputFile) -> String {
    match output {
        OutputFile::None => "false".to_owned(),
        OutputFile::File(path) => path.clone(),
    }
}

fn mode_text(mode: OutputMode) -> String {
    match mode {
        OutputMode::Inline => "inline".to_owned(),
        OutputMode::FileOnly => "file-only".to_owned(),
    }
}

/// A step as an object of a `.chain.json`.
pub fn step_json(step: &Step) -> Value {
    match step {
        Step::One(task) => task_json(task),
        Step::Parallel(group) => {
            let Group { tasks, settings } = &**group;
            let mut object = settings_json(settings);
            let tasks: Vec<Value> = tasks.iter().map(task_json).collect();
            object.insert("parallel".to_owned(), tasks.into());
            object.into()
        }
        Step::FanOut(fan_out) => {
            let FanOut {
                expand,
                template,
                collect,
                settings,
            } = &**fan_out;
            let mut object = settings_json(settings);
            object.insert("expand".to_owned(), expand_json(expand));
            object.insert("parallel".to_owned(), task_json(template));
            object.insert("collect".to_owned(), collect_json(collect));
            object.into()
        }
    }
}

fn task_json(task: &Task) -> Value {
    let mut object = Map::new();
    object.insert("agent".to_owned(), task.agent.clone().into());
    put(&mut object, "task", task.task.as_ref());
    put(&mut object, "phase", task.phase.as_ref());
    put(&mut object, "label", task.label.as_ref());
    put(&mut object, "as", task.output_name.as_ref());
    put_schema(&mut object, task.output_schema.as_ref());
    put(&mut object, "cwd", task.cwd.as_ref());
    let output = task.output.as_ref().map(|output| match output {
        OutputFile::None => json!(false),
        OutputFile::File(path) => json!(path),
    });
    put(&mut object, "output", output);
    put(&mut object, "outputMode", task.output_mode.map(mode_text));
    put(&mut object, "reads", task.reads.as_ref().map(list_json));
    put(&mut object, "progress", task.progress);
    put(&mut object, "skill", task.skills.as_ref().map(list_json));
    put(&mut object, "model", task.model.as_ref());
    put(&mut object, "acceptance", task.acceptance.clone());
    put(&mut object, "count", task.count);
    object.extend(task.unknown.iter().cloned());
    object.into()
}

fn settings_json(settings: &GroupSettings) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "phase", settings.phase.as_ref());
    put(&mut object, "label", settings.label.as_ref());
    put(&mut object, "concurrency", settings.concurrency);
    put(&mut object, "failFast", settings.fail_fast);
    put(&mut object, "worktree", settings.worktree);
    put(&mut object, "cwd", settings.cwd.as_ref());
    put(&mut object, "acceptance", settings.acceptance.clone());
    object.extend(settings.unknown.iter().cloned());
    object
}

fn expand_json(expand: &Expand) -> Value {
    let mut object = Map::new();
    let from = json!({"output": expand.output, "path": expand.path});
    object.insert("from".to_owned(), from);
    put(&mut object, "item", expand.item.as_ref());
    put(&mut object, "key", expand.key.as_ref());
    put(&mut object, "maxItems", expand.max_items);
    let on_empty = expand.on_empty.map(|mode| match mode {
        OnEmpty::Skip => "skip",
        OnEmpty::Fail => "fail",
    });
    put(&mut object, "onEmpty", on_empty);
    object.extend(expand.unknown.iter().cloned());
    object.into()
}

fn collect_json(collect: &Collect) -> Value {
    let mut object = Map::new();
    object.insert("as".to_owned(), collect.output_name.clone().into());
    put_schema(&mut object, collect.output_schema.as_ref());
    object.extend(collect.unknown.iter().cloned());
    object.into()
}

fn list_json(items: &Vec<String>) -> Value {
    if items.is_empty() {
        json!(false)
    } else {
        json!(items)
    }
}

fn put_schema(object: &mut Map<String, Value>, schema: Option<&OutputSchema>) {
    let value = schema.map(|schema| match schema {
        OutputSchema::File(path) => json!(path),
        OutputSchema::Inline(schema) => schema.clone(),
    });
    put(object, "outputSchema", value);
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
        object.insert(key.to_owned(), value);
    }
}
