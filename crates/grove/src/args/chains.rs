//! `grove chains …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DeleteArgs, OwnScope, RenameArgs, Whose};

#[derive(Debug, Subcommand)]
pub(crate) enum ChainsCommand {
    /// Every chain with its state
    List {
        #[command(flatten)]
        look: ChainLook,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// One chain with its steps: by name, id, or id@root
    Show {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        look: ChainLook,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What needs attention, by where chains come from; exits 1 if there is anything
    Check {
        #[command(flatten)]
        look: ChainLook,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a chain: a `.chain.md`, or a `.chain.json` where its steps need one
    Create {
        /// Its name; what a file cannot have is left out of it
        name: String,
        /// The package it belongs to; it is then called PACKAGE.NAME
        #[arg(long, value_name = "NAME")]
        package: Option<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// Its steps: a list in JSON, or a file with one; `-` for standard input
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        steps: String,
        /// Whose it is
        #[arg(long, value_enum, default_value_t = OwnScope::User)]
        scope: OwnScope,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the description or the steps of a chain, and nothing else of its file
    Edit {
        /// Its name, or id@root
        name: String,
        /// Another description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Other steps: a list in JSON, or a file with one; `-` for standard input
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        steps: Option<String>,
        #[command(flatten)]
        whose: Whose,
    },
    /// Give a chain and its file another name
    Rename(RenameArgs),
    /// Delete a chain's file
    Delete(DeleteArgs),
}

/// Where to look for chains.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChainLook {
    /// Look for chains in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "chains-dir", value_name = "DIR")]
    pub(crate) chains_dirs: Vec<PathBuf>,
}
