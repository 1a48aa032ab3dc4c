//! The budget of a tree, over any order in which its children ask: once it is spent, nobody makes more than the request that
//! it could not know to be too many. Runs below runs, tries with another model, requests that are made again, children that
//! go on and children that are driven on by somebody else share it.

use std::collections::BTreeMap;

use grove_plan::{
    Attempt, Body, Cause, Child, Command, EffectKind, Ending, Execution, Fact, Finish, Holder,
    ModelFailure, Node, NodeId, Outcome, Output, Parent, Plan, Proof, Turn, Usage, Wish, Work,
};
use grove_spec::Digest;
use grove_store::{Store, Submission};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::scene::{TOLD, draft, submission};

/// What every request takes.
const EACH: u64 = 10;
const ROOT: &str = "root";

/// A child as whoever drives it knows it.
struct Driven {
    run: String,
    of: Attempt,
    epoch: u32,
    asks: bool,
    /// What it was answered when it recorded something last, or what it was told.
    is_told: bool,
}

struct Tree {
    store: Store,
    _folder: TempDir,
    budget: u64,
    driven: Vec<Driven>,
    runs: Vec<String>,
    wishes: usize,
    /// Requests that ended after everything was spent, by child.
    beyond: BTreeMap<(String, NodeId), u32>,
}

fn plan(children: usize) -> Plan {
    let nodes = (1..=children).map(|at| {
        let mut child = Child::new("scout", Digest::of(TOLD), "a/one");
        child.models.push("a/two".to_owned());
        Node {
            id: NodeId::step(at),
            after: Vec::new(),
            group: None,
            reviews: None,
            work: Work::Child(Box::new(child)),
        }
    });
    Plan::of(nodes.collect())
}

fn usage() -> Usage {
    Usage {
        input: EACH,
        ..Usage::default()
    }
}

impl Tree {
    fn new(children: usize, budget: u64) -> Self {
        // What is synced here is thrown away at once.
        let memory = tempfile::tempdir_in("/dev/shm");
        let folder = memory.or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open(&folder.path().join("runs.db")).unwrap();
        let mut plan = plan(children);
        plan.tree.max_tokens = Some(budget);
        let first = Submission {
            plan,
            ..submission(ROOT)
        };
        store.submit(first).unwrap();
        Self {
            store,
            _folder: folder,
            budget,
            driven: Vec::new(),
            runs: vec![ROOT.to_owned()],
            wishes: 0,
            beyond: BTreeMap::new(),
        }
    }

    fn spent(&self) -> u64 {
        let root = self.store.load(ROOT).unwrap();
        root.state.spent.counted()
    }

    /// Records something that a child tells; one that is nobody's any more is forgotten.
    fn tell(&mut self, at: usize, fact: Fact) {
        let run = self.driven[at].run.clone();
        match self.store.append(&run, draft(fact)) {
            Ok(appended) => self.driven[at].is_told |= appended.is_stopping,
            Err(_) => drop(self.driven.remove(at)),
        }
    }

    /// Somebody takes an effect, and does it at once unless it is a child.
    fn take(&mut self, choice: usize) {
        let rows = self.store.outbox().unwrap();
        let free: Vec<_> = rows.iter().filter(|row| row.holder.is_none()).collect();
        let Some(row) = free.get(choice % free.len().max(1)) else {
            return;
        };
        let (run, effect, epoch) = (row.run.clone(), row.effect.clone(), row.epoch + 1);
        let leased = Fact::Leased {
            effect: effect.clone(),
            epoch,
            holder: Holder {
                pid: 1,
                start_time: 1,
                boot_id: "boot".to_owned(),
                pid_namespace: 1,
            },
        };
        if self.store.append(&run, draft(leased)).is_err() {
            return;
        }
        let of = effect.of.clone();
        let outcome = match (&row.command, effect.kind) {
            (_, EffectKind::Start) => {
                return self.driven.push(Driven {
                    run,
                    of,
                    epoch,
                    asks: false,
                    is_told: false,
                });
            }
            (Command::Stop { .. }, _) => {
                for child in &mut self.driven {
                    child.is_told |= child.run == run && child.of == of;
                }
                self.stop_below(&run, &of);
                Outcome::Told
            }
            _ => {
                // What a child did not wait for ends with it; one that goes on has it still.
                let loaded = self.store.load(&run).unwrap();
                let attempt = loaded.state.attempt(&of);
                if attempt.is_some_and(|it| !it.recovering || it.stopping.is_some()) {
                    self.stop_below(&run, &of);
                }
                Outcome::Proved(Proof::Ended { scans: 2 })
            }
        };
        let answered = Fact::Answered {
            effect,
            epoch,
            outcome,
        };
        self.store.append(&run, draft(answered)).unwrap();
    }

    fn stop_below(&mut self, run: &str, of: &Attempt) {
        for below in self.store.open_below(run, of).unwrap() {
            self.wish(&below, Wish::Stop { now: false });
        }
    }

    fn wish(&mut self, run: &str, wish: Wish) {
        self.wishes += 1;
        let fact = Fact::Wanted {
            by: "somebody".to_owned(),
            id: format!("w{}", self.wishes),
            wish,
        };
        let _ = self.store.append(run, draft(fact));
    }

    /// A request of a child comes to its end, in one way or another.
    fn answer(&mut self, at: usize, detail: usize) {
        let child = &mut self.driven[at];
        let (run, of, epoch) = (child.run.clone(), child.of.clone(), child.epoch);
        child.asks = false;
        let was = self.spent();
        match detail % 4 {
            // It came to nothing, and is made again unless that would be too many.
            0 => {
                let usage = usage();
                let of = of.clone();
                self.tell(at, Fact::Wasted { of, epoch, usage });
                if let Some(child) = self.driven.get_mut(at) {
                    child.asks = !child.is_told;
                }
            }
            // It failed for good, and another model is there.
            1 => {
                let failed = Cause::Model {
                    failure: ModelFailure::Overload,
                    message: "full".to_owned(),
                };
                self.end(at, Finish::Failed(failed), usage());
            }
            _ => {
                let turn = Turn {
                    content: Body::Inline(serde_json::Value::Null),
                    usage: usage(),
                    stop: "end_turn".to_owned(),
                    added: None,
                };
                let of = of.clone();
                self.tell(at, Fact::Turned { of, epoch, turn });
            }
        }
        let now = self.spent();
        assert!(now == was || now == was + EACH);
        if was >= self.budget && now > was {
            *self.beyond.entry((run, of.node)).or_default() += 1;
        }
    }

    fn end(&mut self, at: usize, finish: Finish, lost: Usage) {
        let child = self.driven.remove(at);
        let output = Output {
            text: Some(Digest::of(b"done")),
            ..Output::default()
        };
        let ended = Fact::Answered {
            effect: grove_plan::EffectId::new(&child.of, EffectKind::Start, 0),
            epoch: child.epoch,
            outcome: Outcome::Ended(Ending {
                finish,
                output,
                lost,
            }),
        };
        let _ = self.store.append(&child.run, draft(ended));
    }

    /// A child asks for others.
    fn delegate(&mut self, at: usize, children: usize) {
        let child = &self.driven[at];
        let id = format!("below{}", self.runs.len());
        let below = Submission {
            plan: plan(children),
            parent: Some(Parent {
                run: child.run.clone(),
                of: child.of.clone(),
            }),
            ..submission(&id)
        };
        let is_spent = self.spent() >= self.budget;
        if self.store.submit(below).is_ok() {
            assert!(!is_spent, "a run began with nothing left");
            self.runs.push(id);
        }
    }

    fn step(&mut self, choice: usize, detail: usize) {
        let asking: Vec<usize> = (0..self.driven.len())
            .filter(|at| self.driven[*at].asks)
            .collect();
        let idle: Vec<usize> = (0..self.driven.len())
            .filter(|at| !self.driven[*at].asks)
            .collect();
        let one = |of: &[usize]| of.get(detail % of.len().max(1)).copied();
        match choice % 12 {
            0..=3 => self.take(detail),
            4 | 5 => {
                if let Some(at) = one(&idle).filter(|at| !self.driven[*at].is_told) {
                    self.driven[at].asks = true;
                }
            }
            6..=8 => {
                if let Some(at) = one(&asking) {
                    self.answer(at, detail / 7);
                }
            }
            9 => {
                if let Some(at) = one(&idle).filter(|at| !self.driven[*at].is_told) {
                    self.delegate(at, 1 + detail / 5 % 2);
                }
            }
            10 => {
                if let Some(at) = one(&idle) {
                    let finish = if self.driven[at].is_told {
                        Finish::Interrupted
                    } else {
                        Finish::Answered
                    };
                    self.end(at, finish, Usage::default());
                }
            }
            _ => self.go_on(detail),
        }
    }

    /// A child whose supervisor is gone, or one that is over and is to go on.
    fn go_on(&mut self, detail: usize) {
        if detail.is_multiple_of(2) && !self.driven.is_empty() {
            let child = self.driven.remove(detail / 2 % self.driven.len());
            let gone = Fact::Gone {
                effect: grove_plan::EffectId::new(&child.of, EffectKind::Start, 0),
                epoch: child.epoch,
                why: "gone".to_owned(),
            };
            let _ = self.store.append(&child.run, draft(gone));
            return;
        }
        let run = self.runs[detail / 2 % self.runs.len()].clone();
        let loaded = self.store.load(&run).unwrap();
        let over = loaded.state.nodes.iter();
        let over = over.filter(|(_, node)| node.execution != Execution::Running);
        let over: Vec<&NodeId> = over.map(|(id, _)| id).collect();
        if let Some(node) = over.get(detail / 4 % over.len().max(1)) {
            let (node, message) = ((*node).clone(), None);
            self.wish(&run, Wish::Resume { node, message });
        }
    }
}

/// A thousand orders; as many as somebody asks for.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted
        .and_then(|wanted| wanted.parse().ok())
        .unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_spends_no_more_than_one_request_of_each_child_beyond_its_budget(
        children in 1_usize..4,
        budget in 1_u64..80,
        steps in prop::collection::vec((any::<usize>(), any::<usize>()), 20..120),
    ) {
        let mut tree = Tree::new(children, budget);
        for (choice, detail) in steps {
            tree.step(choice, detail);
        }
        let most = tree.beyond.values().max().copied().unwrap_or_default();
        prop_assert!(most <= 1, "{:?}", tree.beyond);
        let loaded: Vec<_> = tree.runs.iter().map(|run| tree.store.load(run).unwrap()).collect();
        let attempts = loaded.iter().flat_map(|run| run.state.nodes.values());
        let attempts = attempts.flat_map(|node| &node.attempts);
        let used: u64 = attempts.map(|attempt| attempt.usage.counted()).sum();
        prop_assert_eq!(used, tree.spent(), "what is used below is used above");
    }
}
