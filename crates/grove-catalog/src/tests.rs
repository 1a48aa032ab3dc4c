//! Roots and definitions for tests, the same everywhere.

use std::path::PathBuf;

use crate::definitions::{Candidate, Content};
use crate::digest::Digest;
use crate::root::{Root, Source};
use crate::trust::Trust;

/// The root `/SOURCE` with the label `SOURCE:agents`.
pub(crate) fn root(source: Source, trust: Trust) -> Root {
    let path = PathBuf::from(format!("/{}", source.as_str()));
    Root {
        trust,
        ..Root::new(source, "agents", path)
    }
}

/// A trusted root of every source, strongest first.
pub(crate) fn all_roots() -> Vec<Root> {
    Source::ALL
        .map(|source| root(source, Trust::Trusted))
        .into()
}

/// The index of a source's root among [`all_roots`].
pub(crate) fn root_index(source: Source) -> usize {
    Source::ALL.iter().position(|it| *it == source).unwrap()
}

/// A file as it was read.
pub(crate) fn candidate<P>(root: usize, path: &str, text: &str, parsed: P) -> Candidate<P> {
    Candidate {
        root,
        path: path.to_owned(),
        member: None,
        file: None,
        content: Ok(Content {
            digest: Digest::of(text.as_bytes()),
            size: text.len() as u64,
            rest: None,
            parsed,
        }),
        diagnostics: Vec::new(),
    }
}
