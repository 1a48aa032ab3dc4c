//! `cargo xtask bench watch`: what it costs to watch a run of 1,000 children that all do something, and how long after its
//! commit a second terminal shows an event. The journal is prepared here, and this process plays every child in it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child as Process, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use grove_engine::view::RunPlaces;
use grove_exec::{ProcessIdentity, now};
use grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Child, EffectId, EffectKind, Fact, GroupRules, Node,
    NodeId, Plan, Turn, Usage, Work,
};
use grove_spec::Digest;
use grove_store::{NewEvent, Store, Submission};
use serde_json::json;

use crate::samples::Samples;
use crate::start::{build_grove, grove_program};
use crate::table::number;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

const RUN: &str = "watched";
const TOLD: &[u8] = b"You work.";
const ROWS: usize = 50;
/// Ticks of the clock that processes are charged by.
const TICKS_PER_SECOND: f64 = 100.0;
/// A mark that is not shown within this time counts as lost.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest time that an event may take to another terminal, in milliseconds.
const OWED_MS: f64 = 100.0;
/// The largest cost of watching, in percent of a core.
const OWED_PERCENT: f64 = 5.0;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let count: usize = arguments.value("--count")?.unwrap_or(1_000);
    let per_second: u32 = arguments.value("--events")?.unwrap_or(200);
    let seconds: u64 = arguments.value("--seconds")?.unwrap_or(15);
    let marks: usize = arguments.value("--marks")?.unwrap_or(100);
    // Another build of the program, such as one that is there already.
    let program: Option<std::path::PathBuf> = arguments.value("--program")?;
    arguments.finish()?;
    if program.is_none() {
        build_grove()?;
    }
    let program = program.unwrap_or_else(grove_program);
    let folder = workspace::target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let state = folder.path().join(".local/state/grove");
    std::fs::create_dir_all(&state).map_err(|error| error.to_string())?;
    let store = Store::open(&state.join("runs.db")).map_err(|error| error.to_string())?;
    prepare(&store, count)?;
    let terminal = Terminal::open(folder.path(), &program)?;
    let is_over = AtomicBool::new(false);
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| terminal.read());
        scope.spawn(|| {
            let places = RunPlaces::in_state(&state);
            work(&store, &places, (count, per_second), &is_over)
        });
        let measured = measure(&store, &terminal, seconds, marks);
        is_over.store(true, Ordering::Relaxed);
        terminal.close();
        measured
    });
    let (percent, samples) = measured?;
    println!("{count} children at work, {per_second} events a second, 120 columns and {ROWS} rows");
    println!("watching costs {percent:.2} % of a core over {seconds} s");
    println!(
        "from commit to the second terminal: median {} ms, p99 {} ms, most {} ms of {} events",
        number(samples.median_ms()),
        number(samples.percentile_ms(99)),
        number(samples.maximum_ms()),
        samples.len(),
    );
    if percent > OWED_PERCENT {
        return Err(format!("more than {OWED_PERCENT} % of a core"));
    }
    if samples.maximum_ms().is_none_or(|ms| ms > OWED_MS) {
        return Err(format!("an event took more than {OWED_MS} ms"));
    }
    Ok(())
}

fn attempt(child: usize) -> Attempt {
    Attempt {
        node: NodeId::step(1).member(child),
        n: 1,
    }
}

/// A run of so many children, each taken by this process.
fn prepare(store: &Store, count: usize) -> Result<(), String> {
    let nodes = (0..count).map(|child| Node {
        id: attempt(child).node,
        after: Vec::new(),
        group: Some(NodeId::step(1)),
        reviews: None,
        work: Work::Child(Box::new(Child::new("worker", Digest::of(TOLD), "a/one"))),
    });
    let mut plan = Plan::of(nodes.collect());
    plan.groups.insert(NodeId::step(1), GroupRules::default());
    let submission = Submission {
        parent: None,
        again: None,
        id: RUN.to_owned(),
        plan,
        envelope: json!({
            "title": "worker: do what a thousand do",
            "task": "do what a thousand do",
            "folder": "/",
            "surroundings": "",
        })
        .to_string(),
        surroundings: String::new(),
        title: "worker: do what a thousand do".to_owned(),
        folder: "/project".to_owned(),
        owner: Digest::of(b"token"),
        key: None,
        artifacts: vec![TOLD.to_vec()],
        at: now(),
    };
    store
        .submit(submission)
        .map_err(|error| error.to_string())?;
    let holder = ProcessIdentity::this_process().0;
    for row in store.outbox_of(RUN).map_err(|error| error.to_string())? {
        if row.effect.kind == EffectKind::Timer {
            continue;
        }
        let leased = Fact::Leased {
            effect: row.effect,
            epoch: 1,
            holder: holder.clone(),
        };
        append(store, leased)?;
    }
    let open = store.outbox_of(RUN).map_err(|error| error.to_string())?;
    let started = |child: usize| EffectId::new(&attempt(child), EffectKind::Start, 0);
    let is_taken = |child: usize| open.iter().any(|row| row.effect == started(child));
    if (0..count).all(is_taken) {
        Ok(())
    } else {
        Err("not everybody began".to_owned())
    }
}

fn append(store: &Store, fact: Fact) -> Result<(), String> {
    let draft = NewEvent {
        fact,
        artifacts: Vec::new(),
        at: now(),
    };
    store
        .append(RUN, draft)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn called(child: usize, call: &str, command: &str) -> Fact {
    Fact::Called {
        of: attempt(child),
        epoch: 1,
        call: Call {
            id: CallId(call.to_owned()),
            given: None,
            tool: "bash".to_owned(),
            arguments: Body::Inline(json!({ "command": command })),
            writes: true,
            observed: false,
        },
    }
}

fn returned(child: usize, call: &str) -> Fact {
    Fact::Returned {
        of: attempt(child),
        epoch: 1,
        call: CallId(call.to_owned()),
        outcome: CallOutcome {
            content: Body::Inline(json!("a line of output\n".repeat(20))),
            is_error: false,
            goes_on: false,
        },
    }
}

fn turned(child: usize) -> Fact {
    Fact::Turned {
        of: attempt(child),
        epoch: 1,
        turn: Turn {
            content: Body::Inline(
                json!([{ "kind": "text", "text": "What comes next. ".repeat(16) }]),
            ),
            usage: Usage {
                input: 300,
                output: 20,
                ..Usage::default()
            },
            stop: "toolUse".to_owned(),
            added: None,
        },
    }
}

/// Lets every child but the first do something in turn, in the journal and in their logs.
fn work(
    store: &Store,
    places: &RunPlaces,
    (count, per_second): (usize, u32),
    is_over: &AtomicBool,
) -> Result<(), String> {
    let began = Instant::now();
    for number in 0_u32.. {
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let round = usize::try_from(number).map_err(|error| error.to_string())? / 3;
        let child = 1 + round * 7 % count.saturating_sub(1).max(1);
        let call = format!("call-{round}");
        let fact = match number % 3 {
            0 => turned(child),
            1 => called(child, &call, "cargo test --workspace"),
            _ => returned(child, &call),
        };
        append(store, fact)?;
        // Those that a terminal shows write words all the time.
        let shown = usize::try_from(number).map_err(|error| error.to_string())? % ROWS;
        log(places, shown).map_err(|error| error.to_string())?;
        let due = Duration::from_secs(1) * (number + 1) / per_second.max(1);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    Ok(())
}

fn log(places: &RunPlaces, child: usize) -> std::io::Result<()> {
    if child == 0 {
        return Ok(());
    }
    let path = places.log(RUN, &attempt(child));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(b"{\"log\":\"text\",\"text\":\"words\"}\n")
}

fn measure(
    store: &Store,
    terminal: &Terminal,
    seconds: u64,
    marks: usize,
) -> Result<(f64, Samples), String> {
    terminal.wait_for("children:")?;
    let pid = terminal.watcher()?;
    let (before, began) = (ticks(pid)?, Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let spent = ticks(pid)? - before;
    let percent = spent / TICKS_PER_SECOND / began.elapsed().as_secs_f64() * 100.0;
    let mut samples = Samples::default();
    for mark in 0..marks {
        // The marks come at different times after a frame.
        let pause = u64::try_from(mark * 13 % 60).map_err(|error| error.to_string())?;
        std::thread::sleep(Duration::from_millis(pause));
        let (call, word) = (format!("mark-{mark}"), format!("seen-{mark}-"));
        append(store, called(0, &call, &word))?;
        let committed = Instant::now();
        samples.add(
            terminal
                .wait_for(&word)?
                .saturating_duration_since(committed),
        );
        append(store, returned(0, &call))?;
    }
    Ok((percent, samples))
}

/// Returns the ticks that a process was charged so far.
fn ticks(pid: u32) -> Result<f64, String> {
    let stat =
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| error.to_string())?;
    let fields = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let number = |at: usize| -> Option<f64> { fields.split_whitespace().nth(at)?.parse().ok() };
    // The fourteenth and fifteenth field of all, counted from the state on.
    let sum = number(11)
        .zip(number(12))
        .map(|(user, system)| user + system);
    sum.ok_or_else(|| "the process is gone".to_owned())
}

/// A terminal with `grove runs watch` in it, made by `script`.
struct Terminal {
    script: Mutex<Process>,
    shown: Mutex<Vec<(Instant, Vec<u8>)>>,
    news: Condvar,
    pid_file: std::path::PathBuf,
}

impl Terminal {
    fn open(home: &Path, grove: &Path) -> Result<Self, String> {
        let pid_file = home.join("pid");
        let line = format!(
            "stty rows {ROWS} cols 120; echo $$ > {}; exec {} runs watch {RUN}",
            pid_file.display(),
            grove.display()
        );
        let mut command = Command::new("script");
        command
            .args(["-qfc", &line, "/dev/null"])
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let script = command.spawn();
        let script = script.map_err(|error| format!("script: {error}"))?;
        Ok(Self {
            script: Mutex::new(script),
            shown: Mutex::default(),
            news: Condvar::new(),
            pid_file,
        })
    }

    /// Reads what it shows until it is closed.
    fn read(&self) {
        let output = self
            .script
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stdout
            .take();
        let Some(mut output) = output else { return };
        let mut portion = vec![0; 1 << 16];
        while let Ok(n @ 1..) = output.read(&mut portion) {
            // The time is taken before the lock, since another thread may be searching what was shown before.
            let at = Instant::now();
            let bytes = portion.get(..n).unwrap_or_default().to_vec();
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push((at, bytes));
            drop(shown);
            self.news.notify_all();
        }
    }

    /// Waits until a text was shown, and returns when that was.
    fn wait_for(&self, wanted: &str) -> Result<Instant, String> {
        let until = Instant::now() + LIMIT;
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = String::new();
        loop {
            for (at, bytes) in shown.drain(..) {
                last.push_str(&String::from_utf8_lossy(&bytes));
                if last.contains(wanted) {
                    return Ok(at);
                }
                // A text may begin in one portion and end in the next.
                let kept = last.ceil_char_boundary(last.len().saturating_sub(wanted.len()));
                last.drain(..kept);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("`{wanted}` is not shown"));
            }
            let waited = self.news.wait_timeout(shown, left);
            shown = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn watcher(&self) -> Result<u32, String> {
        let pid = std::fs::read_to_string(&self.pid_file).map_err(|error| error.to_string())?;
        pid.trim()
            .parse()
            .map_err(|error: std::num::ParseIntError| error.to_string())
    }

    fn close(&self) {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = script.kill();
        let _ = script.wait();
    }
}
