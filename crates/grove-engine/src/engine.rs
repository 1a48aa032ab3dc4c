//! The engine of one environment.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use grove_plan::RunView;
use grove_skills::live::LiveLibrary;
use grove_skills::{
    Discovery, DiscoveryParts, DiscoveryRequest, Environment, Library, Rediscover, StaleRead,
};

use crate::calling_child::CallingChild;
use crate::data_check::{DATA_CHECK, check_data};
use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::order::RunOrder;
use crate::resolve::{self, ResolvedRun, approving};
use crate::submission::{SubmittedRun, submit};
use crate::supervising::{self, SUPERVISE, ServedHere};
use crate::waking::Woken;

/// The time between two looks at a run that is waited for.
const POLL: Duration = Duration::from_millis(15);
/// The time between two checks that a supervisor works on a run that is waited for.
const WORK_CHECK: Duration = Duration::from_secs(2);

/// The skills, agents and runs of one environment.
pub struct Engine {
    environment: Environment,
    /// The library of this process, where it keeps one up to date.
    library: Option<Arc<LiveLibrary>>,
    /// The journal, opened by the first call that needs it.
    journal: Mutex<Option<Arc<RunJournal>>>,
    /// The place where the person is, if it is not a terminal.
    place: Option<&'static str>,
}

impl Engine {
    /// An engine for an environment. Nothing is opened yet.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            library: None,
            journal: Mutex::default(),
            place: None,
        }
    }

    /// An engine for the environment of a library that this process keeps up to date, which it shares.
    pub fn with_library(environment: Environment, library: Arc<LiveLibrary>) -> Self {
        Self {
            library: Some(library),
            ..Self::new(environment)
        }
    }

    pub(crate) fn over(journal: RunJournal) -> Self {
        let engine = Self::new(journal.environment.clone());
        Self {
            journal: Mutex::new(Some(Arc::new(journal))),
            ..engine
        }
    }

    /// An engine for a person at another place than a terminal, which facts name.
    #[must_use]
    pub const fn at(mut self, place: &'static str) -> Self {
        self.place = Some(place);
        self
    }

    /// Does the work of the processes that runs need, which are this program started anew. The `main` of a program that
    /// embeds the engine calls it first, and ends with the exit code if there is one.
    pub fn serve_if_asked(environment: impl FnOnce() -> Environment) -> Option<ExitCode> {
        let asked = std::env::args_os().nth(1)?;
        if asked == OsStr::new(grove_exec::KEEPER) {
            return Some(grove_exec::keep());
        }
        if asked == OsStr::new(DATA_CHECK) {
            let schema = std::env::args_os().nth(2);
            return Some(check_data(schema.as_deref().map(Path::new)));
        }
        // Keys of providers are in the environment: no child reads it.
        grove_exec::hide_this_process();
        if asked != OsStr::new(SUPERVISE) {
            return None;
        }
        Some(match supervising::supervise(environment()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // Standard error of a supervisor is its log.
                let _ = writeln!(std::io::stderr(), "{}", error.message_with_hints());
                ExitCode::FAILURE
            }
        })
    }

    /// Works on the runs of this environment in this process, without a process of its own.
    ///
    /// The process becomes the parent of everything that a command's keeper leaves behind when it is killed, and then ends all
    /// of its children that Grove did not start. A program with other children starts a supervisor of its own instead.
    pub fn serve_here(&self) -> Result<ServedHere, EngineError> {
        ServedHere::start(&self.environment)
    }

    /// Returns the environment of the engine.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The journal of runs. It is opened anew if its file was removed.
    pub fn journal(&self) -> Result<Arc<RunJournal>, EngineError> {
        let mut known = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(journal) = known.as_ref().filter(|journal| journal.version().is_ok()) {
            return Ok(Arc::clone(journal));
        }
        let journal = RunJournal::open_beside(&self.environment, self.library.as_ref())?;
        let journal = Arc::new(match self.place {
            Some(place) => journal.by(place),
            None => journal,
        });
        *known = Some(Arc::clone(&journal));
        Ok(journal)
    }

    /// The journal, with a supervisor for work that a dead one left.
    pub fn recovered_journal(&self) -> Result<Arc<RunJournal>, EngineError> {
        let journal = self.journal()?;
        journal.recover("")?;
        Ok(journal)
    }

    /// Finds everything about a run. Nothing is recorded, and nothing of a run's files is opened.
    pub fn resolve(&self, order: &RunOrder) -> Result<ResolvedRun, EngineError> {
        resolve::resolve(self, &self.environment, order, None)
    }

    /// The same in another folder, as if this program worked there.
    pub fn resolve_in(&self, folder: &Path, order: &RunOrder) -> Result<ResolvedRun, EngineError> {
        let there = Environment {
            working: folder.to_path_buf(),
            ..self.environment.clone()
        };
        resolve::resolve(self, &there, order, None)
    }

    /// The same for the child that this process belongs to, if it belongs to one: with no more than its powers.
    pub fn resolve_as_caller(&self, order: &RunOrder) -> Result<ResolvedRun, EngineError> {
        let above = CallingChild::of_process(&*self.journal()?)?;
        resolve::resolve(self, &self.environment, order, above.as_ref())
    }

    /// Refuses a run if the kernel cannot hold some of its commands in the sandbox.
    pub fn require_sandbox(&self, resolved: &ResolvedRun) -> Result<(), EngineError> {
        crate::required_sandbox::check(&self.environment, &resolved.plan)
    }

    /// Records a run and wakes or starts the supervisor that works on it. Returns the outcome of waking it, too.
    pub fn submit(&self, resolved: &ResolvedRun) -> Result<(SubmittedRun, Woken), EngineError> {
        let journal = self.journal()?;
        approving::keep(&self.environment, &resolved.approved)?;
        let submitted = submit(&journal.store, resolved)?;
        let woken = journal.ensure(&resolved.envelope.surroundings, &submitted.id)?;
        Ok((submitted, woken))
    }

    /// Waits until a run is over or waits for an answer, at most so long. Returns it as it is then.
    pub fn wait(&self, run: &str, limit: Duration) -> Result<RunView, EngineError> {
        let journal = self.journal()?;
        let surroundings = journal.surroundings();
        let begun = Instant::now();
        let mut last_check = begun;
        loop {
            journal.version()?;
            let (state, is_over) = journal.store.state_of(run)?;
            let is_waiting = state == "asking" || state == "paused";
            if is_over || is_waiting || begun.elapsed() >= limit {
                return Ok(journal.view(&journal.store.load(run)?));
            }
            if last_check.elapsed() > WORK_CHECK {
                last_check = Instant::now();
                journal.ensure(&surroundings, run)?;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Looks at the files of a folder: those that the library of this process keeps up to date, or all of them anew.
    pub fn discover(&self, there: Environment, parts: DiscoveryParts) -> Discovery {
        let request = DiscoveryRequest {
            parts,
            ..DiscoveryRequest::default()
        };
        match self.library_for(&there, &request) {
            Some(library) => library.discover(),
            None => Library::new(there, request).discover(),
        }
    }

    /// Looks in the same way and acts on what was seen, again while a file turns out to be another than the one looked at.
    pub(crate) fn discover_until_fresh<T, E: StaleRead>(
        &self,
        there: Environment,
        request: DiscoveryRequest,
        act: impl FnMut(&Discovery) -> Result<T, E>,
    ) -> Result<T, E> {
        match self.library_for(&there, &request) {
            Some(mut library) => library.discover_until_fresh(act),
            None => Library::new(there, request).discover_until_fresh(act),
        }
    }

    /// The library of this process, if it sees what a request asks for; from then on it looks at that, too.
    fn library_for(&self, there: &Environment, request: &DiscoveryRequest) -> Option<&LiveLibrary> {
        let library = self.library.as_deref()?;
        let served = library.latest_discovery().request;
        let same = DiscoveryRequest {
            parts: request.parts,
            ..(*served).clone()
        };
        if there.working != self.environment.working || same != *request {
            return None;
        }
        if !served.parts.agents || !served.parts.chains {
            library.with(|library| library.set_parts(DiscoveryParts::ALL));
        }
        Some(library)
    }
}
