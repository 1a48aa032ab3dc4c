//! The shapes in which processes leave their parents, and looking for what is left of them.

/// Scripts in which `@` is a number of seconds that nobody else sleeps for.
pub const SHAPES: [(&str, &str); 7] = [
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

/// A script whose sleeps are told from those of every other test, and how long it sleeps.
pub fn script(shape: &str, number: u32) -> (String, String) {
    let seconds = format!("{}.{number}", 4_000 + std::process::id() % 1_000);
    (shape.replace('@', &seconds), seconds)
}

/// How many processes sleep for exactly so long.
pub fn sleepers(seconds: &str) -> usize {
    let line = format!("sleep\0{seconds}\0");
    let mut lines = command_lines();
    lines.retain(|known| *known == line);
    lines.len()
}

/// The command lines of all processes, with a zero byte after each word.
pub fn command_lines() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    let lines = pids.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}
