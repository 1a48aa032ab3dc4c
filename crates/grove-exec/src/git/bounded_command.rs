//! Running a program to its end, within bounds of time and output.

use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use super::GitError;
use crate::own_children::OwnChild;

const LIMIT: Duration = Duration::from_mins(5);
/// The most characters of a failed program's error output that are kept.
const MOST_ERROR_TEXT: usize = 400;

/// Runs a program to its end, within bounds of time and output.
pub(super) fn finish(
    mut command: Command,
    name: &str,
    input: Option<&[u8]>,
    most: u64,
) -> Result<Vec<u8>, GitError> {
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = OwnChild::start(|| command.spawn(), |child| Some(child.id()));
    let (mut child, _own) = started.map_err(|error| GitError::NotThere(error.to_string()))?;
    let pid = child.id();
    let (done, ended) = channel::<()>();
    let read = std::thread::scope(|scope| {
        let limit = move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                end_group(pid);
            }
        };
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let write = move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                let _ = stdin.write_all(input);
            }
        };
        let listen = move || {
            let mut said = Vec::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(64 << 10).read_to_end(&mut said);
            }
            said
        };
        let thread = Builder::new;
        let said = thread().spawn_scoped(scope, limit).and_then(|_| {
            thread().spawn_scoped(scope, write)?;
            thread().spawn_scoped(scope, listen)
        });
        let said = said.inspect_err(|_| end_group(pid));
        let output = read_all(&mut child, most);
        if output.len() as u64 >= most {
            end_group(pid);
        }
        let status = child.wait();
        drop(done);
        (
            output,
            said.map(|said| said.join().unwrap_or_default()),
            status,
        )
    });
    let (output, said, status) = read;
    let said = said.map_err(|error| GitError::NotThere(error.to_string()))?;
    let is_full = output.len() as u64 >= most;
    if is_full || status.as_ref().is_ok_and(ExitStatus::success) {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&said);
    let mut message: String = said.trim().chars().take(MOST_ERROR_TEXT).collect();
    if let Some(signal) = status.ok().and_then(|status| status.signal()) {
        let before = if message.is_empty() { "" } else { "; " };
        message = format!("{message}{before}it was ended by signal {signal}");
    }
    Err(GitError::Failed {
        command: name.to_owned(),
        message,
    })
}

fn read_all(child: &mut Child, most: u64) -> Vec<u8> {
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(most).read_to_end(&mut output);
    }
    output
}

fn end_group(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}
