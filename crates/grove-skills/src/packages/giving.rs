//! What one package gives: the folders and files that its manifest names and that are there, all in the package.

use std::path::Path;

use grove_catalog::trust::Trust;
use grove_fs::files;
use grove_fs::held_folder::{EntryKind, HeldFolder};
use grove_fs::probe_walk::Links;
use grove_spec::package::{Given, Kind, Manifest, ManifestFile, may_speak_of_us};
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use super::search::{Asked, Place, Search, first_of_each, refused};
use super::{GivenPlace, MAX_FILE_BYTES, Package};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

impl Search {
    /// One package: the first of its manifests that speaks of us counts.
    pub(super) fn package(
        &mut self,
        place: &Place<'_>,
        below: &str,
        manifests: &[ManifestFile],
        asked: Asked<'_>,
    ) {
        for file in manifests {
            let path = match below {
                "" => file.path().to_owned(),
                below => format!("{below}/{}", file.path()),
            };
            let bytes = match place.held.read(&path, place.links, MAX_FILE_BYTES) {
                Ok(bytes) => bytes,
                Err(error) if error.is_not_found() => continue,
                Err(error) => {
                    self.say(refused(&error, Code::PackageManifest, "the manifest"));
                    continue;
                }
            };
            if *file == ManifestFile::Npm && !may_speak_of_us(&bytes) {
                continue;
            }
            let manifest = Manifest::read(&bytes, *file);
            if manifest.speaks {
                return self.take(place, below, &path, manifest);
            }
        }
        if let Asked::By(written) = asked {
            let folder = place.held.path().join(below);
            let why = if files::is_folder(&folder) {
                "gives neither agents nor chains nor skills"
            } else {
                "is not there"
            };
            let finding = Diagnostic::new(
                Code::PackageMissing,
                format!("the package `{written}` {why}"),
            );
            self.say(finding.in_file(&folder));
        }
    }

    fn take(&mut self, place: &Place<'_>, below: &str, path: &str, mut manifest: Manifest) {
        let folder = place.held.path().join(below);
        let real = files::canonical(&folder).unwrap_or_else(|_| folder.clone());
        if !self.seen.insert(real) {
            return;
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
                Links::Contain => place.held.path().to_path_buf(),
                Links::Follow => folder.clone(),
            },
            folder,
        };
        let mut missing: Vec<(Kind, Vec<Diagnostic>)> = Vec::new();
        for given in &manifest.given {
            match place_of(&held, given) {
                Ok(Some(found)) => add_place(&mut package, given, found, place),
                Ok(None) => {}
                Err(finding) => {
                    let finding = finding.in_file(&file);
                    let finding = match given.position {
                        Some(position) => finding.at(position),
                        None => finding,
                    };
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

/// What a path in a manifest leads to.
enum Found {
    Folder,
    File,
}

/// Whether a package has what its manifest names; nothing where it need not have it.
///
/// The path must stay in the package. A project's packages are walked beneath the project, so that this look
/// is what keeps one of them from giving what is another's.
fn place_of(held: &HeldFolder, given: &Given) -> Result<Option<Found>, Diagnostic> {
    let name = format!("`{}` in `{}`", one_line(&given.path), given.kind.word());
    let unusable = |why: &str| Diagnostic::new(Code::PackageManifest, format!("{name} {why}"));
    match held.entry(&given.path, Links::Contain) {
        Ok(EntryKind::Folder) => Ok(Some(Found::Folder)),
        // Where a place is fixed it is a folder.
        Ok(EntryKind::File) if !given.is_named => Err(unusable("is a file, not a folder")),
        Ok(EntryKind::File) if given.kind.takes_file(file_name(&given.path)) => {
            Ok(Some(Found::File))
        }
        Ok(EntryKind::File) => {
            let message = format!(
                "{name} is a file, and not by its name one of {}",
                given.kind.word()
            );
            Err(Diagnostic::new(Code::PackageManifest, message))
        }
        Ok(EntryKind::Other) => Err(unusable("is neither a folder nor a file")),
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

/// Adds what was found to the places of a package.
fn add_place(package: &mut Package, given: &Given, found: Found, place: &Place<'_>) {
    let (below, file) = match (found, given.kind) {
        (Found::Folder, _) => (given.path.as_str(), None),
        // A skill is its folder, whichever of the two is named.
        (Found::File, Kind::Skills) => {
            let (folder, name) = given.path.rsplit_once('/').unwrap_or(("", &given.path));
            (folder, Some(name).filter(|name| *name != SKILL_FILE))
        }
        // A file of an agent or a chain is read beneath the package, so that a link in it may lead anywhere there.
        (Found::File, _) => ("", Some(given.path.as_str())),
    };
    let path = match below {
        "" => package.folder.clone(),
        below => package.folder.join(below),
    };
    let is_same = |known: &&mut GivenPlace| known.kind == given.kind && known.path == path;
    // A folder of skills has its files with it; of agents and chains its walk may leave some out.
    let is_skills = given.kind == Kind::Skills;
    let mut known = package.given.iter_mut().filter(is_same);
    let known = known.find(|known| is_skills || known.files.is_some() == file.is_some());
    match (known, file) {
        (Some(known), None) => known.files = None,
        (Some(known), Some(file)) => {
            if let Some(files) = &mut known.files {
                files.push(file.to_owned());
            }
        }
        (None, file) => package.given.push(GivenPlace {
            kind: given.kind,
            files: file.map(|file| vec![file.to_owned()]),
            format: given.format,
            children_only: given.is_flat,
            trust: place
                .trust
                .map_or(Trust::Trusted, |trust| trust.of_root(&path)),
            path,
            below: below.to_owned(),
        }),
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
