//! `grove try`: the main job on a machine where nothing is set up.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::shared::files_below;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::run_sessions::{environments, within};

/// Makes the recording anew, from the answers below; `cargo xtask record` sets it.
const RECORD: &str = "GROVE_RECORD";

/// What the model said when it was recorded: the child's task, how many turns it has had, its answer.
fn answer(request: &Request) -> Reply {
    let body = request.json();
    let task = body["messages"][0]["content"][0]["text"].as_str();
    let task = task.unwrap_or_default();
    let turns = body["messages"].as_array().map_or(0, Vec::len) / 2;
    let bash = |command: &str| Reply::call("bash", json!({ "command": command }));
    let read = |path: &str| Reply::call("read", json!({ "path": path }));
    let edit = |path: &str, old: &str, new: &str| {
        let change = json!({ "path": path, "oldText": old, "newText": new });
        Reply::call("edit", change)
    };
    match (task.split(['.', ' ', ',']).next(), turns) {
        (Some("Both"), 0) => bash("sh test.sh; tail -n 1 to-fahrenheit to-celsius"),
        (Some("Both"), _) => Reply::text(
            "- `to-fahrenheit`: it takes 32 away at the end, which has to be added.\n\
             - `to-celsius`: it takes 30 away at the beginning, where it has to be 32.",
        ),
        (Some("Mend"), turns) => {
            let is_first = task.starts_with("Mend to-fahrenheit");
            let (file, old, new, scale) = if is_first {
                ("to-fahrenheit", "- 32", "+ 32", "fahrenheit")
            } else {
                ("to-celsius", "- 30", "- 32", "celsius")
            };
            match turns {
                0 => read(file),
                1 => edit(file, old, new),
                2 => bash(&format!("sh test.sh {scale}")),
                _ => Reply::text(format!(
                    "Mended `{file}`: `{old}` is `{new}` now, and nothing else is changed. `sh test.sh {scale}` printed two lines \
                     that begin with `ok`."
                )),
            }
        }
        (Some("Two"), 0) => read("test.sh"),
        (Some("Two"), _) => Reply::text(
            "No findings. Each worker changed the one operand that the scout named, and `test.sh` checks each script at \
             the freezing and at the boiling point, which no other pair of constants gets right.",
        ),
        _ => Reply::error(400, "nothing was expected"),
    }
}

fn record(recording: &Path) {
    let server = ModelServer::start(Script::chosen_by(|_, request| answer(request))).unwrap();
    let session = crate::session().working_in("");
    session.grove("try --folder tried --files-only").ok();
    let home = session.path("tried/home");
    let session = session
        .with_env("HOME", home)
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", "a-key-of-nobody")
        .working_in("tried/degrees");
    session.grove("trust --yes").ok();
    let words = "run --request mend.json --model anthropic/m --record ../new.jsonl";
    session.grove(words).ok();
    std::fs::copy(session.path("tried/new.jsonl"), recording).unwrap();
}

#[test]
fn it_is_tried_with_nothing_set_up_and_nothing_is_left_elsewhere() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("try_sample/model.jsonl");
    if std::env::var_os(RECORD).is_some() {
        // The program has the new one after it was built again.
        return record(&recording);
    }
    let session = crate::session().working_in("");
    session.dir("home");
    let before = files_below(&session.path("")).unwrap();
    let outcome = session.grove("try --folder tried");
    assert_eq!(
        outcome.code, 0,
        "when children are told something else than before, `cargo xtask record` makes the recording anew\n{outcome}"
    );
    let whole = format!("{}{}", outcome.stdout, outcome.stderr);
    for part in [
        "WRONG: to-fahrenheit 100 is 148 and not 212",
        "<name>shell-style</name>",
        "The model's answers are recorded.",
        "calls edit: to-celsius",
        "No findings.",
        "+echo $(($1 * 9 / 5 + 32))",
        "+echo $((($1 - 32) * 5 / 9))",
        "ok: to-celsius 212 is 100",
        "What to do next:",
    ] {
        assert!(whole.contains(part), "{part}\n{outcome}");
    }
    // Nothing differs from what was recorded: neither what is told nor what the tools come to.
    assert!(!whole.contains("differs"), "{outcome}");
    let elsewhere = files_below(&session.path("")).unwrap();
    let elsewhere = elsewhere
        .iter()
        .filter(|file| !file.starts_with(session.path("tried")));
    assert_eq!(
        elsewhere.collect::<Vec<_>>(),
        before.iter().collect::<Vec<_>>()
    );
    let home = session.path("tried/home");
    let inside = session
        .with_env("HOME", &home)
        .with_env("XDG_STATE_HOME", home.join(".local/state"))
        .working_in("tried/degrees");
    let listed = inside.json("runs list");
    let id = listed["runs"][0]["id"].as_str().unwrap();
    let shown = inside.json(["runs", "show", id]);
    let accepted: Vec<&Value> = shown["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["acceptance"])
        .collect();
    let expected = ["none", "verified", "verified", "verified"];
    assert_eq!(json!(accepted), json!(expected), "{shown}");
    inside
        .grove("try --folder .")
        .fails(2)
        .says(["already exists"]);
}

/// Whether a process has a folder in its environment.
fn is_used(folder: &Path) -> bool {
    let folder = folder.display().to_string();
    let mut all = environments().into_iter();
    all.any(|(_, environment)| environment.contains(&folder))
}

#[track_caller]
fn until(what: &str, holds: impl FnMut() -> bool) {
    within(Duration::from_mins(1), what, holds);
}

#[test]
fn whoever_takes_its_folder_away_at_once_has_no_process_left() {
    let session = crate::session().working_in("");
    session.grove("try --folder tried").ok();
    let folder = session.path("tried");
    std::fs::remove_dir_all(&folder).unwrap();
    // A supervisor that is still there for whatever comes next has nothing to come any more.
    until("nobody works there", || !is_used(&folder));
    assert!(!folder.exists());
}

#[test]
fn an_interrupt_takes_everything_away_again() {
    let session = crate::session().working_in("");
    let folder = session.path("tried");
    let mut command = session.command("");
    command.args(["try", "--folder", "tried"]).process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let journal = folder.join("home/.local/state/grove/runs.db");
    until("the run has begun", || journal.exists());
    let group = Pid::from_child(&child);
    kill_process_group(group, Signal::INT).unwrap();
    until("it has ended", || child.try_wait().unwrap().is_some());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("the folder was removed"), "{said}");
    until("nobody works there", || !is_used(&folder));
    assert!(!folder.exists());
}

#[test]
fn what_cannot_be_made_leaves_nothing() {
    let session = crate::session().working_in("");
    let no_git = session.with_env("PATH", "/nowhere");
    let outcome = no_git.grove("try --folder tried");
    outcome
        .fails(1)
        .says(["`git` cannot be started", "install git"]);
    assert!(!no_git.path("tried").exists());
}
