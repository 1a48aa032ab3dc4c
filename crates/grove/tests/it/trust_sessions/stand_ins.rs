//! Whoever asks for a name and gets another one than the first that bears it is told.

use grove_testkit::home::TestHome;
use serde_json::Value;

use super::session::{json, new_home, run};

fn agent(home: &TestHome, path: &str, body: &str) {
    let text =
        format!("---\nname: reviewer\ndescription: d\nskills: deploy\n---\n\nI am {body}.\n");
    home.file(path, text);
}

fn skill(home: &TestHome, place: &str, body: &str) {
    let text = format!("---\nname: deploy\ndescription: d\n---\n\nDeploy {body}.\n");
    home.file(format!("{place}/.agents/skills/deploy/SKILL.md"), text);
}

/// A trusted project with an agent and a skill that the user has too.
fn home() -> TestHome {
    let home = new_home();
    home.dir("project/.git");
    for (place, body) in [("home", "at home"), ("project", "here")] {
        agent(&home, &format!("{place}/.agents/agents/reviewer.md"), body);
        skill(&home, place, body);
    }
    run(&home, "project", &["trust", "--yes"]);
    home
}

fn said(findings: &Value) -> Vec<String> {
    let findings = findings.as_array().unwrap().iter();
    findings
        .filter(|finding| finding["code"] == "stand-in")
        .map(|finding| finding["message"].as_str().unwrap().to_owned())
        .collect()
}

fn prompt(home: &TestHome, agent: &str) -> (String, Vec<String>) {
    let told = json(home, "project", &["prompt", agent, "--json"]);
    let text = told["prompt"].as_str().unwrap().to_owned();
    (text, said(&told["warnings"]))
}

#[test]
fn another_agent_of_the_name_is_not_used_silently() {
    let home = home();
    let (text, warnings) = prompt(&home, "reviewer");
    assert!(text.contains("I am here"));
    assert_eq!(warnings, [""; 0]);

    agent(&home, "project/.agents/agents/reviewer.md", "changed");
    let (text, warnings) = prompt(&home, "reviewer");
    assert!(text.contains("I am at home"));
    let [warning] = warnings.as_slice() else {
        unreachable!("{warnings:?}")
    };
    for part in [
        "`reviewer@project:.agents/agents` is changed",
        "`reviewer@user:.agents/agents` stands in",
    ] {
        assert!(warning.contains(part), "{warning}");
    }
    let shown = run(&home, "project", &["prompt", "reviewer"]).stderr_text();
    assert!(shown.contains("stands in"), "{shown}");

    let (_, warnings) = prompt(&home, "reviewer@user:.agents/agents");
    assert_eq!(
        warnings, [""; 0],
        "who names one exactly gets what was asked for"
    );
}

#[test]
fn another_skill_of_the_name_is_not_used_silently() {
    let home = home();
    skill(&home, "project", "changed");
    let expected = [
        "`deploy@project:.agents/skills` is changed",
        "`deploy@user:.agents/skills` stands in",
    ];
    let (text, warnings) = prompt(&home, "reviewer");
    assert!(text.contains("Deploy at home"));
    let command = ["skills", "activate", "deploy", "--json"];
    let activated = json(&home, "project", &command);
    for warnings in [warnings, said(&activated["diagnostics"])] {
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in expected {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }
    let shown = run(&home, "project", &["skills", "activate", "deploy"]);
    assert!(shown.stderr_text().contains("stands in"));
    let exact = "deploy@user:.agents/skills";
    let activated = json(&home, "project", &["skills", "activate", exact, "--json"]);
    assert_eq!(said(&activated["diagnostics"]), [""; 0]);
}
