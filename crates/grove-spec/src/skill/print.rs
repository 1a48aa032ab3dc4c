//! Skill files written anew: the standard's keys first, values without quotes where that is safe.
//!
//! Law: a printed file is read back as a skill that prints the same text.

use std::fmt::Write as _;

use super::SkillFile;
use crate::yaml::{Scalar, YamlEntry, YamlNode, YamlValue, scan};

/// A skill file with this frontmatter and body.
pub fn print(skill: &SkillFile, body: &str) -> String {
    let mut out = String::from("---\n");
    let details = skill.details();
    text(&mut out, "name", skill.name.as_deref());
    text(&mut out, "description", skill.description.as_deref());
    text(&mut out, "license", details.license.as_deref());
    text(&mut out, "compatibility", details.compatibility.as_deref());
    list(&mut out, "allowed-tools", &details.allowed_tools);
    if !skill.model_invocable {
        out.push_str("disable-model-invocation: true\n");
    }
    if !skill.user_invocable {
        out.push_str("user-invocable: false\n");
    }
    text(&mut out, "argument-hint", details.argument_hint.as_deref());
    list(&mut out, "arguments", &details.arguments);
    text(&mut out, "when_to_use", details.when_to_use.as_deref());
    list(&mut out, "paths", &details.paths);
    text(&mut out, "model", details.model.as_deref());
    text(&mut out, "context", details.context.as_deref());
    text(&mut out, "agent", details.agent.as_deref());
    text(&mut out, "homepage", details.homepage.as_deref());
    text(&mut out, "emoji", details.emoji.as_deref());
    text(
        &mut out,
        "command-dispatch",
        details.command_dispatch.as_deref(),
    );
    text(&mut out, "command-tool", details.command_tool.as_deref());
    text(
        &mut out,
        "command-arg-mode",
        details.command_arg_mode.as_deref(),
    );
    if !skill.metadata.is_empty() {
        out.push_str("metadata:\n");
        map(&mut out, &skill.metadata, 1);
    }
    map(&mut out, &skill.unknown, 0);
    out.push_str("---\n");
    out.push_str(body);
    out
}

fn text(out: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        let scalar = Scalar {
            text: value.to_owned(),
            plain: false,
        };
        let _ = writeln!(out, "{key}: {}", scalar_text(&scalar));
    }
}

fn list(out: &mut String, key: &str, values: &[String]) {
    if !values.is_empty() {
        let _ = writeln!(out, "{key}:");
        for value in values {
            let _ = writeln!(
                out,
                "  - {}",
                scalar_text(&Scalar {
                    text: value.clone(),
                    plain: false
                })
            );
        }
    }
}

pub(crate) fn map(out: &mut String, entries: &[YamlEntry], level: usize) {
    for entry in entries {
        let key = scalar_text(&Scalar {
            text: entry.key.to_string(),
            plain: false,
        });
        let indent = "  ".repeat(level);
        // YAML looks for the colon of a plain key no further than this.
        if key.len() > 1000 {
            let _ = write!(out, "{indent}? {key}\n{indent}:");
        } else {
            let _ = write!(out, "{indent}{key}:");
        }
        value(out, &entry.value, level);
    }
}

/// Writes a value after `key:` or `-`, with the line end.
fn value(out: &mut String, node: &YamlNode, level: usize) {
    match &node.value {
        YamlValue::Text(scalar) if scalar.plain && scalar.text.is_empty() => out.push('\n'),
        YamlValue::Text(scalar) => {
            let _ = writeln!(out, " {}", scalar_text(scalar));
        }
        YamlValue::List(items) if items.is_empty() => out.push_str(" []\n"),
        YamlValue::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        YamlValue::List(items) => {
            out.push('\n');
            for item in items {
                let _ = write!(out, "{}-", "  ".repeat(level + 1));
                value(out, item, level + 1);
            }
        }
        YamlValue::Map(entries) => {
            out.push('\n');
            map(out, entries, level + 1);
        }
    }
}

/// A scalar in plain style if it reads back as itself, otherwise in double quotes.
pub(crate) fn scalar_text(scalar: &Scalar) -> String {
    let as_is = scan::scan(&format!("k: {}\n", scalar.text), 1);
    let reads_back = as_is.as_deref().is_some_and(|entries| {
        matches!(entries, [YamlEntry { value: YamlNode { value: YamlValue::Text(read), .. }, .. }]
            if read.plain && read.text == scalar.text && read.is_null() == scalar.is_null())
    });
    if reads_back && (scalar.plain || !scalar.is_null()) {
        scalar.text.clone()
    } else {
        double_quoted(&scalar.text)
    }
}

pub(crate) fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if u32::from(c) < 0x20
                || matches!(
                    c,
                    '\u{7f}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
                ) =>
            {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diagnostic::Position;
    use crate::skill::{SkillDetails, parse};

    fn words() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "name",
            "use when: ",
            ": ",
            "#",
            " # ",
            "'",
            "\"",
            "\\",
            "[",
            "{",
            "@",
            "*x",
            "&y",
            "!z",
            "%",
            "`",
            "- ",
            "null",
            "~",
            "true",
            "1.0",
            "é",
            "日本",
            "\n",
            "\t",
            " ",
            "|",
            ">",
            "---",
            "<b>",
            "👩\u{200d}🔬",
            "?",
            ",",
        ]);
        prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
    }

    fn node() -> impl Strategy<Value = YamlNode> {
        let at = Position::new(1, 1);
        let leaf = words().prop_map(move |text| YamlNode::text(text, at));
        leaf.prop_recursive(3, 12, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(move |items| YamlNode::new(YamlValue::List(items), at)),
                prop::collection::vec(("[a-z]{1,6}", inner), 0..4).prop_map(move |pairs| {
                    let mut entries: Vec<YamlEntry> = Vec::new();
                    for (key, value) in pairs {
                        if entries.iter().all(|entry| entry.key != key) {
                            entries.push(YamlEntry {
                                key: key.into(),
                                position: at,
                                value,
                            });
                        }
                    }
                    YamlNode::new(YamlValue::Map(entries), at)
                }),
            ]
        })
    }

    #[test]
    fn a_key_too_long_for_a_line_is_written_apart() {
        let at = Position::new(1, 1);
        let entry = YamlEntry {
            key: "k: ".repeat(600).into(),
            position: at,
            value: YamlNode::text("v", at),
        };
        let skill = SkillFile {
            metadata: vec![entry],
            ..SkillFile::default()
        };
        let printed = print(&skill, "");
        assert_eq!(print(&parse(&printed).skill, ""), printed);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_printed_prints_the_same_again(
            name in words(), description in words(), license in prop::option::of(words()), tools in prop::collection::vec(words(), 0..3),
            extra in node(), model in any::<bool>(), body in words(),
        ) {
            let skill = SkillFile {
                name: Some(name),
                description: Some(description),
                model_invocable: model,
                details: Some(Box::new(SkillDetails { license, allowed_tools: tools, ..SkillDetails::default() })),
                metadata: vec![YamlEntry { key: "x".into(), position: Position::new(1, 1), value: extra }],
                ..SkillFile::default()
            };
            let once = parse(&print(&skill, &body));
            prop_assert!(once.is_valid(), "{:?}\n{}", once.diagnostics, print(&skill, &body));
            let printed = print(&once.skill, &body);
            let again = parse(&printed);
            prop_assert_eq!(print(&again.skill, &body), printed.clone());
            prop_assert_eq!(&printed[again.body_offset..], body);
        }
    }
}
