//! The reducer: one event in, the next effects out.
//!
//! Every handler first decides whether the event may be taken and changes nothing until then, so that a refused event
//! leaves the state as it was.

mod acceptance;
mod delegation;
mod fan_out;
mod reuse;
mod wishes;
mod worktrees;

pub use reuse::NotReusable;

use std::collections::BTreeMap;

use grove_spec::Digest;

use crate::attention::Attention;
use crate::command::{Command, Doubt};
use crate::event::{
    Call, CallOutcome, Ending, Event, Fact, FoundFile, Holder, Outcome, Proof, Times, Turn,
};
use crate::ids::{Attempt, CallId, EffectId, EffectKind, NodeId};
use crate::plan::{Plan, Work};
use crate::refused::{Damaged, Refused};
use crate::state::{
    AttemptState, CallState, Cause, Continued, Execution, NodeState, OpenEffect, Said, State,
    StopReason,
};
use crate::usage::Usage;
use crate::verdict;

/// The number of times that an attempt goes on after its holder was gone.
const MAX_RECOVERIES: u32 = 3;

/// The effects that an event opened and closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Effects that are to be done now, some of them again.
    pub opened: Vec<EffectId>,
    /// Effects that are not to be done any more.
    pub closed: Vec<EffectId>,
}

/// Takes one event in. When it is refused, the state is as it was.
pub fn advance(plan: &Plan, state: &mut State, event: &Event) -> Result<Step, Refused> {
    if event.seq != state.seq.saturating_add(1) {
        return Err(Refused::OutOfOrder {
            last: state.seq,
            given: event.seq,
        });
    }
    let is_submission = matches!(event.fact, Fact::Submitted { .. });
    if is_submission != (state.seq == 0) {
        return Err(Refused::Misplaced);
    }
    let mut run = Run {
        plan,
        state,
        at: event.at,
        step: Step::default(),
    };
    match &event.fact {
        Fact::Submitted { owner, reused, .. } => {
            run.submitted(*owner);
            run.reuse(reused);
        }
        Fact::Leased {
            effect,
            epoch,
            holder,
        } => run.leased(effect, *epoch, holder)?,
        Fact::Told { of, epoch, told } => run.told(of, *epoch, *told)?,
        Fact::Found { of, epoch, file } => run.found(of, *epoch, file)?,
        Fact::Compacted { of, epoch, turns } => run.compacted(of, *epoch, *turns)?,
        Fact::Noticed { of, epoch, why } => run.noticed(of, *epoch, *why)?,
        Fact::Turned { of, epoch, turn } => run.turned(of, *epoch, turn)?,
        Fact::Wasted { of, epoch, usage } => run.wasted(of, *epoch, *usage)?,
        Fact::Called { of, epoch, call } => run.called(of, *epoch, call)?,
        Fact::Returned {
            of,
            epoch,
            call,
            outcome,
        } => run.returned(of, *epoch, call, outcome)?,
        Fact::Answered {
            effect,
            epoch,
            outcome,
        } => run.answered(effect, *epoch, outcome)?,
        Fact::Gone { effect, epoch, .. } => run.gone(effect, *epoch)?,
        Fact::Wanted { by, id, wish } => run.wanted(by, id, wish)?,
        Fact::Fired { timer } => run.fired(timer)?,
        Fact::Delegated {
            of,
            run: id,
            children,
        } => run.delegated(of, id, *children)?,
        Fact::Used { of, usage, cost } => run.used(of, *usage, *cost)?,
    }
    if run.state.nodes.take_moved() {
        run.begin_what_is_ready();
        run.end_if_over();
        run.keep_time();
    }
    let step = run.step;
    state.seq = event.seq;
    Ok(step)
}

/// Returns the state that a whole journal leads to.
pub fn fold<'a>(
    plan: &Plan,
    journal: impl IntoIterator<Item = &'a Event>,
) -> Result<State, Damaged> {
    let mut state = State::default();
    for event in journal {
        let seq = event.seq;
        advance(plan, &mut state, event).map_err(|why| Damaged { seq, why })?;
    }
    Ok(state)
}

/// A group of nodes that run side by side, while one event is taken in.
struct GroupNow {
    room: u64,
    is_given_up: bool,
}

/// A run while one event is taken in.
struct Run<'a> {
    plan: &'a Plan,
    state: &'a mut State,
    at: Times,
    step: Step,
}

impl Run<'_> {
    fn submitted(&mut self, owner: Digest) {
        self.state.submitted = Some(self.at);
        self.state.owner = Some(owner);
        let of_plan = self.plan.nodes.iter().filter(|node| node.reviews.is_none());
        let of_plan = of_plan.filter(|node| matches!(node.work, Work::Child(_)));
        self.state.children = of_plan.count() as u64;
        for node in &self.plan.nodes {
            let known = NodeState {
                is_review: node.reviews.is_some(),
                ..NodeState::default()
            };
            self.state.nodes.insert(node.id.clone(), known);
        }
    }

    fn leased(&mut self, effect: &EffectId, epoch: u32, holder: &Holder) -> Result<(), Refused> {
        let open = self.state.open.get(effect);
        let open = open.ok_or_else(|| Refused::NotOpen(effect.clone()))?;
        if open.holder.is_some() {
            return Err(Refused::Held(effect.clone()));
        }
        let is_start = effect.kind == EffectKind::Start;
        let attempt = self.attempt(&effect.of);
        if is_start && attempt.is_some_and(|attempt| attempt.recovering) {
            return Err(Refused::Recovering(effect.clone()));
        }
        if epoch != open.epoch.saturating_add(1) {
            return Err(Refused::OldEpoch {
                effect: effect.clone(),
                given: epoch,
                current: open.epoch,
            });
        }
        if let Some(open) = self.state.open.get_mut(effect) {
            open.epoch = epoch;
            open.holder = Some(holder.clone());
        }
        if is_start {
            self.started(&effect.of);
        }
        Ok(())
    }

    fn started(&mut self, of: &Attempt) {
        let at = self.at;
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        attempt.execution = Execution::Running;
        let is_first = attempt.started.is_none();
        attempt.started.get_or_insert(at);
        if let Some(node) = self.state.nodes.get_mut(&of.node) {
            node.execution = Execution::Running;
        }
        let child = self.plan.child(&of.node);
        let limit = child.and_then(|child| child.limits.max_execution_time_ms);
        if let Some(milliseconds) = limit.filter(|_| is_first) {
            let timer = EffectId::new(of, EffectKind::Timer, 0);
            self.open(timer, Command::Arm { milliseconds });
        }
    }

    fn told(&mut self, of: &Attempt, epoch: u32, told: Digest) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        match self.attempt_mut(of) {
            Some(attempt) if attempt.told.is_none() => attempt.told = Some(told),
            _ => return Err(Refused::Duplicate),
        }
        Ok(())
    }

    /// Records the file once, before the child begins: a file that is there later may be the child's own.
    fn found(&mut self, of: &Attempt, epoch: u32, file: &FoundFile) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        match self.attempt_mut(of) {
            Some(attempt) if attempt.found.is_none() => {
                attempt.found = Some(file.clone());
                Ok(())
            }
            _ => Err(Refused::Duplicate),
        }
    }

    /// Records the number of turns that are told in short, which only grows.
    fn compacted(&mut self, of: &Attempt, epoch: u32, turns: u64) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        match self.attempt_mut(of) {
            Some(attempt) if attempt.compacted < turns => attempt.compacted = turns,
            _ => return Err(Refused::Duplicate),
        }
        Ok(())
    }

    /// Records a notice once, until the child has done something again.
    fn noticed(&mut self, of: &Attempt, epoch: u32, why: Attention) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        match self.attempt_mut(of) {
            Some(attempt) if attempt.attention != Some(why) => attempt.attention = Some(why),
            _ => return Err(Refused::Duplicate),
        }
        Ok(())
    }

    fn turned(&mut self, of: &Attempt, epoch: u32, turn: &Turn) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        self.spend(of, turn.usage);
        if let Some(attempt) = self.attempt_mut(of) {
            attempt.attention = None;
            attempt.turns = attempt.turns.saturating_add(1);
            if turn.added.is_some() {
                attempt.added.clone_from(&turn.added);
            }
        }
        self.stop_at_limit(of);
        Ok(())
    }

    /// Counts tokens that brought no answer as spent all the same.
    fn wasted(&mut self, of: &Attempt, epoch: u32, usage: Usage) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        self.spend(of, usage);
        self.stop_at_limit(of);
        Ok(())
    }

    /// Stops the child, or everything, that has reached a limit, before the next request can be made.
    fn stop_at_limit(&mut self, of: &Attempt) {
        if let Some(cause) = self.state.tree_spent(self.plan) {
            return self.stop_everything(&StopReason::Limit { cause }, false);
        }
        let spent = self.state.child_spent(self.plan, &of.node);
        let child = self.plan.child(&of.node);
        // After its last turn a child has one more, to sum up.
        let turns = self.attempt(of).map_or(0, |attempt| attempt.turns);
        let summed_up = u64::from(turns).saturating_sub(1);
        let of_turns = child.and_then(|child| child.limits.turns_reached(summed_up));
        if let Some(cause) = spent.or(of_turns) {
            self.stop_attempt(of, &StopReason::Limit { cause }, false);
        }
    }

    fn spend(&mut self, of: &Attempt, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        self.state.spent += usage;
        if let Some(attempt) = self.attempt_mut(of) {
            attempt.usage += usage;
        }
    }

    fn called(&mut self, of: &Attempt, epoch: u32, call: &Call) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        let limit = self.plan.child(&of.node);
        let limit = limit.and_then(|child| child.limits.max_tool_calls);
        let limit = limit.filter(|_| !call.observed);
        let Some(attempt) = self.attempt_mut(of) else {
            return Err(Refused::NoSuchCall(call.id.clone()));
        };
        if attempt.calls.contains_key(&call.id) {
            return Err(Refused::Duplicate);
        }
        if limit.is_some_and(|limit| attempt.calls.len() as u64 >= limit) {
            return Err(Refused::BeyondLimit(call.id.clone()));
        }
        attempt.attention = None;
        attempt.calls.insert(call.id.clone(), CallState::Open);
        attempt.wrote |= call.writes;
        Ok(())
    }

    fn returned(
        &mut self,
        of: &Attempt,
        epoch: u32,
        call: &CallId,
        _: &CallOutcome,
    ) -> Result<(), Refused> {
        self.check_epoch(of, epoch)?;
        let none = || Refused::NoSuchCall(call.clone());
        let attempt = self.attempt_mut(of).ok_or_else(none)?;
        match attempt.calls.get_mut(call) {
            Some(state @ CallState::Open) => {
                *state = CallState::Returned;
                attempt.attention = None;
                Ok(())
            }
            Some(CallState::Returned) => Err(Refused::Duplicate),
            None => Err(none()),
        }
    }

    fn answered(
        &mut self,
        effect: &EffectId,
        epoch: u32,
        outcome: &Outcome,
    ) -> Result<(), Refused> {
        self.check_held(effect, epoch)?;
        match (effect.kind, outcome) {
            (EffectKind::Start, Outcome::Ended(ending)) => self.ended(effect, ending),
            (EffectKind::Stop, Outcome::Told) => self.close(effect),
            (EffectKind::Prove, Outcome::Proved(proof)) => self.proved(effect, proof),
            (EffectKind::Deliver, Outcome::Delivered(delivered)) => {
                self.close(effect);
                self.state.delivered = Some(delivered.clone());
            }
            (EffectKind::Send, Outcome::Sent { message }) if self.sends(effect, message) => {
                self.close(effect);
            }
            (
                EffectKind::Make
                | EffectKind::Capture
                | EffectKind::Remove
                | EffectKind::Look
                | EffectKind::Verify
                | EffectKind::Expand
                | EffectKind::Collect,
                outcome,
            ) => return self.of_node_answered(effect, outcome),
            _ => return Err(Refused::WrongOutcome(effect.clone())),
        }
        Ok(())
    }

    /// Returns true if an effect is to tell a child this very message.
    fn sends(&self, effect: &EffectId, message: &Digest) -> bool {
        let open = self.state.open.get(effect).map(|open| &open.command);
        matches!(open, Some(Command::Send { message: wanted, .. }) if wanted == message)
    }

    fn ended(&mut self, effect: &EffectId, ending: &Ending) {
        let (of, at) = (&effect.of, self.at);
        self.spend(of, ending.lost);
        let open = self.state.open.iter().filter(|(id, _)| id.of == *of);
        let unheard = open.filter_map(|(_, open)| match &open.command {
            Command::Send { message, .. } => Some(*message),
            _ => None,
        });
        let unheard: Vec<Digest> = unheard.collect();
        if let Some(attempt) = self.attempt_mut(of) {
            attempt.attention = None;
            attempt.ending = Some(ending.clone());
            attempt.ended = Some(at);
            attempt.unheard = unheard;
        }
        self.close_all_of(of);
        // By what it lost, its next model and all other children may have nothing left.
        if !ending.lost.is_nothing() {
            self.stop_at_limit(of);
        }
        self.prove(of);
    }

    fn proved(&mut self, effect: &EffectId, proof: &Proof) {
        let of = &effect.of;
        self.close(effect);
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        attempt.proof = Some(proof.clone());
        let was_recovering = std::mem::take(&mut attempt.recovering);
        let may_go_on = attempt.stopping.is_none() && attempt.recoveries < MAX_RECOVERIES;
        if was_recovering && may_go_on {
            attempt.recoveries = attempt.recoveries.saturating_add(1);
            let start = EffectId::new(of, EffectKind::Start, 0);
            // The same effect with the same id: the process that takes it next goes on from the journal.
            self.step.opened.push(start);
            return;
        }
        self.close_all_of(of);
        self.settle(of);
    }

    /// Decides what became of an attempt of which nothing runs any more.
    fn settle(&mut self, of: &Attempt) {
        let at = self.at;
        let Some(child) = self.plan.child(&of.node) else {
            return;
        };
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        attempt.ended.get_or_insert(at);
        attempt.execution = verdict::of_attempt(child, attempt);
        let (execution, model) = (attempt.execution.clone(), attempt.model);
        // A child that was told to stop has no next model, and when everything stops every child was told.
        if let Some(model) = verdict::next_model(child, attempt) {
            let continues = attempt.continues.clone();
            return self.try_with(&of.node, model, continues);
        }
        if let Some(why) = self.asks_for_data(of, &execution) {
            let (n, said) = (of.n, Said::Data(why));
            return self.try_with(&of.node, model, Some(Continued { n, said }));
        }
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        // A message that came while it said its last words is not lost: it goes on with it.
        let mut unheard = std::mem::take(&mut attempt.unheard).into_iter();
        if execution == Execution::Complete
            && let Some(message) = unheard.next()
        {
            let (n, said) = (of.n, Said::Message(message));
            self.try_with(&of.node, model, Some(Continued { n, said }));
            let next = self.last_attempt(&of.node);
            return unheard.for_each(|message| self.send(&next, message));
        }
        let execution = self.keeping_answer(of, execution);
        self.end_node(&of.node, execution);
    }

    /// Returns the reason to ask a child once more for data: it answered in words that are none, and was not asked before.
    fn asks_for_data(&self, of: &Attempt, execution: &Execution) -> Option<String> {
        let attempts = &self.state.nodes.get(&of.node)?.attempts;
        let is_data = |attempt: &AttemptState| {
            let said = attempt.continues.as_ref().map(|it| &it.said);
            matches!(said, Some(Said::Data(_)))
        };
        let is_schema = matches!(execution, Execution::Failed(Cause::Schema { .. }));
        let was_asked = attempts.iter().any(is_data);
        if !is_schema || was_asked || self.nothing_left_for(&of.node).is_some() {
            return None;
        }
        let attempt = self.attempt(of)?;
        let output = attempt.output().filter(|_| attempt.stopping.is_none());
        output?.not_data.clone()
    }

    fn gone(&mut self, effect: &EffectId, epoch: u32) -> Result<(), Refused> {
        self.check_held(effect, epoch)?;
        if let Some(open) = self.state.open.get_mut(effect) {
            open.holder = None;
        }
        match effect.on_doubt() {
            Doubt::Repeat => self.step.opened.push(effect.clone()),
            Doubt::Probe => {
                if let Some(attempt) = self.attempt_mut(&effect.of) {
                    attempt.recovering = true;
                }
                self.prove(&effect.of);
            }
        }
        Ok(())
    }

    fn fired(&mut self, timer: &EffectId) -> Result<(), Refused> {
        let open = self.state.open.get(timer);
        let Some(Command::Arm { milliseconds }) = open.map(|open| &open.command) else {
            return Err(Refused::NotOpen(timer.clone()));
        };
        let limit_ms = *milliseconds;
        self.close(timer);
        let cause = Cause::TimedOut { limit_ms };
        let why = StopReason::Limit { cause };
        if timer.is_of_whole_run() {
            self.stop_everything(&why, false);
        } else {
            self.stop_attempt(&timer.of, &why, false);
        }
        Ok(())
    }

    fn stop_attempt(&mut self, of: &Attempt, why: &StopReason, now: bool) {
        let start = EffectId::new(of, EffectKind::Start, 0);
        let is_held = self
            .state
            .open
            .get(&start)
            .map(|open| open.holder.is_some());
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        let was_paused = matches!(attempt.stopping, Some(StopReason::Paused { .. }));
        let is_new =
            attempt.stopping.is_none() || (was_paused && attempt.stopping.as_ref() != Some(why));
        if is_new {
            attempt.stopping = Some(why.clone());
        }
        match is_held {
            // No process drives it and nothing is left of the last one, so there is nothing to end and nothing to prove.
            Some(false) if !attempt.recovering => {
                self.close_all_of(of);
                self.settle(of);
            }
            Some(true) if is_new || now => {
                let k = attempt.stops;
                attempt.stops = attempt.stops.saturating_add(1);
                let command = Command::Stop {
                    of: of.clone(),
                    why: why.clone(),
                    now,
                };
                self.open(EffectId::new(of, EffectKind::Stop, k), command);
            }
            // It has ended or lost its holder, and what is left of it is being looked for; or it was told already.
            _ => {}
        }
    }

    fn prove(&mut self, of: &Attempt) {
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        let k = attempt.proofs;
        attempt.proofs = attempt.proofs.saturating_add(1);
        let command = Command::Prove { of: of.clone() };
        self.open(EffectId::new(of, EffectKind::Prove, k), command);
    }

    fn begin_what_is_ready(&mut self) {
        let plan = self.plan;
        let mut groups = self.groups();
        for node in &plan.nodes {
            let known = self.state.nodes.get(&node.id);
            if known.is_some_and(|known| known.items.is_some()) {
                self.go_on_with_items(&node.id);
                continue;
            }
            if known.is_none_or(|known| known.execution != Execution::Pending) {
                continue;
            }
            let before = |id: &NodeId| self.state.nodes.get(id);
            let is_done = |id: &NodeId| before(id).is_some_and(NodeState::is_done);
            let cannot_be = |id: &NodeId| before(id).is_some_and(|it| it.execution.is_terminal());
            if let Some(author) = &node.reviews {
                // The author says when its reviewer begins; once the author is over, there is nothing to look at.
                if cannot_be(author) {
                    self.skip(&node.id);
                }
                continue;
            }
            let group = node.group.as_ref().and_then(|group| groups.get_mut(group));
            let is_given_up = group.as_ref().is_some_and(|group| group.is_given_up);
            if is_given_up || node.after.iter().any(|id| cannot_be(id) && !is_done(id)) {
                self.skip(&node.id);
            } else if node.after.iter().all(is_done) {
                match group {
                    Some(group) if group.room == 0 => {}
                    Some(group) => {
                        group.room -= 1;
                        self.begin(&node.id, 0, None);
                    }
                    None if plan.fan_out(&node.id).is_some() => self.expand(&node.id),
                    None => self.begin(&node.id, 0, None),
                }
            }
        }
    }

    fn skip(&mut self, id: &NodeId) {
        if let Some(known) = self.state.nodes.get_mut(id) {
            known.execution = Execution::Skipped;
        }
    }

    /// Returns how many more of each group may begin, and if the rest of it is not begun at all.
    fn groups(&self) -> BTreeMap<NodeId, GroupNow> {
        let rules = self.plan.groups.iter();
        let mut groups: BTreeMap<NodeId, GroupNow> = rules
            .map(|(id, rules)| {
                let room = rules.concurrency.unwrap_or(u64::MAX);
                let is_given_up = false;
                (id.clone(), GroupNow { room, is_given_up })
            })
            .collect();
        if groups.is_empty() {
            return groups;
        }
        for node in &self.plan.nodes {
            let Some(id) = &node.group else { continue };
            let known = self.state.nodes.get(&node.id);
            let (Some(group), Some(known)) = (groups.get_mut(id), known) else {
                continue;
            };
            if matches!(known.execution, Execution::Queued | Execution::Running) {
                group.room = group.room.saturating_sub(1);
            }
            let rules = self.plan.groups.get(id);
            group.is_given_up |= rules.is_some_and(|rules| rules.fail_fast)
                && known.execution.is_terminal()
                && !known.is_done()
                && !known.is_stopped_alone();
        }
        groups
    }

    /// Begins a new attempt at a node: from the beginning, or in the session of an earlier one.
    fn try_with(&mut self, id: &NodeId, model: usize, continues: Option<Continued>) {
        let (Some(node), Some(child)) = (self.state.nodes.get_mut(id), self.plan.child(id)) else {
            return;
        };
        node.execution = Execution::Queued;
        node.attempts.push(AttemptState {
            model,
            continues: continues.clone(),
            execution: Execution::Queued,
            ..AttemptState::default()
        });
        let of = self.last_attempt(id);
        let command = Command::Start {
            of: of.clone(),
            told: child.told,
            model: child.models.get(model).cloned().unwrap_or_default(),
            continues,
        };
        self.open(EffectId::new(&of, EffectKind::Start, 0), command);
    }

    fn is_over(&self) -> bool {
        let mut nodes = self.state.nodes.values();
        nodes.all(|node| node.execution.is_terminal())
    }

    fn end_if_over(&mut self) {
        if self.state.ended.is_none() && self.is_over() {
            self.state.ended = Some(self.at);
            if self.plan.on_complete.is_some() {
                let id = EffectId::delivery(self.state.deliveries);
                self.state.deliveries = self.state.deliveries.saturating_add(1);
                self.open(id, Command::Deliver);
            }
        }
    }

    /// Lets the clock of the whole run go while a node is at work, and stand while all nodes wait.
    fn keep_time(&mut self) {
        let is_at_work = !self.is_over() && !self.state.run().is_waiting();
        let clock = &mut self.state.clock;
        let timer = |armed: u32| EffectId::run_timer(armed.saturating_sub(1));
        if is_at_work && clock.since.is_none() {
            clock.since = Some(self.at);
            if let Some(limit) = self.plan.tree.timeout_ms {
                clock.armed = clock.armed.saturating_add(1);
                let milliseconds = limit.saturating_sub(clock.before);
                let id = timer(clock.armed);
                self.open(id, Command::Arm { milliseconds });
            }
        } else if !is_at_work && clock.since.is_some() {
            let worked = self.worked();
            let clock = &mut self.state.clock;
            (clock.before, clock.since) = (worked, None);
            let id = timer(clock.armed);
            self.close(&id);
        }
    }

    /// Returns the milliseconds that the run has been at work.
    fn worked(&self) -> u64 {
        let clock = &self.state.clock;
        let now = clock.since.map_or(0, |since| self.at.since(since));
        clock.before.saturating_add(now)
    }

    fn open(&mut self, id: EffectId, command: Command) {
        let open = OpenEffect {
            command,
            epoch: 0,
            holder: None,
        };
        self.state.open.insert(id.clone(), open);
        self.step.opened.push(id);
    }

    fn close(&mut self, id: &EffectId) {
        if self.state.open.remove(id).is_some() {
            self.step.closed.push(id.clone());
        }
    }

    fn close_all_of(&mut self, of: &Attempt) {
        let open = self.state.open.keys().filter(|id| id.of == *of);
        let all: Vec<EffectId> = open.cloned().collect();
        for id in &all {
            self.close(id);
        }
    }

    fn check_epoch(&self, of: &Attempt, epoch: u32) -> Result<(), Refused> {
        self.check_held(&EffectId::new(of, EffectKind::Start, 0), epoch)
    }

    /// Refuses a report on an effect from any process but its holder.
    fn check_held(&self, effect: &EffectId, epoch: u32) -> Result<(), Refused> {
        let open = self.state.open.get(effect);
        let open = open.ok_or_else(|| Refused::NotOpen(effect.clone()))?;
        if open.holder.is_none() || epoch != open.epoch {
            return Err(Refused::OldEpoch {
                effect: effect.clone(),
                given: epoch,
                current: open.epoch,
            });
        }
        Ok(())
    }

    fn attempt(&self, of: &Attempt) -> Option<&AttemptState> {
        self.state.attempt(of)
    }

    fn attempt_mut(&mut self, of: &Attempt) -> Option<&mut AttemptState> {
        self.state.nodes.attempt_mut(of)
    }
}

fn stopped(why: &StopReason) -> Execution {
    match why {
        StopReason::Wanted { .. }
        | StopReason::WantedOfChild { .. }
        | StopReason::Paused { .. } => Execution::Stopped(why.clone()),
        StopReason::Limit { cause } => Execution::Failed(cause.clone()),
    }
}
