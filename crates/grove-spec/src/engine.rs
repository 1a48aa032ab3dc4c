//! The engines that can run an agent.

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::agent::Structured;
use crate::text::one_line;

/// The program that drives an agent: Grove's own loop over a model, or an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineName {
    /// Grove's own loop over a model.
    Native,
    /// An agent program that Grove knows by a word.
    Program(&'static str),
    /// A program that speaks the Agent Client Protocol, with its command.
    Acp(String),
}

/// The word for Grove's own loop.
const NATIVE: &str = "native";
const PROGRAMS: [&str; 6] = ["claude", "codex", "pi", "copilot", "opencode", "gemini"];
const ACP: &str = "acp:";

impl EngineName {
    /// Returns the engine that a word names.
    pub fn of(word: &str) -> Option<Self> {
        if let Some(command) = word.strip_prefix(ACP) {
            let command = command.trim();
            return (!command.is_empty()).then(|| Self::Acp(command.to_owned()));
        }
        if word == NATIVE {
            return Some(Self::Native);
        }
        let known = PROGRAMS.into_iter().find(|known| *known == word);
        known.map(Self::Program)
    }
}

impl std::fmt::Display for EngineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Native => f.write_str(NATIVE),
            Self::Program(word) => f.write_str(word),
            Self::Acp(command) => write!(f, "{ACP}{command}"),
        }
    }
}

impl Serialize for EngineName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Structured for EngineName {
    const TAKES: &'static str =
        "`native`, `claude`, `codex`, `pi`, `copilot`, `opencode`, `gemini` or `acp:COMMAND`";
    const HELP: &'static str = "write `native`, `claude`, `codex`, `pi`, `copilot`, `opencode`, `gemini` or `acp:` and a command";

    fn read(value: &Value) -> Result<Self, Vec<String>> {
        let word = value.as_str().map(str::trim);
        word.and_then(Self::of).ok_or_else(|| {
            let shown = word.map_or_else(|| value.to_string(), one_line);
            vec![format!("`{shown}` is not an engine")]
        })
    }
}
