//! Commands that show whether work counts: what they are kept from, and that none outlives its time.

use std::time::{Duration, Instant};

use grove_testkit::needs;
use grove_testkit::process_shapes::{SHAPES, command_lines, script, sleepers};
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::acceptance::{last_run, worker};
use super::run_of;

/// How often every way of hanging is shown; `cargo xtask nemesis verify` sets it.
const TIMES: &str = "GROVE_VERIFY_TIMES";
/// Commands that are bounded by a second are over after this, everything that they started included.
const OVER: u64 = 1_500;

#[test]
fn a_command_reaches_nothing_that_its_child_reaches() {
    needs![Pgrep];
    let (server, session) = worker();
    session.file("home/.ssh/id", "a key");
    session.file("home/.cargo/credentials.toml", "a token");
    session.file("home/other/file", "other work");
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n",
    );
    let at = |name: &str| session.path(name).display().to_string();
    let address = server.url();
    let (_, port) = address.rsplit_once(':').unwrap();
    for (name, line) in [
        ("a key", format!("cat {}", at("home/.ssh/id"))),
        (
            "a token",
            format!("cat {}", at("home/.cargo/credentials.toml")),
        ),
        ("other work", format!("ls {}", at("home/other"))),
        (
            "the journal",
            format!("head -c 1 {}", at("state/grove/runs.db")),
        ),
        ("writing", format!("echo x >> {}", at("home/other/file"))),
        (
            "the network",
            format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}'"),
        ),
        (
            "another process",
            "kill -CONT $(pgrep -o -f 'grove supervise')".to_owned(),
        ),
        (
            "its environment",
            "tr '\\0' '\\n' < /proc/$(pgrep -o -f 'grove supervise')/environ | grep -q PATH"
                .to_owned(),
        ),
        ("namespaces", "unshare -U true".to_owned()),
    ] {
        // The child is not in the sandbox: it does the same and comes through.
        let task = format!("{line} && echo yes > came-through");
        let held = format!("! {{ {line}; }}");
        let outcome = session.grove([
            "run",
            "worker",
            &task,
            "--verify",
            "rm came-through",
            "--verify",
            &held,
        ]);
        outcome.ok();
        let run = last_run(&session);
        assert_eq!(run["acceptance"], "verified", "{name}");
        assert_eq!(
            run["nodes"][0]["checks"][1]["sandbox"],
            "writes, reads, network, signals, system calls, attributes",
            "{name}"
        );
    }
    let id = last_run(&session)["id"].as_str().unwrap().to_owned();
    session
        .grove(["runs", "ledger", &id])
        .ok()
        .prints(["sandbox: writes, reads, network, signals, system calls, attributes"]);
}

#[test]
fn a_command_that_was_given_the_network_has_it() {
    let (server, session) = worker();
    let address = server.url();
    let (_, port) = address.rsplit_once(':').unwrap();
    let command = format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}'");
    for (network, code, held) in [
        (true, 0, "writes, reads, signals, system calls, attributes"),
        (
            false,
            5,
            "writes, reads, network, signals, system calls, attributes",
        ),
    ] {
        let acceptance =
            json!({ "verify": [{ "id": "it", "command": command, "network": network }] });
        let run = checked(&session, &acceptance, code);
        assert_eq!(run["nodes"][0]["checks"][0]["sandbox"], held);
    }
}

#[test]
fn a_command_gets_a_few_variables_and_its_own() {
    let (_server, session) = worker();
    let session = session
        .with_env("MY_SECRET", "of a person")
        .with_env("CARGO_HOME", "/opt/cargo");
    let given = "test \"$SHOWN-$CARGO_HOME\" = yes-/opt/cargo";
    let secrets = "test -z \"$MY_SECRET$ANTHROPIC_API_KEY\"";
    for (command, code) in [
        (format!("{given} && {secrets}"), 0),
        (format!("{given} && ! {secrets}"), 5),
    ] {
        let acceptance =
            json!({ "verify": [{ "id": "it", "command": command, "env": { "SHOWN": "yes" } }] });
        checked(&session, &acceptance, code);
    }
}

fn checked(session: &grove_testkit::session::Session, acceptance: &Value, code: i32) -> Value {
    let chain = json!([{ "agent": "worker", "acceptance": acceptance }]);
    let request = json!({ "task": "true", "chain": chain });
    session.file("project/request.json", request.to_string());
    let outcome = session.grove("run --request request.json --json");
    run_of(&outcome.fails(code).stdout)
}

/// Ways of hanging beside those in which processes leave their parents.
const HANGING: [(&str, &str); 2] = [
    ("flood of output", "yes flood-@"),
    (
        "many processes",
        "n=0; while [ $n -lt 150 ]; do sleep @ & n=$((n+1)); done; wait",
    ),
];

#[test]
fn no_command_outlives_its_time_in_whatever_way_it_hangs() {
    let times = std::env::var(TIMES).ok();
    let times: u32 = times.and_then(|times| times.parse().ok()).unwrap_or(1);
    let (_server, session) = worker();
    let mut slowest = 0;
    for round in 0..times {
        for (number, (name, shape)) in (500 + round * 20..).zip(SHAPES.iter().chain(&HANGING)) {
            let (line, seconds) = script(shape, number);
            let acceptance =
                json!({ "verify": [{ "id": "it", "command": line, "timeoutMs": 1_000 }] });
            let began = Instant::now();
            let run = checked(&session, &acceptance, 5);
            let check = &run["nodes"][0]["checks"][0];
            assert_eq!(check["end"], "timedOut", "{name}");
            let took = check["milliseconds"].as_u64().unwrap();
            assert!((1_000..=OVER).contains(&took), "{name}: {took} ms");
            slowest = slowest.max(took);
            assert!(began.elapsed() < Duration::from_secs(8), "{name}");
            assert_eq!(sleepers(&seconds), 0, "{name}");
            let flood = format!("flood-{seconds}");
            assert!(
                !command_lines().iter().any(|it| it.contains(&flood)),
                "{name}"
            );
        }
    }
    let ways = SHAPES.len() + HANGING.len();
    println!("{times} of {times}: {ways} ways, the slowest {slowest} ms");
}
