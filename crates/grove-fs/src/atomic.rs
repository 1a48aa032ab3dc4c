//! Writing a file so that a reader sees the old content or the new one, never a part.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::FsError;

/// Whether the content must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is checked when read and can be made again.
    Cache,
    /// It must not be lost.
    Durable,
}

/// Replaces a file, making its folder first if needed.
pub fn write(path: &Path, content: &[u8], durability: Durability) -> Result<(), FsError> {
    write_with_mode(path, content, durability, None)
}

/// Replaces a file that nobody but its owner may read, or whose mode is known.
pub fn write_mode(path: &Path, content: &[u8], mode: u32) -> Result<(), FsError> {
    write_with_mode(path, content, Durability::Durable, Some(mode))
}

fn write_with_mode(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
) -> Result<(), FsError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| FsError::new("create", folder, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{name}.{}.{unique}.tmp", std::process::id()));
    let written = write_temporary(&temporary, content, durability, mode)
        .and_then(|()| rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(|error| FsError::new("write", path, error))?;
    if durability == Durability::Durable {
        let folder_file =
            std::fs::File::open(folder).map_err(|error| FsError::new("open", folder, error))?;
        folder_file
            .sync_all()
            .map_err(|error| FsError::new("sync", folder, error))?;
    }
    Ok(())
}

fn write_temporary(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    if mode.is_some() {
        // Closed to others from the first moment; opened up below if the mode says so.
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    if let Some(mode) = mode {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    file.write_all(content)?;
    if durability == Durability::Durable {
        file.sync_all()?;
    }
    Ok(())
}

/// Renames, waiting out what a virus scanner or an indexer holds for a moment.
fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    for wait in [10, 25, 50, 100] {
        match std::fs::rename(from, to) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(wait));
            }
            done => return done,
        }
    }
    std::fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_one_whole_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/file");
        write(&path, &vec![b'a'; 100_000], Durability::Cache).unwrap();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4_u8)
                .map(|n| {
                    scope.spawn({
                        let path = &path;
                        move || {
                            (0..50).for_each(|_| {
                                write(path, &vec![b'a' + n; 100_000], Durability::Cache).unwrap();
                            });
                        }
                    })
                })
                .collect();
            while !writers
                .iter()
                .all(std::thread::ScopedJoinHandle::is_finished)
            {
                let seen = std::fs::read(&path).unwrap();
                assert!(seen.len() == 100_000 && seen.iter().all(|b| *b == seen[0]));
            }
        });
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_failed_write_names_the_path_and_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("x"), b"1", Durability::Durable)
            .and_then(|()| write(&folder.path().join("x/y"), b"2", Durability::Cache));
        assert!(error.unwrap_err().to_string().contains('x'));
        assert_eq!(std::fs::read(folder.path().join("x")).unwrap(), b"1");
    }
}
