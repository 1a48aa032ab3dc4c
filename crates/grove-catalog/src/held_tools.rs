//! The limits on an agent's tools from keys that Grove has no field for, where it is prompted or run as it is.
//!
//! The keys are those of an export, but no host is there to apply the rest of them: a key that is not wholly about
//! tools takes away every tool that changes something.

use std::collections::BTreeSet;

use grove_spec::agent::formats::restriction::{self, DeniedTools};
use grove_spec::agent::{AgentFile, AgentFormat};

use crate::export::{CHANGING, own_names};

/// Keys about things that no tool of Grove does: calling other agents, asking the web.
const ELSEWHERE: [&str; 4] = ["agents", "spawning", "web_search", "github"];

/// Removes from a list of tools those that the agent must not have, and returns all names of denied tools, Grove's and
/// the file's.
pub(crate) fn remove_denied(
    agent: &AgentFile,
    format: AgentFormat,
    tools: &mut Option<Vec<String>>,
) -> BTreeSet<String> {
    let mut denied = BTreeSet::new();
    for entry in &agent.unknown {
        // A list of tools that overrides the file's replaces it.
        if entry.key == "tools" && agent.tools.is_some() {
            continue;
        }
        let Some(found) = restriction::of_unattended(entry, format) else {
            continue;
        };
        let is_about_tools = match found.denied {
            DeniedTools::Tools(names) => {
                let has_names = !names.is_empty();
                denied.extend(names.iter().flat_map(|name| own_names(name, format)));
                denied.extend(names);
                has_names
            }
            DeniedTools::Others(names) => {
                match tools {
                    Some(tools) => tools.retain(|tool| names.contains(tool)),
                    None => *tools = Some(names),
                }
                true
            }
            DeniedTools::Changes => false,
        };
        if !is_about_tools && !ELSEWHERE.contains(&&*entry.key) {
            denied.extend(CHANGING.map(str::to_owned));
        }
    }
    if let Some(tools) = tools {
        tools.retain(|tool| {
            let mut names = own_names(tool, format).into_iter().chain([tool.clone()]);
            !names.any(|name| denied.contains(&name))
        });
    }
    denied
}

#[cfg(test)]
mod tests {
    use grove_spec::agent::formats::read;

    use super::*;

    /// The tools that are left of a list, or of the usual ones, and those that are denied.
    fn held(lines: &str, format: AgentFormat) -> (Option<Vec<String>>, Vec<String>) {
        let text = match format {
            AgentFormat::Codex => format!("name = 'a'\ndeveloper_instructions = 'x'\n{lines}\n"),
            _ => format!("---\nname: a\ndescription: d\n{lines}\n---\n"),
        };
        let parsed = read(text.as_bytes(), format).remove(0).parsed;
        assert!(parsed.is_valid(), "{text}: {:?}", parsed.diagnostics);
        let mut tools = parsed.agent.tools.clone();
        let denied = remove_denied(&parsed.agent, format, &mut tools);
        (tools, denied.into_iter().collect())
    }

    #[test]
    fn what_another_key_denies_is_taken_from_a_list_and_from_the_usual_tools() {
        use AgentFormat::{Claude, Codex, Copilot, Native, Opencode};
        let changing = ["bash", "edit", "write"].as_slice();
        for (lines, format, tools, denied) in [
            (
                "disallowedTools: Bash",
                Claude,
                None,
                ["Bash", "bash"].as_slice(),
            ),
            ("disallowed_tools: [bash]", Native, None, &["bash"]),
            ("DisallowedTools: [bash]", Native, None, &["bash"]),
            (
                "tools: read, bash\ndeny-tools: Bash",
                Native,
                Some(["read"].as_slice()),
                &[],
            ),
            (
                "tools: Read, Bash\npermissionMode: plan",
                Claude,
                Some(&["Read"]),
                changing,
            ),
            (
                "tools: Read, Write\ndisallowedTools: Write(x)",
                Claude,
                Some(&["Read"]),
                &["Write", "write"],
            ),
            ("sandbox_mode = 'read-only'", Codex, None, changing),
            ("readonly: true", Copilot, None, changing),
            ("network: off", Native, None, changing),
            ("permission: {bash: deny}", Opencode, None, &["bash"]),
            ("permission: {bash: ask}", Opencode, None, &["bash"]),
            (
                "permission: {bash: {'git *': allow, '*': deny}}",
                Claude,
                None,
                &["bash"],
            ),
            (
                "permission: {'*': ask, read: allow}",
                Opencode,
                Some(&["read"]),
                &[],
            ),
            (
                "allowed-tools: Read Grep",
                Claude,
                Some(&["Read", "Grep"]),
                &[],
            ),
            (
                "tools: [read, bash]\nallowedTools: [read, write]",
                Native,
                Some(&["read"]),
                &[],
            ),
            // Counter-cases: nothing is taken.
            ("tools: Read, Bash", Claude, Some(&["Read", "Bash"]), &[]),
            ("spawning: false", Native, None, &[]),
            ("permissionMode: acceptEdits", Claude, None, &[]),
            ("permission: {bash: allow}", Opencode, None, &[]),
            ("color: red", Claude, None, &[]),
        ] {
            let found = held(lines, format);
            let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(
                found,
                (tools.map(words), words(denied)),
                "{format:?} {lines}"
            );
        }
    }
}
