//! A home with a live library, and waiting for what it tells.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use grove_catalog::snapshot::Snapshot;
use grove_skills::live::{LibraryUpdate, LiveLibrary, LiveOptions, Subscription};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment};

/// Far more than any update takes, also on a busy machine, and less than until a live library looks without a reason.
pub(crate) const PLENTY: Duration = Duration::from_secs(20);

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        // In memory where that can be had: renaming over files makes other file systems wait for their disk.
        let in_memory = tempfile::tempdir_in("/dev/shm");
        let world = Self {
            folder: in_memory.or_else(|_| tempfile::tempdir()).unwrap(),
        };
        std::fs::create_dir_all(world.path("home/work")).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Saves as editors do: a new file in the same folder, renamed over the old one.
    pub(crate) fn save(&self, name: &str, text: &str) {
        let path = self.path(name);
        let new = path.with_extension("md.tmp~");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    pub(crate) fn environment(&self) -> Environment {
        let mut environment = Environment::for_home(self.path("home"), self.path("home/work"));
        let path = self.path("bin");
        environment.variables.insert("PATH".into(), path.into());
        environment.bundled_dir = Some(self.path("bundled"));
        environment
    }

    /// A live library of the folder `root` alone.
    pub(crate) fn start_root(&self, options: LiveOptions) -> LiveLibrary {
        let live = LiveLibrary::start_with(self.environment(), self.root_request(), options);
        // Its thread watches before it answers.
        live.discover();
        live
    }

    pub(crate) fn root_request(&self) -> DiscoveryRequest {
        DiscoveryRequest {
            view: DiscoveryView::Folders(vec![self.path("root")]),
            all: true,
            ..DiscoveryRequest::default()
        }
    }
}

pub(crate) fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\nBody of {description}\n")
}

/// The updates until one whose snapshot is as it should be; the last of them is that one.
pub(crate) fn until(
    subscription: &mut Subscription,
    what: &str,
    is_right: impl Fn(&Snapshot) -> bool,
) -> Vec<LibraryUpdate> {
    let start = Instant::now();
    let mut updates = Vec::new();
    loop {
        let left = PLENTY.saturating_sub(start.elapsed());
        let Some(update) = subscription.next(left) else {
            panic!("{what} was never told; what was: {updates:#?}");
        };
        let done = is_right(&update.snapshot);
        updates.push(update);
        if done {
            return updates;
        }
    }
}

/// All reasons of some updates with the paths as seen from a folder.
pub(crate) fn reasons(updates: &[LibraryUpdate], from: &Path) -> Vec<String> {
    let causes = updates.iter().flat_map(|update| &update.why);
    causes
        .map(|cause| {
            let path = cause.path.as_deref();
            let path = path.map(|path| path.strip_prefix(from).unwrap_or(path));
            match path {
                Some(path) => format!("{}: {}", cause.what.as_str(), path.display()),
                None => cause.what.as_str().to_owned(),
            }
        })
        .collect()
}
