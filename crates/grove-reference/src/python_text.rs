//! Text as Python holds it: code points, unpaired surrogates among them.

use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;

use super::unicode14;

/// A Python string. Surrogates come only from escapes such as `"\ud83d"`, which Python keeps
/// as they are, even in pairs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PyText {
    Plain(String),
    /// Holds at least one surrogate.
    Surrogates(Vec<u32>),
}

impl Default for PyText {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl PyText {
    pub(super) fn push(&mut self, added: char) {
        match self {
            Self::Plain(text) => text.push(added),
            Self::Surrogates(points) => points.push(u32::from(added)),
        }
    }

    pub(super) fn push_str(&mut self, added: &str) {
        match self {
            Self::Plain(text) => text.push_str(added),
            Self::Surrogates(points) => points.extend(added.chars().map(u32::from)),
        }
    }

    /// Adds a code point; false when Python has no such code point.
    pub(super) fn push_code(&mut self, code: u32) -> bool {
        if let Some(added) = char::from_u32(code) {
            self.push(added);
        } else if (0xd800..=0xdfff).contains(&code) {
            match self {
                Self::Plain(text) => {
                    let points = text.chars().map(u32::from).chain([code]);
                    *self = Self::Surrogates(points.collect());
                }
                Self::Surrogates(points) => points.push(code),
            }
        } else {
            return false;
        }
        true
    }

    pub(super) fn is(&self, other: &str) -> bool {
        matches!(self, Self::Plain(text) if text == other)
    }

    /// As Python writes it to standard error, each surrogate spelled out.
    pub(super) fn into_shown(self) -> String {
        match self {
            Self::Plain(text) => text,
            Self::Surrogates(points) => shown(&points),
        }
    }
}

/// Spells out each surrogate as `\udXXX`, the way Python's standard error does.
pub(super) fn shown(points: &[u32]) -> String {
    let mut out = String::with_capacity(points.len());
    for &point in points {
        match char::from_u32(point) {
            Some(known) => out.push(known),
            // Writing to a string does not fail.
            None => write!(out, "\\u{point:04x}").unwrap_or_default(),
        }
    }
    out
}

/// `str.strip()` on code points.
pub(super) fn strip(points: &[u32]) -> &[u32] {
    let space = |point: &u32| char::from_u32(*point).is_some_and(unicode14::is_space);
    let start = points.iter().position(|point| !space(point));
    let end = points.iter().rposition(|point| !space(point));
    match (start, end) {
        (Some(start), Some(end)) => points.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}

/// `unicodedata.normalize("NFKC", …)`.
pub(super) fn nfkc(points: &[u32]) -> Vec<u32> {
    by_run(points, |run| run.nfkc().collect())
}

/// `str.lower()`.
pub(super) fn lower(points: &[u32]) -> Vec<u32> {
    by_run(points, str::to_lowercase)
}

/// Maps each run of characters Unicode 14 knows. The rest (surrogates, later characters) do not
/// decompose, compose, reorder or change case there, so they stay and separate the runs.
fn by_run(points: &[u32], map: impl Fn(&str) -> String) -> Vec<u32> {
    let mut out = Vec::with_capacity(points.len());
    let mut run = String::new();
    for &point in points {
        match char::from_u32(point) {
            Some(known) if unicode14::is_assigned(known) => run.push(known),
            _ => {
                out.extend(map(&run).chars().map(u32::from));
                run.clear();
                out.push(point);
            }
        }
    }
    out.extend(map(&run).chars().map(u32::from));
    out
}
