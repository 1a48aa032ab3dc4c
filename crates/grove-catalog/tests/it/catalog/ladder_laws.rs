//! The laws of a catalog's budget, as anybody can check them on the catalogs alone.

use std::collections::BTreeMap;

use grove_catalog::catalog::{Catalog, CatalogEntryKind, Treatment};

/// Whether a catalog with more room has everything that the one with less has: no name is lost, no description is
/// shorter, and if the two differ, the larger one did not fit into the smaller budget.
pub(super) fn loses_nothing(less: &Catalog, more: &Catalog) -> Result<(), String> {
    let worth = |catalog: &Catalog| -> BTreeMap<usize, usize> {
        let lines = catalog.report.lines.iter();
        let lines = lines.map(|line| {
            let entry = line.entry.map(|at| &catalog.entries[at]);
            let shown = entry.filter(|entry| entry.kind == CatalogEntryKind::Skill);
            let shown = shown.and_then(|entry| entry.description.as_deref());
            let kept = shown.map_or(0, |text| text.trim_end_matches('…').chars().count());
            let worth = match line.treatment {
                Treatment::Counted => 0,
                Treatment::Named | Treatment::Inside | Treatment::Opened => 1,
                Treatment::Shortened => 2 + kept,
                Treatment::Listed => usize::MAX,
            };
            (line.skill, worth)
        });
        lines.collect()
    };
    let (before, now) = (worth(less), worth(more));
    if let Some((skill, _)) = before
        .iter()
        .find(|(skill, worth)| now.get(skill) < Some(worth))
    {
        return Err(format!(
            "skill {skill} is worth {:?} and then {:?}",
            before.get(skill),
            now.get(skill)
        ));
    }
    if more.text != less.text && more.report.used <= less.report.budget.size {
        let (used, size) = (more.report.used, less.report.budget.size);
        return Err(format!("{used} would have fitted into {size}"));
    }
    Ok(())
}

/// Whether a catalog of 9,000 characters or more spends 95 % of them, unless nothing is lost or there are as many
/// entries as there may be.
pub(super) fn spends_its_budget(catalog: &Catalog) -> Result<(), String> {
    let report = &catalog.report;
    let (used, size) = (report.used, report.budget.size);
    let is_as_whole_as_can_be = report.lines.iter().all(|line| {
        let entry = line.entry.map(|at| &catalog.entries[at]);
        let shown = entry
            .and_then(|entry| entry.description.as_deref())
            .unwrap_or_default();
        match line.treatment {
            Treatment::Listed | Treatment::Opened | Treatment::Inside => true,
            Treatment::Shortened => shown.chars().count() > 1_000,
            Treatment::Named | Treatment::Counted => false,
        }
    });
    let may_stop = is_as_whole_as_can_be || catalog.entries.len() >= report.budget.entries;
    if size < 9_000 || may_stop || used * 100 >= size * 95 {
        Ok(())
    } else {
        Err(format!(
            "{used} of {size} used, {} entries",
            catalog.entries.len()
        ))
    }
}
