//! Child processes that cannot outlive their deadline.
//!
//! The wait itself blocks, so `elapsed` is exact and nothing polls; a second thread ends the
//! child when its time is up. Sandboxing and restarts are not done here.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, setrlimit};

/// A command that writes more than this to one stream is broken; the test should say so instead
/// of filling the memory.
const OUTPUT_LIMIT: u64 = 64 * 1024 * 1024;

/// Far above what any short command takes, however busy the machine is: only a hanging one meets it.
pub const HANGING: Duration = Duration::from_mins(5);

/// Lets this process have as many files open as it may: thousands of connections are thousands of descriptors.
pub fn allow_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With fewer there are fewer connections, which whoever needs them will notice.
    let _ = setrlimit(Resource::Nofile, most);
}

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
    /// What it and those it waited for used of the processors, in steps of a hundredth of a second.
    pub processor_time: Duration,
}

/// How much longer something may take by the clock than by its processor time before the machine is no excuse.
const BUSY_FACTOR: u32 = 10;

impl Finished {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// Whether it needed no more than `limit`, as [`is_within`] says.
    pub fn needed_at_most(&self, limit: Duration) -> bool {
        is_within(limit, self.elapsed, self.processor_time)
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

/// Whether something that took so long by the clock and used so much of the processors needed no more than `limit`.
///
/// The clock decides, unless others keep the machine busy: then what counts is the processor time, as long as the
/// clock shows no more than ten times the limit, so that nothing passes that merely waits.
pub fn is_within(limit: Duration, elapsed: Duration, processor_time: Duration) -> bool {
    elapsed <= limit || (processor_time <= limit && elapsed <= limit * BUSY_FACTOR)
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
    let (stdout, stderr) = (joined(stdout)?, joined(stderr)?);
    let waited = waited?;
    Ok(Finished {
        ending: waited.ending,
        stdout,
        stderr,
        elapsed: waited.ended.duration_since(start),
        processor_time: waited.processor_time,
    })
}

/// Runs `command` with our own standard output and error and no input, and kills it after `limit`.
///
/// It stays in our process group so that an interrupt from the keyboard reaches it too; at the
/// deadline its descendants are therefore looked up one by one.
pub fn stream(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let waited = wait_with_deadline(&mut child, limit, kill_descendants)?;
    Ok(Finished {
        ending: waited.ending,
        stdout: Vec::new(),
        stderr: Vec::new(),
        elapsed: waited.ended.duration_since(start),
        processor_time: waited.processor_time,
    })
}

/// The command `kill` of the shell, to which a signal and process ids are added: the program of that name comes in a
/// package that not every machine has.
pub fn kill() -> Command {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill \"$@\"", "kill"]);
    kill
}

/// A child whose lines are read while it runs, and that is killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    /// The child, without the stream that is read.
    pub child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    /// Starts a command and reads what it writes to its standard output or, where that is no pipe, to its standard error.
    ///
    /// No more than `ahead` lines are read before somebody asks for them.
    pub fn start(command: &mut Command, ahead: usize) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let stream: Option<Box<dyn Read + Send>> = match (child.stdout.take(), child.stderr.take())
        {
            (Some(stdout), _) => Some(Box::new(stdout)),
            (None, Some(stderr)) => Some(Box::new(stderr)),
            (None, None) => None,
        };
        let stream = stream.ok_or_else(|| io::Error::other("no stream of the child is a pipe"))?;
        let (tell, lines) = mpsc::sync_channel(ahead);
        // A thread of its own, so that a child which says nothing does not stop the test.
        thread::spawn(move || {
            let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
            lines.all(|line| tell.send(line).is_ok())
        });
        Ok(Self { child, lines })
    }

    /// The next line, unless none comes within `limit`.
    pub fn line(&self, limit: Duration) -> Option<String> {
        self.lines.recv_timeout(limit).ok()
    }

    /// How it comes to its end, which is a kill after `limit`.
    pub fn end(&mut self, limit: Duration) -> io::Result<Ending> {
        Ok(wait_with_deadline(&mut self.child, limit, |_| ())?.ending)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of a child.
struct Waited {
    ending: Ending,
    ended: Instant,
    processor_time: Duration,
}

/// Waits for `child`; calls `end_all` at the deadline, and once more when the child has ended.
///
/// Until the last call is over the child is left unreaped, so its process id cannot have been
/// given to a stranger.
fn wait_with_deadline(
    child: &mut Child,
    limit: Duration,
    end_all: impl Fn(Pid) + Sync,
) -> io::Result<Waited> {
    let pid = Pid::from_child(child);
    let (ended, deadline) = mpsc::channel::<()>();
    let end_all = &end_all;
    let (waited, ended, timed_out) = thread::scope(|scope| {
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
        let seen = Instant::now();
        drop(ended);
        (waited, seen, watchdog.join().unwrap_or(false))
    });
    end_all(pid);
    let processor_time = processor_time_of(&pid.as_raw_pid().to_string())?;
    let status = child.wait()?;
    waited?;
    let ending = if timed_out {
        Ending::TimedOut
    } else {
        ending_of(status)
    };
    Ok(Waited {
        ending,
        ended,
        processor_time,
    })
}

/// The processor time of this process, its threads and every child that it waited for until now.
pub fn own_processor_time() -> io::Result<Duration> {
    processor_time_of("self")
}

/// The processor time of a process that runs or was not yet reaped, and of the children that it reaped.
fn processor_time_of(process: &str) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in brackets, may hold anything. Behind it the twelfth field is the first of the four
    // times: of the process and of its children, each outside and inside the kernel.
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
    let times = fields.unwrap_or_default().split_ascii_whitespace().skip(11);
    let ticks: Option<u64> = times.take(4).map(|time| time.parse::<u64>().ok()).sum();
    let ticks = ticks.ok_or_else(|| io::Error::other(format!("no times in {stat:?}")))?;
    Ok(Duration::from_millis(ticks * 10))
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

    /// A process that works is told from one that waits.
    #[test]
    fn work_and_waiting_are_told_apart() {
        let limit = Duration::from_millis(200);
        let waiting = capture(&mut shell("sleep 0.5"), PLENTY).unwrap();
        assert!(waiting.processor_time < limit, "{waiting:?}");
        let script = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
        let working = capture(&mut shell(script), PLENTY).unwrap();
        assert!(working.processor_time > Duration::from_millis(20));
        assert!(!working.needed_at_most(Duration::from_millis(10)));
        // The children count too, once they were waited for.
        let parent = capture(&mut shell(&format!("({script}); true")), PLENTY).unwrap();
        assert!(parent.processor_time > Duration::from_millis(20));
        assert!(own_processor_time().unwrap() >= working.processor_time);
    }

    #[test]
    fn a_busy_machine_is_an_excuse_and_waiting_is_not() {
        let limit = Duration::from_millis(100);
        for (elapsed, processor_time, is_fine) in [
            (100, 0, true),
            (100, 180, true),
            (900, 90, true),
            (900, 110, false),
            (1_001, 0, false),
        ] {
            let took = [elapsed, processor_time].map(Duration::from_millis);
            assert_eq!(is_within(limit, took[0], took[1]), is_fine, "{took:?}");
        }
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
