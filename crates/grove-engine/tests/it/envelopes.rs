//! What is stored beside a plan: read where it can be, refused with a code where it cannot.

use grove_engine::EnvelopeError;
use grove_testkit::model_server::Script;
use rusqlite::Connection;

use crate::scene::Scene;

/// Changes what is stored beside the plan of a run that no supervisor has taken yet.
fn change(scene: &Scene, run: &str, envelope: &str, surroundings: Option<&str>) {
    let raw = Connection::open(scene.places().journal()).unwrap();
    let changed = raw.execute(
        "UPDATE plans SET envelope = ?2 WHERE run = ?1",
        [run, envelope],
    );
    assert_eq!(changed.unwrap(), 1);
    let changed = raw.execute(
        "UPDATE runs SET surroundings = ?2 WHERE id = ?1",
        rusqlite::params![run, surroundings],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn a_run_whose_envelope_cannot_be_read_fails_with_a_code_and_is_shown() {
    let scene = Scene::new(Script::plain());
    let own = scene.engine.journal().unwrap().surroundings();
    let newer =
        r#"{"schema":"grove.run-envelope/9","title":"","task":"","folder":"/","surroundings":""}"#;
    for (envelope, surroundings, expected) in [
        ("no JSON", None, "cannot be read"),
        (newer, Some(own.as_str()), "`grove.run-envelope/9`"),
    ] {
        let run = scene.submit_alone("scout", "look");
        change(&scene, &run, envelope, surroundings);
        let served = scene.engine.serve_here().unwrap();
        let view = scene.wait(&run);
        drop(served);
        let reason = view.reason.clone().unwrap_or_default();
        assert_eq!(view.shown(), "failed", "{reason}");
        assert!(reason.contains(expected), "{reason}");
        assert!(reason.contains(EnvelopeError::CODE), "{reason}");
        let journal = scene.engine.journal().unwrap();
        let rows = journal
            .runs(&grove_engine::view::RunFilter::default())
            .unwrap();
        let row = rows.iter().find(|row| row.id == run).unwrap();
        assert!(
            row.reason
                .as_ref()
                .is_some_and(|it| it.contains(EnvelopeError::CODE))
        );
    }
    assert!(scene.server.requests().is_empty());
}

#[test]
fn a_run_of_other_surroundings_is_left_alone_until_it_is_asked_for() {
    let scene = Scene::new(Script::plain());
    let run = scene.submit_alone("scout", "look");
    let raw = Connection::open(scene.places().journal()).unwrap();
    raw.execute("UPDATE runs SET surroundings = 'other'", [])
        .unwrap();
    let _served = scene.engine.serve_here().unwrap();
    // A second run shows that the supervisor has looked round.
    let own = scene.submit("scout", "look too");
    assert_eq!(scene.wait(&own).shown(), "complete");
    let journal = scene.engine.journal().unwrap();
    assert_eq!(journal.load(&run).unwrap().state.shown(), "queued");
    raw.execute("UPDATE outbox SET opened_at = 0", []).unwrap();
    assert_eq!(scene.wait(&run).shown(), "complete");
}
