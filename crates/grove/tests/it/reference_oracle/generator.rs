//! Skills to compare on, from a seed: the same seed gives the same skills.

use super::mutation::{mutate, other_line_ends};
use super::pieces;

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

/// A xorshift generator: small, fast, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator for a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) as usize) % limit.max(1)
    }

    /// True once in `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub(crate) fn pick_for<'a>(&mut self, mood: Mood, from: &pieces::Moods<'a>) -> &'a str {
        match mood {
            Mood::Calm => self.pick(from.calm),
            Mood::Wild => self.pick(from.wild),
        }
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
            let quirk = random.pick(pieces::QUIRKS);
            (declared_name(quirk), quirk.to_owned())
        }
    };
    let content = if random.one_in(12) {
        other_line_ends(random, &content)
    } else {
        content
    };
    let mut content = content.into_bytes();
    if random.one_in(150) && !content.is_empty() {
        let at = random.below(content.len());
        content[at] = *random.pick(&[&0, &7, &0x7f, &0x80, &0xff, &0xc3, &0x1b]);
    }
    let file = if random.one_in(20) {
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
    if random.one_in(15) {
        return random.pick(pieces::DIRS).to_owned();
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
        0 => random.pick(pieces::NAMES).to_owned(),
        1 => long_name(random),
        _ => "plain-name".to_owned(),
    };
    let mut lines = Vec::new();
    if !random.one_in(15) {
        lines.push(field(random, mood, "name", &name));
    }
    if !random.one_in(15) {
        let value = value(random, mood);
        lines.push(field(random, mood, "description", &value));
    }
    for key in ["license", "compatibility", "allowed-tools", "metadata"] {
        if random.one_in(3) {
            let value = match random.below(8) {
                0..=1 => collection(random, mood, 1),
                2..=5 if key == "metadata" => collection(random, mood, 1),
                2 => sized(random, 500),
                _ => value(random, mood),
            };
            lines.push(field(random, mood, key, &value));
        }
    }
    if wild && random.one_in(4) {
        let value = value(random, mood);
        let key = random.pick_for(mood, &pieces::KEYS);
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
        lines.insert(at, random.pick_for(mood, &pieces::FILLERS).to_owned());
    }
    if wild
        && random.one_in(8)
        && let Some(line) = lines.first().cloned()
    {
        lines.push(line);
    }
    let open = random.pick_for(mood, &pieces::OPENINGS);
    let close = random.pick_for(mood, &pieces::CLOSINGS);
    let body = random.pick(pieces::BODIES);
    (name, format!("{open}{}{close}{body}", lines.concat()))
}

fn field(random: &mut Random, mood: Mood, key: &str, value: &str) -> String {
    let colon = if value.starts_with('\n') {
        ":"
    } else {
        random.pick_for(mood, &pieces::COLONS)
    };
    let tail = if value.ends_with('\n') {
        ""
    } else {
        random.pick_for(mood, &pieces::TAILS)
    };
    format!("{key}{colon}{value}{tail}")
}

fn long_name(random: &mut Random) -> String {
    let length = 62 + random.below(6);
    let unit = random.pick(&["a", "é", "技", "ﬁ", "a-", "e\u{301}", "１"]);
    unit.repeat(length).chars().take(length).collect()
}

/// Text of about the limit's length, in one of several dresses.
fn sized(random: &mut Random, limit: usize) -> String {
    let length = limit - 2 + random.below(5);
    let unit = random.pick(&["x", "é", "😀", "word ", "技能"]);
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
        0..=3 => random.pick_for(mood, &pieces::VALUES).to_owned(),
        4..=5 => block_scalar(random, mood),
        6..=7 => quoted(random, mood),
        8 => multi_line_plain(random, mood),
        9 => sized(random, 1024),
        10 if mood == Mood::Wild => collection(random, mood, 1),
        _ => "Does a thing. Use when asked.".to_owned(),
    }
}

fn block_scalar(random: &mut Random, mood: Mood) -> String {
    let style = random.pick(&["|", ">"]);
    let header = random.pick_for(mood, &pieces::BLOCK_HEADERS);
    let mut out = format!("{style}{header}\n");
    for _ in 0..random.below(6) {
        out.push_str(random.pick_for(mood, &pieces::BLOCK_LINES));
    }
    if random.one_in(8) {
        out.pop();
    }
    out
}

fn quoted(random: &mut Random, mood: Mood) -> String {
    let quote = random.pick(&["\"", "'"]);
    let mut out = quote.to_owned();
    for _ in 0..random.below(8) {
        let text = random.pick(pieces::QUOTED);
        if mood == Mood::Wild || !text.contains(['\\', '\'', '"', '.']) {
            out.push_str(text);
        }
    }
    if mood == Mood::Calm || !random.one_in(15) {
        out.push_str(quote);
    }
    out
}

fn multi_line_plain(random: &mut Random, mood: Mood) -> String {
    let mut out = "first".to_owned();
    for _ in 0..random.below(5) {
        out.push_str(random.pick_for(mood, &pieces::CONTINUATIONS));
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
    let list = random.one_in(3);
    let mut out = "\n".to_owned();
    for number in 0..=random.below(3) {
        if random.one_in(6) {
            out.push_str(random.pick(pieces::COMMENTS));
        }
        let shift = usize::from(wild && random.one_in(15));
        out.push_str(&" ".repeat(indent + shift));
        if list {
            out.push_str("- ");
        } else if wild {
            out.push_str(random.pick_for(mood, &pieces::KEYS));
            out.push_str(random.pick(&[": ", ": ", ": ", ":", " : "]));
        } else {
            out.push_str(["one: ", "\"two\": ", "three é: "][number]);
        }
        let value = if depth < 4 && random.one_in(4) {
            collection(random, mood, depth + 1)
        } else {
            random.pick_for(mood, &pieces::VALUES).to_owned()
        };
        out.push_str(&value);
        if !value.ends_with('\n') {
            out.push_str(random.pick(&["\n", "\n", "\n", "\n", " # c\n", "\n\n", " \n"]));
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
            out.push_str(random.pick(pieces::INDICATORS));
        }
        out.push_str(random.pick(pieces::LEAVES));
        out.push_str(random.pick(pieces::LINE_ENDS));
    }
    out.push_str("---\n");
    out
}

/// Tokens in no order at all.
fn soup(random: &mut Random) -> String {
    let start = random.pick(&["---\n", "---\n", "---", "---\nname: soup\n"]);
    let mut out = start.to_owned();
    for _ in 0..=random.below(16) {
        out.push_str(random.pick(pieces::SOUP));
    }
    out.push_str(random.pick(&["\n---\n", "---", "\n---\nbody"]));
    out
}
