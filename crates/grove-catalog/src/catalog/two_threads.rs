//! Work on two threads: the forest and the texts of all skills at once, and index files. Everything else in this layer
//! runs on one thread.

use std::ops::Range;
use std::thread;

/// Returns the results of two independent functions, which run at once if that is worth a thread.
pub(crate) fn both<A, B: Send>(
    is_worth_it: bool,
    first: impl FnOnce() -> A,
    second: impl Fn() -> B + Sync,
) -> (A, B) {
    if !is_worth_it {
        return (first(), second());
    }
    let (first, made) = thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, &second);
        let first = first();
        (first, other.ok().and_then(|other| other.join().ok()))
    });
    // If no thread can be started, the work is done on this one.
    (first, made.unwrap_or_else(second))
}

/// Returns what `make` returns for `0..count`, made in two halves at once and joined in order; a list shorter than
/// `least` is not worth a thread.
///
/// `make` gets no more than its range, so that the result does not depend on where the list was divided.
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
        // If no thread can be started, the work is done on this one.
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
    fn both_are_made_on_one_thread_or_two() {
        for is_worth_it in [false, true] {
            assert_eq!(both(is_worth_it, || 1, || "two"), (1, "two"));
        }
    }

    #[test]
    fn halves_are_put_together_in_order() {
        for count in [0, 1, 9, 10, 11, 1_000] {
            let squares = on_two_threads(count, 10, |range| range.map(|n| n * n).collect());
            let expected: Vec<usize> = (0..count).map(|n| n * n).collect();
            assert_eq!(squares, expected);
        }
    }
}
