//! A transport that reads no more requests than it can answer.
//!
//! Every request is a task and every unread answer is memory. From a client that sends without end, or reads
//! nothing, no more is read until its requests are done and it has taken its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

const MOST_UNREAD: usize = 32;
const MOST_REQUESTS: usize = 32;
/// The time that reading waits for requests that never get an answer, such as cancelled ones.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct RequestCounts {
    requests: AtomicUsize,
    unread: AtomicUsize,
    less: Notify,
}

impl RequestCounts {
    fn lower(&self, count: &AtomicUsize) {
        let lowered = |now: usize| now.checked_sub(1);
        // A late answer to a request that was given up finds the count lowered already.
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lowered);
        self.less.notify_waiters();
    }

    async fn room(&self) {
        loop {
            let less = self.less.notified();
            if self.unread.load(Ordering::Relaxed) >= MOST_UNREAD {
                less.await;
            } else if self.requests.load(Ordering::Relaxed) >= MOST_REQUESTS {
                if tokio::time::timeout(PATIENCE, less).await.is_err() {
                    self.lower(&self.requests);
                }
            } else {
                return;
            }
        }
    }
}

/// An answer on its way; dropping this lowers the count, even when sending is cancelled.
struct UnreadAnswer(Arc<RequestCounts>);

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.0.lower(&self.0.unread);
    }
}

#[derive(Debug)]
pub(crate) struct GatedTransport<T> {
    transport: T,
    under_way: Arc<RequestCounts>,
}

impl<T> GatedTransport<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self {
            transport,
            under_way: Arc::default(),
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for GatedTransport<T> {
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
            under_way.lower(&under_way.requests);
        }
        under_way.unread.fetch_add(1, Ordering::Relaxed);
        let unread = UnreadAnswer(under_way);
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
            self.under_way.requests.fetch_add(1, Ordering::Relaxed);
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
