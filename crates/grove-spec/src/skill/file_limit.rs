//! The parts of a file over the byte limit that are kept.
//!
//! Only kept parts count towards the limit. A description of a megabyte is not read to its end, so the part beyond a
//! fixed bound is dropped and does not count; a long body counts in full. A file within the limit is kept as it is.

use super::{MAX_DESCRIPTION, ParsedSkill, parse_bytes};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;

/// The most characters that are kept of the description of a file over the limit.
pub const KEPT_DESCRIPTION: usize = 16_384;

/// The factor by which a file may exceed the limit and still be read.
const READ_FACTOR: u64 = 8;

/// The largest file that is read under a limit.
pub const fn most_read(limit: u64) -> u64 {
    limit.saturating_mul(READ_FACTOR)
}

/// Reads the bytes of a skill file under a limit; the error is a finding that it is too large.
pub fn parse_within(bytes: &[u8], limit: u64) -> Result<ParsedSkill, Diagnostic> {
    let size = bytes.len() as u64;
    let mut parsed = parse_bytes(bytes);
    if size <= limit {
        return Ok(parsed);
    }
    let dropped = cut_description(&mut parsed);
    if size.saturating_sub(dropped as u64) <= limit {
        Ok(parsed)
    } else {
        Err(too_large(size, limit))
    }
}

/// The finding about a file whose kept parts exceed the limit.
pub fn too_large(size: u64, limit: u64) -> Diagnostic {
    Diagnostic::new(
        Code::FileTooLarge,
        format!("the file has {size} bytes, more than the limit of {limit}"),
    )
}

/// Cuts a description over the bound and reports it; returns the number of dropped bytes.
fn cut_description(parsed: &mut ParsedSkill) -> usize {
    let Some(description) = &mut parsed.skill.description else {
        return 0;
    };
    let Some((end, _)) = description.char_indices().nth(KEPT_DESCRIPTION) else {
        return 0;
    };
    let rest = description.split_off(end);
    description.shrink_to_fit();
    let dropped = rest.chars().count();
    let message = format!(
        "description has {} characters, more than {MAX_DESCRIPTION}; the file is over the size limit, so \
         the first {KEPT_DESCRIPTION} are kept and {dropped} are dropped",
        KEPT_DESCRIPTION + dropped
    );
    let said = parsed
        .diagnostics
        .iter_mut()
        .find(|found| found.code == Code::DescriptionTooLong);
    match said {
        Some(finding) => finding.message = message,
        None => parsed
            .diagnostics
            .push(Diagnostic::new(Code::DescriptionTooLong, message)),
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(description: &str, body: usize) -> Vec<u8> {
        let body = "y".repeat(body);
        format!("---\nname: a\ndescription: {description}\n---\n{body}\n").into_bytes()
    }

    /// The number of kept characters of the description, and the findings on it; nothing if the file is refused.
    fn judged(bytes: &[u8], limit: u64) -> Option<(usize, Vec<&'static str>)> {
        let parsed = parse_within(bytes, limit).ok()?;
        let kept = parsed.skill.description.as_deref().unwrap_or_default();
        let codes = parsed.diagnostics.iter().map(|found| found.code.as_str());
        Some((kept.chars().count(), codes.collect()))
    }

    #[test]
    fn what_is_dropped_does_not_count_and_what_is_kept_does() {
        let long = ["frontmatter-too-large", "description-too-long"];
        let words = |bytes: usize| "word ".repeat(bytes / 5).trim_end().to_owned();
        for (description, body, limit, expected) in [
            ("d".to_owned(), 10, 256_000, Some((1, vec![]))),
            // A description within the limit is not cut.
            (words(200_000), 10, 256_000, Some((199_999, long.to_vec()))),
            (
                words(300_000),
                10,
                256_000,
                Some((KEPT_DESCRIPTION, long.to_vec())),
            ),
            (words(1_000), 300_000, 256_000, None),
            (words(300_000), 300_000, 256_000, None),
            (
                words(300_000),
                200_000,
                256_000,
                Some((KEPT_DESCRIPTION, long.to_vec())),
            ),
            // The same file under another limit.
            (
                words(100_000),
                10,
                20_000,
                Some((KEPT_DESCRIPTION, long.to_vec())),
            ),
            (words(100_000), 10, 16_000, None),
            (words(10_000), 10, 5_000, None),
        ] {
            let case = (description.len(), body, limit);
            let judged = judged(&file(&description, body), limit);
            assert_eq!(judged, expected, "{case:?}");
        }
    }

    #[test]
    fn the_kept_part_counts_to_the_byte() {
        let bytes = file(&"é".repeat(50_000), 10);
        // Each character has two bytes.
        let kept = (bytes.len() - 2 * (50_000 - KEPT_DESCRIPTION)) as u64;
        assert!(parse_within(&bytes, kept).is_ok());
        let refused = parse_within(&bytes, kept - 1).map_err(|found| (found.code, found.message));
        let message = format!(
            "the file has {} bytes, more than the limit of {}",
            bytes.len(),
            kept - 1
        );
        assert_eq!(refused, Err((Code::FileTooLarge, message)));
        let parsed = parse_within(&bytes, kept).unwrap_or_else(ParsedSkill::refused);
        let finding = parsed
            .diagnostics
            .last()
            .map(|found| found.message.as_str());
        assert!(
            finding.is_some_and(|text| text.contains("33616 are dropped")),
            "{finding:?}"
        );
    }

    #[test]
    fn a_large_file_that_is_no_skill_is_too_large() {
        for text in [
            "x".repeat(300_000),
            format!("---\n{}", "x: y\n".repeat(60_000)),
        ] {
            let refused = parse_within(text.as_bytes(), 256_000).map_err(|found| found.code);
            assert_eq!(refused.err(), Some(Code::FileTooLarge));
        }
        assert_eq!(most_read(256_000), 2_048_000);
        assert_eq!(most_read(u64::MAX), u64::MAX);
    }
}
