//! Writing the server into a host's configuration, and taking it out again.
//!
//! Everything else in the file stays as it is, byte for byte: comments, order, unknown keys. What will be
//! written is known before anything is, so it can be shown; what was there is kept, so that it can be put back.

mod json_file;
mod toml_file;

use std::path::{Path, PathBuf};

use grove_fs::undo::{self, After, Recording};
use grove_fs::{FsError, atomic, files};
use serde_json::json;

/// The name under which the server is entered.
pub const NAME: &str = "grove";
/// The largest configuration that is edited: Claude Code keeps its history in the same file.
const MAX_BYTES: u64 = 64 << 20;

/// A host whose configuration can be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// `OpenCode`.
    OpenCode,
}

/// For whom the server is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One person, in every project.
    User,
    /// Everybody who works on a project.
    Project,
}

/// Where a host's folders are.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The home folder.
    pub home: Option<&'a Path>,
    /// What the host's own variable names in place of its folder at home.
    pub host_home: Option<&'a Path>,
    /// The project's outermost folder.
    pub project: &'a Path,
    /// Where what is needed for undoing is kept.
    pub state: &'a Path,
}

/// How the server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Why a configuration is not edited.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no home folder.
    #[error("there is no home folder")]
    NoHome,
    /// The file is not what the host reads.
    #[error("{} cannot be edited: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Somebody changed it in the meantime.
    #[error("{} changed in the meantime", .0.display())]
    Changed(PathBuf),
    /// It could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Host {
    /// The name of the host's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The file that the host reads.
    pub fn file(self, scope: Scope, places: &Places<'_>) -> Result<PathBuf, ConfigError> {
        let (in_project, below_home) = match self {
            Self::Claude => (".mcp.json", ".claude.json"),
            Self::Codex => (".codex/config.toml", ".codex/config.toml"),
            // It reads `.mcp.json` too, which is Claude Code's.
            Self::Copilot => (".github/mcp.json", ".copilot/mcp-config.json"),
            Self::Gemini => (".gemini/settings.json", ".gemini/settings.json"),
            Self::OpenCode => ("opencode.json", ".config/opencode/opencode.json"),
        };
        Ok(match (scope, places.host_home) {
            (Scope::Project, _) => places.project.join(in_project),
            // What the variable names stands for the folder that the file is in.
            (Scope::User, Some(folder)) => {
                folder.join(below_home.rsplit('/').next().unwrap_or(below_home))
            }
            (Scope::User, None) => places.home.ok_or(ConfigError::NoHome)?.join(below_home),
        })
    }

    /// The entry of a host whose configuration is JSON, and the member that it is in.
    fn json_entry(self, launch: &Launch) -> Option<json_file::Entry> {
        let Launch { command, arguments } = launch;
        let (servers, value) = match self {
            Self::Claude => (
                "mcpServers",
                json!({ "type": "stdio", "command": command, "args": arguments }),
            ),
            Self::Copilot => (
                "mcpServers",
                json!({ "type": "local", "command": command, "args": arguments, "tools": ["*"] }),
            ),
            Self::Gemini => (
                "mcpServers",
                json!({ "command": command, "args": arguments }),
            ),
            Self::OpenCode => {
                let whole = std::iter::once(command).chain(arguments);
                let whole: Vec<&String> = whole.collect();
                (
                    "mcp",
                    json!({ "type": "local", "command": whole, "enabled": true }),
                )
            }
            Self::Codex => return None,
        };
        Some(json_file::Entry { servers, value })
    }

    fn with_server(self, text: &str, launch: &Launch) -> Result<String, String> {
        match self.json_entry(launch) {
            Some(entry) => json_file::with_server(text, &entry),
            None => toml_file::with_server(text, launch),
        }
    }

    fn without_server(self, text: &str) -> Result<String, String> {
        let any = Launch {
            command: String::new(),
            arguments: Vec::new(),
        };
        match self.json_entry(&any) {
            Some(entry) => json_file::without_server(text, entry.servers),
            None => toml_file::without_server(text),
        }
    }
}

/// A change that has not happened yet.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What is in it; none when there is no file.
    pub before: Option<String>,
    /// What will be in it; none when there will be no file.
    pub after: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Install,
    Uninstall,
}

impl Kind {
    /// What undoing calls the change.
    fn command(self) -> &'static str {
        match self {
            Self::Install => "mcp install",
            Self::Uninstall => "mcp uninstall",
        }
    }
}

impl Change {
    /// The change that enters the server.
    pub fn install(
        host: Host,
        scope: Scope,
        places: &Places<'_>,
        launch: &Launch,
    ) -> Result<Self, ConfigError> {
        let path = real_path(host.file(scope, places)?);
        let before = read(&path)?;
        let after = host.with_server(before.as_deref().unwrap_or(""), launch);
        let after = after.map_err(|why| unreadable(&path, why))?;
        Ok(Self {
            path,
            before,
            after: Some(after),
            kind: Kind::Install,
        })
    }

    /// The change that takes the server out: what was there before, if nothing else changed since.
    pub fn uninstall(host: Host, scope: Scope, places: &Places<'_>) -> Result<Self, ConfigError> {
        let path = real_path(host.file(scope, places)?);
        let before = read(&path)?;
        let after = match &before {
            None => None,
            Some(text) => {
                let command = Kind::Install.command();
                let now = text.as_bytes();
                if let Some(original) = undo::original(places.state, command, &path, now)? {
                    original.and_then(|bytes| String::from_utf8(bytes).ok())
                } else {
                    let without = host.without_server(text);
                    Some(without.map_err(|why| unreadable(&path, why))?)
                }
            }
        };
        Ok(Self {
            path,
            before,
            after,
            kind: Kind::Uninstall,
        })
    }

    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }

    /// Makes the change; what was there is kept for undoing.
    pub fn apply(&self, state: &Path) -> Result<(), ConfigError> {
        // What was shown is what is changed, or nothing is.
        if read(&self.path)? != self.before {
            return Err(ConfigError::Changed(self.path.clone()));
        }
        let after = self.after.as_ref();
        let after = after.map_or(After::Nothing, |text| After::File(text.as_bytes()));
        let recording = Recording::new(Some(state), self.kind.command());
        recording.keep(&[(&self.path, after)])?;
        match &self.after {
            Some(text) => {
                // Hosts keep secrets in these files, so a new one is its owner's alone.
                let mode = files::mode(&self.path).unwrap_or(0o600);
                atomic::write_mode(&self.path, text.as_bytes(), mode)?;
            }
            None => files::remove(&self.path)?,
        }
        Ok(())
    }
}

fn unreadable(path: &Path, why: String) -> ConfigError {
    ConfigError::Unreadable {
        path: path.to_path_buf(),
        why,
    }
}

/// Where a link leads: the file is replaced, the link stays.
fn real_path(path: PathBuf) -> PathBuf {
    files::canonical(&path).unwrap_or(path)
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match files::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| unreadable(path, "it is not UTF-8".to_owned()))?;
            Ok(Some(text))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
