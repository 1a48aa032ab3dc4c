//! The environment of the process, as Grove reads it once: its variables and its working folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use grove_skills::search::MeaningsFile;
use grove_skills::{Environment, environment_variables as names};

pub(crate) fn read() -> Environment {
    let variables: BTreeMap<String, OsString> = std::env::vars_os()
        .filter_map(|(name, value)| name.into_string().ok().map(|name| (name, value)))
        .collect();
    let working = std::env::current_dir().unwrap_or_default();
    from(variables, working)
}

fn from(variables: BTreeMap<String, OsString>, working: PathBuf) -> Environment {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let home = set(names::HOME)
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
    // A relative folder would be another one wherever Grove runs; the library says which are refused.
    let whole = |folder: &OsStr| Environment::whole_folder(home.as_deref(), folder);
    let listed = |name: &str| -> Vec<PathBuf> {
        let folders = set(name).into_iter().flat_map(std::env::split_paths);
        folders
            .map(trimmed)
            .filter_map(|folder| whole(folder.as_os_str()))
            .collect()
    };
    let data = folder(names::XDG_DATA_HOME, ".local/share").unwrap_or_else(nowhere);
    Environment {
        meanings: meanings(&data),
        config: folder(names::XDG_CONFIG_HOME, ".config").unwrap_or_else(nowhere),
        state: folder(names::XDG_STATE_HOME, ".local/state").unwrap_or_else(nowhere),
        data,
        cache: folder(names::XDG_CACHE_HOME, ".cache"),
        temporary: set(names::TMPDIR)
            .and_then(|folder| whole(folder))
            .unwrap_or_else(|| PathBuf::from("/tmp")),
        bundled_dir: set(names::GROVE_BUNDLED_DIR).and_then(|folder| whole(folder)),
        skill_dirs: listed(names::GROVE_SKILL_DIRS),
        agent_dirs: [
            listed(names::GROVE_AGENT_DIRS),
            listed(names::PI_SUBAGENT_EXTRA_AGENT_DIRS),
        ]
        .concat(),
        os: std::env::consts::OS.to_owned(),
        home,
        working,
        variables,
    }
}

/// The table of meanings: beside the program, in the folder of shared files beside the program's, or in Grove's data folder.
#[cfg(feature = "meaning")]
fn meanings(data: &Path) -> Option<MeaningsFile> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let shared = beside
        .and_then(Path::parent)
        .map(|folder| folder.join("share/grove"));
    let folders = [beside, shared.as_deref(), Some(data)];
    let file = grove_meaning::find(folders.into_iter().flatten())?;
    Some(MeaningsFile::new(file, |path| {
        Ok(grove_meaning::open_file(path)?)
    }))
}

#[cfg(not(feature = "meaning"))]
fn meanings(_: &Path) -> Option<MeaningsFile> {
    None
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
            ("GROVE_SKILL_DIRS", "/a::/b:skills:./x:~/c"),
            ("GROVE_BUNDLED_DIR", "bundled"),
            ("TMPDIR", "tmp"),
        ]);
        assert_eq!(set.config, Path::new("/c/grove"));
        assert_eq!(
            set.state,
            Path::new("/h/.local/state/grove"),
            "a relative path counts as unset"
        );
        let whole = ["/a", "/b", "/h/c"].map(Path::new);
        assert_eq!(set.skill_dirs, whole, "a relative folder is refused");
        assert_eq!(set.bundled_dir, None);
        assert_eq!(set.temporary, Path::new("/tmp"));
        assert_eq!(environment(&[]).cache, None);
    }
}
