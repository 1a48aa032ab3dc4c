//! What a run gives back: answers in files, answers that are only named or cut short, and files about how far a child is.

use grove_testkit::model_server::Reply;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::graphs::scene;
use super::{AGENT, bash, run_of};

fn ask(session: &Session, request: &Value) -> grove_testkit::session::Outcome {
    session.file("project/request.json", request.to_string());
    session.grove("run --request request.json --json")
}

fn one(fields: &Value) -> Value {
    let mut request = json!({ "agent": "worker", "task": "Go" });
    let (Value::Object(request_fields), Value::Object(fields)) = (&mut request, fields) else {
        panic!("{fields}");
    };
    request_fields.extend(fields.clone());
    request
}

#[test]
fn an_answer_is_in_its_file_whoever_wrote_it_and_what_was_there_before_is_not_it() {
    // What lies there before, what the child does, what it says, and what is in the file and in the result then.
    let written = || Some(bash("echo 'The whole text.' > out.md"));
    for (name, before, does, says, expected) in [
        ("nothing there", None, None, "My words.", "My words."),
        ("an old file", Some("old"), None, "My words.", "My words."),
        (
            "its own file",
            None,
            written(),
            "See out.md.",
            "The whole text.\n",
        ),
        (
            "its own file in place of an old one",
            Some("old"),
            written(),
            "See.",
            "The whole text.\n",
        ),
        (
            "an old file that was put there anew",
            Some("old"),
            Some(bash("cp -p out.md x; mv x out.md")),
            "See.",
            "old",
        ),
    ] {
        let (_server, session) = scene(move |_, turns| match (&does, turns) {
            (Some(does), 0) => does.clone(),
            _ => Reply::text(says),
        });
        if let Some(before) = before {
            // Its time is after that of the child, so that no time tells one from the other.
            session.file("project/out.md", before);
            let path = session.path("project/out.md");
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_hours(1);
            file.set_modified(later).unwrap();
        }
        let run = run_of(
            &ask(&session, &one(&json!({ "output": "out.md" })))
                .ok()
                .stdout,
        );
        assert_eq!(session.read("project/out.md"), expected, "{name}");
        assert_eq!(run["result"], expected, "{name}");
        let path = run["nodes"][0]["output"]["path"].as_str().unwrap();
        assert_eq!(
            std::path::Path::new(path),
            session.path("project/out.md"),
            "{name}"
        );
        // What it goes on to say is written where the runtime wrote, and not over what the child wrote.
        let id = run["id"].as_str().unwrap();
        session.grove(["runs", "resume", id, "More"]).ok();
        assert_eq!(session.read("project/out.md"), expected, "{name}");
    }
}

#[test]
fn a_failure_writes_no_file_and_one_that_cannot_be_written_is_said() {
    let (_server, session) = scene(|task, _| {
        if task.contains("fail") {
            return Reply::error(400, "no");
        }
        Reply::text("Words.")
    });
    let failing = json!({ "agent": "worker", "task": "fail", "output": "out.md" });
    let run = run_of(&ask(&session, &failing).fails(1).stdout);
    assert!(!session.has("project/out.md"));
    assert_eq!(run["nodes"][0]["output"]["path"], Value::Null);
    session.dir("project/folder");
    for mode in ["inline", "file-only"] {
        let outcome = ask(
            &session,
            &one(&json!({ "output": "folder", "outputMode": mode })),
        );
        let run = run_of(&outcome.ok().stdout);
        let output = &run["nodes"][0]["output"];
        assert_eq!(
            (&run["result"], &output["path"]),
            (&json!("Words."), &Value::Null)
        );
        assert!(output["unsaved"].is_string(), "{output}");
    }
}

#[test]
fn what_is_only_in_a_file_is_named_to_whoever_comes_after() {
    let (server, session) = scene(|task, _| {
        if task.contains("Look") {
            return Reply::text("Looked.");
        }
        Reply::text("One line.\nAnother.")
    });
    for (mode, is_told) in [("inline", true), ("file-only", false)] {
        let request = json!({
            "task": "go",
            "chain": [
                { "agent": "worker", "output": "notes.md", "outputMode": mode },
                { "agent": "judge", "task": "Look: {previous}" },
            ],
        });
        let asked = server.requests().len();
        let run = run_of(&ask(&session, &request).ok().stdout);
        let told = String::from_utf8(server.requests()[asked + 1].body.clone()).unwrap();
        assert_eq!(told.contains("Another."), is_told, "{mode}: {told}");
        let output = &run["nodes"][0]["output"];
        let path = output["path"].as_str().unwrap();
        let reference =
            format!("The answer is in {path} (18 B, 2 lines). Read this file if needed.");
        assert_eq!(output["text"] == json!(reference), !is_told, "{output}");
        assert_eq!(told.contains(&reference), !is_told);
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "One line.\nAnother."
        );
    }
    // Before anything starts: there has to be a file, below where the child works.
    let asked = server.requests().len();
    for (fields, says) in [
        (
            json!({ "outputMode": "file-only" }),
            "`worker` has `outputMode: file-only` but no output file",
        ),
        (
            json!({ "outputMode": "file-only", "output": false }),
            "`outputMode: file-only` without a file",
        ),
        (
            json!({ "output": "../x.md" }),
            "is outside the folder it works in",
        ),
        (
            json!({ "output": "/x.md" }),
            "is outside the folder it works in",
        ),
        (
            json!({ "outputMode": "loud", "output": "x.md" }),
            "outputMode",
        ),
    ] {
        ask(&session, &one(&fields)).fails(2).says([says]);
    }
    assert_eq!(server.requests().len(), asked);
    // An agent's own file can be left out, and asked for by name.
    session.definition(AGENT, "tools: read\noutput: own.md\n", "You work.");
    for (fields, file) in [
        (json!({ "output": false }), None),
        (json!({ "output": true }), Some("own.md")),
        (json!({}), Some("own.md")),
        (json!({ "output": "sub/mine.md" }), Some("sub/mine.md")),
    ] {
        let run = run_of(&ask(&session, &one(&fields)).ok().stdout);
        let path = run["nodes"][0]["output"]["path"].as_str();
        let expected = file.map(|file| session.path(format!("project/{file}")));
        assert_eq!(path.map(std::path::PathBuf::from), expected, "{fields}");
    }
}

#[test]
fn a_long_answer_is_cut_where_it_is_shown_and_whole_everywhere_else() {
    let lines: Vec<String> = (1..=300).map(|n| format!("line {n} é\n")).collect();
    let long = lines.concat();
    let (server, session) = scene(move |task, _| {
        if task.contains("Look") {
            return Reply::text("Looked.");
        }
        Reply::text(long.clone())
    });
    for (most, first) in [
        (
            json!({ "lines": 2 }),
            "[cut: the first 2 of 300 lines, 20 of ",
        ),
        // Within a character that is two bytes long.
        (
            json!({ "bytes": 8 }),
            "[cut: the first 1 of 300 lines, 7 of ",
        ),
    ] {
        let run = run_of(
            &ask(&session, &one(&json!({ "maxOutput": most })))
                .ok()
                .stdout,
        );
        let result = run["result"].as_str().unwrap();
        assert!(result.starts_with(first), "{result}");
        let id = run["id"].as_str().unwrap();
        assert!(
            result.contains(&format!(
                "the whole is in `grove runs session {id}.1`]\nline 1 "
            )),
            "{result}"
        );
        assert_eq!(run["nodes"][0]["output"]["truncated"], true);
        let session_file = session.grove(["runs", "session", id]).ok();
        let text = std::fs::read_to_string(session_file.stdout.trim()).unwrap();
        assert!(text.contains("line 300"), "{text}");
    }
    // What is short enough is whole, and without a limit everything is.
    for fields in [
        json!({ "maxOutput": { "lines": 300 } }),
        json!({}),
        json!({ "artifacts": false }),
    ] {
        let outcome = ask(&session, &one(&fields)).ok();
        let run = run_of(&outcome.stdout);
        assert!(
            run["result"].as_str().unwrap().ends_with("line 300 é\n"),
            "{fields}"
        );
        assert_eq!(run["nodes"][0]["output"]["truncated"], false);
        let is_noted = outcome.stderr.contains("`artifacts: false` has no effect");
        assert_eq!(is_noted, fields["artifacts"] == false, "{outcome}");
    }
    let request = json!({ "task": "go", "maxOutput": { "lines": 1 }, "chain": [{ "agent": "worker" }, { "agent": "judge", "task": "Look: {previous}" }] });
    ask(&session, &request).ok();
    let told = String::from_utf8(server.requests().last().unwrap().body.clone()).unwrap();
    assert!(told.contains("line 300"), "the next step is told all of it");
}

#[test]
fn whoever_keeps_a_file_about_its_progress_is_told_which_and_may_write_it() {
    let (server, session) = scene(|task, turns| {
        let file = task
            .split(['[', ']'])
            .find_map(|it| it.strip_prefix("Progress: keep "))
            .and_then(|it| it.strip_suffix(" current"));
        match (file, turns) {
            (Some(file), 0) => {
                Reply::call("write", json!({ "path": file, "content": "Half done." }))
            }
            _ => Reply::text("Done."),
        }
    });
    ask(&session, &one(&json!({ "progress": true }))).ok();
    assert_eq!(session.read("project/progress.md"), "Half done.");
    session.remove("project/progress.md");
    // In a chain it is in the folder that the steps share.
    let request = json!({ "task": "go", "chain": [{ "agent": "worker", "progress": true }, { "agent": "worker", "progress": true, "task": "Next." }] });
    ask(&session, &request).ok();
    assert!(!session.has("project/progress.md"));
    let told = |n: usize| {
        server.requests()[n].json()["messages"][0]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        told(2).starts_with("[Progress: keep /")
            && told(2).contains("/chain/progress.md current]\n\ngo"),
        "{}",
        told(2)
    );
    // Siblings have one each, and whoever cannot write has none.
    let tasks = json!({ "tasks": [{ "agent": "worker", "task": "a", "progress": true }, { "agent": "worker", "task": "b", "progress": true }] });
    ask(&session, &tasks).ok();
    assert!(session.has("project/progress.md") && session.has("project/progress-1.1.md"));
    session.definition(AGENT, "tools: read\ndefaultProgress: true\n", "You work.");
    let asked = server.requests().len();
    ask(&session, &one(&json!({})))
        .ok()
        .says(["`worker` cannot write, so it keeps no progress file"]);
    assert_eq!(told(asked), "Go");
}

#[test]
fn what_a_child_writes_as_its_answer_is_masked_before_it_is_kept() {
    let (_server, session) = scene(|_, turns| match turns {
        0 => bash("printf 'sk-marker-%s' 0123456789abcdef > out.md"),
        _ => Reply::text("See."),
    });
    let run = run_of(
        &ask(&session, &one(&json!({ "output": "out.md" })))
            .ok()
            .stdout,
    );
    assert_eq!(run["result"], "***");
}

#[test]
fn a_childs_skills_and_files_to_read_can_be_given_with_the_request() {
    let (server, session) = scene(|_, _| Reply::text("Done."));
    session.skill("home/.grove/skills/pdf", "pdf", "Reads PDF files.");
    session.file("project/a.md", "a");
    ask(
        &session,
        &one(&json!({ "skills": ["pdf"], "reads": ["a.md", "b.md"] })),
    )
    .ok();
    let body = server.requests()[0].json();
    let system = body["system"][0]["text"].as_str().unwrap().to_owned();
    assert!(system.contains("pdf"), "{system}");
    assert_eq!(
        body["messages"][0]["content"][0]["text"],
        "[Read from: a.md, b.md]\n\nGo"
    );
    let outcome = ask(&session, &one(&json!({ "skill": "nope" }))).ok();
    outcome.says(["nope"]);
}

#[test]
fn data_in_words_is_taken_and_asked_for_once_more_where_there_is_none() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    for (first, second, attempts, is_given) in [
        ("{\"n\": 7}", "", 1, true),
        ("Here:\n\n```json\n{\"n\": 7}\n```", "", 1, true),
        ("It is seven.", "{\"n\": 7}", 2, true),
        ("{\"n\": \"seven\"}", "```\n{\"n\": 7}\n```", 2, true),
        ("It is seven.", "Seven.", 2, false),
    ] {
        let (server, session) =
            scene(move |_, turns| Reply::text(if turns == 0 { first } else { second }));
        let asked = ask(&session, &one(&json!({ "outputSchema": schema })));
        let run = run_of(&asked.stdout);
        let node = &run["nodes"][0];
        let tries = node["attempts"].as_array().unwrap();
        assert_eq!(tries.len(), attempts, "{first}");
        assert_eq!(server.requests().len(), attempts, "{first}");
        let value = if is_given {
            json!({ "n": 7 })
        } else {
            Value::Null
        };
        assert_eq!(node["output"]["structured"], value, "{first}");
        assert_eq!(asked.code, i32::from(!is_given), "{first}");
        if first.contains("\"seven\"") {
            let told = server.requests()[1].json().to_string();
            assert!(told.contains("does not meet the schema"), "{told}");
        }
    }
}

#[test]
fn a_command_that_may_fail_has_to_end_by_itself() {
    for (line, expected) in [
        ("false", "verified"),
        ("sleep 30", "rejected"),
        ("kill -9 $$", "rejected"),
    ] {
        let (_server, session) = scene(|_, _| Reply::text("Done."));
        let verify =
            json!([{ "id": "v", "command": line, "timeoutMs": 500, "allowFailure": true }]);
        let asked = ask(
            &session,
            &one(&json!({ "acceptance": { "verify": verify } })),
        );
        let run = run_of(&asked.stdout);
        assert_eq!(run["acceptance"], expected, "{line}");
    }
}
