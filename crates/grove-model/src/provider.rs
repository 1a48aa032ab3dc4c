//! Providers, their keys, and the search for the provider that a model's name means.
//!
//! Nothing is read here: the caller passes in settings, variables, files and the output of commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_plan::ModelFacts;
use grove_spec::text::{first_names, one_line};
use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, EndpointError};
use crate::known_models::known;
use crate::request::Thinking;
use crate::secret::Secret;
use crate::wire::ModelApi;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    pub name: String,
    pub api: ModelApi,
    pub base_url: String,
    /// The place of its key; none where it needs none.
    #[serde(default)]
    pub key: Option<KeySource>,
    #[serde(default)]
    pub models: Vec<KnownModel>,
    /// The starts of its models' names, where these tell them from the models of all other providers.
    #[serde(skip)]
    pub families: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownModel {
    pub id: String,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    Env(String),
    File(PathBuf),
    Command(Vec<String>),
}

const LONGEST_KEY: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the variable `{0}` is not set")]
    NotSet(String),
    #[error("cannot read the key from {place}: {reason}")]
    NotRead { place: String, reason: String },
    #[error("what was read from {place} is not a key: {reason}")]
    NotAKey {
        place: String,
        /// The fault of the text; it never contains the value.
        reason: &'static str,
    },
}

impl KeySource {
    /// Reads the key. `file` reads a file; `command` runs a program with a deadline and a bound of its own and returns
    /// its standard output.
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

    /// Returns true if there may be a key: a variable has to be set; files and commands are not tried.
    pub fn may_be_there(&self, variables: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Env(name) => variables
                .get(name)
                .is_some_and(|value| !value.trim().is_empty()),
            Self::File(_) | Self::Command(_) => true,
        }
    }

    /// Returns the place in words: `the variable X`. Of a command only the program is named, since arguments may be secret.
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

/// A provider that exists without configuration: name, interface, variable for another address, variable for the key,
/// starts of its models' names.
type BuiltIn = (
    &'static str,
    ModelApi,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const BUILT_IN: [BuiltIn; 2] = [
    (
        "anthropic",
        ModelApi::Anthropic,
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        &["claude-"],
    ),
    (
        "openai",
        ModelApi::OpenaiResponses,
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        &["gpt-", "o1", "o3", "o4", "codex-"],
    ),
];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Providers {
    all: Vec<Provider>,
    /// For each provider, true if its key may be there.
    ready: Vec<bool>,
}

impl Providers {
    /// Returns the configured and the built-in providers; a configured one replaces a built-in one of the same name.
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
                // A server at another address may have any models.
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

    /// Returns all providers, the configured ones first.
    pub fn all(&self) -> &[Provider] {
        &self.all
    }

    pub fn ready(&self) -> impl Iterator<Item = &Provider> {
        let pairs = self.all.iter().zip(&self.ready);
        pairs
            .filter(|(_, ready)| **ready)
            .map(|(provider, _)| provider)
    }

    /// Returns the provider that a model's name begins with.
    pub fn named_in(&self, name: &str) -> Option<&Provider> {
        let (provider, _) = name.trim().split_once('/')?;
        self.all.iter().find(|it| it.name == provider)
    }

    pub fn is_ready(&self, provider: &Provider) -> bool {
        self.ready().any(|it| it.name == provider.name)
    }

    /// Returns a provider whose key may be there and that says that it has a model of this id.
    pub fn listing_model(&self, name: &str) -> Option<&Provider> {
        let (id, _) = split_thinking(name.trim());
        self.ready()
            .find(|provider| provider.has(id) == ModelAvailability::Yes)
    }

    /// Returns the model that a name means: `NAME/id[:thinking]`, or an id alone, which is looked for with the provider of
    /// the parent's model, else with the only one that has it.
    pub fn find(&self, name: &str, parent: Option<&str>) -> Result<FoundModel<'_>, NoSuchModel> {
        self.find_where(name, parent, |_| true)
    }

    /// Does the same as `find`, but looks for an id alone only with the providers that `is_looked_at` accepts.
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
        if let Some(provider) =
            parent.filter(|provider| provider.has(whole_id) != ModelAvailability::No)
        {
            return Ok(found(provider, whole_id, thinking));
        }
        let those = |wanted: ModelAvailability| -> Vec<&Provider> {
            ready()
                .filter(|provider| provider.has(whole_id) == wanted)
                .collect()
        };
        for wanted in [ModelAvailability::Yes, ModelAvailability::Unknown] {
            match those(wanted).as_slice() {
                [] => {}
                [provider] => return Ok(found(provider, whole_id, thinking)),
                // A name with a slash belongs to another provider, not to several that do not list their models.
                _ if wanted == ModelAvailability::Unknown && whole_id.contains('/') => {}
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
            None => NoSuchModel::NotListed {
                id: whole_id.to_owned(),
                known,
            },
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelAvailability {
    Yes,
    No,
    /// The provider does not list its models.
    Unknown,
}

impl Provider {
    fn has(&self, id: &str) -> ModelAvailability {
        let is_listed = self.models.iter().any(|model| model.id == id);
        let is_of_family = self.families.iter().any(|family| id.starts_with(family));
        if is_listed || is_of_family {
            ModelAvailability::Yes
        } else if self.models.is_empty() && self.families.is_empty() {
            ModelAvailability::Unknown
        } else {
            ModelAvailability::No
        }
    }

    /// Returns the facts about one of its models: the configured ones, else the publicly known ones if the address is the
    /// makers' own. A server at another address may ask any price.
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

    pub fn endpoint(&self, key: Option<Secret>) -> Result<Endpoint, EndpointError> {
        Endpoint::new(self.api, &self.base_url, key)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundModel<'a> {
    pub provider: &'a Provider,
    pub id: String,
    pub thinking: Option<Thinking>,
    pub facts: ModelFacts,
}

impl FoundModel<'_> {
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.id)
    }

    /// Returns its whole name with a level of thinking: that of its own name, or else `usual`.
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

/// Splits a name from its level of thinking. Ids may have colons themselves (`llama3:8b`): a word that is not a level
/// belongs to the id.
fn split_thinking(name: &str) -> (&str, Option<Thinking>) {
    let level = name.rsplit_once(':').and_then(|(id, word)| {
        let level = Thinking::of_word(word)?;
        Some((id, Some(level)))
    });
    level.unwrap_or((name, None))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchModel {
    #[error("a model's name is `provider/id` or `id`, with `:thinking` after it if wanted")]
    Empty,
    #[error("several providers have `{id}`: write {}", first_names(.candidates))]
    Several {
        id: String,
        /// The names that mean one model each.
        candidates: Vec<String>,
    },
    #[error("no provider has `{id}`; known providers: {}; write `provider/id`, or add it to `models`", first_names(.known))]
    NotListed { id: String, known: Vec<String> },
    #[error("there is no provider `{provider}`; known providers: {}", first_names(.known))]
    NoSuchProvider {
        provider: String,
        known: Vec<String>,
    },
    #[error("no provider has a key: looked for in {}", .keys.join(", "))]
    NoProvider { keys: Vec<String> },
}
