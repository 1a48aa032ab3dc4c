//! Scores of tasks over folders of skills, and how many right skills a catalog has.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grove_catalog::catalog::{Budget, EntryKind, Request as CatalogRequest, Style, catalog};
use grove_skills::search::{Audience, MeaningsFile, Query, Searcher, anything_fits};
use grove_skills::{Environment, Library, Request, View};
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1);
    let tasks = std::fs::read_to_string(args.next().unwrap()).unwrap();
    let half = args.next().unwrap();
    let table = args.next().unwrap();
    let out = args.next().unwrap();
    let folders: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let nowhere = PathBuf::from("/nonexistent");
    let mut environment = Environment { cache: None, ..Environment::for_home(nowhere.clone(), nowhere) };
    if table != "-" {
        environment.meanings = Some(MeaningsFile::new(table.into(), |path| Ok(grove_meaning::open_file(path)?)));
    }
    let request = Request { view: View::Folders(folders), all: true, ..Request::default() };
    let mut library = Library::new(environment, request);
    let look = library.look();
    let snapshot = &look.snapshot;
    let mut searcher = Searcher::default();
    let start = Instant::now();
    let warm = Query { text: "warm up", limit: 10, audience: Audience::Person };
    searcher.search_in(&mut library, &look, &warm);
    println!("index {:?}", start.elapsed());
    let tasks: Vec<Value> = tasks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tasks: Vec<&Value> = tasks.iter().filter(|task| half == "all" || task["half"] == half.as_str()).collect();
    let mut rows = Vec::new();
    let mut hits_at = [0; 5];
    let mut doubted = 0;
    let mut in_catalog = BTreeMap::new();
    let usage = BTreeMap::new();
    let mut times = Vec::new();
    for task in &tasks {
        let text = task["task"].as_str().unwrap();
        let expected: Vec<&str> = task["expected"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        let query = Query { text, limit: if out == "-" { 10 } else { 1000 }, audience: Audience::Person };
        let start = Instant::now();
        let found = searcher.search_in(&mut library, &look, &query);
        times.push(start.elapsed());
        doubted += usize::from(!anything_fits(&found.hits[..found.hits.len().min(10)]));
        let names: Vec<&str> = found.hits.iter().map(|hit| snapshot.skills[hit.skill].name()).collect();
        for (at, depth) in [1, 5, 10, 20, 50].into_iter().enumerate() {
            hits_at[at] += usize::from(names.iter().take(depth).any(|name| expected.contains(name)));
        }
        let order = searcher.order_for(&look, text);
        for size in [6_000, 15_000, 30_000] {
            let request = CatalogRequest { style: Style::Xml, budget: Budget::chars(size, 150), home: None, index_dir: Path::new("/home/me/.cache/grove/index"), pinned: &[], usage: &usage, expanded: &[], exclude: &[], task: Some(&order) };
            let made = catalog(snapshot, &request);
            let has = made.entries.iter().any(|entry| entry.kind == EntryKind::Skill && entry.description.is_some() && expected.contains(&entry.name.as_str()));
            let slot: &mut (usize, usize) = in_catalog.entry(size).or_default();
            slot.0 += usize::from(has);
            slot.1 += made.entries.len();
        }
        let hits: Vec<Value> = found.hits.iter().map(|hit| json!([hit.skill, hit.score, hit.share, hit.rest, hit.closeness])).collect();
        rows.push(json!({"id": task["id"], "task": text, "half": task["half"], "expected": expected, "hits": hits}));
    }
    let n = tasks.len();
    times.sort();
    println!("{} skills {} tasks; @1/5/10/20/50 {:?} = {:?}; doubted {doubted}", snapshot.skills.len(), n, hits_at, hits_at.map(|h| (h * 1000 / n) as f64 / 10.0));
    println!("catalog {:?}", in_catalog.iter().map(|(size, (hits, entries))| (size, hits * 1000 / n, entries / n)).collect::<Vec<_>>());
    println!("query median {:?}", times[n / 2]);
    if out != "-" {
        let skills: Vec<Value> = snapshot.skills.iter().map(|skill| json!({"name": skill.name(), "id": skill.id(), "file": snapshot.location(&skill.place), "description": skill.description()})).collect();
        std::fs::write(out, json!({"skills": skills, "tasks": rows}).to_string()).unwrap();
    }
}
