//! Runs with the real binary against a model server on loopback: a child that answers, calls tools, gives data, is cut
//! off, is stopped by a limit, and goes on after its supervisor was killed.

mod acceptance;
mod answers;
mod attention;
mod compaction;
mod completion;
mod delegation;
mod engines;
mod exported_page;
mod forged_verdicts;
mod forks;
mod full_disk;
mod gates;
mod git_walls;
mod given_texts;
mod graphs;
mod held_children;
mod held_tools;
mod hostile_state;
mod hostile_words;
mod known_cases;
mod leaving;
mod ledger;
mod limits;
mod listed_skills;
mod lists;
pub(crate) mod live;
mod lying_children;
pub(crate) mod mcp_tools;
mod mistakes;
mod nemesis;
mod other_people;
mod parallel_calls;
mod powers;
mod results;
mod said_by_models;
mod sandboxed;
mod schemas;
mod secrets;
mod sessions;
mod settings;
mod shapes;
mod shown;
mod skill_variables;
mod submodules;
mod supervisors;
mod told;
mod tree_budgets;
mod tree_chains;
mod verdicts;
mod worktree_rounds;
mod worktree_setup;
pub(crate) mod worktrees;

use std::time::{Duration, Instant};

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::Session;
use serde_json::{Value, json};

const KEY: &str = "sk-marker-0123456789abcdef";
const AGENT: &str = "home/.grove/agents/worker.md";

/// A home with an agent, and a model that answers so.
fn scene(server: &ModelServer) -> Session {
    let session = crate::session()
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", KEY);
    session.definition(AGENT, "tools: read, write, bash\n", "You work.");
    session
}

fn server(replies: Vec<Reply>) -> ModelServer {
    ModelServer::start(Script::replies(replies)).unwrap()
}

fn run<'a>(task: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "worker", task, "--model", "anthropic/m"];
    words.extend(more);
    words
}

/// The last line of a run's JSON is the run.
fn run_of(stdout: &str) -> Value {
    serde_json::from_str(stdout.lines().last().unwrap()).unwrap()
}

fn bash(command: &str) -> Reply {
    Reply::call("bash", json!({ "command": command }))
}

#[test]
fn a_child_answers_with_what_it_was_told_and_its_key_is_nowhere() {
    let server = server(vec![Reply::text("It is fine.")]);
    let session = scene(&server);
    let outcome = session.grove(run("Look at it", &[]));
    let outcome = outcome.ok();
    assert_eq!(outcome.stdout, "It is fine.\n");
    outcome.says(["complete"]);
    let request = &server.requests()[0];
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let system = body["system"][0]["text"].as_str().unwrap();
    assert!(
        system.starts_with("You work.\n\nYou are a child agent"),
        "{system}"
    );
    assert_eq!(body["messages"][0]["content"][0]["text"], "Look at it");
    let listed = session.json("runs list");
    assert_eq!(listed["runs"][0]["state"], "complete");
    let state = session.path("");
    for file in grove_testkit::shared::files_below(&state).unwrap() {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY), "the key is in {}", file.display());
    }
}

#[test]
fn tools_run_where_the_child_works_and_nowhere_else() {
    let server = server(vec![
        Reply::call(
            "write",
            json!({ "path": "notes/a.txt", "content": "hello" }),
        ),
        Reply::call("write", json!({ "path": "../outside.txt", "content": "x" })),
        bash("cat notes/a.txt; echo $ANTHROPIC_API_KEY-"),
        Reply::call("fly", json!({})),
        Reply::text("Done."),
    ]);
    let session = scene(&server);
    session.dir("project");
    session.grove(run("Write", &[])).ok();
    assert_eq!(session.read("project/notes/a.txt"), "hello");
    assert!(!session.has("outside.txt"));
    let last = server.requests().last().unwrap().body.clone();
    let last = String::from_utf8_lossy(&last).into_owned();
    for told in [
        "outside the work folder",
        "hello-",
        "there is no tool `fly`",
    ] {
        assert!(last.contains(told), "{told} in {last}");
    }
}

#[test]
fn after_its_supervisor_was_killed_a_run_goes_on_and_nothing_runs_twice() {
    let server = server(vec![
        bash("echo begun >> begun.txt; sleep 3021.5"),
        Reply::text("I looked again."),
    ]);
    let session = scene(&server);
    session.dir("project");
    let id = session
        .grove(run("Sleep", &["--bg"]))
        .ok()
        .stdout
        .trim()
        .to_owned();
    until(|| sleepers("3021.5") > 0);
    let supervisor = holder_of(&session, &id);
    assert!(
        grove_testkit::process::kill()
            .args(["-9", &supervisor])
            .status()
            .unwrap()
            .success()
    );
    until(|| sleepers("3021.5") == 0);
    let outcome = session.grove(["runs", "wait", id.as_str()]).ok();
    assert_eq!(outcome.stdout, "I looked again.\n");
    assert_eq!(session.read("project/begun.txt"), "begun\n");
    let last = server.requests().last().unwrap().body.clone();
    assert!(String::from_utf8_lossy(&last).contains("outcome unknown"));
    let shown = session.json(["runs", "show", id.as_str()]);
    assert_eq!(shown["nodes"][0]["attempts"][0]["recoveries"], 1);
}

#[test]
fn a_recording_answers_without_a_provider() {
    let server = server(vec![bash("echo one"), Reply::text("Two.")]);
    let session = scene(&server);
    session.dir("project");
    session.grove(run("Count", &["--record", "r.jsonl"])).ok();
    drop(server);
    let session = session.without_env("ANTHROPIC_API_KEY");
    let outcome = session.grove(run("Count", &["--replay", "r.jsonl"])).ok();
    assert_eq!(outcome.stdout, "Two.\n");
    session
        .grove(run("Another task", &["--replay", "r.jsonl"]))
        .fails(1);
    let outcome = session.grove(run("Count", &[])).fails(1);
    outcome.says([
        "no model provider is configured",
        "ANTHROPIC_API_KEY",
        "--replay",
    ]);
}

#[test]
fn a_run_that_is_not_there_is_said_and_a_finished_one_is_pruned() {
    let server = server(vec![Reply::text("Yes.")]);
    let session = scene(&server);
    session.grove(run("Go", &[])).ok();
    for (words, code) in [
        ("runs show zzz", 1),
        ("runs show ../x", 1),
        ("run nobody task", 1),
        ("run worker", 2),
    ] {
        session.grove(words).fails(code);
    }
    let pruned = session.json("runs prune --days 0");
    assert_eq!(pruned["runs"], 1);
    assert_eq!(session.json("runs list")["runs"], json!([]));
}

/// The process that drives the child of a run.
fn holder_of(session: &Session, run: &str) -> String {
    let logs = session.grove(["runs", "logs", run, "--json"]).ok();
    let mut lines = logs.stdout.lines();
    let taken = lines.find(|line| line.contains("leased")).unwrap();
    let taken: Value = serde_json::from_str(taken).unwrap();
    taken["holder"]["pid"].to_string()
}

/// Waits for a condition, at most ten seconds.
fn until(holds: impl FnMut() -> bool) {
    within(Duration::from_secs(10), "it does not come to that", holds);
}

/// Waits for a condition, at most so long.
pub(crate) fn within(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills every process that belongs to a session, and waits until they are gone: what is only being killed
/// still holds its files.
pub(crate) fn end_all(session: &Session) {
    let mark = format!("XDG_STATE_HOME={}", session.path("state").display());
    until(|| {
        let mut left = false;
        for (pid, environment) in environments() {
            let is_ours = environment.split('\0').any(|variable| variable == mark);
            if is_ours && pid != std::process::id() {
                left = true;
                let _ = grove_testkit::process::kill()
                    .args(["-9", &pid.to_string()])
                    .status();
            }
        }
        !left
    });
}

/// Every process with its environment.
pub(crate) fn environments() -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((pid, String::from_utf8_lossy(&environment).into_owned()))
    })
    .collect()
}
