//! Sessions as files, and conversations that children are forked from.

use crate::calling_child::is_own;
use crate::native::{history, no_session};
use grove_plan::{NodeId, Parent, PlannedTask};
use grove_spec::agent::{AgentFile, ContextMode};
use serde_json::Value;

use super::children::ChildResolver;
use crate::engine::Engine;
use crate::engines::ChosenEngine;
use crate::entries;
use crate::error::EngineError;
use crate::journal::parts_of;

/// The conversation from which a run is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Launch<'a> {
    Child(&'a Parent),
    /// That of a host, by the host's own name for it.
    Host(&'a str),
    /// None: a person asks.
    Terminal,
}

/// The conversation that all children of a run begin with.
#[derive(Debug, Default)]
pub(crate) struct Forked {
    /// Its messages; none where children begin fresh.
    pub(crate) history: Vec<Value>,
    /// True if the request says so, so that a child that cannot begin with it is refused.
    pub(crate) is_asked: bool,
    /// The reason why an agent that prefers it begins fresh, where one does.
    pub(crate) why_fresh: Option<String>,
}

impl Forked {
    /// The conversation that the request names with `context`, if it names one.
    pub(crate) fn as_asked(
        engine: &Engine,
        context: Option<&str>,
        launch: Launch<'_>,
    ) -> Result<Option<Self>, EngineError> {
        let Some(context) = context else {
            return Ok(None);
        };
        let history = match context.strip_prefix("fork") {
            Some(named) => forked_from(engine, named.trim_start_matches(':'), launch)?,
            None => Vec::new(),
        };
        Ok(Some(Self {
            history,
            is_asked: true,
            why_fresh: None,
        }))
    }

    /// The conversation of the launch, which an agent prefers although the request does not name it.
    pub(crate) fn as_preferred(engine: &Engine, launch: Launch<'_>) -> Self {
        let why = match launch {
            Launch::Terminal => "none was named".to_owned(),
            launch => match forked_from(engine, "", launch) {
                Ok(history) => {
                    return Self {
                        history,
                        ..Self::default()
                    };
                }
                Err(error) => error.message(),
            },
        };
        Self {
            why_fresh: Some(why),
            ..Self::default()
        }
    }
}

impl ChildResolver<'_> {
    /// Takes the conversation of the launch for all children if an agent prefers that and the request says nothing of it.
    pub(crate) fn prefer_conversation(&self, tasks: &[PlannedTask<'_>]) {
        let agents = &self.look.snapshot.agents;
        let prefers_it = |planned: &PlannedTask<'_>| {
            let agent = entries::find(agents.entries(), &planned.task.agent).ok();
            agent
                .and_then(|agent| agent.file())
                .is_some_and(prefers_fork)
        };
        if tasks.iter().any(prefers_it) {
            self.forked
                .get_or_init(|| Forked::as_preferred(self.engine, self.launch));
        }
    }

    /// The conversation that a child begins with, and why its agent's wish for one is not met.
    pub(crate) fn history_for(
        &self,
        agent: &str,
        file: &AgentFile,
        engine: &ChosenEngine,
    ) -> Result<(&[Value], Option<String>), EngineError> {
        let Some(forked) = self.forked.get() else {
            return Ok((&[], None));
        };
        let cannot = (engine.program.is_some() && !forked.history.is_empty()).then(|| {
            format!(
                "engine `{}` cannot start from another conversation",
                engine.name
            )
        });
        if let Some(message) = cannot.clone().filter(|_| forked.is_asked) {
            return Err(EngineError::usage(message).hint("choose `--engine native` for that"));
        }
        let history: &[Value] = match cannot {
            Some(_) => &[],
            None => &forked.history,
        };
        let why = cannot.or_else(|| forked.why_fresh.clone());
        let note = why.filter(|_| prefers_fork(file)).map(|why| {
            format!(
                "`{agent}` prefers to go on from a conversation; {why}, so it knows its task alone"
            )
        });
        Ok((history, note))
    }
}

/// Returns true if an agent prefers to begin with the conversation that asks.
fn prefers_fork(file: &AgentFile) -> bool {
    file.default_context == Some(ContextMode::Fork)
}

/// The conversation that children are forked from; `named` is a session, or nothing for that of the launch.
fn forked_from(
    engine: &Engine,
    named: &str,
    launch: Launch<'_>,
) -> Result<Vec<Value>, EngineError> {
    let (run, node) = match (named, launch) {
        ("", Launch::Child(parent)) => (parent.run.as_str(), Some(parent.of.node.clone())),
        ("", Launch::Host(session)) => parts_of(session),
        ("", Launch::Terminal) => {
            let message =
                "there is nothing to fork from: this is not a child, and no session is named";
            return Err(EngineError::usage(message)
                .hint("name one: `--fork=RUN.NODE`, or `\"context\": \"fork:RUN.NODE\"`"));
        }
        (named, _) => parts_of(named),
    };
    let runs = engine.journal()?;
    let loaded = runs.load(run).map_err(|_| no_session(run))?;
    let last = loaded.plan.nodes.last().map(|node| node.id.clone());
    let node = node.or(last).unwrap_or_else(|| NodeId::step(1));
    if let Launch::Child(child) = launch {
        let is_itself = child.run == loaded.id && child.of.node == node;
        if !is_itself && !is_own(&runs.store, child, &loaded.id)? {
            let message = format!("{}.{node} is not a conversation of this child", loaded.id);
            return Err(EngineError::usage(message)
                .hint("a child forks its own (`fork`) and those of the runs that it asked for"));
        }
    }
    history(&runs.store, &runs.places, &loaded, &node)
}
