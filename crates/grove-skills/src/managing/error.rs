//! The reasons why something was not changed, and hints on what to do instead.

use std::path::Path;

use grove_fs::FsError;

/// The reasons for changing nothing.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// The request itself cannot be written as it was made.
    #[error("{0}")]
    BadRequest(String, Vec<String>),
    /// It cannot be done as things are.
    #[error("{0}")]
    Refused(String, Vec<String>),
    /// It could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl ManageError {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into(), Vec::new())
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into(), Vec::new())
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::BadRequest(_, hints) | Self::Refused(_, hints) = &mut self {
            hints.push(hint.into());
        }
        self
    }

    /// The hints on what to do instead, if there are any.
    pub fn hints(&self) -> &[String] {
        match self {
            Self::BadRequest(_, hints) | Self::Refused(_, hints) => hints,
            Self::Fs(_) => &[],
        }
    }

    /// A field is missing or does not take the value; the message may name it already.
    pub(super) fn field(field: &str, message: &str) -> Self {
        Self::bad_request(if message.contains(&format!("`{field}`")) {
            message.to_owned()
        } else {
            format!("`{field}`: {message}")
        })
    }

    pub(super) fn no_home(why: &str) -> Self {
        Self::refused(format!("{why}, so there is nowhere to write to"))
            .hint("set HOME to the absolute path of your home folder")
    }

    pub(super) fn no_project() -> Self {
        Self::refused("there is no project here").hint("change to the project's folder")
    }

    /// No skill, agent or chain has the name.
    pub(super) fn not_found(noun: &str, name: &str, near: &[String]) -> Self {
        Self::refused(format!("no {noun} is called `{name}`")).hint(if near.is_empty() {
            format!("`grove {noun}s list` lists them all")
        } else {
            format!("did you mean `{}`?", near.join("`, `"))
        })
    }

    pub(super) fn file_exists(file: &Path) -> Self {
        let file = file.display();
        Self::refused(format!("{file} already exists with other content"))
            .hint("check the file and move it away")
    }

    pub(super) fn changed(file: &Path) -> Self {
        let file = file.display();
        Self::refused(format!(
            "{file} changed in the meantime, so it was left alone"
        ))
        .hint("check it and try again")
    }

    pub(super) fn not_plain(file: &Path) -> Self {
        Self::refused(format!("{} is a link or leads elsewhere", file.display()))
            .hint("change the file that it leads to yourself")
    }

    pub(super) fn unreadable(file: &Path, why: &str) -> Self {
        Self::refused(format!("{} cannot be edited: {why}", file.display()))
    }
}
