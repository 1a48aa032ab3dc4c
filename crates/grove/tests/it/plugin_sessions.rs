//! Plugins and packages that name single files, as the program finds them.

use grove_testkit::home::TestHome;
use grove_testkit::process::Finished;
use serde_json::{Value, json};

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

/// The same with a package of the user's in `home/plugin`.
fn home_with_plugin() -> TestHome {
    let home = home();
    let settings = json!({"packages": ["~/plugin"]}).to_string();
    home.file("home/.pi/agent/settings.json", settings);
    home
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

fn listed(home: &TestHome, kind: &str) -> Value {
    json_of(&home.run("project", [kind, "list", "--json"]))
}

/// The names of those that can be used, sorted.
fn usable(home: &TestHome, kind: &str) -> Vec<String> {
    let listed = listed(home, kind);
    let all = listed[kind].as_array().unwrap().iter();
    let usable = all.filter(|it| it["state"] == "ok" && it["source"] != "bundled");
    let mut names: Vec<String> = usable
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Code and message of everything that is said beside the list.
fn said(home: &TestHome, kind: &str) -> Vec<(String, String)> {
    let listed = listed(home, kind);
    let all = listed["diagnostics"].as_array().unwrap().iter();
    all.map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    })
    .collect()
}

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: d\n---\n\nI am {name}\n")
}

fn chain(name: &str) -> String {
    format!("---\nname: {name}\ndescription: d\n---\n\n## x\n\nDo it\n")
}

#[test]
fn an_agent_plugin_without_a_valid_name_is_not_used_and_that_is_said() {
    for name in [
        json!(null),
        json!(1),
        json!(""),
        json!("My-Plugin"),
        json!("a--b"),
    ] {
        let home = home_with_plugin();
        let manifest = json!({"$schema": SCHEMA, "name": name}).to_string();
        home.file("home/plugin/plugin.json", manifest);
        home.skill("home/plugin/skills/x", "x", "d");
        assert_eq!(usable(&home, "skills"), [""; 0], "{name}");
        let said = said(&home, "skills");
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, "package-manifest");
        assert!(said[0].1.contains("`name`"), "{said:?}");
    }
}

#[test]
fn a_field_that_an_agent_plugin_does_not_have_is_said_and_changes_nothing() {
    let home = home_with_plugin();
    let manifest = json!({
        "$schema": SCHEMA, "name": "p", "skills": ["more"], "extensions": 1, "agents": "agents",
    });
    home.file("home/plugin/plugin.json", manifest.to_string());
    home.skill("home/plugin/skills/x", "x", "d");
    home.skill("home/plugin/more/y", "y", "d");
    home.file("home/plugin/agents/a.md", agent("a"));
    assert_eq!(usable(&home, "skills"), ["x"]);
    assert_eq!(usable(&home, "agents"), [""; 0]);
    let said = said(&home, "skills");
    for key in ["`skills`", "`agents`", "`extensions`"] {
        let about = said
            .iter()
            .filter(|(code, message)| code == "package-manifest" && message.contains(key));
        assert_eq!(about.count(), 1, "{key}: {said:?}");
    }
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn only_folders_directly_in_skills_are_skills_of_an_agent_plugin() {
    let home = home_with_plugin();
    let manifest = json!({"$schema": SCHEMA, "name": "p"}).to_string();
    home.file("home/plugin/plugin.json", manifest);
    home.skill("home/plugin/skills", "top", "in the folder itself");
    home.file("home/plugin/skills/flat.md", agent("flat"));
    home.skill("home/plugin/skills/x", "x", "d");
    home.file(
        "home/plugin/skills/branch/SKILL.md",
        "---\nname: branch\ndescription: d\nmetadata:\n  grove.children: \"*\"\n---\nBody\n",
    );
    home.skill("home/plugin/skills/branch/leaf", "leaf", "declared");
    home.skill("home/plugin/skills/group/deep", "deep", "below a group");
    assert_eq!(usable(&home, "skills"), ["branch", "x"]);
    // In a package of another kind the same folder gives the one at its top.
    let manifest = json!({"grove": {"skills": ["skills"]}}).to_string();
    home.file("home/plugin/package.json", manifest);
    assert_eq!(usable(&home, "skills"), ["top"]);
}

#[test]
fn skills_of_an_agent_plugin_that_are_a_file_are_said() {
    let home = home_with_plugin();
    let manifest = json!({"$schema": SCHEMA, "name": "p"}).to_string();
    home.file("home/plugin/plugin.json", manifest);
    assert_eq!(said(&home, "skills"), [], "what is not there is not missed");
    home.file("home/plugin/skills", "no folder");
    let said = said(&home, "skills");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].0, "package-manifest");
}

#[test]
fn a_manifest_may_name_single_files() {
    let home = home_with_plugin();
    let files = |home: &TestHome| {
        home.file("home/plugin/team/lead.md", agent("lead"));
        home.file("home/plugin/team/other.md", agent("other"));
        home.file("home/plugin/flows/go.chain.md", chain("go"));
        home.file("home/plugin/flows/stop.chain.md", chain("stop"));
        home.skill("home/plugin/kit/one", "one", "d");
        home.skill("home/plugin/kit/two", "two", "d");
        home.file("home/plugin/kit/flat.md", agent("flat"));
        home.file("home/plugin/kit/plain.md", agent("plain"));
    };
    files(&home);
    let both = |agents: &Value, chains: &Value| json!({"agents": agents, "chains": chains});
    let (agents, chains) = (json!(["./team/lead.md"]), json!("flows/go.chain.md"));
    let skills = json!(["kit/one/SKILL.md", "kit/flat.md"]);
    for manifest in [
        json!({"grove": {"agents": agents, "chains": chains, "skills": skills}}),
        json!({"pi-subagents": both(&agents, &chains), "pi": {"skills": skills}}),
        json!({"pi": {"subagents": both(&agents, &chains), "skills": skills}}),
    ] {
        home.file("home/plugin/package.json", manifest.to_string());
        assert_eq!(usable(&home, "agents"), ["lead"], "{manifest}");
        assert_eq!(usable(&home, "chains"), ["go"], "{manifest}");
        assert_eq!(usable(&home, "skills"), ["flat", "one"], "{manifest}");
        assert_eq!(said(&home, "agents"), [], "{manifest}");
        assert_eq!(
            home.run("project", ["prompt", "lead"]).stdout_text(),
            "I am lead\n"
        );
    }
    // Beside a folder, and a folder with the file in it.
    let manifest = json!({"grove": {
        "agents": ["team/lead.md", "team"],
        "skills": ["kit/flat.md", "kit/plain.md", "kit/one/SKILL.md", "kit"],
    }});
    home.file("home/plugin/package.json", manifest.to_string());
    assert_eq!(usable(&home, "agents"), ["lead", "other"]);
    assert_eq!(usable(&home, "skills"), ["flat", "one", "plain", "two"]);
    // The files of a Claude Code plugin.
    let home = home_with_plugin();
    files(&home);
    let manifest =
        json!({"name": "p", "agents": ["./team/lead.md"], "skills": ["./kit/one/SKILL.md"]});
    home.file(
        "home/plugin/.claude-plugin/plugin.json",
        manifest.to_string(),
    );
    assert_eq!(usable(&home, "agents"), ["lead"]);
    assert_eq!(usable(&home, "skills"), ["one"]);
}

#[test]
fn a_file_that_a_manifest_names_stays_in_the_package_and_is_what_it_should_be() {
    let home = home_with_plugin();
    home.file("home/outside.md", agent("outside"));
    home.file("home/plugin/shared/real.md", agent("real"));
    home.file("home/plugin/note.md", "No frontmatter\n");
    home.file("home/plugin/x.chain.md", chain("x"));
    home.file("home/plugin/x.txt", "text");
    home.link("home/plugin/out.md", home.path("home/outside.md"));
    home.link("home/plugin/agents/in.md", "../shared/real.md");
    let manifest = json!({"grove": {
        "agents": ["out.md", "note.md", "x.chain.md", "x.txt", "gone.md", "agents/in.md"],
        "skills": ["note.md"],
    }});
    home.file("home/plugin/package.json", manifest.to_string());
    assert_eq!(usable(&home, "agents"), ["real"]);
    let said = said(&home, "agents");
    let mut codes: Vec<&str> = said.iter().map(|(code, _)| code.as_str()).collect();
    codes.sort_unstable();
    let expected = [
        "agent-note",
        "package-manifest",
        "package-missing",
        "path-escape",
    ];
    assert_eq!(codes, expected, "{said:?}");
    let several = said
        .iter()
        .find(|(code, _)| code == "package-manifest")
        .unwrap();
    assert!(
        several.1.contains("1 more"),
        "both files of another kind: {several:?}"
    );
    // A skill that is named and has no frontmatter is not passed over without a word.
    let skills = listed(&home, "skills");
    assert_eq!(skills["skills"][0]["state"], "invalid", "{skills}");
}

#[test]
fn a_file_that_a_projects_package_names_waits_for_trust_and_counts_as_it_was_seen() {
    let home = home();
    let manifest = json!({"grove": {
        "agents": ["team/lead.md"], "chains": ["go.chain.md"], "skills": ["kit/flat.md", "kit/one/SKILL.md"],
    }});
    home.file("project/package.json", manifest.to_string());
    home.file("project/team/lead.md", agent("lead"));
    home.file("project/go.chain.md", chain("go"));
    home.file("project/kit/flat.md", agent("flat"));
    home.skill("project/kit/one", "one", "d");
    let all = |home: &TestHome| ["agents", "chains", "skills"].map(|kind| usable(home, kind));
    assert_eq!(all(&home), [[""; 0]; 3]);
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(usable(&home, "agents"), ["lead"]);
    assert_eq!(usable(&home, "chains"), ["go"]);
    assert_eq!(usable(&home, "skills"), ["flat", "one"]);
    home.file(
        "project/team/lead.md",
        agent("lead").replace("I am", "Now I am"),
    );
    home.file(
        "project/kit/flat.md",
        agent("flat").replace("I am", "Now I am"),
    );
    assert_eq!(usable(&home, "agents"), [""; 0]);
    assert_eq!(usable(&home, "skills"), ["one"]);
}

#[test]
fn agents_of_a_claude_code_plugin_are_read_as_claude_code_writes_them() {
    let text = "---\nname: lead\ndescription: d\ntools: Read, Write, Bash\ndisallowedTools: Write\nmodel: inherit\neffort: high\ncolor: red\n---\nLead.\n";
    let fields = |home: &TestHome| {
        let shown = json_of(&home.run("project", ["agents", "show", "lead", "--json"]));
        let findings = shown["agent"]["diagnostics"].as_array().unwrap().iter();
        let codes: Vec<Value> = findings.map(|finding| finding["code"].clone()).collect();
        (shown["fields"].clone(), codes)
    };
    let plain = home();
    plain.file("home/.claude/agents/lead.md", text);
    let (expected, findings) = fields(&plain);
    assert_eq!(expected["thinking"], "high");
    assert_eq!(expected["tools"], json!(["Read", "Bash"]));
    assert_eq!(findings, ["agent-unmapped"]);
    for manifest in [
        json!({"name": "p"}),
        json!({"name": "p", "agents": "./team/lead.md"}),
    ] {
        let home = home_with_plugin();
        home.file(
            "home/plugin/.claude-plugin/plugin.json",
            manifest.to_string(),
        );
        let folder = if manifest.get("agents").is_some() {
            "team"
        } else {
            "agents"
        };
        home.file(format!("home/plugin/{folder}/lead.md"), text);
        assert_eq!(
            fields(&home),
            (expected.clone(), findings.clone()),
            "{manifest}"
        );
    }
}

#[test]
fn a_package_of_a_project_does_not_give_what_is_another_packages() {
    let home = home();
    home.file(
        "project/node_modules/other/agents/theirs.md",
        agent("theirs"),
    );
    let manifest = json!({"grove": {"agents": ["link", "link.md"]}}).to_string();
    home.file("project/node_modules/p/package.json", manifest);
    home.link("project/node_modules/p/link", "../other/agents");
    home.link(
        "project/node_modules/p/link.md",
        "../other/agents/theirs.md",
    );
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    assert_eq!(usable(&home, "agents"), [""; 0]);
    let said = said(&home, "agents");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].0, "path-escape");
}

#[test]
fn nothing_is_said_of_a_projects_packages_where_the_project_is_not_asked_for() {
    let home = home();
    home.file("project/package.json", "{\"grove\": {\"agents\": 1}}");
    home.file(
        "project/.pi/settings.json",
        "{\"packages\": 1, \"subagents\": 1}",
    );
    home.file(
        "home/.pi/agent/npm/node_modules/mine/package.json",
        "{\"grove\": {\"agents\": 1}}",
    );
    let said = |scope: &str| {
        let run = home.run("project", ["agents", "list", "--scope", scope, "--json"]);
        let listed = json_of(&run);
        let all = listed["diagnostics"].as_array().unwrap().iter();
        let files = all.map(|finding| finding["file"].as_str().unwrap().to_owned());
        let (of_project, of_user): (Vec<String>, Vec<String>) =
            files.partition(|file| file.contains("/project/"));
        (of_project.len(), of_user.len())
    };
    assert_eq!(said("user"), (0, 1));
    let (of_project, of_user) = said("both");
    assert!(of_project >= 2, "{of_project}");
    assert_eq!(of_user, 1);
}

#[test]
fn a_package_that_both_name_is_the_users_where_the_project_is_not_asked_for() {
    let home = home();
    let settings = json!({"packages": [home.path("project/shared")]}).to_string();
    home.file("home/.pi/agent/settings.json", settings);
    home.file(
        "project/.pi/settings.json",
        "{\"packages\": [\"../shared\"]}",
    );
    home.file(
        "project/shared/package.json",
        "{\"grove\": {\"agents\": [\"agents\"]}}",
    );
    home.file("project/shared/agents/x.md", agent("x"));
    let run = home.run("project", ["agents", "list", "--scope", "user", "--json"]);
    let listed = json_of(&run);
    let mut agents = listed["agents"].as_array().unwrap().iter();
    let state = agents
        .find(|agent| agent["name"] == "x")
        .map(|it| &it["state"]);
    assert_eq!(state, Some(&json!("ok")), "{listed}");
}

#[test]
fn a_file_in_a_folder_that_is_looked_in_anyway_is_there_once() {
    let home = home();
    let manifest = json!({"grove": {
        "skills": [".agents/skills/flat.md"], "agents": [".agents/agents/lead.md"],
    }});
    home.file("project/package.json", manifest.to_string());
    home.file("project/.agents/skills/flat.md", agent("flat"));
    home.skill("project/.agents/skills/other", "other", "d");
    home.file("project/.agents/agents/lead.md", agent("lead"));
    home.file("project/.agents/agents/more.md", agent("more"));
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    for (kind, expected) in [("skills", ["flat", "other"]), ("agents", ["lead", "more"])] {
        assert_eq!(usable(&home, kind), expected);
        let listed = listed(&home, kind);
        let all = listed[kind].as_array().unwrap().iter();
        let own = all.filter(|it| it["source"] != "bundled");
        assert_eq!(own.count(), 2, "{kind}: {listed}");
    }
    let roots = json_of(&home.run("project", ["skills", "roots", "--json"]));
    let folder = home.path("project/.agents/skills");
    let paths = roots["roots"].as_array().unwrap().iter();
    let same = paths.filter(|root| root["path"] == folder.to_str().unwrap());
    assert_eq!(same.count(), 1, "{roots}");
}
