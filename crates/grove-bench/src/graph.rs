//! `cargo xtask bench graph`: a step for each item of a list, with 1 to 1,000 children of the built-in engine side by side:
//! how long it takes from the commit of the outcome before to the commit that holds all starts, and how many children a
//! second come to their end; beside it, what the model server itself bears in the same run.
//!
//! An event has the time at which it was given to the journal, before its commit. So the time is taken from the outcome
//! itself to the first lease of a start, which is given to the journal after the commit of all starts: it is never less than
//! the time between the two commits.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grove_engine::view::RunPlaces;
use grove_plan::{EffectKind, Event, Fact, NodeId, Outcome};
use grove_store::Store;
use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::process::allow_many_connections;
use serde_json::{Value, json};

use crate::start::{build_grove, grove_program};
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;

const KEY: &str = "a-key-of-the-benchmark";
/// Threads that ask the model server without Grove.
const ASKERS: usize = 32;
/// As many children of a step as may run at a time.
const MOST_AT_A_TIME: usize = 100;
const LIMIT: Duration = Duration::from_mins(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let repetitions: usize = arguments.value("--runs")?.unwrap_or(5);
    let most: usize = arguments.value("--most")?.unwrap_or(1_000);
    arguments.finish()?;
    build_grove()?;
    allow_many_connections();
    let mut rows = Vec::new();
    for count in [1, 10, 100, 1_000]
        .into_iter()
        .filter(|count| *count <= most)
    {
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
    let run = grove_run(home, &server, count)?;
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
    let before = NodeId::step(1);
    let outcome = |event: &Event, kind: EffectKind| matches!(&event.fact, Fact::Answered { effect, .. } if effect.of.node == before && effect.kind == kind);
    let answer = at(&|event| outcome(event, EffectKind::Start))?;
    let proof = at(&|event| outcome(event, EffectKind::Prove))?;
    let mut events = loaded.events.iter();
    let first = events.find(|event| {
        matches!(&event.fact, Fact::Leased { effect, .. } if effect.of.node != before && effect.kind == EffectKind::Start)
    });
    let starts = first.ok_or("nobody began")?.at.boot;
    let over = at(
        &|event| matches!(&event.fact, Fact::Answered { effect, outcome: Outcome::Ended(_), .. } if effect.of.node != before),
    )?;
    Ok(Measured {
        starts_ms: milliseconds(starts.saturating_sub(proof)),
        from_answer_ms: milliseconds(starts.saturating_sub(answer)),
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

fn milliseconds(value: u64) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(u32::MAX))
}

fn per_second(count: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / time.as_secs_f64()
}
