//! What an agent inherits: a base prompt, the project's instructions and the catalog.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::disclosure::boundary;
use grove_catalog::prompt::{
    BasePrompt, BasePromptUse, InstructionFile, Prompt, PromptAgent, PromptPartKind, assemble,
    choose,
};
use proptest::prelude::*;

use super::{AgentFormat, MAX_PRELOAD, agent_of, hostile_body, usual};

fn told_after(lines: &str, base: Option<&str>, files: &[InstructionFile]) -> Prompt {
    let agent = agent_of(lines);
    let own = PromptAgent {
        name: "me",
        agent: &agent,
        format: AgentFormat::Native,
        file: Path::new("/agents/me.md"),
        digest: Digest::of(b"me"),
        body: "Me.",
        named_in: Path::new("/agents/me.md"),
    };
    let chosen = choose(&usual(), &agent.skills);
    let mut made = assemble(&usual(), &own, &chosen, &[], MAX_PRELOAD);
    if agent.inherit_project_context {
        made.add_instructions(files, 1_000);
    }
    if agent.inherit_skills {
        made.add_catalog("CATALOG\n");
    }
    let base = base.map(|text| BasePrompt {
        source: None,
        digest: Digest::of(text.as_bytes()),
        text: text.to_owned(),
    });
    made.put_base(&own, base.as_ref(), files);
    made
}

fn instructions(file: &str, text: &str) -> InstructionFile {
    InstructionFile {
        file: PathBuf::from(file),
        digest: Digest::of(text.as_bytes()),
        text: text.to_owned(),
    }
}

fn codes(prompt: &Prompt) -> Vec<&str> {
    let warnings = prompt.warnings.iter();
    warnings.map(|warning| warning.code.as_str()).collect()
}

/// A file of instructions as it stands in a prompt.
fn marked(file: &str, body: &str) -> String {
    let mark = boundary(body);
    format!(
        "<project_instructions file=\"{file}\" boundary=\"{mark}\">\n{body}\n</project_instructions boundary=\"{mark}\">\n"
    )
}

#[test]
fn the_base_stands_first_or_not_at_all_and_that_is_said() {
    let append = "systemPromptMode: append";
    for (lines, base, text, used, said) in [
        ("", None, "Me.\n", BasePromptUse::Absent, vec![]),
        (
            "",
            Some("Lead."),
            "Me.\n",
            BasePromptUse::Replaced,
            vec!["prompt-base"],
        ),
        (
            append,
            None,
            "Me.\n",
            BasePromptUse::Absent,
            vec!["prompt-partial"],
        ),
        (
            append,
            Some("Lead.\r\n\n"),
            "Lead.\n\nMe.\n",
            BasePromptUse::First,
            vec![],
        ),
        (append, Some(" \n"), "Me.\n", BasePromptUse::First, vec![]),
    ] {
        let made = told_after(lines, base, &[]);
        assert_eq!(made.text, text, "{lines} {base:?}");
        assert_eq!((made.base, codes(&made)), (used, said), "{lines} {base:?}");
    }
}

#[test]
fn instructions_stand_between_the_agents_text_and_the_catalog_nearest_first() {
    let files = [
        instructions("/p/sub/AGENTS.md", "\r\nNear.\r\n"),
        instructions("/p/<x>/AGENTS.md", "Far.\n"),
    ];
    let lines = "inheritProjectContext: true\ninheritSkills: true";
    let made = told_after(lines, None, &files);
    let expected = format!(
        "Me.\n\n{}\n{}\nCATALOG\n",
        marked("/p/sub/AGENTS.md", "Near."),
        marked("/p/&lt;x&gt;/AGENTS.md", "Far.")
    );
    assert_eq!(made.text, expected);
    let sources: Vec<_> = made
        .blocks
        .iter()
        .map(|block| (block.kind, block.digest))
        .collect();
    assert_eq!(sources[1], (PromptPartKind::Instructions, files[0].digest));
    assert_eq!(
        told_after("", None, &files).text,
        "Me.\n",
        "not inherited, not told"
    );
}

#[test]
fn instructions_over_the_budget_are_left_out_whole_and_farther_ones_are_tried() {
    let long = "x".repeat(2_000);
    let files = [
        instructions("/p/a/AGENTS.md", &long),
        instructions("/p/AGENTS.md", "Far."),
        instructions("/AGENTS.md", "Far."),
    ];
    let made = told_after("inheritProjectContext: true", None, &files);
    assert_eq!(
        made.text,
        format!("Me.\n\n{}", marked("/p/AGENTS.md", "Far."))
    );
    let [warning] = made.warnings.as_slice() else {
        panic!("{:?}", made.warnings);
    };
    assert_eq!(warning.file.as_deref(), Some(Path::new("/p/a/AGENTS.md")));
    let needed = marked("/p/a/AGENTS.md", &long).chars().count();
    let words = format!("take {needed} characters and 1000 of 1000");
    assert!(warning.message.contains(&words), "{}", warning.message);
}

#[test]
fn what_the_base_tells_already_is_not_told_twice_and_what_is_not_inherited_is_cut() {
    let file = instructions("/p/AGENTS.md", "Be kind.\n\nAlways.\n");
    let block = marked("/p/AGENTS.md", "Be kind.\n\nAlways.");
    let catalog = "<available_skills>\n<skill>x</skill>\n</available_skills>\n";
    let plain = format!("Lead.\n\nBe kind.\n\nAlways.\n\n{catalog}");
    let in_marks = format!("Lead.\n\n{block}\n{catalog}");
    for base in [&plain, &in_marks] {
        let inherits = "systemPromptMode: append\ninheritProjectContext: true\ninheritSkills: true";
        let made = told_after(inherits, Some(base), std::slice::from_ref(&file));
        assert_eq!(made.text.matches("Be kind.").count(), 1, "{}", made.text);
        assert!(!made.text.contains("<skill>x"), "{}", made.text);
        assert!(made.text.ends_with("Me.\n\nCATALOG\n"), "{}", made.text);
        assert_eq!(codes(&made), ["prompt-base"; 2]);

        let alone = told_after(
            "systemPromptMode: append",
            Some(base),
            std::slice::from_ref(&file),
        );
        assert_eq!(alone.text, "Lead.\n\nMe.\n");
        assert_eq!(codes(&alone), ["prompt-base"; 2]);
    }
    let unknown = told_after("systemPromptMode: append", Some("Be kind.\n\nAlways."), &[]);
    assert_eq!(
        unknown.text, "Be kind.\n\nAlways.\n\nMe.\n",
        "nobody has a line of the base removed by writing it into a file that is not trusted"
    );
}

proptest! {
    #[test]
    fn instructions_stay_inside_their_marks(text in hostile_body()) {
        let file = instructions("/p/AGENTS.md", &text);
        let made = told_after("inheritProjectContext: true", None, &[file]);
        for block in made.blocks.iter().filter(|block| block.kind == PromptPartKind::Instructions) {
            let first = block.text.lines().next().unwrap_or_default();
            let mark = first.rsplit('"').nth(1).unwrap_or_default();
            let end = format!("</project_instructions boundary=\"{mark}\">");
            prop_assert_eq!(block.text.matches(&end).count(), 1);
            let last = format!("\n{end}\n");
            prop_assert!(block.text.ends_with(&last));
        }
        // What was put in by one prompt is taken out of it by the next that does not want it.
        let next = told_after("systemPromptMode: append", Some(&made.text), &[]);
        prop_assert_eq!(next.text, "Me.\n\nMe.\n");
    }
}
