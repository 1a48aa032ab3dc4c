//! The variables that commands get, and those among them that name a tool chain that a secluded command may read.

#[derive(Clone, Copy, PartialEq, Eq)]
enum VariableKind {
    /// Plain words, which make nothing readable.
    Words,
    /// The folder of a tool chain, which is readable.
    Folder,
}

use VariableKind::{Folder, Words};

/// Every variable that a command gets. A list of those to leave out would never be complete: keys have any name.
const VARIABLES: &[(&str, VariableKind)] = &[
    // The person and the usual folders.
    ("HOME", Words),
    ("LOGNAME", Words),
    ("PATH", Words),
    ("SHELL", Words),
    ("TMPDIR", Words),
    ("USER", Words),
    // Language, terminal, time and folders of settings.
    ("CI", Words),
    ("COLUMNS", Words),
    ("FORCE_COLOR", Words),
    ("LANG", Words),
    ("LANGUAGE", Words),
    ("NO_COLOR", Words),
    ("SOURCE_DATE_EPOCH", Words),
    ("TERM", Words),
    ("TZ", Words),
    ("XDG_CACHE_HOME", Words),
    ("XDG_CONFIG_HOME", Words),
    ("XDG_DATA_HOME", Words),
    ("XDG_STATE_HOME", Words),
    // Places and versions of tool chains.
    ("ANDROID_HOME", Folder),
    ("ASDF_DATA_DIR", Folder),
    ("BUN_INSTALL", Folder),
    ("CARGO_HOME", Folder),
    ("CONDA_PREFIX", Folder),
    ("DENO_DIR", Folder),
    ("DOTNET_ROOT", Folder),
    ("FNM_DIR", Folder),
    ("GEM_HOME", Folder),
    ("GOPATH", Folder),
    ("GOROOT", Folder),
    ("GOTOOLCHAIN", Words),
    ("JAVA_HOME", Folder),
    ("MAVEN_HOME", Folder),
    ("MISE_DATA_DIR", Folder),
    ("NODE_ENV", Words),
    ("NVM_DIR", Folder),
    ("PNPM_HOME", Folder),
    ("PYENV_ROOT", Folder),
    ("PYENV_VERSION", Words),
    ("RBENV_ROOT", Folder),
    ("RBENV_VERSION", Words),
    ("RUSTFLAGS", Words),
    ("RUSTUP_HOME", Folder),
    ("RUSTUP_TOOLCHAIN", Words),
    ("SDKMAN_DIR", Folder),
    ("VIRTUAL_ENV", Folder),
    ("VOLTA_HOME", Folder),
    // Settings of builds.
    ("AR", Words),
    ("CC", Words),
    ("CFLAGS", Words),
    ("CXX", Words),
    ("CXXFLAGS", Words),
    ("LDFLAGS", Words),
    ("LD_LIBRARY_PATH", Words),
    ("MAKEFLAGS", Words),
    ("PKG_CONFIG_PATH", Words),
    ("SSL_CERT_DIR", Words),
    ("SSL_CERT_FILE", Words),
];

/// The variable with the folders in which programs are looked for.
const PATH: &str = "PATH";

/// Returns the variables of an environment that commands get. A relative folder in `PATH` is left out: it would be one of the
/// work, with programs that a child made.
pub fn allowed_variables(environment: &[(String, String)]) -> Vec<(String, String)> {
    let is_allowed =
        |name: &str| name.starts_with("LC_") || VARIABLES.iter().any(|(known, _)| *known == name);
    let allowed = environment.iter().filter(|(name, _)| is_allowed(name));
    let absolute = |(name, value): &(String, String)| {
        let folders = value.split(':').filter(|folder| folder.starts_with('/'));
        let value = match name.as_str() {
            PATH => folders.collect::<Vec<_>>().join(":"),
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    allowed.map(absolute).collect()
}

pub(super) fn named_folders(environment: &[(String, String)]) -> impl Iterator<Item = &str> {
    let is_folder = |name: &str| VARIABLES.contains(&(name, Folder));
    let named = environment.iter().filter(move |(name, _)| is_folder(name));
    named.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_left_out_whatever_their_names_are() {
        let given = |names: &[&str]| -> Vec<(String, String)> {
            let pair = |name: &&str| ((*name).to_owned(), "/x".to_owned());
            names.iter().map(pair).collect()
        };
        let kept = ["PATH", "LC_ALL", "CARGO_HOME"];
        let left_out = [
            "OPENAI_API_KEY",
            "MY_PASSWORD",
            "SSH_AUTH_SOCK",
            "PATHS",
            "XDG_RUNTIME_DIR",
            "LD_PRELOAD",
        ];
        let all = given(&[kept.as_slice(), left_out.as_slice()].concat());
        assert_eq!(allowed_variables(&all), given(&kept));
        assert_eq!(named_folders(&all).collect::<Vec<_>>(), ["/x"]);
    }

    #[test]
    fn no_program_is_looked_for_in_a_relative_folder() {
        let path = |value: &str| vec![("PATH".to_owned(), value.to_owned())];
        for (given, kept) in [
            ("./node_modules/.bin:/usr/bin:bin:/bin", "/usr/bin:/bin"),
            (".:/bin::", "/bin"),
            ("/opt/own tools/bin", "/opt/own tools/bin"),
        ] {
            assert_eq!(allowed_variables(&path(given)), path(kept));
        }
    }
}
