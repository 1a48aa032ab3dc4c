//! The configuration files, laid over one another.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_fs::probe_walk::{self, LinkRule, RootFolder};
use grove_fs::{FsError, files};
use grove_spec::config::{LayerScope, Settings, parse};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::project::FolderTrust;

pub(crate) const MAX_CONFIG_BYTES: u64 = 1_000_000;

pub(crate) const PROJECT_FILE: &str = ".grove/config.toml";
pub(crate) const PI_PROJECT_FILE: &str = ".pi/settings.json";
/// The files of a project that set something, and are trusted as they were seen.
pub(crate) const PROJECT_FILES: [&str; 2] = [PROJECT_FILE, PI_PROJECT_FILE];

/// The settings in force and how they came about.
#[derive(Debug, Clone, Default)]
pub struct LoadedSettings {
    /// The settings in force.
    pub settings: Settings,
    /// The files that were read, weakest first.
    pub files: Vec<PathBuf>,
    /// The findings in these files.
    pub diagnostics: Vec<Diagnostic>,
    /// The digests of the files that say something about agents.
    pub(crate) digests: Vec<(PathBuf, Digest)>,
}

impl LoadedSettings {
    pub(crate) fn of_user(environment: &Environment) -> Self {
        let mut loaded = Self::default();
        let file = user_file(environment);
        let read = files::read_bounded(&file, MAX_CONFIG_BYTES);
        if let Some(text) = loaded.text(read, &file) {
            loaded.apply_layer(&text, LayerScope::User, &file);
        }
        loaded
    }

    /// Lays the project's file over it, if there is one and the project is trusted.
    pub(crate) fn add_project(&mut self, root: &Path, trust: &dyn Fn() -> FolderTrust) {
        let file = root.join(PROJECT_FILE);
        if !files::is_there(&file) {
            return;
        }
        let Some(text) = self.text(read_project_file(root, PROJECT_FILE), &file) else {
            return;
        };
        if trust().covers_file(&file, &Digest::of(text.as_bytes()).to_string()) {
            return self.apply_layer(&text, LayerScope::Project, &file);
        }
        let message = "the project's configuration is not used: it is new or not trusted";
        let finding = Diagnostic::new(Code::ConfigUntrusted, message);
        self.diagnostics.push(finding.in_file(&file));
    }

    fn text(&mut self, read: Result<Vec<u8>, FsError>, file: &Path) -> Option<String> {
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return None,
            Err(error) => {
                let message = format!("{error}: {}", error.source);
                self.diagnostics
                    .push(Diagnostic::new(Code::ConfigSyntax, message).in_file(file));
                return None;
            }
        };
        String::from_utf8(bytes)
            .inspect_err(|_| {
                self.diagnostics.push(
                    Diagnostic::new(Code::ConfigSyntax, "the file is not UTF-8").in_file(file),
                );
            })
            .ok()
    }

    fn apply_layer(&mut self, text: &str, scope: LayerScope, file: &Path) {
        let (layer, diagnostics) = parse(text, scope, file);
        if layer.agents.is_some() {
            let digest = Digest::of(text.as_bytes());
            self.digests.push((file.to_path_buf(), digest));
        }
        self.settings.apply_layer(layer, scope);
        self.diagnostics.extend(diagnostics);
        self.files.push(file.to_path_buf());
    }
}

pub(crate) fn user_file(environment: &Environment) -> PathBuf {
    environment.config.join("config.toml")
}

/// Reads a file of a project that sets something. A file that came with a project must not lead out of it.
pub(crate) fn read_project_file(project_root: &Path, file: &str) -> Result<Vec<u8>, FsError> {
    let folder = RootFolder {
        base: None,
        path: project_root.to_path_buf(),
    };
    probe_walk::read_below(&folder, LinkRule::Contain, file, MAX_CONFIG_BYTES)
}
