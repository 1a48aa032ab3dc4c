//! The same question asked with a cache that is there and with one that never was.

use std::ffi::OsStr;
use std::path::PathBuf;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished, HANGING, capture};
use serde_json::Value;

pub(crate) const SKILLS: &str = "home/.agents/skills";

pub(crate) fn new_home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_grove"))
}

/// A home with this many skills in two groups.
pub(crate) fn home_with(count: usize) -> TestHome {
    let home = new_home();
    for number in 0..count {
        let name = format!("skill-{number:03}");
        let folder = format!("{SKILLS}/group-{}/{name}", number % 2);
        home.skill(folder, &name, &format!("Number {number:03}"));
    }
    home
}

/// Runs a command with another cache folder than the home's own.
pub(crate) fn run_with_cache(
    home: &TestHome,
    cache: impl AsRef<OsStr>,
    arguments: &[&str],
) -> Finished {
    let mut command = home.command("project");
    command.args(arguments).env("XDG_CACHE_HOME", cache);
    let finished = capture(&mut command, HANGING).unwrap();
    let told = finished.stderr_text();
    assert!(
        matches!(finished.ending, Ending::Exited(0 | 1)),
        "{:?} {told}",
        finished.ending
    );
    finished
}

/// Asks the home's own cache and no cache at all; both must say the same, which is given.
#[track_caller]
pub(crate) fn agreed(home: &TestHome, arguments: &[&str]) -> Value {
    let cached = run_with_cache(home, home.path("cache"), arguments);
    let nowhere = tempfile::tempdir().unwrap();
    let fresh = run_with_cache(home, nowhere.path(), arguments);
    assert_eq!(cached.stdout_text(), fresh.stdout_text());
    serde_json::from_slice(&cached.stdout).unwrap()
}

/// The description of every skill that is not bundled, by id.
#[track_caller]
pub(crate) fn descriptions(home: &TestHome) -> Vec<(String, String)> {
    let list = agreed(home, &["skills", "list", "--json"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let skills = list["skills"].as_array().unwrap().iter();
    skills
        .filter(|skill| skill["source"] != "bundled")
        .map(|skill| (text(&skill["id"]), text(&skill["description"])))
        .collect()
}

#[track_caller]
pub(crate) fn assert_descriptions(home: &TestHome, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(id, text)| ((*id).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(descriptions(home), expected);
}

/// The files of the home's own cache.
pub(crate) fn cache_files(home: &TestHome) -> Vec<PathBuf> {
    let folder = home.path("cache/grove/skills");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// The codes of the findings about the whole.
pub(crate) fn codes(list: &Value) -> Vec<(&str, &str)> {
    let findings = list["diagnostics"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            (
                finding["code"].as_str().unwrap(),
                finding["severity"].as_str().unwrap(),
            )
        })
        .collect()
}
