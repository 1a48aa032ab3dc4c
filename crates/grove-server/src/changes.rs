//! Notifications to clients that their lists changed.
//!
//! A request looks at the files itself; this is for clients that send no requests. Skills and agents are watched: no timer
//! looks at files here.

use std::sync::Arc;
use std::time::Duration;

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_skills::DiscoveryParts;
use grove_skills::live::Subscription;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::server::Served;
use crate::subscriptions::{self, SubscribedResources};

/// The wait for one change; the end of the library ends it earlier.
const LONG: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenDigests {
    everything: Digest,
    skills: Digest,
    /// The digests of agents and chains; none until a client asks for them.
    agents: Option<(Digest, Digest)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangedLists {
    resources: bool,
    prompts: bool,
}

impl SeenDigests {
    pub(crate) fn of(snapshot: &Snapshot, parts: DiscoveryParts) -> Self {
        Self {
            everything: snapshot.digest,
            skills: snapshot.skills_digest,
            agents: parts
                .agents
                .then(|| (snapshot.agents.digest(), snapshot.chains.digest())),
        }
    }

    /// Returns the lists that changed since an earlier discovery. Agents that are seen for the first time are not a change.
    fn since(&self, earlier: &Self) -> ChangedLists {
        let skills = self.skills != earlier.skills;
        let agents = earlier.agents.is_some() && self.agents != earlier.agents;
        ChangedLists {
            resources: skills,
            prompts: skills || agents,
        }
    }
}

/// Records the digests of a snapshot, and wakes those that wait for changes.
pub(crate) fn record_snapshot(
    seen: &watch::Sender<SeenDigests>,
    snapshot: &Snapshot,
    parts: DiscoveryParts,
) {
    seen.send_if_modified(|seen| {
        let is_new = seen.everything != snapshot.digest || seen.agents.is_some() != parts.agents;
        if is_new {
            *seen = SeenDigests::of(snapshot, parts);
        }
        is_new
    });
}

/// Follows the changes of a library until it is gone.
pub(crate) fn follow(mut subscription: Subscription, seen: Arc<watch::Sender<SeenDigests>>) {
    let follow = move || {
        while !subscription.is_over() {
            if let Some(update) = subscription.next(LONG) {
                record_snapshot(&seen, &update.snapshot, update.parts);
            }
        }
    };
    let thread = std::thread::Builder::new().name("grove-changes".to_owned());
    // If the thread cannot start, requests still look, and clients hear of a change when a request finds it.
    drop(thread.spawn(follow));
}

#[derive(Debug)]
pub(crate) struct Changes {
    receiver: watch::Receiver<SeenDigests>,
    last: SeenDigests,
}

impl Changes {
    pub(crate) fn new(receiver: watch::Receiver<SeenDigests>) -> Self {
        let last = *receiver.borrow();
        Self { receiver, last }
    }

    /// Waits for the next change; none when nothing will ever change again.
    pub(crate) async fn next(&mut self) -> Option<ChangedLists> {
        self.receiver.changed().await.ok()?;
        let seen = *self.receiver.borrow_and_update();
        let news = seen.since(&self.last);
        self.last = seen;
        Some(news)
    }
}

/// Notifies a client of every change until the client or the library is gone.
pub(crate) async fn tell(peer: Peer<RoleServer>, mut changes: Changes, ended: CancellationToken) {
    while let Some(Some(news)) = ended.run_until_cancelled(changes.next()).await {
        let told = (!news.resources || peer.notify_resource_list_changed().await.is_ok())
            && (!news.prompts || peer.notify_prompt_list_changed().await.is_ok());
        if !told {
            return;
        }
    }
}

/// Notifies a subscriber of changes in the lists and resources that it subscribed to.
///
/// The resources are compared with their state when the subscription was acknowledged.
pub(crate) async fn notify_subscriber(
    subscription: &SubscriptionContext,
    served: &Served,
    acknowledged: &SubscribedResources,
) {
    let sink = subscription.sink();
    let accepted = subscription.accepted();
    let (mut changes, mut of_wanted) = (served.library.changes(), served.library.changes());
    let wanted = SubscribedResources::default();
    for uri in accepted.resource_subscriptions.iter().flatten() {
        // Resources beyond the allowed number are left out.
        if let Some(stamp) = acknowledged.take(uri) {
            let _ = wanted.add(uri, stamp);
        }
    }
    // Each loop runs to its own end: one that was dropped halfway would forget the changes that it has seen.
    let of_lists = async {
        while let Some(news) = changes.next().await {
            let resources = news.resources && accepted.resources_list_changed == Some(true);
            let prompts = news.prompts && accepted.prompts_list_changed == Some(true);
            let told = (!resources || sink.notify_resource_list_changed().await.is_ok())
                && (!prompts || sink.notify_prompt_list_changed().await.is_ok());
            if !told {
                return;
            }
        }
    };
    let of_resources = async {
        while let Some(changed) = subscriptions::next(served, &wanted, &mut of_wanted).await {
            for uri in changed {
                if sink.notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = subscription.cancelled() => {}
        () = of_lists => {}
        () = of_resources => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_what_a_client_could_have_seen() {
        let seen = |skills: &[u8], agents: Option<&[u8]>| SeenDigests {
            everything: Digest::of(&[skills, agents.unwrap_or_default()].concat()),
            skills: Digest::of(skills),
            agents: agents.map(|it| (Digest::of(it), Digest::of(it))),
        };
        for (before, after, resources, prompts) in [
            (seen(b"a", None), seen(b"a", None), false, false),
            (seen(b"a", None), seen(b"b", None), true, true),
            // The first discovery of agents is not a change for any client.
            (seen(b"a", None), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"y")), false, true),
            (seen(b"a", Some(b"x")), seen(b"b", Some(b"x")), true, true),
        ] {
            assert_eq!(after.since(&before), ChangedLists { resources, prompts });
        }
    }
}
