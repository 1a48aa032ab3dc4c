//! Agents: who is called what, which of several wins, whether it may be used and why not.
//!
//! The same ladder and the same trust as for skills. Rank is applied among usable agents only; losers stay
//! visible with their reason and with what stands in for them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_spec::agent::{self, naming};
use grove_spec::skill::name_key;
use grove_spec::{Code, Diagnostic};

use crate::address::near_names;
use crate::digest::Digest;
use crate::hosts::AgentRules;
use crate::rank;
use crate::root::Root;
use crate::state::{Reason, State};
use crate::trust;

/// An agent file as it enters resolution.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
    /// Its name in the file, where a file holds several.
    pub member: Option<String>,
    /// Device and inode, if it could be opened.
    pub file: Option<(u64, u64)>,
    /// What it says, or why it could not be read.
    pub content: Result<Content, Diagnostic>,
    /// Findings that come from where it is.
    pub diagnostics: Vec<Diagnostic>,
}

/// What an agent file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Its fields and findings.
    pub parsed: agent::Parsed,
}

/// One agent of a resolved set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
    /// Its name in the file, where a file holds several.
    pub member: Option<String>,
    /// Further paths to the same file.
    pub also_at: Vec<PathBuf>,
    /// What it is called: `package.name`.
    pub name: String,
    /// What its file says; none when it could not be read.
    pub content: Option<Content>,
    /// Whether it may be used.
    pub state: State,
    /// Why it is in that state; empty for `ok`.
    pub reasons: Vec<Reason>,
    /// The usable agent of the same name that is used instead.
    pub stand_in: Option<usize>,
    /// Everything that was found about it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Agent {
    /// What it does.
    pub fn description(&self) -> Option<&str> {
        self.file()?.description.as_deref()
    }

    /// The fields of its file.
    pub fn file(&self) -> Option<&agent::Agent> {
        Some(&self.content.as_ref()?.parsed.agent)
    }

    /// Its path below its root without the ending, or its name in a file that holds several.
    pub fn id(&self) -> &str {
        match &self.member {
            Some(member) => member,
            None => naming::stem(&self.path),
        }
    }

    /// The address of the agent that Grove wrote its file from, if it did.
    pub fn generated_from(&self) -> Option<&str> {
        self.content.as_ref()?.parsed.generated_from.as_deref()
    }
}

/// Every agent with its state, strongest root first, then by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// The roots, strongest first.
    pub roots: Vec<Root>,
    /// The agents.
    pub agents: Vec<Agent>,
    /// Findings about roots and limits.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a name leads to. Indexes are into [`Agents::agents`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This agent; it may be unusable.
    One(usize),
    /// None; these names are near.
    None {
        /// Up to three names that are spelled nearly so.
        near: Vec<String>,
    },
}

/// Decides the state of every candidate.
pub fn resolve(
    roots: Vec<Root>,
    candidates: Vec<Candidate>,
    diagnostics: Vec<Diagnostic>,
) -> Agents {
    resolve_for(None, roots, candidates, diagnostics)
}

/// Decides the state of every candidate for a host, or for Grove itself.
pub fn resolve_for(
    host: Option<&AgentRules>,
    mut roots: Vec<Root>,
    candidates: Vec<Candidate>,
    diagnostics: Vec<Diagnostic>,
) -> Agents {
    let given: Vec<String> = roots.iter().map(|root| root.label.clone()).collect();
    roots.sort_by(rank::stronger_first);
    let place = |root: usize| {
        let label = given.get(root)?;
        roots.iter().position(|known| known.label == *label)
    };
    let mut sorted: Vec<(usize, Candidate)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((place(candidate.root)?, candidate)))
        .collect();
    sorted.sort_by(|a, b| (a.0, &a.1.path, &a.1.member).cmp(&(b.0, &b.1.path, &b.1.member)));
    let mut agents: Vec<Agent> = Vec::with_capacity(sorted.len());
    let mut files: BTreeMap<((u64, u64), Option<String>), usize> = BTreeMap::new();
    for (root, candidate) in sorted {
        let Some(planned) = roots.get(root) else {
            continue;
        };
        // One file reached twice is one agent with several locations.
        let file = candidate.file.map(|file| (file, candidate.member.clone()));
        if let Some(first) = file.as_ref().and_then(|file| files.get(file).copied())
            && let Some(known) = agents.get_mut(first)
        {
            known.also_at.push(planned.path.join(&candidate.path));
            continue;
        }
        if let Some(file) = file {
            files.insert(file, agents.len());
        }
        let mut agent = judge(planned, root, candidate);
        if let Some(host) = host {
            host.apply(&mut agent);
        }
        agents.push(agent);
    }
    shadow(&mut agents, &roots, host.is_none());
    Agents {
        roots,
        agents,
        diagnostics,
    }
}

/// One agent by itself: read, then trusted.
fn judge(planned: &Root, root: usize, candidate: Candidate) -> Agent {
    let location = planned.path.join(&candidate.path);
    let mut diagnostics = candidate.diagnostics;
    let content = match candidate.content {
        Ok(content) => Some(content),
        Err(finding) => {
            diagnostics.push(finding);
            None
        }
    };
    let file_name = candidate.path.rsplit('/').next().unwrap_or_default();
    let name = match &content {
        Some(content) => {
            diagnostics.extend(content.parsed.diagnostics.iter().cloned());
            naming::runtime_name(&content.parsed.agent, file_name)
        }
        None => naming::stem(file_name).to_owned(),
    };
    let is_disabled = content
        .as_ref()
        .is_some_and(|content| content.parsed.agent.is_disabled);
    for finding in &mut diagnostics {
        finding.file.get_or_insert_with(|| location.clone());
    }
    let digest = content.as_ref().map(|content| &content.digest);
    let fault = diagnostics.iter().find(|finding| finding.is_error());
    let (state, reasons) = match fault {
        Some(fault) => {
            let reason = Reason::new(fault.code.as_str(), &*fault.message, fault.help_text());
            (State::Invalid, vec![reason])
        }
        None => match trust::judge(&planned.trust, &candidate.path, digest) {
            Some((state, reason)) => (state, vec![reason]),
            None if is_disabled => {
                let reason = Reason::new(
                    "disabled",
                    "its own file switches it off",
                    "remove `disable` from the file",
                );
                (State::Disabled, vec![reason])
            }
            None => (State::Ok, Vec::new()),
        },
    };
    Agent {
        root,
        path: candidate.path,
        member: candidate.member,
        also_at: Vec::new(),
        name,
        content,
        state,
        reasons,
        stand_in: None,
        diagnostics,
    }
}

/// The first usable agent of a name is used; the others are shadowed and say by whom.
///
/// What Grove wrote for a host gives way to what it was made from, wherever the two are, unless it is the
/// host that looks.
fn shadow(agents: &mut [Agent], roots: &[Root], sources_first: bool) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (at, agent) in agents.iter().enumerate() {
        let gives_way = sources_first && has_source(agents, roots, agent);
        if agent.state == State::Ok && !gives_way {
            first
                .entry(name_key(&agent.name).into_owned())
                .or_insert(at);
        }
    }
    let locations: Vec<(usize, PathBuf)> = agents
        .iter()
        .map(|agent| {
            let root = roots.get(agent.root).map(|root| root.path.clone());
            (agent.root, root.unwrap_or_default().join(&agent.path))
        })
        .collect();
    for (at, agent) in agents.iter_mut().enumerate() {
        let winner = first.get(&*name_key(&agent.name)).copied();
        let Some(winner) = winner.filter(|winner| *winner != at) else {
            continue;
        };
        agent.stand_in = Some(winner);
        if agent.state != State::Ok {
            continue;
        }
        agent.state = State::Shadowed;
        let Some((root, location)) = locations.get(winner) else {
            continue;
        };
        let message = format!("{} has the same name and is used", location.display());
        agent.reasons.push(Reason::new(
            "shadowed",
            message.as_str(),
            "rename one of them, or call this one as id@root",
        ));
        if *root == agent.root {
            let own = locations.get(at).map(|(_, own)| own.clone());
            let finding = Diagnostic::new(Code::AgentCollision, message);
            agent
                .diagnostics
                .push(finding.in_file(&own.unwrap_or_default()));
        }
    }
}

/// Whether what Grove wrote an agent's file from is there and can be used.
fn has_source(agents: &[Agent], roots: &[Root], agent: &Agent) -> bool {
    let Some(from) = agent.generated_from() else {
        return false;
    };
    let is_source = |other: &Agent| {
        let label = roots.get(other.root).map_or("", |root| root.label.as_str());
        let rest = from.strip_prefix(other.id());
        rest.and_then(|rest| rest.strip_prefix('@')) == Some(label)
    };
    let mut usable = agents.iter().filter(|other| other.state == State::Ok);
    usable.any(|other| is_source(other) && name_key(&other.name) == name_key(&agent.name))
}

impl Agents {
    /// The absolute path of an agent's file.
    pub fn location(&self, agent: &Agent) -> PathBuf {
        let root = self.roots.get(agent.root);
        root.map_or_else(PathBuf::new, |root| root.path.join(&agent.path))
    }

    /// `id@label`, which names exactly one agent.
    pub fn address(&self, agent: &Agent) -> String {
        let label = self.roots.get(agent.root).map_or("", |root| &root.label);
        format!("{}@{label}", agent.id())
    }

    /// Finds an agent by address, by name, by one of its aliases, or by id.
    ///
    /// An unusable agent is found by its bare name only when nothing usable bears it.
    pub fn find(&self, query: &str) -> Answer {
        let key = name_key(query);
        let by_name = |agent: &Agent| name_key(&agent.name) == key;
        let by_alias = |agent: &Agent| {
            let aliases = agent.file().map(|file| file.aliases.as_slice());
            aliases
                .unwrap_or_default()
                .iter()
                .any(|alias| name_key(alias) == key)
        };
        let by_id = |agent: &Agent| agent.id() == query;
        let usable = |agent: &Agent| agent.state == State::Ok;
        let ways: [&dyn Fn(&Agent) -> bool; 6] = [
            &|agent| query.contains('@') && self.address(agent) == query,
            &|agent| usable(agent) && by_name(agent),
            &|agent| usable(agent) && by_alias(agent),
            &|agent| usable(agent) && by_id(agent),
            &by_name,
            &by_id,
        ];
        for way in ways {
            if let Some(at) = self.agents.iter().position(way) {
                return Answer::One(at);
            }
        }
        let names = self.agents.iter().map(|agent| agent.name.as_str());
        Answer::None {
            near: near_names(names, query),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::root::{Source, Standing};
    use crate::trust::Trust;

    fn root(source: Source, trust: Trust) -> Root {
        let label = format!("{}:agents", source.as_str());
        Root {
            path: PathBuf::from(format!("/{}", source.as_str())),
            label,
            source,
            standing: Standing::of(source),
            trust,
        }
    }

    fn candidate(root: usize, path: &str, text: &str) -> Candidate {
        Candidate {
            root,
            path: path.to_owned(),
            member: None,
            file: None,
            content: Ok(Content {
                digest: Digest::of(text.as_bytes()),
                size: text.len() as u64,
                parsed: agent::parse(text),
            }),
            diagnostics: Vec::new(),
        }
    }

    fn file(name: &str) -> String {
        format!("---\nname: {name}\ndescription: d\n---\nBody\n")
    }

    fn states(agents: &Agents) -> Vec<(String, &'static str)> {
        let all = agents.agents.iter();
        all.map(|agent| (agents.address(agent), agent.state.as_str()))
            .collect()
    }

    #[test]
    fn the_ladder_of_skills_decides_and_losers_stay() {
        let roots = vec![
            root(Source::Bundled, Trust::Trusted),
            root(Source::Extra, Trust::Trusted),
            root(Source::User, Trust::Trusted),
            root(Source::Project, Trust::Trusted),
        ];
        let all: Vec<Candidate> = (0..4).map(|at| candidate(at, "x.md", &file("x"))).collect();
        for strongest in (0..4).rev() {
            let left = all.iter().take(strongest + 1).cloned().collect();
            let agents = resolve(roots.clone(), left, Vec::new());
            let Answer::One(at) = agents.find("x") else {
                panic!("nobody is called x");
            };
            let used = &agents.agents[at];
            let expected = &roots[strongest].path;
            assert_eq!(agents.location(used), expected.join("x.md"));
            let losers = agents
                .agents
                .iter()
                .filter(|agent| agent.stand_in == Some(at));
            assert_eq!(losers.count(), strongest);
        }
    }

    #[test]
    fn what_cannot_be_used_shadows_nobody() {
        let pins = BTreeMap::from([(
            "p/a.md".to_owned(),
            Digest::of(file("a").as_bytes()).to_string(),
        )]);
        let pinned = Trust::Pinned {
            pins: Arc::new(pins),
            prefix: "p/".to_owned(),
        };
        let user = root(Source::User, Trust::Trusted);
        for (trust, text, expected) in [
            (Trust::Untrusted, file("a"), "untrusted"),
            (pinned.clone(), format!("{}more", file("a")), "changed"),
            (
                Trust::Trusted,
                "---\nname: [a]\n---\n".to_owned(),
                "invalid",
            ),
        ] {
            let roots = vec![root(Source::Project, trust), user.clone()];
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
            assert_eq!(agents.find("a"), Answer::One(1));
            assert_eq!(agents.find("a@project:agents"), Answer::One(0));
        }
        let roots = vec![root(Source::Project, pinned), user];
        let all = vec![
            candidate(0, "a.md", &file("a")),
            candidate(1, "a.md", &file("a")),
        ];
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.find("a"), Answer::One(0), "what was seen is used");
    }

    #[test]
    fn in_one_root_the_first_path_is_used_and_the_other_is_said() {
        let roots = vec![root(Source::User, Trust::Trusted)];
        let all = vec![
            candidate(0, "z/a.md", &file("a")),
            candidate(0, "b.md", &file("a")),
        ];
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.find("a"), Answer::One(0));
        assert_eq!(agents.agents[0].path, "b.md");
        assert_eq!(agents.agents[1].diagnostics[0].code, Code::AgentCollision);
    }

    #[test]
    fn names_come_from_the_file_its_package_and_its_aliases() {
        let text = "---\nname: Alpha\npackage: My Pkg\ndescription: d\naliases: beta\n---\n";
        let roots = vec![root(Source::User, Trust::Trusted)];
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
            assert_eq!(agents.find(query), Answer::One(at), "{query}");
        }
        assert_eq!(
            agents.find("unamed"),
            Answer::None {
                near: vec!["unnamed".to_owned()]
            }
        );
    }

    #[test]
    fn one_file_reached_twice_is_one_agent() {
        let roots = vec![
            root(Source::User, Trust::Trusted),
            root(Source::Extra, Trust::Trusted),
        ];
        let mut all = vec![
            candidate(0, "a.md", &file("a")),
            candidate(1, "b.md", &file("a")),
        ];
        for candidate in &mut all {
            candidate.file = Some((1, 2));
        }
        let agents = resolve(roots, all, Vec::new());
        assert_eq!(agents.agents.len(), 1);
        assert_eq!(agents.agents[0].also_at, [PathBuf::from("/extra/b.md")]);
    }
}
