//! Packages on disk: where they are looked for, and which folders they give.
//!
//! The project's own `package.json` comes first, then what is installed in the project and named by its settings, then
//! the same for the user, then npm's global packages. The first package wins a name. No program is run: the folder of
//! npm's global packages is read from its settings or follows from the place of node.

mod given_places;
mod npm_root;
mod search;

use std::path::{Path, PathBuf};

use grove_catalog::trust::RootTrust;
use grove_catalog::{Digest, RootSource};
use grove_fs::trust_store::TrustStore;
use grove_spec::Diagnostic;
use grove_spec::agent::AgentFormat;
use grove_spec::config::Settings;
use grove_spec::package::{EntryKind, FolderChoice, ManifestFile, NamedFolder};
use grove_spec::text::one_line;

use crate::environment::Environment;
use crate::project::{FolderTrust, Project};
use crate::scope::OwnerScope;
use search::PackageSearch;
pub(crate) use search::{first_of_each, path_from, settings_alone};

const MAX_FILE_BYTES: u64 = 1_000_000;

const MODULES: &str = "node_modules";
/// The folder into which pi has npm install, below `.pi` and below its own folder.
const PI_MODULES: &str = "npm/node_modules";
/// pi's settings, below `.pi` and below its own folder.
const PI_SETTINGS: &str = "settings.json";

/// Everything that packages give, the strongest package first.
#[derive(Debug, Default)]
pub struct Packages {
    /// Packages that give something, or mean to.
    pub packages: Vec<Package>,
    /// The findings of the search for packages.
    pub diagnostics: Vec<Diagnostic>,
    /// Folders with skills that the same settings name which name packages; the project's first.
    pub(crate) skills: Vec<NamedSkills>,
    /// The settings of pi that were read; other readers look for other keys in them.
    pub(crate) settings_files: Vec<SettingsFile>,
}

#[derive(Debug)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

#[derive(Debug, Clone)]
pub(crate) struct NamedSkills {
    pub(crate) file: PathBuf,
    /// The folder of the project that it belongs to; the user's belong to none.
    pub(crate) project: Option<PathBuf>,
    /// The folder that nothing which it names may leave: all of the project, as trust has it.
    pub(crate) within: Option<PathBuf>,
    /// Set if the file is as it was when the project was trusted, or the project is not trusted.
    pub(crate) is_as_seen: bool,
    pub(crate) folders: Vec<NamedFolder>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl NamedSkills {
    pub(crate) const fn source(&self) -> RootSource {
        match self.project {
            Some(_) => RootSource::Project,
            None => RootSource::User,
        }
    }
}

/// A package that speaks of agents, chains or skills.
#[derive(Debug)]
pub struct Package {
    /// Its name, by its manifest or its folder.
    pub name: String,
    /// The folder that it is in.
    pub folder: PathBuf,
    /// Set if it is the project's; otherwise it is the user's.
    pub is_projects: bool,
    /// The folders and files it gives.
    pub given: Vec<GivenPlace>,
    /// The folder that the paths of what it gives must not leave: the project, or the package itself.
    pub(crate) base: PathBuf,
}

/// A folder that a package gives and that is there, or single files of the package.
#[derive(Debug)]
pub struct GivenPlace {
    /// The kind of files in it.
    pub kind: EntryKind,
    /// The path of the folder.
    pub path: PathBuf,
    /// The files that count, by path below the folder, where the package gives these and not the folder.
    pub files: Option<Vec<String>>,
    /// The skills in it that count, where not all do.
    pub chosen: Option<FolderChoice>,
    pub(crate) format: AgentFormat,
    pub(crate) children_only: bool,
    pub(crate) trust: RootTrust,
    below: String,
}

impl GivenPlace {
    pub(crate) fn label(&self, package: &Package) -> String {
        let name = one_line(&package.name);
        match self.below.as_str() {
            "" => format!("package:{name}"),
            below => format!("package:{name}/{below}"),
        }
    }
}

/// Files and folders that say which packages there are: a change of one may mean other packages.
pub(crate) fn declaring_files(environment: &Environment, project: &Project) -> Vec<PathBuf> {
    let root = project.settings_folder();
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
    let others = project.folders.iter();
    let others = others.filter(|folder| Some(folder.as_path()) != root);
    let others = others.map(|folder| folder.join(".pi").join(PI_SETTINGS));
    of_project.chain(others).chain(of_user).collect()
}

/// Folders in which packages are installed, each in a folder of its own.
pub(crate) fn package_folders(environment: &Environment, project: &Project) -> Vec<PathBuf> {
    let root = project.settings_folder();
    let of_project = root.into_iter().flat_map(|root| {
        let below = [format!(".pi/{PI_MODULES}"), MODULES.to_owned()];
        below.map(|below| root.join(below))
    });
    let of_user = environment.pi_folder().map(|pi| pi.join(PI_MODULES));
    let global = npm_root::find(environment);
    of_project.chain(of_user).chain(global).collect()
}

/// Looks for packages everywhere in a scope. The packages of a project are not looked at, and so nothing is said of
/// them, where the scope leaves the project out.
pub(crate) fn find(
    environment: &Environment,
    settings: &Settings,
    project: &Project,
    store: &TrustStore,
    scope: OwnerScope,
) -> Packages {
    let mut search = PackageSearch::default();
    let root = project.settings_folder();
    if let Some(root) = root.filter(|_| scope.has_project()) {
        search.project(root, &FolderTrust::of(root, store));
        let others = project.folders.iter().filter(|folder| *folder != root);
        for folder in others {
            search.folders_named_in(folder, &FolderTrust::of(folder, store));
        }
        search.reach(project.grant_folder());
    }
    search.user(environment, settings, root);
    search.found
}

/// The packages of one folder of a project alone, for a record of what is in it.
pub(crate) fn of_project(root: &Path, within: &Path, trust: &FolderTrust) -> Packages {
    let mut search = PackageSearch::default();
    search.project(root, trust);
    search.reach(Some(within));
    search.found
}

/// The settings in which pi looks for folders with skills: those of the working folder and the user's.
pub(crate) fn settings_files(environment: &Environment, working: Option<&Path>) -> Vec<PathBuf> {
    let of_project = working.map(|folder| folder.join(".pi").join(PI_SETTINGS));
    let of_user = environment.pi_folder().map(|pi| pi.join(PI_SETTINGS));
    of_project.into_iter().chain(of_user).collect()
}
