//! Threads where there may be none left: at the limit of processes that is an error of the system, and no panic.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime of several threads. Called at the beginning of a program, before it has threads of its own.
pub fn runtime(builder: &mut Builder) -> io::Result<Runtime> {
    // The library starts its first thread or panics. What it says is not for people.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let built = catch_unwind(AssertUnwindSafe(|| builder.build()));
    set_hook(hook);
    let none = || io::Error::new(io::ErrorKind::WouldBlock, "no thread can be started");
    built.unwrap_or_else(|_| Err(none()))
}
