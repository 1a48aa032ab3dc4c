//! Folders with skills that pi's settings name, as roots.
//!
//! A project's settings can name folders in the project and nothing else, and these wait for trust like the rest of the
//! project; the user's can name any. They come after every folder that is looked in anyway.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::hosts::Host;
use grove_catalog::root::{Root, RootOwner, RootRank, RootSource};
use grove_catalog::trust::RootTrust;
use grove_fs::held_folder::HeldFolder;
use grove_fs::probe_walk::LinkRule;
use grove_fs::{FsError, files};
use grove_spec::package::NamedFolder;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use super::{PlannedRoot, RootPlan, below, small};
use crate::environment::Environment;
use crate::packages::{NamedSkills, first_of_each, path_from};
use crate::project::{FolderTrust, Project};
use crate::world::World;

impl RootPlan {
    pub(super) fn named_folders(&mut self, all: &[&NamedSkills], world: &World) {
        let (environment, project) = (&world.environment, &world.project);
        for named in all {
            let trust = named.project.as_deref();
            let trust = trust.map(|folder| {
                let trust = world.trust_of(folder);
                if named.is_as_seen {
                    trust
                } else {
                    trust.through(&named.file)
                }
            });
            let distance = named.project.as_ref().map_or(0, |folder| {
                let mut nearer = project.folders.iter();
                let at = nearer.position(|known| known == folder);
                at.unwrap_or(project.folders.len())
            });
            let placed = ResolvedFolders::of(named, environment);
            for path in placed.folders {
                let order = self.roots.len();
                let standing = standing(named.source(), distance, order);
                let root_trust = trust
                    .as_ref()
                    .map_or(RootTrust::Trusted, |trust| trust_of(trust, &path, world));
                let shown = shown(named, &path, environment, project.outermost());
                self.add(planned(named, path, &shown, standing, root_trust));
            }
            self.diagnostics.extend(placed.diagnostics);
            let damaged = trust.and_then(|trust| trust.finding);
            let new = damaged.filter(|finding| !self.diagnostics.contains(finding));
            self.diagnostics.extend(new);
        }
    }

    /// The folders that settings name, for a host that looks in them before all others and has its own trust.
    pub(super) fn named_folders_of_host(
        &mut self,
        host: &Host,
        all: &[NamedSkills],
        environment: &Environment,
        project: &Project,
    ) {
        for named in all {
            let placed = ResolvedFolders::of(named, environment);
            for path in placed.folders {
                let standing = self.next_standing(host, named.source());
                let shown = shown(named, &path, environment, project.outermost());
                self.add(planned(named, path, &shown, standing, RootTrust::Trusted));
            }
            self.diagnostics.extend(placed.diagnostics);
        }
    }
}

/// The trust of a folder that settings of this trust name. It may lie above theirs, where another grant decides; and
/// settings without a grant name nothing that is trusted.
fn trust_of(settings: &FolderTrust, path: &Path, world: &World) -> RootTrust {
    if settings.grant.is_none() {
        return RootTrust::Untrusted;
    }
    let own = FolderTrust {
        named_anew: settings.named_anew.clone(),
        ..world.trust_of(path)
    };
    own.of_root(path)
}

/// The roots that the settings of one project folder name, for a record of what is in it.
pub(super) fn in_project(named: &NamedSkills, trust: &FolderTrust) -> Vec<PlannedRoot> {
    let Some(project) = &named.project else {
        return Vec::new();
    };
    let folders = ResolvedFolders::in_project(named, project)
        .folders
        .into_iter();
    let roots = folders.enumerate().map(|(order, path)| {
        let standing = standing(RootSource::Project, 0, order);
        let root_trust = trust.of_root(&path);
        planned(named, path, "", standing, root_trust)
    });
    roots.collect()
}

fn standing(source: RootSource, distance: usize, order: usize) -> RootRank {
    RootRank {
        distance: small(distance),
        owner: RootOwner::Named,
        order: small(order),
        ..RootRank::of(source)
    }
}

fn shown(
    named: &NamedSkills,
    path: &Path,
    environment: &Environment,
    outermost: Option<&Path>,
) -> String {
    let from = match &named.project {
        Some(project) => outermost
            .filter(|outer| project.starts_with(outer))
            .or(Some(project)),
        None => environment.home.as_deref(),
    };
    let shown = from.map_or_else(
        || path.to_string_lossy().into_owned(),
        |from| below(path, from),
    );
    if shown.is_empty() {
        return ".".to_owned();
    }
    shown
}

fn planned(
    named: &NamedSkills,
    path: PathBuf,
    shown: &str,
    standing: RootRank,
    trust: RootTrust,
) -> PlannedRoot {
    let root = Root {
        rank: standing,
        trust,
        ..Root::new(named.source(), shown, path)
    };
    PlannedRoot::new(root, named.within.clone())
}

/// The folders of one settings file, also those that are not there yet, and findings about them.
struct ResolvedFolders {
    folders: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
}

impl ResolvedFolders {
    fn of(named: &NamedSkills, environment: &Environment) -> Self {
        let mut placed = match &named.project {
            Some(project) => Self::in_project(named, project),
            None => Self::of_user(named, environment),
        };
        let of_file = named.diagnostics.iter().cloned();
        placed.diagnostics.splice(0..0, of_file);
        placed
    }

    /// Each folder under its first name: many links to one large folder would be as many walks of it.
    fn once_each(mut folders: Vec<PathBuf>, findings: Vec<Diagnostic>) -> Self {
        let mut seen = BTreeSet::new();
        folders.retain(|path| {
            let real = files::canonical(path);
            seen.insert(real.unwrap_or_else(|_| path.clone()))
        });
        Self {
            folders,
            diagnostics: first_of_each(findings),
        }
    }

    fn in_project(named: &NamedSkills, project: &Path) -> Self {
        let within = named.within.as_deref().unwrap_or(project);
        let from = below(&project.join(".pi"), within);
        let held = HeldFolder::open(within).ok();
        let mut folders = Vec::new();
        let mut findings = Vec::new();
        for folder in &named.folders {
            let (Some(held), Some(path)) = (&held, path_from(&from, &folder.path)) else {
                let what = "is outside the project that names it";
                findings.push(finding(named, folder, Code::PathEscape, what));
                continue;
            };
            match held.folder(&path, LinkRule::Contain) {
                Err(error) if error.leads_out() => {
                    let what = "is behind a link that leads out of the project";
                    findings.push(finding(named, folder, Code::PathEscape, what));
                    continue;
                }
                Err(error) => findings.push(unopened(named, folder, &error)),
                Ok(_) => {}
            }
            folders.push(match path.as_str() {
                "" => within.to_path_buf(),
                path => within.join(path),
            });
        }
        Self::once_each(folders, findings)
    }

    fn of_user(named: &NamedSkills, environment: &Environment) -> Self {
        let from = named.file.parent().unwrap_or(Path::new("/"));
        let mut folders = Vec::new();
        let mut findings = Vec::new();
        for folder in &named.folders {
            let is_home = folder.path == "~" || folder.path.starts_with("~/");
            // Without a home there is nothing that it could be.
            if is_home && environment.home.is_none() {
                let what = "is in the home folder, but there is no home folder";
                findings.push(finding(named, folder, Code::RootUnreadable, what));
                continue;
            }
            let path = environment.expand(&folder.path, from);
            let path = files::plain(&path);
            if let Err(error) = HeldFolder::open(&path) {
                findings.push(unopened(named, folder, &error));
            }
            folders.push(path);
        }
        Self::once_each(folders, findings)
    }
}

fn unopened(named: &NamedSkills, folder: &NamedFolder, error: &FsError) -> Diagnostic {
    if files::is_file(&error.path) {
        let what = "is a file; only folders can be named";
        finding(named, folder, Code::RootInvalid, what)
    } else if error.is_not_found() {
        finding(named, folder, Code::RootUnreadable, "is not there")
    } else {
        let what = format!("cannot be opened: {}", error.source);
        finding(named, folder, Code::RootUnreadable, &what)
    }
}

fn finding(named: &NamedSkills, folder: &NamedFolder, code: Code, what: &str) -> Diagnostic {
    let message = format!("`{}` in `skills` {what}", one_line(&folder.path));
    Diagnostic::new(code, message)
        .in_file(&named.file)
        .at(folder.position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_by_how_they_are_written() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a/./b/", "/a/b"),
            ("/a/x/../b", "/a/b"),
            ("/a/../../..", "/"),
        ] {
            assert_eq!(files::plain(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
