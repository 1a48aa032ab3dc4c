//! Telling clients that their lists changed.
//!
//! Requests look by themselves; this is for clients that ask nothing. It is the one place that knows how
//! changes are noticed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use grove_skills::live::Subscription;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::shelf::{Seen, Sights};

/// How long a changed agent that nobody asks about may stay unnoticed.
const EVERY: Duration = Duration::from_secs(2);
/// Looking for agents takes this share of the time at most.
const SHARE: u32 = 100;

/// Follows a library until it is gone: skills are told of by themselves, agents are looked for now and then once
/// somebody has asked for them.
pub(crate) fn follow(mut told: Subscription, sights: Arc<Sights>) {
    let follow = move || {
        let mut due = Instant::now() + EVERY;
        while !told.is_over() {
            if let Some(update) = told.next(due.saturating_duration_since(Instant::now())) {
                sights.saw_skills(&update.snapshot);
            }
            let start = Instant::now();
            if start >= due {
                if sights.has_agents() {
                    sights.look_for_agents();
                }
                due = start + EVERY.max(start.elapsed() * SHARE);
            }
        }
    };
    let thread = std::thread::Builder::new().name("grove-changes".to_owned());
    // Without a thread, requests look all the same, and clients hear of a change when one finds it.
    drop(thread.spawn(follow));
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
