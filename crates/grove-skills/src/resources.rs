//! The files beside a skill's own: named without opening one, and read one by one.

use std::collections::BTreeSet;
use std::path::Path;

use grove_catalog::identity;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::FsError;
use grove_fs::file_names::{self, FileNames, NamesOptions};
use grove_fs::probe_walk;
use grove_spec::{Code, Diagnostic};

use crate::sources::SkillFiles;
use crate::trusting;

/// Folder levels below a skill's folder in which resources are looked for.
const RESOURCE_DEPTH: usize = 4;
const RESOURCE_ENTRIES: usize = 500;
/// Entries whose names are read for resources, so that those looked at are the first in order.
const RESOURCE_NAMES: usize = 20_000;

/// Folder levels below a skill's folder in which all its files are looked for.
const FILE_DEPTH: usize = 16;

/// Returns true if a file beside a skill's own has the same name on a file system that ignores case.
pub(crate) fn is_twin(name: &str) -> bool {
    name.eq_ignore_ascii_case("SKILL.md") && name != "SKILL.md"
}

pub(crate) fn twin_findings(names: &[String], file: &Path) -> Vec<Diagnostic> {
    let twins = names.iter().filter(|name| is_twin(name));
    let said = twins.map(|name| {
        let message = format!("`{name}` is not `SKILL.md`, which is beside it");
        Diagnostic::new(Code::FileNameCase, message).in_file(file)
    });
    said.collect()
}

impl SkillFiles {
    /// Findings about files beside those of skills that differ from them in case alone. Every folder is listed for it,
    /// so this is for commands that look for faults.
    pub fn all_twins(&self, snapshot: &Snapshot) -> Vec<Diagnostic> {
        let options = NamesOptions {
            max_depth: 0,
            max_entries: RESOURCE_ENTRIES,
            max_read: RESOURCE_NAMES,
            not_in: &BTreeSet::new(),
            except: &["SKILL.md"],
        };
        let of = |skill: &Skill| {
            let found = self.named_files(skill, &options).unwrap_or_default();
            twin_findings(&found.names, &snapshot.location(&skill.place))
        };
        snapshot.skills.iter().flat_map(of).collect()
    }

    /// The names of the files beside a skill's own; none of them is opened.
    ///
    /// Folders of other skills are theirs, and a flat file has no folder of its own.
    pub fn resources(&self, snapshot: &Snapshot, skill: &Skill) -> Result<FileNames, FsError> {
        let options = NamesOptions {
            max_depth: RESOURCE_DEPTH,
            max_entries: RESOURCE_ENTRIES,
            max_read: RESOURCE_NAMES,
            not_in: &folders_below(snapshot, skill, |_| true),
            except: &["SKILL.md"],
        };
        self.named_files(skill, &options)
    }

    /// The names of all files in a skill's folder but its own, at most `most` of them.
    ///
    /// The files of skills below it that a model may have are its files too; those of others are not.
    pub fn all_files(
        &self,
        snapshot: &Snapshot,
        skill: &Skill,
        most: usize,
    ) -> Result<FileNames, FsError> {
        let options = NamesOptions {
            max_depth: FILE_DEPTH,
            max_entries: most,
            max_read: RESOURCE_NAMES,
            not_in: &folders_below(snapshot, skill, |other| !other.model_invocable()),
            except: &["SKILL.md"],
        };
        self.named_files(skill, &options)
    }

    /// Reads one of a skill's files by its path below the skill's folder.
    ///
    /// A file that is not named is not read either: hidden entries, `node_modules`, folders of skills that a model may
    /// not have, and the targets of links outside the folder.
    pub fn read_file(
        &self,
        snapshot: &Snapshot,
        skill: &Skill,
        path: &str,
        max_bytes: u64,
    ) -> Result<Vec<u8>, ReadRefusal> {
        let folder = folder_of(skill).ok_or(ReadRefusal::NoSuchFile)?;
        let named =
            |part: &str| !(part.is_empty() || part.starts_with('.') || part == "node_modules");
        if !path.split('/').all(named) {
            return Err(ReadRefusal::NoSuchFile);
        }
        let closed = folders_below(snapshot, skill, |other| !other.model_invocable());
        let is_closed = |folder: &String| {
            path.strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if closed.iter().any(is_closed) {
            return Err(ReadRefusal::NoSuchFile);
        }
        let planned = self.planned(skill);
        let planned = planned.ok_or(ReadRefusal::NoSuchFile)?;
        let read =
            probe_walk::read_in_folder(&planned.folder(), planned.links(), folder, path, max_bytes);
        let bytes = read.map_err(|error| {
            if error.is_not_found() {
                ReadRefusal::NoSuchFile
            } else {
                ReadRefusal::Fs(error)
            }
        })?;
        let root = snapshot.root_of(skill).ok_or(ReadRefusal::NoSuchFile)?;
        let below_root = match folder {
            "" => path.to_owned(),
            folder => format!("{folder}/{path}"),
        };
        if trusting::file_is_as_judged(&root.trust, &below_root, &bytes) {
            Ok(bytes)
        } else {
            Err(ReadRefusal::Changed)
        }
    }

    /// Returns true if everything in a skill's folder is what was judged, by digest, or if nothing is pinned.
    pub(crate) fn folder_is_as_judged(&self, snapshot: &Snapshot, skill: &Skill) -> bool {
        let planned = self.planned(skill);
        planned
            .zip(snapshot.root_of(skill))
            .is_some_and(|(planned, root)| {
                trusting::folder_is_as_judged(planned, &root.trust, skill)
            })
    }

    fn named_files(&self, skill: &Skill, options: &NamesOptions<'_>) -> Result<FileNames, FsError> {
        match (folder_of(skill), self.planned(skill)) {
            (Some(folder), Some(planned)) => {
                file_names::below(&planned.folder(), planned.links(), folder, options)
            }
            _ => Ok(FileNames::default()),
        }
    }
}

/// The reasons for refusing a file of a skill.
#[derive(Debug, thiserror::Error)]
pub enum ReadRefusal {
    /// It is not there, or it is not the skill's to give.
    #[error("no such file in this skill")]
    NoSuchFile,
    /// It is not what was looked at when the project was trusted.
    #[error("it is not the file that was trusted")]
    Changed,
    /// It could not be read, or is too large.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// A skill's folder below its root; none for a flat file.
pub(crate) fn folder_of(skill: &Skill) -> Option<&str> {
    match skill.place.layout {
        identity::SkillLayout::Flat => None,
        identity::SkillLayout::Root => Some(""),
        identity::SkillLayout::Folder => Some(skill.id()),
    }
}

/// The folders of other skills below a skill's folder, by path below it.
fn folders_below(
    snapshot: &Snapshot,
    skill: &Skill,
    wanted: impl Fn(&Skill) -> bool,
) -> BTreeSet<String> {
    let folder = folder_of(skill).unwrap_or("");
    let below = |other: &Skill| {
        let inside = match folder {
            "" => other.id(),
            folder => other.id().strip_prefix(folder)?.strip_prefix('/')?,
        };
        let theirs = other.place.root == skill.place.root
            && other.place.layout == identity::SkillLayout::Folder;
        (theirs && wanted(other)).then(|| inside.to_owned())
    };
    snapshot.skills.iter().filter_map(below).collect()
}
