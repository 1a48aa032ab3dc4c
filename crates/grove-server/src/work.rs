//! The work of a request on a thread of its own, with progress and cancellation.

use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A handle by which work reports its progress and sees that it was cancelled.
#[derive(Debug)]
pub(crate) struct WorkHandle {
    cancelled: CancellationToken,
    /// The steps done and the steps in all. Only the last value is kept, so a slow client costs nothing.
    progress: watch::Sender<(usize, usize)>,
}

impl WorkHandle {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    pub(crate) fn done(&self, steps: usize, of: usize) {
        self.progress.send_replace((steps, of));
    }
}

/// Does work that touches files, and sends its progress to a client that asked for it.
pub(crate) async fn run<T: Send + 'static>(
    context: &RequestContext<RoleServer>,
    act: impl FnOnce(&WorkHandle) -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let (sender, mut progress) = watch::channel((0, 0));
    let work = WorkHandle {
        cancelled: context.ct.clone(),
        progress: sender,
    };
    // The sender goes with the work, so the channel closes when the work is done.
    let mut working = tokio::task::spawn_blocking(move || act(&work));
    let token = context.meta.get_progress_token();
    let mut open = token.is_some();
    loop {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the request was cancelled", None));
            }
            changed = progress.changed(), if open => {
                open = changed.is_ok();
                let (steps, of) = *progress.borrow_and_update();
                if let (Some(token), true) = (&token, of > 0) {
                    let param = ProgressNotificationParam::new(token.clone(), count(steps));
                    let param = param.with_total(count(of));
                    // A client that cannot take the notification still gets its result.
                    let _ = context.peer.notify_progress(param).await;
                }
            }
            done = &mut working, if !open => {
                return done.map_err(|_| ErrorData::internal_error("the work failed", None));
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "steps are far fewer than a float counts exactly"
)]
fn count(steps: usize) -> f64 {
    steps as f64
}
