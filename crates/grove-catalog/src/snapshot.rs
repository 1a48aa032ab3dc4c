//! The immutable result of discovery: every skill with its state, the roots, the findings.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use crate::agents::Agents;
use crate::chains::Chains;
use crate::content::SkillContent;
use crate::digest::Digest;
use crate::entry::{Entries, Entry, Verdict, VerdictMut, verdict_of_fields};
use crate::hosts::{MissingDescription, NameFrom};
use crate::identity::{self, SkillLayout};
use crate::report::InvocableJson;
use crate::root::{Root, RootSource};
use crate::state::{EntryState, StateReason};
use crate::tree::SkillTree;

/// The place of a skill: a root by index, and an id in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLocation {
    /// Index of the root in the snapshot.
    pub root: usize,
    /// The layout of the file in that root.
    pub layout: SkillLayout,
    /// The id in that root.
    pub id: Arc<str>,
}

/// One skill of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The place of its file.
    pub place: SkillLocation,
    /// Further paths to the same file.
    pub also_at: Vec<SkillLocation>,
    /// The content of its file.
    pub content: Arc<SkillContent>,
    /// The state, which says if it may be used.
    pub state: EntryState,
    /// The reasons for that state; empty for `ok`.
    pub reasons: Vec<StateReason>,
    /// The usable skill of the same name that is used instead.
    pub stand_in: Option<usize>,
    /// The source of its name.
    pub named_by: NameFrom,
    /// The treatment of a missing description, by the rules of Grove or a host.
    pub missing_description: MissingDescription,
    /// Set if those rules let the author keep a skill from the model.
    pub honours_invocation: bool,
    /// Findings about the place of the file, not about its content.
    pub diagnostics: Vec<Diagnostic>,
}

impl Skill {
    /// Returns its id in its root.
    pub fn id(&self) -> &str {
        &self.place.id
    }

    /// Returns the name in the frontmatter, or else the folder's.
    pub fn name(&self) -> &str {
        let own = self
            .content
            .name()
            .filter(|_| self.named_by == NameFrom::Frontmatter);
        own.unwrap_or_else(|| identity::folder_of(&self.place.id))
    }

    /// Returns the description: what it does and when to use it.
    pub fn description(&self) -> Option<&str> {
        self.content.description()
    }

    /// Returns true if a model may see it: usable, described, and not switched off by its author.
    ///
    /// A host that shows a substitute for a missing description describes every skill.
    pub fn model_invocable(&self) -> bool {
        let has_fallback = self.missing_description == MissingDescription::Fallback;
        self.state.is_offered()
            && (has_fallback || self.description().is_some())
            && (self.content.flags().model_invocable || !self.honours_invocation)
    }

    /// Returns true if a person may call it as `/name`.
    pub fn user_invocable(&self) -> bool {
        self.state.is_offered() && self.content.flags().user_invocable
    }

    /// Returns the parsed content of its file.
    pub fn file(&self) -> &grove_spec::skill::SkillFile {
        &self.content.parsed().skill
    }

    /// Returns all findings about it.
    pub fn all_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_file = if self.content.flags().has_findings {
            self.content.parsed().diagnostics.as_slice()
        } else {
            &[]
        };
        of_file.iter().chain(&self.diagnostics)
    }
}

/// Every skill, agent and chain, the roots and the findings; never changed once published.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The version, which rises when the digest differs.
    pub version: u64,
    /// The digest of everything a reader can see in it: skills, agents and chains.
    pub digest: Digest,
    /// The digest of the skills alone, for results that depend only on them.
    pub skills_digest: Digest,
    /// The roots, strongest first.
    pub roots: Vec<Root>,
    /// The skills, by root and id.
    pub skills: Vec<Skill>,
    /// The parents and children among the skills.
    pub tree: SkillTree,
    /// Findings about roots, limits and configuration.
    pub diagnostics: Vec<Diagnostic>,
    /// The agents. Shared, so that the next snapshot can have the same ones.
    pub agents: Arc<Agents>,
    /// The chains, shared likewise.
    pub chains: Arc<Chains>,
}

impl Snapshot {
    /// Returns the same skills with these agents and chains; the digest is that of all three.
    #[must_use]
    pub fn with_agents_and_chains(mut self, agents: Arc<Agents>, chains: Arc<Chains>) -> Self {
        self.digest = whole_digest(self.skills_digest, &agents, &chains);
        self.agents = agents;
        self.chains = chains;
        self
    }

    /// Returns the skills with their roots.
    pub fn entries(&self) -> Entries<'_, Skill> {
        Entries {
            roots: &self.roots,
            all: &self.skills,
        }
    }

    /// Returns the absolute path of a skill's file.
    pub fn location(&self, place: &SkillLocation) -> PathBuf {
        let file = identity::file_below_root(place.layout, &place.id);
        self.roots
            .get(place.root)
            .map_or_else(|| PathBuf::from(&file), |root| root.path.join(&file))
    }

    /// Returns the root that a skill is in.
    pub fn root_of(&self, skill: &Skill) -> Option<&Root> {
        self.roots.get(skill.place.root)
    }

    /// Returns `id@label`, which names exactly one skill.
    pub fn address(&self, skill: &Skill) -> String {
        self.entries().address(skill)
    }

    /// Returns all addresses that lead to a skill: its own, and those of further paths to its file.
    pub fn addresses<'a>(&'a self, skill: &'a Skill) -> impl Iterator<Item = String> + 'a {
        self.entries().addresses(skill)
    }

    /// Returns the id of a skill, made unique in its root.
    pub fn unique_id(&self, skill: &Skill) -> String {
        unique_id(&self.skills, &skill.place).into_owned()
    }

    /// Returns the source of a skill.
    pub fn source_of(&self, skill: &Skill) -> RootSource {
        self.root_of(skill)
            .map_or(RootSource::Bundled, |root| root.source)
    }
}

pub(crate) fn whole_digest(skills: Digest, agents: &Agents, chains: &Chains) -> Digest {
    Digest::of_fields([skills, agents.digest(), chains.digest()].map(|part| *part.as_bytes()))
}

/// Returns an id, unique in its root: a flat file beside a folder of the same name keeps its ending.
fn unique_id<'a>(skills: &[Skill], place: &'a SkillLocation) -> Cow<'a, str> {
    let twin = (place.root, &*place.id, SkillLayout::Folder);
    let has_twin = place.layout == SkillLayout::Flat
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
    const KIND: EntryKind = EntryKind::Skills;
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
