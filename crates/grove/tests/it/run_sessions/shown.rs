//! The words in which people read of runs: one word for work that does not count, one number of tokens, every step that was
//! done, the runs below, and what has to be set where no key is found.

use grove_testkit::model_server::Reply;
use grove_testkit::session::USER_CONFIG;
use serde_json::json;

use super::delegation::{BOSS, ask};
use super::graphs::scene;
use super::worktrees::last_id;

#[test]
fn work_that_does_not_count_is_called_rejected_wherever_people_read() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    let ended = session
        .grove(["run", "worker", "go", "--verify", "false"])
        .fails(5);
    let id = last_id(&session);
    let rejected = format!("run {id} rejected: the work of child 1 was not accepted");
    let ended = ended.says([rejected.as_str()]);
    let shown = session.grove(["runs", "show", &id]).ok();
    shown.prints([rejected.as_str(), "  1 worker (rejected)"]);
    session.grove("runs list").ok().prints(["rejected: "]);
    session.grove(["runs", "watch", &id]).ok().prints([
        format!("{id}.1 worker rejected").as_str(),
        format!("{id} rejected").as_str(),
    ]);
    session
        .grove(["runs", "stop", &id])
        .ok()
        .prints(["has ended already: rejected"]);
    session
        .grove(["runs", "ledger", &id])
        .ok()
        .prints([format!("run {id} rejected\n").as_str()]);
    assert!(!ended.stderr.contains("complete"), "{}", ended.stderr);
    // Data has how far it is and whether it counts apart.
    let run = session.json(["runs", "show", &id]);
    assert_eq!(
        (&run["state"], &run["acceptance"]),
        (&"complete".into(), &"rejected".into())
    );
}

#[test]
fn a_chain_that_fails_shows_the_steps_that_were_done() {
    let (_server, session) = scene(|task, _| match task {
        task if task.starts_with("fail") => Reply::error(400, "no"),
        task => Reply::text(format!("Did {task}.")),
    });
    let ended = session
        .grove(["run", "worker", "first", "->", "worker", "fail"])
        .fails(1);
    let id = last_id(&session);
    let done = "1/2 succeeded\n\n=== 1 worker ===\nDid first.\n\n=== 2 worker: FAILED: model error";
    ended.prints([done]);
    session.grove(["runs", "show", &id]).ok().prints([done]);
    session.grove(["runs", "wait", &id]).fails(1).prints([done]);
}

#[test]
fn a_run_of_tasks_of_their_own_is_named_by_the_first() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    for (request, title) in [
        (
            json!({ "chain": [{ "agent": "judge", "task": "Look\nat it" }, { "agent": "worker", "task": "Go" }] }),
            "judge → worker: Look",
        ),
        (
            json!({ "tasks": [{ "agent": "judge", "task": "Look" }, { "agent": "worker", "task": "Go" }] }),
            "judge + worker: Look",
        ),
    ] {
        session.file("project/request.json", request.to_string());
        session.grove("run --request request.json").ok();
        assert_eq!(session.json("runs list")["runs"][0]["title"], title);
    }
}

#[test]
fn tokens_are_one_number_and_runs_below_are_named() {
    let (_server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        ("lead", _) => Reply::text("Dug."),
        (task, _) => Reply::text(format!("Did {task}.")),
    });
    session.definition(BOSS, "tools: read, subagent\n", "You lead.");
    let ended = session.grove(["run", "boss", "lead"]).ok();
    let listed = session.json("runs list");
    let runs = listed["runs"].as_array().unwrap();
    let of = |is_below: bool| {
        let found = runs.iter().find(|run| run["parent"].is_null() != is_below);
        found.unwrap_or_else(|| panic!("{listed}"))
    };
    let (lead, below) = (of(false), of(true));
    let tokens = format!("{} tokens", lead["tokens"]);
    let (id, below) = (lead["id"].as_str().unwrap(), below["id"].as_str().unwrap());
    ended.says([tokens.as_str()]);
    let shown = session.grove(["runs", "show", id]).ok();
    shown.prints([format!("asked for run {below}").as_str()]);
}

#[test]
fn a_missing_key_is_named_with_the_provider_that_is_configured() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    let session = session.without_env("ANTHROPIC_API_KEY");
    let of = |name: &str, variable: &str| {
        format!(
            "[providers.{name}]\napi = \"anthropic\"\nbase_url = \"http://127.0.0.1:1\"\nkey = {{ env = \"{variable}\" }}\n"
        )
    };
    let runs = "[runs]\nmodel = \"house/m\"\nengine = \"native\"\n".to_owned();
    let config = runs + &of("house", "HOUSE_KEY") + &of("other", "OTHER_KEY");
    session.file(USER_CONFIG, config);
    let refused = session.grove(["run", "worker", "go"]).fails(1);
    let refused = refused.says(["provider `house`", "HOUSE_KEY", "provider `other`"]);
    assert!(
        !refused.stderr.contains("ANTHROPIC_API_KEY"),
        "{}",
        refused.stderr
    );
    let refused = session
        .with_env("HOUSE_KEY", "sk-0123456789")
        .with_env("OTHER_KEY", "sk-0123456789")
        .grove(["run", "worker", "go", "--model", "nosuch/x"])
        .fails(2);
    refused.says(["there is no provider `nosuch`; known providers: house, other"]);
}
