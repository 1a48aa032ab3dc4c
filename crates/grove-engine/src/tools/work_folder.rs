//! The folders that a child may read and write. The kernel resolves every path beneath a folder that is held open, so that
//! no link leads out and there is no moment between check and use.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use grove_fs::FsError;
use grove_fs::atomic::{self, ReplaceOutcome};
use grove_fs::files;
use grove_fs::held_folder::{HeldFolder, PathKind};
use grove_fs::listing::{self, ListedKind, Listing, ListingBounds};
use grove_fs::probe_walk::LinkRule;
use grove_fs::stamp;
use grove_plan::{FoundFile, Place as ChildPlace};
use grove_spec::Digest;

use super::ToolError;

/// The most bytes of a file that is given to a model.
const MOST_READ: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct WorkFolder {
    /// The folder that it works in, without links.
    folder: PathBuf,
    readable: RwLock<Vec<ReadableFolder>>,
    /// The names with which locations that it was told begin, and the folders that they stand for.
    location_aliases: BTreeMap<String, PathBuf>,
    /// The folder that the steps of its run share, which it may also write to, without links.
    shared: Option<PathBuf>,
}

#[derive(Debug)]
struct ReadableFolder {
    told: PathBuf,
    /// The same path without links.
    real: PathBuf,
}

impl ReadableFolder {
    fn of(told: &Path) -> Option<Self> {
        let real = files::canonical(told).ok()?;
        let told = files::plain(told);
        Some(Self { told, real })
    }

    fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let below = path.strip_prefix(&self.told);
        below.or_else(|_| path.strip_prefix(&self.real)).ok()
    }
}

/// A path that a model gave, as a folder that may be used and a path below it.
struct Place {
    base: PathBuf,
    below: String,
}

impl WorkFolder {
    /// The folders of a place. A path that leads elsewhere than when the run was asked for is left out: another child may
    /// have put a link there.
    pub(crate) fn new(folder: PathBuf, place: &ChildPlace) -> Self {
        let is_as_planned =
            |it: &ReadableFolder| it.real == *place.linked.get(&it.told).unwrap_or(&it.told);
        let readable = place.readable.iter();
        let readable = readable.filter_map(|path| ReadableFolder::of(path));
        Self {
            folder,
            readable: RwLock::new(readable.filter(is_as_planned).collect()),
            location_aliases: place.location_aliases.clone(),
            shared: None,
        }
    }

    /// Lets the child read and write the folder that the steps of a run share.
    pub(crate) fn share(&mut self, folder: &Path) -> Result<(), LinkedFolder> {
        if let Some(above) = folder.parent().filter(|above| files::is_there(above)) {
            require_unlinked(above)?;
        }
        files::make_folder(folder)?;
        require_unlinked(folder)?;
        self.shared = Some(folder.to_path_buf());
        Ok(())
    }

    /// Lets the child read a folder.
    pub(crate) fn grant(&self, folder: &Path) {
        if let Some(folder) = ReadableFolder::of(folder) {
            let mut readable = self
                .readable
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            readable.push(folder);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let own = std::iter::once(&self.folder).chain(&self.shared);
        own.cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let mut all = self.writable();
        let readable = self.readable.read().unwrap_or_else(PoisonError::into_inner);
        all.extend(readable.iter().map(|it| it.real.clone()));
        all
    }

    /// Returns the path that a location stands for, if it begins with one of the names.
    fn listed(&self, location: &str) -> Option<PathBuf> {
        let (begin, rest) = location.split_once('/')?;
        let folder = self.location_aliases.get(begin)?;
        Some(files::plain(&folder.join(rest.trim_start_matches('/'))))
    }

    /// Returns the base and the rest of a path, by how it is written. A location that the child was told stands for its path,
    /// but only if that leads to something that the child may read.
    fn place(&self, path: &str, may_leave: bool) -> Result<Place, ToolError> {
        let path = path.trim();
        let path = if path.is_empty() { "." } else { path };
        if path.contains('\0') {
            return Err(ToolError::Failed("a path has no zero bytes".to_owned()));
        }
        let readable = self.readable.read().unwrap_or_else(PoisonError::into_inner);
        let in_readable = |path: &Path| {
            let found =
                |one: &ReadableFolder| Some((one.real.clone(), one.below(path)?.to_path_buf()));
            readable.iter().filter(|_| may_leave).find_map(found)
        };
        let in_own = |path: &Path| {
            let mut own = std::iter::once(&self.folder).chain(&self.shared);
            own.find_map(|own| Some((own.clone(), path.strip_prefix(own).ok()?.to_path_buf())))
        };
        let whole = files::plain(&self.folder.join(path));
        let listed = self.listed(path);
        let found = listed.as_deref().and_then(in_readable);
        let found = found
            .or_else(|| in_own(&whole))
            .or_else(|| in_readable(&whole));
        let outside = || ToolError::Outside {
            path: path.to_owned(),
            verb: if may_leave { "read" } else { "written" },
        };
        let (base, below) = found.ok_or_else(outside)?;
        let not_text = || ToolError::Failed("the path is not UTF-8".to_owned());
        let below = below.to_str().ok_or_else(not_text)?.to_owned();
        // A single file that may be read is opened from its folder.
        if below.is_empty() && files::is_file(&base) {
            let name = base.file_name().and_then(|name| name.to_str());
            let (name, folder) = name.zip(base.parent()).ok_or_else(outside)?;
            return Ok(Place {
                base: folder.to_path_buf(),
                below: name.to_owned(),
            });
        }
        Ok(Place { base, below })
    }

    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, ToolError> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::unlinked(&base)?;
        Ok(folder.read(&below, LinkRule::Contain, MOST_READ)?)
    }

    /// Returns the state of a file, by which a later write to it is noticed.
    pub(crate) fn found(&self, path: &str) -> Result<FoundFile, ToolError> {
        let Place { base, below } = self.place(path, true)?;
        let stamp = match stamp::of_path(&base.join(below)) {
            Ok(stamp) => stamp,
            Err(error) if error.is_not_found() => return Ok(FoundFile::Absent),
            Err(error) => return Err(error.into()),
        };
        Ok(FoundFile::There {
            digest: self.read(path).ok().map(|bytes| Digest::of(&bytes)),
            inode: stamp.id.inode,
            ctime: stamp.ctime,
        })
    }

    /// Returns a path as it is below the work folder; none if it lies elsewhere.
    pub(crate) fn below_work_folder(&self, path: &str) -> Option<String> {
        let place = self.place(path, true).ok()?;
        (place.base == self.folder).then_some(place.below)
    }

    pub(crate) fn is_folder(&self, path: &str) -> Result<bool, ToolError> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::unlinked(&base)?;
        let kind = folder.entry(&below, LinkRule::Contain)?;
        Ok(kind == PathKind::Folder)
    }

    pub(crate) fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::unlinked(&base)?;
        let folder = folder.folder(&below, LinkRule::Contain)?;
        Ok(listing::entries(&folder, most)?)
    }

    pub(crate) fn below(
        &self,
        path: &str,
        bounds: ListingBounds,
        enters: impl Fn(&str, ListedKind) -> bool,
    ) -> Result<Listing, ToolError> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::unlinked(&base)?;
        let folder = folder.folder(&below, LinkRule::Contain)?;
        Ok(listing::below(&folder, bounds, enters)?)
    }

    /// Writes a whole file; returns true if it was there.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> Result<bool, ToolError> {
        let Place { base, below } = self.place(path, false)?;
        if is_of_git(&base.join(&below)) {
            let message = format!("`{path}` belongs to git and cannot be written");
            return Err(ToolError::Failed(message));
        }
        let folder = HeldFolder::unlinked(&base)?;
        let spot = folder.spot(Path::new(&below))?;
        match folder.read(&below, LinkRule::Contain, MOST_READ) {
            Ok(before) => match atomic::replace_at(&spot, &before, content)? {
                ReplaceOutcome::Done => Ok(true),
                ReplaceOutcome::Changed => {
                    let message = format!("`{path}` changed while it was written; try again");
                    Err(ToolError::Failed(message))
                }
            },
            Err(error) if error.is_not_found() => {
                atomic::create_at(&spot, content, None)?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The reason why a folder is not worked in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkedFolder {
    #[error("a link was put in the place of {}: it leads to {}", folder.display(), real.display())]
    Link { folder: PathBuf, real: PathBuf },
    #[error(transparent)]
    Files(#[from] FsError),
}

/// Refuses a folder to which a link leads: a child that works beside it may have put it there, and what is done in the folder
/// would be done elsewhere.
pub(crate) fn require_unlinked(folder: &Path) -> Result<(), LinkedFolder> {
    let real = files::canonical(folder)?;
    if real == folder {
        return Ok(());
    }
    let folder = folder.to_path_buf();
    Err(LinkedFolder::Link { folder, real })
}

/// Returns true if a file is in a folder that git keeps, or names one. The base has no links and none is followed below it,
/// so that names decide; a folder by another name is known by its content.
fn is_of_git(file: &Path) -> bool {
    let is_name = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let keeps_commits = |folder: &Path| {
        let has_head = files::is_there(&folder.join("HEAD"));
        let is_linked = files::is_file(&folder.join("commondir"));
        let has_all = ["objects", "refs"]
            .iter()
            .all(|name| files::is_folder(&folder.join(name)));
        has_head && (is_linked || has_all)
    };
    file.components().any(is_name) || file.ancestors().skip(1).any(keeps_commits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work_in(folder: &Path) -> WorkFolder {
        let folder = files::canonical(folder).unwrap();
        let place = ChildPlace {
            folder: folder.clone(),
            readable: Vec::new(),
            linked: BTreeMap::new(),
            location_aliases: BTreeMap::new(),
            worktree: None,
        };
        WorkFolder::new(folder, &place)
    }

    #[test]
    fn nothing_of_git_is_written_by_any_name_or_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |below: &str| folder.path().join(below);
        for below in [
            ".git/hooks",
            "sub",
            "bare/objects",
            "bare/refs",
            "tree",
            "kept",
        ] {
            files::make_folder(&at(below)).unwrap();
        }
        let write = |path: PathBuf| atomic::write_mode(&path, b"x", 0o600).unwrap();
        for below in [
            ".git/config",
            "bare/HEAD",
            "bare/config",
            "kept/HEAD",
            "kept/commondir",
            "tree/.git",
        ] {
            write(at(below));
        }
        std::os::unix::fs::symlink(".git", at("link")).unwrap();
        std::os::unix::fs::symlink(".git/config", at("file")).unwrap();
        let work = work_in(folder.path());
        for path in [
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            "./sub/../.git/config",
            ".GIT/config",
            "sub/.git",
            "sub/.git/config",
            "tree/.git",
            "link/config",
            "file",
            "bare/config",
            "bare/hooks/post-checkout",
            "kept/config.worktree",
        ] {
            let whole = at(path).display().to_string();
            for path in [path, &whole] {
                assert!(work.write(path, b"evil").is_err(), "{path}");
            }
        }
        assert_eq!(files::read_bounded(&at(".git/config"), 10).unwrap(), b"x");
        for path in [
            ".gitignore",
            ".github/x.yml",
            "sub/config",
            "HEAD",
            "git/config",
        ] {
            work.write(path, b"fine").unwrap();
        }
        let inside = work_in(&at(".git"));
        assert!(inside.write("config", b"evil").is_err());
    }
}
