//! Repeated measurements of one thing.

use std::time::Duration;

/// The times of some runs, in the order they were taken.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples {
    times: Vec<Duration>,
}

impl Samples {
    pub(crate) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// The time with the least noise in it; ratios are made of these.
    pub(crate) fn minimum_ms(&self) -> Option<f64> {
        self.times.iter().min().map(|time| ms(*time))
    }

    /// The time that so many of a hundred do not exceed.
    pub(crate) fn percentile_ms(&self, percent: usize) -> Option<f64> {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
        sorted.get(at).map(|time| ms(*time))
    }

    /// Returns the longest time.
    pub(crate) fn maximum_ms(&self) -> Option<f64> {
        self.times.iter().max().map(|time| ms(*time))
    }

    /// All of them by their number.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        let all: Duration = self.times.iter().sum();
        let n = u32::try_from(self.times.len()).ok()?;
        all.checked_div(n).map(ms)
    }

    /// The upper of the two in the middle when there is an even number.
    pub(crate) fn median_ms(&self) -> Option<f64> {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map(|time| ms(*time))
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_and_median_do_not_depend_on_order() {
        let mut samples = Samples::default();
        assert_eq!((samples.minimum_ms(), samples.median_ms()), (None, None));
        for ms in [9, 2, 40] {
            samples.add(Duration::from_millis(ms));
        }
        assert_eq!(samples.minimum_ms(), Some(2.0));
        assert_eq!(samples.median_ms(), Some(9.0));
        assert_eq!(samples.maximum_ms(), Some(40.0));
        assert_eq!(
            (samples.mean_ms(), samples.percentile_ms(99)),
            (Some(17.0), Some(40.0))
        );
        assert_eq!(samples.percentile_ms(33), Some(2.0));
    }
}
