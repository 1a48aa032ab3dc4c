//! A host that lists skills by itself is not told of them again by `grove mcp`.

use std::collections::BTreeSet;

use grove_testkit::session::{Session, column};
use serde_json::{Value, json};

use crate::mcp_hostile::raw_client::{RawClient, call, request};

/// What programs call themselves, as they were seen to.
const CLIENTS: [(&str, &str); 3] = [
    ("claude-code", "claude"),
    ("codex-mcp-client", "codex"),
    ("copilot-cli", "copilot"),
];

/// Skills where some hosts look and others do not, and one with a skill below it.
fn session() -> Session {
    let session = crate::session().without_bundled();
    session.dir("home/work/.git");
    for folder in [".agents", ".claude", ".codex", ".copilot", ".grove"] {
        let name = format!("of{}", folder.replace('.', "-"));
        session.skill(format!("home/{folder}/skills/{name}"), &name, "Does it.");
    }
    session
        .file(
            "home/.agents/skills/office/SKILL.md",
            "---\nname: office\ndescription: Above.\nmetadata:\n  children: sheets\n---\nx\n",
        )
        .skill(
            "home/.agents/skills/office/skills/sheets",
            "sheets",
            "Below.",
        );
    session
}

/// What the tool `skills` answers a client.
fn told(client: &mut RawClient) -> String {
    let params = json!({ "name": "skills", "arguments": {} });
    let answer = client.ask(&request("skills", "tools/call", &params));
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The names that a catalog of names has.
fn names(session: &Session, text: &str) -> BTreeSet<String> {
    let all = session.json_in("home/work", "skills list");
    let names = column(&all["skills"], "name").into_iter();
    let is_in = |name: &String| {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
        words.any(|word| word == name)
    };
    names.filter(is_in).collect()
}

/// The skills that a host shows with what they are for.
fn shown_by(session: &Session, host: &str) -> BTreeSet<String> {
    let listed = session.json_in("home/work", ["catalog", "--host", host]);
    let entries = listed["entries"].as_array().unwrap().iter();
    let is_shown = |entry: &&Value| entry["how"] == "full" || entry["how"] == "shortened";
    let names = entries.filter(is_shown).map(|entry| entry["name"].as_str());
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn a_host_is_told_of_what_it_does_not_list_and_a_stranger_of_everything() {
    let session = session();
    let everything = told(&mut RawClient::connect_as(&session, "stranger"));
    assert!(!everything.contains("itself lists"), "{everything}");
    let all = names(&session, &everything);
    assert!(all.len() > 5, "{everything}");
    for (client, host) in CLIENTS {
        let shown = shown_by(&session, host);
        let mut known: BTreeSet<String> = all.intersection(&shown).cloned().collect();
        // Of what is below it the host says nothing.
        known.remove("office");
        assert!(!known.is_empty(), "{host}");
        let mut connection = RawClient::connect_as(&session, client);
        let text = told(&mut connection);
        assert_eq!(names(&session, &text), &all - &known, "{host}: {text}");
        // What is behind an entry of the catalog and listed by the host is counted too.
        let own = column(
            &session.json_in("home/work", "skills list")["skills"],
            "name",
        );
        let n_known = own
            .iter()
            .filter(|name| shown.contains(*name) && *name != "office");
        let n_known = n_known.count();
        let noun = if n_known == 1 { "skill" } else { "skills" };
        let line = format!("itself lists {n_known} other {noun} to you");
        assert!(text.contains(&line), "{host}: {text}");
        // What is not told is opened and searched as ever.
        for name in &known {
            let opened = connection.ask(&call("open", &json!({ "name": name })));
            assert_eq!(opened["result"]["isError"], false, "{host}: {opened}");
        }
        let found = connection.ask(&call("find", &json!({ "query": "of-agents" })));
        assert!(found.to_string().contains("of-agents"), "{host}: {found}");
    }
}

/// A name without what it is for is not enough.
#[test]
fn what_a_host_shows_by_name_alone_is_told() {
    let session = crate::session().without_bundled();
    let text = "Does one thing and not another, at length. ".repeat(8);
    for at in 0..24 {
        let name = format!("task-{at:02}");
        session.skill(format!("home/.claude/skills/{name}"), &name, &text);
    }
    session.dir("home/work/.git");
    let shown = shown_by(&session, "claude");
    assert!((1..24).contains(&shown.len()), "{shown:?}");
    let text = told(&mut RawClient::connect_as(&session, "claude-code"));
    let told = names(&session, &text);
    assert_eq!(told.len(), 24 - shown.len(), "{text}");
    assert!(told.is_disjoint(&shown), "{text}");
}

/// The prompts that a client is offered, page after page.
fn prompts(client: &mut RawClient) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut params = json!({});
    loop {
        let answer = client.ask(&request("prompts", "prompts/list", &params));
        names.extend(column(&answer["result"]["prompts"], "name"));
        match &answer["result"]["nextCursor"] {
            Value::Null => return names,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
}

/// A host lets people call what it has found, in its list or not, so the server offers none of it as a prompt.
#[test]
fn skills_that_a_host_has_as_commands_were_prompts_too() {
    let session = session();
    let text = "Does one thing and not another, at length. ".repeat(8);
    for at in 0..150 {
        let name = format!("task-{at:03}");
        session.skill(format!("home/.claude/skills/{name}"), &name, &text);
    }
    session.file(
        "home/.claude/skills/silent/SKILL.md",
        "---\nname: silent\ndescription: d\nuser-invocable: false\n---\nx\n",
    );
    let everything = prompts(&mut RawClient::connect_as(&session, "stranger"));
    assert!(everything.len() > 155, "{everything:?}");
    for (client, host) in CLIENTS {
        let view = session.json_in("home/work", ["skills", "list", "--host", host]);
        let mut found: BTreeSet<String> = column(&view["skills"], "name").into_iter().collect();
        // Of what is below it the host knows nothing.
        found.remove("office");
        let mut connection = RawClient::connect_as(&session, client);
        assert_eq!(prompts(&mut connection), &everything - &found, "{host}");
        // A prompt whose name is known is given all the same.
        let params = json!({ "name": "of-claude" });
        let given = connection.ask(&request("prompt", "prompts/get", &params));
        assert!(given["result"]["messages"].is_array(), "{host}: {given}");
    }
}

/// Skills that come and go where a host looks are followed.
#[test]
fn what_a_host_begins_to_list_is_told_no_more() {
    let session = session();
    let mut client = RawClient::connect_as(&session, "claude-code");
    let before = told(&mut client);
    assert!(!before.contains("late"), "{before}");
    session.skill("home/.grove/skills/late", "late", "Comes late.");
    assert!(told(&mut client).contains("late"));
    session.remove("home/.grove/skills/late");
    session.skill("home/.claude/skills/late", "late", "Comes late.");
    let after = told(&mut client);
    assert!(!after.contains("late"), "{after}");
}

/// Nothing but the catalog has names of skills in it.
#[test]
fn instructions_and_tools_name_no_skill() {
    let session = session();
    let mut client = RawClient::connect_as(&session, "claude-code");
    let tools = client.ask(&request("tools", "tools/list", &json!({})));
    assert!(!tools.to_string().contains("of-claude"), "{tools}");
}
