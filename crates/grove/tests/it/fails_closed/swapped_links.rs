//! A folder of the project that somebody swaps for a link, over and over, while the program writes: nothing is ever
//! written, changed or removed outside.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use grove_testkit::session::Session;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{effort, session};

/// What writes, with the folder that is swapped.
const WRITERS: [(&str, &str); 8] = [
    ("agents export --host claude --json --yes", ".claude/agents"),
    (
        "agents create fresh --scope project --description d",
        ".grove/agents",
    ),
    (
        "agents edit near --scope project --model other",
        ".grove/agents",
    ),
    ("agents rename near nearer --scope project", ".grove/agents"),
    ("agents delete near --scope project --yes", ".grove/agents"),
    (
        "skills edit s --scope project --description other",
        ".grove/skills",
    ),
    ("skills rename s t --scope project", ".grove/skills"),
    ("skills delete s --scope project --yes", ".grove/skills"),
];

fn prepared() -> Session {
    let session = session();
    session.definition("home/.grove/agents/ed.md", "", "EDIT");
    session
}

/// Puts everything back that a writer may have changed, wherever the folder is by now.
fn reset(folder: &File) {
    let folder = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    for name in ["fresh.md", "nearer.md", "ed.md", ".grove-export"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir_all(folder.join("t"));
    let _ = fs::create_dir(folder.join("s"));
    for name in ["near.md", "s/SKILL.md"] {
        let text = NEAR.replace("near", if name.contains("SKILL") { "s" } else { "near" });
        fs::write(folder.join(name), text).unwrap();
    }
}

const NEAR: &str = "---\nname: near\ndescription: d\nmodel: one\n---\nNEAR\n";

#[test]
fn a_link_that_is_swapped_in_a_loop_leads_no_writing_out() {
    let time = Duration::from_millis(effort("GROVE_TEST_SWAP_MS", 800));
    for (words, folder) in WRITERS {
        let session = prepared();
        let inside = session.path("project").join(folder);
        session.dir(&inside);
        let held = File::open(&inside).unwrap();
        reset(&held);
        session.trust_with("--follow");
        session.file("out/near.md", NEAR);
        session.file("out/s/SKILL.md", NEAR.replace("near", "s"));
        let link = session.path("project/link");
        session.link("project/link", session.path("out"));
        let is_over = AtomicBool::new(false);
        let (mut tries, mut written) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, &inside, CWD, &link, RenameFlags::EXCHANGE);
                }
            });
            let start = Instant::now();
            while start.elapsed() < time {
                reset(&held);
                written += u64::from(session.grove(words).code == 0);
                tries += 1;
                assert_eq!(
                    session.entries("out"),
                    ["near.md", "s"],
                    "{words}, try {tries}"
                );
                assert_eq!(
                    session.entries("out/s"),
                    ["SKILL.md"],
                    "{words}, try {tries}"
                );
                assert_eq!(session.read("out/near.md"), NEAR, "{words}, try {tries}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(tries > 0, "{words}");
        println!("{words}: {tries} tries of which {written} wrote, none outside");
    }
}
