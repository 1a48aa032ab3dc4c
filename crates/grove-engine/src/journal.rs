//! The journal of runs as the engine opens it, with the environment of the process that did.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use grove_exec::{Liveness, ProcessIdentity};
use grove_fs::FileId;
use grove_plan::{EffectKind, Event, NodeId, RunView};
use grove_skills::Environment;
use grove_skills::live::LiveLibrary;
use grove_spec::Digest;
use grove_store::{LoadedRun, OutboxRow, RunFilter, RunRow, Store, StoreError};
use tokio::sync::mpsc::UnboundedSender;

use crate::calling_child::mark_of;
use crate::envelope::RunEnvelope;
use crate::error::{AT_LIMIT, EngineError};
use crate::ledger_key::JournalError;
use crate::model_settings::ModelSettings;
use crate::places::RunPlaces;
use crate::supervising;
use crate::waking::Woken;

/// The name of the person in facts that a terminal records.
const BY_TERMINAL: &str = "a terminal";

/// The name of the newest run of the working folder.
const LAST: &str = "last";

/// The journal and the folder in which it is.
pub struct RunJournal {
    pub(crate) environment: Environment,
    pub(crate) places: RunPlaces,
    pub(crate) store: Arc<Store>,
    /// The journal's file when it was opened.
    file: Option<FileId>,
    /// True if this process belongs to a child.
    is_child: bool,
    /// The name of the person in facts that are recorded here: that of the place where the person is.
    pub(crate) by: &'static str,
    models: KnownModels,
    /// The runs that need something to be done, for the supervisor that this journal belongs to.
    news: Option<UnboundedSender<String>>,
}

/// The source of the providers and keys of a process.
enum KnownModels {
    /// The configuration, which is read once.
    Once(OnceLock<Arc<ModelSettings>>),
    /// A library that is kept up to date.
    Live(Arc<LiveLibrary>),
}

impl RunJournal {
    /// Opens the journal of an environment; makes one where there is none.
    pub fn open(environment: &Environment) -> Result<Self, EngineError> {
        Self::open_beside(environment, None)
    }

    /// Opens it in a process that has a library, whose settings it shares.
    pub(crate) fn open_beside(
        environment: &Environment,
        library: Option<&Arc<LiveLibrary>>,
    ) -> Result<Self, EngineError> {
        let places = RunPlaces::in_state(&environment.state);
        grove_fs::files::make_closed_folder(places.folder())?;
        let store = Arc::new(places.open_journal()?);
        let models = library.map(|library| KnownModels::Live(Arc::clone(library)));
        Ok(Self {
            is_child: mark_of(environment).is_some(),
            models: models.unwrap_or_else(|| KnownModels::Once(OnceLock::new())),
            ..Self::of(environment, places, store)
        })
    }

    /// The journal of a supervisor, which hears of everything that is to be done.
    pub(crate) fn of_supervisor(
        environment: &Environment,
        store: Arc<Store>,
        news: UnboundedSender<String>,
    ) -> Self {
        let places = RunPlaces::in_state(&environment.state);
        Self {
            news: Some(news),
            ..Self::of(environment, places, store)
        }
    }

    fn of(environment: &Environment, places: RunPlaces, store: Arc<Store>) -> Self {
        Self {
            file: grove_fs::files::identity(store.path()).ok(),
            is_child: false,
            environment: environment.clone(),
            by: BY_TERMINAL,
            models: KnownModels::Once(OnceLock::new()),
            places,
            store,
            news: None,
        }
    }

    /// The same journal, where the person is at another place than a terminal.
    #[must_use]
    pub const fn by(mut self, place: &'static str) -> Self {
        self.by = place;
        self
    }

    /// Returns true if this process belongs to a child of a run.
    pub const fn is_child(&self) -> bool {
        self.is_child
    }

    /// The folder of the journal and of what is kept beside it.
    pub const fn places(&self) -> &RunPlaces {
        &self.places
    }

    /// Returns a number that changes when something was recorded, and an error when the journal is no longer where it was:
    /// in a file that was removed nothing will ever change, and its supervisor has ended every child.
    pub fn version(&self) -> Result<u64, EngineError> {
        let path = self.store.path();
        if grove_fs::files::identity(path).ok() != self.file {
            let message = format!("the journal of runs, {}, was removed", path.display());
            let hint = "its runs have been ended with it; start them again";
            return Err(EngineError::finding(message).hint(hint));
        }
        Ok(self.store.data_version()?)
    }

    /// Returns the id of a run: `last` is the newest run of the working folder, everything else the beginning of an id.
    pub fn find(&self, given: &str) -> Result<String, EngineError> {
        if given != LAST {
            return Ok(self.store.find(given)?);
        }
        let folder = self.environment.working.to_string_lossy();
        let newest = self.store.newest_in(&folder)?;
        newest.ok_or_else(|| {
            let refused = EngineError::finding("no run was asked for in this folder");
            refused.hint("`grove runs list` lists those of all folders")
        })
    }

    /// Returns runs without their events, the newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, EngineError> {
        Ok(self.store.runs(filter)?)
    }

    /// Returns the number of runs that are not over.
    pub fn count_open(&self) -> Result<usize, EngineError> {
        Ok(self.store.count_open()?)
    }

    /// Wakes the supervisor of a run, if there is one.
    pub fn wake(&self, surroundings: &str, run: &str) {
        crate::waking::wake(&self.places, surroundings, run);
    }

    /// Returns the folder in which a run was asked for.
    pub fn folder_of(&self, given: &str) -> Result<PathBuf, EngineError> {
        let loaded = self.store.load_plan(&self.find(given)?)?;
        let envelope = RunEnvelope::read(&loaded.envelope);
        Ok(envelope.map_err(EngineError::finding)?.folder)
    }

    /// Loads a run by the beginning of its id.
    pub fn load(&self, given: &str) -> Result<LoadedRun, EngineError> {
        let id = self.find(given)?;
        Ok(self.store.load(&id)?)
    }

    /// The view of a run, with texts as long as it allows.
    pub fn view(&self, run: &LoadedRun) -> RunView {
        view_of(&self.store, run)
    }

    /// Returns a stored text.
    pub fn text(&self, digest: &Digest) -> Option<String> {
        self.store.text(digest).ok()
    }

    /// The providers, keys and servers of this process.
    pub(crate) fn models(&self) -> Arc<ModelSettings> {
        match &self.models {
            KnownModels::Once(known) => {
                let find = || Arc::new(ModelSettings::find(&self.environment));
                Arc::clone(known.get_or_init(find))
            }
            KnownModels::Live(library) => {
                let look = library.latest_discovery();
                let settings = &look.world.settings.settings;
                Arc::new(ModelSettings::of(&self.environment, settings))
            }
        }
    }

    /// The name of the providers, keys and servers of this process.
    pub fn surroundings(&self) -> String {
        self.models().surroundings()
    }

    /// Returns true if this process is the supervisor that works on its runs.
    pub(crate) const fn is_of_supervisor(&self) -> bool {
        self.news.is_some()
    }

    /// Has a supervisor do what follows from something that was recorded in a run.
    pub(crate) fn have_done(&self, run: &str) -> Result<(), EngineError> {
        let surroundings = if self.is_of_supervisor() {
            String::new()
        } else {
            self.surroundings()
        };
        self.ensure(&surroundings, run).map(drop)
    }

    /// Starts or wakes the supervisor of a run. In the process of a child it is only woken: a supervisor that a child's
    /// process started would end with the child.
    pub fn ensure(&self, surroundings: &str, run: &str) -> Result<Woken, EngineError> {
        if let Some(news) = &self.news {
            let _ = news.send(run.to_owned());
            return Ok(Woken::Yes);
        }
        if self.is_child {
            return Ok(crate::waking::wake(&self.places, surroundings, run));
        }
        supervising::ensure(self, surroundings, run)
    }

    /// Starts or wakes a supervisor if a dead one left something to do. A process of a child neither recovers nor prunes.
    pub fn recover(&self, run: &str) -> Result<(), EngineError> {
        if !self.is_child && self.news.is_none() && self.needs_recovery()? {
            supervising::start_or_wake(self, &self.surroundings(), run)?;
        }
        Ok(())
    }

    fn needs_recovery(&self) -> Result<bool, EngineError> {
        let is_left = |row: &OutboxRow| {
            let holder = row.holder.clone();
            let is_timer = row.effect.kind == EffectKind::Timer;
            !is_timer && holder.is_none_or(|it| ProcessIdentity(it).liveness() == Liveness::Gone)
        };
        Ok(self.store.outbox()?.iter().any(is_left))
    }

    /// Returns the next events of a run after the one with a number, at most so many.
    pub fn next_events(
        &self,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<Event>, EngineError> {
        Ok(self.store.next_events(run, after, most)?)
    }
}

/// The view of a run, with texts as long as it allows.
pub(crate) fn view_of(store: &Store, run: &LoadedRun) -> RunView {
    let text = |digest: &Digest| store.text(digest).ok();
    RunView::of(&run.id, &run.plan, &run.state, &text).bounded(&run.plan)
}

/// The run and the child in `RUN` or `RUN.NODE`.
pub fn parts_of(given: &str) -> (&str, Option<NodeId>) {
    match given.split_once('.') {
        Some((run, node)) => (run, Some(NodeId::from(node))),
        None => (given, None),
    }
}

/// The child that `RUN.NODE` names; for `RUN` alone the last one.
pub(crate) fn node_or_last(run: &LoadedRun, node: Option<NodeId>) -> NodeId {
    let last = run.plan.nodes.last().map(|node| node.id.clone());
    node.or(last).unwrap_or_else(|| NodeId::step(1))
}

impl From<JournalError> for EngineError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Folder(error) => error.into(),
            JournalError::Store(error) => error.into(),
            error @ (JournalError::Key { .. } | JournalError::NotOwn { .. }) => {
                Self::finding(error)
            }
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Refused(refused) => Self::finding(refused.to_string()),
            StoreError::NoRun(_) => Self::finding(error).hint("`grove runs list` lists them"),
            StoreError::Ambiguous { .. } => Self::usage(error).hint("give more of the id"),
            StoreError::Thread(_) => Self::internal(error).hint(AT_LIMIT),
            StoreError::Newer { .. } => Self::finding(error).hint("use the newer version of Grove"),
            _ => Self::internal(error),
        }
    }
}
