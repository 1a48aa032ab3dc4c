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
    }
}
