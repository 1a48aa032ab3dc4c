//! Telling clients that their lists changed.
//!
//! Requests look by themselves; this is for clients that ask nothing. Skills and agents are watched: nothing is looked
//! at by the clock here.

use std::sync::Arc;
use std::time::Duration;

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_skills::Parts;
use grove_skills::live::Subscription;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::server::Served;
use crate::subscriptions::{self, Wanted};

/// How long is waited for a change at a time; whoever ends the library ends the waiting.
const LONG: Duration = Duration::from_hours(1);

/// What was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    everything: Digest,
    skills: Digest,
    /// Of agents and chains; none until somebody asks for them.
    agents: Option<(Digest, Digest)>,
}

/// Which lists of a client are not what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    resources: bool,
    prompts: bool,
}

impl Seen {
    pub(crate) fn of(snapshot: &Snapshot, parts: Parts) -> Self {
        Self {
            everything: snapshot.digest,
            skills: snapshot.skills_digest,
            agents: parts
                .agents
                .then(|| (snapshot.agents.digest(), snapshot.chains.digest())),
        }
    }

    /// What is new since an earlier look. Agents that nobody had asked for are no news.
    fn since(&self, earlier: &Self) -> News {
        let skills = self.skills != earlier.skills;
        let agents = earlier.agents.is_some() && self.agents != earlier.agents;
        News {
            resources: skills,
            prompts: skills || agents,
        }
    }
}

/// Takes what was seen; whoever waits for changes is told.
pub(crate) fn saw(seen: &watch::Sender<Seen>, snapshot: &Snapshot, parts: Parts) {
    seen.send_if_modified(|seen| {
        let is_new = seen.everything != snapshot.digest || seen.agents.is_some() != parts.agents;
        if is_new {
            *seen = Seen::of(snapshot, parts);
        }
        is_new
    });
}

/// Follows a library until it is gone.
pub(crate) fn follow(mut subscription: Subscription, seen: Arc<watch::Sender<Seen>>) {
    let follow = move || {
        while !subscription.is_over() {
            if let Some(update) = subscription.next(LONG) {
                saw(&seen, &update.snapshot, update.parts);
            }
        }
    };
    let thread = std::thread::Builder::new().name("grove-changes".to_owned());
    // Without a thread, requests look all the same, and clients hear of a change when one finds it.
    drop(thread.spawn(follow));
}

/// What changes, a step at a time.
#[derive(Debug)]
pub(crate) struct Changes {
    receiver: watch::Receiver<Seen>,
    last: Seen,
}

impl Changes {
    pub(crate) fn new(receiver: watch::Receiver<Seen>) -> Self {
        let last = *receiver.borrow();
        Self { receiver, last }
    }

    /// The next news; none when nothing will ever change again.
    pub(crate) async fn next(&mut self) -> Option<News> {
        self.receiver.changed().await.ok()?;
        let seen = *self.receiver.borrow_and_update();
        let news = seen.since(&self.last);
        self.last = seen;
        Some(news)
    }
}

/// Tells a client of every change until one of both is gone.
pub(crate) async fn tell(peer: Peer<RoleServer>, mut changes: Changes, ended: CancellationToken) {
    while let Some(Some(news)) = ended.run_until_cancelled(changes.next()).await {
        let told = (!news.resources || peer.notify_resource_list_changed().await.is_ok())
            && (!news.prompts || peer.notify_prompt_list_changed().await.is_ok());
        if !told {
            return;
        }
    }
}

/// Tells a subscriber of what it asked for.
///
/// What was asked for is compared with what it was when the subscription was acknowledged.
pub(crate) async fn tell_subscriber(
    subscription: &SubscriptionContext,
    served: &Served,
    acknowledged: &Wanted,
) {
    let sink = subscription.sink();
    let accepted = subscription.accepted();
    let (mut changes, mut of_wanted) = (served.library.changes(), served.library.changes());
    let wanted = Wanted::default();
    for uri in accepted.resource_subscriptions.iter().flatten() {
        // More than there may be are not heard of.
        if let Some(stamp) = acknowledged.take(uri) {
            let _ = wanted.add(uri, stamp);
        }
    }
    // Each of both goes on by itself: one that is given up halfway would forget what it has seen.
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
        let seen = |skills: &[u8], agents: Option<&[u8]>| Seen {
            everything: Digest::of(&[skills, agents.unwrap_or_default()].concat()),
            skills: Digest::of(skills),
            agents: agents.map(|it| (Digest::of(it), Digest::of(it))),
        };
        for (before, after, resources, prompts) in [
            (seen(b"a", None), seen(b"a", None), false, false),
            (seen(b"a", None), seen(b"b", None), true, true),
            // The first look for agents is nobody's news.
            (seen(b"a", None), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"y")), false, true),
            (seen(b"a", Some(b"x")), seen(b"b", Some(b"x")), true, true),
        ] {
            assert_eq!(after.since(&before), News { resources, prompts });
        }
    }
}
