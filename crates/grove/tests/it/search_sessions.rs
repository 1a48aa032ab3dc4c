//! Sessions of `grove skills search` and `grove skills confusable`: what is printed, in which order and why.

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::{Value, json};

const USER: &str = "home/.agents/skills";

fn new_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    let bundled = home.path("home/bundled");
    home.dir("home/bundled");
    let home = home.with_env("GROVE_BUNDLED_DIR", bundled);
    for (id, description) in [
        ("office/pdf-join", "Joins PDF files into one document"),
        ("office/mail", "Answers letters"),
        ("deploy", "Ships a release to Kubernetes"),
    ] {
        let name = id.rsplit('/').next().unwrap();
        home.skill(format!("{USER}/{id}"), name, description);
    }
    let hidden =
        "---\nname: payroll\ndescription: Pays wages\ndisable-model-invocation: true\n---\n";
    home.file(format!("{USER}/payroll/SKILL.md"), hidden);
    home
}

fn run(home: &TestHome, arguments: &[&str], code: i32) -> (String, String) {
    let finished = home.run("project", arguments);
    let (told, beside) = (finished.stdout_text(), finished.stderr_text());
    assert_eq!(
        finished.ending,
        Ending::Exited(code),
        "{arguments:?}: {told}{beside}"
    );
    (told, beside)
}

fn search(home: &TestHome, words: &[&str]) -> Value {
    let mut arguments = vec!["skills", "search", "--json"];
    arguments.extend(words);
    serde_json::from_str(&run(home, &arguments, 0).0).unwrap()
}

fn ids(found: &Value) -> Vec<&str> {
    let results = found["results"].as_array().unwrap().iter();
    results
        .map(|result| result["id"].as_str().unwrap())
        .collect()
}

#[test]
fn words_keywords_names_and_ids_lead_to_a_skill() {
    let home = new_home();
    for (words, expected) in [
        (&["joining", "documents"][..], "office/pdf-join"),
        (&["how do I ship to k8s?"][..], "deploy"),
        (&["pdf-join"][..], "office/pdf-join"),
        (&["office/mail"][..], "office/mail"),
        (&["letter"][..], "office/mail"),
    ] {
        let found = search(&home, words);
        assert_eq!(ids(&found).first(), Some(&expected), "{words:?}: {found}");
    }
    let found = search(&home, &["pdf"]);
    let result = &found["results"][0];
    assert_eq!(found["schema"], "grove.skills.search/1");
    assert_eq!(result["path"], json!(["office"]));
    assert_eq!(result["address"], "office/pdf-join@user:.agents/skills");
    assert_eq!(result["why"], "name: pdf");
    assert!(result["score"].as_f64().unwrap() > 0.0);
    let location = result["location"].as_str().unwrap();
    assert!(std::path::Path::new(location).is_file(), "{location}");
}

#[test]
fn the_table_says_why_and_nothing_found_is_no_error() {
    let home = new_home();
    let (told, beside) = run(&home, &["skills", "search", "joins", "pdf"], 0);
    let first = told.lines().nth(1).unwrap();
    assert!(first.starts_with("pdf-join (in office)"), "{told}");
    assert!(first.contains("name: joins, pdf"), "{told}");
    assert!(beside.contains("1 skill found"), "{beside}");
    let (told, beside) = run(&home, &["skills", "search", "zzyzx\u{1b}[2J"], 0);
    assert_eq!(told, "");
    assert!(
        beside.contains("no skill") && beside.contains("hint: "),
        "{beside}"
    );
    assert!(!beside.contains('\u{1b}'));
}

#[test]
fn limits_and_words_are_checked() {
    let home = new_home();
    assert_eq!(
        ids(&search(&home, &["joins answers ships", "--limit", "2"])).len(),
        2
    );
    for wrong in [
        &["skills", "search"][..],
        &["skills", "search", " "][..],
        &["skills", "search", "x", "--limit", "0"][..],
        &["skills", "search", "x", "--limit", "1001"][..],
    ] {
        run(&home, wrong, 2);
    }
}

#[test]
fn what_models_are_not_told_of_is_found_by_people_alone() {
    let home = new_home();
    assert!(ids(&search(&home, &["payroll"])).is_empty());
    assert_eq!(ids(&search(&home, &["wages", "--person"])), ["payroll"]);
}

#[test]
fn a_session_lets_only_its_names_through() {
    let home = new_home();
    let session = json!({
        "version": 1, "expanded": [], "active": [],
        "frozen": {"pinned": [], "usage": {}, "names": ["mail"]},
        "catalog": null,
    });
    home.file("project/talk.json", session.to_string());
    let words = ["joins answers ships", "--session", "talk.json"];
    assert_eq!(ids(&search(&home, &words)), ["office/mail"]);
    let after = std::fs::read_to_string(home.path("project/talk.json")).unwrap();
    assert_eq!(after, session.to_string(), "searching changes no session");
    home.file("project/talk.json", "{");
    run(
        &home,
        &["skills", "search", "x", "--session", "talk.json"],
        1,
    );
}

#[test]
fn a_damaged_index_is_made_anew_with_a_notice() {
    let home = new_home();
    let good = search(&home, &["letters"]);
    let folder = home.path("cache/grove/search");
    let file = std::fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(&file, b"not an index").unwrap();
    let again = search(&home, &["letters"]);
    assert_eq!(again["results"], good["results"]);
    assert_eq!(again["diagnostics"][0]["code"], "cache-damaged");
    let third = search(&home, &["letters"]);
    assert_eq!(third["diagnostics"], json!([]));
}

#[test]
fn skills_that_are_alike_are_named_with_what_to_change() {
    let home = new_home();
    for tool in ["alpha", "beta"] {
        let description = format!("Translates subtitles of films into French with {tool}");
        home.skill(
            format!("{USER}/{tool}-subtitles"),
            &format!("{tool}-subtitles"),
            &description,
        );
    }
    let (told, beside) = run(&home, &["skills", "confusable"], 0);
    assert!(
        told.contains("pair: alpha-subtitles and beta-subtitles"),
        "{told}"
    );
    assert!(told.contains("change: "), "{told}");
    assert!(beside.contains("1 pair, 0 families"), "{beside}");
    let json: Value =
        serde_json::from_str(&run(&home, &["skills", "confusable", "--json"], 0).0).unwrap();
    assert_eq!(json["schema"], "grove.skills.confusable/1");
    let names: Vec<&Value> = json["pairs"][0]["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["name"])
        .collect();
    assert_eq!(names, ["alpha-subtitles", "beta-subtitles"]);
}
