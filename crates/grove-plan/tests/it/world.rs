//! A run whose executors do as the test says.

use std::collections::BTreeMap;

use grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Cause, Child, EffectId, EffectKind, Ending, Event,
    Fact, Finish, Holder, ModelFailure, Node, NodeId, Outcome, Output, Plan, Proof, Refused, State,
    Step, Times, TreeBefore, Turn, Usage, Work, advance,
};
use grove_spec::Digest;
use serde_json::Value;

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) state: State,
    pub(crate) journal: Vec<Event>,
    pub(crate) steps: Vec<Step>,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            plan,
            state: State::default(),
            journal: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// A run that was submitted.
    pub(crate) fn submitted(plan: Plan) -> Self {
        let mut world = Self::new(plan);
        world.tell(submission()).unwrap();
        world
    }

    pub(crate) fn tell(&mut self, fact: Fact) -> Result<Step, Refused> {
        let seq = self.state.seq + 1;
        let at = Times {
            wall: 1_000_000 + seq,
            boot: seq,
        };
        let event = Event { seq, at, fact };
        let step = advance(&self.plan, &mut self.state, &event)?;
        self.journal.push(event);
        self.steps.push(step.clone());
        Ok(step)
    }

    /// Takes the first effect of a kind and gives it back with its epoch.
    pub(crate) fn lease(&mut self, kind: EffectKind) -> (EffectId, u32) {
        let effect = self.open(kind).unwrap();
        let epoch = self.state.open[&effect].epoch + 1;
        self.tell(leased(&effect, epoch)).unwrap();
        (effect, epoch)
    }

    pub(crate) fn open(&self, kind: EffectKind) -> Option<EffectId> {
        self.state.open.keys().find(|id| id.kind == kind).cloned()
    }

    pub(crate) fn answer(&mut self, (effect, epoch): &(EffectId, u32), outcome: Outcome) -> Step {
        self.tell(Fact::Answered {
            effect: effect.clone(),
            epoch: *epoch,
            outcome,
        })
        .unwrap()
    }

    /// Looks at the files before the first child that is to begin.
    pub(crate) fn look(&mut self) {
        let held = self.lease(EffectKind::Look);
        self.answer(&held, Outcome::Looked(TreeBefore::default()));
    }

    pub(crate) fn prove(&mut self) {
        let held = self.lease(EffectKind::Prove);
        self.answer(&held, Outcome::Proved(Proof::Ended { scans: 2 }));
    }

    pub(crate) fn state_of(&self, node: &str) -> &'static str {
        self.state.nodes[&NodeId::from(node)].execution.word()
    }
}

pub(crate) fn submission() -> Fact {
    Fact::Submitted {
        owner: Digest::of(b"token"),
        key: None,
        parent: None,
        reused: BTreeMap::new(),
    }
}

pub(crate) fn leased(effect: &EffectId, epoch: u32) -> Fact {
    Fact::Leased {
        effect: effect.clone(),
        epoch,
        holder: Holder {
            pid: 7,
            start_time: 1,
            boot_id: "boot".to_owned(),
            pid_namespace: 1,
        },
    }
}

pub(crate) fn turned(of: &Attempt, epoch: u32, tokens: u64) -> Fact {
    Fact::Turned {
        of: of.clone(),
        epoch,
        turn: Turn {
            content: Body::Inline(Value::Null),
            usage: Usage {
                input: tokens,
                ..Usage::default()
            },
            stop: "end_turn".to_owned(),
            added: None,
        },
    }
}

pub(crate) fn called(of: &Attempt, epoch: u32, id: &str, writes: bool) -> Fact {
    Fact::Called {
        of: of.clone(),
        epoch,
        call: Call {
            id: CallId(id.to_owned()),
            tool: "bash".to_owned(),
            arguments: Body::Inline(Value::Null),
            writes,
            observed: false,
            given: None,
        },
    }
}

pub(crate) fn returned(of: &Attempt, epoch: u32, id: &str) -> Fact {
    Fact::Returned {
        of: of.clone(),
        epoch,
        call: CallId(id.to_owned()),
        outcome: CallOutcome {
            content: Body::Inline(Value::Null),
            is_error: false,
            goes_on: false,
        },
    }
}

pub(crate) fn text(text: &str) -> Output {
    Output {
        text: Some(Digest::of(text.as_bytes())),
        ..Output::default()
    }
}

pub(crate) fn ended(finish: Finish, output: Output) -> Outcome {
    Outcome::Ended(Ending {
        finish,
        output,
        lost: Usage::default(),
    })
}

pub(crate) fn model_failure(failure: ModelFailure) -> Finish {
    Finish::Failed(Cause::Model {
        failure,
        message: "said the provider".to_owned(),
    })
}

/// Changes every node of a plan, which is given with its place.
pub(crate) fn change_each(plan: &mut Plan, change: impl Fn(usize, &mut Node)) {
    let mut nodes = plan.nodes.to_vec();
    for (at, node) in nodes.iter_mut().enumerate() {
        change(at, node);
    }
    plan.nodes = nodes.into();
}

/// A plan of children, each after the one before it.
pub(crate) fn chain(children: Vec<Child>) -> Plan {
    let nodes = children.into_iter().enumerate().map(|(at, child)| Node {
        group: None,
        reviews: None,
        id: NodeId::step(at + 1),
        after: (at > 0).then(|| NodeId::step(at)).into_iter().collect(),
        work: Work::Child(Box::new(child)),
    });
    Plan::of(nodes.collect())
}

pub(crate) fn child() -> Child {
    Child::new("scout", Digest::of(b"told"), "a/one")
}
