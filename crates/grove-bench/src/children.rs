//! `cargo xtask bench children`: many one-child runs in one supervisor, started one at a time against a model that keeps
//! all of them waiting; and the same for agent programs, each a process, at the counts that a machine can bear.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use grove_engine::below::{submit, wake};
use grove_engine::view::{RunPlaces, Woken};
use grove_engine::{Engine, ModelSettings, ResolvedRun, RunOrder};
use grove_skills::Environment;
use grove_store::{RunFilter, Store};
use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{Delivery, ModelServer, Request, Script, ScriptedReply};
use grove_testkit::process::allow_many_connections;
use tempfile::TempDir;

use crate::samples::Samples;
use crate::start::{build_grove, grove_program};
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;

const KEY: &str = "a-key-of-the-benchmark";
/// The word before the number of a task, which no program says by itself.
const MARK: &str = "bench-errand-";
/// The agent of every child, before its own words.
const AGENT: &str = "---\nname: bench\ndescription: Answers.\nmodel: anthropic/m\n---\n";
/// The longest time that anything may take.
const LIMIT: Duration = Duration::from_mins(5);
/// The model holds its answers so long for each child that the first still waits while the last one starts.
const HOLD_MS_EACH: u64 = 40;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let count: usize = arguments.value("--count")?.unwrap_or(1_000);
    let peers: usize = arguments.value("--peers")?.unwrap_or(4);
    arguments.finish()?;
    build_grove()?;
    allow_many_connections();
    let mut rows = vec![ours(count)?.cells()];
    for program in [AgentProgram::Pi, AgentProgram::Codex, AgentProgram::Claude] {
        rows.push(match peer(program, peers) {
            Ok(measured) => measured.cells(),
            Err(reason) => vec![
                program.host().to_owned(),
                reason.lines().next().unwrap_or_default().to_owned(),
            ],
        });
    }
    let header = [
        "",
        "children",
        "first request, median ms",
        "worst ms",
        "resident MiB each",
        "right",
    ];
    table::print(&header, &rows);
    Ok(())
}

struct Measured {
    name: String,
    first_request: Samples,
    resident_each: f64,
    n_right: usize,
}

impl Measured {
    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.first_request.len().to_string(),
            number(self.first_request.median_ms()),
            number(self.first_request.maximum_ms()),
            number(Some(self.resident_each)),
            format!("{} of {}", self.n_right, self.first_request.len()),
        ]
    }
}

/// A model that keeps every child waiting until all have asked, and then tells each what it asked for.
fn patient_model(count: usize) -> Result<ModelServer, String> {
    let hold = 2_000 + HOLD_MS_EACH * count as u64;
    let script = Script::chosen_by(move |_, request: &Request| ScriptedReply {
        text: Some(format!("The answer to {}.", task_in(request))),
        delivery: Delivery {
            first_delay_ms: hold,
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    });
    ModelServer::start(script).map_err(|error| error.to_string())
}

/// The task that a request is about, by its mark.
fn task_in(request: &Request) -> String {
    let text = String::from_utf8_lossy(&request.body);
    let after = text.rsplit(MARK).next().unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    format!("{MARK}{digits}")
}

/// Waits until so many have asked.
fn asked(server: &ModelServer, count: usize) -> Result<(), String> {
    let came = server.wait_for_stats(LIMIT, |stats| stats.replies >= count as u64);
    came.map(drop).ok_or_else(|| "nobody asks".to_owned())
}

fn ours(count: usize) -> Result<Measured, String> {
    let server = patient_model(count)?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let supervisor = OurSupervisor::start(home.path(), &server)?;
    let store = Store::open(&supervisor.places.journal()).map_err(|error| error.to_string())?;
    // One child before all others, so that what is made once is there.
    supervisor.submit(&store, &supervisor.errand(0)?)?;
    asked(&server, 1)?;
    let before = supervisor.resident()?;
    let mut first_request = Samples::default();
    for number in 1..=count {
        let errand = supervisor.errand(number)?;
        let start = Instant::now();
        supervisor.submit(&store, &errand)?;
        asked(&server, number + 1)?;
        first_request.add(start.elapsed());
    }
    let resident = supervisor.resident()?.saturating_sub(before);
    let end = Instant::now() + LIMIT;
    let open = RunFilter {
        only_open: true,
        ..RunFilter::default()
    };
    while !store
        .runs(&open)
        .map_err(|error| error.to_string())?
        .is_empty()
    {
        if Instant::now() > end {
            return Err("not everybody came to an end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(Measured {
        name: "grove".to_owned(),
        first_request,
        resident_each: mebibytes_each(resident, count),
        n_right: n_right(&store)?.saturating_sub(1),
    })
}

/// Runs that are complete with the answer to their own task.
fn n_right(store: &Store) -> Result<usize, String> {
    let all = RunFilter {
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let rows = store.runs(&all).map_err(|error| error.to_string())?;
    let is_right = |id: &str, title: &str| -> Option<bool> {
        let loaded = store.load(id).ok()?;
        let node = loaded.state.nodes.values().next()?;
        let text = node.last()?.output()?.text?;
        let text = String::from_utf8(store.artifact(&text).ok()??).ok()?;
        let task = title.rsplit(": ").next()?;
        Some(text == format!("The answer to {task}."))
    };
    let right = rows
        .iter()
        .filter(|row| row.state == "complete" && is_right(&row.id, &row.title) == Some(true));
    Ok(right.count())
}

/// A supervisor of the measured program.
struct OurSupervisor {
    process: Child,
    engine: Engine,
    places: RunPlaces,
    surroundings: String,
}

impl OurSupervisor {
    fn start(home: &Path, server: &ModelServer) -> Result<Self, String> {
        let variables = [
            ("ANTHROPIC_API_KEY".to_owned(), KEY.to_owned()),
            ("ANTHROPIC_BASE_URL".to_owned(), server.url()),
        ];
        let mut command = Command::new(grove_program());
        command
            .arg("supervise")
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .envs(variables.clone())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let process = command.spawn().map_err(|error| error.to_string())?;
        let places = RunPlaces::in_state(&home.join(".local/state/grove"));
        let work = home.join("work");
        let agents = home.join(".grove/agents");
        for folder in [&work, &agents] {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let agent = format!("{AGENT}{}\n", "You answer. ".repeat(200));
        let written = std::fs::write(agents.join("bench.md"), agent);
        written.map_err(|error| error.to_string())?;
        let variables = variables.map(|(name, value)| (name, value.into()));
        let engine = Engine::new(Environment {
            variables: variables.into_iter().collect(),
            ..Environment::for_home(home.to_path_buf(), work)
        });
        let supervisor = Self {
            process,
            surroundings: ModelSettings::find(engine.environment()).surroundings(),
            engine,
            places,
        };
        let end = Instant::now() + LIMIT;
        while wake(&supervisor.places, &supervisor.surroundings, "") == Woken::NoSupervisor {
            if Instant::now() > end {
                return Err("the supervisor does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(supervisor)
    }

    /// A run of one child, with everything found that it needs.
    fn errand(&self, number: usize) -> Result<ResolvedRun, String> {
        let mut order = RunOrder::of_task("bench", &format!("{MARK}{number}"));
        order.request.background = true;
        let resolved = self.engine.resolve(&order);
        resolved.map_err(|error| error.message())
    }

    fn submit(&self, store: &Store, errand: &ResolvedRun) -> Result<(), String> {
        let submitted = submit(store, errand).map_err(|error| error.message())?;
        wake(&self.places, &self.surroundings, &submitted.id);
        Ok(())
    }

    /// Kibibytes that it has in memory.
    fn resident(&self) -> Result<u64, String> {
        resident(self.process.id()).ok_or_else(|| "the supervisor is gone".to_owned())
    }
}

impl Drop for OurSupervisor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the share of each child in so many kibibytes, in mebibytes.
fn mebibytes_each(kibibytes: u64, count: usize) -> f64 {
    let each = kibibytes.checked_div(count as u64).unwrap_or_default();
    f64::from(u32::try_from(each).unwrap_or(u32::MAX)) / 1024.0
}

/// Kibibytes that a process has in memory.
fn resident(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The processes whose home this is.
fn processes_of(home: &Path) -> Vec<u32> {
    let mark = format!("HOME={}", home.display());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        environment.split('\0').any(|variable| variable == mark)
    })
    .collect()
}

/// A home of a program, which may not stand in another one's.
struct PeerHome {
    _folder: TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl PeerHome {
    fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        for place in [&home, &project] {
            std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
        }
        Ok(Self {
            _folder: folder,
            home,
            project,
        })
    }
}

fn peer(program: AgentProgram, count: usize) -> Result<Measured, String> {
    // A program starts in seconds, and asks more than once at times.
    let server = patient_model(count.saturating_mul(100))?;
    let homes: Vec<PeerHome> = (0..count)
        .map(|_| PeerHome::new())
        .collect::<Result<_, _>>()?;
    let n_right = AtomicUsize::new(0);
    let mut first_request = Samples::default();
    let mut resident_all = 0;
    std::thread::scope(|scope| {
        for (number, place) in homes.iter().enumerate() {
            let before = server.stats().replies;
            let start = Instant::now();
            let (server, n_right) = (&server, &n_right);
            scope.spawn(move || {
                let prompt = format!("{MARK}{number}");
                let ran = program.run(server, &place.home, &place.project, &prompt, LIMIT);
                let answer = format!("The answer to {MARK}{number}.");
                if ran.is_ok_and(|ran| ran.stdout_text().contains(&answer)) {
                    n_right.fetch_add(1, Ordering::Relaxed);
                }
            });
            let came = server.wait_for_stats(LIMIT, |stats| stats.replies > before);
            came.ok_or_else(|| format!("{} does not ask", program.host()))?;
            first_request.add(start.elapsed());
        }
        let pids = homes.iter().flat_map(|place| processes_of(&place.home));
        resident_all = pids.filter_map(resident).sum();
        Ok::<(), String>(())
    })?;
    Ok(Measured {
        name: program.host().to_owned(),
        first_request,
        resident_each: mebibytes_each(resident_all, count),
        n_right: n_right.into_inner(),
    })
}
