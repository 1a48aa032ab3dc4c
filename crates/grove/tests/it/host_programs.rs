//! What a host tells its model: `grove catalog --host X` against the first request of the real program.

mod libraries;
mod listing;

use std::collections::BTreeSet;
use std::time::Duration;

use grove_catalog::hosts;
use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{ModelServer, Script};
use grove_testkit::needs;
use grove_testkit::session::{Session, column};
use libraries::{copy_real, folder_of, generate, odd_files};
use listing::{Listed, parse, real_text};
use serde_json::{Value, json};

/// A turn takes two seconds; a busy machine is slower, and only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

/// How an entry may be shown, as the report counts them.
const WAYS: [&str; 4] = ["full", "shortened", "nameOnly", "leftOut"];

/// What `grove why` says of a skill that a model is told of.
const SHOWN: [&str; 3] = ["whole", "shortened", "name-only"];

/// What `grove why` says for a program, row by row.
fn answers_of(program: AgentProgram, why: &Value) -> Vec<String> {
    let rows = why["skills"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["host"] == program.host());
    rows.map(|row| row["answer"].as_str().unwrap().to_owned())
        .collect()
}

fn home() -> Session {
    let home = crate::session();
    // The end of the project, so that nothing above it is looked at; Codex looks whether it is a repository.
    home.file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    home
}

/// The list in the real program's first request that has one.
fn real(program: AgentProgram, home: &Session, working: &str) -> Vec<Listed> {
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
fn ours(program: AgentProgram, home: &Session, working: &str) -> (Vec<Listed>, Value) {
    let words = ["catalog", "--host", program.host()];
    let catalog = home.json_in(working, words);
    let text = catalog["text"].as_str().unwrap();
    let plain = home.grove_in(working, words).stdout;
    assert_eq!(plain, text, "the same text without --json");
    (parse(program, text), catalog)
}

/// A list without the skills that the program brings along.
fn without_built_in(
    program: AgentProgram,
    mut listed: Vec<Listed>,
    catalog: &Value,
) -> Vec<Listed> {
    let built_in = catalog["report"]["builtIn"].as_array().unwrap();
    let taken = column(&catalog["entries"], "name");
    // A skill of the user's with the same name takes its place, but for Codex, which lists both and names
    // its own folder.
    let is_built_in = |one: &Listed| match (program, &one.location) {
        (AgentProgram::Codex, location) => {
            let location = location.as_deref().unwrap_or_default();
            location.contains("/.codex/skills/.system/")
        }
        _ => built_in.iter().any(|name| *name == one.name) && !taken.contains(&one.name),
    };
    listed.retain(|one| !is_built_in(one));
    listed
}

/// Both lists, after it was checked that the report counts what the list shows.
fn both(program: AgentProgram, home: &Session, working: &str) -> (Vec<Listed>, Vec<Listed>, Value) {
    let (ours, catalog) = ours(program, home, working);
    let ours = without_built_in(program, ours, &catalog);
    let real = without_built_in(program, real(program, home, working), &catalog);
    let report = &catalog["report"];
    let entries = catalog["entries"].as_array().unwrap();
    for how in WAYS {
        let count = entries.iter().filter(|one| one["how"] == how).count();
        assert_eq!(report[how], count, "{}: {how}", program.host());
    }
    let n_listed = entries.iter().filter(|one| one["how"] != "leftOut").count();
    assert_eq!(ours.len(), n_listed, "{}", program.host());
    (real, ours, catalog)
}

/// Fails with the first difference rather than with two lists of hundreds.
fn assert_same(program: AgentProgram, real: &[Listed], ours: &[Listed]) {
    let host = program.host();
    let names = |listed: &[Listed]| -> BTreeSet<String> {
        listed.iter().map(|one| one.name.clone()).collect()
    };
    let (theirs, mine) = (names(real), names(ours));
    let (missing, surplus) = (&theirs - &mine, &mine - &theirs);
    assert!(
        missing.is_empty(),
        "{host}: only the program has {missing:?}"
    );
    assert!(surplus.is_empty(), "{host}: only Grove has {surplus:?}");
    for (real, ours) in real.iter().zip(ours) {
        let mut real = real.clone();
        if program == AgentProgram::Pi {
            // pi keeps the line end of a block of text, which Grove drops where it reads it.
            real.description = real.description.map(|text| text.trim_end().to_owned());
        }
        assert_eq!(*ours, real, "{host}");
    }
    assert_eq!(real.len(), ours.len(), "{host}");
}

fn compare(program: AgentProgram, home: &Session, working: &str) -> Value {
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
    let host = program.host();
    assert!(
        n_entries * 10 > copied * 9,
        "{host}: {n_entries} of {copied}"
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
    for how in WAYS {
        let is_there = report[how].as_u64().unwrap() > 0;
        let what = format!("{} with {n_skills}: {how} in {report}", program.host());
        assert_eq!(is_there, expected.contains(&how), "{what}");
    }
}

#[test]
fn the_real_corpus_in_claude_code() {
    needs![RealCollections, Claude];
    over_the_real_corpus(AgentProgram::Claude);
}

#[test]
fn the_real_corpus_in_codex() {
    needs![RealCollections, Codex];
    over_the_real_corpus(AgentProgram::Codex);
}

#[test]
fn the_real_corpus_in_copilot() {
    needs![RealCollections, Copilot];
    over_the_real_corpus(AgentProgram::Copilot);
}

#[test]
fn the_real_corpus_in_pi() {
    needs![RealCollections, Pi, Node];
    over_the_real_corpus(AgentProgram::Pi);
}

#[test]
fn below_their_budget_programs_show_everything() {
    needs![Claude, Codex, Copilot, Pi, Node];
    AgentProgram::ALL.into_iter().for_each(below_the_budget);
}

#[test]
fn beyond_its_budget_claude_code_keeps_names() {
    needs![Claude];
    over_the_budget(AgentProgram::Claude, 24, &["full", "nameOnly"]);
    over_the_budget(AgentProgram::Claude, 400, &["nameOnly"]);
}

#[test]
fn beyond_its_budget_codex_shortens_then_leaves_out() {
    needs![Codex];
    over_the_budget(AgentProgram::Codex, 150, &["shortened"]);
    over_the_budget(AgentProgram::Codex, 700, &["nameOnly", "leftOut"]);
}

#[test]
fn beyond_its_budget_copilot_names_then_leaves_out() {
    needs![Copilot];
    over_the_budget(AgentProgram::Copilot, 90, &["full", "nameOnly"]);
    over_the_budget(AgentProgram::Copilot, 700, &["full", "nameOnly", "leftOut"]);
}

#[test]
fn pi_has_no_budget() {
    needs![Pi, Node];
    over_the_budget(AgentProgram::Pi, 700, &["full"]);
}

/// What the host files say about the skills that come with a program, against the program in an empty home.
#[test]
fn the_skills_that_programs_bring_along_are_known() {
    needs![Claude, Codex, Copilot, Pi, Node];
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
    needs![Claude, Codex, Copilot, Pi, Node];
    for program in AgentProgram::ALL {
        let home = home();
        home.dir("project/pkg/sub");
        let folders = ".agents .claude .codex .github .copilot .pi .pi/agent";
        for base in ["home", "project", "project/pkg"] {
            for folder in folders.split(' ') {
                let root = format!("{base}/{folder}/skills");
                let tag = format!("{base}{folder}").replace(['/', '.'], "-");
                for name in [format!("z-{tag}"), format!("a-{tag}")] {
                    home.skill(format!("{root}/{name}"), &name, "First or last");
                }
                let description = format!("Of {base} {folder}");
                home.skill(format!("{root}/same"), "same", &description);
            }
        }
        home.skill("home/.agents/skills/same/inner", "inner", "In a skill");
        for working in ["project", "project/pkg", "project/pkg/sub"] {
            compare(program, &home, working);
        }
        // Of those that bear one name, those are shown that the program lists, and the others say who goes before.
        let catalog = ours(program, &home, "project/pkg").1;
        let listed = column(&catalog["entries"], "name");
        let n_listed = listed.iter().filter(|name| *name == "same").count();
        let why = home.json_in("project/pkg", ["why", "same"]);
        let said = answers_of(program, &why);
        let n_shown = said.iter().filter(|said| SHOWN.contains(&said.as_str()));
        assert_eq!(n_shown.count(), n_listed, "{}: {said:?}", program.host());
        let is_shadowed = said.iter().any(|said| said == "shadowed");
        assert_eq!(is_shadowed, n_listed == 1, "{}: {said:?}", program.host());
        // Codex alone lists a skill in a skill; of the others, those that read the folder pass over it.
        let why = home.json_in("project/pkg", ["why", "inner"]);
        let expected = match program {
            AgentProgram::Codex => "whole",
            AgentProgram::Claude => "not-looked-in",
            AgentProgram::Copilot | AgentProgram::Pi => "passed-over",
        };
        assert_eq!(answers_of(program, &why), [expected], "{}", program.host());
        let is_listed = listed.iter().any(|name| name == "inner");
        assert_eq!(is_listed, expected == "whole", "{}", program.host());
    }
}

/// Folders that pi's settings name: where paths begin, in which order they are listed, and who wins.
#[test]
fn pi_lists_what_its_settings_name_before_its_folders() {
    needs![Pi, Node];
    let home = home();
    home.dir("project/pkg");
    for (folder, named) in [
        ("home/.pi/agent", &["~/mine", "beside", "~/mine"][..]),
        ("project/pkg/.pi", &["../team", "near", "../one/only", "no"]),
        // The settings of a folder above are not pi's.
        ("project/.pi", &["../above"]),
    ] {
        let settings = json!({"skills": named}).to_string();
        home.file(format!("{folder}/settings.json"), settings);
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
    home.definition("home/mine/flat.md", "", "x");
    let catalog = compare(AgentProgram::Pi, &home, "project/pkg");
    // Both lists have what only settings name.
    let names = column(&catalog["entries"], "name");
    for name in ["flat", "only"] {
        assert!(names.contains(&name.to_owned()), "{name} in {names:?}");
    }
}

/// Where there is no repository some programs look in every folder above, and others do not.
#[test]
fn folders_above_count_without_a_repository_too_for_some() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for program in AgentProgram::ALL {
        let home = crate::session();
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

/// Files that programs read in ways of their own, and what of it Grove does not follow; `grove why` says of each whether
/// the program lists it.
#[test]
fn odd_files_differ_where_the_documentation_says() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let odd_files = odd_files();
    let mut met = BTreeSet::new();
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
            let why = home.grove(["why", odd.name, "--json"]);
            let why: Value = serde_json::from_str(&why.stdout).unwrap();
            let rows = why["skills"].as_array().unwrap().iter();
            let mut rows = rows.filter(|row| row["host"] == program.host());
            let row = rows.find(|row| {
                let location = row["location"].as_str();
                location.is_none_or(|location| location.ends_with(&odd.path))
            });
            // These two are listed by their folders in one program and by their names in another.
            let has_one_name = !["renamed", "other"].contains(&odd.name);
            if let Some(row) = row.filter(|_| !differs && has_one_name) {
                let said = row["answer"].as_str().unwrap();
                let is_shown = SHOWN.contains(&said);
                assert_eq!(is_shown, real.is_some(), "{what:?}: {row} {real:?}");
                met.insert(format!("{} {said}", program.host()));
            }
        }
    }
    for expected in [
        "claude too-deep",
        "claude flat-file",
        "claude people-only",
        "codex too-deep",
        "codex flat-file",
        "codex invalid",
        "copilot flat-file",
        "copilot filtered",
        "copilot invalid",
        "copilot people-only",
    ] {
        assert!(met.contains(expected), "{expected} of {met:?}");
    }
}

/// `grove why` against what the real program shows of the same skill: whole, shortened, by name, or not at all.
#[test]
fn why_says_what_the_program_does() {
    needs![Claude, Codex, Copilot];
    for (program, n_skills, ways) in [
        (
            AgentProgram::Claude,
            24,
            &["whole", "name-only", "people-only"][..],
        ),
        (AgentProgram::Codex, 150, &["shortened"]),
        (AgentProgram::Codex, 700, &["name-only", "left-out"]),
        (
            AgentProgram::Copilot,
            700,
            &["whole", "name-only", "left-out", "people-only"],
        ),
    ] {
        let home = home();
        generate(&home, program, n_skills, 300);
        let folder = folder_of(program);
        let secret = "description: d\ndisable-model-invocation: true";
        for (path, front) in [
            (
                format!("home/{folder}/a/b/c/d/e/f/g/h/sunk"),
                "description: Deep down",
            ),
            (format!("home/{folder}/secret"), secret),
            (
                "home/.gemini/skills/elsewhere".to_owned(),
                "description: Of another host",
            ),
        ] {
            let name = path.rsplit('/').next().unwrap();
            let text = format!("---\nname: {name}\n{front}\n---\nx\n");
            home.file(format!("{path}/SKILL.md"), text);
        }
        home.dir(format!("home/{folder}"));
        let real = real(program, &home, "project");
        let step = n_skills / 8;
        let generated = (0..n_skills)
            .step_by(step)
            .map(|number| format!("task-{number:04}"));
        let last = format!("task-{:04}", n_skills - 1);
        let others = [last, "secret".to_owned(), "elsewhere".to_owned()];
        let mut met = BTreeSet::new();
        for name in generated.chain(others) {
            let why = home.json(["why", &name]);
            let rows = why["skills"].as_array().unwrap();
            let row = rows
                .iter()
                .find(|row| row["host"] == program.host())
                .unwrap();
            let listed = real.iter().find(|one| one.name == name);
            let text = listed.map(|one| {
                let text = one.description.as_deref().unwrap_or_default();
                let text = text.replace("&lt;", "<").replace("&gt;", ">");
                text.replace("&quot;", "\"").replace("&amp;", "&")
            });
            let shown = home.json(["skills", "show", &name]);
            let whole = shown["skill"]["description"].as_str().unwrap();
            let expected: &[&str] = match text.as_deref() {
                None => &["left-out", "people-only", "not-looked-in"],
                Some("") => &["name-only"],
                Some(text) if text == whole => &["whole"],
                Some(_) => &["shortened"],
            };
            let said = row["answer"].as_str().unwrap();
            assert!(
                expected.contains(&said),
                "{}: {name}: {row} {listed:?}",
                program.host()
            );
            met.insert(said.to_owned());
        }
        for way in ways.iter().chain(&["not-looked-in"]) {
            assert!(met.contains(*way), "{}: {way} of {met:?}", program.host());
        }
    }
}
