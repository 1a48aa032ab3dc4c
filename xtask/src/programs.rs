//! `cargo xtask programs`: agent programs as children, where the tests of every day do not go: those by the Agent Client
//! Protocol, and the newest versions of all.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::tools::Agent;
use crate::{step, tools, workspace};

/// Some dozen cases, of which some wait for a program's own patience.
const LIMIT: Duration = Duration::from_hours(1);
/// Says what differs and goes on.
const REPORT: (&str, &str) = ("GROVE_TABLE_REPORT", "1");

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let (acp, newest) = (arguments.flag("--acp"), arguments.flag("--newest"));
    arguments.finish()?;
    match (acp, newest) {
        (true, false) => by_the_protocol(),
        (false, true) => newest_versions(),
        _ => Err("which programs? --acp or --newest".to_owned()),
    }
}

/// The pinned versions of those by the protocol.
fn by_the_protocol() -> Result<(), String> {
    let mut variables = tools::environment();
    for agent in [tools::OPENCODE, tools::GEMINI] {
        agent.install()?;
        let (variable, program) = agent.variable();
        variables.push((variable, program?));
    }
    let mut cargo = workspace::cargo();
    cargo
        .args(
            "test --quiet --package grove --test it run_sessions::engines::acp_programs".split(' '),
        )
        .args(["--", "--ignored", "--nocapture", "--test-threads", "1"])
        .envs(variables);
    step::show("programs by the protocol", &mut cargo, LIMIT)
}

/// The table against the newest version of each; one that cannot be installed is said and left out.
fn newest_versions() -> Result<(), String> {
    let mut variables = tools::environment();
    let pinned = [tools::CLAUDE, tools::CODEX, tools::PI_AGENT, tools::COPILOT];
    let by_protocol = [tools::OPENCODE, tools::GEMINI];
    let mut is_complete = true;
    for agent in pinned.iter().chain(&by_protocol) {
        is_complete &= take_newest(agent, &mut variables);
    }
    let mut tests = vec!["run_sessions::engines::table::every_program"];
    if by_protocol.iter().all(|agent| agent.variable().1.is_ok()) || is_complete {
        tests.push("run_sessions::engines::acp_programs::programs_by_the_protocol_come");
    }
    for test in tests {
        let mut cargo = workspace::cargo();
        cargo
            .args([
                "test",
                "--quiet",
                "--package",
                "grove",
                "--test",
                "it",
                test,
            ])
            .args(["--", "--include-ignored", "--nocapture"])
            .envs(variables.iter().cloned())
            .env(REPORT.0, REPORT.1);
        step::show("the newest programs", &mut cargo, LIMIT)?;
    }
    Ok(())
}

/// Installs the newest version of a program and has the tests find it; says which one that is.
fn take_newest(agent: &Agent, variables: &mut Vec<(&'static str, std::path::PathBuf)>) -> bool {
    let (name, pinned) = (agent.name(), agent.version());
    match agent.install_newest() {
        Ok((version, variable, program)) => {
            println!("PROGRAM {name}: pinned {pinned}, newest {version}");
            variables.retain(|(known, _)| *known != variable);
            variables.push((variable, program));
            true
        }
        Err(why) => {
            let why = why.lines().find(|line| !line.trim().is_empty());
            let why = why.unwrap_or_default();
            println!("PROGRAM {name}: pinned {pinned}, the newest cannot be installed: {why}");
            if let (variable, Ok(program)) = agent.variable() {
                variables.retain(|(known, _)| *known != variable);
                variables.push((variable, program));
            }
            false
        }
    }
}
