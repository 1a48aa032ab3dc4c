//! Trees, updates and styles: what a catalog looks like beside what it costs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_catalog::catalog::{
    CatalogBudget, CatalogNow, CatalogRequest, CatalogStyle, KnownSkills, Treatment, catalog,
    update,
};
use grove_catalog::root::RootSource;
use grove_catalog::tree::SkillTree;

use super::laws::check_laws;
use super::{Made, described, plain, request, snapshot};

/// A three-level tree: opening a branch puts its children in its place, and the price follows the path.
#[test]
fn a_branch_stands_for_its_children_until_it_is_opened() {
    let mut skills = vec![Made::new(
        0,
        "docs",
        "Writes documents. Use when a document is asked for.",
    )];
    for middle in ["pdf", "word", "slides"] {
        skills.push(Made::new(
            0,
            &format!("docs/skills/{middle}"),
            &format!("Makes {middle} files of any kind."),
        ));
        for leaf in ["tables", "forms", "charts"] {
            skills.push(Made::new(
                0,
                &format!("docs/skills/{middle}/skills/{middle}-{leaf}"),
                &format!("Puts {leaf} into {middle} files."),
            ));
        }
    }
    let mut snapshot = snapshot(&[RootSource::User], &skills);
    let at = |id: &str| {
        snapshot
            .skills
            .iter()
            .position(|skill| skill.id() == id)
            .unwrap()
    };
    let mut pairs = Vec::new();
    for middle in ["pdf", "word", "slides"] {
        let id = format!("docs/skills/{middle}");
        pairs.push((at(&id), at("docs")));
        pairs.extend(
            ["tables", "forms", "charts"]
                .map(|leaf| (at(&format!("{id}/skills/{middle}-{leaf}")), at(&id))),
        );
    }
    snapshot.tree = SkillTree::of(pairs);
    let budget = CatalogBudget::chars(30_000, 150);
    let names = |expanded: &[&str]| {
        let expanded: Vec<String> = expanded
            .iter()
            .map(|id| format!("{id}@user:skills"))
            .collect();
        let usage = BTreeMap::new();
        let request = request(budget, &usage, &expanded);
        let made = catalog(&snapshot, &request);
        check_laws(&snapshot, &made, &request).unwrap();
        made.entries
            .into_iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["docs"]);
    assert_eq!(names(&["docs"]), ["pdf", "slides", "word"]);
    assert_eq!(
        names(&["docs", "docs/skills/pdf"]),
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
    // Asked for by name, an inner branch opens alone.
    assert_eq!(
        names(&["docs/skills/pdf"]),
        ["docs", "pdf-charts", "pdf-forms", "pdf-tables"]
    );
}

/// A child hangs on its nearest ancestor that may be shown.
#[test]
fn a_parent_that_is_not_shown_hides_nobody() {
    let skills = [
        Made::new(0, "top", "Is the top of them all."),
        Made::new(0, "top/mid", "Is between the others."),
        Made::new(0, "top/mid/low", "Is the lowest of them."),
    ];
    let mut snapshot = snapshot(&[RootSource::User], &skills);
    snapshot.tree = SkillTree::of([(1, 0), (2, 1)]);
    snapshot.skills[1].state = grove_catalog::EntryState::Disabled;
    let expanded = ["top@user:skills".to_owned()];
    let made = catalog(
        &snapshot,
        &request(
            CatalogBudget::chars(30_000, 150),
            &BTreeMap::new(),
            &expanded,
        ),
    );
    assert_eq!(
        made.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["low"]
    );
    snapshot.skills[0].state = grove_catalog::EntryState::Disabled;
    let made = plain(&snapshot, CatalogBudget::chars(30_000, 150));
    assert_eq!(
        made.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["low"]
    );
}

#[test]
fn what_the_reader_has_is_not_told_again() {
    let snapshot = snapshot(&[RootSource::User], &described(3, 50));
    let exclude = ["skill-00001@user:skills".to_owned()];
    let usage = BTreeMap::new();
    let request = CatalogRequest {
        exclude: &exclude,
        task: None,
        ..request(CatalogBudget::chars(30_000, 150), &usage, &[])
    };
    let names: Vec<String> = catalog(&snapshot, &request)
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["skill-00000", "skill-00002"]);
}

/// The update from one library to another, both within a budget.
fn updated(before: &[Made], now: &[Made], budget: CatalogBudget, style: CatalogStyle) -> String {
    let [before, now] = [before, now].map(|made| snapshot(&[RootSource::User], made));
    let catalog = plain(&now, budget);
    let [old, new] = [&before, &now].map(|it| KnownSkills::of(it, None, &[]));
    assert_eq!(KnownSkills::parse(&old.to_text()), Some(old.clone()));
    let now = CatalogNow {
        snapshot: &now,
        exclude: &[],
        catalog: &catalog,
        style,
    };
    update(&old, &new, &now)
}

#[test]
fn an_update_tells_only_what_changed() {
    let before = described(30, 100);
    let mut skills = described(30, 100);
    skills[3].description = "Something else altogether.".to_owned();
    skills.remove(9);
    let budget = CatalogBudget::chars(30_000, 150);
    let fragment = updated(&before, &skills, budget, CatalogStyle::Xml);
    assert_eq!(fragment.matches("skill-00003<").count(), 1, "{fragment}");
    assert_eq!(fragment.matches("skill-00009<").count(), 1);
    assert_eq!(fragment.matches("<skill>").count(), 2);
    assert_eq!(updated(&before, &before, budget, CatalogStyle::Xml), "");
}

/// One more skill shortens the descriptions of others, closes groups and takes entries away; none of that is news.
#[test]
fn an_update_after_one_new_skill_names_that_skill_alone() {
    for (count, length, size) in [(30, 400, 6_000), (300, 200, 30_000), (700, 300, 30_000)] {
        let before = described(count, length);
        let mut now = described(count, length);
        now.push(Made::new(0, "zz-new", "Is new here."));
        let budget = CatalogBudget::chars(size, 150);
        let fragment = updated(&before, &now, budget, CatalogStyle::Xml);
        assert_eq!(fragment.matches("<skill>").count(), 1, "{fragment}");
        assert!(
            fragment.contains("<added>\n<skill><name>zz-new<"),
            "{fragment}"
        );
        let fragment = updated(&now, &before, budget, CatalogStyle::Markdown);
        assert_eq!(fragment.matches("- **").count(), 1, "{fragment}");
        assert!(fragment.contains("<removed>\n- **zz-new**"), "{fragment}");
    }
}

/// No index has more than twelve entries, also that of a branch.
#[test]
fn the_index_of_a_wide_branch_is_divided() {
    let mut skills = vec![Made::new(0, "top", "Is on top of the others.")];
    skills.extend((0..40).map(|at| {
        let id = format!("top/child-{at}");
        Made::new(0, &id, "Is below it, as one of many.")
    }));
    let mut snapshot = snapshot(&[RootSource::User], &skills);
    snapshot.tree = SkillTree::of((1..41).map(|at| (at, 0)));
    let usage = BTreeMap::new();
    let request = request(CatalogBudget::chars(30_000, 150), &usage, &[]);
    let made = catalog(&snapshot, &request);
    check_laws(&snapshot, &made, &request).unwrap();
    assert_eq!(made.report.count(Treatment::Inside), 40);
    assert_eq!(
        made.index.len(),
        5,
        "four of ten, and the one that leads to them"
    );
}

#[test]
fn a_folder_cannot_redefine_an_alias() {
    let skills = described(60, 100);
    let mut snapshot = snapshot(&[RootSource::Package], &skills);
    snapshot.roots[0].path = PathBuf::from("/srv/a folder; r2 = ~/evil/skills");
    let made = plain(&snapshot, CatalogBudget::chars(6_000, 150));
    let legend = made
        .text
        .lines()
        .find(|line| line.starts_with("Locations:"));
    assert_eq!(legend, Some("Locations: r2 = ~/.cache/grove/index;"));
}
