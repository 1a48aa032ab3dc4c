//! The arguments of `grove chains …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DeleteArgs, OwnScope, OwnerArgs, RenameArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum ChainsCommand {
    /// List every chain with its state
    List {
        #[command(flatten)]
        discovery: ChainDiscoveryArgs,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one chain with its steps, by name, id, or id@root
    Show {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        discovery: ChainDiscoveryArgs,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// List what needs attention, by source; exits 1 if there is anything
    Check {
        #[command(flatten)]
        discovery: ChainDiscoveryArgs,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a chain: a `.chain.md`, or a `.chain.json` if its steps need one
    Create {
        /// Its name; characters that a file name cannot have are left out
        name: String,
        /// The package it belongs to; it is then called PACKAGE.NAME
        #[arg(long, value_name = "NAME")]
        package: Option<String>,
        /// The purpose of the chain
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// Its steps: a JSON list, or a file with one; `-` for standard input
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        steps: String,
        /// The owner of the file: you or the project
        #[arg(long, value_enum, default_value_t = OwnScope::User)]
        scope: OwnScope,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the description or the steps of a chain and nothing else in its file
    Edit {
        /// Its name, or id@root
        name: String,
        /// The description that it gets
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// The new steps: a JSON list, or a file with one; `-` for standard input
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        steps: Option<String>,
        #[command(flatten)]
        whose: OwnerArgs,
    },
    /// Rename a chain and its file
    Rename(RenameArgs),
    /// Delete a chain's file
    Delete(DeleteArgs),
}

/// The folders in which chains are looked for.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChainDiscoveryArgs {
    /// Look for chains in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "chains-dir", value_name = "DIR")]
    pub(crate) chains_dirs: Vec<PathBuf>,
}
