//! The floors: the least that finding and reading, or checking, a library can cost.
//!
//! They list each group once and go straight for `<child>/SKILL.md` relative to the group's
//! descriptor; a skill folder itself is never opened. They parse nothing, keep nothing and
//! allocate nothing per file. Two threads share the groups, and the second one is there before the
//! clock starts. What an engine needs beyond that is its own cost.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};
use rustix::io::Errno;

/// Holds some hundred entries, so that a group usually takes one call and the one that says "end".
const LISTING_BYTES: usize = 32 * 1024;
const READ_BYTES: usize = 16 * 1024;
const SUFFIX: &[u8] = b"/SKILL.md\0";
/// The longest name a directory entry can have.
const NAME_BYTES: usize = 255;

/// The system calls that are made for each `SKILL.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Open it, read it with one call, close it.
    Read,
    /// Ask for its identity, size and times.
    Check,
}

/// The numbers of skills and bytes that a walk saw.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) n_skills: usize,
    pub(crate) n_bytes: u64,
}

/// A walker with its second thread, which waits between walks and ends with the walker.
#[derive(Debug)]
pub(crate) struct Floor {
    second: Sender<Arc<Walk>>,
    buffers: Buffers,
}

impl Floor {
    pub(crate) fn new() -> Self {
        let (second, walks) = mpsc::channel::<Arc<Walk>>();
        thread::spawn(move || {
            let mut buffers = Buffers::new();
            for walk in walks {
                walk.take_part(&mut buffers);
            }
        });
        Self {
            second,
            buffers: Buffers::new(),
        }
    }

    /// Probes every skill below `root` once.
    pub(crate) fn walk(&mut self, root: &Path, probe: Probe) -> io::Result<Tally> {
        let walk = Arc::new(Walk::new(File::open(root)?.into(), probe));
        self.second
            .send(Arc::clone(&walk))
            .map_err(|_| io::Error::other("the second thread is gone"))?;
        walk.take_part(&mut self.buffers);
        let state = walk.lock();
        match state.error {
            None => Ok(state.tally),
            Some(error) => Err(error.into()),
        }
    }
}

/// The buffers that each thread reads into, over and over.
#[derive(Debug)]
struct Buffers {
    listing: Vec<MaybeUninit<u8>>,
    content: Vec<u8>,
    path: [u8; NAME_BYTES + SUFFIX.len()],
    /// The groups that were found in the one being listed.
    below: Vec<OwnedFd>,
}

impl Buffers {
    fn new() -> Self {
        Self {
            listing: vec![MaybeUninit::uninit(); LISTING_BYTES],
            content: vec![0; READ_BYTES],
            path: [0; NAME_BYTES + SUFFIX.len()],
            below: Vec::new(),
        }
    }
}

/// One walk that threads can take part in.
#[derive(Debug)]
struct Walk {
    probe: Probe,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Groups to list. Generated libraries have some hundred, so they can wait as descriptors.
    waiting: Vec<OwnedFd>,
    /// Groups that wait or are being listed; when there is none, nothing more can come.
    n_open: usize,
    tally: Tally,
    error: Option<Errno>,
}

impl Walk {
    fn new(root: OwnedFd, probe: Probe) -> Self {
        let state = State {
            waiting: vec![root],
            n_open: 1,
            tally: Tally::default(),
            error: None,
        };
        Self {
            probe,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Lists groups until every group is listed, by this thread or the other.
    fn take_part(&self, buffers: &mut Buffers) {
        while let Some(group) = self.next_group() {
            let listed = self.list(&group, buffers);
            drop(group);
            self.finish_group(listed, &mut buffers.below);
        }
    }

    fn list(&self, group: &OwnedFd, buffers: &mut Buffers) -> Result<Tally, Errno> {
        let mut tally = Tally::default();
        let mut entries = RawDir::new(group, &mut buffers.listing);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if entry.file_type() == FileType::RegularFile || matches!(name.to_bytes(), b"." | b"..")
            {
                continue;
            }
            let path = skill_path(&mut buffers.path, name);
            match self.probe.try_on(group, path, &mut buffers.content) {
                Ok(n_bytes) => {
                    tally.n_skills += 1;
                    tally.n_bytes += n_bytes;
                }
                Err(Errno::NOENT | Errno::NOTDIR) => buffers.below.push(open_group(group, name)?),
                Err(error) => return Err(error),
            }
        }
        Ok(tally)
    }

    fn next_group(&self) -> Option<OwnedFd> {
        let mut state = self.lock();
        loop {
            if let Some(group) = state.waiting.pop() {
                return Some(group);
            }
            if state.n_open == 0 {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish_group(&self, listed: Result<Tally, Errno>, below: &mut Vec<OwnedFd>) {
        let mut state = self.lock();
        match listed {
            Ok(tally) => {
                state.tally.n_skills += tally.n_skills;
                state.tally.n_bytes += tally.n_bytes;
            }
            Err(error) => state.error = Some(error),
        }
        state.n_open = state.n_open + below.len() - 1;
        let news = !below.is_empty() || state.n_open == 0;
        state.waiting.append(below);
        drop(state);
        if news {
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe {
    fn try_on(self, group: &OwnedFd, path: &CStr, content: &mut [u8]) -> Result<u64, Errno> {
        match self {
            Self::Read => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = openat(group, path, flags, Mode::empty())?;
                rustix::io::read(file.as_fd(), content).map(|n_bytes| n_bytes as u64)
            }
            Self::Check => {
                let mask = StatxFlags::BASIC_STATS;
                statx(group, path, AtFlags::empty(), mask).map(|state| state.stx_size)
            }
        }
    }
}

fn skill_path<'a>(buffer: &'a mut [u8], name: &CStr) -> &'a CStr {
    let name = name.to_bytes();
    let length = name.len() + SUFFIX.len();
    buffer[..name.len()].copy_from_slice(name);
    buffer[name.len()..length].copy_from_slice(SUFFIX);
    CStr::from_bytes_until_nul(&buffer[..length]).unwrap_or_default()
}

fn open_group(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use grove_testkit::library::GeneratedLibrary;

    #[test]
    fn both_floors_see_every_skill_and_every_byte_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let library = GeneratedLibrary::create(dir.path().join("skills"), 700).unwrap();
        let expected = Tally {
            n_skills: 700,
            n_bytes: 700 * 4096,
        };
        let mut floor = Floor::new();
        for probe in [Probe::Read, Probe::Check, Probe::Read] {
            assert_eq!(floor.walk(library.root(), probe).unwrap(), expected);
        }
    }
}
