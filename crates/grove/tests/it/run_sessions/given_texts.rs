//! Tasks and lists that are in files or come on standard input, and fields that have no effect.

use grove_testkit::model_server::Reply;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::graphs::{scene, states};
use super::run_of;

/// What a command prints that reads a text on its standard input.
fn with_input(session: &Session, words: &[&str], text: &str) -> (bool, String) {
    session.file("input", text);
    let input = std::fs::File::open(session.path("input")).unwrap();
    let mut command = session.command("project");
    let done = command.args(words).stdin(input).output().unwrap();
    let shown = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8(shown).unwrap())
}

#[test]
fn a_task_comes_from_standard_input_or_a_file_and_is_never_a_dash() {
    let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
    let task = "Look at\nthis \"file\".\n";
    let (is_done, shown) = with_input(&session, &["run", "worker", "-"], task);
    assert!(
        is_done && shown.contains("<Look at\nthis \"file\".>"),
        "{shown}"
    );
    session.file("project/task.md", task);
    for words in [
        &["run", "worker", "--task-file", "task.md"][..],
        &["run", "worker", "->", "judge", "--task-file", "task.md"],
    ] {
        session
            .grove(words)
            .ok()
            .prints(["<Look at\nthis \"file\".>"]);
    }
    let asked = server.requests().len();
    session.file("project/empty", "\n");
    for (words, message) in [
        (&["run", "worker", "-"][..], "the task is empty"),
        (
            &["run", "worker", "--task-file", "empty"],
            "the task is empty",
        ),
        (&["run", "worker", "-", ",", "judge", "-"], "only once"),
        (
            &["run", "worker", "x", "--task-file", "task.md"],
            "has one already",
        ),
        (&["run", "worker", "--task-file", "none.md"], "none.md"),
    ] {
        let (is_done, shown) = with_input(&session, words, " \n");
        assert!(!is_done && shown.contains(message), "{words:?}: {shown}");
    }
    assert_eq!(server.requests().len(), asked, "nothing is billed");
}

#[test]
fn an_agent_runs_once_for_each_of_a_list_that_is_there() {
    let (_server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
    for name in ["a.rs", "b.rs"] {
        session.file(format!("project/{name}"), name);
    }
    let words = [
        "run",
        "worker",
        "Look at {item}",
        "--json",
        "--each",
        "a.rs",
        "b.rs",
    ];
    let run = run_of(&session.grove(words).ok().stdout);
    assert_eq!(
        states(&run),
        ["1 complete", "1[0] complete", "1[1] complete"]
    );
    let said: Vec<&Value> = run["nodes"].as_array().unwrap().iter().skip(1).collect();
    assert_eq!(said[0]["output"]["text"], "<Look at a.rs>");
    assert_eq!(said[1]["label"], "b.rs");
    // The answers for all are before the next step.
    let (is_done, shown) = with_input(
        &session,
        &[
            "run",
            "worker",
            "Look at {item}",
            "->",
            "judge",
            "Sum up {outputs.each}",
            "--each-line",
            "-",
        ],
        "one\n\n  two \n",
    );
    assert!(
        is_done && shown.contains("<Look at one>") && shown.contains("<Look at two>"),
        "{shown}"
    );
    let request = json!({ "chain": [{
        "expand": { "items": [{ "n": 1 }, { "n": 2 }], "key": "/n" },
        "parallel": { "agent": "worker", "task": "Add {item.n}" },
        "collect": { "as": "sums" },
    }] });
    session.file("project/request.json", request.to_string());
    let run = run_of(
        &session
            .grove("run --request request.json --json")
            .ok()
            .stdout,
    );
    assert_eq!(
        states(&run),
        ["1 complete", "1[1] complete", "1[2] complete"]
    );
    session
        .grove(["plan", "worker", "Look at {item}", "--each", "a.rs", "b.rs"])
        .ok()
        .prints(["each       2 items"]);
    for (words, message) in [
        (
            &["run", "worker", "Look", "--each", "a.rs", "b.rs"][..],
            "no `{item}`",
        ),
        (
            &[
                "run",
                "worker",
                "Look at {item}",
                "--max-tasks",
                "1",
                "--each",
                "a.rs",
                "b.rs",
            ],
            "2 items are more than 1",
        ),
        (
            &["run", "worker", "x", ",", "judge", "y", "--each", "a.rs"],
            "a list is for one agent",
        ),
    ] {
        session.grove(words).fails(2).says([message]);
    }
}

#[test]
fn what_has_no_effect_is_said_where_it_is_used() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    let lines = "completionGuard: false\ntoolBudget: {hard: 5, block: [read]}\n";
    session.definition("home/.grove/agents/guarded.md", lines, "You work.");
    let request = json!({ "agent": "guarded", "task": "x", "share": true, "clarify": true });
    session.file("project/request.json", request.to_string());
    for words in ["plan --request request.json", "run --request request.json"] {
        session.grove(words).ok().says([
            "`share` has no effect",
            "`clarify` has no effect",
            "`completionGuard` of agent `guarded` has no effect",
            "`toolBudget.block` of agent `guarded` has no effect",
        ]);
    }
}
