//! A conversation that is longer than what its model can read goes on: the newest of it is told whole, the rest in short,
//! and the contract, preloaded skills and skills that were asked for are never cut.

use std::time::Duration;

use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptedReply};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{AGENT, bash, holder_of, run_of, scene, server, within};

const WINDOW: usize = 4_000;
const TURNS: usize = 200;

/// A text with a beginning and an end that can be looked for.
fn skill(name: &str, lines: usize) -> String {
    let rules = (0..lines).map(|n| format!("{name} rule {n}: be exact."));
    let body = rules.collect::<Vec<_>>().join("\n");
    format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}\n{name} ends here.\n")
}

fn body_of(skill: &str) -> &str {
    skill.rsplit("---\n").next().unwrap().trim_end()
}

/// A model that calls a tool so often that nothing fits, and says when a request was longer than its window.
fn long_worker(turns: usize) -> ModelServer {
    let script = Script::chosen_by(move |number, request| -> ScriptedReply {
        // Four bytes are about a token.
        let size = request.body.len() / 4;
        if size > WINDOW {
            return Reply::error(400, format!("prompt is too long: {size}")).into();
        }
        match number {
            2 => Reply::call("skill", json!({ "name": "asked" })).into(),
            n if n < turns => bash(&format!("echo turn {n}; seq -s ' ' 1 60")).into(),
            _ => Reply::text("All done.").into(),
        }
    });
    ModelServer::start(script).unwrap()
}

fn home(server: &ModelServer, context: &str) -> Session {
    let session = scene(server);
    session.file("home/.grove/skills/always/SKILL.md", skill("always", 12));
    session.file("home/.grove/skills/asked/SKILL.md", skill("asked", 12));
    let url = server.url();
    let config = format!(
        "[providers.local]\napi = 'anthropic'\nbase_url = '{url}'\nkey = {{ env = 'ANTHROPIC_API_KEY' }}\nmodels = [{{ id = 'small'{context} }}]\n"
    );
    session.file(USER_CONFIG, config);
    session.dir("project");
    let fields = "tools: bash, write\nmodel: local/small\nskills: always\n";
    session.definition(AGENT, fields, "You work.");
    session
}

/// The system text and the first message of a request.
fn beginning(server: &ModelServer, n: usize) -> (String, String) {
    let body: Value = server.requests()[n].json();
    let system = body["system"][0]["text"].as_str().unwrap().to_owned();
    let blocks = body["messages"][0]["content"].as_array().unwrap().clone();
    let texts = blocks.iter().map(|block| block["text"].as_str().unwrap());
    (system, texts.collect::<Vec<_>>().join("\n"))
}

#[test]
fn contract_preloads_and_active_skills_are_whole_after_200_turns_in_4000_tokens() {
    let server = long_worker(TURNS);
    let session = home(&server, ", context = 4000");
    let words = [
        "run",
        "worker",
        "Count to the end",
        "--verify",
        "true",
        "--bg",
    ];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    // Somebody kills the supervisor in the middle: what was cut stays cut at the same place.
    let minute = Duration::from_mins(1);
    within(minute, "60 requests", || server.requests().len() > 60);
    let kill = grove_testkit::process::kill()
        .args(["-9", &holder_of(&session, &id)])
        .status();
    assert!(kill.unwrap().success());
    let outcome = session.grove(["runs", "wait", &id, "--json"]).ok();
    let run = run_of(&outcome.stdout);
    assert_eq!(run["result"], "All done.");
    let attempts = run["nodes"][0]["attempts"].as_array().unwrap();
    assert_eq!((attempts.len(), &attempts[0]["recoveries"]), (1, &json!(1)));
    assert!(attempts[0]["turns"].as_u64().unwrap() >= TURNS as u64);
    let requests = server.requests();
    let largest = requests.iter().map(|request| request.body.len() / 4).max();
    assert!(largest.unwrap() <= WINDOW, "{largest:?}");
    let (system, first) = beginning(&server, requests.len() - 1);
    assert!(system.contains(body_of(&skill("always", 12))), "{system}");
    let contract = "Your work counts only when it holds";
    assert!(
        system.contains(contract) && system.contains("true`"),
        "{system}"
    );
    assert!(first.starts_with("Count to the end"), "{first}");
    assert!(first.contains(body_of(&skill("asked", 12))), "{first}");
    assert_eq!(first.matches("asked ends here.").count(), 1);
    assert!(first.contains("- you called bash"), "{first}");
    // The newest turns are told whole.
    let last = String::from_utf8(requests.last().unwrap().body.clone()).unwrap();
    let newest = requests.len() - 2;
    assert!(last.contains(&format!("turn {newest}\\n1 2 3")), "{last}");
    let logs = session.grove(["runs", "logs", &id, "--json"]).ok();
    let facts = logs
        .stdout
        .lines()
        .filter(|line| line.contains(r#""fact":"compacted""#));
    let cuts: Vec<u64> = facts
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["turns"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert!(cuts.len() > 5 && cuts.is_sorted(), "{cuts:?}");
    // Between two cuts every request begins with the same bytes, also across the kill.
    let beginnings: Vec<_> = (0..requests.len()).map(|n| beginning(&server, n)).collect();
    let changes = beginnings
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count();
    assert_eq!(changes, cuts.len());
}

#[test]
fn a_window_that_nobody_knows_is_found_by_the_providers_refusal() {
    let server = long_worker(60);
    let session = home(&server, "");
    let outcome = session.grove("run worker Count --json").ok();
    assert_eq!(run_of(&outcome.stdout)["result"], "All done.");
    let (_, first) = beginning(&server, server.requests().len() - 1);
    assert!(first.contains("asked ends here."), "{first}");
}

#[test]
fn what_fits_is_told_whole_and_a_result_that_is_too_long_is_cut_in_the_middle() {
    let server = server(vec![
        bash("echo short"),
        bash("echo begin; seq 1 5000; echo end"),
        Reply::text("Done."),
    ]);
    let session = home(&server, ", context = 8000");
    session.grove("run worker Look").ok();
    let bodies: Vec<String> = server
        .requests()
        .iter()
        .map(|request| String::from_utf8(request.body.clone()).unwrap())
        .collect();
    assert!(bodies[1].contains("short") && !bodies[1].contains("left out here"));
    let last = &bodies[2];
    for part in [
        "begin\\n1\\n2",
        "4999\\n5000\\nend",
        "bytes are left out here",
    ] {
        assert!(last.contains(part), "{part}: {last}");
    }
    assert!(last.len() / 4 < 8_000);
}
