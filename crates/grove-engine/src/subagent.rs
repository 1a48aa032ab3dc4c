//! The tool `subagent` for hosts: one call does what `grove run` or one of `grove runs …` does.
//!
//! A run is in the journal before the answer names it, and a supervisor does the work: nothing of it is kept here. The
//! result belongs to the process that has the token which the answer gives.

mod delivery;
mod managing;
mod said;

use std::fmt::Write as _;
use std::time::Duration;

use grove_catalog::disclosure::marked;
use grove_plan::subagent_tool::{self, is_own_field};
use grove_runs::{ChildWish, stop_run, submit, wish_for_child};
use grove_skills::Environment;
use grove_skills::environment_variables::CLAUDE_CODE_SESSION_ID;
use grove_spec::text::{counted, visible, visible_json};
use grove_store::RunFilter;
use serde_json::{Map, Value, json};

use crate::calling_child;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::journal::{RunJournal, parts_of};
use crate::order::RunOrder;
use crate::resolve;
use crate::words::{after_applying, applied_lines, event_line, list_lines, row_json, show_lines};
use said::Said;

/// Runs that a list has.
const LISTED: usize = 20;

/// Options of `grove run` that no field of a request stands for.
const OPTIONS_ONLY: [&str; 2] = ["--replay", "--include-changes"];

/// A call of the tool `subagent`.
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
    Done(SubagentAnswer),
    /// A run that has to be waited for.
    Awaits(AwaitedRun),
}

/// A run that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedRun {
    /// The id of the run.
    pub run: String,
    /// The token of its owner, where the caller gave it or is given it now.
    pub token: Option<String>,
    /// The lines above the answer.
    pub preface: String,
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
    Over(SubagentAnswer),
    /// It goes on; its last event in words, if there is a new one.
    GoesOn(Option<String>),
}

/// An answer of the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentAnswer {
    /// The words for the model.
    pub text: String,
    /// True if it is a failure.
    pub is_error: bool,
    /// The data for programs.
    pub data: Option<Value>,
}

impl SubagentAnswer {
    /// A text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            data: None,
        }
    }
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

impl Engine {
    fn act(&self, call: &SubagentCall) -> Result<Called, EngineError> {
        let said = Said(&call.arguments);
        let action = said.text("action")?.unwrap_or("run");
        if subagent_tool::needs_owner(action) {
            let runs = self.journal()?;
            let run = runs.load(parts_of(said.needed("run")?).0)?;
            if let Some(refusal) = delivery::refused(&run, said.text("token")?) {
                return Ok(Called::Done(refusal));
            }
        }
        let answer = match action {
            "run" => return self.begin(call, &said),
            "wait" => return self.await_run(&said),
            "answer" => {
                let message = said.needed("message")?.to_owned();
                return self.go_on(call, &said, ChildWish::Answer(message));
            }
            "resume" => {
                let message = said.text("message")?.map(str::to_owned);
                return self.go_on(call, &said, ChildWish::Resume(message));
            }
            "ack" => self.acknowledge(call, &said)?,
            "status" => self.status(&said)?,
            "steer" => {
                let message = said.needed("message")?.to_owned();
                let child = self.want(call, &said, ChildWish::Steer(message))?;
                SubagentAnswer::text(format!("{child} gets the message before its next step"))
            }
            "interrupt" => {
                let child = self.want(call, &said, ChildWish::Pause)?;
                SubagentAnswer::text(format!(
                    "{child} has been told to pause; `action: resume` continues it"
                ))
            }
            "stop" => self.stop(call, &said)?,
            "show" => {
                let runs = self.recovered_journal()?;
                let mut view = runs.view(&runs.load(said.needed("run")?)?);
                let answer = view.answer.take();
                let mut text = show_lines(&view).join("\n");
                text.push('\n');
                if let Some(answer) = answer {
                    let answer = marked("answer", "run", &view.id, &visible(&answer));
                    let _ = writeln!(text, "\n{answer}");
                }
                SubagentAnswer::text(text)
            }
            "apply" => self.apply(&said)?,
            "list" => self.list(&said)?,
            "help" => SubagentAnswer::text(subagent_tool::help()),
            action => managing::act(self, action, &said)?,
        };
        Ok(Called::Done(answer))
    }

    /// Submits a run, as `grove run` does.
    fn begin(&self, call: &SubagentCall, said: &Said<'_>) -> Result<Called, EngineError> {
        let runs = self.journal()?;
        let above = calling_child::above(&runs)?;
        let mut fields = said.0.clone();
        fields.retain(|name, _| !is_own_field(name));
        if subagent_tool::names_no_work(&fields) {
            let message = format!("a run needs {}", subagent_tool::NEEDS_OF_RUN);
            return Err(EngineError::usage(message).hint(
                "`action: list` lists agents and chains; `action: help` explains every field",
            ));
        }
        if let Some(key) = self.key_of(call)
            && !fields.contains_key("submitKey")
        {
            fields.insert("submitKey".to_owned(), Value::String(key));
        }
        let session = self.session_of(call);
        let order = RunOrder {
            is_by_model: true,
            parent_model: call.host.model.clone(),
            session,
            client: Some(who(call).to_owned()),
            ..RunOrder::of_json(&Value::Object(fields))?
        };
        let resolved = resolve::resolve(self.environment(), &order, above.as_ref())?;
        let submitted = submit(&runs.store, &resolved.request)?;
        runs.ensure(&resolved.request.surroundings, &submitted.id)?;
        let mut notes: Vec<String> = resolved
            .warnings
            .iter()
            .map(|it| it.message.clone())
            .collect();
        notes.extend(resolved.notes.into_iter().chain(submitted.notes));
        let preface = delivery::handle(&submitted.id, submitted.owner_token.as_deref(), &notes);
        if resolved.request.background {
            return Ok(Called::Done(SubagentAnswer {
                text: format!("{preface}The run has begun; `action: wait` waits for its result.\n"),
                is_error: false,
                data: Some(json!({
                    "id": submitted.id,
                    "state": runs.store.state_of(&submitted.id)?.0,
                    "ownerToken": submitted.owner_token,
                })),
            }));
        }
        Ok(Called::Awaits(AwaitedRun {
            run: submitted.id,
            token: submitted.owner_token,
            preface,
            limit: said.limit()?,
            told: 0,
            stops_with_call: true,
        }))
    }

    /// Returns the name that a repeated call shares with the first: the host's name for it, in that conversation.
    fn key_of(&self, call: &SubagentCall) -> Option<String> {
        let (host, of_host) = (call.host.name.as_deref()?, call.host.call.as_deref()?);
        let session = self.session_of(call)?;
        Some(format!("{host}/{session}/{of_host}"))
    }

    /// The conversation of the host, as it tells or as it set the environment of the server that it started.
    fn session_of(&self, call: &SubagentCall) -> Option<String> {
        let set = self.environment().variables.get(CLAUDE_CODE_SESSION_ID);
        let told = call.host.session.clone();
        told.or_else(|| set?.to_str().map(str::to_owned))
    }

    fn await_run(&self, said: &Said<'_>) -> Result<Called, EngineError> {
        let runs = self.recovered_journal()?;
        let (run, _) = parts_of(said.needed("run")?);
        let loaded = runs.load(run)?;
        let token = said.text("token")?;
        if let Some(token) = token {
            delivery::require_owner(&loaded, token)?;
        }
        if loaded.state.ended.is_none() {
            runs.ensure(&runs.surroundings(), &loaded.id)?;
        }
        Ok(Called::Awaits(AwaitedRun {
            told: loaded.state.seq,
            run: loaded.id,
            token: token.map(str::to_owned),
            preface: String::new(),
            limit: said.limit()?,
            stops_with_call: false,
        }))
    }

    fn acknowledge(
        &self,
        call: &SubagentCall,
        said: &Said<'_>,
    ) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let loaded = runs.load(said.needed("run")?)?;
        delivery::require_owner(&loaded, said.needed("token")?)?;
        delivery::acknowledge(&runs, &loaded, said.needed("delivery")?, who(call))
    }

    /// Records a wish for a child, and has a supervisor do what follows. Returns the child in words.
    fn want(
        &self,
        call: &SubagentCall,
        said: &Said<'_>,
        wish: ChildWish,
    ) -> Result<String, EngineError> {
        let runs = self.recovered_journal()?;
        let (run, node) = parts_of(said.needed("run")?);
        let loaded = runs.load(run)?;
        let is_end = matches!(wish, ChildWish::Pause | ChildWish::Stop { .. });
        let node = wish_for_child(&runs.store, &loaded, node.as_ref(), who(call), wish)?;
        runs.ensure(&runs.surroundings(), &loaded.id)?;
        if is_end {
            runs.require_told_to_stop(&loaded.id)?;
        }
        Ok(format!("child {node} of run {}", loaded.id))
    }

    /// Lets a child go on, and waits as for a run that has begun.
    fn go_on(
        &self,
        call: &SubagentCall,
        said: &Said<'_>,
        wish: ChildWish,
    ) -> Result<Called, EngineError> {
        let child = self.want(call, said, wish)?;
        if said.flag("background")? {
            let text = format!("{child} continues; `action: wait` waits for its result");
            return Ok(Called::Done(SubagentAnswer::text(text)));
        }
        self.await_run(said)
    }

    fn apply(&self, said: &Said<'_>) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let there = self.environment_in(said)?;
        let applied = runs.apply(&there, said.needed("run")?)?;
        let has_conflicts = applied.has_conflicts();
        let mut lines = applied_lines(&applied);
        lines.extend(after_applying(&applied));
        lines.push(String::new());
        if let Some(failure) = applied.failure {
            return Err(failure);
        }
        Ok(SubagentAnswer {
            is_error: has_conflicts,
            ..SubagentAnswer::text(lines.join("\n"))
        })
    }

    fn stop(&self, call: &SubagentCall, said: &Said<'_>) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let (run, node) = parts_of(said.needed("run")?);
        if node.is_some() {
            let child = self.want(call, said, ChildWish::Stop { now: false })?;
            return Ok(SubagentAnswer::text(format!(
                "{child} has been told to stop"
            )));
        }
        let loaded = runs.load(run)?;
        let id = &loaded.id;
        if loaded.state.ended.is_some() {
            let text = format!("run {id} has already ended ({})", loaded.state.shown());
            return Ok(SubagentAnswer::text(text));
        }
        stop_run(&runs.store, id, who(call));
        runs.ensure(&runs.surroundings(), id)?;
        runs.require_told_to_stop(id)?;
        let text = format!("run {id} has been told to stop");
        Ok(SubagentAnswer::text(text))
    }

    fn status(&self, said: &Said<'_>) -> Result<SubagentAnswer, EngineError> {
        let runs = self.recovered_journal()?;
        let Some(given) = said.text("run")? else {
            return list_runs(&runs, true);
        };
        let (run, _) = parts_of(given);
        let loaded = runs.load(run)?;
        let token = said.text("token")?;
        if let Some(token) = token {
            delivery::require_owner(&loaded, token)?;
        }
        Ok(delivery::told(&runs, &loaded, token))
    }

    fn list(&self, said: &Said<'_>) -> Result<SubagentAnswer, EngineError> {
        let what = said.text("what")?;
        let group = what.filter(|what| what.ends_with('/'));
        let what = if group.is_some() || said.text("task")?.is_some() {
            what.filter(|_| group.is_none()).or(Some("agents"))
        } else {
            what
        };
        let mut text = String::new();
        for (heading, name) in [("Agents", "agents"), ("Chains", "chains"), ("Runs", "runs")] {
            if what.is_some_and(|what| what != name) {
                continue;
            }
            let part = match name {
                "runs" => list_runs(&*self.recovered_journal()?, false)?,
                "chains" => managing::chains(self, said)?,
                _ => managing::agents(self, group, said)?,
            };
            let _ = writeln!(text, "{heading}\n{}", part.text);
        }
        if text.is_empty() {
            let message = "`what` must be `agents`, `chains` or `runs`";
            return Err(EngineError::usage(message));
        }
        Ok(SubagentAnswer::text(text))
    }

    /// Returns the caller's environment, in the folder that a call names.
    fn environment_in(&self, said: &Said<'_>) -> Result<Environment, EngineError> {
        let mut there = self.environment().clone();
        if let Some(folder) = said.text("cwd")? {
            there.working = there.working.join(folder);
            if !grove_fs::files::is_folder(&there.working) {
                let message = format!("there is no folder {}", there.working.display());
                return Err(EngineError::usage(message));
            }
        }
        Ok(there)
    }
}

fn list_runs(runs: &RunJournal, only_open: bool) -> Result<SubagentAnswer, EngineError> {
    let filter = RunFilter {
        only_open,
        most: Some(LISTED),
        ..RunFilter::default()
    };
    let rows = runs.store.runs(&filter)?;
    let data = rows.iter().map(row_json).collect::<Vec<_>>();
    let answer = if rows.is_empty() {
        SubagentAnswer::text(nothing_listed(runs, only_open)?)
    } else {
        SubagentAnswer::text(list_lines(&rows))
    };
    Ok(SubagentAnswer {
        data: Some(json!({ "runs": data })),
        ..answer
    })
}

/// The tool as a host offers it to its model.
impl Engine {
    /// Does what a call of `subagent` asks for, or returns the run that has to be waited for. Touches files; does not wait.
    pub fn subagent(&self, call: &SubagentCall) -> Result<Called, String> {
        self.act(call).map_err(in_words)
    }

    /// Looks at a run that is waited for. `is_last` asks for an answer whatever there is.
    pub fn look_at_awaited(
        &self,
        awaited: &mut AwaitedRun,
        is_last: bool,
    ) -> Result<Waited, String> {
        let (told, waited) = self.look(awaited, is_last).map_err(in_words)?;
        awaited.told = told;
        Ok(waited)
    }

    fn look(&self, awaited: &AwaitedRun, is_last: bool) -> Result<(u64, Waited), EngineError> {
        let runs = self.journal()?;
        let (state, is_over) = runs.store.state_of(&awaited.run)?;
        if is_over || is_last || state == "asking" || state == "paused" {
            let loaded = runs.store.load(&awaited.run)?;
            let mut answer = delivery::told(&runs, &loaded, awaited.token.as_deref());
            answer.text.insert_str(0, &awaited.preface);
            return Ok((awaited.told, Waited::Over(answer)));
        }
        // The supervisor that works on it may be gone.
        runs.recover(&awaited.run)?;
        let news = runs.store.events_after(&awaited.run, awaited.told)?;
        let told = news.last().map_or(awaited.told, |event| event.seq);
        Ok((told, Waited::GoesOn(news.last().map(event_line))))
    }

    /// Stops a run whose caller has cancelled the call that waits for it.
    pub fn cancel_awaited(&self, run: &str) {
        if let Ok(runs) = self.journal() {
            stop_run(&runs.store, run, "a host");
            // Only a supervisor that works on this very run is woken; where there is none, the next look starts one.
            grove_runs::wake(&runs.places, &runs.surroundings(), run);
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
}

/// Returns the text in place of an empty list of runs.
fn nothing_listed(runs: &RunJournal, only_open: bool) -> Result<String, EngineError> {
    let all = RunFilter {
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let n_ended = if only_open {
        runs.store.runs(&all)?.len()
    } else {
        0
    };
    Ok(match n_ended {
        0 if only_open => "no run is open\n".to_owned(),
        0 => "there are no runs\n".to_owned(),
        n_ended => {
            let n_ended = counted(n_ended, "ended run");
            format!("no run is open; `action: list` with `what: runs` lists {n_ended}\n")
        }
    })
}

/// An error in words for a model. Hints that only a command line can follow are left out.
fn in_words(mut error: EngineError) -> String {
    let is_followed = |hint: &String| !OPTIONS_ONLY.iter().any(|option| hint.contains(option));
    error.hints.retain(is_followed);
    error.message_with_hints()
}

/// Returns the name under which the wishes of a host are recorded.
fn who(call: &SubagentCall) -> &str {
    call.host.name.as_deref().unwrap_or("a host")
}
