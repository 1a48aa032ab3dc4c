//! Files that define agents and chains on disk: walked, read, and read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::definitions::{Defined, Definition, DefinitionCandidate, DefinitionContent};
use grove_catalog::hosts::FoldersEntered;
use grove_catalog::state::EntryState;
use grove_fs::Stamp;
use grove_fs::document_walk::{self, DocumentOptions, DocumentReader, Documents, WalkedDocument};
use grove_fs::probe_walk::{LimitsHit, LinkRule, WalkProblem, WalkTrouble};
use grove_fs::stamp::now;
use grove_spec::agent::AgentFormat;
use grove_spec::agent::formats::NamedFiles;
use grove_spec::skill::file_limit::too_large;
use grove_spec::text::{counted, first_names};
use grove_spec::{Code, Diagnostic};

use crate::loading::unopened;
use crate::named_files;
use crate::planning::{PlannedRoot, RootPlan};
use crate::troubles;

const MAX_FILES: usize = 2_000;
const MAX_FOLDERS: usize = 2_000;
const MAX_ENTRIES: usize = 100_000;

/// Folders that hold something else.
const NEVER: [&str; 2] = ["node_modules", "skills"];
/// The entries that make a folder a skill or a project of its own.
const FOREIGN: [&str; 5] = ["SKILL.md", ".git", ".grove", ".pi", ".agents"];

pub(crate) struct DefinitionFileKind<P> {
    pub(crate) noun: &'static str,
    pub(crate) wanted: fn(AgentFormat) -> fn(&str) -> bool,
    /// The definitions in a file of this path; each has a name where a file may define several. The last argument is
    /// the files that it names.
    pub(crate) parse: fn(AgentFormat, &str, &[u8], &NamedFiles) -> InFile<P>,
    /// Returns true if a file is meant as a definition; the flag is set for the folder that hosts share.
    pub(crate) counts: fn(&DefinitionFile<P>, AgentFormat, bool) -> bool,
    /// The finding about a file that does not count; the flag is as above.
    pub(crate) left_out: fn(&DefinitionFile<P>, bool) -> Option<Diagnostic>,
    pub(crate) note: fn(&P, &str) -> Option<Diagnostic>,
}

pub(crate) type InFile<P> = Vec<(Option<String>, P)>;

/// A file of a kind as a walk gives it.
pub(crate) type DefinitionFile<P> = WalkedDocument<Arc<DefinitionFileContent<P>>>;

#[derive(Debug, Clone)]
pub(crate) struct DefinitionFileContent<P> {
    digest: Digest,
    size: u64,
    pub(crate) found: InFile<P>,
    named: NamedFiles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadBounds {
    pub(crate) max_bytes: u64,
    pub(crate) max_depth: usize,
    pub(crate) folders: FoldersEntered,
}

/// The roots of one kind and the definitions in them; the content of roots is shared.
#[derive(Debug, Clone)]
pub(crate) struct FoundDefinitions<P> {
    pub(crate) planned: Vec<PlannedRoot>,
    pub(crate) roots: Vec<Arc<DefinitionsOfRoot<P>>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

pub(crate) struct SeenDefinitionFile {
    pub(crate) path: String,
    pub(crate) digest: Digest,
    pub(crate) findings: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct DefinitionsOfRoot<P> {
    /// The candidates, each with root number zero: a root does not know its place among other roots.
    candidates: Vec<DefinitionCandidate<P>>,
    /// Files that settings name as the rest of what they define.
    named: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
}

/// The memory of a library that discovers again and again: the files of one kind.
#[derive(Debug)]
pub(crate) struct DefinitionMemory<P> {
    roots: BTreeMap<(PathBuf, bool), DefinitionRootMemory<P>>,
    /// The roots that were looked in, those that are not there included.
    planned: Vec<PathBuf>,
}

impl<P> DefinitionMemory<P> {
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.planned
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().flat_map(|((root, _), known)| {
            let below = known.folders.iter();
            below.map(move |below| root.join(below))
        })
    }

    /// The files that were read because they are named: by the one who named a root, and by files of it.
    pub(crate) fn named_files(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().flat_map(|((root, is_named), known)| {
            let own = known.files.keys().filter(|_| *is_named);
            let own = own.map(move |file| root.join(file));
            let contents = known.files.values().map(|file| &file.content);
            let named = contents.flat_map(|content| content.named.values());
            own.chain(named.map(|file| file.path.clone()))
        })
    }
}

impl<P> Default for DefinitionMemory<P> {
    fn default() -> Self {
        Self {
            roots: BTreeMap::new(),
            planned: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct DefinitionRootMemory<P> {
    /// The files by path, in the version that was read.
    files: BTreeMap<String, KnownDefinitionFile<P>>,
    /// The way it was looked at; `problems` and `limits` were in the way.
    options: RootReadOptions,
    problems: Vec<WalkProblem>,
    limits: LimitsHit,
    folders: Vec<String>,
    found: Arc<DefinitionsOfRoot<P>>,
}

#[derive(Debug)]
struct KnownDefinitionFile<P> {
    stamp: Stamp,
    read_at: i64,
    content: Arc<DefinitionFileContent<P>>,
}

#[derive(Debug, Clone, PartialEq)]
struct RootReadOptions {
    planned: PlannedRoot,
    /// Roots in it that are looked at by themselves.
    inner: Vec<String>,
    is_shared: bool,
    bounds: ReadBounds,
}

impl<P: Definition + Clone + Send + Sync> DefinitionFileKind<P> {
    /// Looks in the roots of a plan. A folder with roots in it is shared with other things, and so is any other that
    /// `is_shared` names. Files that are remembered are not read again.
    pub(crate) fn discover(
        &self,
        plan: RootPlan,
        bounds: ReadBounds,
        is_shared: impl Fn(&PlannedRoot) -> bool,
        mut memory: Option<&mut DefinitionMemory<P>>,
    ) -> FoundDefinitions<P> {
        let all = plan.roots;
        let planned: Vec<PlannedRoot> = all.iter().filter(|root| root.exists).cloned().collect();
        let mut known = memory
            .as_deref_mut()
            .map(|memory| std::mem::take(&mut memory.roots));
        if let Some(memory) = memory.as_deref_mut() {
            memory.planned = all.iter().map(|it| it.root.path.clone()).collect();
        }
        let mut roots = Vec::with_capacity(planned.len());
        for planned in &planned {
            let inner = roots_in(planned, &all);
            let options = RootReadOptions {
                is_shared: !inner.is_empty() || is_shared(planned),
                planned: planned.clone(),
                inner,
                bounds,
            };
            let key = (planned.root.path.clone(), planned.files.is_some());
            let last = known.as_mut().and_then(|known| known.remove(&key));
            let (found, remembered) = self.discover_in_root(options, last, memory.is_some());
            roots.push(found);
            if let (Some(memory), Some(root)) = (memory.as_deref_mut(), remembered) {
                memory.roots.insert(key, root);
            }
        }
        FoundDefinitions {
            planned,
            roots,
            diagnostics: plan.diagnostics,
        }
    }
}

impl<P: Clone> FoundDefinitions<P> {
    /// All findings, all candidates with their roots, and the files that settings name as the rest of what they define.
    pub(crate) fn into_parts(
        self,
    ) -> (
        Vec<PlannedRoot>,
        Vec<DefinitionCandidate<P>>,
        Vec<PathBuf>,
        Vec<Diagnostic>,
    ) {
        let mut diagnostics = self.diagnostics;
        let (mut candidates, mut named) = (Vec::new(), Vec::new());
        for (root, found) in self.roots.into_iter().enumerate() {
            // Only a library that discovers again keeps what was found; then it has to be copied.
            let found = Arc::try_unwrap(found).unwrap_or_else(|found| (*found).clone());
            diagnostics.extend(found.diagnostics);
            named.extend(found.named);
            let of_root = found.candidates.into_iter();
            candidates.extend(of_root.map(|candidate| DefinitionCandidate { root, ..candidate }));
        }
        (self.planned, candidates, named, diagnostics)
    }

    /// Returns true if nothing changed, as far as can be known without comparing the content of the roots.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut roots = self.roots.iter().zip(&other.roots);
        self.planned == other.planned
            && roots.all(|(a, b)| Arc::ptr_eq(a, b))
            && self.diagnostics == other.diagnostics
    }
}

/// Roots that lie in another one, by path below it: they are looked at by themselves. A folder with one in it is
/// shared with other things.
pub(crate) fn roots_in(planned: &PlannedRoot, all: &[PlannedRoot]) -> Vec<String> {
    let root = &planned.root.path;
    let folders = all
        .iter()
        .filter(|other| planned.files.is_none() && other.files.is_none());
    let inner = folders.filter_map(|other| other.root.path.strip_prefix(root).ok());
    inner
        .filter(|below| !below.as_os_str().is_empty())
        .map(|below| below.to_string_lossy().into_owned())
        .collect()
}

impl<P: Definition + Clone + Send + Sync> DefinitionFileKind<P> {
    pub(crate) fn seen_files(
        &self,
        planned: &PlannedRoot,
        inner: &[String],
        bounds: &ReadBounds,
        findings: fn(&P) -> Vec<String>,
    ) -> Vec<SeenDefinitionFile> {
        let options = RootReadOptions {
            planned: planned.clone(),
            inner: inner.to_vec(),
            is_shared: !inner.is_empty(),
            bounds: *bounds,
        };
        let (found, _) = self.discover_in_root(options, None, false);
        let mut seen = Vec::new();
        for candidate in &found.candidates {
            if let Ok(content) = &candidate.content {
                let files = content.files(&candidate.path);
                seen.extend(files.map(|(path, digest)| SeenDefinitionFile {
                    path: path.to_owned(),
                    digest: *digest,
                    findings: findings(&content.parsed),
                }));
            }
        }
        seen
    }

    pub(crate) fn untrusted(&self, all: &[Defined<P>]) -> Option<Diagnostic> {
        let untrusted = all
            .iter()
            .filter(|defined| defined.state == EntryState::Untrusted);
        let untrusted = untrusted.count();
        let verb = if untrusted == 1 { "is" } else { "are" };
        let message = format!(
            "{} of this project {verb} not used because the project is not trusted",
            counted(untrusted, self.noun)
        );
        (untrusted > 0).then(|| Diagnostic::new(Code::ProjectUntrusted, message))
    }

    /// Looks in one root; gives back what was found the last time if nothing changed, and what is to be remembered.
    fn discover_in_root(
        &self,
        root_options: RootReadOptions,
        last: Option<DefinitionRootMemory<P>>,
        remembers: bool,
    ) -> (Arc<DefinitionsOfRoot<P>>, Option<DefinitionRootMemory<P>>) {
        let planned = &root_options.planned;
        let path = &planned.root.path;
        let not_in: Vec<&str> = root_options.inner.iter().map(String::as_str).collect();
        let (never, foreign): (&[&str], &[&str]) = match root_options.bounds.folders {
            FoldersEntered::Grove => (&NEVER, &FOREIGN),
            FoldersEntered::Visible | FoldersEntered::All => (&[], &[]),
        };
        let options = DocumentOptions {
            links: planned.links(),
            wanted: (self.wanted)(planned.format),
            hidden: root_options.bounds.folders == FoldersEntered::All,
            never,
            foreign,
            not_in: &not_in,
            max_depth: root_options.bounds.max_depth,
            max_folders: MAX_FOLDERS,
            max_entries: MAX_ENTRIES,
            max_files: MAX_FILES,
            max_bytes: root_options.bounds.max_bytes,
        };
        let reader = ContentReader {
            kind: self,
            planned,
            known: last.as_ref().map(|last| &last.files),
        };
        let read_at = now();
        let walk = match &planned.files {
            Some(files) => document_walk::read_files(&planned.folder(), &options, files, &reader),
            None => document_walk::walk(&planned.folder(), &options, &reader),
        };
        let walk = match walk {
            Ok(walk) => walk,
            Err(error) => {
                let found = DefinitionsOfRoot {
                    candidates: Vec::new(),
                    named: Vec::new(),
                    diagnostics: vec![unopened(&error, options.links)],
                };
                return (Arc::new(found), None);
            }
        };
        if last
            .as_ref()
            .is_some_and(|last| last.is_met_again(&root_options, &walk))
            && let Some(last) = last
        {
            let folders = walk.folders;
            return (
                Arc::clone(&last.found),
                Some(DefinitionRootMemory { folders, ..last }),
            );
        }
        let files = remembers.then(|| known_files(&walk, last.as_ref(), read_at));
        let Documents {
            found,
            problems,
            limits,
            folders,
        } = walk;
        let mut diagnostics: Vec<Diagnostic> = problems
            .iter()
            .map(|problem| troubles::problem(path, problem))
            .collect();
        diagnostics.extend(self.limit_findings(path, &limits, &options));
        let (found, left_out): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|document| (self.counts)(document, planned.format, root_options.is_shared));
        diagnostics.extend(left_out.iter().filter_map(|document| {
            let finding = (self.left_out)(document, root_options.is_shared)?;
            Some(finding.in_file(&path.join(&document.path)))
        }));
        let read = found.iter().filter_map(|it| it.content.as_ref().ok());
        let named = read.flat_map(|content| content.named.values());
        let named = named.map(|file| file.path.clone()).collect();
        let found = found.into_iter();
        let candidates = found
            .flat_map(|document| self.candidates(document, options.links, options.max_bytes))
            .collect();
        let found = Arc::new(DefinitionsOfRoot {
            candidates,
            named,
            diagnostics,
        });
        let memory = files.map(|files| DefinitionRootMemory {
            files,
            options: root_options,
            problems,
            limits,
            folders,
            found: Arc::clone(&found),
        });
        (found, memory)
    }

    fn candidates(
        &self,
        document: DefinitionFile<P>,
        links: LinkRule,
        max_bytes: u64,
    ) -> Vec<DefinitionCandidate<P>> {
        let mut diagnostics = Vec::new();
        if links == LinkRule::Contain && document.links > 1 {
            let message = format!("the file has {} hard links", document.links);
            diagnostics.push(Diagnostic::new(Code::HardLink, message));
        }
        let file_name = document.path.rsplit('/').next().unwrap_or_default();
        let candidate =
            |member: Option<String>, content: Result<DefinitionContent<P>, Diagnostic>| {
                let mut diagnostics = diagnostics.clone();
                if let Ok(content) = &content {
                    diagnostics.extend((self.note)(&content.parsed, file_name));
                }
                DefinitionCandidate {
                    root: 0,
                    path: document.path.clone(),
                    member,
                    file: document.stamp.map(|it| (it.id.device, it.id.inode)),
                    content,
                    diagnostics,
                }
            };
        let content = match document.content {
            Ok(content) => content,
            Err(trouble) => {
                let finding = match trouble {
                    WalkTrouble::TooLarge(size) => too_large(size, max_bytes),
                    other => troubles::describe(file_name, &other),
                };
                return vec![candidate(None, Err(finding))];
            }
        };
        let DefinitionFileContent {
            digest,
            size,
            found,
            named,
        } = Arc::try_unwrap(content).unwrap_or_else(|content| (*content).clone());
        let one = |(member, parsed): (Option<String>, P)| {
            let written = parsed.named_file();
            let rest = written.and_then(|written| named_files::rest(digest, &named, written));
            let content = DefinitionContent {
                digest: named_files::digest(digest, rest.as_ref()),
                size,
                rest,
                parsed,
            };
            candidate(member, Ok(content))
        };
        found.into_iter().map(one).collect()
    }

    fn limit_findings(
        &self,
        root: &Path,
        hit: &LimitsHit,
        options: &DocumentOptions<'_>,
    ) -> Vec<Diagnostic> {
        let (noun, files, depth) = (self.noun, options.max_files, options.max_depth);
        let (folders, entries) = (options.max_folders, options.max_entries);
        let names = |names: &[String]| first_names(names);
        let beyond = [
            format!(
                "more than {files} {noun} files; not read: {}",
                names(&hit.candidates)
            ),
            format!(
                "folders below {depth} levels were not walked: {}",
                names(&hit.depth)
            ),
            format!(
                "more than {folders} folders; not opened: {}",
                names(&hit.folders)
            ),
            format!(
                "more than {entries} entries in a folder: {}",
                names(&hit.entries)
            ),
        ];
        troubles::limit_findings(root, hit, beyond)
    }
}

struct ContentReader<'a, P> {
    kind: &'a DefinitionFileKind<P>,
    planned: &'a PlannedRoot,
    known: Option<&'a BTreeMap<String, KnownDefinitionFile<P>>>,
}

impl<P: Send + Sync> DocumentReader for ContentReader<'_, P> {
    type Item = Arc<DefinitionFileContent<P>>;

    fn knows_any(&self) -> bool {
        self.known.is_some_and(|known| !known.is_empty())
    }

    fn known(&self, path: &str, stamp: &Stamp) -> Option<Self::Item> {
        let known = self.known?.get(path)?;
        // The stamp of a file proves nothing about the other files that it names.
        let is_proof = known.stamp == *stamp
            && stamp.settled_before(known.read_at)
            && known.content.named.is_empty();
        is_proof.then(|| Arc::clone(&known.content))
    }

    fn read(&self, path: &str, bytes: &[u8]) -> Self::Item {
        let named = named_files::read(self.planned, bytes);
        let digest = named_files::own_digest(self.planned, bytes, &named);
        let known = self.known.and_then(|known| known.get(path));
        let same = known.filter(|it| it.content.digest == digest && it.content.named == named);
        if let Some(known) = same {
            return Arc::clone(&known.content);
        }
        Arc::new(DefinitionFileContent {
            digest,
            size: bytes.len() as u64,
            found: (self.kind.parse)(self.planned.format, path, bytes, &named),
            named,
        })
    }
}

impl<P> DefinitionRootMemory<P> {
    /// Returns true if a walk met the same files, unchanged, at the same paths and nothing else.
    fn is_met_again(
        &self,
        options: &RootReadOptions,
        walk: &Documents<Arc<DefinitionFileContent<P>>>,
    ) -> bool {
        let is_known = |document: &DefinitionFile<P>| {
            let known = self.files.get(&document.path);
            known.is_some_and(|known| {
                let content = document.content.as_ref();
                content.is_ok_and(|content| Arc::ptr_eq(content, &known.content))
                    && document.stamp == Some(known.stamp)
            })
        };
        self.options == *options
            && self.problems == walk.problems
            && self.limits == walk.limits
            && self.files.len() == walk.found.len()
            && walk.found.iter().all(is_known)
    }
}

fn known_files<P>(
    walk: &Documents<Arc<DefinitionFileContent<P>>>,
    last: Option<&DefinitionRootMemory<P>>,
    read_at: i64,
) -> BTreeMap<String, KnownDefinitionFile<P>> {
    let known = |document: &DefinitionFile<P>| {
        let content = document.content.as_ref().ok()?;
        let stamp = document.stamp?;
        let before = last.and_then(|last| last.files.get(&document.path));
        let before = before.filter(|it| it.stamp == stamp && Arc::ptr_eq(&it.content, content));
        let file = KnownDefinitionFile {
            stamp,
            read_at: before.map_or(read_at, |before| before.read_at),
            content: Arc::clone(content),
        };
        Some((document.path.clone(), file))
    };
    walk.found.iter().filter_map(known).collect()
}

/// Returns true if bytes are those that a definition of a root was read from, with all files that they name.
pub(crate) fn is_unchanged<P>(
    planned: &PlannedRoot,
    content: &DefinitionContent<P>,
    bytes: &[u8],
) -> bool {
    let named = named_files::read(planned, bytes);
    let own = named_files::own_digest(planned, bytes, &named);
    let rest = content.rest.as_ref();
    let rest = rest.and_then(|rest| named_files::rest(own, &named, &rest.written));
    named_files::digest(own, rest.as_ref()) == content.digest
}
