//! The workflows that come with Grove: each played from a recording over real files and git, with the commands of
//! docs/workflows.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptFile};
use grove_testkit::session::{Outcome, Session};
use serde_json::Value;

use crate::documents;

/// Makes the recordings anew, from the scripts beside the sample; `cargo xtask record` sets it.
const RECORD: &str = "GROVE_RECORD";

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn recording(name: &str) -> PathBuf {
    here("../../docs/recordings").join(format!("{name}.jsonl"))
}

/// The sample as a repository with one commit, and something that is not committed.
fn scene() -> Session {
    let session = crate::session();
    let copy = |from: &str| {
        let files = std::fs::read_dir(here("tests/workflows/sample").join(from)).unwrap();
        for file in files.map(Result::unwrap) {
            let to = session.path("project").join(file.file_name());
            std::fs::copy(file.path(), to).unwrap();
        }
    };
    copy("committed");
    for words in [
        "init --quiet",
        "add --all",
        "-c user.name=t -c user.email=t@localhost commit --quiet --message first",
    ] {
        assert_eq!(git(&session, words), "");
    }
    copy("working");
    session
}

fn git(session: &Session, words: &str) -> String {
    let done = Command::new("git")
        .args(words.split(' '))
        .current_dir(session.path("project"))
        .env("HOME", session.path("home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Records one workflow anew: everything is as it is when it is played, but that a server answers.
fn record(name: &str, task: &str) {
    let script = std::fs::read_to_string(here("tests/workflows").join(format!("{name}.json")));
    let script = script.unwrap();
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        // The folder that steps share is known only now.
        let body = String::from_utf8_lossy(&request.body);
        let mut words = body.split([' ', '`', ']']);
        let folder = words.find_map(|word| word.strip_suffix("/change.patch"));
        let script = script.replace("CHAIN_DIR", folder.unwrap_or("CHAIN_DIR"));
        let script: ScriptFile = serde_json::from_str(&script).unwrap();
        let reply = script.marked_reply(request);
        reply.unwrap_or_else(|| Reply::error(400, "the script says nothing to this").into())
    }));
    let server = server.unwrap();
    let file = recording(name);
    let _ = std::fs::remove_file(&file);
    let session = scene()
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", "a-key-of-nobody");
    let file = file.display().to_string();
    let words = [
        "run",
        "--chain",
        name,
        task,
        "--model",
        "anthropic/m",
        "--record",
        &file,
    ];
    session.grove(words).ok();
}

/// Plays a workflow in a folder.
fn play(session: &Session, name: &str, task: &str, more: &str) -> Outcome {
    let file = recording(name).display().to_string();
    let words = [
        "run", "--chain", name, task, "--replay", &file, "--strict", more,
    ];
    session.grove(
        words
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>(),
    )
}

/// What a workflow leaves behind in the repository.
struct Left {
    name: &'static str,
    /// Nodes with how their work was judged, where something was asked of it.
    judged: &'static [&'static str],
    status: &'static str,
    /// A file and what is in it now.
    file: (&'static str, &'static str),
}

const UNCHANGED: &str = " M README.md\n?? mean\n";

const LEFT: [Left; 7] = [
    Left {
        name: "parallel-review",
        judged: &[],
        status: UNCHANGED,
        file: ("mean", "/ count))\n"),
    },
    Left {
        name: "review-loop",
        judged: &["1 reviewed"],
        status: " M README.md\n M test.sh\n?? mean\n",
        file: ("mean", "[ \"$count\" -gt 0 ] || { echo 0; exit; }\n"),
    },
    Left {
        name: "research",
        judged: &[],
        status: UNCHANGED,
        file: ("total", "done < \"$1\"\n"),
    },
    Left {
        name: "build-context",
        judged: &[],
        status: UNCHANGED,
        file: ("total", "done < \"$1\"\n"),
    },
    Left {
        name: "clean-up",
        judged: &["3[unused-average] reviewed", "3[no-largest] reviewed"],
        status: " M README.md\n D average.sh\n?? mean\n",
        file: ("README.md", "is tested in `test.sh`.\n"),
    },
    Left {
        name: "plan-and-implement",
        judged: &["3[several-files] reviewed", "3[say-so] reviewed"],
        status: " M README.md\n M test.sh\n M total\n?? mean\n",
        file: ("README.md", "`sh total FILE…` prints"),
    },
    Left {
        name: "handoff",
        judged: &[],
        status: UNCHANGED,
        file: ("mean", "/ count))\n"),
    },
];

/// The commands of the page, each with its name, its task and what is shown below it.
fn documented() -> Vec<(String, String, Vec<String>)> {
    let sessions = documents::sessions(&documents::document("docs/workflows.md"));
    let parts = sessions.into_iter().map(|(command, shown)| {
        let words = command.strip_prefix("grove run --chain ").unwrap();
        let (name, task) = words.split_once(' ').unwrap();
        (name.to_owned(), task.trim_matches('"').to_owned(), shown)
    });
    parts.collect()
}

#[test]
fn every_workflow_is_played_over_real_files_as_its_page_shows() {
    let documented = documented();
    let names: Vec<&str> = documented.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(
        names,
        LEFT.map(|left| left.name),
        "each has its place on the page"
    );
    for ((name, task, shown), left) in documented.iter().zip(LEFT) {
        if std::env::var_os(RECORD).is_some() {
            record(name, task);
        }
        let session = scene();
        let outcome = play(&session, name, task, "");
        assert_eq!(
            outcome.code, 0,
            "{name}: when children are told something else than before, `cargo xtask record` makes the recordings \
             anew\n{outcome}"
        );
        let lines: Vec<&str> = outcome.stdout.lines().map(str::trim_end).collect();
        assert!(documents::shows(shown, &lines), "{name}: {outcome}");
        assert_eq!(git(&session, "status --short"), left.status, "{name}");
        let (file, part) = left.file;
        let text = std::fs::read_to_string(session.path("project").join(file)).unwrap();
        assert!(text.contains(part), "{name}: {file}: {text}");
        let tested = Command::new("sh")
            .arg("test.sh")
            .current_dir(session.path("project"))
            .status();
        assert!(tested.unwrap().success(), "{name}");
        let listed = session.json("runs list");
        let id = listed["runs"][0]["id"].as_str().unwrap();
        let run = session.json(["runs", "show", id]);
        let nodes = run["nodes"].as_array().unwrap().iter();
        let judged = nodes.filter(|node| {
            node["acceptance"] != "none" && !node["attempts"].as_array().unwrap().is_empty()
        });
        let judged: Vec<String> = judged
            .map(|node| {
                format!(
                    "{} {}",
                    node["id"].as_str().unwrap(),
                    node["acceptance"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(judged, left.judged, "{name}");
        // What the last child wrote for whoever asked is the result, word for word.
        let mut nodes = run["nodes"].as_array().unwrap().iter().rev();
        let said = nodes.find(|node| !node["id"].as_str().unwrap().ends_with(".review"));
        let said = said.unwrap();
        assert_eq!(run["result"], said["output"]["text"], "{name}");
    }
}

/// Nobody has to count: the page says of each how many children it has, and this is what its file comes to.
#[test]
fn the_page_says_how_many_children_a_workflow_has() {
    let page = documents::document("docs/workflows.md");
    let session = scene();
    for left in LEFT {
        let shown = session.json(["chains", "show", left.name]);
        let steps = shown["fields"]["steps"].as_array();
        let steps = steps.unwrap_or_else(|| panic!("{shown}"));
        let (mut least, mut most) = (0, 0);
        for step in steps {
            let of = |task: &Value| 1 + u64::from(task["acceptance"]["review"].is_object());
            match &step["parallel"] {
                Value::Array(tasks) => {
                    least += tasks.iter().map(of).sum::<u64>();
                    most += tasks.iter().map(of).sum::<u64>();
                }
                task @ Value::Object(_) => {
                    let may_be_empty = step["expand"]["onEmpty"] == "skip";
                    least += of(task) * u64::from(!may_be_empty);
                    most += of(task) * step["expand"]["maxItems"].as_u64().unwrap();
                }
                _ => (least, most) = (least + of(step), most + of(step)),
            }
        }
        let said = if least == most {
            format!("| {least} |")
        } else {
            format!("| {least} to {most} |")
        };
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| [`{}`]", left.name)));
        let row = row.unwrap();
        assert!(row.contains(&said), "{row}: {said}");
    }
}

#[test]
fn a_recording_is_refused_when_an_agent_is_told_something_else() {
    let session = scene();
    let (name, task, _) = documented().remove(3);
    let told = "tools: read, grep, find, ls\nthinking: low\ninheritProjectContext: true\n";
    session.definition("home/.grove/agents/scout.md", told, "You look around.");
    let outcome = play(&session, &name, &task, "");
    outcome.fails(1).says(["the system text differs"]);
}
