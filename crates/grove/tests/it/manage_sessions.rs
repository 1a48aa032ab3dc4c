//! Whole sessions of `grove agents create | edit | rename | delete | enable | disable | reset`, and of overrides.

mod chains;
mod for_hosts;
mod overrides;
mod refusals;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use grove_testkit::session::{Session, rows};
use serde_json::json;

const AGENT: &str = "---\nname: x\ndescription: Does x.\n---\n\nI am x.\n";
const MINE: &str = "home/.grove/agents/x.md";

fn session() -> Session {
    crate::session().with_repository()
}

fn agent(name: &str) -> String {
    AGENT.replace("name: x", &format!("name: {name}"))
}

/// Root and state of every agent with this name.
fn states(session: &Session, name: &str) -> Vec<[String; 2]> {
    let list = session.json("agents list");
    let agents = rows(&list["agents"], ["name", "root", "state"]).into_iter();
    let named = agents.filter(|[found, ..]| found == name);
    named.map(|[_, root, state]| [root, state]).collect()
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_agent_has_a_name_that_files_can_have_and_is_made_once() {
    let session = session();
    session.skill("home/.agents/skills/release-notes", "release-notes", "d");
    let mut words = vec!["agents", "create", " My Agent! "];
    words.extend(["--description", "Does: things", "--model", "nope/what"]);
    words.extend(["--skills", "relase-notes", "--body", "You do things."]);
    let made = session.done(words).says([
        "model-unknown",
        "`nope/what`",
        "preload-unknown",
        "near: `release-notes`",
    ]);
    assert_eq!(made.stdout, "created ~/.grove/agents/my-agent.md\n");
    assert_eq!(
        session.read("home/.grove/agents/my-agent.md"),
        "---\nname: my-agent\ndescription: \"Does: things\"\nmodel: nope/what\nskills: relase-notes\n---\n\nYou do things.\n"
    );
    assert_eq!(session.done("prompt my-agent").stdout, "You do things.\n");

    session
        .refused(["agents", "create", "My Agent", "--description", "d"])
        .says(["already exists"]);
    for (words, said) in [
        ("my-agent --description d", "already exists"),
        ("!! --description d", "name"),
        ("other", "description"),
        (
            "other --description d --max-tokens many",
            "error: `maxTokens` is not a whole number from 1\n",
        ),
    ] {
        let words = format!("agents create {words}");
        session.refused(&words).says([said]);
    }
    assert!(!session.has("home/.grove/agents/other.md"));
}

#[test]
fn a_file_that_is_no_agent_is_not_written_over() {
    let session = session();
    session
        .file(MINE, "a note\n")
        .link("home/.grove/agents/y.md", "nowhere.md");
    session
        .refused("agents create x --description d")
        .says(["x.md already exists"]);
    session.refused("agents create y --description d");
    assert_eq!(session.read(MINE), "a note\n");
    assert!(!session.has("home/.grove/agents/nowhere.md"));
}

#[test]
fn agents_from_elsewhere_are_not_changed_and_the_way_to_override_is_said() {
    let session = session();
    session.file("extra/x.md", AGENT);
    let extra = session.path("extra");
    let session = session.with_env("GROVE_AGENT_DIRS", extra);
    for name in ["reviewer", "x"] {
        let ways = ["edit NAME --override", "disable NAME", "create NAME"]
            .map(|way| format!("grove agents {}", way.replace("NAME", name)));
        for words in ["edit NAME --model opus", "rename NAME other", "delete NAME"] {
            let words = format!("agents {}", words.replace("NAME", name));
            let said = session.refused(&words).says(["cannot be changed"]);
            said.says(ways.each_ref().map(String::as_str));
        }
    }
    assert_eq!(session.read("extra/x.md"), AGENT);
    // Both ways work.
    session.done("agents edit reviewer --override --model opus --tools read,ls");
    let shown = session.json("agents show reviewer");
    assert_eq!(shown["fields"]["model"], "opus");
    assert_eq!(shown["fields"]["tools"], json!(["read", "ls"]));
    let made = session.done("agents create reviewer --description Mine.");
    made.says(["takes the place of reviewer@bundled:agents"]);
}

#[test]
fn a_name_in_both_scopes_needs_the_scope() {
    let session = session();
    let (users, projects) = ("home/.claude/agents/x.md", "project/.pi/agents/x.md");
    session.file(users, AGENT).file(projects, AGENT);
    for words in ["delete x", "edit x --model opus", "rename x y"] {
        session
            .refused(&format!("agents {words}"))
            .says(["both scopes", "--scope user"]);
    }
    session.done("agents edit x --model opus --scope project");
    assert_eq!(session.read(users), AGENT);
    session.done("agents delete x --scope project --yes");
    assert!(!session.has(projects));
    session
        .refused("agents delete x --scope project")
        .says(["not in this scope"]);
    session.done("agents delete x --yes");
    session
        .refused("agents delete x")
        .says(["no agent is called"]);
}

#[test]
fn an_edit_changes_the_lines_of_its_field_and_keeps_the_mode() {
    let session = session();
    let text = "---\r\n# mine\r\nname: 'x'\r\ndescription: d # why\r\ntools:\r\n  - read\r\n  - bash\r\nskillInjection: full\r\ncustom-x: {a: 1}\r\n---\r\n\r\nI am x.\r\n";
    let file = "home/.claude/agents/x.md";
    session.file(file, text);
    set_mode(&session.path(file), 0o640);
    session.done(["agents", "edit", "x", "--tools", "read, grep, ls"]);
    let expected = text.replace("  - bash\r\n", "  - grep\r\n  - ls\r\n");
    assert_eq!(session.read(file), expected);
    assert_eq!(mode(&session.path(file)), 0o640);
    let same = session.done("agents edit x --skill-injection full --set description=d");
    assert!(same.stdout.starts_with("unchanged "), "{}", same.stdout);
    assert_eq!(session.read(file), expected);
    session.done([
        "agents", "edit", "x", "--unset", "tools", "--body", "I am y.",
    ]);
    let expected = text
        .replace("tools:\r\n  - read\r\n  - bash\r\n", "")
        .replace("I am x.", "I am y.");
    assert_eq!(session.read(file), expected);
    let left = fs::read_dir(session.path("home/.claude/agents")).unwrap();
    assert_eq!(left.count(), 1, "nothing else is left beside it");
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    let session = session();
    session.file(MINE, AGENT);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let words = format!("agents edit x --set own-{number}={number}");
            let session = &session;
            scope.spawn(move || session.done(&words));
        }
    });
    let text = session.read(MINE);
    for number in 0..8 {
        let line = format!("own-{number}: {number}\n");
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.ends_with("---\n\nI am x.\n"));
}

#[test]
fn renaming_moves_the_file_and_says_what_still_has_the_old_name() {
    let session = session();
    let folder = "home/.claude/agents";
    let overrides = "[agents.overrides.x]\nmodel = 'opus'\n";
    session
        .file(format!("{folder}/deep/x.md"), AGENT)
        .file(format!("{folder}/taken.md"), agent("taken"))
        .file("config/grove/config.toml", overrides);
    let file = session.path(format!("{folder}/deep/x.md"));
    set_mode(&file, 0o600);
    session
        .refused("agents rename x Taken")
        .says(["already exists"]);
    let renamed = session.json(["agents", "rename", "x", "Other One", "--package", "My Pkg"]);
    let new = session.path(format!("{folder}/deep/my-pkg.other-one.md"));
    assert_eq!(renamed["name"], "my-pkg.other-one");
    assert_eq!(renamed["file"], new.to_str().unwrap());
    assert_eq!(renamed["previousFile"], file.to_str().unwrap());
    assert_eq!(
        rows(&renamed["warnings"], ["code", "line"])[0],
        ["override-unknown", "1"]
    );
    assert!(!file.exists());
    let (old, lines) = ("name: x\n", "name: other-one\n");
    let expected = AGENT
        .replace(old, lines)
        .replace("Does x.\n", "Does x.\npackage: my-pkg\n");
    assert_eq!(fs::read_to_string(&new).unwrap(), expected);
    assert_eq!(mode(&new), 0o600);
    session.file(format!("{folder}/deep/y.md"), "in the way\n");
    session.refused(["agents", "rename", "my-pkg.other-one", "y", "--package", ""]);
    session.done("agents rename taken z");
    assert_eq!(session.read(format!("{folder}/deep/y.md")), "in the way\n");
}

#[test]
fn only_plain_files_are_deleted_and_what_stands_in_is_said() {
    let session = session();
    session
        .file("elsewhere/x.md", AGENT)
        .link(MINE, session.path("elsewhere/x.md"));
    session.refused("agents delete x --yes").says(["is a link"]);
    session.done("agents edit x --model opus");
    assert!(session.read("elsewhere/x.md").contains("model: opus\n"));
    assert!(session.path(MINE).is_symlink(), "the link stays");

    session.done("agents create reviewer --description Mine.");
    let deleted = session.done("agents delete reviewer --yes");
    assert_eq!(deleted.stdout, "deleted ~/.grove/agents/reviewer.md\n");
    deleted.says(["reviewer@bundled:agents is now used"]);
    assert_eq!(states(&session, "reviewer"), [["bundled:agents", "ok"]]);
}

#[test]
fn a_projects_agent_that_leads_out_of_it_is_not_edited() {
    let session = session();
    session
        .file("secret.md", AGENT)
        .link("project/.pi/agents/x.md", session.path("secret.md"));
    session.refused("agents edit x --model opus");
    session.refused("agents delete x");
    assert_eq!(session.read("secret.md"), AGENT);
}

/// A copy is the skill with everything beside it, in the host's own folder, and nothing that is there is written over.
#[test]
fn a_skill_is_copied_to_where_a_host_looks() {
    let session = crate::session().without_bundled().with_repository();
    session.skill("home/.grove/skills/pdf", "pdf", "Merges PDFs.");
    session.file("home/.grove/skills/pdf/scripts/run.sh", "#!/bin/sh\n");
    let script = session.path("home/.grove/skills/pdf/scripts/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (words, folder) in [
        ("--to claude", "home/.claude/skills"),
        ("--to gemini", "home/.gemini/skills"),
        ("--to opencode", "home/.config/opencode/skill"),
        ("--to copilot --scope project", "project/.github/skills"),
        ("--to codex --scope project", "project/.codex/skills"),
    ] {
        let copy = format!("skills copy pdf@user:.grove/skills {words}");
        session.done(&copy).prints(["copied to "]);
        for file in ["SKILL.md", "scripts/run.sh"] {
            let original = session.read(format!("home/.grove/skills/pdf/{file}"));
            assert_eq!(session.read(format!("{folder}/pdf/{file}")), original);
        }
        let script = session.path(format!("{folder}/pdf/scripts/run.sh"));
        let mode = fs::metadata(script).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{words}");
        session.grove(&copy).fails(1).says(["already exists"]);
    }
    let seen = session.json("why pdf");
    let mut rows = seen["skills"].as_array().unwrap().iter();
    let is_shown = rows.any(|row| row["host"] == "claude" && row["answer"] == "whole");
    assert!(is_shown, "{seen}");
    session.grove("skills copy pdf --to emacs").fails(2);
    let unknown = session.grove("skills copy pfd --to claude").fails(1);
    unknown.says(["did you mean `pdf`?"]);
}
