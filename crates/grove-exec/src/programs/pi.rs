//! pi, one turn with `--mode rpc`: commands are lines of its input, and so is the word to stop.
//!
//! Traps: it does not tell its name of the conversation unless asked; its input has to be closed when it has settled; an
//! interruption is told as an error of the model's; it exits with 0 after everything failed, so only the last
//! `stopReason` counts; it is over at `agent_settled` and not at `agent_end`; SIGINT leaves its tools behind, SIGTERM
//! does not.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{
    Program, ProgramCapabilities, ProgramEvent, ProgramLaunch, ProgramState, ProgramTask,
    failure_of_status, text, words_of,
};

pub(super) static PROGRAM: Program = Program {
    name: "pi",
    title: "pi",
    binary: "pi",
    native: &[],
    tried: "0.87.1",
    apis: &["openai-chat", "anthropic", "openai-responses"],
    names_vendors: true,
    can: ProgramCapabilities {
        system_prompt: true,
        tool_list: true,
        base_url: true,
        model: true,
        resume: true,
        streaming: true,
        usage: true,
        runtime_tools: false,
        cancel: true,
        calls: true,
    },
    tools: &[
        ("read", "read"),
        ("ls", "ls"),
        ("find", "find"),
        ("grep", "grep"),
        ("write", "write"),
        ("edit", "edit"),
        ("bash", "bash"),
    ],
    commands: &[("bash", "command")],
    writing: &[("write", "path"), ("edit", "path")],
    variables: &[
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "PI_CODING_AGENT_DIR",
    ],
    logins: &[".pi/agent/auth.json"],
    not_switched_off: &[],
    usage_left: None,
    cancel: Some(cancel),
    launch,
    take,
};

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let (mut launch, system) = ProgramLaunch::with_system(task);
    let prompt = json!({ "type": "prompt", "message": task.message });
    launch.set_input_lines(task, [json!({ "type": "get_state" }), prompt]);
    launch.args(["--mode", "rpc", "--offline"]);
    // Nothing of the person's own or the project's is used.
    launch.args(["--no-extensions", "--no-skills", "--no-prompt-templates"]);
    launch.args(["--no-themes", "--no-context-files", "--no-approve"]);
    launch.args(["--system-prompt", &system]);
    match PROGRAM.tools(task.tools).0.as_slice() {
        [] => launch.args(["--no-tools"]),
        tools => launch.args(["--tools", &tools.join(",")]),
    }
    if let Some(level) = task.thinking {
        launch.args(["--thinking", level]);
    }
    let mut model = task.model.map(str::to_owned);
    if let Some(provider) = task.provider {
        let id = task.model.unwrap_or("default");
        let (api, path) = match provider.api {
            "anthropic" => ("anthropic-messages", ""),
            "openai-responses" => ("openai-responses", "/v1"),
            _ => ("openai-completions", "/v1"),
        };
        let models = json!({ "providers": { "grove": {
            "baseUrl": format!("{}{path}", provider.origin),
            "api": api,
            "apiKey": "$GROVE_ENGINE_KEY",
            "models": [{ "id": id }],
        } } });
        launch.file(task.home.join("models.json"), &models.to_string());
        let settings = json!({ "retry": { "enabled": true, "maxRetries": 3, "baseDelayMs": 500 } });
        launch.file(task.home.join("settings.json"), &settings.to_string());
        launch.set("PI_CODING_AGENT_DIR", task.home.to_string_lossy());
        let sessions = task.home.join("sessions");
        launch.args(["--session-dir", &sessions.to_string_lossy()]);
        if let Some(session) = task.resumes {
            launch.args(["--session-id", session]);
        }
        launch.set("GROVE_ENGINE_KEY", &provider.key);
        model = Some(format!("grove/{id}"));
    } else {
        launch.args(["--no-session"]);
    }
    if let Some(model) = model {
        launch.args(["--model", &model]);
    }
    launch
}

fn cancel(_: &str) -> Value {
    json!({ "type": "abort" })
}

fn take(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let id = || text(line, "toolCallId").to_owned();
    match text(line, "type") {
        "response" => answered(heard, line, on_event),
        "message_update" => {
            let event = &line["assistantMessageEvent"];
            let delta = text(event, "delta").to_owned();
            match text(event, "type") {
                "text_delta" => on_event(ProgramEvent::Text(delta)),
                "thinking_delta" => on_event(ProgramEvent::Thinking(delta)),
                _ => {}
            }
        }
        "message_end" if line["message"]["role"] == "assistant" => {
            take_message(heard, &line["message"]);
        }
        "tool_execution_start" => on_event(ProgramEvent::ToolStart {
            id: id(),
            tool: text(line, "toolName").to_owned(),
            input: line["args"].clone(),
            of_runtime: false,
        }),
        "tool_execution_end" => on_event(ProgramEvent::ToolEnd {
            id: id(),
            failed: line["isError"] == true,
            result: words_of(&line["result"]["content"]),
            goes_on: false,
        }),
        "auto_retry_start" => {
            on_event(ProgramEvent::Retrying(
                text(line, "errorMessage").to_owned(),
            ));
        }
        "agent_settled" => heard.end(on_event),
        _ => {}
    }
}

/// Handles the answer to a command, and sends the next one.
fn answered(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let command = text(line, "command");
    if line["success"] == false && matches!(command, "get_state" | "prompt") {
        let why = text(line, "error").to_owned();
        heard.failure = Some((ModelFailure::BadRequest, why));
        heard.end(on_event);
    } else if command == "get_state" {
        heard.session = line["data"]["sessionId"].as_str().map(str::to_owned);
        heard.write_next(on_event);
    }
}

/// Handles a whole message: the last one decides.
fn take_message(heard: &mut ProgramState, message: &Value) {
    let blocks = message["content"].as_array().into_iter().flatten();
    let words = blocks.filter(|block| block["type"] == "text");
    let words: Vec<&str> = words.map(|block| text(block, "text")).collect();
    if !words.is_empty() {
        heard.text = words.join("");
    }
    heard.model = message["model"].as_str().map(str::to_owned);
    heard.usage += usage(&message["usage"]);
    heard.failure = None;
    heard.is_interrupted = false;
    match text(message, "stopReason") {
        "error" => {
            let why = text(message, "errorMessage");
            heard.failure = Some((failure(why), why.to_owned()));
        }
        "aborted" => heard.is_interrupted = true,
        _ => {}
    }
}

/// Reads the failure from its message, which has the provider's answer in words: `401: {…}`.
fn failure(message: &str) -> ModelFailure {
    let digits = message.get(..3).and_then(|digits| digits.parse().ok());
    failure_of_status(digits)
}

fn usage(counts: &Value) -> Usage {
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    Usage {
        input: count("input"),
        output: count("output"),
        cached: count("cacheRead"),
        cache_write: count("cacheWrite"),
        reasoning: count("reasoning"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}
