//! Granting and revoking trust: what is in a project, and remembering that it was seen.

use std::path::{Path, PathBuf};

use grove_catalog::trust::{Trust, may_be_project};
use grove_catalog::{Digest, Source};
use grove_fs::trust_store::{Grant, Lookup, TrustStore};
use grove_fs::{FsError, files};

use crate::environment::Environment;
use crate::library::{Library, Request, View};
use crate::project::Project;
use crate::settings::project_file;

/// Why trust was not granted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Home, the root folder and the temporary folder are never a project.
    #[error("{} cannot be trusted as a project", .0.display())]
    NeverAProject(PathBuf),
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
}

/// Trusts a folder as it is now; the working folder's project when none is given.
pub fn grant(
    environment: &Environment,
    folder: Option<&Path>,
    follow: bool,
) -> Result<Granted, TrustError> {
    let folder = folder_for(environment, folder)?;
    let store = store(environment);
    let mut grant = TrustStore::grant_for(&folder, follow)?;
    let before = match store.covering(&folder) {
        Lookup::Granted(before) if before.path == folder => before.pins,
        _ => std::collections::BTreeMap::new(),
    };
    grant.pins = content_of(environment, &folder);
    let mut granted = Granted {
        folder,
        follow,
        new: Vec::new(),
        changed: Vec::new(),
        unchanged: 0,
    };
    for (path, digest) in &grant.pins {
        match before.get(path) {
            None => granted.new.push(path.clone()),
            Some(seen) if seen == digest => granted.unchanged += 1,
            Some(_) => granted.changed.push(path.clone()),
        }
    }
    store.store(&grant)?;
    Ok(granted)
}

/// Takes trust back; says whether there was any.
pub fn revoke(
    environment: &Environment,
    folder: Option<&Path>,
) -> Result<(PathBuf, bool), TrustError> {
    let folder = match folder {
        Some(folder) => files::canonical(&environment.working.join(folder))
            .unwrap_or_else(|_| environment.working.join(folder)),
        None => folder_for(environment, None)?,
    };
    let was_there = store(environment).revoke(&folder)?;
    Ok((folder, was_there))
}

/// All grants.
pub fn grants(environment: &Environment) -> Vec<Grant> {
    store(environment).grants()
}

fn store(environment: &Environment) -> TrustStore {
    TrustStore::new(environment.state.join("trust"))
}

fn folder_for(environment: &Environment, folder: Option<&Path>) -> Result<PathBuf, TrustError> {
    let folder = match folder {
        Some(folder) => files::canonical(&environment.working.join(folder))?,
        None => {
            let project = Project::find(environment);
            let working = files::canonical(&environment.working)?;
            project.trust_folder().map_or(working, Path::to_path_buf)
        }
    };
    let home = environment
        .home
        .as_deref()
        .and_then(|home| files::canonical(home).ok());
    let temporary =
        files::canonical(&environment.temporary).unwrap_or_else(|_| environment.temporary.clone());
    if may_be_project(&folder, home.as_deref(), &temporary) {
        Ok(folder)
    } else {
        Err(TrustError::NeverAProject(folder))
    }
}

/// The digests of all skill files and the configuration of a project, by path below the folder.
fn content_of(
    environment: &Environment,
    folder: &Path,
) -> std::collections::BTreeMap<String, String> {
    let mut pins = std::collections::BTreeMap::new();
    let inside = Environment {
        working: folder.to_path_buf(),
        ..environment.clone()
    };
    // From the folder itself and, when one works below it, from every folder in between.
    let mut looks = vec![inside];
    if environment.working != folder && environment.working.starts_with(folder) {
        looks.push(environment.clone());
    }
    for look in looks {
        let snapshot = Library::new(
            look,
            Request {
                view: View::Own,
                all: true,
                names: None,
            },
        )
        .load();
        for skill in &snapshot.skills {
            let is_project = snapshot.source_of(skill) == Source::Project;
            let places = std::iter::once(&skill.place).chain(&skill.also_at);
            for place in places.filter(|_| is_project || !skill.also_at.is_empty()) {
                let untrusted_source = snapshot
                    .roots
                    .get(place.root)
                    .is_some_and(|root| root.source == Source::Project);
                let location = snapshot.location(place);
                if let (true, Ok(below), Some(digest)) = (
                    untrusted_source,
                    location.strip_prefix(folder),
                    skill.content.digest,
                ) {
                    pins.insert(below.to_string_lossy().into_owned(), digest.to_string());
                }
            }
        }
    }
    let file = project_file(folder);
    if let (Ok(bytes), Ok(below)) = (
        files::read_bounded(&file, 1_000_000),
        file.strip_prefix(folder),
    ) {
        pins.insert(
            below.to_string_lossy().into_owned(),
            Digest::of(&bytes).to_string(),
        );
    }
    pins
}

/// Whether a project folder is trusted, for display.
pub fn describe(trust: &Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "untrusted",
        Trust::Pinned { .. } => "trusted as seen",
    }
}
