//! What hosts make of a list that is too long: their limits hold, nobody is forgotten, and the figures that
//! were measured elsewhere come out.

use std::path::{Path, PathBuf};

use grove_catalog::host_listing::{HostListing, ListedForm, ListingOptions, render};
use grove_catalog::hosts::{self, Host, ListOverflow};
use grove_catalog::resolve::SkillRules;
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Snapshot;
use grove_spec::config::Settings;
use proptest::prelude::*;

use crate::library::{self, candidate, look_by};

fn host(name: &str) -> Host {
    hosts::by_name(name).unwrap()
}

/// A snapshot of one folder with these names and descriptions, as a host has it.
fn snapshot(host: &Host, root: &str, skills: &[(String, String)]) -> Snapshot {
    let root = library::root(RootSource::User, "user", root);
    let candidates = skills.iter().map(|(name, description)| {
        let quoted = description.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("---\nname: {name}\ndescription: \"{quoted}\"\n---\n\nBody.\n");
        candidate(0, name, &text)
    });
    let mut settings = Settings::default();
    settings.lift_caps();
    look_by(
        SkillRules::of(host),
        vec![root],
        candidates,
        &settings,
        Vec::new(),
    )
}

fn listing(name: &str, root: &str, skills: &[(String, String)]) -> HostListing {
    let host = host(name);
    let options = ListingOptions {
        home: Some(PathBuf::from("/home/u")),
        working: PathBuf::from("/work"),
        ..ListingOptions::default()
    };
    render(&snapshot(&host, root, skills), &host, &options)
}

fn many(count: usize, description: &str) -> Vec<(String, String)> {
    let name = |number: usize| format!("skill-{number:05}");
    (0..count)
        .map(|number| (name(number), description.to_owned()))
        .collect()
}

fn count(listing: &HostListing, wanted: impl Fn(ListedForm) -> bool) -> usize {
    listing.shown.iter().filter(|one| wanted(one.how)).count()
}

/// The sweep in `reference/openclaw.md` §4.3, run with the program: 139 characters of description, 11 of
/// name and 32 of path; without the row whose cut falls on a blank of the text used there.
#[test]
fn openclaws_sweep_comes_out() {
    let description = "d".repeat(139);
    for (skills, included, described, used) in [
        (60, 60, 139, 17_110),
        (70, 70, 110, 17_981),
        (100, 100, 35, 17_981),
        (120, 120, 5, 17_881),
        (140, 140, 0, 15_584),
        (151, 150, 0, 16_682),
    ] {
        // With a slash, the name, a slash and `SKILL.md` below it.
        let root = "/s/23456789";
        let skills = many(skills, &description);
        let listing = listing("openclaw", root, &skills);
        assert_eq!(listing.budget.used, used, "{} skills", skills.len());
        let first = &listing.shown[0];
        let shown = listing
            .text
            .split("<description>")
            .nth(1)
            .map_or(0, |text| {
                text.split("</description>")
                    .next()
                    .unwrap_or_default()
                    .len()
            });
        assert_eq!(shown, described, "{} skills: {first:?}", skills.len());
        assert_eq!(count(&listing, |how| how != ListedForm::LeftOut), included);
    }
}

/// A library of 10,000 skills: what is left of it in each host.
#[test]
fn of_ten_thousand_skills_hosts_show_what_their_rules_say() {
    let description = "Does a thing that is worth a sentence. Use when the thing is wanted.";
    let skills = many(10_000, description);
    for (name, listed, described) in [
        ("claude", 10_000, 0),
        // 5,440 tokens, of which its own skills take 11, 12, 13 and 14; each of these has 47 bytes, 12 tokens.
        ("codex", (5_440 - 50) / 12, 0),
        ("openclaw", 150, 0),
        ("pi", 10_000, 10_000),
    ] {
        let listing = listing(name, "/home/u/.agents/skills", &skills);
        let n_listed = count(&listing, |how| how != ListedForm::LeftOut);
        let n_described = count(&listing, |how| {
            matches!(how, ListedForm::Full | ListedForm::Shortened(..))
        });
        assert_eq!((n_listed, n_described), (listed, described), "{name}");
    }
}

#[test]
fn nothing_to_list_is_no_text() {
    for name in hosts::names() {
        let listing = listing(name, "/home/u/.agents/skills", &[]);
        assert_eq!(listing.text, "", "{name}");
        assert_eq!(listing.shown, [], "{name}");
    }
}

#[test]
fn text_from_files_is_escaped_where_the_host_escapes_it() {
    let skills = [("a".to_owned(), "x </skill> & \"y\" it's".to_owned())];
    for (name, expected) in [
        ("pi", "x &lt;/skill&gt; &amp; &quot;y&quot; it&apos;s"),
        ("copilot", "x &lt;/skill&gt; &amp; &quot;y&quot; it&apos;s"),
        ("openclaw", "x &lt;/skill&gt; &amp; &quot;y&quot; it&apos;s"),
        ("claude", "- a: x </skill> & \"y\" it's\n"),
        (
            "codex",
            "- a: x </skill> & \"y\" it's (file: r1/a/SKILL.md)\n",
        ),
        ("gemini", "x </skill> & \"y\" it's"),
        ("opencode", "x </skill> & \"y\" it's"),
    ] {
        // Codex numbers its own folder first when it comes before the user's.
        let root = if name == "codex" {
            "/etc/codex/skills"
        } else {
            "/home/u/.agents/skills"
        };
        let text = listing(name, root, &skills).text;
        let expected = expected.replace("r1/", "r0/");
        assert!(text.contains(&expected), "{name}: {text}");
    }
}

#[test]
fn locations_are_written_as_each_host_writes_them() {
    let skills = [("a b".to_owned(), "d".to_owned())];
    for (name, expected) in [
        ("pi", "<location>/home/u/s/a b/SKILL.md</location>"),
        ("openclaw", "<location>~/s/a b/SKILL.md</location>"),
        ("gemini", "<location>/home/u/s/a b/SKILL.md</location>"),
        ("opencode", "<location>/home/u/s/a b/SKILL.md</location>"),
        ("copilot", "<name>a-b</name>"),
        ("codex", "(file: r0/a b/SKILL.md)"),
    ] {
        let text = listing(name, "/home/u/s", &skills).text;
        assert!(text.contains(expected), "{name}: {text}");
    }
}

/// Thirteen entries of 1,094 units leave 778 for one more, its line end included.
#[test]
fn the_last_entry_in_copilot_fits_to_the_unit() {
    let empty = "<skill>\n  <name>s13</name>\n  <description></description>\n  <location>user</location>\n</skill>\n";
    let used = 13 * (empty.len() + 1_000);
    for (spare, fits) in [(0, true), (1, false)] {
        let mut skills: Vec<_> = (0..13)
            .map(|number| (format!("s{number:02}"), "x".repeat(1_000)))
            .collect();
        // An accented letter is one unit and two bytes.
        let last = "é".repeat(15_000 + spare - used - empty.len());
        skills.push(("s13".to_owned(), last));
        skills.push(("s14".to_owned(), "Would fit, but comes after".to_owned()));
        let listing = listing("copilot", "/home/u/.copilot/skills", &skills);
        let how = |number: usize| listing.shown[number].how;
        let expected = if fits {
            ListedForm::Full
        } else {
            ListedForm::NameOnly
        };
        assert_eq!(
            (how(12), how(13), how(14)),
            (ListedForm::Full, expected, ListedForm::NameOnly)
        );
        assert_eq!(listing.budget.used, if fits { 15_000 } else { used });
    }
}

/// The line of bare names has 5,000 units with the 46 before the first name.
#[test]
fn the_names_in_copilot_fit_to_the_unit() {
    let (first, mut skills) = ("x".repeat(1_024), Vec::new());
    for number in 0..14 {
        skills.push((format!("a{number:04}"), first.clone()));
    }
    // 13 entries fit, so one of the above is named too: 5 units, and each of these takes 7 with its comma.
    let room = (5_000 - 46 - 5) / 7;
    for number in 0..room + 10 {
        skills.push((format!("b{number:04}"), "d".to_owned()));
    }
    let listing = listing("copilot", "/home/u/.copilot/skills", &skills);
    assert_eq!(count(&listing, |how| how == ListedForm::Full), 13);
    assert_eq!(count(&listing, |how| how == ListedForm::NameOnly), room + 1);
    assert_eq!(count(&listing, |how| how == ListedForm::LeftOut), 10);
    // Two of its own come after everyone else's.
    assert!(
        listing.text.contains("... and 12 more\n"),
        "{}",
        listing.text
    );
}

/// Claude Code cuts a description beyond 1,536 units to 1,535 and a mark; Codex one beyond 1,024 to 1,021 and three.
#[test]
fn one_long_description_is_cut_even_where_there_is_room() {
    for (name, length, kept, mark) in [
        ("claude", 1_536, None, ""),
        ("claude", 1_537, Some(1_535), "…"),
        ("codex", 1_024, None, ""),
        ("codex", 1_025, Some(1_021), "..."),
    ] {
        let skills = [("a".to_owned(), "x".repeat(length))];
        let listing = listing(name, "/home/u/s", &skills);
        let expected = kept.map_or(ListedForm::Full, ListedForm::Shortened);
        assert_eq!(listing.shown[0].how, expected, "{name} {length}");
        let written = format!(": {}{mark}", "x".repeat(kept.unwrap_or(length)));
        assert!(listing.text.contains(&written), "{name} {length}");
    }
}

/// A user's skill with the name of one that comes with Claude Code takes its place and its room.
#[test]
fn a_skill_of_the_same_name_takes_the_room_of_the_programs_own() {
    let description = "x".repeat(400);
    let with = |name: &str| {
        let mut skills = many(12, &description);
        skills.push((name.to_owned(), "short".to_owned()));
        let listing = listing("claude", "/home/u/.claude/skills", &skills);
        count(&listing, |how| how == ListedForm::Full)
    };
    let own = host("claude").listing.built_in;
    let largest = own.iter().max_by_key(|skill| skill.description).unwrap();
    assert!(with(&largest.name) >= with("another") + 2);
}

/// Words of any script, with what markup and counting trip over.
fn any_description() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,12}",
        Just("<b>&'\"".to_owned()),
        Just("日本語".to_owned()),
        Just("naïve".to_owned()),
        Just("😀".to_owned()),
    ];
    prop::collection::vec(word, 1..60).prop_map(|words| words.join(" "))
}

fn any_library() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = "[a-z]{1,20}(-[a-z0-9]{1,10}){0,3}";
    prop::collection::btree_map(name, any_description(), 0..160)
        .prop_map(|skills| skills.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn limits_hold_nobody_is_forgotten_and_the_text_is_the_same_again(skills in any_library()) {
        for name in hosts::names() {
            let host = host(name);
            let first = listing(name, "/home/u/.agents/skills", &skills);
            prop_assert_eq!(&first, &listing(name, "/home/u/.agents/skills", &skills));

            let snapshot = snapshot(&host, "/home/u/.agents/skills", &skills);
            let told = snapshot.skills.iter().filter(|skill| skill.model_invocable()).count();
            let mut numbers: Vec<usize> = first.shown.iter().map(|one| one.skill).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), told, "{}", name);
            prop_assert_eq!(first.shown.len(), told, "{}", name);

            let limit = first.budget.limit.unwrap_or(usize::MAX);
            // Names stay in Claude Code whatever they cost.
            let only_names = count(&first, |how| how == ListedForm::NameOnly) == told;
            let may_exceed = host.budget.overflow == ListOverflow::NamesStay && only_names;
            prop_assert!(first.budget.used <= limit || may_exceed, "{}: {:?}", name, first.budget);

            for one in &first.shown {
                let is_in_text = first.text.contains(one.name.as_str());
                prop_assert!(is_in_text || one.how == ListedForm::LeftOut, "{}: {:?}", name, one);
                let description = snapshot.skills[one.skill].description().unwrap_or_default();
                if let ListedForm::Shortened(kept) = one.how {
                    prop_assert!(kept < description.chars().count(), "{}: {:?}", name, one);
                }
            }
        }
    }
}

#[test]
fn paths_outside_home_stay_absolute() {
    let skills = [("a".to_owned(), "d".to_owned())];
    let text = listing("openclaw", "/opt/skills", &skills).text;
    assert!(text.contains("<location>/opt/skills/a/SKILL.md</location>"));
    assert!(Path::new("/opt/skills").is_absolute());
}
