//! One command in a home, with the parts of its JSON that the tests look at.

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::Value;

pub(crate) const USER: &str = "config/grove/config.toml";
pub(crate) const PROJECT: &str = "project/.grove/config.toml";

pub(crate) fn new_home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_grove"))
}

/// The JSON of a command that must end with this code.
#[track_caller]
pub(crate) fn json(home: &TestHome, cwd: &str, arguments: &[&str], code: i32) -> Value {
    let finished = home.run(cwd, arguments);
    let told = finished.stderr_text();
    assert_eq!(
        finished.ending,
        Ending::Exited(code),
        "{arguments:?}: {told}"
    );
    serde_json::from_slice(&finished.stdout).unwrap()
}

#[track_caller]
pub(crate) fn config(home: &TestHome, code: i32) -> Value {
    json(home, "project", &["config", "--json"], code)
}

/// Code, line and message of every finding about the configuration.
pub(crate) fn findings(config: &Value) -> Vec<(String, u64, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = config["diagnostics"].as_array().unwrap().iter();
    all.map(|finding| {
        let line = finding["line"].as_u64().unwrap_or_default();
        (text(&finding["code"]), line, text(&finding["message"]))
    })
    .collect()
}

/// Code and line of every finding.
pub(crate) fn places(config: &Value) -> Vec<(String, u64)> {
    findings(config)
        .into_iter()
        .map(|(code, line, _)| (code, line))
        .collect()
}

/// Name and state of every skill that is not bundled.
#[track_caller]
pub(crate) fn states(home: &TestHome, flags: &[&str]) -> Vec<(String, String)> {
    let arguments: Vec<&str> = ["skills", "list", "--json"]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    let list = json(home, "project", &arguments, 0);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let skills = list["skills"].as_array().unwrap().iter();
    skills
        .filter(|skill| skill["source"] != "bundled")
        .map(|skill| (text(&skill["name"]), text(&skill["state"])))
        .collect()
}

#[track_caller]
pub(crate) fn assert_states(home: &TestHome, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()))
        .collect();
    assert_eq!(states(home, &[]), expected);
}

#[track_caller]
pub(crate) fn trust(home: &TestHome, cwd: &str) {
    home.run(cwd, ["trust"]).require_success("trust").unwrap();
}
