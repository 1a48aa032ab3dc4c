//! Every surface tells the same of every skill: list, check, roots, doctor, overview and show.

mod answers;
mod layout;
pub(crate) mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use answers::{Answers, array, string};
use grove_testkit::home::TestHome;
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::shared;
use layout::{Grant, Kind, Layout, Planted};
use serde_json::Value;

/// Any numbers will do; they are fixed so that a failure can be seen again.
const SEEDS: std::ops::Range<u64> = 1..31;

#[test]
fn every_surface_agrees_on_generated_homes() {
    let mut states = BTreeMap::new();
    for seed in SEEDS {
        let layout = Layout::generate(seed);
        println!(
            "seed {seed}: {} files, {:?} {:?}",
            layout.planted.len(),
            layout.grant,
            layout.settings
        );
        let answers = Answers::ask(&layout.home, layout.cwd, &[]);
        answers.agree();
        no_skill_is_missing(&layout, &answers);
        states_are_as_planted(&layout, &answers);
        caps_are_kept(&layout, &answers);
        answers.every_skill_can_be_shown(&layout.home, layout.cwd, &[]);
        Answers::ask(&layout.home, layout.cwd, &["--all"]).agree();
        for skill in answers.skills() {
            *states
                .entry(string(&skill["state"]).to_owned())
                .or_insert(0) += 1;
        }
    }
    assert_eq!(
        states.len(),
        9,
        "the homes have skills in every state: {states:?}"
    );
}

/// Every file that was planted is a skill, another path to one, or named by the candidate limit.
fn no_skill_is_missing(layout: &Layout, answers: &Answers) {
    let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for skill in answers
        .skills()
        .iter()
        .filter(|skill| skill["source"] != "bundled")
    {
        let also = skill.get("alsoAt").map(array).unwrap_or_default();
        for place in also.iter().chain([&skill["location"]]) {
            *places.entry(string(place).into()).or_default() += 1;
        }
    }
    assert!(places.values().all(|count| *count == 1), "{places:#?}");
    let mut unread = BTreeSet::new();
    for finding in array(&answers.list["diagnostics"]) {
        if finding["code"] == "candidate-limit" {
            let root = PathBuf::from(string(&finding["file"]));
            unread.extend(
                array(&finding["names"])
                    .iter()
                    .map(|name| root.join(string(name))),
            );
        }
    }
    let place_of = |path: &PathBuf| match path.file_name().and_then(|name| name.to_str()) {
        Some("SKILL.md") => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    for path in layout.planted.keys() {
        let (listed, named) = (places.contains_key(path), unread.contains(&place_of(path)));
        assert!(
            listed != named,
            "{} listed {listed}, named {named}",
            path.display()
        );
    }
    for path in places.keys() {
        assert!(
            layout.planted.contains_key(path),
            "{} was not planted",
            path.display()
        );
    }
}

/// The state by everything but rank and caps, straight from the order of evaluation.
fn state_before_rank(layout: &Layout, planted: &Planted) -> Option<&'static str> {
    let settings = &layout.settings;
    let key = if planted.kind == Kind::NeedsVariable {
        "keyed"
    } else {
        planted.name.as_str()
    };
    let named = |names: &Vec<&str>| {
        names
            .iter()
            .any(|name| [key, &planted.name, &planted.id].contains(name))
    };
    if planted.kind == Kind::Invalid {
        return Some("invalid");
    }
    if planted.source == "project" && layout.grant == Grant::None {
        return Some("untrusted");
    }
    if planted.source == "project" && layout.grant == Grant::AsSeen && planted.edited {
        return Some("changed");
    }
    if planted.kind == Kind::NeedsProgram
        || (planted.kind == Kind::NeedsVariable && !settings.variable_given)
    {
        return Some("ineligible");
    }
    if settings.disabled == Some(key) {
        return Some("disabled");
    }
    settings
        .only
        .as_ref()
        .is_some_and(|only| !named(only))
        .then_some("filtered")
}

fn states_are_as_planted(layout: &Layout, answers: &Answers) {
    for skill in answers.skills() {
        let Some(planted) = layout
            .planted
            .get(&PathBuf::from(string(&skill["location"])))
        else {
            continue;
        };
        let expected = state_before_rank(layout, planted);
        let state = string(&skill["state"]);
        match expected {
            Some(expected) => assert_eq!(state, expected, "{planted:?} {skill:#}"),
            None => assert!(
                ["ok", "shadowed", "capped"].contains(&state),
                "{planted:?} {skill:#}"
            ),
        }
        assert_eq!(string(&skill["name"]), planted.name, "{skill:#}");
    }
}

/// A source offers at most its limit, and nothing is capped below it.
fn caps_are_kept(layout: &Layout, answers: &Answers) {
    let limit = layout.settings.loaded_per_source.unwrap_or(200);
    for source in ["project", "user", "managed", "extra", "bundled"] {
        let of = |state: &str| {
            let is = |skill: &&Value| skill["source"] == source && skill["state"] == state;
            answers.skills().iter().filter(is).count()
        };
        assert!(of("ok") <= limit, "{source}");
        assert!(of("capped") == 0 || of("ok") == limit, "{source}");
    }
}

#[test]
fn every_surface_agrees_on_the_real_corpus() {
    let corpus = shared::real_corpus().unwrap_or_else(|why| panic!("{why}"));
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    let flags = ["--all", "--root", corpus.to_str().unwrap()];
    let answers = Answers::ask(&home, "project", &flags);
    answers.agree();
    answers.every_skill_can_be_shown(&home, "project", &flags);
}

#[test]
fn every_surface_agrees_on_more_skills_than_a_source_offers() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    GeneratedLibrary::create(home.path("home/.agents/skills"), 320)
        .unwrap_or_else(|why| panic!("{why}"));
    let answers = Answers::ask(&home, "project", &[]);
    answers.agree();
    let of = |state: &str| {
        answers
            .skills()
            .iter()
            .filter(|skill| skill["state"] == state)
            .count()
    };
    assert_eq!(
        (of("ok"), of("capped")),
        (200 + 1, 100),
        "200 of the user's and the bundled one"
    );
    Answers::ask(&home, "project", &["--all"]).agree();
}

#[test]
fn a_flat_file_and_a_folder_of_one_name_can_be_told_apart() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.skill("home/.agents/skills/tmux", "tmux", "The folder")
        .file(
            "home/.agents/skills/tmux.md",
            "---\nname: tmux\ndescription: The file\n---\n",
        );
    let answers = Answers::ask(&home, "project", &[]);
    answers.agree();
    answers.every_skill_can_be_shown(&home, "project", &[]);
}

#[test]
fn a_bare_name_leads_to_the_one_skill_that_is_offered() {
    for seed in SEEDS.step_by(5) {
        let layout = Layout::generate(seed);
        let answers = Answers::ask(&layout.home, layout.cwd, &[]);
        let mut offered: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for skill in answers.skills() {
            if matches!(string(&skill["state"]), "ok" | "capped") {
                offered
                    .entry(string(&skill["name"]))
                    .or_default()
                    .push(skill);
            }
        }
        for (name, skills) in offered {
            let shown = layout
                .home
                .run(layout.cwd, ["skills", "show", name, "--json"]);
            if let [skill] = skills.as_slice() {
                let told = shown.stderr_text();
                let value: Value = serde_json::from_slice(&shown.stdout)
                    .unwrap_or_else(|_| panic!("seed {seed}: {told}"));
                assert_eq!(value["skill"], **skill, "seed {seed}");
                continue;
            }
            for skill in skills {
                let address = string(&skill["address"]);
                let told = shown.stderr_text();
                assert!(
                    !shown.success() && told.contains(address),
                    "seed {seed}: {told}"
                );
            }
        }
    }
}
