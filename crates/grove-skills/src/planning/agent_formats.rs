//! The format of agents in each place that is looked in, and the places in which another host looks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_catalog::hosts::{AgentRules, Host, NamedFolders};
use grove_catalog::root::RootSource;
use grove_catalog::trust::RootTrust;
use grove_fs::files;
use grove_spec::agent::{AgentFormat, formats};
use grove_spec::{Code, Diagnostic};

use super::{PlannedRoot, RootPlan, host_paths};
use crate::environment::Environment;
use crate::project::Project;
use crate::world::World;

/// Sets the format of agents for Grove's own roots; other kinds have one format.
pub(super) fn assign(plan: &mut RootPlan, world: &World, hosts: &[Host]) {
    let mut formats = Formats::new();
    for host in hosts {
        let of_host = formats_of(host, &world.environment, &world.project, |compat| compat);
        formats.extend(of_host);
    }
    with_formats(plan, &formats, &world.environment);
}

/// Everything another host looks in for agents, with that host's trust; nothing where its rules are not known.
pub(super) fn of_host(world: &World, host: Host) -> RootPlan {
    let Some(rules) = AgentRules::by_name(&host.name) else {
        return RootPlan::default();
    };
    let environment = &world.environment;
    let climbed = world.project.climbed(environment);
    let formats = formats_of(&host, environment, &climbed, |_| true);
    // The rules about skills with what differs for agents in their place.
    let mut host = host;
    host.roots = std::mem::take(&mut host.agent_roots);
    host.identity.order.clone_from(&rules.order);
    host.identity.nearest_first = true;
    host.scan.climbs = rules.climbs;
    host.scan.named_folders = NamedFolders::Nowhere;
    host.unknown.clear();
    let mut plan = super::of_host(world, &host);
    with_formats(&mut plan, &formats, environment);
    if rules.asks_trust {
        take_trust(&mut plan, &host, world);
    }
    plan.diagnostics.extend(
        rules
            .not_followed
            .iter()
            .map(|rule| Diagnostic::new(Code::HostUnknownRule, format!("{}: {rule}", host.title))),
    );
    plan
}

const MAX_SETTINGS: u64 = 1_000_000;

/// Takes trust from the roots in folders of a project that a host's settings do not trust: a folder by itself, or else the
/// whole project.
fn take_trust(plan: &mut RootPlan, host: &Host, world: &World) {
    let mut settings = host.roots.iter();
    let settings =
        settings.find(|root| root.source == RootSource::User && root.format.is_settings());
    let path = settings.and_then(|root| host_paths(&world.environment, root).into_iter().next());
    let bytes = path.and_then(|path| files::read_bounded(&path, MAX_SETTINGS).ok());
    let said = bytes.map_or_else(Vec::new, |bytes| formats::trusted_projects(&bytes));
    let is_trusted = |folder: &Path| {
        let folder = files::canonical(folder).unwrap_or_else(|_| folder.to_path_buf());
        let mut said = said.iter();
        said.find(|(path, _)| Path::new(path) == folder)
            .map(|(_, is_trusted)| *is_trusted)
    };
    let of_project = world.project.outermost().and_then(is_trusted);
    for planned in &mut plan.roots {
        let folder = planned.base.as_deref();
        if planned.root.source == RootSource::Project
            && folder.and_then(is_trusted).or(of_project) != Some(true)
        {
            let host = host.title.clone();
            planned.root.trust = RootTrust::NotByHost { host };
        }
    }
}

type Formats = BTreeMap<PathBuf, AgentFormat>;

fn formats_of(
    host: &Host,
    environment: &Environment,
    project: &Project,
    counts: impl Fn(bool) -> bool,
) -> Formats {
    let mut formats = Formats::new();
    for root in host.agent_roots.iter().filter(|root| counts(root.compat)) {
        let paths = if root.source == RootSource::Project {
            let folders = project.folders.iter();
            folders.map(|folder| folder.join(&root.path)).collect()
        } else {
            host_paths(environment, root)
        };
        formats.extend(paths.into_iter().map(|path| (path, root.format)));
    }
    formats
}

/// Sets the format of agents for every root; the path of settings becomes their folder and their name.
fn with_formats(plan: &mut RootPlan, formats: &Formats, environment: &Environment) {
    for planned in &mut plan.roots {
        let path = &planned.root.path;
        let Some(format) = formats.get(path) else {
            continue;
        };
        planned.format = *format;
        if format.is_settings() {
            as_settings(planned);
            // A project's files reach nothing outside of the project.
            let is_users = planned.root.source == RootSource::User;
            planned.home = environment.home.clone().filter(|_| is_users);
        }
    }
}

fn as_settings(planned: &mut PlannedRoot) {
    let path = planned.root.path.clone();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let name = name.to_string_lossy().into_owned();
    planned.exists = files::is_file(&path);
    planned.root.path = folder.to_path_buf();
    if let RootTrust::Pinned { prefix, .. } = &mut planned.root.trust
        && let Some(above) = prefix.strip_suffix(&format!("{name}/"))
    {
        *prefix = above.to_owned();
    }
    // An agent's own file goes before what settings say in the same place.
    let order = &mut planned.root.rank.order;
    *order = order.saturating_add(1);
    planned.files = Some(vec![name]);
}
