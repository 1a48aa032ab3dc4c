//! A bell that wakes the thread that waits for changes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

#[derive(Debug)]
pub struct Bell {
    counter: OwnedFd,
}

impl Bell {
    pub fn new() -> std::io::Result<Self> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { counter })
    }

    /// Rings; one ring before the next wait is as good as many.
    pub fn ring(&self) {
        // A full counter is a bell that rings already.
        let _ = rustix::io::write(&self.counter, &1_u64.to_ne_bytes());
    }

    /// Waits for the bell, or for a descriptor to have something to read; says whether the descriptor has.
    pub(super) fn wait(&self, other: Option<BorrowedFd<'_>>, timeout: Duration) -> WakeCauses {
        let mut sources = vec![PollFd::new(&self.counter, PollFlags::IN)];
        sources.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(&mut sources, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            // Nothing that can be waited for is left; without this a caller would turn in circles.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
        let is_ready = |at: usize| sources.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let woken = WakeCauses {
            rang: is_ready(0),
            readable: is_ready(1),
        };
        if woken.rang {
            let mut count = [0; 8];
            let _ = rustix::io::read(self.counter.as_fd(), &mut count);
        }
        woken
    }
}

/// The causes that ended a wait; neither, when the time was over.
#[derive(Debug, Clone, Copy)]
pub(super) struct WakeCauses {
    pub(super) rang: bool,
    pub(super) readable: bool,
}
