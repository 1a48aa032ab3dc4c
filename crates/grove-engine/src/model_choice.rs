//! Chooses the models that a child is tried with: the one that the request, the step or the agent names, else that of the
//! parent, else that of the configuration, and then the agent's fallbacks. A model that cannot be asked is left out with a
//! note, as long as another one can be.

use grove_exec::Program;
use grove_model::{NoSuchModel, Providers, Thinking};
use grove_plan::ModelFacts;

use crate::models::{NamedModel, NotSpoken, named_model};
use crate::program::OWN_MODEL;

/// The word that stands for the model of the parent.
const INHERIT: &str = "inherit";
const RECORDED: &str = "recorded/model";

/// The sources from which the models of a child are chosen.
#[derive(Debug, Default)]
pub(crate) struct WantedModels<'a> {
    /// The model that the request, the step or the agent names.
    pub named: Option<&'a str>,
    /// The model of the child or of the conversation that asks.
    pub parent: Option<&'a str>,
    /// The model that the configuration names for agents without one.
    pub configured: Option<&'a str>,
    /// The models that the agent names to be tried next.
    pub fallbacks: &'a [String],
    /// The level of thinking, in the agent's word.
    pub thinking: Option<&'a str>,
    /// Set if the run is below another one: the supervisor of that run has the keys.
    pub is_below: bool,
}

/// The models of a child, in the order in which they are tried.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ChosenModels {
    /// Their names, as `provider/id[:thinking]`.
    pub names: Vec<String>,
    /// The known facts of each model.
    pub facts: Vec<ModelFacts>,
    /// Notes about the choice for people.
    pub notes: Vec<String>,
}

/// The reasons why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// There is no provider to ask.
    #[error("no model provider is configured")]
    NoProvider,
    /// No source names a model.
    #[error("no model is named")]
    NotNamed,
    /// No provider has the named model.
    #[error("{0}")]
    Unknown(#[from] NoSuchModel),
    /// The engine cannot ask the provider.
    #[error("{0}")]
    NotSpoken(#[from] NotSpoken),
}

/// Chooses the models of a child of the built-in engine.
pub(crate) fn choose(
    providers: &Providers,
    wanted: &WantedModels<'_>,
) -> Result<ChosenModels, NoModel> {
    if providers.ready().next().is_none() && !wanted.is_below {
        return Err(NoModel::NoProvider);
    }
    let level = wanted.thinking.and_then(Thinking::of_word);
    let parent = wanted.provider_of_parent(providers);
    let mut chosen = wanted.try_each(|name| match providers.find(name, parent) {
        Ok(found) => Ok((found.name_with(level), found.facts)),
        // The supervisor of the run above has the keys, and reports what is wrong with the name.
        Err(_) if wanted.is_below && name.contains('/') => {
            Ok((name.to_owned(), ModelFacts::default()))
        }
        Err(error) => Err(error.into()),
    })?;
    if let (Some(word), None) = (wanted.thinking, level) {
        let note = format!("`thinking: {word}` is not a known level, so thinking is off");
        chosen.notes.push(note);
    }
    Ok(chosen)
}

/// Chooses the models of an agent program: those that a provider here has, or what the names mean to the program. `engine`
/// is the name that the program was chosen by.
pub(crate) fn choose_for_program(
    providers: &Providers,
    wanted: &WantedModels<'_>,
    program: &Program,
    engine: &str,
) -> Result<ChosenModels, NoModel> {
    let own = ChosenModels {
        names: vec![OWN_MODEL.to_owned()],
        ..ChosenModels::default()
    };
    if !program.can.model {
        let note = |named| format!("engine `{engine}` chooses its own model and ignores `{named}`");
        return Ok(ChosenModels {
            notes: wanted.firsts().next().map(note).into_iter().collect(),
            ..own
        });
    }
    let level = wanted.thinking.and_then(Thinking::of_word);
    let parent = wanted.provider_of_parent(providers);
    let chosen = wanted.try_each(|name| {
        if wanted.is_of_parent(name) {
            // A word of another program's own means nothing to this one, so a provider has to have it.
            providers.find(name, None)?;
        }
        Ok(match named_model(providers, program, name, parent)? {
            NamedModel::OfProvider(found) => (found.name_with(level), found.facts),
            NamedModel::OfProgram => (name.to_owned(), ModelFacts::default()),
        })
    });
    match chosen {
        Err(NoModel::NotNamed) => Ok(own),
        // The parent's model was not named for this child, so the program may choose its own.
        Err(error) if wanted.is_parents_alone() => Ok(ChosenModels {
            notes: vec![format!(
                "{error}, so {} chooses its own model",
                program.title
            )],
            ..own
        }),
        chosen => chosen,
    }
}

/// Returns the model of a child that is answered from a recording, which needs no provider.
pub(crate) fn choose_recorded(wanted: &WantedModels<'_>) -> ChosenModels {
    let name = wanted.firsts().next().unwrap_or(RECORDED);
    ChosenModels {
        names: vec![name.to_owned()],
        ..ChosenModels::default()
    }
}

impl<'a> WantedModels<'a> {
    fn own(&self) -> Option<&'a str> {
        self.named.filter(|name| *name != INHERIT)
    }

    /// Returns the names to begin with: the first of them that can be asked is the child's first model.
    fn firsts(&self) -> impl Iterator<Item = &'a str> {
        let own = self.own();
        let others = self.parent.into_iter().chain(self.configured);
        own.into_iter().chain(others.filter(move |_| own.is_none()))
    }

    /// Returns true if a name is the parent's model and was not named for this child.
    fn is_of_parent(&self, name: &str) -> bool {
        self.own().is_none() && self.parent == Some(name)
    }

    fn is_parents_alone(&self) -> bool {
        self.own().is_none() && self.configured.is_none() && self.fallbacks.is_empty()
    }

    /// Returns the provider in which ids without one are looked for first.
    fn provider_of_parent<'p>(&self, providers: &'p Providers) -> Option<&'p str> {
        let found = providers.find(self.parent?, None).ok()?;
        Some(found.provider.name.as_str())
    }

    /// Finds each candidate once. One that cannot be asked is left out with a note, as long as there is another.
    fn try_each(
        &self,
        find: impl Fn(&str) -> Result<(String, ModelFacts), NoModel>,
    ) -> Result<ChosenModels, NoModel> {
        let mut chosen = ChosenModels::default();
        let mut first_error = None;
        let mut left_out = |chosen: &mut ChosenModels, what: String, error: NoModel| {
            chosen.notes.push(format!("{what} is left out: {error}"));
            first_error.get_or_insert(error);
        };
        for name in self.firsts() {
            match find(name) {
                Ok((name, facts)) => {
                    chosen.add(name, facts);
                    break;
                }
                Err(error) if self.is_of_parent(name) => {
                    left_out(&mut chosen, format!("`{name}`, the parent's model,"), error);
                }
                Err(error) => left_out(&mut chosen, format!("model `{name}`"), error),
            }
        }
        for name in self.fallbacks {
            let name = match (name.as_str(), self.parent) {
                (INHERIT, Some(parent)) => parent,
                (INHERIT, None) => continue,
                (name, _) => name,
            };
            match find(name) {
                Ok((name, facts)) => chosen.add(name, facts),
                Err(error) => left_out(&mut chosen, format!("fallback model `{name}`"), error),
            }
        }
        if chosen.names.is_empty() {
            return Err(first_error.unwrap_or(NoModel::NotNamed));
        }
        Ok(chosen)
    }
}

impl ChosenModels {
    /// Adds a candidate, unless it is one already.
    fn add(&mut self, name: String, facts: ModelFacts) {
        if !self.names.contains(&name) {
            self.names.push(name);
            self.facts.push(facts);
        }
    }
}

#[cfg(test)]
mod tests;
