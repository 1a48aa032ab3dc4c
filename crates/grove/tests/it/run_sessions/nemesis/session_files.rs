//! `kill -9` at every point at which a session is written: by the supervisor, and by whoever resumes, forks or asks for the
//! file. Afterwards the session is the same in the journal, in its file and in what a model is told of it.

use std::fmt;

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::Value;

use super::super::{bash, end_all};
use super::{
    ALL, end_trace, go_through, injected, most_of_one, points_of, supervisor, traced, wait_for,
    was_killed,
};

/// What writes: the journal, the file, its folder and its lock.
const CALLS: [&str; 8] = [
    "fdatasync",
    "pwrite64",
    "write",
    "ftruncate",
    "mkdir",
    "flock",
    "unlink",
    "sendto",
];
const FILE: &str = "project/sessions/ID.1.jsonl";

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Supervisor,
    Resume,
    Fork,
    File,
}

/// Where: when it enters a system call for the nth time.
struct Point(Writer, String, usize);

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(writer, call, n) = self;
        write!(f, "{writer:?} at {call} {n}")
    }
}

/// A child that works, goes on, and is forked from.
struct Story {
    server: ModelServer,
    session: Session,
}

impl Story {
    fn new() -> Self {
        let (server, session) = super::super::graphs::scene(|_, turns| match turns {
            0 => bash("echo ran >> ran"),
            1 => Reply::text("One."),
            2 => Reply::text("Two."),
            _ => Reply::text("Forked."),
        });
        Self { server, session }
    }

    /// The first answer.
    fn begin(&self) -> Result<String, String> {
        let words = "run worker First --session-dir sessions --bg";
        let id = self.session.grove(words).ok().stdout.trim().to_owned();
        self.says(&["runs", "wait", &id, "--timeout", "40"], "One.")?;
        Ok(id)
    }

    fn says(&self, words: &[&str], expected: &str) -> Result<(), String> {
        let outcome = self.session.grove(words.to_vec());
        let is_right = outcome.code == 0 && outcome.stdout.trim() == expected;
        let wrong = || format!("{words:?} is not `{expected}`: {outcome}");
        is_right.then_some(()).ok_or_else(wrong)
    }

    /// What somebody does who is killed meanwhile, or who is only looked at.
    fn act(&self, writer: Writer, id: &str, options: &[String]) -> std::process::Child {
        let fork = format!("--fork={id}");
        let words = match writer {
            Writer::Supervisor => vec!["supervise"],
            Writer::Resume => vec!["runs", "resume", id, "Go on"],
            Writer::Fork => vec!["run", "worker", "Another", &fork],
            Writer::File => {
                // One that has to be cut and completed.
                let path = FILE.replace("ID", id);
                let text = self.session.read(&path);
                let half = text.get(..text.len() / 2).unwrap_or_default();
                self.session
                    .file(path, format!("{half}\n{{\"else\": 1}}\n"));
                vec!["runs", "session", id]
            }
        };
        let mut child = traced(&self.session, options, &words);
        wait_for(&mut child);
        child
    }

    /// The second answer, unless it was asked for already.
    fn go_on(&self, id: &str) -> Result<(), String> {
        let shown = self.session.json(["runs", "show", id]);
        let tries = shown["nodes"][0]["attempts"].as_array().map_or(0, Vec::len);
        match tries {
            1 => self.says(&["runs", "resume", id, "Go on"], "Two."),
            _ => self.says(&["runs", "wait", id, "--timeout", "40"], "Two."),
        }
    }

    fn fork(&self, id: &str) -> Result<(), String> {
        let fork = format!("--fork={id}");
        self.says(&["run", "worker", "Another", &fork], "Forked.")?;
        let requests = self.server.requests();
        let last = requests.last().ok_or("nobody was asked")?.json();
        let blocks = last["messages"].as_array().into_iter().flatten();
        let blocks = blocks.flat_map(|it| it["content"].as_array().into_iter().flatten());
        let told: Vec<&str> = blocks
            .map(|it| it["text"].as_str().or(it["type"].as_str()).unwrap_or("?"))
            .collect();
        let expected = [
            "First",
            "tool_use",
            "tool_result",
            "One.",
            "Go on",
            "Two.",
            "Another",
        ];
        let wrong = || format!("a fork is told {told:?}");
        (told == expected).then_some(()).ok_or_else(wrong)
    }

    /// The file is what the journal says before anybody asks for it, and nothing ran twice.
    fn check(&self, id: &str) -> Result<(), String> {
        let path = FILE.replace("ID", id);
        let written = self.session.read(&path);
        self.session.grove(["runs", "session", id]).ok();
        if self.session.read(&path) != written {
            return Err(format!("the file was left as {written}"));
        }
        let entries: Result<Vec<Value>, _> = written.lines().map(serde_json::from_str).collect();
        let entries = entries.map_err(|error| error.to_string())?;
        let said = |entry: &&Value| entry["message"]["role"] == "assistant";
        if entries.iter().filter(said).count() != 3 {
            return Err(format!("the file has {written}"));
        }
        let ran = if self.session.has("project/ran") {
            self.session.read("project/ran").lines().count()
        } else {
            0
        };
        if ran > 1 {
            return Err(format!("the command ran {ran} times"));
        }
        Ok(())
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        end_all(&self.session);
    }
}

fn strike(Point(writer, call, n): &Point) -> Result<&'static str, String> {
    let story = Story::new();
    let options = injected(call, *n);
    let mut killed = None;
    if *writer == Writer::Supervisor {
        killed = Some(supervisor(&story.session, &options));
    }
    let id = story.begin()?;
    if *writer == Writer::File {
        killed = Some(story.act(*writer, &id, &options));
    }
    if *writer == Writer::Resume {
        killed = Some(story.act(*writer, &id, &options));
    }
    story.go_on(&id)?;
    if *writer == Writer::Fork {
        killed = Some(story.act(*writer, &id, &options));
    }
    story.fork(&id)?;
    story.check(&id)?;
    let is_killed = killed.is_some_and(was_killed);
    Ok(if is_killed { "killed" } else { "not reached" })
}

/// Every point at which one of them writes.
fn all_points() -> Vec<Point> {
    let options = vec!["-e".to_owned(), format!("trace={}", CALLS.join(","))];
    let mut points = Vec::new();
    for writer in [
        Writer::Supervisor,
        Writer::Resume,
        Writer::Fork,
        Writer::File,
    ] {
        let story = Story::new();
        let whole = (writer == Writer::Supervisor).then(|| supervisor(&story.session, &options));
        let id = story.begin().unwrap();
        if let Some(supervisor) = whole {
            story.go_on(&id).unwrap();
            end_trace(supervisor);
        } else {
            wait_for(&mut story.act(writer, &id, &options));
        }
        let counts = most_of_one(&story.session, &CALLS);
        println!("{writer:?}: {counts:?}");
        points.extend(points_of(&counts).map(|(call, n)| Point(writer, call, n)));
    }
    points
}

#[test]
fn whoever_is_killed_while_a_session_is_written_it_goes_on_and_can_be_forked() {
    needs![Strace];
    let points = if std::env::var_os(ALL).is_some() {
        all_points()
    } else {
        let few = [
            (Writer::Supervisor, "ftruncate", 1),
            (Writer::Supervisor, "flock", 2),
            (Writer::Supervisor, "fdatasync", 6),
            (Writer::Resume, "fdatasync", 1),
            (Writer::File, "ftruncate", 1),
            (Writer::File, "write", 1),
        ];
        few.map(|(writer, call, n)| Point(writer, call.to_owned(), n))
            .into()
    };
    go_through(&points, strike);
}
