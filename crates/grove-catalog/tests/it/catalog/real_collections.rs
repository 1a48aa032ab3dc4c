//! The laws over the collections of real skills.

use std::path::Path;

use grove_catalog::catalog::{EntryKind, Treatment};
use grove_catalog::root::Source;
use grove_catalog::snapshot::Snapshot;
use grove_spec::config::Settings;
use grove_testkit::shared::{files_below, real_corpus};

use super::budgets::check_ladder;
use crate::library::{candidate, look, root};

/// Every collection with its name, each as the one root of a user.
pub(crate) fn collections() -> Vec<(String, Snapshot)> {
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
        .map(|file| file.as_path())
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
        let root = root(Source::User, "user:skills", "/home/me/.agents/skills");
        let snapshot = look(vec![root], candidates, &settings);
        (name.to_string_lossy().into_owned(), snapshot)
    };
    skills
        .chunk_by(|a, b| owner(a) == owner(b))
        .map(of_owner)
        .collect()
}

#[test]
fn the_laws_hold_for_every_real_collection() {
    for (name, snapshot) in collections() {
        check_ladder(&snapshot, 150, &name);
        check_ladder(&snapshot, 30, &name);
    }
}

#[test]
fn all_134_skills_of_a_real_folder_are_described_at_the_default_budget() {
    let all = collections();
    let (_, snapshot) = all.iter().find(|(name, _)| name == "K-Dense-AI").unwrap();
    let made = super::plain(snapshot, grove_catalog::catalog::Budget::chars(30_000, 150));
    assert_eq!(made.report.lines.len(), 134);
    let described = made.entries.iter().filter(|entry| {
        let text = entry.description.as_deref().unwrap_or_default();
        entry.kind == EntryKind::Skill && text.chars().count() >= 40
    });
    assert_eq!(described.count(), 134, "{}", made.text);
    assert_eq!(made.report.count(Treatment::Named), 0);
}
