//! Effects whose holders are dead.

use grove_exec::{Liveness, ProcessIdentity};
use grove_plan::Fact;
use grove_store::OutboxRow;

use crate::supervisor::Shared;

/// Returns the fact that the holder of an effect is no more, if that is so. A holder that is stopped is alive, and of one in
/// another PID namespace nothing is known.
pub(crate) fn gone(shared: &Shared, row: &OutboxRow) -> Option<Fact> {
    let holder = row.holder.as_ref()?;
    let is_ours = *holder == shared.owner;
    let why = if is_ours {
        (!shared.is_running(&row.run, &row.effect)).then_some("its task is not there")
    } else {
        let liveness = ProcessIdentity(holder.clone()).liveness();
        (liveness == Liveness::Gone).then_some("its process is not there")
    };
    Some(Fact::Gone {
        effect: row.effect.clone(),
        epoch: row.epoch,
        why: why?.to_owned(),
    })
}
