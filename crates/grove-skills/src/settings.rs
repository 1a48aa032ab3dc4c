//! The configuration files, laid over one another.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_fs::files;
use grove_fs::trust_store::TrustStore;
use grove_spec::config::{LayerScope, Settings, parse};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::project::{FolderTrust, Project};

const MAX_CONFIG_BYTES: u64 = 1_000_000;

/// The settings in force and how they came about.
#[derive(Debug, Clone, Default)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Settings,
    /// The files that were read, weakest first.
    pub files: Vec<PathBuf>,
    /// What was found in them.
    pub diagnostics: Vec<Diagnostic>,
}

impl LoadedSettings {
    /// Reads the user's file and, if the project is trusted, the project's.
    pub fn load(environment: &Environment, project: Option<&Project>, store: &TrustStore) -> Self {
        let mut loaded = Self::default();
        if let Some(text) = loaded.read(&user_file(environment)) {
            loaded.lay(&text, LayerScope::User, &user_file(environment));
        }
        let file = project
            .and_then(|project| project.root.as_deref())
            .map(project_file);
        if let Some(file) = file
            && let Some(text) = loaded.read(&file)
        {
            let folder = file.parent().and_then(Path::parent).unwrap_or(&file);
            if FolderTrust::of(folder, store)
                .covers_file(&file, &Digest::of(text.as_bytes()).to_string())
            {
                loaded.lay(&text, LayerScope::Project, &file);
            } else {
                let finding = Diagnostic::new(
                    Code::ConfigUntrusted,
                    "the project's configuration is not used: it is new or not trusted",
                );
                loaded.diagnostics.push(finding.in_file(&file));
            }
        }
        loaded
    }

    fn read(&mut self, file: &Path) -> Option<String> {
        let bytes = match files::read_bounded(file, MAX_CONFIG_BYTES) {
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
                )
            })
            .ok()
    }

    fn lay(&mut self, text: &str, scope: LayerScope, file: &Path) {
        let (layer, diagnostics) = parse(text, scope, file);
        self.settings.lay(layer, scope);
        self.diagnostics.extend(diagnostics);
        self.files.push(file.to_path_buf());
    }
}

/// The user's configuration file.
pub(crate) fn user_file(environment: &Environment) -> PathBuf {
    environment.config.join("config.toml")
}

/// A project's configuration file.
pub(crate) fn project_file(project_root: &Path) -> PathBuf {
    project_root.join(".grove/config.toml")
}
