//! A home with agents, a scripted model, and the engine that has both.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use grove_engine::below::grove_store::Store;
use grove_engine::below::submit;
use grove_engine::view::{RunPlaces, RunView};
use grove_engine::{Called, Engine, RunOrder, SubagentAnswer, SubagentCall, Waited};
use grove_skills::Environment;
use grove_testkit::model_server::{ModelServer, Script};
use serde_json::Value;
use tempfile::TempDir;

/// The longest time that anything may take on a machine that is busy.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) server: ModelServer,
    pub(crate) engine: Engine,
}

impl Scene {
    pub(crate) fn new(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = ModelServer::start(script).unwrap();
        let environment = environment(&folder, &server);
        for below in ["home/.grove/agents", "work"] {
            fs::create_dir_all(folder.path().join(below)).unwrap();
        }
        let scene = Self {
            engine: Engine::new(environment),
            folder,
            server,
        };
        scene.agent("scout", "tools: ls, contact_supervisor, subagent");
        scene
    }

    /// Writes an agent of the person's.
    pub(crate) fn agent(&self, name: &str, keys: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Looks around.\nmodel: anthropic/m\n{keys}\n---\nYou look around.\n"
        );
        fs::write(self.path(&format!("home/.grove/agents/{name}.md")), text).unwrap();
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn places(&self) -> RunPlaces {
        RunPlaces::in_state(&self.engine.environment().state)
    }

    /// Submits a task for one agent, and returns the id of the run.
    pub(crate) fn submit(&self, agent: &str, task: &str) -> String {
        let resolved = self
            .engine
            .resolve(&RunOrder::of_task(agent, task))
            .unwrap();
        self.engine.submit(&resolved).unwrap().0.id
    }

    /// Submits it without having a supervisor do anything.
    pub(crate) fn submit_alone(&self, agent: &str, task: &str) -> String {
        let resolved = self
            .engine
            .resolve(&RunOrder::of_task(agent, task))
            .unwrap();
        self.engine.journal().unwrap();
        let store = Store::open(&self.places().journal()).unwrap();
        submit(&store, &resolved).unwrap().id
    }

    pub(crate) fn wait(&self, run: &str) -> RunView {
        self.engine.wait(run, LIMIT).unwrap()
    }

    /// Calls the tool as a host does, and waits for what it waits for.
    pub(crate) fn call(&self, arguments: &Value) -> SubagentAnswer {
        let called = self.engine.subagent(&SubagentCall {
            arguments: arguments.as_object().unwrap().clone(),
            host: grove_engine::HostFacts::default(),
        });
        let mut awaited = match called {
            Called::Done(answer) => return *answer,
            Called::Awaits(awaited) => awaited,
        };
        self.engine.wait(&awaited.run, LIMIT).unwrap();
        match self.engine.look_at_awaited(&mut awaited, true) {
            Waited::Over(answer) => *answer,
            Waited::GoesOn(_) => unreachable!("the last look has an answer"),
        }
    }
}

fn environment(folder: &TempDir, server: &ModelServer) -> Environment {
    let variables = [
        ("ANTHROPIC_API_KEY", "a-key-of-the-tests".to_owned()),
        ("ANTHROPIC_BASE_URL", server.url()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.into()));
    Environment {
        variables: variables.into_iter().collect(),
        ..Environment::for_home(folder.path().join("home"), folder.path().join("work"))
    }
}
