//! The wall clock and the boot clock, as data.

use std::time::{SystemTime, UNIX_EPOCH};

use grove_plan::Times;
use rustix::time::{ClockId, clock_gettime};

pub fn now() -> Times {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    // The boot clock goes on while the machine sleeps, so a limit of wall time holds through sleep.
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(boot.tv_nsec).unwrap_or(0);
    Times {
        wall: wall.map_or(0, |wall| {
            u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)
        }),
        boot: seconds
            .saturating_mul(1_000)
            .saturating_add(nanoseconds / 1_000_000),
    }
}
