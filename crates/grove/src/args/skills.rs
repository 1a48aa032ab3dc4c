//! `grove skills create | edit | rename | copy | delete | enable | disable`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DeleteArgs, NamedArgs, OwnScope, OwnerArgs};
use crate::agent_fields::pair;

#[derive(Debug, Subcommand)]
pub(crate) enum ManageSkills {
    /// Create a skill and its folder
    Create {
        /// Its name and that of its folder; characters that a name cannot have are left out
        name: String,
        #[command(flatten)]
        asked: SkillFields,
        /// Make it where this host reads skills, and not in Grove's own folder
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// The owner of the file: you or the project
        #[arg(long, value_enum, default_value_t = OwnScope::User)]
        scope: OwnScope,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change fields or the text of a skill and nothing else in its file
    Edit {
        /// Its name, or id@root
        name: String,
        #[command(flatten)]
        asked: SkillFields,
        /// Remove this field from the file (repeatable)
        #[arg(long, value_name = "FIELD")]
        unset: Vec<String>,
        #[command(flatten)]
        whose: OwnerArgs,
    },
    /// Rename a skill and its folder
    Rename {
        /// Its name, or id@root
        name: String,
        /// The name that it gets
        to: String,
        #[command(flatten)]
        whose: OwnerArgs,
    },
    /// Copy a skill and its files to a folder that a host reads
    Copy {
        /// Its name, or id@root
        name: String,
        /// The host, as `grove hosts` names it
        #[arg(long, value_name = "HOST")]
        to: String,
        /// The owner of the folder to copy to: you or the project
        #[arg(long, value_enum, default_value_t = OwnScope::User)]
        scope: OwnScope,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a skill's folder with everything in it
    Delete(DeleteArgs),
    /// Switch a skill on
    Enable(NamedArgs),
    /// Switch a skill off
    Disable(NamedArgs),
}

/// The fields and the text of a skill.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SkillFields {
    /// What it does and when to use it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
    /// Set any field by its name in the file; an empty value removes it (repeatable)
    #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = pair)]
    pub(crate) fields: Vec<(String, String)>,
    /// The text of its instructions
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "body_file"
    )]
    pub(crate) body: Option<String>,
    /// A file with its text; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
}
