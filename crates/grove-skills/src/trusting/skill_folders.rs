//! The content of the folders of a pinned root's skills, remembered by stamps.
//!
//! A discovery compares stamps; a folder with another stamp is scanned again, and of its files only those are read whose
//! stamps differ. What is remembered says nothing about trust: it is what a scan saw, and the rule compares it with the
//! grant. So the file in which it is kept can be lost, and a stamp that is too fresh to be proof is not believed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::folder_content::{FolderContent, FolderContentEntry, SkillFolders};
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::SkillCandidate;
use grove_catalog::snapshot::Skill;
use grove_catalog::trust::{RootTrust, nested_folders};
use grove_fs::FsError;
use grove_fs::cache_file::{self, CacheRead};
use grove_fs::folder_entries::{self, EntryContent, FolderScan, ScanBounds, ScanKnowledge};

use crate::planning::PlannedRoot;
use crate::resources::folder_of;

/// Rises whenever what is stored changes.
const VERSION: u32 = 1;
const MAX_CACHE_BYTES: u64 = 1 << 30;

/// The bounds within which a skill's folder is pinned. A skill with more cannot be pinned whole, and so it is not used.
const BOUNDS: ScanBounds = ScanBounds {
    max_entries: 20_000,
    max_depth: 32,
    max_bytes: 512 << 20,
};

#[derive(Debug, Default)]
pub(crate) struct FolderCache {
    scans: BTreeMap<String, KnownFolder>,
    /// The same in the form that the rule reads.
    contents: Arc<SkillFolders>,
    /// Set if the file on disk is behind.
    stale: bool,
    /// The file that an earlier process left, while it is not read: most roots are not pinned.
    unread: Option<PathBuf>,
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct KnownFolder {
    /// The digest of the skill's own file, from the read that was parsed.
    skill_file: Option<[u8; 32]>,
    /// Folders in it that are other skills' own.
    nested: Vec<String>,
    scan: FolderScan,
}

impl FolderCache {
    /// The present content of the folders of these skills; the same object when nothing changed.
    pub(crate) fn update(
        &mut self,
        planned: &PlannedRoot,
        candidates: &[SkillCandidate],
    ) -> Arc<SkillFolders> {
        self.read_file();
        let skills = skills_with_folders(candidates);
        let as_known = |(id, known): &(&String, &KnownFolder)| {
            skills.get(*id) == Some(&known.skill_file)
                && known.nested == nested_folders(&skills, id)
        };
        let known: Vec<_> = self.scans.iter().filter(as_known).collect();
        let scans: Vec<&FolderScan> = known.iter().map(|(_, known)| &known.scan).collect();
        let looked = folder_entries::unchanged(&planned.folder(), &scans);
        let looked = known
            .iter()
            .zip(looked)
            .filter(|(_, is_unchanged)| *is_unchanged);
        let unchanged: BTreeSet<String> = looked.map(|((id, _), _)| (*id).clone()).collect();
        if unchanged.len() == self.scans.len() && skills.len() == self.scans.len() {
            if self.contents.len() != self.scans.len() {
                self.contents_from_scans();
            }
            return Arc::clone(&self.contents);
        }
        let mut scans = BTreeMap::new();
        for (id, digest) in &skills {
            let known = match self.scans.remove(id) {
                Some(known) if unchanged.contains(id) => known,
                earlier => {
                    self.stale = true;
                    let nested = nested_folders(&skills, id);
                    scan(planned, id, *digest, &nested, earlier.as_ref())
                }
            };
            scans.insert(id.clone(), known);
        }
        self.stale |= !self.scans.is_empty();
        self.scans = scans;
        self.contents_from_scans();
        Arc::clone(&self.contents)
    }

    /// Makes the contents that the rule reads, and keeps the object where nothing in it changed.
    fn contents_from_scans(&mut self) {
        let contents: SkillFolders = self
            .scans
            .iter()
            .map(|(id, known)| (id.clone(), content(&known.scan)))
            .collect();
        if contents != *self.contents {
            self.contents = Arc::new(contents);
        }
    }

    /// The scans of earlier processes, kept beside another file of the root's.
    pub(crate) fn kept_beside(file: &Path) -> Self {
        Self {
            unread: Some(file_beside(file)),
            ..Self::default()
        }
    }

    /// Reads the scans of an earlier process; a file that cannot be used is made anew.
    fn read_file(&mut self) {
        if let Some(file) = self.unread.take()
            && let CacheRead::Content(cached) = cache_file::read(&file, VERSION, MAX_CACHE_BYTES)
            && let Some(bytes) = cached.bytes.get(cached.start..)
        {
            self.scans = postcard::from_bytes(bytes).unwrap_or_default();
        }
    }

    /// Writes the file beside another one of the root's if it is behind.
    pub(crate) fn save(&mut self, file: &Path) -> Result<(), FsError> {
        if !std::mem::replace(&mut self.stale, false) {
            return Ok(());
        }
        let bytes = postcard::to_stdvec(&self.scans).unwrap_or_default();
        cache_file::write(&file_beside(file), VERSION, &bytes)
    }
}

fn file_beside(file: &Path) -> PathBuf {
    file.with_extension("folders")
}

/// The skills that have a folder, by its path below the root, with the digest of each one's own file.
fn skills_with_folders(candidates: &[SkillCandidate]) -> BTreeMap<String, Option<[u8; 32]>> {
    let with_folder = candidates.iter().filter_map(|candidate| {
        let folder = match candidate.layout {
            SkillLayout::Flat => return None,
            SkillLayout::Root => "",
            SkillLayout::Folder => &*candidate.id,
        };
        let digest = candidate.content.digest.map(|digest| *digest.as_bytes());
        Some((folder.to_owned(), digest))
    });
    with_folder.collect()
}

fn scan(
    planned: &PlannedRoot,
    id: &str,
    skill_file: Option<[u8; 32]>,
    nested: &[&str],
    earlier: Option<&KnownFolder>,
) -> KnownFolder {
    let nested: Vec<String> = nested.iter().map(|folder| (*folder).to_owned()).collect();
    let digests: Vec<_> = skill_file
        .iter()
        .map(|digest| ("SKILL.md", *digest))
        .collect();
    let knowledge = ScanKnowledge {
        earlier: earlier.map(|known| &known.scan),
        digests: &digests,
    };
    let folder = planned.folder();
    let scan = folder_entries::scan(&folder, planned.links(), id, &nested, &BOUNDS, &knowledge);
    KnownFolder {
        skill_file,
        nested,
        scan,
    }
}

fn content(scan: &FolderScan) -> FolderContent {
    let entries = scan.entries.iter().map(|entry| {
        let content = match &entry.content {
            EntryContent::File { digest, executable } => FolderContentEntry::File {
                digest: digest.map(Digest::from_bytes),
                executable: *executable,
            },
            EntryContent::Link { target } => FolderContentEntry::Link {
                target: target.clone(),
            },
            EntryContent::Folder => FolderContentEntry::Folder,
            EntryContent::Special => FolderContentEntry::Special,
        };
        (entry.path.clone(), content)
    });
    FolderContent {
        entries: entries.collect(),
        problem: scan.problem.clone(),
    }
}

/// Returns true if a skill's folder is what was judged, by the digest of every file in it, or if nothing is pinned.
pub(crate) fn folder_is_as_judged(planned: &PlannedRoot, trust: &RootTrust, skill: &Skill) -> bool {
    let (RootTrust::Pinned { folders, .. }, Some(id)) = (trust, folder_of(skill)) else {
        return true;
    };
    let skill_file = skill.content.digest.map(|digest| *digest.as_bytes());
    let now = scan(planned, id, skill_file, &nested_folders(folders, id), None);
    folders.get(id) == Some(&content(&now.scan))
}

/// Returns true if the bytes of a file, by its path below the root, are what was judged, or if nothing is pinned.
///
/// A file in the folder of a skill inside another one is the inner one's.
pub(crate) fn file_is_as_judged(trust: &RootTrust, path: &str, bytes: &[u8]) -> bool {
    let RootTrust::Pinned { folders, .. } = trust else {
        return true;
    };
    let ends = path.rmatch_indices('/').map(|(at, _)| at);
    let splits = ends.filter_map(|at| Some((path.get(..at)?, path.get(at + 1..)?)));
    let owner = splits
        .chain([("", path)])
        .find_map(|(folder, below)| Some((folders.get(folder)?, below)));
    let entry = owner.and_then(|(content, below)| {
        let below = folder_entries::path_as_written(below.as_bytes());
        content.file_at(&below)
    });
    matches!(entry, Some(FolderContentEntry::File { digest: Some(judged), .. }) if *judged == Digest::of(bytes))
}
