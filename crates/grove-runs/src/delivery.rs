//! Gives the result of a run to the command that waits for its end.
//!
//! A delivery is an effect like every other: it is done once, and after a crash again under the same name, by which the
//! command can tell that it has had it before.

use std::path::PathBuf;
use std::time::Duration;

use grove_exec::{
    EndReason, Keeper, KeeperOrder, ProgramExit, StopTokens, allowed_variables, end_marked,
};
use grove_fs::{atomic, files};
use grove_plan::{CheckEnd, Delivered, EffectId, RunView};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store};

use crate::submission::RunRequest;
use crate::supervisor::blocking;

/// The time between asking the command to end and ending it.
const GRACE_MS: u64 = 500;
/// The time within which the processes of an earlier try are ended.
const MOST_ENDING: Duration = Duration::from_secs(4);

/// The input of one delivery.
pub(crate) struct Delivering<'a> {
    pub(crate) store: &'a Store,
    pub(crate) run: &'a str,
    pub(crate) effect: &'a EffectId,
    pub(crate) epoch: u32,
    pub(crate) keeper: &'a Keeper,
    pub(crate) environment: &'a [(String, String)],
    pub(crate) mark: String,
    /// A folder for temporary files.
    pub(crate) temporary: PathBuf,
    pub(crate) stop: &'a StopTokens,
}

impl Delivering<'_> {
    /// Runs the command, and returns how it ended and what it printed.
    pub(crate) async fn run(&self) -> (Delivered, Vec<u8>) {
        let (end, printed) = match self.tell().await {
            Ok(done) => done,
            Err(why) => (CheckEnd::NotStarted(why), Vec::new()),
        };
        let _ = files::remove_folder(&self.temporary);
        let output = Digest::of(&printed);
        (Delivered { end, output }, printed)
    }

    async fn tell(&self) -> Result<(CheckEnd, Vec<u8>), String> {
        if self.epoch > 1 {
            let mark = self.mark.clone();
            let ended = tokio::task::spawn_blocking(move || end_marked(&mark, MOST_ENDING));
            let _ = ended.await;
        }
        let order = blocking(|| self.order())?;
        let ended = self.keeper.run(&order, self.stop, |_| {}).await;
        let ended = ended.map_err(|error| error.to_string())?;
        let end = match (ended.report.why, ended.report.exit) {
            (_, ProgramExit::NotStarted(why)) => CheckEnd::NotStarted(why),
            (EndReason::TimedOut, _) => CheckEnd::TimedOut,
            (_, ProgramExit::Code(code)) => CheckEnd::Code(code),
            (_, ProgramExit::Signal(signal)) => CheckEnd::Signal(signal),
        };
        Ok((end, ended.output.text().into_bytes()))
    }

    /// Returns the command to run, with its input in a file.
    fn order(&self) -> Result<KeeperOrder, String> {
        let loaded = self.store.load(self.run);
        let loaded = loaded.map_err(|error| error.to_string())?;
        let on_complete = loaded.plan.on_complete.clone();
        let on_complete = on_complete.ok_or("nobody is waiting for it to end")?;
        let said = |error: grove_fs::FsError| error.to_string();
        files::make_closed_folder(&self.temporary).map_err(said)?;
        let input = self.temporary.join("run.json");
        atomic::write_mode(&input, self.told(&loaded).as_bytes(), 0o600).map_err(said)?;
        let mut command = ["/bin/sh", "-c", "exec \"$@\" < \"$0\""]
            .map(str::to_owned)
            .to_vec();
        command.push(input.to_string_lossy().into_owned());
        command.extend(on_complete.command.iter().cloned());
        // The folder in which the run was asked for may be gone by now.
        let request: Option<RunRequest> = serde_json::from_str(&loaded.request).ok();
        let folder = request.map(|request| request.folder);
        let folder = folder.filter(|folder| files::is_folder(folder));
        let folder = folder.unwrap_or_else(|| self.temporary.clone());
        Ok(KeeperOrder {
            command,
            environment: allowed_variables(self.environment),
            limit_ms: on_complete.timeout_ms,
            grace_ms: GRACE_MS,
            ..KeeperOrder::shell("", folder, &self.mark)
        })
    }

    /// Returns the run as JSON, with the name of this delivery.
    fn told(&self, loaded: &LoadedRun) -> String {
        let texts = |digest: &Digest| {
            let bytes = self.store.artifact(digest).ok().flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let view = RunView::of(&loaded.id, &loaded.plan, &loaded.state, &texts);
        let mut told = serde_json::to_value(view.bounded(&loaded.plan)).unwrap_or_default();
        if let Some(fields) = told.as_object_mut() {
            let name = format!("{}/{}", self.run, self.effect);
            fields.insert("delivery".to_owned(), name.into());
        }
        told.to_string()
    }
}
