//! Runs the commands that show whether a child's work counts.

use std::path::{Path, PathBuf};

use grove_exec::{
    Exit, Git, Held, Keeper, Order, Sandbox, Seclusion, StopTokens, Why, allowed_variables, now,
};
use grove_plan::{Check, CheckEnd, CheckResult, Contract, Outcome};
use grove_spec::Digest;

/// One command, when nothing else is said.
const USUAL_TIME_MS: u64 = 10 * 60 * 1_000;
/// Between asking a command to end and ending it.
const GRACE_MS: u64 = 200;
/// Variables that name a place below the folder for what does not last; Go does nothing without a cache that it may
/// write to.
const TEMPORARY: [(&str, &str); 2] = [("TMPDIR", ""), ("GOCACHE", "go-build")];

/// What commands run with.
pub(crate) struct Verifying<'a> {
    pub(crate) keeper: &'a Keeper,
    pub(crate) environment: &'a [(String, String)],
    /// The path to the node from the root of its tree.
    pub(crate) mark: String,
    /// Where the child worked.
    pub(crate) folder: PathBuf,
    /// A folder for what does not last: nobody else's files are there.
    pub(crate) temporary: PathBuf,
    /// Grove's own folder, which no command reads.
    pub(crate) state: &'a Path,
    pub(crate) stop: &'a StopTokens,
}

impl Verifying<'_> {
    /// Runs all commands, one after the other, and gives the texts that the outcome names. None when they are not asked
    /// for any more.
    pub(crate) async fn run(&self, contract: &Contract) -> Option<(Outcome, Vec<Vec<u8>>)> {
        if let Err(error) = grove_fs::files::make_folder(&self.temporary) {
            let why = error.to_string();
            return Some((Outcome::Impossible { why }, Vec::new()));
        }
        let seclusion = self.seclusion().await;
        let (mut results, mut texts) = (Vec::new(), Vec::new());
        for check in &contract.verify {
            let (result, printed) = self.check(check, &seclusion).await;
            if self.stop.is_told() {
                return None;
            }
            results.push(result);
            texts.push(printed);
        }
        let _ = grove_fs::files::remove_folder(&self.temporary);
        Some((Outcome::Checked { results }, texts))
    }

    /// What commands are kept from: they read the repository of the work and no other work of this person.
    async fn seclusion(&self) -> Seclusion {
        let git = Git::new(self.environment.to_vec());
        let folder = self.folder.clone();
        let folders = tokio::task::spawn_blocking(move || git.folders(&folder));
        let mut folders = folders.await.unwrap_or_default();
        folders.extend([self.folder.clone(), self.temporary.clone()]);
        Seclusion::about(&folders, &[self.state.to_path_buf()], self.environment)
    }

    async fn check(&self, check: &Check, seclusion: &Seclusion) -> (CheckResult, Vec<u8>) {
        let folder = match &check.cwd {
            Some(below) => self.folder.join(below),
            None => self.folder.clone(),
        };
        let mut environment = allowed_variables(self.environment);
        for (name, below) in TEMPORARY {
            let folder = self.temporary.join(below);
            environment.push((name.to_owned(), folder.to_string_lossy().into_owned()));
        }
        environment.extend(check.env.clone());
        let sandbox = Sandbox {
            writes: vec![self.folder.clone(), self.temporary.clone()],
            seclusion: Some(Seclusion {
                network: check.network,
                ..seclusion.clone()
            }),
        };
        let order = Order {
            command: check.command.clone(),
            environment,
            limit_ms: check.timeout_ms.unwrap_or(USUAL_TIME_MS),
            grace_ms: GRACE_MS,
            sandbox: Some(sandbox),
            ..Order::shell("", folder.clone(), &self.mark)
        };
        let began = now().boot;
        let is_below = folder.starts_with(&self.folder) && !has_parents(check.cwd.as_deref());
        let ended = if is_below {
            self.keeper.run(&order, self.stop, |_| {}).await
        } else {
            let why = "its folder is outside the work folder".to_owned();
            return (
                result(check, CheckEnd::NotStarted(why), 0, b"", &[]),
                Vec::new(),
            );
        };
        let took = now().boot.saturating_sub(began);
        let (end, printed, held) = match ended {
            Ok(ended) => {
                let end = match (ended.report.why, ended.report.exit) {
                    (_, Exit::NotStarted(why)) => CheckEnd::NotStarted(why),
                    (Why::TimedOut, _) => CheckEnd::TimedOut,
                    (_, Exit::Code(code)) => CheckEnd::Code(code),
                    (_, Exit::Signal(signal)) => CheckEnd::Signal(signal),
                };
                let printed = ended.output.text().into_bytes();
                (end, printed, ended.report.held)
            }
            Err(error) => {
                let end = CheckEnd::NotStarted(error.to_string());
                (end, Vec::new(), Vec::new())
            }
        };
        (result(check, end, took, &printed, &held), printed)
    }
}

fn result(
    check: &Check,
    end: CheckEnd,
    milliseconds: u64,
    printed: &[u8],
    held: &[Held],
) -> CheckResult {
    let held: Vec<String> = held.iter().map(ToString::to_string).collect();
    CheckResult {
        id: check.id.clone(),
        end,
        milliseconds,
        output: Digest::of(printed),
        sandbox: if held.is_empty() {
            "none".to_owned()
        } else {
            held.join(", ")
        },
    }
}

fn has_parents(path: Option<&str>) -> bool {
    let path = Path::new(path.unwrap_or_default());
    let mut parts = path.components();
    parts.any(|part| matches!(part, std::path::Component::ParentDir))
}
