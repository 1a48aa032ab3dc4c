//! The health of runs for `grove doctor`: providers and their keys, the journal, the supervisor, and processes that are
//! left over.

use crate::places::RunPlaces;
use crate::waking::{Woken, wake};
use grove_exec::{Liveness, ProcessIdentity, SeenProcess, marked_processes};
use grove_model::{KeySource, Provider};
use grove_skills::Environment;
use grove_spec::config::Settings;
use grove_spec::text::one_line;
use grove_store::{RunFilter, Store, check_file};
use serde::Serialize;

use crate::model_settings::ModelSettings;

/// The health of everything that runs need.
#[derive(Debug, Serialize)]
pub struct RunsHealth {
    /// Every provider that is known.
    pub providers: Vec<ProviderHealth>,
    /// The journal; none as long as nothing was run.
    pub journal: Option<JournalHealth>,
    /// True if a supervisor is running that has the providers and keys of this process.
    pub supervisor: bool,
    /// Processes that are left over from runs that are over.
    pub orphans: Vec<Orphan>,
}

/// A provider and the state of its key.
#[derive(Debug, Serialize)]
pub struct ProviderHealth {
    /// The name of the provider.
    pub name: String,
    /// The interface that it speaks.
    pub api: &'static str,
    /// The address of its API.
    pub address: String,
    /// The place of the key; never the key.
    pub key: Option<String>,
    /// The state of the key in words; a command is not tried.
    pub state: &'static str,
}

impl ProviderHealth {
    /// Every provider that is known.
    pub fn all(models: &ModelSettings) -> Vec<Self> {
        let providers = models.providers();
        let ready: Vec<&str> = providers.ready().map(|it| it.name.as_str()).collect();
        let health = |provider: &Provider| Self {
            name: one_line(&provider.name),
            api: provider.api.word(),
            address: one_line(&provider.base_url),
            key: provider.key.as_ref().map(KeySource::place),
            state: match &provider.key {
                None => "needs none",
                Some(KeySource::Command(_)) => "not tried",
                Some(KeySource::File(path)) if !grove_fs::files::is_file(path) => "missing",
                Some(_) if ready.contains(&provider.name.as_str()) => "present",
                Some(_) => "missing",
            },
        };
        providers.all().iter().map(health).collect()
    }
}

/// The health of the journal.
#[derive(Debug, Default, Serialize)]
pub struct JournalHealth {
    /// The number of runs in it.
    pub runs: u64,
    /// The number of runs that are not over.
    pub open: usize,
    /// Effects whose holder is dead: the next supervisor looks after them.
    pub left: usize,
    /// Each fault of its file, in words.
    pub faults: Vec<String>,
}

/// A process that carries the mark of a run which is over.
#[derive(Debug, Serialize)]
pub struct Orphan {
    /// The number of the process.
    pub pid: u32,
    /// The mark that it carries.
    pub mark: String,
}

impl RunsHealth {
    /// Looks at everything that runs need.
    pub fn of(environment: &Environment, settings: &Settings) -> Self {
        let models = ModelSettings::of(environment, settings);
        let places = RunPlaces::in_state(&environment.state);
        let marked = marked_processes();
        let (journal, over) = journal(&places, &marked);
        // A run that this journal does not know may be another journal's, so its processes are not called orphans.
        let orphans = marked.into_iter().filter(|(_, mark)| {
            let run = mark.split('/').next().unwrap_or_default();
            over.iter().any(|known| known == run)
        });
        Self {
            providers: ProviderHealth::all(&models),
            journal,
            supervisor: wake(&places, &models.surroundings(), "") != Woken::NoSupervisor,
            orphans: orphans
                .map(|(seen, mark)| Orphan {
                    pid: seen.pid,
                    mark: one_line(&mark),
                })
                .collect(),
        }
    }

    /// Returns the number of things that need attention.
    pub fn faults(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |it| it.faults.len());
        journal + self.orphans.len()
    }
}

/// Returns the health of the journal, and which of the runs that processes are marked with are over.
fn journal(
    places: &RunPlaces,
    marked: &[(SeenProcess, String)],
) -> (Option<JournalHealth>, Vec<String>) {
    if !grove_fs::files::is_file(&places.journal()) {
        return (None, Vec::new());
    }
    let faulty = |fault: String| {
        let journal = JournalHealth {
            faults: vec![fault],
            ..JournalHealth::default()
        };
        (Some(journal), Vec::new())
    };
    let store = match Store::open(&places.journal()) {
        Ok(store) => store,
        Err(error) => return faulty(error.to_string()),
    };
    let filter = RunFilter {
        only_open: true,
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let read = || {
        let open = store.runs(&filter)?;
        let rows = store.outbox()?;
        let left = rows.into_iter().filter(|row| {
            let holder = row.holder.clone();
            holder.is_some_and(|it| ProcessIdentity(it).liveness() == Liveness::Gone)
        });
        let journal = JournalHealth {
            runs: store.count()?,
            open: open.len(),
            left: left.count(),
            faults: check_file(&places.journal())?,
        };
        let runs = marked.iter().filter_map(|(_, mark)| mark.split('/').next());
        let is_over = |run: &&str| {
            let is_open = open.iter().any(|known| known.id == *run);
            !is_open && store.state_of(run).is_ok()
        };
        let over = runs.filter(is_over).map(str::to_owned).collect();
        Ok::<_, grove_store::StoreError>((Some(journal), over))
    };
    read().unwrap_or_else(|error| faulty(error.to_string()))
}
