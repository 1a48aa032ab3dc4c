//! Files over the byte limit: a description is cut and does not count, everything else does.

use std::fs;

use grove_testkit::session::{USER_CONFIG, let_files_settle};

use super::listing::Listing;
use super::session::Session;

const SKILLS: &str = "project/.agents/skills";
const KEPT: usize = 16_384;
const CUT: [&str; 2] = ["frontmatter-too-large", "description-too-long"];

fn words(bytes: usize) -> String {
    "word ".repeat(bytes / 5).trim_end().to_owned()
}

fn put(session: &Session, name: &str, description: usize, body: usize) {
    let text = format!(
        "---\nname: {name}\ndescription: {}\n---\n{}\n",
        words(description),
        "y".repeat(body)
    );
    let file = format!("{SKILLS}/{name}/SKILL.md");
    session.home.file(file, text);
}

/// State, codes, and how many characters of the description are kept.
fn judged<'a>(listing: &'a Listing, id: &str) -> (&'a str, Vec<&'a str>, usize) {
    let found = listing.get("project", id);
    let description = found.and_then(|skill| skill.description.as_deref());
    (
        listing.state("project", id),
        found.map(|skill| skill.codes()).unwrap_or_default(),
        description.unwrap_or_default().chars().count(),
    )
}

#[test]
fn what_is_dropped_of_a_description_does_not_count() {
    let mut session = Session::new();
    for (name, description, body) in [
        ("described", 300_000, 100),
        ("bodied", 1_000, 300_000),
        ("both", 300_000, 300_000),
        ("whole", 200_000, 100),
        ("huge", 2_100_000, 100),
        ("nearly", 2_047_900, 10),
    ] {
        put(&session, name, description, body);
    }
    session.trust(&[]);
    let cold = session.list();
    session.show_everything(&cold, &[]);
    // The second look is a process that has only the cache.
    let_files_settle();
    let settled = session.list();
    for listing in [cold, settled, session.list()] {
        let too_large = ("invalid", vec!["file-too-large"], 0);
        assert_eq!(judged(&listing, "described"), ("ok", CUT.to_vec(), KEPT));
        assert_eq!(judged(&listing, "nearly"), ("ok", CUT.to_vec(), KEPT));
        assert_eq!(judged(&listing, "whole"), ("ok", CUT.to_vec(), 199_999));
        for refused in ["bodied", "both", "huge"] {
            assert_eq!(judged(&listing, refused), too_large, "{refused}");
        }
    }
    session.assert_fine();
}

#[test]
fn a_refusal_has_both_numbers_and_a_cut_says_how_much() {
    let mut session = Session::new();
    put(&session, "described", 300_000, 100);
    put(&session, "bodied", 1_000, 300_000);
    session.trust(&[]);
    let told = session.run(&["skills", "check"], &[1]).stdout_text();
    let size = fs::metadata(session.home.path(format!("{SKILLS}/bodied/SKILL.md")));
    let size = size.expect("the file").len();
    for said in [
        format!("the file has {size} bytes, more than the limit of 256000"),
        format!(
            "the first {KEPT} are kept and {} are dropped",
            299_999 - KEPT
        ),
    ] {
        assert!(told.contains(&said), "{said}\n{told}");
    }
    let folder = session.home.path(SKILLS);
    let folder = folder.to_str().expect("a path");
    let told = session.run(&["validate", folder], &[1]).stdout_text();
    assert!(
        told.contains("are dropped") && told.contains("file-too-large"),
        "{told}"
    );
    session.assert_fine();
}

/// Another limit is another verdict, whatever the cache remembers from before.
#[test]
fn a_limit_that_is_changed_decides_anew() {
    let mut session = Session::new();
    put(&session, "described", 100_000, 100);
    put(&session, "bodied", 1_000, 100_000);
    session.trust(&[]);
    let ok = |codes: &[&'static str], kept| ("ok", codes.to_vec(), kept);
    let too_large = ("invalid", vec!["file-too-large"], 0);
    let described = CUT.to_vec();
    for (limit, expected) in [
        (256_000, [ok(&described, 99_999), ok(&[], 999)]),
        (20_000, [ok(&described, KEPT), too_large.clone()]),
        (16_000, [too_large.clone(), too_large.clone()]),
        // More than eight times the limit.
        (12_000, [too_large.clone(), too_large.clone()]),
        (20_000, [ok(&described, KEPT), too_large.clone()]),
        (256_000, [ok(&described, 99_999), ok(&[], 999)]),
    ] {
        let config = format!("[limits]\nfile_bytes = {limit}\n");
        session.home.file(USER_CONFIG, config);
        let_files_settle();
        for _ in 0..2 {
            let listing = session.list();
            let judged = ["described", "bodied"].map(|id| judged(&listing, id));
            assert_eq!(judged, expected, "{limit}");
        }
    }
    session.assert_fine();
}
