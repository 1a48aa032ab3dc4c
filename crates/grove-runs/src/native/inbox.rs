//! What a child is told while it works.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_plan::EffectId;
use grove_spec::Digest;
use tokio::sync::Notify;

/// Messages that were recorded come at once; one that does not is heard later.
const LONGEST_WAIT_FOR_MESSAGES: Duration = Duration::from_secs(2);

/// What a child is told while it works, until it hears it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inbox {
    messages: Arc<Mutex<Vec<SentMessage>>>,
    came: Arc<Notify>,
    /// How many the journal says were sent and not heard.
    sent: Arc<AtomicUsize>,
}

/// One message, of an effect that this process holds.
#[derive(Debug)]
pub(crate) struct SentMessage {
    pub(crate) effect: EffectId,
    pub(crate) epoch: u32,
    pub(crate) message: Digest,
    /// Dropped when the message was heard, or cannot be any more.
    pub(crate) _done: tokio::sync::oneshot::Sender<()>,
}

impl Inbox {
    pub(crate) fn put(&self, message: SentMessage) {
        self.messages().push(message);
        self.came.notify_one();
    }

    /// Takes note of how many were sent.
    pub(super) fn expect(&self, sent: usize) {
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// Gives what was sent: waits until it is there, but not for ever.
    pub(super) async fn take(&self) -> Vec<SentMessage> {
        let wanted = self.sent.swap(0, Ordering::Relaxed);
        let all = async {
            while self.messages().len() < wanted {
                self.came.notified().await;
            }
        };
        let _ = tokio::time::timeout(LONGEST_WAIT_FOR_MESSAGES, all).await;
        std::mem::take(&mut *self.messages())
    }

    fn messages(&self) -> MutexGuard<'_, Vec<SentMessage>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
