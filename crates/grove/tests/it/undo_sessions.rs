//! `grove undo` after every command that writes a person's files: bytes, modes and absence are back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use grove_testkit::session::Session;

/// Everything below a folder: its mode, and the bytes of a file or the target of a link.
type Tree = BTreeMap<String, (u32, Option<Vec<u8>>)>;

fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let facts = fs::symlink_metadata(&path).unwrap();
            let content = if facts.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                Some(target.to_string_lossy().into_owned().into_bytes())
            } else if facts.is_dir() {
                open.push(path.clone());
                None
            } else {
                Some(fs::read(&path).unwrap())
            };
            let name = path.strip_prefix(folder).unwrap().to_string_lossy();
            found.insert(name.into_owned(), (facts.permissions().mode(), content));
        }
    }
    found
}

/// What is a person's: home, the configuration and the project.
fn persons(session: &Session) -> [Tree; 3] {
    ["home", "config", "project"].map(|folder| tree(&session.path(folder)))
}

fn set_mode(session: &Session, file: &str, mode: u32) {
    fs::set_permissions(session.path(file), fs::Permissions::from_mode(mode)).unwrap();
}

const AGENT: &str = "home/.grove/agents/a.md";

/// A person with a skill that has resources, two agents, a chain and files of hosts.
fn session() -> Session {
    let session = crate::session().with_repository();
    session.file(
        AGENT,
        "---\r\nname: a\r\ndescription: Does a.\r\n---\r\nI am a.\r\n",
    );
    session.definition("home/.grove/agents/b.md", "skills: s\n", "I am b.");
    session.definition("home/.grove/skills/s", "", "Do s.");
    session.file(
        "home/.grove/skills/s/run.sh",
        b"#!/bin/sh\n\xff\n".as_slice(),
    );
    session.link("home/.grove/skills/s/latest", "run.sh");
    session.dir("home/.grove/skills/s/empty");
    session.definition("home/.agents/skills/flat.md", "", "Do it.");
    session.file(
        "home/.grove/chains/c.chain.md",
        "---\nname: c\ndescription: Both.\n---\n\n## a\n\nDo {task}\n",
    );
    session.file("config/grove/config.toml", "# mine\ncompat_roots = true\n");
    session.file("home/.claude.json", "{ \"odd\" : 1.50 }");
    session.file("home/.codex/config.toml", "model = 'o' # why\n");
    for (file, mode) in [
        (AGENT, 0o640),
        ("home/.grove/skills/s/run.sh", 0o755),
        ("home/.grove/skills/s/empty", 0o750),
        ("home/.claude.json", 0o600),
        ("config/grove/config.toml", 0o644),
    ] {
        set_mode(&session, file, mode);
    }
    session.trust();
    session
}

/// Every command that writes a person's files, with one that must have been done before.
const COMMANDS: [(&str, &str); 35] = [
    ("", "agents create new --description d"),
    ("", "agents create new --description d --scope project"),
    ("", "agents edit a --model opus --body Other."),
    ("", "agents edit reviewer --override --model opus"),
    ("", "agents rename a other"),
    ("", "agents delete a --yes"),
    ("", "agents disable a"),
    ("", "agents disable a --scope project"),
    ("agents disable a", "agents enable a"),
    ("agents disable a", "agents reset a"),
    (
        "",
        "chains create new --description d --steps [{\"agent\":\"a\",\"task\":\"t\"}]",
    ),
    ("", "chains edit c --description Other."),
    ("", "chains rename c other"),
    ("", "chains delete c --yes"),
    ("", "skills create new --description d"),
    ("", "skills create new --description d --scope project"),
    ("", "skills edit s --description Other. --set license=MIT"),
    ("", "skills edit flat --body Other."),
    ("", "skills rename s other"),
    ("", "skills rename flat other"),
    ("", "skills copy s --to gemini"),
    ("", "skills copy flat --to claude --scope project"),
    ("", "skills delete s --yes"),
    ("", "skills delete flat --yes"),
    ("", "skills disable s"),
    ("skills disable s", "skills enable s"),
    ("", "agents export --host claude --yes"),
    ("", "agents export --host codex --out deep/er a"),
    (
        "agents export --host claude --yes",
        "agents export --host claude --inline-skills --yes",
    ),
    ("", "mcp install --host claude --yes"),
    ("", "mcp install --host codex --yes"),
    ("", "mcp install --host copilot --yes"),
    ("", "mcp install --host opencode --scope project --yes"),
    ("", "mcp install --host claude --scope project --yes"),
    (
        "mcp install --host codex --yes",
        "mcp uninstall --host codex --yes",
    ),
];

#[test]
fn after_every_command_that_writes_the_bytes_are_back() {
    for (first, command) in COMMANDS {
        let session = session();
        let start = persons(&session);
        if !first.is_empty() {
            session.done(first);
        }
        let before = persons(&session);
        session.done(command);
        assert_ne!(persons(&session), before, "{command} changes something");
        let words: Vec<&str> = command.split(' ').take(2).collect();
        let said = session.done("undo");
        said.says([&*format!("undid `grove {}", words.join(" "))]);
        let after = persons(&session);
        for (after, before) in after.iter().zip(&before) {
            let different: Vec<_> = after
                .iter()
                .filter(|(path, it)| before.get(*path) != Some(it))
                .collect();
            assert!(different.is_empty(), "{command}: {different:?}");
        }
        assert!(after == before, "{command}: something is still gone");
        // The one before it is the last change now, and then there is none.
        if !first.is_empty() {
            session.done("undo");
            assert!(persons(&session) == start, "{first}");
        }
        session.refused("undo").says(["there is nothing to undo"]);
        assert!(persons(&session) == start);
    }
}

#[test]
fn what_was_changed_since_is_left_as_it_is() {
    let session = session();
    session.done("agents edit a --model opus");
    session.done("skills delete s --yes");
    session.file("home/.grove/skills/s/SKILL.md", "mine");
    let before = persons(&session);
    let refused = session.refused("undo");
    refused.says(["SKILL.md was changed since", "nothing was changed"]);
    assert!(persons(&session) == before);
    // Nor is the change before it taken back instead.
    assert!(session.read(AGENT).contains("opus"));
    session.remove("home/.grove/skills/s");
    session.done("undo").says(["undid `grove skills delete s`"]);
    session.done("undo").says(["undid `grove agents edit a`"]);
    assert!(!session.read(AGENT).contains("opus"));
}

#[test]
fn what_was_refused_or_changed_nothing_is_no_change() {
    let session = session();
    session.done("agents edit a --description Two.");
    session.done("agents edit a --description Two.");
    session
        .refused("agents delete a")
        .says(["nothing was changed", "--yes"]);
    session
        .grove("agents export --host claude")
        .fails(1)
        .says(["--yes"]);
    session.refused("skills rename s flat");
    session.refused("agents create a --description d");
    // The change is older than the last command, and so it is not undone without a word.
    let before = persons(&session);
    session.refused("undo").says([
        "`grove agents create a` changed nothing",
        "`grove agents edit a` (just now)",
        "--yes",
    ]);
    assert!(persons(&session) == before);
    let said = session.json("undo --yes");
    assert_eq!(said["command"], "agents edit a");
    assert_eq!(said["files"].as_array().map(Vec::len), Some(1));
}

#[test]
fn undo_is_listed_tried_and_redone() {
    let session = session();
    session.done("agents edit a --description Two.");
    session.done("skills delete s --yes");
    let last = persons(&session);
    session.done("undo --list").prints([
        "just now      3  grove skills delete s",
        "just now      1  grove agents edit a",
    ]);
    assert_eq!(
        session.json("undo --list")["changes"][1]["command"],
        "agents edit a"
    );
    let tried = session.done("undo --dry-run");
    let tried = tried.prints(["skills/s/SKILL.md"]);
    tried.says([
        "would undo `grove skills delete s` (just now)",
        "nothing was changed",
    ]);
    assert!(persons(&session) == last);
    session.done("undo");
    session.done("undo");
    session
        .done("redo --dry-run")
        .says(["would redo `grove agents edit a`"]);
    session.done("redo").says(["redid `grove agents edit a`"]);
    session.done("redo");
    assert!(persons(&session) == last);
    session.refused("redo").says(["there is nothing to redo"]);
}
