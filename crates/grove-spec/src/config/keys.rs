//! The table of all configuration keys: a new key is one row here and its use.
//!
//! The values of a file, the settings in force, what `grove config` shows and the reference page come from the table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::kinds::{
    AllowList, CatalogOrder, ConfigKind, HookFile, HookSetting, Limit, Money, OptionalLimit,
    OptionalText, OrderKind, PackageList, Switch, Texts, UseSwitch, UserCount, UserNumber,
};
use super::layer::{KeyAndValue, LayerReader};
use super::{LayerScope, McpEntry, Origin, ProviderEntry, SkillEntry, Sourced};
use crate::agent::overrides::{AgentField, Overrides};
use crate::text::{nearest, without_credentials};

/// One key as documented.
#[derive(Debug, Clone)]
pub struct ConfigKey {
    /// The dotted path of the key.
    pub path: Cow<'static, str>,
    /// The kind of value that it takes.
    pub takes: &'static str,
    /// The default, as written in TOML.
    pub default: String,
    /// True if a project may set it, to narrow it.
    pub may_narrow: bool,
    /// The description of the key.
    pub about: Cow<'static, str>,
}

/// A setting in force.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The dotted path of the key.
    pub path: &'static str,
    /// The value in force.
    pub value: Json,
    /// The place that set it; none means the default.
    pub origin: Option<Origin>,
}

macro_rules! config_keys {
    (
        { $($first:ident: $first_type:ty = $first_path:literal, $first_kind:ty, $first_default:expr, $first_about:literal;)* }
        limits { $($limit:ident = $limit_path:literal, $limit_default:expr, $limit_about:literal;)* }
        { $($then:ident: $then_type:ty = $then_path:literal, $then_kind:ty, $then_default:expr, $then_about:literal;)* }
    ) => {
        /// The values that one file sets.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct ConfigLayer {
            $(#[doc = $first_about] pub $first: Option<Sourced<$first_type>>,)*
            $(#[doc = $limit_about] pub $limit: Option<Sourced<u64>>,)*
            $(#[doc = $then_about] pub $then: Option<Sourced<$then_type>>,)*
            /// The entries for single skills, by their keys.
            pub entries: BTreeMap<String, SkillEntry>,
            /// The providers of models, by name.
            pub providers: BTreeMap<String, Sourced<ProviderEntry>>,
            /// The servers of `mcp:` tools, by name.
            pub mcp: BTreeMap<String, Sourced<McpEntry>>,
            /// `agents.disable_builtins` and `agents.overrides`, if the file has either.
            pub agents: Option<Overrides>,
        }

        impl ConfigLayer {
            /// Reads a key; returns false if the table has no such key.
            pub(super) fn take(&mut self, key: &KeyAndValue<'_, '_>, reader: &mut LayerReader<'_>) -> bool {
                match key.path {
                    $($first_path => self.$first = reader.read::<$first_kind>(key),)*
                    $($limit_path => self.$limit = reader.read::<Limit>(key),)*
                    $($then_path => self.$then = reader.read::<$then_kind>(key),)*
                    _ => return false,
                }
                true
            }
        }

        /// The hard limits, all of which can be configured.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct ConfiguredLimits {
            $(#[doc = $limit_about] pub $limit: Sourced<u64>,)*
        }

        impl Default for ConfiguredLimits {
            fn default() -> Self {
                Self { $($limit: Sourced::default_value($limit_default),)* }
            }
        }

        /// The settings in force.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Settings {
            $(#[doc = $first_about] pub $first: Sourced<$first_type>,)*
            /// The hard limits in force.
            pub limits: ConfiguredLimits,
            $(#[doc = $then_about] pub $then: Sourced<$then_type>,)*
            /// The entries for single skills, by their keys.
            pub entries: BTreeMap<String, SkillEntry>,
            /// The providers of models, by name.
            pub providers: BTreeMap<String, Sourced<ProviderEntry>>,
            /// The servers of `mcp:` tools, by name.
            pub mcp: BTreeMap<String, Sourced<McpEntry>>,
            /// The overrides of agents in each file, the weakest first. Which one counts is decided agent by agent.
            pub agent_overrides: Vec<Overrides>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($first: Sourced::default_value($first_default),)*
                    limits: ConfiguredLimits::default(),
                    $($then: Sourced::default_value($then_default),)*
                    entries: BTreeMap::new(),
                    providers: BTreeMap::new(),
                    mcp: BTreeMap::new(),
                    agent_overrides: Vec::new(),
                }
            }
        }

        impl Settings {
            /// Applies a layer's keys of the table to the settings.
            pub(super) fn apply_keys(&mut self, layer: &mut ConfigLayer, scope: LayerScope) {
                $(apply_layer::<$first_kind>(&mut self.$first, layer.$first.take(), scope);)*
                $(apply_layer::<Limit>(&mut self.limits.$limit, layer.$limit.take(), scope);)*
                $(apply_layer::<$then_kind>(&mut self.$then, layer.$then.take(), scope);)*
            }

            /// Returns every key of the table with its value, in the order of the reference page.
            pub fn rows(&self) -> Vec<Setting> {
                vec![
                    $(Setting::new($first_path, &self.$first),)*
                    $(Setting::new($limit_path, &self.limits.$limit),)*
                    $(Setting::new($then_path, &self.$then),)*
                ]
            }
        }

        fn table() -> Vec<ConfigKey> {
            let defaults = Settings::default();
            vec![
                $(ConfigKey::of::<$first_kind>($first_path, &defaults.$first.value, $first_about),)*
                $(ConfigKey::of::<Limit>($limit_path, &defaults.limits.$limit.value, $limit_about),)*
                $(ConfigKey::of::<$then_kind>($then_path, &defaults.$then.value, $then_about),)*
            ]
        }
    };
}

config_keys! {
    {
        compat_roots: bool = "compat_roots", Switch, true, "Look in the folders of all known hosts, not only in `.grove` and `.agents`.";
        extra_dirs: Vec<String> = "extra_dirs", Texts, Vec::new(), "Further folders with skills. They rank below the user's own and are never written to.";
        packages: Vec<String> = "packages", PackageList, Vec::new(), "Further packages with agents, chains and skills: `npm:NAME`, `git:HOST/PATH`, `file:PATH` or a path.";
    }
    limits {
        candidates_per_root = "limits.candidates_per_root", 20000, "The most skill folders read in one root. The rest are named.";
        loaded_per_root = "limits.loaded_per_root", 300, "The most skills of one root that may have entries of their own. The rest are `capped`: named in their group's entry.";
        loaded_per_source = "limits.loaded_per_source", 200, "The most skills of one source that may have entries of their own. The rest are `capped`: named in their group's entry.";
        file_bytes = "limits.file_bytes", 256_000, "The most bytes of one skill file, inclusive; the part of a description beyond 16,384 characters may be dropped to fit.";
        group_depth = "limits.group_depth", 6, "The most group levels above a skill folder.";
        prompt_skills = "limits.prompt_skills", 150, "The most skills in one catalog.";
        agent_list_bytes = "limits.agent_list_bytes", 16_000, "The most bytes in a list of agents that a model asks for.";
        prompt_chars = "limits.prompt_chars", 30_000, "The most characters in one catalog.";
        preload_chars = "limits.preload_chars", 100_000, "The most characters that the skills an agent names may take in its prompt. A skill that does not fit is left out entirely.";
        instruction_chars = "limits.instruction_chars", 40_000, "The most characters that a project's instructions may take in an agent's prompt. A file that does not fit is left out entirely.";
    }
    {
        pinned: Vec<String> = "catalog.pinned", Texts, Vec::new(), "Skills that come first in a catalog. A session takes them when it begins.";
        catalog_order: CatalogOrder = "catalog.order", OrderKind, CatalogOrder::Task, "The order of skills in the catalog that a child inherits: `task` shows first what a search for its task finds, `usual` is the same for all tasks.";
        allow_bundled: Option<Vec<String>> = "skills.allow_bundled", AllowList, None, "Bundled skills that may be used. An empty list means none.";
        only: Option<Vec<String>> = "skills.only", AllowList, None, "The only names that may be used. An empty list means none.";
        run_model: Option<String> = "runs.model", OptionalText, None, "The model of agents that name none, as `provider/id[:thinking]`.";
        run_engine: Option<String> = "runs.engine", OptionalText, None, "The engine of agents that name none; by default Grove's own loop, `native`.";
        run_in_background: bool = "runs.asyncByDefault", Switch, false, "Whether `grove run` returns without waiting for the result.";
        run_force_background: bool = "runs.forceTopLevelAsync", Switch, false, "Whether every `grove run` returns without waiting for the result, whatever the request says.";
        run_timeout_ms: Option<u64> = "runs.timeoutMs", OptionalLimit, None, "The most milliseconds a whole run may take.";
        run_max_execution_time_ms: Option<u64> = "runs.maxExecutionTimeMs", OptionalLimit, None, "The most milliseconds one child may take; by default half an hour, or two hours in the background.";
        run_max_tokens: Option<u64> = "runs.maxTokens", OptionalLimit, None, "The most tokens a whole run may use.";
        run_max_cost: Option<u64> = "runs.maxCost", Money, None, "The most a whole run may cost, in the currency of the prices; shown in millionths. A run whose prices are unknown is refused.";
        run_tool_timeout_ms: Option<u64> = "runs.toolTimeoutMs", OptionalLimit, None, "The most milliseconds one tool call may take; by default ten minutes.";
        run_reviewer: Option<String> = "runs.reviewer", OptionalText, None, "The agent that reviews work when no other reviewer is named.";
        run_concurrency: u64 = "runs.concurrency", UserCount, 4, "How many children of one step run at the same time.";
        run_max_tasks: u64 = "runs.maxTasks", UserCount, 64, "How many tasks one step of a run may have, and how many items a list that is given with a request.";
        run_max_depth: u64 = "runs.maxDepth", UserNumber, 2, "How many levels of runs may be nested below a run.";
        run_max_children: u64 = "runs.maxChildren", UserCount, 64, "How many children a run and all runs below it may have.";
        run_max_items: Option<u64> = "runs.chain.dynamicFanout.maxItems", OptionalLimit, None, "How many items a list may have if its `expand` does not say.";
        run_worktree_hook: Option<HookSetting> = "runs.worktreeSetupHook", HookFile, None, "The program that sets up a child's working tree before the child begins: a whole path, one below `~/`, or one with a slash from the top of the repository. It is told about the tree as JSON on its standard input and prints `{\"syntheticPaths\": [...]}`. A project may name one if you name none; one that is in the repository runs only after its text has been approved.";
        run_worktree_hook_timeout_ms: u64 = "runs.worktreeSetupHookTimeoutMs", UserCount, 30_000, "The most milliseconds this program may take.";
        run_worktree_link: Vec<String> = "runs.worktreeLink", Texts, Vec::new(), "Files and folders of the repository that are not under version control, such as `node_modules`: a child's working tree gets a link to each.";
        run_worktree_copy: Vec<String> = "runs.worktreeCopy", Texts, Vec::new(), "The same, but the working tree gets a copy of each.";
        run_on_complete: Vec<String> = "runs.on_complete", Texts, Vec::new(), "The program, with its arguments, that is started when a run you asked for has ended. It gets the run as JSON (`grove.run/1`) on its standard input, with the name of the delivery in `delivery`. After a crash it may be started again with the same name.";
        run_on_complete_timeout_ms: u64 = "runs.on_complete_timeout_ms", UserCount, 60_000, "The most milliseconds this program may take.";
        run_model_idle_ms: Option<u64> = "runs.modelIdleMs", OptionalLimit, None, "Milliseconds of silence after which a model's answer has failed; by default five minutes for the first byte and three for each later one.";
        run_attention: bool = "runs.attention.enabled", Switch, true, "Whether Grove reports that a child may need attention.";
        run_attention_ms: u64 = "runs.attention.needsAttentionAfterMs", UserCount, 60_000, "Milliseconds of silence from a model after which its child may need attention.";
        run_tool_attention_ms: u64 = "runs.attention.toolNeedsAttentionAfterMs", UserCount, 600_000, "Milliseconds that a tool may run before its child may need attention.";
        run_failing_edits: u64 = "runs.attention.failedToolAttemptsBeforeAttention", UserCount, 3, "How many edits may fail in a row before their child may need attention.";
        run_sandbox: Option<String> = "runs.sandbox", OptionalText, None, "With `off`, the commands of Grove's own children run without a sandbox. Commands that verify work always run in one.";
        run_in_home: bool = "runs.allowHome", UseSwitch, false, "Whether children may work in the home folder, in `/` and in the folders between them.";
        run_keep_days: u64 = "runs.keepDays", UserNumber, 30, "Days after which `grove runs prune` deletes a run that has ended.";
    }
}

/// Makes an array of tuples from rows with one line each.
macro_rules! rows {
    ($($($column:literal),*;)*) => { [$(($($column),*)),*] };
}

/// The keys below `skills.entries.KEY`, `providers.NAME` and `mcp.NAME` and the one for all agents, which are read one
/// by one: the path, true if a project may set it, the values it takes, its default and its description.
const OTHERS: [(&str, bool, &str, &str, &str); 12] = rows! {
    "skills.entries.KEY.enabled", true, "true or false", "true", "Switches one skill off. KEY is its `skillKey` or its name.";
    "skills.entries.KEY.env", false, "table of texts", "{}", "Variables for the skill. They satisfy `requires.env` and are set for the commands of a child that has the skill. Values are never shown, and variables that make programs load other code are refused.";
    "skills.entries.KEY.api_key", false, "text", "(none)", "The value for the skill's `primaryEnv`. It is never shown.";
    "skills.entries.KEY.config", false, "table", "{}", "Configuration for the skill. Set paths satisfy `requires.config`.";
    "skills.entries.KEY.project", false, "true or false", "false", "Whether a project's skill of this name or `skillKey` gets the values of this entry. By default only your own skills and those that come with Grove do, and those of packages by their name.";
    "providers.NAME.api", false, "`anthropic`, `openai-responses` or `openai-chat`", "(none)", "The API that the provider speaks. NAME is the part before the `/` in models' names.";
    "providers.NAME.base_url", false, "address", "(the interface's own)", "Where it is.";
    "providers.NAME.key", false, "table with `env`, `file` or `command`", "(none)", "Where its key is: a variable, a file, or a program with its arguments that prints it. The key itself is never in this file.";
    "providers.NAME.models", false, "list of ids or tables", "[]", "The models it has, so that their ids alone lead to it: an id, or a table with `id`, `context` (tokens), and prices per million tokens: `input`, `output`, `cached`, `cache_write`. These values take precedence over the built-in ones.";
    "mcp.NAME.command", false, "list of texts", "(none)", "The program and its arguments that speaks MCP on its standard input and output. Agents list its tools as `mcp:NAME` or `mcp:NAME/TOOL`.";
    "mcp.NAME.env", false, "table of texts", "{}", "Variables that only this server gets. Values are never shown; variables that make programs load other code are refused.";
    "agents.disable_builtins", true, "true or false", "false", "Switches off every agent that comes with Grove. `disabled = false` under an agent's name keeps that one.";
};

/// Returns all keys in the order of the reference page; those below `agents.overrides.NAME` are the fields of agents.
pub fn keys() -> Vec<ConfigKey> {
    let others = OTHERS.map(|(path, may_narrow, takes, default, about)| ConfigKey {
        path: path.into(),
        takes,
        default: default.to_owned(),
        may_narrow,
        about: about.into(),
    });
    let overrides = AgentField::all().map(|field| ConfigKey {
        path: format!("agents.overrides.NAME.{}", field.config_key()).into(),
        takes: field.override_takes(),
        default: "(the file's)".to_owned(),
        may_narrow: true,
        about: format!("{}.", field.row().about).into(),
    });
    table().into_iter().chain(others).chain(overrides).collect()
}

/// The known key that an unknown one is nearly written as; the written words take the places of `NAME` and `KEY`.
pub(super) fn nearest_key(path: &str) -> Option<String> {
    let as_written = |key: ConfigKey| {
        let is_open = |part: &str| part.bytes().all(|b| b.is_ascii_uppercase());
        let written = path.split('.').map(Some).chain(std::iter::repeat(None));
        let parts = key.path.split('.').zip(written);
        let parts = parts.map(|(known, written)| match written {
            Some(written) if is_open(known) => written,
            _ => known,
        });
        parts.collect::<Vec<_>>().join(".")
    };
    nearest(path, keys().into_iter().map(as_written))
}

/// The key of runs that was meant by a key without a table, or by a key that is nearly `runs`.
pub(super) fn nearest_run_key(path: &str) -> Option<String> {
    const RUNS: &str = "runs";
    match path.split_once('.') {
        None if nearest(path, std::iter::once(RUNS)).is_some() => Some(RUNS.to_owned()),
        None => nearest_key(&format!("{RUNS}.{path}")),
        Some(_) => None,
    }
    .filter(|meant| meant.starts_with(RUNS))
}

/// Returns true if only the user may set a key; `documented` is its path as [`keys`] has it.
pub(super) fn is_of_user(documented: &str) -> bool {
    let others = OTHERS.iter().map(|other| (other.0, other.1));
    let mut others = others.filter(|(_, may_narrow)| !may_narrow);
    others.any(|(path, _)| path == documented)
}

impl ConfigKey {
    fn of<K: ConfigKind>(path: &'static str, default: &K::Value, about: &'static str) -> Self {
        Self {
            path: path.into(),
            takes: K::TAKES,
            default: match json!(default) {
                Json::Null => K::WITHOUT.to_owned(),
                value => value.to_string(),
            },
            may_narrow: K::MAY_NARROW,
            about: about.into(),
        }
    }
}

impl Setting {
    fn new<T: serde::Serialize>(path: &'static str, setting: &Sourced<T>) -> Self {
        Self {
            path,
            value: shown(json!(setting.value)),
            origin: setting.origin.clone(),
        }
    }
}

/// A value as it is shown: without the passwords of addresses in it.
fn shown(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(without_credentials(&text).into_owned()),
        Json::Array(items) => items.into_iter().map(shown).collect(),
        other => other,
    }
}

fn apply_layer<K: ConfigKind>(
    in_force: &mut Sourced<K::Value>,
    layer: Option<Sourced<K::Value>>,
    scope: LayerScope,
) {
    let Some(Sourced { value, origin }) = layer else {
        return;
    };
    let value = match scope {
        LayerScope::User => Some(value),
        LayerScope::Project => K::narrowed(&in_force.value, value),
    };
    if let Some(value) = value {
        *in_force = Sourced { value, origin };
    }
}
