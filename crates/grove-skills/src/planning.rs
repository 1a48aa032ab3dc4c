//! The folders to look in, for Grove itself, for another host, or exactly those that are given.

pub(crate) mod agent_formats;
mod named_folders;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use grove_catalog::hosts::{self, FolderLevels, Host, HostRoot, NamedFolders};
use grove_catalog::root::{Root, RootOwner, RootRank, RootSource, make_labels_unique};
use grove_fs::files;
use grove_fs::probe_walk::{LinkRule, RootFolder};
use grove_spec::agent::AgentFormat;
use grove_spec::config::Settings;
use grove_spec::package::{EntryKind, FolderChoice};
use grove_spec::{Code, Diagnostic};

use crate::bundled;
use crate::environment::Environment;
use crate::packages::{self, GivenPlace, Package, Packages};
use crate::project::Project;
use crate::request::DiscoveryView;
use crate::troubles::file_error;
use crate::world::World;

/// A root and the way it is to be walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRoot {
    /// The root that is planned.
    pub root: Root,
    /// The folder that the root's own path must not leave.
    pub base: Option<PathBuf>,
    /// Set if the folder exists.
    pub exists: bool,
    /// Set if files at its top may count, where the scan has them.
    pub flat_files: bool,
    /// Set if only folders directly in it are skills.
    pub children_only: bool,
    /// The package that gives it.
    pub package: Option<RootPackage>,
    /// The format of agents in it.
    pub format: AgentFormat,
    /// The files that count, by path below the root, where the place is not the folder but these files, which settings
    /// or a package name.
    pub files: Option<Vec<String>>,
    /// The skills in it that count, where the package or the settings that name it do not mean all.
    pub chosen: Option<FolderChoice>,
    /// The home folder for `~` in the paths of files that it names; none for a project's.
    pub home: Option<PathBuf>,
}

/// The package that gives a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootPackage {
    /// The folder of the package.
    pub folder: PathBuf,
    /// Set if it is the project's; otherwise it is the user's.
    pub is_projects: bool,
}

impl PlannedRoot {
    /// A root in which everything counts, and which was not looked for yet.
    fn new(root: Root, base: Option<PathBuf>) -> Self {
        Self {
            root,
            base,
            exists: false,
            flat_files: true,
            children_only: false,
            package: None,
            format: AgentFormat::Native,
            files: None,
            chosen: None,
            home: None,
        }
    }

    pub(crate) fn package_folder(&self) -> Option<&Path> {
        self.package.as_ref().map(|given| given.folder.as_path())
    }

    pub(crate) fn links(&self) -> LinkRule {
        if self.root.source.contains_links() {
            LinkRule::Contain
        } else {
            LinkRule::Follow
        }
    }

    pub(crate) fn folder(&self) -> RootFolder {
        RootFolder {
            base: self.base.clone(),
            path: self.root.path.clone(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RootPlan {
    pub(crate) roots: Vec<PlannedRoot>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

pub(crate) fn plan(kind: EntryKind, world: &World, view: &DiscoveryView) -> RootPlan {
    match (view, view.host()) {
        (DiscoveryView::Folders(folders), _) => exactly(folders),
        (_, Some(host)) => match kind {
            EntryKind::Skills => of_host(world, &host),
            EntryKind::Agents => agent_formats::of_host(world, host),
            // No host has chains that Grove knows of.
            EntryKind::Chains => RootPlan::default(),
        },
        (DiscoveryView::Own | DiscoveryView::Host(_), None) => own(kind, world),
    }
}

/// Exactly these folders, as trusted user roots.
fn exactly(folders: &[PathBuf]) -> RootPlan {
    let mut plan = RootPlan::default();
    for (order, folder) in folders.iter().enumerate() {
        plan.push_given(folder.clone(), order, RootSource::User);
    }
    plan.finish()
}

/// The folder that all hosts share. pi takes agents anywhere in it, and others keep other things there.
pub(crate) const SHARED: &str = ".agents";

/// The folders of a project or a home that are looked in, whatever the settings. Chains may stand beside agents.
const fn own_folders(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::Skills => &[".grove/skills", ".agents/skills"],
        EntryKind::Agents => &[".grove/agents", ".agents/agents", SHARED],
        EntryKind::Chains => &[
            ".grove/chains",
            ".grove/agents",
            ".agents/chains",
            ".agents/agents",
            SHARED,
        ],
    }
}

fn host_folders(kind: EntryKind, host: &Host) -> &[HostRoot] {
    match kind {
        EntryKind::Skills => &host.roots,
        EntryKind::Agents => &host.agent_roots,
        EntryKind::Chains => &host.chain_roots,
    }
}

/// Everything Grove itself looks in. Skills, agents and chains have the same places, ladder and trust. What is
/// not in the scope is not looked at, and so nothing is said of it.
pub(crate) fn own(kind: EntryKind, world: &World) -> RootPlan {
    let (environment, project, scope) = (&world.environment, &world.project, world.scope);
    let settings = &world.own_settings.settings;
    let mut plan = RootPlan::default();
    let hosts = if settings.compat_roots.value {
        hosts::all()
    } else {
        &[]
    };
    let compat = |in_project: bool| {
        let roots = hosts.iter().flat_map(|host| host_folders(kind, host));
        roots.filter(move |root| root.compat && (root.source == RootSource::Project) == in_project)
    };
    let folders: &[PathBuf] = if scope.has_project() {
        &project.folders
    } else {
        &[]
    };
    for (distance, folder) in folders.iter().enumerate() {
        let own = own_folders(kind).iter().map(|path| (*path).to_owned());
        let others = compat(true).map(|root| root.path.clone());
        let paths: Vec<String> = own.chain(others).collect();
        plan.project_folder(world, folder, distance, &paths);
    }
    let named = &world.packages.skills;
    let has_named = kind == EntryKind::Skills && settings.compat_roots.value;
    let named = named.iter().filter(|_| has_named);
    let (of_project, of_user): (Vec<_>, Vec<_>) = named.partition(|named| named.project.is_some());
    plan.named_folders(&of_project, world);
    if let Some(home) = &environment.home {
        let own = own_folders(kind).iter().map(|path| home.join(path));
        let others = compat(false).flat_map(|root| host_paths(environment, root));
        for path in own.chain(others) {
            let shown = below(&path, home);
            let standing = RootRank {
                owner: family_of(&shown),
                ..RootRank::of(RootSource::User)
            };
            let root = Root::new(RootSource::User, &shown, path);
            plan.push(
                Root {
                    rank: standing,
                    ..root
                },
                None,
            );
        }
    }
    plan.named_folders(&of_user, world);
    let managed = environment.data.join(kind.word());
    plan.push(Root::new(RootSource::Managed, kind.word(), managed), None);
    let extra = extra_folders(kind, environment, settings).into_iter();
    for (order, path) in extra.enumerate() {
        plan.push_given(path, order, RootSource::Extra);
    }
    plan.packages(kind, &world.packages);
    let is_nowhere = environment.data.starts_with(Environment::NOWHERE);
    let has_bundled = !is_nowhere || environment.bundled_dir.is_some();
    let bundled = has_bundled.then(|| bundled::folder(kind, environment));
    match bundled.flatten() {
        None => {}
        Some(Ok(path)) => plan.push(Root::new(RootSource::Bundled, kind.word(), path), None),
        Some(Err(error)) => {
            plan.diagnostics
                .push(file_error(Code::RootUnreadable, &error));
        }
    }
    let mut plan = plan.finish();
    if kind == EntryKind::Agents {
        agent_formats::assign(&mut plan, world, hosts);
    }
    plan.roots.retain(|planned| scope.has(planned));
    plan
}

/// Folders that the user added, which are never written to.
fn extra_folders(kind: EntryKind, environment: &Environment, settings: &Settings) -> Vec<PathBuf> {
    match kind {
        EntryKind::Skills => {
            let file = settings.extra_dirs.origin.as_ref();
            let from = file.and_then(|origin| origin.file.parent());
            let from = from.unwrap_or(&environment.config);
            let configured = settings.extra_dirs.value.iter();
            let configured = configured.map(|path| environment.expand(path, from));
            configured
                .chain(environment.skill_dirs.iter().cloned())
                .collect()
        }
        EntryKind::Agents | EntryKind::Chains => environment.agent_dirs.clone(),
    }
}

/// Everything another host looks in, with that host's trust: the host asks for it by itself.
fn of_host(world: &World, host: &Host) -> RootPlan {
    let (environment, project) = (&world.environment, &world.project);
    let mut plan = RootPlan::default();
    let climbed = host.scan.climbs.then(|| project.climbed(environment));
    let project = climbed.as_ref().unwrap_or(project);
    if host.scan.named_folders == NamedFolders::Pi {
        let found = &world.packages;
        plan.diagnostics.extend(found.diagnostics.iter().cloned());
        plan.named_folders_of_host(host, &found.skills, environment, project);
    }
    let is_set = |name: &String| environment.variable(name).is_some();
    for root in &host.roots {
        if root.unless_env.as_ref().is_some_and(is_set) {
            continue;
        }
        if root.source == RootSource::Project {
            plan.project_root_of_host(host, root, project);
        } else {
            plan.fixed_root_of_host(host, root, environment);
        }
    }
    for unknown in &host.unknown {
        let message = format!("{}: not known {unknown}", host.title);
        plan.diagnostics
            .push(Diagnostic::new(Code::HostUnknownRule, message));
    }
    plan.finish()
}

impl RootPlan {
    /// The same plan with folders added to the extra ones, or to exactly these.
    pub(crate) fn with_added(mut self, folders: &[PathBuf], source: RootSource) -> Self {
        let known = self.roots.iter().filter(|it| it.root.source == source);
        let orders = known.map(|it| it.root.rank.order as usize + 1);
        let next = orders.max().unwrap_or(0);
        for (order, folder) in folders.iter().enumerate() {
            self.push_given(folder.clone(), next + order, source);
        }
        self.finish()
    }

    fn project_folder(&mut self, world: &World, folder: &Path, distance: usize, paths: &[String]) {
        let project = &world.project;
        let trust = world.trust_of(folder);
        let mut any = false;
        for path in paths {
            let path_of_root = folder.join(path);
            let shown = below(&path_of_root, project.outermost().unwrap_or(folder));
            let root = Root {
                rank: RootRank {
                    distance: small(distance),
                    owner: family_of(path),
                    ..RootRank::of(RootSource::Project)
                },
                trust: trust.of_root(&path_of_root),
                ..Root::new(RootSource::Project, &shown, path_of_root)
            };
            self.push(root, Some(folder.to_path_buf()));
            any |= self.roots.last().is_some_and(|planned| planned.exists);
        }
        let new = |finding: &Diagnostic| any && !self.diagnostics.contains(finding);
        self.diagnostics.extend(trust.finding.filter(new));
    }

    fn project_root_of_host(&mut self, host: &Host, root: &HostRoot, project: &Project) {
        let levels = match root.levels {
            FolderLevels::All => project.folders.len(),
            FolderLevels::Working => 1,
        };
        for (distance, folder) in project.folders.iter().enumerate().take(levels) {
            let path = folder.join(&root.path);
            let shown = below(&path, project.outermost().unwrap_or(folder));
            let nearness = if host.identity.nearest_first {
                distance
            } else {
                0
            };
            let standing = RootRank {
                distance: small(nearness),
                ..self.next_standing(host, root.source)
            };
            self.host_root(root, path, &shown, standing, Some(folder.clone()));
        }
    }

    /// A host's root at a place of its own, or the several that a variable lists.
    fn fixed_root_of_host(&mut self, host: &Host, root: &HostRoot, environment: &Environment) {
        for path in host_paths(environment, root) {
            let shown = match &environment.home {
                Some(home) => below(&path, home),
                None => path.to_string_lossy().into_owned(),
            };
            let standing = self.next_standing(host, root.source);
            self.host_root(root, path, &shown, standing, None);
        }
    }

    /// The standing on the host's own ladder of a root that comes after all so far.
    fn next_standing(&self, host: &Host, source: RootSource) -> RootRank {
        let mut ladder = host.identity.order.iter();
        let step = ladder.position(|known| *known == source);
        RootRank {
            step: small(step.unwrap_or(usize::MAX)),
            order: small(self.roots.len()),
            ..RootRank::of(source)
        }
    }

    fn host_root(
        &mut self,
        root: &HostRoot,
        path: PathBuf,
        shown: &str,
        standing: RootRank,
        base: Option<PathBuf>,
    ) {
        let planned = Root {
            rank: standing,
            ..Root::new(root.source, shown, path)
        };
        self.add(PlannedRoot {
            flat_files: root.flat_files,
            ..PlannedRoot::new(planned, base)
        });
    }

    /// Adds a folder that was named: if it is not there, a finding says so.
    fn push_given(&mut self, folder: PathBuf, order: usize, source: RootSource) {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let standing = RootRank {
            order: small(order),
            ..RootRank::of(source)
        };
        if !files::is_folder(&folder) {
            let (code, message) = if files::is_there(&folder) {
                (Code::RootInvalid, "the root is not a folder")
            } else {
                (Code::RootUnreadable, "the root does not exist")
            };
            self.diagnostics
                .push(Diagnostic::new(code, message).in_file(&folder));
        }
        let root = Root::new(source, &name, folder);
        self.push(
            Root {
                rank: standing,
                ..root
            },
            None,
        );
    }

    fn push(&mut self, root: Root, base: Option<PathBuf>) {
        self.add(PlannedRoot::new(root, base));
    }

    /// The places of one kind that packages give; the first package goes before the others.
    fn packages(&mut self, kind: EntryKind, found: &Packages) {
        self.diagnostics.extend(found.diagnostics.iter().cloned());
        for (order, package) in found.packages.iter().enumerate() {
            for given in package.given.iter().filter(|given| given.kind == kind) {
                // Skills are recognised by the folder of their root, so that a folder is one root of skills.
                let mut known = self.roots.iter();
                let is_known = known.any(|known| known.root.path == given.path);
                if kind != EntryKind::Skills || !is_known {
                    self.add(package_root(order, package, given));
                }
            }
        }
    }

    /// Adds a root unless its path is there already, and looks whether it exists.
    fn add(&mut self, mut planned: PlannedRoot) {
        let path = &planned.root.path;
        let is_same = |known: &PlannedRoot| {
            known.root.path == *path && known.files.is_some() == planned.files.is_some()
        };
        if self.roots.iter().any(is_same) {
            return;
        }
        // A package's or a project's own path is checked again when it is opened beneath its base.
        planned.exists = files::is_folder(path);
        self.roots.push(planned);
    }

    fn finish(mut self) -> Self {
        let roots = self.roots.iter().map(|planned| planned.root.clone());
        let mut roots: Vec<Root> = roots.collect();
        make_labels_unique(&mut roots);
        for (planned, root) in self.roots.iter_mut().zip(roots) {
            planned.root = root;
        }
        self
    }
}

fn package_root(order: usize, package: &Package, given: &GivenPlace) -> PlannedRoot {
    let root = Root {
        label: given.label(package),
        path: given.path.clone(),
        source: RootSource::Package,
        rank: RootRank {
            order: small(order),
            ..RootRank::of(RootSource::Package)
        },
        trust: given.trust.clone(),
    };
    PlannedRoot {
        children_only: given.children_only,
        package: Some(RootPackage {
            folder: package.folder.clone(),
            is_projects: package.is_projects,
        }),
        format: given.format,
        files: given.files.clone(),
        chosen: given.chosen.clone(),
        ..PlannedRoot::new(root, Some(package.base.clone()))
    }
}

/// The roots of every kind that one project folder has besides the usual ones: its packages give them, or its
/// settings name them.
pub(crate) fn further_roots(
    world: &World,
    project_folder: &Path,
    project: &Path,
) -> Vec<(EntryKind, PlannedRoot)> {
    let trust = world.trust_of(project_folder);
    let found = packages::of_project(project_folder, project, &trust);
    let mut roots = Vec::new();
    for named in &found.skills {
        let named = named_folders::in_project(named, &trust).into_iter();
        roots.extend(named.map(|planned| (EntryKind::Skills, planned)));
    }
    for (order, package) in found.packages.iter().enumerate() {
        for given in &package.given {
            roots.push((given.kind, package_root(order, package, given)));
        }
    }
    roots
}

/// The folders of a host's own root: a variable lists the folders, or names the folder, or else the path does.
pub(crate) fn host_paths(environment: &Environment, root: &HostRoot) -> Vec<PathBuf> {
    if let Some(name) = &root.env_list {
        let list = environment.variable(name);
        return list.map_or_else(Vec::new, |list| listed_folders(environment, list));
    }
    let folder = root.env.as_deref();
    let folder = folder.and_then(|name| environment.folder(name));
    let last = root.path.rsplit('/').next().unwrap_or("skills");
    vec![match folder {
        Some(folder) => folder.join(last),
        // Paths of hosts begin at home.
        None => environment.expand(&root.path, Path::new(Environment::NOWHERE)),
    }]
}

/// The folders in a list with commas; what is between two commas may be blank.
fn listed_folders(environment: &Environment, list: &OsStr) -> Vec<PathBuf> {
    list.as_bytes()
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|folder| !folder.is_empty())
        .filter_map(|folder| {
            Environment::whole_folder(environment.home.as_deref(), OsStr::from_bytes(folder))
        })
        .collect()
}

/// A number, bounded by the largest that standings can hold.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A path as shown: below a folder if it is, whole otherwise.
fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// The family of hosts that a relative path belongs to.
fn family_of(path: &str) -> RootOwner {
    let path = path.trim_start_matches(".config/");
    match path.split('/').next().unwrap_or(path) {
        ".grove" => RootOwner::Grove,
        ".agents" => RootOwner::Agents,
        other => RootOwner::Host(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_by_folder() {
        for (path, family) in [
            (".grove/skills", RootOwner::Grove),
            (".agents/skills", RootOwner::Agents),
            (".claude/skills", RootOwner::Host(".claude".into())),
            (
                ".config/opencode/skills",
                RootOwner::Host("opencode".into()),
            ),
        ] {
            assert_eq!(family_of(path), family);
        }
    }

    #[test]
    fn a_list_of_folders_with_commas() {
        let environment = Environment::for_home("/home/me".into(), "/elsewhere".into());
        for (list, folders) in [
            (&b"/a"[..], &["/a"][..]),
            (b"/a,/b", &["/a", "/b"]),
            (b" /a , ,/b c,", &["/a", "/b c"]),
            // A relative one would be another folder wherever Grove runs.
            (b"~/x,y,./z", &["/home/me/x"]),
            (b",", &[]),
        ] {
            let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            let found = listed_folders(&environment, OsStr::from_bytes(list));
            assert_eq!(found, expected);
        }
        let odd = listed_folders(&environment, OsStr::from_bytes(b"/a,/\xff"));
        assert_eq!(odd[1].as_os_str().as_bytes(), b"/\xff");
    }
}
