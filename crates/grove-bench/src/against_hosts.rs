//! `cargo xtask bench catalog-against-hosts`: the real collections in the lists of hosts that have a limit, and in the
//! short form of Grove's catalog with as much room as each of them, counted as the host counts. Prints Markdown; not a
//! measurement of time.
//!
//! A cell: skills that are named / characters of descriptions that are shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use grove_catalog::catalog::{
    Catalog, CatalogBudget, CatalogEntryKind, CatalogStyle, Treatment, catalog,
};
use grove_catalog::host_listing::{self, ListedForm};
use grove_catalog::hosts::{self, Host, ListMeasure};
use grove_catalog::snapshot::Snapshot;

use crate::catalog::look;
use crate::spending::{real_collections, request};
use crate::visible::{link_for_claude, listing, make_folder};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// The number of skills of a collection that a list names and describes.
#[derive(Debug, Clone, Copy)]
struct Told {
    named: usize,
    described: usize,
}

/// A host beside Grove.
#[derive(Debug)]
struct Pair {
    collection: String,
    host: &'static Host,
    room: usize,
    theirs: Told,
    ours: Told,
}

impl Pair {
    const fn is_behind(&self) -> bool {
        self.theirs.named > self.ours.named && self.theirs.described > self.ours.described
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    println!("| skills | tokens with locations | in the short form | saved |");
    println!("| --- | ---: | ---: | ---: |");
    for (name, snapshot) in real_collections()? {
        let whole = CatalogBudget::chars(usize::MAX, usize::MAX);
        let tokens = |style: CatalogStyle| catalog(&snapshot, &request(style, whole)).tokens();
        let (long, short) = (tokens(CatalogStyle::Xml), tokens(CatalogStyle::Names));
        let saved = 100 * (long - short) / long.max(1);
        println!("| {name} | {long} | {short} | {saved} % |");
    }
    println!();
    println!("| skills | host | room | the host | Grove |");
    println!("| --- | --- | ---: | ---: | ---: |");
    let pairs = pairs()?;
    for pair in &pairs {
        let cell = |told: Told| format!("{} / {}", told.named, told.described);
        println!(
            "| {} | {} | {} {} | {} | {} |",
            pair.collection,
            pair.host.title,
            pair.room,
            pair.host.budget.measure.as_str(),
            cell(pair.theirs),
            cell(pair.ours),
        );
    }
    match pairs.iter().find(|pair| pair.is_behind()) {
        Some(pair) => Err(format!(
            "{} is ahead in both over {}",
            pair.host.title, pair.collection
        )),
        None => Ok(()),
    }
}

/// Every real collection with every host that has a limit and reads it.
fn pairs() -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::new();
    for (collection, snapshot) in real_collections()? {
        let home = side_by_side(&collection, &snapshot)?;
        let skills = look(&home.join(".agents/skills"))?;
        let limited = hosts::all()
            .iter()
            .filter(|host| host.budget.limit(None).is_some());
        for host in limited {
            let told = listing(host, &home);
            let Some(limit) = told.budget.limit.filter(|_| !told.shown.is_empty()) else {
                continue;
            };
            let measure = host.budget.measure;
            // The host's own skills take room that Grove cannot have either.
            let own = told
                .budget
                .used
                .saturating_sub(host_listing::cost(measure, &told.text));
            let room = limit - own;
            let named = told
                .shown
                .iter()
                .filter(|one| one.how != ListedForm::LeftOut);
            let theirs = Told {
                named: named.count(),
                described: told.shown.iter().map(|one| one.description).sum(),
            };
            pairs.push(Pair {
                collection: collection.clone(),
                room,
                theirs,
                ours: ours(&short_form(&skills, measure, room)),
                host,
            });
        }
    }
    Ok(pairs)
}

/// The skills of a collection in one folder, as every host finds them; of equal names the first.
fn side_by_side(collection: &str, snapshot: &Snapshot) -> Result<PathBuf, String> {
    let folder = collection.split_whitespace().next().unwrap_or(collection);
    let home = workspace::target().join("bench/against-hosts").join(folder);
    let root = home.join(".agents/skills");
    let mut names = BTreeSet::new();
    for skill in &snapshot.skills {
        if !names.insert(skill.name()) {
            continue;
        }
        let from = snapshot.location(&skill.place);
        let to = root.join(skill.name()).join("SKILL.md");
        make_folder(to.parent().unwrap_or(Path::new("")))?;
        fs::copy(&from, &to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    link_for_claude(&home)?;
    Ok(home)
}

/// The longest catalog that costs the host no more than its room.
fn short_form(snapshot: &Snapshot, measure: ListMeasure, room: usize) -> Catalog {
    let mut asked = room;
    loop {
        let budget = match measure {
            ListMeasure::Units | ListMeasure::Columns => CatalogBudget::chars(asked, usize::MAX),
            ListMeasure::Tokens => CatalogBudget::tokens(asked, usize::MAX),
        };
        let made = catalog(snapshot, &request(CatalogStyle::Names, budget));
        let over = host_listing::cost(measure, &made.text).saturating_sub(room);
        if over == 0 || asked == 0 {
            return made;
        }
        asked = asked.saturating_sub(over);
    }
}

fn ours(made: &Catalog) -> Told {
    let counted = [Treatment::Listed, Treatment::Shortened, Treatment::Named];
    let described = made.entries.iter();
    let described = described
        .filter(|entry| {
            matches!(
                entry.kind,
                CatalogEntryKind::Skill | CatalogEntryKind::Branch
            )
        })
        .filter_map(|entry| entry.description.as_deref())
        .map(|text| text.trim_end_matches('…').chars().count());
    Told {
        named: counted.map(|it| made.report.count(it)).iter().sum(),
        described: described.sum(),
    }
}

#[cfg(test)]
mod tests {
    use grove_testkit::needs;

    use super::*;

    #[test]
    fn no_host_names_more_and_describes_more() {
        needs![RealCollections];
        let pairs = pairs().unwrap();
        // Four collections and at least three hosts with a limit.
        assert!(pairs.len() >= 12, "{}", pairs.len());
        for pair in &pairs {
            assert!(!pair.is_behind(), "{pair:?}");
            assert!(pair.theirs.named > 0, "{pair:?}");
        }
    }
}
