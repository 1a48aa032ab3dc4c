//! What is recorded, and what people are shown of it.

use grove_plan::{EffectKind, Fact, NodeId, Parent, State, Wish, fold};
use grove_spec::Digest;
use grove_store::{RunFilter, Store, StoreError, Submission};

use crate::scene::{Scene, TOLD, draft, first, leased, submission, times, turned};

#[test]
fn an_event_is_recorded_with_all_that_follows_from_it() {
    let scene = Scene::new();
    scene.submit("r1");
    let open = scene.store.outbox().unwrap();
    assert_eq!(open[0].effect.to_string(), "1/1/start.0");
    assert_eq!((open[0].epoch, open[0].holder.as_ref()), (0, None));
    assert_eq!(
        scene.store.artifact(&Digest::of(TOLD)).unwrap().as_deref(),
        Some(TOLD)
    );
    scene
        .store
        .append("r1", draft(leased(EffectKind::Start)))
        .unwrap();
    let open = scene.store.outbox_of("r1").unwrap();
    assert_eq!((open[0].epoch, open[0].holder.is_some()), (1, true));
    assert_eq!(
        scene.store.runs(&RunFilter::default()).unwrap()[0].state,
        "running"
    );
    let scene = Scene::new();
    scene.submit("r1");
    scene.finish("r1");
    let row = &scene.store.runs(&RunFilter::default()).unwrap()[0];
    assert_eq!(
        (row.state.as_str(), row.tokens, row.ended_at),
        ("complete", 5, Some(1_000))
    );
    assert!(scene.store.outbox().unwrap().is_empty());
    let loaded = scene.store.load("r1").unwrap();
    let events = loaded.events.iter().map(AsRef::as_ref);
    assert_eq!(fold(&loaded.plan, events).unwrap(), loaded.state);
    assert_eq!(scene.store.verify("r1").unwrap(), None);
    assert_eq!(scene.store.events_after("r1", 4).unwrap().len(), 2);
}

#[test]
fn a_long_journal_is_read_on_from_where_it_was_left() {
    let Scene { folder, store } = Scene::new();
    store.submit(submission("r1")).unwrap();
    let append = |fact| store.append("r1", draft(fact)).unwrap();
    append(leased(EffectKind::Start));
    let mut seen = store.load("r1").unwrap();
    for _ in 0..300 {
        append(turned());
        let now = store.load("r1").unwrap();
        assert_eq!(now.events.len(), seen.events.len() + 1);
        assert_ne!(now.head, seen.head);
        seen = now;
    }
    drop(store);
    let store = Store::open(&folder.path().join("runs.db")).unwrap();
    assert_eq!(store.load("r1").unwrap(), seen);
}

#[test]
fn a_refused_event_changes_nothing() {
    let scene = Scene::new();
    scene.submit("r1");
    let before = scene.store.load("r1").unwrap();
    let refused = scene.store.append("r1", draft(turned()));
    assert!(refused.unwrap_err().is_refusal());
    assert_eq!(scene.store.load("r1").unwrap(), before);
    scene
        .store
        .append("r1", draft(leased(EffectKind::Start)))
        .unwrap();
    let missing = scene.store.append("r2", draft(turned()));
    assert!(matches!(missing, Err(StoreError::NoRun(_))));
}

#[test]
fn the_same_key_is_the_same_run() {
    let scene = Scene::new();
    let keyed = |id: &str| Submission {
        key: Some("nightly".to_owned()),
        ..submission(id)
    };
    assert!(scene.store.submit(keyed("r1")).unwrap().is_new);
    let again = scene.store.submit(keyed("r2")).unwrap();
    assert_eq!((again.run.as_str(), again.is_new), ("r1", false));
    assert_eq!(scene.store.count().unwrap(), 1);
}

#[test]
fn a_run_is_found_by_any_beginning_that_is_its_alone() {
    let scene = Scene::new();
    for id in ["abc1", "abd2", "abd"] {
        scene.submit(id);
    }
    assert_eq!(scene.store.find("abc").unwrap(), "abc1");
    assert_eq!(
        scene.store.find("abd").unwrap(),
        "abd",
        "a whole id is never ambiguous"
    );
    let several = scene.store.find("ab");
    assert!(matches!(several, Err(StoreError::Ambiguous { ids, .. }) if ids.len() == 3));
    for wrong in ["", "x", "../abc1", "a%", "abc1'--"] {
        assert!(
            matches!(scene.store.find(wrong), Err(StoreError::NoRun(_))),
            "{wrong}"
        );
    }
}

#[test]
fn pruning_takes_whole_runs_that_are_over_and_what_only_they_have() {
    let scene = Scene::new();
    for id in ["r1", "r2", "r3"] {
        let artifacts = vec![TOLD.to_vec(), id.as_bytes().to_vec()];
        let submission = Submission {
            artifacts,
            ..submission(id)
        };
        scene.store.submit(submission).unwrap();
    }
    scene.finish("r1");
    let all = vec!["r1".to_owned(), "r2".to_owned(), "nobody".to_owned()];
    let pruned = scene.store.prune(all, times()).unwrap();
    assert_eq!((pruned.runs, pruned.artifacts), (1, 1), "r2 is not over");
    assert!(scene.store.is_pruned("r1").unwrap());
    assert!(scene.store.artifact(&Digest::of(TOLD)).unwrap().is_some());
    assert!(scene.store.artifact(&Digest::of(b"r1")).unwrap().is_none());
    assert!(matches!(scene.store.load("r1"), Err(StoreError::NoRun(_))));
    let stop = Fact::Wanted {
        by: "t".to_owned(),
        id: "w".to_owned(),
        wish: Wish::Stop { now: false },
    };
    assert!(scene.store.append("r2", draft(stop)).unwrap().is_over);
}

#[test]
fn whoever_waits_for_news_sees_that_somebody_else_wrote() {
    let scene = Scene::new();
    let other = Store::open(&scene.path()).unwrap();
    let before = other.data_version().unwrap();
    assert_eq!(other.data_version().unwrap(), before);
    scene.submit("r1");
    assert_ne!(other.data_version().unwrap(), before);
    assert_ne!(other.load("r1").unwrap().state, State::default());
}

fn lease(scene: &Scene, run: &str) {
    let fact = leased(EffectKind::Start);
    scene.store.append(run, draft(fact)).unwrap();
}

/// A run whose child works, and a run below it.
fn nested(scene: &Scene) -> Parent {
    let parent = Parent {
        run: "above".to_owned(),
        of: first(),
    };
    let mut above = submission("above");
    above.plan.tree.max_tokens = Some(8);
    above.plan.tree.max_children = Some(2);
    scene.store.submit(above).unwrap();
    lease(scene, "above");
    let below = Submission {
        parent: Some(parent.clone()),
        ..submission("below")
    };
    scene.store.submit(below).unwrap();
    lease(scene, "below");
    parent
}

#[test]
fn what_a_run_below_spends_is_spent_above_in_the_same_moment() {
    let scene = Scene::new();
    let parent = nested(&scene);
    assert_eq!(scene.store.parent("below").unwrap(), Some(parent.clone()));
    assert_eq!(
        scene.store.open_below("above", &parent.of).unwrap(),
        ["below"]
    );
    let turn = || scene.store.append("below", draft(turned())).unwrap();
    assert_eq!(turn().others, ["above"]);
    assert_eq!(scene.store.load("above").unwrap().state.spent.counted(), 5);
    // The limit of the run above ends this one, too, before its next request.
    assert_eq!(turn().others, ["above", "below"]);
    let below = scene.store.load("below").unwrap();
    assert!(
        below.state.nodes[&NodeId::step(1)]
            .last()
            .unwrap()
            .stopping
            .is_some()
    );
    // A third child is one too many, and nothing of it is left.
    let more = Submission {
        parent: Some(parent),
        ..submission("more")
    };
    let before = scene.store.load("above").unwrap();
    assert!(scene.store.submit(more).unwrap_err().is_refusal());
    assert!(scene.store.load("more").is_err());
    assert_eq!(scene.store.load("above").unwrap(), before);
    assert_eq!(scene.store.verify("above").unwrap(), None);
}

#[test]
fn an_id_that_is_taken_is_refused_and_the_others_are_written() {
    let scene = Scene::new();
    scene.submit("r1");
    let again = scene.store.submit(submission("r1"));
    assert!(matches!(again, Err(StoreError::Taken(id)) if id == "r1"));
    scene.submit("r2");
    assert_eq!(scene.store.runs(&RunFilter::default()).unwrap().len(), 2);
}
