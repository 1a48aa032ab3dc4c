//! The generated references: fields of agents, command line, configuration, environment, diagnostics. Each is printed by
//! the program from the tables that define it, and a stale one fails the tests.

use std::path::PathBuf;
use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// The program may have to be built first.
const LIMIT: Duration = Duration::from_mins(20);

const PAGES: [&str; 5] = ["agents", "cli", "config", "diagnostics", "environment"];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let only_check = arguments.flag("--check");
    arguments.finish()?;
    if only_check { check() } else { write() }
}

/// Says which stored references differ from what the program would print now.
pub(crate) fn check() -> Result<(), String> {
    let mut stale = Vec::new();
    for page in PAGES {
        if std::fs::read_to_string(file(page)).unwrap_or_default() != generate(page)? {
            stale.push(page);
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "stale: {}; run `cargo xtask reference`",
        stale.join(", ")
    ))
}

fn write() -> Result<(), String> {
    for page in PAGES {
        let path = file(page);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        std::fs::write(&path, generate(page)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn file(page: &str) -> PathBuf {
    workspace::root().join(format!("docs/reference/{page}.md"))
}

fn generate(page: &str) -> Result<String, String> {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--release", "--", "manual", page]);
    step::quiet("grove manual", &mut cargo, LIMIT).map(|finished| finished.stdout_text())
}
