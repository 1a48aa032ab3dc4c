//! Files that define agents and chains on disk: walked, read, and read again.

use std::path::{Path, PathBuf};

use grove_catalog::definitions::{Candidate, Content, Defined, Definition};
use grove_catalog::state::State;
use grove_catalog::{Digest, Root};
use grove_fs::document_walk::{self, Document, DocumentOptions, Documents};
use grove_fs::probe_walk::{self, LimitsHit, Links, Trouble};
use grove_spec::agent::Format;
use grove_spec::agent::formats::NamedFiles;
use grove_spec::package::Kind;
use grove_spec::skill::kept::too_large;
use grove_spec::text::{counted, first_names};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::loading::unopened;
use crate::named_files;
use crate::planning::{self, Plan, PlannedRoot};
use crate::project::Project;
use crate::scope::Scope;
use crate::settings::LoadedSettings;
use crate::{troubles, trusting};

/// Files of one kind that are read in one root.
const MAX_FILES: usize = 2_000;
/// Folders that are opened in one root.
const MAX_FOLDERS: usize = 2_000;
/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Folders that hold something else.
const NEVER: [&str; 2] = ["node_modules", "skills"];
/// What makes a folder a skill or a project of its own.
const FOREIGN: [&str; 5] = ["SKILL.md", ".git", ".grove", ".pi", ".agents"];

/// How files of one kind are told and read.
pub(crate) struct FileKind<P> {
    /// What one of them defines.
    pub(crate) noun: &'static str,
    /// How a file is told by its name, where files of a root are written so.
    pub(crate) wanted: fn(Format) -> fn(&str) -> bool,
    /// What a file of this path says, of each that it defines; a name where it may define several. The last are
    /// the files that it names.
    pub(crate) parse: fn(Format, &str, &[u8], &NamedFiles) -> InFile<P>,
    /// Whether a file means to be one; the flag is for the folder that hosts share.
    pub(crate) counts: fn(&Document<FileContent<P>>, Format, bool) -> bool,
    /// What is said of a file that does not count; the flag is as above.
    pub(crate) left_out: fn(&Document<FileContent<P>>, bool) -> Option<Diagnostic>,
    /// What is said because of the file's name.
    pub(crate) note: fn(&P, &str) -> Option<Diagnostic>,
}

/// What a file defines, with a name where it may define several.
pub(crate) type InFile<P> = Vec<(Option<String>, P)>;

/// What is in a file.
pub(crate) struct FileContent<P> {
    digest: Digest,
    size: u64,
    pub(crate) found: InFile<P>,
    /// The files that it names.
    named: NamedFiles,
}

/// How much of a root is read.
pub(crate) struct Bounds {
    pub(crate) max_bytes: u64,
    pub(crate) max_depth: usize,
}

/// What was found in roots.
pub(crate) struct InRoots<P> {
    /// The roots that are there.
    pub(crate) planned: Vec<PlannedRoot>,
    pub(crate) candidates: Vec<Candidate<P>>,
    /// Files that settings name as the rest of what they define.
    pub(crate) named: Vec<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// What a search found, and by what it looked.
pub(crate) struct Searched<P> {
    pub(crate) found: InRoots<P>,
    /// The settings in force, without their findings.
    pub(crate) settings: LoadedSettings,
    /// The project, unless folders were given.
    pub(crate) project: Option<Project>,
}

impl Bounds {
    /// Looks everywhere in a scope, or in exactly these folders as trusted user roots.
    pub(crate) fn search<P: Definition + Send>(
        kind: Kind,
        files: &FileKind<P>,
        environment: &Environment,
        folders: &[PathBuf],
        scope: Scope,
    ) -> Searched<P> {
        let store = trusting::store(environment);
        let project = folders.is_empty().then(|| Project::find(environment));
        let mut loaded = LoadedSettings::load(environment, project.as_ref(), &store);
        let plan = match &project {
            Some(project) => {
                let mut plan =
                    planning::own(kind, environment, &loaded.settings, project, &store, scope);
                plan.roots.retain(|planned| scope.has(planned));
                plan
            }
            None => planning::exactly(folders),
        };
        let limits = &loaded.settings.limits;
        let bounds = Self {
            max_bytes: limits.file_bytes.value,
            max_depth: usize::try_from(limits.group_depth.value).unwrap_or(usize::MAX),
        };
        let diagnostics = std::mem::take(&mut loaded.diagnostics);
        Searched {
            found: bounds.search_in(files, plan, diagnostics, |_| false),
            settings: loaded,
            project,
        }
    }

    /// Looks in the roots of a plan. A folder with roots in it is shared with other things, and so is whatever
    /// else `is_shared` names.
    pub(crate) fn search_in<P: Definition + Send>(
        &self,
        files: &FileKind<P>,
        plan: Plan,
        mut diagnostics: Vec<Diagnostic>,
        is_shared: impl Fn(&PlannedRoot) -> bool,
    ) -> InRoots<P> {
        diagnostics.extend(plan.diagnostics);
        let all = plan.roots;
        let planned: Vec<PlannedRoot> = all.iter().filter(|root| root.exists).cloned().collect();
        let (mut candidates, mut named) = (Vec::new(), Vec::new());
        for (root, planned) in planned.iter().enumerate() {
            let inner = roots_in(planned, &all);
            let is_shared = !inner.is_empty() || is_shared(planned);
            let mut loaded = files.load_root(planned, &inner, is_shared, self);
            diagnostics.append(&mut loaded.diagnostics);
            named.append(&mut loaded.named);
            let loaded = loaded.candidates;
            candidates.extend(
                loaded
                    .into_iter()
                    .map(|loaded| Candidate { root, ..loaded }),
            );
        }
        InRoots {
            planned,
            candidates,
            named,
            diagnostics,
        }
    }
}

/// A file as it was seen.
pub(crate) struct SeenFile {
    /// Its path from the root.
    pub(crate) path: String,
    pub(crate) digest: Digest,
    pub(crate) findings: Vec<String>,
}

/// What was found in one root.
struct InRoot<P> {
    candidates: Vec<Candidate<P>>,
    named: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
}

impl<P> Default for InRoot<P> {
    fn default() -> Self {
        Self {
            candidates: Vec::new(),
            named: Vec::new(),
            diagnostics: Vec::new(),
        }
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

impl<P: Definition + Send> FileKind<P> {
    /// The files of one root, for whoever remembers what was seen, with what `findings` says of each.
    pub(crate) fn seen_files(
        &self,
        planned: &PlannedRoot,
        inner: &[String],
        bounds: &Bounds,
        findings: fn(&P) -> Vec<String>,
    ) -> Vec<SeenFile> {
        let found = self.load_root(planned, inner, !inner.is_empty(), bounds);
        let mut seen = Vec::new();
        for candidate in &found.candidates {
            if let Ok(content) = &candidate.content {
                let files = content.files(&candidate.path);
                seen.extend(files.map(|(path, digest)| SeenFile {
                    path: path.to_owned(),
                    digest: *digest,
                    findings: findings(&content.parsed),
                }));
            }
        }
        seen
    }

    /// What is said when a project's are not used.
    pub(crate) fn untrusted(&self, all: &[Defined<P>]) -> Option<Diagnostic> {
        let untrusted = all
            .iter()
            .filter(|defined| defined.state == State::Untrusted);
        let untrusted = untrusted.count();
        let verb = if untrusted == 1 { "is" } else { "are" };
        let message = format!(
            "{} of this project {verb} not used because the project is not trusted",
            counted(untrusted, self.noun)
        );
        (untrusted > 0).then(|| Diagnostic::new(Code::ProjectUntrusted, message))
    }

    fn load_root(
        &self,
        planned: &PlannedRoot,
        inner: &[String],
        is_shared: bool,
        bounds: &Bounds,
    ) -> InRoot<P> {
        let mut in_root = InRoot::default();
        let diagnostics = &mut in_root.diagnostics;
        let path = &planned.root.path;
        let not_in: Vec<&str> = inner.iter().map(String::as_str).collect();
        let options = DocumentOptions {
            links: planned.links(),
            wanted: (self.wanted)(planned.format),
            never: &NEVER,
            foreign: &FOREIGN,
            not_in: &not_in,
            max_depth: bounds.max_depth,
            max_folders: MAX_FOLDERS,
            max_entries: MAX_ENTRIES,
            max_files: MAX_FILES,
            max_bytes: bounds.max_bytes,
        };
        let read = |path: &str, bytes: &[u8]| self.content(planned, path, bytes);
        let walk = match &planned.files {
            Some(files) => document_walk::read_files(&planned.folder(), &options, files, read),
            None => document_walk::walk(&planned.folder(), &options, read),
        };
        let walk = match walk {
            Ok(walk) => walk,
            Err(error) => {
                diagnostics.push(unopened(&error, options.links));
                return in_root;
            }
        };
        let Documents {
            found,
            problems,
            limits,
        } = walk;
        diagnostics.extend(
            problems
                .iter()
                .map(|problem| troubles::problem(path, problem)),
        );
        diagnostics.extend(self.limits_said(path, &limits, &options));
        let (found, left_out): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|document| (self.counts)(document, planned.format, is_shared));
        diagnostics.extend(left_out.iter().filter_map(|document| {
            let finding = (self.left_out)(document, is_shared)?;
            Some(finding.in_file(&path.join(&document.path)))
        }));
        let read = found.iter().filter_map(|it| it.content.as_ref().ok());
        let named = read.flat_map(|content| content.named.values());
        in_root.named = named.map(|file| file.path.clone()).collect();
        let found = found.into_iter();
        in_root.candidates = found
            .flat_map(|document| self.candidates(document, options.links, bounds.max_bytes))
            .collect();
        in_root
    }

    fn content(&self, planned: &PlannedRoot, path: &str, bytes: &[u8]) -> FileContent<P> {
        let named = named_files::read(planned, bytes);
        FileContent {
            digest: named_files::own_digest(planned, bytes, &named),
            size: bytes.len() as u64,
            found: (self.parse)(planned.format, path, bytes, &named),
            named,
        }
    }

    fn candidates(
        &self,
        document: Document<FileContent<P>>,
        links: Links,
        max_bytes: u64,
    ) -> Vec<Candidate<P>> {
        let mut diagnostics = Vec::new();
        if links == Links::Contain && document.links > 1 {
            let message = format!("the file has {} hard links", document.links);
            diagnostics.push(Diagnostic::new(Code::HardLink, message));
        }
        let file_name = document.path.rsplit('/').next().unwrap_or_default();
        let candidate = |member: Option<String>, content: Result<Content<P>, Diagnostic>| {
            let mut diagnostics = diagnostics.clone();
            if let Ok(content) = &content {
                diagnostics.extend((self.note)(&content.parsed, file_name));
            }
            Candidate {
                root: 0,
                path: document.path.clone(),
                member,
                file: document.id.map(|id| (id.device, id.inode)),
                content,
                diagnostics,
            }
        };
        let content = match document.content {
            Ok(content) => content,
            Err(trouble) => {
                let finding = match trouble {
                    Trouble::TooLarge { size } => too_large(size, max_bytes),
                    other => troubles::describe(file_name, &other),
                };
                return vec![candidate(None, Err(finding))];
            }
        };
        let FileContent {
            digest,
            size,
            found,
            named,
        } = content;
        let one = |(member, parsed): (Option<String>, P)| {
            let written = parsed.named_file();
            let rest = written.and_then(|written| named_files::rest(digest, &named, written));
            let content = Content {
                digest: named_files::digest(digest, rest.as_ref()),
                size,
                rest,
                parsed,
            };
            candidate(member, Ok(content))
        };
        found.into_iter().map(one).collect()
    }

    fn limits_said(
        &self,
        root: &Path,
        hit: &LimitsHit,
        options: &DocumentOptions<'_>,
    ) -> Vec<Diagnostic> {
        let (noun, files) = (self.noun, options.max_files);
        let beyond = [
            (
                Code::CandidateLimit,
                &hit.candidates,
                format!("more than {files} {noun} files; not read"),
            ),
            (
                Code::DepthLimit,
                &hit.depth,
                format!("folders below {} levels were not walked", options.max_depth),
            ),
            (
                Code::FolderLimit,
                &hit.folders,
                format!("more than {} folders; not opened", options.max_folders),
            ),
            (
                Code::EntryLimit,
                &hit.entries,
                format!("more than {} entries in a folder", options.max_entries),
            ),
        ];
        beyond
            .into_iter()
            .filter(|(_, names, _)| !names.is_empty())
            .map(|(code, names, message)| {
                let message = format!("{message}: {}", first_names(names));
                Diagnostic::new(code, message)
                    .in_file(root)
                    .with_names(names.clone())
            })
            .collect()
    }
}

/// Where definitions were found.
pub(crate) struct Located<'a> {
    pub(crate) roots: &'a [Root],
    pub(crate) planned: &'a [PlannedRoot],
}

impl Located<'_> {
    /// The text of a file if it is still the one that was judged.
    ///
    /// Read beneath the root as the walk does: a path that leads elsewhere by now must not be quoted.
    pub(crate) fn source<P>(&self, defined: &Defined<P>) -> Option<String> {
        String::from_utf8(self.bytes(defined)?).ok()
    }

    /// The same as bytes, which need not be UTF-8.
    pub(crate) fn bytes<P>(&self, defined: &Defined<P>) -> Option<Vec<u8>> {
        let content = defined.content.as_ref()?;
        let label = &self.roots.get(defined.root)?.label;
        let mut planned = self.planned.iter();
        let planned = planned.find(|known| known.root.label == *label)?;
        let read = probe_walk::read_below(
            &planned.folder(),
            planned.links(),
            &defined.path,
            content.size,
        );
        let bytes = read.ok()?;
        let named = named_files::read(planned, &bytes);
        let own = named_files::own_digest(planned, &bytes, &named);
        let rest = content
            .rest
            .as_ref()
            .and_then(|rest| named_files::rest(own, &named, &rest.written));
        (named_files::digest(own, rest.as_ref()) == content.digest).then_some(bytes)
    }
}
