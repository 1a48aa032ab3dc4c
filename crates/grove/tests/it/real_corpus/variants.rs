//! Real skill files written differently: in the ways that break YAML, and in those that do not.

use super::frontmatter::{RealSkill, one_line, quoted};

/// A way to write a skill file.
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    /// The file's text and the description that a person reads in it; none when the way does not
    /// apply to this skill.
    pub(crate) write: fn(&RealSkill) -> Option<(String, String)>,
}

const fn variant(name: &'static str, write: fn(&RealSkill) -> Option<(String, String)>) -> Variant {
    Variant { name, write }
}

/// The mistakes that people make, none of which is YAML.
pub(crate) const BROKEN: &[Variant] = &[
    variant("colon", |skill| plain(skill, "Use when: ")),
    variant("bracket", |skill| plain(skill, "[beta] ")),
    variant("brace", |skill| plain(skill, "{beta} ")),
    variant("two-braces", |skill| plain(skill, "{{ product }} ")),
    variant("at", |skill| plain(skill, "@team ")),
    variant("star", |skill| plain(skill, "*Important* ")),
    variant("two-stars", |skill| plain(skill, "**Important** ")),
    variant("ampersand", |skill| plain(skill, "& ")),
    variant("exclamation", |skill| plain(skill, "!important: ")),
    variant("percent", |skill| plain(skill, "%appdata% ")),
    variant("backtick", |skill| plain(skill, "`grep` ")),
    variant("double-quote-open", |skill| {
        // With a quote at the end too, nobody could tell which of the two is astray.
        plain(skill, "\"Quick ").filter(|_| !skill.description.ends_with('"'))
    }),
    variant("single-quote-open", |skill| plain(skill, "'Quick ")),
    variant("quoted-word-first", |skill| plain(skill, "\"Quick\" ")),
    variant("escape", |skill| {
        let text = format!(r"Matches \d+\. in C:\Users: {}", without_quotes(skill));
        Some((
            skill.with_description(&format!("description: \"{text}\"")),
            text,
        ))
    }),
    variant("inner-quote", |skill| {
        let text = format!("The \"quick\" way: {}", without_quotes(skill));
        Some((
            skill.with_description(&format!("description: \"{text}\"")),
            text,
        ))
    }),
    variant("metadata-colon", |skill| {
        let text = skill.with_metadata("metadata:\n  note: see: the manual\n  short: yes\n");
        Some((text, skill.description.clone()))
    }),
    variant("metadata-tab", |skill| {
        let text = skill.with_metadata("metadata:\n\tauthor: me\n\tversion: 2\n");
        Some((text, skill.description.clone()))
    }),
    variant("tab-after-colon", |skill| {
        let is_plain = skill
            .description
            .starts_with(|c: char| c.is_ascii_alphabetic());
        let lines = format!("description:\t{}", skill.description);
        described(skill, &lines).filter(|_| is_plain)
    }),
    variant("colon-on-second-line", |skill| {
        let (first, second) = skill.description.split_once(' ')?;
        let lines = format!("description: {first}\n  Note: {second}");
        Some((
            skill.with_description(&lines),
            format!("{first} Note: {second}"),
        ))
    }),
];

/// Ways to write the same that every YAML parser reads.
pub(crate) const VALID: &[Variant] = &[
    variant("unchanged", |skill| whole(skill, skill.text.clone())),
    variant("double-quoted", |skill| {
        described(
            skill,
            &format!("description: {}", quoted(&skill.description)),
        )
    }),
    variant("single-quoted", |skill| {
        let text = skill.description.replace('\'', "''");
        described(skill, &format!("description: '{text}'"))
    }),
    variant("folded", |skill| described(skill, &block(skill, ">-"))),
    variant("folded-clip", |skill| described(skill, &block(skill, ">"))),
    variant("literal", |skill| described(skill, &block(skill, "|-"))),
    variant("literal-keep", |skill| {
        described(skill, &block(skill, "|+"))
    }),
    variant("tab-before-quoted", |skill| {
        described(
            skill,
            &format!("description:\t{}", quoted(&skill.description)),
        )
    }),
    variant("flow-metadata", |skill| {
        whole(
            skill,
            skill.with_metadata("metadata: {author: me, tags: [a, \"b: c\"], n: {x: 1}}\n"),
        )
    }),
    variant("comments", |skill| {
        let text = format!("---\n# about\n\n{}", skill.text.strip_prefix("---\n")?);
        whole(skill, text.replacen("\n---", "\n# the end\n---", 1))
    }),
    variant("comment-after-value", |skill| {
        described(
            skill,
            &format!("description: {} # short", quoted(&skill.description)),
        )
    }),
    variant("unknown-keys", |skill| {
        let extra = "version: 1.0\ntags: [a, b]\nx-y:\n  - z: 1\n";
        whole(
            skill,
            skill.text.replacen("---\n", &format!("---\n{extra}"), 1),
        )
    }),
    variant("crlf", |skill| {
        whole(skill, skill.text.replace('\n', "\r\n"))
    }),
    variant("bom", |skill| {
        whole(skill, format!("\u{feff}{}", skill.text))
    }),
    variant("bom-crlf", |skill| {
        whole(
            skill,
            format!("\u{feff}{}", skill.text.replace('\n', "\r\n")),
        )
    }),
];

/// The description on its key's line with nothing around it, after a start that YAML does not take.
#[expect(clippy::unnecessary_wraps, reason = "every way has one shape")]
fn plain(skill: &RealSkill, start: &str) -> Option<(String, String)> {
    let text = format!("{start}{}", skill.description);
    Some((
        skill.with_description(&format!("description: {text}")),
        text,
    ))
}

fn described(skill: &RealSkill, lines: &str) -> Option<(String, String)> {
    whole(skill, skill.with_description(lines))
}

#[expect(clippy::unnecessary_wraps, reason = "every way has one shape")]
fn whole(skill: &RealSkill, text: String) -> Option<(String, String)> {
    Some((text, skill.description.clone()))
}

/// The description as a block of at most 60 columns.
fn block(skill: &RealSkill, mark: &str) -> String {
    let mut lines = vec![String::new()];
    for word in skill.description.split(' ') {
        if lines
            .last()
            .is_some_and(|line| line.len() + word.len() > 60)
        {
            lines.push(String::new());
        }
        let line = lines.last_mut().unwrap();
        line.push_str(if line.is_empty() { "  " } else { " " });
        line.push_str(word);
    }
    format!("description: {mark}\n{}", lines.join("\n"))
}

fn without_quotes(skill: &RealSkill) -> String {
    one_line(&skill.description.replace(['"', '\\'], "'"))
}
