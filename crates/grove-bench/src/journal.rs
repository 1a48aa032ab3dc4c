//! `cargo xtask bench journal`: what a durable event costs beside a bare `fdatasync` of the same run, what writing together
//! gains, how long the reducer takes in a long run, and how long a list of many runs takes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Child, EffectId, EffectKind, Event, Fact, Holder,
    Node, NodeId, Plan, State, Times, Turn, Usage, Work, advance,
};
use grove_spec::Digest;
use grove_store::{NewEvent, Store, Submission};
use serde_json::json;

use crate::samples::Samples;
use crate::start::{build_grove, grove_program, isolated, time};
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

const TOLD: &[u8] = b"You are a scout.";
/// Children that write at once.
const TOGETHER: usize = 100;
const EVENTS_EACH: usize = 20;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_events: usize = arguments.value("--events")?.unwrap_or(1_000);
    let n_runs: usize = arguments.value("--runs")?.unwrap_or(10_000);
    arguments.finish()?;
    build_grove()?;
    let folder = workspace::target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    // In the target folder and not in /tmp, which may be memory.
    let folder = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let bare =
        bare_syncs(&folder.path().join("bare"), n_events).map_err(|error| error.to_string())?;
    let alone = events_alone(&folder.path().join("alone.db"), n_events)?;
    let together = events_together(&folder.path().join("together.db"))?;
    let reducer = reducer(n_events)?;
    let ratio = alone
        .median_ms()
        .zip(bare.median_ms())
        .map(|(ours, floor)| ours / floor);
    let rows = [
        row("4 KiB and a bare fdatasync", &bare),
        row("one durable event", &alone),
        row("one of 100 children's events, written together", &together),
    ];
    table::print(&["", "events", "min ms", "median ms", "p99 ms"], &rows);
    println!("a durable event costs {} × a bare fdatasync", number(ratio));
    let gain = alone
        .mean_ms()
        .zip(together.mean_ms())
        .map(|(alone, together)| alone / together);
    println!(
        "writing together gains {} × at {TOGETHER} children",
        number(gain)
    );
    let micros = |ms: Option<f64>| number(ms.map(|ms| ms * 1e3));
    println!(
        "advance in a run of {} events: median {} µs, p99 {} µs\n",
        reducer.len(),
        micros(reducer.median_ms()),
        micros(reducer.percentile_ms(99)),
    );
    list(folder.path(), n_runs)
}

fn row(name: &str, samples: &Samples) -> Vec<String> {
    vec![
        name.to_owned(),
        samples.len().to_string(),
        number(samples.minimum_ms()),
        number(samples.median_ms()),
        number(samples.percentile_ms(99)),
    ]
}

fn bare_syncs(path: &Path, times: usize) -> std::io::Result<Samples> {
    let mut file = File::create(path)?;
    let page = [7; 4096];
    let mut samples = Samples::default();
    for _ in 0..times {
        let start = Instant::now();
        file.write_all(&page)?;
        file.sync_data()?;
        samples.add(start.elapsed());
    }
    Ok(samples)
}

fn submission(id: &str) -> Submission {
    let child = Child::new("scout", Digest::of(TOLD), "a/one");
    Submission {
        parent: None,
        again: None,
        id: id.to_owned(),
        plan: Plan::of(vec![Node::first(Work::Child(Box::new(child)))]),
        envelope: "{}".to_owned(),
        surroundings: String::new(),
        title: "scout: look at something that takes a line to say".to_owned(),
        folder: "/project".to_owned(),
        owner: Digest::of(b"token"),
        key: None,
        artifacts: vec![TOLD.to_vec()],
        at: Times::default(),
    }
}

fn first() -> Attempt {
    Attempt {
        node: NodeId::step(1),
        n: 1,
    }
}

fn leased() -> Fact {
    Fact::Leased {
        effect: EffectId::new(&first(), EffectKind::Start, 0),
        epoch: 1,
        holder: Holder {
            pid: std::process::id(),
            start_time: 1,
            boot_id: "boot".to_owned(),
            pid_namespace: 1,
        },
    }
}

/// Returns a step that a child repeats: an answer, a call, its result.
fn fact(number: usize) -> Fact {
    let (of, epoch) = (first(), 1);
    let call = CallId(format!("call-{}", number / 3));
    match number % 3 {
        0 => Fact::Turned {
            of,
            epoch,
            turn: Turn {
                content: Body::Inline(
                    json!([{ "kind": "text", "text": "Some words about what comes next. ".repeat(8) }]),
                ),
                usage: Usage {
                    input: 3,
                    output: 2,
                    ..Usage::default()
                },
                stop: "toolUse".to_owned(),
                added: None,
            },
        },
        1 => Fact::Called {
            of,
            epoch,
            call: Call {
                id: call,
                given: None,
                tool: "bash".to_owned(),
                arguments: Body::Inline(json!({ "command": "cargo test --workspace" })),
                writes: true,
                observed: false,
            },
        },
        _ => Fact::Returned {
            of,
            epoch,
            call,
            outcome: CallOutcome {
                content: Body::Inline(json!("a line of output\n".repeat(20))),
                is_error: false,
                goes_on: false,
            },
        },
    }
}

fn draft(fact: Fact) -> NewEvent {
    NewEvent {
        fact,
        artifacts: Vec::new(),
        at: Times::default(),
    }
}

fn begun(store: &Store, id: &str) -> Result<(), String> {
    let begin = || {
        store.submit(submission(id))?;
        store.append(id, draft(leased())).map(drop)
    };
    begin().map_err(|error| error.to_string())
}

fn events_alone(path: &Path, times: usize) -> Result<Samples, String> {
    let store = Store::open(path).map_err(|error| error.to_string())?;
    begun(&store, "r1")?;
    let mut samples = Samples::default();
    for number in 0..times {
        let start = Instant::now();
        let appended = store.append("r1", draft(fact(number)));
        appended.map_err(|error| error.to_string())?;
        samples.add(start.elapsed());
    }
    Ok(samples)
}

/// Each child waits for its own event before it writes the next; what an event costs is the whole time by their number.
fn events_together(path: &Path) -> Result<Samples, String> {
    let store = Store::open(path).map_err(|error| error.to_string())?;
    let ids: Vec<String> = (0..TOGETHER)
        .map(|number| format!("r{number:03}"))
        .collect();
    for id in &ids {
        begun(&store, id)?;
    }
    let (done, waiting) = mpsc::channel();
    let send = |child: usize, number: usize| {
        let done = done.clone();
        let told = move |result: Result<_, grove_store::StoreError>| {
            let _ = done.send((child, number, result.is_ok()));
        };
        let sent = ids
            .get(child)
            .map(|id| store.append_then(id, draft(fact(number)), told));
        sent.transpose().map_err(|error| error.to_string())
    };
    let mut samples = Samples::default();
    let mut last = Instant::now();
    for child in 0..TOGETHER {
        send(child, 0)?;
    }
    for _ in 0..TOGETHER * EVENTS_EACH {
        let (child, number, is_well) = waiting
            .recv_timeout(Duration::from_mins(1))
            .map_err(|error| error.to_string())?;
        if !is_well {
            return Err("an event was refused".to_owned());
        }
        samples.add(std::mem::replace(&mut last, Instant::now()).elapsed());
        if number + 1 < EVENTS_EACH {
            send(child, number + 1)?;
        }
    }
    Ok(samples)
}

fn reducer(n_events: usize) -> Result<Samples, String> {
    let plan = submission("r1").plan;
    let mut state = State::default();
    let submitted = Fact::Submitted {
        parent: None,
        reused: BTreeMap::new(),
        owner: Digest::of(b"token"),
        key: None,
    };
    let facts = [submitted, leased()]
        .into_iter()
        .chain((0..n_events).map(fact));
    let mut samples = Samples::default();
    for (seq, fact) in (1..).zip(facts) {
        let event = Event {
            seq,
            at: Times::default(),
            fact,
        };
        let start = Instant::now();
        let advanced = advance(&plan, &mut state, &event);
        samples.add(start.elapsed());
        advanced.map_err(|error| error.to_string())?;
    }
    Ok(samples)
}

/// A list of many runs, as a person waits for it.
fn list(folder: &Path, n_runs: usize) -> Result<(), String> {
    let home = folder.join("home");
    let state = home.join(".local/state/grove");
    std::fs::create_dir_all(&state).map_err(|error| error.to_string())?;
    let store = Store::open(&state.join("runs.db")).map_err(|error| error.to_string())?;
    // The runs are stopped before any process takes them: two events each, and over.
    let (done, waiting) = mpsc::channel();
    for number in 0..n_runs {
        let id = format!("{number:010}");
        store
            .submit_then(submission(&id), |_| {})
            .map_err(|error| error.to_string())?;
        let stop = Fact::Wanted {
            by: "a benchmark".to_owned(),
            id: "w".to_owned(),
            wish: grove_plan::Wish::Stop { now: false },
        };
        let done = done.clone();
        let told = move |result: Result<_, grove_store::StoreError>| {
            let _ = done.send(result.is_ok());
        };
        store
            .append_then(&id, draft(stop), told)
            .map_err(|error| error.to_string())?;
    }
    for _ in 0..n_runs {
        if !waiting.recv().map_err(|error| error.to_string())? {
            return Err("a run was refused".to_owned());
        }
    }
    drop(store);
    let (mut list, mut nothing) = (Samples::default(), Samples::default());
    for _ in 0..21 {
        list.add(time(
            isolated(&grove_program(), &home).args(["runs", "list"]),
        )?);
        nothing.add(time(&mut isolated(Path::new("/bin/true"), &home))?);
    }
    let of_what = format!("{n_runs} runs");
    super::start::print(
        &of_what,
        &[("grove runs list", &list), ("/bin/true", &nothing)],
    );
    Ok(())
}
