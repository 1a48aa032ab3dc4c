//! Whole sessions of `grove catalog`: what a model is told, walked by reading alone, and by a conversation.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::catalog::{Budget, Style};
use grove_skills::disclosure::{Call, CatalogOptions, Disclosure};
use grove_skills::{Environment, Library, Request, View};
use grove_testkit::catalog_reader::{ReadEntry, reach, read_catalog, read_index};
use grove_testkit::home::TestHome;
use grove_testkit::library::GeneratedLibrary;
use serde_json::Value;

fn empty_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn told(home: &TestHome, arguments: &[&str]) -> String {
    let finished = home.run("home", [&["catalog"], arguments].concat());
    assert!(
        finished.success(),
        "{arguments:?}: {}",
        finished.stderr_text()
    );
    finished.stdout_text()
}

fn json(home: &TestHome, arguments: &[&str]) -> Value {
    let finished = home.run("home", arguments);
    assert!(
        finished.success(),
        "{arguments:?}: {}",
        finished.stderr_text()
    );
    serde_json::from_slice(&finished.stdout).unwrap()
}

fn absolute(home: &TestHome, location: &str) -> PathBuf {
    match location.strip_prefix("~/") {
        Some(below) => home.path("home").join(below),
        None => PathBuf::from(location),
    }
}

/// An index file as a reader opens it: by the location it was given, from the disk.
fn index_file(home: &TestHome, location: &str) -> Option<String> {
    let file = absolute(home, location);
    (!file.ends_with("SKILL.md"))
        .then(|| fs::read_to_string(&file).expect("what an entry leads to can be read"))
}

/// Every file that is reached from a catalog's text by reading alone.
fn walked(home: &TestHome, text: &str) -> BTreeSet<PathBuf> {
    let reached = reach(text, |location| {
        let text = index_file(home, location)?;
        assert!(
            text.chars().count() <= 8_000,
            "{location} is too long to be read at once"
        );
        Some(text)
    });
    let reached = reached.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    reached
        .iter()
        .map(|location| absolute(home, location))
        .collect()
}

#[test]
fn ten_thousand_skills_are_all_in_reach_of_thirty_thousand_characters() {
    let home = empty_home();
    let library = GeneratedLibrary::create(home.path("library"), 10_000).unwrap();
    let root = library.root().to_str().unwrap().to_owned();
    let finished = home.run("home", ["catalog", "--root", &root, "--all"]);
    let text = finished.stdout_text();
    assert!(text.chars().count() <= 30_000 && read_catalog(&text).unwrap().len() <= 150);
    let files = walked(&home, &text);
    for index in 0..library.n_skills() {
        let file = library.skill_file(index);
        assert!(files.contains(&file), "{} is out of reach", file.display());
    }
    assert!(
        finished
            .stderr_text()
            .contains("10000 skills: 10000 collapsed"),
        "{}",
        finished.stderr_text()
    );
}

#[test]
fn what_is_left_out_of_a_flat_library_is_in_reach_too() {
    let home = empty_home();
    for index in 0..400 {
        let name = format!("skill-{index:03}");
        home.skill(
            format!("library/{name}"),
            &name,
            "Does one thing well. Use when it is asked for.",
        );
    }
    let root = home.path("library").display().to_string();
    let text = told(&home, &["--root", &root, "--all"]);
    let entries = read_catalog(&text).unwrap();
    assert_eq!(entries.len(), 150);
    let rest = entries.last().unwrap();
    assert_eq!(
        (rest.name.as_str(), rest.description.as_deref()),
        ("more/", Some("251 more skills that did not fit here."))
    );
    assert_eq!(
        walked(&home, &text)
            .iter()
            .filter(|file| file.ends_with("SKILL.md"))
            .count(),
        400
    );
}

/// `docs` with three children, `pdf` with three of its own, and fifty skills beside them.
fn tree() -> TestHome {
    let home = empty_home();
    let put = |id: &str, about: &str, children: &str, body: &str| {
        let name = id.rsplit('/').next().unwrap();
        let metadata = if children.is_empty() {
            String::new()
        } else {
            format!("metadata:\n  children: {children}\n")
        };
        home.file(
            format!("home/tree/{id}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {about}\n{metadata}---\n{body}\n"),
        );
    };
    put(
        "docs",
        "Writes documents. Use when a PDF, Word or slides document is asked for.",
        "pdf word slides",
        "Keep documents short.",
    );
    put(
        "docs/skills/pdf",
        "Makes PDF documents with forms, tables and charts.",
        "\"*\"",
        "Use the fast writer.",
    );
    for name in ["word", "slides"] {
        put(
            &format!("docs/skills/{name}"),
            &format!("Makes {name} documents."),
            "",
            "How.",
        );
    }
    for name in ["forms", "tables", "charts"] {
        put(
            &format!("docs/skills/pdf/skills/pdf-{name}"),
            &format!("Puts {name} into PDF documents."),
            "",
            &format!("How to make {name}."),
        );
    }
    for index in 0..50 {
        put(
            &format!("other-{index:02}"),
            "Does something else. Use when something else is asked for.",
            "",
            "Else.",
        );
    }
    home
}

const ROOT: [&str; 2] = ["--root", "tree"];

fn names(entries: &[ReadEntry]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry.name.as_str())
        .filter(|name| !name.starts_with("other"))
        .collect()
}

fn find<'a>(entries: &'a [ReadEntry], name: &str) -> &'a str {
    &entries
        .iter()
        .find(|entry| entry.name == name)
        .unwrap()
        .location
}

#[test]
fn a_tree_is_read_through_files_alone() {
    let home = tree();
    let text = told(&home, &ROOT);
    let entries = read_catalog(&text).unwrap();
    assert_eq!(names(&entries), ["docs"]);
    let docs = index_file(&home, find(&entries, "docs")).unwrap();
    let (children, own) = read_index(&docs).unwrap();
    assert_eq!(names(&children), ["pdf", "word", "slides"]);
    assert!(
        fs::read_to_string(absolute(&home, &own.unwrap()))
            .unwrap()
            .contains("Keep documents short.")
    );
    let pdf = index_file(&home, find(&children, "pdf")).unwrap();
    let (leaves, _) = read_index(&pdf).unwrap();
    assert_eq!(names(&leaves), ["pdf-charts", "pdf-forms", "pdf-tables"]);
    let leaf = fs::read_to_string(absolute(&home, find(&leaves, "pdf-forms"))).unwrap();
    assert!(leaf.contains("How to make forms."));
    // The price of a step is that of the branch that is opened.
    let tokens = [text.len(), docs.len(), pdf.len(), leaf.len()].map(|bytes| bytes.div_ceil(4));
    println!(
        "tokens by files: catalog {}, docs {}, pdf {}, leaf {}",
        tokens[0], tokens[1], tokens[2], tokens[3]
    );
    assert!(tokens[1] + tokens[2] < tokens[0] / 4, "{tokens:?}");
}

#[test]
fn a_tree_is_opened_in_a_conversation() {
    let home = tree();
    let session = ["--session", "talk.json"];
    let catalog = || {
        let text = told(&home, &[&ROOT[..], &session].concat());
        let entries = read_catalog(&text).unwrap();
        (
            names(&entries)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            text,
        )
    };
    let activate = |name: &str| {
        let value = json(
            &home,
            &[&["skills", "activate", name, "--json"], &ROOT[..], &session].concat(),
        );
        (
            value["text"].as_str().unwrap().to_owned(),
            value["tokens"].as_u64().unwrap(),
        )
    };
    let (before, first) = catalog();
    assert_eq!(before, ["docs"]);
    let (docs, docs_tokens) = activate("docs");
    assert!(
        docs.contains("Keep documents short.") && docs.contains("<name>word</name>"),
        "{docs}"
    );
    assert_eq!(
        catalog().0,
        ["pdf", "slides", "word"],
        "the children stand in the parent's place"
    );
    let (pdf, pdf_tokens) = activate("pdf");
    assert!(pdf.contains("<name>pdf-forms</name>"), "{pdf}");
    assert_eq!(
        catalog().0,
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
    let (leaf, leaf_tokens) = activate("pdf-forms");
    assert!(leaf.contains("How to make forms."));
    println!(
        "tokens by conversation: catalog {}, docs {docs_tokens}, pdf {pdf_tokens}, leaf {leaf_tokens}",
        first.len().div_ceil(4)
    );
    assert!(docs_tokens + pdf_tokens + leaf_tokens < first.len() as u64 / 4);
    let collapsed = home.run(
        "home",
        [&["skills", "collapse", "docs"], &ROOT[..], &session].concat(),
    );
    assert!(collapsed.success());
    assert_eq!(
        catalog().0,
        ["docs", "pdf-charts", "pdf-forms", "pdf-tables"],
        "what was opened by name stays open"
    );
    home.run(
        "home",
        [&["skills", "collapse", "pdf"], &ROOT[..], &session].concat(),
    );
    assert_eq!(
        catalog(),
        (before, first),
        "and everything closed is the same text again"
    );
}

#[test]
fn a_tree_is_opened_through_the_library() {
    let home = tree();
    let folder = home.path("home");
    let environment = Environment::for_home(folder.clone(), folder.clone());
    let request = Request {
        view: View::Folders(vec![folder.join("tree")]),
        ..Request::default()
    };
    let mut library = Library::new(environment, request);
    let session = folder.join("talk.json");
    let asked = CatalogOptions {
        style: Style::Xml,
        budget: Budget::chars(30_000, 150),
        index_dir: Some(folder.join("index")),
        exact: None,
    };
    let look = library.look();
    let disclosure = Disclosure::new(&look, Some(&session));
    let shown = |disclosure: &Disclosure<'_>| {
        let told = disclosure.catalog(&asked).unwrap();
        let entries = read_catalog(&told.catalog.text).unwrap();
        names(&entries)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&disclosure), ["docs"]);
    let activated = disclosure.activate(&Call::of("docs")).unwrap();
    assert_eq!(activated.children.len(), 3);
    assert_eq!(shown(&disclosure), ["pdf", "slides", "word"]);
    disclosure.activate(&Call::of("pdf")).unwrap();
    let leaf = disclosure.activate(&Call::of("pdf-tables")).unwrap();
    assert!(leaf.text.contains("How to make tables.") && Arc::strong_count(&leaf.snapshot) > 0);
    assert_eq!(
        shown(&disclosure),
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
}

#[test]
fn an_update_is_what_changed() {
    let home = tree();
    let session = ["--session", "talk.json"];
    let whole = told(&home, &[&ROOT[..], &session].concat());
    home.skill("home/tree/brand-new", "brand-new", "Is new here.");
    let update = told(&home, &[&ROOT[..], &session, &["--since", "last"]].concat());
    assert!(
        update.contains("<added>\n<skill><name>brand-new</name>"),
        "{update}"
    );
    assert!(update.len() < whole.len() / 4);
    let value = json(&home, &[&["catalog", "--json"], &ROOT[..]].concat());
    let digest = value["digest"].as_str().unwrap();
    assert_eq!(
        told(&home, &[&ROOT[..], &["--since", digest]].concat()),
        "",
        "nothing changed since"
    );
    let unknown = home.run(
        "home",
        [&["catalog", "--since", &"0".repeat(64)], &ROOT[..]].concat(),
    );
    assert!(
        unknown
            .stderr_text()
            .contains("no catalog with that digest")
    );
    assert!(unknown.stdout_text().contains("brand-new"));
}

#[test]
fn the_text_is_what_is_counted() {
    let home = tree();
    for arguments in [
        &["--budget", "4000"][..],
        &["--budget", "1000", "--tokens"],
        &["--window", "200000", "--share", "1"],
        &["--style", "markdown"],
        &["--style", "json"],
        &["--max-skills", "10"],
    ] {
        let text = told(&home, &[&ROOT[..], arguments].concat());
        let value = json(
            &home,
            &[&["catalog", "--json"], &ROOT[..], arguments].concat(),
        );
        assert_eq!(value["text"].as_str(), Some(text.as_str()), "{arguments:?}");
        assert_eq!(value["chars"].as_u64(), Some(text.chars().count() as u64));
        let report = &value["report"];
        assert!(
            report["used"].as_u64() <= report["budget"].as_u64(),
            "{report}"
        );
        assert_eq!(report["skills"].as_array().unwrap().len(), 57);
    }
    let style: Value =
        serde_json::from_str(&told(&home, &[&ROOT[..], &["--style", "json"]].concat())).unwrap();
    assert_eq!(style["skills"].as_array().unwrap().len(), 51);
}

#[test]
fn a_budget_for_nothing_is_refused_with_what_it_takes() {
    let home = tree();
    let finished = home.run(
        "home",
        [&["catalog", "--budget", "100"], &ROOT[..]].concat(),
    );
    assert!(!finished.success() && finished.stdout_text().is_empty());
    assert!(
        finished.stderr_text().contains("too small"),
        "{}",
        finished.stderr_text()
    );
}

#[test]
fn index_files_go_where_they_are_asked_to() {
    let home = tree();
    let text = told(&home, &[&ROOT[..], &["--index-dir", "mine"]].concat());
    let entries = read_catalog(&text).unwrap();
    assert!(find(&entries, "docs").starts_with("~/mine/"));
    assert!(Path::new(&absolute(&home, find(&entries, "docs"))).is_file());
}

#[test]
fn what_is_pinned_comes_first_and_what_is_used_keeps_its_words() {
    let home = tree();
    home.file(
        "config/grove/config.toml",
        "[catalog]\npinned = ['other-49']\n",
    );
    for _ in 0..3 {
        assert!(
            home.run(
                "home",
                [&["skills", "activate", "other-48"], &ROOT[..]].concat()
            )
            .success()
        );
    }
    let text = told(&home, &[&ROOT[..], &["--budget", "6000"]].concat());
    let entries = read_catalog(&text).unwrap();
    assert_eq!(entries[0].name, "other-49");
    let described = |name: &str| {
        entries
            .iter()
            .find(|entry| entry.name == name)
            .unwrap()
            .description
            .is_some()
    };
    assert!(
        described("other-48") && described("other-49") && !described("other-47"),
        "{text}"
    );
}

/// With the tables built in, a budget in tokens is kept by an encoding that somebody else wrote.
#[cfg(feature = "exact-tokens")]
#[test]
fn tokens_are_counted_exactly() {
    let home = tree();
    let value = json(
        &home,
        &[
            &["catalog", "--json", "--tokens", "--budget", "900"],
            &ROOT[..],
        ]
        .concat(),
    );
    let tokens = grove_tokens::count(value["text"].as_str().unwrap());
    assert!(tokens <= 900 && tokens > 700, "{tokens}");
    assert_eq!(value["tokens"].as_u64(), Some(tokens as u64));
}

#[test]
fn a_damaged_index_file_is_written_again() {
    let home = tree();
    let text = told(&home, &ROOT);
    let file = absolute(&home, find(&read_catalog(&text).unwrap(), "docs"));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!(told(&home, &ROOT), text);
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn a_folder_that_somebody_named_is_not_tidied() {
    let home = tree();
    for index in 0..50 {
        home.file(format!("home/mine/notes-{index}.txt"), "mine");
    }
    told(&home, &[&ROOT[..], &["--index-dir", "mine"]].concat());
    let names = fs::read_dir(home.path("home/mine")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("notes")).count(), 50);
}

#[test]
fn skills_beyond_the_limits_are_not_passed_over_in_silence() {
    let home = empty_home();
    for index in 0..310 {
        let name = format!("skill-{index:03}");
        home.skill(format!("library/{name}"), &name, "Does one thing well.");
    }
    let root = home.path("library").display().to_string();
    let finished = home.run("home", ["catalog", "--root", &root]);
    let notes = finished.stderr_text();
    assert!(
        notes.contains("not offered: 100 capped, 10 not-read"),
        "{notes}"
    );
    let value = json(&home, &["catalog", "--root", &root, "--json"]);
    assert_eq!(value["report"]["notOffered"]["not-read"], 10);
}

#[test]
fn nothing_is_needed_for_what_is_not_written() {
    let home = empty_home();
    home.skill("home/plain/one", "one", "Is the only one.");
    let finished = std::process::Command::new(env!("CARGO_BIN_EXE_grove"))
        .args(["catalog", "--root", "plain"])
        .current_dir(home.path("home"))
        .env_clear()
        .output()
        .unwrap();
    assert!(finished.status.success(), "{finished:?}");
    let finished = home.run("home", ["catalog", "--root", "plain", "--max-skills", "0"]);
    assert!(!finished.success());
    assert!(
        finished.stderr_text().contains("0 entries is too small"),
        "{}",
        finished.stderr_text()
    );
}
