//! Telling clients that their lists changed.
//!
//! Requests look by themselves; this is for clients that ask nothing. It is the one place that knows how
//! changes are noticed.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::shelf::{Seen, Shelf};

/// How long a change that nobody asks about may stay unnoticed.
const EVERY: Duration = Duration::from_secs(2);

/// Looks now and then until the server ends.
pub(crate) async fn look_now_and_then(shelf: Arc<Shelf>, ended: CancellationToken) {
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let shelf = Arc::clone(&shelf);
        // A look that failed has nothing to tell; the next one may.
        let _ = tokio::task::spawn_blocking(move || shelf.look_at_all()).await;
    }
}

/// Tells a client of every change until one of both is gone.
pub(crate) async fn tell(
    peer: Peer<RoleServer>,
    mut changes: watch::Receiver<Seen>,
    ended: CancellationToken,
) {
    let mut last = *changes.borrow();
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        let seen = *changes.borrow_and_update();
        let news = seen.since(&last);
        last = seen;
        let told = (!news.resources || peer.notify_resource_list_changed().await.is_ok())
            && (!news.prompts || peer.notify_prompt_list_changed().await.is_ok());
        if !told {
            return;
        }
    }
}

/// Tells a subscriber of what it asked for.
pub(crate) async fn tell_subscriber(
    subscription: &SubscriptionContext,
    mut changes: watch::Receiver<Seen>,
) {
    let sink = subscription.sink();
    let wants = |asked: Option<bool>| asked == Some(true);
    let mut last = *changes.borrow();
    loop {
        tokio::select! {
            () = subscription.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        let seen = *changes.borrow_and_update();
        let news = seen.since(&last);
        last = seen;
        let accepted = subscription.accepted();
        if news.resources
            && wants(accepted.resources_list_changed)
            && sink.notify_resource_list_changed().await.is_err()
        {
            return;
        }
        if news.prompts
            && wants(accepted.prompts_list_changed)
            && sink.notify_prompt_list_changed().await.is_err()
        {
            return;
        }
    }
}
