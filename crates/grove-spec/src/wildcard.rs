//! Patterns for paths: `*`, `?`, `[…]`, `{…,…}` and `**`.
//!
//! Whoever writes a pattern may mean harm, so matching takes time by the product of both lengths at most, and a
//! pattern is bounded before it is used.

/// Characters of one pattern.
const MAX_CHARS: usize = 400;
/// Patterns that the braces of one may stand for.
const MAX_ALTERNATIVES: usize = 64;

/// Why a text is not used as a pattern, as it is said of the text.
const TOO_LONG: &str = "is too long for a pattern";
const TOO_MANY: &str = "has braces that stand for too many patterns";

/// A pattern that whole paths are compared with. A name that begins with a dot is matched only by a part that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard {
    alternatives: Vec<Vec<String>>,
}

impl Wildcard {
    /// Reads a pattern, or says why it is none. Empty parts and `.` say nothing.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_CHARS {
            return Err(TOO_LONG);
        }
        let mut alternatives = Vec::new();
        let mut open = vec![text.to_owned()];
        while let Some(next) = open.pop() {
            match first_braces(&next) {
                None => alternatives.push(parts_of(&next)),
                Some(choices) => open.extend(choices),
            }
            if open.len() + alternatives.len() > MAX_ALTERNATIVES {
                return Err(TOO_MANY);
            }
        }
        Ok(Self { alternatives })
    }

    /// Whether a path is matched as a whole.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut all = self.alternatives.iter();
        all.any(|parts| parts_match(parts, &names, seen_name_matches))
    }
}

/// Whether a text has what makes it a pattern.
pub fn is_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn parts_of(text: &str) -> Vec<String> {
    let parts = text.split('/');
    let said = parts.filter(|part| !part.is_empty() && *part != ".");
    said.map(str::to_owned).collect()
}

/// The texts that the first braces with a comma stand for.
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

/// A name that begins with a dot is hidden, and no pattern finds it unless it says the dot.
fn seen_name_matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    pattern == "**" || name_matches(pattern, name)
}

/// Matches names one by one, where `**` stands for any number of them, and at the end for at least one.
///
/// Only the last `**` is gone back to: an earlier one could gain nothing that it cannot.
pub fn parts_match(
    parts: &[String],
    names: &[&str],
    one_matches: impl Fn(&str, &str) -> bool,
) -> bool {
    // At the end it stands for something that is there.
    let needs_more = parts.last().is_some_and(|last| last == "**");
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(name) = names.get(n) {
        match parts.get(p) {
            Some(part) if part == "**" => {
                back = Some((p + 1, n));
                p += 1;
                if needs_more && p == parts.len() {
                    let rest = names.get(n..).unwrap_or_default();
                    return rest.iter().all(|name| one_matches("**", name));
                }
                continue;
            }
            Some(part) if one_matches(part, name) => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        let Some((after, from)) = back else {
            return false;
        };
        let skipped = names.get(from).copied().unwrap_or_default();
        if !one_matches("**", skipped) {
            return false;
        }
        back = Some((after, from + 1));
        p = after;
        n = from + 1;
    }
    let rest = parts.get(p..).unwrap_or_default();
    (rest.is_empty() || !needs_more) && rest.iter().all(|part| part == "**")
}

/// Matches one name against a pattern without `/`, remembering only the last `*`: linear in practice.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
        } else if let Some(length) =
            one_matches(pattern.get(p..).unwrap_or_default(), name.get(n).copied())
        {
            p += length;
            n += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            p = after;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern
        .get(p..)
        .is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

/// How many pattern characters match one character.
fn one_matches(pattern: &[char], c: Option<char>) -> Option<usize> {
    let c = c?;
    match pattern.first()? {
        '?' => Some(1),
        '\\' => (pattern.get(1) == Some(&c)).then_some(2),
        '[' => class_matches(pattern, c),
        first => (*first == c).then_some(1),
    }
}

fn class_matches(pattern: &[char], c: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    let length = pattern
        .iter()
        .skip(start + 1)
        .position(|c| *c == ']')
        .map(|at| at + 1);
    let Some(length) = length else {
        return (c == '[').then_some(1);
    };
    let class = pattern.get(start..start + length)?;
    let mut inside = false;
    let mut at = 0;
    while let Some(low) = class.get(at) {
        if let (Some('-'), Some(high)) = (class.get(at + 1), class.get(at + 2)) {
            inside |= (*low..=*high).contains(&c);
            at += 3;
        } else {
            inside |= *low == c;
            at += 1;
        }
    }
    (inside != negated).then_some(start + length + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    /// What a pattern of parts means, tried in every way.
    fn by_trying(parts: &[String], names: &[&str]) -> bool {
        match parts.split_first() {
            None => names.is_empty(),
            Some((part, [])) if part == "**" => !names.is_empty(),
            Some((part, rest)) if part == "**" => {
                (0..=names.len()).any(|skip| by_trying(rest, &names[skip..]))
            }
            Some((part, rest)) => names
                .split_first()
                .is_some_and(|(name, names)| name_matches(part, name) && by_trying(rest, names)),
        }
    }

    proptest! {
        #[test]
        fn going_back_to_the_last_stars_alone_finds_what_trying_everything_finds(
            parts in proptest::collection::vec(prop_oneof!["\\*\\*", "[ab*]{1,2}"], 0..6),
            names in proptest::collection::vec("[ab]{1,2}", 0..6),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            // Two that touch are one.
            let mut parts = parts;
            parts.dedup_by(|a, b| a == "**" && b == "**");
            let found = parts_match(&parts, &names, |part, name| part == "**" || name_matches(part, name));
            prop_assert_eq!(found, by_trying(&parts, &names), "{:?} {:?}", parts, names);
        }
    }
}
