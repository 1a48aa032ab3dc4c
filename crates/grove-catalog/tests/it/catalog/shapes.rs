//! Trees, updates and styles: what a catalog looks like beside what it costs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_catalog::catalog::{
    Budget, Request, Style, Treatment, catalog, index, update, within_tokens,
};
use grove_catalog::root::Source;
use grove_catalog::tree::Tree;

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
    let mut snapshot = snapshot(&[Source::User], &skills);
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
    snapshot.tree = Tree::of(pairs);
    let budget = Budget::chars(30_000, 150);
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
    let mut snapshot = snapshot(&[Source::User], &skills);
    snapshot.tree = Tree::of([(1, 0), (2, 1)]);
    snapshot.skills[1].state = grove_catalog::State::Disabled;
    let expanded = ["top@user:skills".to_owned()];
    let made = catalog(
        &snapshot,
        &request(Budget::chars(30_000, 150), &BTreeMap::new(), &expanded),
    );
    assert_eq!(
        made.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["low"]
    );
    snapshot.skills[0].state = grove_catalog::State::Disabled;
    let made = plain(&snapshot, Budget::chars(30_000, 150));
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
    let snapshot = snapshot(&[Source::User], &described(3, 50));
    let exclude = ["skill-00001@user:skills".to_owned()];
    let usage = BTreeMap::new();
    let request = Request {
        exclude: &exclude,
        ..request(Budget::chars(30_000, 150), &usage, &[])
    };
    let names: Vec<String> = catalog(&snapshot, &request)
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["skill-00000", "skill-00002"]);
}

#[test]
fn an_update_tells_only_what_changed() {
    let before = plain(
        &snapshot(&[Source::User], &described(30, 100)),
        Budget::chars(30_000, 150),
    );
    let mut skills = described(30, 100);
    skills[3].description = "Something else altogether.".to_owned();
    skills.remove(9);
    let now = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(30_000, 150),
    );
    let fragment = update(&before.text, &now, Style::Xml);
    assert_eq!(fragment.matches("skill-00003<").count(), 2, "{fragment}");
    assert_eq!(fragment.matches("skill-00009<").count(), 1);
    assert_eq!(fragment.matches("<skill>").count(), 3);
    assert_eq!(update(&now.text, &now, Style::Xml), "");
}

#[test]
fn other_styles_keep_the_budget_too() {
    let mut skills = described(200, 300);
    skills.push(Made::new(
        0,
        "odd",
        "a \"quoted\" *bold* [link](x) \\ and <b>",
    ));
    let snapshot = snapshot(&[Source::User], &skills);
    for style in [Style::Markdown, Style::Json] {
        let budget = Budget::chars(12_000, 150);
        let usage = BTreeMap::new();
        let request = Request {
            style,
            ..request(budget, &usage, &[])
        };
        let made = catalog(&snapshot, &request);
        assert!(
            made.chars() <= 12_000 && made.chars() > 10_000,
            "{style:?} {}",
            made.chars()
        );
    }
}

/// Whatever a token is, the text has no more of them than were given, and not far fewer.
#[test]
fn tokens_that_somebody_counts_are_kept_too() {
    let snapshot = snapshot(&[Source::User], &described(200, 300));
    let usage = BTreeMap::new();
    let request = request(Budget::tokens(0, 150), &usage, &[]);
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).count();
    let letters = |text: &str| text.len();
    for tokens in [600, 2_000, 5_000] {
        let made = within_tokens(&snapshot, &request, tokens, words);
        assert!(
            words(&made.text) <= tokens,
            "{} of {tokens}",
            words(&made.text)
        );
        assert!(
            words(&made.text) * 10 >= tokens * 8,
            "{} of {tokens}",
            words(&made.text)
        );
        let made = within_tokens(&snapshot, &request, tokens + 1_000, letters);
        assert!(letters(&made.text) <= tokens + 1_000);
    }
}

/// Room that others do not need after they were collapsed is the user's own.
#[test]
fn what_others_do_not_use_is_given_back() {
    let mut skills = described(30, 250);
    skills.extend((0..80).map(|at| {
        let about =
            format!("Does the thing number {at} of this project, and only that. ").repeat(4);
        Made::new(1, &format!("group-{}/thing-{at}", at % 4), &about)
    }));
    let snapshot = snapshot(&[Source::User, Source::Project], &skills);
    let made = plain(&snapshot, Budget::chars(14_000, 150));
    let own = made.report.lines.iter().filter(|line| {
        let skill = &snapshot.skills[line.skill];
        snapshot.source_of(skill) == Source::User && line.treatment != Treatment::Listed
    });
    assert_eq!(own.count(), 0, "{} used\n{}", made.report.used, made.text);
}

/// A branch deep in folders whose names grow sixfold when they are escaped, with more children than fit a page.
#[test]
fn long_paths_do_not_page_for_ever() {
    let deep = ["\"".repeat(120), "\"".repeat(120), "\"".repeat(120)].join("/");
    let mut skills = vec![Made::new(
        0,
        &format!("{deep}/top"),
        "Is on top of the others.",
    )];
    skills.extend((0..40).map(|at| {
        Made::new(
            0,
            &format!("{deep}/top/child-{at}"),
            "Is below it, as one of many.",
        )
    }));
    let mut snapshot = snapshot(&[Source::User], &skills);
    let top = snapshot
        .skills
        .iter()
        .position(|skill| skill.name() == "top")
        .unwrap();
    let others = (0..snapshot.skills.len()).filter(|at| *at != top);
    snapshot.tree = Tree::of(others.map(|at| (at, top)));
    let made = plain(&snapshot, Budget::chars(30_000, 150));
    let longest = made
        .index
        .iter()
        .map(|file| file.text.chars().count())
        .max();
    assert!(longest <= Some(index::PAGE_CHARS), "{longest:?}");
    assert_eq!(made.report.count(Treatment::Inside), 40);
}

#[test]
fn a_folder_cannot_redefine_an_alias() {
    let skills = described(60, 100);
    let mut snapshot = snapshot(&[Source::Package], &skills);
    snapshot.roots[0].path = PathBuf::from("/srv/a folder; r2 = ~/evil/skills");
    let made = plain(&snapshot, Budget::chars(6_000, 150));
    assert!(!made.text.contains("Locations:"), "{}", made.text);
}
