//! Long lists made on two threads: the texts of all skills, and the index files that name skills alone. Everything else in
//! this layer has one thread.

use std::ops::Range;
use std::thread;

/// What `make` makes of `0..count` in two halves at once, the first one first; a list shorter than `least` is not worth a
/// thread.
///
/// `make` sees no more than its range, so that the result does not depend on how the list was cut.
pub(crate) fn on_two_threads<T: Send>(
    count: usize,
    least: usize,
    make: impl Fn(Range<usize>) -> Vec<T> + Sync,
) -> Vec<T> {
    if count < least {
        return make(0..count);
    }
    let half = count / 2;
    let made = thread::scope(|scope| {
        // Where no thread can be had, the work is done all the same.
        let second = thread::Builder::new().spawn_scoped(scope, || make(half..count));
        let mut made = make(0..half);
        let rest = second.ok().and_then(|second| second.join().ok());
        rest.map(|rest| {
            made.extend(rest);
            made
        })
    });
    made.unwrap_or_else(|| make(0..count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_put_together_in_order() {
        for count in [0, 1, 9, 10, 11, 1_000] {
            let squares = on_two_threads(count, 10, |range| range.map(|n| n * n).collect());
            let expected: Vec<usize> = (0..count).map(|n| n * n).collect();
            assert_eq!(squares, expected);
        }
    }
}
