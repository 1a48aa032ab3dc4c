//! Children that ask other agents: runs below a run, with its depth, its budget and no more than its powers.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::graphs::scene;
use super::{bash, end_all, run_of, until};

pub(super) const BOSS: &str = "home/.grove/agents/boss.md";

pub(super) fn ask(agent: &str, task: &str) -> Reply {
    Reply::call("subagent", json!({ "agent": agent, "task": task }))
}

/// The run that another one asked for.
fn below(session: &Session, run: &Value) -> Value {
    let delegated = &run["nodes"][0]["attempts"][0]["delegated"];
    let id = delegated[0].as_str().unwrap_or_else(|| panic!("{run}"));
    session.json(["runs", "show", id])
}

fn run_boss(session: &Session, words: &[&str], code: i32) -> Value {
    let mut all = vec!["run", "boss", "lead", "--json"];
    all.extend(words);
    run_of(&session.grove(all).fails(code).stdout)
}

#[test]
fn a_child_asks_another_and_what_that_spends_is_its_own() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        ("lead", _) => Reply::text("Dug."),
        (task, _) => Reply::text(format!("Did {task}.")),
    });
    session.definition(BOSS, "tools: read, write, subagent\n", "You lead.");
    let run = run_boss(&session, &[], 0);
    assert_eq!(run["result"], "Dug.");
    let nested = below(&session, &run);
    assert_eq!(
        (&nested["state"], &nested["result"]),
        (&json!("complete"), &json!("Did dig."))
    );
    let sum = |of: &Value| of["usage"]["input"].as_u64().unwrap();
    let own = sum(&run["nodes"][0]["attempts"][0]);
    assert_eq!(
        sum(&run),
        own + sum(&nested),
        "what a run below spends counts above"
    );
    let requests = server.requests();
    let told = String::from_utf8_lossy(&requests[2].body).into_owned();
    assert!(told.contains("Did dig."), "{told}");
    let system = requests[0].json()["system"][0]["text"].to_string();
    assert!(
        system.contains("ask other agents with `subagent`"),
        "{system}"
    );
    let of_worker = requests[1].json();
    assert!(
        !of_worker["tools"].to_string().contains("subagent"),
        "{of_worker}"
    );
    // A list of runs shows what belongs to what.
    let listed = session.json("runs list");
    let parents: Vec<&Value> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["parent"])
        .collect();
    assert!(
        parents.contains(&&run["id"]) && parents.contains(&&Value::Null),
        "{listed}"
    );
}

#[test]
fn depth_children_folders_and_powers_only_shrink() {
    let config = "[runs]\nmodel = 'anthropic/m'\nmaxDepth = 1\nmaxChildren = 2\n";
    for (request, refusal) in [
        (json!({ "agent": "nobody", "task": "x" }), "nobody"),
        (json!({ "agent": "worker" }), "`task` is missing"),
        (
            json!({ "agent": "worker", "task": "x", "cwd": "/" }),
            "is outside",
        ),
        (
            json!({ "tasks": [{ "agent": "worker", "task": "a" }, { "agent": "worker", "task": "b" }] }),
            "may have 2 children",
        ),
        (
            json!({ "agent": "worker", "task": "x", "acceptance": { "verify": ["true"] } }),
            "cannot have them run by `verify`",
        ),
        (json!({ "action": "wait", "run": "zzz" }), "there is no run"),
        (json!({ "action": "fly", "run": "zzz" }), "there is no"),
    ] {
        let (server, session) = scene(move |task, turns| match (task, turns) {
            ("lead", 0) => Reply::call("subagent", request.clone()),
            _ => Reply::text("Well."),
        });
        session.file(USER_CONFIG, config);
        session.definition(BOSS, "tools: read, subagent\n", "You lead.");
        run_boss(&session, &[], 0);
        let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
        assert_eq!(server.requests().len(), 2, "{last}");
        assert!(last.contains(refusal), "{refusal} is not in {last}");
    }
    // Who asks is deep enough already; and who cannot write has nobody do it.
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("boss", "lead deeper"),
        ("lead deeper", 0) => ask("worker", "dig"),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.file(USER_CONFIG, config);
    session.definition(BOSS, "tools: read, subagent\n", "You lead.");
    let run = run_boss(&session, &[], 0);
    assert_eq!(below(&session, &run)["result"], "<lead deeper>");
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .any(|it| String::from_utf8_lossy(&it.body).contains("may be 1 deep"))
    );
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.definition(BOSS, "tools: read, subagent\n", "You lead.");
    run_boss(&session, &[], 0);
    let tools = server.requests()[1].json()["tools"].to_string();
    assert!(
        tools.contains("\"read\"") && !tools.contains("\"write\"") && !tools.contains("\"bash\""),
        "{tools}"
    );
}

#[test]
fn a_budget_is_one_for_the_whole_tree() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        ("dig", _) => bash("true"),
        _ => Reply::text("Dug."),
    });
    session.definition(BOSS, "tools: read, bash, write, subagent\n", "You lead.");
    // Every answer costs the same: the fourth request is the one that is too many.
    let run = run_boss(&session, &["--max-tokens", "80"], 6);
    let spent = run["usage"]["input"].as_u64().unwrap() + run["usage"]["output"].as_u64().unwrap();
    let requests = server.requests().len() as u64;
    let each = spent / requests;
    assert!(
        spent >= 80 && spent < 80 + each,
        "{spent} after {requests} requests"
    );
    assert_eq!(below(&session, &run)["state"], "stopped");
}

#[test]
fn what_a_child_did_not_wait_for_ends_with_it_and_a_stop_reaches_everybody() {
    let (_server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => Reply::call(
            "subagent",
            json!({ "agent": "worker", "task": "dig", "background": true }),
        ),
        ("dig", 0) => bash("sleep 3077.5"),
        _ => Reply::text("Dug."),
    });
    session.definition(BOSS, "tools: read, bash, write, subagent\n", "You lead.");
    let run = run_boss(&session, &[], 0);
    assert_eq!(below(&session, &run)["state"], "stopped");
    until(|| grove_testkit::process_shapes::sleepers("3077.5") == 0);
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        ("dig", 0) => bash("sleep 3078.5"),
        _ => Reply::text("Dug."),
    });
    session.definition(BOSS, "tools: read, bash, write, subagent\n", "You lead.");
    let id = session.grove(["run", "boss", "lead", "--bg"]).ok().stdout;
    until(|| server.requests().len() == 2 && grove_testkit::process_shapes::sleepers("3078.5") > 0);
    session.grove(["runs", "stop", id.trim()]).ok();
    session.grove(["runs", "wait", id.trim()]).fails(130);
    until(|| grove_testkit::process_shapes::sleepers("3078.5") == 0);
    let run = session.json(["runs", "show", id.trim()]);
    assert_eq!(below(&session, &run)["state"], "stopped");
}

#[test]
fn who_waits_for_its_own_child_is_told_its_question() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("asker", "dig"),
        ("dig", 0) => Reply::call(
            "contact_supervisor",
            json!({ "kind": "question", "message": "How deep?" }),
        ),
        ("dig", _) => Reply::text("Two."),
        _ => Reply::text("Dug."),
    });
    session.definition(BOSS, "tools: read, subagent\n", "You lead.");
    session.definition(
        "home/.grove/agents/asker.md",
        "tools: read, contact_supervisor\n",
        "You ask.",
    );
    let run = run_boss(&session, &[], 0);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(
        last.contains("How deep?") && last.contains("action: answer"),
        "{last}"
    );
    // It did not answer, and what it asked for ended with it.
    assert_eq!(below(&session, &run)["state"], "stopped");
}

#[test]
fn who_waits_for_its_own_child_answers_it_and_both_go_on() {
    let server = ModelServer::start(Script::chosen_by(|_, request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let asking = body.split("run ").find_map(|it| it.split_once(" asking"));
        if body.contains("You ask.") {
            return if body.contains("Two metres.") {
                Reply::text("Dug two metres.")
            } else {
                Reply::call(
                    "contact_supervisor",
                    json!({ "kind": "question", "message": "How deep?" }),
                )
            };
        }
        match asking {
            _ if body.contains("Dug two metres.") => Reply::text("All is dug."),
            Some((run, _)) => Reply::call(
                "subagent",
                json!({ "action": "answer", "run": run, "message": "Two metres." }),
            ),
            None => ask("asker", "dig"),
        }
    }));
    let server = server.unwrap();
    let session = super::scene(&server);
    session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    session.definition(BOSS, "tools: read, subagent\n", "You lead.");
    session.definition(
        "home/.grove/agents/asker.md",
        "tools: read, contact_supervisor\n",
        "You ask.",
    );
    session.dir("project");
    let run = run_boss(&session, &[], 0);
    assert_eq!(run["result"], "All is dug.");
    let nested = below(&session, &run);
    assert_eq!(
        (&nested["state"], &nested["result"]),
        (&json!("complete"), &json!("Dug two metres."))
    );
}

#[test]
fn grove_run_in_a_childs_shell_is_below_the_child() {
    let grove = env!("CARGO_BIN_EXE_grove");
    let ask = format!("{grove} run judge look; {grove} runs prune --days 0; env | grep -c API_KEY");
    let (server, session) = scene(move |task, turns| match (task, turns) {
        ("lead", 0) => bash(&ask),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    // In the sandbox there is no `grove`.
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
    let outcome = session.grove(["run", "worker", "lead", "--json"]).ok();
    let run = run_of(&outcome.stdout);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(last.contains("<look>"), "{last}");
    assert!(
        last.contains("a child does not take runs away") && last.contains("\\n0\\n"),
        "{last}"
    );
    let nested = below(&session, &run);
    assert_eq!(
        (&nested["state"], &nested["result"]),
        (&json!("complete"), &json!("<look>"))
    );
    assert!(
        run["usage"]["input"].as_u64() > run["nodes"][0]["attempts"][0]["usage"]["input"].as_u64()
    );
    // A mark that leads nowhere is no way round.
    let strange = session.with_env("GROVE_RUN", "0000000000/1/1");
    strange
        .grove(["run", "judge", "look"])
        .fails(1)
        .says(["not known here"]);
}

#[test]
fn after_everything_was_killed_the_run_below_is_the_same() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("worker", "dig"),
        ("dig", 0) => bash("echo dug >> dug.txt; sleep 1"),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.definition(BOSS, "tools: read, bash, write, subagent\n", "You lead.");
    let id = session.grove(["run", "boss", "lead", "--bg"]).ok().stdout;
    until(|| server.requests().len() == 2 && session.has("project/dug.txt"));
    end_all(&session);
    session.grove(["runs", "wait", id.trim()]).ok();
    let run = session.json(["runs", "show", id.trim()]);
    assert_eq!(
        run["nodes"][0]["attempts"][0]["delegated"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(below(&session, &run)["state"], "complete");
    assert_eq!(session.read("project/dug.txt"), "dug\n");
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(
        last.contains("run ") && !last.contains("outcome unknown: "),
        "{last}"
    );
}

#[test]
fn an_agent_calls_no_deeper_than_its_file_says() {
    for (levels, refused, nested) in [(0, "may be 0 deep", 0), (1, "may be 1 deep", 1), (2, "", 2)]
    {
        let (server, session) = scene(|task, turns| match (task, turns) {
            ("lead", 0) => ask("middle", "go on"),
            ("go on", 0) => ask("worker", "dig"),
            (task, _) => Reply::text(format!("<{task}>")),
        });
        let fields = format!("tools: read, subagent\nmaxSubagentDepth: {levels}\n");
        session.definition(BOSS, &fields, "You lead.");
        session.definition(
            "home/.grove/agents/middle.md",
            "tools: read, subagent\n",
            "You lead.",
        );
        session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\nmaxDepth = 5\n");
        run_boss(&session, &[], 0);
        let said = |part: &str| {
            let requests = server.requests();
            requests
                .iter()
                .any(|it| String::from_utf8_lossy(&it.body).contains(part))
        };
        assert!(refused.is_empty() || said(refused), "{levels}: {refused}");
        let runs = session.json("runs list")["runs"].as_array().unwrap().len();
        assert_eq!(runs, nested + 1, "{levels}");
    }
}

#[test]
fn the_parents_model_and_its_provider_are_the_childs() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => ask("heir", "dig"),
        ("lead", 1) => ask("other", "dig on"),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    let url = server.url();
    let provider = |name: &str| {
        format!(
            "[providers.{name}]\napi = 'anthropic'\nbase_url = '{url}'\nmodels = ['one', 'two']\n"
        )
    };
    let config = format!(
        "{}{}[runs]\nmodel = 'first/one'\n",
        provider("first"),
        provider("second")
    );
    session.file(USER_CONFIG, config);
    session.definition(
        BOSS,
        "tools: read, subagent\nmodel: second/one\n",
        "You lead.",
    );
    session.definition(
        "home/.grove/agents/heir.md",
        "model: inherit\n",
        "You inherit.",
    );
    // Two providers have it, and the parent's is one of them.
    session.definition("home/.grove/agents/other.md", "model: two\n", "You go on.");
    let run = run_boss(&session, &[], 0);
    let delegated = run["nodes"][0]["attempts"][0]["delegated"]
        .as_array()
        .unwrap()
        .clone();
    let models: Vec<Value> = delegated
        .iter()
        .map(|id| session.json(["runs", "show", id.as_str().unwrap()]))
        .map(|nested| nested["nodes"][0]["attempts"][0]["model"].clone())
        .collect();
    assert_eq!(models, ["second/one", "second/two"]);
    // Asked for by a person there is no parent, and what the configuration says counts.
    let outcome = session.grove(["run", "heir", "dig", "--json"]).ok();
    assert_eq!(
        run_of(&outcome.stdout)["nodes"][0]["attempts"][0]["model"],
        "first/one"
    );
}
