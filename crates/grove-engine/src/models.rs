//! The model that answers a child: one of a provider, or a recording of one.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grove_exec::{ExecError, Keeper, KeeperOrder, Program, ProgramExit, StopTokens};
use grove_fs::append::AppendedFile;
use grove_fs::{FsError, files};
use grove_model::{
    AskSettings, FoundModel, HttpModel, KeyError, KeySource, ModelApi, ModelClient, Network,
    Provider, Providers, Recorder, RecordingPlaceholders, RecordingPlayer, RecordingSink, Relay,
    ReplayError, Secret, SharedRecording, Thinking,
};
use grove_plan::{Cause, ModelFailure};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::error::with_causes;
use crate::program::OWN_MODEL;

const MOST_RECORDED: u64 = 256 << 20;
/// The most runs that are answered from recordings at a time; the recording of one more begins anew.
const MOST_TAPES: usize = 16;
/// The endings of variables that hold keys and passwords.
const SIGNING_IN: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];
const MOST_KEY: u64 = 64 << 10;

/// A recording of the model's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Recording {
    /// The answers of the provider are written to this file.
    Record(PathBuf),
    /// This file answers instead of a provider.
    Replay {
        /// The file with the recorded answers.
        file: PathBuf,
        /// Set if a tool result that differs from the recording is an error.
        strict: bool,
    },
}

impl Recording {
    /// Refuses a recording from which no run could be answered.
    pub(crate) fn check(&self) -> Result<(), RecordingError> {
        match self {
            Self::Replay { file, strict } => tape_in(file, *strict).map(drop),
            Self::Record(_) => Ok(()),
        }
    }
}

/// The reason why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingError {
    #[error("{}", with_causes(.0))]
    Files(#[from] FsError),
    #[error(transparent)]
    SharedRecording(#[from] ReplayError),
}

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
#[error("provider `{provider}`: {source}")]
pub(crate) struct NoKey {
    provider: String,
    source: KeyError,
}

/// The reason why a command printed no key.
#[derive(Debug, thiserror::Error)]
enum KeyCommandError {
    #[error(transparent)]
    NotRun(#[from] ExecError),
    #[error("it failed with code {0}")]
    Code(i32),
    #[error("it was ended by signal {0}")]
    Signal(i32),
    #[error("{0}")]
    NotStarted(String),
}

fn tape_in(file: &Path, strict: bool) -> Result<SharedRecording, RecordingError> {
    let bytes = files::read_bounded(file, MOST_RECORDED)?;
    Ok(SharedRecording::read(
        BufReader::new(bytes.as_slice()),
        strict,
    )?)
}

pub(crate) struct ModelSource {
    /// The client that asks it.
    pub client: Arc<dyn ModelClient>,
    /// The model's own id.
    pub id: String,
    /// The level at which it thinks.
    pub thinking: Option<Thinking>,
}

/// A model's name as an agent program means it.
#[derive(Debug, PartialEq)]
pub(crate) enum NamedModel<'a> {
    /// The program finds it by itself, with its own login.
    OfProgram,
    /// A provider of ours has it, and the program can ask there.
    OfProvider(FoundModel<'a>),
}

/// A provider whose interface a program does not speak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{program} does not speak `{api}`, the interface of provider `{provider}`", api = .api.word())]
pub struct NotSpoken {
    /// The program's name for people.
    pub program: &'static str,
    /// The name of the provider.
    pub provider: String,
    /// The interface that the provider speaks.
    pub api: ModelApi,
}

/// Finds out where an agent program is to ask for a model. A name that no provider here has is the program's own, and so is
/// one with a vendor whose key is not here, where the program names its own models so. A model of a provider that the
/// program cannot ask is refused: with its own login the program would ask another provider.
pub(crate) fn named_model<'a>(
    providers: &'a Providers,
    program: &Program,
    name: &str,
    parent: Option<&str>,
) -> Result<NamedModel<'a>, NotSpoken> {
    if name == OWN_MODEL {
        return Ok(NamedModel::OfProgram);
    }
    let can_ask = |provider: &Provider| program.speaks(provider.api.word());
    let not_spoken = |provider: &Provider| NotSpoken {
        program: program.title,
        provider: provider.name.clone(),
        api: provider.api,
    };
    if let Some(provider) = providers.named_in(name) {
        return match providers.find(name, parent) {
            _ if program.names_vendors && !providers.is_ready(provider) => {
                Ok(NamedModel::OfProgram)
            }
            _ if !can_ask(provider) => Err(not_spoken(provider)),
            Ok(found) => Ok(NamedModel::OfProvider(found)),
            Err(_) => Ok(NamedModel::OfProgram),
        };
    }
    match providers.find_where(name, parent, can_ask) {
        Ok(found) => Ok(NamedModel::OfProvider(found)),
        Err(_) => match providers.listing_model(name) {
            Some(provider) if !can_ask(provider) => Err(not_spoken(provider)),
            _ => Ok(NamedModel::OfProgram),
        },
    }
}

#[derive(Debug, Default)]
pub(crate) struct ProgramModel {
    pub(crate) id: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) relay: Option<Relay>,
}

/// The providers, keys and settings with which models are asked.
#[derive(Debug)]
pub(crate) struct Models {
    providers: Providers,
    variables: BTreeMap<String, String>,
    network: Arc<Network>,
    settings: AskSettings,
    keeper: Keeper,
    keys: Mutex<BTreeMap<String, Arc<OnceCell<Option<Secret>>>>>,
    /// The recordings in use, the newest last: the run, the file and the tape.
    tapes: Mutex<Vec<(String, PathBuf, Arc<SharedRecording>)>>,
}

impl Models {
    /// Takes the providers of a configuration, and the variables that may hold their keys and addresses.
    pub(crate) fn new(
        configured: Vec<Provider>,
        variables: BTreeMap<String, String>,
        settings: AskSettings,
        keeper: Keeper,
    ) -> Self {
        Self {
            providers: Providers::new(configured, &variables),
            variables,
            network: Arc::new(Network::new()),
            settings,
            keeper,
            keys: Mutex::default(),
            tapes: Mutex::default(),
        }
    }

    /// Returns the model of a name, which is `provider/id[:thinking]`; `idle` is the longest silence that it may keep.
    pub(crate) async fn source(
        &self,
        name: &str,
        idle: Option<Duration>,
        recording: Option<&Recording>,
        places: &RecordingPlaceholders,
    ) -> Result<ModelSource, Cause> {
        if let Some(Recording::Replay { file, strict }) = recording {
            let player = self.player(file, *strict, places).map_err(Cause::input)?;
            let (id, thinking) = self.id_of(name);
            return Ok(ModelSource {
                client: Arc::new(player),
                id,
                thinking,
            });
        }
        let found = self.providers.find(name, None).map_err(Cause::input)?;
        let key = self
            .key(found.provider)
            .await
            .map_err(|error| without_key(&error))?;
        let endpoint = found.provider.endpoint(key).map_err(Cause::input)?;
        let network = Arc::clone(&self.network);
        let mut settings = self.settings.clone();
        if let Some(idle) = idle {
            settings.deadlines.first_byte = idle;
            settings.deadlines.idle = idle;
        }
        let model = HttpModel::new(network, endpoint, settings);
        let client: Arc<dyn ModelClient> = match recording {
            Some(Recording::Record(file)) => {
                let sink = RecordingFile::open(file).map_err(Cause::input)?;
                let recorder = Recorder::new(model, sink, places.clone());
                Arc::new(recorder.map_err(Cause::input)?)
            }
            _ => Arc::new(model),
        };
        Ok(ModelSource {
            client,
            id: found.id,
            thinking: found.thinking,
        })
    }

    /// Returns the model for an agent program: its id, its level of thinking, and the relay to its provider.
    pub(crate) async fn for_program(
        &self,
        program: &Program,
        name: &str,
        recording: Option<&Recording>,
        places: &RecordingPlaceholders,
    ) -> Result<ProgramModel, Cause> {
        if let Some(Recording::Replay { file, strict }) = recording
            && let Some(api) = self.api_of(program, name)
        {
            let player = self.player(file, *strict, places).map_err(Cause::input)?;
            let (id, thinking) = self.id_of(name);
            return Ok(ProgramModel {
                id: (name != OWN_MODEL).then_some(id),
                thinking: thinking.map(|level| level.word().to_owned()),
                relay: Some(Relay::recorded(api, player)),
            });
        }
        let named = named_model(&self.providers, program, name, None);
        let named = named.map_err(Cause::input)?;
        let NamedModel::OfProvider(found) = named else {
            return Ok(ProgramModel {
                id: (name != OWN_MODEL).then(|| name.to_owned()),
                ..ProgramModel::default()
            });
        };
        let key = self
            .key(found.provider)
            .await
            .map_err(|error| without_key(&error))?;
        let endpoint = found.provider.endpoint(key);
        let endpoint = endpoint.map_err(Cause::input)?;
        let network = Arc::clone(&self.network);
        let mut relay = Relay::new(network, endpoint, self.settings.deadlines);
        if let Some(Recording::Record(file)) = recording {
            let sink = Arc::new(RecordingFile::open(file).map_err(Cause::input)?);
            let recorded = relay.recording_to(sink, places.clone());
            relay = recorded.map_err(Cause::input)?;
        }
        Ok(ProgramModel {
            thinking: found.thinking.map(|level| level.word().to_owned()),
            id: Some(found.id),
            relay: Some(relay),
        })
    }

    /// Returns the interface in which a program is answered from a recording: that of the model's provider, else its usual one.
    fn api_of(&self, program: &Program, name: &str) -> Option<ModelApi> {
        let found = self.providers.find(name, None).ok();
        let api = found.map(|found| found.provider.api.word());
        let api = api.filter(|api| program.speaks(api));
        ModelApi::of_word(api.or(program.apis.first().copied())?)
    }

    /// Returns a player of a recording. All children of a run share one tape.
    fn player(
        &self,
        file: &Path,
        strict: bool,
        places: &RecordingPlaceholders,
    ) -> Result<RecordingPlayer, RecordingError> {
        let run = places.run_ids.last().cloned().unwrap_or_default();
        let mut tapes = self
            .tapes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = tapes.iter().find(|it| it.0 == run && it.1 == file);
        if let Some((.., tape)) = known {
            return Ok(RecordingPlayer::new(Arc::clone(tape), places.clone()));
        }
        let tape = Arc::new(tape_in(file, strict)?);
        if tapes.len() >= MOST_TAPES {
            tapes.remove(0);
        }
        tapes.push((run, file.to_path_buf(), Arc::clone(&tape)));
        Ok(RecordingPlayer::new(tape, places.clone()))
    }

    /// Returns every key that is known here, of any provider: a child may come by keys that it does not ask with. A key that a
    /// command prints is known once it was asked for.
    pub(crate) async fn known_secrets(&self) -> Vec<Secret> {
        let mut all = Vec::new();
        for provider in self.providers.all() {
            let is_read = match &provider.key {
                Some(KeySource::Command(_)) => self.keys_read().contains(&provider.name),
                source => source.is_some(),
            };
            if is_read {
                // A key that cannot be read is of no use to a child either.
                all.extend(self.key(provider).await.ok().flatten());
            }
        }
        let is_key = |name: &str| SIGNING_IN.iter().any(|end| name.ends_with(end));
        let variables = self.variables.iter().filter(|(name, _)| is_key(name));
        all.extend(variables.map(|(_, value)| Secret::new(value.clone())));
        all
    }

    /// Returns the names of the providers whose keys were read.
    fn keys_read(&self) -> Vec<String> {
        let keys = self.keys.lock();
        let keys = keys.unwrap_or_else(std::sync::PoisonError::into_inner);
        let read = keys.iter().filter(|(_, cell)| cell.initialized());
        read.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the person's variables that a program may need.
    pub(crate) fn variables_of(&self, program: &Program) -> Vec<(String, String)> {
        let wanted = program.variables.iter();
        let values = wanted.filter_map(|name| {
            let value = self.variables.get(*name)?;
            Some(((*name).to_owned(), value.clone()))
        });
        values.collect()
    }

    /// Returns the model's own id. A recording needs no provider, so the id of an unknown provider is taken as it is.
    fn id_of(&self, name: &str) -> (String, Option<Thinking>) {
        match self.providers.find(name, None) {
            Ok(found) => (found.id, found.thinking),
            Err(_) => (name.rsplit('/').next().unwrap_or(name).to_owned(), None),
        }
    }

    /// Returns the key of a provider, which is read once.
    async fn key(&self, provider: &Provider) -> Result<Option<Secret>, NoKey> {
        let Some(source) = &provider.key else {
            return Ok(None);
        };
        let cell = {
            let mut keys = self
                .keys
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(keys.entry(provider.name.clone()).or_default())
        };
        let read = async || {
            let file = |path: &Path| {
                let read = files::read_bounded(path, MOST_KEY);
                read.map_err(|error| with_causes(&error))
            };
            let command = async |words| self.run(words).await.map_err(|error| error.to_string());
            let read = source.read(&self.variables, file, command).await;
            read.map(Some).map_err(|source| NoKey {
                provider: provider.name.clone(),
                source,
            })
        };
        cell.get_or_try_init(read).await.cloned()
    }

    async fn run(&self, words: Vec<String>) -> Result<Vec<u8>, KeyCommandError> {
        let order = KeeperOrder {
            command: words,
            environment: self.variables.clone().into_iter().collect(),
            limit_ms: 30_000,
            most_output: MOST_KEY,
            ..KeeperOrder::shell("", "/".into(), "key")
        };
        let mut printed = Vec::new();
        let never = StopTokens::default();
        let end = self.keeper.run(&order, &never, |bytes| {
            printed.extend_from_slice(bytes);
        });
        match end.await?.report.exit {
            ProgramExit::Code(0) => Ok(printed),
            ProgramExit::Code(code) => Err(KeyCommandError::Code(code)),
            ProgramExit::Signal(signal) => Err(KeyCommandError::Signal(signal)),
            ProgramExit::NotStarted(why) => Err(KeyCommandError::NotStarted(why)),
        }
    }
}

/// Makes a cause of a missing key: another model may still be asked.
fn without_key(error: &NoKey) -> Cause {
    Cause::Model {
        failure: ModelFailure::Auth,
        message: error.to_string(),
    }
}

#[derive(Debug)]
struct RecordingFile(Mutex<AppendedFile>);

impl RecordingFile {
    fn open(path: &Path) -> Result<Self, RecordingError> {
        Ok(Self(Mutex::new(AppendedFile::open(path, MOST_RECORDED)?)))
    }
}

impl RecordingSink for RecordingFile {
    fn append(&self, line: &str) -> std::io::Result<()> {
        let mut file = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let written = file.append(line.as_bytes());
        written.map_err(|error| std::io::Error::other(error.to_string()))
    }
}
