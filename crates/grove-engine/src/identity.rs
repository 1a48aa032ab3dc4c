//! Ids of runs and tokens of owners.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Digits of ids: sortable, without letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 2026-01-01, in milliseconds since 1970: ids are short because they begin to count here.
const BEGIN: u128 = 1_767_225_600_000;

/// The number of the last id that this process made.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns an id of ten digits that sorts by time: eight of milliseconds, two random.
pub fn new_run_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_millis()).saturating_sub(BEGIN);
    let chance = u128::from(chance::<1>().first().copied().unwrap_or(0)) << 2;
    let number = now << 10 | (chance & 0x3ff);
    // Of two ids in one millisecond the later one gets the next number.
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    let next = |last: u64| Some(number.max(last.saturating_add(1)));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    let number = number.max(last.unwrap_or_default().saturating_add(1));
    let digit = |at: u32| DIGITS.get((number >> (at * 5) & 31) as usize).copied();
    (0..10).rev().filter_map(digit).map(char::from).collect()
}

/// Returns a token that cannot be guessed. Only its hash is stored.
pub(crate) fn new_owner_token() -> String {
    let bytes = chance::<24>();
    let digit = |byte: &u8| DIGITS.get(usize::from(byte & 31)).copied();
    bytes.iter().filter_map(digit).map(char::from).collect()
}

fn chance<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without random data there are ids all the same; the journal refuses one that is there already.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_sort_by_time() {
        let first = new_run_id();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = new_run_id();
        assert_eq!((first.len(), second.len()), (10, 10));
        assert!(first < second, "{first} {second}");
        let many: std::collections::BTreeSet<String> = (0..5_000).map(|_| new_run_id()).collect();
        assert_eq!(many.len(), 5_000, "no two are the same");
        assert_ne!(new_owner_token(), new_owner_token());
    }
}
