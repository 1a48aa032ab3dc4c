//! The report of a child on its own work: found in any form in which it was given, and put into one.

mod finding;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use finding::{lenient, places};

/// The tag of a fence, and the name of the tool, with which a report is given.
pub const REPORT_TAG: &str = "acceptance-report";

/// The note for a text that has no report at all.
pub(crate) const NO_REPORT: &str = "there is no report";
/// The statements of a child about its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// The statements about each criterion.
    pub criteria_satisfied: Vec<CriterionReport>,
    /// The files that it changed.
    pub changed_files: Option<Vec<String>>,
    /// The tests that it added or changed.
    pub tests_added_or_updated: Option<Vec<String>>,
    /// The commands that it ran.
    pub commands_run: Option<Vec<CommandReport>>,
    /// The texts that checks printed.
    pub validation_output: Option<Vec<String>>,
    /// Risks that the work leaves.
    pub residual_risks: Option<Vec<String>>,
    /// The statement that nothing is staged.
    pub no_staged_files: Option<bool>,
    /// A summary of the changes, in words.
    pub diff_summary: Option<String>,
    /// The findings of a review.
    pub review_findings: Option<Vec<String>>,
    /// Notes on anything else.
    pub manual_notes: Option<String>,
}

/// The statement of a child about one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionReport {
    /// The id of the criterion; none when the child did not say.
    pub id: Option<String>,
    /// The status that the child gives.
    pub status: CriterionStatus,
    /// The evidence for that status.
    pub evidence: String,
}

/// The status of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionStatus {
    /// The criterion is met.
    Satisfied,
    /// The criterion is not met.
    NotSatisfied,
    /// It does not apply.
    NotApplicable,
}

/// A command that a child says it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReport {
    /// The line that was run.
    pub command: String,
    /// The end that the child claims.
    pub result: CommandStatus,
}

/// The way in which a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandStatus {
    /// The command has succeeded.
    Passed,
    /// The command has failed.
    Failed,
    /// It was not run.
    NotRun,
    /// The report says it in a word that means none of the others.
    Unreadable,
}

/// A report as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundReport {
    /// The report, if one can be read.
    pub report: Option<Report>,
    /// Remarks on what was understood though it was written otherwise, or on why nothing could be read.
    pub notes: Vec<String>,
}

impl FoundReport {
    /// Returns true if there was nothing that could be taken for a report.
    pub fn is_absent(&self) -> bool {
        self.report.is_none() && self.notes == [NO_REPORT]
    }
}

impl Report {
    /// Returns the report with the statements of a later one.
    #[must_use]
    pub fn with(self, later: Self) -> Self {
        let mut criteria = later.criteria_satisfied;
        let is_new = |it: &CriterionReport| !criteria.iter().any(|said| said.id == it.id);
        let kept: Vec<CriterionReport> =
            self.criteria_satisfied.into_iter().filter(is_new).collect();
        criteria.extend(kept);
        Self {
            criteria_satisfied: criteria,
            changed_files: later.changed_files.or(self.changed_files),
            tests_added_or_updated: later.tests_added_or_updated.or(self.tests_added_or_updated),
            commands_run: later.commands_run.or(self.commands_run),
            validation_output: later.validation_output.or(self.validation_output),
            residual_risks: later.residual_risks.or(self.residual_risks),
            no_staged_files: later.no_staged_files.or(self.no_staged_files),
            diff_summary: later.diff_summary.or(self.diff_summary),
            review_findings: later.review_findings.or(self.review_findings),
            manual_notes: later.manual_notes.or(self.manual_notes),
        }
    }
}

/// Finds the report in a text of a child.
pub fn report_in(text: &str) -> FoundReport {
    let mut notes = Vec::new();
    for place in places(text) {
        let body = text.get(place.body.clone()).unwrap_or_default();
        let Some(value) = lenient(body) else {
            notes.push(format!("the {} is not JSON", place.kind));
            continue;
        };
        let found = report_of(&value);
        if found.report.is_some() {
            let mut notes: Vec<String> = place.note.map(str::to_owned).into_iter().collect();
            notes.extend(found.notes);
            return FoundReport {
                report: found.report,
                notes,
            };
        }
        if place.is_named || wrapped(&value).is_some() {
            notes.extend(found.notes);
        }
    }
    if notes.is_empty() {
        notes.push(NO_REPORT.to_owned());
    }
    FoundReport {
        report: None,
        notes,
    }
}

/// Returns a text of a child without its report.
pub fn without_report(text: &str) -> String {
    let place = places(text).into_iter().find(|place| {
        let body = text.get(place.body.clone()).unwrap_or_default();
        lenient(body).is_some_and(|value| report_of(&value).report.is_some())
    });
    let Some(place) = place else {
        return text.to_owned();
    };
    let before = text.get(..place.whole.start).unwrap_or_default().trim_end();
    let after = text.get(place.whole.end..).unwrap_or_default().trim();
    match (before.is_empty(), after.is_empty()) {
        (_, true) => before.to_owned(),
        (true, false) => after.to_owned(),
        (false, false) => format!("{before}\n\n{after}"),
    }
}

/// Reads a report that was given as data.
pub fn report_of(value: &Value) -> FoundReport {
    let inner = wrapped(value);
    // Some models put the object into a text.
    let inner = inner.map(|inner| {
        inner
            .as_str()
            .and_then(lenient)
            .unwrap_or_else(|| inner.clone())
    });
    let Some(fields) = inner.as_ref().unwrap_or(value).as_object() else {
        let notes = vec!["the report is not an object".to_owned()];
        return FoundReport {
            report: None,
            notes,
        };
    };
    let mut reader = Reader::default();
    let report = reader.report(fields);
    let says_something = report
        != Report {
            manual_notes: report.manual_notes.clone().filter(|_| reader.is_only_notes),
            ..Report::default()
        };
    FoundReport {
        report: says_something.then_some(report),
        notes: if says_something || !reader.notes.is_empty() {
            reader.notes
        } else {
            vec!["the report has none of the fields that a report has".to_owned()]
        },
    }
}

/// Returns the value that stands in an object under the name of a report, in any letters.
fn wrapped(value: &Value) -> Option<&Value> {
    let mut fields = value.as_object()?.iter();
    let inner =
        fields.find(|(key, _)| matches!(squeezed(key).as_str(), "acceptance" | "acceptancereport"));
    inner.map(|(_, inner)| inner)
}

/// Returns a name in small letters, without the characters between its words.
fn squeezed(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.collect::<String>().to_lowercase()
}

/// The fields of a report, and other names for them.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "criteriasatisfied",
        &["criteria", "criterion", "criteriastatus", "criteriaresults"],
    ),
    (
        "changedfiles",
        &["fileschanged", "files", "modifiedfiles", "changes"],
    ),
    (
        "testsaddedorupdated",
        &[
            "tests",
            "testsadded",
            "testsupdated",
            "addedtests",
            "newtests",
        ],
    ),
    ("commandsrun", &["commands", "commandsexecuted", "ran"]),
    (
        "validationoutput",
        &["validation", "testoutput", "validationoutputs"],
    ),
    (
        "residualrisks",
        &["risks", "risk", "residualrisk", "remainingrisks"],
    ),
    ("nostagedfiles", &["nothingstaged"]),
    ("diffsummary", &["summary", "diff"]),
    ("reviewfindings", &["findings", "review"]),
    ("manualnotes", &[]),
    ("notes", &["note", "comments"]),
];

#[derive(Default)]
struct Reader {
    notes: Vec<String>,
    /// Set if its notes stand only under `notes`, a name that alone does not make an object a report.
    is_only_notes: bool,
}

impl Reader {
    fn report(&mut self, fields: &Map<String, Value>) -> Report {
        let mut known: BTreeMap<&str, &Value> = BTreeMap::new();
        for (key, value) in fields {
            let squeezed = squeezed(key);
            let row = FIELDS
                .iter()
                .find(|(name, others)| *name == squeezed || others.contains(&squeezed.as_str()));
            match row {
                Some((name, _)) if !value.is_null() => {
                    known.entry(name).or_insert(value);
                }
                Some(_) => {}
                None => self.notes.push(format!("`{key}` is no field of a report")),
            }
        }
        let list = |name: &str| known.get(name).map(|value| texts(value));
        let lists = (
            list("changedfiles"),
            list("testsaddedorupdated"),
            list("validationoutput"),
            list("residualrisks"),
            list("reviewfindings"),
        );
        let text = |name: &str| {
            let text = known.get(name).map(|value| texts(value).join("\n"));
            text.filter(|text| !text.trim().is_empty())
        };
        let (manual, notes) = (text("manualnotes"), text("notes"));
        self.is_only_notes = manual.is_none() && notes.is_some();
        let diff_summary = text("diffsummary");
        let criteria = known.get("criteriasatisfied");
        let criteria = criteria.map(|value| self.criteria(value));
        let commands = known.get("commandsrun");
        Report {
            criteria_satisfied: criteria.unwrap_or_default(),
            changed_files: lists.0,
            tests_added_or_updated: lists.1,
            commands_run: commands.map(|value| commands_of(value)),
            validation_output: lists.2,
            residual_risks: lists.3,
            no_staged_files: known.get("nostagedfiles").and_then(|value| yes(value)),
            diff_summary,
            review_findings: lists.4,
            manual_notes: manual.or(notes),
        }
    }

    fn criteria(&mut self, value: &Value) -> Vec<CriterionReport> {
        let named = |id: &String, value: &Value| {
            let mut value = match value {
                Value::Object(fields) => fields.clone(),
                other => Map::from_iter([("status".to_owned(), other.clone())]),
            };
            value
                .entry("id")
                .or_insert_with(|| Value::String(id.clone()));
            Value::Object(value)
        };
        let items: Vec<Value> = match value {
            Value::Array(items) => items.clone(),
            Value::Object(fields) if !fields.contains_key("status") => {
                fields.iter().map(|(id, value)| named(id, value)).collect()
            }
            one => vec![one.clone()],
        };
        let items = items.iter().enumerate();
        items
            .filter_map(|(at, item)| {
                let read = criterion(item);
                if read.is_none() {
                    let note = format!("`criteriaSatisfied[{at}]` says neither yes nor no");
                    self.notes.push(note);
                }
                read
            })
            .collect()
    }
}

fn criterion(item: &Value) -> Option<CriterionReport> {
    if let Value::String(id) = item {
        // A bare name in the list says that the criterion is met, and gives no evidence.
        return Some(CriterionReport {
            id: Some(id.trim().to_owned()),
            status: CriterionStatus::Satisfied,
            evidence: String::new(),
        });
    }
    let first = |names: &[&str]| names.iter().find_map(|name| item.get(name));
    let status = first(&["status", "satisfied", "result", "met", "passed"])?;
    let evidence = first(&["evidence", "proof", "reason", "details", "note"]);
    let id = first(&["id", "criterion", "name"]).and_then(Value::as_str);
    let word = match status {
        Value::Bool(flag) => flag.to_string(),
        other => other
            .as_str()?
            .trim()
            .to_lowercase()
            .replace([' ', '_'], "-"),
    };
    let status = match word.as_str() {
        "satisfied" | "done" | "met" | "yes" | "true" | "pass" | "passed" | "ok" | "complete"
        | "completed" => CriterionStatus::Satisfied,
        "not-satisfied" | "unsatisfied" | "no" | "false" | "fail" | "failed" | "unmet"
        | "not-met" | "partial" | "incomplete" => CriterionStatus::NotSatisfied,
        "not-applicable" | "n/a" | "na" | "skipped" => CriterionStatus::NotApplicable,
        _ => return None,
    };
    Some(CriterionReport {
        id: id.map(|id| id.trim().to_owned()),
        status,
        evidence: evidence.map(|it| texts(it).join("; ")).unwrap_or_default(),
    })
}

fn commands_of(value: &Value) -> Vec<CommandReport> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let command = |item: &Value| {
        if let Value::String(line) = item {
            let command = line.clone();
            let result = CommandStatus::Passed;
            return Some(CommandReport { command, result });
        }
        let first = |names: &[&str]| names.iter().find_map(|name| item.get(name));
        let command = first(&["command", "cmd", "line"])?.as_str()?.to_owned();
        let result = first(&["result", "status", "exitCode", "exit_code", "outcome"]);
        // A command without an end is a claim that it was run; its success is compared with what was seen.
        let result = result.map_or(CommandStatus::Passed, status_of);
        Some(CommandReport { command, result })
    };
    items.iter().filter_map(command).collect()
}

/// Reads the end that a report gives for a command.
fn status_of(said: &Value) -> CommandStatus {
    let of_code = |code: i64| match code {
        0 => CommandStatus::Passed,
        _ => CommandStatus::Failed,
    };
    let text = match said {
        Value::Bool(true) => return CommandStatus::Passed,
        Value::Bool(false) => return CommandStatus::Failed,
        Value::Number(code) => return code.as_i64().map_or(CommandStatus::Unreadable, of_code),
        Value::String(text) => text.to_lowercase(),
        _ => return CommandStatus::Unreadable,
    };
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["not", "run" | "executed" | "started", ..] | ["notrun" | "skipped", ..] => {
            CommandStatus::NotRun
        }
        ["exit" | "exited" | "ended" | "code" | "status", rest @ ..] => {
            let code = rest.iter().find_map(|word| word.parse().ok());
            code.map_or(CommandStatus::Unreadable, of_code)
        }
        [code] if code.parse::<i64>().is_ok() => {
            code.parse().map_or(CommandStatus::Unreadable, of_code)
        }
        // `12 passed, 0 failed` begins with a count, and the word after it is the result.
        [count, word, ..] if count.parse::<u64>().is_ok_and(|count| count > 0) => word_of(word),
        [word, ..] => word_of(word),
        [] => CommandStatus::Unreadable,
    }
}

fn word_of(word: &str) -> CommandStatus {
    match word {
        "passed" | "pass" | "passes" | "passing" | "ok" | "success" | "successful"
        | "succeeded" | "green" | "done" | "yes" | "true" => CommandStatus::Passed,
        "failed" | "fail" | "fails" | "failing" | "failure" | "error" | "errors" | "errored"
        | "red" | "no" | "false" | "timeout" | "timed" | "crashed" | "aborted" => {
            CommandStatus::Failed
        }
        _ => CommandStatus::Unreadable,
    }
}

/// Reads a list of texts in any form in which it was written.
fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        Value::Object(fields) => {
            let names = [
                "path",
                "file",
                "name",
                "test",
                "risk",
                "text",
                "description",
            ];
            let named = names.iter().find_map(|name| fields.get(*name)?.as_str());
            Some(named.map_or_else(|| value.to_string(), str::to_owned))
        }
        other => Some(other.to_string()),
    };
    let all = match value {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect::<Vec<String>>(),
    };
    let is_filled = |text: &String| {
        let trimmed = text.trim();
        !trimmed.is_empty() && !["none", "n/a", "-"].contains(&trimmed.to_lowercase().as_str())
    };
    all.into_iter().filter(is_filled).collect()
}

fn yes(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) => match word.trim().to_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        r#"{"criteriaSatisfied":[{"id":"criterion-1","status":"satisfied","evidence":"e"}]}"#;

    fn satisfied(text: &str) -> bool {
        let found = report_in(text);
        let criteria = found.report.map(|report| report.criteria_satisfied);
        criteria.is_some_and(|all| {
            all.len() == 1 && all[0].status == CriterionStatus::Satisfied && all[0].evidence == "e"
        })
    }

    #[test]
    fn a_report_is_found_in_every_form_that_models_write() {
        let fence = |tag: &str, body: &str| format!("Done.\n\n```{tag}\n{body}\n```\n");
        for text in [
            fence(REPORT_TAG, WHOLE),
            fence("Acceptance-Report", WHOLE),
            fence("acceptance_report", WHOLE),
            fence("json", WHOLE),
            fence("", WHOLE),
            fence(REPORT_TAG, &format!("{{\"acceptance\": {WHOLE}}}")),
            fence("json", &format!("{{\"acceptance-report\": {WHOLE}}}")),
            format!("Done. {{\"Acceptance Report\": {WHOLE}}}"),
            fence(
                "json",
                &serde_json::json!({ "acceptance_report": WHOLE }).to_string(),
            ),
            fence(REPORT_TAG, "{\"x\": 1}") + &fence(REPORT_TAG, WHOLE),
            format!("Done.\n```{REPORT_TAG}\n{WHOLE}"),
            format!("Done. ACCEPTANCE_REPORT: {WHOLE} That is all."),
            format!("Done. {WHOLE}"),
            fence(
                REPORT_TAG,
                r#"{"criteria_satisfied":[{"id":"criterion-1","status":"satisfied","evidence":"e",},],}"#,
            ),
            fence(
                REPORT_TAG,
                r"{criteria: [{id: 'criterion-1', status: 'done', evidence: 'e'}]} // so",
            ),
            fence(
                REPORT_TAG,
                r#"{"criteria": {"criterion-1": {"met": true, "evidence": "e"}}}"#,
            ),
            format!(
                "```{REPORT_TAG}\n{{\"criteriaSatisfied\":[{{\"id\":\"criterion-1\",\"status\":\"satisfied\",\"evidence\":\"e"
            ),
        ] {
            assert!(satisfied(&text), "{text}: {:?}", report_in(&text));
        }
    }

    #[test]
    fn prose_and_other_data_are_no_report() {
        for text in [
            "",
            "All tests pass. Everything is satisfied.",
            "```json\n{\"name\": \"x\", \"version\": 1}\n```",
            "{\"notes\": \"n\"}",
            "```acceptance-report\n{\"notes\": \"n\"}\n```",
            "```acceptance-report\nall good\n```",
            "ACCEPTANCE_REPORT: none",
            "[1, 2, 3]",
        ] {
            let found = report_in(text);
            assert_eq!(found.report, None, "{text}");
            assert!(!found.notes.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_report_that_says_nothing_readable_under_its_name_is_named() {
        for text in [
            "{\"acceptance-report\": \"all good\"}",
            "```json\n{\"acceptanceReport\": {\"verdict\": \"fine\"}}\n```",
        ] {
            let found = report_in(text);
            assert_eq!(found.report, None, "{text}");
            assert_ne!(found.notes, [NO_REPORT], "{text}");
        }
    }

    #[test]
    fn a_result_is_read_as_it_was_meant_or_as_nothing() {
        use CommandStatus::{Failed, NotRun, Passed, Unreadable};
        for (result, expected) in [
            (serde_json::json!("passed"), Passed),
            (serde_json::json!("PASS (3 tests)"), Passed),
            (serde_json::json!("12 passed, 0 failed"), Passed),
            (serde_json::json!("exit code 0"), Passed),
            (serde_json::json!("0"), Passed),
            (serde_json::json!(0), Passed),
            (serde_json::json!(true), Passed),
            (serde_json::json!("1 failed, 11 passed"), Failed),
            (serde_json::json!("exited with 101"), Failed),
            (serde_json::json!("timed out"), Failed),
            (serde_json::json!(2), Failed),
            (serde_json::json!(false), Failed),
            (serde_json::json!("not_run"), NotRun),
            (serde_json::json!("not-run: no network"), NotRun),
            (serde_json::json!("skipped"), NotRun),
            (serde_json::json!("banana"), Unreadable),
            (serde_json::json!("0 passed"), Unreadable),
            (serde_json::json!("not passed"), Unreadable),
            (serde_json::json!("unknown"), Unreadable),
            (serde_json::json!(""), Unreadable),
            (serde_json::json!(null), Unreadable),
            (serde_json::json!({"code": 0}), Unreadable),
            (serde_json::json!(0.5), Unreadable),
        ] {
            assert_eq!(status_of(&result), expected, "{result}");
        }
    }

    #[test]
    fn the_answer_is_what_is_left() {
        let text = format!("The answer.\n\n```{REPORT_TAG}\n{WHOLE}\n```\n\nBye.");
        assert_eq!(without_report(&text), "The answer.\n\nBye.");
        let text = format!("The answer.\nACCEPTANCE_REPORT: {WHOLE}");
        assert_eq!(without_report(&text), "The answer.");
        for kept in ["The answer.", "```json\n{\"a\": 1}\n```"] {
            assert_eq!(without_report(kept), kept);
        }
    }

    #[test]
    fn values_are_understood_however_they_are_written() {
        let value = serde_json::json!({
            "files_changed": [{"path": "a.rs"}, "b.rs"],
            "tests": "none",
            "commands": ["make", {"cmd": "cargo test", "exitCode": 1}, {"command": "x", "result": "not-run"}],
            "risks": [],
            "noStagedFiles": "yes",
            "summary": "  ",
        });
        let report = report_of(&value).report.unwrap();
        assert_eq!(
            report.changed_files,
            Some(vec!["a.rs".to_owned(), "b.rs".to_owned()])
        );
        assert_eq!(report.tests_added_or_updated, Some(vec![]));
        let commands = report.commands_run.unwrap();
        let results: Vec<CommandStatus> = commands.iter().map(|it| it.result).collect();
        assert_eq!(
            results,
            [
                CommandStatus::Passed,
                CommandStatus::Failed,
                CommandStatus::NotRun
            ]
        );
        assert_eq!(report.residual_risks, Some(vec![]));
        assert_eq!(report.no_staged_files, Some(true));
        assert_eq!(report.diff_summary, None);
    }
}
