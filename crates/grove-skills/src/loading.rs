//! One root: walk it, read what is new, and say what was in the way.

use std::path::Path;
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::content::SkillContent;
use grove_catalog::folder_content::SkillFolders;
use grove_catalog::identity::{self, SkillLayout};
use grove_catalog::ignore_rules::IgnoreRules;
use grove_catalog::resolve::SkillCandidate;
use grove_catalog::root::Root;
use grove_catalog::trust::RootTrust;
use grove_fs::probe_walk::{
    self, CallCounts, DeclaredFolders, FileLayout, IgnoreFile, LimitsHit, LinkRule, ProbeOrder,
    VisitedFile, Visitor, WalkOptions, WalkProblem, WalkResult, WalkTrouble, WalkedFile,
};
use grove_fs::stamp::{fingerprint, now};
use grove_fs::{FsError, Stamp};
use grove_spec::package::FolderChoice;
use grove_spec::skill::{DeclaredChildren, ParsedSkill, Requirements, parse_within};
use grove_spec::{Code, Diagnostic};

use crate::cache::{CachedFile, RootCache, WalkPlace};
use crate::last_good::{CandidateKeeper, LastGood, StandInCandidate};
use crate::planning::PlannedRoot;
use crate::troubles;
use crate::trusting::FolderCache;

/// Folders without a skill that are opened in one root.
const MAX_FOLDERS: usize = 2_000;
const MAX_ENTRIES: usize = 200_000;

#[derive(Debug, Default)]
pub(crate) struct LoadedRoot {
    /// The skills, each with root number zero: a root does not know its place among other roots.
    pub(crate) candidates: Vec<SkillCandidate>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The requirements of its skills, to be looked up on the machine.
    pub(crate) requirements: Vec<Requirements>,
    /// The bytes of each candidate as far as they are kept; empty where no version is kept.
    pub(crate) texts: Vec<Option<Arc<[u8]>>>,
    /// Candidates whose file is invalid and whose last good version stands in.
    pub(crate) kept: Vec<StandInCandidate>,
    /// The content of the skills' folders, where content is pinned.
    pub(crate) folders: Arc<SkillFolders>,
    trace: Option<WalkTrace>,
}

/// The facts about a walk that tell whether the next one meets the same.
#[derive(Debug)]
struct WalkTrace {
    scan: RootScan,
    problems: Vec<WalkProblem>,
    limits: LimitsHit,
    ignore_files: Vec<IgnoreFile>,
    folders: Vec<String>,
    keeps: bool,
    chosen: Option<FolderChoice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootScan {
    pub(crate) layout: probe_walk::AcceptedLayouts,
    pub(crate) max_candidates: usize,
    /// The bytes of a file that are kept.
    pub(crate) max_bytes: u64,
    /// The bytes of the largest file that is read at all.
    pub(crate) max_read: u64,
    pub(crate) max_depth: usize,
    pub(crate) lifted: bool,
    /// Set if a file that becomes invalid keeps its last good version, where content is trusted whatever it is.
    pub(crate) keep_good: bool,
    /// Set if skills' folders are looked into although nothing is pinned yet, because the caller is about to pin it.
    pub(crate) all_folders: bool,
}

/// Walks a root and updates what is known of it; gives back `last` itself when nothing changed.
pub(crate) fn load(
    planned: &PlannedRoot,
    scan: &RootScan,
    cache: &mut RootCache,
    last: Option<&Arc<LoadedRoot>>,
) -> (Arc<LoadedRoot>, CallCounts) {
    let mut folders = std::mem::take(&mut cache.folders);
    let loaded = load_with(planned, scan, cache, &mut folders, last);
    cache.folders = folders;
    loaded
}

fn load_with(
    planned: &PlannedRoot,
    scan: &RootScan,
    cache: &mut RootCache,
    folder_cache: &mut FolderCache,
    last: Option<&Arc<LoadedRoot>>,
) -> (Arc<LoadedRoot>, CallCounts) {
    let links = planned.links();
    // Opening at once saves a stat of every file, and is right only when all will be read.
    let read_all = cache.is_empty() && scan.max_candidates == usize::MAX;
    let options = WalkOptions {
        links,
        probe: if read_all {
            ProbeOrder::Open
        } else {
            ProbeOrder::Stat
        },
        layout: layout_in(planned, scan),
        only: planned.files.clone(),
        max_candidates: scan.max_candidates,
        max_bytes: scan.max_read,
        max_depth: if planned.children_only {
            0
        } else {
            scan.max_depth
        },
        max_folders: if scan.lifted { 200_000 } else { MAX_FOLDERS },
        max_entries: MAX_ENTRIES,
        max_levels: grove_catalog::tree::MAX_LEVELS,
    };
    // Pinned content is judged as it is: what was seen and what is there now must not be mixed.
    let keeps = scan.keep_good && planned.root.trust == RootTrust::Trusted;
    let last_good = LastGood::new(last.filter(|_| keeps).map(Arc::as_ref));
    let reader = SkillFileReader {
        root: &planned.root.path,
        last_good: &last_good,
        keeps,
        cache,
        read_at: now(),
        limit: scan.max_bytes,
        pinned: links == LinkRule::Contain,
    };
    match probe_walk::walk(&planned.folder(), &options, &reader) {
        Ok(mut walk) => {
            let counts = walk.counts;
            if let Some(last) = last.filter(|last| last.is_met_again(&walk, planned, scan, keeps)) {
                let folders = folders(planned, scan, &last.candidates, folder_cache);
                if folders.is_none_or(|folders| Arc::ptr_eq(&folders, &last.folders)) {
                    return (Arc::clone(last), counts);
                }
            }
            if walk.unchanged {
                // The files are as they were and something in the way is not: they have to be listed again.
                let numbers = 0..reader.met_before();
                walk.found = numbers.filter_map(|at| reader.recall(at)).collect();
            }
            let keeping = keeps.then_some(&last_good);
            let mut loaded = gather(planned, scan, &options, walk, cache, keeping);
            let folders = folders(planned, scan, &loaded.candidates, folder_cache);
            loaded.folders = folders.unwrap_or_default();
            (Arc::new(loaded), counts)
        }
        Err(error) => {
            let loaded = LoadedRoot {
                diagnostics: vec![unopened(&error, links)],
                ..LoadedRoot::default()
            };
            (Arc::new(loaded), CallCounts::default())
        }
    }
}

/// The content of the folders of a root's skills, where that is pinned; elsewhere the folders are not looked into.
fn folders(
    planned: &PlannedRoot,
    scan: &RootScan,
    candidates: &[SkillCandidate],
    folder_cache: &mut FolderCache,
) -> Option<Arc<SkillFolders>> {
    let is_pinned = matches!(planned.root.trust, RootTrust::Pinned { .. });
    (scan.all_folders || is_pinned).then(|| folder_cache.update(planned, candidates))
}

fn layout_in(planned: &PlannedRoot, scan: &RootScan) -> probe_walk::AcceptedLayouts {
    let usual = scan.layout;
    let is_open = !planned.children_only;
    probe_walk::AcceptedLayouts {
        root_file: usual.root_file && is_open,
        flat_files: usual.flat_files && planned.flat_files && is_open,
        declared: usual.declared && is_open,
        ..usual
    }
}

impl LoadedRoot {
    /// Returns true if a walk met the same files, unchanged, at the same paths and nothing else.
    fn is_met_again(
        &self,
        walk: &WalkResult<LoadedFile>,
        planned: &PlannedRoot,
        scan: &RootScan,
        keeps: bool,
    ) -> bool {
        self.trace.as_ref().is_some_and(|trace| {
            walk.unchanged
                && trace.scan == *scan
                && trace.problems == walk.problems
                && trace.limits == walk.limits
                && trace.ignore_files == walk.ignore_files
                && trace.folders == walk.folders
                && trace.keeps == keeps
                && trace.chosen == planned.chosen
        })
    }

    /// The root with the folders that its trust has to be compared with.
    pub(crate) fn judged_root(&self, root: &Root) -> Root {
        let mut root = root.clone();
        if let RootTrust::Pinned { folders, .. } = &mut root.trust {
            *folders = Arc::clone(&self.folders);
        }
        root
    }

    pub(crate) fn folders(&self) -> &[String] {
        self.trace
            .as_ref()
            .map_or(&[], |trace| trace.folders.as_slice())
    }
}

struct LoadedFile {
    known: CachedFile,
    was_read: bool,
}

impl LoadedFile {
    fn known(known: CachedFile) -> Self {
        Self {
            known,
            was_read: false,
        }
    }
}

struct SkillFileReader<'a, 'last> {
    root: &'a Path,
    last_good: &'a LastGood<'last>,
    /// Set if last good versions are kept, and so the bytes of each file.
    keeps: bool,
    cache: &'a RootCache,
    read_at: i64,
    limit: u64,
    pinned: bool,
}

impl Visitor for SkillFileReader<'_, '_> {
    type Item = LoadedFile;

    fn known(&self, stamp: &Stamp, hint: &mut usize) -> Option<LoadedFile> {
        let known = self.cache.get(stamp, hint);
        known
            .filter(|known| self.is_enough(known))
            .map(LoadedFile::known)
    }

    fn recognise(&self, sighting: &VisitedFile<'_>, hint: &mut usize) -> Option<usize> {
        let at = self.cache.place_of(sighting.stamp, hint)?;
        let known = self.cache.at(at).filter(|known| self.is_enough(known))?;
        let met = known.walk_place.as_ref()?;
        let same = *met.path == *sighting.path
            && (met.place, met.links, met.through_link)
                == (sighting.layout, sighting.links, sighting.through_link);
        same.then_some(at)
    }

    fn recall(&self, number: usize) -> Option<WalkedFile<LoadedFile>> {
        let known = self.cache.at(number)?;
        let WalkPlace {
            path,
            place,
            links,
            through_link,
        } = known.walk_place.clone()?;
        let content = probe_walk::WalkedContent::Item(LoadedFile::known(known.clone()));
        Some(WalkedFile {
            path,
            layout: place,
            stamp: Some(known.stamp),
            links,
            through_link,
            content,
        })
    }

    fn met_before(&self) -> usize {
        self.cache.in_memory()
    }

    fn declares(&self, found: &WalkedFile<LoadedFile>) -> Option<DeclaredFolders> {
        let own = match &found.content {
            probe_walk::WalkedContent::Item(item) => Some(&item.known.content),
            _ => None,
        };
        // The children of a branch that is just being edited do not go away.
        let kept = if own.is_none_or(|own| !own.flags().valid) {
            let layout = layout_of(found.layout);
            let id = identity::id(layout, Arc::clone(&found.path), self.root);
            self.last_good.at(layout, &id).map(|good| good.content)
        } else {
            None
        };
        let keys = kept.or(own)?.tree_keys()?;
        Some(match &keys.children.as_ref()?.value {
            DeclaredChildren::Every => DeclaredFolders::Every,
            DeclaredChildren::Named(names) => DeclaredFolders::Named(names.clone()),
        })
    }

    fn declaring(&self) -> &[usize] {
        self.cache.declaring()
    }

    fn read(&self, stamp: &Stamp, bytes: &[u8]) -> LoadedFile {
        let content = match parse_within(bytes, self.limit) {
            Ok(parsed) => {
                let digest = self.pinned.then(|| Digest::of(bytes));
                SkillContent::new(fingerprint(bytes), digest, stamp.size, parsed)
            }
            Err(finding) => SkillContent::new(0, None, stamp.size, ParsedSkill::refused(finding)),
        };
        let known = CachedFile {
            stamp: *stamp,
            read_at: self.read_at,
            limit: self.limit,
            content: Arc::new(content),
            walk_place: None,
            text: self.keeps.then(|| bytes.into()),
        };
        LoadedFile {
            known,
            was_read: true,
        }
    }
}

impl SkillFileReader<'_, '_> {
    /// Tells if a known file serves: it may have been read as a user's own, without digests, or under another limit.
    fn is_enough(&self, known: &CachedFile) -> bool {
        let same_limit =
            known.limit == self.limit || known.stamp.size <= known.limit.min(self.limit);
        let content = &known.content;
        same_limit && (!self.pinned || content.digest.is_some() || content.is_refused())
    }
}

fn gather(
    planned: &PlannedRoot,
    scan: &RootScan,
    options: &WalkOptions,
    walk: WalkResult<LoadedFile>,
    cache: &mut RootCache,
    keeping: Option<&LastGood<'_>>,
) -> LoadedRoot {
    let root = &planned.root;
    let mut loaded = LoadedRoot::default();
    let ignored = ignore_rules(&walk);
    let total = walk.found.len();
    let mut all = Vec::with_capacity(total);
    let mut any_read = false;
    let mut keeper = CandidateKeeper::new(keeping);
    loaded.candidates.reserve(total);
    for mut found in walk.found {
        let mut known =
            match std::mem::replace(&mut found.content, probe_walk::WalkedContent::NotRead) {
                probe_walk::WalkedContent::Item(LoadedFile { known, was_read }) => {
                    any_read |= was_read;
                    known
                }
                probe_walk::WalkedContent::NotRead => continue,
                // A long note is a note: only reading it would tell, and it is too long for that.
                probe_walk::WalkedContent::Refused(WalkTrouble::TooLarge(..))
                    if found.layout == FileLayout::Flat =>
                {
                    continue;
                }
                probe_walk::WalkedContent::Refused(_)
                    if !is_chosen(planned, found.layout, &found.path) =>
                {
                    continue;
                }
                probe_walk::WalkedContent::Refused(trouble) => {
                    let finding = troubles::refusal(&trouble, scan.max_bytes);
                    let candidate = candidate(&root.path, &found, refused(finding));
                    keeper.take(candidate, None, None, &mut loaded);
                    continue;
                }
            };
        known.walk_place = Some(WalkPlace {
            path: Arc::clone(&found.path),
            place: found.layout,
            links: found.links,
            through_link: found.through_link,
        });
        let content = Arc::clone(&known.content);
        let text = keeper.text_within_limit(&mut known);
        let number = all.len();
        all.push(known);
        // A note beside skill folders is no skill unless it has frontmatter, or is named as one.
        let is_beside = found.layout == FileLayout::Flat && planned.files.is_none();
        let is_note = is_beside && !content.flags().has_frontmatter;
        let is_ignored =
            || !walk.ignore_files.is_empty() && is_ignored(&ignored, found.layout, &found.path);
        if !is_note && is_chosen(planned, found.layout, &found.path) && !is_ignored() {
            let candidate = candidate(&root.path, &found, content);
            keeper.take(candidate, text, Some(number), &mut loaded);
        }
    }
    let chosen = planned.chosen.as_ref();
    if chosen.is_some_and(|it| !it.leads.is_empty()) && loaded.candidates.is_empty() {
        let message = "the patterns of the package lead to no skill in this folder";
        let finding = Diagnostic::new(Code::PackageMissing, message).in_file(&root.path);
        let help = "correct the patterns in its `package.json`";
        loaded.diagnostics.push(finding.with_help(help));
    }
    let problems = walk.problems.iter();
    let problems = problems.map(|problem| troubles::problem(&root.path, problem));
    loaded.diagnostics.extend(problems);
    loaded.diagnostics.extend(troubles::limits(
        &root.path,
        &root.label,
        &walk.limits,
        options,
        total,
    ));
    let contents = loaded.candidates.iter().map(|candidate| &candidate.content);
    let asking = contents.filter(|content| content.flags().has_requirements);
    let needed = asking.filter_map(|content| content.parsed().skill.requirements.as_deref());
    loaded.requirements = needed.cloned().collect();
    cache.replace(all, any_read, &keeper.also_declaring);
    loaded.trace = Some(WalkTrace {
        scan: scan.clone(),
        problems: walk.problems,
        limits: walk.limits,
        ignore_files: walk.ignore_files,
        folders: walk.folders,
        keeps: keeping.is_some(),
        chosen: planned.chosen.clone(),
    });
    loaded
}

fn candidate<T>(root: &Path, found: &WalkedFile<T>, content: Arc<SkillContent>) -> SkillCandidate {
    let layout = layout_of(found.layout);
    SkillCandidate {
        root: 0,
        layout,
        id: identity::id(layout, Arc::clone(&found.path), root),
        file: found.stamp.map(|stamp| (stamp.id.device, stamp.id.inode)),
        hard_links: found.links,
        through_link: found.through_link,
        content,
    }
}

fn layout_of(place: FileLayout) -> SkillLayout {
    match place {
        FileLayout::Root => SkillLayout::Root,
        FileLayout::Flat => SkillLayout::Flat,
        FileLayout::Folder => SkillLayout::Folder,
    }
}

fn refused(finding: Diagnostic) -> Arc<SkillContent> {
    Arc::new(SkillContent::new(0, None, 0, ParsedSkill::refused(finding)))
}

pub(crate) fn unopened(error: &FsError, links: LinkRule) -> Diagnostic {
    if links == LinkRule::Contain && error.leads_out() {
        return Diagnostic::new(
            Code::PathEscape,
            "the root is a link that leads out of its project and was not followed",
        )
        .in_file(&error.path);
    }
    troubles::file_error(Code::RootUnreadable, error)
}

fn ignore_rules(walk: &WalkResult<LoadedFile>) -> IgnoreRules {
    let mut rules = IgnoreRules::default();
    for file in &walk.ignore_files {
        rules.add(&file.folder, &file.text);
    }
    rules
}

/// Returns true if a skill is one of those that the package or settings behind the root mean.
fn is_chosen(planned: &PlannedRoot, place: FileLayout, path: &str) -> bool {
    let chosen = planned.chosen.as_ref();
    chosen.is_none_or(|chosen| chosen.takes(&identity::file_below_root(layout_of(place), path)))
}

fn is_ignored(rules: &IgnoreRules, place: FileLayout, path: &str) -> bool {
    let file = identity::file_below_root(layout_of(place), path);
    match place {
        FileLayout::Root => false,
        FileLayout::Flat => rules.ignores_file(&file),
        FileLayout::Folder => rules.ignores_folder(path) || rules.ignores_file(&file),
    }
}
