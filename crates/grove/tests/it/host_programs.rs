//! What a host tells its model: `grove catalog --host X` against the first request of the real program.

mod libraries;
mod listing;

use std::collections::BTreeSet;
use std::time::Duration;

use grove_catalog::hosts;
use grove_testkit::agent_program::AgentProgram;
use grove_testkit::home::TestHome;
use grove_testkit::model_server::{ModelServer, Script};
use libraries::{copy_real, folder_of, generate, odd_files};
use listing::{Listed, parse, real_text};
use serde_json::Value;

/// A turn takes two seconds; a busy machine is slower, and only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    // The end of the project, so that nothing above it is looked at; Codex looks whether it is a repository.
    home.file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    home
}

/// The list in the real program's first request that has one.
fn real(program: AgentProgram, home: &TestHome, working: &str) -> Vec<Listed> {
    let server = ModelServer::start(Script::plain()).unwrap();
    let finished = program
        .run(
            &server,
            &home.path("home"),
            &home.path(working),
            "Say the answer.",
            TURN,
        )
        .unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests();
    let text = requests
        .iter()
        .find_map(|request| real_text(program, &request.json()));
    let text = text.unwrap_or_else(|| {
        panic!(
            "{}: no list of skills in {} requests\n{}\n{}",
            program.host(),
            requests.len(),
            finished.stdout_text(),
            finished.stderr_text()
        )
    });
    parse(program, &text)
}

/// The list that Grove says the program has.
fn ours(program: AgentProgram, home: &TestHome, working: &str) -> (Vec<Listed>, Value) {
    let arguments = ["catalog", "--host", program.host(), "--json"];
    let finished = home.run(working, arguments);
    let finished = finished.require_success("grove catalog").unwrap();
    let catalog: Value = serde_json::from_slice(&finished.stdout).unwrap();
    let text = catalog["text"].as_str().unwrap();
    let plain = home.run(working, ["catalog", "--host", program.host()]);
    assert_eq!(plain.stdout_text(), text, "the same text without --json");
    (parse(program, text), catalog)
}

/// A list without the skills that the program brings along.
fn without_built_in(program: AgentProgram, listed: Vec<Listed>, catalog: &Value) -> Vec<Listed> {
    let built_in = catalog["report"]["builtIn"].as_array().unwrap();
    let entries = catalog["entries"].as_array().unwrap();
    // A skill of the user's with the same name takes its place, but for Codex, which lists both and names
    // its own folder.
    let is_built_in = |one: &Listed| {
        let is_named = built_in.iter().any(|name| *name == one.name);
        let is_taken = entries.iter().any(|own| own["name"] == one.name);
        let is_theirs = one
            .location
            .as_deref()
            .is_some_and(|location| location.contains("/.codex/skills/.system/"));
        match program {
            AgentProgram::Codex => is_theirs,
            _ => is_named && !is_taken,
        }
    };
    listed.into_iter().filter(|one| !is_built_in(one)).collect()
}

/// Both lists, after it was checked that the report counts what the list shows.
fn both(
    program: AgentProgram,
    home: &TestHome,
    working: &str,
) -> (Vec<Listed>, Vec<Listed>, Value) {
    let (ours, catalog) = ours(program, home, working);
    let ours = without_built_in(program, ours, &catalog);
    let real = without_built_in(program, real(program, home, working), &catalog);
    let report = &catalog["report"];
    let entries = catalog["entries"].as_array().unwrap();
    for (key, how) in [
        ("full", "full"),
        ("shortened", "shortened"),
        ("nameOnly", "nameOnly"),
        ("leftOut", "leftOut"),
    ] {
        let count = entries.iter().filter(|one| one["how"] == how).count();
        assert_eq!(report[key], count, "{}: {key}", program.host());
    }
    let n_listed = entries.iter().filter(|one| one["how"] != "leftOut").count();
    assert_eq!(ours.len(), n_listed, "{}", program.host());
    (real, ours, catalog)
}

/// Fails with the first difference rather than with two lists of hundreds.
fn assert_same(program: AgentProgram, real: &[Listed], ours: &[Listed]) {
    let names = |listed: &[Listed]| -> BTreeSet<String> {
        listed.iter().map(|one| one.name.clone()).collect()
    };
    let (theirs, mine) = (names(real), names(ours));
    let missing: Vec<_> = theirs.difference(&mine).collect();
    let surplus: Vec<_> = mine.difference(&theirs).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "{}: only the program has {missing:?}, only Grove has {surplus:?}",
        program.host()
    );
    for (real, ours) in real.iter().zip(ours) {
        let mut real = real.clone();
        if program == AgentProgram::Pi {
            // pi keeps the line end of a block of text, which Grove drops where it reads it.
            real.description = real.description.map(|text| text.trim_end().to_owned());
        }
        assert_eq!(*ours, real, "{}", program.host());
    }
    assert_eq!(real.len(), ours.len(), "{}", program.host());
}

fn compare(program: AgentProgram, home: &TestHome, working: &str) -> Value {
    let (real, ours, catalog) = both(program, home, working);
    assert_same(program, &real, &ours);
    catalog
}

/// The real corpus, copied into the program's own folder.
fn over_the_real_corpus(program: AgentProgram) {
    let home = home();
    let copied = copy_real(&home, program);
    let catalog = compare(program, &home, "project");
    let n_entries = catalog["entries"].as_array().unwrap().len();
    assert!(
        n_entries * 10 > copied * 9,
        "{}: {n_entries} of {copied}",
        program.host()
    );
}

/// Few skills: everything is shown in full.
fn below_the_budget(program: AgentProgram) {
    let home = home();
    let n_skills = 12;
    generate(&home, program, n_skills, 120);
    let catalog = compare(program, &home, "project");
    assert_eq!(catalog["report"]["full"], n_skills, "{}", program.host());
}

/// Many skills: the program cuts, and Grove says where.
fn over_the_budget(program: AgentProgram, n_skills: usize, expected: &[&str]) {
    let home = home();
    generate(&home, program, n_skills, 300);
    let catalog = compare(program, &home, "project");
    let report = &catalog["report"];
    for key in ["full", "shortened", "nameOnly", "leftOut"] {
        let is_there = report[key].as_u64().unwrap() > 0;
        assert_eq!(
            is_there,
            expected.contains(&key),
            "{} with {n_skills}: {key} in {report}",
            program.host()
        );
    }
}

#[test]
fn the_real_corpus_in_claude_code() {
    over_the_real_corpus(AgentProgram::Claude);
}

#[test]
fn the_real_corpus_in_codex() {
    over_the_real_corpus(AgentProgram::Codex);
}

#[test]
fn the_real_corpus_in_copilot() {
    over_the_real_corpus(AgentProgram::Copilot);
}

#[test]
fn the_real_corpus_in_pi() {
    over_the_real_corpus(AgentProgram::Pi);
}

#[test]
fn below_their_budget_programs_show_everything() {
    AgentProgram::ALL.into_iter().for_each(below_the_budget);
}

#[test]
fn beyond_its_budget_claude_code_keeps_names() {
    over_the_budget(AgentProgram::Claude, 24, &["full", "nameOnly"]);
    over_the_budget(AgentProgram::Claude, 400, &["nameOnly"]);
}

#[test]
fn beyond_its_budget_codex_shortens_then_leaves_out() {
    over_the_budget(AgentProgram::Codex, 150, &["shortened"]);
    over_the_budget(AgentProgram::Codex, 700, &["nameOnly", "leftOut"]);
}

#[test]
fn beyond_its_budget_copilot_names_then_leaves_out() {
    over_the_budget(AgentProgram::Copilot, 90, &["full", "nameOnly"]);
    over_the_budget(AgentProgram::Copilot, 700, &["full", "nameOnly", "leftOut"]);
}

#[test]
fn pi_has_no_budget() {
    over_the_budget(AgentProgram::Pi, 700, &["full"]);
}

/// What the host files say about the skills that come with a program, against the program in an empty home.
#[test]
fn the_skills_that_programs_bring_along_are_known() {
    for program in AgentProgram::ALL {
        let home = home();
        home.dir(format!("home/{}", folder_of(program)));
        let host = hosts::by_name(program.host()).unwrap();
        if host.listing.built_in.is_empty() {
            // A program without skills has no list at all; one of the user's makes it write one.
            home.skill(format!("home/{}/mine", folder_of(program)), "mine", "Mine");
        }
        let listed: Vec<(String, usize)> = real(program, &home, "project")
            .into_iter()
            .filter(|one| one.name != "mine")
            .map(|one| (one.name, one.description.unwrap_or_default()))
            .map(|(name, text)| (name, text.chars().filter(|c| *c != '\n').count()))
            .collect();
        let known = host.listing.built_in.iter();
        let known: Vec<(String, usize)> = known
            .map(|skill| (skill.name.clone(), skill.description))
            .collect();
        assert_eq!(listed, known, "{}", program.host());
    }
}

/// Several roots at once: which are looked in, in which order, and who wins.
#[test]
fn all_folders_of_a_project_and_a_home_at_once() {
    for program in AgentProgram::ALL {
        let home = home();
        home.dir("project/pkg/sub");
        for base in ["home", "project", "project/pkg"] {
            for folder in [
                ".agents",
                ".claude",
                ".codex",
                ".github",
                ".copilot",
                ".pi",
                ".pi/agent",
            ] {
                let tag = format!("{base}{folder}").replace(['/', '.'], "-");
                let root = format!("{base}/{folder}/skills");
                home.skill(format!("{root}/z-{tag}"), &format!("z-{tag}"), "Last")
                    .skill(format!("{root}/a-{tag}"), &format!("a-{tag}"), "First")
                    .skill(
                        format!("{root}/same"),
                        "same",
                        &format!("Of {base} {folder}"),
                    );
            }
        }
        for working in ["project", "project/pkg", "project/pkg/sub"] {
            compare(program, &home, working);
        }
    }
}

/// Folders that pi's settings name: where paths begin, in which order they are listed, and who wins.
#[test]
fn pi_lists_what_its_settings_name_before_its_folders() {
    let home = home();
    home.dir("project/pkg");
    for (file, folders) in [
        (
            "home/.pi/agent/settings.json",
            "\"~/mine\", \"beside\", \"~/mine\"",
        ),
        (
            "project/pkg/.pi/settings.json",
            "\"../team\", \"near\", \"../one/only\", \"nowhere\"",
        ),
        // The settings of a folder above are not pi's.
        ("project/.pi/settings.json", "\"../above\""),
    ] {
        home.file(file, format!("{{\"skills\": [{folders}]}}"));
    }
    for folder in [
        "home/.agents/skills",
        "home/.pi/agent/skills",
        "home/.pi/agent/beside",
        "home/mine",
        "project/.agents/skills",
        "project/above",
        "project/pkg/.agents/skills",
        "project/pkg/.pi/near",
        "project/pkg/.pi/skills",
        "project/pkg/team",
    ] {
        let tag = folder.replace(['/', '.'], "-");
        home.skill(format!("{folder}/group/{tag}"), &tag, "Here")
            .skill(format!("{folder}/same"), "same", &format!("Of {folder}"));
    }
    home.skill("project/pkg/one/only", "only", "A folder that is a skill");
    home.file(
        "home/mine/flat.md",
        "---\nname: flat\ndescription: A file\n---\n\nx\n",
    );
    let catalog = compare(AgentProgram::Pi, &home, "project/pkg");
    let entries = catalog["entries"].as_array().unwrap().iter();
    let n_named = entries.filter(|one| one["name"] == "flat" || one["name"] == "only");
    assert_eq!(
        n_named.count(),
        2,
        "both lists have what only settings name"
    );
}

/// Where there is no repository some programs look in every folder above, and others do not.
#[test]
fn folders_above_count_without_a_repository_too_for_some() {
    for program in AgentProgram::ALL {
        let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
        for base in ["work", "work/app", "work/app/sub"] {
            for folder in [".agents", ".claude", ".codex", ".github", ".pi"] {
                let name = format!("{base}{folder}").replace(['/', '.'], "-");
                home.skill(format!("{base}/{folder}/skills/{name}"), &name, "Here");
            }
        }
        // So that there is a list even where nothing above counts.
        home.skill(format!("home/{}/mine", folder_of(program)), "mine", "Mine");
        compare(program, &home, "work/app/sub");
    }
}

/// Files that programs read in ways of their own, and what of it Grove does not follow.
#[test]
fn odd_files_differ_where_the_documentation_says() {
    let odd_files = odd_files();
    for program in AgentProgram::ALL {
        let home = home();
        for odd in &odd_files {
            let path = format!("home/{}/{}", folder_of(program), odd.path);
            home.file(path, &odd.text);
        }
        let (real, ours, _) = both(program, &home, "project");
        let of = |listed: &[Listed], name| listed.iter().find(|one| one.name == name).cloned();
        for odd in &odd_files {
            let (real, ours) = (of(&real, odd.name), of(&ours, odd.name));
            let differs = odd.differs_in.contains(&program.host());
            let what = (program.host(), odd.name);
            assert_eq!(real != ours, differs, "{what:?}: {real:?} {ours:?}");
        }
    }
}
