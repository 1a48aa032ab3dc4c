//! What an `acceptance` may say.

use serde_json::Value;

const LEVELS: [&str; 6] = [
    "auto", "none", "attested", "checked", "verified", "reviewed",
];
const EVIDENCE: [&str; 9] = [
    "changed-files",
    "tests-added",
    "commands-run",
    "validation-output",
    "residual-risks",
    "no-staged-files",
    "diff-summary",
    "review-findings",
    "manual-notes",
];

/// Everything that is wrong with an `acceptance`; nothing when it can be used.
pub fn faults(value: &Value) -> Vec<String> {
    match value {
        Value::String(level) => level_fault(level).into_iter().collect(),
        Value::Bool(false) => Vec::new(),
        Value::Object(fields) => object_faults(fields),
        _ => vec!["`acceptance` is neither a level nor `false` nor an object".to_owned()],
    }
}

fn level_fault(level: &str) -> Option<String> {
    let known = LEVELS.contains(&level);
    (!known).then(|| {
        let level = crate::text::one_line(level);
        format!("`{level}` is no level of acceptance")
    })
}

fn object_faults(fields: &serde_json::Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    match fields.get("level") {
        None => {}
        Some(Value::String(level)) => {
            faults.extend(level_fault(level));
            let has_reason = fields
                .get("reason")
                .and_then(Value::as_str)
                .is_some_and(|reason| !reason.trim().is_empty());
            if level == "none" && !has_reason {
                faults.push("`acceptance` of level `none` has no `reason`".to_owned());
            }
        }
        Some(_) => faults.push("`acceptance.level` is not text".to_owned()),
    }
    let mut list = |key: &str| match fields.get(key) {
        None => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(_) => {
            faults.push(format!("`acceptance.{key}` is not a list"));
            Vec::new()
        }
    };
    let (_, evidence, verify) = (list("criteria"), list("evidence"), list("verify"));
    for (at, kind) in evidence.iter().enumerate() {
        if !kind.as_str().is_some_and(|kind| EVIDENCE.contains(&kind)) {
            faults.push(format!(
                "`acceptance.evidence[{at}]` is no kind of evidence"
            ));
        }
    }
    for (at, item) in verify.iter().enumerate() {
        let is_text = |key: &str| {
            let text = item.get(key).and_then(Value::as_str);
            text.is_some_and(|text| !text.trim().is_empty())
        };
        for key in ["id", "command"] {
            if !is_text(key) {
                faults.push(format!("`acceptance.verify[{at}]` has no `{key}`"));
            }
        }
        let timeout = item.get("timeoutMs");
        if timeout.is_some_and(|timeout| timeout.as_f64().is_none_or(|time| time <= 0.0)) {
            faults.push(format!(
                "`acceptance.verify[{at}].timeoutMs` is not a number above zero"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_said_and_what_may_not() {
        for (value, count) in [
            (json!("auto"), 0),
            (json!("none"), 0),
            (json!("reviewed"), 0),
            (json!("sometimes"), 1),
            (json!(false), 0),
            (json!(true), 1),
            (json!(3), 1),
            (json!({}), 0),
            (json!({"level": "none"}), 1),
            (json!({"level": "none", "reason": "a draft"}), 0),
            (json!({"level": 1}), 1),
            (json!({"criteria": "x", "evidence": 1, "verify": {}}), 3),
            (json!({"evidence": ["changed-files", "hearsay"]}), 1),
            (json!({"verify": [{"id": "t", "command": "make test"}]}), 0),
            (json!({"verify": [{"id": "t"}, 5]}), 3),
            (
                json!({"verify": [{"id": "t", "command": "c", "timeoutMs": 0}]}),
                1,
            ),
        ] {
            let found = faults(&value);
            assert_eq!(found.len(), count, "{value}: {found:?}");
        }
    }
}
