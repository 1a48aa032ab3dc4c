//! Everything in a project that a grant pins: what a working folder inside could reveal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_catalog::definitions::Definition;
use grove_catalog::folder_content::FolderContentEntry;
use grove_catalog::hosts::FoldersEntered;
use grove_catalog::root::RootOwner;
use grove_catalog::trust;
use grove_catalog::{Digest, RootSource, identity};
use grove_fs::files;
use grove_fs::probe_walk::AcceptedLayouts;
use grove_fs::trust_store::Pins;
use grove_spec::package::EntryKind;
use grove_spec::skill::file_limit::most_read;
use grove_spec::words;

use super::findings;
use super::nested::{self, NestedFolders};
use crate::agents::AGENT_FILES;
use crate::cache::RootCache;
use crate::chains::CHAIN_FILES;
use crate::definition_files::{DefinitionFileKind, ReadBounds, roots_in};
use crate::environment::Environment;
use crate::instructions;
use crate::loading::{self, RootScan};
use crate::planning::{self, PlannedRoot};
use crate::project::ProjectRule;
use crate::settings::{PROJECT_FILES, read_project_file};
use crate::world::World;

/// The files of a project that a grant pins.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The files that were seen, by path below the folder.
    seen: BTreeMap<String, SurveyedFile>,
    /// The items that the files are, by kind and path below the folder: a skill's folder, and otherwise a file.
    pub(super) items: BTreeMap<(ItemKind, String), ReviewItem>,
    skill_folders: Vec<String>,
    /// Skills whose folders cannot be pinned whole, by path below the folder, each with the reason.
    pub(super) not_pinned: BTreeMap<String, String>,
    pub(super) not_searched: Vec<String>,
}

words! {
    /// The kind of an item in a project.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ItemKind {
        /// A skill, with its folder if it has one.
        Skill = "skill",
        /// The file of an agent.
        Agent = "agent",
        /// The file of a chain.
        Chain = "chain",
        /// The project's instructions for all who work in it.
        Instructions = "instructions",
        /// A file of settings.
        Setting = "setting",
    }
}

impl ItemKind {
    /// All of them, in the order in which they are reviewed.
    pub const ALL: [Self; 5] = [
        Self::Skill,
        Self::Agent,
        Self::Chain,
        Self::Instructions,
        Self::Setting,
    ];
}

/// Something that would be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewItem {
    /// The kind of the item.
    pub kind: ItemKind,
    /// Its folder, if it is a skill with one, or its file, by path below the granted folder.
    pub path: String,
    /// The folder of the package that it came with.
    pub package: Option<String>,
    /// The findings to look at first: it runs commands, asks for tools or hides text.
    pub findings: Vec<String>,
}

#[derive(Debug, Default)]
struct SurveyedFile {
    /// The digest of its bytes, as they were read of a file that counts.
    digest: Option<Digest>,
    kinds: BTreeSet<EntryKind>,
    entry: Option<FolderContentEntry>,
}

impl SurveyedFile {
    fn pin(&self) -> Option<String> {
        match (&self.digest, &self.entry) {
            (Some(digest), entry) => {
                let pin = trust::pin(digest, self.kinds.iter().copied());
                Some(match entry {
                    Some(entry) => trust::pin_with_entry(&pin, entry),
                    None => pin,
                })
            }
            (None, entry) => entry.as_ref().map(FolderContentEntry::pin),
        }
    }
}

impl Survey {
    /// The pins to be remembered, by path below the folder.
    pub(super) fn pins(&self) -> Pins {
        let seen = self.seen.iter();
        seen.filter_map(|(path, seen)| Some((path.clone(), seen.pin()?)))
            .collect()
    }

    fn item(
        &mut self,
        kind: ItemKind,
        path: String,
        package: Option<String>,
        findings: Vec<String>,
    ) {
        let item = ReviewItem {
            kind,
            path: path.clone(),
            package,
            findings,
        };
        self.items.insert((kind, path), item);
    }

    pub(super) fn is_in_skill(&self, path: &str) -> bool {
        let below = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.skill_folders.iter().any(below)
    }
}

/// Looks at everything that a working folder inside could reveal.
///
/// It comes from the project's own files, no matter what else links to them, and from the user's settings alone: a
/// project's can only narrow what is seen, and differ from folder to folder.
pub(super) fn survey(environment: &Environment, folder: &Path) -> Survey {
    let world = World::of_folder(environment, folder);
    let settings = &world.settings.settings;
    let of_kind = |kind: EntryKind| {
        let mut roots = planning::own(kind, &world).roots;
        // Folders that settings name are looked for where the settings stand and nowhere else, as packages are.
        roots.retain(|planned| {
            let root = &planned.root;
            root.source == RootSource::Project && root.rank.owner != RootOwner::Named
        });
        roots
    };
    let roots = of_kind(EntryKind::Skills);
    let scan = RootScan {
        layout: AcceptedLayouts::ALL,
        max_candidates: usize::MAX,
        max_bytes: settings.limits.file_bytes.value,
        max_read: most_read(settings.limits.file_bytes.value),
        max_depth: settings.limits.group_depth.count(),
        lifted: true,
        keep_good: false,
        all_folders: true,
    };
    let (agent_roots, chain_roots) = (of_kind(EntryKind::Agents), of_kind(EntryKind::Chains));
    let bounds = ReadBounds {
        max_bytes: scan.max_bytes,
        max_depth: scan.max_depth,
        folders: FoldersEntered::Grove,
    };
    let mut names = first_parts(&roots, folder);
    names.extend(first_parts(&agent_roots, folder));
    names.extend(instructions::NAMES.map(str::to_owned));
    names.extend(first_parts(&chain_roots, folder));
    let NestedFolders {
        holders,
        not_searched,
    } = nested::search(folder, &names);
    let permitted = ProjectRule::in_environment(environment);
    let mut places: BTreeSet<PathBuf> = holders.iter().map(|path| folder.join(path)).collect();
    places.extend(between(environment, folder));
    let mut survey = Survey {
        not_searched,
        ..Survey::default()
    };
    for place in places.iter().filter(|place| permitted.allows(place)) {
        for planned in &roots {
            pin_root(&moved(planned, folder, place), &scan, folder, &mut survey);
        }
        for planned in &agent_roots {
            let inner = roots_in(planned, &agent_roots);
            let planned = moved(planned, folder, place);
            pin_files(&AGENT_FILES, &planned, &inner, &bounds, folder, &mut survey);
        }
        for planned in &chain_roots {
            let inner = roots_in(planned, &chain_roots);
            let planned = moved(planned, folder, place);
            pin_files(&CHAIN_FILES, &planned, &inner, &bounds, folder, &mut survey);
        }
        for (kind, planned) in planning::further_roots(&world, place, folder) {
            match kind {
                EntryKind::Skills => pin_root(&planned, &scan, folder, &mut survey),
                EntryKind::Agents => {
                    pin_files(&AGENT_FILES, &planned, &[], &bounds, folder, &mut survey);
                }
                EntryKind::Chains => {
                    pin_files(&CHAIN_FILES, &planned, &[], &bounds, folder, &mut survey);
                }
            }
        }
        for (file, bytes) in instructions::in_folder(folder, place, scan.max_bytes) {
            if let Ok(bytes) = bytes {
                pin(&file, Digest::of(&bytes), None, folder, &mut survey);
                let findings = findings::of_text(&String::from_utf8_lossy(&bytes));
                survey.item(ItemKind::Instructions, below(&file, folder), None, findings);
            }
        }
        for file in PROJECT_FILES {
            if let Ok(bytes) = read_project_file(place, file) {
                let file = place.join(file);
                pin(&file, Digest::of(&bytes), None, folder, &mut survey);
                survey.item(ItemKind::Setting, below(&file, folder), None, Vec::new());
            }
        }
    }
    survey
}

/// The granted folder and, when the working folder is below it, every folder from there up to it.
fn between(environment: &Environment, folder: &Path) -> Vec<PathBuf> {
    let working = files::canonical(&environment.working).unwrap_or_default();
    let from = if working.starts_with(folder) {
        &working
    } else {
        folder
    };
    let inside = from
        .ancestors()
        .take_while(|above| above.starts_with(folder));
    inside.map(Path::to_path_buf).collect()
}

/// The names in a folder without which no root is in it.
fn first_parts(roots: &[PlannedRoot], folder: &Path) -> BTreeSet<String> {
    let places = roots.iter().flat_map(|planned| {
        let root = &planned.root.path;
        match &planned.files {
            Some(files) => files.iter().map(|file| root.join(file)).collect(),
            None => vec![root.clone()],
        }
    });
    places
        .chain(PROJECT_FILES.map(|file| folder.join(file)))
        .filter_map(|path| {
            let first = path.strip_prefix(folder).ok()?.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        })
        .collect()
}

fn moved(planned: &PlannedRoot, from: &Path, to: &Path) -> PlannedRoot {
    let mut moved = planned.clone();
    if let Ok(below) = planned.root.path.strip_prefix(from) {
        moved.root.path = to.join(below);
    }
    moved.base = Some(to.to_path_buf());
    moved
}

fn pin_root(planned: &PlannedRoot, scan: &RootScan, folder: &Path, survey: &mut Survey) {
    let root = &planned.root.path;
    if !files::is_folder(root) {
        return;
    }
    let (loaded, _) = loading::load(planned, scan, &mut RootCache::default(), None);
    for candidate in &loaded.candidates {
        if let Some(digest) = candidate.content.digest {
            let file = identity::file_below_root(candidate.layout, &candidate.id);
            let file = root.join(file);
            pin(&file, digest, Some(EntryKind::Skills), folder, survey);
            let (item, content) = match candidate.layout {
                identity::SkillLayout::Flat => (file.as_path(), None),
                identity::SkillLayout::Root => (root.as_path(), loaded.folders.get("")),
                identity::SkillLayout::Folder => {
                    let content = loaded.folders.get(&*candidate.id);
                    (file.parent().unwrap_or(&file), content)
                }
            };
            let findings = findings::of_skill(candidate.content.parsed(), content);
            let package = package_of(planned, folder);
            survey.item(ItemKind::Skill, below(item, folder), package, findings);
        }
    }
    for (id, content) in loaded.folders.iter() {
        let skill = below(&root.join(id), folder);
        if let Some(problem) = &content.problem {
            survey.not_pinned.insert(skill.clone(), problem.clone());
        }
        for (path, entry) in &content.entries {
            let path = trust::plain(&format!("{skill}/{path}"));
            survey.seen.entry(path).or_default().entry = Some(entry.clone());
        }
        survey.skill_folders.push(skill);
    }
}

/// A path as pins have it: below the granted folder.
fn below(path: &Path, folder: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    trust::plain(&below.to_string_lossy())
}

fn package_of(planned: &PlannedRoot, folder: &Path) -> Option<String> {
    let package = planned.package_folder()?;
    Some(below(package, folder))
}

fn pin_files<P: ReviewedDefinition + Clone + Send + Sync>(
    files_of_kind: &DefinitionFileKind<P>,
    planned: &PlannedRoot,
    inner: &[String],
    bounds: &ReadBounds,
    folder: &Path,
    survey: &mut Survey,
) {
    if !files::is_folder(&planned.root.path) {
        return;
    }
    for seen in files_of_kind.seen_files(planned, inner, bounds, P::findings) {
        let file = planned.root.path.join(seen.path);
        pin(&file, seen.digest, Some(P::KIND), folder, survey);
        let package = package_of(planned, folder);
        survey.item(P::ITEM, below(&file, folder), package, seen.findings);
    }
}

/// The parts of a review that differ between agents and chains.
trait ReviewedDefinition: Definition {
    const ITEM: ItemKind;

    fn findings(&self) -> Vec<String>;
}

impl ReviewedDefinition for grove_spec::agent::ParsedAgent {
    const ITEM: ItemKind = ItemKind::Agent;

    fn findings(&self) -> Vec<String> {
        findings::of_agent(self)
    }
}

impl ReviewedDefinition for grove_spec::chain::ParsedChain {
    const ITEM: ItemKind = ItemKind::Chain;

    fn findings(&self) -> Vec<String> {
        findings::about_conduct(&self.diagnostics)
    }
}

fn pin(file: &Path, digest: Digest, kind: Option<EntryKind>, folder: &Path, survey: &mut Survey) {
    if !file.starts_with(folder) {
        return;
    }
    let seen = survey.seen.entry(below(file, folder)).or_default();
    // A file that changes while it is looked at is pinned as it was last, and as nothing else.
    if seen.digest != Some(digest) {
        seen.digest = Some(digest);
        seen.kinds = BTreeSet::new();
    }
    seen.kinds.extend(kind);
}
