//! What holds for every plan and every order of events.

use std::collections::BTreeMap;

use grove_plan::{
    Accepted, Attempt, CallId, CapturedWork, Cause, Check, CheckEnd, CheckResult, Command,
    Contract, Delivered, EffectId, EffectKind, Ending, Event, Execution, Expanded, Fact, FanOut,
    Finish, GroupRules, Item, ModelFailure, Node, NodeId, NodeState, OnComplete, Outcome, Output,
    Plan, Proof, Question, ReviewPlan, ReviewVerdict, Seen, State, Step, Times, TreeBefore, Usage,
    Wish, Work, WorkConflict, WorktreePlan, advance, begin_with_earlier_work, fold,
};
use grove_spec::Digest;
use proptest::prelude::*;

use crate::history;
use crate::world::{
    World, called, chain, change_each, child, ended, leased, model_failure, returned, submission,
    text, turned,
};

/// Any plan of a few children, with any limits.
fn plans() -> impl Strategy<Value = Plan> {
    let children = prop::collection::vec(
        (
            1_usize..3,
            prop::option::of(1_u64..40),
            any::<bool>(),
            any::<bool>(),
            prop::option::of(1_u64..4),
            any::<bool>(),
        ),
        1..4,
    );
    let joined = prop::collection::vec(any::<bool>(), 3);
    let tree = (any::<bool>(), prop::option::of(1_u64..60));
    let side_by_side = prop::option::of((1_u64..3, any::<bool>()));
    let list = prop::option::of((any::<bool>(), 1_u64..3, any::<bool>()));
    (children, joined, tree, side_by_side, list).prop_map(
        |(children, joined, (has_timeout, max_tokens), side_by_side, list)| {
            let children = children.into_iter().map(
                |(models, tokens, has_time, has_schema, budget, has_worktree)| {
                    let mut child = child();
                    child.models = (0..models).map(|at| format!("p/m{at}")).collect();
                    child.limits.max_tokens = tokens;
                    child.limits.max_turns = budget;
                    child.limits.max_tool_calls = budget.map(|budget| budget - 1);
                    child.limits.max_execution_time_ms = has_time.then_some(50);
                    child.place.worktree = has_worktree.then(|| WorktreePlan {
                        repository: "/r".into(),
                        base: "0".repeat(40),
                        begins: Vec::new(),
                        subfolder: "".into(),
                        setup: grove_plan::WorktreeSetup::default(),
                    });
                    // Asked for what is missing now and then, and looked at by somebody else now and then.
                    child.contract = has_time.then(|| {
                        let mut contract = Contract::verified(vec![check_of("a")], has_schema);
                        contract.review = has_worktree.then(|| ReviewPlan {
                            agent: "judge".to_owned(),
                            focus: None,
                            required: has_schema,
                        });
                        contract
                    });
                    child.schema = has_schema.then(|| Digest::of(b"schema"));
                    child
                },
            );
            let mut plan = chain(children.collect());
            let is_joined = |at: usize| joined.get(at).is_none_or(|is_joined| *is_joined);
            change_each(&mut plan, |at, node| {
                if !is_joined(at) {
                    node.after.clear();
                }
            });
            if let Some((concurrency, fail_fast)) = side_by_side {
                let group = NodeId::from("all");
                change_each(&mut plan, |_, node| {
                    node.after.clear();
                    node.group = Some(group.clone());
                });
                let concurrency = Some(concurrency);
                let rules = GroupRules {
                    concurrency,
                    fail_fast,
                };
                plan.groups.insert(group, rules);
            }
            let reviewers: Vec<Node> = plan
                .nodes
                .iter()
                .filter(|node| {
                    let contract = plan.child(&node.id).unwrap().contract.as_ref();
                    contract.is_some_and(|contract| contract.review.is_some())
                })
                .map(|node| Node {
                    id: node.id.reviewer(),
                    after: Vec::new(),
                    group: None,
                    reviews: Some(node.id.clone()),
                    work: Work::Child(Box::new(child())),
                })
                .collect();
            let mut nodes = plan.nodes.to_vec();
            nodes.extend(reviewers);
            nodes.extend(list.map(|rules| list_after(&mut plan.groups, rules)));
            begin_with_earlier_work(&mut nodes, |_| false);
            plan.nodes = nodes.into();
            plan.tree.timeout_ms = has_timeout.then_some(100);
            plan.tree.max_tokens = max_tokens;
            plan.tree.max_children = max_tokens.map(|tokens| tokens / 4);
            plan.on_complete = has_timeout.then(|| OnComplete {
                command: vec!["true".to_owned()],
                timeout_ms: 1,
            });
            plan
        },
    )
}

/// A node for each item of the list that the first one gives.
fn list_after(
    groups: &mut BTreeMap<NodeId, GroupRules>,
    (fail_if_empty, concurrency, fail_fast): (bool, u64, bool),
) -> Node {
    let id = NodeId::from(LIST);
    let rules = GroupRules {
        concurrency: Some(concurrency),
        fail_fast,
    };
    groups.insert(id.clone(), rules);
    let mut each = child();
    each.contract = fail_fast.then(|| Contract {
        not_observed: None,
        review: Some(ReviewPlan {
            agent: "judge".to_owned(),
            focus: None,
            required: true,
        }),
        ..Contract::verified(vec![check_of("a")], false)
    });
    Node {
        id,
        after: vec![NodeId::step(1)],
        group: None,
        reviews: None,
        work: Work::FanOut(Box::new(FanOut {
            from: Some(NodeId::step(1)),
            items: None,
            path: String::new(),
            item: "item".to_owned(),
            key: None,
            max_items: 3,
            fail_if_empty,
            schema: None,
            child: each,
            reviewer: fail_fast.then(child),
        })),
    }
}

/// The step that runs for each item of a list.
const LIST: &str = "4";

fn check_of(id: &str) -> Check {
    Check {
        id: id.to_owned(),
        command: vec!["true".to_owned()],
        timeout_ms: None,
        cwd: None,
        env: BTreeMap::new(),
        allow_failure: false,
        network: false,
    }
}

/// A fact that somebody may report now, or may report wrongly.
fn some_fact(state: &State, choice: u32, detail: u32) -> Fact {
    let node = NodeId::step(1 + detail as usize / 8 % 3);
    let node = match detail % 11 {
        0 => node.reviewer(),
        1 => NodeId::from(LIST).item("0"),
        2 => NodeId::from(LIST).item("1"),
        3 => NodeId::from(LIST),
        _ => node,
    };
    let message = Digest::of(b"message");
    let wish = match detail % 10 {
        8 => Wish::StopChild {
            node,
            now: detail.is_multiple_of(3),
        },
        9 => Wish::Discard { node },
        0 => Wish::Acknowledge,
        1 => Wish::Stop { now: false },
        2 => Wish::Stop { now: true },
        3 => Wish::Pause { node: None },
        4 => Wish::Pause { node: Some(node) },
        5 => Wish::Resume {
            node,
            message: detail.is_multiple_of(5).then_some(message),
        },
        6 => Wish::Steer { node, message },
        _ => Wish::Answer {
            node,
            answer: message,
        },
    };
    let wanted = Fact::Wanted {
        by: "somebody".to_owned(),
        id: format!("w{}", detail % 64),
        wish,
    };
    let at = (choice >> 4) as usize % state.open.len().max(1);
    let Some((effect, open)) = state.open.iter().nth(at) else {
        return wanted;
    };
    let (effect, of) = (effect.clone(), effect.of.clone());
    // Now and then somebody reports who is too late, or too early.
    let epoch = match detail % 8 {
        0 => open.epoch.saturating_sub(1),
        1 => open.epoch + 1,
        _ => open.epoch,
    };
    let call = format!("c{}", detail % 3);
    match choice % 16 {
        0..=4 => leased(&effect, open.epoch + u32::from(!detail.is_multiple_of(7))),
        5 => turned(&of, epoch, u64::from(detail % 20)),
        6 if detail.is_multiple_of(4) => Fact::Wasted {
            of,
            epoch,
            usage: tokens(detail),
        },
        6 => called(&of, epoch, &call, detail.is_multiple_of(2)),
        7 => returned(&of, epoch, &call),
        8 => Fact::Gone {
            effect,
            epoch,
            why: "gone".to_owned(),
        },
        9 => Fact::Fired { timer: effect },
        11 if detail.is_multiple_of(3) => Fact::Delegated {
            of,
            run: format!("below{}", detail % 5),
            children: u64::from(detail % 3),
        },
        11 if detail % 3 == 1 => Fact::Used {
            of,
            usage: tokens(detail),
            cost: None,
        },
        10 | 11 => wanted,
        _ => Fact::Answered {
            outcome: some_outcome(effect.kind, detail),
            effect,
            epoch,
        },
    }
}

fn tokens(detail: u32) -> Usage {
    Usage {
        input: u64::from(detail % 20),
        ..Usage::default()
    }
}

fn some_outcome(kind: EffectKind, detail: u32) -> Outcome {
    let structured = Output {
        structured: Some(Digest::of(b"{}")),
        review: (!detail.is_multiple_of(5)).then(|| ReviewVerdict {
            blockers: vec!["wrong".to_owned(); detail as usize % 2],
            notes: Vec::new(),
        }),
        ..text("x")
    };
    match (kind, detail % 6) {
        (EffectKind::Make, 5) => Outcome::Conflicting {
            conflict: WorkConflict {
                nodes: vec![NodeId::step(1), NodeId::step(2)],
                files: vec!["a".to_owned()],
            },
            answer: Digest::of(b"both patches"),
        },
        (EffectKind::Make, 1..) => Outcome::Made {
            folder: "/w".into(),
            synthetic: Vec::new(),
            base: None,
        },
        (EffectKind::Capture, 1..) => Outcome::Captured(CapturedWork {
            patch: Digest::of(&[u8::try_from(detail % 200).unwrap()]),
            base: None,
            files: 1,
            ignored: None,
            submodules: Vec::new(),
            left: (detail % 7 == 1).then(|| "too large".to_owned()),
        }),
        (EffectKind::Remove, 1..) => Outcome::Removed,
        (EffectKind::Look, _) => Outcome::Looked(TreeBefore::default()),
        (EffectKind::Verify, 1..) => Outcome::Checked(Box::new(Seen {
            results: vec![CheckResult {
                id: "a".to_owned(),
                end: CheckEnd::Code(i32::from(detail.is_multiple_of(2))),
                milliseconds: 1,
                output: Digest::of(b""),
                sandbox: "none".to_owned(),
                changed: Vec::new(),
                as_before: Vec::new(),
            }],
            ..Seen::default()
        })),
        (EffectKind::Expand, 1..) => Outcome::Expanded(Expanded {
            list: Digest::of(b"list"),
            items: (0..detail % 5)
                .map(|at| Item {
                    key: at.to_string(),
                    label: None,
                })
                .collect(),
        }),
        (EffectKind::Collect, 1..) => Outcome::Collected(structured),
        (
            EffectKind::Make
            | EffectKind::Capture
            | EffectKind::Remove
            | EffectKind::Verify
            | EffectKind::Expand
            | EffectKind::Collect,
            0,
        ) => Outcome::Impossible {
            why: "no".to_owned(),
        },
        (EffectKind::Send, 1..) => Outcome::Sent {
            message: Digest::of(b"message"),
        },
        (EffectKind::Start, 5) => ended(
            Finish::Asked(Question {
                call: CallId("c0".to_owned()),
                text: "Which?".to_owned(),
            }),
            text("x"),
        ),
        (EffectKind::Prove, 0) => Outcome::Proved(Proof::NotProven {
            why: "somebody may be left".to_owned(),
        }),
        (EffectKind::Prove, 1..) => Outcome::Proved(Proof::Ended { scans: 2 }),
        (EffectKind::Deliver, 1..) => Outcome::Delivered(Delivered {
            end: CheckEnd::Code(0),
            output: Digest::of(b""),
        }),
        (EffectKind::Stop, 1..) | (_, 4) => Outcome::Told,
        (_, 0) => Outcome::Ended(Ending {
            finish: model_failure(ModelFailure::Rate),
            output: Output::default(),
            lost: tokens(detail / 6),
        }),
        (_, 1) => ended(Finish::Interrupted, text("x")),
        (_, 2) => ended(Finish::Answered, Output::default()),
        (_, _) => ended(Finish::Answered, structured),
    }
}

/// What is true at every moment of a run.
fn check(world: &World, was: &State) {
    // Once a tree has spent everything nobody begins any more: whoever was at it has one request under way at most.
    if world
        .plan
        .tree
        .max_tokens
        .is_some_and(|max| was.spent.counted() >= max)
    {
        for (id, node) in &was.nodes {
            let now = world.state.nodes[id].attempts.len();
            assert!(now == node.attempts.len(), "{id} begins with nothing left");
        }
    }
    let state = &world.state;
    let last = world.journal.last().map(|event| &event.fact);
    // A node that failed because the work of others could not be merged waits for one of them to go on.
    let has_conflict = |id: &NodeId| {
        let before = &was.nodes[id].execution;
        matches!(before, Execution::Failed(Cause::Conflict(_)))
    };
    let is_resumed = |id: &NodeId| {
        matches!(last, Some(Fact::Wanted { wish: Wish::Resume { node, .. } | Wish::Answer { node, .. }, .. })
            if node == id || was.nodes[id].execution == Execution::Skipped || has_conflict(id) || *id == NodeId::from(LIST))
    };
    let is_discarded = |id: &NodeId| {
        let wish = Wish::Discard { node: id.clone() };
        matches!(last, Some(Fact::Wanted { wish: known, .. }) if *known == wish)
    };
    if let (
        Some(Fact::Wanted {
            wish: Wish::StopChild { node, .. },
            ..
        }),
        true,
    ) = (last, state.seq == was.seq + 1)
    {
        check_others(world, was, node);
    }
    assert_eq!(fold(&world.plan, &world.journal).as_ref(), Ok(state));
    // What may begin is looked for where a node changed; to look after every event finds no more.
    if let (Some(event), Some(any)) = (world.journal.last(), was.nodes.keys().next())
        && state.seq == was.seq + 1
    {
        let mut looked = was.clone();
        looked.nodes.get_mut(any).unwrap();
        advance(&world.plan, &mut looked, event).unwrap();
        assert_eq!(looked, *state);
    }
    for (id, node) in &state.nodes {
        let before = was.nodes.get(id);
        if let Some(before) = before.filter(|before| before.execution.is_terminal())
            && !is_resumed(id)
            && !is_discarded(id)
            && !matches!(last, Some(Fact::Used { .. }))
            && world.plan.reviews(id).is_none()
        {
            assert_eq!(before, node, "what has ended does not change");
        }
        let last = node.last();
        if (node.execution.is_terminal() || node.execution.is_waiting())
            && let Some(last) = last
        {
            let is_clean = last.started.is_none() || last.proof.is_some();
            assert!(is_clean, "{id} ended before its tree was looked for");
            let of = Attempt {
                node: id.clone(),
                n: u32::try_from(node.attempts.len()).unwrap(),
            };
            assert!(state.open.keys().all(|open| open.of != of));
        }
    }
    if let Some(Fact::Delegated { of, .. }) = last {
        let attempt = &state.nodes[&of.node].attempts[of.n as usize - 1];
        assert!(attempt.execution == Execution::Running && attempt.stopping.is_none());
        assert!(
            world
                .plan
                .tree
                .max_children
                .is_none_or(|max| state.children <= max)
        );
    }
    let is_over = state.run().is_terminal();
    let is_idle = is_over || state.run().is_waiting();
    let told = |id: &EffectId| id.kind == EffectKind::Deliver;
    let is_quiet = state.open.keys().all(told);
    assert_eq!(is_quiet, is_idle, "{:?}", state.open);
    // Whoever waits for the end is told of each end, and of nothing else.
    let has_ended = was.ended.is_none() && state.ended.is_some();
    let is_told = world.plan.on_complete.is_some() && has_ended;
    if state.seq == was.seq + 1 {
        assert_eq!(state.deliveries, was.deliveries + u32::from(is_told));
    }
    let open = state.open.keys().filter(|id| told(id)).count();
    assert!(open <= state.deliveries as usize);
    assert_eq!(state.clock.since.is_none(), is_idle);
    assert_eq!(state.ended.is_some(), is_over);
    for (effect, open) in &state.open {
        if let Command::RemoveWorktree { node, patch } = &open.command {
            let tree = state.nodes[node].worktree.as_ref().unwrap();
            let captured = tree.captured.as_ref().map(|captured| captured.patch);
            assert_eq!(
                captured,
                Some(*patch),
                "{effect} removes what is not stored"
            );
        }
    }
    for (id, node) in &state.nodes {
        let tree = node.worktree.as_ref();
        let is_left = tree.is_some_and(|tree| tree.folder.is_some() && tree.kept.is_none());
        assert!(
            !(node.execution.is_terminal() && is_left),
            "the tree of {id} is forgotten"
        );
        let Some(child) = world.plan.child(id) else {
            check_list(state, id);
            continue;
        };
        let asks = child.contract.is_some();
        let is_judged = node.accepted != Accepted::None;
        assert!(
            node.accepted != Accepted::Verified || node.seen.is_some(),
            "{id} counts as verified though nothing was seen"
        );
        let most = child.contract.as_ref();
        let most = most.map_or(0, |contract| contract.max_finalization_turns);
        assert!(node.finalizations <= most, "{id} is asked too often");
        assert!(
            !asks || node.execution != Execution::Complete || is_judged,
            "{id} counts unseen"
        );
        let wants = child.place.worktree.is_some();
        let is_running = node.execution == Execution::Running && node.verdict.is_none();
        let has = tree.is_some_and(|tree| tree.folder.is_some());
        assert!(!(wants && is_running) || has, "{id} runs without its tree");
    }
    for (id, rules) in &world.plan.groups {
        let nodes = state.nodes.iter();
        let members = nodes.filter(|(node, _)| {
            world.plan.group_of(node).as_ref() == Some(id) && world.plan.reviews(node).is_none()
        });
        let at_work = members.filter(|(_, known)| {
            // Whoever was let go on is beyond what began by itself, and whose work is being stored does not work.
            let next = known.next.as_ref();
            let is_resumed = known.attempts.len() > 1
                || known.verdict.is_some()
                || next.is_some_and(|next| next.continues.is_some());
            matches!(known.execution, Execution::Queued | Execution::Running) && !is_resumed
        });
        assert!(
            rules
                .concurrency
                .is_none_or(|most| at_work.count() as u64 <= most)
        );
    }
    check_limits(world);
    check_endings(world);
}

/// When one child is stopped, no other is told to stop and nothing of another is ended, but for the reviewer of its work. Others
/// may begin, since there is room now, or not begin, since they came after it.
fn check_others(world: &World, was: &State, stopped: &NodeId) {
    let reviewer = stopped.reviewer();
    for (id, before) in &was.nodes {
        let now = &world.state.nodes[id];
        if id == stopped || *id == reviewer || world.plan.child(id).is_none() {
            continue;
        }
        let told = |node: &NodeState| -> Vec<bool> {
            let attempts = node.attempts.iter();
            attempts.map(|attempt| attempt.stopping.is_some()).collect()
        };
        assert!(
            told(now).starts_with(&told(before)),
            "{id} is told to stop with {stopped}"
        );
        let is_untouched = before.execution == now.execution
            || before.execution == Execution::Pending
            || world.plan.reviews(stopped).as_ref() == Some(id);
        assert!(is_untouched, "{id} changes with {stopped}");
        let open = |state: &State| -> Vec<EffectId> {
            let open = state.open.keys().filter(|effect| effect.of.node == *id);
            open.cloned().collect()
        };
        let open_now = open(&world.state);
        let is_author = world.plan.reviews(stopped).as_ref() == Some(id);
        assert!(
            is_author || open(was).iter().all(|effect| open_now.contains(effect)),
            "an effect of {id} is closed with {stopped}"
        );
    }
    assert_eq!(world.state.stop, was.stop);
}

/// A list is over when its items are, and done only when all of them are.
fn check_list(state: &State, id: &NodeId) {
    let list = &state.nodes[id];
    let Some(found) = &list.items else {
        return;
    };
    let items = || found.items.iter().map(|it| &state.nodes[&id.item(&it.key)]);
    let is_over = list.execution.is_terminal();
    assert!(!is_over || items().all(|item| item.execution.is_terminal()));
    assert!(list.collected.is_none() || items().all(NodeState::is_done));
    assert_eq!(list.is_done(), list.collected.is_some() && is_over);
}

/// Whoever has reached a limit was told to stop, and made no request since.
fn check_limits(world: &World) {
    let mut spent: BTreeMap<&NodeId, u64> = BTreeMap::new();
    let mut turns: BTreeMap<&Attempt, u64> = BTreeMap::new();
    let mut calls: BTreeMap<&Attempt, u64> = BTreeMap::new();
    let mut whole = 0;
    for event in &world.journal {
        let (of, turn) = match &event.fact {
            Fact::Turned { of, turn, .. } => (of, turn),
            Fact::Used { of, usage, .. } | Fact::Wasted { of, usage, .. } => {
                *spent.entry(&of.node).or_default() += usage.counted();
                whole += usage.counted();
                continue;
            }
            Fact::Answered {
                effect,
                outcome: Outcome::Ended(Ending { lost, .. }),
                ..
            } => {
                *spent.entry(&effect.of.node).or_default() += lost.counted();
                whole += lost.counted();
                continue;
            }
            Fact::Called { of, .. } => {
                let made = calls.entry(of).or_default();
                *made += 1;
                let limits = &world.plan.child(&of.node).unwrap().limits;
                assert!(limits.max_tool_calls.is_none_or(|max| *made <= max));
                continue;
            }
            _ => continue,
        };
        let child = world.plan.child(&of.node).unwrap();
        let of_node = spent.entry(&of.node).or_default();
        let of_attempt = turns.entry(of).or_default();
        let is_beyond = child.limits.max_tokens.is_some_and(|max| *of_node >= max)
            || world.plan.tree.max_tokens.is_some_and(|max| whole >= max)
            || child.limits.max_turns.is_some_and(|max| *of_attempt > max);
        *of_attempt += 1;
        *of_node += turn.usage.counted();
        whole += turn.usage.counted();
        if is_beyond {
            let node = &world.state.nodes[&of.node];
            let attempt = &node.attempts[of.n as usize - 1];
            assert!(attempt.stopping.is_some(), "nobody told it to stop");
        }
    }
    assert_eq!(whole, world.state.spent.counted());
}

fn check_endings(world: &World) {
    let mut endings: BTreeMap<&Attempt, u32> = BTreeMap::new();
    for event in &world.journal {
        if let Fact::Answered {
            effect,
            outcome: Outcome::Ended(_),
            ..
        } = &event.fact
        {
            *endings.entry(&effect.of).or_default() += 1;
        }
    }
    assert!(endings.values().all(|count| *count == 1), "{endings:?}");
}

/// Does whatever is open until nothing is.
fn finish(world: &mut World) {
    for _ in 0..1_000 {
        let mut open = world.state.open.iter();
        let next = open.rfind(|(id, _)| id.kind != EffectKind::Timer);
        let Some((effect, open)) = next else {
            break;
        };
        let (effect, epoch, is_held) = (effect.clone(), open.epoch, open.holder.is_some());
        let outcome = some_outcome(effect.kind, 3);
        let recovering = effect.kind == EffectKind::Start
            && world.state.nodes[&effect.of.node]
                .last()
                .is_some_and(|attempt| attempt.recovering);
        let told = match (is_held, recovering) {
            (true, _) => world.tell(Fact::Answered {
                effect,
                epoch,
                outcome,
            }),
            (false, false) => world.tell(leased(&effect, epoch + 1)),
            (false, true) => {
                // What is left of it comes first.
                let prove = world.open(EffectKind::Prove).unwrap();
                let (epoch, is_held) = {
                    let open = &world.state.open[&prove];
                    (open.epoch, open.holder.is_some())
                };
                if is_held {
                    let outcome = some_outcome(EffectKind::Prove, 3);
                    world.tell(Fact::Answered {
                        effect: prove,
                        epoch,
                        outcome,
                    })
                } else {
                    world.tell(leased(&prove, epoch + 1))
                }
            }
        };
        told.unwrap();
    }
}

/// Ten thousand orders of events; fewer where somebody asks for fewer, as a run over mutations does.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted
        .and_then(|wanted| wanted.parse().ok())
        .unwrap_or(10_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_for_every_order_of_events(
        plan in plans(),
        choices in prop::collection::vec((any::<u32>(), any::<u32>()), 0..60),
    ) {
        let mut world = World::new(plan);
        world.tell(submission()).unwrap();
        for (choice, detail) in choices {
            let was = world.state.clone();
            let fact = some_fact(&world.state, choice, detail);
            if world.tell(fact.clone()).is_ok() {
                check(&world, &was);
                check_duplicate(&mut world, &fact);
            } else {
                prop_assert_eq!(&was, &world.state, "a refused event changes nothing");
            }
        }
        finish(&mut world);
        check(&world, &State::default());
        let run = world.state.run();
        prop_assert!(run.is_terminal() || run.is_waiting(), "a run whose executors do their work ends");
        check_replay(&world);
        history::check(&world);
    }
}

/// The same event again, and the same fact as a new event, change nothing; but a model may answer twice, and so may runs
/// below spend.
fn check_duplicate(world: &mut World, fact: &Fact) {
    let was = world.state.clone();
    let again = world.journal.last().unwrap().clone();
    assert!(advance(&world.plan, &mut world.state, &again).is_err());
    if !matches!(
        fact,
        Fact::Turned { .. } | Fact::Used { .. } | Fact::Wasted { .. }
    ) {
        let as_new = Event {
            seq: was.seq + 1,
            at: Times::default(),
            fact: fact.clone(),
        };
        assert!(
            advance(&world.plan, &mut world.state, &as_new).is_err(),
            "{fact:?} was taken twice"
        );
    }
    assert_eq!(was, world.state);
}

/// A replay opens and closes the same effects, also when the journal was written down and read.
fn check_replay(world: &World) {
    let written = serde_json::to_string(&world.journal).unwrap();
    let journal: Vec<Event> = serde_json::from_str(&written).unwrap();
    assert_eq!(journal, world.journal);
    let mut state = State::default();
    let steps: Vec<Step> = journal
        .iter()
        .map(|event| advance(&world.plan, &mut state, event).unwrap())
        .collect();
    assert_eq!(steps, world.steps);
}
