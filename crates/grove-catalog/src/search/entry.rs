//! One document as counted words: the material of an index, and the record of an unchanged document.

use std::collections::HashMap;

use super::near_words::explained;
use super::words::each_word;
use crate::identity::folder_of;

/// The number of parts of a document; they are in order, the most telling first.
pub(super) const FIELDS: usize = 4;
/// The most different words of one document that are kept; the rest find nothing.
const MAX_TERMS: usize = 20_000;
const MAX_BODY: usize = 1 << 20;

/// A document that can be found.
#[derive(Debug, Clone, Copy)]
pub struct SearchDocument<'a> {
    /// A key that differs whenever anything else here does.
    pub key: u128,
    /// The name of the skill.
    pub name: &'a str,
    /// The id of the skill.
    pub id: &'a str,
    /// The description: what the skill does and when to use it.
    pub description: &'a str,
    /// The instructions in the body.
    pub body: &'a str,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CountedDocument {
    pub(super) key: u128,
    pub(super) lengths: [u32; FIELDS],
    pub(super) terms: Vec<(u32, [u16; FIELDS])>,
    /// Abbreviations that it explains.
    pub(super) links: Vec<(String, String)>,
}

/// Numbers for words, in the order in which the words were met.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    // The map is read by key and never iterated, so its order has no effect.
    numbers: HashMap<Box<str>, u32>,
    pub(super) words: Vec<Box<str>>,
}

impl Lexicon {
    pub(super) fn number(&mut self, word: &str) -> u32 {
        if let Some(known) = self.numbers.get(word) {
            return *known;
        }
        let new = self.words.len() as u32;
        self.words.push(word.into());
        self.numbers.insert(word.into(), new);
        new
    }
}

impl CountedDocument {
    pub(super) fn of(document: &SearchDocument<'_>, lexicon: &mut Lexicon) -> Self {
        let body = until(document.body, MAX_BODY);
        let mut counting = WordCounter {
            lexicon,
            places: HashMap::new(),
            entry: Self {
                key: document.key,
                links: explained(document.description),
                ..Self::default()
            },
        };
        counting.field(0, document.name);
        counting.field(0, folder_of(document.id));
        counting.field(1, document.description);
        // The name of a group is common to its skills, as that of a heading is to a text.
        let groups = document
            .id
            .rsplit_once('/')
            .map_or("", |(groups, _)| groups);
        counting.field(2, groups);
        headings(body).for_each(|heading| counting.field(2, heading));
        counting.field(3, body);
        let mut entry = counting.entry;
        entry.links.extend(explained(body));
        entry.links.sort();
        entry.links.dedup();
        entry
    }
}

struct WordCounter<'a> {
    lexicon: &'a mut Lexicon,
    places: HashMap<u32, usize>,
    entry: CountedDocument,
}

impl WordCounter<'_> {
    fn field(&mut self, field: usize, text: &str) {
        each_word(text, &mut |word| {
            if self.entry.terms.len() == MAX_TERMS {
                return;
            }
            let number = self.lexicon.number(word);
            let terms = &mut self.entry.terms;
            let place = *self.places.entry(number).or_insert_with(|| {
                terms.push((number, [0; FIELDS]));
                terms.len() - 1
            });
            if let Some(count) = terms
                .get_mut(place)
                .and_then(|(_, counts)| counts.get_mut(field))
            {
                *count = count.saturating_add(1);
            }
            if let Some(length) = self.entry.lengths.get_mut(field) {
                *length = length.saturating_add(1);
            }
        });
    }
}

/// Returns the lines that begin with `#` outside code.
fn headings(body: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    body.lines().filter(move |line| {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        !in_code && line.starts_with('#')
    })
}

/// Returns the first bytes of a text, whole characters only.
pub(super) fn until(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_counted_where_it_stands() {
        let mut lexicon = Lexicon::default();
        let document = SearchDocument {
            key: 7,
            name: "pdf-tools",
            id: "docs/pdf-tools",
            description: "Merges PDF files",
            body: "# Merging\n```\n# no heading\n```\nPDF pages",
        };
        let entry = CountedDocument::of(&document, &mut lexicon);
        let counts = |word: &str| {
            let number = lexicon.words.iter().position(|known| &**known == word)?;
            let found = entry.terms.iter().find(|(at, _)| *at as usize == number);
            found.map(|(_, counts)| *counts)
        };
        assert_eq!(counts("pdf"), Some([2, 1, 0, 1]));
        assert_eq!(counts("merging"), Some([0, 0, 1, 1]));
        assert_eq!(counts("heading"), Some([0, 0, 0, 1]));
        assert_eq!(counts("no"), None);
    }

    #[test]
    fn a_document_of_data_is_bounded() {
        let words: Vec<String> = (0..100_000).map(|number| format!("w{number}")).collect();
        let body = words.join(" ");
        let document = SearchDocument {
            key: 1,
            name: "n",
            id: "n",
            description: "",
            body: &body,
        };
        let entry = CountedDocument::of(&document, &mut Lexicon::default());
        assert_eq!(entry.terms.len(), MAX_TERMS);
        assert_eq!(until("aé", 2), "a");
    }
}
