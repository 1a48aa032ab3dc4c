//! Another try for what the network refused: a hiccup of a package index says nothing about the project.

use std::thread;
use std::time::{Duration, Instant};

/// The pauses before each further try.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_secs(15),
    Duration::from_mins(1),
];

/// No further try is begun when the earlier ones took this long: an index that hangs is not a hiccup, and the
/// time of the whole command is bounded.
const PATIENCE: Duration = Duration::from_mins(4);

/// Does `attempt` until it succeeds, at most four times.
pub(super) fn some_times<T>(
    what: &str,
    attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    with_pauses(what, &PAUSES, PATIENCE, attempt)
}

fn with_pauses<T>(
    what: &str,
    pauses: &[Duration],
    patience: Duration,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let start = Instant::now();
    for pause in pauses {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(reason) if start.elapsed() >= patience => return Err(reason),
            Err(reason) => {
                eprintln!("{what} failed and is tried again in {pause:?}: {reason}");
                thread::sleep(*pause);
            }
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the outcome of attempts of which the first `n_failures` fail, and the number that were made.
    fn tried(n_failures: usize, patience: Duration) -> (Result<usize, String>, usize) {
        let mut n_attempts = 0;
        let result = with_pauses("it", &[Duration::ZERO; 3], patience, || {
            n_attempts += 1;
            if n_attempts > n_failures {
                Ok(n_attempts)
            } else {
                Err(format!("failure {n_attempts}"))
            }
        });
        (result, n_attempts)
    }

    #[test]
    fn what_succeeds_is_done_once() {
        assert_eq!(tried(0, PATIENCE), (Ok(1), 1));
    }

    #[test]
    fn a_hiccup_is_got_over() {
        assert_eq!(tried(1, PATIENCE), (Ok(2), 2));
        assert_eq!(tried(3, PATIENCE), (Ok(4), 4));
    }

    #[test]
    fn what_fails_every_time_fails_with_the_last_reason() {
        assert_eq!(tried(9, PATIENCE), (Err("failure 4".to_owned()), 4));
    }

    #[test]
    fn nothing_is_tried_again_when_patience_is_over() {
        assert_eq!(tried(1, Duration::ZERO), (Err("failure 1".to_owned()), 1));
    }
}
