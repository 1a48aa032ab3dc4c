//! Real agent programs against the model server: a scripted tool call is run, and its result comes back.

use std::fs;
use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::needs;
use serde_json::json;

const TURN: Duration = Duration::from_mins(5);

/// What no program says by itself.
const SECRET: &str = "marigold-7731";

/// A program's tool that reads a file, as its model calls it.
fn read_call(program: AgentProgram, path: &str) -> Reply {
    match program {
        AgentProgram::Claude => Reply::call("Read", json!({ "file_path": path })),
        AgentProgram::Codex => Reply::call("exec_command", json!({ "cmd": format!("cat {path}") })),
        AgentProgram::Copilot => Reply::call("view", json!({ "path": path })),
        AgentProgram::Pi => Reply::call("read", json!({ "path": path })),
    }
}

#[test]
fn a_scripted_tool_call_is_run_and_its_result_comes_back() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for program in AgentProgram::ALL {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, working) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&working).unwrap();
        let file = working.join("note.txt");
        fs::write(&file, format!("The word is {SECRET}.\n")).unwrap();

        let server = ModelServer::start(Script::replies([
            read_call(program, file.to_str().unwrap()),
            Reply::text("The end."),
        ]))
        .unwrap();
        let finished = program
            .run(&server, &home, &working, "Read the note.", TURN)
            .unwrap_or_else(|why| panic!("{why}"));

        let holds = |text: &[u8]| String::from_utf8_lossy(text).contains(SECRET);
        let requests = server.requests();
        let first = requests.iter().position(|request| holds(&request.body));
        assert!(
            first.is_some_and(|first| first > 0),
            "{}: in none of {} requests\n{}\n{}",
            program.host(),
            requests.len(),
            finished.stdout_text(),
            finished.stderr_text()
        );
        assert!(finished.success(), "{}", program.host());
        let said = finished.stdout_text();
        assert!(said.contains("The end."), "{}: {said}", program.host());
    }
}

#[test]
fn a_failing_model_is_a_failing_turn_and_ends_in_time() {
    needs![Claude, Codex, Copilot, Pi, Node];
    // pi says that it succeeded whatever happens, so its turn is only asked to end.
    for program in AgentProgram::ALL {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(&home).unwrap();
        let server = ModelServer::start(Script::chosen_by(|_, _| Reply::error(400, "no"))).unwrap();
        let finished = program
            .run(&server, &home, folder.path(), "Say it.", TURN)
            .unwrap_or_else(|why| panic!("{why}"));
        assert!(finished.elapsed < TURN, "{}", program.host());
        assert!(!server.requests().is_empty(), "{}", program.host());
        if program != AgentProgram::Pi {
            assert!(!finished.success(), "{}", program.host());
        }
    }
}
