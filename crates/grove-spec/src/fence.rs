//! Cutting a file into frontmatter and body.
//!
//! A fence is a line of its own: `---` with nothing but spaces after it. A `---` inside a value is
//! not a fence, which is where the reference library cuts values short.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A file cut in two. Offsets are bytes of the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced<'a> {
    /// The text between the fences.
    pub frontmatter: &'a str,
    /// Byte offset of the frontmatter.
    pub frontmatter_offset: usize,
    /// Everything after the closing fence's line end.
    pub body: &'a str,
    /// Byte offset of the body.
    pub body_offset: usize,
}

/// The reason why a file has no frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFence {
    /// The first line is not a fence.
    Missing,
    /// The first line is a TOML fence or a JSON object.
    OtherFormat,
    /// There is no closing fence.
    Unclosed,
}

/// Cuts a text at its fences. A byte order mark before the first fence is passed over.
pub fn split(text: &str) -> Result<Fenced<'_>, NoFence> {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let (first, frontmatter_offset) = line_at(text, start);
    if !is_fence(first) {
        let other = first.trim_end() == "+++" || first.starts_with('{');
        return Err(if other {
            NoFence::OtherFormat
        } else {
            NoFence::Missing
        });
    }
    let rest = text.as_bytes().get(frontmatter_offset..);
    // Three hyphens are rarer than line ends, so looking for them is faster.
    for found in DASHES.find_iter(rest.unwrap_or_default()) {
        let offset = frontmatter_offset + found;
        let starts_line = matches!(text.as_bytes().get(offset - 1), Some(b'\n' | b'\r'));
        if !starts_line {
            continue;
        }
        let (line, next) = line_at(text, offset);
        if is_fence(line) {
            return Ok(Fenced {
                frontmatter: text.get(frontmatter_offset..offset).unwrap_or_default(),
                frontmatter_offset,
                body: text.get(next..).unwrap_or_default(),
                body_offset: next,
            });
        }
    }
    Err(NoFence::Unclosed)
}

static DASHES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("---"));

/// The line end of a text's first line, which added lines use too.
pub fn line_end(text: &str) -> &'static str {
    let (line, next) = line_at(text, 0);
    match text.get(line.len()..next) {
        Some("\r\n") => "\r\n",
        Some("\r") => "\r",
        _ => "\n",
    }
}

/// The line that starts at `offset`, without its end, and the offset of the next one.
///
/// A line ends with LF, CRLF or CR.
pub fn line_at(text: &str, offset: usize) -> (&str, usize) {
    let rest = text.get(offset..).unwrap_or_default();
    match memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        None => (rest, text.len()),
        Some(end) => {
            let crlf = rest.as_bytes().get(end..end + 2) == Some(b"\r\n");
            (
                rest.get(..end).unwrap_or_default(),
                offset + end + if crlf { 2 } else { 1 },
            )
        }
    }
}

/// The lines of a text: the offset of each, its text without its end, and the offset of the next one.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let start = offset;
        let (line, next) = (start < text.len()).then(|| line_at(text, start))?;
        offset = next;
        Some((start, line, next))
    })
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.bytes().all(|b| b == b' ' || b == b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_lines_of_their_own() {
        let cut = |text| split(text).map(|f| (f.frontmatter, f.body));
        assert_eq!(cut("---\na: b\n---\nbody\n"), Ok(("a: b\n", "body\n")));
        assert_eq!(
            cut("\u{feff}---\r\na: b\r\n---\r\nbody"),
            Ok(("a: b\r\n", "body"))
        );
        assert_eq!(cut("---\ra: b\r---\rbody"), Ok(("a: b\r", "body")));
        assert_eq!(cut("---  \na: x --- y\n--- \n"), Ok(("a: x --- y\n", "")));
        assert_eq!(cut("---\n---"), Ok(("", "")));
        assert_eq!(
            cut("---\na: -----\n----\n---\nb"),
            Ok(("a: -----\n----\n", "b"))
        );
        assert_eq!(cut("---\na: b\n ---\n----\n"), Err(NoFence::Unclosed));
        assert_eq!(cut("---a: b\n---\n"), Err(NoFence::Missing));
        assert_eq!(cut("\n---\na: b\n---\n"), Err(NoFence::Missing));
        assert_eq!(cut("+++\na = 1\n+++\n"), Err(NoFence::OtherFormat));
        assert_eq!(cut("{\"name\": 1}\n"), Err(NoFence::OtherFormat));
        assert_eq!(cut(""), Err(NoFence::Missing));
    }
}
