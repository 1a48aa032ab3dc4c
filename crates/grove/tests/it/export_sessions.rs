//! Whole sessions of `grove agents export`: what is written, what is left alone, what is said.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use grove_spec::agent::{self, prompt_text};
use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::Value;

const HOSTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "pi"];

/// A home with an agent that names a skill with a script and a tree of skills, and a project.
fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    put_agent(
        &home,
        "reviewer",
        "skills: protocol, office\n",
        "REVIEW-BODY",
    );
    put_skill(&home, "protocol", "", "PROTOCOL-BODY");
    home.file("home/.agents/skills/protocol/scripts/run.sh", "#!/bin/sh\n");
    let script = home.path("home/.agents/skills/protocol/scripts/run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    put_skill(
        &home,
        "office",
        "metadata:\n  children: sheets\n",
        "OFFICE-BODY",
    );
    put_skill(
        &home,
        "office/skills/sheets",
        "metadata:\n  children: pivot\n",
        "SHEETS-BODY",
    );
    put_skill(&home, "office/skills/sheets/skills/pivot", "", "PIVOT-BODY");
    home
}

fn put_agent(home: &TestHome, name: &str, lines: &str, body: &str) {
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n{lines}---\n{body}\n");
    home.file(format!("home/.grove/agents/{name}.md"), text);
}

fn put_skill(home: &TestHome, path: &str, lines: &str, body: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}.\n{lines}---\n{body}\n");
    home.file(format!("home/.agents/skills/{path}/SKILL.md"), text);
}

fn export(home: &TestHome, host: &str, more: &[&str]) -> (Option<i32>, Value) {
    let mut arguments = vec!["agents", "export", "--host", host, "--json"];
    arguments.extend(more);
    let finished = home.run("project", &arguments);
    let value = serde_json::from_str(&finished.stdout_text())
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr_text()));
    (exit_code(&finished), value)
}

fn exit_code(finished: &Finished) -> Option<i32> {
    match finished.ending {
        Ending::Exited(code) => Some(code),
        _ => None,
    }
}

/// The files of an export by their states.
fn states(value: &Value) -> BTreeMap<String, String> {
    let files = value["files"].as_array().unwrap().iter();
    let word = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
    files
        .map(|file| (word(file, "path"), word(file, "state")))
        .collect()
}

fn codes(value: &Value) -> Vec<String> {
    let warnings = value["warnings"].as_array().unwrap().iter();
    let warnings = warnings.filter(|warning| warning["severity"] != "info");
    warnings
        .map(|warning| warning["code"].as_str().unwrap().to_owned())
        .collect()
}

/// Every file below a folder with its content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

fn read(home: &TestHome, path: &str) -> String {
    fs::read_to_string(home.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_host_gets_agents_and_skills_and_a_second_export_changes_nothing() {
    let home = home();
    for host in HOSTS {
        let (code, check) = export(&home, host, &["--check"]);
        assert_eq!(code, Some(1), "{host}: nothing is there yet");
        assert!(
            !home.path(format!("project/.{host}")).exists(),
            "{host}: a check wrote"
        );
        let (code, first) = export(&home, host, &[]);
        assert_eq!(code, Some(0), "{host}");
        assert_eq!(codes(&first), Vec::<String>::new(), "{host}");
        assert_eq!(
            states(&check),
            states(&first),
            "{host}: a check says what would be"
        );
        assert!(
            states(&first).values().all(|state| state == "new"),
            "{first}"
        );
        let before = tree(&home.path("project"));
        let (code, second) = export(&home, host, &["--check"]);
        assert_eq!(code, Some(0), "{host}: {second}");
        export(&home, host, &[]);
        assert_eq!(tree(&home.path("project")), before, "{host}");
    }
    // Whatever the machine: the same bytes from another home.
    let other = self::home();
    for host in HOSTS {
        export(&other, host, &[]);
    }
    let relative = |home: &TestHome| -> BTreeMap<PathBuf, Vec<u8>> {
        let project = home.path("project");
        let files = tree(&project).into_iter();
        files
            .map(|(path, bytes)| (path.strip_prefix(&project).unwrap().to_owned(), bytes))
            .collect()
    };
    assert_eq!(relative(&home), relative(&other));
    let mode = home.path("project/.claude/skills/protocol/scripts/run.sh");
    assert_eq!(mode.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn skills_are_named_where_the_host_reads_them_and_written_out_where_it_does_not() {
    let home = home();
    export(&home, "claude", &[]);
    let claude = read(&home, "project/.claude/agents/reviewer.md");
    assert!(claude.contains("skills: protocol, office\n"), "{claude}");
    assert!(!claude.contains("PROTOCOL-BODY"), "{claude}");
    for (host, file) in [
        ("copilot", "project/.github/agents/reviewer.agent.md"),
        ("codex", "project/.codex/agents/reviewer.toml"),
        ("gemini", "project/.gemini/agents/reviewer.md"),
        ("opencode", "project/.opencode/agents/reviewer.md"),
    ] {
        export(&home, host, &[]);
        let text = read(&home, file);
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{host}: no {words} in {text}"))
        };
        assert!(place("PROTOCOL-BODY") < place("OFFICE-BODY"), "{text}");
        assert!(place("OFFICE-BODY") < place("REVIEW-BODY"), "{text}");
        assert!(!text.contains("\nskills"), "{host}: {text}");
    }
    export(&home, "claude", &["--inline-skills"]);
    let claude = read(&home, "project/.claude/agents/reviewer.md");
    assert!(
        claude.contains("PROTOCOL-BODY") && !claude.contains("\nskills:"),
        "{claude}"
    );
}

#[test]
fn a_tree_is_flat_and_each_branch_leads_to_its_children() {
    let home = home();
    export(&home, "copilot", &[]);
    for (name, child) in [
        ("office", Some("sheets")),
        ("sheets", Some("pivot")),
        ("pivot", None),
    ] {
        let text = read(&home, &format!("project/.github/skills/{name}/SKILL.md"));
        let link = child.map(|child| format!("- `../{child}/SKILL.md`: About {child}."));
        assert_eq!(text.contains("../"), link.is_some(), "{text}");
        if let Some(link) = link {
            assert!(text.contains(&link), "{text}");
        }
    }
    let agent = read(&home, "project/.github/agents/reviewer.agent.md");
    assert!(
        agent.contains("- `.github/skills/sheets/SKILL.md`: About sheets."),
        "{agent}"
    );
}

#[test]
fn an_agent_that_reads_its_skills_itself_gets_a_list_and_a_tool() {
    let home = home();
    put_agent(
        &home,
        "light",
        "skills: protocol\nskillInjection: light\ntools: grep\n",
        "LIGHT",
    );
    export(&home, "claude", &["light"]);
    let text = read(&home, "project/.claude/agents/light.md");
    assert!(text.contains("tools: Grep, Read\n"), "{text}");
    assert!(
        !text.contains("\nskills:"),
        "Claude Code would take that for whole texts: {text}"
    );
    assert!(
        text.contains("<location>.claude/skills/protocol/SKILL.md</location>"),
        "{text}"
    );
    assert!(
        text.find("LIGHT").unwrap() < text.find("<available_skills>").unwrap(),
        "{text}"
    );
}

#[test]
fn what_somebody_wrote_is_never_replaced() {
    let home = home();
    home.file(
        "project/.claude/agents/reviewer.md",
        "---\nname: reviewer\n---\nmine\n",
    )
    .file(
        "project/.claude/skills/office/SKILL.md",
        "---\nname: office\n---\nmine\n",
    );
    let (code, value) = export(&home, "claude", &[]);
    assert_eq!(code, Some(1), "{value}");
    assert_eq!(codes(&value), ["export-not-ours", "export-not-ours"]);
    assert!(read(&home, "project/.claude/agents/reviewer.md").ends_with("mine\n"));
    assert!(read(&home, "project/.claude/skills/office/SKILL.md").ends_with("mine\n"));
    assert_eq!(states(&value)[".claude/skills/protocol/SKILL.md"], "new");

    // A file beside a skill's own that was changed since.
    home.file(
        "project/.claude/skills/protocol/scripts/run.sh",
        "#!/bin/sh\nmine\n",
    )
    .file(
        "home/.agents/skills/protocol/scripts/run.sh",
        "#!/bin/sh\nnew\n",
    );
    let (code, value) = export(&home, "claude", &[]);
    assert_eq!(code, Some(1));
    assert_eq!(
        states(&value)[".claude/skills/protocol/scripts/run.sh"],
        "not-ours"
    );
    let script = read(&home, "project/.claude/skills/protocol/scripts/run.sh");
    assert_eq!(script, "#!/bin/sh\nmine\n");
}

#[test]
fn links_lead_nothing_out_of_the_project() {
    let home = home();
    home.dir("home/elsewhere").dir("project/.claude");
    std::os::unix::fs::symlink(
        home.path("home/elsewhere"),
        home.path("project/.claude/agents"),
    )
    .unwrap();
    let (code, value) = export(&home, "claude", &[]);
    assert_eq!(code, Some(1));
    assert_eq!(states(&value)[".claude/agents/reviewer.md"], "not-ours");
    assert_eq!(tree(&home.path("home/elsewhere")).len(), 0);
}

#[test]
fn what_changed_is_written_again_and_what_is_gone_is_removed() {
    let home = home();
    put_agent(&home, "planner", "skills: protocol\n", "PLAN-BODY");
    export(&home, "claude", &[]);
    put_agent(&home, "reviewer", "", "REVIEW-AGAIN");
    fs::remove_file(home.path("home/.agents/skills/protocol/scripts/run.sh")).unwrap();
    let (code, check) = export(&home, "claude", &["--check"]);
    assert_eq!(code, Some(1));
    let expected = [
        (".claude/agents/.grove-export", "changed"),
        (".claude/agents/planner.md", "same"),
        (".claude/agents/reviewer.md", "changed"),
        (".claude/skills/office/.grove-export", "stale"),
        (".claude/skills/office/SKILL.md", "stale"),
        (".claude/skills/pivot/.grove-export", "stale"),
        (".claude/skills/pivot/SKILL.md", "stale"),
        (".claude/skills/protocol/.grove-export", "changed"),
        (".claude/skills/protocol/SKILL.md", "same"),
        (".claude/skills/protocol/scripts/run.sh", "stale"),
        (".claude/skills/sheets/.grove-export", "stale"),
        (".claude/skills/sheets/SKILL.md", "stale"),
    ];
    let expected: BTreeMap<String, String> = expected
        .iter()
        .map(|(path, state)| ((*path).to_owned(), (*state).to_owned()))
        .collect();
    assert_eq!(states(&check), expected);
    let (code, value) = export(&home, "claude", &[]);
    assert_eq!(code, Some(0));
    let done = |state: &str| state.replace("stale", "removed");
    let expected = expected.iter();
    let expected: BTreeMap<String, String> = expected
        .map(|(path, state)| (path.clone(), done(state)))
        .collect();
    assert_eq!(states(&value), expected);
    assert!(read(&home, "project/.claude/agents/reviewer.md").contains("REVIEW-AGAIN"));
    assert!(!home.path("project/.claude/skills/office").exists());
    assert!(
        !home
            .path("project/.claude/skills/protocol/scripts")
            .exists()
    );
    assert_eq!(export(&home, "claude", &["--check"]).0, Some(0));

    // One that is named alone says nothing about the others.
    export(&home, "claude", &["reviewer"]);
    assert!(home.path("project/.claude/agents/planner.md").exists());
}

#[test]
fn warnings_of_the_prompt_are_warnings_of_the_export() {
    let home = home();
    put_agent(
        &home,
        "reviewer",
        "skills: protocol, no-such, office\ntools: read, ls\n",
        "X",
    );
    let (code, value) = export(&home, "claude", &[]);
    assert_eq!(code, Some(0), "a warning holds nothing up");
    assert_eq!(codes(&value), ["preload-unknown", "export-unmapped"]);
    assert_eq!(
        export(&home, "claude", &["--check"]).0,
        Some(1),
        "and a check fails"
    );
    let (_, value) = export(&home, "claude", &["--budget", "10"]);
    let text = read(&home, "project/.claude/agents/reviewer.md");
    assert!(!text.contains("skills:"), "{text}");
    assert_eq!(
        codes(&value)
            .iter()
            .filter(|code| *code == "preload-budget")
            .count(),
        2
    );
}

#[test]
fn an_export_is_made_from_what_somebody_wrote_and_never_from_an_export() {
    let home = home();
    for host in ["claude", "pi"] {
        export(&home, host, &[]);
    }
    home.run("project", ["trust", "--follow"])
        .require_success("trust")
        .unwrap();
    // In the project the copies are nearer, and still the agent that somebody wrote is used.
    let shown = home.run("project", ["agents", "show", "reviewer", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout_text()).unwrap();
    assert_eq!(shown["agent"]["address"], "reviewer@user:.grove/agents");
    put_skill(&home, "protocol", "", "PROTOCOL-AGAIN");
    put_agent(&home, "reviewer", "skills: protocol\n", "REVIEW-AGAIN");
    export(&home, "claude", &[]);
    let skill = read(&home, "project/.claude/skills/protocol/SKILL.md");
    assert!(skill.contains("PROTOCOL-AGAIN"), "{skill}");
    assert_eq!(skill.matches("Generated by").count(), 1, "{skill}");
    // Where the source is gone, what was made of it is the agent.
    fs::remove_file(home.path("home/.grove/agents/reviewer.md")).unwrap();
    let shown = home.run("project", ["agents", "show", "reviewer", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout_text()).unwrap();
    assert_eq!(shown["agent"]["address"], "reviewer@project:.claude/agents");
}

#[test]
fn what_is_exported_for_pi_reads_as_the_agent_it_was_made_from() {
    let home = home();
    let lines = "package: team\ntools: read, mcp:docs/find, ./ext/t.ts\nextensions:\nmodel: x/y\n\
        fallbackModels: [a, b]\nthinking: high\nsystemPromptMode: append\ninheritSkills: true\n\
        skills: protocol\nskillInjection: light\ndefaultContext: fork\noutput: out.md\n\
        defaultReads: a.md, b.md\nmaxSubagentDepth: 0\ncompletionGuard: false\nturnBudget:\n  maxTurns: 3\nown-key: kept\n";
    put_agent(&home, "whole", lines, "Body.\n\n- of several\n  lines");
    let (code, value) = export(&home, "pi", &["team.whole"]);
    assert_eq!((code, codes(&value)), (Some(0), Vec::new()), "{value}");
    let source = read(&home, "home/.grove/agents/whole.md");
    let made = read(&home, "project/.pi/agents/team.whole.md");
    let fields = |text: &str| {
        format!("{:?}", agent::print::entries(&agent::parse(text).agent))
            .replace(|c: char| c.is_ascii_digit(), "")
    };
    assert_eq!(fields(&made), fields(&source));
    let body = |text: &str| prompt_text(agent::parse(text).body(text).unwrap());
    assert_eq!(body(&made), body(&source));
}

#[test]
fn without_a_project_somebody_must_say_where() {
    let home = home();
    let finished = home.run("home", ["agents", "export", "--host", "claude"]);
    assert_eq!(exit_code(&finished), Some(2));
    assert!(
        finished.stderr_text().contains("--out"),
        "{}",
        finished.stderr_text()
    );
    let out = home.path("home/there");
    let finished = home.run(
        "home",
        [
            "agents",
            "export",
            "--host",
            "claude",
            "--out",
            out.to_str().unwrap(),
        ],
    );
    assert_eq!(exit_code(&finished), Some(0), "{}", finished.stderr_text());
    assert!(out.join(".claude/agents/reviewer.md").exists());
    let finished = home.run("project", ["agents", "export", "--host", "openclaw"]);
    assert_eq!(exit_code(&finished), Some(2), "its agents are not known");
}

#[test]
fn an_untrusted_agent_is_not_exported() {
    let home = home();
    home.file(
        "project/.grove/agents/stranger.md",
        "---\nname: stranger\ndescription: d\n---\nx\n",
    );
    let (_, value) = export(&home, "claude", &[]);
    assert!(!states(&value).contains_key(".claude/agents/stranger.md"));
    let finished = home.run(
        "project",
        ["agents", "export", "--host", "claude", "stranger"],
    );
    assert_eq!(exit_code(&finished), Some(1));
    assert!(
        finished.stderr_text().contains("untrusted"),
        "{}",
        finished.stderr_text()
    );
}

#[test]
fn what_settings_say_in_place_of_an_agents_text_is_exported() {
    let home = home();
    home.file(
        "home/.pi/agent/settings.json",
        r#"{ "subagents": { "agentOverrides": { "reviewer": { "systemPrompt": "OTHER-TEXT", "model": "sonnet" } } } }"#,
    );
    let exported = home.run("project", ["agents", "export", "--host", "claude"]);
    assert!(exported.success(), "{}", exported.stderr_text());
    let text = fs::read_to_string(home.path("project/.claude/agents/reviewer.md")).unwrap();
    assert!(
        text.contains("OTHER-TEXT") && text.contains("model: sonnet"),
        "{text}"
    );
    assert!(!text.contains("REVIEW-BODY"), "{text}");
}

#[test]
fn the_folders_of_skill_path_give_skills_to_their_own_agent_and_the_key_is_said() {
    for host in HOSTS {
        let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
        home.dir("project/.git");
        put_agent(
            &home,
            "first",
            "skills: same, mine\nskillPath: ./kit\n",
            "FIRST",
        );
        put_agent(&home, "third", "skills: mine\n", "THIRD");
        put_skill(&home, "same", "", "USUAL-SAME");
        let skill = |name: &str, body: &str| {
            format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")
        };
        home.file(
            "home/.grove/agents/kit/mine/SKILL.md",
            skill("mine", "KIT-MINE"),
        );
        let (_, exported) = export(&home, host, &["--inline-skills", "first", "third"]);
        let told = |name: &str| {
            let text = exported_text(&home, name);
            ["USUAL-SAME", "KIT-MINE"].map(|body| text.contains(body))
        };
        assert_eq!(told("first"), [true, true], "{host}");
        // Another agent is told what it would be told by itself.
        assert_eq!(told("third"), [false, false], "{host}");
        let findings = exported["warnings"].as_array().unwrap();
        let about_key = findings.iter().filter(|finding| {
            finding["message"].as_str().unwrap().contains("`skillPath`")
                && finding["severity"] == "info"
        });
        assert_eq!(about_key.count(), 1, "{host}: {findings:?}");
        assert!(
            !exported_text(&home, "first").contains("skillPath"),
            "{host}"
        );
        let unknown = findings
            .iter()
            .filter(|finding| finding["code"] == "preload-unknown");
        assert_eq!(unknown.count(), 1, "{host}: {findings:?}");
    }
}

/// The text of an exported agent, in whichever folder its host has it.
fn exported_text(home: &TestHome, name: &str) -> String {
    fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .flat_map(|path| {
                let file = path.file_name().unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    files(&path, name)
                } else if file.split('.').next() == Some(name) {
                    vec![path]
                } else {
                    Vec::new()
                }
            })
            .collect()
    }
    let found = files(&home.path("project"), name);
    assert_eq!(found.len(), 1, "{found:?}");
    fs::read_to_string(&found[0]).unwrap()
}
