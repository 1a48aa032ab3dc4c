//! Roots and definitions for tests, the same everywhere.

use std::path::PathBuf;

use crate::definitions::{DefinitionCandidate, DefinitionContent};
use crate::digest::Digest;
use crate::root::{Root, RootSource};
use crate::trust::RootTrust;

/// The root `/SOURCE` with the label `SOURCE:agents`.
pub(crate) fn root(source: RootSource, trust: RootTrust) -> Root {
    let path = PathBuf::from(format!("/{}", source.as_str()));
    Root {
        trust,
        ..Root::new(source, "agents", path)
    }
}

/// A trusted root of every source, strongest first.
pub(crate) fn all_roots() -> Vec<Root> {
    RootSource::ALL
        .map(|source| root(source, RootTrust::Trusted))
        .into()
}

/// The index of a source's root among [`all_roots`].
pub(crate) fn root_index(source: RootSource) -> usize {
    RootSource::ALL.iter().position(|it| *it == source).unwrap()
}

/// A file as it was read.
pub(crate) fn candidate<P>(
    root: usize,
    path: &str,
    text: &str,
    parsed: P,
) -> DefinitionCandidate<P> {
    DefinitionCandidate {
        root,
        path: path.to_owned(),
        member: None,
        file: None,
        content: Ok(DefinitionContent {
            digest: Digest::of(text.as_bytes()),
            size: text.len() as u64,
            rest: None,
            parsed,
        }),
        diagnostics: Vec::new(),
    }
}
