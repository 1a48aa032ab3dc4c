//! Looking below a skill's own folder, where its file declares that there is more to find.
//!
//! This comes after the walk, because only a file that was read says so, and level by level, because what is found
//! there may declare more. A folder is listed once and each declared child is tried relative to it, as in the walk.
//! Wherever links lead, a declaration is followed once, so the work is bounded by the files and what they declare.

use std::collections::{BTreeSet, HashSet};
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::listing::{self, GroupListing};
use super::names::SortedNames;
use super::probe::{ChildOutcome, WalkWorker, join, link_target, skill_file_in};
use super::queue::{GroupFolder, WalkQueue};
use super::{
    DeclaredFolders, FileLayout, SharedWalk, ThreadOutput, Visitor, WalkProblem, WalkTrouble,
    WalkedContent, WalkedFile,
};
use crate::beneath;
use crate::stamp::FileId;

/// The folder in a skill's own in which its children are looked for first.
const CHILDREN_FOLDER: &str = "skills";

/// Finds what the files found so far declare below their folders, and what those declare.
pub(super) fn follow<V: Visitor>(
    shared: &SharedWalk<'_, V>,
    total: &mut ThreadOutput<V::Item>,
    found: &mut Vec<WalkedFile<V::Item>>,
) {
    let layout = shared.options.layout;
    if !(layout.declared && layout.stop_at_skill) {
        return;
    }
    let mut followed = HashSet::new();
    let mut level = declaring(shared, &mut followed, found, &mut total.recognised);
    let limit = shared.options.max_candidates;
    let mut left = limit.saturating_sub(found.len() + total.recognised());
    let queue = WalkQueue::new();
    for _ in 1..shared.options.max_levels {
        if level.is_empty() {
            return;
        }
        let mut worker = WalkWorker::new(shared, &queue, ThreadOutput::default());
        for branch in &level {
            worker.follow_declaration(branch);
        }
        let (mut output, mut new) = (worker.output, worker.run);
        if new.len() + output.recognised() > left {
            new.extend(output.recalled(shared));
        }
        let mut new = super::joined(vec![new]);
        output.take_candidates(shared, &mut new, left);
        left = left.saturating_sub(new.len() + output.recognised());
        level = declaring(shared, &mut followed, &new, &mut output.recognised);
        found.append(&mut new);
        total
            .limits
            .candidates
            .append(&mut output.limits.candidates);
        total.absorb(output);
    }
    let beyond = level.into_iter().map(|branch| WalkProblem {
        path: branch.file(),
        trouble: WalkTrouble::TooDeep,
    });
    total.problems.extend(beyond);
}

struct DeclaringFile {
    /// Its folder's path below the root; empty for the root's own file.
    path: String,
    through_link: bool,
    below: DeclaredFolders,
}

impl DeclaringFile {
    fn file(&self) -> String {
        join(&self.path, "SKILL.md")
    }
}

/// The files that declare something and have not been followed: those in real folders first, so that a
/// link to one of them does not decide where its children are found.
fn declaring<V: Visitor>(
    shared: &SharedWalk<'_, V>,
    followed: &mut HashSet<FileId>,
    found: &[WalkedFile<V::Item>],
    recognised: &mut [Range<usize>],
) -> Vec<DeclaringFile> {
    let of = |found: &WalkedFile<V::Item>| branch_of(shared.visitor, found);
    let mut all: Vec<(FileId, DeclaringFile)> = found.iter().filter_map(of).collect();
    let numbers = shared.visitor.declaring();
    if !numbers.is_empty() {
        recognised.sort_unstable_by_key(|range| range.start);
    }
    let is_met = |number: usize| {
        let after = recognised.partition_point(|range| range.start <= number);
        let range = after.checked_sub(1).and_then(|at| recognised.get(at));
        range.is_some_and(|range| range.contains(&number))
    };
    let met = numbers.iter().filter(|number| is_met(**number));
    all.extend(met.filter_map(|number| of(&shared.visitor.recall(*number)?)));
    all.sort_by(|(_, a), (_, b)| (a.through_link, &a.path).cmp(&(b.through_link, &b.path)));
    all.retain(|(file, _)| followed.insert(*file));
    all.into_iter().map(|(_, branch)| branch).collect()
}

fn branch_of<V: Visitor>(
    visitor: &V,
    found: &WalkedFile<V::Item>,
) -> Option<(FileId, DeclaringFile)> {
    if matches!(found.content, WalkedContent::NotRead) {
        return None;
    }
    // A flat file has no folder of its own.
    if found.layout == FileLayout::Flat {
        return None;
    }
    let branch = DeclaringFile {
        below: visitor.declares(found)?,
        path: found.path.to_string(),
        through_link: found.through_link,
    };
    Some((found.stamp?.id, branch))
}

struct ChildrenFolder {
    folder: OwnedFd,
    group: GroupFolder,
    children: SortedNames,
}

impl<V: Visitor> WalkWorker<'_, V> {
    /// Looks for what a file declares, in `skills` in its folder and then in the folder itself.
    fn follow_declaration(&mut self, branch: &DeclaringFile) {
        let own = GroupFolder {
            path: branch.path.clone(),
            depth: 0,
            through_link: branch.through_link,
        };
        let Some(own) = self.open_holder(own, &branch.below) else {
            return;
        };
        let inner = own.children.find(CHILDREN_FOLDER).map(|entry| GroupFolder {
            path: join(&branch.path, CHILDREN_FOLDER),
            depth: 1,
            through_link: branch.through_link || entry.is_link,
        });
        let inner = inner.and_then(|group| self.open_holder(group, &branch.below));
        let mut twins = Vec::new();
        for name in wanted(&branch.below, inner.as_ref(), &own) {
            let tried = inner.as_ref().map_or(ChildOutcome::NoSkill, |inner| {
                self.try_declared(inner, name)
            });
            match (tried, &inner) {
                (ChildOutcome::NoSkill | ChildOutcome::NoFolder, _) => {
                    self.try_declared(&own, name);
                }
                (_, Some(inner)) if self.is_other_skill(&own, inner, name) => {
                    twins.push(name.to_owned());
                }
                _ => {}
            }
        }
        if !twins.is_empty() {
            self.problem(branch.file(), WalkTrouble::Twins(twins));
        }
    }

    fn open_holder(
        &mut self,
        group: GroupFolder,
        below: &DeclaredFolders,
    ) -> Option<ChildrenFolder> {
        let options = self.shared.options;
        let path = if group.path.is_empty() {
            "."
        } else {
            &group.path
        };
        let path = CString::new(path).ok()?;
        self.output.counts.folder_opens += 1;
        let folder = match beneath::open_folder(self.shared.root.as_fd(), &path, options.links) {
            Ok(folder) => folder,
            Err(errno) => {
                self.open_failed(group, &path, errno);
                return None;
            }
        };
        let GroupListing {
            children,
            unprintable,
            cut,
            ..
        } = match listing::list(folder.as_fd(), options.max_entries, &options.layout) {
            Ok(listing) => listing,
            Err(errno) => {
                self.problem(group.path, WalkTrouble::Error(errno.to_string()));
                return None;
            }
        };
        if cut {
            self.output.limits.entries.push(group.path.clone());
        }
        self.output.folders.push(group.path.clone());
        // A name that is not declared is no child unless every folder is.
        if *below == DeclaredFolders::Every {
            for name in unprintable {
                self.problem(join(&group.path, &name), WalkTrouble::UnprintableName);
            }
        }
        Some(ChildrenFolder {
            folder,
            group,
            children,
        })
    }

    fn try_declared(&mut self, holder: &ChildrenFolder, name: &str) -> ChildOutcome {
        let Some(child) = holder.children.find(name) else {
            return ChildOutcome::NoSkill;
        };
        let GroupFolder {
            path, through_link, ..
        } = &holder.group;
        let path = join(path, name);
        let tried = self.try_skill(&holder.folder, &path, child, *through_link || child.is_link);
        if tried == ChildOutcome::NoSkill {
            self.output.folders.push(path.clone());
        }
        if tried == ChildOutcome::NoSkill && child.is_link && self.leads_nowhere(&path) {
            let target = link_target(holder.folder.as_fd(), child.name);
            self.problem(path, WalkTrouble::BrokenLink(target));
        }
        tried
    }

    fn leads_nowhere(&mut self, path: &str) -> bool {
        let looked = CString::new(path).map(|path| self.facts_of(self.shared.root.as_fd(), &path));
        matches!(looked, Ok(Err(Errno::NOENT)))
    }

    /// Returns true if a folder of the same name beside `skills` has a skill file that is another file.
    fn is_other_skill(&mut self, own: &ChildrenFolder, inner: &ChildrenFolder, name: &str) -> bool {
        if own.children.find(name).is_none() {
            return false;
        }
        let file = |worker: &mut Self, holder: &ChildrenFolder| {
            let mut buffer = Vec::new();
            let path = join(&holder.group.path, name);
            let file = skill_file_in(&path, &mut buffer);
            let facts = worker.facts_of(worker.shared.root.as_fd(), file).ok()?;
            Some(facts.stamp.id)
        };
        let other = file(self, own);
        other.is_some() && other != file(self, inner)
    }
}

fn wanted<'a>(
    below: &'a DeclaredFolders,
    inner: Option<&'a ChildrenFolder>,
    own: &'a ChildrenFolder,
) -> Vec<&'a str> {
    match below {
        DeclaredFolders::Named(names) => {
            let mut seen = HashSet::new();
            let names = names.iter().map(String::as_str);
            names.filter(|name| seen.insert(*name)).collect()
        }
        DeclaredFolders::Every => {
            let holders = inner.into_iter().chain([own]);
            let all = holders.flat_map(|holder| holder.children.iter());
            let names: BTreeSet<&str> = all.filter_map(|child| child.name.to_str().ok()).collect();
            names.into_iter().collect()
        }
    }
}
