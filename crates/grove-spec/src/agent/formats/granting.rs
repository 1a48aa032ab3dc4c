//! Keys of other hosts that let an agent or a skill do more than its caller would allow by itself.
//!
//! The counterpart of [`super::restriction`], and the only definition too. Files that a person wrote for a host in a
//! folder of their own may have these keys; files that came with a package may not, because a copy in the host's own
//! folders would be taken for a file that its owner wrote.

use super::Format;
use crate::skill::fields::bare;
use crate::yaml::{Entry, Node, Value};

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
pub enum Shrunk {
    /// The key grants nothing.
    Harmless,
    /// The part of the key that grants nothing.
    Partly(Entry),
    /// The whole key grants something.
    Gone,
}

/// Removes from a key that Grove does not know the part that grants something.
pub fn without(entry: &Entry, format: Format) -> Shrunk {
    let word = entry.value.as_text();
    let only = |words: &[&str]| {
        let is_one = word.is_some_and(|word| words.contains(&word));
        if is_one {
            Shrunk::Harmless
        } else {
            Shrunk::Gone
        }
    };
    match (format.of_files(), &*entry.key) {
        (Format::Claude, "permissionMode") => only(&["plan", "dontAsk"]),
        (Format::Codex, "sandbox_mode") => only(&["read-only"]),
        (Format::Codex, "approval_policy") => only(&["untrusted"]),
        (Format::Codex, "web_search") => only(&["disabled", "cached"]),
        (Format::Codex, key) if CODEX_HARMLESS.contains(&key) => Shrunk::Harmless,
        (Format::Codex, _) => Shrunk::Gone,
        (Format::Opencode, "permission") => match unpermitted(&entry.value) {
            Some(value) if value == entry.value => Shrunk::Harmless,
            Some(value) => Shrunk::Partly(Entry {
                value,
                ..entry.clone()
            }),
            None => Shrunk::Gone,
        },
        (_, key) if grants(key) => Shrunk::Gone,
        _ => Shrunk::Harmless,
    }
}

/// A permission without the parts that allow something. The rest keeps its order, so that every rule allows less.
fn unpermitted(value: &Node) -> Option<Node> {
    match &value.value {
        Value::Map(entries) => {
            let kept = entries.iter().filter_map(|entry| {
                Some(Entry {
                    value: unpermitted(&entry.value)?,
                    ..entry.clone()
                })
            });
            let kept: Vec<Entry> = kept.collect();
            (!kept.is_empty()).then(|| Node::new(Value::Map(kept), value.position))
        }
        _ => matches!(value.as_text(), Some("deny" | "ask")).then(|| value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::formats::read;

    /// The rest of the only key of a file that Grove does not know.
    fn shrunk(lines: &str, format: Format) -> Shrunk {
        let text = match format {
            Format::Codex => format!("name = 'a'\ndeveloper_instructions = 'x'\n{lines}\n"),
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
            ("permissionMode: bypassPermissions", Format::Claude),
            ("permissionMode: acceptEdits", Format::Claude),
            ("permissionMode: somethingNew", Format::Claude),
            ("permissionMode: [plan]", Format::Claude),
            ("hooks:\n  Stop: []", Format::Claude),
            ("mcpServers:\n  x:\n    command: evil", Format::Claude),
            ("mcp-servers:\n  x:\n    command: evil", Format::Copilot),
            ("mcp_servers:\n  x:\n    command: evil", Format::Gemini),
            ("\"h\\u006foks\": {Stop: x}", Format::Copilot),
            ("? hooks\n: {Stop: x}", Format::Opencode),
            ("Hooks: {Stop: x}", Format::Native),
            ("mcp: {x: {command: evil}}", Format::Claude),
            ("permission: allow", Format::Opencode),
            ("permission:\n  bash: allow", Format::Opencode),
            ("permission:\n  bash:\n    'rm *': allow", Format::Opencode),
            ("sandbox_mode = 'danger-full-access'", Format::Codex),
            ("sandbox_mode = 'workspace-write'", Format::Codex),
            ("approval_policy = 'never'", Format::Codex),
            ("notify = ['evil']", Format::Codex),
            ("mcp_servers.x.command = 'evil'", Format::Codex),
        ] {
            assert_eq!(shrunk(lines, format), Shrunk::Gone, "{lines}");
        }
    }

    #[test]
    fn what_restricts_or_is_of_no_weight_stays() {
        for (lines, format) in [
            ("permissionMode: plan", Format::Claude),
            ("disallowedTools: Bash", Format::Claude),
            ("color: blue", Format::Claude),
            ("permission:\n  bash: deny\n  edit: ask", Format::Opencode),
            ("temperature: 0.1", Format::Opencode),
            ("sandbox_mode = 'read-only'", Format::Codex),
            ("approval_policy = 'untrusted'", Format::Codex),
            ("model_verbosity = 'low'", Format::Codex),
            ("target: vscode", Format::Copilot),
        ] {
            assert_eq!(shrunk(lines, format), Shrunk::Harmless, "{lines}");
        }
    }

    #[test]
    fn of_a_permission_what_denies_and_asks_stays() {
        let lines =
            "permission:\n  '*': allow\n  edit: deny\n  bash:\n    'git *': allow\n    '*': ask";
        let Shrunk::Partly(entry) = shrunk(lines, Format::Opencode) else {
            panic!("some of it stays");
        };
        let map = entry.value.as_map().unwrap();
        let keys: Vec<&str> = map.iter().map(|entry| &*entry.key).collect();
        assert_eq!(keys, ["edit", "bash"]);
        let bash = map[1].value.as_map().unwrap();
        assert_eq!((bash.len(), &*bash[0].key), (1, "*"));
    }
}
