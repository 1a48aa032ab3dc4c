//! The names in a folder, kept together: one allocation for all of them instead of one each.

use std::ffi::CStr;

#[derive(Default)]
pub(super) struct SortedNames {
    bytes: Vec<u8>,
    entries: Vec<NameEntry>,
}

#[derive(Clone, Copy)]
struct NameEntry {
    start: u32,
    /// The end, with the terminator.
    end: u32,
    is_link: bool,
}

/// A name in a folder that may be a skill folder or a group.
#[derive(Clone, Copy)]
pub(super) struct ChildName<'a> {
    pub(super) name: &'a CStr,
    pub(super) is_link: bool,
}

impl SortedNames {
    pub(super) fn push(&mut self, name: &CStr, is_link: bool) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
        self.entries.push(NameEntry {
            start,
            end: self.bytes.len() as u32,
            is_link,
        });
    }

    /// Sorts the names, so that results do not depend on the file system's order.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries
            .sort_unstable_by(|a, b| slice(bytes, *a).cmp(slice(bytes, *b)));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<ChildName<'_>> {
        let entry = *self.entries.get(index)?;
        let name = CStr::from_bytes_with_nul(slice(&self.bytes, entry)).ok()?;
        Some(ChildName {
            name,
            is_link: entry.is_link,
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<ChildName<'_>> {
        let plain = |entry: &NameEntry| {
            slice(&self.bytes, *entry)
                .split_last()
                .map(|(_, name)| name)
        };
        let at = self
            .entries
            .binary_search_by(|entry| plain(entry).cmp(&Some(name.as_bytes())));
        self.get(at.ok()?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ChildName<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

fn slice(bytes: &[u8], entry: NameEntry) -> &[u8] {
    bytes
        .get(entry.start as usize..entry.end as usize)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_sorted_and_whole() {
        let mut names = SortedNames::default();
        for (name, is_link) in [(c"b", false), (c"a", true), (c"", false), (c"ab", false)] {
            names.push(name, is_link);
        }
        names.sort();
        let all: Vec<_> = names
            .iter()
            .map(|child| (child.name, child.is_link))
            .collect();
        assert_eq!(
            all,
            [(c"", false), (c"a", true), (c"ab", false), (c"b", false)]
        );
        for (name, expected) in [
            ("a", Some(true)),
            ("ab", Some(false)),
            ("b", Some(false)),
            ("", Some(false)),
            ("abc", None),
            ("0", None),
            ("z", None),
        ] {
            let found = names.find(name).map(|child| child.is_link);
            assert_eq!(found, expected, "{name}");
        }
    }
}
