//! Chains that are made, changed, renamed and deleted.

use super::session;

const STEPS: &str =
    r#"[{"agent": "scout", "task": "Look at {task}"}, {"agent": "helper", "skills": ["nope"]}]"#;

fn create<'a>(name: &'a str, steps: &'a str) -> [&'a str; 7] {
    let describe = "--description";
    ["chains", "create", name, describe, "d", "--steps", steps]
}

#[test]
fn a_chain_is_made_with_its_steps_and_says_whom_it_misses() {
    let session = session();
    let made = session.done(create(" My Flow! ", STEPS));
    assert_eq!(made.stdout, "created ~/.grove/chains/my-flow.chain.md\n");
    made.says(["`helper`", "`nope`"]);
    let shown = session.json("chains show my-flow");
    assert_eq!(shown["fields"]["steps"][0]["task"], "Look at {task}");
    let exists = ["already exists"];
    session.refused(create("my-flow", STEPS)).says(exists);
    session
        .refused("agents create my-flow --description d")
        .says(exists);
    session.refused(create("bad", "[{}]")).says(["`steps`"]);
    let steps = r#"[{"parallel": [{"agent": "scout", "task": "t"}]}]"#;
    session.file("project/steps.json", steps);
    session.done("chains create wide --description d --steps steps.json --scope project");
    assert!(session.has("project/.grove/chains/wide.chain.json"));
}

#[test]
fn a_chain_is_changed_renamed_and_deleted_and_no_other_byte() {
    let session = session();
    let text =
        "---\n# mine\nname: x\ndescription: d # why\n---\n\nFor people.\n\n## scout\n\nLook.\n";
    let file = "home/.pi/agent/chains/x.chain.md";
    session.file(file, text);
    session.done("chains edit x --description e");
    let expected = text.replace("description: d # why", "description: e # why");
    assert_eq!(session.read(file), expected);
    let steps = r#"[{"agent": "oracle", "task": "Think."}]"#;
    session.done(["chains", "edit", "x", "--steps", steps]);
    let expected = expected.replace("## scout\n\nLook.\n", "## oracle\n\nThink.\n");
    assert_eq!(session.read(file), expected);
    let renamed = session.json("chains rename x Y");
    assert_eq!(renamed["schema"], "grove.chains.change/1");
    assert!(!session.has(file));
    let (file, expected) = (
        "home/.pi/agent/chains/y.chain.md",
        expected.replace("name: x", "name: y"),
    );
    assert_eq!(session.read(file), expected);
    session.file("project/.grove/chains/y.chain.md", &expected);
    session.refused("chains delete y").says(["both scopes"]);
    session.done("chains delete y --scope user --yes");
    assert!(!session.has(file));
}

#[test]
fn renaming_or_deleting_an_agent_names_the_chains_that_call_for_it() {
    let session = session();
    session.done("agents create helper --description d");
    session.done(create("flow", r#"[{"agent": "helper", "task": "t"}]"#));
    let calls = "the chain `flow` calls for `helper`";
    session
        .done("agents rename helper aide")
        .says([calls, "flow.chain.md:6"]);
    session.done("agents rename aide helper");
    session.done("agents delete helper --yes").says([calls]);
}
