//! Packages as the program finds them: where they may lie, what they give, who wins, what is refused.

use grove_testkit::home::TestHome;
use grove_testkit::process::Finished;
use serde_json::{Value, json};

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
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

fn agent(description: &str) -> String {
    format!("---\nname: x\ndescription: {description}\n---\n\nBody\n")
}

/// A package with one agent, one chain and one skill, each called `x`, described by the package's name.
fn package(home: &TestHome, folder: &str, name: &str, manifest: &Value) {
    home.file(format!("{folder}/package.json"), manifest.to_string());
    home.file(format!("{folder}/agents/x.md"), agent(name));
    home.skill(format!("{folder}/skills/x"), "x", name);
    let chain = format!("---\nname: x\ndescription: {name}\n---\n\n## x\n\nDo it\n");
    home.file(format!("{folder}/chains/x.chain.md"), chain);
}

fn everything(name: &str) -> Value {
    json!({"name": name, "grove": {"agents": ["agents"], "chains": ["chains"], "skills": ["skills"]}})
}

/// The description of the usable one called `x`, for agents, chains and skills.
fn used(home: &TestHome, cwd: &str) -> [String; 3] {
    ["agents", "chains", "skills"].map(|kind| {
        let listed = json_of(&home.run(cwd, [kind, "list", "--json"]));
        let all = listed[kind].as_array().unwrap();
        let mut ok = all
            .iter()
            .filter(|it| it["name"] == "x" && it["state"] == "ok");
        let description = ok.next().map(|it| it["description"].as_str().unwrap());
        description.unwrap_or("nobody").to_owned()
    })
}

/// Codes of everything that is said about roots and limits.
fn codes(home: &TestHome, cwd: &str) -> Vec<String> {
    let listed = json_of(&home.run(cwd, ["agents", "list", "--json"]));
    let all = listed["diagnostics"].as_array().unwrap().iter();
    all.map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_first_place_wins_a_name_and_the_next_stands_in() {
    let home = home();
    home.file("config/grove/config.toml", "packages = ['~/configured']\n");
    home.file(
        "project/.pi/settings.json",
        "{\"packages\": [\"npm:by-name\", {\"source\": \"../by-path\"}, \"git:example.org/o/r@v1\"]}",
    );
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"./by-path\"]}",
    );
    // The places in order, strongest first. A package under `npm:` is found where it is installed.
    let places = [
        ("project", "project itself"),
        (
            "project/.pi/npm/node_modules/@scope/installed",
            "installed in the project",
        ),
        ("project/by-path", "path of the project's settings"),
        (
            "project/.pi/git/example.org/o/r",
            "clone of the project's settings",
        ),
        ("project/node_modules/plain", "dependency of the project"),
        (
            "home/.pi/agent/npm/node_modules/mine",
            "installed for the user",
        ),
        ("home/.pi/agent/by-path", "path of the user's settings"),
        ("home/configured", "configured"),
        (
            "npm/lib/node_modules/@scope/global",
            "installed for everybody",
        ),
    ];
    for (folder, name) in places {
        package(&home, folder, name, &everything(name));
    }
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    for (folder, name) in places {
        for cwd in ["project", "project/by-path/agents"] {
            // From any folder of the project the same packages are found.
            if home.path(cwd).is_dir() {
                assert_eq!(used(&home, cwd), [name; 3], "{cwd}");
            }
        }
        let manifest = home.path(folder).join("package.json");
        std::fs::remove_file(manifest).unwrap();
        // Without a manifest these would be found where skills usually are.
        std::fs::remove_dir_all(home.path(folder).join("skills")).unwrap();
    }
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
}

#[test]
fn a_package_ranks_below_folders_of_the_user_and_above_what_is_bundled() {
    let home = home().with_env("GROVE_AGENT_DIRS", "/nowhere");
    package(
        &home,
        "home/.pi/agent/npm/node_modules/p",
        "package",
        &everything("p"),
    );
    home.file("home/.agents/agents/x.md", agent("user"));
    assert_eq!(used(&home, "project")[0], "user");
    let extra = home.path("home/extra");
    let home = home.with_env("GROVE_AGENT_DIRS", extra);
    home.file("home/extra/x.md", agent("extra"));
    std::fs::remove_file(home.path("home/.agents/agents/x.md")).unwrap();
    assert_eq!(used(&home, "project")[0], "extra");
    std::fs::remove_file(home.path("home/extra/x.md")).unwrap();
    assert_eq!(used(&home, "project")[0], "package");
}

#[test]
fn packages_of_a_project_are_used_once_it_is_trusted_and_only_as_they_were_seen() {
    let home = home();
    let folder = "project/node_modules/p";
    package(&home, folder, "p", &everything("p"));
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
    assert!(codes(&home, "project").contains(&"project-untrusted".to_owned()));
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(used(&home, "project"), ["p"; 3]);
    package(&home, folder, "changed", &everything("p"));
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
    let show = json_of(&home.run("project", ["agents", "show", "x", "--json"]));
    assert_eq!(show["agent"]["state"], "changed");
}

#[test]
fn every_kind_of_manifest_is_read() {
    let home = home();
    let modules = "home/.pi/agent/npm/node_modules";
    for (manifest, expected) in [
        (
            json!({"pi-subagents": {"agents": ["./agents"], "chains": ["./chains"]}}),
            ["p", "p", "nobody"],
        ),
        (
            json!({"pi": {"subagents": {"agents": ["agents/"], "chains": ["chains"]}, "skills": ["skills"]}}),
            ["p"; 3],
        ),
        (
            json!({"grove": {"skills": "skills"}}),
            ["nobody", "nobody", "p"],
        ),
        (json!({"dependencies": {"pi": "*"}}), ["nobody"; 3]),
    ] {
        package(&home, &format!("{modules}/p"), "p", &manifest);
        assert_eq!(used(&home, "project"), expected, "{manifest}");
        assert_eq!(codes(&home, "project"), [""; 0], "{manifest}");
    }
    let plugin = format!("{modules}/plugin");
    home.file(
        format!("{plugin}/.claude-plugin/plugin.json"),
        "{\"name\": \"plugin\"}",
    );
    home.file(format!("{plugin}/agents/x.md"), agent("plugin"));
    home.skill(format!("{plugin}/skills/x"), "x", "plugin");
    assert_eq!(used(&home, "project"), ["plugin", "nobody", "plugin"]);
}

#[test]
fn an_agent_plugin_gives_the_skills_directly_in_its_folder_and_no_others() {
    let home = home();
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"~/plugin\"]}",
    );
    home.file(
        "home/plugin/plugin.json",
        "{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\", \"name\": \"plugin\"}",
    );
    home.skill("home/plugin/skills/x", "x", "direct");
    home.skill("home/plugin/skills/group/deep", "deep", "not found");
    let listed = json_of(&home.run("project", ["skills", "list", "--json"]));
    let names: Vec<&str> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["x"]);
    let code = &listed["diagnostics"][0]["code"];
    assert_eq!(code, "depth-limit", "what is not looked at is said");
}

#[test]
fn what_leads_out_of_a_package_is_refused_and_the_rest_of_it_is_used() {
    let home = home();
    let folder = "home/.pi/agent/npm/node_modules/p";
    home.file("home/outside/x.md", agent("outside"));
    let manifest = json!({"grove": {"agents": [
        "../../../../../outside", "link", "/etc", "agents/../../q", "a\u{0}b", "nowhere", "agents"
    ]}});
    package(&home, folder, "p", &manifest);
    home.link(format!("{folder}/link"), home.path("home/outside"));
    assert_eq!(used(&home, "project")[0], "p");
    let mut said = codes(&home, "project");
    said.sort();
    assert_eq!(
        said,
        [
            "package-manifest",
            "package-missing",
            "path-escape",
            "path-escape",
            "path-escape",
            "path-escape"
        ]
    );
    let printed = home.run("project", ["agents", "list"]).stdout_text();
    assert!(!printed.contains("outside"), "{printed}");
}

#[test]
fn a_link_inside_the_package_is_followed() {
    let home = home();
    let folder = "home/.pi/agent/npm/node_modules/p";
    package(&home, folder, "p", &json!({"grove": {"agents": ["link"]}}));
    home.link(format!("{folder}/link"), "agents");
    assert_eq!(used(&home, "project")[0], "p");
    assert_eq!(codes(&home, "project"), [""; 0]);
}

#[test]
fn a_package_that_is_linked_into_the_project_from_the_project_is_found_and_from_outside_it_is_not()
{
    let home = home();
    package(&home, "project/packages/near", "near", &everything("near"));
    home.link("project/node_modules/near", "../packages/near");
    package(&home, "home/far", "far", &everything("far"));
    home.link("project/node_modules/far", home.path("home/far"));
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(used(&home, "project"), ["near"; 3]);
    assert_eq!(codes(&home, "project"), ["path-escape"]);
}

#[test]
fn a_project_names_nothing_outside_of_itself_and_nothing_that_is_no_name() {
    let home = home();
    package(&home, "home/secret", "secret", &everything("secret"));
    package(&home, "project/inside", "inside", &everything("inside"));
    home.file(
        "project/.pi/settings.json",
        json!({"packages": ["~", "~/secret", "/", "../..", "../../home/secret", "file:/etc", "npm:../../evil",
            "npm:@s/../../x", "git:-oProxyCommand=x/y", "git:host/../../../etc", 7, "../inside"]})
        .to_string(),
    );
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(used(&home, "project"), ["inside"; 3]);
    assert_eq!(codes(&home, "project"), ["package-source"; 11]);
    let doctor = json_of(&home.run("project", ["doctor", "--json"]));
    let names: Vec<&Value> = doctor["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| &package["name"])
        .collect();
    assert_eq!(names, ["inside"]);
    // The user may name what a project may not.
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"~/secret\"]}",
    );
    home.run("project", ["untrust"])
        .require_success("untrust")
        .unwrap();
    assert_eq!(used(&home, "project"), ["secret"; 3]);
}

#[test]
fn a_projects_own_configuration_adds_no_packages() {
    let home = home();
    package(&home, "project/inside", "inside", &everything("inside"));
    home.file("project/.grove/config.toml", "packages = ['../inside']\n");
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
    assert!(codes(&home, "project").contains(&"config-forbidden".to_owned()));
    // A project's `.npmrc` does not say where the user's packages are.
    package(
        &home,
        "project/prefix/lib/node_modules/p",
        "prefix",
        &everything("p"),
    );
    home.file(
        "project/.npmrc",
        format!("prefix={}\n", home.path("project/prefix").display()),
    );
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
}

#[test]
fn what_dependencies_brought_along_is_not_asked_where_a_project_says_what_it_depends_on() {
    let home = home();
    package(&home, "project/node_modules/a", "brought", &everything("a"));
    package(
        &home,
        "project/node_modules/@s/b",
        "chosen",
        &everything("b"),
    );
    let manifest = |names: &Value| json!({"name": "project", "devDependencies": names}).to_string();
    for (names, expected) in [
        (json!({"@s/b": "1", "absent": "1"}), "chosen"),
        (json!({"a": "1"}), "brought"),
        // Without any, whatever is installed there was put there on purpose.
        (json!({}), "chosen"),
        (json!({"../node_modules/a": "1", "/etc": "1"}), "chosen"),
    ] {
        home.file("project/package.json", manifest(&names));
        home.run("project", ["trust", "--yes"])
            .require_success("trust")
            .unwrap();
        assert_eq!(used(&home, "project"), [expected; 3], "{names}");
    }
}

#[test]
fn an_agent_of_a_projects_package_has_the_skills_of_its_own_package_and_not_of_the_next() {
    let home = home();
    for name in ["first", "second"] {
        let folder = format!("project/.pi/npm/node_modules/{name}");
        package(&home, &folder, name, &everything(name));
        home.file(
            format!("{folder}/agents/me.md"),
            format!("---\nname: {name}\ndescription: d\nskills: x\n---\n\nMe\n"),
        );
        home.file(
            format!("{folder}/skills/x/SKILL.md"),
            format!("---\nname: x\ndescription: d\n---\n\nBODY-OF-{name}\n"),
        );
    }
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    for (name, other) in [("first", "second"), ("second", "first")] {
        let told = home.run("project", ["prompt", name]).stdout_text();
        assert!(told.contains(&format!("BODY-OF-{name}")), "{told}");
        assert!(!told.contains(&format!("BODY-OF-{other}")), "{told}");
    }
}

#[test]
fn pis_own_folder_is_where_its_variable_says() {
    let home = home();
    package(
        &home,
        "elsewhere/npm/node_modules/p",
        "moved",
        &everything("p"),
    );
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
    let folder = home.path("elsewhere");
    let home = home.with_env("PI_CODING_AGENT_DIR", folder);
    assert_eq!(used(&home, "project"), ["moved"; 3]);
}

#[test]
fn the_users_npmrc_says_where_global_packages_are() {
    let home = home().with_env("npm_config_prefix", "");
    package(
        &home,
        "prefix/lib/node_modules/p",
        "global",
        &everything("p"),
    );
    home.file(
        "home/.npmrc",
        format!("prefix={}\n", home.path("prefix").display()),
    );
    assert_eq!(used(&home, "project"), ["global"; 3]);
}

#[test]
fn settings_that_cannot_be_read_are_said_and_break_nothing() {
    let home = home();
    package(
        &home,
        "home/.pi/agent/npm/node_modules/p",
        "p",
        &everything("p"),
    );
    for broken in ["{\"packages\": [", "[]", "{\"packages\": {}}"] {
        home.file("home/.pi/agent/settings.json", broken);
        assert_eq!(used(&home, "project"), ["p"; 3], "{broken}");
        assert_eq!(codes(&home, "project"), ["package-settings"], "{broken}");
    }
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"npm:absent\", \"./nowhere\", \"npm:p\"]}",
    );
    assert_eq!(codes(&home, "project"), ["package-missing"; 2]);
}

#[test]
fn more_packages_than_are_read_are_named() {
    let home = home();
    let modules = "home/.pi/agent/npm/node_modules";
    for n in 0..2_002 {
        home.dir(format!("{modules}/p{n:04}"));
    }
    package(
        &home,
        &format!("{modules}/p0000"),
        "first",
        &everything("first"),
    );
    package(
        &home,
        &format!("{modules}/p2001"),
        "last",
        &everything("last"),
    );
    assert_eq!(used(&home, "project"), ["first"; 3]);
    let listed = json_of(&home.run("project", ["agents", "list", "--json"]));
    let finding = &listed["diagnostics"][0];
    assert_eq!(finding["code"], "package-limit");
    assert_eq!(finding["names"], json!(["p2000", "p2001"]));
}

#[test]
fn doctor_counts_agents_chains_and_packages() {
    let home = home();
    package(
        &home,
        "home/.pi/agent/npm/node_modules/p",
        "p",
        &everything("p"),
    );
    home.file(
        "home/.agents/agents/own.md",
        agent("own").replace("name: x", "name: own"),
    );
    let doctor = json_of(&home.run("project", ["doctor", "--json"]));
    assert_eq!(
        doctor["agents"][0],
        json!({"source": "user", "count": 1, "states": {"ok": 1}})
    );
    assert_eq!(
        doctor["agents"][1],
        json!({"source": "package", "count": 1, "states": {"ok": 1}})
    );
    assert_eq!(
        doctor["chains"],
        json!([{"source": "package", "count": 1, "states": {"ok": 1}}])
    );
    let folder = home.path("home/.pi/agent/npm/node_modules/p");
    assert_eq!(
        doctor["packages"],
        json!([{"name": "p", "folder": folder, "scope": "user", "skills": 1, "agents": 1, "chains": 1}])
    );
}

#[test]
fn a_project_on_the_search_path_does_not_speak_for_the_user() {
    let home = home();
    package(
        &home,
        "project/lib/node_modules/evil",
        "evil",
        &everything("evil"),
    );
    let prefix = home.path("project");
    let home = home.with_env("npm_config_prefix", prefix);
    assert_eq!(used(&home, "project"), ["nobody"; 3]);
    assert_eq!(codes(&home, "project"), ["package-source"]);
    // From elsewhere it is a folder like any other.
    home.dir("elsewhere");
    assert_eq!(used(&home, "elsewhere"), ["evil"; 3]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_said_wherever_it_lies() {
    let home = home();
    let modules = "npm/lib/node_modules";
    let long = " ".repeat(1_100_000);
    home.file(
        format!("{modules}/big/package.json"),
        format!("{}{long}", everything("big")),
    );
    home.file("outside/package.json", everything("l").to_string());
    home.dir("project/node_modules");
    home.link("project/node_modules/l", home.path("outside"));
    package(
        &home,
        &format!("{modules}/good"),
        "good",
        &everything("good"),
    );
    assert_eq!(used(&home, "project"), ["good"; 3]);
    let mut codes = codes(&home, "project");
    codes.sort();
    assert_eq!(codes, ["package-manifest", "path-escape"]);
}

#[test]
fn a_bad_field_is_one_finding_and_folders_of_git_and_npm_are_nobodys() {
    let home = home();
    let missing: Vec<String> = (0..50).map(|at| format!("missing-{at}")).collect();
    let manifest = json!({
        "name": "p",
        "grove": {"agents": missing, "skills": [".git", "node_modules", "skills"]},
    });
    package(&home, "npm/lib/node_modules/p", "p", &manifest);
    for foreign in [".git", "node_modules"] {
        home.skill(
            format!("npm/lib/node_modules/p/{foreign}/y"),
            "y",
            "foreign",
        );
    }
    let listed = json_of(&home.run("project", ["skills", "list", "--json"]));
    let names: Vec<&str> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["x"]);
    let said = listed["diagnostics"].as_array().unwrap();
    let about = |word: &str| {
        let said = said.iter();
        said.filter(|it| it["message"].as_str().unwrap().contains(word))
            .count()
    };
    assert_eq!((about("missing-"), about("git or npm")), (1, 2), "{said:?}");
    assert_eq!(about("and 49 more"), 1, "{said:?}");
}

/// The skills that are listed, by name, and the findings of the listing: code, line and message.
fn skills_and_findings(home: &TestHome) -> (Vec<String>, Vec<(String, u64, String)>) {
    let listed = json_of(&home.run("project", ["skills", "list", "--json"]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| text(&skill["name"]))
        .collect();
    names.sort();
    let findings = listed["diagnostics"].as_array().unwrap().iter();
    let findings = findings.map(|it| {
        (
            text(&it["code"]),
            it["line"].as_u64().unwrap_or_default(),
            text(&it["message"]),
        )
    });
    (names, findings.collect())
}

/// A package with the skills `good`, `bad`, the nested `deep` and the single file `flat`.
fn four_skills(home: &TestHome, folder: &str, manifest: &Value) {
    home.file(format!("{folder}/package.json"), manifest.to_string());
    for (path, name) in [("good", "good"), ("bad", "bad"), ("group/deep", "deep")] {
        home.skill(format!("{folder}/skills/{path}"), name, "From a package");
    }
    home.file(
        format!("{folder}/skills/flat.md"),
        agent("From a package").replace("name: x", "name: flat"),
    );
}

#[test]
fn settings_choose_among_the_skills_of_a_package_they_name() {
    let pi = json!({"name": "p", "pi": {"skills": ["./skills"]}});
    for (filter, expected) in [
        (json!([]), &[][..]),
        (json!(["good"]), &["good"]),
        (json!(["skills/*"]), &["bad", "flat", "good"]),
        (json!(["skills/**", "!bad"]), &["deep", "flat", "good"]),
        (json!(["!**", "+skills/group/deep"]), &["deep"]),
        (json!(["-./skills/good"]), &["bad", "deep", "flat"]),
        (json!(["!{good,bad}"]), &["deep", "flat"]),
        (json!(["nothing-*"]), &[]),
    ] {
        for (settings, source) in [
            ("home/.pi/agent/settings.json", "~/pk"),
            ("home/.pi/agent/settings.json", "npm:pk"),
            ("project/.pi/settings.json", "npm:pk"),
            ("project/.pi/settings.json", "../pk"),
        ] {
            let home = home();
            let folder = match (settings.starts_with("home"), source) {
                (true, "~/pk") => "home/pk",
                (true, _) => "home/.pi/agent/npm/node_modules/pk",
                (false, "npm:pk") => "project/.pi/npm/node_modules/pk",
                (false, _) => "project/pk",
            };
            four_skills(&home, folder, &pi);
            let named = json!({"packages": [{"source": source, "skills": filter}]});
            home.file(settings, named.to_string());
            home.run("project", ["trust", "--yes"])
                .require_success("trust")
                .unwrap();
            let (names, findings) = skills_and_findings(&home);
            assert_eq!(names, expected, "{filter} {settings} {source}");
            assert_eq!(findings, [], "{filter} {settings} {source}");
        }
    }
}

#[test]
fn a_filter_that_cannot_be_read_is_said_with_its_line_and_lets_no_skill_through() {
    for (entry, line) in [
        ("{\"source\": \"~/pk\",\n\"skills\": \"good\"}", 2),
        ("{\"source\": \"~/pk\", \"skills\": [\n\n7]}", 3),
    ] {
        let home = home();
        four_skills(&home, "home/pk", &json!({"pi": {"skills": ["skills"]}}));
        let settings = format!("{{\"packages\": [{entry}]}}");
        home.file("home/.pi/agent/settings.json", settings);
        let (names, findings) = skills_and_findings(&home);
        assert_eq!(names, [""; 0], "{entry}");
        assert_eq!(
            (&*findings[0].0, findings[0].1),
            ("package-source", line),
            "{findings:?}"
        );
        assert_eq!(findings.len(), 1);
    }
}

#[test]
fn a_package_that_says_nothing_to_pi_gives_its_usual_folder_of_skills() {
    let four = &["bad", "deep", "flat", "good"][..];
    let text = json!("~/pk");
    let object = json!({"source": "~/pk"});
    for (manifest, entry, expected) in [
        (json!({"name": "p"}), &text, four),
        (json!({"name": "p"}), &object, four),
        (json!({"name": "p", "grove": {"agents": []}}), &text, four),
        // It says what it gives to pi, and that is no skills.
        (
            json!({"name": "p", "pi": {"extensions": ["./x.ts"]}}),
            &text,
            &[],
        ),
        (
            json!({"name": "p", "pi": {"extensions": ["./x.ts"]}}),
            &object,
            four,
        ),
        (json!({"name": "p", "pi": {"skills": []}}), &text, &[]),
        (
            json!({"name": "p", "grove": {"skills": ["skills/good"]}}),
            &text,
            &["good"],
        ),
    ] {
        let home = home();
        four_skills(&home, "home/pk", &manifest);
        let settings = json!({"packages": [entry]});
        home.file("home/.pi/agent/settings.json", settings.to_string());
        let (names, _) = skills_and_findings(&home);
        assert_eq!(names, expected, "{manifest} {entry}");
    }
    let home = home();
    home.skill("home/bare/skills/s", "s", "In a package without a manifest");
    home.dir("home/empty/src");
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"~/bare\", \"~/empty\"]}",
    );
    let (names, findings) = skills_and_findings(&home);
    assert_eq!(names, ["s"]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].2.contains("~/empty"), "{findings:?}");
}

#[test]
fn a_package_nobody_names_gives_no_folder_that_its_manifest_does_not() {
    let home = home();
    four_skills(
        &home,
        "project/node_modules/p",
        &json!({"name": "p", "grove": {"agents": []}}),
    );
    four_skills(
        &home,
        "project/.pi/npm/node_modules/q",
        &json!({"name": "q"}),
    );
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(skills_and_findings(&home).0, [""; 0]);
}

#[test]
fn a_manifest_names_skills_by_patterns_and_leaves_some_out() {
    for (list, expected) in [
        (
            json!(["./skills/*", "!./skills/bad"]),
            &["deep", "flat", "good"][..],
        ),
        (
            json!(["./skills/*", "!skills/bad"]),
            &["deep", "flat", "good"],
        ),
        (json!(["./skills", "!**/deep"]), &["bad", "flat", "good"]),
        (json!(["skills/g*"]), &["deep", "good"]),
        (
            json!(["skills/g*", "skills/flat.md"]),
            &["deep", "flat", "good"],
        ),
        (json!(["skills/flat.md", "skills/good*"]), &["flat", "good"]),
        (
            json!(["skills/good*", "skills"]),
            &["bad", "deep", "flat", "good"],
        ),
        (json!(["**/SKILL.md"]), &["bad", "deep", "good"]),
        (json!(["skills/*.md"]), &["flat"]),
        (json!(["skills/?ad"]), &["bad"]),
        (json!(["skills", "!**", "+skills/good"]), &["good"]),
        (json!(["skills", "-skills/good"]), &["bad", "deep", "flat"]),
    ] {
        for key in ["pi", "grove"] {
            let home = home();
            four_skills(
                &home,
                "home/pk",
                &json!({"name": "p", key: {"skills": list}}),
            );
            home.file("home/.pi/agent/settings.json", "{\"packages\": [\"~/pk\"]}");
            let (names, findings) = skills_and_findings(&home);
            assert_eq!(names, expected, "{key} {list}");
            assert_eq!(findings, [], "{key} {list}");
        }
    }
}

#[test]
fn patterns_of_a_manifest_stay_in_the_package_and_say_when_they_lead_nowhere() {
    for (pattern, code) in [
        ("../*", "path-escape"),
        ("skills/../../*", "path-escape"),
        ("/*", "path-escape"),
        ("nowhere/*", "package-missing"),
        ("skills/x*", "package-missing"),
        (
            "skills/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*",
            "package-manifest",
        ),
    ] {
        let home = home();
        four_skills(
            &home,
            "home/pk",
            &json!({"name": "p", "pi": {"skills": [pattern]}}),
        );
        home.skill("home/other", "other", "Beside the package");
        home.file("home/.pi/agent/settings.json", "{\"packages\": [\"~/pk\"]}");
        let (names, findings) = skills_and_findings(&home);
        assert_eq!(names, [""; 0], "{pattern}");
        let codes: Vec<&str> = findings.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(codes, [code], "{pattern} {findings:?}");
    }
}

#[test]
fn an_address_of_a_repository_names_its_clone() {
    let home = home();
    four_skills(
        &home,
        "home/.pi/agent/git/example.org/o/r",
        &json!({"name": "p"}),
    );
    home.file(
        "home/.pi/agent/settings.json",
        "{\"packages\": [\"https://example.org/o/r@v1\", \"https://example.org/o/absent\"]}",
    );
    let (names, findings) = skills_and_findings(&home);
    assert_eq!(names, ["bad", "deep", "flat", "good"]);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].0, "package-missing");
    assert!(findings[0].2.contains("o/absent"), "{findings:?}");
}

#[test]
fn a_filter_that_changes_counts_at_once() {
    let home = home();
    four_skills(&home, "home/pk", &json!({"pi": {"skills": ["skills"]}}));
    for (filter, expected) in [
        ("[\"good\"]", &["good"][..]),
        ("[\"bad\"]", &["bad"]),
        ("[]", &[]),
    ] {
        let settings =
            format!("{{\"packages\": [{{\"source\": \"~/pk\", \"skills\": {filter}}}]}}");
        home.file("home/.pi/agent/settings.json", settings);
        assert_eq!(skills_and_findings(&home).0, expected, "{filter}");
    }
}
