//! The part of the body that hosts show in place of a missing description.

use super::measure::{first_chars, first_units};
use crate::hosts::ListStyle;

/// The characters of the longest first line that is shown whole.
const LINE: usize = 100;
/// The number of lines that one host joins, and the most units that they may have.
const LINES: usize = 3;
const LINES_UNITS: usize = 1024;

pub(super) fn description(style: ListStyle, body: &str) -> String {
    match style {
        ListStyle::Bullets => first_line(body),
        ListStyle::SourceElements => first_lines(body),
        _ => String::new(),
    }
}

/// Returns the first line that is not blank, without the marks of a heading.
fn first_line(body: &str) -> String {
    let Some(line) = body.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return "Skill".to_owned();
    };
    let text = heading(line).unwrap_or(line);
    if text.chars().count() > LINE {
        format!("{}...", first_chars(text, LINE - 3))
    } else {
        text.to_owned()
    }
}

/// Returns the first three lines that are neither blank nor headings.
fn first_lines(body: &str) -> String {
    let lines: Vec<&str> = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && heading(line).is_none())
        .take(LINES)
        .collect();
    first_units(&lines.join(" "), LINES_UNITS).to_owned()
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len() && text.starts_with(char::is_whitespace)).then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_takes_its_own_part_of_the_body() {
        let long = "word ".repeat(600);
        for (body, line, lines) in [
            ("\n\n## Sub\n", "Sub", ""),
            ("", "Skill", ""),
            (
                "# Head\n\n- list **item**\n- two\n\nPara.\nMore.\n",
                "Head",
                "- list **item** - two Para.",
            ),
            ("```\ncode # x\n```\ntext\n", "```", "``` code # x ```"),
            ("#tag first\n", "#tag first", "#tag first"),
        ] {
            assert_eq!(description(ListStyle::Bullets, body), line, "{body:?}");
            assert_eq!(
                description(ListStyle::SourceElements, body),
                lines,
                "{body:?}"
            );
        }
        assert_eq!(description(ListStyle::Bullets, &long).chars().count(), 100);
        assert!(description(ListStyle::Bullets, &long).ends_with("wo..."));
        assert_eq!(description(ListStyle::SourceElements, &long).len(), 1024);
        assert_eq!(description(ListStyle::PathElements, "text"), "");
    }
}
