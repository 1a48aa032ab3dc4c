//! `grove agents export` in a project, for the tests of what it writes and says.

use std::collections::BTreeMap;

use grove_testkit::session::{Session, rows};
use serde_json::Value;

pub(crate) const HOSTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "pi"];

pub(crate) fn put_agent(session: &Session, name: &str, lines: &str, body: &str) {
    session.definition(format!("home/.grove/agents/{name}.md"), lines, body);
}

pub(crate) fn put_skill(session: &Session, path: &str, lines: &str, body: &str) {
    session.definition(format!("home/.agents/skills/{path}"), lines, body);
}

/// Exports for a host with these words more.
pub(crate) fn export(session: &Session, host: &str, more: &str) -> Export {
    let words = format!("agents export --host {host} --json --yes {more}");
    let outcome = session.grove(&words);
    let value = outcome.json();
    Export {
        code: outcome.code,
        value,
    }
}

/// What an export said.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) code: i32,
    pub(crate) value: Value,
}

impl Export {
    /// The files with their states.
    pub(crate) fn states(&self) -> BTreeMap<String, String> {
        let files = rows(&self.value["files"], ["path", "state"]).into_iter();
        files.map(|[path, state]| (path, state)).collect()
    }

    /// The state of a file, or nothing where it is not named.
    pub(crate) fn state(&self, path: &str) -> String {
        self.states().remove(path).unwrap_or_default()
    }

    /// The codes of everything that is more than information.
    pub(crate) fn codes(&self) -> Vec<String> {
        let warnings = rows(&self.value["warnings"], ["severity", "code"]).into_iter();
        let warnings = warnings.filter(|[severity, _]| severity != "info");
        warnings.map(|[_, code]| code).collect()
    }

    /// The messages of warnings with a code.
    pub(crate) fn warnings(&self, code: &str) -> Vec<String> {
        let all = rows(&self.value["warnings"], ["severity", "code", "message"]).into_iter();
        let some = all.filter(|row| row[0] == "warning" && row[1] == code);
        some.map(|[_, _, message]| message).collect()
    }
}
