//! Tools, translated to the names of another host.

use std::collections::BTreeSet;

use grove_spec::agent::AgentFormat;
use grove_spec::agent::formats::restriction::tool_name;

use crate::hosts::{AgentRules, ExportRules};

/// The prefix of entries for tools of MCP servers in Grove's own words.
const MCP: &str = "mcp:";

/// The tools of an agent without a list, in Grove's own format.
const USUAL: [&str; 7] = ["read", "grep", "find", "ls", "bash", "edit", "write"];

/// Tools by another host's names, and those for which it has none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HostTools {
    pub(super) names: Vec<String>,
    pub(super) unmapped: Vec<String>,
}

impl HostTools {
    fn add(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

pub(super) struct ToolNames {
    format: AgentFormat,
    /// None for Grove's own, in which every name stands for itself.
    rules: Option<ExportRules>,
}

/// Returns Grove's own names for a tool of a format, without any limits on its use.
pub(crate) fn own_names(tool: &str, format: AgentFormat) -> Vec<String> {
    ToolNames::of(format).own(tool).names
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GroveTool {
    /// Several if one tool of the host does the work of several here, and empty if Grove has no such tool.
    pub(super) names: Vec<String>,
    /// Set if all uses of it are meant.
    pub(super) is_whole: bool,
}

impl ToolNames {
    pub(super) fn of(format: AgentFormat) -> Self {
        let host = match format {
            AgentFormat::Native => None,
            AgentFormat::Claude => Some("claude"),
            AgentFormat::Copilot => Some("copilot"),
            AgentFormat::Gemini => Some("gemini"),
            AgentFormat::Opencode | AgentFormat::OpencodeJson => Some("opencode"),
            AgentFormat::Codex | AgentFormat::CodexConfig => Some("codex"),
        };
        let rules = host.and_then(AgentRules::by_name);
        Self {
            format: format.of_files(),
            rules: rules.map(|rules| rules.export),
        }
    }

    pub(super) fn own(&self, tool: &str) -> GroveTool {
        let Some(rules) = &self.rules else {
            return GroveTool {
                names: vec![tool.to_owned()],
                is_whole: true,
            };
        };
        let name = tool_name(tool);
        let names = known(name, rules).unwrap_or_else(|| match name.split_once('/') {
            // Unknown tools of a host's own set are still not tools of a server.
            Some((set, rest)) if is_set(set, rules) => match rest {
                "*" => known(set, rules).unwrap_or_default(),
                _ => Vec::new(),
            },
            _ => mcp_server(name, rules).into_iter().collect(),
        });
        GroveTool {
            names,
            is_whole: name == tool,
        }
    }

    /// Translates a list of tools, without what the agent must not have.
    pub(super) fn translate(
        &self,
        tools: &[String],
        to: &ExportRules,
        denied: &BTreeSet<String>,
    ) -> HostTools {
        let taken = taken(denied, to);
        let mut translated = HostTools::default();
        for tool in tools {
            let own = self.own(tool);
            if own.names.iter().any(|name| denied.contains(name)) {
                continue;
            }
            if self.format == to.format {
                translated.add(tool.clone());
                continue;
            }
            let theirs: Vec<String> = own
                .names
                .iter()
                .filter(|_| own.is_whole)
                .filter_map(|tool| in_host_names(tool, to))
                .filter(|name| !taken.contains(name))
                .collect();
            if theirs.is_empty() || theirs.len() < own.names.len() {
                translated.unmapped.push(tool.clone());
            }
            for name in theirs {
                translated.add(name);
            }
        }
        translated
    }
}

/// Returns all of a host's names for tools that an agent must not have.
pub(super) fn denied(denied: &BTreeSet<String>, to: &ExportRules) -> HostTools {
    let mut tools = HostTools::default();
    for tool in denied {
        match in_host_names(tool, to) {
            Some(name) => tools.add(name),
            None => tools.unmapped.push(tool.clone()),
        }
    }
    // An alias names the same tool. If a tool does several things, one denied thing is enough to deny it.
    for (name, own) in &to.aliases {
        if own.iter().any(|own| denied.contains(own)) {
            tools.add(name.clone());
        }
    }
    tools
}

/// Returns a host's tools without those that an agent must not have.
pub(super) fn others(denied: &BTreeSet<String>, to: &ExportRules) -> Vec<String> {
    if to.format == AgentFormat::Native {
        let left = USUAL.iter().filter(|tool| !denied.contains(**tool));
        return left.map(|tool| (*tool).to_owned()).collect();
    }
    let taken = taken(denied, to);
    let mut left = HostTools::default();
    for name in to.tools.values().filter(|name| !taken.contains(name)) {
        left.add(name.clone());
    }
    left.names
}

/// Returns the host's tools that do something denied, perhaps among other things.
fn taken<'a>(denied: &BTreeSet<String>, to: &'a ExportRules) -> BTreeSet<&'a String> {
    denied
        .iter()
        .filter_map(|tool| to.tools.get(tool))
        .collect()
}

pub(super) fn reading(to: &ExportRules) -> String {
    let name = to.tools.get("read");
    name.map_or_else(|| "read".to_owned(), Clone::clone)
}

/// Returns Grove's names for a host's own tool; none if no tool of that name is known.
fn known(name: &str, rules: &ExportRules) -> Option<Vec<String>> {
    let is = |theirs: &str| theirs == name || (rules.any_case && theirs.eq_ignore_ascii_case(name));
    let own = rules.tools.iter().filter(|(_, theirs)| is(theirs));
    let own: Vec<String> = own.map(|(own, _)| own.clone()).collect();
    if !own.is_empty() {
        return Some(own);
    }
    let mut aliases = rules.aliases.iter();
    let (_, own) = aliases.find(|(theirs, _)| is(theirs))?;
    Some(own.clone())
}

fn is_set(name: &str, rules: &ExportRules) -> bool {
    rules.sets.iter().any(|set| set.eq_ignore_ascii_case(name))
}

fn in_host_names(tool: &str, to: &ExportRules) -> Option<String> {
    if to.format == AgentFormat::Native {
        return Some(tool.to_owned());
    }
    if let Some(server) = tool.strip_prefix(MCP) {
        let [all, one] = to.mcp.as_ref()?;
        return Some(match server.split_once('/') {
            Some((server, tool)) => one.replace("SERVER", server).replace("TOOL", tool),
            None => all.replace("SERVER", server),
        });
    }
    to.tools.get(tool).cloned()
}

/// Returns Grove's own name for tools of an MCP server from the host's name.
fn mcp_server(tool: &str, rules: &ExportRules) -> Option<String> {
    let [all, one] = rules.mcp.as_ref()?;
    let (before, after) = one.split_once("SERVER")?;
    let between = after.strip_suffix("TOOL")?;
    let end = all.split_once("SERVER")?.1;
    let named = tool.strip_prefix(before)?;
    // A name with a dot or several slashes is that of an extension or a catalogue, and not of a server.
    let server = |server: &str| !server.is_empty() && !server.contains(['.', '/']);
    // The name for all tools is tried first: for one host it looks like a tool called `*`.
    if !end.is_empty()
        && let Some(named) = named.strip_suffix(end)
    {
        return server(named).then(|| format!("{MCP}{named}"));
    }
    match named.split_once(between) {
        Some((named, tool)) => {
            (server(named) && !tool.contains('/')).then(|| format!("{MCP}{named}/{tool}"))
        }
        None if end.is_empty() && !before.is_empty() => Some(format!("{MCP}{named}")),
        None => None,
    }
}

#[cfg(test)]
mod tests;
