//! Who runs an agent.

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::agent::Structured;
use crate::text::one_line;

/// Who runs an agent: Grove's own loop over a model, or an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// Grove's own loop.
    Native,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// pi.
    Pi,
    /// Copilot CLI.
    Copilot,
    /// A program that speaks the Agent Client Protocol, by its command.
    Acp(String),
}

/// The engines that have a word, and what each is called.
const WORDS: [(&str, Engine); 5] = [
    ("native", Engine::Native),
    ("claude", Engine::Claude),
    ("codex", Engine::Codex),
    ("pi", Engine::Pi),
    ("copilot", Engine::Copilot),
];
const ACP: &str = "acp:";

impl Engine {
    /// The engine of a word.
    pub fn of(word: &str) -> Option<Self> {
        if let Some(command) = word.strip_prefix(ACP) {
            let command = command.trim();
            return (!command.is_empty()).then(|| Self::Acp(command.to_owned()));
        }
        let known = WORDS.into_iter().find(|(known, _)| *known == word);
        known.map(|(_, engine)| engine)
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Self::Acp(command) = self {
            return write!(f, "{ACP}{command}");
        }
        let known = WORDS.iter().find(|(_, engine)| engine == self);
        f.write_str(known.map_or("", |(word, _)| word))
    }
}

impl Serialize for Engine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Structured for Engine {
    const TAKES: &'static str = "`native`, `claude`, `codex`, `pi`, `copilot` or `acp:COMMAND`";
    const HELP: &'static str =
        "write `native`, `claude`, `codex`, `pi`, `copilot` or `acp:` and a command";

    fn read(value: &Value) -> Result<Self, Vec<String>> {
        let word = value.as_str().map(str::trim);
        word.and_then(Self::of).ok_or_else(|| {
            let shown = word.map_or_else(|| value.to_string(), one_line);
            vec![format!("`{shown}` is no engine")]
        })
    }
}
