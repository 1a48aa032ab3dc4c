//! A child that is an agent program: one task, under a keeper, to the same facts as the built-in engine gives.

mod loopback;
mod meter;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_exec::{
    Heard, Keeper, Order, Program, ProgramEvent, ProgramProvider, ProgramTask, ProgramVerdict,
    StopTokens, now, verdict,
};
use grove_fs::atomic;
use grove_model::Relay;
use grove_plan::{Attempt, Cause, Child, Fact, Finish, Turn, Usage};
use grove_store::{Draft, Store};
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::native::{ChildEnd, NotOurs, about, append, body};
use crate::told::Told;
use meter::{Meter, Metered, Reading};

/// The model of a program that chooses its own.
pub const OWN_MODEL: &str = "default";
/// What a program may write to its output.
const MOST_OUTPUT: u64 = 256 << 20;
/// Half a day, for a child without a limit of its own: its timer is the plan's, and this is for a keeper alone.
const LONGEST_MS: u64 = 12 * 60 * 60 * 1_000;
/// Of what a program complained about, in a cause.
const MOST_COMPLAINT: usize = 400;

/// One child while its program runs.
pub(crate) struct ProgramChild<'a> {
    pub(crate) store: &'a Arc<Store>,
    pub(crate) run: &'a str,
    pub(crate) of: &'a Attempt,
    pub(crate) epoch: u32,
    pub(crate) program: &'static Program,
    /// The program's file.
    pub(crate) file: &'a Path,
    pub(crate) child: &'a Child,
    /// Where it works.
    pub(crate) work_folder: PathBuf,
    pub(crate) told: Told,
    /// The model's own id; the program's choice when nothing is said.
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<String>,
    /// The provider that it is sent to, through the meter; with its own login when there is none.
    pub(crate) relay: Option<Relay>,
    pub(crate) keeper: &'a Keeper,
    pub(crate) mark: String,
    pub(crate) environment: Vec<(String, String)>,
    /// A folder of this attempt alone.
    pub(crate) folder: PathBuf,
    pub(crate) log: AttemptLog,
    pub(crate) stop: StopTokens,
    /// Told when something else is to be done for the run.
    pub(crate) news: UnboundedSender<String>,
}

impl ProgramChild<'_> {
    /// Runs the program to its end, once: one whose supervisor was gone is not begun again, since nobody knows what its
    /// tools have done.
    pub(crate) async fn drive(&self) -> Result<ChildEnd, NotOurs> {
        if self.epoch > 1 {
            let text = "its supervisor was gone while the program ran, so it is not begun again";
            self.note(text.to_owned());
            let _ = grove_fs::files::remove_folder(&self.folder);
            return Ok(ChildEnd::of(Finish::Interrupted, String::new()));
        }
        let meter = match self.meter().await {
            Ok(meter) => meter,
            Err(error) => {
                let message = format!("the meter cannot listen: {error}");
                return Ok(ChildEnd::failed(Cause::Isolation { message }));
            }
        };
        let provider = meter.as_ref().map(|meter| ProgramProvider {
            origin: meter.url(),
            key: meter.token().to_owned(),
        });
        let task = ProgramTask {
            program: self.file,
            system: &self.told.system,
            message: &self.told.message,
            model: self.model.as_deref(),
            thinking: self.thinking.as_deref(),
            tools: &self.child.tools.allowed,
            writes: self.child.tools.can_write,
            provider: provider.as_ref(),
            folder: &self.folder,
        };
        let launch = self.program.launch(&task);
        for (file, text) in &launch.files {
            if let Err(error) = atomic::write_mode(file, text.as_bytes(), 0o600) {
                let message = format!("{error}: {}", error.source);
                return Ok(ChildEnd::failed(Cause::Input { message }));
            }
        }
        let complaints = self.folder.join("complaints.txt");
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| launch.environment.iter().all(|(set, _)| set != name));
        environment.extend(launch.environment.iter().cloned());
        let limit = self.child.limits.max_execution_time_ms;
        let order = Order {
            command: launch.whole_command(&complaints),
            environment,
            // The plan's own timer comes first, and asks before it ends.
            limit_ms: limit.map_or(LONGEST_MS, |limit| limit.saturating_add(60_000)),
            most_output: MOST_OUTPUT,
            ..Order::shell("", self.work_folder.clone(), &self.mark)
        };
        let mut reader = self.program.reader();
        let mut tools = HashMap::new();
        let mut on_event = |event: ProgramEvent| self.log_event(event, &mut tools);
        let ran = self
            .keeper
            .run(&order, &self.stop, |bytes| {
                reader.push(bytes, &mut on_event);
            })
            .await;
        let mut heard = reader.finish(&mut on_event);
        let reading = match meter {
            Some(meter) => Some(meter.finish().await),
            None => None,
        };
        let left = self.folder.join(Program::USAGE_FILE);
        let left = grove_fs::files::read_bounded(&left, 1 << 20).unwrap_or_default();
        heard.usage = self.program.usage_left(&left).unwrap_or(heard.usage);
        let end = match ran {
            Ok(end) => end,
            Err(error) => {
                let message = error.to_string();
                return Ok(ChildEnd::failed(Cause::Isolation { message }));
            }
        };
        let complaint = complaint(&complaints);
        // Whatever it left of its own is nobody's: what it was told is in the journal.
        let _ = grove_fs::files::remove_folder(&self.folder);
        match &reading {
            Some(reading) if reading.is_not_ours => return Err(NotOurs),
            Some(reading) => believe_the_meter(&mut heard, reading),
            None => self.record_usage(&heard).await?,
        }
        if let Some(limit) = reading.and_then(|reading| reading.refused) {
            return Ok(ChildEnd::of(Finish::Failed(limit), heard.text));
        }
        let finish = match verdict(&heard, &end.report) {
            ProgramVerdict::Answered => Finish::Answered,
            ProgramVerdict::Interrupted => Finish::Interrupted,
            ProgramVerdict::TimedOut => Finish::Failed(Cause::TimedOut {
                limit_ms: order.limit_ms,
            }),
            ProgramVerdict::ModelFailed(failure, message) => {
                Finish::Failed(Cause::Model { failure, message })
            }
            ProgramVerdict::NoAnswer(why) => {
                self.note(format!("{}: {why}{complaint}", self.program.title));
                Finish::Failed(Cause::NoAnswer)
            }
        };
        Ok(ChildEnd::of(finish, heard.text))
    }

    async fn meter(&self) -> std::io::Result<Option<Meter>> {
        let Some(relay) = &self.relay else {
            return Ok(None);
        };
        let metered = Metered {
            relay: relay.clone(),
            store: Arc::clone(self.store),
            run: self.run.to_owned(),
            of: self.of.clone(),
            epoch: self.epoch,
            limits: self.child.limits.clone(),
            stop: self.stop.clone(),
            news: self.news.clone(),
        };
        Meter::start(metered).await.map(Some)
    }

    fn note(&self, text: String) {
        self.log.write(&LogLine::Note { text });
    }

    fn log_event(&self, event: ProgramEvent, tools: &mut HashMap<String, String>) {
        self.log.write(&match event {
            ProgramEvent::Text(text) => LogLine::Text { text },
            ProgramEvent::Thinking(text) => LogLine::Thinking { text },
            ProgramEvent::ToolStart { id, tool, input } => {
                tools.insert(id, tool.clone());
                let about = about(&input);
                LogLine::ToolStart { tool, about }
            }
            ProgramEvent::ToolEnd { id, failed } => {
                let tool = tools.remove(&id).unwrap_or_default();
                LogLine::ToolEnd { tool, failed }
            }
            ProgramEvent::Retrying(why) => LogLine::Note {
                text: format!("asking again after {why}"),
            },
            ProgramEvent::Note(text) => LogLine::Note { text },
        });
    }

    /// What it used, by its own account, which nobody has checked.
    async fn record_usage(&self, heard: &Heard) -> Result<(), NotOurs> {
        if heard.text.is_empty() && heard.usage == Usage::default() {
            return Ok(());
        }
        let (content, artifacts) = body(json!([{ "kind": "text", "text": heard.text }]));
        let turn = Turn {
            content,
            usage: Usage {
                estimated: true,
                ..heard.usage
            },
            stop: "endTurn".to_owned(),
        };
        let draft = Draft {
            fact: Fact::Turned {
                of: self.of.clone(),
                epoch: self.epoch,
                turn,
            },
            artifacts,
            at: now(),
        };
        append(self.store, self.run, draft).await?;
        Ok(())
    }
}

/// What a provider did is known from the meter, whatever the program makes of it.
fn believe_the_meter(heard: &mut Heard, reading: &Reading) {
    if let Some((failure, message)) = &reading.failure {
        let said = heard.failure.take().map(|(_, said)| said);
        let said = said.filter(|said| !said.is_empty());
        heard.failure = Some((*failure, said.unwrap_or_else(|| message.clone())));
    }
}

/// The last of what a program complained about.
fn complaint(file: &Path) -> String {
    let Ok(bytes) = grove_fs::files::read_bounded(file, 1 << 20) else {
        return String::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.map(grove_spec::text::one_line).unwrap_or_default();
    match line.chars().take(MOST_COMPLAINT).collect::<String>() {
        line if line.is_empty() => line,
        line => format!(": {line}"),
    }
}
