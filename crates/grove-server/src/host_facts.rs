//! The facts that a host gives about itself: its name, the conversation, the model that speaks and the call.
//!
//! The protocol has a place only for the name. For the rest hosts put keys of their own into `_meta`, as was seen with Claude
//! Code 2.1.197, which puts its session into the environment of a server that it starts, and with Codex 0.166.0. The arguments
//! of the request can name the conversation and the model for a host that does not.

use grove_engine::HostFacts;
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::Value;

const MAX_FACT: usize = 200;

/// The JSON pointers at which hosts put the conversation into `_meta`.
const SESSIONS: [&str; 2] = ["/grove~1session", "/x-codex-turn-metadata/session_id"];
const MODELS: [&str; 2] = ["/grove~1model", "/x-codex-turn-metadata/model"];
const CALLS: [&str; 3] = ["/grove~1call", "/claudecode~1toolUseId", "/callId"];

pub(crate) fn host_facts(
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> HostFacts {
    let name = context.client_info().map(|client| client.name);
    let meta = serde_json::to_value(&context.meta).unwrap_or_default();
    facts_in(name.as_deref(), &meta, arguments)
}

fn facts_in(name: Option<&str>, meta: &Value, arguments: &JsonObject) -> HostFacts {
    let in_meta = |places: &[&str]| {
        let mut values = places.iter().filter_map(|place| meta.pointer(place));
        values.find_map(Value::as_str).and_then(fact)
    };
    let said = |name: &str| arguments.get(name).and_then(Value::as_str).and_then(fact);
    HostFacts {
        name: name.and_then(fact),
        session: in_meta(&SESSIONS).or_else(|| said("parentSession")),
        model: in_meta(&MODELS).or_else(|| said("parentModel")),
        call: in_meta(&CALLS),
    }
}

/// Returns a text that may be kept: short, one line, and not empty; none for another.
fn fact(text: &str) -> Option<String> {
    let is_plain = !text.is_empty() && text.len() <= MAX_FACT && !text.contains(char::is_control);
    is_plain.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_host_tells_is_taken_before_what_the_request_says() {
        let said = |value: Value| value.as_object().cloned().unwrap_or_default();
        let arguments = said(json!({ "parentModel": "asked", "parentSession": "r1.1" }));
        let meta = json!({ "claudecode/toolUseId": "toolu_1", "progressToken": 2 });
        let claude = facts_in(Some("claude-code"), &meta, &arguments);
        assert_eq!(claude.call.as_deref(), Some("toolu_1"));
        assert_eq!(claude.model.as_deref(), Some("asked"));
        assert_eq!(claude.session.as_deref(), Some("r1.1"));
        let meta = json!({
            "callId": "call_1",
            "x-codex-turn-metadata": { "session_id": "01a1", "model": "gpt-5" },
        });
        let codex = facts_in(Some("codex-mcp-client"), &meta, &arguments);
        assert_eq!(codex.call.as_deref(), Some("call_1"));
        assert_eq!(codex.model.as_deref(), Some("gpt-5"));
        assert_eq!(codex.session.as_deref(), Some("01a1"));
        let meta = json!({ "grove/model": "told", "grove/session": "s", "grove/call": 5 });
        let told = facts_in(None, &meta, &arguments);
        assert_eq!(told.model.as_deref(), Some("told"));
        assert_eq!((told.session.as_deref(), told.call), (Some("s"), None));
        let long = json!({ "grove/model": "x".repeat(MAX_FACT + 1), "grove/session": "a\nb" });
        let hostile = facts_in(Some(""), &long, &JsonObject::new());
        assert_eq!(hostile, HostFacts::default());
    }
}
