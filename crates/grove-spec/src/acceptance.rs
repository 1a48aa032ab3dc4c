//! The conditions on which work counts as done: one form for agents, chains and requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::agent::{Structured, WordChoice};
use crate::text::one_line;

/// The proof that work must have before it counts as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// Nothing at all: `false`.
    Off,
    /// A level alone, with what belongs to it.
    Level(AcceptanceLevel),
    /// A contract with every part spelled out.
    Contract(Box<AcceptanceContract>),
}

/// The amount of proof that is asked for; after `auto`, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AcceptanceLevel {
    /// The level that the agent and the task call for.
    Auto,
    /// No proof is asked for.
    None,
    /// The child's own statement is enough.
    Attested,
    /// The child's statement is complete and agrees with what can be seen.
    Checked,
    /// The commands of `verify` succeed.
    Verified,
    /// A reviewer found nothing that stands in the way.
    Reviewed,
}

impl WordChoice for AcceptanceLevel {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("none", Self::None),
        ("attested", Self::Attested),
        ("checked", Self::Checked),
        ("verified", Self::Verified),
        ("reviewed", Self::Reviewed),
    ];
    const TAKES: &'static str = "`auto`, `none`, `attested`, `checked`, `verified`, `reviewed`";
    const OVERRIDE_TAKES: &'static str = Self::TAKES;
}

/// A request for proof with each part spelled out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceContract {
    /// The level of proof that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<AcceptanceLevel>,
    /// Conditions that the work must meet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// The kinds of evidence that the child's report must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Commands that must succeed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<VerifyCommand>,
    /// Patterns of files that the commands see as they were before the work; also written `protect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Vec<String>>,
    /// The review of the work; `false` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<AcceptanceReview>,
    /// Cases in which the child must stop and ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_rules: Vec<String>,
    /// The number of turns in which the child may mend what was missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_finalization_turns: Option<u64>,
    /// The reason for asking for no proof; level `none` needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Keys that Grove does not know, as written.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// A condition that the work must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// The name of the condition in a report; `criterion-1` and so on by default.
    pub id: String,
    /// The condition itself, in words.
    pub must: String,
    /// The evidence that the condition is met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The weight of the condition: work may be refused without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<CriterionSeverity>,
}

/// The weight of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CriterionSeverity {
    /// Work is refused without it.
    Required,
    /// Work is accepted without it.
    Recommended,
}

impl WordChoice for CriterionSeverity {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("required", Self::Required),
        ("recommended", Self::Recommended),
    ];
    const TAKES: &'static str = "`required`, `recommended`";
    const OVERRIDE_TAKES: &'static str = Self::TAKES;
}

macro_rules! evidence {
    ($($kind:ident = $word:literal, $field:literal, $about:literal;)*) => {
        /// A kind of evidence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Evidence {
            $(#[doc = $about] #[serde(rename = $word)] $kind,)*
        }

        impl Evidence {
            /// The field of a child's report that has it.
            pub const fn report_field(self) -> &'static str {
                match self { $(Self::$kind => $field,)* }
            }
        }

        impl WordChoice for Evidence {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$kind),)*];
            const TAKES: &'static str = "a kind of evidence";
            const OVERRIDE_TAKES: &'static str = Self::TAKES;
        }
    };
}

evidence! {
    ChangedFiles = "changed-files", "changedFiles", "The files that were changed.";
    TestsAdded = "tests-added", "testsAddedOrUpdated", "The tests that were added or changed.";
    CommandsRun = "commands-run", "commandsRun", "The commands that were run, and how they ended.";
    ValidationOutput = "validation-output", "validationOutput", "What checks printed.";
    ResidualRisks = "residual-risks", "residualRisks", "What may still go wrong.";
    NoStagedFiles = "no-staged-files", "noStagedFiles", "That nothing is staged.";
    DiffSummary = "diff-summary", "diffSummary", "What was changed, in words.";
    ReviewFindings = "review-findings", "reviewFindings", "What a review found.";
    ManualNotes = "manual-notes", "manualNotes", "Anything else.";
}

/// A command that must succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyCommand {
    /// The name of the command; `verify-1` and so on by default.
    pub id: String,
    /// The shell line or program to run.
    #[serde(flatten)]
    pub program: VerifyProgram,
    /// Milliseconds that it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The folder in which it runs, relative to the child's working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables that it gets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Set if it may end with a code other than zero.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_failure: bool,
    /// Set if it may use the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
}

/// The shell line or program that a [`VerifyCommand`] runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum VerifyProgram {
    /// A line for the shell.
    Command(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// The review that an acceptance asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum AcceptanceReview {
    /// No review, written as `false`.
    Off(bool),
    /// A review by an agent.
    By(Reviewer),
}

/// An agent that reviews the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reviewer {
    /// The name of the reviewing agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The subject that it is to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Set if work is refused without its review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl Acceptance {
    /// Reads a request's acceptance and reports all its faults at once. An unknown key is a fault, since what it asks
    /// for would be ignored.
    pub fn parse(value: &Value) -> Result<Self, Vec<String>> {
        let read = Self::read(value)?;
        let unknown: Vec<String> = read.unknown_keys().collect();
        if unknown.is_empty() {
            Ok(read)
        } else {
            Err(unknown)
        }
    }

    /// Returns a message for each unknown key.
    pub fn unknown_keys(&self) -> impl Iterator<Item = String> {
        let unknown = match self {
            Self::Contract(contract) => Some(contract.unknown.keys()),
            Self::Off | Self::Level(_) => None,
        };
        let unknown = unknown.into_iter().flatten();
        unknown.map(|key| format!("`acceptance.{}` is not known", one_line(key)))
    }

    /// Returns the level that is asked for; nothing where it follows from the other parts.
    pub fn level(&self) -> Option<AcceptanceLevel> {
        match self {
            Self::Off => Some(AcceptanceLevel::None),
            Self::Level(level) => Some(*level),
            Self::Contract(contract) => contract.level,
        }
    }
}

impl Serialize for Acceptance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Level(level) => level.serialize(serializer),
            Self::Contract(contract) => contract.serialize(serializer),
        }
    }
}

impl Structured for Acceptance {
    const TAKES: &'static str =
        "`auto`, `none`, `attested`, `checked`, `verified`, `reviewed`, `false`, or a mapping";
    const HELP: &'static str = "write a level (`auto`, `none`, `attested`, `checked`, `verified` or `reviewed`), `false`, or a mapping with `level`, `criteria`, `evidence`, `verify`, `pinned`, `review`, `stopRules`, `maxFinalizationTurns` or `reason`";

    fn read(value: &Value) -> Result<Self, Vec<String>> {
        match value {
            Value::String(word) => {
                let level = AcceptanceLevel::of(word.trim());
                level.map(Self::Level).ok_or_else(|| vec![no_level(word)])
            }
            Value::Bool(false) => Ok(Self::Off),
            Value::Object(fields) => {
                let mut reader = ContractReader { faults: Vec::new() };
                let contract = reader.contract(fields);
                if reader.faults.is_empty() {
                    Ok(Self::Contract(Box::new(contract)))
                } else {
                    Err(reader.faults)
                }
            }
            _ => Err(vec![
                "`acceptance` is neither a level nor `false` nor an object".to_owned(),
            ]),
        }
    }
}

fn no_level(word: &str) -> String {
    format!(
        "`{}` is not a level of acceptance; the levels are {}",
        one_line(word),
        AcceptanceLevel::TAKES
    )
}

const MAX_FINALIZATION_TURNS: u64 = 10;

struct ContractReader {
    faults: Vec<String>,
}

impl ContractReader {
    fn contract(&mut self, fields: &Map<String, Value>) -> AcceptanceContract {
        let mut contract = AcceptanceContract::default();
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let path = format!("acceptance.{key}");
            match key.as_str() {
                "level" => contract.level = self.level(value),
                "criteria" => {
                    let items = self.list(value, &path).iter().enumerate();
                    let criteria = items.filter_map(|(at, item)| self.criterion(item, at));
                    contract.criteria = criteria.collect();
                }
                "evidence" => {
                    for (at, item) in self.list(value, &path).iter().enumerate() {
                        match item.as_str().and_then(Evidence::of) {
                            Some(kind) => contract.evidence.push(kind),
                            None => self.fault(format!("`{path}[{at}]` is not a kind of evidence")),
                        }
                    }
                }
                "verify" => {
                    let items = self.list(value, &path).iter().enumerate();
                    let commands = items.filter_map(|(at, item)| self.command(item, at));
                    contract.verify = commands.collect();
                }
                "pinned" | "protect" => contract.pinned = Some(self.texts(value, &path)),
                "review" => contract.review = self.review(value),
                "stopRules" => contract.stop_rules = self.texts(value, &path),
                "maxFinalizationTurns" => {
                    let turns = value.as_u64();
                    let turns = turns.filter(|it| (1..=MAX_FINALIZATION_TURNS).contains(it));
                    contract.max_finalization_turns = turns;
                    if turns.is_none() {
                        let most = MAX_FINALIZATION_TURNS;
                        self.fault(format!("`{path}` is not a whole number from 1 to {most}"));
                    }
                }
                "reason" => contract.reason = self.text(value, &path),
                _ => {
                    contract.unknown.insert(key.clone(), value.clone());
                }
            }
        }
        let has_reason = contract.reason.as_ref();
        let has_reason = has_reason.is_some_and(|reason| !reason.trim().is_empty());
        if contract.level == Some(AcceptanceLevel::None) && !has_reason {
            self.fault("`acceptance` of level `none` has no `reason`".to_owned());
        }
        contract
    }

    fn level(&mut self, value: &Value) -> Option<AcceptanceLevel> {
        let Some(word) = value.as_str() else {
            self.fault("`acceptance.level` is not text".to_owned());
            return None;
        };
        let level = AcceptanceLevel::of(word);
        if level.is_none() {
            self.fault(no_level(word));
        }
        level
    }

    fn criterion(&mut self, item: &Value, at: usize) -> Option<Criterion> {
        let path = format!("acceptance.criteria[{at}]");
        let criterion = |id: Option<String>, must: String| Criterion {
            id: id.unwrap_or_else(|| format!("criterion-{}", at + 1)),
            must,
            evidence: Vec::new(),
            severity: None,
        };
        if let Value::String(must) = item {
            return (!must.trim().is_empty()).then(|| criterion(None, must.clone()));
        }
        let id = item.get("id").and_then(|it| self.text(it, &path));
        let must = item.get("must").and_then(|it| self.text(it, &path));
        let Some(must) = must else {
            self.fault(format!(
                "`{path}` is neither text nor an object with `must`"
            ));
            return None;
        };
        let severity = item.get("severity").map(|word| {
            let severity = word.as_str().and_then(CriterionSeverity::of);
            if severity.is_none() {
                self.fault(CriterionSeverity::refusal(&format!("{path}.severity")));
            }
            severity
        });
        let evidence = item.get("evidence").map(|value| match value {
            Value::String(text) => vec![text.clone()],
            list => self.texts(list, &format!("{path}.evidence")),
        });
        Some(Criterion {
            evidence: evidence.unwrap_or_default(),
            severity: severity.flatten(),
            ..criterion(id, must)
        })
    }

    fn command(&mut self, item: &Value, at: usize) -> Option<VerifyCommand> {
        let path = format!("acceptance.verify[{at}]");
        let command = |id: String, program: VerifyProgram| VerifyCommand {
            id,
            program,
            timeout_ms: None,
            cwd: None,
            env: BTreeMap::new(),
            allow_failure: false,
            network: false,
        };
        let filled = |key: &str| {
            let text = item.get(key).and_then(Value::as_str);
            text.filter(|text| !text.trim().is_empty())
        };
        if let Some(line) = item.as_str().filter(|line| !line.trim().is_empty()) {
            let id = format!("verify-{}", at + 1);
            return Some(command(id, VerifyProgram::Command(line.to_owned())));
        }
        let id = filled("id").map(str::to_owned);
        if id.is_none() {
            self.fault(format!("`{path}` has no `id`"));
        }
        let program = match (filled("command"), item.get("argv")) {
            (Some(line), _) => Some(VerifyProgram::Command(line.to_owned())),
            (None, Some(words)) => {
                let words = self.texts(words, &format!("{path}.argv"));
                (!words.is_empty()).then_some(VerifyProgram::Argv(words))
            }
            (None, None) => None,
        };
        if program.is_none() {
            self.fault(format!("`{path}` has no `command`"));
        }
        let timeout_ms = item.get("timeoutMs").and_then(|value| {
            let time = value.as_f64().filter(|time| *time > 0.0);
            if time.is_none() {
                self.fault(format!("`{path}.timeoutMs` is not a number above zero"));
            }
            #[expect(clippy::cast_sign_loss, reason = "a time is above zero")]
            time.map(|time| time.ceil() as u64)
        });
        let cwd = item
            .get("cwd")
            .and_then(|it| self.text(it, &format!("{path}.cwd")));
        let env = item.get("env").map(|value| self.variables(value, &path));
        let mut flag = |key: &str| {
            let value = item.get(key)?;
            let flag = value.as_bool();
            if flag.is_none() {
                self.fault(format!("`{path}.{key}` is neither true nor false"));
            }
            flag
        };
        let (allow_failure, network) = (flag("allowFailure"), flag("network"));
        Some(VerifyCommand {
            timeout_ms,
            cwd,
            env: env.unwrap_or_default(),
            allow_failure: allow_failure.unwrap_or_default(),
            network: network.unwrap_or_default(),
            ..command(id?, program?)
        })
    }

    fn variables(&mut self, value: &Value, path: &str) -> BTreeMap<String, String> {
        let variables = value.as_object().and_then(|variables| {
            let pairs = variables.iter();
            pairs
                .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect()
        });
        variables.unwrap_or_else(|| {
            self.fault(format!("`{path}.env` is not an object of texts"));
            BTreeMap::new()
        })
    }

    fn review(&mut self, value: &Value) -> Option<AcceptanceReview> {
        let fields = match value {
            Value::Bool(false) => return Some(AcceptanceReview::Off(false)),
            Value::Object(fields) => fields,
            _ => {
                self.fault("`acceptance.review` is neither `false` nor an object".to_owned());
                return None;
            }
        };
        let mut text = |key: &str| {
            let value = fields.get(key)?;
            self.text(value, &format!("acceptance.review.{key}"))
        };
        let (agent, focus) = (text("agent"), text("focus"));
        let required = fields.get("required").map(Value::as_bool);
        if required == Some(None) {
            self.fault("`acceptance.review.required` is neither true nor false".to_owned());
        }
        Some(AcceptanceReview::By(Reviewer {
            agent,
            focus,
            required: required.flatten(),
        }))
    }

    fn text(&mut self, value: &Value, path: &str) -> Option<String> {
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.fault(format!("`{path}` is not text"));
        }
        text
    }

    fn texts(&mut self, value: &Value, path: &str) -> Vec<String> {
        let items = self.list(value, path).iter().enumerate();
        items
            .filter_map(|(at, item)| self.text(item, &format!("{path}[{at}]")))
            .collect()
    }

    fn list<'v>(&mut self, value: &'v Value, path: &str) -> &'v [Value] {
        value.as_array().map_or_else(
            || {
                self.fault(format!("`{path}` is not a list"));
                &[][..]
            },
            Vec::as_slice,
        )
    }

    fn fault(&mut self, message: String) {
        self.faults.push(message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_said_and_what_may_not() {
        for (value, count) in [
            (json!("sometimes"), 1),
            (json!(true), 1),
            (json!(3), 1),
            (json!({"level": "none"}), 1),
            (json!({"level": 1}), 1),
            (json!({"criteria": "x", "evidence": 1, "verify": {}}), 3),
            (json!({"evidence": ["changed-files", "hearsay"]}), 1),
            (json!({"verify": [{"id": "t"}, 5]}), 3),
            (
                json!({"verify": [{"id": "t", "command": "c", "timeoutMs": 0}]}),
                1,
            ),
            (
                json!({"verify": [{"id": "t", "argv": "c", "env": 1, "allowFailure": 2}]}),
                4,
            ),
            (
                json!({"criteria": [{"id": "a"}, 7, {"must": "b", "severity": "x"}]}),
                3,
            ),
            (
                json!({"review": true, "stopRules": [1], "maxFinalizationTurns": 11}),
                3,
            ),
        ] {
            let faults = Acceptance::read(&value).unwrap_err();
            assert_eq!(faults.len(), count, "{value}: {faults:?}");
        }
    }

    #[test]
    fn what_is_read_is_written_in_one_form() {
        for (value, expected) in [
            (json!("auto"), json!("auto")),
            (json!("reviewed"), json!("reviewed")),
            (json!(false), json!(false)),
            (json!({}), json!({})),
            (
                json!({"level": "none", "reason": "a draft", "own": 1}),
                json!({"level": "none", "reason": "a draft", "own": 1}),
            ),
            (
                json!({"criteria": ["a", "", {"id": "x", "must": "b", "evidence": "c", "severity": "recommended"}]}),
                json!({"criteria": [{"id": "criterion-1", "must": "a"}, {"id": "x", "must": "b", "evidence": ["c"], "severity": "recommended"}]}),
            ),
            (
                json!({"verify": ["make", {"id": "t", "argv": ["make", "test"], "timeoutMs": 1.5, "cwd": "d", "env": {"A": "b"}, "allowFailure": true}]}),
                json!({"verify": [{"id": "verify-1", "command": "make"}, {"id": "t", "argv": ["make", "test"], "timeoutMs": 2, "cwd": "d", "env": {"A": "b"}, "allowFailure": true}]}),
            ),
            (
                json!({"review": false, "evidence": ["manual-notes"], "stopRules": ["r"], "maxFinalizationTurns": 3}),
                json!({"evidence": ["manual-notes"], "review": false, "stopRules": ["r"], "maxFinalizationTurns": 3}),
            ),
            (
                json!({"review": {"agent": "reviewer", "focus": "f", "required": true}}),
                json!({"review": {"agent": "reviewer", "focus": "f", "required": true}}),
            ),
        ] {
            let read = Acceptance::read(&value).unwrap();
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(written, expected);
            assert_eq!(
                Acceptance::read(&written),
                Ok(read),
                "what is written reads as it was"
            );
        }
    }
}
