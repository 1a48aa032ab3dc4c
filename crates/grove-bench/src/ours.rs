//! The one place where the benchmarks call our engine.

use std::path::{Path, PathBuf};

use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};

use crate::work::Done;

/// Finds and parses every skill below `root` with nothing known before; how many there are.
pub(crate) fn cold(root: &Path) -> Result<Done, String> {
    looked(library(root, None))
}

/// The work of a new process that finds the stored state of an earlier one in the folder `state`: it loads it, checks it
/// against the files and gives the same answer as `cold`.
pub(crate) fn warm(root: &Path, state: &Path) -> Result<Done, String> {
    looked(library(root, Some(state)))
}

/// An engine that holds a snapshot of a library in memory.
pub(crate) struct Loaded(Library);

/// Loads `root`, and leaves in the folder `state` what `warm` starts from.
pub(crate) fn load(root: &Path, state: &Path) -> Result<Loaded, String> {
    let mut library = library(root, Some(state));
    usable(&mut library)?;
    match library.save_cache().first() {
        None => Ok(Loaded(library)),
        Some(finding) => Err(finding.message.clone()),
    }
}

/// The work of every turn: the snapshot is checked against the files, none of which changed.
pub(crate) fn verify(loaded: &mut Loaded) -> Result<Done, String> {
    usable(&mut loaded.0).map(Done::found)
}

fn library(root: &Path, cache: Option<&Path>) -> Library {
    let nowhere = PathBuf::from("/nonexistent");
    let environment = Environment {
        cache: cache.map(Path::to_path_buf),
        ..Environment::for_home(nowhere.clone(), nowhere)
    };
    let view = DiscoveryView::Folders(vec![root.to_path_buf()]);
    Library::new(
        environment,
        DiscoveryRequest {
            view,
            all: true,
            ..DiscoveryRequest::default()
        },
    )
}

fn looked(mut library: Library) -> Result<Done, String> {
    let n_skills = usable(&mut library)?;
    Ok(Done {
        n_skills,
        kept: Some(library),
    })
}

fn usable(library: &mut Library) -> Result<usize, String> {
    let snapshot = library.load();
    match snapshot
        .diagnostics
        .iter()
        .find(|finding| finding.is_error())
    {
        Some(finding) => Err(finding.message.clone()),
        None => Ok(snapshot.skills.len()),
    }
}
