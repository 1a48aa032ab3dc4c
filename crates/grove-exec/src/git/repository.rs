//! Finding the repository of a folder by reading names and small files. git itself is not asked, because it would obey
//! the configuration of the repository that it finds.

use std::path::{Component, Path, PathBuf};

use super::files;
use super::settings::GitSettings;

/// The variable with the folders at which the search stops.
const CEILINGS: &str = "GIT_CEILING_DIRECTORIES";

/// A repository with a working tree. All its paths are free of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) top: PathBuf,
    /// The folder of this working tree alone: its head and its index.
    pub(super) own: PathBuf,
    /// The folder that all working trees share: objects, branches, configuration.
    pub(super) common: PathBuf,
    pub(super) settings: GitSettings,
}

impl Repository {
    /// Finds the nearest repository at or above a folder. A folder without a `.git` in it does not count, such as a bare
    /// repository in a folder of a tree.
    pub(super) fn find(folder: &Path, environment: &[(String, String)]) -> Option<Self> {
        let folder = files::real(folder)?;
        let ceilings = ceilings(environment);
        for (level, top) in folder.ancestors().enumerate() {
            if level > 0 && ceilings.iter().any(|ceiling| ceiling == top) {
                return None;
            }
            let link = top.join(".git");
            if !files::is_there(&link) {
                continue;
            }
            let own = if files::is_folder(&link) {
                Some(link)
            } else {
                linked(&link)
            };
            match own.and_then(|own| Self::at(top, &own)) {
                Some(found) => return Some(found),
                // git refuses a broken `.git` file, and passes over a broken `.git` folder.
                None if !files::is_folder(&top.join(".git")) => return None,
                None => {}
            }
        }
        None
    }

    /// The repository with a working tree and a repository folder, if that folder is one.
    pub(super) fn at(top: &Path, own: &Path) -> Option<Self> {
        let own = files::real(own)?;
        let common = match files::read_line(&own.join("commondir")) {
            Some(common) => files::real(&own.join(common))?,
            None => own.clone(),
        };
        let is_repository = files::is_there(&own.join("HEAD"))
            && files::is_folder(&common.join("objects"))
            && files::is_folder(&common.join("refs"));
        is_repository.then(|| Self {
            top: top.to_path_buf(),
            own,
            common,
            settings: GitSettings::NONE,
        })
    }

    /// Returns true for a working tree beside the repository's first one.
    pub(super) fn is_linked(&self) -> bool {
        self.own != self.common
    }

    /// Returns true if the repository itself says that this is its working tree. A `.git` that leads to it says nothing: whoever
    /// may write in the tree may have put it there.
    pub(super) fn has_this_tree(&self) -> bool {
        let link = self.top.join(".git");
        if self.is_linked() {
            let back = files::read_line(&self.own.join("gitdir"));
            let tree = back.and_then(|back| files::real(self.own.join(back).parent()?));
            let is_kept_there = self.own.parent() == Some(&self.common.join("worktrees"));
            return is_kept_there && tree.as_ref() == Some(&self.top);
        }
        let named = self.settings.last("core.worktree");
        let tree = named.and_then(|named| files::real(&self.own.join(named)));
        self.own == link || tree.as_ref() == Some(&self.top)
    }

    /// Returns true if these users own all of it, by the rule that git has.
    pub(super) fn belongs_to(&self, users: &[u32]) -> bool {
        let owners = [
            files::owner_of_name(&self.top.join(".git")),
            files::owner(&self.top),
            files::owner(&self.own),
        ];
        let mut owners = owners.into_iter();
        owners.all(|owner| owner.is_some_and(|owner| users.contains(&owner)))
    }
}

fn linked(file: &Path) -> Option<PathBuf> {
    let line = files::read_line(file)?;
    let target = line.strip_prefix("gitdir: ")?;
    Some(file.parent()?.join(target))
}

fn ceilings(environment: &[(String, String)]) -> Vec<PathBuf> {
    let named = environment.iter().find(|(name, _)| name == CEILINGS);
    let named = named.map_or("", |(_, value)| value.as_str());
    let paths = named.split(':').map(Path::new);
    let paths = paths.filter(|path| path.is_absolute());
    let plain = |path: &Path| -> PathBuf {
        let parts = path.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    };
    paths
        .map(|path| files::real(path).unwrap_or_else(|| plain(path)))
        .collect()
}
