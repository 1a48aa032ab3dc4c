//! Whole sessions of `grove prompt` with what an agent inherits: the prompt of whoever runs it, a project's
//! instructions, the catalog, folders of its own.

use std::fs::File;

use grove_catalog::Digest;
use grove_testkit::session::{Session, USER_CONFIG, assert_text, column};
use serde_json::{Value, json};

const SKILLS: &str = "home/.agents/skills";
const HEIR: &str = "inheritProjectContext: true\n";

/// A session with an agent of the user's, whose own text is `OWN`.
fn with_agent(name: &str, lines: &str) -> Session {
    let session = crate::session().without_bundled().with_repository();
    put_agent(&session, name, lines);
    session
}

fn put_agent(session: &Session, name: &str, lines: &str) {
    session.definition(format!("home/.claude/agents/{name}.md"), lines, "OWN");
}

fn put_skill(session: &Session, folder: &str, name: &str, body: &str) {
    session.definition(format!("{folder}/{name}"), "", body);
}

/// The codes of the warnings.
fn codes(value: &Value) -> Vec<String> {
    column(&value["warnings"], "code")
}

/// The kinds of the blocks.
fn kinds(value: &Value) -> Vec<String> {
    column(&value["blocks"], "kind")
}

#[track_caller]
fn assert_prompt(value: &Value, has: &[&str], lacks: &[&str]) {
    assert_text(value["prompt"].as_str().unwrap(), has, lacks);
}

#[test]
fn the_base_prompt_stands_first_or_is_left_out_and_both_are_said() {
    let session = with_agent("after", "systemPromptMode: append\n");
    put_agent(&session, "instead", "");
    let replaced = "replace replaced prompt-base";
    session.file("project/base.md", "LEAD\n");
    for (agent, flag, text, how) in [
        ("after", "--base base.md", "LEAD\n\nOWN\n", "append first"),
        ("after", "", "OWN\n", "append absent prompt-partial"),
        ("instead", "--base base.md", "OWN\n", replaced),
        ("instead", "", "OWN\n", "replace absent"),
    ] {
        let words = format!("prompt {agent} {flag}");
        assert_eq!(session.done(&words).stdout, text, "{words}");
        let value = session.json(&words);
        let (mode, base) = (value["mode"].as_str(), value["base"].as_str());
        let mut found = vec![mode.unwrap().to_owned(), base.unwrap().to_owned()];
        found.extend(codes(&value));
        assert_eq!(found.join(" "), how, "{words}");
        let explained = session.done(&format!("{words} --explain"));
        explained.says([&format!("mode {}:", found[0])]);
    }
    let value = session.json("prompt after --base base.md");
    assert_eq!(kinds(&value), ["base", "agent"]);
    let base = &value["blocks"][0];
    assert_eq!(base["digest"], Digest::of(b"LEAD\n").to_string());
    let file = session.path("project/base.md");
    assert_eq!(base["source"], file.to_str().unwrap());
}

#[test]
fn the_base_prompt_may_come_from_standard_input_and_must_be_text() {
    let session = with_agent("after", "systemPromptMode: append\n");
    session
        .file("project/bytes", b"\xff\xfe")
        .file("project/lead", "LEAD\n");
    let mut command = session.command("project");
    command.args(["prompt", "after", "--base", "-", "--json"]);
    command.stdin(File::open(session.path("project/lead")).unwrap());
    let output = command.output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["prompt"], "LEAD\n\nOWN\n");
    assert_eq!(value["blocks"][0]["source"], Value::Null);
    for file in ["bytes", "nowhere"] {
        session.refused(["prompt", "after", "--base", file]);
    }
}

#[test]
fn a_projects_instructions_are_inherited_nearest_first_when_it_is_trusted() {
    let session = with_agent("heir", HEIR).working_in("project/sub/deep");
    put_agent(&session, "alone", "");
    session
        .file("project/AGENTS.md", "OUTER\n")
        .file("project/sub/CLAUDE.md", "MIDDLE\n")
        .file("project/sub/deep/AGENTS.md", "INNER\n")
        .file("AGENTS.md", "ABOVE THE REPOSITORY\n")
        .file("project/other/AGENTS.md", "ASIDE\n");
    let untrusted = session.json("prompt heir");
    assert_eq!(untrusted["prompt"], "OWN\n");
    assert_eq!(codes(&untrusted), ["instructions-untrusted"; 3]);
    assert_eq!(codes(&session.json("prompt alone")), [""; 0]);

    session.trust_in("project", "");
    let value = session.json("prompt heir");
    let text = value["prompt"].as_str().unwrap();
    let places = ["OWN", "INNER", "MIDDLE", "OUTER"].map(|word| text.find(word));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    assert_prompt(&value, &[], &["ABOVE", "ASIDE"]);
    let instructions = "instructions";
    assert_eq!(
        kinds(&value),
        ["agent", instructions, instructions, instructions]
    );
    let middle = &value["blocks"][2];
    let file = session.path("project/sub/CLAUDE.md");
    assert_eq!(middle["source"], file.to_str().unwrap());
    assert_eq!(middle["digest"], Digest::of(b"MIDDLE\n").to_string());
    assert_eq!(session.done("prompt alone").stdout, "OWN\n");

    session.file("project/AGENTS.md", "OUTER, CHANGED\n");
    let changed = session.json("prompt heir");
    assert_prompt(&changed, &[], &["CHANGED"]);
    assert_eq!(codes(&changed), ["instructions-untrusted"]);
    session.trust_in("project", "");
    assert_prompt(&session.json("prompt heir"), &["CHANGED"], &[]);
}

#[test]
fn of_two_files_in_a_folder_agents_md_counts_and_the_other_is_named() {
    let session = with_agent("heir", HEIR);
    session.file("project/AGENTS.md", "OPEN\n");
    session.trust_with("--follow");
    for (other, said) in [
        ("CLAUDE\n", &["instructions-second"][..]),
        ("@AGENTS.md\n", &[]),
        ("OPEN\n", &[]),
    ] {
        session.file("project/CLAUDE.md", other);
        let value = session.json("prompt heir");
        assert_prompt(&value, &["OPEN"], &["CLAUDE\n"]);
        assert_eq!(kinds(&value).len(), 2, "{other}");
        assert_eq!(codes(&value), said, "{other}");
    }
}

#[test]
fn instructions_do_not_lead_out_of_a_project() {
    let session = with_agent("heir", HEIR).working_in("project/sub/deep");
    session
        .file("secret.md", "SECRET\n")
        .link("project/AGENTS.md", "../secret.md")
        .file("project/sub/RULES.md", "RULES\n")
        .link("project/sub/AGENTS.md", "RULES.md")
        .file("project/sub/deep/AGENTS.md", b"\xff\xfe");
    session.trust_in("project", "--follow");
    let value = session.json("prompt heir");
    // A link inside the project is followed.
    assert_prompt(&value, &["RULES"], &["SECRET"]);
    assert_eq!(codes(&value), ["instructions-unread"; 2]);
}

#[test]
fn instructions_over_their_limit_are_left_out_whole() {
    let session = with_agent("heir", HEIR).working_in("project/sub");
    session
        .file(USER_CONFIG, "[limits]\ninstruction_chars = 300\n")
        .file("project/AGENTS.md", "OUTER\n")
        .file("project/sub/AGENTS.md", "x".repeat(400));
    session.trust_in("project", "");
    let value = session.json("prompt heir");
    assert_prompt(&value, &["OUTER"], &["xx"]);
    assert_eq!(codes(&value), ["instructions-budget"]);
}

#[test]
fn the_configuration_bounds_preloads_and_the_flag_goes_before_it() {
    let session = with_agent("me", "skills: big\n");
    put_skill(&session, SKILLS, "big", &"x".repeat(3_000));
    session.done("prompt me").prints(["xxx"]);
    session.file(USER_CONFIG, "[limits]\npreload_chars = 1000\n");
    let bounded = session.done("prompt me").lacks(["xxx"]);
    bounded.says(["preload-budget", "1000 of 1000"]);
    session.done("prompt me --budget 5000").prints(["xxx"]);
}

#[test]
fn named_skills_are_not_in_the_inherited_catalog_listed_or_whole() {
    let session = with_agent(
        "light",
        "skills: first\nskillInjection: light\ninheritSkills: true\n",
    );
    put_skill(&session, SKILLS, "first", "BODY");
    put_skill(&session, SKILLS, "second", "BODY");
    put_skill(&session, SKILLS, "big", &"x".repeat(3_000));
    let names = |value: &Value, at: usize, name: &str| {
        let text = value["blocks"][at]["text"].as_str().unwrap();
        text.contains(&format!("<name>{name}</name>"))
    };
    let value = session.json("prompt light");
    assert_eq!(kinds(&value), ["agent", "listing", "catalog"]);
    assert!(names(&value, 1, "first") && !names(&value, 1, "second"));
    assert!(!names(&value, 2, "first") && names(&value, 2, "second"));
    assert_eq!(value["listed"], json!(["first@user:.agents/skills"]));

    // What did not fit can still be found.
    put_agent(
        &session,
        "full",
        "skills: first, big\ninheritSkills: true\n",
    );
    let value = session.json("prompt full --budget 1000");
    assert!(names(&value, 2, "big") && !names(&value, 2, "first"));
}

#[test]
fn an_agents_own_skill_folders_come_first_and_those_of_a_project_are_not_looked_in() {
    let session = with_agent(
        "me",
        "skills: same, other\nskillPath: ./mine, ~/more, ./nowhere\n",
    );
    put_skill(&session, SKILLS, "same", "USUAL");
    put_skill(
        &session,
        "home/.claude/agents/mine",
        "same",
        "FROM-THE-AGENT",
    );
    put_skill(&session, "home/more", "other", "FROM-HOME");
    let value = session.json("prompt me");
    assert_prompt(&value, &["FROM-THE-AGENT", "FROM-HOME"], &["USUAL"]);
    assert_eq!(codes(&value), ["skill-path-unused"]);

    put_skill(&session, "project/.pi/agents/mine", "planted", "PLANTED");
    let lines = "skills: planted\nskillPath: ./mine\n";
    session.definition("project/.pi/agents/it.md", lines, "IT");
    session.trust();
    let value = session.json("prompt it");
    assert_eq!(value["prompt"], "IT\n");
    assert_eq!(codes(&value), ["preload-unknown", "skill-path-unused"]);
}

#[test]
fn an_agents_own_package_is_looked_in_first_for_its_skills() {
    let session = with_agent("mine", "skills: same\n");
    put_skill(&session, SKILLS, "same", "USUAL");
    put_skill(&session, SKILLS, "usual", "ONLY-USUAL");
    for name in ["first", "second"] {
        let folder = format!("home/.pi/agent/npm/node_modules/{name}");
        let gives = json!({"agents": ["agents"], "skills": ["skills"]});
        let manifest = json!({"name": name, "grove": gives}).to_string();
        session.file(format!("{folder}/package.json"), manifest);
        let (skills, body) = (format!("{folder}/skills"), format!("OF-{name}"));
        put_skill(&session, &skills, "same", &body);
        let agent = format!("{folder}/agents/of-{name}.md");
        session.definition(agent, "skills: same, usual\n", "OWN");
    }
    for name in ["first", "second"] {
        let value = session.json(&format!("prompt of-{name}"));
        // Its own, then the usual rank.
        assert_prompt(&value, &[&format!("OF-{name}"), "ONLY-USUAL"], &["\nUSUAL"]);
        assert_eq!(codes(&value), [""; 0]);
    }
    // Somebody else's package is ranked as usual.
    session.done("prompt mine").prints(["\nUSUAL"]);
}
