//! From the keys of a step to its fields, the same for both formats.

use super::{
    Collect, Expand, FanOut, Format, Group, GroupSettings, MAX_ITEMS, MAX_TASKS, OnEmpty, Place,
    Step, Task, TaskPlaces, references,
};
use crate::agent::{OutputFile, OutputMode};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::yaml::{Entry, Node, Value};

/// Where a task stands; some keys are not for every place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A step of its own.
    Step,
    /// One of several side by side.
    Parallel,
    /// The task that a fan-out repeats.
    Template,
}

impl Role {
    /// Known keys that have no meaning here.
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

/// Reads steps and notes what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) format: Format,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    /// A step from its keys.
    pub(super) fn step(&mut self, entries: &[Entry], position: Position) -> Step {
        let get = |key: &str| entries.iter().find(|entry| entry.key == key);
        match (get("parallel"), get("expand"), get("collect")) {
            (Some(parallel), None, None) if matches!(parallel.value.value, Value::List(_)) => {
                Step::Parallel(Box::new(self.group(entries, position)))
            }
            (None, None, None) => Step::One(Box::new(self.task(entries, position, Role::Step))),
            (Some(parallel), Some(_), Some(_)) if matches!(parallel.value.value, Value::Map(_)) => {
                Step::FanOut(Box::new(self.fan_out(entries, position)))
            }
            _ => {
                let message =
                    "`parallel` is a list of tasks, or one task beside `expand` and `collect`";
                self.wrong(position, message);
                Step::One(Box::new(Task {
                    places: TaskPlaces::at(position),
                    ..Task::default()
                }))
            }
        }
    }

    /// A task from its keys.
    pub(super) fn task(&mut self, entries: &[Entry], position: Position, role: Role) -> Task {
        let mut task = Task {
            places: TaskPlaces::at(position),
            ..Task::default()
        };
        for entry in entries {
            if role.misplaced().contains(&&*entry.key) {
                let message = format!("`{}` has no meaning in {}", entry.key, role.words());
                self.wrong(entry.position, message);
                continue;
            }
            self.task_key(&mut task, entry);
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

    fn task_key(&mut self, task: &mut Task, entry: &Entry) {
        let place = Place(entry.position);
        match &*entry.key {
            "agent" => {
                task.places.agent = place;
                task.agent = self.agent(entry);
            }
            "task" => {
                task.places.text = Place(entry.value.position);
                task.task = self.instructions(entry);
            }
            "phase" => task.phase = self.text(entry),
            "label" => {
                task.places.label = place;
                task.label = self.text(entry);
            }
            "as" => {
                task.places.output_name = place;
                task.output_name = self.output_name(entry);
            }
            "outputSchema" => task.output_schema = self.schema(entry),
            "cwd" => task.cwd = self.text(entry),
            "output" => task.output = self.output(entry),
            "outputMode" => task.output_mode = self.output_mode(entry),
            "reads" => task.reads = self.list(entry),
            "progress" => task.progress = self.boolean(entry),
            "skill" | "skills" => {
                task.places.skills = place;
                task.skills = self.list(entry);
            }
            "model" => {
                task.places.model = place;
                task.model = self.text(entry);
            }
            "acceptance" => task.acceptance = self.acceptance(entry),
            "count" => task.count = self.number(entry, 1, MAX_TASKS as u64),
            _ => self.unknown(&mut task.unknown, entry),
        }
    }

    fn group(&mut self, entries: &[Entry], position: Position) -> Group {
        let mut group = Group {
            settings: self.settings(entries, position, &["parallel"], true),
            ..Group::default()
        };
        let items = entries.iter().find(|entry| entry.key == "parallel");
        let items = items.map(|entry| &entry.value.value);
        let Some(Value::List(items)) = items else {
            return group;
        };
        if items.is_empty() {
            self.wrong(position, "`parallel` has no task");
        }
        for item in items.iter().take(MAX_TASKS) {
            match item.as_map() {
                Some(entries) => {
                    let task = self.task(entries, item.position, Role::Parallel);
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

    fn fan_out(&mut self, entries: &[Entry], position: Position) -> FanOut {
        let of = |key: &str| {
            let entry = entries.iter().find(|entry| entry.key == key);
            entry.map(|entry| &entry.value)
        };
        let known = ["parallel", "expand", "collect"];
        let settings = self.settings(entries, position, &known, false);
        let template = of("parallel").and_then(|node| Some((node.as_map()?, node.position)));
        let template = template.map_or_else(Task::default, |(entries, position)| {
            self.task(entries, position, Role::Template)
        });
        let expand = of("expand").map_or_else(Expand::default, |node| self.expand(node));
        let collect = of("collect").map_or_else(Collect::default, |node| self.collect(node));
        FanOut {
            expand,
            template,
            collect,
            settings,
        }
    }

    fn settings(
        &mut self,
        entries: &[Entry],
        position: Position,
        known: &[&str],
        may_have_worktree: bool,
    ) -> GroupSettings {
        let mut settings = GroupSettings {
            place: Place(position),
            ..GroupSettings::default()
        };
        for entry in entries {
            match &*entry.key {
                key if known.contains(&key) => {}
                "phase" => settings.phase = self.text(entry),
                "label" => settings.label = self.text(entry),
                "concurrency" => settings.concurrency = self.number(entry, 1, MAX_TASKS as u64),
                "failFast" => settings.fail_fast = self.boolean(entry),
                "worktree" if may_have_worktree => settings.worktree = self.boolean(entry),
                "cwd" if may_have_worktree => settings.cwd = self.text(entry),
                "acceptance" => settings.acceptance = self.acceptance(entry),
                "agent" | "task" | "as" | "worktree" | "cwd" | "count" => {
                    let message = format!(
                        "`{}` has no meaning beside `parallel`; it belongs to a task",
                        entry.key
                    );
                    self.wrong(entry.position, message);
                }
                _ => self.unknown(&mut settings.unknown, entry),
            }
        }
        settings
    }

    fn expand(&mut self, node: &Node) -> Expand {
        let mut expand = Expand::default();
        let Some(entries) = node.as_map() else {
            self.wrong(node.position, "`expand` is an object with `from`");
            return expand;
        };
        let mut has_source = false;
        for entry in entries {
            match &*entry.key {
                "from" => {
                    has_source = true;
                    self.list_source(&mut expand, &entry.value);
                }
                "item" => {
                    expand.item = self.text(entry);
                    if let Some(name) = &expand.item
                        && !references::is_identifier(name)
                    {
                        self.wrong(entry.position, format!("`item` is `{name}`, not a name"));
                    }
                }
                "key" => {
                    expand.key = self.raw_text(entry);
                    self.require_pointer(expand.key.as_deref(), entry.value.position);
                }
                "maxItems" => expand.max_items = self.number(entry, 0, MAX_ITEMS),
                "onEmpty" => {
                    let modes = [("skip", OnEmpty::Skip), ("fail", OnEmpty::Fail)];
                    expand.on_empty = self.one_of(entry, &modes);
                }
                // How many there are says the list itself.
                "count" => {
                    let message = "`count` has no meaning in `expand`; `maxItems` says how many items there may be";
                    self.wrong(entry.position, message);
                    let _ = self.number(entry, 0, MAX_ITEMS);
                }
                _ => self.unknown(&mut expand.unknown, entry),
            }
        }
        if !has_source {
            self.wrong(node.position, "`expand` without `from`");
        }
        expand
    }

    fn list_source(&mut self, expand: &mut Expand, node: &Node) {
        let Some(entries) = node.as_map() else {
            let message = "`from` is an object with `output` and `path`";
            return self.wrong(node.position, message);
        };
        for entry in entries {
            match &*entry.key {
                "output" => expand.output = self.text(entry).unwrap_or_default(),
                "path" => {
                    expand.path = self.raw_text(entry).unwrap_or_default();
                    self.require_pointer(Some(&expand.path), entry.value.position);
                }
                _ => self.unknown(&mut expand.unknown, entry),
            }
        }
        if expand.output.is_empty() {
            self.wrong(node.position, "`from` without `output`");
        }
    }

    fn collect(&mut self, node: &Node) -> Collect {
        let mut collect = Collect::default();
        let Some(entries) = node.as_map() else {
            self.wrong(node.position, "`collect` is an object with `as`");
            return collect;
        };
        for entry in entries {
            match &*entry.key {
                "as" => {
                    collect.output_name_place = Place(entry.position);
                    collect.output_name = self.output_name(entry).unwrap_or_default();
                }
                "outputSchema" => collect.output_schema = self.schema(entry),
                _ => self.unknown(&mut collect.unknown, entry),
            }
        }
        if collect.output_name.is_empty() {
            self.wrong(node.position, "`collect` without a name in `as`");
        }
        collect
    }
}
