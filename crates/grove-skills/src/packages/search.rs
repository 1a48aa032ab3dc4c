//! The places where packages may lie, in order: the project's, then the user's, then npm's global ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_fs::held_folder::HeldFolder;
use grove_fs::probe_walk::LinkRule;
use grove_fs::{FsError, files};
use grove_spec::config::Settings;
use grove_spec::package::{
    ManifestFile, NamedPackage, PackageSource, SkillFilter, dependencies, read_settings,
};
use grove_spec::{Code, Diagnostic};

use super::{
    MAX_FILE_BYTES, MODULES, NamedSkills, PI_MODULES, PI_SETTINGS, Packages, SettingsFile, npm_root,
};
use crate::environment::Environment;
use crate::project::{FolderTrust, NamingFileState};

/// Packages in one folder of packages whose manifests are read.
const MAX_INSTALLED: usize = 2_000;
/// Entries of one folder of packages that are looked at.
const MAX_ENTRIES: usize = 20_000;

#[derive(Default)]
pub(super) struct PackageSearch {
    pub(super) found: Packages,
    pub(super) seen: BTreeSet<PathBuf>,
    /// The skills that count of each package that settings name, by the real path of the package.
    pub(super) filters: BTreeMap<PathBuf, SkillFilter>,
    /// The manifests that were read; none where there is none that can be.
    manifests: BTreeMap<PathBuf, Option<Arc<[u8]>>>,
}

#[derive(Clone, Copy)]
pub(super) struct PackagePlace<'a> {
    /// The folder relative to which they are opened.
    pub(super) held: &'a HeldFolder,
    pub(super) links: LinkRule,
    /// The trust of the project they belong to; the user's are trusted.
    pub(super) trust: Option<&'a FolderTrust>,
}

impl<'a> PackagePlace<'a> {
    /// A folder of a project, which nothing in it may leave.
    fn of_project(held: &'a HeldFolder, trust: &'a FolderTrust) -> Self {
        Self {
            held,
            links: LinkRule::Contain,
            trust: Some(trust),
        }
    }

    /// A folder of the user's, where links lead where the user wants.
    fn of_user(held: &'a HeldFolder) -> Self {
        Self {
            held,
            links: LinkRule::Follow,
            trust: None,
        }
    }
}

#[derive(Default)]
struct NamedPackages {
    packages: Vec<NamedPackage>,
    /// Set if the file is as it was when the project was trusted, or the project is not trusted.
    is_as_seen: bool,
}

/// The reason for looking at a package, and so for what is said when there is none.
#[derive(Clone, Copy)]
pub(super) enum SearchReason<'a> {
    /// None: it lies among others that have nothing to do with agents.
    NotNamed,
    /// It lies where packages for agents lie.
    Installed,
    /// Settings, under this name.
    NamedAs(&'a str),
}

impl PackageSearch {
    pub(super) fn project(&mut self, root: &Path, trust: &FolderTrust) {
        let Ok(held) = HeldFolder::open(root) else {
            return;
        };
        let place = PackagePlace::of_project(&held, trust);
        let named = self.settings(&place, &format!(".pi/{PI_SETTINGS}"));
        let named = named.unwrap_or_default();
        for package in &named.packages {
            if let Some(below) = below_project(package) {
                self.remember(&root.join(below), package);
            }
        }
        self.package(&place, "", &[ManifestFile::Npm], SearchReason::Installed);
        self.installed(
            &place,
            &format!(".pi/{PI_MODULES}"),
            SearchReason::Installed,
        );
        let anew = trust.through(&held.path().join(".pi").join(PI_SETTINGS));
        let through = PackagePlace {
            trust: Some(if named.is_as_seen { trust } else { &anew }),
            ..place
        };
        for package in &named.packages {
            self.named_by_project(&through, package);
        }
        self.dependencies(&place);
    }

    /// The folders with skills that the settings in another folder of the project name. Packages are looked for in one
    /// folder of a project, and nothing is said of those of others.
    pub(super) fn folders_named_in(&mut self, folder: &Path, trust: &FolderTrust) {
        let Ok(held) = HeldFolder::open(folder) else {
            return;
        };
        let place = PackagePlace::of_project(&held, trust);
        let before = self.found.diagnostics.len();
        self.settings(&place, &format!(".pi/{PI_SETTINGS}"));
        let mut said = self.found.diagnostics.split_off(before);
        let of_file = [
            Code::PackageSettings,
            Code::PathEscape,
            Code::SettingsChanged,
        ];
        said.retain(|finding| of_file.contains(&finding.code));
        self.found.diagnostics.extend(said);
    }

    /// Bounds the reach of a project's settings by the folder that is trusted as the project.
    pub(super) fn reach(&mut self, project: Option<&Path>) {
        for named in &mut self.found.skills {
            if let (Some(folder), Some(project)) = (&named.project, project)
                && folder.starts_with(project)
            {
                named.within = Some(project.to_path_buf());
            }
        }
    }

    /// The packages in `node_modules` that the project's `package.json` names; all of them when it names none.
    ///
    /// The packages that others brought along are many, and the project did not choose them.
    fn dependencies(&mut self, place: &PackagePlace<'_>) {
        let Ok(modules) = place.held.folder(MODULES, place.links) else {
            return;
        };
        let manifest = self.manifest(place, ManifestFile::Npm.path());
        let names = manifest.map_or_else(|| Some(Vec::new()), |bytes| dependencies(&bytes));
        // Which of them the project chose is not known; that its file is not JSON has been said.
        let Some(mut names) = names else { return };
        if names.is_empty() {
            return self.installed(place, MODULES, SearchReason::NotNamed);
        }
        self.cap(&mut names, modules.path(), false);
        for name in names {
            let below = format!("{MODULES}/{name}");
            self.package(place, &below, &[ManifestFile::Npm], SearchReason::NotNamed);
        }
    }

    /// A manifest, read once for all that name its package; an obstacle is reported.
    pub(super) fn manifest(&mut self, place: &PackagePlace<'_>, below: &str) -> Option<Arc<[u8]>> {
        let path = place.held.path().join(below);
        if let Some(known) = self.manifests.get(&path) {
            return known.clone();
        }
        let read = match place.held.read(below, place.links, MAX_FILE_BYTES) {
            Ok(bytes) => Some(bytes.into()),
            Err(error) => {
                if !error.is_not_found() {
                    self.say(refused(&error, Code::PackageManifest, "the manifest"));
                }
                None
            }
        };
        self.manifests.entry(path).or_insert(read).clone()
    }

    /// Leaves out what is beyond the limit, and says so.
    fn cap(&mut self, names: &mut Vec<String>, folder: &Path, is_cut: bool) {
        let beyond = names.split_off(MAX_INSTALLED.min(names.len()));
        if is_cut || !beyond.is_empty() {
            let message = format!("more than {MAX_INSTALLED} packages; the rest were not read");
            let finding = Diagnostic::new(Code::PackageLimit, message);
            self.say(finding.in_file(folder).with_names(beyond));
        }
    }

    /// Looks for the packages of the user, and for npm's global ones.
    pub(super) fn user(
        &mut self,
        environment: &Environment,
        settings: &Settings,
        project: Option<&Path>,
    ) {
        let pi = environment.pi_folder();
        if let Some(held) = pi.as_deref().and_then(|pi| HeldFolder::open(pi).ok()) {
            let place = PackagePlace::of_user(&held);
            let pi = held.path();
            let named = self
                .settings(&place, PI_SETTINGS)
                .unwrap_or_default()
                .packages;
            for package in &named {
                self.remember(&of_user(environment, pi, pi, package), package);
            }
            self.installed(&place, PI_MODULES, SearchReason::Installed);
            for package in &named {
                self.named_by_user(environment, pi, pi, package);
            }
        }
        let configured = &settings.packages;
        for written in &configured.value {
            match NamedPackage::read(written, None) {
                Ok(package) => {
                    let from = &environment.config;
                    let pi = pi.as_deref().unwrap_or(from);
                    self.named_by_user(environment, from, pi, &package);
                }
                Err(finding) => {
                    let origin = configured.origin.as_ref();
                    self.say(match origin {
                        Some(origin) => finding
                            .in_file(&origin.file)
                            .at(grove_spec::Position::new(origin.line, 1)),
                        None => finding,
                    });
                }
            }
        }
        let global = npm_root::find(environment).and_then(|root| HeldFolder::open(&root).ok());
        let is_outside = |held: &HeldFolder| {
            // A project that puts a `node` of its own on the search path would speak for the user.
            let of_project = project.is_some_and(|project| is_below(held.path(), project));
            if of_project {
                let message =
                    "npm's global packages are in this project, so they do not count as the user's";
                let help = "name them in the project's `package.json`, or set `npm_config_prefix`";
                let finding = Diagnostic::new(Code::PackageSource, message).with_help(help);
                self.say(finding.in_file(held.path()));
            }
            !of_project
        };
        if let Some(held) = global.filter(is_outside) {
            let place = PackagePlace::of_user(&held);
            self.installed(&place, "", SearchReason::NotNamed);
        }
    }

    /// Keeps what settings say of the skills of a package, which may be found before its turn comes.
    fn remember(&mut self, folder: &Path, package: &NamedPackage) {
        if let Ok(real) = files::canonical(folder) {
            let filter = self.filters.entry(real);
            filter.or_insert_with(|| package.skills.clone());
        }
    }

    /// The packages that a settings file names; none when there is no such file.
    ///
    /// A project's settings decide which folders count, and which goes first, so they were seen with them: while they
    /// are not as they were seen, this is said, and nothing that they name is used.
    fn settings(&mut self, place: &PackagePlace<'_>, below: &str) -> Option<NamedPackages> {
        let file = place.held.path().join(below);
        let naming = |digest: Option<&Digest>| {
            let trust = place.trust;
            trust.map_or(NamingFileState::AsSeen, |trust| trust.naming(&file, digest))
        };
        let bytes = match place.held.read(below, place.links, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => {
                if naming(None) == NamingFileState::Changed {
                    let message = "pi's settings were removed after the project was trusted; nothing that they named is used";
                    self.say(Diagnostic::new(Code::SettingsChanged, message).in_file(&file));
                }
                return None;
            }
            Err(error) => {
                self.say(refused(&error, Code::PackageSettings, "the settings"));
                return None;
            }
        };
        let settings = read_settings(&bytes);
        let said = settings.fault.into_iter().chain(settings.package_findings);
        for finding in said {
            self.say(finding.in_file(&file));
        }
        let digest = Digest::of(&bytes);
        let naming = naming(Some(&digest));
        self.found.settings_files.push(SettingsFile {
            path: file.clone(),
            bytes,
            digest,
        });
        let names_any = !settings.skills.is_empty() || !settings.packages.is_empty();
        let change = match naming {
            NamingFileState::Changed => Some("changed"),
            NamingFileState::New if names_any => Some("are new"),
            _ => None,
        };
        if let Some(change) = change {
            let message = format!(
                "pi's settings {change} since the project was trusted; no folder and no package that they name is used"
            );
            self.say(Diagnostic::new(Code::SettingsChanged, message).in_file(&file));
        }
        let is_as_seen = naming == NamingFileState::AsSeen;
        if !settings.skills.is_empty() || !settings.skill_findings.is_empty() {
            let findings = settings.skill_findings.into_iter();
            self.found.skills.push(NamedSkills {
                project: place.trust.map(|_| place.held.path().to_path_buf()),
                within: place.trust.map(|_| place.held.path().to_path_buf()),
                is_as_seen,
                folders: settings.skills,
                diagnostics: findings.map(|finding| finding.in_file(&file)).collect(),
                file,
            });
        }
        Some(NamedPackages {
            packages: settings.packages,
            is_as_seen,
        })
    }

    fn named_by_project(&mut self, place: &PackagePlace<'_>, package: &NamedPackage) {
        let Some(below) = below_project(package) else {
            let message = format!(
                "the package `{}` is outside the project that names it",
                package.written
            );
            let file = place.held.path().join(".pi").join(PI_SETTINGS);
            let finding = Diagnostic::new(Code::PackageSource, message).in_file(&file);
            return self.say(finding.at(package.position));
        };
        let asked = SearchReason::NamedAs(&package.written);
        self.package(place, &below, &ManifestFile::ALL, asked);
    }

    /// A package of the user's settings, wherever it lies.
    fn named_by_user(
        &mut self,
        environment: &Environment,
        from: &Path,
        pi: &Path,
        package: &NamedPackage,
    ) {
        let folder = of_user(environment, from, pi, package);
        self.remember(&folder, package);
        let held = match HeldFolder::open(&folder) {
            Ok(held) => held,
            Err(error) => return self.say(absent(&package.written, &error)),
        };
        let place = PackagePlace::of_user(&held);
        let asked = SearchReason::NamedAs(&package.written);
        self.package(&place, "", &ManifestFile::ALL, asked);
    }

    /// Everything in a folder of packages, those in `@scope` folders included.
    fn installed(&mut self, place: &PackagePlace<'_>, below: &str, asked: SearchReason<'_>) {
        let manifests: &[ManifestFile] = match asked {
            // The parts of any program lie here too, so no more than the one file is asked for.
            SearchReason::NotNamed => &[ManifestFile::Npm],
            _ => &ManifestFile::ALL,
        };
        let Ok(folder) = place.held.folder(below, place.links) else {
            return;
        };
        let Ok(listed) = folder.folder_names(MAX_ENTRIES) else {
            return;
        };
        let mut is_cut = listed.is_cut;
        let mut names = Vec::with_capacity(listed.names.len());
        for name in listed.names {
            if name.starts_with('@') {
                let scope = folder.folder(&name, place.links);
                let inner = scope.and_then(|scope| scope.folder_names(MAX_ENTRIES));
                let inner = inner.unwrap_or_default();
                is_cut |= inner.is_cut;
                names.extend(inner.names.iter().map(|inner| format!("{name}/{inner}")));
            } else {
                names.push(name);
            }
        }
        self.cap(&mut names, folder.path(), is_cut);
        for name in names {
            let path = match below {
                "" => name,
                below => format!("{below}/{name}"),
            };
            self.package(place, &path, manifests, asked);
        }
    }

    pub(super) fn say(&mut self, finding: Diagnostic) {
        self.found.diagnostics.push(finding);
    }
}

/// pi's settings with the folders of skills that they name, as pi finds them, and no packages.
pub(crate) fn settings_alone(environment: &Environment, working: Option<&Path>) -> Packages {
    let mut search = PackageSearch::default();
    let trust = FolderTrust::default();
    let held = |folder: &Path| HeldFolder::open(folder).ok();
    if let Some(held) = working.and_then(held) {
        let place = PackagePlace::of_project(&held, &trust);
        search.settings(&place, &format!(".pi/{PI_SETTINGS}"));
    }
    if let Some(held) = environment.pi_folder().as_deref().and_then(held) {
        let place = PackagePlace::of_user(&held);
        search.settings(&place, PI_SETTINGS);
    }
    // A discovery for skills alone has no use for findings about packages.
    let mut found = search.found;
    let of_file = [Code::PackageSettings, Code::PathEscape];
    found
        .diagnostics
        .retain(|finding| of_file.contains(&finding.code));
    found
}

/// Of what is wrong with the entries of one field, the first finding of each code, with how many more there are.
pub(crate) fn first_of_each(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut firsts: Vec<(Diagnostic, usize)> = Vec::new();
    for finding in findings {
        match firsts
            .iter_mut()
            .find(|(first, _)| first.code == finding.code)
        {
            Some((_, more)) => *more += 1,
            None => firsts.push((finding, 0)),
        }
    }
    let said = firsts.into_iter().map(|(mut first, more)| {
        if more > 0 {
            first.message = format!("{} and {more} more of this field", first.message);
        }
        first
    });
    said.collect()
}

/// Returns true if a folder lies in another one, whatever links lead there.
fn is_below(folder: &Path, above: &Path) -> bool {
    let real = |path: &Path| files::canonical(path).unwrap_or_else(|_| path.to_path_buf());
    real(folder).starts_with(real(above))
}

/// The path below the project of a package that the project's settings name; none when it leaves.
fn below_project(package: &NamedPackage) -> Option<String> {
    match &package.source {
        PackageSource::Npm(name) => Some(format!(".pi/{PI_MODULES}/{name}")),
        PackageSource::Git(path) => Some(format!(".pi/git/{path}")),
        PackageSource::Path(path) => project_path(path),
    }
}

/// The folder of a package that the user's settings name.
fn of_user(environment: &Environment, from: &Path, pi: &Path, package: &NamedPackage) -> PathBuf {
    match &package.source {
        PackageSource::Npm(name) => pi.join(PI_MODULES).join(name),
        PackageSource::Git(path) => pi.join("git").join(path),
        PackageSource::Path(path) => environment.expand(path, from),
    }
}

/// A path that a project's settings name, below the project; none when it leaves. It starts in `.pi`.
fn project_path(written: &str) -> Option<String> {
    path_from(".pi", written)
}

/// The same from a folder below the project.
pub(crate) fn path_from<'a>(folder: &'a str, written: &'a str) -> Option<String> {
    if written.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

pub(super) fn refused(error: &FsError, code: Code, what: &str) -> Diagnostic {
    let finding = if error.leads_out() {
        let message = format!("{what} is behind a link that leads out of the project");
        Diagnostic::new(Code::PathEscape, message)
    } else {
        Diagnostic::new(code, format!("{what} cannot be read: {}", error.source))
    };
    finding.in_file(&error.path)
}

fn absent(written: &str, error: &FsError) -> Diagnostic {
    let message = if error.is_not_found() {
        format!("the package `{written}` is not there")
    } else {
        format!("the package `{written}` cannot be opened: {}", error.source)
    };
    Diagnostic::new(Code::PackageMissing, message).in_file(&error.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_settings_reach_no_further_than_the_project() {
        for (written, expected) in [
            ("./x", Some(".pi/x")),
            ("../packages/x", Some("packages/x")),
            ("..", Some("")),
            (".", Some(".pi")),
            ("./a/../b", Some(".pi/b")),
            ("../..", None),
            ("../../x", None),
            ("../x/../../y", None),
            ("/etc", None),
            ("~", None),
            ("~/x", None),
        ] {
            assert_eq!(project_path(written).as_deref(), expected, "{written}");
        }
    }
}
