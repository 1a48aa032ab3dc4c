//! Which folders to look in for agents: the same places, ladder and trust as for skills.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_catalog::hosts::{self, AgentRules, Host};
use grove_catalog::root::{Source, Standing};
use grove_catalog::trust::Trust;
use grove_fs::files;
use grove_fs::trust_store::TrustStore;
use grove_spec::agent::Format;
use grove_spec::config::Settings;
use grove_spec::{Code, Diagnostic};

use super::{Plan, PlannedRoot, below, family_of, host_paths};
use crate::bundled;
use crate::environment::Environment;
use crate::project::Project;

/// The folder that all hosts share. pi takes agents anywhere in it, and others keep other things there.
pub(crate) const SHARED: &str = ".agents";

/// The folders of a project or a home that are looked in, whatever the settings.
const OWN: [&str; 3] = [".grove/agents", ".agents/agents", SHARED];

/// Everything Grove looks in for agents.
pub(crate) fn own(
    environment: &Environment,
    settings: &Settings,
    project: &Project,
    store: &TrustStore,
) -> Plan {
    let mut plan = Plan::default();
    let hosts = if settings.compat_roots.value {
        hosts::all()
    } else {
        Vec::new()
    };
    let of_hosts = |in_project: bool| {
        let roots = hosts.iter().flat_map(|host| &host.agent_roots);
        roots.filter(move |root| root.compat && (root.source == Source::Project) == in_project)
    };
    let mut formats = Formats::new();
    for (distance, folder) in project.folders.iter().enumerate() {
        let mut paths: Vec<String> = OWN.map(str::to_owned).to_vec();
        for root in of_hosts(true) {
            formats.insert(folder.join(&root.path), root.format);
            paths.push(root.path.clone());
        }
        plan.project_folder(project, folder, distance, &paths, store);
    }
    if let Some(home) = &environment.home {
        let mut paths: Vec<PathBuf> = OWN.map(|path| home.join(path)).to_vec();
        for root in of_hosts(false) {
            let found = host_paths(environment, root);
            formats.extend(found.iter().map(|path| (path.clone(), root.format)));
            paths.extend(found);
        }
        for path in paths {
            let shown = below(&path, home);
            let standing = Standing {
                family: family_of(&shown),
                ..Standing::of(Source::User)
            };
            let label = format!("user:{shown}");
            plan.push(label, path, Source::User, standing, Trust::Trusted, None);
        }
    }
    plan.push(
        "managed:agents".to_owned(),
        environment.data.join("agents"),
        Source::Managed,
        Standing::of(Source::Managed),
        Trust::Trusted,
        None,
    );
    for (order, path) in environment.agent_dirs.iter().enumerate() {
        plan.push_given(path.clone(), order, Source::Extra);
    }
    if environment.data.starts_with(Environment::NOWHERE) {
        return with_formats(plan.finish(), &formats);
    }
    match bundled::agents(environment) {
        Ok(path) => plan.push(
            "bundled:agents".to_owned(),
            path,
            Source::Bundled,
            Standing::of(Source::Bundled),
            Trust::Trusted,
            None,
        ),
        Err(error) => plan.diagnostics.push(
            Diagnostic::new(Code::RootUnreadable, format!("{error}: {}", error.source))
                .in_file(&error.path),
        ),
    }
    with_formats(plan.finish(), &formats)
}

/// Everything another host looks in for agents, with that host's trust.
pub(crate) fn of_host(
    environment: &Environment,
    host: Host,
    rules: &AgentRules,
    project: &Project,
) -> Plan {
    let mut formats = Formats::new();
    for root in &host.agent_roots {
        let paths = if root.source == Source::Project {
            let folders = project.climbed(environment).folders;
            folders
                .iter()
                .map(|folder| folder.join(&root.path))
                .collect()
        } else {
            host_paths(environment, root)
        };
        formats.extend(paths.into_iter().map(|path| (path, root.format)));
    }
    // The rules about skills with what differs for agents in their place.
    let mut host = host;
    host.roots = std::mem::take(&mut host.agent_roots);
    host.identity.order.clone_from(&rules.order);
    host.identity.nearest_first = true;
    host.scan.climbs = rules.climbs;
    host.unknown.clear();
    let mut plan = with_formats(super::of_host(environment, &host, project), &formats);
    plan.diagnostics.extend(
        rules
            .not_followed
            .iter()
            .map(|rule| Diagnostic::new(Code::HostUnknownRule, format!("{}: {rule}", host.title))),
    );
    plan
}

/// How agents are written in a place.
type Formats = BTreeMap<PathBuf, Format>;

/// Says of every root how agents are written there; the path of settings becomes their folder and their name.
fn with_formats(mut plan: Plan, formats: &Formats) -> Plan {
    for planned in &mut plan.roots {
        let path = &planned.root.path;
        let Some(format) = formats.get(path) else {
            continue;
        };
        planned.format = *format;
        if format.is_settings() {
            as_settings(planned);
        }
    }
    plan
}

fn as_settings(planned: &mut PlannedRoot) {
    let path = planned.root.path.clone();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let name = name.to_string_lossy().into_owned();
    planned.exists = files::is_file(&path);
    planned.root.path = folder.to_path_buf();
    if let Trust::Pinned { prefix, .. } = &mut planned.root.trust
        && let Some(above) = prefix.strip_suffix(&format!("{name}/"))
    {
        *prefix = above.to_owned();
    }
    // An agent's own file goes before what settings say in the same place.
    let order = &mut planned.root.standing.order;
    *order = order.saturating_add(1);
    planned.file = Some(name);
}
