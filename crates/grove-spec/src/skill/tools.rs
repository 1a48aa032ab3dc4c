//! `allowed-tools`: a space string, a comma string or a list, with arguments in parentheses.

/// Splits a string of tools at spaces and commas outside parentheses.
pub fn split_tools(text: &str) -> Vec<String> {
    split_outside_parentheses(text, |c| matches!(c, ',' | ' ' | '\t' | '\n'))
}

/// The non-empty parts of a text between separators outside parentheses.
pub(crate) fn split_outside_parentheses(text: &str, is_between: fn(char) -> bool) -> Vec<String> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (offset, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && is_between(c) => {
                push(&mut parts, text.get(start..offset));
                start = offset + c.len_utf8();
            }
            _ => {}
        }
    }
    push(&mut parts, text.get(start..));
    parts
}

fn push(parts: &mut Vec<String>, piece: Option<&str>) {
    if let Some(piece) = piece.map(str::trim).filter(|piece| !piece.is_empty()) {
        parts.push(piece.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::split_tools;

    #[test]
    fn all_three_spellings() {
        for (text, expected) in [
            ("Read Grep", vec!["Read", "Grep"]),
            ("Read, Grep,Write", vec!["Read", "Grep", "Write"]),
            (
                "Bash(git add:*, git commit:*) Read",
                vec!["Bash(git add:*, git commit:*)", "Read"],
            ),
            ("Bash(a (b) c),X", vec!["Bash(a (b) c)", "X"]),
            ("mcp__x__y", vec!["mcp__x__y"]),
            (" , ", vec![]),
            ("Bash(open", vec!["Bash(open"]),
            ("Close) Read", vec!["Close)", "Read"]),
        ] {
            assert_eq!(split_tools(text), expected, "{text:?}");
        }
    }
}
