//! `grove skills confusable`: skills that a model would mix up, and what to change.

use grove_catalog::search::confusable::Confusable;
use grove_catalog::snapshot::Snapshot;
use grove_skills::search::Searcher;
use serde::Serialize;
use serde_json::json;

use super::{Looked, counted};
use crate::json::{DiagnosticJson, SnapshotJson};
use crate::output::Output;

pub(super) fn run(looked: &mut Looked, json: bool, out: &mut Output) -> u8 {
    let (snapshot, found, diagnostics) =
        Searcher::default().confusable_in(&mut looked.library, &looked.look);
    if json {
        out.json(&json!({
            "schema": "grove.skills.confusable/1",
            "snapshot": SnapshotJson::new(&snapshot),
            "pairs": pairs(&snapshot, &found),
            "morePairs": found.more_pairs,
            "families": families(&snapshot, &found),
            "broad": broad(&snapshot, &found),
            "diagnostics": DiagnosticJson::list(&diagnostics),
        }));
        return 0;
    }
    for finding in &diagnostics {
        out.diagnostic(finding);
    }
    for family in families(&snapshot, &found) {
        let names: Vec<&str> = family.skills.iter().map(|skill| skill.name).collect();
        out.line(&format!("family: {}", names.join(", ")));
        out.line(&format!("  change: {}", family.change));
    }
    for pair in pairs(&snapshot, &found) {
        let names: Vec<&str> = pair.skills.iter().map(|skill| skill.name).collect();
        out.line(&format!(
            "pair: {} ({:.2})",
            names.join(" and "),
            pair.alike
        ));
        if !pair.shared.is_empty() {
            out.line(&format!("  both say: {}", pair.shared.join(", ")));
        }
        out.line(&format!("  change: {}", pair.change));
    }
    for skill in broad(&snapshot, &found) {
        out.line(&format!(
            "broad: {} is among the first for {} of {} other descriptions",
            skill.skill.name, skill.answers, skill.asked
        ));
        out.line(&format!("  change: {}", skill.change));
    }
    out.note(&format!(
        "{}, {}, {}",
        counted(found.pairs.len() + found.more_pairs, "pair"),
        if found.families.len() == 1 {
            "1 family".to_owned()
        } else {
            format!("{} families", found.families.len())
        },
        counted(found.broad.len(), "broad skill"),
    ));
    if found.more_pairs > 0 {
        out.note(&format!(
            "{} are not named",
            counted(found.more_pairs, "pair")
        ));
    }
    0
}

#[derive(Serialize)]
struct NamedJson<'a> {
    id: &'a str,
    name: &'a str,
    address: String,
}

#[derive(Serialize)]
struct PairJson<'a> {
    skills: Vec<NamedJson<'a>>,
    alike: f64,
    shared: &'a [String],
    change: &'a str,
}

#[derive(Serialize)]
struct FamilyJson<'a> {
    skills: Vec<NamedJson<'a>>,
    change: &'a str,
}

#[derive(Serialize)]
struct BroadJson<'a> {
    skill: NamedJson<'a>,
    answers: usize,
    asked: usize,
    change: &'a str,
}

fn named(snapshot: &Snapshot, at: usize) -> Option<NamedJson<'_>> {
    let skill = snapshot.skills.get(at)?;
    Some(NamedJson {
        id: skill.id(),
        name: skill.name(),
        address: snapshot.address(skill),
    })
}

fn all_named<'a>(snapshot: &'a Snapshot, skills: &[usize]) -> Vec<NamedJson<'a>> {
    let skills = skills.iter();
    skills.filter_map(|at| named(snapshot, *at)).collect()
}

fn pairs<'a>(snapshot: &'a Snapshot, found: &'a Confusable) -> Vec<PairJson<'a>> {
    let pair = |pair: &'a grove_catalog::search::confusable::Pair| PairJson {
        skills: all_named(snapshot, &pair.skills),
        alike: (f64::from(pair.alike) * 1_000.0).round() / 1_000.0,
        shared: &pair.shared,
        change: &pair.change,
    };
    found.pairs.iter().map(pair).collect()
}

fn families<'a>(snapshot: &'a Snapshot, found: &'a Confusable) -> Vec<FamilyJson<'a>> {
    let family = |family: &'a grove_catalog::search::confusable::Family| FamilyJson {
        skills: all_named(snapshot, &family.skills),
        change: &family.change,
    };
    found.families.iter().map(family).collect()
}

fn broad<'a>(snapshot: &'a Snapshot, found: &'a Confusable) -> Vec<BroadJson<'a>> {
    let broad = found.broad.iter();
    broad
        .filter_map(|broad| {
            Some(BroadJson {
                skill: named(snapshot, broad.skill)?,
                answers: broad.answers,
                asked: broad.asked,
                change: &broad.change,
            })
        })
        .collect()
}
