//! A writer that swaps the skills folder for a link to another workspace while the program looks.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use grove_testkit::process;
use rustix::fs::{CWD, RenameFlags};

use super::corpus::Case;
use super::session::Session;

const OWN_SKILL: &str = "case/root/.agents/skills/s/SKILL.md";
const PEER_SKILL: &str = "case/peer/skills/s/SKILL.md";
/// How long the script of the corpus writes, in its own argument; it ends by itself.
const SCRIPT_SECONDS: &str = "3";
const SCRIPT_LIMIT: Duration = Duration::from_mins(2);
/// How long the folders are exchanged without a pause.
const EXCHANGE_TIME: Duration = Duration::from_secs(2);
/// Fewer rounds than this would prove nothing.
const FEWEST_ROUNDS: usize = 5;

/// The scenario of a race, by the number of its case.
pub(crate) fn complaints(case: &Case) -> Vec<String> {
    if case.number() != "a29" {
        return vec!["there is no scenario for this race".to_owned()];
    }
    let by_script = beside_the_script(case).into_iter();
    let by_exchange = beside_an_exchange(case).into_iter();
    by_script
        .map(|text| format!("beside race.sh: {text}"))
        .chain(by_exchange.map(|text| format!("beside an exchange: {text}")))
        .collect()
}

/// The case as it is, with its own script.
fn beside_the_script(case: &Case) -> Vec<String> {
    let mut session = cloned(case);
    arm(&mut session, case);
    let mut script = Command::new("bash");
    script
        .arg(session.home.path("case/race.sh"))
        .arg(SCRIPT_SECONDS);
    let mut rounds = 0;
    // On a busy machine one script may be over before there was much to see.
    while rounds < FEWEST_ROUNDS {
        let written = thread::scope(|scope| {
            let writer = scope.spawn(|| process::capture(&mut script, SCRIPT_LIMIT));
            rounds += look_until(&mut session, |_| writer.is_finished());
            writer.join().expect("the thread of the writer")
        });
        let written = written.expect("the writer can be started");
        session.require(written.success(), || {
            format!("race.sh: {}", written.stderr_text())
        });
        if !written.success() {
            break;
        }
    }
    after_the_race(session)
}

/// The same without a moment in which the folder is not there, and with a finding whose line is
/// quoted: what is quoted must be what was read, not what stands there a moment later.
fn beside_an_exchange(case: &Case) -> Vec<String> {
    let mut session = cloned(case);
    // Names that are reported with the line they stand in.
    for (file, name) in [(OWN_SKILL, "Own_Name"), (PEER_SKILL, "PEER-MARKER")] {
        let line = format!("name: {name}\n");
        replace_in(&session.home.path(file), "name: s\n", &line);
    }
    arm(&mut session, case);
    let skills = session.home.path("case/root/.agents/skills");
    let link = session.home.path("case/root/.agents/link");
    session.home.link(&link, "../../peer/skills");
    let looked = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| exchange_until(&skills, &link, &looked));
        let start = Instant::now();
        look_until(&mut session, |rounds| {
            rounds >= FEWEST_ROUNDS && start.elapsed() > EXCHANGE_TIME
        });
        looked.store(true, Ordering::Relaxed);
    });
    after_the_race(session)
}

fn cloned(case: &Case) -> Session {
    let session = Session::new();
    case.clone_to(&session.home.path("case"));
    session
}

/// Trusts the case, with everything forbidden that would tell that the peer was read: bodies are
/// never listed, so the marker is put into the description, and the digest is forbidden too.
fn arm(session: &mut Session, case: &Case) {
    let peer_skill = session.home.path(PEER_SKILL);
    replace_in(&peer_skill, "Probe skill", "PEER-MARKER");
    let peers = session.home.path("case/peer/skills");
    session.forbid([digest_of("s", &peers)]);
    session.forbid(&case.expected.must_not_contain);
    session.work_in(&session.home.path("case/root"));
    // Pins would only hide a foreign file as changed; without them it would be used.
    session.trust(&["--follow"]);
}

/// The digest that is shown for a skill of a root of the user.
fn digest_of(name: &str, root: &Path) -> String {
    let mut session = Session::new();
    session.look_in(root);
    let shown = session.look(&["skills", "show", "--json", name], &[0]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
    let digest = shown["digest"].as_str().map(str::to_owned);
    digest.unwrap_or_else(|| panic!("no digest: {shown} {:?}", session.complaints()))
}

fn replace_in(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).expect("a skill of the race");
    assert!(text.contains(old), "{} has no {old:?}", file.display());
    fs::write(file, text.replacen(old, new, 1)).expect("a skill of the race is ours to change");
}

/// Exchanges two names without a pause, an even number of times.
fn exchange_until(one: &Path, other: &Path, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        for _ in 0..2 {
            rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
                .expect("two names can be exchanged");
        }
    }
}

/// Runs all that shows skills, over and over; the skill may be there or not. Gives the number of rounds.
fn look_until(session: &mut Session, done: impl Fn(usize) -> bool) -> usize {
    let mut rounds = 0;
    while !done(rounds) {
        let listing = session.list();
        let states: Vec<&str> = listing.found().map(|skill| skill.state.as_str()).collect();
        session.require(
            states.iter().all(|state| ["ok", "invalid"].contains(state)),
            || format!("in the race: {}", listing.summary()),
        );
        session.look(&["skills", "check"], &[0, 1]);
        session.look(&["skills", "show", "s"], &[0, 1]);
        session.look(&["skills", "show", "--json", "s"], &[0, 1]);
        session.look(&["skills", "list"], &[0]);
        rounds += 1;
    }
    rounds
}

/// When nobody writes any more, the skill is there.
fn after_the_race(mut session: Session) -> Vec<String> {
    let listing = session.list();
    session.require(listing.ok_ids() == ["s"], || {
        format!("after the race: {}", listing.summary())
    });
    session.show_everything(&listing, &[]);
    session.complaints()
}
