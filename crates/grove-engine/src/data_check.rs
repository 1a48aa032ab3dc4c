//! Checks data against schemas that were written by others.
//!
//! A small schema or expression can take for ever, or all the memory there is, and it cannot be known beforehand whether it
//! does. So values are checked by a process of their own: this program started anew, under a keeper, with little time. If
//! that process dies or hangs, only one check has failed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use grove_exec::{EndReason, Keeper, KeeperOrder, ProgramExit, StopTokens};
use grove_fs::{FsError, atomic, files};
use jsonschema::{PatternOptions, ValidationError, Validator};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema_bounds;

/// The argument with which this program is started to check data.
pub(crate) const DATA_CHECK: &str = "__check-data";
/// Seconds of computing that a check may take.
const MOST_SECONDS: u64 = 2;
/// Milliseconds that it may take on a machine that is busy.
const MOST_MS: u64 = 20_000;
const MOST_MEMORY: u64 = 4 << 30;
/// The most bytes of a schema with its value.
const MOST_INPUT: u64 = 64 << 20;
const MOST_FAULTS: usize = 8;
const MOST_FAULT: usize = 2 << 10;
/// The most steps back in one match of an expression.
const MOST_STEPS_BACK: usize = 100_000;
/// The bytes of the stack on which a schema is read.
const STACK: usize = 64 << 20;
/// The most bytes of an expression when it is prepared.
const MOST_EXPRESSION: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaFault {
    /// The schema would take too much work.
    #[error("it is beyond a bound: {0}")]
    Bound(#[from] schema_bounds::SchemaBound),
    #[error(transparent)]
    Unreadable(Box<ValidationError<'static>>),
    /// The reader of schemas panicked at it.
    #[error("it cannot be read")]
    Broken,
}

/// Checks that a value is a schema, and that it keeps the bounds.
pub(crate) fn look_at(schema: &Value) -> Result<(), SchemaFault> {
    schema_bounds::check(schema)?;
    // References are followed recursively, and the stacks of the runtime's threads are small.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || validator(schema).map(drop));
        let made = thread.ok().and_then(|thread| thread.join().ok());
        let made = made.ok_or(SchemaFault::Broken)?;
        made.map_err(|error| SchemaFault::Unreadable(Box::new(error)))
    })
}

fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MOST_STEPS_BACK)
        .size_limit(MOST_EXPRESSION);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema)
}

/// The reasons why a check gave no verdict.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataCheckError {
    #[error("the check could not begin")]
    NotBegun(#[from] FsError),
    #[error("the check could not begin: {0}")]
    NoProcess(#[from] grove_exec::ExecError),
    #[error("to check it against the schema takes more than {MOST_SECONDS} seconds of computing")]
    TooLong,
    #[error("the check was stopped")]
    Stopped,
    #[error("the check ended without a word: the schema takes too much memory, or is damaged")]
    Ended,
}

pub(crate) struct DataCheck<'a> {
    pub(crate) keeper: &'a Keeper,
    /// The path to the attempt from the root of its tree.
    pub(crate) mark: &'a str,
    /// A folder of Grove's own, in which the value is put for the process.
    pub(crate) folder: &'a Path,
    pub(crate) stop: &'a StopTokens,
}

/// The input of the process.
#[derive(Serialize, Deserialize)]
struct Asked {
    schema: Value,
    value: Value,
}

/// The output of the process.
#[derive(Serialize, Deserialize)]
struct Said {
    faults: Vec<String>,
}

impl DataCheck<'_> {
    /// Returns the faults of a value by a schema; an empty list if it meets the schema.
    pub(crate) async fn faults(
        &self,
        schema: &Value,
        value: &Value,
    ) -> Result<Vec<String>, DataCheckError> {
        static CHECKS: AtomicU64 = AtomicU64::new(0);
        let number = CHECKS.fetch_add(1, Ordering::Relaxed);
        let name = format!("check-{}-{number}", std::process::id());
        let file = self.folder.join(format!("{name}.json"));
        let asked = Asked {
            schema: schema.clone(),
            value: value.clone(),
        };
        files::make_folder(self.folder)?;
        let bytes = serde_json::to_vec(&asked).unwrap_or_default();
        atomic::write_mode(&file, &bytes, 0o600)?;
        // Below the mark of the attempt: its own keeper would end a program that runs beside it.
        let faults = self.ask(&file, &format!("{}/{name}", self.mark)).await;
        let _ = files::remove(&file);
        faults
    }

    async fn ask(&self, file: &Path, mark: &str) -> Result<Vec<String>, DataCheckError> {
        let command = ["/proc/self/exe", DATA_CHECK].map(str::to_owned);
        let mut command = command.to_vec();
        command.push(file.to_string_lossy().into_owned());
        let order = KeeperOrder {
            command,
            limit_ms: MOST_MS,
            ..KeeperOrder::shell("", self.folder.to_path_buf(), mark)
        };
        let mut output = Vec::new();
        let ran = self.keeper.run(&order, self.stop, |bytes| {
            let room = (64_usize << 10).saturating_sub(output.len());
            output.extend_from_slice(bytes.get(..bytes.len().min(room)).unwrap_or_default());
        });
        let end = ran.await?;
        if let Ok(said) = serde_json::from_slice::<Said>(&output) {
            return Ok(said.faults);
        }
        Err(match (&end.report.why, &end.report.exit) {
            (EndReason::Told, _) => DataCheckError::Stopped,
            (EndReason::Done, exit) if !is_out_of_time(exit) => DataCheckError::Ended,
            _ => DataCheckError::TooLong,
        })
    }
}

/// Returns true for a process that was ended by its limit on computing.
fn is_out_of_time(exit: &ProgramExit) -> bool {
    const KILLED: i32 = 9;
    const BEYOND_ITS_TIME: i32 = 24;
    matches!(exit, ProgramExit::Signal(KILLED | BEYOND_ITS_TIME))
}

/// Checks the data in a file and prints its faults. A process that is started for this does nothing else.
pub(crate) fn check_data(file: Option<&Path>) -> ExitCode {
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Cpu, MOST_SECONDS),
        (Resource::As, MOST_MEMORY),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        if setrlimit(resource, limit).is_err() {
            return ExitCode::FAILURE;
        }
    }
    let bytes = file.and_then(|file| files::read_bounded(file, MOST_INPUT).ok());
    let asked = bytes.and_then(|bytes| serde_json::from_slice::<Asked>(&bytes).ok());
    let Some(Asked { schema, value }) = asked else {
        return ExitCode::FAILURE;
    };
    let faults = match validator(&schema) {
        Ok(validator) => {
            let faults = validator.iter_errors(&value).take(MOST_FAULTS);
            let faults = faults.map(|error| format!("{}: {error}", error.instance_path()));
            faults.map(bounded).collect()
        }
        Err(error) => vec![bounded(format!("the schema cannot be read: {error}"))],
    };
    let said = serde_json::to_vec(&Said { faults }).unwrap_or_default();
    let mut output = std::io::stdout().lock();
    let written = std::io::Write::write_all(&mut output, &said);
    match written.and_then(|()| std::io::Write::flush(&mut output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn bounded(mut fault: String) -> String {
    fault.truncate(fault.floor_char_boundary(MOST_FAULT));
    fault
}
