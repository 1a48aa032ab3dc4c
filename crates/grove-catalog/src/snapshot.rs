//! The immutable result of looking: every skill with its state, the roots, the findings.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use grove_spec::package::Kind;
use grove_spec::{Code, Diagnostic};

use crate::agents::Agents;
use crate::chains::Chains;
use crate::content::Content;
use crate::digest::Digest;
use crate::entry::{Entries, Entry, Verdict, VerdictMut, verdict_of_fields};
use crate::hosts::{MissingDescription, NameFrom};
use crate::identity::{self, Layout};
use crate::report::InvocableJson;
use crate::root::{Root, Source};
use crate::state::{Reason, State};
use crate::tree::Tree;

/// Where a skill is: a root by index, and an id in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Index of the root in the snapshot.
    pub root: usize,
    /// Which layout.
    pub layout: Layout,
    /// The id in that root.
    pub id: Arc<str>,
}

/// One skill of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Where it is.
    pub place: Location,
    /// Further paths to the same file.
    pub also_at: Vec<Location>,
    /// What its file says.
    pub content: Arc<Content>,
    /// Whether it may be used.
    pub state: State,
    /// Why it is in that state; empty for `ok`.
    pub reasons: Vec<Reason>,
    /// The usable skill of the same name that is used instead.
    pub stand_in: Option<usize>,
    /// Where its name comes from.
    pub named_by: NameFrom,
    /// What a missing description means to whoever looks.
    pub missing_description: MissingDescription,
    /// Whether whoever looks lets the author keep a skill from the model.
    pub honours_invocation: bool,
    /// Findings that come from where the file is, not from what it says.
    pub diagnostics: Vec<Diagnostic>,
}

impl Skill {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.place.id
    }

    /// The frontmatter's name, or the folder's.
    pub fn name(&self) -> &str {
        let own = self
            .content
            .name()
            .filter(|_| self.named_by == NameFrom::Frontmatter);
        own.unwrap_or_else(|| identity::folder_of(&self.place.id))
    }

    /// What it does and when to use it.
    pub fn description(&self) -> Option<&str> {
        self.content.description()
    }

    /// Whether a model may be told of it: usable, described, and not switched off by its author.
    ///
    /// A host that shows something else in place of a description describes every skill.
    pub fn model_invocable(&self) -> bool {
        let has_fallback = self.missing_description == MissingDescription::Fallback;
        self.state.is_offered()
            && (has_fallback || self.description().is_some())
            && (self.content.flags().model_invocable || !self.honours_invocation)
    }

    /// Whether a person may call it as `/name`.
    pub fn user_invocable(&self) -> bool {
        self.state.is_offered() && self.content.flags().user_invocable
    }

    /// What its file says.
    pub fn file(&self) -> &grove_spec::skill::Skill {
        &self.content.parsed().skill
    }

    /// Everything that was found about it.
    pub fn all_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_file = if self.content.flags().has_findings {
            self.content.parsed().diagnostics.as_slice()
        } else {
            &[]
        };
        of_file.iter().chain(&self.diagnostics)
    }
}

/// Every skill, agent and chain, the roots and what was found; never changed once published.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Rises when the digest differs.
    pub version: u64,
    /// The digest of everything a reader can see in it: skills, agents and chains.
    pub digest: Digest,
    /// The digest of the skills alone, for what is made of them and nothing else.
    pub skills_digest: Digest,
    /// The roots, strongest first.
    pub roots: Vec<Root>,
    /// The skills, by root and id.
    pub skills: Vec<Skill>,
    /// Which skills are children of which.
    pub tree: Tree,
    /// Findings about roots, limits and configuration.
    pub diagnostics: Vec<Diagnostic>,
    /// The agents. Shared, so that the next snapshot can have the same ones.
    pub agents: Arc<Agents>,
    /// The chains, shared likewise.
    pub chains: Arc<Chains>,
}

impl Snapshot {
    /// The same skills with these agents and chains; the digest is that of all three.
    #[must_use]
    pub fn with_agents_and_chains(mut self, agents: Arc<Agents>, chains: Arc<Chains>) -> Self {
        self.digest = whole_digest(self.skills_digest, &agents, &chains);
        self.agents = agents;
        self.chains = chains;
        self
    }

    /// The skills with their roots.
    pub fn entries(&self) -> Entries<'_, Skill> {
        Entries {
            roots: &self.roots,
            all: &self.skills,
        }
    }

    /// The absolute path of a skill's file.
    pub fn location(&self, place: &Location) -> PathBuf {
        let file = identity::file_below_root(place.layout, &place.id);
        self.roots
            .get(place.root)
            .map_or_else(|| PathBuf::from(&file), |root| root.path.join(&file))
    }

    /// The root a skill is in.
    pub fn root_of(&self, skill: &Skill) -> Option<&Root> {
        self.roots.get(skill.place.root)
    }

    /// `id@label`, which names exactly one skill.
    pub fn address(&self, skill: &Skill) -> String {
        self.entries().address(skill)
    }

    /// All addresses that lead to a skill: its own, and those of further paths to its file.
    pub fn addresses<'a>(&'a self, skill: &'a Skill) -> impl Iterator<Item = String> + 'a {
        self.entries().addresses(skill)
    }

    /// The id of a skill, made unique in its root.
    pub fn unique_id(&self, skill: &Skill) -> String {
        unique_id(&self.skills, &skill.place).into_owned()
    }

    /// Where a skill comes from.
    pub fn source_of(&self, skill: &Skill) -> Source {
        self.root_of(skill)
            .map_or(Source::Bundled, |root| root.source)
    }
}

/// The digest of everything, from the digests of its parts.
pub(crate) fn whole_digest(skills: Digest, agents: &Agents, chains: &Chains) -> Digest {
    Digest::of_fields([skills, agents.digest(), chains.digest()].map(|part| *part.as_bytes()))
}

/// An id, unique in its root: a flat file beside a folder of the same name keeps its ending.
fn unique_id<'a>(skills: &[Skill], place: &'a Location) -> Cow<'a, str> {
    let twin = (place.root, &*place.id, Layout::Folder);
    let has_twin = place.layout == Layout::Flat
        && skills
            .binary_search_by(|other| (other.place.root, other.id(), other.place.layout).cmp(&twin))
            .is_ok();
    if has_twin {
        Cow::Owned(format!("{}.md", place.id))
    } else {
        Cow::Borrowed(&place.id)
    }
}

impl Entry for Skill {
    const KIND: Kind = Kind::Skills;
    const NAME_COLLISION: Code = Code::NameCollision;

    fn root(&self) -> usize {
        self.place.root
    }

    fn files(&self) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
        let places = std::iter::once(&self.place).chain(&self.also_at);
        places.map(|place| {
            let file = identity::file_below_root(place.layout, &place.id);
            (place.root, Cow::Owned(file))
        })
    }

    fn ids<'a>(&'a self, all: &'a [Self]) -> impl Iterator<Item = (usize, Cow<'a, str>)> {
        let places = std::iter::once(&self.place).chain(&self.also_at);
        places.map(|place| (place.root, unique_id(all, place)))
    }

    fn short_id(&self) -> Option<&str> {
        None
    }

    fn name(&self) -> &str {
        Self::name(self)
    }

    fn description(&self) -> Option<&str> {
        Self::description(self)
    }

    fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.all_diagnostics()
    }

    fn invocable(&self) -> Option<InvocableJson> {
        Some(InvocableJson {
            model_invocable: self.model_invocable(),
            user_invocable: self.user_invocable(),
        })
    }

    verdict_of_fields!();

    fn digest_fields(&self, field: &mut impl FnMut(&[u8])) {
        field(&[self.place.layout as u8]);
        field(&self.content.fingerprint.to_le_bytes());
    }
}
