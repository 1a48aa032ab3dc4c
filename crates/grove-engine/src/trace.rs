//! A run as a trace in Chrome's format, which Perfetto and other viewers open: a row for each child, with its phases, its calls and
//! the answers of its model, and the tokens of the run as a curve.

use std::collections::BTreeMap;

use crate::native::about;
use grove_plan::history::PhaseSpan;
use grove_plan::{Attempt, CallId, Event, Fact, NodeId, Times};
use grove_spec::text::one_line;
use serde_json::{Value, json};

use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::watched_run::WatchedRun;

/// The number that stands for the run among processes.
const RUN: u64 = 1;
/// The rows that a child may have: one, and another for each call that is made while others are open.
const LANES: u64 = 32;

impl RunJournal {
    /// Returns a run as a trace.
    pub fn trace(&self, given: &str) -> Result<Value, EngineError> {
        let id = self.find(given)?;
        let mut run = WatchedRun::new(self, &id)?;
        let mut trace = Trace::default();
        run.take_news(self, |run, event| trace.take(self, run, event))?;
        Ok(trace.finish(&run))
    }
}

/// A trace while its events are read.
#[derive(Default)]
struct Trace {
    rows: BTreeMap<NodeId, u64>,
    events: Vec<Value>,
    /// Calls that have not returned: the row below the child's, the time at which they were made, and what they are.
    open: BTreeMap<(Attempt, CallId), (u64, Times, Value)>,
    /// The rows that have something.
    lanes: BTreeMap<NodeId, u64>,
    /// The time at which each child last did something, from which its model was asked.
    asked: BTreeMap<NodeId, Times>,
}

impl Trace {
    fn row(&mut self, node: &NodeId) -> u64 {
        let next = self.rows.len() as u64 + 1;
        *self.rows.entry(node.clone()).or_insert(next)
    }

    /// The first row of a child that no open call has.
    fn free_lane(&mut self, of: &Attempt) -> u64 {
        let open = self.open.iter().filter(|((known, _), _)| known == of);
        let taken: Vec<u64> = open.map(|(_, (lane, ..))| *lane).collect();
        let free = (0..LANES - 1).find(|lane| !taken.contains(lane));
        let lane = free.unwrap_or(LANES - 1);
        let most = self.lanes.entry(of.node.clone()).or_default();
        *most = lane.max(*most);
        lane
    }

    fn slice(&mut self, node: &NodeId, lane: u64, from: Times, until: Times, mut what: Value) {
        what["ph"] = "X".into();
        what["pid"] = RUN.into();
        what["tid"] = (self.row(node) * LANES + lane).into();
        what["ts"] = microseconds(from.wall).into();
        what["dur"] = microseconds(until.since(from)).into();
        self.events.push(what);
    }

    fn take(&mut self, journal: &RunJournal, run: &WatchedRun, event: &Event) {
        let at = event.at;
        match &event.fact {
            Fact::Called { of, call, .. } => {
                let input = journal.value(&call.arguments);
                let what = json!({
                    "name": one_line(&call.tool), "cat": "call",
                    "args": { "event": event.seq, "about": one_line(&about(&input)) },
                });
                let lane = self.free_lane(of);
                let key = (of.clone(), call.id.clone());
                self.open.insert(key, (lane, at, what));
            }
            Fact::Returned {
                of, call, outcome, ..
            } => {
                let key = (of.clone(), call.clone());
                if let Some((lane, from, mut what)) = self.open.remove(&key) {
                    what["args"]["failed"] = outcome.is_error.into();
                    self.slice(&of.node, lane, from, at, what);
                }
                self.asked.insert(of.node.clone(), at);
            }
            Fact::Turned { of, turn, .. } => {
                let from = self.asked.insert(of.node.clone(), at).unwrap_or(at);
                let what = json!({
                    "name": "model", "cat": "model",
                    "args": { "event": event.seq, "tokens": turn.usage.counted(), "stop": turn.stop },
                });
                self.slice(&of.node, 0, from, at, what);
                self.events.push(json!({
                    "name": "tokens", "ph": "C", "pid": RUN, "ts": microseconds(at.wall),
                    "args": { "tokens": run.state.spent.counted() },
                }));
            }
            Fact::Leased { effect, .. } => {
                self.asked.insert(effect.of.node.clone(), at);
            }
            _ => {}
        }
    }

    fn finish(mut self, run: &WatchedRun) -> Value {
        let last = run.last_event_at;
        for ((of, _), (lane, from, mut what)) in std::mem::take(&mut self.open) {
            what["args"]["returned"] = false.into();
            self.slice(&of.node, lane, from, last, what);
        }
        for (node, child) in run.history.children() {
            for PhaseSpan {
                phase,
                attempt,
                from,
                until,
            } in &child.phases
            {
                let until = until.unwrap_or(last.wall).max(*from);
                let what =
                    json!({ "name": phase.word(), "cat": "phase", "args": { "try": attempt } });
                let [from, until] = [*from, until].map(|wall| Times { wall, boot: wall });
                self.slice(node, 0, from, until, what);
            }
        }
        let mut named = vec![json!({
            "name": "process_name", "ph": "M", "pid": RUN,
            "args": { "name": format!("run {} {}", run.id, one_line(&run.title)) },
        })];
        let live = run.live(last);
        let names: BTreeMap<&NodeId, &str> = live
            .children()
            .map(|child| (&child.id, child.name))
            .collect();
        for (node, row) in &self.rows {
            let name = names.get(node).copied().unwrap_or_default();
            for lane in 0..=self.lanes.get(node).copied().unwrap_or_default() {
                let beside = if lane == 0 { "" } else { ", at the same time" };
                named.push(json!({
                    "name": "thread_name", "ph": "M", "pid": RUN, "tid": row * LANES + lane,
                    "args": { "name": one_line(&format!("{node} {name}{beside}")) },
                }));
            }
        }
        // A slice around others comes before them.
        let order = |event: &Value| {
            let number = |key: &str| event[key].as_u64().unwrap_or_default();
            (number("tid"), number("ts"), u64::MAX - number("dur"))
        };
        self.events.sort_by_key(order);
        named.append(&mut self.events);
        json!({ "displayTimeUnit": "ms", "traceEvents": named })
    }
}

fn microseconds(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(1_000)
}
