//! The same child for each item of a list that an earlier one gave.

use std::sync::atomic::{AtomicBool, Ordering};

use grove_testkit::model_server::Reply;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::graphs::{scene, states};
use super::{end_all, run_of, until};

/// Whoever is asked for files names these; whoever is given one answers with it, or fails once.
fn answers(files: Value, failing: &'static str) -> impl Fn(&str, usize) -> Reply {
    let has_failed = AtomicBool::new(false);
    let fails = move |line: &str| {
        let is_it = !failing.is_empty() && line.ends_with(failing);
        is_it && !has_failed.swap(true, Ordering::SeqCst)
    };
    move |task, _| match task.lines().next().unwrap_or_default() {
        "Which files?" => Reply::call("structured_output", json!({ "files": files })),
        line if fails(line) => Reply::error(400, "no"),
        line => Reply::text(format!("<{line}>")),
    }
}

fn chain(expand: &Value, more: &Value) -> Value {
    let mut each = json!({
        "expand": { "from": { "output": "found", "path": "/files" }, "item": "file", "key": "/path", "maxItems": 4 },
        "parallel": { "agent": "worker", "task": "Look at {file.path}", "label": "of {file.path}" },
        "collect": { "as": "seen" },
        "concurrency": 2,
    });
    for (name, value) in expand.as_object().unwrap() {
        each["expand"][name] = value.clone();
    }
    for (name, value) in more.as_object().unwrap() {
        each[name] = value.clone();
    }
    json!({
        "task": "Which files?",
        "chain": [
            { "agent": "judge", "as": "found", "outputSchema": { "type": "object" } },
            each,
            { "agent": "judge", "task": "Sum up {outputs.seen}" },
        ],
    })
}

fn run_request(session: &Session, request: &Value, code: i32) -> Value {
    session.file("project/request.json", request.to_string());
    let outcome = session.grove("run --request request.json --json");
    run_of(&outcome.fails(code).stdout)
}

fn files(paths: &[&str]) -> Value {
    paths.iter().map(|path| json!({ "path": path })).collect()
}

#[test]
fn a_child_for_each_item_and_what_all_said_together() {
    let (server, session) = scene(answers(files(&["src/A.rs", "b", "c"]), ""));
    let run = run_request(&session, &chain(&json!({}), &json!({})), 0);
    let expected = [
        "1 complete",
        "2 complete",
        "2[src-a-rs] complete",
        "2[b] complete",
        "2[c] complete",
        "3 complete",
    ];
    assert_eq!(states(&run), expected);
    assert_eq!(run["nodes"][2]["label"], "of src/A.rs");
    assert_eq!(run["nodes"][1]["items"], 3);
    let seen = &run["nodes"][1]["output"]["structured"];
    let first = json!({
        "key": "src/A.rs", "index": 0, "item": { "path": "src/A.rs" }, "agent": "worker",
        "text": "<Look at src/A.rs>",
    });
    assert_eq!(seen[0], first);
    let last = server.requests().last().unwrap().json();
    let told = last["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(told.starts_with(&format!("Sum up {seen}")), "{told}");
    assert!(told.contains("=== 2[b] of b ===\n<Look at b>"), "{told}");
    let id = run["id"].as_str().unwrap();
    let told = session
        .grove(["prompt", "--run", &format!("{id}.2[b]")])
        .ok();
    assert!(told.stdout.contains("Look at b"), "{told}");
    let shown = session.grove(["runs", "show", id]).ok();
    for line in [
        "  2 worker for 3 items (complete)",
        "  2[src-a-rs] worker (complete)",
    ] {
        assert!(shown.stdout.contains(line), "{shown}");
    }
}

#[test]
fn what_is_wrong_with_a_list_is_said_before_a_child_begins() {
    let none = json!({});
    for (found, expand, more, states_wanted, reason) in [
        (
            files(&["a", "a"]),
            &none,
            &none,
            ["1 complete", "2 failed", "3 skipped"],
            "two items have the key `a`",
        ),
        (
            files(&["a", "b", "c", "d", "e"]),
            &none,
            &none,
            ["1 complete", "2 failed", "3 skipped"],
            "5 items are more than 4",
        ),
        (
            json!("x"),
            &none,
            &none,
            ["1 complete", "2 failed", "3 skipped"],
            "is no list",
        ),
        (
            json!([]),
            &json!({ "onEmpty": "fail" }),
            &none,
            ["1 complete", "2 failed", "3 skipped"],
            "has no items",
        ),
        (
            json!([]),
            &none,
            &none,
            ["1 complete", "2 complete", "3 complete"],
            "",
        ),
        (
            json!([]),
            &none,
            &json!({ "collect": { "as": "seen", "outputSchema": { "type": "array", "minItems": 1 } } }),
            ["1 complete", "2 failed", "3 skipped"],
            "does not meet the schema",
        ),
    ] {
        let (_server, session) = scene(answers(found, ""));
        let code = i32::from(!reason.is_empty());
        let run = run_request(&session, &chain(expand, more), code);
        assert_eq!(states(&run), states_wanted, "{run}");
        let said = run["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason), "{said} is not {reason}");
    }
    let (server, session) = scene(answers(files(&["a"]), ""));
    let mut request = chain(&json!({ "maxItems": null }), &none);
    let expand = request["chain"][1]["expand"].as_object_mut().unwrap();
    expand.remove("maxItems");
    session.file("project/request.json", request.to_string());
    let run = "run --request request.json";
    session.grove(run).fails(2).says(["step 2", "maxItems"]);
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\n[runs.chain.dynamicFanout]\nmaxItems = 3\n",
    );
    session.grove(run).ok();
    assert_eq!(server.requests().len(), 3);
    request["chain"][0]["outputSchema"].take();
    request["chain"][0]
        .as_object_mut()
        .unwrap()
        .remove("outputSchema");
    session.file("project/request.json", request.to_string());
    session
        .grove(run)
        .fails(2)
        .says(["is text and has no list"]);
}

#[test]
fn finished_items_are_kept_when_one_fails_and_it_can_be_mended() {
    let (_server, session) = scene(answers(files(&["a", "b", "c"]), "b"));
    let run = run_request(&session, &chain(&json!({}), &json!({})), 1);
    let expected = [
        "1 complete",
        "2 failed",
        "2[a] complete",
        "2[b] failed",
        "2[c] complete",
        "3 skipped",
    ];
    assert_eq!(states(&run), expected);
    let result = run["result"].as_str().unwrap();
    assert!(
        result.starts_with("2/3 succeeded\n\n=== 2[a] of a ===\n<Look at a>"),
        "{result}"
    );
    assert!(
        result.contains("=== 2[b] of b: FAILED: model error"),
        "{result}"
    );
    // The child goes on with another message, and then everything after it does.
    let id = run["id"].as_str().unwrap();
    let item = format!("{id}.2[b]");
    session.grove(["runs", "resume", &item, "Try again"]).ok();
    let run = session.json(["runs", "show", id]);
    let expected = expected.map(|it| {
        it.replace("failed", "complete")
            .replace("skipped", "complete")
    });
    assert_eq!(states(&run), expected);
}

#[test]
fn after_one_that_failed_the_rest_is_not_begun_where_that_is_asked() {
    let (_server, session) = scene(answers(files(&["b", "a", "c"]), "b"));
    let rules = json!({ "failFast": true, "concurrency": 1 });
    let run = run_request(&session, &chain(&json!({}), &rules), 1);
    let expected = [
        "1 complete",
        "2 failed",
        "2[b] failed",
        "2[a] skipped",
        "2[c] skipped",
        "3 skipped",
    ];
    assert_eq!(states(&run), expected);
}

#[test]
fn each_writes_to_a_file_of_its_own_and_a_list_of_a_list_is_one() {
    let (_server, session) = scene(answers(files(&["a", "b"]), ""));
    let mut request = chain(
        &json!({}),
        &json!({ "parallel": { "agent": "worker", "task": "Look at {file.path}", "output": "out.md" } }),
    );
    let again = json!({
        "expand": { "from": { "output": "seen", "path": "" }, "key": "/key", "maxItems": 2 },
        "parallel": { "agent": "worker", "task": "Read {item.outputPath}" },
        "collect": { "as": "again" },
    });
    request["chain"].as_array_mut().unwrap().insert(2, again);
    let run = run_request(&session, &request, 0);
    let paths: Vec<&str> = [2, 3]
        .map(|at| run["nodes"][at]["output"]["path"].as_str().unwrap())
        .to_vec();
    assert!(
        paths[0].ends_with("out-a.md") && paths[1].ends_with("out-b.md"),
        "{paths:?}"
    );
    assert_eq!(
        std::fs::read_to_string(paths[1]).unwrap().trim(),
        "<[Write to: {}]>".replace("{}", paths[1])
    );
    assert_eq!(
        states(&run)[4..7],
        ["3 complete", "3[a] complete", "3[b] complete"]
    );
}

#[test]
fn a_list_goes_on_after_everything_was_killed() {
    let (server, session) = scene(
        |task, turns| match task.lines().next().unwrap_or_default() {
            "Which files?" => Reply::call(
                "structured_output",
                json!({ "files": files(&["a", "b", "c"]) }),
            ),
            line if line.starts_with("Look") && turns == 0 => {
                super::bash("sleep 0.3; echo done >> log")
            }
            line => Reply::text(format!("<{line}>")),
        },
    );
    session.file(
        "project/request.json",
        chain(&json!({}), &json!({})).to_string(),
    );
    let id = session.grove("run --request request.json --bg").ok().stdout;
    let id = id.trim();
    until(|| server.requests().len() >= 3);
    end_all(&session);
    session.grove(["runs", "wait", id]).ok();
    let run = session.json(["runs", "show", id]);
    assert_eq!(states(&run).len(), 6);
    assert!(
        states(&run).iter().all(|it| it.ends_with("complete")),
        "{run}"
    );
}

#[test]
fn what_is_nearly_a_part_of_an_item_is_refused_before_a_child_starts() {
    let (server, session) = scene(answers(files(&["a.rs"]), ""));
    for (task, expected) in [
        (
            "Look at {file[path]}",
            "`{file[path]}` is not a way to write a part of `file`",
        ),
        ("Look at {file.path", "`{file.path` is not closed"),
        (
            "Look at {file.path and {file.name}",
            "`{file.path` is not closed",
        ),
        ("Look at { file.path }", "`{ file.path }` is not a way"),
        ("Look at {file..path}", "`{file..path}` is not a way"),
    ] {
        let more = json!({ "parallel": { "agent": "worker", "task": task } });
        let request = chain(&json!({}), &more).to_string();
        session.file("project/request.json", request);
        let outcome = session.grove("run --request request.json").fails(2);
        outcome.says([expected]);
    }
    assert!(server.requests().is_empty());
    assert_eq!(session.json("runs list")["runs"], json!([]));
}
