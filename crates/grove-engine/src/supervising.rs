//! The supervisor as a process: this program started anew when a run needs one.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use grove_exec::allowed_variables;
use grove_skills::Environment;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::supervisor::{Supervisor, SupervisorError};
use crate::waking::{Woken, wake};

/// The first argument of a program that supervises.
pub const SUPERVISE: &str = "supervise";
/// The most bytes of variables that a supervisor is given.
const MOST_GIVEN: u64 = 4 << 20;
/// A supervisor without work stays so long.
const IDLE: Duration = Duration::from_secs(5);
/// Threads for what does not block.
const WORKERS: usize = 2;
/// The time for what is still under way when a supervisor leaves.
const LEAVING: Duration = Duration::from_secs(2);
/// A supervisor that does not listen by then is not there.
const START: Duration = Duration::from_secs(10);

/// Wakes the supervisor of a run, or starts one and waits until it listens.
pub(crate) fn ensure(
    journal: &RunJournal,
    surroundings: &str,
    run: &str,
) -> Result<Woken, EngineError> {
    let mut woken = start_or_wake(journal, surroundings, run)?;
    let places = &journal.places;
    let until = Instant::now() + START;
    while woken == Woken::NoSupervisor {
        if Instant::now() > until {
            let log = places.supervisor_log(surroundings);
            return Err(EngineError::internal("the supervisor did not start")
                .hint(format!("{} may say why", log.display())));
        }
        std::thread::sleep(Duration::from_millis(2));
        woken = wake(places, surroundings, run);
    }
    Ok(woken)
}

/// Wakes the supervisor, or starts one without waiting for it. Returns the outcome of waking the one that was there.
pub(crate) fn start_or_wake(
    journal: &RunJournal,
    surroundings: &str,
    run: &str,
) -> Result<Woken, EngineError> {
    let places = &journal.places;
    let woken = wake(places, surroundings, run);
    if woken != Woken::NoSupervisor {
        return Ok(woken);
    }
    let log = grove_fs::append::AppendedFile::open(&places.supervisor_log(surroundings), 8 << 20)?;
    // Keys go through a pipe: the environment of a process can be read by others as long as it lives.
    let models = journal.models();
    let keys = &models.variables;
    let mut command = Command::new("/proc/self/exe");
    for name in keys.keys() {
        command.env_remove(name);
    }
    let started = command
        .arg(SUPERVISE)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log.into_stdio())
        .process_group(0)
        .spawn();
    let mut started =
        started.map_err(|error| EngineError::not_started("the supervisor", &error))?;
    if let Some(mut input) = started.stdin.take() {
        let text = serde_json::to_vec(keys).map_err(EngineError::internal)?;
        // A supervisor that is gone already has found another one, which knows the keys.
        let _ = input.write_all(&text);
    }
    // A long-lived process reaps it in a thread; a short one, or one without a thread to spare, does not wait for it.
    drop(std::thread::Builder::new().spawn(move || started.wait()));
    Ok(Woken::NoSupervisor)
}

/// Supervises runs until there is nothing to do: what a program does that was started with [`SUPERVISE`].
pub fn supervise(environment: Environment) -> Result<(), EngineError> {
    // A session of its own: closing the terminal ends no run.
    let _ = rustix::process::setsid();
    let environment = with_given_variables(environment);
    allow_many_files();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = grove_exec::runtime(builder.enable_all(), WORKERS);
    let runtime = runtime.map_err(|error| EngineError::not_started("the supervisor", &error))?;
    let done = runtime.block_on(async {
        let supervisor = Supervisor::open(&environment, IDLE)?;
        supervisor.run(CancellationToken::new()).await;
        Ok::<(), SupervisorError>(())
    });
    // Work that blocks, and gets no thread any more, keeps no process.
    runtime.shutdown_timeout(LEAVING);
    match done {
        // Another one was faster, which is all that was wanted.
        Ok(()) | Err(SupervisorError::Another) => Ok(()),
        Err(error) => Err(EngineError::internal(error)),
    }
}

/// A supervisor in this process. It ends when this is dropped; what it worked on goes on with the next one.
pub struct ServedHere {
    until: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl ServedHere {
    /// Starts a supervisor on a thread of its own. Its keys and providers are those of the environment.
    pub(crate) fn start(environment: &Environment) -> Result<Self, EngineError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let failed = |error: std::io::Error| EngineError::not_started("the supervisor", &error);
        let runtime = grove_exec::runtime(builder.enable_all(), WORKERS).map_err(failed)?;
        let supervisor = {
            let _entered = runtime.enter();
            Supervisor::open(environment, Duration::MAX).map_err(EngineError::finding)?
        };
        let until = CancellationToken::new();
        let end = until.clone();
        let thread = std::thread::Builder::new()
            .name("supervisor".to_owned())
            .spawn(move || runtime.block_on(supervisor.run(end)))
            .map_err(failed)?;
        Ok(Self {
            until,
            thread: Some(thread),
        })
    }
}

impl Drop for ServedHere {
    fn drop(&mut self) {
        self.until.cancel();
        if let Some(thread) = self.thread.take() {
            // A supervisor that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// The environment with the variables that the starter gave through a pipe, where it is one.
fn with_given_variables(mut environment: Environment) -> Environment {
    use rustix::fs::{FileType, fstat};
    let input = std::io::stdin();
    let is_pipe =
        fstat(&input).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    let mut text = Vec::new();
    if is_pipe && input.lock().take(MOST_GIVEN).read_to_end(&mut text).is_ok() {
        let told: BTreeMap<String, String> = serde_json::from_slice(&text).unwrap_or_default();
        let told = told.into_iter().map(|(name, value)| (name, value.into()));
        environment.variables.extend(told);
    }
    environment
}

/// Returns the part of the environment that commands get.
pub fn passed_on(environment: &Environment) -> Vec<(String, String)> {
    let variables = environment.variables.iter();
    let variables = variables.filter_map(|(name, value)| {
        let value = value.to_str()?;
        Some((name.clone(), value.to_owned()))
    });
    allowed_variables(&variables.collect::<Vec<_>>())
}

/// Raises the limit of open files, since 1,000 children take thousands. Keepers give commands the usual limit back.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // A supervisor with fewer descriptors has fewer children at a time.
    let _ = setrlimit(Resource::Nofile, most);
}
