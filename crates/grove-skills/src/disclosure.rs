//! Activating, expanding and collapsing on real files, with a session file or without.
//!
//! ```no_run
//! use grove_skills::disclosure::{SkillCall, Disclosure};
//! use grove_skills::{Environment, Library, Rediscover as _, DiscoveryRequest};
//!
//! let environment = Environment::for_home("/home/me".into(), "/home/me/project".into());
//! let mut library = Library::new(environment, DiscoveryRequest::default());
//! let session = std::path::Path::new("/home/me/conversation.json");
//! let call = SkillCall::of("pdf");
//! match library.discover_until_fresh(|discovery| Disclosure::new(discovery, Some(session)).activate(&call)) {
//!     Ok(activated) => println!("{}", activated.text),
//!     Err(error) => eprintln!("{error}"),
//! }
//! ```

mod catalog_text;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use grove_catalog::disclosure::{
    ActivateOutcome, ActivationInput, CollapseOutcome, DisclosureNode, DisclosureRefusal,
    DisclosureSession, DisclosureTarget, ExpandOutcome, FrozenInputs, ListedChild, MAX_FILLED,
    MAX_KEPT, NotPrepared, PreparedSkill, SessionFull, SkillCaller, SkillResources, already_open,
    expansion_text, list_children, prepare, resolve,
};
use grove_catalog::root::{Root, RootSource};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::trust::RootTrust;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

pub use catalog_text::{CatalogOptions, ConversationCatalog, CountTokens};

use crate::library::{Discovery, StaleRead};
use crate::request::DiscoveryView;
use crate::resources::twin_findings;
use crate::session_file::{self, SessionFileError};
use crate::troubles::file_error;
use crate::usage;

/// The longest argument list, in bytes; it is kept in the session.
const MAX_ARGUMENTS: usize = 100_000;

/// A call for a skill or group.
#[derive(Debug, Clone, Copy)]
pub struct SkillCall<'a> {
    /// A name, id, address or group; or `/name` as a person's call.
    pub typed: &'a str,
    /// The arguments, word by word.
    pub words: &'a [String],
    /// Set to give the text again although it is active already.
    pub again: bool,
}

impl<'a> SkillCall<'a> {
    /// A call without arguments.
    pub const fn of(typed: &'a str) -> Self {
        Self {
            typed,
            words: &[],
            again: false,
        }
    }
}

/// The result of an activation.
#[derive(Debug)]
pub struct ActivationResult {
    /// The snapshot that was looked at.
    pub snapshot: Arc<Snapshot>,
    /// The skill or group that was activated.
    pub node: DisclosureNode,
    /// The text that a model reads.
    pub text: String,
    /// The mark around the body; none for a group.
    pub boundary: Option<String>,
    /// The skill's or the group's folder.
    pub folder: PathBuf,
    /// The files beside the skill's own.
    pub resources: SkillResources,
    /// Its children, which take its place in the catalog, as far as they are listed.
    pub children: Vec<ListedChild>,
    /// The number of children that are not listed.
    pub more_children: usize,
    /// Set if the text only stands for one that was given before.
    pub already_active: bool,
    /// The findings made on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// The result of an expansion.
#[derive(Debug)]
pub struct ExpansionResult {
    /// The snapshot that was looked at.
    pub snapshot: Arc<Snapshot>,
    /// The skill or group that was expanded.
    pub node: DisclosureNode,
    /// The change to the session.
    pub expansion: ExpandOutcome,
    /// Its children, which take its place in the catalog, as far as they are listed.
    pub children: Vec<ListedChild>,
    /// The number of children that are not listed.
    pub more_children: usize,
    /// The text that a model reads: the children, and the location of the skill whose text holds for all of them.
    pub text: String,
    /// All expanded keys of the session, the most recent last.
    pub expanded: Vec<String>,
    /// The findings made on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// The result of a collapse.
#[derive(Debug)]
pub struct CollapseResult {
    /// The key of the collapsed node.
    pub key: String,
    /// Set if it was expanded before.
    pub was_expanded: bool,
    /// All expanded keys of the session, the most recent last.
    pub expanded: Vec<String>,
}

/// The reasons for giving nothing.
#[derive(Debug, thiserror::Error)]
pub enum DisclosureError {
    /// The skill or group is missing, ambiguous or not available.
    #[error("it is not available")]
    Refused {
        /// The snapshot that was looked at.
        snapshot: Arc<Snapshot>,
        /// The reason for the refusal.
        refusal: DisclosureRefusal,
    },
    /// It has nothing below it.
    #[error("`{0}` has nothing below it")]
    Leaf(String),
    /// The file is not the one that was looked at.
    #[error("{} changed while it was read", .0.display())]
    FileChanged(PathBuf),
    /// The arguments are too long.
    #[error("the arguments have {0} bytes, more than {MAX_ARGUMENTS}")]
    Arguments(usize),
    /// With arguments put in, the text is too long.
    #[error("`{name}` would have more than {MAX_FILLED} characters with its arguments filled in")]
    Filled {
        /// The name of the skill.
        name: String,
        /// The file of the skill.
        location: PathBuf,
    },
    /// The session takes no more.
    #[error("the session has {MAX_KEPT} {0} already")]
    Full(&'static str),
    /// The session file cannot be used.
    #[error(transparent)]
    Session(#[from] SessionFileError),
    /// Not even the shortest catalog keeps the budget.
    #[error("the shortest catalog takes {}", .0.report.used)]
    TooSmall(Box<grove_catalog::catalog::Catalog>),
    /// There is nowhere to put what a catalog leads to.
    #[error("there is no cache folder for index files")]
    NoIndexFolder,
    /// A file that a catalog leads to could not be written.
    #[error(transparent)]
    Files(#[from] grove_fs::FsError),
}

impl StaleRead for DisclosureError {
    fn is_stale(&self) -> bool {
        matches!(self, Self::FileChanged(_))
    }
}

/// One conversation about what a discovery gave.
#[derive(Debug)]
pub struct Disclosure<'a> {
    discovery: &'a Discovery,
    session: SessionPlace<'a>,
}

/// A session in memory; it begins with the first call.
pub type SessionCell = Mutex<Option<DisclosureSession>>;

#[derive(Debug, Clone, Copy)]
enum SessionPlace<'a> {
    Nowhere,
    File(&'a Path),
    Memory(&'a SessionCell),
}

impl<'a> Disclosure<'a> {
    /// A conversation that is remembered in a file, or not at all.
    pub fn new(discovery: &'a Discovery, session: Option<&'a Path>) -> Self {
        let session = session.map_or(SessionPlace::Nowhere, SessionPlace::File);
        Self { discovery, session }
    }

    /// A conversation that is remembered as long as the caller keeps the cell.
    pub fn in_memory(discovery: &'a Discovery, session: &'a SessionCell) -> Self {
        let session = SessionPlace::Memory(session);
        Self { discovery, session }
    }

    /// Activates a skill or group. A file that changed since the discovery is an error, and another discovery may help.
    pub fn activate(&self, call: &SkillCall<'_>) -> Result<ActivationResult, DisclosureError> {
        let snapshot = &self.discovery.snapshot;
        let target = target(snapshot, call.typed)?;
        let length = call.words.iter().map(String::len).sum();
        if length > MAX_ARGUMENTS {
            return Err(DisclosureError::Arguments(length));
        }
        match target.node {
            DisclosureNode::Skill(at) => self.activate_skill(snapshot, at, target.caller, call),
            group @ DisclosureNode::Group(_) => self.activate_group(snapshot, group, call),
        }
    }

    /// Puts a node's children in its place.
    pub fn expand(&self, typed: &str) -> Result<ExpansionResult, DisclosureError> {
        let snapshot = &self.discovery.snapshot;
        let target = target(snapshot, typed)?;
        self.expand_node(snapshot, target.node)
    }

    /// Puts a node back in its children's place.
    ///
    /// A key of the session is taken as it is: its node may be gone.
    pub fn collapse(&self, typed: &str) -> Result<CollapseResult, DisclosureError> {
        let snapshot = &self.discovery.snapshot;
        let (done, _) = self.with_session(snapshot, |session| {
            let key = if session.expanded().iter().any(|key| key == typed) {
                typed.to_owned()
            } else {
                target(snapshot, typed)?.node.key(snapshot)
            };
            let was_expanded = session.collapse(&key) == CollapseOutcome::Collapsed;
            Ok(CollapseResult {
                key,
                was_expanded,
                expanded: session.expanded().to_vec(),
            })
        })?;
        Ok(done)
    }

    /// Returns true if the folder of a project whose changes are followed is still the one that was granted.
    fn is_still_granted(&self, snapshot: &Snapshot, skill: &Skill) -> bool {
        let is_followed = |root: &&Root| {
            let is_own = self.discovery.request.view == DiscoveryView::Own;
            is_own && root.source == RootSource::Project && root.trust == RootTrust::Trusted
        };
        let root = snapshot.root_of(skill).filter(is_followed);
        root.is_none_or(|root| self.discovery.world.trust_of(&root.path).grant.is_some())
    }

    fn activate_skill(
        &self,
        snapshot: &Arc<Snapshot>,
        at: usize,
        caller: SkillCaller,
        call: &SkillCall<'_>,
    ) -> Result<ActivationResult, DisclosureError> {
        let unsteady = |location: &Path| DisclosureError::FileChanged(location.to_path_buf());
        let location = DisclosureNode::Skill(at).location(snapshot);
        let skill = snapshot.skills.get(at).ok_or_else(|| unsteady(&location))?;
        let source = self.discovery.sources.skills.read_text(skill);
        let source = source.ok_or_else(|| unsteady(&location))?;
        let body = source.get(skill.content.parsed().body_offset..);
        let body = body.ok_or_else(|| unsteady(&location))?;
        // The text leads to the files beside it, so they have to be what was trusted as well.
        let files = &self.discovery.sources.skills;
        if !files.folder_is_as_judged(snapshot, skill) || !self.is_still_granted(snapshot, skill) {
            return Err(unsteady(&location));
        }
        let (resources, mut diagnostics) = self.resources(snapshot, at);
        let asked = call.typed.strip_prefix('/').unwrap_or(call.typed);
        diagnostics.extend(snapshot.entries().stand_in_findings(at, asked));
        let material = ActivationInput {
            body,
            resources: &resources,
            words: call.words,
            caller,
            home: self.discovery.world.environment.home.as_deref(),
        };
        let prepared = prepare(snapshot, at, &material).map_err(|why| match why {
            NotPrepared::NoSkill => unsteady(&location),
            NotPrepared::TooLong => DisclosureError::Filled {
                name: one_line(skill.name()),
                location: location.clone(),
            },
        })?;
        if prepared.cuts_arguments {
            let message = format!(
                "only the start of `{}` is shown, and arguments that it puts in later are not: \
                 give them to the skill below it that you choose",
                one_line(skill.name())
            );
            diagnostics.push(Diagnostic::new(Code::ArgumentsUnused, message).in_file(&location));
        }
        let (done, findings) =
            self.with_session(snapshot, |session| enter(&prepared, snapshot, session))?;
        diagnostics.extend(findings);
        let already_active = done == ActivateOutcome::Already && !call.again;
        if !already_active {
            let environment = &self.discovery.world.environment;
            diagnostics.extend(usage::remember(environment, &location, seconds()));
        }
        Ok(ActivationResult {
            snapshot: Arc::clone(snapshot),
            node: DisclosureNode::Skill(at),
            text: if already_active {
                prepared.already_active()
            } else {
                prepared.text
            },
            boundary: Some(prepared.boundary),
            folder: prepared.folder,
            resources,
            children: prepared.children.children,
            more_children: prepared.children.more,
            already_active,
            diagnostics,
        })
    }

    /// Expands a group; one that is open already is not listed again.
    fn activate_group(
        &self,
        snapshot: &Arc<Snapshot>,
        group: DisclosureNode,
        call: &SkillCall<'_>,
    ) -> Result<ActivationResult, DisclosureError> {
        let expanded = self.expand_node(snapshot, group)?;
        let already_active = expanded.expansion == ExpandOutcome::Already && !call.again;
        let mut diagnostics = expanded.diagnostics;
        if !call.words.is_empty() {
            diagnostics.push(Diagnostic::new(
                Code::ArgumentsUnused,
                format!(
                    "`{}` is a group and takes no arguments: give them to one of its skills",
                    one_line(&expanded.node.name(snapshot))
                ),
            ));
        }
        Ok(ActivationResult {
            snapshot: expanded.snapshot,
            folder: expanded.node.location(snapshot),
            text: if already_active {
                already_open(snapshot, &expanded.node)
            } else {
                expanded.text
            },
            node: expanded.node,
            boundary: None,
            resources: SkillResources::default(),
            children: expanded.children,
            more_children: expanded.more_children,
            already_active,
            diagnostics,
        })
    }

    fn resources(&self, snapshot: &Snapshot, at: usize) -> (SkillResources, Vec<Diagnostic>) {
        let Some(skill) = snapshot.skills.get(at) else {
            return Default::default();
        };
        match self.discovery.sources.skills.resources(snapshot, skill) {
            Ok(found) => {
                let location = snapshot.location(&skill.place);
                let findings = twin_findings(&found.names, &location);
                let resources = SkillResources {
                    names: found.names,
                    more: found.not_seen,
                    uncounted: found.uncounted,
                    links_out: found.links_out,
                };
                (resources, findings)
            }
            Err(error) => {
                let finding = file_error(Code::Unreadable, &error);
                (SkillResources::default(), vec![finding])
            }
        }
    }

    fn expand_node(
        &self,
        snapshot: &Arc<Snapshot>,
        node: DisclosureNode,
    ) -> Result<ExpansionResult, DisclosureError> {
        let ((expansion, expanded), diagnostics) =
            self.with_session(snapshot, |session| match session.expand(snapshot, &node) {
                ExpandOutcome::Leaf => Err(DisclosureError::Leaf(node.name(snapshot))),
                ExpandOutcome::Full => Err(DisclosureError::Full("expanded entries")),
                done => Ok((done, session.expanded().to_vec())),
            })?;
        let home = self.discovery.world.environment.home.as_deref();
        let listed = list_children(snapshot, &node.children(snapshot), home);
        Ok(ExpansionResult {
            snapshot: Arc::clone(snapshot),
            text: expansion_text(snapshot, &node, &listed, home),
            node,
            expansion,
            children: listed.children,
            more_children: listed.more,
            expanded,
            diagnostics: diagnostics.into_iter().collect(),
        })
    }

    /// Changes the session: the one in the file or in memory, or one that is forgotten.
    fn with_session<T>(
        &self,
        snapshot: &Snapshot,
        change: impl FnOnce(&mut DisclosureSession) -> Result<T, DisclosureError>,
    ) -> Result<(T, Option<Diagnostic>), DisclosureError> {
        let mut finding = None;
        let done = match self.session {
            SessionPlace::Nowhere => change(&mut DisclosureSession::new(FrozenInputs::default())),
            SessionPlace::Memory(cell) => {
                let mut held = cell.lock().unwrap_or_else(PoisonError::into_inner);
                let mut session = if let Some(session) = held.as_ref() {
                    session.clone()
                } else {
                    let (session, damaged) = self.begin(snapshot);
                    finding = damaged;
                    session
                };
                let done = change(&mut session);
                // A change that is refused leaves what was there.
                if done.is_ok() {
                    *held = Some(session);
                }
                done
            }
            SessionPlace::File(file) => {
                let fresh = || {
                    let (session, damaged) = self.begin(snapshot);
                    finding = damaged;
                    session
                };
                session_file::update(file, fresh, change)
            }
        };
        Ok((done?, finding))
    }

    /// A new session: the pinned skills and the usage are taken now and stay.
    fn begin(&self, snapshot: &Snapshot) -> (DisclosureSession, Option<Diagnostic>) {
        let environment = &self.discovery.world.environment;
        let (usage, finding) = usage::scores(environment, snapshot, seconds());
        let session = DisclosureSession::new(FrozenInputs {
            pinned: self.discovery.world.settings.settings.pinned.value.clone(),
            usage,
            names: self.discovery.request.names.clone(),
        });
        (session, finding)
    }
}

fn target(snapshot: &Arc<Snapshot>, typed: &str) -> Result<DisclosureTarget, DisclosureError> {
    resolve(snapshot, typed).map_err(|refusal| DisclosureError::Refused {
        snapshot: Arc::clone(snapshot),
        refusal,
    })
}

fn enter(
    prepared: &PreparedSkill,
    snapshot: &Snapshot,
    session: &mut DisclosureSession,
) -> Result<ActivateOutcome, DisclosureError> {
    prepared.enter(snapshot, session).map_err(|cause| {
        DisclosureError::Full(match cause {
            SessionFull::Expanded => "expanded entries",
            SessionFull::Active => "active skills",
        })
    })
}

/// The current time in seconds since 1970.
fn seconds() -> u64 {
    u64::try_from(grove_fs::stamp::now() / 1_000_000_000).unwrap_or(0)
}
