//! The command line: what was typed, without side effects.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds every skill you have, says which are usable and why, and what a model would see of them.
#[derive(Debug, Parser)]
#[command(
    name = "grove",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// For `grove` alone.
    #[command(flatten)]
    pub(crate) look: Look,
}

/// Where to look and how to print; on every command that looks at skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Look {
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Show what another host would have
    #[arg(long, value_name = "NAME", conflicts_with = "roots")]
    pub(crate) host: Option<String>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Skills: list, show, check, roots
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// What a model is told of the skills; with --host, what another host would tell its model
    Catalog {
        #[command(flatten)]
        look: Look,
    },
    /// Check skill files strictly: folders, SKILL.md files, or folders of skills
    Validate {
        /// What to check
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust a project as it is now, so that its skills are used
    Trust {
        /// The project; the one around the working folder by default
        folder: Option<PathBuf>,
        /// Trust later changes too: for folders you write yourself
        #[arg(long)]
        follow: bool,
        /// List what is trusted
        #[arg(long, conflicts_with_all = ["folder", "follow"])]
        list: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take trust back from a project
    Untrust {
        /// The project; the one around the working folder by default
        folder: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Known hosts, where they look and what they spend
    Hosts {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What is here and what needs attention, counted by source
    Doctor {
        #[command(flatten)]
        look: Look,
    },
    /// The settings in force and where each comes from
    Config {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Behave as the reference library of the Agent Skills standard does
    #[command(disable_help_flag = true)]
    Reference {
        /// `validate`, `read-properties` or `to-prompt`, then paths
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a generated reference page as Markdown
    #[command(hide = true)]
    Manual {
        /// Which page
        page: Page,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Every skill with its state
    List {
        #[command(flatten)]
        look: Look,
        /// Only skills in this state (repeatable)
        #[arg(long = "state", value_name = "STATE")]
        states: Vec<String>,
    },
    /// One skill: by name, id, or id@root
    Show {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        look: Look,
    },
    /// Everything that needs attention; exits 1 if there is anything
    Check {
        #[command(flatten)]
        look: Look,
    },
    /// The folders that are looked in, strongest first
    Roots {
        #[command(flatten)]
        look: Look,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Page {
    Cli,
    Config,
    Diagnostics,
    Environment,
}
