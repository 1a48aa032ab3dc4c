//! A plan in words: what a run would be.

use grove_plan::{Child, FanOut, Node, NodeId, Work, WorktreePlan};
use grove_runs::{PlannedRun, Told};
use grove_spec::money::amount;
use grove_spec::text::{counted, one_line};
use grove_spec::{Digest, duration};

/// The flow of a plan, and a block for each child, line by line.
pub fn plan_lines(planned: &PlannedRun, task: &str) -> Vec<String> {
    let plan = &planned.plan;
    let mut out = vec![
        format!("plan {}", plan.digest().first_digits(12)),
        one_line(&plan.flow()),
    ];
    if !task.trim().is_empty() {
        out.push(format!("task: {}", one_line(task)));
    }
    for node in &plan.nodes {
        let (child, list) = match &node.work {
            Work::Child(child) => (&**child, None),
            Work::FanOut(list) => (&list.child, Some(list)),
        };
        out.push(String::new());
        out.push(format!("{} {} ({})", node.id, child.agent, child.address));
        if let Some(list) = list {
            let most = list.max_items;
            let each = match &list.from {
                Some(from) => format!(
                    "item in the output of {from} at `{}`, at most {most}",
                    list.path
                ),
                None => counted(items_of(list, planned), "item"),
            };
            out.push(format!("  {:<10} {}", "each", one_line(&each)));
        }
        for (name, value) in rows(node, child, planned) {
            out.push(format!("  {name:<10} {}", one_line(&value)));
        }
    }
    let limits = [
        ("time", plan.tree.timeout_ms.map(duration::in_words)),
        ("tokens", plan.tree.max_tokens.map(|it| it.to_string())),
        ("cost", plan.tree.max_cost.map(|it| amount(it).to_string())),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, it)| Some(format!("{name} {}", it?)));
    let limits: Vec<String> = limits.collect();
    if !limits.is_empty() {
        out.push(String::new());
        out.push(format!("limits of the whole run: {}", limits.join(", ")));
    }
    out
}

/// Returns the number of items of a list that is there.
fn items_of(list: &FanOut, planned: &PlannedRun) -> usize {
    let stored = planned.artifacts.iter();
    let mut stored = stored.filter(|bytes| Some(Digest::of(bytes)) == list.items);
    let bytes = stored.next().map_or(&[][..], Vec::as_slice);
    let items: Result<Vec<serde_json::Value>, _> = serde_json::from_slice(bytes);
    items.map_or(0, |items| items.len())
}

/// Says from which commit and children a working tree begins.
fn beginning(tree: &WorktreePlan) -> String {
    let nodes: Vec<&str> = tree.begins.iter().map(NodeId::as_str).collect();
    let with = match nodes.as_slice() {
        [] => String::new(),
        nodes => format!(" with the work of {}", nodes.join(", ")),
    };
    format!("of its own, from {}{with}", tree.base)
}

/// Returns the rows about a child that are known before it starts; what is not said is left out.
fn rows(node: &Node, child: &Child, planned: &PlannedRun) -> Vec<(&'static str, String)> {
    let after: Vec<&str> = node.after.iter().map(NodeId::as_str).collect();
    let told = planned
        .artifacts
        .iter()
        .find(|bytes| Digest::of(bytes) == child.told);
    let told = told.and_then(|bytes| serde_json::from_slice::<Told>(bytes).ok());
    let task = told.map(|told| told.message).unwrap_or_default();
    let contract = child.contract.as_ref();
    let tree = child.place.worktree.as_ref();
    let rows = [
        ("task", task),
        ("after", after.join(", ")),
        (
            "reviews",
            node.reviews
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        ),
        ("engine", child.engine.clone()),
        ("models", child.models.join(", ")),
        ("tools", child.tools.allowed.join(", ")),
        ("folder", child.place.folder.display().to_string()),
        ("worktree", tree.map_or_else(String::new, beginning)),
        ("output", child.output.clone().unwrap_or_default()),
        (
            "accepted",
            contract.map_or_else(String::new, |it| format!("when {}", it.level_word())),
        ),
        ("told", child.told.first_digits(12)),
    ];
    rows.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
