//! A run that is watched: its journal as far as it was read, and the last sign of life of each child.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attempt_log::{AttemptTail, LogLine};
use crate::native::about;
use crate::told::Told;
use grove_plan::history::{RunHistory, TextSizes, ToldSizes};
use grove_plan::{
    Attempt, Body, Event, Execution, Fact, LiveRun, NodeId, Plan, Sign, State, Times, advance,
};
use grove_spec::Digest;

use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::journal::RunJournal;

/// The number of events that are read at a time: a long journal is never in memory as a whole.
const AT_A_TIME: usize = 2_048;

/// A run that is watched.
pub struct WatchedRun {
    /// The id of the run.
    pub id: String,
    /// The task of the run, or the agent and the task.
    pub title: String,
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// Everything about the run that its plan does not have; nothing where it cannot be read.
    pub envelope: RunEnvelope,
    /// Its state after the last event that was read.
    pub state: State,
    /// Its course up to that event.
    pub history: RunHistory,
    /// The last event that was read.
    pub last_event_at: Times,
    sizes: KnownSizes,
    signs: BTreeMap<NodeId, LastSign>,
    tails: BTreeMap<NodeId, (u32, AttemptTail)>,
}

/// The sizes of prompts that were looked up. Children often share one.
type KnownSizes = RefCell<BTreeMap<Digest, ToldSizes>>;

/// The lengths of the texts of a journal.
struct StoredSizes<'a>(&'a RunJournal, &'a KnownSizes);

impl TextSizes for StoredSizes<'_> {
    fn of_text(&self, digest: &Digest) -> u64 {
        let size = self.0.store.artifact_size(digest);
        size.ok().flatten().unwrap_or_default()
    }

    fn of_told(&self, digest: &Digest) -> ToldSizes {
        if let Some(known) = self.1.borrow().get(digest) {
            return *known;
        }
        let told: Option<Told> = self.0.store.json(digest).ok();
        let sizes = told.map_or_else(ToldSizes::default, |told| {
            let is_of_skills = |kind: &str| matches!(kind, "skill" | "listing" | "catalog");
            let skills = told.parts.iter().filter(|part| is_of_skills(&part.kind));
            let skills: u64 = skills.map(|part| part.bytes as u64).sum();
            let before: usize = told.history.iter().map(|it| it.to_string().len()).sum();
            ToldSizes {
                system: (told.system.len() as u64).saturating_sub(skills),
                skills,
                message: (told.message.len() + before) as u64,
            }
        });
        self.1.borrow_mut().insert(*digest, sizes);
        sizes
    }
}

struct LastSign {
    doing: Option<String>,
    at: Times,
}

const ASKS: &str = "asks the model";

impl WatchedRun {
    /// A run of which no event was read yet.
    pub fn new(journal: &RunJournal, id: &str) -> Result<Self, EngineError> {
        let loaded = journal.store.load_plan(id)?;
        let plan = loaded.plan;
        // A run whose envelope cannot be read is watched until it ends with that reason.
        let envelope = RunEnvelope::read(&loaded.envelope).unwrap_or_default();
        // The names of a chain's steps, which its flow has, and then what it was asked for.
        let title = envelope.title.as_str();
        let task = title.split_once(": ").filter(|_| plan.nodes.len() > 1);
        let title = task.map_or(title, |(_, task)| task);
        Ok(Self {
            id: id.to_owned(),
            title: title.trim().to_owned(),
            envelope,
            plan,
            state: State::default(),
            history: RunHistory::default(),
            last_event_at: Times::default(),
            sizes: KnownSizes::default(),
            signs: BTreeMap::new(),
            tails: BTreeMap::new(),
        })
    }

    /// Returns true if the run has ended.
    pub fn is_over(&self) -> bool {
        self.state.ended.is_some()
    }

    /// Takes in the events since the last time, one after the other.
    pub fn take_news(
        &mut self,
        journal: &RunJournal,
        mut each: impl FnMut(&Self, &Event),
    ) -> Result<(), EngineError> {
        loop {
            let events = journal
                .store
                .next_events(&self.id, self.state.seq, AT_A_TIME)?;
            for event in &events {
                let step = advance(&self.plan, &mut self.state, event);
                let step = step.map_err(EngineError::internal)?;
                let sizes = StoredSizes(journal, &self.sizes);
                self.history
                    .take(&self.plan, &self.state, event, &step, &sizes);
                self.last_event_at = event.at;
                self.see(event);
                each(self, event);
            }
            if events.len() < AT_A_TIME {
                return Ok(());
            }
        }
    }

    fn see(&mut self, event: &Event) {
        let (of, doing) = match &event.fact {
            Fact::Called { of, call, .. } => {
                let about = match &call.arguments {
                    Body::Inline(arguments) => about(arguments),
                    Body::Artifact(_) => String::new(),
                };
                (of, Some(format!("{} {about}", call.tool)))
            }
            Fact::Returned { of, .. } => (of, Some(ASKS.to_owned())),
            Fact::Turned { of, .. }
            | Fact::Told { of, .. }
            | Fact::Compacted { of, .. }
            | Fact::Delegated { of, .. }
            | Fact::Used { of, .. } => (of, None),
            Fact::Leased { effect, .. } => (&effect.of, None),
            _ => return,
        };
        let sign = self.signs.entry(of.node.clone()).or_insert(LastSign {
            doing: None,
            at: event.at,
        });
        sign.at = event.at;
        if doing.is_some() {
            sign.doing = doing;
        }
    }

    /// Reads the logs of the first children that are at work. Returns true if there was anything new.
    pub fn read_logs(&mut self, journal: &RunJournal, most: usize, now: Times) -> bool {
        let running = self.state.nodes.iter().filter_map(|(id, node)| {
            let n = u32::try_from(node.attempts.len()).ok()?;
            let is_driven = node.execution == Execution::Running && node.items.is_none();
            (is_driven && n > 0).then(|| (id.clone(), n))
        });
        let running: Vec<(NodeId, u32)> = running.take(most).collect();
        self.tails
            .retain(|id, (n, _)| running.iter().any(|(node, of)| node == id && of == n));
        let mut has_news = false;
        for (node, n) in running {
            let (_, tail) = self.tails.entry(node.clone()).or_insert_with(|| {
                let attempt = Attempt {
                    node: node.clone(),
                    n,
                };
                (n, AttemptTail::of(&journal.places, &self.id, &attempt))
            });
            let Some(last) = tail.lines().pop() else {
                continue;
            };
            has_news = true;
            let at = earlier(now, tail.age_ms());
            let sign = self.signs.entry(node);
            let sign = sign.or_insert(LastSign { doing: None, at });
            // A journal that is ahead of the log has the later sign.
            if at.since(sign.at) > 0 || sign.doing.is_none() {
                sign.at = at;
            }
            sign.doing = Some(match last {
                LogLine::Text { .. } => "answers".to_owned(),
                LogLine::Thinking { .. } => "thinks".to_owned(),
                LogLine::ToolStart { tool, about } => format!("{tool} {about}"),
                LogLine::ToolEnd { .. } => ASKS.to_owned(),
                LogLine::Note { text } => text,
            });
        }
        has_news
    }

    /// The run as it is now.
    pub fn live(&self, now: Times) -> LiveRun<'_> {
        let signs = |id: &NodeId| {
            let sign = self.signs.get(id)?;
            Some(Sign {
                doing: sign.doing.as_deref(),
                at: sign.at,
            })
        };
        LiveRun::of(&self.plan, &self.state, &signs, now)
    }
}

/// A moment so many milliseconds before another.
fn earlier(now: Times, ms: u64) -> Times {
    Times {
        wall: now.wall.saturating_sub(ms),
        boot: now.boot.saturating_sub(ms),
    }
}
