//! The tasks by which the skills in a child's catalog are ordered.

use grove_plan::PlannedTask;

/// The longest mark of a variable; a longer text between braces is a part of the task.
const LONGEST_MARK: usize = 100;

/// Returns the tasks of a child and of those of its step with the same agent. All of them have one prompt, so that what a
/// provider keeps of the first one's serves the others; for the same reason a list counts by its template alone.
pub(super) fn catalog_tasks(
    planned: &PlannedTask<'_>,
    all: &[PlannedTask<'_>],
    whole: Option<&str>,
) -> Vec<String> {
    let is_beside = |other: &&PlannedTask<'_>| {
        other.id == planned.id
            || (other.group.is_some()
                && other.group == planned.group
                && other.task.agent == planned.task.agent)
    };
    let mut tasks: Vec<String> = Vec::new();
    for beside in all.iter().filter(is_beside) {
        let task = match beside.inputs {
            Some(_) => without_variables(&beside.text, whole),
            None => beside.text.clone(),
        };
        if !task.trim().is_empty() && !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    tasks
}

/// Returns a task without what is known only later. One that is nothing else counts as the task of the whole run.
fn without_variables(text: &str, whole: Option<&str>) -> String {
    let whole = whole.unwrap_or_default();
    let mut parts = text.split('{');
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some(("task", after)) => said.extend([whole, after]),
            Some((mark, after)) if mark.len() <= LONGEST_MARK => said.push_str(after),
            _ => said.push_str(part),
        }
    }
    if said.contains(char::is_alphanumeric) {
        said
    } else {
        whole.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use grove_plan::{LayoutRules, lay_out};
    use grove_spec::chain::{ChainStep, ChainTask, ParallelTasks};

    use super::*;

    fn task(agent: &str, text: &str) -> ChainTask {
        ChainTask {
            agent: agent.to_owned(),
            task: Some(text.to_owned()),
            ..ChainTask::default()
        }
    }

    #[test]
    fn children_of_one_step_share_the_order_of_their_catalog() {
        let numbers = 0..20;
        let twenty = numbers.map(|number| task("scout", &format!("Review module {number}")));
        let group = ParallelTasks {
            tasks: twenty.chain([task("judge", "Judge")]).collect(),
            settings: grove_spec::chain::GroupSettings::default(),
        };
        let steps = [
            ChainStep::Parallel(Box::new(group)),
            ChainStep::One(Box::new(task("scout", "Sum up"))),
        ];
        let rules = LayoutRules {
            concurrency: 4,
            max_tasks: 64,
            max_items: None,
            has_variables: true,
        };
        let layout = lay_out(&steps, rules).unwrap();
        let of = |at: usize| catalog_tasks(&layout.tasks[at], &layout.tasks, None);
        assert_eq!(of(0).len(), 20);
        assert!((1..20).all(|at| of(at) == of(0)));
        assert_eq!(of(20), ["Judge"], "another agent has another prompt");
        assert_eq!(of(21), ["Sum up"], "another step has another task");
    }

    #[test]
    fn what_is_known_later_is_no_part_of_the_task() {
        let whole = Some("Ship the release");
        for (text, expected) in [
            ("Review {item.path} for faults", "Review  for faults"),
            ("{task}", "Ship the release"),
            ("{previous}", "Ship the release"),
            (
                "Look at {task}: {outputs.plan}",
                "Look at Ship the release: ",
            ),
            ("a { b", "a  b"),
            ("fn main() {}", "fn main() "),
        ] {
            assert_eq!(without_variables(text, whole), expected, "{text}");
        }
        assert_eq!(without_variables("{previous}", None), "");
    }
}
