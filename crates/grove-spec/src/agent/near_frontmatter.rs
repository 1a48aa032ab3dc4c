//! Files whose authors meant them to have frontmatter, but whose frontmatter is not at the beginning.
//!
//! A note beside agents is left alone. A file with a misspelled fence, or with one that is not in its first line, was
//! meant as an agent, and the finding names the line of the mistake.

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::{line_at, lines};

/// The number of lines in which a fence is looked for.
const MAX_LINES: u32 = 40;

/// The refusal of a file without frontmatter, at the place where the author meant to begin it, if there is one.
pub(super) fn locate_refusal(text: &str, refusal: Diagnostic) -> Diagnostic {
    if refusal.code != Code::FrontmatterMissing {
        return refusal;
    }
    misplaced(text).unwrap_or(refusal)
}

/// A finding at the line that was meant to begin the frontmatter.
fn misplaced(text: &str) -> Option<Diagnostic> {
    let text = text.trim_start_matches('\u{feff}');
    let mut is_first_text = true;
    for (number, (_, line, next)) in (1..=MAX_LINES).zip(lines(text)) {
        let (following, _) = line_at(text, next);
        let word = line.trim();
        if word.is_empty() {
            continue;
        }
        // Lines in a block of code are an example.
        if word.starts_with("```") || word.starts_with("~~~") {
            return None;
        }
        let said = |message: &str, help: &str| {
            let finding = Diagnostic::new(Code::FrontmatterMisplaced, message);
            Some(finding.at(Position::new(number, 1)).with_help(help))
        };
        if is_first_text && is_own_key(line) {
            return said(
                "the keys begin without a line `---` before them",
                "write a line `---` before the first key, and one after the last",
            );
        }
        if is_key(following) {
            if word == "---" {
                return said(
                    "the frontmatter does not begin in the first line",
                    "remove what comes before this line `---`",
                );
            }
            let is_dash = |letter: char| matches!(letter, '-' | '\u{2013}' | '\u{2014}');
            if is_first_text && word.chars().all(is_dash) {
                return said(
                    "the frontmatter begins with a line that is not exactly `---`",
                    "write exactly three hyphens",
                );
            }
        }
        is_first_text = false;
    }
    None
}

fn is_key(line: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    line.split_once(':').is_some_and(|(key, value)| {
        key.starts_with(|first: char| first.is_ascii_alphabetic())
            && key.chars().all(is_letter)
            && (value.is_empty() || value.starts_with([' ', '\t']))
    })
}

fn is_own_key(line: &str) -> bool {
    is_key(line) && (line.starts_with("name:") || line.starts_with("description:"))
}

#[cfg(test)]
mod tests {
    use crate::agent::parse;

    fn said(text: &str) -> (&'static str, u32) {
        let parsed = parse(text);
        let finding = parsed.diagnostics.first().unwrap();
        (finding.code.as_str(), finding.position.unwrap().line)
    }

    #[test]
    fn a_fence_that_is_not_where_it_belongs_is_found() {
        for (text, line) in [
            ("\n---\nname: a\n---\nB\n", 2),
            ("\r\n\r\n---\r\nname: a\r\n---\r\n", 3),
            (" ---\nname: a\n---\n", 1),
            ("----\nname: a\n----\n", 1),
            ("--\nname: a\n--\n", 1),
            ("\u{2014}\ndescription: a\n---\n", 1),
            ("name: a\ndescription: b\n---\nB\n", 1),
            ("\u{feff}\nname: a\n", 2),
            ("<!-- a licence -->\n---\nname: a\n---\nB\n", 2),
        ] {
            assert_eq!(said(text), ("frontmatter-misplaced", line), "{text:?}");
        }
    }

    #[test]
    fn a_note_is_a_note() {
        for text in [
            "# Agents\n\nThese are ours.\n",
            "# Agents\n\n---\n\nname: this is after a rule\n",
            "An agent begins so:\n\n```yaml\n---\nname: a\n---\n```\n",
            "Note: the names are ours\n",
            "----\n# Agents\n",
            "See https://example.org\n---\nhttps://example.org\n",
        ] {
            assert_eq!(said(text), ("frontmatter-missing", 1), "{text:?}");
        }
        assert_eq!(said("---\nname: a\nB"), ("frontmatter-unclosed", 1));
        assert_eq!(said(" \n"), ("empty-file", 1));
    }
}
