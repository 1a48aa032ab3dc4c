//! Gemini CLI, by the Agent Client Protocol (`gemini --acp`).
//!
//! It asks in Google's own format, which no provider of ours has, so its usage is not metered: it asks with the person's
//! login or key. With a key its home is the folder of the conversation, with settings of ours.
//!
//! Traps: it starts itself again unless told not to, and ending one of the two processes leaves the other behind; it reads
//! a project's instructions wherever the folder is trusted, under any name that the settings give the file, so the folder
//! is not trusted, and then it has no servers either; a tool for which it asks permission is told by the question alone; a
//! conversation that is loaded in the minute in which it began is overwritten, because its file is named by the minute, so
//! the file gets another minute first; it tells a loaded conversation after having said that it is loaded; it waits long
//! and silently before it asks again.

use serde_json::json;

use super::{Program, ProgramCapabilities, ProgramLaunch, ProgramTask, acp};

pub(super) static PROGRAM: Program = Program {
    name: "gemini",
    title: "Gemini CLI",
    binary: "gemini",
    native: &[],
    tried: "0.61.0",
    apis: &[],
    names_vendors: false,
    can: ProgramCapabilities {
        system_prompt: true,
        tool_list: true,
        base_url: false,
        model: true,
        resume: true,
        streaming: true,
        usage: true,
        runtime_tools: false,
        cancel: true,
        calls: false,
    },
    tools: &[
        ("read", "read_file"),
        ("ls", "list_directory"),
        ("find", "glob"),
        ("grep", "grep_search"),
        ("write", "write_file"),
        ("edit", "replace"),
        ("bash", "run_shell_command"),
    ],
    commands: &[],
    writing: &[],
    variables: &[KEY, "GOOGLE_GEMINI_BASE_URL"],
    logins: &[".gemini/oauth_creds.json"],
    not_switched_off: &[
        "its own settings, tools, memory and sessions, unless a key is in GEMINI_API_KEY",
    ],
    usage_left: None,
    cancel: Some(acp::cancel),
    launch,
    take: acp::take,
};

const KEY: &str = "GEMINI_API_KEY";
/// A tool name that no program has, because an empty list counts as no list.
const NO_TOOL: &str = "none";
/// A script that gives its files of a conversation another minute, and becomes the program.
const BEGIN_AGAIN: &str = "for file in \"$0\"/.gemini/tmp/*/chats/session-*; do \
mv -- \"$file\" \"${file%/*}/session-1970-01-01T00-00-${file##*-}\"; done; exec \"$@\"";

fn launch(task: &ProgramTask<'_>) -> ProgramLaunch {
    let (mut launch, system) = ProgramLaunch::with_system(task);
    let has_key = task.variables.iter().any(|name| name == KEY);
    if has_key {
        let home = task.home.to_string_lossy().into_owned();
        if task.resumes.is_some() {
            let begin = ["/bin/sh", "-c", BEGIN_AGAIN, &home].map(str::to_owned);
            launch.command.splice(0..0, begin);
        }
        let mut tools = PROGRAM.tools(task.tools).0;
        if tools.is_empty() {
            tools.push(NO_TOOL);
        }
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": true } },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "general": { "enableAutoUpdate": false, "sessionRetention": { "enabled": false } },
            "context": { "includeDirectoryTree": false },
            "hooksConfig": { "enabled": false },
            "skills": { "enabled": false },
            "tools": { "core": tools },
        });
        let file = task.home.join(".gemini/settings.json");
        launch.file(file, &settings.to_string());
        launch.set("GEMINI_CLI_HOME", home);
    }
    launch.remembers = has_key;
    launch.args(["--acp", "--extensions", "none"]);
    if let Some(model) = task.model {
        launch.args(["--model", model]);
    }
    launch.set("GEMINI_SYSTEM_MD", system);
    launch.set("GEMINI_CLI_NO_RELAUNCH", "true");
    acp::tell(&mut launch, task, &[task.message], Some("default"));
    launch
}
