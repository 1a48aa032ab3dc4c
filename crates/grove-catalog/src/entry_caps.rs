//! The limits on how many skills of a root and of a source may be entries of their own in a catalog.

use grove_spec::config::Settings;

use crate::root::RootSource;

/// The most skills that may be entries of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryCaps {
    /// The most of one root.
    pub per_root: usize,
    /// The most of one source.
    pub per_source: usize,
}

impl EntryCaps {
    /// Returns the limits of settings.
    pub fn of(settings: &Settings) -> Self {
        let limits = &settings.limits;
        Self {
            per_root: limits.loaded_per_root.count(),
            per_source: limits.loaded_per_source.count(),
        }
    }
}

/// The limit that keeps a skill from being an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Source,
    Root,
}

/// The entries that are taken, by source and by root.
#[derive(Debug)]
pub(crate) struct TakenEntries {
    caps: EntryCaps,
    of_sources: [usize; RootSource::ALL.len()],
    of_roots: Vec<usize>,
}

impl TakenEntries {
    pub(crate) fn new(caps: EntryCaps, n_roots: usize) -> Self {
        Self {
            caps,
            of_sources: [0; RootSource::ALL.len()],
            of_roots: vec![0; n_roots],
        }
    }

    /// Takes an entry for the next skill of a source and a root.
    pub(crate) fn take(&mut self, source: RootSource, root: usize) -> Result<(), Full> {
        let of_source = &mut self.of_sources[source as usize];
        if *of_source >= self.caps.per_source {
            return Err(Full::Source);
        }
        if self.of_roots[root] >= self.caps.per_root {
            return Err(Full::Root);
        }
        *of_source += 1;
        self.of_roots[root] += 1;
        Ok(())
    }
}
