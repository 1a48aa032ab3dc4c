//! Keys of other hosts that restrict an agent.
//!
//! The only definition, for reading files and for writing them: a key that is not here may be left out of a file
//! without giving its agent more than it had.

use std::borrow::Cow;

use super::AgentFormat;
use crate::agent::split_items;
use crate::field_reader::switched_on;
use crate::skill::fields::{bare, parse_boolean};
use crate::skill::split_tools;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// The restriction that a key puts on an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// The tools and powers that the agent does not have.
    pub denied: DeniedTools,
    /// True if the key says no more than that; false if the agent is to ask first, or if only some uses of a tool are denied.
    pub is_whole: bool,
    /// True if the value is one that such a key takes. If not, this is the strictest restriction that it may mean.
    pub is_readable: bool,
}

/// The tools and powers that an agent does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeniedTools {
    /// These tools, by the names that the host of the file uses.
    Tools(Vec<String>),
    /// Every tool but these.
    Others(Vec<String>),
    /// Every tool that changes something, commands that do so included.
    Changes,
}

impl Restriction {
    const fn of_changes() -> Self {
        Self {
            denied: DeniedTools::Changes,
            is_whole: true,
            is_readable: true,
        }
    }

    /// A restriction whose value cannot be read.
    const fn of_everything() -> Self {
        Self {
            denied: DeniedTools::Others(Vec::new()),
            is_whole: false,
            is_readable: false,
        }
    }

    /// A restriction that is not about tools as such.
    const fn unrelated_to_tools() -> Self {
        Self {
            denied: DeniedTools::Tools(Vec::new()),
            is_whole: false,
            is_readable: true,
        }
    }
}

/// The usual keys of other hosts that restrict an agent's tools.
pub(crate) const USUAL: [&str; 3] = ["disallowedTools", "allowedTools", "permissionMode"];

/// Keys for lists of tools that an agent must not have, as people write them in any file, in any case.
const DENYING: &str =
    "disallowedtools denytools deniedtools excludetools excludedtools blockedtools disabledtools";
/// The key of another host for a list of tools like `tools`, in any case.
const ALLOWING: &str = "allowedtools";
/// Keys that restrict an agent in files of every format.
const RESTRICTING: [&str; 4] = ["permission", "permissions", "sandbox", "sandbox_mode"];
/// Keys that restrict an agent when they have this value.
const SWITCHES: [(&str, bool); 3] = [("spawning", false), (READ_ONLY, true), ("network", false)];
/// The switch that people also write in other letters.
const READ_ONLY: &str = "readonly";
/// A key of Claude Code that grants more with some values and restricts with others, in any case.
const MODE: &str = "permissionmode";

/// Returns true if a key is known to restrict in files of every format.
pub(crate) fn is_known(key: &str) -> bool {
    let key = canonical_key(key);
    let is_switch = SWITCHES.iter().any(|(word, _)| *word == key);
    is_switch || RESTRICTING.contains(&&*key) || key == MODE || is_list_of_tools(&key)
}

/// The one spelling of a key that people write in several ways; any other key as it is.
fn canonical_key(key: &str) -> Cow<'_, str> {
    let written = bare(key);
    if written == MODE || written == READ_ONLY || is_list_of_tools(&written) {
        return written.into();
    }
    key.into()
}

fn is_list_of_tools(written: &str) -> bool {
    written == ALLOWING || is_denying(written)
}

fn is_denying(written: &str) -> bool {
    DENYING.split_whitespace().any(|word| word == written)
}

/// The restriction of a key for a run in which no person can be asked: uses that need a question are denied.
pub fn of_unattended(entry: &YamlEntry, format: AgentFormat) -> Option<Restriction> {
    of(entry, format)?;
    match &*entry.key {
        "permission" | "permissions" | "tools" if format.of_files() != AgentFormat::Codex => {
            switches(entry, &[ToolPermission::Allow])
        }
        _ => of(entry, format),
    }
}

/// The restriction of a key that Grove does not know; nothing if it does not restrict.
pub fn of(entry: &YamlEntry, format: AgentFormat) -> Option<Restriction> {
    let value = &entry.value;
    if value.is_null() || is_empty(value) {
        return None;
    }
    let word = value.as_text();
    let unless = |words: &[&str]| match word {
        Some(word) if words.contains(&word) => None,
        Some(_) => Some(Restriction::unrelated_to_tools()),
        None => Some(Restriction::of_everything()),
    };
    match (format.of_files(), &*canonical_key(&entry.key)) {
        (AgentFormat::Codex, "sandbox_mode") => match word {
            Some("danger-full-access") => None,
            Some("workspace-write") => Some(Restriction::unrelated_to_tools()),
            // Later versions may have other words, but none can restrict more than this.
            Some(_) => Some(Restriction::of_changes()),
            None => Some(Restriction::of_everything()),
        },
        (AgentFormat::Codex, "approval_policy") => unless(&["never"]),
        (AgentFormat::Codex, "web_search") => unless(&["live", "enabled"]),
        (AgentFormat::Codex, "features" | "tools") => {
            let Some(switches) = value.as_map() else {
                return Some(Restriction::of_everything());
            };
            // Some of these switches have words or settings of their own as values; none has a list.
            if switches
                .iter()
                .any(|switch| matches!(switch.value.value, YamlValue::List(_)))
            {
                return Some(Restriction::of_everything());
            }
            let is_on = |switch: &YamlEntry| {
                let word = switch.value.as_text();
                word.is_none_or(|word| matches!(word, "true" | "live" | "enabled"))
            };
            (!switches.iter().all(is_on)).then(Restriction::unrelated_to_tools)
        }
        (AgentFormat::Opencode, "tools") => {
            switches(entry, &[ToolPermission::Allow, ToolPermission::Ask])
        }
        (AgentFormat::Claude | AgentFormat::Copilot, "hooks")
        | (AgentFormat::Claude, "isolation")
        | (AgentFormat::Copilot, "github")
        | (AgentFormat::Codex, "sandbox_workspace_write" | "default_permissions" | "permissions") => {
            Some(Restriction::unrelated_to_tools())
        }
        (AgentFormat::Copilot, "agents") => match tool_items(value, format) {
            Some(items) if items == ["*"] => None,
            Some(_) => Some(Restriction::unrelated_to_tools()),
            None => Some(Restriction::of_everything()),
        },
        (_, MODE) if word == Some("plan") => Some(Restriction::of_changes()),
        (_, MODE) => unless(&["default", "acceptEdits", "bypassPermissions", "auto"]),
        // Only one host has these keys, but its form is read in files of every format.
        (_, "permission" | "permissions") => {
            switches(entry, &[ToolPermission::Allow, ToolPermission::Ask])
        }
        (_, key) if is_denying(key) => match denied_items(value, format) {
            Some(items) => denied_tools(&items),
            None => Some(Restriction::of_everything()),
        },
        (_, ALLOWING) => match tool_items(value, format) {
            Some(items) if items == ["*"] => None,
            Some(items) => Some(Restriction {
                denied: DeniedTools::Others(items),
                is_whole: true,
                is_readable: true,
            }),
            None => Some(Restriction::of_everything()),
        },
        (_, key) if RESTRICTING.contains(&key) => Some(match value.value {
            YamlValue::List(_) => Restriction::of_everything(),
            YamlValue::Text(_) | YamlValue::Map(_) => Restriction::unrelated_to_tools(),
        }),
        (_, key) => {
            let switch = SWITCHES.iter().find(|(word, _)| *word == key);
            let (_, restricting) = switch?;
            match word.and_then(parse_boolean) {
                Some(is_on) if is_on == *restricting => Some(Restriction::unrelated_to_tools()),
                Some(_) => None,
                None => Some(Restriction::of_everything()),
            }
        }
    }
}

/// The names of tools in a host's value: a list, a text, or a mapping that switches them on; nothing if the value
/// cannot be read.
pub(super) fn tool_items(value: &YamlNode, format: AgentFormat) -> Option<Vec<String>> {
    let split = |text: &str| match format {
        // Claude Code separates tools by blanks as by commas, in the items of a list too.
        AgentFormat::Claude => split_tools(text),
        _ => split_items(text),
    };
    match &value.value {
        YamlValue::List(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(YamlNode::as_text).collect();
            let texts = texts?.into_iter();
            Some(match format {
                AgentFormat::Claude => texts.flat_map(split).collect(),
                _ => texts.map(str::to_owned).collect(),
            })
        }
        YamlValue::Map(switches) => switched_on(switches),
        YamlValue::Text(_) => Some(split(value.as_text().unwrap_or_default())),
    }
}

/// The names in a value that denies tools. In a mapping, switching a tool on and switching it off both deny it.
fn denied_items(value: &YamlNode, format: AgentFormat) -> Option<Vec<String>> {
    let mut items = tool_items(value, format)?;
    if let Some(switches) = value.as_map() {
        items = switches.iter().map(|it| it.key.trim().to_owned()).collect();
    }
    items.retain(|item| !item.is_empty());
    Some(items)
}

/// The name of a tool without the limits on its use: `Bash` of `Bash(git log:*)`.
pub fn tool_name(tool: &str) -> &str {
    tool.split_once('(').map_or(tool, |(name, _)| name).trim()
}

/// Removes the tools that a key denies from a list; returns true if the key denies nothing else.
pub(super) fn take(entry: &YamlEntry, format: AgentFormat, tools: &mut Vec<String>) -> bool {
    let items = is_denying(&bare(&entry.key)).then(|| denied_items(&entry.value, format));
    let Some(items) = items.flatten() else {
        return false;
    };
    tools.retain(|tool| {
        !items
            .iter()
            .any(|denied| denied == "*" || denies(denied, tool))
    });
    items.iter().all(|item| tool_name(item) == item)
}

fn denies(denied: &str, tool: &str) -> bool {
    let name = tool_name(tool);
    let of_server = |rest: &str| rest.is_empty() || rest.starts_with("__");
    denied.eq_ignore_ascii_case(tool)
        || denied.eq_ignore_ascii_case(name)
        || (denied.starts_with("mcp__") && name.strip_prefix(denied).is_some_and(of_server))
        || denies_server_tool(denied, tool)
}

/// Returns true if a denied name means an entry `mcp:SERVER` or `mcp:SERVER/TOOL`, also in the form `mcp__SERVER__TOOL`
/// of some hosts. An entry for a whole server is denied with any of its tools: no list could withhold one tool of it.
pub fn denies_server_tool(denied: &str, entry: &str) -> bool {
    let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let of = |name: &str| -> Option<(String, Option<String>)> {
        let (rest, mark) = match (name.strip_prefix("mcp:"), name.strip_prefix("mcp__")) {
            (Some(rest), _) => (rest, "/"),
            (None, rest) => (rest?, "__"),
        };
        Some(match rest.split_once(mark) {
            Some((server, tool)) => (plain(server), Some(tool).filter(|it| *it != "*").map(plain)),
            None => (plain(rest), None),
        })
    };
    let (Some((server, which)), Some((listed, tool))) = (of(denied), of(entry)) else {
        return false;
    };
    server.eq_ignore_ascii_case(&listed) && (which.is_none() || tool.is_none() || tool == which)
}

fn is_empty(value: &YamlNode) -> bool {
    match &value.value {
        YamlValue::Map(entries) => entries.is_empty(),
        // For other keys, a list without items is the strictest value.
        YamlValue::List(_) | YamlValue::Text(_) => false,
    }
}

fn denied_tools(items: &[String]) -> Option<Restriction> {
    if items.iter().any(|item| tool_name(item) == "*") {
        return Some(Restriction {
            denied: DeniedTools::Others(Vec::new()),
            is_whole: true,
            is_readable: true,
        });
    }
    let names = items.iter().map(|item| tool_name(item).to_owned());
    let restriction = Restriction {
        denied: DeniedTools::Tools(names.collect()),
        is_whole: items.iter().all(|item| tool_name(item) == item),
        is_readable: true,
    };
    (!items.is_empty()).then_some(restriction)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolPermission {
    Allow,
    Ask,
    /// A denial; `is_whole` is false if only some uses of the tool may be denied.
    Deny {
        is_whole: bool,
    },
}

/// The tools that `OpenCode` treats as one: permission to edit covers all of them.
const EDITING: [&str; 4] = ["edit", "write", "patch", "multiedit"];

/// Reads switches by name, of which the last that matches counts; `*` matches every tool. An action other than those in
/// `leave` denies its tool.
fn switches(entry: &YamlEntry, leave: &[ToolPermission]) -> Option<Restriction> {
    let mut rest = ToolPermission::Allow;
    let mut said: Vec<(&str, ToolPermission)> = Vec::new();
    match &entry.value.value {
        YamlValue::Map(switches) => {
            for switch in switches {
                let action = action_of(&switch.value);
                if switch.key == "*" {
                    said.clear();
                    rest = action;
                    continue;
                }
                said.retain(|(name, _)| *name != switch.key);
                said.push((&switch.key, action));
            }
        }
        _ => rest = action_of(&entry.value),
    }
    if !is_action(&entry.value) {
        return Some(Restriction::of_everything());
    }
    let is_denied = |action: ToolPermission| !leave.contains(&action);
    if rest == ToolPermission::Allow
        && said
            .iter()
            .all(|(_, action)| *action == ToolPermission::Allow)
    {
        return None;
    }
    let all = said.iter().map(|(_, action)| *action).chain([rest]);
    let is_whole = all.into_iter().all(|action| {
        matches!(
            action,
            ToolPermission::Allow | ToolPermission::Deny { is_whole: true }
        )
    });
    let editing = said.iter().rfind(|(name, _)| EDITING.contains(name));
    let editing = editing.map(|(_, action)| *action);
    let named = |wanted: &dyn Fn(ToolPermission) -> bool, with_editing: bool| {
        let names = said.iter().filter(|(_, action)| wanted(*action));
        let mut names: Vec<String> = names.map(|(name, _)| (*name).to_owned()).collect();
        for name in ["edit", "write"] {
            if with_editing && !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        names
    };
    let denied = if is_denied(rest) {
        // In a permission, one word stands for all editing tools.
        let with_editing = entry.key != "tools" && editing.is_some_and(|it| !is_denied(it));
        DeniedTools::Others(named(&|action| !is_denied(action), with_editing))
    } else {
        DeniedTools::Tools(named(&is_denied, editing.is_some_and(is_denied)))
    };
    Some(Restriction {
        denied,
        is_whole,
        is_readable: true,
    })
}

/// Returns true if a value is an action, or actions by name or pattern.
// The parser limits the nesting of values, so the recursion is bounded.
fn is_action(value: &YamlNode) -> bool {
    match &value.value {
        YamlValue::Map(actions) => actions.iter().all(|action| is_action(&action.value)),
        _ => matches!(
            value.as_text(),
            Some("true" | "allow" | "ask" | "false" | "deny")
        ),
    }
}

fn action_of(value: &YamlNode) -> ToolPermission {
    match &value.value {
        YamlValue::Map(patterns) => {
            let actions = patterns.iter().map(|pattern| action_of(&pattern.value));
            actions.fold(ToolPermission::Allow, |one, other| match (one, other) {
                (ToolPermission::Deny { .. }, _) | (_, ToolPermission::Deny { .. }) => {
                    ToolPermission::Deny { is_whole: false }
                }
                (ToolPermission::Ask, _) | (_, ToolPermission::Ask) => ToolPermission::Ask,
                _ => ToolPermission::Allow,
            })
        }
        _ => match value.as_text() {
            Some("true" | "allow") => ToolPermission::Allow,
            Some("ask") => ToolPermission::Ask,
            Some("false" | "deny") => ToolPermission::Deny { is_whole: true },
            _ => ToolPermission::Deny { is_whole: false },
        },
    }
}

#[cfg(test)]
mod tests;
