//! Folders with skills that pi's settings name: who wins among all of pi's places, and what is refused.

use std::path::Path;

use grove_testkit::home::TestHome;
use grove_testkit::process::Finished;
use serde_json::{Value, json};

/// A home with a project and an agent that names the skill `x`.
fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    home.file(
        "home/.agents/agents/a.md",
        "---\nname: a\ndescription: d\nskills: x\n---\n\nThe agent.\n",
    );
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout_text()).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

fn body(place: &str) -> String {
    format!("This is the body from {place}.")
}

/// The skill `x` in a folder, which says where it is.
fn skill(home: &TestHome, folder: &str) {
    let text = format!(
        "---\nname: x\ndescription: from {folder}\n---\n\n{}\n",
        body(folder)
    );
    home.file(format!("{folder}/x/SKILL.md"), text);
}

fn trust(home: &TestHome) {
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
}

fn listed(home: &TestHome, arguments: &[&str]) -> Value {
    let mut all = vec!["skills", "list", "--json"];
    all.extend(arguments);
    json_of(&home.run("project", all))
}

/// Where the skills called `x` are, with their states, in the order of the list.
fn places(home: &TestHome, listed: &Value) -> Vec<(String, String)> {
    let all = listed["skills"].as_array().unwrap().iter();
    all.filter(|skill| skill["name"] == "x")
        .map(|skill| {
            let file = Path::new(skill["location"].as_str().unwrap());
            let folder = file.parent().unwrap().parent().unwrap();
            let folder = folder.strip_prefix(home.path("")).unwrap();
            let state = skill["state"].as_str().unwrap().to_owned();
            (folder.to_str().unwrap().to_owned(), state)
        })
        .collect()
}

/// Where the usable `x` is.
fn used(home: &TestHome) -> Option<String> {
    let listed = listed(home, &[]);
    let mut ok = places(home, &listed)
        .into_iter()
        .filter(|(_, state)| state == "ok");
    let first = ok.next().map(|(place, _)| place);
    assert_eq!(ok.next(), None, "one is used");
    first
}

/// The codes and lines of what is said about settings files.
fn said(home: &TestHome) -> Vec<(String, u64, String)> {
    let listed = listed(home, &[]);
    let all = listed["diagnostics"].as_array().unwrap().iter();
    all.filter(|it| {
        it["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("settings.json"))
    })
    .map(|it| {
        (
            it["code"].as_str().unwrap().to_owned(),
            it["line"].as_u64().unwrap_or_default(),
            it["message"].as_str().unwrap().to_owned(),
        )
    })
    .collect()
}

fn codes(home: &TestHome) -> Vec<(String, u64)> {
    let said = said(home).into_iter();
    said.map(|(code, line, _)| (code, line)).collect()
}

/// Everything that the program says of the chosen `x`, which must be the first of `left`, and of the others.
fn expect_chosen(home: &TestHome, left: &[&str]) {
    let listed = listed(home, &[]);
    let expected: Vec<(String, String)> = left
        .iter()
        .enumerate()
        .map(|(at, place)| {
            let state = if at == 0 { "ok" } else { "shadowed" };
            ((*place).to_owned(), state.to_owned())
        })
        .collect();
    assert_eq!(places(home, &listed), expected);
    let chosen = &listed["skills"][0]["address"];
    for shadowed in listed["skills"].as_array().unwrap().iter().skip(1) {
        assert_eq!(&shadowed["standIn"], chosen);
    }
    let shown = json_of(&home.run("project", ["skills", "show", "x", "--json"]));
    let description = format!("from {}", left[0]);
    assert_eq!(shown["skill"]["description"], description.as_str());
    let prompt = home.run("project", ["prompt", "a"]);
    let prompt = prompt.require_success("prompt").unwrap();
    for place in left {
        let is_there = prompt.stdout_text().contains(&body(place));
        assert_eq!(is_there, *place == left[0], "{place}");
    }
}

/// pi's nine places, strongest first: the project's folders, what its settings name, the same for the user, then
/// packages. `agent` is pi's folder for the user.
fn nine_places(home: &TestHome, agent: &str) -> [String; 9] {
    let settings = |names: &str| format!("{{\"skills\": [\"{names}\"]}}");
    home.file("project/.pi/settings.json", settings("../team"));
    home.file(format!("{agent}/settings.json"), settings("~/mine"));
    let manifest = json!({"name": "p", "pi": {"skills": ["skills"]}}).to_string();
    let project_package = "project/.pi/npm/node_modules/p";
    let user_package = format!("{agent}/npm/node_modules/p");
    for folder in ["project", project_package, &user_package] {
        home.file(format!("{folder}/package.json"), &manifest);
    }
    let places = [
        "project/.agents/skills".to_owned(),
        "project/.pi/skills".to_owned(),
        "project/team".to_owned(),
        "home/.agents/skills".to_owned(),
        format!("{agent}/skills"),
        "home/mine".to_owned(),
        "project/skills".to_owned(),
        format!("{project_package}/skills"),
        format!("{user_package}/skills"),
    ];
    for place in &places {
        skill(home, place);
    }
    places
}

fn each_place_stands_in_for_the_one_before(home: &TestHome, agent: &str) {
    let places = nine_places(home, agent);
    let mut left: Vec<&str> = places.iter().map(String::as_str).collect();
    trust(home);
    while !left.is_empty() {
        expect_chosen(home, &left);
        let gone = left.remove(0);
        std::fs::remove_dir_all(home.path(gone).join("x")).unwrap();
    }
    assert_eq!(used(home), None);
    let prompt = home.run("project", ["prompt", "a"]);
    assert!(
        prompt.stderr_text().contains("`x`"),
        "a missing skill is said"
    );
    // Put back weakest first, each takes the place of what stood in.
    for place in places.iter().rev() {
        skill(home, place);
        assert_eq!(used(home).as_ref(), Some(place));
    }
}

#[test]
fn of_the_same_skill_in_all_nine_places_the_strongest_is_chosen_and_without_it_the_next() {
    each_place_stands_in_for_the_one_before(&home(), "home/.pi/agent");
}

#[test]
fn of_nine_places_the_users_move_with_pis_folder() {
    let home = home();
    let moved = home.path("home/elsewhere/pi");
    // What is left behind counts no more.
    home.file("home/.pi/agent/settings.json", "{\"skills\": [\"~/left\"]}");
    skill(&home, "home/left");
    let home = home.with_env("PI_CODING_AGENT_DIR", moved);
    each_place_stands_in_for_the_one_before(&home, "home/elsewhere/pi");
}

#[test]
fn of_nine_places_pi_itself_takes_what_its_settings_name_first() {
    let home = home();
    nine_places(&home, "home/.pi/agent");
    let order = [
        "project/team",
        "project/.pi/skills",
        "project/.agents/skills",
        "home/mine",
        "home/.pi/agent/skills",
        "home/.agents/skills",
    ];
    for (at, place) in order.iter().enumerate() {
        let found = places(&home, &listed(&home, &["--host", "pi"]));
        let found: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(found, order[at..]);
        std::fs::remove_dir_all(home.path(place).join("x")).unwrap();
    }
}

#[test]
fn paths_begin_where_the_settings_are_and_name_a_group_or_one_skill() {
    let home = home();
    let project = home.path("home/absolute");
    for (agent_path, project_path, expected) in [
        ("\"own\"", "", "home/.pi/agent/own"),
        ("\"./own/\"", "", "home/.pi/agent/own"),
        ("\"../../beside\"", "", "home/beside"),
        ("\"~/tilde\"", "", "home/tilde"),
        (&format!("{project:?}"), "", "home/absolute"),
        ("", "\"near\"", "project/.pi/near"),
        ("", "\"../far/../far/./\"", "project/far"),
    ] {
        let write = |file: &str, path: &str| {
            home.file(file, format!("{{\"skills\": [{path}]}}"));
        };
        write("home/.pi/agent/settings.json", agent_path);
        write("project/.pi/settings.json", project_path);
        skill(&home, expected);
        trust(&home);
        assert_eq!(used(&home).as_deref(), Some(expected));
        assert_eq!(codes(&home), []);
        std::fs::remove_dir_all(home.path(expected)).unwrap();
    }
    // A folder that is a skill itself, and skills in groups.
    skill(&home, "home/deep/group");
    for path in ["~/deep", "~/deep/group", "~/deep/group/x"] {
        home.file(
            "home/.pi/agent/settings.json",
            format!("{{\"skills\": [\"{path}\"]}}"),
        );
        home.file("project/.pi/settings.json", "{}");
        assert!(used(&home).is_some(), "{path}");
    }
}

#[test]
fn what_a_projects_settings_name_waits_for_trust_and_naming_more_gains_none() {
    let home = home();
    let settings = "project/.pi/settings.json";
    home.file(settings, "{\"skills\": [\"../seen\"]}");
    skill(&home, "project/seen");
    skill(&home, "project/unseen");
    let states = || places(&home, &listed(&home, &[]));
    let one = |place: &str, state: &str| vec![(place.to_owned(), state.to_owned())];
    assert_eq!(states(), one("project/seen", "untrusted"));
    trust(&home);
    assert_eq!(states(), one("project/seen", "ok"));
    // The settings lead elsewhere: what is there was not seen.
    home.file(settings, "{\"skills\": [\"../unseen\"]}");
    assert_eq!(states(), one("project/unseen", "changed"));
    assert!(
        !home
            .run("project", ["prompt", "a"])
            .stdout_text()
            .contains("body from")
    );
    // Nor does the whole project: who goes before whom was not seen either.
    home.file(settings, "{\"skills\": [\"..\"]}");
    assert_eq!(
        states(),
        [
            ("project/seen".to_owned(), "changed".to_owned()),
            ("project/unseen".to_owned(), "changed".to_owned())
        ]
    );
    // As they were seen, they name what was seen.
    home.file(settings, "{\"skills\": [\"../seen\"]}");
    assert_eq!(states(), one("project/seen", "ok"));
    home.file(settings, "{\"skills\": [\"../unseen\"]}");
    trust(&home);
    assert_eq!(states(), one("project/unseen", "ok"));
    // The content counts, not the place.
    home.file(
        "project/unseen/x/SKILL.md",
        "---\nname: x\ndescription: other\n---\n\nOther\n",
    );
    assert_eq!(states(), one("project/unseen", "changed"));
}

#[test]
fn a_project_names_nothing_outside_of_itself_and_the_user_may() {
    let home = home();
    skill(&home, "home/outside");
    skill(&home, "outside");
    home.link("project/link", home.path("outside"));
    home.link("project/.pi/parent", "../..");
    home.link("project/chain", "link");
    let absolute = home.path("outside");
    let inside = home.path("project/inside");
    skill(&home, "project/inside");
    let paths = [
        absolute.to_str().unwrap(),
        inside.to_str().unwrap(),
        "~/outside",
        "~",
        "/",
        "../..",
        "../../outside",
        "../x/../../outside",
        "../link",
        "../link/x",
        "../chain",
        "parent/outside",
    ];
    for path in paths {
        let text = json!({"skills": [path]}).to_string();
        home.file("project/.pi/settings.json", text);
        trust(&home);
        assert_eq!(places(&home, &listed(&home, &[])), [], "{path}");
        assert_eq!(codes(&home), [("path-escape".to_owned(), 1)], "{path}");
        let of_pi = listed(&home, &["--host", "pi"]);
        assert_eq!(places(&home, &of_pi), [], "{path}");
    }
    // One line for all of them, and what stays inside is used all the same.
    let mut all: Vec<&str> = paths.into();
    all.push("../inside");
    home.file(
        "project/.pi/settings.json",
        json!({"skills": all}).to_string(),
    );
    trust(&home);
    assert_eq!(used(&home).as_deref(), Some("project/inside"));
    let said = said(&home);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].2.contains("and 11 more"), "{said:?}");
    // A link within the project stays within it.
    home.link("project/within", "inside");
    home.file("project/.pi/settings.json", "{\"skills\": [\"../within\"]}");
    trust(&home);
    assert_eq!(used(&home).as_deref(), Some("project/within"));
    // The user goes where the user likes.
    home.file("project/.pi/settings.json", "{}");
    trust(&home);
    home.link("home/far", home.path("outside"));
    home.file("home/.pi/agent/settings.json", "{\"skills\": [\"~/far\"]}");
    assert_eq!(used(&home).as_deref(), Some("home/far"));
    assert_eq!(codes(&home), []);
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_key_and_breaks_nothing_else() {
    let home = home();
    skill(&home, "home/good");
    home.file(
        "home/packages/p/package.json",
        json!({"name": "p", "pi": {"skills": ["skills"]}}).to_string(),
    );
    skill(&home, "home/packages/p/skills");
    let settings = "home/.pi/agent/settings.json";
    let packages = "\"packages\": [\"~/packages/p\"]";
    for wrong in [
        "7",
        "true",
        "null",
        "\"~/good\"",
        "{\"a\": \"~/good\"}",
        "[[]]",
        "[{}]",
        "[1.5]",
        "[null]",
    ] {
        home.file(settings, format!("{{\n{packages},\n\"skills\": {wrong}}}"));
        let said = said(&home);
        let [(code, line, message)] = said.as_slice() else {
            panic!("{wrong}: {said:?}");
        };
        assert_eq!((code.as_str(), *line), ("skill-folder-value", 3), "{wrong}");
        assert!(message.contains("`skills"), "{message}");
        assert_eq!(
            used(&home).as_deref(),
            Some("home/packages/p/skills"),
            "{wrong}"
        );
    }
    home.file(
        settings,
        "{\n\"skills\": [3,\n\"~/good\",\n\"!x\",\n\"a\\u001b[2Jb\",\n\"\"],\n\"packages\": 1}",
    );
    assert_eq!(used(&home).as_deref(), Some("home/good"));
    let said = codes(&home);
    let value = |line: u64| ("skill-folder-value".to_owned(), line);
    assert_eq!(
        said,
        [
            value(2),
            value(4),
            value(5),
            value(6),
            ("package-settings".to_owned(), 7)
        ]
    );
    // Whoever asks for agents is not told of folders with skills.
    let agents = json_of(&home.run("project", ["agents", "list", "--json"]));
    let of_skills = agents["diagnostics"].as_array().unwrap().iter();
    let of_skills = of_skills.filter(|it| it["code"] == "skill-folder-value");
    assert_eq!(of_skills.count(), 0);
    home.file(settings, "{\"skills\": [\"~/good\"");
    assert_eq!(codes(&home), [("package-settings".to_owned(), 1)]);
    assert_eq!(used(&home), None);
}

#[test]
fn a_folder_that_is_missing_or_a_file_is_said_and_the_others_are_used() {
    let home = home();
    skill(&home, "home/good");
    home.file(
        "home/file.md",
        "---\nname: x\ndescription: d\n---\n\nText\n",
    );
    home.file(
        "home/.pi/agent/settings.json",
        "{\"skills\": [\n\"~/nowhere\",\n\"~/file.md\",\n\"~/good\",\n\"~/nowhere/too\"]}",
    );
    assert_eq!(used(&home).as_deref(), Some("home/good"));
    let root = |kind: &str, line: u64| (format!("root-{kind}"), line);
    assert_eq!(codes(&home), [root("unreadable", 2), root("invalid", 3)]);
    home.file(
        "project/.pi/settings.json",
        "{\"skills\": [\n\"nowhere\",\n\"settings.json\"]}",
    );
    assert_eq!(
        codes(&home),
        [
            root("unreadable", 2),
            root("invalid", 3),
            root("unreadable", 2),
            root("invalid", 3)
        ]
    );
}

#[test]
fn a_folder_that_is_named_twice_or_known_already_is_one_root() {
    let home = home();
    skill(&home, "home/mine");
    skill(&home, "home/.agents/skills");
    home.file(
        "home/.pi/agent/settings.json",
        "{\"skills\": [\"~/mine\", \"../../mine/\", \"~/.agents/skills\", \"~/mine/./\", \"~/a/../mine\", \"~/link\"]}",
    );
    home.link("home/link", "mine");
    home.file("config/grove/config.toml", "extra_dirs = ['~/mine']\n");
    let roots = json_of(&home.run("project", ["skills", "roots", "--json"]));
    let there: Vec<&str> = roots["roots"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|root| root["skills"] == 1)
        .map(|root| root["label"].as_str().unwrap())
        .collect();
    assert_eq!(there, ["user:.agents/skills", "user:mine"]);
    assert_eq!(codes(&home), []);
}

#[test]
fn of_ten_thousand_entries_the_first_are_looked_at_and_the_rest_are_said() {
    let home = home();
    let mut paths: Vec<String> = (0..10_000).map(|at| format!("~/missing-{at}")).collect();
    paths[199] = "~/last".to_owned();
    paths[200] = "~/beyond".to_owned();
    skill(&home, "home/last");
    skill(&home, "home/beyond");
    let text = json!({"skills": paths}).to_string();
    home.file("home/.pi/agent/settings.json", &text);
    assert_eq!(used(&home).as_deref(), Some("home/last"));
    let said = said(&home);
    let found: Vec<&str> = said.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(found, ["skill-folder-limit", "root-unreadable"]);
    assert!(said[0].2.contains("10000") && said[0].2.contains("200"));
    assert!(said[1].2.contains("and 198 more"), "{}", said[1].2);
}

#[test]
fn without_hosts_folders_their_settings_name_none() {
    let home = home();
    skill(&home, "home/mine");
    home.file(
        "home/.pi/agent/settings.json",
        "{\"skills\": [\"~/mine\", 7]}",
    );
    assert_eq!(used(&home).as_deref(), Some("home/mine"));
    home.file("config/grove/config.toml", "compat_roots = false\n");
    assert_eq!(used(&home), None);
    assert_eq!(codes(&home), []);
}

#[test]
fn settings_of_every_folder_up_to_the_repository_name_folders_and_reach_all_of_it() {
    let home = home();
    home.file("project/.pi/settings.json", "{\"skills\": [\"../lib\"]}");
    home.skill("project/lib/l1", "l1", "named at the top");
    home.skill("project/.pi/skills/z", "z", "at the top");
    home.skill("project/lib2/l2", "l2", "named from below");
    home.skill("project/lib/x", "x", "far");
    home.skill("project/sub/deep/near/x", "x", "near");
    let inner = "project/sub/deep/.pi/settings.json";
    home.file(inner, "{\"skills\": [\"../near\", \"../../../lib2\"]}");
    home.run("project/sub/deep", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    let states = || -> Vec<(String, String)> {
        let finished = home.run("project/sub/deep", ["skills", "list", "--json"]);
        let list = json_of(&finished);
        assert_eq!(list["diagnostics"], json!([]), "{list}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let skills = list["skills"].as_array().unwrap().iter();
        let all = skills.map(|skill| (text(&skill["address"]), text(&skill["state"])));
        all.collect()
    };
    let mut found = states();
    found.sort();
    let expected = [
        ("l1@project:lib", "ok"),
        ("l2@project:lib2", "ok"),
        ("x@project:lib", "shadowed"),
        ("x@project:sub/deep/near", "ok"),
        ("z@project:.pi/skills", "ok"),
    ];
    let expected = expected.map(|(address, state)| (address.to_owned(), state.to_owned()));
    assert_eq!(found, expected);

    // What lies outside of the repository stays outside.
    home.skill("outside/o", "o", "outside");
    home.file(inner, "{\"skills\": [\"../../../../outside\"]}");
    let finished = home.run("project/sub/deep", ["skills", "list", "--json"]);
    let list = json_of(&finished);
    let codes = list["diagnostics"].as_array().unwrap().iter();
    assert!(
        codes
            .map(|it| &it["code"])
            .any(|code| code == "path-escape"),
        "{list}"
    );
    assert!(!finished.stdout_text().contains("\"o\""));
}

#[test]
fn trust_of_an_inner_folder_is_no_trust_in_what_its_settings_name_above() {
    let home = home();
    home.skill("project/lib/l1", "l1", "above");
    home.file(
        "project/sub/.pi/settings.json",
        "{\"skills\": [\"../../lib\"]}",
    );
    for arguments in [
        &["trust", "--yes", "."][..],
        &["trust", "--yes", ".", "--follow"],
    ] {
        home.run("project/sub", arguments)
            .require_success("trust")
            .unwrap();
        let list = json_of(&home.run("project/sub", ["skills", "list", "--json"]));
        let skills = list["skills"].as_array().unwrap();
        assert_eq!(skills.len(), 1, "{list}");
        assert_eq!(skills[0]["state"], "untrusted", "{arguments:?}");
    }
}
