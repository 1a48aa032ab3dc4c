//! Where everything is: the four XDG folders, their defaults, and what a wrong one means.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Finished, HANGING, capture};
use serde_json::{Value, json};

use super::session::new_home;

const FOLDERS: [(&str, &str, &str); 4] = [
    ("XDG_CONFIG_HOME", "config", ".config"),
    ("XDG_STATE_HOME", "state", ".local/state"),
    ("XDG_DATA_HOME", "data", ".local/share"),
    ("XDG_CACHE_HOME", "cache", ".cache"),
];

/// Runs a command in the project with all four variables set to something, or unset.
fn run_with(
    home: &TestHome,
    arguments: &[&str],
    value: impl Fn(&str) -> Option<String>,
) -> Finished {
    let mut command = home.command("project");
    command.args(arguments);
    for (variable, name, _) in FOLDERS {
        match value(name) {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    capture(&mut command, HANGING).unwrap()
}

/// A project, a managed skill and a configuration for the folders that `base` names.
fn furnished(base: impl Fn(&str, &str) -> String) -> TestHome {
    let home = new_home();
    home.skill("project/.agents/skills/deploy", "deploy", "Deploys");
    for (_, name, default) in FOLDERS {
        let folder = base(name, default);
        match name {
            "config" => home.file(
                format!("{folder}/grove/config.toml"),
                "[limits]\ngroup_depth = 3\n",
            ),
            "data" => home.skill(
                format!("{folder}/grove/skills/managed"),
                "managed",
                "Managed",
            ),
            _ => home.dir(folder),
        };
    }
    home
}

/// All four places were used: settings read, a grant kept, skills found and written, a cache made.
fn assert_used(
    home: &TestHome,
    value: impl Fn(&str) -> Option<String>,
    base: impl Fn(&str, &str) -> String,
) {
    let json = |arguments: &[&str]| -> Value {
        let finished = run_with(home, arguments, &value);
        serde_json::from_slice(&finished.stdout).unwrap()
    };
    assert_eq!(
        json(&["config", "--json"])["settings"]["limits.group_depth"]["value"],
        3
    );
    run_with(home, &["trust"], &value)
        .require_success("trust")
        .unwrap();
    let list = json(&["skills", "list", "--json"]);
    let names: Vec<&Value> = list["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["name"])
        .collect();
    assert_eq!(names, ["deploy", "managed", "grove"]);
    let doctor = json(&["doctor", "--json"]);
    for (_, name, default) in FOLDERS {
        let folder = home.path(base(name, default)).join("grove");
        assert_eq!(doctor["folders"][name], json!(folder), "{name}");
    }
    for (name, default, below) in [
        ("state", ".local/state", "grove/trust"),
        ("data", ".local/share", "grove/bundled"),
        ("cache", ".cache", "grove/skills"),
    ] {
        let folder = home.path(base(name, default)).join(below);
        assert!(
            folder
                .read_dir()
                .is_ok_and(|mut files| files.next().is_some()),
            "{}",
            folder.display()
        );
    }
}

#[test]
fn xdg_variables_decide_all_four_places() {
    let base = |name: &str, _: &str| format!("elsewhere/{name}");
    let home = furnished(base);
    let elsewhere = home.path("elsewhere");
    let value = |name: &str| Some(elsewhere.join(name).to_str().unwrap().to_owned());
    assert_used(&home, value, base);
    let in_home: Vec<_> = home.path("home").read_dir().unwrap().collect();
    assert_eq!(in_home.len(), 0, "nothing is written to home: {in_home:?}");
}

#[test]
fn without_them_the_places_are_below_home() {
    let base = |_: &str, default: &str| format!("home/{default}");
    assert_used(&furnished(base), |_| None, base);
}

#[test]
fn relative_and_empty_ones_count_as_unset() {
    let base = |_: &str, default: &str| format!("home/{default}");
    for odd in ["relative/folder", "", ".", "./x"] {
        let home = furnished(base);
        assert_used(&home, |_| Some(odd.to_owned()), base);
        let project: Vec<_> = home.path("project").read_dir().unwrap().collect();
        assert_eq!(
            project.len(),
            1,
            "{odd:?}: nothing is written to the project: {project:?}"
        );
    }
}

#[test]
fn without_a_home_nothing_is_found_and_nothing_breaks() {
    let home = new_home();
    home.skill("home/.agents/skills/notes", "notes", "Takes notes");
    for arguments in [
        &["skills", "list", "--json"][..],
        &["doctor", "--json"],
        &["--json"],
    ] {
        let mut command = home.command("project");
        command.args(arguments).env_remove("HOME");
        for (variable, ..) in FOLDERS {
            command.env_remove(variable);
        }
        let finished = capture(&mut command, HANGING).unwrap();
        assert!(
            finished.success(),
            "{arguments:?}: {}",
            finished.stderr_text()
        );
        assert!(!finished.stdout_text().contains("notes"));
    }
}
