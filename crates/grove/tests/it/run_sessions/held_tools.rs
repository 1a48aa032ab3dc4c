//! Keys of other hosts that keep tools from an agent keep them from a child too.

use grove_testkit::model_server::Reply;
use serde_json::json;

use super::{AGENT, run, scene, server};

#[test]
fn tools_that_another_key_denies_were_given_to_a_child() {
    let usual = ["read", "ls", "find", "grep", "skill"];
    for (folder, lines, expected) in [
        // Without a list of tools there are those that read, less what is denied.
        (
            ".claude",
            "disallowedTools: Grep, Bash\n",
            vec!["read", "ls", "find", "skill"],
        ),
        (
            ".claude",
            "disallowedTools: Skill\n",
            vec!["read", "ls", "find", "grep"],
        ),
        (
            ".grove",
            "deny_tools: [READ]\n",
            vec!["ls", "find", "grep", "skill"],
        ),
        (
            ".grove",
            "tools: read, bash\ndeny-tools: bash\n",
            vec!["read", "skill"],
        ),
        (
            ".claude",
            "tools: Read, Bash, Edit\npermissionMode: plan\n",
            vec!["read", "skill"],
        ),
        (
            ".grove",
            "tools: read, bash\npermission: {bash: ask}\n",
            vec!["read", "skill"],
        ),
        (".grove", "allowed-tools: [grep]\n", vec!["grep", "skill"]),
        (
            ".grove",
            "tools: read, write\nsandbox: strict\n",
            vec!["read", "skill"],
        ),
        // Counter-cases.
        (".grove", "spawning: false\n", usual.to_vec()),
        (
            ".claude",
            "tools: Read, Bash\npermissionMode: acceptEdits\n",
            vec!["read", "bash", "skill"],
        ),
    ] {
        // A tool that was not given is not there either when it is called.
        let server = server(vec![
            Reply::call("bash", json!({ "command": "touch done" })),
            Reply::text("Done."),
        ]);
        let session = scene(&server);
        session.remove(AGENT);
        session.definition(
            format!("home/{folder}/agents/worker.md"),
            lines,
            "You work.",
        );
        session.grove(run("Look", &[])).ok();
        let asked = server.requests()[0].json();
        let tools = asked["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, expected, "{folder} {lines}");
        assert!(!session.has("project/done"), "{folder} {lines}");
        let prompt = session.json("prompt worker");
        let denied = prompt["deniedTools"].as_array().unwrap();
        let listed = prompt["tools"].as_array().cloned().unwrap_or_default();
        assert!(!listed.iter().any(|tool| denied.contains(tool)), "{prompt}");
    }
}
