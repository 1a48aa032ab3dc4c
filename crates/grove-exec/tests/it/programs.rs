//! Real agent programs, under a keeper, against a model server: what is told, what is heard, and the verdict.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use grove_exec::{
    EndReason, Keeper, KeeperOrder, KeeperReport, PROGRAMS, Program, ProgramEvent, ProgramExit,
    ProgramInput, ProgramProvider, ProgramState, ProgramTask, ProgramVerdict, StopTokens, verdict,
};
use grove_plan::ModelFailure;
use grove_testkit::model_server::{ModelServer, Script, ScriptFile};
use grove_testkit::need::Need;
use grove_testkit::needs;
use serde_json::{Value, json};

/// Longer than a turn takes on a busy machine.
const LIMIT_MS: u64 = 120_000;

/// One program with a home, a work folder and a model server of its own.
struct World {
    folder: tempfile::TempDir,
    server: ModelServer,
    program: &'static Program,
}

/// What came of a task.
struct Done {
    verdict: ProgramVerdict,
    heard: ProgramState,
    events: Vec<ProgramEvent>,
}

impl World {
    fn new(program: &'static Program, script: Value) -> Self {
        let script: ScriptFile = serde_json::from_value(script).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "home/.codex", "home/.claude", "own"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        // What a child must not be told: the project's instructions and the person's own.
        for name in [
            "work/AGENTS.md",
            "work/CLAUDE.md",
            "home/.codex/AGENTS.md",
            "home/.claude/CLAUDE.md",
        ] {
            fs::write(folder.path().join(name), "UNINHERITED").unwrap();
        }
        Self {
            folder,
            server: ModelServer::start(Script::from(script)).unwrap(),
            program,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Nobody else's: what has a mark is ended with whoever has the same.
    fn mark(&self) -> String {
        let folder = self.folder.path().file_name().unwrap();
        format!("{}/1/1", folder.to_string_lossy())
    }

    /// The program that `cargo xtask test --against-hosts` installed.
    fn binary(&self) -> PathBuf {
        match self.program.name {
            "claude" => Need::Claude.path(),
            "codex" => Need::Codex.path(),
            "copilot" => Need::Copilot.path(),
            _ => {
                let script = Need::Pi.path();
                let script = script.join("@earendil-works/pi-coding-agent/dist/cli.js");
                let node = Need::Node.path();
                let text = format!(
                    "#!/bin/sh\nexec {} {} \"$@\"\n",
                    node.display(),
                    script.display()
                );
                let file = self.path("pi");
                fs::write(&file, text).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
                file
            }
        }
    }

    async fn run(&self, message: &str) -> Done {
        let (own, binary) = (self.path("own"), self.binary());
        let provider = ProgramProvider {
            api: self.program.apis.first().copied().unwrap_or_default(),
            origin: self.server.url(),
            key: "grove-test-key-5f2c81d7a9e04b36".to_owned(),
        };
        let tools = ["read", "bash"].map(str::to_owned);
        let launch = self.program.launch(&ProgramTask {
            program: &binary,
            system: "You are the child SYSTEM-MARK.",
            message,
            model: Some("claude-sonnet-4-5"),
            thinking: None,
            tools: &tools,
            writes: true,
            provider: Some(&provider),
            variables: &[],
            bridge: None,
            resumes: None,
            arguments: &[],
            work_folder: &self.path("work"),
            folder: &own,
            home: &own.join("conversation"),
        });
        for (file, text) in &launch.files {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let mut environment = launch.environment.clone();
        for (name, value) in [
            ("HOME", self.path("home")),
            ("TMPDIR", self.path("own")),
            ("PATH", "/usr/bin:/bin".into()),
        ] {
            environment.push((name.to_owned(), value.to_string_lossy().into_owned()));
        }
        let complaints = own.join("complaints");
        let order = KeeperOrder {
            command: launch.whole_command(&complaints),
            environment,
            limit_ms: LIMIT_MS,
            ..KeeperOrder::shell("", self.path("work"), &self.mark())
        };
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap();
        let mut reader = self.program.reader(&launch);
        let mut events = Vec::new();
        let never = StopTokens::default();
        let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
        let mut sender = Some(sender);
        let says = launch.input_lines.front();
        let pipe = says.and(launch.input.as_deref());
        let mut pipe = pipe.map(|path| ProgramInput::make(path).unwrap());
        if let (Some(first), Some(pipe)) = (says, &mut pipe) {
            pipe.say(&first.to_string()).await.unwrap();
        }
        let ran = keeper.run(&order, &never, |bytes| {
            reader.push(bytes, &mut |event| match event {
                ProgramEvent::Say(line) => sender.as_ref().unwrap().send(line).unwrap(),
                ProgramEvent::Close => sender = None,
                event => events.push(event),
            });
        });
        let speaking = async {
            while let (Some(line), Some(pipe)) = (lines.recv().await, &mut pipe) {
                pipe.say(&line).await.unwrap();
            }
            pipe = None;
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            end = ran => end.unwrap(),
            () = speaking => unreachable!(),
        };
        let mut heard = reader.finish(&mut |event| events.push(event));
        let left = fs::read(own.join(Program::USAGE_FILE)).unwrap_or_default();
        heard.usage = self.program.usage_left(&left).unwrap_or(heard.usage);
        assert!(end.report.left.is_empty(), "{}", self.program.name);
        let verdict = verdict(&heard, &end.report);
        let failed = !matches!(verdict, ProgramVerdict::Answered);
        if failed {
            println!("{}", read(&complaints));
            println!("{}", end.output.text());
        }
        Done {
            verdict,
            heard,
            events,
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// A call of a shell in the program's own words.
fn shell_call(program: &Program) -> Value {
    match program.name {
        "codex" => {
            json!({ "name": "exec_command", "arguments": { "cmd": "echo made > made.txt" } })
        }
        "claude" => {
            json!({ "name": "Bash", "arguments": { "command": "echo made > made.txt", "description": "d" } })
        }
        _ => {
            json!({ "name": "bash", "arguments": { "command": "echo made > made.txt", "description": "d" } })
        }
    }
}

#[tokio::test]
async fn every_program_is_told_the_task_answers_and_uses_a_tool() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for program in PROGRAMS.into_iter().take(4) {
        let script = json!({
            "marked": [{ "marker": "TASK-MARK", "turns": [
                { "text": "I look.", "calls": [shell_call(program)], "usage": { "input": 10, "output": 3 } },
                { "text": "Done: success, error 429.", "usage": { "input": 20, "output": 4 } },
            ] }],
            "otherwise": { "text": "a title" },
        });
        let world = World::new(program, script);
        let done = world.run("TASK-MARK do it").await;
        let name = program.name;
        assert_eq!(done.verdict, ProgramVerdict::Answered, "{name}");
        assert_eq!(done.heard.text, "Done: success, error 429.", "{name}");
        assert_eq!(read(&world.path("work/made.txt")), "made\n", "{name}");
        assert!(done.heard.session.is_some(), "{name}");
        let starts = done.events.iter();
        let starts = starts.filter(|event| matches!(event, ProgramEvent::ToolStart { .. }));
        let ends = done.events.iter();
        let ends =
            ends.filter(|event| matches!(event, ProgramEvent::ToolEnd { failed: false, .. }));
        assert_eq!((starts.count(), ends.count()), (1, 1), "{name}");
        let usage = done.heard.usage;
        assert_eq!((usage.input, usage.output), (30, 7), "{name}");
        let requests = world.server.requests();
        let texts: Vec<String> = requests
            .iter()
            .map(|request| String::from_utf8_lossy(&request.body).into_owned())
            .collect();
        let first = texts
            .iter()
            .find(|text| text.contains("TASK-MARK"))
            .unwrap();
        for mark in ["TASK-MARK", "SYSTEM-MARK"] {
            assert_eq!(first.matches(mark).count(), 1, "{name}: {mark}");
        }
        assert!(
            !texts.iter().any(|text| text.contains("UNINHERITED")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_refuses_is_a_failure_whatever_the_program_says() {
    async fn is_refused(program: &'static Program) {
        let refusal = json!({ "error": { "status": 401, "message": "bad key" } });
        let world = World::new(program, json!({ "otherwise": refusal }));
        let verdict = world.run("TASK-MARK do it").await.verdict;
        let name = program.name;
        let is_auth = matches!(verdict, ProgramVerdict::ModelFailed(ModelFailure::Auth, _));
        assert!(is_auth, "{name}: {verdict:?}");
    }
    needs![Claude, Codex, Copilot, Pi, Node];
    let [first, second, third, fourth, ..] = PROGRAMS;
    // They wait between their tries.
    tokio::join!(
        is_refused(first),
        is_refused(second),
        is_refused(third),
        is_refused(fourth),
    );
}

#[test]
fn words_and_exit_codes_decide_nothing_alone() {
    let report = |exit: ProgramExit, why: EndReason| KeeperReport {
        exit,
        why,
        scans: 2,
        ended: 0,
        left: Vec::new(),
        held: Vec::new(),
    };
    let done = |code: i32| report(ProgramExit::Code(code), EndReason::Done);
    let heard = |text: &str, is_over: bool| ProgramState {
        text: text.to_owned(),
        is_over,
        ..ProgramState::default()
    };
    let is_answered = |heard: &ProgramState, report: &KeeperReport| {
        matches!(verdict(heard, report), ProgramVerdict::Answered)
    };
    assert!(is_answered(&heard("error 429, all failed", true), &done(0)));
    // Nothing more was said to it after its end, so that it was ended means nothing.
    let by_word = ProgramState {
        ended_by_word: true,
        ..heard("done", true)
    };
    assert!(is_answered(
        &by_word,
        &report(ProgramExit::Signal(15), EndReason::Told)
    ));
    for (heard, report) in [
        (heard("success", false), done(0)),
        (heard("  ", true), done(0)),
        (heard("success", true), done(1)),
        (
            heard("success", true),
            report(ProgramExit::Signal(9), EndReason::Done),
        ),
        (
            heard("success", true),
            report(ProgramExit::Code(0), EndReason::Told),
        ),
        (
            heard("success", true),
            report(ProgramExit::Code(0), EndReason::TimedOut),
        ),
        (
            ProgramState {
                is_interrupted: true,
                ended_by_word: true,
                ..heard("success", true)
            },
            report(ProgramExit::Code(0), EndReason::Told),
        ),
        (
            ProgramState {
                ended_by_word: true,
                ..heard(" ", true)
            },
            done(0),
        ),
        (
            ProgramState {
                is_interrupted: true,
                ..heard("success", true)
            },
            done(0),
        ),
        (
            ProgramState {
                failure: Some((ModelFailure::Rate, String::new())),
                ..heard("success", true)
            },
            done(0),
        ),
    ] {
        assert!(!is_answered(&heard, &report), "{heard:?} {report:?}");
    }
}

#[test]
fn what_is_told_again_of_an_earlier_conversation_is_no_answer() {
    let program = Program::named("gemini").unwrap();
    let (tools, variables) = (["bash".to_owned()], ["GEMINI_API_KEY".to_owned()]);
    let launch = program.launch(&ProgramTask {
        program: Path::new("gemini"),
        arguments: &[],
        work_folder: Path::new("/work"),
        system: "You work.",
        message: "Go on.",
        model: None,
        thinking: None,
        tools: &tools,
        writes: true,
        provider: None,
        variables: &variables,
        bridge: None,
        resumes: Some("s1"),
        folder: Path::new("/attempt"),
        home: Path::new("/conversation"),
    });
    assert!(launch.remembers);
    let words = |text: &str| {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        json!({ "method": "session/update", "params": { "update": update } })
    };
    let asks = |kind: &str| {
        let options = json!([{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }]);
        let call = json!({ "toolCallId": kind, "kind": kind });
        // Its own requests have the numbers of ours.
        json!({ "id": 2, "method": "session/request_permission", "params": { "toolCall": call, "options": options } })
    };
    let mut reader = program.reader(&launch);
    let (mut said, mut starts, mut is_closed) = (Vec::new(), 0, false);
    let mut on_event = |event: ProgramEvent| match event {
        ProgramEvent::Say(line) => said.push(serde_json::from_str::<Value>(&line).unwrap()),
        ProgramEvent::ToolStart { .. } => starts += 1,
        ProgramEvent::Close => is_closed = true,
        _ => {}
    };
    for line in [
        json!({ "id": 0, "result": {} }),
        words("Before it is loaded."),
        json!({ "id": 1, "result": {} }),
        words("After it was loaded."),
        json!({ "id": 3, "result": {} }),
        words("I look."),
        asks("execute"),
        asks("edit"),
        words("New."),
        json!({ "id": 2, "result": { "stopReason": "end_turn" } }),
    ] {
        reader.push(format!("{line}\n").as_bytes(), &mut on_event);
    }
    let heard = reader.finish(&mut on_event);
    assert_eq!(heard.text, "New.");
    assert_eq!(heard.session.as_deref(), Some("s1"));
    assert!(is_closed && heard.ended_by_word);
    assert_eq!(starts, 2);
    let methods: Vec<&str> = said.iter().filter_map(|it| it["method"].as_str()).collect();
    let expected = ["session/load", "session/set_mode", "session/prompt"];
    assert_eq!(methods, expected);
    let chosen = said
        .iter()
        .filter_map(|it| it["result"]["outcome"]["optionId"].as_str());
    assert_eq!(chosen.collect::<Vec<_>>(), ["y", "n"]);
}
