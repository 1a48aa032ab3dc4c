//! Supervisors that compete for the work of one journal and are killed again and again: every child is driven to one end.
//!
//! A few kills in CI; as many as `cargo xtask nemesis supervisors` wants there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use grove_engine::below::grove_plan::{Fact, NodeId, Outcome};
use grove_engine::below::grove_store::{RunFilter, Store};
use grove_engine::below::{submit, wake};
use grove_engine::view::RunPlaces;
use grove_engine::{Engine, ResolvedRun, RunOrder};
use grove_skills::Environment;
use grove_testkit::model_server::{ModelServer, Reply, Script};

/// Supervisors at a time, each with surroundings of its own: all take what they find, but starts are each one's own.
const COMPETITORS: usize = 3;
/// Children that are not over, at most: who takes work takes all of it.
const AT_ONCE: usize = 60;
/// How long anything may take beside what the kills take.
const LIMIT: Duration = Duration::from_hours(1);

fn wanted(name: &str, usual: usize) -> usize {
    let value = std::env::var(name).ok();
    value.and_then(|value| value.parse().ok()).unwrap_or(usual)
}

struct Competitor {
    process: Child,
    variables: BTreeMap<String, String>,
}

impl Competitor {
    fn start(home: &Path, at: usize, server: &ModelServer) -> Self {
        let variables = BTreeMap::from([
            ("ANTHROPIC_API_KEY".to_owned(), format!("key-number-{at}")),
            ("ANTHROPIC_BASE_URL".to_owned(), server.url()),
        ]);
        let process = Self::spawn(home, &variables);
        Self { process, variables }
    }

    fn spawn(home: &Path, variables: &BTreeMap<String, String>) -> Child {
        Command::new(env!("CARGO_BIN_EXE_grove"))
            .arg("supervise")
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The engine of its surroundings.
    fn engine(&self, home: &Path) -> Engine {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| (name.clone(), value.into()));
        Engine::new(Environment {
            variables: variables.collect(),
            ..Environment::for_home(home.to_path_buf(), home.join("work"))
        })
    }

    /// Kills it, and lets another take its place at once.
    fn kill(&mut self, home: &Path) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.process = Self::spawn(home, &self.variables);
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const AGENT: &str = "---\nname: worker\ndescription: Works.\nmodel: anthropic/m\n---\nYou work.\n";

/// An errand for one child, of whichever competitor has the surroundings of this engine.
fn errand(engine: &Engine, number: usize) -> ResolvedRun {
    let mut order = RunOrder::of_task("worker", &format!("errand {number}"));
    order.request.background = true;
    engine.resolve(&order).unwrap()
}

#[test]
fn supervisors_that_are_killed_lose_nothing_and_do_nothing_twice() {
    let kills = wanted("GROVE_SUPERVISOR_KILLS", 6);
    let attempts = wanted("GROVE_SUPERVISOR_ATTEMPTS", 240);
    let server = ModelServer::start(Script::chosen_by(|_, request| {
        let body = request.json();
        let task = body["messages"][0]["content"][0]["text"].as_str();
        Reply::text(format!("Did {}.", task.unwrap_or_default()))
    }))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let places = RunPlaces::in_state(&home.join(".local/state/grove"));
    for below in [
        places.folder(),
        &home.join("work"),
        &home.join(".grove/agents"),
    ] {
        std::fs::create_dir_all(below).unwrap();
    }
    std::fs::write(home.join(".grove/agents/worker.md"), AGENT).unwrap();
    let store = Store::open(&places.journal()).unwrap();
    let mut competitors: Vec<Competitor> = (0..COMPETITORS)
        .map(|at| Competitor::start(home, at, &server))
        .collect();
    let engines = competitors.iter().map(|it| it.engine(home));
    let engines: Vec<Engine> = engines.collect();
    // They are made beforehand, so that many children are at work at once.
    let errands = (0..attempts).map(|number| errand(&engines[number % COMPETITORS], number));
    let errands: Vec<ResolvedRun> = errands.collect();
    let open = RunFilter {
        only_open: true,
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let end = Instant::now() + LIMIT;
    let (mut submitted, mut killed) = (0, 0);
    let mut left = attempts;
    while left > 0 || submitted < attempts {
        assert!(Instant::now() < end, "{left} of {attempts} are left");
        left = store.runs(&open).unwrap().len();
        while submitted < attempts && left < AT_ONCE {
            let errand = &errands[submitted];
            let run = submit(&store, errand).unwrap();
            wake(&places, &errand.envelope.surroundings, &run.id);
            submitted += 1;
            left += 1;
        }
        // Spread over all of the work, and each time another one.
        if killed < kills && submitted * kills >= killed * attempts && submitted > AT_ONCE / 2 {
            competitors[killed * 7 % COMPETITORS].kill(home);
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(killed, kills);
    let all = RunFilter {
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let rows = store.runs(&all).unwrap();
    assert_eq!(rows.len(), attempts);
    let mut recovered = 0;
    for row in &rows {
        let run = store.load(&row.id).unwrap();
        let endings = run.events.iter().filter(|event| {
            let fact = &event.fact;
            matches!(
                fact,
                Fact::Answered {
                    outcome: Outcome::Ended(_),
                    ..
                }
            )
        });
        assert_eq!(endings.count(), 1, "{} ended more than once", row.title);
        assert_eq!(row.state, "complete", "{}: {:?}", row.title, row.reason);
        let node = &run.state.nodes[&NodeId::step(1)];
        assert_eq!(node.attempts.len(), 1);
        recovered += usize::from(node.attempts[0].recoveries > 0);
        let text = node.output().unwrap().text.unwrap();
        let text = store.artifact(&text).unwrap().unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            format!("Did {}.", row.title.trim_start_matches("worker: "))
        );
    }
    assert!(recovered > 0, "no kill met a child at work");
    println!("{attempts} children, {killed} kills, {recovered} went on after one");
}
