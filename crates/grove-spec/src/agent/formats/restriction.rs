//! Keys of other hosts that keep an agent from something.
//!
//! One definition for whoever reads a file and for whoever writes one: what is not here may be left out of a file
//! without giving its agent more than it had.

use super::Format;
use crate::agent::split_items;
use crate::field_reader::switched_on;
use crate::skill::fields::parse_boolean;
use crate::skill::split_tools;
use crate::yaml::{Entry, Node, Value};

/// What a key keeps an agent from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// What the agent does not have.
    pub denied: Denied,
    /// Whether that is all that the key says: not where it asks first, or speaks of some uses of a tool alone.
    pub is_whole: bool,
    /// Whether the value is one that such a key takes. If not, this is the strictest that it may have meant.
    pub is_readable: bool,
}

/// What an agent does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// These tools, by the names of the host whose file it is.
    Tools(Vec<String>),
    /// Every tool but these.
    Others(Vec<String>),
    /// Whatever changes something, commands that do among it.
    Changes,
}

impl Restriction {
    const fn of_changes() -> Self {
        Self {
            denied: Denied::Changes,
            is_whole: true,
            is_readable: true,
        }
    }

    /// One that nobody can read.
    const fn of_everything() -> Self {
        Self {
            denied: Denied::Others(Vec::new()),
            is_whole: false,
            is_readable: false,
        }
    }

    /// One that is not about tools as such.
    const fn of_its_own() -> Self {
        Self {
            denied: Denied::Tools(Vec::new()),
            is_whole: false,
            is_readable: true,
        }
    }
}

/// Lists of tools that an agent must not have, as people write them wherever they are read.
const DENYING: &str = "disallowedTools disallowed-tools disallowed_tools denyTools deny-tools deny_tools \
    deniedTools denied-tools excludeTools exclude-tools excludedTools blockedTools \
    blocked-tools disabledTools disabled-tools";
/// Keys that take something from an agent, whoever knows them.
const RESTRICTING: [&str; 7] = [
    "allowedTools",
    "allowed-tools",
    "allowed_tools",
    "permission",
    "permissions",
    "sandbox",
    "sandbox_mode",
];
/// Keys that take something from an agent when they have this value.
const SWITCHES: [(&str, bool); 5] = [
    ("spawning", false),
    ("readonly", true),
    ("readOnly", true),
    ("read-only", true),
    ("network", false),
];
/// A key of Claude Code that gives more with some values and takes something with others.
const MODE: &str = "permissionMode";

/// The keys that are known to restrict whoever's file they are in, each once.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    let switches = SWITCHES.iter().map(|(key, _)| *key);
    let lists = DENYING.split_whitespace().chain(RESTRICTING);
    lists.chain(switches).chain([MODE])
}

/// What a key that Grove does not know keeps an agent from, if it does.
pub fn of(entry: &Entry, format: Format) -> Option<Restriction> {
    let value = &entry.value;
    if value.is_null() || is_empty(value) {
        return None;
    }
    let word = value.as_text();
    let unless = |words: &[&str]| match word {
        Some(word) if words.contains(&word) => None,
        Some(_) => Some(Restriction::of_its_own()),
        None => Some(Restriction::of_everything()),
    };
    match (format.of_files(), &*entry.key) {
        (Format::Codex, "sandbox_mode") => match word {
            Some("danger-full-access") => None,
            Some("workspace-write") => Some(Restriction::of_its_own()),
            // Whatever a later version calls it, nobody has less than this.
            Some(_) => Some(Restriction::of_changes()),
            None => Some(Restriction::of_everything()),
        },
        (Format::Codex, "approval_policy") => unless(&["never"]),
        (Format::Codex, "web_search") => unless(&["live", "enabled"]),
        (Format::Codex, "features" | "tools") => {
            let Some(switches) = value.as_map() else {
                return Some(Restriction::of_everything());
            };
            let is_off = |switch: &Entry| switch.value.as_text() == Some("false");
            let is_off = switches.iter().any(is_off);
            is_off.then(Restriction::of_its_own)
        }
        (Format::Opencode, "tools" | "permission") => switches(entry),
        (Format::Claude | Format::Copilot, "hooks")
        | (Format::Claude, "isolation")
        | (Format::Copilot, "github")
        | (Format::Codex, "sandbox_workspace_write" | "default_permissions") => {
            Some(Restriction::of_its_own())
        }
        (Format::Copilot, "agents") => match tool_items(value, format) {
            Some(items) if items == ["*"] => None,
            Some(_) => Some(Restriction::of_its_own()),
            None => Some(Restriction::of_everything()),
        },
        (_, MODE) if word == Some("plan") => Some(Restriction::of_changes()),
        (_, MODE) => unless(&["default", "acceptEdits", "bypassPermissions", "auto"]),
        (_, key) if DENYING.split_whitespace().any(|word| word == key) => {
            match tool_items(value, format) {
                Some(items) => denied_tools(&items),
                None => Some(Restriction::of_everything()),
            }
        }
        (_, key) if RESTRICTING.contains(&key) => Some(Restriction::of_its_own()),
        (_, key) => {
            let switch = SWITCHES.iter().find(|(word, _)| *word == key);
            let (_, restricting) = switch?;
            match word.and_then(parse_boolean) {
                Some(is_on) if is_on == *restricting => Some(Restriction::of_its_own()),
                Some(_) => None,
                None => Some(Restriction::of_everything()),
            }
        }
    }
}

/// Names of tools as a host's file has them: in a list, in a text, or switched on in a mapping; nothing where they
/// cannot be read.
pub(super) fn tool_items(value: &Node, format: Format) -> Option<Vec<String>> {
    let split = |text: &str| match format {
        // Blanks are between tools there as commas are, in the items of a list too.
        Format::Claude => split_tools(text),
        _ => split_items(text),
    };
    match &value.value {
        Value::List(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Node::as_text).collect();
            let texts = texts?.into_iter();
            Some(match format {
                Format::Claude => texts.flat_map(split).collect(),
                _ => texts.map(str::to_owned).collect(),
            })
        }
        Value::Map(switches) => switched_on(switches),
        Value::Text(_) => Some(split(value.as_text().unwrap_or_default())),
    }
}

/// The name of a tool without what is said about its use: `Bash` of `Bash(git log:*)`.
pub fn tool_name(tool: &str) -> &str {
    tool.split_once('(').map_or(tool, |(name, _)| name).trim()
}

/// Whether a tool that is denied, or the server that is, is this one.
pub(super) fn denies(denied: &str, tool: &str) -> bool {
    let name = tool_name(tool);
    let of_server = |rest: &str| rest.is_empty() || rest.starts_with("__");
    denied == tool
        || denied == name
        || (denied.starts_with("mcp__") && name.strip_prefix(denied).is_some_and(of_server))
}

fn is_empty(value: &Node) -> bool {
    match &value.value {
        Value::Map(entries) => entries.is_empty(),
        // Of other keys a list without items is the strictest that there is.
        Value::List(_) | Value::Text(_) => false,
    }
}

fn denied_tools(items: &[String]) -> Option<Restriction> {
    let names = items.iter().map(|item| tool_name(item).to_owned());
    let restriction = Restriction {
        denied: Denied::Tools(names.collect()),
        is_whole: items.iter().all(|item| tool_name(item) == item),
        is_readable: true,
    };
    (!items.is_empty()).then_some(restriction)
}

/// What a switch says about its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Allow,
    Ask,
    /// Not all of it may be denied.
    Deny {
        is_whole: bool,
    },
}

/// `OpenCode`'s tools that are one to it: whoever may edit may do all of these.
const EDITING: [&str; 4] = ["edit", "write", "patch", "multiedit"];

/// Switches by name, of which the last that matches counts; `*` matches every tool.
fn switches(entry: &Entry) -> Option<Restriction> {
    let mut rest = Action::Allow;
    let mut said: Vec<(&str, Action)> = Vec::new();
    match &entry.value.value {
        Value::Map(switches) => {
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
    let is_denied = |action: Action| matches!(action, Action::Deny { .. });
    if rest == Action::Allow && said.iter().all(|(_, action)| *action == Action::Allow) {
        return None;
    }
    let all = said.iter().map(|(_, action)| *action).chain([rest]);
    let is_whole = all
        .into_iter()
        .all(|action| matches!(action, Action::Allow | Action::Deny { is_whole: true }));
    let editing = said.iter().rfind(|(name, _)| EDITING.contains(name));
    let editing = editing.map(|(_, action)| *action);
    let named = |wanted: &dyn Fn(Action) -> bool, with_editing: bool| {
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
        // In a permission the one word is for all that edit.
        let with_editing = entry.key == "permission" && editing.is_some_and(|it| !is_denied(it));
        Denied::Others(named(&|action| !is_denied(action), with_editing))
    } else {
        Denied::Tools(named(&is_denied, editing.is_some_and(is_denied)))
    };
    Some(Restriction {
        denied,
        is_whole,
        is_readable: true,
    })
}

/// Whether a value is an action, or actions by name or pattern.
// Values are nested no deeper than the parser allows.
fn is_action(value: &Node) -> bool {
    match &value.value {
        Value::Map(actions) => actions.iter().all(|action| is_action(&action.value)),
        _ => matches!(
            value.as_text(),
            Some("true" | "allow" | "ask" | "false" | "deny")
        ),
    }
}

fn action_of(value: &Node) -> Action {
    match &value.value {
        Value::Map(patterns) => {
            let actions = patterns.iter().map(|pattern| action_of(&pattern.value));
            actions.fold(Action::Allow, |one, other| match (one, other) {
                (Action::Deny { .. }, _) | (_, Action::Deny { .. }) => {
                    Action::Deny { is_whole: false }
                }
                (Action::Ask, _) | (_, Action::Ask) => Action::Ask,
                _ => Action::Allow,
            })
        }
        _ => match value.as_text() {
            Some("true" | "allow") => Action::Allow,
            Some("ask") => Action::Ask,
            Some("false" | "deny") => Action::Deny { is_whole: true },
            _ => Action::Deny { is_whole: false },
        },
    }
}

#[cfg(test)]
mod tests;
