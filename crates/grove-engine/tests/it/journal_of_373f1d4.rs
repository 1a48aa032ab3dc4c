//! A journal that an earlier version wrote is read, shown and continued; `journal_of_373f1d4/README.md` says how it was made.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use grove_engine::RunJournal;
use grove_engine::view::{ChildWish, RunFilter};
use grove_engine::words::show_lines;
use grove_testkit::model_server::{Script, ScriptFile};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::scene::Scene;

/// The runs of the journal, the oldest first: their ids and states, and their answers where they have ended.
const RUNS: [(&str, &str, &str); 6] = [
    ("0szr1f9mpg", "complete", "There is bin, and more."),
    ("0szr1fd9vw", "complete", "The door is green now."),
    (
        "0szr1fg62r",
        "complete",
        "2/2 succeeded\n\n=== 2[a-rs] scout ===\na.rs is fine.\n\n=== 2[b-rs] scout ===\nb.rs is fine.",
    ),
    (PAUSED, "paused", ""),
    (ASKING, "asking", "I have to know."),
    (RUNNING, "running", ""),
];
const CHAIN: &str = "0szr1fd9vw";
const PAUSED: &str = "0szr1fj0z4";
const ASKING: &str = "0szr1fkt8m";
const RUNNING: &str = "0szr1fn5br";

/// A home with the journal, and a model that goes on where the earlier one stopped.
fn scene() -> Scene {
    let script: Value = json!({ "marked": [
        { "marker": "wait for me", "turns": [{ "text": "You came." }] },
        { "marker": "ask me", "turns": [{ "text": "never said" }, { "text": "Green it is." }] },
        { "marker": "work on", "turns": [{ "text": "never said" }, { "text": "I went on." }] },
        { "marker": "paint it", "turns": [{ "text": "The door is greener." }] },
    ] });
    let script: ScriptFile = serde_json::from_value(script).unwrap();
    let scene = Scene::new(Script::from(script));
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/journal_of_373f1d4");
    let places = scene.places();
    fs::create_dir_all(places.folder()).unwrap();
    let journal = Connection::open(places.journal()).unwrap();
    let text = fs::read_to_string(from.join("journal.sql")).unwrap();
    // The tables of a dump come in the order of their names.
    journal.pragma_update(None, "foreign_keys", false).unwrap();
    journal.execute_batch(&text).unwrap();
    let key = places.folder().join("ledger.key");
    fs::copy(from.join("ledger.key"), &key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    scene
}

fn journal(scene: &Scene) -> Arc<RunJournal> {
    scene.engine.journal().unwrap()
}

#[test]
fn its_runs_are_listed_and_shown_and_nothing_in_it_was_changed() {
    let scene = scene();
    let journal = journal(&scene);
    let rows = journal.runs(&RunFilter::default()).unwrap();
    let listed = rows
        .iter()
        .rev()
        .map(|row| (row.id.as_str(), row.state.as_str()));
    let expected = RUNS.map(|(id, state, _)| (id, state));
    assert_eq!(listed.collect::<Vec<_>>(), expected);
    for (id, state, answer) in RUNS {
        let view = journal.view(&journal.load(id).unwrap());
        let first = format!("run {id} {state}");
        assert!(show_lines(&view)[0].starts_with(&first), "{view:?}");
        assert_eq!(view.answer.unwrap_or_default(), answer, "{id}");
        let checked = journal.checked_ledger(id).unwrap();
        assert_eq!(checked.faults, Vec::<String>::new(), "{id}");
        assert!(journal.export(id).unwrap().title.starts_with("scout"));
        assert!(
            journal
                .told(id)
                .unwrap()
                .told
                .system
                .starts_with("You look around.")
        );
    }
}

#[test]
fn its_open_runs_are_answered_resumed_and_driven_on() {
    let scene = scene();
    let journal = journal(&scene);
    let _served = scene.engine.serve_here().unwrap();
    let answer = ChildWish::Answer("Green.".to_owned());
    for (run, wish, expected) in [
        (RUNNING, None, "I went on."),
        (ASKING, Some(answer), "Green it is."),
        (PAUSED, Some(ChildWish::Resume(None)), "You came."),
    ] {
        if let Some(wish) = wish {
            journal.want(run, wish).unwrap();
        }
        let view = scene.wait(run);
        assert_eq!(view.shown(), "complete", "{view:?}");
        assert_eq!(view.answer.as_deref(), Some(expected));
        let checked = journal.checked_ledger(run).unwrap();
        assert_eq!(checked.faults, Vec::<String>::new(), "{run}");
    }
    // The one at work when its supervisor was killed did not call its tool again.
    let view = journal.view(&journal.load(RUNNING).unwrap());
    let attempt = &view.nodes[0].attempts[0];
    assert_eq!((attempt.tool_calls, attempt.turns), (1, 2));
    assert_eq!(attempt.recoveries, 1);
}

#[test]
fn a_chain_of_it_is_run_again_from_its_second_step() {
    let scene = scene();
    let _served = scene.engine.serve_here().unwrap();
    let again = journal(&scene)
        .again(&format!("{CHAIN}.2"), None, None)
        .unwrap();
    let view = scene.wait(&again.id);
    assert_eq!(
        view.answer.as_deref(),
        Some("The door is greener."),
        "{view:?}"
    );
    assert_eq!(
        scene.server.requests().len(),
        1,
        "the first step is taken over"
    );
}
