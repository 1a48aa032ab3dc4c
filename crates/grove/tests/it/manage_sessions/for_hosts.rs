//! `grove agents create --host`: an agent where a host reads it, in the host's own format.

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::needs;
use grove_testkit::session::{Session, rows};

use crate::agent_host_programs::agents_of_claude;

fn session() -> Session {
    crate::session().with_repository()
}

/// Where each host has its agents, for the user and for the project.
const PLACES: [(&str, &str, &str); 6] = [
    (
        "claude",
        "home/.claude/agents/reviewer.md",
        "project/.claude/agents/reviewer.md",
    ),
    (
        "codex",
        "home/.codex/agents/reviewer.toml",
        "project/.codex/agents/reviewer.toml",
    ),
    (
        "copilot",
        "home/.copilot/agents/reviewer.agent.md",
        "project/.github/agents/reviewer.agent.md",
    ),
    (
        "gemini",
        "home/.gemini/agents/reviewer.md",
        "project/.gemini/agents/reviewer.md",
    ),
    (
        "opencode",
        "home/.config/opencode/agents/reviewer.md",
        "project/.opencode/agents/reviewer.md",
    ),
    (
        "pi",
        "home/.pi/agent/agents/reviewer.md",
        "project/.pi/agents/reviewer.md",
    ),
];

fn create(host: &str, scope: &str) -> Vec<String> {
    let words = ["agents", "create", "reviewer", "--host", host, "--scope"];
    let more = [scope, "--description", "Reviews changes", "--body", "Read."];
    words
        .iter()
        .chain(&more)
        .map(|it| (*it).to_owned())
        .collect()
}

#[test]
fn an_agent_is_made_where_each_host_reads_it_and_taken_back() {
    for (host, at_home, in_project) in PLACES {
        for (scope, file) in [("user", at_home), ("project", in_project)] {
            let session = session();
            // Codex reads roles of projects that it trusts.
            let trusted = format!(
                "[projects.{:?}]\ntrust_level = \"trusted\"\n",
                session.path("project")
            );
            session.file("home/.codex/config.toml", trusted);
            session.done(create(host, scope)).says(["read by "]);
            let text = session.read(file);
            assert!(text.contains("Reviews changes"), "{host}: {text}");
            assert!(text.contains("Read."), "{host}: {text}");
            // It is its owner's, and no export's.
            assert!(!text.to_lowercase().contains("grove"), "{host}: {text}");
            let listed = session.json(["agents", "list", "--host", host]);
            let all = rows(&listed["agents"], ["name", "state", "location"]);
            let location = session.path(file).to_str().unwrap().to_owned();
            let expected = ["reviewer".to_owned(), "ok".to_owned(), location];
            assert!(all.contains(&expected), "{host} {scope}: {all:?}");
            // Nothing is overwritten.
            session.refused(create(host, scope)).says(["reviewer"]);
            assert_eq!(session.read(file), text, "{host}");
            // The last command was refused, so the one before it is undone by word alone.
            session.refused("undo").says(["--yes"]);
            session.done("undo --yes");
            assert!(!session.has(file), "{host} {scope}");
        }
    }
}

#[test]
fn fields_are_written_in_the_words_of_the_host_and_the_rest_is_said() {
    let session = session();
    let mut words = create("claude", "user");
    words.extend(
        [
            "--model",
            "anthropic/claude-sonnet-4-5",
            "--tools",
            "read,bash",
        ]
        .map(str::to_owned),
    );
    session.done(words);
    let text = session.read("home/.claude/agents/reviewer.md");
    assert_eq!(
        text,
        "---\nname: reviewer\ndescription: Reviews changes\ntools: Read, Bash\nmodel: claude-sonnet-4-5\n---\n\nRead.\n"
    );
}

#[test]
fn what_cannot_be_made_is_refused_and_nothing_is_written() {
    let session = session();
    // A host whose agents are not known is answered with those that are.
    session
        .grove(create("openclaw", "user"))
        .fails(2)
        .says(["openclaw", "claude, codex, copilot, gemini, opencode, pi"]);
    let mut with_skills = create("claude", "user");
    with_skills.extend(["--skills", "pdf"].map(str::to_owned));
    session
        .refused(with_skills)
        .says(["skills", "grove agents export"]);
    assert!(!session.has("home/.claude"));
    // Codex has no role without a text.
    session
        .grove("agents create mute --host codex --description D")
        .fails(2)
        .says(["Codex would not read it", "developer_instructions"]);
    assert!(!session.has("home/.codex"));
}

#[test]
fn a_project_that_codex_does_not_trust_is_said() {
    let session = session();
    let said = session.done(create("codex", "project"));
    said.says(["not used by Codex: Codex does not trust this project"]);
    // The folder of a project for Claude Code is read by Copilot too.
    session
        .done("agents create other --host claude --scope project --description D --body B")
        .says(["read by Claude Code, GitHub Copilot CLI"]);
}

#[test]
fn claude_code_has_the_agent_that_was_made_for_it() {
    needs![Claude];
    let session = session();
    session.done(create(AgentProgram::Claude.host(), "user"));
    let real = agents_of_claude(&session, "project");
    assert_eq!(real.into_iter().collect::<Vec<_>>(), ["reviewer"]);
}
