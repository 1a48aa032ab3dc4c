//! Children that pause, ask, go on and hear something, step by step.

use grove_plan::{
    CallId, Command, Continued, EffectKind, Event, Fact, Finish, NodeId, Outcome, Question,
    Refused, Said, Step, Times, Wish, advance,
};
use grove_spec::Digest;

use crate::world::{World, chain, child, ended, leased, text, turned};

fn want(world: &mut World, wish: Wish) -> Result<Step, Refused> {
    world.tell(Fact::Wanted {
        by: "somebody".to_owned(),
        id: format!("w{}", world.journal.len()),
        wish,
    })
}

fn node() -> NodeId {
    NodeId::from("1")
}

fn resume() -> Wish {
    Wish::Resume {
        node: node(),
        message: Some(Digest::of(b"go on")),
    }
}

fn end(world: &mut World, finish: Finish) {
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(finish, text("x")));
    world.prove();
}

fn continued(world: &World) -> Option<Continued> {
    let start = world.open(EffectKind::Start)?;
    match &world.state.open[&start].command {
        Command::Start { continues, .. } => continues.clone(),
        _ => None,
    }
}

#[test]
fn a_child_that_ended_goes_on_in_its_session_and_what_was_skipped_may_follow() {
    let failed = crate::world::model_failure(grove_plan::ModelFailure::BadRequest);
    let mut world = World::submitted(chain(vec![child(), child()]));
    end(&mut world, failed);
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["failed", "skipped"]
    );
    assert!(world.state.ended.is_some());
    let step = want(&mut world, resume()).unwrap();
    assert_eq!(step.opened[0].to_string(), "1/2/start.0");
    let said = Said::Message(Digest::of(b"go on"));
    assert_eq!(continued(&world), Some(Continued { n: 1, said }));
    assert!(world.state.ended.is_none());
    assert_eq!(
        want(&mut world, resume()),
        Err(Refused::NotWaiting(node())),
        "one of two wins"
    );
    end(&mut world, Finish::Answered);
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["complete", "queued"]
    );
}

#[test]
fn a_question_waits_for_its_answer_and_nothing_else() {
    let mut world = World::submitted(chain(vec![child(), child()]));
    let answer = Wish::Answer {
        node: node(),
        answer: Digest::of(b"blue"),
    };
    assert_eq!(
        want(&mut world, answer.clone()),
        Err(Refused::NotAsking(node()))
    );
    let question = Question {
        call: CallId("c1".to_owned()),
        text: "Which?".to_owned(),
    };
    end(&mut world, Finish::Asked(question));
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["asking", "pending"]
    );
    let run = world.state.run();
    assert_eq!(
        (run.word(), run.reason().as_deref()),
        ("asking", Some("Which?"))
    );
    assert!(world.state.open.is_empty() && world.state.ended.is_none());
    want(&mut world, answer.clone()).unwrap();
    let said = Said::Answer(Digest::of(b"blue"));
    assert_eq!(continued(&world), Some(Continued { n: 1, said }));
    assert_eq!(want(&mut world, answer), Err(Refused::NotAsking(node())));
}

#[test]
fn whoever_is_paused_can_go_on_unless_it_had_ended_or_is_stopped() {
    for (finish, expected) in [
        (Finish::Interrupted, "paused"),
        (Finish::Answered, "complete"),
    ] {
        let mut world = World::submitted(chain(vec![child()]));
        let start = world.lease(EffectKind::Start);
        let pause = Wish::Pause { node: None };
        let step = want(&mut world, pause.clone()).unwrap();
        assert_eq!(step.opened[0].to_string(), "1/1/stop.0");
        assert_eq!(want(&mut world, pause), Err(Refused::NotAtWork(node())));
        world.answer(&start, ended(finish, text("x")));
        world.prove();
        assert_eq!(world.state_of("1"), expected);
    }
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    want(&mut world, Wish::Pause { node: Some(node()) }).unwrap();
    let step = want(&mut world, Wish::Stop { now: false }).unwrap();
    assert_eq!(step.opened.len(), 1, "to stop is more than to pause");
    world.answer(&start, ended(Finish::Interrupted, text("x")));
    world.prove();
    assert_eq!(world.state_of("1"), "stopped");
}

#[test]
fn what_is_sent_is_heard_once_and_what_comes_too_late_lets_the_child_go_on() {
    let mut world = World::submitted(chain(vec![child()]));
    let steer = |text: &[u8]| Wish::Steer {
        node: node(),
        message: Digest::of(text),
    };
    let start = world.lease(EffectKind::Start);
    want(&mut world, steer(b"one")).unwrap();
    let (send, epoch) = world.lease(EffectKind::Send);
    assert_eq!(send.to_string(), "1/1/send.0");
    let sent = |text: &[u8]| Fact::Answered {
        effect: send.clone(),
        epoch,
        outcome: Outcome::Sent {
            message: Digest::of(text),
        },
    };
    assert!(matches!(
        world.tell(sent(b"two")),
        Err(Refused::WrongOutcome(_))
    ));
    world.tell(sent(b"one")).unwrap();
    assert!(world.tell(sent(b"one")).is_err());
    want(&mut world, steer(b"two")).unwrap();
    world.answer(&start, ended(Finish::Answered, text("x")));
    // While it is looked for what is left of it, it is still at work.
    want(&mut world, steer(b"three")).unwrap();
    world.prove();
    let said = Said::Message(Digest::of(b"two"));
    assert_eq!(continued(&world), Some(Continued { n: 1, said }));
    let next = world.open(EffectKind::Send).unwrap();
    assert_eq!(next.to_string(), "1/2/send.0");
    end(&mut world, Finish::Interrupted);
    assert_eq!(
        want(&mut world, steer(b"four")),
        Err(Refused::NotAtWork(node()))
    );
}

#[test]
fn time_in_which_everybody_waits_does_not_count() {
    let mut plan = chain(vec![child()]);
    plan.tree.timeout_ms = Some(100);
    let mut world = World::submitted(plan);
    let tell = |world: &mut World, boot: u64, fact: Fact| {
        let seq = world.state.seq + 1;
        let at = Times { wall: boot, boot };
        let event = Event { seq, at, fact };
        advance(&world.plan, &mut world.state, &event).unwrap()
    };
    let start = world.open(EffectKind::Start).unwrap();
    tell(&mut world, 11, leased(&start, 1));
    let pause = |id: &str| Fact::Wanted {
        by: "somebody".to_owned(),
        id: id.to_owned(),
        wish: Wish::Pause { node: None },
    };
    tell(&mut world, 31, pause("p1"));
    let outcome = ended(Finish::Interrupted, text("x"));
    tell(
        &mut world,
        41,
        Fact::Answered {
            effect: start,
            epoch: 1,
            outcome,
        },
    );
    let prove = world.open(EffectKind::Prove).unwrap();
    tell(&mut world, 41, leased(&prove, 1));
    let proof = Outcome::Proved(grove_plan::Proof::Ended { scans: 2 });
    tell(
        &mut world,
        41,
        Fact::Answered {
            effect: prove,
            epoch: 1,
            outcome: proof,
        },
    );
    assert_eq!((world.state_of("1"), world.state.open.len()), ("paused", 0));
    // It was submitted at the first millisecond, worked for forty, and then an hour passes.
    let wish = resume();
    let (by, id) = ("somebody".to_owned(), "r1".to_owned());
    tell(&mut world, 3_600_041, Fact::Wanted { by, id, wish });
    let timer = world.open(EffectKind::Timer).unwrap();
    assert_eq!(timer.to_string(), "run/0/timer.1");
    assert_eq!(
        world.state.open[&timer].command,
        Command::Arm { milliseconds: 60 }
    );
}

#[test]
fn nobody_goes_on_who_has_spent_everything() {
    let mut child = child();
    child.limits.max_tokens = Some(5);
    let mut world = World::submitted(chain(vec![child]));
    let start = world.lease(EffectKind::Start);
    world.tell(turned(&start.0.of, start.1, 5)).unwrap();
    world.answer(&start, ended(Finish::Interrupted, text("x")));
    world.prove();
    assert_eq!(world.state_of("1"), "failed");
    let refused = want(&mut world, resume()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it cannot go on: limit of 5 tokens reached (5)"
    );
}

#[test]
fn whoever_is_stopped_while_its_work_is_looked_at_is_stopped() {
    for is_held in [false, true] {
        let mut child = child();
        child.contract = Some(grove_plan::Contract::verified(Vec::new(), false));
        let mut world = World::submitted(chain(vec![child]));
        world.look();
        end(&mut world, Finish::Answered);
        let verify = world.open(EffectKind::Verify).unwrap();
        if is_held {
            world.tell(leased(&verify, 1)).unwrap();
        }
        want(&mut world, Wish::Stop { now: false }).unwrap();
        assert_eq!(world.state_of("1"), "stopped");
        assert!(world.state.open.is_empty() && world.state.ended.is_some());
    }
}
