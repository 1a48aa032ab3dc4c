//! The settings about the runs of an agent: limits that have to be readable, and the models that pi's settings allow.

use grove_spec::agent::model_scope::{ScopeVerdict, ScopedModel};

use super::children::ChildResolver;
use crate::error::EngineError;

impl ChildResolver<'_> {
    /// Refuses an agent whose limits cannot be read, since they could not be held.
    pub(crate) fn require_readable_limits(&self, names: &[&str]) -> Result<(), EngineError> {
        let Some(lost) = self.rules.lost_for(names) else {
            return Ok(());
        };
        let file = lost.file.as_ref().map(|file| file.display().to_string());
        let place = match (file, lost.position) {
            (Some(file), Some(at)) => format!("{file}:{}: ", at.line),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        let message = format!("a limit may be missing: {place}{}", lost.message);
        Err(EngineError::configuration(message).hint(lost.help_text()))
    }

    /// Refuses models that pi's settings do not allow; says which of them are used all the same.
    pub(crate) fn require_scope(
        &self,
        agent: &str,
        models: &[String],
        is_asked: bool,
    ) -> Result<Vec<String>, EngineError> {
        let providers = self.models.providers();
        let parent = self.parent_model();
        let parent = parent.map(|name| match providers.find(name, None) {
            Ok(found) => found.name(),
            Err(_) => name.to_owned(),
        });
        let mut outside = Vec::new();
        for (at, name) in models.iter().enumerate() {
            let model = ScopedModel {
                agent,
                name,
                parent: parent.as_deref(),
                is_requested: is_asked && at == 0,
            };
            for scope in &self.rules.model_scopes {
                let message =
                    format!("model `{name}` of `{agent}` is not in `subagents.modelScope`");
                match scope.judge(model) {
                    ScopeVerdict::Allowed => {}
                    ScopeVerdict::Outside => outside.push(message),
                    ScopeVerdict::Refused => {
                        let (file, line) = (scope.origin.file.display(), scope.origin.line);
                        let hint = format!("choose a model that {file}:{line} allows");
                        return Err(EngineError::usage(message).hint(hint));
                    }
                }
            }
        }
        Ok(outside)
    }

    /// The model of the child or of the conversation that asks.
    pub(crate) fn parent_model(&self) -> Option<&str> {
        let of_child = self.above.and_then(|above| above.model.as_deref());
        of_child.or(self.order.parent_model.as_deref())
    }
}
