//! A client whose run cannot go on because the disk of the journal is full says so, and follows it when there is room.
//!
//! The disk is a small file system in memory, in a mount namespace of this test alone.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::model_server::{Delivery, ModelServer, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::process::{Ending, Running};

use super::{run, scene};

/// Set where the test runs in its namespace.
const INSIDE: &str = "GROVE_FULL_DISK_MOUNTS";
const NAME: &str =
    "run_sessions::full_disk::a_full_disk_is_said_and_so_is_that_there_is_room_again";
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_full_disk_is_said_and_so_is_that_there_is_room_again() {
    needs![Namespaces];
    if std::env::var_os(INSIDE).is_none() {
        let mut inside = Command::new("unshare");
        inside.arg("--mount");
        // Whoever may not make one is root in a namespace of its own.
        if !rustix::process::geteuid().is_root() {
            inside.args(["--user", "--map-root-user"]);
        }
        inside.arg(std::env::current_exe().unwrap());
        inside
            .args([NAME, "--exact", "--nocapture"])
            .env(INSIDE, "1");
        assert!(inside.status().unwrap().success());
        return;
    }
    let late = ScriptedReply {
        text: Some("It went on.".to_owned()),
        delivery: Delivery {
            first_delay_ms: 1_500,
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    };
    let server = ModelServer::start(Script::replies([late])).unwrap();
    let session = scene(&server);
    let mut mount = Command::new("mount");
    let mount = mount.args(["-t", "tmpfs", "-o", "size=16m,mode=0755", "none"]);
    let mounted = mount.arg(session.path("state")).status().unwrap();
    assert!(mounted.success(), "no small disk can be made");
    let mut command = session.command("project");
    command
        .args(run("Wait", &[]))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut client = Running::start(&mut command, 100).unwrap();
    let asked = server.wait_for(LIMIT, |request| request.path.ends_with("/messages"));
    assert!(asked.is_some(), "nobody asked");
    let filler = session.path("state/filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        let block = vec![0; size];
        while file.write_all(&block).is_ok() {}
    }
    // An open file keeps its room.
    drop(file);
    let mut said = Vec::new();
    let mut until = |wanted: &str| {
        while let Some(line) = client.line(LIMIT) {
            let is_it = line.contains(wanted);
            said.push(line);
            if is_it {
                return;
            }
        }
        panic!("{wanted} in {said:?}");
    };
    until("is full: the run continues when there is room again");
    std::fs::remove_file(&filler).unwrap();
    until(" complete; ");
    assert_eq!(client.end(LIMIT).unwrap(), Ending::Exited(0));
    super::end_all(&session);
    let mut unmount = Command::new("umount");
    let _ = unmount.arg("--lazy").arg(session.path("state")).status();
}
