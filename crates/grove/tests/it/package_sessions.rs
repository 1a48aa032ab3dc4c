//! Packages as the program finds them: where they may lie, what they give, who wins, what is refused.

use grove_testkit::session::{Session, column, rows};
use serde_json::{Value, json};

const USER_SETTINGS: &str = "home/.pi/agent/settings.json";
const PROJECT_SETTINGS: &str = "project/.pi/settings.json";
const USER_PACKAGE: &str = "home/.pi/agent/npm/node_modules/p";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

fn agent(description: &str) -> String {
    format!("---\nname: x\ndescription: {description}\n---\n\nBody\n")
}

/// A package with one agent, one chain and one skill, each called `x`, described by the package's name.
fn package(session: &Session, folder: &str, name: &str, manifest: &Value) {
    let chain = format!("---\nname: x\ndescription: {name}\n---\n\n## x\n\nDo it\n");
    session
        .file(format!("{folder}/package.json"), manifest.to_string())
        .file(format!("{folder}/agents/x.md"), agent(name))
        .file(format!("{folder}/chains/x.chain.md"), chain)
        .skill(format!("{folder}/skills/x"), "x", name);
}

/// A package that says that it gives all three.
fn whole_package(session: &Session, folder: &str, name: &str) {
    package(session, folder, name, &everything());
}

fn everything() -> Value {
    json!({"grove": {"agents": ["agents"], "chains": ["chains"], "skills": ["skills"]}})
}

/// The description of the usable one called `x`, for agents, chains and skills.
fn used_in(session: &Session, folder: &str) -> [String; 3] {
    ["agents", "chains", "skills"].map(|kind| {
        let listed = session.json_in(folder, [kind, "list"]);
        let mut all = rows(&listed[kind], ["name", "state", "description"]).into_iter();
        let used = all.find(|[name, state, _]| name == "x" && state == "ok");
        used.map_or("nobody".to_owned(), |[.., description]| description)
    })
}

fn used(session: &Session) -> [String; 3] {
    used_in(session, "project")
}

/// Codes of everything that is said about roots and limits, sorted.
fn codes(session: &Session) -> Vec<String> {
    let mut codes = column(&session.json("agents list")["diagnostics"], "code");
    codes.sort();
    codes
}

#[test]
fn the_first_place_wins_a_name_and_the_next_stands_in() {
    let session = session();
    session
        .file("config/grove/config.toml", "packages = ['~/configured']\n")
        .file(
            PROJECT_SETTINGS,
            r#"{"packages": ["npm:by-name", {"source": "../by-path"}, "git:example.org/o/r@v1"]}"#,
        )
        .file(USER_SETTINGS, r#"{"packages": ["./by-path"]}"#);
    // The places in order, strongest first. A package under `npm:` is found where it is installed.
    let places = [
        "project",
        "project/.pi/npm/node_modules/@scope/installed",
        "project/by-path",
        "project/.pi/git/example.org/o/r",
        "project/node_modules/plain",
        "home/.pi/agent/npm/node_modules/mine",
        "home/.pi/agent/by-path",
        "home/configured",
        "npm/lib/node_modules/@scope/global",
    ];
    for folder in places {
        whole_package(&session, folder, folder);
    }
    session.trust();
    for folder in places {
        // From any folder of the project the same packages are found.
        for cwd in ["project", "project/by-path/agents"] {
            assert_eq!(used_in(&session, cwd), [folder; 3], "{cwd}");
        }
        session.remove(format!("{folder}/package.json"));
        // Without a manifest these would be found where skills usually are.
        session.remove(format!("{folder}/skills"));
    }
    assert_eq!(used(&session), ["nobody"; 3]);
}

#[test]
fn a_package_ranks_below_folders_of_the_user_and_above_what_is_bundled() {
    let session = session();
    let extra = session.path("home/extra");
    let session = session.with_env("GROVE_AGENT_DIRS", extra);
    whole_package(&session, USER_PACKAGE, "package");
    session
        .file("home/.agents/agents/x.md", agent("user"))
        .file("home/extra/x.md", agent("extra"));
    for (strongest, file) in [
        ("user", "home/.agents/agents/x.md"),
        ("extra", "home/extra/x.md"),
        ("package", USER_PACKAGE),
    ] {
        assert_eq!(used(&session)[0], strongest);
        session.remove(file);
    }
}

#[test]
fn packages_of_a_project_are_used_once_it_is_trusted_and_only_as_they_were_seen() {
    let session = session();
    let folder = "project/node_modules/p";
    whole_package(&session, folder, "p");
    assert_eq!(used(&session), ["nobody"; 3]);
    assert!(codes(&session).contains(&"project-untrusted".to_owned()));
    session.trust();
    assert_eq!(used(&session), ["p"; 3]);
    whole_package(&session, folder, "changed");
    assert_eq!(used(&session), ["nobody"; 3]);
    let shown = session.json("agents show x");
    assert_eq!(shown["agent"]["state"], "changed");
}

#[test]
fn every_kind_of_manifest_is_read() {
    let session = session();
    let both = json!({"agents": ["./agents"], "chains": ["chains/"]});
    let all_three = json!({"subagents": both, "skills": ["skills"]});
    let nobody = "nobody";
    for (manifest, expected) in [
        (json!({"pi-subagents": both}), ["p", "p", nobody]),
        (json!({"pi": all_three}), ["p"; 3]),
        (
            json!({"grove": {"skills": "skills"}}),
            [nobody, nobody, "p"],
        ),
        (json!({"dependencies": {"pi": "*"}}), [nobody; 3]),
    ] {
        package(&session, USER_PACKAGE, "p", &manifest);
        assert_eq!(used(&session), expected, "{manifest}");
        assert_eq!(codes(&session), [""; 0], "{manifest}");
    }
    let plugin = "home/.pi/agent/npm/node_modules/plugin";
    let manifest = format!("{plugin}/.claude-plugin/plugin.json");
    session
        .file(manifest, r#"{"name": "plugin"}"#)
        .file(format!("{plugin}/agents/x.md"), agent("plugin"))
        .skill(format!("{plugin}/skills/x"), "x", "plugin");
    assert_eq!(used(&session), ["plugin", "nobody", "plugin"]);
}

#[test]
fn an_agent_plugin_gives_the_skills_directly_in_its_folder_and_no_others() {
    let session = session();
    let schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
    let manifest = json!({"$schema": schema, "name": "plugin"});
    session
        .file(USER_SETTINGS, r#"{"packages": ["~/plugin"]}"#)
        .file("home/plugin/plugin.json", manifest.to_string())
        .skill("home/plugin/skills/x", "x", "direct")
        .skill("home/plugin/skills/group/deep", "deep", "not found");
    let (names, findings) = skills_and_findings(&session);
    assert_eq!(names, ["x"]);
    assert!(findings[0].starts_with("depth-limit"), "{findings:?}");
}

#[test]
fn what_leads_out_of_a_package_is_refused_and_the_rest_of_it_is_used() {
    let session = session();
    session.file("home/outside/x.md", agent("outside"));
    let manifest = json!({"grove": {"agents": [
        "../../../../../outside", "link", "/etc", "agents/../../q", "a\u{0}b", "nowhere", "inside"
    ]}});
    package(&session, USER_PACKAGE, "p", &manifest);
    let outside = session.path("home/outside");
    // A link inside the package is followed.
    session
        .link(format!("{USER_PACKAGE}/link"), outside)
        .link(format!("{USER_PACKAGE}/inside"), "agents");
    assert_eq!(used(&session)[0], "p");
    let mut expected = vec!["package-manifest", "package-missing"];
    expected.extend(["path-escape"; 4]);
    assert_eq!(codes(&session), expected);
    let printed = session.grove("agents list").stdout;
    assert!(!printed.contains("outside"), "{printed}");
}

#[test]
fn a_package_that_is_linked_into_the_project_from_the_project_is_found_and_from_outside_it_is_not()
{
    let session = session();
    whole_package(&session, "project/packages/near", "near");
    whole_package(&session, "home/far", "far");
    session
        .link("project/node_modules/near", "../packages/near")
        .link("project/node_modules/far", session.path("home/far"))
        .trust();
    assert_eq!(used(&session), ["near"; 3]);
    assert_eq!(codes(&session), ["path-escape"]);
}

#[test]
fn a_project_names_nothing_outside_of_itself_and_nothing_that_is_no_name() {
    let session = session();
    whole_package(&session, "home/secret", "secret");
    whole_package(&session, "project/inside", "inside");
    let packages = json!({"packages": [
        "~", "~/secret", "/", "../..", "../../home/secret", "file:/etc", "npm:../../evil",
        "npm:@s/../../x", "git:-oProxyCommand=x/y", "git:host/../../../etc", 7, "../inside"
    ]});
    session.file(PROJECT_SETTINGS, packages.to_string()).trust();
    assert_eq!(used(&session), ["inside"; 3]);
    assert_eq!(codes(&session), ["package-source"; 11]);
    let doctor = session.json("doctor");
    assert_eq!(column(&doctor["packages"], "name"), ["inside"]);
    // The user may name what a project may not.
    session.file(USER_SETTINGS, r#"{"packages": ["~/secret"]}"#);
    session.done("untrust");
    assert_eq!(used(&session), ["secret"; 3]);
}

#[test]
fn a_projects_own_configuration_adds_no_packages() {
    let session = session();
    whole_package(&session, "project/inside", "inside");
    session
        .file("project/.grove/config.toml", "packages = ['../inside']\n")
        .trust();
    assert_eq!(used(&session), ["nobody"; 3]);
    assert!(codes(&session).contains(&"config-forbidden".to_owned()));
    // A project's `.npmrc` does not say where the user's packages are.
    whole_package(&session, "project/prefix/lib/node_modules/p", "prefix");
    let prefix = session.path("project/prefix");
    session.file("project/.npmrc", format!("prefix={}\n", prefix.display()));
    assert_eq!(used(&session), ["nobody"; 3]);
}

#[test]
fn what_dependencies_brought_along_is_not_asked_where_a_project_says_what_it_depends_on() {
    let session = session();
    whole_package(&session, "project/node_modules/a", "brought");
    whole_package(&session, "project/node_modules/@s/b", "chosen");
    for (names, expected) in [
        (json!({"@s/b": "1", "absent": "1"}), "chosen"),
        (json!({"a": "1"}), "brought"),
        // Without any, whatever is installed there was put there on purpose.
        (json!({}), "chosen"),
        (json!({"../node_modules/a": "1", "/etc": "1"}), "chosen"),
    ] {
        let manifest = json!({"name": "project", "devDependencies": names}).to_string();
        session.file("project/package.json", manifest).trust();
        assert_eq!(used(&session), [expected; 3], "{names}");
    }
}

#[test]
fn an_agent_of_a_projects_package_has_the_skills_of_its_own_package_and_not_of_the_next() {
    let session = session();
    for name in ["first", "second"] {
        let folder = format!("project/.pi/npm/node_modules/{name}");
        whole_package(&session, &folder, name);
        session
            .file(
                format!("{folder}/agents/me.md"),
                format!("---\nname: {name}\ndescription: d\nskills: x\n---\n\nMe\n"),
            )
            .file(
                format!("{folder}/skills/x/SKILL.md"),
                format!("---\nname: x\ndescription: d\n---\n\nBODY-OF-{name}\n"),
            );
    }
    session.trust();
    for (name, other) in [("first", "second"), ("second", "first")] {
        let told = session.done(["prompt", name]).stdout;
        assert!(told.contains(&format!("BODY-OF-{name}")), "{told}");
        assert!(!told.contains(&format!("BODY-OF-{other}")), "{told}");
    }
}

#[test]
fn pis_own_folder_is_where_its_variable_says() {
    let session = session();
    whole_package(&session, "elsewhere/npm/node_modules/p", "moved");
    assert_eq!(used(&session), ["nobody"; 3]);
    let folder = session.path("elsewhere");
    let session = session.with_env("PI_CODING_AGENT_DIR", folder);
    assert_eq!(used(&session), ["moved"; 3]);
}

#[test]
fn the_users_npmrc_says_where_global_packages_are() {
    let session = session().with_env("npm_config_prefix", "");
    whole_package(&session, "prefix/lib/node_modules/p", "global");
    let prefix = session.path("prefix");
    session.file("home/.npmrc", format!("prefix={}\n", prefix.display()));
    assert_eq!(used(&session), ["global"; 3]);
}

#[test]
fn settings_that_cannot_be_read_are_said_and_break_nothing() {
    let session = session();
    whole_package(&session, USER_PACKAGE, "p");
    let missing = r#"{"packages": ["npm:absent", "./nowhere", "npm:p"]}"#;
    for (settings, said) in [
        (r#"{"packages": ["#, "package-settings"),
        ("[]", "package-settings"),
        (r#"{"packages": {}}"#, "package-settings"),
        (missing, "package-missing package-missing"),
    ] {
        session.file(USER_SETTINGS, settings);
        assert_eq!(used(&session), ["p"; 3], "{settings}");
        assert_eq!(codes(&session).join(" "), said, "{settings}");
    }
}

#[test]
fn more_packages_than_are_read_are_named() {
    let session = session();
    let modules = "home/.pi/agent/npm/node_modules";
    for n in 0..2_002 {
        session.dir(format!("{modules}/p{n:04}"));
    }
    whole_package(&session, &format!("{modules}/p0000"), "first");
    whole_package(&session, &format!("{modules}/p2001"), "last");
    assert_eq!(used(&session), ["first"; 3]);
    let listed = session.json("agents list");
    let finding = &listed["diagnostics"][0];
    assert_eq!(finding["code"], "package-limit");
    assert_eq!(finding["names"], json!(["p2000", "p2001"]));
}

#[test]
fn doctor_counts_agents_chains_and_packages() {
    let session = session();
    let manifest = json!({"name": "p", "grove": everything()["grove"]});
    package(&session, USER_PACKAGE, "p", &manifest);
    let own = agent("own").replace("name: x", "name: own");
    session.file("home/.agents/agents/own.md", own);
    let doctor = session.json("doctor");
    let counted = |source: &str| json!({"source": source, "count": 1, "states": {"ok": 1}});
    assert_eq!(doctor["agents"][0], counted("user"));
    assert_eq!(doctor["agents"][1], counted("package"));
    assert_eq!(doctor["chains"], json!([counted("package")]));
    let folder = session.path(USER_PACKAGE);
    assert_eq!(
        doctor["packages"],
        json!([{"name": "p", "folder": folder, "scope": "user", "skills": 1, "agents": 1, "chains": 1}])
    );
}

#[test]
fn a_project_on_the_search_path_does_not_speak_for_the_user() {
    let session = session();
    whole_package(&session, "project/lib/node_modules/evil", "evil");
    let prefix = session.path("project");
    let session = session.with_env("npm_config_prefix", prefix);
    assert_eq!(used(&session), ["nobody"; 3]);
    assert_eq!(codes(&session), ["package-source"]);
    // From elsewhere it is a folder like any other.
    session.dir("elsewhere");
    assert_eq!(used_in(&session, "elsewhere"), ["evil"; 3]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_said_wherever_it_lies() {
    let session = session();
    let modules = "npm/lib/node_modules";
    let too_long = format!("{}{}", everything(), " ".repeat(1_100_000));
    session
        .file(format!("{modules}/big/package.json"), too_long)
        .file("outside/package.json", everything().to_string())
        .link("project/node_modules/l", session.path("outside"));
    whole_package(&session, &format!("{modules}/good"), "good");
    assert_eq!(used(&session), ["good"; 3]);
    assert_eq!(codes(&session), ["package-manifest", "path-escape"]);
}

#[test]
fn a_bad_field_is_one_finding_and_folders_of_git_and_npm_are_nobodys() {
    let session = session();
    let missing: Vec<String> = (0..50).map(|at| format!("missing-{at}")).collect();
    let skills = [".git", "node_modules", "skills"];
    let manifest = json!({"name": "p", "grove": {"agents": missing, "skills": skills}});
    let folder = "npm/lib/node_modules/p";
    package(&session, folder, "p", &manifest);
    for foreign in [".git", "node_modules"] {
        session.skill(format!("{folder}/{foreign}/y"), "y", "foreign");
    }
    let (names, findings) = skills_and_findings(&session);
    assert_eq!(names, ["x"]);
    for (said, count) in [("missing-", 1), ("git or npm", 2), ("and 49 more", 1)] {
        let about = findings.iter().filter(|finding| finding.contains(said));
        assert_eq!(about.count(), count, "{findings:?}");
    }
}

/// The names of the skills that are listed, sorted, and the findings of the listing: code, line and message.
fn skills_and_findings(session: &Session) -> (Vec<String>, Vec<String>) {
    let listed = session.json("skills list");
    let mut names = column(&listed["skills"], "name");
    names.sort();
    let findings = rows(&listed["diagnostics"], ["code", "line", "message"]);
    let findings = findings.iter().map(|finding| finding.join(" "));
    (names, findings.collect())
}

/// A package with the skills `good`, `bad`, the nested `deep` and the single file `flat`.
fn four_skills(session: &Session, folder: &str, manifest: &Value) {
    session.file(format!("{folder}/package.json"), manifest.to_string());
    for (path, name) in [("good", "good"), ("bad", "bad"), ("group/deep", "deep")] {
        session.skill(format!("{folder}/skills/{path}"), name, "From a package");
    }
    let flat = agent("From a package").replace("name: x", "name: flat");
    session.file(format!("{folder}/skills/flat.md"), flat);
}

/// A filter that changes counts at once.
#[test]
fn settings_choose_among_the_skills_of_a_package_they_name() {
    for (settings, source, folder) in [
        (USER_SETTINGS, "~/pk", "home/pk"),
        (USER_SETTINGS, "npm:p", USER_PACKAGE),
        (PROJECT_SETTINGS, "npm:p", "project/.pi/npm/node_modules/p"),
        (PROJECT_SETTINGS, "../pk", "project/pk"),
    ] {
        let session = session();
        four_skills(&session, folder, &json!({"pi": {"skills": ["./skills"]}}));
        for (filter, expected) in [
            (&[][..], ""),
            (&["good"], "good"),
            (&["skills/*"], "bad flat good"),
            (&["skills/**", "!bad"], "deep flat good"),
            (&["!**", "+skills/group/deep"], "deep"),
            (&["-./skills/good"], "bad deep flat"),
            (&["!{good,bad}"], "deep flat"),
            (&["nothing-*"], ""),
        ] {
            let named = json!({"packages": [{"source": source, "skills": filter}]});
            session.file(settings, named.to_string()).trust();
            let (names, findings) = skills_and_findings(&session);
            assert_eq!(names.join(" "), expected, "{filter:?} {source}");
            assert_eq!(findings, [""; 0], "{filter:?} {source}");
        }
    }
}

#[test]
fn a_filter_that_cannot_be_read_is_said_with_its_line_and_lets_no_skill_through() {
    for (filter, said) in [
        ("\n\"good\"", "package-source 2 "),
        ("[\n\n7]", "package-source 3 "),
    ] {
        let session = session();
        four_skills(&session, "home/pk", &json!({"pi": {"skills": ["skills"]}}));
        let entry = format!("{{\"source\": \"~/pk\", \"skills\": {filter}}}");
        session.file(USER_SETTINGS, format!("{{\"packages\": [{entry}]}}"));
        let (names, findings) = skills_and_findings(&session);
        assert_eq!(names, [""; 0], "{filter}");
        assert!(findings[0].starts_with(said), "{findings:?}");
        assert_eq!(findings.len(), 1);
    }
}

#[test]
fn a_package_that_says_nothing_to_pi_gives_its_usual_folder_of_skills() {
    let four = &["bad", "deep", "flat", "good"][..];
    let (text, object) = (json!("~/pk"), json!({"source": "~/pk"}));
    // It says what it gives to pi, and that is no skills.
    let extensions = json!({"pi": {"extensions": ["./x.ts"]}});
    let one_skill = json!({"grove": {"skills": ["skills/good"]}});
    for (manifest, entry, expected) in [
        (json!({"name": "p"}), &text, four),
        (json!({"name": "p"}), &object, four),
        (json!({"grove": {"agents": []}}), &text, four),
        (extensions.clone(), &text, &[]),
        (extensions, &object, four),
        (json!({"pi": {"skills": []}}), &text, &[]),
        (one_skill, &text, &["good"]),
    ] {
        let session = session();
        four_skills(&session, "home/pk", &manifest);
        session.file(USER_SETTINGS, json!({"packages": [entry]}).to_string());
        let (names, _) = skills_and_findings(&session);
        assert_eq!(names, expected, "{manifest} {entry}");
    }
    let session = session();
    session
        .skill("home/bare/skills/s", "s", "In a package without a manifest")
        .dir("home/empty/src")
        .file(USER_SETTINGS, r#"{"packages": ["~/bare", "~/empty"]}"#);
    let (names, findings) = skills_and_findings(&session);
    assert_eq!(names, ["s"]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("~/empty"), "{findings:?}");
}

#[test]
fn a_package_nobody_names_gives_no_folder_that_its_manifest_does_not() {
    let session = session();
    for (folder, manifest) in [
        (
            "project/node_modules/p",
            json!({"name": "p", "grove": {"agents": []}}),
        ),
        ("project/.pi/npm/node_modules/q", json!({"name": "q"})),
    ] {
        four_skills(&session, folder, &manifest);
    }
    session.trust();
    assert_eq!(skills_and_findings(&session).0, [""; 0]);
}

#[test]
fn a_manifest_names_skills_by_patterns_and_leaves_some_out() {
    for (list, expected) in [
        ("./skills/* !./skills/bad", "deep flat good"),
        ("./skills/* !skills/bad", "deep flat good"),
        ("./skills !**/deep", "bad flat good"),
        ("skills/g*", "deep good"),
        ("skills/g* skills/flat.md", "deep flat good"),
        ("skills/flat.md skills/good*", "flat good"),
        ("skills/good* skills", "bad deep flat good"),
        ("**/SKILL.md", "bad deep good"),
        ("skills/*.md", "flat"),
        ("skills/?ad", "bad"),
        ("skills !** +skills/good", "good"),
        ("skills -skills/good", "bad deep flat"),
    ] {
        let list: Vec<&str> = list.split(' ').collect();
        for key in ["pi", "grove"] {
            let session = session();
            let manifest = json!({"name": "p", key: {"skills": list}});
            four_skills(&session, "home/pk", &manifest);
            session.file(USER_SETTINGS, r#"{"packages": ["~/pk"]}"#);
            let (names, findings) = skills_and_findings(&session);
            assert_eq!(names.join(" "), expected, "{key} {list:?}");
            assert_eq!(findings, [""; 0], "{key} {list:?}");
        }
    }
}

#[test]
fn patterns_of_a_manifest_stay_in_the_package_and_say_when_they_lead_nowhere() {
    let many = "skills/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*";
    for (pattern, code) in [
        ("../*", "path-escape"),
        ("skills/../../*", "path-escape"),
        ("/*", "path-escape"),
        ("nowhere/*", "package-missing"),
        ("skills/x*", "package-missing"),
        (many, "package-manifest"),
    ] {
        let session = session();
        let manifest = json!({"name": "p", "pi": {"skills": [pattern]}});
        four_skills(&session, "home/pk", &manifest);
        session
            .skill("home/other", "other", "Beside the package")
            .file(USER_SETTINGS, r#"{"packages": ["~/pk"]}"#);
        let listed = session.json("skills list");
        assert_eq!(column(&listed["skills"], "name"), [""; 0], "{pattern}");
        assert_eq!(column(&listed["diagnostics"], "code"), [code], "{pattern}");
    }
}

#[test]
fn an_address_of_a_repository_names_its_clone() {
    let session = session();
    let clone = "home/.pi/agent/git/example.org/o/r";
    four_skills(&session, clone, &json!({"name": "p"}));
    let packages = ["https://example.org/o/r@v1", "https://example.org/o/absent"];
    session.file(USER_SETTINGS, json!({"packages": packages}).to_string());
    let (names, findings) = skills_and_findings(&session);
    assert_eq!(names, ["bad", "deep", "flat", "good"]);
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].starts_with("package-missing") && findings[0].contains("o/absent"),
        "{findings:?}"
    );
}
