//! The usual search: BM25 over lower-case words, with the usual constants and stop words.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of words and texts are small"
)]

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// An index over texts that are known by number.
pub(crate) struct PlainBm25 {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
}

impl PlainBm25 {
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self {
            postings: HashMap::new(),
            lengths: Vec::new(),
        };
        for (number, text) in texts.enumerate() {
            let words = words(text);
            index.lengths.push(words.len() as f64);
            let mut counts: HashMap<String, f64> = HashMap::new();
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, count) in counts {
                index
                    .postings
                    .entry(word)
                    .or_default()
                    .push((number, count));
            }
        }
        index
    }

    /// The numbers of the best texts, best first; of equals the first.
    pub(crate) fn best(&self, query: &str, count: usize) -> Vec<usize> {
        let all = self.lengths.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / all.max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        for word in words(query) {
            let Some(postings) = self.postings.get(&word) else {
                continue;
            };
            let having = postings.len() as f64;
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (number, count) in postings {
                let length = 1.0 - B + B * self.lengths[*number] / average;
                scores[*number] += rarity * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        order.truncate(count);
        order
    }
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !STOP.split_whitespace().any(|stop| stop == *word))
        .map(str::to_owned)
        .collect()
}

/// The list that most toolkits ship.
const STOP: &str = "\
    a about above after again against all am an and any are as at be because been before being below \
    between both but by can did do does doing don down during each few for from further had has have \
    having he her here hers herself him himself his how i if in into is it its itself just me more most \
    my myself no nor not now of off on once only or other our ours ourselves out over own s same she \
    should so some such t than that the their theirs them themselves then there these they this those \
    through to too under until up very was we were what when where which while who whom why will with \
    you your yours yourself yourselves";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_and_short_texts_come_first() {
        let texts = ["apple pie", "apple pie with cream and sugar", "cream"];
        let index = PlainBm25::new(texts.into_iter());
        assert_eq!(index.best("the apple", 10), [0, 1]);
        assert_eq!(index.best("cream", 1), [2]);
        assert!(index.best("nothing", 10).is_empty());
    }
}
