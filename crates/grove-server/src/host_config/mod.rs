//! Changes that write the server into a host's configuration, and take it out again.
//!
//! Everything else in the file stays as it is, byte for byte: comments, order, unknown keys. The new text is known
//! before it is written, so it can be shown; the old text is kept, so that it can be put back.

mod json_file;
mod toml_file;

use std::path::{Path, PathBuf};

use grove_fs::undo::{self, PathAfter, UndoRecording};
use grove_fs::{FsError, atomic, files};
use serde_json::json;

pub const NAME: &str = "grove";
/// The largest configuration that is edited: Claude Code keeps its history in the same file.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigHost {
    Claude,
    Codex,
    Copilot,
    Gemini,
    OpenCode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    User,
    Project,
}

#[derive(Debug, Clone, Copy)]
pub struct ConfigFolders<'a> {
    pub home: Option<&'a Path>,
    /// The folder that the host's own variable names in place of its folder at home.
    pub host_home: Option<&'a Path>,
    pub project: &'a Path,
    /// The folder that keeps the old texts for undoing.
    pub state: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    pub command: String,
    pub arguments: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("there is no home folder")]
    NoHome,
    #[error("{} cannot be edited: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} changed in the meantime", .0.display())]
    Changed(PathBuf),
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// The reason why a text is not edited.
#[derive(Debug, thiserror::Error)]
enum FormError {
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("`{0}` is not an object")]
    ServersNotAnObject(String),
    #[error("it is not TOML: {0}")]
    NotToml(String),
    #[error("`{0}` is not a table")]
    ServersNotATable(&'static str),
    #[error("`{0}` is not a table of its own")]
    NotATableOfItsOwn(String),
    #[error("`{0}` is written in a form that cannot be added to")]
    UnknownForm(&'static str),
}

impl ConfigHost {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    pub fn file(
        self,
        scope: ConfigScope,
        places: &ConfigFolders<'_>,
    ) -> Result<PathBuf, ConfigError> {
        let (in_project, below_home) = match self {
            Self::Claude => (".mcp.json", ".claude.json"),
            Self::Codex => (".codex/config.toml", ".codex/config.toml"),
            // The host reads `.mcp.json` too, but that is Claude Code's file.
            Self::Copilot => (".github/mcp.json", ".copilot/mcp-config.json"),
            Self::Gemini => (".gemini/settings.json", ".gemini/settings.json"),
            Self::OpenCode => ("opencode.json", ".config/opencode/opencode.json"),
        };
        Ok(match (scope, places.host_home) {
            (ConfigScope::Project, _) => places.project.join(in_project),
            // The variable names the folder that the file is in.
            (ConfigScope::User, Some(folder)) => {
                folder.join(below_home.rsplit('/').next().unwrap_or(below_home))
            }
            (ConfigScope::User, None) => places.home.ok_or(ConfigError::NoHome)?.join(below_home),
        })
    }

    /// Returns the entry and its member for a host whose configuration is JSON; none for another host.
    fn json_entry(self, launch: &ServerCommand) -> Option<json_file::ServerEntry> {
        let ServerCommand { command, arguments } = launch;
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
        Some(json_file::ServerEntry { servers, value })
    }

    fn with_server(self, text: &str, launch: &ServerCommand) -> Result<String, FormError> {
        match self.json_entry(launch) {
            Some(entry) => json_file::with_server(text, &entry),
            None => toml_file::with_server(text, launch),
        }
    }

    fn without_server(self, text: &str) -> Result<String, FormError> {
        let any = ServerCommand {
            command: String::new(),
            arguments: Vec::new(),
        };
        match self.json_entry(&any) {
            Some(entry) => json_file::without_server(text, entry.servers),
            None => toml_file::without_server(text),
        }
    }
}

#[derive(Debug)]
pub struct ConfigChange {
    pub path: PathBuf,
    /// The old text of the file; none when there is no file.
    pub before: Option<String>,
    /// The new text of the file; none when there will be no file.
    pub after: Option<String>,
    kind: ConfigChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigChangeKind {
    Install,
    Uninstall,
}

impl ConfigChangeKind {
    /// Returns the name under which the change is kept for undoing.
    fn command(self) -> &'static str {
        match self {
            Self::Install => "mcp install",
            Self::Uninstall => "mcp uninstall",
        }
    }
}

impl ConfigChange {
    pub fn install(
        host: ConfigHost,
        scope: ConfigScope,
        places: &ConfigFolders<'_>,
        launch: &ServerCommand,
    ) -> Result<Self, ConfigError> {
        let path = real_path(host.file(scope, places)?);
        let before = read(&path)?;
        let after = host.with_server(before.as_deref().unwrap_or(""), launch);
        let after = after.map_err(|error| unreadable(&path, &error))?;
        Ok(Self {
            path,
            before,
            after: Some(after),
            kind: ConfigChangeKind::Install,
        })
    }

    /// Returns the change that takes the server out: it restores the old text, if nothing else changed since.
    pub fn uninstall(
        host: ConfigHost,
        scope: ConfigScope,
        places: &ConfigFolders<'_>,
    ) -> Result<Self, ConfigError> {
        let path = real_path(host.file(scope, places)?);
        let before = read(&path)?;
        let after = match &before {
            None => None,
            Some(text) => {
                let command = ConfigChangeKind::Install.command();
                let now = text.as_bytes();
                if let Some(original) = undo::original(places.state, command, &path, now)? {
                    original.and_then(|bytes| String::from_utf8(bytes).ok())
                } else {
                    let without = host.without_server(text);
                    Some(without.map_err(|error| unreadable(&path, &error))?)
                }
            }
        };
        Ok(Self {
            path,
            before,
            after,
            kind: ConfigChangeKind::Uninstall,
        })
    }

    /// Returns true if the change would leave the file as it is.
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }

    /// Makes the change; the old text is kept for undoing.
    pub fn apply(&self, state: &Path) -> Result<(), ConfigError> {
        // A person may have approved the change by its old text, so a file that differs from it is left alone.
        if read(&self.path)? != self.before {
            return Err(ConfigError::Changed(self.path.clone()));
        }
        let after = self.after.as_ref();
        let after = after.map_or(PathAfter::Nothing, |text| PathAfter::File(text.as_bytes()));
        let recording = UndoRecording::new(Some(state), self.kind.command());
        recording.keep(&[(&self.path, after)])?;
        match &self.after {
            Some(text) => {
                // Hosts keep secrets in these files, so only its owner may read a new one.
                let mode = files::mode(&self.path).unwrap_or(0o600);
                atomic::write_mode(&self.path, text.as_bytes(), mode)?;
            }
            None => files::remove(&self.path)?,
        }
        Ok(())
    }
}

fn unreadable(path: &Path, error: &FormError) -> ConfigError {
    ConfigError::Unreadable {
        path: path.to_path_buf(),
        why: error.to_string(),
    }
}

/// Returns the target of a link: the file is replaced, the link stays.
fn real_path(path: PathBuf) -> PathBuf {
    files::canonical(&path).unwrap_or(path)
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match files::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| unreadable(path, &FormError::NotUtf8))?;
            Ok(Some(text))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
