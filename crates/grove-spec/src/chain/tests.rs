use proptest::prelude::*;
use serde_json::json;

use super::*;

fn said(parsed: &ParsedChain) -> Vec<(&'static str, u32)> {
    parsed
        .diagnostics
        .iter()
        .map(|finding| {
            let line = finding.position.map_or(0, |at| at.line);
            (finding.code.as_str(), line)
        })
        .collect()
}

fn one(step: &ChainStep) -> &ChainTask {
    match step {
        ChainStep::One(task) => task,
        other => panic!("not one task: {other:?}"),
    }
}

const FLOW: &str = "---\nname: flow\npackage: My Pkg\ndescription: d\ncolor: red\n---\n\nAn intro.\n\n## scout\noutput: context.md\nas: found\nreads:\nProgress: true\nskills: a, b\n\nLook at {task}\n\n## worker\nreads: a+b\n\nUse {outputs.found}\n";

#[test]
fn a_markdown_chain_with_its_package_settings_and_intro() {
    let parsed = parse(FLOW, ChainFormat::Markdown);
    assert_eq!(parsed.diagnostics, []);
    let chain = &parsed.chain;
    assert_eq!(naming::runtime_name(chain, "x.chain.md"), "my-pkg.flow");
    assert_eq!(chain.extra, [("color".to_owned(), json!("red"))]);
    assert_eq!(chain.intro, "An intro.");
    let [first, second] = chain.steps.as_slice() else {
        panic!("two steps")
    };
    let expected = ChainTask {
        agent: "scout".to_owned(),
        task: Some("Look at {task}".to_owned()),
        output: Some(OutputFile::File("context.md".to_owned())),
        output_name: Some("found".to_owned()),
        reads: Some(Vec::new()),
        progress: Some(true),
        skills: Some(vec!["a".to_owned(), "b".to_owned()]),
        ..ChainTask::default()
    };
    assert_eq!(one(first), &expected);
    assert_eq!(one(second).reads, Some(vec!["a+b".to_owned()]));
    assert_eq!(
        print::markdown(chain).map(|text| parse(&text, ChainFormat::Markdown).chain),
        Ok(chain.clone())
    );
}

#[test]
fn a_step_without_a_blank_line_keeps_its_text_and_is_said() {
    let head = "---\nname: x\ndescription: d\n---\n";
    for (body, task, findings) in [
        (
            "## a\nDo this\nand that\n",
            "Do this\nand that",
            vec![("chain-step-text", 6)],
        ),
        (
            "## a\nmodel: m\nDo this\n\nand that\n",
            "Do this\n\nand that",
            vec![("chain-step-text", 7)],
        ),
        (
            "## a\nNote: this is text\n",
            "Note: this is text",
            vec![("chain-step-text", 6)],
        ),
        (
            "## a\nnote: kept\n\nDo this\n",
            "Do this",
            vec![("chain-unknown-key", 6)],
        ),
        (
            "## a\nagent: b\ntask: c\nmodel: m\nmodel: n\n\nDo this\n",
            "Do this",
            vec![("chain-step", 6), ("chain-step", 7), ("duplicate-key", 9)],
        ),
        ("## a\n\nDo this\n", "Do this", vec![]),
        (
            "## a\r\nmodel: m\r\n\r\nDo this\r\nnow\r\n",
            "Do this\nnow",
            vec![],
        ),
        ("## a\nmodel: m\n", "", vec![]),
    ] {
        let parsed = parse(&format!("{head}{body}"), ChainFormat::Markdown);
        let task = Some(task.to_owned()).filter(|task| !task.is_empty());
        assert_eq!(one(&parsed.chain.steps[0]).task, task, "{body}");
        assert_eq!(one(&parsed.chain.steps[0]).agent, "a", "{body}");
        assert_eq!(said(&parsed), findings, "{body}");
    }
}

#[test]
fn headings_in_code_are_text_unless_the_code_never_ends() {
    let head = "---\nname: x\ndescription: d\n---\n";
    let agents = |body: &str| -> Vec<String> {
        let parsed = parse(&format!("{head}{body}"), ChainFormat::Markdown);
        let steps = parsed.chain.steps.iter();
        steps.map(|step| one(step).agent.clone()).collect()
    };
    assert_eq!(
        agents("## a\n\n```\n## no\n```\n\n### no\n## b\n"),
        ["a", "b"]
    );
    assert_eq!(agents("## a\n\n~~~md\n## no\n```\n~~~\n"), ["a"]);
    assert_eq!(agents("## a\n\n```\n## b\n"), ["a", "b"]);
    assert_eq!(agents("##a\n"), [""; 0]);
}

#[test]
fn what_is_wrong_with_a_markdown_chain_is_said_with_its_line() {
    for (text, expected) in [
        ("---\nname: x\n---\n## a\n", vec![("chain-incomplete", 1)]),
        (
            "---\ndescription: d\n---\n## a\n",
            vec![("chain-incomplete", 1)],
        ),
        ("no frontmatter", vec![("frontmatter-missing", 1)]),
        (
            "---\nname: x\ndescription: d\n---\n",
            vec![("chain-incomplete", 4)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## a\noutputSchema: {\"type\": \"object\"}\n\nt\n",
            vec![("chain-schema-inline", 6)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## a\nas: o\n\nt\n## b\nas: o\n\nt\n",
            vec![("chain-output-name", 10)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## a\nas: 1x\n\nt\n",
            vec![("chain-output-name", 6)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## a\nas: o\n\nt\n{outputs.o}\n## b\n\nt {outputs.nope} {outputs.o}\n",
            vec![("chain-reference", 9), ("chain-reference", 12)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## a\noutputMode: loud\nprogress: perhaps\n\nt\n",
            vec![("chain-step", 6), ("chain-step", 7)],
        ),
        (
            "---\nname: x\ndescription: d\n---\n## \n\nt\n",
            vec![("chain-step", 5)],
        ),
        (
            "---\nname: \"x\\ny\"\ndescription: d\n---\n## a\n",
            vec![("agent-name", 2)],
        ),
    ] {
        assert_eq!(
            said(&parse(text, ChainFormat::Markdown)),
            expected,
            "{text}"
        );
    }
    assert_eq!(
        parse_bytes(b"---\n\xff", ChainFormat::Markdown).diagnostics[0].code,
        Code::NotUtf8
    );
}

#[test]
fn steps_in_the_frontmatter_of_a_markdown_chain_are_an_error_where_they_stand() {
    for key in ["chain", "steps"] {
        let text =
            format!("---\nname: x\ndescription: d\n{key}: [a]\nother: y\n---\n\n## a\n\nDo.\n");
        let parsed = parse(&text, ChainFormat::Markdown);
        assert_eq!(errors(&text, ChainFormat::Markdown), [("chain-step", 4, 1)]);
        assert_eq!(parsed.chain.extra, [("other".to_owned(), "y".into())]);
    }
}

fn chain_json(steps: &serde_json::Value) -> String {
    json!({"name": "x", "description": "d", "chain": steps}).to_string()
}

fn codes(steps: &serde_json::Value) -> Vec<&'static str> {
    let parsed = parse(&chain_json(steps), ChainFormat::Json);
    said(&parsed).into_iter().map(|(code, _)| code).collect()
}

/// Code, line and column of every error.
fn errors(text: &str, format: ChainFormat) -> Vec<(&'static str, u32, u32)> {
    let parsed = parse(text, format);
    let errors = parsed.diagnostics.iter().filter(|it| it.is_error());
    errors
        .map(|finding| {
            let at = finding.position.unwrap();
            (finding.code.as_str(), at.line, at.column)
        })
        .collect()
}

#[test]
fn a_key_that_stands_twice_is_an_error_in_both_formats() {
    let head = "---\nname: x\ndescription: d\n---\n";
    for (body, at) in [
        ("## a\nmodel: m\n  Model: n\n\nt\n", (7, 3)),
        ("## a\nmine: m\nmine: n\n\nt\n", (7, 1)),
        ("## a\nskill: m\nskills: n\n\nt\n", (7, 1)),
    ] {
        let found = errors(&format!("{head}{body}"), ChainFormat::Markdown);
        assert_eq!(found, [("duplicate-key", at.0, at.1)], "{body}");
    }
    for (steps, at) in [
        (
            "{\"agent\": \"a\",\n \"model\": \"m\", \"model\": \"n\"}",
            (3, 16),
        ),
        ("{\"agent\": \"a\", \"mine\": 1,\n\"mine\": 1}", (3, 1)),
        (
            "{\"agent\": \"a\", \"skill\": \"m\",\n\"skills\": \"n\"}",
            (3, 1),
        ),
        (
            "{\"parallel\": [{\"agent\": \"a\",\n\"task\": \"t\",\n\"task\": \"t\"}]}",
            (4, 1),
        ),
        (
            "{\"agent\": \"a\", \"outputSchema\": {\"type\": 1,\n  \"type\": 2}}",
            (3, 3),
        ),
    ] {
        let text = format!("{{\"name\": \"x\", \"description\": \"d\", \"chain\":\n[{steps}]}}");
        let found = errors(&text, ChainFormat::Json);
        assert_eq!(found, [("duplicate-key", at.0, at.1)], "{text}");
    }
}

#[test]
fn an_output_name_that_stands_twice_is_said_where_it_stands() {
    let markdown =
        "---\nname: x\ndescription: d\n---\n## a\nas: o\n\nt\n## b\nmodel: m\n  As: o\n\nt\n";
    assert_eq!(
        errors(markdown, ChainFormat::Markdown),
        [("chain-output-name", 11, 3)]
    );
    let head = "{\"name\": \"x\", \"description\": \"d\", \"chain\": [\n{\"agent\": \"a\",\n\"as\": \"o\"},\n";
    for (steps, at) in [
        ("{\"agent\": \"b\",\n    \"as\": \"o\"}", (5, 5)),
        (
            "{\"parallel\": [{\"agent\": \"b\"}, {\"agent\": \"b\",\n \"as\": \"o\"}]}",
            (5, 2),
        ),
        (
            "{\"expand\": {\"from\": {\"output\": \"o\", \"path\": \"\"}},\n\"parallel\": {\"agent\": \"b\"},\n\"collect\": {\n\t\"as\": \"o\"}}",
            (7, 2),
        ),
    ] {
        let text = format!("{head}{steps}]}}");
        let parsed = parse(&text, ChainFormat::Json);
        assert_eq!(
            errors(&text, ChainFormat::Json),
            [("chain-output-name", at.0, at.1)],
            "{text}"
        );
        let said = &parsed.diagnostics[0].message;
        assert_eq!(said, "the output of line 3 is called `o` too");
    }
}

#[test]
fn groups_and_fan_outs_of_a_json_chain() {
    let steps = json!([
        {"agent": "scout", "task": "find", "as": "found", "outputSchema": {"type": "object"}},
        {
            "parallel": [
                {"agent": "a", "task": "{outputs.found}", "count": 2, "reads": false, "skill": ["s"]},
                {"agent": "b", "output": "b.md", "outputMode": "file-only", "cwd": "sub", "acceptance": "checked"}
            ],
            "concurrency": 2, "failFast": true, "worktree": true, "phase": "p", "label": "l"
        },
        {
            "expand": {"from": {"output": "found", "path": "/items"}, "item": "file", "key": "/path", "maxItems": 3, "onEmpty": "fail"},
            "parallel": {
                "agent": "c", "task": "Review {file.path} {task} {not a name} {1}",
                "acceptance": {"level": "verified", "verify": [{"id": "t", "command": "make"}]}
            },
            "collect": {"as": "reviews", "outputSchema": "schema.json"}
        },
        {"agent": "d", "task": "{outputs.reviews}"}
    ]);
    let parsed = parse(&chain_json(&steps), ChainFormat::Json);
    assert_eq!(parsed.diagnostics, []);
    let ChainStep::FanOut(fan_out) = &parsed.chain.steps[2] else {
        panic!("a fan-out")
    };
    assert_eq!(fan_out.expand.output, "found");
    assert_eq!(fan_out.expand.max_items, Some(3));
    assert_eq!(fan_out.collect.output_name, "reviews");
    let ChainStep::Parallel(group) = &parsed.chain.steps[1] else {
        panic!("a group")
    };
    assert_eq!(group.tasks[0].reads, Some(Vec::new()));
    assert_eq!(group.settings.worktree, Some(true));
    let printed = print::json(&parsed.chain);
    assert_eq!(parse(&printed, ChainFormat::Json).chain, parsed.chain);
    assert_eq!(print::markdown(&parsed.chain), Err(print::NotInMarkdown));
}

#[test]
fn steps_that_cannot_be_run_as_written_are_refused() {
    let source = json!({"agent": "s", "as": "o"});
    let fan = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut step = json!({
            "expand": {"from": {"output": "o", "path": ""}, "maxItems": 3},
            "parallel": {"agent": "a", "task": "{item}"},
            "collect": {"as": "all"}
        });
        change(&mut step);
        json!([source, step])
    };
    assert_eq!(codes(&fan(&|_| {})), [""; 0]);
    let faulty: [(&str, serde_json::Value); 12] = [
        (
            "chain-step",
            fan(&|step| step["parallel"] = json!([{"agent": "a"}])),
        ),
        ("chain-step", fan(&|step| step["collect"] = json!("out"))),
        (
            "chain-step",
            fan(&|step| step["parallel"]["as"] = json!("x")),
        ),
        (
            "chain-step",
            fan(&|step| step["parallel"]["count"] = json!(2)),
        ),
        ("chain-step", fan(&|step| step["worktree"] = json!(true))),
        (
            "chain-step",
            fan(&|step| step["expand"]["from"]["path"] = json!("x")),
        ),
        (
            "chain-step",
            fan(&|step| step["expand"]["key"] = json!("x")),
        ),
        (
            "chain-limit",
            fan(&|step| step["expand"]["maxItems"] = json!(1_000_000)),
        ),
        (
            "chain-reference",
            fan(&|step| step["parallel"]["task"] = json!("{foo}")),
        ),
        (
            "chain-reference",
            fan(&|step| step["expand"]["from"]["output"] = json!("later")),
        ),
        (
            "chain-output-name",
            fan(&|step| step["collect"]["as"] = json!("o")),
        ),
        ("chain-unknown-key", fan(&|step| step["when"] = json!("x"))),
    ];
    for (code, steps) in faulty {
        assert_eq!(codes(&steps), [code], "{steps}");
    }
    for (steps, expected) in [
        (json!([{"task": "t"}]), vec!["chain-step"]),
        (json!([{"agent": "a", "task": 5}]), vec!["chain-step"]),
        (
            json!([{"agent": "a", "acceptance": "sometimes"}]),
            vec!["chain-step"],
        ),
        (
            json!([{"parallel": [{"agent": "a", "task": "t"}], "acceptance": "checked"}]),
            vec!["chain-step"],
        ),
        (
            json!([{"agent": "a", "output": false, "outputMode": "file-only"}]),
            vec!["chain-step"],
        ),
        (json!([{"agent": "a\nb"}]), vec!["agent-name"]),
        (json!([{"parallel": []}]), vec!["chain-step"]),
        (
            json!([{"parallel": [{"agent": "a", "count": 60}, {"agent": "b", "count": 60}]}]),
            vec!["chain-limit"],
        ),
        (
            json!([{"expand": {}, "parallel": {"agent": "a"}}]),
            vec!["chain-step"],
        ),
        (json!(["a"]), vec!["chain-step"]),
        (json!([]), vec!["chain-incomplete"]),
        (json!({}), vec!["chain-incomplete"]),
        (
            json!([{"parallel": [{"agent": "a", "as": "o"}, {"agent": "b", "task": "{outputs.o}"}]}]),
            vec!["chain-reference"],
        ),
    ] {
        assert_eq!(codes(&steps), expected, "{steps}");
    }
    let many: Vec<serde_json::Value> = vec![json!({"agent": "a"}); MAX_STEPS + 1];
    assert_eq!(codes(&json!(many)), ["chain-limit"]);
    assert_eq!(codes(&json!(many[..MAX_STEPS])), [""; 0]);
}

#[test]
fn a_json_chain_that_cannot_be_read_is_said_with_its_line() {
    for (text, expected) in [
        ("{\n\"name\": \"x\",\n", vec![("json-syntax", 3)]),
        ("[]", vec![("chain-incomplete", 1)]),
        (
            "{\"name\": \"x\", \"chain\": [{\"agent\": \"a\"}]}",
            vec![("chain-incomplete", 1)],
        ),
        (
            "{\"name\": \"x\", \"description\": \"d\",\n\"name\": \"y\",\n\"steps\": [{\"agent\": \"a\"}]}",
            vec![("duplicate-key", 2)],
        ),
        (
            "{\"name\": \"x\", \"description\": \"d\", \"chain\": [\n{\"agent\": \"a\"},\n{\"agent\": \"b\",\n\"task\": \"{outputs.a}\"}]}",
            vec![("chain-reference", 4)],
        ),
        (
            "{\"name\": \"x\", \"description\": \"d\", \"chain\": [{\"agent\": \"b\",\n\"task\": \"a\\n\\n{outputs.a}\",\n\"label\": \"{outputs.b}\"}]}",
            vec![("chain-reference", 2), ("chain-reference", 3)],
        ),
    ] {
        assert_eq!(said(&parse(text, ChainFormat::Json)), expected, "{text}");
    }
    let deep = format!("{{\"name\":{}1", "[".repeat(100_000));
    assert_eq!(said(&parse(&deep, ChainFormat::Json)), [("json-syntax", 1)]);
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "b c", "x.md", "#", "## a", "```", "a, b", "(a", "false", "null", "a: b", "é", "\n",
        "\n\n", "{task}", "- a", "'", "\"", "~", "model: m", " a ",
    ])
    .prop_flat_map(|first| {
        prop::sample::select(vec!["", "y", "\nz", ": "])
            .prop_map(move |last| format!("{first}{last}"))
    })
}

fn task() -> impl Strategy<Value = serde_json::Value> {
    (
        text(),
        prop::collection::vec(
            (
                prop::sample::select(vec![
                    "task",
                    "phase",
                    "label",
                    "cwd",
                    "output",
                    "model",
                    "outputSchema",
                    "other",
                    "acceptance",
                ]),
                text(),
            ),
            0..5,
        ),
        prop::option::of(prop::collection::vec(text(), 0..3)),
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(agent, fields, reads, progress)| {
            let mut task = json!({"agent": agent});
            for (key, value) in fields {
                task[key] = json!(value);
            }
            if let Some(reads) = reads {
                task["reads"] = json!(reads);
            }
            if let Some(progress) = progress {
                task["progress"] = json!(progress);
            }
            task
        })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(steps in prop::collection::vec(task(), 0..4), description in text()) {
        let file = json!({"name": "x", "description": description, "color": description, "chain": steps});
        let parsed = parse(&file.to_string(), ChainFormat::Json);
        let printed = print::json(&parsed.chain);
        prop_assert_eq!(&parse(&printed, ChainFormat::Json).chain, &parsed.chain);
        if let Ok(printed) = print::markdown(&parsed.chain) {
            prop_assert_eq!(&parse(&printed, ChainFormat::Markdown).chain, &parsed.chain);
        }
    }

    #[test]
    fn plain_chains_can_be_printed_in_both_formats(
        agents in prop::collection::vec("[a-z][a-z.-]{0,8}", 0..4),
        task in "[A-Za-z ]{0,20}",
        reads in prop::option::of(prop::collection::vec("[a-z/]{1,5}", 0..3)),
    ) {
        let steps = agents.iter().map(|agent| {
            ChainStep::One(Box::new(ChainTask {
                agent: agent.clone(),
                task: Some(task.trim().to_owned()).filter(|task| !task.is_empty()),
                reads: reads.clone(),
                ..ChainTask::default()
            }))
        });
        let chain = ChainFile {
            name: Some("x".to_owned()),
            description: Some("d".to_owned()),
            steps: steps.collect(),
            ..ChainFile::default()
        };
        let markdown = print::markdown(&chain);
        prop_assert!(markdown.is_ok(), "{:?}", chain);
        prop_assert_eq!(parse(&print::json(&chain), ChainFormat::Json).chain, chain);
    }

    #[test]
    fn any_text_is_a_chain_file(text in "(---\n|## |name: x\n|description: d\n|\n|```\n|as: a\n|\\{outputs\\.a\\}|[a-z ]{0,5}){0,20}") {
        for format in ChainFormat::ALL {
            let _ = parse(&text, format);
        }
    }
}
