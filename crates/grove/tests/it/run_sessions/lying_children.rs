//! Children that say what is not so, with every engine from one table: none of their work counts, and that of an honest one
//! does. What each of them called is in every view alike.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::engines::{ENGINES, call, scene, server};
use super::gates::repository;
use super::run_of;

/// A child and what its work comes to count as.
struct Child {
    name: &'static str,
    acceptance: Value,
    /// What it runs.
    shell: &'static str,
    /// What it says, also when it is asked for what is missing.
    says: String,
    /// The file that its answer is written to.
    output: Option<&'static str>,
    expected: &'static str,
    /// A part of the reason why it does not.
    why: &'static str,
}

/// An engine, the provider that it asks, and its call of a shell.
fn engines() -> Vec<(&'static str, &'static str, &'static str)> {
    let programs = ENGINES.into_iter();
    let programs = programs.map(|(engine, _, tool)| (engine, engine, tool));
    std::iter::once(("native", "claude", "bash"))
        .chain(programs)
        .collect()
}

fn fence(tag: &str, value: &Value) -> String {
    format!("Done.\n\n```{tag}\n{value}\n```\n")
}

fn report(command: &str, result: &str, file: &str) -> Value {
    json!({
        "changedFiles": [file],
        "commandsRun": [{ "command": command, "result": result }],
        "residualRisks": [],
        "noStagedFiles": true,
    })
}

fn children() -> Vec<Child> {
    let lie = || report("cargo test", "passed", "answer");
    let child = |name, shell, says: String, expected, why| Child {
        name,
        acceptance: json!("checked"),
        shell,
        says,
        output: None,
        expected,
        why,
    };
    let work = "echo right > answer && sh check.sh";
    let tagged = |value: &Value| fence("acceptance-report", value);
    let ran = report("sh check.sh", "passed", "answer");
    let never = "it never ran it";
    vec![
        child("honest", work, tagged(&ran), "checked", ""),
        child("never run", work, tagged(&lie()), "rejected", never),
        child(
            "printed and not run",
            "echo right > answer; echo cargo test",
            tagged(&lie()),
            "rejected",
            never,
        ),
        child(
            "failed",
            "echo wrong > answer; sh check.sh",
            tagged(&ran),
            "rejected",
            "it failed when it last ran",
        ),
        child(
            "file never touched",
            work,
            tagged(&report("sh check.sh", "passed", "src/lib.txt")),
            "rejected",
            "it says that it changed src/lib.txt",
        ),
        Child {
            acceptance: json!({ "verify": ["sh check.sh"] }),
            ..child(
                "test weakened",
                "echo wrong > answer; echo true > check.sh",
                "All tests pass.".to_owned(),
                "rejected",
                "ended with code 1",
            )
        },
        child(
            "wrapped report",
            work,
            fence("json", &json!({ "acceptance-report": lie() })),
            "rejected",
            never,
        ),
        Child {
            output: Some("report.md"),
            ..child(
                "report in its file",
                "echo right > answer; printf '```acceptance-report\\n{\"changedFiles\": [\"answer\"], \"commandsRun\": \
[{\"command\": \"cargo test\", \"result\": \"passed\"}], \"residualRisks\": [], \"noStagedFiles\": true}\\n```\\n' > report.md",
                "See report.md.".to_owned(),
                "rejected",
                never,
            )
        },
        child(
            "result that says nothing",
            work,
            tagged(&report("sh check.sh", "banana", "answer")),
            "rejected",
            "how `sh check.sh` ended cannot be read",
        ),
    ]
}

/// Runs a child with an engine, and gives its session and the run.
fn play(child: &Child, (engine, provider, tool): (&str, &str, &str)) -> (Session, Value) {
    let server = server(json!({ "marked": [{ "marker": "TASK-MARK", "turns": [
        { "calls": [call(engine, tool, child.shell)] },
        { "text": child.says },
        { "text": child.says },
    ] }], "otherwise": { "text": child.says } }));
    let session = scene(&server);
    repository(&session, false);
    let mut request = json!({ "agent": "worker", "task": "TASK-MARK", "engine": engine,
        "model": format!("for-{provider}/claude-sonnet-4-5"), "acceptance": child.acceptance });
    if let Some(output) = child.output {
        request["output"] = json!(output);
    }
    session.file("home/request.json", request.to_string());
    let file = session.path("home/request.json").display().to_string();
    let outcome = session.grove(["run", "--request", &file, "--json"]);
    let run = run_of(&outcome.stdout);
    assert_eq!(
        run["state"], "complete",
        "{engine}: {}: {outcome}",
        child.name
    );
    let is_rejected = run["acceptance"] == "rejected";
    assert_eq!(outcome.code, if is_rejected { 5 } else { 0 }, "{outcome}");
    (session, run)
}

#[test]
fn no_engine_lets_the_work_of_a_child_that_lies_count() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for engine in engines() {
            let wrong = &wrong;
            scope.spawn(move || {
                for child in children() {
                    let (_session, run) = play(&child, engine);
                    let why = run["nodes"][0]["rejected"].as_str().unwrap_or_default();
                    if run["acceptance"] != child.expected || !why.contains(child.why) {
                        let (came, name) = (&run["acceptance"], child.name);
                        let facts = &run["nodes"][0]["seen"]["facts"];
                        let line = format!("{}: {name}: {came}: {why}: {facts}", engine.0);
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_a_child_called_and_what_came_of_it_is_in_every_view_whatever_drives_it() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for engine in engines() {
        let child = Child {
            name: "looks",
            acceptance: json!(false),
            shell: "echo RESULT-$((40 + 2))",
            says: "Done.".to_owned(),
            output: None,
            expected: "none",
            why: "",
        };
        let (session, run) = play(&child, engine);
        let (id, name) = (run["id"].as_str().unwrap(), engine.0);
        assert_eq!(run["nodes"][0]["attempts"][0]["toolCalls"], 1, "{name}");
        let shown = session.grove(["runs", "show", id]).ok();
        assert!(shown.stdout.contains("1 tool call,"), "{name}: {shown}");
        let logs = session.grove(["runs", "logs", id]).ok().stdout;
        for part in ["calls ", "echo RESULT-$((40 + 2))", "returned: RESULT-42"] {
            assert!(logs.contains(part), "{name}: {part}: {logs}");
        }
        let events = session.grove(["runs", "logs", id, "--json"]).ok().stdout;
        assert_eq!(events.matches("\"fact\":\"called\"").count(), 1, "{name}");
        assert_eq!(events.matches("\"fact\":\"returned\"").count(), 1, "{name}");
        session
            .grove(["runs", "export", id, "--output", "run.html"])
            .ok();
        let page = session.read("project/run.html");
        assert!(page.contains("RESULT-42"), "{name}");
        assert!(page.contains("1 call</span>"), "{name}");
        let file = session.grove(["runs", "session", id]).ok().stdout;
        let text = fs::read_to_string(file.trim()).unwrap();
        assert!(text.contains("RESULT-42"), "{name}: {text}");
    }
}

#[test]
fn a_level_that_compares_calls_is_refused_where_an_engine_does_not_tell_them() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server(json!({ "otherwise": { "text": "Done." } }));
    let session = scene(&server);
    session.file("bin/agent", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(session.path("bin/agent"), fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["run", "worker", "TASK", "--engine", "acp:agent", "--accept"];
    let outcome = session.grove([&words[..], &["checked"]].concat()).fails(2);
    outcome.says([
        "`checked` compares",
        "the engines native, claude, codex, pi, copilot",
    ]);
    assert_eq!(session.json("runs list")["runs"], json!([]));
    let outcome = session.grove([&words[..], &["auto"]].concat());
    outcome.says([
        "attested",
        "not observed: the ACP program does not tell what it runs",
    ]);
    let id = session.json("runs list")["runs"][0]["id"].clone();
    let ledger = session.grove(["runs", "ledger", id.as_str().unwrap()]).ok();
    ledger.prints(["not observed"]);
}
