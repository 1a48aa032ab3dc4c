//! Every environment variable Grove reads, once, and the environment made of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use grove_skills::Environment;

/// A variable as documented.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

const fn variable(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about }
}

/// All variables in the order of the reference page. Hosts' own variables come from their files.
pub(crate) const VARIABLES: &[Variable] = &[
    variable(
        "HOME",
        "The home folder. Without it there are no user roots.",
    ),
    variable(
        "XDG_CONFIG_HOME",
        "Where the configuration is: `grove/config.toml` below it; `~/.config` by default.",
    ),
    variable(
        "XDG_STATE_HOME",
        "Where trust grants and the record of used skills are kept: `grove` below it; `~/.local/state` by default.",
    ),
    variable(
        "XDG_DATA_HOME",
        "Where managed and bundled skills are: `grove` below it; `~/.local/share` by default.",
    ),
    variable(
        "XDG_CACHE_HOME",
        "Where the cache is: `grove` below it; `~/.cache` by default.",
    ),
    variable(
        "GROVE_SKILL_DIRS",
        "Further folders with skills, separated like PATH. They are never written to.",
    ),
    variable(
        "GROVE_AGENT_DIRS",
        "Further folders with agents, separated like PATH. They are never written to.",
    ),
    variable(
        "PI_SUBAGENT_EXTRA_AGENT_DIRS",
        "pi's name for further folders with agents; they come after those of `GROVE_AGENT_DIRS`.",
    ),
    variable(
        "GROVE_BUNDLED_DIR",
        "A folder to use in place of the bundled skills.",
    ),
    variable(
        "npm_config_prefix",
        "Where npm installs for everybody: packages are in `lib/node_modules` below it. `NPM_CONFIG_PREFIX` is the same; otherwise `prefix` of `~/.npmrc` says it, or where `node` is.",
    ),
    variable("PATH", "Where required programs are looked for."),
    variable(
        "TMPDIR",
        "The temporary folder, which is never a project; `/tmp` by default.",
    ),
    variable(
        "COLUMNS",
        "How wide tables may be; the terminal's width by default.",
    ),
];

/// Reads the process environment once.
pub(crate) fn read() -> Environment {
    let variables: BTreeMap<String, OsString> = std::env::vars_os()
        .filter_map(|(name, value)| name.into_string().ok().map(|name| (name, value)))
        .collect();
    let working = std::env::current_dir().unwrap_or_default();
    from(variables, working)
}

fn from(variables: BTreeMap<String, OsString>, working: PathBuf) -> Environment {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let home = set("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    // The XDG rules say that a relative path counts as unset.
    let folder = |name: &str, default: &str| {
        set(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| home.as_deref().map(|home| home.join(default)))
            .map(|base| base.join("grove"))
    };
    let nowhere = || PathBuf::from(Environment::NOWHERE);
    // Later commands may run elsewhere, so a relative path is made absolute once, here.
    let absolute = |path: PathBuf| working.join(path);
    let listed = |name: &str| -> Vec<PathBuf> {
        let folders = set(name).into_iter().flat_map(std::env::split_paths);
        folders
            .map(trimmed)
            .filter(|folder| !folder.as_os_str().is_empty())
            .map(absolute)
            .collect()
    };
    Environment {
        config: folder("XDG_CONFIG_HOME", ".config").unwrap_or_else(nowhere),
        state: folder("XDG_STATE_HOME", ".local/state").unwrap_or_else(nowhere),
        data: folder("XDG_DATA_HOME", ".local/share").unwrap_or_else(nowhere),
        cache: folder("XDG_CACHE_HOME", ".cache"),
        temporary: set("TMPDIR")
            .map_or_else(|| PathBuf::from("/tmp"), |path| absolute(path.into())),
        bundled_dir: set("GROVE_BUNDLED_DIR").map(|path| absolute(path.into())),
        skill_dirs: listed("GROVE_SKILL_DIRS"),
        agent_dirs: [
            listed("GROVE_AGENT_DIRS"),
            listed("PI_SUBAGENT_EXTRA_AGENT_DIRS"),
        ]
        .concat(),
        os: std::env::consts::OS.to_owned(),
        home,
        working,
        variables,
    }
}

/// A folder of a list without the blanks around it.
fn trimmed(folder: PathBuf) -> PathBuf {
    match folder.to_str() {
        Some(text) => text.trim().into(),
        None => folder,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn xdg_folders_and_their_defaults() {
        let environment = |pairs: &[(&str, &str)]| {
            from(
                pairs
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
                    .collect(),
                "/w".into(),
            )
        };
        let plain = environment(&[("HOME", "/h")]);
        assert_eq!(plain.config, Path::new("/h/.config/grove"));
        assert_eq!(plain.cache.as_deref(), Some(Path::new("/h/.cache/grove")));
        let set = environment(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "relative"),
            ("GROVE_SKILL_DIRS", "/a::/b"),
        ]);
        assert_eq!(set.config, Path::new("/c/grove"));
        assert_eq!(
            set.state,
            Path::new("/h/.local/state/grove"),
            "a relative path counts as unset"
        );
        assert_eq!(set.skill_dirs, [Path::new("/a"), Path::new("/b")]);
        assert_eq!(environment(&[]).cache, None);
    }
}
