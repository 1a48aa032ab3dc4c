//! Codex, one turn at a time with `exec --json`.
//!
//! Traps: an item of the type `error` and a line `error` are warnings, only `turn.failed` is an end; the launcher from
//! npm stays behind, so the native program is started; usage of a resumed thread is that of the whole thread; it waits
//! five seconds for its statistics unless they are off; `OPENAI_BASE_URL` is ignored. Its `app-server` would accept a word
//! to stop, but only the turn ends then and the tool goes on; so it is stopped by ending its process.

use grove_plan::{ModelFailure, Usage};
use serde_json::{Value, json};

use super::{
    Program, ProgramBridge, ProgramCapabilities, ProgramEvent, ProgramLaunch, ProgramState,
    ProgramTask, failure_of_status, shell_words, text, words_of,
};

pub(super) static PROGRAM: Program = Program {
    name: "codex",
    title: "Codex",
    binary: "codex",
    native: &["codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"],
    tried: "0.166.0",
    apis: &["openai-responses"],
    names_vendors: false,
    can: ProgramCapabilities {
        system_prompt: true,
        tool_list: false,
        base_url: true,
        model: true,
        resume: true,
        streaming: false,
        usage: true,
        runtime_tools: true,
        cancel: false,
        calls: true,
    },
    // It does everything with its shell; its own sandbox decides what it may write.
    tools: &[
        ("read", "shell"),
        ("ls", "shell"),
        ("find", "shell"),
        ("grep", "shell"),
        ("bash", "shell"),
        ("write", "apply_patch"),
        ("edit", "apply_patch"),
    ],
    commands: &[("command_execution", "command")],
    writing: &[("file_change", "changes")],
    variables: &["CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_HOME"],
    logins: &[".codex/auth.json"],
    not_switched_off: &["AGENTS.md in its own home", "the list of its own skills"],
    usage_left: None,
    cancel: None,
    launch,
    take,
};

const KEY: &str = "GROVE_ENGINE_KEY";
const TOKEN: &str = "GROVE_BRIDGE_TOKEN";

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let (mut launch, system) = ProgramLaunch::with_system(task);
    let message = task.folder.join("message.md");
    launch.file(message.clone(), task.message);
    launch.input = Some(message);
    launch.args(["exec", "--json", "--skip-git-repo-check"]);
    launch.args(["--ignore-user-config", "--ignore-rules"]);
    // These would look for things on the network and add text beside the task.
    launch.args(["--disable", "plugins", "--disable", "apps"]);
    launch.args(["-c", "analytics.enabled=false"]);
    // No agent of ours asks for these: other agents, goals of its own, pages of the web.
    launch.args(["--disable", "multi_agent", "--disable", "goals"]);
    launch.args(["-c", "web_search=\"disabled\""]);
    launch.args(["-c", "project_doc_max_bytes=0"]);
    let system = serde_json::Value::from(system).to_string();
    launch.args(["-c".to_owned(), format!("model_instructions_file={system}")]);
    let sandbox = if task.writes {
        "workspace-write"
    } else {
        "read-only"
    };
    launch.args(["-s", sandbox]);
    if let Some(model) = task.model {
        launch.args(["-m", model]);
    }
    if let Some(level) = task.thinking {
        launch.args([
            "-c".to_owned(),
            format!("model_reasoning_effort=\"{level}\""),
        ]);
    }
    if let Some(provider) = task.provider {
        let address = serde_json::Value::from(format!("{}/v1", provider.origin)).to_string();
        let provider_row = format!(
            "model_providers.grove={{name=\"grove\",base_url={address},wire_api=\"responses\",env_key=\"{KEY}\",request_max_retries=3,stream_max_retries=3}}"
        );
        launch.args(["-c", &provider_row, "-c", "model_provider=\"grove\""]);
        launch.set(KEY, &provider.key);
        // It gets a home of its own, because the person's instructions are not for this child.
        launch.file(task.home.join("config.toml"), "");
        launch.set("CODEX_HOME", task.home.to_string_lossy());
    } else {
        launch.args(["--ephemeral"]);
    }
    if let Some(bridge) = task.bridge {
        let url = serde_json::Value::from(bridge.url.as_str()).to_string();
        let name = ProgramBridge::NAME;
        // The tools need no approval: the runtime alone has decided which there are.
        let server = format!(
            "mcp_servers.{name}={{url={url},bearer_token_env_var=\"{TOKEN}\",default_tools_approval_mode=\"approve\"}}"
        );
        launch.args(["-c", &server]);
        launch.set(TOKEN, &bridge.token);
    }
    if let Some(session) = task.resumes {
        launch.args(["resume", session]);
    }
    launch.args(["-"]);
    launch
}

fn take(heard: &mut ProgramState, line: &Value, on_event: &mut dyn FnMut(ProgramEvent)) {
    let item = &line["item"];
    let id = || text(item, "id").to_owned();
    match (text(line, "type"), text(item, "type")) {
        ("thread.started", _) => heard.session = line["thread_id"].as_str().map(str::to_owned),
        ("item.completed", "agent_message") => {
            text(item, "text").clone_into(&mut heard.text);
            on_event(ProgramEvent::Text(heard.text.clone()));
        }
        ("item.completed", "reasoning") => {
            on_event(ProgramEvent::Thinking(text(item, "text").to_owned()));
        }
        ("item.completed", "error") => {
            on_event(ProgramEvent::Note(text(item, "message").to_owned()));
        }
        ("item.started", "mcp_tool_call") => on_event(ProgramEvent::ToolStart {
            id: id(),
            tool: text(item, "tool").to_owned(),
            input: item["arguments"].clone(),
            of_runtime: item["server"] == ProgramBridge::NAME,
        }),
        ("item.started", tool @ ("command_execution" | "web_search")) => {
            on_event(ProgramEvent::ToolStart {
                id: id(),
                tool: tool.to_owned(),
                input: json!({ "command": command_line(text(item, "command")) }),
                of_runtime: false,
            });
        }
        ("item.completed", "file_change") => {
            on_event(ProgramEvent::ToolStart {
                id: id(),
                tool: "file_change".to_owned(),
                input: json!({ "changes": item["changes"] }),
                of_runtime: false,
            });
            on_event(ended(id(), item));
        }
        ("item.completed", "command_execution" | "mcp_tool_call" | "web_search") => {
            on_event(ended(id(), item));
        }
        ("error", _) => on_event(ProgramEvent::Retrying(text(line, "message").to_owned())),
        ("turn.failed", _) => {
            heard.is_over = true;
            let message = text(&line["error"], "message");
            heard.failure = Some((failure(message), message.to_owned()));
        }
        ("turn.completed", _) => {
            heard.is_over = true;
            heard.usage = usage(&line["usage"]);
        }
        _ => {}
    }
}

/// Returns the line that its shell is given, from the whole command that it tells: `/bin/bash -lc '…'`.
fn command_line(command: &str) -> String {
    match shell_words::split(command).as_deref() {
        Some([_, option, line]) if matches!(option.as_str(), "-lc" | "-c") => line.clone(),
        _ => command.to_owned(),
    }
}

fn ended(id: String, item: &Value) -> ProgramEvent {
    let texts = [&item["aggregated_output"], &item["result"]["content"]];
    let error = words_of(&item["error"]["message"]);
    let mut texts: Vec<String> = texts.into_iter().map(words_of).collect();
    texts.push(error);
    texts.retain(|text| !text.is_empty());
    let status = text(item, "status");
    ProgramEvent::ToolEnd {
        id,
        failed: matches!(status, "failed" | "declined")
            || item["exit_code"].as_i64().unwrap_or(0) != 0,
        result: texts.join("\n"),
        goes_on: item["type"] == "command_execution"
            && !item["exit_code"].is_i64()
            && status == "completed",
    }
}

/// Reads the failure from its message, which has the provider's answer in words: `unexpected status 401 Unauthorized: …`.
fn failure(message: &str) -> ModelFailure {
    let status = message.strip_prefix("unexpected status ");
    let status = status.and_then(|rest| rest.split(' ').next()?.parse().ok());
    match status {
        None if message.starts_with("stream disconnected") => ModelFailure::CutStream,
        None if message.starts_with("Quota exceeded") => ModelFailure::Quota,
        status => failure_of_status(status),
    }
}

fn usage(counts: &Value) -> Usage {
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    let cached = count("cached_input_tokens");
    Usage {
        input: count("input_tokens").saturating_sub(cached),
        output: count("output_tokens"),
        cached,
        cache_write: count("cache_write_input_tokens"),
        reasoning: count("reasoning_output_tokens"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}
