//! The words of all names, each with a number. Names are divided by their words again and again, and numbers are counted
//! in one pass, whereas texts would have to be sorted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64;

use super::NodeId;

/// The most words of one name that are used, so that no name makes groups in groups without end.
const MOST_WORDS: usize = 8;

#[derive(Debug)]
pub(super) struct NameWords<'a> {
    texts: Vec<Cow<'a, str>>,
    /// The numbers of all names' words, one name after another.
    numbers: Vec<u32>,
    /// By node: the index of its first number; one more at the end.
    starts: Vec<usize>,
    /// By number of a word: scratch space for counting; zero between two counts.
    counts: Vec<u32>,
}

impl<'a> NameWords<'a> {
    pub(super) fn of(names: &[&'a str]) -> Self {
        let mut known: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>> = HashMap::default();
        let mut all = Self {
            texts: Vec::new(),
            numbers: Vec::with_capacity(names.len() * 4),
            starts: Vec::with_capacity(names.len() + 1),
            counts: Vec::new(),
        };
        for name in names {
            all.starts.push(all.numbers.len());
            for word in words(name) {
                let number = *known.entry(xxh3_64(word.as_bytes())).or_insert_with(|| {
                    all.texts.push(word);
                    all.texts.len() as u32 - 1
                });
                all.numbers.push(number);
            }
        }
        all.starts.push(all.numbers.len());
        all.counts = vec![0; all.texts.len()];
        all
    }

    /// Returns the words that `how_many` of these nodes share, with the places of those nodes in the list.
    pub(super) fn shared(
        &mut self,
        nodes: &[NodeId],
        how_many: RangeInclusive<usize>,
    ) -> Vec<(&str, Vec<usize>)> {
        let mut met = Vec::new();
        for node in nodes {
            for at in self.starts[*node]..self.starts[*node + 1] {
                let number = self.numbers[at];
                let count = &mut self.counts[number as usize];
                *count += 1;
                if *count == 1 {
                    met.push(number);
                }
            }
        }
        // From here on a count is one more than the index of the word in `shared`, or zero if it is not shared.
        let mut shared = Vec::new();
        for number in &met {
            let count = &mut self.counts[*number as usize];
            if how_many.contains(&(*count as usize)) {
                shared.push((*number, Vec::with_capacity(*count as usize)));
                *count = shared.len() as u32;
            } else {
                *count = 0;
            }
        }
        for (place, node) in nodes.iter().enumerate() {
            for at in self.starts[*node]..self.starts[*node + 1] {
                let slot = self.counts[self.numbers[at] as usize] as usize;
                if let Some((_, places)) = slot.checked_sub(1).and_then(|at| shared.get_mut(at)) {
                    places.push(place);
                }
            }
        }
        for number in met {
            self.counts[number as usize] = 0;
        }
        let named = shared.into_iter();
        let named = named.map(|(number, places)| (&*self.texts[number as usize], places));
        named.collect()
    }
}

#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Returns the words of a name that may say what it is about, each once, in lower case.
fn words(name: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let all = name.split(|c: char| !c.is_alphanumeric());
    let all = all.filter(|word| word.len() > 1 && !word.chars().all(char::is_numeric));
    let mut seen: [&str; MOST_WORDS] = [""; MOST_WORDS];
    let once = all
        .take(MOST_WORDS)
        .enumerate()
        .filter_map(move |(at, word)| {
            let is_new = !seen.contains(&word);
            seen[at] = word;
            is_new.then_some(word)
        });
    once.map(|word| {
        if word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        {
            Cow::Borrowed(word)
        } else {
            Cow::Owned(word.to_lowercase())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_are_counted_for_the_nodes_asked_about() {
        let names = ["", "pdf-merge", "PDF split", "pdf-pdf", "merge-2024-x"];
        let mut words = NameWords::of(&names);
        let mut all = words.shared(&[1, 2, 3, 4], 2..=4);
        all.sort_unstable();
        assert_eq!(all, [("merge", vec![0, 3]), ("pdf", vec![0, 1, 2])]);
        // What was counted before does not count again.
        assert_eq!(words.shared(&[4, 1], 2..=2), [("merge", vec![0, 1])]);
        assert!(words.shared(&[1, 2], 3..=3).is_empty());
    }
}
