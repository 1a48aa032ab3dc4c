//! Which folders to look in for agents: the same places, ladder and trust as for skills.

use std::path::PathBuf;

use grove_catalog::hosts;
use grove_catalog::root::{Source, Standing};
use grove_catalog::trust::Trust;
use grove_fs::trust_store::TrustStore;
use grove_spec::config::Settings;
use grove_spec::{Code, Diagnostic};

use super::{Plan, below, family_of, host_paths};
use crate::bundled;
use crate::environment::Environment;
use crate::project::Project;

/// The folder that all hosts share. pi takes agents anywhere in it, and others keep other things there.
const SHARED: &str = ".agents";

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
    for (distance, folder) in project.folders.iter().enumerate() {
        let mut paths: Vec<String> = OWN.map(str::to_owned).to_vec();
        paths.extend(of_hosts(true).map(|root| root.path.clone()));
        plan.project_folder(project, folder, distance, &paths, store);
    }
    if let Some(home) = &environment.home {
        let mut paths: Vec<PathBuf> = OWN.map(|path| home.join(path)).to_vec();
        paths.extend(of_hosts(false).flat_map(|root| host_paths(environment, root)));
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
        return plan.finish();
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
    plan.finish()
}
