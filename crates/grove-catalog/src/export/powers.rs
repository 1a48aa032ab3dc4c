//! The powers of an agent, exported to another host: never more than its own file grants.
//!
//! Three things in files set them: a list of tools, a list of tools that it must not have, and keys that keep it from
//! changing anything. A host that has no place for one of them gets a stricter form, with a warning.

use std::collections::BTreeSet;

use grove_spec::agent::formats::restriction::{self, DeniedTools};
use grove_spec::agent::{AgentFormat, print};
use grove_spec::yaml::YamlEntry;
use grove_spec::{Position, Severity};

use super::keys::KeyWriter;
use super::tools::{self, ToolNames};

/// Tools with which an agent changes something.
pub(crate) const CHANGING: [&str; 3] = ["write", "edit", "bash"];

struct AgentPowers {
    vocabulary: ToolNames,
    /// The tools that it has, by the names of its own file; none for the usual ones.
    allowed: Option<Vec<String>>,
    /// Tools that it must not have, by Grove's names.
    denied: BTreeSet<String>,
    /// The key that restricts it, with its position.
    key: Option<(String, Position)>,
    /// The position of the list of tools.
    tools: Option<Position>,
}

impl KeyWriter<'_, '_> {
    pub(super) fn powers(&mut self) {
        let powers = self.own_powers();
        let format = self.job.rules.export.format;
        if let Some(own) = &powers.allowed {
            if format == AgentFormat::Codex {
                return self.sandbox(&powers, own);
            }
            let names = self.translated(&powers, own);
            return self.entries.push(match format {
                AgentFormat::Claude => print::commas("tools", &names),
                AgentFormat::Opencode => {
                    let off = [("*".to_owned(), false)];
                    let on = names.into_iter().map(|name| (name, true));
                    let switches: Vec<(String, bool)> = off.into_iter().chain(on).collect();
                    print::switches("tools", &switches)
                }
                _ => print::list("tools", &names),
            });
        }
        if powers.denied.is_empty() {
            return;
        }
        match format {
            AgentFormat::Claude => {
                let names = self.denied_names(&powers);
                self.entries.push(print::commas("disallowedTools", &names));
            }
            AgentFormat::Opencode => {
                self.one_switch_for_editing(&powers);
                let names = self.denied_names(&powers).into_iter();
                let off: Vec<(String, bool)> = names.map(|name| (name, false)).collect();
                self.entries.push(print::switches("tools", &off));
            }
            AgentFormat::Codex => self.denied_by_sandbox(&powers),
            _ => {
                let left = self.remaining_tools(&powers);
                self.entries.push(print::list("tools", &left));
            }
        }
    }

    /// Returns the tools of an agent in Grove's own format; none for the usual ones.
    pub(super) fn native_tools(&mut self) -> Option<Vec<String>> {
        let powers = self.own_powers();
        match &powers.allowed {
            Some(own) => Some(self.translated(&powers, own)),
            None if powers.denied.is_empty() => None,
            None => Some(self.remaining_tools(&powers)),
        }
    }

    /// Returns the powers that the agent's own file gives. The host that it was written for gets the keys instead.
    fn own_powers(&mut self) -> AgentPowers {
        let mut powers = AgentPowers {
            vocabulary: ToolNames::of(self.source.format),
            allowed: self.source.agent.tools.clone(),
            denied: BTreeSet::new(),
            key: None,
            tools: self.source.place("tools"),
        };
        if self.is_theirs() {
            return powers;
        }
        let source = self.source;
        for entry in &source.agent.unknown {
            // A list of tools that overrides the file's replaces it.
            if entry.key == "tools" && source.agent.tools.is_some() {
                continue;
            }
            if let Some(found) = restriction::of(entry, source.format) {
                self.restrict(&mut powers, entry, found.denied, found.is_whole);
            }
        }
        powers
    }

    fn restrict(
        &mut self,
        powers: &mut AgentPowers,
        entry: &YamlEntry,
        denied: DeniedTools,
        mut is_whole: bool,
    ) {
        powers
            .key
            .get_or_insert_with(|| (entry.key.to_string(), entry.position));
        let mut stricter = false;
        match denied {
            DeniedTools::Tools(names) => {
                for name in names {
                    let own = powers.vocabulary.own(&name).names;
                    is_whole &= !own.is_empty();
                    powers.denied.extend(own);
                }
            }
            DeniedTools::Others(names) => match &mut powers.allowed {
                Some(allowed) => allowed.retain(|tool| names.contains(tool)),
                none => *none = Some(names),
            },
            DeniedTools::Changes => {
                powers.denied.extend(CHANGING.map(str::to_owned));
                stricter = self.job.rules.export.format != AgentFormat::Codex;
                if stricter {
                    // Agents that it calls might change something; a sandbox would hold for them too.
                    powers.denied.insert("subagent".to_owned());
                }
            }
        }
        let (key, agent, title) = (&entry.key, self.source.name, self.job.title);
        let message = if stricter {
            format!(
                "`{key}` keeps agent `{agent}` from changing anything; in {title} it has no tools that write, run \
                 commands or call other agents"
            )
        } else if is_whole {
            return;
        } else {
            format!(
                "`{key}` restricts agent `{agent}` in a way that {title} cannot be told, or not in full"
            )
        };
        self.add_finding(message, Severity::Warning, Some(entry.position));
    }

    /// Returns tools by the host's names, with one that reads if the agent has skills to read.
    fn translated(&mut self, powers: &AgentPowers, own: &[String]) -> Vec<String> {
        let export = &self.job.rules.export;
        let tools = powers.vocabulary.translate(own, export, &powers.denied);
        self.unmapped_tools(powers, &tools.unmapped);
        let mut names = tools.names;
        if names.is_empty() && !own.is_empty() {
            let message = format!(
                "agent `{}` has no tools in {}: none of those that it names is there",
                self.source.name, self.job.title
            );
            self.add_finding(message, Severity::Warning, powers.place());
        }
        let reading = tools::reading(export);
        let reads = self.source.is_light() && !self.source.skills.is_empty();
        if reads && !powers.denied.contains("read") && !names.contains(&reading) {
            names.push(reading);
        }
        names
    }

    fn denied_names(&mut self, powers: &AgentPowers) -> Vec<String> {
        let tools = tools::denied(&powers.denied, &self.job.rules.export);
        self.warn_still_allowed(powers, &tools.unmapped);
        tools.names
    }

    /// `OpenCode` has one permission for every tool that writes into files.
    fn one_switch_for_editing(&mut self, powers: &AgentPowers) {
        let [writes, edits] = ["write", "edit"].map(|tool| powers.denied.contains(tool));
        if writes != edits {
            let message = format!(
                "{} has one switch for `write` and `edit`, so agent `{}` has neither there",
                self.job.title, self.source.name
            );
            self.add_finding(message, Severity::Warning, powers.place());
        }
    }

    /// Returns all tools but the denied ones, for a host that has no list of denied tools.
    fn remaining_tools(&mut self, powers: &AgentPowers) -> Vec<String> {
        let left = tools::others(&powers.denied, &self.job.rules.export);
        let message = format!(
            "{} has no list of tools that an agent must not have, so agent `{}` has these alone: {}",
            self.job.title,
            self.source.name,
            quoted(&left)
        );
        self.add_finding(message, Severity::Warning, powers.place());
        left
    }

    /// Codex has no list of tools; `sandbox_mode` keeps an agent from changing anything.
    fn sandbox(&mut self, powers: &AgentPowers, own: &[String]) {
        let (mut unmapped, mut changes) = (Vec::new(), false);
        for tool in own {
            let names = powers.vocabulary.own(tool).names;
            if names.is_empty() {
                unmapped.push(tool.clone());
            }
            let mut left = names.iter().filter(|name| !powers.denied.contains(*name));
            changes |= left.any(|name| CHANGING.contains(&&**name) || name.starts_with("mcp:"));
        }
        self.unmapped_tools(powers, &unmapped);
        if changes {
            let message = format!(
                "`tools` of agent `{}` has no counterpart in {} and was left out",
                self.source.name, self.job.title
            );
            return self.add_finding(message, Severity::Warning, powers.place());
        }
        self.read_only(powers, "");
    }

    /// Denies tools to Codex, which can only keep an agent from changing anything.
    fn denied_by_sandbox(&mut self, powers: &AgentPowers) {
        let denies = |tool: &str| powers.denied.contains(tool);
        let is_read_only = denies("write") && denies("edit");
        let still_there: Vec<String> = powers
            .denied
            .iter()
            .filter(|tool| !(is_read_only && CHANGING.contains(&&***tool)))
            .cloned()
            .collect();
        self.warn_still_allowed(powers, &still_there);
        if !is_read_only {
            return;
        }
        let more = if denies("bash") {
            ""
        } else {
            ", with commands neither"
        };
        self.read_only(powers, more);
    }

    /// Adds `sandbox_mode` with a warning, as Codex may use the caller's if another agent calls this one.
    fn read_only(&mut self, powers: &AgentPowers, more: &str) {
        self.entries.push(print::text("sandbox_mode", "read-only"));
        let message = format!(
            "{} has no list of tools; agent `{}` may read and not change{more}, by `sandbox_mode`, in whose place \
             {} may use its caller's",
            self.job.title, self.source.name, self.job.title
        );
        self.add_finding(message, Severity::Warning, powers.place());
    }

    fn unmapped_tools(&mut self, powers: &AgentPowers, unmapped: &[String]) {
        if unmapped.is_empty() {
            return;
        }
        let message = format!(
            "{} has no tool of its own, or not all, for {} of agent `{}`",
            self.job.title,
            quoted(unmapped),
            self.source.name
        );
        self.add_finding(message, Severity::Warning, powers.place());
    }

    /// Warns about tools that the agent must not have and that the host cannot deny.
    fn warn_still_allowed(&mut self, powers: &AgentPowers, tools: &[String]) {
        if tools.is_empty() {
            return;
        }
        let key = powers.key.as_ref().map_or("tools", |(key, _)| key);
        let message = format!(
            "`{key}` keeps {} from agent `{}`, which {} cannot be told",
            quoted(tools),
            self.source.name,
            self.job.title
        );
        self.add_finding(message, Severity::Warning, powers.place());
    }
}

impl AgentPowers {
    fn place(&self) -> Option<Position> {
        let key = self.key.as_ref().map(|(_, position)| *position);
        key.or(self.tools)
    }
}

pub(super) fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
