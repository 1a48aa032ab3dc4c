//! `cargo xtask bench acceptance`: scripted children, honest and not, judged here and by pi-subagents.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::{step, tools, workspace};

/// Some seventy runs, and a build.
const LIMIT: Duration = Duration::from_mins(30);

pub(super) fn run(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    tools::install_node()?;
    let peer = tools::pi_subagents_acceptance()?;
    let mut cargo = workspace::cargo();
    cargo
        .args(["test", "--quiet", "--package", "grove", "--test", "it"])
        .args(["run_sessions::gates", "--", "--nocapture"])
        .envs(tools::environment())
        .env("GROVE_GATES_PEER", peer);
    step::show("the children", &mut cargo, LIMIT)
}
