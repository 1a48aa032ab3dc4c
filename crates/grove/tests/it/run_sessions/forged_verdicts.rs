//! Ways to turn a check that fails into one that is accepted: none is, and none leaves a process behind.

use grove_testkit::needs;
use grove_testkit::process_shapes::sleepers;
use serde_json::json;

use super::acceptance::{last_run, worker};
use super::run_of;

/// What a keeper says of a program that ended well, without and with the word that no program knows.
const FORGED: &str = r#"{"exit":{"code":0},"why":"done","scans":2,"ended":0,"left":[],"held":[]}"#;
const FORGED_WITH_WORD: &str = r#"{"word":"0","report":{"exit":{"code":0},"why":"done","scans":2,"ended":0,"left":[],"held":[]}}"#;

/// What every way begins with: the keeper, the supervisor and the client, as far as `/proc` shows them.
const PRELUDE: &str = "\
K=$PPID; up() { sed 's/.*) . //; s/ .*//' /proc/$1/stat; }; S=$(up $K); C=$(pgrep -o -f 'grove run ' || echo 1); \
";

/// Each is a command that ends with an error. `REPORT` stands for a forged report, `STATE` for the state folder, `HOME` for
/// the home folder, `SLEEP` for seconds that nothing else sleeps.
const WAYS: &[(&str, &str)] = &[
    // The report.
    (
        "the report through the keeper's errors",
        "echo 'REPORT' > /proc/$K/fd/2; kill -9 $K",
    ),
    (
        "the same from a process that goes on",
        "setsid sh -c \"echo 'REPORT' > /proc/$K/fd/2; kill -9 $K; exec sleep SLEEP\" & sleep 1; exit 1",
    ),
    (
        "the report without a death",
        "echo 'REPORT' > /proc/$K/fd/2",
    ),
    (
        "the report through a thread's errors",
        "echo 'REPORT' > /proc/$K/task/$K/fd/2; kill -9 $K",
    ),
    ("the report as output", "echo 'REPORT'"),
    ("the report as errors", "echo 'REPORT' >&2"),
    (
        "the report as output of a keeper that is gone",
        "echo 'REPORT'; kill -9 $K",
    ),
    (
        "the report through the keeper's output",
        "echo 'REPORT' > /proc/$K/fd/1; kill -9 $K",
    ),
    (
        "the report to all that is open",
        "for n in 0 1 2 3 4 5 6 7 8 9; do { echo 'REPORT' >&$n; } 2>&-; done",
    ),
    (
        "the report to all that the keeper has open",
        "for f in /proc/$K/fd/*; do echo 'REPORT' > $f; done; kill -9 $K",
    ),
    (
        "the report to all that the supervisor has open",
        "for f in /proc/$S/fd/*; do echo 'REPORT' > $f; done; kill -9 $K",
    ),
    (
        "the report to all that the client has open",
        "for f in /proc/$C/fd/*; do echo 'REPORT' > $f; done",
    ),
    (
        "a keeper of its own",
        "echo '{\"command\":[\"true\"]}' | /proc/$K/exe __keeper",
    ),
    (
        "the step before the program",
        "echo '{}' | /proc/$K/exe __keeper confined",
    ),
    // The keeper.
    ("the keeper killed", "kill -9 $K"),
    ("the keeper asked to end", "kill -TERM $K"),
    ("the keeper stopped", "kill -STOP $K"),
    ("the keeper hung up", "kill -HUP $K"),
    ("the keeper's group killed", "kill -9 -- -$K"),
    ("everything killed", "kill -9 -1"),
    ("the supervisor killed", "kill -9 $S"),
    ("the supervisor stopped", "kill -STOP $S"),
    ("the client killed", "kill -9 $C"),
    ("the end said to the keeper", "echo end > /proc/$K/fd/0"),
    ("the keeper's memory", "echo x > /proc/$K/mem"),
    (
        "the keeper's environment",
        "grep -q . /proc/$K/environ && exit 0",
    ),
    (
        "the supervisor's memory",
        "dd if=/proc/$S/mem bs=1 count=1 skip=4096 of=copy && exit 0",
    ),
    (
        "the keeper chosen when memory is short",
        "echo 1000 > /proc/$K/oom_score_adj && exit 0",
    ),
    (
        "the keeper's limits",
        "prlimit --pid $K --nofile=1:1 && exit 0",
    ),
    (
        "the keeper's priority",
        "renice -n 19 -p $K >copy 2>&1; taskset -p 0 $K",
    ),
    // Ledger and journal.
    ("the journal", "echo x >> STATE/runs.db && exit 0"),
    (
        "the log of the journal",
        "echo x >> STATE/runs.db-wal && exit 0",
    ),
    (
        "the journal replaced",
        "echo x > fake; mv fake STATE/runs.db && exit 0",
    ),
    (
        "the key of the ledgers read",
        "cat STATE/ledger.key && exit 0",
    ),
    (
        "the key of the ledgers written",
        "echo x > STATE/ledger.key && exit 0",
    ),
    (
        "the key of the ledgers readable for others",
        "chmod 644 STATE/ledger.key && exit 0",
    ),
    ("the state folder moved", "mv STATE STATE-old && exit 0"),
    (
        "an approval",
        "echo x >> STATE/approvals.json && exit 0; echo x >> STATE/trust.json && exit 0",
    ),
    (
        "a way through the keeper's root",
        "echo x >> /proc/$K/root/STATE/runs.db && exit 0",
    ),
    // Files.
    (
        "a program of the system",
        "cp /bin/true /bin/false && exit 0",
    ),
    (
        "a link to the journal",
        "ln -s STATE/runs.db link; echo x >> link && exit 0",
    ),
    (
        "a hard link to the journal",
        "ln STATE/runs.db link && exit 0",
    ),
    (
        "the programs of the person",
        "mkdir -p HOME/.local/bin && exit 0; echo x > HOME/.profile && exit 0",
    ),
    // Environment.
    (
        "a run of its own",
        "env -u GROVE_RUN /proc/$K/exe run worker true && exit 0",
    ),
    (
        "the child's mark",
        "GROVE_RUN=x /proc/$K/exe runs stop last && exit 0",
    ),
    ("an answer", "/proc/$K/exe runs answer last yes && exit 0"),
    // Time.
    ("the clock", "date -s '2020-01-01' && exit 0"),
    (
        "a good end when time is up",
        "trap 'exit 0' TERM; sleep SLEEP & wait",
    ),
    (
        "a good end beyond its time",
        "(trap '' TERM; sleep SLEEP) & wait; exit 0",
    ),
    // Signals to itself.
    ("its own death", "kill -9 $$"),
    ("its own stop", "kill -STOP $$"),
    (
        "its parent's end as its own",
        "(sleep 0.1; exit 0) & exit 1",
    ),
    // Descriptors.
    ("everything closed", "exec 0<&- 1>&- 2>&-; exit 1"),
    ("a flood before the end", "head -c 3000000 /dev/zero"),
    ("a full table of descriptors", "ulimit -n 3; exit 1"),
    (
        "a name in the place of the report",
        "exec 2>/proc/self/fd/1; echo 'REPORT' >&2",
    ),
];

#[test]
fn no_way_to_forge_a_verdict_is_accepted() {
    needs![Pgrep];
    let (_server, session) = worker();
    let state = session.path("state/grove").display().to_string();
    let home = session.path("home").display().to_string();
    let mut faults = Vec::new();
    let mut seconds = 7_000.25;
    for report in [FORGED, FORGED_WITH_WORD] {
        for (name, way) in WAYS {
            if report == FORGED_WITH_WORD && !way.contains("REPORT") {
                continue;
            }
            seconds += 1.0;
            let sleep = seconds.to_string();
            let line = way.replace("REPORT", report).replace("STATE", &state);
            let line = line.replace("HOME", &home).replace("SLEEP", &sleep);
            let command = format!("{PRELUDE}{line}\nexit 1");
            let acceptance = json!({
                "verify": [{ "id": "it", "command": command, "timeoutMs": 1_500 }],
            });
            let chain = json!([{ "agent": "worker", "acceptance": acceptance }]);
            let request = json!({ "task": "true", "chain": chain });
            session.file("project/request.json", request.to_string());
            let outcome = session.grove("run --request request.json --json");
            assert!(!outcome.stdout.is_empty(), "{name}: {outcome}");
            let run = run_of(&outcome.stdout);
            let check = &run["nodes"][0]["checks"][0];
            if run["acceptance"] != "rejected" || check["end"]["code"] == 0 {
                faults.push(format!("{name}: {} {check}", run["acceptance"]));
            }
            if sleepers(&sleep) > 0 {
                faults.push(format!("{name}: a process goes on"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(WAYS.len() >= 40, "{}", WAYS.len());
    let id = last_run(&session)["id"].as_str().unwrap().to_owned();
    let ledger = session.json(["runs", "ledger", &id, "--verify"]);
    assert_eq!(ledger["verified"], true);
}
