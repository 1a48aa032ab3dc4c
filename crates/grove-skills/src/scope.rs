//! The scope in which agents and chains are discovered.

use grove_catalog::RootSource;
use grove_spec::config::LayerScope;

use crate::planning::PlannedRoot;

/// The owners whose agents and chains are looked for. Those of Grove and of the user's packages always are; a package
/// that came with the project is the project's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnerScope {
    /// The user's, and the further folders.
    User,
    /// The project's agents and chains.
    Project,
    /// Those of the user and of the project.
    #[default]
    Both,
}

impl OwnerScope {
    pub(crate) fn has(self, planned: &PlannedRoot) -> bool {
        let given_by = planned.package.as_ref();
        match planned.root.source {
            RootSource::Bundled => true,
            RootSource::Package => self != Self::User || !given_by.is_some_and(|it| it.is_projects),
            RootSource::Project => self != Self::User,
            RootSource::User | RootSource::Managed | RootSource::Extra => self != Self::Project,
        }
    }

    pub(crate) fn has_project(self) -> bool {
        self != Self::User
    }

    pub(crate) fn has_settings(self, scope: LayerScope) -> bool {
        match scope {
            LayerScope::User => self != Self::Project,
            LayerScope::Project => self != Self::User,
        }
    }
}
