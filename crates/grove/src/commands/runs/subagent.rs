//! The tool `subagent` for hosts: what a call of it asks for, done as `grove run` and `grove runs …` do it.
//!
//! Nothing of a run is here: it is in the journal before the answer names it, and a supervisor does the work. Whoever has the
//! token that the answer gives owns the result, in whichever process.

mod delivery;
mod managing;
mod said;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use grove_catalog::disclosure::marked;
use grove_plan::subagent_tool::{self, Caller, is_own_field};
use grove_runs::{ChildWish, stop_run, submit, wish_for_child};
use grove_server::{AwaitedRun, Called, SubagentAnswer, SubagentCall, Subagents, Waited};
use grove_skills::Environment;
use grove_skills::environment_variables::CLAUDE_CODE_SESSION_ID;
use grove_spec::text::{visible, visible_json};
use grove_store::RunFilter;
use serde_json::{Value, json};

use super::super::counted;
use super::controlling::parts_of;
use super::{ModelSettings, Runs, line_of, list, marks, patches, request, show, supervise};
use crate::command_error::CommandError;
use crate::output::Output;
use said::Said;

/// Runs that a list has.
const LISTED: usize = 20;

/// Options of `grove run` that no field of a request stands for.
const OPTIONS_ONLY: [&str; 2] = ["--replay", "--include-changes"];

/// The tool in one server.
pub(crate) struct SubagentTool {
    environment: Environment,
    /// Opened by the first call that needs it: most hosts delegate nothing.
    runs: Mutex<Option<Arc<Runs>>>,
}

impl SubagentTool {
    pub(crate) fn new(environment: Environment) -> Self {
        Self {
            environment,
            runs: Mutex::default(),
        }
    }

    fn runs(&self) -> Result<Arc<Runs>, CommandError> {
        let mut known = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // A server lives long: the journal may have been removed under it, and another one begun.
        if let Some(runs) = known.as_ref().filter(|runs| runs.version().is_ok()) {
            return Ok(Arc::clone(runs));
        }
        let runs = Arc::new(Runs::open(&self.environment)?);
        *known = Some(Arc::clone(&runs));
        Ok(runs)
    }

    /// The journal, with somebody who looks after what a dead supervisor left.
    fn recovered(&self) -> Result<Arc<Runs>, CommandError> {
        let runs = self.runs()?;
        if runs.needs_recovery()? {
            supervise::start_or_wake(&runs.places, &self.surroundings(), "")?;
        }
        Ok(runs)
    }

    fn surroundings(&self) -> String {
        ModelSettings::find(&self.environment).surroundings()
    }

    fn act(&self, call: &SubagentCall) -> Result<Called, CommandError> {
        let said = Said(&call.arguments);
        let answer = match said.text("action")?.unwrap_or("run") {
            "run" => return self.begin(call, &said),
            "wait" => return self.wait(&said),
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
                let runs = self.recovered()?;
                let mut view = runs.view(&runs.load(said.needed("run")?)?);
                let answer = view.answer.take();
                let mut shown = said_by(|out| {
                    show(&view, out);
                    Ok(0)
                })?;
                if let Some(answer) = answer {
                    let answer = marked("answer", "run", &view.id, &visible(&answer));
                    let _ = writeln!(shown.text, "\n{answer}");
                }
                shown
            }
            "apply" => {
                let runs = self.recovered()?;
                let run = said.needed("run")?;
                let there = self.environment_in(&said)?;
                said_by(|out| patches::apply(&there, &runs, run, false, out))?
            }
            "list" => self.list(&said)?,
            "help" => SubagentAnswer::text(subagent_tool::help()),
            action => managing::act(self, action, &said)?,
        };
        Ok(Called::Done(answer))
    }

    /// Submits a run, as `grove run` does.
    fn begin(&self, call: &SubagentCall, said: &Said<'_>) -> Result<Called, CommandError> {
        let runs = self.runs()?;
        let above = marks::above(&self.environment, &runs)?;
        let mut fields = said.0.clone();
        fields.retain(|name, _| !is_own_field(name));
        if subagent_tool::names_no_work(&fields) {
            let message = format!("a run needs {}", subagent_tool::NEEDS_OF_RUN);
            return Err(CommandError::usage(message).hint(
                "`action: list` lists agents and chains; `action: help` explains every field",
            ));
        }
        if let Some(key) = self.key_of(call)
            && !fields.contains_key("submitKey")
        {
            fields.insert("submitKey".to_owned(), Value::String(key));
        }
        let session = self.session_of(call);
        let asked = request::AskedByHost {
            fields: &Value::Object(fields),
            parent_model: call.host.model.as_deref(),
            session: session.as_deref(),
        };
        let resolved = request::resolve_for_host(&self.environment, &asked, above.as_ref())?;
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

    /// What makes a call the same when it is made again: the name that its host gave it, in that conversation.
    fn key_of(&self, call: &SubagentCall) -> Option<String> {
        let (host, of_host) = (call.host.name.as_deref()?, call.host.call.as_deref()?);
        let session = self.session_of(call)?;
        Some(format!("{host}/{session}/{of_host}"))
    }

    /// The conversation of the host, as it tells or as it set the environment of the server that it started.
    fn session_of(&self, call: &SubagentCall) -> Option<String> {
        let set = self.environment.variables.get(CLAUDE_CODE_SESSION_ID);
        let told = call.host.session.clone();
        told.or_else(|| set?.to_str().map(str::to_owned))
    }

    fn wait(&self, said: &Said<'_>) -> Result<Called, CommandError> {
        let runs = self.recovered()?;
        let (run, _) = parts_of(said.needed("run")?);
        let loaded = runs.load(run)?;
        let token = said.text("token")?;
        if let Some(token) = token {
            delivery::require_owner(&loaded, token)?;
        }
        if loaded.state.ended.is_none() {
            runs.ensure(&self.surroundings(), &loaded.id)?;
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
    ) -> Result<SubagentAnswer, CommandError> {
        let runs = self.recovered()?;
        let loaded = runs.load(said.needed("run")?)?;
        delivery::require_owner(&loaded, said.needed("token")?)?;
        delivery::acknowledge(&runs, &loaded, said.needed("delivery")?, who(call))
    }

    /// Records a wish for a child, and sees to it that somebody does what follows. Gives the child in words.
    fn want(
        &self,
        call: &SubagentCall,
        said: &Said<'_>,
        wish: ChildWish,
    ) -> Result<String, CommandError> {
        let runs = self.recovered()?;
        let (run, node) = parts_of(said.needed("run")?);
        let loaded = runs.load(run)?;
        let node = wish_for_child(&runs.store, &loaded, node.as_ref(), who(call), wish)?;
        runs.ensure(&self.surroundings(), &loaded.id)?;
        Ok(format!("child {node} of run {}", loaded.id))
    }

    /// Lets a child go on, and waits as for a run that has begun.
    fn go_on(
        &self,
        call: &SubagentCall,
        said: &Said<'_>,
        wish: ChildWish,
    ) -> Result<Called, CommandError> {
        let child = self.want(call, said, wish)?;
        if said.flag("background")? {
            let text = format!("{child} continues; `action: wait` waits for its result");
            return Ok(Called::Done(SubagentAnswer::text(text)));
        }
        self.wait(said)
    }

    fn stop(&self, call: &SubagentCall, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
        let runs = self.recovered()?;
        let (run, node) = parts_of(said.needed("run")?);
        if node.is_some() {
            let message = "`stop` ends a whole run, not one child";
            return Err(CommandError::usage(message).hint("`action: interrupt` pauses one child"));
        }
        let loaded = runs.load(run)?;
        let id = &loaded.id;
        if loaded.state.ended.is_some() {
            let text = format!("run {id} has already ended ({})", loaded.state.shown());
            return Ok(SubagentAnswer::text(text));
        }
        stop_run(&runs.store, id, who(call));
        runs.ensure(&self.surroundings(), id)?;
        let text = format!("run {id} has been told to stop");
        Ok(SubagentAnswer::text(text))
    }

    fn status(&self, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
        let runs = self.recovered()?;
        let Some(given) = said.text("run")? else {
            return self.list_runs(&runs, true);
        };
        let (run, _) = parts_of(given);
        let loaded = runs.load(run)?;
        let token = said.text("token")?;
        if let Some(token) = token {
            delivery::require_owner(&loaded, token)?;
        }
        Ok(delivery::told(&runs, &loaded, token))
    }

    fn list(&self, said: &Said<'_>) -> Result<SubagentAnswer, CommandError> {
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
                "runs" => self.list_runs(&*self.recovered()?, false)?,
                "chains" => managing::chains(self, said)?,
                _ => managing::agents(self, group, said)?,
            };
            let _ = writeln!(text, "{heading}\n{}", part.text);
        }
        if text.is_empty() {
            let message = "`what` must be `agents`, `chains` or `runs`";
            return Err(CommandError::usage(message));
        }
        Ok(SubagentAnswer::text(text))
    }

    fn list_runs(&self, runs: &Runs, only_open: bool) -> Result<SubagentAnswer, CommandError> {
        let filter = RunFilter {
            only_open,
            most: Some(LISTED),
            ..RunFilter::default()
        };
        let rows = runs.store.runs(&filter)?;
        let data = rows.iter().map(super::row_json).collect::<Vec<_>>();
        let answer = if rows.is_empty() {
            SubagentAnswer::text(nothing_listed(runs, only_open)?)
        } else {
            said_by(|out| {
                list(&self.environment, &rows, false, out);
                Ok(0)
            })?
        };
        Ok(SubagentAnswer {
            data: Some(json!({ "runs": data })),
            ..answer
        })
    }

    /// The surroundings of whoever asks, in the folder that a call names.
    fn environment_in(&self, said: &Said<'_>) -> Result<Environment, CommandError> {
        let mut there = self.environment.clone();
        if let Some(folder) = said.text("cwd")? {
            there.working = there.working.join(folder);
            if !grove_fs::files::is_folder(&there.working) {
                let message = format!("there is no folder {}", there.working.display());
                return Err(CommandError::usage(message));
            }
        }
        Ok(there)
    }
}

impl Subagents for SubagentTool {
    fn tool(&self) -> (&'static str, String, Value) {
        let caller = Caller::Host;
        (
            subagent_tool::SUBAGENT,
            subagent_tool::description(caller),
            subagent_tool::schema(caller),
        )
    }

    fn call(&self, call: &SubagentCall) -> Result<Called, String> {
        self.act(call).map_err(in_words)
    }

    fn look(&self, awaited: &mut AwaitedRun, is_last: bool) -> Result<Waited, String> {
        let look = || {
            let runs = self.runs()?;
            let (state, is_over) = runs.store.state_of(&awaited.run)?;
            if is_over || is_last || state == "asking" || state == "paused" {
                let loaded = runs.store.load(&awaited.run)?;
                let mut answer = delivery::told(&runs, &loaded, awaited.token.as_deref());
                answer.text.insert_str(0, &awaited.preface);
                return Ok((awaited.told, Waited::Over(answer)));
            }
            // Whoever does the work may be gone.
            if runs.needs_recovery()? {
                supervise::start_or_wake(&runs.places, &self.surroundings(), &awaited.run)?;
            }
            let news = runs.store.events_after(&awaited.run, awaited.told)?;
            let told = news.last().map_or(awaited.told, |event| event.seq);
            Ok((told, Waited::GoesOn(news.last().map(line_of))))
        };
        let (told, waited) = look().map_err(in_words)?;
        awaited.told = told;
        Ok(waited)
    }

    fn cancelled(&self, run: &str) {
        if let Ok(runs) = self.runs() {
            stop_run(&runs.store, run, "a host");
            // The supervisor is awake: it works on this very run. One that is not there begins with the next look.
            grove_runs::wake(&runs.places, &self.surroundings(), run);
        }
    }

    fn version(&self) -> u64 {
        let runs = self.runs();
        runs.map_or(0, |runs| runs.version().unwrap_or_default())
    }

    fn resource(&self, run: &str) -> Option<(String, u64)> {
        let runs = self.runs().ok()?;
        let loaded = runs.load(run).ok()?;
        let text = serde_json::to_string_pretty(&runs.view(&loaded)).ok()?;
        Some((visible_json(&text), loaded.state.seq))
    }
}

/// What is said in place of an empty list of runs.
fn nothing_listed(runs: &Runs, only_open: bool) -> Result<String, CommandError> {
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
fn in_words(mut error: CommandError) -> String {
    let is_followed = |hint: &String| !OPTIONS_ONLY.iter().any(|option| hint.contains(option));
    error.hints.retain(is_followed);
    error.message_with_hints()
}

/// Who wants something when a host does.
fn who(call: &SubagentCall) -> &str {
    call.host.name.as_deref().unwrap_or("a host")
}

/// What a command says, as an answer.
fn said_by(
    command: impl FnOnce(&mut Output) -> Result<u8, CommandError>,
) -> Result<SubagentAnswer, CommandError> {
    let mut out = Output::default();
    let code = command(&mut out)?;
    Ok(SubagentAnswer {
        is_error: code != 0,
        ..SubagentAnswer::text(out.into_text())
    })
}
