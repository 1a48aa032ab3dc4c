//! `cargo xtask bench sandbox`: what honest work loses in the sandbox. Each line is run as the command of a child without the
//! sandbox and in it, and as a check; delegation and a fork are timed too. `--peer FILE` takes the times of another `grove`
//! beside them, `--as UID` those of another user.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::process;
use grove_testkit::task::arguments::Arguments;
use serde_json::{Value, json};

use crate::start::{build_grove, grove_program};
use crate::table::{self, number};

const KEY: &str = "a-key-of-the-benchmark";
const LIMIT: Duration = Duration::from_mins(10);
/// The turns of the conversation that is forked, and the depth of the delegation.
const TURNS: usize = 60;
const DEPTH: usize = 3;

/// Honest work: its name, the preparation outside of Grove, and the command. Each is in a folder of its own.
const LINES: [(&str, &str, &str); 6] = [
    ("nothing", "true", "true"),
    (
        "git: two commits of 100 files, a branch, gc, another tree, a clone",
        "true",
        "git init -q r && cd r && git config user.name x && git config user.email x@localhost && \
         for n in $(seq 100); do echo $n > f$n; done && git add -A && git commit -qm one && \
         for n in $(seq 100); do echo x >> f$n; done && git commit -qam two && git branch other && git gc -q && \
         git worktree add -q ../tree other && git clone -q . ../clone",
    ),
    (
        "make, cc, tar and modes",
        "printf 'int main(void) { return 0; }\\n' > a.c; printf 'a: a.c\\n\\tcc -o a a.c\\n' > Makefile",
        "make -s && ./a && tar -cf a.tar a a.c && mkdir out && tar -C out -xf a.tar && chmod 700 out/a && touch -d 2001-01-01 out/a.c",
    ),
    (
        "cargo: a new crate built and tested",
        "command -v cargo",
        "cargo new -q --vcs none it && cd it && cargo build -q --offline && cargo test -q --offline",
    ),
    (
        "pip and pytest: a virtual environment, pytest from wheels, a test",
        "python3 -m pip download -q pytest -d wheels && printf 'def test_it():\\n    assert 1\\n' > test_it.py",
        "python3 -m venv v && v/bin/pip install -q --no-index --find-links wheels pytest && v/bin/pytest -q test_it.py",
    ),
    (
        "npm: a local package installed, a script run",
        "mkdir dep && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && \
         echo '{\"name\":\"it\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e 0\"}}' > package.json && command -v npm",
        "npm install --silent --offline --no-audit --no-fund ./dep && npm test --silent",
    ),
];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let repetitions: usize = arguments.value("--runs")?.unwrap_or(3);
    let peer: Option<PathBuf> = arguments.value("--peer")?;
    let user: Option<u32> = arguments.value("--as")?;
    arguments.finish()?;
    build_grove()?;
    let mut rows = Vec::new();
    for (name, prepare, line) in LINES {
        let ways = [
            Some((grove_program(), Way::Open)),
            Some((grove_program(), Way::Held)),
            Some((grove_program(), Way::Checked)),
            peer.clone().map(|peer| (peer, Way::Held)),
        ];
        let mut cells = vec![name.to_owned()];
        for (program, way) in ways.into_iter().flatten() {
            let timed = median(repetitions, || {
                let place = Place::new(&program, user)?;
                place.shell(prepare)?;
                place.work(line, way)
            });
            cells.push(timed.map_or_else(|why| why, |seconds| number(Some(seconds))));
        }
        rows.push(cells);
    }
    let mut header = vec!["seconds", "without", "in it", "as a check"];
    header.extend(peer.as_ref().map(|_| "peer, in it"));
    table::print(&header, &rows);
    let mut rows = Vec::new();
    for (name, timed) in [
        (
            "three agents, each asked by the one before",
            Place::nested as fn(&Place) -> _,
        ),
        ("a chain of three steps", Place::chain),
        ("a fork of a conversation of 60 turns", Place::fork),
    ] {
        let programs = std::iter::once(grove_program()).chain(peer.clone());
        let mut cells = vec![name.to_owned()];
        for program in programs {
            let timed = median(repetitions, || timed(&Place::new(&program, user)?));
            cells.push(timed.map_or_else(|why| why, |seconds| number(Some(seconds))));
        }
        rows.push(cells);
    }
    let mut header = vec!["seconds", "this"];
    header.extend(peer.map(|_| "peer"));
    table::print(&header, &rows);
    Ok(())
}

/// The way in which a line is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As a child's command without the sandbox.
    Open,
    /// As a child's command.
    Held,
    /// As a check.
    Checked,
}

/// The middle of some measurements; the first reason if one failed.
fn median(times: usize, one: impl Fn() -> Result<f64, String>) -> Result<f64, String> {
    let all: Result<Vec<f64>, String> = (0..times.max(1)).map(|_| one()).collect();
    let mut all = all?;
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2)
        .copied()
        .ok_or_else(|| "nothing was measured".to_owned())
}

/// A home, a project and a model.
struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
    server: ModelServer,
    user: Option<u32>,
}

impl Place {
    fn new(program: &Path, user: Option<u32>) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(said)?;
        // Another user may not look into the folders above the program.
        let own = folder.path().join("grove");
        std::fs::copy(program, &own).map_err(said)?;
        let place = Self {
            program: own,
            server: server()?,
            user,
            folder,
        };
        for name in ["worker", "boss"] {
            let tools = "read, write, bash, subagent";
            let text = format!(
                "---\nname: {name}\ndescription: Works.\ntools: {tools}\n---\n\nYou work.\n"
            );
            place.write(&format!("home/.grove/agents/{name}.md"), &text)?;
        }
        place.write("work/none", "")?;
        if user.is_some() {
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(place.folder.path(), open).map_err(said)?;
        }
        Ok(place)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn write(&self, below: &str, text: &str) -> Result<(), String> {
        let path = self.path(below);
        let parent = path.parent().unwrap_or(self.folder.path());
        std::fs::create_dir_all(parent).map_err(said)?;
        std::fs::write(&path, text).map_err(said)
    }

    /// Prepares the work as this process's own user.
    fn shell(&self, line: &str) -> Result<(), String> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).current_dir(self.path("work"));
        let done = process::capture(&mut shell, LIMIT).map_err(said)?;
        if done.success() {
            return Ok(());
        }
        Err("not here".to_owned())
    }

    fn work(&self, line: &str, way: Way) -> Result<f64, String> {
        let open = if way == Way::Open {
            "sandbox = 'off'\n"
        } else {
            ""
        };
        let config = format!("[runs]\nmodel = 'anthropic/m'\n{open}");
        self.write("home/.config/grove/config.toml", &config)?;
        let line = format!("({line}) && touch fine");
        let task = format!("sh {line}");
        let words = match way {
            Way::Checked => vec!["run", "worker", "nest 0", "--verify", line.as_str()],
            _ => vec!["run", "worker", task.as_str()],
        };
        let seconds = self.grove(&words)?.0;
        if self.path("work/fine").exists() {
            return Ok(seconds);
        }
        Err("failed".to_owned())
    }

    fn nested(&self) -> Result<f64, String> {
        let task = format!("nest {DEPTH}");
        Ok(self
            .grove(&["run", "boss", &task, "--model", "anthropic/m"])?
            .0)
    }

    fn chain(&self) -> Result<f64, String> {
        let chain = [1, 2, 3].map(|_| json!({ "agent": "worker", "task": "sh true" }));
        let request = json!({ "task": "x", "model": "anthropic/m", "chain": chain });
        self.write("work/request.json", &request.to_string())?;
        Ok(self.grove(&["run", "--request", "request.json"])?.0)
    }

    fn fork(&self) -> Result<f64, String> {
        let words = ["run", "worker", "talk", "--model", "anthropic/m"];
        let (_, run) = self.grove(&words)?;
        let id = run["id"].as_str().ok_or("there is no run")?;
        let fork = format!("--fork={id}");
        Ok(self
            .grove(&["run", "worker", "nest 0", "--model", "anthropic/m", &fork])?
            .0)
    }

    /// Runs Grove to its end, and returns the seconds that it took with the run.
    fn grove(&self, words: &[&str]) -> Result<(f64, Value), String> {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .arg("--json")
            .current_dir(self.path("work"));
        command.env_clear().env("HOME", self.path("home"));
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("ANTHROPIC_API_KEY", KEY);
        command.env("ANTHROPIC_BASE_URL", self.server.url());
        command.stdin(Stdio::null());
        if let Some(user) = self.user {
            let own = format!("{user}:{user}");
            let mut give = Command::new("chown");
            give.args(["-R", &own]).arg(self.folder.path());
            process::capture(&mut give, LIMIT)
                .map_err(said)?
                .require_success("chown")?;
            command.uid(user).gid(user);
        }
        let begun = Instant::now();
        let done = process::capture(&mut command, LIMIT).map_err(said)?;
        let seconds = begun.elapsed().as_secs_f64();
        let text = done.stdout_text();
        let last = text.lines().last().unwrap_or_default();
        let run = serde_json::from_str(last);
        let run: Value = run.map_err(|error| format!("{error}: {}", done.stderr_text()))?;
        Ok((seconds, run))
    }
}

/// A model that does what its task says: a line in the shell, asking the next agent, or talking for a while.
fn server() -> Result<ModelServer, String> {
    let script = Script::chosen_by(|_, request: &Request| {
        let body = request.json();
        let messages = body["messages"].as_array();
        let mut users = messages.into_iter().flatten();
        let task = users.rfind(|it| it["content"][0]["type"] == "text" && it["role"] == "user");
        let task = task
            .and_then(|it| it["content"][0]["text"].as_str())
            .unwrap_or_default();
        let answered = messages
            .and_then(|all| all.last())
            .is_some_and(|it| it["content"][0]["type"] == "tool_result");
        let turns = messages.map_or(0, Vec::len) / 2;
        let (what, rest) = task.split_once(' ').unwrap_or((task, ""));
        let rest = rest.lines().next().unwrap_or_default();
        let left: usize = rest.parse().unwrap_or(0);
        match what {
            "sh" if !answered => Reply::call("bash", json!({ "command": rest })),
            "nest" if !answered && left > 0 => {
                let task = format!("nest {}", left - 1);
                Reply::call("subagent", json!({ "agent": "boss", "task": task }))
            }
            "talk" if turns < TURNS => Reply::call("ls", json!({ "path": "." })),
            _ => Reply::text("Done."),
        }
    });
    ModelServer::start(script).map_err(said)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
