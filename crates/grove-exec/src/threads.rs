//! Threads where there may be none left: at the limit of processes that is an error of the system, and no panic.

use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// Threads that there have to be beside those that a runtime starts at once: it needs some for work that blocks.
const BESIDE: usize = 2;
/// The time in which the system forgets threads that have ended.
const FORGOTTEN: Duration = Duration::from_secs(1);

/// Builds a runtime with so many workers. The library panics where it gets no thread, or waits for ever where it gets only
/// some, so it is tried first whether there are enough.
pub fn runtime(builder: &mut Builder, workers: usize) -> io::Result<Runtime> {
    require(workers + BESIDE)?;
    builder.worker_threads(workers).build()
}

/// Fails unless so many threads can exist at once.
fn require(count: usize) -> io::Result<()> {
    let before = own_threads()?;
    let held = Mutex::new(());
    let started = std::thread::scope(|scope| {
        // All of them wait until the last one was started.
        let _hold = held.lock();
        let wait = || drop(held.lock());
        (0..count).try_for_each(|_| {
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            thread.spawn_scoped(scope, wait).map(drop)
        })
    });
    // One that has ended counts until the system has forgotten it.
    let until = Instant::now() + FORGOTTEN;
    while own_threads()? > before && Instant::now() < until {
        std::thread::yield_now();
    }
    started
}

fn own_threads() -> io::Result<usize> {
    #[expect(clippy::disallowed_methods, reason = "the kernel's own files")]
    let tasks = std::fs::read_dir("/proc/self/task")?;
    Ok(tasks.count())
}
