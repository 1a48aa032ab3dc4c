use std::collections::BTreeSet;

use grove_engine::view::{
    Accepted, AttemptState, Cause, CheckEnd, CheckResult, Child, Ending, Execution, Finish, Node,
    NodeState, Output, Plan, RunView, Seen, State, Times, Work,
};
use grove_spec::Digest;
use serde_json::json;

use super::*;
use grove_engine::exported_run::ExportedPart;

fn bounded(text: &str) -> ExportedText {
    ExportedText {
        text: text.to_owned(),
        bytes: text.len(),
        cut: true,
    }
}

/// A run in which every word that Grove did not write is this one.
fn run_of(word: &str) -> ExportedRun {
    let node = |id: NodeId, group: Option<NodeId>| {
        let mut child = Child::new(word, Digest::of(b"told"), word);
        child.label = Some(word.to_owned());
        child.engine = word.to_owned();
        Node {
            id,
            after: Vec::new(),
            group,
            reviews: None,
            work: Work::Child(Box::new(child)),
        }
    };
    let item = NodeId::step(2).item(word);
    let plan = Plan::of(vec![
        node(NodeId::step(1), None),
        node(item.clone(), Some(NodeId::step(2))),
    ]);
    let at = Times { wall: 5, boot: 5 };
    let told = |execution: Execution, accepted: Accepted| NodeState {
        execution: execution.clone(),
        accepted,
        seen: Some(Seen {
            results: vec![CheckResult {
                id: word.to_owned(),
                end: CheckEnd::Code(0),
                milliseconds: 1,
                output: Digest::of(b"out"),
                sandbox: word.to_owned(),
                changed: vec![word.to_owned()],
                as_before: vec![word.to_owned()],
            }],
            ..Seen::default()
        }),
        attempts: vec![AttemptState {
            started: Some(at),
            ended: Some(at),
            execution,
            ending: Some(Ending {
                finish: Finish::Answered,
                output: Output {
                    text: Some(Digest::of(b"text")),
                    structured: Some(Digest::of(b"data")),
                    ..Output::default()
                },
                lost: Usage::default(),
            }),
            ..AttemptState::default()
        }],
        ..NodeState::default()
    };
    let mut state = State {
        submitted: Some(at),
        ended: Some(at),
        ..State::default()
    };
    let failed = Execution::Failed(Cause::Input {
        message: word.to_owned(),
    });
    let why = word.to_owned();
    state
        .nodes
        .insert(NodeId::step(1), told(failed, Accepted::Rejected { why }));
    let missing = vec![word.to_owned()];
    state.nodes.insert(
        item.clone(),
        told(Execution::Complete, Accepted::Claimed { missing }),
    );
    let texts = |digest: &Digest| {
        let data = json!({ "key": word }).to_string();
        Some(if *digest == Digest::of(b"data") {
            data
        } else {
            word.to_owned()
        })
    };
    let child = |node: NodeId| ExportedChild {
        node,
        cost: Some(0.5),
        tokens: 7,
        asked: Some("verified"),
        commands: vec![word.to_owned()],
        told: Some(ExportedPrompt {
            digest: Digest::of(b"told"),
            parts: vec![ExportedPart {
                kind: word.to_owned(),
                name: word.to_owned(),
                source: Some(word.to_owned()),
                digest: Some(Digest::of(b"part")),
                text: bounded(word),
            }],
            message: bounded(word),
            message_from: vec![word.to_owned()],
        }),
        done: vec![
            ExportedAction::Said {
                at: 5,
                attempt: 1,
                text: bounded(word),
            },
            ExportedAction::Called {
                at: 5,
                attempt: 1,
                tool: word.to_owned(),
                about: word.to_owned(),
                arguments: bounded(word),
                result: Some(bounded(word)),
                is_error: true,
                milliseconds: Some(9),
            },
        ],
        patch: Some(bounded(word)),
    };
    let step = |id: NodeId, child: NodeId| ExportedStep {
        id,
        is_group: true,
        after: vec![NodeId::from(word)],
        children: vec![child],
    };
    ExportedRun {
        schema: "grove.export/1",
        title: word.to_owned(),
        task: word.to_owned(),
        run: RunView::of(word, &plan, &state, &texts),
        steps: vec![
            step(NodeId::step(1), NodeId::step(1)),
            step(NodeId::from(word), item.clone()),
        ],
        children: vec![child(NodeId::step(1)), child(item)],
        ledger: json!({ "head": word, "nodes": [] }),
        left_out: vec![word.to_owned()],
        last_event_at: 9,
    }
}

/// The tags of a page in their order, with the names of their attributes; what is between them has no markup.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((text, after)) = rest.split_once('<') {
        let is_style = tags.last().is_some_and(|tag| tag == "style");
        assert!(is_style || !text.contains('>'), "{text}");
        let (mut tag, mut value, mut is_quoted, mut end) =
            (String::new(), String::new(), false, None);
        for (at, c) in after.char_indices() {
            match c {
                '"' => is_quoted = !is_quoted,
                '>' if !is_quoted => {
                    end = Some(at);
                    break;
                }
                c if is_quoted => value.push(c),
                c => tag.push(c),
            }
        }
        assert!(!value.contains('<'), "{value}");
        tags.push(tag);
        rest = after.get(end.expect("a tag ends") + 1..).unwrap();
    }
    tags
}

/// Strings that would be markup, close an element, an attribute or a comment, or hide something.
fn hostile() -> Vec<String> {
    let parts = [
        "<",
        ">",
        "\"",
        "'",
        "&",
        "`",
        "/",
        "=",
        "script",
        "</pre>",
        "</style>",
        "<!--",
        "-->",
        "]]>",
        "&lt;",
        "onerror=alert(1)",
        "<img src=x>",
        "javascript:",
        "\u{0}",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{feff}",
        "x",
        "é",
        "</details></body>",
        "<svg/onload=1>",
        "<a href=\"//e\">",
        " ",
        "<script>alert(1)</script>",
    ];
    let mut all: Vec<String> = parts.iter().map(|part| format!("x{part}x")).collect();
    let mut chance: u64 = 11;
    for _ in 0..400 {
        let mut word = "x".to_owned();
        for _ in 0..6 {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = usize::try_from(chance >> 33).unwrap() % parts.len();
            word.push_str(parts[at]);
        }
        all.push(word);
    }
    all
}

#[test]
fn no_word_of_anybody_is_markup() {
    let plain = tags(&page(&run_of("x")));
    for word in hostile() {
        let page = page(&run_of(&word));
        assert_eq!(tags(&page), plain, "{word:?}");
        assert!(
            !page.contains('\u{1b}') && !page.contains('\u{202e}'),
            "{word:?}"
        );
    }
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = page(&run_of("x"));
    let head = page.split_once("<style>").unwrap().0;
    assert!(
        head.contains("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"),
        "{head}"
    );
    let names: BTreeSet<String> = tags(&page)
        .iter()
        .map(|tag| tag.split_whitespace().next().unwrap_or_default().to_owned())
        .collect();
    for name in ["script", "img", "link", "iframe", "object", "form", "base"] {
        assert!(!names.contains(name), "{name}");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    for value in page.split("href=\"").skip(1) {
        assert!(value.starts_with("#child-"), "{value}");
    }
}

#[test]
fn moments_are_read_anywhere() {
    for (milliseconds, expected) in [
        (0, "1970-01-01 00:00 UTC"),
        (951_782_400_000, "2000-02-29 00:00 UTC"),
        (1_767_225_599_000, "2025-12-31 23:59 UTC"),
        (4_107_542_400_000, "2100-03-01 00:00 UTC"),
    ] {
        assert_eq!(utc(milliseconds), expected);
    }
}
