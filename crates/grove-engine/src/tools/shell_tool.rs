//! Running the commands of a child.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use grove_exec::{
    EndReason, ExecError, Git, KeeperOrder, ProgramExit, Sandbox, Seclusion, write_rules_work,
};
use grove_fs::files;

use super::output_file::OutputFile;
use super::{ToolCall, ToolError, ToolResult, Toolbox, number_of, text_of};
use crate::verify::temporary_variables;

/// The time between asking a command to end and ending it.
const GRACE: Duration = Duration::from_secs(2);

impl Toolbox {
    pub(super) async fn bash(&self, call: ToolCall<'_>) -> ToolResult {
        self.run_line(call).await.into()
    }

    async fn run_line(&self, call: ToolCall<'_>) -> Result<String, ToolError> {
        let ToolCall {
            arguments, stop, ..
        } = call;
        let line = text_of(arguments, "command")?;
        let wanted = number_of(arguments, "timeout").map(Duration::from_secs);
        let limit = wanted.map_or(self.tool_timeout, |wanted| wanted.min(self.tool_timeout));
        let ShellSandbox { sandbox, temporary } = self.sandbox().await?;
        let mut environment = self.environment.clone();
        for (name, folder) in temporary
            .iter()
            .flat_map(|folder| temporary_variables(folder))
        {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, folder));
        }
        for (name, value) in self.variables_of_skills() {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value.reveal().to_owned()));
        }
        let secrets = self.all_secrets();
        let order = KeeperOrder {
            environment,
            limit_ms: millis(limit),
            grace_ms: millis(GRACE),
            sandbox,
            ..KeeperOrder::shell(&line, self.work.path().to_path_buf(), &self.mark)
        };
        let mut file = OutputFile::new(&self.outputs, &secrets);
        let end = self
            .keeper
            .run(&order, stop, |bytes| file.push(bytes))
            .await;
        let file = file.finish();
        if let Some(temporary) = temporary {
            let _ = files::remove_folder(&temporary);
        }
        let end = end.map_err(|error| match error {
            ExecError::NoReport { left } if left.is_empty() => ToolError::Failed(
                "the command was killed together with its keeper; everything it ran has ended"
                    .to_owned(),
            ),
            error => ToolError::Failed(error.to_string()),
        })?;
        let mut text = end.output.text();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if let Some(file) = file {
            self.work.grant(&self.outputs);
            let _ = writeln!(
                text,
                "[all of it is in {}; read it in parts]",
                file.display()
            );
        }
        let report = end.report;
        let how = match (report.why, report.exit) {
            (_, ProgramExit::NotStarted(message)) => return Err(ToolError::Failed(message)),
            (EndReason::TimedOut, _) => format!("[timed out after {} s]", limit.as_secs_f64()),
            (EndReason::Told | EndReason::Abandoned, _) => "[stopped]".to_owned(),
            (EndReason::UsedTooMuch, _) => {
                "[ended: it had more than 4,096 processes or three quarters of the memory]"
                    .to_owned()
            }
            (EndReason::Done, ProgramExit::Code(0)) => return Ok(text),
            (EndReason::Done, ProgramExit::Code(code)) => format!("[exit code {code}]"),
            (EndReason::Done, ProgramExit::Signal(signal)) => format!("[ended by signal {signal}]"),
        };
        text.push_str(&how);
        Err(ToolError::Failed(text))
    }

    /// Returns the sandbox of a command. A child without a tool that writes cannot
    /// write by a command either.
    async fn sandbox(&self) -> Result<ShellSandbox, ToolError> {
        let may_write = self.writes("write") || self.writes("edit");
        if !may_write && !write_rules_work() {
            let message = "this agent may not write, and the kernel cannot keep a command from writing: refused";
            return Err(ToolError::Failed(message.to_owned()));
        }
        if !self.is_sandboxed {
            let nothing = Sandbox::writing_to(Vec::new());
            return Ok(ShellSandbox {
                sandbox: (!may_write).then_some(nothing),
                temporary: None,
            });
        }
        let temporary = self.outputs.with_added_extension("temporary");
        files::make_closed_folder(&temporary)?;
        let look = async || {
            let git = Git::new(self.environment.clone());
            let folder = self.work.path().to_path_buf();
            let folders = tokio::task::spawn_blocking(move || git.folders(&folder));
            folders.await.unwrap_or_default()
        };
        let mut folders = self.git_folders.get_or_init(look).await.clone();
        folders.extend(self.work.all());
        folders.push(temporary.clone());
        if let Some(tree) = &self.own_tree {
            folders.push(tree.folder.clone());
            folders.extend(tree.linked.iter().cloned());
        }
        let seclusion = Seclusion::about(
            &folders,
            std::slice::from_ref(&self.state),
            &self.environment,
        );
        let mut writes = vec![temporary.clone()];
        if may_write {
            writes.extend(self.work.writable());
            writes.extend(self.own_tree.iter().map(|tree| tree.folder.clone()));
        }
        let sandbox = Sandbox {
            writes,
            seclusion: Some(Seclusion {
                network: true,
                ..seclusion
            }),
        };
        Ok(ShellSandbox {
            sandbox: Some(sandbox),
            temporary: Some(temporary),
        })
    }
}

/// The sandbox of a command, and the folder for its temporary files.
struct ShellSandbox {
    sandbox: Option<Sandbox>,
    temporary: Option<PathBuf>,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
