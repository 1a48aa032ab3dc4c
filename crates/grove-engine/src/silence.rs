//! A supervisor that does not answer: it was suspended, or is stuck. What a command recorded is not lost, and the person hears
//! which process it waits for.

use std::time::{Duration, Instant};

use grove_exec::{Liveness, ProcessIdentity};
use grove_plan::EffectKind;

use crate::error::EngineError;
use crate::journal::RunJournal;

/// The time between two looks.
const POLL: Duration = Duration::from_millis(15);
/// The time in which a supervisor takes note that a child is to stop. It looks round twice a second; what is left is for a
/// machine that is busy.
const ANSWER: Duration = Duration::from_secs(5);

impl RunJournal {
    /// The process that drives children of a run, while it is there.
    fn driver(&self, run: &str) -> Result<Option<u32>, EngineError> {
        let rows = self.store.outbox_of(run)?;
        let starts = rows
            .into_iter()
            .filter(|row| row.effect.kind == EffectKind::Start);
        let mut holders = starts.filter_map(|row| row.holder);
        let alive = holders.find(|it| ProcessIdentity(it.clone()).liveness() == Liveness::Alive);
        Ok(alive.map(|it| it.pid))
    }

    /// Waits until the children of a run have been told to stop, and says which process does not do that. One that is gone
    /// has a successor, which does it.
    pub(crate) fn require_told_to_stop(&self, run: &str) -> Result<(), EngineError> {
        if self.is_of_supervisor() {
            return Ok(());
        }
        let until = Instant::now() + ANSWER;
        loop {
            let rows = self.store.outbox_of(run)?;
            let is_told = rows.iter().all(|row| row.effect.kind != EffectKind::Stop);
            let driver = self.driver(run)?;
            match driver {
                Some(process) if !is_told => {
                    if Instant::now() >= until {
                        let message = format!("this is recorded, but {}", silent(Some(process)));
                        return Err(EngineError::finding(message).hints(next_steps(Some(process))));
                    }
                }
                _ => return Ok(()),
            }
            std::thread::sleep(POLL);
        }
    }

    /// Returns a note about the supervisor of a run that takes no messages.
    pub fn note_of_silence(&self, run: &str) -> Result<String, EngineError> {
        let process = self.driver(run)?;
        let steps = next_steps(process).join("; ");
        Ok(format!("{}: {steps}", silent(process)))
    }
}

fn silent(process: Option<u32>) -> String {
    match process {
        Some(process) => format!("the supervisor, process {process}, does not answer"),
        None => "the supervisor does not answer".to_owned(),
    }
}

fn next_steps(process: Option<u32>) -> Vec<String> {
    let process = process.map_or_else(|| "PROCESS".to_owned(), |it| it.to_string());
    vec![
        format!("`kill -CONT {process}` continues it if it was suspended"),
        format!(
            "after `kill -KILL {process}` the next command starts another, which goes on with the run"
        ),
    ]
}
