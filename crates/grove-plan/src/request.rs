//! What was asked for: `grove.request/1`.

use std::path::PathBuf;

use grove_spec::chain::{self, Step};
use grove_spec::money::millionths;
use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A request for one child.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// Who is asked.
    pub agent: String,
    /// For what.
    pub task: String,
    /// With which model.
    pub model: Option<String>,
    /// What drives the child.
    pub engine: Option<String>,
    /// Where it works; the folder of whoever asks when there is none.
    pub cwd: Option<PathBuf>,
    /// Wall time of the whole request in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Tokens that count.
    pub max_tokens: Option<u64>,
    /// Money, in millionths.
    pub max_cost: Option<u64>,
    /// `fresh`, or `fork` and, after a colon, the session that the children are forked from.
    pub context: Option<String>,
    /// The folder for files of sessions.
    pub session_dir: Option<PathBuf>,
    /// The JSON Schema that the output has to meet.
    pub output_schema: Option<Value>,
    /// Submitting the same key twice gives one run.
    pub submit_key: Option<String>,
    /// Whether nobody waits for it.
    pub background: bool,
    /// Whether each child has a working tree of its own.
    pub worktree: Option<bool>,
    /// Tasks side by side, as a chain's `parallel`.
    pub tasks: Option<Value>,
    /// Steps one after the other, as in a chain's file.
    pub chain: Option<Value>,
    /// The name of a saved chain.
    pub chain_name: Option<String>,
    /// How many children of a step run at a time.
    pub concurrency: Option<u64>,
    /// Whether the others of `tasks` are not begun any more once one was not done.
    pub fail_fast: Option<bool>,
    /// What is asked of the work of every child that asks nothing itself.
    pub acceptance: Option<Value>,
}

impl Request {
    /// The steps of `tasks` and `chain`; none for one child or a saved chain. Mistakes are named as in a chain's file.
    pub fn steps(&self) -> Result<Option<Vec<Step>>, Vec<Diagnostic>> {
        let steps = match (&self.tasks, &self.chain) {
            (Some(tasks), _) => json!([{ "parallel": tasks }]),
            (None, Some(chain)) => chain.clone(),
            (None, None) => return Ok(None),
        };
        let file = json!({ "name": "request", "description": "request", "chain": steps });
        let parsed = chain::parse(&file.to_string(), chain::Format::Json);
        let wrong: Vec<Diagnostic> = parsed
            .diagnostics
            .iter()
            .filter(|finding| finding.is_error())
            .cloned()
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut steps = parsed.chain.steps;
        if let (Some(_), [Step::Parallel(group)]) = (&self.tasks, steps.as_mut_slice()) {
            group.settings.concurrency = self.concurrency;
            group.settings.fail_fast = self.fail_fast;
        }
        Ok(Some(steps))
    }
}

/// How a field is read.
enum Form {
    Text,
    Number,
    /// `fresh`, `fork` or `fork:SESSION`.
    Context,
    /// An amount, kept in millionths.
    Money,
    Flag,
    Object,
    List,
    /// Whatever its own reader takes.
    Any,
    /// A field that requests have and this version does not run.
    NotYet(&'static str),
}

/// Every field of a request: its name, other names for it, and its form.
const FIELDS: &[(&str, &[&str], Form)] = &[
    ("agent", &[], Form::Text),
    ("task", &[], Form::Text),
    ("model", &[], Form::Text),
    ("engine", &[], Form::Text),
    ("cwd", &[], Form::Text),
    ("timeoutMs", &["maxRuntimeMs"], Form::Number),
    ("maxTokens", &[], Form::Number),
    ("outputSchema", &[], Form::Object),
    ("submitKey", &[], Form::Text),
    ("background", &["async"], Form::Flag),
    ("tasks", &[], Form::List),
    ("chain", &[], Form::List),
    ("chainName", &[], Form::Text),
    ("concurrency", &[], Form::Number),
    ("failFast", &[], Form::Flag),
    ("worktree", &[], Form::Flag),
    ("acceptance", &[], Form::Any),
    ("maxCost", &[], Form::Money),
    ("context", &[], Form::Context),
    ("sessionDir", &[], Form::Text),
    ("output", &[], Form::NotYet("take the result from the run")),
    (
        "skills",
        &["skill"],
        Form::NotYet("name skills in the agent's file"),
    ),
];

/// Reads a request. All that is wrong with it is said at once, each with its field.
pub fn parse_request(value: &Value) -> Result<Request, Vec<Diagnostic>> {
    let Value::Object(given) = value else {
        let message = "a request is a JSON object";
        return Err(vec![wrong(message, r#"write {"agent": "…", "task": "…"}"#)]);
    };
    let mut findings = Vec::new();
    let mut known = Map::new();
    for (key, value) in given {
        let field = FIELDS
            .iter()
            .find(|(name, others, _)| name == key || others.contains(&key.as_str()));
        let Some((name, _, form)) = field else {
            let names: Vec<String> = FIELDS.iter().map(|it| it.0.to_owned()).collect();
            let message = format!("`{key}` is no field of a request");
            findings.push(wrong(
                &message,
                &format!("known are {}", first_names(&names)),
            ));
            continue;
        };
        if let Some((message, help)) = misfit(key, form, value) {
            findings.push(wrong(&message, help));
        } else if known
            .insert((*name).to_owned(), kept(form, value))
            .is_some()
        {
            let message = format!("`{name}` is given twice, once as `{key}`");
            findings.push(wrong(&message, "keep one of them"));
        }
    }
    let request: Request = match serde_json::from_value(Value::Object(known)) {
        Ok(request) => request,
        Err(error) => {
            findings.push(wrong(&error.to_string(), "correct the value"));
            Request::default()
        }
    };
    let kinds = [
        ("agent", !request.agent.is_empty()),
        ("tasks", request.tasks.is_some()),
        ("chain", request.chain.is_some()),
        ("chainName", request.chain_name.is_some()),
    ];
    let kinds: Vec<&str> = kinds.iter().filter(|it| it.1).map(|it| it.0).collect();
    if let [one, other, ..] = kinds.as_slice() {
        let message = format!("a request has `{one}` or `{other}`, not both");
        findings.push(wrong(&message, "keep one of them"));
    }
    let needed = match kinds.first() {
        None => vec![("agent", &request.agent), ("task", &request.task)],
        Some(&"agent" | &"chainName") => vec![("task", &request.task)],
        Some(_) => Vec::new(),
    };
    for (name, text) in needed {
        if text.trim().is_empty() && findings.is_empty() {
            let message = format!("`{name}` is missing");
            findings.push(wrong(&message, &format!("add `{name}`")));
        }
    }
    if findings.is_empty() {
        Ok(request)
    } else {
        Err(findings)
    }
}

fn wrong(message: &str, help: &str) -> Diagnostic {
    Diagnostic::new(Code::RequestInvalid, message).with_help(help)
}

/// A value as it is kept.
fn kept(form: &Form, value: &Value) -> Value {
    match form {
        Form::Money => json!(value.as_f64().and_then(millionths)),
        _ => value.clone(),
    }
}

/// What is wrong with a value, and what to do.
fn misfit(key: &str, form: &Form, value: &Value) -> Option<(String, &'static str)> {
    let (fits, wanted, help) = match form {
        Form::Text => (value.is_string(), "a text", "put it into quotes"),
        Form::Number => (
            value.as_u64().is_some_and(|number| number > 0),
            "a whole number above zero",
            "write a number",
        ),
        Form::Context => (
            value
                .as_str()
                .is_some_and(|word| matches!(word, "fresh" | "fork") || word.starts_with("fork:")),
            "`fresh`, `fork` or `fork:RUN.NODE`",
            "write one of them",
        ),
        Form::Money => (
            value.as_f64().and_then(millionths).is_some(),
            "an amount above zero",
            "write a number",
        ),
        Form::Flag => (value.is_boolean(), "true or false", "write true or false"),
        Form::List => (value.is_array(), "a list", "write a list of objects"),
        Form::Object => (value.is_object(), "an object", "write a JSON Schema"),
        Form::Any => return None,
        Form::NotYet(help) => {
            return Some((format!("`{key}` is not run by this version"), help));
        }
    };
    (!fits).then(|| (format!("`{key}` has to be {wanted}"), help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_or_refused_with_the_field() {
        for (value, expected) in [
            (json!({"agent": "scout", "task": "look"}), Ok("look")),
            (
                json!({"agent": "scout", "task": "look", "maxRuntimeMs": 5}),
                Ok("look"),
            ),
            (json!({"agent": "scout"}), Err("`task` is missing")),
            (
                json!({"agent": 5, "task": "x"}),
                Err("`agent` has to be a text"),
            ),
            (
                json!({"agent": "a", "task": "x", "timeoutMs": 1, "maxRuntimeMs": 2}),
                Err("`timeoutMs` is given twice"),
            ),
            (
                json!({"agent": "a", "task": "x", "tasc": 1}),
                Err("`tasc` is no field of a request"),
            ),
            (
                json!({"maxCost": 0, "agent": "a", "task": "x"}),
                Err("`maxCost` has to be an amount above zero"),
            ),
            (
                json!({"agent": "a", "task": "x", "tasks": []}),
                Err("a request has `agent` or `tasks`, not both"),
            ),
            (json!({"chain": {}}), Err("`chain` has to be a list")),
            (json!({"tasks": [{"agent": "a", "task": "x"}]}), Ok("")),
            (json!([]), Err("a request is a JSON object")),
        ] {
            let read = parse_request(&value);
            match (read, expected) {
                (Ok(request), Ok(task)) => assert_eq!(request.task, task),
                (Err(findings), Err(message)) => {
                    assert!(findings[0].message.starts_with(message), "{findings:?}");
                }
                (read, expected) => panic!("{value}: {read:?} is not {expected:?}"),
            }
        }
        let all = json!({"agent": 1, "task": 2, "x": 3});
        assert_eq!(parse_request(&all).map_err(|all| all.len()), Err(3));
    }
}
