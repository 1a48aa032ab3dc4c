//! The cases that people think of first, step by step.

use grove_plan::{
    Attempt, Command, EffectId, EffectKind, Ending, Fact, Finish, GroupRules, ModelFailure, NodeId,
    Outcome, Output, Proof, Refused, RunView, State, Usage, Wish,
};
use grove_spec::Digest;

use crate::world::{
    World, called, chain, change_each, child, ended, leased, model_failure, returned, submission,
    text, turned,
};

#[test]
fn a_child_that_answers_is_complete_once_nothing_of_it_is_left() {
    let mut world = World::new(chain(vec![child()]));
    let step = world.tell(submission()).unwrap();
    assert_eq!(step.opened[0].to_string(), "1/1/start.0");
    let start = world.lease(EffectKind::Start);
    assert_eq!(world.state_of("1"), "running");
    world.answer(&start, ended(Finish::Answered, text("done")));
    assert_eq!(
        world.state_of("1"),
        "running",
        "its tree may still be there"
    );
    world.prove();
    assert_eq!(world.state_of("1"), "complete");
    assert!(world.state.open.is_empty());
    let texts = |_: &Digest| Some("done".to_owned());
    let view = RunView::of("r1", &world.plan, &world.state, &texts);
    assert_eq!(
        (view.state, view.result.as_deref()),
        ("complete", Some("done"))
    );
}

#[test]
fn what_an_ending_means() {
    let structured = Output {
        structured: Some(Digest::of(b"{}")),
        ..Output::default()
    };
    for (has_schema, finish, output, expected) in [
        (false, Finish::Answered, text("x"), "complete"),
        (false, Finish::Answered, Output::default(), "failed"),
        (true, Finish::Answered, text("x"), "failed"),
        (true, Finish::Answered, structured, "complete"),
        (false, Finish::Interrupted, text("x"), "lost"),
        (
            false,
            model_failure(ModelFailure::BadRequest),
            text("x"),
            "failed",
        ),
    ] {
        let mut child = child();
        child.schema = has_schema.then(|| Digest::of(b"schema"));
        let mut world = World::submitted(chain(vec![child]));
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(finish.clone(), output.clone()));
        world.prove();
        assert_eq!(
            world.state_of("1"),
            expected,
            "{finish:?} {output:?} {has_schema}"
        );
    }
}

#[test]
fn whoever_was_told_to_stop_was_stopped_whatever_it_says() {
    let mut world = World::submitted(chain(vec![child(), child()]));
    let start = world.lease(EffectKind::Start);
    let stop = |id: &str, now| Fact::Wanted {
        by: "a terminal".to_owned(),
        id: id.to_owned(),
        wish: Wish::Stop { now },
    };
    let step = world.tell(stop("w1", false)).unwrap();
    assert_eq!(step.opened[0].to_string(), "1/1/stop.0");
    assert_eq!(world.tell(stop("w1", false)), Err(Refused::Duplicate));
    let step = world.tell(stop("w2", true)).unwrap();
    assert_eq!(
        step.opened[0].to_string(),
        "1/1/stop.1",
        "twice ends it now"
    );
    world.answer(&start, ended(Finish::Answered, text("all done!")));
    world.prove();
    assert_eq!(world.state_of("1"), "stopped");
    assert_eq!(
        world.state_of("2"),
        "stopped",
        "what had not begun does not begin"
    );
    let last = world.state.nodes[&NodeId::from("1")].last().unwrap();
    assert!(last.output().unwrap().text.is_some(), "what it had is kept");
}

#[test]
fn what_nobody_took_ends_without_a_proof() {
    let mut world = World::submitted(chain(vec![child()]));
    let wish = Wish::Stop { now: false };
    let (by, id) = ("t".to_owned(), "w".to_owned());
    world.tell(Fact::Wanted { by, id, wish }).unwrap();
    assert_eq!(world.state_of("1"), "stopped");
    assert!(world.state.open.is_empty());
}

#[test]
fn after_its_holder_is_gone_a_child_goes_on_and_the_old_one_is_refused() {
    let mut world = World::submitted(chain(vec![child()]));
    let (start, epoch) = world.lease(EffectKind::Start);
    let of = start.of.clone();
    world.tell(turned(&of, epoch, 5)).unwrap();
    world.tell(called(&of, epoch, "c1", false)).unwrap();
    let gone = Fact::Gone {
        effect: start.clone(),
        epoch,
        why: "its process is not there".to_owned(),
    };
    let step = world.tell(gone.clone()).unwrap();
    assert_eq!(step.opened[0].to_string(), "1/1/prove.0");
    assert!(world.tell(gone).is_err(), "nobody holds it any more");
    let early = world.tell(leased(&start, epoch + 1));
    assert_eq!(early, Err(Refused::Recovering(start.clone())));
    world.prove();
    let again = world.steps.last().unwrap();
    assert_eq!(
        again.opened,
        std::slice::from_ref(&start),
        "the same effect"
    );
    let old = world.tell(returned(&of, epoch, "c1"));
    assert!(matches!(old, Err(Refused::OldEpoch { .. })));
    world.tell(leased(&start, epoch + 1)).unwrap();
    world.tell(returned(&of, epoch + 1, "c1")).unwrap();
    assert_eq!(
        world.tell(returned(&of, epoch + 1, "c1")),
        Err(Refused::Duplicate)
    );
    world.answer(&(start, epoch + 1), ended(Finish::Answered, text("x")));
    world.prove();
    assert_eq!(world.state_of("1"), "complete");
}

#[test]
fn a_child_whose_holders_keep_going_is_lost() {
    let mut world = World::submitted(chain(vec![child()]));
    for round in 0.. {
        let (effect, epoch) = world.lease(EffectKind::Start);
        let why = "not there".to_owned();
        world.tell(Fact::Gone { effect, epoch, why }).unwrap();
        world.prove();
        if world.state.open.is_empty() {
            assert_eq!((round, world.state_of("1")), (3, "lost"));
            break;
        }
    }
}

#[test]
fn a_proof_that_fails_is_said_and_ends_the_node_all_the_same() {
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("x")));
    let prove = world.lease(EffectKind::Prove);
    let why = "pid 9 is in another namespace".to_owned();
    world.answer(
        &prove,
        Outcome::Proved(Proof::NotProven { why: why.clone() }),
    );
    let view = RunView::of("r", &world.plan, &world.state, &|_| None);
    assert_eq!(view.nodes[0].state, "complete");
    assert_eq!(view.nodes[0].not_proven_ended, Some(why));
}

#[test]
fn another_model_goes_on_only_after_a_providers_failure_and_before_a_write() {
    for (failure, wrote, may_after_writes, expected) in [
        (ModelFailure::Auth, false, false, 2),
        (ModelFailure::Quota, false, false, 2),
        (ModelFailure::Rate, false, false, 2),
        (ModelFailure::Overload, false, false, 2),
        (ModelFailure::Network, false, false, 2),
        (ModelFailure::NoSuchModel, false, false, 2),
        (ModelFailure::BadRequest, false, false, 1),
        (ModelFailure::ContextTooLong, false, false, 1),
        (ModelFailure::CutStream, false, false, 1),
        (ModelFailure::Rate, true, false, 1),
        (ModelFailure::Rate, true, true, 2),
    ] {
        let mut child = child();
        child.models.push("b/two".to_owned());
        child.fallback_after_writes = may_after_writes;
        let mut world = World::submitted(chain(vec![child]));
        let start = world.lease(EffectKind::Start);
        if wrote {
            world.tell(called(&start.0.of, start.1, "c", true)).unwrap();
        }
        world.answer(&start, ended(model_failure(failure), Output::default()));
        world.prove();
        let node = &world.state.nodes[&NodeId::from("1")];
        assert_eq!(node.attempts.len(), expected, "{failure:?} {wrote}");
        if expected == 2 {
            let start = world.open(EffectKind::Start).unwrap();
            let Command::Start { model, .. } = &world.state.open[&start].command else {
                panic!("no start");
            };
            assert_eq!(
                (start.to_string().as_str(), model.as_str()),
                ("1/2/start.0", "b/two")
            );
        }
    }
}

#[test]
fn a_limit_of_tokens_stops_before_the_next_request() {
    let mut child = child();
    child.limits.max_tokens = Some(10);
    let mut world = World::submitted(chain(vec![child]));
    let start = world.lease(EffectKind::Start);
    let of = start.0.of.clone();
    assert!(
        world
            .tell(turned(&of, start.1, 9))
            .unwrap()
            .opened
            .is_empty()
    );
    let step = world.tell(turned(&of, start.1, 1)).unwrap();
    assert_eq!(step.opened[0].to_string(), "1/1/stop.0");
    world.answer(&start, ended(Finish::Interrupted, text("so far")));
    world.prove();
    let execution = &world.state.nodes[&NodeId::from("1")].execution;
    let reason = execution.reason().unwrap();
    assert_eq!(reason, "limit of 10 tokens reached (10)");
}

#[test]
fn time_runs_out_for_a_child_and_for_the_run() {
    for whole in [false, true] {
        let mut child = child();
        let mut plan = chain(vec![child.clone()]);
        if whole {
            plan.tree.timeout_ms = Some(50);
        } else {
            child.limits.max_execution_time_ms = Some(50);
            plan = chain(vec![child]);
        }
        let mut world = World::submitted(plan);
        let start = world.lease(EffectKind::Start);
        let timer = world.open(EffectKind::Timer).unwrap();
        assert_eq!(timer == EffectId::run_timer(0), whole);
        let fired = Fact::Fired { timer };
        world.tell(fired.clone()).unwrap();
        assert!(world.tell(fired).is_err(), "a timer goes off once");
        world.answer(&start, ended(Finish::Interrupted, text("so far")));
        world.prove();
        assert_eq!(world.state.run().reason().unwrap(), "timed out after 50 ms");
        assert!(world.state.open.is_empty());
    }
}

#[test]
fn a_step_waits_for_the_one_before_and_is_skipped_when_that_failed() {
    for (finish, expected) in [
        (Finish::Answered, ["complete", "queued", "pending"]),
        (
            model_failure(ModelFailure::BadRequest),
            ["failed", "skipped", "skipped"],
        ),
    ] {
        let mut world = World::submitted(chain(vec![child(), child(), child()]));
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(finish, text("x")));
        world.prove();
        assert_eq!(["1", "2", "3"].map(|id| world.state_of(id)), expected);
    }
}

#[test]
fn only_the_submission_begins_a_run_and_only_a_finished_one_is_acknowledged() {
    let plan = chain(vec![child()]);
    let mut world = World::new(plan.clone());
    let start = EffectId::new(
        &Attempt {
            node: NodeId::from("1"),
            n: 1,
        },
        EffectKind::Start,
        0,
    );
    assert_eq!(world.tell(leased(&start, 1)), Err(Refused::Misplaced));
    assert_eq!(world.state, State::default());
    let mut world = World::submitted(plan);
    assert_eq!(world.tell(submission()), Err(Refused::Misplaced));
    let acknowledged = Fact::Wanted {
        by: "t".to_owned(),
        id: "ack".to_owned(),
        wish: Wish::Acknowledge,
    };
    assert_eq!(world.tell(acknowledged.clone()), Err(Refused::NotOver));
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("x")));
    world.prove();
    world.tell(acknowledged).unwrap();
    assert!(world.state.acknowledged);
}

#[test]
fn a_child_sums_up_after_its_last_turn_and_is_stopped_after_that() {
    let mut child = child();
    child.limits.max_turns = Some(2);
    let mut world = World::submitted(chain(vec![child]));
    let (start, epoch) = world.lease(EffectKind::Start);
    for expected in [0, 0, 1] {
        let step = world.tell(turned(&start.of, epoch, 1)).unwrap();
        assert_eq!(step.opened.len(), expected, "{step:?}");
    }
    world.answer(&(start, epoch), ended(Finish::Answered, text("so far")));
    world.prove();
    let node = &world.state.nodes[&NodeId::from("1")];
    let reason = node.execution.reason();
    assert_eq!(reason.as_deref(), Some("limit of 2 turns reached (2)"));
    assert!(node.last().unwrap().output().unwrap().text.is_some());
}

#[test]
fn a_call_beyond_the_limit_is_refused() {
    let mut child = child();
    child.limits.max_tool_calls = Some(1);
    let limits = child.limits.clone();
    let mut world = World::submitted(chain(vec![child]));
    let (start, epoch) = world.lease(EffectKind::Start);
    world.tell(called(&start.of, epoch, "c1", false)).unwrap();
    let refused = world.tell(called(&start.of, epoch, "c2", false));
    assert!(
        matches!(refused, Err(Refused::BeyondLimit(_))),
        "{refused:?}"
    );
    world.tell(returned(&start.of, epoch, "c1")).unwrap();
    let words = |turns, calls| limits.reached(turns, calls).map(|cause| cause.to_string());
    assert_eq!(words(9, 1), None, "a child may use all that it has");
    let reason = "limit of 1 tool calls reached (1)";
    assert_eq!(words(9, 2).as_deref(), Some(reason));
}

#[test]
fn what_a_request_took_that_failed_is_spent_too() {
    let mut world = World::submitted(chain(vec![child()]));
    let (start, epoch) = world.lease(EffectKind::Start);
    world.tell(turned(&start.of, epoch, 5)).unwrap();
    let ending = Ending {
        finish: model_failure(ModelFailure::CutStream),
        output: Output::default(),
        lost: Usage {
            input: 7,
            ..Usage::default()
        },
    };
    world.answer(&(start, epoch), Outcome::Ended(ending));
    world.prove();
    assert_eq!(world.state.spent.counted(), 12);
    let node = &world.state.nodes[&NodeId::from("1")];
    assert_eq!(node.last().unwrap().usage.counted(), 12);
}

#[test]
fn a_child_that_lost_its_holder_and_is_stopped_does_not_go_on() {
    let stop = Fact::Wanted {
        by: "a terminal".to_owned(),
        id: "w1".to_owned(),
        wish: Wish::Stop { now: false },
    };
    for is_proven_first in [true, false] {
        let mut world = World::submitted(chain(vec![child()]));
        let (start, epoch) = world.lease(EffectKind::Start);
        world
            .tell(Fact::Gone {
                effect: start,
                epoch,
                why: "killed".to_owned(),
            })
            .unwrap();
        if is_proven_first {
            world.prove();
            assert_eq!(world.tell(stop.clone()).unwrap().opened, []);
        } else {
            world.tell(stop.clone()).unwrap();
            assert_eq!(
                world.open(EffectKind::Stop),
                None,
                "there is nobody to tell"
            );
            world.prove();
        }
        assert_eq!(world.state_of("1"), "stopped");
        assert!(world.state.open.is_empty());
    }
}

#[test]
fn times_are_those_of_the_first_start_and_of_the_end_and_every_proof_is_another() {
    let mut world = World::submitted(chain(vec![child()]));
    let (start, epoch) = world.lease(EffectKind::Start);
    let started = world.journal.last().unwrap().at;
    world
        .tell(Fact::Gone {
            effect: start,
            epoch,
            why: "killed".to_owned(),
        })
        .unwrap();
    let first_proof = world.open(EffectKind::Prove);
    world.prove();
    let start = world.lease(EffectKind::Start);
    assert_eq!(start.1, 2, "the same effect with its next holder");
    world.answer(&start, ended(Finish::Answered, text("done")));
    let over = world.journal.last().unwrap().at;
    assert_ne!(
        world.open(EffectKind::Prove),
        first_proof,
        "a late report is of the first"
    );
    world.prove();
    let attempt = world.state.nodes[&NodeId::from("1")].last().unwrap();
    assert_eq!(
        (attempt.started, attempt.ended),
        (Some(started), Some(over))
    );
    assert_eq!(attempt.recoveries, 1);
    assert_ne!(world.state.ended, Some(over), "the run ends with the proof");
}

#[test]
fn nodes_side_by_side_begin_as_there_is_room_and_are_given_up_when_one_was_not_done() {
    for (fail_fast, expected) in [
        (false, ["failed", "queued", "queued", "pending"]),
        (true, ["failed", "queued", "skipped", "skipped"]),
    ] {
        let mut plan = chain(vec![child(), child(), child(), child()]);
        let group = NodeId::from("1");
        change_each(&mut plan, |at, node| {
            node.id = NodeId::from(format!("1.{}", at + 1).as_str());
            node.after.clear();
            node.group = Some(group.clone());
        });
        let concurrency = Some(2);
        plan.groups.insert(
            group,
            GroupRules {
                concurrency,
                fail_fast,
            },
        );
        let ids = ["1.1", "1.2", "1.3", "1.4"];
        let mut world = World::submitted(plan);
        let now = |world: &World| ids.map(|id| world.state_of(id));
        assert_eq!(now(&world), ["queued", "queued", "pending", "pending"]);
        let start = world.lease(EffectKind::Start);
        let failed = model_failure(ModelFailure::BadRequest);
        world.answer(&start, ended(failed, text("x")));
        world.prove();
        assert_eq!(now(&world), expected);
    }
}

#[test]
fn what_a_child_is_told_is_recorded_once_by_whoever_holds_it() {
    let mut world = World::submitted(chain(vec![child()]));
    let (start, epoch) = world.lease(EffectKind::Start);
    let told = |epoch, text: &[u8]| Fact::Told {
        of: start.of.clone(),
        epoch,
        told: Digest::of(text),
    };
    assert!(matches!(
        world.tell(told(epoch + 1, b"x")),
        Err(Refused::OldEpoch { .. })
    ));
    world.tell(told(epoch, b"x")).unwrap();
    assert_eq!(world.tell(told(epoch, b"y")), Err(Refused::Duplicate));
    let attempt = world.state.nodes[&NodeId::from("1")].last().unwrap();
    assert_eq!(attempt.told, Some(Digest::of(b"x")));
}
