//! A child that is an agent program: it has one task and a keeper, and gives the same facts as the built-in engine.

mod bridge;
mod calls;
mod first_request;
mod input;
mod loopback;
mod meter;
mod talk;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use grove_exec::{
    EndReason, KeeperOrder, KeeperReport, Program, ProgramEvent, ProgramLaunch, ProgramProvider,
    ProgramState, ProgramTask, ProgramVerdict, StopTokens, verdict,
};
use grove_fs::{FsError, atomic};
use grove_model::Secret;
use grove_plan::{Cause, Finish, Turn, Usage};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::attempt_log::LogLine;
use crate::child_end::ChildEnd;
use crate::driving::{DrivenChild, Driver, Driving, NotOurs, StoredBody};
use crate::error::with_causes;
use crate::models::ProgramModel;
pub(crate) use bridge::RUNTIME_TOOLS;
use bridge::{Bridge, Bridged};
use calls::{CallRecorder, OpenCalls};
use input::Input;
use meter::{Meter, MeterReading, Metered};
use talk::Talk;
pub(crate) use trial::{TrialError, try_program};

/// The model of a program that chooses its own.
pub(crate) const OWN_MODEL: &str = "default";
/// The most bytes that a program may write to its output.
const MOST_OUTPUT: u64 = 256 << 20;
/// The keeper's limit for a child without a limit of its own: half a day. The timer of the plan is another one.
const LONGEST_MS: u64 = 12 * 60 * 60 * 1_000;
/// The most characters of a program's complaint in a cause.
const MOST_COMPLAINT: usize = 400;

/// The time after which a program is ended that said it is done, and says no more.
const MOST_LINGERING: Duration = Duration::from_secs(2);
/// The time after which a program is ended that asked something and does not end by itself.
const MOST_WAITING: Duration = Duration::from_secs(5);

pub(crate) struct AgentProgram {
    pub(crate) program: &'static Program,
    pub(crate) file: PathBuf,
    /// Its model, and the provider for its requests, through the meter; without a provider, it uses its own login.
    pub(crate) model: ProgramModel,
    /// True if a budget counts its requests.
    pub(crate) has_budget: bool,
    pub(crate) environment: Vec<(String, String)>,
    /// A folder of this attempt alone.
    pub(crate) folder: PathBuf,
    /// A folder of its conversation alone.
    pub(crate) home: PathBuf,
}

impl Driver for AgentProgram {
    fn drive<'a>(&'a self, driven: &'a Arc<DrivenChild>) -> Driving<'a> {
        Box::pin(async move {
            let child = ProgramChild {
                of: self,
                talk: Talk::of(driven, &self.home),
                driven,
            };
            child.run().await
        })
    }
}

struct ProgramChild<'a> {
    of: &'a AgentProgram,
    driven: &'a Arc<DrivenChild>,
    talk: Talk,
}

/// The servers beside a program while it runs.
struct Beside {
    meter: Option<Meter>,
    bridge: Option<Bridge>,
    /// Cancelled when the child waits for an answer.
    hold: CancellationToken,
}

impl ProgramChild<'_> {
    /// Runs the program to its end, once: one whose supervisor was gone is not begun again, since it is not known what its
    /// tools have done.
    async fn run(&self) -> Result<ChildEnd, NotOurs> {
        let AgentProgram {
            program,
            folder,
            home,
            ..
        } = self.of;
        let stop = &self.driven.stop;
        if self.driven.epoch > 1 {
            let text = "its supervisor disappeared while the program ran, so the program is not started again";
            self.driven.note(text);
            return Ok(ChildEnd::of(Finish::Interrupted, String::new()));
        }
        if self.talk.resumes.is_none() {
            // The home may have files of another conversation.
            let _ = grove_fs::files::remove_folder(home);
        }
        let isolation = |message: String| Ok(ChildEnd::failed(Cause::Isolation { message }));
        let beside = match self.beside().await {
            Ok(beside) => beside,
            Err(error) => return isolation(format!("nobody can listen beside it: {error}")),
        };
        let Ordered { launch, order } = match self.order(&beside) {
            Ok(ordered) => ordered,
            Err(error) => return Ok(ChildEnd::failed(Cause::input(with_causes(&error)))),
        };
        let input = match Input::of(&launch) {
            Ok(input) => input,
            Err(error) => return isolation(format!("it cannot be told anything: {error}")),
        };
        let (sayer, keeper_stop) = (input.sayer(), StopTokens::default());
        let mut reader = program.reader(&launch);
        let mut calls = self.call_recorder(&beside);
        let mut on_event = |event: ProgramEvent| match event {
            ProgramEvent::Say(line) => sayer.say(line),
            ProgramEvent::Close => sayer.close(),
            event => self.log_event(calls.take(event)),
        };
        let session = Mutex::new(None);
        let (said_over, over) = watch::channel(false);
        let on_output = |bytes: &[u8]| {
            reader.push(bytes, &mut on_event);
            session
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&reader.heard().session);
            said_over.send_replace(reader.heard().is_over);
        };
        let in_band = || {
            let session = session.lock().unwrap_or_else(PoisonError::into_inner);
            session.as_ref().and_then(|session| program.cancel(session))
        };
        let beside_it = async {
            tokio::join!(
                self.end_whoever_waits(&beside.hold),
                end_whoever_lingers(over.clone(), &keeper_stop),
                input.speak(&keeper_stop),
                sayer.pass_stop(stop, &keeper_stop, in_band),
            )
        };
        let ran = tokio::select! {
            ran = self.driven.toolbox.keeper.run(&order, &keeper_stop, on_output) => ran,
            (never, ..) = beside_it => match never {},
        };
        let mut heard = reader.finish(&mut on_event);
        // A program that was ended because it said that it is done has ended by its own word.
        heard.ended_by_word |= heard.is_over && keeper_stop.is_stopped() && !stop.is_stopped();
        let left = folder.join(Program::USAGE_FILE);
        let left = grove_fs::files::read_bounded(&left, 1 << 20).unwrap_or_default();
        heard.usage = program.usage_left(&left).unwrap_or(heard.usage);
        let said = beside.bridge.map(Bridge::finish).unwrap_or_default();
        let reading = match beside.meter {
            Some(meter) => Some(meter.finish().await),
            None => None,
        };
        let mut complaint = complaint(&self.complaints());
        if complaint.is_empty() {
            complaint = told_in_words(&heard.stray);
        }
        if let Some(session) = heard.session.as_ref().filter(|_| launch.remembers) {
            Talk::keep(home, session);
        }
        match &reading {
            Some(reading) if reading.is_not_ours => return Err(NotOurs),
            Some(reading) => believe_the_meter(&mut heard, reading),
            None => self.record_usage(&heard).await?,
        }
        let end = match ran {
            Ok(end) => end,
            Err(error) => return isolation(error.to_string()),
        };
        let refused = reading.and_then(|reading| reading.refused);
        let finish = if let Some(cause) = said.failed.or(refused) {
            Finish::Failed(cause)
        } else if let Some(question) = said.asked {
            Finish::Asked(question)
        } else if said.structured.is_some() && end.report.why == EndReason::Done {
            // The data that was asked for is there, so its last words do not matter.
            Finish::Answered
        } else {
            self.finish_of(&heard, &end.report, &complaint)
        };
        Ok(ChildEnd::of(finish, heard.text).with_value(said.structured))
    }

    fn finish_of(&self, heard: &ProgramState, report: &KeeperReport, complaint: &str) -> Finish {
        match verdict(heard, report) {
            ProgramVerdict::Answered => Finish::Answered,
            ProgramVerdict::Interrupted => Finish::Interrupted,
            ProgramVerdict::TimedOut => Finish::Failed(Cause::TimedOut {
                limit_ms: self.limit_ms(),
            }),
            // A program that was told to stop was stopped, however it ends.
            _ if self.driven.stop.is_stopped() => Finish::Interrupted,
            ProgramVerdict::ModelFailed(failure, message) => {
                Finish::Failed(Cause::Model { failure, message })
            }
            ProgramVerdict::NoAnswer(why) => {
                let why = format!("{}: {why}{complaint}", self.of.program.title);
                let why = self.without_keys(why);
                self.driven.note(why.clone());
                Finish::Failed(Cause::NoAnswer { why })
            }
        }
    }

    /// Returns a text without the person's own keys that the program was given.
    fn without_keys(&self, text: String) -> String {
        self.own_variables()
            .fold(text, |text, (_, value)| Secret::new(value).masked(&text))
    }

    /// The variables of the person's that the program may use.
    fn own_variables(&self) -> impl Iterator<Item = &(String, String)> {
        let of = self.of;
        let given = of.environment.iter();
        given.filter(|(name, _)| of.program.variables.contains(&name.as_str()))
    }

    /// Returns the order for the keeper, with the program's files written.
    fn order(&self, beside: &Beside) -> Result<Ordered, FsError> {
        let (of, child) = (self.of, &self.driven.child);
        let api = of.model.relay.as_ref().map(|relay| relay.api().word());
        let provider = beside.meter.as_ref().map(|meter| ProgramProvider {
            api: api.unwrap_or_default(),
            origin: meter.url(),
            key: meter.token().to_owned(),
        });
        let bridge = beside.bridge.as_ref().map(Bridge::described);
        let arguments = Program::command_of(&child.engine);
        let variables = self.own_variables().map(|(name, _)| name);
        let variables: Vec<String> = variables.cloned().collect();
        let work_folder = self.driven.toolbox.work.path();
        let task = ProgramTask {
            program: &of.file,
            arguments: arguments.get(1..).unwrap_or_default(),
            work_folder,
            system: &self.driven.told.system,
            message: &self.talk.message,
            model: of.model.id.as_deref(),
            thinking: of.model.thinking.as_deref(),
            tools: &child.tools.allowed,
            writes: child.tools.can_write,
            provider: provider.as_ref(),
            variables: &variables,
            bridge: bridge.as_ref(),
            resumes: self.talk.resumes.as_deref(),
            folder: &of.folder,
            home: &of.home,
        };
        grove_fs::files::make_closed_folder(&of.folder)?;
        let launch = of.program.launch(&task);
        let environment = prepared(&launch, of.environment.clone())?;
        let order = KeeperOrder {
            command: launch.whole_command(&self.complaints()),
            environment,
            limit_ms: self.limit_ms(),
            most_output: MOST_OUTPUT,
            ..KeeperOrder::shell("", work_folder.to_path_buf(), &self.driven.toolbox.mark)
        };
        Ok(Ordered { launch, order })
    }

    /// Returns the keeper's limit. The plan's own timer comes first, and asks the program to stop before it ends it.
    fn limit_ms(&self) -> u64 {
        let limit = self.driven.child.limits.max_execution_time_ms;
        limit.map_or(LONGEST_MS, |limit| limit.saturating_add(60_000))
    }

    fn complaints(&self) -> PathBuf {
        self.of.folder.join("complaints.txt")
    }

    async fn beside(&self) -> std::io::Result<Beside> {
        let hold = CancellationToken::new();
        let meter = match &self.of.model.relay {
            Some(relay) => {
                let told = [self.driven.told.system.clone(), self.talk.message.clone()];
                let metered = Metered {
                    relay: relay.clone().with_told(told.clone()),
                    driven: Arc::clone(self.driven),
                    has_budget: self.of.has_budget,
                    told,
                    hold: hold.clone(),
                };
                Some(Meter::start(metered).await?)
            }
            None => None,
        };
        let bridged = Bridged {
            driven: Arc::clone(self.driven),
            hold: hold.clone(),
        };
        let bridge = if self.of.program.can.runtime_tools && bridged.has_tools() {
            Some(Bridge::start(bridged).await?)
        } else {
            None
        };
        Ok(Beside {
            meter,
            bridge,
            hold,
        })
    }

    /// Ends a program that asked a question and does not end by itself: it has nothing to do.
    async fn end_whoever_waits(&self, hold: &CancellationToken) -> std::convert::Infallible {
        hold.cancelled().await;
        tokio::time::sleep(MOST_WAITING).await;
        self.driven.stop.stop(false);
        std::future::pending().await
    }

    /// Makes the recorder of the calls that the program reports.
    fn call_recorder(&self, beside: &Beside) -> CallRecorder {
        let meter = beside.meter.as_ref().map(|meter| meter.token().to_owned());
        let bridge = beside
            .bridge
            .as_ref()
            .map(|bridge| bridge.described().token);
        let is_key = |name: &str| name.ends_with("KEY") || name.ends_with("TOKEN");
        let own = self.own_variables().filter(|(name, _)| is_key(name));
        let own = own.map(|(_, value)| value.clone());
        let secrets = meter.into_iter().chain(bridge).chain(own);
        CallRecorder {
            driven: Arc::clone(self.driven),
            program: self.of.program,
            secrets: secrets.map(Secret::new).collect(),
            open: OpenCalls::default(),
        }
    }

    fn log_event(&self, event: Option<ProgramEvent>) {
        let line = match event {
            Some(ProgramEvent::Text(text)) => LogLine::Text { text },
            Some(ProgramEvent::Thinking(text)) => LogLine::Thinking { text },
            Some(ProgramEvent::Retrying(why)) => LogLine::Note {
                text: format!("asking again after {why}"),
            },
            Some(ProgramEvent::Note(text)) => LogLine::Note { text },
            // The rest was said to the program, or is recorded.
            Some(_) | None => return,
        };
        self.driven.log.write(&line);
    }

    /// Records the usage that the program reports, which is not checked by a meter.
    async fn record_usage(&self, heard: &ProgramState) -> Result<(), NotOurs> {
        let counts = Usage {
            reasoning_in_output: false,
            ..heard.usage
        };
        if heard.text.is_empty() && counts == Usage::default() {
            return Ok(());
        }
        let stored = StoredBody::of(json!([{ "kind": "text", "text": heard.text }]));
        let fact = self.driven.turned(Turn {
            content: stored.body,
            usage: Usage {
                estimated: true,
                ..heard.usage
            },
            stop: "endTurn".to_owned(),
            added: None,
        });
        self.driven.record(fact, stored.artifacts).await.map(drop)
    }
}

/// A program's launch, and the order by which the keeper carries it out.
struct Ordered {
    launch: ProgramLaunch,
    order: KeeperOrder,
}

/// Writes the files of a launch, and returns the environment with what it sets.
fn prepared(
    launch: &ProgramLaunch,
    mut environment: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, FsError> {
    for (file, text) in &launch.files {
        atomic::write_mode(file, text.as_bytes(), 0o600)?;
    }
    environment.retain(|(name, _)| launch.environment.iter().all(|(set, _)| set != name));
    environment.extend(launch.environment.iter().cloned());
    Ok(environment)
}

/// Ends a program that has answered and does not end by itself: it has nothing to do.
async fn end_whoever_lingers(
    mut over: watch::Receiver<bool>,
    keeper: &StopTokens,
) -> std::convert::Infallible {
    loop {
        let is_over = over.wait_for(|over| *over).await.is_ok();
        tokio::select! {
            // A program that says something gets the whole time again.
            Ok(()) = over.changed() => {}
            () = tokio::time::sleep(MOST_LINGERING), if is_over => keeper.stop(false),
            else => std::future::pending().await,
        }
    }
}

/// Takes the failure of a provider from the meter, in the words of the program if it has any.
fn believe_the_meter(heard: &mut ProgramState, reading: &MeterReading) {
    if let Some((failure, message)) = &reading.failure {
        let said = heard.failure.take().map(|(_, said)| said);
        let said = said.filter(|said| !said.is_empty());
        heard.failure = Some((*failure, said.unwrap_or_else(|| message.clone())));
    }
}

/// Returns the last line of a program's complaints.
pub(crate) fn complaint(file: &Path) -> String {
    let Ok(bytes) = grove_fs::files::read_bounded(file, 1 << 20) else {
        return String::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    told_in_words(line.unwrap_or_default())
}

/// Returns a line of a program for people, to follow a sentence.
fn told_in_words(line: &str) -> String {
    let line = grove_spec::text::one_line(line);
    match line.chars().take(MOST_COMPLAINT).collect::<String>() {
        line if line.is_empty() => line,
        line => format!(": {line}"),
    }
}
