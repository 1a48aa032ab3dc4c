#![doc = include_str!("../README.md")]

/// The tokens of a text.
pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings that anybody can look up.
    #[test]
    fn known_texts_have_known_counts() {
        for (text, expected) in [("", 0), ("hello world", 2), (" a a a", 3)] {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
