//! Whose agents and chains are looked for.

use grove_catalog::Source;
use grove_spec::config::LayerScope;

/// Whose are looked for. Those of Grove and of packages always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The user's, and the further folders.
    User,
    /// The project's.
    Project,
    /// Both.
    #[default]
    Both,
}

impl Scope {
    pub(crate) fn has(self, source: Source) -> bool {
        match source {
            Source::Bundled | Source::Package => true,
            Source::Project => self != Self::User,
            Source::User | Source::Managed | Source::Extra => self != Self::Project,
        }
    }

    pub(crate) fn has_settings(self, scope: LayerScope) -> bool {
        match scope {
            LayerScope::User => self != Self::Project,
            LayerScope::Project => self != Self::User,
        }
    }
}
