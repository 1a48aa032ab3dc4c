//! Packages: the contents that their manifests list, and the ways in which settings name them.
//!
//! Nothing here reads a disk: paths are judged by their text. The code that opens them stays beneath the package, since
//! only the disk can tell where a link leads.

mod agent_plugin;
mod choice;
mod manifest;
mod paths;
mod settings;
mod skill_folders;
mod source;

pub use choice::{FolderChoice, SkillChoice, SkillFilter};
pub use manifest::{
    EntryKind, MAX_PATHS, Manifest, ManifestFile, ProvidedPath, dependencies, may_concern_grove,
};
pub use paths::{PathRefusal, path_below};
pub use settings::{MAX_NAMED, NamedPackage, PiSettings, read_settings};
pub use skill_folders::NamedFolder;
pub use source::{PackageSource, is_package_name};
