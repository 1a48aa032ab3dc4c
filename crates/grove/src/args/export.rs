//! The arguments of `grove agents export`.

use std::path::PathBuf;

use clap::Args;

use super::AgentDiscoveryArgs;

/// The arguments of `grove agents export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// The host: claude, codex, copilot, gemini, opencode or pi
    #[arg(long, value_name = "HOST")]
    pub(crate) host: String,
    /// The agents, by name, alias, id, or id@root [default: all except the bundled ones and the host's own]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Write below this folder [default: the project's]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Put the text of named skills into the agents even if the host reads `skills` itself
    #[arg(long)]
    pub(crate) inline_skills: bool,
    /// Write nothing; exit 1 if there is a warning or if the existing files are out of date
    #[arg(long)]
    pub(crate) check: bool,
    /// Do not ask before writing several agents or replacing files
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) discovery: AgentDiscoveryArgs,
    /// Look for skills in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// At most this many characters for the skills of an agent [default: 100,000]
    #[arg(long, value_name = "CHARS")]
    pub(crate) budget: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
