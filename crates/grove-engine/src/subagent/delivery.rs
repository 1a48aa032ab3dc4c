//! Results and their owners: a result has an id, is given as often as it is asked for, and is marked when the holder of
//! the owner's token says that it arrived.

use std::fmt::Write as _;

use grove_exec::now;
use grove_plan::{Fact, Refused, Wish};
use grove_runs::RunReport;
use grove_spec::Digest;
use grove_spec::text::one_line;
use grove_store::{LoadedRun, NewEvent, StoreError};
use serde_json::json;

use super::SubagentAnswer;
use crate::error::EngineError;
use crate::journal::RunJournal;

/// Returns the lines that name a run to its caller.
pub(crate) fn handle(run: &str, token: Option<&str>, notes: &[String]) -> String {
    let mut text = format!("run: {run}\n");
    match token {
        Some(token) => {
            let _ = writeln!(text, "token: {token}");
        }
        None => text.push_str("This run was there already, and somebody else owns its result.\n"),
    }
    for note in notes {
        let _ = writeln!(text, "note: {}", one_line(note));
    }
    text
}

/// The code of a refusal because of a missing or wrong token.
const NOT_OWNER: &str = "not-owner";

fn is_owner(run: &LoadedRun, token: &str) -> bool {
    run.state.owner == Some(Digest::of(token.as_bytes()))
}

/// The refusal for a client that does not own a run and wants to change what it does: the run may be another client's, or
/// the person's. None for its owner.
pub(crate) fn refused(run: &LoadedRun, token: Option<&str>) -> Option<SubagentAnswer> {
    let id = &run.id;
    let why = match token {
        Some(token) if is_owner(run, token) => return None,
        Some(_) => format!("this is not the token of run {id}"),
        None => format!("only the owner of run {id} does that, and `token` is missing"),
    };
    let text = format!(
        "{why} ({NOT_OWNER})\n\
        hint: give the `token` that the answer to `action: run` named; the same request with the same `submitKey` names it again\n\
        hint: a person can do it without a token, in a terminal: `grove runs --help`\n"
    );
    Some(SubagentAnswer {
        is_error: true,
        data: Some(json!({ "id": id, "code": NOT_OWNER })),
        ..SubagentAnswer::text(text)
    })
}

/// Refuses a caller that does not own the result.
pub(crate) fn require_owner(run: &LoadedRun, token: &str) -> Result<(), EngineError> {
    if is_owner(run, token) {
        return Ok(());
    }
    let message = format!("this is not the token of run {}", run.id);
    Err(EngineError::finding(message)
        .hint("the answer to `action: run` named it; `action: show` needs no token"))
}

/// Returns the name of the result that a run has now: the same for each caller, and another one after the run went on.
fn delivery_of(run: &LoadedRun) -> Option<String> {
    let ended = run.state.ended?;
    let named = format!("{}\0{}\0{}", run.id, ended.wall, ended.boot);
    Some(format!(
        "d{}",
        Digest::of(named.as_bytes()).first_digits(12)
    ))
}

/// Returns what a model is told of a run; its owner gets the id of the result, too.
pub(crate) fn told(runs: &RunJournal, run: &LoadedRun, token: Option<&str>) -> SubagentAnswer {
    let report = RunReport::of(&runs.store, run);
    let mut text = report.text;
    let delivery = delivery_of(run);
    let waits = run.state.run().is_waiting();
    match (&delivery, token) {
        (Some(delivery), Some(_)) if run.state.acknowledged => {
            let _ = write!(
                text,
                "\n\ndelivery {delivery}: you have acknowledged this result before"
            );
        }
        (Some(delivery), Some(_)) => {
            let _ = write!(
                text,
                "\n\ndelivery {delivery}: confirm that you have this result with `action: ack`, the run, the token and this delivery"
            );
        }
        (None, _) if !waits => {
            text.push_str("\n\nIt is not over yet; `action: wait` waits for its result.");
        }
        _ => {}
    }
    text.push('\n');
    let (state, seq) = (run.state.run().word(), run.state.seq);
    SubagentAnswer {
        text,
        is_error: report.is_error,
        data: Some(json!({
            "id": run.id,
            "state": state,
            "seq": seq,
            "ownerToken": token,
            "delivery": delivery,
            "acknowledged": run.state.acknowledged,
        })),
    }
}

/// Marks a result as one that arrived; a second mark changes nothing.
pub(crate) fn acknowledge(
    runs: &RunJournal,
    run: &LoadedRun,
    delivery: &str,
    by: &str,
) -> Result<SubagentAnswer, EngineError> {
    let Some(current) = delivery_of(run) else {
        let message = format!("run {} has no result yet", run.id);
        return Err(EngineError::finding(message).hint("`action: wait` waits for it"));
    };
    if current != delivery {
        let message = format!(
            "`{}` is not the result that run {} has now",
            one_line(delivery),
            run.id
        );
        return Err(EngineError::finding(message)
            .hint("the run may have continued since: `action: wait` gives its result and the delivery of that"));
    }
    let draft = NewEvent {
        fact: Fact::Wanted {
            by: by.to_owned(),
            // The same result is acknowledged once, however often a caller says so.
            id: current.clone(),
            wish: Wish::Acknowledge,
        },
        artifacts: Vec::new(),
        at: now(),
    };
    match runs.store.append(&run.id, draft) {
        Ok(_) | Err(StoreError::Refused(Refused::Duplicate)) => {}
        Err(StoreError::Refused(refused)) => return Err(EngineError::finding(refused)),
        Err(error) => return Err(error.into()),
    }
    Ok(SubagentAnswer {
        data: Some(json!({ "id": run.id, "delivery": current, "acknowledged": true })),
        ..SubagentAnswer::text(format!(
            "result {current} of run {} is acknowledged\n",
            run.id
        ))
    })
}
