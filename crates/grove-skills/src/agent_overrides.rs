//! The files that override agents: pi's settings and Grove's own, the user's and then the project's.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::overrides::Layer;
use grove_fs::{FsError, files};
use grove_spec::agent::settings;
use grove_spec::config::LayerScope;
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::project::{FolderTrust, Project};
use crate::settings::{LoadedSettings, MAX_CONFIG_BYTES, PI_PROJECT_FILE, read_project_file};
use crate::trusting;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct LoadedOverrides {
    /// Weakest first.
    pub(crate) layers: Vec<Layer>,
    /// What was found in pi's settings; findings about Grove's own are with the settings.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads pi's settings, if hosts' folders are looked in, and puts everything in order.
pub(crate) fn load(
    environment: &Environment,
    loaded: &LoadedSettings,
    project: Option<&Project>,
) -> LoadedOverrides {
    let mut all = LoadedOverrides::default();
    let with_hosts = loaded.settings.compat_roots.value;
    if with_hosts && let Some(file) = user_file(environment) {
        let read = files::read_bounded(&file, MAX_CONFIG_BYTES);
        all.add(read, LayerScope::User, &file, |_| true);
    }
    all.add_own(loaded, LayerScope::User);
    if with_hosts && let Some(root) = project.and_then(|project| project.root.as_deref()) {
        let file = root.join(PI_PROJECT_FILE);
        if files::is_there(&file) {
            let read = read_project_file(root, PI_PROJECT_FILE);
            let trust = FolderTrust::of(root, &trusting::store(environment));
            let seen = |digest: &Digest| trust.covers_file(&file, &digest.to_string());
            all.add(read, LayerScope::Project, &file, seen);
        }
    }
    all.add_own(loaded, LayerScope::Project);
    all
}

/// pi's settings for a user.
fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.pi_folder()?.join("settings.json"))
}

impl LoadedOverrides {
    fn add_own(&mut self, loaded: &LoadedSettings, scope: LayerScope) {
        for overrides in &loaded.settings.agent_overrides {
            let digest = loaded
                .digests
                .iter()
                .find(|(file, _)| *file == overrides.file);
            if let Some((_, digest)) = digest.filter(|_| overrides.scope == scope) {
                self.layers.push(Layer {
                    overrides: overrides.clone(),
                    digest: *digest,
                });
            }
        }
    }

    fn add(
        &mut self,
        read: Result<Vec<u8>, FsError>,
        scope: LayerScope,
        file: &Path,
        is_trusted: impl Fn(&Digest) -> bool,
    ) {
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return,
            Err(error) => {
                let message = format!("{error}: {}", error.source);
                let finding = Diagnostic::new(Code::SettingsUnreadable, message);
                return self.diagnostics.push(finding.in_file(file));
            }
        };
        let digest = Digest::of(&bytes);
        let trusted = is_trusted(&digest);
        let Ok(text) = String::from_utf8(bytes) else {
            let finding = Diagnostic::new(Code::SettingsUnreadable, "the file is not UTF-8");
            return self.diagnostics.push(finding.in_file(file));
        };
        let (overrides, findings) = settings::parse(&text, scope, file);
        if trusted {
            self.diagnostics.extend(findings);
            if !overrides.is_empty() {
                self.layers.push(Layer { overrides, digest });
            }
        } else if !overrides.is_empty() {
            let message = "what pi's settings of this project say about agents is not used: they are new or not trusted";
            let finding = Diagnostic::new(Code::ConfigUntrusted, message);
            self.diagnostics.push(finding.in_file(file));
        }
    }
}
