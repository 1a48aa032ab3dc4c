//! A graph whose disk is full for a while: that of the journal, that of the working trees, and that of the repository. What
//! was accepted is there, what could not be done says so, and whoever comes when there is room again goes on.
//!
//! The disks are small file systems in memory, in a mount namespace of this test alone. Where none can be made this fails: a
//! test of a full disk that has none shows nothing. `cargo xtask nemesis disturbances` goes through more moments.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::super::ALL;
use super::super::wait_for;
use super::aftermath::Ends;
use super::{Graph, moment, side_by_side, undisturbed};
use grove_testkit::needs;

/// Set where the test runs in its namespace.
const INSIDE: &str = "GROVE_NEMESIS_MOUNTS";
const NAME: &str =
    "run_sessions::nemesis::graphs::full_disk::a_full_disk_loses_nothing_that_was_accepted";
/// For how long there is no room.
const FULL: Duration = Duration::from_secs(2);
const LONG_FULL: Duration = Duration::from_secs(6);

#[derive(Debug, Clone, Copy)]
enum Disk {
    Journal,
    Trees,
    Repository,
}

struct FullDisk {
    disk: Disk,
    after: Duration,
}

impl fmt::Display for FullDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the disk of {:?} is full after {:?}",
            self.disk, self.after
        )
    }
}

/// A file system that holds so much, until the namespace ends.
fn mount(folder: &Path, size: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let size = format!("size={size},mode=0755");
    let mut mount = Command::new("mount");
    let mount = mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(folder);
    assert!(
        mount.status().unwrap().success(),
        "no small disk can be made"
    );
}

fn unmount(folder: &Path) {
    let mut unmount = Command::new("umount");
    let _ = unmount.arg("--lazy").arg(folder).status();
}

fn is_all() -> bool {
    std::env::var_os(ALL).is_some()
}

/// Takes all the room there is.
fn fill(file: &Path) {
    let mut filler = OpenOptions::new();
    let filler = filler.create(true).append(true).open(file);
    let mut filler: File = filler.unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        let block = vec![0; size];
        while filler.write_all(&block).is_ok() {}
    }
}

fn strike(full: &FullDisk) -> Result<String, String> {
    let graph = Graph::of(|session| {
        mount(&session.path("state"), "64m");
        mount(&session.path("state/grove/worktrees"), "4m");
        mount(&session.path("project"), "4m");
    });
    let session = &graph.session;
    let ended = strike_in(&graph, full);
    super::end_all(session);
    for folder in ["state/grove/worktrees", "state", "project"] {
        unmount(&session.path(folder));
    }
    ended
}

fn strike_in(graph: &Graph, full: &FullDisk) -> Result<String, String> {
    let session = &graph.session;
    let mut client = graph.client();
    thread::sleep(full.after);
    let filler = session.path(match full.disk {
        Disk::Journal => "state/filler",
        Disk::Trees => "state/grove/worktrees/filler",
        Disk::Repository => "project/filler",
    });
    // What is freed meanwhile is taken too.
    let time = if is_all() { LONG_FULL } else { FULL };
    let end = std::time::Instant::now() + time;
    while std::time::Instant::now() < end {
        fill(&filler);
        thread::sleep(Duration::from_millis(50));
    }
    std::fs::remove_file(&filler).unwrap();
    let run = graph.run();
    let checked = run.map(|run| graph.check(&run, Ends::WithReasons));
    let _ = client.kill();
    wait_for(&mut client);
    Ok(match checked.transpose()? {
        None => format!("{:?} full, not accepted", full.disk),
        Some(true) => format!("{:?} full, complete", full.disk),
        Some(false) => format!("{:?} full, said what could not be done", full.disk),
    })
}

#[test]
fn a_full_disk_loses_nothing_that_was_accepted() {
    needs![Codex, Namespaces];
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
    let often = if is_all() { 24 } else { 1 };
    let time = undisturbed();
    let all = (0..often).flat_map(|n| {
        let after = time / 5 + moment(n + 1, time * 3 / 5);
        [Disk::Journal, Disk::Trees, Disk::Repository].map(|disk| FullDisk { disk, after })
    });
    let outcomes = side_by_side(&all.collect::<Vec<_>>(), strike);
    assert!(
        outcomes.keys().any(|it| it.starts_with("Journal")),
        "{outcomes:?}"
    );
}
