//! The paths of skills in the namespace of `skill://`: one for each skill that a model may have.
//!
//! The path is that of the skill's folder below its root, with the skill's name as its last part, as the standard
//! demands. Where several skills would have the same path, each of them gets its root's label and whole id in front,
//! so that no path depends on an order.

use std::collections::BTreeMap;

use grove_catalog::snapshot::{Skill, Snapshot};

pub(crate) const SCHEME: &str = "skill://";
pub(crate) const OWN_FILE: &str = "SKILL.md";

/// Skills by path, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct SkillPaths(BTreeMap<String, usize>);

impl SkillPaths {
    /// Returns the paths of all skills of a snapshot that a model may have.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut plain: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, skill) in snapshot.skills.iter().enumerate() {
            if skill.model_invocable() {
                plain.entry(plain_path(skill)).or_default().push(at);
            }
        }
        let mut paths = BTreeMap::new();
        let mut shared = Vec::new();
        for (path, skills) in plain {
            match skills.as_slice() {
                [one] => drop(paths.insert(path, *one)),
                several => shared.extend_from_slice(several),
            }
        }
        for at in shared {
            if let Some(skill) = snapshot.skills.get(at) {
                paths.entry(full_path(snapshot, skill)).or_insert(at);
            }
        }
        Self(paths)
    }

    pub(crate) fn after(&self, path: Option<&str>) -> impl Iterator<Item = (&str, usize)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let start = path.map_or(Unbounded, Excluded);
        let range = self.0.range::<str, _>((start, Unbounded));
        range.map(|(path, at)| (path.as_str(), *at))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the path and the skill at the URI of the skill's own file.
    pub(crate) fn skill(&self, uri: &str) -> Option<(&str, usize)> {
        let path = uri.strip_prefix(SCHEME)?;
        let path = normal(path.strip_suffix(OWN_FILE)?.strip_suffix('/')?)?;
        let (path, at) = self.0.get_key_value(&path)?;
        Some((path, *at))
    }

    /// Returns the innermost skill that a URI lies in, and the file's path in its folder.
    pub(crate) fn file(&self, uri: &str) -> Option<(usize, String)> {
        let whole = normal(uri.strip_prefix(SCHEME)?)?;
        let ends = whole.rmatch_indices('/').map(|(end, _)| end);
        for end in ends {
            let (folder, file) = whole.split_at_checked(end)?;
            if let Some(at) = self.0.get(folder) {
                return Some((*at, decoded(file.get(1..)?)?));
            }
        }
        None
    }
}

pub(crate) fn uri(path: &str, file: &str) -> String {
    let parts: Vec<String> = file.split('/').map(encoded).collect();
    format!("{SCHEME}{path}/{}", parts.join("/"))
}

fn plain_path(skill: &Skill) -> String {
    let above = skill.id().rsplit_once('/').map(|(above, _)| above);
    let parts = above.into_iter().flat_map(|above| above.split('/'));
    join(parts.chain([skill.name()]))
}

fn full_path(snapshot: &Snapshot, skill: &Skill) -> String {
    let label = snapshot.root_of(skill).map_or("", |root| &root.label);
    let label = format!("@{label}");
    let id = snapshot.unique_id(skill);
    join(
        [label.as_str()]
            .into_iter()
            .chain(id.split('/'))
            .chain([skill.name()]),
    )
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.map(encoded).collect::<Vec<_>>().join("/")
}

/// Returns a path as this server writes it, even if a client left out escapes or escaped needlessly.
fn normal(path: &str) -> Option<String> {
    let parts = path
        .split('/')
        .map(|part| decoded(part).map(|text| encoded(&text)));
    parts
        .collect::<Option<Vec<_>>>()
        .map(|parts| parts.join("/"))
}

/// Returns a part of a path with all bytes escaped but those that never have a meaning in a URI.
fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                text.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                    text.push(digit.to_ascii_uppercase());
                }
            }
        }
    }
    text
}

/// Returns a part of a path with its escapes decoded; none when an escape is malformed or the result is not UTF-8.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
        bytes.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_the_way_there_and_back() {
        for part in ["tmux", "a b", "ä/ö", "100%", "%41", "@x", "#?&=", ".."] {
            assert_eq!(decoded(&encoded(part)).as_deref(), Some(part));
            assert!(!encoded(part).contains(['/', ' ', '#', '?', '@']), "{part}");
        }
        for broken in ["%", "%4", "%zz", "%ff", "%C3%28"] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_innermost_skill_has_a_file() {
        let paths = [("a", 0), ("a/b", 1), ("c%20d", 2)];
        let paths = SkillPaths(paths.map(|(path, at)| (path.to_owned(), at)).into());
        for (uri, expected) in [
            ("skill://a/SKILL.md", Some((0, "SKILL.md"))),
            ("skill://a/x/y.md", Some((0, "x/y.md"))),
            ("skill://a/b/SKILL.md", Some((1, "SKILL.md"))),
            ("skill://a/b", Some((0, "b"))),
            ("skill://%61/SKILL.md", Some((0, "SKILL.md"))),
            ("skill://c d/f g", Some((2, "f g"))),
            ("skill://a", None),
            ("skill://z/SKILL.md", None),
            ("file:///a/SKILL.md", None),
            ("skill://a/%zz", None),
        ] {
            let found = paths.file(uri);
            let found = found.as_ref().map(|(at, file)| (*at, file.as_str()));
            assert_eq!(found, expected, "{uri}");
        }
        assert_eq!(paths.skill("skill://a/b/SKILL.md"), Some(("a/b", 1)));
        assert_eq!(paths.skill("skill://a/b"), None);
    }

    #[test]
    fn an_escaped_slash_does_not_leave_its_part() {
        let paths = SkillPaths([("a".to_owned(), 0)].into());
        // The file's name is split into parts later, where `..` is refused like any other hidden part.
        let found = paths.file("skill://a/..%2F..%2Fetc%2Fpasswd");
        assert_eq!(found, Some((0, "../../etc/passwd".to_owned())));
    }
}
