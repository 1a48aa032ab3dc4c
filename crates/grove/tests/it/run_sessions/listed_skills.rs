//! A child that inherits the skills reads each at the location that it was told, and nothing beside them.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::scene;

/// The locations in what a request tells the child.
fn locations(request: &Value) -> Vec<String> {
    let told = request["system"].to_string();
    let parts = told.split("<location>").skip(1);
    let location = |part: &str| part.split("</location>").next().map(str::to_owned);
    parts.filter_map(location).collect()
}

/// What the tools answered, in order, in the last request.
fn answers(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let last = requests.last().unwrap().json();
    let messages = last["messages"].as_array().unwrap().iter();
    let text = |message: &Value| {
        let result = &message["content"][0];
        let text = result["content"][0]["text"].as_str();
        (result["type"] == "tool_result").then(|| text.unwrap_or_default().to_owned())
    };
    messages.filter_map(text).collect()
}

/// A model that reads every location that it was told, and then these files.
fn reader(more: &'static [&'static str]) -> ModelServer {
    ModelServer::start(Script::chosen_by(move |_, request| {
        let request = request.json();
        let turn = request["messages"].as_array().map_or(0, Vec::len) / 2;
        let mut all = locations(&request);
        all.extend(more.iter().map(|path| (*path).to_owned()));
        match all.get(turn) {
            Some(path) => Reply::call("read", json!({ "path": path })),
            None => Reply::text("Read."),
        }
    }))
    .unwrap()
}

fn told(server: &ModelServer) -> Vec<String> {
    locations(&server.requests()[0].json())
}

const FLAT: usize = 12;

fn person(server: &ModelServer) -> Session {
    let session = scene(server).without_bundled();
    for n in 0..FLAT {
        let about = "Does one of many things. ".repeat(20);
        session.file(
            format!("project/.agents/skills/skill-{n:02}/SKILL.md"),
            format!("---\nname: skill-{n:02}\ndescription: {about}\n---\nBody {n:02}.\n"),
        );
    }
    session.definition("elsewhere/kept", "", "Body kept.");
    session.link("home/.grove/skills/linked", "../../../elsewhere/kept");
    session.definition("home/.agents/skills/near", "", "Body near.");
    session.definition(
        "home/.grove/skills/for-people",
        "disable-model-invocation: true\n",
        "Body for people.",
    );
    // Where there is no room for everything, locations begin with aliases.
    session.file(USER_CONFIG, "limits.prompt_chars = 4000\n");
    session.file("home/secret.txt", "secret");
    session.file("project/r1/own.txt", "own");
    session.file("project/~/own.txt", "own");
    session.definition(
        "home/.grove/agents/reads.md",
        "tools: read, write\nmodel: anthropic/m\ninheritSkills: true\n",
        "You read.",
    );
    session.trust();
    session
}

#[test]
fn a_child_reads_every_skill_at_the_location_that_it_was_told() {
    let server = reader(&[
        "r1/own.txt",
        "~/own.txt",
        "~/secret.txt",
        "~/.agents/skills/near/../../../secret.txt",
        "r1/../secret.txt",
        "~/.grove/skills/for-people/SKILL.md",
        "~/.grove/agents/reads.md",
        "r9/x",
    ]);
    let session = person(&server);
    session.grove(["run", "reads", "Read all."]).ok();
    let told = told(&server);
    assert_eq!(told.len(), FLAT + 2, "{told:?}");
    assert!(told.iter().any(|it| it.starts_with("~/")), "{told:?}");
    assert!(told.iter().any(|it| it.starts_with('r')), "{told:?}");
    let answers = answers(&server);
    let (read, others) = answers.split_at(told.len());
    for (location, text) in told.iter().zip(read) {
        assert!(text.contains("Body "), "{location}: {text}");
    }
    let (own, refused) = others.split_at(2);
    assert_eq!(own, ["own\n", "own\n"]);
    assert_eq!(refused.len(), 6);
    for text in refused {
        let gives = ["secret\n", "Body", "You read"];
        assert!(!gives.iter().any(|it| text.contains(it)), "{text}");
    }
}

#[test]
fn a_listed_location_is_not_a_place_to_write() {
    let server = ModelServer::start(Script::chosen_by(|_, request| {
        let request = request.json();
        let turn = request["messages"].as_array().map_or(0, Vec::len) / 2;
        let told = locations(&request);
        let path = told.iter().find(|it| it.starts_with("~/.agents"));
        match (turn, path) {
            (0, Some(path)) => Reply::call("write", json!({ "path": path, "content": "mine" })),
            _ => Reply::text("Done."),
        }
    }))
    .unwrap();
    let session = person(&server);
    let first = "home/.agents/skills/near/SKILL.md";
    let before = session.read(first);
    session.grove(["run", "reads", "Write."]).ok();
    assert_eq!(session.read(first), before);
    assert!(
        session
            .read("home/.grove/skills/linked/SKILL.md")
            .contains("Body kept.")
    );
}
