//! Skills to compare on, from a seed: the same seed gives the same skills.

use super::mutation::{mutate, other_line_ends};
use super::pieces;
use crate::agreement::random::Random;

/// A generated skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The folder's name.
    pub(crate) dir: String,
    /// The file's name.
    pub(crate) file: &'static str,
    /// The file's content.
    pub(crate) content: Vec<u8>,
}

/// One of several texts.
pub(crate) fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len())]
}

pub(crate) fn pick_for<'a>(random: &mut Random, mood: Mood, from: &pieces::Moods<'a>) -> &'a str {
    match mood {
        Mood::Calm => pick(random, from.calm),
        Mood::Wild => pick(random, from.wild),
    }
}

/// How strange the pieces are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Ordinary pieces, so that most documents are valid.
    Calm,
    /// Any piece.
    Wild,
}

/// One skill. `samples` are whole files to mutate.
pub(crate) fn case(random: &mut Random, samples: &[String]) -> Case {
    let (dir, content) = match random.below(20) {
        0..=5 => document(random, Mood::Calm),
        6..=8 => document(random, Mood::Wild),
        9..=10 => {
            let (dir, content) = document(random, Mood::Calm);
            (dir, mutate(random, content))
        }
        11..=13 => {
            let sample = samples[random.below(samples.len())].clone();
            (declared_name(&sample), mutate(random, sample))
        }
        14..=16 => ("soup".to_owned(), soup(random)),
        17..=18 => ("structure".to_owned(), structure(random)),
        _ => {
            let quirk = pick(random, pieces::QUIRKS);
            (declared_name(quirk), quirk.to_owned())
        }
    };
    let content = if random.once_in(12) {
        other_line_ends(random, &content)
    } else {
        content
    };
    let mut content = content.into_bytes();
    if random.once_in(150) && !content.is_empty() {
        let at = random.below(content.len());
        content[at] = *random.one_of(&[0, 7, 0x7f, 0x80, 0xff, 0xc3, 0x1b]);
    }
    let file = if random.once_in(20) {
        "skill.md"
    } else {
        "SKILL.md"
    };
    Case {
        dir: usable_dir(random, &dir),
        file,
        content,
    }
}

/// Nesting on both sides of the depths at which the library's stack overflows, with and without
/// an error behind it.
pub(crate) fn deep() -> Vec<Case> {
    let mappings = |depth| {
        (0..depth)
            .map(|at| " ".repeat(at) + "a:\n")
            .collect::<String>()
    };
    let under_key = |depth| format!("a:\n  {}x\n", "- ".repeat(depth));
    let at_root = |depth| format!("{}x\n", "- ".repeat(depth));
    let texts = [
        mappings(60),
        mappings(300),
        mappings(300) + "\"\n",
        mappings(600) + "\"\n",
        under_key(200),
        under_key(300),
        at_root(300),
        at_root(400),
        at_root(400) + "\"\n",
        at_root(5000),
    ];
    let case = |text: &String| Case {
        dir: "deep".to_owned(),
        file: "SKILL.md",
        content: format!("---\n{text}---\n").into_bytes(),
    };
    texts.iter().map(case).collect()
}

/// A folder name that a file system takes.
fn usable_dir(random: &mut Random, wanted: &str) -> String {
    if random.once_in(15) {
        return pick(random, pieces::DIRS).to_owned();
    }
    let short = wanted.len() <= 200 && !wanted.is_empty();
    let clean = !wanted.contains(['/', '\0']) && wanted != "." && wanted != "..";
    if short && clean {
        wanted.to_owned()
    } else {
        "skill".to_owned()
    }
}

/// The name a file gives itself, as far as a glance can tell.
fn declared_name(content: &str) -> String {
    let line = content.lines().find_map(|line| line.strip_prefix("name:"));
    line.unwrap_or("skill").trim().trim_matches('"').to_owned()
}

/// A whole file with the fields of a skill.
fn document(random: &mut Random, mood: Mood) -> (String, String) {
    let wild = mood == Mood::Wild;
    let name = match random.below(5) {
        0 => pick(random, pieces::NAMES).to_owned(),
        1 => long_name(random),
        _ => "plain-name".to_owned(),
    };
    let mut lines = Vec::new();
    if !random.once_in(15) {
        lines.push(field(random, mood, "name", &name));
    }
    if !random.once_in(15) {
        let value = value(random, mood);
        lines.push(field(random, mood, "description", &value));
    }
    for key in ["license", "compatibility", "allowed-tools", "metadata"] {
        if random.once_in(3) {
            let value = match random.below(8) {
                0..=1 => collection(random, mood, 1),
                2..=5 if key == "metadata" => collection(random, mood, 1),
                2 => sized(random, 500),
                _ => value(random, mood),
            };
            lines.push(field(random, mood, key, &value));
        }
    }
    if wild && random.once_in(4) {
        let value = value(random, mood);
        let key = pick_for(random, mood, &pieces::KEYS);
        lines.push(format!("{key}: {value}\n"));
    }
    for _ in 0..random.below(3) {
        let (from, to) = (random.below(lines.len()), random.below(lines.len()));
        if from < lines.len() && to < lines.len() {
            lines.swap(from, to);
        }
    }
    for _ in 0..random.below(3) {
        let at = random.below(lines.len() + 1);
        lines.insert(at, pick_for(random, mood, &pieces::FILLERS).to_owned());
    }
    if wild
        && random.once_in(8)
        && let Some(line) = lines.first().cloned()
    {
        lines.push(line);
    }
    let open = pick_for(random, mood, &pieces::OPENINGS);
    let close = pick_for(random, mood, &pieces::CLOSINGS);
    let body = pick(random, pieces::BODIES);
    (name, format!("{open}{}{close}{body}", lines.concat()))
}

fn field(random: &mut Random, mood: Mood, key: &str, value: &str) -> String {
    let colon = if value.starts_with('\n') {
        ":"
    } else {
        pick_for(random, mood, &pieces::COLONS)
    };
    let tail = if value.ends_with('\n') {
        ""
    } else {
        pick_for(random, mood, &pieces::TAILS)
    };
    format!("{key}{colon}{value}{tail}")
}

fn long_name(random: &mut Random) -> String {
    let length = 62 + random.below(6);
    let unit = pick(random, &["a", "é", "技", "ﬁ", "a-", "e\u{301}", "１"]);
    unit.repeat(length).chars().take(length).collect()
}

/// Text of about the limit's length, in one of several dresses.
fn sized(random: &mut Random, limit: usize) -> String {
    let length = limit - 2 + random.below(5);
    let unit = pick(random, &["x", "é", "😀", "word ", "技能"]);
    let text: String = unit.repeat(length).chars().take(length).collect();
    match random.below(5) {
        0 => format!("\"{text}\""),
        1 => format!("'{text}  '"),
        2 => format!("|\n  {text}\n"),
        3 => format!(">-\n  {text}\n"),
        _ => text,
    }
}

fn value(random: &mut Random, mood: Mood) -> String {
    match random.below(12) {
        0..=3 => pick_for(random, mood, &pieces::VALUES).to_owned(),
        4..=5 => block_scalar(random, mood),
        6..=7 => quoted(random, mood),
        8 => multi_line_plain(random, mood),
        9 => sized(random, 1024),
        10 if mood == Mood::Wild => collection(random, mood, 1),
        _ => "Does a thing. Use when asked.".to_owned(),
    }
}

fn block_scalar(random: &mut Random, mood: Mood) -> String {
    let style = pick(random, &["|", ">"]);
    let header = pick_for(random, mood, &pieces::BLOCK_HEADERS);
    let mut out = format!("{style}{header}\n");
    for _ in 0..random.below(6) {
        out.push_str(pick_for(random, mood, &pieces::BLOCK_LINES));
    }
    if random.once_in(8) {
        out.pop();
    }
    out
}

fn quoted(random: &mut Random, mood: Mood) -> String {
    let quote = pick(random, &["\"", "'"]);
    let mut out = quote.to_owned();
    for _ in 0..random.below(8) {
        let text = pick(random, pieces::QUOTED);
        if mood == Mood::Wild || !text.contains(['\\', '\'', '"', '.']) {
            out.push_str(text);
        }
    }
    if mood == Mood::Calm || !random.once_in(15) {
        out.push_str(quote);
    }
    out
}

fn multi_line_plain(random: &mut Random, mood: Mood) -> String {
    let mut out = "first".to_owned();
    for _ in 0..random.below(5) {
        out.push_str(pick_for(random, mood, &pieces::CONTINUATIONS));
    }
    out
}

/// A block collection, starting with its line break.
fn collection(random: &mut Random, mood: Mood, depth: usize) -> String {
    let wild = mood == Mood::Wild;
    let indent = match random.below(8) {
        0 if wild => 2 * depth + 1,
        1 if wild => 2 * depth - 2,
        2 if wild => 4 * depth,
        _ => 2 * depth,
    };
    let list = random.once_in(3);
    let mut out = "\n".to_owned();
    for number in 0..=random.below(3) {
        if random.once_in(6) {
            out.push_str(pick(random, pieces::COMMENTS));
        }
        let shift = usize::from(wild && random.once_in(15));
        out.push_str(&" ".repeat(indent + shift));
        if list {
            out.push_str("- ");
        } else if wild {
            out.push_str(pick_for(random, mood, &pieces::KEYS));
            out.push_str(pick(random, &[": ", ": ", ": ", ":", " : "]));
        } else {
            out.push_str(["one: ", "\"two\": ", "three é: "][number]);
        }
        let value = if depth < 4 && random.once_in(4) {
            collection(random, mood, depth + 1)
        } else {
            pick_for(random, mood, &pieces::VALUES).to_owned()
        };
        out.push_str(&value);
        if !value.ends_with('\n') {
            out.push_str(pick(
                random,
                &["\n", "\n", "\n", "\n", " # c\n", "\n\n", " \n"],
            ));
        }
    }
    out
}

/// Structure from small pieces, mostly indented sensibly.
fn structure(random: &mut Random) -> String {
    let mut out = "---\n".to_owned();
    for _ in 0..=random.below(10) {
        let unit = 1 + random.below(2);
        out.push_str(&" ".repeat(random.below(4) * unit));
        for _ in 0..random.below(3) {
            out.push_str(pick(random, pieces::INDICATORS));
        }
        out.push_str(pick(random, pieces::LEAVES));
        out.push_str(pick(random, pieces::LINE_ENDS));
    }
    out.push_str("---\n");
    out
}

/// Tokens in no order at all.
fn soup(random: &mut Random) -> String {
    let start = pick(random, &["---\n", "---\n", "---", "---\nname: soup\n"]);
    let mut out = start.to_owned();
    for _ in 0..=random.below(16) {
        out.push_str(pick(random, pieces::SOUP));
    }
    out.push_str(pick(random, &["\n---\n", "---", "\n---\nbody"]));
    out
}
