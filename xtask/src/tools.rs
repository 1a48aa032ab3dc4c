//! Programs that the tests and benchmarks compare with, installed into `target/test-tools`.
//!
//! Every install is idempotent: a marker holds the version it was made for. Nothing is installed
//! outside that folder but `strace`, `tmux`, `faketime` and Python itself, which only the system's package manager has.

mod agents;
mod marker;
mod node;
mod oracle;
mod retry;
mod system_packages;

pub(crate) use agents::{Agent, CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, PI_AGENT};
pub(crate) use node::{
    install_browser_tools, install_mcp_conformance, install_mcp_sdk, install_node, install_pi,
    node_program, pi_package, pi_subagents_acceptance,
};
pub(crate) use oracle::{install_mcp, install_oracle, install_signatures, install_yaml};
pub(crate) use system_packages::{install_system_package, install_system_packages};

use std::path::PathBuf;
use std::time::Duration;

use grove_testkit::need::variable;
use grove_testkit::shared;

use grove_testkit::task::workspace;

/// A package index that answers slower than this will not answer.
const INSTALL_LIMIT: Duration = Duration::from_mins(10);

/// The variables through which the tests find what is installed; only what is there is named.
pub(crate) fn environment() -> Vec<(&'static str, PathBuf)> {
    [
        (variable::ORACLE_PYTHON, oracle::python()),
        (variable::MCP_PYTHON, oracle::mcp_python()),
        (variable::MCP_SDK, node::mcp_sdk()),
        (variable::MCP_CONFORMANCE, node::mcp_conformance()),
        (variable::NODE, node_program()),
        (variable::PLAYWRIGHT, node::playwright()),
        (variable::AXE, node::axe()),
        PI_AGENT.variable(),
        CLAUDE.variable(),
        CODEX.variable(),
        COPILOT.variable(),
        // Tests run in the folders of their crates, where a relative path would lead elsewhere.
        (shared::SHARED_VARIABLE, shared::shared()),
    ]
    .into_iter()
    .filter_map(|(name, path)| path.ok().map(|path| (name, path)))
    .collect()
}

fn folder() -> PathBuf {
    workspace::target().join("test-tools")
}
