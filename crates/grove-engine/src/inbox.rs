//! The messages that a child is sent while it works.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_plan::EffectId;
use grove_spec::Digest;
use tokio::sync::Notify;

/// The longest wait for messages. Recorded ones come at once; a message that is late is read later.
const LONGEST_WAIT_FOR_MESSAGES: Duration = Duration::from_secs(2);

/// The messages that a child is sent while it works, until it reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inbox {
    messages: Arc<Mutex<Vec<SentMessage>>>,
    came: Arc<Notify>,
    /// The number of messages that the journal has as sent and not read.
    sent: Arc<AtomicUsize>,
}

/// One message, of an effect that this process holds.
#[derive(Debug)]
pub(crate) struct SentMessage {
    pub(crate) effect: EffectId,
    pub(crate) epoch: u32,
    pub(crate) message: Digest,
    /// Dropped when the message was read, or cannot be read any more.
    pub(crate) _done: tokio::sync::oneshot::Sender<()>,
}

impl Inbox {
    pub(crate) fn put(&self, message: SentMessage) {
        self.messages().push(message);
        self.came.notify_one();
    }

    /// Takes note of the number of messages that were sent.
    pub(crate) fn expect(&self, sent: usize) {
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// Returns the messages that were sent. Waits until they are there, but not for ever.
    pub(crate) async fn take(&self) -> Vec<SentMessage> {
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
