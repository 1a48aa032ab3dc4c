//! Several children in one run: side by side and one after the other.

use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{AGENT, KEY, bash, end_all, holder_of, run_of, until};

/// What a request says last, as its child's task.
fn message(request: &Request) -> String {
    let body = request.json();
    let text = body["messages"][0]["content"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

/// A model whose answer depends on the task, and two agents.
pub(super) fn scene(
    answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
) -> (ModelServer, Session) {
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        let turns = request.json()["messages"].as_array().map_or(0, Vec::len);
        answer(&message(request), turns / 2)
    }))
    .unwrap();
    let session = crate::session()
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", KEY);
    session.definition(AGENT, "tools: read, write, bash\n", "You work.");
    session.definition("home/.grove/agents/judge.md", "", "You judge.");
    session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    session.dir("project");
    (server, session)
}

pub(super) fn states(run: &Value) -> Vec<String> {
    let nodes = run["nodes"].as_array().unwrap().iter();
    let shown = nodes.map(|node| format!("{} {}", node["id"], node["state"]).replace('"', ""));
    shown.collect()
}

#[test]
fn tasks_side_by_side_have_each_its_result_and_one_failure_is_said() {
    let (_server, session) = scene(|task, _| match task {
        "two" => Reply::error(400, "no"),
        task => Reply::text(format!("Did {task}.")),
    });
    let words = [
        "run", "worker", "one", ",", "worker", "two", ",", "judge", "three",
    ];
    let outcome = session.grove(words).fails(1);
    let shown = outcome.stdout.as_str();
    assert!(
        shown.starts_with("2/3 succeeded\n\n=== 1.0 worker ===\nDid one.\n"),
        "{shown}"
    );
    assert!(
        shown.contains("=== 1.1 worker: FAILED: model error (bad request)"),
        "{shown}"
    );
    assert!(
        shown.ends_with("=== 1.2 judge ===\nDid three.\n"),
        "{shown}"
    );
    let id = session.json("runs list")["runs"][0]["id"].clone();
    let run = session.json(["runs", "show", id.as_str().unwrap()]);
    assert_eq!(states(&run), ["1.0 complete", "1.1 failed", "1.2 complete"]);
    assert_eq!(run["partial"], true);
    session
        .grove(["runs", "resume", id.as_str().unwrap(), "x"])
        .fails(2)
        .says(["name one as", "1.0"]);
    let node = format!("{}.1.0", id.as_str().unwrap());
    let outcome = session.grove(["prompt", "--run", &node]).ok();
    assert!(outcome.stdout.ends_with("one\n"), "{outcome}");
}

#[test]
fn a_chain_hands_on_what_was_said_and_a_failed_step_skips_the_rest() {
    for fails in [false, true] {
        let (server, session) = scene(move |task, _| {
            if task.starts_with("Plan") && fails {
                return Reply::error(400, "no");
            }
            Reply::text(format!("<{}>", task.replace('\n', "|")))
        });
        let request = json!({
            "task": "the {previous} house",
            "chain": [
                { "agent": "worker", "as": "seen" },
                { "agent": "judge", "task": "Plan for {task}: {outputs.seen}" },
                { "parallel": [{ "agent": "worker", "task": "Do {previous}" }, { "agent": "judge", "count": 2 }] },
                { "agent": "judge", "task": "Sum up." },
            ],
        });
        session.file("project/request.json", request.to_string());
        let code = i32::from(fails);
        let outcome = session
            .grove("run --request request.json --json")
            .fails(code);
        let run = run_of(&outcome.stdout);
        let told: Vec<String> = server.requests().iter().map(message).collect();
        assert_eq!(told[0], "the {previous} house");
        assert_eq!(
            told[1],
            "Plan for the {previous} house: <the {previous} house>\n\n---\nPrevious step output:\n<the {previous} house>"
        );
        if fails {
            assert_eq!(told.len(), 2);
            let expected = [
                "1 complete",
                "2 failed",
                "3.0 skipped",
                "3.1 skipped",
                "3.2 skipped",
                "4 skipped",
            ];
            assert_eq!(states(&run), expected);
            continue;
        }
        assert_eq!(told.len(), 6);
        let plan = format!("<{}>", told[1].replace('\n', "|"));
        assert!(told.contains(&format!("Do {plan}")), "{told:?}");
        assert_eq!(told.iter().filter(|it| **it == plan).count(), 2);
        let last = told.last().unwrap();
        assert!(
            last.starts_with("Sum up.\n\n---\nPrevious step output:\n=== 3.0 worker ===\n<Do "),
            "{last}"
        );
        let id = run["id"].as_str().unwrap();
        let stored = session.grove(["prompt", "--run", &format!("{id}.4")]).ok();
        assert!(stored.stdout.contains(last.as_str()), "{stored}");
        assert_eq!(run["result"], format!("<{}>", last.replace('\n', "|")));
    }
}

#[test]
fn a_plan_is_run_again_from_a_step_and_what_was_done_is_not_done_twice() {
    let is_mended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mended = is_mended.clone();
    let (server, session) = scene(move |task, _| {
        let fails = task.starts_with("Plan") && !mended.load(std::sync::atomic::Ordering::SeqCst);
        if fails {
            return Reply::error(400, "no");
        }
        Reply::text(format!("<{}>", task.lines().next().unwrap_or_default()))
    });
    let request = json!({
        "task": "a house",
        "chain": [
            { "agent": "worker", "as": "seen" },
            { "agent": "judge", "task": "Plan {outputs.seen}" },
            { "parallel": [{ "agent": "worker", "task": "Do {previous}" }, { "agent": "judge", "task": "Look at {task}" }] },
        ],
    });
    session.file("project/request.json", request.to_string());
    let outcome = session.grove("run --request request.json --json").fails(1);
    let first = run_of(&outcome.stdout);
    let id = first["id"].as_str().unwrap();
    assert_eq!(server.requests().len(), 2);
    is_mended.store(true, std::sync::atomic::Ordering::SeqCst);
    // By default from the first step that was not done.
    let outcome = session.grove(["runs", "again", id, "--json"]).ok();
    let second = run_of(&outcome.stdout);
    assert_ne!(second["id"], first["id"]);
    assert_eq!(
        states(&second),
        ["1 complete", "2 complete", "3.0 complete", "3.1 complete"]
    );
    assert_eq!(
        server.requests().len(),
        5,
        "the first step is not done again"
    );
    let told: Vec<String> = server.requests().iter().map(message).collect();
    assert!(told[2].starts_with("Plan <a house>"), "{told:?}");
    // From a named step, also after the earlier runs are gone: the texts are shared.
    let again = second["id"].as_str().unwrap();
    session.grove("runs prune --days 0 --unacknowledged").ok();
    session.grove(["runs", "show", again]).fails(1);
    let outcome = session.grove("run --request request.json --json").ok();
    let third = run_of(&outcome.stdout);
    let id = third["id"].as_str().unwrap();
    let outcome = session
        .grove(["runs", "again", id, "--from", "3.0", "--json"])
        .ok();
    let fourth = run_of(&outcome.stdout);
    assert_eq!(server.requests().len(), 10, "one child alone is done again");
    assert_eq!(fourth["nodes"][0]["attempts"], json!([]));
    assert_eq!(
        fourth["nodes"][0]["output"]["text"],
        third["nodes"][0]["output"]["text"]
    );
    for (from, reason) in [("9", "no step `9`"), ("../x", "no step")] {
        session
            .grove(["runs", "again", id, "--from", from])
            .fails(2)
            .says([reason]);
    }
}

#[test]
fn words_and_a_saved_chain_are_chains_too() {
    let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
    let outcome = session.grove(["run", "worker", "look", "->", "judge"]).ok();
    assert_eq!(outcome.stdout, "<<look>>\n");
    session.file(
        "home/.grove/chains/two.chain.json",
        json!({ "name": "two", "description": "Two.", "chain": [{ "agent": "worker" }, { "agent": "judge", "task": "{previous}!" }] })
            .to_string(),
    );
    let outcome = session.grove(["run", "--chain", "two", "go"]).ok();
    assert_eq!(outcome.stdout, "<<go>!>\n");
    assert_eq!(server.requests().len(), 4);
    session
        .grove([
            "run", "nobody", "x", ",", "worker", "y", ",", "nobody2", "z",
        ])
        .fails(1)
        .says(["nobody", "step 1.2", "nobody2"]);
    session.grove(["run", "--chain", "none", "go"]).fails(1);
    session
        .grove(["run", "worker[count=65]", "x"])
        .fails(2)
        .says(["65 tasks are more than 64", "--max-tasks", "runs.maxTasks"]);
    assert_eq!(
        server.requests().len(),
        4,
        "nothing starts when something is wrong"
    );
}

#[test]
fn no_more_run_at_a_time_than_may() {
    let (_server, session) = scene(|_, turns| match turns {
        0 => bash("echo + >> log; sleep 0.1; echo - >> log"),
        _ => Reply::text("Done."),
    });
    for (words, most) in [(&["--concurrency", "1"][..], 1), (&[][..], 4)] {
        session.file("project/log", "");
        let all = [&["run", "worker[count=5]", "x"][..], words].concat();
        session.grove(all).ok();
        let log = session.read("project/log");
        let mut now = 0;
        let mut highest = 0;
        for line in log.lines() {
            now += if line == "+" { 1 } else { -1 };
            highest = highest.max(now);
        }
        assert_eq!(log.lines().count(), 10);
        assert!(
            highest <= most && (most == 1 || highest > 1),
            "{highest}: {log}"
        );
    }
}

#[test]
fn after_everything_was_killed_each_goes_on_and_no_step_is_done_twice() {
    let (server, session) = scene(|task, turns| match (task.lines().next(), turns) {
        (Some("a" | "b"), 0) => bash("echo $$ >> ran; while [ ! -e go ]; do sleep 0.01; done"),
        (Some(task), _) => Reply::text(format!("Did {task}.")),
        (None, _) => Reply::text("?"),
    });
    let words = [
        "run", "worker", "a", ",", "worker", "b", "->", "judge", "last", "--bg",
    ];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    let ran = || {
        let has = session.has("project/ran");
        if has {
            session.read("project/ran").lines().count()
        } else {
            0
        }
    };
    until(|| ran() == 2);
    let _ = holder_of(&session, &id);
    end_all(&session);
    session.file("project/go", "");
    let outcome = session.grove(["runs", "wait", &id]).ok();
    assert_eq!(outcome.stdout, "Did last.\n");
    assert_eq!(ran(), 2);
    let run = session.json(["runs", "show", &id]);
    assert_eq!(states(&run), ["1.0 complete", "1.1 complete", "2 complete"]);
    let last = message(server.requests().last().unwrap());
    assert!(last.contains("=== 1.1 worker ===\nDid b."), "{last}");
}

#[test]
fn steps_share_files_and_an_answer_is_written_where_it_was_to_be() {
    let (server, session) = scene(|task, turns| {
        let file = task
            .split(['[', ']'])
            .find_map(|it| it.strip_prefix("Read from: "));
        match (file, turns) {
            (Some(file), 0) => Reply::call("read", json!({ "path": file })),
            (Some(_), _) => Reply::text("Read."),
            (None, _) => Reply::text("What I found."),
        }
    });
    session.definition(
        "home/.grove/agents/judge.md",
        "tools: read\ndefaultReads: notes.md\n",
        "You judge.",
    );
    let request = json!({
        "task": "go",
        "chain": [{ "agent": "worker", "output": "notes.md" }, { "agent": "judge", "task": "Look." }],
    });
    session.file("project/request.json", request.to_string());
    let run = run_of(
        &session
            .grove("run --request request.json --json")
            .ok()
            .stdout,
    );
    let path = run["nodes"][0]["output"]["path"].as_str().unwrap();
    assert!(path.ends_with("/chain/notes.md"), "{path}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "What I found.");
    let told: Vec<String> = server.requests().iter().map(message).collect();
    assert_eq!(told[0], format!("[Write to: {path}]\n\ngo"));
    assert!(
        told[1].starts_with(&format!("[Read from: {path}]\n\nLook.")),
        "{told:?}"
    );
    let last = String::from_utf8(server.requests()[2].body.clone()).unwrap();
    assert!(last.matches("What I found.").count() >= 2, "{last}");
    assert!(!session.has("project/notes.md"));
    // Of siblings none writes to another's file, and each is told its own.
    let tasks = json!({ "tasks": [{ "agent": "worker", "task": "a", "output": "n.md" }, { "agent": "worker", "task": "b", "output": "n.md" }] });
    session.file("project/request.json", tasks.to_string());
    session
        .grove("run --request request.json")
        .ok()
        .says(["step 1.1 writes to n-1.1.md"]);
    assert!(session.has("project/n.md") && session.has("project/n-1.1.md"));
    let told: Vec<String> = server.requests().iter().map(message).collect();
    assert!(
        told.contains(&"[Write to: n-1.1.md]\n\nb".to_owned()),
        "{told:?}"
    );
    // Alone, a path is below where the child works.
    session.definition(AGENT, "tools: read\noutput: notes.md\n", "You work.");
    session.grove(["run", "worker", "go"]).ok();
    assert_eq!(session.read("project/notes.md"), "What I found.");
}

#[test]
fn a_plan_is_shown_with_everything_resolved_and_nothing_started() {
    let (server, session) = scene(|_, _| Reply::text("x"));
    let words = [
        "plan", "worker", "one", "->", "worker", "two", ",", "judge", "three",
    ];
    let shown = session.grove(words).ok();
    for part in [
        "1 worker → 2.0 worker + 2.1 judge",
        "\ntask: one\n",
        "\n  task       {task}\n",
        "\n  after      1\n",
        "\n  models     anthropic/m\n",
        "\n  tools      read, write, bash, skill\n",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let plan = session.json(words);
    assert_eq!(plan["schema"], "grove.plan/1");
    assert_eq!(plan["nodes"][2]["after"], json!(["1"]));
    let again = session.json(words);
    assert_eq!(plan, again, "the same request is the same plan");
    let picture = session.grove([&words[..], &["--mermaid"]].concat()).ok();
    assert!(picture.stdout.starts_with("flowchart TD\n"), "{picture}");
    // What is wrong is said as before a run.
    session.grove(["plan", "nobody", "x"]).fails(1);
    assert_eq!(server.requests().len(), 0);
    assert_eq!(session.json("runs list")["runs"], json!([]));
}

#[test]
fn a_saved_chain_has_its_schema_in_a_file_beside_it() {
    let (server, session) = scene(|_, _| Reply::call("structured_output", json!({ "a": "one" })));
    let chain = |file: &str| {
        format!(
            "---\nname: data\ndescription: Data.\n---\n## judge\noutputSchema: {file}\n\nGive it.\n"
        )
    };
    let schema = json!({ "type": "object", "required": ["a"] }).to_string();
    let go = ["run", "--chain", "data", "go", "--json"];
    session.file("home/.grove/chains/data.chain.md", chain("given/a.json"));
    session.file("home/.grove/chains/given/a.json", &schema);
    let run = run_of(&session.grove(go).ok().stdout);
    let structured = &run["nodes"][0]["output"]["structured"];
    assert_eq!(structured, &json!({ "a": "one" }));
    let asked = server.requests().len();
    for (content, reason) in [("[]", "is not a JSON object"), ("{", "is not JSON")] {
        session.file("home/.grove/chains/given/a.json", content);
        session.grove(go).fails(2).says([reason]);
    }
    // One's own chain may name any file of one's own; a project's may not leave its folder.
    session.file("home/elsewhere.json", &schema);
    session.file(
        "home/.grove/chains/data.chain.md",
        chain("../../elsewhere.json"),
    );
    session.grove(go).ok();
    session.file(
        "project/.grove/chains/data.chain.md",
        chain("../../../home/elsewhere.json"),
    );
    session.file("project/.grove/chains/a.json", &schema);
    session.grove(["trust", "--yes"]).ok();
    session.grove(go).fails(2).says(["is not in"]);
    session.file("project/.grove/chains/data.chain.md", chain("a.json"));
    session.grove(["trust", "--yes"]).ok();
    session.grove(go).ok();
    assert_eq!(server.requests().len(), asked + 2);
}

#[test]
fn a_request_says_whose_agents_it_means_and_where_its_steps_share_files() {
    let (server, session) = scene(|task, turns| match (task, turns) {
        (task, 0) if task.starts_with("note ") => bash(&format!(
            "echo kept > {folder}/kept",
            folder = task.trim_start_matches("note ")
        )),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.definition(
        "project/.grove/agents/worker.md",
        "tools: write, bash\n",
        "You are the project's.",
    );
    session.grove(["trust", "--yes"]).ok();
    let request = |value: Value| {
        session.file("project/request.json", value.to_string());
        session.grove(["run", "--request", "request.json", "--json"])
    };
    for (scope, told) in [
        ("user", "You work."),
        ("project", "the project's"),
        ("both", "the project's"),
    ] {
        request(json!({ "agent": "worker", "task": "look", "agentScope": scope })).ok();
        let last = server.requests().pop().unwrap().json()["system"].to_string();
        assert!(last.contains(told), "{scope}: {last}");
    }
    request(json!({ "agent": "worker", "task": "look", "agentScope": "all" }))
        .fails(2)
        .says(["`user`, `project` or `both`"]);
    request(json!({ "agent": "judge", "task": "look", "agentScope": "project" })).fails(1);
    let steps = json!([{ "agent": "worker", "task": "note {chain_dir}" }]);
    let outcome =
        request(json!({ "chain": steps, "task": "x", "chainDir": "shared", "clarify": true })).ok();
    let run = run_of(&outcome.stdout);
    let kept = format!("project/shared/{}/kept", run["id"].as_str().unwrap());
    assert_eq!(session.read(&kept), "kept\n");
    outcome.says(["`clarify` has no effect"]);
}

#[test]
fn a_step_has_the_skills_of_the_folder_in_which_it_works() {
    let (server, session) = scene(|_, _| Reply::text("Done."));
    session.definition(AGENT, "tools: read\nskills: local\n", "You work.");
    for (place, word) in [("project", "OUTER"), ("project/part", "INNER")] {
        session.file(format!("{place}/.git/HEAD"), "ref: refs/heads/main\n");
        let folder = format!("{place}/.agents/skills/local");
        session.definition(folder, "", &format!("{word} instructions."));
        let place = session.path(place).display().to_string();
        session.grove(["trust", "--yes", &place]).ok();
    }
    let request = json!({ "chain": [
        { "agent": "worker", "task": "out" },
        { "agent": "worker", "task": "in", "cwd": "part" },
    ] });
    session.file("project/request.json", request.to_string());
    session.grove("run --request request.json").ok();
    let told: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.json()["system"].to_string())
        .collect();
    assert!(
        told[0].contains("OUTER") && !told[0].contains("INNER"),
        "{}",
        told[0]
    );
    assert!(
        told[1].contains("INNER") && !told[1].contains("OUTER"),
        "{}",
        told[1]
    );
}
