//! Where a child may read and write. The kernel resolves every path beneath a folder that is held open, so that no link
//! leads out and there is no moment between check and use.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use grove_fs::atomic::{self, Replaced};
use grove_fs::files;
use grove_fs::held_folder::{EntryKind, HeldFolder};
use grove_fs::listing::{self, ListedKind, Listing, ListingBounds};
use grove_fs::probe_walk::Links;
use grove_fs::spot::Spot;
use grove_fs::stamp;

/// A file longer than this is not given to a model.
const MOST_READ: u64 = 8 << 20;

/// The folders of a child.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    /// Where it works, without links.
    folder: PathBuf,
    /// Other folders and files that it may read, without links.
    readable: RwLock<Vec<PathBuf>>,
    /// The folder that the steps of its run share, which it may also write to, without links.
    shared: Option<PathBuf>,
}

/// A path that a model gave, as a folder that may be used and a path below it.
struct Place {
    base: PathBuf,
    below: String,
}

impl WorkFolder {
    pub(crate) fn new(folder: &Path, readable: &[PathBuf]) -> Result<Self, String> {
        let folder = files::canonical(folder).map_err(|error| error.to_string())?;
        let readable = readable
            .iter()
            .filter_map(|path| files::canonical(path).ok());
        Ok(Self {
            folder,
            readable: RwLock::new(readable.collect()),
            shared: None,
        })
    }

    /// Lets the folder that the steps of a run share be read and written.
    pub(crate) fn share(&mut self, folder: &Path) -> Result<(), String> {
        files::make_folder(folder).map_err(|error| said(&error))?;
        self.shared = files::canonical(folder).ok();
        Ok(())
    }

    /// Lets a folder be read.
    pub(crate) fn grant(&self, folder: &Path) {
        if let Ok(folder) = files::canonical(folder) {
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

    /// The folders that may be written to.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let own = std::iter::once(&self.folder).chain(&self.shared);
        own.cloned().collect()
    }

    /// Everything that may be read.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let mut all = self.writable();
        let readable = self.readable.read().unwrap_or_else(PoisonError::into_inner);
        all.extend(readable.iter().cloned());
        all
    }

    /// The base and the rest of a path, by how it is written.
    fn place(&self, path: &str, may_leave: bool) -> Result<Place, String> {
        let path = path.trim();
        let path = if path.is_empty() { "." } else { path };
        if path.contains('\0') {
            return Err("a path has no zero bytes".to_owned());
        }
        let whole = files::plain(&self.folder.join(path));
        let readable = self.readable.read().unwrap_or_else(PoisonError::into_inner);
        let others = readable.iter().filter(|_| may_leave);
        let own = std::iter::once(&self.folder).chain(&self.shared);
        let mut bases = own.chain(others);
        let base = bases.find(|base| whole.starts_with(base));
        let outside = || {
            let verb = if may_leave { "read" } else { "written" };
            format!("`{path}` is outside the work folder and cannot be {verb}")
        };
        let base = base.ok_or_else(outside)?;
        let below = whole.strip_prefix(base).map_err(|_| outside())?;
        let below = below.to_str().ok_or("the path is not UTF-8")?.to_owned();
        let base = base.clone();
        // A single file that may be read stands in its folder.
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

    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::open(&base).map_err(|error| said(&error))?;
        folder
            .read(&below, Links::Contain, MOST_READ)
            .map_err(|error| said(&error))
    }

    /// Whether a file is there that was changed after a moment, in milliseconds since 1970, or may have been.
    pub(crate) fn is_changed_since(&self, path: &str, moment: u64) -> Result<bool, String> {
        let Place { base, below } = self.place(path, true)?;
        let stamp = match stamp::of_path(&base.join(below)) {
            Ok(stamp) => stamp,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(said(&error)),
        };
        let moment = i64::try_from(moment.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        Ok(!stamp.settled_before(moment))
    }

    /// A path as it is below the work folder; none for what lies elsewhere.
    pub(crate) fn below_work_folder(&self, path: &str) -> Option<String> {
        let place = self.place(path, true).ok()?;
        (place.base == self.folder).then_some(place.below)
    }

    pub(crate) fn is_folder(&self, path: &str) -> Result<bool, String> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::open(&base).map_err(|error| said(&error))?;
        let kind = folder
            .entry(&below, Links::Contain)
            .map_err(|error| said(&error))?;
        Ok(kind == EntryKind::Folder)
    }

    pub(crate) fn list(&self, path: &str, most: usize) -> Result<Listing, String> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::open(&base).map_err(|error| said(&error))?;
        let folder = folder
            .folder(&below, Links::Contain)
            .map_err(|error| said(&error))?;
        listing::entries(&folder, most).map_err(|error| said(&error))
    }

    pub(crate) fn below(
        &self,
        path: &str,
        bounds: ListingBounds,
        enters: impl Fn(&str, ListedKind) -> bool,
    ) -> Result<Listing, String> {
        let Place { base, below } = self.place(path, true)?;
        let folder = HeldFolder::open(&base).map_err(|error| said(&error))?;
        let folder = folder
            .folder(&below, Links::Contain)
            .map_err(|error| said(&error))?;
        listing::below(&folder, bounds, enters).map_err(|error| said(&error))
    }

    /// Writes a whole file; says whether it was there.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> Result<bool, String> {
        let Place { base, below } = self.place(path, false)?;
        let folder = HeldFolder::open(&base).map_err(|error| said(&error))?;
        let spot = Spot::beneath(&base, Path::new(&below)).map_err(|error| said(&error))?;
        match folder.read(&below, Links::Contain, MOST_READ) {
            Ok(before) => {
                match atomic::replace_at(&spot, &before, content).map_err(|error| said(&error))? {
                    Replaced::Done => Ok(true),
                    Replaced::Changed => {
                        Err(format!("`{path}` changed while it was written; try again"))
                    }
                }
            }
            Err(error) if error.is_not_found() => {
                atomic::create_at(&spot, content, None).map_err(|error| said(&error))?;
                Ok(false)
            }
            Err(error) => Err(said(&error)),
        }
    }
}

fn said(error: &grove_fs::FsError) -> String {
    if error.leads_out() {
        return format!("{} leads out of the work folder", error.path.display());
    }
    format!("{error}: {}", error.source)
}
