//! The step between a keeper and a program in a sandbox: this program started again, which restricts itself and then
//! becomes the program. The keeper stays outside of the sandbox, so that the program cannot reach it.
//!
//! The step gets its input on its standard input and answers there; the program gets neither end.

use std::io::{PipeWriter, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::dup;
use serde::{Deserialize, Serialize};

use super::KeeperOrder;
use super::client::MOST_REPORT;
use super::process::StartError;
use crate::processes::MARK;
use crate::sandbox::{EnforcedRestriction, RestrictError, Sandbox, restrict_this_process};

/// The last argument of a keeper process that is this step.
const STEP: &str = "confined";
const MOST_BINDING: Duration = Duration::from_secs(30);
/// The path by which a process starts its own program again.
const THIS_PROGRAM: &str = "/proc/self/exe";

#[derive(Serialize, Deserialize)]
struct StepInput {
    command: Vec<String>,
    folder: PathBuf,
    environment: Vec<(String, String)>,
    sandbox: Sandbox,
    /// Set if it should get its own view of the file system.
    with_view: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StepAnswer {
    /// The process is restricted, and becomes the program now.
    EnforcedRestriction(Vec<EnforcedRestriction>),
    /// The kernel gives it no view of the file system of its own; this process cannot be used any more.
    NoView,
    Failed(String),
}

enum StepStart {
    Runs(Child, Vec<EnforcedRestriction>),
    NoView,
}

pub(super) fn is_this_process() -> bool {
    std::env::args_os().last().is_some_and(|last| last == STEP)
}

/// Starts the program of an order through the step, with these two pipe ends for what it prints.
pub(super) fn start(
    order: &KeeperOrder,
    sandbox: &Sandbox,
    output: &PipeWriter,
    errors: &PipeWriter,
) -> Result<(Child, Vec<EnforcedRestriction>), StartError> {
    for with_view in [true, false] {
        let output = output.try_clone().map_err(StartError::NoPipe)?;
        let errors = errors.try_clone().map_err(StartError::NoPipe)?;
        let told = StepInput {
            command: order.command.clone(),
            folder: order.folder.clone(),
            environment: {
                let mark = (MARK.to_owned(), order.mark.clone());
                order.environment.iter().cloned().chain([mark]).collect()
            },
            sandbox: sandbox.clone(),
            with_view,
        };
        if let StepStart::Runs(child, held) = begin(&told, output.into(), errors.into())? {
            return Ok((child, held));
        }
    }
    let program = order.command.first().cloned().unwrap_or_default();
    Err(StartError::NotKept { program })
}

fn begin(told: &StepInput, output: Stdio, errors: Stdio) -> Result<StepStart, StartError> {
    let program = told.command.first().cloned();
    let program = program.ok_or(StartError::NoProgram)?;
    let said = |error: std::io::Error| StartError::Program {
        program: program.clone(),
        error,
    };
    let (mut ours, theirs) = UnixStream::pair().map_err(said)?;
    let mut command = Command::new(THIS_PROGRAM);
    let mut child = command
        .args(std::env::args_os().skip(1))
        .arg(STEP)
        .env_clear()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(said)?;
    // The command holds a copy of the other end of the answers, which only the step may keep.
    drop(command);
    let told = serde_json::to_vec(told).map_err(|error| said(error.into()))?;
    ours.set_read_timeout(Some(MOST_BINDING)).map_err(said)?;
    ours.write_all(&told).map_err(said)?;
    ours.shutdown(std::net::Shutdown::Write).map_err(said)?;
    // The input ends when the step has become the program.
    let mut answers = String::new();
    ours.take(MOST_REPORT)
        .read_to_string(&mut answers)
        .map_err(said)?;
    let mut begun = Err(StartError::NotKept {
        program: program.clone(),
    });
    for line in answers.lines() {
        begun = match serde_json::from_str(line) {
            Ok(StepAnswer::EnforcedRestriction(held)) => Ok(Some(held)),
            Ok(StepAnswer::NoView) => Ok(None),
            Ok(StepAnswer::Failed(message)) => Err(StartError::Step(message)),
            Err(error) => Err(said(error.into())),
        };
    }
    Ok(if let Some(held) = begun? {
        StepStart::Runs(child, held)
    } else {
        let _ = child.wait();
        StepStart::NoView
    })
}

/// Runs the step itself: restricts this process, and becomes the program.
pub(super) fn become_the_program() -> ExitCode {
    let input = std::io::stdin();
    let Ok(mut answers) = dup(&input).map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let failed = run(&mut answers).unwrap_or_else(|error| error.to_string());
    let _ = answer(&mut answers, &StepAnswer::Failed(failed));
    ExitCode::FAILURE
}

/// Restricts this process and becomes the program. Returns only if that failed, with the reason.
fn run(answers: &mut UnixStream) -> std::io::Result<String> {
    rustix::io::fcntl_setfd(&*answers, rustix::io::FdFlags::CLOEXEC)?;
    let mut told = Vec::new();
    answers.read_to_end(&mut told)?;
    let told: StepInput = serde_json::from_slice(&told)?;
    let nothing = openat(
        CWD,
        "/dev/null",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::stdio::dup2_stdin(nothing)?;
    let held = match restrict_this_process(&told.sandbox, told.with_view) {
        Ok(held) => held,
        Err(RestrictError::View(_)) => {
            answer(answers, &StepAnswer::NoView)?;
            std::process::exit(1);
        }
        Err(error) => return Ok(error.to_string()),
    };
    answer(answers, &StepAnswer::EnforcedRestriction(held))?;
    let Some((program, arguments)) = told.command.split_first() else {
        return Ok("no program was given".to_owned());
    };
    let error = started(program, arguments, &told.environment, &told.folder);
    Ok(format!("{program}: {error}"))
}

fn started(
    program: &str,
    arguments: &[String],
    environment: &[(String, String)],
    folder: &Path,
) -> std::io::Error {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .exec()
}

fn answer(answers: &mut UnixStream, answer: &StepAnswer) -> std::io::Result<()> {
    let mut line = serde_json::to_string(answer)?;
    line.push('\n');
    answers.write_all(line.as_bytes())
}
