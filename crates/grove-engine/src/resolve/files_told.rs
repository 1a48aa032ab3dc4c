//! The files that a child is told of, as its task or its agent names them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grove_spec::agent::{AgentFile, OutputFile, OutputMode};
use grove_spec::chain::ChainTask;

use crate::error::EngineError;

/// The file in which a child says how far it is.
const PROGRESS: &str = "progress.md";

/// The files that a child is told of: those that it reads first, and the one that its answer is written to.
#[derive(Default)]
pub(crate) struct FilesTold {
    reads: Vec<String>,
    pub(crate) output: Option<String>,
    /// True if the children after it are told of the file alone.
    pub(crate) file_only: bool,
    /// The file in which it says how far it is.
    pub(crate) progress: Option<String>,
}

impl FilesTold {
    /// Reads the task's files, else the agent's. In a chain a relative path is below the folder that its steps share;
    /// elsewhere it is below the child's folder, and of what an agent usually reads only what is there is told.
    pub(crate) fn of(task: &ChainTask, file: &AgentFile, folder: Option<&PathBuf>) -> Self {
        let placed = |path: &String| {
            if folder.is_none() && !Path::new(path).is_absolute() && !path.starts_with('{') {
                format!("{{chain_dir}}/{path}")
            } else {
                path.clone()
            }
        };
        let output = match task.output.as_ref().or(file.output.as_ref()) {
            Some(OutputFile::File(path)) => Some(placed(path)),
            Some(OutputFile::None) | None => None,
        };
        let is_there = |path: &&String| {
            folder.is_none_or(|folder| grove_fs::files::is_there(&folder.join(path)))
        };
        let usual = file.default_reads.iter().filter(is_there);
        Self {
            reads: match &task.reads {
                Some(reads) => reads.iter().map(placed).collect(),
                None => usual.map(placed).collect(),
            },
            output,
            file_only: task.output_mode.or(file.output_mode) == Some(OutputMode::FileOnly),
            progress: task
                .progress
                .unwrap_or(file.default_progress)
                .then(|| placed(&PROGRESS.to_owned())),
        }
    }

    /// Refuses a child that writes to a file alone and names none, or whose file it cannot write.
    pub(crate) fn require_output(&self, agent: &str, folder: &Path) -> Result<(), EngineError> {
        let Some(output) = &self.output else {
            let message = format!("`{agent}` has `outputMode: file-only` but no output file");
            let error = EngineError::usage(message).hint("name one as `output`");
            return if self.file_only { Err(error) } else { Ok(()) };
        };
        let whole = grove_fs::files::plain(&folder.join(output));
        if output.starts_with('{') || whole.starts_with(folder) {
            return Ok(());
        }
        let message = format!("`output` of `{agent}` is outside the folder it works in: {output}");
        let hint = "name a file below that folder, or take the answer from the run";
        Err(EngineError::usage(message).hint(hint))
    }

    /// The lines above the task.
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        if !self.reads.is_empty() {
            let _ = writeln!(lines, "[Read from: {}]", self.reads.join(", "));
        }
        if let Some(output) = &self.output {
            let _ = writeln!(lines, "[Write to: {output}]");
        }
        if let Some(progress) = &self.progress {
            let _ = writeln!(lines, "[Progress: keep {progress} current]");
        }
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines
    }
}
