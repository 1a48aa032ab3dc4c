//! Makes an index from documents, or from an older index's entries for those that have not changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::entry::{CountedDocument, FIELDS, Lexicon, SearchDocument};
use super::format::{DOCUMENT, HEAD, IndexHead, TERM, put_varint};
use super::index::SearchIndex;
use super::meanings::Meanings;
use super::stem::stem;
use super::weight::{AverageLengths, quantised, term_weight};

/// The most abbreviations whose explanations an index keeps.
const MAX_LINKS: usize = 10_000;

/// Collects documents, in the order in which they are numbered.
#[derive(Debug, Default)]
pub struct IndexBuilder {
    lexicon: Lexicon,
    entries: Vec<CountedDocument>,
    /// The numbers of an older index's words in this lexicon, plus one; zero if not yet known.
    known_words: Vec<u32>,
    /// The source of records of meaning.
    meanings: Option<Arc<dyn Meanings>>,
    records: RecordBytes,
}

/// The records of documents, one after another.
#[derive(Debug, Default)]
struct RecordBytes {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl RecordBytes {
    fn add(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len() as u32);
    }

    fn finish(self) -> Vec<u8> {
        let ends = self.ends.iter().flat_map(|end| end.to_le_bytes());
        ends.chain(self.bytes).collect()
    }
}

impl IndexBuilder {
    /// A builder of an index with records of meaning, if there is a source of them.
    pub fn new(meanings: Option<Arc<dyn Meanings>>) -> Self {
        Self {
            meanings,
            ..Self::default()
        }
    }

    /// Adds a document by its text.
    pub fn add(&mut self, document: &SearchDocument<'_>) {
        if let Some(meanings) = &self.meanings {
            let record = meanings.record(document);
            self.records.add(&record);
        }
        let entry = CountedDocument::of(document, &mut self.lexicon);
        self.entries.push(entry);
    }

    /// Adds a document from another index; returns false if its bytes there cannot be used.
    ///
    /// All calls must be for the same index.
    pub fn keep(&mut self, index: &SearchIndex, document: u32) -> bool {
        let Some(mut entry) = index.entry(document) else {
            return false;
        };
        if index.meanings() != self.meanings_digest() {
            return false;
        }
        self.known_words.resize(index.words() as usize, 0);
        for (number, _) in &mut entry.terms {
            let Some(known) = self.known_words.get_mut(*number as usize) else {
                return false;
            };
            if *known == 0 {
                let Some(word) = index.letters(*number) else {
                    return false;
                };
                *known = self.lexicon.number(word) + 1;
            }
            *number = *known - 1;
        }
        self.entries.push(entry);
        if self.meanings.is_some() {
            self.records.add(index.record(document));
        }
        true
    }

    fn meanings_digest(&self) -> [u8; 32] {
        let meanings = self.meanings.as_ref();
        meanings.map_or([0; 32], |meanings| meanings.digest())
    }

    /// Returns the bytes of the index. They depend only on the documents and their order.
    pub fn finish(mut self, digest: [u8; 32]) -> Vec<u8> {
        let words = self.sort_words();
        let stems = Stems::of(&words);
        let lengths = AverageLengths::of(self.entries.iter().map(|entry| entry.lengths));
        let n_words = words.len();
        let mut lists = PostingLists::new(n_words + stems.names.len());
        let stemmed: Vec<Vec<(u32, [u16; FIELDS])>> = self
            .entries
            .iter()
            .map(|entry| stems.counts(&entry.terms))
            .collect();
        for (entry, by_stem) in self.entries.iter().zip(&stemmed) {
            lists.count(&entry.terms, 0);
            lists.count(by_stem, n_words);
        }
        lists.place();
        for (document, (entry, by_stem)) in self.entries.iter().zip(&stemmed).enumerate() {
            let document = document as u32;
            lists.fill(document, &entry.terms, 0, entry.lengths, &lengths);
            lists.fill(document, by_stem, n_words, entry.lengths, &lengths);
        }
        let mut out = IndexParts::default();
        out.entries(&self.entries);
        let letters = words
            .iter()
            .map(|word| &**word)
            .chain(stems.names.iter().map(String::as_str));
        for (term, letters) in letters.enumerate() {
            // A stem of only one word has the postings of that word.
            let only = term
                .checked_sub(n_words)
                .and_then(|at| stems.only_word.get(at).copied().flatten());
            let stem = stems.of_word.get(term).copied().unwrap_or(0);
            out.term(letters, term, only, stem, &lists, self.entries.len());
        }
        let head = IndexHead {
            documents: self.entries.len() as u32,
            words: n_words as u32,
            stems: stems.names.len() as u32,
            digest,
            meanings: self.meanings_digest(),
            ..IndexHead::default()
        };
        out.finish(&head, &links(&self.entries), &self.records.finish())
    }

    /// Sorts the words that are used, and numbers them anew in every entry.
    fn sort_words(&mut self) -> Vec<Box<str>> {
        let all = std::mem::take(&mut self.lexicon.words);
        // A document that could not be kept may have left words that no entry uses.
        let mut is_used = vec![false; all.len()];
        for (number, _) in self.entries.iter().flat_map(|entry| &entry.terms) {
            if let Some(used) = is_used.get_mut(*number as usize) {
                *used = true;
            }
        }
        let mut used: Vec<(Box<str>, usize)> = all
            .into_iter()
            .enumerate()
            .filter(|(at, _)| is_used.get(*at) == Some(&true))
            .map(|(at, word)| (word, at))
            .collect();
        used.sort_unstable();
        let mut numbers = vec![0_u32; is_used.len()];
        for (new, (_, old)) in used.iter().enumerate() {
            if let Some(number) = numbers.get_mut(*old) {
                *number = new as u32;
            }
        }
        for entry in &mut self.entries {
            for (number, _) in &mut entry.terms {
                *number = numbers.get(*number as usize).copied().unwrap_or(0);
            }
            entry.terms.sort_unstable_by_key(|(number, _)| *number);
        }
        used.into_iter().map(|(word, _)| word).collect()
    }
}

struct Stems {
    names: Vec<String>,
    of_word: Vec<u32>,
    /// The word of a stem that has only one.
    only_word: Vec<Option<usize>>,
}

impl Stems {
    fn of(words: &[Box<str>]) -> Self {
        let stemmed: Vec<String> = words.iter().map(|word| stem(word)).collect();
        let mut names = stemmed.clone();
        names.sort_unstable();
        names.dedup();
        let mut only_word = vec![None; names.len()];
        let mut forms = vec![0_u32; names.len()];
        let of_word = stemmed.iter().enumerate().map(|(word, stem)| {
            let at = names.binary_search(stem).unwrap_or(0);
            if let (Some(only), Some(forms)) = (only_word.get_mut(at), forms.get_mut(at)) {
                *forms += 1;
                *only = (*forms == 1).then_some(word);
            }
            at as u32
        });
        Self {
            of_word: of_word.collect(),
            names,
            only_word,
        }
    }

    fn counts(&self, terms: &[(u32, [u16; FIELDS])]) -> Vec<(u32, [u16; FIELDS])> {
        let stem_of = |number: u32| self.of_word.get(number as usize).copied().unwrap_or(0);
        let mut all: Vec<(u32, [u16; FIELDS])> = terms
            .iter()
            .map(|(number, counts)| (stem_of(*number), *counts))
            .collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                for (kept, next) in kept.1.iter_mut().zip(next.1) {
                    *kept = kept.saturating_add(next);
                }
            }
            same
        });
        all
    }
}

/// The postings of all words and stems, one list after another.
struct PostingLists {
    starts: Vec<usize>,
    next: Vec<usize>,
    /// The number of documents that have the word in a part other than the body.
    outside_bodies: Vec<u32>,
    documents: Vec<u32>,
    weights: Vec<u8>,
}

impl PostingLists {
    fn new(terms: usize) -> Self {
        Self {
            starts: vec![0; terms + 1],
            next: Vec::new(),
            outside_bodies: vec![0; terms],
            documents: Vec::new(),
            weights: Vec::new(),
        }
    }

    fn count(&mut self, terms: &[(u32, [u16; FIELDS])], first: usize) {
        for (number, counts) in terms {
            let at = first + *number as usize;
            if let Some(start) = self.starts.get_mut(at + 1) {
                *start += 1;
            }
            let is_told = counts.iter().take(FIELDS - 1).any(|count| *count > 0);
            if let Some(told) = self.outside_bodies.get_mut(at) {
                *told += u32::from(is_told);
            }
        }
    }

    fn place(&mut self) {
        let mut total = 0;
        for start in &mut self.starts {
            total += *start;
            *start = total;
        }
        self.next.clone_from(&self.starts);
        self.documents = vec![0; total];
        self.weights = vec![0; total];
    }

    fn fill(
        &mut self,
        document: u32,
        terms: &[(u32, [u16; FIELDS])],
        first: usize,
        lengths: [u32; FIELDS],
        average: &AverageLengths,
    ) {
        for (number, counts) in terms {
            let Some(next) = self.next.get_mut(first + *number as usize) else {
                continue;
            };
            if let (Some(slot), Some(weight)) =
                (self.documents.get_mut(*next), self.weights.get_mut(*next))
            {
                *slot = document;
                *weight = quantised(average.frequency(*counts, lengths));
            }
            *next += 1;
        }
    }

    fn list(&self, term: usize) -> (&[u32], &[u8]) {
        let start = self.starts.get(term).copied().unwrap_or(0);
        let end = self.starts.get(term + 1).copied().unwrap_or(start);
        (
            self.documents.get(start..end).unwrap_or_default(),
            self.weights.get(start..end).unwrap_or_default(),
        )
    }
}

#[derive(Default)]
struct IndexParts {
    documents: Vec<u8>,
    entries: Vec<u8>,
    terms: Vec<u8>,
    letters: Vec<u8>,
    postings: Vec<u8>,
    /// The place of a word's postings, for a stem that has the same.
    placed: HashMap<usize, u64>,
}

impl IndexParts {
    fn entries(&mut self, entries: &[CountedDocument]) {
        let mut record = Vec::new();
        for entry in entries {
            record.clear();
            write_entry(entry, &mut record);
            self.documents.extend_from_slice(&entry.key.to_le_bytes());
            let start = self.entries.len() as u64;
            self.documents.extend_from_slice(&start.to_le_bytes());
            for number in std::iter::once(record.len() as u32).chain(entry.lengths) {
                self.documents.extend_from_slice(&number.to_le_bytes());
            }
            self.entries.extend_from_slice(&record);
        }
    }

    fn term(
        &mut self,
        letters: &str,
        term: usize,
        same_as: Option<usize>,
        stem: u32,
        lists: &PostingLists,
        n_documents: usize,
    ) {
        let (documents, weights) = lists.list(term);
        let known = same_as.and_then(|word| self.placed.get(&word).copied());
        let start = known.unwrap_or_else(|| {
            let start = self.postings.len();
            self.postings.extend_from_slice(weights);
            let mut before = 0;
            for document in documents {
                put_varint(&mut self.postings, document - before);
                before = *document;
            }
            start as u64
        });
        self.placed.insert(term, start);
        let told = lists.outside_bodies.get(term).copied().unwrap_or(0);
        let weight = term_weight(documents.len(), told as usize, n_documents);
        for number in [self.letters.len() as u32, letters.len() as u32] {
            self.terms.extend_from_slice(&number.to_le_bytes());
        }
        self.terms
            .extend_from_slice(&(documents.len() as u32).to_le_bytes());
        self.terms.extend_from_slice(&weight.to_le_bytes());
        self.terms.extend_from_slice(&start.to_le_bytes());
        self.terms.extend_from_slice(&stem.to_le_bytes());
        self.letters.extend_from_slice(letters.as_bytes());
    }

    fn finish(self, head: &IndexHead, links: &str, records: &[u8]) -> Vec<u8> {
        debug_assert_eq!(self.documents.len(), head.documents as usize * DOCUMENT);
        debug_assert_eq!(self.terms.len(), (head.words + head.stems) as usize * TERM);
        let mut core = self.documents;
        core.extend_from_slice(&self.terms);
        core.extend_from_slice(&(self.letters.len() as u32).to_le_bytes());
        core.extend_from_slice(&self.letters);
        core.extend_from_slice(links.as_bytes());
        let core_end = HEAD + core.len();
        let postings_end = core_end + self.postings.len();
        let entries_end = postings_end + self.entries.len();
        let head = IndexHead {
            core: HEAD..core_end,
            postings: core_end..postings_end,
            entries: postings_end..entries_end,
            records: entries_end..entries_end + records.len(),
            ..head.clone()
        };
        head.before([&core, &self.postings, &self.entries, records])
    }
}

/// Writes the words of an entry as differences, each with a mask of its fields and their counts; then its links.
fn write_entry(entry: &CountedDocument, out: &mut Vec<u8>) {
    put_varint(out, entry.terms.len() as u32);
    let mut before = 0;
    for (number, counts) in &entry.terms {
        put_varint(out, number - before);
        before = *number;
        let bit = |(at, count): (usize, &u16)| u32::from(*count > 0) << at;
        put_varint(out, counts.iter().enumerate().map(bit).sum());
        for count in counts.iter().filter(|count| **count > 0) {
            put_varint(out, u32::from(*count));
        }
    }
    for (short, long) in &entry.links {
        out.extend_from_slice(format!("{short}\t{long}\n").as_bytes());
    }
}

/// Returns the explanations of all documents, each once; for one abbreviation the two most frequent.
fn links(entries: &[CountedDocument]) -> String {
    let mut counted: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (short, long) in entries.iter().flat_map(|entry| &entry.links) {
        *counted.entry((short, long)).or_default() += 1;
    }
    let mut by_short: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for ((short, long), count) in counted {
        by_short.entry(short).or_default().push((count, long));
    }
    let mut out = String::new();
    for (short, mut longs) in by_short.into_iter().take(MAX_LINKS) {
        longs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        for (_, long) in longs.iter().take(2) {
            out.extend([short, "\t", long, "\n"]);
        }
    }
    out
}
