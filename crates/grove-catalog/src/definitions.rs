//! Files that define something with a name: agents and chains. Who is called what, which of several wins, whether
//! it may be used and why not.
//!
//! The same ladder and the same trust as for skills. Rank is applied among usable definitions only; losers stay
//! visible with their reason and with what stands in for them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use grove_spec::package::Kind;
use grove_spec::skill::name_key;
use grove_spec::{Code, Diagnostic};

use crate::address::near_names;
use crate::digest::{Digest, append_field};
use crate::overrides::{Overridden, OwnText};
use crate::rank;
use crate::root::Root;
use crate::state::{Reason, State};
use crate::trust;

/// What a file of some kind says, as far as these rules ask.
pub trait Definition {
    /// What it is.
    const KIND: Kind;

    /// The finding about two of one name in one root.
    const COLLISION: Code;

    /// What was found in it.
    fn diagnostics(&self) -> &[Diagnostic];

    /// What it is called, with its package.
    fn runtime_name(&self, file_name: &str) -> String;

    /// A file's name or path without its ending.
    fn stem(path: &str) -> &str;

    /// What tells it from every other file of its root.
    fn id(path: &str) -> &str {
        Self::stem(path)
    }

    /// The other file that says the rest, by its path as it is written.
    fn named_file(&self) -> Option<&str> {
        None
    }

    /// Other names it answers to.
    fn aliases(&self) -> &[String] {
        &[]
    }

    /// Which files go first in one scope, whatever their folders; smaller is stronger.
    fn strength(_path: &str) -> u8 {
        0
    }

    /// Why its own file switches it off, if it does.
    fn disabled(&self) -> Option<Reason> {
        None
    }

    /// The address of what Grove wrote its file from, if it did.
    fn generated_from(&self) -> Option<&str> {
        None
    }
}

/// A file as it enters resolution.
#[derive(Debug, Clone)]
pub struct Candidate<P> {
    /// Index of its root.
    pub root: usize,
    /// Its path below the root.
    pub path: String,
    /// Its name in the file, where a file holds several.
    pub member: Option<String>,
    /// Device and inode, if it could be opened.
    pub file: Option<(u64, u64)>,
    /// What it says, or why it could not be read.
    pub content: Result<Content<P>, Diagnostic>,
    /// Findings that come from where it is.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content<P> {
    /// The digest of its bytes, and of those of the other file that says the rest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The other file that says the rest, where it names one.
    pub rest: Option<Rest>,
    /// Its fields and findings. After resolution an agent's fields are those in force, overrides included.
    pub parsed: P,
}

/// A file that says the rest of what another one defines, and has its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Where it is.
    pub path: PathBuf,
    /// Its path from the root, as the other file writes it.
    pub written: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The digest of the bytes of the file that names it.
    pub named_in: Digest,
}

impl<P> Content<P> {
    /// Each file that it is made of, by path from the root, with its digest. `path` is that of its own file.
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
    pub also_at: Vec<PathBuf>,
    /// What it is called: `package.name`.
    pub name: String,
    /// What its file says; none when it could not be read.
    pub content: Option<Content<P>>,
    /// Whether it may be used.
    pub state: State,
    /// Why it is in that state; empty for `ok`.
    pub reasons: Vec<Reason>,
    /// The usable one of the same name that is used instead.
    pub stand_in: Option<usize>,
    /// Everything that was found about it.
    pub diagnostics: Vec<Diagnostic>,
    /// The fields that are not as its file has them, and who set each. Agents alone can be overridden.
    pub overridden: Vec<Overridden>,
    /// The text that stands in place of the one below an agent's frontmatter.
    pub own_text: Option<OwnText>,
}

impl<P: Definition> Defined<P> {
    /// What tells it from every other of its root: for an agent its path without the ending, or its name in a
    /// file that holds several.
    pub fn id(&self) -> &str {
        match &self.member {
            Some(member) => member,
            None => P::id(&self.path),
        }
    }

    /// The address of what Grove wrote its file from, if it did.
    pub fn generated_from(&self) -> Option<&str> {
        self.content.as_ref()?.parsed.generated_from()
    }
}

/// What a name leads to. Indexes are into the list that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This one; it may be unusable.
    One(usize),
    /// None; these names are near.
    None {
        /// Up to three names that are spelled nearly so.
        near: Vec<String>,
    },
}

/// Decides the state of every candidate. Roots come back strongest first, and candidates by root and path.
pub fn resolve<P: Definition>(
    roots: Vec<Root>,
    candidates: Vec<Candidate<P>>,
) -> (Vec<Root>, Vec<Defined<P>>) {
    resolve_with(Eyes::Own, roots, candidates, |_, _| ())
}

/// By whose rules one is chosen among several of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    /// Grove's.
    Own,
    /// Another host's.
    Host,
}

/// The same with something that changes definitions, or switches them off, before they are ranked.
pub fn resolve_with<P: Definition>(
    eyes: Eyes,
    mut roots: Vec<Root>,
    candidates: Vec<Candidate<P>>,
    change: impl FnOnce(&mut [Defined<P>], &[Root]),
) -> (Vec<Root>, Vec<Defined<P>>) {
    let given: Vec<String> = roots.iter().map(|root| root.label.clone()).collect();
    roots.sort_by(rank::stronger_first);
    let place = |root: usize| {
        let label = given.get(root)?;
        roots.iter().position(|known| known.label == *label)
    };
    let mut sorted: Vec<(usize, Candidate<P>)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((place(candidate.root)?, candidate)))
        .collect();
    sorted.sort_by(|a, b| (a.0, &a.1.path, &a.1.member).cmp(&(b.0, &b.1.path, &b.1.member)));
    let mut all: Vec<Defined<P>> = Vec::with_capacity(sorted.len());
    let mut files: BTreeMap<((u64, u64), Option<String>), usize> = BTreeMap::new();
    for (root, candidate) in sorted {
        let Some(planned) = roots.get(root) else {
            continue;
        };
        // One file reached twice is one definition with several locations.
        let file = candidate.file.map(|file| (file, candidate.member.clone()));
        if let Some(first) = file.as_ref().and_then(|file| files.get(file).copied())
            && let Some(known) = all.get_mut(first)
        {
            known.also_at.push(planned.path.join(&candidate.path));
            continue;
        }
        if let Some(file) = file {
            files.insert(file, all.len());
        }
        all.push(judge(planned, root, candidate));
    }
    change(&mut all, &roots);
    shadow(&mut all, &roots, eyes == Eyes::Own);
    (roots, all)
}

/// One definition by itself: read, then trusted.
fn judge<P: Definition>(planned: &Root, root: usize, candidate: Candidate<P>) -> Defined<P> {
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
            diagnostics.extend(content.parsed.diagnostics().iter().cloned());
            content.parsed.runtime_name(file_name)
        }
        None => P::stem(file_name).to_owned(),
    };
    for finding in &mut diagnostics {
        finding.file.get_or_insert_with(|| location.clone());
    }
    let judged = match &content {
        // Each file was seen by itself, so that a change is said of the file that changed.
        Some(content) => content
            .files(&candidate.path)
            .find_map(|(file, it)| trust::judge(&planned.trust, file, Some(it), Some(P::KIND))),
        None => trust::judge(&planned.trust, &candidate.path, None, Some(P::KIND)),
    };
    let fault = diagnostics.iter().find(|finding| finding.is_error());
    let (state, reasons) = match fault {
        Some(fault) => {
            let reason = Reason::new(fault.code.as_str(), &*fault.message, fault.help_text());
            (State::Invalid, vec![reason])
        }
        None => match judged {
            Some((state, reason)) => (state, vec![reason]),
            None => match content
                .as_ref()
                .and_then(|content| content.parsed.disabled())
            {
                Some(reason) => (State::Disabled, vec![reason]),
                None => (State::Ok, Vec::new()),
            },
        },
    };
    Defined {
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
        overridden: Vec::new(),
        own_text: None,
    }
}

/// The strongest usable one of a name is used; the others are shadowed and say by whom.
///
/// What Grove wrote for a host gives way to what it was made from, wherever the two are, unless it is the
/// host that looks.
fn shadow<P: Definition>(all: &mut [Defined<P>], roots: &[Root], sources_first: bool) {
    let mut winners: BTreeMap<String, usize> = BTreeMap::new();
    let key = |at: usize, defined: &Defined<P>| {
        let standing = roots.get(defined.root).map(|root| &root.standing);
        let scope = standing.map_or((u32::MAX, u32::MAX), |it| (it.step, it.distance));
        (scope, P::strength(&defined.path), at)
    };
    for (at, defined) in all.iter().enumerate() {
        let gives_way = sources_first && has_source(all, roots, defined);
        if defined.state == State::Ok && !gives_way {
            let winner = winners
                .entry(name_key(&defined.name).into_owned())
                .or_insert(at);
            if all
                .get(*winner)
                .is_some_and(|other| key(at, defined) < key(*winner, other))
            {
                *winner = at;
            }
        }
    }
    let locations: Vec<(usize, PathBuf)> = all
        .iter()
        .map(|defined| (defined.root, location(roots, defined)))
        .collect();
    for (at, defined) in all.iter_mut().enumerate() {
        let winner = winners.get(&*name_key(&defined.name)).copied();
        let Some(winner) = winner.filter(|winner| *winner != at) else {
            continue;
        };
        defined.stand_in = Some(winner);
        if defined.state != State::Ok {
            continue;
        }
        defined.state = State::Shadowed;
        let Some((root, location)) = locations.get(winner) else {
            continue;
        };
        let message = format!("{} has the same name and is used", location.display());
        defined.reasons.push(Reason::new(
            "shadowed",
            message.as_str(),
            "rename one of them, or call this one as id@root",
        ));
        if *root == defined.root {
            let own = locations.get(at).map(|(_, own)| own.clone());
            let finding = Diagnostic::new(P::COLLISION, message);
            defined
                .diagnostics
                .push(finding.in_file(&own.unwrap_or_default()));
        }
    }
}

/// Whether what Grove wrote a file from is there and can be used.
fn has_source<P: Definition>(all: &[Defined<P>], roots: &[Root], made: &Defined<P>) -> bool {
    let Some(from) = made.generated_from() else {
        return false;
    };
    let is_source = |other: &Defined<P>| {
        let label = roots.get(other.root).map_or("", |root| root.label.as_str());
        let rest = from.strip_prefix(other.id());
        rest.and_then(|rest| rest.strip_prefix('@')) == Some(label)
    };
    let mut usable = all.iter().filter(|other| other.state == State::Ok);
    usable.any(|other| is_source(other) && name_key(&other.name) == name_key(&made.name))
}

/// The absolute path of a definition's file.
pub fn location<P>(roots: &[Root], defined: &Defined<P>) -> PathBuf {
    let root = roots.get(defined.root);
    root.map_or_else(PathBuf::new, |root| root.path.join(&defined.path))
}

/// `id@label`, which names exactly one definition.
pub fn address<P: Definition>(roots: &[Root], defined: &Defined<P>) -> String {
    let label = roots.get(defined.root).map_or("", |root| &root.label);
    format!("{}@{label}", defined.id())
}

/// The digest of what a reader can see of definitions: names, places, content with what overrides it, states and their
/// reasons, and findings about roots.
pub(crate) fn digest<P: fmt::Debug>(
    roots: &[Root],
    all: &[Defined<P>],
    diagnostics: &[Diagnostic],
) -> Digest {
    let mut bytes = Vec::with_capacity(all.len() * 128);
    let mut field = |field: &[u8]| append_field(&mut bytes, field);
    for root in roots {
        field(root.label.as_bytes());
        field(root.path.as_os_str().as_encoded_bytes());
    }
    for one in all {
        field(&one.root.to_le_bytes());
        field(one.path.as_bytes());
        field(one.member.as_deref().unwrap_or_default().as_bytes());
        field(one.name.as_bytes());
        field(one.state.as_str().as_bytes());
        for reason in &one.reasons {
            field(reason.code.as_bytes());
            field(reason.message.as_bytes());
        }
        for other in &one.also_at {
            field(other.as_os_str().as_encoded_bytes());
        }
        for finding in &one.diagnostics {
            field(finding.message.as_bytes());
        }
        if let Some(content) = &one.content {
            field(content.digest.as_bytes());
            // What is overridden is not as its file has it, and few are.
            if !one.overridden.is_empty() {
                field(format!("{:?}{:?}", content.parsed, one.own_text).as_bytes());
            }
        }
    }
    for finding in diagnostics {
        field(finding.message.as_bytes());
    }
    Digest::of(&bytes)
}

/// A way in which a name may mean one.
type Way<'a, P> = &'a dyn Fn(&Defined<P>) -> bool;

/// Finds one by address, by name, by one of its aliases, or by id.
///
/// An unusable one is found by its bare name only when nothing usable bears it.
pub fn find<P: Definition>(roots: &[Root], all: &[Defined<P>], query: &str) -> Answer {
    let key = name_key(query);
    let by_name = |defined: &Defined<P>| name_key(&defined.name) == key;
    let by_alias = |defined: &Defined<P>| {
        let content = defined.content.as_ref();
        let aliases = content.map(|content| content.parsed.aliases());
        let mut aliases = aliases.unwrap_or_default().iter();
        aliases.any(|alias| name_key(alias) == key)
    };
    // The name of a file that defines several is nobody's.
    let by_stem = |it: &Defined<P>| it.member.is_none() && P::stem(&it.path) == query;
    let by_id = |defined: &Defined<P>| defined.id() == query || by_stem(defined);
    let usable = |defined: &Defined<P>| defined.state == State::Ok;
    let ways: [Way<'_, P>; 6] = [
        &|defined| query.contains('@') && address(roots, defined) == query,
        &|defined| usable(defined) && by_name(defined),
        &|defined| usable(defined) && by_alias(defined),
        &|defined| usable(defined) && by_id(defined),
        &by_name,
        &by_id,
    ];
    for way in ways {
        if let Some(at) = all.iter().position(way) {
            return Answer::One(at);
        }
    }
    let names = all.iter().map(|defined| defined.name.as_str());
    Answer::None {
        near: near_names(names, query),
    }
}
