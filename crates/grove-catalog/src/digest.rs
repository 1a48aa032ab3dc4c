//! BLAKE3 digests of content.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A BLAKE3 digest, shown as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The raw digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Builds a digest of fields; each is preceded by its length, so no two lists of fields collide.
pub struct FieldHasher(blake3::Hasher);

impl FieldHasher {
    /// A hasher for one kind of thing.
    pub fn new(kind: &str) -> Self {
        let mut hasher = Self(blake3::Hasher::new());
        hasher.field(kind.as_bytes());
        hasher
    }

    /// Adds a field.
    pub fn field(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The digest.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_together() {
        let digest = |fields: &[&str]| {
            let mut hasher = FieldHasher::new("t");
            fields.iter().for_each(|field| hasher.field(field.as_bytes()));
            hasher.finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["abc"]), digest(&["abc", ""]));
        assert_eq!(digest(&["a"]), digest(&["a"]));
        assert_eq!(Digest::of(b"").to_string().len(), 64);
    }
}
