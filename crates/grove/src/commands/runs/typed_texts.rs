//! Texts that are typed beside the words of a run: a task or a list that is in a file or comes on standard input.

use std::path::Path;

use grove_skills::Environment;

use crate::args::RunArgs;
use crate::command_error::CommandError;
use crate::commands::input_text;

const MAX_TEXT: u64 = 4 << 20;
const STANDARD_INPUT: &str = "-";

/// The words with every task in its place, and the items that the first one is for.
pub(super) struct TypedTexts {
    pub(super) words: Vec<String>,
    pub(super) items: Option<Vec<String>>,
}

impl TypedTexts {
    /// Reads what is not among the words themselves. Standard input is read once.
    pub(super) fn read(
        environment: &Environment,
        arguments: &RunArgs,
    ) -> Result<Self, CommandError> {
        let mut words = arguments.words.clone();
        let is_input = |file: &Path| file.as_os_str() == STANDARD_INPUT;
        let files = [&arguments.task_file, &arguments.each_line];
        let files = files.into_iter().flatten().filter(|file| is_input(file));
        let tasks = words.iter().filter(|word| *word == STANDARD_INPUT);
        if files.count() + tasks.count() > 1 {
            let message = "standard input can be read only once";
            return Err(CommandError::usage(message).hint("put one of the texts into a file"));
        }
        for word in words.iter_mut().filter(|word| *word == STANDARD_INPUT) {
            *word = read_task(environment, Path::new(STANDARD_INPUT))?;
        }
        if let Some(file) = &arguments.task_file {
            let agents = usize::from(arguments.chain.is_none());
            let is_free = words
                .get(agents)
                .is_none_or(|word| super::words::is_joint(word));
            if !is_free || words.len() < agents {
                let message = "`--task-file` gives the task of the first agent, which has one already or is missing";
                return Err(CommandError::usage(message).hint("`grove run AGENT --task-file FILE`"));
            }
            words.insert(agents, read_task(environment, file)?);
        }
        let items = match &arguments.each_line {
            Some(file) => {
                let read = input_text::read(environment, file, MAX_TEXT, "the list")?;
                let lines = read
                    .text
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.is_empty());
                Some(lines.map(str::to_owned).collect())
            }
            None if arguments.each.is_empty() => None,
            None => Some(arguments.each.clone()),
        };
        Ok(Self { words, items })
    }
}

/// A task as it stands in a file, without the end of its last line.
fn read_task(environment: &Environment, file: &Path) -> Result<String, CommandError> {
    let read = input_text::read(environment, file, MAX_TEXT, "the task")?;
    let task = read.text.trim_end_matches(['\n', '\r']);
    if task.trim().is_empty() {
        return Err(CommandError::usage("the task is empty"));
    }
    Ok(task.to_owned())
}
