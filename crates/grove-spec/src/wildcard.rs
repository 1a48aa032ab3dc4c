//! Patterns for paths: `*`, `?`, `[…]`, `{…,…}` and `**`.
//!
//! A pattern may be written to do harm, so it is bounded, and matched by an automaton in one pass over the path.

use std::fmt::Write as _;

use regex::Regex;

const MAX_CHARS: usize = 400;
/// The most patterns that the braces of one may expand to.
const MAX_ALTERNATIVES: usize = 64;

/// The reasons why a text is not used as a pattern, each to follow the text.
const TOO_LONG: &str = "is too long for a pattern";
const TOO_MANY: &str = "has braces that stand for too many patterns";

/// A pattern that whole paths are compared with. A name that begins with a dot is matched only by a part that does too.
#[derive(Debug, Clone)]
pub struct Wildcard {
    written: String,
    expression: Regex,
}

impl PartialEq for Wildcard {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Wildcard {}

impl Wildcard {
    /// Reads a pattern, or returns why it is none. Empty parts and `.` are ignored.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_CHARS {
            return Err(TOO_LONG);
        }
        let mut alternatives = Vec::new();
        let mut open = vec![text.to_owned()];
        while let Some(next) = open.pop() {
            match first_braces(&next) {
                None => {
                    let parts = next.split('/');
                    let said = parts.filter(|part| !part.is_empty() && *part != ".");
                    alternatives.push(expression(&said.map(with_mark).collect::<Vec<_>>()));
                }
                Some(choices) => open.extend(choices),
            }
            if open.len() + alternatives.len() > MAX_ALTERNATIVES {
                return Err(TOO_MANY);
            }
        }
        Ok(Self {
            written: text.to_owned(),
            expression: whole(&alternatives.join("|")).ok_or(TOO_LONG)?,
        })
    }

    /// Returns true if the pattern matches the whole path.
    pub fn matches(&self, path: &str) -> bool {
        let names = path.split('/').filter(|name| !name.is_empty());
        let marked: Vec<String> = names.map(with_mark).collect();
        // A path without a name is matched only by a pattern without a name, not by `*`.
        let is_nothing = self.written.trim_matches(['.', '/']).is_empty();
        marked.is_empty() == is_nothing && self.expression.is_match(&marked.join("/"))
    }
}

/// The expression for the paths that parts match, where `**` is any number of names; hidden names count like others.
pub fn path_expression(parts: &[&str]) -> Option<Regex> {
    whole(&expression(parts))
}

/// A mark in place of the dot that hides a name, so that only a written dot matches it.
const HIDDEN: char = '\u{1}';

fn with_mark(name: &str) -> String {
    match name.strip_prefix('.') {
        Some(rest) => format!("{HIDDEN}{rest}"),
        None => name.to_owned(),
    }
}

fn whole(expression: &str) -> Option<Regex> {
    Regex::new(&format!("^(?s:{expression})$")).ok()
}

/// Returns true if a text has a character that makes it a pattern.
pub fn is_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn first_braces(text: &str) -> Option<Vec<String>> {
    text.match_indices('{').find_map(|(open, _)| {
        let before = text.get(..open)?;
        let inside = text.get(open + 1..)?;
        let (mut depth, mut commas) = (0_usize, Vec::new());
        for (at, c) in inside.char_indices() {
            match c {
                '{' => depth += 1,
                ',' if depth == 0 => commas.push(at),
                '}' if depth > 0 => depth -= 1,
                '}' if commas.is_empty() => return None,
                '}' => {
                    let after = inside.get(at + 1..)?;
                    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma + 1));
                    let ends = commas.iter().copied().chain([at]);
                    let choices = starts
                        .zip(ends)
                        .filter_map(|(from, to)| inside.get(from..to));
                    return Some(
                        choices
                            .map(|choice| format!("{before}{choice}{after}"))
                            .collect(),
                    );
                }
                _ => {}
            }
        }
        None
    })
}

/// The expression for parts: `**` stands for any number of names, and at the end for at least one.
fn expression(parts: &[impl AsRef<str>]) -> String {
    let mut all = String::new();
    for (at, part) in parts.iter().map(AsRef::as_ref).enumerate() {
        let is_last = at + 1 == parts.len();
        match part {
            "**" if is_last => all.push_str(r"[^/\x01][^\x01]*"),
            "**" => all.push_str(r"(?:[^/\x01]+/)*"),
            name => {
                name_expression(name, &mut all);
                all.push_str(if is_last { "" } else { "/" });
            }
        }
    }
    all
}

fn name_expression(name: &str, all: &mut String) {
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let class = after
            .get(1..)
            .and_then(|after| after.find(']'))
            .map(|at| at + 1);
        rest = after;
        match (c, class) {
            ('*', _) => all.push_str(r"[^/\x01]*"),
            ('?', _) => all.push_str(r"[^/\x01]"),
            ('[', Some(end)) => {
                let (inside, after) = after.split_at(end);
                let negated = inside.strip_prefix(['!', '^']);
                let sign = if negated.is_some() { "^" } else { "" };
                let ranges = negated.unwrap_or(inside).split('-');
                let ranges = ranges.map(regex::escape).collect::<Vec<_>>().join("-");
                let _ = write!(all, r"[[{sign}{ranges}]&&[^/\x01]]");
                rest = after.get(1..).unwrap_or_default();
            }
            ('\\', _) => {
                let next = after.chars().next().unwrap_or(c);
                all.push_str(&regex::escape(&next.to_string()));
                rest = after.get(next.len_utf8()..).unwrap_or_default();
            }
            (c, _) => all.push_str(&regex::escape(&c.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Wildcard::parse(pattern).unwrap().matches(path)
    }

    #[test]
    fn patterns_match_whole_paths() {
        for (pattern, path, expected) in [
            ("skills/a", "skills/a", true),
            ("./skills//a/", "skills/a", true),
            ("skills/a", "skills/a/b", false),
            ("skills/*", "skills/a", true),
            ("skills/*", "skills/a/b", false),
            ("skills/*", "skills/.a", false),
            ("skills/.*", "skills/.a", true),
            ("skills/?", "skills/.", false),
            ("skills/**", "skills", false),
            ("skills/**", "skills/a/b", true),
            ("skills/**", "skills/.a/b", false),
            ("**/c", "a/b/c", true),
            ("**/c", "c", true),
            ("**/c", "a/.b/c", false),
            ("**/c", "a/b/c/d", false),
            ("a/**/**/c", "a/b/c", true),
            ("a/**/b/**/c", "a/b/x/b/y/c", true),
            ("a/**/b/**/c", "a/x/y/c", false),
            ("**/a/b", "a/a/b", true),
            ("skills/{a,b}", "skills/b", true),
            ("skills/{a,b/{c,d}}", "skills/b/d", true),
            ("skills/{a,b}", "skills/c", false),
            ("skills/{a}", "skills/{a}", true),
            ("skills/[ab]x", "skills/bx", true),
            ("skills/[!ab]x", "skills/bx", false),
            ("skills/[a-c]x", "skills/bx", true),
            ("skills/[]x]", "skills/]", true),
            ("skills/[ab", "skills/[ab", true),
            ("skills/a.c", "skills/abc", false),
            ("skills/\\*", "skills/*", true),
            ("skills/\\*", "skills/a", false),
            ("skills/a**b", "skills/a.b", true),
            ("skills/A", "skills/a", false),
            ("*", "", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern:?} {path:?}");
        }
    }

    #[test]
    fn a_pattern_is_bounded_and_no_pattern_takes_long() {
        let braces = "{a,b}".repeat(7);
        assert_eq!(Wildcard::parse(&braces), Err(TOO_MANY));
        let long = "a".repeat(MAX_CHARS + 1);
        assert_eq!(Wildcard::parse(&long), Err(TOO_LONG));
        let nested = "{a,".repeat(130);
        assert!(
            !matches(&nested, "a"),
            "braces that nobody closes are letters"
        );
        let stars = "*a".repeat(200);
        assert!(!matches(&stars, &"a".repeat(199)));
        let deep = "**/a/".repeat(70);
        let path = vec!["a"; 2_000].join("/");
        assert!(!matches(&format!("{deep}b"), &path));
    }
}
