//! Packages: what their manifests give, and how settings name them.
//!
//! Nothing here knows a disk: paths are judged by how they are written. Whoever opens them does so beneath the
//! package, since a link is no matter of spelling.

mod agent_plugin;
mod choice;
mod manifest;
mod paths;
mod settings;
mod skill_folders;
mod source;

pub use choice::{Choice, Chosen, SkillFilter};
pub use manifest::{Given, Kind, MAX_PATHS, Manifest, ManifestFile, dependencies, may_speak_of_us};
pub use paths::{PathRefusal, path_below};
pub use settings::{MAX_NAMED, Named, PiSettings, read_settings};
pub use skill_folders::NamedFolder;
pub use source::{PackageSource, is_package_name};
