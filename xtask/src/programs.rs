//! `cargo xtask programs`: agent programs as children, where the tests of every day do not go: those by the Agent Client
//! Protocol, and the newest versions of all.

use std::path::PathBuf;
use std::time::Duration;

use crate::tools;
use crate::tools::Agent;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// Some dozen cases, of which some wait for a program's own patience.
const LIMIT: Duration = Duration::from_hours(1);
/// The variable with the engines to try, with commas between them: a difference is reported and does not fail.
const REPORT: &str = "GROVE_TABLE_REPORT";

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

/// The table against the newest version of each that is not the pinned one; one that cannot be installed is said and left
/// out.
fn newest_versions() -> Result<(), String> {
    let mut variables = tools::environment();
    let pinned = [tools::CLAUDE, tools::CODEX, tools::PI_AGENT, tools::COPILOT];
    let by_protocol = [tools::OPENCODE, tools::GEMINI];
    let newer = |agents: &[Agent], variables: &mut Vec<_>| {
        let newer = agents.iter().filter(|agent| take_newest(agent, variables));
        newer.map(Agent::name).collect::<Vec<_>>().join(",")
    };
    let tests = "run_sessions::engines";
    for (engines, test) in [
        (newer(&pinned, &mut variables), "table::every_program"),
        (
            newer(&by_protocol, &mut variables),
            "acp_programs::programs_by_the_protocol_come",
        ),
    ] {
        if engines.is_empty() {
            continue;
        }
        let test = format!("{tests}::{test}");
        let mut cargo = workspace::cargo();
        cargo
            .args(["test", "--quiet", "--package", "grove", "--test", "it"])
            .args([&test, "--", "--include-ignored", "--nocapture"])
            .envs(variables.iter().cloned())
            .env(REPORT, &engines);
        step::show("the newest programs", &mut cargo, LIMIT)?;
        if engines
            .split(',')
            .any(|engine| engine == tools::CLAUDE.name())
        {
            say_how_it_delegates(&variables);
        }
    }
    Ok(())
}

/// The session in which Claude Code delegates through `grove mcp`, with the newest version; what differs is said.
fn say_how_it_delegates(variables: &[(&'static str, PathBuf)]) {
    let mut cargo = workspace::cargo();
    cargo
        .args(["test", "--quiet", "--package", "grove", "--test", "it"])
        .args(["mcp_delegation::", "--", "--nocapture"])
        .envs(variables.iter().cloned());
    match step::show("the newest Claude Code delegates", &mut cargo, LIMIT) {
        Ok(()) => println!("PROGRAM claude: delegates as the pinned one does"),
        Err(why) => println!("PROGRAM claude: delegates in another way, as shown above: {why}"),
    }
}

/// Installs the newest version of a program and has the tests find it, if it is another one than the pinned.
fn take_newest(agent: &Agent, variables: &mut Vec<(&'static str, PathBuf)>) -> bool {
    let (name, pinned) = (agent.name(), agent.version());
    match agent.install_newest() {
        Ok(None) => {
            println!("PROGRAM {name}: the newest is the pinned {pinned}");
            false
        }
        Ok(Some((version, variable, program))) => {
            println!("PROGRAM {name}: pinned {pinned}, newest {version}");
            variables.retain(|(known, _)| *known != variable);
            variables.push((variable, program));
            true
        }
        Err(why) => {
            let why = why.trim().replace('\n', " ");
            println!("PROGRAM {name}: pinned {pinned}, the newest cannot be had: {why}");
            false
        }
    }
}
