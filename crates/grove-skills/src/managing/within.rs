//! The place where a file is written. A file for a project stays in it: a link that came with the project must not lead
//! the writing elsewhere, nor one that another process puts in its way in the moment before.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_fs::atomic::{self, ReplaceOutcome};
use grove_fs::file_place::FilePlace;
use grove_fs::undo::{PathAfter, UndoRecording};
use grove_fs::{FsError, files};

use super::ManageError;

/// The place of a file that is made, changed or removed.
#[derive(Debug)]
pub(super) struct WritePlace {
    /// The path as people know it.
    path: PathBuf,
    home: WriteBase,
    recording: Arc<UndoRecording>,
}

#[derive(Debug)]
enum WriteBase {
    /// The user's own: links lead where the user wants. The path is without the last of them.
    User(PathBuf),
    /// A project's: its real folder, and the path below it without any link.
    Project { base: PathBuf, below: PathBuf },
}

impl WritePlace {
    /// A place of the user's own; a link in place of the file stays, and what it leads to is written.
    pub(super) fn of_user(recording: &Arc<UndoRecording>, path: PathBuf) -> Self {
        let real = files::canonical(&path).or_else(|_| files::without_links_above(&path));
        let real = real.unwrap_or_else(|_| path.clone());
        Self {
            path,
            home: WriteBase::User(real),
            recording: Arc::clone(recording),
        }
    }

    /// A place below a project's folder, if no link on the way to it leads out of the folder.
    pub(super) fn within(
        recording: &Arc<UndoRecording>,
        root: &Path,
        below: &Path,
    ) -> Result<Self, ManageError> {
        let base = files::canonical(root)?;
        let mut way = root.to_path_buf();
        let mut real = base.clone();
        for part in below {
            way.push(part);
            real.push(part);
            if !files::is_link(&way) {
                continue;
            }
            let leads_to = files::canonical(&way);
            // A link that leads nowhere may lead out of the project once something is there.
            if !leads_to.as_ref().is_ok_and(|to| to.starts_with(&base)) {
                let to = leads_to.or_else(|_| files::link_target(&way))?;
                let (link, to) = (way.display(), to.display());
                let message = format!("{link} leads to {to}, which is not in the project");
                return Err(ManageError::refused(message).hint(
                    "nothing was written; look at the link, and replace it with a folder of the project's own",
                ));
            }
            real = leads_to?;
        }
        let below = real.strip_prefix(&base).unwrap_or(&real).to_path_buf();
        Ok(Self {
            path: way,
            home: WriteBase::Project { base, below },
            recording: Arc::clone(recording),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, whatever links lead to it.
    pub(super) fn real(&self) -> PathBuf {
        match &self.home {
            WriteBase::User(real) => real.clone(),
            WriteBase::Project { base, below } => base.join(below),
        }
    }

    pub(super) fn create(&self, content: &[u8], mode: Option<u32>) -> Result<(), ManageError> {
        self.keep(PathAfter::File(content))?;
        let created = atomic::create_at(&self.held()?, content, mode);
        created.map_err(|error| self.taken(error))
    }

    /// Gives a file with this content the name of another place, where there is none.
    pub(super) fn rename_new(&self, to: &Self, content: &[u8]) -> Result<(), ManageError> {
        self.keep(PathAfter::Nothing)?;
        to.keep(PathAfter::File(content))?;
        let renamed = self.held()?.rename_new(&to.held()?);
        renamed.map_err(|error| to.taken(error))
    }

    /// Gives a folder the name of another place, where there is none.
    pub(super) fn rename_tree(&self, to: &Self) -> Result<(), ManageError> {
        let renamed = self.recording.rename_tree(&self.real(), &to.real());
        renamed.map_err(|error| to.taken(error))
    }

    pub(super) fn remove_tree(&self) -> Result<(), ManageError> {
        Ok(self.recording.remove_tree(&self.real())?)
    }

    fn keep(&self, after: PathAfter<'_>) -> Result<(), ManageError> {
        Ok(self.recording.keep(&[(&self.real(), after)])?)
    }

    fn taken(&self, error: FsError) -> ManageError {
        if error.source.kind() == std::io::ErrorKind::AlreadyExists {
            ManageError::file_exists(&self.path)
        } else {
            error.into()
        }
    }

    pub(super) fn replace(&self, before: &[u8], after: &[u8]) -> Result<(), ManageError> {
        self.keep(PathAfter::File(after))?;
        match atomic::replace_at(&self.held()?, before, after)? {
            ReplaceOutcome::Done => Ok(()),
            ReplaceOutcome::Changed => Err(ManageError::changed(&self.path)),
        }
    }

    /// Removes a plain file that has this content; says whether it did.
    pub(super) fn remove_same(&self, content: &[u8]) -> Result<bool, ManageError> {
        self.keep(PathAfter::Nothing)?;
        Ok(self.held()?.remove_same(content)?)
    }

    /// The place, held. In a project no link is followed from here on: one that was not there is an error.
    fn held(&self) -> Result<FilePlace, ManageError> {
        Ok(match &self.home {
            WriteBase::User(real) => FilePlace::at(real)?,
            WriteBase::Project { base, below } => FilePlace::beneath(base, below)?,
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests put links in the way")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_put_in_the_way_after_the_look_leads_nothing_out_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let (root, out) = (folder.path().join("project"), folder.path().join("out"));
        for base in [&root.join(".grove/agents"), &out] {
            std::fs::create_dir_all(base).unwrap();
            std::fs::write(base.join("x.md"), "old").unwrap();
        }
        let recording = Arc::new(UndoRecording::new(None, "test"));
        let place = |name: &str| {
            WritePlace::within(&recording, &root, &Path::new(".grove/agents").join(name))
        };
        let (new, old) = (place("new.md").unwrap(), place("x.md").unwrap());
        std::fs::rename(root.join(".grove/agents"), root.join("before")).unwrap();
        symlink(&out, root.join(".grove/agents")).unwrap();
        assert!(new.create(b"new", None).is_err());
        assert!(old.replace(b"old", b"new").is_err());
        assert!(old.remove_same(b"old").is_err());
        let names = std::fs::read_dir(&out).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["x.md"]);
        assert_eq!(std::fs::read(out.join("x.md")).unwrap(), b"old");
    }

    #[test]
    fn a_link_that_stays_in_the_project_is_resolved_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("tools/grove")).unwrap();
        symlink("tools/grove", root.join(".grove")).unwrap();
        let recording = Arc::new(UndoRecording::new(None, "test"));
        let below = Path::new(".grove/agents/x.md");
        let place = WritePlace::within(&recording, root, below).unwrap();
        place.create(b"text", None).unwrap();
        assert_eq!(place.path(), root.join(".grove/agents/x.md"));
        assert_eq!(
            std::fs::read(root.join("tools/grove/agents/x.md")).unwrap(),
            b"text"
        );
        let refusal = |done: Result<(), ManageError>| done.unwrap_err().to_string();
        let existing = refusal(place.create(b"more", None));
        assert!(existing.contains("already exists"), "{existing}");
        place.replace(b"text", b"more").unwrap();
        let changed = refusal(place.replace(b"text", b"x"));
        assert!(changed.contains("changed in the meantime"), "{changed}");
        assert!(place.remove_same(b"more").unwrap());
    }
}
