//! `grove init`: it says what is here and what to do next, and writes nothing that nobody agreed to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_testkit::session::Session;

const KEY: &str = "sk-marker-0123456789abcdef";

/// A home with two hosts, a key and a project that nobody trusts.
fn session() -> Session {
    let session = crate::session()
        .with_env("ANTHROPIC_API_KEY", KEY)
        .working_in("home/work");
    session
        .dir("home/work/.git")
        .dir("home/.claude")
        .dir("home/.codex");
    session
        .skill("home/.agents/skills/mail", "mail", "Answers letters")
        .skill("home/work/.agents/skills/deploy", "deploy", "Ships it");
    session
}

/// Every file below home but what Grove remembers of looking.
fn files(session: &Session) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = grove_testkit::shared::files_below(&session.path("home")).unwrap();
    let files = files.into_iter();
    let files = files.filter(|file| !file.to_string_lossy().contains("/.cache/"));
    files
        .map(|file| (file.clone(), std::fs::read(file).unwrap()))
        .collect()
}

#[test]
fn what_is_here_is_said_and_nothing_is_written_unasked() {
    let session = session();
    let before = files(&session);
    let said = session.grove("init").ok();
    let said = said.prints([
        "Claude Code (without Grove's MCP server)",
        "Codex (without Grove's MCP server)",
        "anthropic (key in the variable `ANTHROPIC_API_KEY` is present)",
        "openai (key in the variable `OPENAI_API_KEY` is missing)",
        "~/work: 1 skill not used until you trust it",
        "  grove trust",
        "  grove mcp install --host claude",
        "  grove mcp install --host codex",
        "  grove run AGENT",
    ]);
    let data = session.json("init");
    assert_eq!(data["schema"], "grove.init/1");
    assert_eq!(data["project"]["untrusted"], 1);
    assert_eq!(data["hosts"][0]["mcp"], false);
    assert_eq!(data["providers"][0]["state"], "present");
    assert_eq!(data["nextSteps"][0]["command"], "grove trust");
    for text in [said.stdout, said.stderr, data.to_string()] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert_eq!(files(&session), before);
}

#[test]
fn the_entry_is_made_where_it_was_agreed_to_and_offered_once() {
    let session = session();
    session.file("home/.claude.json", "{ \"mine\": 1 }");
    session.done("init --yes");
    let claude = session.read("home/.claude.json");
    assert!(
        claude.contains("\"mine\": 1") && claude.contains("mcpServers"),
        "{claude}"
    );
    assert!(
        session
            .read("home/.codex/config.toml")
            .contains("mcp_servers")
    );
    let again = session.grove("init --yes").ok();
    let again = again.prints([
        "Claude Code (has Grove's MCP server)",
        "Codex (has Grove's MCP server)",
    ]);
    assert!(!again.stdout.contains("mcp install"), "{}", again.stdout);
    assert_eq!(session.read("home/.claude.json"), claude);
}

#[test]
fn with_nothing_at_all_it_says_how_to_begin() {
    let session = crate::session();
    let said = session.grove("init").ok();
    said.prints([
        "hosts        none",
        "native (built in)",
        "  export ANTHROPIC_API_KEY=…",
        "  grove try",
    ]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_said_and_left_alone() {
    let session = session();
    session.file("home/.claude.json", "{ not json");
    let said = session.grove("init").ok();
    let said = said.prints(["Claude Code ("]);
    assert!(
        !said.stdout.contains("install --host claude"),
        "{}",
        said.stdout
    );
    assert_eq!(session.read("home/.claude.json"), "{ not json");
}
