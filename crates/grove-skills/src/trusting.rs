//! Granting and revoking trust: what is in a project, and remembering that it was seen.

mod nested;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::definitions::Definition;
use grove_catalog::root::Family;
use grove_catalog::trust::{self, Trust};
use grove_catalog::{Digest, Source, identity};
use grove_fs::probe_walk::Layout;
use grove_fs::trust_store::{Grant, Lookup, TrustStore};
use grove_fs::{FsError, files};
use grove_spec::package::Kind;
use grove_spec::skill::kept::most_read;

use crate::agents::AGENT_FILES;
use crate::cache::RootCache;
use crate::chains::CHAIN_FILES;
use crate::definition_files::{Bounds, FileKind, roots_in};
use crate::environment::Environment;
use crate::instructions;
use crate::loading::{self, Scan};
use crate::planning::{self, PlannedRoot};
use crate::project::{Permitted, Project};
use crate::settings::{PROJECT_FILES, read_project_file};
use crate::world::World;
use nested::Nested;

/// Why trust was not granted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Home, the root folder and the temporary folder are never a project.
    #[error("{} cannot be trusted as a project", .0.display())]
    NeverAProject(PathBuf),
    /// There is nothing at the path.
    #[error("{} does not exist", .0.display())]
    NotThere(PathBuf),
    /// There is something else at the path.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// Trust is given to a folder above and can only be taken back there.
    #[error("{} is trusted as a part of {}", .0.display(), .1.display())]
    PartOf(PathBuf, PathBuf),
    /// There is no home, so there is nowhere to remember trust.
    #[error("HOME is not set, so there is nowhere to keep what is trusted")]
    NoHome,
    /// The file system said no.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// What a grant did.
#[derive(Debug)]
pub struct Granted {
    /// The folder.
    pub folder: PathBuf,
    /// Whether later changes are trusted too.
    pub follow: bool,
    /// Files that had not been seen, by path below the folder.
    pub new: Vec<String>,
    /// Files that had been seen otherwise.
    pub changed: Vec<String>,
    /// Files that were seen as they are.
    pub unchanged: usize,
    /// Folders below that were not searched for skills: too many, too deep, or unreadable.
    pub not_searched: Vec<String>,
}

/// What is remembered of each file that was seen, by path below the granted folder.
type Pins = BTreeMap<String, String>;

/// The digest of each file and as what it counts, by path below the folder.
type Seen = BTreeMap<String, (Digest, BTreeSet<Kind>)>;

/// Trusts a folder as it is now; the working folder's project when none is given.
pub fn grant(
    environment: &Environment,
    folder: Option<&Path>,
    follow: bool,
) -> Result<Granted, TrustError> {
    if environment.state.starts_with(Environment::NOWHERE) {
        return Err(TrustError::NoHome);
    }
    let folder = folder_for(environment, folder)?;
    let store = store(environment);
    let mut grant = TrustStore::grant_for(&folder, follow)?;
    let earlier = Earlier::find(&store, &folder);
    let (pins, not_searched) = content_of(environment, &folder);
    let mut granted = Granted {
        folder,
        follow,
        new: Vec::new(),
        changed: Vec::new(),
        unchanged: 0,
        not_searched,
    };
    for (path, digest) in &pins {
        match earlier.pins.get(path) {
            None => granted.new.push(path.clone()),
            Some(seen) if seen == digest => granted.unchanged += 1,
            Some(_) => granted.changed.push(path.clone()),
        }
    }
    // What was seen from elsewhere stays seen as it was then.
    let still_there = |path: &String| files::is_there(&granted.folder.join(path));
    grant.pins = earlier.pins;
    grant.pins.retain(|path, _| still_there(path));
    grant.pins.extend(pins);
    store.store(&grant)?;
    for folder in earlier.absorbed {
        store.revoke(&folder)?;
    }
    Ok(granted)
}

/// What was seen before of a folder that is granted.
#[derive(Default)]
struct Earlier {
    pins: Pins,
    /// Folders below with a grant of their own. The nearest grant decides, so it would hide the new one.
    absorbed: Vec<PathBuf>,
}

impl Earlier {
    fn find(store: &TrustStore, folder: &Path) -> Self {
        let mut earlier = Self::default();
        let of_the_tree = |grant: &Arc<Grant>| {
            grant.path.starts_with(folder)
                && matches!(store.covering(&grant.path), Lookup::Granted(sound) if sound == *grant)
        };
        for grant in store.grants().into_iter().filter(of_the_tree) {
            // A folder below whose changes are followed keeps its own grant.
            let below = grant.path != folder;
            if below && grant.follow {
                continue;
            }
            let prefix = grant.path.strip_prefix(folder).unwrap_or(&grant.path);
            let pins = grant.pins.iter().map(|(path, pin)| {
                let path = prefix.join(path).to_string_lossy().into_owned();
                (path, pin.clone())
            });
            earlier.pins.extend(pins);
            if below {
                earlier.absorbed.push(grant.path.clone());
            }
        }
        earlier
    }
}

/// Takes trust back; says whether there was any.
pub fn revoke(
    environment: &Environment,
    folder: Option<&Path>,
) -> Result<(PathBuf, bool), TrustError> {
    let store = store(environment);
    let working = environment.working.join(folder.unwrap_or(Path::new("")));
    let asked = files::canonical(&working).unwrap_or(working);
    if store.revoke(&asked)? {
        return Ok((asked, true));
    }
    match store.covering(&asked) {
        // Without a folder one means whatever makes this place trusted.
        Lookup::Granted(grant) if folder.is_none() => {
            Ok((grant.path.clone(), store.revoke(&grant.path)?))
        }
        Lookup::Granted(grant) => Err(TrustError::PartOf(asked, grant.path.clone())),
        _ if folder.is_none() => Ok((folder_for(environment, None)?, false)),
        _ => Ok((asked, false)),
    }
}

/// All grants.
pub fn grants(environment: &Environment) -> Vec<Arc<Grant>> {
    store(environment).grants()
}

/// The store of a user's grants.
pub(crate) fn store(environment: &Environment) -> TrustStore {
    TrustStore::new(folder(environment))
}

/// The folder that holds them.
pub(crate) fn folder(environment: &Environment) -> PathBuf {
    environment.state.join("trust")
}

fn folder_for(environment: &Environment, folder: Option<&Path>) -> Result<PathBuf, TrustError> {
    let folder = if let Some(folder) = folder {
        existing(&environment.working.join(folder))?
    } else {
        let working = files::canonical(&environment.working)?;
        let project = Project::find(environment);
        project.grant_folder().map_or(working, Path::to_path_buf)
    };
    if Permitted::in_environment(environment).allows(&folder) {
        Ok(folder)
    } else {
        Err(TrustError::NeverAProject(folder))
    }
}

/// The canonical path of a folder that somebody named.
fn existing(folder: &Path) -> Result<PathBuf, TrustError> {
    match files::canonical(folder) {
        Ok(canonical) if files::is_folder(&canonical) => Ok(canonical),
        Ok(_) => Err(TrustError::NotAFolder(folder.to_path_buf())),
        Err(error) if error.is_not_found() => Err(TrustError::NotThere(folder.to_path_buf())),
        Err(error) => Err(error.into()),
    }
}

/// The digests of everything that a working folder inside could reveal, and what was not searched.
///
/// They come from the project's own files, whoever else has a link to them, and from the user's settings
/// alone: a project's can only narrow what is seen, and differ from folder to folder.
fn content_of(environment: &Environment, folder: &Path) -> (Pins, Vec<String>) {
    let world = World::of_folder(environment, folder);
    let settings = &world.settings.settings;
    let of_kind = |kind: Kind| {
        let mut roots = planning::own(kind, &world).roots;
        // What settings name is looked for where they stand and nowhere else, as packages are.
        roots.retain(|planned| {
            let root = &planned.root;
            root.source == Source::Project && root.standing.family != Family::Named
        });
        roots
    };
    let roots = of_kind(Kind::Skills);
    let scan = Scan {
        layout: Layout::ALL,
        max_candidates: usize::MAX,
        max_bytes: settings.limits.file_bytes.value,
        max_read: most_read(settings.limits.file_bytes.value),
        max_depth: usize::try_from(settings.limits.group_depth.value).unwrap_or(usize::MAX),
        lifted: true,
        keep_good: false,
    };
    let (agent_roots, chain_roots) = (of_kind(Kind::Agents), of_kind(Kind::Chains));
    let bounds = Bounds {
        max_bytes: scan.max_bytes,
        max_depth: scan.max_depth,
    };
    let mut names = first_parts(&roots, folder);
    names.extend(first_parts(&agent_roots, folder));
    names.extend(instructions::NAMES.map(str::to_owned));
    names.extend(first_parts(&chain_roots, folder));
    let Nested {
        holders,
        not_searched,
    } = nested::search(folder, &names);
    let permitted = Permitted::in_environment(environment);
    let mut looks: BTreeSet<PathBuf> = holders.iter().map(|path| folder.join(path)).collect();
    looks.extend(between(environment, folder));
    let mut pins = Seen::new();
    for look in looks.iter().filter(|look| permitted.allows(look)) {
        for planned in &roots {
            pin_root(&moved(planned, folder, look), &scan, folder, &mut pins);
        }
        for planned in &agent_roots {
            let inner = roots_in(planned, &agent_roots);
            let planned = moved(planned, folder, look);
            pin_files(&AGENT_FILES, &planned, &inner, &bounds, folder, &mut pins);
        }
        for planned in &chain_roots {
            let inner = roots_in(planned, &chain_roots);
            let planned = moved(planned, folder, look);
            pin_files(&CHAIN_FILES, &planned, &inner, &bounds, folder, &mut pins);
        }
        for (kind, planned) in planning::further_roots(&world, look, folder) {
            match kind {
                Kind::Skills => pin_root(&planned, &scan, folder, &mut pins),
                Kind::Agents => {
                    pin_files(&AGENT_FILES, &planned, &[], &bounds, folder, &mut pins);
                }
                Kind::Chains => {
                    pin_files(&CHAIN_FILES, &planned, &[], &bounds, folder, &mut pins);
                }
            }
        }
        for (file, bytes) in instructions::in_folder(folder, look, scan.max_bytes) {
            if let Ok(bytes) = bytes {
                pin(&file, Digest::of(&bytes), None, folder, &mut pins);
            }
        }
        for file in PROJECT_FILES {
            if let Ok(bytes) = read_project_file(look, file) {
                let file = look.join(file);
                pin(&file, Digest::of(&bytes), None, folder, &mut pins);
            }
        }
    }
    let pins = pins.into_iter();
    let pins = pins.map(|(path, (digest, kinds))| (path, trust::pin(&digest, kinds)));
    (pins.collect(), not_searched)
}

/// The granted folder and, when one works below it, every folder from there, wherever it lies.
fn between(environment: &Environment, folder: &Path) -> Vec<PathBuf> {
    let working = files::canonical(&environment.working).unwrap_or_default();
    let from = if working.starts_with(folder) {
        &working
    } else {
        folder
    };
    let inside = from.ancestors().take_while(|look| look.starts_with(folder));
    inside.map(Path::to_path_buf).collect()
}

/// The names in a folder without which no root is in it.
fn first_parts(roots: &[PlannedRoot], folder: &Path) -> BTreeSet<String> {
    let places = roots.iter().flat_map(|planned| {
        let root = &planned.root.path;
        match &planned.files {
            Some(files) => files.iter().map(|file| root.join(file)).collect(),
            None => vec![root.clone()],
        }
    });
    places
        .chain(PROJECT_FILES.map(|file| folder.join(file)))
        .filter_map(|path| {
            let first = path.strip_prefix(folder).ok()?.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        })
        .collect()
}

/// The root at the same place in another folder.
fn moved(planned: &PlannedRoot, from: &Path, to: &Path) -> PlannedRoot {
    let mut moved = planned.clone();
    if let Ok(below) = planned.root.path.strip_prefix(from) {
        moved.root.path = to.join(below);
    }
    moved.base = Some(to.to_path_buf());
    moved
}

fn pin_root(planned: &PlannedRoot, scan: &Scan, folder: &Path, pins: &mut Seen) {
    let root = &planned.root.path;
    if !files::is_folder(root) {
        return;
    }
    let (loaded, _) = loading::load(planned, scan, &mut RootCache::default(), None);
    for candidate in &loaded.candidates {
        if let Some(digest) = candidate.content.digest {
            let file = identity::file_below_root(candidate.layout, &candidate.id);
            pin(&root.join(file), digest, Some(Kind::Skills), folder, pins);
        }
    }
}

fn pin_files<P: Definition + Clone + Send + Sync>(
    files_of_kind: &FileKind<P>,
    planned: &PlannedRoot,
    inner: &[String],
    bounds: &Bounds,
    folder: &Path,
    pins: &mut Seen,
) {
    if files::is_folder(&planned.root.path) {
        for (path, digest) in files_of_kind.digests(planned, inner, bounds) {
            let file = planned.root.path.join(path);
            pin(&file, digest, Some(P::KIND), folder, pins);
        }
    }
}

fn pin(file: &Path, digest: Digest, kind: Option<Kind>, folder: &Path, pins: &mut Seen) {
    let Ok(below) = file.strip_prefix(folder) else {
        return;
    };
    let below = trust::plain(&below.to_string_lossy());
    let seen = pins
        .entry(below)
        .or_insert_with(|| (digest, BTreeSet::new()));
    // A file that changes while it is looked at is pinned as it was last, and as nothing else.
    if seen.0 != digest {
        *seen = (digest, BTreeSet::new());
    }
    seen.1.extend(kind);
}

/// Whether a project folder is trusted, for display.
pub fn describe(trust: &Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "untrusted",
        Trust::Pinned { .. } => "trusted as seen",
        Trust::NamedAnew { .. } => "named anew",
    }
}
