//! Keys of other hosts that let an agent or a skill do more than its caller would allow by itself.
//!
//! The counterpart of [`super::restriction`], and the only definition too. Files that a person wrote for a host in a
//! folder of their own may have these keys; files that came with a package may not, because a copy in the host's own
//! folders would be taken for a file that its owner wrote.

use super::AgentFormat;
use crate::skill::fields::bare;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// Keys of a Codex role that grant nothing; every other key may, since a role is a layer of the whole configuration.
const CODEX_HARMLESS: [&str; 7] = [
    "name",
    "description",
    "nickname_candidates",
    "personality",
    "model_reasoning_summary",
    "model_verbosity",
    "hide_agent_reasoning",
];

/// Words for keys that let an agent or a skill do more, in files of any kind and in any spelling: they run a program
/// unasked, start a server or give a permission.
const GRANTING: [&str; 8] = [
    "hooks",
    "mcp",
    "mcpservers",
    "permission",
    "permissions",
    "permissionmode",
    "plugin",
    "plugins",
];

/// Returns true if a key lets an agent or a skill do more.
pub fn grants(key: &str) -> bool {
    let word = bare(key.trim());
    GRANTING.contains(&word.as_str())
}

/// A key of an agent's file without the part that grants something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReducedKey {
    /// The key grants nothing.
    Harmless,
    /// The part of the key that grants nothing.
    Partly(YamlEntry),
    /// The whole key grants something.
    Gone,
}

/// Removes from a key that Grove does not know the part that grants something.
pub fn without(entry: &YamlEntry, format: AgentFormat) -> ReducedKey {
    let word = entry.value.as_text();
    let only = |words: &[&str]| {
        let is_one = word.is_some_and(|word| words.contains(&word));
        if is_one {
            ReducedKey::Harmless
        } else {
            ReducedKey::Gone
        }
    };
    match (format.of_files(), &*entry.key) {
        (AgentFormat::Claude, "permissionMode") => only(&["plan", "dontAsk"]),
        (AgentFormat::Codex, "sandbox_mode") => only(&["read-only"]),
        (AgentFormat::Codex, "approval_policy") => only(&["untrusted"]),
        (AgentFormat::Codex, "web_search") => only(&["disabled", "cached"]),
        (AgentFormat::Codex, key) if CODEX_HARMLESS.contains(&key) => ReducedKey::Harmless,
        (AgentFormat::Codex, _) => ReducedKey::Gone,
        (AgentFormat::Opencode, "permission") => match unpermitted(&entry.value) {
            Some(value) if value == entry.value => ReducedKey::Harmless,
            Some(value) => ReducedKey::Partly(YamlEntry {
                value,
                ..entry.clone()
            }),
            None => ReducedKey::Gone,
        },
        (_, key) if grants(key) => ReducedKey::Gone,
        _ => ReducedKey::Harmless,
    }
}

/// A permission without the parts that allow something. The rest keeps its order, so that every rule allows less.
fn unpermitted(value: &YamlNode) -> Option<YamlNode> {
    match &value.value {
        YamlValue::Map(entries) => {
            let kept = entries.iter().filter_map(|entry| {
                Some(YamlEntry {
                    value: unpermitted(&entry.value)?,
                    ..entry.clone()
                })
            });
            let kept: Vec<YamlEntry> = kept.collect();
            (!kept.is_empty()).then(|| YamlNode::new(YamlValue::Map(kept), value.position))
        }
        _ => matches!(value.as_text(), Some("deny" | "ask")).then(|| value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::formats::read;

    /// The rest of the only key of a file that Grove does not know.
    fn shrunk(lines: &str, format: AgentFormat) -> ReducedKey {
        let text = match format {
            AgentFormat::Codex => format!("name = 'a'\ndeveloper_instructions = 'x'\n{lines}\n"),
            _ => format!("---\nname: a\ndescription: d\n{lines}\n---\n"),
        };
        let parsed = read(text.as_bytes(), format).remove(0).parsed;
        let [entry] = parsed.agent.unknown.as_slice() else {
            panic!("one key: {:?}", parsed.agent.unknown);
        };
        without(entry, format)
    }

    #[test]
    fn what_grants_is_gone_at_every_host() {
        for (lines, format) in [
            ("permissionMode: bypassPermissions", AgentFormat::Claude),
            ("permissionMode: acceptEdits", AgentFormat::Claude),
            ("permissionMode: somethingNew", AgentFormat::Claude),
            ("permissionMode: [plan]", AgentFormat::Claude),
            ("hooks:\n  Stop: []", AgentFormat::Claude),
            ("mcpServers:\n  x:\n    command: evil", AgentFormat::Claude),
            (
                "mcp-servers:\n  x:\n    command: evil",
                AgentFormat::Copilot,
            ),
            ("mcp_servers:\n  x:\n    command: evil", AgentFormat::Gemini),
            ("\"h\\u006foks\": {Stop: x}", AgentFormat::Copilot),
            ("? hooks\n: {Stop: x}", AgentFormat::Opencode),
            ("Hooks: {Stop: x}", AgentFormat::Native),
            ("mcp: {x: {command: evil}}", AgentFormat::Claude),
            ("permission: allow", AgentFormat::Opencode),
            ("permission:\n  bash: allow", AgentFormat::Opencode),
            (
                "permission:\n  bash:\n    'rm *': allow",
                AgentFormat::Opencode,
            ),
            ("sandbox_mode = 'danger-full-access'", AgentFormat::Codex),
            ("sandbox_mode = 'workspace-write'", AgentFormat::Codex),
            ("approval_policy = 'never'", AgentFormat::Codex),
            ("notify = ['evil']", AgentFormat::Codex),
            ("mcp_servers.x.command = 'evil'", AgentFormat::Codex),
        ] {
            assert_eq!(shrunk(lines, format), ReducedKey::Gone, "{lines}");
        }
    }

    #[test]
    fn what_restricts_or_is_of_no_weight_stays() {
        for (lines, format) in [
            ("permissionMode: plan", AgentFormat::Claude),
            ("disallowedTools: Bash", AgentFormat::Claude),
            ("color: blue", AgentFormat::Claude),
            (
                "permission:\n  bash: deny\n  edit: ask",
                AgentFormat::Opencode,
            ),
            ("temperature: 0.1", AgentFormat::Opencode),
            ("sandbox_mode = 'read-only'", AgentFormat::Codex),
            ("approval_policy = 'untrusted'", AgentFormat::Codex),
            ("model_verbosity = 'low'", AgentFormat::Codex),
            ("target: vscode", AgentFormat::Copilot),
        ] {
            assert_eq!(shrunk(lines, format), ReducedKey::Harmless, "{lines}");
        }
    }

    #[test]
    fn of_a_permission_what_denies_and_asks_stays() {
        let lines =
            "permission:\n  '*': allow\n  edit: deny\n  bash:\n    'git *': allow\n    '*': ask";
        let ReducedKey::Partly(entry) = shrunk(lines, AgentFormat::Opencode) else {
            panic!("some of it stays");
        };
        let map = entry.value.as_map().unwrap();
        let keys: Vec<&str> = map.iter().map(|entry| &*entry.key).collect();
        assert_eq!(keys, ["edit", "bash"]);
        let bash = map[1].value.as_map().unwrap();
        assert_eq!((bash.len(), &*bash[0].key), (1, "*"));
    }
}
