//! Sessions of `grove skills search` and `grove skills confusable`: what is printed, in which order and why.

use std::path::Path;

use grove_testkit::session::{Session, column};
use serde_json::{Value, json};

use crate::mcp_hostile::raw_client::{RawClient, request};

const USER: &str = "home/.agents/skills";

fn session() -> Session {
    let session = crate::session().without_bundled();
    let hidden =
        "---\nname: payroll\ndescription: Pays wages\ndisable-model-invocation: true\n---\n";
    session
        .skill(
            format!("{USER}/office/pdf-join"),
            "pdf-join",
            "Joins PDF files into one document",
        )
        .skill(format!("{USER}/office/mail"), "mail", "Answers letters")
        .skill(
            format!("{USER}/deploy"),
            "deploy",
            "Ships a release to Kubernetes",
        )
        .file(format!("{USER}/payroll/SKILL.md"), hidden);
    session
}

fn search(session: &Session, words: &[&str]) -> Value {
    let words = [&["skills", "search"], words, &["--json"]].concat();
    session.grove(words).json()
}

fn ids(found: &Value) -> Vec<String> {
    column(&found["results"], "id")
}

#[test]
fn words_keywords_names_and_ids_lead_to_a_skill() {
    let session = session();
    for (words, expected) in [
        (&["joining", "documents"][..], "office/pdf-join"),
        (&["how do I ship to k8s?"], "deploy"),
        (&["pdf-join"], "office/pdf-join"),
        (&["office/mail"], "office/mail"),
        (&["letter"], "office/mail"),
    ] {
        let found = search(&session, words);
        assert_eq!(found["results"][0]["id"], expected, "{words:?}: {found}");
    }
    let found = search(&session, &["pdf"]);
    let result = &found["results"][0];
    assert_eq!(found["schema"], "grove.skills.search/2");
    assert_eq!(result["path"], json!(["office"]));
    assert_eq!(result["address"], "office/pdf-join@user:.agents/skills");
    assert_eq!(result["why"], "name: pdf");
    assert_eq!(result["fits"], "well");
    assert_eq!(found["fitsWell"], true);
    let location = result["location"].as_str().unwrap();
    assert!(Path::new(location).is_file(), "{location}");
}

#[test]
fn the_table_says_why_and_nothing_found_is_said() {
    let session = session();
    let found = session.done("skills search joins pdf");
    let first = found.stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("pdf-join (in office)"), "{found}");
    assert!(first.contains("name: joins, pdf"), "{found}");
    assert!(found.stderr.contains("1 skill found"), "{found}");
    let nothing = session.grove("skills search zzyzx\u{1b}[2J");
    assert_eq!(nothing.code, 1, "{nothing}");
    assert_eq!(nothing.stdout, "");
    for said in ["no skill", "hint: "] {
        assert!(nothing.stderr.contains(said), "{nothing}");
    }
    assert!(!nothing.stderr.contains('\u{1b}'));
}

#[test]
fn limits_and_words_are_checked() {
    let session = session();
    let two = search(&session, &["joins answers ships", "--limit", "2"]);
    assert_eq!(ids(&two).len(), 2);
    for wrong in [
        &[][..],
        &[" "],
        &["x", "--limit", "0"],
        &["x", "--limit", "1001"],
    ] {
        let words = [&["skills", "search"], wrong].concat();
        assert_eq!(session.grove(words).code, 2, "{wrong:?}");
    }
}

#[test]
fn what_models_are_not_told_of_is_found_by_people_alone() {
    let session = session();
    assert_eq!(ids(&search(&session, &["payroll"])), [""; 0]);
    assert_eq!(ids(&search(&session, &["wages", "--person"])), ["payroll"]);
}

#[test]
fn a_session_lets_only_its_names_through() {
    let session = session();
    let talk = json!({
        "version": 1, "expanded": [], "active": [],
        "frozen": {"pinned": [], "usage": {}, "names": ["mail"]},
        "catalog": null,
    });
    session.file("project/talk.json", talk.to_string());
    let words = ["joins answers ships", "--session", "talk.json"];
    assert_eq!(ids(&search(&session, &words)), ["office/mail"]);
    let after = session.read("project/talk.json");
    assert_eq!(after, talk.to_string(), "searching changes no session");
    session.file("project/talk.json", "{");
    let broken = session.grove("skills search x --session talk.json");
    assert_eq!(broken.code, 1, "{broken}");
}

#[test]
fn a_damaged_index_is_made_anew_with_a_notice() {
    let session = session();
    let good = search(&session, &["letters"]);
    let mut files = std::fs::read_dir(session.path("cache/grove/search")).unwrap();
    session.file(files.next().unwrap().unwrap().path(), "not an index");
    let again = search(&session, &["letters"]);
    assert_eq!(again["results"], good["results"]);
    assert_eq!(again["diagnostics"][0]["code"], "cache-damaged");
    let third = search(&session, &["letters"]);
    assert_eq!(third["diagnostics"], json!([]));
}

#[test]
fn skills_that_are_alike_are_named_with_what_to_change() {
    let session = session();
    for tool in ["alpha", "beta"] {
        let description = format!("Translates subtitles of films into French with {tool}");
        let name = format!("{tool}-subtitles");
        session.skill(format!("{USER}/{name}"), &name, &description);
    }
    let told = session.done("skills confusable");
    for said in ["pair: alpha-subtitles and beta-subtitles", "change: "] {
        assert!(told.stdout.contains(said), "{told}");
    }
    assert!(told.stderr.contains("1 pair, 0 families"), "{told}");
    let json = session.json("skills confusable");
    assert_eq!(json["schema"], "grove.skills.confusable/1");
    let names = column(&json["pairs"][0]["skills"], "name");
    assert_eq!(names, ["alpha-subtitles", "beta-subtitles"]);
}

#[test]
fn what_shares_a_stray_word_is_no_answer() {
    let session = session();
    let words = "skills search bake three loaves of sourdough bread with pdf butter";
    let doubt = session.grove(words);
    assert_eq!(doubt.code, 1, "{doubt}");
    assert_eq!(doubt.stdout, "");
    assert!(
        doubt
            .stderr
            .contains("nothing fits well; nearest: pdf-join"),
        "{doubt}"
    );
    let json = session.grove(format!("{words} --json").as_str()).json();
    assert_eq!(json["fitsWell"], false);
    assert_eq!(json["results"][0]["fits"], "hardly");
    // The same word alone is all that was asked.
    assert_eq!(
        session.json("skills search pdf")["results"][0]["fits"],
        "well"
    );
}

#[test]
fn one_word_of_several_is_no_answer_however_much_it_is_of_it() {
    let session = session();
    let fits = |words: &str| search(&session, &[words])["results"][0]["fits"].clone();
    assert_eq!(fits("pdf oven grate polish"), "hardly");
    // Two of them are, and so is one of a few.
    assert_eq!(fits("joins pdf oven grate"), "well");
    assert_eq!(fits("pdf oven grate"), "perhaps");
    // A name is a name.
    assert_eq!(fits("pdf-join"), "well");
}

/// Whoever names something is not helped by a skill that never speaks of it; a name that nobody wrote is a word.
#[test]
fn what_lacks_a_name_that_others_say_is_no_answer() {
    let session = crate::session().without_bundled();
    for (name, description) in [
        (
            "table-joins",
            "Tunes slow joins of tables with an index. Use when a join is slow.",
        ),
        (
            "backups",
            "Restores Postgres backups. Use when a backup is needed.",
        ),
    ] {
        session.skill(format!("{USER}/{name}"), name, description);
    }
    for (words, fits) in [
        ("tune a slow join with an index", true),
        ("tune a slow join in Postgres with an index", false),
        ("tune a slow join with an index for Anna", true),
    ] {
        let found = search(&session, &[words]);
        assert_eq!(ids(&found)[0], "table-joins", "{words}");
        assert_eq!(found["results"][0]["fits"] != "hardly", fits, "{found}");
    }
}

/// A folder that somebody named and that is not there is not the same as one without skills.
#[test]
fn a_missing_folder_is_said_wherever_skills_are_looked_for() {
    let session = session();
    let missing = "warning[root-unreadable]: the root does not exist\n  --> ";
    for (words, code) in [
        ("skills search pdf --root nofolder", 1),
        ("skills confusable --root nofolder", 0),
        ("skills list --root nofolder", 0),
        ("catalog --root nofolder", 0),
        // Also beside a folder with skills.
        (
            "skills search deploy --root nofolder --root ../home/.agents/skills",
            0,
        ),
        (
            "skills confusable --root nofolder --root ../home/.agents/skills",
            0,
        ),
        (
            "skills list --root nofolder --root ../home/.agents/skills",
            0,
        ),
        ("catalog --root nofolder --root ../home/.agents/skills", 0),
    ] {
        let said = session.grove(words).fails(code).says([missing]);
        assert_eq!(said.stderr.matches(missing).count(), 1, "{said}");
    }
    for words in [
        "skills search pdf --root nofolder",
        "skills confusable --root nofolder",
    ] {
        let json = session.grove(format!("{words} --json").as_str()).json();
        assert_eq!(json["diagnostics"][0]["code"], "root-unreadable", "{words}");
    }
    for words in [
        "skills show pdf --root nofolder",
        "skills activate pdf --root nofolder",
    ] {
        session
            .refused(words)
            .says(["nofolder was not read: the root does not exist"]);
    }
}

/// A skill is not one of the others.
#[test]
fn a_broad_skill_is_counted_among_the_descriptions_of_others_alone() {
    let session = crate::session().without_bundled();
    let subjects = [
        "maps",
        "letters",
        "recipes",
        "invoices",
        "songs",
        "photos",
        "poems",
        "contracts",
    ];
    for subject in subjects {
        let about = format!("Writes and checks {subject} for a project");
        session.skill(format!("{USER}/{subject}"), subject, &about);
    }
    let all = format!("Writes and checks {} for a project", subjects.join(", "));
    session.skill(format!("{USER}/everything"), "everything", &all);
    let json = session.json("skills confusable");
    let broad = json["broad"].as_array().unwrap();
    assert!(!broad.is_empty(), "{json}");
    for one in broad {
        assert_eq!(one["asked"], subjects.len(), "{one}");
    }
}

#[test]
fn the_columns_of_another_program_have_plain_numbers() {
    let session = session().without_env("COLUMNS");
    let body = "Reads a page. ".repeat(2000);
    session.definition(
        format!("{USER}/long"),
        "name: long\ndescription: Reads\n",
        &body,
    );
    let said = session.done("skills list");
    let line = said.stdout.lines().find(|line| line.starts_with("long\t"));
    let fields: Vec<&str> = line.unwrap().split('\t').collect();
    assert!(fields[4].parse::<u32>().unwrap() > 1000, "{said}");
    let wordy = "Reads pages ".repeat(100);
    session.skill(format!("{USER}/wordy"), "wordy", &wordy);
    let said = session.done("catalog --explain");
    let line = said.stdout.lines().find(|line| line.contains("\twordy\t"));
    let cost = line.unwrap().split('\t').next().unwrap();
    assert!(cost.parse::<u32>().unwrap() > 1000, "{said}");
}

/// A model that asks for a catalog for its task is told when no skill is written for it.
#[test]
fn a_catalog_for_a_task_says_if_nothing_fits() {
    let session = session();
    session.dir("home/work/.git");
    let (served, unserved) = ("ship the release to Kubernetes", "bake sourdough bread");
    for (task, fits) in [(served, true), (unserved, false)] {
        let catalog = session.done(["catalog", "--for", task]);
        let said = catalog.stderr.contains("no skill fits the task well");
        assert_eq!(said, !fits, "{catalog}");
        let mut client = RawClient::connect(&session);
        let params = json!({ "name": "skills", "arguments": { "task": task } });
        let answer = client.ask(&request("skills", "tools/call", &params));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            text.contains("No skill fits the task well"),
            !fits,
            "{text}"
        );
        assert!(text.contains("pdf-join"), "{text}");
    }
}
