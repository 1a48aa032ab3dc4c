//! Whole sessions of `grove catalog`: what a model is told, walked by reading alone, and by a conversation.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::catalog::{CatalogBudget, CatalogStyle};
use grove_skills::disclosure::{CatalogOptions, Disclosure, SkillCall};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::catalog_reader::{ReadEntry, reach, read_catalog, read_index};
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::session::{Session, USER_CONFIG, assert_text};

fn session() -> Session {
    crate::session().without_bundled().working_in("home")
}

/// The catalog that these words ask for.
fn told(session: &Session, words: &str) -> String {
    session.grove(&format!("catalog {words}")).ok().stdout
}

fn absolute(session: &Session, location: &str) -> PathBuf {
    match location.strip_prefix("~/") {
        Some(below) => session.path("home").join(below),
        None => PathBuf::from(location),
    }
}

/// An index file as a reader opens it: by the location it was given, from the disk.
fn index_file(session: &Session, location: &str) -> Option<String> {
    let file = absolute(session, location);
    (!file.ends_with("SKILL.md"))
        .then(|| fs::read_to_string(&file).expect("what an entry leads to can be read"))
}

/// Every file that is reached from a catalog's text by reading alone.
fn walked(session: &Session, text: &str) -> BTreeSet<PathBuf> {
    let reached = reach(text, |location| {
        let text = index_file(session, location)?;
        let length = text.chars().count();
        assert!(length <= 8_000, "{location} is too long to be read at once");
        Some(text)
    });
    let reached = reached.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let files = reached.iter().map(|location| absolute(session, location));
    files.collect()
}

#[test]
fn ten_thousand_skills_are_all_in_reach_of_thirty_thousand_characters() {
    let session = session();
    let library = GeneratedLibrary::create(session.path("library"), 10_000).unwrap();
    let outcome = session.grove("catalog --root ../library --all");
    let text = &outcome.stdout;
    assert!(text.chars().count() <= 30_000 && read_catalog(text).unwrap().len() <= 150);
    let files = walked(&session, text);
    for index in 0..library.n_skills() {
        let file = library.skill_file(index);
        assert!(files.contains(&file), "{} is out of reach", file.display());
    }
    outcome.says(["10000 skills: ", " named, ", " counted"]);
}

/// A flat library of so many skills in the folder `library`.
fn put_flat_library(session: &Session, n_skills: usize) {
    for index in 0..n_skills {
        let name = format!("skill-{index:03}");
        let about = "Does one thing well. Use when it is asked for.";
        session.skill(format!("library/{name}"), &name, about);
    }
}

#[test]
fn what_is_left_out_of_a_flat_library_is_in_reach_too() {
    let session = session();
    put_flat_library(&session, 400);
    let text = told(&session, "--root ../library --all");
    let entries = read_catalog(&text).unwrap();
    assert_eq!(entries.len(), 150);
    for index in 0..400 {
        let name = format!("skill-{index:03}");
        assert!(text.contains(&name), "{name} is not named");
    }
    let files = walked(&session, &text);
    let skills = files.iter().filter(|file| file.ends_with("SKILL.md"));
    assert_eq!(skills.count(), 400);
}

/// `docs` with three children, `pdf` with three of its own, and fifty skills beside them.
fn tree() -> Session {
    let session = session();
    let put = |id: &str, about: &str, children: &str, body: &str| {
        let name = id.rsplit('/').next().unwrap();
        let metadata = match children {
            "" => String::new(),
            names => format!("metadata:\n  children: {names}\n"),
        };
        session.file(
            format!("home/tree/{id}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {about}\n{metadata}---\n{body}\n"),
        );
    };
    let about = "Writes documents. Use when a PDF, Word or slides document is asked for.";
    put("docs", about, "pdf word slides", "Keep documents short.");
    let about = "Makes PDF documents with forms, tables and charts.";
    put("docs/skills/pdf", about, "\"*\"", "Use the fast writer.");
    for name in ["word", "slides"] {
        let about = format!("Makes {name} documents.");
        put(&format!("docs/skills/{name}"), &about, "", "How.");
    }
    for name in ["forms", "tables", "charts"] {
        let id = format!("docs/skills/pdf/skills/pdf-{name}");
        let about = format!("Puts {name} into PDF documents.");
        put(&id, &about, "", &format!("How to make {name}."));
    }
    for index in 0..50 {
        let about = "Does something else. Use when something else is asked for.";
        put(&format!("other-{index:02}"), about, "", "Else.");
    }
    session
}

fn names(entries: &[ReadEntry]) -> Vec<String> {
    let names = entries.iter().map(|entry| entry.name.clone());
    names.filter(|name| !name.starts_with("other")).collect()
}

fn find<'a>(entries: &'a [ReadEntry], name: &str) -> &'a ReadEntry {
    entries.iter().find(|entry| entry.name == name).unwrap()
}

#[test]
fn a_tree_is_read_through_files_alone() {
    let session = tree();
    let text = told(&session, "--root tree");
    let entries = read_catalog(&text).unwrap();
    assert_eq!(names(&entries), ["docs"]);
    let opened = |entries: &[ReadEntry], name: &str| {
        let text = index_file(&session, &find(entries, name).location).unwrap();
        let (children, own) = read_index(&text).unwrap();
        (children, own, text)
    };
    let read = |location: &str| fs::read_to_string(absolute(&session, location)).unwrap();
    let (children, own, docs) = opened(&entries, "docs");
    assert_eq!(names(&children), ["pdf", "word", "slides"]);
    assert!(read(&own.unwrap()).contains("Keep documents short."));
    let (leaves, _, pdf) = opened(&children, "pdf");
    assert_eq!(names(&leaves), ["pdf-charts", "pdf-forms", "pdf-tables"]);
    let leaf = read(&find(&leaves, "pdf-forms").location);
    assert!(leaf.contains("How to make forms."));
    // The price of a step is that of the branch that is opened.
    let [all, docs, pdf] = [&text, &docs, &pdf].map(|text| text.len().div_ceil(4));
    assert!(docs + pdf < all / 4, "{docs} and {pdf} of {all} tokens");
}

#[test]
fn a_tree_is_opened_in_a_conversation() {
    let session = tree();
    let in_talk = |words: &str| format!("{words} --root tree --session talk.json");
    let catalog = || session.grove(&in_talk("catalog")).ok().stdout;
    let shown = || names(&read_catalog(&catalog()).unwrap());
    let activate = |name: &str, parts: [&str; 2]| {
        let value = session.json(&in_talk(&format!("skills activate {name}")));
        assert_text(value["text"].as_str().unwrap(), &parts, &[]);
        value["tokens"].as_u64().unwrap()
    };
    let collapse = |name: &str| {
        session
            .grove(&in_talk(&format!("skills collapse {name}")))
            .ok()
    };
    let first = catalog();
    assert_eq!(shown(), ["docs"]);
    let docs = activate("docs", ["Keep documents short.", "<name>word</name>"]);
    // The children stand in the parent's place.
    assert_eq!(shown(), ["pdf", "slides", "word"]);
    let pdf = activate("pdf", ["Use the fast writer.", "<name>pdf-forms</name>"]);
    assert_eq!(
        shown(),
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
    let leaf = activate("pdf-forms", ["How to make forms.", ""]);
    assert!(docs + pdf + leaf < first.len() as u64 / 4);
    collapse("docs");
    // What was opened by name stays open.
    assert_eq!(shown(), ["docs", "pdf-charts", "pdf-forms", "pdf-tables"]);
    collapse("pdf");
    assert_eq!(catalog(), first, "everything closed is the same text again");
}

#[test]
fn a_tree_is_opened_through_the_library() {
    let session = tree();
    let folder = session.path("home");
    let environment = Environment::for_home(folder.clone(), folder.clone());
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(vec![folder.join("tree")]),
        ..DiscoveryRequest::default()
    };
    let mut library = Library::new(environment, request);
    let talk = folder.join("talk.json");
    let asked = CatalogOptions {
        style: CatalogStyle::Xml,
        budget: CatalogBudget::chars(30_000, 150),
        index_dir: Some(folder.join("index")),
        exact: None,
        exclude: Vec::new(),
        task: None,
    };
    let look = library.discover();
    let disclosure = Disclosure::new(&look, Some(&talk));
    let shown = |disclosure: &Disclosure<'_>| {
        let told = disclosure.catalog(&asked).unwrap();
        names(&read_catalog(&told.catalog.text).unwrap())
    };
    assert_eq!(shown(&disclosure), ["docs"]);
    let activated = disclosure.activate(&SkillCall::of("docs")).unwrap();
    assert_eq!(activated.children.len(), 3);
    assert_eq!(shown(&disclosure), ["pdf", "slides", "word"]);
    disclosure.activate(&SkillCall::of("pdf")).unwrap();
    let leaf = disclosure.activate(&SkillCall::of("pdf-tables")).unwrap();
    assert!(leaf.text.contains("How to make tables.") && Arc::strong_count(&leaf.snapshot) > 0);
    assert_eq!(
        shown(&disclosure),
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
}

#[test]
fn an_update_is_what_changed() {
    let session = tree();
    let whole = told(&session, "--root tree --session talk.json");
    session.skill("home/tree/brand-new", "brand-new", "Is new here.");
    let update = told(&session, "--root tree --session talk.json --since last");
    let added = "<added>\n<skill><name>brand-new</name>";
    assert_text(&update, &[added], &[]);
    assert!(update.len() < whole.len() / 4);
    let value = session.json("catalog --root tree");
    let digest = value["digest"].as_str().unwrap();
    let since = told(&session, &format!("--root tree --since {digest}"));
    assert_eq!(since, "", "nothing changed since");
    let unknown = "0".repeat(64);
    let unknown = session.grove(["catalog", "--root", "tree", "--since", &unknown]);
    unknown
        .says(["no catalog with that digest"])
        .prints(["brand-new"]);
}

#[test]
fn the_text_is_what_is_counted() {
    let session = tree();
    for words in [
        "--budget 4000",
        "--budget 1000 --tokens",
        "--window 200000 --share 1",
        "--style markdown",
        "--style json",
        "--max-skills 10",
    ] {
        let text = told(&session, &format!("--root tree {words}"));
        let value = session.json(&format!("catalog --root tree {words}"));
        assert_eq!(value["text"], text, "{words}");
        assert_eq!(value["chars"], text.chars().count());
        let report = &value["report"];
        let is_kept = report["used"].as_u64() <= report["budget"].as_u64();
        assert!(is_kept, "{report}");
        assert_eq!(report["skills"].as_array().unwrap().len(), 57);
    }
    let style = session
        .grove("catalog --root tree --style json")
        .ok()
        .json();
    assert_eq!(style["skills"].as_array().unwrap().len(), 51);
}

#[test]
fn a_budget_for_nothing_is_refused_with_what_it_takes() {
    for (words, said) in [
        ("--budget 100", "too small"),
        ("--max-skills 0", "0 entries is too small"),
    ] {
        let refused = tree().grove(&format!("catalog --root tree {words}"));
        assert!(refused.code != 0 && refused.stdout.is_empty(), "{refused}");
        refused.says([said]);
    }
}

#[test]
fn index_files_go_where_they_are_asked_to_and_nothing_else_there_is_touched() {
    let session = tree();
    for index in 0..50 {
        session.file(format!("home/mine/notes-{index}.txt"), "mine");
    }
    let text = told(&session, "--root tree --index-dir mine");
    let entries = read_catalog(&text).unwrap();
    let location = &find(&entries, "docs").location;
    assert!(location.starts_with("~/mine/"), "{location}");
    assert!(absolute(&session, location).is_file());
    let mut names = session.entries("home/mine");
    names.retain(|name| name.starts_with("notes"));
    assert_eq!(names.len(), 50);
}

#[test]
fn what_is_pinned_comes_first_and_what_is_used_keeps_its_words() {
    let session = tree();
    session.file(USER_CONFIG, "[catalog]\npinned = ['other-49']\n");
    for _ in 0..3 {
        session.grove("skills activate other-48 --root tree").ok();
    }
    let text = told(&session, "--root tree --budget 6000");
    let entries = read_catalog(&text).unwrap();
    assert_eq!(entries[0].name, "other-49");
    let described = ["other-47", "other-48", "other-49"]
        .map(|name| entries.iter().any(|entry| entry.name == name));
    assert_eq!(described, [false, true, true], "{text}");
}

/// With the tables built in, a budget in tokens is kept by an encoding that somebody else wrote.
#[cfg(feature = "exact-tokens")]
#[test]
fn tokens_are_counted_exactly() {
    let value = tree().json("catalog --tokens --budget 900 --root tree");
    let tokens = grove_tokens::count(value["text"].as_str().unwrap());
    assert!(tokens <= 900 && tokens > 700, "{tokens}");
    assert_eq!(value["tokens"].as_u64(), Some(tokens as u64));
}

#[test]
fn a_damaged_index_file_is_written_again() {
    let session = tree();
    let text = told(&session, "--root tree");
    let file = absolute(
        &session,
        &find(&read_catalog(&text).unwrap(), "docs").location,
    );
    let whole = session.read(&file);
    session.file(&file, "");
    assert_eq!(told(&session, "--root tree"), text);
    assert_eq!(session.read(&file), whole);
}

#[test]
fn skills_beyond_the_limits_are_not_passed_over_in_silence() {
    let session = session();
    put_flat_library(&session, 310);
    session.file(USER_CONFIG, "[limits]\ncandidates_per_root = 300\n");
    let outcome = session.grove("catalog --root ../library");
    outcome.says(["300 skills: ", " named", "not offered: 10 not-read"]);
    let value = session.json("catalog --root ../library");
    assert_eq!(value["report"]["notOffered"]["not-read"], 10);
}

#[test]
fn nothing_is_needed_for_what_is_not_written() {
    let session = session();
    session.skill("home/plain/one", "one", "Is the only one.");
    let mut command = session.command("home");
    command.args(["catalog", "--root", "plain"]).env_clear();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
