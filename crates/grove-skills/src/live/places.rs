//! The folders that a library depends on, and the meaning of events in them.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::hosts::{Host, NamedFolders};
use grove_catalog::identity::{self, SkillLayout};
use grove_fs::files::{link_target, link_targets};
use grove_fs::stamp::fingerprint;
use grove_fs::watch::{ChangeKind, FolderInterest, WatchEvent, WatchedFolders};
use grove_spec::package::EntryKind;

use super::reload_cause::ReloadEvent;
use crate::environment::Environment;
use crate::environment_variables::PATH;
use crate::library::Library;
use crate::loading::LoadedRoot;
use crate::packages;
use crate::project::MARKERS;
use crate::request::DiscoveryView;
use crate::settings::{PROJECT_FILE, user_file};
use crate::trusting;

#[derive(Debug, Default)]
pub(super) struct WatchedPlaces {
    roots: Vec<PathBuf>,
    settings: Vec<PathBuf>,
    grants: Option<PathBuf>,
    package_folders: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Files that agents, chains, settings or packages name.
    named: Vec<PathBuf>,
    /// The folders around the working folder, in which a project may begin.
    around: Vec<PathBuf>,
    program_folders: Vec<PathBuf>,
    programs: BTreeSet<OsString>,
    /// The files that were found: what appears in the place of one is an edit, as editors save.
    files: HashSet<PathBuf>,
    /// The targets of links on the way to any of them, one after the other.
    linked: BTreeSet<PathBuf>,
}

impl WatchedPlaces {
    pub(super) fn of(library: &Library) -> Self {
        let mut places = Self::default();
        let Some(discovery) = library.last_discovery() else {
            return places;
        };
        let (request, project) = (&discovery.request, &discovery.world.project);
        let environment = library.environment();
        let mut kinds = EntryKind::ALL.into_iter();
        let is_own = kinds.any(|kind| {
            let is_asked = request.parts.has(kind);
            is_asked && request.view_of(kind) == DiscoveryView::Own
        });
        let host = request.view.host();
        let (agents, chains) = library.definitions();
        let of_skills = library.last_roots();
        places.roots = of_skills
            .map(|(planned, _)| planned.root.path.clone())
            .chain(agents.roots().iter().chain(chains.roots()).cloned())
            .collect();
        places.named = agents.named_files().chain(chains.named_files()).collect();
        places.folders = agents.folders().chain(chains.folders()).collect();
        // Another host knows nothing of Grove's configuration.
        if host.is_none() || request.parts.agents {
            places.settings.push(user_file(environment));
        }
        if is_own {
            let root = project.root.as_deref();
            places
                .settings
                .extend(root.map(|root| root.join(PROJECT_FILE)));
            // A package is named, installed or changed like a setting is.
            places
                .settings
                .extend(packages::declaring_files(environment, project));
            places.package_folders = packages::package_folders(environment, project);
            places.grants = Some(trusting::folder(environment));
        }
        let is_pi = |host: &Host| host.scan.named_folders == NamedFolders::Pi;
        if host.as_ref().is_some_and(is_pi) || request.parts.agents {
            let nearest = project.folders.first().map(PathBuf::as_path);
            let files = packages::settings_files(environment, nearest);
            places.settings.extend(files);
        }
        if is_own || host.is_some() {
            let working = grove_fs::files::canonical(&environment.working);
            let working = working.unwrap_or_else(|_| environment.working.clone());
            places.around = working.ancestors().map(Path::to_path_buf).collect();
        }
        places.add_programs(library);
        places.add_files(library);
        places.add_links(library);
        let is_somewhere = |path: &PathBuf| !path.starts_with(Environment::NOWHERE);
        for all in [
            &mut places.roots,
            &mut places.settings,
            &mut places.package_folders,
        ] {
            all.retain(is_somewhere);
        }
        places.grants = places.grants.filter(is_somewhere);
        places
    }

    /// The folders of the search path, if some skill asks for a program.
    fn add_programs(&mut self, library: &Library) {
        let loaded = library.last_roots().filter_map(|(_, loaded)| loaded);
        for needed in loaded.flat_map(|root| &root.requirements) {
            let names = needed.bins.iter().chain(&needed.any_bins);
            self.programs.extend(names.map(OsString::from));
        }
        if self.programs.is_empty() {
            return;
        }
        if let Some(search_path) = library.environment().variables.get(PATH) {
            self.program_folders = std::env::split_paths(search_path)
                .filter(|folder| folder.is_absolute())
                .collect();
        }
    }

    fn add_files(&mut self, library: &Library) {
        self.files.extend(self.named.iter().cloned());
        if let Some(discovery) = library.last_discovery() {
            let (agents, chains) = (&discovery.snapshot.agents, &discovery.snapshot.chains);
            let agents_files = agents.all.iter().map(|agent| agents.location(agent));
            self.files.extend(agents_files);
            let chain_files = chains.all.iter().map(|chain| chains.location(chain));
            self.files.extend(chain_files);
        }
        for (planned, loaded) in library.last_roots() {
            let skills = loaded.into_iter().flat_map(|root| &root.candidates);
            self.files.extend(skills.map(|skill| {
                let file = identity::file_below_root(skill.layout, &skill.id);
                planned.root.path.join(file)
            }));
        }
    }

    /// Adds the targets of links, where changes happen elsewhere. The walk does not know that a file is a link itself,
    /// so the file system is asked.
    fn add_links(&mut self, library: &Library) {
        let is_link = |path: &&PathBuf| link_target(path).is_ok();
        let files = self.files.iter().chain(&self.folders).filter(is_link);
        let mut ways: Vec<PathBuf> = files.chain(&self.roots).cloned().collect();
        for (planned, loaded) in library.last_roots() {
            let skills = loaded.into_iter().flat_map(|root| &root.candidates);
            ways.extend(skills.filter(|skill| skill.through_link).map(|skill| {
                let file = identity::file_below_root(skill.layout, &skill.id);
                planned.root.path.join(file)
            }));
        }
        let targets = ways.iter().flat_map(|way| link_targets(way));
        self.linked.extend(targets);
    }

    /// Returns true if an event laid a link in the place of a file that is watched itself.
    pub(super) fn is_new_link(&self, sighting: &WatchEvent) -> bool {
        let is_file = self.files.contains(&sighting.path);
        is_file && sighting.change == ChangeKind::Appeared && link_target(&sighting.path).is_ok()
    }

    pub(super) fn wanted(&self, library: &Library) -> WatchedFolders {
        let mut wanted = WatchedFolders::default();
        for path in [&self.roots, &self.settings, &self.named]
            .into_iter()
            .flatten()
        {
            wanted.add_way_to(path);
        }
        for target in &self.linked {
            wanted.add_way_to(target);
        }
        for folder in self.grants.iter().chain(&self.package_folders) {
            wanted.add_way_to(folder);
            wanted.add(folder, &FolderInterest::Everything);
        }
        for folder in &self.folders {
            wanted.add(folder, &FolderInterest::Everything);
        }
        let markers = MARKERS.iter().map(OsString::from).collect();
        let markers = FolderInterest::Names(Arc::new(markers));
        for folder in &self.around {
            wanted.add(folder, &markers);
        }
        let programs = FolderInterest::Names(Arc::new(self.programs.clone()));
        for folder in &self.program_folders {
            wanted.add_way_to(folder);
            wanted.add(folder, &programs);
        }
        let skill_file = FolderInterest::Names(Arc::new([OsString::from("SKILL.md")].into()));
        for (planned, loaded) in library.last_roots() {
            let (root, Some(loaded)) = (&planned.root.path, loaded) else {
                continue;
            };
            wanted.add(root, &FolderInterest::Everything);
            for folder in loaded.folders() {
                wanted.add(&root.join(folder), &FolderInterest::Everything);
            }
            let in_folders = loaded.candidates.iter();
            for skill in in_folders.filter(|skill| skill.layout == SkillLayout::Folder) {
                wanted.add(&root.join(&*skill.id), &skill_file);
            }
        }
        wanted
    }

    /// The possible meanings of an event at a path: a folder can lead to a root and to configuration.
    pub(super) fn meanings(&self, sighting: &WatchEvent) -> Vec<ReloadEvent> {
        let mut meanings = vec![self.meaning(sighting)];
        let leads_to = |place: &PathBuf| place.starts_with(&sighting.path);
        if sighting.change != ChangeKind::Overflow && self.roots.iter().any(leads_to) {
            if self.settings.iter().any(leads_to) {
                meanings.push(ReloadEvent::Configuration);
            }
            if self.grants.iter().any(leads_to) {
                meanings.push(ReloadEvent::Trust);
            }
        }
        meanings
    }

    fn meaning(&self, sighting: &WatchEvent) -> ReloadEvent {
        let WatchEvent { path, change } = sighting;
        if *change == ChangeKind::Overflow {
            return ReloadEvent::Overflow;
        }
        let is = |appeared: ReloadEvent, gone: ReloadEvent, written: ReloadEvent| match change {
            ChangeKind::Appeared => appeared,
            ChangeKind::Gone => gone,
            ChangeKind::Written | ChangeKind::Overflow => written,
        };
        let leads_to = |places: &[PathBuf]| places.iter().any(|place| place.starts_with(path));
        let in_search_path = path.parent().is_some_and(|folder| {
            let mut folders = self.program_folders.iter();
            folders.any(|known| known == folder)
        });
        let is_program = path
            .file_name()
            .is_some_and(|name| in_search_path && self.programs.contains(name));
        let is_package = path
            .parent()
            .is_some_and(|folder| self.package_folders.iter().any(|known| known == folder));
        if self.settings.contains(path) || is_package {
            ReloadEvent::Configuration
        } else if leads_to(&self.roots) {
            is(
                ReloadEvent::RootAppeared,
                ReloadEvent::RootRemoved,
                ReloadEvent::RootChanged,
            )
        } else if self.roots.iter().any(|root| path.starts_with(root))
            || self.named.contains(path)
            || self.linked.contains(path)
        {
            let is_known = self.files.contains(path) || self.linked.contains(path);
            let appeared = if is_known {
                ReloadEvent::Edited
            } else {
                ReloadEvent::Appeared
            };
            is(appeared, ReloadEvent::Removed, ReloadEvent::Edited)
        } else if is_program || leads_to(&self.program_folders) {
            is(
                ReloadEvent::ProgramAppeared,
                ReloadEvent::ProgramRemoved,
                ReloadEvent::ProgramChanged,
            )
        } else if let Some(grants) = &self.grants
            && (path.starts_with(grants) || grants.starts_with(path))
        {
            ReloadEvent::Trust
        } else if leads_to(&self.settings) {
            ReloadEvent::Configuration
        } else {
            ReloadEvent::Project
        }
    }
}

/// A number that is the same as long as the same folders have to be watched.
pub(super) fn shape(library: &Library) -> u128 {
    let mut shape = PlacesFingerprint(Vec::new());
    for (planned, loaded) in library.last_roots() {
        shape.add(planned.root.path.as_os_str().as_encoded_bytes());
        shape.add(&[u8::from(loaded.is_some())]);
        if let Some(loaded) = loaded {
            shape.add_root(loaded);
        }
    }
    let (agents, chains) = library.definitions();
    let roots = agents.roots().iter().chain(chains.roots()).cloned();
    let folders = agents.folders().chain(chains.folders());
    let named = agents.named_files().chain(chains.named_files());
    for path in roots.chain(folders).chain(named) {
        shape.add(path.as_os_str().as_encoded_bytes());
    }
    fingerprint(&shape.0)
}

/// Everything that decides which folders are watched, in a row: one fingerprint of all is faster than thousands.
struct PlacesFingerprint(Vec<u8>);

impl PlacesFingerprint {
    fn add(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&part.len().to_le_bytes());
        self.0.extend_from_slice(part);
    }

    fn add_root(&mut self, loaded: &LoadedRoot) {
        for folder in loaded.folders() {
            self.add(folder.as_bytes());
        }
        self.add(b"/");
        for skill in &loaded.candidates {
            self.add(&[skill.layout as u8]);
            self.add(skill.id.as_bytes());
        }
        self.add(b"/");
        for needed in &loaded.requirements {
            for program in needed.bins.iter().chain(&needed.any_bins) {
                self.add(program.as_bytes());
            }
        }
    }
}
