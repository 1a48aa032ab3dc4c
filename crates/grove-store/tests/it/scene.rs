//! A journal in a folder of its own.

use std::path::PathBuf;

use grove_plan::{
    Attempt, Body, Child, EffectId, EffectKind, Fact, Finish, Holder, Node, NodeId, Outcome,
    Output, Plan, Proof, Times, Turn, Usage, Work,
};
use grove_spec::Digest;
use grove_store::{NewEvent, Store, Submission};
use tempfile::TempDir;

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.db")).unwrap();
        Self { folder, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("runs.db")
    }

    pub(crate) fn submit(&self, id: &str) {
        self.store.submit(submission(id)).unwrap();
    }

    /// Everything of a child that answers at once.
    pub(crate) fn finish(&self, id: &str) {
        for fact in whole_child() {
            self.store.append(id, draft(fact)).unwrap();
        }
    }
}

pub(crate) const TOLD: &[u8] = b"You are a scout.";

pub(crate) fn submission(id: &str) -> Submission {
    let child = Child::new("scout", Digest::of(TOLD), "a/one");
    Submission {
        parent: None,
        again: None,
        id: id.to_owned(),
        plan: Plan::of(vec![Node::first(Work::Child(Box::new(child)))]),
        envelope: r#"{"title":"look"}"#.to_owned(),
        surroundings: "own".to_owned(),
        title: "scout: look".to_owned(),
        folder: "/project".to_owned(),
        owner: Digest::of(b"token"),
        key: None,
        artifacts: vec![TOLD.to_vec()],
        at: times(),
    }
}

pub(crate) fn times() -> Times {
    Times {
        wall: 1_000,
        boot: 10,
    }
}

pub(crate) fn draft(fact: Fact) -> NewEvent {
    NewEvent {
        fact,
        artifacts: Vec::new(),
        at: times(),
    }
}

pub(crate) fn first() -> Attempt {
    Attempt {
        node: NodeId::step(1),
        n: 1,
    }
}

pub(crate) fn leased(kind: EffectKind) -> Fact {
    Fact::Leased {
        effect: EffectId::new(&first(), kind, 0),
        epoch: 1,
        holder: Holder {
            pid: std::process::id(),
            start_time: 1,
            boot_id: "boot".to_owned(),
            pid_namespace: 1,
        },
    }
}

pub(crate) fn turned() -> Fact {
    Fact::Turned {
        of: first(),
        epoch: 1,
        turn: Turn {
            content: Body::Inline(serde_json::json!([{"type": "text", "text": "hm"}])),
            usage: Usage {
                input: 3,
                output: 2,
                ..Usage::default()
            },
            stop: "end_turn".to_owned(),
            added: None,
        },
    }
}

fn whole_child() -> Vec<Fact> {
    let answered = |kind, outcome| Fact::Answered {
        effect: EffectId::new(&first(), kind, 0),
        epoch: 1,
        outcome,
    };
    let output = Output {
        text: Some(Digest::of(b"done")),
        ..Output::default()
    };
    let ending = grove_plan::Ending {
        finish: Finish::Answered,
        output,
        lost: Usage::default(),
    };
    vec![
        leased(EffectKind::Start),
        turned(),
        answered(EffectKind::Start, Outcome::Ended(ending)),
        leased(EffectKind::Prove),
        answered(
            EffectKind::Prove,
            Outcome::Proved(Proof::Ended { scans: 2 }),
        ),
    ]
}
