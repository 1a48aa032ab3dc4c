//! Runs that a child asks for: each is below its own run, with its depth, its budget and no more than its powers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use grove_exec::{StopTokens, now};
use grove_plan::subagent_tool::is_own_field;
use grove_plan::{CallId, Fact, Parent, Tools, TreeLimits, Wish};
use grove_spec::agent::model_scope::ModelScope;
use grove_store::{LoadedRun, NewEvent, Store};
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedSender;

use crate::control::{ChildWish, wish_for_child};
use crate::identity::new_run_id;
use crate::powers::Powers;
use crate::run_report::RunReport;
use crate::submission::{RunRequest, submit};
use crate::submit_key::SubmitKey;
use crate::supervisor::blocking;

/// The time between two looks at a run that a child waits for.
const LOOK: Duration = Duration::from_millis(20);
/// The name in the journal for a child that wants something of a run.
const BY: &str = "the child above";

/// Resolves what a child asks for, as `grove run` does for a person.
pub trait Delegation: Send + Sync {
    /// Returns a run that can be submitted, or the reason why there is none.
    fn resolve(&self, request: &Value, above: &Above) -> Result<RunRequest, String>;
}

/// A child that asks for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Its run, its node and its attempt.
    pub parent: Parent,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// The engine that drives it.
    pub engine: String,
    /// Its model, as `provider/id`; none if a program chooses it.
    pub model: Option<String>,
    /// The tools that it may call.
    pub tools: Tools,
    /// The limits of its run, and the depth of that run.
    pub tree: TreeLimits,
    /// The scopes that its own model had to be in.
    pub model_scopes: Vec<ModelScope>,
    /// The name of its supervisor's surroundings.
    pub surroundings: String,
}

impl Above {
    /// Returns a child of a run as one that asks.
    pub fn of(run: &LoadedRun, parent: Parent, folder: PathBuf) -> Option<Self> {
        let child = run.plan.child(&parent.of.node)?;
        let request: RunRequest = serde_json::from_str(&run.request).ok()?;
        let node = run.state.nodes.get(&parent.of.node);
        let at = node
            .and_then(|node| node.last())
            .map_or(0, |last| last.model);
        let model = child.models.get(at).filter(|name| name.contains('/'));
        Some(Self {
            folder,
            engine: child.engine.clone(),
            model: model.cloned(),
            tools: child.tools.clone(),
            tree: TreeLimits {
                max_depth: run.plan.tree.deepest(&child.limits),
                ..run.plan.tree.clone()
            },
            model_scopes: request.model_scopes,
            surroundings: request.surroundings,
            parent,
        })
    }

    /// Returns the most that the children of its runs may do.
    pub fn powers(&self) -> Powers {
        Powers::of(&self.tools, &self.folder)
    }
}

/// The parts that a child's tool for delegation needs.
pub(crate) struct Delegate {
    pub(crate) store: Arc<Store>,
    pub(crate) delegation: Arc<dyn Delegation>,
    pub(crate) above: Above,
    pub(crate) news: UnboundedSender<String>,
}

impl Delegate {
    /// Does what a call asks for. A repeated call with the same name leads to the same run.
    pub(crate) async fn call(
        &self,
        arguments: &Value,
        call: Option<&CallId>,
        stop: &StopTokens,
    ) -> Result<String, String> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let action = text("action").unwrap_or("run");
        if action == "run" {
            // Resolving looks for agents and skills, and may ask programs for their versions, so it blocks.
            let run = blocking(|| self.begin(arguments, call))?;
            let is_background = arguments.get("background") == Some(&Value::Bool(true));
            return if is_background {
                Ok(format!("run {run} has begun; `action: wait` waits for it"))
            } else {
                self.wait(&run, stop).await
            };
        }
        let run = self.own(text("run").ok_or("`run` says which run is meant")?)?;
        match action {
            "wait" => self.wait(&run, stop).await,
            "status" => self.told(&run),
            "stop" => {
                stop_run(&self.store, &run, BY);
                let _ = self.news.send(run.clone());
                self.wait(&run, stop).await
            }
            "answer" => {
                let message = text("message").ok_or("`message` is the answer")?;
                let loaded = self.store.load(&run).map_err(|error| error.to_string())?;
                let wish = ChildWish::Answer(message.to_owned());
                let told = wish_for_child(&self.store, &loaded, None, BY, wish);
                told.map_err(|error| error.to_string())?;
                let _ = self.news.send(run.clone());
                self.wait(&run, stop).await
            }
            other => Err(format!(
                "there is no action `{other}`: run, wait, status, answer, stop"
            )),
        }
    }

    fn begin(&self, arguments: &Value, call: Option<&CallId>) -> Result<String, String> {
        let mut request: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        // Models give null for fields that they leave out.
        request.retain(|name, value| !value.is_null() && !is_own_field(name));
        let mut run = self
            .delegation
            .resolve(&Value::Object(request), &self.above)?;
        let of = &self.above.parent;
        run.submit_key = call.map(|call| SubmitKey::of_call(&of.run, &of.of, &call.0));
        let submitted = submit(&self.store, &run).map_err(|error| error.to_string())?;
        let _ = self.news.send(submitted.id.clone());
        Ok(submitted.id)
    }

    /// Returns the id of a run if this very child asked for it.
    fn own(&self, given: &str) -> Result<String, String> {
        let run = self.store.find(given).map_err(|error| error.to_string())?;
        let parent = self.store.parent(&run).map_err(|error| error.to_string())?;
        let own = &self.above.parent;
        let is_own = parent.is_some_and(|it| it.run == own.run && it.of.node == own.of.node);
        is_own
            .then_some(run)
            .ok_or_else(|| format!("run `{given}` is not yours"))
    }

    /// Waits until a run is over, or until it waits for an answer or is paused itself.
    async fn wait(&self, run: &str, stop: &StopTokens) -> Result<String, String> {
        loop {
            let (state, is_over) = self
                .store
                .state_of(run)
                .map_err(|error| error.to_string())?;
            if is_over || state == "asking" || state == "paused" {
                return self.told(run);
            }
            tokio::select! {
                () = stop.soft.cancelled() => return Err("interrupted".to_owned()),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Returns the report on a run that the model reads.
    fn told(&self, run: &str) -> Result<String, String> {
        let loaded = self.store.load(run).map_err(|error| error.to_string())?;
        let report = RunReport::of(&self.store, &loaded);
        if report.is_error {
            Err(report.text)
        } else {
            Ok(report.text)
        }
    }
}

/// Tells a run to stop; one that is over stays as it is.
pub fn stop_run(store: &Store, run: &str, by: &str) {
    let fact = Fact::Wanted {
        by: by.to_owned(),
        id: new_run_id(),
        wish: Wish::Stop { now: false },
    };
    let draft = NewEvent {
        fact,
        artifacts: Vec::new(),
        at: now(),
    };
    let _ = store.append(run, draft);
}
