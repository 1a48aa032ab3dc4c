//! Small things that people read and that larger tests would not miss.

use std::collections::BTreeMap;

use grove_plan::{
    CallId, CapturedWork, Check, Child, Contract, EffectKind, Execution, Fact, Finish, GroupRules,
    ItemValue, ModelFailure, NodeId, Outcome, Output, Question, RunView, StopReason, Usage,
    Variables, Wish, WorktreePlan, compose, parse_request,
};
use grove_spec::Digest;
use serde_json::json;

use crate::world::{World, chain, change_each, child, ended, model_failure, text};

fn want(world: &mut World, id: &str, wish: Wish) {
    let (by, id) = ("x".to_owned(), id.to_owned());
    world.tell(Fact::Wanted { by, id, wish }).unwrap();
}

fn view(world: &World) -> RunView {
    RunView::of("r", &world.plan, &world.state, &|digest| {
        let structured = *digest == Digest::of(b"{}");
        Some(if structured { "{}" } else { "said" }.to_owned())
    })
}

fn tree() -> WorktreePlan {
    WorktreePlan {
        repository: "/r".into(),
        base: "0".repeat(40),
        begins: Vec::new(),
        subfolder: "".into(),
        setup: grove_plan::WorktreeSetup::default(),
    }
}

#[test]
fn every_state_says_why() {
    let by = "x".to_owned();
    let asking = Question {
        call: CallId("c".to_owned()),
        text: "Which?".to_owned(),
    };
    for (execution, reason) in [
        (
            Execution::Stopped(StopReason::Wanted { by: by.clone() }),
            Some("by x"),
        ),
        (Execution::Paused(StopReason::Paused { by }), Some("by x")),
        (Execution::Asking(asking), Some("Which?")),
        (Execution::Lost("gone".to_owned()), Some("gone")),
        (Execution::Complete, None),
    ] {
        assert_eq!(execution.reason().as_deref(), reason);
    }
}

#[test]
fn a_view_has_the_cause_of_what_waits_or_was_stopped_and_when_it_was() {
    let question = Question {
        call: CallId("c0".to_owned()),
        text: "Which?".to_owned(),
    };
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Asked(question), text("said")));
    world.prove();
    let asking = view(&world);
    assert_eq!(asking.cause.unwrap()["text"], "Which?");
    assert_eq!(asking.submitted_at, Some(1_000_001));
    assert_eq!(asking.nodes[0].attempts[0].started_at, Some(1_000_002));
    want(&mut world, "stop", Wish::Stop { now: false });
    let stopped = view(&world);
    assert_eq!(stopped.state, "stopped");
    assert!(stopped.cause.is_some() && stopped.nodes[0].cause.is_some());
    assert!(stopped.ended_at > stopped.submitted_at);
}

#[test]
fn whoever_is_lost_says_why() {
    let mut world = World::submitted(chain(vec![child()]));
    for _ in 0..4 {
        let (effect, epoch) = world.lease(EffectKind::Start);
        let why = "gone".to_owned();
        world.tell(Fact::Gone { effect, epoch, why }).unwrap();
        world.prove();
    }
    let lost = view(&world);
    assert_eq!(lost.state, "lost");
    assert!(
        lost.cause.is_some_and(|cause| cause.is_string()),
        "{:?}",
        lost.reason
    );
}

#[test]
fn data_and_the_file_of_an_answer_are_shown() {
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    let output = Output {
        structured: Some(Digest::of(b"{}")),
        path: Some("out.md".to_owned()),
        ..text("said")
    };
    world.answer(&start, ended(Finish::Answered, output));
    world.prove();
    let shown = &view(&world).nodes[0].output;
    assert_eq!(shown.structured, Some(json!({})));
    assert_eq!(shown.path.as_deref(), Some("out.md"));
}

#[test]
fn the_time_of_one_child_is_not_the_time_of_all() {
    let mut children = vec![child(), child()];
    children[0].limits.max_execution_time_ms = Some(50);
    let mut plan = chain(children);
    change_each(&mut plan, |_, node| node.after.clear());
    let mut world = World::submitted(plan);
    world.lease(EffectKind::Start);
    let timer = world.open(EffectKind::Timer).unwrap();
    world.tell(Fact::Fired { timer }).unwrap();
    assert!(world.state.stop.is_none());
    assert_eq!(world.state_of("2"), "queued");
}

/// A step before, and children side by side after it, of which the rest is not begun once one was not done.
fn two_steps(side_by_side: Vec<Child>) -> World {
    let mut children = vec![child()];
    children.extend(side_by_side);
    let mut plan = chain(children);
    let group = NodeId::step(2);
    change_each(&mut plan, |at, node| {
        if at > 0 {
            node.id = group.member(at - 1);
            node.after = vec![NodeId::step(1)];
            node.group = Some(group.clone());
        }
    });
    let rules = GroupRules {
        concurrency: Some(1),
        fail_fast: true,
    };
    plan.groups.insert(group, rules);
    World::submitted(plan)
}

#[test]
fn the_result_is_of_the_last_step_alone() {
    let mut world = two_steps(vec![child(); 5]);
    let failed = model_failure(ModelFailure::Auth);
    let said = || Finish::Answered;
    for finish in [said(), said(), said(), said(), failed] {
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(finish, text("said")));
        world.prove();
    }
    let result = view(&world).result.unwrap();
    assert!(result.starts_with("3/5 succeeded"), "{result}");
    assert!(!result.contains("=== 1 "), "{result}");
    for block in [
        "=== 2.3 scout: FAILED: model error",
        "=== 2.4 scout: SKIPPED ===\n",
    ] {
        assert!(result.contains(block), "{block}: {result}");
    }
}

#[test]
fn work_that_does_not_count_is_said_first_among_several() {
    let mut rejected = child();
    rejected.contract = Some(Contract::verified(Vec::new(), false));
    let mut world = two_steps(vec![rejected]);
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("said")));
    world.prove();
    world.look();
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("said")));
    world.prove();
    let verify = world.lease(EffectKind::Verify);
    let why = "no".to_owned();
    world.answer(&verify, Outcome::Impossible { why });
    let result = view(&world).result.unwrap();
    assert!(
        result.contains("=== 2.0 scout: REJECTED: no ==="),
        "{result}"
    );
    assert!(result.starts_with("0/1 succeeded"), "{result}");
}

#[test]
fn work_that_cannot_be_stored_is_looked_at_all_the_same_and_once() {
    let mut author = child();
    author.contract = Some(Contract::verified(Vec::new(), false));
    author.place.worktree = Some(tree());
    let mut world = World::submitted(chain(vec![author]));
    let make = world.lease(EffectKind::Make);
    world.answer(
        &make,
        Outcome::Made {
            folder: "/w".into(),
            synthetic: Vec::new(),
            base: None,
        },
    );
    let start = world.lease(EffectKind::Start);
    world.answer(&start, ended(Finish::Answered, text("said")));
    world.prove();
    let capture = world.lease(EffectKind::Capture);
    let why = "no room".to_owned();
    world.answer(&capture, Outcome::Impossible { why });
    let verify = world.lease(EffectKind::Verify);
    world.answer(&verify, Outcome::Checked(Box::default()));
    assert_eq!(
        (world.state_of("1"), view(&world).acceptance),
        ("complete", "verified")
    );
    assert!(world.state.open.is_empty());
}

#[test]
fn a_tree_that_cannot_be_made_or_stored_is_said() {
    let plan = || {
        let mut child = child();
        child.place.worktree = Some(tree());
        World::submitted(chain(vec![child]))
    };
    let impossible = || Outcome::Impossible {
        why: "no room".to_owned(),
    };
    let mut world = plan();
    let make = world.lease(EffectKind::Make);
    world.answer(&make, impossible());
    assert_eq!(world.state_of("1"), "failed");
    for fails_at in [EffectKind::Capture, EffectKind::Remove] {
        let mut world = plan();
        let make = world.lease(EffectKind::Make);
        world.answer(
            &make,
            Outcome::Made {
                folder: "/w".into(),
                synthetic: Vec::new(),
                base: None,
            },
        );
        let start = world.lease(EffectKind::Start);
        world.answer(&start, ended(Finish::Answered, text("said")));
        world.prove();
        if fails_at == EffectKind::Remove {
            let capture = world.lease(EffectKind::Capture);
            let captured = CapturedWork {
                patch: Digest::of(b"p"),
                base: None,
                files: 1,
                ignored: None,
                submodules: Vec::new(),
                left: None,
            };
            world.answer(&capture, Outcome::Captured(captured));
        }
        let effect = world.lease(fails_at);
        world.answer(&effect, impossible());
        assert_eq!(world.state_of("1"), "complete");
        let tree = view(&world).nodes[0].worktree.clone().unwrap();
        assert_eq!(tree.kept.as_deref(), Some("no room"));
    }
}

#[test]
fn a_tree_that_nobody_took_is_not_waited_for_when_everything_stops() {
    let mut children = vec![child(), child()];
    for child in &mut children {
        child.place.worktree = Some(tree());
    }
    let mut plan = chain(children);
    change_each(&mut plan, |_, node| node.after.clear());
    let mut world = World::submitted(plan);
    let make = world.lease(EffectKind::Make);
    want(&mut world, "stop", Wish::Stop { now: false });
    assert_eq!(
        ["1", "2"].map(|id| world.state_of(id)),
        ["queued", "stopped"]
    );
    world.answer(
        &make,
        Outcome::Made {
            folder: "/w".into(),
            synthetic: Vec::new(),
            base: None,
        },
    );
    let capture = world.lease(EffectKind::Capture);
    assert_eq!(capture.0.of.node, NodeId::step(1));
}

#[test]
fn a_paused_child_is_stopped_with_everything() {
    let mut world = World::submitted(chain(vec![child()]));
    let start = world.lease(EffectKind::Start);
    want(&mut world, "pause", Wish::Pause { node: None });
    world.answer(&start, ended(Finish::Interrupted, text("said")));
    world.prove();
    assert_eq!(world.state_of("1"), "paused");
    want(&mut world, "stop", Wish::Stop { now: false });
    assert_eq!(world.state_of("1"), "stopped");
}

#[test]
fn variables_of_lists_and_folders_are_put_in() {
    let variables = Variables {
        task: "t".to_owned(),
        previous: "p".to_owned(),
        chain_dir: "/shared".to_owned(),
        outputs: BTreeMap::new(),
        item: Some(ItemValue {
            name: "item".to_owned(),
            value: json!({ "list": ["a", "b"], "0": "zero" }),
            key: "k".to_owned(),
        }),
    };
    for (template, expected) in [
        ("{chain_dir}/x {previous}", "/shared/x p"),
        ("{item.list.1} {previous}", "b p"),
        ("{item.0} {previous}", "zero p"),
        ("{items} {previous}", "{items} p"),
    ] {
        assert_eq!(compose(template, &variables), expected);
    }
    assert_eq!(
        compose("{task}", &variables),
        "t",
        "an item stands for itself"
    );
    let of_step = Variables {
        item: None,
        ..variables
    };
    assert!(compose("{task}", &of_step).ends_with("\np"));
}

#[test]
fn a_command_is_shown_as_it_was_written() {
    let check = |words: &[&str]| Check {
        id: "a".to_owned(),
        command: words.iter().map(|&word| word.to_owned()).collect(),
        timeout_ms: None,
        cwd: None,
        env: BTreeMap::new(),
        allow_failure: false,
        network: false,
    };
    for (words, shown) in [
        (&["/bin/sh", "-c", "make test"][..], "make test"),
        (&["/bin/sh", "-x", "make"], "/bin/sh -x make"),
        (&["env", "-c", "make"], "env -c make"),
        (&["make", "test"], "make test"),
    ] {
        assert_eq!(check(words).line(), shown);
    }
}

#[test]
fn a_sum_is_estimated_when_a_part_is_and_a_number_is_above_zero() {
    for (one, other) in [(true, false), (false, true)] {
        let usage = |estimated| Usage {
            estimated,
            ..Usage::default()
        };
        let mut sum = usage(one);
        sum += usage(other);
        assert!(sum.estimated);
    }
    for (number, is_fine) in [(0, false), (1, true)] {
        let request = json!({ "agent": "a", "task": "t", "maxTokens": number });
        assert_eq!(parse_request(&request).is_ok(), is_fine);
    }
}

#[test]
fn each_model_is_tried_once_and_a_try_waits_before_it_runs() {
    let mut two = child();
    two.models = vec!["p/a".to_owned(), "p/b".to_owned()];
    let mut world = World::submitted(chain(vec![two]));
    assert_eq!(view(&world).nodes[0].attempts[0].state, "queued");
    for _ in 0..2 {
        let start = world.lease(EffectKind::Start);
        let refused = ended(model_failure(ModelFailure::Rate), Output::default());
        world.answer(&start, refused);
        world.prove();
    }
    assert_eq!(world.state_of("1"), "failed");
    let tried: Vec<String> = view(&world).nodes[0]
        .attempts
        .iter()
        .map(|attempt| attempt.model.clone())
        .collect();
    assert_eq!(tried, ["p/a", "p/b"]);
}

#[test]
fn a_run_waits_until_somebody_takes_it() {
    let mut world = World::submitted(chain(vec![child()]));
    assert_eq!(world.state.run().word(), "queued");
    world.lease(EffectKind::Start);
    assert_eq!(world.state.run().word(), "running");
}

#[test]
fn whoever_was_told_to_stop_is_not_told_again_and_the_first_reason_stays() {
    let mut timed = child();
    timed.limits.max_execution_time_ms = Some(50);
    let mut world = World::submitted(chain(vec![timed]));
    let start = world.lease(EffectKind::Start);
    let timer = world.open(EffectKind::Timer).unwrap();
    let stops = |world: &World| {
        let open = world.state.open.keys();
        open.filter(|id| id.kind == EffectKind::Stop).count()
    };
    want(&mut world, "one", Wish::Stop { now: false });
    want(&mut world, "two", Wish::Stop { now: false });
    assert_eq!(stops(&world), 1);
    world.tell(Fact::Fired { timer }).unwrap();
    assert_eq!(stops(&world), 1);
    want(&mut world, "now", Wish::Stop { now: true });
    assert_eq!(stops(&world), 2);
    world.answer(&start, ended(Finish::Interrupted, text("said")));
    world.prove();
    assert_eq!(world.state_of("1"), "stopped");
}

#[test]
fn a_context_is_fresh_or_a_fork() {
    for (context, is_fine) in [
        ("fresh", true),
        ("fork", true),
        ("fork:r.1", true),
        ("old", false),
    ] {
        let request = json!({ "agent": "a", "task": "t", "context": context });
        assert_eq!(parse_request(&request).is_ok(), is_fine, "{context}");
    }
}
