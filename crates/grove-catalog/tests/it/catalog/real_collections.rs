//! The laws over the collections of real skills.

use std::path::Path;

use grove_catalog::catalog::{CatalogBudget, CatalogEntryKind, Treatment};
use grove_catalog::host_listing::{ListedForm, ListingOptions, render};
use grove_catalog::hosts::{self, ListMeasure};
use grove_catalog::resolve::SkillRules;
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Snapshot;
use grove_spec::config::Settings;
use grove_testkit::needs;
use grove_testkit::shared::{files_below, real_corpus};

use super::budgets::check_ladder;
use crate::library::{candidate, look_by, root};

/// Every collection with its name, each as the one root of a user.
fn collections() -> Vec<(String, Snapshot)> {
    collections_by(&SkillRules::GROVE)
}

/// The same by other rules.
fn collections_by(rules: &SkillRules) -> Vec<(String, Snapshot)> {
    let corpus = real_corpus().unwrap();
    let files = files_below(&corpus).unwrap();
    let owner = |file: &Path| {
        file.strip_prefix(&corpus)
            .unwrap()
            .iter()
            .next()
            .unwrap()
            .to_owned()
    };
    let skills: Vec<&Path> = files
        .iter()
        .map(std::path::PathBuf::as_path)
        .filter(|file| file.ends_with("SKILL.md"))
        .collect();
    let of_owner = |files: &[&Path]| {
        let name = owner(files[0]);
        let folder = corpus.join(&name);
        let candidates = files.iter().map(|file| {
            let id = file.parent().unwrap().strip_prefix(&folder).unwrap();
            let text = std::fs::read_to_string(file).unwrap();
            candidate(0, id.to_str().unwrap(), &text)
        });
        let mut settings = Settings::default();
        settings.lift_caps();
        let root = root(RootSource::User, "user:skills", "/home/me/.agents/skills");
        let snapshot = look_by(rules.clone(), vec![root], candidates, &settings, Vec::new());
        (name.to_string_lossy().into_owned(), snapshot)
    };
    skills
        .chunk_by(|a, b| owner(a) == owner(b))
        .map(of_owner)
        .collect()
}

#[test]
fn the_laws_hold_for_every_real_collection() {
    needs![RealCollections];
    for (name, snapshot) in collections() {
        check_ladder(&snapshot, 150, &name);
        check_ladder(&snapshot, 30, &name);
    }
}

#[test]
fn all_134_skills_of_a_real_folder_are_described_at_the_default_budget() {
    needs![RealCollections];
    let all = collections();
    let (_, snapshot) = all.iter().find(|(name, _)| name == "K-Dense-AI").unwrap();
    let made = super::plain(snapshot, CatalogBudget::chars(30_000, 150));
    assert_eq!(made.report.lines.len(), 134);
    let described = made.entries.iter().filter(|entry| {
        let text = entry.description.as_deref().unwrap_or_default();
        entry.kind == CatalogEntryKind::Skill && text.chars().count() >= 40
    });
    assert_eq!(described.count(), 134, "{}", made.text);
    assert_eq!(made.report.count(Treatment::Named), 0);
}

/// With a host's own limit, its own counter and no cap on entries, no host names more skills and shows more of their
/// descriptions, although the instructions and the locations of the catalog count too.
#[test]
fn no_host_is_ahead_in_both_names_and_descriptions() {
    needs![RealCollections];
    let mut n_compared = 0;
    for host in hosts::names() {
        let host = hosts::by_name(host).unwrap();
        let options = ListingOptions {
            home: Some("/home/me".into()),
            working: "/home/me".into(),
            ..ListingOptions::default()
        };
        for (name, theirs) in collections_by(&SkillRules::of(&host)) {
            let listing = render(&theirs, &host, &options);
            let Some(limit) = listing.budget.limit else {
                continue;
            };
            let all = collections();
            let (_, ours) = all.iter().find(|(own, _)| *own == name).unwrap();
            // What its author keeps from models is told by some hosts all the same; that is not counted.
            let told = ours.skills.iter().filter(|skill| skill.model_invocable());
            let told: Vec<&str> = told.map(grove_catalog::Skill::id).collect();
            let shown = listing.shown.iter();
            let shown = shown.filter(|one| told.contains(&theirs.skills[one.skill].id()));
            let their_text: usize = shown.clone().map(|one| one.description).sum();
            let their_names = shown.filter(|one| one.how != ListedForm::LeftOut).count();
            let budget = match listing.budget.measure {
                ListMeasure::Units | ListMeasure::Columns => {
                    CatalogBudget::chars(limit, usize::MAX)
                }
                ListMeasure::Tokens => CatalogBudget::tokens(limit, usize::MAX),
            };
            let made = super::plain(ours, budget);
            let is_seen =
                |line: &&grove_catalog::catalog::SkillReport| line.treatment != Treatment::Counted;
            let our_names = made.report.lines.iter().filter(is_seen).count();
            let skills = made
                .entries
                .iter()
                .filter(|entry| entry.kind == CatalogEntryKind::Skill);
            let shown = skills.filter_map(|entry| entry.description.as_deref());
            let our_text: usize = shown.map(|text| text.chars().count()).sum();
            println!(
                "{name} at {} of {limit}: {their_names} names, {their_text} characters; here {our_names}, {our_text}",
                host.title
            );
            assert!(
                our_names >= their_names || our_text >= their_text,
                "{name} at {}: {their_names} and {their_text}, here {our_names} and {our_text}",
                host.title
            );
            n_compared += 1;
        }
    }
    assert!(n_compared >= 16, "four hosts with limits, four collections");
}
