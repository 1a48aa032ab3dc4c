//! What a child may do shrinks on the way down, whichever way it asks: its tool, a request with tasks, steps or groups, or
//! a `grove` in its shell that shed its mark.

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::delegation::{BOSS, ask};
use super::graphs::scene;
use super::{bash, run_of};

/// The session in which `boss` with these tools answers with one call, and the agents it asks with their task.
fn boss_that_calls(tools: &str, call: Reply) -> (ModelServer, Session) {
    let (server, session) = scene(move |task, turns| match (task, turns) {
        ("lead", 0) => call.clone(),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.definition(BOSS, &format!("tools: {tools}\n"), "You lead.");
    // In the sandbox there is no `grove`: these are about children without one.
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
    (server, session)
}

/// What the boss was told of its call: the last request.
fn told(server: &ModelServer) -> String {
    let requests = server.requests();
    String::from_utf8_lossy(&requests.last().unwrap().body).into_owned()
}

#[test]
fn whatever_a_child_asks_for_happens_below_its_folder() {
    let in_tasks =
        |cwd: &str| json!({ "tasks": [{ "agent": "judge", "task": "look", "cwd": cwd }] });
    let in_step = |cwd: &str| json!({ "task": "x", "chain": [{ "agent": "judge", "task": "look", "cwd": cwd }] });
    let in_group = |cwd: &str| json!({ "task": "x", "chain": [{ "parallel": [{ "agent": "judge", "task": "look" }], "cwd": cwd }] });
    let in_member = |cwd: &str| json!({ "task": "x", "chain": [{ "parallel": [{ "agent": "judge", "task": "look", "cwd": cwd }] }] });
    let alone = |cwd: &str| json!({ "agent": "judge", "task": "look", "cwd": cwd });
    let surfaces: [&dyn Fn(&str) -> Value; 5] =
        [&in_tasks, &in_step, &in_group, &in_member, &alone];
    for request in surfaces {
        for (cwd, is_taken) in [
            ("/", false),
            ("..", false),
            ("../home", false),
            ("inner/../..", false),
            ("link", false),
            ("inner", true),
            ("inner/..", true),
        ] {
            let request = request(cwd);
            let (server, session) =
                boss_that_calls("read, subagent", Reply::call("subagent", request.clone()));
            session.dir("project/inner").link("project/link", "../home");
            session.done("run boss lead");
            let told = told(&server);
            assert_eq!(told.contains("<look>"), is_taken, "{request}: {told}");
            assert_eq!(told.contains("is outside"), !is_taken, "{request}: {told}");
        }
    }
}

/// A child that does what its task says in the shell, or looks round with every tool that it has.
fn workers_and_lookers() -> (ModelServer, Session) {
    let (server, session) = scene(|task, turns| match (task.strip_prefix("sh "), turns) {
        (Some(line), 0) => bash(line.lines().next().unwrap_or_default()),
        (None, 0) => Reply::call("read", json!({ "path": "id" })),
        (None, 1) => Reply::call("write", json!({ "path": "evil", "content": "x" })),
        (None, 2) => bash("cat id; touch evil"),
        _ => Reply::text("Done."),
    });
    session.file("outside/id", "marker-of-a-key\n");
    session.dir("project/sub");
    (server, session)
}

/// Asserts that nothing of the folder outside was told or written.
fn assert_kept_out(server: &ModelServer, session: &Session, what: &str) {
    let requests = server.requests();
    let is_told = |request: &grove_testkit::model_server::Request| {
        String::from_utf8_lossy(&request.body).contains("marker-of-a-key")
    };
    assert!(!requests.iter().any(is_told), "{what}");
    assert_eq!(session.entries("outside"), ["id"], "{what}");
}

#[test]
fn a_link_that_a_child_puts_in_the_place_of_a_folder_leads_no_other_one_there() {
    let exchange = "sh rmdir sub; ln -s ../outside sub";
    let first = json!({ "agent": "worker", "task": exchange });
    let look = json!({ "agent": "worker", "task": "look", "cwd": "sub" });
    let both = json!({ "parallel": [look.clone()] });
    let of_group = json!({ "parallel": [{ "agent": "worker", "task": "look" }], "cwd": "sub" });
    let checked = json!({ "agent": "worker", "task": "sh true", "cwd": "sub", "acceptance": { "verify": ["cat id; touch evil"] } });
    for second in [look, both, of_group, checked] {
        let (server, session) = workers_and_lookers();
        let request = json!({ "task": "x", "chain": [first.clone(), second.clone()] });
        session.file("request.json", request.to_string());
        let request = session.path("request.json").display().to_string();
        let outcome = session.grove(["run", "--request", &request, "--json"]);
        let run = run_of(&outcome.stdout);
        assert_eq!(run["state"], "failed", "{second}: {run}");
        assert!(
            run.to_string().contains("a link was put in the place of"),
            "{second}: {run}"
        );
        assert_kept_out(&server, &session, &second.to_string());
    }
    // Where steps share files, and where their sessions are kept.
    let (server, session) = workers_and_lookers();
    let request = json!({ "task": "x", "chainDir": "shared", "chain": [
        { "agent": "worker", "task": "sh mv shared gone; ln -s ../outside shared" },
        { "agent": "worker", "task": "sh touch {chain_dir}/evil" },
    ] });
    session.file("request.json", request.to_string());
    let request = session.path("request.json").display().to_string();
    session.grove(["run", "--request", &request]);
    assert_kept_out(&server, &session, "chainDir");
    let (server, session) = workers_and_lookers();
    let task = "sh mv kept gone; ln -s ../outside kept";
    session.done(["run", "worker", task, "--session-dir", "kept"]);
    assert_kept_out(&server, &session, "sessionDir");
}

#[test]
fn a_link_in_a_commit_or_in_the_place_of_a_skill_leads_no_child_there() {
    let (server, session) = workers_and_lookers();
    super::worktrees::git(&session, "init -q -b main");
    session.file("project/sub/a.txt", "x");
    super::worktrees::git(&session, "add -A");
    super::worktrees::git(&session, "commit -q -m first");
    super::worktrees::git(&session, "checkout -q -b other");
    session.remove("project/sub");
    session.link("project/sub", session.path("outside"));
    super::worktrees::git(&session, "add -A");
    super::worktrees::git(&session, "commit -q -m second");
    super::worktrees::git(&session, "checkout -q main");
    let words = ["run", "worker", "look", "--worktree", "--base-ref", "other"];
    session.grove_in("project/sub", words).fails(1);
    assert_kept_out(&server, &session, "a commit");
    // A skill of a trusted project, which the second step may read.
    let (server, session) = scene(|task, turns| match (task, turns) {
        (task, 0) if task.starts_with("sh ") => bash(&task[3..]),
        (task, 0) => Reply::call("read", json!({ "path": task.lines().next() })),
        _ => Reply::text("Done."),
    });
    let session = session.with_repository();
    session.file("outside/id", "marker-of-a-key\n");
    session.skill("project/.agents/skills/known", "known", "Knows.");
    session.file("project/.agents/skills/known/id", "plain");
    session.dir("project/sub");
    session.definition(
        "home/.grove/agents/judge.md",
        "skills: known\n",
        "You judge.",
    );
    session.trust();
    let id = session
        .path("project/.agents/skills/known/id")
        .display()
        .to_string();
    let change = "sh mv .agents/skills/known gone; ln -s ../../../outside .agents/skills/known";
    for (first, is_read) in [("sh true", true), (change, false)] {
        let request = json!({ "task": "x", "chain": [
            { "agent": "worker", "task": first },
            { "agent": "judge", "task": id, "cwd": "sub" },
        ] });
        session.file("request.json", request.to_string());
        let request = session.path("request.json").display().to_string();
        session.done(["run", "--request", &request]);
        assert_eq!(
            told(&server).contains("plain"),
            is_read,
            "{}",
            told(&server)
        );
    }
    assert_kept_out(&server, &session, "a skill");
}

#[test]
fn a_git_file_that_names_another_repository_opens_nothing_of_it() {
    let (server, session) = scene(|task, turns| match turns {
        0 => bash(task),
        _ => Reply::text("Done."),
    });
    session.file("outside/.git/objects/marker", "marker-of-a-key");
    session.file("outside/.git/HEAD", "ref: refs/heads/main\n");
    session.dir("outside/.git/refs");
    let name = "echo gitdir: $PWD/../outside/.git > .git";
    let look = "cat ../outside/.git/objects/marker";
    session.done(["run", "worker", name, "->", "worker", look]);
    let last = told(&server);
    assert!(last.contains("Permission denied"), "{last}");
    let check = format!("{look} && touch found");
    session
        .grove(["run", "worker", "true", "--verify", &check])
        .fails(5);
    assert!(!session.has("project/found"));
}

#[test]
fn those_a_child_asks_get_no_power_that_it_lacks() {
    for (own, asked, wanted) in [
        (
            "read, bash, subagent",
            "read, write, edit, bash",
            "read bash",
        ),
        ("read, edit, subagent", "read, write, bash", "read write"),
        ("read, subagent", "bash, write, grep", "grep"),
        ("bash, subagent", "read, find, write", "read find"),
        (
            "read, write, bash, subagent",
            "read, bash, edit",
            "read edit bash",
        ),
    ] {
        let (server, session) = boss_that_calls(own, ask("doer", "dig"));
        session.definition(
            "home/.grove/agents/doer.md",
            &format!("tools: {asked}\n"),
            "You do.",
        );
        session.done("run boss lead");
        let request = server.requests()[1].json();
        let tools = request["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools.filter_map(|it| it["name"].as_str()).collect();
        let powers: Vec<&str> = names.into_iter().filter(|name| *name != "skill").collect();
        assert_eq!(powers.join(" "), wanted, "{own} asks {asked}");
    }
    // An agent that is left without any tool does not work at all.
    let (server, session) = boss_that_calls("read, subagent", ask("doer", "dig"));
    session.definition(
        "home/.grove/agents/doer.md",
        "tools: write, bash\n",
        "You do.",
    );
    session.done("run boss lead");
    assert!(
        told(&server).contains("the child that asks does not have"),
        "{}",
        told(&server)
    );
}

#[test]
fn a_child_without_commands_has_none_run_for_it() {
    for tools in ["read, subagent", "read, write, edit, subagent"] {
        let request = json!({ "agent": "judge", "task": "look",
            "acceptance": { "verify": [{ "id": "net", "command": "touch ran", "network": true }] } });
        let (server, session) = boss_that_calls(tools, Reply::call("subagent", request));
        session.done("run boss lead");
        assert!(
            told(&server).contains("cannot run commands"),
            "{}",
            told(&server)
        );
        assert!(!session.has("project/ran"));
    }
}

#[test]
fn a_child_that_sheds_its_mark_is_a_child_all_the_same() {
    for shed in [
        "env -u GROVE_RUN GROVE run judge look",
        "exec env -u GROVE_RUN GROVE run judge look",
        "GROVE_RUN=0000000000/1/1 GROVE run judge look",
        "exec env -i HOME=\"$HOME\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\" \
         XDG_DATA_HOME=\"$XDG_DATA_HOME\" GROVE run judge look",
        "env -u GROVE_RUN setsid --wait GROVE run judge look",
    ] {
        let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
        let line = shed.replace(
            "GROVE run",
            &format!("'{}' run", session.program().display()),
        );
        drop((server, session));
        let (_server, session) = boss_that_calls("read, write, bash, subagent", bash(&line));
        let run = run_of(&session.done("run boss lead --json").stdout);
        let delegated = &run["nodes"][0]["attempts"][0]["delegated"];
        assert_eq!(delegated.as_array().map_or(0, Vec::len), 1, "{shed}: {run}");
        let listed = session.json("runs list");
        let all = listed["runs"].as_array().unwrap();
        let alone = all.iter().filter(|it| it["parent"].is_null()).count();
        assert_eq!((all.len(), alone), (2, 1), "{shed}: {listed}");
    }
}

#[test]
fn depth_holds_for_a_child_that_sheds_its_mark() {
    let line = "env -u GROVE_RUN 'GROVE' run boss lead";
    let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
    let line = line.replace("GROVE'", &format!("{}'", session.program().display()));
    drop((server, session));
    let (_server, session) = boss_that_calls("read, write, bash, subagent", bash(&line));
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\nmaxDepth = 2\nmaxChildren = 30\n",
    );
    session.done("run boss lead");
    let listed = session.json("runs list");
    assert_eq!(listed["runs"].as_array().unwrap().len(), 3, "{listed}");
}

#[test]
fn a_child_changes_nothing_of_the_persons() {
    for command in [
        "trust --yes",
        "untrust",
        "agents create mole --description x",
        "agents edit worker --set model=x",
        "chains delete none --yes",
        "skills create mole --description x",
        "mcp install --host codex --yes",
        "init --yes",
        "undo",
    ] {
        let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
        let line = format!("'{}' {command}; echo code $?", session.program().display());
        drop((server, session));
        let (server, session) = boss_that_calls("read, write, bash", bash(&line));
        session.done("run boss lead");
        let told = told(&server);
        assert!(
            told.contains("a child of a run does not change"),
            "{command}: {told}"
        );
        assert!(told.contains("code 2"), "{command}: {told}");
    }
    // Looking is not changing.
    let (server, session) = scene(|task, _| Reply::text(format!("<{task}>")));
    let line = format!(
        "'{}' trust --list && '{0}' agents list",
        session.program().display()
    );
    drop((server, session));
    let (server, session) = boss_that_calls("read, write, bash", bash(&line));
    session.done("run boss lead");
    assert!(
        !told(&server).contains("does not change"),
        "{}",
        told(&server)
    );
}

#[test]
fn a_child_stops_and_answers_its_own_runs_alone() {
    let question = Reply::call(
        "contact_supervisor",
        json!({ "kind": "question", "message": "Which colour?" }),
    );
    let (server, session) = scene(move |task, turns| match (task, turns) {
        ("ask", 0) => question.clone(),
        (task, 0) if task.starts_with("do ") => bash(&task[3..]),
        (task, _) => Reply::text(format!("<{task}>")),
    });
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
    session.definition(
        "home/.grove/agents/asker.md",
        "tools: read, contact_supervisor\n",
        "You ask.",
    );
    let asking = session.grove("run asker ask --bg").ok().stdout;
    let asking = asking.trim();
    super::until(|| session.json(["runs", "show", asking])["state"] == "asking");
    let grove = session.program().display().to_string();
    for act in [
        "answer RUN red",
        "stop RUN",
        "steer RUN.1 red",
        "resume RUN red",
    ] {
        let act = act.replace("RUN", asking);
        let task = format!("do env -u GROVE_RUN '{grove}' runs {act}");
        session.done(["run", "worker", task.as_str()]);
        let told = told(&server);
        assert!(
            told.contains("is not one that this child asked for"),
            "{act}: {told}"
        );
        assert_eq!(
            session.json(["runs", "show", asking])["state"],
            "asking",
            "{act}"
        );
    }
    session.done(["runs", "answer", asking, "blue"]);
}

/// A request in every form that the tool takes, for one agent and what is added to its task.
fn forms(agent: &str, more: &Value) -> Vec<Value> {
    let mut task = json!({ "agent": agent, "task": "look" });
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    vec![
        task.clone(),
        json!({ "tasks": [task.clone()] }),
        json!({ "task": "x", "chain": [task.clone()] }),
        json!({ "task": "x", "chain": [{ "parallel": [task] }] }),
    ]
}

#[test]
fn a_child_forks_its_own_conversations_alone() {
    for is_in_shell in [false, true] {
        for (named, is_taken) in [("", true), (":SECRET", false), (":SECRET.1", false)] {
            let (server, session) = scene(move |task, turns| match (task, turns) {
                ("keep", _) => Reply::text("The secret is violet."),
                (task, 0) if task.starts_with("lead ") => {
                    let (secret, grove) = (&task[5..15], &task[16..]);
                    let named = named.replace("SECRET", secret);
                    if is_in_shell {
                        let flag = format!("--fork{}", named.replace(':', "="));
                        bash(&format!("'{grove}' run judge look {flag}"))
                    } else {
                        let context = format!("fork{named}");
                        Reply::call(
                            "subagent",
                            json!({ "agent": "judge", "task": "look", "context": context }),
                        )
                    }
                }
                (task, _) => Reply::text(format!("<{task}>")),
            });
            session.definition(BOSS, "tools: read, write, bash, subagent\n", "You lead.");
            let config = "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n";
            session.file(USER_CONFIG, config);
            session.done("run worker keep");
            let secret = super::worktrees::last_id(&session);
            let before = server.requests().len();
            let task = format!("lead {secret} {}", session.program().display());
            session.done(["run", "boss", task.as_str()]);
            let requests = server.requests();
            let bodies = requests[before..].iter();
            let bodies: Vec<String> = bodies
                .map(|it| String::from_utf8_lossy(&it.body).into_owned())
                .collect();
            let is_told = bodies.iter().any(|body| body.contains("violet"));
            assert!(!is_told, "{named} {is_in_shell}: {bodies:?}");
            let is_refused = told(&server).contains("is not a conversation of this child");
            assert_eq!(
                is_refused,
                !is_taken,
                "{named} {is_in_shell}: {}",
                told(&server)
            );
        }
    }
}

#[test]
fn a_child_that_cannot_write_has_no_file_written_for_it() {
    for (tools, more, is_taken) in [
        ("read, subagent", json!({ "output": "package.json" }), false),
        (
            "read, bash, subagent",
            json!({ "output": "package.json" }),
            false,
        ),
        (
            "read, write, subagent",
            json!({ "output": "package.json" }),
            true,
        ),
        ("read, subagent", json!({ "output": false }), true),
    ] {
        for request in forms("judge", &more) {
            let call = Reply::call("subagent", request.clone());
            let (server, session) = boss_that_calls(tools, call);
            session.file("project/package.json", "{}\n");
            session.done("run boss lead");
            let told = told(&server);
            assert_eq!(
                told.contains("look>"),
                is_taken,
                "{tools} {request}: {told}"
            );
            if !is_taken {
                assert!(
                    told.contains("that cannot write files"),
                    "{request}: {told}"
                );
                assert_eq!(session.read("project/package.json"), "{}\n", "{request}");
            }
        }
    }
    for place in ["sessionDir", "chainDir"] {
        let mut request = json!({ "agent": "judge", "task": "look" });
        request[place] = json!("link/made");
        for (tools, why) in [
            ("read, subagent", "that cannot write files"),
            ("read, write, subagent", "is outside"),
        ] {
            let call = Reply::call("subagent", request.clone());
            let (server, session) = boss_that_calls(tools, call);
            session.dir("outside").link("project/link", "../outside");
            session.done("run boss lead");
            assert!(told(&server).contains(why), "{place}: {}", told(&server));
            assert!(!session.has("outside/made"), "{place}");
        }
    }
}

#[test]
fn every_way_to_ask_leads_to_the_same_powers() {
    let in_shell = |grove: &str| {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "subagent", "arguments": { "agent": "doer", "task": "dig" } } });
        [
            format!("'{grove}' run doer dig"),
            format!("env -u GROVE_RUN '{grove}' run doer dig"),
            format!("'{grove}' run doer dig , doer dig"),
            format!(
                "printf '%s' '{{\"agent\":\"doer\",\"task\":\"dig\"}}' | '{grove}' run --request -"
            ),
            format!(
                "mkfifo in && ('{grove}' mcp < in > out & exec 3> in; printf '%s\\n' '{hello}' '{ready}' '{call}' >&3; \
                 until grep -q '\"id\":2' out; do :; done)"
            ),
        ]
    };
    let (server, session) = scene(|_, _| Reply::text("none"));
    let grove = session.program().display().to_string();
    drop((server, session));
    let mut calls: Vec<Reply> = in_shell(&grove).iter().map(|line| bash(line)).collect();
    calls.extend(
        forms("doer", &json!({ "task": "dig" }))
            .into_iter()
            .map(|request| Reply::call("subagent", request)),
    );
    calls.push(Reply::call(
        "subagent",
        json!({ "chainName": "digs", "task": "dig" }),
    ));
    for call in calls {
        let shown = format!("{call:?}");
        // A command in the shell of a child that does not write cannot ask for anything.
        let (own, wanted) = if shown.contains("\"bash\"") {
            ("read, write, bash", &["read", "write", "bash"][..])
        } else {
            ("read, bash, subagent", &["read", "bash", "subagent"][..])
        };
        let (server, session) = boss_that_calls(own, call);
        let tools = "tools: read, write, bash, subagent\n";
        session.definition("home/.grove/agents/doer.md", tools, "You do.");
        session.file(
            "home/.grove/chains/digs.chain.md",
            "---\nname: digs\ndescription: Digs\n---\n\n## doer\n\ndig\n",
        );
        session.done("run boss lead");
        let requests = server.requests();
        let of_doer = requests
            .iter()
            .map(grove_testkit::model_server::Request::json);
        let of_doer = of_doer.filter(|it| it["system"].to_string().contains("You do."));
        let mut n = 0;
        for request in of_doer {
            n += 1;
            let tools = request["tools"].as_array().unwrap().iter();
            let names: Vec<&str> = tools.filter_map(|it| it["name"].as_str()).collect();
            let powers: Vec<&str> = names.into_iter().filter(|name| *name != "skill").collect();
            assert_eq!(powers, wanted, "{shown}");
        }
        assert!(n > 0, "{shown}: {}", told(&server));
        let listed = session.json("runs list");
        let all = listed["runs"].as_array().unwrap();
        let alone = all.iter().filter(|it| it["parent"].is_null()).count();
        assert_eq!(alone, 1, "{shown}: {listed}");
    }
}
