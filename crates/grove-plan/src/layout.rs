//! From the steps of a chain to the nodes of a plan: which node waits for which, and the sources of variables.

use std::collections::BTreeMap;

use grove_spec::chain::{ChainStep, ChainTask, GroupSettings, ParallelTasks, RepeatedTask};
use grove_spec::{Code, Diagnostic};

use crate::ids::NodeId;
use crate::plan::{GroupRules, Inputs};

/// The task of a later step whose task is not written.
const PREVIOUS: &str = "{previous}";
/// The task of the first step where it is not written.
const TASK: &str = "{task}";
/// The name of an item of a list where no other name is given.
const ITEM: &str = "item";
/// The advice for running more children in one step.
const MORE_TASKS: &str = "name fewer, or raise the limit with `--max-tasks` or `runs.maxTasks`";

/// Defaults for steps that do not set a value themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutRules {
    /// The number of children of a step that run at a time.
    pub concurrency: u64,
    /// The greatest number of tasks of a step, and of items of a list that is written.
    pub max_tasks: u64,
    /// The greatest number of items of a list that sets no limit itself.
    pub max_items: Option<u64>,
    /// Set if tasks have variables: those of a chain have, others are told as they are.
    pub has_variables: bool,
}

/// A task that becomes a child of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTask<'a> {
    /// Its place: `2`, or `2.0` in a step with several tasks.
    pub id: NodeId,
    /// The nodes that it waits for.
    pub after: Vec<NodeId>,
    /// The step with several tasks to which it belongs.
    pub group: Option<NodeId>,
    /// The agent and the task, as written.
    pub task: &'a ChainTask,
    /// The settings of the step to which it belongs.
    pub settings: Option<&'a GroupSettings>,
    /// The text that the child is told, with variables.
    pub text: String,
    /// The sources of the variables; none when the text is told as it is.
    pub inputs: Option<Inputs>,
    /// The list whose items it runs for.
    pub list: Option<PlannedList<'a>>,
}

/// The list that a step runs for.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedList<'a> {
    /// The node whose output has the list; none where the list is written.
    pub from: Option<NodeId>,
    /// The greatest number of items that it may have.
    pub max_items: u64,
    /// The step as it is written.
    pub said: &'a RepeatedTask,
}

/// The nodes of a chain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layout<'a> {
    /// The tasks, each after those that it waits for.
    pub tasks: Vec<PlannedTask<'a>>,
    /// Rules for nodes that run side by side.
    pub groups: BTreeMap<NodeId, GroupRules>,
}

/// Lays steps out as nodes. All faults are reported at once, each with its step.
pub fn lay_out(steps: &[ChainStep], rules: LayoutRules) -> Result<Layout<'_>, Vec<Diagnostic>> {
    let mut layout = Layout::default();
    let mut findings = Vec::new();
    if steps.is_empty() {
        let nothing = Diagnostic::new(Code::RequestInvalid, "there is no step to run");
        return Err(vec![
            nothing.with_help("add a step with an agent and a task"),
        ]);
    }
    let mut previous: Vec<NodeId> = Vec::new();
    let mut outputs: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let id = NodeId::step(at + 1);
        let mut list = None;
        let first = layout.tasks.len();
        let mut members: Vec<(NodeId, &ChainTask, Option<&GroupSettings>)> = Vec::new();
        match step {
            ChainStep::One(task) => members.push((id.clone(), task, None)),
            ChainStep::Parallel(group) => {
                if let Some(finding) = too_many(&id, group, rules) {
                    findings.push(finding);
                    continue;
                }
                for task in &group.tasks {
                    for _ in 0..task.count.unwrap_or(1) {
                        let member = id.member(members.len());
                        members.push((member, task, Some(&group.settings)));
                    }
                }
                layout
                    .groups
                    .insert(id.clone(), rules_of(&group.settings, rules));
            }
            ChainStep::FanOut(said) => {
                match list_of(&id, said, &layout, &outputs, rules) {
                    Ok(found) => list = Some(found),
                    Err(finding) => findings.push(finding),
                }
                members.push((id.clone(), &said.template, Some(&said.settings)));
                layout
                    .groups
                    .insert(id.clone(), rules_of(&said.settings, rules));
            }
        }
        // A task of no chain is told as it is.
        let inputs = rules.has_variables.then(|| Inputs {
            previous: previous.clone(),
            outputs: outputs.clone(),
            ..Inputs::default()
        });
        let usual = if previous.is_empty() { TASK } else { PREVIOUS };
        let new = members
            .into_iter()
            .map(|(member, task, settings)| PlannedTask {
                id: member,
                after: previous.clone(),
                group: settings.map(|_| id.clone()),
                settings,
                task,
                text: task.task.clone().unwrap_or_else(|| usual.to_owned()),
                inputs: inputs.clone(),
                list: None,
            });
        layout.tasks.extend(new);
        if let (Some(list), Some(task)) = (list, layout.tasks.last_mut()) {
            let item = list.said.expand.item.as_deref().unwrap_or(ITEM);
            if let Some(inputs) = &mut task.inputs {
                inputs.item = Some(item.to_owned());
            }
            outputs.insert(list.said.collect.output_name.clone(), vec![id.clone()]);
            // A step that runs for a list is not one of several children: it stands for all of them.
            task.group = None;
            task.list = Some(list);
        }
        let new = layout.tasks.get(first..).unwrap_or_default();
        previous = new.iter().map(|task| task.id.clone()).collect();
        for task in new {
            if let Some(name) = &task.task.output_name {
                let nodes = outputs.entry(name.clone()).or_default();
                nodes.push(task.id.clone());
            }
        }
    }
    if findings.is_empty() {
        Ok(layout)
    } else {
        Err(findings)
    }
}

/// Returns the source of a step's list and its greatest length.
fn list_of<'a>(
    id: &NodeId,
    said: &'a RepeatedTask,
    layout: &Layout<'_>,
    outputs: &BTreeMap<String, Vec<NodeId>>,
    rules: LayoutRules,
) -> Result<PlannedList<'a>, Diagnostic> {
    if let Some(items) = &said.expand.items {
        return written_list(id, said, items.len() as u64, rules);
    }
    let name = &said.expand.output;
    let help = "name an output of one earlier step that has `outputSchema`";
    let from = match outputs.get(name).map(Vec::as_slice) {
        Some([one]) => one.clone(),
        Some(_) => {
            let message = format!("`{name}` is the output of several, and of no list");
            return Err(refused(id, &message, help));
        }
        None => {
            let message = format!("no earlier step gives an output called `{name}`");
            return Err(refused(id, &message, help));
        }
    };
    let giver = layout.tasks.iter().find(|task| task.id == from);
    let is_data = giver.is_some_and(|it| it.list.is_some() || it.task.output_schema.is_some());
    if !is_data {
        let message = format!("the output `{name}` of step {from} is text and has no list");
        return Err(refused(id, &message, "give that step an `outputSchema`"));
    }
    let max_items = said.expand.max_items.or(rules.max_items);
    let max_items = max_items.ok_or_else(|| {
        let message = "nothing says how many items there may be";
        let help = "add `maxItems` to `expand`, or `runs.chain.dynamicFanout.maxItems` to the configuration";
        refused(id, message, help)
    })?;
    Ok(PlannedList {
        from: Some(from),
        max_items,
        said,
    })
}

/// Returns a list whose items are written, if it is short enough and its task names the item.
fn written_list<'a>(
    id: &NodeId,
    said: &'a RepeatedTask,
    count: u64,
    rules: LayoutRules,
) -> Result<PlannedList<'a>, Diagnostic> {
    let max_items = said.expand.max_items.unwrap_or(rules.max_tasks);
    if count > max_items {
        let message = format!("{count} items are more than {max_items}");
        let help = match said.expand.max_items {
            Some(_) => "name fewer, or raise `maxItems`",
            None => MORE_TASKS,
        };
        return Err(refused(id, &message, help));
    }
    let task = said.template.task.as_deref();
    let name = format!("{{{}", said.expand.item.as_deref().unwrap_or(ITEM));
    if count > 1 && !task.is_some_and(|text| text.contains(&name)) {
        let message = format!("the task is the same for each item: it has no `{name}}}`");
        let help = "write the item into the task, such as \"Look at {item}\"";
        return Err(refused(id, &message, help));
    }
    Ok(PlannedList {
        from: None,
        max_items,
        said,
    })
}

fn rules_of(settings: &GroupSettings, rules: LayoutRules) -> GroupRules {
    GroupRules {
        concurrency: Some(settings.concurrency.unwrap_or(rules.concurrency)),
        fail_fast: settings.fail_fast.unwrap_or_default(),
    }
}

fn too_many(id: &NodeId, group: &ParallelTasks, rules: LayoutRules) -> Option<Diagnostic> {
    let counts = group.tasks.iter().map(|task| task.count.unwrap_or(1));
    let count = counts.fold(0, u64::saturating_add);
    (count > rules.max_tasks).then(|| {
        let message = format!("{count} tasks are more than {}", rules.max_tasks);
        refused(id, &message, MORE_TASKS)
    })
}

fn refused(step: &NodeId, message: &str, help: &str) -> Diagnostic {
    let message = format!("step {step}: {message}");
    Diagnostic::new(Code::RequestInvalid, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use grove_spec::chain::{ChainFormat, parse};
    use serde_json::json;

    const RULES: LayoutRules = LayoutRules {
        concurrency: 4,
        max_tasks: 3,
        max_items: None,
        has_variables: true,
    };

    fn steps(chain: &serde_json::Value) -> Vec<ChainStep> {
        let file = json!({ "name": "x", "description": "x", "chain": chain });
        parse(&file.to_string(), ChainFormat::Json).chain.steps
    }

    #[test]
    fn steps_wait_for_all_of_the_step_before() {
        let steps = steps(&json!([
            { "agent": "scout", "as": "seen" },
            { "parallel": [{ "agent": "a", "task": "do {outputs.seen}" }, { "agent": "b", "count": 2 }], "failFast": true },
            { "agent": "judge", "task": "Judge." },
        ]));
        let layout = lay_out(&steps, RULES).unwrap();
        let shown: Vec<String> = layout
            .tasks
            .iter()
            .map(|task| {
                let after: Vec<&str> = task.after.iter().map(NodeId::as_str).collect();
                format!(
                    "{} {} after {}: {}",
                    task.id,
                    task.task.agent,
                    after.join(" "),
                    task.text
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1 scout after : {task}",
                "2.0 a after 1: do {outputs.seen}",
                "2.1 b after 1: {previous}",
                "2.2 b after 1: {previous}",
                "3 judge after 2.0 2.1 2.2: Judge.",
            ]
        );
        let rules = &layout.groups[&NodeId::step(2)];
        assert_eq!((rules.concurrency, rules.fail_fast), (Some(4), true));
        let last = layout.tasks.last().unwrap().inputs.as_ref().unwrap();
        assert_eq!(last.previous.len(), 3);
        assert_eq!(last.outputs["seen"], [NodeId::step(1)]);
    }

    #[test]
    fn what_cannot_be_run_is_said_with_its_step() {
        let steps = steps(&json!([
            { "agent": "a" },
            { "parallel": [{ "agent": "b", "count": 4 }] },
        ]));
        let findings = lay_out(&steps, RULES).unwrap_err();
        assert_eq!(findings[0].message, "step 2: 4 tasks are more than 3");
    }

    #[test]
    fn a_list_that_is_written_needs_no_step_before_it() {
        for (items, task, expected) in [
            (json!(["a", "b"]), "Look at {item}", Ok(3)),
            (json!([]), "Look at {item}", Ok(3)),
            (json!(["a"]), "Look", Ok(3)),
            (
                json!(["a", "b"]),
                "Look",
                Err("step 1: the task is the same for each item: it has no `{item}`"),
            ),
            (
                json!([1, 2, 3, 4]),
                "{item}",
                Err("step 1: 4 items are more than 3"),
            ),
        ] {
            let steps = steps(&json!([
                { "expand": { "items": items }, "parallel": { "agent": "a", "task": task }, "collect": { "as": "all" } },
                { "agent": "b", "task": "Sum up {outputs.all}" },
            ]));
            let laid_out = lay_out(&steps, RULES);
            let found = laid_out.as_ref().map(|layout| {
                let list = layout.tasks[0].list.as_ref().unwrap();
                assert_eq!(list.from, None);
                list.max_items
            });
            let found = found.map_err(|findings| findings[0].message.as_str());
            assert_eq!(found, expected, "{items} {task}");
        }
    }

    #[test]
    fn a_task_of_no_chain_is_told_as_it_is() {
        let steps = steps(&json!([{ "parallel": [{ "agent": "a", "task": "{task} {x}" }] }]));
        let rules = LayoutRules {
            has_variables: false,
            ..RULES
        };
        let layout = lay_out(&steps, rules).unwrap();
        assert_eq!(layout.tasks[0].inputs, None);
    }
}
