//! `OpenCode`, by the Agent Client Protocol (`opencode acp`).
//!
//! Its configuration is one variable: an agent of ours with the system text and the list of tools, which is its default
//! agent. With a provider of ours, all files that it keeps are in the folder of the conversation.
//!
//! Traps: the launcher from npm stays behind, so the native program is started; it asks a model for a title unless that
//! agent is switched off; the usage that it tells is that of its last request alone; it takes seconds to begin.

use serde_json::{Value, json};

use super::{Program, ProgramBridge, ProgramCapabilities, ProgramLaunch, ProgramTask, acp};

pub(super) static PROGRAM: Program = Program {
    name: "opencode",
    title: "OpenCode",
    binary: "opencode",
    native: &["opencode-linux-x64/bin/opencode"],
    tried: "1.18.33",
    apis: &["openai-chat"],
    names_vendors: true,
    can: ProgramCapabilities {
        system_prompt: true,
        tool_list: true,
        base_url: true,
        model: true,
        resume: true,
        streaming: true,
        usage: false,
        runtime_tools: true,
        cancel: true,
        calls: false,
    },
    tools: &[
        ("read", "read"),
        ("ls", "glob"),
        ("find", "glob"),
        ("grep", "grep"),
        ("write", "write"),
        ("edit", "edit"),
        ("bash", "bash"),
    ],
    commands: &[],
    writing: &[],
    variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENCODE_API_KEY"],
    logins: &[".local/share/opencode/auth.json"],
    not_switched_off: &["its own sessions", "AGENTS.md in its own home"],
    usage_left: None,
    cancel: Some(acp::cancel),
    launch,
    take: acp::take,
};

const KEY: &str = "GROVE_ENGINE_KEY";
const AGENT: &str = "grove-child";

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let mut launch = ProgramLaunch {
        remembers: task.provider.is_some(),
        ..ProgramLaunch::default()
    };
    launch.args([task.program.to_string_lossy(), "acp".into()]);
    let mut tools = json!({ "*": false });
    for tool in PROGRAM.tools(task.tools).0 {
        tools[tool] = true.into();
    }
    if task.bridge.is_some() {
        tools[format!("{}_*", ProgramBridge::NAME)] = true.into();
    }
    let agent = json!({ "mode": "primary", "prompt": task.system, "tools": tools });
    let mut configuration = json!({
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "default_agent": AGENT,
        "agent": { AGENT: agent, "title": { "disable": true } },
    });
    if let Some(level) = task.thinking {
        configuration["agent"][AGENT]["options"] = json!({ "reasoningEffort": level });
    }
    let mut model = task.model.map(str::to_owned);
    if let Some(provider) = task.provider {
        let id = task.model.unwrap_or("default");
        configuration["provider"] = json!({ "grove": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "grove",
            "options": { "baseURL": format!("{}/v1", provider.origin), "apiKey": format!("{{env:{KEY}}}") },
            "models": { id: { "name": id } },
        } });
        launch.set(KEY, &provider.key);
        model = Some(format!("grove/{id}"));
        for (variable, folder) in [
            ("XDG_DATA_HOME", "data"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            // It lets npm look for its own library, so npm gets a cache folder too.
            ("npm_config_cache", "npm"),
        ] {
            launch.set(variable, task.home.join(folder).to_string_lossy());
        }
    }
    if let Some(model) = model {
        configuration["model"] = Value::from(model.as_str());
        configuration["small_model"] = model.into();
    }
    launch.set("OPENCODE_CONFIG_CONTENT", configuration.to_string());
    // Nothing of the project, of other programs or of the network is used.
    for switch in [
        "OPENCODE_PURE",
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "OPENCODE_DISABLE_CLAUDE_CODE",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
    ] {
        launch.set(switch, "1");
    }
    acp::tell(&mut launch, task, &[task.message], None);
    launch
}
