//! What other users and other programs of the machine can do to runs: nothing, and they hold nothing up.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use grove_spec::Digest;
use grove_testkit::model_server::Reply;
use grove_testkit::process::{self, Ending, Finished};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{bash, end_all, holder_of, run, run_of, scene, server, until, within};

/// No command takes so long, however busy the machine is.
const LIMIT: Duration = Duration::from_mins(1);

/// A command that must not hang.
fn grove(session: &Session, words: &[&str]) -> (Finished, Duration) {
    let began = Instant::now();
    let mut command = session.command("project");
    let finished = process::capture(command.args(words), LIMIT);
    let finished = finished.unwrap();
    assert_ne!(finished.ending, Ending::TimedOut, "{words:?} hangs");
    (finished, began.elapsed())
}

fn send(signal: &str, process: &str) {
    let mut kill = process::kill();
    assert!(kill.args([signal, process]).status().unwrap().success());
}

fn code(finished: &Finished) -> Option<i32> {
    match finished.ending {
        Ending::Exited(code) => Some(code),
        _ => None,
    }
}

#[test]
fn a_supervisor_that_was_suspended_hangs_no_command() {
    for next in ["-CONT", "-KILL"] {
        let server = server(vec![bash("sleep 3131.5"), Reply::text("Done.")]);
        let session = scene(&server);
        session.dir("project").dir("home/work");
        let id = grove(&session, &run("Sleep", &["--bg"])).0.stdout_text();
        let id = id.trim();
        until(|| sleepers("3131.5") > 0);
        let supervisor = holder_of(&session, id);
        send("-STOP", &supervisor);
        // Every command that wakes it leaves a message that it does not take.
        for _ in 0..14 {
            let (told, _) = grove(&session, &["runs", "steer", id, "faster"]);
            assert!(told.success(), "{}", told.stderr_text());
        }
        let (waited, took) = grove(&session, &["runs", "wait", id, "--timeout", "1"]);
        assert_eq!(code(&waited), Some(7), "{}", waited.stderr_text());
        assert!(took < Duration::from_secs(15), "{took:?}");
        let (later, _) = grove(&session, &run("Another", &["--bg"]));
        assert!(later.success());
        let said = later.stderr_text();
        let silent = format!("the supervisor, process {supervisor}, does not answer");
        assert!(said.contains("does not answer"), "{said}");
        assert!(grove(&session, &["runs", "list"]).0.success());
        for words in [["runs", "interrupt", id], ["runs", "stop", id]] {
            let (stopped, _) = grove(&session, &words);
            let said = stopped.stderr_text();
            let steps = [
                format!("kill -CONT {supervisor}"),
                format!("kill -KILL {supervisor}"),
            ];
            assert_eq!(code(&stopped), Some(1), "{said}");
            assert!(said.contains(&silent), "{said}");
            assert!(steps.iter().all(|step| said.contains(step)), "{said}");
        }
        // Each of the two next steps does what was wanted.
        send(next, &supervisor);
        let (ended, _) = grove(&session, &["runs", "wait", id]);
        assert_eq!(code(&ended), Some(130), "{next}: {}", ended.stderr_text());
        assert_eq!(sleepers("3131.5"), 0);
        end_all(&session);
    }
}

/// The socket of the supervisor that a session had.
fn socket_of(session: &Session) -> PathBuf {
    let names = session.entries("state/grove");
    let log = names
        .iter()
        .find_map(|name| name.strip_prefix("supervisor-")?.strip_suffix(".log"));
    let name = format!("supervisor-{}.socket", log.unwrap());
    session.path("state/grove").join(name)
}

#[test]
fn another_program_does_not_take_the_place_of_a_supervisor() {
    let ways = ["a name", "what a killed one left", "a file", "a link"];
    for way in ways {
        let server = server(vec![
            bash("sleep 3132.5"),
            Reply::text("Done."),
            Reply::text("Done."),
        ]);
        let session = scene(&server);
        session.dir("project");
        let id = grove(&session, &run("Sleep", &["--bg"])).0.stdout_text();
        until(|| sleepers("3132.5") > 0);
        let supervisor = holder_of(&session, id.trim());
        send("-KILL", &supervisor);
        until(|| sleepers("3132.5") == 0);
        let socket = socket_of(&session);
        let foreign = match way {
            "a name" => {
                // Where supervisors listened before: every user of the machine can take such a name.
                let lock = socket.with_extension("");
                let name = Digest::of(lock.as_os_str().as_encoded_bytes()).first_digits(24);
                let name = SocketAddr::from_abstract_name(format!("grove-supervisor-{name}"));
                Some(UnixDatagram::bind_addr(&name.unwrap()).unwrap())
            }
            "a file" => {
                std::fs::remove_file(&socket).unwrap();
                std::fs::write(&socket, "").unwrap();
                None
            }
            "a link" => {
                std::fs::remove_file(&socket).unwrap();
                let other = session.path("other");
                symlink(&other, &socket).unwrap();
                Some(UnixDatagram::bind(other).unwrap())
            }
            _ => None,
        };
        let (done, _) = grove(&session, &["runs", "wait", id.trim(), "--timeout", "40"]);
        assert!(done.success(), "{way}: {}", done.stderr_text());
        if let Some(foreign) = foreign {
            foreign.set_nonblocking(true).unwrap();
            assert!(foreign.recv(&mut [0; 64]).is_err(), "{way}");
        }
        if way != "a name" {
            let mode = |path: &std::path::Path| {
                let facts = std::fs::symlink_metadata(path).unwrap();
                facts.permissions().mode() & 0o777
            };
            assert_eq!(mode(&socket), 0o600, "{way}");
            assert_eq!(mode(&session.path("state/grove")), 0o700);
        }
        end_all(&session);
    }
}

#[test]
fn a_supervisor_is_woken_in_a_folder_of_any_length_and_finds_a_place_that_was_cleaned_up() {
    let server = server(vec![
        bash("sleep 3133.5"),
        Reply::text("Done."),
        Reply::text("Done."),
    ]);
    let session = scene(&server);
    let state = session.path("state").join("long/".repeat(40));
    let session = session.with_env("XDG_STATE_HOME", &state);
    session.dir("project");
    let id = grove(&session, &run("Sleep", &["--bg"])).0.stdout_text();
    until(|| sleepers("3133.5") > 0);
    let sockets = || {
        let entries = std::fs::read_dir(state.join("grove")).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        let sockets = paths.filter(|path| path.extension().is_some_and(|it| it == "socket"));
        sockets.collect::<Vec<_>>()
    };
    let [socket] = sockets().try_into().unwrap();
    std::fs::remove_file(&socket).unwrap();
    within(LIMIT, "it does not listen again", || socket.exists());
    let (stopped, _) = grove(&session, &["runs", "stop", id.trim()]);
    assert!(stopped.success(), "{}", stopped.stderr_text());
    let (ended, _) = grove(&session, &["runs", "wait", id.trim()]);
    assert_eq!(code(&ended), Some(130));
    // One that leaves takes its socket with it.
    within(LIMIT, "it stays", || sockets().is_empty());
}

#[test]
fn a_key_means_one_request() {
    let server = server(vec![Reply::text("Done."); 8]);
    let session = scene(&server);
    session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    session.dir("project/sub");
    let first = json!({ "agent": "worker", "task": "x", "submitKey": "nightly" });
    let submit = |request: &Value| {
        session.file("project/request.json", request.to_string());
        session.grove("run --request request.json --json")
    };
    let id = run_of(&submit(&first).ok().stdout)["id"].clone();
    assert_eq!(run_of(&submit(&first).ok().stdout)["id"], id);
    let changes = [
        ("task", json!("y")),
        ("model", json!("anthropic/other")),
        ("cwd", json!("sub")),
        ("maxTokens", json!(1_000_000)),
        ("acceptance", json!({ "verify": ["true"] })),
    ];
    for (field, value) in changes {
        let mut other = first.clone();
        other[field] = value;
        let refused = submit(&other).fails(2);
        let run = format!("belongs to run {}", id.as_str().unwrap());
        refused.says([&run, "another `submitKey`"]).lacks(["Done."]);
    }
    assert_eq!(run_of(&submit(&first).ok().stdout)["id"], id);
    assert_eq!(server.requests().len(), 1);
}
