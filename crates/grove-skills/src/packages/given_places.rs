//! The content of one package: the folders and files that its manifest names and that are there, all in the package.

use std::path::Path;
use std::sync::Arc;

use grove_catalog::trust::RootTrust;
use grove_fs::files;
use grove_fs::held_folder::{HeldFolder, PathKind};
use grove_fs::probe_walk::LinkRule;
use grove_spec::package::{
    EntryKind, FolderChoice, Manifest, ManifestFile, ProvidedPath, SkillChoice, SkillFilter,
    may_concern_grove,
};
use grove_spec::text::one_line;
use grove_spec::wildcard::Wildcard;
use grove_spec::{Code, Diagnostic};

use super::search::{PackagePlace, PackageSearch, SearchReason, first_of_each, refused};
use super::{GivenPlace, Package};

const SKILL_FILE: &str = "SKILL.md";

impl PackageSearch {
    /// One package: the first of its manifests that speaks of us counts.
    pub(super) fn package(
        &mut self,
        place: &PackagePlace<'_>,
        below: &str,
        manifests: &[ManifestFile],
        asked: SearchReason<'_>,
    ) {
        let mut speaks_to_pi = false;
        for file in manifests {
            let path = match below {
                "" => file.path().to_owned(),
                below => format!("{below}/{}", file.path()),
            };
            let Some(bytes) = self.manifest(place, &path) else {
                continue;
            };
            // The project's own and those that settings name are few, and their faults are reported.
            let is_named = below.is_empty() || matches!(asked, SearchReason::NamedAs(_));
            if *file == ManifestFile::Npm && !is_named && !may_concern_grove(&bytes) {
                continue;
            }
            let mut manifest = Manifest::read(&bytes, *file);
            if *file == ManifestFile::Npm && self.has_usual_skills(place, below, &manifest) {
                manifest.add_usual_skills();
            }
            if manifest.has_contents {
                return self.take(place, below, &path, manifest);
            }
            speaks_to_pi |= manifest.has_pi;
        }
        // A package with extensions for pi and nothing else is as it should be.
        if speaks_to_pi {
            return;
        }
        if let SearchReason::NamedAs(written) = asked {
            let folder = place.held.path().join(below);
            let has_skills = |held: HeldFolder| {
                matches!(
                    held.entry(EntryKind::Skills.word(), LinkRule::Contain),
                    Ok(PathKind::Folder)
                )
            };
            let held = place.held.folder(below, place.links);
            if held.is_ok_and(has_skills) {
                let mut usual = Manifest::default();
                usual.add_usual_skills();
                return self.take(place, below, below, usual);
            }
            self.say(missing(written, &folder));
        }
    }

    /// Returns true if the usual folder counts beside what a manifest names: pi looks there in packages that say
    /// nothing to it, and in those of which settings choose.
    fn has_usual_skills(&self, place: &PackagePlace<'_>, below: &str, manifest: &Manifest) -> bool {
        let real = files::canonical(&place.held.path().join(below));
        let filter = real.ok().and_then(|real| self.filters.get(&real));
        filter.is_some_and(|filter| !manifest.has_pi || *filter != SkillFilter::Unsaid)
    }

    fn take(&mut self, place: &PackagePlace<'_>, below: &str, path: &str, mut manifest: Manifest) {
        let folder = place.held.path().join(below);
        let real = files::canonical(&folder).unwrap_or_else(|_| folder.clone());
        let filter = self.filters.get(&real).cloned().unwrap_or_default();
        if !self.seen.insert(real) {
            return;
        }
        let choice = Arc::new(std::mem::take(&mut manifest.choice));
        let choices = match &filter {
            SkillFilter::Chosen(chosen) => vec![choice, Arc::new(chosen.clone())],
            _ => vec![choice],
        };
        if filter == SkillFilter::Nothing {
            manifest
                .provided
                .retain(|given| given.kind != EntryKind::Skills);
        }
        let file = place.held.path().join(path);
        for finding in std::mem::take(&mut manifest.diagnostics) {
            self.say(finding.in_file(&file));
        }
        let held = match place.held.folder(below, place.links) {
            Ok(held) => held,
            Err(error) => {
                return self.say(refused(&error, Code::PackageManifest, "the package"));
            }
        };
        let mut package = Package {
            name: manifest.name.take().unwrap_or_else(|| folder_name(&folder)),
            is_projects: place.trust.is_some(),
            given: Vec::new(),
            base: match place.links {
                LinkRule::Contain => place.held.path().to_path_buf(),
                LinkRule::Follow => folder.clone(),
            },
            folder,
        };
        let mut missing: Vec<(EntryKind, Vec<Diagnostic>)> = Vec::new();
        for given in &manifest.provided {
            match place_of(&held, given) {
                Ok(Some(found)) => add_place(&mut package, given, found, place, &choices),
                Ok(None) => {}
                Err(finding) => {
                    let finding = finding.in_file(&file).at(given.position);
                    match missing.iter_mut().find(|(known, _)| *known == given.kind) {
                        Some((_, findings)) => findings.push(finding),
                        None => missing.push((given.kind, vec![finding])),
                    }
                }
            }
        }
        for (_, findings) in missing {
            self.found.diagnostics.extend(first_of_each(findings));
        }
        self.found.packages.push(package);
    }
}

/// The finding about a package that is named and gives nothing.
fn missing(written: &str, folder: &Path) -> Diagnostic {
    let say = |why: &str| {
        let message = format!("the package `{written}` {why}");
        Diagnostic::new(Code::PackageMissing, message).in_file(folder)
    };
    if files::is_folder(folder) {
        say("provides no agents, chains or skills").with_help(
            "list what it provides in its `package.json`, put skills into its folder `skills`, or remove its name",
        )
    } else {
        say("is not there")
    }
}

fn folder_name(folder: &Path) -> String {
    let parts: Vec<String> = folder
        .components()
        .rev()
        .take(2)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    match parts.as_slice() {
        [name, scope] if scope.starts_with('@') => format!("{scope}/{name}"),
        [name, ..] => name.clone(),
        [] => String::new(),
    }
}

/// The kinds of entry that a path in a manifest leads to.
enum PathTarget {
    Folder,
    File,
}

/// The entry that a manifest names; none where the package need not have it.
///
/// The path must stay in the package. A project's packages are walked beneath the project, so that this check
/// is what keeps one of them from giving what is another's.
fn place_of(held: &HeldFolder, given: &ProvidedPath) -> Result<Option<PathTarget>, Diagnostic> {
    let name = format!("`{}` in `{}`", one_line(&given.path), given.kind.word());
    let unusable = |why: &str| Diagnostic::new(Code::PackageManifest, format!("{name} {why}"));
    match held.entry(&given.path, LinkRule::Contain) {
        Ok(PathKind::Folder) => Ok(Some(PathTarget::Folder)),
        // Where a place is fixed it is a folder.
        Ok(PathKind::File) if !given.is_named => Err(unusable("is a file, not a folder")),
        Ok(PathKind::File) if given.kind.takes_file(file_name(&given.path)) => {
            Ok(Some(PathTarget::File))
        }
        Ok(PathKind::File) => {
            let message = format!(
                "{name} is a file, and not by its name one of {}",
                given.kind.word()
            );
            Err(Diagnostic::new(Code::PackageManifest, message))
        }
        Ok(PathKind::Other) => Err(unusable("is neither a folder nor a file")),
        Err(error) if error.is_not_found() && !given.is_named => Ok(None),
        Err(error) if error.leads_out() => {
            let message = format!("{name} is a link that leads out of the package");
            let help = "put what it leads to into the package";
            Err(Diagnostic::new(Code::PathEscape, message).with_help(help))
        }
        Err(error) if error.is_not_found() => {
            let message = format!("{name} is not there");
            Err(Diagnostic::new(Code::PackageMissing, message))
        }
        Err(error) => Err(unusable(&format!("cannot be opened: {}", error.source))),
    }
}

fn add_place(
    package: &mut Package,
    given: &ProvidedPath,
    found: PathTarget,
    place: &PackagePlace<'_>,
    choices: &[Arc<SkillChoice>],
) {
    let (below, file) = match (found, given.kind) {
        (PathTarget::Folder, _) => (given.path.as_str(), None),
        // A skill is its folder, whichever of the two is named.
        (PathTarget::File, EntryKind::Skills) => {
            let (folder, name) = given.path.rsplit_once('/').unwrap_or(("", &given.path));
            (folder, Some(name).filter(|name| *name != SKILL_FILE))
        }
        // A file of an agent or a chain is read beneath the package, so that a link in it may lead anywhere there.
        (PathTarget::File, _) => ("", Some(given.path.as_str())),
    };
    let path = match below {
        "" => package.folder.clone(),
        below => package.folder.join(below),
    };
    let is_same = |known: &&mut GivenPlace| known.kind == given.kind && known.path == path;
    // A folder of skills has its files with it; of agents and chains its walk may leave some out.
    let is_skills = given.kind == EntryKind::Skills;
    let mut known = package.given.iter_mut().filter(is_same);
    let known = known.find(|known| is_skills || known.files.is_some() == file.is_some());
    match (known, file) {
        (Some(known), None) => known.widen(given.pattern.clone()),
        (Some(known), Some(file)) => known.add_file(file),
        (None, file) => package.given.push(GivenPlace {
            kind: given.kind,
            files: file.map(|file| vec![file.to_owned()]),
            chosen: chosen(given, below, choices),
            format: given.format,
            children_only: given.is_flat,
            trust: place
                .trust
                .map_or(RootTrust::Trusted, |trust| trust.of_root(&path)),
            path,
            below: below.to_owned(),
        }),
    }
}

/// The skills of a place that count; none when all do.
fn chosen(given: &ProvidedPath, below: &str, choices: &[Arc<SkillChoice>]) -> Option<FolderChoice> {
    let said = choices.iter().filter(|choice| !choice.is_everything());
    let choices: Vec<Arc<SkillChoice>> = said.cloned().collect();
    let leads: Vec<Wildcard> = given.pattern.iter().cloned().collect();
    let is_all = leads.is_empty() && choices.is_empty();
    (given.kind == EntryKind::Skills && !is_all).then(|| FolderChoice {
        below: below.to_owned(),
        leads,
        choices,
    })
}

impl GivenPlace {
    /// The same folder is named again, whole or by a pattern.
    fn widen(&mut self, pattern: Option<Wildcard>) {
        let files = self.files.take();
        let Some(pattern) = pattern else {
            if let Some(chosen) = &mut self.chosen {
                chosen.leads.clear();
            }
            return;
        };
        // A place that was given whole stays so.
        let is_all = self
            .chosen
            .as_ref()
            .is_none_or(|chosen| chosen.leads.is_empty());
        if is_all && files.is_none() {
            return;
        }
        let chosen = self.chosen.get_or_insert_with(|| FolderChoice {
            below: self.below.clone(),
            ..FolderChoice::default()
        });
        for file in files.unwrap_or_default() {
            let path = chosen.below_package(&file);
            chosen.leads.extend(Wildcard::parse(&path).ok());
        }
        chosen.leads.push(pattern);
    }

    fn add_file(&mut self, file: &str) {
        if let Some(files) = &mut self.files {
            files.push(file.to_owned());
        } else if let Some(chosen) = self
            .chosen
            .as_mut()
            .filter(|chosen| !chosen.leads.is_empty())
        {
            let path = chosen.below_package(file);
            chosen.leads.extend(Wildcard::parse(&path).ok());
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scoped_packages_have_their_scope() {
        assert_eq!(folder_name(Path::new("/m/@s/a")), "@s/a");
        assert_eq!(folder_name(Path::new("/m/a")), "a");
    }
}
