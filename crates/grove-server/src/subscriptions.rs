//! Single resources that clients want to hear of: skills' files and runs.
//!
//! A resource that is not there yet may be wanted too: its coming is a change. What is looked at is whether it is another one
//! than the last time; a client that is told of a change reads it to see which.

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

/// Resources that one connection may want to hear of.
const MOST: usize = 64;
/// The longest name of one.
const LONGEST: usize = 2_048;
/// How often the journal is asked whether something is new.
const POLL: Duration = Duration::from_millis(50);
/// How often files beside a skill's own are looked at: nobody watches them.
const LOOK: Duration = Duration::from_secs(2);

/// What a resource was when it was looked at; none when it was not there.
pub(crate) type Stamp = Option<Digest>;

/// The resources that one connection wants to hear of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted(Arc<Mutex<BTreeMap<String, Stamp>>>);

impl Wanted {
    fn stamps(&self) -> MutexGuard<'_, BTreeMap<String, Stamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wants one more. Says whether it is the first.
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

    /// Takes out what one was when it was wanted.
    pub(crate) fn take(&self, uri: &str) -> Option<Stamp> {
        self.stamps().remove(uri)
    }

    /// Looks at all of them, and gives those that are not what they were.
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
            // Whoever does not want it any more is not told.
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

/// What a resource is now.
pub(crate) fn stamp(served: &Served, uri: &str) -> Stamp {
    if let Some(run) = resources::run_of(uri) {
        let seq = served.engine.as_ref()?.run_json(run)?.1;
        return Some(Digest::of(&seq.to_be_bytes()));
    }
    resources::bytes_of(&served.library, uri).map(|bytes| Digest::of(&bytes))
}

/// Waits until some of them changed, and names those; nothing when nothing will ever change again.
pub(crate) async fn next(
    served: &Served,
    wanted: &Wanted,
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
        let is_late = last_look.elapsed() >= LOOK;
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

/// Tells a client of every change until one of both is gone.
pub(crate) async fn tell(
    peer: Peer<RoleServer>,
    served: Served,
    wanted: Wanted,
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
        let wanted = Wanted::default();
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
