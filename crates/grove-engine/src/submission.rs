//! Records runs in the journal. Nothing has started when a run is recorded.

use grove_exec::now;
use grove_plan::{NodeId, Plan, Work};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store, StoreError, Submission, Submitted};

use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::identity::{new_owner_token, new_run_id};
use crate::resolve::ResolvedRun;
use crate::submit_key::SubmitKey;
use crate::told::Told;

/// The number of ids that are tried before the run is refused.
const ID_TRIES: u32 = 32;

/// A run that was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedRun {
    /// The id of the run.
    pub id: String,
    /// The token by which its holder owns the result; none if the run was there already and has another owner.
    pub owner_token: Option<String>,
}

/// Records a run in the journal.
pub fn submit(store: &Store, run: &ResolvedRun) -> Result<SubmittedRun, EngineError> {
    let key = run.submit_key.as_ref();
    let token = key.and_then(|key| token_of_key(store, key));
    let token = token.unwrap_or_else(new_owner_token);
    let owner = Digest::of(token.as_bytes());
    let submission = Submission {
        key: key.map(|key| key.as_str().to_owned()),
        parent: run.parent.clone(),
        artifacts: run.texts.values().cloned().collect(),
        ..submission(run.plan.clone(), &run.envelope, owner)
    };
    let submitted = submit_as_new(store, &submission)?;
    let is_owner = submitted.is_new || {
        let before = store.load(&submitted.run)?;
        require_same_request(&before, &run.envelope)?;
        before.state.owner == Some(owner)
    };
    Ok(SubmittedRun {
        id: submitted.run,
        owner_token: is_owner.then_some(token),
    })
}

/// A submission without a key, of a run that no child asks for.
fn submission(plan: Plan, envelope: &RunEnvelope, owner: Digest) -> Submission {
    Submission {
        id: String::new(),
        plan,
        envelope: envelope.written(),
        surroundings: envelope.surroundings.clone(),
        title: envelope.title.clone(),
        folder: envelope.folder.to_string_lossy().into_owned(),
        owner,
        key: None,
        parent: None,
        again: None,
        artifacts: Vec::new(),
        at: now(),
    }
}

/// Refuses a key that was given to another request: its run does something else, and may belong to another owner.
fn require_same_request(before: &LoadedRun, envelope: &RunEnvelope) -> Result<(), EngineError> {
    let asked = RunEnvelope::read(&before.envelope)?.asked;
    // Earlier versions wrote no digest; of their keys only those of children's calls are found again.
    if asked.is_none() || asked == envelope.asked {
        return Ok(());
    }
    let run = &before.id;
    let message =
        format!("this `submitKey` belongs to run {run}, which was asked for something else");
    Err(EngineError::usage(message)
        .hint("use another `submitKey` for another request; the same request gets the same run"))
}

/// Returns the owner's token of a run that was submitted with a key. A caller that submits it again may have lost the first
/// answer, so it is the same token, which cannot be found without the key of this installation.
fn token_of_key(store: &Store, key: &SubmitKey) -> Option<String> {
    let signed = format!("owner of {}", key.as_str());
    let signature = store.key()?.sign(signed.as_bytes());
    Some(Digest::of(&signature).first_digits(32))
}

/// Records the plan of an earlier run again, from a step on, with another task for it if there is one. The results of the steps
/// before it are taken over as they are.
pub(crate) fn submit_again(
    store: &Store,
    earlier: &LoadedRun,
    from: &NodeId,
    task: Option<&str>,
    surroundings: &str,
) -> Result<SubmittedRun, EngineError> {
    let reused = earlier.state.reusable(&earlier.plan, from);
    let reused = reused.map_err(|message| {
        EngineError::usage(message).hint("`grove runs show RUN` names the steps")
    })?;
    let mut envelope = RunEnvelope::read(&earlier.envelope)?;
    surroundings.clone_into(&mut envelope.surroundings);
    let token = new_owner_token();
    let owner = Digest::of(token.as_bytes());
    let mut plan = (*earlier.plan).clone();
    let told = task.map(|task| with_task(store, &mut plan, from, task));
    let submission = Submission {
        again: Some((earlier.id.clone(), reused)),
        artifacts: Vec::from_iter(told.transpose()?),
        ..submission(plan, &envelope, owner)
    };
    let submitted = submit_as_new(store, &submission)?;
    Ok(SubmittedRun {
        id: submitted.run,
        owner_token: Some(token),
    })
}

/// Gives a child of a plan another message, and returns the artifact with what it is told. Variables in the message stand for the
/// same as before.
fn with_task(
    store: &Store,
    plan: &mut Plan,
    node: &NodeId,
    task: &str,
) -> Result<Vec<u8>, EngineError> {
    let mut nodes = plan.nodes.to_vec();
    let known = nodes.iter_mut().find(|known| known.id == *node);
    let child = known.map(|known| match &mut known.work {
        Work::Child(child) => &mut **child,
        Work::FanOut(list) => &mut list.child,
    });
    let Some(child) = child else {
        let message = format!("`{node}` is not one child with a task of its own");
        return Err(EngineError::usage(message).hint("`grove runs show RUN` names the steps"));
    };
    let told = Told {
        message: task.to_owned(),
        ..store.json(&child.told)?
    };
    let bytes = told.to_bytes();
    child.told = Digest::of(&bytes);
    plan.nodes = nodes.into();
    Ok(bytes)
}

/// Submits with an id that no other run has: two processes may choose the same one in the same millisecond.
fn submit_as_new(store: &Store, submission: &Submission) -> Result<Submitted, StoreError> {
    let mut tries = 0;
    loop {
        let submission = Submission {
            id: new_run_id(),
            ..submission.clone()
        };
        match store.submit(submission) {
            Err(StoreError::Taken(_)) if tries < ID_TRIES => tries += 1,
            submitted => return submitted,
        }
    }
}
