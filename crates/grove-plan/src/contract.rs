//! The contract for a child's work: what is asked of it, what was seen, and the verdict that follows.

use std::collections::BTreeMap;

use grove_spec::Digest;
use grove_spec::acceptance::{
    Acceptance, AcceptanceContract, AcceptanceLevel, AcceptanceReview, Criterion,
    CriterionSeverity, Evidence, VerifyCommand, VerifyProgram,
};
use grove_spec::text::visible;
use serde::{Deserialize, Serialize};

use crate::report::REPORT_TAG;

/// The conditions that a child's work must meet before it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// The level that the work counts as when everything is there.
    pub level: AcceptanceLevel,
    /// Set if it was not asked for explicitly, so that work which does not have it is not refused.
    #[serde(default)]
    pub is_inferred: bool,
    /// The engine, if it does not report the child's calls, so that the child is taken at its word about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_observed: Option<String>,
    /// The reasons why it is as it is, where that was decided here.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Conditions that the work must meet.
    #[serde(default)]
    pub criteria: Vec<Criterion>,
    /// Evidence that has to be shown.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Commands that the runtime runs after the child, each of which has to succeed.
    pub verify: Vec<Check>,
    /// Patterns of the files that the commands see as they were before the child; none for those that the commands rely on.
    #[serde(default)]
    pub pinned: Option<Vec<String>>,
    /// The review that the work needs.
    #[serde(default)]
    pub review: Option<ReviewPlan>,
    /// Cases in which the child must stop and say so.
    #[serde(default)]
    pub stop_rules: Vec<String>,
    /// The number of times that the child is asked for what is missing.
    #[serde(default)]
    pub max_finalization_turns: u32,
}

/// The review of a child's work by an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewPlan {
    /// The agent that reviews the work.
    pub agent: String,
    /// The subject that it is to look at in particular.
    pub focus: Option<String>,
    /// Set if work does not count without the review.
    pub required: bool,
}

/// Facts about a child before it starts, from which `auto` is decided. Words of its task are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorFacts {
    /// Set if it has a tool that can change files.
    pub can_write: bool,
    /// The role that its file declares.
    pub role: Option<String>,
    /// Set if no caller waits for it.
    pub background: bool,
    /// Set if it is one of several that were made from a list.
    pub fan_out: bool,
    /// The agent that reviews work when none is named.
    pub reviewer: Option<String>,
    /// Set if its session can go on after it ended.
    pub can_go_on: bool,
    /// The engine, if it does not report the child's calls.
    pub not_observed: Option<UnobservedCalls>,
}

/// An engine that does not report its child's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnobservedCalls {
    /// The name that people read for it.
    pub engine: String,
    /// The engines that report calls.
    pub observed: Vec<&'static str>,
}

/// A command that has to succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The id of the command.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The time that it may take.
    pub timeout_ms: Option<u64>,
    /// The folder in which it runs, relative to the child's working folder.
    pub cwd: Option<String>,
    /// Environment variables that it gets.
    pub env: BTreeMap<String, String>,
    /// Set if any exit code is good enough. It still has to start, and to end by itself within its time.
    pub allow_failure: bool,
    /// Set if it may use the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
}

/// The way in which a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckEnd {
    /// It ended with a code.
    Code(i32),
    /// It was ended by a signal.
    Signal(i32),
    /// It took longer than it may.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
    /// It ended well enough, which does not count for this reason.
    Disregarded(String),
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The id of the check.
    pub id: String,
    /// The way in which it ended.
    pub end: CheckEnd,
    /// The time that it took.
    pub milliseconds: u64,
    /// The artifact with head and tail of what it printed.
    pub output: Digest,
    /// The sandbox that kept it from the rest of the machine.
    pub sandbox: String,
    /// Files of the work that it changed itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Files that it relies on and that were put back for it, since the child had changed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub as_before: Vec<String>,
}

/// The verdict on a child's work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Accepted {
    /// No proof was asked for.
    #[default]
    None,
    /// The contract was not asked for explicitly, and something is missing.
    Claimed {
        /// The parts that are missing.
        missing: Vec<String>,
    },
    /// The child states that the work is done.
    Attested,
    /// The child's statement is complete and agrees with what was seen.
    Checked,
    /// Every command has succeeded.
    Verified,
    /// A reviewer found nothing that stands in the way.
    Reviewed,
    /// Something that was asked for is missing.
    Rejected {
        /// The reason for the rejection.
        why: String,
    },
}

impl Accepted {
    /// Returns the word for the verdict.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Claimed { .. } => "claimed",
            Self::Attested => "attested",
            Self::Checked => "checked",
            Self::Verified => "verified",
            Self::Reviewed => "reviewed",
            Self::Rejected { .. } => "rejected",
        }
    }

    /// Returns true if the work does not count.
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected { .. })
    }

    /// Returns the verdict on work that has everything of a level.
    pub(crate) const fn of(level: AcceptanceLevel) -> Self {
        match level {
            AcceptanceLevel::None | AcceptanceLevel::Auto => Self::None,
            AcceptanceLevel::Attested => Self::Attested,
            AcceptanceLevel::Checked => Self::Checked,
            AcceptanceLevel::Verified => Self::Verified,
            AcceptanceLevel::Reviewed => Self::Reviewed,
        }
    }
}

impl CheckEnd {
    /// Returns true if it succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Code(0))
    }
}

impl std::fmt::Display for CheckEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::NotStarted(why) => write!(f, "could not be started: {why}"),
            Self::Disregarded(why) => write!(f, "ended, which does not count: {why}"),
        }
    }
}

/// The evidence that a level asks for where none is listed.
const ATTESTED: &[Evidence] = &[];
const CHECKED: &[Evidence] = &[
    Evidence::ChangedFiles,
    Evidence::CommandsRun,
    Evidence::ResidualRisks,
    Evidence::NoStagedFiles,
];

/// The reason why an acceptance cannot be asked of a child.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// Nothing would be verified.
    #[error("`verified` needs commands in `verify`")]
    NoCommands,
    /// The engine does not show what the level compares.
    #[error(
        "`{level}` compares what the child says with what it ran, which {engine} does not tell: choose one of the engines {observed}"
    )]
    NotObserved {
        /// The level that was asked for.
        level: &'static str,
        /// The engine of the child.
        engine: String,
        /// The engines that show it.
        observed: String,
    },
    /// The review that is asked for is switched off.
    #[error("`reviewed` with `review: false` is impossible")]
    ReviewOff,
    /// No agent is named for the review.
    #[error("`reviewed` needs a reviewer: name an agent in `review.agent` or `runs.reviewer`")]
    NoReviewer,
}

impl Contract {
    /// Returns the contract for a child, or none if the acceptance asks nothing.
    pub fn of(
        acceptance: &Acceptance,
        author: &AuthorFacts,
    ) -> Result<Option<Self>, ContractError> {
        let usual = AcceptanceContract::default();
        let (level, asked) = match acceptance {
            Acceptance::Off => return Ok(None),
            Acceptance::Level(level) => (Some(*level), &usual),
            Acceptance::Contract(asked) => (asked.level, &**asked),
        };
        let asks_nothing = asked.criteria.is_empty()
            && asked.evidence.is_empty()
            && asked.verify.is_empty()
            && !matches!(asked.review, Some(AcceptanceReview::By(_)));
        let mut reasons = Vec::new();
        let is_said = level.is_some_and(|level| level != AcceptanceLevel::Auto);
        let (level, is_inferred) = match level {
            Some(AcceptanceLevel::None) => return Ok(None),
            Some(AcceptanceLevel::Auto) => (inferred(author, asked, &mut reasons), asks_nothing),
            None if asks_nothing => (inferred(author, asked, &mut reasons), true),
            None => (least_level(asked), false),
            Some(level) => (level, false),
        };
        let level = observed_level(level, is_said, asked, author, &mut reasons)?;
        if level == AcceptanceLevel::Verified && asked.verify.is_empty() {
            return Err(ContractError::NoCommands);
        }
        let review = review_of(level, asked, author)?;
        Ok(Some(Self {
            level,
            is_inferred,
            reasons,
            criteria: asked.criteria.clone(),
            not_observed: author.not_observed.as_ref().map(|it| it.engine.clone()),
            evidence: evidence_of(level, asked),
            verify: asked.verify.iter().map(Check::of).collect(),
            pinned: asked.pinned.clone(),
            review,
            stop_rules: asked.stop_rules.clone(),
            max_finalization_turns: match asked.max_finalization_turns {
                _ if !author.can_go_on || is_inferred => 0,
                Some(turns) => u32::try_from(turns).unwrap_or(u32::MAX),
                None => 1,
            },
        }))
    }

    /// Returns a contract that asks for nothing but that commands succeed.
    pub fn verified(verify: Vec<Check>, can_go_on: bool) -> Self {
        Self {
            level: AcceptanceLevel::Verified,
            is_inferred: false,
            not_observed: None,
            reasons: Vec::new(),
            criteria: Vec::new(),
            evidence: Vec::new(),
            verify,
            pinned: None,
            review: None,
            stop_rules: Vec::new(),
            max_finalization_turns: u32::from(can_go_on),
        }
    }

    /// The name of the contract: the digest of all of it.
    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// The digest of its commands, by which a person approves them. None when it runs none.
    pub fn commands_digest(&self) -> Option<Digest> {
        let bytes = serde_json::to_vec(&self.verify).unwrap_or_default();
        (!self.verify.is_empty()).then(|| Digest::of(&bytes))
    }

    /// The word for its level.
    pub fn level_word(&self) -> &'static str {
        word(self.level)
    }

    /// Returns true if something is asked that only the child can say.
    pub fn wants_report(&self) -> bool {
        self.level == AcceptanceLevel::Attested
            || !self.criteria.is_empty()
            || !self.evidence.is_empty()
    }

    /// The level of work that no reviewer has looked at.
    pub(crate) fn level_without_review(&self) -> AcceptanceLevel {
        if !self.verify.is_empty() {
            AcceptanceLevel::Verified
        } else if self.not_observed.is_some() {
            AcceptanceLevel::Attested
        } else {
            AcceptanceLevel::Checked
        }
    }

    /// Returns the text about the contract that the child is told.
    pub fn section(&self) -> String {
        let mut lines = vec![format!(
            "What your work is judged by (level `{}`):",
            word(self.level)
        )];
        for criterion in &self.criteria {
            let may = match criterion.severity {
                Some(CriterionSeverity::Recommended) => " (recommended)",
                _ => "",
            };
            let by = if criterion.evidence.is_empty() {
                String::new()
            } else {
                format!(" Shown by: {}.", criterion.evidence.join(", "))
            };
            lines.push(format!("- {}{may}: {}{by}", criterion.id, criterion.must));
        }
        if !self.verify.is_empty() {
            lines.push(
                "Your work counts only when it holds: after you have ended, these commands are run, and each has to \
succeed. What you say about them is not asked."
                    .to_owned(),
            );
            let commands = self.verify.iter();
            lines.extend(commands.map(|check| format!("- `{}`", check.line())));
        }
        if let Some(review) = &self.review {
            let focus = review.focus.as_ref();
            let focus = focus.map_or_else(String::new, |focus| format!(", above all at: {focus}"));
            lines.push(format!(
                "Somebody else then looks at what you changed{focus}."
            ));
        }
        if !self.stop_rules.is_empty() {
            lines.push("Stop and say so when one of these is the case:".to_owned());
            lines.extend(self.stop_rules.iter().map(|rule| format!("- {rule}")));
        }
        if self.wants_report() {
            lines.push(format!(
                "When the work is done, report on it by calling `acceptance_report`; where there is no such tool, end your \
last message with a fenced block tagged `{REPORT_TAG}` with the same JSON. Say only what is so: it is compared with the \
files, with what is staged, and with the commands that you really ran. The form, for you to fill in:"
            ));
            lines.push(format!("```{REPORT_TAG}\n{}\n```", self.sample()));
        }
        lines.join("\n")
    }

    /// A report in the form that is asked for.
    fn sample(&self) -> String {
        let mut sample = serde_json::Map::new();
        let criteria: Vec<serde_json::Value> = self
            .criteria
            .iter()
            .map(|criterion| {
                serde_json::json!({ "id": criterion.id, "status": "satisfied", "evidence": "how that is known" })
            })
            .collect();
        if !criteria.is_empty() {
            sample.insert("criteriaSatisfied".to_owned(), criteria.into());
        }
        let evidence = if self.evidence.is_empty() && self.criteria.is_empty() {
            &[Evidence::ManualNotes, Evidence::ResidualRisks][..]
        } else {
            &self.evidence
        };
        for kind in evidence {
            sample.insert(kind.report_field().to_owned(), example_of(*kind));
        }
        serde_json::to_string_pretty(&sample).unwrap_or_default()
    }
}

fn example_of(kind: Evidence) -> serde_json::Value {
    use serde_json::json;
    match kind {
        Evidence::ChangedFiles => json!(["path/of/a/changed/file"]),
        Evidence::TestsAdded => json!(["path/of/a/test"]),
        Evidence::CommandsRun => {
            json!([{ "command": "the line as you ran it", "result": "passed", "summary": "what it showed" }])
        }
        Evidence::ValidationOutput => json!(["what a check printed"]),
        Evidence::ResidualRisks => {
            json!(["what may still go wrong; an empty list when nothing may"])
        }
        Evidence::NoStagedFiles => json!(true),
        Evidence::DiffSummary => json!("what was changed, in words"),
        Evidence::ReviewFindings => json!(["what you found; an empty list when nothing"]),
        Evidence::ManualNotes => json!("whatever else should be known"),
    }
}

fn word(level: AcceptanceLevel) -> &'static str {
    Accepted::of(level).word()
}

/// Returns the least level that has everything which is asked.
fn least_level(asked: &AcceptanceContract) -> AcceptanceLevel {
    if matches!(asked.review, Some(AcceptanceReview::By(_))) {
        AcceptanceLevel::Reviewed
    } else if asked.verify.is_empty() {
        AcceptanceLevel::Checked
    } else {
        AcceptanceLevel::Verified
    }
}

/// Returns the level of a child for which no more than `auto` is asked.
fn inferred(
    author: &AuthorFacts,
    asked: &AcceptanceContract,
    reasons: &mut Vec<String>,
) -> AcceptanceLevel {
    let role = author.role.as_deref().unwrap_or_default().to_lowercase();
    let reads = ["reviewer", "reader", "read-only", "scout", "researcher"];
    let writes = match role.as_str() {
        "" => author.can_write,
        role => author.can_write && !reads.contains(&role),
    };
    if !writes {
        reasons.push(if author.can_write {
            format!("its `acceptanceRole` is {role}: it must not change anything")
        } else {
            "it has no tool that changes files".to_owned()
        });
        return AcceptanceLevel::Attested;
    }
    reasons.push("it can change files".to_owned());
    let risks = [
        (author.background, "it runs in the background"),
        (author.fan_out, "it is one of many created from a list"),
        (role == "risky", "its `acceptanceRole` is risky"),
    ];
    let risks: Vec<&str> = risks.iter().filter(|it| it.0).map(|it| it.1).collect();
    if risks.is_empty() {
        return AcceptanceLevel::Checked;
    }
    reasons.extend(risks.iter().map(|&risk| risk.to_owned()));
    let named = matches!(&asked.review, Some(AcceptanceReview::By(by)) if by.agent.is_some());
    let is_off = matches!(asked.review, Some(AcceptanceReview::Off(_)));
    if (named || author.reviewer.is_some()) && !is_off {
        return AcceptanceLevel::Reviewed;
    }
    reasons.push("no reviewer is named (`runs.reviewer`)".to_owned());
    AcceptanceLevel::Checked
}

/// Returns the level that is possible with the child's engine. If the engine does not report calls, a level that compares
/// them with what the child says is refused if it was asked for; otherwise the child is taken at its word.
fn observed_level(
    level: AcceptanceLevel,
    is_said: bool,
    asked: &AcceptanceContract,
    author: &AuthorFacts,
    reasons: &mut Vec<String>,
) -> Result<AcceptanceLevel, ContractError> {
    let compares_calls = level == AcceptanceLevel::Checked
        || evidence_of(level, asked).contains(&Evidence::CommandsRun);
    let Some(unobserved) = author.not_observed.as_ref().filter(|_| compares_calls) else {
        return Ok(level);
    };
    let UnobservedCalls { engine, observed } = unobserved;
    if is_said {
        return Err(ContractError::NotObserved {
            level: word(level),
            engine: engine.clone(),
            observed: observed.join(", "),
        });
    }
    reasons.push(format!("not observed: {engine} does not tell what it runs"));
    Ok(match level {
        AcceptanceLevel::Checked => AcceptanceLevel::Attested,
        level => level,
    })
}

fn evidence_of(level: AcceptanceLevel, asked: &AcceptanceContract) -> Vec<Evidence> {
    if asked.evidence.is_empty() {
        usual_evidence(level, asked).to_vec()
    } else {
        asked.evidence.clone()
    }
}

fn usual_evidence(level: AcceptanceLevel, asked: &AcceptanceContract) -> &'static [Evidence] {
    match level {
        // Criteria name their own evidence.
        AcceptanceLevel::Checked if asked.criteria.is_empty() => CHECKED,
        AcceptanceLevel::Reviewed if asked.criteria.is_empty() && asked.verify.is_empty() => {
            CHECKED
        }
        _ => ATTESTED,
    }
}

fn review_of(
    level: AcceptanceLevel,
    asked: &AcceptanceContract,
    author: &AuthorFacts,
) -> Result<Option<ReviewPlan>, ContractError> {
    let by = match &asked.review {
        Some(AcceptanceReview::Off(_)) if level == AcceptanceLevel::Reviewed => {
            return Err(ContractError::ReviewOff);
        }
        Some(AcceptanceReview::By(by)) => Some(by),
        None if level == AcceptanceLevel::Reviewed => None,
        Some(AcceptanceReview::Off(_)) | None => return Ok(None),
    };
    let agent = by.and_then(|by| by.agent.clone());
    let Some(agent) = agent.or_else(|| author.reviewer.clone()) else {
        return Err(ContractError::NoReviewer);
    };
    Ok(Some(ReviewPlan {
        agent,
        focus: by.and_then(|by| by.focus.clone()),
        required: by.and_then(|by| by.required).unwrap_or(true),
    }))
}

impl Check {
    fn of(command: &VerifyCommand) -> Self {
        Self {
            id: command.id.clone(),
            command: match &command.program {
                VerifyProgram::Command(line) => ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
                VerifyProgram::Argv(words) => words.clone(),
            },
            timeout_ms: command.timeout_ms,
            cwd: command.cwd.clone(),
            env: command.env.clone(),
            allow_failure: command.allow_failure,
            network: command.network,
        }
    }

    /// Returns true if an end is good enough.
    pub fn is_met_by(&self, end: &CheckEnd) -> bool {
        end.is_success() || (self.allow_failure && matches!(end, CheckEnd::Code(_)))
    }

    /// The command as people read it.
    pub fn line(&self) -> String {
        match self.command.as_slice() {
            [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
    }

    /// Everything that its digest is of, in lines for the person who approves it.
    pub fn in_full(&self) -> Vec<String> {
        let words = match self.command.as_slice() {
            [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => in_one_line(line),
            words => {
                let words: Vec<String> = words.iter().map(|word| as_a_word(word)).collect();
                words.join(" ")
            }
        };
        let mut lines = vec![format!("it runs: {words}")];
        let id = in_one_line(&self.id);
        if id != words {
            lines.push(format!("  called {id}"));
        }
        if let Some(folder) = &self.cwd {
            lines.push(format!("  in the folder {}", as_a_word(folder)));
        }
        let variables = self.env.iter();
        lines.extend(variables.map(|(name, value)| {
            format!(
                "  with the variable {}={}",
                as_a_word(name),
                as_a_word(value)
            )
        }));
        if let Some(limit) = self.timeout_ms {
            lines.push(format!("  for {limit} ms at most"));
        }
        if self.allow_failure {
            lines.push("  and any exit code is good enough (`allowFailure`)".to_owned());
        }
        if self.network {
            lines.push("  with the network".to_owned());
        }
        lines
    }
}

/// A text in one line, from which it can be read back: one with something that ends a line or is not seen is in quotes,
/// with escapes.
fn in_one_line(text: &str) -> String {
    let is_shown = !text.contains(['\n', '\t']) && visible(text) == text;
    if is_shown && !text.is_empty() && !text.starts_with('"') {
        text.to_owned()
    } else {
        in_quotes(text)
    }
}

fn in_quotes(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = visible(&escaped).replace('\n', "\\n");
    format!("\"{}\"", escaped.replace('\t', "\\t"))
}

/// The same for one word of several.
fn as_a_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        in_quotes(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::report::report_in;

    fn of(value: &Value, author: &AuthorFacts) -> Result<Option<Contract>, ContractError> {
        Contract::of(&Acceptance::parse(value).unwrap(), author)
    }

    #[test]
    fn commands_that_differ_are_shown_differently_to_the_one_who_approves_them() {
        let plain = Check {
            id: "t".to_owned(),
            command: ["/bin/sh", "-c", "make test"].map(str::to_owned).to_vec(),
            timeout_ms: None,
            cwd: None,
            env: BTreeMap::new(),
            allow_failure: false,
            network: false,
        };
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
        let mut all = vec![plain.clone()];
        let lines = [
            "make test ",
            "true #\\n rm",
            "true #\n rm",
            "\"true #\\n rm\"",
            "a\tb",
            "a\\tb",
            "a\u{202e}b",
            "",
        ];
        all.extend(lines.map(|line| Check {
            command: words(&["/bin/sh", "-c", line]),
            ..plain.clone()
        }));
        let argv: [&[&str]; 5] = [
            &["make", "it"],
            &["make it"],
            &["make", "it", ""],
            &["/bin/sh", "-x", "make test"],
            &["\"make", "it\""],
        ];
        all.extend(argv.map(|argv| Check {
            command: words(argv),
            ..plain.clone()
        }));
        for name in ["LD_PRELOAD", "PATH", "MAKEFLAGS"] {
            let env = |value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
            all.extend(["./x", "./x y", "\u{1b}[2K", ""].map(|value| Check {
                env: env(value),
                ..plain.clone()
            }));
        }
        all.push(Check {
            id: "u".to_owned(),
            ..plain.clone()
        });
        all.extend([1, 2].map(|limit| Check {
            timeout_ms: Some(limit),
            ..plain.clone()
        }));
        all.extend(["sub", "sub "].map(|folder| Check {
            cwd: Some(folder.to_owned()),
            ..plain.clone()
        }));
        all.push(Check {
            allow_failure: true,
            ..plain.clone()
        });
        all.push(Check {
            network: true,
            ..plain.clone()
        });
        let shown: Vec<Vec<String>> = all.iter().map(Check::in_full).collect();
        for (at, lines) in shown.iter().enumerate() {
            assert!(!shown[..at].contains(lines), "{lines:?}");
            let whole = lines.join("");
            assert!(
                visible(&whole) == whole && !whole.contains(['\n', '\t']),
                "{whole}"
            );
        }
        assert_eq!(shown[0], ["it runs: make test", "  called t"]);
    }

    #[test]
    fn a_level_that_compares_calls_needs_an_engine_that_tells_them() {
        let author = AuthorFacts {
            not_observed: Some(UnobservedCalls {
                engine: "Gemini CLI".to_owned(),
                observed: vec!["native", "claude"],
            }),
            ..writer()
        };
        for said in [
            json!("checked"),
            json!({"level": "checked", "criteria": ["a"]}),
            json!({"level": "checked", "evidence": ["diff-summary"]}),
            json!({"level": "verified", "verify": ["true"], "evidence": ["commands-run"]}),
        ] {
            let why = of(&said, &author).unwrap_err().to_string();
            assert!(
                why.contains("Gemini CLI") && why.contains("native, claude"),
                "{why}"
            );
            assert!(of(&said, &writer()).is_ok());
        }
        for (said, level) in [
            (json!("auto"), AcceptanceLevel::Attested),
            (json!({"criteria": ["a"]}), AcceptanceLevel::Attested),
            (json!("attested"), AcceptanceLevel::Attested),
            (json!({"verify": ["true"]}), AcceptanceLevel::Verified),
        ] {
            let lowered = of(&said, &author).unwrap().unwrap();
            assert_eq!(lowered.level, level, "{said}");
            assert_eq!(
                lowered.not_observed.as_deref(),
                Some("Gemini CLI"),
                "{said}"
            );
            let is_lowered = of(&said, &writer()).unwrap().unwrap().level != level;
            let is_told = lowered
                .reasons
                .iter()
                .any(|it| it.starts_with("not observed"));
            assert_eq!(is_told, is_lowered, "{said}");
        }
    }

    fn writer() -> AuthorFacts {
        AuthorFacts {
            can_write: true,
            can_go_on: true,
            ..AuthorFacts::default()
        }
    }

    #[test]
    fn auto_is_decided_from_what_is_declared() {
        let reader = AuthorFacts::default();
        let background = AuthorFacts {
            background: true,
            ..writer()
        };
        let reviewed = AuthorFacts {
            reviewer: Some("judge".to_owned()),
            ..background.clone()
        };
        let scout = AuthorFacts {
            role: Some("scout".to_owned()),
            ..writer()
        };
        for (author, level, is_reviewed) in [
            (&reader, AcceptanceLevel::Attested, false),
            (&scout, AcceptanceLevel::Attested, false),
            (&writer(), AcceptanceLevel::Checked, false),
            (&background, AcceptanceLevel::Checked, false),
            (&reviewed, AcceptanceLevel::Reviewed, true),
        ] {
            let contract = of(&json!("auto"), author).unwrap().unwrap();
            assert_eq!(contract.level, level);
            assert_eq!(contract.review.is_some(), is_reviewed);
            assert!(contract.is_inferred && !contract.reasons.is_empty());
            assert_eq!(contract.max_finalization_turns, 0);
        }
        // A contract with parts spelled out beside `auto` is asked for explicitly.
        let value = json!({ "level": "auto", "criteria": ["it works"] });
        assert!(!of(&value, &writer()).unwrap().unwrap().is_inferred);
    }

    #[test]
    fn a_level_follows_from_what_is_asked_and_evidence_is_what_was_listed() {
        for (value, level, evidence) in [
            (json!("checked"), AcceptanceLevel::Checked, 4),
            (json!("attested"), AcceptanceLevel::Attested, 0),
            (
                json!({"evidence": ["changed-files"]}),
                AcceptanceLevel::Checked,
                1,
            ),
            (
                json!({"level": "checked", "evidence": ["tests-added"]}),
                AcceptanceLevel::Checked,
                1,
            ),
            (json!({"verify": ["true"]}), AcceptanceLevel::Verified, 0),
            (
                json!({"verify": ["true"], "evidence": ["manual-notes"]}),
                AcceptanceLevel::Verified,
                1,
            ),
            (
                json!({"review": {"agent": "judge"}}),
                AcceptanceLevel::Reviewed,
                4,
            ),
            (json!({"criteria": ["x"]}), AcceptanceLevel::Checked, 0),
        ] {
            let contract = of(&value, &writer()).unwrap().unwrap();
            assert_eq!(
                (contract.level, contract.evidence.len()),
                (level, evidence),
                "{value}"
            );
            assert!(!contract.is_inferred);
        }
        for nothing in [
            json!(false),
            json!("none"),
            json!({"level": "none", "reason": "r"}),
        ] {
            assert_eq!(of(&nothing, &writer()), Ok(None));
        }
        for impossible in [
            json!("verified"),
            json!("reviewed"),
            json!({"level": "reviewed", "review": false}),
            json!({"level": "reviewed", "review": {"focus": "x"}}),
        ] {
            assert!(of(&impossible, &writer()).is_err(), "{impossible}");
        }
    }

    #[test]
    fn who_cannot_go_on_is_asked_nothing() {
        let author = AuthorFacts {
            can_go_on: false,
            ..writer()
        };
        let value = json!({"evidence": ["changed-files"], "maxFinalizationTurns": 4});
        assert_eq!(
            of(&value, &author).unwrap().unwrap().max_finalization_turns,
            0
        );
        assert_eq!(
            of(&value, &writer())
                .unwrap()
                .unwrap()
                .max_finalization_turns,
            4
        );
        assert_eq!(
            of(&json!("checked"), &writer())
                .unwrap()
                .unwrap()
                .max_finalization_turns,
            1
        );
    }

    #[test]
    fn the_form_that_a_child_is_shown_is_one_that_it_may_give() {
        for value in [
            json!("attested"),
            json!("checked"),
            json!({"criteria": ["a", {"id": "b", "must": "c"}], "evidence": ["tests-added", "diff-summary", "validation-output", "review-findings", "manual-notes"]}),
        ] {
            let contract = of(&value, &writer()).unwrap().unwrap();
            let found = report_in(&contract.section());
            let report = found.report.expect("the sample is a report");
            assert_eq!(found.notes, Vec::<String>::new());
            let seen = crate::evidence::Seen {
                report: Some(report),
                ..crate::evidence::Seen::default()
            };
            assert_eq!(contract.findings(&seen), Vec::new(), "{value}");
        }
        let contract = of(
            &json!({"verify": ["make test"], "stopRules": ["never"]}),
            &writer(),
        );
        let section = contract.unwrap().unwrap().section();
        assert!(section.contains("`make test`") && section.contains("- never"));
        assert!(!section.contains(REPORT_TAG));
    }

    #[test]
    fn commands_are_approved_by_what_they_run_alone() {
        let digest = |value: Value| of(&value, &writer()).unwrap().unwrap().commands_digest();
        let plain = digest(json!({"verify": ["make test"]}));
        assert!(plain.is_some());
        assert_eq!(
            plain,
            digest(json!({"verify": ["make test"], "criteria": ["x"]}))
        );
        assert_ne!(plain, digest(json!({"verify": ["make all"]})));
        assert_eq!(digest(json!("checked")), None);
    }
}
