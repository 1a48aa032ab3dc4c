//! Folders with skills that pi's settings name: who wins among all of pi's places, and what is refused.

use std::path::Path;

use grove_testkit::session::{Session, USER_CONFIG, column, rows};
use serde_json::{Value, json};

const USER: &str = "home/.pi/agent/settings.json";
const PROJECT: &str = "project/.pi/settings.json";

/// A home with a project and an agent that names the skill `x`.
fn session() -> Session {
    let session = crate::session().without_bundled().with_repository();
    session.file(
        "home/.agents/agents/a.md",
        "---\nname: a\ndescription: d\nskills: x\n---\n\nThe agent.\n",
    );
    session
}

fn body(place: &str) -> String {
    format!("This is the body from {place}.")
}

/// The skill `x` in a folder, which says where it is.
fn skill(session: &Session, folder: &str) {
    let body = body(folder);
    let text = format!("---\nname: x\ndescription: from {folder}\n---\n\n{body}\n");
    session.file(format!("{folder}/x/SKILL.md"), text);
}

/// Writes settings that name these folders.
fn name(session: &Session, settings: &str, folders: &[&str]) {
    session.file(settings, json!({"skills": folders}).to_string());
}

/// Where the skills called `x` are, with their states, in the order of the list.
fn places_in(session: &Session, listed: &Value) -> Vec<[String; 2]> {
    let all = rows(&listed["skills"], ["name", "location", "state"]).into_iter();
    all.filter(|[name, ..]| name == "x")
        .map(|[_, file, state]| {
            let folder = Path::new(&file).ancestors().nth(2).unwrap();
            let folder = folder.strip_prefix(session.path("")).unwrap();
            [folder.to_str().unwrap().to_owned(), state]
        })
        .collect()
}

fn places(session: &Session) -> Vec<[String; 2]> {
    places_in(session, &session.json("skills list"))
}

/// Where the usable `x` is.
fn used(session: &Session) -> Option<String> {
    let mut ok = places(session)
        .into_iter()
        .filter(|[_, state]| state == "ok");
    let first = ok.next().map(|[place, _]| place);
    assert_eq!(ok.next(), None, "one is used");
    first
}

/// The codes, lines and messages of what is said about settings files.
fn said(session: &Session) -> Vec<[String; 3]> {
    let listed = session.json("skills list");
    let all = rows(&listed["diagnostics"], ["file", "code", "line", "message"]).into_iter();
    let of_settings = all.filter(|[file, ..]| file.ends_with("settings.json"));
    of_settings
        .map(|[_, code, line, message]| [code, line, message])
        .collect()
}

fn codes(session: &Session) -> Vec<[String; 2]> {
    let said = said(session).into_iter();
    said.map(|[code, line, _]| [code, line]).collect()
}

#[track_caller]
fn assert_used(session: &Session, place: &str) {
    assert_eq!(used(session).as_deref(), Some(place));
}

/// Everything that the program says of the chosen `x`, which must be the first of `left`, and of the others.
fn expect_chosen(session: &Session, left: &[&str]) {
    let listed = session.json("skills list");
    let state = |at| if at == 0 { "ok" } else { "shadowed" };
    let expected = left
        .iter()
        .enumerate()
        .map(|(at, place)| [*place, state(at)]);
    assert_eq!(places_in(session, &listed), expected.collect::<Vec<_>>());
    let chosen = listed["skills"][0]["address"].as_str().unwrap();
    let stand_ins = column(&listed["skills"], "standIn");
    assert!(stand_ins[1..].iter().all(|it| it == chosen), "{listed}");
    let shown = session.json("skills show x");
    let description = format!("from {}", left[0]);
    assert_eq!(shown["skill"]["description"], description.as_str());
    let prompt = session.done("prompt a").stdout;
    for place in left {
        let is_there = prompt.contains(&body(place));
        assert_eq!(is_there, *place == left[0], "{place}");
    }
}

/// pi's nine places, strongest first: the project's folders, what its settings name, the same for the user, then
/// packages. `agent` is pi's folder for the user.
fn nine_places(session: &Session, agent: &str) -> [String; 9] {
    name(session, PROJECT, &["../team"]);
    name(session, &format!("{agent}/settings.json"), &["~/mine"]);
    let manifest = json!({"name": "p", "pi": {"skills": ["skills"]}}).to_string();
    let project_package = "project/.pi/npm/node_modules/p";
    let user_package = format!("{agent}/npm/node_modules/p");
    for folder in ["project", project_package, &user_package] {
        session.file(format!("{folder}/package.json"), &manifest);
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
        skill(session, place);
    }
    places
}

fn each_place_stands_in_for_the_one_before(session: &Session, agent: &str) {
    let places = nine_places(session, agent);
    let left: Vec<&str> = places.iter().map(String::as_str).collect();
    session.trust();
    for at in 0..left.len() {
        expect_chosen(session, &left[at..]);
        session.remove(format!("{}/x", left[at]));
    }
    assert_eq!(used(session), None);
    let missing = session.grove("prompt a").stderr;
    assert!(missing.contains("`x`"), "{missing}");
    // Put back weakest first, each takes the place of what stood in.
    for place in places.iter().rev() {
        skill(session, place);
        assert_used(session, place);
    }
}

#[test]
fn of_the_same_skill_in_all_nine_places_the_strongest_is_chosen_and_without_it_the_next() {
    each_place_stands_in_for_the_one_before(&session(), "home/.pi/agent");
}

#[test]
fn of_nine_places_the_users_move_with_pis_folder() {
    let session = session();
    let moved = session.path("home/elsewhere/pi");
    // What is left behind counts no more.
    name(&session, USER, &["~/left"]);
    skill(&session, "home/left");
    let session = session.with_env("PI_CODING_AGENT_DIR", moved);
    each_place_stands_in_for_the_one_before(&session, "home/elsewhere/pi");
}

#[test]
fn of_nine_places_pi_itself_takes_what_its_settings_name_first() {
    let session = session();
    nine_places(&session, "home/.pi/agent");
    let order = [
        "project/team",
        "project/.pi/skills",
        "project/.agents/skills",
        "home/mine",
        "home/.pi/agent/skills",
        "home/.agents/skills",
    ];
    for (at, place) in order.iter().enumerate() {
        let found = places_in(&session, &session.json("skills list --host pi"));
        let found: Vec<&str> = found.iter().map(|[place, _]| place.as_str()).collect();
        assert_eq!(found, order[at..]);
        session.remove(format!("{place}/x"));
    }
}

#[test]
fn paths_begin_where_the_settings_are_and_name_a_group_or_one_skill() {
    let session = session();
    let absolute = session.path("home/absolute");
    for (settings, path, expected) in [
        (USER, "own", "home/.pi/agent/own"),
        (USER, "./own/", "home/.pi/agent/own"),
        (USER, "../../beside", "home/beside"),
        (USER, "~/tilde", "home/tilde"),
        (USER, absolute.to_str().unwrap(), "home/absolute"),
        (PROJECT, "near", "project/.pi/near"),
        (PROJECT, "../far/../far/./", "project/far"),
    ] {
        session.file(USER, "{}").file(PROJECT, "{}");
        name(&session, settings, &[path]);
        skill(&session, expected);
        session.trust();
        assert_used(&session, expected);
        assert_eq!(codes(&session), [[""; 2]; 0]);
        session.remove(expected);
    }
    // A folder that is a skill itself, and skills in groups.
    skill(&session, "home/deep/group");
    session.file(PROJECT, "{}");
    for path in ["~/deep", "~/deep/group", "~/deep/group/x"] {
        name(&session, USER, &[path]);
        assert!(used(&session).is_some(), "{path}");
    }
}

#[test]
fn what_a_projects_settings_name_waits_for_trust_and_naming_more_gains_none() {
    let session = session();
    let states = || places(&session);
    name(&session, PROJECT, &["../seen"]);
    skill(&session, "project/seen");
    skill(&session, "project/unseen");
    assert_eq!(states(), [["project/seen", "untrusted"]]);
    session.trust();
    assert_eq!(states(), [["project/seen", "ok"]]);
    // The settings lead elsewhere: what is there was not seen.
    name(&session, PROJECT, &["../unseen"]);
    assert_eq!(states(), [["project/unseen", "changed"]]);
    assert!(!session.grove("prompt a").stdout.contains("body from"));
    // Nor does the whole project: who goes before whom was not seen either.
    name(&session, PROJECT, &[".."]);
    assert_eq!(
        states(),
        [["project/seen", "changed"], ["project/unseen", "changed"]]
    );
    // As they were seen, they name what was seen.
    name(&session, PROJECT, &["../seen"]);
    assert_eq!(states(), [["project/seen", "ok"]]);
    name(&session, PROJECT, &["../unseen"]);
    session.trust();
    assert_eq!(states(), [["project/unseen", "ok"]]);
    // The content counts, not the place.
    session.skill("project/unseen/x", "x", "other");
    assert_eq!(states(), [["project/unseen", "changed"]]);
}

#[test]
fn a_project_names_nothing_outside_of_itself_and_the_user_may() {
    let session = session();
    for folder in ["home/outside", "outside", "project/inside"] {
        skill(&session, folder);
    }
    let (absolute, inside) = (session.path("outside"), session.path("project/inside"));
    session
        .link("project/link", &absolute)
        .link("project/.pi/parent", "../..")
        .link("project/chain", "link");
    let mut paths = vec![
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
    for path in &paths {
        name(&session, PROJECT, &[path]);
        session.trust();
        assert_eq!(places(&session), [[""; 2]; 0], "{path}");
        assert_eq!(codes(&session), [["path-escape", "1"]], "{path}");
        let of_pi = session.json("skills list --host pi");
        assert_eq!(places_in(&session, &of_pi), [[""; 2]; 0], "{path}");
    }
    // One line for all of them, and what stays inside is used all the same.
    paths.push("../inside");
    name(&session, PROJECT, &paths);
    session.trust();
    assert_used(&session, "project/inside");
    let said = said(&session);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0][2].contains("and 11 more"), "{said:?}");
    // A link within the project stays within it.
    session.link("project/within", "inside");
    name(&session, PROJECT, &["../within"]);
    session.trust();
    assert_used(&session, "project/within");
    // The user goes where the user likes.
    session.file(PROJECT, "{}").trust();
    session.link("home/far", session.path("outside"));
    name(&session, USER, &["~/far"]);
    assert_used(&session, "home/far");
    assert_eq!(codes(&session), [[""; 2]; 0]);
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_key_and_breaks_nothing_else() {
    let session = session();
    skill(&session, "home/good");
    let package = "home/packages/p";
    let manifest = json!({"name": "p", "pi": {"skills": ["skills"]}}).to_string();
    session.file(format!("{package}/package.json"), manifest);
    skill(&session, &format!("{package}/skills"));
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
        let packages = "\"packages\": [\"~/packages/p\"]";
        session.file(USER, format!("{{\n{packages},\n\"skills\": {wrong}}}"));
        let said = said(&session);
        assert_eq!(codes(&session), [["skill-folder-value", "3"]], "{wrong}");
        assert!(said[0][2].contains("`skills"), "{said:?}");
        assert_used(&session, "home/packages/p/skills");
    }
    session.file(
        USER,
        "{\n\"skills\": [3,\n\"~/good\",\n\"!x\",\n\"a\\u001b[2Jb\",\n\"\"],\n\"packages\": 1}",
    );
    assert_used(&session, "home/good");
    let lines = ["2", "4", "5", "6"].map(|line| ["skill-folder-value", line]);
    let expected = [&lines[..], &[["package-settings", "7"]]].concat();
    assert_eq!(codes(&session), expected);
    // Whoever asks for agents is not told of folders with skills.
    let of_agents = column(&session.json("agents list")["diagnostics"], "code");
    let is_told = of_agents.iter().any(|code| code == "skill-folder-value");
    assert!(!is_told, "{of_agents:?}");
    session.file(USER, "{\"skills\": [\"~/good\"");
    assert_eq!(codes(&session), [["package-settings", "1"]]);
    assert_eq!(used(&session), None);
}

#[test]
fn a_folder_that_is_missing_or_a_file_is_said_and_the_others_are_used() {
    let session = session();
    skill(&session, "home/good");
    session
        .file(
            "home/file.md",
            "---\nname: x\ndescription: d\n---\n\nText\n",
        )
        .file(
            USER,
            "{\"skills\": [\n\"~/nowhere\",\n\"~/file.md\",\n\"~/good\",\n\"~/nowhere/too\"]}",
        );
    assert_used(&session, "home/good");
    let both = [["root-unreadable", "2"], ["root-invalid", "3"]];
    assert_eq!(codes(&session), both);
    let of_project = "{\"skills\": [\n\"nowhere\",\n\"settings.json\"]}";
    session.file(PROJECT, of_project);
    assert_eq!(codes(&session), [both, both].concat());
}

#[test]
fn a_folder_that_is_named_twice_or_known_already_is_one_root() {
    let session = session();
    skill(&session, "home/mine");
    skill(&session, "home/.agents/skills");
    let same = [
        "~/mine",
        "../../mine/",
        "~/mine/./",
        "~/a/../mine",
        "~/link",
    ];
    name(&session, USER, &[&same[..], &["~/.agents/skills"]].concat());
    session
        .link("home/link", "mine")
        .file(USER_CONFIG, "extra_dirs = ['~/mine']\n");
    let roots = session.json("skills roots");
    let mut there = rows(&roots["roots"], ["label", "skills"]);
    there.retain(|[_, skills]| skills == "1");
    assert_eq!(there, [["user:.agents/skills", "1"], ["user:mine", "1"]]);
    assert_eq!(codes(&session), [[""; 2]; 0]);
}

#[test]
fn of_ten_thousand_entries_the_first_are_looked_at_and_the_rest_are_said() {
    let session = session();
    let mut paths: Vec<String> = (0..10_000).map(|at| format!("~/missing-{at}")).collect();
    paths[199] = "~/last".to_owned();
    paths[200] = "~/beyond".to_owned();
    skill(&session, "home/last");
    skill(&session, "home/beyond");
    session.file(USER, json!({"skills": paths}).to_string());
    assert_used(&session, "home/last");
    let said = said(&session);
    let found: Vec<&str> = said.iter().map(|[code, ..]| code.as_str()).collect();
    assert_eq!(found, ["skill-folder-limit", "root-unreadable"]);
    assert!(said[0][2].contains("10000") && said[0][2].contains("200"));
    assert!(said[1][2].contains("and 198 more"), "{said:?}");
}

#[test]
fn without_hosts_folders_their_settings_name_none() {
    let session = session();
    skill(&session, "home/mine");
    session.file(USER, "{\"skills\": [\"~/mine\", 7]}");
    assert_used(&session, "home/mine");
    session.file(USER_CONFIG, "compat_roots = false\n");
    assert_eq!(used(&session), None);
    assert_eq!(codes(&session), [[""; 2]; 0]);
}

#[test]
fn settings_of_every_folder_up_to_the_repository_name_folders_and_reach_all_of_it() {
    let session = session().working_in("project/sub/deep");
    for (folder, name) in [
        ("project/lib/l1", "l1"),
        ("project/.pi/skills/z", "z"),
        ("project/lib2/l2", "l2"),
        ("project/lib/x", "x"),
        ("project/sub/deep/near/x", "x"),
        ("outside/o", "o"),
    ] {
        session.skill(folder, name, "d");
    }
    let inner = "project/sub/deep/.pi/settings.json";
    name(&session, PROJECT, &["../lib"]);
    name(&session, inner, &["../near", "../../../lib2"]);
    session.trust();
    let list = session.json("skills list");
    assert_eq!(list["diagnostics"], json!([]), "{list}");
    let mut found = rows(&list["skills"], ["address", "state"]);
    found.sort();
    assert_eq!(
        found,
        [
            ["l1@project:lib", "ok"],
            ["l2@project:lib2", "ok"],
            ["x@project:lib", "shadowed"],
            ["x@project:sub/deep/near", "ok"],
            ["z@project:.pi/skills", "ok"],
        ]
    );

    // What lies outside of the repository stays outside.
    name(&session, inner, &["../../../../outside"]);
    let list = session.json("skills list");
    let codes = column(&list["diagnostics"], "code");
    assert!(codes.contains(&"path-escape".to_owned()), "{codes:?}");
    assert!(!column(&list["skills"], "name").contains(&"o".to_owned()));
}

#[test]
fn trust_of_an_inner_folder_is_no_trust_in_what_its_settings_name_above() {
    let session = session().working_in("project/sub");
    session.skill("project/lib/l1", "l1", "above");
    name(&session, "project/sub/.pi/settings.json", &["../../lib"]);
    for words in [".", ". --follow"] {
        session.trust_with(words);
        let list = session.json("skills list");
        assert_eq!(column(&list["skills"], "state"), ["untrusted"], "{words}");
    }
}
