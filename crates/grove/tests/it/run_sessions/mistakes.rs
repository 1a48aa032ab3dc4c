//! Requests that cannot be meant as they are, and commands about runs that have nothing to do: each says so before anything
//! runs, and nothing is left behind.

use grove_testkit::model_server::Reply;
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::graphs::scene;
use super::worktrees::{git, last_id, repository};

fn runs(session: &grove_testkit::session::Session) -> usize {
    session.json("runs list")["runs"].as_array().unwrap().len()
}

#[test]
fn what_cannot_be_meant_is_refused_and_no_run_begins() {
    let (server, session) = scene(|_, _| Reply::text("Done."));
    let step = |more: Value| {
        let mut step = json!({ "agent": "worker", "task": "x" });
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "chain": [step] })
    };
    for (request, expected) in [
        (json!({ "chain": [] }), "there is no step to run"),
        (step(json!({ "acceptence": "verified" })), "`acceptence`"),
        (
            step(json!({ "acceptance": { "verfy": ["false"] } })),
            "`acceptance.verfy` is not known",
        ),
        (
            json!({ "agent": "worker", "task": "x", "acceptance": { "verfy": ["false"] } }),
            "`acceptance.verfy` is not known",
        ),
        (
            json!({ "tasks": [{ "agent": "worker", "tsk": "x" }] }),
            "`tsk`",
        ),
    ] {
        session.file("project/request.json", request.to_string());
        for command in ["run", "plan"] {
            let outcome = session.grove([command, "--request", "request.json"]);
            outcome.fails(2).says([expected]);
        }
    }
    for (words, expected) in [
        (&["worker", "x", "--concurrency", "0"][..], "--concurrency"),
        (&["worker", "x", "--timeout", "0"], "--timeout"),
        (
            &["worker[as=x]", "a", "->", "judge", "{outputs.y}"],
            "no step gives an output called `y`",
        ),
        (
            &["worker[as=x]", "a", "->", "judge[as=x]", "{outputs.x}"],
            "another output is called `x` too",
        ),
        (
            &["nobody", "a", "->", "judge", "->", "nobody"],
            "steps 1, 3: ",
        ),
    ] {
        for command in ["run", "plan"] {
            let words: Vec<&str> = [command].iter().chain(words).copied().collect();
            let outcome = session.grove(words.as_slice());
            assert_ne!(outcome.code, 0, "{outcome}");
            outcome.says([expected]);
        }
    }
    for command in ["run", "plan"] {
        let replay = [command, "worker", "x", "--replay", "nowhere.jsonl"];
        session.grove(replay).fails(1).says(["nowhere.jsonl"]);
    }
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nconcurrency = 0\n",
    );
    session.grove("config").says(["a whole number from one"]);
    // A limit that nobody can read is not replaced by another one.
    let refused = session.grove(["run", "worker", "a", ",", "worker", "b"]);
    refused.fails(3).says(["`runs.concurrency` must be"]);
    assert_eq!(runs(&session), 0);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn commands_about_runs_say_what_is_so() {
    let (_server, session) = repository();
    session
        .grove("runs list --open")
        .ok()
        .says(["no open runs"]);
    session
        .grove(["run", "worker", "echo x >> a.txt", "->", "judge", "Look."])
        .ok();
    let id = last_id(&session);
    session
        .grove(["runs", "stop", &id])
        .ok()
        .prints(["has ended already: complete"]);
    session
        .grove(["runs", "again", &id])
        .fails(1)
        .says(["is done", "--from 1"]);
    session
        .grove(["runs", "again", &format!("{id}.2"), "--from", "1"])
        .fails(2)
        .says(["named twice"]);
    session.grove(["runs", "again", &format!("{id}.2")]).ok();
    let again = session.json(["runs", "show", &last_id(&session)]);
    assert_ne!(again["id"], json!(id));
    session
        .grove(["runs", "diff", &format!("{id}.1")])
        .fails(1)
        .says([&format!("child 1 of run {id} has no patch")]);
    session
        .grove(["runs", "diff", &format!("{id}.7")])
        .fails(1)
        .says(["no child `7`", "it has 1, 2"]);
    session
        .grove(["run", "worker", "true", "--verify", "false"])
        .fails(5);
    let row = &session.json("runs list")["runs"][0];
    assert_eq!(row["state"], "complete");
    assert_eq!(row["reason"], "the work of child 1 was not accepted");
    // In a pipe a table is lines with tabs and nothing else.
    let session = session.without_env("COLUMNS");
    let listed = session.grove("runs list").ok().stdout;
    let cells: Vec<&str> = listed.lines().next().unwrap().split('\t').collect();
    let state = "rejected: the work of child 1 was not accepted";
    assert_eq!(
        (cells.len(), cells[1], cells[3]),
        (4, state, "worker: true"),
        "{listed}"
    );
}

#[test]
fn a_patch_that_is_there_already_is_said_to_be() {
    let (_server, session) = repository();
    session
        .grove(["run", "worker", "sed -i s/two/2/ a.txt", "--worktree"])
        .ok();
    let id = last_id(&session);
    let apply = ["runs", "apply", &id];
    session.grove(apply).ok().prints(["1 file changed"]);
    session
        .grove(apply)
        .ok()
        .prints(["1 worker: already applied"]);
    assert_eq!(session.json(apply)["patches"][0]["files"], 0);
    git(&session, "checkout -q -f HEAD -- a.txt");
    session.file("project/a.txt", "one\nzwei\nthree\n");
    session
        .grove(apply)
        .fails(1)
        .says(["commit or stash them first"]);
    git(&session, "commit -q -a -m other");
    let outcome = session.grove(apply).fails(1);
    outcome.says(["resolve the conflicts\n"]);
    session
        .grove(apply)
        .fails(1)
        .says(["a.txt has a conflict that is not resolved"]);
}
