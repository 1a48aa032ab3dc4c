//! Rules for sending a request again: within a number of tries and a time, after a wait that chance spreads.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use tokio::time::Instant;

/// The limits of the tries of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of tries; with one nothing is sent again.
    pub tries: u32,
    /// The time after the first try in which another may begin.
    pub total: Duration,
    /// The longest first wait; it doubles with every try.
    pub first_wait: Duration,
    /// The longest wait that the provider did not ask for.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 6,
            total: Duration::from_mins(3),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// A source of random numbers, each as likely as every other.
#[derive(Clone)]
pub struct RandomSource(Arc<dyn Fn() -> u64 + Send + Sync>);

impl RandomSource {
    pub fn of_system() -> Self {
        // Without randomness the longest wait is the kindest to the provider.
        Self::from_fn(|| getrandom::u64().unwrap_or(u64::MAX))
    }

    /// Returns the numbers of a function, which tests choose.
    pub fn from_fn(next: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(next))
    }

    /// Returns a duration up to `longest`, each as likely as every other.
    fn up_to(&self, longest: Duration) -> Duration {
        let nanos = longest.as_nanos().min(u128::from(u64::MAX));
        let part = (u128::from((self.0)()) * (nanos + 1)) >> 64;
        Duration::from_nanos(part as u64)
    }
}

impl fmt::Debug for RandomSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

#[derive(Debug)]
pub(crate) struct RequestTries<'a> {
    policy: &'a RetryPolicy,
    chance: &'a RandomSource,
    begun: Instant,
    /// The number of tries so far, including the one under way.
    pub(crate) made: u32,
}

impl<'a> RequestTries<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy, chance: &'a RandomSource) -> Self {
        Self {
            policy,
            chance,
            begun: Instant::now(),
            made: 1,
        }
    }

    pub(crate) fn wait_for_next(&mut self, wanted: Option<Duration>) -> Option<Duration> {
        if self.made >= self.policy.tries {
            return None;
        }
        let doubled = 1_u32.checked_shl(self.made - 1).unwrap_or(u32::MAX);
        let longest = self.policy.first_wait.saturating_mul(doubled);
        let longest = longest.min(self.policy.longest_wait);
        // Callers to whom the provider gave the same time must not come back at the same moment.
        let wait = match wanted {
            Some(wanted) => {
                wanted.saturating_add(self.chance.up_to(self.policy.first_wait.min(wanted)))
            }
            None => self.chance.up_to(longest),
        };
        let elapsed = self.begun.elapsed();
        if elapsed.saturating_add(wanted.unwrap_or(wait)) > self.policy.total {
            return None;
        }
        self.made += 1;
        Some(wait)
    }
}

/// Returns the wait that a provider asks for. A date is taken relative to the date of the answer: clocks differ.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|it| it.is_finite() && *it >= 0.0)
    };
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(after).ok()?;
    let date = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    Some(at.duration_since(date.unwrap_or(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn paused<T>(work: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn waits_double_up_to_the_longest_and_chance_spreads_them_from_nothing() {
        let policy = RetryPolicy {
            tries: 6,
            total: Duration::from_hours(1),
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_millis(500),
        };
        for (number, expected) in [
            (u64::MAX, [100, 200, 400, 500, 500]),
            (1 << 63, [50, 100, 200, 250, 250]),
            (0, [0, 0, 0, 0, 0]),
        ] {
            let chance = RandomSource::from_fn(move || number);
            let waits = paused(async {
                let mut tries = RequestTries::new(&policy, &chance);
                std::iter::from_fn(|| tries.wait_for_next(None))
                    .map(|wait| wait.as_millis())
                    .collect::<Vec<_>>()
            });
            assert_eq!(waits, expected);
        }
    }

    #[test]
    fn the_providers_wish_is_waited_for_and_no_try_begins_after_the_whole_time() {
        let policy = RetryPolicy {
            tries: 9,
            total: Duration::from_secs(10),
            ..RetryPolicy::default()
        };
        let chance = RandomSource::from_fn(|| u64::MAX);
        paused(async {
            let mut tries = RequestTries::new(&policy, &chance);
            let four = Duration::from_secs(4);
            let wait = tries.wait_for_next(Some(four)).unwrap();
            assert!(wait >= four && wait <= four + policy.first_wait, "{wait:?}");
            assert_eq!(tries.made, 2);
            assert_eq!(tries.wait_for_next(Some(Duration::from_secs(11))), None);
            assert_eq!(tries.made, 2);
            tokio::time::advance(Duration::from_secs(7)).await;
            assert_eq!(tries.wait_for_next(Some(four)), None);
            assert!(tries.wait_for_next(None).is_some());
        });
    }

    #[test]
    fn a_wish_is_read_in_seconds_in_milliseconds_and_as_a_date() {
        let now = UNIX_EPOCH + Duration::from_mins(24_090_208);
        for (headers, expected) in [
            (&[("retry-after", "2")][..], Some(2000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after-ms", "30"), ("retry-after", "9")], Some(30)),
            (
                &[("retry-after", "Wed, 21 Oct 2015 07:28:03 GMT")],
                Some(3000),
            ),
            (&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")], Some(0)),
            (
                &[
                    ("retry-after", "Wed, 21 Oct 2015 07:28:03 GMT"),
                    ("date", "Wed, 21 Oct 2015 07:28:01 GMT"),
                ],
                Some(2000),
            ),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e300")], None),
            (&[], None),
        ] {
            let headers: HeaderMap = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect();
            let read = retry_after(&headers, now).map(|wait| wait.as_millis());
            assert_eq!(read, expected, "{headers:?}");
        }
    }
}
