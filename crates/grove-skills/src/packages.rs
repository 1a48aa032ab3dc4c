//! Packages on disk: where they are looked for, and which folders they give.
//!
//! The project's own `package.json` comes first, then what is installed in the project and named by its settings,
//! then the same for the user, then what npm installed for everybody. The first package wins a name. Nothing is
//! run: where npm keeps its global packages is read from its settings or follows from where node is.

mod npm_root;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::Source;
use grove_catalog::trust::Trust;
use grove_fs::held_folder::HeldFolder;
use grove_fs::probe_walk::Links;
use grove_fs::trust_store::TrustStore;
use grove_fs::{FsError, files};
use grove_spec::config::Settings;
use grove_spec::package::{
    Given, Kind, Manifest, ManifestFile, Named, NamedFolder, PackageSource, dependencies,
    may_speak_of_us, read_settings,
};
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::project::{FolderTrust, Project};
use crate::settings::LoadedSettings;
use crate::trusting;

/// The largest manifest or settings file that is read.
const MAX_FILE_BYTES: u64 = 1_000_000;
/// Packages in one folder of packages whose manifests are read.
const MAX_INSTALLED: usize = 2_000;
/// Entries of one folder of packages that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// The folder into which npm installs.
const MODULES: &str = "node_modules";
/// Where pi has npm install, below `.pi` and below its own folder.
const PI_MODULES: &str = "npm/node_modules";
/// pi's settings, below `.pi` and below its own folder.
const PI_SETTINGS: &str = "settings.json";

/// Everything that packages give, the strongest package first.
#[derive(Debug, Default)]
pub struct Packages {
    /// Packages that give something, or mean to.
    pub packages: Vec<Package>,
    /// What was in the way.
    pub diagnostics: Vec<Diagnostic>,
    /// Folders with skills that the same settings name which name packages; the project's first.
    pub(crate) skills: Vec<NamedSkills>,
}

/// The folders with skills that one settings file names.
#[derive(Debug, Clone)]
pub(crate) struct NamedSkills {
    /// The settings file; paths begin in its folder.
    pub(crate) file: PathBuf,
    /// The project that it belongs to; the user's belong to none.
    pub(crate) project: Option<PathBuf>,
    /// The folders, as written.
    pub(crate) folders: Vec<NamedFolder>,
    /// What is wrong with how they are written.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl NamedSkills {
    /// Where the folders come from.
    pub(crate) const fn source(&self) -> Source {
        match self.project {
            Some(_) => Source::Project,
            None => Source::User,
        }
    }
}

/// A package that speaks of agents, chains or skills.
#[derive(Debug)]
pub struct Package {
    /// Its name, by its manifest or its folder.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Whether it is the project's; otherwise it is the user's.
    pub is_projects: bool,
    /// The folders it gives.
    pub given: Vec<GivenFolder>,
    /// The folder that the paths of what it gives must not leave: the project, or the package itself.
    pub(crate) base: PathBuf,
}

/// A folder that a package gives and that is there.
#[derive(Debug)]
pub struct GivenFolder {
    /// What is in it.
    pub kind: Kind,
    /// Where it is.
    pub path: PathBuf,
    pub(crate) is_flat: bool,
    pub(crate) trust: Trust,
    below: String,
}

impl GivenFolder {
    /// The label of the root that it is.
    pub(crate) fn label(&self, package: &Package) -> String {
        let name = one_line(&package.name);
        match self.below.as_str() {
            "" => format!("package:{name}"),
            below => format!("package:{name}/{below}"),
        }
    }
}

/// Looks for packages around the working folder and for the user.
pub fn look(environment: &Environment) -> Packages {
    let store = trusting::store(environment);
    let project = Project::find(environment);
    let loaded = LoadedSettings::load(environment, Some(&project), &store);
    find(environment, &loaded.settings, &project, &store)
}

/// Files and folders that say which packages there are: what happens to them may mean others.
pub(crate) fn signs(environment: &Environment, project: &Project) -> Vec<PathBuf> {
    let root = project.root.as_deref().or_else(|| project.outermost());
    let of_project = root.into_iter().flat_map(|root| {
        let below = [
            ManifestFile::Npm.path().to_owned(),
            format!(".pi/{PI_SETTINGS}"),
            format!(".pi/{PI_MODULES}"),
            MODULES.to_owned(),
        ];
        below.map(|below| root.join(below))
    });
    let of_user = environment.pi_folder().into_iter().flat_map(|pi| {
        let below = [PI_SETTINGS, PI_MODULES];
        below.map(|below| pi.join(below))
    });
    of_project.chain(of_user).collect()
}

/// Folders in which packages are installed, each in a folder of its own.
pub(crate) fn shelves(environment: &Environment, project: &Project) -> Vec<PathBuf> {
    let root = project.root.as_deref().or_else(|| project.outermost());
    let of_project = root.into_iter().flat_map(|root| {
        let below = [format!(".pi/{PI_MODULES}"), MODULES.to_owned()];
        below.map(|below| root.join(below))
    });
    let of_user = environment.pi_folder().map(|pi| pi.join(PI_MODULES));
    let global = npm_root::find(environment);
    of_project.chain(of_user).chain(global).collect()
}

/// Looks for packages everywhere.
pub(crate) fn find(
    environment: &Environment,
    settings: &Settings,
    project: &Project,
    store: &TrustStore,
) -> Packages {
    let mut search = Search::default();
    let root = project.root.as_deref().or_else(|| project.outermost());
    if let Some(root) = root {
        search.project(root, &FolderTrust::of(root, store));
    }
    search.user(environment, settings, root);
    search.found
}

/// The packages of one project folder alone, for whoever remembers what is in it.
pub(crate) fn of_project(root: &Path, trust: &FolderTrust) -> Packages {
    let mut search = Search::default();
    search.project(root, trust);
    search.found
}

/// The settings in which pi looks for folders with skills: those of the working folder and the user's.
pub(crate) fn settings_files(environment: &Environment, working: Option<&Path>) -> Vec<PathBuf> {
    let of_project = working.map(|folder| folder.join(".pi").join(PI_SETTINGS));
    let of_user = environment.pi_folder().map(|pi| pi.join(PI_SETTINGS));
    of_project.into_iter().chain(of_user).collect()
}

/// The folders with skills that settings name, as pi finds them, and no packages.
pub(crate) fn named_skills(environment: &Environment, working: Option<&Path>) -> Packages {
    let mut search = Search::default();
    let trust = FolderTrust {
        grant: None,
        finding: None,
    };
    let held = |folder: &Path| HeldFolder::open(folder).ok();
    if let Some(held) = working.and_then(held) {
        let place = Place {
            held: &held,
            links: Links::Contain,
            trust: Some(&trust),
        };
        search.settings(&place, &format!(".pi/{PI_SETTINGS}"));
    }
    if let Some(held) = environment.pi_folder().as_deref().and_then(held) {
        let place = Place {
            held: &held,
            links: Links::Follow,
            trust: None,
        };
        search.settings(&place, PI_SETTINGS);
    }
    // Findings about packages are nobody's who asks for skills alone.
    let mut found = search.found;
    let of_file = [Code::PackageSettings, Code::PathEscape];
    found
        .diagnostics
        .retain(|finding| of_file.contains(&finding.code));
    found
}

#[derive(Default)]
struct Search {
    found: Packages,
    /// The packages that were looked at, by their real paths.
    seen: BTreeSet<PathBuf>,
}

/// Where packages lie, and what they may do there.
struct Place<'a> {
    /// The folder relative to which they are opened.
    held: &'a HeldFolder,
    /// What links to packages may do.
    links: Links,
    /// The trust of the project they belong to; the user's are trusted.
    trust: Option<&'a FolderTrust>,
}

impl Search {
    fn project(&mut self, root: &Path, trust: &FolderTrust) {
        let Ok(held) = HeldFolder::open(root) else {
            return;
        };
        let place = Place {
            held: &held,
            links: Links::Contain,
            trust: Some(trust),
        };
        self.package(&place, "", &[ManifestFile::Npm], Asked::Installed);
        self.installed(&place, &format!(".pi/{PI_MODULES}"), Asked::Installed);
        if let Some(named) = self.settings(&place, &format!(".pi/{PI_SETTINGS}")) {
            for package in named {
                self.named_by_project(&place, &package);
            }
        }
        self.dependencies(&place);
    }

    /// What the project's `package.json` depends on, in `node_modules`; everything there when it depends on nothing.
    ///
    /// The packages that others brought along are many, and nobody chose them.
    fn dependencies(&mut self, place: &Place<'_>) {
        let Ok(modules) = place.held.folder(MODULES, place.links) else {
            return;
        };
        let manifest = place
            .held
            .read(ManifestFile::Npm.path(), place.links, MAX_FILE_BYTES);
        let mut names = manifest.map_or_else(|_| Vec::new(), |bytes| dependencies(&bytes));
        if names.is_empty() {
            return self.installed(place, MODULES, Asked::Nobody);
        }
        self.cap(&mut names, modules.path(), false);
        for name in names {
            let below = format!("{MODULES}/{name}");
            self.package(place, &below, &[ManifestFile::Npm], Asked::Nobody);
        }
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

    fn user(&mut self, environment: &Environment, settings: &Settings, project: Option<&Path>) {
        let pi = environment.pi_folder();
        if let Some(held) = pi.as_deref().and_then(|pi| HeldFolder::open(pi).ok()) {
            let place = Place {
                held: &held,
                links: Links::Follow,
                trust: None,
            };
            self.installed(&place, PI_MODULES, Asked::Installed);
            for package in self.settings(&place, PI_SETTINGS).unwrap_or_default() {
                self.named_by_user(environment, held.path(), held.path(), &package);
            }
        }
        let configured = &settings.packages;
        for written in &configured.value {
            match Named::read(written, None) {
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
                    "npm's global packages lie in this project and are not taken for the user's";
                let help = "name them in the project's `package.json`, or set `npm_config_prefix`";
                let finding = Diagnostic::new(Code::PackageSource, message).with_help(help);
                self.say(finding.in_file(held.path()));
            }
            !of_project
        };
        if let Some(held) = global.filter(is_outside) {
            let place = Place {
                held: &held,
                links: Links::Follow,
                trust: None,
            };
            self.installed(&place, "", Asked::Nobody);
        }
    }

    /// The packages that a settings file names; none when there is no such file.
    fn settings(&mut self, place: &Place<'_>, below: &str) -> Option<Vec<Named>> {
        let file = place.held.path().join(below);
        let bytes = match place.held.read(below, place.links, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return None,
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
        if !settings.skills.is_empty() || !settings.skill_findings.is_empty() {
            let findings = settings.skill_findings.into_iter();
            self.found.skills.push(NamedSkills {
                project: place.trust.map(|_| place.held.path().to_path_buf()),
                folders: settings.skills,
                diagnostics: findings.map(|finding| finding.in_file(&file)).collect(),
                file,
            });
        }
        Some(settings.packages)
    }

    /// A package of a project's settings, which must lie in the project.
    fn named_by_project(&mut self, place: &Place<'_>, package: &Named) {
        let below = match &package.source {
            PackageSource::Npm(name) => Some(format!(".pi/{PI_MODULES}/{name}")),
            PackageSource::Git(path) => Some(format!(".pi/git/{path}")),
            PackageSource::Path(path) => project_path(path),
        };
        let Some(below) = below else {
            let message = format!(
                "the package `{}` lies outside of the project that names it",
                package.written
            );
            let file = place.held.path().join(".pi").join(PI_SETTINGS);
            let finding = Diagnostic::new(Code::PackageSource, message).in_file(&file);
            return self.say(match package.position {
                Some(position) => finding.at(position),
                None => finding,
            });
        };
        let asked = Asked::By(&package.written);
        self.package(place, &below, &ManifestFile::ALL, asked);
    }

    /// A package of the user's settings, wherever it lies.
    fn named_by_user(
        &mut self,
        environment: &Environment,
        from: &Path,
        pi: &Path,
        package: &Named,
    ) {
        let folder = match &package.source {
            PackageSource::Npm(name) => pi.join(PI_MODULES).join(name),
            PackageSource::Git(path) => pi.join("git").join(path),
            PackageSource::Path(path) if path == "~" || path.starts_with("~/") => {
                environment.expand(path)
            }
            PackageSource::Path(path) => from.join(path),
        };
        let held = match HeldFolder::open(&folder) {
            Ok(held) => held,
            Err(error) => return self.say(absent(&package.written, &error)),
        };
        let place = Place {
            held: &held,
            links: Links::Follow,
            trust: None,
        };
        let asked = Asked::By(&package.written);
        self.package(&place, "", &ManifestFile::ALL, asked);
    }

    /// Everything in a folder of packages, those in `@scope` folders included.
    fn installed(&mut self, place: &Place<'_>, below: &str, asked: Asked<'_>) {
        let manifests: &[ManifestFile] = match asked {
            // Whatever a program is made of is here too, so no more than the one file is asked for.
            Asked::Nobody => &[ManifestFile::Npm],
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

    /// One package: the first of its manifests that speaks of us counts.
    fn package(
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

    fn take(&mut self, place: &Place<'_>, below: &str, path: &str, manifest: Manifest) {
        let folder = place.held.path().join(below);
        let real = files::canonical(&folder).unwrap_or_else(|_| folder.clone());
        if !self.seen.insert(real) {
            return;
        }
        let file = place.held.path().join(path);
        for finding in manifest.diagnostics {
            self.say(finding.in_file(&file));
        }
        let held = match place.held.folder(below, place.links) {
            Ok(held) => held,
            Err(error) => {
                return self.say(refused(&error, Code::PackageManifest, "the package"));
            }
        };
        let mut package = Package {
            name: manifest.name.unwrap_or_else(|| folder_name(&folder)),
            is_projects: place.trust.is_some(),
            given: Vec::new(),
            base: match place.links {
                Links::Contain => place.held.path().to_path_buf(),
                Links::Follow => folder.clone(),
            },
            folder,
        };
        let mut missing: Vec<(Kind, Diagnostic)> = Vec::new();
        for given in manifest.given {
            match held.folder(&given.path, Links::Contain) {
                Ok(_) => package
                    .given
                    .push(folder_given(&package.folder, given, place)),
                Err(error) if error.is_not_found() && !given.is_named => {}
                Err(error) => missing.push((given.kind, not_given(&file, &given, &error))),
            }
        }
        let by_field = |missing: Vec<(Kind, Diagnostic)>| {
            let mut fields: Vec<(Kind, Vec<Diagnostic>)> = Vec::new();
            for (kind, finding) in missing {
                match fields.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, findings)) => findings.push(finding),
                    None => fields.push((kind, vec![finding])),
                }
            }
            fields
        };
        for (_, findings) in by_field(missing) {
            self.found.diagnostics.extend(first_of_each(findings));
        }
        self.found.packages.push(package);
    }

    fn say(&mut self, finding: Diagnostic) {
        self.found.diagnostics.push(finding);
    }
}

/// Who asks for a package, and so what is said when there is none.
#[derive(Clone, Copy)]
enum Asked<'a> {
    /// Nobody: it lies among others that have nothing to do with agents.
    Nobody,
    /// It lies where packages for agents lie.
    Installed,
    /// Settings, under this name.
    By(&'a str),
}

/// Whether a folder lies in another one, whatever links lead there.
fn is_below(folder: &Path, above: &Path) -> bool {
    let real = |path: &Path| files::canonical(path).unwrap_or_else(|_| path.to_path_buf());
    real(folder).starts_with(real(above))
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

/// A path that a project's settings name, below the project; none when it leaves. It starts in `.pi`.
pub(crate) fn project_path(written: &str) -> Option<String> {
    if written.starts_with(['/', '~']) {
        return None;
    }
    let mut parts = vec![".pi"];
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

fn folder_given(package: &Path, given: Given, place: &Place<'_>) -> GivenFolder {
    let path = match given.path.as_str() {
        "" => package.to_path_buf(),
        below => package.join(below),
    };
    GivenFolder {
        kind: given.kind,
        is_flat: given.is_flat,
        trust: place
            .trust
            .map_or(Trust::Trusted, |trust| trust.of_root(&path)),
        path,
        below: given.path,
    }
}

/// What is said of a folder that a manifest names and that cannot be used.
fn not_given(manifest: &Path, given: &Given, error: &FsError) -> Diagnostic {
    let name = format!("`{}` in `{}`", one_line(&given.path), given.kind.word());
    let finding = if error.leads_out() {
        let message = format!("{name} is a link that leads out of the package");
        Diagnostic::new(Code::PathEscape, message).with_help("put the folder into the package")
    } else if files::is_file(&error.path) {
        let message = format!("{name} is a file; only folders can be named");
        Diagnostic::new(Code::PackageManifest, message)
    } else if error.is_not_found() {
        Diagnostic::new(Code::PackageMissing, format!("{name} is not there"))
    } else {
        let message = format!("{name} cannot be opened: {}", error.source);
        Diagnostic::new(Code::PackageManifest, message)
    };
    let finding = finding.in_file(manifest);
    match given.position {
        Some(position) => finding.at(position),
        None => finding,
    }
}

/// What is said of a file that is there and cannot be read.
fn refused(error: &FsError, code: Code, what: &str) -> Diagnostic {
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

    #[test]
    fn names_of_scoped_packages_have_their_scope() {
        assert_eq!(folder_name(Path::new("/m/@s/a")), "@s/a");
        assert_eq!(folder_name(Path::new("/m/a")), "a");
    }
}
