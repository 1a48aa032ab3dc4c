//! Every restricting key with every value that it cannot have, in every format, as YAML and where it has to be
//! repaired, on every surface: nobody is given more than the strictest reading.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use grove_testkit::session::{Session, assert_text, rows};
use serde_json::{Value, json};

use super::malformed_values::{MALFORMED, STARTS, ValueShape, in_toml};
use super::session;
use crate::exported::{HOSTS, export};
use crate::mcp_hostile::raw_client::{RawClient, call, request};

/// Keys of agents that restrict, and whether a list of names is what they take.
const KEYS: [(&str, bool); 18] = [
    ("tools", true),
    ("inheritProjectContext", false),
    ("inheritSkills", false),
    ("extensions", true),
    ("maxSubagentDepth", false),
    ("maxExecutionTimeMs", false),
    ("timeoutMs", false),
    ("toolTimeoutMs", false),
    ("maxTokens", false),
    ("turnBudget", false),
    ("toolBudget", false),
    ("acceptance", false),
    ("disallowedTools", true),
    ("deny-tools", true),
    ("allowed-tools", true),
    ("permission", true),
    ("spawning", false),
    ("readonly", false),
];

/// The formats of agents: the first letter of their names, where they lie, and how they are written.
const FORMATS: [(&str, &str); 7] = [
    ("n", "home/.grove/agents"),
    ("c", "home/.claude/agents"),
    ("p", "home/.copilot/agents"),
    ("g", "home/.gemini/agents"),
    ("o", "home/.config/opencode/agents"),
    ("x", "home/.codex/agents"),
    ("j", "home/.config/opencode"),
];

/// What must be seen of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// It is used nowhere.
    Unused,
    /// Its names are read, so that it is used with no more than those, or not at all.
    Held,
}

fn expected(
    key: &str,
    takes_names: bool,
    format: &str,
    value: &str,
    shape: ValueShape,
) -> Option<Expected> {
    let is_map = value.starts_with('{');
    match key {
        // A contract may have keys of other programs.
        "acceptance" if is_map => None,
        // Actions by pattern, and everything switched on: no restriction at all.
        "permission"
            if matches!(
                value,
                r#"{"*": true}"# | r#"{"a": {"b": true}}"# | r#"{"a": true}"#
            ) =>
        {
            None
        }
        "tools" if matches!(format, "o" | "j" | "x") && is_map => None,
        _ if takes_names && shape != ValueShape::Nothing => Some(Expected::Held),
        _ => Some(Expected::Unused),
    }
}

/// Writes the cases, one of `of` of the values of each key, and gives the name of each with what is expected of it.
fn written(session: &Session, of: usize) -> BTreeMap<String, (Expected, String)> {
    written_of(session, of, &KEYS)
}

/// The same for some of the keys.
fn written_of(
    session: &Session,
    of: usize,
    keys: &[(&str, bool)],
) -> BTreeMap<String, (Expected, String)> {
    let mut cases = BTreeMap::new();
    let mut members = serde_json::Map::new();
    let mut turn = 0;
    for (format, folder) in FORMATS {
        for (key, takes_names) in keys.iter().copied() {
            turn += 1;
            for (at, (value, shape)) in MALFORMED.into_iter().enumerate() {
                let Some(expected) = expected(key, takes_names, format, value, shape) else {
                    continue;
                };
                // Of those that are used some are enough: each is a file in every export.
                let of = of * if expected == Expected::Held { 16 } else { 1 };
                if (at + turn) % of != 0 {
                    continue;
                }
                for (repaired, start) in STARTS.iter().enumerate() {
                    let name = format!("{format}-{}-{at}-{repaired}", key.to_lowercase());
                    let start = start.replace("name: a", &format!("name: {name}"));
                    let case = match format {
                        "x" | "j" if repaired > 0 => continue,
                        "x" => {
                            let Some(value) = in_toml(value) else {
                                continue;
                            };
                            let text = format!(
                                "name = '{name}'\ndescription = 'd'\ndeveloper_instructions = 'TOLD'\n{key} = {value}\n"
                            );
                            session.file(format!("{folder}/{name}.toml"), &text);
                            text
                        }
                        "j" => {
                            let value: Value = serde_json::from_str(value).unwrap();
                            members.insert(
                                name.clone(),
                                json!({ "description": "d", "prompt": "TOLD", key: value }),
                            );
                            format!("{key}: {value}")
                        }
                        _ => {
                            let text = format!("---\n{start}{key}: {value}\n---\nTOLD\n");
                            session.file(format!("{folder}/{name}.md"), &text);
                            text
                        }
                    };
                    cases.insert(name, (expected, case));
                }
            }
        }
    }
    // One file holds no more than some hundreds.
    for (file, wanted) in [("opencode.json", true), ("opencode.jsonc", false)] {
        let has = |name: &str| (name < "j-m") == wanted;
        let mut members = members.clone();
        members.retain(|name, _| has(name));
        let text = json!({ "agent": members }).to_string();
        session.file(format!("{}/{file}", FORMATS[6].1), text);
    }
    cases
}

#[test]
fn no_agent_has_more_than_the_strictest_reading_on_any_surface() {
    let session = session();
    let cases = written(&session, 1);
    assert!(cases.len() > 5_000, "{}", cases.len());
    let list = session.json("agents list");
    let states: BTreeMap<String, String> = rows(&list["agents"], ["name", "state"])
        .into_iter()
        .map(|[name, state]| (name, state))
        .collect();
    let mut wrong = String::new();
    for (name, (expected, case)) in &cases {
        let state = states.get(name).map_or("missing", String::as_str);
        let is_right = match expected {
            Expected::Unused => state == "invalid",
            Expected::Held => matches!(state, "ok" | "invalid"),
        };
        if !is_right {
            let _ = writeln!(wrong, "{name} is {state}: {case:?}");
        }
    }
    assert_eq!(wrong, "");
    for host in HOSTS {
        let exported = export(&session, host, "");
        let files = exported.states();
        assert!(!files.is_empty(), "{host}: {}", exported.value);
        let is_unused = |path: &&String| {
            let stem = path
                .rsplit('/')
                .next()
                .and_then(|file| file.split('.').next());
            let case = stem.and_then(|stem| cases.get(stem));
            case.is_none_or(|(expected, _)| *expected == Expected::Unused)
        };
        let files = files.keys().filter(|path| !path.ends_with(".grove-export"));
        let loose: Vec<&String> = files.filter(is_unused).collect();
        assert_eq!(loose, Vec::<&String>::new(), "{host}");
    }
    // A list that was read is a list there too.
    let is_list = |name: &str| {
        name.contains("tools-")
            && !name.contains("deny-")
            && !name.contains("disallowed")
            && !name.starts_with("c-")
    };
    let lists = cases.iter().filter(|(name, _)| is_list(name));
    let mut n_lists = 0;
    for (name, (_, case)) in lists.filter(|(name, _)| states[*name] == "ok") {
        n_lists += 1;
        let copy = session.read(format!("project/.claude/agents/{name}.md"));
        let is_held = copy.contains("\ntools:") || copy.contains("\ndisallowedTools:");
        assert!(is_held, "{case:?} became {copy:?}");
    }
    assert!(n_lists > 20, "{n_lists}");
}

#[test]
fn no_agent_that_nobody_can_hold_is_prompted_or_run() {
    let session = session();
    // Every key in every format, each with other values, so that a look stays short.
    let cases = written(&session, 4);
    let unused = cases
        .iter()
        .filter(|(_, (expected, _))| *expected == Expected::Unused);
    let mut seen = BTreeMap::new();
    for (name, _) in unused {
        let key = name.rsplitn(3, '-').last().unwrap();
        let n_seen: &mut usize = seen.entry(key.to_owned()).or_default();
        *n_seen += 1;
        if *n_seen == 1 {
            let refused = session.refused(["prompt", name]);
            assert_text(&refused.stderr, &["invalid"], &["TOLD"]);
        }
        if *n_seen == 1 && key.starts_with("n-") {
            let refused = session.grove(["run", name, "task"]).fails(1);
            assert_text(&refused.stderr, &["invalid"], &[]);
        }
    }
    assert_eq!(seen.len(), KEYS.len() * FORMATS.len(), "{seen:?}");
}

/// Whether every case is prompted, not one for each key and format.
const ALL_PROMPTS: &str = "GROVE_TEST_PROMPTS";

#[test]
fn every_case_of_every_key_is_refused_a_prompt() {
    let is_all = std::env::var_os(ALL_PROMPTS).is_some();
    let mut n_prompts = 0;
    for key in KEYS.iter().take(if is_all { KEYS.len() } else { 1 }) {
        let session = session();
        let cases = written_of(
            &session,
            if is_all { 1 } else { 8 },
            std::slice::from_ref(key),
        );
        let unused = cases
            .into_iter()
            .filter(|(_, (expected, _))| *expected == Expected::Unused);
        for (name, _) in unused {
            n_prompts += 1;
            let refused = session.refused(["prompt", &name]);
            assert_text(&refused.stderr, &["invalid"], &["TOLD"]);
        }
    }
    println!("{n_prompts} agents were refused a prompt");
    assert!(n_prompts > 0);
}

/// The names of the skills of a table, each with its case, and one that everybody is told of.
fn skills(session: &Session, key: &str, takes_names: bool) -> Vec<String> {
    let mut names = Vec::new();
    for (at, (value, shape)) in MALFORMED.into_iter().enumerate() {
        if takes_names && shape != ValueShape::Nothing {
            continue;
        }
        for (repaired, start) in STARTS.iter().enumerate() {
            let name = format!("slip-{at}-{repaired}");
            let start = start.replace("name: a", &format!("name: {name}"));
            let text = format!("---\n{start}{key}: {value}\n---\nSLIP\n");
            session.file(format!("home/.agents/skills/{name}/SKILL.md"), text);
            names.push(name);
        }
    }
    session.skill("home/.agents/skills/open", "open", "Told to everybody.");
    session.definition("home/.grove/agents/all.md", "inheritSkills: true\n", "x");
    session.dir("home/work");
    names
}

/// Everything that a client of MCP is told without naming a skill.
fn told_by_mcp(client: &mut RawClient) -> String {
    let lists = ["prompts/list", "resources/list", "tools/list"];
    let mut told: String = lists
        .into_iter()
        .map(|method| client.ask(&request(method, method, &json!({}))).to_string())
        .collect();
    for arguments in [json!({}), json!({ "query": "slip" })] {
        let params = json!({ "name": "skills", "arguments": arguments });
        told += &client
            .ask(&request("skills", "tools/call", &params))
            .to_string();
    }
    told
}

#[test]
fn no_skill_that_is_kept_from_models_by_a_slip_is_told_on_any_surface() {
    let session = session();
    let names = skills(&session, "disable-model-invocation", false);
    assert_eq!(names.len(), MALFORMED.len() * 2);
    let list = session.json("skills list");
    let listed = list["skills"].as_array().unwrap();
    assert_eq!(listed.len(), names.len() + 1);
    for skill in listed {
        assert_eq!(skill["modelInvocable"], skill["name"] == "open", "{skill}");
    }
    for words in [
        "catalog",
        "catalog --json",
        "skills search slip",
        "skills search slip --json",
        "prompt all",
        "prompt all --json",
    ] {
        // A search that finds nothing says so by its code.
        let code = i32::from(words.starts_with("skills search"));
        let shown = session.grove(words).fails(code).stdout;
        assert_text(&shown, &[], &["slip-", "SLIP"]);
    }
    let mut client = RawClient::connect(&session);
    let told = told_by_mcp(&mut client);
    // People may still call it, by the prompt of its name.
    let of_people: usize = names
        .iter()
        .map(|name| told.matches(&format!(r#""name":"{name}""#)).count())
        .sum();
    assert_eq!(
        of_people,
        told.matches("slip-").count() - told.matches("/slip-").count(),
        "{told}"
    );
    for name in &names {
        let answer = client.ask(&call(name.as_str(), &json!({ "name": name })));
        assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
        assert!(!answer.to_string().contains("SLIP"), "{name}: {answer}");
    }
    // An agent may name it; its copy stays kept from models, and says so in everybody's words.
    session.definition(
        "home/.grove/agents/all.md",
        &format!("skills: {}\n", names.join(", ")),
        "x",
    );
    for host in HOSTS {
        for copy in copies(&session, host) {
            assert_text(&copy, &["\ndisable-model-invocation: true\n"], &[]);
        }
    }
}

#[test]
fn no_skill_that_is_kept_from_people_by_a_slip_is_theirs_on_any_surface() {
    let session = session();
    let names = skills(&session, "user-invocable", false);
    let list = session.json("skills list");
    for skill in list["skills"].as_array().unwrap() {
        assert_eq!(skill["userInvocable"], skill["name"] == "open", "{skill}");
        assert_eq!(skill["modelInvocable"], true, "{skill}");
    }
    let mut client = RawClient::connect(&session);
    let prompts = client.ask(&request("prompts", "prompts/list", &json!({})));
    assert_text(&prompts.to_string(), &[r#""open""#], &["slip-"]);
    for name in &names {
        let asked = request(name.as_str(), "prompts/get", &json!({ "name": name }));
        let answer = client.ask(&asked);
        assert!(answer["error"].is_object(), "{name}: {answer}");
        assert!(!answer.to_string().contains("SLIP"), "{name}: {answer}");
    }
    session.refused("skills activate /slip-0-0");
    session.done("skills activate slip-0-0").prints(["SLIP"]);
    let every = format!("skills: {}\n", names.join(", "));
    session.definition("home/.grove/agents/all.md", &every, "x");
    for host in HOSTS {
        for copy in copies(&session, host) {
            assert_text(&copy, &["\nuser-invocable: false\n"], &[]);
        }
    }
}

#[test]
fn no_skill_with_tools_that_nobody_can_read_brings_any() {
    let session = session();
    let names = skills(&session, "allowed-tools", true);
    let every = format!("skills: {}\n", names.join(", "));
    session.definition("home/.grove/agents/all.md", &every, "x");
    for name in [&names[0], &names[1], &names[names.len() - 1]] {
        let shown = session.json(["skills", "show", name]);
        let tools = &shown["skill"]["fields"]["allowedTools"];
        assert!(tools.is_null() || tools == &json!([]), "{name}: {shown}");
    }
    for host in HOSTS {
        for copy in copies(&session, host) {
            let tools = copy.lines().find(|line| line.starts_with("allowed-tools"));
            let has_none =
                tools.is_none_or(|line| matches!(line, "allowed-tools: []" | "allowed-tools:"));
            assert!(has_none, "{host}: {copy}");
        }
    }
}

#[test]
fn no_skill_whose_requirements_nobody_can_read_is_used_on_any_surface() {
    let session = session();
    let mut n_skills = 0;
    for (at, (value, shape)) in MALFORMED.into_iter().enumerate() {
        for (repaired, start) in STARTS.iter().enumerate() {
            for key in ["bins", "anyBins", "env", "config", "os"] {
                // Names are what they take, and one alone is a list of it.
                if matches!(shape, ValueShape::Text | ValueShape::Texts) {
                    continue;
                }
                let name = format!("slip-{}-{at}-{repaired}", key.to_lowercase());
                let start = start.replace("name: a", &format!("name: {name}"));
                let needs = match key {
                    "os" => format!("{{\"os\": {value}}}"),
                    _ => format!("{{\"requires\": {{\"{key}\": {value}}}}}"),
                };
                let text = format!("---\n{start}metadata: {{\"openclaw\": {needs}}}\n---\nSLIP\n");
                session.file(format!("home/.agents/skills/{name}/SKILL.md"), text);
                n_skills += 1;
            }
        }
    }
    session.skill("home/.agents/skills/open", "open", "Told to everybody.");
    session.definition("home/.grove/agents/all.md", "inheritSkills: true\n", "x");
    session.dir("home/work");
    let list = session.json("skills list");
    let states = rows(&list["skills"], ["name", "state"]);
    assert_eq!(states.len(), n_skills + 1);
    for [name, state] in states {
        let expected = if name == "open" { "ok" } else { "ineligible" };
        assert_eq!(state, expected, "{name}");
    }
    for words in ["catalog", "prompt all"] {
        assert_text(&session.done(words).stdout, &["open"], &["slip-"]);
    }
    let told = told_by_mcp(&mut RawClient::connect(&session));
    assert_text(&told, &["open"], &["slip-"]);
}

/// The skills that an export for a host has, as they are written there.
fn copies(session: &Session, host: &str) -> Vec<String> {
    let exported = export(session, host, "");
    let files = exported.states().into_keys();
    let copies = files.filter(|path| path.ends_with("SKILL.md"));
    let copies = copies.map(|path| session.read(std::path::Path::new("project").join(path)));
    let copies: Vec<String> = copies.collect();
    assert!(!copies.is_empty(), "{host}: {}", exported.value);
    copies
}
