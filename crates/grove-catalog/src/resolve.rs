//! Resolves candidates into a snapshot: each rule in its order.
//!
//! parse → trust → requirements → enabled → allow-list → name filter → rank → caps. An unusable skill
//! never shadows a usable one.

use std::cmp::{Ordering, Reverse};
use std::path::Path;
use std::sync::Arc;

use grove_spec::config::Settings;
use grove_spec::package::EntryKind;
use grove_spec::skill::check_folder;
use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};

use crate::content::SkillContent;
use crate::digest::{Digest, append_field};
use crate::eligibility::{self, MachineFacts};
use crate::entry::Entry;
use crate::entry::resolving::{Candidate, NameRules, Unranked, digest_fields, invalid, untrusted};
use crate::entry_caps::{EntryCaps, Full, TakenEntries};
use crate::host_refusal;
use crate::hosts::{
    FrontmatterReading, Host, IdentityRules, MissingDescription, MissingName, NameForm, NameFrom,
    SameNameRule,
};
use crate::identity::{self, SkillLayout};
use crate::root::{Root, RootSource};
use crate::snapshot::{Skill, SkillLocation, Snapshot, whole_digest};
use crate::state::{EntryState, StateReason};
use crate::tree::SkillTree;
use crate::tree::declared_tree::declared_tree;

/// A skill file that was found in a root.
#[derive(Debug, Clone)]
pub struct SkillCandidate {
    /// Index of its root in [`ResolveInput::roots`].
    pub root: usize,
    /// The layout of the file in its root.
    pub layout: SkillLayout,
    /// The id in that root.
    pub id: Arc<str>,
    /// Device and inode, by which one file is one skill.
    pub file: Option<(u64, u64)>,
    /// The number of hard links to the file.
    pub hard_links: u32,
    /// Set if a link leads to it.
    pub through_link: bool,
    /// The content of the file.
    pub content: Arc<SkillContent>,
}

/// Everything that decides the states of skills.
pub struct ResolveInput<'a> {
    /// The roots in any order.
    pub roots: Vec<Root>,
    /// The files that were found in them, by id within each root.
    pub candidates: Vec<SkillCandidate>,
    /// The settings of the user.
    pub settings: &'a Settings,
    /// The facts about the machine.
    pub facts: &'a MachineFacts,
    /// A further name filter, of an agent or a session; none means all.
    pub names: Option<&'a [String]>,
    /// The rules that apply, Grove's or a host's.
    pub rules: SkillRules,
    /// The recent use of a file's skill. Called only if there are more skills than entries.
    pub used: &'a dyn Fn(&Path) -> u32,
    /// Findings from earlier steps: walks and configuration.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns zero for every skill, for callers that keep no use.
pub const fn none_used(_: &Path) -> u32 {
    0
}

/// The rules in which hosts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRules {
    /// The rules for names and for equal names.
    pub identity: IdentityRules,
    /// Set if skills form trees.
    pub trees: bool,
}

impl SkillRules {
    /// Grove's own: a skill without description can still be named.
    pub const GROVE: Self = Self {
        identity: IdentityRules {
            name: NameFrom::Frontmatter,
            missing_name: MissingName::Folder,
            same_name: SameNameRule::Strongest,
            missing_description: MissingDescription::Unlisted,
            longest_description: None,
            longest_name: None,
            name_form: NameForm::Any,
            honours_invocation: true,
            repairs: true,
            frontmatter: FrontmatterReading::Grove,
            bare_files: false,
            honours_paths: false,
            nearest_first: true,
            requirements: true,
            order: Vec::new(),
        },
        trees: true,
    };

    /// The rules of another host, which knows nothing of Grove's trees.
    pub fn of(host: &Host) -> Self {
        Self {
            identity: host.identity.clone(),
            trees: false,
        }
    }
}

/// Resolves candidates into a snapshot of version one.
pub fn resolve(input: ResolveInput<'_>) -> Snapshot {
    let ResolveInput {
        roots,
        candidates,
        settings,
        facts,
        names,
        rules,
        used,
        mut diagnostics,
    } = input;
    let judge = |roots: &[Root], candidate: SkillCandidate| {
        let policy = SkillJudge {
            roots,
            settings,
            facts,
            names,
            rules: &rules.identity,
        };
        policy.judge(candidate)
    };
    let add_place = |skill: &mut Skill, other: Skill| skill.also_at.push(other.place);
    let unranked = Unranked::new(roots, candidates, judge, add_place);
    let (roots, mut skills) = unranked.rank(NameRules {
        same_name: rules.identity.same_name,
        sources_first: false,
    });
    let limits = EntryLimits {
        most: EntryCaps::of(settings),
        pinned: rules.trees.then_some(settings.pinned.value.as_slice()),
        used,
    };
    apply_entry_limits(&mut skills, &roots, &limits, &mut diagnostics);
    let tree = if rules.trees {
        declared_tree(&mut skills, &roots, &diagnostics)
    } else {
        SkillTree::default()
    };
    let skills_digest = digest_of(&skills, &roots, &tree);
    let (agents, chains) = (Arc::default(), Arc::default());
    Snapshot {
        version: 1,
        digest: whole_digest(skills_digest, &agents, &chains),
        skills_digest,
        roots,
        skills,
        tree,
        diagnostics,
        agents,
        chains,
    }
}

impl Candidate for SkillCandidate {
    fn root(&self) -> usize {
        self.root
    }

    fn set_root(&mut self, root: usize) {
        self.root = root;
    }

    fn in_order(&self, other: &Self) -> Ordering {
        (&self.id, self.layout).cmp(&(&other.id, other.layout))
    }

    fn file(&self) -> Option<(u64, u64)> {
        self.file
    }

    fn through_link(&self) -> bool {
        self.through_link
    }
}

struct SkillJudge<'a> {
    roots: &'a [Root],
    settings: &'a Settings,
    facts: &'a MachineFacts,
    names: Option<&'a [String]>,
    rules: &'a IdentityRules,
}

impl SkillJudge<'_> {
    /// Judges a skill by everything but rank and caps.
    fn judge(&self, candidate: SkillCandidate) -> Skill {
        let place = SkillLocation {
            root: candidate.root,
            layout: candidate.layout,
            id: candidate.id,
        };
        let mut skill = Skill {
            place,
            also_at: Vec::new(),
            content: candidate.content,
            state: EntryState::Ok,
            reasons: Vec::new(),
            stand_in: None,
            named_by: self.rules.name,
            missing_description: self.rules.missing_description,
            honours_invocation: self.rules.honours_invocation,
            diagnostics: Vec::new(),
        };
        skill.diagnostics = self.findings(&skill, candidate.hard_links);
        if let Some((state, reasons)) = self.refusal(&skill) {
            skill.state = state;
            skill.reasons = reasons;
        }
        skill
    }

    fn refusal(&self, skill: &Skill) -> Option<(EntryState, Vec<StateReason>)> {
        let flags = skill.content.flags();
        let is_bare = self.rules.bare_files && skill.content.is_bare();
        if !flags.valid && !is_bare {
            return invalid(&skill.content.parsed().diagnostics);
        }
        let root = self.roots.get(skill.place.root)?;
        let own_file = skill.files().map(|(_, file)| (file, skill.content.digest));
        if let Some(refused) = untrusted(root, EntryKind::Skills, own_file) {
            return Some(refused);
        }
        let needed = if flags.has_requirements {
            skill.file().requirements.as_deref()
        } else {
            None
        };
        let key = eligibility::entry_key(needed, skill.name());
        let entry = self.settings.entries.get(key);
        if let Some(needed) = needed.filter(|_| self.rules.requirements) {
            let entries = &self.settings.entries;
            let values =
                eligibility::entry_with_values(entries, root.source, Some(needed), skill.name());
            let missing = eligibility::missing(needed, self.facts, values);
            if !missing.is_empty() {
                return Some((EntryState::Ineligible, missing));
            }
        }
        if entry
            .and_then(|entry| entry.enabled.as_ref())
            .is_some_and(|enabled| !enabled.value)
        {
            let fix = format!(
                "set `enabled = true` under `[skills.entries.{}]`",
                toml_key(key)
            );
            let reason = StateReason::new("disabled", "switched off in the configuration", fix);
            return Some((EntryState::Disabled, vec![reason]));
        }
        let filtered = |code: &str, message: &str, fix: &str| {
            Some((
                EntryState::Filtered,
                vec![StateReason::new(code, message, fix)],
            ))
        };
        if root.source == RootSource::Bundled
            && !lets_through(self.settings.allow_bundled.value.as_deref(), skill, key)
        {
            return filtered(
                "not-allowed",
                "not among the allowed bundled skills",
                "add it to `skills.allow_bundled`",
            );
        }
        if !lets_through(self.settings.only.value.as_deref(), skill, key) {
            return filtered(
                "not-selected",
                "not among the names in the configuration",
                "add it to `skills.only`",
            );
        }
        if let Some(reason) = host_refusal::reason(self.rules, skill) {
            return Some((EntryState::Filtered, vec![reason]));
        }
        if !lets_through(self.names, skill, key) {
            return filtered(
                "not-selected",
                "not among the names asked for",
                "ask for it by name",
            );
        }
        None
    }

    fn findings(&self, skill: &Skill, hard_links: u32) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        let folder = identity::folder_of(&skill.place.id);
        if skill.content.flags().valid && self.rules.name == NameFrom::Frontmatter {
            findings.extend(check_folder(skill.content.name(), folder));
        }
        if identity::is_unportable(folder) {
            let message = format!("folder name `{folder}` cannot be used on every platform");
            findings.push(Diagnostic::new(Code::PortableName, message));
        }
        let root = self.roots.get(skill.place.root);
        let contained = root.is_some_and(|root| root.source.contains_links());
        if hard_links > 1 && contained {
            let message = format!("the file has {hard_links} hard links");
            findings.push(Diagnostic::new(Code::HardLink, message));
        }
        findings
    }
}

/// Returns a key as TOML needs it: bare if possible, and otherwise quoted.
fn toml_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if is_bare {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

/// Returns true if a list of names lets a skill through; no list lets everything through.
fn lets_through(names: Option<&[String]>, skill: &Skill, key: &str) -> bool {
    names.is_none_or(|names| {
        names
            .iter()
            .any(|name| name == skill.name() || name == key || name == skill.id())
    })
}

/// The number of skills that may be entries of their own, and their order.
struct EntryLimits<'a> {
    most: EntryCaps,
    /// Names and ids that go before all others; none for a host that counts skills in the order it finds them.
    pinned: Option<&'a [String]>,
    used: &'a dyn Fn(&Path) -> u32,
}

/// Caps the skills that a root or a source has beyond its limit, so that they are no entries of their own.
fn apply_entry_limits(
    skills: &mut [Skill],
    roots: &[Root],
    limits: &EntryLimits<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for source in RootSource::ALL {
        let is_of = |skill: &Skill| {
            let root = roots.get(skill.place.root);
            skill.state.is_listed() && root.is_some_and(|root| root.source == source)
        };
        let mut of_source: Vec<usize> =
            (0..skills.len()).filter(|at| is_of(&skills[*at])).collect();
        let EntryCaps {
            per_root,
            per_source,
        } = limits.most;
        if of_source.len() <= per_source.min(per_root) {
            continue;
        }
        if let Some(pinned) = limits.pinned {
            of_source.sort_by_cached_key(|at| {
                let skill = &skills[*at];
                let (name, id) = (skill.name(), skill.id());
                let is_pinned = pinned.iter().any(|pin| pin == name || pin == id);
                let root = roots.get(skill.place.root);
                let file = identity::file_below_root(skill.place.layout, id);
                let used = root.map_or(0, |root| (limits.used)(&root.path.join(file)));
                let distance = root.map(|root| root.rank.distance);
                (!is_pinned, Reverse(used), distance, name.to_owned(), *at)
            });
        }
        let mut taken = TakenEntries::new(limits.most, roots.len());
        let mut capped = Vec::new();
        // Thousands may be beyond one limit, and all have the same reason.
        let reason = |whose: &str, limit: usize, key: &str| {
            let message = format!(
                "it has no entry of its own, since the {whose} has more than {limit} skills"
            );
            let fix =
                format!("pin it in `catalog.pinned`, raise `limits.{key}`, or look with --all");
            StateReason::new("source-limit", message, fix)
        };
        let whose = source.as_str().to_owned() + " source";
        let of_the_source = reason(&whose, per_source, "loaded_per_source");
        let mut of_roots: Vec<Option<StateReason>> = vec![None; roots.len()];
        let total = of_source.len();
        for at in of_source {
            let root = skills[at].place.root;
            let why = match taken.take(source, root) {
                Ok(()) => continue,
                Err(Full::Source) => &of_the_source,
                Err(Full::Root) => of_roots[root].get_or_insert_with(|| {
                    let whose = "root ".to_owned() + &roots[root].label;
                    reason(&whose, per_root, "loaded_per_root")
                }),
            };
            skills[at].state = EntryState::Capped;
            skills[at].reasons = vec![why.clone()];
            capped.push(skills[at].id().to_owned());
        }
        if !capped.is_empty() {
            let message = format!(
                "{} of {total} {} skills are named in their groups and have no entries of their own, of which a root has at most {} and a source {}: {}",
                capped.len(),
                source.as_str(),
                per_root,
                per_source,
                first_names(&capped)
            );
            diagnostics.push(Diagnostic::new(Code::SourceLimit, message).with_names(capped));
        }
    }
}

/// Returns the digest of what a reader can see of skills, and of the tree. Findings follow from these.
fn digest_of(skills: &[Skill], roots: &[Root], tree: &SkillTree) -> Digest {
    let mut bytes = digest_fields(roots, skills);
    for (child, parent) in tree.pairs() {
        append_field(&mut bytes, &(child as u64).to_le_bytes());
        append_field(&mut bytes, &(parent as u64).to_le_bytes());
    }
    Digest::of(&bytes)
}
