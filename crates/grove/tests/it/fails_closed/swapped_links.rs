//! A folder of the project that somebody swaps for a link, over and over, while the program writes: nothing is ever
//! written, changed or removed outside.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use grove_testkit::session::Session;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{effort, session};

/// What writes, with the folder that is swapped.
const WRITERS: [(&str, &str); 5] = [
    ("agents export --host claude --json", ".claude/agents"),
    (
        "agents create fresh --scope project --description d",
        ".grove/agents",
    ),
    (
        "agents edit near --scope project --model other",
        ".grove/agents",
    ),
    ("agents rename near nearer --scope project", ".grove/agents"),
    ("agents delete near --scope project", ".grove/agents"),
];

fn prepared() -> Session {
    let session = session();
    session.definition("home/.grove/agents/ed.md", "", "EDIT");
    session
}

/// Puts everything back that a writer may have changed.
fn reset(session: &Session, folder: &str) {
    for name in ["fresh.md", "nearer.md", "ed.md", ".grove-export"] {
        let _ = fs::remove_file(session.path("project").join(folder).join(name));
    }
    session.definition(
        Path::new("project").join(folder).join("near.md"),
        "model: one\n",
        "NEAR",
    );
}

#[test]
fn a_link_that_is_swapped_in_a_loop_leads_no_writing_out() {
    let time = Duration::from_millis(effort("GROVE_TEST_SWAP_MS", 800));
    for (words, folder) in WRITERS {
        let session = prepared();
        reset(&session, folder);
        session.trust_with("--follow");
        session.definition("out/near.md", "model: one\n", "NEAR");
        let outside = session.read("out/near.md");
        let inside = session.path("project").join(folder);
        let link = session.path("project/link");
        session.link("project/link", session.path("out"));
        let is_over = AtomicBool::new(false);
        let mut tries = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, &inside, CWD, &link, RenameFlags::EXCHANGE);
                }
            });
            let start = Instant::now();
            while start.elapsed() < time {
                session.grove(words);
                tries += 1;
                assert_eq!(session.entries("out"), ["near.md"], "{words}, try {tries}");
                assert_eq!(session.read("out/near.md"), outside, "{words}, try {tries}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(tries > 0, "{words}");
        println!("{words}: {tries} tries, none outside");
    }
}
