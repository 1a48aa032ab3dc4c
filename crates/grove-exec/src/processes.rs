//! Processes as `/proc` shows them: finding those of an attempt, and ending them.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior, waitpid,
};

/// The variable that every process of an attempt carries: the path to the attempt from the root of its tree.
pub const MARK: &str = "GROVE_RUN";

/// The argument with which a program becomes a keeper; the mark of the tree follows it.
pub const KEEPER: &str = "__keeper";

/// The time between two scans; the second of two that find no process proves the end.
const BETWEEN_SCANS: Duration = Duration::from_millis(10);
/// The most bytes of a `/proc` file that are read: an environment may be as large as the kernel lets it be.
pub(crate) const MOST_READ: usize = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenProcess {
    pub pid: u32,
    /// Its start time, in ticks of the boot clock.
    pub start_time: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTree {
    pub scans: u32,
    pub ended: u32,
    /// The processes that were still there at the time limit.
    pub left: Vec<SeenProcess>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessStat {
    parent: u32,
    state: char,
    start_time: u64,
    /// The number of its threads.
    tasks: u64,
    /// The number of its pages in memory.
    pages: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TreeResources {
    pub(crate) tasks: u64,
    /// In bytes; memory that several processes share is counted once, at least where there is much of it.
    pub(crate) memory: u64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "/proc is no content: this crate owns processes"
)]
pub(crate) fn read_proc(path: &str) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MOST_READ as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn stat(pid: u32) -> Option<ProcessStat> {
    let bytes = read_proc(&format!("/proc/{pid}/stat"))?;
    let text = String::from_utf8_lossy(&bytes);
    // The name of a program may have blanks and brackets in it; only after the last bracket do the fields follow.
    let fields = text.get(text.rfind(')')?.checked_add(2)?..)?;
    let mut fields = fields.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let tasks = fields.nth(15)?.parse().ok()?;
    let start_time = fields.nth(1)?.parse().ok()?;
    let pages = fields.nth(1)?.parse().ok()?;
    Some(ProcessStat {
        parent,
        state,
        start_time,
        tasks,
        pages,
    })
}

pub(crate) fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

pub(crate) fn start_and_state(pid: u32) -> Option<(u64, char)> {
    stat(pid).map(|stat| (stat.start_time, stat.state))
}

/// The ids of all processes.
#[expect(
    clippy::disallowed_methods,
    reason = "/proc is no content: this crate owns processes"
)]
fn process_ids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.collect()
}

/// All processes, by id. Those that end during the scan are left out.
fn all_processes() -> BTreeMap<u32, ProcessStat> {
    let pids = process_ids().into_iter();
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// Returns true if a value of the mark is that of an attempt, or of an attempt below it.
pub fn is_marked(value: &str, mark: &str) -> bool {
    let rest = value.strip_prefix(mark);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn mark_of(pid: u32) -> Option<String> {
    let environment = read_proc(&format!("/proc/{pid}/environ"))?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| {
        variable
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
    });
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

fn carries(pid: u32, mark: &str) -> bool {
    mark_of(pid).is_some_and(|value| is_marked(&value, mark))
}

pub fn marked_processes() -> Vec<(SeenProcess, String)> {
    // Most processes carry no mark, and for them the environment alone is read. One that does is read again after its
    // start time: its id may belong to another process by then.
    let marked = process_ids()
        .into_iter()
        .filter(|pid| mark_of(*pid).is_some());
    let alive = marked.filter_map(|pid| Some((pid, stat(pid).filter(|stat| stat.state != 'Z')?)));
    let marked = alive.filter_map(|(pid, stat)| Some((seen(pid, &stat), mark_of(pid)?)));
    marked.collect()
}

/// The processes that carry a mark, except this one, as a scan saw them that began after the call.
pub fn find_marked(mark: &str) -> Vec<SeenProcess> {
    SHARED_SCAN.find(mark)
}

/// The scan for marked processes that all who prove an end take part in: with a thousand children the price of a scan
/// would otherwise be paid for each of them.
static SHARED_SCAN: SharedScan = SharedScan {
    state: Mutex::new(ScanState {
        begun: 0,
        ended: 0,
        began_at: None,
        has_leader: false,
        marked: Vec::new(),
    }),
    changed: Condvar::new(),
};

struct SharedScan {
    state: Mutex<ScanState>,
    changed: Condvar,
}

struct ScanState {
    /// The number of scans that have begun, and of those that have ended.
    begun: u64,
    ended: u64,
    began_at: Option<Instant>,
    /// Set while a thread scans or is about to.
    has_leader: bool,
    /// The processes that the last scan found.
    marked: Vec<(SeenProcess, String)>,
}

impl SharedScan {
    fn find(&self, mark: &str) -> Vec<SeenProcess> {
        let mut state = self.lock();
        let wanted = state.begun + 1;
        while state.ended < wanted {
            if state.has_leader {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            } else {
                state.has_leader = true;
                drop(state);
                state = self.scan();
            }
        }
        let this = std::process::id();
        let marked = state.marked.iter();
        let marked = marked.filter(|(seen, value)| seen.pid != this && is_marked(value, mark));
        marked.map(|(seen, _)| *seen).collect()
    }

    /// Scans as the leader, not sooner after the scan before than one caller alone would.
    fn scan(&self) -> MutexGuard<'_, ScanState> {
        let began_at = self.lock().began_at;
        if let Some(began_at) = began_at {
            std::thread::sleep(BETWEEN_SCANS.saturating_sub(began_at.elapsed()));
        }
        let mut state = self.lock();
        state.begun += 1;
        state.began_at = Some(Instant::now());
        drop(state);
        let marked = marked_processes();
        let mut state = self.lock();
        state.ended = state.begun;
        state.marked = marked;
        state.has_leader = false;
        self.changed.notify_all();
        state
    }

    fn lock(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seen(pid: u32, stat: &ProcessStat) -> SeenProcess {
    SeenProcess {
        pid,
        start_time: stat.start_time,
    }
}

/// The mark with which the keeper of this process was started; none if no keeper is above this process. Of several keepers
/// the outermost counts, because a child can start more of them below itself and none above.
pub fn kept_mark() -> Option<String> {
    let mut pid = std::process::id();
    let mut mark = None;
    while let Some(stat) = stat(pid).filter(|_| pid > 1) {
        let line = read_proc(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).skip(1);
        if words.next() == Some(KEEPER.as_bytes()) {
            let word = words.next().filter(|word| !word.is_empty());
            mark = word.map(|word| String::from_utf8_lossy(word).into_owned());
        }
        pid = stat.parent;
    }
    mark
}

fn descends(all: &BTreeMap<u32, ProcessStat>, mut pid: u32, root: u32) -> bool {
    // A chain of parents is at most as long as the number of processes.
    for _ in 0..all.len() {
        match all.get(&pid) {
            Some(stat) if stat.parent == root => return true,
            Some(stat) => pid = stat.parent,
            None => return false,
        }
    }
    false
}

pub(crate) fn used_by_tree(root: u32) -> TreeResources {
    let all = all_processes();
    let below = all.iter().filter(|(pid, _)| descends(&all, **pid, root));
    let below: Vec<(&u32, &ProcessStat)> = below.collect();
    let tasks = below.iter().map(|(_, stat)| stat.tasks).sum();
    let page = rustix::param::page_size() as u64;
    let resident = below.iter().map(|(_, stat)| stat.pages * page).sum();
    // Here shared pages count with each process, so a large sum is computed again with the exact shares.
    let memory = if resident > memory_of_the_machine() / 2 {
        below.iter().map(|(pid, _)| own_share(**pid)).sum()
    } else {
        resident
    };
    TreeResources { tasks, memory }
}

/// The memory of a process, with its part of the memory that it shares.
fn own_share(pid: u32) -> u64 {
    let rollup = read_proc(&format!("/proc/{pid}/smaps_rollup"));
    kilobytes(&rollup.unwrap_or_default(), "Pss:")
}

pub(crate) fn memory_of_the_machine() -> u64 {
    let all = kilobytes(&read_proc("/proc/meminfo").unwrap_or_default(), "MemTotal:");
    // Without a number, no use of memory is too much.
    if all == 0 { u64::MAX } else { all }
}

/// Returns the number of a line in a listing of the kernel, in bytes; the kernel counts in kilobytes.
fn kilobytes(listing: &[u8], name: &str) -> u64 {
    let text = String::from_utf8_lossy(listing);
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0).saturating_mul(1_024)
}

/// The processes below one, even if they changed their sessions and environments, and those that carry the mark.
pub(crate) fn find_tree(root: u32, mark: &str) -> Vec<SeenProcess> {
    let all = all_processes();
    all.iter()
        .filter(|(pid, stat)| **pid != root && stat.state != 'Z')
        .filter(|(pid, _)| descends(&all, **pid, root) || carries(**pid, mark))
        .map(|(pid, stat)| seen(*pid, stat))
        .collect()
}

/// Sends a signal to exactly the process that was seen: the id may belong to another process by now, so its start time is
/// compared again after the descriptor is open and before the signal is sent.
pub(crate) fn signal(whom: SeenProcess, signal: Signal) {
    let pid = i32::try_from(whom.pid).ok().and_then(Pid::from_raw);
    let Some(Ok(descriptor)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return;
    };
    if start_time(whom.pid) == Some(whom.start_time) {
        // A process that is gone by now needs no signal.
        let _ = pidfd_send_signal(&descriptor, signal);
    }
}

/// Keeps the memory, the environment and the descriptors of this process from the other processes of its user, until it
/// becomes another program. Core files of it are not written either.
pub fn hide_this_process() {
    // The kernel refuses this to no process.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Ends every process that carries a mark, until two scans in a row find none or the limit is reached.
pub fn end_marked(mark: &str, limit: Duration) -> EndedTree {
    end_all(limit, || find_marked(mark))
}

/// Ends the children of this process that are not among the known ones, and all processes below them. This process is a
/// subreaper: processes that a killed keeper leaves behind become its children, and no others do.
///
/// `known` is called after the scan, so that a process that was started in between does not count as a stray.
pub fn end_strays(known: impl Fn() -> Vec<u32>, limit: Duration) -> EndedTree {
    let this = std::process::id();
    end_all(limit, || {
        let all = all_processes();
        let known = known();
        let is_stray = |pid: u32, stat: &ProcessStat| stat.parent == this && !known.contains(&pid);
        let strays: Vec<u32> = all
            .iter()
            .filter(|(pid, stat)| is_stray(**pid, stat))
            .map(|(pid, _)| *pid)
            .collect();
        for pid in &strays {
            reap(*pid);
        }
        let below = strays.iter().flat_map(|stray| {
            let own = all.get(stray).filter(|stat| stat.state != 'Z');
            let own = own.map(|stat| seen(*stray, stat));
            own.into_iter().chain(find_tree(*stray, "\0nobody"))
        });
        below.collect()
    })
}

/// Waits for the end of one child without blocking, so that its id is free.
fn reap(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = waitpid(pid, WaitOptions::NOHANG);
}

/// Ends the processes that a scan finds, until two scans in a row find none or the limit is reached.
pub(crate) fn end_all(limit: Duration, mut scan: impl FnMut() -> Vec<SeenProcess>) -> EndedTree {
    let until = Instant::now() + limit;
    let mut tree = EndedTree {
        scans: 0,
        ended: 0,
        left: Vec::new(),
    };
    let mut n_empty = 0;
    let mut known: Vec<SeenProcess> = Vec::new();
    loop {
        let found = scan();
        tree.scans = tree.scans.saturating_add(1);
        n_empty = if found.is_empty() { n_empty + 1 } else { 0 };
        if n_empty == 2 {
            return tree;
        }
        for whom in &found {
            if !known.contains(whom) {
                known.push(*whom);
                tree.ended = tree.ended.saturating_add(1);
            }
            signal(*whom, Signal::KILL);
        }
        if Instant::now() >= until {
            tree.left = found;
            return tree;
        }
        std::thread::sleep(BETWEEN_SCANS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_that_of_an_attempt_or_of_something_below_it() {
        for (value, mark, expected) in [
            ("r/1/1", "r/1/1", true),
            ("r/1/1/s/1/1", "r/1/1", true),
            ("r/1/10", "r/1/1", false),
            ("r/1", "r/1/1", false),
            ("x/r/1/1", "r/1/1", false),
        ] {
            assert_eq!(is_marked(value, mark), expected, "{value} {mark}");
        }
    }

    #[test]
    fn a_tree_uses_what_every_process_below_it_uses() {
        use std::os::unix::process::CommandExt as _;
        const BYTES: u64 = 64 << 20;
        // The second keeps all of it until the third reads, which never does.
        let script = format!("head -c {BYTES} /dev/zero | tail -c {BYTES} | sleep 1000");
        let mut tree = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("{script} & {script}")])
            .process_group(0)
            .spawn()
            .unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
        let mut used = used_by_tree(tree.id());
        // What keeps and what never reads, of both; what wrote has ended when it has written all.
        while (used.memory < 2 * BYTES || used.tasks < 4) && std::time::Instant::now() < end {
            std::thread::yield_now();
            used = used_by_tree(tree.id());
        }
        let group = rustix::process::Pid::from_child(&tree);
        rustix::process::kill_process_group(group, Signal::KILL).unwrap();
        tree.wait().unwrap();
        assert!(used.memory >= 2 * BYTES, "{}", used.memory);
        assert!(used.tasks >= 4, "{}", used.tasks);
        assert!(used.memory < memory_of_the_machine());
    }
}
