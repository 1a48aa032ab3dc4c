//! `cargo xtask bench discovery`: our engine beside the floors and beside pi's loader.
//!
//! All contenders take turns in the same rounds, so that a disturbance of the machine meets them
//! alike.

use grove_testkit::library::GeneratedLibrary;
use serde_json::json;

use crate::contender::{self, Contender};
use crate::report::{Report, Row};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// Counting the calls of larger libraries takes minutes and says nothing new per skill.
const LARGEST_TRACED: usize = 10_000;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let sizes: Option<String> = arguments.value("--sizes")?;
    let n_rounds: u32 = arguments.value("--runs")?.unwrap_or(31);
    let as_json = arguments.flag("--json");
    arguments.finish()?;
    let sizes = parse_sizes(sizes.as_deref().unwrap_or("100,1000,10000,100000"))?;

    let mut reports = Vec::new();
    for n_skills in sizes {
        eprintln!("measuring {n_skills} skills");
        let report = measure(n_skills, n_rounds)?;
        if as_json {
            reports.push(report.to_json());
        } else {
            report.print();
        }
    }
    if as_json {
        let whole = json!({ "threads": 2, "rounds": n_rounds, "sizes": reports });
        println!("{whole:#}");
    }
    Ok(())
}

fn parse_sizes(text: &str) -> Result<Vec<usize>, String> {
    let parse = |size: &str| match size.trim().parse() {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(format!("--sizes cannot have {size}")),
    };
    text.split(',').map(parse).collect()
}

fn measure(n_skills: usize, n_rounds: u32) -> Result<Report, String> {
    let root = workspace::target().join(format!("bench/{n_skills}"));
    let library = GeneratedLibrary::create(root, n_skills)?;
    let mut contenders = contender::all(library.root());
    for contender in &mut contenders {
        contender.warm_up(n_skills);
    }
    for round in 0..n_rounds {
        // Another one begins each round, so that no one always follows the same neighbour.
        let first = round as usize % contenders.len();
        let (before, after) = contenders.split_at_mut(first);
        for contender in after.iter_mut().chain(before) {
            contender.take_turn(round, n_rounds, n_skills);
        }
    }
    let rows = contenders.iter().map(|contender| row(contender, &library));
    Ok(Report {
        n_skills,
        rows: rows.collect(),
    })
}

fn row(contender: &Contender, library: &GeneratedLibrary) -> Row {
    let calls = if library.n_skills() <= LARGEST_TRACED {
        contender.count_calls(library.root())
    } else {
        Err(format!("counted up to {LARGEST_TRACED} skills"))
    };
    Row {
        name: contender.name,
        floor: contender.floor,
        samples: contender.samples().cloned().map_err(str::to_owned),
        processors: contender.processors().clone(),
        calls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_positive_numbers() {
        assert_eq!(parse_sizes("100, 1000"), Ok(vec![100, 1000]));
        assert!(parse_sizes("100,0").is_err());
    }
}
