//! A small home and whole command sessions in it.

use std::path::Path;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};

/// Seven skills: three usable, and one for each common reason not to be.
pub(crate) fn small_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove")).with_env("COLUMNS", "80");
    let bundled = home.path("home/bundled");
    let home = home.with_env("GROVE_BUNDLED_DIR", bundled);
    home.dir("home/bundled");
    let skills = "home/.agents/skills";
    home.skill(format!("{skills}/pdf"), "pdf", "Reads PDF files")
        .skill(format!("{skills}/shell/tmux"), "tmux", "Drives tmux sessions")
        .skill(format!("{skills}/notes"), "memo", "Keeps notes")
        .skill("home/.claude/skills/pdf", "pdf", "Another PDF reader")
        .skill("home/work/.agents/skills/deploy", "deploy", "Deploys the project")
        .file(format!("{skills}/broken/SKILL.md"), "no frontmatter here\n")
        .file(
            format!("{skills}/gh/SKILL.md"),
            "---\nname: gh\ndescription: Works with issues\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}\n---\n",
        );
    home
}

/// What a command printed, with the temporary folder as `[T]`.
pub(crate) struct Session {
    pub(crate) ending: Ending,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(home: &TestHome, arguments: &[&str]) -> Session {
    run_in(home, "home/work", arguments)
}

pub(crate) fn run_in(home: &TestHome, cwd: &str, arguments: &[&str]) -> Session {
    let finished: Finished = home.run(cwd, arguments);
    let folder = home.path("home");
    let folder = folder.parent().and_then(Path::to_str).unwrap();
    Session {
        ending: finished.ending,
        stdout: finished.stdout_text().replace(folder, "[T]"),
        stderr: finished.stderr_text().replace(folder, "[T]"),
    }
}

/// Compares a whole session in the small home.
#[track_caller]
pub(crate) fn assert_session(arguments: &[&str], code: i32, stdout: &str, stderr: &str) {
    assert_session_in(&small_home(), arguments, code, stdout, stderr);
}

#[track_caller]
pub(crate) fn assert_session_in(
    home: &TestHome,
    arguments: &[&str],
    code: i32,
    stdout: &str,
    stderr: &str,
) {
    let session = run(home, arguments);
    assert_eq!(
        session.stdout, stdout,
        "stdout of {arguments:?}:\n{}",
        session.stdout
    );
    assert_eq!(
        session.stderr, stderr,
        "stderr of {arguments:?}:\n{}",
        session.stderr
    );
    assert_eq!(session.ending, Ending::Exited(code), "{arguments:?}");
}
