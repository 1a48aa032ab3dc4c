use grove_engine::view::{
    AttemptState, CallId, Cause, Child, GroupRules, NodeState, Plan, Question, Sign, State, Times,
    Usage, Work,
};
use grove_spec::Digest;
use grove_spec::text::{is_control, without_controls};

use super::*;

const NOW: Times = Times {
    wall: 100_000,
    boot: 100_000,
};

fn node(id: &str, after: &[&str], group: Option<&str>, agent: &str) -> grove_engine::view::Node {
    let mut child = Child::new(agent, Digest::of(b"told"), "p/m");
    child.model_facts = vec![grove_engine::view::ModelFacts {
        context: None,
        prices: Some(grove_engine::view::Prices {
            input: 3_000_000,
            output: 15_000_000,
            cached: None,
            cache_write: None,
        }),
    }];
    grove_engine::view::Node {
        id: NodeId::from(id),
        after: after.iter().map(|&id| NodeId::from(id)).collect(),
        group: group.map(NodeId::from),
        reviews: None,
        work: Work::Child(Box::new(child)),
    }
}

fn known(execution: Execution, began: u64, ended: Option<u64>, tokens: u64) -> NodeState {
    let at = |ms: u64| Times { wall: ms, boot: ms };
    NodeState {
        execution,
        attempts: vec![AttemptState {
            started: Some(at(began)),
            ended: ended.map(at),
            usage: Usage {
                input: tokens,
                ..Usage::default()
            },
            ..AttemptState::default()
        }],
        ..NodeState::default()
    }
}

fn asking(text: &str) -> Execution {
    Execution::Asking(Question {
        call: CallId("c".to_owned()),
        text: text.to_owned(),
    })
}

/// A chain with a group in which one works, one asks and one failed.
fn chain() -> (Plan, State) {
    let mut plan = Plan::of(vec![
        node("1", &[], None, "scout"),
        node("2.0", &["1"], Some("2"), "worker"),
        node("2.1", &["1"], Some("2"), "worker"),
        node("2.2", &["1"], Some("2"), "worker"),
        node("3", &["2.0", "2.1", "2.2"], None, "judge"),
    ]);
    plan.groups.insert(NodeId::from("2"), GroupRules::default());
    let mut state = State {
        submitted: Some(Times {
            wall: 10_000,
            boot: 10_000,
        }),
        ..State::default()
    };
    let failed = Execution::Failed(Cause::TimedOut { limit_ms: 60_000 });
    for (id, node) in [
        ("1", known(Execution::Complete, 10_000, Some(22_000), 1_204)),
        ("2.0", known(Execution::Running, 30_000, None, 3_211)),
        (
            "2.1",
            known(
                asking("Which of both files is it?"),
                30_000,
                Some(41_000),
                12,
            ),
        ),
        ("2.2", known(failed, 30_000, Some(90_000), 99)),
    ] {
        state.spent += node.attempts[0].usage;
        state.nodes.insert(NodeId::from(id), node);
    }
    (plan, state)
}

/// A frame as it is read without colours.
fn shown(plan: &Plan, state: &State, footer: &FrameFooter<'_>, size: FrameSize) -> String {
    let signs = |_: &NodeId| {
        Some(Sign {
            doing: Some("bash cargo test --workspace --no-fail-fast"),
            at: Times {
                wall: 93_000,
                boot: 93_000,
            },
        })
    };
    let run = ShownRun {
        id: "0strymjhrm",
        title: "mend everything that is broken",
        live: LiveRun::of(plan, state, &signs, NOW),
        is_brief: false,
    };
    let lines = frame(&[run], footer, size);
    let texts = lines.iter().map(|line| {
        let text = without_controls(&line.text).into_owned();
        assert_eq!(text.width(), line.width, "{text}");
        text.trim_end().to_owned() + "\n"
    });
    texts.collect()
}

const FOOTER: FrameFooter<'_> = FrameFooter {
    hint: "Enter answers · Esc postpones it",
    answer: Some((0, "the longer")),
    more_runs: 0,
};

fn at(columns: usize) -> String {
    let (plan, state) = chain();
    shown(&plan, &state, &FOOTER, FrameSize { columns, rows: 24 })
}

#[test]
fn a_chain_is_a_flow_a_line_for_each_child_a_card_and_a_question() {
    insta::assert_snapshot!(at(80));
}

#[test]
fn a_wide_terminal_has_room_for_more_words() {
    insta::assert_snapshot!(at(120));
}

#[test]
fn on_forty_columns_numbers_give_way_to_what_is_done() {
    insta::assert_snapshot!(at(40));
}

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

const HOSTILE: [&str; 8] = [
    "worker",
    "日本語の名前",
    "\u{1b}[2J\u{7}evil",
    "a\nb\tc",
    "unbreakablelongwordthatgoesonandonandonwithoutanyblankinitatall",
    "",
    "\u{202e}reversed",
    "two words and a few more",
];

fn any_run(chance: &mut Chance) -> (Plan, State) {
    let n_steps = 1 + chance.below(6);
    let mut nodes = Vec::new();
    let mut state = State {
        submitted: Some(Times::default()),
        ..State::default()
    };
    for step in 1..=n_steps {
        let group = chance.below(2) == 0;
        let members = if group { 1 + chance.below(40) } else { 1 };
        for member in 0..members {
            let id = if group {
                NodeId::step(step).member(member)
            } else {
                NodeId::step(step)
            };
            let group = group.then(|| step.to_string());
            let agent = chance.pick(&HOSTILE);
            nodes.push(node(id.as_str(), &[], group.as_deref(), agent));
            let text = *chance.pick(&HOSTILE);
            let execution = match chance.below(7) {
                0 => asking(text),
                1 | 2 => Execution::Running,
                3 => Execution::Failed(Cause::Input {
                    message: text.to_owned(),
                }),
                4 => Execution::Complete,
                5 => Execution::Lost(text.to_owned()),
                _ => continue,
            };
            let began = u64::try_from(chance.below(99_000)).unwrap();
            let tokens = u64::try_from(chance.below(9_999_999)).unwrap();
            state
                .nodes
                .insert(id, known(execution, began, None, tokens));
        }
    }
    (Plan::of(nodes), state)
}

#[test]
fn no_frame_is_wider_or_higher_than_its_terminal_and_none_commands_it() {
    let mut chance = Chance(7);
    for number in 0..600 {
        let (plan, state) = any_run(&mut chance);
        let (other_plan, other_state) = any_run(&mut chance);
        let size = FrameSize {
            columns: 20 + chance.below(120),
            rows: 3 + chance.below(60),
        };
        let typed = *chance.pick(&HOSTILE);
        let doing = *chance.pick(&HOSTILE);
        let signs = |_: &NodeId| {
            Some(Sign {
                doing: Some(doing),
                at: Times::default(),
            })
        };
        let run = |plan, state| ShownRun {
            id: "0strymjhrm",
            title: doing,
            live: LiveRun::of(plan, state, &signs, NOW),
            is_brief: false,
        };
        let runs = [run(&plan, &state), run(&other_plan, &other_state)];
        let footer = FrameFooter {
            hint: "q closes this view; the runs continue",
            answer: (!typed.contains(is_control)).then_some((0, typed)),
            more_runs: chance.below(2),
        };
        let lines = frame(&runs, &footer, size);
        assert!(lines.len() <= size.rows, "{number}: {size:?} {lines:#?}");
        for line in &lines {
            assert!(line.width <= size.columns, "{number}: {size:?} {line:?}");
            let text = without_controls(&line.text);
            assert_eq!(text.width(), line.width, "{number}: {text:?}");
            // Marks of meaning are taken out; nothing else may have gone with them.
            let marks = line.text.chars().filter(|c| is_control(*c));
            let marks: String = marks.collect();
            let is_mark = |c: char| ('\u{fdd0}'..='\u{fdd5}').contains(&c);
            assert!(marks.chars().all(is_mark), "{number}: {marks:?}");
        }
    }
}

#[test]
fn no_word_is_broken_that_has_room() {
    let wide = at(400);
    let known: Vec<&str> = wide.split_whitespace().collect();
    for columns in 40..130 {
        let narrow = at(columns);
        for word in narrow.split_whitespace() {
            let word = word.trim_end_matches(['…', ',']);
            let is_known = |known: &&str| known.trim_end_matches(',') == word;
            let is_known = word.is_empty() || known.iter().any(is_known);
            assert!(is_known, "{columns}: `{word}` in\n{narrow}");
        }
    }
}

#[test]
fn of_a_thousand_children_those_are_shown_that_work_fail_or_ask() {
    let mut nodes = Vec::new();
    let mut state = State {
        submitted: Some(Times::default()),
        ..State::default()
    };
    for member in 0..1_000 {
        let id = NodeId::step(1).member(member);
        nodes.push(node(id.as_str(), &[], Some("1"), "worker"));
        let execution = match member {
            0..600 => Execution::Complete,
            600..603 => Execution::Failed(Cause::NoAnswer { why: String::new() }),
            603 => asking("May I?"),
            604..664 => Execution::Running,
            _ => continue,
        };
        let node = known(execution, 50_000, Some(60_000), 1_000);
        state.nodes.insert(id, node);
    }
    let plan = Plan::of(nodes);
    let size = FrameSize {
        columns: 80,
        rows: 30,
    };
    let text = shown(&plan, &state, &FrameFooter::default(), size);
    let summary = "1,000 children: 1 asking, 3 failed, 60 running, 600 complete, 336 pending";
    assert!(text.contains(summary), "{text}");
    for line in [
        "? 1.603",
        "✗ 1.600",
        "✗ 1.602",
        "▸ 1.604",
        "▸ 1.620",
        "? 1.603 worker asks: May I?",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert_eq!(text.lines().count(), 30, "{text}");
}

#[test]
fn what_one_run_does_not_need_the_others_have() {
    assert_eq!(shares(&[2, 10, 10], 12), [2, 5, 5]);
    assert_eq!(shares(&[1, 1], 9), [1, 1]);
    assert_eq!(shares(&[5, 5, 5], 2), [1, 1, 0]);
    assert_eq!(shares(&[], 4), Vec::<usize>::new());
}
