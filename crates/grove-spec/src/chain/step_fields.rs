//! The reading of a step's keys into its fields, the same for both formats.

use serde_json::{Map, Value as Json};

use super::{
    ChainFormat, ChainPosition, ChainStep, ChainTask, Collect, Expand, GroupSettings, MAX_TASKS,
    ParallelTasks, RepeatedTask, TaskPlaces,
};
use crate::agent::{OutputFile, OutputMode};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// The table of the keys of an object in a chain: each key is one row, from which it is read and written.
macro_rules! step_keys {
    ($($type:ident {
        $($key:literal $(| $other:literal)? => $field:ident, $read:ident $(, $($place:ident).+ = $at:ident)?;)*
    })*) => {
        $(impl $type {
            /// Reads a key; returns false if this object has no such key.
            fn take(&mut self, entry: &YamlEntry, reader: &mut StepReader<'_>) -> bool {
                match &*entry.key {
                    $($key $(| $other)? => {
                        $(self.$($place).+ = ChainPosition(step_keys!(@$at entry));)?
                        self.$field = reader.$read(entry);
                    })*
                    _ => return false,
                }
                true
            }

            /// Returns the keys that have a value, and the unknown ones.
            pub(super) fn keys(&self) -> Map<String, Json> {
                let mut keys = Map::new();
                $(put(&mut keys, $key, &self.$field);)*
                keys.extend(self.unknown.iter().cloned());
                keys
            }
        })*
    };
    (@key $entry:ident) => { $entry.position };
    (@value $entry:ident) => { $entry.value.position };
}

step_keys! {
    ChainTask {
        "agent" => agent, agent, places.agent = key;
        "task" => task, instructions, places.text = value;
        "phase" => phase, text;
        "label" => label, text, places.label = key;
        "as" => output_name, output_name, places.output_name = key;
        "outputSchema" => output_schema, schema;
        "cwd" => cwd, text;
        "output" => output, output;
        "outputMode" => output_mode, one_of;
        "reads" => reads, list;
        "progress" => progress, boolean;
        "skill" | "skills" => skills, list, places.skills = key;
        "model" => model, text, places.model = key;
        "engine" => engine, text;
        "acceptance" => acceptance, acceptance;
        "worktree" => worktree, boolean;
        "baseRef" => base_ref, text;
        "count" => count, task_count;
    }
    GroupSettings {
        "phase" => phase, text;
        "label" => label, text;
        "concurrency" => concurrency, task_count;
        "failFast" => fail_fast, boolean;
        "worktree" => worktree, boolean;
        "baseRef" => base_ref, text;
        "cwd" => cwd, text;
        "acceptance" => acceptance, acceptance_of_several;
    }
    Expand {
        "items" => items, values;
        "item" => item, item_name;
        "key" => key, pointer;
        "maxItems" => max_items, item_count;
        "onEmpty" => on_empty, one_of;
    }
    Collect {
        "as" => output_name, collected_name, output_name_place = key;
        "outputSchema" => output_schema, schema;
    }
}

/// Adds a key of an object in a `.chain.json`, if it has a value; an empty list is written as `false`.
fn put(keys: &mut Map<String, Json>, key: &str, value: &impl serde::Serialize) {
    let value = serde_json::to_value(value).unwrap_or_default();
    let value = match value {
        Json::Null => return,
        Json::Array(items) if items.is_empty() => Json::Bool(false),
        other => other,
    };
    keys.insert(key.to_owned(), value);
}

/// The place of a task in a step, which decides the keys that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskRole {
    Step,
    /// One of several tasks side by side.
    Parallel,
    Template,
}

impl TaskRole {
    /// Known keys that have no meaning in this place.
    const fn misplaced(self) -> &'static [&'static str] {
        match self {
            Self::Step => &["count", "expand", "collect"],
            Self::Parallel => &["parallel", "expand", "collect"],
            Self::Template => &["as", "count", "parallel", "expand", "collect"],
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Step => "a step with one task",
            Self::Parallel => "a task of a group",
            Self::Template => "the task of a fan-out",
        }
    }
}

pub(super) struct StepReader<'a> {
    pub(super) format: ChainFormat,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
}

impl StepReader<'_> {
    pub(super) fn step(&mut self, entries: &[YamlEntry], position: Position) -> ChainStep {
        let get = |key: &str| entries.iter().find(|entry| entry.key == key);
        match (get("parallel"), get("expand"), get("collect")) {
            (Some(parallel), None, None) if matches!(parallel.value.value, YamlValue::List(_)) => {
                ChainStep::Parallel(Box::new(self.group(entries, position)))
            }
            (None, None, None) => {
                ChainStep::One(Box::new(self.task(entries, position, TaskRole::Step)))
            }
            (Some(parallel), Some(_), Some(_))
                if matches!(parallel.value.value, YamlValue::Map(_)) =>
            {
                ChainStep::FanOut(Box::new(self.fan_out(entries, position)))
            }
            _ => {
                let message =
                    "`parallel` is a list of tasks, or one task beside `expand` and `collect`";
                self.wrong(position, message);
                ChainStep::One(Box::new(ChainTask {
                    places: TaskPlaces::at(position),
                    ..ChainTask::default()
                }))
            }
        }
    }

    pub(super) fn task(
        &mut self,
        entries: &[YamlEntry],
        position: Position,
        role: TaskRole,
    ) -> ChainTask {
        let mut task = ChainTask {
            places: TaskPlaces::at(position),
            ..ChainTask::default()
        };
        for entry in entries {
            if role.misplaced().contains(&&*entry.key) {
                let message = format!("`{}` has no meaning in {}", entry.key, role.words());
                self.wrong(entry.position, message);
                continue;
            }
            if !task.take(entry, self) {
                self.unknown(&mut task.unknown, entry);
            }
        }
        let mut skills = entries
            .iter()
            .filter(|entry| matches!(&*entry.key, "skill" | "skills"));
        if let (Some(_), Some(second)) = (skills.next(), skills.next()) {
            let message = "`skill` and `skills` are one key and both are there";
            self.report(Code::DuplicateKey, second.position, message);
        }
        if task.agent.is_empty() {
            self.wrong(position, "a task without an agent");
        }
        if task.output == Some(OutputFile::None) && task.output_mode == Some(OutputMode::FileOnly) {
            self.wrong(position, "`outputMode: file-only` without a file");
        }
        task
    }

    fn group(&mut self, entries: &[YamlEntry], position: Position) -> ParallelTasks {
        let mut group = ParallelTasks {
            settings: self.settings(entries, position, &["parallel"], true),
            ..ParallelTasks::default()
        };
        let items = entries.iter().find(|entry| entry.key == "parallel");
        let items = items.map(|entry| &entry.value.value);
        let Some(YamlValue::List(items)) = items else {
            return group;
        };
        if items.is_empty() {
            self.wrong(position, "`parallel` has no task");
        }
        for item in items.iter().take(MAX_TASKS) {
            match item.as_map() {
                Some(entries) => {
                    let task = self.task(entries, item.position, TaskRole::Parallel);
                    group.tasks.push(task);
                }
                None => self.wrong(item.position, "a task is an object"),
            }
        }
        let times = group.tasks.iter().map(|task| task.count.unwrap_or(1));
        let times = times.sum::<u64>().max(items.len() as u64);
        if times > MAX_TASKS as u64 {
            let message = format!("{times} tasks side by side, more than {MAX_TASKS}");
            self.report(Code::ChainLimit, position, message);
        }
        group
    }

    fn fan_out(&mut self, entries: &[YamlEntry], position: Position) -> RepeatedTask {
        let of = |key: &str| {
            let entry = entries.iter().find(|entry| entry.key == key);
            entry.map(|entry| &entry.value)
        };
        let known = ["parallel", "expand", "collect"];
        let settings = self.settings(entries, position, &known, false);
        let template = of("parallel").and_then(|node| Some((node.as_map()?, node.position)));
        let template = template.map_or_else(ChainTask::default, |(entries, position)| {
            self.task(entries, position, TaskRole::Template)
        });
        let expand = of("expand").map_or_else(Expand::default, |node| self.expand(node));
        let collect = of("collect").map_or_else(Collect::default, |node| self.collect(node));
        RepeatedTask {
            expand,
            template,
            collect,
            settings,
        }
    }

    fn settings(
        &mut self,
        entries: &[YamlEntry],
        position: Position,
        known: &[&str],
        may_have_worktree: bool,
    ) -> GroupSettings {
        let mut settings = GroupSettings {
            place: ChainPosition(position),
            ..GroupSettings::default()
        };
        for entry in entries {
            match &*entry.key {
                key if known.contains(&key) => {}
                "worktree" | "baseRef" | "cwd" if may_have_worktree => {
                    _ = settings.take(entry, self);
                }
                "agent" | "task" | "as" | "worktree" | "baseRef" | "cwd" | "count" => {
                    let message = format!(
                        "`{}` has no meaning beside `parallel`; it belongs to a task",
                        entry.key
                    );
                    self.wrong(entry.position, message);
                }
                _ if settings.take(entry, self) => {}
                _ => self.unknown(&mut settings.unknown, entry),
            }
        }
        settings
    }

    fn expand(&mut self, node: &YamlNode) -> Expand {
        let mut expand = Expand::default();
        let Some(entries) = node.as_map() else {
            self.wrong(
                node.position,
                "`expand` is an object with `from` or `items`",
            );
            return expand;
        };
        let mut has_source = false;
        for entry in entries {
            match &*entry.key {
                "from" => {
                    has_source = true;
                    self.list_source(&mut expand, &entry.value);
                }
                // The list itself decides the number of items.
                "count" => {
                    let message = "`count` has no meaning in `expand`; `maxItems` says how many items there may be";
                    self.wrong(entry.position, message);
                    let _ = self.item_count(entry);
                }
                _ if expand.take(entry, self) => {}
                _ => self.unknown(&mut expand.unknown, entry),
            }
        }
        match (has_source, expand.items.is_some()) {
            (false, false) => self.wrong(node.position, "`expand` without `from` and `items`"),
            (true, true) => self.wrong(node.position, "`expand` has `from` or `items`, not both"),
            _ => {}
        }
        expand
    }

    fn list_source(&mut self, expand: &mut Expand, node: &YamlNode) {
        let Some(entries) = node.as_map() else {
            let message = "`from` is an object with `output` and `path`";
            return self.wrong(node.position, message);
        };
        for entry in entries {
            match &*entry.key {
                "output" => expand.output = self.text(entry).unwrap_or_default(),
                "path" => {
                    expand.path = self.pointer(entry).unwrap_or_default();
                }
                _ => self.unknown(&mut expand.unknown, entry),
            }
        }
        if expand.output.is_empty() {
            self.wrong(node.position, "`from` without `output`");
        }
    }

    fn collect(&mut self, node: &YamlNode) -> Collect {
        let mut collect = Collect::default();
        let Some(entries) = node.as_map() else {
            self.wrong(node.position, "`collect` is an object with `as`");
            return collect;
        };
        for entry in entries {
            if !collect.take(entry, self) {
                self.unknown(&mut collect.unknown, entry);
            }
        }
        if collect.output_name.is_empty() {
            self.wrong(node.position, "`collect` without a name in `as`");
        }
        collect
    }
}
