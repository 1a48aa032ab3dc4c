//! What another host would have: `grove skills list --host X` against the table of hosts in
//! `reference/agent-skills.md`, section 2.

mod table;
mod view;

use std::collections::BTreeSet;

use grove_testkit::home::TestHome;
use serde_json::Value;
use table::{HOME_FOLDERS, HOSTS, Host, PROJECT_FOLDERS, by_name};
use view::{Differences, listed, named, ok, repository, set};

#[test]
fn every_host_looks_where_the_table_says_and_nowhere_else() {
    let home = repository();
    for (tag, folder) in HOME_FOLDERS {
        let name = format!("home-{tag}");
        home.skill(format!("home/{folder}/{name}"), &name, "At home");
    }
    for (level, base) in [("repo", "project"), ("work", "project/pkg")] {
        for (tag, folder) in PROJECT_FOLDERS {
            let name = format!("{level}-{tag}");
            home.skill(format!("{base}/{folder}/{name}"), &name, "In the project");
        }
    }
    for host in HOSTS {
        let skills = listed(&home, host.name);
        let expected = set(host.places);
        assert_eq!(named(&skills, "ok"), expected, "{}", host.name);
        assert_eq!(
            skills.len(),
            expected.len(),
            "{}: and nothing in another state",
            host.name
        );
    }
}

/// Skills of every shape in one folder.
fn plant_shapes(home: &TestHome, root: &str) {
    home.skill(format!("{root}/one"), "one", "A folder")
        .skill(format!("{root}/one/inner"), "inner", "Inside a skill")
        .skill(format!("{root}/group/two"), "two", "In a group")
        .skill(format!("{root}/a/b/c/three"), "three", "Three groups down")
        .skill(
            format!("{root}/a/b/c/d/e/f/g/h/i/deep"),
            "deep",
            "Nine groups down",
        )
        .skill(
            format!("{root}/renamed"),
            "other-name",
            "Named unlike its folder",
        )
        .skill(format!("{root}/ignored"), "ignored", "Named in .gitignore")
        .skill(
            format!("{root}/.hidden/skill"),
            "hidden",
            "In a hidden folder",
        )
        .skill(
            format!("{root}/node_modules/module"),
            "module",
            "In node_modules",
        )
        .file(
            format!("{root}/undescribed/SKILL.md"),
            "---\nname: undescribed\n---\nDo it.\n",
        )
        .file(
            format!("{root}/unnamed/SKILL.md"),
            "---\ndescription: No name\n---\nDo it.\n",
        )
        .file(
            format!("{root}/flat.md"),
            "---\nname: flat\ndescription: A file\n---\n",
        )
        .file(format!("{root}/notes.md"), "# Notes\n")
        .file(format!("{root}/.gitignore"), "ignored/\n");
}

#[test]
fn every_host_reads_the_shapes_that_the_table_says() {
    let mut differences = Differences::default();
    for host in HOSTS {
        let home = repository();
        plant_shapes(&home, &format!("home/{}", host.shared_folder));
        let found = ok(&home, host.name);
        let unsettled = set(host.unsettled);
        let settled: BTreeSet<String> = found.difference(&unsettled).cloned().collect();
        differences.compare(host.name, &settled, &set(host.shapes));
    }
    differences.assert_none();
}

#[test]
fn what_is_not_known_of_a_host_is_said() {
    let home = repository();
    for (host, known) in [("gemini", false), ("opencode", false), ("copilot", true)] {
        let finished = home.run("project/pkg", ["skills", "list", "--host", host, "--json"]);
        let list: Value = serde_json::from_slice(&finished.stdout).unwrap();
        let findings = list["diagnostics"].as_array().unwrap();
        let said = findings
            .iter()
            .any(|finding| finding["code"] == "host-unknown-rule");
        assert_eq!(said, !known, "{host}");
    }
}

/// A skill file at the very top of a root, and one in a folder below it.
#[test]
fn a_skill_file_at_the_top_of_a_root() {
    let mut differences = Differences::default();
    for (host, expected) in [
        ("claude", &["child"][..]),
        ("codex", &["child", "rooted"]),
        ("copilot", &["rooted"]),
        ("gemini", &["child", "rooted"]),
        ("openclaw", &["rooted"]),
        ("opencode", &["child", "rooted"]),
        ("pi", &["rooted"]),
    ] {
        let home = repository();
        let root = format!("home/{}", by_name(host).shared_folder);
        home.skill(&root, "rooted", "At the top")
            .skill(format!("{root}/child"), "child", "Below");
        differences.compare(host, &ok(&home, host), &set(expected));
    }
    differences.assert_none();
}

/// pi's own documentation: files at the top count in its own folders and not in the shared ones.
#[test]
fn flat_files_count_for_pi_in_its_own_folders_alone() {
    let home = repository();
    for (folder, name) in [
        ("home/.pi/agent/skills", "home-own"),
        ("home/.agents/skills", "home-shared"),
        ("project/pkg/.pi/skills", "work-own"),
        ("project/pkg/.agents/skills", "work-shared"),
    ] {
        home.file(
            format!("{folder}/{name}.md"),
            format!("---\nname: {name}\ndescription: d\n---\n"),
        );
    }
    assert_eq!(ok(&home, "pi"), set(&["home-own", "work-own"]));
}

/// Puts a skill called `same` into each folder and gives the states in that order.
fn states_of_same(host: &Host, folders: &[&str]) -> Vec<String> {
    let home = repository();
    for folder in folders {
        home.skill(format!("{folder}/same"), "same", "One of several");
    }
    let skills = listed(&home, host.name);
    let state_in = |folder: &&str| {
        let below = home.path(folder);
        let found = skills.iter().find(|skill| {
            skill["location"]
                .as_str()
                .unwrap()
                .starts_with(below.to_str().unwrap())
        });
        found.unwrap_or_else(|| panic!("{}: not in {folder}", host.name))["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    folders.iter().map(state_in).collect()
}

#[test]
fn of_equal_names_each_host_keeps_its_own_winner() {
    for host in HOSTS {
        let states = states_of_same(host, host.strongest_first);
        if host.keeps_all {
            assert!(
                states.iter().all(|state| state == "ok"),
                "{}: {states:?}",
                host.name
            );
        } else {
            assert_eq!(states[0], "ok", "{}: {states:?}", host.name);
            assert!(
                states[1..].iter().all(|state| state == "shadowed"),
                "{}: {states:?}",
                host.name
            );
        }
    }
}

/// Where the table does not say who wins, exactly one does.
#[test]
fn of_equal_names_one_is_left_where_the_winner_is_not_known() {
    for (host, folders) in [
        (
            "opencode",
            [
                "home/.claude/skills",
                "home/.agents/skills",
                "project/pkg/.opencode/skills",
            ],
        ),
        (
            "pi",
            [
                "home/.pi/agent/skills",
                "home/.agents/skills",
                "project/pkg/.agents/skills",
            ],
        ),
    ] {
        let states = states_of_same(by_name(host), &folders);
        let winners = states.iter().filter(|state| *state == "ok").count();
        assert_eq!(winners, 1, "{host}: {states:?}");
    }
}

#[test]
fn a_hosts_variable_moves_its_folder() {
    let mut differences = Differences::default();
    for (host, variable, expected) in [
        ("claude", "CLAUDE_CONFIG_DIR", &["moved"][..]),
        ("codex", "CODEX_HOME", &["moved", "home-agents"]),
        ("copilot", "COPILOT_HOME", &["moved"]),
        ("openclaw", "OPENCLAW_STATE_DIR", &["moved"]),
    ] {
        let home = repository();
        for (tag, folder) in HOME_FOLDERS {
            let name = format!("home-{tag}");
            home.skill(format!("home/{folder}/{name}"), &name, "At home");
        }
        home.skill(
            "elsewhere/skills/moved",
            "moved",
            "Where the variable points",
        );
        let elsewhere = home.path("elsewhere");
        let found = ok(&home.with_env(variable, elsewhere), host);
        differences.compare(format!("{host} with {variable}"), &found, &set(expected));
    }
    differences.assert_none();
}

#[test]
fn copilot_reads_the_folders_that_its_variable_lists() {
    let home = repository();
    home.skill("one/a", "a", "In the first")
        .skill("two/b", "b", "In the second");
    let list = format!(
        "{},{}",
        home.path("one").display(),
        home.path("two").display()
    );
    assert_eq!(
        ok(&home.with_env("COPILOT_SKILLS_DIRS", list), "copilot"),
        set(&["a", "b"])
    );
}

/// First found wins: the project, then the user's folders, then the list in its order.
#[test]
fn copilots_list_is_weakest_and_its_first_folder_wins() {
    let home = repository();
    for folder in ["one", "two"] {
        home.skill(format!("{folder}/same"), "same", "In both");
        home.skill(format!("{folder}/mine"), "mine", "At home too");
    }
    home.skill("home/.copilot/skills/mine", "mine", "At home");
    let list = format!(
        " {} ,,{}",
        home.path("two").display(),
        home.path("one").display()
    );
    let home = home.with_env("COPILOT_SKILLS_DIRS", list);
    let winners: BTreeSet<String> = listed(&home, "copilot")
        .iter()
        .filter(|skill| skill["state"] == "ok")
        .map(|skill| skill["location"].as_str().unwrap().to_owned())
        .collect();
    let expected = ["home/.copilot/skills/mine/SKILL.md", "two/same/SKILL.md"]
        .map(|file| home.path(file).to_str().unwrap().to_owned());
    assert_eq!(winners, BTreeSet::from(expected));
}

#[test]
fn a_blank_variable_moves_nothing_and_lists_nothing() {
    let home = repository();
    home.skill("home/.agents/skills/shared", "shared", "At home")
        .skill("project/pkg/stray", "stray", "In the working folder");
    let home = home
        .with_env("COPILOT_HOME", "")
        .with_env("COPILOT_SKILLS_DIRS", " , ")
        .with_env("OPENCLAW_STATE_DIR", " ");
    for host in ["copilot", "openclaw"] {
        assert_eq!(ok(&home, host), set(&["shared"]), "{host}");
    }
}

#[test]
fn requirements_count_for_openclaw_alone() {
    for host in HOSTS {
        let home = repository();
        home.file(
            format!("home/{}/needy/SKILL.md", host.shared_folder),
            "---\nname: needy\ndescription: Needs a program\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}\n---\n",
        );
        let expected = if host.name == "openclaw" {
            "ineligible"
        } else {
            "ok"
        };
        assert_eq!(
            listed(&home, host.name)[0]["state"],
            expected,
            "{}",
            host.name
        );
    }
}

#[test]
fn a_host_reads_files_up_to_its_own_size() {
    let mut differences = Differences::default();
    let of_size = |bytes: usize| {
        let start = "---\nname: large\ndescription: Long\n---\n";
        format!("{start}{}", "x".repeat(bytes - start.len()))
    };
    for (host, bytes, fits) in [
        ("claude", 1_000_000, true),
        ("claude", 1_000_001, false),
        ("codex", 1_048_576, true),
        ("codex", 1_048_577, false),
        ("openclaw", 256_000, true),
        ("openclaw", 256_001, false),
        ("gemini", 256_001, true),
    ] {
        let home = repository();
        let folder = by_name(host).shared_folder;
        home.file(format!("home/{folder}/large/SKILL.md"), of_size(bytes));
        let read = ok(&home, host).contains("large");
        differences.compare(format!("{host}: {bytes} bytes"), &read, &fits);
    }
    differences.assert_none();
}

/// The limits on candidates and per source are Grove's and one host's; the others have none.
#[test]
fn hosts_without_a_limit_have_every_skill() {
    let mut differences = Differences::default();
    for (host, expected) in [("claude", 320), ("gemini", 320), ("openclaw", 200)] {
        let home = repository();
        for number in 0..320 {
            let name = format!("s{number}");
            let folder = by_name(host).shared_folder;
            home.skill(format!("home/{folder}/{name}"), &name, "One of many");
        }
        differences.compare(host, &ok(&home, host).len(), &expected);
    }
    differences.assert_none();
}

/// Claude Code shows the first line of the body, Copilot something else: the model is told.
#[test]
fn a_skill_without_description_is_offered_where_the_host_has_a_fallback() {
    let mut differences = Differences::default();
    for (host, told) in [
        ("claude", true),
        ("copilot", true),
        ("gemini", false),
        ("openclaw", false),
    ] {
        let home = repository();
        let folder = by_name(host).shared_folder;
        home.file(
            format!("home/{folder}/bare/SKILL.md"),
            "---\nname: bare\n---\nDo it well.\n",
        );
        differences.compare(
            host,
            &listed(&home, host)[0]["modelInvocable"],
            &told.into(),
        );
    }
    differences.assert_none();
}

#[test]
fn a_skill_file_that_is_a_link_out_of_its_folder_is_not_read_by_codex_and_openclaw() {
    let mut differences = Differences::default();
    for host in ["codex", "openclaw"] {
        let home = repository();
        home.file("elsewhere.md", "---\nname: linked\ndescription: d\n---\n");
        home.link(
            "home/.agents/skills/linked/SKILL.md",
            home.path("elsewhere.md"),
        );
        differences.compare(host, &ok(&home, host), &set(&[]));
    }
    differences.assert_none();
}

/// The table says for Codex that a linked file is not found, for `OpenClaw` that it must stay in its folder.
#[test]
fn a_skill_file_that_is_a_link_within_its_folder() {
    let mut differences = Differences::default();
    for (host, expected) in [
        ("codex", &["real"][..]),
        ("openclaw", &["absolute", "real", "relative"]),
        ("gemini", &["absolute", "real", "relative", "sibling"]),
    ] {
        let home = repository();
        let root = "home/.agents/skills";
        for name in ["absolute", "relative"] {
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            home.file(format!("{root}/{name}/body.md"), text);
        }
        let absolute = home.path(format!("{root}/absolute/body.md"));
        home.link(format!("{root}/absolute/SKILL.md"), absolute)
            .link(format!("{root}/relative/SKILL.md"), "body.md")
            .skill(format!("{root}/real"), "real", "No link")
            .file(
                format!("{root}/notes/sibling.md"),
                "---\nname: sibling\ndescription: d\n---\n",
            )
            .link(format!("{root}/sibling/SKILL.md"), "../notes/sibling.md");
        differences.compare(host, &ok(&home, host), &set(expected));
    }
    differences.assert_none();
}

/// A link to another skill's file is that skill for who follows it, and a refused one of its own for who does not.
#[test]
fn a_refused_link_is_listed_with_its_reason_and_takes_nothing_from_its_target() {
    let home = repository();
    home.skill("home/.agents/skills/real", "real", "No link")
        .link("home/.agents/skills/alias/SKILL.md", "../real/SKILL.md");
    for (host, reason) in [("codex", "is a link"), ("openclaw", "out of its folder")] {
        let skills = listed(&home, host);
        assert_eq!(named(&skills, "ok"), set(&["real"]), "{host}");
        assert_eq!(named(&skills, "invalid"), set(&["alias"]), "{host}");
        let alias = skills
            .iter()
            .find(|skill| skill["name"] == "alias")
            .unwrap();
        assert!(alias["reasons"].to_string().contains(reason), "{alias}");
    }
    assert_eq!(listed(&home, "gemini").len(), 1);
}

#[test]
fn an_unknown_host_is_a_usage_error_that_names_the_known_ones() {
    let finished = repository().run("project", ["skills", "list", "--host", "emacs"]);
    assert_eq!(finished.ending, grove_testkit::process::Ending::Exited(2));
    let told = finished.stderr_text();
    for host in HOSTS {
        assert!(told.contains(host.name), "{told}");
    }
}

#[test]
fn groves_settings_and_trust_do_not_change_what_a_host_has() {
    let home = repository();
    home.skill("project/pkg/.claude/skills/deploy", "deploy", "Deploys");
    home.file(
        "config/grove/config.toml",
        "compat_roots = false\n[skills]\nonly = []\n",
    );
    assert_eq!(ok(&home, "claude"), set(&["deploy"]));
}
