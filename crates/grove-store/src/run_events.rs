//! The events of a run in memory.

use std::slice;
use std::sync::Arc;

use grove_plan::Event;

/// The most events of one part.
const PART: usize = 64;

/// The events of a run in their order. A run is copied for each of its readers while it grows at its end, so that copies
/// share all parts, and a part is copied only when an event is added to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunEvents {
    /// Parts of equal length, but for the last.
    parts: Vec<Arc<Vec<Arc<Event>>>>,
}

impl RunEvents {
    /// Iterates over the events from the first to the last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Event> {
        let events = self.parts.iter().flat_map(part);
        events.map(|event| &**event)
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        let last = self.parts.last().map_or(0, |last| last.len());
        self.parts.len().saturating_sub(1) * PART + last
    }

    /// Returns true if there is no event.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn push(&mut self, event: Event) {
        match self.parts.last_mut().filter(|last| last.len() < PART) {
            Some(last) => Arc::make_mut(last).push(Arc::new(event)),
            None => self.parts.push(Arc::new(vec![Arc::new(event)])),
        }
    }
}

fn part(part: &Arc<Vec<Arc<Event>>>) -> slice::Iter<'_, Arc<Event>> {
    part.iter()
}

#[cfg(test)]
mod tests {
    use grove_plan::{Fact, Times};

    use super::*;

    #[test]
    fn a_copy_stays_as_it_was_while_the_other_grows() {
        let event = |seq| Event {
            seq,
            at: Times::default(),
            fact: Fact::Acknowledged,
        };
        let mut events = RunEvents::default();
        let mut copies = vec![events.clone()];
        for seq in 1..=200 {
            events.push(event(seq));
            copies.push(events.clone());
        }
        for (n, copy) in copies.iter().enumerate() {
            assert_eq!((copy.len(), copy.is_empty()), (n, n == 0));
            let seqs: Vec<u64> = copy.iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=n as u64).collect::<Vec<_>>());
            assert_eq!(copy.iter().next_back().map(|event| event.seq), seqs.last().copied());
        }
    }
}
