//! `cargo xtask words`: counts of the source that say whether its names and comments can be read, with a bound for each.
//!
//! Lines are looked at one by one, as rustfmt has set them. Tests and the crates for development are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// The largest share of types that have the name of another one, in tenths of a percent.
const SHARED_NAMES_PER_MILLE: usize = 100;

/// The largest share of doc comments that begin with a question word, in tenths of a percent.
const QUESTIONS_PER_MILLE: usize = 30;

/// The most words like "nobody".
const MOST_PEOPLE: usize = 20;

/// The most lines of source. It only ever goes down: a change that makes the source smaller lowers it.
const MOST_LINES: usize = 126_250;

/// A doc comment with fewer words repeats a name.
const LEAST_DOC_WORDS: usize = 4;

const QUESTION_WORDS: [&str; 14] = [
    "What",
    "Who",
    "Whose",
    "Whom",
    "Whether",
    "How",
    "Which",
    "Why",
    "Where",
    "Whoever",
    "When",
    "Whatever",
    "Wherever",
    "Whichever",
];

/// Words that stand where the noun is missing.
const PEOPLE: [&str; 4] = ["whoever", "nobody", "somebody", "anybody"];

/// Crates that are not part of the product.
const LEFT_OUT: [&str; 3] = ["grove-testkit", "grove-bench", "grove-reference"];

const TYPE_KEYWORDS: [&str; 4] = ["struct ", "enum ", "trait ", "union "];

/// What can be listed with `--list`, in the order of the table.
const LISTS: [&str; 5] = ["types", "questions", "short", "people", "lines"];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let list: Option<String> = arguments.value("--list")?;
    arguments.finish()?;
    let counts = Counts::of_workspace()?;
    match list.as_deref() {
        None => println!("{}", counts.table()),
        Some(name) => println!("{}", counts.list(name)?),
    }
    Ok(())
}

/// Fails with the counts that are above their bounds.
pub(crate) fn check() -> Result<(), String> {
    let counts = Counts::of_workspace()?;
    println!("{}", counts.table());
    let above: Vec<String> = counts
        .rows()
        .into_iter()
        .filter(|row| row.count > row.bound)
        .map(|row| format!("{}: {} of at most {}", row.name, row.count, row.bound))
        .collect();
    if above.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}; `cargo xtask words --list NAME` shows them",
        above.join(", ")
    ))
}

/// A line of source that is counted.
#[derive(Debug)]
struct Place {
    file: String,
    line: usize,
    text: String,
}

#[derive(Debug, Default)]
struct Counts {
    /// The places at which each name is declared.
    types: BTreeMap<String, Vec<Place>>,
    n_docs: usize,
    questions: Vec<Place>,
    short: Vec<Place>,
    people: Vec<Place>,
    lines: BTreeMap<String, usize>,
}

/// A count and its bound.
#[derive(Debug)]
struct Row {
    name: &'static str,
    count: usize,
    bound: usize,
    of: Option<usize>,
}

impl Counts {
    fn of_workspace() -> Result<Self, String> {
        let mut git = Command::new("git");
        git.args(["ls-files", "crates/*/src/*.rs"])
            .current_dir(workspace::root());
        let listed = step::quiet("git ls-files", &mut git, Duration::from_mins(1))?;
        let mut counts = Self::default();
        for file in listed.stdout_text().lines().filter(|file| is_counted(file)) {
            let path = workspace::root().join(file);
            // A file may have been moved since.
            if path.exists() {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                counts.add(file, &text);
            }
        }
        Ok(counts)
    }

    fn add(&mut self, file: &str, text: &str) {
        let lines = without_tests(text);
        *self.lines.entry(crate_of(file).to_owned()).or_default() += lines.len();
        let place = |line: usize, text: &str| Place {
            file: file.to_owned(),
            line,
            text: text.trim().to_owned(),
        };
        let mut rest = lines.iter().copied().peekable();
        while let Some((number, line)) = rest.next() {
            self.count_people(number, line, place);
            if let Some(name) = declared_type(line) {
                let places = self.types.entry(name.to_owned()).or_default();
                places.push(place(number, line));
            }
            let Some((marker, first)) = doc(line) else {
                continue;
            };
            self.n_docs += 1;
            let mut n_words = first.split_whitespace().count();
            while let Some((number, more)) = rest.next_if(|(_, more)| more_of(marker, more)) {
                self.count_people(number, more, place);
                n_words += more.trim()[marker.len()..].split_whitespace().count();
            }
            let first_word = first.split(|letter: char| !letter.is_alphabetic()).next();
            if first_word.is_some_and(|word| QUESTION_WORDS.contains(&word)) {
                self.questions.push(place(number, line));
            }
            if n_words < LEAST_DOC_WORDS {
                self.short.push(place(number, line));
            }
        }
    }

    fn count_people(&mut self, number: usize, line: &str, place: impl Fn(usize, &str) -> Place) {
        let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let people =
            words.filter(|word| PEOPLE.iter().any(|known| word.eq_ignore_ascii_case(known)));
        self.people.extend(people.map(|_| place(number, line)));
    }

    /// The types that have the name of another one.
    fn shared(&self) -> impl Iterator<Item = (&String, &Vec<Place>)> {
        self.types.iter().filter(|(_, places)| places.len() > 1)
    }

    fn rows(&self) -> [Row; 5] {
        let n_types = self.types.values().map(Vec::len).sum();
        let n_shared = self.shared().map(|(_, places)| places.len()).sum();
        let [types, questions, short, people, lines] = LISTS;
        [
            row(types, n_shared, SHARED_NAMES_PER_MILLE).of(n_types),
            row(questions, self.questions.len(), QUESTIONS_PER_MILLE).of(self.n_docs),
            row(short, self.short.len(), 0),
            row(people, self.people.len(), MOST_PEOPLE),
            row(lines, self.lines.values().sum(), MOST_LINES),
        ]
    }

    fn table(&self) -> String {
        let about = [
            "types that share their name",
            "doc comments that begin with a question word",
            "doc comments of fewer than four words",
            "whoever, nobody, somebody, anybody",
            "lines of source",
        ];
        let mut table = String::new();
        for (row, about) in self.rows().iter().zip(about) {
            let of = row.of.map(|all| format!(" of {all}")).unwrap_or_default();
            let count = format!("{}{of}", row.count);
            let _ = writeln!(
                table,
                "{:<10} {count:>14}  at most {:>6}  {about}",
                row.name, row.bound
            );
        }
        table.trim_end().to_owned()
    }

    fn list(&self, name: &str) -> Result<String, String> {
        let places = |places: &[Place]| -> Vec<String> {
            let line = |at: &Place| format!("{}:{}: {}", at.file, at.line, at.text);
            places.iter().map(line).collect()
        };
        let lines = match name {
            "types" => {
                let mut shared: Vec<_> = self.shared().collect();
                shared.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
                shared.iter().flat_map(|(_, at)| places(at)).collect()
            }
            "questions" => places(&self.questions),
            "short" => places(&self.short),
            "people" => places(&self.people),
            "lines" => {
                let lines = self.lines.iter();
                lines
                    .map(|(name, count)| format!("{count:>7}  {name}"))
                    .collect()
            }
            unknown => {
                return Err(format!(
                    "--list cannot be {unknown}; it is one of {}",
                    LISTS.join(", ")
                ));
            }
        };
        Ok(lines.join("\n"))
    }
}

fn row(name: &'static str, count: usize, bound: usize) -> Row {
    Row {
        name,
        count,
        bound,
        of: None,
    }
}

impl Row {
    /// Takes the bound as a share of these, in tenths of a percent.
    fn of(self, all: usize) -> Self {
        Self {
            bound: all * self.bound / 1000,
            of: Some(all),
            ..self
        }
    }
}

fn crate_of(file: &str) -> &str {
    file.split('/').nth(1).unwrap_or_default()
}

fn is_counted(file: &str) -> bool {
    let is_test = |part: &str| matches!(part, "tests" | "tests.rs") || part.ends_with("_tests.rs");
    !LEFT_OUT.contains(&crate_of(file))
        && !Path::new(file)
            .iter()
            .any(|part| part.to_str().is_some_and(is_test))
}

/// The lines with their numbers, without items that are compiled for tests alone.
fn without_tests(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let attribute = line.trim_start();
        if !attribute.starts_with("#[cfg(test)]") && !attribute.starts_with("#[cfg(doctest)]") {
            kept.push((number, line));
            continue;
        }
        let indent = &line[..line.len() - attribute.len()];
        let is_attribute = |line: &str| line.trim_start().starts_with("#[");
        while lines.next_if(|(_, line)| is_attribute(line)).is_some() {}
        let is_one_line = |line: &str| line.ends_with([';', '}', ',']);
        if lines.next().is_none_or(|(_, first)| is_one_line(first)) {
            continue;
        }
        let is_end = |line: &str| {
            line.strip_prefix(indent)
                .is_some_and(|line| line.starts_with(['}', ')', ']']))
        };
        while lines.next_if(|(_, line)| !is_end(line)).is_some() {}
        lines.next();
    }
    kept
}

/// The name of the type that a line declares; not of an associated one.
fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest = TYPE_KEYWORDS
        .iter()
        .find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
}

/// The marker of a doc comment and what follows it.
fn doc(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    ["///", "//!"]
        .into_iter()
        .find_map(|marker| Some((marker, line.strip_prefix(marker)?.trim())))
}

fn more_of(marker: &str, line: &str) -> bool {
    line.trim_start().starts_with(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(files: &[(&str, &str)]) -> Counts {
        let mut counts = Counts::default();
        for (file, text) in files {
            counts.add(file, text);
        }
        counts
    }

    #[test]
    fn types_share_a_name_across_files_and_tests_are_left_out() {
        let shared = "pub(crate) struct Entry<'a> {\n    name: &'a str,\n}\n\nenum Entry2 {}\n";
        let other = "\
pub trait Entry {
    type Item;
}

#[cfg(test)]
mod tests {
    struct Entry2;
}
struct Item;
";
        let counts = counts(&[("crates/a/src/x.rs", shared), ("crates/b/src/y.rs", other)]);
        let [types, ..] = counts.rows();
        assert_eq!((types.count, types.of), (2, Some(4)));
        assert_eq!(
            counts.list("types").unwrap(),
            "crates/a/src/x.rs:1: pub(crate) struct Entry<'a> {\ncrates/b/src/y.rs:1: pub trait Entry {"
        );
        assert_eq!(counts.lines["b"], 4 + 1);
    }

    #[test]
    fn doc_comments_are_counted_as_wholes() {
        let text = "\
//! What it is
/// Whether it is.
/// Nobody asks.
fn a() {}
/// One
/// two three four.
fn b() {}
    /// Two words.
    fn c() {}
/// Whenever: not one of them, whoever asks.
";
        let counts = counts(&[("crates/a/src/x.rs", text)]);
        assert_eq!(counts.n_docs, 5);
        let lines = |places: &[Place]| places.iter().map(|at| at.line).collect::<Vec<_>>();
        assert_eq!(lines(&counts.questions), [1, 2]);
        assert_eq!(lines(&counts.short), [1, 8]);
        assert_eq!(lines(&counts.people), [3, 10]);
    }

    #[test]
    fn crates_for_development_and_files_of_tests_are_not_counted() {
        for file in [
            "crates/grove-bench/src/main.rs",
            "crates/grove-spec/src/agent/tests.rs",
            "crates/grove-spec/src/agent/tests/case.rs",
            "crates/grove-spec/src/strictest_tests.rs",
        ] {
            assert!(!is_counted(file), "{file}");
        }
        assert!(is_counted("crates/grove-spec/src/testing.rs"));
    }

    #[test]
    fn an_item_of_tests_ends_where_its_indentation_ends() {
        let text = "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod x;\nimpl A {\n    #[cfg(test)]\n    fn b() {\n        {\n        }\n    }\n}\n";
        let kept: Vec<usize> = without_tests(text)
            .into_iter()
            .map(|(number, _)| number)
            .collect();
        assert_eq!(kept, [1, 5, 11]);
    }
}
