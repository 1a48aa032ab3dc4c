//! The shapes in which processes leave their parents, and looking for what is left of them.

use std::time::{Duration, Instant};

/// Scripts in which `@` is a number of seconds that nobody else sleeps for.
pub(crate) const SHAPES: [(&str, &str); 7] = [
    ("sleep", "sleep @"),
    ("background child", "sleep @ & echo started; wait"),
    ("setsid", "setsid sleep @ & wait"),
    ("double fork", "(sleep @ &) ; (setsid sleep @ &) ; sleep @"),
    (
        "ignores SIGTERM",
        "trap '' TERM; sleep @ & while :; do wait; sleep @; done",
    ),
    ("holds the pipe", "sleep @ & exec 1>&- 2>&-; sleep @"),
    (
        "env -i setsid",
        "env -i setsid sleep @ & env -i setsid sh -c 'sleep @ & sleep @' & sleep @",
    ),
];

/// A script whose sleeps are told from those of every other test.
pub(crate) fn script(shape: &str, number: u32) -> (String, String) {
    let seconds = format!("{}.{number}", 4_000 + std::process::id() % 1_000);
    (shape.replace('@', &seconds), seconds)
}

/// Processes that sleep for exactly so long.
pub(crate) fn sleepers(seconds: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    let is_sleeper = |line: Vec<u8>| line == format!("sleep\0{seconds}\0").into_bytes();
    pids.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| is_sleeper(line.clone()))
        .count()
}

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
