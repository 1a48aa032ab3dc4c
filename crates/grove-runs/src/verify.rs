//! Runs the commands that show whether a child's work counts.

use std::path::{Path, PathBuf};

use grove_exec::{Exit, Keeper, Order, StopTokens, Why, WriteRules, now, write_rules_work};
use grove_plan::{Check, CheckEnd, CheckResult, Contract, Outcome};
use grove_spec::Digest;

/// One command, when nothing else is said.
const USUAL_TIME_MS: u64 = 10 * 60 * 1_000;
/// Between asking a command to end and ending it.
const GRACE_MS: u64 = 200;

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
        let (mut results, mut texts) = (Vec::new(), Vec::new());
        for check in &contract.verify {
            let (result, printed) = self.check(check).await;
            if self.stop.is_told() {
                return None;
            }
            results.push(result);
            texts.push(printed);
        }
        let _ = grove_fs::files::remove_folder(&self.temporary);
        Some((Outcome::Checked { results }, texts))
    }

    async fn check(&self, check: &Check) -> (CheckResult, Vec<u8>) {
        let folder = match &check.cwd {
            Some(below) => self.folder.join(below),
            None => self.folder.clone(),
        };
        let mut environment = self.environment.to_vec();
        environment.retain(|(name, _)| name != "TMPDIR");
        let temporary = self.temporary.to_string_lossy().into_owned();
        environment.push(("TMPDIR".to_owned(), temporary));
        environment.extend(check.env.clone());
        let is_kept = write_rules_work();
        let writes = is_kept.then(|| WriteRules {
            folders: vec![self.folder.clone(), self.temporary.clone()],
        });
        let order = Order {
            command: check.command.clone(),
            environment,
            limit_ms: check.timeout_ms.unwrap_or(USUAL_TIME_MS),
            grace_ms: GRACE_MS,
            writes,
            ..Order::shell("", folder.clone(), &self.mark)
        };
        let began = now().boot;
        let is_below = folder.starts_with(&self.folder) && !has_parents(check.cwd.as_deref());
        let ended = if is_below {
            self.keeper.run(&order, self.stop, |_| {}).await
        } else {
            let why = "its folder is outside the work folder".to_owned();
            return (
                result(check, CheckEnd::NotStarted(why), 0, b"", is_kept),
                Vec::new(),
            );
        };
        let took = now().boot.saturating_sub(began);
        let (end, printed) = match ended {
            Ok(ended) => {
                let end = match (ended.report.why, ended.report.exit) {
                    (_, Exit::NotStarted(why)) => CheckEnd::NotStarted(why),
                    (Why::TimedOut, _) => CheckEnd::TimedOut,
                    (_, Exit::Code(code)) => CheckEnd::Code(code),
                    (_, Exit::Signal(signal)) => CheckEnd::Signal(signal),
                };
                (end, ended.output.text().into_bytes())
            }
            Err(error) => (CheckEnd::NotStarted(error.to_string()), Vec::new()),
        };
        (result(check, end, took, &printed, is_kept), printed)
    }
}

fn result(
    check: &Check,
    end: CheckEnd,
    milliseconds: u64,
    printed: &[u8],
    is_kept: bool,
) -> CheckResult {
    CheckResult {
        id: check.id.clone(),
        end,
        milliseconds,
        output: Digest::of(printed),
        sandbox: if is_kept { "writes" } else { "none" }.to_owned(),
    }
}

fn has_parents(path: Option<&str>) -> bool {
    let path = Path::new(path.unwrap_or_default());
    let mut parts = path.components();
    parts.any(|part| matches!(part, std::path::Component::ParentDir))
}
