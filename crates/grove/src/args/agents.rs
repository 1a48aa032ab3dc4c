//! The arguments of `grove agents …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ExportArgs, TypedFields};

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List every agent with its state
    List {
        #[command(flatten)]
        discovery: AgentDiscoveryArgs,
        /// The owner of the agents to list; those of Grove and of packages are always listed
        #[arg(long, value_enum, default_value_t = AgentScopeArg::Both, conflicts_with = "agents_dirs")]
        scope: AgentScopeArg,
        /// List what another host would see, by its rules
        #[arg(long, value_name = "HOST", conflicts_with = "agents_dirs")]
        host: Option<String>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one agent, by name, alias, id, or id@root
    Show {
        /// Its name, alias, id, or id@root
        name: String,
        #[command(flatten)]
        discovery: AgentDiscoveryArgs,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Create an agent and its file
    Create {
        /// Its name; characters that a file name cannot have are left out
        name: String,
        /// Make it where this host reads agents, in the host's own format, and not as Grove's own
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// The package it belongs to; it is then called PACKAGE.NAME
        #[arg(long, value_name = "NAME")]
        package: Option<String>,
        #[command(flatten)]
        asked: TypedFields,
        /// The owner of the file: you or the project
        #[arg(long, value_enum, default_value_t = OwnScope::User)]
        scope: OwnScope,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change fields or the text of an agent and nothing else in its file
    Edit {
        /// Its name, or id@root
        name: String,
        #[command(flatten)]
        asked: TypedFields,
        /// Remove this field from the file (repeatable)
        #[arg(long, value_name = "FIELD")]
        unset: Vec<String>,
        /// Write to the configuration instead of the file, for agents that are not yours to change
        #[arg(long = "override")]
        overriding: bool,
        #[command(flatten)]
        whose: OwnerArgs,
    },
    /// Rename an agent and its file
    Rename(RenameArgs),
    /// Delete an agent's file
    Delete(DeleteArgs),
    /// Switch an agent back on
    Enable(NamedArgs),
    /// Switch an agent off in the configuration
    Disable(NamedArgs),
    /// Remove everything that the configuration says about an agent
    Reset(NamedArgs),
    /// Write agents and their skills in another host's format
    Export(Box<ExportArgs>),
}

/// The name of an agent or a skill, and its owner.
#[derive(Debug, Clone, Args)]
pub(crate) struct NamedArgs {
    /// Its name, or id@root
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) whose: OwnerArgs,
}

/// The arguments of every command that deletes.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(crate) named: NamedArgs,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Another name for a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct RenameArgs {
    /// Its name, or id@root
    pub(crate) name: String,
    /// The name that it gets
    pub(crate) to: String,
    /// The new package; empty for none
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    #[command(flatten)]
    pub(crate) whose: OwnerArgs,
}

/// The owner of the file that is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct OwnerArgs {
    /// The owner of the file; needed if both you and the project have one with this name
    #[arg(long, value_enum)]
    pub(crate) scope: Option<OwnScope>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OwnScope {
    /// Yours, in every project
    User,
    /// Only in this project
    Project,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AgentScopeArg {
    /// Yours, in every project
    User,
    /// Those of this project
    Project,
    /// Yours and the project's
    Both,
}

/// The folders in which agents are looked for.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AgentDiscoveryArgs {
    /// Look for agents in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "agents-dir", value_name = "DIR")]
    pub(crate) agents_dirs: Vec<PathBuf>,
}
