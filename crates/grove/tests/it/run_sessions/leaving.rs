//! A view is no owner: closing the terminal, killing `grove run` and detaching lose nothing. And what the keys of a
//! terminal do.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use grove_testkit::model_server::{Delivery, ModelServer, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::process::{Ending, Running};
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::Session;

use super::{bash, environments, run, scene, server, until};

const LIMIT: Duration = Duration::from_secs(20);

/// `grove run` in a terminal of its own, which `script` makes.
struct Terminal {
    script: Child,
    keys: Option<ChildStdin>,
    shown: Option<JoinHandle<String>>,
}

impl Terminal {
    fn open(session: &Session, words: &[&str]) -> Self {
        let grove = session.command("project");
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let line = format!(
            "exec '{}' {}",
            grove.get_program().display(),
            words.join(" ")
        );
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(session.path("project"))
            .env_clear()
            .envs(
                grove
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut script = command.spawn().unwrap();
        let mut output = script.stdout.take().unwrap();
        let shown = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            keys: script.stdin.take(),
            script,
            shown: Some(shown),
        }
    }

    fn strike(&mut self, keys: &str) {
        let input = self.keys.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Waits until `grove run` has ended; gives its exit code and what the terminal showed.
    fn ended(mut self) -> (i32, String) {
        let code = self.script.wait().unwrap().code().unwrap();
        (code, self.shown.take().unwrap().join().unwrap())
    }

    /// Closes the terminal as a person closes a window.
    fn close(mut self) {
        self.script.kill().unwrap();
        self.script.wait().unwrap();
    }
}

/// Says some words, and then nothing more for ever.
fn hangs_after_words() -> ScriptedReply {
    ScriptedReply {
        text: Some("A part of it. ".repeat(100)),
        pieces: 40,
        delivery: Delivery {
            hang_after_bytes: Some(3_000),
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    }
}

fn late(text: &str) -> ScriptedReply {
    ScriptedReply {
        text: Some(text.to_owned()),
        delivery: Delivery {
            first_delay_ms: 1_500,
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    }
}

fn asked(server: &ModelServer) {
    let came = server.wait_for(LIMIT, |request| request.path.ends_with("/messages"));
    assert!(came.is_some(), "nobody asked");
}

fn send(signal: &str, process: u32) {
    let mut kill = grove_testkit::process::kill();
    let sent = kill.args([signal, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The one run of a session, when it is over.
fn result_of(session: &Session) -> (String, String) {
    let listed = session.json("runs list");
    let id = listed["runs"][0]["id"].as_str().unwrap().to_owned();
    let waited = session.grove(["runs", "wait", &id]).ok();
    (waited.stdout, id)
}

#[test]
fn closing_the_terminal_killing_the_view_and_detaching_lose_nothing() {
    needs![Script];
    for way in ["close", "kill", "detach", "terminate", "hang up"] {
        let server = ModelServer::start(Script::replies([late("It went on.")])).unwrap();
        let session = scene(&server);
        let words = run("Wait", &[]);
        match way {
            "close" => {
                let terminal = Terminal::open(&session, &words);
                asked(&server);
                terminal.close();
            }
            "detach" => {
                let mut terminal = Terminal::open(&session, &words);
                asked(&server);
                terminal.strike("d");
                let (code, shown) = terminal.ended();
                assert_eq!(code, 7, "{shown}");
                assert!(shown.contains("continues"), "{shown}");
                assert!(shown.contains("1 worker asks the model"), "{shown}");
                assert!(shown.contains("d leaves it in the background"), "{shown}");
            }
            _ => {
                let mut command = session.command("project");
                command
                    .args(&words)
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped());
                let view = command.spawn().unwrap();
                asked(&server);
                let (signal, code) = match way {
                    "terminate" => ("-TERM", Some(143)),
                    "hang up" => ("-HUP", Some(129)),
                    _ => ("-KILL", None),
                };
                send(signal, view.id());
                let ended = view.wait_with_output().unwrap();
                assert_eq!(ended.status.code(), code, "{way}");
                let said = String::from_utf8_lossy(&ended.stderr).into_owned();
                assert!(
                    code.is_none() || said.contains("continues"),
                    "{way}: {said}"
                );
            }
        }
        let (result, id) = result_of(&session);
        assert_eq!(result, "It went on.\n", "{way}");
        assert_eq!(server.requests().len(), 1, "{way}: nobody asked twice");
        let shown = session.json(["runs", "show", &id]);
        assert_eq!(shown["nodes"][0]["attempts"][0]["recoveries"], 0, "{way}");
    }
}

#[test]
fn interrupted_once_it_stops_and_what_it_had_is_kept() {
    needs![Script];
    let server = ModelServer::start(Script::replies([hangs_after_words()])).unwrap();
    let session = scene(&server);
    let mut terminal = Terminal::open(&session, &run("Talk", &[]));
    server
        .wait_for_stats(LIMIT, |stats| stats.hanging == 1)
        .unwrap();
    terminal.strike("\u{3}");
    let (code, shown) = terminal.ended();
    assert_eq!(code, 130, "{shown}");
    for text in [
        "A part of it.",
        "stopped: by a terminal",
        "press again to end it now",
    ] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    server
        .wait_for_stats(LIMIT, |stats| stats.abandoned == 1)
        .unwrap();
}

#[test]
fn interrupted_twice_it_ends_now() {
    needs![Script];
    let line = "trap '' TERM; echo x > ready; sleep 3041.5; sleep 3041.5";
    let server = ModelServer::start(Script::replies([bash(line)])).unwrap();
    let session = scene(&server);
    let mut terminal = Terminal::open(&session, &run("Sleep", &[]));
    until(|| session.has("project/ready") && sleepers("3041.5") > 0);
    let began = Instant::now();
    terminal.strike("\u{3}");
    until(|| {
        let listed = session.json("runs list");
        let id = listed["runs"][0]["id"].as_str().unwrap().to_owned();
        let logs = session.grove(["runs", "logs", &id]);
        logs.stdout.contains("stop.0 done")
    });
    terminal.strike("\u{3}");
    let (code, shown) = terminal.ended();
    assert_eq!(code, 130, "{shown}");
    assert!(shown.contains("ending it now"), "{shown}");
    assert_eq!(sleepers("3041.5"), 0);
    assert!(began.elapsed() < LIMIT);
}

/// Whoever removes the folder of all runs wants none of them any more.
#[test]
fn a_supervisor_whose_journal_was_removed_ends_with_everybody_in_it() {
    let server = server(vec![bash("sleep 3077.5")]);
    let session = scene(&server);
    session.grove(run("Wait.", &["--bg"])).ok();
    until(|| sleepers("3077.5") > 0);
    let state = session.path("state").display().to_string();
    std::fs::remove_dir_all(&state).unwrap();
    let is_used = || {
        let mut all = environments().into_iter();
        all.any(|(_, environment)| environment.contains(&state))
    };
    until(|| !is_used() && sleepers("3077.5") == 0);
}

/// A run that goes on has come to nothing: what a script does next must not follow.
#[test]
fn a_signal_to_a_waiting_command_is_no_success() {
    let server = ModelServer::start(Script::replies([late("It went on.")])).unwrap();
    let session = scene(&server);
    let started = session.grove(run("Wait", &["--bg"])).ok();
    let id = started.stdout.trim().to_owned();
    asked(&server);
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let mut command = session.command("project");
        command
            .args(["runs", "wait", &id])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let waiting = command.spawn().unwrap();
        // It has taken the signals over as soon as one of them is caught.
        let status = format!("/proc/{}/status", waiting.id());
        until(|| {
            let status = std::fs::read_to_string(&status).unwrap();
            let caught = status.lines().find_map(|it| it.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
            [1, 2, 15]
                .iter()
                .all(|signal| caught & (1 << (signal - 1)) != 0)
        });
        send(signal, waiting.id());
        let ended = waiting.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{signal}");
        assert!(ended.stdout.is_empty());
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(said.contains(&format!("run {id} continues")), "{said}");
    }
    let (result, _) = result_of(&session);
    assert_eq!(result, "It went on.\n");
}

/// Nothing is ever recorded in a file that is gone, so that there is nothing to wait for.
#[test]
fn a_client_whose_journal_was_removed_says_so_and_ends() {
    let server = server(vec![bash("sleep 3078.5")]);
    let session = scene(&server);
    let mut command = session.command("project");
    command
        .args(run("Wait.", &[]))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut client = Running::start(&mut command, 100).unwrap();
    until(|| sleepers("3078.5") > 0);
    let state = session.path("state").display().to_string();
    std::fs::remove_dir_all(&state).unwrap();
    assert_eq!(client.end(LIMIT).unwrap(), Ending::Exited(1));
    let said: Vec<String> = std::iter::from_fn(|| client.line(LIMIT)).collect();
    let said = said.join("\n");
    assert!(said.contains("runs.db, was removed"), "{said}");
    until(|| sleepers("3078.5") == 0);
    assert!(!session.has("state"), "another journal was begun");
}
