//! One root: walk it, read what is new, and say what was in the way.

use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::content::Content;
use grove_catalog::identity::{self, Layout};
use grove_catalog::ignore_rules::IgnoreRules;
use grove_catalog::resolve::Candidate;
use grove_fs::probe_walk::{
    self, Counts, Found, Links, Place, Probe, RootFolder, Visitor, Walk, WalkOptions,
};
use grove_fs::stamp::{fingerprint, now};
use grove_fs::{FsError, Stamp};
use grove_spec::skill::{Parsed, parse_bytes};
use grove_spec::{Code, Diagnostic};

use crate::cache::{Known, RootCache};
use crate::planning::PlannedRoot;
use crate::troubles;

/// Folders without a skill that are opened in one root.
const MAX_FOLDERS: usize = 2_000;
/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 200_000;

/// What a root gave.
#[derive(Debug, Default)]
pub(crate) struct LoadedRoot {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) counts: Counts,
}

/// How a root is to be scanned.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) layout: probe_walk::Layout,
    pub(crate) max_candidates: usize,
    pub(crate) max_bytes: u64,
    pub(crate) max_depth: usize,
    pub(crate) lifted: bool,
}

/// Walks a root and updates what is known of it.
pub(crate) fn load(
    planned: &PlannedRoot,
    index: usize,
    scan: &Scan,
    cache: &mut RootCache,
) -> LoadedRoot {
    let links = if planned.root.source.contains_links() {
        Links::Contain
    } else {
        Links::Follow
    };
    // Opening at once saves a look at every file, and is right only when all will be read.
    let read_all = cache.is_empty() && scan.max_candidates == usize::MAX;
    let options = WalkOptions {
        links,
        probe: if read_all { Probe::Open } else { Probe::Stat },
        layout: scan.layout,
        max_candidates: scan.max_candidates,
        max_bytes: scan.max_bytes,
        max_depth: scan.max_depth,
        max_folders: if scan.lifted { 200_000 } else { MAX_FOLDERS },
        max_entries: MAX_ENTRIES,
    };
    let folder = RootFolder {
        base: planned.base.clone(),
        path: planned.root.path.clone(),
    };
    match probe_walk::walk(
        &folder,
        &options,
        &Reader {
            cache,
            read_at: now(),
            pinned: links == Links::Contain,
        },
    ) {
        Ok(walk) => gather(planned, index, &options, walk, cache),
        Err(error) => LoadedRoot {
            diagnostics: vec![unopened(&error, links)],
            ..LoadedRoot::default()
        },
    }
}

/// A file that was read or known.
struct Item {
    known: Known,
    was_read: bool,
}

struct Reader<'a> {
    cache: &'a RootCache,
    read_at: i64,
    /// Whether the root's content is pinned by digest.
    pinned: bool,
}

impl Visitor for Reader<'_> {
    type Item = Item;

    fn known(&self, stamp: &Stamp) -> Option<Item> {
        let known = self.cache.get(stamp)?;
        // The same root may have been read as somebody's own, without digests.
        let enough = !self.pinned || known.content.digest.is_some();
        enough.then_some(Item {
            known,
            was_read: false,
        })
    }

    fn read(&self, stamp: &Stamp, bytes: &[u8]) -> Item {
        let digest = self.pinned.then(|| Digest::of(bytes));
        let content = Content::new(fingerprint(bytes), digest, stamp.size, parse_bytes(bytes));
        Item {
            known: Known {
                stamp: *stamp,
                read_at: self.read_at,
                content: Arc::new(content),
            },
            was_read: true,
        }
    }
}

fn gather(
    planned: &PlannedRoot,
    index: usize,
    options: &WalkOptions,
    walk: Walk<Item>,
    cache: &mut RootCache,
) -> LoadedRoot {
    let root = &planned.root;
    let mut loaded = LoadedRoot {
        counts: walk.counts,
        ..LoadedRoot::default()
    };
    let ignored = ignore_rules(&walk);
    let mut all = Vec::with_capacity(walk.found.len());
    let mut any_read = false;
    let total = walk.found.len();
    loaded.candidates.reserve(total);
    for found in walk.found {
        if ignored
            .as_ref()
            .is_some_and(|rules| is_ignored(rules, &found))
        {
            continue;
        }
        let content = match found.content {
            probe_walk::Content::Item(Item { known, was_read }) => {
                any_read |= was_read;
                let content = Arc::clone(&known.content);
                all.push(known);
                // A note beside skill folders is no skill unless it has frontmatter.
                if found.place == Place::Flat && !content.head().flags.has_frontmatter {
                    continue;
                }
                content
            }
            probe_walk::Content::NotRead => continue,
            probe_walk::Content::Refused(trouble) => refused(troubles::refusal(&trouble, options)),
        };
        let layout = match found.place {
            Place::Root => Layout::Root,
            Place::Flat => Layout::Flat,
            Place::Folder => Layout::Folder,
        };
        loaded.candidates.push(Candidate {
            root: index,
            layout,
            id: identity::id(layout, found.path, &root.path),
            file: found.stamp.map(|stamp| (stamp.id.device, stamp.id.inode)),
            hard_links: found.links,
            through_link: found.through_link,
            content,
        });
    }
    loaded.diagnostics.extend(
        walk.problems
            .iter()
            .map(|problem| troubles::problem(&root.path, problem)),
    );
    loaded.diagnostics.extend(troubles::limits(
        &root.path,
        &root.label,
        walk.limits,
        options,
        total,
    ));
    cache.replace(all, any_read);
    loaded
}

fn refused(finding: Diagnostic) -> Arc<Content> {
    Arc::new(Content::new(0, None, 0, Parsed::refused(finding)))
}

fn unopened(error: &FsError, links: Links) -> Diagnostic {
    let escapes = links == Links::Contain && matches!(error.source.raw_os_error(), Some(18 | 40));
    if escapes {
        return Diagnostic::new(
            Code::PathEscape,
            "the root is a link that leads out of its project and was not followed",
        )
        .in_file(&error.path);
    }
    Diagnostic::new(Code::RootUnreadable, format!("{error}: {}", error.source)).in_file(&error.path)
}

fn ignore_rules(walk: &Walk<Item>) -> Option<IgnoreRules> {
    if walk.ignore_files.is_empty() {
        return None;
    }
    let mut rules = IgnoreRules::default();
    for file in &walk.ignore_files {
        rules.add(&file.folder, &file.text);
    }
    Some(rules)
}

fn is_ignored(rules: &IgnoreRules, found: &Found<Item>) -> bool {
    match found.place {
        Place::Root => false,
        Place::Flat => rules.ignores_file(&format!("{}.md", found.path)),
        Place::Folder => {
            rules.ignores_folder(&found.path)
                || rules.ignores_file(&format!("{}/SKILL.md", found.path))
        }
    }
}
