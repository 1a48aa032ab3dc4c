//! The hosts that are used on this machine.

use grove_catalog::hosts::{self, Host};
use grove_catalog::root::RootSource;
use grove_fs::{files, programs};

use crate::environment::Environment;
use crate::environment_variables;
use crate::planning::{SHARED, host_paths};

/// The hosts whose program is on the path, or which have a folder of their own at home.
pub fn found(environment: &Environment) -> Vec<Host> {
    let all = hosts::all().iter();
    let found = all.filter(|host| is_found(environment, host));
    found.cloned().collect()
}

fn is_found(environment: &Environment, host: &Host) -> bool {
    let search_path = environment.variables.get(environment_variables::PATH);
    let program = search_path.and_then(|path| programs::find(&host.name, path));
    program.is_some() || has_folder(environment, host)
}

/// Returns true if the folder is there in which a host keeps its first root that it shares with no other host.
fn has_folder(environment: &Environment, host: &Host) -> bool {
    let shared = format!("~/{SHARED}/");
    let mut roots = host.roots.iter();
    let own = roots.find(|root| {
        root.source != RootSource::Project
            && root.path.starts_with("~/")
            && !root.path.starts_with(&shared)
    });
    let paths = own.map(|root| host_paths(environment, root));
    let mut paths = paths.into_iter().flatten();
    paths.any(|path| path.parent().is_some_and(files::is_folder))
}
