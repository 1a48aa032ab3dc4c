//! Keys of other hosts that keep an agent from something.
//!
//! One definition for whoever reads a file and for whoever writes one: what is not here may be left out of a file
//! without giving its agent more than it had.

use std::borrow::Cow;

use super::Format;
use crate::agent::split_items;
use crate::field_reader::switched_on;
use crate::skill::fields::{bare, parse_boolean};
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

/// The usual words of other hosts for what keeps tools from an agent.
pub(crate) const USUAL: [&str; 3] = ["disallowedTools", "allowedTools", "permissionMode"];

/// Lists of tools that an agent must not have, as people write them wherever they are read, in any letters.
const DENYING: &str =
    "disallowedtools denytools deniedtools excludetools excludedtools blockedtools disabledtools";
/// A list of tools like `tools`, by another host's word for it, in any letters.
const ALLOWING: &str = "allowedtools";
/// Keys that take something from an agent, whoever knows them.
const RESTRICTING: [&str; 4] = ["permission", "permissions", "sandbox", "sandbox_mode"];
/// Keys that take something from an agent when they have this value.
const SWITCHES: [(&str, bool); 3] = [("spawning", false), (READ_ONLY, true), ("network", false)];
/// The one of them that people write in other letters.
const READ_ONLY: &str = "readonly";
/// A key of Claude Code that gives more with some values and takes something with others, in any letters.
const MODE: &str = "permissionmode";

/// Whether a key is known to restrict whoever's file it is in.
pub(crate) fn is_known(key: &str) -> bool {
    let key = in_one_way(key);
    let is_switch = SWITCHES.iter().any(|(word, _)| *word == key);
    is_switch || RESTRICTING.contains(&&*key) || key == MODE || is_list_of_tools(&key)
}

/// A key in one way of writing, where it is one that people write in several.
fn in_one_way(key: &str) -> Cow<'_, str> {
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

/// The same where nobody can be asked first: what must be asked for is denied.
pub fn of_unasked(entry: &Entry, format: Format) -> Option<Restriction> {
    of(entry, format)?;
    match &*entry.key {
        "permission" | "permissions" | "tools" if format.of_files() != Format::Codex => {
            switches(entry, &[Action::Allow])
        }
        _ => of(entry, format),
    }
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
    match (format.of_files(), &*in_one_way(&entry.key)) {
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
            // Some have words or settings of their own; none has a list.
            if switches
                .iter()
                .any(|switch| matches!(switch.value.value, Value::List(_)))
            {
                return Some(Restriction::of_everything());
            }
            let is_on = |switch: &Entry| {
                let word = switch.value.as_text();
                word.is_none_or(|word| matches!(word, "true" | "live" | "enabled"))
            };
            (!switches.iter().all(is_on)).then(Restriction::of_its_own)
        }
        (Format::Opencode, "tools") => switches(entry, &[Action::Allow, Action::Ask]),
        (Format::Claude | Format::Copilot, "hooks")
        | (Format::Claude, "isolation")
        | (Format::Copilot, "github")
        | (Format::Codex, "sandbox_workspace_write" | "default_permissions" | "permissions") => {
            Some(Restriction::of_its_own())
        }
        (Format::Copilot, "agents") => match tool_items(value, format) {
            Some(items) if items == ["*"] => None,
            Some(_) => Some(Restriction::of_its_own()),
            None => Some(Restriction::of_everything()),
        },
        (_, MODE) if word == Some("plan") => Some(Restriction::of_changes()),
        (_, MODE) => unless(&["default", "acceptEdits", "bypassPermissions", "auto"]),
        // The form of the one host that has it is read in everybody's files.
        (_, "permission" | "permissions") => switches(entry, &[Action::Allow, Action::Ask]),
        (_, key) if is_denying(key) => match denied_items(value, format) {
            Some(items) => denied_tools(&items),
            None => Some(Restriction::of_everything()),
        },
        (_, ALLOWING) => match tool_items(value, format) {
            Some(items) if items == ["*"] => None,
            Some(items) => Some(Restriction {
                denied: Denied::Others(items),
                is_whole: true,
                is_readable: true,
            }),
            None => Some(Restriction::of_everything()),
        },
        (_, key) if RESTRICTING.contains(&key) => Some(match value.value {
            Value::List(_) => Restriction::of_everything(),
            Value::Text(_) | Value::Map(_) => Restriction::of_its_own(),
        }),
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

/// The same of a list of what is denied. Somebody who switches a tool off there, or on, means it in either case.
fn denied_items(value: &Node, format: Format) -> Option<Vec<String>> {
    let mut items = tool_items(value, format)?;
    if let Some(switches) = value.as_map() {
        items = switches.iter().map(|it| it.key.trim().to_owned()).collect();
    }
    items.retain(|item| !item.is_empty());
    Some(items)
}

/// The name of a tool without what is said about its use: `Bash` of `Bash(git log:*)`.
pub fn tool_name(tool: &str) -> &str {
    tool.split_once('(').map_or(tool, |(name, _)| name).trim()
}

/// Takes the tools that a key denies from a list; whether that is all that the key says.
pub(super) fn take(entry: &Entry, format: Format, tools: &mut Vec<String>) -> bool {
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

/// Whether a tool that is denied, or the server that is, is this one.
fn denies(denied: &str, tool: &str) -> bool {
    let name = tool_name(tool);
    let of_server = |rest: &str| rest.is_empty() || rest.starts_with("__");
    denied.eq_ignore_ascii_case(tool)
        || denied.eq_ignore_ascii_case(name)
        || (denied.starts_with("mcp__") && name.strip_prefix(denied).is_some_and(of_server))
        || denies_server_tool(denied, tool)
}

/// Whether a name that is denied means an entry `mcp:SERVER` or `mcp:SERVER/TOOL`, in the words of a list or of a host that
/// writes `mcp__SERVER__TOOL`. A server that is listed whole is denied with any tool of its: nobody could hold the rest.
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

fn is_empty(value: &Node) -> bool {
    match &value.value {
        Value::Map(entries) => entries.is_empty(),
        // Of other keys a list without items is the strictest that there is.
        Value::List(_) | Value::Text(_) => false,
    }
}

fn denied_tools(items: &[String]) -> Option<Restriction> {
    if items.iter().any(|item| tool_name(item) == "*") {
        return Some(Restriction {
            denied: Denied::Others(Vec::new()),
            is_whole: true,
            is_readable: true,
        });
    }
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

/// Switches by name, of which the last that matches counts; `*` matches every tool. An action that is not among those
/// that `leave` a tool is denied.
fn switches(entry: &Entry, leave: &[Action]) -> Option<Restriction> {
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
    let is_denied = |action: Action| !leave.contains(&action);
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
        let with_editing = entry.key != "tools" && editing.is_some_and(|it| !is_denied(it));
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
