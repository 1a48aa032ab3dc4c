//! Settings about runs of agents, beside the settings of Grove's own.

use grove_spec::agent::model_scope::ModelScope;
use grove_spec::agent::overrides::DefaultModel;
use grove_spec::{Code, Diagnostic};

use crate::agent_overrides;
use crate::request::DiscoveryView;
use crate::world::World;

/// The settings about runs of agents, and those that cannot be read.
#[derive(Debug, Clone, Default)]
pub struct RunRules {
    /// The model of agents that name none.
    pub usual: DefaultModel,
    /// The models that agents may have; one has to be in every scope.
    pub model_scopes: Vec<ModelScope>,
    lost: Vec<Diagnostic>,
}

impl World {
    /// Returns the rules that the settings give for runs.
    pub fn run_rules(&self) -> RunRules {
        let overrides = agent_overrides::find(self, &DiscoveryView::Own);
        let own = self.settings.diagnostics.iter();
        let lost = own.chain(&overrides.diagnostics).filter(|finding| {
            matches!(finding.code, Code::SettingsRestriction | Code::ConfigSyntax)
        });
        let mut rules = RunRules {
            lost: lost.chain(&overrides.unreadable).cloned().collect(),
            ..RunRules::default()
        };
        for layer in overrides.layers {
            let said = layer.overrides;
            let usual = &mut rules.usual;
            usual.model = said.default_model.model.or(usual.model.take());
            usual.thinking = said.default_model.thinking.or(usual.thinking.take());
            rules.model_scopes.extend(said.model_scope);
        }
        rules
    }
}

impl RunRules {
    /// The first restriction that may hold an agent and that cannot be read; `names` are those of the agent.
    pub fn lost_for(&self, names: &[&str]) -> Option<&Diagnostic> {
        let mut lost = self.lost.iter();
        lost.find(|finding| {
            let mut named = finding.names.iter();
            finding.names.is_empty() || named.any(|name| names.contains(&name.as_str()))
        })
    }
}
