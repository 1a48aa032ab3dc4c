//! The side that starts keepers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::{Order, Report, SealedOrder, SealedReport};
use crate::bounded_output::{BoundedOutput, OutputBounds};
use crate::own_children::{self, OwnChild};
use crate::processes::end_strays;

/// A keeper that says nothing for so long after its limit is gone or stuck.
const BEYOND: Duration = Duration::from_secs(10);
/// What a keeper leaves behind that was killed is ended within this.
const STRAYS: Duration = Duration::from_secs(2);
/// A report longer than this is none.
pub(super) const MOST_REPORT: u64 = 64 << 10;

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no keeper.
    #[error("the keeper could not be started")]
    NoKeeper(#[source] std::io::Error),
    /// The keeper ended without a report: it was killed, or it is not our program.
    #[error("the keeper ended without a report")]
    NoReport {
        /// Processes that it left and that could not be ended.
        left: Vec<u32>,
    },
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnd {
    /// What the keeper saw.
    pub report: Report,
    /// What the tree wrote.
    pub output: BoundedOutput,
}

/// How somebody is told to stop: softly, and then at once.
#[derive(Debug, Clone, Default)]
pub struct StopTokens {
    /// Cancelled when it is to stop.
    pub soft: CancellationToken,
    /// Cancelled when there is nothing to wait for.
    pub now: CancellationToken,
}

impl StopTokens {
    /// Tells it.
    pub fn tell(&self, now: bool) {
        self.soft.cancel();
        if now {
            self.now.cancel();
        }
    }

    /// Whether it was told.
    pub fn is_told(&self) -> bool {
        self.soft.is_cancelled()
    }
}

/// The program that keeps trees.
#[derive(Debug, Clone)]
pub struct Keeper {
    program: PathBuf,
    arguments: Vec<OsString>,
    bounds: OutputBounds,
    /// How many files this process could have open when the keeper was named: commands get no more, whatever this
    /// process allows itself later.
    open_files: Option<u64>,
}

impl Keeper {
    /// This program, started anew with an argument on which it calls [`super::keep`]. This process becomes the
    /// parent of whatever a keeper leaves behind.
    pub fn this_program(argument: &str) -> Result<Self, ExecError> {
        // The file that runs, also when another one has been put in its place.
        Self::new("/proc/self/exe".into(), &[argument])
    }

    /// Another program that keeps.
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

    /// The same with other bounds on what is kept of an output.
    #[must_use]
    pub fn with_bounds(mut self, bounds: OutputBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Runs a command until its tree has ended, and gives back what the keeper saw. `on_output` is given what the
    /// tree writes as it comes.
    ///
    /// When `stop` is cancelled softly the tree is asked to end, and ended after its grace or when `stop` says now;
    /// dropping the future does the same, because the keeper sees its input end.
    pub async fn run(
        &self,
        order: &Order,
        stop: &StopTokens,
        mut on_output: impl FnMut(&[u8]),
    ) -> Result<ProcessEnd, ExecError> {
        let (mut child, _running) = self.start(&order.mark)?;
        let (Some(mut input), Some(mut output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ExecError::NoReport { left: Vec::new() });
        };
        let order = Order {
            open_files: order.open_files.or(self.open_files),
            ..order.clone()
        };
        let word = chance_word()?;
        let sealed = SealedOrder {
            word: word.clone(),
            order,
        };
        let mut line = serde_json::to_string(&sealed).unwrap_or_default();
        line.push('\n');
        let order = sealed.order;
        // A keeper that died has no report, which is noticed below.
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
                    // It ends its tree when nobody listens; and if it is stuck, it is ended and its tree with it.
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
        // What a keeper said that did not end by itself proves nothing: another process may have said it.
        let ended_well = matches!(end, Ok(Ok(status)) if status.success());
        let report = serde_json::from_str(&report).ok();
        let report = report.filter(|sealed: &SealedReport| ended_well && sealed.word == word);
        let left = match &report {
            Some(sealed) if sealed.report.left.is_empty() => Vec::new(),
            _ => end_what_is_left().await,
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
fn chance_word() -> Result<String, ExecError> {
    let mut bytes = [0_u8; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| ExecError::NoKeeper(error.into()))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// What a killed keeper left behind has become our child: it is ended here. Returns what could not be ended.
async fn end_what_is_left() -> Vec<u32> {
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
