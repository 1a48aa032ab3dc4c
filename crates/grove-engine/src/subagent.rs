//! The tool `subagent`, for hosts and for children: one call does what `grove run` or one of `grove runs …` does.
//!
//! A run is in the journal before the answer names it, and a supervisor does the work: nothing of it is kept here. A host
//! owns a run by the token that the answer gives; a child owns the runs that it asked for, and those below them.

mod answers;
mod arguments;
mod managing;

use std::time::Duration;

use grove_exec::{StopTokens, now};
use grove_plan::subagent_tool::{self, Caller, is_own_field};
use grove_plan::{Fact, Refused, Wish};
use grove_skills::Environment;
use grove_skills::environment_variables::CLAUDE_CODE_SESSION_ID;
use grove_spec::Digest;
use grove_spec::text::{one_line, visible_json};
use grove_store::{LoadedRun, NewEvent, RunFilter, StoreError};
use serde_json::{Map, Value};

use crate::calling_child::{CallingChild, is_own, not_own};
use crate::controlling::{ChildWish, stop_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::journal::{RunJournal, parts_of};
use crate::order::RunOrder;
use crate::resolve;
use crate::submission::submit;
use crate::supervisor::blocking;
use crate::tools::{ToolCall, ToolResult};
use crate::words::event_line;
pub use answers::{RunReport, SubagentAnswer};
use arguments::CallArguments;

const LISTED: usize = 20;
/// The time between two looks at a run that a child waits for.
const LOOK: Duration = Duration::from_millis(20);
/// The name in the journal for a child that wants something of a run.
const BY_CHILD: &str = "the child above";

/// A call of the tool `subagent` by a host.
#[derive(Debug, Clone)]
pub struct SubagentCall {
    /// The arguments of the call.
    pub arguments: Map<String, Value>,
    /// The host that calls.
    pub host: HostFacts,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Called {
    /// An answer to the call.
    Done(Box<SubagentAnswer>),
    /// A run that has to be waited for.
    Awaits(AwaitedRun),
}

impl From<SubagentAnswer> for Called {
    fn from(answer: SubagentAnswer) -> Self {
        Self::Done(Box::new(answer))
    }
}

/// A run that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedRun {
    /// The id of the run.
    pub run: String,
    /// The token of its owner, where the caller gave it or is given it now.
    pub token: Option<String>,
    /// The notes about a run that has just begun; none for one that was there.
    pub begun: Option<Vec<String>>,
    /// The longest time to wait.
    pub limit: Duration,
    /// The last event that the caller was told of.
    pub told: u64,
    /// True if a caller that cancels the call wants the run to stop.
    pub stops_with_call: bool,
}

/// The state of a run that is waited for.
#[derive(Debug)]
pub enum Waited {
    /// It is over, or waits for an answer.
    Over(Box<SubagentAnswer>),
    /// It goes on; its last event in words, if there is a new one.
    GoesOn(Option<String>),
}

/// The host that calls, as far as it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name for itself.
    pub name: Option<String>,
    /// The id of its conversation.
    pub session: Option<String>,
    /// The model of its conversation.
    pub model: Option<String>,
    /// The name of the call, which is the same when the call is made again.
    pub call: Option<String>,
}

#[derive(Clone, Copy)]
enum ToolCaller<'a> {
    Host(&'a HostFacts),
    Child(&'a CallingChild),
}

impl ToolCaller<'_> {
    /// The name under which its wishes are recorded.
    fn by(&self) -> &str {
        match self {
            Self::Host(host) => host.name.as_deref().unwrap_or("a host"),
            Self::Child(_) => BY_CHILD,
        }
    }

    fn kind(&self) -> Caller {
        match self {
            Self::Host(_) => Caller::Host,
            Self::Child(_) => Caller::Child,
        }
    }
}

/// The tool as a host offers it to its model.
impl Engine {
    /// Does what a call of `subagent` asks for, or returns the run that has to be waited for. Touches files; does not wait.
    pub fn subagent(&self, call: &SubagentCall) -> Called {
        let caller = ToolCaller::Host(&call.host);
        answered(self.act(caller, &call.arguments))
    }

    /// Looks at a run that is waited for. `is_last` asks for an answer whatever there is.
    pub fn look_at_awaited(&self, awaited: &mut AwaitedRun, is_last: bool) -> Waited {
        let looked = self.look_at(awaited, is_last);
        looked.unwrap_or_else(|error| Waited::Over(Box::new(SubagentAnswer::Failed(error))))
    }

    fn look_at(&self, awaited: &mut AwaitedRun, is_last: bool) -> Result<Waited, EngineError> {
        let runs = self.journal()?;
        if is_last || is_settled(&runs, &awaited.run)? {
            let loaded = runs.store.load(&awaited.run)?;
            let mut report = RunReport::of(&runs, &loaded, awaited.token.clone());
            report.begun.clone_from(&awaited.begun);
            return Ok(Waited::Over(Box::new(SubagentAnswer::Run(Box::new(
                report,
            )))));
        }
        // The supervisor that works on it may be gone.
        runs.recover(&awaited.run)?;
        let news = runs.store.events_after(&awaited.run, awaited.told)?;
        awaited.told = news.last().map_or(awaited.told, |event| event.seq);
        Ok(Waited::GoesOn(news.last().map(event_line)))
    }

    /// Stops a run whose caller has cancelled the call that waits for it.
    pub fn cancel_awaited(&self, run: &str) {
        if let Ok(runs) = self.journal() {
            stop_run(&runs.store, run, "a host");
            // Only a supervisor that works on this very run is woken; where there is none, the next look starts one.
            crate::waking::wake(&runs.places, &runs.surroundings(), run);
        }
    }

    /// Returns a number that changes with the journal.
    pub fn version(&self) -> u64 {
        let runs = self.journal();
        runs.map_or(0, |runs| runs.version().unwrap_or_default())
    }

    /// Returns a run as JSON, with a number that changes when the run does.
    pub fn run_json(&self, run: &str) -> Option<(String, u64)> {
        let runs = self.journal().ok()?;
        let loaded = runs.load(run).ok()?;
        let text = serde_json::to_string_pretty(&runs.view(&loaded)).ok()?;
        Some((visible_json(&text), loaded.state.seq))
    }

    /// Does what a child's call asks for, and waits for the run if the child does. A repeated call with the same name leads
    /// to the same run.
    pub(crate) async fn subagent_of_child(
        &self,
        child: &CallingChild,
        call: ToolCall<'_>,
    ) -> ToolResult {
        let child = CallingChild {
            call: call.id.cloned(),
            ..child.clone()
        };
        let mut arguments = call.arguments.as_object().cloned().unwrap_or_default();
        // Models give null for fields that they leave out.
        arguments.retain(|_, value| !value.is_null());
        // Resolving looks for agents and skills, and may ask programs for their versions, so it blocks.
        let called = blocking(|| self.act(ToolCaller::Child(&child), &arguments));
        match answered(called) {
            Called::Done(answer) => answer.into_result(),
            Called::Awaits(awaited) => self.wait_for_child(awaited, call.stop).await,
        }
    }

    async fn wait_for_child(&self, mut awaited: AwaitedRun, stop: &StopTokens) -> ToolResult {
        loop {
            let is_over = self
                .journal()
                .and_then(|runs| is_settled(&runs, &awaited.run));
            if !matches!(is_over, Ok(false)) {
                return match self.look_at_awaited(&mut awaited, true) {
                    Waited::Over(answer) => answer.into_result(),
                    Waited::GoesOn(_) => continue,
                };
            }
            tokio::select! {
                () = stop.soft.cancelled() => return ToolResult::failed("interrupted"),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    fn act(
        &self,
        caller: ToolCaller<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Called, EngineError> {
        let arguments = CallArguments(arguments);
        let action = arguments.text("action")?.unwrap_or("run");
        if !subagent_tool::has_action(caller.kind(), action) {
            return Err(no_action(caller, action));
        }
        if let Some(refused) = self.refused(caller, action, &arguments)? {
            return Ok(refused.into());
        }
        let answer = match action {
            "run" => return self.begin(caller, &arguments),
            "wait" => return self.await_run(&arguments),
            "answer" => {
                let message = arguments.needed("message")?.to_owned();
                return self.go_on(caller, &arguments, ChildWish::Answer(message));
            }
            "resume" => {
                let message = arguments.text("message")?.map(str::to_owned);
                return self.go_on(caller, &arguments, ChildWish::Resume(message));
            }
            "stop" => return self.stop(caller, &arguments),
            "ack" => self.acknowledge(caller, &arguments)?,
            "status" => self.status(caller, &arguments)?,
            "steer" => {
                let message = arguments.needed("message")?.to_owned();
                let given = arguments.needed("run")?;
                let child = self.recovered_journal()?;
                let child = child.want_by(given, caller.by(), ChildWish::Steer(message))?;
                SubagentAnswer::Steered(child)
            }
            "interrupt" => {
                let given = arguments.needed("run")?;
                let child = self.recovered_journal()?;
                SubagentAnswer::Interrupted(child.want_by(given, caller.by(), ChildWish::Pause)?)
            }
            "show" => {
                let runs = self.recovered_journal()?;
                let loaded = runs.load(arguments.needed("run")?)?;
                SubagentAnswer::Shown(Box::new(runs.view(&loaded)))
            }
            "apply" => self.apply(&arguments)?,
            "list" => self.list(&arguments)?,
            "help" => SubagentAnswer::Help,
            action => managing::act(self, action, &arguments)?,
        };
        Ok(answer.into())
    }

    /// The refusal for a caller that does not own a run and wants to change what it does: the run may be another client's, or
    /// the person's. None for its owner.
    fn refused(
        &self,
        caller: ToolCaller<'_>,
        action: &str,
        arguments: &CallArguments<'_>,
    ) -> Result<Option<SubagentAnswer>, EngineError> {
        match caller {
            ToolCaller::Host(_) if subagent_tool::needs_owner(action) => {
                let run = self.journal()?.load(parts_of(arguments.needed("run")?).0)?;
                let token = arguments.text("token")?;
                let is_owner = token.is_some_and(|token| is_owner(&run, token));
                Ok((!is_owner).then(|| SubagentAnswer::NotOwner {
                    run: run.id,
                    has_token: token.is_some(),
                }))
            }
            ToolCaller::Child(child) if action != "run" => {
                let runs = self.journal()?;
                let run = runs.store.find(parts_of(arguments.needed("run")?).0)?;
                if is_own(&runs.store, &child.parent, &run)? {
                    Ok(None)
                } else {
                    Err(not_own(&run))
                }
            }
            _ => Ok(None),
        }
    }

    /// Submits a run, as `grove run` does.
    fn begin(
        &self,
        caller: ToolCaller<'_>,
        arguments: &CallArguments<'_>,
    ) -> Result<Called, EngineError> {
        let runs = self.journal()?;
        let mut fields = arguments.0.clone();
        fields.retain(|name, _| !is_own_field(name));
        if subagent_tool::names_no_work(&fields) {
            let message = format!("a run needs {}", subagent_tool::NEEDS_OF_RUN);
            return Err(EngineError::usage(message).hint(
                "`action: list` lists agents and chains; `action: help` explains every field",
            ));
        }
        let (order, above) = match caller {
            ToolCaller::Host(host) => (
                self.order_of_host(host, fields)?,
                CallingChild::of_process(&runs)?,
            ),
            ToolCaller::Child(child) => (
                RunOrder::of_json(&Value::Object(fields))?,
                Some(child.clone()),
            ),
        };
        let order = RunOrder {
            is_by_model: true,
            ..order
        };
        // A child works in its own folder unless it names one below that.
        let there = match caller {
            ToolCaller::Host(_) => self.environment().clone(),
            ToolCaller::Child(child) => Environment {
                working: child.folder.clone(),
                ..self.environment().clone()
            },
        };
        let resolved = resolve::resolve(self, &there, &order, above.as_ref())?;
        let submitted = submit(&runs.store, &resolved)?;
        runs.ensure(&resolved.envelope.surroundings, &submitted.id)?;
        let warnings = resolved.warnings.iter().map(|it| it.message.clone());
        let notes = warnings.chain(resolved.notes).collect();
        // A child waits for the run that it asks for, whatever the file of the agent says.
        let is_background = match caller {
            ToolCaller::Host(_) => resolved.background,
            ToolCaller::Child(_) => order.request.background,
        };
        if is_background {
            let state = runs.store.state_of(&submitted.id)?.0;
            return Ok(match caller {
                ToolCaller::Host(_) => SubagentAnswer::Begun {
                    submitted,
                    state,
                    notes,
                },
                ToolCaller::Child(_) => SubagentAnswer::BegunBelow(submitted.id),
            }
            .into());
        }
        Ok(Called::Awaits(AwaitedRun {
            run: submitted.id,
            token: submitted
                .owner_token
                .filter(|_| caller.kind() == Caller::Host),
            begun: (caller.kind() == Caller::Host).then_some(notes),
            limit: arguments.limit()?,
            told: 0,
            stops_with_call: true,
        }))
    }

    /// The order of a host. A repeated call shares its key with the first: the host's name for it, in that conversation.
    fn order_of_host(
        &self,
        host: &HostFacts,
        mut fields: Map<String, Value>,
    ) -> Result<RunOrder, EngineError> {
        // The conversation as the host tells, or as it set the environment of the server that it started.
        let set = self.environment().variables.get(CLAUDE_CODE_SESSION_ID);
        let told = host.session.clone();
        let session = told.or_else(|| set?.to_str().map(str::to_owned));
        if let (Some(name), Some(call), Some(session)) = (&host.name, &host.call, &session) {
            let key = || Value::String(format!("{name}/{session}/{call}"));
            fields.entry("submitKey").or_insert_with(key);
        }
        Ok(RunOrder {
            parent_model: host.model.clone(),
            session,
            client: Some(ToolCaller::Host(host).by().to_owned()),
            ..RunOrder::of_json(&Value::Object(fields))?
        })
    }

    fn await_run(&self, arguments: &CallArguments<'_>) -> Result<Called, EngineError> {
        let runs = self.recovered_journal()?;
        let (run, _) = parts_of(arguments.needed("run")?);
        let loaded = runs.load(run)?;
        let token = arguments.text("token")?;
        if let Some(token) = token {
            require_owner(&loaded, token)?;
        }
        if loaded.state.ended.is_none() {
            runs.have_done(&loaded.id)?;
        }
        Ok(Called::Awaits(AwaitedRun {
            told: loaded.state.seq,
            run: loaded.id,
            token: token.map(str::to_owned),
            begun: None,
            limit: arguments.limit()?,
            stops_with_call: false,
        }))
    }

    /// Lets a child go on, and waits as for a run that has begun.
    fn go_on(
        &self,
        caller: ToolCaller<'_>,
        arguments: &CallArguments<'_>,
        wish: ChildWish,
    ) -> Result<Called, EngineError> {
        let runs = self.recovered_journal()?;
        let child = runs.want_by(arguments.needed("run")?, caller.by(), wish)?;
        if arguments.flag("background")? {
            return Ok(SubagentAnswer::Continued(child).into());
        }
        self.await_run(arguments)
    }

    fn stop(
        &self,
        caller: ToolCaller<'_>,
        arguments: &CallArguments<'_>,
    ) -> Result<Called, EngineError> {
        let runs = self.recovered_journal()?;
        let stopped = runs.stop_by(arguments.needed("run")?, caller.by(), false)?;
        match caller {
            ToolCaller::Child(_) if stopped.node.is_none() => self.await_run(arguments),
            _ => Ok(SubagentAnswer::Stopped(stopped).into()),
        }
    }

    fn status(
        &self,
        caller: ToolCaller<'_>,
        arguments: &CallArguments<'_>,
    ) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let Some(given) = arguments.text("run")? else {
            return list_runs(&runs, true);
        };
        let loaded = runs.load(parts_of(given).0)?;
        let token = arguments.text("token")?;
        if let Some(token) = token {
            require_owner(&loaded, token)?;
        }
        let mut report = RunReport::of(&runs, &loaded, token.map(str::to_owned));
        report.is_of_host = caller.kind() == Caller::Host;
        Ok(SubagentAnswer::Run(Box::new(report)))
    }

    /// Marks a result as one that arrived; a second mark changes nothing.
    fn acknowledge(
        &self,
        caller: ToolCaller<'_>,
        arguments: &CallArguments<'_>,
    ) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let run = runs.load(arguments.needed("run")?)?;
        require_owner(&run, arguments.needed("token")?)?;
        let delivery = arguments.needed("delivery")?;
        let Some(current) = delivery_of(&run) else {
            let message = format!("run {} has no result yet", run.id);
            return Err(EngineError::finding(message).hint("`action: wait` waits for it"));
        };
        if current != delivery {
            let message = format!(
                "`{}` is not the result that run {} has now",
                one_line(delivery),
                run.id
            );
            return Err(EngineError::finding(message)
                .hint("the run may have continued since: `action: wait` gives its result and the delivery of that"));
        }
        let draft = NewEvent {
            fact: Fact::Wanted {
                by: caller.by().to_owned(),
                // The same result is acknowledged once, however often a caller says so.
                id: current.clone(),
                wish: Wish::Acknowledge,
            },
            artifacts: Vec::new(),
            at: now(),
        };
        match runs.store.append(&run.id, draft) {
            Ok(_) | Err(StoreError::Refused(Refused::Duplicate)) => {}
            Err(StoreError::Refused(refused)) => return Err(EngineError::finding(refused)),
            Err(error) => return Err(error.into()),
        }
        Ok(SubagentAnswer::Acknowledged {
            run: run.id,
            delivery: current,
        })
    }

    fn apply(&self, arguments: &CallArguments<'_>) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let there = self.environment_in(arguments)?;
        let mut applied = runs.apply(&there, arguments.needed("run")?)?;
        match applied.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(SubagentAnswer::Applied(applied)),
        }
    }

    fn list(&self, arguments: &CallArguments<'_>) -> Result<SubagentAnswer, EngineError> {
        let what = arguments.text("what")?;
        let group = what.filter(|what| what.ends_with('/'));
        let what = if group.is_some() || arguments.text("task")?.is_some() {
            what.filter(|_| group.is_none()).or(Some("agents"))
        } else {
            what
        };
        let mut parts = Vec::new();
        for (heading, name) in [("Agents", "agents"), ("Chains", "chains"), ("Runs", "runs")] {
            if what.is_some_and(|what| what != name) {
                continue;
            }
            let part = match name {
                "runs" => list_runs(&*self.recovered_journal()?, false)?,
                "chains" => managing::chains(self, arguments)?,
                _ => managing::agents(self, group, arguments)?,
            };
            parts.push((heading, part));
        }
        if parts.is_empty() {
            let message = "`what` must be `agents`, `chains` or `runs`";
            return Err(EngineError::usage(message));
        }
        Ok(SubagentAnswer::Listed(parts))
    }

    /// Returns the caller's environment, in the folder that a call names.
    fn environment_in(&self, arguments: &CallArguments<'_>) -> Result<Environment, EngineError> {
        let mut there = self.environment().clone();
        if let Some(folder) = arguments.text("cwd")? {
            there.working = there.working.join(folder);
            if !grove_fs::files::is_folder(&there.working) {
                let message = format!("there is no folder {}", there.working.display());
                return Err(EngineError::usage(message));
            }
        }
        Ok(there)
    }
}

fn answered(called: Result<Called, EngineError>) -> Called {
    called.unwrap_or_else(|error| SubagentAnswer::Failed(error).into())
}

fn no_action(caller: ToolCaller<'_>, action: &str) -> EngineError {
    let names = subagent_tool::actions(caller.kind()).map(|it| it.name);
    let names = names.collect::<Vec<_>>().join(", ");
    let message = format!("there is no action `{}`", one_line(action));
    EngineError::usage(message).hint(format!("the actions are {names}"))
}

/// Returns true if nothing more comes of a run without its caller: it is over, or waits for an answer.
fn is_settled(runs: &RunJournal, run: &str) -> Result<bool, EngineError> {
    let (state, is_over) = runs.store.state_of(run)?;
    Ok(is_over || state == "asking" || state == "paused")
}

fn list_runs(runs: &RunJournal, only_open: bool) -> Result<SubagentAnswer, EngineError> {
    let filter = RunFilter {
        only_open,
        most: Some(LISTED),
        ..RunFilter::default()
    };
    let rows = runs.store.runs(&filter)?;
    let ended = if rows.is_empty() && only_open {
        runs.store.count()?
    } else {
        0
    };
    Ok(SubagentAnswer::Runs {
        rows,
        only_open,
        ended,
    })
}

fn is_owner(run: &LoadedRun, token: &str) -> bool {
    run.state.owner == Some(Digest::of(token.as_bytes()))
}

/// Refuses a caller that does not own the result.
fn require_owner(run: &LoadedRun, token: &str) -> Result<(), EngineError> {
    if is_owner(run, token) {
        return Ok(());
    }
    let message = format!("this is not the token of run {}", run.id);
    Err(EngineError::finding(message)
        .hint("the answer to `action: run` named it; `action: show` needs no token"))
}

/// Returns the name of the result that a run has now: the same for each caller, and another one after the run went on.
fn delivery_of(run: &LoadedRun) -> Option<String> {
    let ended = run.state.ended?;
    let named = format!("{}\0{}\0{}", run.id, ended.wall, ended.boot);
    Some(format!(
        "d{}",
        Digest::of(named.as_bytes()).first_digits(12)
    ))
}
