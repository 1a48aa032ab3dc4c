//! A plan in words: what a run would be.

use grove_plan::{Child, Contract, FanOut, Node, NodeId, Work, WorktreePlan};
use grove_spec::duration;
use grove_spec::money;
use grove_spec::text::{counted, one_line};

use crate::resolve::ResolvedRun;
use crate::told::Told;

/// The flow of a plan, and a block for each child, line by line.
pub fn plan_lines(resolved: &ResolvedRun) -> Vec<String> {
    let (plan, task) = (&resolved.plan, &resolved.envelope.task);
    let mut out = vec![
        format!("plan {}", plan.digest().first_digits(12)),
        one_line(&plan.flow()),
    ];
    let messages: Vec<String> = plan
        .nodes
        .iter()
        .map(|node| message(node, resolved))
        .collect();
    // A saved chain's task may be in none of its children's.
    if !task.trim().is_empty() && !messages.iter().any(|it| it == task) {
        out.push(format!("task: {}", one_line(task)));
    }
    for (node, message) in plan.nodes.iter().zip(messages) {
        let child = node.child();
        let list = match &node.work {
            Work::Child(_) => None,
            Work::FanOut(list) => Some(list),
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
                None => counted(items_of(list, resolved), "item"),
            };
            out.push(format!("  {:<10} {}", "each", one_line(&each)));
        }
        for (name, value) in rows(node, child, message) {
            out.push(format!("  {name:<10} {}", one_line(&value)));
        }
    }
    let limits = [
        ("time", plan.tree.timeout_ms.map(duration::in_words)),
        ("tokens", plan.tree.max_tokens.map(|it| it.to_string())),
        (
            "cost",
            plan.tree
                .max_cost
                .map(|it| money::in_words(money::amount(it))),
        ),
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
fn items_of(list: &FanOut, resolved: &ResolvedRun) -> usize {
    let bytes = list.items.as_ref().and_then(|items| resolved.text(items));
    let items = bytes.and_then(|bytes| serde_json::from_slice::<Vec<_>>(bytes).ok());
    items.map_or(0, |items: Vec<serde_json::Value>| items.len())
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

/// Returns the message that a child starts with.
fn message(node: &Node, resolved: &ResolvedRun) -> String {
    let told = resolved.text(&node.child().told);
    let told = told.and_then(|bytes| serde_json::from_slice::<Told>(bytes).ok());
    told.map(|told| told.message).unwrap_or_default()
}

/// Returns the condition under which a child's work counts.
fn accepted(contract: &Contract) -> String {
    let commands: Vec<String> = contract
        .verify
        .iter()
        .map(|it| format!("`{}`", it.line()))
        .collect();
    let by = match commands.as_slice() {
        [] => String::new(),
        commands => format!(" by {}", commands.join(", ")),
    };
    format!("when {}{by}", contract.level_word())
}

/// Returns the rows about a child that are known before it starts; what is not said is left out.
fn rows(node: &Node, child: &Child, message: String) -> Vec<(&'static str, String)> {
    let after: Vec<&str> = node.after.iter().map(NodeId::as_str).collect();
    let tree = child.place.worktree.as_ref();
    let rows = [
        ("task", message),
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
            child.contract.as_ref().map_or_else(String::new, accepted),
        ),
        ("told", child.told.first_digits(12)),
    ];
    rows.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
