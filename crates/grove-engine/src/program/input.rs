//! The input of a program while it runs, and the request to stop that comes before it is ended.

use std::convert::Infallible;
use std::time::Duration;

use grove_exec::{ProgramInput, ProgramLaunch, StopTokens};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// The time between asking a program to stop in its own words and ending it.
const IN_BAND: Duration = Duration::from_secs(2);
/// The time after which a program is ended that does not end after its input has.
const MOST_ENDING: Duration = Duration::from_secs(3);

/// The input of one program: nothing for one that reads a file.
pub(super) struct Input {
    pipe: Mutex<Option<ProgramInput>>,
    lines: Mutex<UnboundedReceiver<String>>,
    sayer: Sayer,
}

/// The sender of lines to a program.
#[derive(Clone)]
pub(super) struct Sayer {
    lines: UnboundedSender<String>,
    /// Cancelled when no more lines come.
    closed: CancellationToken,
    is_heard: bool,
}

impl Input {
    /// Returns the input of a launch, with the first line said.
    pub(super) fn of(launch: &ProgramLaunch) -> std::io::Result<Self> {
        let (lines, receiver) = unbounded_channel();
        let sayer = Sayer {
            lines,
            closed: CancellationToken::new(),
            is_heard: !launch.input_lines.is_empty(),
        };
        let pipe = launch.input.as_ref().filter(|_| sayer.is_heard);
        let pipe = pipe.map(|path| ProgramInput::make(path)).transpose()?;
        if let Some(first) = launch.input_lines.front() {
            sayer.say(first.to_string());
        }
        Ok(Self {
            pipe: Mutex::new(pipe),
            lines: Mutex::new(receiver),
            sayer,
        })
    }

    pub(super) fn sayer(&self) -> Sayer {
        self.sayer.clone()
    }

    /// Sends the lines; then ends the input, and after a while has the keeper end the program.
    pub(super) async fn speak(&self, keeper: &StopTokens) -> Infallible {
        let mut lines = self.lines.lock().await;
        let mut pipe = self.pipe.lock().await;
        loop {
            let line = tokio::select! {
                biased;
                line = lines.recv() => line,
                () = self.sayer.closed.cancelled() => None,
            };
            let (Some(line), Some(pipe)) = (line, pipe.as_mut()) else {
                break;
            };
            if pipe.say(&line).await.is_err() {
                break;
            }
        }
        *pipe = None;
        if self.sayer.is_heard {
            self.sayer.closed.cancelled().await;
            tokio::time::sleep(MOST_ENDING).await;
            keeper.stop(false);
        }
        std::future::pending().await
    }
}

impl Sayer {
    pub(super) fn say(&self, line: String) {
        // A program that does not listen any more has ended.
        let _ = self.lines.send(line);
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Passes on that the child is to stop: a program that listens is first asked in its own words.
    pub(super) async fn pass_stop(
        &self,
        stop: &StopTokens,
        keeper: &StopTokens,
        in_band: impl Fn() -> Option<String>,
    ) -> Infallible {
        stop.soft.cancelled().await;
        if let Some(line) = in_band().filter(|_| self.is_heard) {
            self.say(line);
            tokio::select! {
                () = self.closed.cancelled() => {}
                () = stop.now.cancelled() => {}
                () = tokio::time::sleep(IN_BAND) => {}
            }
        }
        keeper.stop(false);
        stop.now.cancelled().await;
        keeper.stop(true);
        std::future::pending().await
    }
}
