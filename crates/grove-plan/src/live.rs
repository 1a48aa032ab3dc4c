//! The work of a run at a moment: the children at work, their activity, their time, and what it took.
//!
//! It is computed from the plan, the fold of the journal, the last signs of attempts, and the time. Nothing is copied that a
//! picture of a thousand children would copy many times a second.

use std::collections::BTreeMap;

use crate::attention::Attention;
use crate::contract::Accepted;
use crate::event::{Question, Times};
use crate::ids::{EffectKind, NodeId};
use crate::money::cost_of_attempt;
use crate::plan::{Child, Node, Plan, Work};
use crate::state::{AttemptState, Execution, NodeState, State};

/// The last sign that an attempt gave of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign<'a> {
    /// The activity that its log tells, where it tells one.
    pub doing: Option<&'a str>,
    /// The time at which it last did something.
    pub at: Times,
}

/// Gives the last sign of a node's attempt under way.
pub type Signs<'s, 'a> = &'s dyn Fn(&NodeId) -> Option<Sign<'a>>;

/// A run at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveRun<'a> {
    /// The state of the run.
    pub state: Execution,
    /// The reason for that state.
    pub reason: Option<String>,
    /// Set if it was told to stop and has not ended.
    pub is_stopping: bool,
    /// Its steps, in the order of the plan.
    pub steps: Vec<LiveStep<'a>>,
    /// Tokens that count, those of runs below included.
    pub tokens: u64,
    /// Millionths of money, where prices are known.
    pub cost: Option<u64>,
    /// Milliseconds since it was submitted.
    pub ms: u64,
}

/// A step: one child, or several side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveStep<'a> {
    /// The id of the step.
    pub id: NodeId,
    /// The name of its children; empty when their names differ.
    pub name: &'a str,
    /// Set for a group: also for one of a single child, and for a list whose items are not known yet.
    pub is_group: bool,
    /// The state of a list, whose items are still to be found or put together; none for other steps.
    pub list: Option<&'a Execution>,
    /// Its children; the reviewer of a child's work comes after the child.
    pub children: Vec<LiveChild<'a>>,
}

/// A child at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveChild<'a> {
    /// The id of its node.
    pub id: NodeId,
    /// The name that people read for it.
    pub name: &'a str,
    /// Its part of the plan.
    pub child: &'a Child,
    /// Everything that is known about its node, once it was decided about.
    pub node: Option<&'a NodeState>,
    /// The state of its node.
    pub state: &'a Execution,
    /// The verdict on its work.
    pub accepted: &'a Accepted,
    /// Its activity now, while it is at work.
    pub doing: Option<&'a str>,
    /// Milliseconds since its last sign, while it is at work.
    pub quiet_ms: Option<u64>,
    /// The time of its last sign, while it is at work.
    pub last_sign_at: Option<Times>,
    /// The reason why a person may have to look after it.
    pub attention: Option<Attention>,
    /// The tokens that count.
    pub tokens: u64,
    /// Millionths of money, where prices are known.
    pub cost: Option<u64>,
    /// Milliseconds from its beginning to its end or to now; none before it began.
    pub ms: Option<u64>,
}

impl<'a> LiveChild<'a> {
    /// The word that people read for its state.
    pub fn shown(&self) -> &'static str {
        self.state.shown(self.accepted.is_rejected())
    }

    /// The attempt under way, or the last one.
    pub fn last(&self) -> Option<&'a AttemptState> {
        self.node.and_then(NodeState::last)
    }

    /// The model that answers it, or is to answer it.
    pub fn model(&self) -> &'a str {
        let at = self.last().map_or(0, |last| last.model);
        self.child.models.get(at).map_or("", String::as_str)
    }

    /// The question that it waits for an answer to.
    pub fn question(&self) -> Option<&'a Question> {
        match self.state {
            Execution::Asking(question) => Some(question),
            _ => None,
        }
    }

    /// Returns true while it is at work.
    pub fn is_at_work(&self) -> bool {
        *self.state == Execution::Running
    }
}

const PENDING: &Execution = &Execution::Pending;
const NO_DEMAND: &Accepted = &Accepted::None;

impl<'a> LiveRun<'a> {
    /// Returns the picture of a run.
    pub fn of(plan: &'a Plan, state: &'a State, signs: Signs<'_, 'a>, now: Times) -> Self {
        let looking = Looking {
            state,
            signs,
            now,
            effects: effects(state),
        };
        let mut steps: Vec<LiveStep<'a>> = Vec::new();
        for node in &plan.nodes {
            looking.add(node, &mut steps);
        }
        let run = state.run();
        let children = || steps.iter().flat_map(|step| &step.children);
        let mut costs = children().map(|child| child.cost);
        let cost = costs.try_fold(0_u64, |sum, cost| Some(sum.saturating_add(cost?)));
        Self {
            reason: state.reason(&run),
            state: run,
            is_stopping: state.stop.is_some() && state.ended.is_none(),
            tokens: state.spent.counted(),
            cost,
            ms: state
                .submitted
                .map_or(0, |submitted| state.ended.unwrap_or(now).since(submitted)),
            steps,
        }
    }

    /// Returns true if its work is done and does not count.
    pub fn is_rejected(&self) -> bool {
        self.state == Execution::Complete && self.reason.is_some()
    }

    /// The word that people read for its state.
    pub fn shown(&self) -> &'static str {
        self.state.shown(self.is_rejected())
    }

    /// Every child, in the order of the plan.
    pub fn children(&self) -> impl Iterator<Item = &LiveChild<'a>> {
        self.steps.iter().flat_map(|step| &step.children)
    }
}

/// Says for nodes at work what their open effects do. The driver of a child shows the child's own activity in a log.
fn effects(state: &State) -> BTreeMap<&NodeId, &'static str> {
    let told = state.open.keys().filter_map(|effect| {
        let doing = match effect.kind {
            EffectKind::Make => "creates its working tree",
            EffectKind::Look => "inspects the files",
            EffectKind::Capture => "stores its work",
            EffectKind::Remove => "removes its working tree",
            EffectKind::Verify => "has its work checked",
            EffectKind::Prove => "ends its processes",
            EffectKind::Expand => "finds its items",
            EffectKind::Collect => "collects its results",
            EffectKind::Stop => "stops",
            EffectKind::Start | EffectKind::Timer | EffectKind::Send | EffectKind::Deliver => {
                return None;
            }
        };
        Some((&effect.of.node, doing))
    });
    told.collect()
}

/// The data from which the picture is made.
struct Looking<'s, 'a> {
    state: &'a State,
    signs: Signs<'s, 'a>,
    now: Times,
    effects: BTreeMap<&'a NodeId, &'static str>,
}

impl<'a> Looking<'_, 'a> {
    fn add(&self, node: &'a Node, steps: &mut Vec<LiveStep<'a>>) {
        match &node.work {
            Work::Child(child) => {
                let live = self.child(&node.id, child, child.label.as_deref());
                let at = match (&node.reviews, &node.group) {
                    (Some(author), _) => {
                        let is_author = |it: &LiveChild<'_>| it.id == *author;
                        steps
                            .iter()
                            .rposition(|step| step.children.iter().any(is_author))
                    }
                    (None, Some(group)) => steps.iter().rposition(|step| step.id == *group),
                    (None, None) => None,
                };
                match at.and_then(|at| steps.get_mut(at)) {
                    Some(step) => {
                        if step.name != live.name {
                            step.name = "";
                        }
                        step.children.push(live);
                    }
                    None => steps.push(LiveStep {
                        id: node.group.as_ref().unwrap_or(&node.id).clone(),
                        name: live.name,
                        is_group: node.group.is_some(),
                        list: None,
                        children: vec![live],
                    }),
                }
            }
            Work::FanOut(fan_out) => {
                let known = self.state.nodes.get(&node.id);
                let found = known.and_then(|node| node.items.as_ref());
                let mut children = Vec::new();
                for item in found.map_or(&[][..], |found| &found.items) {
                    let id = node.id.item(&item.key);
                    let label = item.label.as_deref();
                    children.push(self.child(&id, &fan_out.child, label));
                    let reviewer = fan_out.reviewer.as_ref().map(|child| {
                        let id = id.reviewer();
                        self.child(&id, child, child.label.as_deref())
                    });
                    // A reviewer is shown once it has begun.
                    children.extend(reviewer.filter(|it| *it.state != Execution::Pending));
                }
                steps.push(LiveStep {
                    id: node.id.clone(),
                    // A label is written for each item.
                    name: &fan_out.child.agent,
                    is_group: true,
                    list: Some(known.map_or(PENDING, |node| &node.execution)),
                    children,
                });
            }
        }
    }

    fn child(&self, id: &NodeId, child: &'a Child, label: Option<&'a str>) -> LiveChild<'a> {
        let name = label.unwrap_or(&child.agent);
        let Some((own, node)) = self.state.nodes.get_key_value(id) else {
            return LiveChild {
                id: id.clone(),
                name,
                child,
                node: None,
                state: PENDING,
                accepted: NO_DEMAND,
                doing: None,
                quiet_ms: None,
                last_sign_at: None,
                attention: None,
                tokens: 0,
                cost: Some(0),
                ms: None,
            };
        };
        let is_at_work = node.execution == Execution::Running;
        let sign = is_at_work.then(|| (self.signs)(own)).flatten();
        let effect = self.effects.get(id).copied();
        let said = sign.and_then(|sign| sign.doing);
        LiveChild {
            id: id.clone(),
            name,
            child,
            node: Some(node),
            state: &node.execution,
            accepted: &node.accepted,
            doing: match (effect, said) {
                _ if !is_at_work => None,
                (Some(effect), _) => Some(effect),
                (None, Some(said)) => Some(said),
                (None, None) if node.is_reviewed => Some("waits for its reviewer"),
                (None, None) => Some("asks the model"),
            },
            quiet_ms: sign.map(|sign| self.now.since(sign.at)),
            last_sign_at: sign.map(|sign| sign.at),
            attention: node.last().and_then(|last| last.attention),
            tokens: tokens(node),
            cost: cost(child, node),
            ms: self.duration(node),
        }
    }

    fn duration(&self, node: &NodeState) -> Option<u64> {
        let began = node.attempts.iter().find_map(|attempt| attempt.started)?;
        let ended = node.last().and_then(|last| last.ended);
        let is_over = node.execution.is_terminal() || node.execution.is_waiting();
        Some(ended.filter(|_| is_over).unwrap_or(self.now).since(began))
    }
}

fn tokens(node: &NodeState) -> u64 {
    let all = node.attempts.iter().map(AttemptState::tokens);
    all.fold(0, u64::saturating_add)
}

fn cost(child: &Child, node: &NodeState) -> Option<u64> {
    node.attempts.iter().try_fold(0_u64, |sum, attempt| {
        if attempt.nested.is_cost_unknown {
            return None;
        }
        let own = cost_of_attempt(child, attempt)?;
        Some(sum.saturating_add(own).saturating_add(attempt.nested.cost))
    })
}
