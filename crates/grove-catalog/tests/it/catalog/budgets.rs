//! What a budget buys: the laws of the ladder over generated libraries, and cases of each step.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::EntryState;
use grove_catalog::catalog::{
    BudgetUnit, Catalog, CatalogBudget, CatalogEntryKind, CatalogRequest, CatalogStyle, Treatment,
    catalog, within_tokens,
};
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Snapshot;

use super::ladder_laws::{loses_nothing, spends_its_budget};
use super::laws::check_laws;
use super::{Made, described, plain, request, snapshot};

const BUDGETS: [usize; 14] = [
    2_000, 2_500, 3_000, 4_000, 6_000, 8_000, 9_000, 10_000, 12_000, 18_000, 30_000, 45_000,
    60_000, 100_000,
];

const WORDS: [&str; 24] = [
    "deploy",
    "azure",
    "review",
    "pdf",
    "chart",
    "audit",
    "python",
    "rust",
    "query",
    "mail",
    "browser",
    "figma",
    "genome",
    "invoice",
    "kernel",
    "lint",
    "music",
    "notes",
    "oauth",
    "parser",
    "queue",
    "redis",
    "slides",
    "terraform",
];

/// A name of two or three words, the same for the same number.
fn name(at: usize) -> String {
    let word = |n: usize| WORDS[n % WORDS.len()];
    let (a, b) = (word(at * 7 + at / 24), word(at * 5 + 3 + at / 60));
    format!("{a}-{b}-{at:04}")
}

/// Skills that lie in a shape's folders.
fn shaped(shape: &str, count: usize) -> Vec<Made> {
    let folder = |at: usize| match shape {
        "flat" => String::new(),
        "one-group" => "all/".to_owned(),
        "grouped" => format!("group-{:02}/", at % (count / 15).clamp(2, 90)),
        "deep" => format!("area-{}/topic-{}/part-{}/", at % 5, at % 7, at % 3),
        _ => match at % 4 {
            0 => String::new(),
            1 => format!("pair-{}/", at / 8),
            _ => format!("area-{}/", at % 9),
        },
    };
    let about = "Writes careful reports about many kinds of things, with tables and figures. Use when somebody asks for one of them, or for something near to it";
    (0..count)
        .map(|at| {
            let text: String = about.chars().cycle().take(60 + at * 37 % 500).collect();
            Made::new(0, &format!("{}{}", folder(at), name(at)), text.trim())
        })
        .collect()
}

/// A catalog for each budget, with the laws that hold for each and between them.
pub(super) fn check_ladder(snapshot: &Snapshot, entries: usize, what: &str) -> Vec<Catalog> {
    let usage = BTreeMap::new();
    let mut made: Vec<Catalog> = Vec::new();
    for size in BUDGETS {
        let request = request(CatalogBudget::chars(size, entries), &usage, &[]);
        let next = catalog(snapshot, &request);
        let fault = check_laws(snapshot, &next, &request).err();
        let fault = fault.or_else(|| loses_nothing(made.last()?, &next).err());
        let fault = fault.or_else(|| spends_its_budget(&next).err());
        assert_eq!(fault, None, "{what} at {size}:\n{}", next.text);
        made.push(next);
    }
    made
}

#[test]
fn the_laws_hold_for_every_shape_and_size() {
    for shape in ["flat", "one-group", "grouped", "deep", "mixed"] {
        for count in [50, 134, 400, 1_500] {
            let snapshot = snapshot(&[RootSource::User], &shaped(shape, count));
            for entries in [40, 150] {
                check_ladder(&snapshot, entries, &format!("{shape} {count} {entries}"));
            }
        }
        let snapshot = snapshot(&[RootSource::User], &shaped(shape, 10_000));
        check_ladder(&snapshot, 150, &format!("{shape} 10,000"));
    }
}

#[test]
fn a_folder_of_134_skills_is_134_entries_at_the_default_budget() {
    let snapshot = snapshot(&[RootSource::User], &shaped("one-group", 134));
    let made = plain(&snapshot, CatalogBudget::chars(30_000, 150));
    assert_eq!(made.entries.len(), 134);
    let is_skill = |entry: &grove_catalog::catalog::CatalogEntry| {
        entry.kind == CatalogEntryKind::Skill && entry.description.is_some()
    };
    assert!(made.entries.iter().all(is_skill));
}

#[test]
fn tokens_keep_the_laws_too() {
    let snapshot = snapshot(&[RootSource::User], &shaped("mixed", 200));
    let usage = BTreeMap::new();
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).count();
    let (mut by_bytes, mut by_words): (Option<Catalog>, Option<Catalog>) = (None, None);
    for tokens in [600, 1_000, 1_001, 2_000, 3_500, 7_000, 30_000] {
        let asked = request(CatalogBudget::tokens(tokens, 150), &usage, &[]);
        let made = catalog(&snapshot, &asked);
        assert!(made.tokens() <= tokens);
        let exact = within_tokens(&snapshot, &asked, tokens, words);
        assert!(words(&exact.text) <= tokens, "{tokens}");
        let may_stop = exact.report.is_whole() || exact.entries.len() == 150;
        assert!(
            may_stop || words(&exact.text) * 100 >= tokens * 93,
            "{tokens}"
        );
        for (before, now) in [(&mut by_bytes, made), (&mut by_words, exact)] {
            if let Some(before) = before {
                loses_nothing(before, &now).unwrap();
            }
            *before = Some(now);
        }
    }
}

#[test]
fn fifty_two_skills_are_shown_in_full_at_the_default_budget() {
    let snapshot = snapshot(&[RootSource::User], &described(52, 300));
    let made = plain(&snapshot, CatalogBudget::chars(30_000, 150));
    assert_eq!(made.entries.len(), 52);
    assert!(made.report.is_whole() && made.index.is_empty());
    assert!(
        !made.text.contains("Locations:"),
        "aliases only where they are needed"
    );
}

#[test]
fn nothing_is_said_when_there_is_nothing() {
    let made = plain(
        &snapshot(&[RootSource::User], &[]),
        CatalogBudget::chars(30_000, 150),
    );
    assert_eq!((made.text.as_str(), made.entries.len()), ("", 0));
}

#[test]
fn instructions_are_short() {
    assert!(grove_catalog::catalog::INSTRUCTIONS.len() <= 400);
    assert!(grove_catalog::catalog::INSTRUCTIONS_BY_NAME.len() <= 400);
}

/// The first rung, groups, skills, descriptions, locations: each step is taken only when the ones before it were.
#[test]
fn the_steps_come_in_their_order() {
    let mut skills = described(20, 200);
    for (at, made) in skills.iter_mut().enumerate() {
        made.id = format!("{}/skill-{at:02}", if at < 10 { "one" } else { "two" });
    }
    let snapshot = snapshot(&[RootSource::Package], &skills);
    let kinds = |size: usize| {
        let made = plain(&snapshot, CatalogBudget::chars(size, 150));
        let of = |kind| {
            made.entries
                .iter()
                .filter(|entry| entry.kind == kind)
                .count()
        };
        (
            of(CatalogEntryKind::Rest),
            of(CatalogEntryKind::Group),
            of(CatalogEntryKind::Skill),
        )
    };
    let sizes: Vec<usize> = (600..9_000).step_by(50).collect();
    let mut seen: Vec<(usize, usize, usize)> = sizes.iter().map(|size| kinds(*size)).collect();
    seen.dedup();
    assert_eq!(seen[..3], [(1, 0, 0), (0, 2, 0), (0, 2, 1)], "{seen:?}");
    assert!(
        seen.contains(&(0, 2, 8)) && !seen.contains(&(0, 2, 9)),
        "a single one left comes along"
    );
    assert_eq!(seen.last(), Some(&(0, 0, 20)));
    let whole = plain(&snapshot, CatalogBudget::chars(30_000, 150));
    let aliased = plain(&snapshot, CatalogBudget::chars(whole.chars() - 1, 150));
    assert!(
        aliased.report.is_whole() && aliased.text.contains("Locations:"),
        "{}",
        aliased.text
    );
    let shortened = plain(&snapshot, CatalogBudget::chars(aliased.chars() - 1, 150));
    assert_eq!(
        shortened.report.count(Treatment::Shortened),
        1,
        "by a word: {}",
        shortened.text
    );
}

#[test]
fn a_closed_entry_names_what_it_holds() {
    let snapshot = snapshot(&[RootSource::User], &shaped("grouped", 60));
    let made = plain(&snapshot, CatalogBudget::chars(4_000, 150));
    let groups = made
        .entries
        .iter()
        .filter(|entry| entry.kind == CatalogEntryKind::Group);
    let mut n_named = 0;
    for group in groups {
        let text = group.description.as_deref().unwrap();
        let (count, names) = text.split_once(": ").unwrap();
        assert!(count.starts_with(&group.skills.to_string()), "{text}");
        n_named += names.split(", ").count();
    }
    assert_eq!(n_named, made.report.count(Treatment::Named));
    assert_eq!(made.report.count(Treatment::Counted), 0);
}

/// A folder of four is no group, one of five is, and a library of twelve has none.
#[test]
fn small_folders_are_no_groups() {
    let library = |few: usize, others: usize| -> Vec<Made> {
        let few = (0..few).map(|at| Made::new(0, &format!("few/x{at}"), "Is one of few."));
        let others = (0..others).map(|at| Made::new(0, &format!("many/y{at}"), "Is one of many."));
        few.chain(others).collect()
    };
    let groups = |few: usize, others: usize| {
        let snapshot = snapshot(&[RootSource::User], &library(few, others));
        let made = plain(&snapshot, CatalogBudget::chars(30_000, 2));
        let groups = made
            .entries
            .into_iter()
            .filter(|entry| entry.kind == CatalogEntryKind::Group);
        groups.map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(groups(5, 8), ["few/", "many/"]);
    assert_eq!(groups(4, 9), ["many/"]);
    assert!(groups(5, 7).is_empty());
}

/// Names that share a word are a group, and a word that all share divides nothing.
#[test]
fn a_wide_folder_is_divided_by_words_and_by_twelves() {
    let azure = (0..6).map(|at| format!("azure-{at}"));
    let others = (0..20).map(|at| format!("{}{at}", WORDS[at]));
    let skills: Vec<Made> = azure
        .chain(others)
        .map(|name| Made::new(0, &name, "Does what its name says."))
        .collect();
    let snapshot_of = |skills: &[Made]| snapshot(&[RootSource::User], skills);
    let made = plain(&snapshot_of(&skills), CatalogBudget::chars(1_700, 150));
    let groups = made
        .entries
        .iter()
        .filter(|entry| entry.kind == CatalogEntryKind::Group);
    let names: Vec<&str> = groups.map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        names,
        ["audit5 … lint15/", "*azure*/", "mail9 … rust7/"],
        "twice ten of the rest"
    );
    let all: Vec<Made> = (0..30)
        .map(|at| Made::new(0, &format!("azure-{at:02}"), "Does what its name says."))
        .collect();
    let made = plain(&snapshot_of(&all), CatalogBudget::chars(1_700, 150));
    assert!(
        made.entries.iter().all(|entry| !entry.name.contains('*')),
        "{}",
        made.text
    );
}

#[test]
fn the_project_goes_before_the_user_and_nobody_is_out_of_reach() {
    let mut skills = described(120, 250);
    skills.extend((0..5).map(|at| Made::new(1, &format!("ours-{at}"), "What this project needs.")));
    let snapshot = snapshot(&[RootSource::User, RootSource::Project], &skills);
    for size in [8_000, 30_000] {
        let made = plain(&snapshot, CatalogBudget::chars(size, 60));
        let ours = made
            .entries
            .iter()
            .filter(|entry| entry.name.starts_with("ours"));
        assert_eq!(ours.count(), 5, "{}", made.text);
    }
}

#[test]
fn one_endless_description_does_not_starve_the_others() {
    let mut skills = described(20, 200);
    let endless = "more words than anybody reads, ".repeat(3_000);
    skills.push(Made::new(0, "greedy", &endless));
    let snapshot = snapshot(&[RootSource::User], &skills);
    let made = plain(&snapshot, CatalogBudget::chars(30_000, 150));
    assert_eq!(made.report.count(Treatment::Listed), 20);
    assert_eq!(made.report.count(Treatment::Shortened), 1);
    let greedy = made.entries.iter().find(|entry| entry.name == "greedy");
    let greedy = greedy.and_then(|entry| entry.description.clone()).unwrap();
    assert!(
        greedy.chars().count() <= 1_024 && greedy.ends_with('…'),
        "{greedy}"
    );
}

/// Pinned skills are whole before any other has more than eighty characters, whatever holds them.
#[test]
fn pinned_and_used_skills_come_first() {
    let snapshot = snapshot(&[RootSource::User], &shaped("grouped", 140));
    let (used, pinned) = (snapshot.skills[77].clone(), snapshot.skills[130].clone());
    let usage: BTreeMap<String, u32> = [(snapshot.address(&used), 9)].into();
    let pins = [pinned.name().to_owned()];
    for size in [1_500, 2_000, 3_000, 8_000, 16_000, 30_000] {
        let request = CatalogRequest {
            pinned: &pins,
            ..request(CatalogBudget::chars(size, 60), &usage, &[])
        };
        let made = catalog(&snapshot, &request);
        check_laws(&snapshot, &made, &request).unwrap();
        let first = made.entries.first().unwrap();
        assert_eq!(first.name, pinned.name(), "what is pinned comes first");
        let is_whole = first.description.as_deref() == pinned.description();
        let skills = made
            .entries
            .iter()
            .filter(|entry| entry.kind == CatalogEntryKind::Skill);
        let others = skills
            .skip(1)
            .filter_map(|entry| entry.description.as_deref());
        assert!(is_whole || others.clone().all(|text| text.chars().count() <= 80));
        let shows_used = made.entries.iter().any(|entry| entry.name == used.name());
        assert!(shows_used || size < 3_000, "{size}:\n{}", made.text);
    }
}

/// What is beyond the limits on entries is named behind its group however much room there is.
#[test]
fn what_is_capped_stays_behind_its_group() {
    let mut snapshot = snapshot(&[RootSource::User], &shaped("one-group", 30));
    for at in [3, 4, 5, 20] {
        snapshot.skills[at].state = EntryState::Capped;
    }
    let made = plain(&snapshot, CatalogBudget::chars(100_000, 1_000));
    assert_eq!(made.report.count(Treatment::Named), 4, "{}", made.text);
    assert_eq!(made.report.count(Treatment::Listed), 26);
    for at in [3, 4, 5, 20] {
        assert!(made.text.contains(snapshot.skills[at].name()));
    }
}

#[test]
fn every_style_and_unit_keeps_the_budget_and_spends_it() {
    let mut skills = shaped("mixed", 200);
    skills.push(Made::new(
        0,
        "odd",
        "a \"quoted\" *bold* [link](x) \\ and <b>",
    ));
    let snapshot = snapshot(&[RootSource::User], &skills);
    let usage = BTreeMap::new();
    for style in [
        CatalogStyle::Xml,
        CatalogStyle::Markdown,
        CatalogStyle::Json,
        CatalogStyle::Names,
    ] {
        for unit in [BudgetUnit::Chars, BudgetUnit::Bytes] {
            for size in [12_000, 40_000] {
                let budget = CatalogBudget {
                    size,
                    unit,
                    entries: 150,
                };
                let request = CatalogRequest {
                    style,
                    ..request(budget, &usage, &[])
                };
                let made = catalog(&snapshot, &request);
                let used = unit.of(&made.text);
                assert!(
                    used <= size && used * 100 >= size * 95,
                    "{style:?} {used} of {size}"
                );
            }
        }
    }
}

/// Whoever opens a skill by its name needs neither a location nor an index file, and a name that says which one.
#[test]
fn the_short_form_has_names_that_lead_somewhere_and_no_locations() {
    let usage = BTreeMap::new();
    let short = |snapshot: &Snapshot, size: usize| {
        let request = CatalogRequest {
            style: CatalogStyle::Names,
            ..request(CatalogBudget::chars(size, 150), &usage, &[])
        };
        catalog(snapshot, &request)
    };
    let few = [
        Made::new(0, "a/twin", "One of two"),
        Made::new(0, "b/twin", "The other"),
        Made::new(0, "solo", "Does <things> alone"),
    ];
    let few = snapshot(&[RootSource::User], &few);
    let made = short(&few, 2_000);
    let entries: Vec<&str> = made
        .text
        .lines()
        .filter(|it| it.starts_with("- "))
        .collect();
    let label = &few.roots[0].label;
    let expected = [
        format!("- a/twin@{label}: One of two"),
        format!("- b/twin@{label}: The other"),
        "- solo: Does &lt;things&gt; alone".to_owned(),
    ];
    assert_eq!(
        BTreeSet::from_iter(entries),
        expected.iter().map(String::as_str).collect()
    );
    assert!(
        made.entries
            .iter()
            .all(|entry| entry.location.ends_with("/SKILL.md"))
    );
    let many = snapshot(&[RootSource::User], &shaped("grouped", 200));
    for size in [2_000, 9_000, 30_000] {
        let made = short(&many, size);
        assert!(
            made.index.is_empty() && !made.text.contains("SKILL.md"),
            "{}",
            made.text
        );
        assert!(!made.text.contains("Locations:"), "{}", made.text);
        let used = made.entries.iter().map(|entry| entry.cost).sum::<usize>();
        assert!(
            made.entries
                .iter()
                .all(|entry| entry.shown_location.is_empty())
        );
        let frame = made.chars() - used;
        assert!(frame < 500, "{frame}");
    }
}
