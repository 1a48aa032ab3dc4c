//! Finding skills by words: the one place where the server's search is.

use grove_catalog::address;
use grove_catalog::disclosure::Node;
use grove_catalog::snapshot::{Skill, Snapshot};

/// Skills for words, the best first, at most `limit`; only such as a model may have.
pub(crate) fn search(snapshot: &Snapshot, words: &str, limit: usize) -> Vec<Node> {
    let wanted: Vec<String> = words
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let open: Vec<(usize, &Skill)> = snapshot
        .skills
        .iter()
        .enumerate()
        .filter(|(_, skill)| skill.model_invocable())
        .collect();
    let mut found: Vec<(usize, usize)> = open
        .iter()
        .map(|(at, skill)| (score(skill, words.trim(), &wanted), *at))
        .filter(|(score, _)| *score > 0)
        .collect();
    if found.is_empty() {
        let near = address::near_names(open.iter().map(|(_, skill)| skill.name()), words.trim());
        let is_near = |skill: &Skill| near.iter().any(|name| name == skill.name());
        found = open
            .iter()
            .filter(|(_, skill)| is_near(skill))
            .map(|(at, _)| (1, *at))
            .collect();
    }
    // Equal scores stay in the order of the snapshot.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = found.into_iter().take(limit);
    best.map(|(_, at)| Node::Skill(at)).collect()
}

/// A name counts more than a description, and the exact name or id more than anything.
fn score(skill: &Skill, whole: &str, words: &[String]) -> usize {
    if skill.name() == whole || skill.id() == whole {
        return usize::MAX;
    }
    let name = format!("{} {}", skill.name(), skill.id()).to_lowercase();
    let description = skill.description().unwrap_or_default().to_lowercase();
    let one = |word: &String| {
        3 * usize::from(name.contains(word.as_str()))
            + usize::from(description.contains(word.as_str()))
    };
    words.iter().map(one).sum()
}
