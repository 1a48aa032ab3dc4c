//! Chains that are made and changed: what is warned of, refused, and left as it was.

use grove_testkit::process::Ending;
use serde_json::{Value, json};

use super::{home, json_of, listed, markdown, used};

#[test]
fn a_model_that_nobody_knows_is_a_warning_as_it_is_for_agents() {
    let home = home();
    let said = |arguments: &[&str]| -> Vec<(String, String, u64)> {
        let value = json_of(&home.run("project", arguments));
        let warnings = match &value["warnings"] {
            Value::Null => &value["scopes"][0]["chains"][0]["diagnostics"],
            warnings => warnings,
        };
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let all = warnings.as_array().unwrap().iter();
        all.map(|finding| {
            (
                text(finding, "code"),
                text(finding, "message"),
                finding["line"].as_u64().unwrap_or_default(),
            )
        })
        .collect()
    };
    let message = "no model `sonet` is known here; near: `sonnet`";
    let expected = |line: u64| vec![("model-unknown".to_owned(), message.to_owned(), line)];
    let agent = [
        "agents",
        "create",
        "me",
        "--description",
        "d",
        "--set",
        "model=sonet",
        "--json",
    ];
    assert_eq!(said(&agent), expected(0));
    home.run("project", ["agents", "delete", "me"])
        .require_success("delete")
        .unwrap();
    let create = |model: &str| {
        let steps = format!("[{{\"agent\": \"scout\", \"task\": \"t\", \"model\": \"{model}\"}}]");
        let arguments = [
            "chains",
            "create",
            "x",
            "--description",
            "d",
            "--json",
            "--steps",
            &steps,
        ];
        said(&arguments)
    };
    home.file(
        "home/.agents/agents/scout.md",
        "---\nname: scout\ndescription: d\nmodel: house/own\n---\n\nLook.\n",
    );
    assert_eq!(create("sonet"), expected(7));
    assert_eq!(said(&["chains", "check", "--json"]), expected(7));
    let edit = |model: &str| {
        let steps = format!("[{{\"agent\": \"scout\", \"task\": \"t\", \"model\": \"{model}\"}}]");
        said(&["chains", "edit", "x", "--json", "--steps", &steps])
    };
    // Known by its family, and because an agent has it.
    assert_eq!(edit("claude-opus-4"), []);
    assert_eq!(edit("house/own"), []);
    assert_eq!(edit("sonet"), expected(7));
    assert_eq!(used(&home), "d", "a warning does not switch a chain off");
}

#[test]
fn a_key_that_stands_twice_is_refused_in_files_of_both_formats_and_in_what_is_typed() {
    let home = home();
    home.file(
        "home/.agents/chains/m.chain.md",
        markdown("m", "d", "## scout\nmodel: a\nmodel: b\n\nLook\n"),
    );
    home.file(
        "home/.agents/chains/j.chain.json",
        "{\"name\": \"j\", \"description\": \"d\", \"chain\": [\n{\"agent\": \"scout\",\n \"agent\": \"worker\"}]}",
    );
    let value = json_of(&home.run("project", ["chains", "list", "--json"]));
    let said: Vec<(&Value, &Value, &Value)> = value["chains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chain| {
            let finding = &chain["diagnostics"][0];
            (&chain["state"], &finding["code"], &finding["line"])
        })
        .collect();
    let (invalid, code) = (json!("invalid"), json!("duplicate-key"));
    assert_eq!(
        said,
        [(&invalid, &code, &json!(3)), (&invalid, &code, &json!(8))]
    );
    let typed = "[{\"agent\": \"scout\",\n \"agent\": \"worker\"}]";
    let arguments = [
        "chains",
        "create",
        "x",
        "--description",
        "d",
        "--steps",
        typed,
    ];
    let refused = home.run("project", arguments);
    assert_eq!(refused.ending, Ending::Exited(2));
    let told = refused.stderr_text();
    assert!(
        told.contains("`agent` stands twice in `steps` (line 2, column 2)"),
        "{told}"
    );
    assert_eq!(listed(&home).len(), 2, "nothing is written");
}

#[test]
fn other_steps_leave_every_other_byte_and_the_line_ends() {
    let home = home();
    let markdown = "---\r\n# mine\r\nname: m\r\ndescription: d\r\n---\r\n##   scout\r\nProgress:  true\r\n\r\n\r\nLook.\r\n## worker\r\n\r\nOld.\r\n";
    let json = "{\r\n\t\"name\":\"j\",  \"description\": \"d\",\r\n\t\"chain\": [\r\n\t\t{ \"progress\":true, \"task\":\"Look.\", \"agent\":\"scout\" },\r\n\t\t{\"agent\": \"worker\", \"task\": \"Old.\"}\r\n\t], \"mine\": 1.0\r\n}\r\n";
    home.file("home/.agents/chains/m.chain.md", markdown);
    home.file("home/.agents/chains/j.chain.json", json);
    let steps = "[{\"agent\": \"scout\", \"task\": \"Look.\", \"progress\": true}, {\"agent\": \"worker\", \"task\": \"New.\"}]";
    let read = |file: &str| std::fs::read_to_string(home.path(file)).unwrap();
    for name in ["m", "j"] {
        home.run("project", ["chains", "edit", name, "--steps", steps])
            .require_success("edit")
            .unwrap();
    }
    assert_eq!(
        read("home/.agents/chains/m.chain.md"),
        markdown.replace("Old.", "New.")
    );
    assert_eq!(
        read("home/.agents/chains/j.chain.json"),
        json.replace(
            "{\"agent\": \"worker\", \"task\": \"Old.\"}",
            "{\r\n\t\t  \"agent\": \"worker\",\r\n\t\t  \"task\": \"New.\"\r\n\t\t}"
        )
    );
}
