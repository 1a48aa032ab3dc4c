//! Sessions as files, and children that begin with another's conversation.

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::{AGENT, bash, holder_of, run, run_of, scene, server, until};

fn id_of(session: &Session, words: &[&str]) -> String {
    let outcome = session.grove(run("First", &[&["--json"], words].concat()));
    run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned()
}

/// The entries of a session's file, and its path.
fn entries(session: &Session, id: &str) -> (Vec<Value>, std::path::PathBuf) {
    let outcome = session.grove(["runs", "session", id]).ok();
    let path = std::path::PathBuf::from(outcome.stdout.trim());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), path)
}

/// What was sent: the role of each message and the kinds of its parts.
fn sent(server: &ModelServer, n: usize) -> Vec<(String, Vec<String>)> {
    let body: Value = server.requests()[n].json();
    let messages = body["messages"].as_array().unwrap().iter();
    let text = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        kind => kind.to_owned(),
    };
    messages
        .map(|message| {
            let blocks = message["content"].as_array().unwrap().iter();
            let role = message["role"].as_str().unwrap().to_owned();
            (role, blocks.map(text).collect())
        })
        .collect()
}

#[test]
fn a_session_is_a_file_that_is_cut_to_the_journal_and_completed_from_it() {
    let server = server(vec![
        bash("echo one"),
        Reply::text("The first answer."),
        Reply::text("The second answer."),
    ]);
    let session = scene(&server);
    session.dir("project");
    let id = id_of(&session, &["--session-dir", "sessions"]);
    let (first, path) = entries(&session, &id);
    assert_eq!(path, session.path(format!("project/sessions/{id}.1.jsonl")));
    session.grove(["runs", "resume", &id, "And now?"]).ok();
    let written = std::fs::read(&path).unwrap();
    let (all, _) = entries(&session, &id);
    assert_eq!(
        std::fs::read(&path).unwrap(),
        written,
        "it was current when the run ended"
    );
    assert!(all.starts_with(&first), "it only grows");
    let roles = all
        .iter()
        .filter_map(|entry| entry["message"]["role"].as_str());
    let expected = [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ];
    assert!(roles.eq(expected), "{all:?}");
    assert_eq!(all[0]["schema"], "grove.session/1");
    // A tree: every entry but the first comes after one before it.
    for (at, entry) in all.iter().enumerate().skip(1) {
        let before = all[1..at]
            .iter()
            .any(|other| other["id"] == entry["parentId"]);
        assert_eq!(before, at > 1, "{entry}");
    }
    let said = |text: &str| {
        all.iter()
            .position(|entry| entry.to_string().contains(text))
            .unwrap()
    };
    let end = &all[said("The first answer.") + 1];
    assert_eq!(
        all[said("And now?") - 1]["parentId"],
        end["id"],
        "it goes on where the first ended"
    );
    // Whatever a writer that was killed has left is put right.
    for cut in (0..written.len()).step_by(61) {
        for left in [&b""[..], b"{\"half\": ", b"{\"else\": 1}\n"] {
            std::fs::write(&path, [&written[..cut], left].concat()).unwrap();
            entries(&session, &id);
            assert!(std::fs::read(&path).unwrap() == written, "cut at {cut}");
        }
    }
}

#[test]
fn a_session_goes_on_and_can_be_forked_after_its_supervisor_was_killed() {
    let server = server(vec![
        bash("sleep 3051.5"),
        Reply::text("I looked again."),
        Reply::text("Going on."),
        Reply::text("Forked."),
    ]);
    let session = scene(&server);
    session.dir("project");
    let outcome = session.grove(run("First", &["--bg"])).ok();
    let id = outcome.stdout.trim().to_owned();
    until(|| sleepers("3051.5") > 0);
    let mut kill = grove_testkit::process::kill();
    assert!(
        kill.args(["-9", &holder_of(&session, &id)])
            .status()
            .unwrap()
            .success()
    );
    session.grove(["runs", "wait", &id]).ok();
    let outcome = session.grove(["runs", "resume", &id, "Go on"]).ok();
    assert_eq!(outcome.stdout, "Going on.\n");
    let fork = format!("--fork={id}");
    let outcome = session.grove(run("Another task", &[&fork])).ok();
    assert_eq!(outcome.stdout, "Forked.\n");
    let told = sent(&server, 3);
    let texts: Vec<&str> = told
        .iter()
        .flat_map(|it| &it.1)
        .map(String::as_str)
        .collect();
    let expected = [
        "First",
        "tool_use",
        "tool_result",
        "I looked again.",
        "Go on",
        "Going on.",
        "Another task",
    ];
    assert_eq!(texts, expected);
    let (all, _) = entries(&session, &id);
    let said = all
        .iter()
        .filter(|entry| entry["message"]["role"] == "assistant");
    assert_eq!(said.count(), 3);
}

#[test]
fn a_fork_knows_what_was_said_and_is_refused_with_the_reason_where_it_cannot() {
    let asks = json!({ "kind": "question", "message": "Which?" });
    let server = server(vec![
        Reply::call("contact_supervisor", asks),
        Reply::text("The first answer."),
        Reply::text("The fork."),
        Reply::text("Fresh."),
        Reply::error(401, "no"),
    ]);
    let session = scene(&server);
    session.dir("project");
    let fields = "tools: read, contact_supervisor\n";
    session.definition(AGENT, fields, "You work.");
    let id = id_of(&session, &[]);
    session.grove(["runs", "answer", &id, "The red one"]).ok();
    let request = |context: &str| {
        let request = json!({ "agent": "worker", "task": "Second", "model": "anthropic/m", "context": context });
        session.file("project/request.json", request.to_string());
        session.grove("run --request request.json")
    };
    request(&format!("fork:{id}.1")).ok();
    // The question was between the parent and whoever gave it its task.
    let expected = [
        ("user", vec!["First"]),
        ("assistant", vec!["The first answer."]),
        ("user", vec!["Second"]),
    ];
    let expected = expected.map(|(role, texts)| {
        (
            role.to_owned(),
            texts.into_iter().map(str::to_owned).collect::<Vec<_>>(),
        )
    });
    assert_eq!(sent(&server, 2), expected);
    let body = server.requests()[2].json();
    let system = body["system"][0]["text"].as_str().unwrap().to_owned();
    assert!(system.contains("another's conversation"), "{system}");
    request("fresh").ok();
    assert_eq!(
        sent(&server, 3),
        [("user".to_owned(), vec!["Second".to_owned()])]
    );
    // Of a child that never answered nothing can be known.
    let silent = id_of(&session, &[]);
    let asked = server.requests().len();
    for (context, says) in [
        (
            "fork".to_owned(),
            "this is not a child, and no session is named",
        ),
        ("fork:zzz".to_owned(), "there is no session `zzz`"),
        (format!("fork:{id}.7"), "there is no session `"),
        (format!("fork:{silent}"), "has no answer yet"),
        ("forked".to_owned(), "`context` has to be"),
    ] {
        request(&context).fails(2).says([says]);
    }
    assert_eq!(server.requests().len(), asked, "nobody was asked");
}

/// The texts of the user in a request, in order.
fn told(server: &ModelServer, n: usize) -> Vec<String> {
    let sent = sent(server, n);
    let of_user = sent.into_iter().filter(|(role, _)| role == "user");
    of_user.flat_map(|(_, texts)| texts).collect()
}

#[test]
fn a_child_that_works_can_give_its_conversation_to_those_it_asks() {
    for (request, texts) in [
        (
            json!({ "agent": "worker", "task": "Dig", "context": "fork" }),
            vec!["Lead", "Dig"],
        ),
        // Without a word of the request an agent's wish counts, for all that it asks for.
        (
            json!({ "agent": "keen", "task": "Dig" }),
            vec!["Lead", "Dig"],
        ),
        (
            json!({ "chain": [{ "agent": "worker", "task": "Dig" }, { "agent": "keen", "task": "On" }] }),
            vec!["Lead", "Dig"],
        ),
        (
            json!({ "agent": "keen", "task": "Dig", "context": "fresh" }),
            vec!["Dig"],
        ),
        (json!({ "agent": "worker", "task": "Dig" }), vec!["Dig"]),
    ] {
        let server = server(vec![
            Reply::call("subagent", request.clone()),
            Reply::text("Done."),
        ]);
        let session = scene(&server);
        session.dir("project");
        session.definition(
            "home/.grove/agents/boss.md",
            "tools: read, subagent\n",
            "You lead.",
        );
        session.definition(
            "home/.grove/agents/keen.md",
            "defaultContext: fork\n",
            "You know.",
        );
        session
            .grove(["run", "boss", "Lead", "--model", "anthropic/m"])
            .ok();
        assert_eq!(told(&server, 1), texts, "{request}");
    }
}

#[test]
fn an_agent_that_prefers_a_conversation_starts_fresh_where_there_is_none_and_says_so() {
    let server = server(vec![Reply::text("Done.")]);
    let session = scene(&server);
    session.dir("project");
    session.definition(AGENT, "tools: read\ndefaultContext: fork\n", "You know.");
    let fresh = session.grove(run("Dig", &[])).ok();
    fresh.says([
        "`worker` prefers to go on from a conversation; none was named, so it knows its task alone",
    ]);
    assert_eq!(told(&server, 0), ["Dig"]);
}
