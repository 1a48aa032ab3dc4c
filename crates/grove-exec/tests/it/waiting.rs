//! Waiting without end is no waiting.

use std::time::{Duration, Instant};

/// Waits until a condition holds, at most for a limit.
pub(crate) async fn until(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}
