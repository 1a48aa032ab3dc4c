//! Sessions of an ordinary user: pipes, a home that cannot be written, and none at all.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::process::{self, Ending, Finished};
use grove_testkit::session::Session;

use crate::run_sessions::end_all;

/// The user and group `nobody` on every Linux.
const NOBODY: u32 = 65_534;
/// Somebody else.
const DAEMON: u32 = 1;

/// A home of `nobody`, with the program where `nobody` can start it.
fn session() -> Session {
    let session = crate::session().without_env("COLUMNS");
    session
        .skill(
            "home/.agents/skills/pdf-join",
            "pdf-join",
            "Joins PDF files",
        )
        .skill("home/.agents/skills/mail", "mail", "Answers letters");
    session.dir("bin");
    let program = session.path("bin/grove");
    std::fs::copy(env!("CARGO_BIN_EXE_grove"), &program).unwrap();
    open(&session.path(""));
    session
}

/// Gives everything to `nobody` if that can be done; an ordinary user is nobody special already.
fn open(path: &Path) {
    open_to(path, NOBODY);
}

fn open_to(path: &Path, user: u32) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    }
    if path.is_dir() {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            open_to(&entry.path(), user);
        }
    }
}

/// Runs a line of shell as `nobody`, without one of the variables.
fn sh(session: &Session, line: &str, without: Option<&str>) -> Finished {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env_clear()
        .current_dir(session.path("project"));
    for (name, value) in session.command("project").get_envs() {
        if let Some(value) = value.filter(|_| without.is_none_or(|it| it != name)) {
            command.env(name, value);
        }
    }
    command.env(
        "PATH",
        format!("{}:/usr/bin:/bin", session.path("bin").display()),
    );
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    process::capture(&mut command, process::HANGING).unwrap()
}

#[track_caller]
fn assert_prints(finished: &Finished, expected: &str) {
    assert!(finished.success(), "{finished:?}");
    assert_eq!(finished.stdout_text(), expected, "{finished:?}");
}

#[test]
fn names_are_the_first_field_of_every_line_in_a_pipe() {
    let session = session();
    let list = sh(&session, "grove skills list 2>/dev/null | cut -f1", None);
    assert_prints(&list, "grove\nmail\npdf-join\n");
    let states = sh(
        &session,
        "grove skills list 2>/dev/null | cut -f2 | sort -u",
        None,
    );
    assert_prints(&states, "ok\n");
    let about = sh(
        &session,
        "grove skills list 2>/dev/null | cut -f6 | tail -1",
        None,
    );
    assert_prints(&about, "Joins PDF files\n");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let session = session();
    let first = sh(
        &session,
        "grove skills list 2>err | head -1 | cut -f1; cat err",
        None,
    );
    assert!(first.stdout_text().starts_with("grove\n"), "{first:?}");
    assert!(!first.stdout_text().contains("rror"), "{first:?}");
    assert_eq!(first.stderr_text(), "");
}

#[test]
fn a_home_that_cannot_be_written_is_read_quietly() {
    let session = session();
    for folder in ["home", "config", "state", "data", "cache"] {
        let path = session.path(folder);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o555)).unwrap();
    }
    let list = sh(&session, "grove skills list | cut -f1", None);
    assert!(list.stdout_text().contains("mail\npdf-join\n"), "{list:?}");
    let lines = list.stderr_text();
    assert!(lines.lines().count() <= 6, "{lines}");
    assert!(
        !lines.contains("panicked") && !lines.contains("error: internal"),
        "{lines}"
    );
    for words in ["", "why mail", "catalog", "skills search letters"] {
        let done = sh(&session, &format!("grove {words}"), None);
        assert!(done.success(), "{words}: {done:?}");
    }
    for folder in ["home", "config", "state", "data", "cache"] {
        let path = session.path(folder);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn without_a_home_there_is_what_the_project_and_the_program_have() {
    let session = session();
    let home = Some("HOME");
    for words in ["", "skills list", "hosts", "skills roots"] {
        let done = sh(&session, &format!("grove {words}"), home);
        assert!(done.success(), "{words}: {done:?}");
        assert!(
            !done.stdout_text().contains("pdf-join"),
            "{words}: {done:?}"
        );
        assert!(
            !done.stderr_text().contains("panicked"),
            "{words}: {done:?}"
        );
    }
}

#[test]
fn it_is_tried_twice_in_a_folder_that_cannot_be_written_by_somebody_without_a_home() {
    let session = session();
    let folder = session.path("project");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    for _ in 0..2 {
        let tried = sh(&session, "grove try", Some("HOME"));
        let said = tried.stdout_text();
        assert!(said.contains("ok: to-celsius 212 is 100"), "{said}");
        assert!(said.contains("\n  grove init\n"), "{said}");
    }
    let left = std::fs::read_dir(session.path("tmp")).unwrap();
    assert_eq!(left.count(), 2, "each has a folder of its own");
}

#[test]
fn a_journal_that_another_user_could_have_written_is_refused() {
    let made = |name: &str| {
        let session = session();
        let listed = sh(&session, "grove runs list", None);
        assert!(listed.success(), "{name}: {listed:?}");
        session
    };
    let is_refused = |session: &Session, name: &str| {
        let listed = sh(session, "grove runs list", None);
        let said = listed.stderr_text();
        assert!(!listed.success(), "{name}: {listed:?}");
        assert!(
            said.contains("belongs to another user") && said.contains(name),
            "{name}: {said}"
        );
    };
    for file in ["runs.db", "runs.db-wal", ""] {
        let session = made(file);
        let path = session.path("state/grove").join(file);
        if file == "runs.db-wal" {
            std::fs::write(&path, "").unwrap();
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        is_refused(&session, file);
        // Only root can give a file to somebody.
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(&path, Some(DAEMON), None).unwrap();
            is_refused(&session, file);
        }
    }
}

/// A user without any other process has so many processes and threads left, from none on.
#[test]
fn at_the_limit_of_processes_there_is_an_error_and_no_panic() {
    // The limit is not for root, and an ordinary user has other processes.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let session = session();
    let server = ModelServer::start(Script::replies(vec![Reply::text("Done."); 100])).unwrap();
    let session = session
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", "sk-marker");
    session.definition("home/.grove/agents/worker.md", "tools: read\n", "You work.");
    // Enough to be worth a second thread.
    for at in 0..200 {
        let name = format!("skill-{at}");
        session.skill(
            format!("home/.agents/skills/{name}"),
            &name,
            "Does something.",
        );
    }
    let user = 1_000_000 + std::process::id();
    let run = [
        "run",
        "worker",
        "x",
        "--model",
        "anthropic/m",
        "--timeout",
        "20",
    ];
    let commands: [&[&str]; 5] = [
        &["catalog"],
        &["skills", "list"],
        &["supervise"],
        &["mcp"],
        &run,
    ];
    let (mut refused, mut done) = (0, 0);
    for most in 1..=8 {
        for words in commands {
            open_to(&session.path(""), user);
            let mut command = Command::new("prlimit");
            command
                .arg(format!("--nproc={most}:{most}"))
                .arg(session.path("bin/grove"))
                .args(words)
                .env_clear()
                .current_dir(session.path("project"))
                .stdin(Stdio::null())
                .uid(user)
                .gid(user);
            for (name, value) in session.command("project").get_envs() {
                if let Some(value) = value {
                    command.env(name, value);
                }
            }
            let finished = process::capture(&mut command, Duration::from_mins(1));
            let finished = finished.unwrap();
            assert_ne!(finished.ending, Ending::TimedOut, "{most} {words:?} hangs");
            let said = finished.stderr_text();
            assert!(!said.contains("panicked"), "{most} {words:?}: {said}");
            let panicked = Ending::Exited(101);
            assert_ne!(finished.ending, panicked, "{most} {words:?}: {said}");
            if said.contains("limit of processes") {
                refused += 1;
            }
            done += usize::from(finished.success());
            end_all(&session);
        }
    }
    assert!(refused > 0 && done > 0, "{refused} {done}");
}
