//! The files that override agents: pi's settings and Grove's own, the user's and then the project's.

use std::path::PathBuf;

use grove_catalog::overrides::OverrideLayer;
use grove_spec::agent::settings;
use grove_spec::config::LayerScope;
use grove_spec::{Code, Diagnostic};

use crate::packages::SettingsFile;
use crate::request::DiscoveryView;
use crate::settings::{LoadedSettings, PI_PROJECT_FILE};
use crate::world::World;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LoadedOverrides {
    pub(crate) layers: Vec<OverrideLayer>,
    /// Findings about pi's settings; findings about Grove's own are with the settings.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Findings about unreadable files; the search for packages reports them to the person.
    pub(crate) unreadable: Vec<Diagnostic>,
}

/// Takes pi's settings, if hosts' folders are looked in, and puts everything in order. Where agents are looked for in
/// exactly these folders, only what is the user's counts.
pub(crate) fn find(world: &World, view: &DiscoveryView) -> LoadedOverrides {
    let mut all = LoadedOverrides::default();
    let loaded = world.definition_settings(view);
    let with_hosts = loaded.settings.compat_roots.value;
    let pi_file = |path: PathBuf| {
        let mut files = world.packages.settings_files.iter();
        files.find(|file| with_hosts && file.path == path)
    };
    let user_file = world.environment.pi_folder();
    let user_file = user_file.map(|folder| folder.join("settings.json"));
    if let Some(file) = user_file.clone().and_then(pi_file) {
        all.add(file, LayerScope::User, true);
    }
    if *view != DiscoveryView::Own {
        // In Grove's own view the search for packages reports the faults of the file anyway.
        let findings = world.packages.diagnostics.iter();
        let of_file = findings.filter(|finding| with_hosts && finding.file == user_file);
        all.diagnostics.extend(of_file.cloned());
    }
    all.add_own(loaded, LayerScope::User);
    let root = world.project.root.as_deref();
    if let Some(root) = root.filter(|_| *view == DiscoveryView::Own)
        && let Some(file) = pi_file(root.join(PI_PROJECT_FILE))
    {
        let trust = world.trust_of(root);
        let is_seen = trust.covers_file(&file.path, &file.digest.to_string());
        all.add(file, LayerScope::Project, is_seen);
    }
    all.add_own(loaded, LayerScope::Project);
    let scope = world.scope;
    all.layers
        .retain(|layer| scope.has_settings(layer.overrides.scope));
    all
}

impl LoadedOverrides {
    fn add_own(&mut self, loaded: &LoadedSettings, scope: LayerScope) {
        for overrides in &loaded.settings.agent_overrides {
            let digest = loaded
                .digests
                .iter()
                .find(|(file, _)| *file == overrides.file);
            if let Some((_, digest)) = digest.filter(|_| overrides.scope == scope) {
                self.layers.push(OverrideLayer {
                    overrides: overrides.clone(),
                    digest: *digest,
                });
            }
        }
    }

    fn add(&mut self, file: &SettingsFile, scope: LayerScope, is_trusted: bool) {
        let (path, digest) = (&file.path, file.digest);
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            let finding = Diagnostic::new(Code::SettingsUnreadable, "the settings are not UTF-8");
            let unreadable = is_trusted.then(|| finding.in_file(path));
            return self.unreadable.extend(unreadable);
        };
        let (overrides, findings) = settings::parse(text, scope, path);
        let is_unreadable = |finding: &Diagnostic| finding.code == Code::SettingsUnreadable;
        let (unreadable, findings) = findings.into_iter().partition::<Vec<_>, _>(is_unreadable);
        if is_trusted {
            self.unreadable.extend(unreadable);
            self.diagnostics.extend(findings);
            if !overrides.is_empty() {
                self.layers.push(OverrideLayer { overrides, digest });
            }
        } else if !overrides.is_empty() {
            let message =
                "this project's pi settings about agents are not used: they are new or not trusted";
            let finding = Diagnostic::new(Code::ConfigUntrusted, message);
            self.diagnostics.push(finding.in_file(path));
        }
    }
}
