//! An agent's keys, translated for another host.

use grove_spec::agent::fields::{FieldExport, FieldRow};
use grove_spec::agent::formats::restriction;
use grove_spec::agent::{AgentFormat, SkillInjection, print};
use grove_spec::yaml::YamlEntry;
use grove_spec::{Code, Diagnostic, Position, Severity};

use super::{ExportJob, ExportSource, models};

/// Returns the keys for the host's file, and adds findings about those that have no place in it.
pub(super) fn translate(
    job: &ExportJob<'_>,
    source: &ExportSource<'_>,
    name: &str,
    skills: &[String],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<YamlEntry> {
    let mut writer = KeyWriter {
        job,
        source,
        diagnostics,
        entries: Vec::new(),
    };
    if job.rules.export.format == AgentFormat::Native {
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
    let mut known = source.agent.clone();
    let unknown = std::mem::take(&mut known.unknown);
    let (first, rest): (Vec<YamlEntry>, Vec<YamlEntry>) = print::entries(&known)
        .into_iter()
        .partition(|entry| entry.key == "description");
    writer.entries.extend(first);
    writer.powers();
    for entry in rest {
        writer.key(&entry, skills);
    }
    for entry in unknown {
        writer.other(entry);
    }
    writer.entries
}

pub(super) struct KeyWriter<'a, 'b> {
    pub(super) job: &'a ExportJob<'a>,
    pub(super) source: &'a ExportSource<'a>,
    pub(super) diagnostics: &'b mut Vec<Diagnostic>,
    pub(super) entries: Vec<YamlEntry>,
}

impl KeyWriter<'_, '_> {
    /// Writes Grove's own format: everything as it is, except for names that come from other hosts.
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
        agent.tools = self.native_tools();
        let unknown = std::mem::take(&mut agent.unknown);
        if self.is_theirs() {
            let kept = unknown.into_iter().filter_map(|entry| self.shrunk(entry));
            agent.unknown = kept.collect();
        } else {
            for entry in unknown {
                self.other(entry);
            }
        }
        self.entries = print::entries(&agent);
    }

    fn key(&mut self, entry: &YamlEntry, skills: &[String]) {
        let export = &self.job.rules.export;
        match &*entry.key {
            // The name is written already, with its package, and so are the tools.
            "name" | "package" | "skillInjection" | "tools" => {}
            "skillPath" => self.skill_path(),
            "skills" if skills.is_empty() => {}
            "skills" => self.entries.push(print::commas("skills", skills)),
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
            "turnBudget" if export.turns.is_some() => self.turns(),
            key => {
                let row = FieldRow::of_file(key);
                let is_missed = row.is_none_or(|row| row.exported != FieldExport::OfGrove);
                let severity = if is_missed {
                    Severity::Warning
                } else {
                    Severity::Info
                };
                self.left_out(key, severity);
            }
        }
    }

    /// Writes a key that Grove does not know: it is the host's own if the file was written for that host.
    fn other(&mut self, entry: YamlEntry) {
        if self.is_theirs() {
            let Some(entry) = self.shrunk(entry) else {
                return;
            };
            // A value that overrides what the file says replaces it.
            if !self.entries.iter().any(|written| written.key == entry.key) {
                self.entries.push(entry);
            }
        } else if restriction::of(&entry, self.source.format).is_none() {
            let message = self.no_counterpart(&entry.key);
            self.add_finding(message, Severity::Info, Some(entry.position));
        }
    }

    /// Returns true if the file was written for the host that it is exported for.
    pub(super) fn is_theirs(&self) -> bool {
        self.source.format.of_files() == self.job.rules.export.format
    }

    fn turns(&mut self) {
        let budget = self.source.agent.turn_budget.as_ref();
        let Some((budget, key)) = budget.zip(self.job.rules.export.turns.as_deref()) else {
            return self.left_out("turnBudget", Severity::Info);
        };
        self.entries.push(print::word(key, &budget.max_turns));
        if budget.grace_turns.is_some() {
            self.left_out("turnBudget.graceTurns", Severity::Info);
        }
    }

    /// The folders are on the machine that exports: the skills that the agent names are copied instead.
    fn skill_path(&mut self) {
        let message = format!(
            "`skillPath` of agent `{}` is not written for {}: the skills that it names are copied from there",
            self.source.name, self.job.title
        );
        self.add_finding(message, Severity::Info, self.source.place("skillPath"));
    }

    fn thinking(&mut self) {
        let thinking = self.source.agent.thinking.as_deref().unwrap_or_default();
        let effort = self.job.rules.export.effort.split_first();
        match effort {
            Some((key, words)) if self.is_theirs() || words.iter().any(|word| word == thinking) => {
                self.entries.push(print::text(key, thinking));
            }
            _ => self.left_out(&format!("thinking: {thinking}"), Severity::Warning),
        }
    }

    fn no_counterpart(&self, key: &str) -> String {
        format!(
            "`{key}` of agent `{}` has no counterpart in {} and was left out",
            self.source.name, self.job.title
        )
    }

    /// Adds a finding that something of a key is left out: `key`, `key: value` or `key.part`.
    fn left_out(&mut self, what: &str, severity: Severity) {
        let message = self.no_counterpart(what);
        let key = what.split([':', '.']).next().unwrap_or(what);
        self.add_finding(message, severity, self.source.place(key));
    }

    /// Adds a finding about a key, in the file of the agent if that is where the key stands.
    pub(super) fn add_finding(
        &mut self,
        message: String,
        severity: Severity,
        at: Option<Position>,
    ) {
        let finding = Diagnostic::new(Code::ExportUnmapped, message).with_severity(severity);
        // Keys of a role that settings declare may be in another file than the settings.
        let place = at.filter(|_| self.source.format != AgentFormat::CodexConfig);
        self.diagnostics.push(match place {
            Some(place) => finding.at(place),
            None => finding,
        });
    }
}
