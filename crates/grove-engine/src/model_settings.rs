//! The models that can be asked: providers in the configuration and the environment. The process that submits a run and the
//! supervisor that executes it find the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::mcp::McpServer;
use crate::model_choice::NoModel;
use grove_exec::PROGRAMS;
use grove_model::{KeySource, KnownModel, ModelApi, Provider, Providers, Secret};
use grove_plan::{ModelFacts, Prices};
use grove_skills::{DiscoveryParts, DiscoveryRequest, Environment, World};
use grove_spec::Digest;
use grove_spec::config::{KeyPlace, McpEntry, ModelEntry, ProviderEntry, Settings};

use crate::error::EngineError;

/// Providers, and the variables that have keys and addresses.
pub struct ModelSettings {
    /// The providers of the configuration.
    pub configured: Vec<Provider>,
    /// The variables that have keys and addresses.
    pub variables: BTreeMap<String, String>,
    /// The servers of `mcp:` tools.
    pub mcp: Vec<McpServer>,
    /// True if children's commands run in a sandbox.
    pub is_sandboxed: bool,
    /// The model of agents that name none.
    pub usual_model: Option<String>,
}

impl ModelSettings {
    /// The settings of an environment whose configuration was read.
    pub fn of(environment: &Environment, settings: &Settings) -> Self {
        let configured: Vec<Provider> = settings
            .providers
            .iter()
            .map(|(name, entry)| provider(environment, name, &entry.value))
            .collect();
        let named = |name: &str| {
            let mut keys = configured
                .iter()
                .filter_map(|provider| provider.key.as_ref());
            keys.any(|key| matches!(key, KeySource::Env(variable) if variable == name))
        };
        let is_wanted = |name: &str| {
            let mut programs = PROGRAMS.iter();
            let is_key = name.ends_with("_API_KEY") || name.ends_with("_BASE_URL") || named(name);
            is_key || programs.any(|program| program.variables.contains(&name))
        };
        let all = environment.variables.iter();
        let wanted = all.filter(|(name, _)| is_wanted(name));
        let wanted =
            wanted.filter_map(|(name, value)| Some((name.clone(), value.to_str()?.to_owned())));
        Self {
            variables: wanted.collect(),
            configured,
            mcp: settings
                .mcp
                .iter()
                .map(|(name, entry)| mcp_server(name, &entry.value))
                .collect(),
            is_sandboxed: settings.run_sandbox.value.as_deref() != Some("off"),
            usual_model: settings.run_model.value.clone(),
        }
    }

    /// The settings of an environment; reads its configuration.
    pub fn find(environment: &Environment) -> Self {
        let nothing = DiscoveryRequest {
            parts: DiscoveryParts::NOTHING,
            ..DiscoveryRequest::default()
        };
        let world = World::find(&std::sync::Arc::new(environment.clone()), &nothing);
        Self::of(environment, &world.settings.settings)
    }

    /// The name of these providers, keys and servers: a supervisor works on runs that were submitted with the same.
    ///
    /// Only a digest of them leaves the process.
    pub fn surroundings(&self) -> String {
        let mut text = serde_json::to_string(&self.configured).unwrap_or_default();
        for server in &self.mcp {
            let command = serde_json::to_string(&server.command).unwrap_or_default();
            let _ = write!(text, "{}={command}\0", server.name);
            for (name, value) in &server.environment {
                let _ = write!(text, "{name}={}\0", Digest::of(value.reveal().as_bytes()));
            }
        }
        for (name, value) in &self.variables {
            let _ = write!(text, "{name}={}\0", Digest::of(value.as_bytes()));
        }
        let name = Digest::of(text.as_bytes()).first_digits(12);
        // A supervisor that keeps its children in a sandbox is another than one that does not.
        if self.is_sandboxed {
            name
        } else {
            format!("{name}-open")
        }
    }

    /// The providers that can be asked.
    pub fn providers(&self) -> Providers {
        Providers::new(self.configured.clone(), &self.variables)
    }

    /// The error with the next step when there is no model.
    pub fn refused(&self, error: NoModel) -> EngineError {
        match error {
            NoModel::NoProvider => self.no_key(),
            NoModel::NotNamed => EngineError::usage(error).hint(
                "give --model anthropic/ID, `model:` in the agent's file, or `model` in [runs] of the configuration",
            ),
            NoModel::Unknown(error) => EngineError::usage(error),
            NoModel::NotSpoken(error) => {
                let hint = engines_for(error.api);
                EngineError::usage(error).hint(hint)
            }
        }
    }

    /// The error without a provider to ask: names the providers of the configuration, where there are any.
    fn no_key(&self) -> EngineError {
        let replay = "or replay a recording with --replay FILE".to_owned();
        let missing = self.configured.iter();
        let missing = missing.filter_map(|it| Some((it.name.as_str(), it.key.as_ref()?)));
        let missing: Vec<_> = missing.collect();
        if missing.is_empty() {
            return EngineError::finding("no model provider is configured").hints([
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, and ANTHROPIC_BASE_URL or OPENAI_BASE_URL for another address".to_owned(),
                "or name a provider in [providers] of the configuration: `grove init` shows an example and writes it if you like".to_owned(),
                replay,
            ]);
        }
        let said = missing
            .iter()
            .map(|(name, key)| format!("provider `{name}` looks for its key in {}", key.place()));
        let said: Vec<String> = said.collect();
        let message = format!("no provider has a key: {}", said.join(", "));
        let wanted = missing.iter().map(|(name, key)| match key {
            KeySource::Env(variable) => format!("set {variable} to the key of provider `{name}`"),
            KeySource::File(_) | KeySource::Command(_) => {
                format!("put the key of provider `{name}` into {}", key.place())
            }
        });
        EngineError::finding(message).hints(wanted.chain([replay]))
    }
}

/// The engines that can ask a provider with an interface, in a sentence.
fn engines_for(api: ModelApi) -> String {
    let programs = PROGRAMS.iter().filter(|it| it.speaks(api.word()));
    let names = std::iter::once("native").chain(programs.map(|program| program.name));
    let names: Vec<String> = names.map(|name| format!("`--engine {name}`")).collect();
    format!(
        "choose {}, or a model of another provider",
        names.join(", ")
    )
}

fn provider(environment: &Environment, name: &str, entry: &ProviderEntry) -> Provider {
    let api = ModelApi::of_word(&entry.api).unwrap_or(ModelApi::Anthropic);
    Provider {
        name: name.to_owned(),
        api,
        base_url: match &entry.base_url {
            Some(address) => address.clone(),
            None => api.usual_address().to_owned(),
        },
        key: entry.key.as_ref().map(|place| match place {
            KeyPlace::Env(variable) => KeySource::Env(variable.clone()),
            KeyPlace::File(path) => KeySource::File(key_file(environment, path)),
            KeyPlace::Command(words) => KeySource::Command(words.clone()),
        }),
        models: entry.models.iter().map(known_model).collect(),
        families: Vec::new(),
    }
}

fn mcp_server(name: &str, entry: &McpEntry) -> McpServer {
    let variables = entry.env.iter();
    McpServer {
        name: name.to_owned(),
        command: entry.command.clone(),
        environment: variables
            .map(|(name, value)| (name.clone(), Secret::new(value)))
            .collect(),
    }
}

fn known_model(entry: &ModelEntry) -> KnownModel {
    let prices = entry.input.zip(entry.output);
    KnownModel {
        id: entry.id.clone(),
        facts: ModelFacts {
            context: entry.context,
            prices: prices.map(|(input, output)| Prices {
                input,
                output,
                cached: entry.cached,
                cache_write: entry.cache_write,
            }),
        },
    }
}

/// A path of the configuration: below home where it begins so, below the configuration's folder where it is relative.
fn key_file(environment: &Environment, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), &environment.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => environment.config.join(path),
    }
}
