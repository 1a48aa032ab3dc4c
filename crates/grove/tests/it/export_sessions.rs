//! Whole sessions of `grove agents export`: what is written, what is left alone, what is said.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use grove_spec::agent::{self, prompt_text};
use grove_testkit::session::{Session, assert_text, rows};
use grove_testkit::shared::files_below;

use super::exported::{HOSTS, export, put_agent, put_skill};

const REVIEWER: &str = "project/.claude/agents/reviewer.md";
const SCRIPT: &str = "home/.agents/skills/protocol/scripts/run.sh";

/// A home with an agent that names a skill with a script and a tree of skills, and a project.
fn session() -> Session {
    let session = crate::session().with_repository();
    put_agent(
        &session,
        "reviewer",
        "skills: protocol, office\n",
        "REVIEW-BODY",
    );
    for (path, lines, body) in [
        ("protocol", "", "PROTOCOL-BODY"),
        ("office", "metadata:\n  children: sheets\n", "OFFICE-BODY"),
        (
            "office/skills/sheets",
            "metadata:\n  children: pivot\n",
            "SHEETS-BODY",
        ),
        ("office/skills/sheets/skills/pivot", "", "PIVOT-BODY"),
    ] {
        put_skill(&session, path, lines, body);
    }
    let script = session.file(SCRIPT, "#!/bin/sh\n").path(SCRIPT);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    session
}

/// Every file below a folder with its content.
fn tree(session: &Session, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = session.path(folder);
    let files = files_below(&folder).unwrap().into_iter();
    files
        .map(|path| {
            let relative = path.strip_prefix(&folder).unwrap().to_owned();
            (relative, fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn every_host_gets_agents_and_skills_and_a_second_export_changes_nothing() {
    let session = session();
    for host in HOSTS {
        let check = export(&session, host, "--check");
        assert_eq!(check.code, 1, "{host}: nothing is there yet");
        assert!(
            !session.has(format!("project/.{host}")),
            "{host}: a check wrote"
        );
        let first = export(&session, host, "");
        assert_eq!((first.code, first.codes()), (0, vec![]), "{host}");
        let states = first.states();
        assert_eq!(check.states(), states, "{host}: a check says what would be");
        assert!(states.values().all(|state| state == "new"), "{states:?}");
        let before = tree(&session, "project");
        let second = export(&session, host, "--check");
        assert_eq!(second.code, 0, "{host}: {second:?}");
        export(&session, host, "");
        assert_eq!(tree(&session, "project"), before, "{host}");
    }
    // Whatever the machine: the same bytes from another home.
    let other = self::session();
    for host in HOSTS {
        export(&other, host, "");
    }
    assert_eq!(tree(&session, "project"), tree(&other, "project"));
    let script = session.path("project/.claude/skills/protocol/scripts/run.sh");
    let mode = script.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn skills_are_named_where_the_host_reads_them_and_written_out_where_it_does_not() {
    let session = session();
    export(&session, "claude", "");
    let named = ["skills: protocol, office\n"];
    assert_text(&session.read(REVIEWER), &named, &["PROTOCOL-BODY"]);
    for (host, file) in [
        ("copilot", "project/.github/agents/reviewer.agent.md"),
        ("codex", "project/.codex/agents/reviewer.toml"),
        ("gemini", "project/.gemini/agents/reviewer.md"),
        ("opencode", "project/.opencode/agents/reviewer.md"),
    ] {
        export(&session, host, "");
        let text = session.read(file);
        let bodies = ["PROTOCOL-BODY", "OFFICE-BODY", "REVIEW-BODY"];
        assert_text(&text, &bodies, &["\nskills"]);
        assert!(
            bodies.map(|body| text.find(body)).is_sorted(),
            "{host}: {text}"
        );
    }
    export(&session, "claude", "--inline-skills");
    assert_text(&session.read(REVIEWER), &["PROTOCOL-BODY"], &["\nskills:"]);
}

#[test]
fn a_tree_is_flat_and_each_branch_leads_to_its_children() {
    let session = session();
    export(&session, "copilot", "");
    let skill = |name: &str| session.read(format!("project/.github/skills/{name}/SKILL.md"));
    for (name, child) in [("office", "sheets"), ("sheets", "pivot")] {
        let link = format!("- `../{child}/SKILL.md`: Does {child}.");
        assert_text(&skill(name), &[&link], &[]);
    }
    assert_text(&skill("pivot"), &[], &["../"]);
    let agent = session.read("project/.github/agents/reviewer.agent.md");
    assert_text(
        &agent,
        &["- `.github/skills/sheets/SKILL.md`: Does sheets."],
        &[],
    );
}

#[test]
fn an_agent_that_reads_its_skills_itself_gets_a_list_and_a_tool() {
    let session = session();
    let lines = "skills: protocol\nskillInjection: light\ntools: grep\n";
    put_agent(&session, "light", lines, "LIGHT");
    export(&session, "claude", "light");
    let text = session.read("project/.claude/agents/light.md");
    let parts = [
        "tools: Grep, Read\n",
        "<location>.claude/skills/protocol/SKILL.md</location>",
    ];
    // Claude Code would take the key for whole texts.
    assert_text(&text, &parts, &["\nskills:"]);
    let (body, list) = (text.find("LIGHT"), text.find("<available_skills>"));
    assert!(body.unwrap() < list.unwrap(), "{text}");
}

#[test]
fn what_somebody_wrote_is_never_replaced() {
    let session = session();
    let office = "project/.claude/skills/office/SKILL.md";
    session
        .file(REVIEWER, "---\nname: reviewer\n---\nmine\n")
        .file(office, "---\nname: office\n---\nmine\n");
    let exported = export(&session, "claude", "");
    assert_eq!(exported.code, 1, "{exported:?}");
    assert_eq!(exported.codes(), ["export-not-ours", "export-not-ours"]);
    assert!(session.read(REVIEWER).ends_with("mine\n"));
    assert!(session.read(office).ends_with("mine\n"));
    assert_eq!(exported.state(".claude/skills/protocol/SKILL.md"), "new");

    // A file beside a skill's own that was changed since.
    let script = ".claude/skills/protocol/scripts/run.sh";
    let (copy, mine) = (format!("project/{script}"), "#!/bin/sh\nmine\n");
    session.file(&copy, mine).file(SCRIPT, "#!/bin/sh\nnew\n");
    let exported = export(&session, "claude", "");
    assert_eq!(exported.code, 1);
    assert_eq!(exported.state(script), "not-ours");
    assert_eq!(session.read(&copy), mine);
}

#[test]
fn links_lead_nothing_out_of_the_project() {
    let session = session();
    let elsewhere = session.dir("home/elsewhere").path("home/elsewhere");
    session.link("project/.claude/agents", elsewhere);
    let exported = export(&session, "claude", "");
    assert_eq!(exported.code, 1);
    assert_eq!(exported.state(".claude/agents/reviewer.md"), "not-ours");
    assert!(tree(&session, "home/elsewhere").is_empty());
}

#[test]
fn what_changed_is_written_again_and_what_is_gone_is_removed() {
    let session = session();
    put_agent(&session, "planner", "skills: protocol\n", "PLAN-BODY");
    export(&session, "claude", "");
    put_agent(&session, "reviewer", "", "REVIEW-AGAIN");
    session.remove(SCRIPT);
    let check = export(&session, "claude", "--check");
    assert_eq!(check.code, 1);
    let expected = [
        [".claude/agents/.grove-export", "changed"],
        [".claude/agents/planner.md", "same"],
        [".claude/agents/reviewer.md", "changed"],
        [".claude/skills/office/.grove-export", "stale"],
        [".claude/skills/office/SKILL.md", "stale"],
        [".claude/skills/pivot/.grove-export", "stale"],
        [".claude/skills/pivot/SKILL.md", "stale"],
        [".claude/skills/protocol/.grove-export", "changed"],
        [".claude/skills/protocol/SKILL.md", "same"],
        [".claude/skills/protocol/scripts/run.sh", "stale"],
        [".claude/skills/sheets/.grove-export", "stale"],
        [".claude/skills/sheets/SKILL.md", "stale"],
    ];
    let states = |value| {
        let mut states = rows(value, ["path", "state"]);
        states.sort();
        states
    };
    assert_eq!(states(&check.value["files"]), expected);
    let exported = export(&session, "claude", "");
    assert_eq!(exported.code, 0);
    let done =
        expected.map(|[path, state]| [path, if state == "stale" { "removed" } else { state }]);
    assert_eq!(states(&exported.value["files"]), done);
    assert_text(&session.read(REVIEWER), &["REVIEW-AGAIN"], &[]);
    assert!(!session.has("project/.claude/skills/office"));
    assert!(!session.has("project/.claude/skills/protocol/scripts"));
    assert_eq!(export(&session, "claude", "--check").code, 0);

    // One that is named alone says nothing about the others.
    export(&session, "claude", "reviewer");
    assert!(session.has("project/.claude/agents/planner.md"));
}

#[test]
fn warnings_of_the_prompt_are_warnings_of_the_export() {
    let session = session();
    let lines = "skills: protocol, no-such, office\ntools: read, ls\n";
    put_agent(&session, "reviewer", lines, "X");
    let exported = export(&session, "claude", "");
    assert_eq!(exported.code, 0, "a warning holds nothing up");
    assert_eq!(exported.codes(), ["preload-unknown", "export-unmapped"]);
    assert_eq!(
        export(&session, "claude", "--check").code,
        1,
        "and a check fails"
    );
    let exported = export(&session, "claude", "--budget 10");
    assert_text(&session.read(REVIEWER), &[], &["skills:"]);
    assert_eq!(exported.warnings("preload-budget").len(), 2);
}

#[test]
fn an_export_is_made_from_what_somebody_wrote_and_never_from_an_export() {
    let session = session();
    for host in ["claude", "pi"] {
        export(&session, host, "");
    }
    session.trust_with("--follow");
    let address = || session.json("agents show reviewer")["agent"]["address"].clone();
    // In the project the copies are nearer, and still the agent that somebody wrote is used.
    assert_eq!(address(), "reviewer@user:.grove/agents");
    put_skill(&session, "protocol", "", "PROTOCOL-AGAIN");
    put_agent(&session, "reviewer", "skills: protocol\n", "REVIEW-AGAIN");
    export(&session, "claude", "");
    let skill = session.read("project/.claude/skills/protocol/SKILL.md");
    assert_text(&skill, &["PROTOCOL-AGAIN"], &[]);
    assert_eq!(skill.matches("Generated by").count(), 1, "{skill}");
    // Where the source is gone, what was made of it is the agent.
    session.remove("home/.grove/agents/reviewer.md");
    assert_eq!(address(), "reviewer@project:.claude/agents");
}

#[test]
fn what_is_exported_for_pi_reads_as_the_agent_it_was_made_from() {
    let session = session();
    let lines = "package: team\ntools: read, mcp:docs/find, ./ext/t.ts\nextensions:\nmodel: x/y\n\
        fallbackModels: [a, b]\nthinking: high\nsystemPromptMode: append\ninheritSkills: true\n\
        skills: protocol\nskillInjection: light\ndefaultContext: fork\noutput: out.md\n\
        defaultReads: a.md, b.md\nmaxSubagentDepth: 0\ncompletionGuard: false\nturnBudget:\n  maxTurns: 3\nown-key: kept\n";
    put_agent(&session, "whole", lines, "Body.\n\n- of several\n  lines");
    let exported = export(&session, "pi", "team.whole");
    assert_eq!(
        (exported.code, exported.codes()),
        (0, vec![]),
        "{exported:?}"
    );
    let source = session.read("home/.grove/agents/whole.md");
    let made = session.read("project/.pi/agents/team.whole.md");
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
    let session = session();
    let refused = session.grove_in("home", "agents export --host claude");
    refused.fails(2).says(["--out"]);
    let there = session.grove_in("home", "agents export --host claude --out there --yes");
    there.ok();
    assert!(session.has("home/there/.claude/agents/reviewer.md"));
    // Its agents are not known.
    session.grove("agents export --host openclaw").fails(2);
}

#[test]
fn an_untrusted_agent_is_not_exported() {
    let session = session();
    session.definition("project/.grove/agents/stranger.md", "", "x");
    let exported = export(&session, "claude", "");
    assert_eq!(exported.state(".claude/agents/stranger.md"), "");
    let refused = session.grove("agents export --host claude stranger");
    refused.fails(1).says(["untrusted"]);
}

#[test]
fn what_settings_say_in_place_of_an_agents_text_is_exported() {
    let session = session();
    session.file(
        "home/.pi/agent/settings.json",
        r#"{ "subagents": { "agentOverrides": { "reviewer": { "systemPrompt": "OTHER-TEXT", "model": "sonnet" } } } }"#,
    );
    session.grove("agents export --host claude --yes").ok();
    let parts = ["OTHER-TEXT", "model: sonnet"];
    assert_text(&session.read(REVIEWER), &parts, &["REVIEW-BODY"]);
}

#[test]
fn the_folders_of_skill_path_give_skills_to_their_own_agent_and_the_key_is_said() {
    for host in HOSTS {
        let session = crate::session().with_repository();
        put_agent(
            &session,
            "first",
            "skills: same, mine\nskillPath: ./kit\n",
            "FIRST",
        );
        put_agent(&session, "third", "skills: mine\n", "THIRD");
        put_skill(&session, "same", "", "USUAL-SAME");
        session.definition("home/.grove/agents/kit/mine", "", "KIT-MINE");
        let exported = export(&session, host, "--inline-skills first third");
        let text = exported_text(&session, "first");
        assert_text(&text, &["USUAL-SAME", "KIT-MINE"], &["skillPath"]);
        // Another agent is told what it would be told by itself.
        let text = exported_text(&session, "third");
        assert_text(&text, &[], &["USUAL-SAME", "KIT-MINE"]);
        let findings = rows(&exported.value["warnings"], ["severity", "code", "message"]);
        let count =
            |is: &dyn Fn(&[String; 3]) -> bool| findings.iter().filter(|row| is(row)).count();
        let about_key = count(&|row| row[0] == "info" && row[2].contains("`skillPath`"));
        assert_eq!(about_key, 1, "{host}: {findings:?}");
        let unknown = count(&|row| row[1] == "preload-unknown");
        assert_eq!(unknown, 1, "{host}: {findings:?}");
    }
}

/// The text of an exported agent, in whichever folder its host has it.
fn exported_text(session: &Session, name: &str) -> String {
    let mut found = files_below(&session.path("project")).unwrap();
    found.retain(|path| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.split('.').next() == Some(name)
    });
    assert_eq!(found.len(), 1, "{found:?}");
    session.read(&found[0])
}
