//! Claude Code, one turn with `stream-json` both ways: the message is a line of its input, and so is the word to stop.
//!
//! It never asks for permission: it denies itself every tool that is not on the list of those that it may use.
//!
//! Traps: its input has to be closed after the result, or else it waits for another message; `subtype` is `success`
//! although `is_error` is true; SIGTERM leaves its tools behind, SIGINT does not; one message comes as several lines with
//! the same id, each with the same usage; a line of its own maker stays before the system text.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{
    Program, ProgramBridge, ProgramCapabilities, ProgramEvent, ProgramLaunch, ProgramState,
    ProgramTask, failure_of_status, text, words_of,
};

pub(super) static PROGRAM: Program = Program {
    name: "claude",
    title: "Claude Code",
    binary: "claude",
    native: &["claude-code-linux-x64/claude"],
    tried: "2.1.197",
    apis: &["anthropic"],
    names_vendors: false,
    can: ProgramCapabilities {
        system_prompt: true,
        tool_list: true,
        base_url: true,
        model: true,
        resume: true,
        streaming: false,
        usage: true,
        runtime_tools: true,
        cancel: true,
        calls: true,
    },
    tools: &[
        ("read", "Read"),
        ("ls", "Glob"),
        ("find", "Glob"),
        ("grep", "Grep"),
        ("write", "Write"),
        ("edit", "Edit"),
        ("bash", "Bash"),
    ],
    commands: &[("Bash", "command")],
    writing: &[
        ("Write", "file_path"),
        ("Edit", "file_path"),
        ("MultiEdit", "file_path"),
    ],
    variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
    ],
    logins: &[".claude/.credentials.json"],
    not_switched_off: &[],
    usage_left: None,
    cancel: Some(cancel),
    launch,
    take,
};

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let (mut launch, system) = ProgramLaunch::with_system(task);
    let content = json!([{ "type": "text", "text": task.message }]);
    let message = json!({ "role": "user", "content": content });
    launch.set_input_lines(task, [json!({ "type": "user", "message": message })]);
    launch.args(["-p", "--output-format", "stream-json", "--verbose"]);
    launch.args(["--input-format", "stream-json"]);
    launch.args(["--system-prompt-file", &system]);
    // Nothing of the person's own is used: no settings, hooks, plugins, servers, commands, and no session that stays.
    launch.args(["--setting-sources", "", "--strict-mcp-config"]);
    launch.args(["--disable-slash-commands"]);
    let own = PROGRAM.tools(task.tools).0;
    let mut tools: Vec<String> = own.into_iter().map(str::to_owned).collect();
    launch.args(["--tools", &tools.join(",")]);
    if let Some(bridge) = task.bridge {
        let file = launch.file(
            task.folder.join("servers.json"),
            &bridge.described().to_string(),
        );
        launch.args(["--mcp-config", &file]);
        // Without this, its first request may come before it knows the tools.
        launch.set("MCP_CONNECTION_NONBLOCKING", "0");
        let name = |tool: &String| format!("mcp__{}__{tool}", ProgramBridge::NAME);
        tools.extend(bridge.tools.iter().map(name));
    }
    if !tools.is_empty() {
        // It may use every tool that it has; it is asked for nothing else.
        launch.args(["--allowedTools", &tools.join(",")]);
    }
    if let Some(model) = task.model {
        launch.args(["--model", model]);
    }
    if let Some(level) = task.thinking {
        launch.args(["--effort", level]);
    }
    launch.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    // Ten tries with waits of up to forty seconds are too patient for a child.
    launch.set("CLAUDE_CODE_MAX_RETRIES", "3");
    if let Some(provider) = task.provider {
        launch.set("ANTHROPIC_BASE_URL", &provider.origin);
        launch.set("ANTHROPIC_API_KEY", &provider.key);
        launch.set("CLAUDE_CONFIG_DIR", task.home.to_string_lossy());
        if let Some(session) = task.resumes {
            launch.args(["--resume", session]);
        }
    } else {
        // The person's own sessions are not for this child.
        launch.args(["--no-session-persistence"]);
    }
    launch
}

fn cancel(_: &str) -> Value {
    let request = json!({ "subtype": "interrupt" });
    json!({ "type": "control_request", "request_id": "stop", "request": request })
}

fn take(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    // The lines of its own children do not count.
    if !line["parent_tool_use_id"].is_null() {
        return;
    }
    match (text(line, "type"), text(line, "subtype")) {
        ("system", "init") => {
            heard.session = line["session_id"].as_str().map(str::to_owned);
            heard.model = line["model"].as_str().map(str::to_owned);
        }
        ("system", "api_retry") => on_event(ProgramEvent::Retrying(text(line, "error").to_owned())),
        ("assistant", _) => {
            // A message with an error is its own text in place of an answer.
            if let Some(kind) = line["error"].as_str() {
                heard.failure = Some((failure_of_kind(kind), String::new()));
                return;
            }
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                take_block(heard, block, on_event);
            }
        }
        ("user", _) => {
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_result" {
                    on_event(ProgramEvent::ToolEnd {
                        id: text(block, "tool_use_id").to_owned(),
                        failed: block["is_error"] == true,
                        result: words_of(&block["content"]),
                        goes_on: line["tool_use_result"]["backgroundTaskId"].is_string(),
                    });
                }
            }
        }
        ("result", subtype) => {
            let said = text(line, "result");
            let is_aborted = text(line, "terminal_reason").starts_with("aborted");
            if is_aborted {
                heard.is_interrupted = true;
            } else if line["is_error"] == true {
                let status = line["api_error_status"].as_u64();
                let failure = match (status, &heard.failure) {
                    (None, Some((failure, _))) => *failure,
                    (status, _) => failure_of_status(status),
                };
                let message = if said.is_empty() { subtype } else { said };
                heard.failure = Some((failure, message.to_owned()));
            } else {
                heard.failure = None;
                said.clone_into(&mut heard.text);
            }
            heard.usage = usage(&line["usage"]);
            heard.end(on_event);
        }
        _ => {}
    }
}

fn take_block(heard: &mut ProgramState, block: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    match text(block, "type") {
        "text" => {
            let words = text(block, "text");
            words.clone_into(&mut heard.text);
            on_event(ProgramEvent::Text(words.to_owned()));
        }
        "thinking" => on_event(ProgramEvent::Thinking(text(block, "thinking").to_owned())),
        "tool_use" => on_event(ProgramEvent::ToolStart {
            id: text(block, "id").to_owned(),
            tool: text(block, "name").to_owned(),
            input: block["input"].clone(),
            of_runtime: ProgramBridge::is_named_in(text(block, "name")),
        }),
        _ => {}
    }
}

fn failure_of_kind(kind: &str) -> ModelFailure {
    match kind {
        "authentication_failed" => ModelFailure::Auth,
        "billing_error" => ModelFailure::Quota,
        "rate_limit" => ModelFailure::Rate,
        "invalid_request" => ModelFailure::BadRequest,
        _ => ModelFailure::Overload,
    }
}

fn usage(counts: &Value) -> Usage {
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}
