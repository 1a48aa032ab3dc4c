//! Whether work counts, step by step: what is missing is asked for, somebody else looks, and the answer is kept.

use grove_plan::{
    Accepted, Check, CheckEnd, CheckResult, Command, Contract, EffectKind, Facts, Finish,
    ModelFailure, Node, NodeId, Outcome, Output, Plan, ReviewPlan, ReviewVerdict, RunView, Said,
    Seen, Wish, Work,
};
use grove_spec::Digest;
use proptest::prelude::*;

use crate::world::{World, chain, child, ended, model_failure, text};

fn contract(turns: u32) -> Contract {
    let check = Check {
        id: "a".to_owned(),
        command: vec!["make".to_owned()],
        timeout_ms: None,
        cwd: None,
        env: std::collections::BTreeMap::new(),
        allow_failure: false,
        network: false,
    };
    let mut contract = Contract::verified(vec![check], true);
    contract.max_finalization_turns = turns;
    contract
}

fn seen(code: i32) -> Outcome {
    Outcome::Checked(Box::new(Seen {
        results: vec![CheckResult {
            id: "a".to_owned(),
            end: CheckEnd::Code(code),
            milliseconds: 1,
            output: Digest::of(b""),
            sandbox: "none".to_owned(),
            changed: Vec::new(),
            as_before: Vec::new(),
        }],
        ..Seen::default()
    }))
}

fn plan(contract: Contract, reviewer: Option<bool>) -> Plan {
    let mut author = child();
    author.contract = Some(contract);
    let mut plan = chain(vec![author, child()]);
    if let Some(required) = reviewer {
        let mut author = plan.child(&NodeId::step(1)).unwrap().clone();
        author.contract.as_mut().unwrap().review = Some(ReviewPlan {
            agent: "judge".to_owned(),
            focus: None,
            required,
        });
        let mut nodes = plan.nodes.to_vec();
        nodes[0].work = Work::Child(Box::new(author));
        nodes.push(Node {
            id: NodeId::step(1).reviewer(),
            after: Vec::new(),
            group: None,
            reviews: Some(NodeId::step(1)),
            work: Work::Child(Box::new(child())),
        });
        plan.nodes = nodes.into();
    }
    plan
}

/// Lets whoever is next answer, and proves that nothing of it is left.
fn answer(world: &mut World, outcome: Outcome) {
    let start = world.lease(EffectKind::Start);
    world.answer(&start, outcome);
    world.prove();
}

fn says(words: &str) -> Outcome {
    ended(Finish::Answered, text(words))
}

fn finds(blockers: &[&str]) -> Outcome {
    let review = ReviewVerdict {
        blockers: blockers.iter().map(|&it| it.to_owned()).collect(),
        notes: Vec::new(),
    };
    let output = Output {
        review: Some(review),
        ..text("looked")
    };
    ended(Finish::Answered, output)
}

fn verify(world: &mut World, code: i32) {
    let effect = world.lease(EffectKind::Verify);
    world.answer(&effect, seen(code));
}

fn accepted(world: &World) -> &Accepted {
    &world.state.nodes[&NodeId::step(1)].accepted
}

#[test]
fn what_is_missing_is_asked_for_in_the_same_session_and_the_answer_stays() {
    for (codes, word) in [
        (&[0][..], "verified"),
        (&[1, 0], "verified"),
        (&[1, 1, 0], "verified"),
        (&[1, 1, 1], "rejected"),
    ] {
        let mut world = World::submitted(plan(contract(2), None));
        world.look();
        answer(&mut world, says("the answer"));
        for (at, code) in codes.iter().enumerate() {
            verify(&mut world, *code);
            if at + 1 < codes.len() {
                let start = world.open(EffectKind::Start).unwrap();
                let command = &world.state.open[&start].command;
                let Command::Start {
                    continues: Some(continued),
                    ..
                } = command
                else {
                    panic!("{command:?}");
                };
                let findings = Said::Findings(vec!["a (`make`) ended with code 1".to_owned()]);
                assert_eq!((continued.n as usize, &continued.said), (at + 1, &findings));
                answer(&mut world, says("mended"));
            }
        }
        assert_eq!(accepted(&world).word(), word, "{codes:?}");
        let said = RunView::of("r", &world.plan, &world.state, &|digest| {
            let is_answer = *digest == Digest::of(b"the answer");
            Some(if is_answer { "the answer" } else { "another" }.to_owned())
        });
        assert_eq!(said.nodes[0].output.text.as_deref(), Some("the answer"));
        let next = if word == "verified" {
            "queued"
        } else {
            "skipped"
        };
        assert_eq!(world.state_of("2"), next);
    }
}

#[test]
fn whoever_fails_while_it_mends_keeps_its_answer_and_is_judged_by_what_there_is() {
    let mut world = World::submitted(plan(contract(1), None));
    world.look();
    answer(&mut world, says("the answer"));
    verify(&mut world, 1);
    answer(
        &mut world,
        ended(model_failure(ModelFailure::BadRequest), Output::default()),
    );
    verify(&mut world, 1);
    assert_eq!(world.state_of("1"), "complete");
    assert!(accepted(&world).is_rejected());
}

#[test]
fn what_is_not_so_is_rejected_without_asking() {
    let mut asked = contract(3);
    asked.verify.clear();
    asked.evidence = vec![grove_spec::acceptance::Evidence::NoStagedFiles];
    let mut world = World::submitted(plan(asked, None));
    world.look();
    answer(&mut world, says("x"));
    let effect = world.lease(EffectKind::Verify);
    let report = grove_plan::report_of(&serde_json::json!({ "noStagedFiles": true })).report;
    let facts = Facts {
        staged: Some(vec!["a".to_owned()]),
        ..Facts::default()
    };
    let seen = Seen {
        report,
        facts,
        ..Seen::default()
    };
    world.answer(&effect, Outcome::Checked(Box::new(seen)));
    assert!(accepted(&world).is_rejected());
    assert_eq!(world.state.nodes[&NodeId::step(1)].attempts.len(), 1);
}

#[test]
fn what_nobody_asked_for_in_particular_is_claimed_and_handed_on() {
    let mut inferred = contract(3);
    inferred.is_inferred = true;
    let mut world = World::submitted(plan(inferred, None));
    world.look();
    answer(&mut world, says("x"));
    verify(&mut world, 1);
    assert_eq!(accepted(&world).word(), "claimed");
    let shown = RunView::of("r", &world.plan, &world.state, &|_| None);
    assert_eq!(shown.nodes[0].missing, ["a (`make`) ended with code 1"]);
    assert_eq!(world.state_of("2"), "queued");
}

#[test]
fn somebody_else_looks_and_what_it_finds_is_asked_for() {
    let mut asked = contract(1);
    asked.level = grove_spec::acceptance::AcceptanceLevel::Reviewed;
    for (first, second, word) in [
        (finds(&[]), None, "reviewed"),
        (finds(&["wrong"]), Some(finds(&[])), "reviewed"),
        (finds(&["wrong"]), Some(finds(&["still wrong"])), "rejected"),
        (says("no verdict"), None, "rejected"),
        (
            ended(model_failure(ModelFailure::Auth), Output::default()),
            None,
            "rejected",
        ),
    ] {
        let mut world = World::submitted(plan(asked.clone(), Some(true)));
        assert_eq!(world.state_of("1.review"), "pending");
        world.look();
        answer(&mut world, says("the answer"));
        verify(&mut world, 0);
        assert_eq!(
            (world.state_of("1"), world.state_of("2")),
            ("running", "pending")
        );
        answer(&mut world, first);
        if let Some(second) = second {
            answer(&mut world, says("mended"));
            verify(&mut world, 0);
            answer(&mut world, second);
        }
        assert_eq!(accepted(&world).word(), word);
        // How the reviewer fared is no part of how far the run is.
        let run = if word == "reviewed" {
            "running"
        } else {
            "complete"
        };
        assert_eq!(world.state.run().word(), run);
        let next = if word == "reviewed" {
            "queued"
        } else {
            "skipped"
        };
        assert_eq!(world.state_of("2"), next);
    }
    // Without whom it counts as what it has.
    let mut world = World::submitted(plan(asked, Some(false)));
    world.look();
    answer(&mut world, says("the answer"));
    verify(&mut world, 0);
    answer(&mut world, says("no verdict"));
    assert_eq!(accepted(&world).word(), "verified");
}

#[test]
fn a_reviewer_begins_only_when_there_is_something_to_look_at() {
    let mut world = World::submitted(plan(contract(0), Some(true)));
    world.look();
    answer(&mut world, says("x"));
    verify(&mut world, 1);
    assert_eq!(world.state_of("1.review"), "skipped");
    assert!(world.state.run().is_terminal());
}

#[test]
fn whoever_is_stopped_while_somebody_looks_is_stopped() {
    let mut world = World::submitted(plan(contract(0), Some(true)));
    world.look();
    answer(&mut world, says("x"));
    verify(&mut world, 0);
    let start = world.lease(EffectKind::Start);
    let wish = Wish::Stop { now: false };
    let (by, id) = ("x".to_owned(), "w".to_owned());
    world
        .tell(grove_plan::Fact::Wanted { by, id, wish })
        .unwrap();
    world.answer(&start, ended(Finish::Interrupted, text("x")));
    world.prove();
    assert_eq!(
        ["1", "1.review", "2"].map(|id| world.state_of(id)),
        ["stopped"; 3]
    );
    assert_eq!(accepted(&world), &Accepted::None);
}

proptest! {
    /// Whatever a child says is looked through for a report, and what is left is a part of it.
    #[test]
    fn any_text_is_looked_through(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..60)) {
        let text = parts.concat();
        let found = grove_plan::report_in(&text);
        prop_assert!(found.report.is_some() || !found.notes.is_empty());
        let left = grove_plan::without_report(&text);
        prop_assert!(left.len() <= text.len() + 2);
        if found.report.is_none() {
            prop_assert_eq!(left, text);
        }
    }
}

/// What reports, and what is like one, are made of.
const PARTS: [&str; 20] = [
    "```",
    "~~~",
    "acceptance-report",
    "json",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\\",
    "changedFiles",
    "ACCEPTANCE_REPORT:",
    "// x",
    "é",
    " ",
    "\"residualRisks\": []",
];
