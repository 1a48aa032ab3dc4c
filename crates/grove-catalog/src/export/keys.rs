//! An agent's keys in the words of another host.

use std::fmt::Write as _;

use grove_spec::agent::{Format, SkillInjection, print};
use grove_spec::yaml::{Entry, Value};
use grove_spec::{Code, Diagnostic, Severity};

use super::{Job, Source, models, tools};

/// Keys that only say how Grove runs an agent; whoever else runs it does so in its own way.
const RUNNING: [&str; 18] = [
    "inheritProjectContext",
    "inheritSkills",
    "defaultContext",
    "output",
    "outputMode",
    "defaultReads",
    "defaultProgress",
    "interactive",
    "maxSubagentDepth",
    "completionGuard",
    "maxExecutionTimeMs",
    "timeoutMs",
    "maxTokens",
    "turnBudget",
    "toolBudget",
    "acceptance",
    "acceptanceRole",
    "aliases",
];

/// Tools with which an agent changes something.
const CHANGING: [&str; 3] = ["write", "edit", "bash"];

/// The keys of the host's file, and what has no place in it.
pub(super) fn translate(
    job: &Job<'_>,
    source: &Source<'_>,
    name: &str,
    skills: &[String],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Entry> {
    let mut writer = Writer {
        job,
        source,
        diagnostics,
        entries: Vec::new(),
    };
    if job.rules.export.format == Format::Native {
        writer.native(skills);
        return writer.entries;
    }
    writer.entries.push(print::text("name", name));
    if source.agent.description.is_none() && !job.rules.without_description {
        let message = format!(
            "agent `{}` has no description, and {} leaves out such agents",
            source.name, job.title
        );
        let finding = Diagnostic::new(Code::ExportUnmapped, message);
        writer
            .diagnostics
            .push(finding.with_help("add `description:` to the agent"));
    }
    for entry in print::entries(source.agent) {
        writer.key(entry, skills);
    }
    writer.entries
}

struct Writer<'a, 'b> {
    job: &'a Job<'a>,
    source: &'a Source<'a>,
    diagnostics: &'b mut Vec<Diagnostic>,
    entries: Vec<Entry>,
}

impl Writer<'_, '_> {
    /// Grove's own format: everything as it is but for names that other hosts gave.
    fn native(&mut self, skills: &[String]) {
        let mut agent = self.source.agent.clone();
        if agent.name.is_none() {
            let name = self.source.name;
            let package = agent.package.as_deref();
            let local = package
                .and_then(|package| name.strip_prefix(package))
                .and_then(|rest| rest.strip_prefix('.'));
            agent.name = Some(local.unwrap_or(name).to_owned());
        }
        if !std::mem::take(&mut agent.skill_path).is_empty() {
            self.skill_path();
        }
        skills.clone_into(&mut agent.skills);
        if skills.is_empty() {
            agent.skill_injection = SkillInjection::Full;
        }
        if let Some(own) = &agent.tools {
            agent.tools = Some(self.translated(own));
        }
        if self.source.format != Format::Native {
            for entry in std::mem::take(&mut agent.unknown) {
                self.left_out(&entry.key, Severity::Info);
            }
        }
        self.entries = print::entries(&agent);
    }

    fn key(&mut self, entry: Entry, skills: &[String]) {
        let export = &self.job.rules.export;
        match &*entry.key {
            // The name is written already, with the package in it.
            "name" | "package" | "skillInjection" => {}
            "description" => self.entries.push(entry),
            "skillPath" => self.skill_path(),
            "skills" if skills.is_empty() => {}
            "skills" => self.entries.push(print::commas("skills", skills)),
            "tools" => self.tools(),
            "model" => {
                let model = self.source.agent.model.as_deref().unwrap_or_default();
                match models::translate(model, self.source.format, export) {
                    Some(model) => self.entries.push(print::text("model", &model)),
                    None => self.left_out(&format!("model: {model}"), Severity::Warning),
                }
            }
            "thinking" => self.thinking(),
            "async" if export.same.iter().any(|key| key == "async") => {
                let is_set = self.source.agent.background.unwrap_or_default();
                self.entries.push(print::word("background", &is_set));
            }
            "maxExecutionTimeMs" if export.same.iter().any(|key| key == "maxExecutionTimeMs") => {
                let milliseconds = self.source.agent.max_execution_time_ms.unwrap_or_default();
                let minutes = milliseconds.div_ceil(60_000).max(1);
                self.entries.push(print::word("timeout_mins", &minutes));
            }
            key if RUNNING.contains(&key) || key == "async" => self.left_out(key, Severity::Info),
            _ => self.other(entry),
        }
    }

    /// A key that Grove does not know is the host's own if the file was written for it.
    fn other(&mut self, entry: Entry) {
        let mut unknown = self.source.agent.unknown.iter();
        let is_unknown = unknown.any(|kept| kept.key == entry.key);
        let is_theirs = self.source.format.of_files() == self.job.rules.export.format;
        match (is_unknown, is_theirs) {
            (true, true) => self.entries.push(entry),
            (true, false) => self.left_out(&entry.key, Severity::Info),
            (false, _) => self.left_out(&entry.key, Severity::Warning),
        }
    }

    /// The folders are of the machine that is exported from: the skills that are named come along instead.
    fn skill_path(&mut self) {
        let message = format!(
            "`skillPath` of agent `{}` is not written for {}: the skills that it names are copied from there",
            self.source.name, self.job.title
        );
        let finding = Diagnostic::new(Code::ExportUnmapped, message);
        self.diagnostics.push(finding.with_severity(Severity::Info));
    }

    fn thinking(&mut self) {
        let thinking = self.source.agent.thinking.as_deref().unwrap_or_default();
        let effort = self.job.rules.export.effort.split_first();
        match effort {
            Some((key, words)) if words.iter().any(|word| word == thinking) => {
                self.entries.push(print::text(key, thinking));
            }
            _ => self.left_out(&format!("thinking: {thinking}"), Severity::Warning),
        }
    }

    fn tools(&mut self) {
        let export = &self.job.rules.export;
        let own = self.source.agent.tools.clone().unwrap_or_default();
        if export.format == Format::Codex {
            return self.sandbox(&own);
        }
        let names = self.translated(&own);
        self.entries.push(match export.format {
            Format::Claude => print::commas("tools", &names),
            Format::Opencode => {
                let off = [("*".to_owned(), false)];
                let on = names.into_iter().map(|name| (name, true));
                let switches: Vec<(String, bool)> = off.into_iter().chain(on).collect();
                print::switches("tools", &switches)
            }
            _ => print::list("tools", &names),
        });
    }

    /// Tools in the host's names, with one that reads if the agent has skills to read.
    fn translated(&mut self, own: &[String]) -> Vec<String> {
        let export = &self.job.rules.export;
        let tools = tools::translate(own, self.source.format, export);
        self.unmapped_tools(&tools.unmapped);
        let mut names = tools.names;
        let reading = tools::reading(export);
        if self.source.is_light() && !self.source.skills.is_empty() && !names.contains(&reading) {
            names.push(reading);
        }
        names
    }

    /// Codex has no list of tools; an agent that changes nothing is kept from it in another way.
    fn sandbox(&mut self, own: &[String]) {
        let names = own
            .iter()
            .flat_map(|tool| tools::in_own_names(tool, self.source.format));
        let changes = |tool: &str| CHANGING.contains(&tool) || tool.starts_with("mcp:");
        if names.into_iter().any(|tool| changes(&tool)) {
            return self.left_out("tools", Severity::Warning);
        }
        self.entries.push(print::text("sandbox_mode", "read-only"));
        let message = format!(
            "{} has no list of tools; agent `{}` may read and not change, by `sandbox_mode`",
            self.job.title, self.source.name
        );
        let finding = Diagnostic::new(Code::ExportUnmapped, message);
        self.diagnostics.push(finding.with_severity(Severity::Info));
    }

    fn unmapped_tools(&mut self, unmapped: &[String]) {
        if unmapped.is_empty() {
            return;
        }
        let names: Vec<String> = unmapped.iter().map(|tool| format!("`{tool}`")).collect();
        let message = format!(
            "{} has no tool of its own, or not all, for {} of agent `{}`",
            self.job.title,
            names.join(", "),
            self.source.name
        );
        self.diagnostics
            .push(Diagnostic::new(Code::ExportUnmapped, message));
    }

    fn left_out(&mut self, key: &str, severity: Severity) {
        let message = format!(
            "`{key}` of agent `{}` has no counterpart in {} and was left out",
            self.source.name, self.job.title
        );
        self.diagnostics
            .push(Diagnostic::new(Code::ExportUnmapped, message).with_severity(severity));
    }
}

/// A role of Codex.
pub(super) fn toml(entries: &[Entry], mark: &str, body: &str) -> String {
    let mut out = format!("{mark}\n");
    for entry in entries {
        if let Value::Text(scalar) = &entry.value.value {
            let _ = writeln!(out, "{} = {}", entry.key, toml_text(&scalar.text));
        }
    }
    let _ = writeln!(out, "developer_instructions = {}", toml_text(body));
    out
}

/// A text in quotes; one of several lines keeps them.
fn toml_text(text: &str) -> String {
    let is_long = text.contains('\n');
    let mut quoted = String::with_capacity(text.len() + 8);
    quoted.push_str(if is_long { "\"\"\"\n" } else { "\"" });
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' if is_long => quoted.push('\n'),
            '\t' => quoted.push('\t'),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push_str(if is_long { "\"\"\"" } else { "\"" });
    quoted
}
