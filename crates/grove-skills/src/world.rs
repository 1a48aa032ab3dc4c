//! The world of a discovery, found once: the project, the trust in it, the settings, the packages.
//!
//! Code that plans, reads, overrides, exports or judges is given it and finds nothing of it again, so that all of one
//! discovery speaks of the same moment and each of those files is opened once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::hosts::{self, Host, NamedFolders};
use grove_fs::trust_store::{Grant, TrustStore};
use grove_spec::config::{ConfiguredLimits, Settings, Sourced};
use grove_spec::package::EntryKind;

use crate::environment::Environment;
use crate::packages::{self, Packages};
use crate::project::{FolderTrust, Project};
use crate::request::{DiscoveryRequest, DiscoveryView};
use crate::scope::OwnerScope;
use crate::settings::LoadedSettings;
use crate::trusting;

/// The project, trust, settings and packages that one discovery goes by.
#[derive(Debug)]
pub struct World {
    /// The facts about the machine and the user's shell.
    pub environment: Arc<Environment>,
    /// The project around the working folder; an empty one where the request needs none.
    pub project: Project,
    /// The settings for the view: in exactly these folders only the user's count, and another host knows none.
    pub settings: Arc<LoadedSettings>,
    /// The packages that were found; none where they are not asked for.
    pub packages: Packages,
    pub(crate) own_settings: Arc<LoadedSettings>,
    pub(crate) user_settings: Arc<LoadedSettings>,
    pub(crate) scope: OwnerScope,
    grants: TrustStore,
}

impl World {
    /// Finds what a request needs of the project, the settings and the packages.
    pub fn find(environment: &Arc<Environment>, request: &DiscoveryRequest) -> Self {
        Self::find_with(environment, request, trusting::store(environment), None)
    }

    /// The same with a store that may have read grants before, and with the settings of an earlier world that are still in
    /// force.
    pub(crate) fn find_with(
        environment: &Arc<Environment>,
        request: &DiscoveryRequest,
        grants: TrustStore,
        earlier: Option<&Self>,
    ) -> Self {
        let parts = request.parts;
        let host = request.view.host();
        let mut kinds = EntryKind::ALL.into_iter();
        let is_own =
            kinds.any(|kind| parts.has(kind) && request.view_of(kind) == DiscoveryView::Own);
        let has_own_settings = is_own || (parts.is_nothing() && request.view == DiscoveryView::Own);
        // Prompts have the project's instructions for all who work in it, whichever folders agents and skills are in.
        let needs_project = has_own_settings || host.is_some() || (parts.skills && parts.agents);
        let project = if needs_project {
            Project::find(environment)
        } else {
            Project::default()
        };
        // Another host knows nothing of Grove's configuration; how agents are read for it is Grove's business.
        let user_settings = match earlier {
            Some(earlier) => Arc::clone(&earlier.user_settings),
            None if host.is_none() || parts.agents => {
                Arc::new(LoadedSettings::of_user(environment))
            }
            None => Arc::default(),
        };
        let earlier = earlier.filter(|earlier| earlier.project.root == project.root);
        let mut own_settings = Arc::clone(match earlier {
            Some(earlier) => &earlier.own_settings,
            None => &user_settings,
        });
        let root = project.root.as_deref().filter(|_| has_own_settings);
        if let Some(root) = root.filter(|_| earlier.is_none()) {
            Arc::make_mut(&mut own_settings).add_project(root, &|| FolderTrust::of(root, &grants));
        }
        let settings = match (&request.view, &host) {
            (DiscoveryView::Folders(_), _) => Arc::clone(&user_settings),
            (_, Some(host)) => Arc::new(LoadedSettings {
                settings: settings_of_host(host),
                ..LoadedSettings::default()
            }),
            _ => Arc::clone(&own_settings),
        };
        let packages = if is_own {
            let own = &own_settings.settings;
            packages::find(environment, own, &project, &grants, request.scope)
        } else if host
            .as_ref()
            .is_some_and(|host| host.scan.named_folders == NamedFolders::Pi)
        {
            let nearest = project.folders.first();
            packages::settings_alone(environment, nearest.map(PathBuf::as_path))
        } else if parts.agents && host.is_none() {
            packages::settings_alone(environment, None)
        } else {
            Packages::default()
        };
        Self {
            environment: Arc::clone(environment),
            project,
            settings,
            packages,
            own_settings,
            user_settings,
            scope: request.scope,
            grants,
        }
    }

    /// A world in which one folder is the project, without packages and without the project's settings: for a record of
    /// what is in the folder.
    pub(crate) fn of_folder(environment: &Environment, folder: &Path) -> Self {
        let user_settings = Arc::new(LoadedSettings::of_user(environment));
        Self {
            environment: Arc::new(environment.clone()),
            project: Project {
                folders: vec![folder.to_path_buf()],
                ..Project::default()
            },
            settings: Arc::clone(&user_settings),
            packages: Packages::default(),
            own_settings: Arc::clone(&user_settings),
            user_settings,
            scope: OwnerScope::Both,
            grants: trusting::store(environment),
        }
    }

    /// The folders that are trusted.
    pub fn grants(&self) -> Vec<Grant> {
        self.grants.grants()
    }

    pub(crate) fn trust_of(&self, folder: &Path) -> FolderTrust {
        FolderTrust::of(folder, &self.grants)
    }

    /// The settings by which agents and chains are looked for, in exactly these folders or as usual.
    pub(crate) fn definition_settings(&self, view: &DiscoveryView) -> &LoadedSettings {
        match view {
            DiscoveryView::Own => &self.own_settings,
            DiscoveryView::Folders(_) | DiscoveryView::Host(_) => &self.user_settings,
        }
    }
}

impl DiscoveryView {
    /// The host by whose rules the discovery is made.
    pub(crate) fn host(&self) -> Option<Host> {
        match self {
            Self::Host(name) => hosts::by_name(name),
            _ => None,
        }
    }
}

/// The largest file that is read for a host without a limit of its own.
const ENGINE_FILE_BYTES: u64 = 16 << 20;

/// Grove's settings with a host's limits in place of its own; what the host does not limit is not limited.
fn settings_of_host(host: &Host) -> Settings {
    let limit = |value: u64| Sourced {
        value,
        origin: None,
    };
    let scan = &host.scan;
    let mut settings = Settings::default();
    settings.limits = ConfiguredLimits {
        candidates_per_root: limit(scan.candidates_per_root.unwrap_or(u64::MAX)),
        loaded_per_root: limit(u64::MAX),
        loaded_per_source: limit(scan.loaded_per_source.unwrap_or(u64::MAX)),
        file_bytes: limit(scan.file_bytes.unwrap_or(ENGINE_FILE_BYTES)),
        group_depth: limit(scan.depth),
        ..settings.limits
    };
    settings
}
