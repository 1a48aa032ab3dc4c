//! Chains that are made and changed: what is warned of, refused, and left as it was.

use grove_testkit::session::rows;

use super::{USER, listed, markdown, session, used};

#[test]
fn a_model_that_nobody_knows_is_a_warning_as_it_is_for_agents() {
    let session = session();
    let said = |words: &[&str]| -> Vec<[String; 3]> {
        let value = session.grove([words, &["--json"]].concat()).json();
        let warnings = match value.get("warnings") {
            None => &value["scopes"][0]["chains"][0]["diagnostics"],
            Some(warnings) => warnings,
        };
        rows(warnings, ["code", "message", "line"])
    };
    let message = "no model `sonet` is known here; near: `sonnet`";
    let create = "agents create me --description d --set model=sonet";
    let words: Vec<&str> = create.split(' ').collect();
    assert_eq!(said(&words), [["model-unknown", message, ""]]);
    session.grove("agents delete me --yes").ok();
    session.definition(
        "home/.agents/agents/scout.md",
        "model: house/own\n",
        "Look.",
    );
    let in_line = [["model-unknown", message, "7"]];
    let with_model = |verb: &[&str], model: &str| {
        let steps = format!("[{{\"agent\": \"scout\", \"task\": \"t\", \"model\": \"{model}\"}}]");
        said(&[&["chains"], verb, &["--steps", &steps]].concat())
    };
    let created = with_model(&["create", "x", "--description", "d"], "sonet");
    assert_eq!(created, in_line);
    assert_eq!(said(&["chains", "check"]), in_line);
    // Known by its family, and because an agent has it.
    for known in ["claude-opus-4", "house/own"] {
        assert!(with_model(&["edit", "x"], known).is_empty(), "{known}");
    }
    assert_eq!(with_model(&["edit", "x"], "sonet"), in_line);
    assert_eq!(used(&session), "d", "a warning does not switch a chain off");
}

#[test]
fn a_key_that_stands_twice_is_refused_in_files_of_both_formats_and_in_what_is_typed() {
    let session = session();
    let twice = "## scout\nmodel: a\nmodel: b\n\nLook\n";
    let steps = "[{\"agent\": \"scout\",\n \"agent\": \"worker\"}]";
    session
        .file(format!("{USER}/m.chain.md"), markdown("m", "d", twice))
        .file(
            format!("{USER}/j.chain.json"),
            format!("{{\"name\": \"j\", \"description\": \"d\", \"chain\": \n{steps}}}"),
        );
    let list = session.json("chains list");
    assert_eq!(
        rows(
            &list["chains"],
            ["state", "diagnostics/0/code", "diagnostics/0/line"]
        ),
        [
            ["invalid", "duplicate-key", "3"],
            ["invalid", "duplicate-key", "8"]
        ]
    );
    let words = [
        "chains",
        "create",
        "x",
        "--description",
        "d",
        "--steps",
        steps,
    ];
    let refused = session.grove(words).fails(2);
    refused.says(["`agent` appears twice in `steps` (line 2, column 2)"]);
    assert_eq!(listed(&session).len(), 2, "nothing is written");
}

#[test]
fn other_steps_leave_every_other_byte_and_the_line_ends() {
    let session = session();
    let markdown = "---\r\n# mine\r\nname: m\r\ndescription: d\r\n---\r\n##   scout\r\nProgress:  true\r\n\r\n\r\nLook.\r\n## worker\r\n\r\nOld.\r\n";
    let json = "{\r\n\t\"name\":\"j\",  \"description\": \"d\",\r\n\t\"chain\": [\r\n\t\t{ \"progress\":true, \"task\":\"Look.\", \"agent\":\"scout\" },\r\n\t\t{\"agent\": \"worker\", \"task\": \"Old.\"}\r\n\t], \"mine\": 1.0\r\n}\r\n";
    let steps = "[{\"agent\": \"scout\", \"task\": \"Look.\", \"progress\": true}, {\"agent\": \"worker\", \"task\": \"New.\"}]";
    let new_step = "{\r\n\t\t  \"agent\": \"worker\",\r\n\t\t  \"task\": \"New.\"\r\n\t\t}";
    for (name, file, before, after) in [
        (
            "m",
            "m.chain.md",
            markdown,
            markdown.replace("Old.", "New."),
        ),
        (
            "j",
            "j.chain.json",
            json,
            json.replace("{\"agent\": \"worker\", \"task\": \"Old.\"}", new_step),
        ),
    ] {
        session.file(format!("{USER}/{file}"), before);
        session
            .grove(["chains", "edit", name, "--steps", steps])
            .ok();
        assert_eq!(session.read(format!("{USER}/{file}")), after);
    }
}
