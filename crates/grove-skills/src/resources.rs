//! The files beside a skill's own: named, never opened.

use grove_catalog::identity;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::FsError;
use grove_fs::file_names::{self, FileNames, NamesOptions};

use crate::library::Library;

/// Folder levels below a skill's folder in which resources are looked for.
const RESOURCE_DEPTH: usize = 4;
/// Entries that are looked at for resources.
const RESOURCE_ENTRIES: usize = 500;
/// Entries whose names are read for resources, so that those looked at are the first in order.
const RESOURCE_NAMES: usize = 20_000;

impl Library {
    /// The names of the files beside a skill's own; none of them is opened.
    ///
    /// Folders of other skills are theirs, and a flat file has no folder of its own.
    pub fn resources(&self, snapshot: &Snapshot, skill: &Skill) -> Result<FileNames, FsError> {
        let folder = match skill.place.layout {
            identity::Layout::Flat => return Ok(FileNames::default()),
            identity::Layout::Root => "",
            identity::Layout::Folder => skill.id(),
        };
        let Some(planned) = self.planned_root(snapshot, skill) else {
            return Ok(FileNames::default());
        };
        let below = |other: &Skill| {
            let inside = match folder {
                "" => other.id(),
                folder => other.id().strip_prefix(folder)?.strip_prefix('/')?,
            };
            let theirs = other.place.root == skill.place.root
                && other.place.layout == identity::Layout::Folder;
            theirs.then(|| inside.to_owned())
        };
        let options = NamesOptions {
            max_depth: RESOURCE_DEPTH,
            max_entries: RESOURCE_ENTRIES,
            max_read: RESOURCE_NAMES,
            not_in: &snapshot.skills.iter().filter_map(below).collect(),
            except: &["SKILL.md"],
        };
        file_names::below(&planned.folder(), planned.links(), folder, &options)
    }
}
