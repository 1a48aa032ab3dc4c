//! Gives the result of a run to the command that waits for its end.
//!
//! A delivery is an effect like every other: it is done once, and after a crash again under the same name, by which the
//! command can tell that it has had it before.

use std::path::Path;
use std::time::Duration;

use grove_exec::{ExecError, KeeperOrder, allowed_variables, end_marked};
use grove_fs::{FsError, atomic, files};
use grove_plan::{CheckEnd, Delivered, EffectId, Outcome};
use grove_spec::Digest;

use crate::envelope::RunEnvelope;
use crate::error::with_causes;
use crate::journal::view_of;
use crate::node_effect::NodeEffect;
use crate::supervisor::{DoneEffect, blocking};
use crate::verify::end_of;

/// The time between asking the command to end and ending it.
const GRACE_MS: u64 = 500;
/// The time within which the processes of an earlier try are ended.
const MOST_ENDING: Duration = Duration::from_secs(4);

/// The reason why a result was not given to the command.
#[derive(Debug, thiserror::Error)]
enum DeliveryError {
    #[error("nobody is waiting for it to end")]
    NotWaited,
    #[error(transparent)]
    Files(#[from] FsError),
    #[error(transparent)]
    NotRun(#[from] ExecError),
}

pub(crate) struct Delivering<'a> {
    pub(crate) at: &'a NodeEffect<'a>,
    pub(crate) effect: &'a EffectId,
    pub(crate) epoch: u32,
}

impl Delivering<'_> {
    /// Runs the command to its end.
    pub(crate) async fn run(&self) -> DoneEffect {
        let mut printed = Vec::new();
        let temporary = self.at.temporary("on-complete");
        let end = self.tell(&temporary, &mut printed).await;
        let end = end.unwrap_or_else(|error| CheckEnd::NotStarted(with_causes(&error)));
        let _ = files::remove_folder(&temporary);
        let output = Digest::of(&printed);
        let outcome = Outcome::Delivered(Delivered { end, output });
        DoneEffect::with(outcome, vec![printed])
    }

    async fn tell(
        &self,
        temporary: &Path,
        printed: &mut Vec<u8>,
    ) -> Result<CheckEnd, DeliveryError> {
        if self.epoch > 1 {
            let mark = self.at.mark();
            let ended = tokio::task::spawn_blocking(move || end_marked(&mark, MOST_ENDING));
            let _ = ended.await;
        }
        let order = blocking(|| self.order(temporary))?;
        let ended = self.at.keeper.run(&order, &self.at.stop, |_| {}).await?;
        *printed = ended.output.text().into_bytes();
        Ok(end_of(ended.report))
    }

    /// Returns the command to run, with its input in a file.
    fn order(&self, temporary: &Path) -> Result<KeeperOrder, DeliveryError> {
        let loaded = self.at.run;
        let on_complete = loaded.plan.on_complete.clone();
        let on_complete = on_complete.ok_or(DeliveryError::NotWaited)?;
        files::make_closed_folder(temporary)?;
        let input = temporary.join("run.json");
        atomic::write_mode(&input, self.told().as_bytes(), 0o600)?;
        let mut command = ["/bin/sh", "-c", "exec \"$@\" < \"$0\""]
            .map(str::to_owned)
            .to_vec();
        command.push(input.to_string_lossy().into_owned());
        command.extend(on_complete.command.iter().cloned());
        // The folder in which the run was asked for may be gone by now.
        let envelope = RunEnvelope::read(&loaded.envelope).ok();
        let folder = envelope.map(|envelope| envelope.folder);
        let folder = folder.filter(|folder| files::is_folder(folder));
        let folder = folder.unwrap_or_else(|| temporary.to_path_buf());
        Ok(KeeperOrder {
            command,
            environment: allowed_variables(self.at.environment),
            limit_ms: on_complete.timeout_ms,
            grace_ms: GRACE_MS,
            ..KeeperOrder::shell("", folder, &self.at.mark())
        })
    }

    /// Returns the run as JSON, with the name of this delivery.
    fn told(&self) -> String {
        let view = view_of(self.at.store, self.at.run);
        let mut told = serde_json::to_value(view).unwrap_or_default();
        if let Some(fields) = told.as_object_mut() {
            let name = format!("{}/{}", self.at.run.id, self.effect);
            fields.insert("delivery".to_owned(), name.into());
        }
        told.to_string()
    }
}
