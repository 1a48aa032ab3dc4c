//! The secret that a client of the HTTP server must know.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grove_fs::{FsError, atomic};

const BYTES: usize = 32;

/// A secret of 256 random bits, written as hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Returns a new secret; none when the system has no randomness to give.
    pub fn generate() -> Option<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let mut text = String::with_capacity(2 * BYTES);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Some(Self(text))
    }

    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns true if a text is the secret. The time that it takes does not tell how much of the text is right.
    pub fn is(&self, text: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differs = own
            .iter()
            .zip(text)
            .fold(0, |differs, (a, b)| differs | (a ^ b));
        own.len() == text.len() && differs == 0
    }

    /// Writes the secret to a file that only its owner may read.
    pub fn keep(&self, state: &Path) -> Result<PathBuf, FsError> {
        let path = state.join("mcp-token");
        atomic::write_mode(&path, format!("{}\n", self.0).as_bytes(), 0o600)?;
        Ok(path)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_whole_secret_is_the_secret() {
        let token = Token::generate().unwrap();
        let other = Token::generate().unwrap();
        assert_eq!(token.secret().len(), 64);
        assert!(token.is(token.secret().as_bytes()));
        assert!(!token.is(other.secret().as_bytes()));
        assert!(!token.is(&token.secret().as_bytes()[..63]));
        assert!(!token.is(format!("{}0", token.secret()).as_bytes()));
        assert!(!token.is(b""));
        assert!(!format!("{token:?}").contains(token.secret()));
    }
}
