//! Tools by the names of another host.

use grove_spec::agent::Format;

use crate::hosts::{AgentRules, ExportRules};

/// How entries for tools of MCP servers begin in Grove's own words.
const MCP: &str = "mcp:";

/// Tools in another host's names, and those that it has none for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tools {
    pub(super) names: Vec<String>,
    pub(super) unmapped: Vec<String>,
}

/// Translates a list of tools from the format it was written in.
pub(super) fn translate(tools: &[String], from: Format, to: &ExportRules) -> Tools {
    let mut translated = Tools::default();
    for tool in tools {
        if from == to.format {
            translated.names.push(tool.clone());
            continue;
        }
        let own = in_own_names(tool, from);
        let theirs: Vec<String> = own
            .iter()
            .filter_map(|tool| in_host_names(tool, to))
            .collect();
        if theirs.is_empty() || theirs.len() < own.len() {
            translated.unmapped.push(tool.clone());
        }
        for name in theirs {
            if !translated.names.contains(&name) {
                translated.names.push(name);
            }
        }
    }
    translated
}

/// A host's tool that reads files.
pub(super) fn reading(to: &ExportRules) -> String {
    let name = to.tools.get("read");
    name.map_or_else(|| "read".to_owned(), Clone::clone)
}

/// A tool in Grove's own names: several where a host has one for what are several here.
pub(super) fn in_own_names(tool: &str, from: Format) -> Vec<String> {
    let Some(rules) = rules_of(from) else {
        return vec![tool.to_owned()];
    };
    if let Some(server) = mcp_server(tool, &rules) {
        return vec![server];
    }
    let own = rules.tools.iter().filter(|(_, theirs)| *theirs == tool);
    own.map(|(own, _)| own.clone()).collect()
}

fn in_host_names(tool: &str, to: &ExportRules) -> Option<String> {
    if to.format == Format::Native {
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

/// A host's name for tools of an MCP server in Grove's own words.
fn mcp_server(tool: &str, rules: &ExportRules) -> Option<String> {
    let [all, one] = rules.mcp.as_ref()?;
    let (before, after) = one.split_once("SERVER")?;
    let between = after.strip_suffix("TOOL")?;
    let end = all.split_once("SERVER")?.1;
    let named = tool.strip_prefix(before)?;
    // All tools first: for one host that is a tool called `*`.
    if !end.is_empty()
        && let Some(server) = named.strip_suffix(end)
    {
        return Some(format!("{MCP}{server}"));
    }
    match named.split_once(between) {
        Some((server, tool)) => Some(format!("{MCP}{server}/{tool}")),
        None if end.is_empty() && !before.is_empty() => Some(format!("{MCP}{named}")),
        None => None,
    }
}

/// The rules of the host whose format it is; none for Grove's own.
fn rules_of(format: Format) -> Option<ExportRules> {
    let host = match format {
        Format::Native => return None,
        Format::Claude => "claude",
        Format::Copilot => "copilot",
        Format::Gemini => "gemini",
        Format::Opencode | Format::OpencodeJson => "opencode",
        Format::Codex | Format::CodexConfig => "codex",
    };
    AgentRules::by_name(host).map(|rules| rules.export)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_the_names_of_the_host() {
        let of = |host: &str| AgentRules::by_name(host).unwrap().export;
        for (tools, from, host, names, unmapped) in [
            (
                "read grep find bash",
                Format::Native,
                "claude",
                "Read Grep Glob Bash",
                "",
            ),
            (
                "read ls ./x.ts",
                Format::Native,
                "claude",
                "Read",
                "ls ./x.ts",
            ),
            (
                "mcp:docs mcp:docs/find",
                Format::Native,
                "claude",
                "mcp__docs mcp__docs__find",
                "",
            ),
            (
                "mcp:docs mcp:docs/find",
                Format::Native,
                "copilot",
                "docs/* docs/find",
                "",
            ),
            ("mcp:docs", Format::Native, "gemini", "", "mcp:docs"),
            ("grep find ls", Format::Native, "copilot", "search", ""),
            (
                "Read Edit mcp__a__b mcp__c",
                Format::Claude,
                "pi",
                "read edit mcp:a/b mcp:c",
                "",
            ),
            (
                "Bash(git:*) Read",
                Format::Claude,
                "claude",
                "Bash(git:*) Read",
                "",
            ),
            (
                "Bash(git:*) Read",
                Format::Claude,
                "pi",
                "read",
                "Bash(git:*)",
            ),
            (
                "edit docs/* docs/find",
                Format::Copilot,
                "pi",
                "edit write mcp:docs mcp:docs/find",
                "",
            ),
            ("search", Format::Copilot, "claude", "Glob Grep", "search"),
            ("read_file", Format::Gemini, "opencode", "read", ""),
        ] {
            let list = |text: &str| -> Vec<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            assert_eq!(
                translate(&list(tools), from, &of(host)),
                Tools {
                    names: list(names),
                    unmapped: list(unmapped)
                },
                "{tools} for {host}"
            );
        }
    }
}
