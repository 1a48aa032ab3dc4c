//! Session files: read whole, replaced whole, and changed by one process at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_catalog::disclosure::{DisclosureSession, SessionFault};
use grove_fs::atomic::{self, Durability};
use grove_fs::lock::Lock;
use grove_fs::{FsError, files};

/// A session is a few kilobytes; a thousand long arguments are still below this.
const MAX_BYTES: u64 = 4 << 20;

/// An update takes milliseconds; a process that holds the lock longer is stopped or stuck.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The reasons why a session file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionFileError {
    /// Its content is not a session.
    #[error("the session file {} cannot be used: {fault}", path.display())]
    Fault {
        /// The path of the session file.
        path: PathBuf,
        /// The fault in its content.
        fault: SessionFault,
    },
    /// Its folder is not there.
    #[error("the folder of the session file {} does not exist", .0.display())]
    NoFolder(PathBuf),
    /// It is a folder, a pipe or a device.
    #[error("the session file {} is not a plain file", .0.display())]
    NotAFile(PathBuf),
    /// It is a link, and replacing it would replace the link.
    #[error("the session file {} is a link", .0.display())]
    Link(PathBuf),
    /// It would be larger than what is read.
    #[error("the session file {} would have more than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// It could not be read, locked or written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl SessionFileError {
    /// The hint on what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Fault { fault, .. } => fault.help(),
            Self::NoFolder(_) => "make the folder, or give a file in one that exists",
            Self::NotAFile(_) => "give a file, or a path where there is nothing yet",
            Self::Link(_) => "give the file that the link leads to",
            Self::TooLarge(_) => "give another file to start a new session",
            Self::Fs(_) => "check the path and its permissions",
        }
    }
}

/// Reads a session; none when there is no file.
pub fn read(path: &Path) -> Result<Option<DisclosureSession>, SessionFileError> {
    let fault = |fault: SessionFault| SessionFileError::Fault {
        path: path.to_path_buf(),
        fault,
    };
    plain(path)?;
    let bytes = match files::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| fault(SessionFault::Damaged("it is not UTF-8".to_owned())))?;
    DisclosureSession::parse(&text).map(Some).map_err(fault)
}

/// Changes a session while no other process can; what `fresh` gives is changed when there is no file.
///
/// Nothing is written when the change is refused or changes nothing.
pub fn update<T, E: From<SessionFileError>>(
    path: &Path,
    fresh: impl FnOnce() -> DisclosureSession,
    change: impl FnOnce(&mut DisclosureSession) -> Result<T, E>,
) -> Result<T, E> {
    if files::is_link(path) {
        return Err(SessionFileError::Link(path.to_path_buf()).into());
    }
    if !path.parent().is_some_and(files::is_folder) {
        return Err(SessionFileError::NoFolder(path.to_path_buf()).into());
    }
    // Before the lock, which is a file beside it.
    plain(path)?;
    let _lock = Lock::take(path, LOCK_WAIT).map_err(SessionFileError::Fs)?;
    let before = read(path)?;
    let mut session = before.clone().unwrap_or_else(fresh);
    let done = change(&mut session)?;
    if before.as_ref() != Some(&session) {
        write(path, &session)?;
    }
    Ok(done)
}

fn plain(path: &Path) -> Result<(), SessionFileError> {
    let is_there = files::mode(path).is_ok();
    if is_there && !files::is_file(path) {
        return Err(SessionFileError::NotAFile(path.to_path_buf()));
    }
    Ok(())
}

fn write(path: &Path, session: &DisclosureSession) -> Result<(), SessionFileError> {
    let text = session.print().map_err(|fault| SessionFileError::Fault {
        path: path.to_path_buf(),
        fault,
    })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(SessionFileError::TooLarge(path.to_path_buf()));
    }
    atomic::write(path, text.as_bytes(), Durability::Durable)?;
    Ok(())
}
