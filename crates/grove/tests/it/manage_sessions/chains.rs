//! Chains that are made, changed, renamed and deleted.

use super::{done, home, json, read, refused};

const STEPS: &str =
    r#"[{"agent": "scout", "task": "Look at {task}"}, {"agent": "helper", "skills": ["nope"]}]"#;

#[test]
fn a_chain_is_made_with_its_steps_and_says_whom_it_misses() {
    let home = home();
    let made = done(
        &home,
        &[
            "chains",
            "create",
            " My Flow! ",
            "--description",
            "d",
            "--steps",
            STEPS,
        ],
    );
    assert_eq!(
        made.stdout_text(),
        "created ~/.grove/chains/my-flow.chain.md\n"
    );
    let said = made.stderr_text();
    assert!(
        said.contains("`helper`") && said.contains("`nope`"),
        "{said}"
    );
    let shown = json(&done(&home, &["chains", "show", "my-flow", "--json"]));
    assert_eq!(shown["fields"]["steps"][0]["task"], "Look at {task}");
    for words in [
        [
            "chains",
            "create",
            "my-flow",
            "--description",
            "d",
            "--steps",
            STEPS,
        ]
        .as_slice(),
        &["agents", "create", "my-flow", "--description", "d"],
    ] {
        assert!(refused(&home, words).contains("already exists"));
    }
    let said = refused(
        &home,
        &[
            "chains",
            "create",
            "bad",
            "--description",
            "d",
            "--steps",
            "[{}]",
        ],
    );
    assert!(said.contains("`steps`"), "{said}");
    home.file(
        "project/steps.json",
        r#"[{"parallel": [{"agent": "scout", "task": "t"}]}]"#,
    );
    done(
        &home,
        &[
            "chains",
            "create",
            "wide",
            "--description",
            "d",
            "--steps",
            "steps.json",
            "--scope",
            "project",
        ],
    );
    assert!(home.path("project/.grove/chains/wide.chain.json").is_file());
}

#[test]
fn a_chain_is_changed_renamed_and_deleted_and_no_other_byte() {
    let home = home();
    let text =
        "---\n# mine\nname: x\ndescription: d # why\n---\n\nFor people.\n\n## scout\n\nLook.\n";
    home.file("home/.pi/agent/chains/x.chain.md", text);
    done(&home, &["chains", "edit", "x", "--description", "e"]);
    let expected = text.replace("description: d # why", "description: e # why");
    assert_eq!(read(&home, "home/.pi/agent/chains/x.chain.md"), expected);
    done(
        &home,
        &[
            "chains",
            "edit",
            "x",
            "--steps",
            r#"[{"agent": "oracle", "task": "Think."}]"#,
        ],
    );
    let expected = expected.replace("## scout\n\nLook.\n", "## oracle\n\nThink.\n");
    assert_eq!(read(&home, "home/.pi/agent/chains/x.chain.md"), expected);
    let renamed = json(&done(&home, &["chains", "rename", "x", "Y", "--json"]));
    assert_eq!(renamed["schema"], "grove.chains.change/1");
    let expected = expected.replace("name: x", "name: y");
    assert_eq!(read(&home, "home/.pi/agent/chains/y.chain.md"), expected);
    assert!(!home.path("home/.pi/agent/chains/x.chain.md").exists());
    home.file("project/.grove/chains/y.chain.md", &expected);
    assert!(refused(&home, &["chains", "delete", "y"]).contains("both scopes"));
    done(&home, &["chains", "delete", "y", "--scope", "user"]);
    assert!(!home.path("home/.pi/agent/chains/y.chain.md").exists());
}

#[test]
fn renaming_or_deleting_an_agent_names_the_chains_that_call_for_it() {
    let home = home();
    done(&home, &["agents", "create", "helper", "--description", "d"]);
    done(
        &home,
        &[
            "chains",
            "create",
            "flow",
            "--description",
            "d",
            "--steps",
            r#"[{"agent": "helper", "task": "t"}]"#,
        ],
    );
    let said = done(&home, &["agents", "rename", "helper", "aide"]).stderr_text();
    assert!(
        said.contains("the chain `flow` calls for `helper`") && said.contains("flow.chain.md:6"),
        "{said}"
    );
    done(&home, &["agents", "rename", "aide", "helper"]);
    let said = done(&home, &["agents", "delete", "helper"]).stderr_text();
    assert!(
        said.contains("the chain `flow` calls for `helper`"),
        "{said}"
    );
}
