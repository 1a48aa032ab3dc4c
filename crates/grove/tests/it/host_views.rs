//! What another host would have: `grove skills list --host X` against the table of hosts in
//! `reference/agent-skills.md`, section 2.

mod table;

use std::collections::BTreeSet;

use grove_testkit::session::{Session, USER_CONFIG, column, rows};
use serde_json::Value;
use table::{HOME_FOLDERS, HOSTS, PROJECT_FOLDERS, by_name};

/// A repository whose package is the working folder.
fn repository() -> Session {
    let session = crate::session().with_repository();
    session.working_in("project/pkg")
}

fn listed(session: &Session, host: &str) -> Value {
    session.json(["skills", "list", "--host", host])["skills"].take()
}

/// The names of all skills in a state.
fn named(skills: &Value, state: &str) -> BTreeSet<String> {
    let mut all = rows(skills, ["state", "name"]);
    all.retain(|[found, _]| found == state);
    all.into_iter().map(|[_, name]| name).collect()
}

fn ok(session: &Session, host: &str) -> BTreeSet<String> {
    named(&listed(session, host), "ok")
}

/// The words of a text.
fn set(names: &str) -> BTreeSet<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

/// Makes a home anew for each host and compares what the host has there with the names beside it. What is made gets
/// a folder that the host reads.
fn compare(table: &[(&str, &str)], make: impl Fn(&Session, &str)) {
    for (host, expected) in table {
        let session = repository();
        make(&session, &format!("home/{}", by_name(host).shared_folder));
        assert_eq!(ok(&session, host), set(expected), "{host}");
    }
}

/// A skill in every folder at home.
fn fill_home(session: &Session) {
    for (tag, folder) in HOME_FOLDERS {
        let name = format!("home-{tag}");
        session.skill(format!("home/{folder}/{name}"), &name, "At home");
    }
}

#[test]
fn every_host_looks_where_the_table_says_and_nowhere_else() {
    let session = repository();
    fill_home(&session);
    for (level, base) in [("repo", "project"), ("work", "project/pkg")] {
        for (tag, folder) in PROJECT_FOLDERS {
            let name = format!("{level}-{tag}");
            session.skill(format!("{base}/{folder}/{name}"), &name, "In the project");
        }
    }
    for host in HOSTS {
        let skills = listed(&session, host.name);
        let expected = set(host.places);
        assert_eq!(named(&skills, "ok"), expected, "{}", host.name);
        let n_listed = skills.as_array().map(Vec::len);
        let n_expected = Some(expected.len());
        assert_eq!(n_listed, n_expected, "{}: in another state", host.name);
    }
}

/// Skills of every shape in one folder.
fn plant_shapes(session: &Session, root: &str) {
    for (folder, name) in [
        ("one", "one"),
        ("one/inner", "inner"),
        ("group/two", "two"),
        ("a/b/c/three", "three"),
        ("a/b/c/d/e/f/g/h/i/deep", "deep"),
        ("renamed", "other-name"),
        ("ignored", "ignored"),
        (".hidden/skill", "hidden"),
        ("node_modules/module", "module"),
    ] {
        session.skill(format!("{root}/{folder}"), name, "Of some shape");
    }
    for (file, text) in [
        ("undescribed/SKILL.md", "---\nname: undescribed\n---\nx\n"),
        ("unnamed/SKILL.md", "---\ndescription: No name\n---\nx\n"),
        ("flat.md", "---\nname: flat\ndescription: A file\n---\n"),
        ("notes.md", "# Notes\n"),
        (".gitignore", "ignored/\n"),
    ] {
        session.file(format!("{root}/{file}"), text);
    }
}

#[test]
fn every_host_reads_the_shapes_that_the_table_says() {
    for host in HOSTS {
        let session = repository();
        plant_shapes(&session, &format!("home/{}", host.shared_folder));
        let found = ok(&session, host.name);
        let settled: BTreeSet<String> = &found - &set(host.unsettled);
        assert_eq!(settled, set(host.shapes), "{}", host.name);
    }
}

#[test]
fn what_is_not_known_of_a_host_is_said() {
    let session = repository();
    for (host, known) in [("gemini", false), ("opencode", false), ("copilot", true)] {
        let list = session.json(["skills", "list", "--host", host]);
        let codes = column(&list["diagnostics"], "code");
        let said = codes.iter().any(|code| code == "host-unknown-rule");
        assert_eq!(said, !known, "{host}");
    }
}

#[test]
fn a_skill_file_at_the_top_of_a_root() {
    let table = [
        ("claude", "child"),
        ("codex", "child rooted"),
        ("copilot", "rooted"),
        ("gemini", "child rooted"),
        ("openclaw", "rooted"),
        ("opencode", "child rooted"),
        ("pi", "rooted"),
    ];
    compare(&table, |session, root| {
        session.skill(root, "rooted", "At the top").skill(
            format!("{root}/child"),
            "child",
            "Below",
        );
    });
}

/// pi's own documentation: files at the top count in its own folders and not in the shared ones.
#[test]
fn flat_files_count_for_pi_in_its_own_folders_alone() {
    let session = repository();
    for (folder, name) in [
        ("home/.pi/agent/skills", "home-own"),
        ("home/.agents/skills", "home-shared"),
        ("project/pkg/.pi/skills", "work-own"),
        ("project/pkg/.agents/skills", "work-shared"),
    ] {
        session.definition(format!("{folder}/{name}.md"), "", "");
    }
    assert_eq!(ok(&session, "pi"), set("home-own work-own"));
}

/// Puts a skill called `same` into each folder and gives the states in that order.
fn states_of_same(host: &str, folders: &[&str]) -> Vec<String> {
    let session = repository();
    for folder in folders {
        session.skill(format!("{folder}/same"), "same", "One of several");
    }
    let skills = rows(&listed(&session, host), ["location", "state"]);
    let state_in = |folder: &&str| {
        let below = session.path(folder).display().to_string();
        let found = skills.iter().find(|[file, _]| file.starts_with(&below));
        found.unwrap_or_else(|| panic!("{host}: not in {folder}"))[1].clone()
    };
    folders.iter().map(state_in).collect()
}

#[test]
fn of_equal_names_each_host_keeps_its_own_winner() {
    for host in HOSTS {
        let states = states_of_same(host.name, host.strongest_first);
        let weaker = if host.keeps_all { "ok" } else { "shadowed" };
        let mut expected = vec![weaker; states.len()];
        expected[0] = "ok";
        assert_eq!(states, expected, "{}", host.name);
    }
}

/// Where the table does not say who wins, exactly one does.
#[test]
fn of_equal_names_one_is_left_where_the_winner_is_not_known() {
    for (host, own, project) in [
        ("opencode", ".claude/skills", ".opencode/skills"),
        ("pi", ".pi/agent/skills", ".agents/skills"),
    ] {
        let (own, project) = (format!("home/{own}"), format!("project/pkg/{project}"));
        let states = states_of_same(host, &[&own, "home/.agents/skills", &project]);
        let winners = states.iter().filter(|state| *state == "ok").count();
        assert_eq!(winners, 1, "{host}: {states:?}");
    }
}

#[test]
fn a_hosts_variable_moves_its_folder() {
    for (host, variable, expected) in [
        ("claude", "CLAUDE_CONFIG_DIR", "moved"),
        ("codex", "CODEX_HOME", "moved home-agents"),
        ("copilot", "COPILOT_HOME", "moved"),
        ("openclaw", "OPENCLAW_STATE_DIR", "moved"),
    ] {
        let session = repository();
        fill_home(&session);
        session.skill("elsewhere/skills/moved", "moved", "There");
        let elsewhere = session.path("elsewhere");
        let session = session.with_env(variable, elsewhere);
        assert_eq!(ok(&session, host), set(expected), "{host} with {variable}");
    }
}

/// First found wins: the project, then the user's folders, then the list that the variable has, in its order.
#[test]
fn copilots_list_is_weakest_and_its_first_folder_wins() {
    let session = repository();
    for folder in ["one", "two"] {
        session
            .skill(format!("{folder}/same"), "same", "In both")
            .skill(format!("{folder}/mine"), "mine", "At home too")
            .skill(format!("{folder}/only-{folder}"), folder, "In one");
    }
    session.skill("home/.copilot/skills/mine", "mine", "At home");
    let [one, two] = ["one", "two"].map(|folder| session.path(folder).display().to_string());
    let session = session.with_env("COPILOT_SKILLS_DIRS", format!(" {two} ,,{one}"));
    let mut skills = rows(&listed(&session, "copilot"), ["state", "location"]);
    skills.retain(|[state, _]| state == "ok");
    let winners: BTreeSet<String> = skills.into_iter().map(|[_, file]| file).collect();
    let expected = [
        "home/.copilot/skills/mine",
        "two/same",
        "one/only-one",
        "two/only-two",
    ]
    .map(|folder| session.path(folder).join("SKILL.md").display().to_string());
    assert_eq!(winners, BTreeSet::from(expected));
}

#[test]
fn a_blank_variable_moves_nothing_and_lists_nothing() {
    let session = repository()
        .with_env("COPILOT_HOME", "")
        .with_env("COPILOT_SKILLS_DIRS", " , ")
        .with_env("OPENCLAW_STATE_DIR", " ");
    session
        .skill("home/.agents/skills/shared", "shared", "At home")
        .skill("project/pkg/stray", "stray", "In the working folder");
    for host in ["copilot", "openclaw"] {
        assert_eq!(ok(&session, host), set("shared"), "{host}");
    }
}

#[test]
fn requirements_count_for_openclaw_alone() {
    let needs = "metadata: {openclaw: {requires: {bins: [no-such-program]}}}\n";
    for host in HOSTS {
        let session = repository();
        let folder = format!("home/{}/needy", host.shared_folder);
        session.definition(folder, needs, "");
        let is_openclaw = host.name == "openclaw";
        let expected = if is_openclaw { "ineligible" } else { "ok" };
        let states = column(&listed(&session, host.name), "state");
        assert_eq!(states, [expected], "{}", host.name);
    }
}

#[test]
fn a_host_reads_files_up_to_its_own_size() {
    let start = "---\nname: large\ndescription: Long\n---\n";
    for (host, bytes, fits) in [
        ("claude", 1_000_000, true),
        ("claude", 1_000_001, false),
        ("codex", 1_048_576, true),
        ("codex", 1_048_577, false),
        ("openclaw", 256_000, true),
        ("openclaw", 256_001, false),
        ("gemini", 256_001, true),
    ] {
        let text = format!("{start}{}", "x".repeat(bytes - start.len()));
        let expected = if fits { "large" } else { "" };
        compare(&[(host, expected)], |session, root| {
            session.file(format!("{root}/large/SKILL.md"), &text);
        });
    }
}

/// The limits on candidates and per source are Grove's and one host's; the others have none.
#[test]
fn hosts_without_a_limit_have_every_skill() {
    for (host, expected) in [("claude", 320), ("gemini", 320), ("openclaw", 200)] {
        let session = repository();
        let folder = by_name(host).shared_folder;
        for number in 0..320 {
            let name = format!("s{number}");
            session.skill(format!("home/{folder}/{name}"), &name, "One of many");
        }
        assert_eq!(ok(&session, host).len(), expected, "{host}");
    }
}

/// Claude Code shows the first line of the body, Copilot something else: the model is told.
#[test]
fn a_skill_without_description_is_offered_where_the_host_has_a_fallback() {
    for (host, told) in [
        ("claude", "true"),
        ("copilot", "true"),
        ("gemini", "false"),
        ("openclaw", "false"),
    ] {
        let session = repository();
        let file = format!("home/{}/bare/SKILL.md", by_name(host).shared_folder);
        session.file(file, "---\nname: bare\n---\nDo it well.\n");
        let invocable = column(&listed(&session, host), "modelInvocable");
        assert_eq!(invocable, [told], "{host}");
    }
}

/// The table says for Codex that a linked file is not found, for `OpenClaw` that it must stay in its folder.
#[test]
fn a_skill_file_that_is_a_link() {
    let table = [
        ("codex", "real"),
        ("openclaw", "absolute real relative"),
        ("gemini", "absolute far real relative sibling"),
    ];
    compare(&table, |session, root| {
        let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
        for (name, file) in [
            ("absolute", "absolute/body.md"),
            ("relative", "relative/body.md"),
            ("sibling", "notes/sibling.md"),
        ] {
            session.file(format!("{root}/{file}"), text(name));
        }
        session.file("elsewhere.md", text("far"));
        let absolute = session.path(format!("{root}/absolute/body.md"));
        session
            .skill(format!("{root}/real"), "real", "No link")
            .link(format!("{root}/absolute/SKILL.md"), absolute)
            .link(format!("{root}/relative/SKILL.md"), "body.md")
            .link(format!("{root}/sibling/SKILL.md"), "../notes/sibling.md")
            .link(format!("{root}/far/SKILL.md"), session.path("elsewhere.md"));
    });
}

/// A link to another skill's file is that skill for who follows it, and a refused one of its own for who does not.
#[test]
fn a_refused_link_is_listed_with_its_reason_and_takes_nothing_from_its_target() {
    let session = repository();
    session
        .skill("home/.agents/skills/real", "real", "No link")
        .link("home/.agents/skills/alias/SKILL.md", "../real/SKILL.md");
    for (host, reason) in [("codex", "is a link"), ("openclaw", "out of its folder")] {
        let mut skills = rows(&listed(&session, host), ["name", "state", "reasons"]);
        skills.sort();
        let [[alias, refused, why], [real, used, _]] = &skills[..] else {
            panic!("{host}: {skills:?}");
        };
        assert_eq!([alias, refused], ["alias", "invalid"], "{host}");
        assert_eq!([real, used], ["real", "ok"], "{host}");
        assert!(why.contains(reason), "{host}: {why}");
    }
    assert_eq!(column(&listed(&session, "gemini"), "name").len(), 1);
}

#[test]
fn an_unknown_host_is_a_usage_error_that_names_the_known_ones() {
    let refused = repository().grove("skills list --host emacs").fails(2);
    for host in HOSTS {
        assert!(refused.stderr.contains(host.name), "{refused}");
    }
}

#[test]
fn groves_settings_and_trust_do_not_change_what_a_host_has() {
    let session = repository();
    session
        .skill("project/pkg/.claude/skills/deploy", "deploy", "Deploys")
        .file(USER_CONFIG, "compat_roots = false\n[skills]\nonly = []\n");
    assert_eq!(ok(&session, "claude"), set("deploy"));
}
