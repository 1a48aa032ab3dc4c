//! What a program printed, without what differs from run to run.

use std::path::Path;

/// Shorter numbers of the base sixteen are words or counts.
const SHORTEST_DIGEST: usize = 16;

/// The text with the folder `root` as `[T]`, digests and marks as `[DIGEST]`, and the version of the
/// workspace as `[VERSION]`.
pub(crate) fn without_what_differs(text: &str, root: &Path) -> String {
    let text = text.replace(&root.display().to_string(), "[T]");
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
        let between = rest.find(is_part).unwrap_or(rest.len());
        shown.push_str(&rest[..between]);
        rest = &rest[between..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        shown.push_str(&shown_word(&rest[..end]));
        rest = &rest[end..];
    }
    shown
}

fn shown_word(word: &str) -> String {
    if word == env!("CARGO_PKG_VERSION") {
        return "[VERSION]".to_owned();
    }
    let parts = word.split_inclusive([':', '.', '-']);
    parts
        .map(|part| {
            let digits = part.trim_end_matches([':', '.', '-']);
            let is_digest = digits.len() >= SHORTEST_DIGEST
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_digest {
                part.replace(digits, "[DIGEST]")
            } else {
                part.to_owned()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_replaced_and_the_rest_stays() {
        let shown = |text: &str| without_what_differs(text, Path::new("/tmp/x1"));
        for (text, expected) in [
            ("at /tmp/x1/home, /tmp/x", "at [T]/home, /tmp/x"),
            ("blake3:0123456789abcdef.", "blake3:[DIGEST]."),
            (
                "`0123456789abcde` a-b: c.d – 1",
                "`0123456789abcde` a-b: c.d – 1",
            ),
        ] {
            assert_eq!(shown(text), expected);
        }
        let version = concat!("grove ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(shown(version), "grove [VERSION]\n");
    }
}
