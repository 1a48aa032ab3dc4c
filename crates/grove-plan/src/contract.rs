//! Whether work counts: what is asked of it, what was seen, and what that means.

use std::collections::BTreeMap;

use grove_spec::Digest;
use grove_spec::acceptance::{Acceptance, AcceptanceLevel, VerifyCommand, VerifyProgram};
use serde::{Deserialize, Serialize};

/// What is asked of a child's work before it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Commands that the runtime runs after the child, each of which has to succeed.
    pub verify: Vec<Check>,
}

/// A command that has to succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What it is called.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// Where it runs, below where the child works.
    pub cwd: Option<String>,
    /// Variables that it gets.
    pub env: BTreeMap<String, String>,
    /// Whether it may fail.
    pub allow_failure: bool,
    /// Whether it may use the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckEnd {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took longer than it may.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Which.
    pub id: String,
    /// How it ended.
    pub end: CheckEnd,
    /// How long it took.
    pub milliseconds: u64,
    /// The artifact with head and tail of what it printed.
    pub output: Digest,
    /// What kept it from the rest of the machine.
    pub sandbox: String,
}

/// Whether work counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Accepted {
    /// Nothing was asked.
    #[default]
    None,
    /// Every command succeeded.
    Verified,
    /// One did not.
    Rejected {
        /// Why.
        why: String,
    },
}

impl Accepted {
    /// The word for it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Verified => "verified",
            Self::Rejected { .. } => "rejected",
        }
    }

    /// Whether the work does not count.
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected { .. })
    }
}

impl CheckEnd {
    /// Whether it succeeded.
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
        }
    }
}

impl Contract {
    /// What an acceptance asks. None when it asks nothing; what cannot be asked is said.
    pub fn of(acceptance: &Acceptance) -> Result<Option<Self>, &'static str> {
        let (level, verify) = match acceptance {
            Acceptance::Off => return Ok(None),
            Acceptance::Level(level) => (Some(*level), &[][..]),
            Acceptance::Contract(contract) => (contract.level, contract.verify.as_slice()),
        };
        match level {
            Some(AcceptanceLevel::Reviewed) => Err("`reviewed` is not run by this version"),
            Some(AcceptanceLevel::Verified) if verify.is_empty() => {
                Err("`verified` needs commands in `verify`")
            }
            Some(AcceptanceLevel::None) => Ok(None),
            _ if verify.is_empty() => Ok(None),
            _ => Ok(Some(Self {
                verify: verify.iter().map(Check::of).collect(),
            })),
        }
    }

    /// Its name: the digest of its commands, by which a person approves it.
    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// What a child is told of it.
    pub fn section(&self) -> String {
        let commands = self
            .verify
            .iter()
            .map(|check| format!("- `{}`", check.line()));
        let commands: Vec<String> = commands.collect();
        format!(
            "Your work counts only when it holds: after you have ended, these commands are run, and each has to succeed. \
What you say about them is not asked.\n{}",
            commands.join("\n")
        )
    }

    /// What results mean.
    pub fn judge(&self, results: &[CheckResult]) -> Accepted {
        for check in &self.verify {
            let result = results.iter().find(|result| result.id == check.id);
            let why = match result {
                None => format!("{} was not run", check.id),
                Some(result) if !result.end.is_success() && !check.allow_failure => {
                    format!("{} (`{}`) {}", check.id, check.line(), result.end)
                }
                Some(_) => continue,
            };
            return Accepted::Rejected { why };
        }
        Accepted::Verified
    }
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

    /// The command as people read it.
    pub fn line(&self) -> String {
        match self.command.as_slice() {
            [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, allow_failure: bool) -> Check {
        Check {
            id: id.to_owned(),
            command: vec!["true".to_owned()],
            timeout_ms: None,
            cwd: None,
            env: BTreeMap::new(),
            allow_failure,
            network: false,
        }
    }

    fn result(id: &str, end: CheckEnd) -> CheckResult {
        CheckResult {
            id: id.to_owned(),
            end,
            milliseconds: 1,
            output: Digest::of(b""),
            sandbox: "none".to_owned(),
        }
    }

    #[test]
    fn work_counts_only_when_every_command_was_seen_to_succeed() {
        let contract = Contract {
            verify: vec![check("a", false), check("b", true)],
        };
        let fine = || result("a", CheckEnd::Code(0));
        for (results, is_accepted) in [
            (vec![fine(), result("b", CheckEnd::Code(0))], true),
            (vec![fine(), result("b", CheckEnd::Code(1))], true),
            (vec![fine()], false),
            (vec![], false),
            (
                vec![
                    result("a", CheckEnd::Code(1)),
                    result("b", CheckEnd::Code(0)),
                ],
                false,
            ),
            (
                vec![
                    result("a", CheckEnd::Signal(9)),
                    result("b", CheckEnd::Code(0)),
                ],
                false,
            ),
            (
                vec![
                    result("a", CheckEnd::TimedOut),
                    result("b", CheckEnd::Code(0)),
                ],
                false,
            ),
            (
                vec![
                    result("a", CheckEnd::NotStarted("x".to_owned())),
                    result("b", CheckEnd::Code(0)),
                ],
                false,
            ),
        ] {
            let accepted = contract.judge(&results);
            assert_eq!(accepted == Accepted::Verified, is_accepted, "{results:?}");
            assert_eq!(accepted.is_rejected(), !is_accepted);
        }
    }
}
