//! Running the two programs and comparing what they print.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use grove_testkit::process::{Ending, capture};

use super::upstream::Scene;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Writes a scene's files.
pub(crate) fn set_up(scene: &Scene, folder: &Path) {
    for (path, content) in &scene.files {
        let full = folder.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(full).expect("a folder");
        } else {
            fs::create_dir_all(full.parent().expect("a parent")).expect("a folder");
            fs::write(full, content).expect("a file");
        }
    }
    for (at, to) in &scene.links {
        symlink(to, folder.join(at)).expect("a symlink");
    }
}

/// Runs a program in a folder.
pub(crate) fn run(command: &mut Command, at: &Path, limit: Duration) -> Run {
    command.current_dir(at).env("PYTHONUTF8", "1");
    let finished = capture(command, limit).expect("the program starts");
    let Ending::Exited(code) = finished.ending else {
        panic!("{command:?} did not end by itself: {:?}", finished.ending);
    };
    Run {
        code,
        stdout: finished.stdout_text(),
        stderr: finished.stderr_text(),
    }
}

const INVALID_YAML: &str = "Invalid YAML in frontmatter: ";

/// Whether ours does what theirs does. Where theirs ends in a traceback, ours has to say
/// something; a usage error may name another program; a YAML error may be worded differently.
pub(crate) fn agree(ours: &Run, theirs: &Run) -> bool {
    let stderr = if theirs.stderr.starts_with("Traceback") {
        !ours.stderr.is_empty() && !ours.stderr.contains("panicked")
    } else if theirs.code == 2 {
        ours.stderr.lines().last() == theirs.stderr.lines().last()
    } else {
        before_yaml_error(&ours.stderr) == before_yaml_error(&theirs.stderr)
            && yaml_line(&ours.stderr) == yaml_line(&theirs.stderr)
    };
    ours.code == theirs.code && ours.stdout == theirs.stdout && stderr
}

fn before_yaml_error(stderr: &str) -> (&str, bool) {
    match stderr.split_once(INVALID_YAML) {
        Some((before, _)) => (before, true),
        None => (stderr, false),
    }
}

fn yaml_line(stderr: &str) -> Option<u64> {
    let (_, error) = stderr.split_once(INVALID_YAML)?;
    let (_, after) = error.rsplit_once(", line ")?;
    let (line, _) = after.split_once(',')?;
    line.parse().ok()
}
