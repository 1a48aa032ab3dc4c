//! What a program printed, without what differs from run to run.

use std::path::Path;

/// Shorter numbers of the base sixteen are words or counts.
const SHORTEST_DIGEST: usize = 16;

/// The text with the folder `root` as `[T]`, digests and marks as `[DIGEST]`, the version of the workspace as
/// `[VERSION]`, and as `[COST]` the length of a printed text, since paths in it are longer in some folders.
pub(crate) fn without_what_differs(text: &str, root: &Path) -> String {
    let version = concat!("grove ", env!("CARGO_PKG_VERSION"), "\n");
    let text = text.replace(version, "grove [VERSION]\n");
    let text = text.replace(&root.display().to_string(), "[T]");
    let lines = text.split_inclusive('\n').map(|line| {
        let is_cost = line.starts_with("grove: ") && line.contains(" characters, about ");
        if is_cost { "grove: [COST]\n" } else { line }
    });
    let is_between = |c: char| !c.is_ascii_alphanumeric();
    let words = lines.flat_map(|line| line.split_inclusive(is_between));
    let shown = words.flat_map(|word| {
        let (digits, end) = word.split_at(word.trim_end_matches(is_between).len());
        let is_digest =
            digits.len() >= SHORTEST_DIGEST && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        [if is_digest { "[DIGEST]" } else { digits }, end]
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_replaced_and_the_rest_stays() {
        let shown = |text: &str| without_what_differs(text, Path::new("/tmp/x1"));
        for (text, expected) in [
            ("at /tmp/x1/home, /tmp/x", "at [T]/home, /tmp/x"),
            ("grove: 9 characters, about 3 tokens\n", "grove: [COST]\n"),
            ("blake3:0123456789abcdef.", "blake3:[DIGEST]."),
            (
                "`0123456789abcde` a-b: c.d – 1",
                "`0123456789abcde` a-b: c.d – 1",
            ),
        ] {
            assert_eq!(shown(text), expected);
        }
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(shown(&format!("grove {version}\n")), "grove [VERSION]\n");
    }
}
