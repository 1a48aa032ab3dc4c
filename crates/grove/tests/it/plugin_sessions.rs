//! Plugins and packages that name single files, as the program finds them.

use grove_testkit::session::{Session, column, rows};
use serde_json::{Value, json};

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const PLUGIN: &str = "home/plugin/plugin.json";
const CLAUDE_PLUGIN: &str = "home/plugin/.claude-plugin/plugin.json";
const PACKAGE: &str = "home/plugin/package.json";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

/// A session with a package of the user's in `home/plugin`, whose manifest this is.
fn with_plugin(file: &str, manifest: &Value) -> Session {
    let session = session();
    session
        .file(
            "home/.pi/agent/settings.json",
            r#"{"packages": ["~/plugin"]}"#,
        )
        .file(file, manifest.to_string());
    session
}

/// The names of those that can be used, sorted.
fn usable(session: &Session, kind: &str) -> Vec<String> {
    let listed = session.json([kind, "list"]);
    let all = rows(&listed[kind], ["name", "state", "source"]).into_iter();
    let usable = all.filter(|[_, state, source]| state == "ok" && source != "bundled");
    let mut names: Vec<String> = usable.map(|[name, ..]| name).collect();
    names.sort();
    names
}

fn usable_of_each(session: &Session) -> [String; 3] {
    ["agents", "chains", "skills"].map(|kind| usable(session, kind).join(" "))
}

/// Code and message of everything that is said beside the list, sorted.
fn said(session: &Session, kind: &str) -> Vec<[String; 2]> {
    let listed = session.json([kind, "list"]);
    let mut said = rows(&listed["diagnostics"], ["code", "message"]);
    said.sort();
    said
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
        let session = with_plugin(PLUGIN, &json!({"$schema": SCHEMA, "name": name}));
        session.skill("home/plugin/skills/x", "x", "d");
        assert_eq!(usable(&session, "skills"), [""; 0], "{name}");
        let said = said(&session, "skills");
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0][0], "package-manifest");
        assert!(said[0][1].contains("`name`"), "{said:?}");
    }
}

#[test]
fn a_field_that_an_agent_plugin_does_not_have_is_said_and_changes_nothing() {
    let manifest = json!({
        "$schema": SCHEMA, "name": "p", "skills": ["more"], "extensions": 1, "agents": "agents",
    });
    let session = with_plugin(PLUGIN, &manifest);
    session
        .skill("home/plugin/skills/x", "x", "d")
        .skill("home/plugin/more/y", "y", "d")
        .file("home/plugin/agents/a.md", agent("a"));
    assert_eq!(usable_of_each(&session), ["", "", "x"]);
    let said = said(&session, "skills");
    assert_eq!(said.len(), 3, "{said:?}");
    for ([code, message], key) in said.iter().zip(["`agents`", "`extensions`", "`skills`"]) {
        assert_eq!(code, "package-manifest");
        assert!(message.contains(key), "{said:?}");
    }
}

#[test]
fn only_folders_directly_in_skills_are_skills_of_an_agent_plugin() {
    let session = with_plugin(PLUGIN, &json!({"$schema": SCHEMA, "name": "p"}));
    let branch =
        "---\nname: branch\ndescription: d\nmetadata:\n  grove.children: \"*\"\n---\nBody\n";
    session
        .skill("home/plugin/skills", "top", "in the folder itself")
        .file("home/plugin/skills/flat.md", agent("flat"))
        .skill("home/plugin/skills/x", "x", "d")
        .file("home/plugin/skills/branch/SKILL.md", branch)
        .skill("home/plugin/skills/branch/leaf", "leaf", "declared")
        .skill("home/plugin/skills/group/deep", "deep", "below a group");
    assert_eq!(usable(&session, "skills"), ["branch", "x"]);
    // In a package of another kind the same folder gives the one at its top.
    session.file(PACKAGE, r#"{"grove": {"skills": ["skills"]}}"#);
    assert_eq!(usable(&session, "skills"), ["top"]);
}

#[test]
fn skills_of_an_agent_plugin_that_are_a_file_are_said() {
    let session = with_plugin(PLUGIN, &json!({"$schema": SCHEMA, "name": "p"}));
    let nothing = said(&session, "skills");
    assert!(nothing.is_empty(), "what is not there is not missed");
    session.file("home/plugin/skills", "no folder");
    let said = said(&session, "skills");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0][0], "package-manifest");
}

#[test]
fn a_manifest_may_name_single_files() {
    let (agents, chains) = (json!(["./team/lead.md"]), json!("flows/go.chain.md"));
    let skills = json!(["kit/one/SKILL.md", "kit/flat.md"]);
    let all_three = json!({"agents": agents, "chains": chains, "skills": skills});
    let both = json!({"agents": agents, "chains": chains});
    let of_pi = json!({"skills": skills});
    let with_skills = json!({"subagents": both, "skills": skills});
    let beside_folders = json!({
        "agents": ["team/lead.md", "team"],
        "skills": ["kit/flat.md", "kit/plain.md", "kit/one/SKILL.md", "kit"],
    });
    let of_claude =
        json!({"name": "p", "agents": ["./team/lead.md"], "skills": ["./kit/one/SKILL.md"]});
    let single = ["lead", "go", "flat one"];
    let all = ["lead other", "", "flat one plain two"];
    for (file, manifest, expected) in [
        (PACKAGE, json!({"grove": all_three}), single),
        (PACKAGE, json!({"pi-subagents": both, "pi": of_pi}), single),
        (PACKAGE, json!({"pi": with_skills}), single),
        (PACKAGE, json!({"grove": beside_folders}), all),
        (CLAUDE_PLUGIN, of_claude, ["lead", "", "one"]),
    ] {
        let session = with_plugin(file, &manifest);
        for name in ["lead", "other"] {
            session.file(format!("home/plugin/team/{name}.md"), agent(name));
        }
        for name in ["go", "stop"] {
            session.file(format!("home/plugin/flows/{name}.chain.md"), chain(name));
        }
        for name in ["flat", "plain"] {
            session.file(format!("home/plugin/kit/{name}.md"), agent(name));
        }
        for name in ["one", "two"] {
            session.skill(format!("home/plugin/kit/{name}"), name, "d");
        }
        assert_eq!(usable_of_each(&session), expected, "{manifest}");
        assert!(said(&session, "agents").is_empty(), "{manifest}");
        assert_eq!(session.grove("prompt lead").stdout, "I am lead\n");
    }
}

#[test]
fn a_file_that_a_manifest_names_stays_in_the_package_and_is_what_it_should_be() {
    let manifest = json!({"grove": {
        "agents": ["out.md", "note.md", "x.chain.md", "x.txt", "gone.md", "agents/in.md"],
        "skills": ["note.md"],
    }});
    let session = with_plugin(PACKAGE, &manifest);
    session
        .file("home/outside.md", agent("outside"))
        .file("home/plugin/shared/real.md", agent("real"))
        .file("home/plugin/note.md", "No frontmatter\n")
        .file("home/plugin/x.chain.md", chain("x"))
        .file("home/plugin/x.txt", "text")
        .link("home/plugin/out.md", session.path("home/outside.md"))
        .link("home/plugin/agents/in.md", "../shared/real.md");
    assert_eq!(usable(&session, "agents"), ["real"]);
    let said = said(&session, "agents");
    let codes: Vec<&str> = said.iter().map(|[code, _]| code.as_str()).collect();
    let expected = [
        "agent-note",
        "package-manifest",
        "package-missing",
        "path-escape",
    ];
    assert_eq!(codes, expected, "{said:?}");
    let both = &said[1][1];
    assert!(both.contains("1 more"), "files of another kind: {both}");
    // A skill that is named and has no frontmatter is not passed over without a word.
    let skills = session.json("skills list");
    assert_eq!(skills["skills"][0]["state"], "invalid", "{skills}");
}

#[test]
fn a_file_that_a_projects_package_names_waits_for_trust_and_counts_as_it_was_seen() {
    let session = session();
    let manifest = json!({"grove": {
        "agents": ["team/lead.md"], "chains": ["go.chain.md"], "skills": ["kit/flat.md", "kit/one/SKILL.md"],
    }});
    session
        .file("project/package.json", manifest.to_string())
        .file("project/team/lead.md", agent("lead"))
        .file("project/go.chain.md", chain("go"))
        .file("project/kit/flat.md", agent("flat"))
        .skill("project/kit/one", "one", "d");
    assert_eq!(usable_of_each(&session), [""; 3]);
    session.trust();
    assert_eq!(usable_of_each(&session), ["lead", "go", "flat one"]);
    for (file, name) in [("team/lead", "lead"), ("kit/flat", "flat")] {
        let changed = agent(name).replace("I am", "Now I am");
        session.file(format!("project/{file}.md"), changed);
    }
    assert_eq!(usable_of_each(&session), ["", "go", "one"]);
}

#[test]
fn agents_of_a_claude_code_plugin_are_read_as_claude_code_writes_them() {
    let text = "---\nname: lead\ndescription: d\ntools: Read, Write, Bash\ndisallowedTools: Write\nmodel: inherit\neffort: high\ncolor: red\n---\nLead.\n";
    let fields = |session: &Session| {
        let shown = session.json("agents show lead");
        let codes = column(&shown["agent"]["diagnostics"], "code");
        (shown["fields"].clone(), codes)
    };
    let plain = session();
    plain.file("home/.claude/agents/lead.md", text);
    let (expected, findings) = fields(&plain);
    assert_eq!(expected["thinking"], "high");
    assert_eq!(expected["tools"], json!(["Read", "Bash"]));
    assert_eq!(findings, ["agent-unmapped"]);
    for (manifest, folder) in [
        (json!({"name": "p"}), "agents"),
        (json!({"name": "p", "agents": "./team/lead.md"}), "team"),
    ] {
        let session = with_plugin(CLAUDE_PLUGIN, &manifest);
        session.file(format!("home/plugin/{folder}/lead.md"), text);
        let same = (expected.clone(), findings.clone());
        assert_eq!(fields(&session), same, "{manifest}");
    }
}

#[test]
fn a_package_of_a_project_does_not_give_what_is_another_packages() {
    let session = session();
    let folder = "project/node_modules";
    let manifest = json!({"grove": {"agents": ["link", "link.md"]}}).to_string();
    session
        .file(format!("{folder}/other/agents/theirs.md"), agent("theirs"))
        .file(format!("{folder}/p/package.json"), manifest)
        .link(format!("{folder}/p/link"), "../other/agents")
        .link(format!("{folder}/p/link.md"), "../other/agents/theirs.md")
        .trust();
    assert_eq!(usable(&session, "agents"), [""; 0]);
    let said = said(&session, "agents");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0][0], "path-escape");
}

#[test]
fn nothing_is_said_of_a_projects_packages_where_the_project_is_not_asked_for() {
    let session = session();
    let wrong = r#"{"grove": {"agents": 1}}"#;
    let mine = "home/.pi/agent/npm/node_modules/mine/package.json";
    session
        .file("project/package.json", wrong)
        .file(
            "project/.pi/settings.json",
            r#"{"packages": 1, "subagents": 1}"#,
        )
        .file(mine, wrong);
    let said = |scope: &str| {
        let listed = session.json(["agents", "list", "--scope", scope]);
        let files = column(&listed["diagnostics"], "file").into_iter();
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
    let session = session();
    let settings = json!({"packages": [session.path("project/shared")]}).to_string();
    session
        .file("home/.pi/agent/settings.json", settings)
        .file(
            "project/.pi/settings.json",
            r#"{"packages": ["../shared"]}"#,
        )
        .file(
            "project/shared/package.json",
            r#"{"grove": {"agents": ["agents"]}}"#,
        )
        .file("project/shared/agents/x.md", agent("x"));
    let listed = session.json("agents list --scope user");
    let states = rows(&listed["agents"], ["name", "state"]);
    assert!(states.iter().any(|row| row == &["x", "ok"]), "{listed}");
}

#[test]
fn a_file_in_a_folder_that_is_looked_in_anyway_is_there_once() {
    let session = session();
    let manifest = json!({"grove": {
        "skills": [".agents/skills/flat.md"], "agents": [".agents/agents/lead.md"],
    }});
    session
        .file("project/package.json", manifest.to_string())
        .file("project/.agents/skills/flat.md", agent("flat"))
        .skill("project/.agents/skills/other", "other", "d")
        .file("project/.agents/agents/lead.md", agent("lead"))
        .file("project/.agents/agents/more.md", agent("more"))
        .trust();
    for (kind, expected) in [("skills", ["flat", "other"]), ("agents", ["lead", "more"])] {
        assert_eq!(usable(&session, kind), expected);
        let listed = session.json([kind, "list"]);
        let sources = column(&listed[kind], "source").into_iter();
        let own = sources.filter(|source| source != "bundled");
        assert_eq!(own.count(), 2, "{kind}: {listed}");
    }
    let roots = session.json("skills roots");
    let folder = session.path("project/.agents/skills");
    let paths = column(&roots["roots"], "path").into_iter();
    let same = paths.filter(|path| folder.to_str() == Some(path));
    assert_eq!(same.count(), 1, "{roots}");
}
