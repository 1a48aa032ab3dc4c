//! The chain of hashes over a run's events.

use grove_plan::{Event, Plan};
use grove_spec::Digest;

use crate::reading::LoadedRun;

/// The first hash in the chain of a run, made from its id and its plan.
pub(crate) fn chain_start(run: &str, plan: &Plan) -> Digest {
    let mut bytes = b"grove-journal-1\n".to_vec();
    bytes.extend_from_slice(run.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(plan.digest().as_bytes());
    Digest::of(&bytes)
}

pub fn chain_hash(before: &Digest, body: &str) -> Digest {
    let mut bytes = before.as_bytes().to_vec();
    bytes.extend_from_slice(body.as_bytes());
    Digest::of(&bytes)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalFault {
    #[error("event {0} is missing")]
    Missing(u64),
    #[error("event {0} was changed after it was written")]
    Changed(u64),
    #[error("the journal ends before its last event")]
    CutOff,
    #[error("the end of the run was not signed, or its signature was removed")]
    NotSigned,
    #[error("what was signed at event {0} differs from what is there")]
    Signature(u64),
    #[error("event {0} was signed with a key that is not this installation's")]
    OtherKey(u64),
    #[error("artifact {0} is missing or was changed")]
    Artifact(Digest),
}

/// Checks the chain from the plan to the head.
pub(crate) fn verify(run: &LoadedRun, bodies: &[(u64, String, String)]) -> Option<JournalFault> {
    let mut before = chain_start(&run.id, &run.plan);
    for (expected, (seq, hash, body)) in (1..).zip(bodies) {
        if *seq != expected {
            return Some(JournalFault::Missing(expected));
        }
        before = chain_hash(&before, body);
        if before.to_string() != *hash {
            return Some(JournalFault::Changed(*seq));
        }
    }
    (before.to_string() != run.head).then_some(JournalFault::CutOff)
}

pub(crate) fn body_of(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(event)
}
