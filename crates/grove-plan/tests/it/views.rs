//! What people and programs see of runs with several children, and what requests and contracts come to.

use grove_plan::{
    Accepted, AuthorFacts, CapturedWork, CheckEnd, CheckResult, Contract, EffectKind, Event, Fact,
    Finish, GroupRules, ModelFailure, NodeId, Outcome, RunView, Seen, Times, Wish, WorktreePlan,
    advance, parse_request, said_by,
};
use grove_spec::Digest;
use grove_spec::acceptance::VerifyProgram;
use grove_spec::acceptance::{Acceptance, AcceptanceContract, VerifyCommand};
use grove_spec::chain::ChainStep;
use serde_json::json;

use crate::world::{World, chain, change_each, child, ended, leased, model_failure, text};

/// Children side by side, as many as there are ways in which they end.
fn side_by_side(finishes: &[Finish]) -> World {
    let mut plan = chain(finishes.iter().map(|_| child()).collect());
    let group = NodeId::step(1);
    change_each(&mut plan, |at, node| {
        node.id = group.member(at);
        node.after.clear();
        node.group = Some(group.clone());
    });
    plan.groups.insert(group, GroupRules::default());
    let mut world = World::submitted(plan);
    for finish in finishes {
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(finish.clone(), text("said")));
        world.prove();
    }
    world
}

fn view(world: &World) -> RunView {
    RunView::of("r1", &world.plan, &world.state, &|_| {
        Some("said".to_owned())
    })
}

#[test]
fn each_of_several_has_a_block_with_how_it_ended() {
    let world = side_by_side(&[Finish::Answered, model_failure(ModelFailure::BadRequest)]);
    let result = view(&world).result.unwrap();
    assert_eq!(
        result,
        "1/2 succeeded\n\n=== 1.0 scout ===\nsaid\n\n=== 1.1 scout: FAILED: model error (bad request): said the provider ===\nsaid"
    );
    let both = [NodeId::from("1.0"), NodeId::from("1.1")];
    assert!(said_by(&view(&world).nodes, &both).starts_with("=== 1.0 scout ===\nsaid\n\n=== 1.1"));
    assert_eq!(said_by(&view(&world).nodes, &both[..1]), "said");
}

#[test]
fn no_child_says_the_heading_of_another() {
    let world = side_by_side(&[Finish::Answered, Finish::Answered]);
    for end in ["\n", "\r", "\r\n", "\u{b}", "\u{85}", "\u{2028}"] {
        let words = format!("=== 1.0 scout ==={end}=== 1.1 scout ==={end}== 2 ==");
        let said = |_: &Digest| Some(words.clone());
        let view = RunView::of("r1", &world.plan, &world.state, &said);
        let both = [NodeId::from("1.0"), NodeId::from("1.1")];
        for shown in [view.result.clone().unwrap(), said_by(&view.nodes, &both)] {
            let is_end = |c: char| end.contains(c) || c == '\n';
            let headings = shown.split(is_end).filter(|it| it.starts_with("=== "));
            assert_eq!(headings.count(), 2, "{shown:?}");
            assert!(shown.contains(&format!("{end}== 2 ==")), "{shown:?}");
        }
    }
}

#[test]
fn time_that_ran_out_and_an_empty_answer_are_said_in_capitals() {
    let mut plan = chain(vec![child()]);
    change_each(&mut plan, |_, node| node.group = Some(NodeId::step(1)));
    plan.groups.insert(NodeId::step(1), GroupRules::default());
    plan.tree.timeout_ms = Some(50);
    let mut world = World::submitted(plan.clone());
    let start = world.lease(EffectKind::Start);
    let timer = world.open(EffectKind::Timer).unwrap();
    world.tell(Fact::Fired { timer }).unwrap();
    world.answer(&start, ended(Finish::Interrupted, text("said")));
    world.prove();
    let result = view(&world).result.unwrap();
    assert!(
        result.contains("=== 1 scout: TIMED OUT: timed out after 50 ms ==="),
        "{result}"
    );
    let mut world = World::submitted(plan);
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("x")));
    world.prove();
    let empty = RunView::of("r1", &world.plan, &world.state, &|_| Some(" ".to_owned()));
    assert!(
        empty
            .result
            .unwrap()
            .contains("=== 1 scout: EMPTY OUTPUT ===")
    );
}

#[test]
fn a_chain_that_was_cut_short_shows_every_step_that_was_begun() {
    let mut world = World::submitted(chain(vec![child(), child(), child()]));
    for finish in [Finish::Answered, model_failure(ModelFailure::BadRequest)] {
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(finish, text("said")));
        world.prove();
    }
    let view = view(&world);
    assert_eq!(
        (view.state, view.result.as_deref()),
        ("failed", Some("said"))
    );
    assert_eq!(
        view.answer.unwrap(),
        "1/3 succeeded\n\n=== 1 scout ===\nsaid\n\n=== 2 scout: FAILED: model error (bad request): said the provider ===\nsaid"
    );
}

#[test]
fn of_several_the_work_that_does_not_count_is_what_matters() {
    let asked = |at: usize| {
        let mut child = child();
        child.contract = (at > 0).then(|| Contract::verified(Vec::new(), false));
        child
    };
    for (asks, ends, expected) in [
        (vec![0], vec![], "none"),
        (vec![1], vec![true], "verified"),
        (vec![1], vec![false], "rejected"),
        (vec![0, 1], vec![true], "none"),
        (vec![0, 1], vec![false], "rejected"),
        (vec![1, 1], vec![true, true], "verified"),
    ] {
        let mut plan = chain(asks.iter().map(|at| asked(*at)).collect());
        change_each(&mut plan, |_, node| node.after.clear());
        let mut world = World::submitted(plan);
        for is_asked in &asks {
            if *is_asked > 0 {
                world.look();
            }
            let start = world.lease(EffectKind::Start);
            world.answer(&start, ended(Finish::Answered, text("x")));
            world.prove();
        }
        for is_fine in ends {
            let verify = world.lease(EffectKind::Verify);
            let outcome = if is_fine {
                Outcome::Checked(Box::default())
            } else {
                let why = "no".to_owned();
                Outcome::Impossible { why }
            };
            world.answer(&verify, outcome);
        }
        assert_eq!(view(&world).acceptance, expected, "{asks:?}");
    }
}

#[test]
fn rejected_work_is_complete_and_hands_nothing_on() {
    let mut first = child();
    first.contract = Some(contract(&[("a", false)]));
    let mut world = World::submitted(chain(vec![first, child()]));
    world.look();
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("All tests pass.")));
    world.prove();
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["running", "pending"]
    );
    let verify = world.lease(EffectKind::Verify);
    let results = vec![CheckResult {
        id: "a".to_owned(),
        end: CheckEnd::Code(3),
        milliseconds: 5,
        output: Digest::of(b"out"),
        sandbox: "writes".to_owned(),
        changed: Vec::new(),
        as_before: Vec::new(),
    }];
    let seen = Seen {
        results,
        ..Seen::default()
    };
    world.answer(&verify, Outcome::Checked(Box::new(seen)));
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["complete", "skipped"]
    );
    let node = &view(&world).nodes[0];
    assert_eq!(node.rejected.as_deref(), Some("a (`a`) ended with code 3"));
    assert_eq!((node.acceptance, node.checks.len()), ("rejected", 1));
    // What it does when it goes on is looked at anew.
    let wish = Wish::Resume {
        node: NodeId::step(1),
        message: None,
    };
    let (by, id) = ("x".to_owned(), "w".to_owned());
    world.tell(Fact::Wanted { by, id, wish }).unwrap();
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("x")));
    world.prove();
    let first = &world.state.nodes[&NodeId::step(1)];
    assert_eq!((&first.accepted, &first.seen), (&Accepted::None, &None));
}

fn contract(commands: &[(&str, bool)]) -> Contract {
    let verify = commands.iter().map(|(line, allow_failure)| VerifyCommand {
        id: (*line).to_owned(),
        program: VerifyProgram::Command((*line).to_owned()),
        timeout_ms: None,
        cwd: None,
        env: std::collections::BTreeMap::new(),
        allow_failure: *allow_failure,
        network: false,
    });
    let acceptance = Acceptance::Contract(Box::new(AcceptanceContract {
        verify: verify.collect(),
        ..AcceptanceContract::default()
    }));
    Contract::of(&acceptance, &AuthorFacts::default())
        .unwrap()
        .unwrap()
}

#[test]
fn what_an_acceptance_asks_is_told() {
    let asked = contract(&[("cargo test", false), ("true", true)]);
    assert_eq!(asked.verify[0].line(), "cargo test");
    assert!(asked.verify[1].allow_failure);
    assert!(asked.section().ends_with("- `cargo test`\n- `true`"));
    assert_ne!(asked.digest(), contract(&[("cargo test", false)]).digest());
    for (end, words, is_success) in [
        (CheckEnd::Code(0), "ended with code 0", true),
        (CheckEnd::Signal(9), "was ended by signal 9", false),
        (CheckEnd::TimedOut, "timed out", false),
        (
            CheckEnd::NotStarted("x".to_owned()),
            "could not be started: x",
            false,
        ),
    ] {
        assert_eq!(
            (end.to_string().as_str(), end.is_success()),
            (words, is_success)
        );
    }
}

#[test]
fn the_steps_of_a_request_are_those_of_a_chain() {
    let read = |value| parse_request(&value).unwrap();
    let tasks = read(json!({
        "tasks": [{ "agent": "a", "task": "x" }, { "agent": "b", "task": "y" }],
        "concurrency": 3,
        "failFast": true,
    }));
    let steps = tasks.steps().unwrap().unwrap();
    let [ChainStep::Parallel(group)] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    assert_eq!(group.tasks.len(), 2);
    assert_eq!(
        (group.settings.concurrency, group.settings.fail_fast),
        (Some(3), Some(true))
    );
    let chained = read(json!({ "task": "t", "chain": [{ "agent": "a" }, { "agent": "b" }] }));
    assert_eq!(chained.steps().unwrap().unwrap().len(), 2);
    let one = read(json!({ "agent": "a", "task": "x" }));
    let steps = one.steps().unwrap().unwrap();
    assert!(matches!(steps.as_slice(), [ChainStep::One(task)] if task.agent == "a"));
    let saved = read(json!({ "chainName": "c", "task": "x" }));
    assert_eq!(saved.steps(), Ok(None));
    let wrong = read(json!({ "chain": [{ "agent": "a", "expand": 1 }] }));
    assert!(wrong.steps().is_err());
}

#[test]
fn a_working_tree_that_stays_and_a_patch_are_shown() {
    let mut child = child();
    child.place.worktree = Some(WorktreePlan {
        repository: "/r".into(),
        base: "abc".to_owned(),
        begins: Vec::new(),
        subfolder: "".into(),
        setup: grove_plan::WorktreeSetup::default(),
    });
    let mut world = World::submitted(chain(vec![child]));
    let make = world.lease(EffectKind::Make);
    assert_eq!(make.0.to_string(), "1/0/make.0");
    let folder = "/w".into();
    world.answer(
        &make,
        Outcome::Made {
            folder,
            synthetic: Vec::new(),
            base: None,
        },
    );
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("x")));
    world.prove();
    let capture = world.lease(EffectKind::Capture);
    let captured = CapturedWork {
        patch: Digest::of(b"patch"),
        base: None,
        files: 2,
        ignored: None,
        submodules: Vec::new(),
        left: Some("too much".to_owned()),
    };
    world.answer(&capture, Outcome::Captured(captured));
    let node = &view(&world).nodes[0];
    let tree = node.worktree.as_ref().unwrap();
    assert_eq!(
        (node.state, tree.kept.as_deref()),
        ("complete", Some("too much"))
    );
    let patch = node.patch.as_ref().unwrap();
    assert_eq!((patch.files, patch.base.as_deref()), (2, Some("abc")));
}

#[test]
fn a_clock_that_was_started_anew_is_read_on_the_wall() {
    let at = |wall, boot| Times { wall, boot };
    assert_eq!(at(100, 30).since(at(0, 10)), 20);
    assert_eq!(at(100, 5).since(at(60, 10)), 40);
}

#[test]
fn nobody_goes_on_when_the_whole_run_has_spent_everything() {
    for of_time in [false, true] {
        let mut plan = chain(vec![child()]);
        if of_time {
            plan.tree.timeout_ms = Some(10);
        } else {
            plan.tree.max_tokens = Some(5);
        }
        let mut world = World::submitted(plan);
        let start = world.lease(EffectKind::Start);
        let mut tell = |boot: u64, fact: Fact| {
            let seq = world.state.seq + 1;
            let at = Times { wall: boot, boot };
            let event = Event { seq, at, fact };
            advance(&world.plan, &mut world.state, &event)
        };
        if !of_time {
            tell(3, crate::world::turned(&start.0.of, start.1, 5)).unwrap();
        }
        let outcome = ended(Finish::Answered, text("x"));
        let (effect, epoch) = start;
        tell(
            20,
            Fact::Answered {
                effect,
                epoch,
                outcome,
            },
        )
        .unwrap();
        let prove = world.open(EffectKind::Prove).unwrap();
        let mut tell = |fact: Fact| {
            let seq = world.state.seq + 1;
            let at = Times { wall: 20, boot: 20 };
            let event = Event { seq, at, fact };
            advance(&world.plan, &mut world.state, &event)
        };
        tell(leased(&prove, 1)).unwrap();
        let outcome = Outcome::Proved(grove_plan::Proof::Ended { scans: 2 });
        tell(Fact::Answered {
            effect: prove,
            epoch: 1,
            outcome,
        })
        .unwrap();
        let wish = Wish::Resume {
            node: NodeId::step(1),
            message: None,
        };
        let (by, id) = ("x".to_owned(), "w".to_owned());
        let refused = tell(Fact::Wanted { by, id, wish });
        assert!(
            matches!(refused, Err(grove_plan::Refused::Spent(_))),
            "{of_time}: {refused:?}"
        );
    }
}
