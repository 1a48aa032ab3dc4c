//! The process that owns a piece of work, and a check that it is still alive.

use grove_plan::Holder;

use crate::processes::{self, read_proc};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity(pub Holder);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The process is there, perhaps stopped.
    Alive,
    Gone,
    /// The process lives in another PID namespace, where this one cannot look.
    Unknown,
}

impl ProcessIdentity {
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self(Holder {
            pid,
            start_time: processes::start_time(pid).unwrap_or(0),
            boot_id: boot_id(),
            pid_namespace: pid_namespace(),
        })
    }

    pub fn liveness(&self) -> Liveness {
        let Holder {
            pid,
            start_time,
            boot_id: boot,
            pid_namespace: namespace,
        } = &self.0;
        if *boot != boot_id() {
            return Liveness::Gone;
        }
        if *namespace != pid_namespace() {
            return Liveness::Unknown;
        }
        // A process id is used again, but not with the same start time. A dead process for which no parent has waited does
        // nothing any more.
        match processes::start_and_state(*pid) {
            Some((started, state)) if started == *start_time && state != 'Z' => Liveness::Alive,
            _ => Liveness::Gone,
        }
    }
}

fn boot_id() -> String {
    let id = read_proc("/proc/sys/kernel/random/boot_id");
    String::from_utf8_lossy(&id.unwrap_or_default())
        .trim()
        .to_owned()
}

fn pid_namespace() -> u64 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |stat| stat.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_more_than_its_number() {
        let this = ProcessIdentity::this_process();
        assert_eq!(this.liveness(), Liveness::Alive);
        let changed = |change: fn(&mut Holder)| {
            let mut holder = this.0.clone();
            change(&mut holder);
            ProcessIdentity(holder).liveness()
        };
        assert_eq!(changed(|it| it.start_time += 1), Liveness::Gone);
        assert_eq!(changed(|it| it.boot_id.push('x')), Liveness::Gone);
        assert_eq!(changed(|it| it.pid_namespace += 1), Liveness::Unknown);
        assert_eq!(changed(|it| it.pid = u32::MAX), Liveness::Gone);
    }
}
