//! One command in a home, and what it says of every skill.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::Value;

pub(crate) fn new_home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_grove"))
}

pub(crate) fn run(home: &TestHome, cwd: &str, arguments: &[&str]) -> Finished {
    let finished = home.run(cwd, arguments);
    assert_eq!(
        finished.ending,
        Ending::Exited(0),
        "{arguments:?}: {}",
        finished.stderr_text()
    );
    finished
}

pub(crate) fn json(home: &TestHome, cwd: &str, arguments: &[&str]) -> Value {
    serde_json::from_slice(&run(home, cwd, arguments).stdout).unwrap()
}

/// `id@root`, state and the codes of the reasons of every skill that is not bundled.
fn states(home: &TestHome, cwd: &str) -> Vec<(String, String, Vec<String>)> {
    let list = json(home, cwd, &["skills", "list", "--json"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let skills = list["skills"].as_array().unwrap().iter();
    skills
        .filter(|skill| skill["source"] != "bundled")
        .map(|skill| {
            let reasons = skill["reasons"].as_array().unwrap();
            let codes = reasons.iter().map(|reason| text(&reason["code"])).collect();
            (text(&skill["address"]), text(&skill["state"]), codes)
        })
        .collect()
}

#[track_caller]
pub(crate) fn assert_states(home: &TestHome, cwd: &str, expected: &[(&str, &str, &[&str])]) {
    let owned = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = expected
        .iter()
        .map(|(address, state, codes)| ((*address).to_owned(), (*state).to_owned(), owned(codes)))
        .collect();
    assert_eq!(states(home, cwd), expected);
}

pub(crate) fn diagnostic_codes(home: &TestHome, cwd: &str) -> Vec<String> {
    let list = json(home, cwd, &["skills", "list", "--json"]);
    let findings = list["diagnostics"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}
