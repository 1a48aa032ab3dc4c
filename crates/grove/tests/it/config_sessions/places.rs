//! Where everything is: the four XDG folders, their defaults, and what a wrong one means.

use grove_testkit::session::{Session, column};
use serde_json::json;

const FOLDERS: [(&str, &str, &str); 4] = [
    ("XDG_CONFIG_HOME", "config", ".config"),
    ("XDG_STATE_HOME", "state", ".local/state"),
    ("XDG_DATA_HOME", "data", ".local/share"),
    ("XDG_CACHE_HOME", "cache", ".cache"),
];

/// All four variables have such a value, and the places are these: settings are read there, a grant kept, skills
/// found and written, a cache made.
fn assert_used(
    value: impl Fn(&Session, &str) -> Option<String>,
    place: impl Fn(&str, &str) -> String,
) -> Session {
    let mut session = crate::session();
    let [config, state, data, cache] = FOLDERS.map(|(_, name, default)| place(name, default));
    session
        .skill("project/.agents/skills/deploy", "deploy", "Deploys")
        .file(
            format!("{config}/grove/config.toml"),
            "[limits]\ngroup_depth = 3\n",
        )
        .skill(format!("{data}/grove/skills/managed"), "managed", "Managed");
    for (variable, name, _) in FOLDERS {
        session = match value(&session, name) {
            Some(value) => session.with_env(variable, value),
            None => session.without_env(variable),
        };
    }
    let depth = &session.json("config")["settings"]["limits.group_depth"]["value"];
    assert_eq!(*depth, 3);
    session.trust();
    let list = session.json("skills list");
    let names = column(&list["skills"], "name");
    assert_eq!(names, ["deploy", "managed", "grove"]);
    let doctor = session.json("doctor");
    for (_, name, default) in FOLDERS {
        let folder = session.path(place(name, default)).join("grove");
        assert_eq!(doctor["folders"][name], json!(folder), "{name}");
    }
    for folder in [
        format!("{state}/grove/trust"),
        format!("{data}/grove/bundled"),
        format!("{cache}/grove/skills"),
    ] {
        assert_ne!(session.entries(&folder), Vec::<String>::new(), "{folder}");
    }
    session
}

fn below_home(_: &str, default: &str) -> String {
    format!("home/{default}")
}

#[test]
fn xdg_variables_decide_all_four_places() {
    let session = assert_used(
        |session, name| Some(session.path("elsewhere").join(name).display().to_string()),
        |name, _| format!("elsewhere/{name}"),
    );
    assert_eq!(session.entries("home"), Vec::<String>::new());
}

#[test]
fn without_them_the_places_are_below_home() {
    assert_used(|_, _| None, below_home);
}

#[test]
fn relative_and_empty_ones_count_as_unset() {
    for odd in ["relative/folder", "", ".", "./x"] {
        let session = assert_used(|_, _| Some(odd.to_owned()), below_home);
        // Nothing is written to the project.
        assert_eq!(session.entries("project"), [".agents"], "{odd:?}");
    }
}

#[test]
fn without_a_home_nothing_is_found_and_nothing_breaks() {
    let mut session = crate::session().without_env("HOME");
    for (variable, ..) in FOLDERS {
        session = session.without_env(variable);
    }
    session.skill("home/.agents/skills/notes", "notes", "Takes notes");
    for command in ["skills list --json", "doctor --json", "--json"] {
        session.grove(command).ok().lacks(["notes"]);
    }
}
