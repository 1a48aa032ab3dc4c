//! What a host's model reads of agents by the tool `subagent`, and what it can change in them.

use grove_testkit::session::Session;
use serde_json::{Value, json};

use crate::mcp_hostile::raw_client::{RawClient, request};

/// As many agents as a collection has.
const AGENTS: usize = 166;
/// The bytes of a list where nothing else is set.
const BYTES: usize = 16_000;
const TEAMS: [&str; 4] = ["build", "review", "research", "design"];

fn many() -> Session {
    let session = crate::session().without_bundled();
    session.dir("home/work");
    for n in 0..AGENTS {
        let team = TEAMS[n % TEAMS.len()];
        let path = format!("home/.grove/agents/{team}/{team}-{n:03}.md");
        let about = format!("Works on {team} task {n}, carefully, ").repeat(8);
        session.file(
            &path,
            format!("---\nname: {team}-{n:03}\ndescription: {about}\n---\nYou work.\n"),
        );
    }
    session.file(
        "home/.grove/agents/painter.md",
        "---\nname: painter\ndescription: Paints watercolours of ships.\n---\nYou paint.\n",
    );
    session
}

/// The text of the tool's answer.
fn told(client: &mut RawClient, arguments: &Value) -> String {
    let params = json!({ "name": "subagent", "arguments": arguments });
    let answer = client.ask(&request("subagent", "tools/call", &params));
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn many_agents_are_listed_within_the_budget_and_each_is_reached() {
    let session = many();
    let mut client = RawClient::connect(&session);
    let list = told(&mut client, &json!({ "action": "list", "what": "agents" }));
    assert!(list.len() <= BYTES + 200, "{} bytes: {list}", list.len());
    assert!(
        list.contains("175 agents"),
        "with those that come with Grove: {list}"
    );
    for n in 0..AGENTS {
        let team = TEAMS[n % TEAMS.len()];
        let name = format!("{team}-{n:03}");
        assert!(list.contains(&name), "{name}: {list}");
    }
    let found = told(
        &mut client,
        &json!({ "action": "list", "task": "paint a watercolour of a ship" }),
    );
    assert!(found.contains("- painter: Paints"), "{found}");
    assert!(!found.contains("build-000"), "{found}");
    // A smaller budget closes groups, and a group can be opened.
    session.file(
        grove_testkit::session::USER_CONFIG,
        "[limits]\nagent_list_bytes = 2000\n",
    );
    let mut client = RawClient::connect(&session);
    let list = told(&mut client, &json!({ "action": "list", "what": "agents" }));
    assert!(list.len() <= 2_200, "{} bytes: {list}", list.len());
    let group = list
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once("/:"))
        .map(|(name, _)| format!("{name}/"))
        .next();
    let group = group.unwrap_or_else(|| panic!("no group in {list}"));
    let inside = told(&mut client, &json!({ "action": "list", "what": group }));
    assert!(
        inside.len() <= 2_200 && inside.contains("agents"),
        "{inside}"
    );
    let unknown = told(
        &mut client,
        &json!({ "action": "list", "what": "nowhere/" }),
    );
    assert!(unknown.contains("there is no group of agents"), "{unknown}");
}

#[test]
fn a_package_that_is_false_or_nothing_is_removed() {
    for package in [json!(false), Value::Null, json!(""), json!("false")] {
        let session = crate::session().without_bundled();
        session.dir("home/work");
        session.file(
            "home/.grove/agents/team.painter.md",
            "---\nname: painter\npackage: team\ndescription: Paints.\n---\nYou paint.\n",
        );
        let mut client = RawClient::connect(&session);
        let update = json!({ "action": "update", "agent": "team.painter", "config": { "package": package } });
        let said = told(&mut client, &update);
        let text = session.read("home/.grove/agents/painter.md");
        assert!(!text.contains("package"), "{package}: {said}: {text}");
        let get = told(&mut client, &json!({ "action": "get", "agent": "painter" }));
        assert!(get.contains("Paints."), "{package}: {get}");
    }
}

#[test]
fn agents_with_one_alias_are_said_and_the_bundled_ones_can_ask() {
    let session = crate::session();
    for (name, aliases) in [("one", "helper"), ("two", "helper"), ("three", "one")] {
        let fields = format!("aliases: {aliases}\n");
        session.definition(format!("home/.grove/agents/{name}.md"), &fields, "x");
    }
    let list = session.json("agents list");
    let said = |name: &str| -> Vec<String> {
        let agents = list["agents"].as_array().unwrap().iter();
        let agent = agents.clone().find(|agent| agent["name"] == name).unwrap();
        let findings = agent["diagnostics"].as_array().into_iter().flatten();
        let of_alias = findings.filter(|finding| finding["code"] == "agent-alias");
        let message = |finding: &Value| finding["message"].as_str().unwrap().to_owned();
        of_alias.map(message).collect()
    };
    assert_eq!(said("one"), Vec::<String>::new());
    assert_eq!(
        said("two"),
        ["`one` has the alias `helper` too and is used for it"]
    );
    assert_eq!(
        said("three"),
        ["the alias `one` is the name of another agent, which is used"]
    );
    for name in ["worker", "delegate"] {
        let tools = &session.json(["agents", "show", name])["fields"]["tools"];
        assert!(
            tools.to_string().contains("contact_supervisor"),
            "{name}: {tools}"
        );
    }
}

#[test]
fn a_package_json_that_is_not_json_is_said_to_be_that() {
    for text in ["{\"dependencies\": {\"a\": 1},", "name = 'x'", "{\"pi\": {"] {
        let session = crate::session().with_repository();
        session.file("project/package.json", text);
        session.file(
            "project/node_modules/a/package.json",
            "{\"name\": \"a\", \"grove\": {\"skills\": [\"skills\"]}}",
        );
        session.definition("project/node_modules/a/skills/brought", "", "Brought.");
        session.trust();
        let all = session.json("doctor").to_string();
        assert!(all.contains("the manifest is not JSON"), "{text}: {all}");
        let skills = session.json("skills list").to_string();
        assert!(!skills.contains("brought"), "{text}: {skills}");
    }
}
