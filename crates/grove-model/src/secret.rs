//! Secret values, which are never shown.

use std::fmt;

/// The shortest value that is masked in texts: shorter ones stand there by chance.
pub const SHORTEST_MASKED: usize = 8;

const MASK: &str = "***";

/// A key, which no formatting shows and no error contains.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for the one place where it is sent.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns a text with the value masked, if the value is long enough not to stand there by chance.
    pub fn masked(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_MASKED {
            return text.to_owned();
        }
        text.replace(&self.0, MASK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_no_format() {
        let secret = Secret::new("sk-marker-1234");
        for shown in [
            format!("{secret}"),
            format!("{secret:?}"),
            format!("{:#?}", Some(&secret)),
        ] {
            assert!(!shown.contains("marker"), "{shown}");
        }
        assert_eq!(
            secret.masked("key sk-marker-1234 refused"),
            "key *** refused"
        );
        assert_eq!(Secret::new("a").masked("a text"), "a text");
    }
}
