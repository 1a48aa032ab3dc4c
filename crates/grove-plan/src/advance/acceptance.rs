//! The way to the verdict on a child's work: the files are looked at before it begins; when nothing of it runs any more, the
//! evidence is gathered; missing parts are asked for in the same session; a reviewer looks at it; then the verdict is given.

use super::{Run, stopped};
use crate::command::Command;
use crate::contract::{Accepted, Contract};
use crate::event::TreeBefore;
use crate::evidence::{Finding, Seen};
use crate::ids::{Attempt, EffectKind, NodeId};
use crate::state::{Continued, Execution, NextTry, Said};

impl Run<'_> {
    fn contract(&self, id: &NodeId) -> Option<&Contract> {
        self.plan.child(id)?.contract.as_ref()
    }

    /// Returns true if the files of a node have to be known as they were before it.
    pub(super) fn wants_look(&self, id: &NodeId) -> bool {
        let node = self.state.nodes.get(id);
        self.contract(id).is_some() && node.is_some_and(|node| node.before.is_none())
    }

    pub(super) fn look(&mut self, id: &NodeId, next: NextTry) {
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.execution = Execution::Queued;
            node.next = Some(next);
        }
        let node = id.clone();
        self.open_of_node(id, EffectKind::Look, Command::Look { node });
    }

    /// The files are known: the attempt begins, unless everything was stopped meanwhile.
    pub(super) fn looked(&mut self, id: &NodeId, before: &TreeBefore) {
        let Some(node) = self.state.nodes.get_mut(id) else {
            return;
        };
        node.before = Some(before.clone());
        match node.next.take() {
            Some(next) => self.try_with(id, next.model, next.continues),
            None => self.take_verdict(id),
        }
    }

    /// Returns true if a node is done as far as it says itself, and something is asked of its work.
    pub(super) fn wants_checks(&self, id: &NodeId) -> bool {
        let node = self.state.nodes.get(id);
        let verdict = node.and_then(|node| node.verdict.as_ref());
        self.contract(id).is_some() && verdict == Some(&Execution::Complete)
    }

    pub(super) fn verify(&mut self, id: &NodeId) {
        let node = id.clone();
        self.open_of_node(id, EffectKind::Verify, Command::Verify { node });
    }

    /// Judges work by the evidence that was gathered.
    pub(super) fn checked(&mut self, id: &NodeId, seen: &Seen) {
        let findings = self.contract(id).map(|contract| contract.findings(seen));
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.seen = Some(seen.clone());
        }
        let findings = findings.unwrap_or_default();
        if findings.is_empty() && self.review(id) {
            return;
        }
        self.decide(id, &findings);
    }

    /// Gives the verdict on work, or asks for what it does not have.
    fn decide(&mut self, id: &NodeId, findings: &[Finding]) {
        let (Some(contract), Some(node)) = (self.contract(id), self.state.nodes.get(id)) else {
            return;
        };
        let texts = || findings.iter().map(|finding| finding.text().to_owned());
        let may_ask = node.finalizations < contract.max_finalization_turns
            && !findings.iter().any(Finding::is_contradiction)
            && self.nothing_left_for(id).is_none();
        let accepted = if findings.is_empty() {
            Accepted::of(contract.level)
        } else if contract.is_inferred {
            Accepted::Claimed {
                missing: texts().collect(),
            }
        } else if may_ask {
            return self.ask_for(id, texts().collect());
        } else {
            let why: Vec<String> = texts().collect();
            let why = why.join("; ");
            Accepted::Rejected { why }
        };
        self.accept(id, accepted);
    }

    /// Lets the child go on in its session, with what its work does not have.
    fn ask_for(&mut self, id: &NodeId, findings: Vec<String>) {
        let Attempt { n, .. } = self.last_attempt(id);
        let model = self
            .attempt(&self.last_attempt(id))
            .map_or(0, |it| it.model);
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.finalizations = node.finalizations.saturating_add(1);
            node.answer.get_or_insert(n);
            node.verdict = None;
        }
        let said = Said::Findings(findings);
        self.begin(id, model, Some(Continued { n, said }));
    }

    /// Keeps an answer that was there although the child could not mend what was missing.
    pub(super) fn keeping_answer(&self, of: &Attempt, execution: Execution) -> Execution {
        let said = self
            .attempt(of)
            .and_then(|attempt| attempt.continues.as_ref());
        let was_asked = said.is_some_and(|said| matches!(said.said, Said::Findings(_)));
        match execution {
            Execution::Failed(_) | Execution::Lost(_) if was_asked => Execution::Complete,
            other => other,
        }
    }

    /// Begins the review of work that has everything else. Returns true if there is a reviewer.
    fn review(&mut self, id: &NodeId) -> bool {
        let reviewer = id.reviewer();
        let wants = self
            .contract(id)
            .is_some_and(|contract| contract.review.is_some());
        if !wants || self.plan.child(&reviewer).is_none() {
            return false;
        }
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.is_reviewed = true;
        }
        self.begin(&reviewer, 0, None);
        true
    }

    /// Tells the author of reviewed work that its reviewer is done.
    pub(super) fn tell_author(&mut self, reviewer: &NodeId) {
        let author = self.plan.reviews(reviewer);
        let known = self.state.nodes.get(reviewer);
        let (Some(author), Some(known)) = (author, known) else {
            return;
        };
        let found = known.last().and_then(|last| last.output()?.review.clone());
        let found = found.filter(|_| known.execution == Execution::Complete);
        let how = known.execution.clone();
        let Some(node) = self.state.nodes.get_mut(&author) else {
            return;
        };
        if !std::mem::take(&mut node.is_reviewed) {
            return;
        }
        node.review.clone_from(&found);
        if let Some(why) = &self.state.stop {
            node.verdict = Some(stopped(why));
        }
        if matches!(node.verdict, Some(Execution::Stopped(_))) {
            return self.leave_worktree(&author);
        }
        let contract = self.contract(&author);
        let is_required = contract
            .and_then(|it| it.review.as_ref())
            .is_none_or(|it| it.required);
        match found {
            Some(found) => {
                let blockers = found.blockers.iter();
                let blockers =
                    blockers.map(|it| Finding::Missing(format!("the reviewer says: {it}")));
                let blockers: Vec<Finding> = blockers.collect();
                self.decide(&author, &blockers);
            }
            None if is_required => {
                let reason = how.reason().unwrap_or_else(|| "gave no verdict".to_owned());
                let why = format!(
                    "nobody could review it: the reviewer {} ({reason})",
                    how.word()
                );
                self.accept(&author, Accepted::Rejected { why });
            }
            None => {
                let without = contract.map(Contract::level_without_review);
                let accepted = without.map_or(Accepted::None, Accepted::of);
                self.accept(&author, accepted);
            }
        }
    }

    pub(super) fn accept(&mut self, id: &NodeId, accepted: Accepted) {
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.accepted = accepted;
        }
        self.leave_worktree(id);
    }
}
