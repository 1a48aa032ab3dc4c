//! Agents: their names, the winner among several of one name, and the state of each with its reasons.
//!
//! The rules are those of every file with a name ([`crate::definitions`]); this module adds those for agents.

use grove_spec::agent::{self, naming};
use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use crate::definitions::{self, Definition};
use crate::hosts::AgentRules;
use crate::overrides::{self, OverrideLayer};
use crate::root::Root;
use crate::state::StateReason;

/// An agent file as it enters resolution.
pub type AgentCandidate = definitions::DefinitionCandidate<agent::ParsedAgent>;

/// The content of an agent file.
pub type AgentContent = definitions::DefinitionContent<agent::ParsedAgent>;

/// One agent of a resolved set.
pub type Agent = definitions::Defined<agent::ParsedAgent>;

impl Definition for agent::ParsedAgent {
    const KIND: EntryKind = EntryKind::Agents;
    const COLLISION: Code = Code::AgentCollision;

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn runtime_name(&self, file_name: &str) -> String {
        naming::runtime_name(&self.agent, file_name)
    }

    fn description(&self) -> Option<&str> {
        self.agent.description.as_deref()
    }

    fn stem(path: &str) -> &str {
        naming::stem(path)
    }

    fn named_file(&self) -> Option<&str> {
        self.named_file.as_deref()
    }

    fn aliases(&self) -> &[String] {
        &self.agent.aliases
    }

    fn fields_text(&self) -> String {
        serde_json::Value::Object(self.agent.shown()).to_string()
    }

    fn disabled(&self) -> Option<StateReason> {
        let reason = || {
            StateReason::new(
                "disabled",
                "it is switched off in its own file",
                "remove `disable` from the file",
            )
        };
        self.agent.is_disabled.then(reason)
    }

    fn generated_from(&self) -> Option<&str> {
        self.generated_from.as_deref()
    }
}

impl Agent {
    /// Its fields with the overrides applied.
    pub fn file(&self) -> Option<&agent::AgentFile> {
        Some(&self.content.as_ref()?.parsed.agent)
    }
}

/// Every agent with its state, strongest root first, then by path.
pub type Agents = definitions::Definitions<agent::ParsedAgent>;

/// Decides the state of every candidate where nothing is overridden.
pub fn resolve(
    roots: Vec<Root>,
    candidates: Vec<AgentCandidate>,
    diagnostics: Vec<Diagnostic>,
) -> Agents {
    resolve_with(roots, candidates, &[], diagnostics)
}

/// Decides the fields and the state of every candidate; `layers` are weakest first.
pub fn resolve_with(
    roots: Vec<Root>,
    candidates: Vec<AgentCandidate>,
    layers: &[OverrideLayer],
    diagnostics: Vec<Diagnostic>,
) -> Agents {
    let overridden = |agents: &mut [Agent], roots: &[Root]| overrides::apply(agents, roots, layers);
    definitions::resolve(roots, candidates, diagnostics, true, overridden)
}

/// Decides the state of every candidate as a host does.
pub fn resolve_for(
    host: &AgentRules,
    roots: Vec<Root>,
    candidates: Vec<AgentCandidate>,
    diagnostics: Vec<Diagnostic>,
) -> Agents {
    let refuse = |agents: &mut [Agent], _: &[Root]| {
        for agent in agents {
            host.apply(agent);
        }
    };
    definitions::resolve(roots, candidates, diagnostics, false, refuse)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::definitions::FurtherPath;
    use crate::root::RootSource;
    use crate::tests::{self, root};
    use crate::trust::RootTrust;

    fn candidate(root: usize, path: &str, text: &str) -> AgentCandidate {
        tests::candidate(root, path, text, agent::parse(text))
    }

    fn file(name: &str) -> String {
        format!("---\nname: {name}\ndescription: d\n---\nBody\n")
    }

    fn states(agents: &Agents) -> Vec<(String, &'static str)> {
        let all = agents.all.iter();
        all.map(|agent| (agents.address(agent), agent.state.as_str()))
            .collect()
    }

    #[test]
    fn the_ladder_of_skills_decides_and_losers_stay() {
        let roots = vec![
            root(RootSource::Bundled, RootTrust::Trusted),
            root(RootSource::Extra, RootTrust::Trusted),
            root(RootSource::User, RootTrust::Trusted),
            root(RootSource::Project, RootTrust::Trusted),
        ];
        let all: Vec<AgentCandidate> = (0..4).map(|at| candidate(at, "x.md", &file("x"))).collect();
        for strongest in (0..4).rev() {
            let left = all.iter().take(strongest + 1).cloned().collect();
            let agents = resolve(roots.clone(), left, Vec::new());
            let Ok(at) = agents.find("x") else {
                panic!("nobody is called x");
            };
            let used = &agents.all[at];
            let expected = &roots[strongest].path;
            assert_eq!(agents.location(used), expected.join("x.md"));
            let losers = agents.all.iter().filter(|agent| agent.stand_in == Some(at));
            assert_eq!(losers.count(), strongest);
        }
    }

    #[test]
    fn what_cannot_be_used_shadows_nobody() {
        let pins = BTreeMap::from([(
            "p/a.md".to_owned(),
            crate::trust::pin(
                &crate::Digest::of(file("a").as_bytes()),
                [EntryKind::Agents],
            ),
        )]);
        let pinned = RootTrust::Pinned {
            pins: Arc::new(pins),
            prefix: "p/".to_owned(),
            folders: Arc::default(),
        };
        let user = root(RootSource::User, RootTrust::Trusted);
        for (trust, text, expected) in [
            (RootTrust::Untrusted, file("a"), "untrusted"),
            (pinned.clone(), format!("{}more", file("a")), "changed"),
            (
                RootTrust::Trusted,
                "---\nname: [a]\n---\n".to_owned(),
                "invalid",
            ),
        ] {
            let roots = vec![root(RootSource::Project, trust), user.clone()];
            let all = vec![
                candidate(0, "a.md", &text),
                candidate(1, "a.md", &file("a")),
            ];
            let agents = resolve(roots, all, Vec::new());
            assert_eq!(
                states(&agents),
                [
                    ("a@project:agents".to_owned(), expected),
                    ("a@user:agents".to_owned(), "ok")
                ]
            );
            assert_eq!(agents.find("a"), Ok(1));
            assert_eq!(agents.find("a@project:agents"), Ok(0));
        }
        let roots = vec![root(RootSource::Project, pinned), user];
        let all = vec![
            candidate(0, "a.md", &file("a")),
            candidate(1, "a.md", &file("a")),
        ];
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.find("a"), Ok(0), "what was seen is used");
    }

    #[test]
    fn in_one_root_the_first_path_is_used_and_the_other_is_said() {
        let roots = vec![root(RootSource::User, RootTrust::Trusted)];
        let all = vec![
            candidate(0, "z/a.md", &file("a")),
            candidate(0, "b.md", &file("a")),
        ];
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.find("a"), Ok(0));
        assert_eq!(agents.all[0].path, "b.md");
        assert_eq!(agents.all[1].diagnostics[0].code, Code::AgentCollision);
    }

    #[test]
    fn names_come_from_the_file_its_package_and_its_aliases() {
        let text = "---\nname: Alpha\npackage: My Pkg\ndescription: d\naliases: beta\n---\n";
        let roots = vec![root(RootSource::User, RootTrust::Trusted)];
        let all = vec![
            candidate(0, "alpha.md", text),
            candidate(0, "sub/unnamed.agent.md", "---\ndescription: d\n---\n"),
        ];
        let agents = resolve(roots, all, Vec::new());
        for (query, at) in [
            ("my-pkg.Alpha", 0),
            ("beta", 0),
            ("alpha", 0),
            ("unnamed", 1),
            ("sub/unnamed", 1),
        ] {
            assert_eq!(agents.find(query), Ok(at), "{query}");
        }
        assert_eq!(agents.find("unamed"), Err(vec!["unnamed".to_owned()]));
    }

    #[test]
    fn one_file_reached_twice_is_one_agent() {
        let roots = vec![
            root(RootSource::User, RootTrust::Trusted),
            root(RootSource::Extra, RootTrust::Trusted),
        ];
        let mut all = vec![
            candidate(0, "a.md", &file("a")),
            candidate(1, "b.md", &file("a")),
        ];
        for candidate in &mut all {
            candidate.file = Some((1, 2));
        }
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.all.len(), 1);
        assert_eq!(
            agents.all[0].also_at,
            [FurtherPath {
                root: 1,
                path: "b.md".to_owned()
            }]
        );
        assert_eq!(agents.find("b@extra:agents"), Ok(0));
    }

    #[test]
    fn a_file_that_home_links_to_is_used_from_home_while_its_project_is_not_trusted() {
        let roots = vec![
            root(RootSource::Project, RootTrust::Untrusted),
            root(RootSource::User, RootTrust::Trusted),
        ];
        let mut all = vec![
            candidate(0, "a.md", &file("a")),
            candidate(1, "a.md", &file("a")),
        ];
        for candidate in &mut all {
            candidate.file = Some((1, 2));
        }
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(states(&agents), [("a@user:agents".to_owned(), "ok")]);
    }

    #[test]
    fn what_is_stronger_and_missed_is_said_when_another_one_is_used() {
        let invalid = "---\nname: [a]\n---\n".to_owned();
        let off = "---\nname: a\ndescription: d\ndisable: true\n---\n".to_owned();
        for (stronger, text, asked, expected) in [
            (RootSource::Project, &invalid, "a", 1),
            (RootSource::Project, &invalid, "a@user:agents", 0),
            (RootSource::Project, &off, "a", 0),
            (RootSource::Extra, &invalid, "a", 0),
        ] {
            let roots = vec![
                root(stronger, RootTrust::Trusted),
                root(RootSource::User, RootTrust::Trusted),
            ];
            let all = vec![candidate(0, "a.md", text), candidate(1, "a.md", &file("a"))];
            let agents = resolve(roots, all, Vec::new());
            let used = agents.find(asked).unwrap();
            let found = agents.entries().stand_in_findings(used, asked);
            assert_eq!(found.len(), expected, "{stronger:?} {text} {asked}");
        }
    }
}
