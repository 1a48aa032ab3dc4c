//! The form in which work is asked for: `grove.request/1`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use grove_spec::acceptance::Acceptance;
use grove_spec::chain::{self, ChainStep};
use grove_spec::money::millionths;
use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::plan::MaxOutput;

/// A request for one child.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// The agent that is asked.
    pub agent: String,
    /// The task for the agent.
    pub task: String,
    /// The model that it runs with.
    pub model: Option<String>,
    /// The engine that drives the child.
    pub engine: Option<String>,
    /// The folder in which it works; the caller's folder when there is none.
    pub cwd: Option<PathBuf>,
    /// Wall time of the whole request in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Tokens that all children together may use.
    pub max_tokens: Option<u64>,
    /// Money that it may cost, in millionths.
    pub max_cost: Option<u64>,
    /// `fresh`, or `fork` and, after a colon, the session that the children are forked from.
    pub context: Option<String>,
    /// The folder for files of sessions.
    pub session_dir: Option<PathBuf>,
    /// The folder in which the run's `{chain_dir}` is made.
    pub chain_dir: Option<PathBuf>,
    /// The scope of the agents and chains that may be used.
    pub agent_scope: Option<AgentScope>,
    /// The wish to ask a person before the start, which is never done.
    pub clarify: Option<bool>,
    /// The wish to upload the session, which is never done.
    pub share: Option<bool>,
    /// The JSON Schema that the output has to meet.
    pub output_schema: Option<Value>,
    /// The key of the submission: the same key twice gives one run.
    pub submit_key: Option<String>,
    /// Set if no caller waits for it.
    pub background: bool,
    /// Set if each child has a working tree of its own.
    pub worktree: Option<bool>,
    /// The commit that the trees of first steps begin from; HEAD by default.
    pub base_ref: Option<String>,
    /// Tasks side by side, as a chain's `parallel`.
    pub tasks: Option<Value>,
    /// Steps one after the other, as in a chain's file.
    pub chain: Option<Value>,
    /// The name of a saved chain.
    pub chain_name: Option<String>,
    /// The number of children of a step that run at a time.
    pub concurrency: Option<u64>,
    /// Set if no more of `tasks` begin once one of them was not done.
    pub fail_fast: Option<bool>,
    /// The acceptance for the work of every child that has none itself.
    pub acceptance: Option<Value>,
    /// The limits after which a person may have to look after a child.
    pub control: Option<Control>,
    /// The amount of an answer that is shown.
    pub max_output: Option<MaxOutput>,
    /// The wish to keep texts beside the run, which is always done.
    pub artifacts: Option<bool>,
    /// The name that is shown for the one child while it runs, as a task of a chain has it.
    pub label: Option<Value>,
    /// The file for its answer.
    pub output: Option<Value>,
    /// The form in which its caller gets an answer that is in a file.
    pub output_mode: Option<Value>,
    /// Files that it reads first.
    pub reads: Option<Value>,
    /// Set if it keeps a file about its progress.
    pub progress: Option<Value>,
    /// Skills in place of its agent's.
    pub skills: Option<Value>,
}

/// The scope of the agents and chains that a request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentScope {
    /// Those of the user.
    User,
    /// Those of the project.
    Project,
    /// Those of the user and of the project.
    Both,
}

/// The limits after which a person may have to look after a child; a missing one is as the configuration has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Control {
    /// Set if a person is told.
    pub enabled: Option<bool>,
    /// Silence of a model in milliseconds.
    pub needs_attention_after_ms: Option<NonZeroU64>,
    /// Silence of a running tool in milliseconds.
    pub tool_needs_attention_after_ms: Option<NonZeroU64>,
    /// Edits that fail in a row.
    pub failed_tool_attempts_before_attention: Option<NonZeroU64>,
    /// The channels on which the person is told; an empty list for none.
    pub notify_channels: Option<Vec<Channel>>,
}

/// A channel that tells that a child may need a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Channel {
    /// In the events of the run, which every view shows.
    Event,
}

impl Request {
    /// The fields of a request about its one child, by the names that a task of a chain has for them.
    fn of_one_child(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let fields = [
            ("label", &self.label),
            ("output", &self.output),
            ("outputMode", &self.output_mode),
            ("reads", &self.reads),
            ("progress", &self.progress),
            ("skills", &self.skills),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// Returns the steps of a request; none for a saved chain. Mistakes are named as in a chain's file.
    pub fn steps(&self) -> Result<Option<Vec<ChainStep>>, Vec<Diagnostic>> {
        let steps = match (&self.tasks, &self.chain) {
            (Some(tasks), _) => json!([{ "parallel": tasks }]),
            (None, Some(chain)) => chain.clone(),
            (None, None) if self.chain_name.is_some() => return Ok(None),
            (None, None) => {
                let mut task = json!({ "agent": self.agent });
                for (name, value) in self.of_one_child() {
                    task[name] = value.clone();
                }
                json!([task])
            }
        };
        let file = json!({ "name": "request", "description": "request", "chain": steps });
        let parsed = chain::parse(&file.to_string(), chain::ChainFormat::Json);
        // A caller waits for the answer to a request, so that a key without effect is a mistake to be mended now.
        let is_wrong =
            |finding: &&Diagnostic| finding.is_error() || finding.code == Code::ChainUnknownKey;
        let found = parsed.diagnostics.iter().filter(is_wrong);
        let mut wrong: Vec<Diagnostic> = found.cloned().collect();
        let asked = parsed.chain.steps.iter().flat_map(ChainStep::acceptances);
        let unknown = asked.flat_map(Acceptance::unknown_keys);
        wrong.extend(unknown.map(|message| Diagnostic::new(Code::RequestInvalid, message)));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut steps = parsed.chain.steps;
        if let (Some(_), [ChainStep::Parallel(group)]) = (&self.tasks, steps.as_mut_slice()) {
            group.settings.concurrency = self.concurrency;
            group.settings.fail_fast = self.fail_fast;
        }
        if let ([ChainStep::One(task)], false) = (steps.as_mut_slice(), self.agent.is_empty()) {
            // A task for one child has no variables.
            task.task = Some(self.task.clone());
        }
        Ok(Some(steps))
    }
}

/// The form in which a field is read.
enum Form {
    Text,
    Number,
    /// `fresh`, `fork` or `fork:SESSION`.
    Context,
    /// An amount, kept in millionths.
    Money,
    /// A word of [`AgentScope`].
    Scope,
    Flag,
    Object,
    List,
    /// Any value that its own reader takes; a model is told to give text.
    Any,
    /// An object with the names of [`Control`].
    Control,
    /// An object with `bytes` and `lines`.
    MaxOutput,
}

/// A field of a request.
pub(crate) struct RequestField {
    pub(crate) name: &'static str,
    /// Other names that it may have.
    pub(crate) others: &'static [&'static str],
    form: Form,
    /// The text about it that a model is told.
    pub(crate) meaning: &'static str,
    /// Set if the schema of the tool names it; the others are told by its help.
    pub(crate) in_schema: bool,
}

impl RequestField {
    /// Its type in a JSON Schema; none where there are several.
    pub(crate) const fn schema_type(&self) -> Option<&'static str> {
        match self.form {
            Form::Text | Form::Context | Form::Scope | Form::Any => Some("string"),
            Form::Number => Some("integer"),
            Form::Money => Some("number"),
            Form::Flag => Some("boolean"),
            Form::List => Some("array"),
            Form::Object => Some("object"),
            Form::Control | Form::MaxOutput => None,
        }
    }
}

const fn field(
    name: &'static str,
    others: &'static [&'static str],
    form: Form,
    in_schema: bool,
    meaning: &'static str,
) -> RequestField {
    RequestField {
        name,
        others,
        form,
        meaning,
        in_schema,
    }
}

/// Every field of a request.
pub(crate) const FIELDS: &[RequestField] = &[
    field(
        "agent",
        &[],
        Form::Text,
        true,
        "the agent that does the work",
    ),
    field(
        "task",
        &[],
        Form::Text,
        true,
        "what it should do; `{task}` in a chain",
    ),
    field("tasks", &[], Form::List, true, "tasks in parallel"),
    field(
        "chain",
        &[],
        Form::List,
        true,
        "steps in sequence; `{previous}` is the answer before",
    ),
    field(
        "chainName",
        &[],
        Form::Text,
        true,
        "the name of a saved chain",
    ),
    field("model", &[], Form::Text, true, "provider/id"),
    field(
        "engine",
        &[],
        Form::Text,
        true,
        "`native`, or a program such as `claude`",
    ),
    field("cwd", &[], Form::Text, true, "the folder to work in"),
    field(
        "worktree",
        &[],
        Form::Flag,
        true,
        "a git working tree for each child",
    ),
    field(
        "baseRef",
        &[],
        Form::Text,
        false,
        "the commit, branch or tag that working trees begin from; HEAD by default",
    ),
    field(
        "background",
        &["async"],
        Form::Flag,
        true,
        "return at once; `wait` later",
    ),
    field(
        "concurrency",
        &[],
        Form::Number,
        true,
        "children of a step at the same time",
    ),
    field(
        "failFast",
        &[],
        Form::Flag,
        false,
        "start no more of `tasks` after one has failed",
    ),
    field(
        "context",
        &[],
        Form::Context,
        true,
        "`fresh`, or `fork:RUN.NODE`: from that conversation",
    ),
    field(
        "timeoutMs",
        &["maxRuntimeMs"],
        Form::Number,
        true,
        "time limit for the whole run",
    ),
    field(
        "maxTokens",
        &[],
        Form::Number,
        true,
        "token limit for the whole run",
    ),
    field(
        "maxCost",
        &[],
        Form::Money,
        false,
        "cost limit for the whole run, in the currency of the prices",
    ),
    field(
        "acceptance",
        &[],
        Form::Any,
        true,
        "`attested`, `checked`, `verified` or `reviewed`; an object: see `help`",
    ),
    field(
        "outputSchema",
        &[],
        Form::Object,
        true,
        "a JSON Schema for the answer",
    ),
    field("label", &[], Form::Any, true, "the child's name in views"),
    field("output", &[], Form::Any, true, "a file for the answer"),
    field(
        "outputMode",
        &[],
        Form::Any,
        false,
        "`inline`, or `file-only`: the answer is only in the file",
    ),
    field("reads", &[], Form::Any, false, "files to read first"),
    field(
        "progress",
        &["includeProgress"],
        Form::Any,
        false,
        "keep a progress file",
    ),
    field(
        "skills",
        &["skill"],
        Form::Any,
        false,
        "skills to use instead of the agent's",
    ),
    field(
        "control",
        &[],
        Form::Control,
        false,
        "when a child is said to need attention",
    ),
    field(
        "maxOutput",
        &[],
        Form::MaxOutput,
        false,
        "how much of an answer is shown: `bytes`, `lines`",
    ),
    field(
        "sessionDir",
        &[],
        Form::Text,
        false,
        "the folder for session files",
    ),
    field(
        "chainDir",
        &[],
        Form::Text,
        false,
        "the folder in which `{chain_dir}` is created",
    ),
    field(
        "agentScope",
        &[],
        Form::Scope,
        false,
        "whose agents and chains to use: `user`, `project` or `both`",
    ),
    field(
        "clarify",
        &[],
        Form::Flag,
        false,
        "has no effect: no question is asked before a run starts",
    ),
    field(
        "share",
        &[],
        Form::Flag,
        false,
        "has no effect: nothing is uploaded",
    ),
    field(
        "artifacts",
        &[],
        Form::Flag,
        false,
        "has no effect: texts are always kept with the run",
    ),
    field(
        "submitKey",
        &[],
        Form::Text,
        false,
        "asking again with the same key returns the same run",
    ),
];

/// Reads a request. All faults in it are reported at once, each with its field.
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
            .find(|it| it.name == key || it.others.contains(&key.as_str()));
        let Some(RequestField { name, form, .. }) = field else {
            let names: Vec<String> = FIELDS.iter().map(|it| it.name.to_owned()).collect();
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
    if kinds.first().is_some_and(|kind| *kind != "agent") {
        for (name, _) in request.of_one_child() {
            let message = format!("`{name}` is about one child, and there are several");
            findings.push(wrong(&message, &format!("write `{name}` into the task")));
        }
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

/// Returns the fault of a value, and the advice about it.
fn misfit(key: &str, form: &Form, value: &Value) -> Option<(String, &'static str)> {
    let (fits, wanted, help) = match form {
        Form::Text => (value.is_string(), "text", "put it into quotes"),
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
        Form::Scope => (
            AgentScope::deserialize(value).is_ok(),
            "`user`, `project` or `both`",
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
        Form::Control => (
            Control::deserialize(value).is_ok(),
            "an object with `enabled`, `needsAttentionAfterMs`, `toolNeedsAttentionAfterMs`, \
`failedToolAttemptsBeforeAttention` or `notifyChannels`, which is a list of `event` or empty",
            "write {\"needsAttentionAfterMs\": 60000}",
        ),
        Form::MaxOutput => (
            MaxOutput::deserialize(value).is_ok(),
            "an object with `bytes` and `lines`, whole numbers",
            "write {\"bytes\": 20000, \"lines\": 500}",
        ),
    };
    (!fits).then(|| (format!("`{key}` has to be {wanted}"), help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_said_to_have_none() {
        for name in ["clarify", "artifacts", "share"] {
            let field = FIELDS.iter().find(|field| field.name == name).unwrap();
            assert!(field.meaning.starts_with("has no effect: "), "{name}");
        }
    }

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
                Err("`agent` has to be text"),
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
            (
                json!({"tasks": [{"agent": "a", "task": "x"}], "output": "x.md"}),
                Err("`output` is about one child"),
            ),
            (
                json!({"agent": "a", "task": "x", "control": {"needsAttentionAfterMs": 0}}),
                Err("`control` has to be an object with"),
            ),
            (
                json!({"agent": "a", "task": "x", "control": {"notifyChannels": ["intercom"]}}),
                Err("`control` has to be an object with"),
            ),
            (
                json!({"agent": "a", "task": "x", "maxOutput": {"bites": 5}}),
                Err("`maxOutput` has to be an object with"),
            ),
            (
                json!({"agent": "a", "task": "{outputs.x}", "output": "x.md", "maxOutput": {"lines": 5}, "control": {"notifyChannels": []}}),
                Ok("{outputs.x}"),
            ),
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
        let one = json!({"agent": "a", "task": "{previous}", "skill": "s", "outputMode": "loud"});
        let wrong = parse_request(&one).unwrap().steps().unwrap_err();
        assert!(wrong[0].message.contains("outputMode"), "{wrong:?}");
        // A key without effect in a chain's file is refused where a caller waits for the answer.
        for (steps, expected) in [
            (json!([{"agent": "a", "tsk": "x"}]), "`tsk`"),
            (
                json!([{"parallel": [{"agent": "a", "acceptence": "checked"}]}]),
                "`acceptence`",
            ),
            (
                json!([{"agent": "a", "acceptance": {"verfy": ["false"]}}]),
                "`acceptance.verfy` is not known",
            ),
        ] {
            let wrong = parse_request(&json!({ "chain": steps }))
                .unwrap()
                .steps()
                .unwrap_err();
            assert!(wrong[0].message.contains(expected), "{wrong:?}");
        }
        let fine = json!([{"agent": "a", "task": "x", "acceptance": {"verify": ["true"]}}]);
        assert!(
            parse_request(&json!({ "chain": fine }))
                .unwrap()
                .steps()
                .is_ok()
        );
        let all = json!({"agent": 1, "task": 2, "x": 3});
        assert_eq!(parse_request(&all).map_err(|all| all.len()), Err(3));
    }
}
