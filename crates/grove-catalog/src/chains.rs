//! Chains: the rules of every file with a name ([`crate::definitions`]), and the names that their steps call for.

use grove_spec::chain::{self, ChainFormat, ChainPosition, naming};
use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use crate::definitions::{self, Definition};
use crate::root::Root;

/// A chain file as it enters resolution.
pub type ChainCandidate = definitions::DefinitionCandidate<chain::ParsedChain>;

/// The content of a chain file.
pub type ChainContent = definitions::DefinitionContent<chain::ParsedChain>;

/// One chain of a resolved set.
pub type Chain = definitions::Defined<chain::ParsedChain>;

impl Definition for chain::ParsedChain {
    const KIND: EntryKind = EntryKind::Chains;
    const COLLISION: Code = Code::ChainCollision;

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn runtime_name(&self, file_name: &str) -> String {
        naming::runtime_name(&self.chain, file_name)
    }

    fn description(&self) -> Option<&str> {
        self.chain.description.as_deref()
    }

    fn stem(path: &str) -> &str {
        naming::stem(path)
    }

    fn id(path: &str) -> &str {
        // `x.chain.md` and `x.chain.json` may stand side by side.
        path
    }

    fn strength(path: &str) -> u8 {
        match ChainFormat::of(path) {
            Some(ChainFormat::Json) => 0,
            _ => 1,
        }
    }
}

impl Chain {
    /// Returns the parsed chain; none if its file could not be read.
    pub fn file(&self) -> Option<&chain::ChainFile> {
        Some(&self.content.as_ref()?.parsed.chain)
    }
}

/// Every chain with its state, strongest root first, then by path.
pub type Chains = definitions::Definitions<chain::ParsedChain>;

/// A name that a step calls for, which the caller checks against what is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepReference<'a> {
    /// An agent by its name.
    Agent(&'a str),
    /// A skill by its name.
    Skill(&'a str),
    /// A model by its name.
    Model(&'a str),
}

/// Decides the state of every candidate.
pub fn resolve(
    roots: Vec<Root>,
    candidates: Vec<ChainCandidate>,
    diagnostics: Vec<Diagnostic>,
) -> Chains {
    definitions::resolve(roots, candidates, diagnostics, true, |_, _| ())
}

impl Chains {
    /// Returns a finding for each step that calls for an agent, even if another agent has the same name.
    pub fn calling(&self, agent: &str) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for chain in &self.all {
            let calls = chain.file().map(calls).unwrap_or_default();
            let places = calls.into_iter().filter_map(|(call, place)| match call {
                StepReference::Agent(name) if name == agent => Some(place),
                _ => None,
            });
            findings.extend(places.map(|place| {
                let message = format!("the chain `{}` calls for `{agent}`", chain.name);
                Diagnostic::new(Code::ChainAgentUnknown, message)
                    .in_file(&self.location(chain))
                    .at(place.0)
            }));
        }
        findings
    }

    /// Adds a finding for every name that a usable chain calls for and that `missing` reports as absent.
    pub fn check_calls(&mut self, missing: impl Fn(StepReference<'_>) -> Option<Diagnostic>) {
        for chain in &mut self.all {
            let root = self.roots.get(chain.root).map(|root| root.path.clone());
            let location = root.unwrap_or_default().join(&chain.path);
            let Some(content) = chain.content.as_ref().filter(|it| it.parsed.is_valid()) else {
                continue;
            };
            let calls = calls(&content.parsed.chain).into_iter();
            let said = calls.filter_map(|(call, place)| {
                let finding = missing(call)?;
                Some(finding.in_file(&location).at(place.0))
            });
            chain.diagnostics.extend(said);
        }
    }
}

/// Returns the finding about an agent that does not exist, with names that are near.
pub fn unknown_agent(name: &str, near: &[String]) -> Diagnostic {
    unknown(Code::ChainAgentUnknown, "agent", name, near)
}

/// Returns the finding about a skill that does not exist, with names that are near.
pub fn unknown_skill(name: &str, near: &[String]) -> Diagnostic {
    unknown(Code::ChainSkillUnknown, "skill", name, near)
}

fn unknown(code: Code, noun: &str, name: &str, near: &[String]) -> Diagnostic {
    let finding = Diagnostic::new(code, format!("no usable {noun} is called `{name}`"));
    match near {
        [] => finding,
        near => finding.with_help(format!("did you mean `{}`?", near.join("`, `"))),
    }
}

fn calls(chain: &chain::ChainFile) -> Vec<(StepReference<'_>, ChainPosition)> {
    let mut calls = Vec::new();
    for task in chain.steps.iter().flat_map(chain::ChainStep::tasks) {
        calls.push((StepReference::Agent(&task.agent), task.places.agent));
        for skill in task.skills.iter().flatten() {
            calls.push((StepReference::Skill(skill), task.places.skills));
        }
        if let Some(model) = &task.model {
            calls.push((StepReference::Model(model), task.places.model));
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use grove_spec::Position;

    use super::*;
    use crate::entry::Entry as _;
    use crate::root::{RootOwner, RootSource};
    use crate::state::EntryState;
    use crate::tests;
    use crate::trust::RootTrust;

    fn root(source: RootSource, folder: &str) -> Root {
        let mut root = tests::root(source, RootTrust::Trusted);
        root.label = format!("{}:{folder}", source.as_str());
        root.path = root.path.join(folder);
        root.rank.owner = RootOwner::Host(folder.to_owned());
        root
    }

    fn candidate(root: usize, path: &str, description: &str) -> ChainCandidate {
        let format = ChainFormat::of(path).unwrap();
        let text = match format {
            ChainFormat::Markdown => {
                format!("---\nname: x\ndescription: {description}\n---\n\n## a\n\nt\n")
            }
            ChainFormat::Json => format!(
                "{{\"name\": \"x\", \"description\": \"{description}\", \"chain\": [{{\"agent\": \"a\", \"skill\": [\"s\"]}}]}}"
            ),
        };
        tests::candidate(root, path, &text, chain::parse(&text, format))
    }

    fn used(chains: &Chains) -> &str {
        let Ok(at) = chains.find("x") else {
            panic!("nothing is called x")
        };
        assert_eq!(chains.all[at].state, EntryState::Ok);
        chains.all[at].description().unwrap()
    }

    #[test]
    fn in_one_scope_json_goes_before_markdown_and_the_loser_stays() {
        let roots = vec![
            root(RootSource::Project, "a"),
            root(RootSource::Project, "b"),
            root(RootSource::User, "a"),
        ];
        for (all, expected) in [
            (vec![(0, "x.chain.md", "m"), (0, "x.chain.json", "j")], "j"),
            (vec![(0, "a.chain.md", "m"), (1, "x.chain.json", "j")], "j"),
            (vec![(0, "x.chain.md", "m"), (2, "x.chain.json", "j")], "m"),
            (
                vec![(0, "z.chain.json", "z"), (1, "a.chain.json", "a")],
                "z",
            ),
        ] {
            let count = all.len();
            let candidates = all
                .into_iter()
                .map(|(root, path, description)| candidate(root, path, description));
            let chains = resolve(roots.clone(), candidates.collect(), Vec::new());
            assert_eq!(used(&chains), expected);
            let losers = chains
                .all
                .iter()
                .filter(|chain| chain.state == EntryState::Shadowed);
            assert_eq!(losers.count(), count - 1);
        }
    }

    #[test]
    fn what_steps_name_and_is_not_there_is_said_where_it_is_named() {
        let roots = vec![root(RootSource::User, "a")];
        let text = "{\"name\": \"x\", \"description\": \"d\", \"chain\": [{\n\"agent\": \"a\",\n \"skill\": [\"s\"],\n  \"model\": \"m\"}]}";
        let mut all = vec![candidate(0, "x.chain.json", "d")];
        if let Ok(content) = &mut all[0].content {
            content.parsed = chain::parse(text, ChainFormat::Json);
        }
        let mut chains = resolve(roots, all, Vec::new());
        chains.check_calls(|call| match call {
            StepReference::Agent("a") => Some(unknown_agent("a", &["b".to_owned()])),
            StepReference::Skill("s") => Some(unknown_skill("s", &[])),
            StepReference::Model("m") => crate::models::unknown("m", [].into_iter()),
            _ => None,
        });
        let found = &chains.all[0].diagnostics;
        let said: Vec<(Code, Option<Position>)> =
            found.iter().map(|it| (it.code, it.position)).collect();
        assert_eq!(
            said,
            [
                (Code::ChainAgentUnknown, Some(Position::new(2, 1))),
                (Code::ChainSkillUnknown, Some(Position::new(3, 2))),
                (Code::ModelUnknown, Some(Position::new(4, 3))),
            ]
        );
        assert_eq!(found[0].help_text(), "did you mean `b`?");
        assert_eq!(chains.all[0].state, EntryState::Ok);
    }
}
