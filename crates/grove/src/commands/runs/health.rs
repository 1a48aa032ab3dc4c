//! What `grove doctor` says about runs: providers and whether their keys are there, the journal, the supervisor, and
//! processes that nobody looks after.

use grove_exec::{Liveness, Owner, Seen, marked_processes};
use grove_model::{KeySource, Provider};
use grove_runs::{RunPlaces, Woken, wake};
use grove_skills::Environment;
use grove_spec::config::Settings;
use grove_spec::text::one_line;
use grove_store::{RunFilter, Store, check_file};
use serde::Serialize;

use super::model_settings::ModelSettings;
use crate::commands::{counted, tilde};
use crate::output::Output;

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct RunsHealth {
    providers: Vec<ProviderHealth>,
    /// None as long as nothing was run.
    journal: Option<JournalHealth>,
    /// Whether a supervisor is running that has what this shell has.
    supervisor: bool,
    orphans: Vec<Orphan>,
}

/// A provider, and whether its key is there.
#[derive(Debug, Serialize)]
pub(crate) struct ProviderHealth {
    pub(crate) name: String,
    api: &'static str,
    address: String,
    /// Where the key is; never the key.
    pub(crate) key: Option<String>,
    /// Whether it is there: a command is not tried.
    pub(crate) state: &'static str,
}

impl ProviderHealth {
    /// Every provider that is known.
    pub(crate) fn all(models: &ModelSettings) -> Vec<Self> {
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

#[derive(Debug, Default, Serialize)]
struct JournalHealth {
    runs: u64,
    open: usize,
    /// Effects whose holder is dead: the next supervisor looks after them.
    left: usize,
    faults: Vec<String>,
}

/// A process that carries the mark of a run which is over or unknown.
#[derive(Debug, Serialize)]
struct Orphan {
    pid: u32,
    mark: String,
}

impl RunsHealth {
    pub(crate) fn of(environment: &Environment, settings: &Settings) -> Self {
        let models = ModelSettings::of(environment, settings);
        let places = RunPlaces::in_state(&environment.state);
        let marked = marked_processes();
        let (journal, over) = journal(&places, &marked);
        // Of a run that this journal does not know nothing is known: it may be another's.
        let orphans = marked.into_iter().filter(|(_, mark)| {
            let run = mark.split('/').next().unwrap_or_default();
            over.iter().any(|known| known == run)
        });
        Self {
            providers: ProviderHealth::all(&models),
            journal,
            supervisor: wake(&places, &models.surroundings(), "") != Woken::Nobody,
            orphans: orphans
                .map(|(seen, mark)| Orphan {
                    pid: seen.pid,
                    mark: one_line(&mark),
                })
                .collect(),
        }
    }

    /// How many things need attention.
    fn faults(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |it| it.faults.len());
        journal + self.orphans.len()
    }

    /// What a person is told, and what of it needs attention.
    pub(crate) fn print(&self, environment: &Environment, out: &mut Output) -> Option<String> {
        out.line("");
        for provider in &self.providers {
            let key = match &provider.key {
                Some(place) => format!("key in {place} is {}", provider.state),
                None => "needs no key".to_owned(),
            };
            let (name, api, address) = (&provider.name, provider.api, &provider.address);
            out.line(&format!("provider {name} ({api}) at {address}: {key}"));
        }
        if let Some(journal) = &self.journal {
            let supervisor = if self.supervisor {
                "a supervisor is running"
            } else {
                "no supervisor is running"
            };
            let path = RunPlaces::in_state(&environment.state).journal();
            let runs = usize::try_from(journal.runs).unwrap_or(usize::MAX);
            out.line(&format!(
                "journal  {}: {}, {} open; {supervisor}",
                tilde(&path, environment),
                counted(runs, "run"),
                journal.open
            ));
            for fault in &journal.faults {
                out.line(&format!("  {}", one_line(fault)));
            }
            if journal.left > 0 {
                let left = counted(journal.left, "effect");
                out.line(&format!(
                    "  {left} from dead supervisors: `grove runs list` takes care of them"
                ));
            }
        }
        for orphan in &self.orphans {
            let (pid, mark) = (orphan.pid, &orphan.mark);
            out.line(&format!(
                "process {pid} is left over from {mark}, which has ended"
            ));
        }
        let n = self.faults();
        (n > 0).then(|| {
            format!(
                "runs: {}, as shown above",
                crate::commands::need_attention(n)
            )
        })
    }
}

/// What is known of the journal, and which of the runs that processes are marked with are over.
fn journal(places: &RunPlaces, marked: &[(Seen, String)]) -> (Option<JournalHealth>, Vec<String>) {
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
            holder.is_some_and(|it| Owner(it).liveness() == Liveness::Gone)
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
            !is_open && store.request(run).is_ok()
        };
        let over = runs.filter(is_over).map(str::to_owned).collect();
        Ok::<_, grove_store::StoreError>((Some(journal), over))
    };
    read().unwrap_or_else(|error| faulty(error.to_string()))
}
