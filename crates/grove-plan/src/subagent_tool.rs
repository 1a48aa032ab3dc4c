//! The tool `subagent` as a model is told of it: one definition for children, who have it as a tool of the runtime, and for
//! hosts, who have it from the MCP server.
//!
//! The schema is small, because it is in every request of every host, and plain, because some providers refuse anything
//! else: one type each, no unions, no conditions, every object with its properties. What it does not name is told by the
//! action `help`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::request::{FIELDS, RequestField};

/// The name of the tool.
pub const SUBAGENT: &str = "subagent";

/// The caller that has the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A child: the runs that it asks for are below it.
    Child,
    /// A host, and the model in it.
    Host,
}

/// An action of the tool.
#[derive(Debug)]
pub struct ToolAction {
    /// The name of the action.
    pub name: &'static str,
    /// Set if children have it, too.
    of_children: bool,
    /// Set if it changes a run or uses its work, so that a host has to show the owner's token.
    is_of_owner: bool,
    /// The fields that it needs.
    needs: &'static str,
    /// The text about it that a model is told.
    meaning: &'static str,
}

const fn action(
    name: &'static str,
    of_children: bool,
    needs: &'static str,
    meaning: &'static str,
) -> ToolAction {
    ToolAction {
        name,
        of_children,
        is_of_owner: false,
        needs,
        meaning,
    }
}

/// An action that a host may take with the owner's token alone. Children have no tokens: their own runs are theirs.
const fn of_owner(
    name: &'static str,
    of_children: bool,
    needs: &'static str,
    meaning: &'static str,
) -> ToolAction {
    ToolAction {
        is_of_owner: true,
        ..action(name, of_children, needs, meaning)
    }
}

/// The fields that a run has to be given.
pub const NEEDS_OF_RUN: &str = "`agent` and `task`, `tasks`, `chain` or `chainName`";

/// The fields of which a run has one.
const WORK: [&str; 4] = ["agent", "tasks", "chain", "chainName"];

/// Everything that the tool does.
pub const ACTIONS: &[ToolAction] = &[
    action("run", true, NEEDS_OF_RUN, "starts a run"),
    action("wait", true, "run, token", "waits for the result"),
    action("ack", false, "run, token, delivery", "confirms the result"),
    action(
        "status",
        true,
        "run, or nothing",
        "says how far it is, or what is open",
    ),
    of_owner(
        "answer",
        true,
        "run, token, message",
        "answers a child's question",
    ),
    of_owner(
        "steer",
        false,
        "run, token, message",
        "gives a working child a message",
    ),
    of_owner("interrupt", false, "run, token", "pauses a child"),
    of_owner(
        "resume",
        false,
        "run, token, maybe message",
        "continues a paused or ended child",
    ),
    of_owner("stop", true, "run, token", "ends the run or one child"),
    action("show", false, "run", "shows everything about the run"),
    of_owner(
        "apply",
        false,
        "run, token",
        "applies changes from working trees",
    ),
    action(
        "list",
        false,
        "optionally what, task",
        "lists agents, those that fit a task first, chains and runs",
    ),
    action("get", false, "agent or chainName", "shows it in full"),
    action(
        "create",
        false,
        "config: name, description, a chain's steps",
        "writes an agent or a chain",
    ),
    action("update", false, "agent or chainName, config", "changes it"),
    action("delete", false, "agent or chainName", "deletes it"),
    action("doctor", false, "nothing", "says what is wrong here"),
    action("help", false, "nothing", "explains all of it"),
];

/// The fields of the tool that no request has: the name, the type, true if children have it, and the text for a model.
const OWN: &[(&str, &str, bool, &str)] = &[
    ("run", "string", true, "the run, or RUN.NODE for one child"),
    ("message", "string", true, "an answer or a message"),
    ("token", "string", false, "from the answer to `run`"),
    ("delivery", "string", false, "the id of a result"),
    ("seconds", "integer", false, "to wait, at most 50"),
    (
        "what",
        "string",
        false,
        "`agents`, `chains`, `runs`, or a group of agents",
    ),
    ("scope", "string", false, "`user` or `project`"),
];

/// Fields of the tool that the schema does not name.
const UNNAMED: &[(&str, &str)] = &[
    (
        "parentModel",
        "your own model, for children that name none; not needed if your host provides it",
    ),
    (
        "parentSession",
        "your own session as RUN.NODE, for `context: fork`",
    ),
];

/// The text about the tool that a child is told.
pub const OF_CHILDREN: &str = "Delegates work to other agents and returns their results. To one: `agent` and `task`. To several \
in parallel: `tasks`, each with `agent` and `task`. In sequence: `chain`. With `background` it returns the run's id at once; then \
call it with that `run` and an `action`: `wait`, `status`, `answer` (with `message`) or `stop`.";

/// Returns the text about the tool that a model is told.
pub fn description(caller: Caller) -> String {
    match caller {
        Caller::Child => OF_CHILDREN.to_owned(),
        Caller::Host => {
            let mut text = "Delegates work to other agents. Prefer it to your host's own subagents if the work has to survive your \
session, needs another engine or model, a working tree of its own, or proof: `acceptance` lets work count only once Grove saw it; \
give it to agents that write from a plan. \
A run continues whatever happens to you: keep run and token of the answer. A call waits at most 50 s, with \
`background` not at all: call `wait` until it is over, then `ack`. The same delivery id is the same result.\n"
                .to_owned();
            for action in ACTIONS {
                let _ = writeln!(
                    text,
                    "{} ({}): {}",
                    action.name, action.needs, action.meaning
                );
            }
            text
        }
    }
}

/// The JSON Schema of the tool's arguments.
pub fn schema(caller: Caller) -> Value {
    let mut properties = Map::new();
    let names = actions(caller).map(|action| action.name);
    properties.insert(
        "action".to_owned(),
        json!({ "type": "string", "enum": names.collect::<Vec<_>>(), "description": "default: `run`" }),
    );
    for field in FIELDS.iter().filter(|field| field.in_schema) {
        let Some(form) = field.schema_type() else {
            continue;
        };
        let mut property = json!({ "type": form, "description": field.meaning });
        match form {
            "array" => property["items"] = step(field.name == "chain"),
            // Some providers refuse an object without properties.
            "object" => property["properties"] = json!({ "type": { "type": "string" } }),
            _ => {}
        }
        properties.insert(field.name.to_owned(), property);
    }
    let own = OWN.iter().filter(|own| own.2 || caller == Caller::Host);
    for (name, form, _, meaning) in own {
        let property = json!({ "type": form, "description": meaning });
        properties.insert((*name).to_owned(), property);
    }
    if caller == Caller::Host {
        properties.insert("config".to_owned(), config());
    }
    json!({ "type": "object", "properties": properties })
}

/// Returns a text about every action and field.
pub fn help() -> String {
    let mut text = "Values of `action`; without it, `run`\n".to_owned();
    for action in ACTIONS {
        let _ = writeln!(
            text,
            "  {} ({}): {}",
            action.name, action.needs, action.meaning
        );
    }
    text.push_str("\nFields of `run`\n");
    for field in FIELDS {
        let others = field.others.iter();
        let others = others.map(|other| format!(", also `{other}`"));
        let others = others.collect::<String>();
        let _ = writeln!(text, "  {}{others}: {}", field.name, field.meaning);
    }
    text.push_str("\nOther fields\n");
    let own = OWN.iter().map(|(name, _, _, meaning)| (name, meaning));
    let unnamed = UNNAMED.iter().map(|(name, meaning)| (name, meaning));
    for (name, meaning) in own.chain(unnamed) {
        let _ = writeln!(text, "  {name}: {meaning}");
    }
    text.push_str(STEPS);
    text
}

const STEPS: &str = "
A task in `tasks` and a step in `chain` have `agent` and `task`, and optionally `label`, `model`, `engine`, `skills`, `cwd`,
`output`, `outputMode`, `reads`, `progress`, `outputSchema`, `acceptance`, `worktree` (its tree begins with the work of the steps before it), `baseRef` and, in `tasks`, `count`. Instead, a step may have
`parallel`, a list of tasks, with `concurrency` and `failFast`; or `expand` (`from`: the `output` of an earlier step and
a `path` in it; or `items`: a list), with one task as `parallel`, and `collect`. `as` names a step's answer, and later tasks can use it as
`{outputs.NAME}`.

`config` for an agent has the fields of its file (`get` shows them), and `systemPrompt` for its text; for a chain it has `name`,
`description` and `steps`. `update` removes a field that is false or empty.
";

/// Returns true if a request names no work at all and has no unknown field: unknown fields are its first fault.
pub fn names_no_work(fields: &Map<String, Value>) -> bool {
    let is_known = |name: &String| {
        let is_it = |field: &RequestField| {
            field.name == name.as_str() || field.others.contains(&name.as_str())
        };
        FIELDS.iter().any(is_it)
    };
    fields.keys().all(is_known) && !WORK.iter().any(|name| fields.contains_key(*name))
}

/// Returns true if an action of a host needs the owner's token.
pub fn needs_owner(action: &str) -> bool {
    ACTIONS.iter().any(|it| it.name == action && it.is_of_owner)
}

/// Returns true if a field is the tool's own, and none of a request.
pub fn is_own_field(name: &str) -> bool {
    let of_tool = OWN.iter().any(|own| own.0 == name) || UNNAMED.iter().any(|own| own.0 == name);
    of_tool || name == "action" || name == "config"
}

/// Returns true if a caller has an action.
pub fn has_action(caller: Caller, name: &str) -> bool {
    actions(caller).any(|action| action.name == name)
}

/// The actions that a caller has.
pub fn actions(caller: Caller) -> impl Iterator<Item = &'static ToolAction> {
    let has = move |action: &&ToolAction| action.of_children || caller == Caller::Host;
    ACTIONS.iter().filter(has)
}

/// A task, or a step of a chain.
fn step(is_chain: bool) -> Value {
    let mut properties = json!({
        "agent": { "type": "string" },
        "task": { "type": "string" },
    });
    let task = json!({ "type": "object", "properties": properties });
    properties["label"] = json!({ "type": "string" });
    if is_chain {
        properties["as"] = json!({ "type": "string" });
        properties["parallel"] = json!({ "type": "array", "items": task });
        return json!({ "type": "object", "properties": properties });
    }
    json!({ "type": "object", "properties": properties, "required": ["agent", "task"] })
}

/// The schema of an agent or a chain that is to be written.
fn config() -> Value {
    json!({
        "type": "object",
        "description": "an agent's or a chain's fields",
        "properties": {
            "name": { "type": "string" },
            "description": { "type": "string" },
            "systemPrompt": { "type": "string" },
            "tools": { "type": "string" },
            "model": { "type": "string" },
            "skillInjection": { "type": "string" },
            "steps": { "type": "array", "items": { "type": "object", "properties": { "agent": { "type": "string" }, "task": { "type": "string" } } } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the faults for which providers refuse a schema that take less than all of JSON Schema.
    fn faults(at: &str, schema: &Value, faults: &mut Vec<String>) {
        const KNOWN: [&str; 6] = [
            "type",
            "description",
            "enum",
            "properties",
            "required",
            "items",
        ];
        let mut wrong = |what: &str| faults.push(format!("{at}: {what}"));
        let Some(fields) = schema.as_object() else {
            return wrong("is no object");
        };
        for key in fields.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
            wrong(&format!("has `{key}`"));
        }
        let Some(form) = schema["type"].as_str() else {
            return wrong("has not one type");
        };
        let words = schema["enum"].as_array();
        if words.is_some_and(|words| form != "string" || !words.iter().all(Value::is_string)) {
            wrong("has an enum of other things than texts");
        }
        let properties = schema["properties"].as_object();
        match form {
            "object" if properties.is_none_or(Map::is_empty) => wrong("is an object of nothing"),
            "array" if !schema["items"].is_object() => wrong("is a list of nothing"),
            _ => {}
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in required.iter().filter_map(Value::as_str) {
            if properties.is_none_or(|properties| !properties.contains_key(name)) {
                wrong(&format!("requires `{name}`, which it has not"));
            }
        }
        for (name, property) in properties.into_iter().flatten() {
            self::faults(&format!("{at}.{name}"), property, faults);
        }
        if form == "array" {
            self::faults(&format!("{at}[]"), &schema["items"], faults);
        }
    }

    #[test]
    fn the_schema_is_one_that_strict_providers_take() {
        for caller in [Caller::Child, Caller::Host] {
            let mut found = Vec::new();
            faults("", &schema(caller), &mut found);
            assert!(found.is_empty(), "{found:#?}");
        }
        // Schemas that the lint has to find at fault.
        for wrong in [
            json!({ "type": ["string", "null"] }),
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "array" }),
            json!({ "description": "x" }),
            json!({ "type": "string", "anyOf": [] }),
            json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "object" } } } }),
            json!({ "type": "string", "enum": [1] }),
        ] {
            let mut found = Vec::new();
            faults("", &wrong, &mut found);
            assert!(!found.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn a_request_that_names_no_work_is_told_from_one_with_other_faults() {
        for (fields, expected) in [
            (json!({}), true),
            (json!({ "task": "x", "async": true }), true),
            (json!({ "agent": "a" }), false),
            (json!({ "tasks": [] }), false),
            (json!({ "agnt": "a", "task": "x" }), false),
        ] {
            let found = names_no_work(fields.as_object().unwrap());
            assert_eq!(found, expected, "{fields}");
        }
        assert!(WORK.iter().all(|name| NEEDS_OF_RUN.contains(name)));
    }

    #[test]
    fn the_schema_names_what_is_needed_most() {
        let schema = schema(Caller::Host);
        for name in [
            "/acceptance",
            "/output",
            "/outputSchema",
            "/label",
            "/concurrency",
            "/context",
            "/tasks/items/properties/label",
            "/chain/items/properties/label",
            "/config/properties/skillInjection",
        ] {
            let property = schema.pointer(&format!("/properties{name}"));
            assert!(property.is_some(), "{name}");
        }
        let description = description(Caller::Host);
        for word in ["survive", "engine", "working tree", "acceptance", "write"] {
            assert!(description.contains(word), "{word}");
        }
    }

    #[test]
    fn a_child_has_less_than_a_host_and_nobody_has_what_is_not_told() {
        let names = |caller| {
            let schema = schema(caller);
            let names = schema["properties"].as_object().unwrap().keys().cloned();
            names.collect::<Vec<String>>()
        };
        let (child, host) = (names(Caller::Child), names(Caller::Host));
        assert!(child.iter().all(|name| host.contains(name)));
        assert!(!child.contains(&"token".to_owned()));
        let help = help();
        for name in &host {
            assert!(help.contains(name), "{name}");
        }
        for name in host.iter().filter(|name| is_own_field(name)) {
            assert!(!FIELDS.iter().any(|field| field.name == name), "{name}");
        }
    }
}
