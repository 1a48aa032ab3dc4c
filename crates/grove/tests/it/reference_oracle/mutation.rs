//! Changes to a whole file.

use super::generator::{Mood, pick, pick_for};
use super::pieces;
use crate::agreement::random::Random;

/// Changes a few lines or characters of the frontmatter.
pub(crate) fn mutate(random: &mut Random, mut content: String) -> String {
    for _ in 0..=random.below(3) {
        // Most of a real file is body, where changes say nothing.
        let head = frontmatter_length(&content);
        let (front, body) = content.split_at(head);
        let front = if random.once_in(2) {
            mutate_lines(random, front)
        } else {
            mutate_characters(random, front)
        };
        content = front + body;
    }
    content
}

fn frontmatter_length(content: &str) -> usize {
    let end = content.get(3..).and_then(|rest| rest.find("---"));
    end.map_or(content.len(), |end| end + 6)
}

fn mutate_lines(random: &mut Random, content: &str) -> String {
    let mut lines: Vec<&str> = content.split_inclusive('\n').collect();
    if lines.is_empty() {
        return content.to_owned();
    }
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    let indented = format!(" {}", lines[at]);
    match random.below(7) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at]),
        2 => lines.swap(at, other),
        3 => lines.insert(at, pick_for(random, Mood::Wild, &pieces::FILLERS)),
        4 => lines[at] = &indented,
        5 => lines[at] = lines[at].trim_start(),
        _ => lines[at] = lines[at].trim_end(),
    }
    lines.concat()
}

fn mutate_characters(random: &mut Random, content: &str) -> String {
    let mut characters: Vec<char> = content.chars().collect();
    if characters.is_empty() {
        return content.to_owned();
    }
    let at = random.below(characters.len());
    let other = random.below(characters.len());
    match random.below(5) {
        0 => drop(characters.remove(at)),
        1 => characters.insert(at, characters[other]),
        2 => characters.swap(at, other),
        3 => drop(characters.splice(at..at, pick(random, pieces::SOUP).chars())),
        _ => {
            let end = (at + random.below(12)).min(characters.len());
            characters.drain(at..end);
        }
    }
    characters.into_iter().collect()
}

/// The same lines with CR LF or CR between them.
pub(crate) fn other_line_ends(random: &mut Random, content: &str) -> String {
    let mixed = random.once_in(3);
    let all = pick(random, &["\r\n", "\r"]);
    let mut out = String::new();
    for line in content.split_inclusive('\n') {
        out.push_str(line.trim_end_matches('\n'));
        if line.ends_with('\n') {
            out.push_str(if mixed {
                pick(random, &["\n", "\r\n", "\r"])
            } else {
                all
            });
        }
    }
    out
}
