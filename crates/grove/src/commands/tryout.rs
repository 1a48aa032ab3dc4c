//! `grove try`: the main job on a machine with nothing set up. A small repository is made, looked at as a model would see it,
//! and mended by a chain of children. The model's side is a recording; everything else is what it is anywhere.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_fs::atomic::{self, Durability};
use grove_fs::files;
use grove_skills::Environment;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Outcome;
use crate::args::TryArgs;
use crate::command_error::CommandError;
use crate::output::CommandOutput;

const REPOSITORY: &str = "degrees";

macro_rules! sample {
    ($($path:literal),+ $(,)?) => {
        [$(($path, include_str!(concat!("../../try_sample/", $path)))),+]
    };
}

const FILES: [(&str, &str); 11] = sample![
    "degrees/.agents/skills/checking/SKILL.md",
    "degrees/.agents/skills/shell-style/SKILL.md",
    "degrees/.grove/agents/reviewer.md",
    "degrees/.grove/agents/scout.md",
    "degrees/.grove/agents/worker.md",
    "degrees/README.md",
    "degrees/mend.json",
    "degrees/test.sh",
    "degrees/to-celsius",
    "degrees/to-fahrenheit",
    "model.jsonl",
];

/// The commands that are shown: why, the command, and the exit code that it has to have.
const COMMANDS: [(&str, &[&str], i32); 8] = [
    (
        "Both scripts of the repository are broken:",
        &["sh", "test.sh"],
        1,
    ),
    (
        "The repository comes with skills and agents. Grove uses none of them until you have trusted it:",
        &["grove", "trust", "--yes"],
        0,
    ),
    (
        "What a model is told about the skills:",
        &["grove", "catalog"],
        0,
    ),
    (
        "A scout explores, two workers repair the scripts in parallel, each in its own git working tree and each held to a \
         test that Grove runs itself, and a reviewer checks the result. mend.json is the whole request:",
        &[
            "grove",
            "run",
            "--request",
            "mend.json",
            "--replay",
            "../model.jsonl",
        ],
        0,
    ),
    (
        "Their work is kept as patches:",
        &["grove", "runs", "diff", "LAST"],
        0,
    ),
    (
        "They are applied when you say so:",
        &["grove", "runs", "apply", "LAST"],
        0,
    ),
    ("Now the scripts work:", &["sh", "test.sh"], 0),
    (
        "The ledger records what was established and by whom, separate from what the children said:",
        &["grove", "runs", "ledger", "LAST"],
        0,
    ),
];

/// The exit code of what a person stopped.
const STOPPED: u8 = 130;

pub(crate) fn run(
    environment: &Environment,
    arguments: &TryArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let folder = match &arguments.folder {
        Some(folder) => environment.working.join(folder),
        None => environment
            .temporary
            .join(format!("grove-try-{}", grove_engine::new_run_id())),
    };
    if files::is_there(&folder) {
        let message = format!("{} already exists", folder.display());
        return Err(CommandError::usage(message).hint("name a folder that does not exist"));
    }
    let scene = TryoutScene {
        environment,
        folder,
    };
    let mut interrupts = Interrupts::new()?;
    let laid_out = scene.lay_out();
    let is_stopped = interrupts.came();
    if laid_out.is_err() || is_stopped {
        files::remove_folder(&scene.folder)?;
    }
    if is_stopped {
        return Ok(STOPPED);
    }
    laid_out?;
    if arguments.files_only {
        out.line(&scene.folder.display().to_string());
        return Ok(0);
    }
    let shown = scene.show(&mut interrupts, out);
    if interrupts.came() {
        // The command that ran has heard of it too and has ended its children.
        files::remove_folder(&scene.folder)?;
        out.note("grove: stopped; the folder was removed");
        return Ok(STOPPED);
    }
    shown
}

/// Ctrl-C goes to the command that runs as well: it ends what it does, and this then takes everything away.
struct Interrupts {
    runtime: tokio::runtime::Runtime,
    signal: Signal,
    was_interrupted: bool,
}

impl Interrupts {
    fn new() -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::internal)?;
        let signal = {
            let _entered = runtime.enter();
            signal(SignalKind::interrupt()).map_err(CommandError::internal)?
        };
        Ok(Self {
            runtime,
            signal,
            was_interrupted: false,
        })
    }

    fn came(&mut self) -> bool {
        let waiting = async {
            tokio::time::timeout(Duration::from_millis(1), self.signal.recv())
                .await
                .is_ok()
        };
        self.was_interrupted |= self.runtime.block_on(waiting);
        self.was_interrupted
    }
}

impl TryoutScene<'_> {
    fn show(&self, interrupts: &mut Interrupts, out: &mut CommandOutput) -> Outcome {
        let scene = self;
        out.line(&format!(
            "A small repository is in {}. Nothing outside that folder is touched.",
            scene.folder.join(REPOSITORY).display()
        ));
        out.line(
        "The model's answers are recorded. Everything else is real: files, git, working trees, the journal, the tests, the patches.",
    );
        let mut last_run = None;
        for (why, words, code) in COMMANDS {
            let words: Vec<&str> = words
                .iter()
                .map(|word| match (*word, &last_run) {
                    ("LAST", Some(run)) => String::as_str(run),
                    (word, _) => word,
                })
                .collect();
            out.line("");
            out.line(why);
            out.line(&format!("$ {}", words.join(" ")));
            if !out.flush() {
                return Ok(0);
            }
            let ended = scene.command(&words)?.status();
            let ended = ended.map_err(|error| not_started(words[0], &error))?;
            if interrupts.came() {
                return Ok(STOPPED);
            }
            if ended.code() != Some(code) {
                let message = format!("`{}` ended with {ended}", words.join(" "));
                return Err(CommandError::finding(message)
                    .hint(format!("everything is in {}", scene.folder.display())));
            }
            if last_run.is_none() && words.contains(&"run") {
                last_run = Some(scene.last_run()?);
            }
        }
        self.next_steps(last_run.as_deref().unwrap_or_default(), out);
        Ok(0)
    }

    fn next_steps(&self, run: &str, out: &mut CommandOutput) {
        let (folder, home) = (self.folder.display(), self.home());
        let (home, grove) = (home.display(), self.typed_name());
        let review =
            "run --chain parallel-review \"Review what is not committed.\" --model PROVIDER/ID";
        out.line("");
        out.line("What to do next:");
        for (command, why) in [
            (
                format!("{grove} init"),
                "shows the hosts, providers and agent programs on this machine; adds Grove's tools to your hosts if you like",
            ),
            (
                grove.clone(),
                "shows your own skills and what each host makes of them",
            ),
            (
                format!("{grove} {review}"),
                "runs a first chain in one of your repositories (for the others, see docs/workflows.md)",
            ),
            (
                format!("HOME={home} {grove} runs show {run}"),
                "shows this run again",
            ),
            (format!("rm -rf {folder}"), "removes all of this"),
        ] {
            out.line(&format!("  {command}"));
            out.line(&format!("      {why}"));
        }
    }

    /// Returns the words that start this program: its name where the path finds it, else its file.
    fn typed_name(&self) -> String {
        let Ok(this) = std::env::current_exe() else {
            return "grove".to_owned();
        };
        let path = self.environment.variables.get("PATH");
        let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>());
        let mut found = folders
            .unwrap_or_default()
            .into_iter()
            .map(|it| it.join("grove"));
        let first = found.find(|file| files::is_there(file));
        if first.is_some_and(|file| files::canonical(&file).is_ok_and(|it| it == this)) {
            return "grove".to_owned();
        }
        let below = this.strip_prefix(&self.environment.working);
        below.unwrap_or(&this).display().to_string()
    }
}

struct TryoutScene<'a> {
    environment: &'a Environment,
    folder: PathBuf,
}

impl TryoutScene<'_> {
    /// Makes the files and the first commit.
    fn lay_out(&self) -> Result<(), CommandError> {
        files::make_folder(&self.home()).map_err(|error| {
            CommandError::finding(error).hint("name a folder that you can write to: --folder DIR")
        })?;
        for (path, text) in FILES {
            atomic::write(&self.folder.join(path), text.as_bytes(), Durability::Cache)?;
        }
        let git = |words: &[&str]| {
            let mut command = self.command(&[&["git"], words].concat())?;
            let ended = command.stdout(Stdio::null()).status();
            match ended.map_err(|error| not_started("git", &error))?.code() {
                Some(0) => Ok(()),
                _ => Err(CommandError::internal(format!(
                    "`git {}` failed",
                    words.join(" ")
                ))),
            }
        };
        git(&["init", "--quiet"])?;
        git(&["config", "user.name", "Grove"])?;
        git(&["config", "user.email", "grove@localhost"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", "Two scripts"])
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// A command in the repository, for a user who has nothing but this folder.
    fn command(&self, words: &[&str]) -> Result<Command, CommandError> {
        let this = std::env::current_exe().map_err(CommandError::internal)?;
        let (program, words) = words
            .split_first()
            .map_or(("", &[][..]), |it| (*it.0, it.1));
        let program = match program {
            "grove" => this.as_path(),
            other => Path::new(other),
        };
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(self.folder.join(REPOSITORY))
            .env_clear()
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        let kept = [
            "PATH", "TERM", "COLUMNS", "NO_COLOR", "LANG", "LC_ALL", "TMPDIR",
        ];
        for name in kept {
            let value: Option<&OsStr> = self.environment.variables.get(name).map(AsRef::as_ref);
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        Ok(command)
    }

    fn last_run(&self) -> Result<String, CommandError> {
        let mut list = self.command(&["grove", "runs", "list", "--json"])?;
        let listed = list.output().map_err(CommandError::internal)?;
        let listed: serde_json::Value =
            serde_json::from_slice(&listed.stdout).map_err(CommandError::internal)?;
        let id = listed["runs"][0]["id"].as_str();
        let id = id.ok_or_else(|| CommandError::internal("the run is not listed"))?;
        Ok(id.to_owned())
    }
}

fn not_started(program: &str, error: &std::io::Error) -> CommandError {
    CommandError::finding(format!("`{program}` cannot be started: {error}"))
        .hint(format!("install {program}"))
}
