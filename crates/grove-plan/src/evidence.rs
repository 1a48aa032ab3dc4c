//! The observations of a child's work, beside what it says, and what they mean for its contract.

mod commands;

use grove_spec::acceptance::{AcceptanceLevel, Criterion, CriterionSeverity, Evidence};
use grove_spec::text::first_names;
use serde::{Deserialize, Serialize};

use crate::contract::{Check, CheckEnd, CheckResult, Contract};
use crate::report::{CriterionStatus, NO_REPORT, Report};
use commands::commands_compared;

/// Everything that is known of a child's work once nothing of it runs any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Seen {
    /// The results of the contract's commands.
    pub results: Vec<CheckResult>,
    /// The report of the child on its work.
    pub report: Option<Report>,
    /// Remarks on what was understood though it was written otherwise, or on why there is no report.
    pub notes: Vec<String>,
    /// The facts that the runtime found itself.
    pub facts: Facts,
    /// The rules by which it is judged.
    #[serde(default = "EvidenceRules::of_old_journals")]
    pub rules: EvidenceRules,
}

/// The rules by which what was seen is judged. A journal keeps those by which it was written, since the events after a
/// verdict follow from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EvidenceRules {
    /// Two commands are the same if one line has the other in it, and a command that may fail may also hang.
    First,
    /// Commands are compared step by step, and a command that may fail has to end by itself.
    #[default]
    Second,
}

impl EvidenceRules {
    /// The rules of journals that do not name any.
    const fn of_old_journals() -> Self {
        Self::First
    }

    /// Returns true if a check that ended so is met.
    fn are_met(self, check: &Check, end: &CheckEnd) -> bool {
        check.is_met_by(end) || (check.allow_failure && self == Self::First)
    }
}

/// The facts that the runtime found itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// The files that are not as they were; none where that cannot be seen.
    pub changed: Option<Vec<String>>,
    /// Files that tools of the child wrote.
    pub written: Vec<String>,
    /// Files that are staged and were not before; none where that cannot be seen.
    pub staged: Option<Vec<String>>,
    /// The commands that the child ran, in order; none where that cannot be seen.
    pub commands: Option<Vec<SeenCommand>>,
    /// Tests that the child says it added and that are in none of its changes.
    pub tests_not_found: Vec<String>,
}

/// A command that a child ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCommand {
    /// The line that was run.
    pub line: String,
    /// Set if it failed.
    pub failed: bool,
    /// Set if nothing is known of its end: it went on by itself, or was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unknown: bool,
}

/// Something that stands in the way of work counting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finding {
    /// Something that was asked for is not there. The child can be asked for it.
    Missing(String),
    /// A statement of the child is not true.
    Contradicted(String),
}

impl Finding {
    /// The text of the finding, for people and for the child.
    pub fn text(&self) -> &str {
        match self {
            Self::Missing(text) | Self::Contradicted(text) => text,
        }
    }

    /// Returns true if a statement of the child is not true.
    pub const fn is_contradiction(&self) -> bool {
        matches!(self, Self::Contradicted(_))
    }
}

impl Contract {
    /// Returns what stands in the way of work counting: missing parts, and statements of the child that are not true.
    pub fn findings(&self, seen: &Seen) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut missing = |text: String| findings.push(Finding::Missing(text));
        let usual = Report::default();
        let report = seen.report.as_ref().unwrap_or(&usual);
        if self.level == AcceptanceLevel::Attested && seen.report.is_none() {
            let why = seen.notes.iter().filter(|note| *note != NO_REPORT);
            let why: Vec<&str> = why.map(String::as_str).collect();
            missing(if why.is_empty() {
                NO_REPORT.to_owned()
            } else {
                format!("{NO_REPORT} ({})", why.join("; "))
            });
        }
        for criterion in &self.criteria {
            if criterion.severity != Some(CriterionSeverity::Recommended)
                && let Some(text) = self.unmet(criterion, report)
            {
                missing(text);
            }
        }
        for kind in &self.evidence {
            if let Some(text) = self.not_shown(*kind, report, &seen.facts) {
                missing(text);
            }
        }
        for check in &self.verify {
            let result = seen.results.iter().find(|result| result.id == check.id);
            match result {
                None => missing(format!("{} was not run", check.id)),
                Some(result) if !seen.rules.are_met(check, &result.end) => {
                    let (id, line, end) = (&check.id, check.line(), &result.end);
                    let with = match result.as_before.as_slice() {
                        [] => String::new(),
                        files => {
                            format!(", using {} as it was before the child", first_names(files))
                        }
                    };
                    missing(format!("{id} (`{line}`) {end}{with}"));
                }
                Some(_) => {}
            }
        }
        if seen.report.is_none() && self.wants_report() && !findings.is_empty() {
            let why = seen.notes.join("; ");
            if let Some(Finding::Missing(first)) = findings.first_mut()
                && !why.is_empty()
                && !first.contains(&why)
            {
                first.extend([" (", &why, ")"]);
            }
        }
        let contradictions = contradictions(report, &seen.facts);
        findings.extend(contradictions.into_iter().map(Finding::Contradicted));
        findings.extend(commands_compared(report, &seen.facts, seen.rules));
        findings
    }

    /// Returns the reason why a criterion does not count as met.
    fn unmet(&self, criterion: &Criterion, report: &Report) -> Option<String> {
        let id = &criterion.id;
        let said = report.criteria_satisfied.as_slice();
        let is_it = |given: &Option<String>| {
            let given = given.as_deref().unwrap_or_default();
            given.eq_ignore_ascii_case(id) || given.eq_ignore_ascii_case(&criterion.must)
        };
        let said = match (said.iter().find(|it| is_it(&it.id)), said) {
            (Some(named), _) => Some(named),
            // A single answer to a single criterion needs no name.
            (None, [only]) if self.criteria.len() == 1 => Some(only),
            (None, _) => None,
        };
        match said {
            None => Some(format!("{id} ({}) is not reported on", criterion.must)),
            Some(said) if said.status == CriterionStatus::NotApplicable => {
                Some(format!("{id} is said not to apply: {}", said.evidence))
            }
            Some(said) if said.status == CriterionStatus::NotSatisfied => Some(format!(
                "{id} is said not to be satisfied: {}",
                said.evidence
            )),
            Some(said) if said.evidence.trim().is_empty() => {
                Some(format!("{id} is said to be satisfied without evidence"))
            }
            Some(_) => None,
        }
    }

    /// Returns the reason why a kind of evidence is missing. What the runtime saw itself needs no statement of the child.
    fn not_shown(&self, kind: Evidence, report: &Report, facts: &Facts) -> Option<String> {
        let filled = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|it| !it.is_empty());
        let is_shown = match kind {
            Evidence::ChangedFiles => facts.changed.is_some() || report.changed_files.is_some(),
            Evidence::TestsAdded => filled(&report.tests_added_or_updated),
            Evidence::CommandsRun => {
                let seen = facts.commands.as_ref().is_some_and(|it| !it.is_empty());
                // An empty list is an answer: nothing had to be run. A missing list is none.
                seen || report.commands_run.is_some()
            }
            Evidence::ValidationOutput => {
                !self.verify.is_empty() || filled(&report.validation_output)
            }
            Evidence::ResidualRisks => report.residual_risks.is_some(),
            Evidence::NoStagedFiles => match &facts.staged {
                Some(staged) if staged.is_empty() => true,
                Some(staged) => {
                    let staged = staged.join(", ");
                    return Some(format!("files are staged: {staged}"));
                }
                None => report.no_staged_files == Some(true),
            },
            Evidence::DiffSummary => report.diff_summary.is_some(),
            Evidence::ReviewFindings => report.review_findings.is_some(),
            Evidence::ManualNotes => report.manual_notes.is_some(),
        };
        let field = kind.report_field();
        (!is_shown).then(|| format!("`{field}` is missing from the report"))
    }
}

/// Returns sentences on what a child states and what was seen, where the two differ.
fn contradictions(report: &Report, facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    if let (Some(claimed), Some(changed)) = (&report.changed_files, &facts.changed) {
        let is_so = |claim: &&String| {
            let mut known = changed.iter().chain(&facts.written);
            path_of(claim).is_none_or(|path| known.any(|file| is_same(&path, file)))
        };
        for claim in claimed.iter().filter(|claim| !is_so(claim)) {
            let seen = listed(changed);
            all.push(format!(
                "it says that it changed {claim}; changed were: {seen}"
            ));
        }
    }
    let staged = facts.staged.as_ref().filter(|staged| !staged.is_empty());
    if let (Some(true), Some(staged)) = (report.no_staged_files, staged) {
        let seen = listed(staged);
        all.push(format!(
            "it says that nothing is staged; staged are: {seen}"
        ));
    }
    let lines = facts.tests_not_found.iter();
    all.extend(lines.map(|test| {
        format!("it says that it added the test {test}, which is in none of its changes")
    }));
    all
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown = names.iter().take(20).cloned().collect::<Vec<_>>();
    shown.join(", ")
}

/// The path that a line of a report names; none when it names none.
pub(crate) fn path_of(claim: &str) -> Option<String> {
    let claim = claim.trim().trim_start_matches(['-', '*']).trim();
    let first = claim.split_whitespace().next()?;
    let first = first.split("::").next().unwrap_or(first);
    let first = first.trim_matches(['`', '"', '\'', '(', ')', ',', ';', ':']);
    let first = first.split('#').next().unwrap_or(first);
    // `file.rs:12` names a line of a file.
    let first = match first.rsplit_once(':') {
        Some((file, line)) if line.chars().all(|c| c.is_ascii_digit()) => file,
        _ => first,
    };
    let first = first.strip_prefix("./").unwrap_or(first);
    let is_path = first.contains('/')
        || first
            .rsplit_once('.')
            .is_some_and(|(stem, end)| !stem.is_empty() && (1..=8).contains(&end.len()));
    is_path.then(|| first.to_owned())
}

/// Returns true if a path that was said is a file, or a folder of it.
pub(crate) fn is_same(said: &str, file: &str) -> bool {
    let said = said.trim_end_matches('/');
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    ends(said, file) || ends(file, said) || file.starts_with(&format!("{said}/"))
}

/// The tests that a report names and that are in none of the changes: neither a changed file nor a word of an added line.
pub fn tests_not_found(report: &Report, changed: &[String], patch: &str) -> Vec<String> {
    let claimed = report.tests_added_or_updated.iter().flatten();
    let is_found = |claim: &&String| {
        let by_path =
            path_of(claim).is_some_and(|path| changed.iter().any(|file| is_same(&path, file)));
        let name = claim.split("::").last().unwrap_or(claim);
        let name = name.trim().trim_matches(['`', '"', '\'', '(', ')']);
        let mut added = patch.lines().filter(|line| line.starts_with('+'));
        by_path || (name.len() >= 3 && added.any(|line| line.contains(name)))
    };
    claimed.filter(|claim| !is_found(claim)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use grove_spec::Digest;
    use grove_spec::acceptance::Acceptance;
    use serde_json::{Value, json};

    use super::*;
    use crate::contract::{AuthorFacts, CheckEnd};
    use crate::report::report_of;

    fn contract(value: &Value) -> Contract {
        let acceptance = Acceptance::parse(value).unwrap();
        let author = AuthorFacts {
            can_write: true,
            ..AuthorFacts::default()
        };
        Contract::of(&acceptance, &author).unwrap().unwrap()
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn seen(report: &Value) -> Seen {
        Seen {
            report: report_of(report).report,
            facts: Facts {
                changed: Some(strings(&["src/a.rs", "tests/b.rs"])),
                staged: Some(Vec::new()),
                commands: Some(vec![
                    SeenCommand {
                        line: "cd x && cargo test".to_owned(),
                        failed: false,
                        end_unknown: false,
                    },
                    SeenCommand {
                        line: "make".to_owned(),
                        failed: true,
                        end_unknown: false,
                    },
                ]),
                ..Facts::default()
            },
            ..Seen::default()
        }
    }

    #[test]
    fn what_a_child_says_is_compared_with_what_was_seen() {
        let contract = contract(&json!("checked"));
        for (report, contradicted) in [
            (
                json!({"changedFiles": ["src/a.rs", "./tests/b.rs: new test"], "residualRisks": []}),
                false,
            ),
            (
                json!({"changedFiles": ["/somewhere/src/a.rs"], "residualRisks": []}),
                false,
            ),
            (
                json!({"changedFiles": ["src/"], "residualRisks": []}),
                false,
            ),
            (
                json!({"changedFiles": ["src/other.rs"], "residualRisks": []}),
                true,
            ),
            (
                json!({"commandsRun": [{"command": "cargo  test", "result": "passed"}], "residualRisks": []}),
                false,
            ),
            (
                json!({"commandsRun": [{"command": "make", "result": "passed"}], "residualRisks": []}),
                true,
            ),
            (
                json!({"commandsRun": [{"command": "make", "result": "failed"}], "residualRisks": []}),
                false,
            ),
            (
                json!({"commandsRun": [{"command": "npm test", "result": "passed"}], "residualRisks": []}),
                true,
            ),
            (
                json!({"commandsRun": [{"command": "npm test", "result": "not-run"}], "residualRisks": []}),
                false,
            ),
        ] {
            let findings = contract.findings(&seen(&report));
            let is = findings.iter().any(Finding::is_contradiction);
            assert_eq!(is, contradicted, "{report}: {findings:?}");
            assert_eq!(findings.is_empty(), !contradicted, "{report}: {findings:?}");
        }
    }

    #[test]
    fn what_was_seen_needs_nobodys_word_and_the_rest_is_asked_for() {
        let contract = contract(&json!("checked"));
        // When the child says nothing, only what it alone can say is missing.
        let silent = Seen {
            report: None,
            notes: strings(&["there is no report"]),
            ..seen(&json!({}))
        };
        let findings = contract.findings(&silent);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].text().contains("residualRisks"));
        let mut staged = seen(&json!({"residualRisks": []}));
        staged.facts.staged = Some(strings(&["x"]));
        assert!(contract.findings(&staged)[0].text().contains("staged"));
        staged.report.as_mut().unwrap().no_staged_files = Some(true);
        assert!(
            contract
                .findings(&staged)
                .iter()
                .any(Finding::is_contradiction)
        );
        // Where nothing can be seen, the child's statement is what there is.
        let blind = Seen {
            facts: Facts::default(),
            ..seen(
                &json!({"changedFiles": ["a"], "commandsRun": [], "residualRisks": [], "noStagedFiles": true}),
            )
        };
        assert_eq!(contract.findings(&blind), Vec::new());
        let blind = Seen {
            facts: Facts::default(),
            ..silent
        };
        assert_eq!(contract.findings(&blind).len(), 4);
    }

    #[test]
    fn criteria_are_met_by_name_with_evidence() {
        let two = contract(
            &json!({"criteria": ["one", {"id": "x", "must": "two", "severity": "recommended"}, "three"]}),
        );
        let entry = |id: &str, status: &str, evidence: &str| json!({"id": id, "status": status, "evidence": evidence});
        for (entries, missing) in [
            (
                json!([
                    entry("criterion-1", "satisfied", "e"),
                    entry("criterion-3", "satisfied", "e")
                ]),
                0,
            ),
            (
                json!([
                    entry("CRITERION-1", "done", "e"),
                    entry("three", "satisfied", "e")
                ]),
                0,
            ),
            (json!([entry("criterion-1", "satisfied", "e")]), 1),
            (
                json!([
                    entry("criterion-1", "not-satisfied", "e"),
                    entry("criterion-3", "satisfied", "e")
                ]),
                1,
            ),
            (
                json!([
                    entry("criterion-1", "not-applicable", "e"),
                    entry("criterion-3", "satisfied", " ")
                ]),
                2,
            ),
            (json!([]), 2),
        ] {
            let findings = two.findings(&seen(
                &json!({"criteriaSatisfied": entries, "residualRisks": []}),
            ));
            assert_eq!(findings.len(), missing, "{entries}: {findings:?}");
        }
        let one = contract(&json!({"criteria": ["only"]}));
        let report = json!({"criteriaSatisfied": [{"status": "satisfied", "evidence": "e"}]});
        assert_eq!(one.findings(&seen(&report)), Vec::new());
    }

    #[test]
    fn work_counts_only_when_every_command_was_seen_to_succeed() {
        let contract = contract(&json!({"verify": [
            {"id": "a", "command": "true"},
            {"id": "b", "command": "true", "allowFailure": true},
        ]}));
        let result = |id: &str, end: CheckEnd| CheckResult {
            id: id.to_owned(),
            end,
            milliseconds: 1,
            output: Digest::of(b""),
            sandbox: "none".to_owned(),
            changed: Vec::new(),
            as_before: Vec::new(),
        };
        let fine = || result("b", CheckEnd::Code(0));
        for (results, is_fine) in [
            (vec![result("a", CheckEnd::Code(0)), fine()], true),
            (
                vec![
                    result("a", CheckEnd::Code(0)),
                    result("b", CheckEnd::Code(1)),
                ],
                true,
            ),
            (
                vec![
                    result("a", CheckEnd::Code(0)),
                    result("b", CheckEnd::TimedOut),
                ],
                false,
            ),
            (
                vec![
                    result("a", CheckEnd::Code(0)),
                    result("b", CheckEnd::Signal(15)),
                ],
                false,
            ),
            (
                vec![
                    result("a", CheckEnd::Code(0)),
                    result("b", CheckEnd::Disregarded("x".to_owned())),
                ],
                false,
            ),
            (vec![result("a", CheckEnd::Code(0))], false),
            (vec![], false),
            (vec![result("a", CheckEnd::Code(1)), fine()], false),
            (vec![result("a", CheckEnd::Signal(9)), fine()], false),
            (vec![result("a", CheckEnd::TimedOut), fine()], false),
            (
                vec![result("a", CheckEnd::NotStarted("x".to_owned())), fine()],
                false,
            ),
        ] {
            let seen = Seen {
                results,
                ..Seen::default()
            };
            assert_eq!(contract.findings(&seen).is_empty(), is_fine, "{seen:?}");
        }
    }

    #[test]
    fn a_command_that_failed_says_which_files_were_put_back_for_it() {
        let contract = contract(&json!({"verify": [{"id": "a", "command": "sh a.sh"}]}));
        let result = CheckResult {
            id: "a".to_owned(),
            end: CheckEnd::Code(1),
            milliseconds: 1,
            output: Digest::of(b""),
            sandbox: "none".to_owned(),
            changed: Vec::new(),
            as_before: vec!["a.sh".to_owned()],
        };
        let seen = Seen {
            results: vec![result],
            ..Seen::default()
        };
        let texts: Vec<String> = contract
            .findings(&seen)
            .iter()
            .map(|it| it.text().to_owned())
            .collect();
        assert_eq!(
            texts,
            ["a (`sh a.sh`) ended with code 1, using a.sh as it was before the child"]
        );
    }

    #[test]
    fn tests_are_looked_for_in_the_changes() {
        let changed = strings(&["tests/b.rs"]);
        let patch = "+++ b/tests/b.rs\n+fn it_works() {}\n-fn it_failed() {}\n";
        for (claim, is_found) in [
            ("tests/b.rs", true),
            ("tests/b.rs::anything", true),
            ("it_works", true),
            ("module::it_works", true),
            ("it_failed", false),
            ("tests/c.rs", false),
            ("never_written", false),
        ] {
            let report = report_of(&json!({"testsAddedOrUpdated": [claim]}))
                .report
                .unwrap();
            let missing = tests_not_found(&report, &changed, patch);
            assert_eq!(missing.is_empty(), is_found, "{claim}");
        }
    }
}
