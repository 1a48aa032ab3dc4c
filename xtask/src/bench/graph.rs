//! `cargo xtask bench graph`: a step for each item of a list, with 1 to 1,000 children of the built-in engine side by side:
//! how long it takes from the commit of the outcome before to the commit that holds all starts, and how many children a
//! second come to their end; beside it, what the model server itself bears in the same run.
//!
//! Commits are seen by another process that looks at the journal all the time, so that nothing of a commit is left out.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grove_plan::{EffectKind, Event, Fact, NodeId, Outcome};
use grove_runs::RunPlaces;
use grove_store::{RunFilter, Store};
use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::process::allow_many_connections;
use serde_json::{Value, json};

use super::start::{build_grove, grove_program};
use super::table::{self, number};
use crate::arguments::Arguments;

const KEY: &str = "a-key-of-the-benchmark";
/// Threads that ask the model server without Grove.
const ASKERS: usize = 32;
/// As many children of a step as may run at a time.
const MOST_AT_A_TIME: usize = 100;
/// Between two looks at the journal.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);
const LIMIT: Duration = Duration::from_mins(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let repetitions: usize = arguments.value("--runs")?.unwrap_or(5);
    arguments.finish()?;
    build_grove()?;
    allow_many_connections();
    let mut rows = Vec::new();
    for count in [1, 10, 100, 1_000] {
        let mut all = Vec::new();
        for _ in 0..repetitions {
            all.push(one(count)?);
        }
        let middle = |of: fn(&Measured) -> f64| {
            let mut values: Vec<f64> = all.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let worst = all.iter().map(|it| it.starts_ms).fold(0.0, f64::max);
        let from_answer = middle(|it| it.from_answer_ms);
        let (ours, server) = (middle(|it| it.a_second), middle(|it| it.server_a_second));
        rows.push(vec![
            count.to_string(),
            number(middle(|it| it.starts_ms)),
            number(Some(worst)),
            number(from_answer),
            number(ours),
            number(server),
            number(ours.zip(server).map(|(ours, server)| server / ours)),
        ]);
    }
    let header = [
        "children",
        "to the commit of all starts, median ms",
        "worst ms",
        "from the answer of the child before, median ms",
        "children a second",
        "the server alone, requests a second",
        "ratio",
    ];
    table::print(&header, &rows);
    Ok(())
}

struct Measured {
    /// From the proof that the child before is over, which makes the list, to the starts.
    starts_ms: f64,
    /// From the recorded answer of the child before: its proof lies between.
    from_answer_ms: f64,
    a_second: f64,
    server_a_second: f64,
}

fn one(count: usize) -> Result<Measured, String> {
    let server = ModelServer::start(Script::chosen_by(move |_, request: &Request| {
        let body = request.json();
        let text = body["messages"][0]["content"][0]["text"].as_str();
        if text.is_some_and(|text| text.starts_with("list")) {
            let items: Vec<Value> = (0..count).map(|at| json!({ "n": at })).collect();
            return Reply::call("structured_output", json!({ "items": items }));
        }
        Reply::text("Done.")
    }))
    .map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = folder.path();
    let (run, seen) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(home, count.min(MOST_AT_A_TIME)));
        let run = grove_run(home, &server, count);
        let seen = watching.join();
        (run, seen)
    });
    let run = run?;
    let seen = seen.map_err(|_| "the watcher failed")??;
    let places = RunPlaces::in_state(&home.join(".local/state/grove"));
    let store = Store::open(&places.journal()).map_err(|error| error.to_string())?;
    let loaded = store.load(&run).map_err(|error| error.to_string())?;
    let items = loaded.state.nodes.keys();
    let items = items.filter(|id| id.as_str().starts_with("2[")).count();
    if items != count || loaded.state.run().word() != "complete" {
        return Err(format!(
            "{items} of {count} items, {}",
            loaded.state.run().word()
        ));
    }
    let at = |wanted: &dyn Fn(&Event) -> bool| {
        let mut events = loaded.events.iter();
        let found = events.rfind(|event| wanted(event));
        found
            .map(|event| event.at.boot)
            .ok_or("an event is missing")
    };
    let starts = at(&|event| {
        matches!(
            &event.fact,
            Fact::Answered {
                outcome: Outcome::Expanded(_),
                ..
            }
        )
    })?;
    let over = at(
        &|event| matches!(&event.fact, Fact::Answered { effect, outcome: Outcome::Ended(_), .. } if effect.of.node != NodeId::step(1)),
    )?;
    Ok(Measured {
        starts_ms: seen.starts.duration_since(seen.proof).as_secs_f64() * 1_000.0,
        from_answer_ms: seen.starts.duration_since(seen.answer).as_secs_f64() * 1_000.0,
        a_second: per_second(
            count,
            Duration::from_millis(over.saturating_sub(starts).max(1)),
        ),
        server_a_second: per_second(
            count.max(ASKERS),
            without_grove(&server, count.max(ASKERS))?,
        ),
    })
}

/// When commits were seen.
struct SeenCommits {
    answer: Instant,
    proof: Instant,
    starts: Instant,
}

/// Looks at what is open in the only run of a journal, until so many starts are.
fn watch(home: &Path, starts: usize) -> Result<SeenCommits, String> {
    let journal = RunPlaces::in_state(&home.join(".local/state/grove")).journal();
    let end = Instant::now() + LIMIT;
    let (mut store, mut run) = (None, None);
    let (mut answer, mut proof) = (None, None);
    while Instant::now() < end {
        std::thread::sleep(BETWEEN_LOOKS);
        if store.is_none() && journal.exists() {
            store = Store::open(&journal).ok();
        }
        let Some(store) = &store else { continue };
        if run.is_none() {
            let runs = store.runs(&RunFilter::default()).unwrap_or_default();
            run = runs.into_iter().next().map(|row| row.id);
        }
        let Some(run) = &run else { continue };
        let rows = store.outbox_of(run).map_err(|error| error.to_string())?;
        let now = Instant::now();
        let of = |kind| rows.iter().filter(move |row| row.effect.kind == kind);
        if of(EffectKind::Prove).next().is_some() {
            answer.get_or_insert(now);
        }
        if of(EffectKind::Expand).next().is_some() {
            proof.get_or_insert(now);
        }
        let begun = of(EffectKind::Start).filter(|row| row.effect.of.node != NodeId::step(1));
        if let (Some(answer), Some(proof)) = (answer, proof)
            && begun.count() >= starts
        {
            return Ok(SeenCommits {
                answer,
                proof,
                starts: now,
            });
        }
    }
    Err("the starts were not seen".to_owned())
}

/// Runs a chain of a list and a child for each of its items.
fn grove_run(home: &Path, server: &ModelServer, count: usize) -> Result<String, String> {
    let write = |path: &str, text: &str| {
        let path = home.join(path);
        let parent = path.parent().unwrap_or(home);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| error.to_string())
    };
    for name in ["lister", "worker"] {
        let text = format!("---\nname: {name}\ndescription: Works.\n---\n\nYou work.\n");
        write(&format!(".grove/agents/{name}.md"), &text)?;
    }
    write(
        ".config/grove/config.toml",
        "[runs]\nmodel = 'anthropic/m'\nmaxChildren = 2000\n",
    )?;
    let request = json!({
        "task": "list",
        "chain": [
            { "agent": "lister", "as": "found", "outputSchema": { "type": "object" } },
            {
                "expand": { "from": { "output": "found", "path": "/items" }, "key": "/n", "maxItems": count },
                "parallel": { "agent": "worker", "task": "Do {item.n}" },
                "collect": { "as": "done" },
                "concurrency": count.min(MOST_AT_A_TIME),
            },
        ],
    });
    write("work/request.json", &request.to_string())?;
    let output = Command::new(grove_program())
        .args(["run", "--request", "request.json", "--json"])
        .current_dir(home.join("work"))
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let run: Value = serde_json::from_str(last).map_err(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{error}: {errors}")
    })?;
    let id = run["id"].as_str().ok_or("there is no run")?;
    Ok(id.to_owned())
}

/// As many requests of a child's kind, by threads that do nothing else.
fn without_grove(server: &ModelServer, count: usize) -> Result<Duration, String> {
    let address = server.url().trim_start_matches("http://").to_owned();
    let body = json!({
        "model": "m", "max_tokens": 10, "stream": true,
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Do it" }] }],
    })
    .to_string();
    let start = Instant::now();
    let failed = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..ASKERS)
            .map(|asker| {
                let (address, body) = (&address, &body);
                scope.spawn(move || {
                    let share = count / ASKERS + usize::from(asker < count % ASKERS);
                    (0..share).find_map(|_| ask(address, body).err())
                })
            })
            .collect();
        askers
            .into_iter()
            .find_map(|asker| asker.join().unwrap_or(Some("a thread failed".to_owned())))
    });
    match failed {
        Some(reason) => Err(reason),
        None => Ok(start.elapsed()),
    }
}

fn ask(address: &str, body: &str) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(text)?;
    stream.set_read_timeout(Some(LIMIT)).map_err(text)?;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         x-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(text)?;
    stream.write_all(body.as_bytes()).map_err(text)?;
    let mut answer = String::new();
    let mut buffer = [0; 4096];
    while !answer.contains("message_stop") {
        let n = stream.read(&mut buffer).map_err(text)?;
        if n == 0 {
            return Err(format!("the server said {answer}"));
        }
        answer.push_str(&String::from_utf8_lossy(
            buffer.get(..n).unwrap_or_default(),
        ));
    }
    Ok(())
}

fn per_second(count: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / time.as_secs_f64()
}
