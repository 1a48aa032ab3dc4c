//! Commands that are killed at any moment: the next one finds everything as it was or as it was asked for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::{Ending, HANGING, capture};
use grove_testkit::session::{Session, column};

use super::{effort, session};

/// What is killed, with what is done again after it.
const COMMANDS: [&str; 7] = [
    "agents export --host claude --yes",
    "agents edit ed --model other",
    "agents rename ed ned --scope user",
    "agents create fresh --scope user --description d",
    "agents delete ed --scope user --yes",
    "trust --yes",
    "skills list",
];

fn prepared() -> Session {
    let session = session();
    for at in 0..4 {
        session.definition(format!("home/.agents/skills/s{at}"), "", "TEXT");
        session.file(format!("home/.agents/skills/s{at}/more.md"), "more");
    }
    session.definition(
        "home/.grove/agents/ed.md",
        "skills: s0, s1, s2, s3\n",
        "EDIT",
    );
    session.skill("project/.agents/skills/p", "p", "d");
    session
}

/// The same; every other export is one again, of something else.
fn prepared_for(words: &str, round: u64) -> Session {
    let session = prepared();
    if round % 2 == 1 && words.contains("export") {
        session.done(words);
        session.definition("home/.agents/skills/s1", "", "CHANGED");
        session.definition(
            "home/.grove/agents/ed.md",
            "skills: s0, s1, s3\n",
            "CHANGED",
        );
    }
    session
}

/// Every file below a folder with what is in it.
fn files(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            found.insert(path.to_string_lossy().into_owned(), text);
        }
    }
}

fn is_temporary(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "tmp")
}

#[test]
fn what_is_killed_at_any_moment_is_finished_or_taken_back_by_the_next() {
    let rounds = effort("GROVE_TEST_KILLS", 28);
    for round in 0..rounds {
        let words = COMMANDS[usize::try_from(round).unwrap() % COMMANDS.len()];
        let session = prepared_for(words, round);
        let mut command = session.command("project");
        command
            .args(words.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // From the first microseconds to about when it is done.
        let moment = (round * 7_919) % 40_000;
        std::thread::sleep(Duration::from_micros(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        settled(&session, words, round);
    }
}

/// What changes something in a file system, or says that it is to last.
const CHANGING: &str = "write pwrite64 rename renameat renameat2 unlink unlinkat link linkat mkdir mkdirat symlink \
    symlinkat fsync fdatasync ftruncate fchmod fallocate";

#[test]
fn what_is_killed_before_any_of_its_changes_is_finished_or_taken_back_by_the_next() {
    needs![Strace];
    let step = effort("GROVE_TEST_KILL_STEP", 7);
    let mut kills = 0;
    let calls = CHANGING.split_whitespace();
    for (words, call) in COMMANDS
        .iter()
        .flat_map(|words| calls.clone().map(|call| (*words, call)))
    {
        // Until there is no such call any more.
        for at in (1 + kills % step..400).step_by(usize::try_from(step).unwrap()) {
            let round = kills + at;
            let session = prepared_for(words, round);
            let (program, variables) = {
                let command = session.command("project");
                let variables = command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
                (
                    command.get_program().to_owned(),
                    variables.collect::<Vec<_>>(),
                )
            };
            let mut strace = Command::new(Need::Strace.path());
            strace
                .args(["-f", "-qq", "-o", "/dev/null", "-e"])
                .arg(format!("trace={call}"))
                .args(["-e", &format!("inject={call}:signal=KILL:when={at}")])
                .arg(program)
                .args(words.split(' '))
                .env_clear()
                .envs(variables)
                .current_dir(session.path("project"));
            let ended = capture(&mut strace, HANGING).unwrap();
            if matches!(ended.ending, Ending::Exited(0)) {
                break;
            }
            settled(&session, words, round);
            kills += 1;
        }
    }
    println!("{kills} kills, one before every change if the step is one; it is {step}");
    assert!(kills > 20, "{kills}");
}

fn settled(session: &Session, words: &str, round: u64) {
    // Somebody changed the sources in between, so that what was half done is not what is done next.
    session.definition("home/.agents/skills/s2", "", "LATER");
    let again = session.grove(words);
    let shown = format!("{again}");
    assert!(
        !shown.contains("not-ours") && !shown.contains("left alone"),
        "{round} {words}: {shown}"
    );
    let mut found = BTreeMap::new();
    for folder in ["home/.grove", "project/.claude", "state", "cache/grove"] {
        files(&session.path(folder), &mut found);
    }
    let left: Vec<&String> = found.keys().filter(|path| is_temporary(path)).collect();
    assert_eq!(left, Vec::<&String>::new(), "{round} {words}");
    let agents: Vec<String> = session.entries("home/.grove/agents");
    if words.contains("rename") {
        assert_eq!(agents, ["ned.md"], "{round}: one file: {shown}");
    }
    if words.contains("delete") {
        assert_eq!(agents, [""; 0], "{round}: {shown}");
    }
    if words.contains("edit") {
        let text = session.read("home/.grove/agents/ed.md");
        assert!(
            text.contains("model: other") && text.contains("EDIT"),
            "{round}: {text}"
        );
    }
    if words.contains("create") {
        assert!(
            agents.contains(&"fresh.md".to_owned()),
            "{round}: {agents:?}"
        );
    }
    if words.contains("export") {
        session.done("agents export --host claude --check");
    }
    if words.contains("trust") {
        let list = session.json("skills list");
        assert!(
            list.to_string().contains(r#""state":"ok""#),
            "{round}: {list}"
        );
    }
}

#[test]
fn a_rename_that_was_killed_between_its_steps_left_two_files() {
    let session = prepared();
    session.done("agents rename ed ned --scope user");
    assert_eq!(session.entries("home/.grove/agents"), ["ned.md"]);
    assert!(
        session
            .read("home/.grove/agents/ned.md")
            .contains("name: ned")
    );
    // What one that was killed leaves: the file has its new name, and is who it was.
    let text = session.read("home/.grove/agents/ned.md");
    session.file(
        "home/.grove/agents/ned.md",
        text.replace("name: ned", "name: ed"),
    );
    let list = session.json("agents list");
    assert_eq!(column(&list["agents"], "name")[0], "ed");
    session.done("agents rename ed ned --scope user");
    assert_eq!(session.read("home/.grove/agents/ned.md"), text);
    assert_eq!(session.entries("home/.grove/agents"), ["ned.md"]);
    session.definition("home/.grove/agents/ed.md", "", "OTHER");
    let before = session.read("home/.grove/agents/ed.md");
    session.refused("agents rename ed ned --scope user");
    assert_eq!(
        session.read("home/.grove/agents/ed.md"),
        before,
        "it is put back"
    );
}
