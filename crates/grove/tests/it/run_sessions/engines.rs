//! Agent programs as children: the real ones, through the binary, to the same run.

mod acp;
mod acp_programs;
mod isolation;
mod runtime_tools;
mod shapes;
mod table;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use grove_testkit::model_server::{ModelServer, Script, ScriptFile};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{PATH, Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{AGENT, KEY, holder_of, run_of, until};

/// Each with its provider's interface and its call of a shell.
pub(super) const ENGINES: [(&str, &str, &str); 4] = [
    ("claude", "anthropic", "Bash"),
    ("codex", "openai-responses", "exec_command"),
    ("pi", "openai-chat", "bash"),
    ("copilot", "openai-chat", "bash"),
];

/// The same for those that `cargo xtask programs --acp` tries.
const ACP_ENGINES: [(&str, &str, &str); 2] = [
    ("opencode", "openai-chat", "bash"),
    // It has a format of its own, and so no provider of ours.
    ("gemini", "", "run_shell_command"),
];

/// The model that an engine is asked with.
fn model_of(engine: &str) -> String {
    match engine {
        "gemini" => "gemini-2.5-flash".to_owned(),
        engine => format!("for-{engine}/claude-sonnet-4-5"),
    }
}

/// A home with an agent, the programs in its search path, and a provider for each of their interfaces.
pub(super) fn scene(server: &ModelServer) -> Session {
    let session = crate::session();
    let bin = session.path("bin");
    let path = format!("{}:{PATH}", bin.display());
    let mut session = session.with_env("PATH", path);
    for name in [
        "TEST_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GH_TOKEN",
    ] {
        session = session.with_env(name, KEY);
    }
    session.dir("bin").dir("project");
    for (name, need) in [
        ("claude", Need::Claude),
        ("codex", Need::Codex),
        ("copilot", Need::Copilot),
    ] {
        symlink(need.path(), bin.join(name)).unwrap();
    }
    let of_node = |name: &str, script: PathBuf| {
        let node = Need::Node.path();
        let text = format!(
            "#!/bin/sh\nexec {} {} \"$@\"\n",
            node.display(),
            script.display()
        );
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let script = Need::Pi
        .path()
        .join("@earendil-works/pi-coding-agent/dist/cli.js");
    of_node("pi", script);
    if let Some(program) = std::env::var_os("GROVE_TEST_OPENCODE") {
        symlink(program, bin.join("opencode")).unwrap();
    }
    if let Some(script) = std::env::var_os("GROVE_TEST_GEMINI") {
        of_node("gemini", script.into());
        session = session.with_env("GEMINI_API_KEY", KEY);
        session = session.with_env("GOOGLE_GEMINI_BASE_URL", server.url());
    }
    let engines = ENGINES.into_iter().chain(ACP_ENGINES);
    let engines = engines.filter(|(_, api, _)| !api.is_empty());
    let providers = engines.map(|(engine, api, _)| {
        let version = if api == "anthropic" { "" } else { "/v1" };
        format!(
            "[providers.for-{engine}]\napi = \"{api}\"\nbase_url = \"{}{version}\"\nkey = {{ env = \"TEST_KEY\" }}\n",
            server.url()
        )
    });
    session.file(USER_CONFIG, providers.collect::<String>());
    session.definition(AGENT, "tools: read, write, bash\n", "You work.");
    session
}

pub(super) fn server(script: Value) -> ModelServer {
    let script: ScriptFile = serde_json::from_value(script).unwrap();
    ModelServer::start(Script::from(script)).unwrap()
}

pub(super) fn call(engine: &str, tool: &str, command: &str) -> Value {
    let arguments = match engine {
        "codex" => json!({ "cmd": command }),
        _ => json!({ "command": command, "description": "d" }),
    };
    json!({ "name": tool, "arguments": arguments })
}

fn words<'a>(engine: &'a str, model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "worker", "TASK-MARK", "--engine", engine];
    words.extend(["--model", model]);
    words.extend(more);
    words
}

#[test]
fn every_program_does_a_task_and_the_run_is_like_any_other() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for (engine, _, tool) in ENGINES {
        let server = server(json!({ "marked": [{ "marker": "TASK-MARK", "turns": [
            { "text": "I look.", "calls": [call(engine, tool, "env > made.txt")],
                "usage": { "input": 10, "output": 3, "cached": 5 } },
            { "text": "Done.", "usage": { "input": 20, "output": 4, "cached": 6 } },
        ] }], "otherwise": { "text": "a title" } }));
        let session = scene(&server);
        let model = format!("for-{engine}/claude-sonnet-4-5");
        let outcome = session.grove(words(engine, &model, &["--json"])).ok();
        let run = run_of(&outcome.stdout);
        assert_eq!(run["state"], "complete", "{engine}");
        assert_eq!(run["result"], "Done.", "{engine}");
        let node = &run["nodes"][0];
        assert_eq!(node["engine"], engine);
        // Its version is recorded, and one that was not tried is said.
        let version = node["programVersion"].as_str().unwrap_or_default();
        assert_eq!(version.split('.').count(), 3, "{engine}: {version}");
        let is_tried = grove_engine::below::grove_exec::Program::named(engine)
            .unwrap()
            .tried
            == version;
        let is_said = outcome.stderr.contains("is not the tested version");
        assert_eq!(is_said, !is_tried, "{engine}: {outcome}");
        assert_eq!(run["usage"]["input"], 30, "{engine}");
        assert_eq!(run["usage"]["output"], 7, "{engine}");
        assert_eq!(run["usage"]["estimated"], false, "{engine}");
        assert_eq!(run["usage"]["cached"], 11, "{engine}");
        assert_eq!(run["nodes"][0]["attempts"][0]["turns"], 2, "{engine}");
        // The key is the provider's and nobody else's: neither the program nor its tools have it.
        let environment = session.read("project/made.txt");
        assert!(environment.contains("GROVE_RUN="), "{engine}");
        assert!(!environment.contains(KEY), "{engine}");
        for request in server.requests() {
            let keys = ["x-api-key", "authorization"].map(|name| request.header(name));
            let keys: Vec<&str> = keys.into_iter().flatten().collect();
            assert_eq!(keys.len(), 1, "{engine}: {keys:?}");
            assert!(keys[0].ends_with(KEY), "{engine}");
        }
        // What it was told is whole and once in its first request, and nothing of it is left on disk.
        let requests = server.requests();
        let first = requests.iter().find(|request| {
            let text = String::from_utf8_lossy(&request.body);
            text.contains("TASK-MARK")
        });
        let first = first.unwrap().json().to_string();
        for part in ["You work.", "TASK-MARK", "You are a child agent"] {
            assert_eq!(first.matches(part).count(), 1, "{engine}: {part}");
        }
        for file in grove_testkit::shared::files_below(&session.path("home")).unwrap() {
            let bytes = fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains(KEY),
                "{engine}: the key is in {}",
                file.display()
            );
        }
    }
}

#[test]
fn a_program_whose_supervisor_was_killed_is_lost_and_nothing_of_it_stays() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server(json!({ "otherwise": { "calls": [
        call("claude", "Bash", "echo begun >> begun.txt; sleep 3037.5"),
    ] } }));
    let session = scene(&server);
    let model = "for-claude/claude-sonnet-4-5";
    let outcome = session.grove(words("claude", model, &["--bg"])).ok();
    let id = outcome.stdout.trim().to_owned();
    until(|| sleepers("3037.5") > 0);
    let supervisor = holder_of(&session, &id);
    let killed = grove_testkit::process::kill()
        .args(["-9", &supervisor])
        .status();
    assert!(killed.unwrap().success());
    until(|| sleepers("3037.5") == 0);
    session.grove(["runs", "wait", id.as_str()]).fails(1);
    let shown = session.json(["runs", "show", id.as_str()]);
    assert_eq!(shown["state"], "lost", "{shown}");
    assert_eq!(session.read("project/begun.txt"), "begun\n");
}

#[test]
fn engines_are_listed_and_one_that_is_not_there_is_said_before_anything_starts() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server(json!({}));
    let session = scene(&server);
    let listed = session.json("engines");
    let programs = listed["programs"].as_array().unwrap();
    assert_eq!(programs.len(), ENGINES.len() + ACP_ENGINES.len());
    let is_tested = |program: &&Value| ENGINES.iter().any(|(name, ..)| program["name"] == *name);
    assert_eq!(programs.iter().filter(is_tested).count(), ENGINES.len());
    for program in programs.iter().filter(is_tested) {
        assert_eq!(program["installed"], true, "{program}");
        let version = program["version"].as_str().unwrap_or_default();
        assert!(version.contains('.'), "{program}");
        assert_eq!(program["login"], false, "{program}");
        assert_eq!(program["try"], Value::Null, "{program}");
    }
    session.file("home/.codex/auth.json", "{}");
    let tried = session.json("engines --try");
    for program in tried["programs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_tested)
    {
        assert_eq!(program["try"]["ok"], true, "{program}");
        assert_eq!(program["login"], program["name"] == "codex", "{program}");
    }
    // One that is broken says so.
    fs::remove_file(session.path("bin/pi")).unwrap();
    session.file("bin/pi", "#!/bin/sh\necho 0.1.2\n");
    fs::set_permissions(session.path("bin/pi"), fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = session.grove(["engines", "--try"]).fails(1);
    // Words of a column wrap.
    for part in ["works", "fails: it", "keeps its own system text"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    fs::remove_file(session.path("bin/codex")).unwrap();
    for (engine, code, part) in [
        ("codex", 1, "Codex is not installed"),
        ("acp:goose acp", 1, "there is no program `goose` in PATH"),
        ("clude", 2, "is not an engine"),
    ] {
        let outcome = session.grove(words(engine, "for-codex/m", &[])).fails(code);
        outcome.says([part]);
    }
    assert_eq!(session.json("runs list")["runs"], json!([]));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_recording_answers_a_program_and_no_other_task() {
    needs![Claude, Codex, Copilot, Pi, Node];
    std::thread::scope(|scope| {
        for (engine, _, tool) in ENGINES {
            scope.spawn(move || {
                let server = server(json!({ "marked": [{ "marker": "TASK-MARK", "turns": [
                    { "text": "I look.", "calls": [call(engine, tool, "echo made >> made.txt")] },
                    { "text": "Done." },
                ] }], "otherwise": { "text": "a title" } }));
                let session = scene(&server);
                let model = model_of(engine);
                let record = words(engine, &model, &["--record", "r.jsonl"]);
                session.grove(record).ok();
                let asked = server.requests().len();
                let replay = words(engine, &model, &["--replay", "r.jsonl", "--json"]);
                let run = run_of(&session.grove(replay).ok().stdout);
                assert_eq!(run["result"], "Done.", "{engine}");
                assert_eq!(run["usage"]["estimated"], false, "{engine}");
                assert_eq!(session.read("project/made.txt"), "made\nmade\n", "{engine}");
                let mut other = words(engine, &model, &["--replay", "r.jsonl"]);
                other[2] = "Another task";
                let outcome = session.grove(other).fails(1);
                outcome.says(["the recording has no such request"]);
                assert_eq!(server.requests().len(), asked, "{engine}: nobody was asked");
            });
        }
    });
}

#[test]
fn programs_ask_providers_of_every_interface_that_they_speak() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for engine in ["pi", "copilot"] {
        for api in ["anthropic", "openai-responses", "openai-chat"] {
            let server = server(json!({ "otherwise": { "text": "Done." } }));
            let session = scene(&server);
            let version = if api == "anthropic" { "" } else { "/v1" };
            let config = format!(
                "[providers.mine]\napi = \"{api}\"\nbase_url = \"{}{version}\"\nkey = {{ env = \"TEST_KEY\" }}\n",
                server.url()
            );
            session.file(USER_CONFIG, config);
            let outcome = session.grove(words(engine, "mine/claude-sonnet-4-5", &["--json"]));
            let run = run_of(&outcome.ok().stdout);
            assert_eq!(run["result"], "Done.", "{engine} {api}");
            assert_eq!(run["usage"]["estimated"], false, "{engine} {api}");
        }
    }
}

#[test]
fn a_provider_that_an_engine_cannot_ask_is_refused_before_the_start() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server(json!({ "otherwise": { "text": "Done." } }));
    let session = scene(&server);
    for (engine, model, expected) in [
        (
            "codex",
            "for-claude/m",
            [
                "Codex does not speak `anthropic`",
                "provider `for-claude`",
                "`--engine pi`",
            ],
        ),
        (
            "claude",
            "for-codex/m",
            [
                "Claude Code does not speak `openai-responses`",
                "provider `for-codex`",
                "`--engine codex`",
            ],
        ),
    ] {
        let outcome = session.grove(words(engine, model, &[])).fails(2);
        outcome.says(expected);
    }
    assert_eq!(session.json("runs list")["runs"], json!([]));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_a_program_complains_about_is_the_cause_of_the_run() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server(json!({}));
    let session = scene(&server);
    for (script, expected) in [
        (
            "echo '{\"a\": 1}'; echo 'Model x not found' >&2; exit 1",
            "Model x not found",
        ),
        ("echo 'Model y not found'; exit 1", "Model y not found"),
        ("echo \"no key $OPENAI_API_KEY\" >&2; exit 1", "no key"),
    ] {
        fs::remove_file(session.path("bin/pi")).unwrap();
        session.file("bin/pi", format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(session.path("bin/pi"), fs::Permissions::from_mode(0o755)).unwrap();
        let outcome = session
            .grove(words("pi", "some-model", &["--json"]))
            .fails(1);
        let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
        let shown = session.grove(["runs", "show", &id]);
        assert!(shown.stdout.contains(expected), "{shown}");
        assert!(
            shown
                .stdout
                .contains("the child ended without an answer: pi: "),
            "{shown}"
        );
        assert!(!shown.stdout.contains(KEY), "{shown}");
    }
}
