//! From candidates to a snapshot: each rule in its order.
//!
//! parse → trust → requirements → enabled → allow-list → name filter → rank → caps. An unusable skill
//! never shadows a usable one.

use std::sync::Arc;

use grove_spec::config::Settings;
use grove_spec::package::Kind;
use grove_spec::skill::check_folder;
use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};

use crate::content::Content;
use crate::digest::{Digest, append_field};
use crate::eligibility::{self, Facts};
use crate::host_refusal;
use crate::hosts::{
    Host, Identity, MissingDescription, MissingName, NameForm, NameFrom, SameNameRule,
};
use crate::identity::{self, Layout};
use crate::rank;
use crate::root::{Root, Source};
use crate::same_name::apply_rank;
use crate::snapshot::{Location, Skill, Snapshot, whole_digest};
use crate::state::{Reason, State};
use crate::tree::Tree;
use crate::tree::grow::grow;
use crate::trust;

/// A skill file that was found in a root.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Index of its root in [`Input::roots`].
    pub root: usize,
    /// Which layout.
    pub layout: Layout,
    /// Its id.
    pub id: Arc<str>,
    /// Device and inode, by which one file is one skill.
    pub file: Option<(u64, u64)>,
    /// How many hard links it has.
    pub hard_links: u32,
    /// Whether a link leads to it.
    pub through_link: bool,
    /// What it says.
    pub content: Arc<Content>,
}

/// Everything that decides about skills.
#[derive(Debug)]
pub struct Input<'a> {
    /// The roots in any order.
    pub roots: Vec<Root>,
    /// What was found in them, by id within each root.
    pub candidates: Vec<Candidate>,
    /// What the user set.
    pub settings: &'a Settings,
    /// What the machine has.
    pub facts: &'a Facts,
    /// A further name filter, of an agent or a session; none means all.
    pub names: Option<&'a [String]>,
    /// Whose rules apply.
    pub rules: Rules,
    /// Findings from before: walks and configuration.
    pub diagnostics: Vec<Diagnostic>,
}

/// The rules in which hosts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// What happens to equal names in different roots.
    pub same_name: SameNameRule,
    /// Where names come from.
    pub name: NameFrom,
    /// What happens to a skill whose frontmatter has no name.
    pub missing_name: MissingName,
    /// What happens to a skill without a description.
    pub missing_description: MissingDescription,
    /// The longest description that is taken, in UTF-16 units.
    pub longest_description: Option<u64>,
    /// The longest name that is taken, in characters.
    pub longest_name: Option<u64>,
    /// Which names are taken.
    pub name_form: NameForm,
    /// Whether an author can keep a skill from the model.
    pub honours_invocation: bool,
    /// Whether frontmatter that had to be repaired counts.
    pub repairs: bool,
    /// Whether requirements are looked at.
    pub requirements: bool,
    /// Whether skills hang together in trees.
    pub trees: bool,
}

impl Rules {
    /// Grove's own: a skill without description can still be named.
    pub const GROVE: Self = Self {
        same_name: SameNameRule::Strongest,
        name: NameFrom::Frontmatter,
        missing_name: MissingName::Folder,
        missing_description: MissingDescription::Unlisted,
        longest_description: None,
        longest_name: None,
        name_form: NameForm::Any,
        honours_invocation: true,
        repairs: true,
        requirements: true,
        trees: true,
    };

    /// Another host's, which knows nothing of Grove's trees.
    pub fn of(host: &Host) -> Self {
        let Identity {
            same_name,
            name,
            missing_name,
            missing_description,
            longest_description,
            longest_name,
            name_form,
            honours_invocation,
            repairs,
            requirements,
            ..
        } = host.identity;
        Self {
            same_name,
            name,
            missing_name,
            missing_description,
            longest_description,
            longest_name,
            name_form,
            honours_invocation,
            repairs,
            requirements,
            trees: false,
        }
    }
}

/// Resolves candidates into a snapshot of version one.
pub fn resolve(input: Input<'_>) -> Snapshot {
    let Input {
        mut roots,
        mut candidates,
        settings,
        facts,
        names,
        rules,
        mut diagnostics,
    } = input;
    sort_by_strength(&mut roots, &mut candidates);
    let policy = Policy {
        roots: &roots,
        settings,
        facts,
        names,
        rules,
    };
    let skills: Vec<Skill> = candidates
        .iter()
        .map(|candidate| policy.judge(candidate))
        .collect();
    let mut skills = merge_same_files(&candidates, skills);
    apply_rank(&mut skills, &roots, rules.same_name);
    apply_source_limit(
        &mut skills,
        &roots,
        settings.limits.loaded_per_source.value,
        &mut diagnostics,
    );
    let tree = if rules.trees {
        grow(&mut skills, &roots, &diagnostics)
    } else {
        Tree::default()
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

/// Puts the strongest root first and candidates in the order of root and id.
fn sort_by_strength(roots: &mut Vec<Root>, candidates: &mut [Candidate]) {
    let mut order: Vec<usize> = (0..roots.len()).collect();
    let at = |index: usize| roots.get(index);
    order.sort_by(|a, b| match (at(*a), at(*b)) {
        (Some(a), Some(b)) => rank::stronger_first(a, b),
        _ => std::cmp::Ordering::Equal,
    });
    let mut place = vec![0; roots.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(slot) = place.get_mut(*old) {
            *slot = new;
        }
    }
    for candidate in candidates.iter_mut() {
        candidate.root = place.get(candidate.root).copied().unwrap_or(0);
    }
    let in_order = |a: &Candidate, b: &Candidate| {
        a.root
            .cmp(&b.root)
            .then_with(|| a.id.cmp(&b.id))
            .then_with(|| a.layout.cmp(&b.layout))
    };
    // Walks deliver their candidates sorted, so this is a check far more often than a sort.
    if !candidates.is_sorted_by(|a, b| in_order(a, b).is_le()) {
        candidates.sort_by(in_order);
    }
    *roots = order
        .iter()
        .filter_map(|index| roots.get(*index).cloned())
        .collect();
}

struct Policy<'a> {
    roots: &'a [Root],
    settings: &'a Settings,
    facts: &'a Facts,
    names: Option<&'a [String]>,
    rules: Rules,
}

impl Policy<'_> {
    /// The state of a skill by everything but rank and caps.
    fn judge(&self, candidate: &Candidate) -> Skill {
        let place = Location {
            root: candidate.root,
            layout: candidate.layout,
            id: Arc::clone(&candidate.id),
        };
        let mut skill = Skill {
            place,
            also_at: Vec::new(),
            content: Arc::clone(&candidate.content),
            state: State::Ok,
            reasons: Vec::new(),
            stand_in: None,
            named_by: self.rules.name,
            missing_description: self.rules.missing_description,
            honours_invocation: self.rules.honours_invocation,
            diagnostics: Vec::new(),
        };
        skill.diagnostics = self.findings(&skill, candidate);
        if let Some((state, reasons)) = self.refusal(&skill) {
            skill.state = state;
            skill.reasons = reasons;
        }
        skill
    }

    fn refusal(&self, skill: &Skill) -> Option<(State, Vec<Reason>)> {
        let flags = skill.content.flags();
        if !flags.valid {
            let errors = skill
                .content
                .parsed()
                .diagnostics
                .iter()
                .filter(|finding| finding.is_error());
            return Some((
                State::Invalid,
                errors
                    .map(|e| Reason::new(e.code.as_str(), e.message.clone(), e.help_text()))
                    .collect(),
            ));
        }
        let root = self.roots.get(skill.place.root)?;
        let file = || identity::file_below_root(skill.place.layout, &skill.place.id);
        if root.trust != trust::Trust::Trusted
            && let Some((state, reason)) = trust::judge(
                &root.trust,
                &file(),
                skill.content.digest.as_ref(),
                Some(Kind::Skills),
            )
        {
            return Some((state, vec![reason]));
        }
        let needed = if flags.has_requirements {
            skill.file().requirements.as_deref()
        } else {
            None
        };
        let key = eligibility::entry_key(needed, skill.name());
        let entry = self.settings.entries.get(key);
        if let Some(needed) = needed.filter(|_| self.rules.requirements) {
            let missing = eligibility::missing(needed, self.facts, entry);
            if !missing.is_empty() {
                return Some((State::Ineligible, missing));
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
            return Some((
                State::Disabled,
                vec![Reason::new(
                    "disabled",
                    "switched off in the configuration",
                    fix,
                )],
            ));
        }
        let filtered = |code: &str, message: &str, fix: &str| {
            Some((State::Filtered, vec![Reason::new(code, message, fix)]))
        };
        if root.source == Source::Bundled
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
        if let Some(reason) = host_refusal::reason(&self.rules, skill) {
            return Some((State::Filtered, vec![reason]));
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

    fn findings(&self, skill: &Skill, candidate: &Candidate) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        let folder = identity::folder_of(&skill.place.id);
        if skill.content.flags().valid && self.rules.name == NameFrom::Frontmatter {
            findings.extend(check_folder(skill.content.name(), folder));
        }
        if identity::is_unportable(folder) {
            findings.push(Diagnostic::new(
                Code::PortableName,
                format!("folder name `{folder}` cannot be used on every platform"),
            ));
        }
        let contained = self
            .roots
            .get(candidate.root)
            .is_some_and(|root| root.source.contains_links());
        if candidate.hard_links > 1 && contained {
            findings.push(Diagnostic::new(
                Code::HardLink,
                format!("the file has {} hard links", candidate.hard_links),
            ));
        }
        findings
    }
}

/// A key as TOML wants it: bare where it can be, quoted where it must be.
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

/// Whether a list of names lets a skill through; no list lets everything through.
fn lets_through(names: Option<&[String]>, skill: &Skill, key: &str) -> bool {
    names.is_none_or(|names| {
        names
            .iter()
            .any(|name| name == skill.name() || name == key || name == skill.id())
    })
}

/// One file reached by several paths is one skill: the best usable place stands for it.
fn merge_same_files(candidates: &[Candidate], skills: Vec<Skill>) -> Vec<Skill> {
    // Inode numbers alone tell the usual case, that no file is met twice, at a fraction of the cost.
    let mut inodes: Vec<u64> = candidates
        .iter()
        .filter_map(|candidate| candidate.file)
        .map(|(_, inode)| inode)
        .collect();
    inodes.sort_unstable();
    if inodes
        .windows(2)
        .all(|pair| !matches!(pair, [a, b] if a == b))
    {
        return skills;
    }
    let mut files: Vec<((u64, u64), usize)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(at, c)| c.file.map(|file| (file, at)))
        .collect();
    files.sort_unstable();
    let mut skills: Vec<Option<Skill>> = skills.into_iter().map(Some).collect();
    for group in files
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
    {
        let quality = |at: usize| {
            let usable = skills
                .get(at)
                .and_then(Option::as_ref)
                .is_some_and(|skill| skill.state.is_usable());
            let candidate = candidates.get(at);
            (
                !usable,
                candidate.map(|c| c.root),
                candidate.map(|c| c.through_link),
                at,
            )
        };
        let Some(best) = group
            .iter()
            .map(|(_, at)| *at)
            .min_by_key(|at| quality(*at))
        else {
            continue;
        };
        let mut others = Vec::new();
        for (_, at) in group.iter().filter(|(_, at)| *at != best) {
            others.extend(
                skills
                    .get_mut(*at)
                    .and_then(Option::take)
                    .map(|skill| skill.place),
            );
        }
        if let Some(Some(skill)) = skills.get_mut(best) {
            skill.also_at = others;
        }
    }
    skills.into_iter().flatten().collect()
}

/// Leaves what a source has beyond its limit out of the catalog.
fn apply_source_limit(
    skills: &mut [Skill],
    roots: &[Root],
    limit: u64,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for source in Source::ALL {
        let in_source = |skill: &&mut Skill| {
            skill.state == State::Ok
                && roots
                    .get(skill.place.root)
                    .is_some_and(|root| root.source == source)
        };
        let mut capped = Vec::new();
        for skill in skills.iter_mut().filter(in_source).skip(limit) {
            skill.state = State::Capped;
            let fix = "raise `limits.loaded_per_source`, or look with --all";
            skill.reasons = vec![Reason::new(
                "source-limit",
                format!(
                    "the {} source has more than {limit} skills",
                    source.as_str()
                ),
                fix,
            )];
            capped.push(skill.id().to_owned());
        }
        if !capped.is_empty() {
            let message = format!(
                "{} of {} {} skills are beyond the limit of {limit}: {}",
                capped.len(),
                capped.len() + limit,
                source.as_str(),
                first_names(&capped)
            );
            diagnostics.push(Diagnostic::new(Code::SourceLimit, message).with_names(capped));
        }
    }
}

/// The digest of what a reader can see: names, places, content, states and their reasons, and who is whose
/// child. Findings follow from these.
fn digest_of(skills: &[Skill], roots: &[Root], tree: &Tree) -> Digest {
    let mut bytes = Vec::with_capacity(skills.len() * 96 + 64);
    let mut field = |field: &[u8]| append_field(&mut bytes, field);
    field(b"grove-snapshot-2");
    for root in roots {
        field(root.label.as_bytes());
        field(root.path.as_os_str().as_encoded_bytes());
    }
    for skill in skills {
        field(&(skill.place.root as u32).to_le_bytes());
        field(&[skill.place.layout as u8]);
        field(skill.place.id.as_bytes());
        field(skill.name().as_bytes());
        field(&skill.content.fingerprint.to_le_bytes());
        field(skill.state.as_str().as_bytes());
        for reason in &skill.reasons {
            field(reason.code.as_bytes());
            field(reason.message.as_bytes());
        }
        for other in &skill.also_at {
            field(&(other.root as u32).to_le_bytes());
            field(other.id.as_bytes());
        }
    }
    for (child, parent) in tree.pairs() {
        field(&(child as u64).to_le_bytes());
        field(&(parent as u64).to_le_bytes());
    }
    Digest::of(&bytes)
}
