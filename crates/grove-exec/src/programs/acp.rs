//! Any program that speaks the Agent Client Protocol, version 1: JSON-RPC in lines, both ways.
//!
//! The protocol has no field for a system text, so that it is the first part of the message. What a program may do is its
//! own affair until it asks; then the child's list of tools answers, never "yes" to all.
//!
//! Traps: some tell a failed model as `end_turn` with the error for an answer, and none is believed about what it used;
//! some print a banner as an answer; after the answer a program waits for more, so that its input is closed.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{Capabilities, Heard, Launch, Program, ProgramBridge, ProgramEvent, ProgramTask, text};

pub(super) static PROGRAM: Program = Program {
    name: "acp",
    title: "the ACP program",
    binary: "",
    native: &[],
    tried: "",
    can: Capabilities {
        system_prompt: false,
        tool_list: false,
        base_url: false,
        model: false,
        resume: false,
        streaming: true,
        usage: false,
        runtime_tools: true,
    },
    // Kinds of what it asks leave for.
    tools: &[
        ("read", "read"),
        ("ls", "read"),
        ("find", "search"),
        ("grep", "search"),
        ("write", "edit"),
        ("edit", "edit"),
        ("bash", "execute"),
    ],
    variables: &[],
    logins: &[],
    not_switched_off: &[
        "its own configuration and login",
        "tools for which it asks no leave",
    ],
    usage_left: None,
    launch,
    take,
};

/// The version of the protocol.
const VERSION: u32 = 1;
/// JSON-RPC's word for a method that is not there.
const NO_SUCH_METHOD: i64 = -32_601;
/// The protocol's word for somebody who is not logged in.
const NOT_LOGGED_IN: i64 = -32_000;
/// What is asked, by the number of the request.
const INITIALIZE: u64 = 0;
const NEW_SESSION: u64 = 1;
const PROMPT: u64 = 2;

fn launch(task: &ProgramTask<'_>) -> Launch {
    let mut launch = Launch::default();
    launch.args([task.program.to_string_lossy()]);
    launch.args(task.arguments.iter().cloned());
    launch.input = Some(task.folder.join("input"));
    launch.may = PROGRAM.tools(task.tools).0;
    let servers = task.bridge.map(|bridge| {
        let authorization = format!("Bearer {}", bridge.token);
        json!({
            "type": "http",
            "name": ProgramBridge::NAME,
            "url": bridge.url,
            "headers": [{ "name": "Authorization", "value": authorization }],
        })
    });
    let servers: Vec<Value> = servers.into_iter().collect();
    let prompt = [task.system, task.message].map(|text| json!({ "type": "text", "text": text }));
    launch.says = [
        request(
            INITIALIZE,
            "initialize",
            &json!({
                "protocolVersion": VERSION,
                "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
                "clientInfo": { "name": "grove", "version": env!("CARGO_PKG_VERSION") },
            }),
        ),
        request(
            NEW_SESSION,
            "session/new",
            &json!({ "cwd": task.work_folder, "mcpServers": servers }),
        ),
        request(PROMPT, "session/prompt", &json!({ "prompt": prompt })),
    ]
    .into();
    launch
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// What asks a program to stop what it does.
pub(super) fn cancel(session: &str) -> String {
    json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } })
        .to_string()
}

fn take(heard: &mut Heard, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    match (line["method"].as_str(), line.get("id")) {
        (Some("session/update"), _) => update(heard, &line["params"]["update"], on_event),
        (Some("session/request_permission"), Some(id)) => {
            let outcome = permission(heard, &line["params"]);
            let result = json!({ "outcome": outcome });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            on_event(ProgramEvent::Say(answer.to_string()));
        }
        (Some(method), Some(id)) => {
            let message = format!("there is no method `{method}` here");
            let error = json!({ "code": NO_SUCH_METHOD, "message": message });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            on_event(ProgramEvent::Say(answer.to_string()));
        }
        (None, Some(id)) => answered(heard, id.as_u64(), line, on_event),
        (_, None) => {}
    }
}

/// The answer to one of our requests: the next one follows.
fn answered(
    heard: &mut Heard,
    id: Option<u64>,
    line: &Value,
    on_event: &mut dyn FnMut(ProgramEvent),
) {
    if let Some(error) = line.get("error") {
        let failure = match error["code"].as_i64() {
            Some(NOT_LOGGED_IN) => ModelFailure::Auth,
            _ => ModelFailure::Overload,
        };
        heard.failure = Some((failure, text(error, "message").to_owned()));
        heard.is_over = true;
        on_event(ProgramEvent::Close);
        return;
    }
    let result = &line["result"];
    match id {
        Some(INITIALIZE) => {
            heard.model = result["agentInfo"]["name"].as_str().map(str::to_owned);
            // A server that it cannot reach would keep it from beginning.
            if result["agentCapabilities"]["mcpCapabilities"]["http"] != true
                && let Some(next) = heard.says.get_mut(1)
            {
                next["params"]["mcpServers"] = json!([]);
            }
        }
        Some(NEW_SESSION) => {
            let session = &result["sessionId"];
            heard.session = session.as_str().map(str::to_owned);
            if let Some(next) = heard.says.get_mut(1) {
                next["params"]["sessionId"] = session.clone();
            }
        }
        Some(PROMPT) => {
            heard.is_over = true;
            heard.usage = usage(&result["usage"]);
            match text(result, "stopReason") {
                "cancelled" => heard.is_interrupted = true,
                "refusal" => {
                    let message = "the model refused".to_owned();
                    heard.failure = Some((ModelFailure::BadRequest, message));
                }
                _ => heard.ended_by_word = true,
            }
            on_event(ProgramEvent::Close);
            return;
        }
        _ => return,
    }
    heard.says.pop_front();
    if let Some(next) = heard.says.front() {
        on_event(ProgramEvent::Say(next.to_string()));
    }
}

fn update(heard: &mut Heard, update: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let words = || text(&update["content"], "text").to_owned();
    let id = || text(update, "toolCallId").to_owned();
    match text(update, "sessionUpdate") {
        "agent_message_chunk" => {
            if std::mem::take(&mut heard.begins_anew) {
                heard.text.clear();
            }
            heard.text.push_str(&words());
            on_event(ProgramEvent::Text(words()));
        }
        "agent_thought_chunk" => on_event(ProgramEvent::Thinking(words())),
        "tool_call" => {
            // What it said before was not its last word.
            heard.begins_anew = true;
            on_event(ProgramEvent::ToolStart {
                id: id(),
                tool: text(update, "title").to_owned(),
                input: update["rawInput"].clone(),
            });
        }
        "tool_call_update" => {
            let status = text(update, "status");
            if matches!(status, "completed" | "failed") {
                let failed = status == "failed";
                on_event(ProgramEvent::ToolEnd { id: id(), failed });
            }
        }
        _ => {}
    }
}

/// Whether it may do what it asks leave for: once, and by the child's list of tools.
fn permission(heard: &Heard, asked: &Value) -> Value {
    let kind = text(&asked["toolCall"], "kind");
    let wanted = if heard.may.contains(&kind) {
        "allow_once"
    } else {
        "reject_once"
    };
    let mut options = asked["options"].as_array().into_iter().flatten();
    match options.find(|option| option["kind"] == wanted) {
        Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
        None => json!({ "outcome": "cancelled" }),
    }
}

fn usage(counts: &Value) -> Usage {
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    Usage {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cached: count("cachedReadTokens"),
        cache_write: count("cachedWriteTokens"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}
