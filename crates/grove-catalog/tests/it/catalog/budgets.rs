//! What is shortened, closed and left out when there is not room for everything.

use std::collections::BTreeMap;

use grove_catalog::catalog::{Budget, EntryKind, Request, Treatment, catalog};
use grove_catalog::root::Source;

use super::{Made, described, plain, request, snapshot};

#[test]
fn fifty_two_skills_are_shown_in_full_at_the_default_budget() {
    let made = plain(
        &snapshot(&[Source::User], &described(52, 300)),
        Budget::chars(30_000, 150),
    );
    assert_eq!(made.entries.len(), 52);
    assert!(made.report.is_whole() && made.index.is_empty());
    assert!(
        !made.text.contains("Locations:"),
        "aliases only where they are needed"
    );
}

#[test]
fn nothing_is_said_when_there_is_nothing() {
    let made = plain(&snapshot(&[Source::User], &[]), Budget::chars(30_000, 150));
    assert_eq!((made.text.as_str(), made.entries.len()), ("", 0));
}

#[test]
fn instructions_are_short() {
    assert!(grove_catalog::catalog::INSTRUCTIONS.len() <= 400);
}

/// Locations first, then groups, then descriptions, then names: each step is taken only when the ones
/// before it did not suffice.
#[test]
fn the_steps_come_in_their_order() {
    let mut skills = described(10, 200);
    for (at, made) in skills.iter_mut().enumerate() {
        made.id = format!("{}/skill-{at}", if at < 5 { "one" } else { "two" });
    }
    let snapshot = snapshot(&[Source::Package], &skills);
    let whole = plain(&snapshot, Budget::chars(30_000, 150));
    let at = |size: usize| plain(&snapshot, Budget::chars(size, 150));
    let aliased = at(whole.chars() - 1);
    assert!(
        aliased.report.is_whole() && aliased.text.contains("Locations:"),
        "{}",
        aliased.text
    );
    let collapsed = at(aliased.chars() - 1);
    let kinds: Vec<EntryKind> = collapsed.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == EntryKind::Group)
            .count(),
        1,
        "one group suffices: {kinds:?}"
    );
    assert_eq!(collapsed.report.count(Treatment::Shortened), 0);
    assert_eq!(collapsed.report.count(Treatment::Collapsed), 5);
}

#[test]
fn descriptions_are_shortened_before_names_stand_alone() {
    let snapshot = snapshot(&[Source::User], &described(60, 300));
    let shorter = plain(&snapshot, Budget::chars(16_000, 150));
    assert_eq!(shorter.report.count(Treatment::Shortened), 60);
    let names = plain(&snapshot, Budget::chars(9_000, 150));
    assert!(names.report.count(Treatment::NameOnly) > 0);
    assert_eq!(names.report.count(Treatment::LeftOut), 0);
    let bare: Vec<bool> = names
        .entries
        .iter()
        .map(|entry| entry.description.is_none())
        .collect();
    assert!(bare.is_sorted(), "only the last ones go without");
    let out = plain(&snapshot, Budget::chars(3_000, 150));
    let rest = out.entries.last().map(|entry| (entry.kind, entry.skills));
    assert_eq!(
        rest,
        Some((EntryKind::Rest, out.report.count(Treatment::LeftOut)))
    );
}

#[test]
fn a_group_of_two_is_never_collapsed() {
    let skills: Vec<Made> = (0..40)
        .map(|at| {
            Made::new(
                0,
                &format!("group-{}/skill-{at}", at / 2),
                &"word ".repeat(50),
            )
        })
        .collect();
    let made = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(4_000, 150),
    );
    assert_eq!(made.report.count(Treatment::Collapsed), 0);
}

#[test]
fn a_project_cannot_take_the_half_of_the_users_own() {
    let mut skills = described(40, 250);
    skills.extend(
        (0..500).map(|at| Made::new(1, &format!("flood-{at}"), &"flood of words, ".repeat(60))),
    );
    let made = plain(
        &snapshot(&[Source::User, Source::Project], &skills),
        Budget::chars(30_000, 150),
    );
    let snapshot = snapshot(&[Source::User, Source::Project], &skills);
    let own = made
        .report
        .lines
        .iter()
        .filter(|line| snapshot.source_of(&snapshot.skills[line.skill]) == Source::User);
    assert!(
        own.clone().count() == 40 && own.clone().all(|line| line.treatment == Treatment::Listed)
    );
    assert!(
        made.entries
            .iter()
            .any(|entry| entry.name.starts_with("flood")),
        "nor does the project starve"
    );
}

#[test]
fn a_large_collection_does_not_hide_a_project() {
    let mut skills = described(500, 250);
    skills.extend((0..5).map(|at| {
        Made::new(
            1,
            &format!("ours-{at}"),
            "What this project needs. Use when working here.",
        )
    }));
    let made = plain(
        &snapshot(&[Source::User, Source::Project], &skills),
        Budget::chars(30_000, 150),
    );
    assert_eq!(
        made.entries
            .iter()
            .filter(|entry| entry.name.starts_with("ours"))
            .count(),
        5
    );
}

#[test]
fn one_endless_description_does_not_starve_the_others() {
    let mut skills = described(20, 200);
    skills.push(Made::new(
        0,
        "greedy",
        &"more words than anybody reads, ".repeat(3_000),
    ));
    let made = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(30_000, 150),
    );
    assert_eq!(made.report.count(Treatment::Listed), 20);
    assert_eq!(made.report.count(Treatment::Shortened), 1);
    let greedy = made
        .entries
        .iter()
        .find(|entry| entry.name == "greedy")
        .and_then(|entry| entry.description.clone())
        .unwrap_or_default();
    assert!(
        greedy.chars().count() <= 1_024 && greedy.ends_with('…'),
        "{greedy}"
    );
}

#[test]
fn pinned_and_used_skills_keep_their_descriptions() {
    let skills = described(140, 300);
    let snapshot = snapshot(&[Source::User], &skills);
    let usage: BTreeMap<String, u32> = [("skill-00130@user:skills".to_owned(), 9)].into();
    let pinned = ["skill-00139".to_owned()];
    let budget = Budget::chars(16_000, 150);
    let request = Request {
        pinned: &pinned,
        ..request(budget, &usage, &[])
    };
    let made = catalog(&snapshot, &request);
    let of = |name: &str| {
        made.entries
            .iter()
            .position(|entry| entry.name == name && entry.description.is_some())
    };
    assert_eq!(of("skill-00139"), Some(0), "what is pinned comes first");
    assert!(of("skill-00130").is_some());
    assert!(of("skill-00138").is_none());
}
