//! The ledger of a run: what was asked of the work, what was seen of it and the verdict, apart from prose.

use grove_plan::{Contract, NodeView, RunView};
use grove_spec::Digest;
use grove_store::{LoadedRun, SigningKey};
use serde_json::{Value, json};

use crate::attestation;
use crate::error::EngineError;
use crate::journal::RunJournal;

/// The ledger of one run.
pub struct Ledger {
    run: LoadedRun,
    /// The run as all views show it.
    pub view: RunView,
}

/// A ledger that was compared with what was recorded and signed.
pub struct CheckedLedger {
    /// The id of the run.
    pub run: String,
    /// The ledger; none if the journal was changed so that it cannot be read.
    pub ledger: Option<Ledger>,
    /// Each text and event that is not as it was recorded.
    pub faults: Vec<String>,
}

impl Ledger {
    /// Returns true if the run is over.
    pub const fn is_over(&self) -> bool {
        self.run.state.ended.is_some()
    }

    /// The contract of a child.
    pub fn contract(&self, node: &NodeView) -> Option<Contract> {
        let child = self.run.plan.child(&node.id);
        child.and_then(|child| child.contract.clone())
    }

    /// Everything that was recorded, as data.
    pub fn to_json(&self) -> Value {
        let nodes: Vec<Value> = self.view.nodes.iter().map(|node| self.node(node)).collect();
        json!({
            "schema": "grove.ledger/1",
            "run": self.run.id,
            "head": self.run.head,
            "acceptance": self.view.acceptance,
            "nodes": nodes,
        })
    }

    fn node(&self, node: &NodeView) -> Value {
        let contract = self.contract(node);
        json!({
            "node": node.id,
            "agent": node.agent,
            "state": node.state,
            "contract": contract,
            "contractDigest": contract.as_ref().map(Contract::digest),
            "checks": node.checks,
            "seen": node.seen,
            "review": node.review,
            "acceptance": node.acceptance,
            "rejected": node.rejected,
            "missing": node.missing,
            "patch": node.patch.as_ref().map(|patch| patch.digest),
        })
    }
}

impl RunJournal {
    /// Returns the ledger of a run.
    pub fn ledger(&self, given: &str) -> Result<Ledger, EngineError> {
        Ok(self.ledger_of(self.load(given)?))
    }

    /// Returns the ledger of a run that was loaded.
    pub fn ledger_of(&self, run: LoadedRun) -> Ledger {
        let view = self.view(&run);
        Ledger { run, view }
    }

    /// Returns the ledger of a run with everything that is not as it was recorded. A journal that was changed may say
    /// what cannot be: then the place of the change is the only fault.
    pub fn checked_ledger(&self, given: &str) -> Result<CheckedLedger, EngineError> {
        let id = self.find(given)?;
        let loaded = match self.store.load(&id) {
            Ok(loaded) => loaded,
            Err(error) => {
                let fault = self.store.verify(&id)?;
                let fault = fault.map_or_else(|| error.to_string(), |fault| fault.to_string());
                return Ok(CheckedLedger {
                    run: id,
                    ledger: None,
                    faults: vec![fault],
                });
            }
        };
        let ledger = self.ledger_of(loaded);
        Ok(CheckedLedger {
            run: id,
            faults: self.ledger_faults(&ledger)?,
            ledger: Some(ledger),
        })
    }

    /// The key that signs ledgers.
    pub fn ledger_key(&self) -> Result<&SigningKey, EngineError> {
        let key = self.store.key();
        key.ok_or_else(|| EngineError::finding("there is no key that signs ledgers"))
    }

    /// Returns the ledger of a run that is over as a signed statement for other programs. What was changed is not attested.
    pub fn attestation(&self, given: &str) -> Result<Value, EngineError> {
        let ledger = self.ledger(given)?;
        let id = &ledger.run.id;
        if !ledger.is_over() {
            let message = format!("run {id} is not over: there is nothing to attest");
            return Err(EngineError::finding(message).hint("`grove runs wait` waits for it"));
        }
        let faults = self.ledger_faults(&ledger)?;
        if !faults.is_empty() {
            let message = format!("run {id} differs from what was recorded");
            return Err(EngineError::finding(message).hints(faults));
        }
        let (key, data) = (self.ledger_key()?, ledger.to_json());
        attestation::envelope(self, key, &ledger.run, &ledger.view.nodes, &data)
    }

    /// Compares the chain of events and the texts that they name with their digests.
    fn ledger_faults(&self, ledger: &Ledger) -> Result<Vec<String>, EngineError> {
        let verified = self.store.verify(&ledger.run.id)?;
        let mut faults: Vec<String> = verified.iter().map(ToString::to_string).collect();
        for node in &ledger.view.nodes {
            let checks = node.checks.iter().map(|check| check.output);
            let patch = node.patch.iter().map(|patch| patch.digest);
            for digest in checks.chain(patch).chain([node.told]) {
                let stored = self.store.artifact(&digest)?;
                if stored.is_none_or(|bytes| Digest::of(&bytes) != digest) {
                    faults.push(format!(
                        "the text {digest} of {} is missing or was changed",
                        node.id
                    ));
                }
            }
        }
        Ok(faults)
    }
}
