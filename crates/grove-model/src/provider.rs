//! Providers, their keys, and which of them a model's name means.
//!
//! Nothing is read here: settings, variables, files and the output of commands are handed over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_plan::ModelFacts;
use grove_spec::text::{first_names, one_line};
use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, EndpointError};
use crate::known_models::known;
use crate::request::Thinking;
use crate::secret::Secret;
use crate::wire::Api;

/// Somebody who has models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// What it is called in models' names.
    pub name: String,
    /// How it is spoken to.
    pub api: Api,
    /// Where it is.
    pub base_url: String,
    /// Where its key is; none where it needs none.
    #[serde(default)]
    pub key: Option<KeySource>,
    /// The models that are known of it.
    #[serde(default)]
    pub models: Vec<KnownModel>,
    /// How the names of its models begin, where that tells them from everybody else's.
    #[serde(skip)]
    pub families: Vec<String>,
}

/// A model that a provider is known to have, and what its configuration says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownModel {
    /// Its id.
    pub id: String,
    /// What is known of it.
    #[serde(flatten)]
    pub facts: ModelFacts,
}

impl From<&str> for KnownModel {
    fn from(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            facts: ModelFacts::default(),
        }
    }
}

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// In a variable.
    Env(String),
    /// In a file.
    File(PathBuf),
    /// In the output of a command, a program and its arguments.
    Command(Vec<String>),
}

/// The longest key.
const LONGEST_KEY: usize = 16 << 10;

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The variable is not set.
    #[error("the variable `{0}` is not set")]
    NotSet(String),
    /// It could not be read.
    #[error("cannot read the key from {place}: {reason}")]
    NotRead {
        /// From where.
        place: String,
        /// Why.
        reason: String,
    },
    /// What was read is no key.
    #[error("what was read from {place} is not a key: {reason}")]
    NotAKey {
        /// From where.
        place: String,
        /// What is wrong with it; never the value.
        reason: &'static str,
    },
}

impl KeySource {
    /// Reads the key. `file` reads a file, `command` runs a program with a deadline and a bound of its own and gives what
    /// it wrote to its standard output.
    pub async fn read<Running>(
        &self,
        variables: &BTreeMap<String, String>,
        file: impl FnOnce(&Path) -> Result<Vec<u8>, String>,
        command: impl FnOnce(Vec<String>) -> Running,
    ) -> Result<Secret, KeyError>
    where
        Running: Future<Output = Result<Vec<u8>, String>>,
    {
        let bytes = match self {
            Self::Env(name) => match variables.get(name) {
                Some(value) => Ok(value.clone().into_bytes()),
                None => return Err(KeyError::NotSet(one_line(name))),
            },
            Self::File(path) => file(path),
            Self::Command(words) => command(words.clone()).await,
        };
        let place = self.place();
        let bytes = bytes.map_err(|reason| KeyError::NotRead {
            place: place.clone(),
            reason,
        })?;
        key_of(bytes).map_err(|reason| KeyError::NotAKey { place, reason })
    }

    /// Whether there may be a key: a variable has to be set, files and commands are not tried.
    pub fn may_be_there(&self, variables: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Env(name) => variables
                .get(name)
                .is_some_and(|value| !value.trim().is_empty()),
            Self::File(_) | Self::Command(_) => true,
        }
    }

    /// Where it is, in words: `the variable X`. Of a command only the program is told, since arguments may be secret.
    pub fn place(&self) -> String {
        match self {
            Self::Env(name) => format!("the variable `{}`", one_line(name)),
            Self::File(path) => format!("the file `{}`", one_line(&path.to_string_lossy())),
            Self::Command(words) => {
                let program = words.first().map(String::as_str).unwrap_or_default();
                format!("the command `{}`", one_line(program))
            }
        }
    }
}

fn key_of(bytes: Vec<u8>) -> Result<Secret, &'static str> {
    if bytes.len() > LONGEST_KEY {
        return Err("it is too long");
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not text")?;
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it has characters that no key has");
    }
    Ok(Secret::new(text))
}

/// The providers that exist without configuration: name, interface, variable for another address, variable for the key,
/// how its models' names begin.
type BuiltIn = (
    &'static str,
    Api,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const BUILT_IN: [BuiltIn; 2] = [
    (
        "anthropic",
        Api::Anthropic,
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        &["claude-"],
    ),
    (
        "openai",
        Api::OpenaiResponses,
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        &["gpt-", "o1", "o3", "o4", "codex-"],
    ),
];

/// The providers that there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Providers {
    all: Vec<Provider>,
    /// Those whose key may be there.
    ready: Vec<bool>,
}

impl Providers {
    /// Those of the configuration and those that exist without it; a configured one replaces one of the same name.
    /// `variables` are those of the environment: addresses and keys of the built-in ones are looked for in them.
    pub fn new(configured: Vec<Provider>, variables: &BTreeMap<String, String>) -> Self {
        let mut all = configured;
        for (name, api, address_variable, key_variable, families) in BUILT_IN {
            if all.iter().any(|provider| provider.name == name) {
                continue;
            }
            let given = variables
                .get(address_variable)
                .filter(|value| !value.trim().is_empty());
            all.push(Provider {
                name: name.to_owned(),
                api,
                base_url: given
                    .map_or(api.usual_address(), |value| value.trim())
                    .to_owned(),
                key: Some(KeySource::Env(key_variable.to_owned())),
                models: Vec::new(),
                // Another address may have any models.
                families: match given {
                    Some(_) => Vec::new(),
                    None => families.iter().map(|&family| family.to_owned()).collect(),
                },
            });
        }
        let is_ready = |provider: &Provider| {
            let mut key = provider.key.iter();
            key.all(|key| key.may_be_there(variables))
        };
        let ready = all.iter().map(is_ready).collect();
        Self { all, ready }
    }

    /// All of them, the configured ones first.
    pub fn all(&self) -> &[Provider] {
        &self.all
    }

    /// Those whose key may be there.
    pub fn ready(&self) -> impl Iterator<Item = &Provider> {
        let pairs = self.all.iter().zip(&self.ready);
        pairs
            .filter(|(_, ready)| **ready)
            .map(|(provider, _)| provider)
    }

    /// The provider that a model's name begins with.
    pub fn named_in(&self, name: &str) -> Option<&Provider> {
        let (provider, _) = name.trim().split_once('/')?;
        self.all.iter().find(|it| it.name == provider)
    }

    /// Whether the key of one of them may be there.
    pub fn is_ready(&self, provider: &Provider) -> bool {
        self.ready().any(|it| it.name == provider.name)
    }

    /// A provider whose key may be there and that says that it has a model of this id.
    pub fn that_lists(&self, name: &str) -> Option<&Provider> {
        let (id, _) = split_thinking(name.trim());
        self.ready().find(|provider| provider.has(id) == Has::Yes)
    }

    /// What a model's name means: `NAME/id[:thinking]`, or an id alone, which is looked for with the provider of the
    /// parent's model, else with the only one that has it.
    pub fn find(&self, name: &str, parent: Option<&str>) -> Result<FoundModel<'_>, NoSuchModel> {
        self.find_where(name, parent, |_| true)
    }

    /// The same, where an id alone is looked for with some of the providers.
    pub fn find_where(
        &self,
        name: &str,
        parent: Option<&str>,
        is_looked_at: impl Fn(&Provider) -> bool,
    ) -> Result<FoundModel<'_>, NoSuchModel> {
        let name = name.trim();
        let (whole_id, thinking) = split_thinking(name);
        if whole_id.is_empty() {
            return Err(NoSuchModel::Empty);
        }
        if let Some(provider) = self.named_in(whole_id)
            && let Some((_, id)) = whole_id.split_once('/')
        {
            return match id {
                "" => Err(NoSuchModel::Empty),
                id => Ok(found(provider, id, thinking)),
            };
        }
        let ready = || self.ready().filter(|provider| is_looked_at(provider));
        let parent = parent.and_then(|name| ready().find(|provider| provider.name == name));
        if let Some(provider) = parent.filter(|provider| provider.has(whole_id) != Has::No) {
            return Ok(found(provider, whole_id, thinking));
        }
        let those = |wanted: Has| -> Vec<&Provider> {
            ready()
                .filter(|provider| provider.has(whole_id) == wanted)
                .collect()
        };
        for wanted in [Has::Yes, Has::Unknown] {
            match those(wanted).as_slice() {
                [] => {}
                [provider] => return Ok(found(provider, whole_id, thinking)),
                // Of several that do not say what they have, none is meant by another one's name.
                _ if wanted == Has::Unknown && whole_id.contains('/') => {}
                several => {
                    let candidates = several
                        .iter()
                        .map(|it| format!("{}/{name}", it.name))
                        .collect();
                    let id = whole_id.to_owned();
                    return Err(NoSuchModel::Several { id, candidates });
                }
            }
        }
        if self.ready().next().is_none() {
            let keys = self
                .all
                .iter()
                .filter_map(|it| it.key.as_ref())
                .map(KeySource::place);
            return Err(NoSuchModel::NoProvider {
                keys: keys.collect(),
            });
        }
        let known = self.ready().map(|provider| provider.name.clone()).collect();
        Err(match whole_id.split_once('/') {
            Some((provider, _)) => NoSuchModel::NoSuchProvider {
                provider: provider.to_owned(),
                known,
            },
            None => NoSuchModel::Nobody {
                id: whole_id.to_owned(),
                known,
            },
        })
    }
}

/// Whether a provider has a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Yes,
    No,
    /// It does not say which it has.
    Unknown,
}

impl Provider {
    fn has(&self, id: &str) -> Has {
        let is_listed = self.models.iter().any(|model| model.id == id);
        let is_of_family = self.families.iter().any(|family| id.starts_with(family));
        if is_listed || is_of_family {
            Has::Yes
        } else if self.models.is_empty() && self.families.is_empty() {
            Has::Unknown
        } else {
            Has::No
        }
    }

    /// What is known of a model of its: what it is said to have, else what is publicly known, where it is the makers' own
    /// address. Somebody else's may ask any price.
    fn facts(&self, id: &str) -> ModelFacts {
        let mut models = self.models.iter();
        let said = models.find(|model| model.id == id);
        let said = said.map(|model| model.facts).unwrap_or_default();
        let is_makers = self.base_url.trim_end_matches('/') == self.api.usual_address();
        let known = is_makers.then(|| known(id)).flatten().unwrap_or_default();
        ModelFacts {
            context: said.context.or(known.context),
            prices: said.prices.or(known.prices),
        }
    }

    /// Where it is asked, with its key.
    pub fn endpoint(&self, key: Option<Secret>) -> Result<Endpoint, EndpointError> {
        Endpoint::new(self.api, &self.base_url, key)
    }
}

/// A model that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundModel<'a> {
    /// Who has it.
    pub provider: &'a Provider,
    /// Its id there.
    pub id: String,
    /// How much it is to think, if the name says so.
    pub thinking: Option<Thinking>,
    /// What is known of it.
    pub facts: ModelFacts,
}

impl FoundModel<'_> {
    /// Its whole name.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.id)
    }

    /// Its whole name with how much it is to think: as its own name says, or else as `usual` does.
    pub fn name_with(&self, usual: Option<Thinking>) -> String {
        match self.thinking.or(usual) {
            Some(level) => format!("{}:{}", self.name(), level.word()),
            None => self.name(),
        }
    }
}

fn found<'a>(provider: &'a Provider, id: &str, thinking: Option<Thinking>) -> FoundModel<'a> {
    FoundModel {
        provider,
        id: id.to_owned(),
        thinking,
        facts: provider.facts(id),
    }
}

/// A name without its level of thinking. Ids may have colons themselves (`llama3:8b`): what is no level is the id's.
fn split_thinking(name: &str) -> (&str, Option<Thinking>) {
    let level = name.rsplit_once(':').and_then(|(id, word)| {
        let level = Thinking::of_word(word)?;
        Some((id, Some(level)))
    });
    level.unwrap_or((name, None))
}

/// Why a model's name means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchModel {
    /// It is empty.
    #[error("a model's name is `provider/id` or `id`, with `:thinking` after it if wanted")]
    Empty,
    /// Several have it.
    #[error("several providers have `{id}`: write {}", first_names(.candidates))]
    Several {
        /// The model.
        id: String,
        /// The names that would be clear.
        candidates: Vec<String>,
    },
    /// Nobody has it.
    #[error("no provider has `{id}`; known providers: {}; write `provider/id`, or add it to `models`", first_names(.known))]
    Nobody {
        /// The model.
        id: String,
        /// The providers that have a key.
        known: Vec<String>,
    },
    /// What stands before the slash is no provider, and no provider lists the whole.
    #[error("there is no provider `{provider}`; known providers: {}", first_names(.known))]
    NoSuchProvider {
        /// What was written.
        provider: String,
        /// The providers that have a key.
        known: Vec<String>,
    },
    /// There is nobody to ask.
    #[error("no provider has a key: looked for in {}", .keys.join(", "))]
    NoProvider {
        /// Where keys were looked for.
        keys: Vec<String>,
    },
}
