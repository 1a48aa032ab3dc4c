//! The scores of the documents of an index for some words.
//!
//! A word counts as it is written and by its stem. Near words count less: those of the general list, those that the
//! library explains, a typing error. The words that the first documents share are then searched for as well.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{FIELDS, until};
use super::index::{IndexTerm, SearchIndex};
use super::meanings::Records;
use super::near_words::near;
use super::stem::stem;
use super::typed_names::typed_names;
use super::weight::term_weight;
use super::words::words;
use grove_spec::text::edits;

const MAX_QUERY: usize = 4_000;
const MAX_WORDS: usize = 64;
const NEAR: f32 = 0.3;
const EXPLAINED: f32 = 0.5;
const MISSPELT: f32 = 0.7;
/// Feedback: the number of first documents, the number of their words, and the worth of those.
const FIRST_DOCUMENTS: usize = 5;
const THEIR_WORDS: usize = 20;
const FEEDBACK: f32 = 0.1;
/// A word in more than one of this many documents is too common to describe a few of them.
const COMMON: u32 = 4;
/// The share of the best score below which a document is no answer.
const FAINT: f32 = 0.03;
/// The number of query words from which on a match of only one is no answer.
const SEVERAL: usize = 4;
/// The score of a usual best document, where the words lead to none.
const USUAL_BEST: f32 = 20.0;
const MAX_COMPARED: u32 = 5_000;

/// The index cannot be read and has to be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the index is damaged")]
pub struct DamagedIndex;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QueryTerms {
    /// The stems of typed words, each with the word as it was typed.
    pub(super) typed: Vec<(u32, String)>,
    /// All terms, by number.
    terms: BTreeMap<u32, f32>,
    /// The score of a document about nothing but the query; words that no document has count most.
    best_score: f32,
    /// Each different word of the query: its stem, if a document has it, and its worth.
    words: Vec<(Option<u32>, f32)>,
    /// The stems of typed names that a document has. Another name may be anything, a person's or a company's, and
    /// counts only as one more word.
    names: Vec<u32>,
}

pub(super) struct QueryScores {
    /// By document; greater is better.
    pub(super) scores: Vec<f32>,
    /// By document: the share of the query that it is about, from 0 to 1.
    pub(super) shares: Vec<f32>,
    /// By document: that share without the one word that it is most about; zero if it lacks a name.
    pub(super) rests: Vec<f32>,
}

impl QueryScores {
    /// Returns the result of a query without words.
    pub(super) fn nothing(documents: usize) -> Self {
        let nothing = vec![0.0; documents];
        Self {
            scores: nothing.clone(),
            shares: nothing.clone(),
            rests: nothing,
        }
    }

    /// Returns the share of the query that a document is about, and that share without the word it is most about.
    pub(super) fn about(&self, document: usize) -> (f32, f32) {
        let of = |all: &[f32]| all.get(document).copied().unwrap_or(0.0);
        (of(&self.shares), of(&self.rests))
    }

    /// Adds closeness by meaning to the scores, if the index has a source of it; returns the closeness by document.
    ///
    /// A document without the words is a result only if its meaning is not far.
    pub(super) fn add_meaning(
        &mut self,
        index: &SearchIndex,
        query: &str,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Vec<i32> {
        let Some(source) = index.source() else {
            return Vec::new();
        };
        let best = best(&self.scores, 1, allowed);
        let unit = best.first().map_or(USUAL_BEST, |(_, score)| *score);
        let by_words: Vec<f32> = self.scores.iter().map(|score| score / unit).collect();
        let fused = source.fuse(query, &Records { index, allowed }, &by_words);
        let least = source.bounds().least;
        let each = self.scores.iter_mut().zip(&fused.scores);
        for ((score, fused), near) in each.zip(&fused.closeness) {
            let is_result = *score > 0.0 || *near >= least;
            *score = if is_result { fused * unit } else { 0.0 };
        }
        fused.closeness
    }
}

impl QueryTerms {
    pub(super) fn of(index: &SearchIndex, text: &str) -> Self {
        let mut all = words(until(text, MAX_QUERY));
        all.truncate(MAX_WORDS);
        let mut wanted = Self::default();
        let mut known = BTreeSet::new();
        for word in &all {
            let said = wanted.word(index, word);
            if known.insert(word) {
                wanted.words.push(said);
            }
        }
        for pair in all.windows(2) {
            // `web app` also means `webapp`.
            if let Some(number) = index.find_word(&pair.concat()) {
                wanted.known(index, number, 1.0, &pair.join(" "));
            }
        }
        let names = typed_names(until(text, MAX_QUERY));
        let names = names.iter().take(MAX_WORDS);
        wanted.names = names
            .filter_map(|name| index.find_stem(&stem(name)))
            .collect();
        let stems: Vec<String> = all.iter().map(|word| stem(word)).collect();
        let mut more: BTreeMap<u32, f32> = BTreeMap::new();
        for phrase in near(&stems) {
            add_phrase(index, phrase, NEAR, &mut more);
        }
        explained(index, &stems, &mut more);
        for (term, worth) in more {
            // A typed word is worth no more for being near to another typed one.
            wanted.terms.entry(term).or_insert(worth);
        }
        wanted
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Adds a word to search for; returns its stem and its worth.
    fn word(&mut self, index: &SearchIndex, word: &str) -> (Option<u32>, f32) {
        let weight = |number: u32| index.term(number).map_or(0.0, |term| term.weight);
        if let Some(number) = index.find_word(word) {
            let stem = self.known(index, number, 1.0, word);
            let of_stem = stem.map_or(0.0, weight);
            self.best_score += weight(number) + of_stem;
            return (stem, of_stem);
        }
        if let Some(term) = index.find_stem(&stem(word)) {
            *self.terms.entry(term).or_default() += 1.0;
            self.typed.push((term, word.to_owned()));
            self.best_score += weight(term);
            return (Some(term), weight(term));
        }
        // The weight of a word and its stem, both as rare as can be.
        let rarest = term_weight(1, 1, index.documents() as usize);
        self.best_score += 2.0 * rarest;
        let meant = spelled_nearly(index, word);
        let stem = meant.and_then(|number| self.known(index, number, MISSPELT, word));
        (stem, rarest)
    }

    fn known(&mut self, index: &SearchIndex, number: u32, worth: f32, typed: &str) -> Option<u32> {
        *self.terms.entry(number).or_default() += worth;
        let stem = index.stem_term(index.term(number)?.stem);
        *self.terms.entry(stem).or_default() += worth;
        self.typed.push((stem, typed.to_owned()));
        Some(stem)
    }

    /// Returns by document the share of the query that it is about, without the word that it is most about; zero for
    /// documents that lack a name.
    fn rests(&self, index: &SearchIndex) -> Result<Vec<f32>, DamagedIndex> {
        let mut rests = self.rests_of_words(index)?;
        for name in &self.names {
            let term = index.term(*name).ok_or(DamagedIndex)?;
            let postings = index.postings(&term).ok_or(DamagedIndex)?;
            let mut having = postings.iter().map(|(document, _)| document as usize);
            let mut next = having.next();
            for (document, rest) in rests.iter_mut().enumerate() {
                if next == Some(document) {
                    next = having.next();
                } else {
                    *rest = 0.0;
                }
            }
        }
        Ok(rests)
    }

    fn rests_of_words(&self, index: &SearchIndex) -> Result<Vec<f32>, DamagedIndex> {
        let documents = index.documents() as usize;
        if self.words.len() < SEVERAL {
            return Ok(vec![1.0; documents]);
        }
        let (mut sums, mut most) = (vec![0.0_f32; documents], vec![0.0_f32; documents]);
        for (stem, worth) in &self.words {
            let Some(stem) = stem else { continue };
            let term = index.term(*stem).ok_or(DamagedIndex)?;
            let postings = index.postings(&term).ok_or(DamagedIndex)?;
            for (document, about) in postings.iter() {
                let at = document as usize;
                let gained = worth * f32::from(about) / 255.0;
                *sums.get_mut(at).ok_or(DamagedIndex)? += gained;
                let most = most.get_mut(at).ok_or(DamagedIndex)?;
                *most = most.max(gained);
            }
        }
        let asked: f32 = self.words.iter().map(|(_, worth)| worth).sum();
        let rests = sums.iter().zip(&most);
        Ok(rests
            .map(|(sum, most)| (sum - most) / asked.max(f32::MIN_POSITIVE))
            .collect())
    }
}

/// Adds abbreviations and their explanations, in both directions.
fn explained(index: &SearchIndex, query: &[String], more: &mut BTreeMap<u32, f32>) {
    for (short, long) in index.links() {
        let long: Vec<String> = words(long).iter().map(|word| stem(word)).collect();
        if query.iter().any(|word| word == short) {
            add_phrase(index, &long, EXPLAINED, more);
        } else if long.len() > 1 && query.windows(long.len()).any(|said| said == long) {
            add_phrase(index, &[short.to_owned()], EXPLAINED, more);
        }
    }
}

fn add_phrase(index: &SearchIndex, stems: &[String], worth: f32, more: &mut BTreeMap<u32, f32>) {
    #[expect(clippy::cast_precision_loss, reason = "a phrase has a few words")]
    let each = worth / stems.len().max(1) as f32;
    for term in stems.iter().filter_map(|stem| index.find_stem(stem)) {
        let slot = more.entry(term).or_default();
        *slot = slot.max(each);
    }
}

/// Returns a word one typing error away from one that no document has; of several the most frequent.
fn spelled_nearly(index: &SearchIndex, word: &str) -> Option<u32> {
    if word.chars().count() < 5 {
        return None;
    }
    // An error in the first two letters is not found: all words would have to be compared.
    let start: String = word.chars().take(2).collect();
    let near = index
        .words_from(&start, MAX_COMPARED)
        .filter(|(_, known)| known.len().abs_diff(word.len()) <= 1 && known.chars().count() >= 4)
        .filter(|(_, known)| edits(word, known, 1).is_some());
    let by_use = |(number, _): &(u32, &str)| {
        let documents = index.term(*number).map_or(0, |term| term.documents);
        (documents, u32::MAX - number)
    };
    near.max_by_key(by_use).map(|(number, _)| number)
}

pub(super) fn scores(
    index: &SearchIndex,
    wanted: &QueryTerms,
    allowed: &dyn Fn(u32) -> bool,
) -> Result<QueryScores, DamagedIndex> {
    let mut scores = vec![0.0; index.documents() as usize];
    add(
        index,
        wanted.terms.iter().map(|(t, w)| (*t, *w)),
        &mut scores,
    )?;
    let asked = wanted.best_score.max(f32::MIN_POSITIVE);
    let shares = scores
        .iter()
        .map(|score| (score / asked).min(1.0))
        .collect();
    let first = best(&scores, FIRST_DOCUMENTS, allowed);
    let theirs = feedback(index, &first)?;
    let theirs = theirs.iter().map(|(term, worth)| (*term, worth * FEEDBACK));
    add(index, theirs, &mut scores)?;
    let least = FAINT * scores.iter().copied().fold(0.0, f32::max);
    for score in scores.iter_mut().filter(|score| **score < least) {
        *score = 0.0;
    }
    Ok(QueryScores {
        scores,
        shares,
        rests: wanted.rests(index)?,
    })
}

fn add(
    index: &SearchIndex,
    terms: impl Iterator<Item = (u32, f32)>,
    scores: &mut [f32],
) -> Result<(), DamagedIndex> {
    // A word and its stem often have the same postings, which are then read once.
    let mut lists: BTreeMap<u64, (IndexTerm, f32)> = BTreeMap::new();
    for (number, worth) in terms {
        let term = index.term(number).ok_or(DamagedIndex)?;
        let list = lists.entry(term.postings).or_insert((term, 0.0));
        list.1 += worth * term.weight / 255.0;
    }
    for (term, unit) in lists.values() {
        let postings = index.postings(term).ok_or(DamagedIndex)?;
        for (document, weight) in postings.iter() {
            let score = scores.get_mut(document as usize).ok_or(DamagedIndex)?;
            *score += unit * f32::from(weight);
        }
    }
    Ok(())
}

/// Returns the best documents, best first; of equals the first.
pub(super) fn best(scores: &[f32], count: usize, allowed: &dyn Fn(u32) -> bool) -> Vec<(u32, f32)> {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(count * 2 + 1);
    let mut least = 0.0;
    for (document, score) in scores.iter().enumerate() {
        let document = document as u32;
        if *score > least && allowed(document) {
            kept.push((document, *score));
            if kept.len() > count * 2 {
                kept.select_nth_unstable_by(count, order);
                kept.truncate(count);
                // A later document with an equal score would come after those that are kept.
                least = kept
                    .iter()
                    .map(|(_, score)| *score)
                    .fold(f32::MAX, f32::min);
            }
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(count);
    kept
}

/// Returns the stems that the first documents are about, the most telling with a worth of 1.
fn feedback(index: &SearchIndex, first: &[(u32, f32)]) -> Result<Vec<(u32, f32)>, DamagedIndex> {
    let total: f32 = first.iter().map(|(_, score)| score).sum();
    let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
    for (document, score) in first {
        let entry = index.entry(*document).ok_or(DamagedIndex)?;
        let mut by_stem: BTreeMap<u32, [u16; FIELDS]> = BTreeMap::new();
        for (number, counts) in &entry.terms {
            let term = index.term(*number).ok_or(DamagedIndex)?;
            let kept = by_stem.entry(index.stem_term(term.stem)).or_default();
            for (kept, count) in kept.iter_mut().zip(counts) {
                *kept = kept.saturating_add(*count);
            }
        }
        for (stem, counts) in by_stem {
            let IndexTerm {
                weight, documents, ..
            } = index.term(stem).ok_or(DamagedIndex)?;
            if documents > index.documents() / COMMON + 2 {
                continue;
            }
            let about = index.frequency(*document, counts);
            *sums.entry(stem).or_default() += score / total * about * weight;
        }
    }
    let mut all: Vec<(u32, f32)> = sums.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(THEIR_WORDS);
    let most = all.first().map_or(1.0, |(_, sum)| *sum);
    Ok(all
        .into_iter()
        .map(|(term, sum)| (term, sum / most))
        .collect())
}
