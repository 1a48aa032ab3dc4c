//! Words that mean nearly the same: a short general list, and abbreviations that the library itself explains.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::stem::stem;
use super::words::words;

const MAX_LINKS: usize = 32;
/// The longest abbreviation, and so the most words it can stand for.
const MAX_LETTERS: usize = 6;

/// Groups of near words; each word or phrase is a list of stems.
type Groups = Vec<Vec<Vec<String>>>;

/// Returns the phrases near to a phrase that the words of a query contain.
pub(super) fn near(query: &[String]) -> Vec<&'static Vec<String>> {
    static LIST: OnceLock<(Groups, BTreeMap<String, Vec<usize>>)> = OnceLock::new();
    let (groups, by_first) = LIST.get_or_init(|| {
        let lines = include_str!("near_words.txt").lines();
        let groups: Groups = lines
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let phrases = line.split('=').map(stems);
                phrases.filter(|phrase| !phrase.is_empty()).collect()
            })
            .collect();
        let mut by_first: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            for first in group.iter().filter_map(|phrase| phrase.first()) {
                by_first.entry(first.clone()).or_default().push(at);
            }
        }
        (groups, by_first)
    });
    let mut found = Vec::new();
    for (at, word) in query.iter().enumerate() {
        let said = |phrase: &Vec<String>| query.get(at..).unwrap_or_default().starts_with(phrase);
        for group in by_first.get(word).into_iter().flatten() {
            let Some(group) = groups.get(*group) else {
                continue;
            };
            if group.iter().any(said) {
                found.extend(group.iter().filter(|phrase| !said(phrase)));
            }
        }
    }
    found
}

fn stems(phrase: &str) -> Vec<String> {
    words(phrase).iter().map(|word| stem(word)).collect()
}

/// Finds explanations of abbreviations, `Model Context Protocol (MCP)` or `MCP (Model Context Protocol)`, and returns
/// each as the abbreviation and its words in lower case.
pub(super) fn explained(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (open, _) in text.match_indices('(') {
        if found.len() == MAX_LINKS {
            break;
        }
        let before = text.get(..open).unwrap_or_default();
        let inside = text.get(open + 1..).unwrap_or_default();
        let Some(inside) = inside.split([')', '\n']).next().filter(|i| i.len() <= 80) else {
            continue;
        };
        // Only words before the bracket on its own line count.
        let line = before.rsplit('\n').next().unwrap_or_default();
        let mut last: Vec<&str> = split(line).rev().take(MAX_LETTERS + 2).collect();
        last.reverse();
        let within: Vec<&str> = split(inside).collect();
        let pair = if let [one] = within.as_slice() {
            spelled_by(one, &last)
        } else {
            last.last()
                .and_then(|one| spelled_by(one, &within))
                .filter(|words| words.len() == within.len())
        };
        let short = match within.as_slice() {
            [one] => Some(*one),
            _ => last.last().copied(),
        };
        if let (Some(short), Some(long)) = (short, pair) {
            found.push((short.to_lowercase(), long.join(" ").to_lowercase()));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() <= 32)
}

/// Returns the last words, if their first letters are the abbreviation.
fn spelled_by<'a, 'b>(short: &str, words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let letters = short.chars().count();
    let is_short = (2..=MAX_LETTERS).contains(&letters) && short.chars().all(char::is_uppercase);
    if !is_short {
        return None;
    }
    let start = words.len().checked_sub(letters)?;
    let tail = words.get(start..)?;
    let initials = tail.iter().filter_map(|word| word.chars().next());
    initials
        .flat_map(char::to_uppercase)
        .eq(short.chars())
        .then_some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near_to(query: &str) -> Vec<String> {
        let query = stems(query);
        near(&query).iter().map(|phrase| phrase.join(" ")).collect()
    }

    #[test]
    fn abbreviations_lead_both_ways() {
        assert!(near_to("deploy to k8s").contains(&stem("kubernetes")));
        assert!(near_to("a kubernetes cluster").contains(&"k8s".to_owned()));
        assert!(near_to("open a pull request").contains(&"pr".to_owned()));
        assert!(!near_to("pull the lever").contains(&"pr".to_owned()));
        assert!(near_to("zebra").is_empty());
    }

    #[test]
    fn the_library_explains_its_abbreviations() {
        let of = |text: &str| {
            let pairs = explained(text).into_iter();
            pairs.map(|(a, b)| format!("{a}: {b}")).collect::<Vec<_>>()
        };
        for (text, expected) in [
            (
                "the Model Context Protocol (MCP) is",
                "mcp: model context protocol",
            ),
            (
                "uses MCP (Model Context Protocol)",
                "mcp: model context protocol",
            ),
            (
                "Gene regulatory network (GRN)",
                "grn: gene regulatory network",
            ),
        ] {
            assert_eq!(of(text), [expected], "{text}");
        }
        for none in [
            "Something else (MCP)",
            "see (a) and (B)",
            "f(x)",
            "(",
            "MCP (no)",
        ] {
            assert!(of(none).is_empty(), "{none}");
        }
    }
}
