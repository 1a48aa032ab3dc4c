//! The words in which people ask for runs: `scout "task" -> planner -> worker`, `worker "a" , worker "b"`.

use grove_spec::agent::{OutputFile, OutputMode};
use grove_spec::chain::{
    ChainStep, ChainTask, Collect, Expand, GroupSettings, ParallelTasks, RepeatedTask,
};
use serde_json::Value;

use crate::command_error::CommandError;

/// The words between steps, and between tasks of one step. A shell takes `->` for itself unless it is quoted.
const THEN: [&str; 3] = ["->", "→", "then"];
const AND: [&str; 1] = [","];
/// The name of the answers for all items in later tasks, where nothing else is said.
const EACH: &str = "each";

#[derive(Debug, Default, PartialEq)]
pub(super) struct TypedSteps {
    pub(super) steps: Vec<ChainStep>,
    pub(super) is_chain: bool,
    /// The task of the whole: the first one.
    pub(super) task: String,
}

pub(super) fn is_joint(word: &str) -> bool {
    THEN.contains(&word) || AND.contains(&word)
}

impl TypedSteps {
    /// Lets the first step run once for each item.
    pub(super) fn for_each(&mut self, items: Vec<String>) -> Result<(), CommandError> {
        let Some(ChainStep::One(first)) = self.steps.first() else {
            let message = "a list is for one agent, and the first step has several";
            return Err(CommandError::usage(message));
        };
        let label = first.label.clone().or_else(|| Some("{item}".to_owned()));
        let template = ChainTask {
            task: Some(self.task.clone()),
            label,
            output_name: None,
            ..(**first).clone()
        };
        let output_name = first.output_name.clone();
        let list = RepeatedTask {
            expand: Expand {
                items: Some(items.into_iter().map(Value::String).collect()),
                ..Expand::default()
            },
            template,
            collect: Collect {
                output_name: output_name.unwrap_or_else(|| EACH.to_owned()),
                ..Collect::default()
            },
            settings: GroupSettings::default(),
        };
        if let Some(first) = self.steps.first_mut() {
            *first = ChainStep::FanOut(Box::new(list));
        }
        self.is_chain = true;
        Ok(())
    }
}

/// Reads what was typed, or says what is wrong with it.
pub(super) fn parse(words: &[String]) -> Result<TypedSteps, CommandError> {
    let mut typed = TypedSteps::default();
    for step in words.split(|word| THEN.contains(&word.as_str())) {
        let tasks = step.split(|word| AND.contains(&word.as_str()));
        let tasks: Result<Vec<ChainTask>, CommandError> = tasks.map(task).collect();
        let mut tasks = tasks?;
        typed
            .steps
            .push(if tasks.len() == 1 && tasks[0].count.is_none() {
                ChainStep::One(Box::new(tasks.remove(0)))
            } else {
                let settings = GroupSettings::default();
                ChainStep::Parallel(Box::new(ParallelTasks { tasks, settings }))
            });
    }
    typed.is_chain = typed.steps.len() > 1;
    let first = typed.steps.first().map_or(&[][..], ChainStep::tasks);
    for task in first {
        if task.task.as_ref().is_none_or(|task| task.trim().is_empty()) {
            let message = format!("there is no task for `{}`", task.agent);
            return Err(CommandError::usage(message));
        }
    }
    let task = first.first().and_then(|task| task.task.clone());
    typed.task = task.unwrap_or_default();
    if typed.is_chain
        && let Some(ChainStep::One(first)) = typed.steps.first_mut()
    {
        // What the first is asked is what the whole is asked: `{task}` in later steps.
        first.task = None;
    }
    Ok(typed)
}

/// `AGENT [TASK]`, where the agent may have settings: `AGENT[model=…,as=…]`.
fn task(words: &[String]) -> Result<ChainTask, CommandError> {
    let (name, rest) = match words {
        [] => return Err(CommandError::usage("an agent is missing")),
        [name, rest @ ..] => (name.as_str(), rest),
    };
    if let [_, more, ..] = rest {
        let message = format!("`{more}` is one word too many; put the task in quotes");
        return Err(CommandError::usage(message));
    }
    let (agent, settings) = match name.strip_suffix(']').and_then(|it| it.split_once('[')) {
        Some((agent, settings)) => (agent, settings),
        None => (name, ""),
    };
    let mut task = ChainTask {
        agent: agent.to_owned(),
        task: rest.first().cloned(),
        ..ChainTask::default()
    };
    for setting in settings.split(',').filter(|it| !it.trim().is_empty()) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let value = value.trim().to_owned();
        match key.trim() {
            "model" => task.model = Some(value),
            "engine" => task.engine = Some(value),
            "as" => task.output_name = Some(value),
            "label" => task.label = Some(value),
            "cwd" => task.cwd = Some(value),
            "worktree" => task.worktree = Some(value != "false"),
            "baseRef" => task.base_ref = Some(value),
            "skills" | "skill" => {
                let names = value.split('+').filter(|name| !name.is_empty());
                task.skills = Some(names.map(str::to_owned).collect());
            }
            "output" => task.output = Some(OutputFile::File(value)),
            "outputMode" => {
                task.output_mode = Some(match value.as_str() {
                    "inline" => OutputMode::Inline,
                    "file-only" => OutputMode::FileOnly,
                    _ => {
                        let message =
                            format!("`{value}` is not an outputMode; use inline or file-only");
                        return Err(CommandError::usage(message));
                    }
                });
            }
            "reads" => {
                let files = value.split('+').filter(|file| !file.is_empty());
                task.reads = Some(files.map(str::to_owned).collect());
            }
            "progress" => task.progress = Some(value != "false"),
            "count" => {
                let count = value.parse().ok().filter(|count| *count > 0);
                let not_a_count = || CommandError::usage(format!("`{value}` is not a count"));
                task.count = Some(count.ok_or_else(not_a_count)?);
            }
            other => {
                let message = format!(
                    "`{other}` is not a setting of a task; use model, engine, as, label, cwd, worktree, baseRef, skills, output, outputMode, reads, progress, count"
                );
                return Err(CommandError::usage(message));
            }
        }
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Result<TypedSteps, CommandError> {
        let words: Vec<String> = text.split(' ').map(|it| it.replace('_', " ")).collect();
        parse(&words)
    }

    #[test]
    fn steps_and_tasks_are_what_was_typed() {
        let one = typed("scout look_here").unwrap();
        assert_eq!((one.steps.len(), one.is_chain), (1, false));
        assert_eq!(one.steps[0].tasks()[0].task.as_deref(), Some("look here"));
        let chain =
            typed("scout look -> planner then worker[model=a/b,as=done] do_{task}").unwrap();
        assert_eq!((chain.steps.len(), chain.is_chain), (3, true));
        assert_eq!(
            (chain.task.as_str(), &chain.steps[0].tasks()[0].task),
            ("look", &None)
        );
        let last = &chain.steps[2].tasks()[0];
        assert_eq!(last.model.as_deref(), Some("a/b"));
        assert_eq!(last.output_name.as_deref(), Some("done"));
        let one = typed("scout[output=a.md,outputMode=file-only,reads=b+c,progress] a").unwrap();
        let task = &one.steps[0].tasks()[0];
        let reads = task.reads.as_ref().unwrap();
        assert_eq!((reads.len(), task.progress), (2, Some(true)));
        assert_eq!(task.output, Some(OutputFile::File("a.md".to_owned())));
        assert_eq!(task.output_mode, Some(OutputMode::FileOnly));
        let group = typed("worker a , worker[count=2] b").unwrap();
        assert!(matches!(&group.steps[0], ChainStep::Parallel(group) if group.tasks.len() == 2));
        for (text, wrong) in [
            ("scout", "there is no task for `scout`"),
            ("scout a b", "`b` is one word too many"),
            ("scout a -> ", "an agent is missing"),
            ("scout[x=1] a", "`x` is not a setting"),
            ("scout[count=0] a", "`0` is not a count"),
            ("scout[outputMode=x] a", "`x` is not an outputMode"),
        ] {
            let text = text.trim_end();
            let text = if text.ends_with("->") {
                "scout a ->"
            } else {
                text
            };
            let refused = typed(text).unwrap_err().message();
            assert!(refused.starts_with(wrong), "{text}: {refused}");
        }
    }
}
