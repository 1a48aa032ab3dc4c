//! Several clients of one person: each controls its own runs, and a key is its owner's.

use serde_json::{Value, json};

use super::scene;
use crate::mcp_hostile::raw_client::{RawClient, request};
use crate::run_sessions::end_all;

/// What the tool answers to a call.
fn answer(client: &mut RawClient, arguments: &Value) -> Value {
    let params = json!({ "name": "subagent", "arguments": arguments });
    client.ask(&request("asked", "tools/call", &params))["result"].clone()
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_default()
}

/// A line of an answer that begins with a word.
fn line<'a>(answer: &'a Value, word: &str) -> Option<&'a str> {
    text(answer)
        .lines()
        .find_map(|line| line.strip_prefix(word))
}

#[test]
fn a_client_controls_no_run_of_another_one() {
    let (_server, session) = scene();
    let mut owner = RawClient::connect_as(&session, "one");
    let mut other = RawClient::connect_as(&session, "two");
    let slow = json!({ "agent": "worker", "task": "slow", "background": true });
    let begun = answer(&mut owner, &slow);
    let run = line(&begun, "run: ").unwrap();
    let token = line(&begun, "token: ").unwrap();
    let almost = format!("{}0", &token[..token.len() - 1]);
    let almost = if almost == token {
        "f".repeat(token.len())
    } else {
        almost
    };
    let state = |client: &mut RawClient| {
        let status = answer(client, &json!({ "action": "status", "run": run }));
        status["_meta"]["grove/run"]["state"].clone()
    };
    for action in ["answer", "steer", "interrupt", "resume", "stop", "apply"] {
        for given in [None, Some(""), Some("0"), Some(almost.as_str())] {
            for run in [run.to_owned(), format!("{run}.1"), run[..8].to_owned()] {
                let mut call = json!({ "action": action, "run": run, "message": "enough" });
                if let Some(given) = given {
                    call["token"] = json!(given);
                }
                let refused = answer(&mut other, &call);
                let said = text(&refused);
                assert_eq!(refused["isError"], true, "{call}: {said}");
                assert_eq!(
                    refused["_meta"]["grove/run"]["code"], "not-owner",
                    "{call}: {said}"
                );
                assert!(said.contains("hint: give the `token`"), "{said}");
            }
        }
    }
    assert_eq!(state(&mut other), "running");
    // It is the token that counts, and not the client.
    let steer = json!({ "action": "steer", "run": run, "message": "faster", "token": token });
    assert_ne!(answer(&mut other, &steer)["isError"], true);
    let stop = json!({ "action": "stop", "run": run, "token": token });
    let stopped = answer(&mut owner, &stop);
    assert!(text(&stopped).contains("told to stop"), "{stopped}");
    end_all(&session);
}

#[test]
fn a_key_gives_nobody_the_run_of_another_client() {
    let (server, session) = scene();
    let first = json!({ "agent": "worker", "task": "quick", "submitKey": "k", "background": true });
    let mut seen: Vec<(String, String)> = Vec::new();
    for name in ["one", "two", "one\",\"k", "person"] {
        let mut client = RawClient::connect_as(&session, name);
        let begun = answer(&mut client, &first);
        let run = line(&begun, "run: ").unwrap().to_owned();
        let token = line(&begun, "token: ").unwrap().to_owned();
        let is_new = seen
            .iter()
            .all(|(other, theirs)| *other != run && *theirs != token);
        assert!(is_new, "{name}: {begun}");
        // Another connection of the same client may have lost the answer.
        let mut again = RawClient::connect_as(&session, name);
        let known = answer(&mut again, &first);
        assert_eq!(line(&known, "run: "), Some(run.as_str()), "{name}");
        assert_eq!(line(&known, "token: "), Some(token.as_str()), "{name}");
        let mut different = first.clone();
        different["task"] = json!("something else");
        let refused = answer(&mut again, &different);
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).contains("belongs to run"), "{refused}");
        assert!(!text(&refused).contains(&token), "{refused}");
        let wait = json!({ "action": "wait", "run": run, "token": token });
        assert!(text(&answer(&mut again, &wait)).contains("Did quick."));
        seen.push((run, token));
    }
    // The person is another owner again.
    session.file("home/work/request.json", first.to_string());
    let words = ["run", "--request", "request.json"];
    let own = session.grove_in("home/work", words).ok().stdout;
    assert!(seen.iter().all(|(run, _)| own.trim() != run), "{own}");
    session
        .grove_in("home/work", ["runs", "wait", own.trim()])
        .ok();
    assert_eq!(server.requests().len(), seen.len() + 1);
    end_all(&session);
}
