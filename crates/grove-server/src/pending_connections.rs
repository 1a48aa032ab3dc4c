//! Connections that have not shown the token yet. Every program of this machine can open them, so they hold nothing up: they
//! have little time, and where there are too many the oldest goes first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The time in which a connection has to show the token.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// The strangers of one server, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PendingConnections(Mutex<PendingQueue>);

#[derive(Debug, Default)]
struct PendingQueue {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

#[derive(Debug, Clone)]
pub(crate) struct PendingConnection {
    strangers: Arc<PendingConnections>,
    number: u64,
    sent_away: CancellationToken,
}

impl PendingConnections {
    fn waiting(&self) -> MutexGuard<'_, PendingQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(self: &Arc<Self>) -> PendingConnection {
        let sent_away = CancellationToken::new();
        let mut waiting = self.waiting();
        waiting.next += 1;
        let number = waiting.next;
        waiting.connections.insert(number, sent_away.clone());
        PendingConnection {
            strangers: Arc::clone(self),
            number,
            sent_away,
        }
    }

    /// Makes room by closing the connection that has been a stranger for the longest time.
    pub(crate) fn close_oldest(&self) {
        let oldest = self.waiting().connections.pop_first();
        if let Some((_, oldest)) = oldest {
            oldest.cancel();
        }
    }
}

impl PendingConnection {
    /// Takes note that the connection has shown the token, or is over.
    pub(crate) fn settle(&self) {
        self.strangers.waiting().connections.remove(&self.number);
    }

    fn is_pending(&self) -> bool {
        self.strangers
            .waiting()
            .connections
            .contains_key(&self.number)
    }

    /// Ends when the connection has to be closed: its time is up, or its place is needed. Never for one that knows the token.
    pub(crate) async fn closed(&self) {
        tokio::select! {
            () = self.sent_away.cancelled() => return,
            () = tokio::time::sleep(FIRST_WAIT) => {}
        }
        if !self.is_pending() {
            // Only one that is sent away in this very moment ever goes on from here.
            self.sent_away.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_once(work: impl Future<Output = ()>) -> bool {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        let limit = Duration::ZERO;
        runtime.block_on(async { tokio::time::timeout(limit, work).await.is_ok() })
    }

    #[test]
    fn the_oldest_stranger_goes_and_nobody_who_knows_the_token() {
        let strangers = Arc::<PendingConnections>::default();
        let known = strangers.add();
        let (first, second) = (strangers.add(), strangers.add());
        known.settle();
        strangers.close_oldest();
        assert!(at_once(first.closed()));
        assert!(!at_once(second.closed()) && !at_once(known.closed()));
        strangers.close_oldest();
        strangers.close_oldest();
        assert!(at_once(second.closed()) && !at_once(known.closed()));
    }
}
