//! The paths that a secluded tree may read: the system, the person's tool chains, the folders that its task is about;
//! except those among them that hold a secret.
//!
//! Rules of the kernel only add permissions, so a folder with a secret in it is allowed entry by entry.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlink, statat,
};
use rustix::io::Errno;

use super::variables::named_folders;
use super::{Sandbox, Seclusion};
use crate::processes::read_proc;

const SYSTEM: &[(&str, &str)] = &[
    ("/usr", "programs and libraries"),
    ("/bin", "programs"),
    ("/sbin", "programs"),
    ("/lib", "libraries"),
    ("/lib32", "libraries"),
    ("/lib64", "libraries"),
    ("/opt", "programs that came by themselves"),
    ("/nix", "programs and libraries of Nix"),
    ("/gnu/store", "programs and libraries of Guix"),
    ("/snap", "programs of snaps"),
    ("/home/linuxbrew/.linuxbrew", "programs of Homebrew"),
    ("/run/current-system", "programs of NixOS"),
    ("/etc", "settings of programs"),
    ("/run/systemd/resolve", "where names are looked up"),
    (
        "/run/NetworkManager/resolv.conf",
        "where names are looked up",
    ),
    ("/var/lib/ghc", "the packages of a compiler"),
    (
        "/proc",
        "the own processes; of others the kernel shows no memory and no environment",
    ),
    ("/sys/devices/system", "how many processors there are"),
    ("/sys/fs/cgroup", "how much memory there is"),
    ("/dev/null", "swallows bytes"),
    ("/dev/zero", "makes bytes"),
    ("/dev/full", "swallows nothing"),
    ("/dev/random", "makes bytes"),
    ("/dev/urandom", "makes bytes"),
    ("/dev/tty", "the own terminal, where there is one"),
];

/// The readable tool chains below a home folder.
const TOOL_CHAINS: &[(&str, &str)] = &[
    (".cargo", "Rust"),
    (".rustup", "Rust"),
    ("go", "Go"),
    (".cache/go-build", "Go"),
    (".nvm", "Node"),
    (".fnm", "Node"),
    (".volta", "Node"),
    (".npm", "packages of Node"),
    (".local/share/pnpm", "packages of Node"),
    (".cache/yarn", "packages of Node"),
    (".cache/ms-playwright", "browsers for tests"),
    (".bun", "Bun"),
    (".deno", "Deno"),
    (".cache/deno", "Deno"),
    (".pyenv", "Python"),
    (".local/share/uv", "Python"),
    (".cache/uv", "packages of Python"),
    (".cache/pip", "packages of Python"),
    (".cache/pypoetry", "packages of Python"),
    (".conda", "Python"),
    ("miniconda3", "Python"),
    (".rbenv", "Ruby"),
    (".gem", "Ruby"),
    (".m2", "packages of Java"),
    (".gradle", "packages of Java"),
    (".sdkman", "Java"),
    (".dotnet", ".NET"),
    (".nuget/packages", "packages of .NET"),
    (".ghcup", "Haskell"),
    (".opam", "OCaml"),
    (".elan", "Lean"),
    (".juliaup", "Julia"),
    (".julia", "Julia"),
    (".asdf", "tool chains of every kind"),
    (".local/share/mise", "tool chains of every kind"),
    (".nix-profile", "programs of Nix"),
    (".local/bin", "programs"),
    (".local/lib", "libraries"),
    ("bin", "programs"),
    (".gitconfig", "git, which asks it for everything"),
    (".config/git", "git"),
];

/// Files in a tool chain's folder that hold passwords or tokens.
const TOOL_SECRETS: [&str; 12] = [
    "credentials",
    "credentials.toml",
    "servers",
    "auth.toml",
    "auth.json",
    ".condarc",
    ".npmrc",
    "corefx",
    "settings.xml",
    "settings-security.xml",
    "gradle.properties",
    "init.gradle",
];

/// Settings files without which tool chains do not start; one is hidden only if it holds something to sign in with.
const TOOL_SETTINGS: [&str; 2] = ["config.toml", "init.gradle.kts"];

/// Keys of a settings file whose values are for signing in, without the characters that join their words.
const SIGNING_IN: [&str; 6] = [
    "token",
    "authtoken",
    "accesstoken",
    "secretkey",
    "password",
    "apikey",
];

/// Secrets below a home folder. They are hidden even if a folder that the task is about contains them.
const HOME_SECRETS: &[(&str, &str)] = &[
    (".ssh", "keys"),
    (".gnupg", "keys"),
    (".password-store", "passwords"),
    (".local/share/keyrings", "passwords"),
    (".config/sops", "keys"),
    (".config/age", "keys"),
    (".netrc", "passwords"),
    (".git-credentials", "passwords"),
    (".pgpass", "passwords"),
    (".my.cnf", "passwords"),
    (".aws", "the cloud"),
    (".azure", "the cloud"),
    (".config/gcloud", "the cloud"),
    (".kube", "the cloud"),
    (".docker", "registries"),
    (".config/containers", "registries"),
    (".terraform.d", "the cloud"),
    (".vault-token", "the cloud"),
    (".npmrc", "registries"),
    (".yarnrc.yml", "registries"),
    (".pypirc", "registries"),
    (".config/pip", "registries"),
    (".config/composer", "registries"),
    (".composer", "registries"),
    (".bundle", "registries"),
    (".julia/servers", "registries"),
    (".config/uv", "registries"),
    (".config/pypoetry", "registries"),
    (".config/hatch", "registries"),
    (".nuget/NuGet", "registries"),
    (".sbt", "registries"),
    (".ivy2", "registries"),
    (".hex", "registries"),
    (".local/share/gem", "registries"),
    (".config/nix", "a token"),
    (".config/rclone", "the cloud"),
    (".config/doctl", "the cloud"),
    (".config/hcloud", "the cloud"),
    (".config/op", "passwords"),
    (".fly", "the cloud"),
    (".oci", "the cloud"),
    (".pulumi", "the cloud"),
    (".s3cfg", "the cloud"),
    (".boto", "the cloud"),
    (".wrangler", "the cloud"),
    (".config/heroku", "the cloud"),
    (".config/stripe", "a token"),
    (".kaggle", "a token"),
    (".cache/huggingface", "a token"),
    (".huggingface", "a token"),
    (".config/gh", "a token"),
    (".config/glab-cli", "a token"),
    (".config/hub", "a token"),
    (".claude", "an agent program"),
    (".claude.json", "an agent program"),
    (".codex", "an agent program"),
    (".copilot", "an agent program"),
    (".config/github-copilot", "an agent program"),
    (".cursor", "an agent program"),
    (".gemini", "an agent program"),
    (".pi", "an agent program"),
    (".config/opencode", "an agent program"),
    (".local/share/opencode", "an agent program"),
    (".grove", "this program"),
    (".config/grove", "this program"),
    (".local/state/grove", "this program"),
    (".mozilla", "a browser"),
    (".config/google-chrome", "a browser"),
    (".config/chromium", "a browser"),
    (".config/BraveSoftware", "a browser"),
    (".bash_history", "what was typed"),
    (".zsh_history", "what was typed"),
    (".python_history", "what was typed"),
    (".node_repl_history", "what was typed"),
    (".psql_history", "what was typed"),
    (".mysql_history", "what was typed"),
    (".lesshst", "what was typed"),
    (".local/share/fish", "what was typed"),
];

/// Files and folders deeper in a home folder by which a person's shells, desktops, editors and tools find what they run.
/// None of them can be written, even if a folder above them is the work folder.
const GUARDED: &[(&str, &str)] = &[
    ("bin", "programs"),
    (".bun/bin", "Bun"),
    (".deno/bin", "Deno"),
    ("go/bin", "Go"),
    (".local/lib", "Python"),
    (".cargo/config", "Rust"),
    (".cargo/config.toml", "Rust"),
    (".cargo/env", "Rust"),
    (".config/autostart", "a desktop"),
    (".local/share/applications", "a desktop"),
    (".config/environment.d", "a session"),
    (".config/bash", "a shell"),
    (".config/direnv", "a shell"),
    (".config/fish", "a shell"),
    (".config/nushell", "a shell"),
    (".config/starship.toml", "a shell"),
    (".config/zsh", "a shell"),
    (".config/tmux", "a terminal"),
    (".config/Code", "an editor"),
    (".config/VSCodium", "an editor"),
    (".config/emacs", "an editor"),
    (".config/helix", "an editor"),
    (".config/nvim", "an editor"),
    (".local/share/nvim", "an editor"),
    (".config/git", "git"),
    (".cargo/bin", "programs"),
    (".local/bin", "programs"),
    (".config/systemd", "services"),
    (".local/share/systemd", "services"),
    (".config/mise", "tool chains of every kind"),
];

/// Names with a dot in a home folder that say nothing to the person's other programs: the folder may be a repository.
const OF_REPOSITORY: [&str; 5] = [
    ".git",
    ".gitattributes",
    ".github",
    ".gitignore",
    ".gitmodules",
];

/// Grove's own folders: the variable that names the folder above, and the default for it. Only its data can be read,
/// because Grove's own skills are there; the folders with `true` are hidden.
const OWN_FOLDERS: [(&str, &str, bool); 4] = [
    ("XDG_CONFIG_HOME", ".config", true),
    ("XDG_STATE_HOME", ".local/state", true),
    ("XDG_CACHE_HOME", ".cache", true),
    ("XDG_DATA_HOME", ".local/share", false),
];

/// The most bytes of a settings file that is searched; a longer one is hidden.
const MOST_SETTINGS: usize = 1 << 20;

/// The folder of the system's settings, among which are its passwords and keys: what not everybody may read is hidden.
const SYSTEM_SETTINGS: &str = "/etc";

/// The depth to which folders with a secret are split; a folder that would have to be split deeper is not allowed.
const MOST_LEVELS: usize = 16;

impl Seclusion {
    /// The restrictions of a tree for some folders: they, the system and the tool chains of the environment are readable.
    /// The secrets of the home folder and the paths in `hidden` are not, unless one of the folders lies in them.
    pub fn about(
        folders: &[PathBuf],
        hidden: &[PathBuf],
        environment: &[(String, String)],
    ) -> Self {
        let value = |name: &str| {
            let found = environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let home = value("HOME").map(Path::new).filter(|it| it.is_absolute());
        let below_home = |rows: &[(&str, &str)]| -> Vec<PathBuf> {
            let home = home.iter();
            home.flat_map(|home| rows.iter().map(|(path, _)| home.join(path)))
                .collect()
        };
        let mut tools = below_home(TOOL_CHAINS);
        let named = named_folders(environment).map(PathBuf::from);
        tools.extend(named.filter(|folder| is_apart_from(folder, home)));
        let mut hide = Vec::new();
        add_closed(SYSTEM_SETTINGS.into(), MOST_LEVELS, &mut hide);
        hide.extend(below_home(HOME_SECRETS));
        hide.extend(hidden.iter().cloned());
        for tool in &tools {
            hide.extend(TOOL_SECRETS.iter().map(|name| tool.join(name)));
            let settings = TOOL_SETTINGS.iter().map(|name| tool.join(name));
            hide.extend(settings.filter(|file| signs_in(file)));
        }
        let old = below_home(&[(".cargo/config", "Rust")]);
        hide.extend(old.into_iter().filter(|file| signs_in(file)));
        let mut guarded = below_home(GUARDED);
        guarded.extend(home.into_iter().flat_map(read_at_start));
        for (variable, below, is_hidden) in OWN_FOLDERS {
            let named = value(variable).map(Path::new).filter(|it| it.is_absolute());
            let folder = named.map(Path::to_path_buf);
            let folder = folder.or_else(|| Some(home?.join(below)));
            let own = folder.map(|folder| folder.join("grove"));
            let list = if is_hidden { &mut hide } else { &mut guarded };
            list.extend(own);
        }
        let mut reads: Vec<PathBuf> = SYSTEM.iter().map(|(path, _)| path.into()).collect();
        reads.extend(tools);
        let path = value("PATH").unwrap_or_default();
        for folder in path.split(':').map(Path::new) {
            // Libraries lie beside programs. In a home folder all other files do too (beside `.local/bin`).
            let is_in_home = home.is_some_and(|home| folder.starts_with(home));
            let beside = folder.parent();
            let beside = beside.filter(|_| folder.ends_with("bin") && !is_in_home);
            let both = [Some(folder), beside].into_iter().flatten();
            reads.extend(
                both.filter(|it| is_apart_from(it, home))
                    .map(Path::to_path_buf),
            );
        }
        Self {
            work: folders.to_vec(),
            reads,
            hidden: hide,
            guarded,
            network: false,
        }
    }
}

/// The names with a dot in a home folder: shells, desktops and tools read almost all of them when they start. The first is
/// guarded even if it is not there, so that no new name can be made beside it.
fn read_at_start(home: &Path) -> Vec<PathBuf> {
    let entries = entries(home).into_iter().map(|entry| entry.name);
    let is_read = |name: &PathBuf| {
        let text = name.to_string_lossy();
        text.starts_with('.') && !OF_REPOSITORY.contains(&&*text)
    };
    let names = std::iter::once(PathBuf::from(".profile")).chain(entries.filter(is_read));
    names.map(|name| home.join(name)).collect()
}

/// Adds what not everybody may read in a folder. Root and members of groups could read it all the same.
fn add_closed(folder: PathBuf, levels: usize, closed: &mut Vec<PathBuf>) {
    let Some(levels) = levels.checked_sub(1) else {
        closed.push(folder);
        return;
    };
    for entry in entries(&folder) {
        let path = folder.join(&entry.name);
        let is_folder = entry.kind == FileType::Directory;
        let needed = if is_folder {
            Mode::ROTH | Mode::XOTH
        } else {
            Mode::ROTH
        };
        if entry.kind == FileType::Symlink {
            continue;
        }
        if !entry.mode.contains(needed) {
            closed.push(path);
        } else if is_folder {
            add_closed(path, levels, closed);
        }
    }
}

/// Returns true if a settings file has something to sign in with, or cannot be searched for its name or size.
fn signs_in(file: &Path) -> bool {
    let Some(name) = file.to_str() else {
        return true;
    };
    let Some(bytes) = read_proc(name) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    let mut keys = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0));
    bytes.len() > MOST_SETTINGS
        || keys.any(|key| {
            let last = key.rsplit('.').next().unwrap_or_default();
            let plain = last.replace(['-', '_', ' ', '"', '\'', '\t'], "");
            SIGNING_IN.contains(&plain.as_str())
        })
}

/// The paths to which a sandbox allows writing: none of them contains a hidden or guarded path, even one that is not
/// there. A hidden or guarded folder that the sandbox names itself is writable.
pub(super) fn writable_paths(sandbox: &Sandbox) -> Vec<PathBuf> {
    let kept = sandbox.seclusion.iter().flat_map(|seclusion| {
        let both = seclusion.hidden.iter().chain(&seclusion.guarded);
        both.map(|path| place_of(path))
    });
    let kept: Vec<PathBuf> = kept.collect();
    let mut paths = Vec::new();
    for path in without_links(&sandbox.writes) {
        add_without(path, &kept, MOST_LEVELS, &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Returns a path without links, also if its last parts are not there.
pub(super) fn place_of(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for above in path.ancestors() {
        if let Some(real) = real_path(above) {
            let parts = missing.iter().rev();
            return parts.fold(real, |place, part| place.join(part));
        }
        missing.extend(above.file_name());
    }
    path.to_path_buf()
}

/// Returns true if a folder that a variable names is neither the home folder nor above it, nor directly below the root.
fn is_apart_from(folder: &Path, home: Option<&Path>) -> bool {
    let holds_home = home.is_some_and(|home| home.starts_with(folder));
    folder.is_absolute() && folder.components().count() > 2 && !holds_home
}

/// The paths for which rules are made: real ones, none of which contains a hidden path.
///
/// A folder in a hidden one is readable if it is named itself.
pub(super) fn readable_paths(seclusion: &Seclusion) -> Vec<PathBuf> {
    let hidden = seclusion.hidden.iter();
    let hidden: Vec<PathBuf> = hidden.filter_map(|path| real_path(path)).collect();
    let others = seclusion.reads.iter().filter_map(|path| real_path(path));
    let mut paths = Vec::new();
    for path in without_links(&seclusion.work).chain(others) {
        add_without(path, &hidden, MOST_LEVELS, &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Those of the paths to which no link leads, as the kernel knows them.
fn without_links(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let opened = paths.iter().flat_map(|path| open_without_links(path));
    opened.filter_map(|descriptor| known_path(&descriptor))
}

/// Opens a path to which no link leads.
pub(super) fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn add_without(path: PathBuf, hidden: &[PathBuf], levels: usize, paths: &mut Vec<PathBuf>) {
    let is_below = |secret: &PathBuf| *secret != path && secret.starts_with(&path);
    if !hidden.iter().any(is_below) {
        paths.push(path);
        return;
    }
    let Some(levels) = levels.checked_sub(1) else {
        return;
    };
    for FolderEntry { name, kind, .. } in entries(&path) {
        let entry = path.join(name);
        // A link may lead to the secret that is left out; its target has a rule of its own or none.
        if kind != FileType::Symlink && !hidden.contains(&entry) {
            add_without(entry, hidden, levels, paths);
        }
    }
}

/// A path without links, as the kernel knows it.
fn real_path(path: &Path) -> Option<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    known_path(&openat(CWD, path, flags, Mode::empty()).ok()?)
}

fn known_path(opened: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let name = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let real = readlink(name, Vec::new()).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(real.as_bytes())))
}

/// A name in a folder.
struct FolderEntry {
    name: PathBuf,
    kind: FileType,
    mode: Mode,
}

/// The names in a folder; links are not followed.
fn entries(folder: &Path) -> Vec<FolderEntry> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(descriptor) = openat(CWD, folder, flags, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(listing) = Dir::read_from(&descriptor) else {
        return Vec::new();
    };
    let names = listing.flatten().filter_map(|entry| {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            return None;
        }
        let stat = statat(&descriptor, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FolderEntry {
            name: PathBuf::from(OsStr::from_bytes(name)),
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: Mode::from_raw_mode(stat.st_mode),
        })
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_open_tool_chains_and_neither_the_home_folder_nor_what_is_above_it() {
        let variables = [
            ("HOME", "/people/p"),
            (
                "PATH",
                "/people/p/.local/bin:/people/p:/people:/tools/node/bin:relative/bin:/:/own",
            ),
            ("GOPATH", "/people/p"),
            ("CARGO_HOME", "/tools/cargo"),
            ("MY_SECRETS", "/tools/secrets"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let seclusion = Seclusion::about(&["/projects/it".into()], &["/state".into()], &variables);
        let has = |path: &str| {
            let path = PathBuf::from(path);
            seclusion.reads.contains(&path) || seclusion.work.contains(&path)
        };
        for path in [
            "/usr",
            "/projects/it",
            "/people/p/.rustup",
            "/people/p/.local/bin",
            "/tools/node/bin",
            "/tools/node",
            "/tools/cargo",
        ] {
            assert!(has(path), "{path}");
        }
        for path in [
            "/",
            "/people",
            "/people/p",
            "/people/p/.local",
            "/tools",
            "/tools/secrets",
            "/own",
            "relative/bin",
        ] {
            assert!(!has(path), "{path}");
        }
        for path in ["/state", "/people/p/.ssh", "/tools/cargo/credentials.toml"] {
            assert!(seclusion.hidden.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(!seclusion.network);
    }

    #[test]
    fn what_not_everybody_may_read_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("a", 0o755), ("b", 0o750)] {
            let path = folder.path().join(name);
            rustix::fs::mkdir(&path, Mode::RWXU).unwrap();
            rustix::fs::chmod(&path, Mode::from_raw_mode(mode)).unwrap();
        }
        for (name, mode) in [("a/open", 0o644), ("a/own", 0o640), ("b/open", 0o644)] {
            let path = folder.path().join(name);
            let flags = OFlags::WRONLY | OFlags::CREATE;
            openat(CWD, &path, flags, Mode::RUSR).unwrap();
            rustix::fs::chmod(&path, Mode::from_raw_mode(mode)).unwrap();
        }
        rustix::fs::symlink("b", folder.path().join("link")).unwrap();
        let closed = |levels| {
            let mut closed = Vec::new();
            add_closed(folder.path().to_path_buf(), levels, &mut closed);
            closed.sort();
            closed
        };
        assert_eq!(
            closed(2),
            ["a/own", "b"].map(|name| folder.path().join(name))
        );
        assert_eq!(closed(1), ["a", "b"].map(|name| folder.path().join(name)));
    }
}
