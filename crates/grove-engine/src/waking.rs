//! Wakes a supervisor through a socket in the state folder, which is the user's alone: no other user can take its place or
//! reach it, and commands in a sandbox have no sockets with a path.
//!
//! Waking never waits: a supervisor that takes nothing from its socket (it was stopped, or is stuck) has a full queue.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use crate::places::RunPlaces;

/// The outcome of waking a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The supervisor has the message.
    Yes,
    /// The supervisor has not taken earlier messages, and has no room for this one.
    Unanswered,
    /// There is no supervisor to wake.
    NoSupervisor,
}

/// Wakes the supervisor for a run, without waiting for it.
pub fn wake(places: &RunPlaces, surroundings: &str, run: &str) -> Woken {
    let send = || {
        let place = SocketPlace::of(places, surroundings)?;
        // A socket that another user made is no supervisor of this user.
        if !place.is_own() {
            return Err(ErrorKind::NotFound.into());
        }
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to(run.as_bytes(), place.address())
    };
    match send().map_err(|error| error.kind()) {
        Ok(_) => Woken::Yes,
        Err(ErrorKind::WouldBlock) => Woken::Unanswered,
        Err(_) => Woken::NoSupervisor,
    }
}

/// The socket of the supervisor that holds the lock of its surroundings.
pub(crate) struct WakeSocket {
    socket: tokio::net::UnixDatagram,
    place: SocketPlace,
}

impl WakeSocket {
    /// Takes the place of an older socket: a supervisor that was killed left its own. The caller holds the lock.
    pub(crate) fn bind(places: &RunPlaces, surroundings: &str) -> std::io::Result<Self> {
        let place = SocketPlace::of(places, surroundings)?;
        place.remove()?;
        let socket = UnixDatagram::bind(place.address())?;
        socket.set_nonblocking(true)?;
        std::fs::set_permissions(place.address(), Permissions::from_mode(0o600))?;
        Ok(Self {
            socket: tokio::net::UnixDatagram::from_std(socket)?,
            place,
        })
    }

    /// Returns the run that the next message names; empty if it names none.
    pub(crate) async fn next(&self) -> String {
        let mut name = [0; 64];
        let received = self.socket.recv(&mut name).await;
        let run = received.ok().and_then(|n| name.get(..n));
        run.map_or_else(String::new, |run| String::from_utf8_lossy(run).into_owned())
    }

    /// Returns true if clients find it: the folder may have been cleaned up.
    pub(crate) fn is_there(&self) -> bool {
        self.place.is_own()
    }

    /// Removes the socket. The caller still holds the lock.
    pub(crate) fn remove(&self) {
        // A socket that stays is replaced by the next supervisor.
        let _ = self.place.remove();
    }
}

/// A name in the state folder, which is held open: the address of a socket has at most 107 bytes, and the folder's path
/// may have more.
struct SocketPlace {
    folder: OwnedFd,
    name: PathBuf,
}

impl SocketPlace {
    fn of(places: &RunPlaces, surroundings: &str) -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(places.folder(), flags, Mode::empty())?;
        let name = places.wake_socket(surroundings);
        Ok(Self {
            name: name.file_name().unwrap_or_default().into(),
            folder,
        })
    }

    fn address(&self) -> PathBuf {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        Path::new(&folder).join(&self.name)
    }

    /// Returns true if there is a socket of this user.
    fn is_own(&self) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = rustix::fs::statat(&self.folder, &self.name, flags);
        let is_own = |stat: &Stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            kind == FileType::Socket && stat.st_uid == rustix::process::geteuid().as_raw()
        };
        found.is_ok_and(|stat| is_own(&stat))
    }

    fn remove(&self) -> std::io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}
