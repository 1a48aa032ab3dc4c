//! The code that runs in the keeper process: one thread, no runtime, nothing shared.

use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getpid, getrlimit, pidfd_open,
    set_child_subreaper, setrlimit, setsid, wait,
};

use super::{
    EndReason, KeeperOrder, KeeperReport, ProgramExit, SealedOrder, SealedReport, confined, ids,
};
use crate::processes::{
    EndedTree, MARK, end_all, find_tree, hide_this_process, memory_of_the_machine, signal,
    used_by_tree,
};
use crate::sandbox::{EnforcedRestriction, MOST_TASKS};

const MOST_ENDING: Duration = Duration::from_secs(4);
/// The interval at which a keeper checks its tree when nothing wakes it.
const TICK: Duration = Duration::from_millis(200);
const COUNTING: Duration = Duration::from_secs(1);
/// The most bytes of an order; a longer text is no order.
const MOST_ORDER: u64 = 8 << 20;

/// Keeps one tree of processes: reads an order, runs it, reports, and ends. This call is all that the program does.
pub fn keep() -> ExitCode {
    if confined::is_this_process() {
        return confined::become_the_program();
    }
    // This comes before the secret word is read, which no process of the tree may know.
    hide_this_process();
    let Some((SealedOrder { word, order }, is_told)) = read_order() else {
        // There is no caller who could read a report.
        return ExitCode::from(2);
    };
    let report = if is_told {
        not_started("stopped before it began".to_owned(), EndReason::Told)
    } else {
        run(&order)
    };
    let text = serde_json::to_string(&SealedReport { word, report }).unwrap_or_default();
    let mut errors = std::io::stderr().lock();
    if errors.write_all(text.as_bytes()).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Reads the order, and tells if the word to end came with it. The read must not leave anything in a buffer, because the
/// wait for that word polls the descriptor.
fn read_order() -> Option<(SealedOrder, bool)> {
    let input = std::io::stdin();
    let mut text: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = match rustix::io::read(input.as_fd(), &mut buffer) {
            Err(rustix::io::Errno::INTR) => continue,
            read => read.ok().filter(|n| *n > 0)?,
        };
        let new = buffer.get(..n)?;
        let end = new.iter().position(|byte| *byte == b'\n');
        text.extend(new.get(..end.unwrap_or(n))?);
        if let Some(end) = end {
            let order = serde_json::from_slice(&text).ok()?;
            return Some((order, end + 1 < n));
        }
        if text.len() as u64 > MOST_ORDER {
            return None;
        }
    }
}

fn not_started(message: String, why: EndReason) -> KeeperReport {
    KeeperReport {
        exit: ProgramExit::NotStarted(message),
        why,
        scans: 0,
        ended: 0,
        left: Vec::new(),
        held: Vec::new(),
    }
}

fn run(order: &KeeperOrder) -> KeeperReport {
    match start(order) {
        Ok((program, output, held)) => KeptTree {
            order,
            program,
            exit: None,
            output: Some(output),
            passed_on: 0,
            held,
        }
        .watch(),
        Err(error) => not_started(error.to_string(), EndReason::Done),
    }
}

/// The reason why a program was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("no subreaper: {0}")]
    NoSubreaper(rustix::io::Errno),
    #[error("no pipe: {0}")]
    NoPipe(std::io::Error),
    #[error("no program was given")]
    NoProgram,
    #[error("{program}: {error}")]
    Program {
        program: String,
        error: std::io::Error,
    },
    #[error("{program}: it could not be kept from anything")]
    NotKept { program: String },
    /// The step between the keeper and the program says so.
    #[error("{0}")]
    Step(String),
    #[error(transparent)]
    System(#[from] rustix::io::Errno),
}

fn start(
    order: &KeeperOrder,
) -> Result<(Option<Pid>, OwnedFd, Vec<EnforcedRestriction>), StartError> {
    // In a session of its own, no terminal can signal the tree. Orphans of the tree become our children.
    let _ = setsid();
    let own = Some(getpid());
    set_child_subreaper(own).map_err(StartError::NoSubreaper)?;
    if let Some(most) = order.open_files {
        let now = getrlimit(Resource::Nofile);
        let current = now.maximum.map_or(most, |maximum| most.min(maximum));
        let limit = Rlimit {
            current: Some(current),
            ..now
        };
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let (reading, writing) = std::io::pipe().map_err(StartError::NoPipe)?;
    let errors = writing.try_clone().map_err(StartError::NoPipe)?;
    let (child, held) = match &order.sandbox {
        Some(sandbox) => confined::start(order, sandbox, &writing, &errors)?,
        None => (
            start_unbound(order, writing.into(), errors.into())?,
            Vec::new(),
        ),
    };
    let reading = OwnedFd::from(reading);
    let flags = fcntl_getfl(&reading)?;
    fcntl_setfl(&reading, flags | OFlags::NONBLOCK)?;
    // All children are waited for in one place, so the program is known by its id alone.
    let program = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok((program, reading, held))
}

fn start_unbound(order: &KeeperOrder, output: Stdio, errors: Stdio) -> Result<Child, StartError> {
    let words = order.command.split_first();
    let (program, arguments) = words.ok_or(StartError::NoProgram)?;
    Command::new(program)
        .args(arguments)
        .current_dir(&order.folder)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, &order.mark)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(|error| StartError::Program {
            program: program.clone(),
            error,
        })
}

struct KeptTree<'a> {
    order: &'a KeeperOrder,
    program: Option<Pid>,
    exit: Option<ProgramExit>,
    /// Our end of the pipe to which the tree writes; none once the other side is closed.
    output: Option<OwnedFd>,
    passed_on: u64,
    held: Vec<EnforcedRestriction>,
}

impl KeptTree<'_> {
    fn watch(mut self) -> KeeperReport {
        let descriptor = self
            .program
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let until = Instant::now().checked_add(self.order.limit());
        let why = self.wait_for_end(descriptor.as_ref(), until);
        if !matches!(why, EndReason::Done | EndReason::UsedTooMuch) {
            self.ask_to_end(descriptor.as_ref());
        }
        let tree = self.end();
        self.pass_on();
        let exit = self.exit.unwrap_or(ProgramExit::Signal(0));
        KeeperReport {
            exit: match why {
                // The tree ended because of what it used, even if its program reported another end.
                EndReason::UsedTooMuch => ProgramExit::Signal(Signal::KILL.as_raw()),
                _ => exit,
            },
            why,
            scans: tree.scans,
            ended: tree.ended,
            left: ids(&tree.left),
            held: self.held,
        }
    }

    /// Passes output on until the program has ended, the caller asks for the end, or the limit is reached.
    fn wait_for_end(&mut self, program: Option<&OwnedFd>, until: Option<Instant>) -> EndReason {
        let most_memory = memory_of_the_machine() / 4 * 3;
        let is_bound = self.order.sandbox.is_some();
        let mut counted = Instant::now();
        loop {
            if is_bound && counted.elapsed() > COUNTING {
                let used = used_by_tree(std::process::id());
                if used.tasks > MOST_TASKS || used.memory > most_memory {
                    return EndReason::UsedTooMuch;
                }
                counted = Instant::now();
            }
            let left = until.map_or(TICK, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return EndReason::TimedOut;
            }
            let woken = self.sleep(program, left.min(TICK));
            self.pass_on();
            self.reap();
            if self.exit.is_some() {
                return EndReason::Done;
            }
            if let Some(why) = woken {
                return why;
            }
        }
    }

    /// Waits until something happens, and returns a reason to end the tree if there is one.
    fn sleep(&self, program: Option<&OwnedFd>, most: Duration) -> Option<EndReason> {
        let input = std::io::stdin();
        let mut all = vec![PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        let others = [program, self.output.as_ref()].into_iter().flatten();
        all.extend(others.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        let time = Timespec::try_from(most).ok();
        if poll(&mut all, time.as_ref()).is_err() {
            return None;
        }
        let said = all.first().map_or(PollFlags::empty(), PollFd::revents);
        if said.is_empty() {
            return None;
        }
        // Any line means the end; the end of the input means that the caller is gone.
        Some(match read_some(input.as_fd()) {
            Some(n) if n > 0 => EndReason::Told,
            _ => EndReason::Abandoned,
        })
    }

    fn ask_to_end(&mut self, program: Option<&OwnedFd>) {
        let until = Instant::now() + self.order.grace();
        for whom in find_tree(std::process::id(), &self.order.mark) {
            signal(whom, Signal::TERM);
        }
        while Instant::now() < until {
            self.reap();
            if self.exit.is_some() {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            // A second line, or the end of the input, ends the grace period.
            if self.sleep(program, left.min(TICK)).is_some() {
                return;
            }
            self.pass_on();
        }
    }

    /// Ends all processes of the tree, until two scans in a row find none.
    fn end(&mut self) -> EndedTree {
        let mark = self.order.mark.clone();
        let own = std::process::id();
        end_all(MOST_ENDING, || {
            self.pass_on();
            self.reap();
            find_tree(own, &mark)
        })
    }

    /// Collects the processes that have ended: the program, and orphans of the tree.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if Some(pid) == self.program {
                self.exit = Some(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => ProgramExit::Code(code),
                    (None, signal) => ProgramExit::Signal(signal.unwrap_or_default()),
                });
            }
        }
    }

    /// Passes on the output that is there, without waiting for more.
    fn pass_on(&mut self) {
        let mut buffer = [0; 16 << 10];
        let mut out = std::io::stdout().lock();
        // The bound keeps a tree that writes without end from holding up the keeper.
        for _ in 0..256 {
            let Some(output) = &self.output else { return };
            match rustix::io::read(output, &mut buffer) {
                Ok(0) => self.output = None,
                Ok(n) => {
                    let left = self.order.most_output.saturating_sub(self.passed_on);
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(n);
                    self.passed_on = self.passed_on.saturating_add(take as u64);
                    let written = buffer.get(..take).map(|bytes| out.write_all(bytes));
                    if written.is_some_and(|written| written.is_err()) {
                        self.output = None;
                    }
                }
                Err(_) => break,
            }
        }
        let _ = out.flush();
    }
}

fn read_some(input: BorrowedFd<'_>) -> Option<usize> {
    let mut buffer = [0; 256];
    rustix::io::read(input, &mut buffer).ok()
}
