//! Why something was not changed, and what to do instead.

use std::path::PathBuf;

use grove_catalog::Source;
use grove_fs::FsError;
use grove_spec::agent::overrides::Field;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// There is nowhere to write to.
    #[error("HOME is not set, so there is nowhere to write to")]
    NoHome,
    /// The working folder is in no project.
    #[error("there is no project here")]
    NoProject,
    /// Nothing of the name can be kept.
    #[error("nothing is left of the name `{0}`: it needs letters or digits")]
    Name(String),
    /// Nothing of the package can be kept.
    #[error("nothing is left of the package `{0}`: it needs letters or digits")]
    Package(String),
    /// A field is missing or does not take the value.
    #[error("{}", about(field, message))]
    Field {
        /// The field.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// Somebody has the name.
    #[error("`{name}` already exists: {}", file.display())]
    Exists {
        /// The name.
        name: String,
        /// Whose it is.
        file: PathBuf,
    },
    /// Something else is at the place.
    #[error("{} already exists and is not what is to be made", .0.display())]
    FileExists(PathBuf),
    /// Nobody is called so.
    #[error("no {noun} is called `{name}`")]
    Nobody {
        /// The word for one.
        noun: &'static str,
        /// What was asked for.
        name: String,
        /// Names that are spelled nearly so.
        near: Vec<String>,
    },
    /// It came from elsewhere.
    #[error("`{name}` cannot be changed: it {}", came_from(*source_of))]
    ReadOnly {
        /// The word for one.
        noun: &'static str,
        /// Who.
        name: String,
        /// From where.
        source_of: Source,
    },
    /// It is written as only its host writes.
    #[error("`{name}` cannot be changed here: {} is in the format of its host", file.display())]
    OtherFormat {
        /// Who.
        name: String,
        /// Where.
        file: PathBuf,
    },
    /// There is one in each scope.
    #[error("`{name}` is in both scopes: {}", listed(files))]
    BothScopes {
        /// The agent.
        name: String,
        /// Both.
        files: Vec<PathBuf>,
    },
    /// There are several in one scope.
    #[error("several files are called `{name}`: {}", addresses.join(", "))]
    Several {
        /// The agent.
        name: String,
        /// By what each can be called.
        addresses: Vec<String>,
    },
    /// There is one, and in the other scope.
    #[error("`{name}` is not in this scope: it is {}", file.display())]
    OtherScope {
        /// The agent.
        name: String,
        /// Where it is.
        file: PathBuf,
    },
    /// Somebody changed it in the meantime.
    #[error("{} changed in the meantime, so it was left as it is", .0.display())]
    Changed(PathBuf),
    /// It is a link, or leads out of its folder.
    #[error("{} is a link or leads elsewhere", .0.display())]
    NotPlain(PathBuf),
    /// A link of the project leads out of it.
    #[error("{} leads to {}, which is not in the project", link.display(), to.display())]
    LedOut {
        /// The link.
        link: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// A file of this name would not be read as an agent's of this name.
    #[error(
        "no agent can be called `{name}`: its file would be {file_name}, which is not read as this agent's"
    )]
    Reserved {
        /// The name.
        name: String,
        /// What its file would be called.
        file_name: String,
    },
    /// It is not a Markdown file with frontmatter, or cannot be read.
    #[error("{} cannot be edited: {why}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A stronger file says otherwise.
    #[error("`{name}` stays switched {stays}: it is {why}")]
    Overruled {
        /// Who.
        name: String,
        /// `on` or `off`.
        stays: &'static str,
        /// Which file says so, and in which line.
        why: String,
        /// What would help.
        ways: Vec<String>,
    },
    /// The field cannot be overridden.
    #[error("`{0}` cannot be overridden")]
    NoOverride(String),
    /// It could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl ManageError {
    /// What to do instead; empty when there is nothing to say.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoProject => vec!["change into the project's folder".to_owned()],
            Self::Exists { .. } => vec!["change that one, or choose another name".to_owned()],
            Self::FileExists(_) => vec!["look at the file and move it away".to_owned()],
            Self::Nobody { noun, near, .. } if near.is_empty() => {
                vec![format!("`grove {noun}s list` lists them all")]
            }
            Self::Nobody { near, .. } => vec![format!("did you mean `{}`?", near.join("`, `"))],
            Self::OtherFormat { name, .. } => vec![
                "change the file itself".to_owned(),
                format!(
                    "override single fields with `grove agents edit {name} --override …`, or switch it off with `grove agents disable {name}`"
                ),
            ],
            Self::ReadOnly {
                noun: "chain",
                name,
                ..
            } => vec![format!(
                "`grove chains create {name} …` makes one of your own that takes its place"
            )],
            Self::ReadOnly { name, .. } => vec![
                format!(
                    "override single fields with `grove agents edit {name} --override …`, or switch it off with `grove agents disable {name}`"
                ),
                format!(
                    "`grove agents create {name} …` makes one of your own that takes its place"
                ),
            ],
            Self::BothScopes { .. } => {
                vec!["say which with `--scope user` or `--scope project`".to_owned()]
            }
            Self::Several { .. } => vec!["say which by one of these addresses".to_owned()],
            Self::OtherScope { .. } => vec!["give the other `--scope`".to_owned()],
            Self::Changed(_) => vec!["look at it and try again".to_owned()],
            Self::NotPlain(_) => vec!["change the file that it leads to yourself".to_owned()],
            Self::LedOut { .. } => vec![
                "nothing was written; look at the link, and replace it with a folder of the project's own"
                    .to_owned(),
            ],
            Self::Overruled { ways, .. } => ways.clone(),
            Self::Reserved { .. } => vec!["choose another name".to_owned()],
            Self::NoOverride(_) => {
                let fields: Vec<&str> = Field::all().map(Field::as_str).collect();
                vec![format!("these can: {}", fields.join(", "))]
            }
            Self::NoHome
            | Self::Name(_)
            | Self::Package(_)
            | Self::Field { .. }
            | Self::Unreadable { .. }
            | Self::Fs(_) => Vec::new(),
        }
    }
}

/// What is wrong with a field, which the message may name already.
fn about(field: &str, message: &str) -> String {
    if message.contains(&format!("`{field}`")) {
        message.to_owned()
    } else {
        format!("`{field}`: {message}")
    }
}

fn came_from(source: Source) -> &'static str {
    match source {
        Source::Bundled => "comes with Grove",
        Source::Package => "comes with a package",
        Source::Extra => "is in an extra folder",
        Source::Managed => "is managed",
        Source::User | Source::Project => "is written elsewhere",
    }
}

fn listed(files: &[PathBuf]) -> String {
    let shown: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    shown.join(", ")
}
