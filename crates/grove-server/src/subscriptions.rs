//! Subscriptions of clients to single resources: files of skills, and runs.
//!
//! A resource that does not exist yet can be subscribed to as well: its coming is a change. Only a digest of a resource is
//! compared with the last one; a client that is notified of a change reads the resource to see it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_catalog::Digest;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::resources;
use crate::server::Served;

const MOST: usize = 64;
const LONGEST: usize = 2_048;
/// The time between two checks for a new version of the journal.
const POLL: Duration = Duration::from_millis(50);
/// The time between two checks of files beside a skill's own, which no watcher follows.
const FILE_CHECK: Duration = Duration::from_secs(2);

/// The digest of a resource; none when it does not exist.
pub(crate) type Stamp = Option<Digest>;

/// The resources that one connection has subscribed to, each with its last digest.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubscribedResources(Arc<Mutex<BTreeMap<String, Stamp>>>);

impl SubscribedResources {
    fn stamps(&self) -> MutexGuard<'_, BTreeMap<String, Stamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a resource. Returns true if it is the first.
    pub(crate) fn add(&self, uri: &str, stamp: Stamp) -> Result<bool, ErrorData> {
        let mut stamps = self.stamps();
        if uri.len() > LONGEST || (stamps.len() >= MOST && !stamps.contains_key(uri)) {
            let message = format!(
                "at most {MOST} resources can be subscribed to, with URIs of at most {LONGEST} bytes"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let is_first = stamps.is_empty();
        stamps.insert(uri.to_owned(), stamp);
        Ok(is_first)
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.stamps().remove(uri);
    }

    pub(crate) fn take(&self, uri: &str) -> Option<Stamp> {
        self.stamps().remove(uri)
    }

    fn changed(&self, served: &Served) -> Vec<String> {
        let known: Vec<(String, Stamp)> = {
            let stamps = self.stamps();
            stamps
                .iter()
                .map(|(uri, stamp)| (uri.clone(), *stamp))
                .collect()
        };
        let mut changed = Vec::new();
        for (uri, before) in known {
            let now = stamp(served, &uri);
            if now == before {
                continue;
            }
            // A resource that was unsubscribed in the meantime is left out.
            if let Some(known) = self.stamps().get_mut(&uri) {
                *known = now;
                changed.push(uri);
            }
        }
        changed
    }

    fn has_runs(&self) -> bool {
        let stamps = self.stamps();
        stamps.keys().any(|uri| uri.starts_with(resources::RUN))
    }
}

pub(crate) fn stamp(served: &Served, uri: &str) -> Stamp {
    if let Some(run) = resources::run_of(uri) {
        let seq = served.engine.as_ref()?.run_json(run)?.1;
        return Some(Digest::of(&seq.to_be_bytes()));
    }
    resources::bytes_of(&served.library, uri).map(|bytes| Digest::of(&bytes))
}

/// Waits until some resources have changed, and returns those; none when nothing will ever change again.
pub(crate) async fn next(
    served: &Served,
    wanted: &SubscribedResources,
    changes: &mut Changes,
) -> Option<Vec<String>> {
    let mut version = None;
    let mut last_look = Instant::now();
    loop {
        let is_library = tokio::select! {
            changed = changes.next() => {
                changed?;
                true
            }
            () = tokio::time::sleep(POLL) => false,
        };
        let now = served.engine.as_ref().filter(|_| wanted.has_runs());
        let now = now.map(|engine| engine.version());
        let is_late = last_look.elapsed() >= FILE_CHECK;
        if !(is_library || now != version || is_late) {
            continue;
        }
        (version, last_look) = (now, Instant::now());
        let (served, wanted) = (served.clone(), wanted.clone());
        let looked = tokio::task::spawn_blocking(move || wanted.changed(&served)).await;
        let changed = looked.unwrap_or_default();
        if !changed.is_empty() {
            return Some(changed);
        }
    }
}

/// Notifies a client of every changed resource until the client or the library is gone.
pub(crate) async fn tell(
    peer: Peer<RoleServer>,
    served: Served,
    wanted: SubscribedResources,
    ended: CancellationToken,
) {
    let mut changes = served.library.changes();
    while let Some(Some(changed)) = ended
        .run_until_cancelled(next(&served, &wanted, &mut changes))
        .await
    {
        for uri in changed {
            let param = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(param).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_wants_no_more_than_it_may() {
        let wanted = SubscribedResources::default();
        assert_eq!(wanted.add("run://0", None).ok(), Some(true));
        for number in 1..MOST {
            assert_eq!(
                wanted.add(&format!("run://{number}"), None).ok(),
                Some(false)
            );
        }
        assert!(wanted.add("run://more", None).is_err());
        assert!(
            wanted.add("run://0", None).is_ok(),
            "what is wanted already is no more"
        );
        wanted.remove("run://0");
        assert!(wanted.add(&"x".repeat(LONGEST + 1), None).is_err());
        assert!(wanted.add("run://more", None).is_ok());
    }
}
