//! `grove skills confusable`: skills that a model would mix up, and what to change.

use grove_catalog::search::confusable::ConfusableSkills;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_skills::search::Searcher;
use grove_spec::Diagnostic;
use serde_json::{Value, json};

use super::{DiscoveredLibrary, counted, unread};
use crate::json::{DiagnosticJson, SnapshotJson};
use crate::output::CommandOutput;

pub(super) fn run(discovered: &mut DiscoveredLibrary, json: bool, out: &mut CommandOutput) -> u8 {
    let (snapshot, found, diagnostics) =
        Searcher::default().confusable_in(&mut discovered.library, &discovered.discovery);
    if json {
        out.json(&to_json(&snapshot, &found, &diagnostics));
        return 0;
    }
    out.diagnostics(&diagnostics);
    unread::say(&snapshot, discovered.library.environment(), out);
    let name = |at: &usize| snapshot.skills.get(*at).map_or("", Skill::name);
    let names = |skills: &[usize]| skills.iter().map(name).collect::<Vec<_>>();
    for family in &found.families {
        out.line(&format!("family: {}", names(&family.skills).join(", ")));
        out.line(&format!("  change: {}", family.change));
    }
    for pair in &found.pairs {
        let both = names(&pair.skills).join(" and ");
        out.line(&format!("pair: {both} ({:.2})", pair.alike));
        if !pair.shared.is_empty() {
            out.line(&format!("  both say: {}", pair.shared.join(", ")));
        }
        out.line(&format!("  change: {}", pair.change));
    }
    for broad in &found.broad {
        let (name, answers, asked) = (name(&broad.skill), broad.answers, broad.asked);
        out.line(&format!(
            "broad: {name} is among the first for {answers} of {asked} other descriptions"
        ));
        out.line(&format!("  change: {}", broad.change));
    }
    let families = match found.families.len() {
        1 => "1 family".to_owned(),
        n => format!("{n} families"),
    };
    let pairs = counted(found.pairs.len() + found.more_pairs, "pair");
    let broad = counted(found.broad.len(), "broad skill");
    out.note(&format!("{pairs}, {families}, {broad}"));
    if found.more_pairs > 0 {
        let more = counted(found.more_pairs, "pair");
        out.note(&format!("{more} are not named"));
    }
    0
}

fn to_json(snapshot: &Snapshot, found: &ConfusableSkills, diagnostics: &[Diagnostic]) -> Value {
    let skill = |at: &usize| {
        let skill = snapshot.skills.get(*at)?;
        let address = snapshot.address(skill);
        Some(json!({ "id": skill.id(), "name": skill.name(), "address": address }))
    };
    let skills = |all: &[usize]| all.iter().filter_map(skill).collect::<Vec<_>>();
    let pairs = found.pairs.iter().map(|pair| {
        json!({
            "skills": skills(&pair.skills),
            "alike": (f64::from(pair.alike) * 1_000.0).round() / 1_000.0,
            "shared": pair.shared,
            "change": pair.change,
        })
    });
    let families = found.families.iter();
    let families =
        families.map(|family| json!({ "skills": skills(&family.skills), "change": family.change }));
    let broad = found.broad.iter().map(|broad| {
        json!({
            "skill": skill(&broad.skill),
            "answers": broad.answers,
            "asked": broad.asked,
            "change": broad.change,
        })
    });
    json!({
        "schema": "grove.skills.confusable/1",
        "snapshot": SnapshotJson::new(snapshot),
        "pairs": pairs.collect::<Vec<_>>(),
        "morePairs": found.more_pairs,
        "families": families.collect::<Vec<_>>(),
        "broad": broad.collect::<Vec<_>>(),
        "diagnostics": DiagnosticJson::list(diagnostics.iter().chain(unread::roots(snapshot))),
    })
}
