//! `cargo xtask bench search-quality`: whether a task in plain words leads to its skill.
//!
//! Our search beside plain BM25, over the same skills and the same tasks. Failures are shown for the half that
//! may be tuned on, and never for the other.
#![expect(clippy::cast_precision_loss, reason = "counts of tasks are small")]

use std::path::{Path, PathBuf};

use grove_catalog::snapshot::Snapshot;
use grove_skills::search::{
    MeaningsFile, SearchAudience, SearchHit, SearchQuery, Searcher, anything_fits,
};
use grove_skills::{Discovery, DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::shared;
use serde::Deserialize;

use crate::catalog_for_task::interval;
use crate::plain_bm25::PlainBm25;
use crate::table;
use grove_testkit::task::arguments::Arguments;

const TASKS: &str = include_str!("../data/search-tasks.jsonl");
/// Tasks that no skill of the corpus serves.
const UNSERVED: &str = include_str!("../data/search-tasks-unserved.jsonl");
const DEPTHS: [usize; 3] = [1, 5, 10];

#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: String,
    #[serde(rename = "task")]
    pub(crate) text: String,
    pub(crate) expected: Vec<String>,
    pub(crate) half: String,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let show_failures = arguments.flag("--failures");
    let show_settings = arguments.flag("--settings");
    let folder: Option<PathBuf> = arguments.value("--skills")?;
    let file: Option<PathBuf> = arguments.value("--tasks")?;
    let table: Option<PathBuf> = arguments.value("--meaning")?;
    let least: Option<f64> = arguments.value("--least-at-5")?;
    arguments.finish()?;
    let folder = folder.map_or_else(shared::real_corpus, Ok)?;
    let tasks = parse(&tasks_of(file.as_deref())?)?;
    let mut library = library_of(&[folder], table);
    let discovery = library.discover();
    let snapshot = &discovery.snapshot;
    require_expected(&tasks, snapshot)?;
    let contenders = answers(&mut library, &discovery, &tasks);
    println!(
        "{} skills, {} tasks; hits in percent",
        snapshot.skills.len(),
        tasks.len()
    );
    for half in ["tune", "held-out"] {
        let of_half: Vec<usize> = (0..tasks.len())
            .filter(|at| tasks[*at].half == half)
            .collect();
        let rows: Vec<Vec<String>> = contenders
            .iter()
            .map(|(name, answers)| {
                let mut row = vec![(*name).to_owned()];
                row.extend(DEPTHS.iter().flat_map(|depth| {
                    let hits = of_half
                        .iter()
                        .filter(|at| is_hit(&tasks[**at], &answers[**at], *depth));
                    let hits = hits.count();
                    let share = 100.0 * hits as f64 / of_half.len().max(1) as f64;
                    let (from, to) = interval(hits, of_half.len());
                    [format!("{share:.1}"), format!("{from:.0}-{to:.0}")]
                }));
                row
            })
            .collect();
        println!("{half}: {} tasks", of_half.len());
        table::print(
            &["", "at 1", "95 %", "at 5", "95 %", "at 10", "95 %"],
            &rows,
        );
    }
    print_doubt(&mut library, &discovery, &tasks, show_settings)?;
    if show_failures && let Some((_, answers)) = contenders.last() {
        for (task, answer) in tasks.iter().zip(answers) {
            if task.half == "tune" && !is_hit(task, answer, 5) {
                println!(
                    "{}: {} {:?}: {:?}",
                    task.id, task.text, task.expected, answer
                );
            }
        }
    }
    let ours = contenders.last().map_or(&[][..], |(_, answers)| answers);
    let pairs = tasks.iter().zip(ours);
    let found: Vec<bool> = pairs
        .filter(|(task, _)| task.half == "tune")
        .map(|(task, answer)| is_hit(task, answer, 5))
        .collect();
    let hits = found.iter().filter(|is_hit| **is_hit).count();
    let share = 100.0 * hits as f64 / found.len().max(1) as f64;
    match least {
        Some(least) if share < least => Err(format!("{share:.1} at 5 instead of {least}")),
        _ => Ok(()),
    }
}

/// The least that a first result has to have: its share of what was asked, and the same without its best word.
const SETTINGS: [(f32, f32); 9] = [
    (0.19, 0.0),
    (0.16, 0.05),
    (0.18, 0.03),
    (0.18, 0.05),
    (0.18, 0.06),
    (0.18, 0.08),
    (0.19, 0.05),
    (0.22, 0.05),
    (0.25, 0.1),
];

/// Prints how often nothing fits well, for tasks that some skill serves and for others; and how often it would with other
/// settings, for the half that may be tuned on.
fn print_doubt(
    library: &mut Library,
    look: &Discovery,
    served: &[Task],
    show_settings: bool,
) -> Result<(), String> {
    let unserved = parse(UNSERVED)?;
    let mut searcher = Searcher::default();
    let mut rows = Vec::new();
    let mut by_setting = SETTINGS.map(|(share, rest)| vec![share.to_string(), rest.to_string()]);
    for (which, tasks) in [("served", served), ("not served", &unserved)] {
        for half in ["tune", "held-out"] {
            let of_half = tasks.iter().filter(|task| task.half == half);
            let found: Vec<Vec<SearchHit>> = of_half
                .map(|task| {
                    let query = SearchQuery {
                        text: &task.text,
                        limit: 10,
                        audience: SearchAudience::Person,
                    };
                    searcher.search_in(library, look, &query).hits
                })
                .collect();
            let percent = |n_doubted: usize| {
                format!(
                    "{:.1}",
                    100.0 * n_doubted as f64 / found.len().max(1) as f64
                )
            };
            let n_doubted = found.iter().filter(|hits| !anything_fits(hits)).count();
            let cells = [which.to_owned(), half.to_owned(), found.len().to_string()];
            let doubted = [n_doubted.to_string(), percent(n_doubted)];
            rows.push(cells.into_iter().chain(doubted).collect());
            if half == "tune" {
                for ((share, rest), row) in SETTINGS.iter().zip(&mut by_setting) {
                    let fits = |hit: &SearchHit| hit.share >= *share && hit.rest >= *rest;
                    let n_doubted = found.iter().filter(|hits| !hits.iter().any(fits));
                    row.push(percent(n_doubted.count()));
                }
            }
        }
    }
    println!("nothing fits well");
    table::print(&["tasks", "half", "number", "nothing", "percent"], &rows);
    if show_settings {
        println!("nothing fits well in percent of the tasks to tune on");
        table::print(&["share", "rest", "served", "not served"], &by_setting);
    }
    Ok(())
}

type Answers = Vec<Vec<String>>;

fn answers(
    library: &mut Library,
    look: &Discovery,
    tasks: &[Task],
) -> [(&'static str, Answers); 3] {
    let snapshot = &look.snapshot;
    let (mut told, mut whole) = (Vec::new(), Vec::new());
    for skill in &snapshot.skills {
        let short = format!(
            "{} {}",
            skill.name(),
            skill.description().unwrap_or_default()
        );
        let source = look.sources.skills.read(skill).unwrap_or_default();
        let source = String::from_utf8_lossy(&source);
        let body = source
            .get(skill.content.parsed().body_offset..)
            .unwrap_or_default();
        whole.push(format!("{short}\n{body}"));
        told.push(short);
    }
    let plain = |texts: &[String]| -> Answers {
        let index = PlainBm25::new(texts.iter().map(String::as_str));
        let best = |task: &Task| index.best(&task.text, 10);
        tasks
            .iter()
            .map(|task| names(snapshot, best(task)))
            .collect()
    };
    let (on_told, on_whole) = (plain(&told), plain(&whole));
    let mut searcher = Searcher::default();
    let ours = tasks.iter().map(|task| {
        let query = SearchQuery {
            text: &task.text,
            limit: 10,
            audience: SearchAudience::Person,
        };
        let found = searcher.search(library, &query);
        names(snapshot, found.hits.iter().map(|hit| hit.skill))
    });
    [
        ("BM25, names and descriptions", on_told),
        ("BM25, with bodies", on_whole),
        ("grove", ours.collect()),
    ]
}

fn names(snapshot: &Snapshot, skills: impl IntoIterator<Item = usize>) -> Vec<String> {
    let name = |at: usize| snapshot.skills[at].name().to_owned();
    skills.into_iter().map(name).collect()
}

fn is_hit(task: &Task, answer: &[String], depth: usize) -> bool {
    let mut first = answer.iter().take(depth);
    first.any(|name| task.expected.contains(name))
}

/// Fails if the answer of a task is not there, since that would count as a failure of every search.
pub(crate) fn require_expected(tasks: &[Task], snapshot: &Snapshot) -> Result<(), String> {
    let is_there = |name: &String| snapshot.skills.iter().any(|skill| skill.name() == name);
    let missing = tasks
        .iter()
        .flat_map(|task| &task.expected)
        .find(|name| !is_there(name));
    match missing {
        None => Ok(()),
        Some(name) => Err(format!("a task expects {name}, which is not there")),
    }
}

/// Returns the tasks in a file, or those of the repository.
pub(crate) fn tasks_of(file: Option<&Path>) -> Result<String, String> {
    let Some(file) = file else {
        return Ok(TASKS.to_owned());
    };
    std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))
}

pub(crate) fn parse(text: &str) -> Result<Vec<Task>, String> {
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("task {}: {error}", number + 1))
    };
    text.lines().enumerate().map(line).collect()
}

pub(crate) fn meanings(table: Option<PathBuf>) -> Option<MeaningsFile> {
    table.map(|file| MeaningsFile::new(file, |path| Ok(grove_meaning::open_file(path)?)))
}

/// A library of folders that is searched by words, and by meaning if there is a table's file.
pub(crate) fn library_of(folders: &[PathBuf], table: Option<PathBuf>) -> Library {
    let nowhere = PathBuf::from("/nonexistent");
    let environment = Environment {
        cache: None,
        meanings: meanings(table),
        ..Environment::for_home(nowhere.clone(), nowhere)
    };
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(folders.to_vec()),
        all: true,
        ..DiscoveryRequest::default()
    };
    Library::new(environment, request)
}

#[cfg(test)]
mod tests {
    use grove_testkit::needs;

    use super::*;

    #[test]
    fn the_halves_are_by_rule_and_of_about_one_size() {
        let tasks = parse(TASKS).unwrap();
        assert!(tasks.len() >= 100, "{}", tasks.len());
        let mut tune = 0;
        for task in &tasks {
            let hash = task.text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3_u64)
            });
            let is_tune = (hash >> 32) % 2 == 0;
            assert_eq!(task.half == "tune", is_tune, "{}", task.id);
            tune += usize::from(is_tune);
        }
        assert!((tasks.len() / 3..tasks.len() * 2 / 3).contains(&tune));
    }

    #[test]
    fn no_task_says_what_its_skill_says() {
        needs![RealCollections];
        let library = &mut library_of(&[shared::real_corpus().unwrap()], None);
        let snapshot = library.load();
        let words = |text: &str| -> Vec<String> {
            let lower = text.to_lowercase();
            let words = lower.split(|c: char| !c.is_alphanumeric());
            words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        for task in parse(TASKS).unwrap() {
            let typed = words(&task.text);
            for skill in &snapshot.skills {
                if !task.expected.iter().any(|name| name == skill.name()) {
                    continue;
                }
                let said = words(skill.description().unwrap_or_default());
                let name = words(skill.name());
                let in_task = |run: &[String]| typed.windows(run.len()).any(|own| own == run);
                assert!(!in_task(&name), "{}: {}", task.id, skill.name());
                assert!(!said.windows(3).any(in_task), "{}", task.id);
            }
        }
    }
}
