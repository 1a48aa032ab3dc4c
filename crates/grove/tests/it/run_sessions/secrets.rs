//! A marker key through every path: it is sent to its provider and is nowhere else.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::process_shapes::{command_lines, sleepers};

use super::{KEY, bash, run, scene, until};

/// Prints the environment of every process that may be looked at, and of the shell itself.
const PRY: &str = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep API_KEY; env; cat given; rm given";

#[test]
fn a_key_is_in_no_log_journal_recording_error_artifact_or_process_list() {
    let hold = "sleep 3031.5 & echo $! > held; wait";
    let server = ModelServer::start(Script::replies([
        bash(PRY),
        Reply::text("I found something. ".repeat(4_000)),
        bash(hold),
        Reply::error(401, format!("{KEY} is not a key of ours")),
    ]))
    .unwrap();
    let session = scene(&server);
    // No process shows it, so it is given to the child.
    session.file("project/given", format!("API_KEY={KEY}\n"));
    let mut said = String::new();
    let mut tell = |outcome: grove_testkit::session::Outcome| {
        said.push_str(&outcome.stdout);
        said.push_str(&outcome.stderr);
    };
    tell(
        session
            .grove(run("Pry", &["--record", "r.jsonl", "--json"]))
            .ok(),
    );
    let id = session.grove(run("Hold", &["--bg"])).ok();
    let id = id.stdout.trim().to_owned();
    // The file is there before its line is.
    let is_held = || session.has("project/held") && session.read("project/held").ends_with('\n');
    until(|| sleepers("3031.5") > 0 && is_held());
    let lines = command_lines();
    assert!(lines.iter().any(|line| line.contains("supervise")));
    assert!(
        !lines.iter().any(|line| line.contains(KEY)),
        "on a command line"
    );
    let pid = session.read("project/held");
    let killed = grove_testkit::process::kill().arg(pid.trim()).status();
    assert!(killed.unwrap().success());
    let waited = session.grove(["runs", "wait", &id]).fails(1);
    assert!(waited.stderr.contains("auth"), "{}", waited.stderr);
    tell(waited);
    for words in [
        "runs list",
        "doctor",
        "config",
        "doctor --json",
        "config --json",
    ] {
        tell(session.grove(words));
    }
    for words in [["runs", "show"], ["runs", "logs"], ["prompt", "--run"]] {
        for more in [&["--json"][..], &[]] {
            let words = [&words[..], &[id.as_str()], more].concat();
            tell(session.grove(words).ok());
        }
    }
    assert!(!said.contains(KEY), "printed: {said}");
    let mut looked_at = Vec::new();
    for file in grove_testkit::shared::files_below(&session.path("")).unwrap() {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes.windows(KEY.len()).any(|it| it == KEY.as_bytes());
        assert!(!found, "the key is in {}", file.display());
        looked_at.push(file.display().to_string());
    }
    for kind in ["runs.db", "r.jsonl", "-1.jsonl", ".log"] {
        assert!(
            looked_at.iter().any(|file| file.ends_with(kind)),
            "no {kind}"
        );
    }
    // The counter-case: it was there to be found, and it was masked.
    let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(told.contains("API_KEY="), "nothing was found: {told}");
    let key = server.requests()[0].header("x-api-key").map(str::to_owned);
    assert_eq!(key.as_deref(), Some(KEY));
}
