//! The real corpus: every skill is found and read, and also when its frontmatter is written worse.

mod frontmatter;
mod variants;

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use frontmatter::{RealSkill, one_line};
use grove_testkit::needs;
use grove_testkit::session::{Session, column};
use grove_testkit::shared;
use serde_json::Value;
use variants::Variant;

const IN_THE_CORPUS: usize = 246;

fn corpus() -> PathBuf {
    shared::real_corpus().unwrap_or_else(|why| panic!("{why}"))
}

/// Every `SKILL.md` by a walk of our own: a folder that has one ends the descent, hidden folders
/// and `node_modules` are passed over.
fn skill_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let file = folder.join("SKILL.md");
    if file.is_file() {
        return found.push(file);
    }
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() && !name.starts_with('.') && name != "node_modules" {
            skill_files(&entry.path(), found);
        }
    }
}

fn corpus_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    skill_files(&corpus(), &mut found);
    found.sort();
    found
}

/// The skills of one root, all of them.
fn listed(session: &Session, root: &Path) -> Vec<Value> {
    let words = ["skills", "list", "--all", "--root", root.to_str().unwrap()];
    let list = session.json(words);
    assert_eq!(list["diagnostics"], Value::Array(Vec::new()));
    list["skills"].as_array().unwrap().clone()
}

#[test]
fn every_real_skill_is_found_once() {
    needs![RealCollections];
    let files = corpus_files();
    assert_eq!(files.len(), IN_THE_CORPUS, "the corpus has changed");
    let skills = Value::Array(listed(&crate::session(), &corpus()));
    let locations = column(&skills, "location").into_iter();
    let mut locations: Vec<PathBuf> = locations.map(PathBuf::from).collect();
    locations.sort();
    assert_eq!(locations, files);
}

#[test]
fn every_real_skill_is_ok_or_has_an_error_that_says_why() {
    needs![RealCollections];
    for skill in listed(&crate::session(), &corpus()) {
        let mut findings = skill["diagnostics"].as_array().unwrap().iter();
        let has_error = findings.any(|finding| finding["severity"] == "error");
        assert_eq!(skill["state"] != "ok", has_error, "{skill:#}");
    }
}

#[test]
fn every_real_skill_says_what_its_file_says() {
    needs![RealCollections];
    for skill in listed(&crate::session(), &corpus()) {
        let file = Path::new(skill["location"].as_str().unwrap());
        let real = RealSkill::read(file);
        let name = real.name_line.trim_start_matches("name:").trim();
        assert_eq!(skill["name"], name.trim_matches('"'), "{}", file.display());
        let description = one_line(skill["description"].as_str().unwrap_or_default());
        assert_eq!(description, real.description, "{}", file.display());
    }
}

/// One real skill written in one way, and what the program made of it.
struct Outcome {
    variant: &'static str,
    text: String,
    /// What a person reads.
    expected: String,
    /// What the program reads.
    seen: String,
    state: String,
    codes: Vec<String>,
}

impl Outcome {
    /// Whether the text is what a person reads. A stray quote before it may be seen or overlooked.
    fn is_as_written(&self) -> bool {
        self.seen == self.expected || self.seen == self.expected.trim_start_matches(['"', '\''])
    }

    fn is_repaired(&self) -> bool {
        self.codes.iter().any(|code| code == "yaml-repaired")
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let start: String = self.text.chars().take(300).collect();
        writeln!(
            f,
            "{} {:?}\n{start}\nread as: {}",
            self.state, self.codes, self.seen
        )
    }
}

/// Writes every variant of every real skill and looks at them all at once.
fn written_and_read(variants: &[Variant]) -> Vec<Outcome> {
    let session = crate::session();
    let files = corpus_files();
    let skills: Vec<RealSkill> = files.iter().map(|file| RealSkill::read(file)).collect();
    let mut written = BTreeMap::new();
    for variant in variants {
        for (number, skill) in skills.iter().enumerate() {
            let Some((text, expected)) = (variant.write)(skill) else {
                continue;
            };
            let file = session.path(format!("skills/{}/s{number}/SKILL.md", variant.name));
            session.file(&file, &text);
            written.insert(file, (variant.name, text, expected));
        }
    }
    let listed = listed(&session, &session.path("skills"));
    assert_eq!(listed.len(), written.len(), "every variant is found");
    let outcome = |skill: &Value| {
        let text = |key: &str| skill[key].as_str().unwrap_or_default();
        let (variant, written, expected) = written.remove(Path::new(text("location"))).unwrap();
        Outcome {
            variant,
            text: written,
            expected,
            seen: one_line(text("description")),
            state: text("state").to_owned(),
            codes: column(&skill["diagnostics"], "code"),
        }
    };
    listed.iter().map(outcome).collect()
}

/// Two tests judge the same outcomes.
static BROKEN: OnceLock<Vec<Outcome>> = OnceLock::new();

/// The share of outcomes that are good, and a report by variant with the first bad one of each.
fn share(outcomes: &[Outcome], is_good: impl Fn(&Outcome) -> bool) -> (f64, String) {
    let mut groups: BTreeMap<&str, (Vec<&Outcome>, Vec<&Outcome>)> = BTreeMap::new();
    for outcome in outcomes {
        let (good, bad) = groups.entry(outcome.variant).or_default();
        if is_good(outcome) { good } else { bad }.push(outcome);
    }
    let mut report = String::new();
    for (name, (good, bad)) in &groups {
        let _ = writeln!(
            report,
            "{name}: {} of {}",
            good.len(),
            good.len() + bad.len()
        );
        if let Some(first) = bad.first() {
            let _ = writeln!(report, "{first}");
        }
    }
    let good: usize = groups.values().map(|(good, _)| good.len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let share = good as f64 / outcomes.len() as f64;
    println!("{good} of {}\n{report}", outcomes.len());
    (share, report)
}

#[test]
fn at_least_four_of_five_broken_files_load_with_the_text_a_person_sees() {
    needs![RealCollections];
    let outcomes = BROKEN.get_or_init(|| written_and_read(variants::BROKEN));
    let (share, report) = share(outcomes, |outcome| {
        outcome.state == "ok" && outcome.is_repaired() && outcome.is_as_written()
    });
    assert!(share >= 0.8, "{share:.3} loaded\n{report}");
}

#[test]
fn no_broken_file_is_read_as_another_text() {
    needs![RealCollections];
    let outcomes = BROKEN.get_or_init(|| written_and_read(variants::BROKEN));
    let (share, report) = share(outcomes, |outcome| {
        outcome.state == "invalid" || outcome.is_as_written()
    });
    assert!(share >= 1.0, "{share:.3} are right or refused\n{report}");
}

#[test]
fn valid_yaml_loads_without_repair() {
    needs![RealCollections];
    let outcomes = written_and_read(variants::VALID);
    let (share, report) = share(&outcomes, |outcome| {
        outcome.state == "ok" && !outcome.is_repaired() && outcome.is_as_written()
    });
    assert!(share >= 0.995, "{share:.4} loaded\n{report}");
}
