//! What a host has in a home, and how that differs from what it should have.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

use grove_testkit::home::TestHome;
use serde_json::Value;

pub(crate) fn listed(home: &TestHome, host: &str) -> Vec<Value> {
    let finished = home.run("project/pkg", ["skills", "list", "--host", host, "--json"]);
    let finished = finished.require_success("list").unwrap();
    let list: Value = serde_json::from_slice(&finished.stdout).unwrap();
    list["skills"].as_array().unwrap().clone()
}

/// The names of all skills in a state.
pub(crate) fn named(skills: &[Value], state: &str) -> BTreeSet<String> {
    let in_state = skills.iter().filter(|skill| skill["state"] == state);
    in_state
        .map(|skill| skill["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn ok(home: &TestHome, host: &str) -> BTreeSet<String> {
    named(&listed(home, host), "ok")
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What differs from the table, all of it at once.
#[derive(Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    pub(crate) fn compare<T: PartialEq + Debug>(
        &mut self,
        what: impl Display,
        found: &T,
        expected: &T,
    ) {
        if found != expected {
            self.0.push(format!(
                "{what}\n  found    {found:?}\n  expected {expected:?}"
            ));
        }
    }

    pub(crate) fn assert_none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// A repository whose package is the working folder.
pub(crate) fn repository() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git").dir("project/pkg");
    home
}
