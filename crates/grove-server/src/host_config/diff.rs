//! The difference between two texts that differ in one place.

use std::fmt::Write as _;

/// Lines shown around what differs.
const AROUND: usize = 3;

/// The lines that go and the lines that come, with a few around them.
///
/// Both texts share their start and their end, as an edit in one place leaves them.
pub fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - start;
    let same_end = old.iter().rev().zip(new.iter().rev());
    let end = same_end.take(room).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let mut line = |mark: char, line: &str| {
        let _ = writeln!(text, "{mark} {line}");
    };
    let first = start.saturating_sub(AROUND);
    for shared in old.get(first..start).unwrap_or_default() {
        line(' ', shared);
    }
    for gone in old.get(start..old.len() - end).unwrap_or_default() {
        line('-', gone);
    }
    for come in new.get(start..new.len() - end).unwrap_or_default() {
        line('+', come);
    }
    for shared in new.iter().skip(new.len() - end).take(AROUND) {
        line(' ', shared);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn only_what_differs_is_marked() {
        for (before, after, expected) in [
            ("", "a\nb\n", "+ a\n+ b\n"),
            ("a\nb\n", "", "- a\n- b\n"),
            (
                "1\n2\n3\n4\n5\n",
                "1\n2\n3\n4\nx\n5\n",
                "  2\n  3\n  4\n+ x\n  5\n",
            ),
            ("a\na\n", "a\na\na\n", "  a\n  a\n+ a\n"),
            ("a\nb\nc\n", "a\nc\n", "  a\n- b\n  c\n"),
            ("a\n", "a\n", "  a\n"),
        ] {
            assert_eq!(difference(before, after), expected, "{before:?} {after:?}");
        }
    }
}
