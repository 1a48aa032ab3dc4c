//! The course of a run: phases that follow one another, transcripts that have every call, and sums that are what was spent.

use grove_plan::history::{Phase, RunHistory, SpendCause, SpentOn, TextSizes, ToldSizes};
use grove_plan::{
    Attempt, Body, CallId, CallOutcome, EffectKind, Execution, Fact, Finish, ModelFacts, NodeId,
    Prices, Question, State, Turn, Usage, Wish, advance,
};
use grove_spec::Digest;
use serde_json::{Value, json};

use crate::world::{World, called, chain, child, ended, returned, text};

/// Every text has a hundred bytes; every prompt has a system text, a skill and a message.
struct Sizes;

impl TextSizes for Sizes {
    fn of_text(&self, _: &Digest) -> u64 {
        100
    }

    fn of_told(&self, _: &Digest) -> ToldSizes {
        ToldSizes {
            system: 400,
            skills: 400,
            message: 200,
        }
    }
}

fn history(world: &World) -> RunHistory {
    let (mut history, mut state) = (RunHistory::default(), State::default());
    for event in &world.journal {
        let step = advance(&world.plan, &mut state, event).unwrap();
        history.take(&world.plan, &state, event, &step, &Sizes);
    }
    history
}

/// What holds for the history of every run.
pub(crate) fn check(world: &World) {
    let history = history(world);
    let mut tokens = SpentOn::default();
    for (id, child) in history.children() {
        for spans in child.phases.windows(2) {
            assert!(spans[0].until.is_some_and(|until| until <= spans[1].from));
            assert!(spans[0].attempt <= spans[1].attempt);
        }
        let known = world.state.nodes.get(id).unwrap();
        let is_open = child.phases.last().is_some_and(|span| span.until.is_none());
        let is_under_way = !known.execution.is_terminal() && known.execution != Execution::Pending;
        assert_eq!(is_open, is_under_way, "{id}: {:?}", known.execution);
        let calls: usize = known.attempts.iter().map(|it| it.calls.len()).sum();
        assert_eq!(child.calls(), calls, "{id}");
        for spending in &child.spent {
            tokens.add_all(&spending.tokens);
        }
    }
    assert_eq!(tokens.sum(), world.state.spent.counted());
}

fn of(node: &str) -> Attempt {
    Attempt {
        node: NodeId::from(node),
        n: 1,
    }
}

fn turn(of: &Attempt, content: Value, usage: Usage) -> Fact {
    Fact::Turned {
        of: of.clone(),
        epoch: 1,
        turn: Turn {
            content: Body::Inline(content),
            usage,
            stop: "end_turn".to_owned(),
            added: None,
        },
    }
}

#[test]
fn a_child_that_asks_and_is_paused_goes_through_these_phases() {
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    let question = Question {
        call: CallId("q".to_owned()),
        text: "Which one?".to_owned(),
    };
    world.tell(called(&of("1"), 1, "q", false)).unwrap();
    world.answer(&start, ended(Finish::Asked(question), text("")));
    world.prove();
    assert_eq!(world.state_of("1"), "asking");
    let wish = Wish::Answer {
        node: NodeId::from("1"),
        answer: Digest::of(b"this"),
    };
    let wanted = |id: &str, wish: Wish| Fact::Wanted {
        by: "a terminal".to_owned(),
        id: id.to_owned(),
        wish,
    };
    world.tell(wanted("1", wish)).unwrap();
    let start = world.lease(EffectKind::Start);
    world.tell(wanted("2", Wish::Pause { node: None })).unwrap();
    let stop = world.lease(EffectKind::Stop);
    world.answer(&stop, grove_plan::Outcome::Told);
    world.answer(&start, ended(Finish::Interrupted, text("")));
    world.prove();
    assert_eq!(world.state_of("1"), "paused");
    let history = history(&world);
    let phases = &history.child(&NodeId::from("1")).unwrap().phases;
    let words: Vec<(&str, u32)> = phases
        .iter()
        .map(|span| (span.phase.word(), span.attempt))
        .collect();
    assert_eq!(
        words,
        [
            ("waiting", 1),
            ("working", 1),
            ("asking", 1),
            ("waiting", 2),
            ("working", 2),
            ("paused", 2)
        ]
    );
    check(&world);
}

#[test]
fn a_child_whose_process_is_gone_recovers() {
    use Phase::{Recovering, Waiting, Working};
    let mut world = World::submitted(chain(vec![child()]));
    let (effect, epoch) = world.lease(EffectKind::Start);
    let why = "killed".to_owned();
    world.tell(Fact::Gone { effect, epoch, why }).unwrap();
    world.prove();
    world.lease(EffectKind::Start);
    let history = history(&world);
    let phases = &history.child(&NodeId::from("1")).unwrap().phases;
    let words: Vec<Phase> = phases.iter().map(|span| span.phase).collect();
    assert_eq!(words, [Waiting, Working, Recovering, Waiting, Working]);
}

#[test]
fn a_transcript_has_each_call_once_with_its_end() {
    let mut world = World::submitted(chain(vec![child()]));
    world.lease(EffectKind::Start);
    let of = of("1");
    world.tell(called(&of, 1, "a", false)).unwrap();
    world.tell(called(&of, 1, "b", false)).unwrap();
    world.tell(returned(&of, 1, "b")).unwrap();
    let history = history(&world);
    let marks = &history.child(&of.node).unwrap().marks;
    let calls: Vec<(u64, Option<u64>)> = marks
        .iter()
        .filter(|mark| mark.is_call)
        .map(|mark| (mark.seq, mark.end))
        .collect();
    assert_eq!(calls, [(3, None), (4, Some(5))]);
}

#[test]
fn tokens_belong_to_the_end_of_a_request_as_far_as_a_cache_has_its_beginning() {
    let mut one = child();
    one.model_facts = vec![ModelFacts {
        context: None,
        prices: Some(Prices {
            input: 1_000_000,
            output: 2_000_000,
            cached: Some(0),
            cache_write: None,
        }),
    }];
    let mut world = World::submitted(chain(vec![one]));
    world.lease(EffectKind::Start);
    let of = of("1");
    let said = json!([
        { "kind": "thinking", "text": "x".repeat(300) },
        { "kind": "text", "text": "y".repeat(100) },
    ]);
    let first = Usage {
        input: 1_000,
        output: 40,
        ..Usage::default()
    };
    world.tell(turn(&of, said, first)).unwrap();
    world.tell(called(&of, 1, "a", false)).unwrap();
    let Fact::Returned { of: by, call, .. } = returned(&of, 1, "a") else {
        unreachable!()
    };
    world
        .tell(Fact::Returned {
            of: by,
            epoch: 1,
            call,
            outcome: CallOutcome {
                content: Body::Inline("z".repeat(600).into()),
                is_error: false,
                goes_on: false,
            },
        })
        .unwrap();
    // Of 2,000 bytes a half was cached: the fresh half is the end, what the model said and what the tool returned.
    let second = Usage {
        input: 500,
        cached: 500,
        ..Usage::default()
    };
    world.tell(turn(&of, json!([]), second)).unwrap();
    let history = history(&world);
    let spent = &history.child(&of.node).unwrap().spent;
    let by = |at: usize| SpendCause::ALL.map(|cause| spent[at].tokens.of(cause));
    assert_eq!(by(0), [400, 400, 200, 0, 10, 30, 0, 0]);
    assert_eq!(by(1), [0, 0, 0, 300, 50, 150, 0, 0]);
    let cost = spent[0].cost.unwrap();
    assert_eq!((cost.of(SpendCause::System), cost.sum()), (400, 1_080));
    check(&world);
}
