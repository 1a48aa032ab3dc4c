//! Files that define an agent or a chain: the input and the output of resolution. The rules are those of every
//! [entry](crate::entry).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::path::PathBuf;

use grove_spec::package::EntryKind;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use crate::digest::Digest;
use crate::entry::resolving::{Candidate, NameRules, Unranked, invalid, untrusted};
use crate::entry::{Entries, Entry, Verdict, VerdictMut, verdict_of_fields};
use crate::hosts::SameNameRule;
use crate::identity::name_key;
use crate::overrides::{OverriddenField, OwnText};
use crate::root::Root;
use crate::state::{EntryState, StateReason};

/// The parts of a parsed file that these rules use.
pub trait Definition: fmt::Debug {
    /// The kind of the file.
    const KIND: EntryKind;

    /// The finding about two files of one name in one root.
    const COLLISION: Code;

    /// Returns the findings about the file.
    fn diagnostics(&self) -> &[Diagnostic];

    /// Returns its name, with its package.
    fn runtime_name(&self, file_name: &str) -> String;

    /// Returns its description: the purpose of the agent or chain.
    fn description(&self) -> Option<&str>;

    /// Returns a file's name or path without its ending.
    fn stem(path: &str) -> &str;

    /// Returns the part of its path that no other file of its root has.
    fn id(path: &str) -> &str {
        Self::stem(path)
    }

    /// Returns the path, as it is written, of the other file that holds the rest.
    fn named_file(&self) -> Option<&str> {
        None
    }

    /// Its fields as text, for the digest of a snapshot in which settings changed some of them.
    fn fields_text(&self) -> String {
        String::new()
    }

    /// Other names it answers to.
    fn aliases(&self) -> &[String] {
        &[]
    }

    /// Returns the rank of a file in one scope, whatever its folder; smaller is stronger.
    fn strength(_path: &str) -> u8 {
        0
    }

    /// Returns the reason why it is switched off, if its own file says so.
    fn disabled(&self) -> Option<StateReason> {
        None
    }

    /// Returns the address of the source of its file, if Grove wrote the file.
    fn generated_from(&self) -> Option<&str> {
        None
    }
}

/// A file as it enters resolution.
#[derive(Debug, Clone)]
pub struct DefinitionCandidate<P> {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
    /// Its name in the file, where a file holds several.
    pub member: Option<String>,
    /// Device and inode, if it could be opened.
    pub file: Option<(u64, u64)>,
    /// Its content, or the finding that says why it could not be read.
    pub content: Result<DefinitionContent<P>, Diagnostic>,
    /// Findings that come from its place.
    pub diagnostics: Vec<Diagnostic>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionContent<P> {
    /// The digest of its bytes, and of those of the other file that holds the rest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The other file that holds the rest, if it names one.
    pub rest: Option<NamedTextFile>,
    /// Its fields and findings. After resolution an agent's fields are those in force, overrides included.
    pub parsed: P,
}

/// A file with the text and the other fields of a definition that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTextFile {
    /// The full path of the file.
    pub path: PathBuf,
    /// Its path from the root, as the other file writes it.
    pub written: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The digest of the bytes of the file that names it.
    pub named_in: Digest,
}

impl<P> DefinitionContent<P> {
    /// Returns each file that it is made of, by path from the root, with its digest. `path` is that of its own file.
    pub fn files<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a Digest)> {
        let own = match &self.rest {
            Some(rest) => &rest.named_in,
            None => &self.digest,
        };
        let rest = self.rest.iter();
        let rest = rest.map(|rest| (rest.written.as_str(), &rest.digest));
        std::iter::once((path, own)).chain(rest)
    }
}

/// One definition of a resolved set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined<P> {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
    /// Its name in the file, where a file holds several.
    pub member: Option<String>,
    /// Further paths to the same file.
    pub also_at: Vec<FurtherPath>,
    /// The name in full, as in `package.name`.
    pub name: String,
    /// The content of its file; none if it could not be read.
    pub content: Option<DefinitionContent<P>>,
    /// The state, which says if it may be used.
    pub state: EntryState,
    /// The reasons for that state; empty for `ok`.
    pub reasons: Vec<StateReason>,
    /// The usable one of the same name that is used instead.
    pub stand_in: Option<usize>,
    /// All findings about it.
    pub diagnostics: Vec<Diagnostic>,
    /// The fields that are not as its file has them, each with the layer that set it. Only agents can be overridden.
    pub overridden: Vec<OverriddenField>,
    /// The text that stands in place of the one below an agent's frontmatter.
    pub own_text: Option<OwnText>,
}

/// A further path to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherPath {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
}

impl<P: Definition> Defined<P> {
    /// Returns what no other one of its root has: for an agent its path without the ending, or its name in a file that
    /// holds several.
    pub fn id(&self) -> &str {
        self.member.as_deref().unwrap_or_else(|| P::id(&self.path))
    }
}

/// Every agent, or every chain, with its state, strongest root first, then by path.
#[derive(Debug, PartialEq)]
pub struct Definitions<P> {
    /// The roots, strongest first.
    pub roots: Vec<Root>,
    /// Every definition, usable or not.
    pub all: Vec<Defined<P>>,
    /// Findings about roots and limits.
    pub diagnostics: Vec<Diagnostic>,
}

impl<P> Default for Definitions<P> {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            all: Vec::new(),
            diagnostics: Vec::new(),
        }
    }
}

impl<P: Definition> Definitions<P> {
    /// Returns all of them with their roots.
    pub fn entries(&self) -> Entries<'_, Defined<P>> {
        Entries {
            roots: &self.roots,
            all: &self.all,
        }
    }

    /// Returns the digest of everything that a reader can see in it.
    pub fn digest(&self) -> Digest {
        self.entries().digest(&self.diagnostics)
    }

    /// Returns the absolute path of a file.
    pub fn location(&self, one: &Defined<P>) -> PathBuf {
        self.entries().location(one)
    }

    /// Returns `id@label`, which names exactly one.
    pub fn address(&self, one: &Defined<P>) -> String {
        self.entries().address(one)
    }

    /// Finds one, usable or not, or else names that are near ([`Entries::find_first`]).
    pub fn find(&self, query: &str) -> Result<usize, Vec<String>> {
        self.entries().find_first(query)
    }
}

/// Returns the findings about aliases that lead to another one, each with the index of the one that has the alias.
fn unreached_aliases<P: Definition>(
    roots: &[Root],
    all: &[Defined<P>],
) -> Vec<(usize, Diagnostic)> {
    let entries = Entries { roots, all };
    let mut findings = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let aliases = one.aliases().iter().filter(|_| one.state.is_offered());
        for alias in aliases {
            let other = entries.find_first(alias).ok().filter(|found| *found != at);
            let Some(other) = other.and_then(|other| all.get(other)) else {
                continue;
            };
            let (alias, name) = (one_line(alias), one_line(&other.name));
            let message = if name_key(&other.name) == name_key(&alias) {
                format!("the alias `{alias}` is the name of another agent, which is used")
            } else {
                format!("`{name}` has the alias `{alias}` too and is used for it")
            };
            findings.push((at, Diagnostic::new(Code::AgentAlias, message)));
        }
    }
    findings
}

/// Decides the state of every candidate. Roots come back strongest first, and candidates by root and path.
///
/// `change` changes definitions, or switches them off, before they are ranked. Of several of one name in one root the
/// first path is used: agents and chains are called by programs that expect one.
pub(crate) fn resolve<P: Definition>(
    roots: Vec<Root>,
    candidates: Vec<DefinitionCandidate<P>>,
    diagnostics: Vec<Diagnostic>,
    sources_first: bool,
    change: impl FnOnce(&mut [Defined<P>], &[Root]),
) -> Definitions<P> {
    let add_place = |one: &mut Defined<P>, other: Defined<P>| {
        one.also_at.push(FurtherPath {
            root: other.root,
            path: other.path,
        });
    };
    let mut unranked = Unranked::new(roots, candidates, judge, add_place);
    unranked.change(change);
    let (roots, mut all) = unranked.rank(NameRules {
        same_name: SameNameRule::One,
        sources_first,
    });
    for (at, finding) in unreached_aliases(&roots, &all) {
        if let Some(one) = all.get_mut(at) {
            one.diagnostics.push(finding);
        }
    }
    for one in &mut all {
        for finding in &mut one.diagnostics {
            let root = roots.get(one.root);
            let location = || root.map_or_else(PathBuf::new, |root| root.path.join(&one.path));
            finding.file.get_or_insert_with(location);
        }
    }
    Definitions {
        roots,
        all,
        diagnostics,
    }
}

/// Judges one definition by itself: if it can be read, if it is trusted, and if its own file switches it off.
fn judge<P: Definition>(roots: &[Root], candidate: DefinitionCandidate<P>) -> Defined<P> {
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
            diagnostics.extend(content.parsed.diagnostics().iter().cloned());
            content.parsed.runtime_name(file_name)
        }
        None => P::stem(file_name).to_owned(),
    };
    let mut one = Defined {
        root: candidate.root,
        path: candidate.path,
        member: candidate.member,
        also_at: Vec::new(),
        name,
        content,
        state: EntryState::Ok,
        reasons: Vec::new(),
        stand_in: None,
        diagnostics,
        overridden: Vec::new(),
        own_text: None,
    };
    if let Some((state, reasons)) = refusal(&one, roots.get(candidate.root)) {
        one.state = state;
        one.reasons = reasons;
    }
    one
}

fn refusal<P: Definition>(
    one: &Defined<P>,
    root: Option<&Root>,
) -> Option<(EntryState, Vec<StateReason>)> {
    let content = one.content.as_ref();
    let files: Vec<(&str, Option<&Digest>)> = match content {
        Some(content) => {
            let files = content.files(&one.path);
            files.map(|(path, digest)| (path, Some(digest))).collect()
        }
        // A file that was not read cannot be compared with its pin, so it has no digest.
        None => vec![(&one.path, None)],
    };
    invalid(&one.diagnostics)
        .or_else(|| untrusted(root?, P::KIND, files))
        .or_else(|| Some((EntryState::Disabled, vec![content?.parsed.disabled()?])))
}

impl<P: Definition> Entry for Defined<P> {
    const KIND: EntryKind = P::KIND;
    const NAME_COLLISION: Code = P::COLLISION;

    fn root(&self) -> usize {
        self.root
    }

    fn files(&self) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
        let others = self.also_at.iter().map(|place| (place.root, &place.path));
        let places = std::iter::once((self.root, &self.path)).chain(others);
        places.map(|(root, path)| (root, Cow::Borrowed(path.as_str())))
    }

    fn ids<'a>(&'a self, _: &'a [Self]) -> impl Iterator<Item = (usize, Cow<'a, str>)> {
        let id = |path| Cow::Borrowed(self.member.as_deref().unwrap_or_else(|| P::id(path)));
        let others = self.also_at.iter().map(|place| (place.root, &place.path));
        let places = std::iter::once((self.root, &self.path)).chain(others);
        places.map(move |(root, path)| (root, id(path)))
    }

    fn short_id(&self) -> Option<&str> {
        // In a file that defines several, the name of the file is the name of none of them.
        self.member.is_none().then(|| P::stem(&self.path))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Option<&str> {
        self.content.as_ref()?.parsed.description()
    }

    fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter()
    }

    fn aliases(&self) -> &[String] {
        let content = self.content.as_ref();
        content.map_or(&[], |content| content.parsed.aliases())
    }

    fn strength(&self) -> u8 {
        P::strength(&self.path)
    }

    fn generated_from(&self) -> Option<&str> {
        self.content.as_ref()?.parsed.generated_from()
    }

    verdict_of_fields!();

    fn digest_fields(&self, field: &mut impl FnMut(&[u8])) {
        field(self.path.as_bytes());
        for finding in &self.diagnostics {
            field(finding.message.as_bytes());
        }
        if let Some(content) = &self.content {
            field(content.digest.as_bytes());
            // Only the fields of an overridden definition differ from its file, and few are overridden.
            if !self.overridden.is_empty() {
                field(content.parsed.fields_text().as_bytes());
                let text = self.own_text.as_ref().map(|own| own.text.as_str());
                field(text.unwrap_or_default().as_bytes());
            }
        }
    }
}

impl<P> Candidate for DefinitionCandidate<P> {
    fn root(&self) -> usize {
        self.root
    }

    fn set_root(&mut self, root: usize) {
        self.root = root;
    }

    fn in_order(&self, other: &Self) -> Ordering {
        (&self.path, &self.member).cmp(&(&other.path, &other.member))
    }

    fn file(&self) -> Option<(u64, u64)> {
        self.file
    }

    fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }
}
