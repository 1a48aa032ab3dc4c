//! Children of a step told apart without labels: by the words in which their messages differ.

use std::collections::BTreeMap;

use crate::told::Told;
use grove_plan::{LiveChild, NodeId};
use grove_spec::Digest;
use grove_spec::text::one_line;

use crate::journal::RunJournal;

/// The most words that tell a child apart, and the most bytes of a message that are compared.
const MOST_WORDS: usize = 8;
const MOST_COMPARED: usize = 16 << 10;

impl RunJournal {
    /// Returns for children of one step the words of each in which its message differs from those of the others; nothing for
    /// children that have names of their own, and for those whose messages are the same.
    pub fn told_apart<'a>(
        &self,
        children: impl IntoIterator<Item = &'a LiveChild<'a>>,
    ) -> BTreeMap<NodeId, String> {
        let mut messages: Vec<(&NodeId, String)> = Vec::new();
        let mut known: BTreeMap<Digest, String> = BTreeMap::new();
        for child in children {
            if child.child.label.is_some() {
                continue;
            }
            let told = child.node.and_then(|node| node.attempts.first()?.told);
            let told = told.unwrap_or(child.child.told);
            let message = known.entry(told).or_insert_with(|| self.message_of(&told));
            messages.push((&child.id, message.clone()));
        }
        let texts: Vec<&str> = messages
            .iter()
            .map(|(_, message)| message.as_str())
            .collect();
        let words = differing_words(&texts);
        let ids = messages.iter().map(|(id, _)| (*id).clone());
        ids.zip(words)
            .filter(|(_, words)| !words.is_empty())
            .collect()
    }

    fn message_of(&self, told: &Digest) -> String {
        let text = self.text(told).unwrap_or_default();
        let told: Option<Told> = serde_json::from_str(&text).ok();
        let message = told.map(|told| told.message).unwrap_or_default();
        let end = message.floor_char_boundary(MOST_COMPARED);
        one_line(message.get(..end).unwrap_or_default())
    }
}

/// Returns the first words of each text after what all have at their beginning and before what all have at their end.
fn differing_words(texts: &[&str]) -> Vec<String> {
    let split: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect())
        .collect();
    let Some(first) = split.first().filter(|_| split.len() > 1) else {
        return vec![String::new(); texts.len()];
    };
    let shortest = split.iter().map(Vec::len).min().unwrap_or(0);
    let all_have = |word: &dyn Fn(&[&str]) -> Option<String>| {
        let wanted = word(first);
        split.iter().all(|words| word(words) == wanted)
    };
    let before = (0..shortest)
        .take_while(|at| all_have(&|words| words.get(*at).map(ToString::to_string)))
        .count();
    let after = (0..shortest - before)
        .take_while(|at| {
            all_have(&|words| {
                let at = words.len().checked_sub(at + 1)?;
                words.get(at).map(ToString::to_string)
            })
        })
        .count();
    let told = split.iter().map(|words| {
        let end = words.len().saturating_sub(after).max(before);
        let middle = words.get(before..end).unwrap_or_default();
        let kept = middle
            .iter()
            .take(MOST_WORDS)
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        if middle.len() > MOST_WORDS {
            format!("{kept}…")
        } else {
            kept
        }
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_told_apart_by_what_only_they_are_told() {
        let cases: [(&[&str], &[&str]); 6] = [
            (
                &["Mend to-celsius now", "Mend to-fahrenheit now"],
                &["to-celsius", "to-fahrenheit"],
            ),
            (&["Look at a b", "Look at a b"], &["", ""]),
            (&["Look", "Look closely"], &["", "closely"]),
            (&["a x b", "a x x b"], &["", "x"]),
            (&["one"], &[""]),
            (&["1 2 3 4 5 6 7 8 9", "x"], &["1 2 3 4 5 6 7 8…", "x"]),
        ];
        for (texts, expected) in cases {
            assert_eq!(differing_words(texts), expected, "{texts:?}");
        }
        assert!(differing_words(&[]).is_empty());
    }
}
