//! pi's own skill loader, kept alive in one Node process and timed inside it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use grove_testkit::task::workspace;

/// One load of 100,000 skills takes about ten seconds.
const ANSWER_LIMIT: Duration = Duration::from_mins(2);

/// A running loader for one library.
#[derive(Debug)]
pub(crate) struct PiLoader {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<io::Result<String>>,
}

impl PiLoader {
    /// Starts Node and imports pi, neither of which is measured.
    pub(crate) fn start(library: &Path) -> Result<Self, String> {
        let mut process = command(library)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start node: {error}"))?;
        let (Some(requests), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("node has no pipes".to_owned());
        };
        let loader = Self {
            process,
            requests,
            answers: lines_of(output),
        };
        loader.answer()?;
        Ok(loader)
    }

    /// Loads the library once: how long it took by pi's own clock, and how many skills came.
    pub(crate) fn load(&mut self) -> Result<(Duration, usize), String> {
        self.requests
            .write_all(b"load\n")
            .map_err(|error| format!("cannot ask pi: {error}"))?;
        let answer = self.answer()?;
        let (ms, n_skills) = (answer["ms"].as_f64(), answer["skills"].as_u64());
        match (ms, n_skills) {
            (Some(ms), Some(n_skills)) => {
                Ok((Duration::from_secs_f64(ms / 1e3), n_skills as usize))
            }
            _ => Err(format!("pi answered {answer}")),
        }
    }

    fn answer(&self) -> Result<Value, String> {
        let line = self
            .answers
            .recv_timeout(ANSWER_LIMIT)
            .map_err(|_| "pi gave no answer".to_owned())?
            .map_err(|error| format!("cannot read pi's answer: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("pi answered {line}: {error}"))
    }
}

impl Drop for PiLoader {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Node with the script and the library; the caller may add the number of runs.
pub(crate) fn command(library: &Path) -> Result<Command, String> {
    let script = workspace::root().join("crates/grove-bench/src/pi-loader.mjs");
    let home = empty_home()?;
    let mut node = Command::new(crate::given(grove_testkit::need::variable::NODE)?);
    node.arg(script)
        .arg(crate::given("GROVE_BENCH_PI")?)
        .arg(library)
        .current_dir(&home)
        .env("HOME", &home);
    Ok(node)
}

/// pi must not find settings of the person who measures.
fn empty_home() -> Result<PathBuf, String> {
    let home = workspace::target().join("bench/pi-home");
    match fs::create_dir_all(&home) {
        Ok(()) => Ok(home),
        Err(error) => Err(format!("cannot make {}: {error}", home.display())),
    }
}

fn lines_of(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
