//! The folder of npm's global packages, found without starting npm.
//!
//! npm takes its prefix from a variable, from the user's `.npmrc`, or from the place of node. A project's `.npmrc` is
//! not asked: a project must not say where the user's packages are.

use std::path::{Path, PathBuf};

use grove_fs::{files, programs};

use crate::environment::Environment;
use crate::environment_variables::{NPM_CONFIG_PREFIX, NPM_CONFIG_PREFIX_IN_CAPITALS, PATH};

const MAX_NPMRC_BYTES: u64 = 100_000;
/// The folder of packages below a prefix.
const MODULES: &str = "lib/node_modules";

/// The folder of global packages, whether it is there or not; none when nothing says where.
pub(super) fn find(environment: &Environment) -> Option<PathBuf> {
    let prefix = from_variable(environment)
        .or_else(|| from_npmrc(environment))
        .or_else(|| from_node(environment))?;
    prefix.is_absolute().then(|| prefix.join(MODULES))
}

fn from_variable(environment: &Environment) -> Option<PathBuf> {
    [NPM_CONFIG_PREFIX, NPM_CONFIG_PREFIX_IN_CAPITALS]
        .into_iter()
        .find_map(|name| environment.variable(name))
        .map(PathBuf::from)
}

fn from_npmrc(environment: &Environment) -> Option<PathBuf> {
    let home = environment.home.as_deref()?;
    let bytes = files::read_bounded(&home.join(".npmrc"), MAX_NPMRC_BYTES).ok()?;
    prefix_in(&String::from_utf8_lossy(&bytes), home)
}

fn prefix_in(text: &str, home: &Path) -> Option<PathBuf> {
    let value = text.lines().rev().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "prefix").then(|| value.trim().trim_matches(['"', '\'']))
    });
    let value = value.filter(|value| !value.is_empty())?;
    for start in ["~/", "${HOME}/"] {
        if let Some(below) = value.strip_prefix(start) {
            return Some(home.join(below));
        }
    }
    Some(PathBuf::from(value))
}

/// The prefix from the real path of the program, which ends with `<prefix>/bin/node`.
fn from_node(environment: &Environment) -> Option<PathBuf> {
    let search_path = environment.variable(PATH)?;
    let node = programs::find("node", search_path)?;
    let node = files::canonical(&node).unwrap_or(node);
    let folder = node.parent()?;
    let in_bin = folder.file_name().is_some_and(|name| name == "bin");
    in_bin
        .then(|| folder.parent())
        .flatten()
        .map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_prefix_of_an_npmrc() {
        for (text, expected) in [
            ("", None),
            ("prefix=/p", Some("/p")),
            ("; prefix=/no\nregistry=x\n prefix = \"/p\" \n", Some("/p")),
            ("prefix=/a\nprefix=/b", Some("/b")),
            ("prefix=~/.npm", Some("/home/me/.npm")),
            ("prefix=${HOME}/x", Some("/home/me/x")),
            ("prefix=", None),
            ("save-prefix=^", None),
        ] {
            let found = prefix_in(text, Path::new("/home/me"));
            assert_eq!(found, expected.map(PathBuf::from), "{text:?}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes a program")]
    fn a_variable_goes_before_the_file_and_the_file_before_node() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let mut environment = Environment::for_home(home.clone(), home.clone());
        assert_eq!(find(&environment), None);
        for path in ["real/bin", "bin"] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        let node = home.join("real/bin/node");
        std::fs::write(&node, "").unwrap();
        std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&node, home.join("bin/node")).unwrap();
        let mut set = |name: &str, value: &Path| {
            let value = OsString::from(value);
            environment.variables.insert(name.to_owned(), value);
            find(&environment)
        };
        let found = set("PATH", &home.join("bin"));
        assert_eq!(found, Some(home.join("real/lib/node_modules")));
        std::fs::write(home.join(".npmrc"), "prefix=/from-file\n").unwrap();
        let found = set("OTHER", Path::new("x"));
        assert_eq!(found, Some(PathBuf::from("/from-file/lib/node_modules")));
        let found = set("npm_config_prefix", Path::new("/from-variable"));
        assert_eq!(
            found,
            Some(PathBuf::from("/from-variable/lib/node_modules"))
        );
    }
}
