//! Every surface tells the same of every skill: list, check, roots, doctor, overview and show.

mod answers;
mod layout;
pub(crate) mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use answers::{Answers, array, is_offered, string};
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::needs;
use grove_testkit::shared;
use layout::{Grant, Kind, Layout, Planted};
use serde_json::{Value, json};

use crate::session;

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
        let answers = Answers::ask(&layout.session, layout.cwd, "");
        answers.agree();
        no_skill_is_missing(&layout, &answers);
        states_are_as_planted(&layout, &answers);
        caps_are_kept(&layout, &answers);
        answers.every_skill_can_be_shown();
        Answers::ask(&layout.session, layout.cwd, "--all").agree();
        for skill in answers.skills() {
            let state = string(&skill["state"]).to_owned();
            *states.entry(state).or_insert(0) += 1;
        }
    }
    // The homes have skills in every state.
    assert_eq!(states.len(), 9, "{states:?}");
}

/// Every file that was planted is a skill, another path to one, or named by the candidate limit.
fn no_skill_is_missing(layout: &Layout, answers: &Answers<'_>) {
    let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let skills = answers.skills().iter();
    for skill in skills.filter(|skill| skill["source"] != "bundled") {
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
            let names = array(&finding["names"]).iter();
            unread.extend(names.map(|name| root.join(string(name))));
        }
    }
    let place_of = |path: &PathBuf| match path.file_name().and_then(|name| name.to_str()) {
        Some("SKILL.md") => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    for path in layout.planted.keys() {
        let (listed, named) = (places.contains_key(path), unread.contains(&place_of(path)));
        let path = path.display();
        assert!(listed != named, "{path} listed {listed}, named {named}");
    }
    for path in places.keys() {
        let is_planted = layout.planted.contains_key(path);
        assert!(is_planted, "{} was not planted", path.display());
    }
}

/// The state by everything but rank and caps, straight from the order of evaluation.
fn state_before_rank(layout: &Layout, planted: &Planted) -> Option<&'static str> {
    let settings = &layout.settings;
    let key = match planted.kind {
        Kind::NeedsVariable => "keyed",
        _ => planted.name.as_str(),
    };
    let own = [key, &planted.name, &planted.id];
    let is_named = |names: &Vec<&str>| names.iter().any(|name| own.contains(name));
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
    let is_left_out = settings.only.as_ref().is_some_and(|only| !is_named(only));
    is_left_out.then_some("filtered")
}

fn states_are_as_planted(layout: &Layout, answers: &Answers<'_>) {
    for skill in answers.skills() {
        let location = PathBuf::from(string(&skill["location"]));
        let Some(planted) = layout.planted.get(&location) else {
            continue;
        };
        let state = string(&skill["state"]);
        let is_expected = match state_before_rank(layout, planted) {
            Some(expected) => state == expected,
            None => ["ok", "shadowed", "capped"].contains(&state),
        };
        assert!(is_expected, "{planted:?} {skill:#}");
        assert_eq!(string(&skill["name"]), planted.name, "{skill:#}");
    }
}

/// A source offers at most its limit, and nothing is capped below it.
fn caps_are_kept(layout: &Layout, answers: &Answers<'_>) {
    let limit = layout.settings.loaded_per_source.unwrap_or(200);
    for source in ["project", "user", "managed", "extra", "bundled"] {
        let skills = answers.with("source", &json!(source));
        let of = |state: &str| {
            skills
                .iter()
                .filter(|skill| skill["state"] == state)
                .count()
        };
        assert!(of("ok") <= limit, "{source}");
        assert!(of("capped") == 0 || of("ok") == limit, "{source}");
    }
}

#[test]
fn every_surface_agrees_on_the_real_corpus() {
    needs![RealCollections];
    let corpus = shared::real_corpus().unwrap_or_else(|why| panic!("{why}"));
    let flags = format!("--all --root {}", corpus.display());
    let session = session();
    let answers = Answers::ask(&session, "project", &flags);
    answers.agree();
    answers.every_skill_can_be_shown();
}

#[test]
fn every_surface_agrees_on_more_skills_than_a_source_offers() {
    let session = session();
    let library = GeneratedLibrary::create(session.path("home/.agents/skills"), 320);
    library.unwrap_or_else(|why| panic!("{why}"));
    let answers = Answers::ask(&session, "project", "");
    answers.agree();
    let of = |state: &str| answers.with("state", &json!(state)).len();
    // 200 of the user's and the bundled one.
    assert_eq!((of("ok"), of("capped")), (200 + 1, 120));
    Answers::ask(&session, "project", "--all").agree();
}

#[test]
fn a_flat_file_and_a_folder_of_one_name_can_be_told_apart() {
    let session = session();
    session
        .skill("home/.agents/skills/tmux", "tmux", "The folder")
        .definition("home/.agents/skills/tmux.md", "", "The file");
    let answers = Answers::ask(&session, "project", "");
    answers.agree();
    answers.every_skill_can_be_shown();
}

#[test]
fn a_bare_name_leads_to_the_one_skill_that_is_offered() {
    for seed in SEEDS.step_by(5) {
        let layout = Layout::generate(seed);
        let answers = Answers::ask(&layout.session, layout.cwd, "");
        let mut offered: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for skill in answers.skills().iter().filter(|skill| is_offered(skill)) {
            let name = string(&skill["name"]);
            offered.entry(name).or_default().push(skill);
        }
        for (name, skills) in offered {
            let words = ["skills", "show", name, "--json"];
            let shown = layout.session.grove_in(layout.cwd, words);
            if let [skill] = skills.as_slice() {
                assert_eq!(shown.json()["skill"], **skill, "seed {seed}");
                continue;
            }
            for skill in skills {
                let is_named = shown.stderr.contains(string(&skill["address"]));
                assert!(shown.code != 0 && is_named, "seed {seed}: {shown}");
            }
        }
    }
}
