//! Whole sessions with the real binary, one module for each thing that people do with it.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod activation_regressions;
mod activation_sessions;
mod agent_edits;
mod agent_findings;
mod agent_format_sessions;
mod agent_host_programs;
mod agent_sessions;
mod agreement;
mod author_sessions;
mod cache_sessions;
mod catalog_sessions;
mod chain_sessions;
mod check_sessions;
mod codex_role_sessions;
mod config_sessions;
mod documents;
mod export_powers;
mod export_programs;
mod export_safety;
mod export_sessions;
mod exported;
mod fails_closed;
mod faults;
mod first_hour;
mod host_programs;
mod host_views;
mod hostile;
mod hostile_agents;
mod init_sessions;
mod kept_trust;
mod layers;
mod list_sessions;
mod manage_sessions;
mod mcp_agents;
mod mcp_clients;
mod mcp_delegation;
mod mcp_host_lists;
mod mcp_hostile;
mod mcp_install_sessions;
mod mcp_programs;
mod mcp_sdk;
mod named_folder_sessions;
mod near_yaml_sessions;
mod nobody_sessions;
mod opencode_sessions;
mod overview_sessions;
mod package_sessions;
mod pi_file_sessions;
mod plugin_sessions;
mod prompt_sessions;
mod real_corpus;
mod real_mcp_server;
#[cfg(feature = "reference")]
mod reference_oracle;
mod regressions;
mod run_sessions;
mod search_sessions;
mod system_calls;
mod terminal_sessions;
mod tree_sessions;
mod trust_sessions;
mod try_sessions;
mod undo_sessions;
mod watch_sessions;
mod web_sessions;
mod workflow_sessions;

use grove_testkit::session::Session;

/// An empty home in which the program of this build is run.
fn session() -> Session {
    Session::new(env!("CARGO_BIN_EXE_grove"))
}
