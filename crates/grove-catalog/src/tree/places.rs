//! The places where children may lie: paths below a branch, and the skill at each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grove_spec::{Code, Diagnostic};

use crate::identity::SkillLayout;
use crate::snapshot::{Skill, SkillLocation};

/// The folder inside a skill's own where children are searched for first.
const CHILDREN_FOLDER: &str = "skills";

/// The skill in each folder of each root, by path.
pub(super) type Places<'a> = BTreeMap<(usize, &'a str), usize>;

pub(super) fn places(skills: &[Skill]) -> Places<'_> {
    let mut places = Places::new();
    for (at, skill) in skills.iter().enumerate() {
        for place in all_places(skill).filter(|place| place.layout == SkillLayout::Folder) {
            places.insert((place.root, &*place.id), at);
        }
    }
    places
}

/// Returns the paths that findings name as there and not used: files and folders in the way, files beyond the limit of
/// candidates, and files whose children lie too deep.
pub(super) fn mentioned_paths(found: &[Diagnostic]) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for (finding, file) in found
        .iter()
        .filter_map(|finding| Some((finding, finding.file.as_ref()?)))
    {
        match finding.code {
            Code::CandidateLimit => paths.extend(finding.names.iter().map(|name| file.join(name))),
            // The finding is about the branch itself, and about a child that was used.
            Code::ChildDuplicate => {}
            Code::TreeDepth => {
                paths.insert(file.clone());
            }
            _ => {
                let folder = file.parent().filter(|_| file.ends_with("SKILL.md"));
                paths.insert(folder.unwrap_or(file).to_path_buf());
            }
        }
    }
    paths
}

pub(super) fn all_places(skill: &Skill) -> impl Iterator<Item = &SkillLocation> {
    std::iter::once(&skill.place).chain(&skill.also_at)
}

/// Returns the start of every path below a skill's folder; a flat file has none.
pub(super) fn path_below(place: &SkillLocation) -> Option<String> {
    match place.layout {
        SkillLayout::Root => Some(String::new()),
        SkillLayout::Folder => Some(format!("{}/", place.id)),
        SkillLayout::Flat => None,
    }
}

/// Returns the two places of a child, by path below the root.
pub(super) fn child_paths(place: &SkillLocation, name: &str) -> Option<[String; 2]> {
    let start = path_below(place)?;
    Some([
        format!("{start}{CHILDREN_FOLDER}/{name}"),
        format!("{start}{name}"),
    ])
}

/// Returns the folder where children are searched for first, by path below the root.
pub(super) fn children_folder(place: &SkillLocation) -> Option<String> {
    path_below(place).map(|start| start + CHILDREN_FOLDER)
}

/// Returns a path below a skill's folder as one below its children's folder.
pub(super) fn in_children_folder(path: &str) -> Option<&str> {
    path.strip_prefix(CHILDREN_FOLDER)?.strip_prefix('/')
}
