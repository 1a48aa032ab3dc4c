//! What a child is told is stored before it starts, and is what goes over the wire.

use grove_testkit::model_server::{ModelServer, Script};
use grove_testkit::needs;
use grove_testkit::session::column;
use serde_json::Value;

use super::scene;

/// As many real agents are told something.
const REAL: usize = 20;

#[test]
fn what_is_stored_is_what_is_sent_for_every_bundled_agent_and_twenty_real_ones() {
    needs![RealCollections];
    let server = ModelServer::start(Script::plain()).unwrap();
    let session = scene(&server);
    session.remove(super::AGENT);
    let bundled = session.json("agents list");
    let bundled = column(&bundled["agents"], "name");
    assert!(bundled.len() >= 8, "{bundled:?}");
    let corpus = grove_testkit::shared::real_corpus().unwrap();
    let mut real = grove_testkit::shared::files_below(&corpus).unwrap();
    real.retain(|file| {
        let folder = file.parent().and_then(|folder| folder.file_name());
        let text = std::fs::read_to_string(file).unwrap_or_default();
        folder.is_some_and(|name| name == "agents") && text.starts_with("---\n")
    });
    real.sort();
    for file in &real {
        let name = file.file_name().unwrap().to_str().unwrap();
        let target = format!("home/.grove/agents/{name}");
        session.file(target, std::fs::read(file).unwrap());
    }
    let listed = session.json("agents list");
    let agents = column(&listed["agents"], "name");
    assert_eq!(agents.len(), bundled.len() + real.len(), "{agents:?}");
    let mut n_real = 0;
    for agent in &agents {
        let is_bundled = bundled.contains(agent);
        if !is_bundled && n_real == REAL {
            continue;
        }
        let task = format!("Do what {agent} does:\n\"quoted\" \u{1f331} {{previous}}");
        let before = server.requests().len();
        let words = ["run", agent, &task, "--model", "anthropic/m", "--json"];
        let outcome = session.grove(words);
        // An agent that has none of its tools here is refused before anything starts.
        if !is_bundled && outcome.stderr.contains("only tools that do not exist here") {
            continue;
        }
        n_real += usize::from(!is_bundled);
        let outcome = outcome.ok();
        let run = super::run_of(&outcome.stdout);
        let told = session.json([
            "prompt",
            "--run",
            run["id"].as_str().expect(&outcome.stdout),
        ]);
        let sent: Value = serde_json::from_slice(&server.requests()[before].body).unwrap();
        assert_eq!(sent["system"].as_array().map(Vec::len), Some(1), "{agent}");
        assert_eq!(sent["system"][0]["text"], told["system"], "{agent}");
        assert_eq!(
            sent["messages"].as_array().map(Vec::len),
            Some(1),
            "{agent}"
        );
        assert_eq!(
            sent["messages"][0]["content"][0]["text"], told["message"],
            "{agent}"
        );
        // Above the task there is at most where its answer is to be written.
        let message = told["message"].as_str().unwrap();
        let above = message.strip_suffix(task.as_str()).unwrap();
        let is_line = above.starts_with("[Write to: ") && above.ends_with("]\n\n");
        assert!(above.is_empty() || is_line, "{agent}: {message}");
        let prompt = session.json(["prompt", agent]);
        let prompt = prompt["prompt"].as_str().unwrap().trim_end();
        let system = told["system"].as_str().unwrap();
        assert!(system.starts_with(prompt), "{agent}: {system}");
        assert_eq!(run["nodes"][0]["told"], told["digest"], "{agent}");
    }
    assert_eq!(n_real, REAL);
}
