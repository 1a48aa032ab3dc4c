//! What is said of files and settings of agents that cannot be used as they are written.

use grove_testkit::needs;
use grove_testkit::session::{Session, USER_CONFIG, column, rows};
use grove_testkit::shared;
use insta::assert_snapshot;
use serde_json::{Value, json};

const SETTINGS: &str = "home/.pi/agent/settings.json";
const ME: &str = "home/.claude/agents/me.md";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

/// Code, severity, file name and line of each finding.
fn findings(list: &Value) -> Vec<String> {
    let all = rows(list, ["code", "severity", "file", "line"]).into_iter();
    let mut all: Vec<_> = all
        .map(|[code, severity, file, line]| {
            let name = file.rsplit('/').next().unwrap_or_default();
            format!("{code} {severity} {name}:{line}")
        })
        .collect();
    all.sort();
    all
}

/// The names of all agents that did not come with Grove.
fn names(listed: &Value) -> Vec<String> {
    let agents = rows(&listed["agents"], ["name", "source"]).into_iter();
    let others = agents.filter(|[_, source]| source != "bundled");
    let mut names: Vec<_> = others.map(|[name, _]| name).collect();
    names.sort_unstable();
    names
}

/// Pi's settings with these overrides of the agent `me`.
fn put_overrides(session: &Session, overrides: &str) {
    let settings = format!("{{\"subagents\":{{\"agentOverrides\":{{\"me\":{overrides}}}}}}}");
    session.file(SETTINGS, settings);
}

#[test]
fn a_file_among_agents_that_is_none_is_never_dropped_without_a_word() {
    for folder in ["home/.grove/agents", "home/.claude/agents"] {
        let session = session();
        for (name, text) in [
            ("README.md", "# Agents\n\nOurs.\n"),
            ("blank.md", "\n---\nname: blank\ndescription: d\n---\nB\n"),
            ("dashes.md", "----\nname: dashes\ndescription: d\n----\nB\n"),
            ("empty.md", ""),
            ("open.md", "name: open\ndescription: d\n---\nB\n"),
            ("unclosed.md", "---\nname: unclosed\ndescription: hello\nB"),
        ] {
            session.file(format!("{folder}/{name}"), text);
        }
        session.definition(format!("{folder}/me.md"), "", "OWN-BODY");
        let listed = session.json("agents list");
        assert_eq!(names(&listed), ["me"]);
        assert_eq!(
            findings(&listed["diagnostics"]),
            [
                "agent-note info README.md:",
                "empty-file warning empty.md:1",
                "frontmatter-misplaced warning blank.md:2",
                "frontmatter-misplaced warning dashes.md:1",
                "frontmatter-misplaced warning open.md:1",
                "frontmatter-unclosed warning unclosed.md:1",
            ],
            "{folder}"
        );
        let told = session.grove("agents list").ok();
        told.says(["taken for notes: ~/"]);
        let needed = "agents: 5 findings need attention: run `grove agents list`";
        session.grove("doctor").ok().prints([needed]);
    }
}

#[test]
fn notes_beside_agents_are_no_reason_to_complain() {
    needs![RealCollections];
    let session = session();
    let real = shared::real_corpus().unwrap().join("anthropics");
    let mut notes = shared::files_below(&real).unwrap();
    notes.retain(|path| path.parent().unwrap().ends_with("skill-creator/agents"));
    assert!(notes.len() >= 3, "the real notes are not there");
    for (at, path) in notes.iter().enumerate() {
        let name = path.file_name().unwrap().display();
        let text = std::fs::read(path).unwrap();
        session.file(format!("home/.claude/agents/{at}-{name}"), text);
    }
    let listed = session.json("agents list");
    let said = rows(&listed["diagnostics"], ["code", "severity"]);
    assert_eq!(said, vec![["agent-note", "info"]; notes.len()]);
    session
        .grove("doctor")
        .ok()
        .prints(["nothing needs attention"]);
}

#[test]
fn notes_in_the_folder_that_hosts_share_are_not_mentioned() {
    let session = session();
    session
        .file("home/.agents/README.md", "# Ours\n")
        .file("home/.agents/open.md", "---\nname: x\n")
        .definition("home/.agents/me.md", "", "OWN-BODY");
    let listed = session.json("agents list");
    assert_eq!(names(&listed), ["me"]);
    assert_eq!(listed["diagnostics"], json!([]));
}

#[test]
fn an_override_that_is_not_used_is_said_wherever_its_agent_is_asked_for() {
    let session = session();
    session
        .definition(ME, "", "OWN-BODY")
        .definition("home/.claude/agents/you.md", "", "OWN-BODY");
    put_overrides(
        &session,
        "{\n\"skills\":\"protocol\",\n\"tools\":3,\n\"skillInjection\":\"weird\"}",
    );
    let expected = [2, 3, 4].map(|line| format!("override-value warning settings.json:{line}"));
    assert_eq!(findings(&session.json("prompt me")["warnings"]), expected);
    let shown = session.json("agents show me");
    assert_eq!(findings(&shown["agent"]["diagnostics"]), expected);
    let other = session.json("prompt you");
    assert_eq!(other["warnings"], json!([]), "it is not about this one");
    assert_snapshot!(session.transcript(["prompt me", "agents show me"]), @r"
        $ grove prompt me
        OWN-BODY
        [stderr]
        warning[override-value]: agent `me`: `subagents.agentOverrides.me.skills` must be a list of texts or `false`; it was not used
          --> [T]/home/.pi/agent/settings.json:2:1
          = help: correct the value
        warning[override-value]: agent `me`: `subagents.agentOverrides.me.tools` must be a list of texts or `false`; the strictest reading is used
          --> [T]/home/.pi/agent/settings.json:3:1
          = help: correct the value
        warning[override-value]: agent `me`: `subagents.agentOverrides.me.skillInjection` must be `full`, `light` or `false`; it was not used
          --> [T]/home/.pi/agent/settings.json:4:1
          = help: correct the value
        grove: [COST]
        [exit code 0]
        $ grove agents show me
        name         me
        state        ok
        description  Does me.
        location     ~/.claude/agents/me.md
        root         user:.claude/agents
        digest       [DIGEST]
        tools        none (set in ~/.pi/agent/settings.json:3)
        systemPromptMode replace
        skillInjection full

        warning[override-value]: agent `me`: `subagents.agentOverrides.me.skills` must be a list of texts or `false`; it was not used
          --> [T]/home/.pi/agent/settings.json:2:1
          = help: correct the value

        warning[override-value]: agent `me`: `subagents.agentOverrides.me.tools` must be a list of texts or `false`; the strictest reading is used
          --> [T]/home/.pi/agent/settings.json:3:1
          = help: correct the value

        warning[override-value]: agent `me`: `subagents.agentOverrides.me.skillInjection` must be `full`, `light` or `false`; it was not used
          --> [T]/home/.pi/agent/settings.json:4:1
          = help: correct the value
        [exit code 0]
    ");
    let needed = "agents: 3 findings need attention: run `grove agents list`";
    let doctor = session.grove("doctor").ok().prints([needed]);
    doctor.lacks(["nothing needs attention"]);
}

#[test]
fn an_override_in_the_configuration_that_is_not_used_is_said_with_its_agent() {
    let session = session();
    session.definition(ME, "", "OWN-BODY").file(
        USER_CONFIG,
        "[agents.overrides.me]\ntools = 3\n[agents.overrides.you]\ntools = 3\n",
    );
    let warnings = session.json("prompt me")["warnings"].clone();
    assert_eq!(findings(&warnings), ["config-value warning config.toml:2"]);
}

#[test]
fn settings_that_cannot_be_read_are_said_with_every_agent() {
    let session = session();
    session.definition(ME, "", "OWN-BODY");
    for text in ["{", "[]"] {
        session.file(SETTINGS, text);
        let said = findings(&session.json("prompt me")["warnings"]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("settings.json"), "{said:?}");
        let doctor = session.json("doctor");
        let others = &doctor["otherFindings"];
        let counts = [
            &others["agents"],
            &others["packages"],
            &others["chains"],
            &doctor["findings"],
        ];
        let sum: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(sum, 1, "one file is one finding: {doctor}");
        session
            .grove("doctor")
            .ok()
            .lacks(["nothing needs attention"]);
    }
}

#[test]
fn a_doctor_names_the_agents_and_chains_whose_files_have_findings() {
    let session = session();
    session
        .definition(ME, "skillInjection: weird\n", "OWN-BODY")
        .file("home/.pi/agent/agents/c.chain.md", "---\nname: c\n---\n");
    let counts = session.json("doctor")["otherFindings"].clone();
    assert_eq!(counts["agents"], 1);
    let chains = session.json("chains list");
    let chains = chains["chains"].as_array().unwrap();
    assert_eq!(chains.len(), 1, "the chain is where chains are");
    // Neither a description nor a step.
    assert_eq!(counts["chains"], 2);
    session.grove("doctor").ok().prints([
        "`grove agents show` for me@user:",
        "chains: 2 findings need attention: run `grove chains check`",
    ]);
}

#[test]
fn no_tools_are_told_from_the_usual_ones() {
    for (lines, overrides, field, expected) in [
        ("", "{}", "tools", None),
        ("tools: []\n", "{}", "tools", Some(json!([]))),
        ("tools: \"\"\n", "{}", "tools", Some(json!([]))),
        ("tools: read\n", "{}", "tools", Some(json!(["read"]))),
        ("tools: read\n", "{\"tools\": false}", "tools", None),
        ("tools: read\n", "{\"tools\": []}", "tools", Some(json!([]))),
        ("", "{}", "extensions", None),
        ("extensions:\n", "{}", "extensions", Some(json!([]))),
        ("extensions: []\n", "{}", "extensions", Some(json!([]))),
        ("extensions: \"\"\n", "{}", "extensions", Some(json!([]))),
        ("extensions: a\n", "{}", "extensions", Some(json!(["a"]))),
    ] {
        let session = session();
        session.definition("home/.grove/agents/me.md", lines, "OWN-BODY");
        put_overrides(&session, overrides);
        let shown = session.json("agents show me");
        let case = format!("{lines} {overrides}");
        assert_eq!(shown["fields"].get(field), expected.as_ref(), "{case}");
        let text = session.grove("agents show me").ok().stdout;
        let row = text.lines().find(|line| line.starts_with(field));
        let is_none = row.is_some_and(|row| row.split_whitespace().nth(1) == Some("none"));
        assert_eq!(is_none, expected == Some(json!([])), "{case}: {row:?}");
        if overrides.contains("false") {
            assert!(row.unwrap().contains("as usual"), "{row:?}");
        }
    }
}

#[test]
fn a_skill_beyond_the_limit_is_there_for_prompts_as_for_activation() {
    let session = session();
    session
        .file(USER_CONFIG, "[limits]\ncandidates_per_root = 1\n")
        .definition("home/.agents/skills/one", "", "BODY")
        .definition("home/.agents/skills/two", "", "BODY")
        .definition(ME, "skills: two\n", "OWN-BODY");
    for (command, code) in [("skills activate two", 1), ("prompt me", 0)] {
        session.grove(command).fails(code).says([
            "`two` is there and was not read: its root has more skills than are read",
            "look with --all, or raise `limits.candidates_per_root`",
        ]);
    }
    // The advice helps.
    session.grove("prompt me --all").ok().prints(["BODY"]);
}

#[test]
fn a_warning_about_a_skill_names_the_file_that_names_the_skill() {
    let session = session();
    session.definition("home/.grove/agents/me.md", "skills: nope\n", "OWN-BODY");
    for (overrides, file) in [
        ("{\"systemPrompt\": \"Other.\"}", "/me.md"),
        (
            "{\"systemPrompt\": \"Other.\", \"skills\": [\"nope\"]}",
            "/settings.json",
        ),
        ("{\"skills\": [\"nope\"]}", "/settings.json"),
    ] {
        put_overrides(&session, overrides);
        let files = column(&session.json("prompt me")["warnings"], "file");
        assert_eq!(files.len(), 1, "{overrides}");
        assert!(files[0].ends_with(file), "{overrides}: {files:?}");
    }
}

#[test]
fn packages_of_a_project_are_not_the_users() {
    let session = session();
    for (folder, name) in [
        ("project/.pi/npm/node_modules/theirs", "theirs"),
        ("home/.pi/agent/npm/node_modules/mine", "mine"),
        ("project", "root"),
    ] {
        let manifest =
            format!("{{\"name\":\"{name}\",\"pi-subagents\":{{\"agents\":[\"./given\"]}}}}");
        session
            .file(format!("{folder}/package.json"), manifest)
            .definition(format!("{folder}/given/{name}.md"), "", "OWN-BODY");
    }
    session.trust();
    for (scope, expected) in [
        ("user", &["mine"][..]),
        ("project", &["mine", "root", "theirs"]),
        ("both", &["mine", "root", "theirs"]),
    ] {
        let listed = session.json(["agents", "list", "--scope", scope]);
        assert_eq!(names(&listed), expected, "{scope}: {listed}");
    }
}
