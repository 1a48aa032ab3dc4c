//! Starting keepers and reading their reports.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::{KeeperOrder, KeeperReport, SealedOrder, SealedReport};
use crate::bounded_output::{BoundedOutput, OutputBounds};
use crate::own_children::{self, OwnChild};
use crate::processes::end_strays;

/// The time to wait after a keeper's limit; a keeper that is silent for longer is gone or stuck.
const BEYOND: Duration = Duration::from_secs(10);
/// The time limit for ending the processes that a killed keeper leaves behind.
const STRAYS: Duration = Duration::from_secs(2);
/// The most bytes of a report; a longer text is no report.
pub(super) const MOST_REPORT: u64 = 64 << 10;

/// The reason why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("the keeper could not be started")]
    NoKeeper(#[source] std::io::Error),
    #[error("the keeper ended without a report")]
    NoReport {
        /// Processes that it left behind and that could not be ended.
        left: Vec<u32>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnd {
    pub report: KeeperReport,
    pub output: BoundedOutput,
}

/// The two signals to stop a task: softly, and then at once.
#[derive(Debug, Clone, Default)]
pub struct StopTokens {
    /// Cancelled when the task should stop.
    pub soft: CancellationToken,
    /// Cancelled when the task should stop without its grace period.
    pub now: CancellationToken,
}

impl StopTokens {
    /// Signals the task to stop, at once if `now` is set.
    pub fn stop(&self, now: bool) {
        self.soft.cancel();
        if now {
            self.now.cancel();
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.soft.is_cancelled()
    }
}

#[derive(Debug, Clone)]
pub struct Keeper {
    program: PathBuf,
    arguments: Vec<OsString>,
    bounds: OutputBounds,
    /// This process's limit of open files at the keeper's creation: commands get no more, even if this process raises its
    /// own limit later.
    open_files: Option<u64>,
}

impl Keeper {
    /// This program, started again with an argument on which it calls [`super::keep`]. This process becomes the parent of
    /// the processes that a keeper leaves behind.
    pub fn this_program(argument: &str) -> Result<Self, ExecError> {
        // This link leads to the running file, even if another file has replaced it at its path.
        Self::new("/proc/self/exe".into(), &[argument])
    }

    /// Another program that calls [`super::keep`].
    pub fn new(program: PathBuf, arguments: &[&str]) -> Result<Self, ExecError> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| ExecError::NoKeeper(error.into()))?;
        Ok(Self {
            program,
            arguments: arguments.iter().map(OsString::from).collect(),
            bounds: OutputBounds::default(),
            open_files: getrlimit(Resource::Nofile).current,
        })
    }

    #[must_use]
    pub fn with_bounds(mut self, bounds: OutputBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Runs a command until its tree has ended, and returns the keeper's report. `on_output` gets the output of the tree as
    /// it comes.
    ///
    /// When `stop` is cancelled softly, the tree is asked to end, and it is ended after its grace or when `stop` says now.
    /// Dropping the future does the same, because the keeper sees its input end.
    pub async fn run(
        &self,
        order: &KeeperOrder,
        stop: &StopTokens,
        mut on_output: impl FnMut(&[u8]),
    ) -> Result<ProcessEnd, ExecError> {
        let (mut child, _running) = self.start(&order.mark)?;
        let (Some(mut input), Some(mut output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ExecError::NoReport { left: Vec::new() });
        };
        let order = KeeperOrder {
            open_files: order.open_files.or(self.open_files),
            ..order.clone()
        };
        let word = random_word()?;
        let sealed = SealedOrder {
            word: word.clone(),
            order,
        };
        let mut line = serde_json::to_string(&sealed).unwrap_or_default();
        line.push('\n');
        let order = sealed.order;
        // The missing report of a keeper that died is noticed below.
        let _ = input.write_all(line.as_bytes()).await;
        let mut input = Some(input);
        let mut kept = BoundedOutput::default();
        let mut buffer = vec![0; 16 << 10];
        let limit = order.limit() + order.grace() + BEYOND;
        let until = tokio::time::Instant::now() + limit;
        let (mut is_asked, mut is_told) = (false, false);
        loop {
            tokio::select! {
                read = output.read(&mut buffer) => match read {
                    Ok(n) if n > 0 => {
                        let bytes = buffer.get(..n).unwrap_or_default();
                        kept.push(self.bounds, bytes);
                        on_output(bytes);
                    }
                    _ => break,
                },
                () = stop.soft.cancelled(), if !is_asked => {
                    is_asked = true;
                    tell(input.as_mut()).await;
                }
                () = stop.now.cancelled(), if is_asked && !is_told => {
                    is_told = true;
                    tell(input.as_mut()).await;
                }
                () = tokio::time::sleep_until(until) => {
                    // A keeper ends its tree when its input ends; if it is stuck, killing it makes the tree ours to end.
                    input = None;
                    let _ = child.start_kill();
                    break;
                }
            }
        }
        let mut report = String::new();
        let mut errors = errors.take(MOST_REPORT);
        let _ = tokio::time::timeout(BEYOND, errors.read_to_string(&mut report)).await;
        drop(input);
        let end = tokio::time::timeout(BEYOND, child.wait()).await;
        // The report of a keeper that did not end by itself proves nothing: another process may have written it.
        let ended_well = matches!(end, Ok(Ok(status)) if status.success());
        let report = serde_json::from_str(&report).ok();
        let report = report.filter(|sealed: &SealedReport| ended_well && sealed.word == word);
        let left = match &report {
            Some(sealed) if sealed.report.left.is_empty() => Vec::new(),
            _ => end_strays_of_keeper().await,
        };
        match report {
            Some(SealedReport { report, .. }) => Ok(ProcessEnd {
                report,
                output: kept,
            }),
            None => Err(ExecError::NoReport { left }),
        }
    }

    fn start(&self, mark: &str) -> Result<(Child, OwnChild), ExecError> {
        let mut keeper = Command::new(&self.program);
        keeper
            .args(&self.arguments)
            .arg(mark)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        OwnChild::start(|| keeper.spawn(), Child::id).map_err(ExecError::NoKeeper)
    }
}

/// A word that no other process can guess.
fn random_word() -> Result<String, ExecError> {
    let mut bytes = [0_u8; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| ExecError::NoKeeper(error.into()))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// Ends the processes of a killed keeper, which have become our children. Returns those that could not be ended.
async fn end_strays_of_keeper() -> Vec<u32> {
    let ended = tokio::task::spawn_blocking(|| end_strays(own_children::ids, STRAYS));
    let left = ended.await.map(|ended| ended.left).unwrap_or_default();
    super::ids(&left)
}

async fn tell(input: Option<&mut ChildStdin>) {
    if let Some(input) = input {
        let _ = input.write_all(b"end\n").await;
        let _ = input.flush().await;
    }
}
