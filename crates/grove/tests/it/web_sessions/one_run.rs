//! A chain with four children, from its start to its patch, in a browser.

use grove_testkit::browser::{Browser, BrowserLook};
use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::json;

use super::{ServedPage, bash, model, page_of, requests_with, scene, until};
use crate::run_sessions::worktrees::git;

/// A model for four children: one asks, one writes a file, one works until it is stopped, and one sums up.
fn four_children() -> ModelServer {
    model(|first, last, turns| {
        if first.contains("@@ASK") {
            match turns {
                0 if last.contains("@@ASK") => Reply::call(
                    "contact_supervisor",
                    json!({ "kind": "question", "message": "Which **greeting** stays?" }),
                ),
                _ => Reply::text(format!("It is {}.", last.trim())),
            }
        } else if first.contains("@@WRITE") {
            match turns {
                0 if last.contains("@@WRITE") => Reply::call(
                    "write",
                    json!({ "path": "greet.txt", "content": "one\nhello\nthree\n" }),
                ),
                1 if last.contains("@@WRITE") => {
                    bash("while [ ! -e go ]; do sleep 0.05; done; rm go")
                }
                0 if last.contains("About your change") => Reply::call(
                    "write",
                    json!({ "path": "greet.txt", "content": "one\nhi\nthree\n" }),
                ),
                _ => Reply::text("The greeting is written."),
            }
        } else if first.contains("@@SLEEP") {
            bash("sleep 3077.5")
        } else {
            Reply::text("Everything is said.")
        }
    })
}

/// A repository and a chain: three children side by side, and one after them.
fn repository(server: &ModelServer) -> Session {
    let session = scene(server);
    let chain = json!({
        "name": "four", "description": "Greets.",
        "chain": [
            { "parallel": [
                { "agent": "worker", "task": "Ask what stays @@ASK" },
                { "agent": "worker", "task": "Write the greeting @@WRITE" },
                { "agent": "worker", "task": "Wait for ever @@SLEEP" },
            ], "worktree": true },
            { "agent": "worker", "task": "Sum up: {previous}" },
        ],
    });
    session.file("home/.grove/chains/four.chain.json", chain.to_string());
    git(&session, "init -q -b main");
    session.file("project/greet.txt", "one\ntwo\nthree\n");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    session
}

fn run_in(session: &Session) -> String {
    let listed = session.json("runs list");
    listed["runs"][0]["id"].as_str().unwrap().to_owned()
}

/// The folder in which a child works.
fn tree(session: &Session, run: &str, node: &str) -> std::path::PathBuf {
    session.path(format!("state/grove/worktrees/{run}/{node}-0"))
}

#[test]
fn four_children_are_started_watched_answered_steered_stopped_and_their_work_applied() {
    needs![Chromium, Node, Playwright, Axe];
    let server = four_children();
    let session = repository(&server);
    let mut served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let person = browser.person(BrowserLook::default());
    let page = page_of(&person, &served.link);

    // The plan is shown before anything starts.
    page.click("text=Start a run");
    page.select("select[name=chain]", "four");
    page.fill("textarea[name=task]", "Greet people");
    page.fill("input[name=model]", "anthropic/m");
    page.fill("input[name=max-tokens]", "100000");
    page.click("text=Show the plan");
    page.wait("pre", "2 worker");
    assert_eq!(server.requests().len(), 0, "nothing has begun");
    page.click("text=Start it");
    page.wait("h1", "Greet people");
    let run = run_in(&session);
    assert!(
        page.address().ends_with(&format!("/runs/{run}")),
        "{}",
        page.address()
    );

    // It is watched live, by two tabs.
    let second = person.page();
    second.open(&page.address());
    for tab in [&page, &second] {
        tab.wait(".ask", "Which greeting stays?");
        tab.wait("[id='c-1.2'] .now", "sleep 3077.5");
    }

    // The server is killed and started again; the page goes on, and what was recorded meanwhile is there.
    let port = served.port().to_string();
    served.kill();
    page.wait("#live", "not connected");
    served = ServedPage::start(&session, &["--port", &port]);
    page.wait("#live", "live");

    // A question is answered where it stands, and vanishes from both tabs.
    page.fill(".ask textarea", "salut");
    page.click(".ask button");
    page.wait("#notice", "1.0 has your answer");
    second.gone(".ask");
    page.wait("[id='c-1.0']", "complete");
    assert_eq!(requests_with(&server, "salut"), 1);

    // A child is steered: its next request has the message.
    page.click("[id='c-1.1'] a");
    page.wait("h1", "1.1 worker");
    page.wait("#items", "while [ ! -e go ]");
    page.click("text=Steer…");
    page.fill("details[open] textarea", "Be brief.");
    page.click("details[open] button");
    page.wait("#notice", "gets the message before its next step");
    std::fs::write(tree(&session, &run, "1.1").join("go"), "").unwrap();
    page.wait("#work", "The greeting is written.");
    assert_eq!(requests_with(&server, "Be brief."), 1);
    page.wait("#items", "Be brief.");

    // One child is stopped, and no other.
    page.click("text=← run");
    page.click("[id='c-1.2'] a");
    page.click("#actions button:has-text('Stop')");
    page.wait("#top", "stopped");
    page.reload();
    page.wait("#items", "the page");
    page.click("text=← run");
    page.wait("[id='c-1.0']", "complete");
    page.wait("[id='c-1.1']", "complete");
    page.wait("[id='c-2']", "skipped");

    // A comment on a line goes to the child, whose session goes on with it.
    page.click("[id='c-1.1'] a");
    page.click("text=Look at the changes");
    page.click(".diff .add a");
    page.fill(".comment textarea", "Say hi instead.");
    page.click(".comment button");
    page.wait("#notice", "1.1 has your comment");
    until("the child hears the comment", || {
        requests_with(&server, "Say hi instead.") > 0
    });
    let about = "About your change to `greet.txt`, line 2:\\n\\n> hello\\n\\nSay hi instead.";
    assert!(requests_with(&server, about) > 0);
    until("the child is done again", || {
        let shown = session.json(["runs", "show", &run]);
        shown["nodes"][1]["attempts"].as_array().unwrap().len() == 2
            && shown["nodes"][1]["state"] == "complete"
    });
    page.reload();
    page.wait(".diff .add", "hi");

    // Its patch is applied, by the function that the terminal calls.
    page.click("text=← 1.1");
    page.click("#work button:has-text('Apply')");
    page.wait("#notice", "1 file changed");
    assert_eq!(session.read("project/greet.txt"), "one\nhi\nthree\n");
    // Done twice it is refused or changes nothing, with the same words as in a terminal.
    page.click("#work button:has-text('Apply')");
    page.wait("#notice", "already applied");

    // The ledger is read, and the record has everything after a reload.
    page.click("text=← run");
    page.wait("#ledger", "");
    page.reload();
    page.wait("[id='c-1.2']", "stopped");
    let logged = session.grove(["runs", "logs", &run]).ok().stdout;
    let last = logged
        .lines()
        .last()
        .unwrap()
        .trim()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    page.wait(&format!("#e{last}"), "");
    let said: Vec<String> = page.said().into_iter().chain(second.said()).collect();
    let is_fault =
        |line: &&String| line.contains("Content Security Policy") || line.contains("Error:");
    let faults: Vec<&String> = said.iter().filter(is_fault).collect();
    assert!(faults.is_empty(), "{faults:?}");
    drop(served);
}
