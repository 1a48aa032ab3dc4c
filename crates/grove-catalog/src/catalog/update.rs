//! What changed between two catalogs, for a conversation that already has the first.

use super::Catalog;
use super::style::Style;

/// The fragment that brings a reader of `before` up to date; the whole text when that is shorter, nothing
/// when nothing changed.
pub fn update(before: &str, now: &Catalog, style: Style) -> String {
    if before == now.text {
        return String::new();
    }
    let old: Vec<&str> = before
        .lines()
        .filter(|line| is_entry(style, line))
        .collect();
    let new: Vec<&str> = now
        .text
        .lines()
        .filter(|line| is_entry(style, line))
        .collect();
    let gone = part("removed", old.iter().filter(|line| !new.contains(line)));
    let come = part("added", new.iter().filter(|line| !old.contains(line)));
    // Aliases are declared outside the entries: lines that look alike may lead elsewhere.
    let same_frame = frame(style, before).eq(frame(style, &now.text));
    let fragment =
        format!("The list of skills changed.\n<skills_update>\n{gone}{come}</skills_update>\n");
    if same_frame && !now.text.is_empty() && fragment.len() < now.text.len() {
        fragment
    } else if now.text.is_empty() {
        "There are no skills any more.\n".to_owned()
    } else {
        now.text.clone()
    }
}

fn part<'a>(name: &str, lines: impl Iterator<Item = &'a &'a str>) -> String {
    let lines: String = lines
        .flat_map(|line| [line.trim_end_matches(','), "\n"])
        .collect();
    if lines.is_empty() {
        lines
    } else {
        format!("<{name}>\n{lines}</{name}>\n")
    }
}

fn is_entry(style: Style, line: &str) -> bool {
    line.starts_with(style.entry_begin())
}

fn frame(style: Style, text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(move |line| !is_entry(style, line))
}
