//! Any program that speaks the Agent Client Protocol, version 1: JSON-RPC in lines, both ways.
//!
//! The protocol has no field for a system text, so that it is the first part of the message. A program may do anything
//! until it asks for permission; then the child's list of tools answers, never "yes" to all. Programs that are known by
//! name have a recipe of their own and use this module to talk.
//!
//! Traps: a program numbers its own requests as it likes, so an id alone does not say to which request a line is the
//! answer; one that loads a conversation tells it again, also after it has said that it is loaded; some tell of a tool by
//! asking permission alone; some tell a failed model as `end_turn` with the error for an answer, and none is believed about
//! its usage; some print a banner as an answer; after the answer a program waits for more, so that its input is closed.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{
    Program, ProgramBridge, ProgramCapabilities, ProgramEvent, ProgramLaunch, ProgramState,
    ProgramTask, failure_of_status, text, words_of,
};

pub(super) static PROGRAM: Program = Program {
    name: "acp",
    title: "the ACP program",
    binary: "",
    native: &[],
    tried: "",
    apis: &[],
    names_vendors: false,
    can: ProgramCapabilities {
        system_prompt: false,
        tool_list: false,
        base_url: false,
        model: false,
        resume: false,
        streaming: true,
        usage: false,
        runtime_tools: true,
        cancel: true,
        calls: false,
    },
    tools: KINDS,
    commands: &[],
    writing: &[],
    variables: &[],
    logins: &[],
    not_switched_off: &[
        "its own configuration and login",
        "tools for which it asks no leave",
    ],
    usage_left: None,
    cancel: Some(cancel),
    launch,
    take,
};

const VERSION: u32 = 1;
/// The error code of JSON-RPC for a method that is not there.
const NO_SUCH_METHOD: i64 = -32_601;
/// The error code of the protocol for a person who is not logged in.
const NOT_LOGGED_IN: i64 = -32_000;
/// Our names of tools, and the kinds of actions for which a program asks permission.
const KINDS: &[(&str, &str)] = &[
    ("read", "read"),
    ("ls", "read"),
    ("find", "search"),
    ("grep", "search"),
    ("write", "edit"),
    ("edit", "edit"),
    ("bash", "execute"),
];
const INITIALIZE: u64 = 0;
const SESSION: u64 = 1;
const PROMPT: u64 = 2;
const MODE: u64 = 3;

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let mut launch = ProgramLaunch::default();
    launch.args([task.program.to_string_lossy()]);
    launch.args(task.arguments.iter().cloned());
    tell(&mut launch, task, &[task.system, task.message], None);
    launch
}

/// Adds the lines that a program is told in turn: the client's name, the conversation, and the texts of its message. One
/// that tells a loaded conversation again also gets its mode set; all before the answer to that is ignored.
pub(super) fn tell(
    launch: &mut ProgramLaunch,
    task: &ProgramTask<'_>,
    texts: &[&str],
    mode: Option<&str>,
) {
    launch.permitted_tools = PROGRAM.tools(task.tools).0;
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
    let texts = texts.iter();
    let texts: Vec<Value> = texts
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    let session = json!({ "cwd": task.work_folder, "mcpServers": servers });
    let mut says = vec![request(
        INITIALIZE,
        "initialize",
        &json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "grove", "version": env!("CARGO_PKG_VERSION") },
        }),
    )];
    if let Some(earlier) = task.resumes {
        let mut session = session;
        session["sessionId"] = earlier.into();
        says.push(request(SESSION, "session/load", &session));
        let mode = mode.map(|mode| json!({ "modeId": mode, "sessionId": earlier }));
        says.extend(mode.map(|mode| request(MODE, "session/set_mode", &mode)));
    } else {
        says.push(request(SESSION, "session/new", &session));
    }
    let prompt = json!({ "prompt": texts, "sessionId": task.resumes });
    says.push(request(PROMPT, "session/prompt", &prompt));
    launch.set_input_lines(task, says);
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Makes the line that asks a program to stop its work.
pub(super) fn cancel(session: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } })
}

pub(super) fn take(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    match (line["method"].as_str(), line.get("id")) {
        // Updates before the message belong to an earlier conversation.
        (Some("session/update"), _) if heard.input_lines.len() > 1 => {}
        (Some("session/update"), _) => update(heard, &line["params"]["update"], on_event),
        (Some("session/request_permission"), Some(id)) => {
            begin(heard, &line["params"]["toolCall"], on_event);
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

/// Handles the answer to one of our requests, and sends the next one.
fn answered(
    heard: &mut ProgramState,
    id: Option<u64>,
    line: &Value,
    on_event: &mut dyn FnMut(ProgramEvent),
) {
    if let Some(error) = line.get("error") {
        let details = error["data"]["details"].as_str();
        let message = details.unwrap_or_else(|| text(error, "message"));
        let failure = match error["code"].as_i64() {
            Some(NOT_LOGGED_IN) => ModelFailure::Auth,
            // Node uses this word for a connection that was lost.
            _ if message == "terminated" => ModelFailure::CutStream,
            _ => failure_of_status(status_in(message)),
        };
        heard.failure = Some((failure, message.to_owned()));
        return heard.end(on_event);
    }
    let result = &line["result"];
    match id {
        Some(INITIALIZE) => {
            heard.model = result["agentInfo"]["name"].as_str().map(str::to_owned);
            // With a server that it cannot reach, the program would not begin.
            if result["agentCapabilities"]["mcpCapabilities"]["http"] != true
                && let Some(next) = heard.input_lines.get_mut(1)
            {
                next["params"]["mcpServers"] = json!([]);
            }
        }
        Some(SESSION) => {
            let session = result["sessionId"].as_str().map(str::to_owned);
            // A conversation that was loaded keeps the name by which it was asked for.
            let next = heard.input_lines.get_mut(1);
            if let (Some(session), Some(next)) = (&session, next) {
                next["params"]["sessionId"] = session.as_str().into();
            }
            let prompt = heard.input_lines.back();
            let known = prompt.and_then(|prompt| prompt["params"]["sessionId"].as_str());
            heard.session = known.map(str::to_owned);
        }
        Some(MODE) => {}
        Some(PROMPT) => {
            heard.usage = usage(result);
            match text(result, "stopReason") {
                "cancelled" => heard.is_interrupted = true,
                "refusal" => {
                    let message = "the model refused".to_owned();
                    heard.failure = Some((ModelFailure::BadRequest, message));
                }
                _ => {}
            }
            return heard.end(on_event);
        }
        _ => return,
    }
    heard.write_next(on_event);
}

fn update(heard: &mut ProgramState, update: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let words = || text(&update["content"], "text").to_owned();
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
            begin(heard, update, on_event);
            end_tool(heard, update, on_event);
        }
        "tool_call_update" => end_tool(heard, update, on_event),
        _ => {}
    }
}

/// Handles a tool call that the program tells of for the first time.
fn begin(heard: &mut ProgramState, call: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let id = text(call, "toolCallId").to_owned();
    // The text before this call was not the last message.
    heard.begins_anew = true;
    if heard.running.contains(&id) {
        return;
    }
    heard.running.push(id.clone());
    on_event(ProgramEvent::ToolStart {
        id,
        tool: text(call, "title").to_owned(),
        input: call["rawInput"].clone(),
        of_runtime: ProgramBridge::is_named_in(text(call, "title")),
    });
}

fn end_tool(heard: &mut ProgramState, call: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let status = text(call, "status");
    if !matches!(status, "completed" | "failed") {
        return;
    }
    let id = text(call, "toolCallId").to_owned();
    heard.begins_anew = true;
    heard.running.retain(|running| *running != id);
    on_event(ProgramEvent::ToolEnd {
        id,
        failed: status == "failed",
        result: match &call["content"] {
            Value::Array(blocks) if !blocks.is_empty() => words_of(&call["content"]),
            _ => words_of(&call["rawOutput"]),
        },
        goes_on: false,
    });
}

/// The status in a provider's answer, if a program passes that answer on as its message.
fn status_in(message: &str) -> Option<u64> {
    let answer: Value = serde_json::from_str(message).ok()?;
    answer["error"]["code"].as_u64()
}

/// Answers a request for permission: allowed once or rejected once, by the child's list of tools.
fn permission(heard: &ProgramState, asked: &Value) -> Value {
    let kind = text(&asked["toolCall"], "kind");
    let wanted = if heard.permitted_tools.contains(&kind) {
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

/// The program's own count of its usage: the field that the protocol plans, or the one that some send beside it.
fn usage(result: &Value) -> Usage {
    let (counts, beside) = (&result["usage"], &result["_meta"]["quota"]["token_count"]);
    let count = |key: &str, other: &str| {
        let count = counts[key].as_u64().or(beside[other].as_u64());
        count.unwrap_or(0)
    };
    Usage {
        input: count("inputTokens", "input_tokens"),
        output: count("outputTokens", "output_tokens"),
        cached: count("cachedReadTokens", "cached_tokens"),
        cache_write: count("cachedWriteTokens", "cache_write_tokens"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}
