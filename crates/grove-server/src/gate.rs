//! A transport that reads no more than it can answer.
//!
//! Every request is a task and every unread answer is memory. A client that sends without end, or reads
//! nothing, is not read from until what it asked for is done and what it was sent is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// Answers that wait to be read.
const MOST_UNREAD: usize = 32;
/// Requests that are worked on.
const MOST_ASKED: usize = 32;
/// How long reading waits for requests that never get an answer, such as cancelled ones.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is under way in one connection.
#[derive(Debug, Default)]
struct UnderWay {
    asked: AtomicUsize,
    unread: AtomicUsize,
    less: Notify,
}

impl UnderWay {
    fn lower(&self, count: &AtomicUsize) {
        let lowered = |now: usize| now.checked_sub(1);
        // Answers to what was given up as unanswered find the count lowered already.
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lowered);
        self.less.notify_waiters();
    }

    /// Waits until there is room for another request.
    async fn room(&self) {
        loop {
            let less = self.less.notified();
            if self.unread.load(Ordering::Relaxed) >= MOST_UNREAD {
                less.await;
            } else if self.asked.load(Ordering::Relaxed) >= MOST_ASKED {
                if tokio::time::timeout(PATIENCE, less).await.is_err() {
                    self.lower(&self.asked);
                }
            } else {
                return;
            }
        }
    }
}

/// An answer on its way; it is not any more when this is dropped, however that comes.
struct Unread(Arc<UnderWay>);

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.lower(&self.0.unread);
    }
}

/// A transport behind the gate.
#[derive(Debug)]
pub(crate) struct Gated<T> {
    transport: T,
    under_way: Arc<UnderWay>,
}

impl<T> Gated<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self {
            transport,
            under_way: Arc::default(),
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Gated<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let under_way = Arc::clone(&self.under_way);
        if matches!(
            item,
            TxJsonRpcMessage::<RoleServer>::Response(_) | TxJsonRpcMessage::<RoleServer>::Error(_)
        ) {
            under_way.lower(&under_way.asked);
        }
        under_way.unread.fetch_add(1, Ordering::Relaxed);
        let unread = Unread(under_way);
        let sending = self.transport.send(item);
        async move {
            let sent = sending.await;
            drop(unread);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.under_way.room().await;
        let message = self.transport.receive().await;
        if matches!(message, Some(RxJsonRpcMessage::<RoleServer>::Request(_))) {
            self.under_way.asked.fetch_add(1, Ordering::Relaxed);
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
