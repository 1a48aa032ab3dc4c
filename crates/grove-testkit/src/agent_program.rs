//! Real agent programs, run offline against a [`ModelServer`] in a home of their own.
//!
//! `cargo xtask test --against-hosts` installs them and names them in variables. They see nothing of the machine: the
//! environment is built from nothing, and every folder they know is below one temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::model_server::ModelServer;
use crate::need::Need;
use crate::process::{self, Finished};
use crate::session::PATH;

/// A key that no text contains: one program strikes its key out of everything it prints.
const KEY: &str = "grove-test-key-5f2c81d7a9e04b36";

/// An agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProgram {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// GitHub Copilot CLI.
    Copilot,
    /// pi.
    Pi,
}

impl AgentProgram {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Copilot, Self::Pi];

    /// The name by which Grove knows it as a host.
    pub const fn host(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Pi => "pi",
        }
    }

    /// Runs one turn with `prompt` in the folder `working`, with `home` as its home, and ends everything it
    /// started after `limit` at the latest.
    pub fn run(
        self,
        server: &ModelServer,
        home: &Path,
        working: &Path,
        prompt: &str,
        limit: Duration,
    ) -> Result<Finished, String> {
        self.run_with(server, home, working, prompt, &[], limit)
    }

    /// The same with further arguments.
    pub fn run_with(
        self,
        server: &ModelServer,
        home: &Path,
        working: &Path,
        prompt: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<Finished, String> {
        let mut command = self.command_in(server, home, working, prompt, arguments)?;
        process::capture(&mut command, limit)
            .map_err(|error| format!("cannot run {}: {error}", self.host()))
    }

    /// The command of such a turn, for whoever wants to end it in the middle.
    pub fn command_in(
        self,
        server: &ModelServer,
        home: &Path,
        working: &Path,
        prompt: &str,
        arguments: &[&str],
    ) -> Result<Command, String> {
        let mut command = self.command(server, home, prompt)?;
        command
            .args(arguments)
            .current_dir(working)
            .env("PATH", PATH)
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", home)
            .env("TMPDIR", temporary(home)?);
        Ok(command)
    }

    fn command(self, server: &ModelServer, home: &Path, prompt: &str) -> Result<Command, String> {
        match self {
            Self::Claude => claude(&server.url(), prompt),
            Self::Codex => codex(&server.url(), prompt),
            Self::Copilot => copilot(&server.url(), prompt),
            Self::Pi => pi(&server.url(), home, prompt),
        }
    }
}

/// A command without any environment.
fn alone(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command
}

fn claude(url: &str, prompt: &str) -> Result<Command, String> {
    let mut command = alone(&Need::Claude.find()?);
    command
        .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
        // A model whose context window and whose characters per token it knows.
        .args(["--model", "claude-sonnet-4-5"])
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "1");
    Ok(command)
}

fn codex(url: &str, prompt: &str) -> Result<Command, String> {
    let mut command = alone(&Need::Codex.find()?);
    let provider = format!(
        "model_providers.fake={{name=\"fake\",base_url=\"{url}/v1\",wire_api=\"responses\",\
         env_key=\"FAKE_KEY\",request_max_retries=1,stream_max_retries=1}}"
    );
    command
        .args(["exec", "--json", "--skip-git-repo-check", "--ephemeral"])
        // What it would look for on the network.
        .args(["--disable", "plugins", "--disable", "apps"])
        .args(["-c", "analytics.enabled=false", "-m", "fake-model"])
        .args(["-c", &provider, "-c", "model_provider=\"fake\"", prompt])
        .env("FAKE_KEY", KEY);
    Ok(command)
}

fn copilot(url: &str, prompt: &str) -> Result<Command, String> {
    let mut command = alone(&Need::Copilot.find()?);
    command
        .args(["-p", prompt, "--output-format", "json"])
        .args(["--allow-all-tools", "--no-auto-update", "--trust-folder"])
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
        .env("COPILOT_MODEL", "fake-model")
        .env("COPILOT_PROVIDER_API_KEY", KEY);
    Ok(command)
}

fn pi(url: &str, home: &Path, prompt: &str) -> Result<Command, String> {
    let mut command = alone(&Need::Node.find()?);
    let modules = Need::Pi.find()?;
    let settings = home.join(".pi/agent");
    let models = json!({ "providers": { "fake": {
        "baseUrl": format!("{url}/v1"),
        "api": "openai-completions",
        "apiKey": KEY,
        "models": [{ "id": "fake-model" }],
    } } });
    fs::create_dir_all(&settings)
        .and_then(|()| fs::write(settings.join("models.json"), models.to_string()))
        .map_err(|error| format!("cannot write pi's models.json: {error}"))?;
    command
        .arg(modules.join("@earendil-works/pi-coding-agent/dist/cli.js"))
        .args(["--mode", "json", "-p", "--no-session", "--approve"])
        .args(["--model", "fake/fake-model", prompt])
        .env("PI_OFFLINE", "1");
    Ok(command)
}

/// A folder for temporary files beside the home folder.
fn temporary(home: &Path) -> Result<PathBuf, String> {
    let folder = home.with_file_name("tmp");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}
