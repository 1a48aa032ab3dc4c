//! Child processes that cannot outlive their deadline.
//!
//! The wait itself blocks, so `elapsed` is exact and nothing polls; a second thread ends the
//! child when its time is up. Sandboxing and restarts are not done here.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// A command that writes more than this to one stream is broken; the test should say so instead
/// of filling the memory.
const OUTPUT_LIMIT: u64 = 64 * 1024 * 1024;

/// How a process came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal that we did not send ended it.
    Signalled(i32),
    /// It was still running at the deadline and was killed.
    TimedOut,
}

/// A process that has ended, and what it wrote.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote to standard output; empty when the output was not captured.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error; empty when the output was not captured.
    pub stderr: Vec<u8>,
    /// From just before the start until it was seen to have ended.
    pub elapsed: Duration,
}

impl Finished {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// Standard output as text; bytes that are not UTF-8 become replacement characters.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 become replacement characters.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The same value, or one line on how `what` failed followed by the end of its error output.
    pub fn require_success(self, what: &str) -> Result<Self, String> {
        let how = match self.ending {
            Ending::Exited(0) => return Ok(self),
            Ending::Exited(code) => format!("exited with code {code}"),
            Ending::Signalled(signal) => format!("was ended by signal {signal}"),
            Ending::TimedOut => format!("was killed after {:.0?}", self.elapsed),
        };
        let stderr = self.stderr_text();
        Err(format!("{what} {how}\n{}", last_lines(&stderr, 20))
            .trim_end()
            .to_owned())
    }
}

/// Runs `command` with captured output and no input, and kills it after `limit`.
///
/// The command gets a process group of its own. Whatever it leaves running is killed with it,
/// since a forgotten grandchild would hold the pipes open and the capture would never end.
pub fn capture(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let stdout = read_in_background(child.stdout.take());
    let stderr = read_in_background(child.stderr.take());
    let waited = wait_with_deadline(&mut child, limit, |leader| {
        // The group may be gone already, which is what is wanted.
        let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    });
    let elapsed = start.elapsed();
    let (stdout, stderr) = (joined(stdout)?, joined(stderr)?);
    Ok(Finished {
        ending: waited?,
        stdout,
        stderr,
        elapsed,
    })
}

/// Runs `command` with our own standard output and error and no input, and kills it after `limit`.
///
/// It stays in our process group so that an interrupt from the keyboard reaches it too; at the
/// deadline its descendants are therefore looked up one by one.
pub fn stream(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let ending = wait_with_deadline(&mut child, limit, kill_descendants)?;
    Ok(Finished {
        ending,
        stdout: Vec::new(),
        stderr: Vec::new(),
        elapsed: start.elapsed(),
    })
}

/// Waits for `child`; calls `end_all` at the deadline, and once more when the child has ended.
///
/// Until the last call is over the child is left unreaped, so its process id cannot have been
/// given to a stranger.
fn wait_with_deadline(
    child: &mut Child,
    limit: Duration,
    end_all: impl Fn(Pid) + Sync,
) -> io::Result<Ending> {
    let pid = Pid::from_child(child);
    let (ended, deadline) = mpsc::channel::<()>();
    let end_all = &end_all;
    let (waited, timed_out) = thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let late = deadline.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                end_all(pid);
                // The child itself may have left the group that was just killed.
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            late
        });
        let waited = wait_without_reaping(pid);
        drop(ended);
        (waited, watchdog.join().unwrap_or(false))
    });
    end_all(pid);
    let status = child.wait()?;
    waited?;
    Ok(if timed_out {
        Ending::TimedOut
    } else {
        ending_of(status)
    })
}

fn wait_without_reaping(pid: Pid) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), options) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

/// Ends every process below `ancestor` that can be found; a process that forks at this very
/// moment may be missed.
fn kill_descendants(ancestor: Pid) {
    // All are found before the first is killed: the children of a dead parent are adopted by
    // another process and could not be found any more.
    let mut found = children_of(ancestor);
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(children_of(parent));
        next += 1;
    }
    for pid in found {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid()));
    tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|children| {
            let ids = children.split_ascii_whitespace();
            ids.filter_map(|id| id.parse().ok().and_then(Pid::from_raw))
                .collect::<Vec<_>>()
        })
        .collect()
}

type Reader = thread::JoinHandle<io::Result<Vec<u8>>>;

fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> Option<Reader> {
    pipe.map(|pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == OUTPUT_LIMIT {
                return Err(io::Error::other(format!(
                    "the command wrote {OUTPUT_LIMIT} bytes or more"
                )));
            }
            Ok(bytes)
        })
    })
}

fn joined(reader: Option<Reader>) -> io::Result<Vec<u8>> {
    match reader.map(thread::JoinHandle::join) {
        None => Ok(Vec::new()),
        Some(Ok(read)) => read,
        Some(Err(_)) => Err(io::Error::other(
            "the thread that reads the output panicked",
        )),
    }
}

fn last_lines(text: &str, n_lines: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_exit_code_are_captured() {
        let finished = capture(&mut shell("echo out; echo err >&2; exit 3"), PLENTY).unwrap();
        assert_eq!(finished.ending, Ending::Exited(3));
        assert_eq!(finished.stdout_text(), "out\n");
        assert_eq!(finished.stderr_text(), "err\n");
    }

    #[test]
    fn a_process_is_killed_at_its_deadline() {
        let limit = Duration::from_millis(30);
        let finished = capture(&mut shell("exec sleep 60"), limit).unwrap();
        assert_eq!(finished.ending, Ending::TimedOut);
        assert!(finished.elapsed >= limit);
        assert!(finished.elapsed < PLENTY);
    }

    #[test]
    fn a_grandchild_that_holds_the_pipes_does_not_hold_the_capture() {
        let finished = capture(&mut shell("sleep 60 & echo started"), PLENTY).unwrap();
        assert_eq!(finished.stdout_text(), "started\n");
        assert!(finished.elapsed < PLENTY);
    }

    #[test]
    fn the_deadline_of_a_streamed_process_reaches_its_children() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = shell("sleep 60; sleep 60");
        command.stdout(writer);
        let finished = stream(&mut command, Duration::from_millis(30)).unwrap();
        assert_eq!(finished.ending, Ending::TimedOut);

        // The pipe ends when the last process that holds it has ended.
        drop(command);
        let start = Instant::now();
        assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(start.elapsed() < PLENTY);
    }

    #[test]
    fn a_foreign_signal_is_not_an_exit_code() {
        let finished = capture(&mut shell("kill -9 $$"), PLENTY).unwrap();
        assert_eq!(finished.ending, Ending::Signalled(9));
    }

    #[test]
    fn a_failure_quotes_the_end_of_the_error_output() {
        let finished = capture(&mut shell("echo broken >&2; exit 1"), PLENTY).unwrap();
        let message = finished.require_success("the script").unwrap_err();
        assert_eq!(message, "the script exited with code 1\nbroken");
    }
}
