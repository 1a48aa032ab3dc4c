//! Which hosts are used on this machine.

use grove_catalog::hosts::{self, Host};
use grove_catalog::root::Source;
use grove_fs::{files, programs};

use crate::environment::Environment;
use crate::environment_variables;
use crate::planning::{SHARED, host_paths};

/// The hosts whose program is on the path, or which have a folder of their own at home.
pub fn found(environment: &Environment) -> Vec<Host> {
    let all = hosts::all().into_iter();
    all.filter(|host| is_found(environment, host)).collect()
}

fn is_found(environment: &Environment, host: &Host) -> bool {
    let search_path = environment.variables.get(environment_variables::PATH);
    let program = search_path.and_then(|path| programs::find(&host.name, path));
    program.is_some() || has_folder(environment, host)
}

/// Whether there is the folder in which a host keeps its first root that is nobody else's.
fn has_folder(environment: &Environment, host: &Host) -> bool {
    let shared = format!("~/{SHARED}/");
    let mut roots = host.roots.iter();
    let own = roots.find(|root| {
        root.source != Source::Project
            && root.path.starts_with("~/")
            && !root.path.starts_with(&shared)
    });
    let paths = own.map(|root| host_paths(environment, root));
    let mut paths = paths.into_iter().flatten();
    paths.any(|path| path.parent().is_some_and(files::is_folder))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn names(environment: &Environment) -> Vec<String> {
        let found = found(environment).into_iter();
        found.map(|host| host.name).collect()
    }

    #[test]
    fn a_host_is_found_by_its_program_or_by_a_folder_that_is_its_own() {
        let home = tempfile::tempdir().unwrap();
        let mut environment = Environment::for_home(home.path().into(), home.path().into());
        environment.variables = BTreeMap::new();
        assert!(names(&environment).is_empty());
        // What hosts share, and what another one reads too, is nobody's sign.
        std::fs::create_dir_all(home.path().join(".agents/skills")).unwrap();
        assert!(names(&environment).is_empty());
        for (folder, host) in [
            (".claude", "claude"),
            (".codex", "codex"),
            (".copilot", "copilot"),
            (".gemini", "gemini"),
            (".openclaw", "openclaw"),
            (".config/opencode", "opencode"),
            (".pi/agent", "pi"),
        ] {
            let folder = home.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            assert_eq!(names(&environment), [host]);
            std::fs::remove_dir_all(folder).unwrap();
        }
        let program = home.path().join("codex");
        std::fs::write(&program, "").unwrap();
        let path = ("PATH".to_owned(), home.path().as_os_str().to_owned());
        environment.variables.extend([path]);
        assert!(names(&environment).is_empty(), "a file is no program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        assert_eq!(names(&environment), ["codex"]);
    }
}
