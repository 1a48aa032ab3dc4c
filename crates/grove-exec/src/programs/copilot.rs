//! GitHub Copilot CLI, one turn at a time with JSON lines.
//!
//! Traps: it removes its key's text from everything it prints, so a short key damages its output; it exits with 0 after an
//! interruption; tokens are in a file of their own and not in the stream; its own system text stays, and the agent's is
//! only a part of it; its message is an argument, which has a bound.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{
    Program, ProgramBridge, ProgramCapabilities, ProgramEvent, ProgramLaunch, ProgramState,
    ProgramTask, failure_of_status, text, words_of,
};

pub(super) static PROGRAM: Program = Program {
    name: "copilot",
    title: "GitHub Copilot CLI",
    binary: "copilot",
    native: &["copilot-linux-x64/copilot"],
    tried: "1.0.102",
    apis: &["openai-chat", "anthropic", "openai-responses"],
    names_vendors: false,
    can: ProgramCapabilities {
        system_prompt: false,
        tool_list: true,
        base_url: true,
        model: true,
        resume: true,
        streaming: true,
        usage: true,
        runtime_tools: true,
        cancel: false,
        calls: true,
    },
    tools: &[
        ("read", "view"),
        ("ls", "view"),
        ("find", "glob"),
        ("grep", "grep"),
        ("write", "create"),
        ("edit", "edit"),
        ("bash", "bash"),
    ],
    commands: &[("bash", "command"), ("write_bash", "input")],
    writing: &[("create", "path"), ("edit", "path")],
    variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    logins: &[".copilot/config.json"],
    not_switched_off: &["its own system text", "its tools for its shells"],
    usage_left: Some(usage),
    cancel: None,
    launch,
    take,
};

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let mut launch = ProgramLaunch {
        remembers: task.provider.is_some(),
        ..ProgramLaunch::default()
    };
    let mut tools = json!(PROGRAM.tools(task.tools).0);
    if let (Some(_), Some(tools)) = (task.bridge, tools.as_array_mut()) {
        tools.push(format!("{}/*", ProgramBridge::NAME).into());
    }
    // JSON in one line is YAML.
    let agent = format!(
        "---\nname: grove-child\ndescription: A child of Grove's\ntools: {tools}\n---\n{}",
        task.system
    );
    launch.file(task.home.join("agents/grove-child.agent.md"), &agent);
    launch.args([task.program.to_string_lossy()]);
    launch.args(["-p", task.message, "--output-format", "json"]);
    launch.args(["--agent", "grove-child", "--no-custom-instructions"]);
    launch.args(["--disable-builtin-mcps", "--no-ask-user", "--no-color"]);
    // The program is told of skills around it together with the tool for them; without the tool they are not told.
    launch.args(["--excluded-tools", "skill,sql"]);
    // The list above already holds all tools that it may use.
    launch.args(["--allow-all-tools", "--no-auto-update"]);
    let usage = task.folder.join(Program::USAGE_FILE);
    launch.args(["--usage-output-file", &usage.to_string_lossy()]);
    if let Some(level) = task.thinking {
        launch.args(["--reasoning-effort", level]);
    }
    if let Some(bridge) = task.bridge {
        let mut servers = bridge.described();
        servers["mcpServers"][ProgramBridge::NAME]["tools"] = json!(["*"]);
        let file = launch.file(task.folder.join("servers.json"), &servers.to_string());
        launch.args(["--additional-mcp-config".to_owned(), format!("@{file}")]);
    }
    if let Some(session) = task.resumes {
        launch.args([format!("--resume={session}")]);
    }
    // In a folder that it is told to trust, it would use the project's hooks, servers and skills.
    let settings = json!({ "disableAllHooks": true });
    launch.file(task.home.join("settings.json"), &settings.to_string());
    launch.set("COPILOT_HOME", task.home.to_string_lossy());
    match task.provider {
        Some(provider) => {
            launch.set("COPILOT_OFFLINE", "true");
            let (kind, wire, path) = match provider.api {
                "anthropic" => ("anthropic", "completions", ""),
                "openai-responses" => ("openai", "responses", "/v1"),
                _ => ("openai", "completions", "/v1"),
            };
            let address = format!("{}{path}", provider.origin);
            launch.set("COPILOT_PROVIDER_BASE_URL", address);
            launch.set("COPILOT_PROVIDER_TYPE", kind);
            launch.set("COPILOT_PROVIDER_WIRE_API", wire);
            launch.set("COPILOT_PROVIDER_API_KEY", &provider.key);
            launch.set("COPILOT_MODEL", task.model.unwrap_or("default"));
        }
        None => {
            if let Some(model) = task.model {
                launch.args(["--model", model]);
            }
        }
    }
    launch
}

fn take(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let data = &line["data"];
    let id = || text(data, "toolCallId").to_owned();
    match text(line, "type") {
        "assistant.message_delta" => {
            on_event(ProgramEvent::Text(text(data, "deltaContent").to_owned()));
        }
        "assistant.message" => {
            let words = text(data, "content");
            if !words.is_empty() {
                words.clone_into(&mut heard.text);
            }
            heard.model = data["model"].as_str().map(str::to_owned);
            // It went on after an earlier failure.
            heard.failure = None;
        }
        "tool.execution_start" => {
            let (id, tool) = (id(), text(data, "toolName").to_owned());
            if PROGRAM.commands.iter().any(|(name, _)| *name == tool) {
                heard.running.push(id.clone());
            }
            on_event(ProgramEvent::ToolStart {
                id,
                of_runtime: ProgramBridge::is_named_in(&tool),
                tool,
                input: data["arguments"].clone(),
            });
        }
        "tool.execution_complete" => on_event(ended(heard, id(), data)),
        "assistant.turn_retry" => {
            on_event(ProgramEvent::Retrying(text(data, "reason").to_owned()));
        }
        "session.error" => {
            let message = text(data, "message").to_owned();
            heard.failure = Some((failure(data), message));
        }
        "abort" => heard.is_interrupted = true,
        "assistant.idle" if data["aborted"] == true => heard.is_interrupted = true,
        "result" => {
            heard.is_over = true;
            heard.session = line["sessionId"].as_str().map(str::to_owned);
        }
        _ => {}
    }
}

/// The event for the end of a tool call. A failed command is told as a success with its exit code beside it, and a command
/// that goes on as a success without an exit code.
fn ended(heard: &mut ProgramState, id: String, data: &Value) -> ProgramEvent {
    let code = data["shellExecution"]["exitCode"].as_i64();
    let is_command = heard.running.contains(&id);
    heard.running.retain(|running| *running != id);
    let is_done = data["success"] == true;
    ProgramEvent::ToolEnd {
        id,
        failed: !is_done || code.is_some_and(|code| code != 0),
        result: if is_done {
            words_of(&data["result"]["content"])
        } else {
            words_of(&data["error"]["message"])
        },
        goes_on: is_done && is_command && code.is_none(),
    }
}

fn failure(data: &Value) -> ModelFailure {
    match (data["statusCode"].as_u64(), text(data, "errorType")) {
        (None, "authentication") => ModelFailure::Auth,
        (None, "quota") => ModelFailure::Quota,
        (None, "rate_limit") => ModelFailure::Rate,
        (status, _) => failure_of_status(status),
    }
}

fn usage(left: &Value) -> Usage {
    let mut sum = Usage::default();
    let models = left["modelMetrics"].as_object().into_iter().flatten();
    for (_, metrics) in models {
        let count = |key: &str| metrics["usage"][key].as_u64().unwrap_or(0);
        let cached = count("cacheReadTokens");
        sum += Usage {
            input: count("inputTokens").saturating_sub(cached),
            output: count("outputTokens"),
            cached,
            cache_write: count("cacheWriteTokens"),
            reasoning_in_output: true,
            ..Usage::default()
        };
    }
    sum
}
