//! Pieces of work that are measured in this process: the floors and our engine.

use std::path::{Path, PathBuf};

use grove_skills::Library;

use crate::floor::{Floor, Probe};
use crate::ours;

/// One measured piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    FloorRead,
    FloorCheck,
    Cold,
    Warm,
    Verify,
}

/// The work with everything done that is not measured.
pub(crate) type Prepared = Box<dyn FnMut() -> Result<Done, String>>;

/// A finished piece of work.
pub(crate) struct Done {
    pub(crate) n_skills: usize,
    /// The library that was made; clearing it away is not part of the work.
    pub(crate) kept: Option<Library>,
}

impl Done {
    pub(crate) fn found(n_skills: usize) -> Self {
        Self {
            n_skills,
            kept: None,
        }
    }
}

impl Work {
    pub(crate) const ALL: [Self; 5] = [
        Self::FloorRead,
        Self::FloorCheck,
        Self::Cold,
        Self::Warm,
        Self::Verify,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FloorRead => "floor-read",
            Self::FloorCheck => "floor-statx",
            Self::Cold => "ours-cold",
            Self::Warm => "ours-warm",
            Self::Verify => "ours-verify",
        }
    }

    /// Returns the floor of the same work: work that parses has to read, work that only checks does not.
    pub(crate) fn floor(self) -> Self {
        match self {
            Self::FloorRead | Self::Cold => Self::FloorRead,
            Self::FloorCheck | Self::Warm | Self::Verify => Self::FloorCheck,
        }
    }

    /// Does what comes before the measured part.
    pub(crate) fn prepare(self, root: &Path) -> Result<Prepared, String> {
        let root = root.to_owned();
        let state = root.with_extension("state");
        Ok(match self {
            Self::FloorRead => floor_of(root, Probe::Read),
            Self::FloorCheck => floor_of(root, Probe::Check),
            Self::Cold => Box::new(move || ours::cold(&root)),
            Self::Warm => {
                ours::load(&root, &state)?;
                Box::new(move || ours::warm(&root, &state))
            }
            Self::Verify => {
                let mut loaded = ours::load(&root, &state)?;
                Box::new(move || ours::verify(&mut loaded))
            }
        })
    }
}

fn floor_of(root: PathBuf, probe: Probe) -> Prepared {
    let mut floor = Floor::new();
    Box::new(move || match floor.walk(&root, probe) {
        // A floor that looks at empty files would be no floor.
        Ok(tally) if tally.n_bytes == 0 => Err("nothing to read".to_owned()),
        Ok(tally) => Ok(Done::found(tally.n_skills)),
        Err(error) => Err(error.to_string()),
    })
}
