//! From top-level entries to the fields of an [`Agent`].

use super::{Agent, ContextMode, OutputFile, OutputMode, PromptMode, SkillInjection, naming};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::skill::fields::{clean, parse_boolean};
use crate::skill::split_outside_parentheses;
use crate::text::{is_control, one_line};
use crate::yaml::{Entry, Value};

/// Reads the fields of an agent that begins at `start`.
pub(crate) fn read(
    entries: Vec<Entry>,
    start: Position,
    diagnostics: &mut Vec<Diagnostic>,
) -> Agent {
    let mut reader = Reader {
        diagnostics,
        agent: Agent::default(),
        skill: None,
    };
    for entry in entries {
        reader.take(entry);
    }
    reader.settle_skills();
    let Reader { agent, .. } = reader;
    if agent.description.is_none() && !diagnostics.iter().any(Diagnostic::is_error) {
        let finding = Diagnostic::new(Code::DescriptionMissing, "no description");
        diagnostics.push(finding.at(start));
    }
    agent
}

struct Reader<'a> {
    diagnostics: &'a mut Vec<Diagnostic>,
    agent: Agent,
    /// `skill`, which goes before `skills`, and where it stands.
    skill: Option<(Vec<String>, Position)>,
}

impl Reader<'_> {
    fn take(&mut self, entry: Entry) {
        match &*entry.key {
            "name" => self.agent.name = self.name(&entry),
            "package" => self.agent.package = self.package(&entry),
            "description" => self.agent.description = self.required_text(&entry),
            "tools" => self.agent.tools = self.list(&entry),
            "extensions" => {
                // The key alone means no extensions; to leave them as usual it must not be there.
                self.agent.extensions = Some(self.list(&entry).unwrap_or_default());
            }
            "model" => self.agent.model = self.text(&entry),
            "fallbackModels" => self.agent.fallback_models = self.items(&entry),
            "thinking" => self.agent.thinking = self.text(&entry),
            "skills" => self.agent.skills = self.names(&entry),
            "skill" => {
                let names = self.names(&entry);
                self.skill = Some((names, entry.position));
            }
            "skillPath" => self.agent.skill_path = self.items(&entry),
            "defaultReads" => self.agent.default_reads = self.items(&entry),
            "aliases" => self.agent.aliases = self.items(&entry),
            "acceptanceRole" => self.agent.acceptance_role = self.text(&entry),
            "turnBudget" => self.agent.turn_budget = given(entry),
            "toolBudget" => self.agent.tool_budget = given(entry),
            "acceptance" => self.agent.acceptance = given(entry),
            "maxSubagentDepth" => self.agent.max_subagent_depth = self.number(&entry, 0),
            "maxExecutionTimeMs" => self.agent.max_execution_time_ms = self.number(&entry, 1),
            "timeoutMs" => self.agent.timeout_ms = self.number(&entry, 1),
            "maxTokens" => self.agent.max_tokens = self.number(&entry, 1),
            _ => self.take_choice(entry),
        }
    }

    /// Keys with a few known values.
    fn take_choice(&mut self, entry: Entry) {
        match &*entry.key {
            "systemPromptMode" => {
                let modes = [
                    ("replace", PromptMode::Replace),
                    ("append", PromptMode::Append),
                ];
                self.agent.system_prompt_mode = self.one_of(&entry, &modes).unwrap_or_default();
            }
            "skillInjection" => {
                let modes = [
                    ("full", SkillInjection::Full),
                    ("light", SkillInjection::Light),
                ];
                self.agent.skill_injection = self.one_of(&entry, &modes).unwrap_or_default();
            }
            "defaultContext" => {
                let modes = [("fresh", ContextMode::Fresh), ("fork", ContextMode::Fork)];
                self.agent.default_context = self.one_of(&entry, &modes);
            }
            "outputMode" => {
                let modes = [
                    ("inline", OutputMode::Inline),
                    ("file-only", OutputMode::FileOnly),
                ];
                self.agent.output_mode = self.one_of(&entry, &modes);
            }
            "output" => {
                self.agent.output = match self.text(&entry) {
                    Some(text) if text == "false" => Some(OutputFile::None),
                    file => file.map(OutputFile::File),
                };
            }
            "inheritProjectContext" => {
                self.agent.inherit_project_context = self.boolean(&entry).unwrap_or(false);
            }
            "inheritSkills" => self.agent.inherit_skills = self.boolean(&entry).unwrap_or(false),
            "defaultProgress" => {
                self.agent.default_progress = self.boolean(&entry).unwrap_or(false);
            }
            "interactive" => self.agent.interactive = self.boolean(&entry).unwrap_or(false),
            "completionGuard" => self.agent.completion_guard = self.boolean(&entry),
            "async" => self.agent.background = self.boolean(&entry),
            _ => self.agent.unknown.push(entry),
        }
    }

    /// `skill` goes before `skills` unless it names nothing.
    fn settle_skills(&mut self) {
        let Some((names, position)) = self.skill.take() else {
            return;
        };
        if names.is_empty() {
            return;
        }
        if !self.agent.skills.is_empty() && self.agent.skills != names {
            let message = "`skill` and `skills` name different skills; `skill` is used";
            self.diagnostics
                .push(Diagnostic::new(Code::FieldType, message).at(position));
        }
        self.agent.skills = names;
    }

    fn name(&mut self, entry: &Entry) -> Option<String> {
        // Judged as written: what cleaning would make of a line end is another name.
        let written = entry.value.as_text().unwrap_or_default().trim();
        if is_dangerous(written) {
            let message = format!("the name `{}` cannot be used", one_line(written));
            self.report(Code::AgentName, message, entry);
            return None;
        }
        let text = self.required_text(entry)?;
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // What nobody sees is gone by now, and may have hidden how the name begins.
        if is_dangerous(&name) {
            let message = format!("the name `{name}` cannot be used");
            self.report(Code::AgentName, message, entry);
            return None;
        }
        let length = name.chars().count();
        if length > crate::skill::MAX_NAME {
            let message = format!(
                "name has {length} characters, more than {}",
                crate::skill::MAX_NAME
            );
            self.report(Code::NameTooLong, message, entry);
        }
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':');
        if !name.chars().all(fits) {
            let message = format!(
                "name `{name}` has characters other than letters, digits, `-`, `_` and `.`"
            );
            self.report(Code::NameInvalid, message, entry);
        }
        Some(name)
    }

    fn package(&mut self, entry: &Entry) -> Option<String> {
        if entry.value.is_null() {
            return None;
        }
        let text = self.required_text(entry).unwrap_or_default();
        let quoted_nothing =
            matches!(&entry.value.value, Value::Text(scalar) if scalar.text.is_empty());
        if quoted_nothing || text == "false" {
            return None;
        }
        let package = naming::package(&text);
        if package.is_none() {
            let message = format!("`package` is `{text}`, of which no name is left");
            self.report(Code::AgentPackage, message, entry);
        }
        package
    }

    /// Text without which an agent is not what its author meant: a list or mapping makes it invalid.
    fn required_text(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.value {
            Value::Text(_) => self.text(entry),
            Value::List(_) | Value::Map(_) => {
                let message = format!("`{}` is {}, not text", entry.key, entry.value.kind());
                self.report(Code::FieldRequiredType, message, entry);
                None
            }
        }
    }

    /// Optional text: anything else is left out with a warning.
    fn text(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.value {
            Value::Text(scalar) if scalar.is_null() => None,
            Value::Text(scalar) => {
                Some(clean(&scalar.text, entry, self.diagnostics)).filter(|text| !text.is_empty())
            }
            Value::List(_) | Value::Map(_) => {
                self.wrong_kind(entry, "text");
                None
            }
        }
    }

    /// A list, or text with commas; nothing when there is no value.
    fn list(&mut self, entry: &Entry) -> Option<Vec<String>> {
        match &entry.value.value {
            Value::Text(scalar) if scalar.is_null() => None,
            Value::Text(scalar) => Some(split_items(&clean(&scalar.text, entry, self.diagnostics))),
            Value::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items {
                    if let Some(text) = item.as_text() {
                        texts.push(clean(text, entry, self.diagnostics));
                    }
                }
                if texts.len() != items.len() {
                    self.wrong_kind(entry, "a list of texts");
                }
                texts.retain(|text| !text.is_empty());
                Some(texts)
            }
            Value::Map(_) => {
                self.wrong_kind(entry, "text or a list");
                None
            }
        }
    }

    fn items(&mut self, entry: &Entry) -> Vec<String> {
        self.list(entry).unwrap_or_default()
    }

    /// Names in order, each once; `false` is how one writes that there are none.
    fn names(&mut self, entry: &Entry) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut names = self.items(entry);
        names.retain(|name| seen.insert(name.clone()));
        // Judged when it is clean: what is printed must be read the same.
        if names == ["false"] {
            names.clear();
        }
        names
    }

    fn boolean(&mut self, entry: &Entry) -> Option<bool> {
        let parsed = entry.value.as_text().and_then(parse_boolean);
        if parsed.is_none() && !entry.value.is_null() {
            self.wrong_kind(entry, "true or false");
        }
        parsed
    }

    fn number(&mut self, entry: &Entry, least: u64) -> Option<u64> {
        if entry.value.is_null() {
            return None;
        }
        let text = entry.value.as_text().map(str::trim);
        let number = text.and_then(|text| text.parse().ok());
        let number = number.filter(|number| *number >= least);
        if number.is_none() {
            let message = format!("`{}` is not a whole number from {least}", entry.key);
            self.report(Code::FieldType, message, entry);
        }
        number
    }

    fn one_of<T: Copy>(&mut self, entry: &Entry, values: &[(&str, T)]) -> Option<T> {
        if entry.value.is_null() {
            return None;
        }
        let text = entry.value.as_text().unwrap_or_default().trim();
        let known = values.iter().find(|(word, _)| *word == text);
        if known.is_none() {
            let words: Vec<String> = values.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("`{}` is neither {}", entry.key, words.join(" nor "));
            self.report(Code::FieldType, message, entry);
        }
        known.map(|(_, value)| *value)
    }

    fn wrong_kind(&mut self, entry: &Entry, wanted: &str) {
        let message = format!("`{}` is {}, not {wanted}", entry.key, entry.value.kind());
        self.report(Code::FieldType, message, entry);
    }

    fn report(&mut self, code: Code, message: String, entry: &Entry) {
        self.diagnostics
            .push(Diagnostic::new(code, message).at(entry.value.position));
    }
}

/// Whether a name could end a line, leave a folder or be taken for an option where somebody writes it.
pub(crate) fn is_dangerous(name: &str) -> bool {
    name.starts_with(['.', '-']) || name.contains(|c: char| is_control(c) || "\n\t/\\".contains(c))
}

/// A value as written, if there is one.
fn given(entry: Entry) -> Option<crate::yaml::Node> {
    Some(entry.value).filter(|node| !node.is_null())
}

/// The parts of a text between commas and line ends outside parentheses: `Bash(git add, git mv), Read` has two.
pub(crate) fn split_items(text: &str) -> Vec<String> {
    split_outside_parentheses(text, |c| matches!(c, ',' | '\n'))
}
