//! Overrides of agents: the final value of each field, and the agents that are switched off.
//!
//! One rule holds for all agents, from whatever source. Layers apply weakest first, the user's before the project's,
//! and each field by itself; an override by `id@root` applies after one by name in the same layer. The one exception is
//! `disabled` under a bare name that agents from elsewhere (Grove, a package, an extra folder) share with a file of the
//! user's or the project's: that file is there to take their place, so they are switched off and it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grove_spec::agent::overrides::{AgentField, AgentOverride, FieldOverride, Overrides};
use grove_spec::config::{LayerScope, Origin};
use grove_spec::skill::name_key;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic, Position};

use crate::address::near_names;
use crate::agents::{Agent, Agents};
use crate::digest::Digest;
use crate::entry::Entries;
use crate::root::{Root, RootSource};
use crate::state::{EntryState, StateReason};

/// The overrides in one file, with its digest, so that their effect can be proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideLayer {
    /// The overrides that it has.
    pub overrides: Overrides,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// A field whose value is not that of the agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverriddenField {
    /// The field that was overridden.
    pub field: AgentField,
    /// The place of the override.
    pub origin: Origin,
}

/// A text in place of the one in an agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    /// The text that the agent gets.
    pub text: String,
    /// The file that holds it.
    pub file: PathBuf,
    /// The digest of that file's bytes.
    pub digest: Digest,
}

pub(crate) fn apply(agents: &mut [Agent], roots: &[Root], layers: &[OverrideLayer]) {
    if layers.iter().all(|layer| layer.overrides.is_empty()) {
        return;
    }
    let said = OverridesByAgent::new(layers);
    let source = |agent: &Agent| roots.get(agent.root).map(|root| root.source);
    let elsewhere: BTreeSet<String> = agents
        .iter()
        .filter(|agent| source(agent).is_some_and(|source| !is_own(source)))
        .map(|agent| name_key(&agent.name).into_owned())
        .collect();
    // An agent's address does not depend on the others.
    let entries = Entries { roots, all: &[] };
    for agent in agents {
        let name = name_key(&agent.name).into_owned();
        let place = entries.address(agent);
        let (mut fields, own_text) = said.fields(&name, &place, layers);
        let is_own = source(agent).is_some_and(is_own);
        let in_place = is_own && elsewhere.contains(&name);
        let is_off = |field: AgentField| field.as_str() == AgentField::DISABLED;
        fields.retain(|field, (_, by_address)| !is_off(*field) || *by_address || !in_place);
        let bulk = said
            .disable_builtins
            .filter(|_| source(agent) == Some(RootSource::Bundled));
        let off = match fields.iter().find(|(field, _)| is_off(**field)) {
            Some((_, (set, by_address))) => {
                (*set.change.value() == true).then_some((&set.origin, *by_address))
            }
            None => bulk.and_then(|(flag, origin)| flag.then_some((origin, false))),
        };
        if let Some((origin, by_address)) = off
            && agent.state.is_usable()
        {
            let whom = if by_address { &place } else { &agent.name };
            agent.reasons.push(switched_off(whom, origin, layers));
            agent.state = EntryState::Disabled;
        }
        let Some(content) = &mut agent.content else {
            continue;
        };
        for (set, _) in fields.values() {
            set.change.apply(&mut content.parsed.agent);
            agent.overridden.push(OverriddenField {
                field: set.change.field(),
                origin: set.origin.clone(),
            });
        }
        agent.own_text = own_text;
    }
}

/// Returns true if the files of this source belong to the user or the project.
pub fn is_own(source: RootSource) -> bool {
    matches!(source, RootSource::User | RootSource::Project)
}

/// Returns the reason why an agent is off, with the command that changes the same layer as the file.
fn switched_off(whom: &str, origin: &Origin, layers: &[OverrideLayer]) -> StateReason {
    let message = format!("switched off in {}:{}", origin.file.display(), origin.line);
    let mut says = layers.iter().map(|layer| &layer.overrides);
    let says = says.find(|overrides| overrides.file == origin.file);
    let whom = one_line(whom);
    let fix = match says.map(|overrides| overrides.scope) {
        Some(LayerScope::Project) => {
            format!("run `grove agents enable {whom} --scope project`, or change that file")
        }
        _ => format!("run `grove agents enable {whom}`"),
    };
    StateReason::new("disabled", message, fix)
}

/// The final override of each field; the flag is set if it is by address.
type Fields<'a> = BTreeMap<AgentField, (&'a FieldOverride, bool)>;

struct OverridesByAgent<'a> {
    of: BTreeMap<String, Vec<(usize, &'a AgentOverride)>>,
    disable_builtins: Option<&'a (bool, Origin)>,
}

impl<'a> OverridesByAgent<'a> {
    fn new(layers: &'a [OverrideLayer]) -> Self {
        let mut of: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let mut disable_builtins = None;
        for (at, layer) in layers.iter().enumerate() {
            for agent in &layer.overrides.agents {
                let key = name_key(&agent.agent).into_owned();
                of.entry(key).or_default().push((at, agent));
            }
            let bulk = layer.overrides.disable_builtins.as_ref();
            disable_builtins = bulk.or(disable_builtins);
        }
        Self {
            of,
            disable_builtins,
        }
    }

    fn fields(
        &self,
        name: &str,
        place: &str,
        layers: &[OverrideLayer],
    ) -> (Fields<'a>, Option<OwnText>) {
        let by = |key: &str, by_address: bool| {
            let all = self.of.get(key).map_or(&[][..], Vec::as_slice);
            all.iter().map(move |(at, said)| (*at, by_address, *said))
        };
        let mut all: Vec<_> = by(name, false).chain(by(place, true)).collect();
        all.sort_by_key(|(at, by_address, _)| (*at, *by_address));
        let (mut fields, mut own_text) = (Fields::new(), None);
        for (at, by_address, said) in all {
            for set in &said.fields {
                fields.insert(set.change.field(), (set, by_address));
                let is_text = set.change.field().as_str() == AgentField::SYSTEM_PROMPT;
                let text = set.change.value().as_str().filter(|_| is_text);
                if let (Some(text), Some(layer)) = (text, layers.get(at)) {
                    own_text = Some(OwnText {
                        text: text.to_owned(),
                        file: set.origin.file.clone(),
                        digest: layer.digest,
                    });
                }
            }
        }
        (fields, own_text)
    }
}

impl Agents {
    /// Returns findings about settings that concern an agent: a value of its overrides that was not used, and settings
    /// that could not be read, in which it may be overridden.
    pub fn override_findings<'a>(
        &'a self,
        agent: &'a Agent,
    ) -> impl Iterator<Item = &'a Diagnostic> {
        let (name, place) = (name_key(&agent.name), self.address(agent));
        let is_named = move |finding: &Diagnostic| {
            let mut names = finding.names.iter();
            names.any(|it| name_key(it) == name || *it == place)
        };
        self.diagnostics
            .iter()
            .filter(move |finding| match finding.code {
                Code::OverrideValue | Code::SettingsRestriction => {
                    finding.names.is_empty() || is_named(finding)
                }
                Code::OverrideUnknownField | Code::ConfigValue | Code::ConfigUnknownKey => {
                    is_named(finding)
                }
                // The search for packages reads the same files.
                Code::SettingsUnreadable | Code::PackageSettings | Code::ConfigSyntax => true,
                _ => false,
            })
    }

    /// Returns findings about overrides whose agent does not exist.
    pub fn unknown_overrides(&self, layers: &[OverrideLayer]) -> Vec<Diagnostic> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for agent in &self.all {
            known.insert(name_key(&agent.name).into_owned());
            known.insert(self.address(agent));
        }
        let all = layers.iter().flat_map(|layer| &layer.overrides.agents);
        let unknown = all.filter(|said| !known.contains(&*name_key(&said.agent)));
        unknown
            .map(|said| {
                let names = self.all.iter().map(|agent| agent.name.as_str());
                let near = near_names(names, &said.agent);
                let mut message = format!(
                    "no agent is called `{}`, which is overridden here",
                    one_line(&said.agent)
                );
                if !near.is_empty() {
                    message.push_str("; near: `");
                    message.push_str(&near.join("`, `"));
                    message.push('`');
                }
                Diagnostic::new(Code::OverrideUnknown, message)
                    .in_file(&said.origin.file)
                    .at(Position::new(said.origin.line, 1))
                    .with_names(near)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
