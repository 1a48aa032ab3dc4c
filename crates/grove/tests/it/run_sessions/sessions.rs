//! A child that goes on: resumed, paused, told something while it works, asking and answered.

use grove_testkit::model_server::{Delivery, ModelServer, Reply, Script, ScriptedReply};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::{AGENT, bash, end_all, holder_of, run, run_of, scene, server, until};

/// What the model was told the nth time: role and texts of each message, results included.
fn told(server: &ModelServer, n: usize) -> Vec<(String, Vec<String>)> {
    let body: Value = serde_json::from_slice(&server.requests()[n].body).unwrap();
    let text = |block: &Value| {
        let content = &block["content"];
        let inner = content.as_str().or(content[0]["text"].as_str());
        let text = block["text"].as_str().or(inner);
        text.unwrap_or("(call)").to_owned()
    };
    let messages = body["messages"].as_array().unwrap().iter();
    let messages = messages.map(|message| {
        let blocks = message["content"].as_array().unwrap().iter();
        let role = message["role"].as_str().unwrap().to_owned();
        (role, blocks.map(text).collect())
    });
    messages.collect()
}

fn asked(question: &str) -> Reply {
    Reply::call(
        "contact_supervisor",
        json!({ "kind": "question", "message": question }),
    )
}

fn id_of(session: &Session, words: &[&str]) -> String {
    let outcome = session.grove(words.to_vec()).ok();
    outcome.stdout.trim().to_owned()
}

fn state_of(session: &Session, id: &str) -> String {
    let shown = session.json(&format!("runs show {id}"));
    shown["state"].as_str().unwrap().to_owned()
}

fn kill(pid: &str) {
    let mut kill = grove_testkit::process::kill();
    assert!(kill.args(["-9", pid]).status().unwrap().success());
}

#[test]
fn a_child_that_has_ended_goes_on_with_a_second_message_over_every_wire_format() {
    for (api, base) in [
        ("anthropic", ""),
        ("openai-responses", "/v1"),
        ("openai-chat", "/v1"),
    ] {
        let server = server(vec![
            bash("echo one"),
            Reply::text("The first answer."),
            Reply::text("The second answer."),
        ]);
        let session = scene(&server);
        let url = server.url();
        let config = format!(
            "[providers.local]\napi = '{api}'\nbase_url = '{url}{base}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\nmodels = ['small']\n[runs]\nmodel = 'small'\n"
        );
        session.file(grove_testkit::session::USER_CONFIG, config);
        session.dir("project");
        let first = session.grove("run worker First --json").ok();
        let first = run_of(&first.stdout);
        assert_eq!(first["result"], "The first answer.", "{api}");
        let id = first["id"].as_str().unwrap();
        let outcome = session.grove(["runs", "resume", id, "And now?"]).ok();
        assert_eq!(outcome.stdout, "The second answer.\n", "{api}");
        let last = String::from_utf8(server.requests()[2].body.clone()).unwrap();
        let places = ["First", "echo one", "The first answer.", "And now?"].map(|part| {
            let at = last.find(part);
            at.unwrap_or_else(|| panic!("{api}: `{part}` is not in {last}"))
        });
        assert!(places.is_sorted(), "{api}: {places:?}");
        assert_eq!(last.matches("The first answer.").count(), 1, "{api}");
        let shown = session.json(&format!("runs show {id}"));
        let attempts = shown["nodes"][0]["attempts"].as_array().unwrap();
        assert_eq!((attempts.len(), &shown["state"]), (2, &json!("complete")));
    }
}

#[test]
fn a_question_survives_everything_and_its_answer_lets_the_child_go_on() {
    let server = server(vec![asked("Red or blue?"), Reply::text("I take blue.")]);
    let session = scene(&server);
    session.definition(AGENT, "tools: bash, contact_supervisor\n", "You work.");
    let outcome = session.grove(run("Paint", &["--json"])).fails(7);
    let asking = run_of(&outcome.stdout);
    assert_eq!(asking["state"], "asking");
    assert_eq!(asking["cause"]["text"], "Red or blue?");
    let id = asking["id"].as_str().unwrap();
    // Nothing is left that could remember it but the journal.
    end_all(&session);
    session
        .grove(["runs", "wait", id])
        .fails(7)
        .says(["Red or blue?", "grove runs answer"]);
    session.grove(["runs", "steer", id, "x"]).fails(1);
    let outcome = session.grove(["runs", "answer", id, "Blue."]).ok();
    assert_eq!(outcome.stdout, "I take blue.\n");
    let told = told(&server, 1);
    assert_eq!(told.last().unwrap().1, ["Blue."], "{told:?}");
    session
        .grove(["runs", "answer", id, "Green."])
        .fails(1)
        .says(["asks anything"]);
    let system: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    let system = system["system"][0]["text"].as_str().unwrap();
    assert!(system.contains("ask with `contact_supervisor`"), "{system}");
    assert!(!system.contains("cannot ask back"));
}

#[test]
fn a_child_that_may_not_ask_is_told_so_and_has_no_tool_for_it() {
    let server = server(vec![asked("What?"), Reply::text("Fine.")]);
    let session = scene(&server);
    session.grove(run("Look", &[])).ok();
    let told = told(&server, 1);
    let last = &told.last().unwrap().1[0];
    assert!(
        last.contains("there is no tool `contact_supervisor`"),
        "{told:?}"
    );
}

#[test]
fn a_paused_child_goes_on_where_it_was() {
    let server = server(vec![
        bash("echo begun > begun; sleep 3041.5"),
        Reply::text("Done."),
    ]);
    let session = scene(&server);
    session.dir("project");
    let id = id_of(&session, &run("Sleep", &["--bg"]));
    until(|| sleepers("3041.5") > 0);
    session.grove(["runs", "interrupt", &id]).ok();
    session
        .grove(["runs", "wait", &id])
        .fails(7)
        .says(["paused"]);
    assert_eq!(
        (sleepers("3041.5"), state_of(&session, &id).as_str()),
        (0, "paused")
    );
    session.grove(["runs", "interrupt", &id]).fails(1);
    let outcome = session.grove(["runs", "resume", &id, "Do not sleep."]).ok();
    assert_eq!(outcome.stdout, "Done.\n");
    let told = told(&server, 1);
    let (_, last) = told.last().unwrap();
    assert_eq!(last.last().unwrap(), "Do not sleep.");
    assert_eq!(last.len(), 2, "the call has its result: {told:?}");
}

#[test]
fn a_child_hears_what_it_is_told_before_its_next_step_also_when_its_supervisor_was_killed() {
    for is_killed in [false, true] {
        let server = server(vec![
            bash("echo begun > begun; while [ ! -e go ]; do sleep 0.01; done"),
            Reply::text("Done."),
        ]);
        let session = scene(&server);
        session.dir("project");
        let id = id_of(&session, &run("Work", &["--bg"]));
        until(|| session.has("project/begun"));
        session.grove(["runs", "steer", &id, "Use tabs."]).ok();
        if is_killed {
            kill(&holder_of(&session, &id));
        } else {
            session.file("project/go", "");
        }
        session.grove(["runs", "wait", &id]).ok();
        let told = told(&server, 1);
        let (role, last) = told.last().unwrap();
        assert_eq!(role, "user");
        let logs = session.grove(["runs", "logs", &id]).stdout;
        assert_eq!(
            last.last().unwrap(),
            "Use tabs.",
            "{is_killed}: {told:?}\n{logs}"
        );
        assert_eq!(last.len(), 2);
    }
}

#[test]
fn what_is_sent_while_a_child_says_its_last_words_is_not_lost() {
    let late = ScriptedReply {
        delivery: Delivery {
            first_delay_ms: 1_500,
            ..Delivery::default()
        },
        ..Reply::text("The end.").into()
    };
    let replies = [late, Reply::text("With tabs.").into()];
    let server = ModelServer::start(Script::replies(replies)).unwrap();
    let session = scene(&server);
    let id = id_of(&session, &run("Work", &["--bg"]));
    until(|| server.requests().len() == 1);
    session.grove(["runs", "steer", &id, "Use tabs."]).ok();
    let outcome = session.grove(["runs", "wait", &id]).ok();
    assert_eq!(outcome.stdout, "With tabs.\n");
    assert_eq!(told(&server, 1).last().unwrap().1, ["Use tabs."]);
}

#[test]
fn of_two_that_want_it_to_go_on_one_wins_and_the_other_is_told() {
    let server = server(vec![
        Reply::text("First."),
        bash("sleep 0.3"),
        Reply::text("Second."),
    ]);
    let session = scene(&server);
    let id = run_of(&session.grove(run("Work", &["--json"])).ok().stdout);
    let id = id["id"].as_str().unwrap().to_owned();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let two =
            [1, 2].map(|_| scope.spawn(|| session.grove(["runs", "resume", &id, "Again"]).code));
        two.map(|it| it.join().unwrap()).to_vec()
    });
    let mut sorted = codes;
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1]);
    assert_eq!(server.requests().len(), 3);
}
